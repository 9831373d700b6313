// Captured operations run again: addresses, contents, comparison.
#define _GNU_SOURCE
#include "tests/replay/execute/execute_fixture.h"

static float named; // this one is

static void add_named(const void *args, const ts_vdev_block *block)
{
    float *const *const values = args;
    (*values)[0] += named;
}

static int turns;

static void never_the_same(const void *args, const ts_vdev_block *block)
{
    uint32_t *const *const values = args;
    (*values)[7] = (uint32_t)turns++;
}

static void write_shape(const void *args, const ts_vdev_block *block)
{
    uint32_t *const *const values = args;
    memcpy(*values, block->grid, sizeof block->grid);
    memcpy(*values + 3, block->size, sizeof block->size);
    (*values)[6] = (uint32_t)block->shared_size;
}

static ts_execution_item run_one(size_t index)
{
    ts_execution_item item;
    ts_execution_run(execution, index, &item);
    return item;
}

static void open_execution(ts_execution_desc desc)
{
    char why[200];
    ok(ts_execution_open(&execution, reader, positions,
                         ts_reader_capture_count(reader), &desc, why,
                         sizeof why));
}

static void assert_same(ts_execution_item item)
{
    assert_string_equal("none", ts_reason_name(item.reason));
    assert_int_equal(TS_OUTCOME_EXECUTED, item.outcome);
    assert_string_equal("", item.why);
    assert_true(item.compared);
    assert_false(item.diverged);
}

static void assert_declined(ts_execution_item item, const char *reason)
{
    assert_int_equal(TS_OUTCOME_DECLINED, item.outcome);
    assert_string_equal(reason, ts_reason_name(item.reason));
    assert_int_equal(0, item.level);
}

// A copy up, three kernels of which the second depends on `extra`, a copy down.
static float host[COUNT];

static const char *record_steps(float wrong)
{
    begin();
    const char *const path = rt_start("steps.sbt", plain);
    float *const a = floats(0), *const b = floats(1);
    ok(ts_capture_start(NULL));
    for (int i = 0; i < COUNT; i++)
        host[i] = (float)i * 2;
    ok(ts_vdev_memcpy(vdev, 0, a, host, sizeof host));
    launch_add(plain_add, b, a, 1);
    extra = wrong;
    launch_add(plain_add, a, b, 2);
    vt_finish();
    extra = 0;
    launch_add(plain_add, a, a, 3);
    ok(ts_vdev_memset_async(vdev, 0, b, 1, 100));
    ok(ts_vdev_memcpy(vdev, 0, host, a, sizeof host));
    finish(path);
    memset(host, 0, sizeof host);
    return path;
}

UNIT_TEST(everything_comes_out_as_recorded)
{
    record_steps(0);
    open_execution(usual());
    for (size_t i = 0; i < 6; i++) {
        const ts_execution_item item = run_one(i);
        assert_same(item);
        assert_int_equal(1, item.level);
    }
    assert_int_equal(0, host[5]); // the replay has memory of its own
    const uint64_t digest = run_one(2).digest;
    assert_int_equal(digest, run_one(2).digest);
    close_all();
}

UNIT_TEST(the_wrong_one_is_found_alone)
{
    record_steps(0.5f);
    open_execution(usual());
    for (size_t i = 0; i < 6; i++) {
        const ts_execution_item item = run_one(i);
        assert_int_equal(TS_OUTCOME_EXECUTED, item.outcome);
        assert_int_equal(i == 2, item.diverged);
        if (i != 2) continue;
        float expected, found;
        memcpy(&expected, item.expected, sizeof expected);
        memcpy(&found, item.found, sizeof found);
        assert_true(item.bytes_known);
        assert_int_equal(0, item.offset);
        assert_float_equal(0.5f, expected - found, 0);
        assert_int_equal(16384, item.elements);
        assert_int_equal(3, item.chunks_different);
    }
    close_execution();
    ts_execution_desc chain = usual();
    chain.chain = true; // what comes after it inherits what it left
    open_execution(chain);
    for (size_t i = 0; i < 6; i++) {
        const ts_execution_item item = run_one(i);
        assert_int_equal(TS_OUTCOME_EXECUTED, item.outcome);
        assert_int_equal(i >= 2, item.diverged || (i == 4));
        assert_int_equal(0, item.patched);
    }
    close_all();
}

