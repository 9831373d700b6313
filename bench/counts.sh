#!/bin/sh
# Instructions of the hot path and of the five core loops, counted under
# valgrind: lines of a key, a tab and a number. Each is the difference of two
# runs of different length, so that what is done once does not count.
#   bench/counts.sh OUT DIR    OUT: where the benchmarks were built
#                              DIR: for files; the caller removes it
set -eu
out=$1
dir=$2

# What callgrind says of the functions named PREFIX...: name and instructions,
# with those of the functions that they call.
run() { # PREFIX PROGRAM COUNT...
    prefix=$1
    shift
    valgrind -q --tool=callgrind --callgrind-out-file="$dir/callgrind" "$@" \
        >/dev/null 2>"$dir/said" || { cat "$dir/said" >&2; exit 1; }
    callgrind_annotate --inclusive=yes --threshold=100 --show=Ir \
        "$dir/callgrind" |
        sed -nE "s/^ *([0-9,]+) .*[:/]$prefix([a-z_]+)( .*)?\$/\\2 \\1/p" |
        tr -d , | sort -k1,1 -k2,2nr | sort -u -k1,1 # the largest: all of it
}

# The difference of two runs, for each of `turns`.
less() { # TURNS LESS KEY, from FILE LONGER
    awk -v turns="$1" -v loop="$2" -v key="$3" '
        NR == FNR { short[$1] = $2; next }
        $1 in short {
            printf "%s.%s\t%.1f\n", key, $1, ($2 - short[$1]) / turns - loop
        }' "$dir/short" "$dir/long"
}

hot() { # count
    run line_ "$out/bench/bench_hot" --count "$1" "$dir"
}
hot 400 >"$dir/short"
hot 900 >"$dir/long"
less 500 3 hot # the loop around it takes three

core() { # count
    run core_ "$out/bench/bench_core" --count "$1" "$dir"
}
core 5000 >"$dir/short"
core 20000 >"$dir/long"
less 15000 0 core
