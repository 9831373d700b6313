/*
    test_timeline_figures.c - what a timeline measures, and how it fails
*/
#include "tests/replay/timeline/timeline_forge.h"

UNIT_TEST(work_is_counted_once_however_much_runs_at_once)
{
    const op ops[] = {
        { K, S0, 0, 100, 0, 0, 0, 0, HOST },
        { TS_EVENT_COLLECTIVE, S0 + 1, 40, 160, 39, 0, 0, 0, HOST },
        { TS_EVENT_MEMCPY, S0 + 2, 80, 180, 20, 0, 0, 0, HOST },
        { TS_EVENT_MEMSET, S0 + 2, 170, 180, 20, 0, 0, 0, HOST },
        { K, S0, 190, 190, 50, 0, 0, 0, HOST }, // takes no time: no work
        { K, S0, 200, 210, 50, 0, 0, 0, HOST },
        { K, T0, 5, 6, 4, 0, 0, 0, HOST },
    };
    timeline x = TIMELINE(ops);
    const ts_timeline_figures *const f = ts_timeline_device(x.timeline, 0);
    assert_int_equal(190, f->busy_ns);
    assert_int_equal(20, f->idle_ns);
    assert_int_equal(110, f->work_ns[TS_WORK_KERNEL]);
    assert_int_equal(120, f->work_ns[TS_WORK_COLLECTIVE]);
    assert_int_equal(100, f->work_ns[TS_WORK_COPY]);
    assert_int_equal(110, f->only_ns[TS_WORK_KERNEL]);
    assert_int_equal(60, f->only_ns[TS_WORK_COLLECTIVE]);
    assert_int_equal(20, f->only_ns[TS_WORK_COPY]);
    const int64_t *times;
    assert_int_equal(4, ts_timeline_concurrency(x.timeline, 0, &times));
    assert_int_equal(20, times[0]);
    assert_int_equal(40 + 10 + 10, times[1]);
    assert_int_equal(40 + 60 - 0 + 10, times[2]);
    assert_int_equal(20, times[3]);
    // Issued and not begun: two from 20 on, another at 39, two more at 50.
    assert_int_equal(4, f->queue_max);
    assert_int_equal(0, ts_timeline_queue(x.timeline, 0, 19));
    assert_int_equal(2, ts_timeline_queue(x.timeline, 0, 20));
    assert_int_equal(3, ts_timeline_queue(x.timeline, 0, 39));
    assert_int_equal(2, ts_timeline_queue(x.timeline, 0, 40));
    assert_int_equal(4, ts_timeline_queue(x.timeline, 0, 79));
    assert_int_equal(0, ts_timeline_queue(x.timeline, 0, 200));
    assert_int_equal(0, ts_timeline_queue_most(x.timeline, 0, 0, 20));
    assert_int_equal(2, ts_timeline_queue_most(x.timeline, 0, 0, 21));
    assert_int_equal(3, ts_timeline_queue_most(x.timeline, 0, 21, 50));
    assert_int_equal(2, ts_timeline_queue_most(x.timeline, 0, 40, 50));
    assert_int_equal(4, ts_timeline_queue_most(x.timeline, 0, 0, 200));
    assert_int_equal(0, ts_timeline_queue_most(x.timeline, 0, 50, 50));
    assert_int_equal(0, ts_timeline_issued(x.timeline, 0)); // at its start
    assert_int_equal(39, ts_timeline_issued(x.timeline, 2));
    assert_int_equal(1 + 60 + 150 + 140 + 150, f->queue_ns);
    const ts_timeline_figures *const all = ts_timeline_total(x.timeline);
    assert_int_equal(191, all->busy_ns);
    assert_int_equal(20, all->idle_ns);
    assert_int_equal(210, all->end_ns);
    timeline_close(&x);
}

