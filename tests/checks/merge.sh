# Runs ts-merge and ts-cut on traces of real programs, those in the folder that
# TS_DATA names (../shared/data).
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
    for what in "host 0.5" "network 0.5" no-launch-overhead \
        "straggler rank=3:1.2"; do
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

check "merge, cut: a trace alone, all of it, is what it was" sh -ec '
    cd "$0/one"
    for trace in *.sbt; do
        ../../ts-cut -o ../part.out "$trace"
        rm -f ../alone.out
        ../../ts-merge -o ../alone.out "$trace"
        ../../ts-view --events --limit 0 "$trace" >../events
        ../../ts-view --events --limit 0 ../part.out | cmp - ../events
        ../../ts-view --events --limit 0 ../alone.out | cmp - ../events
    done' $folder
# By kind, all parts together are the whole; each replays, whatever is missing.
check "cut: parts of every trace" sh -ec '
    cd "$0/one"
    for trace in *.sbt; do
        sum=0
        for kind in "zone,zone_open" "mark,message,frame,flow,span,access" \
            "counter,alloc,free" "api_call,dependency" gpu; do
            rm -f ../part.out
            ../../ts-cut --json -o ../part.out --kind $kind "$trace" \
                >../said 2>/dev/null || continue
            kept=$(sed -n "s/.*\"kept\": \([0-9]*\).*/\1/p" ../said)
            sum=$((sum + kept))
        done
        ../../ts-cut --json -o ../part.out "$trace" >../said
        kept=$(sed -n "s/.*\"kept\": \([0-9]*\).*/\1/p" ../said)
        test "$sum" = "$kept" || echo "$trace: $sum of $kept" >>../wrong
        ../../ts-cut -o ../part.out --from 10ms --to 60ms "$trace" &&
            ../../ts-info --verify ../part.out >/dev/null
        case $? in 0 | 1) ;; *) exit 1 ;; esac
        ../../ts-replay ../part.out >/dev/null 2>&1 || test $? = 3
    done
    ! cat ../wrong' $folder
# The backward pass of each runs on a thread of its own.
check "cut: every step has the operations that a replay gives it" sh -ec '
    cd "$0/one"
    ../../ts-query --csv v100_nccl_22k_ops.sbt \
        "select number, operations from step" | tail -n +2 >../steps
    test "$(wc -l <../steps)" -gt 3
    while IFS=, read -r number count; do
        ../../ts-cut -o ../part.out --step "$number" v100_nccl_22k_ops.sbt
        ../../ts-query --csv ../part.out "select count(*) from gpu_op" \
            2>/dev/null | tail -n 1 | grep -qx "$count"
    done <../steps' $folder
check "cut: a rank of a merged trace has the events of its file" sh -ec '
    cd "$0/one"
    for rank in 0 5; do
        ../../ts-cut --json -o ../part.out --rank $rank ../ranks.out >../said
        ../../ts-info --json dlrm*rank$rank.sbt >../info
        kept=$(sed -n "s/.*\"kept\": \([0-9]*\).*/\1/p" ../said)
        grep -q "\"events\": $kept,\$" ../info
    done' $folder
check "cut: nothing of any text is left by --anonymise" \
    make -s --no-print-directory build/tests/tools/cut/test_anonymise
check "cut: nothing of any text is left in real traces" sh -ec '
    build/tests/tools/cut/test_anonymise "$0"/one/*.sbt "$0"/all.out' $folder
# But for names, so the edges tell that it is understood as before.
check "cut: an anonymised trace replays as it did" sh -ec '
    report() {
        build/ts-replay --json "$1" 2>/dev/null | grep -v \
            -e "\"digest\"" -e "\"file\"" -e "\"name\""
    }
    for trace in "$0"/one/*.sbt "$0"/all.out; do
        build/ts-cut -o "$0"/part.out --anonymise "$trace"
        report "$trace" >"$0"/before
        report "$0"/part.out | cmp - "$0"/before
    done' $folder
# Private memory: ten times the events take no more of it.
check_build "cut: build a generator" build/bench/gen_trace
check "cut: memory does not grow with the trace" sh -ec '
    build/bench/gen_trace calls16 2000000 "$0"/big.sbt >/dev/null
    (
        ulimit -d 65536
        build/ts-cut -o "$0"/part.out "$0"/big.sbt
        build/ts-cut -o "$0"/part.out --name o "$0"/big.sbt
        build/ts-cut -o "$0"/part.out --stream 7 "$0"/big.sbt
        build/ts-cut -o "$0"/part.out --anonymise "$0"/big.sbt
        build/ts-merge -o "$0"/both.out "$0"/big.sbt "$0"/part.out
    )
    rm -f "$0"/*.out "$0"/big.sbt' $folder
