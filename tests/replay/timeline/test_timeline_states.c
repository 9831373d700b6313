/*
    test_timeline_states.c - states of streams by hand, and random work against
    what counting nanoseconds gives
*/
#include "tests/replay/timeline/timeline_forge.h"

typedef struct expected_span {
    ts_state state;
    int64_t end;
} expected_span;

// The states of a stream from `start` on.
static void spans_are(const timeline *x, uint32_t track, int64_t start,
                      const expected_span *expected, size_t count)
{
    ts_state_spans spans =
        ts_timeline_state_spans(x->timeline, stream_of(x, track));
    ts_state_span span;
    for (size_t i = 0; i < count; i++) {
        assert_true(ts_state_spans_next(&spans, &span));
        assert_string_equal(ts_state_name((uint32_t)expected[i].state),
                            ts_state_name((uint32_t)span.state));
        assert_int_equal(start, span.start_ns);
        assert_int_equal(expected[i].end, span.end_ns);
        start = span.end_ns;
    }
    assert_false(ts_state_spans_next(&spans, &span));
    assert_false(ts_state_spans_next(&spans, &span));
}
#define SPANS(x, track, start, expected) \
    spans_are(x, track, start, expected, sizeof(expected) / sizeof *(expected))

UNIT_TEST(a_stream_passes_through_every_state)
{
    const op ops[] = {
        { K, S0, 2, 50, 0, 1, 0, 0, HOST },
        { R, S0, 50, 50, 1, 2, 7, 0, HOST },
        { W, S0 + 1, 5, 52, 2, 3, 7, 0, HOST },
        { K, S0 + 1, 55, 60, 3, 4, 0, 0, HOST },
        { K, S0 + 1, 60, 62, 4, 5, 0, 0, HOST },
        { K, S0 + 1, 70, 80, 67, 6, 0, 0, HOST },
        { K, T0, 90, 95, 89, 7, 0, 0, OTHER },
    };
    timeline x = TIMELINE(ops);
    const expected_span first[] = { { TS_STATE_PENDING, 2 },
                                    { TS_STATE_RUNNING, 50 },
                                    { TS_STATE_FINISHED, 95 } };
    const expected_span second[] = {
        { TS_STATE_WAITING, 52 },  { TS_STATE_PENDING, 55 },
        { TS_STATE_RUNNING, 62 },  { TS_STATE_IDLE, 67 },
        { TS_STATE_PENDING, 70 },  { TS_STATE_RUNNING, 80 },
        { TS_STATE_FINISHED, 95 },
    };
    const expected_span third[] = { { TS_STATE_PENDING, 90 },
                                    { TS_STATE_RUNNING, 95 } };
    SPANS(&x, S0, 0, first);
    SPANS(&x, S0 + 1, 2, second);
    SPANS(&x, T0, 89, third);
    ts_state_spans spans =
        ts_timeline_state_spans(x.timeline, stream_of(&x, S0 + 1));
    ts_state_span span;
    assert_true(ts_state_spans_next(&spans, &span));
    assert_int_equal(work_find(&x.work, S0, 2), span.culprit);
    assert_int_equal(work_find(&x.work, S0 + 1, 5), span.operation);
    assert_int_equal(TS_EDGE_EVENT, span.edge);
    spans = ts_timeline_state_spans(x.timeline, 99);
    assert_false(ts_state_spans_next(&spans, &span));
    timeline_close(&x);
}

UNIT_TEST(a_stream_waits_for_the_legacy_default_stream)
{
    const op ops[] = {
        { K, LEGACY, 2, 30, 1, 0, 0, 0, HOST },
        { K, S0, 33, 40, 3, 0, 0, 0, HOST },
    };
    timeline x = TIMELINE(ops);
    const expected_span expected[] = { { TS_STATE_WAITING, 30 },
                                       { TS_STATE_PENDING, 33 },
                                       { TS_STATE_RUNNING, 40 } };
    SPANS(&x, S0, 3, expected);
    timeline_close(&x);
}

// As importers write waits that know only when they were satisfied.
UNIT_TEST(a_wait_without_duration_has_waited_since_it_was_issued)
{
    const op ops[] = {
        { K, S0, 2, 50, 0, 1, 0, 0, HOST },
        { R, S0, 50, 50, 1, 2, 7, 0, HOST },
        { W, S0 + 1, 51, 51, 4, 3, 7, 0, HOST },
        { K, S0 + 1, 55, 60, 5, 4, 0, 0, HOST },
    };
    timeline x = TIMELINE(ops);
    const expected_span expected[] = { { TS_STATE_WAITING, 50 },
                                       { TS_STATE_PENDING, 55 },
                                       { TS_STATE_RUNNING, 60 } };
    SPANS(&x, S0 + 1, 4, expected);
    gap_is(&x, 0, 50, 55, TS_IDLE_OTHER_STREAM);
    timeline_close(&x);
}

