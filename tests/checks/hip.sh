# Records programs of HIP through each of the four interfaces, with doubles of
# AMD's libraries. The traces are compared; output and result of the programs
# are the same as without recording. No GPU is needed.
. tests/lib.sh
check_build "hip: build" all build/tests/backends/hip/test_hip_calls
folder=$PWD/build/hip
rm -rf "$folder"
mkdir -p "$folder"
flags="-std=gnu11 -O1 -g -Wall -Wextra -Wno-unused-parameter -Werror -I."

# What the double of libamdhip64.so finds beside it.
device=$folder/libhipdevice.so
gcc $flags -fPIC -shared -fvisibility=hidden tests/doubles/libhipdevice.c \
    -o "$device" -pthread -ldl

# usage: double FOLDER FILE.c NAME.so [FLAG...]: one of tests/doubles
double() {
    local where source name
    where=$folder/$1 source=tests/doubles/$2 name=$3
    shift 3
    mkdir -p "$where"
    gcc $flags -fPIC -shared -fvisibility=hidden $source "-Wl,-soname,$name" \
        -o "$where/$name" "$@" -pthread -ldl || return
    test -e "$where/libhipdevice.so" || ln -s "$device" "$where"
}
program() { # FOLDER [FLAG...]: what is recorded there
    local where
    where=$folder/$1
    shift
    gcc $flags $HERE/program.c -o "$where/program" "$@" \
        "$where/libamdhip64.so.6" -pthread
}

# usage: recorded NAME FOLDER [VARIABLE=VALUE...] WORD...: the program is as it
# was; tests/checks/hip/NAME.want, if it is there, is what its trace holds
recorded() {
    local name where want
    name=$1 where=$2 want=$HERE/$1.want
    shift 2
    test -e "$want" || want=
    check "hip: $name" env "$@" "OPTIONS=${options:-}" \
        $HERE/hip.sh "$folder/$where" "$name" "$want" \
        "$folder/$where/program" ${what:-plain}
}
# usage: holds NAME FOLDER TEXT...: lines of ts-info or of ts-record's summary
holds() {
    local name where
    name=$1 where=$folder/$2
    shift 2
    check "hip: $name: $1" sh -c '
        name=$0 where=$1 && shift
        cat "$where/$name.info" "$where/$name.said"
        cat "$where/$name.info" "$where/$name.said" | tr -s " " |
            grep -qF -- "$1"' "$name" "$where" "$@"
}

collectives() { # FOLDER
    mkdir -p "$folder/$1/collective"
    check "hip: collectives, by $1" env "LD_LIBRARY_PATH=$folder/$1" \
        tests/checks/capture/collective.sh "$folder/$1/collective" \
        "$folder/$1/program" collective
}

sdk() {
    double sdk amdhip64.c libamdhip64.so.6 &&
        double sdk rocprofiler.c librocprofiler-sdk.so.1 \
            "$folder/sdk/libamdhip64.so.6" && program sdk
}
if sdk; then
    recorded rocprofiler sdk A=
    recorded rocprofiler_old sdk HIP_DOUBLE=old
    what="many 10000" recorded many sdk A=
    holds many sdk "kernel 10,000"
    what=threads recorded threads sdk A=
    holds threads sdk "kernel 1,000"
    what=fork recorded fork sdk A=
    holds fork sdk "kernel 7"
    what=busy recorded busy sdk A=
    for end in quit kill; do
        what=$end recorded $end sdk A=
        holds $end sdk "recorded 30 of 30 launches"
    done
    what="many 30" recorded zero sdk HIP_DOUBLE=zero_times
    holds zero sdk "kernel 20"
    holds zero sdk "10 records were LOST"
    what="many 30" recorded reversed sdk HIP_DOUBLE=reversed
    holds reversed sdk "10 records were LOST"
    what="many 30" recorded dropped sdk HIP_DOUBLE=drop
    holds dropped sdk "kernel 27"
    what="many 30" recorded hang sdk HIP_DOUBLE=hang_flush
    holds hang sdk "30 records were LOST"
    what="many 30" recorded late sdk HIP_DOUBLE=late
    holds late sdk "30 records were LOST"
    recorded no_buffer sdk HIP_DOUBLE=no_buffer
    holds no_buffer sdk "rocprofiler-sdk: it cannot create a buffer"
    recorded no_context sdk HIP_DOUBLE=no_context
    holds no_context sdk "rocprofiler-sdk: it does not report names"
    recorded crowd sdk HIP_DOUBLE=crowd
    what="many 30" recorded failed sdk HIP_DOUBLE=fail
    holds failed sdk "hip.launches 0"
    holds failed sdk "30 calls failed: hipLaunchKernel with error 1 30 times"

    double sdk rocprofiler_tool.c other.so
    recorded other sdk "ROCP_TOOL_LIBRARIES=$folder/sdk/other.so" \
        "TOOL_SAYS=$folder/sdk/other.says"
    holds other sdk "hip.interface rocprofiler-sdk"
    check "hip: another tool is asked first, and begins" sh -c '
        printf "asked 0\nbegins 0\n" >"$0.want"
        tail -n 2 "$0" | diff - "$0.want"' "$folder/sdk/other.says"
    what="many 30" options="--kinds kernel" recorded kinds sdk A=
    holds kinds sdk ": 30 events"
    options="--filter *nothing* --kinds kernel" recorded filter sdk A=
    holds filter sdk ": 1 event in"
    what="many 30" options="--stacks" recorded stacks sdk A=
    collectives sdk
    what=threads options="--delay 1h" recorded delay sdk A=

    # Of an older version, which lacks something.
    double less amdhip64.c libamdhip64.so.6 &&
        double less rocprofiler.c librocprofiler-sdk.so.1 \
            -Drocprofiler_flush_buffer=rocprofiler_no_flush \
            "$folder/less/libamdhip64.so.6" && program less &&
        recorded less less A=
    holds less less "hip.interface shim"
    holds less less "rocprofiler-sdk: it has no rocprofiler_flush_buffer"
