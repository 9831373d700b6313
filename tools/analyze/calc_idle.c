/*
    calc_idle.c - why devices idled, from gaps to sums
*/
#include "tools/analyze/calc_idle.h"

// What the spans of gaps are told to.
typedef struct idle_walk {
    idle_result *r;
    const ts_replay *replay;
    names_index *names;
    sums open; // what lay open in a gap: gap << 32 | group, `most` its depth
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
                       .zone = TS_NODE_NONE,
                       .call = TS_NODE_NONE };
        for (size_t i = 0; ts_timeline_gap(timeline, d, i, &g.gap); i++) {
            g.thread = g.file = 0;
            find_thread(replay, &g);
            r->gaps[r->count++] = g;
        }
    }
    qsort(r->gaps, r->count, sizeof *r->gaps, longer_first);
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

static uint32_t group_of(idle_walk *w, uint32_t file, const inside_frame *f)
{
    if (!f) return TS_NODE_NONE;
    const uint32_t group =
        names_add(w->names, w->replay, file,
                  f->call ? TS_EVENT_API_CALL : TS_EVENT_ZONE, f->id);
    if (group == TS_NODE_NONE) w->failed = true;
    return group;
}

// All that lay open counts for a gap, each name once however often it is.
static void note_open(idle_walk *w, const inside_span *span, int64_t ns,
                      const inside_frame *frames, uint32_t depth)
{
    for (uint32_t i = 0; i < depth && !w->failed; i++) {
        bool again = false;
        for (uint32_t k = 0; k < i && !again; k++)
            again = frames[k].call == frames[i].call &&
                    frames[k].id == frames[i].id;
        const uint32_t group =
            again ? TS_NODE_NONE : group_of(w, span->file, &frames[i]);
        if (group != TS_NODE_NONE &&
            !sums_add(&w->open, (uint64_t)span->index << 32 | group, ns, i))
            w->failed = true;
    }
}

static void take_part(void *user, const inside_span *span, int64_t from,
                      int64_t to, const inside_frame *frames, uint32_t depth)
{
    idle_walk *const w = user;
    const int64_t ns = to - from;
    if (w->failed) return;
    if (span->index < IDLE_DETAILS) note_open(w, span, ns, frames, depth);
    const ts_idle cause = w->r->gaps[span->index].gap.cause;
    if (!idle_by_host(cause)) return;
    const uint32_t zone = group_of(w, span->file, inside_zone(frames, depth));
    const uint32_t call = group_of(w, span->file, inside_call(frames, depth));
    w->r->host_ns += ns;
    if (!sums_add(&w->r->zones, zone, ns, span->index) ||
        !sums_add(&w->r->calls, call, ns, span->index) ||
        (cause == TS_IDLE_HOST_LATE &&
         !sums_add(&w->r->late_calls, call, ns, span->index)))
        w->failed = true;
}

// Of what was open in a gap for half of it, the innermost.
static void choose_open(idle_walk *w)
{
    for (int pass = 0; pass < 2; pass++) { // zones, then calls
        const ts_event_kind kind = pass ? TS_EVENT_API_CALL : TS_EVENT_ZONE;
        size_t depths[IDLE_DETAILS] = { 0 };
        for (size_t i = 0; i < w->open.count; i++) {
            const sums_row *const row = &w->open.rows[i];
            const size_t at = (size_t)(row->key >> 32);
            const uint32_t group = (uint32_t)row->key;
            idle_gap *const g = &w->r->gaps[at];
            if (w->names->groups[group].kind != kind ||
                row->ns < (g->gap.end_ns - g->gap.start_ns + 1) / 2 ||
                row->most + 1 <= depths[at])
                continue;
            depths[at] = row->most + 1;
            *(pass ? &g->call : &g->zone) = group;
            *(pass ? &g->call_ns : &g->zone_ns) = row->ns;
        }
    }
}

static bool take_host(idle_walk *w)
{
    idle_result *const r = w->r;
    inside_span *const spans = malloc((r->count + 1) * sizeof *spans);
    size_t count = 0;
    if (!spans) return false;
    for (size_t i = 0; i < r->count; i++) {
        const idle_gap *const g = &r->gaps[i];
        if (!g->thread || (i >= IDLE_DETAILS && !idle_by_host(g->gap.cause)))
            continue;
        const inside_span span = { g->file, g->thread, g->gap.start_ns,
                                   g->gap.end_ns, i };
        spans[count++] = span;
    }
    const bool ok =
        inside_parts(w->replay, spans, count, take_part, w) && !w->failed;
    free(spans);
    return ok;
}

bool idle_open(idle_result *r, const ts_replay *replay,
               const ts_timeline *timeline, names_index *names)
{
    memset(r, 0, sizeof *r);
    idle_walk w = { .r = r, .replay = replay, .names = names };
    const bool ok = take_gaps(r, replay, timeline, names) && take_host(&w);
    if (ok) choose_open(&w);
    sums_close(&w.open);
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
    sums_close(&r->ends);
    memset(r, 0, sizeof *r);
}
