/*
    open_zones.c - zones and spans open at the ends of the time range

    Zones that began before the range are identified by their arguments; spans,
    which are two events, by either of the two.
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
    return info->first_ns < choice->options->from_ns &&
           info->last_ns >= choice->options->from_ns;
}

static void take_zone(cut_choice *choice, const cut_row *row)
{
    if (row->start_ns < choice->options->from_ns &&
        row->end_ns > choice->options->from_ns)
        cut_set_add(&choice->open, cut_open_key(row));
}

/* ---- Spans --------------------------------------------------------------- */

typedef struct begun { // a span that has not ended yet
    uint64_t id, key;
    int64_t start_ns;
} begun;

typedef struct spans { // the open ones
    cut_choice *choice;
    begun *list;
    size_t count, room;
    cli_map index; // by id
    bool no_memory;
} spans;

static void begin(spans *s, const cut_row *row)
{
    const uint64_t id = cut_value(row, TS_COLUMN_ID);
    uint32_t at = cli_map_row(&s->index, id);
    if (at == CLI_NONE) {
        at = (uint32_t)s->count;
        if (!cli_grow(&s->list, &s->room, s->count + 1, sizeof *s->list) ||
            !cli_map_set(&s->index, id, at)) {
            s->no_memory = true;
            return;
        }
        s->count++;
    }
    s->list[at] = (begun){ id, cut_open_key(row), row->start_ns };
}

// Removes an element by moving the last one into its place.
static void forget(spans *s, uint32_t at)
{
    const begun last = s->list[--s->count];
    cli_map_remove(&s->index, s->list[at].id);
    if (at == s->count) return;
    s->list[at] = last;
    *cli_map_find(&s->index, last.id) = at;
}

// Keeps both events of a span that crosses an end of the time range.
static void end(spans *s, const cut_row *row)
{
    const cut_options *const w = s->choice->options;
    const uint32_t at = cli_map_row(&s->index, cut_value(row, TS_COLUMN_ID));
    if (at == CLI_NONE) return;
    const begun *const span = &s->list[at];
    if (span->start_ns < w->to_ns && row->start_ns > w->from_ns) {
        if (span->start_ns < w->from_ns)
            cut_set_add(&s->choice->open, span->key);
        if (row->start_ns >= w->to_ns)
            cut_set_add(&s->choice->open, cut_open_key(row));
    }
    forget(s, at);
}

// Reads events in order of time, because a span may end on another thread.
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
    // Spans that never ended are open until the end of the trace.
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i].start_ns < s->choice->options->from_ns)
            cut_set_add(&s->choice->open, s->list[i].key);
    return !s->no_memory;
}

bool cut_find_open(cut_choice *choice)
{
    spans s = { .choice = choice };
    if (!choice->options->timed) return true;
    const bool done =
        cut_each(choice, TS_FILTER(ZONE), begins_before, take_zone) &&
        find_spans(&s);
    free(s.list);
    cli_map_close(&s.index);
    return done && !choice->open.no_memory;
}
