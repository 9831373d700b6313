/*
    run.c - times launches, and counts them in a trace
*/
#define _GNU_SOURCE
#include "tools/benchmark/benchmark.h"
#include <dlfcn.h>
#include <sys/stat.h>

enum { ROUNDS = 3 };

bool benchmark_find(void *library, const char *name, void *function)
{
    void *const symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

void benchmark_need(bool fine, const char *what)
{
    if (fine) return;
    fprintf(stderr, "ts-benchmark: %s failed\n", what);
    exit(CLI_FAILED);
}

// Recursion that makes the frames of a stack. Code after the call prevents a
// tail call, which would reuse the frame.
__attribute__((noinline)) static uint32_t
launch_from(const benchmark_device *device, uint32_t depth)
{
    if (!depth) {
        device->launch();
        return 0;
    }
    const uint32_t frames = launch_from(device, depth - 1) + 1;
    __asm__ volatile("" ::: "memory");
    return frames;
}

double benchmark_launches(const benchmark_device *device, uint64_t count)
{
    double best = 0;
    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t begun = cli_now_ns();
        for (uint64_t i = 0; i < count; i++) {
            benchmark_need(launch_from(device, BENCHMARK_DEPTH) ==
                               BENCHMARK_DEPTH,
                           "a launch");
            if (i % BENCHMARK_BATCH == BENCHMARK_BATCH - 1) device->finish();
        }
        device->finish();
        const double took = (double)(cli_now_ns() - begun);
        if (!round || took < best) best = took;
    }
    return best;
}

bool benchmark_count(const cli_tool *tool, const char *path,
                     benchmark_trace *trace)
{
    cli_trace opened;
    ts_cursor *cursor;
    ts_event event;
    struct stat st;
    const ts_filter kernels = { .kinds = UINT64_C(1) << TS_EVENT_KERNEL };
    *trace = (benchmark_trace){ 0 };
    if (!cli_trace_open(&opened, tool, path, NULL, CLI_WARN_NONE)) return false;
    trace->lost = opened.info->lost;
    if (!stat(path, &st)) trace->bytes = (uint64_t)st.st_size;
    ts_result result = ts_cursor_open(&cursor, opened.reader, &kernels);
    while (result == TS_OK && ts_cursor_next(cursor, &event)) {
        trace->kernels++;
        trace->with_stack += ts_event_value(&event, TS_COLUMN_STACK) != 0;
    }
    if (result == TS_OK) result = ts_cursor_result(cursor);
    if (result != TS_OK) cli_error(tool, path, "%s", ts_result_text(result));
    ts_cursor_close(cursor);
    cli_trace_close(&opened);
    return result == TS_OK;
}
