# ts-merge and ts-cut on traces of real programs, which are those in the folder
# that TS_DATA names (../shared/data).
. tests/lib.sh
data=${TS_DATA:-../shared/data}
folder=build/merge
rm -rf $folder
mkdir -p $folder/one
check_build "merge: build" all
if ! test -d "$data/kineto"; then
    check "merge: real traces" sh -c 'echo "no traces in $0"; exit 77' "$data"
    exit 0
fi
for source in "$data"/*/*.gz "$data"/*/*.sqlite; do
    name=$(basename "$source" | sed 's/\..*//')
    build/ts-import -o $folder/one/$name.sbt "$source" >/dev/null 2>&1
done
check "merge: every trace was imported" sh -c '
    test "$(ls "$0" | wc -l)" -ge 17' \
    $folder/one

# The digest is over every operation with its rank, device, stream,
# correlation, name and times.
check "merge: eight ranks replay as they do jointly" sh -ec '
    cd "$0/one"
    ../../ts-replay --digest dlrm*.sbt >../joint
    ../../ts-merge -o ../ranks.out dlrm*.sbt
    ../../ts-replay --digest ../ranks.out | cmp - ../joint
    for what in "host 0.5" "network 0.5" no-launch-overhead; do
        ../../ts-replay --digest --what-if "$what" dlrm*.sbt >../joint
        ../../ts-replay --digest --what-if "$what" ../ranks.out |
            cmp - ../joint
    done' $folder
check "merge: eight ranks, merged in two steps" sh -ec '
    cd "$0/one"
    ../../ts-merge -o ../a.out *rank[0-3].sbt
    ../../ts-merge -o ../b.out *rank[4-7].sbt
    ../../ts-merge -o ../ab.out ../a.out ../b.out
    ../../ts-replay --digest ../a.out ../b.out >../joint
    ../../ts-replay --digest ../ab.out | cmp - ../joint' $folder
check "merge: all traces at once replay as they do jointly" sh -ec '
    cd "$0/one"
    ../../ts-replay --digest *.sbt >../joint
    ../../ts-merge -o ../all.out *.sbt
    ../../ts-info --verify ../all.out >/dev/null
    ../../ts-replay --digest ../all.out | cmp - ../joint
    ../../ts-merge -o ../again.out *.sbt
    cmp ../all.out ../again.out' $folder
check "merge: a trace alone stays as it is" sh -ec '
    cd "$0/one"
    for trace in *.sbt; do
        ../../ts-merge -o ../alone.out "$trace"
        ../../ts-view --events --limit 0 "$trace" >../events
        ../../ts-view --events --limit 0 ../alone.out | cmp - ../events
    done' $folder
