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
            "time: ns since the start of the recording" \
    }
#define TIMES \
    { "start_ns",  INT,   RAW_START, \
      SHOW_NUMBER, false, "start: ns since the start of the recording" }, \
        { "end_ns",    INT,   RAW_END, \
          SHOW_NUMBER, false, "end: ns since the start of the recording" }, \
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
          SHOW_SITE_FUNCTION, false, "function that contains the site" }, \
        { "source", TEXT, C(SITE), SHOW_SITE_SOURCE, false, "source file" }, \
        { "line", INT, C(SITE), SHOW_SITE_LINE, false, "line of it" }, \
    { \
        "site", INT, C(SITE), SHOW_OPTION, true, "site.id" \
    }
#define THREAD \
    { "thread", TEXT, RAW_TRACK, SHOW_TRACK_NAME, false, "thread" }, \
        { "tid",       INT,   RAW_TRACK, \
          SHOW_THREAD, false, "thread identifier of the operating system" }, \
        { "process",    INT,   RAW_TRACK, \
          SHOW_PROCESS, false, "process identifier, or NULL" }, \
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
      "duration_ns without that of inner zones" },
    SITE_NAMED("name", "name of the zone"),
    { "depth", INT, RAW_DEPTH, SHOW_NUMBER, false,
      "number of enclosing zones" },
    THREAD,
    SITE,
    { "parent", INT, RAW_PARENT, SHOW_RANK, true,
      "zone.id of the enclosing zone, or NULL" },
    { "id", INT, RAW_ZONE, SHOW_NUMBER, true,
      "number among the zones of the file" },
    FROM_FILE,
};
static const query_column zone_open[] = {
    { "start_ns", INT, RAW_START, SHOW_NUMBER, false,
      "start: ns since the start of the recording" },
    SITE_NAMED("name", "name of the zone"),
    { "depth", INT, C(DEPTH), SHOW_NUMBER, false, "number of enclosing zones" },
    THREAD,
    SITE,
    FROM_FILE,
};
static const query_column zone_arg[] = {
    { "start_ns", INT, RAW_START, SHOW_NUMBER, true,
      "start of its zone, which track and site identify" },
    { "zone", TEXT, C(SITE), SHOW_SITE_NAME, false, "name of its zone" },
    { "name", TEXT, C(NAME), SHOW_NAME, false, "name of the argument" },
    { "value", QUERY_ANY, C(VALUE), SHOW_VALUE, false,
      "value: integer, real or text" },
    STACK,
    THREAD,
    { "site", INT, C(SITE), SHOW_OPTION, true, "site.id of its zone" },
    FROM_FILE,
};
static const query_column mark[] = {
    TIME, SITE_NAMED("name", "name of the mark"), THREAD, SITE, FROM_FILE,
};
static const query_column message[] = {
    TIME,
    { "text", TEXT, RAW_TEXT, SHOW_TEXT, false, "text of the message" },
    THREAD,
    SITE,
    FROM_FILE,
};
static const query_column counter[] = {
    TIME,
    { "name", TEXT, RAW_TRACK, SHOW_TRACK_NAME, false, "name of the counter" },
    { "value", QUERY_ANY, C(VALUE), SHOW_VALUE, false,
      "value from this time on, in `unit`" },
    { "unit", TEXT, RAW_TRACK, SHOW_TRACK_UNIT, false, "unit, or NULL" },
    { "track", INT, RAW_TRACK, SHOW_NUMBER, true, "track.id of the counter" },
    FROM_FILE,
};
static const query_column frame[] = {
    TIME,
    SITE_NAMED("name", "name of the frame that ends at this time"),
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
    { "name", TEXT, C(NAME), SHOW_NAME, false, "name of the function" },
    { "result", INT, C(RESULT), SHOW_NUMBER, false, "returned value" },
    CORRELATION("gpu_op.correlation of the launched operation, or NULL"),
    THREAD,
    STACK,
    { "name_id", INT, C(NAME), SHOW_OPTION, true, "name.id of the function" },
    FROM_FILE,
};
static const query_column dependency[] = {
    TIME,
    CORRELATION("the waiting side: gpu_op.correlation or api_call.correlation"),
    { "record", INT, C(RECORD), SHOW_OPTION, true,
      "the awaited side: a correlation" },
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
    CORRELATION(
        "gpu_op.correlation of the accessing operation; NULL: the host"),
    { "track", INT, RAW_TRACK, SHOW_NUMBER, true, "track.id" },
    FROM_FILE,
};

