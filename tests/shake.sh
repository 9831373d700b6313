#!/bin/sh
# Runs each test program many times while busy loops occupy the processors,
# four for each, to find tests whose result depends on a clock or on the
# scheduler.
#   tests/run.sh --shake [--loaded] [--resume] [TIMES] [PROGRAM...]
# (50, all of them). --loaded: no busy loops, because other programs already
# load this machine; --resume: continues a run that was stopped. build/shake
# has the output of failures, build/shake/runs a line for each run.
set -u
times=50
loaded=
resume=
while :; do
    case ${1:-} in
    --loaded) loaded=yes ;;
    --resume) resume=yes ;;
    [1-9]*) times=$1 ;;
    -*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    *) break ;;
    esac
    shift
done
jobs=$(nproc)
export CMOCKA_MESSAGE_OUTPUT=TAP LC_ALL=C.UTF-8
if test $# = 0; then
    make -s -j"$jobs" all tests || exit 2
    set -- $(find tests -name 'test_*.c' -o -name 'test_*.cpp' |
        sed 's,.*/,,; s/[.][a-z]*$//' | sort)
else
    make -s -j"$jobs" all $(for name; do
        find tests -name "$name.c" -o -name "$name.cpp" |
            sed 's,^,build/,; s/[.][a-z]*$//'
    done) || exit 2
fi
test -n "$resume" || rm -rf build/shake
mkdir -p build/shake
touch build/shake/runs

busy=
if test -z "$loaded"; then
    for _ in $(seq $((4 * jobs))); do
        sh -c 'while :; do :; done' &
        busy="$busy $!"
    done
fi
trap 'test -z "$busy" || kill $busy' EXIT
trap 'exit 130' INT TERM

# One run: its log stays if it failed, by its status or a line of TAP. Now and
# then it says how many there were.
run='
    log=build/shake/$0.$1
    program=$(find build/tests -name "$0")
    timeout -k 5 600 "$program" >"$log" 2>&1 </dev/null
    status=$?
    if test $status = 0 || test $status = 77; then
        rm "$log"
        echo "$0 $1 ok" >>build/shake/runs
    else
        echo "exit status $status" >>"$log"
        echo "$0 $1 failed" >>build/shake/runs
        echo "$0 failed, see $log"
    fi
    runs=$(wc -l <build/shake/runs)
    test $((runs % 500)) != 0 || echo "$runs runs"'
# All programs once, then all of them again: what is stopped has run each as
# often. Lines of `runs` are short enough to be appended whole.
for n in $(seq "$times"); do
    printf "%s $n\n" "$@"
done | awk 'FNR == NR && FILENAME != "-" { ran[$1 " " $2]; next }
    !($0 in ran)' build/shake/runs - |
    xargs -P "$((2 * jobs))" -L 1 sh -c "$run"

failed=0
for program; do
    logs=$(ls build/shake/"$program".* 2>/dev/null)
    test -n "$logs" || continue
    count=$(echo "$logs" | wc -l)
    failed=$((failed + count))
    echo "$program failed $count of $times times:"
    sed -n '/^not ok/p; /[.][ch]:[0-9]/p; /^exit status/p' $logs |
        sed 's/^/    /' | sort | uniq -c | sort -rn | head -n 20
done
echo "$(($# * times - failed)) passed, $failed failed"
test "$failed" = 0
