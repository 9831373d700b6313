/*
    idle.c - gaps of devices and their causes, summed up
*/
#include "tools/analyze/figures/time/idle.h"

// State of the pass over the spans of gaps.
typedef struct idle_walk {
    idle_result *r;
    hold_tally tally; // tally of gaps
    bool failed;
} idle_walk;

bool idle_by_host(ts_idle cause)
{
    return cause == TS_IDLE_HOST_LATE || cause == TS_IDLE_HOST_SYNC ||
           cause == TS_IDLE_QUEUE_FULL;
}

int64_t idle_late(const ts_timeline_figures *f)
{
    return f->cause_ns[TS_IDLE_HOST_LATE] +
           f->cause_ns[TS_IDLE_LAUNCH_LATENCY] - f->dispatch_ns;
}

static int longer_first(const void *left, const void *right)
{
    const idle_gap *const a = left, *const b = right;
    return cli_gap_order(&a->gap, a->device, &b->gap, b->device);
}

static uint64_t shortness_of(const void *of)
{
    const ts_gap *const gap = &((const idle_gap *)of)->gap;
    return ~cli_sort_signed(gap->end_ns - gap->start_ns);
}

static void find_thread(const ts_replay *replay, idle_gap *g)
{
    ts_operation op;
    ts_node call;
    if (!ts_replay_operation(replay, g->gap.operation, &op)) return;
    g->file = op.file;
    g->thread = op.thread;
    if (op.call != TS_NODE_NONE && ts_replay_node(replay, op.call, &call) &&
        call.track)
        g->thread = call.track;
}

// Whether the call that the gap waited for was still running, and loaded code.
static bool is_loading(const ts_replay *replay, const ts_gap *gap)
{
    ts_operation op;
    ts_node call;
    return gap->cause == TS_IDLE_LAUNCH_LATENCY &&
           ts_replay_operation(replay, gap->operation, &op) &&
           op.call != TS_NODE_NONE && ts_replay_node(replay, op.call, &call) &&
           call.duration_ns > LAUNCH_LOADS_NS &&
           call.recorded_ns + call.duration_ns > gap->start_ns;
}

static void count_length(idle_result *r, int64_t ns)
{
    int64_t limit = 1000;
    int at = 0;
    while (at + 1 < IDLE_LENGTHS && ns >= limit) {
        limit *= 10;
        at++;
    }
    r->lengths[at]++;
    r->lengths_ns[at] += ns;
}

static bool take_gaps(idle_result *r, const ts_replay *replay,
                      const ts_timeline *timeline, const names_index *names)
{
    size_t all = 0;
    for (size_t d = 0; ts_timeline_device(timeline, d); d++)
        all += ts_timeline_gap_count(timeline, d);
    r->gaps = calloc(all + 1, sizeof *r->gaps);
    if (!r->gaps) return false;
    for (size_t d = 0; ts_timeline_device(timeline, d); d++) {
        idle_gap g = { .device = d,
                       .held = { .zone = TS_NODE_NONE, .call = TS_NODE_NONE } };
        for (size_t i = 0; ts_timeline_gap(timeline, d, i, &g.gap); i++) {
            g.thread = g.file = 0;
            find_thread(replay, &g);
            if (is_loading(replay, &g.gap))
                r->loading_ns += g.gap.end_ns - g.gap.start_ns;
            r->gaps[r->count++] = g;
        }
    }
    cli_sort_by(r->gaps, r->count, sizeof *r->gaps, shortness_of, longer_first);
    for (size_t i = 0; i < r->count; i++) {
        const ts_gap *const gap = &r->gaps[i].gap;
        const int64_t ns = gap->end_ns - gap->start_ns;
        count_length(r, ns);
        if (!sums_add(&r->ends,
                      (uint64_t)names->of[gap->operation] * TS_IDLE_LIMIT +
                          gap->cause,
                      ns, i))
            return false;
    }
    return true;
}

static void take_part(void *user, const inside_span *span, int64_t from,
                      int64_t to, const inside_frame *frames, uint32_t depth)
{
    idle_walk *const w = user;
    const int64_t ns = to - from;
    if (w->failed) return;
    if (span->index < IDLE_DETAILS &&
        !hold_note(&w->tally, span, ns, frames, depth))
        w->failed = true;
    const ts_idle cause = w->r->gaps[span->index].gap.cause;
    if (!idle_by_host(cause)) return;
    const uint32_t zone = hold_group(&w->tally, span->file,
                                     inside_zone(frames, depth), &w->failed);
    const uint32_t call = hold_group(&w->tally, span->file,
                                     inside_call(frames, depth), &w->failed);
    w->r->host_ns += ns;
    if (!sums_add(&w->r->zones, zone, ns, span->index) ||
        !sums_add(&w->r->calls, call, ns, span->index) ||
        (cause == TS_IDLE_HOST_LATE &&
         !sums_add(ns > LAUNCH_LOADS_NS ? &w->r->long_calls : &w->r->late_calls,
                   call, ns, span->index)))
        w->failed = true;
}

static bool take_holds(const idle_walk *w)
{
    idle_result *const r = w->r;
    const size_t count = r->count < IDLE_DETAILS ? r->count : IDLE_DETAILS;
    hold *const holds = calloc(count + 1, sizeof *holds);
    for (size_t i = 0; holds && i < count; i++)
        holds[i].length_ns = r->gaps[i].gap.end_ns - r->gaps[i].gap.start_ns;
    if (holds) hold_choose(&w->tally, holds, count);
    for (size_t i = 0; holds && i < count; i++)
        r->gaps[i].held = holds[i];
    free(holds);
    return holds;
}

// Returns the thread that handed work to the thread which ended a gap.
static uint32_t other_of(const ts_replay *replay, const uint32_t *others,
                         const idle_gap *g)
{
    ts_operation op;
    return ts_replay_operation(replay, g->gap.operation, &op) &&
                   op.call != TS_NODE_NONE
               ? others[op.call - ts_replay_graph(replay).operation_count]
               : 0;
}

static bool take_host(idle_walk *w)
{
    idle_result *const r = w->r;
    inside_span *const spans = malloc((r->count + 1) * sizeof *spans);
    uint32_t *const others = inside_others(w->tally.replay);
    size_t count = 0;
    for (size_t i = 0; spans && others && i < r->count; i++) {
        const idle_gap *const g = &r->gaps[i];
        if (!g->thread || (i >= IDLE_DETAILS && !idle_by_host(g->gap.cause)))
            continue;
        const inside_span span = {
            g->file,       g->thread, g->gap.start_ns,
            g->gap.end_ns, i,         other_of(w->tally.replay, others, g)
        };
        spans[count++] = span;
    }
    const bool ok = spans && others &&
                    inside_parts(w->tally.replay, spans, count, take_part, w) &&
                    !w->failed;
    free(spans);
    free(others);
    return ok;
}

bool idle_open(idle_result *r, const ts_replay *replay,
               const ts_timeline *timeline, names_index *names)
{
    memset(r, 0, sizeof *r);
    idle_walk w = { .r = r, .tally = { .replay = replay, .names = names } };
    const bool ok = take_gaps(r, replay, timeline, names) && take_host(&w) &&
                    take_holds(&w);
    sums_close(&w.tally.open);
    sums_sort(&r->zones);
    sums_sort(&r->calls);
    sums_sort(&r->ends);
    return ok;
}

void idle_close(idle_result *r)
{
    free(r->gaps);
    sums_close(&r->zones);
    sums_close(&r->calls);
    sums_close(&r->late_calls);
    sums_close(&r->long_calls);
    sums_close(&r->ends);
    memset(r, 0, sizeof *r);
}
