/*
    links.c - finds the API call or zone that launched a GPU operation

    There are two passes before the walk. The first reads API calls in order,
    and operations chunk by chunk on all processors. Operations that it cannot
    link by correlation id were launched by a zone; the second pass reads the
    zones of their threads. In the walk an operation is identified by its chunk
    and row, a zone by its number on its thread.
*/
#include "tools/export/export.h"

typedef struct source {   // a call or zone where arrows begin
    uint64_t correlation; // of an API call
    uint32_t thread;
    uint32_t fan_out;
    int64_t start_ns;
    bool taken;    // of an API call: the walk has passed it
    bool has_late; // an operation seems to begin before it
    bool has_work; // launched an operation other than an event record
} source;

typedef struct launch { // an operation
    union {
        uint64_t correlation; // until it is linked
        uint64_t source;      // index + 1; 0: none
    } u;
    int64_t start_ns, queued_ns;
    uint32_t thread;
    uint32_t arrow;
    bool is_record; // an event record
} launch;

typedef struct launches { // the operations of a chunk, by row
    launch *of;
    uint32_t count;
} launches;

struct export_links {
    ts_reader *reader;
    source *sources;
    size_t source_count, source_capacity;
    ts_filter filter;
    launches *chunks;
    size_t chunk_count;
    export_map calls;     // key of correlation id and thread -> source + 1
    export_map any_calls; // correlation id -> source + 1
    export_map zones;     // thread << 32 | number -> source + 1
    export_map numbers;   // thread -> number of zones so far
    _Atomic bool out_of_memory; // set by threads of the first pass
};

// Hashes correlation id and thread to a key. If two calls collide, a comparison
// with the source shows it, and the second one is not linked.
static uint64_t call_key(uint64_t correlation, uint32_t thread)
{
    return (correlation ^ (uint64_t)thread << 40) & INT64_MAX;
}

static size_t source_new(export_links *links, uint64_t correlation,
                         uint32_t thread, int64_t start_ns)
{
    links->sources = export_grow(links->sources, &links->source_capacity,
                                 links->source_count, sizeof *links->sources);
    links->sources[links->source_count] = (source){ .correlation = correlation,
                                                    .thread = thread,
                                                    .start_ns = start_ns };
    return ++links->source_count;
}

static source *source_at(const export_links *links, const uint64_t *index)
{
    return index ? &links->sources[*index - 1] : NULL;
}

static source *find_call(const export_links *links, uint64_t correlation,
                         uint32_t thread)
{
    const export_map *const map = thread ? &links->calls : &links->any_calls;
    const uint64_t key = call_key(correlation, thread);
    source *const found = source_at(links, export_map_find(map, key));
    const bool is_it = found && found->correlation == correlation &&
                       (!thread || found->thread == thread);
    return is_it ? found : NULL;
}

/* ---- First pass: API calls and operations ------------------------------- */

static void add_call(export_links *links, const ts_event *event)
{
    const uint64_t correlation = ts_event_value(event, TS_COLUMN_CORRELATION);
    if (!correlation) return;
    uint64_t *const own =
        export_map_at(&links->calls, call_key(correlation, event->track));
    if (*own) return; // an inner call of the same launch
    *own = source_new(links, correlation, event->track, event->start_ns);
}

static bool any_without_thread(const export_links *links)
{
    for (size_t i = 0; i < links->chunk_count; i++)
        for (uint32_t k = 0; k < links->chunks[i].count; k++)
            if (!links->chunks[i].of[k].thread) return true;
    return false;
}

// Builds the index for operations without a thread.
static void index_any_calls(export_links *links)
{
    const bool wanted = links->source_count && any_without_thread(links);
    for (size_t i = 0; i < links->source_count && wanted; i++) {
        const uint64_t key = call_key(links->sources[i].correlation, 0);
        uint64_t *const any = export_map_at(&links->any_calls, key);
        if (!*any) *any = i + 1;
    }
}

// Returns when the host queued an operation; INT64_MIN: not recorded.
static int64_t queue_time(const ts_reader *reader, const ts_columns *columns,
                          uint32_t row)
{
    const uint64_t *const queued = columns->values[TS_COLUMN_QUEUED];
    const uint64_t *const submitted = columns->values[TS_COLUMN_SUBMITTED];
    uint64_t before = queued ? queued[row] : 0;
    if (!before && submitted) before = submitted[row];
    if (!before) return INT64_MIN;
    return ts_reader_time_ns(reader, columns->clock,
                             columns->start_ticks[row] - (before - 1));
}