fi

roctracer() {
    double roctracer amdhip64.c libamdhip64.so.6 -DVALUES &&
        double roctracer roctracer.c libroctracer64.so.4 \
            "$folder/roctracer/libamdhip64.so.6" && program roctracer
}
if roctracer; then
    recorded roctracer roctracer A=
    what="many 10000" recorded rt_many roctracer A=
    holds rt_many roctracer "kernel 10,000"
    what=threads recorded rt_threads roctracer A=
    holds rt_threads roctracer "kernel 1,000"
    what=fork recorded rt_fork roctracer A=
    holds rt_fork roctracer "kernel 7"
    what=busy recorded rt_busy roctracer A=
    what="many 30" recorded rt_zero roctracer HIP_DOUBLE=zero_times
    holds rt_zero roctracer "10 records were LOST"
    what="many 30" recorded rt_hang roctracer HIP_DOUBLE=hang_flush
    holds rt_hang roctracer "30 records were LOST"
    recorded rt_no_pool roctracer HIP_DOUBLE=no_pool
    holds rt_no_pool roctracer "roctracer: it cannot create a pool"
    recorded rt_no_ops roctracer HIP_DOUBLE=no_ops
    holds rt_no_ops roctracer "roctracer: it does not report operations"
    collectives roctracer
fi

for hook in new old; do
    double $hook amdhip64.c libamdhip64.so.6 -DVALUES \
        -DHOOK_$(echo $hook | tr a-z A-Z) && program $hook || continue
    recorded hook_$hook $hook A=
    what="many 10000" recorded ${hook}_many $hook A=
    holds ${hook}_many $hook "kernel 10,000"
    what=threads recorded ${hook}_threads $hook A=
    holds ${hook}_threads $hook "kernel 1,000"
    what=fork recorded ${hook}_fork $hook A=
    holds ${hook}_fork $hook "kernel 7"
    what=busy recorded ${hook}_busy $hook A=
    collectives $hook
    what="many 30" recorded ${hook}_zero $hook HIP_DOUBLE=zero_times
    holds ${hook}_zero $hook "10 records were LOST"
done
recorded hook_newer new HIP_DOUBLE=newer
holds hook_newer new "without calls: this version of HIP is unknown"

# Addresses that are found at the first call, and all at the start.
for bound in lazy now; do
    double $bound amdhip64.c libamdhip64.so.6 &&
        program $bound -Wl,-z,$bound || continue
    recorded shim $bound A=
    what="many 10000" recorded shim_many $bound A=
    holds shim_many $bound "hip.launches 10000"
    what=threads recorded shim_threads $bound A=
    holds shim_threads $bound "hip.launches 1000"
    what=fork recorded shim_fork $bound A=
    holds shim_fork $bound "hip.launches 7"
    what=busy recorded shim_busy $bound A=
done

# A program that records itself, twice, also under the sanitizers.
app() { # NAME FLAG...
    local name
    name=$1
    shift
    check "hip: a program that records itself, $name" gcc $flags -O1 "$@" \
        $HERE/app.c "$folder/sdk/libamdhip64.so.6" \
        -o "$folder/app-$name" -pthread -ldl -lm
    for where in sdk roctracer new old; do
        check "hip: $name, by $where" $HERE/app.sh \
            "$folder/$where" "$folder/app-$name"
    done
}
app plain
app asan -fsanitize=address,undefined -fno-sanitize-recover=all
app tsan -fsanitize=thread -Wno-tsan

# Of the system, or as tests/deps.sh has fetched them.
include=${HIP_INCLUDE:-/usr/include}
test -n "${HIP_INCLUDE:-}" || test -e "$include/hip/hip_runtime_api.h" ||
    include=build/hip-headers/usr/include
if test -e "$include/hip/amd_detail/hip_prof_str.h"; then
    check "hip: arguments lie where the headers of HIP say" sh -c '
        g++ -std=c++17 -w -include stdint.h -D__HIP_PLATFORM_AMD__ \
            -isystem "$0" -c $HERE/abi.cpp -o "$1/abi.o" &&
            gcc -std=gnu11 -I. $HERE/abi.c "$1/abi.o" -o "$1/abi" \
                -pthread -ldl -lstdc++ && "$1/abi"' "$include" "$folder"
    check "hip: all functions of the header that write are known" sh -c '
        gcc -E -xc++ -D__HIP_PLATFORM_AMD__ -isystem "$0" \
            "$0/hip/hip_runtime_api.h" >"$1/hip.i" &&
            grep -oE "\<hip[A-Za-z0-9_]+\(" "$1/hip.i" | tr -d "(" |
            grep -E "^hip((Drv|Ext|Module)*(Launch|Memcpy|Memset)|GraphLaunch|\
Stream(WriteValue|BatchMemOp|AddCallback))" | sort -u >"$1/has" &&
            test "$(wc -l <"$1/has")" -gt 50 &&
            build/tests/backends/hip/test_hip_calls list | sort |
            comm -23 "$1/has" - | tee /dev/stderr | { ! grep -q .; }' \
        "$include" "$folder"
else
    check "hip: arguments lie where the headers of HIP say" sh -c \
        'echo "no headers of HIP in $0 (libamdhip64-dev)"; exit 77' "$include"
fi
