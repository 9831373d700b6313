# Imports traces of real programs: every event is there with its figures
# (counted independently), the other tools accept the result, and a replay of
# the record is exact to the nanosecond. The traces are those in the folder
# that TS_DATA names (../shared/data); without it they are skipped.
. tests/lib.sh
data=${TS_DATA:-../shared/data}
folder=build/import
rm -rf $folder
mkdir -p $folder/json
check_build "import: build" all

# Without the libraries the tools say what is missing.
build_alone "import: build with no library but xxHash" $alone/ts-import \
    $alone/ts-query $alone/ts-export
check "import: what a build without libraries lacks is said" sh -c '
    cp tests/tools/import/kineto/zone.json $0/plain
    gzip -nc tests/tools/import/kineto/zone.json >$0/packed
    ! build/alone/ts-import -o $0/none.sbt $0/plain $0/packed 2>$0/said &&
        grep "needs yajl" $0/said &&
        grep "was built without zlib" $0/said &&
        ! build/alone/ts-import -o $0/none.sbt \
            tests/tools/import/otf2/odd/traces.otf2 2>$0/said &&
        grep "needs the library of OTF2" $0/said &&
        tar -cf $0/tar $0/plain && ! build/alone/ts-import -o $0/none.sbt \
            $0/tar 2>$0/said && grep "built without libarchive" $0/said &&
        ! test -e $0/none.sbt' $folder
check "import: ts-query without SQLite says so" sh -c '
    ! build/alone/ts-query tests/cli/view.sbt "SELECT 1" 2>$0/said &&
        grep "this build has no SQLite" $0/said' $folder
check "import: ts-export without zlib writes packets as they are" sh -c '
    build/alone/ts-export tests/cli/view.sbt -o $0/plain.pftrace 2>$0/said &&
        grep "was built without zlib" $0/said &&
        build/ts-export --no-compress tests/cli/view.sbt -o $0/same.pftrace &&
        cmp $0/plain.pftrace $0/same.pftrace &&
        ! build/alone/ts-export tests/cli/view.sbt -o $0/none.json.gz \
            2>$0/said && grep "omit .gz" $0/said &&
        ! test -e $0/none.json.gz' $folder

# A pipe that stalls: what came so far is unpacked, and goes with a signal. One
# that is ignored, as by nohup, stays so.
check "import: interrupted, it leaves nothing behind" sh -c '
    mkdir -p $0/unpacked
    trap "" HUP
    mkfifo $0/pipe && exec 5<>$0/pipe
    TMPDIR=$0/unpacked build/ts-import -o $0/cut.sbt - <$0/pipe 2>/dev/null &
    { printf "SQLite format 3\\000"; head -c 300000 /dev/zero; } >&5
    until test -n "$(ls $0/unpacked)"; do sleep 0.1; done
    kill -HUP $! && sleep 0.2 && kill -TERM $!
    status=$?
    wait $!
    test $status = 0 && test -z "$(ls $0/unpacked)"' $folder
# Archives that Python's own modules write.
check "import: archives of other programs give the same traces" sh -c '
    command -v python3 >/dev/null || { echo "no python3"; exit 77; }
    rm -rf $0 && mkdir $0 && python3 $HERE/archives.py $0 &&
        build/ts-import -o $0/plain/ $0/ranks >/dev/null &&
        test "$(ls $0/plain | wc -l)" = 150 || exit 1
    for archive in $0/ranks.*; do
        rm -rf $0/out
        build/ts-import -o $0/out/ $archive >/dev/null &&
            diff -r $0/plain $0/out || exit 1
    done' $folder/archives
# What Node.js writes with --trace-event-categories.
check "import: a trace of Node.js holds what the source does" sh -c '
    node --trace-event-categories node,node.fs.sync,node.perf,v8 \
        --trace-event-file-pattern $0/node.log $HERE/traced.js &&
        build/ts-import --json -o $0/node.sbt $0/node.log >$0/node.json &&
        node $HERE/chrome.mjs $0/node.log $0/node.json' $folder

