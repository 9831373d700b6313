#!/bin/sh
# Measures every budget of the design that applies and prints one table.
#   bench/run.sh [--json] [--quick] [--save]
#     --json   one JSON object instead of the table
#     --quick  less work: under 40 s, and noisier
#     --save   also into bench/results/, as text and as JSON
# bench/README.md says how to read it. Exit status 1: something could not be
# measured; a figure over its budget is no failure of this script.
set -eu
cd "$(dirname "$0")/.."
out=${OUT:-build}
quick='' json='' save=''
for option in "$@"; do
    case $option in
    --quick) quick=--quick ;;
    --json) json=yes ;;
    --save) save=yes ;;
    *)
        echo "bench/run.sh: $option: unknown option" >&2
        exit 2
        ;;
    esac
done

make -s all benches >&2
dir=$(mktemp -d "${TMPDIR:-/tmp}/ts-bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
rows=$dir/rows

# A program that fails leaves a row that says so.
measure() {
    name=$1
    shift
    "$@" >>"$rows" ||
        printf '%s\t%s\tnan\t\t0\t-\t-\t0\n' "$name" "$name (ended early)" \
            >>"$rows"
}

program() {
    measure "$1" "$out/bench/$1" $quick --dir "$dir" --bin "$out"
}

heading() {
    echo "# $*" >>"$rows"
}

instructions() { # key, text, loop, yardstick's loop
    printf '%s\t%s\t%s\tinstr\t%s\tyardstick\t-\t0\n' "$1" "$2" \
        "$(bench/instructions.sh "$out" "$3" "$dir")" \
        "$(bench/instructions.sh "$out" "$4" "$dir")" >>"$rows"
}

trace() { # kind, count, count if quick, file
    "$out/bench/gen_trace" "$1" "$(test "$quick" && echo "$3" || echo "$2")" \
        "$dir/$4"
}

heading Limits of the machine
program bench_limits
heading The instrumented line
program bench_hot
if test -z "$quick" && command -v valgrind >/dev/null; then
    instructions instr.zone 'zone' zone yard_zone
    instructions instr.off 'zone, not recording' off yard_off
    instructions instr.mark 'mark' mark yard_mark
    instructions instr.counter 'counter' counter yard_mark
    instructions instr.alloc 'alloc' alloc yard_mark
    instructions instr.free 'free' free yard_mark
fi
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
measure build bench/build.sh "$dir" "$out"
heading Reading, exporting, replaying
trace zones 10000000 1000000 zones.sbt
trace kernels 1000000 200000 kernels.sbt
trace graph64 1000000 200000 graph64.sbt
trace graph1024 1000000 200000 graph1024.sbt
trace big 1000 100 big.sbt
program bench_read
short=${TS_DATA:-../shared/data}/kineto/v100_nccl_22k_ops.json.gz
if test -r "$short"; then
    gzip -dc "$short" >"$dir/short.json"
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
    name=$(printf '%s-%s-%s' "$now" "${cpu:-$(uname -m)}" \
        "${cc##*-linux-gnu-}${quick:+-quick}" | tr -cs 'a-zA-Z0-9.\n-' -)
    about bench/table.awk >"bench/results/$name.txt"
    about bench/json.awk >"bench/results/$name.json"
    echo "bench/run.sh: wrote bench/results/$name.txt and .json" >&2
fi
about "bench/$(test "$json" && echo json || echo table).awk"
! grep -Eq "$(printf '\t-?nan\t')" "$rows"
