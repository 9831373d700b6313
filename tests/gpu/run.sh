#!/bin/sh
# Checks and measures the capture of CUDA on this machine's NVIDIA GPU, in less
# than 8 minutes; a short table is the last that it prints. No command that uses
# the GPU may take longer than $LIMIT seconds (120), all of it no longer than
# $TOTAL (440): what there is no time for is left out, and said.
#   tests/gpu/run.sh [--build] [--save[=FOLDER]] [--dry]
#     --build  only builds what the rest needs, into $OUT (build): where headers
#              are missing that folder is taken as it is, and needs no more than
#              a C library, libzstd and libz
#     --save   also into a dated file in FOLDER (bench/results)
#     --dry    with doubles of the driver and of CUPTI in place of a GPU: that
#              this script works; none of its figures means anything
# Exit status 77: there is no GPU. 1: something that was checked is not so.
set -u
cd "$(dirname "$0")/../.." || exit 1
out=${OUT:-build}
python=${PYTHON:-python3}
began=$(date +%s)
save='' dry='' only=''
for option in "$@"; do
    case $option in
    --build) only=yes ;;
    --save) save=bench/results ;;
    --save=?*) save=${option#--save=} ;;
    --dry) dry=yes ;;
    *)
        echo "tests/gpu/run.sh: $option: unknown option" >&2
        exit 2
        ;;
    esac
done
mkdir -p "$out/gpu" && programs=$(cd "$out/gpu" && pwd) || exit 1

build() { # for make: NAME=VALUE...
    jobs=-j$(nproc)
    test -z "$dry" || jobs=-j1 # other checks run beside it
    make -s "$jobs" OUT="$out" "$@" "$out/libtracesmith-inject.so" \
        "$out/ts-record" "$out/ts-info" "$out/ts-query" "$out/ts-replay" ||
        return
    cc="${CC:-cc} -std=gnu11 -O2 -I."
    for name in cuda_work cuda_capture cuda_more cuda_wide cuda_libraries \
        cuda_hash; do
        $cc tests/gpu/$name.c -o "$programs/$name" -ldl -lm || return
    done
    $cc -DZONES tests/gpu/cuda_work.c -o "$programs/cuda_zones" -pthread -ldl &&
        $cc -fPIC -shared tests/gpu/raw_cupti.c -o "$programs/raw_cupti.so" -ldl
}
can_build() {
    command -v make >/dev/null &&
        echo '#include <xxhash.h>' | ${CC:-cc} -E -xc - >/dev/null 2>&1
}
if test "$only"; then
    # A library that is not everywhere is linked in, or done without.
    sqlite=$(${CC:-cc} -print-file-name=libsqlite3.a)
    test -e "$sqlite" || sqlite=-lsqlite3
    build CFLAGS=-O2 HAVE_EDIT= HAVE_DW= HAVE_YAJL= \
        HAVE_LIBS="$sqlite -lzstd -lz"
    exit
elif can_build; then
    echo 'Building ...'
    build || exit 1
elif test -x "$programs/cuda_work"; then
    echo "There is no make or no xxhash.h here: $out is taken as it is."
else
    echo "There is no make or no xxhash.h here: build elsewhere, with --build."
    exit 1
fi

dir=$(mktemp -d "${TMPDIR:-/tmp}/ts-gpu.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
table=$dir/table
: >"$table"
failed=0

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
        "$out/tests/doubles/libhash.so" || exit 1
    cp "$out/tests/doubles/libhash.so" "$dir" || exit 1
    # What the double compiles text to, where it is to run.
    cubin=$out/tests/doubles/libcubin.so
else
    LD_LIBRARY_PATH=$(folders | tr '\n' :)${LD_LIBRARY_PATH:-}
    export LD_LIBRARY_PATH
fi
gpu=$(within "$programs/cuda_work" probe)
status=$?
if test $status != 0; then
    echo "$gpu"
    exit $status
fi

finish() {
    name=$(awk '/cupti.version/ { print $2 }' "$dir/info" 2>/dev/null)
    {
        echo "TraceSmith on $gpu, $(date +%Y-%m-%d), CUPTI ${name:-?}"
        test -z "$dry" || echo 'DRY: doubles; no figure means anything'
        echo
        cat "$table"
    } >"$dir/result"
    if test "$save" && test -z "$dry"; then
        file=$save/$(date +%Y-%m-%d)-$(printf %s "$gpu" |
            tr -cs 'a-zA-Z0-9\n' -)-cuda.txt
        cp "$dir/result" "$file" &&
            echo "tests/gpu/run.sh: wrote $file" >&2
    fi
    echo
    cat "$dir/result"
}
trap 'finish; exit 130' INT TERM

row() { # what, figure, remark
    printf '%-50s %10s  %s\n' "$1" "$2" "$3" | tee -a "$table"
}
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
    "$out/ts-info" --json "$2" | awk -v kind="\"$1\":" '
        $1 == "\"counts\":" { on = 1 }
        on && $1 == kind { print $2 + 0; exit }'
}
ask() { # SQL that gives one number, trace
    "$out/ts-query" --csv "$2" "$1" | tail -n 1
}

