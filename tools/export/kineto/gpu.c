/*
    gpu.c - rows of devices: kernels, copies, sets, what waits
*/
#include "tools/export/kineto/kineto.h"
#include <stdio.h>

static uint64_t value(const ts_event *event, ts_column column)
{
    return ts_event_value(event, column);
}

// When the host queued it; INT64_MIN: unknown.
static int64_t queued_ns(const torch_export *k, const ts_event *event)
{
    const uint64_t before = value(event, TS_COLUMN_QUEUED);
    const ts_columns *const c = event->columns;
    if (!before) return INT64_MIN;
    return ts_reader_time_ns(k->reader, c->clock,
                             c->start_ticks[event->row] - (before - 1));
}

/* ---- What is there ------------------------------------------------------- */

// 2^64 / golden ratio spreads times over the keys.
static uint64_t record_key(int64_t time_ns, uint64_t id)
{
    const uint64_t key = (uint64_t)time_ns * UINT64_C(0x9E3779B97F4A7C15) ^ id;
    return key == EXPORT_NO_KEY ? 0 : key;
}

static void list_record(torch_export *k, export_map *last,
                        const ts_event *event)
{
    const uint64_t correlation = value(event, TS_COLUMN_CORRELATION);
    const uint64_t id = value(event, TS_COLUMN_ID);
    if (!correlation) {
        *export_map_at(&k->records, record_key(queued_ns(k, event), id)) =
            event->track;
        return;
    }
    *export_map_at(&k->record_of, correlation) = event->track;
    if (id) *export_map_at(last, id) = correlation;
}

// An event is recorded again and again: a sync waits for the latest record.
static void list_sync(torch_export *k, const export_map *last,
                      const ts_event *event)
{
    const uint64_t *const record =
        export_map_find(last, value(event, TS_COLUMN_ID));
    if (!record) return;
    *export_map_at(&k->waits, value(event, TS_COLUMN_CORRELATION)) = *record;
    *export_map_at(&k->used, *record) = 1;
}

static void list_operation(torch_export *k, export_map *last,
                           const ts_event *event)
{
    const uint64_t correlation = value(event, TS_COLUMN_CORRELATION);
    const uint64_t id = value(event, TS_COLUMN_ID);
    const uint64_t record = value(event, TS_COLUMN_RECORD);
    if (correlation) *export_map_at(&k->launched, correlation) = 1;
    if (event->kind == TS_EVENT_EVENT_RECORD)
        list_record(k, last, event);
    else if (event->kind == TS_EVENT_EVENT_WAIT) {
        if (record) *export_map_at(&k->used, record) = 1;
        if (correlation)
            *export_map_at(&k->loose, correlation) = record ? 0 : id;
    } else if (event->kind == TS_EVENT_EVENT_SYNC && correlation && id)
        list_sync(k, last, event);
}

// The importer puts the record of a wait that names none right before its call.
static void list_call(torch_export *k, const ts_event *event)
{
    const uint64_t correlation = value(event, TS_COLUMN_CORRELATION);
    const uint64_t *const id =
        correlation ? export_map_find(&k->loose, correlation) : NULL;
    if (!id) return;
    *export_map_at(&k->call_ns, correlation) = (uint64_t)event->start_ns;
    *export_map_at(&k->call_duration_ns, correlation) =
        (uint64_t)event->duration_ns;
    if (!*id) return;
    const uint64_t key = record_key(event->start_ns - 1, *id);
    const uint64_t *const track = export_map_find(&k->records, key);
    if (!track) return;
    *export_map_at(&k->loose_on, correlation) = *track;
    *export_map_at(&k->recorded, key) = 1;
}

static ts_result list(torch_export *k, export_map *last,
                      const ts_filter *filter, uint64_t kinds)
{
    ts_filter only = *filter;
    ts_cursor *cursor;
    ts_event event;
    only.kinds = kinds;
    ts_result result = export_cursor_open(&cursor, k->reader, &only);
    if (result != TS_OK) return result;
    while (ts_cursor_next(cursor, &event))
        if (event.kind == TS_EVENT_API_CALL)
            list_call(k, &event);
        else
            list_operation(k, last, &event);
    result = ts_cursor_result(cursor);
    export_cursor_close(cursor);
    return result;
}

ts_result torch_list_operations(torch_export *k, const ts_filter *filter)
{
    const uint64_t operations =
        (UINT64_C(1) << TS_EVENT_LIMIT) - (UINT64_C(1) << TS_EVENT_GPU_FIRST);
    export_map last = { 0 };
    ts_result result = list(k, &last, filter, operations);
    if (result == TS_OK && k->loose.count)
        result = list(k, &last, filter, TS_FILTER(API_CALL));
    export_map_free(&last);
    return result;
}

