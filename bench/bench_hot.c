/*
    bench_hot.c - the cost of an instrumented line

    Rings are drained between rounds (TS_DRAIN_MANUAL), so a round contains only
    the hot path; bench_drain.c measures the rest.

    bench_hot --count N DIR runs each loop N times and ends, for bench/counts.sh
    to count their instructions under valgrind: those of functions line_NAME.
*/
#include "bench/bench.h"
#include "bench/line/line.h"

enum { TURN = 8000 }; // iterations; 128 KiB of records

/* ==== 1. Yardsticks ====================================================== */

/*
    The lower limit of any recorder: read the tick, store 16 bytes into a warm
    ring of the default size, publish the head to the consumer. Without a
    switch, a check for room or safety against signals.
*/
static __thread line_ring yard;

static void yard_open(void)
{
    const size_t count = (1 << 20) / sizeof *yard.slots;
    yard.mask = count - 1;
    yard.slots = aligned_alloc(64, count * sizeof *yard.slots);
    if (!yard.slots) exit(1);
    memset(yard.slots, 1, count * sizeof *yard.slots);
}

static inline void yard_put(uint64_t a, uint64_t b)
{
    const uint64_t head = yard.head;
    yard.slots[head & yard.mask] = (line_slot){ a, b };
    // release: pairs with the acquire of a real consumer
    __atomic_store_n(&yard.head, head + 1, __ATOMIC_RELEASE);
}

static void line_yard_zone(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t start = line_tick();
        BENCH_BARRIER();
        yard_put(start, (line_tick() - start) << 32 | 65);
        BENCH_BARRIER();
    }
}

static void line_yard_mark(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        yard_put(line_tick(), 65);
        BENCH_BARRIER();
    }
}

static volatile uint32_t yard_gate;

static void line_yard_off(uint64_t count)
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

static void line_zone(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        TS_ZONE("zone");
        BENCH_BARRIER();
    }
}

// Nothing is recorded when this runs.
static void line_off(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        TS_ZONE("off");
        BENCH_BARRIER();
    }
}

// Explicit begin and end: the cost of a zone inside others.
static void line_zone_nested(uint64_t count)
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

static void line_mark(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        TS_MARK("mark");
        BENCH_BARRIER();
    }
}

static void line_counter(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        TS_COUNTER("counter", (int)i);
        BENCH_BARRIER();
    }
}

static char block[64];

static void line_alloc(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        TS_ALLOC(&block[i % 64], 4096);
        BENCH_BARRIER();
    }
}

static void line_free(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        TS_FREE(&block[i % 64]);
        BENCH_BARRIER();
    }
}

static void line_counter_double(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        TS_COUNTER("counter of doubles", 0.5 * (double)i);
        BENCH_BARRIER();
    }
}

static void line_frame(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        TS_FRAME("frame");
        BENCH_BARRIER();
    }
}

static void line_flow(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        TS_FLOW_STEP(i);
        BENCH_BARRIER();
    }
}

static void line_message(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        TS_MESSAGE("sixteen letters.");
        BENCH_BARRIER();
    }
}

static void line_zone_value(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        TS_ZONE("zone with a value");
        TS_ZONE_VALUE("value", (int)i);
        BENCH_BARRIER();
    }
}

static void line_zone_name(uint64_t count)
{
    static const char *const names[] = { "made", "at", "run", "time" };
    for (uint64_t i = 0; i < count; i++) {
        TS_ZONE_NAME(names[i % 4]);
        BENCH_BARRIER();
    }
}

static void line_gpu_op(uint64_t count)
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
                                   // no ring is ever full
                                   .policy = counting ? TS_POLICY_OVERWRITE
                                                      : TS_POLICY_HELP,
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

static void report_ns(const char *key, const char *what, double ns, double most)
{
    const bench_row row = { .key = key,
                            .what = what,
                            .figure = ns,
                            .unit = "ns",
                            .rule = BENCH_FIGURE_MAX,
                            .budget = most };
    bench_print(&row);
}

