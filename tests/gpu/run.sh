#!/bin/sh
# Checks and measures the capture of CUDA on this machine's NVIDIA GPU, in less
# than 8 minutes, and keeps its results whatever fails: a step that fails is a
# row of the table and does not end the run. No command that uses the GPU may
# take longer than $LIMIT seconds (120), and all of them no longer than $TOTAL
# (440): steps for which there is no time are left out, and reported.
#   tests/gpu/run.sh [--build] [--save[=FOLDER]] [--dry] [PART...]
#     --build  only builds what the rest needs, into $TS_GPU_BUILD (build): a
#              machine without headers can use that folder, and needs only a C
#              library, libzstd and libz
#     --save   the table also into a dated file in FOLDER (bench/results)
#     --dry    with doubles of the driver and of CUPTI in place of a GPU, to
#              test this script; its figures are meaningless
#     PART     only these: recorder begins exact zones cost capture torch others
# $OUT (gpu/results in the build folder) gets the table (table.txt), the output
# of all commands (logs.tar.gz), what CUPTI reported (recorded-NAME.tar.gz, see
# cupti_recorder.c and replay-recording.sh), the traces (traces.tar.gz) and the
# captures (kept.tar.gz), of at most 16 MiB each. They are written after each
# part, in case the run is ended early.
# Exit status 77: there is no GPU. 1: a check failed.
set -u
cd "$(dirname "$0")/../.." || exit 1
out=${TS_GPU_BUILD:-build}
python=${PYTHON:-python3}
began=$(date +%s)
save='' dry='' only='' parts=''
for option in "$@"; do
    case $option in
    --build) only=yes ;;
    --save) save=bench/results ;;
    --save=?*) save=${option#--save=} ;;
    --dry) dry=yes ;;
    recorder | begins | exact | zones | cost | capture | torch | others)
        parts="$parts $option" ;;
    *)
        echo "tests/gpu/run.sh: $option: unknown option" >&2
        exit 2
        ;;
    esac
done
mkdir -p "$out/gpu" && programs=$(cd "$out/gpu" && pwd) || exit 1
results=${OUT:-$out/gpu/results${dry:+-dry}}

tools="$out/libtracesmith-inject.so $out/ts-record $out/ts-info $out/ts-query
    $out/ts-replay $out/ts-analyze $out/ts-devices"
needed="cuda_work cuda_capture cuda_more cuda_wide cuda_libraries cuda_hash"
build() { # for make: NAME=VALUE...; all that can be, false if not all can
    jobs=-j$(nproc)
    built=0
    test -z "$dry" || jobs=-j1 # other checks run beside it
    # shellcheck disable=SC2086 # a list of files
    make -k -s "$jobs" OUT="$out" "$@" $tools || built=1
    cc="${CC:-cc} -std=gnu11 -O2 -I."
    for name in $needed; do
        $cc tests/gpu/$name.c -o "$programs/$name" -ldl -lm || built=1
    done
    $cc -DZONES tests/gpu/cuda_work.c -o "$programs/cuda_zones" -pthread -ldl ||
        built=1
    for name in raw_cupti cupti_recorder cuda_inject; do
        $cc -fPIC -shared tests/gpu/$name.c -o "$programs/$name.so" -pthread \
            -ldl || built=1
    done
    $cc -DDUMP -fPIC -shared tests/gpu/cuda_inject.c -pthread -ldl \
        -o "$programs/cuda_inject_dump.so" || built=1
    return $built
}
can_build() {
    command -v make >/dev/null &&
        echo '#include <xxhash.h>' | ${CC:-cc} -E -xc - >/dev/null 2>&1
}
if test "$only"; then
    # A library that is not everywhere is linked in, or done without.
    sqlite=$(${CC:-cc} -print-file-name=libsqlite3.a)
    test -e "$sqlite" || sqlite=-lsqlite3
    build CFLAGS=-O2 HAVE_EDIT= HAVE_DW= HAVE_YAJL= HAVE_IBERTY= \
        HAVE_MICROHTTPD= HAVE_ARCHIVE= HAVE_BABELTRACE= HAVE_OTF2= \
        HAVE_DEFLATE= HAVE_LIBS="$sqlite -lzstd -lz"
    exit
