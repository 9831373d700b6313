/*
    walk.c - events in order of time, with the depth of zones

    A zone comes after the zone around it, so a stack of open zones gives the
    depth. Rows of a file are only nearly sorted (importers write them as they
    come), so a cursor sorts them.
*/
#include "tools/view/view.h"

typedef struct track_state {
    view_zone *stack; // the open zones
    uint32_t count;
    size_t room;
    bool has_before; // a counter sample before the range was delivered
} track_state;

typedef struct walk {
    view *v;
    uint32_t (*call)(const view_item *item, void *user);
    void *user;
    enum { CHUNKED, BEFORE, ORDERED } pass;
    track_state *states;
    size_t state_count;
} walk;

static track_state *state_of(walk *w, uint32_t track)
{
    if (track >= w->state_count) {
        const size_t count = track + 64;
        w->states = view_resize(w->states, count, sizeof *w->states);
        memset(w->states + w->state_count, 0,
               (count - w->state_count) * sizeof *w->states);
        w->state_count = count;
    }
    return &w->states[track];
}

static void push(track_state *state, view_zone zone)
{
    view_grow(&state->stack, &state->room, (size_t)state->count + 1,
              sizeof *state->stack);
    state->stack[state->count++] = zone;
}

// Finds the zones around a zone, and its depth.
static void walk_zone(walk *w, track_state *state, view_item *item)
{
    while (state->count &&
           state->stack[state->count - 1].end_ns <= item->start_ns)
        state->count--;
    item->around = state->stack;
    item->depth = state->count;
    const uint32_t tag = w->call(item, w->user);
    push(state, (view_zone){ item->start_ns, item->end_ns, tag });
}

// A counter keeps its value, so the last sample before the range is selected,
// too.
static bool is_selected(const view *v, track_state *state,
                        const view_item *item)
{
    if (item->start_ns >= v->to_ns) return false;
    if (item->end_ns > v->from_ns || item->start_ns == v->from_ns) return true;
    if (item->kind != TS_EVENT_COUNTER || state->has_before) return false;
    state->has_before = true;
    return true;
}

// The end of an event; never before its start, even in a hostile file.
static int64_t end_of(int64_t start_ns, int64_t duration_ns)
{
    if (duration_ns <= 0) return start_ns;
    return start_ns > INT64_MAX - duration_ns ? INT64_MAX
                                              : start_ns + duration_ns;
}

static bool is_zone(ts_event_kind kind)
{
    return kind == TS_EVENT_ZONE || kind == TS_EVENT_ZONE_OPEN;
}

static void walk_row(walk *w, const ts_columns *columns, uint32_t row,
                     uint32_t track)
{
    if (!w->v->track_selected[track]) return;
    track_state *const state = state_of(w, track);
    view_item item = {
        .columns = columns,
        .row = row,
        .kind = columns->kind,
        .track = track,
        .start_ns = columns->start_ns[row],
        .end_ns = end_of(columns->start_ns[row], columns->duration_ns[row]),
    };
    if (item.kind == TS_EVENT_ZONE_OPEN &&
        item.end_ns < w->v->trace.info->last_ns)
        item.end_ns = w->v->trace.info->last_ns;
    if (!is_selected(w->v, state, &item)) return;
    if (w->pass == BEFORE && item.start_ns >= w->v->from_ns) return;
    if (is_zone(item.kind) && w->pass != CHUNKED)
        walk_zone(w, state, &item);
    else
        w->call(&item, w->user);
}

static void walk_columns(walk *w, const ts_columns *columns, bool forwards)
{
    uint32_t track = CLI_NONE;
    if (columns->track != TS_TRACK_MIXED)
        track = view_track_at(w->v, columns->track);
    for (uint32_t i = 0; i < columns->count; i++) {
        const uint32_t row = forwards ? i : columns->count - 1 - i;
        walk_row(w, columns, row,
                 columns->tracks ? view_track_at(w->v, columns->tracks[row])
                                 : track);
    }
}

