#!/bin/sh
# Runs each test program many times while busy loops take the processors, four
# for each: a verdict that hangs on a clock or on the scheduler shows itself.
#   tests/run.sh --shake [TIMES] [PROGRAM...]        (50, all of them)
# What failed is in build/shake.
set -u
times=50
case ${1:-} in
[1-9]*)
    times=$1
    shift
    ;;
esac
jobs=$(nproc)
export CMOCKA_MESSAGE_OUTPUT=TAP LC_ALL=C.UTF-8
if test $# = 0; then
    make -s -j"$jobs" all tests || exit 2
    set -- $(cd tests && ls test_*.c test_*.cpp | sed 's/[.][a-z]*$//')
else
    make -s -j"$jobs" all $(printf 'build/tests/%s ' "$@") || exit 2
fi
rm -rf build/shake
mkdir -p build/shake

busy=
for _ in $(seq $((4 * jobs))); do
    sh -c 'while :; do :; done' &
    busy="$busy $!"
done
trap 'kill $busy' EXIT
trap 'exit 130' INT TERM

# One run: its log stays if it failed, by its status or a line of TAP.
run='
    log=build/shake/$0.$1
    timeout -k 5 600 "build/tests/$0" >"$log" 2>&1 </dev/null
    status=$?
    if test $status = 0 || test $status = 77; then
        rm "$log"
    else
        echo "exit status $status" >>"$log"
    fi'
failed=0
for program; do
    seq "$times" | xargs -P "$((2 * jobs))" -I N sh -c "$run" "$program" N
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
