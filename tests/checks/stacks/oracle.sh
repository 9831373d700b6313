#!/bin/sh
# Compares stacks of ts_stack.h with those of libunwind in real programs, until
# a given number is equal or the difference is explained.
#   tests/checks/stacks/oracle.sh FOLDER [STACKS (20000)]
# Exit status 77: there is no libunwind.
set -u
folder=$1 wanted=${2:-20000}
if ! echo '#include <libunwind.h>' | cc -E -xc - >/dev/null 2>&1; then
    echo 'no libunwind.h (libunwind-dev)'
    exit 77
fi
cc -std=gnu11 -O2 -fPIC -shared -I. -Wall -Wextra -Werror \
    tests/checks/stacks/oracle.c -o "$folder/oracle.so" -lunwind -pthread \
    -ldl ||
    exit 1
counts=$folder/oracle.counts
rm -f "$counts"
under() { # command...: its own exit status does not matter
    LD_PRELOAD=$folder/oracle.so TS_ORACLE=$counts \
        TS_ORACLE_MOST=$((wanted / 4)) "$@" >/dev/null 2>&1 </dev/null
}
sum() {
    awk '{ n += $1 } END { print n + 0 }' "$counts" 2>/dev/null || echo 0
}
cat >"$folder/oracle.py" <<'END'
import json, re, threading
def walk(n): return walk(n - 1) if n else json.dumps([{"a": [1, 2.5, "x"]}] * 9)
def work():
    for i in range(400):
        re.compile("(a|b)*%d" % i).search("abab"); walk(i % 20)
all = [threading.Thread(target=work) for _ in range(3)]
[t.start() for t in all]; work(); [t.join() for t in all]
END
for _ in 1 2 3 4 5 6 7 8; do
    test "$(sum)" -lt "$wanted" || break
    ! command -v python3 >/dev/null ||
        under env PYTHONMALLOC=malloc python3 "$folder/oracle.py"
    under cc -O2 -I. -c tests/tools/view/test_view.c -o /dev/null
    under perl -e 'sub f { my $n = shift; $n ? f($n - 1) : sort { $a <=> $b }
        map { [$_]->[0] . "x" } 1 .. 500 } f($_) for 1 .. 20'
    under sort --parallel=2 -S 2M tracesmith.h
    under git log --stat -5
    for tool in "ts-info" "ts-view --stats" "ts-analyze"; do
        # shellcheck disable=SC2086 # a tool and its options
        under build/$tool "$folder/plain.sbt"
    done
done
awk -v wanted="$wanted" '
    { for (i = 1; i <= 7; i++) n[i] += $i }
    END {
        printf "%d stacks, %d frames: %d equal, %d shorter, %d longer, ", n[1],
            n[2], n[3], n[4], n[5]
        printf "%d as the compiler has them, %d wrong\n", n[6], n[7]
        exit n[1] < wanted || n[7] || n[3] < 0.99 * n[1]
    }' "$counts"
