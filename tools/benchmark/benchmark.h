/*
    benchmark.h - measures what recording costs on this machine's devices

    Launches an empty kernel `count` times from a stack of DEPTH frames, once in
    a process that records nothing and once in one that records everything,
    with the stack of each launch.
*/
#ifndef TS_BENCHMARK_H
#define TS_BENCHMARK_H

#include "tools/cli/cli.h"

enum { BENCHMARK_DEPTH = 12, BENCHMARK_BATCH = 1000 };

/*
    A backend that can launch kernels. `open` fills in the name of the device;
    if there is none, it returns false and *why is the reason, a clause for
    people. `finish` waits for the launched kernels. Any error ends the process,
    as nothing can be measured then.
*/
typedef struct benchmark_device {
    const char *backend;
    bool is_gpu;     // a real GPU, not an emulated one
    bool in_process; // starts a session itself instead of using ts-record
    bool (*open)(char *name, size_t size, const char **why);
    void (*launch)(void);
    void (*finish)(void);
} benchmark_device;

extern const benchmark_device benchmark_vdev, benchmark_opencl, benchmark_cuda,
    benchmark_hip;

// Launches `count` kernels in each of three rounds. Returns the duration of the
// fastest round in nanoseconds.
double benchmark_launches(const benchmark_device *device, uint64_t count);

// Starts a session that records stacks of `depth` frames, for a device that is
// `in_process`. End it with ts_session_stop.
bool benchmark_record_here(const char *path, uint32_t depth);

typedef struct benchmark_trace {
    uint64_t kernels, with_stack, lost, bytes;
} benchmark_trace;

// Counts the contents of a trace. False, with the reason on stderr, if it
// cannot be read.
bool benchmark_count(const cli_tool *tool, const char *path,
                     benchmark_trace *trace);

// Looks up a function of a library. False if the library does not have it.
bool benchmark_find(void *library, const char *name, void *function);
// Unless `fine`, prints `what` as failed and ends the process.
void benchmark_need(bool fine, const char *what);

#endif // TS_BENCHMARK_H
