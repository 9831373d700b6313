/*
    bench_opencl.c - what the layer adds to a kernel that OpenCL enqueues

    A child without the layer and one with it, each several times in turns,
    enqueue kernels of one work-item on PoCL, or whatever the first device is,
    and wait for each 1,000. Nothing is linked: where there is no OpenCL there
    are no rows.
*/
#include "bench/bench.h"
#include <dlfcn.h>
#include <sys/wait.h>

#define TS__OPENCL_IMPLEMENTED // its types alone
#include "backends/ts_opencl_abi.h"

enum { BATCH = 1000, TURNS = 5 };

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
    TS__CL_ASKED(TS__X)
#undef TS__X
    found = dlsym(library, "clGetPlatformIDs");
    memcpy(&get_platforms, &found, sizeof found);
    found = dlsym(library, "clGetDeviceIDs");
    memcpy(&get_devices, &found, sizeof found);
    return get_platforms && get_devices && cl.clFinish;
}

// Kernels of a queue that the program did not ask to time.
static bool prepare(ts__cl_handle *queue, ts__cl_handle *kernel)
{
    const char *source = "__kernel void nothing(__global int *a, int b) "
                         "{ if (b) a[0] = b; }";
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
        cl.clCreateBuffer(context, 1, 64, NULL, &error);
    const int32_t zero = 0;
    return !error && !cl.clSetKernelArg(*kernel, 0, sizeof buffer, &buffer) &&
           !cl.clSetKernelArg(*kernel, 1, sizeof zero, &zero);
}

static bool measure(cost *c)
{
    ts__cl_handle queue, kernel;
    const size_t one = 1;
    if (!load() || !prepare(&queue, &kernel)) return false;
    c->thread_ns = c->process_ns = INFINITY;
    for (int round = 0; round < (bench.quick ? 10 : 40); round++) {
        const double process = bench_process_ns(), start = bench_cpu_ns();
        for (int i = 0; i < BATCH; i++)
            if (cl.clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0,
                                          NULL, NULL))
                return false;
        const double end = bench_cpu_ns();
        cl.clFinish(queue);
        if (!round) continue;
        bench_keep_min(&c->thread_ns, (end - start) / BATCH);
        bench_keep_min(&c->process_ns, (bench_process_ns() - process) / BATCH);
    }
    return true;
}

// The variables are read when the library is loaded: a process each.
static bool run(bool layer, cost *c)
{
    int ends[2];
    if (pipe(ends)) return false;
    const pid_t child = fork();
    if (!child) {
        char inject[600];
        snprintf(inject, sizeof inject, "%s/libtracesmith-inject.so",
                 bench.bin);
        setenv("POCL_CACHE_DIR", bench_path("pocl"), 1);
        char *const path = layer ? realpath(inject, NULL) : NULL;
        if (path) setenv("OPENCL_LAYERS", path, 1);
        if (path) setenv("TRACESMITH_OUT", bench_path("opencl.sbt"), 1);
        cost own = { 0, 0 };
        const bool ok = (!layer || path) && measure(&own) &&
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
    cost least[2] = { { INFINITY, INFINITY }, { INFINITY, INFINITY } };
    for (int turn = 0; turn < TURNS; turn++)
        for (int layer = 0; layer < 2; layer++) {
            cost c;
            if (!run(layer, &c)) {
                fprintf(stderr, "bench_opencl: no OpenCL here\n");
                return 0;
            }
            bench_keep_min(&least[layer].thread_ns, c.thread_ns);
            bench_keep_min(&least[layer].process_ns, c.process_ns);
        }
    const bench_row rows[] = {
        { .key = "opencl.enqueue",
          .what = "OpenCL: a kernel enqueued, on its thread",
          .figure = least[1].thread_ns,
          .unit = "ns",
          .limit = least[0].thread_ns,
          .yardstick = "without the layer" },
        { .key = "opencl.process",
          .what = "OpenCL: the same, all threads until it has run",
          .figure = least[1].process_ns,
          .unit = "ns",
          .limit = least[0].process_ns,
          .yardstick = "without the layer" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        bench_print(&rows[i]);
    return 0;
}
