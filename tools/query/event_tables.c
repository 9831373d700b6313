/*
    event_tables.c - the tables of events and their columns
*/
#include "tools/query/tables.h"

#ifdef TRACESMITH_SQLITE

#define C(column) TS_COLUMN_##column
#define INT       QUERY_INTEGER
#define TEXT      QUERY_TEXT

#define FROM_FILE \
    { \
        "file", TEXT, RAW_FILE, SHOW_FILE, false, \
            "path of the trace, as given" \
    }
#define TIME \
    { \
        "time_ns", INT, RAW_START, SHOW_NUMBER, false, \
            "when: ns since the start of the recording" \
    }
#define TIMES \
    { "start_ns",  INT,   RAW_START, \
      SHOW_NUMBER, false, "begin: ns since the start of the recording" }, \
        { "end_ns", INT, RAW_END, SHOW_NUMBER, false, "end, likewise" }, \
    { \
        "duration_ns", INT, RAW_DURATION, SHOW_NUMBER, false, \
            "end_ns - start_ns" \
    }
#define SITE_NAMED(name, about) \
    { \
        name, TEXT, C(SITE), SHOW_SITE_NAME, false, about \
    }
#define SITE \
    { "category",         TEXT,  C(SITE), \
      SHOW_SITE_CATEGORY, false, "category of the site, or NULL" }, \
        { "function",         TEXT,  C(SITE), \
          SHOW_SITE_FUNCTION, false, "function in which it stands" }, \
        { "source", TEXT, C(SITE), SHOW_SITE_SOURCE, false, "source file" }, \
        { "line", INT, C(SITE), SHOW_SITE_LINE, false, "line in it" }, \
    { \
        "site", INT, C(SITE), SHOW_OPTION, true, "site.id" \
    }
#define THREAD \
    { "thread", TEXT, RAW_TRACK, SHOW_TRACK_NAME, false, "its thread" }, \
        { "tid",       INT,   RAW_TRACK, \
          SHOW_THREAD, false, "its number in the operating system" }, \
        { "process",    INT,   RAW_TRACK, \
          SHOW_PROCESS, false, "number of its process, or NULL" }, \
    { \
        "track", INT, RAW_TRACK, SHOW_NUMBER, true, "track.id of the thread" \
    }
#define CORRELATION(about) \
    { \
        "correlation", INT, C(CORRELATION), SHOW_OPTION, true, about \
    }
#define STACK \
    { \
        "stack", INT, C(STACK), SHOW_OPTION, true, \
            "stack_frame.stack: call stack, or NULL" \
    }