/* ---- Parts of rows ------------------------------------------------------- */

static uint64_t stream_number(const torch_export *k, uint32_t track, bool *is)
{
    ts_track stream;
    *is = torch_above(k, track, TS_TRACK_STREAM, &stream);
    return *is ? stream.number & INT64_MAX : 0;
}

// The arguments that all rows of devices have.
static void put_where(torch_export *k, bool *filled, const ts_event *event)
{
    ts_track device, context;
    bool on_stream;
    const uint64_t stream = stream_number(k, event->track, &on_stream);
    const uint64_t correlation = value(event, TS_COLUMN_CORRELATION);
    const uint64_t *const external =
        correlation ? export_map_find(&k->external, correlation) : NULL;
    if (external) torch_key_uint(k, filled, "External id", *external - 1);
    torch_key_uint(k, filled, "device",
                   torch_above(k, event->track, TS_TRACK_DEVICE, &device)
                       ? device.number & INT64_MAX
                       : 0);
    if (torch_above(k, event->track, TS_TRACK_CONTEXT, &context))
        torch_key_uint(k, filled, "context", context.number & INT64_MAX);
    torch_key(k, filled, "stream");
    if (on_stream)
        export_json_uint(&k->block, stream);
    else
        torch_put(k, "-1");
    if (correlation) torch_key_uint(k, filled, "correlation", correlation);
}

static void begin_row(torch_export *k, const ts_event *event,
                      const char *category, ts_text name)
{
    int64_t start_ns = event->start_ns, duration_ns = event->duration_ns;
    const uint64_t correlation = value(event, TS_COLUMN_CORRELATION);
    const uint64_t *const call =
        event->kind == TS_EVENT_EVENT_WAIT && correlation
            ? export_map_find(&k->call_ns, correlation)
            : NULL;
    if (call) { // a wait has the times of its call there
        start_ns = (int64_t)*call;
        duration_ns =
            (int64_t)*export_map_find(&k->call_duration_ns, correlation);
    }
    torch_begin(k, "X", export_text(category), name, event->track, start_ns);
    torch_duration(k, duration_ns);
    torch_put(k, ",\"args\":{");
}

// In bytes of a nanosecond, which are GB of a second.
static void put_bytes(torch_export *k, bool *filled, const ts_event *event)
{
    const uint64_t bytes = value(event, TS_COLUMN_SIZE);
    torch_key_uint(k, filled, "bytes", bytes);
    if (event->duration_ns <= 0) return;
    torch_key(k, filled, "memory bandwidth (GB/s)");
    export_json_double(&k->block, (double)bytes / (double)event->duration_ns);
}

static void end_row(torch_export *k, const ts_event *event)
{
    const uint64_t correlation = value(event, TS_COLUMN_CORRELATION);
    torch_put(k, "}");
    torch_end(k);
    k->counts->slices++;
    if (correlation)
        torch_arrow(k, "f", event->track, event->start_ns, correlation);
}

static void put_triple(torch_export *k, bool *filled, const char *key,
                       const uint32_t *sides)
{
    torch_key(k, filled, key);
    for (int i = 0; i < 3; i++) {
        torch_put(k, i ? "," : "[");
        export_json_uint(&k->block, sides[i]);
    }
    torch_put(k, "]");
}

static void put_launch(torch_export *k, bool *filled,
                       const ts_launch_entry *launch)
{
    if (!launch) return;
    torch_key_uint(k, filled, "registers per thread", launch->registers);
    torch_key_uint(k, filled, "shared memory",
                   (uint64_t)launch->static_shared + launch->dynamic_shared);
    put_triple(k, filled, "grid", launch->grid);
    put_triple(k, filled, "block", launch->block);
    if (launch->cluster[0]) put_triple(k, filled, "cluster", launch->cluster);
}

// When the host queued it, on the axis of "ts"; 0: unknown.
static void put_queued(torch_export *k, bool *filled, const ts_event *event)
{
    const int64_t queued = queued_ns(k, event);
    const int64_t then = queued == INT64_MIN ? 0 : queued + k->shift_ns;
    torch_key(k, filled, "queued");
    if (then > 0)
        export_json_us(&k->block, (uint64_t)then);
    else
        torch_put(k, "0");
}

static void put_priority(torch_export *k, bool *filled, uint32_t track)
{
    ts_track stream;
    if (!torch_above(k, track, TS_TRACK_STREAM, &stream)) return;
    const int64_t stored = (int64_t)(stream.flags >> 16 & 0xFFFF);
    if (!stored) return;
    torch_key(k, filled, "priority");
    export_json_int(&k->block, stored - 32768);
}

/* ---- Kernels and collectives --------------------------------------------- */

