/*
    bench_hip.c - the cost of a record and of a call of HIP

    Kernel records in roctracer's layout are decoded on this thread, like on the
    library's, and moved to the file, like in the drain thread
    (TS_DRAIN_MANUAL). A call is the two callbacks at the begin and the return
    of a launch, on the program's thread, with arguments as roctracer passes
    them. None of AMD's libraries is used.
*/
#define TRACESMITH_HIP_IMPLEMENTATION
#include "bench/bench.h"

#include "backends/ts_hip.h"

enum { RECORDS = 8000, SHAPES = 12, STREAMS = 4, SIZE = 64, LAUNCH = 1 };
static char records[RECORDS][SIZE];

static uint64_t now_ns(void)
{
    return ts__hip_boottime_ns();
}
static bool gone(void)
{
    return false;
}
static const ts__hip_way way = {
    .name = "bench", .gone = gone, .now_ns = now_ns, .operations = true
};

// Makes a hip_api_data_t: correlation, phase, the arguments of hipLaunchKernel,
// and the kernel's arguments.
static void call(uint64_t correlation)
{
    char data[96] = { 0 };
    const uint32_t dims[6] = {
        (uint32_t)(correlation % SHAPES) + 1, 1, 1, 128, 1, 1
    };
    const uint64_t stream = 0x1000 + 16 * (correlation % STREAMS);
    uint32_t phase = 1;
    memcpy(data, &correlation, 8);
    memcpy(data + 24, dims, sizeof dims);
    memcpy(data + 72, &stream, 8);
    ts__activity_call(LAUNCH, data);
    memcpy(data + 8, &phase, 4);
    ts__activity_call(LAUNCH, data);
}

static void fill(void)
{
    static char names[SHAPES][32];
    uint64_t at = now_ns();
    for (uint64_t i = 0; i < RECORDS; i++) {
        const char *const name = names[i % SHAPES];
        const uint64_t key = i + 1, end = at + 3000 + i % 5000;
        snprintf(names[i % SHAPES], sizeof names[0], "kernel_%u",
                 (unsigned)(i % SHAPES));
        memcpy(records[i] + TS__ACTIVITY_CORRELATION, &key, 8);
        memcpy(records[i] + TS__ACTIVITY_BEGIN, &at, 8);
        memcpy(records[i] + TS__ACTIVITY_END, &end, 8);
        memcpy(records[i] + TS__ACTIVITY_BYTES, &name, sizeof name);
        at += 10000;
    }
}

static double calls_ns(void)
{
    const double start = bench_cpu_ns();
    for (uint64_t i = 0; i < RECORDS; i++)
        call(i + 1);
    return (bench_cpu_ns() - start) / RECORDS;
}

static double decode_ns(void)
{
    const double start = bench_cpu_ns();
    ts__hip_taker *const taker = ts__hip_taker_get();
    for (uint64_t i = 0; i < RECORDS; i++)
        ts__activity_take(taker, records[i], i + 1);
    ts__hip_taken(taker, UINT64_MAX);
    return (bench_cpu_ns() - start) / RECORDS;
}

static void begin(void)
{
    const ts_session_desc desc = { .path = bench_path("hip.sbt"),
                                   .drain = TS_DRAIN_MANUAL };
    bench_need(ts_session_start(&desc), desc.path);
    ts__hip.way = &way;
    ts__hip.indices = 1;
    if (!ts__hip_memory_get()) exit(1);
    ts__hip_reset();
    ts__hip_clock_sample(true);
    ts__hip_api_define(LAUNCH, "hipLaunchKernel");
    ts__hip.on = 1;
}

int main(int argc, char **argv)
{
    bench_parse(argc, argv);
    double decoded = INFINITY, called = INFINITY;
    begin();
    fill();
    for (int round = 0; round < (bench.quick ? 50 : 300); round++) {
        bench_keep_min(&called, calls_ns());
        bench_need(ts_session_flush(), "flush");
        bench_keep_min(&decoded, decode_ns());
        bench_need(ts_session_flush(), "flush");
    }
    if (ts__hip.without_launch || ts__notes_waiting(&ts__hip.notes)) exit(1);
    const bench_row record = { .key = "hip.record",
                               .what = "HIP kernel, decoded into the ring",
                               .figure = decoded,
                               .unit = "ns",
                               .rule = BENCH_FIGURE_MAX,
                               .budget = 25 };
    bench_print(&record);
    const bench_row launch = { .key = "hip.call",
                               .what = "HIP launch, both callbacks",
                               .figure = called,
                               .unit = "ns" };
    bench_print(&launch);
    bench_need(ts_session_stop(), "stop");
    return 0;
}