fi

mkdir -p "$results" || exit 1
results=$(cd "$results" && pwd)
rm -f "$results"/*.tar.gz "$results/table.txt"
dir=$(mktemp -d "${TMPDIR:-/tmp}/ts-gpu.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
logs=$dir/logs
mkdir "$logs"
table=$dir/table
: >"$table"
failed=0

row() { # what, figure, remark
    printf '%-50s %10s  %s\n' "$1" "$2" "$3" | tee -a "$table"
}
fault() { # what, remark
    row "$1" FAILED "$2"
    failed=1
}
last() { # line of a file, short
    tail -n 1 "$1" 2>/dev/null | cut -c 1-60
}

if can_build; then
    echo 'Building ...'
    build >"$logs/build" 2>&1 ||
        fault 'everything is built' "$(grep -m 1 -i error "$logs/build" |
            cut -c 1-60)"
elif test -x "$programs/cuda_work"; then
    echo "There is no make or no xxhash.h here: $out is taken as it is."
else
    echo "There is no make or no xxhash.h here: build elsewhere, with --build."
    exit 1
fi

within() { # command...
    left=$((${TOTAL:-440} - $(date +%s) + began))
    if test $left -lt 5; then
        echo 'the time is up' >&2
        return 124
    fi
    test $left -lt "${LIMIT:-120}" || left=${LIMIT:-120}
    timeout -k 10 "$left" "$@"
}

# The vendor's libraries are seldom where the loader looks: those of Python's
# packages, which are PyTorch's, then those of CUDA.
folders() {
    "$python" -c 'import glob, sys
for path in sys.path:
    for name in sorted(glob.glob(path + "/nvidia/*/lib")):
        print(name)' 2>/dev/null
    for folder in "${CUDA_HOME:-/usr/local/cuda}"/extras/CUPTI/lib64 \
        "${CUDA_HOME:-/usr/local/cuda}"/lib64; do
        test ! -d "$folder" || echo "$folder"
    done
}
if test "$dry"; then
    export TS_GPU_DRY=1 LD_LIBRARY_PATH="$dir"
    for name in cuda.so.1 cupti.so.13; do
        double=$out/tests/doubles/lib${name%.so*}.so
        make -s OUT="$out" "$double" && cp "$double" "$dir/lib$name" || exit 1
    done
    make -s OUT="$out" "$out/tests/doubles/libcubin.so" \
        "$out/tests/doubles/libhash.so" "$out/tests/doubles/libcudart.so" ||
        exit 1
    cp "$out/tests/doubles/libhash.so" "$out/tests/doubles/libcudart.so" \
        "$dir" || exit 1
    # What the double compiles text to, where it is to run.
    cubin=$out/tests/doubles/libcubin.so
else
    LD_LIBRARY_PATH=$(folders | tr '\n' :)${LD_LIBRARY_PATH:-}
    export LD_LIBRARY_PATH
fi
gpu=$(within "$programs/cuda_work" probe 2>"$logs/probe")
status=$?
if test $status = 77; then
    echo "$gpu"
    exit 77
fi
test $status = 0 || fault 'a GPU is there' "$gpu$(last "$logs/probe")"

