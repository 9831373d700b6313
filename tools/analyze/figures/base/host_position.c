/*
    host_position.c - the zones and calls that were open on the host at given
    times
*/
#include "tools/analyze/figures/base/host_position.h"
#include "tools/cli/search.h"
#include "tools/cli/sort.h"

// The state of one thread while its events are read.
typedef struct thread_state {
    uint32_t track;
    int64_t now_ns; // reported up to here
    const inside_span *next, *end;
    const inside_span **active; // spans that have begun and not ended
    size_t active_count, active_room;
    inside_frame *frames;
    uint32_t depth;
    size_t room;
} thread_state;

typedef struct inside_walk {
    thread_state *threads; // sorted by track
    size_t count;
    inside_part part;
    void *user;
    inside_span *later; // spans to look up on other threads
    size_t later_count, later_room;
    bool failed;
} inside_walk;

const inside_frame *inside_zone(const inside_frame *frames, uint32_t depth)
{
    while (depth--)
        if (!frames[depth].call) return &frames[depth];
    return NULL;
}

const inside_frame *inside_call(const inside_frame *frames, uint32_t depth)
{
    while (depth--)
        if (frames[depth].call) return &frames[depth];
    return NULL;
}

static void activate(inside_walk *w, thread_state *t, int64_t until)
{
    for (; t->next < t->end && t->next->from_ns < until; t->next++) {
        if (t->next->to_ns <= t->next->from_ns) continue;
        if (!cli_grow(&t->active, &t->active_room, t->active_count + 1,
                      sizeof *t->active)) {
            w->failed = true;
            return;
        }
        t->active[t->active_count++] = t->next;
    }
}

// Reports a part of a span, unless another thread may have more information.
static void report_part(inside_walk *w, const thread_state *t,
                        const inside_span *span, int64_t from, int64_t to)
{
    if (t->depth || !span->other) {
        w->part(w->user, span, from, to, t->frames, t->depth);
        return;
    }
    if (!cli_grow(&w->later, &w->later_room, w->later_count + 1,
                  sizeof *w->later)) {
        w->failed = true;
        return;
    }
    w->later[w->later_count++] =
        (inside_span){ span->file, span->other, from, to, span->index, 0 };
}

// Reports the time up to `until`, during which the open frames did not change.
static void report_until(inside_walk *w, thread_state *t, int64_t until)
{
    if (until <= t->now_ns) return;
    activate(w, t, until);
    size_t kept = 0;
    for (size_t i = 0; i < t->active_count; i++) {
        const inside_span *const s = t->active[i];
        const int64_t from = s->from_ns > t->now_ns ? s->from_ns : t->now_ns;
        const int64_t to = s->to_ns < until ? s->to_ns : until;
        if (from < to) report_part(w, t, s, from, to);
        if (s->to_ns > until) t->active[kept++] = s;
    }
    t->active_count = kept;
    t->now_ns = until;
}

// Closes frames that ended before `until`. A frame that is not properly nested
// ends with the frames opened inside it.
static void advance(inside_walk *w, thread_state *t, int64_t until)
{
    while (t->depth && t->frames[t->depth - 1].end_ns <= until) {
        report_until(w, t, t->frames[t->depth - 1].end_ns);
        t->depth--;
    }
    report_until(w, t, until);
}

static void enter(inside_walk *w, thread_state *t, inside_frame frame)
{
    if (!cli_grow(&t->frames, &t->room, (size_t)t->depth + 1,
                  sizeof *t->frames)) {
        w->failed = true;
        return;
    }
    t->frames[t->depth++] = frame;
}

static thread_state *state_of(inside_walk *w, uint32_t track)
{
    size_t low = 0, high = w->count;
    while (low < high)
        cli_halve(&low, &high, w->threads[cli_middle(low, high)].track < track);
    return low < w->count && w->threads[low].track == track ? &w->threads[low]
                                                            : NULL;
}

static void take(inside_walk *w, const ts_event *event, int64_t offset)
{
    thread_state *const t = state_of(w, event->track);
    if (!t) return;
    const bool call = event->kind == TS_EVENT_API_CALL;
    const int64_t start = event->start_ns + offset;
    const inside_frame frame = {
        call,
        (uint32_t)ts_event_value(event, call ? TS_COLUMN_NAME : TS_COLUMN_SITE),
        event->kind == TS_EVENT_ZONE_OPEN ? INT64_MAX
                                          : start + event->duration_ns
    };
    advance(w, t, start);
    if (frame.end_ns > start) enter(w, t, frame);
}

// Reads one file for its spans, which concern `count` threads.
static bool walk_file(inside_walk *w, ts_reader *reader, int64_t offset,
                      int64_t from, int64_t to)
{
    uint32_t *const tracks = malloc((w->count + 1) * sizeof *tracks);
    ts_cursor *cursor = NULL;
    ts_event event;
    if (!tracks) return false;
    for (size_t i = 0; i < w->count; i++)
        tracks[i] = w->threads[i].track;
    const ts_filter filter = { .kinds = TS_FILTER(ZONE) | TS_FILTER(ZONE_OPEN) |
                                        TS_FILTER(API_CALL),
                               .tracks = tracks,
                               .track_count = w->count,
                               .from_ns = from - offset,
                               .to_ns = to - offset };
    const ts_result opened = ts_cursor_open(&cursor, reader, &filter);
    while (opened == TS_OK && !w->failed && ts_cursor_next(cursor, &event))
        take(w, &event, offset);
    for (size_t i = 0; i < w->count && !w->failed; i++)
        advance(w, &w->threads[i], to);
    ts_cursor_close(cursor);
    free(tracks);
    return opened != TS_ERR_MEMORY && !w->failed;
}