static const ts_launch_entry *launch_of(const torch_export *k,
                                        const ts_event *event)
{
    return ts_reader_launch(k->reader,
                            (uint32_t)value(event, TS_COLUMN_LAUNCH));
}

static void put_kernel_args(torch_export *k, const ts_event *event,
                            bool *filled)
{
    put_queued(k, filled, event);
    put_where(k, filled, event);
    put_launch(k, filled, launch_of(k, event));
    put_priority(k, filled, event->track);
}

static void take_kernel(torch_export *k, const ts_event *event)
{
    const uint64_t graph = value(event, TS_COLUMN_GRAPH);
    const uint64_t node = value(event, TS_COLUMN_GRAPH_NODE);
    bool filled = false;
    begin_row(k, event, "kernel", ts_event_label(k->reader, event));
    put_kernel_args(k, event, &filled);
    if (graph) torch_key_uint(k, &filled, "graph id", graph);
    if (node) torch_key_uint(k, &filled, "graph node id", node);
    end_row(k, event);
}

// Names of element types as PyTorch has them, by the numbers of TraceSmith.
static const struct {
    const char *name;
    uint32_t bytes;
} elements[] = {
    { NULL, 0 },          { "Char", 1 },     { "Byte", 1 },
    { "Int", 4 },         { "UInt32", 4 },   { "Long", 8 },
    { "UInt64", 8 },      { "Half", 2 },     { "Float", 4 },
    { "Double", 8 },      { "BFloat16", 2 }, { "Float8_e4m3fn", 1 },
    { "Float8_e5m2", 1 },
};

static void put_count(torch_export *k, bool *filled, const ts_event *event)
{
    const uint64_t type = value(event, TS_COLUMN_TYPE);
    const uint64_t size = value(event, TS_COLUMN_SIZE);
    if (!type || type >= sizeof elements / sizeof *elements) return;
    torch_key_text(k, filled, "dtype", elements[type].name);
    torch_key_uint(k, filled, "In msg nelems", size / elements[type].bytes);
    torch_key_uint(k, filled, "Out msg nelems", size / elements[type].bytes);
}

// The names of its group are not in a trace, but a number made of them.
static void put_facts(torch_export *k, bool *filled, const ts_event *event)
{
    const uint64_t group = value(event, TS_COLUMN_COMMUNICATOR);
    const uint64_t peer = value(event, TS_COLUMN_PEER);
    const ts_text kind = ts_event_label(k->reader, event);
    torch_key(k, filled, "Collective name");
    export_json_string(&k->block, kind);
    put_count(k, filled, event);
    if (value(event, TS_COLUMN_RANKS))
        torch_key_uint(k, filled, "Group size", value(event, TS_COLUMN_RANKS));
    if (value(event, TS_COLUMN_SEQUENCE))
        torch_key_uint(k, filled, "Seq", value(event, TS_COLUMN_SEQUENCE));
    if (group)
        torch_key_text(k, filled, "Process Group Name",
                       cli_format("%016" PRIx64, group).s);
    if (peer)
        torch_key_uint(k, filled,
                       kind.size && (kind.text[0] | 0x20) == 'r' ? "Src Rank"
                                                                 : "Dst Rank",
                       peer - 1);
}

static bool has_facts(const ts_event *event)
{
    return value(event, TS_COLUMN_COMMUNICATOR) ||
           value(event, TS_COLUMN_SEQUENCE) || value(event, TS_COLUMN_RANKS) ||
           value(event, TS_COLUMN_SIZE) || value(event, TS_COLUMN_PEER);
}

static void take_collective(torch_export *k, const ts_event *event)
{
    const ts_launch_entry *const launch = launch_of(k, event);
    const ts_text kind = ts_event_label(k->reader, event);
    export_buffer made = { 0 };
    export_put(&made, "ncclDevKernel_", 14);
    export_put(&made, kind.text, kind.size);
    const ts_text named =
        launch ? ts_reader_name(k->reader, launch->name) : (ts_text){ "", 0 };
    bool filled = false;
    begin_row(k, event, "kernel",
              named.size ? named : (ts_text){ (char *)made.data, made.size });
    put_kernel_args(k, event, &filled);
    if (has_facts(event)) put_facts(k, &filled, event);
    end_row(k, event);
    export_resize(made.data, 0);
}

/* ---- Copies and sets ----------------------------------------------------- */

