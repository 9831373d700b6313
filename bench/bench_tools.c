/*
    bench_tools.c - the time of the tools for big traces, as processes

    Needs the traces of gen_trace in the directory for files; bench/run.sh
    lists them.

    bench_tools --seconds N COMMAND...  only prints the least CPU time of N
    runs of any command, for bench/build.sh.
*/
#include "bench/bench.h" // first: it asks for GNU interfaces
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define OLD "the predecessor, elsewhere"
extern char **environ;

/* ==== 1. Processes ======================================================= */

typedef struct cost {
    double wall_ns, cpu_ns; // NaN: it failed
} cost;

static double usage_ns(const struct timeval *t)
{
    return (double)t->tv_sec * 1e9 + (double)t->tv_usec * 1e3;
}

static cost run_once(char *const *argv)
{
    cost result = { NAN, NAN };
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    const double begin = bench_wall_ns();
    pid_t child = 0;
    struct rusage usage;
    const int failed =
        posix_spawnp(&child, argv[0], &quiet, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&quiet);
    int status = 0;
    if (failed || wait4(child, &status, 0, &usage) != child || status != 0) {
        fprintf(stderr, "bench_tools: %s: failed, status %d\n", argv[0],
                failed ? failed : status);
        return result;
    }
    result.wall_ns = bench_wall_ns() - begin;
    result.cpu_ns = usage_ns(&usage.ru_utime) + usage_ns(&usage.ru_stime);
    return result;
}

static cost run_least(char *const *argv, int rounds)
{
    cost least = { INFINITY, INFINITY };
    for (int i = 0; i < rounds; i++) {
        const cost one = run_once(argv);
        if (isnan(one.wall_ns)) return one;
        bench_keep_min(&least.wall_ns, one.wall_ns);
        bench_keep_min(&least.cpu_ns, one.cpu_ns);
    }
    return least;
}

static cost run_cost(const char *tool, const char *const *arguments, int rounds)
{
    char path[512];
    char *argv[8] = { path };
    snprintf(path, sizeof path, "%s/%s", bench.bin, tool);
    for (int i = 0; arguments[i]; i++)
        argv[i + 1] = (char *)(uintptr_t)arguments[i];
    return run_least(argv, rounds);
}

// Wall time: a tool may use several threads.
static double run_tool(const char *tool, const char *const *arguments,
                       int rounds)
{
    return run_cost(tool, arguments, rounds).wall_ns;
}

static uint64_t count_events(const char *path)
{
    ts_reader *const reader = bench_open(path);
    uint64_t count = 0;
    for (int kind = 0; kind < TS_EVENT_LIMIT; kind++)
        count += ts_reader_info(reader)->counts[kind];
    ts_reader_close(reader);
    return count;
}

/* ==== 2. ts-info ========================================================= */

static void measure_open(void)
{
    const char *const path = bench_path("big.sbt");
    const char *const info[] = { path, NULL };
    const char *const version[] = { "--version", NULL };
    char what[64];
    snprintf(what, sizeof what, "ts-info, a file of %" PRIu64 " MB",
             bench_file_bytes(path) / 1000000);
    const bench_row row = { .key = "open",
                            .what = what,
                            .figure = run_tool("ts-info", info, 7) / 1e6,
                            .unit = "ms",
                            .limit = run_tool("ts-info", version, 7) / 1e6,
                            .yardstick = "ts-info --version",
                            .rule = BENCH_FIGURE_MAX,
                            .budget = 50 };
    bench_print(&row);
}

/* ==== 3. ts-export ======================================================= */

// Yardstick: only writes a file of that size.
static double write_ns(uint64_t size)
{
    static char block[1 << 20];
    const char *const path = bench_path("copy");
    const double begin = bench_wall_ns();
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (uint64_t done = 0; file >= 0 && done < size; done += sizeof block)
        if (write(file, block, sizeof block) != (ssize_t)sizeof block)
            return NAN;
    if (file < 0) return NAN;
    close(file);
    const double ns = bench_wall_ns() - begin;
    remove(path);
    return ns;
}

