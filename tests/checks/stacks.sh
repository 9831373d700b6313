# Call stacks from the program to the names in every tool: inlined functions,
# templates, stripped programs, separate debug information, debug information
# of another build, paths that are not regular files, files of random bytes.
. tests/lib.sh
folder=$PWD/build/stacks
rm -rf "$folder"
mkdir -p "$folder/app" "$folder/debug"
export XDG_CACHE_HOME="$folder/cache"
check_build "stacks: build" all
if ! echo '#include <elfutils/libdwelf.h>' | cc -E -xc - >/dev/null 2>&1; then
    check "stacks: names" sh -c 'echo "no libdw-dev"; exit 77'
    exit 0
fi
app=$folder/app/program
check "stacks: a program is built" g++ -std=c++17 -O2 -g -pthread -I. \
    -Wall -Wextra -Werror $HERE/program.cpp -o "$app.whole"
cp "$app.whole" "$app"
check "stacks: it records" "$app" "$folder/plain.sbt"
check "stacks: they are as libunwind has them" $HERE/oracle.sh "$folder"
check "stacks: libunwind finds them where it is asked to" sh -c '
    if ! echo "#include <libunwind.h>" | cc -E -xc - >/dev/null 2>&1; then
        echo "no libunwind.h (libunwind-dev)"
        exit 77
    fi
    gcc -std=gnu11 -O2 -g -I. -Wall -Wextra -Werror $HERE/libunwind.c \
        -o "$0/libunwind" -lunwind -pthread -ldl &&
        "$0/libunwind" "$0/libunwind.sbt" &&
        build/ts-view --events "$0/libunwind.sbt" |
        grep "look < look.* < main"' "$folder"

# names TRACE [OPTION...]: functions of its own frames, with lines
cat >"$folder/names" <<'END'
build/ts-query "$@" "SELECT DISTINCT function, line, called FROM stack_frame
    WHERE path LIKE '%/program' AND function NOT LIKE '\_%' ESCAPE '\'
    ORDER BY 1, 2" | sed -e 1,2d -e 's/   */ | /g' -e '/^[(]/d'
END
line() { # of a text in the program
    grep -nF "$1" $HERE/program.cpp | tail -n 1 | cut -d: -f1
}
cat >"$folder/want" <<END
by_size | $(line TS_ALLOC_STACK) | by_size
demo::kernels::launch | $(line ts_gpu_origin_here) | demo::kernels::launch
main | $(line grid.fill) | main
main | $(line 'sort(items)') | main
main | $(line rust_v0) | main
shapes::grid<float, 8>::mark(int) | $(line TS_ZONE_STACK) | \
shapes::grid<float, 8>::fill(int)
sort | $(line qsort) | sort
END
same='sh "$0/names" "$@" >"$0/got" 2>&1; diff -u "$0/want" "$0/got"'
check "stacks: names are shown where the program is at hand" \
    sh -c "$same" "$folder" "$folder/plain.sbt"
check "stacks: they are not with --no-symbols" sh -c '
    ! build/ts-view --events --no-symbols "$0" | grep -q "shapes::" &&
        build/ts-view --events --no-symbols "$0" |
        grep -q "program+0x.* < program+0x" &&
        build/ts-view --events "$0" |
        grep -q "mark(int) < shapes::grid<float, 8>::fill(int) < main"' \
    "$folder/plain.sbt"
check "stacks: they are written into the trace, which stays whole" sh -ec '
    cp "$0/plain.sbt" "$0/named.sbt"
    build/ts-symbolize "$0/named.sbt" >"$0/said"
    build/ts-info --verify "$0/named.sbt" >/dev/null
    build/ts-symbolize -o "$0/other.sbt" "$0/plain.sbt" >/dev/null
    cmp "$0/named.sbt" "$0/other.sbt"
    build/ts-symbolize "$0/named.sbt" >/dev/null # nothing is added twice
    cmp "$0/named.sbt" "$0/other.sbt"' "$folder"
mv "$app" "$app.gone"
check "stacks: without the program the trace names them" \
    sh -c "$same" "$folder" "$folder/named.sbt"
check "stacks: a copy of a part names them" sh -c '
    build/ts-cut -o "$0/cut.sbt" --kind zone "$0/named.sbt" >/dev/null &&
        build/ts-query "$0/cut.sbt" "SELECT function FROM stack_frame" |
        grep -q "shapes::grid<float, 8>::mark(int)"' "$folder"
check "stacks: without both, frames stay module and offset" sh -c '
    build/ts-view --events "$0/plain.sbt" | grep -q "stack=program+0x"' \
    "$folder"

# Debug information beside the program.
objcopy --only-keep-debug "$app.whole" "$folder/app/program.debug"
strip "$app.whole" -o "$app"
check "stacks: a stripped program has names of nothing of its own" sh -c '
    rm -rf "$XDG_CACHE_HOME"
    build/ts-symbolize --json -o "$0/out.sbt" "$0/plain.sbt" >"$0/said" &&
        grep -q "no debug information found" "$0/said" &&
        ! build/ts-view --events --no-symbols "$0/out.sbt" | grep -q shapes::' \
    "$folder"
