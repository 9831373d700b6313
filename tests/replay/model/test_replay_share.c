/*
    test_replay_share.c - kernels and collectives that share multiprocessors

    Every schedule is computed by hand, in microseconds.
*/
#include "tests/replay/model/whatif_scene.h"

UNIT_TEST(kernels_can_share_the_multiprocessors)
{
    scene s = { .count = 0 };
    begin(&s);
    for (uint32_t i = 0; i < 3; i++) // each fills two of four
        kernel(&s, "half", i, 0, 10, 0);
    end(&s);
    play(&s);
    ts_replay_run_desc desc = { .mode = TS_REPLAY_MODEL };
    assert_int_equal(TS_OK, ts_replay_run(s.replay, &desc));
    assert_int_equal(10 * US, ts_replay_result(s.replay)->end_ns);
    desc.share_compute = true;
    assert_int_equal(TS_OK, ts_replay_run(s.replay, &desc));
    assert_int_equal(20 * US, ts_replay_result(s.replay)->end_ns);
    ts_operation o;
    assert_true(ts_replay_operation(s.replay, 1, &o));
    assert_int_equal(0, o.start_ns);
    assert_true(ts_replay_operation(s.replay, 2, &o));
    assert_int_equal(10 * US, o.start_ns);
    close_scene(&s);
}

static int64_t shared_us(scene *s)
{
    const ts_replay_run_desc desc = { .mode = TS_REPLAY_MODEL,
                                      .share_compute = true };
    assert_int_equal(TS_OK, ts_replay_run(s->replay, &desc));
    return ts_replay_result(s->replay)->end_ns / US;
}

static void expect_at(const scene *s, size_t op, int64_t start, int64_t end)
{
    ts_operation o;
    assert_true(ts_replay_operation(s->replay, op, &o));
    assert_int_equal(start, o.start_ns / US);
    assert_int_equal(end, o.end_ns / US);
}

/*
    A collective takes three of four multiprocessors, for 10 us once both ranks
    are there. On the second rank half the device is busy until 28, so that both
    end at 38; the first rank's kernels wait for that, except one that fits next
    to the collective.
*/
UNIT_TEST(collectives_have_room_while_they_wait_for_others)
{
    for (uint32_t blocks = 0; blocks <= 3; blocks += 3) {
        scene s = { .count = 0 };
        begin(&s);
        const ts_launch_entry small = { .grid = { 1, 1, 1 },
                                        .block = { 32, 32, 1 } };
        collective_of(&s, 77, blocks, 0, 0, 30);
        kernel(&s, "half", 1, 5, 10, 0);
        launched(&s, &small, 2, 2, 1, 0);
        end(&s);
        begin(&s);
        kernel(&s, "half", 1, 18, 10, 0);
        collective_of(&s, 77, blocks, 0, 20, 10);
        end(&s);
        play(&s);
        assert_int_equal(blocks ? 48 : 30, shared_us(&s));
        expect_at(&s, 0, 0, blocks ? 38 : 30);
        expect_at(&s, 1, 2, 3); // beside it
        expect_at(&s, 2, blocks ? 38 : 5, blocks ? 48 : 15);
        expect_at(&s, 3, 18, 28);
        expect_at(&s, 4, blocks ? 28 : 20, blocks ? 38 : 30);
        ts_path path; // 18 for the host, kernel, collective, kernel
        assert_int_equal(TS_OK, ts_replay_path(s.replay, &path));
        if (blocks) assert_int_equal(20 * US, path.cost_ns[TS_COST_COMPUTE]);
        assert_int_equal(10 * US, path.cost_ns[TS_COST_COMMUNICATION]);
        close_scene(&s);
    }
}

// Each device has room for one of two, and they come in different orders: the
// first in line goes on, at 1, meets the other and is done at 10; then 9 more.
UNIT_TEST(collectives_that_lock_each_other_out_go_on)
{
    scene s = { .count = 0 };
    for (uint32_t rank = 0; rank < 2; rank++) {
        begin(&s);
        collective_of(&s, 77, 3, 0, rank ? 1 : 0, rank ? 9 : 10);
        collective_of(&s, 78, 3, 1, rank ? 0 : 1, rank ? 10 : 9);
        end(&s);
    }
    play(&s);
    assert_int_equal(19, shared_us(&s));
    assert_int_equal(4, ts_replay_result(s.replay)->operations);
    close_scene(&s);
}

// Four blocks of 8,192 registers or bytes: two fit on one of the four, so
// that a kernel fills half the device, if 16,384 is read; else an eighth.
UNIT_TEST(what_fits_is_read_by_the_names_that_importers_write)
{
    const ts_launch_entry shapes[] = {
        { .grid = { 4, 1, 1 }, .block = { 32, 1, 1 }, .registers = 256 },
        { .grid = { 4, 1, 1 }, .block = { 32, 1, 1 }, .dynamic_shared = 8192 },
    };
    static const char *const facts[] = { "regs_per_multiprocessor",
                                         "shared_mem_per_multiprocessor" };
    for (size_t k = 0; k < 4; k++) {
        scene s = { .count = 0 };
        begin(&s);
        if (k < 2)
            ts_writer_metadata(s.writer, DEVICE, facts[k], TS_VALUE_INT, 16384);
        for (uint32_t i = 0; i < 3; i++)
            launched(&s, &shapes[k % 2], i, 0, 10, 0);
        end(&s);
        play(&s);
        assert_int_equal(k < 2 ? 20 : 10, shared_us(&s));
        close_scene(&s);
    }
}

// In order of time or as they become ready: the schedule is the same.
UNIT_TEST(enough_room_gives_the_schedule_without_limits)
{
    scene s = { .count = 0 };
    begin(&s);
    for (int64_t i = 0; i < 200; i++) {
        launch_call(&s, 5 * i, (uint64_t)i + 1);
        kernel(&s, "k", (uint32_t)(i * 7 % 3), 5 * i + 6, 1 + i % 4,
               (uint64_t)i + 1);
    }
    end(&s);
    play(&s);
    ts_replay_run_desc desc = { .mode = TS_REPLAY_MODEL };
    assert_int_equal(TS_OK, ts_replay_run(s.replay, &desc));
    const uint64_t digest = ts_replay_result(s.replay)->digest;
    // At most two overlap, and two fit.
    desc.share_compute = true;
    assert_int_equal(TS_OK, ts_replay_run(s.replay, &desc));
    assert_int_equal(digest, ts_replay_result(s.replay)->digest);
    close_scene(&s);
}
int main(void)
{
    return unit_run(NULL, NULL);
}