# 1. What the program did is in the trace, exactly.
within "$out/ts-record" -q -o "$dir/all.sbt" -- "$programs/cuda_work" \
    >"$dir/did" 2>&1 || {
    cat "$dir/did"
    exit 1
}
while read -r kind count; do
    must "$kind" "$count" "$(rows "$kind" "$dir/all.sbt")"
done <"$dir/did"
"$out/ts-info" "$dir/all.sbt" >"$dir/info"
lost=$(awk '/^Lost:/ { print $2 }' "$dir/info")
must 'lost' nothing "$lost"
early=$(awk '/kernels_before_launch/ { print $2 }' "$dir/info")
must 'kernels before their launch' 0 "${early:-0}"

# 2. Times lie within the zone of the host that waited for them.
within "$programs/cuda_zones" "$dir/zones.sbt" >/dev/null || failed=1
must 'kernels of a step outside of its zone' 0 "$(ask "
    SELECT count(*) FROM kernel k WHERE k.zone = 'step' AND NOT EXISTS (
        SELECT 1 FROM zone z WHERE z.name = 'step'
        AND z.start_ns <= k.start_ns AND z.end_ns >= k.end_ns)" \
    "$dir/zones.sbt")"
must 'kernels of steps' 100 "$(ask "
    SELECT count(*) FROM kernel WHERE zone = 'step'" "$dir/zones.sbt")"

# 3. What it costs: 10,000 tiny kernels, launches per second, one after the
# other in this run.
count=10000
test "$dry" && count=500
cost() { # what, command...; beside $bare, which the first one sets
    what=$1
    shift
    rate=$(within "$@" 2>"$dir/why" | tail -n 1)
    bare=${bare:-$rate}
    if test "$rate"; then
        row "launches a second, $what" "$rate" "$(echo "$bare" "$rate" |
            awk '$2 { printf "%.2f x slower", $1 / $2 }')"
    else
        row "launches a second, $what" - \
            "not measured: $(tail -n 1 "$dir/why" | cut -c 1-60)"
    fi
}
bare=
cost bare "$programs/cuda_work" rate $count
cost 'raw CUPTI, nobody reads' env \
    CUDA_INJECTION64_PATH="$programs/raw_cupti.so" \
    "$programs/cuda_work" rate $count
cost 'ts-record' "$out/ts-record" -q -o "$dir/rate.sbt" -- \
    "$programs/cuda_work" rate $count
must 'kernels of that' $((6 * count)) "$(rows kernel "$dir/rate.sbt")"
row 'bytes on disk for a launch and its kernel' "$(awk -v n=$((6 * count)) \
    -v size="$(wc -c <"$dir/rate.sbt")" 'BEGIN { printf "%.1f", size / n }')" ''
cost 'ts-record --stacks=16' "$out/ts-record" -q --stacks=16 \
    -o "$dir/stacks.sbt" -- "$programs/cuda_work" rate $count

