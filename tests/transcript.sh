#!/bin/sh
# Runs one transcript, NAME.test, in an empty folder and compares its output
# with NAME.out, NAME.err and NAME.rc (if absent: nothing, nothing, 0).
# UPDATE=1 rewrites them. $TS_ROOT is the project, its tools are in PATH;
# those of $TS_TOOLS, if it is set, come before them.
set -u
test_file=$1
expected=${test_file%.test}
TS_ROOT=$(cd "$(dirname "$0")/.." && pwd) || exit 2
PATH=${TS_TOOLS:+$TS_TOOLS:}$TS_ROOT/build:$TS_ROOT/build/examples:$PATH
TZ=UTC
export TS_ROOT PATH TZ
unset COLUMNS NO_COLOR

folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/in" || exit 2
(cd "$folder/in" && sh "$TS_ROOT/$test_file") \
    >"$folder/out" 2>"$folder/err" </dev/null
echo $? >"$folder/rc"

failed=0
for part in out err rc; do
    default=$folder/none
    : >"$default"
    test $part != rc || echo 0 >"$default"
    if test "${UPDATE:-}" = 1; then
        rm -f "$expected.$part"
        cmp -s "$default" "$folder/$part" ||
            cp "$folder/$part" "$expected.$part"
        continue
    fi
    wanted=$expected.$part
    test -f "$wanted" || wanted=$default
    diff -u --label "wanted $part" --label "got $part" \
        "$wanted" "$folder/$part" || failed=1
done
exit $failed
