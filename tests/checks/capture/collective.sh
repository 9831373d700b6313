#!/bin/sh
# Records two ranks of a program that launches my_nccl_helper and a kernel of
# NCCL or RCCL, five times: the former is a kernel, the latter a collective, of
# which tools show only what its name says.
#   tests/checks/capture/collective.sh FOLDER PROGRAM [ARGUMENT...]
set -eu
folder=$1
shift
trap 'test $? = 0 || cat "$folder"/said' EXIT
for rank in 0 1; do
    TRACESMITH_RANK=$rank build/ts-record -q -o "$folder/rank%r.sbt" -- "$@"
done >"$folder/said" 2>&1
one=$folder/rank0.sbt
says() { # a line of the last command
    grep -q "$@" "$folder/said"
}
never() {
    if says "$@"; then exit 1; fi
}
build/ts-info "$one" >"$folder/said"
says '^  collective  *5 '
build/ts-view --events --kinds collective "$one" >"$folder/said"
says ' AllReduce .* type=bf16 .*block='
never -E 'size=|ranks=|communicator=|sequence='
build/ts-view --events --kinds kernel "$one" >"$folder/said"
says my_nccl_helper
never ncclDevKernel
build/ts-view --stats --kinds collective "$one" >"$folder/said"
says '^AllReduce  *5 '
never '^collective  *5 '
build/ts-analyze --only overlap,ranks "$one" >"$folder/said"
says 'Communication took'
says -- 'AllReduce  *-  *5 '
says 'The other ranks of the 5 collectives are not in these files'
build/ts-analyze --only ranks "$folder"/rank[01].sbt >"$folder/said"
says 'In 5 collectives, ranks waited'
build/ts-replay --json "$folder"/rank[01].sbt >"$folder/said"
says '"meetings_guessed": 5'
says '"meetings_partial": 0'
build/ts-replay --json "$one" >"$folder/said"
says '"meetings_partial": 5'
