#!/bin/sh
# Turns a recording of tests/gpu/run.sh into a test: the double of CUPTI
# reports what CUPTI reported to a program, and this checks that all of it is
# in the trace.
#   tests/gpu/replay-recording.sh FOLDER TRACE [LIKE]
#     FOLDER  of a recording, see cupti_recorder.c
#     LIKE    a trace of the same program: operations and calls must be the same
set -u
folder=$(cd "$1" && pwd) trace=$2 like=${3:-}
out=${TS_GPU_BUILD:-build}
dir=$(mktemp -d "${TMPDIR:-/tmp}/ts-again.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
${CC:-cc} -std=gnu11 -O2 tests/gpu/cupti_replay.c -o "$dir/replay" -ldl ||
    exit 1
make -s OUT="$out" "$out/tests/doubles/libcuda.so" \
    "$out/tests/doubles/libcupti.so" || exit 1
cp "$out/tests/doubles/libcuda.so" "$dir/libcuda.so.1"
cp "$out/tests/doubles/libcupti.so" "$dir/libcupti.so.13"
LD_LIBRARY_PATH=$dir DOUBLE_RECORDING=$folder "$out/ts-record" -o "$trace" -- \
    "$dir/replay" || exit 1

failed=0
same() { # WHAT WANTED SEEN
    test "$2" != "$3" || return
    echo "$1: $3, not $2"
    failed=1
}
# Kinds of records as CUPTI numbers them, and the tables of what they become.
for kinds in 3,10:kernel 1,22:memcpy; do
    table=${kinds#*:}
    same "$table" "$(awk -v kinds=",${kinds%:*}," \
        '$1 == "r" && index(kinds, "," $2 ",") { n++ } END { print n + 0 }' \
        "$folder/calls")" \
        "$("$out/ts-query" --csv "$trace" "SELECT count(*) FROM $table" |
            tail -n 1)"
done
rows() { # TRACE: what is of the program, not of when it ran
    "$out/ts-info" --json "$1" | sed -n '/"counts"/,/}/p'
    "$out/ts-query" --csv "$1" 'SELECT name, stream, grid_x, grid_y, block_x,
        correlation, graph, graph_node, duration_ns AS took FROM kernel
        ORDER BY correlation, graph_node'
    "$out/ts-query" --csv "$1" 'SELECT size, stream, correlation,
        duration_ns AS took FROM memcpy ORDER BY correlation'
    "$out/ts-query" --csv "$1" 'SELECT name, correlation FROM api_call
        ORDER BY correlation'
}
if test "$like"; then
    rows "$like" >"$dir/wanted"
    rows "$trace" >"$dir/seen"
    # Times of another moment are rounded to ticks elsewhere: 1 ns.
    paste -d '\n' "$dir/wanted" "$dir/seen" | awk '
        /took$/ { took = 1 } /^[^,]*,correlation$/ { took = 0 }
        NR % 2 { wanted = $0; next }
        $0 != wanted {
            near = took
            split(wanted, a, ","); n = split($0, b, ",")
            for (i = 1; i <= n; i++)
                if (a[i] != b[i] && (i < n || (a[i] - b[i]) ^ 2 > 1)) near = 0
            if (!near) { print "< " wanted "\n> " $0; bad = 1 }
        }
        END { exit bad }' || failed=1
fi
exit $failed
