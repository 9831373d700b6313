#!/bin/sh
# Bytes of section .text that the implementation, a session and a zone add to
# a program that prints hello, world.
#   bench/text.sh DIR FLAGS...    leaves DIR/empty.c, DIR/hello.c and programs
set -eu
dir=$1
shift
cat >"$dir/empty.c" <<'END'
#include <stdio.h>
int main(void)
{
    puts("hello, world");
    return 0;
}
END
cat >"$dir/hello.c" <<'END'
#define TRACESMITH_IMPLEMENTATION
#include "tracesmith.h"
#include <stdio.h>
int main(void)
{
    const ts_session_desc desc = { .path = "hello.sbt" };
    ts_session_start(&desc);
    {
        TS_ZONE("hello");
        puts("hello, world");
    }
    return ts_session_stop() == TS_OK ? 0 : 1;
}
END
for name in empty hello; do
    "${CC:-cc}" -std=c11 -I. -pthread -s "$@" "$dir/$name.c" -o "$dir/$name"
    size -A "$dir/$name" | awk '$1 == ".text" { print $2 }'
done | awk 'NR == 1 { empty = $1 } END { print $1 - empty }'
