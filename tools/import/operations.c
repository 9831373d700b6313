/*
    operations.c - links GPU operations to calls and estimates their times
*/
#include "tools/import/map.h"
#include "tools/cli/search.h"
#include "tools/import/tables.h"

#define UNTIL_LATER INT64_MAX

// The facts are stored in a separate list; `id` is their index + 1.
void import_gpu_collective(import_job *job, const import_operation *operation,
                           const import_facts *facts)
{
    import_operation o = *operation;
    import_facts *const known = import_list_add(job, &job->tables->facts);
    if (!known) return;
    *known = *facts;
    o.kind = TS_EVENT_COLLECTIVE;
    o.id = job->tables->facts.count;
    import_gpu(job, &o);
}

static void add_event_record(import_job *job, uint32_t stream, uint64_t id,
                             uint64_t correlation, bool before)
{
    import_record *const r = import_list_add(job, &job->tables->records);
    if (!r) return;
    r->correlation = correlation;
    r->stream = stream;
    r->id = id;
    r->before = before;
}

void import_event_record(import_job *job, uint32_t stream, uint64_t id,
                         uint64_t correlation)
{
    add_event_record(job, stream, id, correlation, false);
}

void import_event_record_before(import_job *job, uint32_t stream, uint64_t id,
                                uint64_t wait)
{
    add_event_record(job, stream, id, wait, true);
}

/* ---- Calls -------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

// Counts correlation ids that more than one call has.
static void count_duplicates(import_job *job)
{
    const size_t count = job->tables->call_count;
    import_call call = { 0 };
    uint64_t at = 0, last = 0;
    size_t i = 0;
    for (; i < count; i++, last = call.correlation) {
        import_call_next(job, &at, &call);
        if (call.correlation <= last) break;
    }
    if (i == count) return;
    uint64_t *const all = import_array(job, count, sizeof *all);
    if (!all) return;
    memset(&call, 0, sizeof call);
    for (i = 0, at = 0; i < count; i++) {
        import_call_next(job, &at, &call);
        all[i] = call.correlation;
    }
    qsort(all, count, sizeof *all, compare_numbers);
    for (i = 1; i < count; i++)
        if (all[i] == all[i - 1]) import_flaw(job, "duplicate_correlation");
    free(all);
}

// Lookups of calls by correlation id: the id as key, and an index.
typedef struct lookups {
    import_moment *moments; // sorted
    size_t count;
} lookups;

// Correlation ids are compared as signed keys; any consistent order will do.
static size_t first_query(const lookups *w, uint64_t correlation)
{
    size_t from = 0, to = w->count;
    while (from < to)
        cli_halve(&from, &to,
                  w->moments[cli_middle(from, to)].key < (int64_t)correlation);
    return from;
}

#define REPORTED UINT32_MAX // an index that marks an answered lookup

typedef void answer(import_job *job, uint32_t index, const import_call *call,
                    void *user);

// Reports to each lookup the first call with its correlation id, in the order
// of the source. Each lookup is answered once; many may share an id.
static void query_calls(import_job *job, lookups *w, answer *report, void *user)
{
    import_moments_sort(w->moments, w->count);
    import_call call = { 0 };
    uint64_t at = 0;
    for (size_t i = 0; i < job->tables->call_count; i++) {
        import_call_next(job, &at, &call);
        const size_t first = first_query(w, call.correlation);
        if (first == w->count || w->moments[first].index == REPORTED) continue;
        for (size_t k = first;
             k < w->count && w->moments[k].key == (int64_t)call.correlation;
             k++) {
            report(job, w->moments[k].index, &call, user);
            w->moments[k].index = REPORTED;
        }
    }
}

/* ---- Records that only their waits show --------------------------------- */

static int compare_records(const void *a, const void *b)
{
    const import_record *const x = a, *const y = b;
    if (x->correlation != y->correlation)
        return x->correlation < y->correlation ? -1 : 1;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    return x->stream < y->stream ? -1 : x->stream > y->stream;
}

// Keeps the first record of each correlation id. Removes those that the source
// has as operations, which are marked by stream 0.
static size_t unique_records(import_record *all, size_t count)
{
    size_t kept = 0;
    uint64_t last = 0; // an id that no record has
    qsort(all, count, sizeof *all, compare_records);
    for (size_t i = 0; i < count; i++) {
        const bool is_own = !all[i].stream || all[i].correlation == last;
        last = all[i].correlation;
        if (!is_own) all[kept++] = all[i];
    }
    return kept;
}

