/*
    test_analyze_overlap.c - what kernels hide, computed by hand
*/
#include "tests/tools/analyze/time_fixture.h"
#include "tools/analyze/figures/time/overlap.h"

static void collective(made *m, uint32_t stream, int64_t call, int64_t from,
                       int64_t to)
{
    const ts_writer_value name = { TS_COLUMN_NAME, made_name(m, "reduce") };
    made_call(m, HOST, "launch", call, call + 2);
    made_operation(m, TS_EVENT_COLLECTIVE, stream, from, to, &name, 1);
}

static void copy(made *m, uint32_t stream, int64_t call, int64_t from,
                 int64_t to, uint64_t type)
{
    const ts_writer_value value = { TS_COLUMN_TYPE, type };
    made_call(m, HOST, "copy", call, call + 2);
    made_operation(m, TS_EVENT_MEMCPY, stream, from, to, &value, 1);
}

/*
    Device 0: kernels 10-50 and 40-60 (two streams), 100-120. A collective
    30-110: hidden 30-60 and 100-110, 40 of 80. Copies to the device 0-10
    (exposed) and 55-65 (5 hidden). Device 1: a kernel 0-200, which hides
    nothing of device 0, but its own copy from the device 20-30.
*/
static void make(made *m)
{
    made_begin(m, 0);
    copy(m, S0, 0, 3, 10, 1);
    made_launch(m, S0, "k", 4, 10, 50);
    copy(m, T1, 8, 20, 30, 2);
    made_launch(m, T0, "k", 10, 15, 200);
    collective(m, S1, 12, 30, 110);
    made_launch(m, S0, "k", 20, 50, 60);
    copy(m, S0, 24, 60, 65, 1);
    made_launch(m, S0, "k", 90, 100, 120);
    made_open(m);
}

UNIT_TEST(only_kernels_of_the_same_device_hide_a_transfer)
{
    made m;
    overlap_result r;
    make(&m);
    assert_true(overlap_open(&r, m.replay, &m.names, NULL));
    assert_int_equal(4, r.count);
    assert_int_equal(1, r.collectives);
    assert_int_equal(80, r.collective_ns);
    assert_int_equal(40, r.collective_hidden_ns); // 30-60 and 100-110
    assert_int_equal(3, r.copies);
    assert_int_equal(7 + 10 + 5, r.copy_ns);
    assert_int_equal(10, r.copy_hidden_ns); // that of device 1
    // The most exposed first: the collective, then 3-10, 60-65, 20-30.
    assert_int_equal(40, r.transfers[0].hidden_ns);
    assert_int_equal(7, r.transfers[1].total_ns);
    assert_int_equal(10, r.transfers[3].hidden_ns);
    // The timeline says the same of what nothing overlaps twice.
    assert_int_equal(
        40, ts_timeline_device(m.timeline, 0)->only_ns[TS_WORK_COLLECTIVE]);
    overlap_close(&r);
    REPORT(m.path, "overlap");
    made_close(&m);
}

UNIT_TEST(transfers_are_summed_by_name_and_collectives_by_size)
{
    made m;
    overlap_result r;
    make(&m);
    uint64_t sizes[16] = { 0 };
    ts_operation op;
    for (size_t i = 0; ts_replay_operation(m.replay, i, &op); i++)
        sizes[i] = op.kind == TS_EVENT_COLLECTIVE ? 4096 : 100;
    assert_true(overlap_open(&r, m.replay, &m.names, sizes));
    assert_int_equal(3, r.sum_count);
    assert_int_equal(1, r.collective_sums);
    assert_int_equal(4096, r.sums[0].size);
    assert_int_equal(4096, r.sums[0].bytes);
    // Both copies to the device are one row, whatever their size.
    assert_int_equal(made_group(&m, "host to device"), r.sums[1].group);
    assert_int_equal(2, r.sums[1].count);
    assert_int_equal(200, r.sums[1].bytes);
    assert_int_equal(12, r.sums[1].total_ns);
    assert_int_equal(0, r.sums[1].hidden_ns);
    assert_int_equal(7, r.sums[1].worst_ns);
    assert_int_equal(10, r.sums[2].hidden_ns);
    overlap_close(&r);
    REPORT(m.path, "overlap");
    made_close(&m);
}

// A kernel that waits for a copy by stream order would begin with its launch.
UNIT_TEST(hiding_a_copy_gains_what_a_kernel_waited_for_it)
{
    made m;
    model_figures base, w;
    made_begin(&m, 0);
    made_launch(&m, S0, "k", 0, 10, 20);
    copy(&m, S0, 4, 20, 120, 1);
    made_launch(&m, S0, "k", 8, 120, 130);
    made_open(&m);
    assert_true(model_run(m.replay, NULL, 0, &base));
    assert_true(overlap_hide(&w, m.replay, false));
    assert_true(w.known);
    assert_int_equal(10, model_gain(&base, &w)); // the copy ends at 120 still
    assert_int_equal(TS_COST_COPY, w.bound);
    assert_true(overlap_hide(&w, m.replay, true));
    assert_int_equal(0, model_gain(&base, &w)); // there is no collective
    REPORT(m.path, "overlap");
    made_close(&m);
}

UNIT_TEST(a_copy_that_takes_no_time_to_speak_of_has_no_share)
{
    made m;
    made_begin(&m, 0);
    copy(&m, S0, 0, 5, 6, 1);
    made_launch(&m, S0, "k", 4, 10, 100000);
    made_open(&m);
    REPORT(m.path, "overlap");
    made_close(&m);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
