#!/bin/sh
# Runs the named checks (all without a name), each a tests/checks/NAME.sh, and
# prints the processor time of each; the last line has the totals.
#   tests/run.sh [NAME...]        the logs are kept in build/check-logs
#   tests/run.sh --shake ...      tests/shake.sh, by hand
set -u
cd "$(dirname "$0")/.." || exit 2
if test "${1:-}" = --shake; then
    shift
    exec tests/shake.sh "$@"
fi
all="build bare unit cli adding import tables roundtrip replay execute
analyze diff nsight definitions schemas wasm studio tasks select sanity
truth merge states stacks capture fault nvidia devices hip hip-execute
opencl opencl-execute hash scripts examples install packages release
python rust with disabled cxx strict docs man includes format asan tsan
valgrind arm64 portable fuzz"
. tests/lib.sh
TS_RESULTS=$(mktemp) || exit 2
trap 'rm -f "$TS_RESULTS"' EXIT
trap 'exit 130' INT TERM
export TS_RESULTS

names=${*:-$all}
for name in $names; do
    if ! test -f "tests/checks/$name.sh"; then
        echo "there is no tests/checks/$name.sh; the checks are:" $all >&2
        exit 2
    fi
done

# As many scripts at once as there are processors: lines come as they are done.
run() {
    printf '%s\n' "$@" | xargs -P "$JOBS" -I NAME sh -c '
        sh tests/checks/NAME.sh || {
            echo "FAIL  tests/checks/NAME.sh itself (exit status $?)"
            echo 0 1 0 0 NAME: >>"$TS_RESULTS"
        }'
}
case " $names " in *[[:space:]]build[[:space:]]*)
    run build # the others use what it makes
    names=$(printf '%s\n' $names | grep -vx build)
esac
test -z "$names" || run $names

# The part of a name before its colon is the script's.
echo "Processor seconds, and the most that one check of it took:"
awk '
    {
        name = $0
        sub(/^[^ ]* [^ ]* [^ ]* [^ ]* /, "", name)
        script = name
        sub(/:.*/, "", script)
        sum[script] += $4
        all += $4
        if ($4 >= most[script]) { most[script] = $4; of[script] = name }
    }
    END {
        for (script in sum)
            printf "%8.1f  %s, %.1f of it %s\n", sum[script], script,
                most[script], of[script]
        printf "%8.1f  everything\n", all
    }
' "$TS_RESULTS" | sort -rn

awk '
    { passed += $1; failed += $2; skipped += $3 }
    END {
        printf "%d passed, %d failed", passed, failed
        if (skipped) printf ", %d skipped", skipped
        print ""
        exit failed > 0 || !passed
    }
' "$TS_RESULTS"
