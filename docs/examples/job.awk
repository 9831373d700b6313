# Writes the trace of one of two ranks of a small training job as the profiler
# of PyTorch does (Kineto). It is made up: six steps of a batch's upload, three
# layers forward and backward, an all-reduce and an update. Rank 1 computes a
# tenth longer, so that rank 0 waits; step 4 loads its batch slowly.
#   awk -v rank=0 -f docs/examples/job.awk >rank0.json
function row(category, name, pid, tid, from, took, args) {
    printf "%s\n{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", " \
        "\"pid\": %s, \"tid\": %s, \"ts\": %.3f, \"dur\": %.3f, " \
        "\"args\": {%s}}", rows++ ? "," : "", category, name, pid, tid,
        from, took, args
}
function host(category, name, from, to) {
    row(category, name, 100 + rank, 100 + rank, from, to - from, "")
}
function call(name, took, args) {
    row("cuda_runtime", name, 100 + rank, 100 + rank, now, took,
        "\"correlation\": " correlation args)
    now += took + 2
}
# Work on a stream begins when it was launched and the stream is free.
function work(category, name, stream, took, args,    from) {
    from = now + 4 > free[stream] ? now + 4 : free[stream]
    correlation++
    call(launch[category], 5, "")
    row(category, name, rank, stream, from, took, "\"device\": " rank \
        ", \"context\": 1, \"stream\": " stream ", \"correlation\": " \
        correlation args)
    free[stream] = from + took
}
function kernel(name, stream, took, args) {
    work("kernel", name, stream, took, ", \"grid\": [80, 1, 1], " \
        "\"block\": [256, 1, 1], \"registers per thread\": 32, " \
        "\"shared memory\": 0" args)
}
function wait(name, until) {
    correlation++
    call(name, until > now ? until - now : 1, ", \"cbid\": 131")
}
function layers(way, slower,    i, from) {
    from = now
    for (i = 1; i <= 3; i++) {
        kernel("gemm_" way "_128x64", 7, (90 + 20 * i) * slower, "")
        kernel("relu_" way, 7, 12 * slower, "")
    }
    host("user_annotation", "## " way " ##", from, now)
}
BEGIN {
    launch["kernel"] = "cudaLaunchKernel"
    launch["gpu_memcpy"] = "cudaMemcpyAsync"
    slower[0] = 1
    slower[1] = 1.1
    printf "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": %d, " \
        "\"name\": \"Example GPU\", \"totalGlobalMem\": 17179869184, " \
        "\"numSms\": 80, \"warpSize\": 32}],\n\"distributedInfo\": " \
        "{\"backend\": \"nccl\", \"rank\": %d, \"world_size\": 2},\n" \
        "\"traceEvents\": [", rank, rank
    now = 1000000
    for (step = 1; step <= 6; step++) {
        began = now
        now += step == 4 ? 900 : 150 # the batch is made
        host("user_annotation", "## load ##", began, now)
        work("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 7, 40,
            ", \"bytes\": 524288")
        layers("forward", slower[rank])
        layers("backward", slower[rank])
        # All wait for the slowest: both end then.
        wait("cudaStreamSynchronize", free[7])
        ends = (1260 + (step == 4 ? 750 : 0)) * 1 + began
        if (ends < free[7] + 60) ends = free[7] + 60
        kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 20, ends - now - 4,
            ", \"Collective name\": \"allreduce\", \"dtype\": \"Float\", " \
            "\"In msg nelems\": 262144, \"Out msg nelems\": 262144, " \
            "\"Group size\": 2, \"Process Group Name\": \"0\"")
        wait("cudaStreamSynchronize", free[20])
        kernel("adam_update", 7, 30, "")
        wait("cudaDeviceSynchronize", free[7])
        now = began + (step == 4 ? 2150 : 1400)
        host("user_annotation", "ProfilerStep#" step, began, now - 5)
    }
    printf "\n]}\n"
}
