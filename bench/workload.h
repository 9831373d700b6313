/*
    workload.h - what the benchmarks record

    The workload is the same on every run: random numbers have a fixed seed and
    are drawn before recording, so that almost only the recorder's cost lies
    between two zones.
*/
#ifndef TS_WORKLOAD_H
#define TS_WORKLOAD_H

#include "bench/bench.h"

/* ==== 1. Zones =========================================================== */

/*
    Zones on three levels with 20 names, drawn at random: 4 for outer zones, 6
    for middle ones, 10 for leaves. The work of a leaf is log-uniform between
    50 ns and 20 us.
*/
typedef enum workload_shape {
    WORKLOAD_CHAIN,   // a{ b{ leaf } }
    WORKLOAD_TREE,    // a{ b{ leaf leaf leaf leaf } x 3 }
    WORKLOAD_NO_WORK, // a chain whose leaves do nothing
    WORKLOAD_SHORT    // a tree with leaf work uniform between 0 and 200 ns
} workload_shape;

enum { WORKLOAD_STEPS = 1 << 16 };

typedef struct workload_step { // drawn once for each leaf, then reused
    uint32_t work;             // ticks
    uint8_t outer, middle, leaf, unused;
} workload_step;

#define WORKLOAD_SITE(name, line) \
    { \
        name, 0, "workload", __FILE__, line, 0, 0 \
    }
static ts_site workload_sites[20] = {
    WORKLOAD_SITE("frame", 1),     WORKLOAD_SITE("request", 2),
    WORKLOAD_SITE("load", 3),      WORKLOAD_SITE("idle", 4),
    WORKLOAD_SITE("parse", 5),     WORKLOAD_SITE("plan", 6),
    WORKLOAD_SITE("simulate", 7),  WORKLOAD_SITE("animate", 8),
    WORKLOAD_SITE("cull", 9),      WORKLOAD_SITE("submit", 10),
    WORKLOAD_SITE("tokenize", 11), WORKLOAD_SITE("hash", 12),
    WORKLOAD_SITE("lookup", 13),   WORKLOAD_SITE("insert", 14),
    WORKLOAD_SITE("copy", 15),     WORKLOAD_SITE("decompress", 16),
    WORKLOAD_SITE("multiply", 17), WORKLOAD_SITE("reduce", 18),
    WORKLOAD_SITE("sort", 19),     WORKLOAD_SITE("verify", 20),
};

// Ticks of clock 0 per nanosecond, accurate to about 0.1 %.
static inline double workload_ticks_per_ns(void)
{
    const double wall = bench_wall_ns();
    const uint64_t tick = ts_tick_now();
    while (bench_wall_ns() - wall < 5e6) {}
    const uint64_t ticks = ts_tick_now() - tick;
    return (double)ticks / (bench_wall_ns() - wall);
}

static inline uint32_t workload_draw(bench_random *random, workload_shape shape)
{
    if (shape == WORKLOAD_NO_WORK) return 0;
    if (shape == WORKLOAD_SHORT) return bench_below(random, 200);
    return (uint32_t)bench_log_uniform(random, 50, 20000);
}

static inline workload_step *workload_plan(workload_shape shape)
{
    workload_step *const steps = malloc(WORKLOAD_STEPS * sizeof *steps);
    if (!steps) bench_need(TS_ERR_MEMORY, "workload");
    const double ticks_per_ns = workload_ticks_per_ns();
    bench_random random = { 1 };
    for (size_t i = 0; i < WORKLOAD_STEPS; i++) {
        const uint32_t ns = workload_draw(&random, shape);
        steps[i].work = (uint32_t)(ns * ticks_per_ns);
        steps[i].outer = (uint8_t)bench_below(&random, 4);
        steps[i].middle = (uint8_t)(4 + bench_below(&random, 6));
        steps[i].leaf = (uint8_t)(10 + bench_below(&random, 10));
    }
    return steps;
}

static inline void workload_leaf(const workload_step *step)
{
    ts_zone leaf = ts_zone_begin(&workload_sites[step->leaf]);
    if (step->work) {
        const uint64_t begin = leaf.start;
        while (ts__tick() - begin < step->work) {}
    }
    ts_zone_end(&leaf);
}

// The number of zones in one outermost zone, itself included.
static inline uint64_t workload_group(workload_shape shape)
{
    return shape == WORKLOAD_TREE || shape == WORKLOAD_SHORT ? 16 : 3;
}

