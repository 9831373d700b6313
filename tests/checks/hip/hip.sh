#!/bin/sh
# Runs a program of HIP under ts-record, with the doubles in a folder, and
# compares the contents of the trace, without what differs from run to run.
#   [OPTIONS=...] tests/checks/hip/hip.sh FOLDER NAME WANT PROGRAM [ARGUMENT...]
# The trace is FOLDER/NAME.sbt. WANT: a file, or "" to compare nothing.
set -u
folder=$1 name=$2 want=$3
shift 3
recorder=$PWD/build/ts-record
status=0
export LD_LIBRARY_PATH="$folder"
(exec "$@" >"$folder/$name.alone" 2>&1) 2>/dev/null || status=$?
set -f
TMPDIR=$folder "$recorder" ${OPTIONS:-} -o "$folder/$name.sbt" -- "$@" \
    >"$folder/$name.out" 2>"$folder/$name.said"
test $? = $status || exit 1
cmp "$folder/$name.alone" "$folder/$name.out" || exit 1
grep -v '^ts-record: ' "$folder/$name.said" && exit 1
build/ts-info --verify "$folder/$name.sbt" >"$folder/$name.info" || exit 1
test -n "$want" || exit 0
{
    sed -nE 's/^  (backend\.hip|hip\.[a-z]*) +/\1 /p' "$folder/$name.info" |
        grep -v '^hip.version'
    build/ts-view --events --limit 0 "$folder/$name.sbt" | sed -E '
        s/^ *[0-9.]+ s +[0-9.]+ [mun]?s +//
        s/  correlation=[0-9]+//
        s/  thread=[^ ]+//
        s/  (id|record|source|address)=[0-9a-fx]+//g
        s/  +/|/g' | sort | uniq -c | sed 's/^ *//'
} >"$folder/$name.holds"
diff -u "$want" "$folder/$name.holds"
