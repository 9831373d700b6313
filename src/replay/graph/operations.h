/* ---- Graph: operations -------------------------------------------------- */

// The loaded times and places of an operation; its other columns are in a
// ts__op. The kind of that is 0 for a row that is not used; its label is an
// index of colls or events for a row that has such columns.
typedef struct ts__row {
    int64_t start, duration;
    uint32_t track; // replaced by its lane when its file is loaded
    uint32_t place; // row number in its file
} ts__row;

// Further columns of event records, waits and syncs.
typedef struct ts__row_event {
    uint64_t id, record;
} ts__row_event;

// An API call, or a stand-in for one (name 0, no duration).
typedef struct ts__row_call {
    int64_t start, duration;
    uint64_t correlation;
    uint32_t track; // replaced by its lane when its file is loaded
    uint32_t name;
    uint32_t rank;  // position after sorting; TS_NODE_NONE: not used
    uint8_t type;   // ts__call_class
    bool failed;    // its result is not 0
    bool call_only; // no operation has its correlation
    bool early;     // before the window: loaded only as it launched operations
} ts__row_call;

// The state of loading. l->file is the file being loaded.
typedef struct ts__loader {
    ts_replay *replay;
    const ts_allocator *allocator;
    ts_reader *reader; // of the file being loaded
    uint32_t file;
    int64_t offset; // to add to its times
    size_t row_first, call_first;
    ts__rvec referenced; // uint64_t: correlations that dependencies name
    bool deps_failed;
    ts__rvec classes;     // uint8_t by name: ts__call_class
    ts__rvec colls;       // ts__coll: of rows that are collectives
    ts__rvec jobs;        // ts__job of each part
    ts__rvec rows;        // ts__row, in file order
    ts__rvec ops;         // ts__op of each row
    ts__rvec events;      // ts__row_event: of rows that have it
    ts__rvec chunk_row;   // by chunk: its first row, or TS_NODE_NONE
    ts__rvec chunk_place; // by chunk: row number of that row in the file
    ts__rvec chunk_side;  // by chunk: its first index of l->colls or l->events
    ts__rvec chunk_rows;  // by chunk: how many of its rows are in the window
    ts__rvec chunk_ok;    // by chunk: it is decoded
    ts__rvec filter;      // bit map of the operations' correlations
    uint64_t filter_mask;
    bool load_record_calls, load_wait_calls; // no operations exist for these
    ts__rvec *thread_calls; // ts__row_call of each scanning thread
    bool *thread_failed;
    ts__rvec calls;
    ts__rsort sort;
    ts__rmap lanes; // from file and track to lane
} ts__loader;

static ts__row *ts__loader_row(const ts__loader *l, size_t i)
{
    return (ts__row *)l->rows.data + i;
}
static ts__op *ts__loader_op(const ts__loader *l, size_t i)
{
    return (ts__op *)l->ops.data + i;
}
static ts__row_call *ts__loader_call(const ts__loader *l, size_t i)
{
    return (ts__row_call *)l->calls.data + i;
}

// Further columns of collectives and point-to-point operations.
typedef struct ts__coll {
    uint64_t communicator, sequence, size, ranks, peer;
    uint32_t launch, name;
    uint32_t rendezvous; // number plus 1; 0: none
} ts__coll;

// Metadata of a part about the job that its process belongs to.
typedef struct ts__job {
    uint64_t rank;  // rank of the process plus 1; 0 unknown
    uint32_t ranks; // default for collectives without `ranks`; 0 unknown
} ts__job;

static bool ts__replay_time_ok(int64_t time)
{
    return time >= -TS__REPLAY_TIME_MAX && time <= TS__REPLAY_TIME_MAX;
}

static uint64_t ts__columns_get(const ts_columns *c, ts_column column,
                                uint32_t row)
{
    return c->values[column] ? c->values[column][row] : 0;
}

// Returns when the host issued a row, by its own columns; else TS__NO_TIME.
static int64_t ts__row_issue(const ts__loader *l, const ts_columns *c,
                             uint32_t row)
{
    uint64_t ticks = ts__columns_get(c, TS_COLUMN_QUEUED, row);
    if (!ticks) ticks = ts__columns_get(c, TS_COLUMN_SUBMITTED, row);
    if (!ticks) return TS__NO_TIME;
    int64_t time = ts_reader_time_ns(l->reader, c->clock,
                                     c->start_ticks[row] - (ticks - 1));
    if (!ts__replay_time_ok(time)) return TS__NO_TIME;
    time += l->offset;
    return ts__replay_time_ok(time) ? time : TS__NO_TIME;
}

static ts_column ts__kind_label(ts_event_kind kind)
{
    switch (kind) {
    case TS_EVENT_KERNEL: return TS_COLUMN_LAUNCH;
    case TS_EVENT_MEMCPY: return TS_COLUMN_TYPE;
    case TS_EVENT_COLLECTIVE:
    case TS_EVENT_HOST_FUNCTION: return TS_COLUMN_NAME;
    default: return TS_COLUMN_START; // a column without values
    }
}

// Reads a row. op->kind stays 0 if the row is not used.
static void ts__row_read(const ts__loader *l, const ts_columns *c, uint32_t i,
                         ts__row *row, ts__op *op)
{
    memset(op, 0, sizeof *op);
    row->start = c->start_ns[i];
    row->duration = c->duration_ns[i];
    row->track = c->tracks ? c->tracks[i] : c->track;
    if (!ts__replay_time_ok(row->start) || !ts__replay_time_ok(row->duration) ||
        row->duration < 0)
        return;
    row->start += l->offset;
    if (!ts__replay_time_ok(row->start)) return;
    op->kind = (uint8_t)c->kind;
    op->issue = ts__row_issue(l, c, i);
    op->correlation = ts__columns_get(c, TS_COLUMN_CORRELATION, i);
    op->thread = (uint32_t)ts__columns_get(c, TS_COLUMN_THREAD, i);
    op->memory = (uint8_t)ts__columns_get(c, TS_COLUMN_MEMORY, i);
    op->label = (uint32_t)ts__columns_get(c, ts__kind_label(c->kind), i);
    op->call = TS_NODE_NONE;
}

static void ts__coll_read(const ts__loader *l, const ts_columns *c, uint32_t i,
                          uint32_t at, ts__op *op)
{
    ts__coll *const coll = (ts__coll *)l->colls.data + at;
    coll->communicator = ts__columns_get(c, TS_COLUMN_COMMUNICATOR, i);
    coll->sequence = ts__columns_get(c, TS_COLUMN_SEQUENCE, i);
    coll->size = ts__columns_get(c, TS_COLUMN_SIZE, i);
    coll->ranks = ts__columns_get(c, TS_COLUMN_RANKS, i);
    coll->peer = ts__columns_get(c, TS_COLUMN_PEER, i);
    coll->launch = (uint32_t)ts__columns_get(c, TS_COLUMN_LAUNCH, i);
    coll->name = op->label;
    coll->rendezvous = 0;
    op->label = at;
}

static void ts__event_read(const ts__loader *l, const ts_columns *c, uint32_t i,
                           uint32_t at, ts__op *op)
{
    ts__row_event *const event = (ts__row_event *)l->events.data + at;
    event->id = ts__columns_get(c, TS_COLUMN_ID, i);
    event->record = ts__columns_get(c, TS_COLUMN_RECORD, i);
    op->label = at;
}