static void add_record(import_job *job, uint32_t index, const import_call *call,
                       void *user)
{
    import_record *const r = (import_record *)user + index;
    if (!r->stream) return;
    import_operation o = { .kind = TS_EVENT_EVENT_RECORD,
                           .start_ns = call->start_ns,
                           .track = r->stream,
                           .id = r->id,
                           .correlation = r->correlation,
                           .is_call_time = true };
    if (r->before) {
        // It only sets the order on the host: no call has this id.
        o.correlation = 0;
        o.start_ns = o.queued_ns = call->start_ns - 1;
        o.thread = call->thread;
        import_estimate(job, "record_before_wait");
    }
    r->stream = 0; // marked as done
    import_gpu(job, &o);
}

static void add_records(import_job *job)
{
    const import_list *const list = &job->tables->records;
    const import_list *const own = &job->tables->own_records;
    if (!list->count) return;
    import_record *const all =
        import_array(job, list->count + own->count, sizeof *all);
    lookups w = { import_array(job, list->count, sizeof *w.moments), 0 };
    for (size_t i = 0; all && i < list->count; i++)
        all[i] = *(import_record *)import_list_at(list, i);
    for (size_t i = 0; all && i < own->count; i++) {
        all[list->count + i].correlation = *(uint64_t *)import_list_at(own, i);
        all[list->count + i].id = 0; // sorts before those of waits
    }
    if (all && w.moments) {
        w.count = unique_records(all, list->count + own->count);
        for (size_t i = 0; i < w.count; i++) {
            w.moments[i].key = (int64_t)all[i].correlation;
            w.moments[i].index = (uint32_t)i;
        }
        query_calls(job, &w, add_record, all);
        for (size_t i = 0; i < w.count; i++)
            if (all[i].stream) import_flaw(job, "record_without_call");
    }
    free(all);
    free(w.moments);
}

/* ---- Times that only the host knows ------------------------------------- */

typedef struct known_record {
    uint64_t correlation;
    int64_t time_ns;
} known_record;

// Lists records by correlation id; their times are set as they become known.
static known_record *list_records(import_job *job, size_t *count)
{
    const import_list *const own = &job->tables->own_records;
    known_record *const records =
        import_array(job, own->count, sizeof *records);
    *count = records ? own->count : 0;
    for (size_t i = 0; i < *count; i++) {
        records[i].correlation = *(uint64_t *)import_list_at(own, i);
        records[i].time_ns = IMPORT_NONE;
    }
    if (records) qsort(records, *count, sizeof *records, compare_numbers);
    return records;
}

