# Runs ts-diff, and the topics memory and flame of ts-analyze, on traces of
# real programs: their figures equal those that a script sums from the list of
# events, and differences made by a what-if replay are found. The traces are
# those in the folder that TS_DATA names (../shared/data).
. tests/lib.sh
data=${TS_DATA:-../shared/data}
folder=build/diff
rm -rf $folder
mkdir -p $folder
check_build "diff: build" all
if ! test -d "$data/kineto"; then
    check "diff: real traces" sh -c 'echo "no traces in $0"; exit 77' "$data"
    exit 0
fi

for source in "$data"/kineto/*.gz "$data"/rocm/*.gz "$data"/nsys/*.sqlite; do
    name=$(basename "$source" | sed 's/\..*//')
    build/ts-import -o $folder/$name.sbt "$source" >/dev/null 2>&1
done
check "diff: every trace was imported" sh -c '
    test "$(ls "$0" | wc -l)" -ge 16' $folder

# Work of the devices by its durations, in the list of events.
work='build/ts-view --events --json --limit 0 \
    --kinds kernel,memcpy,memset,collective "$0" |
    sed -n "s/.*\"duration_ns\": \([0-9]*\).*/\1/p" |
    awk "{ sum += \$1 } END { printf \"%.0f\n\", sum }"'
for trace in $folder/*.sbt; do
    name=$(basename "$trace" .sbt)
    check "diff: $name has no difference from itself" sh -ec '
        build/ts-diff --gate "operation:* total +0%" --gate "makespan +0%" \
            --gate "?zone:* total +0%" --gate "?idle:* +0%" "$0" "$0" >"$0.same"
        grep -q "^  No difference" "$0.same"' "$trace"
    check "diff: $name, folded stacks have all the time of its devices" \
        sh -ec '
        build/ts-analyze --folded "$0.folded" "$0"
        folded=$(awk "{ sum += \$NF } END { printf \"%.0f\n\", sum }" \
            "$0.folded")
        wanted=$('"$work"')
        test "$folded" = "$wanted" || {
            echo "folded $folded, events $wanted"
            exit 1
        }' "$trace"
done

# A fifth more of every kernel; what is launched often enough is found.
for name in v100_nccl_22k_ops h100_owlv2 mytrace h100_2gpu_1s; do
    trace=$folder/$name.sbt
    check "diff: $name, every kernel slower by a fifth" sh -c '
        build/ts-replay --what-if "scale kernel~.=1.2" -o "$0.b" "$0" \
            >/dev/null || exit
        build/ts-diff --json --rows 1000000 --gate "kernel:* total +10%" \
            --gate "kernel:* count +0" "$0" "$0.b" >"$0.json"
        test $? = 1 || exit
        build/ts-diff --gate "kernel:* total +21%" "$0" "$0.b" >/dev/null ||
            exit
        build/ts-diff --gate "kernel:* total +0%" "$0.b" "$0" >/dev/null ||
            exit
        # Of each kernel, that is not about nothing: 19 to 21 %.
        node -e "
            const r = JSON.parse(require(\"fs\").readFileSync(\"$0.json\"));
            const rows = r.answers.kernels.tables.kernels.rows.filter(
                row => row.a > 20000);
            if (!rows.length) throw Error(\"no kernels\");
            for (const row of rows)
                if (row.share < 0.19 || row.share > 0.21)
                    throw Error(JSON.stringify(row));"' "$trace"
done

# The most that was held at once, pool by pool, by walking through the events.
check "diff: peaks of memory are those of the list of events" sh -ec '
    for name in h100_owlv2 v100_nccl_22k_ops; do
        build/ts-view --events --limit 0 --kinds alloc,free \
            "$0/$name.sbt" | awk -f $HERE/memory.awk | sort >"$0/want"
        build/ts-analyze --only memory --json "$0/$name.sbt" >"$0/memory.json"
        node -e "
            const r = JSON.parse(
                require(\"fs\").readFileSync(\"$0/memory.json\"));
            for (const p of r.answers.memory.tables.pools.rows)
                console.log(p.pool, p.peak_bytes, p.peak_ns, p.end_bytes);" |
            sort >"$0/got"
        test -s "$0/want"
        diff "$0/want" "$0/got"
    done' $folder

check "diff: eight ranks against eight ranks" sh -ec '
    build/ts-diff --gate "operation:* total +0%" "$0"/dlrm*-rank*.sbt -- \
        "$0"/dlrm*-rank*.sbt | grep -q "^  No difference"' $folder