UNIT_TEST(what_is_waited_for_is_in_the_queue_once)
{
    const op ops[] = {
        { K, S0, 10, 20, 5, 1, 0, 0, HOST },
        { TS_EVENT_EVENT_RECORD, S0, 20, 20, 5, 1, 7, 0, HOST },
        { K, S0, 50, 60, 45, 2, 0, 0, HOST },
        { TS_EVENT_EVENT_RECORD, S0, 60, 60, 50, 3, 7, 0, HOST }, // its own
    };
    timeline x = TIMELINE(ops);
    const ts_timeline_figures *const f = ts_timeline_device(x.timeline, 0);
    assert_int_equal(1, ts_timeline_queue(x.timeline, 0, 5));
    assert_int_equal(0, ts_timeline_queue(x.timeline, 0, 15));
    assert_int_equal(1, f->queue_max);
    // From the first work on, at 10.
    assert_int_equal(5 + 10, f->queue_ns);
    timeline_close(&x);
}

// Three wait for 1,000 before the device begins, which is then at work for 30:
// on average no more are in the queue than ever at once.
UNIT_TEST(a_queue_before_the_first_work_is_in_no_mean)
{
    const op ops[] = {
        { K, S0, 1000, 1010, 0, 1, 0, 0, HOST },
        { K, S0, 1010, 1020, 0, 2, 0, 0, HOST },
        { K, S0, 1020, 1030, 0, 3, 0, 0, HOST },
    };
    timeline x = TIMELINE(ops);
    const ts_timeline_figures *const f = ts_timeline_device(x.timeline, 0);
    assert_int_equal(3, f->queue_max);
    assert_int_equal(0 + 10 + 20, f->queue_ns);
    timeline_close(&x);
}

UNIT_TEST(a_window_cuts_figures_not_gaps)
{
    const op ops[] = {
        { K, S0, 10, 20, 5, 1, 0, 0, HOST },
        { K, S0, 50, 60, 45, 2, 0, 0, HOST },
        { K, S0, 70, 80, 65, 3, 0, 0, HOST },
    };
    fixture work = WORK(ops);
    ts_timeline *t;
    const ts_timeline_desc desc = { .from_ns = 15, .to_ns = 48 };
    assert_int_equal(TS_OK, ts_timeline_open(&t, work.replay, &desc));
    const ts_timeline_figures *const f = ts_timeline_device(t, 0);
    assert_int_equal(15, f->start_ns);
    assert_int_equal(48, f->end_ns);
    assert_int_equal(5, f->busy_ns);
    assert_int_equal(28, f->idle_ns);
    assert_int_equal(28, f->cause_ns[TS_IDLE_HOST_LATE]);
    assert_int_equal(1, f->operations);
    assert_int_equal(0, f->launches);
    assert_int_equal(3, f->queue_ns);
    ts_gap gap;
    assert_int_equal(1, ts_timeline_gap_count(t, 0));
    assert_true(ts_timeline_gap(t, 0, 0, &gap));
    assert_int_equal(20, gap.start_ns);
    assert_int_equal(50, gap.end_ns);
    ts_timeline_close(t);
    // What the device did lies within this one.
    const ts_timeline_desc wide = { .from_ns = 2, .to_ns = 99 };
    assert_int_equal(TS_OK, ts_timeline_open(&t, work.replay, &wide));
    assert_int_equal(10, ts_timeline_device(t, 0)->start_ns);
    assert_int_equal(80, ts_timeline_device(t, 0)->end_ns);
    assert_int_equal(30, ts_timeline_device(t, 0)->busy_ns);
    assert_int_equal(3, ts_timeline_device(t, 0)->operations);
    ts_timeline_close(t);
    work_close(&work);
}