static const query_column sample[] = {
    TIME,
    { "name", TEXT, C(NAME), SHOW_NAME, false,
      "what is sampled, such as cpu, cycles or alloc_space; NULL: not known" },
    { "weight", QUERY_ANY, C(VALUE), SHOW_VALUE, false,
      "what the sample stands for, in `unit`" },
    { "unit", TEXT, C(UNIT), SHOW_NAME, false, "unit, or NULL: a count" },
    THREAD,
    STACK,
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
            "number of the stream, or NULL" \
    }
#define HOST_SIDE \
    { "queued_ns", INT,   RAW_QUEUED_NS, \
      SHOW_MOMENT, false, "time at which the host queued it, or NULL" }, \
        { "submitted_ns", INT,   RAW_SUBMITTED_NS, \
          SHOW_MOMENT,    false, "submission to the device, or NULL" }, \
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
      "name of the kernel, collective or host function; else the kind" },
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
      "kind of memory of the destination or allocation" },
    { "source_address", INT, C(SOURCE), SHOW_OPTION, false,
      "copies: source address" },
    { "value", INT, C(VALUE), SHOW_OPTION, false,
      "memsets: value of the bytes" },
    { "address", INT, C(ADDRESS), SHOW_OPTION, true,
      "address of the destination, allocation or host function" },
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
    { "ranks", INT, C(RANKS), SHOW_OPTION, false,
      "collectives: number of ranks of the communicator" },
    { "peer", INT, C(PEER), SHOW_RANK, false,
      "send, receive: rank of the other side" },
    { "element", TEXT, RAW_ELEMENT, SHOW_ELEMENT, false,
      "collectives: f16, f32, i32, ... or NULL" },
    HOST_SIDE,
    { "name_id", INT, RAW_LABEL, SHOW_LABEL_NAME, false,
      "name.id of `name`; NULL if it is the kind" },
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
    { "address", INT, C(ADDRESS), SHOW_NUMBER, true, "address of the block" },
    { "size", INT, C(SIZE), SHOW_OPTION, false, "alloc: bytes" },
    { "pool", TEXT, C(POOL), SHOW_NAME, false, "name of the pool, or NULL" },
    { "category", TEXT, C(CATEGORY), SHOW_NAME, false, "host: category" },
    { "memory", TEXT, C(MEMORY), SHOW_MEMORY_TO, false,
      "device alloc: device, pinned, managed, ... or NULL" },
    { "device", INT, RAW_TRACK, SHOW_DEVICE, false,
      "device: number of the device" },
    { "zone", TEXT, C(SITE), SHOW_SITE_NAME, false, "innermost zone" },
    { "duration_ns", INT, RAW_DURATION, SHOW_NUMBER, false,
      "device: duration" },
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
    TABLE("zone", zone, KIND(ZONE), "nested spans of host code"),
    TABLE("zone_open", zone_open, KIND(ZONE_OPEN),
          "zones that had not ended at the end of the recording"),
    TABLE("zone_arg", zone_arg, KIND(ZONE_ARG), "values attached to zones"),
    TABLE("mark", mark, KIND(MARK), "named points in time"),
    TABLE("message", message, KIND(MESSAGE), "log lines"),
    TABLE("counter", counter, KIND(COUNTER), "samples of counters"),
    TABLE("frame", frame, KIND(FRAME), "ends of frames"),
    TABLE("memory", memory,
          KIND(ALLOC) | KIND(FREE) | KIND(GPU_ALLOC) | KIND(GPU_FREE),
          "allocations and frees, on host and devices"),
    TABLE("flow", flow, KIND(FLOW), "arrows between threads"),
    TABLE("span", span, KIND(SPAN), "spans that need not nest"),
    TABLE("api_call", api_call, KIND(API_CALL),
          "calls of runtime and driver functions"),
    TABLE("gpu_op", gpu_op, GPU, "operations of devices, all kinds"),
    TABLE("sync", sync_columns,
          KIND(EVENT_RECORD) | KIND(EVENT_WAIT) | KIND(STREAM_SYNC) |
              KIND(DEVICE_SYNC) | KIND(EVENT_SYNC),
          "operations of gpu_op that order others"),
    TABLE("dependency", dependency, KIND(DEPENDENCY),
          "dependencies that the source of the trace states"),
    TABLE("access", access_columns, KIND(ACCESS),
          "accesses to memory by operations and the host"),
    TABLE("sample", sample, KIND(SAMPLE), "samples of a profile"),
    { 0 },
};

#endif