pack() { # NAME FILE...: into the results, if it is no more than may travel
    name=$1
    shift
    test $# != 0 || return 0
    (cd "$dir" && tar -czf "$name.tar.gz" "$@") 2>/dev/null
    if test "$(wc -c <"$dir/$name.tar.gz")" -le $((16 << 20)); then
        cp "$dir/$name.tar.gz" "$results/part" &&
            mv "$results/part" "$results/$name.tar.gz"
    elif ! grep -q "^$name.tar.gz" "$table"; then
        row "$name.tar.gz" - 'left out: more than 16 MiB'
    fi
}
small() { # traces of at most 4 MiB; captures of at most 1 MiB
    (cd "$dir" && find . -maxdepth 1 -name '*.sbt' "$@")
}
keep() { # what there is so far
    version=$(awk '/cupti.version/ { print $2 }' "$dir/info" 2>/dev/null)
    # shellcheck disable=SC2046 # names without spaces
    pack traces $(small -size -4096k ! -name 'kept-*')
    # shellcheck disable=SC2046
    pack kept $(small -size -1024k -name 'kept-*')
    for folder in "$dir"/recorded/*; do
        test ! -s "$folder/calls" || pack "recorded-${folder##*/}" \
            "recorded/${folder##*/}"
    done
    cp "$dir"/did "$dir"/info* "$dir"/again* "$logs" 2>/dev/null
    pack logs logs
    {
        echo "TraceSmith on $gpu, $(date +%Y-%m-%d), CUPTI ${version:-?}"
        test -z "$dry" || echo 'DRY: doubles; no figure means anything'
        echo
        cat "$table"
    } >"$results/table.txt"
}
finish() {
    trap '' INT TERM
    keep
    if test "$save" && test -z "$dry"; then
        file=$save/$(date +%Y-%m-%d)-$(printf %s "$gpu" |
            tr -cs 'a-zA-Z0-9\n' -)-cuda.txt
        cp "$results/table.txt" "$file" &&
            echo "tests/gpu/run.sh: wrote $file" >&2
    fi
    echo
    cat "$results/table.txt"
}
trap 'finish; exit 130' INT TERM

must() { # what, expected, seen
    if test -z "$2" || test -z "$3"; then
        row "$1" - 'not measured'
        failed=1
    elif test "$2" = "$3"; then
        row "$1" "$3" ok
    else
        row "$1" "$3" "WRONG, not $2"
        failed=1
    fi
}
rows() { # of a kind in a trace
    "$out/ts-info" --json "$2" 2>>"$logs/asked" | awk -v kind="\"$1\":" '
        $1 == "\"counts\":" { on = 1 }
        on && $1 == kind { print $2 + 0; exit }'
}
ask() { # SQL that gives one number, trace
    "$out/ts-query" --csv "$2" "$1" 2>>"$logs/asked" | tail -n 1
}

# 1. What is installed, as the vendor's own programs and the loader see it.
{
    uname -a
    timeout 20 nvidia-smi
    ldconfig -p | grep -i -E 'cuda|cupti|nvrtc|nvidia-ml'
    printf 'LD_LIBRARY_PATH %s\n' "$LD_LIBRARY_PATH"
    timeout 20 nvcc --version
    "$python" --version
    within "$out/ts-devices"
} >"$logs/versions" 2>&1
row 'driver' "$(sed -n 's/.*Driver Version: *\([0-9.]*\).*/\1/p' \
    "$logs/versions" | head -n 1)" ''