static const char two_ticks[] = "two ticks + 16 B store";
static const char one_tick[] = "one tick + 16 B store";

static void measure_single(int rounds)
{
    bench_body bodies[] = {
        { line_yard_zone, NULL, 0 },    { line_zone, flush, 0 },
        { line_zone_nested, flush, 0 }, { line_yard_mark, NULL, 0 },
        { line_mark, flush, 0 },        { line_counter, flush, 0 },
        { line_alloc, flush, 0 },       { line_free, flush, 0 }
    };
    start();
    bench_alternate(bodies, 8, TURN, rounds);
    stop();
    const double two = bodies[0].ns, one = bodies[3].ns;
    report("zone", "zone", bodies[1].ns, two, two_ticks, 1.08);
    report("zone.predecessor", "the same", bodies[1].ns, 84,
           "the predecessor, elsewhere", 0);
    report("zone.nested", "zone, three deep", bodies[2].ns, two, two_ticks,
           1.08);
    report("mark", "mark", bodies[4].ns, one, one_tick, 1.1);
    report("counter", "counter", bodies[5].ns, one, one_tick, 1.1);
    report("alloc", "alloc", bodies[6].ns, one, one_tick, 1.1);
    report("free", "free", bodies[7].ns, one, one_tick, 1.1);
}

static void measure_others(int rounds)
{
    bench_body bodies[] = {
        { line_yard_mark, NULL, 0 },  { line_counter_double, flush, 0 },
        { line_frame, flush, 0 },     { line_flow, flush, 0 },
        { line_message, flush, 0 },   { line_zone_value, flush, 0 },
        { line_zone_name, flush, 0 }, { yard_gpu, NULL, 0 },
        { line_gpu_op, flush, 0 },
    };
    start();
    gpu_prepare();
    bench_alternate(bodies, 9, TURN / 8, rounds);
    stop();
    const double one = bodies[0].ns;
    report("counter.double", "counter, a double", bodies[1].ns, one, one_tick,
           0);
    report("frame", "frame", bodies[2].ns, one, one_tick, 1.1);
    report("flow", "flow", bodies[3].ns, one, one_tick, 1.1);
    report_ns("message", "message, 16 bytes", bodies[4].ns, 25);
    report_ns("zone.value", "zone with a value", bodies[5].ns, 30);
    report_ns("zone.name", "zone with a name of run time", bodies[6].ns, 50);
    const bench_row row = { .key = "gpu_op",
                            .what = "ts_gpu_op_record, a kernel",
                            .figure = bodies[8].ns,
                            .unit = "ns",
                            .limit = bodies[7].ns,
                            .yardstick = "copy of the op to a ring",
                            .rule = BENCH_FIGURE_MAX,
                            .budget = 25 };
    bench_print(&row);
}

static void measure_off(int rounds)
{
    bench_body bodies[] = { { line_yard_off, NULL, 0 }, { line_off, NULL, 0 } };
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
    bench_body bodies[] = { { line_yard_zone, NULL, 0 },
                            { line_zone, NULL, 0 } };
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
           two_ticks, 1.08);
}

/* ==== 5. Counting instructions =========================================== */

static int count_all(uint64_t count)
{
    static void (*const loops[])(uint64_t count) = {
        line_yard_zone,  line_yard_mark, line_zone,  line_mark, line_counter,
        line_alloc,      line_free,      line_frame, line_flow, line_message,
        line_zone_value, line_zone_name, line_gpu_op
    };
    line_yard_off(count);
    line_off(count);
    counting = true;
    start();
    gpu_prepare();
    for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++)
        loops[i](count);
    _exit(0); // writing the trace must not be counted
}

int main(int argc, char **argv)
{
    yard_open();
    if (argc == 4 && !strcmp(argv[1], "--count")) {
        bench.dir = argv[3];
        return count_all(strtoull(argv[2], NULL, 10));
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