UNIT_TEST(overlaps_within_a_stream_are_one_run)
{
    const op ops[] = {
        { K, S0, 10, 30, 0, 1, 0, 0, HOST },
        { K, S0, 20, 25, 1, 2, 0, 0, HOST },
        { TS_EVENT_HOST_FUNCTION, S0, 30, 35, 2, 3, 0, 0, HOST },
        { K, S0, 40, 45, UNKNOWN, 4, 0, 0, 0 },
    };
    timeline x = TIMELINE(ops);
    const expected_span expected[] = { { TS_STATE_PENDING, 10 },
                                       { TS_STATE_RUNNING, 35 },
                                       { TS_STATE_IDLE, 40 },
                                       { TS_STATE_RUNNING, 45 } };
    SPANS(&x, S0, 0, expected);
    timeline_close(&x);
}

/* ---- Random work -------------------------------------------------------- */

enum { OPS = 40, LAST = 400 };

static uint32_t random_below(uint64_t *state, uint32_t limit)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)((*state >> 33) * limit >> 31);
}

static size_t random_work(uint64_t *state, op *ops)
{
    static const uint8_t kinds[] = {
        K,
        K,
        K,
        TS_EVENT_MEMCPY,
        TS_EVENT_MEMSET,
        TS_EVENT_COLLECTIVE,
        R,
        W,
        SS,
        DS,
        ES,
        TS_EVENT_HOST_FUNCTION,
        TS_EVENT_GPU_ALLOC,
    };
    static const uint32_t tracks[] = { S0, S0 + 1, S0 + 2, LEGACY, FREE, T0 };
    const size_t count = 1 + random_below(state, OPS);
    for (size_t i = 0; i < count; i++) {
        const uint32_t start = random_below(state, LAST - 60);
        const uint32_t issue = random_below(state, start + 1);
        const op o = {
            .kind = kinds[random_below(state, sizeof kinds)],
            .track = tracks[random_below(state, 6)],
            .start = start,
            .end = start + random_below(state, 50),
            .queued = random_below(state, 4) ? issue : UNKNOWN,
            .correlation = i + 1,
            .id = 1 + random_below(state, 3),
            .thread = random_below(state, 3) ? HOST : OTHER,
        };
        ops[i] = o;
    }
    return count;
}

// What runs at a moment on a device or, with `stream`, on a track.
static uint32_t running(const op *ops, size_t count, uint32_t first,
                        uint32_t last, uint64_t t, bool host)
{
    uint32_t at_work = 0;
    for (size_t i = 0; i < count; i++) {
        const op *const o = &ops[i];
        const bool work = o->kind == K || o->kind == TS_EVENT_MEMCPY ||
                          o->kind == TS_EVENT_MEMSET ||
                          o->kind == TS_EVENT_COLLECTIVE ||
                          (host && o->kind == TS_EVENT_HOST_FUNCTION);
        at_work += work && o->track >= first && o->track <= last &&
                   o->start <= t && t < o->end;
    }
    return at_work;
}

static void check_device(const ts_timeline *t, size_t device, const op *ops,
                         size_t count)
{
    const ts_timeline_figures *const f = ts_timeline_device(t, device);
    const uint32_t first = f->track == D0 ? S0 : T0;
    int64_t times[OPS + 1] = { 0 }, idle = 0, gaps = 0, sum = 0;
    for (int64_t now = f->start_ns; now < f->end_ns; now++)
        times[running(ops, count, first, first + 99, (uint64_t)now, false)]++;
    const int64_t *levels;
    const size_t depth = ts_timeline_concurrency(t, device, &levels);
    for (size_t i = 0; i <= OPS; i++)
        assert_int_equal(times[i], i < depth ? levels[i] : 0);
    assert_int_equal(times[0], f->idle_ns);
    assert_int_equal(f->end_ns - f->start_ns, f->busy_ns + f->idle_ns);
    for (int i = 0; i < TS_IDLE_LIMIT; i++)
        idle += f->cause_ns[i];
    assert_int_equal(f->idle_ns, idle);
    assert_int_equal(f->idle_ns,
                     f->explicit_ns + f->inferred_ns + f->unexplained_ns);
    ts_gap gap;
    int64_t last = INT64_MIN;
    for (size_t i = 0; ts_timeline_gap(t, device, i, &gap); i++) {
        assert_true(gap.start_ns > last && gap.end_ns > gap.start_ns);
        last = gap.end_ns;
        gaps += gap.end_ns - gap.start_ns;
    }
    assert_int_equal(f->idle_ns, gaps);
    for (int i = 0; i < TS_WORK_LIMIT; i++)
        sum += f->only_ns[i];
    assert_int_equal(f->busy_ns, sum);
}

