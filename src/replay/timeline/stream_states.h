/* ---- Timeline: states of a stream --------------------------------------- */

// The operations of a stream are scattered in memory, so upcoming ones are
// prefetched.
static void ts__state_spans_load(ts_state_spans *s)
{
    const ts_timeline *const t = s->timeline;
    const uint32_t *const ops = ts__tl_u32(&t->by_lane);
    if (s->at >= s->end) return;
    if (s->at + 8 < s->end) {
        const uint32_t ahead = ops[s->at + 8];
        __builtin_prefetch(&ts__replay_time(t->replay)[ahead]);
        __builtin_prefetch(&ts__replay_duration(t->replay)[ahead]);
    }
    s->next_op = ops[s->at];
    s->begin_ns = ts__tl_begin(t, s->next_op);
    s->finish_ns = ts__tl_finish(t, s->next_op);
    s->issue_ns = ts__tl_i64(&t->lane_issues)[s->at];
    s->next_kind = ((const uint8_t *)t->lane_kinds.data)[s->at];
}

TS_API ts_state_spans ts_timeline_state_spans(const ts_timeline *timeline,
                                              size_t stream)
{
    const ts_replay *const r = timeline->replay;
    ts_state_spans spans;
    memset(&spans, 0, sizeof spans);
    spans.timeline = timeline;
    if (stream >= r->lane_results.count) return spans;
    const uint32_t *const first =
        ts__tl_u32(&timeline->lane_first) +
        (r->lanes.count - r->lane_results.count + stream);
    if (first[0] == first[1]) return spans;
    spans.more = true;
    spans.at = first[0];
    spans.end = first[1];
    ts__state_spans_load(&spans);
    spans.now_ns = spans.issue_ns;
    spans.busy_ns = spans.wait_ns = spans.now_ns;
    spans.runs = spans.waits = TS_NODE_NONE;
    return spans;
}

// If a node waited beyond *until, extends *until and stores the root cause in
// `span`.
static void ts__state_spans_hold(const ts_timeline *t, uint32_t node,
                                 int64_t *until, ts_state_span *span)
{
    const int64_t at = ts__tl_binding_of(t, node)->at_ns;
    if (at <= *until) return;
    const ts__tl_root *const root = ts__tl_root_at(t, node);
    *until = at;
    span->culprit = root->culprit;
    span->edge = root->edge;
    span->inferred = root->inferred;
}

// Takes the next operation as begun.
static void ts__state_spans_begin(ts_state_spans *s)
{
    const uint8_t kind = s->next_kind & (TS__TL_BEGIN_HELD - 1);
    if ((ts__kind_works(kind) || kind == TS_EVENT_HOST_FUNCTION) &&
        s->finish_ns > s->busy_ns) {
        if (s->busy_ns <= s->now_ns) s->runs = s->next_op;
        s->busy_ns = s->finish_ns;
    }
    if (kind == TS_EVENT_EVENT_WAIT && s->finish_ns > s->wait_ns) {
        s->wait_ns = s->finish_ns;
        s->waits = ts__replay_end_node(s->timeline->replay, s->next_op);
    }
    s->at++;
    ts__state_spans_load(s);
}

// Finds the state before the next operation while nothing runs on the stream.
// Returns until when that state lasts.
static int64_t ts__state_spans_before(ts_state_spans *s, ts_state_span *span)
{
    const ts_timeline *const t = s->timeline;
    const uint32_t op = s->next_op;
    int64_t until = s->now_ns;
    span->state = TS_STATE_IDLE;
    // All operations issued before this one have begun, so the queue is empty.
    if (s->issue_ns > until) return s->issue_ns;
    if (s->next_kind & TS__TL_BEGIN_HELD)
        ts__state_spans_hold(t, op, &until, span);
    if (s->next_kind & TS__TL_END_HELD)
        ts__state_spans_hold(t, ts__replay_end_node(t->replay, op), &until,
                             span);
    span->state = until > s->now_ns ? TS_STATE_WAITING : TS_STATE_PENDING;
    return until > s->now_ns ? until : s->begin_ns;
}

// Produces one span, not yet merged with the next; it may be empty. Returns
// false at the end.
static bool ts__state_spans_step(ts_state_spans *s, ts_state_span *span)
{
    const ts_timeline *const t = s->timeline;
    const bool next = s->at < s->end;
    const int64_t begin = next ? s->begin_ns : t->end_ns;
    const ts_state_span none = {
        TS_STATE_FINISHED, s->now_ns, begin, next ? s->next_op : TS_NODE_NONE,
        TS_NODE_NONE,      0,         false
    };
    *span = none;
    if (next && begin <= s->now_ns) {
        ts__state_spans_begin(s);
        span->end_ns = s->now_ns;
        return true;
    }
    int64_t until = begin;
    if (s->busy_ns > s->now_ns) {
        span->state = TS_STATE_RUNNING;
        span->operation = s->runs;
        until = s->busy_ns;
    } else if (s->wait_ns > s->now_ns) {
        span->state = TS_STATE_WAITING;
        span->operation = ts__node_owner(t->replay, s->waits);
        until = s->wait_ns;
        const ts__tl_root *const root = ts__tl_root_at(t, s->waits);
        span->culprit = root->culprit;
        span->edge = root->edge;
        span->inferred = root->inferred;
    } else if (next) {
        until = ts__state_spans_before(s, span);
    } else if (s->now_ns >= begin) {
        return false;
    }
    if (next && until > begin) until = begin;
    span->end_ns = s->now_ns = until;
    return true;
}

TS_API bool ts_state_spans_next(ts_state_spans *spans, ts_state_span *span)
{
    if (!spans->more) return false;
    while (ts__state_spans_step(spans, span)) {
        if (span->start_ns == span->end_ns) continue;
        ts_state_span *const kept = &spans->next;
        const bool same =
            spans->kept && kept->state == span->state &&
            (span->state != TS_STATE_WAITING ||
             (kept->culprit == span->culprit && kept->edge == span->edge));
        if (same) {
            kept->end_ns = span->end_ns;
            // A merged span names the last pending operation, but the first
            // running one.
            if (span->state != TS_STATE_RUNNING)
                kept->operation = span->operation;
            continue;
        }
        const ts_state_span done = *kept;
        const bool any = spans->kept;
        *kept = *span;
        spans->kept = true;
        *span = done;
        if (any) return true;
    }
    *span = spans->next;
    spans->more = false;
    return spans->kept;
}
