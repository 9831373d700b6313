/* The virtual accelerator when memory runs out: every allocation in turn. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// The allocations of the implementation below; the countdown-th fails.
static long countdown = -1;

static void *unless_failed(void *ptr)
{
    if (__atomic_fetch_sub(&countdown, 1, __ATOMIC_RELAXED)) return ptr;
    free(ptr);
    return NULL;
}

static void *failing_calloc(size_t count, size_t size)
{
    return unless_failed(calloc(count, size));
}

static void *failing_aligned_alloc(size_t alignment, size_t size)
{
    return unless_failed(aligned_alloc(alignment, size));
}

// A realloc that fails leaves the old memory alone.
static void *failing_realloc(void *ptr, size_t size)
{
    if (!__atomic_fetch_sub(&countdown, 1, __ATOMIC_RELAXED)) return NULL;
    return realloc(ptr, size);
}

#define calloc        failing_calloc
#define aligned_alloc failing_aligned_alloc
#define realloc       failing_realloc
#include "tests/backends/vdev/vdev_fixture.h"
#undef calloc
#undef aligned_alloc
#undef realloc

static int failures, others;

// Every call either works or says that memory is out.
static bool tried(ts_result result)
{
    failures += result == TS_ERR_MEMORY;
    others += result != TS_OK && result != TS_ERR_MEMORY;
    return result == TS_OK;
}

static void add(const void *args, const ts_vdev_block *block)
{
    uint64_t *const value = *(uint64_t *const *)args;
    __atomic_fetch_add(value, 1 + block->index[0], __ATOMIC_RELAXED);
}

static void bump(void *user)
{
    ++*(int *)user;
}

// Makes every call that allocates, and goes on without what failed.
static void use_everything(void)
{
    const ts_vdev_kernel_desc add_desc = { .name = "add",
                                           .function = add,
                                           .args_size = sizeof(void *) };
    ts_vdev_stream stream;
    ts_vdev_event event;
    ts_vdev_kernel kernel;
    void *ptr;
    uint64_t value = 0;
    int bumped = 0;
    if (!tried(ts_vdev_stream_create(&stream, vdev, NULL))) return;
    if (!tried(ts_vdev_event_create(&event, vdev))) return;
    if (!tried(ts_vdev_kernel_register(&kernel, vdev, &add_desc))) return;
    if (!tried(ts_vdev_malloc(&ptr, vdev, 0, sizeof value))) return;
    const ts_vdev_launch_desc launch = { .grid = { 3 }, .args = &ptr };
    int expected = 0;
    bool set = tried(ts_vdev_memset_async(vdev, stream, ptr, 0, 8));
    if (tried(ts_vdev_launch(vdev, stream, kernel, &launch))) expected = 6;
    tried(ts_vdev_event_record(vdev, event, stream));
    tried(ts_vdev_event_wait(vdev, event, 0));
    const bool called =
        tried(ts_vdev_host_function(vdev, stream, "bump", bump, &bumped));
    tried(ts_vdev_event_synchronize(vdev, event));
    tried(ts_vdev_stream_synchronize(vdev, stream));
    const bool read = tried(ts_vdev_memcpy(vdev, stream, &value, ptr, 8));
    tried(ts_vdev_device_synchronize(vdev, 1));
    if (set && read) assert_int_equal(expected, value);
    if (!tried(ts_vdev_device_synchronize(vdev, 0)))
        ok(ts_vdev_device_synchronize(vdev, 0)); // one fails, not two
    assert_int_equal(called, bumped);
    if (!tried(ts_vdev_free(vdev, ptr))) ok(ts_vdev_free(vdev, ptr));
    ok(ts_vdev_event_destroy(vdev, event));
    ok(ts_vdev_stream_destroy(vdev, stream));
}

UNIT_TEST(every_allocation_may_fail)
{
    const ts_vdev_desc desc = { .device_count = 2, .memory_bytes = 4096 };
    long n = 0;
    for (;; n++) {
        failures = others = 0;
        __atomic_store_n(&countdown, n, __ATOMIC_RELAXED);
        if (tried(ts_vdev_open(&vdev, &desc)))
            use_everything();
        else
            assert_null(vdev);
        const bool reached =
            __atomic_exchange_n(&countdown, -1, __ATOMIC_RELAXED) < 0;
        ok(ts_vdev_close(vdev));
        assert_int_equal(0, others);
        if (!reached) break;
        assert_int_equal(1, failures);
    }
    assert_true(n > 28); // what an open and all of the calls allocate
}

// A size beyond the limit is refused without trying.
UNIT_TEST(too_many_threads_are_refused_cleanly)
{
    const ts_vdev_desc desc = { .compute_units = 1025 };
    assert_int_equal(TS_ERR_USAGE, ts_vdev_open(&vdev, &desc));
    assert_null(vdev);
}

UNIT_TEST(a_queue_survives_a_failed_launch)
{
    const ts_vdev_desc desc = { .queue_ops = 2 };
    vt_open(desc);
    uint64_t *const value = vt_memory(0, sizeof *value);
    const ts_vdev_kernel kernel = vt_kernel("add", add, sizeof value, 0);
    const ts_vdev_launch_desc launch = { .args = &value };
    uint64_t expected = 0;
    *value = 0;
    for (int i = 0; i < 100; i++) {
        __atomic_store_n(&countdown, i % 3 - 1, __ATOMIC_RELAXED);
        expected += ts_vdev_launch(vdev, 0, kernel, &launch) == TS_OK;
        __atomic_store_n(&countdown, -1, __ATOMIC_RELAXED);
    }
    vt_finish();
    assert_true(expected < 100 && expected > 60);
    assert_int_equal(expected, *value);
    ok(ts_vdev_close(vdev));
}

int main(void)
{
    return unit_run(NULL, NULL);
}
