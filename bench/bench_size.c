/*
    bench_size.c - bytes on disk for each event

    The whole file counts: headers, dictionaries, clock samples, index. A trace
    that lacks a record counts as a failure.
*/
#include "bench/workload.h"

typedef struct size_case {
    const char *key, *what;
    ts_event_kind kind;
    int variant; // workload_shape or workload_order
    uint32_t compress;
    double budget; // 0: none
    double limit;
    const char *yardstick;
} size_case;

#define RING  "record in the ring"
#define TRACY "Tracy, measured elsewhere"
#define OLD   "the predecessor, elsewhere"
static const size_case cases[] = {
    { "size.zone.chain", "zone on disk, a{b{leaf}}", TS_EVENT_ZONE,
      WORKLOAD_CHAIN, 0, 6, 16, RING },
    { "size.zone.chain.zstd", "the same, zstd 3", TS_EVENT_ZONE, WORKLOAD_CHAIN,
      3, 2, 2.35, TRACY },
    { "size.zone.tree", "zone on disk, 12 leaves in 3 in 1", TS_EVENT_ZONE,
      WORKLOAD_TREE, 0, 6, 16, RING },
    { "size.zone.tree.zstd", "the same, zstd 3", TS_EVENT_ZONE, WORKLOAD_TREE,
      3, 0, 0, NULL },
    { "size.zone.nowork", "zone on disk, leaves without work", TS_EVENT_ZONE,
      WORKLOAD_NO_WORK, 0, 6, 16, RING },
    { "size.zone.nowork.zstd", "the same, zstd 3", TS_EVENT_ZONE,
      WORKLOAD_NO_WORK, 3, 2, 1.37, TRACY },
    { "size.kernel.loop", "kernel on disk, a training loop", TS_EVENT_KERNEL,
      WORKLOAD_LOOP, 0, 12, 24.4, OLD },
    { "size.kernel.loop.zstd", "the same, zstd 3", TS_EVENT_KERNEL,
      WORKLOAD_LOOP, 3, 5, 0, NULL },
    { "size.kernel.random", "kernel on disk, all at random", TS_EVENT_KERNEL,
      WORKLOAD_RANDOM, 0, 12, 24.4, OLD },
    { "size.kernel.random.zstd", "the same, zstd 3", TS_EVENT_KERNEL,
      WORKLOAD_RANDOM, 3, 0, 0, NULL },
};

// NaN if the trace lacks a record.
static double bytes_per_event(const char *path, ts_event_kind kind,
                              uint64_t count)
{
    ts_reader *const reader = bench_open(path);
    const ts_info *const info = ts_reader_info(reader);
    double bytes = NAN;
    if (info->counts[kind] >= count && !info->lost)
        bytes = (double)info->file_bytes / (double)info->counts[kind];
    else
        fprintf(stderr,
                "bench_size: %s: %" PRIu64 " of %" PRIu64 " events, %" PRIu64
                " lost\n",
                path, info->counts[kind], count, info->lost);
    ts_reader_close(reader);
    return bytes;
}

static double measure(const size_case *size, uint64_t count)
{
    // Kernels are recorded here faster than any application launches them. A
    // helping producer would write uncompressed chunks, so it waits instead.
    const ts_session_desc desc = { .path = bench_path("size.sbt"),
                                   .policy = TS_POLICY_BLOCK,
                                   .compress = size->compress };
    const ts_result started = ts_session_start(&desc);
    if (started == TS_ERR_UNSUPPORTED) return NAN; // a build without zstd
    bench_need(started, "start");
    if (size->kind == TS_EVENT_ZONE)
        count = workload_zones((workload_shape)size->variant, count);
    else
        workload_kernels((workload_order)size->variant, 16, count);
    bench_need(ts_session_stop(), "stop");
    const double bytes = bytes_per_event(desc.path, size->kind, count);
    remove(desc.path);
    return bytes;
}

int main(int argc, char **argv)
{
    bench_parse(argc, argv);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const size_case *const size = &cases[i];
        const bench_row row = {
            .key = size->key,
            .what = size->what,
            .figure = measure(size, bench.quick ? 200000 : 1000000),
            .unit = "B",
            .limit = size->limit,
            .yardstick = size->yardstick,
            .rule = size->budget > 0 ? BENCH_FIGURE_MAX : BENCH_INFO,
            .budget = size->budget
        };
        bench_print(&row);
    }
    return 0;
}