# Functions of the parts below.
record() { # NAME COMMAND...
    name=$1
    shift
    mkdir -p "$dir/recorded/$name"
    within env TS_RECORDER="$dir/recorded/$name" \
        CUDA_INJECTION64_PATH="$programs/cupti_recorder.so" "$@" \
        >"$logs/recorded-$name" 2>&1
    status=$?
    seen=$(grep -c '^c ' "$dir/recorded/$name/calls" 2>/dev/null)
    if test $status = 0 && test "${seen:-0}" -gt 0; then
        row "callbacks of CUPTI, $name" "$seen" \
            "$(grep -c '^r ' "$dir/recorded/$name/calls") records"
    else
        fault "callbacks of CUPTI, $name" \
            "status $status: $(last "$logs/recorded-$name")"
    fi
}
nvcc=$(command -v nvcc || command -v "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc")
runtime() { # the program of CUDA's runtime, by NVIDIA's compiler
    test "$nvcc" || return
    if test "$dry"; then
        "$nvcc" -c tests/gpu/cuda_runtime.cu -o "$dir/runtime.o" &&
            "${CXX:-c++}" "$dir/runtime.o" -o "$dir/runtime" -L"$dir" -lcudart
        return
    fi
    within "$nvcc" -arch=native -cudart shared tests/gpu/cuda_runtime.cu \
        -o "$dir/runtime" &&
        within "$nvcc" -arch=native -cudart static tests/gpu/cuda_runtime.cu \
            -o "$dir/runtime-static"
}
recorded() { # NAME COMMAND...
    name=$1
    shift
    within "$out/ts-record" -o "$dir/$name.sbt" -- "$@" >"$dir/did" \
        2>"$logs/$name"
    status=$?
    cp "$dir/did" "$logs/$name-did"
    test $status = 0 || fault "$name is recorded" "status $status: $(
        last "$logs/$name")"
    while read -r kind count; do
        must "$kind, $name" "$count" "$(rows "$kind" "$dir/$name.sbt")"
    done <"$dir/did"
    "$out/ts-info" "$dir/$name.sbt" >"$dir/info-$name" 2>&1
    must "lost, $name" nothing "$(awk '/^Lost:/ { print $2 }' \
        "$dir/info-$name")"
}
cost() { # what, command...; beside $bare, which the first one sets
    what=$1
    shift
    rate=$(within "$@" 2>"$dir/why" | tail -n 1)
    cat "$dir/why" >>"$logs/cost"
    bare=${bare:-$rate}
    if test "$rate"; then
        row "launches a second, $what" "$rate" "$(echo "$bare" "$rate" |
            awk '$2 { printf "%.2f x slower", $1 / $2 }')"
    else
        row "launches a second, $what" - \
            "not measured: $(tail -n 1 "$dir/why" | cut -c 1-60)"
    fi
}
number() { # key in a JSON object of a replay
    awk -v key="\"$1\":" '$1 == key { print $2 + 0; exit }' "$dir/again"
}
again() { # what, at least so many executed, command...
    what=$1 least=$2
    shift 2
    kept=kept-$(echo "$what" | tr -cs 'a-zA-Z0-9\n' -)
    within "$out/ts-record" -q --capture 'all budget:4G' -o "$dir/$kept.sbt" \
        -- "$@" >"$dir/kept" 2>&1
    status=$?
    cp "$dir/kept" "$logs/$kept"
    if test $status = 124; then
        row "$what" - "not measured: $(tail -n 1 "$dir/kept")"
        failed=1
        return
    elif test $status = 77; then # the device or its driver has none of it
        row "$what" '-' "not here: $(tail -n 1 "$dir/kept")"
        return
    elif test $status != 0; then
        row "$what, captured" failed "$(tail -n 1 "$dir/kept")"
        failed=1
        return
    fi
    within "$out/ts-replay" --execute --trust --timeout 30 --json \
        "$dir/$kept.sbt" >"$dir/again" 2>"$dir/why"
    status=$?
    cp "$dir/again" "$logs/$kept.json"
    cat "$dir/why" >>"$logs/$kept"
    if test $status = 3 && ! test -s "$dir/again"; then # no device so
        row "$what, confined" WRONG "$(tail -n 1 "$dir/why")"
        failed=1
        within "$out/ts-replay" --execute --trust --no-confine --timeout 30 \
            --json "$dir/$kept.sbt" >"$dir/again" 2>"$dir/why"
        status=$?
        cp "$dir/again" "$logs/$kept-unconfined.json"
        cat "$dir/why" >>"$logs/$kept"
    fi
    if test $status = 124; then
        row "$what" - "not measured: $(tail -n 1 "$dir/why")"
        failed=1
        return
    fi
    levels=$(for level in S1 S2 S3; do
        printf '%s %s, ' $level \
            "$(grep -c "\"level\": \"$level\"" "$dir/again")"
    done)
    declined=$(awk -F'"' '/"declined": \{$/ { on = 1; next } on && /\}/ { exit }
        on { gsub(/[^0-9]/, "", $3); printf ", declined %s %s", $3, $2 }' \
        "$dir/again")
    executed=$(number executed)
    row "$what: executed" "$executed" "${levels}substituted $(
        number substituted), diverged $(number diverged)$declined"
    test $status = 0 ||
        row "$what: exit status" $status "$(tail -n 1 "$dir/why")"
    if test "${executed:-0}" -lt "$least" || test $status -gt 1; then
        row "$what" WRONG "at least $least were to be executed"
        failed=1
    fi
}
# The same program with torch.profiler: number of kernels, and their times.
as_profiled() { # what, trace, program...
    what=$1 trace=$2
    shift 2
    within "$python" "$@" kineto >"$dir/kineto" 2>>"$logs/kineto" || failed=1
    must "kernels of $what, as torch.profiler counts" \
        "$(cut -d' ' -f1 "$dir/kineto")" "$(rows kernel "$trace")"
    row 'their time by torch.profiler, us' "$(cut -d' ' -f2 "$dir/kineto")" ''
    row 'their time by ts-record, us' \
        "$(ask 'SELECT sum(duration_ns) / 1000 FROM kernel' "$trace")" ''
}
has() {
    test -z "$dry" && within "$python" -c "import $1" 2>/dev/null
}

