/*
    bench_timeline.c - how fast graph and timeline are

    Needs graph64.sbt and graph1024.sbt, made by gen_trace, in the directory
    for files.
*/
#include "bench/bench.h"

enum { ROUNDS = 5 };

static volatile uint64_t timeline_sink;

// Seconds of CPU for opening a replay of a trace, its timeline, and for
// going through the states of all streams, per million operations.
static void measure(const char *file, double *graph, double *timeline,
                    double *states)
{
    ts_reader *const reader = bench_open(bench_path(file));
    for (int round = 0; round < ROUNDS; round++) {
        ts_replay *replay = NULL;
        ts_timeline *t = NULL;
        const ts_replay_desc desc = { .threads = 1 };
        const double begin = bench_process_ns();
        bench_need(ts_replay_open(&replay, reader, &desc), file);
        const double built = bench_process_ns();
        bench_need(ts_timeline_open(&t, replay, NULL), file);
        const double seen = bench_process_ns();
        for (size_t i = 0; i < ts_replay_lane_count(replay); i++) {
            ts_stays stays = ts_timeline_stays(t, i);
            ts_stay stay;
            while (ts_stays_next(&stays, &stay))
                timeline_sink = (uint64_t)stay.end_ns;
        }
        const double ended = bench_process_ns();
        const double millions =
            (double)ts_replay_result(replay)->loaded * 1e-6 * 1e9;
        bench_keep_min(graph, (built - begin) / millions);
        bench_keep_min(timeline, (seen - built) / millions);
        bench_keep_min(states, (ended - seen) / millions);
        ts_timeline_close(t);
        ts_replay_close(replay);
    }
    ts_reader_close(reader);
}

static void print(const char *key, const char *what, const char *file)
{
    double graph = INFINITY, timeline = INFINITY, states = INFINITY;
    measure(file, &graph, &timeline, &states);
    char name[64];
    snprintf(name, sizeof name, "timeline.%s", key);
    const bench_row all = { .key = name,
                            .what = what,
                            .figure = graph + timeline + states,
                            .unit = "s",
                            .rule = BENCH_FIGURE_MAX,
                            .budget = 0.5 };
    bench_print(&all);
    snprintf(name, sizeof name, "timeline.%s.own", key);
    const bench_row own = { .key = name,
                            .what = "  of these the timeline",
                            .figure = timeline,
                            .unit = "s" };
    bench_print(&own);
    snprintf(name, sizeof name, "timeline.%s.states", key);
    const bench_row stays = { .key = name,
                              .what = "  of these the states of all streams",
                              .figure = states,
                              .unit = "s" };
    bench_print(&stays);
}

int main(int argc, char **argv)
{
    bench_parse(argc, argv);
    print("64", "graph, timeline, states of 1 M operations, 64 streams",
          "graph64.sbt");
    print("1024", "the same, 1,024 streams", "graph1024.sbt");
    return 0;
}