/*
    Records at least `count` zones into the running session. Returns their
    number.
*/
static inline uint64_t workload_zones(workload_shape shape, uint64_t count)
{
    workload_step *const steps = workload_plan(shape);
    const uint64_t group = workload_group(shape);
    const bool tree = group > 3;
    uint64_t done = 0, step = 0;
    for (; done < count; done += group) {
        const workload_step *const first = &steps[step % WORKLOAD_STEPS];
        ts_zone outer = ts_zone_begin(&workload_sites[first->outer]);
        for (int m = 0; m < (tree ? 3 : 1); m++) {
            const uint8_t name = steps[step % WORKLOAD_STEPS].middle;
            ts_zone middle = ts_zone_begin(&workload_sites[name]);
            for (int l = 0; l < (tree ? 4 : 1); l++)
                workload_leaf(&steps[step++ % WORKLOAD_STEPS]);
            ts_zone_end(&middle);
        }
        ts_zone_end(&outer);
    }
    free(steps);
    return done;
}

/* ==== 2. Kernels ========================================================= */

/*
    A host thread launches a kernel about every 4 us onto one of `streams`
    streams, with one of 40 launch configurations. Each has everything that a
    vendor reports: the times queued, submitted, start and end in nanoseconds of
    the device's clock, the correlation id, the launching thread and zone.
*/
typedef enum workload_order {
    WORKLOAD_LOOP,  // configurations in a fixed order, durations within 2 %
    WORKLOAD_RANDOM // configurations and durations at random, 1 to 100 us
} workload_order;

enum { WORKLOAD_LAUNCHES = 40 };

typedef struct workload_gpu {
    uint32_t device, clock, stream_count;
    uint32_t *streams; // tracks
    uint64_t *free_ns; // when each stream becomes idle
    uint32_t launches[WORKLOAD_LAUNCHES];
    uint32_t typical_ns[WORKLOAD_LAUNCHES];
    uint64_t now_ns, correlation;
    uint64_t first_ns, first_tick;
    double ticks_per_ns; // of clock 0
    bench_random random;
} workload_gpu;

static inline void workload_gpu_close(workload_gpu *gpu)
{
    free(gpu->streams);
    free(gpu->free_ns);
}

// Records a clock sample at the device's current time. That time is simulated
// and passes faster than real time, so the value of clock 0 is computed.
static inline void workload_clock(const workload_gpu *gpu)
{
    const double ns = (double)(gpu->now_ns - gpu->first_ns);
    const uint64_t passed = (uint64_t)(ns * gpu->ticks_per_ns);
    ts_clock_sample(gpu->clock, gpu->now_ns, gpu->first_tick + passed, 100);
}

static inline void workload_gpu_streams(workload_gpu *gpu, uint32_t count)
{
    gpu->stream_count = count;
    gpu->streams = calloc(count, sizeof *gpu->streams);
    gpu->free_ns = calloc(count, sizeof *gpu->free_ns);
    if (!gpu->streams || !gpu->free_ns) bench_need(TS_ERR_MEMORY, "streams");
    const ts_gpu_context_desc context = { .device = gpu->device, .number = 1 };
    const uint32_t track = ts_gpu_context_define(&context);
    for (uint32_t i = 0; i < count; i++) {
        const ts_gpu_stream_desc desc = { .context = track, .number = i + 7 };
        gpu->streams[i] = ts_gpu_stream_define(&desc);
    }
}

static inline void workload_gpu_open(workload_gpu *gpu, uint32_t streams)
{
    memset(gpu, 0, sizeof *gpu);
    const ts_gpu_device_desc device = { .name = "bench device" };
    gpu->device = ts_gpu_device_define(&device);
    gpu->clock = ts_clock_define("bench device");
    workload_gpu_streams(gpu, streams);
    gpu->random.state = 2;
    for (uint32_t i = 0; i < WORKLOAD_LAUNCHES; i++) {
        char name[64];
        snprintf(name, sizeof name, "_Z6kernelILi%uEEvPKfS1_Pfi", i);
        const ts_gpu_launch_desc launch = {
            .name = name,
            .grid = { 1 + bench_below(&gpu->random, 4096), 1, 1 },
            .block = { 128u << bench_below(&gpu->random, 3), 1, 1 },
            .registers = 32 + bench_below(&gpu->random, 96)
        };
        gpu->launches[i] = ts_gpu_launch_define(&launch);
        gpu->typical_ns[i] =
            (uint32_t)bench_log_uniform(&gpu->random, 1000, 12000);
    }
    gpu->ticks_per_ns = workload_ticks_per_ns();
    gpu->first_ns = gpu->now_ns = (uint64_t)bench_clock_ns(CLOCK_MONOTONIC_RAW);
    gpu->first_tick = ts_tick_now();
    workload_clock(gpu);
}

static inline uint32_t workload_duration(workload_gpu *gpu,
                                         workload_order order, uint32_t config)
{
    if (order == WORKLOAD_RANDOM)
        return (uint32_t)bench_log_uniform(&gpu->random, 1000, 100000);
    const uint32_t typical = gpu->typical_ns[config];
    return typical + bench_below(&gpu->random, typical / 50 + 1);
}

