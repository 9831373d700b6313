// Operations that run concurrently, of which some fail or do not end.
#define _GNU_SOURCE
#include "tests/replay/execute/concurrent_fixture.h"

static uint64_t refused; // address to which nothing can be written

static ts_result write_some(void *state, uint64_t address, const void *bytes,
                            uint64_t size)
{
    return address == refused
               ? TS_ERR_IO
               : ts_vdev_executor.write(state, address, bytes, size);
}

// The contents that it needed are in place for the operations after it.
UNIT_TEST(one_that_cannot_run_takes_no_contents_along)
{
    begin();
    const char *const path = rt_start("refused.sbt", plain);
    float *const a = floats(0), *const b = floats(5);
    ok(ts_capture_start(NULL));
    launch_add(plain_add, a, a, 1);
    launch_add(plain_add, a, a, 2); // which nobody replays
    launch_add(plain_add, a, b, 3);
    launch_add(plain_add, a, a, 4);
    refused = (uintptr_t)b;
    finish(path);
    executor.write = write_some;
    positions[1] = 2;
    positions[2] = 3;
    for (size_t count = 3; count > 1; count--) { // also as the last one
        ok(run_concurrently(usual(), count, NULL, 0, false));
        assert_int_equal(TS_OUTCOME_SUBSTITUTED, items[1].outcome);
        assert_int_equal(TS_REASON_DEVICE_FAILED, items[1].reason);
        for (size_t i = 0; i < count; i += 2) {
            assert_int_equal(TS_OUTCOME_EXECUTED, items[i].outcome);
            assert_false(items[i].diverged);
        }
        assert_int_equal(1, whole.regions);
        assert_int_equal(0, whole.regions_different);
        close_execution();
    }
    close_all();
}

UNIT_TEST(what_does_not_end_takes_all_along)
{
    begin();
    const ts_vdev_kernel stuck = vt_kernel("stuck", wait_open, 0, 0);
    const char *const path = rt_start("stuck.sbt", plain);
    float *const a = floats(0);
    const ts_vdev_launch_desc nothing = { 0 };
    shut = false;
    ok(ts_capture_start(NULL));
    launch_add(plain_add, a, a, 0);
    ok(ts_vdev_launch(vdev, 0, stuck, &nothing));
    ok(ts_vdev_free(vdev, a));
    ok(ts_vdev_memset_async(vdev, 0, vt_memory(0, 64), 3, 8));
    finish(path);
    shut = true;
    ts_execution_desc desc = usual();
    desc.timeout_ms = 30;
    executor.wait = wait_patiently;
    ok(run_concurrently(desc, 3, NULL, 0, false));
    for (size_t i = 0; i < 3; i++) { // the last one is of another part
        assert_int_equal(TS_OUTCOME_DECLINED, items[i].outcome);
        assert_int_equal(i == 1 ? TS_REASON_TIMEOUT : TS_REASON_DEVICE_FAILED,
                         items[i].reason);
        assert_false(items[i].diverged);
    }
    assert_int_equal(2,
                     whole.completed); // it was found before they ran together
    assert_int_equal(0, whole.parts);
    __atomic_store_n(&shut, false, __ATOMIC_RELEASE);
    close_all();
}

int main(void)
{
    NEED_ADDRESSES();
    return unit_run(NULL, NULL);
}
