/*
    bench.h - what all benchmarks share: time, minimum of rounds, rows

    A benchmark prints one line for each row, with tab-separated fields;
    bench/run.sh makes the table. Its options are those of bench_parse.

    How a figure is measured: the subject and its yardstick alternate in one
    process, and the least thread CPU time of all rounds counts for each. A
    round is short (about 100 us), so most rounds are not interrupted by other
    programs. Remaining disturbances affect both alike: trust the ratio more
    than the absolute figures.
*/
#ifndef TS_BENCH_H
#define TS_BENCH_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <math.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "tracesmith_replay.h"

/* ==== 1. Options ========================================================= */

static struct {
    bool quick;      // do at most a fifth of the work
    const char *dir; // for temporary files; the caller removes it
    const char *bin; // where the tools were built
} bench = { false, "/tmp", "build" };

// PROGRAM [--quick] [--dir DIR] [--bin DIR]
static inline void bench_parse(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--quick")) {
            bench.quick = true;
        } else if (!strcmp(argv[i], "--dir") && i + 1 < argc) {
            bench.dir = argv[++i];
        } else if (!strcmp(argv[i], "--bin") && i + 1 < argc) {
            bench.bin = argv[++i];
        } else {
            fprintf(stderr, "%s: %s: unknown option\n", argv[0], argv[i]);
            exit(2);
        }
    }
}

// A path in the directory for files. Valid until the eighth call after this
// one.
static inline const char *bench_path(const char *name)
{
    static char paths[8][512];
    static unsigned next = 0;
    char *const path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", bench.dir, name);
    return path;
}

// Ends the program if a call that a figure depends on has failed.
static inline void bench_need(ts_result result, const char *what)
{
    if (result == TS_OK) return;
    fprintf(stderr, "bench: %s: %s\n", what, ts_result_text(result));
    exit(1);
}

/* ==== 2. Time ============================================================ */

static inline double bench_clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

// CPU time of this thread in nanoseconds.
static inline double bench_cpu_ns(void)
{
    return bench_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

// CPU time of the process, all threads, in nanoseconds.
static inline double bench_process_ns(void)
{
    return bench_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static inline double bench_wall_ns(void)
{
    return bench_clock_ns(CLOCK_MONOTONIC);
}

static inline void bench_keep_min(double *least, double value)
{
    if (value < *least) *least = value;
}

// A piece of work that alternates with others: `body` does `count` iterations.
typedef struct bench_body {
    void (*body)(uint64_t count);
    void (*after)(void); // not timed; may be NULL
    double ns;           // receives the least CPU time of one iteration
} bench_body;

static inline void bench_alternate(bench_body *bodies, size_t body_count,
                                   uint64_t count, int rounds)
{
    for (size_t i = 0; i < body_count; i++)
        bodies[i].ns = INFINITY;
    for (int round = 0; round < rounds; round++) {
        for (size_t i = 0; i < body_count; i++) {
            const double start = bench_cpu_ns();
            bodies[i].body(count);
            const double ns = bench_cpu_ns() - start;
            if (bodies[i].after) bodies[i].after();
            // The first rounds fill caches, rings and predictors.
            if (round >= rounds / 8)
                bench_keep_min(&bodies[i].ns, ns / (double)count);
        }
    }
}

// Makes the compiler assume that memory changed; emits no instruction.
#define BENCH_BARRIER() __asm__ volatile("" ::: "memory")

/* ==== 3. Random numbers ================================================== */

// Deterministic, so that every run records the same workload.
typedef struct bench_random {
    uint64_t state;
} bench_random;

// Source: Steele, Lea, Flood 2014, SplitMix64.
static inline uint64_t bench_next(bench_random *random)
{
    uint64_t z = random->state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

// 0 <= result < limit.
static inline uint32_t bench_below(bench_random *random, uint32_t limit)
{
    return (uint32_t)((bench_next(random) >> 32) * limit >> 32);
}

// Log-uniform: a value between 1 and 10 is as likely as one between 10 and 100.
static inline double bench_log_uniform(bench_random *random, double low,
                                       double high)
{
    const double unit = (double)(bench_next(random) >> 11) / 0x1p53;
    return low * exp(unit * log(high / low));
}

/* ==== 4. Rows ============================================================ */

typedef enum bench_rule {
    BENCH_INFO,       // no budget
    BENCH_RATIO_MAX,  // figure / limit <= budget
    BENCH_FIGURE_MAX, // figure <= budget
    BENCH_FIGURE_MIN  // figure >= budget
} bench_rule;

typedef struct bench_row {
    const char *key;  // stable name, for JSON
    const char *what; // for people
    double figure;    // NaN: could not be measured
    const char *unit;
    double limit;          // yardstick of the same run, same unit; 0: none
    const char *yardstick; // name of the limit; NULL: none
    bench_rule rule;
    double budget;
} bench_row;

// Prints a row: key, what, figure, unit, limit, yardstick, rule, budget.
// bench/run.sh adds the ratio and the verdict.
static inline void bench_print(const bench_row *row)
{
    static const char *const rules[] = { "-", "ratio<=", "<=", ">=" };
    printf("%s\t%s\t%.6g\t%s\t%.6g\t%s\t%s\t%.6g\n", row->key, row->what,
           row->figure, row->unit, row->limit,
           row->yardstick ? row->yardstick : "-", rules[row->rule],
           row->budget);
    fflush(stdout);
}

/* ==== 5. Traces ========================================================== */

static inline uint64_t bench_file_bytes(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
}

// Opens a trace; ends the program if it cannot be read.
static inline ts_reader *bench_open(const char *path)
{
    ts_reader *reader = NULL;
    const ts_reader_desc desc = { .path = path };
    bench_need(ts_reader_open(&reader, &desc), path);
    return reader;
}

#endif // TS_BENCH_H
