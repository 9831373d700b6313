# Replays traces of real programs: the schedule, written as a trace, has the
# same events, the same digest and the same operations in the same order. The
# traces are those in the folder that TS_DATA names (../shared/data).
. tests/lib.sh
data=${TS_DATA:-../shared/data}
folder=build/replay
rm -rf $folder
mkdir -p $folder
check_build "replay: build" all
if ! test -d "$data/kineto"; then
    check "replay: written and read again" \
        sh -c 'echo "no traces in $0"; exit 77' "$data"
    exit 0
fi

for source in "$data"/*/*.gz "$data"/*/*.sqlite; do
    name=$(basename "$source" | sed 's/\..*//')
    build/ts-import -o $folder/$name.sbt "$source" >/dev/null 2>&1
done
check "replay: every trace was imported" sh -c '
    test "$(ls "$0" | wc -l)" -ge 17' \
    $folder
for trace in $folder/*.sbt; do
    name=$(basename "$trace" .sbt)
    check "replay: $name, written and read again" sh -ec '
        before=$(build/ts-replay --digest -o "$0.out" "$0")
        test "$before" = "$(build/ts-replay --digest "$0.out")"
        build/ts-info --verify "$0.out" >/dev/null
        build/ts-view --events --limit 0 "$0" >"$0.events"
        build/ts-view --events --limit 0 "$0.out" | cmp - "$0.events"
        build/ts-replay --verify "$0" "$0.out"' "$trace"
    check "replay: $name, a model of it, written and read again" sh -ec '
        before=$(build/ts-replay --digest --what-if "host 0.5" -o "$0.out" "$0")
        test "$before" = "$(build/ts-replay --digest "$0.out")"
        build/ts-replay --verify "$0" "$0.out"' "$trace"
    rm -f "$trace.out" "$trace.events"
done
check "replay: eight ranks as one trace" sh -ec '
    build/ts-replay --digest -o "$0/joint" "$0"/dlrm*.sbt
    build/ts-replay "$0/joint"' $folder

# What is known of these traces: `key value` lines of a report.
says='
    json=$1 wanted=$2
    shift 2
    build/ts-replay --json "$@" | grep -o "\"[a-z_]*\": [0-9]*" |
        tr -d "\":" >"$json"
    echo "$wanted" | while read -r key value count; do
        test "$(grep -cx "$key $value" "$json")" -ge "${count:-1}" || {
            echo "not $key $value, but:"
            grep "^$key " "$json"
            exit 1
        }
    done'
check "replay: eight ranks meet in eight collectives, clocks put right" \
    sh -ec "$says" "" $folder/dlrm.json 'meetings 8
meetings_partial 0
collective 128
matched_collectives 8 7
different_operations 0' $folder/dlrm*.sbt
check "replay: waits and syncs that name their records" \
    sh -ec "$says" "" $folder/event_sync.json 'event 1
sync 10
missing_records 0
different_operations 0' $folder/event_sync_multi_stream.sbt
check "replay: dependent launches begin early" \
    sh -ec "$says" "" $folder/b200.json 'overlaps 74
different_operations 0' $folder/b200_eager_pdl.sbt
check "replay: docs/replay.md shows what the tools print" sh -ec '
    root=$PWD
    mkdir -p $0/docs
    cp "$1"/b200_eager_pdl.json.gz "$1"/dlrm_8ranks_v100.tar.gz $0/docs
    mkdir -p $0/docs/docs/examples
    cp docs/examples/job.tar.gz $0/docs/docs/examples
    cd $0/docs
    rm -rf *.sbt dlrm job
    PATH=$root/build:$PATH
    node $root/$HERE/console.mjs $root/docs/replay.md' $folder "$data/kineto"
