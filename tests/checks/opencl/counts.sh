#!/bin/sh
# Runs opencl_program alone and under ts-record: the output is the same, and
# the trace contains exactly what the program did.
#   tests/checks/opencl/counts.sh FOLDER PROGRAM
set -eu
folder=$1 program=$2
tests/checks/capture/record.sh "$folder" '' "$program"
build/ts-info "$folder/trace.sbt" >"$folder/info"
awk '/^Events/ { on = 1; next } /^ +all/ { exit }
    on && $1 != "api_call" { print $1, $2 }' "$folder/info" |
    diff -u - tests/checks/opencl/program.want
# One command fails: it is lost, and said to be.
test "$(grep -c 'a command failed with -' "$folder/info")" = 1
grep -q '^Lost: 1 records' "$folder/info"
# Each operation has a call, but for those that free what a buffer held.
build/ts-replay "$folder/trace.sbt" >"$folder/replay" 2>/dev/null
grep -q 'recorded .*, error 0 ns' "$folder/replay"
grep -q '^same: ' "$folder/replay"
