/*
    vdev.c - launches on the virtual device in the process
*/
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define TRACESMITH_VDEV_IMPLEMENTATION
#define TRACESMITH_UNWIND_IMPLEMENTATION
#include "backends/ts_vdev.h"

#include "backends/ts_stack.h"
#include "tools/benchmark/benchmark.h"

static ts_vdev *vdev;
static ts_vdev_kernel kernel;

static void nothing(const void *args, const ts_vdev_block *block)
{
    (void)args, (void)block;
}

static bool open_vdev(char *name, size_t size, const char **why)
{
    const ts_vdev_kernel_desc desc = { .name = "nothing", .function = nothing };
    snprintf(name, size, "vdev, in this process");
    *why = "its threads cannot be started";
    return ts_vdev_open(&vdev, NULL) == TS_OK &&
           ts_vdev_kernel_register(&kernel, vdev, &desc) == TS_OK;
}

static void launch_vdev(void)
{
    const ts_vdev_launch_desc desc = { 0 };
    benchmark_need(ts_vdev_launch(vdev, 0, kernel, &desc) == TS_OK,
                   "ts_vdev_launch");
}

static void finish_vdev(void)
{
    benchmark_need(ts_vdev_stream_synchronize(vdev, 0) == TS_OK,
                   "ts_vdev_stream_synchronize");
}

bool benchmark_record_here(const char *path, uint32_t depth)
{
    const ts_session_desc desc = { .path = path };
    if (ts_session_start(&desc) != TS_OK) return false;
    ts_stack_launches(depth);
    return true;
}

const benchmark_device benchmark_vdev = { .backend = "vdev",
                                          .in_process = true,
                                          .open = open_vdev,
                                          .launch = launch_vdev,
                                          .finish = finish_vdev };
