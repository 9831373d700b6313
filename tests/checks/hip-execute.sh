# Captures a program of HIP through ts-record, with doubles of AMD's libraries
# that run kernels, and runs its operations again in another process. No GPU is
# needed.
. tests/lib.sh
check_build "hip-execute: build" all
folder=$PWD/build/hip-execute
rm -rf "$folder"
mkdir -p "$folder"
flags="-std=gnu11 -O1 -g -Wall -Wextra -Wno-unused-parameter -Werror -I."
check "hip-execute: doubles and program" sh -c '
    set -e
    library() { # FILE.c NAME.so [FLAG...]
        source=$1 name=$2
        shift 2
        gcc '"$flags"' -fPIC -shared -fvisibility=hidden \
            tests/doubles/$source "-Wl,-soname,$name" -o "$0/$name" "$@" \
            -pthread -ldl
    }
    library libhipdevice.c libhipdevice.so
    library libhsaco.c libhsaco.so
    library amdhip64.c libamdhip64.so.6
    library rocprofiler.c librocprofiler-sdk.so.1 "$0/libamdhip64.so.6"
    gcc '"$flags"' "-DCODE_OBJECT=\"$0/libhsaco.so\"" \
        $HERE/kernels.c $HERE/kernels.S \
        -o "$0/program" "$0/libamdhip64.so.6"' "$folder"
# The same program, whose bundle is compressed.
packed=no
if echo '#include <zlib.h>' | gcc -E - >"$folder/zlib.i" 2>&1; then
    packed=yes
    check "hip-execute: a program with a compressed bundle" sh -c '
        set -e
        mkdir "$0/packed"
        gcc '"$flags"' $HERE/pack.c -o "$0/pack" -lz
        objcopy -O binary --only-section=.hip_fatbin "$0/program" "$0/bundle"
        "$0/pack" <"$0/bundle" >"$0/bundle.packed"
        gcc '"$flags"' "-DPACKED=\"$0/bundle.packed\"" \
            $HERE/kernels.c $HERE/kernels.S \
            -o "$0/packed/program" "$0/libamdhip64.so.6"' "$folder"
fi
export LD_LIBRARY_PATH="$folder"

# usage: captured NAME KEPT [WISHES [PROGRAM]]: a run of the program is as it
# was, and so many operations of it are whole
captured() {
    check "hip-execute: $1 is captured${4:+, $4}" sh -c '
        "$0/program" $1 >"$0/$1.alone" &&
        DOUBLE_CUDA_TELL=1 build/ts-record --capture "$3" -o "$0/$1.sbt" \
            -- "$0/$4" $1 >"$0/$1.out" 2>"$0/$1.said" && cat "$0/$1.said" &&
        cmp "$0/$1.alone" "$0/$1.out" &&
        build/ts-info --verify "$0/$1.sbt" >"$0/$1.info" &&
        grep -q "capture.by.hip *on" "$0/$1.info" &&
        grep -q "$2 operations can be run again" "$0/$1.said"' \
        "$folder" "$1" "$2" "${3:-budget:1G}" "${4:-program}"
}
# usage: replays NAME STATUS WHAT-TO-FIND TRACE OPTIONS...
replays() {
    local name status find trace
    name=$1 status=$2 find=$3 trace=$4
    shift 4
    check "hip-execute: $name" sh -c '
        status=$1 find=$2
        shift 2
        "$@" >"$0" 2>&1
        got=$?
        cat "$0"
        test $got = $status && grep -q -- "$find" "$0"' \
        "$folder/$(echo "$name" | tr ' ' _).out" "$status" "$find" \
        build/ts-replay --execute --timeout 50 "$@" "$folder/$trace.sbt"
}
captured kernels 9
captured modules 7
captured wrong 5
captured beside 6
captured declined 5
captured ways 6
captured together 3
captured apart 3
captured pieces 4
captured symbols 9
captured boxes 4
captured again 8
captured devices 12
check "hip-execute: what is declined says why" grep -qF \
    "1 UVM, 1 EXTERNAL_MEMORY, 1 HOST_CALLBACK, 1 TEXTURE_BINDLESS" \
    "$folder/declined.said"
