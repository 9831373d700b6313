/* ---- Timeline: lists by device and stream ------------------------------- */

// Whether a node waited for something other than its call and its predecessor
// on the stream.
static bool ts__tl_is_held(const ts_timeline *t, uint32_t node)
{
    const uint8_t edge = ts__tl_bound_by(t, node);
    return edge != TS_EDGE_SELF && edge != TS_EDGE_LAUNCH &&
           edge != TS_EDGE_STREAM_ORDER;
}

// Returns an entry of lane_kinds.
static uint8_t ts__tl_kind_of(const ts_timeline *t, uint32_t op)
{
    uint8_t kind = ts__replay_op(t->replay, op)->kind;
    const bool waits = kind == TS_EVENT_EVENT_WAIT;
    const uint32_t end = waits ? ts__replay_end_node(t->replay, op) : op;
    if (ts__tl_is_held(t, op)) kind |= TS__TL_BEGIN_HELD;
    if (end != op && ts__tl_is_held(t, end)) kind |= TS__TL_END_HELD;
    return kind;
}

// Replaces each count by the end offset of its group. Filling the groups from
// the back then leaves the start offsets.
static void ts__tl_sum_up(uint32_t *counts, size_t count)
{
    uint32_t sum = 0;
    for (size_t i = 0; i <= count; i++)
        counts[i] = sum += counts[i];
}

// Sorts the operations by device and by lane; the order within each is kept.
static bool ts__tl_split(ts_timeline *t, ts__rvec *device_first)
{
    const ts_replay *const r = t->replay;
    const ts_allocator *const a = &t->allocator;
    const size_t ops = t->order.count, devices = r->device_results.count;
    if (!ts__rvec_reserve(a, &t->by_device, sizeof(uint32_t), ops) ||
        !ts__rvec_reserve(a, &t->by_lane, sizeof(uint32_t), ops) ||
        !ts__rvec_reserve(a, &t->lane_issues, sizeof(int64_t), ops) ||
        !ts__rvec_reserve(a, &t->lane_kinds, sizeof(uint8_t), ops) ||
        !ts__rvec_fill(a, device_first, sizeof(uint32_t), devices + 1, 0) ||
        !ts__rvec_fill(a, &t->lane_first, sizeof(uint32_t), r->lanes.count + 1,
                       0))
        return false;
    uint32_t *const by_device = (uint32_t *)device_first->data;
    uint32_t *const by_lane = (uint32_t *)t->lane_first.data;
    for (size_t i = 0; i < ops; i++)
        by_lane[ts__replay_lanes(r)[ts__tl_u32(&t->order)[i]]]++;
    for (size_t i = 0; i < r->lanes.count; i++)
        if (by_lane[i])
            by_device[ts__replay_lane_at(r, i)->device] += by_lane[i];
    ts__tl_sum_up(by_device, devices);
    ts__tl_sum_up(by_lane, r->lanes.count);
    for (size_t i = ops; i-- > 0;) {
        const uint32_t op = ts__tl_u32(&t->order)[i];
        const uint32_t lane = ts__replay_lanes(r)[op];
        const uint32_t device = ts__replay_lane_at(r, lane)->device;
        const uint32_t at = --by_lane[lane];
        ((uint32_t *)t->by_lane.data)[at] = op;
        ((int64_t *)t->lane_issues.data)[at] = ts__tl_issue(t, op);
        ((uint8_t *)t->lane_kinds.data)[at] = ts__tl_kind_of(t, op);
        ((uint32_t *)t->by_device.data)[--by_device[device]] = op;
    }
    t->by_lane.count = t->lane_issues.count = t->by_device.count = ops;
    return true;
}

// Sorts times by insertion, since most are nearly in order already. If that
// takes more than 16 moves per time on average, a radix sort takes over.
static bool ts__tl_sort_times(const ts_timeline *t, ts__rsort *sort,
                              int64_t *times, size_t count)
{
    size_t moves = 16 * count;
    for (size_t i = 1; i < count; i++) {
        const int64_t time = times[i];
        size_t at = i;
        for (; at && times[at - 1] > time && moves; at--, moves--)
            times[at] = times[at - 1];
        times[at] = time;
    }
    if (moves) return true;
    if (!ts__rsort_open(&t->allocator, sort, count)) return false;
    for (size_t i = 0; i < count; i++) {
        ts__rsort_keys(sort)[i] = ts__rsort_time(times[i]);
        ts__rsort_index(sort)[i] = 0;
    }
    ts__rsort_run(sort, count);
    for (size_t i = 0; i < count; i++)
        times[i] = (int64_t)(ts__rsort_keys(sort)[i] ^ UINT64_C(1) << 63);
    return true;
}

// Streams are first in, first out. Where the recorded issue times contradict
// that, the issue times of the lane are sorted.
static bool ts__tl_sort_lanes(ts_timeline *t)
{
    ts__rsort sort = { 0 };
    bool ok = true;
    for (size_t i = 0; ok && i < t->replay->lanes.count; i++) {
        const uint32_t *const first = ts__tl_u32(&t->lane_first) + i;
        ok = ts__tl_sort_times(t, &sort,
                               (int64_t *)t->lane_issues.data + first[0],
                               first[1] - first[0]);
    }
    ts__rsort_close(&t->allocator, &sort);
    return ok;
}

static bool ts__tl_lists(ts_timeline *t)
{
    const size_t devices = t->replay->device_results.count;
    ts__rvec first = { 0 };
    const bool ok = ts__rvec_fill(&t->allocator, &t->devices,
                                  sizeof(ts__tl_device), devices + 1, 0) &&
                    ts__tl_split(t, &first) && ts__tl_sort_lanes(t) &&
                    ts__rvec_reserve(&t->allocator, &t->issues, sizeof(int64_t),
                                     t->order.count);
    for (size_t i = 0; ok && i <= devices; i++)
        ts__tl_device_at(t, i)->first = ts__tl_u32(&first)[i];
    t->devices.count = ok ? devices : 0;
    ts__rvec_close(&t->allocator, &first);
    return ok;
}