static const query_column zone[] = {
    TIMES,
    { "self_ns", INT, RAW_SELF, SHOW_NUMBER, false,
      "duration_ns less that of the zones in it" },
    SITE_NAMED("name", "name of the zone"),
    { "depth", INT, RAW_DEPTH, SHOW_NUMBER, false, "zones around it, 0: none" },
    THREAD,
    SITE,
    { "parent", INT, RAW_PARENT, SHOW_RANK, true,
      "zone.id of the zone around it, or NULL" },
    { "id", INT, RAW_ZONE, SHOW_NUMBER, true,
      "number among the zones of the file" },
    FROM_FILE,
};
static const query_column zone_open[] = {
    { "start_ns", INT, RAW_START, SHOW_NUMBER, false,
      "begin: ns since the start of the recording" },
    SITE_NAMED("name", "name of the zone"),
    { "depth", INT, C(DEPTH), SHOW_NUMBER, false, "zones around it, 0: none" },
    THREAD,
    SITE,
    FROM_FILE,
};
static const query_column zone_arg[] = {
    { "start_ns", INT, RAW_START, SHOW_NUMBER, true,
      "begin of its zone: with track and site it finds it" },
    { "zone", TEXT, C(SITE), SHOW_SITE_NAME, false, "name of its zone" },
    { "name", TEXT, C(NAME), SHOW_NAME, false, "name of the argument" },
    { "value", QUERY_ANY, C(VALUE), SHOW_VALUE, false,
      "its value: integer, real or text" },
    STACK,
    THREAD,
    { "site", INT, C(SITE), SHOW_OPTION, true, "site.id of its zone" },
    FROM_FILE,
};
static const query_column mark[] = {
    TIME, SITE_NAMED("name", "name of the mark"), THREAD, SITE, FROM_FILE,
};
static const query_column message[] = {
    TIME,      { "text", TEXT, RAW_TEXT, SHOW_TEXT, false, "what was logged" },
    THREAD,    SITE,
    FROM_FILE,
};
static const query_column counter[] = {
    TIME,
    { "name", TEXT, RAW_TRACK, SHOW_TRACK_NAME, false, "name of the counter" },
    { "value", QUERY_ANY, C(VALUE), SHOW_VALUE, false,
      "its value from then on, in `unit`" },
    { "unit", TEXT, RAW_TRACK, SHOW_TRACK_UNIT, false, "unit, or NULL" },
    { "track", INT, RAW_TRACK, SHOW_NUMBER, true, "track.id of the counter" },
    FROM_FILE,
};
static const query_column frame[] = {
    TIME,
    SITE_NAMED("name", "name of the frame that ends here"),
    THREAD,
    FROM_FILE,
};
static const query_column flow[] = {
    TIME,
    { "id", INT, C(ID), SHOW_NUMBER, true, "number of the flow" },
    { "phase", TEXT, C(PHASE), SHOW_PHASE, false, "start, step or end" },
    THREAD,
    FROM_FILE,
};
static const query_column span[] = {
    TIME,
    { "id", INT, C(ID), SHOW_NUMBER, true, "number of the span" },
    { "phase", TEXT, C(PHASE), SHOW_PHASE, false, "start or end" },
    SITE_NAMED("name", "name of the span, at its start"),
    THREAD,
    { "site", INT, C(SITE), SHOW_OPTION, true, "site.id" },
    FROM_FILE,
};
static const query_column api_call[] = {
    TIMES,
    { "name", TEXT, C(NAME), SHOW_NAME, false, "function that was called" },
    { "result", INT, C(RESULT), SHOW_NUMBER, false, "what it returned" },
    CORRELATION("gpu_op.correlation of what it launched, or NULL"),
    THREAD,
    STACK,
    { "name_id", INT, C(NAME), SHOW_OPTION, true, "name.id of the function" },
    FROM_FILE,
};
static const query_column dependency[] = {
    TIME,
    CORRELATION("what waits: gpu_op.correlation or api_call.correlation"),
    { "record", INT, C(RECORD), SHOW_OPTION, true,
      "what it waits for: a correlation" },
    { "type", TEXT, C(TYPE), SHOW_DEPENDENCY, false,
      "control, data or unknown" },
    { "track", INT, RAW_TRACK, SHOW_NUMBER, true, "track.id" },
    FROM_FILE,
};
static const query_column access_columns[] = {
    TIME,
    { "address", INT, C(ADDRESS), SHOW_NUMBER, true, "first byte" },
    { "size", INT, C(SIZE), SHOW_NUMBER, false, "bytes" },
    { "mode", TEXT, C(TYPE), SHOW_ACCESS, false,
      "read, write or read+write; ', coarse': somewhere in the range" },
    CORRELATION("gpu_op.correlation of what does it; NULL: the host"),
    { "track", INT, RAW_TRACK, SHOW_NUMBER, true, "track.id" },
    FROM_FILE,
};

/* ---- Operations of devices ---------------------------------------------- */

#define DEVICE \
    { "device", INT, RAW_TRACK, SHOW_DEVICE, false, "number of the device" }, \
        { "context",    INT,   RAW_TRACK, \
          SHOW_CONTEXT, false, "number of the context" }, \
        { "process",    INT,   RAW_TRACK, \
          SHOW_PROCESS, false, "number of the process, or NULL" }, \
    { \
        "stream", INT, RAW_TRACK, SHOW_STREAM, false, \
            "number of the stream; NULL: on none" \
    }
#define HOST_SIDE \
    { "queued_ns", INT,   RAW_QUEUED_NS, \
      SHOW_MOMENT, false, "when the host queued it, or NULL" }, \
        { "submitted_ns", INT,   RAW_SUBMITTED_NS, \
          SHOW_MOMENT,    false, "when it was given to the device, or NULL" }, \
        { "zone",         TEXT,  C(SITE), \
          SHOW_SITE_NAME, false, "innermost zone around its launch" }, \
        { "thread",        TEXT,  C(THREAD), \
          SHOW_TRACK_NAME, false, "thread that launched it" }, \
        { "site", INT, C(SITE), SHOW_OPTION, true, "site.id of that zone" }, \
        { "thread_track", INT,  C(THREAD), \
          SHOW_OPTION,    true, "track.id of that thread" }, \
        STACK, \
        { "track",     INT,  RAW_TRACK, \
          SHOW_NUMBER, true, "track.id of the stream, device or context" }, \
    { \
        "id", INT, RAW_OPERATION, SHOW_NUMBER, true, \
            "number among the operations of the file" \
    }
