/*
    timeline_forge.h - timelines of hand-made GPU work
*/
#ifndef TIMELINE_FORGE_H
#define TIMELINE_FORGE_H

#include "tests/replay/graph/replay_forge.h"

typedef struct timeline {
    fixture work;
    ts_timeline *timeline;
} timeline;

static inline timeline timeline_of(fixture work)
{
    timeline x = { work, NULL };
    assert_int_equal(TS_OK, ts_timeline_open(&x.timeline, work.replay, NULL));
    return x;
}
#define TIMELINE(ops)              timeline_of(WORK(ops))
#define TIMELINE_CALLS(ops, calls) timeline_of(WORK_CALLS(ops, calls))

static inline void timeline_close(timeline *x)
{
    ts_timeline_close(x->timeline);
    work_close(&x->work);
}

// A gap of the first device.
static inline ts_gap gap_is(const timeline *x, size_t index, int64_t start,
                            int64_t end, ts_idle cause)
{
    ts_gap gap;
    assert_true(ts_timeline_gap(x->timeline, 0, index, &gap));
    assert_int_equal(start, gap.start_ns);
    assert_int_equal(end, gap.end_ns);
    assert_string_equal(ts_idle_name((uint32_t)cause),
                        ts_idle_name((uint32_t)gap.cause));
    return gap;
}

// The call of the operation on a track that starts at a time.
static inline uint32_t call_of(const timeline *x, uint32_t track, int64_t start)
{
    ts_operation o;
    assert_true(ts_replay_operation(x->work.replay,
                                    work_find(&x->work, track, start), &o));
    assert_int_not_equal(TS_NODE_NONE, o.call);
    return o.call;
}

// The stream with a track, as the timeline counts them.
static inline size_t stream_of(const timeline *x, uint32_t track)
{
    ts_lane lane;
    for (size_t i = 0; ts_replay_lane(x->work.replay, i, &lane); i++)
        if (lane.track == track) return i;
    fail_msg("no operations on track %" PRIu32, track);
    return 0;
}

#endif // TIMELINE_FORGE_H
