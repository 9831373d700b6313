/*
    bench_hot.c - the cost of an instrumented line

    Rings are drained between rounds (TS_DRAIN_MANUAL), so a round contains only
    the hot path; bench_drain.c measures the rest.

    bench_hot --count NAME N DIR runs one loop of N iterations and ends, for
    bench/run.sh to count its instructions under valgrind.
*/
#include "bench/bench.h"

enum { TURN = 8000 }; // iterations; 128 KiB of records

/* ==== 1. Yardsticks ====================================================== */

/*
    The lower limit of any recorder: read the tick, store 16 bytes into a warm
    ring of the default size, publish the head to the consumer. Without a
    switch, a check for room or safety against signals.
*/
typedef struct yard_slot {
    uint64_t a, b;
} yard_slot;

typedef struct yard_ring {
    uint64_t head, mask;
    yard_slot *slots;
} yard_ring;

static __thread yard_ring yard;

static void yard_open(void)
{
    const size_t count = (1 << 20) / sizeof *yard.slots;
    yard.mask = count - 1;
    yard.slots = aligned_alloc(64, count * sizeof *yard.slots);
    if (!yard.slots) exit(1);
    memset(yard.slots, 1, count * sizeof *yard.slots);
}

static inline uint64_t yard_tick(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t tick;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(tick));
    return tick;
#else
    return ts_tick_now();
#endif
}

static inline void yard_put(uint64_t a, uint64_t b)
{
    const uint64_t head = yard.head;
    yard.slots[head & yard.mask] = (yard_slot){ a, b };
    // release: pairs with the acquire of a real consumer
    __atomic_store_n(&yard.head, head + 1, __ATOMIC_RELEASE);
}

static void yard_zone(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t start = yard_tick();
        BENCH_BARRIER();
        yard_put(start, (yard_tick() - start) << 32 | 65);
        BENCH_BARRIER();
    }
}

static void yard_mark(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        yard_put(yard_tick(), 65);
        BENCH_BARRIER();
    }
}

static volatile uint32_t yard_gate;

static void yard_off(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        if (__builtin_expect(yard_gate != 0, 0)) abort();
        BENCH_BARRIER();
    }
}

static ts_gpu_op op;

static void yard_gpu(uint64_t count)
{
    const size_t slots = (sizeof op + 15) / 16;
    for (uint64_t i = 0; i < count; i++) {
        if ((yard.head & yard.mask) + slots > yard.mask) yard.head = 0;
        memcpy(&yard.slots[yard.head & yard.mask], &op, sizeof op);
        __atomic_store_n(&yard.head, yard.head + slots, __ATOMIC_RELEASE);
        BENCH_BARRIER();
    }
}

/* ==== 2. Subjects ======================================================== */

static void zone(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        TS_ZONE("zone");
        BENCH_BARRIER();
    }
}

// Explicit begin and end: the cost of a zone inside others.
static void zone_nested(uint64_t count)
{
    for (uint64_t i = 0; i < count; i += 4) {
        TS_ZONE("a");
        {
            TS_ZONE("b");
            {
                TS_ZONE("c");
                BENCH_BARRIER();
            }
            {
                TS_ZONE("d");
                BENCH_BARRIER();
            }
        }
    }
}

static void mark(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        TS_MARK("mark");
        BENCH_BARRIER();
    }
}

static void counter(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        TS_COUNTER("counter", (int)i);
        BENCH_BARRIER();
    }
}

static char block[64];

static void alloc(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        TS_ALLOC(&block[i % 64], 4096);
        BENCH_BARRIER();
    }
}

static void release(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        TS_FREE(&block[i % 64]);
        BENCH_BARRIER();
    }
}

static void counter_double(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        TS_COUNTER("counter of doubles", 0.5 * (double)i);
        BENCH_BARRIER();
    }
}

static void frame(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        TS_FRAME("frame");
        BENCH_BARRIER();
    }
}

static void flow(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        TS_FLOW_STEP(i);
        BENCH_BARRIER();
    }
}

static void message(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        TS_MESSAGE("sixteen letters.");
        BENCH_BARRIER();
    }
}

static void zone_value(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        TS_ZONE("zone with a value");
        TS_ZONE_VALUE("value", (int)i);
        BENCH_BARRIER();
    }
}