#define LAUNCH(name, index, about) \
    { \
        name, INT, C(LAUNCH), SHOW_LAUNCH + (index), false, about \
    }

static const query_column gpu_op[] = {
    { "kind", TEXT, RAW_KIND, SHOW_KIND, false,
      "kernel, memcpy, memset, collective, event_wait, ..." },
    { "name", TEXT, RAW_LABEL, SHOW_LABEL, false,
      "kernel, collective or host function; else the kind" },
    DEVICE,
    TIMES,
    CORRELATION("api_call.correlation of the call that launched it, or NULL"),
    { "size", INT, C(SIZE), SHOW_OPTION, false,
      "bytes copied, set, allocated or sent" },
    { "copy", TEXT, RAW_COPY, SHOW_COPY, false,
      "copies: host_to_device, device_to_host, device_to_device, ..." },
    { "source_memory", TEXT, C(MEMORY), SHOW_MEMORY_FROM, false,
      "copies: pageable, pinned, device, managed, array or NULL" },
    { "memory", TEXT, C(MEMORY), SHOW_MEMORY_TO, false,
      "likewise of the destination or the allocation" },
    { "source_address", INT, C(SOURCE), SHOW_OPTION, false,
      "copies: where from" },
    { "value", INT, C(VALUE), SHOW_OPTION, false,
      "memsets: what the bytes are set to" },
    { "address", INT, C(ADDRESS), SHOW_OPTION, true,
      "where to; the allocation; a host function" },
    LAUNCH("grid_x", 0, "kernels: blocks in x"),
    LAUNCH("grid_y", 1, "blocks in y"),
    LAUNCH("grid_z", 2, "blocks in z"),
    LAUNCH("block_x", 3, "kernels: threads of a block in x"),
    LAUNCH("block_y", 4, "threads in y"),
    LAUNCH("block_z", 5, "threads in z"),
    LAUNCH("cluster_x", 6, "kernels: blocks of a cluster in x, 0: none"),
    LAUNCH("cluster_y", 7, "blocks in y"),
    LAUNCH("cluster_z", 8, "blocks in z"),
    LAUNCH("registers", 9, "kernels: registers of a thread"),
    LAUNCH("static_shared", 10, "kernels: bytes of shared memory, static"),
    LAUNCH("dynamic_shared", 11, "bytes of shared memory, dynamic"),
    LAUNCH("local", 12, "bytes of local memory of a thread"),
    { "launch", INT, C(LAUNCH), SHOW_OPTION, true,
      "launch.id: kernel and configuration" },
    { "graph", INT, C(GRAPH), SHOW_OPTION, true, "graph it belongs to" },
    { "graph_node", INT, C(GRAPH_NODE), SHOW_OPTION, false, "node in it" },
    { "event", INT, C(ID), SHOW_OPTION, true,
      "event that is recorded or waited for; stream of a sync" },
    { "record", INT, C(RECORD), SHOW_OPTION, true,
      "event_wait: correlation of the record waited for" },
    { "communicator", INT, C(COMMUNICATOR), SHOW_OPTION, true,
      "collectives: number of the group of ranks" },
    { "sequence", INT, C(SEQUENCE), SHOW_OPTION, true,
      "collectives: number within the communicator" },
    { "ranks", INT, C(RANKS), SHOW_OPTION, false, "collectives: ranks of it" },
    { "peer", INT, C(PEER), SHOW_RANK, false,
      "send, receive: rank of the other side" },
    { "element", TEXT, RAW_ELEMENT, SHOW_ELEMENT, false,
      "collectives: f16, f32, i32, ... or NULL" },
    HOST_SIDE,
    { "name_id", INT, RAW_LABEL, SHOW_LABEL_NAME, false,
      "name.id of `name`; NULL: it is the kind" },
    FROM_FILE,
};
static const query_column sync_columns[] = {
    { "kind", TEXT, RAW_KIND, SHOW_KIND, false,
      "event_record, event_wait, stream_sync, device_sync, event_sync" },
    DEVICE,
    TIMES,
    CORRELATION("api_call.correlation of its call, or NULL"),
    { "event", INT, C(ID), SHOW_OPTION, true,
      "event recorded or waited for; stream of a stream_sync" },
    { "record", INT, C(RECORD), SHOW_OPTION, true,
      "event_wait: correlation of the record waited for" },
    HOST_SIDE,
    FROM_FILE,
};
static const query_column memory[] = {
    TIME,
    { "event", TEXT, RAW_KIND, SHOW_MEMORY_EVENT, false, "alloc or free" },
    { "place", TEXT, RAW_KIND, SHOW_MEMORY_PLACE, false, "host or device" },
    { "address", INT, C(ADDRESS), SHOW_NUMBER, true, "of the block" },
    { "size", INT, C(SIZE), SHOW_OPTION, false, "alloc: bytes" },
    { "pool", TEXT, C(POOL), SHOW_NAME, false, "name of the pool, or NULL" },
    { "category", TEXT, C(CATEGORY), SHOW_NAME, false, "host: what for" },
    { "memory", TEXT, C(MEMORY), SHOW_MEMORY_TO, false,
      "device alloc: device, pinned, managed, ... or NULL" },
    { "device", INT, RAW_TRACK, SHOW_DEVICE, false, "device: its number" },
    { "zone", TEXT, C(SITE), SHOW_SITE_NAME, false, "innermost zone" },
    { "duration_ns", INT, RAW_DURATION, SHOW_NUMBER, false,
      "device: how long it took" },
    CORRELATION("device: api_call.correlation of its call, or NULL"),
    { "site", INT, C(SITE), SHOW_OPTION, true, "site.id of that zone" },
    STACK,
    { "track", INT, RAW_TRACK, SHOW_NUMBER, true,
      "track.id of the thread, or stream, device, context" },
    FROM_FILE,
};

