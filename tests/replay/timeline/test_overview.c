/*
    test_overview.c - windows of long traces

    What a window holds, and that the figures of all windows together are
    those of the whole trace, whatever the windows and threads.
*/
#include "tests/replay/graph/replay_forge.h"

static uint64_t below(uint64_t *seed, uint64_t limit)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (*seed >> 33) % limit;
}

/* ---- Windows ---- */

// Calls at 1, 2, 3, ... launch what begins at 100, 200, 300, ...
static const op row[] = {
    { K, S0, 100, 150, UNKNOWN, 1, 0, 0, HOST },
    { R, S0, 150, 150, UNKNOWN, 2, 7, 0, HOST },
    { K, S0, 200, 350, UNKNOWN, 3, 0, 0, HOST },
    { W, S0 + 1, 300, 300, UNKNOWN, 4, 7, 0, HOST },
    { W, S0 + 1, 300, 300, UNKNOWN, 5, 9, 2, HOST },
    { K, S0 + 1, 300, 400, UNKNOWN, 6, 0, 0, HOST },
    { K, S0 + 1, 400, 450, UNKNOWN, 7, 0, 0, HOST },
};
static const call row_calls[] = {
    { HOST, 1, 2, 1, "launch" },
    { HOST, 2, 3, 2, "record" },
    { HOST, 3, 4, 3, "launch" },
    { HOST, 4, 5, 4, "wait" },
    { HOST, 5, 6, 5, "wait" },
    { HOST, 6, 7, 6, "launch" },
    { HOST, 7, 8, 7, "launch" },
    { HOST, 250, 320, 0, "cudaDeviceSynchronize" },
    { HOST, 20, 30, 0, "cudaDeviceSynchronize" },
};

static fixture row_with(const ts_replay_desc *desc)
{
    return work_with(row, sizeof row / sizeof *row, row_calls,
                     sizeof row_calls / sizeof *row_calls, desc, 0);
}

UNIT_TEST(a_window_holds_what_touches_it)
{
    const ts_replay_desc desc = { .load_from_ns = 200, .load_to_ns = 400 };
    fixture x = row_with(&desc);
    ts_operation o;
    assert_int_equal(4, stats(&x)->loaded);
    // The launches of three kernels and two waits, and the call within.
    assert_int_equal(5, stats(&x)->calls);
    assert_true(ts_replay_operation(x.replay, 0, &o));
    assert_int_equal(200, o.recorded_start_ns);
    assert_int_not_equal(TS_NODE_NONE, o.call);
    assert_int_equal(1, o.row); // of the four kernels, which are read first
    assert_true(ts_replay_operation(x.replay, 3, &o));
    assert_int_equal(300, o.recorded_start_ns);
    assert_false(ts_replay_operation(x.replay, 4, &o));
    // One waits for event 7, the other for a record by its number.
    assert_int_equal(2, stats(&x)->missing_records);
    assert_int_equal(0, stats(&x)->never_recorded);
    work_same(&x);
    work_close(&x);
}

UNIT_TEST(calls_before_a_window_may_be_left_out)
{
    const ts_replay_desc desc = { .load_from_ns = 300,
                                  .load_to_ns = 1000,
                                  .load_before_ns = 295 };
    fixture x = row_with(&desc);
    ts_operation o;
    // Launched at 3, 4, 5, 6 and 7, of which the first two are too early.
    assert_int_equal(5, stats(&x)->loaded);
    assert_int_equal(4, stats(&x)->calls);
    assert_true(ts_replay_operation(x.replay, 0, &o));
    assert_int_equal(TS_NODE_NONE, o.call);
    assert_true(ts_replay_operation(x.replay, 4, &o));
    assert_int_not_equal(TS_NODE_NONE, o.call);
    work_same(&x);
    work_close(&x);
}

