/*
    test_replay_figures.c - utilisation and digest
*/
#include "tests/replay/graph/replay_forge.h"

/* ---- Utilisation -------------------------------------------------------- */

static int64_t window(const fixture *x)
{
    return stats(x)->busy_to_ns - stats(x)->busy_from_ns;
}

UNIT_TEST(kernels_back_to_back_are_all_of_the_time)
{
    op ops[102];
    for (uint32_t i = 0; i < 100; i++) {
        const op kernel = { K, S0 + i % 2, 10 + i * 7, 17 + i * 7, 1,
                            0, 0,          0,          HOST };
        ops[i] = kernel;
    }
    const op record = { R, S0, 5, 5, 1, 0, 7, 0, HOST };
    const op sync = { DS, D0, 2, 720, 2, 0, 0, 0, HOST };
    ops[100] = record; // neither is work
    ops[101] = sync;
    fixture x = WORK(ops);
    work_same(&x);
    ts_lane device;
    assert_int_equal(1, ts_replay_device_count(x.replay));
    assert_true(ts_replay_device(x.replay, 0, &device));
    assert_int_equal(700, window(&x));
    assert_int_equal(700, device.busy_ns);
    ts_lane lane;
    assert_true(ts_replay_lane(x.replay, 0, &lane));
    assert_int_equal(D0, lane.track);
    assert_true(ts_replay_lane(x.replay, 1, &lane));
    assert_int_equal(S0, lane.track);
    assert_int_equal(350, lane.busy_ns);
    work_close(&x);
}

UNIT_TEST(overlapping_work_counts_once)
{
    const op ops[] = {
        { K, S0, 0, 60, UNKNOWN, 0, 0, 0, 0 },
        { K, S0 + 1, 10, 50, UNKNOWN, 0, 0, 0, 0 },
        { K, S0, 20, 80, UNKNOWN, 0, 0, 0, 0 },
        { K, S0 + 1, 90, 100, UNKNOWN, 0, 0, 0, 0 },
    };
    fixture x = WORK(ops);
    work_same(&x);
    ts_lane device;
    assert_true(ts_replay_device(x.replay, 0, &device));
    assert_int_equal(90, device.busy_ns);
    assert_int_equal(100, window(&x));
    work_close(&x);
}

UNIT_TEST(four_half_busy_devices_are_half_busy)
{
    op ops[41];
    for (uint32_t i = 0; i < 40; i++) {
        const op kernel = { K,
                            S0 + 100 * (i % 4),
                            10 * (i / 4),
                            10 * (i / 4) + 5,
                            UNKNOWN,
                            0,
                            0,
                            0,
                            0 };
        ops[i] = kernel;
    }
    ops[40] = ops[0]; // at the very end, so that the window is 100
    ops[40].start = 95;
    ops[40].end = 100;
    fixture x = WORK(ops);
    work_same(&x);
    assert_int_equal(4, ts_replay_device_count(x.replay));
    assert_int_equal(100, window(&x));
    for (size_t i = 0; i < 4; i++) {
        ts_lane device;
        assert_true(ts_replay_device(x.replay, i, &device));
        assert_int_equal(i ? 50 : 55, device.busy_ns);
    }
    work_close(&x);
}

/* ---- Digest ------------------------------------------------------------- */

static uint64_t digest_of(const op *ops, size_t count, uint32_t threads,
                          int layout)
{
    const ts_replay_desc desc = { .threads = threads };
    fixture x = work_with(ops, count, NULL, 0, &desc, layout);
    work_same(&x);
    const uint64_t digest = stats(&x)->digest;
    work_same(&x); // again
    assert_int_equal(digest, stats(&x)->digest);
    work_close(&x);
    return digest;
}

UNIT_TEST(the_digest_is_that_of_the_schedule_alone)
{
    const size_t count = sizeof crossing / sizeof *crossing;
    const uint64_t digest = digest_of(crossing, count, 1, 0);
    for (uint32_t threads = 1; threads < 8; threads += 3)
        for (int layout = 0; layout < 4; layout++)
            assert_int_equal(digest,
                             digest_of(crossing, count, threads, layout));
    // Six numbers an operation: kind, type of track and device; stream;
    // correlation; name; start; end.
    const uint64_t stream = 5 << 8, none = XXH3_64bits("", 0);
    const uint64_t right = stream | UINT64_C(1) << 32;
    const uint64_t numbers[5][6] = { { K | stream, 0, 1, none, 2, 50 },
                                     { K | right, 0, 5, none, 4, 9 },
                                     { W | stream, 1, 3, 0, 5, 52 },
                                     { R | stream, 0, 2, 0, 50, 50 },
                                     { K | stream, 1, 4, none, 55, 60 } };
    assert_int_equal(XXH3_64bits(numbers, sizeof numbers), digest);
    op other[sizeof crossing / sizeof *crossing];
    memcpy(other, crossing, sizeof crossing);
    other[3].end++;
    assert_int_not_equal(digest, digest_of(other, count, 1, 0));
    memcpy(other, crossing, sizeof crossing);
    other[3].correlation++;
    assert_int_not_equal(digest, digest_of(other, count, 1, 0));
    memcpy(other, crossing, sizeof crossing);
    other[4].track = T0 + 1;
    assert_int_not_equal(digest, digest_of(other, count, 1, 0));
}

int main(void)
{
    return unit_run(NULL, NULL);
}
