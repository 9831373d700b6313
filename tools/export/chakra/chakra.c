/*
    chakra.c - nodes of the graph as messages of Chakra

    A file is a sequence of messages, each preceded by its size: the metadata,
    then nodes. Schema: see chakra.h.
*/
#include "tools/export/chakra/chakra.h"
#include "tools/export/proto.h"
#include <stdio.h>

enum { // NodeType
    MEM_LOAD = 2,
    MEM_STORE = 3,
    COMPUTE = 4,
    SEND = 5,
    RECEIVE = 6,
    COLLECTIVE = 7
};

enum { // the value of an attribute, by its type
    INT32 = 7,
    INT64 = 9,
    UINT64 = 13,
    BOOL = 27,
    STRING = 29
};

enum {          // of a node of the graph
    WAITS = 1,  // it has an end of its own
    STARTS = 2, // others start when it does: a node for its start
    WORKED = 4  // the host did something before this call
};

typedef struct chakra {
    ts_reader *reader;
    ts_replay *replay;
    ts_graph graph;
    export_out *out;
    export_buffer block, message;
    chakra_rows facts;
    cli_map groups;    // numbers of communicators
    bool has_process;  // the only one, which is in the metadata
    uint32_t *first;   // of each node: its edges in `before`; node_count + 1
    uint32_t *before;  // edges by their targets
    uint32_t *source;  // of an edge
    int64_t *ready_ns; // when all that a node waited for was there; NO_TIME
    uint8_t *flags;    // of each node
    int64_t base_ns;   // of the times
    uint32_t *list;    // dependencies of a node
    export_counts *counts;
} chakra;

#define NO_TIME INT64_MIN

static ts_node node_at(const chakra *x, uint32_t index)
{
    ts_node n;
    ts_replay_node(x->replay, index, &n);
    return n;
}

/* ---- The graph backwards ------------------------------------------------ */

// Whether an edge is satisfied at the start of its source and has to be here,
// too.
static bool is_from_start(const chakra *x, uint32_t edge)
{
    const uint8_t kind = x->graph.kinds[edge];
    return kind & TS_EDGE_FROM_START && TS_EDGE_KIND(kind) != TS_EDGE_LAUNCH &&
           TS_EDGE_KIND(kind) != TS_EDGE_SELF;
}

static void take_edge(chakra *x, uint32_t from, uint32_t edge)
{
    const ts_node n = node_at(x, from);
    const uint32_t to = x->graph.targets[edge];
    const bool starts = x->graph.kinds[edge] & TS_EDGE_FROM_START;
    const int64_t at = n.recorded_ns + (starts ? 0 : n.duration_ns);
    if (at > x->ready_ns[to]) x->ready_ns[to] = at;
    x->source[edge] = from;
    x->first[to + 1]++;
    if (is_from_start(x, edge) && !(x->flags[from] & WAITS))
        x->flags[from] |= STARTS;
}

static void turn_graph(chakra *x)
{
    const ts_graph *const g = &x->graph;
    const size_t nodes = g->node_count;
    x->first = export_zeroed(nodes + 2, sizeof *x->first);
    x->before = export_zeroed((size_t)g->edge_count + 1, sizeof *x->before);
    x->source = export_zeroed((size_t)g->edge_count + 1, sizeof *x->source);
    x->ready_ns = export_zeroed(nodes + 1, sizeof *x->ready_ns);
    x->flags = export_zeroed(nodes + 1, 1);
    for (uint32_t i = 0; i < nodes; i++) {
        const ts_node n = node_at(x, i);
        x->ready_ns[i] = NO_TIME;
        if (n.type == TS_NODE_END) x->flags[n.owner] |= WAITS;
    }
    for (uint32_t i = 0; i < nodes; i++)
        for (uint32_t e = g->offsets[i]; e < g->offsets[i + 1]; e++)
            take_edge(x, i, e);
    for (size_t i = 0; i < nodes; i++)
        x->first[i + 1] += x->first[i];
    uint32_t *const next = export_zeroed(nodes + 1, sizeof *next);
    uint32_t most = 0;
    for (uint32_t e = 0; e < g->edge_count; e++) {
        const uint32_t to = g->targets[e];
        x->before[x->first[to] + next[to]++] = e;
        if (next[to] > most) most = next[to];
    }
    x->list = export_zeroed((size_t)most + 1, sizeof *x->list);
    export_resize(next, 0);
    for (uint32_t i = 0; i < nodes; i++) {
        const ts_node n = node_at(x, i);
        if (n.type == TS_NODE_CALL && x->ready_ns[i] != NO_TIME &&
            n.recorded_ns > x->ready_ns[i])
            x->flags[i] |= WORKED;
    }
}