UNIT_TEST(windows_that_hold_nothing_are_reported)
{
    fixture x;
    work_begin(&x, 0);
    work_add(&x, row, sizeof row / sizeof *row, NULL, 0, 0);
    work_read(&x);
    const ts_replay_desc none = { .load_from_ns = 450, .load_to_ns = 460 };
    const ts_replay_desc empty = { .load_from_ns = 5, .load_to_ns = 5 };
    const ts_replay_desc back = { .load_to_ns = 5, .load_before_ns = -1 };
    const ts_replay_desc huge = { .load_from_ns = INT64_MIN,
                                  .load_to_ns = INT64_MAX,
                                  .load_before_ns = INT64_MAX };
    assert_int_equal(TS_ERR_NOT_FOUND,
                     ts_replay_open(&x.replay, x.reader, &none));
    assert_int_equal(TS_ERR_USAGE, ts_replay_open(&x.replay, x.reader, &empty));
    assert_int_equal(TS_ERR_USAGE, ts_replay_open(&x.replay, x.reader, &back));
    assert_null(x.replay);
    assert_int_equal(TS_OK, ts_replay_open(&x.replay, x.reader, &huge));
    assert_int_equal(7, stats(&x)->loaded);
    work_close(&x);
}

// Of several files the window is that of the first one's axis.
UNIT_TEST(a_window_is_of_all_files)
{
    const op a[] = { { K, S0, 100, 110, 90, 1, 0, 0, HOST },
                     { K, S0, 200, 210, 190, 2, 0, 0, HOST } };
    const op b[] = { { K, S0, 50, 60, 40, 1, 0, 0, HOST },
                     { K, S0, 150, 160, 140, 2, 0, 0, HOST } };
    fixture parts[] = { PART(a, 1000), PART(b, 1050) };
    const ts_replay_desc desc = { .load_from_ns = 195, .load_to_ns = 215 };
    work_join(parts, 2, &desc);
    assert_int_equal(2, stats(&parts[0])->loaded);
    assert_int_equal(200, stats(&parts[0])->recorded_start_ns);
    assert_int_equal(210, stats(&parts[0])->recorded_end_ns);
    work_same(&parts[0]);
    work_close(&parts[1]);
    work_close(&parts[0]);
}

/* ---- Surveys ---- */

enum { OPS = 240 };

// Sane work on three streams of each of two devices, in bursts, with calls
// and waits, and long pauses.
static uint32_t random_work(uint64_t seed, op *ops, call *calls)
{
    uint64_t free_ns[2][3] = { { 0 } }, now = 100;
    static const uint8_t kinds[] = {
        K, K, K, TS_EVENT_MEMCPY, TS_EVENT_COLLECTIVE, R, W, K
    };
    for (uint32_t i = 0; i < OPS; i++) {
        const uint64_t d = below(&seed, 8) == 0, st = below(&seed, 3);
        now += below(&seed, 60) * below(&seed, 60);
        if (!below(&seed, 30)) now += 300000;
        op o = { .kind = kinds[below(&seed, sizeof kinds)],
                 .track = (uint32_t)(d ? T0 : S0) + (uint32_t)st,
                 .queued = UNKNOWN,
                 .correlation = i + 1,
                 .id = 1 + below(&seed, 3),
                 .thread = HOST };
        o.start = now + 5 + below(&seed, 20);
        if (o.start < free_ns[d][st]) o.start = free_ns[d][st];
        o.end = o.start;
        if (o.kind != R && o.kind != W) o.end += below(&seed, 4000);
        free_ns[d][st] = o.end;
        ops[i] = o;
        const call c = { HOST, now, now + 3, i + 1, "launch", 0 };
        calls[i] = c;
        now += 4;
    }
    return OPS;
}

static void figures_equal(const ts_timeline_figures *a,
                          const ts_timeline_figures *b)
{
    assert_int_equal(a->track, b->track);
    assert_int_equal(a->operations, b->operations);
    assert_int_equal(a->start_ns, b->start_ns);
    assert_int_equal(a->end_ns, b->end_ns);
    assert_int_equal(a->busy_ns, b->busy_ns);
    assert_int_equal(a->idle_ns, b->idle_ns);
    for (int i = 0; i < TS_WORK_LIMIT; i++) {
        assert_int_equal(a->work_ns[i], b->work_ns[i]);
        assert_int_equal(a->only_ns[i], b->only_ns[i]);
    }
    uint64_t gaps[2] = { 0, 0 };
    for (int i = 0; i < TS_IDLE_LIMIT; i++) {
        gaps[0] += a->causes[i];
        gaps[1] += b->causes[i];
    }
    assert_int_equal(gaps[0], gaps[1]);
}

