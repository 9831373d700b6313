/*
    vdev_fixture.h - what the tests of the virtual accelerator share

    One vdev with two devices, opened before each test and closed after it,
    and calls that must work.
*/
#ifndef VDEV_FIXTURE_H
#define VDEV_FIXTURE_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "tests/unit.h"

#define TRACESMITH_VDEV_IMPLEMENTATION
#include "backends/ts_vdev.h"

#define VT_UNUSED __attribute__((unused))

static ts_vdev *vdev;

static void ok(ts_result result)
{
    assert_string_equal("ok", ts_result_text(result));
}

static void vt_open(ts_vdev_desc desc)
{
    desc.device_count = 2;
    if (!desc.memory_bytes) desc.memory_bytes = 1 << 20;
    ok(ts_vdev_open(&vdev, &desc));
}

VT_UNUSED static ts_vdev_stream vt_stream(uint32_t device, bool non_blocking,
                                          int32_t priority)
{
    const ts_vdev_stream_desc desc = { device, non_blocking, priority, NULL };
    ts_vdev_stream made;
    ok(ts_vdev_stream_create(&made, vdev, &desc));
    return made;
}

VT_UNUSED static ts_vdev_event vt_event(void)
{
    ts_vdev_event made;
    ok(ts_vdev_event_create(&made, vdev));
    return made;
}

// Memory of a device, where everything is expected to lie.
VT_UNUSED static void *vt_memory(uint32_t device, uint64_t size)
{
    void *ptr;
    ok(ts_vdev_malloc(&ptr, vdev, device, size));
    assert_int_equal(device, ts_vdev_pointer_device(vdev, ptr));
    assert_int_equal(0, (uintptr_t)ptr % 256);
    return ptr;
}

VT_UNUSED static ts_vdev_kernel vt_kernel(const char *name,
                                          ts_vdev_function function,
                                          size_t args_size, uint32_t shared)
{
    const ts_vdev_kernel_desc desc = { .name = name,
                                       .function = function,
                                       .args_size = args_size,
                                       .static_shared = shared };
    ts_vdev_kernel made;
    ok(ts_vdev_kernel_register(&made, vdev, &desc));
    return made;
}

VT_UNUSED static void vt_finish(void)
{
    ok(ts_vdev_device_synchronize(vdev, 0));
    ok(ts_vdev_device_synchronize(vdev, 1));
}

#endif // VDEV_FIXTURE_H
