#!/bin/sh
# Runs a program alone and under ts-record, and compares its output, its exit
# status and, if given, a list of "COUNT NAME" of its zones.
#   tests/checks/capture/record.sh FOLDER 'COUNT NAME...' COMMAND [ARGUMENT...]
set -u
folder=$1 want=$2
shift 2
alone=0 recorded=0
mkdir -p "$folder"
(exec "$@" >"$folder/alone.out" 2>"$folder/alone.err" </dev/null) 2>/dev/null ||
    alone=$?
build/ts-record -q -o "$folder/trace.sbt" -- "$@" >"$folder/out" \
    2>"$folder/err" </dev/null || recorded=$?
set -e
if test $alone != $recorded; then
    echo "exit status: $alone alone, $recorded under ts-record"
    exit 1
fi
cmp "$folder/alone.out" "$folder/out"
cmp "$folder/alone.err" "$folder/err"
build/ts-info --verify "$folder/trace.sbt" >/dev/null
test "$(ls -d "$folder"/trace.sbt*)" = "$folder/trace.sbt"
build/ts-view --events --kinds zone --limit 0 --json "$folder/trace.sbt" \
    2>/dev/null |
    sed -n 's/.*"label": "\([^"]*\)".*/\1/p' | LC_ALL=C sort | uniq -c |
    sed 's/^ *//' >"$folder/zones"
test -z "$want" || printf "%s\n" "$want" | diff -u - "$folder/zones"
