// gpu.c - Nsight Systems: operations of devices
#include "tools/import/nsys/nsys.h"

#define BIT(column) (UINT64_C(1) << (column))

// The first columns of all tables of device work.
#define COMMON \
    "start", "end", "deviceId", "contextId", "streamId", "correlationId", \
        "globalPid"
enum { START, END, DEVICE, CONTEXT, STREAM, CORRELATION, PROCESS, FIRST };

// Sets the common fields of an operation; false if the row is bad, which is
// counted.
static bool begin(nsys *n, import_rows *rows, ts_event_kind kind,
                  import_operation *op)
{
    const int64_t *const v = rows->values;
    *op = (import_operation){ .kind = (uint8_t)kind };
    if (!import_rows_times(rows, START, END, &op->start_ns, &op->duration_ns))
        return false;
    const int64_t device =
        kind >= TS_EVENT_EVENT_RECORD && kind <= TS_EVENT_EVENT_SYNC
            ? nsys_device(n, v[PROCESS], v[CONTEXT], v[DEVICE])
            : v[DEVICE];
    op->track =
        nsys_stream(n, v[PROCESS], device, v[CONTEXT], v[STREAM], op->start_ns);
    if (!op->track) return false;
    if (kind <= TS_EVENT_MEMSET)
        nsys_report_device(n, v[PROCESS], v[CONTEXT], device);
    if (rows->wrong) import_flaw(n->job, "wrong_type");
    op->correlation = nsys_id(n, v[PROCESS], v[CORRELATION]);
    return true;
}

/* ---- Kernels ------------------------------------------------------------ */

enum {
    NAME = FIRST,
    SHORT,
    MANGLED,
    REGISTERS,
    GRID,
    BLOCK = GRID + 3,
    CLUSTER = BLOCK + 3,
    STATIC = CLUSTER + 3,
    DYNAMIC,
    LOCAL,
    NODE,
    GRAPH,
    KERNEL_COLUMNS
};
static const char *const kernel_columns[KERNEL_COLUMNS] = {
    COMMON,
    "demangledName",
    "shortName",
    "mangledName",
    "registersPerThread",
    "gridX",
    "gridY",
    "gridZ",
    "blockX",
    "blockY",
    "blockZ",
    "clusterX",
    "clusterY",
    "clusterZ",
    "staticSharedMemory",
    "dynamicSharedMemory",
    "localMemoryPerThread",
    "graphNodeId",
    "graphId",
};

static uint32_t launch_of(nsys *n, import_rows *rows, uint32_t name)
{
    ts_launch_entry launch = { .name = name };
    for (size_t i = 0; i < 3; i++) {
        launch.grid[i] = import_rows_u32(rows, GRID + i);
        launch.block[i] = import_rows_u32(rows, BLOCK + i);
        launch.cluster[i] = import_rows_u32(rows, CLUSTER + i);
    }
    launch.registers = import_rows_u32(rows, REGISTERS);
    launch.static_shared = import_rows_u32(rows, STATIC);
    launch.dynamic_shared = import_rows_u32(rows, DYNAMIC);
    launch.local = import_rows_u32(rows, LOCAL);
    return import_launch(n->job, &launch);
}

// Returns the full name, else the short one, else the mangled one.
static int64_t name_of(const nsys *n, const int64_t *values)
{
    for (size_t i = NAME; i <= MANGLED; i++)
        if (import_strings_text(n->strings, values[i]).size) return values[i];
    return IMPORT_NONE;
}

static void read_kernels(nsys *n, const char *table)
{
    import_rows rows;
    import_rows_open(&rows, n->db, table, kernel_columns, KERNEL_COLUMNS, 0);
    while (import_rows_next(&rows)) {
        import_operation op;
        if (!begin(n, &rows, TS_EVENT_KERNEL, &op)) continue;
        const int64_t name = name_of(n, rows.values);
        if (name == IMPORT_NONE) import_flaw(n->job, "unknown_name");
        op.launch = launch_of(n, &rows, import_strings_name(n->strings, name));
        op.id = import_rows_u64(&rows, NODE);
        op.graph = import_rows_u32(&rows, GRAPH);
        import_strings_kernel(n->strings, name, &op);
    }
}

/* ---- Copies, sets ------------------------------------------------------- */

uint8_t nsys_memory(int64_t kind)
{
    // Pageable, pinned, device, array, managed, device and managed static.
    static const uint8_t ours[] = { 1, 2, 3, 5, 4, 3, 4 };
    return kind >= 0 && kind < (int64_t)sizeof ours ? ours[kind] : 0;
}

