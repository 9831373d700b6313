/*
    benchmark.h - what recording costs on this machine's devices

    A device launches an empty kernel as often as it is told, from a stack of
    DEPTH frames. That is timed in a process where nothing is recorded and in
    one where everything is, with the stack of each launch.
*/
#ifndef TS_BENCHMARK_H
#define TS_BENCHMARK_H

#include "tools/cli/cli.h"

enum { BENCHMARK_DEPTH = 12, BENCHMARK_BATCH = 1000 };

/*
    One way to launch. `open` says in `why`, a clause for people, why there is
    no such device, and names the one that is taken. `finish` waits for what was
    launched. Errors end the process: nothing can be measured then.
*/
typedef struct benchmark_device {
    const char *backend;
    bool is_gpu;     // no stand-in for one
    bool in_process; // records by a session of its own, not under ts-record
    bool (*open)(char *name, size_t size, const char **why);
    void (*launch)(void);
    void (*finish)(void);
} benchmark_device;

extern const benchmark_device benchmark_vdev, benchmark_opencl, benchmark_cuda,
    benchmark_hip;

// Launches `count` times; nanoseconds of the best of three rounds, each of all
// of them.
double benchmark_launches(const benchmark_device *device, uint64_t count);

// Starts a session that takes stacks of so many frames, for a device that is
// `in_process`. ts_session_stop ends it.
bool benchmark_record_here(const char *path, uint32_t depth);

typedef struct benchmark_trace {
    uint64_t kernels, with_stack, lost, bytes;
} benchmark_trace;

// What a trace holds. false, with the reason on stderr: it cannot be read.
bool benchmark_count(const cli_tool *tool, const char *path,
                     benchmark_trace *trace);

// Loads a function of a library; false: it has none of that name.
bool benchmark_find(void *library, const char *name, void *function);
// Ends the process with what failed, if it did.
void benchmark_need(bool fine, const char *what);

#endif // TS_BENCHMARK_H
