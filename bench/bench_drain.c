/*
    bench_drain.c - whether the drain keeps up with the producers
*/
#include "bench/bench.h"

enum { PRODUCERS_MAX = 16 };

typedef struct drain_run {
    ts_session_desc desc;
    int producers;
    uint64_t count; // zones of each producer
    // Results.
    double producer_ns; // thread CPU for a zone, all included
    double drain_ns;    // CPU of the rest of the process for a zone
    double stall;       // share of the producers' wall time spent helping
    uint64_t missing;   // zones that are not in the file
    uint64_t counted;   // losses in the trace's loss ledger
    double bytes;       // file bytes for a zone
} drain_run;

static void *produce(void *user)
{
    drain_run *const run = user;
    const double begin = bench_cpu_ns();
    for (uint64_t i = 0; i < run->count; i++) {
        TS_ZONE("zone");
        BENCH_BARRIER();
    }
    double *const result = malloc(sizeof *result);
    if (result) *result = bench_cpu_ns() - begin;
    return result;
}

static double produce_all(drain_run *run)
{
    pthread_t threads[PRODUCERS_MAX];
    double total = 0;
    for (int i = 0; i < run->producers; i++)
        if (pthread_create(&threads[i], NULL, produce, run)) exit(1);
    for (int i = 0; i < run->producers; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        if (!result) exit(1);
        total += *(double *)result;
        free(result);
    }
    return total;
}

static void check_file(drain_run *run, uint64_t expected)
{
    ts_reader *const reader = bench_open(run->desc.path);
    const ts_info *const info = ts_reader_info(reader);
    run->missing = expected - info->counts[TS_EVENT_ZONE];
    run->counted = info->lost;
    run->bytes = (double)info->file_bytes / (double)expected;
    ts_reader_close(reader);
    remove(run->desc.path);
}

static void measure(drain_run *run)
{
    run->desc.path = bench_path("drain.sbt");
    bench_need(ts_session_start(&run->desc), "start");
    const double process = bench_process_ns();
    const double begin = bench_wall_ns();
    const double producers = produce_all(run);
    const double wall = bench_wall_ns() - begin;
    bench_need(ts_session_stop(), "stop");
    const double rest = bench_process_ns() - process - producers;
    const uint64_t zones = run->count * (uint64_t)run->producers;
    run->producer_ns = producers / (double)zones;
    run->drain_ns = rest / (double)zones;
    ts_stats stats;
    bench_need(ts_session_stats(&stats), "stats");
    run->stall = (double)stats.stall_ns / (wall * run->producers);
    check_file(run, zones);
    if (run->missing != run->counted)
        fprintf(stderr,
                "bench_drain: %" PRIu64 " zones are missing, the "
                "trace says %" PRIu64 "\n",
                run->missing, run->counted);
}

static void report_lost(const char *key, const char *what, const drain_run *run)
{
    const bench_row row = { .key = key,
                            .what = what,
                            .figure = (double)run->missing,
                            .unit = "lost",
                            .rule = BENCH_FIGURE_MAX };
    bench_print(&row);
}

static void report_ns(const char *key, const char *what, double ns,
                      double limit, const char *yardstick)
{
    const bench_row row = { .key = key,
                            .what = what,
                            .figure = ns,
                            .unit = "ns",
                            .limit = limit,
                            .yardstick = yardstick,
                            .rule = limit > 0 ? BENCH_RATIO_MAX : BENCH_INFO,
                            .budget = limit > 0 ? 1 : 0 };
    bench_print(&row);
}

// With `drop` instead of `help` losses show whether the drain thread alone
// keeps up. The ring has room for 20 ms of zones, as other programs may occupy
// the second processor for that long.
static void measure_keeping_up(uint64_t count)
{
    drain_run run = { .desc = { .policy = TS_POLICY_DROP,
                                .ring_bytes = 16 << 20 },
                      .producers = 1,
                      .count = count };
    measure(&run);
    report_lost("drain.drop", "1 saturating producer, policy drop", &run);
    report_ns("drain.cpu", "drain and write, CPU for a zone", run.drain_ns,
              run.producer_ns, "recording it");
    const bench_row million = { .key = "write.million",
                                .what = "record and write 1 M zones, CPU",
                                .figure =
                                    (run.producer_ns + run.drain_ns) / 1e3,
                                .unit = "s",
                                .limit = 0.32,
                                .yardstick = "the predecessor, elsewhere" };
    bench_print(&million);
}

// Returns the CPU time of a producer for a zone; `one`: that of a single one.
static double measure_helping(int producers, uint64_t count, const char *key,
                              const char *what, double one)
{
    drain_run run = { .producers = producers, .count = count };
    measure(&run);
    char name[64], text[96];
    report_lost(key, what, &run);
    snprintf(name, sizeof name, "%s.ns", key);
    const bench_row ns = { .key = name,
                           .what = "the same, CPU of its thread for a zone",
                           .figure = run.producer_ns,
                           .unit = "ns",
                           .limit = one,
                           .yardstick = "a single producer",
                           .rule = one > 0 ? BENCH_RATIO_MAX : BENCH_INFO,
                           .budget = 1.5 };
    bench_print(&ns);
    snprintf(name, sizeof name, "%s.stall", key);
    snprintf(text, sizeof text, "the same, time spent helping");
    const bench_row row = {
        .key = name, .what = text, .figure = run.stall * 100, .unit = "%"
    };
    bench_print(&row);
    return run.producer_ns;
}

int main(int argc, char **argv)
{
    bench_parse(argc, argv);
    const uint64_t count = bench.quick ? 5000000 : 40000000;
    measure_keeping_up(count);
    const double one = measure_helping(1, count, "help.1",
                                       "1 saturating producer, defaults", 0);
    measure_helping(4, count / 8, "help.4", "4 saturating producers", one);
    measure_helping(16, count / 32, "help.16", "16 saturating producers", one);
    return 0;
}
