/*
    gen_trace.c - makes a big trace

        gen_trace KIND COUNT PATH

    KIND: zones (short ones, three deep), kernels (on 1,000 streams), graphN
    (kernels with events between N streams), callsN (with their calls), big
    (zones and kernels; COUNT is the size of the file in MB).
*/
#include "bench/workload.h"

static void record_big(const char *path, uint64_t megabytes)
{
    // Zones and kernels take half of the file each. They are recorded in small
    // portions, so that the file is hardly larger than requested.
    workload_gpu gpu;
    workload_gpu_open(&gpu, 16);
    const uint64_t size = megabytes * 1000000;
    while (bench_file_bytes(path) < size) {
        workload_zones(WORKLOAD_SHORT, 2000000);
        for (int i = 0; i < 1000000; i++) {
            const uint32_t config = bench_below(&gpu.random, 40);
            ts_gpu_op op =
                workload_op(&gpu, TS_EVENT_KERNEL, (uint32_t)i % 16,
                            workload_duration(&gpu, WORKLOAD_LOOP, config));
            op.u.kernel.launch = gpu.launches[config];
            ts_gpu_op_record(&op);
        }
    }
    workload_clock(&gpu);
    workload_gpu_close(&gpu);
}

static bool record(const char *kind, uint64_t count, const char *path)
{
    if (!strcmp(kind, "zones"))
        workload_zones(WORKLOAD_SHORT, count);
    else if (!strcmp(kind, "kernels"))
        workload_kernels(WORKLOAD_RANDOM, 1000, count);
    else if ((!strncmp(kind, "graph", 5) || !strncmp(kind, "calls", 5)) &&
             atoi(kind + 5) > 0)
        workload_graph((uint32_t)atoi(kind + 5), count, kind[0] == 'c');
    else if (!strcmp(kind, "big"))
        record_big(path, count);
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: gen_trace KIND COUNT PATH\n");
        return 2;
    }
    const ts_session_desc desc = { .path = argv[3] };
    bench_need(ts_session_start(&desc), argv[3]);
    const bool known = record(argv[1], strtoull(argv[2], NULL, 10), argv[3]);
    bench_need(ts_session_stop(), argv[3]);
    ts_stats stats;
    bench_need(ts_session_stats(&stats), "stats");
    if (!known || stats.lost) {
        fprintf(stderr, "gen_trace: %s: %s\n", known ? argv[3] : argv[1],
                known ? "records were lost" : "unknown kind");
        return known ? 1 : 2;
    }
    return 0;
}
