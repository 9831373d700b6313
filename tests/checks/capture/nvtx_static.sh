#!/bin/sh
# Records NVTX in a program and in one of its libraries: with a handler that is
# linked into the program, and with the injected one.
#   tests/checks/capture/nvtx_static.sh FOLDER CUDA
set -eu
out=$1/nvtx_static

flags="-std=gnu11 -O1 -I. -isystem $2/include"
source=tests/checks/capture/nvtx_static.c
# shellcheck disable=SC2086 # several flags
{
    gcc $flags -DLIBRARY -shared -fPIC $source -o "$out.so"
    gcc $flags -DRECORDER -c $source -o "$out.recorder.o"
    gcc $flags $source "$out.recorder.o" -pthread -rdynamic -o "$out" -ldl
}
names() {
    build/ts-view --events --limit 0 "$1" 2>/dev/null |
        grep -oE '(in the library|own counter|own) +(zone|counter)|zone  +.*' |
        sed -E 's/ +/ /g' | sort | tr '\n' ','
}
# A library has a variable of its own for a handler, which is hidden: only the
# program's copy finds the one that is linked in.
"$out" "$out.sbt" "$PWD/$out.so"
got=$(names "$out.sbt")
test "$got" = "own counter counter,zone own," || {
    echo "linked in: $got"
    exit 1
}
build/ts-record -q -o "$out.recorded.sbt" "$out" "$out.sbt" "$PWD/$out.so"
got=$(names "$out.recorded.sbt")
test "$got" = "own counter counter,zone in the library,zone own," || {
    echo "injected: $got"
    exit 1
}
build/ts-info "$out.recorded.sbt" | grep -qE 'nvtx.copies +2$'