// Makes an operation on stream number `stream`. The caller fills in the fields
// of its kind and records it.
static inline ts_gpu_op workload_op(workload_gpu *gpu, ts_event_kind kind,
                                    uint32_t stream, uint32_t duration)
{
    gpu->now_ns += 3500 + bench_below(&gpu->random, 1000);
    ts_gpu_op op = { .kind = kind,
                     .track = gpu->streams[stream],
                     .clock = gpu->clock,
                     .queued = gpu->now_ns,
                     .correlation = ++gpu->correlation };
    op.submitted = op.queued + 1200 + bench_below(&gpu->random, 300);
    op.start = op.submitted + 900 + bench_below(&gpu->random, 100);
    if (op.start < gpu->free_ns[stream] + 700)
        op.start = gpu->free_ns[stream] + 700 + bench_below(&gpu->random, 60);
    op.end = op.start + duration;
    gpu->free_ns[stream] = op.end;
    return op;
}

// Records `count` kernels into the running session.
static inline void workload_kernels(workload_order order, uint32_t streams,
                                    uint64_t count)
{
    static ts_site launch_site = { "launch", 0, "workload", "workload.h",
                                   __LINE__, 0, 0 };
    workload_gpu gpu;
    workload_gpu_open(&gpu, streams);
    ts_zone zone = ts_zone_begin(&launch_site);
    const ts_gpu_origin origin = ts_gpu_origin_here();
    for (uint64_t i = 0; i < count; i++) {
        uint32_t config = (uint32_t)(i % WORKLOAD_LAUNCHES);
        uint32_t stream = (uint32_t)(i / WORKLOAD_LAUNCHES % streams);
        if (order == WORKLOAD_RANDOM) {
            config = bench_below(&gpu.random, WORKLOAD_LAUNCHES);
            stream = bench_below(&gpu.random, streams);
        }
        ts_gpu_op op = workload_op(&gpu, TS_EVENT_KERNEL, stream,
                                   workload_duration(&gpu, order, config));
        op.origin = origin;
        op.u.kernel.launch = gpu.launches[config];
        ts_gpu_op_record(&op);
    }
    ts_zone_end(&zone);
    workload_clock(&gpu);
    workload_gpu_close(&gpu);
}

// Converts a device's time to clock 0.
static inline uint64_t workload_tick(const workload_gpu *gpu, uint64_t ns)
{
    const double passed = (double)(ns - gpu->first_ns) * gpu->ticks_per_ns;
    return gpu->first_tick + (uint64_t)passed;
}

// Records the operation and, if requested, the host call that issued it.
static inline void workload_record(const workload_gpu *gpu, ts_gpu_op *op,
                                   const char *name)
{
    if (name) {
        const ts_api_call call = { .name = ts_name_define(name),
                                   .start = workload_tick(gpu, op->queued),
                                   .end = workload_tick(gpu, op->submitted),
                                   .correlation = op->correlation };
        ts_api_call_record(&call);
        op->queued = op->submitted = 0;
    }
    ts_gpu_op_record(op);
}

/*
    Records `count` operations with dependencies: kernels, and for every eighth
    one an event that another stream waits for. With `calls` also records the
    host calls that issued them; then only these have the issue times.
*/
static inline void workload_graph_part(workload_gpu *gpu, uint32_t streams,
                                       uint64_t count, bool calls)
{
    for (uint64_t done = 0; done < count; done++) {
        const uint32_t stream = bench_below(&gpu->random, streams);
        if (done % 10 != 8 || done + 2 > count) {
            const uint32_t config = (uint32_t)(done % WORKLOAD_LAUNCHES);
            ts_gpu_op op =
                workload_op(gpu, TS_EVENT_KERNEL, stream,
                            workload_duration(gpu, WORKLOAD_LOOP, config));
            op.u.kernel.launch = gpu->launches[config];
            workload_record(gpu, &op, calls ? "cudaLaunchKernel" : NULL);
            continue;
        }
        ts_gpu_op record = workload_op(gpu, TS_EVENT_EVENT_RECORD, stream, 0);
        record.u.event.id = 1 + done % 256;
        workload_record(gpu, &record, calls ? "cudaEventRecord" : NULL);
        const uint32_t other = bench_below(&gpu->random, streams);
        if (gpu->free_ns[other] < record.end) gpu->free_ns[other] = record.end;
        ts_gpu_op wait = workload_op(gpu, TS_EVENT_EVENT_WAIT, other, 0);
        wait.u.event.id = record.u.event.id;
        wait.u.event.record = record.correlation;
        workload_record(gpu, &wait, calls ? "cudaStreamWaitEvent" : NULL);
        done++;
    }
}

static inline void workload_graph(uint32_t streams, uint64_t count, bool calls)
{
    workload_gpu gpu;
    workload_gpu_open(&gpu, streams);
    workload_graph_part(&gpu, streams, count, calls);
    workload_clock(&gpu);
    workload_gpu_close(&gpu);
}

#endif // TS_WORKLOAD_H