// Returns whether the walk includes a row.
static bool is_walked(const ts_filter *filter, const ts_columns *columns,
                      uint32_t row)
{
    const int64_t start = columns->start_ns[row];
    if (filter->from_ns == filter->to_ns) return true;
    return start < filter->to_ns &&
           (start >= filter->from_ns ||
            start + columns->duration_ns[row] > filter->from_ns);
}

static void take_chunk(const ts_columns *columns, uint32_t number, void *user)
{
    export_links *const links = user;
    const uint64_t *const *const values = columns->values;
    (void)number;
    if (columns->chunk >= links->chunk_count) return;
    launches *const made = &links->chunks[columns->chunk];
    made->of = export_zeroed_elsewhere(columns->count, sizeof *made->of);
    if (made->of) made->count = columns->count;
    if (!made->of && columns->count) links->out_of_memory = true;
    for (uint32_t i = 0; i < made->count; i++) {
        launch *const l = &made->of[i];
        l->queued_ns = INT64_MIN;
        l->is_record = columns->kind == TS_EVENT_EVENT_RECORD;
        if (!is_walked(&links->filter, columns, i)) continue;
        if (values[TS_COLUMN_CORRELATION])
            l->u.correlation = values[TS_COLUMN_CORRELATION][i];
        if (values[TS_COLUMN_THREAD])
            l->thread = (uint32_t)values[TS_COLUMN_THREAD][i];
        l->start_ns = columns->start_ns[i];
        l->queued_ns = queue_time(links->reader, columns, i);
    }
}

static void first_pass(export_links *links)
{
    ts_filter calls = links->filter, operations = links->filter;
    calls.kinds = TS_FILTER(API_CALL);
    operations.kinds = 0;
    for (uint32_t kind = TS_EVENT_GPU_FIRST; kind < TS_EVENT_LIMIT; kind++)
        operations.kinds |= UINT64_C(1) << kind;
    links->chunk_count = ts_reader_chunk_count(links->reader);
    links->chunks =
        export_zeroed(links->chunk_count + 1, sizeof *links->chunks);
    // Damage is reported in the walk.
    ts_reader_scan(links->reader, &operations, 0, take_chunk, links);
    for (size_t i = 0; i < links->chunk_count; i++)
        export_adopt(links->chunks[i].of);
    if (links->out_of_memory) export_give_up();
    ts_cursor *cursor;
    ts_event event;
    if (export_cursor_open(&cursor, links->reader, &calls) == TS_OK)
        while (ts_cursor_next(cursor, &event))
            add_call(links, &event);
    export_cursor_close(cursor);
}

static void link_to(export_links *links, launch *l, uint64_t index)
{
    source *const from = &links->sources[index - 1];
    l->u.source = index;
    l->arrow = from->fan_out++;
    if (l->start_ns <= from->start_ns) from->has_late = true;
}

typedef struct launch_list {
    launch **of;
    size_t count, capacity;
} launch_list;

static void find_work(export_links *links, const launches *chunk)
{
    for (uint32_t i = 0; i < chunk->count; i++) {
        const launch *const l = &chunk->of[i];
        source *const call = l->u.correlation && !l->is_record
                                 ? find_call(links, l->u.correlation, l->thread)
                                 : NULL;
        if (call) call->has_work = true;
    }
}

// Links operations by correlation id and lists the rest. An event record that
// was made up for a wait has the call of the operation waited for, which did
// not launch it.
static void link_calls(export_links *links, launches *chunk, launch_list *left)
{
    for (uint32_t i = 0; i < chunk->count; i++) {
        launch *const l = &chunk->of[i];
        const uint64_t correlation = l->u.correlation;
        l->u.source = 0;
        source *const call =
            correlation ? find_call(links, correlation, l->thread) : NULL;
        if (call && call->has_work && l->is_record) continue;
        if (call) {
            link_to(links, l, (uint64_t)(call - links->sources) + 1);
        } else if (l->thread && l->queued_ns != INT64_MIN) {
            left->of = export_grow(left->of, &left->capacity, left->count,
                                   sizeof *left->of);
            left->of[left->count++] = l;
        }
    }
}

/* ---- Second pass: zones ------------------------------------------------- */

typedef struct zone { // an open zone
    int64_t start_ns, end_ns;
    uint64_t number;
} zone;

