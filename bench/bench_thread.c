/*
    bench_thread.c - short-lived threads; start and stop of a session
*/
#include "bench/bench.h"

enum { LIVE = 100, SHORT = 1000 };

static void *bare(void *user)
{
    return user;
}

static void *one_zone(void *user)
{
    TS_ZONE("short thread");
    return user;
}

static double run_one(void *(*body)(void *))
{
    pthread_t thread;
    const double begin = bench_wall_ns();
    if (pthread_create(&thread, NULL, body, NULL)) exit(1);
    pthread_join(thread, NULL);
    return bench_wall_ns() - begin;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// The median: the minimum for creating a thread is not meaningful.
static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return values[count / 2];
}

static ts_stats now(void)
{
    ts_stats stats;
    bench_need(ts_session_stats(&stats), "stats");
    return stats;
}

static double resident_bytes(void)
{
    FILE *const file = fopen("/proc/self/statm", "r");
    long total = 0, resident = 0;
    if (!file) return NAN;
    if (fscanf(file, "%ld %ld", &total, &resident) != 2) resident = 0;
    fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

static void start(void)
{
    const ts_session_desc desc = { .path = bench_path("thread.sbt") };
    bench_need(ts_session_start(&desc), "start");
}

// Measures also the extra time of a thread with one zone over one without.
static void measure_short(int rounds)
{
    double *const none = malloc((size_t)rounds * sizeof *none);
    double *const zone = malloc((size_t)rounds * sizeof *zone);
    if (!none || !zone) exit(1);
    start();
    run_one(one_zone);
    for (int i = 0; i < rounds; i++) {
        none[i] = run_one(bare);
        zone[i] = run_one(one_zone);
    }
    bench_need(ts_session_stop(), "stop");
    const double limit = median(none, (size_t)rounds);
    const double figure = median(zone, (size_t)rounds);
    const bench_row row = { .key = "thread",
                            .what = "thread: one zone, beyond a bare thread",
                            .figure = (figure - limit) / 1e3,
                            .unit = "us",
                            .limit = limit / 1e3,
                            .yardstick = "bare thread",
                            .rule = BENCH_FIGURE_MAX,
                            .budget = 15 };
    bench_print(&row);
    free(none);
    free(zone);
}

static void measure_reuse(void)
{
    start();
    for (int i = 0; i < 10; i++)
        run_one(one_zone);
    const ts_stats before = now();
    const double resident = resident_bytes();
    for (int i = 0; i < SHORT; i++)
        run_one(one_zone);
    const double grown = resident_bytes() - resident;
    const ts_stats after = now();
    bench_need(ts_session_stop(), "stop");
    const double rings =
        (double)after.memory_bytes - (double)before.memory_bytes;
    const bench_row added = { .key = "thread.reuse",
                              .what = "1,000 short threads: rings added",
                              .figure = rings / 1024,
                              .unit = "KiB",
                              .limit = (double)before.memory_bytes / 1024,
                              .yardstick = "rings after 10 threads",
                              .rule = BENCH_FIGURE_MAX,
                              .budget = 1024 };
    const bench_row used = { .key = "thread.resident",
                             .what = "1,000 short threads: memory added",
                             .figure = grown / 1024,
                             .unit = "KiB",
                             .rule = BENCH_FIGURE_MAX,
                             .budget = 1024 };
    bench_print(&added);
    bench_print(&used);
}

static pthread_barrier_t all_recorded, measured;

static void *wait_with_ring(void *user)
{
    {
        TS_ZONE("short thread");
    }
    pthread_barrier_wait(&all_recorded);
    pthread_barrier_wait(&measured);
    return user;
}

// Measures concurrent threads with one zone each.
static void measure_live(void)
{
    pthread_t threads[LIVE];
    pthread_barrier_init(&all_recorded, NULL, LIVE + 1);
    pthread_barrier_init(&measured, NULL, LIVE + 1);
    start();
    const ts_stats before = now();
    for (int i = 0; i < LIVE; i++)
        if (pthread_create(&threads[i], NULL, wait_with_ring, NULL)) exit(1);
    pthread_barrier_wait(&all_recorded);
    const ts_stats after = now();
    pthread_barrier_wait(&measured);
    for (int i = 0; i < LIVE; i++)
        pthread_join(threads[i], NULL);
    bench_need(ts_session_stop(), "stop");
    const double bytes =
        (double)after.memory_bytes - (double)before.memory_bytes;
    const bench_row row = { .key = "thread.memory",
                            .what = "ring of a thread with one zone",
                            .figure = bytes / LIVE / 1024,
                            .unit = "KiB",
                            .rule = BENCH_FIGURE_MAX,
                            .budget = 64 };
    bench_print(&row);
}

static void measure_start(int rounds)
{
    const ts_session_desc desc = { .path = bench_path("start.sbt") };
    double *const begin = malloc((size_t)rounds * sizeof *begin);
    double *const end = malloc((size_t)rounds * sizeof *end);
    if (!begin || !end) exit(1);
    for (int i = 0; i < rounds; i++) {
        const double t0 = bench_wall_ns();
        bench_need(ts_session_start(&desc), "start");
        const double t1 = bench_wall_ns();
        bench_need(ts_session_stop(), "stop");
        begin[i] = t1 - t0;
        end[i] = bench_wall_ns() - t1;
    }
    const bench_row starts = { .key = "session.start",
                               .what = "ts_session_start",
                               .figure = median(begin, (size_t)rounds) / 1e6,
                               .unit = "ms",
                               .rule = BENCH_FIGURE_MAX,
                               .budget = 2 };
    const bench_row stops = { .key = "session.stop",
                              .what = "ts_session_stop, nothing recorded",
                              .figure = median(end, (size_t)rounds) / 1e6,
                              .unit = "ms" };
    bench_print(&starts);
    bench_print(&stops);
    free(begin);
    free(end);
}

int main(int argc, char **argv)
{
    bench_parse(argc, argv);
    // First, so that it includes the first start in the process.
    measure_start(bench.quick ? 9 : 31);
    measure_short(bench.quick ? 300 : 1000);
    measure_live();
    measure_reuse();
    return 0;
}
