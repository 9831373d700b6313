#!/bin/sh
# Rows about building with tracesmith.h: instructions that disabled macros
# leave, size of a program, libraries it needs, time to compile.
#   bench/build.sh DIR OUT    DIR: for files; the caller removes it
#                             OUT: where the benchmarks were built
set -eu
cd "$(dirname "$0")/.."
dir=$1
out=$2
cc=${CC:-cc}
tab=$(printf '\t')

row() { # key, what, figure, unit, limit, yardstick, rule, budget
    printf '%s' "$1"
    shift
    printf "$tab%s" "$@"
    echo
}

minus() {
    echo "$1 $2" | awk '{ print $1 - $2 }'
}

cat >"$dir/off.c" <<'END'
#ifdef PLAIN
#    define TS_ZONE(name)         (void)0
#    define TS_COUNTER(name, n)   (void)0
#    define TS_ALLOC(block, size) (void)0
#    define TS_MARK(name)         (void)0
#else
#    include "tracesmith.h"
#endif
int work(int n);
int traced(int n)
{
    TS_ZONE("traced");
    TS_MARK("mark");
    TS_COUNTER("n", n);
    TS_ALLOC(&n, sizeof n);
    return work(n) + 1;
}
END
instructions() {
    "$cc" -std=c11 -O2 -I. "$@" -c "$dir/off.c" -o "$dir/off.o"
    objdump -d --no-show-raw-insn "$dir/off.o" | grep -c '^ *[0-9a-f]*:'
}
plain=$(instructions -DPLAIN)
off=$(instructions -DTRACESMITH_DISABLE)
row off.compiled 'compiled out: instructions added' "$(minus "$off" "$plain")" \
    instr 0 - '<=' 0

cat >"$dir/header.c" <<'END'
#include "tracesmith.h"
#include <stdio.h>
int main(void)
{
    TS_ZONE("hello");
    puts("hello, world");
    return 0;
}
END
text() { # KiB, flags follow
    CC=$cc bench/text.sh "$dir" "$@" | awk '{ print $1 / 1024 }'
}
row build.text.small 'hello, world: text added, -Os' \
    "$(text -Os -ffunction-sections -Wl,--gc-sections)" KiB 0 - - 0
row build.text 'hello, world: text added, -O2, TRACESMITH_STATIC' \
    "$(text -O2 -DTRACESMITH_STATIC)" KiB 0 - '<=' 30
row build.text.whole 'the same, with what only other files may call' \
    "$(text -O2)" KiB 0 - - 0
stripped() {
    stat -c %s "$1" | awk '{ print $1 / 1024 }'
}
row build.file 'hello, world: stripped file added, -O2' \
    "$(minus "$(stripped "$dir/hello")" "$(stripped "$dir/empty")")" KiB 0 - \
    - 0
others=$(objdump -p "$dir/hello" | grep NEEDED | grep -vcE 'lib(c|pthread)\.' \
    || true)
row build.libraries 'libraries beside libc' "$others" '' 0 - '<=' 0

compile() { # CPU seconds, the least of a few runs
    "$out/bench/bench_tools" --seconds 4 "$cc" -std=c11 -O2 -I. -c \
        "$dir/$1.c" -o "$dir/$1.o"
}
empty=$(compile empty)
row compile.header 'compile an including file, more' \
    "$(minus "$(compile header)" "$empty")" s "$empty" \
    'the file without it' '<=' 0.3
row compile.implementation 'compile the implementation' \
    "$(compile hello)" s "$empty" 'hello, world' '<=' 3