static void causes_equal(const ts_timeline_figures *a,
                         const ts_timeline_figures *b)
{
    for (int i = 0; i < TS_IDLE_LIMIT; i++) {
        assert_int_equal(a->causes[i], b->causes[i]);
        assert_int_equal(a->cause_ns[i], b->cause_ns[i]);
    }
    assert_int_equal(a->explicit_ns, b->explicit_ns);
    assert_int_equal(a->inferred_ns, b->inferred_ns);
    assert_int_equal(a->launches, b->launches);
    assert_int_equal(a->launch_p50_ns, b->launch_p50_ns);
    assert_int_equal(a->launch_p95_ns, b->launch_p95_ns);
    assert_int_equal(a->launch_max_ns, b->launch_max_ns);
    assert_int_equal(a->queue_max, b->queue_max);
    assert_int_equal(a->queue_ns, b->queue_ns);
}

// The longest gaps are those of the whole trace, numbers included.
static void gaps_equal(const ts_overview *overview, const ts_timeline *t)
{
    ts_gap gap, other;
    size_t device;
    int64_t last = INT64_MAX;
    for (size_t i = 0; ts_overview_gap(overview, i, &device, &gap); i++) {
        size_t at = 0;
        while (ts_timeline_gap(t, device, at, &other) &&
               other.start_ns != gap.start_ns)
            at++;
        assert_int_equal(gap.start_ns, other.start_ns);
        assert_int_equal(gap.end_ns, other.end_ns);
        assert_int_equal(gap.operation, other.operation);
        assert_true(gap.end_ns - gap.start_ns <= last);
        last = gap.end_ns - gap.start_ns;
    }
    assert_int_not_equal(INT64_MAX, last);
}

static void overview_as_whole(fixture *x, uint32_t window, uint32_t threads,
                              bool causes)
{
    const ts_overview_desc desc = { .window_operations = window,
                                    .gap_count = 7,
                                    .threads = threads };
    ts_overview *overview;
    ts_timeline *t;
    assert_int_equal(TS_OK, ts_overview_open(&overview, x->reader, &desc));
    assert_int_equal(TS_OK, ts_timeline_open(&t, x->replay, NULL));
    size_t devices = 0;
    for (; ts_overview_device(overview, devices); devices++) {
        const ts_timeline_figures *const a =
            ts_overview_device(overview, devices);
        const ts_timeline_figures *const b = ts_timeline_device(t, devices);
        figures_equal(a, b);
        if (causes) causes_equal(a, b);
    }
    assert_int_equal(ts_replay_device_count(x->replay), devices);
    assert_int_equal(ts_timeline_total(t)->idle_ns,
                     ts_overview_total(overview)->idle_ns);
    gaps_equal(overview, t);
    uint64_t operations = 0;
    ts_overview_window w;
    int64_t last = INT64_MIN;
    for (size_t i = 0; ts_overview_window_at(overview, i, &w); i++) {
        operations += w.operations;
        assert_true(!i || w.from_ns == last);
        assert_true(w.from_ns < w.to_ns);
        last = w.to_ns;
    }
    assert_int_equal(stats(x)->loaded, operations);
    ts_timeline_close(t);
    ts_overview_close(overview);
}

UNIT_TEST(windows_add_up_to_the_whole_trace)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        op ops[OPS];
        call calls[OPS];
        const uint32_t count = random_work(seed, ops, calls);
        fixture x = work_with(ops, count, calls, count, NULL, (int)seed & 3);
        overview_as_whole(&x, 1000, 1, true); // one window
        for (uint32_t window = 1; window <= 81; window = window * 3)
            overview_as_whole(&x, window, 1 + window % 3, false);
        work_close(&x);
    }
}

// Tracks that nobody declared are of a device that is not known.
UNIT_TEST(work_of_no_known_device_adds_up_too)
{
    op ops[OPS];
    call calls[OPS];
    const uint32_t count = random_work(3, ops, calls);
    for (uint32_t i = 0; i < count; i++)
        if (ops[i].track >= T0) ops[i].track += 5000;
    fixture x = work_with(ops, count, calls, count, NULL, 0);
    for (uint32_t window = 3; window <= 1000; window *= 3)
        overview_as_whole(&x, window, 1, false);
    work_close(&x);
}