typedef struct thread { // a thread that launched operations
    uint32_t id;
    size_t first, last; // range of its launches in `left`
    zone *open;
    size_t depth, capacity;
    uint64_t zones; // zones so far
} thread;

// Insertion sort by queued time. Launches are nearly sorted already; if they
// are not, it gives up, because merging is faster then.
static bool insert_all(launch **list, size_t count)
{
    size_t moves = 0;
    for (size_t i = 1; i < count; i++) {
        launch *const moving = list[i];
        size_t at = i;
        for (; at && list[at - 1]->queued_ns > moving->queued_ns; at--)
            list[at] = list[at - 1];
        list[at] = moving;
        moves += i - at;
        if (moves > 16 * count) return false;
    }
    return true;
}

static void merge(launch **from, size_t middle, size_t count, launch **to)
{
    for (size_t i = 0, a = 0, b = middle; i < count; i++) {
        const bool right = a == middle || (b < count && from[b]->queued_ns <
                                                            from[a]->queued_ns);
        to[i] = right ? from[b++] : from[a++];
    }
}

static void sort_launches(launch **list, launch **spare, size_t count)
{
    if (count < 2 || insert_all(list, count)) return;
    const size_t middle = count / 2;
    sort_launches(list, spare, middle);
    sort_launches(list + middle, spare + middle, count - middle);
    memcpy(spare, list, count * sizeof *list);
    merge(spare, middle, count, list);
}

// Links the thread's launches before time_ns to the zones that enclose them.
static void link_until(export_links *links, thread *t, launch **left,
                       int64_t time_ns)
{
    for (; t->first < t->last; t->first++) {
        launch *const l = left[t->first];
        if (l->queued_ns >= time_ns) return;
        while (t->depth && t->open[t->depth - 1].end_ns <= l->queued_ns)
            t->depth--;
        if (!t->depth) continue;
        const zone *const z = &t->open[t->depth - 1];
        uint64_t *const index =
            export_map_at(&links->zones, (uint64_t)t->id << 32 | z->number);
        if (!*index) *index = source_new(links, 0, t->id, z->start_ns);
        link_to(links, l, *index);
    }
}

static void begin_zone(thread *t, const ts_event *event)
{
    while (t->depth && t->open[t->depth - 1].end_ns <= event->start_ns)
        t->depth--;
    t->open = export_grow(t->open, &t->capacity, t->depth, sizeof *t->open);
    t->open[t->depth++] =
        (zone){ event->start_ns, export_end_ns(event), t->zones++ };
}

static void follow_zones(export_links *links, thread *threads,
                         const uint32_t *ids, size_t count, launch **left)
{
    export_map index = { 0 };
    for (size_t i = 0; i < count; i++)
        *export_map_at(&index, ids[i]) = i + 1;
    ts_filter zones = links->filter;
    zones.kinds = TS_FILTER(ZONE) | TS_FILTER(ZONE_OPEN);
    zones.tracks = ids;
    zones.track_count = count;
    export_feed *feed;
    ts_event event;
    if (export_feed_open(&feed, links->reader, &zones) == TS_OK) {
        while (export_feed_next(feed, &event)) {
            const uint64_t *const at = export_map_find(&index, event.track);
            if (!at) continue;
            link_until(links, &threads[*at - 1], left, event.start_ns);
            begin_zone(&threads[*at - 1], &event);
        }
    }
    for (size_t i = 0; i < count; i++)
        link_until(links, &threads[i], left, INT64_MAX);
    export_feed_close(feed);
    export_map_free(&index);
}

// Returns the index of a thread, in order of occurrence.
static size_t thread_number(export_map *index, thread **threads, size_t *count,
                            size_t *capacity, uint32_t id)
{
    uint64_t *const at = export_map_at(index, id);
    if (!*at) {
        *threads = export_grow(*threads, capacity, *count, sizeof **threads);
        (*threads)[*count] = (thread){ .id = id };
        *at = ++*count;
    }
    return *at - 1;
}

