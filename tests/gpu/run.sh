#!/bin/sh
# Checks and measures the capture of CUDA on this machine's NVIDIA GPU, in less
# than 8 minutes; a short table is the last that it prints. No command that uses
# the GPU may take longer than $LIMIT seconds (120).
#   tests/gpu/run.sh [--save] [--dry]
#     --save   also into bench/results/
#     --dry    with doubles of the driver and of CUPTI in place of a GPU: that
#              this script works; none of its figures means anything
# Exit status 77: there is no GPU. 1: something that was checked is not so.
set -u
cd "$(dirname "$0")/../.." || exit 1
out=${OUT:-build}
save='' dry=''
for option in "$@"; do
    case $option in
    --save) save=yes ;;
    --dry) dry=yes ;;
    *)
        echo "tests/gpu/run.sh: $option: unknown option" >&2
        exit 2
        ;;
    esac
done
dir=$(mktemp -d "${TMPDIR:-/tmp}/ts-gpu.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
table=$dir/table
: >"$table"
failed=0

within() { # command...
    timeout -k 10 "${LIMIT:-120}" "$@"
}

echo 'Building ...'
make -s OUT="$out" all || exit 1
cc="${CC:-cc} -std=gnu11 -O2 -I."
$cc tests/gpu/cuda_work.c -o "$dir/cuda_work" -ldl &&
    $cc -DZONES tests/gpu/cuda_work.c -o "$dir/cuda_zones" -pthread -ldl &&
    $cc tests/gpu/cuda_capture.c -o "$dir/cuda_capture" -ldl &&
    $cc tests/gpu/cuda_more.c -o "$dir/cuda_more" -ldl &&
    $cc tests/gpu/cuda_hash.c -o "$dir/cuda_hash" -ldl &&
    $cc -fPIC -shared tests/gpu/raw_cupti.c -o "$dir/raw_cupti.so" -ldl ||
    exit 1
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
fi
gpu=$(within "$dir/cuda_work" probe)
status=$?
if test $status != 0; then
    echo "$gpu"
    exit $status
fi

row() { # what, figure, remark
    printf '%-46s %14s  %s\n' "$1" "$2" "$3" | tee -a "$table"
}
must() { # what, expected, seen
    if test "$2" = "$3"; then
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
within "$out/ts-record" -q -o "$dir/all.sbt" -- "$dir/cuda_work" \
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
within "$dir/cuda_zones" "$dir/zones.sbt" >/dev/null || failed=1
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
bare=$(within "$dir/cuda_work" rate $count)
row 'launches a second, bare' "$bare" ''
cost() { # what, command...
    what=$1
    shift
    rate=$(within "$@" 2>/dev/null | tail -n 1)
    row "launches a second, $what" "${rate:-none}" "$(awk -v a="$bare" \
        -v b="${rate:-0}" 'BEGIN { if (b) printf "%.2f x slower", a / b }')"
}
cost 'raw CUPTI, nobody reads' env \
    CUDA_INJECTION64_PATH="$dir/raw_cupti.so" "$dir/cuda_work" rate $count
cost 'ts-record' "$out/ts-record" -q -o "$dir/rate.sbt" -- \
    "$dir/cuda_work" rate $count
must 'kernels of that' $((6 * count)) "$(rows kernel "$dir/rate.sbt")"
row 'bytes on disk for a launch and its kernel' "$(awk -v n=$((6 * count)) \
    -v size="$(wc -c <"$dir/rate.sbt")" 'BEGIN { printf "%.1f", size / n }')" ''
cost 'ts-record --stacks=16' "$out/ts-record" -q --stacks=16 \
    -o "$dir/stacks.sbt" -- "$dir/cuda_work" rate $count

# 4. Against others, where they are installed.
python=${PYTHON:-python3}
has() {
    test -z "$dry" && "$python" -c "import $1" 2>/dev/null
}
if has torch; then
    for mode in bare kineto; do
        row "PyTorch launches a second, $mode" \
            "$(within "$python" tests/gpu/torch_rate.py $mode)" ''
    done
    row 'PyTorch launches a second, ts-record' "$(within "$out/ts-record" -q \
        -o "$dir/torch.sbt" -- "$python" tests/gpu/torch_rate.py bare)" ''
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
else
    row 'torch.profiler' '-' 'not measured: no PyTorch'
fi
if has triton.profiler && has torch; then
    row 'PyTorch launches a second, Proton' \
        "$(within "$python" tests/gpu/torch_rate.py proton)" ''
else
    row 'Proton' '-' 'not measured: no Triton'
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
    if test $status = 77; then # the device or its driver has none of it
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
    row "$what: executed" "$(number executed)" "exit status $status $(tail \
        -n 1 "$dir/why")"
    row "$what: substituted" "$(number substituted)" ''
    awk -F'"' '/"declined": \{$/ { on = 1; next } on && /\}/ { exit }
        on { gsub(/[^0-9]/, "", $3); print $2, $3 }' "$dir/again" |
        while read -r reason count; do
            row "$what: declined" "$count" "$reason"
        done
    for level in S1 S2 S3; do
        row "$what: $level" "$(grep -c "\"level\": \"$level\"" "$dir/again")" ''
    done
    row "$what: diverged" "$(number diverged)" ''
    if test "$(number executed)" -lt "$least" || test $status -gt 1; then
        row "$what" WRONG "at least $least were to be executed"
        failed=1
    fi
}
test "$dry" && export DOUBLE_CUDA_JIT="$cubin"
again 'driver API' 30 "$dir/cuda_capture"
# What only a GPU can tell.
rate=$(within "$dir/cuda_hash") || failed=1
row 'chunks are hashed on the device, as by the host' "$rate" ''
"$out/ts-info" "$dir/kept.sbt" >"$dir/info2"
again 'graphs that change' 9 "$dir/cuda_more" updates
again 'branches of a graph' 3 "$dir/cuda_more" branches
again 'textures' 4 "$dir/cuda_more" textures
again 'tensor maps' 3 "$dir/cuda_more" maps
again 'batches of copies' 4 "$dir/cuda_more" batches
row 'the driver answers within a call' "$(grep -q 'does not answer within' \
    "$dir/info2" && echo no || echo yes)" 'launches, copies, module questions'
