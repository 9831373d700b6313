#!/bin/sh
# The soak test takes too long for every change. It is not part of `make
# check`. usage: tests/record/soak/run.sh [rounds of kill -9 (1000)]
set -eu
cd "$(dirname "$0")/../../.."
OUT=${OUT:-build}
rounds=${1:-1000}
programs="kill9 storms full"
for program in $programs; do
    make --no-print-directory -s OUT="$OUT" "$OUT/tests/record/soak/$program"
done
passed=0
failed=0
soak() {
    echo "$@"
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "failed: $*" >&2
    fi
}
soak "$OUT/tests/record/soak/kill9" "$rounds"
soak "$OUT/tests/record/soak/storms" $((rounds / 10 + 1))
soak "$OUT/tests/record/soak/full" $((rounds / 10 + 1))
echo "$passed passed, $failed failed"
test "$failed" = 0