check "hip-execute: questions of captures are no operations" sh -c '
    build/ts-record -o "$0/bare.sbt" -- "$0/program" kernels &&
        for name in bare kernels; do
            build/ts-view --events --limit 0 "$0/$name.sbt" |
                grep -oE "(kernel|memcpy|memset|gpu_alloc|stream_sync) .*" |
                sed -E "s/  .*//" | sort >"$0/$name.events" || exit
        done && cmp "$0/bare.events" "$0/kernels.events" &&
        test -s "$0/bare.events"' "$folder"

# usage: counts_once NAME RAN [OPTIONS...]: see counts.sh
counts_once() {
    local name ran
    name=$1 ran=$2
    shift 2
    check "hip-execute: $name counts each operation once${*:+, $*}" \
        tests/checks/execute/counts.sh \
        "$folder/$name.sbt" "$folder/$name.said" \
        "${ran:-$(grep -c "^ran " "$folder/$name.said")}" "$@"
}
for how in "" --chain --overlap "--loops 3" "--as-graph --loops 2"; do
    for what in modules wrong beside pieces; do
        counts_once $what "" $how
    done
    counts_once declined 2 $how # of five kernels
done
counts_once again "" --overlap

replays "kernels of a program" 0 'same: 9 operations' kernels
replays "all at their addresses" 0 '9 as recorded (S1)' kernels
replays "in a chain" 0 'same: 9 operations' kernels --chain
replays "addresses are kept strictly" 0 'same: 9 operations' kernels --va strict
replays "kernels of a module" 0 'same: 7 operations' modules
replays "three times" 0 'same: 6 operations' beside --loops 3
replays "streams beside each other" 0 'same: 4 regions' beside --overlap
replays "as one graph" 0 'same: 4 regions' beside --as-graph --loops 3
replays "kernels by other functions" 0 'same: 6 operations' ways
replays "a launch in three calls" 0 'same: 4 operations' pieces
replays "copies to and from a variable" 0 'same: 9 operations' symbols
replays "copies to and from a variable in a chain" 0 'same: 9 operations' \
    symbols --chain
replays "boxes but for one that has gaps" 0 '1 NOT_CAPTURED' boxes
replays "a device that was reset" 0 'same: 8 operations' again
export DOUBLE_CUDA_DEVICES=2
replays "two devices" 0 '10 as recorded (S1), 2 rewritten' devices
replays "two devices in a chain" 0 'same: 12 operations' devices --chain
unset DOUBLE_CUDA_DEVICES
DOUBLE_CUDA_DEVICES=1 replays "one device where there were two" 3 \
    'uses 2 devices, but this machine has 1' devices
replays "what was not declined" 0 'same: 5 operations' declined
export DOUBLE_CUDA_REFUSE=1000 DOUBLE_CUDA_ARENA=7d0000000000
replays "what may move lies elsewhere" 0 \
    '0 as recorded (S1), 5 rewritten (S2), 0 not run' wrong
replays "what may not move is not run" 0 \
    '0 as recorded (S1), 8 rewritten (S2), 1 not run (S3)' kernels
replays "nothing may move" 3 '5 VA_UNAVAILABLE' wrong --va strict
unset DOUBLE_CUDA_REFUSE DOUBLE_CUDA_ARENA
DOUBLE_ODD=1 replays "a device that is broken" 1 \
    'first divergence: operation 4, kernel odd' wrong
DOUBLE_ODD=1 replays "it is narrowed down" 1 'found: operation 4' \
    wrong --chain --bisect -o "$folder/small.sbt"
DOUBLE_ODD=1 \
    replays "what it was narrowed down to" 1 'diverged: 1 of 1' small --trust
