# What ts-export writes for other programs, ts-import reads back as the same
# trace: of traces of real programs in the folder that TS_DATA names
# (../shared/data), and of one that docs/examples/job.awk makes.
. tests/lib.sh
folder=build/roundtrip
data=${TS_DATA:-../shared/data}
rm -rf $folder
mkdir -p $folder
check_build "roundtrip: build" build/ts-export build/ts-query build/ts-import \
    build/ts-replay build/ts-view build/ts-info

# usage: roundtrip FORMAT SUFFIX SOURCE: imports it, exports that, imports this
roundtrip() {
    name=$(basename "$3")
    name=${name%%.*}
    check "roundtrip: $1, $name" sh -c '
        at=$0/$1-$2
        build/ts-import -o "$at.sbt" "$4" >"$at.said" 2>&1 &&
            build/ts-export -o "$at$3" --format "$1" "$at.sbt" &&
            build/ts-import -o "$at-again.sbt" "$at$3" >"$at.said" 2>&1 &&
            $HERE/same.sh "$HERE/$1.txt" "$at.sbt" "$at-again.sbt"' \
        $folder "$1" "$name" "$2" "$3"
}

awk -v rank=0 -f docs/examples/job.awk >$folder/job.json
roundtrip kineto .pt.trace.json $folder/job.json
for trace in simple_add event_sync_multi_stream alexnet b200_eager_pdl; do
    if test -e "$data/kineto/$trace.json.gz"; then
        roundtrip kineto .pt.trace.json.gz "$data/kineto/$trace.json.gz"
    else
        check "roundtrip: kineto, $trace" sh -c 'echo "no $0"; exit 77' \
            "$data/kineto/$trace.json.gz"
    fi
done

# Of Chakra the graph is compared, by a decoder of its public schema.
chakra() { # NAME SOURCE: makes a trace of it
    check "roundtrip: chakra, $1" sh -c '
        command -v python3 >/dev/null || { echo "no python3"; exit 77; }
        at=$0/chakra-$1
        build/ts-import -o "$at.sbt" "$2" >"$at.said" 2>&1 &&
            build/ts-export --json -o "$at.et" "$at.sbt" >"$at.counts" &&
            build/ts-view --events --json --limit 0 "$at.sbt" >"$at.json" &&
            python3 $HERE/chakra.py "$at.et" "$at.json" \
                $(sed -nE "s/.*\"(nodes|edges)\": ([0-9]+).*/\2/p" \
                    "$at.counts") &&
            build/ts-import -o "$at-again.sbt" "$at.et" >"$at.said" &&
            build/ts-info --verify "$at-again.sbt"' $folder "$1" "$2"
}
chakra job $folder/job.json
for trace in event_sync_multi_stream b200_eager_pdl; do
    if test -e "$data/kineto/$trace.json.gz"; then
        chakra $trace "$data/kineto/$trace.json.gz"
    fi
done

# Archives of OTF2, where their library is.
if build/ts-export -o $folder/none.otf2 tests/cli/view.sbt 2>&1 |
    grep "built without OTF2"; then
    check "roundtrip: otf2" sh -c 'echo "built without OTF2"; exit 77'
else
    roundtrip otf2 .otf2 $folder/job.json
    roundtrip otf2 .otf2 tests/tools/import/otf2/rounds
    check "roundtrip: otf2 says what it does not know" sh -c '
        build/ts-export -o $0/future.otf2 tests/cli/future.sbt 2>$0/said &&
            grep "2 events of a later format version are not" $0/said' $folder
    for trace in kineto/b200_eager_pdl.json.gz nsys/h100_2gpu_1s.sqlite \
        rocm/mytrace.rpd.gz; do
        if test -e "$data/$trace"; then
            roundtrip otf2 .otf2 "$data/$trace"
        fi
    done
fi

check "roundtrip: a database with every table" sh -c '
    sqlite3 "$0" <tests/checks/nsight/nsight.sql' $folder/made.sqlite
roundtrip nsys .sqlite $folder/made.sqlite
if test -e "$data/nsys/h100_2gpu_1s.sqlite"; then
    roundtrip nsys .sqlite "$data/nsys/h100_2gpu_1s.sqlite"
fi