/*
    Converts a copyKind to a type of copy. Source of the numbers here and above:
    the ENUM_ tables of exports. Unified-memory migrations (11 to 13) become
    ordinary copies.
*/
static uint8_t copy_type(int64_t kind)
{
    static const uint8_t ours[] = { 0, 1, 2, 1, 2, 3, 3, 3, 3, 4, 5, 1, 2, 3 };
    return kind >= 0 && kind < (int64_t)sizeof ours ? ours[kind] : 0;
}

static void read_copies(nsys *n)
{
    enum {
        BYTES = FIRST,
        KIND,
        FROM_KIND,
        TO_KIND,
        FROM,
        TO,
        ADDRESS,
        COLUMNS
    };
    static const char *const columns[COLUMNS] = {
        COMMON,    "bytes",       "copyKind",    "srcKind",
        "dstKind", "srcDeviceId", "dstDeviceId", "virtualAddress"
    };
    import_rows rows;
    import_rows_open(&rows, n->db, "CUPTI_ACTIVITY_KIND_MEMCPY", columns,
                     COLUMNS, 0);
    while (import_rows_next(&rows)) {
        const int64_t *const v = rows.values;
        import_operation op;
        if (!begin(n, &rows, TS_EVENT_MEMCPY, &op)) continue;
        op.size = import_rows_u64(&rows, BYTES);
        op.type = copy_type(v[KIND]);
        op.memory =
            (uint8_t)(nsys_memory(v[FROM_KIND]) | nsys_memory(v[TO_KIND]) << 4);
        op.address = import_rows_u64(&rows, ADDRESS);
        const int64_t peer = v[FROM] == v[DEVICE] ? v[TO] : v[FROM];
        if (op.type == 5 && peer != IMPORT_NONE && peer != v[DEVICE])
            op.peer = nsys_stream(n, v[PROCESS], peer, IMPORT_NONE, IMPORT_NONE,
                                  op.start_ns);
        import_gpu(n->job, &op);
    }
}

static void read_sets(nsys *n)
{
    enum { VALUE = FIRST, BYTES, KIND, COLUMNS };
    static const char *const columns[COLUMNS] = { COMMON, "value", "bytes",
                                                  "memKind" };
    import_rows rows;
    import_rows_open(&rows, n->db, "CUPTI_ACTIVITY_KIND_MEMSET", columns,
                     COLUMNS, 0);
    while (import_rows_next(&rows)) {
        import_operation op;
        if (!begin(n, &rows, TS_EVENT_MEMSET, &op)) continue;
        op.size = import_rows_u64(&rows, BYTES);
        op.id = import_rows_u64(&rows, VALUE);
        import_gpu(n->job, &op);
    }
}

/* ---- Events, synchronisation -------------------------------------------- */

// Keeps an operation whose time is taken from its API call.
static void keep_event(nsys *n, const import_operation *op)
{
    if (!(n->event_count & (n->event_count + 1))) {
        const size_t room = n->event_count * 2 + 2;
        import_operation *const more = realloc(n->events, room * sizeof *more);
        n->out_of_memory |= !more;
        if (!more) return;
        n->events = more;
    }
    int64_t *const late =
        op->correlation
            ? import_map_put(&n->late, (int64_t)op->correlation, NULL)
            : NULL;
    n->events[n->event_count++] = *op;
    if (late) *late = (int64_t)n->event_count;
}

static void read_records(nsys *n)
{
    enum { TIME, EVENT = FIRST, SYNC, COLUMNS };
    static const char *const columns[COLUMNS] = {
        "timestamp",     "timestamp", "deviceId", "contextId",  "streamId",
        "correlationId", "globalPid", "eventId",  "eventSyncId"
    };
    import_rows rows;
    import_rows_open(&rows, n->db, "CUPTI_ACTIVITY_KIND_CUDA_EVENT", columns,
                     COLUMNS, 0);
    while (import_rows_next(&rows)) {
        const int64_t *const v = rows.values;
        const bool timed = v[TIME] != IMPORT_NONE && v[TIME];
        import_operation op = { .kind = TS_EVENT_EVENT_RECORD };
        if (!import_rows_check(&rows, 0, v[TIME])) continue;
        op.start_ns = timed ? v[TIME] : 0;
        op.track = nsys_stream(
            n, v[PROCESS], nsys_device(n, v[PROCESS], v[CONTEXT], v[DEVICE]),
            v[CONTEXT], v[STREAM], op.start_ns);
        if (!op.track) continue;
        op.correlation = nsys_id(n, v[PROCESS], v[CORRELATION]);
        op.id = nsys_id(n, v[PROCESS], v[EVENT]);
        int64_t *const record =
            v[SYNC] == IMPORT_NONE
                ? NULL
                : import_map_put(&n->records,
                                 (int64_t)nsys_id(n, v[PROCESS], v[SYNC]),
                                 NULL);
        if (record) *record = (int64_t)op.correlation;
        if (timed)
            import_gpu(n->job, &op);
        else
            keep_event(n, &op);
    }
}

