/*
    bench_stack.c - the cost of call stacks, compared with other unwinders
*/
#define TRACESMITH_UNWIND_IMPLEMENTATION
#include "bench/bench.h"

#include "backends/ts_stack.h"

#include <alloca.h>
#include <dlfcn.h>
#include <execinfo.h>

enum { FRAMES = 10, TURN = 2000, LEVELS = 14, LAUNCHES = 10000 };

typedef int unwinder(void **addresses, int room);
static unwinder *libunwind;

static void find_libunwind(void)
{
    void *const lib = dlopen("libunwind.so.8", RTLD_LAZY | RTLD_LOCAL);
    void *const symbol = lib ? dlsym(lib, "unw_backtrace") : NULL;
    memcpy(&libunwind, &symbol, sizeof libunwind);
}

/* ---- Ten frames that were seen before ------------------------------------ */

static void addresses(uint64_t count)
{
    uint64_t found[FRAMES];
    for (uint64_t i = 0; i < count; i++) {
        ts_stack_addresses(found, FRAMES, 0);
        BENCH_BARRIER();
    }
}

static void here(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        ts_stack_here(0, FRAMES);
        BENCH_BARRIER();
    }
}

static void theirs(uint64_t count)
{
    void *found[FRAMES];
    for (uint64_t i = 0; libunwind && i < count; i++) {
        libunwind(found, FRAMES);
        BENCH_BARRIER();
    }
}

static void glibc(uint64_t count)
{
    void *found[FRAMES];
    for (uint64_t i = 0; i < count; i++) {
        backtrace(found, FRAMES);
        BENCH_BARRIER();
    }
}

static __attribute__((noinline)) void down(uint32_t depth, bench_body *bodies,
                                           size_t body_count)
{
    if (depth)
        down(depth - 1, bodies, body_count);
    else
        bench_alternate(bodies, body_count, TURN, bench.quick ? 40 : 200);
    BENCH_BARRIER();
}

// The same in functions compiled with frame pointers.
static __attribute__((noinline)) void
down_pointers(uint32_t depth, bench_body *bodies, size_t body_count)
{
    volatile char *const some = alloca(16 + depth);
    some[0] = 1;
    if (depth)
        down_pointers(depth - 1, bodies, body_count);
    else
        bench_alternate(bodies, body_count, TURN, bench.quick ? 40 : 200);
    BENCH_BARRIER();
}

static void measure_seen(void)
{
    bench_body bodies[] = { { .body = addresses },
                            { .body = here },
                            { .body = glibc },
                            { .body = theirs } };
    down(FRAMES, bodies, libunwind ? 4 : 3);
    bench_body kept[] = { { .body = addresses } };
    down_pointers(FRAMES, kept, 1);
    const bench_row rows[] = {
        { "stack.walk", "stack of 10 frames", bodies[0].ns, "ns",
          libunwind ? bodies[3].ns : 0, "libunwind, cached", BENCH_FIGURE_MAX,
          250 },
        { "stack.walk.pointers", "the same, frame pointers in 8 of the 10",
          kept[0].ns, "ns", 0, NULL, BENCH_FIGURE_MAX, 50 },
        { "stack.here", "the same, kept once: its number", bodies[1].ns, "ns",
          0, NULL, BENCH_FIGURE_MAX, 400 },
        { "stack.glibc", "the same by backtrace() of glibc", bodies[2].ns, "ns",
          0, NULL, BENCH_INFO, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        bench_print(&rows[i]);
}

/* ---- Launches ------------------------------------------------------------ */

static uint32_t stream;

static void launch(void)
{
    const uint64_t now = ts_tick_now();
    const ts_gpu_op op = { .kind = TS_EVENT_KERNEL,
                           .track = stream,
                           .start = now,
                           .end = now + 100,
                           .origin = ts_gpu_origin_here() };
    ts_gpu_op_record(&op);
}

static __attribute__((noinline)) void climb(uint32_t bits, uint32_t level);

static __attribute__((noinline)) void aside(uint32_t bits, uint32_t level)
{
    climb(bits, level);
    BENCH_BARRIER();
}

// Recursion; each bit selects the call site of one level.
static void climb(uint32_t bits, uint32_t level)
{
    if (!level)
        launch();
    else if (bits & 1)
        aside(bits >> 1, level - 1);
    else
        climb(bits >> 1, level - 1);
    BENCH_BARRIER();
}

// Recursion; two bits select one of four call sites.
static void hop(uint32_t bits, uint32_t level)
{
    if (!level) {
        launch();
        return;
    }
    switch (bits & 3) {
#define WAY(k) \
    case k: \
        hop(bits >> 2, level - 1); \
        __asm__ volatile("" : : "i"(k) : "memory"); \
        break;
        WAY(0) WAY(1) WAY(2) WAY(3)
    }
}

typedef void way(uint32_t bits, uint32_t level);

// CPU time of the launches in ms. different: each has another stack.
static double launches_ms(way *go, uint32_t levels, bool different)
{
    const double begin = bench_cpu_ns();
    for (uint32_t i = 0; i < LAUNCHES; i++)
        go(different ? i : 0, levels);
    return (bench_cpu_ns() - begin) / 1e6;
}

static void measure_launches(void)
{
    double off = INFINITY, same = INFINITY;
    for (int i = 0; i < 20; i++) {
        ts_stack_launches(0);
        bench_keep_min(&off, launches_ms(climb, LEVELS, true));
        ts_session_flush();
        ts_stack_launches(FRAMES);
        bench_keep_min(&same, launches_ms(climb, LEVELS, false));
        ts_session_flush();
    }
    // A stack is new only once, so there is a single round of each.
    const double of_10 = launches_ms(hop, LEVELS / 2, true);
    ts_session_flush();
    ts_stack_launches(2 * LEVELS);
    const double deep = launches_ms(climb, LEVELS, true);
    const bench_row rows[] = {
        { "stack.launches", "10,000 launches: their stacks, one of 10 frames",
          same - off, "ms", off, "without stacks", BENCH_FIGURE_MAX, 5 },
        { "stack.launches.ten", "10,000 launches: 10,000 new stacks of 10",
          of_10 - off, "ms", off, "without stacks", BENCH_FIGURE_MAX, 5 },
        { "stack.launches.new",
          "10,000 launches: 10,000 new stacks of 17 to 31 frames", deep - off,
          "ms", off, "without stacks", BENCH_FIGURE_MAX, 5 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        bench_print(&rows[i]);
}

int main(int argc, char **argv)
{
    bench_parse(argc, argv);
    find_libunwind();
    const ts_session_desc desc = { .path = bench_path("stack.sbt"),
                                   .drain = TS_DRAIN_MANUAL };
    bench_need(ts_session_start(&desc), "start");
    const ts_gpu_device_desc device = { .name = "device" };
    const ts_gpu_stream_desc on = { .context = ts_gpu_device_define(&device) };
    stream = ts_gpu_stream_define(&on);
    measure_seen();
    measure_launches();
    bench_need(ts_session_stop(), "stop");
    return 0;
}
