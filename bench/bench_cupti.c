/*
    bench_cupti.c - the cost of a record and of a call of CUPTI

    A buffer of kernel records in the layout of CUDA 13.1 is decoded on this
    thread, like in the backend's worker, and moved to the file, like in the
    drain thread (TS_DRAIN_MANUAL). CUPTI is replaced by a test double, in which
    stepping from record to record takes a nanosecond. A call is the two
    callbacks around a launch, on the program's thread.
*/
#define TRACESMITH_CUPTI_IMPLEMENTATION
#include "bench/bench.h"

#include "backends/ts_cupti.h"
#include "tests/doubles/cupti_double.h"

enum { RECORDS = 8000, SHAPES = 12, STREAMS = 4, SIZE = 224 };
#define ENGINE (&ts__cupti)

static size_t filled; // bytes in the buffer, which is decoded repeatedly

static void load(void)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tests/doubles/libcupti.so", bench.bin);
    void *const library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    double_set_function set;
    void *const symbol = library ? dlsym(library, "double_set") : NULL;
    if (!symbol) {
        fprintf(stderr, "bench_cupti: %s is not there\n", path);
        exit(1);
    }
    memcpy(&set, &symbol, sizeof set);
    set("version", 130100); // a version that lets us set its clock
}

// Fills the buffer with records like those of a training loop: a few kernels,
// repeated on a few streams, about ten microseconds apart.
static void fill(void)
{
    static double_kernel k;
    static char names[SHAPES][32];
    uint8_t *const buffer = ts__cu_buffer(ENGINE, 31);
    uint64_t random = 88172645463325252u, at = ts__cu_now_ns();
    for (uint32_t i = 0; i < RECORDS; i++) {
        snprintf(names[i % SHAPES], sizeof names[0], "kernel_%u", i % SHAPES);
        k.kind = 10;
        random ^= random << 13; // xorshift of Marsaglia
        random ^= random >> 7;
        random ^= random << 17;
        at += 8000 + random % 4000;
        k.start = at;
        k.end = at + 2000 + (random >> 20) % 5000;
        k.context = 1;
        k.stream = 13 + i % STREAMS;
        for (int d = 0; d < 3; d++)
            k.grid[d] = k.block[d] = 1;
        k.grid[0] = (int32_t)(i % SHAPES) + 1;
        k.registers = 32;
        k.correlation = i + 1;
        k.name = names[i % SHAPES];
        memcpy(buffer + i * SIZE, &k, sizeof k);
    }
    filled = RECORDS * SIZE;
}

// The callbacks at begin and return of a launch, which the program's thread
// pays.
static void calls(uint64_t count)
{
    int result = 0;
    ts__cu_call_data data = { .name = "cudaLaunchKernel", .result = &result };
    for (uint64_t i = 0; i < count; i++) {
        data.site = 0;
        data.correlation = (uint32_t)i % RECORDS + 1;
        ts__cu_callback(ENGINE, TS__CU_RUNTIME, 2, &data);
        data.site = 1;
        ts__cu_callback(ENGINE, TS__CU_RUNTIME, 2, &data);
    }
}

// CUPTI's part: steps to the next record.
static int next_record(uint8_t *bytes, size_t valid, uint8_t **record)
{
    uint8_t *const next = *record ? *record + SIZE : bytes;
    if (next + SIZE > bytes + valid) return 12;
    *record = next;
    return 0;
}

static double decode_ns(void)
{
    const double start = bench_cpu_ns();
    ENGINE->valid[31] = filled;
    ts__cu_walk(ENGINE, 31, ts__cu_take);
    return (bench_cpu_ns() - start) / RECORDS;
}

static double call_ns(void)
{
    const double start = bench_cpu_ns();
    calls(RECORDS);
    return (bench_cpu_ns() - start) / RECORDS;
}

// The time to drain the latest records, in this thread.
static double drain_ns(void)
{
    const double start = bench_cpu_ns();
    bench_need(ts_session_flush(), "flush");
    return (bench_cpu_ns() - start) / RECORDS;
}

static const char *begin(const char *kinds)
{
    const ts_filter_desc wanted = { .kinds = kinds };
    const ts_cupti_desc rare = { .flush_ms = 60000 };
    const char *const path = bench_path("cupti.sbt");
    const ts_session_desc desc = { .path = path, .drain = TS_DRAIN_MANUAL };
    bench_need(ts_filter_set(&wanted), kinds);
    bench_need(ts_cupti_configure(&rare), "configure");
    bench_need(ts_session_start(&desc), path);
    if (!ENGINE->worker.number) exit(1);
    ENGINE->call.next = next_record;
    fill();
    calls(RECORDS);
    bench_need(ts_session_flush(), "flush");
    TS__STORE(&ENGINE->worker.number, 0); // only this thread flushes now
    return path;
}

int main(int argc, char **argv)
{
    bench_parse(argc, argv);
    const int rounds = bench.quick ? 50 : 300;
    double decoded = INFINITY, drained = INFINITY, called = INFINITY;
    load();
    ts_backend_add(&ts_cupti_backend);
    const char *const path = begin("-api_call");
    const uint64_t before = bench_file_bytes(path);
    for (int round = 0; round < rounds; round++) {
        bench_keep_min(&decoded, decode_ns());
        bench_keep_min(&drained, drain_ns());
    }
    const double bytes = (double)(bench_file_bytes(path) - before);
    ts_stats stats;
    ts_session_stats(&stats);
    if (ENGINE->kernels != (uint64_t)rounds * RECORDS || stats.lost) exit(1);
    const bench_row record = { .key = "cupti.record",
                               .what = "CUPTI kernel, decoded into the ring",
                               .figure = decoded,
                               .unit = "ns",
                               .rule = BENCH_FIGURE_MAX,
                               .budget = 25 };
    bench_print(&record);
    const bench_row drain = { .key = "cupti.drain",
                              .what = "and drained to the file",
                              .figure = drained,
                              .unit = "ns" };
    bench_print(&drain);
    const bench_row size = { .key = "cupti.size",
                             .what = "CUPTI kernel on disk",
                             .figure = bytes / rounds / RECORDS,
                             .unit = "B",
                             .rule = BENCH_FIGURE_MAX,
                             .budget = 12 };
    bench_print(&size);
    ts_filter_set(NULL);
    for (int round = 0; round < rounds; round++) {
        bench_keep_min(&called, call_ns());
        bench_need(ts_session_flush(), "flush");
    }
    const bench_row call = { .key = "cupti.call",
                             .what = "CUPTI launch, both callbacks",
                             .figure = called,
                             .unit = "ns" };
    bench_print(&call);
    fflush(stdout);
    _exit(0); // the worker still sleeps
}