typedef struct export_case {
    const char *key, *trace, *out, *what;
    double speed;     // budget, M events/s; 0: none
    double bytes;     // budget for an event; 0: none
    double old_bytes; // the predecessor's; 0: unknown
} export_case;

static void measure_export(const export_case *export)
{
    const char *const trace = bench_path(export->trace);
    const char *const out = bench_path(export->out);
    const char *const arguments[] = { trace, "-o", out, NULL };
    const double events = (double)count_events(trace);
    const double ns = run_tool("ts-export", arguments, 3);
    const double size = isnan(ns) ? NAN : (double)bench_file_bytes(out);
    const double limit = isnan(ns) ? NAN : write_ns((uint64_t)size);
    char key[64], what[64];
    snprintf(key, sizeof key, "%s.bytes", export->key);
    snprintf(what, sizeof what, "the same, size of an event");
    const bench_row speed = { .key = export->key,
                              .what = export->what,
                              .figure = events / ns * 1e3,
                              .unit = "M events/s",
                              .limit = events / limit * 1e3,
                              .yardstick = "writing as many bytes",
                              .rule = export->speed > 0 ? BENCH_FIGURE_MIN
                                                        : BENCH_INFO,
                              .budget = export->speed };
    const bench_row bytes = {
        .key = key,
        .what = what,
        .figure = size / events,
        .unit = "B",
        .limit = export->old_bytes,
        .yardstick = export->old_bytes > 0 ? "the predecessor" : NULL,
        .rule = export->bytes > 0 ? BENCH_FIGURE_MAX : BENCH_INFO,
        .budget = export->bytes
    };
    bench_print(&speed);
    bench_print(&bytes);
    remove(out);
}

/* ==== 4. ts-replay ======================================================= */

static void measure_replay(const char *key, const char *name, const char *what)
{
    const char *const trace = bench_path(name);
    const char *const arguments[] = { trace, NULL };
    const double events = (double)count_events(trace);
    const double ns = run_tool("ts-replay", arguments, 3);
    const bench_row row = { .key = key,
                            .what = what,
                            .figure = events / ns * 1e3,
                            .unit = "M ops/s",
                            // 100,000 events in 635 s, quadratic
                            .limit = 0.1 / 635,
                            .yardstick = OLD,
                            .rule = BENCH_FIGURE_MIN,
                            .budget = 2 };
    bench_print(&row);
}

/* ==== 5. ts-cut, ts-merge ================================================ */

static void measure_copy(const char *key, const char *const *arguments,
                         const char *tool, double events, const char *what)
{
    const char *const out = bench_path("copied.sbt");
    const double ns = run_tool(tool, arguments, 5);
    const double size = isnan(ns) ? NAN : (double)bench_file_bytes(out);
    const bench_row row = { .key = key,
                            .what = what,
                            .figure = events / ns * 1e3,
                            .unit = "M events/s",
                            .limit = events / write_ns((uint64_t)size) * 1e3,
                            .yardstick = "writing as many bytes",
                            .rule = BENCH_FIGURE_MIN,
                            .budget = 5 };
    bench_print(&row);
    remove(out);
}

// How many times as fast a tool is on all processors as on one of them. What
// it starts inherits the processors of this process.
static void measure_processors(const char *key, const char *const *arguments,
                               const char *tool, const char *what)
{
    cpu_set_t all, one;
    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
        if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    sched_setaffinity(0, sizeof one, &one);
    const double alone = run_tool(tool, arguments, 5);
    sched_setaffinity(0, sizeof all, &all);
    const bench_row row = { .key = key,
                            .what = what,
                            .figure = alone / run_tool(tool, arguments, 5),
                            .unit = "times",
                            .limit = CPU_COUNT(&all),
                            .yardstick = "processors" };
    bench_print(&row);
}

