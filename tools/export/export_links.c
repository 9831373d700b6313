/*
    export_links.c - which API call or zone launched which GPU operation

    Two passes before the walk. The first looks at API calls and operations
    only. What it cannot link by correlation was launched by a zone, and the
    second pass follows the zones of the threads that launched. A zone is
    known again in the walk by its number on its thread.
*/
#include "tools/export/export.h"
#include <stdlib.h>

typedef struct source {   // where arrows come from
    uint64_t correlation; // API calls
    uint32_t thread;
    uint32_t fan_out;
    int64_t start_ns;
    bool taken;    // an API call was found in the walk already
    bool has_late; // an operation that begins before it
} source;

typedef struct launch { // an operation, in the order of the walk
    union {
        uint64_t correlation; // until it is linked
        uint64_t source;      // index + 1, 0 none
    } u;
    int64_t start_ns, queued_ns;
    uint32_t thread;
    uint32_t arrow;
} launch;

struct export_links {
    ts_reader *reader;
    source *sources;
    size_t source_count, source_capacity;
    launch *launches;
    size_t launch_count, launch_capacity;
    size_t next;          // launch, in the walk
    export_map calls;     // key of correlation and thread -> source + 1
    export_map any_calls; // correlation -> source + 1
    export_map zones;     // thread << 32 | number -> source + 1
    export_map numbers;   // thread -> zones so far
};

// Correlations may be any number: where two calls share a key, the source
// tells that the second one is not meant, and it is not linked.
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

// For operations that do not say which thread launched them.
static void index_any_calls(export_links *links)
{
    bool wanted = false;
    for (size_t i = 0; i < links->launch_count && !wanted; i++)
        wanted = !links->launches[i].thread;
    for (size_t i = 0; i < links->source_count && wanted; i++) {
        const uint64_t key = call_key(links->sources[i].correlation, 0);
        uint64_t *const any = export_map_at(&links->any_calls, key);
        if (!*any) *any = i + 1;
    }
}

// When the host asked for an operation; false if nobody wrote it down.
static bool queue_time(const ts_reader *reader, const ts_event *event,
                       int64_t *ns)
{
    uint64_t before = ts_event_value(event, TS_COLUMN_QUEUED);
    if (!before) before = ts_event_value(event, TS_COLUMN_SUBMITTED);
    if (!before) return false;
    const ts_columns *const columns = event->columns;
    *ns = ts_reader_time_ns(reader, columns->clock,
                            columns->start_ticks[event->row] - (before - 1));
    return true;
}

static void add_launch(export_links *links, const ts_event *event)
{
    links->launches = export_grow(links->launches, &links->launch_capacity,
                                  links->launch_count, sizeof *links->launches);
    launch *const made = &links->launches[links->launch_count++];
    made->u.correlation = ts_event_value(event, TS_COLUMN_CORRELATION);
    made->thread = (uint32_t)ts_event_value(event, TS_COLUMN_THREAD);
    made->arrow = 0;
    made->start_ns = event->start_ns;
    made->queued_ns = INT64_MIN;
    queue_time(links->reader, event, &made->queued_ns);
}

static void first_pass(export_links *links, const ts_filter *filter)
{
    ts_filter calls = *filter;
    calls.kinds = TS_FILTER(API_CALL);
    for (uint32_t kind = TS_EVENT_GPU_FIRST; kind < TS_EVENT_LIMIT; kind++)
        calls.kinds |= UINT64_C(1) << kind;
    export_feed *feed;
    ts_event event;
    if (export_feed_open(&feed, links->reader, &calls) == TS_OK) {
        while (export_feed_next(feed, &event)) {
            if (event.kind == TS_EVENT_API_CALL)
                add_call(links, &event);
            else
                add_launch(links, &event);
        }
    }
    export_feed_close(feed);
}

static void link_to(export_links *links, launch *l, uint64_t index)
{
    source *const from = &links->sources[index - 1];
    l->u.source = index;
    l->arrow = from->fan_out++;
    if (l->start_ns <= from->start_ns) from->has_late = true;
}

// Links by correlation; collects what is left, as indexes. Returns how many.
static size_t link_calls(export_links *links, size_t *left)
{
    size_t count = 0;
    for (size_t i = 0; i < links->launch_count; i++) {
        launch *const l = &links->launches[i];
        const uint64_t correlation = l->u.correlation;
        l->u.source = 0;
        source *const call =
            correlation ? find_call(links, correlation, l->thread) : NULL;
        if (call) {
            link_to(links, l, (uint64_t)(call - links->sources) + 1);
        } else if (l->thread && l->queued_ns != INT64_MIN) {
            left[count++] = i;
        }
    }
    return count;
}

