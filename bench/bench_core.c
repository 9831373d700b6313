/*
    bench_core.c - the five loops that most of the work is in, to be counted

    Encoding, scanning, building the graph, running it, building a timeline:
    each is a function of its own, core_NAME, whose instructions bench/counts.sh
    takes from callgrind. Times of the same work are in the other benchmarks.

    bench_core --count N DIR     N operations on 64 streams
    bench_core [--quick] ...     prints nothing
*/
#include "bench/workload.h"

// Operations that are recorded before a flush: they fit a thread's first ring.
enum { STREAMS = 64, PART = 500 };

static uint64_t core_sum;

static __attribute__((noinline)) void core_encode(void)
{
    bench_need(ts_session_flush(), "flush");
}

static void add_chunk(const ts_columns *columns, uint32_t thread, void *user)
{
    uint64_t *const sum = user;
    (void)thread;
    for (uint32_t i = 0; i < columns->count; i++)
        *sum += (uint64_t)columns->duration_ns[i];
}

static __attribute__((noinline)) void core_scan(ts_reader *reader)
{
    const ts_filter kernels = { .kinds = TS_FILTER(KERNEL) };
    bench_need(ts_reader_scan(reader, &kernels, 1, add_chunk, &core_sum),
               "scan");
}

static __attribute__((noinline)) ts_replay *core_graph(ts_reader *reader)
{
    ts_replay *replay;
    const ts_replay_desc desc = { .threads = 1 };
    bench_need(ts_replay_open(&replay, reader, &desc), "graph");
    return replay;
}

static __attribute__((noinline)) void core_run(ts_replay *replay)
{
    const ts_replay_run_desc exact = { .mode = TS_REPLAY_EXACT };
    bench_need(ts_replay_run(replay, &exact), "run");
}

static __attribute__((noinline)) ts_timeline *core_timeline(ts_replay *replay)
{
    ts_timeline *timeline;
    bench_need(ts_timeline_open(&timeline, replay, NULL), "timeline");
    return timeline;
}

static void record(const char *path, uint64_t count)
{
    const ts_session_desc desc = { .path = path, .drain = TS_DRAIN_MANUAL };
    workload_gpu gpu;
    bench_need(ts_session_start(&desc), path);
    workload_gpu_open(&gpu, STREAMS);
    for (uint64_t done = 0; done < count; done += PART) {
        workload_graph_part(&gpu, STREAMS, PART, false);
        core_encode();
    }
    workload_clock(&gpu);
    workload_gpu_close(&gpu);
    bench_need(ts_session_stop(), path);
}

int main(int argc, char **argv)
{
    if (argc != 4 || strcmp(argv[1], "--count")) return 0;
    bench.dir = argv[3];
    const char *const path = bench_path("core.sbt");
    record(path, strtoull(argv[2], NULL, 10));
    ts_reader *const reader = bench_open(path);
    core_scan(reader);
    ts_replay *const replay = core_graph(reader);
    core_run(replay);
    ts_timeline_close(core_timeline(replay));
    ts_replay_close(replay);
    ts_reader_close(reader);
    return 0;
}
