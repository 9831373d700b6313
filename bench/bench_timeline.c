/*
    bench_timeline.c - the speed of graph and timeline, and how time grows

    Makes its traces with gen_trace. Times are CPU time of one thread: opening a
    replay, which builds the graph; opening its timeline; and reading the states
    of all streams. Growth is measured as wall time (with as many threads as the
    tools use), as CPU time, and as user CPU time: for large traces the system's
    share is mostly page faults, whose cost differs much between systems. Each
    is measured in a new process. The overview runs on two threads.
*/
#include "bench/bench.h"
#include <sys/resource.h>
#include <sys/wait.h>

static volatile uint64_t timeline_sink;

static const char *make_trace(const char *kind, uint32_t streams,
                              uint64_t count)
{
    char command[1024];
    const char *const path = bench_path("timeline.sbt");
    snprintf(command, sizeof command,
             "'%s/bench/gen_trace' %s%" PRIu32 " %" PRIu64 " '%s'", bench.bin,
             kind, streams, count, path);
    if (system(command)) bench_need(TS_ERR_IO, command);
    return path;
}

typedef struct parts { // seconds for a million operations
    double graph, timeline, states;
} parts;

// threads: 0 for as many as the tools use.
static void measure_once(ts_reader *reader, uint32_t threads, parts *least)
{
    ts_replay *replay = NULL;
    ts_timeline *t = NULL;
    const ts_replay_desc desc = { .threads = threads };
    const double begin = bench_process_ns();
    bench_need(ts_replay_open(&replay, reader, &desc), "graph");
    const double built = bench_process_ns();
    bench_need(ts_timeline_open(&t, replay, NULL), "timeline");
    const double seen = bench_process_ns();
    for (size_t i = 0; i < ts_replay_lane_count(replay); i++) {
        ts_state_spans spans = ts_timeline_state_spans(t, i);
        ts_state_span span;
        while (ts_state_spans_next(&spans, &span))
            timeline_sink = (uint64_t)span.end_ns;
    }
    const double ended = bench_process_ns();
    const double ns = (double)ts_replay_result(replay)->loaded * 1e3;
    bench_keep_min(&least->graph, (built - begin) / ns);
    bench_keep_min(&least->timeline, (seen - built) / ns);
    bench_keep_min(&least->states, (ended - seen) / ns);
    ts_timeline_close(t);
    ts_replay_close(replay);
}

static parts measure(const char *kind, uint32_t streams, uint64_t count,
                     int rounds)
{
    parts least = { INFINITY, INFINITY, INFINITY };
    ts_reader *const reader = bench_open(make_trace(kind, streams, count));
    for (int round = 0; round < rounds; round++)
        measure_once(reader, 1, &least);
    ts_reader_close(reader);
    return least;
}

static double sum(const parts *p)
{
    return p->graph + p->timeline + p->states;
}

// Seconds of a new process for a trace: wall time, CPU time, user CPU time.
typedef struct cost {
    double wall, cpu, user;
} cost;

static cost cost_once(const char *path)
{
    int ends[2];
    cost c = { INFINITY, INFINITY, INFINITY };
    if (pipe(ends)) bench_need(TS_ERR_IO, "pipe");
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        parts p = { INFINITY, INFINITY, INFINITY };
        ts_reader *const reader = bench_open(path);
        struct rusage before, after;
        getrusage(RUSAGE_SELF, &before);
        const double begin = bench_process_ns(), then = bench_wall_ns();
        measure_once(reader, 0, &p);
        c.wall = (bench_wall_ns() - then) / 1e9;
        c.cpu = (bench_process_ns() - begin) / 1e9;
        getrusage(RUSAGE_SELF, &after);
        c.user =
            (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec) +
            (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec) / 1e6;
        _exit(write(ends[1], &c, sizeof c) != sizeof c);
    }
    int status = 1;
    if (child < 0 || read(ends[0], &c, sizeof c) != sizeof c ||
        waitpid(child, &status, 0) != child || status)
        bench_need(TS_ERR_IO, "a new process");
    close(ends[0]);
    close(ends[1]);
    return c;
}

static cost cost_of(const char *kind, uint32_t streams, uint64_t count,
                    int rounds)
{
    const char *const path = make_trace(kind, streams, count);
    cost least = { INFINITY, INFINITY, INFINITY };
    for (int round = 0; round < rounds; round++) {
        const cost c = cost_once(path);
        bench_keep_min(&least.wall, c.wall);
        bench_keep_min(&least.cpu, c.cpu);
        bench_keep_min(&least.user, c.user);
    }
    return least;
}