// Lists the threads that launched the remaining operations, each with its part
// of `sorted`.
static thread *divide(const launch_list *left, launch **sorted,
                      size_t *thread_count)
{
    export_map index = { 0 };
    thread *threads = NULL;
    size_t count = 0, capacity = 0, at = 0;
    for (size_t i = 0; i < left->count; i++) {
        if (!i || left->of[i]->thread != threads[at].id)
            at = thread_number(&index, &threads, &count, &capacity,
                               left->of[i]->thread);
        threads[at].last++;
    }
    for (size_t i = 0, first = 0; i < count; i++) {
        const size_t own = threads[i].last;
        threads[i].first = threads[i].last = first;
        first += own;
    }
    for (size_t i = 0; i < left->count; i++) {
        const uint32_t id = left->of[i]->thread;
        if (threads[at].id != id) at = *export_map_find(&index, id) - 1;
        sorted[threads[at].last++] = left->of[i];
    }
    export_map_free(&index);
    *thread_count = count;
    return threads;
}

static void second_pass(export_links *links, launch_list *left)
{
    launch **const sorted = export_resize(NULL, left->count * sizeof *sorted);
    size_t count;
    thread *const threads = divide(left, sorted, &count);
    uint32_t *const ids = export_resize(NULL, count * sizeof *ids);
    for (size_t i = 0; i < count; i++) {
        const thread *const t = &threads[i];
        ids[i] = t->id;
        sort_launches(sorted + t->first, left->of + t->first,
                      t->last - t->first);
    }
    follow_zones(links, threads, ids, count, sorted);
    for (size_t i = 0; i < count; i++)
        export_resize(threads[i].open, 0);
    export_resize(threads, 0);
    export_resize(ids, 0);
    export_resize(sorted, 0);
}

/* ---- The walk ----------------------------------------------------------- */

export_links *export_links_open(ts_reader *reader, const ts_filter *filter)
{
    export_links *const links = export_zeroed(1, sizeof *links);
    links->reader = reader;
    links->filter = *filter;
    first_pass(links);
    index_any_calls(links);
    launch_list left = { 0 };
    if (ts_reader_info(reader)->counts[TS_EVENT_EVENT_RECORD])
        for (size_t i = 0; i < links->chunk_count; i++)
            find_work(links, &links->chunks[i]);
    for (size_t i = 0; i < links->chunk_count; i++)
        link_calls(links, &links->chunks[i], &left);
    if (left.count) second_pass(links, &left);
    export_resize(left.of, 0);
    return links;
}

static void leave(const export_links *links, uint64_t index,
                  export_arrows *arrows)
{
    arrows->source = index;
    arrows->fan_out = links->sources[index - 1].fan_out;
    arrows->has_late = links->sources[index - 1].has_late;
}

static void leave_zone(export_links *links, const ts_event *event,
                       export_arrows *arrows)
{
    if (!links->zones.count) return;
    uint64_t *const number = export_map_at(&links->numbers, event->track);
    const uint64_t key = (uint64_t)event->track << 32 | (*number)++;
    const uint64_t *const index = export_map_find(&links->zones, key);
    if (index) leave(links, *index, arrows);
}

static void leave_call(export_links *links, const ts_event *event,
                       export_arrows *arrows)
{
    const uint64_t correlation = ts_event_value(event, TS_COLUMN_CORRELATION);
    source *const call =
        correlation ? find_call(links, correlation, event->track) : NULL;
    if (!call || call->taken || !call->fan_out) return;
    call->taken = true;
    leave(links, (uint64_t)(call - links->sources) + 1, arrows);
}

void export_links_next(export_links *links, const ts_event *event,
                       export_arrows *arrows)
{
    if (event->kind == TS_EVENT_ZONE || event->kind == TS_EVENT_ZONE_OPEN)
        leave_zone(links, event, arrows);
    else if (event->kind == TS_EVENT_API_CALL)
        leave_call(links, event, arrows);
    const size_t chunk = event->columns->chunk;
    if (event->kind < TS_EVENT_GPU_FIRST || chunk >= links->chunk_count ||
        event->row >= links->chunks[chunk].count)
        return;
    const launch *const l = &links->chunks[chunk].of[event->row];
    if (!l->u.source) return;
    arrows->target = l->u.source;
    arrows->arrow = l->arrow;
    arrows->source_ns = links->sources[l->u.source - 1].start_ns;
    arrows->is_late = l->start_ns <= arrows->source_ns;
}

void export_links_close(export_links *links)
{
    if (!links) return;
    export_resize(links->sources, 0);
    for (size_t i = 0; i < links->chunk_count; i++)
        export_resize(links->chunks[i].of, 0);
    export_resize(links->chunks, 0);
    export_map_free(&links->calls);
    export_map_free(&links->any_calls);
    export_map_free(&links->zones);
    export_map_free(&links->numbers);
    export_resize(links, 0);
}