// Whether a chunk may contain selected events of some kinds.
static bool takes_chunk(walk *w, const ts_chunk_info *chunk, uint64_t kinds)
{
    const ts_chunk_header *const h = &chunk->header;
    if (h->kind != TS_CHUNK_EVENTS || h->event >= TS_EVENT_LIMIT ||
        !(kinds >> h->event & 1))
        return false;
    if (h->event == TS_EVENT_ZONE_OPEN) return true;
    if (h->track != TS_TRACK_MIXED) {
        const uint32_t track = view_track_at(w->v, h->track);
        if (!w->v->track_selected[track]) return false;
        if (h->event == TS_EVENT_COUNTER && state_of(w, track)->has_before)
            return chunk->last_ns >= w->v->from_ns;
    }
    if (chunk->first_ns >= w->v->to_ns) return false;
    return chunk->last_ns >= w->v->from_ns || h->event == TS_EVENT_COUNTER;
}

// Walks chunk by chunk. The pass for events before the range goes forwards, the
// other one backwards, so that the first counter sample found before the range
// is the latest one.
static void walk_chunks(walk *w, uint64_t kinds, view_skip *skip)
{
    ts_columns columns = { 0 };
    ts_chunk_info chunk;
    cli_progress progress = { .what = "reading" };
    const size_t count = ts_reader_chunk_count(w->v->trace.reader);
    for (size_t i = 0; i < count; i++) {
        const size_t at = w->pass == BEFORE ? i : count - 1 - i;
        cli_progress_show(&progress, i, count);
        if (ts_reader_chunk(w->v->trace.reader, at, &chunk) &&
            takes_chunk(w, &chunk, kinds) &&
            !(skip && skip(at, &chunk, w->user)) &&
            ts_reader_decode(w->v->trace.reader, at, &columns) == TS_OK)
            walk_columns(w, &columns, w->pass == BEFORE);
    }
    cli_progress_end(&progress);
    ts_columns_close(w->v->trace.reader, &columns);
}

static void walk_ordered(walk *w, uint64_t kinds)
{
    const view *const v = w->v;
    const ts_filter filter = { .kinds = kinds,
                               .from_ns = v->zoomed ? v->from_ns : 0,
                               .to_ns = v->zoomed ? v->to_ns : 0 };
    ts_cursor *cursor;
    ts_event event;
    if (!kinds || ts_cursor_open(&cursor, v->trace.reader, &filter) != TS_OK)
        return;
    while (ts_cursor_next(cursor, &event))
        walk_row(w, event.columns, event.row, view_track_at(w->v, event.track));
    ts_cursor_close(cursor);
}

void view_walk(view *v, uint64_t kinds, view_skip *skip,
               uint32_t (*call)(const view_item *item, void *user), void *user)
{
    static const uint64_t moments = TS_FILTER(COUNTER) | TS_FILTER(MARK) |
                                    TS_FILTER(MESSAGE) | TS_FILTER(ALLOC) |
                                    TS_FILTER(FREE) | TS_FILTER(FLOW) |
                                    TS_FILTER(SAMPLE);
    walk w = { .v = v, .call = call, .user = user };
    if (kinds & TS_FILTER(ZONE)) kinds |= TS_FILTER(ZONE_OPEN);
    const uint64_t chunked = skip ? kinds : kinds & moments;
    walk_chunks(&w, chunked, skip);
    w.pass = BEFORE;
    walk_chunks(&w, kinds & ~chunked & TS_FILTER(ZONE_OPEN), NULL);
    w.pass = ORDERED;
    walk_ordered(&w, kinds & ~chunked);
    for (size_t i = 0; i < w.state_count; i++)
        free(w.states[i].stack);
    free(w.states);
}

/* ---- Intervals ---------------------------------------------------------- */

// An open frame or span; `next` links free entries.
typedef struct pending {
    view_interval interval;
    uint32_t next;
    bool used;
} pending;

