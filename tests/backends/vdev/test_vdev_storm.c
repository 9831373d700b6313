/* The virtual accelerator: memory, arguments, bad calls, and a lot at once. */
#define _GNU_SOURCE
#include <sys/wait.h>
#include <unistd.h>
#include "tests/backends/vdev/vdev_fixture.h"

enum { MEMORY = 1 << 20 };

static void refused(ts_result result)
{
    assert_int_equal(TS_ERR_USAGE, result);
}

static int open_two(void **state)
{
    const ts_vdev_desc desc = { .compute_units = 3,
                                .memory_bytes = MEMORY,
                                .shared_bytes = 1024 };
    vt_open(desc);
    return 0;
}

static int close_it(void **state)
{
    return ts_vdev_close(vdev) == TS_OK ? 0 : -1;
}

static ts_vdev_kernel kernel(ts_vdev_function function, size_t args_size)
{
    return vt_kernel("kernel", function, args_size, 24);
}

/* ---- Memory ------------------------------------------------------------- */

UNIT_TEST_WITHIN(memory_is_used_up_and_comes_back, open_two, close_it)
{
    void *const first = vt_memory(0, MEMORY / 2), *const second =
                                                      vt_memory(0, 1000);
    void *ptr = first;
    assert_int_equal(TS_ERR_MEMORY, ts_vdev_malloc(&ptr, vdev, 0, MEMORY / 2));
    assert_null(ptr);
    assert_int_equal(TS_ERR_MEMORY, ts_vdev_malloc(&ptr, vdev, 0, UINT64_MAX));
    assert_ptr_not_equal(first, vt_memory(1, MEMORY));
    ok(ts_vdev_free(vdev, first));
    assert_ptr_equal(first, vt_memory(0, MEMORY / 4));
    assert_true((char *)vt_memory(0, MEMORY / 4) < (char *)second);
    assert_true((char *)vt_memory(0, 1) > (char *)second);
}

UNIT_TEST_WITHIN(bad_memory_calls_are_refused, open_two, close_it)
{
    char host[16];
    char *const ptr = vt_memory(0, 100);
    void *out;
    refused(ts_vdev_malloc(&out, vdev, 2, 1));
    refused(ts_vdev_malloc(&out, vdev, 0, 0));
    refused(ts_vdev_malloc(NULL, vdev, 0, 1));
    refused(ts_vdev_malloc(&out, NULL, 0, 1));
    refused(ts_vdev_free(vdev, host));
    refused(ts_vdev_free(vdev, ptr + 1));
    refused(ts_vdev_memcpy(vdev, 0, ptr + 90, host, 11));
    refused(ts_vdev_memcpy(vdev, 0, host, ptr + 100, 0));
    refused(ts_vdev_memcpy(vdev, 0, NULL, ptr, 1));
    refused(ts_vdev_memcpy(vdev, 0, ptr, ptr, UINT64_MAX));
    refused(ts_vdev_memset_async(vdev, 0, host, 0, 1));
    ok(ts_vdev_free(vdev, NULL));
    ok(ts_vdev_free(vdev, ptr));
    refused(ts_vdev_free(vdev, ptr));
    refused(ts_vdev_memcpy(vdev, 0, host, ptr, 1));
    assert_int_equal(-1, ts_vdev_pointer_device(vdev, host));
    assert_int_equal(-1, ts_vdev_pointer_device(NULL, ptr));
}

UNIT_TEST_WITHIN(copies_go_everywhere, open_two, close_it)
{
    char in[64] = "from here", out[64] = "";
    char *const one = vt_memory(0, 64), *const two = vt_memory(0, 64);
    char *const other = vt_memory(1, 64);
    ok(ts_vdev_memcpy_async(vdev, 0, one, in, 64));
    ok(ts_vdev_memset_async(vdev, 0, one + 9, '!', 2));
    ok(ts_vdev_memcpy_async(vdev, 0, two, one, 64));
    ok(ts_vdev_memcpy_async(vdev, 0, other, two, 64));
    ok(ts_vdev_memcpy_async(vdev, 0, in + 32, other, 32));
    ok(ts_vdev_memcpy(vdev, 0, out, in + 32, 32));
    assert_string_equal("from here!!", out);
}

static void spin_a_little(const void *args, const ts_vdev_block *block)
{
    volatile uint32_t *const value = *(volatile uint32_t *const *)args;
    for (int i = 0; i < 100000; i++)
        *value = *value + block->grid[0];
}

UNIT_TEST_WITHIN(free_waits_for_the_device, open_two, close_it)
{
    void *const value = vt_memory(0, 4);
    const ts_vdev_launch_desc desc = { .args = &value };
    ok(ts_vdev_memset_async(vdev, 0, value, 0, 4));
    ok(ts_vdev_launch(vdev, 0, kernel(spin_a_little, sizeof value), &desc));
    ok(ts_vdev_free(vdev, value));
    assert_int_equal(100000, *(uint32_t *)value); // still mapped
}

/* ---- Kernels ------------------------------------------------------------ */

typedef struct grid_args {
    uint8_t *hits; // 5 x 4 x 3
    uint64_t check;
} grid_args;