static known_record *find_record(known_record *records, size_t count,
                                 uint64_t correlation)
{
    return bsearch(&correlation, records, count, sizeof *records,
                   compare_numbers);
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

// Returns when the record of a wait completed: the one that the wait names,
// else the latest one of its event. IMPORT_NONE: unknown.
static int64_t record_time(const import_operation *wait,
                           const cli_map *of_event, known_record *records,
                           size_t count)
{
    if (wait->record) {
        const known_record *const r = find_record(records, count, wait->record);
        return r ? r->time_ns : IMPORT_NONE;
    }
    const int64_t *const latest = import_map_get(of_event, (int64_t)wait->id);
    return latest && wait->id ? *latest : IMPORT_NONE;
}

// Estimates the times of an operation. ended: end of the operations issued
// before it on its stream. recorded: time of the record that a wait waits for.
static void estimate(import_job *job, import_operation *o, int64_t issued_ns,
                     int64_t ended_ns, int64_t recorded_ns)
{
    const int64_t limit = o->duration_ns; // see set_limits
    o->start_ns = later(later(issued_ns, o->submitted_ns), ended_ns);
    o->duration_ns = 0;
    const int64_t end = recorded_ns < limit ? recorded_ns : limit;
    if (recorded_ns != IMPORT_NONE && end > o->start_ns)
        o->duration_ns = end - o->start_ns;
    import_estimate(job, ts_event_name(o->kind));
}

static import_operation *loose_at(const import_job *job, size_t index)
{
    const import_tables *const t = job->tables;
    return index < t->packed_count
               ? NULL
               : import_list_at(&t->loose, index - t->packed_count);
}

// Sets the duration of operations without recorded times to the start of the
// next operation on their stream; it has no other use until then.
static void set_limits(import_job *job, const import_moment *issued,
                       size_t count, int64_t *next)
{
    for (size_t i = 0; i <= job->tables->tracks.count; i++)
        next[i] = UNTIL_LATER;
    for (size_t i = count; i-- > 0;) {
        import_operation o, *const loose = loose_at(job, issued[i].index);
        import_operation_get(job, issued[i].index, &o);
        if (loose)
            loose->duration_ns = next[o.track];
        else
            next[o.track] = o.start_ns;
    }
}

static void add_times(import_job *job, const import_moment *issued,
                      size_t count)
{
    size_t record_count;
    const size_t tracks = job->tables->tracks.count + 1;
    cli_map of_event = { 0 }; // event -> time of its latest record
    if (!job->tables->loose.count) return;
    known_record *const records = list_records(job, &record_count);
    int64_t *const ended = import_array(job, tracks, sizeof *ended);
    if (records && ended) {
        set_limits(job, issued, count, ended);
        for (size_t i = 0; i < tracks; i++)
            ended[i] = INT64_MIN;
        for (size_t i = 0; i < count; i++) {
            import_operation o, *const loose = loose_at(job, issued[i].index);
            if (loose)
                estimate(
                    job, loose, issued[i].key, ended[loose->track],
                    loose->kind == TS_EVENT_EVENT_WAIT
                        ? record_time(loose, &of_event, records, record_count)
                        : IMPORT_NONE);
            import_operation_get(job, issued[i].index, &o);
            const int64_t end = o.start_ns + o.duration_ns;
            ended[o.track] = later(ended[o.track], end);
            if (o.kind != TS_EVENT_EVENT_RECORD) continue;
            known_record *const r =
                find_record(records, record_count, o.correlation);
            int64_t *const latest =
                import_map_put(&of_event, (int64_t)o.id, NULL);
            if (r) r->time_ns = end;
            if (latest) *latest = end;
        }
    }
    cli_map_close(&of_event);
    free(records);
    free(ended);
}

/* ---- The end ------------------------------------------------------------ */

// Returns when an operation was issued, if its call is unknown.
static int64_t issue(const import_operation *o)
{
    if (o->queued_ns && !o->is_call_time) return o->queued_ns;
    if (o->submitted_ns && !o->is_call_time) return o->submitted_ns;
    return o->start_ns;
}

// user: receives when each operation was issued; may be NULL.
static void take_call(import_job *job, uint32_t index, const import_call *call,
                      void *user)
{
    import_moment *const order = user;
    import_held *const held = &job->tables->held[index];
    if (order) order[index].key = call->start_ns;
    if (!held->thread) held->thread = call->thread;
}

// Lists for each operation its own issue time and its lookups of calls.
static void list_queries(import_job *job, lookups *w, import_moment *order,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        import_operation o;
        import_operation_get_own(job, i, &o);
        job->tables->held[i].thread = o.thread;
        job->tables->held[i].site = o.site;
        if (order) order[i].key = issue(&o);
        if (order) order[i].index = (uint32_t)i;
        if (!o.correlation) continue;
        w->moments[w->count].key = (int64_t)o.correlation;
        w->moments[w->count++].index = (uint32_t)i;
    }
}

static bool has_zones(const import_job *job)
{
    for (uint32_t i = 1; i <= job->tables->tracks.count; i++)
        if (import_track_of(job, i)->zone_count) return true;
    return false;
}

// Finds the thread that issued each operation, and the time if it is needed:
// for enclosing zones, or because the operation has no recorded time.
static bool find_issues(import_job *job, size_t count)
{
    import_tables *const t = job->tables;
    const bool ordered = t->loose.count || has_zones(job);
    if (!ordered && !t->call_count) return true;
    import_moment *const order =
        ordered ? import_array(job, count, sizeof *order) : NULL;
    lookups w = { import_array(job, count, sizeof *w.moments), 0 };
    t->held = import_array(job, count, sizeof *t->held);
    const bool ok = t->held && w.moments && (order || !ordered);
    if (ok) {
        list_queries(job, &w, order, count);
        query_calls(job, &w, take_call, order);
    }
    free(w.moments);
    t->no_file |= t->calls.broken;
    import_pack_free(&t->calls);
    if (ok && ordered) {
        import_moments_sort(order, count);
        import_zones_walk(job, order, count);
        add_times(job, order, count);
    }
    free(order);
    return ok;
}

void import_operations_end(import_job *job)
{
    count_duplicates(job);
    add_records(job);
    const size_t count = import_operation_count(job);
    if (count && find_issues(job, count)) import_operations_write(job, count);
    import_hold_free(job);
}