static void zone_name(uint64_t count)
{
    static const char *const names[] = { "made", "at", "run", "time" };
    for (uint64_t i = 0; i < count; i++) {
        TS_ZONE_NAME(names[i % 4]);
        BENCH_BARRIER();
    }
}

static void gpu_op(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        op.correlation++;
        op.queued += 2600;
        op.submitted = op.queued + 900;
        op.start = op.queued + 2100 + (i & 255);
        op.end = op.start + 5000 + (i & 1023);
        ts_gpu_op_record(&op);
        BENCH_BARRIER();
    }
}

static void gpu_prepare(void)
{
    const ts_gpu_device_desc device = { .name = "bench" };
    const ts_gpu_stream_desc stream = { .context =
                                            ts_gpu_device_define(&device),
                                        .number = 1 };
    const ts_gpu_launch_desc launch = { .name = "kernel",
                                        .grid = { 128, 1, 1 },
                                        .block = { 256, 1, 1 } };
    op.kind = TS_EVENT_KERNEL;
    op.track = ts_gpu_stream_define(&stream);
    op.queued = ts_tick_now();
    op.u.kernel.launch = ts_gpu_launch_define(&launch);
    op.origin = ts_gpu_origin_here();
}

/* ==== 3. Running ========================================================= */

static bool counting = false; // true: instructions are counted, not time

static void start(void)
{
    // The sidecar lies there, too: a counted run leaves it behind.
    const ts_session_desc desc = { .path = bench_path("hot.sbt"),
                                   .drain = TS_DRAIN_MANUAL,
                                   .sidecar_dir = counting ? bench.dir : NULL };
    bench_need(ts_session_start(&desc), "start");
}

static void stop(void)
{
    bench_need(ts_session_stop(), "stop");
    ts_stats stats;
    bench_need(ts_session_stats(&stats), "stats");
    if (stats.lost)
        fprintf(stderr, "bench_hot: %" PRIu64 " records were lost\n",
                stats.lost);
}

static void flush(void)
{
    ts_session_flush();
}

static void report(const char *key, const char *what, double ns, double limit,
                   const char *yardstick, double ratio)
{
    const bench_row row = { .key = key,
                            .what = what,
                            .figure = ns,
                            .unit = "ns",
                            .limit = limit,
                            .yardstick = yardstick,
                            .rule = ratio > 0 ? BENCH_RATIO_MAX : BENCH_INFO,
                            .budget = ratio };
    bench_print(&row);
}

static const char two_ticks[] = "two ticks + 16 B store";
static const char one_tick[] = "one tick + 16 B store";

static void measure_single(int rounds)
{
    bench_body bodies[] = { { yard_zone, NULL, 0 },    { zone, flush, 0 },
                            { zone_nested, flush, 0 }, { yard_mark, NULL, 0 },
                            { mark, flush, 0 },        { counter, flush, 0 },
                            { alloc, flush, 0 },       { release, flush, 0 } };
    start();
    bench_alternate(bodies, 8, TURN, rounds);
    stop();
    const double two = bodies[0].ns, one = bodies[3].ns;
    report("zone", "zone", bodies[1].ns, two, two_ticks, 1.15);
    report("zone.predecessor", "the same", bodies[1].ns, 84,
           "the predecessor, elsewhere", 0);
    report("zone.nested", "zone, three deep", bodies[2].ns, two, two_ticks,
           1.15);
    report("mark", "mark", bodies[4].ns, one, one_tick, 1.1);
    report("counter", "counter", bodies[5].ns, one, one_tick, 1.1);
    report("alloc", "alloc", bodies[6].ns, one, one_tick, 1.1);
    report("free", "free", bodies[7].ns, one, one_tick, 1.1);
}

