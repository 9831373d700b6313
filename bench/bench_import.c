/*
    bench_import.c - ts-import of a gigabyte of JSON, as a process

    Needs kineto.json and kernels.json of gen_kineto in the directory for files;
    bench/run.sh makes them if there is a trace to repeat.
*/
#include "bench/bench.h" // first: it asks for GNU interfaces
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

extern char **environ;

typedef struct cost {
    double wall_ns, cpu_ns, memory; // NaN: it failed
} cost;

static double usage_ns(const struct timeval *t)
{
    return (double)t->tv_sec * 1e9 + (double)t->tv_usec * 1e3;
}

static cost import_once(const char *source, const char *output)
{
    cost result = { NAN, NAN, NAN };
    char tool[512];
    snprintf(tool, sizeof tool, "%s/ts-import", bench.bin);
    const char *const words[] = { tool, "-o", output, source, NULL };
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    const double begin = bench_wall_ns();
    pid_t child = 0;
    struct rusage usage;
    int status = -1;
    const int failed = posix_spawnp(&child, tool, &quiet, NULL,
                                    (char **)(uintptr_t)words, environ);
    posix_spawn_file_actions_destroy(&quiet);
    if (failed || wait4(child, &status, 0, &usage) != child || status != 0)
        return result;
    result.wall_ns = bench_wall_ns() - begin;
    result.cpu_ns = usage_ns(&usage.ru_utime) + usage_ns(&usage.ru_stime);
    result.memory = (double)usage.ru_maxrss * 1024;
    return result;
}

// Yardstick: only reads the file.
static double read_ns(const char *path)
{
    static char block[1 << 20];
    const int file = open(path, O_RDONLY);
    const double begin = bench_wall_ns();
    if (file < 0) return NAN;
    while (read(file, block, sizeof block) > 0)
        ;
    close(file);
    return bench_wall_ns() - begin;
}

// The least cost of several runs.
static cost import_least(const char *name, const char *output, int rounds)
{
    char source[512];
    cost least = { INFINITY, INFINITY, INFINITY };
    snprintf(source, sizeof source, "%s/%s", bench.dir, name);
    for (int i = 0; i < rounds; i++) {
        const cost one = import_once(source, output);
        if (isnan(one.wall_ns)) least = one;
        bench_keep_min(&least.wall_ns, one.wall_ns);
        bench_keep_min(&least.cpu_ns, one.cpu_ns);
        bench_keep_min(&least.memory, one.memory);
    }
    return least;
}

static void mixed(const char *output)
{
    char source[512], what[96];
    snprintf(source, sizeof source, "%s/kineto.json", bench.dir);
    const double size = (double)bench_file_bytes(source) / 1e6;
    const double limit_ns = read_ns(source);
    const cost least = import_least("kineto.json", output, 3);
    snprintf(what, sizeof what, "import of %.0f MB of Kineto JSON", size);
    const bench_row speed = { .key = "import.kineto",
                              .what = what,
                              .figure = size / least.wall_ns * 1e9,
                              .unit = "MB/s",
                              .limit = size / limit_ns * 1e9,
                              .yardstick = "reading the file",
                              .rule = BENCH_FIGURE_MIN,
                              .budget = 150 };
    const bench_row cpu = { .key = "import.kineto.cpu",
                            .what = "the same, per CPU time",
                            .figure = size / least.cpu_ns * 1e9,
                            .unit = "MB/s" };
    const double written = (double)bench_file_bytes(output);
    const bench_row memory = { .key = "import.kineto.memory",
                               .what = "the same, memory by size of the SBT",
                               .figure = least.memory / written,
                               .unit = "x",
                               .limit = 1,
                               .yardstick = "the SBT",
                               .rule = BENCH_FIGURE_MAX,
                               .budget = 2 };
    bench_print(&speed);
    bench_print(&cpu);
    bench_print(&memory);
}

// Memory of buffers and of the program, independent of the input.
#define FIXED_BYTES (8 << 20)

static void kernels(const char *output)
{
    const cost one = import_least("kernels.json", output, 1);
    const double written = (double)bench_file_bytes(output);
    const bench_row memory = { .key = "import.kernels.memory",
                               .what = "kernels alone, memory beyond 8 MiB",
                               .figure = (one.memory - FIXED_BYTES) / written,
                               .unit = "x",
                               .limit = 1,
                               .yardstick = "the SBT",
                               .rule = BENCH_FIGURE_MAX,
                               .budget = 2 };
    bench_print(&memory);
}

int main(int argc, char **argv)
{
    bench_parse(argc, argv);
    const char *const output = bench_path("kineto.sbt");
    mixed(output);
    kernels(output);
    remove(output);
    return 0;
}
