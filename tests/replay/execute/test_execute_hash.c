// If a device reports hashes, only what differs is read, and the results of
// operations are the same.
#define _GNU_SOURCE
#include "tests/replay/execute/execute_fixture.h"

static unsigned reads, asks;
static bool lies, refuses;

static ts_result count_read(void *state, void *bytes, uint64_t address,
                            uint64_t size)
{
    reads++;
    return ts_vdev_executor.read(state, bytes, address, size);
}

// The memory of this device is the process's own.
static ts_result hash_chunks(void *state, uint64_t address, uint64_t size,
                             uint64_t *hashes)
{
    const uint8_t *at = (const uint8_t *)(uintptr_t)address;
    asks++;
    if (refuses) return TS_ERR_UNSUPPORTED;
    for (; size; hashes += 2) {
        const size_t one = size < TS_CAPTURE_CHUNK ? size : TS_CAPTURE_CHUNK;
        assert_true(one > 240);
        ts_blob_find(at, one, hashes);
        if (lies) hashes[1] ^= 1;
        at += one;
        size -= one;
    }
    return TS_OK;
}

enum { OPERATIONS = 3 };
static size_t chunks; // that all of them write or use

// Two kernels, of which the second depends on `extra`, and a fill of memory
// whose last chunk has 100 bytes.
static void record_some(float wrong)
{
    begin();
    const char *const path = rt_start("hashes.sbt", plain);
    float *const a = floats(0), *const b = floats(1);
    uint8_t *const odd = vt_memory(0, 2 * TS_CAPTURE_CHUNK + 100);
    ok(ts_capture_start(NULL));
    launch_add(plain_add, a, b, 2);
    extra = wrong;
    launch_add(plain_add, a, a, 3);
    vt_finish();
    extra = 0;
    ok(ts_vdev_memset_async(vdev, 0, odd, 7, 2 * TS_CAPTURE_CHUNK + 100));
    finish(path);
}

typedef struct outcome {
    ts_execution_item items[OPERATIONS];
    unsigned reads, asks;
} outcome;

static outcome outcome_of(bool hashes_there)
{
    outcome o;
    char why[200];
    const ts_execution_desc desc = usual();
    executor.read = count_read;
    executor.hash = hashes_there ? hash_chunks : NULL;
    ok(ts_execution_open(&execution, reader, positions, OPERATIONS, &desc, why,
                         sizeof why));
    reads = asks = 0;
    chunks = 0;
    for (size_t i = 0; i < OPERATIONS; i++) {
        ts_execution_run(execution, i, &o.items[i]);
        assert_string_equal("none", ts_reason_name(o.items[i].reason));
        chunks += o.items[i].chunks;
    }
    o.reads = reads;
    o.asks = asks;
    close_execution();
    return o;
}

UNIT_TEST(only_what_differs_is_read)
{
    record_some(0.5f);
    lies = refuses = false;
    const outcome without = outcome_of(false), with = outcome_of(true);
    assert_memory_equal(without.items, with.items, sizeof with.items);
    assert_true(with.items[1].diverged);
    assert_int_equal(0, without.asks);
    assert_int_equal(chunks, without.reads);
    // And the one that is too short for a hash.
    assert_int_equal(with.items[1].chunks_different + 1, with.reads);
    assert_in_range(with.asks, OPERATIONS, chunks);
    close_all();
}

UNIT_TEST(a_device_that_reports_nothing_is_read)
{
    record_some(0.5f);
    lies = false;
    refuses = true;
    const outcome without = outcome_of(false), with = outcome_of(true);
    assert_memory_equal(without.items, with.items, sizeof with.items);
    assert_int_equal(without.reads, with.reads);
    assert_in_range(with.asks, 1, chunks - 1); // not for each chunk
    close_all();
}

UNIT_TEST(a_device_with_wrong_hashes_is_not_used_again)
{
    record_some(0);
    lies = true;
    refuses = false;
    const outcome without = outcome_of(false), with = outcome_of(true);
    assert_memory_equal(without.items, with.items, sizeof with.items);
    assert_false(with.items[0].diverged);
    assert_int_equal(1, with.asks);
    assert_int_equal(without.reads, with.reads);
    close_all();
}

int main(void)
{
    NEED_ADDRESSES();
    return unit_run(NULL, NULL);
}