if has torch; then
    again 'PyTorch step' 1 "$python" tests/gpu/torch_loop.py bare
    again 'PyTorch matmul (cuBLAS)' 1 "$python" -c 'import torch
a = torch.rand(512, 512, device="cuda")
print(float((a @ a).sum()))'
fi
if has triton && has torch; then
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
count=200
cost 'nothing kept, few' "$out/ts-record" -q -o "$dir/rate.sbt" -- \
    "$dir/cuda_work" rate $count
cost 'hashes kept' "$out/ts-record" -q --capture hashes -o "$dir/rate.sbt" -- \
    "$dir/cuda_work" rate $count
cost 'all kept' "$out/ts-record" -q --capture all -o "$dir/rate.sbt" -- \
    "$dir/cuda_work" rate $count

name=$(awk '/cupti.version/ { print $2 }' "$dir/info")
{
    echo "TraceSmith on $gpu, $(date +%Y-%m-%d), CUPTI ${name:-?}"
    test -z "$dry" || echo 'DRY: doubles; no figure means anything'
    echo
    cat "$table"
} >"$dir/result"
if test "$save" && test -z "$dry"; then
    file=bench/results/$(date +%Y-%m-%d)-$(printf %s "$gpu" |
        tr -cs 'a-zA-Z0-9\n' -)-cuda.txt
    cp "$dir/result" "$file"
    echo "tests/gpu/run.sh: wrote $file" >&2
fi
echo
cat "$dir/result"
exit $failed
