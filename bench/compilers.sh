#!/bin/sh
# The instrumented line with each compiler that is there, as C and as C++, in
# the executable and in a shared object: rows for bench/run.sh, each in a loop
# and as the only zone of its function.
#   bench/compilers.sh [--quick] DIR OUT          times
#   bench/compilers.sh --instructions DIR OUT     instructions, with valgrind
#   bench/compilers.sh --off DIR OUT              the same, not recording
# DIR: for files; the caller removes it. OUT: where the libraries were built.
set -eu
cd "$(dirname "$0")/.."
mode=''
case $1 in
--*)
    mode=$1
    shift
    ;;
esac
dir=$1
out=$2
turn=--count # of main.c
test "$mode" != --off || turn=--off
tab=$(printf '\t')
flags='-O2 -I. -pthread'

${CC:-cc} -std=c11 $flags -c bench/line/main.c -o "$dir/main.o"
cat >"$dir/recorder.c" <<'END'
#define TRACESMITH_IMPLEMENTATION
#include "tracesmith.h"
END
${CC:-cc} -std=c11 $flags -c "$dir/recorder.c" -o "$dir/recorder.o"

# Instructions of one turn of a loop: two runs of different length, both within
# a thread's first ring, subtracted; less the loop's own three.
instructions() { # PROGRAM WHAT
    for n in 900 400; do
        LD_LIBRARY_PATH=$dir:$out valgrind --tool=callgrind \
            --toggle-collect="line_$2" --callgrind-out-file=/dev/null \
            "$1" "$turn" "$2" $n "$dir" 2>&1 | awk '/Collected/ { print $NF }'
    done | awk 'NR == 1 { n = $1 }
        END { print NR == 2 ? (n - $1) / 500 - 3 : "nan" }'
}

program() { # COMPILER LANGUAGE KEY TEXT
    object=$dir/$3.o
    program=$dir/$3
    case $3 in
    *.so)
        $1 -std=$2 $flags -fPIC -shared bench/line/line.c \
            -L"$out" -ltracesmith -o "$dir/lib$3.so"
        ${1%% *} "$dir/main.o" "$dir/lib$3.so" -L"$out" -ltracesmith \
            -pthread -o "$program"
        ;;
    *)
        $1 -std=$2 $flags -c bench/line/line.c -o "$object"
        ${1%% *} "$dir/main.o" "$object" "$dir/recorder.o" -pthread \
            -o "$program"
        ;;
    esac
}

for compiler in gcc clang; do
    command -v $compiler >/dev/null || continue
    for language in c c++; do
        case $language in
        c) command="$compiler" std=c11 ;;
        *) command="$(printf '%s' "$compiler" | sed 's/gcc/g++/
            s/clang/clang++/') -xc++" std=c++17 ;;
        esac
        for kind in exe so; do
            key=zone.$compiler.$language.$kind
            program "$command" $std $key
            case $mode in
            --instructions | --off)
                for what in loop own; do
                    echo "$key.$what$tab$(instructions "$dir/$key" $what)"
                done
                ;;
            *)
                LD_LIBRARY_PATH=$dir:$out "$dir/$key" $mode --dir "$dir" \
                    "$key" "$compiler, $language, $kind"
                ;;
            esac
        done
    done
done
