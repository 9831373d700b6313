/*
    open_zones.c - what was open when the chosen time began or ended

    Zones that began before it are known by what their arguments say of them;
    spans, which are two events, by each of the two.
*/
#include "tools/cut/cut.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t cut_open_key(const cut_row *row)
{
    const bool span = row->columns->kind == TS_EVENT_SPAN;
    const uint64_t of[] = {
        span ? 0 : row->track, (uint64_t)row->start_ns,
        cut_value(row, span ? TS_COLUMN_ID : TS_COLUMN_SITE), span
    };
    return XXH3_64bits(of, sizeof of);
}

/* ---- Zones --------------------------------------------------------------- */

static bool begins_before(const cut_choice *choice, const ts_chunk_info *info)
{
    return info->first_ns < choice->wish->from_ns &&
           info->last_ns >= choice->wish->from_ns;
}

static void take_zone(cut_choice *choice, const cut_row *row)
{
    if (row->start_ns < choice->wish->from_ns &&
        row->end_ns > choice->wish->from_ns)
        cut_set_add(&choice->open, cut_open_key(row));
}

/* ---- Spans --------------------------------------------------------------- */

typedef struct begun { // a span that has not ended
    uint64_t id, key;
    int64_t start_ns;
    bool used;
} begun;

typedef struct spans { // by id; as many as are open at once
    cut_choice *choice;
    begun *list;
    size_t count, mask;
    bool no_memory;
} spans;

static size_t home_of(const spans *s, uint64_t id)
{
    return (size_t)(id * UINT64_C(0x9E3779B97F4A7C15) >> 20) & s->mask;
}

static begun *slot_of(const spans *s, uint64_t id)
{
    size_t at = home_of(s, id);
    while (s->list[at].used && s->list[at].id != id)
        at = (at + 1) & s->mask;
    return &s->list[at];
}

static bool grow(spans *s)
{
    begun *const old = s->list;
    const size_t count = old ? s->mask + 1 : 0;
    begun *const more = calloc(count ? 2 * count : 64, sizeof *more);
    if (!more) return false;
    s->list = more;
    s->mask = (count ? 2 * count : 64) - 1;
    for (size_t i = 0; i < count; i++)
        if (old[i].used) *slot_of(s, old[i].id) = old[i];
    free(old);
    return true;
}

// Moves up what was pushed on by the one that goes.
static void forget(spans *s, begun *gone)
{
    size_t hole = (size_t)(gone - s->list);
    for (size_t at = (hole + 1) & s->mask; s->list[at].used;
         at = (at + 1) & s->mask) {
        const size_t home = home_of(s, s->list[at].id);
        if (((at - home) & s->mask) < ((at - hole) & s->mask)) continue;
        s->list[hole] = s->list[at];
        hole = at;
    }
    s->list[hole].used = false;
    s->count--;
}

static void begin(spans *s, const cut_row *row)
{
    if ((!s->list || s->count > s->mask / 2) && !grow(s)) {
        s->no_memory = true;
        return;
    }
    const uint64_t id = cut_value(row, TS_COLUMN_ID);
    begun *const slot = slot_of(s, id);
    s->count += !slot->used;
    *slot = (begun){ id, cut_open_key(row), row->start_ns, true };
}

// A span that reaches over an end of the time is kept with both of its events.
static void end(spans *s, const cut_row *row)
{
    const cut_wish *const w = s->choice->wish;
    begun *const slot =
        s->list ? slot_of(s, cut_value(row, TS_COLUMN_ID)) : NULL;
    if (!slot || !slot->used) return;
    if (slot->start_ns < w->to_ns && row->start_ns > w->from_ns) {
        if (slot->start_ns < w->from_ns)
            cut_set_add(&s->choice->open, slot->key);
        if (row->start_ns >= w->to_ns)
            cut_set_add(&s->choice->open, cut_open_key(row));
    }
    forget(s, slot);
}

// In order of time: a span may end on another thread.
static bool find_spans(spans *s)
{
    const ts_filter filter = { .kinds = TS_FILTER(SPAN) };
    ts_cursor *cursor;
    ts_event e;
    if (ts_cursor_open(&cursor, s->choice->reader, &filter) != TS_OK)
        return false;
    while (!s->no_memory && ts_cursor_next(cursor, &e)) {
        const cut_row row = { e.columns, e.row, e.track, e.start_ns,
                              e.start_ns };
        if (cut_value(&row, TS_COLUMN_PHASE) == TS_PHASE_END)
            end(s, &row);
        else
            begin(s, &row);
    }
    ts_cursor_close(cursor);
    // What never ended was open from then on.
    for (size_t i = 0; s->list && i <= s->mask; i++)
        if (s->list[i].used && s->list[i].start_ns < s->choice->wish->from_ns)
            cut_set_add(&s->choice->open, s->list[i].key);
    return !s->no_memory;
}

bool cut_find_open(cut_choice *choice)
{
    spans s = { .choice = choice };
    if (!choice->wish->timed) return true;
    const bool done =
        cut_each(choice, TS_FILTER(ZONE), begins_before, take_zone) &&
        find_spans(&s);
    free(s.list);
    return done && !choice->open.no_memory;
}