#define KIND(kind) TS_FILTER(kind)
#define GPU \
    (((UINT64_C(1) << TS_EVENT_LIMIT) - 1) & \
     ~((UINT64_C(1) << TS_EVENT_GPU_FIRST) - 1))
#define TABLE(name_, columns_, kinds_, about_) \
    { \
        .name = name_, .about = about_, .columns = columns_, \
        .column_count = sizeof columns_ / sizeof *(columns_), .kinds = kinds_ \
    }

const query_table query_event_tables[] = {
    TABLE("zone", zone, KIND(ZONE), "spans of host code, nested"),
    TABLE("zone_open", zone_open, KIND(ZONE_OPEN),
          "zones that had not ended when the recording did"),
    TABLE("zone_arg", zone_arg, KIND(ZONE_ARG), "values attached to zones"),
    TABLE("mark", mark, KIND(MARK), "moments with a name"),
    TABLE("message", message, KIND(MESSAGE), "log lines"),
    TABLE("counter", counter, KIND(COUNTER), "samples of counters"),
    TABLE("frame", frame, KIND(FRAME), "ends of frames"),
    TABLE("memory", memory,
          KIND(ALLOC) | KIND(FREE) | KIND(GPU_ALLOC) | KIND(GPU_FREE),
          "blocks allocated and freed, on host and devices"),
    TABLE("flow", flow, KIND(FLOW), "arrows between threads"),
    TABLE("span", span, KIND(SPAN), "spans that need not nest"),
    TABLE("api_call", api_call, KIND(API_CALL),
          "calls of runtime and driver functions"),
    TABLE("gpu_op", gpu_op, GPU, "operations of devices, all kinds"),
    TABLE("sync", sync_columns,
          KIND(EVENT_RECORD) | KIND(EVENT_WAIT) | KIND(STREAM_SYNC) |
              KIND(DEVICE_SYNC) | KIND(EVENT_SYNC),
          "those of gpu_op that order others"),
    TABLE("dependency", dependency, KIND(DEPENDENCY),
          "dependencies that the source of the trace states"),
    TABLE("access", access_columns, KIND(ACCESS),
          "what operations and the host do with memory"),
    { 0 },
};

#endif