UNIT_TEST(the_times_of_a_run_can_be_looked_at)
{
    fixture work = WORK(crossing);
    ts_timeline *t;
    const ts_timeline_desc desc = { .replayed = true };
    assert_int_equal(TS_ERR_STATE, ts_timeline_open(&t, work.replay, &desc));
    work_change(&work, S0, 2, 98);
    assert_int_equal(TS_OK, ts_timeline_open(&t, work.replay, &desc));
    const ts_timeline_figures *const f = ts_timeline_device(t, 0);
    assert_int_equal(103, f->busy_ns);
    assert_int_equal(110, f->end_ns);
    ts_gap gap;
    assert_true(ts_timeline_gap(t, 0, 0, &gap));
    assert_int_equal(100, gap.start_ns);
    assert_int_equal(105, gap.end_ns);
    assert_int_equal(TS_IDLE_OTHER_STREAM, gap.cause);
    ts_timeline_close(t);
    work_close(&work);
}

UNIT_TEST(a_model_adds_up_too)
{
    fixture work = WORK(crossing);
    const ts_change twice = { .type = TS_CHANGE_SCALE, .factor = { 2, 1 } };
    const ts_change slow = { .type = TS_CHANGE_HOST, .factor = { 9, 1 } };
    const ts_change *const changes[] = { NULL, &twice, &slow };
    for (size_t i = 0; i < 3; i++) {
        const ts_replay_run_desc run = { .mode = TS_REPLAY_MODEL,
                                         .changes = changes[i],
                                         .change_count = i > 0 };
        assert_int_equal(TS_OK, ts_replay_run(work.replay, &run));
        ts_timeline *t;
        const ts_timeline_desc desc = { .replayed = true };
        assert_int_equal(TS_OK, ts_timeline_open(&t, work.replay, &desc));
        const ts_timeline_figures *const f = ts_timeline_device(t, 0);
        assert_int_equal(i == 1 ? 106 : 53, f->busy_ns);
        assert_int_equal(f->end_ns - f->start_ns, f->busy_ns + f->idle_ns);
        ts_timeline_close(t);
    }
    work_close(&work);
}

UNIT_TEST(wrong_calls_are_refused)
{
    fixture work = WORK(crossing);
    ts_timeline *t;
    const ts_timeline_desc reversed = { .from_ns = 5, .to_ns = 5 };
    assert_int_equal(TS_ERR_USAGE, ts_timeline_open(&t, NULL, NULL));
    assert_null(t);
    assert_int_equal(TS_ERR_USAGE, ts_timeline_open(NULL, work.replay, NULL));
    assert_int_equal(TS_ERR_USAGE,
                     ts_timeline_open(&t, work.replay, &reversed));
    assert_int_equal(TS_OK, ts_timeline_open(&t, work.replay, NULL));
    ts_gap gap;
    const int64_t *times;
    assert_null(ts_timeline_device(t, 99));
    assert_false(ts_timeline_gap(t, 99, 0, &gap));
    assert_int_equal(0, ts_timeline_gap_count(t, 99));
    assert_int_equal(0, ts_timeline_queue(t, 99, 0));
    assert_int_equal(0, ts_timeline_queue_most(t, 99, 0, 1));
    assert_true(ts_timeline_issued(t, 1 << 20) == INT64_MIN);
    assert_int_equal(0, ts_timeline_concurrency(t, 99, &times));
    ts_timeline_close(t);
    ts_timeline_close(NULL);
    work_close(&work);
}

UNIT_TEST(every_failing_allocation_is_survived)
{
    fixture work = WORK(crossing);
    bool done = false;
    for (size_t left = 0; !done; left++) {
        budget b = { left, 0, false, false };
        const ts_timeline_desc desc = { .allocator = { budget_resize, &b } };
        ts_timeline *t;
        const ts_result result = ts_timeline_open(&t, work.replay, &desc);
        assert_int_equal(b.failed ? TS_ERR_MEMORY : TS_OK, result);
        assert_true((result == TS_OK) == (t != NULL));
        ts_timeline_close(t);
        done = !b.refused;
        assert_int_equal(0, b.held);
        assert_true(left < 1000);
    }
    work_close(&work);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