// Where nothing goes back further than the margin, causes are the same.
UNIT_TEST(causes_are_those_of_the_whole_trace)
{
    op ops[OPS];
    call calls[OPS];
    for (uint32_t i = 0; i < OPS; i++) {
        const uint64_t at = 1000 + i * UINT64_C(1000);
        const uint64_t late = i % 5 == 0 ? 400 : 0;
        const op o = { i % 7 == 3 ? TS_EVENT_MEMCPY : K,
                       S0 + i % 2,
                       at + late + 10,
                       at + 900 + i % 50,
                       UNKNOWN,
                       i + 1,
                       0,
                       0,
                       HOST };
        const call c = { HOST, at + late, at + late + 5, i + 1, "launch", 0 };
        ops[i] = o;
        calls[i] = c;
    }
    fixture x = work_with(ops, OPS, calls, OPS, NULL, 0);
    for (uint32_t window = 20; window <= 160; window *= 2)
        overview_as_whole(&x, window, 2, true);
    work_close(&x);
}

// A gap that spans many windows, in which other devices work, counts once. The
// span begins with the first work, not with an earlier call.
UNIT_TEST(a_gap_may_be_longer_than_windows)
{
    op ops[102];
    ops[0] = (op){ K, S0, 50, 60, 40, 200, 0, 0, HOST };
    for (uint64_t i = 0; i < 100; i++)
        ops[i + 1] =
            (op){ K, T0, 100 + 100 * i, 150 + 100 * i, 90 + 100 * i, i + 1,
                  0, 0,  HOST };
    ops[101] = (op){ K, S0, 10200, 10300, 5, 201, 0, 0, HOST };
    fixture x = WORK(ops);
    ts_overview *overview;
    const ts_overview_desc desc = { .window_operations = 10, .gap_count = 2 };
    assert_int_equal(TS_OK, ts_overview_open(&overview, x.reader, &desc));
    const ts_timeline_figures *const f = ts_overview_device(overview, 0);
    assert_int_equal(50, f->start_ns);
    assert_int_equal(10300, f->end_ns);
    assert_int_equal(110, f->busy_ns);
    assert_int_equal(10200 - 60, f->idle_ns);
    ts_gap gap;
    size_t device = 9;
    assert_true(ts_overview_gap(overview, 0, &device, &gap));
    assert_int_equal(0, device);
    assert_int_equal(60, gap.start_ns);
    assert_int_equal(10200, gap.end_ns);
    assert_int_equal(101, gap.operation);
    assert_true(ts_overview_gap(overview, 1, &device, &gap));
    assert_int_equal(1, device);
    assert_int_equal(150, gap.start_ns);
    assert_false(ts_overview_gap(overview, 2, &device, &gap));
    ts_overview_close(overview);
    for (uint32_t window = 1; window < 200; window *= 2)
        overview_as_whole(&x, window, 1, false);
    work_close(&x);
}

UNIT_TEST(wrong_calls_are_refused)
{
    fixture x;
    ts_overview *overview;
    work_begin(&x, 0);
    work_read(&x);
    assert_int_equal(TS_ERR_USAGE, ts_overview_open(NULL, x.reader, NULL));
    assert_int_equal(TS_ERR_USAGE, ts_overview_open(&overview, NULL, NULL));
    assert_int_equal(TS_ERR_NOT_FOUND,
                     ts_overview_open(&overview, x.reader, NULL));
    assert_null(overview);
    ts_overview_close(NULL);
    work_close(&x);
}

UNIT_TEST(every_failing_allocation_is_survived)
{
    op ops[OPS];
    call calls[OPS];
    random_work(3, ops, calls);
    fixture x = work_with(ops, OPS, calls, OPS, NULL, 0);
    bool done = false;
    size_t left = 0;
    for (; !done; left++) {
        budget b = { left, 0, false, false };
        const ts_overview_desc desc = { .window_operations = 120,
                                        .threads = 1,
                                        .allocator = { budget_resize, &b } };
        ts_overview *overview;
        const ts_result result = ts_overview_open(&overview, x.reader, &desc);
        ts_overview_close(overview);
        done = !b.refused;
        assert_int_equal(b.failed ? TS_ERR_MEMORY : TS_OK, result);
        assert_int_equal(0, b.held);
    }
    assert_true(left > 50);
    work_close(&x);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