// "Memcpy HtoD (Pageable -> Device)"
static void take_copy(torch_export *k, const ts_event *event)
{
    static const char *const copies[] = { "Memcpy", "HtoD", "DtoH",
                                          "DtoD",   "HtoH", "PtoP" };
    static const char *const memories[] = { "Unknown", "Pageable", "Pinned",
                                            "Device",  "Managed",  "Array" };
    const uint64_t type = value(event, TS_COLUMN_TYPE);
    const uint64_t memory = value(event, TS_COLUMN_MEMORY);
    const uint64_t from = memory & 15, to = memory >> 4 & 15;
    ts_track peer;
    char name[64];
    bool filled = false;
    snprintf(name, sizeof name, "Memcpy %s (%s -> %s)",
             copies[type < 6 ? type : 0], memories[from < 6 ? from : 0],
             memories[to < 6 ? to : 0]);
    begin_row(k, event, "gpu_memcpy", export_text(name));
    put_where(k, &filled, event);
    put_bytes(k, &filled, event);
    if (ts_reader_track(k->reader, (uint32_t)value(event, TS_COLUMN_PEER),
                        &peer))
        torch_key_uint(k, &filled, "toDevice", peer.number & INT64_MAX);
    end_row(k, event);
}

static void take_set(torch_export *k, const ts_event *event)
{
    bool filled = false;
    begin_row(k, event, "gpu_memset", export_text("Memset (Device)"));
    put_where(k, &filled, event);
    put_bytes(k, &filled, event);
    end_row(k, event);
}

/* ---- Waiting ------------------------------------------------------------- */

// What a wait waits for: the stream, the record and the event; -1: unknown.
static void put_waited(torch_export *k, bool *filled, const uint64_t *track,
                       uint64_t record, uint64_t id)
{
    bool is_stream = false;
    const uint64_t stream =
        track ? stream_number(k, (uint32_t)*track, &is_stream) : 0;
    torch_key(k, filled, "wait_on_stream");
    export_json_int(&k->block, is_stream ? (int64_t)stream : -1);
    torch_key(k, filled, "wait_on_cuda_event_record_corr_id");
    export_json_int(&k->block, record ? (int64_t)record : -1);
    if (id) torch_key_uint(k, filled, "wait_on_cuda_event_id", id);
}

static void put_awaited(torch_export *k, bool *filled, const ts_event *event)
{
    const uint64_t correlation = value(event, TS_COLUMN_CORRELATION);
    const uint64_t *const record_of_sync =
        correlation ? export_map_find(&k->waits, correlation) : NULL;
    const uint64_t record =
        record_of_sync ? *record_of_sync : value(event, TS_COLUMN_RECORD);
    const uint64_t *track = NULL;
    if (record)
        track = export_map_find(&k->record_of, record);
    else if (correlation)
        track = export_map_find(&k->loose_on, correlation);
    put_waited(k, filled, track, record, value(event, TS_COLUMN_ID));
}

static void take_wait(torch_export *k, const ts_event *event, const char *name)
{
    bool filled = false;
    begin_row(k, event, "cuda_sync", export_text(name));
    torch_key_text(k, &filled, "cuda_sync_kind", name);
    put_where(k, &filled, event);
    if (event->kind == TS_EVENT_EVENT_WAIT ||
        event->kind == TS_EVENT_EVENT_SYNC)
        put_awaited(k, &filled, event);
    end_row(k, event);
}

// Kineto has no row for a record that a wait names: readers take that for the
// end of what its stream did before.
static void take_record(torch_export *k, const ts_event *event)
{
    const uint64_t correlation = value(event, TS_COLUMN_CORRELATION);
    const uint64_t id = value(event, TS_COLUMN_ID);
    bool filled = false;
    const bool is_named =
        correlation
            ? export_map_find(&k->used, correlation) != NULL
            : export_map_find(&k->recorded,
                              record_key(queued_ns(k, event), id)) != NULL;
    if (is_named && !event->duration_ns) return;
    begin_row(k, event, "cuda_event", export_text("Event Record"));
    put_where(k, &filled, event);
    if (id) torch_key_uint(k, &filled, "event_id", id);
    end_row(k, event);
}

void torch_take_operation(torch_export *k, const ts_event *event)
{
    switch ((int)event->kind) {
    case TS_EVENT_KERNEL: take_kernel(k, event); break;
    case TS_EVENT_COLLECTIVE: take_collective(k, event); break;
    case TS_EVENT_MEMCPY: take_copy(k, event); break;
    case TS_EVENT_MEMSET: take_set(k, event); break;
    case TS_EVENT_EVENT_RECORD: take_record(k, event); break;
    case TS_EVENT_EVENT_WAIT: take_wait(k, event, "Stream Wait Event"); break;
    case TS_EVENT_EVENT_SYNC: take_wait(k, event, "Event Sync"); break;
    case TS_EVENT_STREAM_SYNC: take_wait(k, event, "Stream Sync"); break;
    case TS_EVENT_DEVICE_SYNC: take_wait(k, event, "Context Sync"); break;
    default: torch_left_out(k, event);
    }
}
