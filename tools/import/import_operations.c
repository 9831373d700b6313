/*
    import_operations.c - GPU operations, once all that they belong to is known
*/
#include "tools/import/import_tables.h"

#define UNTIL_LATER INT64_MAX

void import_gpu(import_job *job, const import_operation *operation)
{
    if (!import_is_near(job, operation->start_ns, operation->duration_ns))
        return;
    import_operation *const o = import_list_add(job, &job->tables->operations);
    if (o) *o = *operation;
}

// What is known stands in a list of its own; `id` is its place + 1.
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

void import_event_record(import_job *job, uint32_t stream, uint64_t id,
                         uint64_t correlation)
{
    import_record *const r = import_list_add(job, &job->tables->records);
    if (!r) return;
    r->correlation = correlation;
    r->stream = stream;
    r->id = id;
}

/* ---- Calls -------------------------------------------------------------- */

typedef struct calls {
    const import_list *list;
    import_moment *items; // by correlation
    size_t count;
} calls;

static const import_call *call_at(const calls *c, size_t i)
{
    return import_list_at(c->list, c->items[i].index);
}

// Correlations as signed keys keep their order modulo 2^64, which is enough.
static bool sort_calls(import_job *job, calls *c)
{
    c->list = &job->tables->calls;
    c->items = import_array(job, c->list->count, sizeof *c->items);
    c->count = c->items ? c->list->count : 0;
    for (size_t i = 0; i < c->count; i++) {
        const import_call *const call = import_list_at(c->list, i);
        c->items[i].key = (int64_t)call->correlation;
        c->items[i].index = (uint32_t)i;
    }
    if (c->count) import_moments_sort(c->items, c->count);
    for (size_t i = 1; i < c->count; i++)
        if (c->items[i].key == c->items[i - 1].key)
            import_flaw(job, "duplicate_correlation");
    return c->items != NULL;
}

// The first call of a correlation, or NULL.
static const import_call *find_call(const calls *c, uint64_t correlation)
{
    size_t from = 0, to = c->count;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (c->items[middle].key < (int64_t)correlation)
            from = middle + 1;
        else
            to = middle;
    }
    if (!correlation || from == c->count ||
        c->items[from].key != (int64_t)correlation)
        return NULL;
    return call_at(c, from);
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

static void add_record(import_job *job, const calls *c, const import_record *r)
{
    const import_call *const call = find_call(c, r->correlation);
    if (!call) {
        import_flaw(job, "record_without_call");
        return;
    }
    const import_operation o = { .kind = TS_EVENT_EVENT_RECORD,
                                 .start_ns = call->start_ns,
                                 .track = r->stream,
                                 .id = r->id,
                                 .correlation = r->correlation,
                                 .is_call_time = true };
    import_gpu(job, &o);
}

// Those that the source gave itself are left out.
static void add_records(import_job *job, const calls *c)
{
    const import_list *const list = &job->tables->records;
    const size_t own = job->tables->operations.count;
    size_t count = list->count;
    import_record *const all = import_array(job, count + own, sizeof *all);
    if (!count || !all) {
        free(all);
        return;
    }
    for (size_t i = 0; i < count; i++)
        all[i] = *(import_record *)import_list_at(list, i);
    // A stream of 0 comes first among equals: a record that is there already.
    for (size_t i = 0; i < own; i++) {
        const import_operation *const o = import_operation_at(job, i);
        if (o->kind != TS_EVENT_EVENT_RECORD) continue;
        all[count].correlation = o->correlation;
        all[count++].stream = 0;
    }
    qsort(all, count, sizeof *all, compare_records);
    for (size_t i = 0; i < count; i++) {
        const bool again = i && all[i].correlation == all[i - 1].correlation;
        if (all[i].stream && !again) add_record(job, c, &all[i]);
    }
    free(all);
}

/* ---- Times that only the host knows ------------------------------------- */

typedef struct known_record {
    uint64_t correlation;
    int64_t time_ns;
} known_record;

