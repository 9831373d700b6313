/*
    vdev.c - explored orders on the virtual accelerator

    Each stream and thread of the trace becomes a stream of the vdev. Each step
    becomes a kernel that makes the same accesses to symbolic memory on the
    device. Events between the streams enforce the order under test; without
    them the order would depend on the scheduling of threads.
*/
#define _POSIX_C_SOURCE 200809L
#include "backends/ts_vdev.h"
#include "tools/replay/races/races.h"

enum { STREAMS = 64, STEPS_MOST = 20000, ORDERS_MOST = 8 };

typedef struct machine {
    const ts_races *races;
    ts_vdev *vdev;
    ts_vdev_stream streams[STREAMS];
    ts_vdev_event done;
    ts_vdev_kernel step;
    void *memory;
} machine;

typedef struct step_args {
    const ts_races *races;
    void *memory;
    uint32_t step;
} step_args;

static void run_step(const void *args, const ts_vdev_block *block)
{
    const step_args *const a = args;
    (void)block;
    ts_races_memory_step(a->races, a->memory, a->step);
}

static bool machine_open(machine *m, const ts_races *races)
{
    const size_t size = ts_races_memory_size(races);
    const ts_vdev_desc desc = { .memory_bytes = size + 4096 };
    const ts_vdev_stream_desc stream = { .non_blocking = true };
    const ts_vdev_kernel_desc kernel = { .name = "step",
                                         .function = run_step,
                                         .args_size = sizeof(step_args) };
    m->races = races;
    bool ok = ts_vdev_open(&m->vdev, &desc) == TS_OK &&
              ts_vdev_malloc(&m->memory, m->vdev, 0, size) == TS_OK &&
              ts_vdev_event_create(&m->done, m->vdev) == TS_OK &&
              ts_vdev_kernel_register(&m->step, m->vdev, &kernel) == TS_OK;
    for (int i = 0; ok && i < STREAMS; i++)
        ok = ts_vdev_stream_create(&m->streams[i], m->vdev, &stream) == TS_OK;
    return ok;
}

static bool run_order(machine *m, const uint32_t *order, size_t count,
                      uint64_t *digest)
{
    ts_vdev_stream last = 0;
    bool ok = true;
    ts_races_memory_clear(m->races, m->memory);
    for (size_t i = 0; ok && i < count; i++) {
        const step_args args = { m->races, m->memory, order[i] };
        const ts_vdev_launch_desc launch = { .args = &args };
        const uint32_t lane = ts_races_step_lane(m->races, order[i]);
        const ts_vdev_stream stream = m->streams[lane % STREAMS];
        if (i && stream != last)
            ok = ts_vdev_event_wait(m->vdev, m->done, stream) == TS_OK;
        ok = ok && ts_vdev_launch(m->vdev, stream, m->step, &launch) == TS_OK &&
             ts_vdev_event_record(m->vdev, m->done, stream) == TS_OK;
        last = stream;
    }
    if (ts_vdev_device_synchronize(m->vdev, 0) != TS_OK) return false;
    *digest = ts_races_memory_digest(m->races, m->memory);
    return ok;
}

// Runs the recorded order, then others; stops at the first different result.
static bool run_orders(races_job *job, machine *m, uint32_t *order)
{
    const ts_exploration *const e = &job->exploration;
    const size_t count = (size_t)e->operations;
    uint64_t recorded, digest, seed = e->differs ? e->seed : job->options.seed;
    const uint64_t orders = e->differs                ? 1
                            : e->orders < ORDERS_MOST ? e->orders
                                                      : ORDERS_MOST;
    if (ts_races_order(job->races, NULL, order) != TS_OK ||
        !run_order(m, order, count, &recorded))
        return false;
    for (uint64_t i = 0; i < orders; i++, seed++) {
        if (ts_races_order(job->races, &seed, order) != TS_OK ||
            !run_order(m, order, count, &digest))
            return false;
        job->vdev_orders++;
        job->vdev_differs |= digest != recorded;
    }
    return true;
}

void races_vdev(races_job *job)
{
    const size_t count = (size_t)job->exploration.operations;
    machine m = { 0 };
    if (!count || count > STEPS_MOST) return;
    uint32_t *const order = calloc(count, sizeof *order);
    if (!order || !machine_open(&m, job->races) || !run_orders(job, &m, order))
        job->vdev_orders = 0;
    ts_vdev_close(m.vdev);
    free(order);
}