UNIT_TEST(tolerance_is_what_was_requested)
{
    record_steps(0.5f); // of values up to 80,003
    ts_execution_desc desc = usual();
    desc.compare = TS_COMPARE_RTOL;
    desc.tolerance = 0.2; // 0.5 of 3.5
    open_execution(desc);
    ts_execution_item item = run_one(2);
    assert_false(item.diverged);
    assert_int_equal(3, item.chunks_tolerated);
    close_execution();
    desc.tolerance = 0.1; // 0.5 is more than that of 3.5, not of 5.5
    open_execution(desc);
    item = run_one(2);
    assert_true(item.diverged);
    assert_int_equal(1, item.elements);
    assert_float_equal(0.5, item.largest, 0);
    close_execution();
    desc.compare = TS_COMPARE_ULP;
    desc.tolerance = 1 << 21; // 3.5 and 3 are 2^21 floats apart
    open_execution(desc);
    assert_false(run_one(2).diverged);
    close_execution();
    desc.tolerance = (1 << 21) - 1;
    open_execution(desc);
    assert_true(run_one(2).diverged);
    close_all();
}

UNIT_TEST(a_chain_takes_from_the_record_what_nobody_replayed)
{
    record_steps(0);
    static const size_t some[] = { 0, 1, 3, 5 }; // not 2, which wrote `a`
    ts_execution_desc desc = usual();
    char why[200];
    desc.chain = true;
    ok(ts_execution_open(&execution, reader, some, 4, &desc, why, sizeof why));
    assert_same(run_one(0));
    assert_same(run_one(1));
    ts_execution_item item = run_one(2);
    assert_same(item);
    assert_int_equal(3, item.patched); // the chunks of `a`
    assert_same(run_one(3));
    close_execution();
    desc.no_patches = true; // no such operation: `a` is what the copy left
    ok(ts_execution_open(&execution, reader, some, 4, &desc, why, sizeof why));
    assert_same(run_one(0));
    assert_same(run_one(1));
    item = run_one(2);
    assert_true(item.diverged);
    assert_int_equal(0, item.patched);
    close_all();
}

// As if one capture were two rows of the trace.
UNIT_TEST(a_chain_that_runs_one_again_does_not_begin_again)
{
    record_steps(0);
    ts_execution_desc desc = usual();
    desc.chain = true;
    open_execution(desc);
    for (size_t i = 0; i < 4; i++)
        assert_same(run_one(i));
    const ts_execution_item item = run_one(3); // adds to what it left
    assert_int_equal(TS_OUTCOME_EXECUTED, item.outcome);
    assert_true(item.diverged);
    assert_int_equal(0, item.patched);
    close_all();
}

UNIT_TEST(a_chain_says_what_it_took_and_what_that_hid)
{
    record_steps(0);
    static const size_t some[] = { 0, 1, 2, 4, 5 }; // not 3, which wrote `a`
    ts_execution_desc desc = usual();
    char why[200];
    ts_capture c;
    desc.chain = true;
    ok(ts_execution_open(&execution, reader, some, 5, &desc, why, sizeof why));
    for (size_t i = 0; i < 4; i++) {
        extra = i == 2 ? 0.5f : 0;
        assert_int_equal(i == 2, run_one(i).diverged);
    }
    extra = 0;
    const ts_execution_item item = run_one(4);
    assert_same(item);
    assert_int_equal(3, item.patched);
    assert_int_equal(3, item.patched_different);
    assert_true(ts_reader_capture(reader, 5, &c));
    assert_int_equal(c.head.source, item.patched_address);
    close_all();
}