/* ---- Second pass: zones ------------------------------------------------- */

typedef struct zone { // a zone that has begun
    int64_t start_ns, end_ns;
    uint64_t number;
} zone;

typedef struct thread { // one that launched
    uint32_t id;
    size_t first, last; // its launches among `left`
    zone *open;
    size_t depth, capacity;
    uint64_t zones; // so far
} thread;

static const launch *sorting; // qsort has no place for it

static int by_time(const void *a, const void *b)
{
    const size_t i = *(const size_t *)a, k = *(const size_t *)b;
    const launch *const x = &sorting[i], *const y = &sorting[k];
    if (x->queued_ns != y->queued_ns)
        return x->queued_ns < y->queued_ns ? -1 : 1;
    return i < k ? -1 : 1;
}

// By the time they were queued. They come by start, which is nearly the same
// order, so each moves only a little; if not, another way is quicker.
static void sort_launches(const launch *launches, size_t *list, size_t count)
{
    size_t moves = 0;
    for (size_t i = 1; i < count; i++) {
        const size_t moving = list[i];
        const int64_t ns = launches[moving].queued_ns;
        size_t at = i;
        for (; at && launches[list[at - 1]].queued_ns > ns; at--)
            list[at] = list[at - 1];
        list[at] = moving;
        moves += i - at;
        if (moves <= 16 * count) continue;
        sorting = launches;
        qsort(list, count, sizeof *list, by_time);
        return;
    }
}

// Links the thread's launches that came before time_ns to the zones that
// hold them.
static void link_until(export_links *links, thread *t, const size_t *left,
                       int64_t time_ns)
{
    for (; t->first < t->last; t->first++) {
        launch *const l = &links->launches[left[t->first]];
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

static void follow_zones(export_links *links, const ts_filter *filter,
                         thread *threads, const uint32_t *ids, size_t count,
                         const size_t *left)
{
    export_map index = { 0 };
    for (size_t i = 0; i < count; i++)
        *export_map_at(&index, ids[i]) = i + 1;
    ts_filter zones = *filter;
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

// The threads that launched what is left, each with its part of `sorted`, in
// the order in which they come first.
static thread *divide(const export_links *links, const size_t *left,
                      size_t left_count, size_t *sorted, size_t *thread_count)
{
    export_map index = { 0 };
    thread *threads = NULL;
    size_t count = 0, capacity = 0;
    for (size_t i = 0; i < left_count; i++) {
        const uint32_t id = links->launches[left[i]].thread;
        uint64_t *const at = export_map_at(&index, id);
        if (!*at) {
            threads = export_grow(threads, &capacity, count, sizeof *threads);
            threads[count] = (thread){ .id = id };
            *at = ++count;
        }
        threads[*at - 1].last++;
    }
    for (size_t i = 0, first = 0; i < count; i++) {
        const size_t own = threads[i].last;
        threads[i].first = threads[i].last = first;
        first += own;
    }
    for (size_t i = 0; i < left_count; i++) {
        const uint32_t id = links->launches[left[i]].thread;
        sorted[threads[*export_map_find(&index, id) - 1].last++] = left[i];
    }
    export_map_free(&index);
    *thread_count = count;
    return threads;
}

static void second_pass(export_links *links, const ts_filter *filter,
                        const size_t *left, size_t left_count)
{
    size_t *const sorted = export_resize(NULL, left_count * sizeof *sorted);
    size_t count;
    thread *const threads = divide(links, left, left_count, sorted, &count);
    uint32_t *const ids = export_resize(NULL, count * sizeof *ids);
    for (size_t i = 0; i < count; i++) {
        ids[i] = threads[i].id;
        sort_launches(links->launches, sorted + threads[i].first,
                      threads[i].last - threads[i].first);
    }
    follow_zones(links, filter, threads, ids, count, sorted);
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
    first_pass(links, filter);
    index_any_calls(links);
    size_t *const left =
        export_resize(NULL, (links->launch_count + 1) * sizeof *left);
    const size_t left_count = link_calls(links, left);
    if (left_count) second_pass(links, filter, left, left_count);
    export_resize(left, 0);
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
    if (event->kind < TS_EVENT_GPU_FIRST || links->next >= links->launch_count)
        return;
    const launch *const l = &links->launches[links->next++];
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
    export_resize(links->launches, 0);
    export_map_free(&links->calls);
    export_map_free(&links->any_calls);
    export_map_free(&links->zones);
    export_map_free(&links->numbers);
    export_resize(links, 0);
}
