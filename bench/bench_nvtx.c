/*
    bench_nvtx.c - the cost of recording an unmodified program

    Compares a range of NVTX with a zone; and whole programs, one without and
    one with a range, with and without ts-record. They are this one with an
    option.
*/
#define TRACESMITH_NVTX_IMPLEMENTATION
#include "bench/bench.h"

#include "tests/backends/nvtx/nvtx_client.h"
#include <dlfcn.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

extern char **environ;
enum { RANGES = 4000 };

static double ranges_ns(void)
{
    const double start = bench_cpu_ns();
    for (int i = 0; i < RANGES; i++) {
        PUSH("range");
        POP();
    }
    return (bench_cpu_ns() - start) / RANGES;
}

static double zones_ns(void)
{
    const double start = bench_cpu_ns();
    for (int i = 0; i < RANGES; i++) {
        TS_ZONE("zone");
    }
    return (bench_cpu_ns() - start) / RANGES;
}

static void measure_ranges(void)
{
    const ts_session_desc desc = { .path = bench_path("nvtx.sbt"),
                                   .drain = TS_DRAIN_MANUAL };
    double range = INFINITY, zone = INFINITY;
    bench_need(ts_backend_add(&ts_nvtx_backend), "backend");
    bench_need(ts_session_start(&desc), desc.path);
    if (!ts_nvtx_initialize(get_table)) exit(1);
    for (int round = 0; round < (bench.quick ? 50 : 300); round++) {
        bench_keep_min(&range, ranges_ns());
        bench_need(ts_session_flush(), "flush");
        bench_keep_min(&zone, zones_ns());
        bench_need(ts_session_flush(), "flush");
    }
    bench_need(ts_session_stop(), "stop");
    const bench_row row = { .key = "nvtx.range",
                            .what = "NVTX range, pushed and popped",
                            .figure = range,
                            .unit = "ns",
                            .limit = zone,
                            .yardstick = "a zone of the program's own",
                            .rule = BENCH_RATIO_MAX,
                            .budget = 1.5 };
    bench_print(&row);
}

// The recorded program; it looks for a handler like NVTX does.
static int client(void)
{
    const char *const path = getenv("NVTX_INJECTION64_PATH");
    void *const library = path ? dlopen(path, RTLD_NOW) : NULL;
    int (*start)(ts_nvtx_get_table) = NULL;
    if (library) *(void **)&start = dlsym(library, "InitializeInjectionNvtx2");
    if (!start) return 0;
    if (!start(get_table)) return 1;
    PUSH("range");
    POP();
    return 0;
}

static double ms_of(const struct timeval *time)
{
    return 1e3 * (double)time->tv_sec + (double)time->tv_usec / 1e3;
}

// The least CPU time of the program and of all that it starts.
static double run_ms(char **argv)
{
    double least = INFINITY;
    for (int i = 0; i < (bench.quick ? 5 : 50); i++) {
        pid_t process;
        struct rusage used;
        int status = 1;
        if (posix_spawn(&process, argv[0], NULL, NULL, argv, environ) != 0 ||
            wait4(process, &status, 0, &used) < 0 || status != 0) {
            fprintf(stderr, "bench_nvtx: %s: cannot be run\n", argv[0]);
            exit(1);
        }
        bench_keep_min(&least, ms_of(&used.ru_utime) + ms_of(&used.ru_stime));
    }
    return least;
}

static void measure_program(char *self, const char *key, char *mode,
                            const char *what)
{
    char tool[512], out[] = "-o", quiet[] = "-q";
    snprintf(tool, sizeof tool, "%s/ts-record", bench.bin);
    char *const path = strdup(bench_path("nvtx_client.sbt"));
    char *alone[] = { self, mode, NULL };
    char *recorded[] = { tool, quiet, out, path, self, mode, NULL };
    const double with = run_ms(recorded), without = run_ms(alone);
    const bench_row row = { .key = key,
                            .what = what,
                            .figure = with - without,
                            .unit = "ms",
                            .limit = without,
                            .yardstick = "alone",
                            .rule = BENCH_FIGURE_MAX,
                            .budget = 1.5 };
    bench_print(&row);
    free(path);
}

int main(int argc, char **argv)
{
    char ends[] = "end", be[] = "client";
    if (argc == 2 && !strcmp(argv[1], ends)) return 0;
    if (argc == 2 && !strcmp(argv[1], be)) return client();
    bench_parse(argc, argv);
    measure_ranges();
    measure_program(argv[0], "record.short", ends,
                    "a program that ends at once by ts-record, more CPU");
    measure_program(argv[0], "record.program", be,
                    "the same with one NVTX range");
    return 0;
}
