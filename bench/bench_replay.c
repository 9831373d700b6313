/*
    bench_replay.c - the speed of the replay, and how its time grows

    Makes its traces with gen_trace. Times are CPU time of one thread: a run
    after loading, with gaps, loop, figures and digest; a what-if is a brief run
    that scales all operations. Growth is the time for each operation relative
    to the smallest trace.
*/
#include "bench/bench.h" // first: it asks for GNU interfaces

static const char *make_trace(uint32_t streams, uint64_t count)
{
    char command[1024];
    const char *const path = bench_path("replay.sbt");
    snprintf(command, sizeof command,
             "'%s/bench/gen_trace' graph%" PRIu32 " %" PRIu64 " '%s'",
             bench.bin, streams, count, path);
    if (system(command)) bench_need(TS_ERR_IO, command);
    return path;
}

// Nanoseconds for each operation of a run, the least of `rounds`.
static double described_ns(const char *path, const ts_replay_run_desc *desc,
                           int rounds)
{
    ts_reader *const reader = bench_open(path);
    ts_replay *replay;
    bench_need(ts_replay_open(&replay, reader, NULL), "replay");
    // The first run of a model calibrates it.
    bench_need(ts_replay_run(replay, desc), "run");
    double least = INFINITY;
    for (int i = 0; i < rounds; i++) {
        const double begin = bench_cpu_ns();
        bench_need(ts_replay_run(replay, desc), "run");
        bench_keep_min(&least, bench_cpu_ns() - begin);
    }
    const double operations = (double)ts_replay_result(replay)->operations;
    ts_replay_close(replay);
    ts_reader_close(reader);
    return least / operations;
}

static double run_ns(uint32_t streams, uint64_t count, uint32_t mode,
                     int rounds)
{
    const ts_replay_run_desc desc = { .mode = mode };
    return described_ns(make_trace(streams, count), &desc, rounds);
}

static void what_if(const char *key, const char *what, uint32_t streams)
{
    const ts_change faster = { .type = TS_CHANGE_SCALE, .factor = { 1, 2 } };
    const ts_replay_run_desc desc = { .mode = TS_REPLAY_MODEL,
                                      .changes = &faster,
                                      .change_count = 1,
                                      .brief = true };
    const uint64_t count = bench.quick ? 200000 : 1000000;
    const double ns = described_ns(make_trace(streams, count), &desc, 9);
    const bench_row row = { .key = key,
                            .what = what,
                            .figure = ns / 1e3,
                            .unit = "s",
                            .yardstick = "-",
                            .rule = BENCH_FIGURE_MAX,
                            .budget = 0.1 };
    bench_print(&row);
}

static void core(const char *key, const char *what, uint32_t streams,
                 uint32_t mode, double budget)
{
    const double ns = run_ns(streams, bench.quick ? 200000 : 1000000, mode, 9);
    const bench_row row = { .key = key,
                            .what = what,
                            .figure = 1e3 / ns,
                            .unit = "M ops/s",
                            .yardstick = "-",
                            .rule = budget > 0 ? BENCH_FIGURE_MIN : BENCH_INFO,
                            .budget = budget };
    bench_print(&row);
}

static void growth(const char *key, const char *what, double ns, double least)
{
    const bench_row row = { .key = key,
                            .what = what,
                            .figure = ns,
                            .unit = "ns/op",
                            .limit = least,
                            .yardstick = "the smallest trace",
                            .rule = BENCH_INFO };
    bench_print(&row);
}

static void growth_of_operations(void)
{
    const uint64_t most = bench.quick ? 1000000 : 10000000;
    double least = 0;
    for (uint64_t count = 10000; count <= most; count *= 10) {
        const double ns = run_ns(64, count, TS_REPLAY_EXACT, 5);
        char key[64], what[64];
        if (count == 10000) least = ns;
        snprintf(key, sizeof key, "replay.ops.%" PRIu64, count);
        snprintf(what, sizeof what, "replay, a run of %" PRIu64 " operations",
                 count);
        growth(key, what, ns, least);
    }
}

static void growth_of_streams(void)
{
    double least = 0;
    for (uint32_t streams = 1; streams <= 4096; streams *= 8) {
        const double ns =
            run_ns(streams, bench.quick ? 200000 : 1000000, TS_REPLAY_EXACT, 5);
        char key[64], what[64];
        if (streams == 1) least = ns;
        snprintf(key, sizeof key, "replay.streams.%" PRIu32, streams);
        snprintf(what, sizeof what, "replay, a run on %" PRIu32 " streams",
                 streams);
        growth(key, what, ns, least);
    }
}

int main(int argc, char **argv)
{
    bench_parse(argc, argv);
    core("replay.core.64", "replay, a run on 64 streams", 64, TS_REPLAY_EXACT,
         5);
    core("replay.core.1024", "replay, a run on 1,024 streams", 1024,
         TS_REPLAY_EXACT, 2);
    core("replay.model.64", "replay, a model on 64 streams", 64,
         TS_REPLAY_MODEL, 0);
    what_if("replay.what_if.64", "a what-if after the first, 1 M operations",
            64);
    what_if("replay.what_if.1024", "the same, 1,024 streams", 1024);
    growth_of_operations();
    growth_of_streams();
    remove(bench_path("replay.sbt"));
    return 0;
}