# What CUPTI reports, in its order, for a double to report again.
part_recorder() {
    record work "$programs/cuda_work"
    if test -x "$dir/runtime"; then
        record runtime "$dir/runtime"
    else
        row 'a program of the runtime' - "not built: $(last "$logs/nvcc")"
    fi
}

# The recorder alone, in a process with a time limit.
part_begins() {
    for how in cuda_inject cuda_inject_dump; do
        (
            LIMIT=20
            within env TS_GPU_TRACE="$dir/$how.sbt" \
                CUDA_INJECTION64_PATH="$programs/$how.so" "$programs/cuda_work"
        ) >"$logs/$how" 2>&1
        status=$?
        what="begins${how#cuda_inject}: kernels"
        if test $status = 0; then
            row "the recorder $what" "$("$out/ts-query" --csv "$dir/$how.sbt" \
                'SELECT count(*) FROM kernel' 2>>"$logs/$how" | tail -n 1)" \
                "of $(awk '$1 == "kernel" { print $2 }' "$logs/$how")"
        else
            fault "the recorder $what" "status $status: $(last "$logs/$how")"
        fi
    done
}

# Traces contain exactly what the programs did.
part_exact() {
    recorded all "$programs/cuda_work"
    for name in runtime runtime-static; do
        test ! -x "$dir/$name" || recorded $name "$dir/$name"
    done
    cp "$dir/info-all" "$dir/info" 2>/dev/null
    # How long after its call a kernel begins: two clocks are compared, so a
    # few may seem to be earlier.
    delays="SELECT k.start_ns - a.start_ns AS delay FROM kernel k
        JOIN api_call a ON a.correlation = k.correlation
        WHERE k.graph_node IS NULL"
    at() { # per cent
        ask "SELECT delay FROM ($delays) ORDER BY delay LIMIT 1 OFFSET (
            SELECT count(*) * $1 / 100 FROM ($delays))" "$dir/all.sbt"
    }
    row 'kernel behind its call, least, ns' "$(at 0)" "1 %: $(at 1), 50 %: $(
        at 50), 99 %: $(at 99); seen as earlier: $(awk \
        '/kernels_before_launch/ { print $2 }' "$dir/info" | grep . || echo 0)"
}

# Times lie within the zone of the host that waited for them.
part_zones() {
    within "$programs/cuda_zones" "$dir/zones.sbt" >"$logs/zones" 2>&1 ||
        failed=1
    must 'kernels of a step outside of its zone' 0 "$(ask "
        SELECT count(*) FROM kernel k WHERE k.zone = 'step' AND NOT EXISTS (
            SELECT 1 FROM zone z WHERE z.name = 'step'
            AND z.start_ns <= k.start_ns AND z.end_ns >= k.end_ns)" \
        "$dir/zones.sbt")"
    must 'kernels of steps' 100 "$(ask "
        SELECT count(*) FROM kernel WHERE zone = 'step'" "$dir/zones.sbt")"
}