static void free_graph(chakra *x)
{
    export_resize(x->first, 0);
    export_resize(x->before, 0);
    export_resize(x->source, 0);
    export_resize(x->ready_ns, 0);
    export_resize(x->flags, 0);
    export_resize(x->list, 0);
    export_resize(x->facts.rows, 0);
    cli_map_close(&x->groups);
    export_resize(x->block.data, 0);
    export_resize(x->message.data, 0);
}

/* ---- Messages ----------------------------------------------------------- */

static size_t begin_attribute(chakra *x, uint32_t field, const char *name)
{
    const size_t begun = proto_begin(&x->message, field);
    proto_string(&x->message, 1, name);
    return begun;
}

static void put_number(chakra *x, const char *name, uint32_t type,
                       uint64_t value)
{
    const size_t begun = begin_attribute(x, 10, name);
    proto_uint(&x->message, type, value);
    proto_end(&x->message, begun);
}

static void put_text(chakra *x, const char *name, const char *text)
{
    const size_t begun = begin_attribute(x, 10, name);
    proto_string(&x->message, STRING, text);
    proto_end(&x->message, begun);
}

static void end_message(chakra *x)
{
    proto_varint(&x->block, x->message.size);
    export_put(&x->block, x->message.data, x->message.size);
    x->message.size = 0;
    if (x->block.size >= EXPORT_BLOCK_BYTES)
        export_out_block(x->out, &x->block);
}

// Returns the only process of the trace; false: there are several, or none.
static bool find_process(const chakra *x, uint64_t *number)
{
    ts_track track;
    size_t count = 0;
    for (size_t i = 0; ts_reader_track_at(x->reader, i, &track); i++)
        if (track.type == TS_TRACK_PROCESS) {
            *number = track.number;
            count++;
        }
    return count == 1;
}

// Begins with the name of the exporter, by which ts-export knows its files.
static void put_metadata(chakra *x)
{
    uint64_t process;
    proto_string(&x->message, 1, "1.0.0");
    size_t begun = begin_attribute(x, 2, "exporter");
    proto_string(&x->message, STRING, "TraceSmith");
    proto_end(&x->message, begun);
    x->has_process = find_process(x, &process);
    if (x->has_process) {
        begun = begin_attribute(x, 2, "pid");
        proto_uint(&x->message, UINT64, process);
        proto_end(&x->message, begun);
    }
    end_message(x);
}