# 4. Against others, where they are installed.
has() {
    test -z "$dry" && "$python" -c "import $1" 2>/dev/null
}
torch=$(has torch && echo yes)
if test "$torch"; then
    bare=
    loop=tests/gpu/torch_rate.py
    cost 'PyTorch, bare' "$python" $loop bare
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
    # The same loop twice: what torch.profiler counts, and what we do.
    within "$python" tests/gpu/torch_loop.py kineto >"$dir/kineto" || failed=1
    within "$out/ts-record" -q -o "$dir/loop.sbt" -- \
        "$python" tests/gpu/torch_loop.py bare >/dev/null
    must 'kernels of a training loop' "$(cut -d' ' -f1 "$dir/kineto")" \
        "$(rows kernel "$dir/loop.sbt")"
    row 'their time by torch.profiler, us' "$(cut -d' ' -f2 "$dir/kineto")" ''
    row 'their time by ts-record, us' "$(ask \
        'SELECT sum(duration_ns) / 1000 FROM kernel' "$dir/loop.sbt")" ''
    # Both in one process: the program must go on.
    within "$out/ts-record" -q -o "$dir/both.sbt" -- \
        "$python" tests/gpu/torch_loop.py kineto >"$dir/both"
    must 'torch.profiler under ts-record, exit status' 0 $?
    row 'kernels that ts-record sees then' "$(rows kernel "$dir/both.sbt")" \
        "torch.profiler: $(cut -d' ' -f1 "$dir/both")"
    within "$out/ts-record" -q --yield=kineto -o "$dir/both.sbt" -- \
        "$python" tests/gpu/torch_loop.py kineto >"$dir/both"
    must 'the same with --yield=kineto, exit status' 0 $?
    row 'kernels that torch.profiler sees then' "$(cut -d' ' -f1 "$dir/both")" \
        "ts-record: $(rows kernel "$dir/both.sbt")"
else
    row 'torch.profiler, Proton' '-' 'not measured: no PyTorch'
fi

# 5. Operations that are kept and run again, in another process.
number() { # key in a JSON object of a replay
    awk -v key="\"$1\":" '$1 == key { print $2 + 0; exit }' "$dir/again"
}
again() { # what, at least so many executed, command...
    what=$1 least=$2
    shift 2
    within "$out/ts-record" -q --capture 'all budget:4G' -o "$dir/kept.sbt" \
        -- "$@" >"$dir/kept" 2>&1
    status=$?
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
        "$dir/kept.sbt" >"$dir/again" 2>"$dir/why"
    status=$?
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
    row "$what: executed" "$(number executed)" "${levels}substituted $(
        number substituted), diverged $(number diverged)$declined"
    test $status = 0 ||
        row "$what: exit status" $status "$(tail -n 1 "$dir/why")"
    if test "$(number executed)" -lt "$least" || test $status -gt 1; then
        row "$what" WRONG "at least $least were to be executed"
        failed=1
    fi
}
test "$dry" && export DOUBLE_CUDA_JIT="$cubin"
again 'driver API' 30 "$programs/cuda_capture"
# What only a GPU can tell.
rate=$(within "$programs/cuda_hash") || failed=1
row 'chunks are hashed on the device, as by the host' "$rate" ''
"$out/ts-info" "$dir/kept.sbt" >"$dir/info2"
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
row 'the driver answers within a call' "$(grep -q 'does not answer within' \
    "$dir/info2" && echo no || echo yes)" 'launches, copies, module questions'
if test "$torch"; then
    again 'PyTorch step' 1 "$python" tests/gpu/torch_loop.py bare
    again 'PyTorch matmul (cuBLAS)' 1 "$python" -c 'import torch
a = torch.rand(512, 512, device="cuda")
print(float((a @ a).sum()))'
fi
if test "$torch" && has triton; then
    again 'PyTorch compiled (Triton)' 1 "$python" -c 'import torch
f = torch.compile(lambda a, b: torch.relu(a * b + 1))
a = torch.rand(4096, device="cuda")
print(float(f(a, a).sum()))'
    again 'CUDA graph' 1 "$python" -c 'import torch
a = torch.zeros(4096, device="cuda")
g = torch.cuda.CUDAGraph()
a.add_(1)
with torch.cuda.graph(g): a.add_(1)
g.replay()
print(float(a.sum()))'
fi
count=200 bare=
cost 'nothing kept, few' "$out/ts-record" -q -o "$dir/rate.sbt" -- \
    "$programs/cuda_work" rate $count
cost 'hashes kept' "$out/ts-record" -q --capture hashes -o "$dir/rate.sbt" -- \
    "$programs/cuda_work" rate $count
cost 'all kept' "$out/ts-record" -q --capture all -o "$dir/rate.sbt" -- \
    "$programs/cuda_work" rate $count

finish
exit $failed