# What rocprofv3 writes, in two notations.
mkdir -p $folder/rocprofv3
check "import: JSON of rocprofv3 holds what the source does" sh -c '
    node $HERE/rocprofv3.mjs make $0 &&
        build/ts-import -o $0/json.sbt $0/run_results.json &&
        node $HERE/rocprofv3.mjs compare $0/run_results.json $0/json.sbt
    ' $folder/rocprofv3
check "import: so does the same JSON with sorted keys" sh -c '
    node -e "const sort = (v) => Array.isArray(v) ? v.map(sort) :
            v && typeof v == \"object\" ? Object.fromEntries(Object.keys(v)
                .sort().map((k) => [k, sort(v[k])])) : v;
        const fs = require(\"fs\");
        fs.writeFileSync(\"$0/sorted.json\", JSON.stringify(sort(JSON.parse(
            fs.readFileSync(\"$0/run_results.json\", \"utf8\")))))" &&
        build/ts-import -o $0/sorted.sbt $0/sorted.json &&
        node $HERE/rocprofv3.mjs compare $0/run_results.json $0/sorted.sbt
    ' $folder/rocprofv3
check "import: so do its CSV files, which are one trace" sh -c '
    rm -rf $0/csv $0/sbt && mkdir $0/csv && cp $0/*.csv $0/csv &&
        build/ts-import -o $0/sbt/ $0/csv && test "$(ls $0/sbt)" = \
        0-run_agent_info.sbt && node $HERE/rocprofv3.mjs compare \
        $0/run_results.json $0/sbt/0-run_agent_info.sbt csv' $folder/rocprofv3

# What TraceSmith 0.x wrote.
check "import: SBT of TraceSmith 0.x holds what the source does" sh -c '
    node $HERE/sbt0.mjs make $0.old && build/ts-import -o $0.sbt $0.old &&
        node $HERE/sbt0.mjs compare $0.sbt' $folder/sbt0

# What xctrace export writes, as published exports have it.
check "import: tables of Instruments hold what the source does" sh -c '
    command -v python3 >/dev/null || { echo "no python3"; exit 77; }
    python3 $HERE/xctrace.py make $0.xml &&
        build/ts-import -o $0.sbt $0.xml &&
        build/ts-view --events --json --limit 0 $0.sbt >$0.rows &&
        python3 $HERE/xctrace.py compare $0.rows' $folder/xctrace
# What ExecutionTraceObserver writes, and what Chakra makes of it.
check "import: execution traces are joined as the source says" sh -c '
    command -v python3 >/dev/null || { echo "no python3"; exit 77; }
    rm -rf $0 && mkdir $0 && python3 $HERE/execution.py make $0 || exit 1
    for name in execution.json old.json chakra.et; do
        build/ts-import -o $0/joined.sbt $0/profile.json $0/$name >$0/said &&
            build/ts-view --events --json --limit 0 $0/joined.sbt >$0/rows &&
            python3 $HERE/execution.py compare $0 $0/rows ${name%%.*} || exit 1
    done' $folder/execution
# What torch.cuda.memory._dump_snapshot writes.
check "import: a memory snapshot holds what the source does" sh -c '
    node $HERE/snapshot.mjs make $0.pickle &&
        build/ts-import -o $0.sbt $0.pickle &&
        node $HERE/snapshot.mjs compare $0.sbt' $folder/snapshot
# What JAX writes, plain and compressed.
check "import: XPlane holds what the source does" sh -c '
    node $HERE/xplane.mjs make $0.pb && gzip -nkf $0.pb &&
        for source in $0.pb $0.pb.gz; do
            build/ts-import -o $0.sbt $source &&
                node $HERE/xplane.mjs compare $0.pb $0.sbt || exit 1
        done' $folder/xplane
# What tools that trace zones write. CTF needs its library.
for format in spall1 spall3 tracy ctf; do
    check "import: zones of $format are those of the source" sh -c '
        node $HERE/zones.mjs make $1 $0/$1 || exit 1
        build/ts-import -o $0/$1.sbt $0/$1 2>$0/said || {
            cat $0/said
            grep "was built without it" $0/said && exit 77
            exit 1
        }
        node $HERE/zones.mjs compare $1 $0/$1.sbt' $folder $format
done
# What the library of OTF2 writes, through its module for Python.
check "import: an archive of OTF2 holds what the source does" sh -c '
    /usr/bin/python3 -c "import otf2" && command -v otf2-print || exit 77
    /usr/bin/python3 $HERE/otf2.py make $0 200 || exit 1
    build/ts-import -o $0.sbt $0 2>$0.said || {
        cat $0.said
        grep "was built without it" $0.said && exit 77
        exit 1
    }
    /usr/bin/python3 $HERE/otf2.py compare $0 $0.sbt' $folder/otf2
if ! test -d "$data/kineto"; then
    check "import: Kineto" sh -c 'echo "no traces in $0"; exit 77' "$data"
    exit 0
fi

# The JSON of each trace under $folder/json, its SBT under $folder/sbt.
for packed in "$data"/kineto/*; do
    name=$(basename "$packed")
    case $name in
    *.tar.gz) tar -xzf "$packed" -C $folder/json --strip-components 1 ;;
    *) gzip -dc "$packed" >"$folder/json/${name%.gz}" 2>/dev/null ;;
    esac
    check "import: $name" build/ts-import --json -o $folder/$name/ "$packed"
done
for json in $folder/json/*.json; do
    name=$(basename "$json" .json)
    sbt=$folder/json/$name.sbt
    check "import: $name as plain JSON" build/ts-import --json -o "$sbt" "$json"
    check "import: $name holds what the source does" sh -c '
        build/ts-view --events --json --limit 0 "$1" >"$1.events" &&
            node $HERE/kineto.mjs "$0" "$1.events"' "$json" "$sbt"
    check "import: $name replays exactly" sh -c '
        build/ts-info --verify "$0" && build/ts-replay --json "$0" >"$0.json" &&
            grep -q "\"result\": \"same\"" "$0.json"' "$sbt"
    check "import: $name exports" build/ts-export "$sbt" \
        -o "$sbt.perfetto-trace"
    rm -f "$sbt.events" "$sbt.perfetto-trace"
done
ranks="$folder/dlrm_8ranks_v100.tar.gz"
check "import: eight ranks of an archive, by their numbers" sh -c '
    test "$(ls "$0" | tr "\n" " ")" = "$(for i in 0 1 2 3 4 5 6 7; do
        printf "rank%s.sbt " $i; done)"' $ranks
check "import: eight ranks replay together" build/ts-replay $ranks/*.sbt
mkdir $folder/loose
cp $folder/json/worker*.json $folder/loose
check "import: a folder is as good as an archive" sh -c '
    build/ts-import -o "$0/folder/" "$0/loose" && for i in 0 1 2 3 4 5 6 7; do
        cmp "$0/folder/rank$i.sbt" "$1/rank$i.sbt" || exit 1
    done' $folder $ranks
for packed in nsys/h100_2gpu_1s.sqlite rocm/mytrace.rpd.gz \
    chakra/feeder_tests_trace.tar.gz; do
    sbt=$folder/$(basename $packed).sbt
    check "import: $packed, twice the same bytes" sh -c '
        build/ts-import -o "$1" "$0" && build/ts-import -o "$1.2" "$0" &&
            cmp "$1" "$1.2"' "$data/$packed" "$sbt"
    check "import: $packed replays exactly" sh -c '
        build/ts-info --verify "$0" && build/ts-replay --json "$0" >"$0.json" &&
            grep -q "\"result\": \"same\"" "$0.json"' "$sbt"
    check "import: $packed exports" build/ts-export "$sbt" \
        -o "$sbt.perfetto-trace"
    rm -f "$sbt.2" "$sbt.perfetto-trace"
done