static int compare(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

// Writes what a node depends on, each once: `ids`, packed.
static void put_deps(chakra *x, uint32_t count)
{
    uint32_t kept = 0;
    if (!count) return;
    qsort(x->list, count, sizeof *x->list, compare);
    const size_t begun = proto_begin(&x->message, 5);
    for (uint32_t i = 0; i < count; i++)
        if (!i || x->list[i] != x->list[i - 1]) {
            proto_varint(&x->message, x->list[i]);
            kept++;
        }
    proto_end(&x->message, begun);
    x->counts->edges += kept;
}

static uint32_t list_deps(const chakra *x, uint32_t node)
{
    uint32_t count = 0;
    for (uint32_t i = x->first[node]; i < x->first[node + 1]; i++) {
        const uint32_t edge = x->before[i], from = x->source[edge];
        const bool starts = is_from_start(x, edge) && x->flags[from] & STARTS;
        x->list[count++] = from + (starts ? x->graph.node_count : 0);
    }
    return count;
}

// Rounded to microseconds; work that takes time takes at least one.
static uint64_t to_us(int64_t ns)
{
    return ns <= 0 ? 0 : ns < 500 ? 1 : ((uint64_t)ns + 500) / 1000;
}

// A node of a thread or stream, without its end.
static void begin_node(chakra *x, uint64_t id, ts_text name, const char *suffix,
                       uint32_t type)
{
    proto_uint(&x->message, 1, id);
    const size_t begun = proto_begin(&x->message, 2);
    export_put_utf8(&x->message, name.text, name.size);
    export_put(&x->message, suffix, strlen(suffix));
    proto_end(&x->message, begun);
    proto_uint(&x->message, 3, type);
    x->counts->nodes++;
}

static void put_times(chakra *x, int64_t start_ns, int64_t duration_ns)
{
    const uint64_t start = (uint64_t)start_ns - (uint64_t)x->base_ns;
    proto_uint(&x->message, 6, start / 1000);
    proto_uint(&x->message, 7, to_us(duration_ns));
    put_number(x, "start_ns", INT64, start);
    put_number(x, "duration_ns", INT64, (uint64_t)duration_ns);
}

// Threads of several processes, and streams of several contexts, can have equal
// numbers: so each has those of what it belongs to.
static void put_place(chakra *x, const ts_node *n, bool on_host)
{
    ts_track track;
    put_number(x, "is_cpu_op", BOOL, on_host);
    if (!n->track || !ts_reader_track(x->reader, n->track, &track)) return;
    put_number(x, on_host ? "tid" : "stream", INT64, track.number);
    do {
        if (!on_host && track.type == TS_TRACK_CONTEXT)
            put_number(x, "context", INT64, track.number);
        if (!on_host && track.type == TS_TRACK_DEVICE)
            put_number(x, "device", INT64, track.number);
        if (track.type == TS_TRACK_PROCESS && !x->has_process)
            put_number(x, "pid", INT64, track.number);
    } while (track.parent && ts_reader_track(x->reader, track.parent, &track));
}

/* ---- Nodes -------------------------------------------------------------- */

// Returns the CollectiveCommType of a kind of collectives; -1: it has none.
static int communication_of(ts_text kind)
{
    static const char *const kinds[] = { "AllReduce", "Reduce",
                                         "AllGather", "Gather",
                                         "Scatter",   "Broadcast",
                                         "AllToAll",  "ReduceScatter" };
    for (int i = 0; i < (int)(sizeof kinds / sizeof *kinds); i++)
        if (cli_is_text(kind, kinds[i])) return i;
    return cli_is_text(kind, "Barrier") ? 9 : -1;
}

static uint32_t type_of(const chakra *x, const ts_operation *op,
                        const chakra_facts *facts)
{
    enum { TO_DEVICE = 1, TO_HOST = 2 };
    if (op->kind == TS_EVENT_MEMCPY)
        return facts->copy == TO_DEVICE ? MEM_LOAD
               : facts->copy == TO_HOST ? MEM_STORE
                                        : COMPUTE;
    if (op->kind != TS_EVENT_COLLECTIVE) return COMPUTE;
    const ts_text kind = ts_reader_name(x->reader, facts->name);
    return cli_is_text(kind, "Send")     ? SEND
           : cli_is_text(kind, "Recv")   ? RECEIVE
           : communication_of(kind) >= 0 ? COLLECTIVE
                                         : COMPUTE;
}

static void put_communication(chakra *x, uint32_t type,
                              const chakra_facts *facts)
{
    ts_metadata rank;
    if (type == COLLECTIVE)
        put_number(
            x, "comm_type", INT64,
            (uint64_t)communication_of(ts_reader_name(x->reader, facts->name)));
    put_number(x, "comm_size", INT64, facts->size);
    if (facts->communicator)
        put_text(x, "pg_name",
                 cli_format("%" PRIu32,
                            chakra_group(&x->groups, facts->communicator))
                     .s);
    if (type == COLLECTIVE) return;
    if (facts->peer)
        put_number(x, type == SEND ? "comm_dst" : "comm_src", INT32,
                   facts->peer - 1);
    if (ts_reader_metadata(x->reader, 0, "rank", &rank) &&
        rank.type == TS_VALUE_INT && rank.number >= 0)
        put_number(x, type == SEND ? "comm_src" : "comm_dst", INT32,
                   (uint64_t)rank.number);
}

static void put_operation(chakra *x, uint32_t index, const ts_node *n)
{
    static const chakra_facts none = { 0 };
    ts_operation op;
    ts_replay_operation(x->replay, index, &op);
    const chakra_facts *const facts =
        op.row < x->facts.count ? &x->facts.rows[op.row] : &none;
    const uint32_t type = type_of(x, &op, facts);
    const bool waits = x->flags[index] & WAITS;
    begin_node(x, index, ts_operation_label(x->reader, &op), "", type);
    if (x->flags[index] & STARTS) {
        x->list[0] = x->graph.node_count + index;
        put_deps(x, 1);
    } else {
        put_deps(x, list_deps(x, index));
    }
    put_times(x, n->recorded_ns, waits ? 0 : n->duration_ns);
    put_place(x, n, false);
    if (type >= SEND) put_communication(x, type, facts);
    if (type < COMPUTE && facts->size)
        put_number(x, "tensor_size", UINT64, facts->size);
    x->counts->operations++;
}

static ts_text name_of(const chakra *x, uint32_t index)
{
    const ts_node n = node_at(x, index);
    ts_operation op;
    if (n.type == TS_NODE_OPERATION &&
        ts_replay_operation(x->replay, index, &op))
        return ts_operation_label(x->reader, &op);
    const ts_text name = ts_reader_name(x->reader, n.name);
    return name.size ? name : (ts_text){ "launch", 6 };
}

// What comes before a node: what the host did, or the start itself.
static void put_before(chakra *x, uint32_t index, const ts_node *n)
{
    const bool worked = x->flags[index] & WORKED;
    const int64_t from_ns = worked ? x->ready_ns[index] : n->recorded_ns;
    begin_node(x, (uint64_t)x->graph.node_count + index,
               worked ? (ts_text){ "host work", 9 } : name_of(x, index),
               worked ? "" : " (start)", COMPUTE);
    put_deps(x, list_deps(x, index));
    put_times(x, from_ns, n->recorded_ns - from_ns);
    put_place(x, n, n->type == TS_NODE_CALL);
    end_message(x);
}

static void put_host(chakra *x, uint32_t index, const ts_node *n)
{
    const bool is_end = n->type == TS_NODE_END;
    const bool is_join = n->type == TS_NODE_JOIN;
    const ts_node owner = node_at(x, n->owner);
    const int64_t ready_ns = x->ready_ns[index];
    // Of a wait only what is behind the last that it waited for is its own.
    const int64_t from_ns =
        is_end && ready_ns != NO_TIME && ready_ns < n->recorded_ns
            ? ready_ns
            : n->recorded_ns;
    const bool has_time = !is_join && !(x->flags[index] & WAITS);
    const int64_t duration_ns = is_end     ? n->recorded_ns - from_ns
                                : has_time ? n->duration_ns
                                           : 0;
    begin_node(x, index,
               is_join ? (ts_text){ "all earlier operations", 22 }
                       : name_of(x, n->owner),
               is_end ? " (end)" : "", COMPUTE);
    if (x->flags[index] & (STARTS | WORKED)) {
        x->list[0] = x->graph.node_count + index;
        put_deps(x, 1);
    } else {
        put_deps(x, list_deps(x, index));
    }
    put_times(x, from_ns, duration_ns);
    put_place(x, &owner, owner.type != TS_NODE_OPERATION);
    x->counts->calls += n->type == TS_NODE_CALL;
}

static void put_nodes(chakra *x)
{
    for (uint32_t i = 0; i < x->graph.node_count; i++) {
        const ts_node n = node_at(x, i);
        if (x->flags[i] & (STARTS | WORKED)) put_before(x, i, &n);
        if (n.type == TS_NODE_OPERATION)
            put_operation(x, i, &n);
        else
            put_host(x, i, &n);
        end_message(x);
    }
}

/* ---- The format --------------------------------------------------------- */

static void close_replay(void *replay)
{
    ts_replay_close(replay);
}

// Counts events without a place; dependencies became edges.
static ts_result count_left_out(const chakra *x, export_counts *counts)
{
    const ts_info *const info = ts_reader_info(x->reader);
    for (size_t i = 0; i < TS_EVENT_GPU_FIRST; i++)
        counts->left_out[i] = info->counts[i];
    const uint64_t calls = info->counts[TS_EVENT_API_CALL];
    counts->left_out[TS_EVENT_API_CALL] =
        calls > counts->calls ? calls - counts->calls : 0;
    return chakra_lost_dependencies(x->reader,
                                    &counts->left_out[TS_EVENT_DEPENDENCY]);
}

static ts_result walk(ts_reader *reader, export_out *out,
                      const export_options *options, export_counts *counts)
{
    ts_replay *replay;
    (void)options; // the trace is cut already
    *counts = (export_counts){ 0 };
    const ts_result opened = ts_replay_open(&replay, reader, NULL);
    if (opened != TS_OK) return opened;
    export_push(close_replay, replay);
    chakra x = { .reader = reader,
                 .replay = replay,
                 .graph = ts_replay_graph(replay),
                 .out = out,
                 .base_ns = ts_reader_info(reader)->first_ns,
                 .counts = counts };
    ts_result result = chakra_rows_read(&x.facts, reader);
    const ts_result groups = chakra_groups_read(&x.groups, &x.facts, reader);
    if (result == TS_OK) result = groups;
    turn_graph(&x);
    put_metadata(&x);
    put_nodes(&x);
    export_out_block(out, &x.block);
    const ts_result counted = count_left_out(&x, counts);
    if (result == TS_OK) result = counted;
    free_graph(&x);
    export_pop();
    ts_replay_close(replay);
    return result;
}

static const char *const suffixes[] = { ".et", NULL };

const export_format export_chakra = {
    .name = "chakra",
    .kind = CLI_CHAKRA,
    .suffixes = suffixes,
    .of_operations = true,
    .walk = walk,
};