// Two launches, one whose kernel says what is a pointer, and a copy.
static void record_moved(void)
{
    begin();
    const char *const path = rt_start("moved.sbt", plain);
    float *const a = floats(0), *const b = floats(1);
    ok(ts_capture_start(NULL));
    launch_add(typed_add, b + 0, a, 1);
    launch_add(plain_add, b, a, 2);
    ok(ts_vdev_memcpy(vdev, 0, host, b, sizeof host));
    finish(path);
}

UNIT_TEST(memory_that_moves_is_rewritten_only_where_that_is_right)
{
    record_moved();
    ts_capture c;
    assert_true(ts_reader_capture(reader, 0, &c));
    // The addresses are taken.
    void *const wanted =
        (void *)(uintptr_t)(c.regions[0].address & ~UINT64_C(4095));
    void *const taken =
        mmap(wanted, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (taken != wanted) skip();
    open_execution(usual());
    ts_execution_item item = run_one(0);
    assert_same(item);
    assert_int_equal(2, item.level);
    assert_declined(run_one(1), "VA_UNAVAILABLE");
    item = run_one(2); // the host's end may lie anywhere, the device's not
    assert_same(item);
    assert_int_equal(2, item.level);
    close_execution();
    ts_execution_desc strict = usual();
    strict.strict = true;
    open_execution(strict);
    assert_declined(run_one(0), "VA_UNAVAILABLE");
    assert_declined(run_one(2), "VA_UNAVAILABLE");
    munmap(taken, 4096);
    close_all();
}

UNIT_TEST(a_value_that_looks_like_a_pointer_forbids_rewriting)
{
    begin();
    const char *const path = rt_start("looks.sbt", plain);
    float *const a = floats(0), *const b = floats(1);
    memcpy((char *)a + 65533, &b, sizeof b); // across two chunks
    ok(ts_capture_start(NULL));
    launch_add(typed_add, b, a, 1);
    vt_finish();
    finish(path);
    void *const wanted = (void *)((uintptr_t)a & ~(uintptr_t)4095);
    void *const taken =
        mmap(wanted, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (taken != wanted) skip();
    open_execution(usual());
    assert_declined(run_one(0), "VA_UNAVAILABLE");
    close_execution();
    munmap(taken, 4096);
    open_execution(usual());
    assert_same(run_one(0));
    close_all();
}

UNIT_TEST(an_end_of_what_moved_forbids_rewriting)
{
    begin();
    const char *const path = rt_start("end.sbt", plain);
    float *const a = floats(0), *const b = floats(1);
    float *const end = b + COUNT;
    memcpy(a, &end, sizeof end);
    ok(ts_capture_start(NULL));
    launch_add(typed_add, b, a, 1);
    vt_finish();
    finish(path);
    ts_capture c;
    assert_true(ts_reader_capture(reader, 0, &c));
    void *const wanted = (void *)((uintptr_t)a & ~(uintptr_t)4095);
    void *const taken =
        mmap(wanted, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (taken != wanted) skip();
    open_execution(usual());
    assert_declined(run_one(0), "VA_UNAVAILABLE");
    munmap(taken, 4096);
    close_all();
}

UNIT_TEST(named_variables_are_inputs)
{
    begin();
    const ts_vdev_kernel kernel =
        vt_kernel("named", add_named, sizeof(float *), 0);
    ok(ts_vdev_global_register(vdev, 0, &named, sizeof named));
    const char *const path = rt_start("named.sbt", plain);
    float *const a = floats(0);
    ok(ts_capture_start(NULL));
    launch_add(plain_add, a, a, 0); // what load_own looks for
    named = 42;
    const ts_vdev_launch_desc desc = { .args = &a };
    ok(ts_vdev_launch(vdev, 0, kernel, &desc));
    vt_finish();
    named = 0;
    finish(path);
    open_execution(usual());
    assert_same(run_one(1));
    assert_float_equal(42, named, 0); // where the executor found it
    close_all();
}

UNIT_TEST(memory_that_was_freed_and_taken_again_is_replaced)
{
    begin();
    const char *const path = rt_start("again.sbt", plain);
    float *a = floats(0);
    ok(ts_capture_start(NULL));
    launch_add(plain_add, a, a, 1);
    ok(ts_vdev_free(vdev, a));
    void *const small = vt_memory(0, 256);
    float *const b = floats(5);
    assert_ptr_equal(small, a);
    launch_add(plain_add, b, b, 1);
    ok(ts_vdev_memset_async(vdev, 0, small, 3, 256));
    finish(path);
    open_execution(usual());
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < 3; i++)
            assert_same(run_one(i));
    close_all();
}

UNIT_TEST(a_launch_has_the_shape_it_had)
{
    begin();
    const ts_vdev_kernel kernel =
        vt_kernel("shape", write_shape, sizeof(float *), 0);
    const char *const path = rt_start("shape.sbt", plain);
    float *const a = floats(0);
    ok(ts_capture_start(NULL));
    const ts_vdev_launch_desc desc = { .grid = { 2, 3, 4 },
                                       .block = { 5, 6, 7 },
                                       .shared_bytes = 80,
                                       .args = &a };
    ok(ts_vdev_launch(vdev, 0, kernel, &desc));
    vt_finish();
    finish(path);
    load_only(write_shape);
    open_execution(usual());
    assert_same(run_one(0));
    close_all();
}

UNIT_TEST(runs_that_differ_are_reported)
{
    begin();
    const ts_vdev_kernel kernel =
        vt_kernel("unstable", never_the_same, sizeof(float *), 0);
    const char *const path = rt_start("unstable.sbt", plain);
    float *const a = floats(0);
    turns = 5;
    ok(ts_capture_start(NULL));
    launch_add(plain_add, a, a, 0);
    const ts_vdev_launch_desc desc = { .args = &a };
    ok(ts_vdev_launch(vdev, 0, kernel, &desc));
    vt_finish();
    finish(path);
    turns = 5;
    ts_execution_desc loops = usual();
    loops.loops = 3;
    open_execution(loops);
    assert_false(run_one(0).unstable);
    turns = 5;
    const ts_execution_item item = run_one(1);
    assert_true(item.unstable);
    assert_true(item.diverged);     // the second run
    assert_int_equal(2, item.runs); // each is reported as progress
    assert_int_equal(7 * 4, item.offset);
    assert_int_equal(3, item.chunks); // of one run
    close_all();
}

static unsigned refusals, waits;

// As if one of several commands of an operation were refused.
static ts_result launch_and_refuse(void *state, uint64_t stream,
                                   const ts_executor_launch *launch)
{
    const ts_result result = ts_vdev_executor.launch(state, stream, launch);
    return refusals++ ? result : TS_ERR_CORRUPT;
}

static ts_result wait_and_count(void *state, uint32_t timeout_ms)
{
    waits++;
    return ts_vdev_executor.wait(state, timeout_ms);
}

UNIT_TEST(what_ran_before_a_refusal_is_waited_for)
{
    record_steps(0);
    refusals = waits = 0;
    executor.launch = launch_and_refuse;
    executor.wait = wait_and_count;
    open_execution(usual());
    assert_declined(run_one(3), "BAD_CAPTURE");
    assert_int_equal(1, waits);
    assert_same(run_one(3)); // whose input it had changed
    close_all();
}

UNIT_TEST(what_does_not_end_is_a_timeout)
{
    begin();
    const ts_vdev_kernel kernel = vt_kernel("stuck", wait_open, 0, 0);
    const char *const path = rt_start("timeout.sbt", plain);
    float *const a = floats(0);
    shut = false;
    ok(ts_capture_start(NULL));
    launch_add(plain_add, a, a, 0);
    const ts_vdev_launch_desc desc = { 0 };
    ok(ts_vdev_launch(vdev, 0, kernel, &desc));
    finish(path);
    shut = true;
    ts_execution_desc quick = usual();
    quick.timeout_ms = 30;
    executor.wait = wait_patiently;
    open_execution(quick);
    assert_declined(run_one(1), "TIMEOUT");
    assert_declined(run_one(0), "DEVICE_FAILED"); // it is lost
    __atomic_store_n(&shut, false, __ATOMIC_RELEASE);
    close_all();
}

UNIT_TEST(hashes_are_enough_for_what_earlier_ones_made)
{
    begin();
    const char *const path = rt_start("hashes.sbt", plain);
    float *const a = floats(0);
    const ts_capture_desc hashes = { .hashes_only = true };
    ok(ts_capture_start(NULL));
    launch_add(plain_add, a, a, 1);
    ok(ts_vdev_memset_async(vdev, 0, a, 0, COUNT * sizeof *a));
    vt_finish();
    ok(ts_capture_start(&hashes));
    ok(ts_vdev_memset_async(vdev, 0, a, 1, 1000));
    ok(ts_vdev_memset_async(vdev, 0, a, 2, 500));
    finish(path);
    ts_execution_desc desc = usual();
    open_execution(desc);
    assert_same(run_one(1));
    assert_declined(run_one(3), "SNAPSHOT_BUDGET");
    close_execution();
    desc.chain = true;
    open_execution(desc);
    for (size_t i = 0; i < 4; i++)
        assert_same(run_one(i));
    close_all();
}

UNIT_TEST(no_more_memory_is_used_than_allowed)
{
    begin();
    const char *const path = rt_start("bound.sbt", plain);
    ok(ts_capture_start(NULL));
    for (int i = 0; i < 3; i++) {
        float *const own = floats(0);
        launch_add(plain_add, own, own, 1);
    }
    finish(path);
    ts_execution_desc desc = usual();
    desc.memory_bytes = COUNT * sizeof(float);
    open_execution(desc); // the memory of the others is freed for it
    for (size_t i = 0; i < 3; i++)
        assert_same(run_one(i));
    close_execution();
    desc.chain = true; // where it is needed until the end
    open_execution(desc);
    assert_same(run_one(0));
    ts_execution_item item = run_one(1);
    assert_int_equal(TS_REASON_NO_MEMORY, item.reason);
    assert_string_equal("a buffer of 0.2 MiB in addition to 0.2 MiB in use "
                        "does not fit into 0.2 MiB",
                        item.why);
    close_execution();
    desc.chain = false;
    desc.memory_bytes--;
    open_execution(desc);
    assert_declined(run_one(0), "NO_MEMORY");
    close_all();
}

static ts_result answer_later(void *state)
{
    int *const asked = state;
    return ++*asked < 4 ? TS_ERR_BUSY : TS_ERR_IO;
}

UNIT_TEST(a_device_is_asked_until_it_answers)
{
    int asked = 0;
    assert_int_equal(TS_ERR_BUSY, ts_executor_poll(answer_later, &asked, 0));
    assert_int_equal(1, asked); // at least once
    assert_int_equal(TS_ERR_IO, ts_executor_poll(answer_later, &asked, 60000));
    assert_int_equal(4, asked);
}

UNIT_TEST(every_reason_has_words)
{
    for (uint32_t i = 1; i < TS_REASON_LIMIT; i++)
        assert_true(*ts_reason_text(i));
    assert_string_equal("", ts_reason_text(TS_REASON_NONE));
    assert_string_equal("", ts_reason_text(TS_REASON_LIMIT));
}

int main(void)
{
    NEED_ADDRESSES();
    return unit_run(NULL, NULL);
}
