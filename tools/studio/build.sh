#!/bin/sh
# Makes tools/studio/page/studio.html, the page of ts-studio. It is committed
# so that `make` needs neither node nor a compiler for WebAssembly.
#   tools/studio/build.sh [PAGE]
# Exit status 77: something that it needs is missing. The same sources give the
# same page with Debian's clang-16, wasi-libc and xxHash, and the versions of
# web/package-lock.json.
set -eu
cd "$(dirname "$0")/../.."
page=$(realpath -m "${1:-tools/studio/page/studio.html}")
folder=build/studio
runtime=/usr/lib/llvm-16/lib/clang/16/lib/wasi/libclang_rt.builtins-wasm32.a
library=/usr/lib/wasm32-wasi

for tool in clang-16 wasm-ld-16 node npm; do
    command -v $tool >/dev/null || lacks="${lacks:-} $tool"
done
test -e $runtime || lacks="${lacks:-} libclang-rt-16-dev-wasm32"
test -e $library/libc.a || lacks="${lacks:-} wasi-libc"
if test -n "${lacks:-}"; then
    echo "The page of ts-studio is not made anew: it needs$lacks."
    exit 77
fi

# The headers as they are committed: those in build/ name their sections.
rm -rf $folder/wasm
mkdir -p $folder/wasm
flags="--target=wasm32-wasi -std=c11 -O2 -ffp-contract=off -DNDEBUG
    -DTRACESMITH_NO_THREADS -DTRACESMITH_NO_FILES -DTRACESMITH_DISABLE
    -DTRACESMITH_ZSTD -I. -Itools/studio/wasm/include -idirafter /usr/include
    -ffunction-sections -fdata-sections -fvisibility=hidden
    -Wall -Wextra -Wno-unused-function"
for source in tools/studio/scene/*.c tools/studio/scene/*/*.c \
    tools/studio/wasm/module.c \
    tools/cli/map.c tools/cli/operations.c tools/cli/sort.c \
    tools/analyze/figures/operations/occupancy.c; do
    clang-16 $flags -c "$source" \
        -o "$folder/wasm/$(basename "$source" .c).o"
done
wasm-ld-16 --no-entry --gc-sections --strip-all -O2 -z stack-size=1048576 \
    $library/crt1-reactor.o $folder/wasm/*.o -L$library -lc $runtime \
    -o $folder/studio.wasm

# Packages are installed beside the sources' copy, not among the sources.
mkdir -p $folder/web
rm -rf $folder/web/src
cp -r tools/studio/web/src tools/studio/web/*.json tools/studio/web/build.mjs \
    $folder/web
cd $folder/web
if ! cmp -s package-lock.json node_modules/.studio-lock; then
    npm ci --no-audit --no-fund --ignore-scripts --silent || {
        echo "The page of ts-studio is not made anew: npm cannot install" \
            "what it needs."
        exit 77
    }
    cp package-lock.json node_modules/.studio-lock
fi
npm run --silent check
node build.mjs ../studio.wasm ../../../THIRD-PARTY "$page"
