# What tools say of programs whose truth is known: random programs of threads,
# streams, events, copies and collectives on one or two ranks, run on a machine
# of the test's own, unchanged and with each change that a what-if makes. What
# is exact must be exact, what is said with high confidence right in 99 of 100
# cases, with medium in 90. docs/confidence.md has the table; UPDATE=1 rewrites
# it.
. tests/lib.sh
folder=build/truth
moods="kernels host launches copies network mixed"
seeds=$(seq 1 "${TS_SEEDS:-30}")
rm -rf $folder
mkdir -p $folder
check_build "truth: build" all build/tests/truth/program
check "truth: programs are run, analysed and replayed" sh -ec '
    for mood in $1; do
        for seed in $2; do
            to=$0/$mood$seed
            mkdir "$to"
            build/tests/truth/program "$seed" "$mood" "$to"
            build/ts-analyze "$to"/*.sbt --json >"$to/analyze.json"
            build/ts-replay "$to"/*.sbt --json --what-if "host 0.5" \
                --what-if "scale ^alpha$=0.5" --what-if "scale kernel~.=0.5" \
                --what-if "scale ^delta$=2" >"$to/replay.json"
        done
    done' $folder "$moods" "$seeds"
check "truth: statements are as right as they say" sh -c '
    node tests/truth/compare.mjs $0/tally $0/*/ &&
        awk -F "\t" "\$3 == \"wrong\" && \$2 != \"low\"" $0/tally &&
        awk -F "\t" -f tests/truth/table.awk $0/tally >$0/table' $folder
check "truth: docs/confidence.md has the table" sh -c '
    test -z "${TS_SEEDS:-}" || { echo "other programs: TS_SEEDS"; exit 77; }
    sed "/^| sort/,\$d" docs/confidence.md >$0/page && cat $0/table >>$0/page
    test "${UPDATE:-}" != 1 || cp $0/page docs/confidence.md
    diff -u docs/confidence.md $0/page' $folder
