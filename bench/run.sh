#!/bin/sh
# Measures every budget of the design that applies and prints one table.
#   bench/run.sh [--json] [--quick] [--short] [--save]
#     --json   one JSON object instead of the table
#     --quick  less work, and noisier
#     --short  the instrumented line only, with each compiler, and counted
#              instructions of it and of five loops: under 60 s
#     --save   also into bench/results/, as text and as JSON, a file for each
#              kind of machine
# bench/README.md explains the table. Exit status 1: something could not be
# measured; a figure over its budget is not a failure of this script.
set -eu
cd "$(dirname "$0")/.."
out=${OUT:-build}
quick='' json='' save='' short=''
for option in "$@"; do
    case $option in
    --quick) quick=--quick ;;
    --short) short=-short quick=--quick ;;
    --json) json=yes ;;
    --save) save=yes ;;
    *)
        echo "bench/run.sh: $option: unknown option" >&2
        exit 2
        ;;
    esac
done

if test "$short"; then
    make -s "$out/libtracesmith.so" "$out/bench/bench_limits" \
        "$out/bench/bench_hot" "$out/bench/bench_core" >&2
else
    make -s all benches >&2
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/ts-bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
rows=$dir/rows

# A program that fails leaves a row that says so.
measure() {
    name=$1
    shift
    "$@" ||
        printf '%s\t%s\tnan\t\t0\t-\t-\t0\n' "$name" "$name (ended early)"
}

program() {
    measure "$1" "$out/bench/$1" $quick --dir "$dir" --bin "$out" >>"$rows"
}

# The same for what is measured in a moment: again, until the least of each row
# is stable, at most five times.
repeated() { # NAME COMMAND...
    : >"$dir/runs"
    for run in 1 2 3 4 5; do
        measure "$@" >>"$dir/runs"
        awk -f bench/least.awk "$dir/runs" >"$dir/least" && test $run != 1 &&
            break
    done
    cat "$dir/least" >>"$rows"
}

heading() {
    echo "# $*" >>"$rows"
}

# Instructions: each against what bench/instructions.txt says.
instructions() {
    bench/counts.sh "$out" "$dir" >"$dir/counts"
    awk -F '\t' '
        NR == FNR { expected[$1] = $2; next }
        {
            name = $1
            sub(/^[a-z]*[.]/, "", name)
            gsub(/_/, " ", name)
            printf "instr.%s\t%s\t%s\tinstr\t%s\tbench/instructions.txt\t" \
                "ratio<=\t1.03\n", $1, name, $2, expected[$1]
        }' bench/instructions.txt "$dir/counts" >>"$rows"
}

trace() { # kind, count, count if quick, file
    "$out/bench/gen_trace" "$1" "$(test "$quick" && echo "$3" || echo "$2")" \
        "$dir/$4"
}

heading Limits of the machine
program bench_limits
heading The instrumented line
repeated bench_hot "$out/bench/bench_hot" $quick --dir "$dir"
heading The zone by compiler
repeated compilers bench/compilers.sh $quick "$dir" "$out"
if command -v valgrind >/dev/null; then
    heading Instructions
    instructions
fi

others() { # all that takes longer
    heading Call stacks
    program bench_stack
    heading Capture of GPUs
    make -s "$out/tests/doubles/libcupti.so" >&2
    program bench_cupti
    program bench_hip
    program bench_opencl
    program bench_nvtx
    heading Captures for execution
    program bench_capture
    heading Drain and help
    program bench_drain
    heading Size on disk
    program bench_size
    heading Threads and sessions
    program bench_thread
    heading Building
    measure build bench/build.sh "$dir" "$out" >>"$rows"
    heading Reading, exporting, replaying
    trace zones 10000000 1000000 zones.sbt
    trace kernels 1000000 200000 kernels.sbt
    trace graph64 1000000 200000 graph64.sbt
    trace graph1024 1000000 200000 graph1024.sbt
    trace big 1000 100 big.sbt
    program bench_read
    trace kernels 10000000 1000000 streams.sbt
    program bench_studio
    rm -f "$dir/streams.sbt"
    real=${TS_DATA:-../shared/data}/kineto/v100_nccl_22k_ops.json.gz
    if test -r "$real"; then
        gzip -dc "$real" >"$dir/short.json"
        "$out/bench/gen_kineto" "$dir/short.json" \
            "$(test "$quick" && echo 100 || echo 1000)" "$dir/kineto.json"
        "$out/bench/gen_kineto" --only kernel "$dir/short.json" \
            "$(test "$quick" && echo 60 || echo 400)" "$dir/kernels.json"
        program bench_import
        rm -f "$dir/short.json" "$dir/kineto.json" "$dir/kernels.json"
    fi
    program bench_timeline
    program bench_races
    program bench_tools
    program bench_replay
    program bench_analyze
}
test "$short" || others

cpu=$(awk -F': ' '/^model name/ { print $2; exit }' /proc/cpuinfo)
compiler=$("${CC:-cc}" --version | head -n 1)
kernel=$(uname -sr)
now=$(date +%Y-%m-%d)
about() {
    awk -v date="$now" -v cpu="${cpu:-$(uname -m)}" -v cores="$(nproc)" \
        -v compiler="$compiler" -v kernel="$kernel" -v quick="$quick" \
        -v load="$(cut -d' ' -f1 /proc/loadavg)" -f "$1" "$rows"
}
if test "$save"; then
    cc=$(basename "$(readlink -f "$(command -v "${CC:-cc}")")")
    name=$(printf '%s-%s' "${cpu:-$(uname -m)}" \
        "${cc##*-linux-gnu-}${short:-${quick:+-quick}}" |
        tr -cs 'a-zA-Z0-9.\n-' -)
    about bench/table.awk >"bench/results/$name.txt"
    about bench/json.awk >"bench/results/$name.json"
    echo "bench/run.sh: wrote bench/results/$name.txt and .json" >&2
fi
about "bench/$(test "$json" && echo json || echo table).awk"
! grep -Eq "$(printf '\t-?nan\t')" "$rows"
