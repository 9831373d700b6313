/*
    bench_timeline.c - how fast graph and timeline are, and how that grows

    Makes its traces with gen_trace. Times are CPU time of one thread: opening
    a replay, which builds the graph, opening its timeline, and going through
    the states of all streams.
*/
#include "bench/bench.h"

static volatile uint64_t timeline_sink;

static const char *make_trace(uint32_t streams, uint64_t count)
{
    char command[1024];
    const char *const path = bench_path("timeline.sbt");
    snprintf(command, sizeof command,
             "'%s/bench/gen_trace' graph%" PRIu32 " %" PRIu64 " '%s'",
             bench.bin, streams, count, path);
    if (system(command)) bench_need(TS_ERR_IO, command);
    return path;
}

typedef struct parts { // seconds for a million operations
    double graph, timeline, states;
} parts;

static void measure_once(ts_reader *reader, parts *least)
{
    ts_replay *replay = NULL;
    ts_timeline *t = NULL;
    const ts_replay_desc desc = { .threads = 1 };
    const double begin = bench_process_ns();
    bench_need(ts_replay_open(&replay, reader, &desc), "graph");
    const double built = bench_process_ns();
    bench_need(ts_timeline_open(&t, replay, NULL), "timeline");
    const double seen = bench_process_ns();
    for (size_t i = 0; i < ts_replay_lane_count(replay); i++) {
        ts_stays stays = ts_timeline_stays(t, i);
        ts_stay stay;
        while (ts_stays_next(&stays, &stay))
            timeline_sink = (uint64_t)stay.end_ns;
    }
    const double ended = bench_process_ns();
    const double ns = (double)ts_replay_result(replay)->loaded * 1e3;
    bench_keep_min(&least->graph, (built - begin) / ns);
    bench_keep_min(&least->timeline, (seen - built) / ns);
    bench_keep_min(&least->states, (ended - seen) / ns);
    ts_timeline_close(t);
    ts_replay_close(replay);
}

static parts measure(uint32_t streams, uint64_t count, int rounds)
{
    parts least = { INFINITY, INFINITY, INFINITY };
    ts_reader *const reader = bench_open(make_trace(streams, count));
    for (int round = 0; round < rounds; round++)
        measure_once(reader, &least);
    ts_reader_close(reader);
    return least;
}

static double sum(const parts *p)
{
    return p->graph + p->timeline + p->states;
}

static void print(uint32_t streams)
{
    const parts p = measure(streams, bench.quick ? 200000 : 1000000, 7);
    char key[64], what[96];
    snprintf(key, sizeof key, "timeline.%" PRIu32, streams);
    snprintf(what, sizeof what,
             "graph, timeline, states of 1 M operations, %" PRIu32 " streams",
             streams);
    const bench_row all = { .key = key,
                            .what = what,
                            .figure = sum(&p),
                            .unit = "s",
                            .rule = BENCH_FIGURE_MAX,
                            .budget = 0.5 };
    bench_print(&all);
    snprintf(key, sizeof key, "timeline.%" PRIu32 ".own", streams);
    const bench_row own = { .key = key,
                            .what = "  of these all but the graph",
                            .figure = p.timeline + p.states,
                            .unit = "s" };
    bench_print(&own);
}

static void print_growth(const char *key, const char *what, const parts *p,
                         double least, double budget)
{
    const bench_row row = { .key = key,
                            .what = what,
                            .figure = sum(p) * 1e3,
                            .unit = "ns/op",
                            .limit = least * 1e3,
                            .yardstick = "the smallest trace",
                            .rule = budget > 0 ? BENCH_RATIO_MAX : BENCH_INFO,
                            .budget = budget };
    bench_print(&row);
}

// From 1 M operations to 10 M it may take ten times as long.
static void growth_of_operations(void)
{
    const uint64_t most = bench.quick ? 1000000 : 10000000;
    double least = 0;
    for (uint64_t count = most / 10; count <= most; count *= 10) {
        const parts p = measure(64, count, 3);
        char key[64], what[64];
        if (!(least > 0)) least = sum(&p);
        snprintf(key, sizeof key, "timeline.ops.%" PRIu64, count);
        snprintf(what, sizeof what, "timeline, %" PRIu64 " operations", count);
        print_growth(key, what, &p, least, count == most ? 1.0 : 0);
    }
}

static void growth_of_streams(void)
{
    double least = 0;
    for (uint32_t streams = 1; streams <= 4096; streams *= 8) {
        const parts p = measure(streams, bench.quick ? 100000 : 500000, 3);
        char key[64], what[64];
        if (streams == 1) least = sum(&p);
        snprintf(key, sizeof key, "timeline.streams.%" PRIu32, streams);
        snprintf(what, sizeof what, "timeline, %" PRIu32 " streams", streams);
        print_growth(key, what, &p, least, 0);
    }
}

int main(int argc, char **argv)
{
    bench_parse(argc, argv);
    print(64);
    print(1024);
    growth_of_operations();
    growth_of_streams();
    remove(bench_path("timeline.sbt"));
    return 0;
}