// The number of threads that sorted spans are of.
static size_t thread_count(const inside_span *spans, size_t count)
{
    size_t threads = 0;
    for (size_t i = 0; i < count; i++)
        threads += !i || spans[i].thread != spans[i - 1].thread;
    return threads;
}

static bool walk_spans(inside_walk *w, const ts_replay *replay,
                       const inside_span *spans, size_t count)
{
    ts_replay_file file = { 0 };
    int64_t from = INT64_MAX, to = INT64_MIN;
    bool ok = ts_replay_file_at(replay, spans->file, &file);
    w->threads = calloc(thread_count(spans, count), sizeof *w->threads);
    w->count = 0;
    if (!w->threads) return false;
    for (size_t i = 0; i < count; i++) {
        if (!w->count || w->threads[w->count - 1].track != spans[i].thread) {
            const thread_state fresh = { .track = spans[i].thread,
                                         .now_ns = INT64_MIN,
                                         .next = &spans[i] };
            w->threads[w->count++] = fresh;
        }
        w->threads[w->count - 1].end = &spans[i + 1];
        if (spans[i].from_ns < from) from = spans[i].from_ns;
        if (spans[i].to_ns > to) to = spans[i].to_ns;
    }
    if (ok && from < to)
        ok = walk_file(w, file.reader, file.offset_ns, from, to);
    for (size_t i = 0; i < w->count; i++) {
        free(w->threads[i].frames);
        free(w->threads[i].active);
    }
    free(w->threads);
    return ok;
}

static int by_thread(const void *left, const void *right)
{
    const inside_span *const a = left, *const b = right;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
    if (a->from_ns != b->from_ns) return a->from_ns < b->from_ns ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

static bool walk_all(inside_walk *w, const ts_replay *replay,
                     inside_span *spans, size_t count)
{
    cli_sort(spans, count, sizeof *spans, by_thread);
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && spans[end].file == spans[i].file)
            end++;
        if (!walk_spans(w, replay, spans + i, end - i)) return false;
        i = end;
    }
    return true;
}

bool inside_parts(const ts_replay *replay, inside_span *spans, size_t count,
                  inside_part part, void *user)
{
    inside_walk w = { .part = part, .user = user };
    bool ok = walk_all(&w, replay, spans, count);
    inside_span *const later = w.later; // complete: nothing more is added
    ok = ok && walk_all(&w, replay, later, w.later_count);
    free(later);
    return ok;
}

// A thread of a file that makes calls.
typedef struct led_thread {
    uint32_t file, track, other;
} led_thread;

static led_thread *led_of(led_thread **list, size_t *count, size_t *room,
                          const ts_node *call)
{
    for (size_t i = *count; i-- > 0;)
        if ((*list)[i].file == call->file && (*list)[i].track == call->track)
            return &(*list)[i];
    if (!cli_grow(list, room, *count + 1, sizeof **list)) return NULL;
    (*list)[*count] = (led_thread){ call->file, call->track, 0 };
    return &(*list)[(*count)++];
}

// Finds for each call the other thread from which an edge leads to it.
static bool find_leaders(const ts_replay *replay, uint32_t *others)
{
    const ts_graph g = ts_replay_graph(replay);
    const uint32_t end = g.operation_count + g.call_count;
    ts_node from, to;
    bool any = false;
    for (uint32_t i = g.operation_count; i < g.node_count; i++)
        for (uint32_t e = g.offsets[i]; e < g.offsets[i + 1]; e++) {
            const uint32_t call = g.targets[e];
            if (TS_EDGE_KIND(g.kinds[e]) != TS_EDGE_HOST_ORDER ||
                call < g.operation_count || call >= end ||
                !ts_replay_node(replay, i, &from) ||
                !ts_replay_node(replay, call, &to) || !from.track ||
                from.file != to.file || from.track == to.track)
                continue;
            others[call - g.operation_count] = from.track;
            any = true;
        }
    return any;
}

uint32_t *inside_others(const ts_replay *replay)
{
    const ts_graph g = ts_replay_graph(replay);
    uint32_t *const others = calloc((size_t)g.call_count + 1, sizeof *others);
    led_thread *threads = NULL;
    size_t count = 0, room = 0;
    ts_node call;
    if (!others || !find_leaders(replay, others)) return others;
    for (uint32_t i = 0; i < g.call_count; i++) {
        if (!ts_replay_node(replay, g.operation_count + i, &call)) continue;
        led_thread *const led = led_of(&threads, &count, &room, &call);
        // The remaining spans are reported for their own thread only.
        if (!led) break;
        if (others[i]) led->other = others[i];
        others[i] = led->other;
    }
    free(threads);
    return others;
}
