# States and idle causes of traces of real programs: they add up, and equal
# what another program computes from the same events, and what windows of them
# give; Graphviz reads the graphs. The traces are those in the folder that
# TS_DATA names (../shared/data); without it they are skipped.
. tests/lib.sh
data=${TS_DATA:-../shared/data}
folder=build/states
rm -rf $folder
mkdir -p $folder
check_build "states: build" all build/$HERE/windows
if ! test -d "$data"; then
    check "states: real traces" sh -c 'echo "no traces in $0"; exit 77' "$data"
    exit 0
fi

for source in "$data"/*/*.json.gz "$data"/*/*.sqlite "$data"/*/*.rpd.gz \
    "$data"/*/*.tar.gz; do
    name=$(basename "$source")
    check "states: $name is imported" build/ts-import -o $folder/$name/ \
        "$source"
done
for trace in $folder/*/*.sbt; do
    name=${trace#$folder/}
    check "states: $name adds up" sh -c '
        build/ts-view --states --json "$0" >"$0.states" &&
            build/ts-view --events --json --limit 0 --kinds "$1" "$0" \
                >"$0.events" &&
            node $HERE/check.mjs "$0.states" "$0.events"' "$trace" \
        kernel,memcpy,memset,collective,host_function
    check "states: $name has the shares of ts-replay" sh -c '
        build/ts-replay --json "$0" >"$0.replay" &&
            node $HERE/shares.mjs "$0.states" "$0.replay"' "$trace"
    check "states: $name adds up window by window" \
        build/$HERE/windows "$trace"
    check "states: $name as a graph" sh -c '
        build/ts-export --collapse --limit 0 -o "$0.dot" "$0" &&
            if command -v nop; then nop -p "$0.dot"; fi' "$trace"
    check "states: $name as a small graph" sh -c '
        build/ts-export --nodes 60 -o "$0.dot" "$0" | tee /dev/stderr |
            grep -q "as [1-9][0-9]* nodes" && dot -Tsvg "$0.dot" >/dev/null' \
        "$trace"
    rm -f "$trace.states" "$trace.replay" "$trace.events" "$trace.dot"
done

# What is known of these programs: the one preprocesses pictures between its
# batches, the host of the other is slow, and it waits for other ranks.
check "states: h100_owlv2 is bound by its host" sh -c '
    build/ts-view --states --width 100 $0 | tee /dev/stderr |
        grep -q "^ *12[0-9][.][0-9]* ms at .*host late: memcpy h2d"' \
    $folder/h100_owlv2.json.gz/*.sbt
check "states: v100_nccl spends its time in collectives, and late" sh -c '
    build/ts-view --states --width 100 $0 | tee /dev/stderr >$0.text
    grep -q "^  h host late  *[34][0-9]" $0.text &&
        grep -q "only collectives 2[0-9]" $0.text' \
    $folder/v100_nccl_22k_ops.json.gz/*.sbt
check "states: eight ranks on one axis" sh -c '
    build/ts-view --states --json "$@" >$0/joint.states &&
        build/ts-replay --json "$@" >$0/joint.replay &&
        node $HERE/shares.mjs $0/joint.states $0/joint.replay &&
        build/ts-view --states --width 100 "$@" | tee /dev/stderr |
        grep -c "residual [01]" | grep -qx 7' \
    $folder $folder/dlrm_8ranks_v100.tar.gz/*.sbt
