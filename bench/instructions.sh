#!/bin/sh
# Instructions of one turn of a loop of bench_hot: what its function executes
# in two runs of different length, subtracted. Both fit a thread's first ring,
# so that nothing is written in between.
#   bench/instructions.sh OUT LOOP DIR    OUT: where the benchmarks were built
set -eu
case $2 in
free) function=release ;;
off) function=zone ;;
*) function=$2 ;;
esac
for n in 900 400; do
    valgrind --tool=callgrind --toggle-collect="$function" \
        --callgrind-out-file=/dev/null \
        "$1/bench/bench_hot" --count "$2" $n "$3" 2>&1 |
        awk '/Collected/ { print $NF }'
done | awk 'NR == 1 { n = $1 } END { print NR == 2 ? (n - $1) / 500 : "nan" }'