# The cost of 10,000 tiny kernels, in launches per second, measured one after
# another in this run.
part_cost() {
    count=10000
    test "$dry" && count=500
    bare=
    cost bare "$programs/cuda_work" rate $count
    cost 'raw CUPTI, nobody reads' env \
        CUDA_INJECTION64_PATH="$programs/raw_cupti.so" \
        "$programs/cuda_work" rate $count
    cost 'ts-record' "$out/ts-record" -q -o "$dir/rate.sbt" -- \
        "$programs/cuda_work" rate $count
    must 'kernels of that' $((6 * count)) "$(rows kernel "$dir/rate.sbt")"
    size=$(wc -c <"$dir/rate.sbt" 2>/dev/null) &&
        row 'bytes on disk for a launch and its kernel' "$(awk -v size="$size" \
            -v n=$((6 * count)) 'BEGIN { printf "%.1f", size / n }')" ''
    cost 'ts-record --stacks=16' "$out/ts-record" -q --stacks=16 \
        -o "$dir/stacks.sbt" -- "$programs/cuda_work" rate $count
}

# Captured operations run again in another process.
part_capture() {
    test "$dry" && export DOUBLE_CUDA_JIT="$cubin"
    again 'driver API' 30 "$programs/cuda_capture"
    # What only a GPU can tell.
    if rate=$(within "$programs/cuda_hash" 2>"$logs/hash"); then
        row 'chunks are hashed on the device, as by the host' "$rate" ''
    else
        fault 'chunks are hashed on the device, as by the host' \
            "$rate$(last "$logs/hash")"
    fi
    "$out/ts-info" "$dir/kept-driver-API.sbt" >"$dir/info2" 2>>"$logs/asked"
    again 'graphs that change' 9 "$programs/cuda_more" updates
    again 'branches of a graph' 3 "$programs/cuda_more" branches
    again 'textures' 4 "$programs/cuda_more" textures
    again 'tensor maps' 3 "$programs/cuda_more" maps
    again 'batches of copies' 4 "$programs/cuda_more" batches
    again 'clusters' 3 "$programs/cuda_wide" clusters
    again 'managed memory' 3 "$programs/cuda_wide" managed
    again 'memory of pools' 6 "$programs/cuda_wide" pools
    test "$dry" && export DOUBLE_CUDA_DEVICES=2
    again 'two devices' 10 "$programs/cuda_wide" devices
    again 'runtime API' 7 "$programs/cuda_libraries" runtime
    again 'cuBLAS' 3 "$programs/cuda_libraries" cublas
    if grep -q 'does not respond within' "$dir/info2" 2>/dev/null; then
        row 'the driver answers within a call' no ''
    elif test -s "$dir/info2"; then
        row 'the driver answers within a call' yes "$(
            grep -q capture.thread "$dir/info2" &&
                echo 'the thread of the call' || echo 'another thread')"
    else
        row 'the driver answers within a call' - 'not measured'
    fi
    count=200 bare=
    cost 'nothing kept, few' "$out/ts-record" -q -o "$dir/rate.sbt" -- \
        "$programs/cuda_work" rate $count
    cost 'hashes kept' "$out/ts-record" -q --capture hashes \
        -o "$dir/rate.sbt" -- "$programs/cuda_work" rate $count
    cost 'all kept' "$out/ts-record" -q --capture all -o "$dir/rate.sbt" -- \
        "$programs/cuda_work" rate $count
}

