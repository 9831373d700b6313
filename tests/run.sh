#!/bin/sh
# Runs the checks named (all without a name), each a tests/check-NAME.sh, and
# prints the total over everything as its last line.
#   tests/run.sh [NAME...]        what each said is kept in build/check-logs
set -u
cd "$(dirname "$0")/.." || exit 2
all="build unit cli import replay execute analyze diff merge states stacks
capture devices hip opencl opencl-execute scripts
examples install disabled cxx docs man format asan tsan valgrind arm64 fuzz"
TS_RESULTS=$(mktemp) || exit 2
trap 'rm -f "$TS_RESULTS"' EXIT
trap 'exit 130' INT TERM
export TS_RESULTS

for name in ${*:-$all}; do
    script=tests/check-$name.sh
    if ! test -f "$script"; then
        echo "there is no $script; the checks are:" $all >&2
        exit 2
    fi
    sh "$script" || {
        echo "FAIL  $script itself (exit status $?)"
        echo 0 1 0 >>"$TS_RESULTS"
    }
done

awk '
    { passed += $1; failed += $2; skipped += $3 }
    END {
        printf "%d passed, %d failed", passed, failed
        if (skipped) printf ", %d skipped", skipped
        print ""
        exit failed > 0 || !passed
    }
' "$TS_RESULTS"
