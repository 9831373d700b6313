/*
    bench_opencl.c - the cost that the layer adds to an OpenCL kernel

    Child processes without and with the layer alternate. Each enqueues kernels
    of one work-item on PoCL, or whatever the first device is, and waits after
    every 1,000. For captures (hashes only, and full) the kernel changes 1 MiB,
    and the yardstick is a child with the layer but without a capture. OpenCL is
    loaded at run time: without it there are no rows.
*/
#include "bench/bench.h"
#include <dlfcn.h>
#include <sys/wait.h>

#define TS__OPENCL_IMPLEMENTED // only its types
#include "backends/opencl/abi.h"

enum { BATCH = 1000, TURNS = 5, WORDS = 1 << 18 };

typedef enum mode { ALONE, LAYER, CHANGES, HASHES, KEPT, MODES } mode;

typedef struct cost {
    double thread_ns, process_ns; // of one kernel
} cost;

static ts__cl_functions cl;
static int32_t (*get_platforms)(uint32_t room, ts__cl_handle *platforms,
                                uint32_t *count);
static int32_t (*get_devices)(ts__cl_handle platform, uint64_t type,
                              uint32_t room, ts__cl_handle *devices,
                              uint32_t *count);

static bool load(void)
{
    void *const library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_GLOBAL);
    void *found = NULL;
    if (!library) return false;
#define TS__X(place, type, name, params) \
    found = dlsym(library, #name); \
    memcpy(&cl.name, &found, sizeof found);
    TS__CL_HOOKED(TS__X)
    TS__CL_QUERIED(TS__X)
#undef TS__X
    found = dlsym(library, "clGetPlatformIDs");
    memcpy(&get_platforms, &found, sizeof found);
    found = dlsym(library, "clGetDeviceIDs");
    memcpy(&get_devices, &found, sizeof found);
    return get_platforms && get_devices && cl.clFinish;
}

// Makes a queue without profiling, and a kernel.
static bool prepare(bool changes, ts__cl_handle *queue, ts__cl_handle *kernel)
{
    const char *source = "__kernel void nothing(__global int *a, int b) "
                         "{ if (b) a[get_global_id(0)] += b; }";
    ts__cl_handle platform, device;
    int32_t error;
    if (get_platforms(1, &platform, NULL) ||
        get_devices(platform, UINT32_MAX, 1, &device, NULL))
        return false;
    ts__cl_handle const context =
        cl.clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    ts__cl_handle const program =
        cl.clCreateProgramWithSource(context, 1, &source, NULL, &error);
    if (error || cl.clBuildProgram(program, 1, &device, "", NULL, NULL))
        return false;
    *kernel = cl.clCreateKernel(program, "nothing", &error);
    *queue = cl.clCreateCommandQueue(context, device, 0, &error);
    ts__cl_handle const buffer =
        cl.clCreateBuffer(context, 1, changes ? 4 * WORDS : 64, NULL, &error);
    const int32_t by = changes;
    return !error && !cl.clSetKernelArg(*kernel, 0, sizeof buffer, &buffer) &&
           !cl.clSetKernelArg(*kernel, 1, sizeof by, &by);
}

// Enqueues the kernels of a round. With a capture each is waited for.
static bool enqueue(ts__cl_handle queue, ts__cl_handle kernel, bool changes,
                    int count)
{
    const size_t items = changes ? WORDS : 1, group = changes ? 64 : 1;
    for (int i = 0; i < count; i++)
        if (cl.clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &group, 0,
                                      NULL, NULL))
            return false;
    return true;
}

static bool measure(bool changes, cost *c)
{
    ts__cl_handle queue, kernel;
    const int count = changes ? 10 : BATCH;
    if (!load() || !prepare(changes, &queue, &kernel)) return false;
    c->thread_ns = c->process_ns = INFINITY;
    for (int round = 0; round < (bench.quick ? 10 : 40); round++) {
        const double process = bench_process_ns(), start = bench_cpu_ns();
        if (!enqueue(queue, kernel, changes, count)) return false;
        const double end = bench_cpu_ns();
        cl.clFinish(queue);
        if (!round) continue;
        bench_keep_min(&c->thread_ns, (end - start) / count);
        bench_keep_min(&c->process_ns, (bench_process_ns() - process) / count);
    }
    return true;
}

// The library reads the variables when it is loaded, so each mode needs a
// process.
static bool run(mode how, cost *c)
{
    int ends[2];
    if (pipe(ends)) return false;
    const pid_t child = fork();
    if (!child) {
        char inject[600];
        snprintf(inject, sizeof inject, "%s/libtracesmith-inject.so",
                 bench.bin);
        const bool layer = how != ALONE;
        setenv("POCL_CACHE_DIR", bench_path("pocl"), 1);
        if (how == HASHES) setenv("TRACESMITH_CAPTURE", "hashes", 1);
        if (how == KEPT) setenv("TRACESMITH_CAPTURE", "budget:4G", 1);
        char *const path = layer ? realpath(inject, NULL) : NULL;
        if (path) setenv("OPENCL_LAYERS", path, 1);
        if (path) setenv("TRACESMITH_OUT", bench_path("opencl.sbt"), 1);
        cost own = { 0, 0 };
        const bool ok = (!layer || path) && measure(how >= CHANGES, &own) &&
                        write(ends[1], &own, sizeof own) == sizeof own;
        exit(ok ? 0 : 1);
    }
    close(ends[1]);
    const bool ok = read(ends[0], c, sizeof *c) == sizeof *c;
    close(ends[0]);
    waitpid(child, NULL, 0);
    return ok;
}

int main(int argc, char **argv)
{
    bench_parse(argc, argv);
    cost least[MODES];
    for (int how = 0; how < MODES; how++)
        least[how].thread_ns = least[how].process_ns = INFINITY;
    for (int repeat = 0; repeat < TURNS; repeat++)
        for (int how = 0; how < MODES; how++) {
            cost c;
            if (!run((mode)how, &c)) {
                fprintf(stderr, "bench_opencl: no OpenCL here\n");
                return 0;
            }
            bench_keep_min(&least[how].thread_ns, c.thread_ns);
            bench_keep_min(&least[how].process_ns, c.process_ns);
        }
    const bench_row rows[] = {
        { .key = "opencl.enqueue",
          .what = "OpenCL: a kernel enqueued, on its thread",
          .figure = least[LAYER].thread_ns,
          .unit = "ns",
          .limit = least[ALONE].thread_ns,
          .yardstick = "without the layer" },
        { .key = "opencl.process",
          .what = "OpenCL: the same, all threads until it has run",
          .figure = least[LAYER].process_ns,
          .unit = "ns",
          .limit = least[ALONE].process_ns,
          .yardstick = "without the layer" },
        { .key = "opencl.hashes",
          .what = "OpenCL: a kernel that changes 1 MiB, hashes kept",
          .figure = least[HASHES].process_ns,
          .unit = "ns",
          .limit = least[CHANGES].process_ns,
          .yardstick = "without capture" },
        { .key = "opencl.kept",
          .what = "OpenCL: the same, all of it kept",
          .figure = least[KEPT].process_ns,
          .unit = "ns",
          .limit = least[CHANGES].process_ns,
          .yardstick = "without capture" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        bench_print(&rows[i]);
    return 0;
}
