#!/bin/sh
# Runs app with the doubles in a folder and counts the events of its traces.
#   tests/checks/hip/app.sh FOLDER PROGRAM
set -eu
trace=$1/${2##*/}
LD_LIBRARY_PATH=$1 "$2" "$trace.1.sbt" "$trace.2.sbt"
for i in 1 2; do
    build/ts-info --verify "$trace.$i.sbt" | grep "Lost: nothing"
    build/ts-view --events --limit 0 --kinds kernel,api_call,zone --json \
        "$trace.$i.sbt" | sed -n 's/.*"label": "\([^"]*\)".*/\1/p' |
        sort | uniq -c | sed 's/^ *//' >"$trace.$i.labels"
done
expect() { # TRACE KERNELS STREAMS
    printf '%s\n' "$2 _Z7nothingv" "$3 hipFree" "$2 hipLaunchKernel" \
        "$3 hipMalloc" "$3 hipStreamCreate" "$3 hipStreamDestroy" \
        "$3 hipStreamSynchronize" "$2 step" | diff - "$trace.$1.labels"
}
expect 1 4007 9
expect 2 1007 3
