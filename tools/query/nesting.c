/*
    nesting.c - parents, depths and self times of zones

    Computed for a whole file when a query first needs it: zones are read in
    order of start, with a stack of open zones for each thread.
*/
#include "tools/query/tables.h"

#ifdef TRACESMITH_SQLITE

typedef struct open_zone {
    int64_t end_ns;
    uint32_t number;
} open_zone;

typedef struct thread_stack {
    open_zone *items;
    uint32_t count;
    size_t room;
} thread_stack;

typedef struct walk {
    query_nesting *to;
    cli_map threads; // track -> index of its stack + 1
    thread_stack *stacks;
    uint32_t stack_count;
} walk;

static bool list_zones(const ts_reader *reader, query_nesting *to)
{
    const size_t chunks = ts_reader_chunk_count(reader);
    ts_chunk_info info;
    uint64_t count = 0;
    to->first = malloc((chunks + 1) * sizeof *to->first);
    if (!to->first) return false;
    for (size_t i = 0; i < chunks; i++) {
        to->first[i] = (uint32_t)count;
        if (ts_reader_chunk(reader, i, &info) &&
            info.header.kind == TS_CHUNK_EVENTS &&
            info.header.event == TS_EVENT_ZONE)
            count += info.header.count;
    }
    if (count >= UINT32_MAX) return false;
    to->self_ns = query_array(count, sizeof *to->self_ns);
    to->parents = query_array(count, sizeof *to->parents);
    to->depths = query_array(count, sizeof *to->depths);
    return to->self_ns && to->parents && to->depths;
}

static thread_stack *stack_of(walk *w, uint32_t track)
{
    uint64_t *const slot = cli_map_at(&w->threads, track);
    if (!slot) return NULL;
    if (*slot) return &w->stacks[*slot - 1];
    thread_stack *const more =
        realloc(w->stacks, (w->stack_count + 1) * sizeof *more);
    if (!more) return NULL;
    w->stacks = more;
    more[w->stack_count] = (thread_stack){ 0 };
    *slot = ++w->stack_count;
    return &more[*slot - 1];
}

static bool push(thread_stack *s, open_zone zone)
{
    if (!cli_grow(&s->items, &s->room, (size_t)s->count + 1, sizeof *s->items))
        return false;
    s->items[s->count++] = zone;
    return true;
}

// Subtracts a zone's duration from the self time of the zone that is innermost
// without it; where zones cross, piecewise from several.
static void take_away(query_nesting *to, const thread_stack *s,
                      const ts_event *e)
{
    int64_t from = e->start_ns;
    const int64_t end_ns = e->start_ns + e->duration_ns;
    for (uint32_t i = s->count; i-- > 0 && from < end_ns;) {
        const open_zone *const zone = &s->items[i];
        const int64_t both = end_ns < zone->end_ns ? end_ns : zone->end_ns;
        if (both <= from) continue;
        to->self_ns[zone->number] -= both - from;
        from = both;
    }
}

static bool add_zone(walk *w, const ts_event *e)
{
    query_nesting *const to = w->to;
    thread_stack *const s = stack_of(w, e->track);
    if (!s) return false;
    const uint32_t number = to->first[e->columns->chunk] + e->row;
    const int64_t end_ns = e->start_ns + e->duration_ns;
    while (s->count && s->items[s->count - 1].end_ns <= e->start_ns)
        s->count--;
    to->self_ns[number] = e->duration_ns;
    to->depths[number] = s->count;
    to->parents[number] = 0;
    if (s->count) {
        to->parents[number] = s->items[s->count - 1].number + 1;
        take_away(to, s, e);
    }
    return push(s, (open_zone){ end_ns, number });
}

static int walk_zones(const query *q, ts_reader *reader, walk *w)
{
    const ts_filter zones = { .kinds = TS_FILTER(ZONE) };
    ts_cursor *cursor;
    ts_event event;
    uint32_t seen = 0;
    if (ts_cursor_open(&cursor, reader, &zones) != TS_OK) return SQLITE_NOMEM;
    int code = SQLITE_OK;
    while (code == SQLITE_OK && ts_cursor_next(cursor, &event)) {
        if (!add_zone(w, &event)) code = SQLITE_NOMEM;
        if (!(++seen & 0xFFFF) && query_stops(q)) code = SQLITE_INTERRUPT;
    }
    if (ts_cursor_result(cursor) == TS_ERR_MEMORY) code = SQLITE_NOMEM;
    ts_cursor_close(cursor);
    return code;
}

int query_nesting_make(const query *q, query_file *file)
{
    if (file->nesting) return SQLITE_OK;
    query_nesting *const to = calloc(1, sizeof *to);
    if (!to) return SQLITE_NOMEM;
    file->nesting = to;
    walk w = { .to = to };
    int code = list_zones(file->trace.reader, to) ? SQLITE_OK : SQLITE_NOMEM;
    if (code == SQLITE_OK) code = walk_zones(q, file->trace.reader, &w);
    for (uint32_t i = 0; i < w.stack_count; i++)
        free(w.stacks[i].items);
    free(w.stacks);
    cli_map_close(&w.threads);
    if (code != SQLITE_OK) query_nesting_close(file);
    return code;
}

void query_nesting_close(query_file *file)
{
    query_nesting *const n = file->nesting;
    file->nesting = NULL;
    if (!n) return;
    free(n->first);
    free(n->self_ns);
    free(n->parents);
    free(n->depths);
    free(n);
}

#endif