static void check_queue(const ts_timeline *t, size_t device, const op *ops,
                        size_t count)
{
    const ts_timeline_figures *const f = ts_timeline_device(t, device);
    const uint32_t first = f->track == D0 ? S0 : T0;
    int64_t integral = 0;
    uint32_t most = 0;
    for (int64_t now = 0; now < LAST; now++) {
        uint32_t depth = 0;
        for (size_t i = 0; i < count; i++) {
            const op *const o = &ops[i];
            const bool on = o->kind != SS && o->kind != DS && o->kind != ES &&
                            o->track >= first && o->track <= first + 99;
            depth += on && o->queued != UNKNOWN && (int64_t)o->queued <= now &&
                     now < (int64_t)o->start;
        }
        assert_int_equal(depth, ts_timeline_queue(t, device, now));
        if (f->end_ns > f->start_ns && now >= f->start_ns) integral += depth;
        if (depth > most) most = depth;
    }
    assert_int_equal(integral, f->queue_ns);
    assert_int_equal(most, f->queue_max);
}

// A stream waits for what its operation waits for.
static void check_culprit(const ts_timeline *t, const ts_state_span *span)
{
    uint8_t edge;
    bool inferred;
    const uint32_t culprit =
        ts_timeline_culprit(t, span->operation, &edge, &inferred);
    if (culprit == TS_NODE_NONE) return; // of an end that waited for itself
    assert_int_equal(culprit, span->culprit);
    assert_int_equal(edge, span->edge);
    assert_int_equal(inferred, span->inferred);
}

static void check_stream(const fixture *work, const ts_timeline *t,
                         size_t stream, const op *ops, size_t count)
{
    ts_lane lane;
    assert_true(ts_replay_lane(work->replay, stream, &lane));
    ts_state_spans spans = ts_timeline_state_spans(t, stream);
    ts_state_span span;
    int64_t first = INT64_MAX, end = 0, last = 0, at = 0;
    for (size_t i = 0; i < count; i++) {
        const op *const o = &ops[i];
        if (o->kind == SS || o->kind == DS || o->kind == ES) continue;
        const uint64_t issue = o->queued == UNKNOWN ? o->start : o->queued;
        if ((int64_t)o->end > end) end = (int64_t)o->end;
        if (o->track != lane.track) continue;
        if ((int64_t)issue < first) first = (int64_t)issue;
        if ((int64_t)o->start > last) last = (int64_t)o->start;
    }
    for (at = first; ts_state_spans_next(&spans, &span); at = span.end_ns) {
        assert_int_equal(at, span.start_ns);
        assert_true(span.end_ns > span.start_ns);
        for (int64_t now = span.start_ns; now < span.end_ns; now++) {
            const bool runs = running(ops, count, lane.track, lane.track,
                                      (uint64_t)now, true) != 0;
            assert_int_equal(runs, span.state == TS_STATE_RUNNING);
            if (span.state == TS_STATE_FINISHED) assert_true(now >= last);
        }
        if (span.state == TS_STATE_WAITING) check_culprit(t, &span);
    }
    if (first < INT64_MAX) assert_int_equal(end, at);
}

UNIT_TEST(random_work_is_as_counting_says)
{
    uint64_t state = 1;
    for (int round = 0; round < 400; round++) {
        op ops[OPS];
        const size_t count = random_work(&state, ops);
        fixture work = work_with(ops, count, NULL, 0, NULL, round & 3);
        for (int replayed = 0; replayed < 2; replayed++) {
            ts_timeline *t;
            const ts_timeline_desc desc = { .replayed = replayed };
            if (replayed)
                assert_int_equal(TS_OK, ts_replay_run(work.replay, NULL));
            const ts_result result = ts_timeline_open(&t, work.replay, &desc);
            if (result == TS_ERR_NOT_FOUND) continue;
            assert_int_equal(TS_OK, result);
            for (size_t i = 0; ts_timeline_device(t, i); i++) {
                check_device(t, i, ops, count);
                check_queue(t, i, ops, count);
            }
            for (size_t i = 0; i < ts_replay_lane_count(work.replay); i++)
                check_stream(&work, t, i, ops, count);
            ts_timeline_close(t);
        }
        work_close(&work);
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