static int compare_known(const void *a, const void *b)
{
    const known_record *const x = a, *const y = b;
    return x->correlation != y->correlation
               ? (x->correlation < y->correlation ? -1 : 1)
               : 0;
}

// The times of records, by correlation, filled in as they become known.
static known_record *list_records(import_job *job, size_t *count)
{
    const size_t all = job->tables->operations.count;
    known_record *records = NULL;
    *count = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass) records = import_array(job, *count, sizeof *records);
        if (pass && !records) return NULL;
        size_t used = 0;
        for (size_t i = 0; i < all; i++) {
            const import_operation *const o = import_operation_at(job, i);
            if (o->kind != TS_EVENT_EVENT_RECORD) continue;
            if (pass) records[used].correlation = o->correlation;
            if (pass) records[used].time_ns = IMPORT_NONE;
            used++;
        }
        *count = used;
    }
    qsort(records, *count, sizeof *records, compare_known);
    return records;
}

static known_record *find_record(known_record *records, size_t count,
                                 uint64_t correlation)
{
    const known_record key = { correlation, 0 };
    return bsearch(&key, records, count, sizeof key, compare_known);
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

// ended: when what was issued so far on its stream has ended.
static void estimate(import_job *job, import_operation *o, int64_t issued_ns,
                     int64_t ended_ns, known_record *records, size_t count)
{
    const int64_t limit = o->duration_ns; // see set_limits
    o->start_ns = later(issued_ns, ended_ns);
    o->duration_ns = 0;
    if (o->kind == TS_EVENT_EVENT_WAIT && o->record) {
        const known_record *const r = find_record(records, count, o->record);
        int64_t end = r && r->time_ns != IMPORT_NONE ? r->time_ns : o->start_ns;
        if (end > limit) end = limit;
        if (end > o->start_ns) o->duration_ns = end - o->start_ns;
    }
    import_estimate(job, ts_event_name(o->kind));
}

// Lets those without times of their own know when the next operation on their
// stream began; their duration has no other use.
static void set_limits(const import_job *job, const import_moment *issued,
                       size_t count, int64_t *next)
{
    for (size_t i = 0; i <= job->tables->tracks.count; i++)
        next[i] = UNTIL_LATER;
    for (size_t i = count; i-- > 0;) {
        import_operation *const o = import_operation_at(job, issued[i].index);
        if (o->is_call_time)
            o->duration_ns = next[o->track];
        else
            next[o->track] = o->start_ns;
    }
}

static void add_times(import_job *job, const import_moment *issued,
                      size_t count)
{
    size_t record_count;
    const size_t tracks = job->tables->tracks.count + 1;
    known_record *const records = list_records(job, &record_count);
    int64_t *const ended = import_array(job, tracks, sizeof *ended);
    if (records && ended) {
        set_limits(job, issued, count, ended);
        for (size_t i = 0; i < tracks; i++)
            ended[i] = INT64_MIN;
        for (size_t i = 0; i < count; i++) {
            import_operation *const o =
                import_operation_at(job, issued[i].index);
            if (o->is_call_time)
                estimate(job, o, issued[i].key, ended[o->track], records,
                         record_count);
            const int64_t end = o->start_ns + o->duration_ns;
            ended[o->track] = later(ended[o->track], end);
            if (o->kind != TS_EVENT_EVENT_RECORD) continue;
            known_record *const r =
                find_record(records, record_count, o->correlation);
            if (r) r->time_ns = end;
        }
    }
    free(records);
    free(ended);
}

/* ---- Writing ------------------------------------------------------------ */

// The columns queued and submitted: 0, or n for n - 1 ns before the start.
static uint64_t before(int64_t time_ns, int64_t start_ns)
{
    return time_ns && time_ns <= start_ns ? (uint64_t)(start_ns - time_ns) + 1
                                          : 0;
}

typedef struct row {
    ts_writer_value values[TS_COLUMNS_MAX];
    size_t count;
} row;

static void put(row *r, ts_column column, uint64_t value)
{
    if (!value) return;
    r->values[r->count].column = column;
    r->values[r->count++].value = value;
}

static void put_facts(const import_job *job, row *r, const import_operation *o)
{
    const import_facts *const f =
        import_list_at(&job->tables->facts, (size_t)o->id - 1);
    put(r, TS_COLUMN_NAME, f->name ? f->name : o->name);
    put(r, TS_COLUMN_COMMUNICATOR, f->communicator);
    put(r, TS_COLUMN_SEQUENCE, f->sequence);
    put(r, TS_COLUMN_SIZE, f->size);
    put(r, TS_COLUMN_TYPE, f->type);
    put(r, TS_COLUMN_PEER, f->peer);
    put(r, TS_COLUMN_RANKS, f->ranks);
    put(r, TS_COLUMN_LAUNCH, o->launch);
}

static void put_kind(const import_job *job, row *r, const import_operation *o)
{
    switch (o->kind) {
    case TS_EVENT_COLLECTIVE: put_facts(job, r, o); return;
    case TS_EVENT_KERNEL: put(r, TS_COLUMN_GRAPH_NODE, o->id); break;
    case TS_EVENT_MEMSET: put(r, TS_COLUMN_VALUE, o->id); break;
    default: put(r, TS_COLUMN_ID, o->id);
    }
    put(r, TS_COLUMN_NAME, o->name);
    put(r, TS_COLUMN_LAUNCH, o->launch);
    put(r, TS_COLUMN_GRAPH, o->graph);
    put(r, TS_COLUMN_TYPE, o->type);
    put(r, TS_COLUMN_SIZE, o->size);
    put(r, TS_COLUMN_ADDRESS, o->address);
    put(r, TS_COLUMN_SOURCE, o->source);
    put(r, TS_COLUMN_MEMORY, o->memory);
    put(r, TS_COLUMN_PEER, o->peer);
    put(r, TS_COLUMN_POOL, o->pool);
    put(r, TS_COLUMN_RECORD, o->record);
}

static void write_operation(import_job *job, const import_operation *o)
{
    row r = { .count = 0 };
    put(&r, TS_COLUMN_CORRELATION, o->correlation);
    put(&r, TS_COLUMN_QUEUED, before(o->queued_ns, o->start_ns));
    put(&r, TS_COLUMN_SUBMITTED, before(o->submitted_ns, o->start_ns));
    put(&r, TS_COLUMN_THREAD, o->thread);
    put(&r, TS_COLUMN_SITE, o->site);
    put_kind(job, &r, o);
    import_event(job, (ts_event_kind)o->kind, o->track, o->start_ns,
                 o->duration_ns, r.values, r.count);
}

static void write_operations(import_job *job, import_moment *order,
                             size_t count)
{
    for (size_t i = 0; i < count; i++) {
        order[i].key = import_operation_at(job, i)->start_ns;
        order[i].index = (uint32_t)i;
    }
    import_moments_sort(order, count);
    for (size_t i = 0; i < count; i++)
        write_operation(job, import_operation_at(job, order[i].index));
}

// The moment at which an operation was issued, as far as is known.
static int64_t issue(import_operation *o, const calls *c)
{
    const import_call *const call = find_call(c, o->correlation);
    if (call && !o->thread) o->thread = call->thread;
    if (call) return call->start_ns;
    if (o->queued_ns && !o->is_call_time) return o->queued_ns;
    if (o->submitted_ns && !o->is_call_time) return o->submitted_ns;
    return o->start_ns;
}

void import_operations_end(import_job *job)
{
    calls c = { 0 };
    if (!sort_calls(job, &c)) return;
    add_records(job, &c);
    const size_t count = job->tables->operations.count;
    import_moment *const order = import_array(job, count, sizeof *order);
    for (size_t i = 0; order && i < count; i++) {
        order[i].key = issue(import_operation_at(job, i), &c);
        order[i].index = (uint32_t)i;
    }
    free(c.items);
    if (order && count) {
        import_moments_sort(order, count);
        import_zones_walk(job, order, count);
        add_times(job, order, count);
        write_operations(job, order, count);
    }
    free(order);
}
