# The headers and the figures of ts-analyze compile for WebAssembly, without
# files and threads and without a warning. Under node they give the same
# results for each trace as natively, also for one of 8 GB, which exceeds any
# pointer there.
. tests/lib.sh
folder=build/wasm
mkdir -p $folder
cat >$folder/library.c <<'END'
#define TRACESMITH_IMPLEMENTATION
#define TRACESMITH_REPLAY_IMPLEMENTATION
#include "tracesmith_replay.h"
END
flags="-std=c11 -I. -O1 -D_DEFAULT_SOURCE -Wall -Wextra -Wpedantic -Wconversion
    -Wshadow -Werror"
without="-DTRACESMITH_NO_FILES -DTRACESMITH_NO_THREADS"
sources="$folder/library.c $HERE/figures.c tools/cli/map.c tools/cli/sort.c
    tools/cli/text.c tools/cli/trace.c tools/analyze/job/*.c
    tools/analyze/figures/*/*.c"

# Prints the number of a clang that has all that is needed for WebAssembly.
toolchain() {
    for number in 16 14 15 17 18 19; do
        library=$(clang-$number --target=wasm32-wasi -rtlib=compiler-rt \
            -print-libgcc-file-name 2>/dev/null) || continue
        if command -v wasm-ld-$number >/dev/null && test -e "$library" &&
            test -e /usr/lib/wasm32-wasi/libc.a; then
            echo $number
            return
        fi
    done
}
number=$(toolchain)
if test -z "$number" || ! command -v node >/dev/null; then
    check "wasm: tools" sh -c '
        echo "needs clang-16, lld-16, wasi-libc, libclang-rt-16-dev-wasm32" \
            "and node (Debian names)"
        exit 77'
    exit 0
fi

# wasm-ld itself: clang would run wasm-opt, if there is one, which refuses this.
check "wasm: build" sh -ec '
    rm -f '$folder'/*.o '$folder'/figures.wasm
    compile="clang-$0 --target=wasm32-wasi --sysroot=/usr $1"
    for source in $2; do
        $compile -c $source -o '$folder'/$(echo $source | tr / _).o
    done
    wasm-ld-$0 --gc-sections /usr/lib/wasm32-wasi/crt1.o '$folder'/*.o \
        -L/usr/lib/wasm32-wasi -lc $($compile -rtlib=compiler-rt \
        -print-libgcc-file-name) -o '$folder'/figures.wasm' \
    $number "$flags $without" "$sources"
for one in "-DTRACESMITH_NO_FILES" "-DTRACESMITH_NO_THREADS"; do
    check "wasm: natively with $one alone" \
        $CLANG $flags $one -fsyntax-only $folder/library.c
done
check "wasm: natively" sh -ec '
    $0 $1 -O0 -ffunction-sections -Wl,--gc-sections $2 -lm \
        -o '$folder'/figures' \
    "$CLANG" "$flags $without" "$sources"
check "wasm: the same figures of each trace, natively and under node" sh -ec '
    traces=$(echo tests/golden/*.sbt tests/cli/*.sbt)
    '$folder'/figures $traces >'$folder'/native.txt
    node --no-warnings $HERE/run.mjs '$folder'/figures.wasm $traces \
        >'$folder'/wasm.txt
    test $(grep -c "races" '$folder'/native.txt) -gt 3
    diff '$folder'/native.txt '$folder'/wasm.txt'