static void measure_copies(void)
{
    const char *const zones = bench_path("zones.sbt");
    const char *const graph = bench_path("graph64.sbt");
    const char *const out = bench_path("copied.sbt");
    const char *const all[] = { zones, "-o", out, NULL };
    const char *const hidden[] = { graph, "--anonymise", "-o", out, NULL };
    const char *const both[] = { zones, graph, "-o", out, NULL };
    const double a = (double)count_events(zones);
    const double b = (double)count_events(graph);
    measure_copy("cut.zones", all, "ts-cut", a, "ts-cut, all of it, zones");
    measure_copy("cut.anonymise", hidden, "ts-cut", b,
                 "ts-cut --anonymise, kernels and events");
    measure_copy("merge", both, "ts-merge", a + b, "ts-merge, zones, kernels");
    measure_processors("cut.processors", all, "ts-cut",
                       "ts-cut, faster than on one processor");
    measure_processors("merge.processors", both, "ts-merge",
                       "ts-merge, faster than on one processor");
    remove(out);
}

/* ==== 6. ts-query ======================================================== */

// CPU seconds of a query over all zones, scaled to ten million zones.
static double query_seconds(const char *format, const char *option,
                            const char *sql, int rounds)
{
    char tool[512];
    const char *const path = bench_path("zones.sbt");
    snprintf(tool, sizeof tool, "%s/ts-query", bench.bin);
    char *const argv[] = { tool,
                           (char *)(uintptr_t)format,
                           (char *)(uintptr_t)option,
                           (char *)(uintptr_t)path,
                           (char *)(uintptr_t)sql,
                           NULL };
    const double zones = (double)count_events(path);
    return run_least(argv, rounds).cpu_ns / 1e9 * 1e7 / zones;
}

static void print_query(const char *key, const char *what, const char *format,
                        const char *sql, double budget)
{
    const bench_row row = { .key = key,
                            .what = what,
                            .figure = query_seconds(format, "--", sql, 5),
                            .unit = "s",
                            .limit =
                                query_seconds(format, "--no-pushdown", sql, 1),
                            .yardstick = "row by row by SQLite",
                            .rule = BENCH_FIGURE_MAX,
                            .budget = budget };
    bench_print(&row);
}

static void measure_query(void)
{
    print_query("query.group", "group 10 M zones by name in SQL", "--table",
                "SELECT name, count(*), sum(duration_ns), max(duration_ns) "
                "FROM zone GROUP BY name",
                0.15);
    print_query("query.sum", "add up 10 M durations in SQL", "--table",
                "SELECT sum(duration_ns) FROM zone", 0.1);
    print_query("query.count", "count 10 M zones in SQL", "--table",
                "SELECT count(*) FROM zone", 0.03);
    print_query("query.first", "the 10 longest of 10 M zones in SQL", "--table",
                "SELECT name, duration_ns FROM zone ORDER BY duration_ns DESC "
                "LIMIT 10",
                0.1);
    // 207 MB, of which 200 are to be printed in a second.
    print_query("query.csv", "10 M zones as CSV", "--csv",
                "SELECT start_ns, duration_ns, name FROM zone", 1);
}

int main(int argc, char **argv)
{
    static const export_case exports[] = {
        { "export.zones", "zones.sbt", "zones.perfetto-trace",
          "export to Perfetto, zones", 12, 20, 0 },
        { "export.kernels", "kernels.sbt", "kernels.perfetto-trace",
          "export to Perfetto, kernels", 5, 26, 156 },
        { "export.json", "kernels.sbt", "kernels.json",
          "export to Chrome JSON, kernels", 3, 0, 507 },
    };
    if (argc > 3 && !strcmp(argv[1], "--seconds")) {
        const cost least = run_least(argv + 3, atoi(argv[2]));
        printf("%.6g\n", least.cpu_ns / 1e9);
        return isnan(least.cpu_ns);
    }
    bench_parse(argc, argv);
    measure_open();
    for (size_t i = 0; i < sizeof exports / sizeof exports[0]; i++)
        measure_export(&exports[i]);
    measure_replay("replay.64", "graph64.sbt",
                   "replay, load included, 64 streams");
    measure_replay("replay.1024", "graph1024.sbt",
                   "replay, load included, 1,024 streams");
    measure_copies();
    measure_query();
    return 0;
}
