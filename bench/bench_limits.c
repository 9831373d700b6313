/*
    bench_limits.c - the cost of the machine's own operations

    The design of section 6 of tracesmith.h is based on these rows; they have no
    budget. See "Raw limits" in bench/README.md.
*/
#include "bench/bench.h"

static volatile uint64_t bench_sink;

static void empty_loop(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        BENCH_BARRIER();
}

#if defined(__x86_64__)
static void rdtsc(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        bench_sink = __builtin_ia32_rdtsc();
        BENCH_BARRIER();
    }
}

static void rdtscp(uint64_t count)
{
    unsigned cpu = 0;
    for (uint64_t i = 0; i < count; i++) {
        bench_sink = __builtin_ia32_rdtscp(&cpu);
        BENCH_BARRIER();
    }
}

static void lfence_rdtsc(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        __builtin_ia32_lfence();
        bench_sink = __builtin_ia32_rdtsc();
        BENCH_BARRIER();
    }
}
#elif defined(__aarch64__)
static void cntvct(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t tick;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(tick)::"memory");
        bench_sink = tick;
    }
}
#endif

static void gettime(clockid_t clock, uint64_t count)
{
    struct timespec t;
    for (uint64_t i = 0; i < count; i++) {
        clock_gettime(clock, &t);
        bench_sink = (uint64_t)t.tv_nsec;
    }
}

static void monotonic(uint64_t count)
{
    gettime(CLOCK_MONOTONIC, count);
}

static void monotonic_raw(uint64_t count)
{
    gettime(CLOCK_MONOTONIC_RAW, count);
}

static void monotonic_coarse(uint64_t count)
{
    gettime(CLOCK_MONOTONIC_COARSE, count);
}

static void thread_cpu_time(uint64_t count)
{
    gettime(CLOCK_THREAD_CPUTIME_ID, count);
}

static uint64_t bench_word;

#if defined(__x86_64__)
static void xadd(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t one = 1;
        __asm__ volatile("xaddq %0, %1"
                         : "+r"(one), "+m"(bench_word)::"cc", "memory");
    }
}
#endif

static void locked_add(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        __atomic_fetch_add(&bench_word, 1, __ATOMIC_SEQ_CST);
}

typedef struct limit {
    const char *key, *what;
    void (*body)(uint64_t count);
} limit;

static const limit limits[] = {
    { "limit.loop", "empty loop", empty_loop },
#if defined(__x86_64__)
    { "limit.rdtsc", "rdtsc", rdtsc },
    { "limit.rdtscp", "rdtscp", rdtscp },
    { "limit.lfence_rdtsc", "lfence; rdtsc", lfence_rdtsc },
#elif defined(__aarch64__)
    { "limit.cntvct", "cntvct_el0", cntvct },
#endif
    { "limit.monotonic", "clock_gettime MONOTONIC", monotonic },
    { "limit.monotonic_raw", "clock_gettime MONOTONIC_RAW", monotonic_raw },
    { "limit.monotonic_coarse", "clock_gettime MONOTONIC_COARSE",
      monotonic_coarse },
    { "limit.thread_cpu_time", "clock_gettime THREAD_CPUTIME",
      thread_cpu_time },
#if defined(__x86_64__)
    { "limit.xadd", "xadd without lock, one address", xadd },
#endif
    { "limit.locked_add", "lock xadd, one address", locked_add },
};
enum { LIMITS = sizeof limits / sizeof limits[0] };

int main(int argc, char **argv)
{
    bench_parse(argc, argv);
    bench_body bodies[LIMITS] = { 0 };
    for (size_t i = 0; i < LIMITS; i++)
        bodies[i].body = limits[i].body;
    bench_alternate(bodies, LIMITS, 2000, bench.quick ? 100 : 400);
    for (size_t i = 0; i < LIMITS; i++) {
        const bench_row row = { .key = limits[i].key,
                                .what = limits[i].what,
                                .figure = bodies[i].ns,
                                .unit = "ns" };
        bench_print(&row);
    }
    return 0;
}
