/*
    bench_analyze.c - time and memory of ts-analyze for long traces

    Makes its traces with gen_trace. Time of the summary is wall time of the
    tool, which uses all cores, that of all topics CPU time; memory is its
    maximum resident size, including the mapped trace.
*/
#include "bench/bench.h" // first: it asks for GNU interfaces
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

extern char **environ;

typedef struct cost {
    double wall_ns, cpu_ns, bytes; // NaN: it failed
} cost;

static double time_ns(const struct timeval *t)
{
    return (double)t->tv_sec * 1e9 + (double)t->tv_usec * 1e3;
}

// Runs a topic; NULL: what the tool answers by default.
static cost run_once(const char *trace, const char *topic)
{
    char tool[512];
    snprintf(tool, sizeof tool, "%s/ts-analyze", bench.bin);
    char *const argv[] = { tool, (char *)(uintptr_t)trace,
                           topic ? "--only" : NULL, (char *)(uintptr_t)topic,
                           NULL };
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    const double begin = bench_wall_ns();
    struct rusage usage;
    pid_t child = 0;
    int status = 0;
    const int failed = posix_spawn(&child, tool, &quiet, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&quiet);
    if (failed || wait4(child, &status, 0, &usage) != child || status) {
        const cost none = { NAN, NAN, NAN };
        fprintf(stderr, "bench_analyze: %s failed\n", tool);
        return none;
    }
    const cost all = { bench_wall_ns() - begin,
                       time_ns(&usage.ru_utime) + time_ns(&usage.ru_stime),
                       (double)usage.ru_maxrss * 1024 };
    return all;
}

static cost run_least(const char *trace, const char *topic)
{
    cost least = { INFINITY, INFINITY, INFINITY };
    for (int i = 0; i < 3; i++) {
        const cost one = run_once(trace, topic);
        if (isnan(one.wall_ns)) return one;
        bench_keep_min(&least.wall_ns, one.wall_ns);
        bench_keep_min(&least.cpu_ns, one.cpu_ns);
        bench_keep_min(&least.bytes, one.bytes);
    }
    return least;
}

static const char *make_trace(const char *kind, uint64_t count)
{
    char command[1024];
    const char *const path = bench_path("analyze.sbt");
    snprintf(command, sizeof command,
             "'%s/bench/gen_trace' %s %" PRIu64 " '%s'", bench.bin, kind, count,
             path);
    if (system(command)) bench_need(TS_ERR_IO, command);
    return path;
}

static void print_all_topics(const char *kind, const char *what)
{
    const uint64_t count = bench.quick ? 100000 : 1000000;
    const double factor = (double)count / 1e6;
    const cost all = run_least(make_trace(kind, count), NULL);
    char key[64], seconds[96], memory[96];
    snprintf(key, sizeof key, "analyze.all.%s", kind);
    snprintf(seconds, sizeof seconds, "all topics, %s, CPU time", what);
    bench_row row = { .key = key,
                      .what = seconds,
                      .figure = all.cpu_ns / 1e9 / factor,
                      .unit = "s/M",
                      .yardstick = "-",
                      .rule = BENCH_FIGURE_MAX,
                      .budget = 2.5 };
    bench_print(&row);
    snprintf(key, sizeof key, "analyze.all_memory.%s", kind);
    snprintf(memory, sizeof memory, "  memory of that");
    row.what = memory;
    row.figure = all.bytes / 1e6 / factor;
    row.unit = "MB/M";
    row.budget = 120;
    bench_print(&row);
}

int main(int argc, char **argv)
{
    bench_parse(argc, argv);
    print_all_topics("kernels", "1 M kernels, 1,000 streams");
    print_all_topics("calls16", "1 M operations with calls");
    const uint64_t many = bench.quick ? 2000000 : 10000000;
    const double factor = (double)many / 1000000;
    const cost one = run_least(make_trace("graph16", 1000000), "summary");
    const char *const trace = make_trace("graph16", many);
    const cost ten = run_least(trace, "summary");
    char what[64];
    snprintf(what, sizeof what, "summary of %.0f M operations", factor);
    const bench_row seconds = { .key = "analyze.summary",
                                .what = what,
                                .figure = ten.wall_ns / 1e9,
                                .unit = "s",
                                .yardstick = "-",
                                .rule = BENCH_FIGURE_MAX,
                                .budget = 3 * factor / 10 };
    bench_print(&seconds);
    const bench_row memory = { .key = "analyze.summary_memory",
                               .what = "memory of it, the trace included",
                               .figure = ten.bytes / 1e6,
                               .unit = "MB",
                               .limit = (double)bench_file_bytes(trace) / 1e6,
                               .yardstick = "size of the trace",
                               // Windows have the same size for any trace.
                               .rule =
                                   bench.quick ? BENCH_INFO : BENCH_RATIO_MAX,
                               .budget = 2 };
    bench_print(&memory);
    const bench_row growth = { .key = "analyze.summary_growth",
                               .what = "CPU time of one of them",
                               .figure = ten.cpu_ns / factor / 1e6,
                               .unit = "ns",
                               .limit = one.cpu_ns / 1e6,
                               .yardstick = "of 1 M operations",
                               .rule = BENCH_RATIO_MAX,
                               .budget = 1.2 };
    bench_print(&growth);
    const bench_row kernels = { .key = "analyze.kernels",
                                .what = "kernels of that trace, by name ...",
                                .figure =
                                    run_least(trace, "kernels").wall_ns / 1e9,
                                .unit = "s",
                                .yardstick = "-",
                                .rule = BENCH_INFO };
    bench_print(&kernels);
    remove(trace);
    return 0;
}
