# Runs ts-analyze on traces of real programs: sums agree to the nanosecond with
# those that a script computes from the source, pages are well-formed,
# docs/examples shows the tool's output (UPDATE=1 rewrites it), and figures
# agree with those of other tools. The traces are those in the folder that
# TS_DATA names (../shared/data).
. tests/lib.sh
data=${TS_DATA:-../shared/data}
folder=build/analyze
rm -rf $folder
mkdir -p $folder
check_build "analyze: build" all examples
agree() { # NAME, traces
    name=$1
    shift
    check "analyze: all tools say the same of $name" \
        node $HERE/agree.mjs build "$@"
}

check "analyze: the pipeline is recorded" build/examples/pipeline \
    -o $folder/pipeline.sbt
agree "the pipeline" $folder/pipeline.sbt
check "analyze: the page does what its policy allows" sh -c '
    build/ts-analyze --html $0/policy.html $0/pipeline.sbt >/dev/null &&
        node $HERE/page.mjs $0/policy.html' $folder
check "analyze: text, object and page suggest the same commands" sh -c '
    build/ts-analyze --html $0/next.html $0/pipeline.sbt &&
        build/ts-analyze $0/pipeline.sbt >$0/next.text &&
        build/ts-analyze --json $0/pipeline.sbt >$0/next.json &&
        node $HERE/next.mjs $0/next.text $0/next.json $0/next.html' \
    $folder
check "analyze: a trace of the host opens with what there is" sh -c '
    cd $0 && ../examples/hello && ../ts-analyze hello.sbt | tee hello.text &&
        sed -n 4p hello.text | grep -q "^  A host-only program: 3 zones" &&
        test "$(grep -c "no GPU operation" hello.text)" -le 4 &&
        sed -n "/^Topics without data/,\$p" hello.text |
        grep -q "Idle time, Launches, Critical path"' $folder

if ! test -d "$data/kineto"; then
    check "analyze: real traces" sh -c 'echo "no traces in $0"; exit 77' "$data"
    exit 0
fi

answers() { # NAME, traces: $folder/NAME.answers and .page
    name=$1
    shift
    check "analyze: $name is answered" sh -c '
        out=$1; shift
        build/ts-analyze --mangled --json --rows 1000000 --html "$out.page" \
            "$@" >"$out.answers" && xmllint --noout "$out.page" &&
            test "$(wc -c <"$out.page")" -lt 1000000 &&
            grep -o "<section id=.[a-z]*" "$out.page" | head -n 2 |
            cut -d\" -f2 | tr "\n" " " | grep -x "summary advice " &&
            test "$(grep -c "Idle time by cause" "$out.page")" = 1 &&
            grep -q "Timeline of streams" "$out.page"' \
        sh $folder/$name "$@"
}

sums() { # NAME COMMAND...: prints the sums of the source
    name=$1
    shift
    check "analyze: $name has the sums of its source" sh -c '
        out=$1; shift
        "$@" | LC_ALL=C sort >"$out.want" && test -s "$out.want" &&
            node $HERE/answers.mjs "$out.answers" |
            LC_ALL=C sort >"$out.got" && diff "$out.want" "$out.got"' \
        sh $folder/$name "$@"
}

example() {
    check "analyze: docs/examples/$1.md is up to date" sh -c '
        node $HERE/example.mjs "$0" build/analyze/$0.answers \
            >build/analyze/$0.md || exit 1
        test -z "$UPDATE" || cp build/analyze/$0.md docs/examples/$0.md
        diff -u docs/examples/$0.md build/analyze/$0.md' "$1"
}

advice() { # NAME, traces
    name=$1
    shift
    check "analyze: $name is advised as it should be" sh -c '
        name=$1; out=$2; shift 2
        build/ts-replay --json --what-if "host 0.8" \
            --what-if no-launch-overhead "$@" >"$out.whatifs" &&
            node $HERE/advice.mjs $name "$out.answers" "$out.whatifs"' \
        sh $name $folder/$name "$@"
}

for packed in "$data"/kineto/*.json.gz; do
    name=$(basename "$packed" .json.gz)
    gzip -dc "$packed" >"$folder/$name.json" 2>/dev/null
    check "analyze: $name" build/ts-import -o $folder/$name.sbt "$packed"
    answers $name $folder/$name.sbt
    agree $name $folder/$name.sbt
    sums $name node $HERE/kineto.mjs $folder/$name.json
    check "analyze: $name overlaps as its source does" node \
        $HERE/overlap.mjs $folder/$name.json $folder/$name.answers
    advice $name $folder/$name.sbt
    example $name
done

# Steps that are found without their marks are those that are marked.
check "analyze: steps without marks are the same" sh -c '
    cd $0 && sed s/ProfilerStep#/MyStep/g v100_nccl_22k_ops.json >bare.json &&
        ../ts-import -o bare.sbt bare.json &&
        for trace in v100_nccl_22k_ops bare; do
            ../ts-analyze --json --only steps $trace.sbt |
                grep -o "\"start_ns\": [0-9]*, \"duration_ns\": [0-9]*" \
                    >$trace.steps
        done && test -s bare.steps &&
        diff v100_nccl_22k_ops.steps bare.steps' $folder

name=dlrm_8ranks_v100
mkdir -p $folder/ranks
tar -xzf "$data/kineto/$name.tar.gz" -C $folder/ranks --strip-components 1
check "analyze: $name" build/ts-import -o $folder/$name/ \
    "$data/kineto/$name.tar.gz"
answers $name $folder/$name/*.sbt
agree $name $folder/$name/*.sbt
advice $name $folder/$name/*.sbt
check "analyze: $name has the sums of its sources" sh -c '
    for json in $0/ranks/*.json; do
        node $HERE/kineto.mjs "$json"
    done | grep ^device | LC_ALL=C sort >$0/$1.want
    node $HERE/answers.mjs $0/$1.answers | grep ^device |
        LC_ALL=C sort | diff $0/$1.want -' $folder $name
check "analyze: $name waits as its sources do" node \
    $HERE/ranks.mjs $folder/$name.answers $folder/ranks/*.json
example $name

name=h100_2gpu_1s
check "analyze: $name" build/ts-import -o $folder/$name.sbt \
    "$data/nsys/$name.sqlite"
answers $name $folder/$name.sbt
agree $name $folder/$name.sbt
advice $name $folder/$name.sbt
sums $name sqlite3 -readonly "$data/nsys/$name.sqlite" \
    ".read $HERE/nsys.sql"
example $name

name=mytrace
gzip -dc "$data/rocm/$name.rpd.gz" >$folder/$name.rpd
check "analyze: $name" build/ts-import -o $folder/$name.sbt $folder/$name.rpd
answers $name $folder/$name.sbt
agree $name $folder/$name.sbt
advice $name $folder/$name.sbt
sums $name sqlite3 $folder/$name.rpd ".read $HERE/rpd.sql"
example $name

name=feeder_tests_trace
check "analyze: $name" build/ts-import -o $folder/$name.sbt \
    "$data/chakra/$name.tar.gz"
answers $name $folder/$name.sbt
agree $name $folder/$name.sbt
advice $name $folder/$name.sbt
example $name
