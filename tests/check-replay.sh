# Traces of real programs: the schedule written as a trace has the same
# events, the same digest and the same operations in the same order. The
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
check "replay: every trace was imported" sh -c 'test "$(ls "$0" | wc -l)" -ge 17' \
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
