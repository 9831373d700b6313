/*
    racy.c - a forgotten event wait, for ts-replay --races to find

    One stream uploads, another one computes and downloads. The second one must
    wait for the upload. Without the wait the upload is usually finished in
    time, so the program nearly always works. -fixed adds the wait.

        racy racy.sbt        && ts-replay --races racy.sbt
        racy -fixed good.sbt && ts-replay --explore 10000 good.sbt

    The vdev records which memory its copies access. A kernel declares with
    `roles` which arguments it reads and writes; the host records its accesses
    with ts_gpu_access_record.

    racy [-fixed] [TRACE]    (racy.sbt)
*/
#define _POSIX_C_SOURCE 200809L
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define TRACESMITH_VDEV_IMPLEMENTATION
#include "backends/ts_vdev.h"

enum { COUNT = 1024, STEPS = 4 };

typedef struct arguments {
    float *in, *out;
} arguments;

static void scale(const void *args, const ts_vdev_block *block)
{
    const arguments *const a = args;
    (void)block;
    for (int i = 0; i < COUNT; i++)
        a->out[i] = a->in[i] * 2;
}

typedef struct machine {
    ts_vdev *vdev;
    ts_vdev_stream upload, compute;
    ts_vdev_event uploaded, computed;
    ts_vdev_kernel scale;
    arguments device;
} machine;

static ts_result machine_open(machine *m)
{
    const ts_vdev_stream_desc streams[] = {
        { .non_blocking = true, .name = "upload" },
        { .non_blocking = true, .name = "compute" },
    };
    const ts_vdev_role roles[] = {
        { offsetof(arguments, in), TS_ACCESS_READ, COUNT * sizeof(float) },
        { offsetof(arguments, out), TS_ACCESS_WRITE, COUNT * sizeof(float) },
    };
    const ts_vdev_kernel_desc kernel = { .name = "scale",
                                         .function = scale,
                                         .args_size = sizeof(arguments),
                                         .role_count = 2,
                                         .roles = roles };
    const size_t size = COUNT * sizeof(float);
    ts_result result = ts_vdev_open(&m->vdev, NULL);
    if (result != TS_OK) return result;
    ts_vdev_stream_create(&m->upload, m->vdev, &streams[0]);
    ts_vdev_stream_create(&m->compute, m->vdev, &streams[1]);
    ts_vdev_event_create(&m->uploaded, m->vdev);
    ts_vdev_event_create(&m->computed, m->vdev);
    ts_vdev_malloc((void **)&m->device.in, m->vdev, 0, size);
    ts_vdev_malloc((void **)&m->device.out, m->vdev, 0, size);
    return ts_vdev_kernel_register(&m->scale, m->vdev, &kernel);
}

static void host_touches(const float *values, uint32_t mode)
{
    const ts_gpu_access access = { .mode = mode,
                                   .address = (uint64_t)(uintptr_t)values,
                                   .size = COUNT * sizeof *values };
    ts_gpu_access_record(&access);
}

static void step(const machine *m, float *host, bool fixed)
{
    TS_ZONE("step");
    const size_t size = COUNT * sizeof *host;
    const ts_vdev_launch_desc launch = { .args = &m->device };
    for (int i = 0; i < COUNT; i++)
        host[i] = (float)i;
    host_touches(host, TS_ACCESS_WRITE);
    ts_vdev_memcpy_async(m->vdev, m->upload, m->device.in, host, size);
    ts_vdev_event_record(m->vdev, m->uploaded, m->upload);
    if (fixed) ts_vdev_event_wait(m->vdev, m->uploaded, m->compute);
    ts_vdev_launch(m->vdev, m->compute, m->scale, &launch);
    ts_vdev_event_record(m->vdev, m->computed, m->compute);
    // The upload must end before the download overwrites its source, too.
    ts_vdev_event_synchronize(m->vdev, m->uploaded);
    ts_vdev_memcpy_async(m->vdev, m->compute, host, m->device.out, size);
    ts_vdev_stream_synchronize(m->vdev, m->compute);
    host_touches(host, TS_ACCESS_READ);
}

// Returns 0 for success; else prints the reason to stderr and returns 1.
static int exit_status(const char *path, ts_result result)
{
    if (result == TS_OK) return 0;
    fprintf(stderr, "racy: %s: %s\n", path, ts_result_text(result));
    return 1;
}

int main(int argc, char **argv)
{
    static float host[COUNT];
    const bool fixed = argc > 1 && !strcmp(argv[1], "-fixed");
    const char *const path = argc > 1 + fixed ? argv[1 + fixed] : "racy.sbt";
    const ts_session_desc desc = { .path = path };
    machine m = { 0 };
    ts_result result = ts_session_start(&desc);
    if (result == TS_OK) result = machine_open(&m);
    if (result != TS_OK) return exit_status(path, result);
    int wrong = 0;
    for (int i = 0; i < STEPS; i++) {
        step(&m, host, fixed);
        for (int k = 0; k < COUNT; k++)
            wrong += host[k] < (float)k * 2 || host[k] > (float)k * 2;
    }
    ts_vdev_free(m.vdev, m.device.in);
    ts_vdev_free(m.vdev, m.device.out);
    ts_vdev_close(m.vdev);
    printf("%s: %d steps, %d values wrong; wrote %s\n",
           fixed ? "fixed" : "racy", STEPS, wrong, path);
    return exit_status(path, ts_session_stop());
}