DOUBLE_CUDA_FAIL=odd replays "a kernel that goes astray" 1 '1 ESCAPE' wrong
DOUBLE_CUDA_HANG=odd replays "a kernel that hangs" 4 '1 TIMEOUT' wrong \
    --timeout 3
DOUBLE_CUDA_DEVICES=0 replays "no device" 3 'finds no device' kernels
check "hip-execute: without the library it says so" sh -c '
    unset LD_LIBRARY_PATH
    build/ts-replay --execute "$0/kernels.sbt" >"$0/none.out" 2>&1
    got=$?
    cat "$0/none.out"
    test $got = 3 && grep -qE "so is not there|finds no device|has no hip" \
        "$0/none.out"' \
    "$folder"

# Modules from a compressed bundle, and kernels of the program's own.
if test $packed = yes; then
    for what in "modules 7" "kernels 9"; do
        set -- $what
        captured $1 $2 budget:1G packed/program
        replays "$1 from a compressed bundle" 0 "same: $2 operations" $1
    done
fi

# Before hipDrvLaunchKernelEx there was another function for cooperation, which
# takes no block of arguments.
check "hip-execute: a runtime that lacks a function" sh -c '
    mkdir "$0/less" && cp "$0/libhipdevice.so" "$0/less" &&
        gcc '"$flags"' -fPIC -shared -fvisibility=hidden \
            -DhipDrvLaunchKernelEx=hipNoLaunchKernelEx \
            tests/doubles/amdhip64.c "-Wl,-soname,libamdhip64.so.6" \
            -o "$0/less/libamdhip64.so.6" -pthread -ldl' "$folder"
LD_LIBRARY_PATH=$folder/less replays "cooperation by an older function" 0 \
    'same: 6 operations' ways

# A kernel as a program of its own.
extracts() { # NAME TRACE KERNEL STATUS SAYS [OUTPUT-OF-THE-PROGRAM]
    check "hip-execute: extract $1" sh -c '
        trace=$1 kernel=$2 status=$3 says=$4 program=$5
        rm -rf "$0/extract-$kernel"
        build/ts-replay --execute "$0/$trace.sbt" --extract "$kernel" \
            -o "$0/extract-$kernel" >"$0/extract.out" 2>&1
        got=$?
        cat "$0/extract.out"
        test $got = "$status" && grep -q -- "$says" "$0/extract.out" || exit
        test -n "$program" || exit 0
        cd "$0/extract-$kernel" && gcc -Wall -Wextra -Werror main.c -o main \
            -ldl && ./main >out 2>&1
        cat out
        grep -qx "$program" out' "$folder" "$2" "$3" "$4" "$5" "${6:-}"
}
extracts "a kernel" wrong odd 0 "build and run it in" same
extracts "a kernel with a variable" kernels biased 0 "build and run" same
DOUBLE_ODD=1 extracts "of a device that is broken" wrong odd 0 \
    "build and run it in" diverged
extracts "one that says it is not cooperative" apart add 0 \
    "build and run it in" same
extracts "none that is cooperative" together add 2 \
    "it is a cooperative launch"

# By any other way than rocprofiler-sdk nothing is captured, and it is said.
check "hip-execute: other ways capture nothing, and say so" sh -c '
    mkdir "$0/bare" &&
        cp "$0/libamdhip64.so.6" "$0/libhipdevice.so" "$0/bare" &&
        LD_LIBRARY_PATH=$0/bare build/ts-record --capture budget:1G \
            -o "$0/bare/shim.sbt" -- "$0/program" kernels &&
        build/ts-info "$0/bare/shim.sbt" >"$0/bare/info" &&
        cat "$0/bare/info" &&
        grep -q "capture.hip  *declined: only rocprofiler-sdk" \
            "$0/bare/info" && ! grep -q "capture.by.hip" "$0/bare/info"' \
    "$folder"
