/*
    write.c - writes GPU operations as events, in order of start

    Runs of operations are sorted and merged. The order within a run takes two
    bytes for each operation.
*/
#include "tools/import/tables.h"

/* ---- Rows --------------------------------------------------------------- */

// Encodes the columns queued and submitted: 0: unknown; n: n - 1 ns before the
// start.
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
    put(&r, TS_COLUMN_STACK, o->stack);
    put_kind(job, &r, o);
    import_event(job, (ts_event_kind)o->kind, o->track, o->start_ns,
                 o->duration_ns, r.values, r.count);
}

/* ---- Order -------------------------------------------------------------- */

enum { RUN = 1 << 16 };

typedef struct head { // the next operation of a run
    import_operation operation;
    uint32_t index;
    size_t at, end; // positions in the list of all runs
} head;

static bool is_before(const head *a, const head *b)
{
    if (a->operation.start_ns != b->operation.start_ns)
        return a->operation.start_ns < b->operation.start_ns;
    return a->index < b->index;
}

static void sink(head **heap, size_t count, size_t root)
{
    head *const moved = heap[root];
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && is_before(heap[child + 1], heap[child]))
            child++;
        if (!is_before(heap[child], moved)) break;
        heap[root] = heap[child];
    }
    heap[root] = moved;
}

static void go_on(import_job *job, head *h, const uint16_t *order)
{
    h->index = (uint32_t)(h->at / RUN * RUN + order[h->at]);
    import_operation_get(job, h->index, &h->operation);
}

static void sort_run(import_job *job, import_moment *moments, size_t first,
                     size_t end, uint16_t *order)
{
    for (size_t i = first; i < end; i++) {
        import_operation o;
        import_operation_get(job, i, &o);
        moments[i - first].key = o.start_ns;
        moments[i - first].index = (uint32_t)(i - first);
    }
    import_moments_sort(moments, end - first);
    for (size_t i = first; i < end; i++)
        order[i] = (uint16_t)moments[i - first].index;
}

static void merge_runs(import_job *job, head *heads, head **heap, size_t count,
                       const uint16_t *order)
{
    for (size_t i = 0; i < count; i++) {
        heap[i] = &heads[i];
        go_on(job, heap[i], order);
    }
    for (size_t i = count / 2; i-- > 0;)
        sink(heap, count, i);
    while (count) {
        write_operation(job, &heap[0]->operation);
        if (++heap[0]->at < heap[0]->end)
            go_on(job, heap[0], order);
        else
            heap[0] = heap[--count];
        if (count) sink(heap, count, 0);
    }
}

void import_operations_write(import_job *job, size_t count)
{
    const size_t runs = (count + RUN - 1) / RUN;
    uint16_t *const order = import_array(job, count, sizeof *order);
    import_moment *const moments =
        import_array(job, count < RUN ? count : RUN, sizeof *moments);
    head *const heads = import_array(job, runs, sizeof *heads);
    head **const heap = import_array(job, runs, sizeof *heap);
    if (order && moments && heads && heap) {
        for (size_t i = 0; i < runs; i++) {
            heads[i].at = i * RUN;
            heads[i].end = i + 1 < runs ? (i + 1) * RUN : count;
            sort_run(job, moments, heads[i].at, heads[i].end, order);
        }
        merge_runs(job, heads, heap, runs, order);
    }
    free(order);
    free(moments);
    free(heads);
    free(heap);
}
