# Compares statements of the tools with the truth: random programs of threads,
# streams, events, copies, graphs and collectives on one to three ranks run on
# a simulated machine, unchanged and with each change that a what-if makes.
# Their traces are cut, have lost records, lack a rank or have clocks of their
# own. Exact statements must be exact; those with high confidence must be right
# in 99 of 100 cases, those with medium in 90. UPDATE=1 rewrites the table of
# docs/confidence.md; TS_SEEDS=100 makes more programs, by hand.
. tests/lib.sh
folder=build/truth
moods="kernels host launches copies network mixed"
seeds=$(seq 1 "${TS_SEEDS:-30}")
rm -rf $folder
mkdir -p $folder
check_build "truth: build" all build/$HERE/program
LIMIT=3600 check "truth: programs are run, analysed and replayed" sh -ec '
    for mood in $1; do
        for seed in $2; do
            to=$0/$mood$seed
            mkdir "$to"
            build/$HERE/program "$seed" "$mood" "$to"
            build/ts-analyze "$to"/*.sbt --json >"$to/analyze.json"
            xargs -d "\n" build/ts-replay "$to"/*.sbt --json \
                <"$to/what-ifs" >"$to/replay.json" 2>"$to/replay.err" || {
                cat "$to/replay.err"
                exit 1
            }
        done
    done' $folder "$moods" "$seeds"
check "truth: statements are as right as they say" sh -c '
    node $HERE/compare.mjs $0/tally $0/*/ || exit
    awk -F "\t" -f $HERE/table.awk $0/tally >$0/table && exit
    awk -F "\t" "\$3 == \"wrong\" && \$2 != \"low\"" $0/tally
    exit 1' $folder
if test "${UPDATE:-}" = 1; then
    sed "/^| sort/,\$d" docs/confidence.md >$folder/page
    cat $folder/page $folder/table >docs/confidence.md
fi