static void hit(const void *args, const ts_vdev_block *block)
{
    const grid_args *const g = args;
    const uint32_t *const i = block->index;
    memset(block->shared, 1, block->shared_size);
    if (g->check == 42 && block->grid[0] == 5 && block->size[1] == 7 &&
        block->size[2] == 1 && block->shared_size == 124)
        g->hits[i[0] + 5 * (i[1] + 4 * i[2])]++;
}

UNIT_TEST_WITHIN(every_block_runs_once_with_the_arguments_of_the_launch,
                 open_two, close_it)
{
    uint8_t hits[60] = { 0 };
    grid_args args = { vt_memory(0, 60), 42 };
    const ts_vdev_launch_desc desc = { .grid = { 5, 4, 3 },
                                       .block = { 2, 7 },
                                       .args = &args,
                                       .shared_bytes = 100 };
    ok(ts_vdev_memset_async(vdev, 0, args.hits, 0, 60));
    ok(ts_vdev_launch(vdev, 0, kernel(hit, sizeof args), &desc));
    uint8_t *const on_device = args.hits;
    memset(&args, 0, sizeof args); // copied: this changes nothing
    ok(ts_vdev_memcpy(vdev, 0, hits, on_device, 60));
    for (int i = 0; i < 60; i++)
        assert_int_equal(1, hits[i]);
}

UNIT_TEST_WITHIN(bad_launches_are_refused, open_two, close_it)
{
    const ts_vdev_kernel k = kernel(hit, sizeof(grid_args));
    const grid_args args = { NULL, 0 };
    const ts_vdev_launch_desc no_args = { .grid = { 1 } };
    const ts_vdev_launch_desc many = { .grid = { 65536, 65536 },
                                       .args = &args };
    const ts_vdev_launch_desc huge = { .grid = { 4294967295u, 4294967295u, 2 },
                                       .args = &args };
    const ts_vdev_launch_desc shared = { .args = &args, .shared_bytes = 1001 };
    refused(ts_vdev_launch(vdev, 0, k, NULL));
    refused(ts_vdev_launch(vdev, 0, k, &no_args));
    refused(ts_vdev_launch(vdev, 0, k, &many));
    refused(ts_vdev_launch(vdev, 0, k, &huge));
    refused(ts_vdev_launch(vdev, 0, k, &shared));
    refused(ts_vdev_launch(vdev, 0, k + 1, &shared));
    refused(ts_vdev_launch(vdev, k, k, &shared));
    refused(ts_vdev_host_function(vdev, 0, "none", NULL, NULL));
    const ts_vdev_kernel_desc nameless = { .function = hit };
    const ts_vdev_kernel_desc wide = { .name = "k",
                                       .function = hit,
                                       .args_size = 4097 };
    ts_vdev_kernel out;
    refused(ts_vdev_kernel_register(&out, vdev, &nameless));
    refused(ts_vdev_kernel_register(&out, vdev, &wide));
    refused(ts_vdev_kernel_register(&out, vdev, NULL));
    assert_int_equal(0, out);
}

UNIT_TEST_WITHIN(handles_are_dead_after_destroy_and_never_mixed_up, open_two,
                 close_it)
{
    ts_vdev_stream s, d;
    ts_vdev_event e;
    bool done;
    ok(ts_vdev_stream_create(&s, vdev, NULL));
    ok(ts_vdev_event_create(&e, vdev));
    ok(ts_vdev_stream_default(&d, vdev, 0));
    refused(ts_vdev_event_record(vdev, s, s));
    refused(ts_vdev_event_wait(vdev, e, e));
    refused(ts_vdev_stream_destroy(vdev, e));
    refused(ts_vdev_stream_destroy(vdev, d));
    refused(ts_vdev_stream_destroy(vdev, 0));
    ok(ts_vdev_event_destroy(vdev, e));
    ok(ts_vdev_stream_destroy(vdev, s));
    const ts_vdev_event dead = e;
    const ts_vdev_stream gone = s;
    ok(ts_vdev_stream_create(&s, vdev, NULL)); // reuses the slot
    ok(ts_vdev_event_create(&e, vdev));
    refused(ts_vdev_event_synchronize(vdev, dead));
    refused(ts_vdev_event_query(&done, vdev, dead));
    refused(ts_vdev_event_destroy(vdev, dead));
    refused(ts_vdev_stream_synchronize(vdev, gone));
    refused(ts_vdev_stream_query(&done, vdev, gone));
    refused(ts_vdev_stream_query(NULL, vdev, s));
    refused(ts_vdev_device_synchronize(vdev, 2));
    refused(ts_vdev_stream_default(&d, vdev, 2));
    const ts_vdev_stream_desc nowhere = { .device = 2 };
    const ts_vdev_stream_desc extreme = { .priority = 32768 };
    refused(ts_vdev_stream_create(&s, vdev, &nowhere));
    refused(ts_vdev_stream_create(&s, vdev, &extreme));
}

static void call_back(void *user)
{
    ts_result *const results = user;
    results[0] = ts_vdev_device_synchronize(vdev, 0);
    results[1] = ts_vdev_close(vdev);
}