# PyTorch comes last, because its imports are slow: compared with other
# profilers, its graph, and its captures.
part_torch() {
    count=10000
    if test "$torch"; then
        record torch "$python" tests/gpu/torch_loop.py bare
        bare=
        loop=tests/gpu/torch_rate.py
        cost 'PyTorch, bare' "$python" $loop bare
        for what in kernels runtime launches driver; do
            cost "PyTorch, raw CUPTI, $what" env RAW_CUPTI=$what \
                CUDA_INJECTION64_PATH="$programs/raw_cupti.so" \
                "$python" $loop bare
        done
        cost 'PyTorch, raw CUPTI' env \
            CUDA_INJECTION64_PATH="$programs/raw_cupti.so" "$python" $loop bare
        cost 'PyTorch, ts-record' "$out/ts-record" -q -o "$dir/torch.sbt" -- \
            "$python" $loop bare
        cost 'PyTorch, ts-record --stacks=16' "$out/ts-record" -q --stacks=16 \
            -o "$dir/torch.sbt" -- "$python" $loop bare
        cost 'PyTorch, torch.profiler (Kineto)' "$python" $loop kineto
        if has triton.profiler; then
            cost 'PyTorch, Proton' "$python" $loop proton
        else
            row 'Proton' '-' 'not measured: no Triton'
        fi
        within "$out/ts-record" -q -o "$dir/loop.sbt" -- \
            "$python" tests/gpu/torch_loop.py bare >/dev/null
        as_profiled 'a training loop' "$dir/loop.sbt" tests/gpu/torch_loop.py
        # Both in one process: the program must go on.
        within "$out/ts-record" -q -o "$dir/both.sbt" -- \
            "$python" tests/gpu/torch_loop.py kineto >"$dir/both"
        must 'torch.profiler under ts-record, exit status' 0 $?
        row 'kernels that ts-record sees then' \
            "$(rows kernel "$dir/both.sbt")" \
            "torch.profiler: $(cut -d' ' -f1 "$dir/both")"
        within "$out/ts-record" -q --yield=kineto -o "$dir/both.sbt" -- \
            "$python" tests/gpu/torch_loop.py kineto >"$dir/both"
        must 'the same with --yield=kineto, exit status' 0 $?
        row 'kernels that torch.profiler sees then' \
            "$(cut -d' ' -f1 "$dir/both")" \
            "ts-record: $(rows kernel "$dir/both.sbt")"
    else
        row 'torch.profiler, Proton' '-' 'not measured: no PyTorch'
    fi

    if test "$torch"; then
        captured=tests/gpu/torch_captured.py
        again 'PyTorch step' 1 "$python" tests/gpu/torch_loop.py bare
        again 'PyTorch matmul (cuBLAS)' 1 "$python" $captured matmul
        again 'CUDA graph' 1 "$python" $captured graph
        ! has triton ||
            again 'PyTorch compiled (Triton)' 1 "$python" $captured compiled
    fi
}

# Programs that use other libraries: everything that they did is in the trace,
# and the answers of ts-analyze about it.
part_others() {
    for name in jax cupy transformers; do
        if ! has $name; then
            row "$name" - 'not here'
            continue
        fi
        test $name != transformers ||
            record $name "$python" tests/gpu/others.py $name
        within "$out/ts-record" -q -o "$dir/$name.sbt" -- \
            "$python" tests/gpu/others.py $name >"$logs/$name" 2>&1 ||
            fault "$name is recorded" "$(last "$logs/$name")"
        "$out/ts-info" "$dir/$name.sbt" >"$logs/info-$name" 2>&1
        within "$out/ts-analyze" "$dir/$name.sbt" >"$logs/analyze-$name" 2>&1 ||
            fault "$name is analysed" "$(last "$logs/analyze-$name")"
        row "kernels of $name" "$(rows kernel "$dir/$name.sbt")" "lost: $(
            awk '/^Lost:/ { print $2 }' "$logs/info-$name")"
    done
    has transformers || return
    as_profiled transformers "$dir/transformers.sbt" \
        tests/gpu/others.py transformers
}

runtime >"$logs/nvcc" 2>&1 || true
torch=$(has torch && echo yes)
for part in ${parts:-recorder begins exact zones cost capture torch others}; do
    part_$part
    keep
done
finish
exit $failed