static void measure_others(int rounds)
{
    bench_body bodies[] = {
        { counter_double, flush, 0 }, { frame, flush, 0 },
        { flow, flush, 0 },           { message, flush, 0 },
        { zone_value, flush, 0 },     { zone_name, flush, 0 },
        { yard_gpu, NULL, 0 },        { gpu_op, flush, 0 },
    };
    start();
    gpu_prepare();
    bench_alternate(bodies, 8, TURN / 8, rounds);
    stop();
    report("counter.double", "counter, a double", bodies[0].ns, 0, NULL, 0);
    report("frame", "frame", bodies[1].ns, 0, NULL, 0);
    report("flow", "flow", bodies[2].ns, 0, NULL, 0);
    report("message", "message, 16 bytes", bodies[3].ns, 0, NULL, 0);
    report("zone.value", "zone with a value", bodies[4].ns, 0, NULL, 0);
    report("zone.name", "zone with a name of run time", bodies[5].ns, 0, NULL,
           0);
    const bench_row row = { .key = "gpu_op",
                            .what = "ts_gpu_op_record, a kernel",
                            .figure = bodies[7].ns,
                            .unit = "ns",
                            .limit = bodies[6].ns,
                            .yardstick = "copy of the op to a ring",
                            .rule = BENCH_FIGURE_MAX,
                            .budget = 25 };
    bench_print(&row);
}

static void measure_off(int rounds)
{
    bench_body bodies[] = { { yard_off, NULL, 0 }, { zone, NULL, 0 } };
    bench_alternate(bodies, 2, TURN * 10, rounds);
    const bench_row row = { .key = "zone.off",
                            .what = "zone, compiled in, not recording",
                            .figure = bodies[1].ns,
                            .unit = "ns",
                            .limit = bodies[0].ns,
                            .yardstick = "loop + load + branch",
                            .rule = BENCH_FIGURE_MAX,
                            .budget = 0.7 };
    bench_print(&row);
}

/* ==== 4. Two threads ===================================================== */

enum { THREADS = 2 };
static pthread_barrier_t barrier;
static double least[THREADS][2]; // yardstick, zone
static int pair_rounds;

static void *pair_thread(void *user)
{
    double *const ns = user;
    bench_body bodies[] = { { yard_zone, NULL, 0 }, { zone, NULL, 0 } };
    yard_open();
    ns[0] = ns[1] = INFINITY;
    for (int round = 0; round < pair_rounds; round++) {
        for (int i = 0; i < 2; i++) {
            pthread_barrier_wait(&barrier);
            const double begin = bench_cpu_ns();
            bodies[i].body(TURN);
            const double cpu = bench_cpu_ns() - begin;
            if (round > pair_rounds / 8) bench_keep_min(&ns[i], cpu / TURN);
        }
        if (ns == least[0]) flush();
    }
    free(yard.slots);
    return NULL;
}

// Both threads record concurrently; the slower one counts.
static void measure_pair(int rounds)
{
    pthread_t threads[THREADS];
    pair_rounds = rounds;
    start();
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, pair_thread, least[i])) exit(1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
    stop();
    report("zone.2threads", "zone, two threads at once",
           fmax(least[0][1], least[1][1]), fmax(least[0][0], least[1][0]),
           two_ticks, 1.15);
}

/* ==== 5. Counting instructions =========================================== */

static int count_one(const char *name, uint64_t count)
{
    static const struct {
        const char *name;
        void (*body)(uint64_t count);
        bool off;
    } loops[] = { { "yard_zone", yard_zone, false }, { "zone", zone, false },
                  { "yard_mark", yard_mark, false }, { "mark", mark, false },
                  { "counter", counter, false },     { "alloc", alloc, false },
                  { "free", release, false },        { "off", zone, true },
                  { "yard_off", yard_off, true },    { "gpu", gpu_op, false } };
    for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++) {
        if (strcmp(loops[i].name, name)) continue;
        counting = true;
        if (!loops[i].off) start();
        gpu_prepare();
        loops[i].body(count);
        _exit(0); // writing the trace must not be counted
    }
    fprintf(stderr, "bench_hot: %s: no such loop\n", name);
    return 2;
}

int main(int argc, char **argv)
{
    yard_open();
    if (argc == 5 && !strcmp(argv[1], "--count")) {
        bench.dir = argv[4];
        return count_one(argv[2], strtoull(argv[3], NULL, 10));
    }
    bench_parse(argc, argv);
    const int rounds = bench.quick ? 100 : 400;
    measure_single(rounds);
    measure_pair(rounds);
    measure_off(rounds / 2);
    measure_others(rounds);
    free(yard.slots);
    return 0;
}