typedef struct interval_walk {
    view *v;
    void (*call)(const view_interval *interval, void *user);
    void *user;
    pending *pendings;
    uint32_t count, free_first;
    size_t room;
    cli_map frames, spans; // to positions in pendings
} interval_walk;

static uint32_t pending_add(interval_walk *w)
{
    if (w->free_first != CLI_NONE) {
        const uint32_t at = w->free_first;
        w->free_first = w->pendings[at].next;
        return at;
    }
    view_grow(&w->pendings, &w->room, (size_t)w->count + 1,
              sizeof *w->pendings);
    return w->count++;
}

static void interval_end(interval_walk *w, pending *p, int64_t end_ns)
{
    p->interval.end_ns = end_ns;
    w->call(&p->interval, w->user);
}

static void pending_start(interval_walk *w, cli_map *map, uint64_t id,
                          const ts_event *event)
{
    const uint32_t at = pending_add(w);
    const view_interval interval = {
        .kind = event->kind,
        .key = view_key(event->columns, event->row),
        .track = view_track_at(w->v, event->track),
        .start_ns = event->start_ns,
    };
    w->pendings[at] = (pending){ .interval = interval, .used = true };
    view_map_set(map, id, at);
}

static void take_frame(interval_walk *w, const ts_event *event)
{
    const uint64_t site = ts_event_value(event, TS_COLUMN_SITE) & UINT32_MAX;
    const uint64_t id = (uint64_t)event->track << 32 | site;
    const uint32_t at = cli_map_row(&w->frames, id);
    if (at == CLI_NONE) {
        pending_start(w, &w->frames, id, event);
        return;
    }
    interval_end(w, &w->pendings[at], event->start_ns);
    w->pendings[at].interval.start_ns = event->start_ns;
}

static void take_span(interval_walk *w, const ts_event *event)
{
    const uint64_t id = ts_event_value(event, TS_COLUMN_ID);
    const uint64_t phase = ts_event_value(event, TS_COLUMN_PHASE);
    const uint32_t at = cli_map_row(&w->spans, id);
    if (at != CLI_NONE) { // its end, or a new start after a lost end
        interval_end(w, &w->pendings[at], event->start_ns);
        cli_map_remove(&w->spans, id);
        w->pendings[at].used = false;
        w->pendings[at].next = w->free_first;
        w->free_first = at;
    }
    if (phase == TS_PHASE_START) pending_start(w, &w->spans, id, event);
}

bool view_interval_is_selected(const view *v, const view_interval *interval)
{
    return v->track_selected[interval->track] &&
           interval->start_ns < v->to_ns &&
           (interval->end_ns > v->from_ns || interval->start_ns == v->from_ns);
}

void view_intervals(view *v, uint64_t kinds,
                    void (*call)(const view_interval *interval, void *user),
                    void *user)
{
    // No range: intervals that began before it may reach into it.
    const ts_filter filter = {
        .kinds = kinds & (TS_FILTER(FRAME) | TS_FILTER(SPAN)),
    };
    interval_walk w = {
        .v = v, .call = call, .user = user, .free_first = CLI_NONE
    };
    ts_cursor *cursor;
    ts_event event;
    if (!filter.kinds ||
        ts_cursor_open(&cursor, v->trace.reader, &filter) != TS_OK)
        return;
    while (ts_cursor_next(cursor, &event))
        event.kind == TS_EVENT_FRAME ? take_frame(&w, &event)
                                     : take_span(&w, &event);
    ts_cursor_close(cursor);
    // Open spans last to the end of the trace; the last frame is incomplete.
    for (uint32_t i = 0; i < w.count; i++)
        if (w.pendings[i].used && w.pendings[i].interval.kind == TS_EVENT_SPAN)
            interval_end(&w, &w.pendings[i], v->trace.info->last_ns);
    free(w.pendings);
    cli_map_close(&w.frames);
    cli_map_close(&w.spans);
}
