#!/bin/sh
# Opens in Chromium, from a clean clone: a file of 5 GB, a trace of 300 million
# GPU operations on 1,000 streams, and the trace of a recorder that was killed.
# Zooms and pans in each for a minute, by keyboard, and prints a table.
#   bench/studio.sh [--quick] [DIR]   DIR: for the traces, 8 GB (a new folder);
#                                     what is there already is used again
# --quick: a fiftieth of the sizes, ten seconds each. Needs what
# `tests/deps.sh check` installs: node, npm, chromium.
set -eu
cd "$(dirname "$0")/.."
megabytes=5000 kernels=300000000 zones=400000000 seconds=60
if test "${1:-}" = --quick; then
    megabytes=100 kernels=6000000 zones=20000000 seconds=10
    shift
fi
for tool in node npm chromium; do
    command -v $tool >/dev/null || {
        echo "bench/studio.sh: needs $tool" >&2
        exit 77
    }
done
if test $# -gt 0; then
    dir=$1
    mkdir -p "$dir"
else
    dir=$(mktemp -d)
    trap 'rm -rf "$dir"' EXIT
fi

make -s -j"$(nproc)" build/bench/gen_trace build/ts-studio build/ts-info
check=build/studio/check packages=tests/checks/studio
mkdir -p $check
if ! cmp -s $packages/package-lock.json $check/node_modules/.lock; then
    cp $packages/package*.json $check
    (cd $check && npm ci --no-audit --no-fund --ignore-scripts --silent &&
        cp package-lock.json node_modules/.lock)
fi

test -e "$dir/big.sbt" || build/bench/gen_trace big $megabytes "$dir/big.sbt"
test -e "$dir/kernels.sbt" ||
    build/bench/gen_trace kernels $kernels "$dir/kernels.sbt"
if ! test -e "$dir/killed.sbt"; then # killed at about two thirds
    build/bench/gen_trace zones $zones "$dir/recorded.sbt" &
    recorder=$!
    while kill -0 $recorder 2>/dev/null; do
        size=$(stat -c %s "$dir/recorded.sbt" 2>/dev/null || echo 0)
        test "$size" -lt $((zones * 2)) || break
        sleep 0.1
    done
    kill -9 $recorder
    wait $recorder 2>/dev/null || :
    cp "$dir/recorded.sbt" "$dir/killed.sbt"  # as the recorder left it
    build/ts-info "$dir/recorded.sbt" >/dev/null # removes its sidecar
    rm "$dir/recorded.sbt"
fi
build/ts-studio --no-report -o "$dir/page.html" "$dir/big.sbt" >/dev/null
node bench/studio.mjs $check $seconds "$dir/page.html" "$dir/big.sbt" \
    "$dir/kernels.sbt" "$dir/killed.sbt"