static void print(const char *kind, const char *with, uint32_t streams)
{
    const parts p = measure(kind, streams, bench.quick ? 200000 : 1000000, 7);
    char key[64], what[96];
    snprintf(key, sizeof key, "timeline.%s%" PRIu32, with, streams);
    snprintf(what, sizeof what,
             "graph, timeline, states of 1 M operations%s, %" PRIu32 " streams",
             *with ? ", calls" : "", streams);
    const bench_row all = { .key = key,
                            .what = what,
                            .figure = sum(&p),
                            .unit = "s",
                            .rule = BENCH_FIGURE_MAX,
                            .budget = 0.5 };
    bench_print(&all);
    snprintf(key, sizeof key, "timeline.%s%" PRIu32 ".own", with, streams);
    const bench_row own = { .key = key,
                            .what = "  of these all but the graph",
                            .figure = p.timeline + p.states,
                            .unit = "s" };
    bench_print(&own);
}

// Ten times the operations may take ten times the budget of one.
static void growth_of_operations(const char *kind, const char *with,
                                 uint32_t streams)
{
    const uint64_t most = bench.quick ? 1000000 : 10000000;
    const cost few = cost_of(kind, streams, most / 10, 5);
    const cost many = cost_of(kind, streams, most, 5);
    char key[64], what[96];
    snprintf(key, sizeof key, "timeline.ops.%s%" PRIu32, with, streams);
    snprintf(what, sizeof what,
             "timeline, %" PRIu64 " M operations%s, %" PRIu32 " streams",
             most / 1000000, *with ? ", calls" : "", streams);
    const bench_row all = { .key = key,
                            .what = what,
                            .figure = many.wall,
                            .unit = "s",
                            .limit = 10 * few.wall,
                            .yardstick = "ten times a tenth",
                            .rule = BENCH_FIGURE_MAX,
                            .budget = 0.5 * (double)most / 1e6 };
    bench_print(&all);
    snprintf(key, sizeof key, "timeline.ops.%s%" PRIu32 ".cpu", with, streams);
    const bench_row cpu = { .key = key,
                            .what = "  the CPU time of that",
                            .figure = many.cpu,
                            .unit = "s",
                            .limit = 10 * few.cpu,
                            .yardstick = "ten times a tenth",
                            .rule = BENCH_INFO };
    bench_print(&cpu);
    snprintf(key, sizeof key, "timeline.ops.%s%" PRIu32 ".user", with, streams);
    const bench_row user = { .key = key,
                             .what = "  of that without the system's share",
                             .figure = many.user,
                             .unit = "s",
                             .limit = 10 * few.user,
                             .yardstick = "ten times a tenth",
                             .rule = BENCH_RATIO_MAX,
                             .budget = 1.1 };
    bench_print(&user);
}

static void growth_of_streams(void)
{
    double least = 0;
    for (uint32_t streams = 1; streams <= 4096; streams *= 8) {
        const parts p =
            measure("graph", streams, bench.quick ? 100000 : 500000, 3);
        char key[64], what[64];
        if (streams == 1) least = sum(&p);
        snprintf(key, sizeof key, "timeline.streams.%" PRIu32, streams);
        snprintf(what, sizeof what, "timeline, %" PRIu32 " streams", streams);
        const bench_row row = { .key = key,
                                .what = what,
                                .figure = sum(&p) * 1e3,
                                .unit = "ns/op",
                                .limit = least * 1e3,
                                .yardstick = "one stream",
                                .rule = BENCH_INFO };
        bench_print(&row);
    }
}

// Measures the overview of a long trace, window after window.
static void measure_overview(void)
{
    const uint64_t count = bench.quick ? 1000000 : 10000000;
    const char *const path = make_trace("calls", 64, count);
    ts_reader *const reader = bench_open(path);
    double least = INFINITY;
    for (int round = 0; round < 3; round++) {
        ts_overview *figures;
        const ts_overview_desc desc = { .threads = 2 };
        const double begin = bench_process_ns();
        bench_need(ts_overview_open(&figures, reader, &desc), "overview");
        bench_keep_min(&least, bench_process_ns() - begin);
        ts_overview_close(figures);
    }
    ts_reader_close(reader);
    const bench_row row = { .key = "timeline.survey",
                            .what = "idle times window by window, calls",
                            .figure = least / (double)count,
                            .unit = "ns/op",
                            .rule = BENCH_INFO };
    bench_print(&row);
}

int main(int argc, char **argv)
{
    bench_parse(argc, argv);
    print("graph", "", 64);
    print("graph", "", 1024);
    print("calls", "calls.", 64);
    print("calls", "calls.", 1024);
    growth_of_operations("graph", "", 64);
    growth_of_operations("graph", "", 1024);
    growth_of_operations("graph", "", 4096);
    growth_of_operations("calls", "calls.", 64);
    growth_of_streams();
    measure_overview();
    remove(bench_path("timeline.sbt"));
    return 0;
}