# A link to a file beside the program, then one in a folder of such files.
(cd "$folder/app" && objcopy --add-gnu-debuglink=program.debug program)
check "stacks: debug information that the program names is found" \
    sh -c "$same" "$folder" "$folder/plain.sbt"
id=$(readelf -n "$app" | sed -n 's/.*Build ID: //p')
mkdir -p "$folder/debug/.build-id/$(echo "$id" | cut -c1-2)"
mv "$folder/app/program.debug" \
    "$folder/debug/.build-id/$(echo "$id" | cut -c1-2)/$(
        echo "$id" | cut -c3-).debug"
check "stacks: so is what lies in a folder by its build-id" sh -ec '
    build/ts-symbolize --debug-dir "$0/debug" -o "$0/out.sbt" "$0/plain.sbt"
    sh "$0/names" --no-symbols "$0/out.sbt" >"$0/got"
    diff -u "$0/want" "$0/got"' "$folder"

# What must not be believed.
check "stacks: another build is refused by name" sh -ec '
    g++ -std=c++17 -O1 -g -pthread -I. $HERE/program.cpp -o "$1"
    build/ts-symbolize -o "$0/out.sbt" "$0/plain.sbt" >"$0/said"
    grep -q "different build: [0-9a-f]* instead of" "$0/said"
    ! build/ts-view --events "$0/plain.sbt" | grep -q shapes::' "$folder" "$app"
check "stacks: what is no file is not waited for" sh -ec '
    rm -f "$1"; mkfifo "$1"
    timeout 60 build/ts-view --events "$0/plain.sbt" |
        grep -q "stack=program+0x"
    rm -f "$1"; mkdir "$1"
    build/ts-symbolize --json -o "$0/out.sbt" "$0/plain.sbt" |
        grep -q "file not found"
    rmdir "$1"' "$folder" "$app"
# The build-id is kept, the rest is not: each run ends well and names what it
# can.
cat >"$folder/spoil.mjs" <<'END'
import fs from 'node:fs';
const [from, to, seed] = process.argv.slice(2);
const bytes = fs.readFileSync(from);
let state = Number(seed) * 2654435761 >>> 0;
const random = n => (state = (state * 1664525 + 1013904223) >>> 0) % n;
for (let i = 0; i < 300; i++)
    bytes[4096 + random(bytes.length - 4096)] = random(65536) >> 8;
fs.writeFileSync(to, bytes);
END
check "stacks: debug information full of nonsense does no harm" sh -ec '
    for seed in $(seq 20); do
        node "$0/spoil.mjs" "$1.gone" "$1" $seed
        timeout 100 build/ts-symbolize --no-cache -o "$0/out.sbt" \
            "$0/plain.sbt" >"$0/said"
        build/ts-info --verify "$0/out.sbt" >/dev/null
    done' "$folder" "$app"
check "stacks: an unfinished trace is not written to" sh -c '
    mv "$1.gone" "$1"
    head -c $(($(stat -c %s "$0/plain.sbt") - 64)) "$0/plain.sbt" >"$0/cut"
    cp "$0/cut" "$0/cut.sbt"
    build/ts-symbolize "$0/cut.sbt" 2>"$0/err" && exit 1
    grep -q "not finished" "$0/err" && cmp "$0/cut" "$0/cut.sbt"' \
    "$folder" "$app"

# A program that nobody annotated: no frame of the recorder is among them.
if test -e /etc/OpenCL/vendors/pocl.icd; then
    check "stacks: ts-record --stacks tells who launched what" sh -ec '
        gcc -std=gnu11 -O2 -g tests/checks/opencl/program.c \
            -o "$0/opencl" -lOpenCL -pthread
        # The program itself exits with 4.
        build/ts-record -q --stacks=12 -o "$0/opencl.sbt" "$0/opencl" \
            >/dev/null || test $? = 4
        build/ts-query "$0/opencl.sbt" "SELECT count(*) - count(stack) AS n
            FROM kernel" 2>/dev/null |
            sed 1,2d | grep -qx " *0"
        build/ts-query "$0/opencl.sbt" "SELECT function FROM stack_frame
            WHERE depth = 0" 2>/dev/null | grep -q matrix_product
        ! build/ts-query "$0/opencl.sbt" "SELECT path FROM stack_frame" \
            2>/dev/null | grep inject' "$folder"
else
    check "stacks: ts-record --stacks" sh -c 'echo "no OpenCL device"; exit 77'
fi

# Programs without tables have no stacks, and say so.
check "stacks: a program without unwind tables has none" sh -ec '
    g++ -std=c++17 -O2 -fno-exceptions -fno-asynchronous-unwind-tables \
        -fno-unwind-tables -pthread -I. $HERE/program.cpp -o "$0/bare"
    "$0/bare" "$0/bare.sbt"
    build/ts-query "$0/bare.sbt" "SELECT count(*) AS n FROM stack" |
        sed 1,2d | grep -qx " *0"' "$folder"