static void take_sync(nsys *n, import_rows *rows, size_t type, size_t event,
                      size_t sync)
{
    static const ts_event_kind kinds[] = {
        TS_EVENT_DEVICE_SYNC, TS_EVENT_EVENT_SYNC, TS_EVENT_EVENT_WAIT,
        TS_EVENT_STREAM_SYNC, TS_EVENT_DEVICE_SYNC
    };
    const int64_t *const v = rows->values;
    const bool known = v[type] >= 1 && v[type] <= 4;
    import_operation op;
    if (!begin(n, rows, known ? kinds[v[type]] : kinds[0], &op)) return;
    if (!known) {
        import_bad(n->job, "unknown_sync_type", op.start_ns);
        return;
    }
    if (op.kind == TS_EVENT_EVENT_SYNC || op.kind == TS_EVENT_EVENT_WAIT) {
        const int64_t *const record = import_map_get(
            &n->records, (int64_t)nsys_id(n, v[PROCESS], v[sync]));
        op.id = nsys_id(n, v[PROCESS], v[event]);
        op.is_call_time = op.kind == TS_EVENT_EVENT_WAIT;
        if (op.is_call_time) { // kept: its record is found later
            op.queued_ns = op.start_ns;
            op.submitted_ns = op.start_ns += op.duration_ns;
            op.duration_ns = 0;
        }
        if (record && v[sync] != IMPORT_NONE && op.is_call_time)
            op.record = (uint64_t)*record;
    }
    import_gpu(n->job, &op);
}

static void read_syncs(nsys *n)
{
    enum { TYPE = FIRST, OLD_TYPE, EVENT, SYNC, COLUMNS };
    static const char *const columns[COLUMNS] = { COMMON, "syncType",
                                                  "deprecatedSyncType",
                                                  "eventId", "eventSyncId" };
    import_rows rows;
    import_rows_open(&rows, n->db, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                     columns, COLUMNS, 0);
    while (import_rows_next(&rows))
        take_sync(n, &rows, rows.values[TYPE] == IMPORT_NONE ? OLD_TYPE : TYPE,
                  EVENT, SYNC);
}

/* ---- Graphs, memory ----------------------------------------------------- */

// With --cuda-graph-trace=graph, a graph launch is one row, without rows for
// its nodes.
static void read_graphs(nsys *n)
{
    enum { GRAPH_ID = FIRST, COLUMNS };
    static const char *const columns[COLUMNS] = { COMMON, "graphId" };
    import_rows rows;
    import_rows_open(&rows, n->db, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", columns,
                     COLUMNS, 0);
    while (import_rows_next(&rows)) {
        import_operation op;
        if (!begin(n, &rows, TS_EVENT_GRAPH_LAUNCH, &op)) continue;
        op.graph = import_rows_u32(&rows, GRAPH_ID);
        import_gpu(n->job, &op);
    }
}

static void read_memory(nsys *n)
{
    enum { ADDRESS = FIRST, BYTES, KIND, OPERATION, COLUMNS };
    static const char *const columns[COLUMNS] = {
        "start",    "start",         "deviceId",           "contextId",
        "streamId", "correlationId", "globalPid",          "address",
        "bytes",    "memKind",       "memoryOperationType"
    };
    import_rows rows;
    import_rows_open(&rows, n->db, "CUDA_GPU_MEMORY_USAGE_EVENTS", columns,
                     COLUMNS, 0);
    while (import_rows_next(&rows)) {
        const int64_t what = rows.values[OPERATION];
        import_operation op;
        if (!begin(n, &rows, what == 1 ? TS_EVENT_GPU_FREE : TS_EVENT_GPU_ALLOC,
                   &op))
            continue;
        if (what < 0 || what > 1) {
            import_bad(n->job, "unknown_memory_operation", op.start_ns);
            continue;
        }
        // Addresses are unsigned, stored as signed integers.
        op.address = rows.values[ADDRESS] == IMPORT_NONE
                         ? 0
                         : (uint64_t)rows.values[ADDRESS];
        if (what == 0) op.size = import_rows_u64(&rows, BYTES);
        if (what == 0)
            op.memory = (uint8_t)(nsys_memory(rows.values[KIND]) << 4);
        import_gpu(n->job, &op);
    }
}

void nsys_read_gpu(nsys *n)
{
    read_kernels(n, "CUPTI_ACTIVITY_KIND_KERNEL");
    read_kernels(n, "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL");
    read_copies(n);
    read_sets(n);
    read_records(n); // before the waits
    if (!n->records.count) nsys_guess_records(n);
    read_syncs(n);
    read_graphs(n);
    read_memory(n);
}