UNIT_TEST_WITHIN(a_host_function_must_not_call, open_two, close_it)
{
    ts_result results[2] = { TS_OK, TS_OK };
    ok(ts_vdev_host_function(vdev, 0, NULL, call_back, results));
    ok(ts_vdev_stream_synchronize(vdev, 0));
    assert_int_equal(TS_ERR_STATE, results[0]);
    assert_int_equal(TS_ERR_STATE, results[1]);
}

UNIT_TEST_WITHIN(a_child_gets_errors_and_does_not_hang, open_two, close_it)
{
    const pid_t child = fork();
    if (!child) {
        const bool right =
            ts_vdev_stream_synchronize(vdev, 0) == TS_ERR_STATE &&
            ts_vdev_close(vdev) == TS_ERR_STATE;
        _exit(right ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_int_equal(0, status);
    ok(ts_vdev_stream_synchronize(vdev, 0)); // the parent goes on
}

UNIT_TEST_WITHIN(impossible_devices_are_refused, open_two, close_it)
{
    ts_vdev *other = vdev;
    const ts_vdev_desc many = { .device_count = 65 };
    refused(ts_vdev_open(&other, &many));
    assert_null(other);
    refused(ts_vdev_open(NULL, NULL));
    ok(ts_vdev_open(&other, NULL));
    ok(ts_vdev_close(other));
    ok(ts_vdev_close(NULL));
}

/* ---- A lot at once ------------------------------------------------------ */

static void add_one(const void *args, const ts_vdev_block *block)
{
    uint64_t *const value = *(uint64_t *const *)args;
    ++*value; // stream order makes it safe
}

UNIT_TEST_WITHIN(a_thousand_streams, open_two, close_it)
{
    enum { COUNT = 1000 };
    ts_vdev_stream *const streams = calloc(COUNT, sizeof *streams);
    uint64_t *const values = vt_memory(0, COUNT * sizeof *values);
    const ts_vdev_kernel k = kernel(add_one, sizeof values);
    ok(ts_vdev_memset_async(vdev, 0, values, 0, COUNT * sizeof *values));
    for (int i = 0; i < COUNT; i++)
        ok(ts_vdev_stream_create(&streams[i], vdev, NULL));
    for (int i = 0; i < 4 * COUNT; i++) {
        uint64_t *const value = &values[i % COUNT];
        const ts_vdev_launch_desc desc = { .args = &value };
        ok(ts_vdev_launch(vdev, streams[i % COUNT], k, &desc));
    }
    for (int i = 0; i < COUNT; i += 2) // half of them with work pending
        ok(ts_vdev_stream_destroy(vdev, streams[i]));
    uint64_t *const out = calloc(COUNT, sizeof *out);
    ok(ts_vdev_memcpy(vdev, 0, out, values, COUNT * sizeof *values));
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(4, out[i]);
    free(streams);
    free(out);
}

typedef struct storm {
    ts_vdev_kernel kernel;
    uint64_t *value; // of this thread
    uint32_t device;
    ts_result result;
} storm;

// Chains two streams of a thread by events, so that `value` has one writer.
static void *storm_main(void *arg)
{
    storm *const s = arg;
    const ts_vdev_stream_desc desc = { .device = s->device };
    const ts_vdev_launch_desc launch = { .args = &s->value };
    ts_vdev_stream streams[2];
    ts_vdev_event event;
    int bad = 0;
    bad |= ts_vdev_stream_create(&streams[0], vdev, &desc);
    bad |= ts_vdev_stream_create(&streams[1], vdev, NULL);
    bad |= ts_vdev_event_create(&event, vdev);
    for (int i = 0; i < 500; i++) {
        bad |= ts_vdev_launch(vdev, streams[i % 2], s->kernel, &launch);
        bad |= ts_vdev_event_record(vdev, event, streams[i % 2]);
        bad |= ts_vdev_event_wait(vdev, event, streams[1 - i % 2]);
        if (i % 100 == 99) {
            bad |= ts_vdev_event_destroy(vdev, event);
            bad |= ts_vdev_event_create(&event, vdev);
            bad |= ts_vdev_stream_synchronize(vdev, streams[0]);
        }
    }
    bad |= ts_vdev_stream_destroy(vdev, streams[0]);
    bad |= ts_vdev_stream_destroy(vdev, streams[1]);
    s->result = (ts_result)bad;
    return NULL;
}

UNIT_TEST_WITHIN(eight_threads_launch_at_once, open_two, close_it)
{
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    storm storms[THREADS];
    const ts_vdev_kernel k = kernel(add_one, sizeof(uint64_t *));
    for (uint32_t i = 0; i < THREADS; i++) {
        const storm s = { k, vt_memory(i % 2, sizeof(uint64_t)), i % 2, TS_OK };
        storms[i] = s;
        ok(ts_vdev_memset_async(vdev, 0, s.value, 0, sizeof *s.value));
    }
    ok(ts_vdev_device_synchronize(vdev, 0));
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, storm_main, &storms[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    vt_finish();
    for (int i = 0; i < THREADS; i++) {
        ok(storms[i].result);
        assert_int_equal(500, *storms[i].value);
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
