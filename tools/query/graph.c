/*
    graph.c - tables of the replay graph and of the timeline

    They are computed when a query uses the first of them: all files are loaded
    into one replay, which runs with the recorded delays (exact replay).
*/
#include "tools/query/columns.h"

#ifdef TRACESMITH_SQLITE

typedef struct gap_row {
    ts_gap gap;
    uint32_t device;
} gap_row;

typedef struct span_row {
    ts_state_span span;
    uint32_t lane;
} span_row;

typedef struct query_graph {
    ts_replay *replay;
    ts_timeline *timeline;
    ts_graph graph;
    uint32_t *sources; // the source node of each edge
    gap_row *gaps;
    size_t gap_count;
    span_row *spans;
    size_t span_count;
    const ts_step *steps;
    size_t step_count;
} query_graph;

void query_graph_close(query *q)
{
    query_graph *const g = q->graph;
    q->graph = NULL;
    if (!g) return;
    ts_timeline_close(g->timeline);
    ts_replay_close(g->replay);
    free(g->sources);
    free(g->gaps);
    free(g->spans);
    free(g);
}

static ts_result open_replay(query *q, query_graph *g)
{
    ts_reader **const more = calloc(q->file_count, sizeof(ts_reader *));
    if (!more) return TS_ERR_MEMORY;
    for (uint32_t i = 1; i < q->file_count; i++)
        more[i - 1] = q->files[i].trace.reader;
    const ts_replay_desc desc = { .more = more,
                                  .more_count = q->file_count - 1 };
    ts_result result =
        ts_replay_open(&g->replay, q->files[0].trace.reader, &desc);
    free(more);
    if (result == TS_OK) result = ts_replay_run(g->replay, NULL);
    ts_timeline_desc timeline = { 0 };
    if (!cli_clip(q->files[0].trace.reader, &timeline.from_ns, &timeline.to_ns))
        timeline.from_ns = timeline.to_ns = 0;
    if (result == TS_OK)
        result = ts_timeline_open(&g->timeline, g->replay, &timeline);
    if (result == TS_OK)
        result = ts_replay_steps(g->replay, &g->steps, &g->step_count);
    return result;
}

static bool list_sources(query_graph *g)
{
    g->graph = ts_replay_graph(g->replay);
    g->sources = malloc(((size_t)g->graph.edge_count + 1) * sizeof *g->sources);
    if (!g->sources) return false;
    for (uint32_t n = 0; n < g->graph.node_count; n++)
        for (uint32_t e = g->graph.offsets[n]; e < g->graph.offsets[n + 1]; e++)
            g->sources[e] = n;
    return true;
}

static bool list_gaps(query_graph *g)
{
    const size_t devices = ts_replay_device_count(g->replay);
    size_t count = 0;
    for (size_t d = 0; d < devices; d++)
        count += ts_timeline_gap_count(g->timeline, d);
    g->gaps = malloc((count + 1) * sizeof *g->gaps);
    if (!g->gaps) return false;
    for (size_t d = 0; d < devices; d++) {
        ts_gap gap;
        for (size_t i = 0; ts_timeline_gap(g->timeline, d, i, &gap); i++)
            g->gaps[g->gap_count++] = (gap_row){ gap, (uint32_t)d };
    }
    return true;
}

static bool list_state_spans(query_graph *g)
{
    size_t room = 0;
    for (size_t lane = 0; lane < ts_replay_lane_count(g->replay); lane++) {
        ts_state_spans spans = ts_timeline_state_spans(g->timeline, lane);
        ts_state_span span;
        while (ts_state_spans_next(&spans, &span)) {
            if (!cli_grow(&g->spans, &room, g->span_count + 1,
                          sizeof *g->spans))
                return false;
            g->spans[g->span_count++] = (span_row){ span, (uint32_t)lane };
        }
    }
    return true;
}

// Returns the graph, computing it at first use; NULL: failed, see q->failure.
static const query_graph *graph_of(query *q)
{
    if (q->graph) return q->graph;
    query_graph *const g = calloc(1, sizeof *g);
    q->graph = g;
    ts_result result = g ? open_replay(q, g) : TS_ERR_MEMORY;
    if (result == TS_OK &&
        (!list_sources(g) || !list_gaps(g) || !list_state_spans(g)))
        result = TS_ERR_MEMORY;
    // A trace without operations is no error: the tables are empty.
    if (result == TS_OK || result == TS_ERR_NOT_FOUND) return g;
    query_graph_close(q);
    q->failure = ts_result_text(result);
    return NULL;
}

static query_cell node_number(uint32_t node)
{
    return node == TS_NODE_NONE ? query_null : query_integer(node);
}

static query_cell file_path(const query *q, uint32_t file)
{
    return query_string(q->files[file].path);
}

/* ---- Operations and nodes ----------------------------------------------- */

static const query_column operation_columns[] = {
    KEY("id", "number in order of time, as in ts-replay; also node.id"),
    KEY("gpu_op", "gpu_op.id, within its file"),
    KEY("call", "node.id of the call that launched it, or NULL"),
    COLUMN("kind", TEXT, "kernel, memcpy, ..."),
    COLUMN("name", TEXT,
           "name of the kernel, collective or host function; "
           "else the kind"),
    COLUMN("start_ns", INT, "start, on the time axis of the first file"),
    COLUMN("end_ns", INT, "end: ns since the start of the recording"),
    COLUMN("device", INT, "number of the device, or NULL"),
    COLUMN("stream", INT, "number of the stream, or NULL"),
    COLUMN("track", INT, "track.id"),
    COLUMN("correlation", INT, "gpu_op.correlation, or NULL"),
    COLUMN("file", TEXT, "path of its trace"),
};
static int64_t operation_count(query *q, uint32_t file)
{
    (void)file;
    const query_graph *const g = graph_of(q);
    return !g ? -1 : (int64_t)g->graph.operation_count;
}
static query_cell operation_cell(query *q, uint32_t file, uint64_t row,
                                 uint32_t column)
{
    (void)file;
    ts_operation o;
    if (!ts_replay_operation(q->graph->replay, row, &o)) return query_null;
    const ts_reader *const reader = q->files[o.file].trace.reader;
    switch (column) {
    case 0: return query_integer((int64_t)row);
    case 1: return query_integer(o.row);
    case 2: return node_number(o.call);
    case 3: return query_string(ts_event_name(o.kind));
    case 4: return query_text(ts_operation_label(reader, &o));
    case 5: return query_integer(o.recorded_start_ns);
    case 6: return query_integer(o.recorded_end_ns);
    case 7: return query_show_cell(q, o.file, SHOW_DEVICE, o.track);
    case 8: return query_show_cell(q, o.file, SHOW_STREAM, o.track);
    case 9: return query_integer(o.track);
    case 10: return query_show_cell(q, o.file, SHOW_OPTION, o.correlation);
    default: return file_path(q, o.file);
    }
}

static const query_column node_columns[] = {
    KEY("id", "number of the node; operations come first, see operation"),
    KEY("owner", "for kind end: node.id of the node that ends; else the id"),
    COLUMN("type", TEXT, "operation, call, end or join"),
    COLUMN("name", TEXT, "name of the operation or called function, or NULL"),
    COLUMN("start_ns", INT, "time, on the time axis of the first file"),
    COLUMN("duration_ns", INT, "duration"),
    COLUMN("gap_ns", INT, "delay after its dependencies"),
    COLUMN("track", INT, "track.id of its stream or thread, or NULL"),
    COLUMN("file", TEXT, "path of its trace"),
};
static int64_t node_count(query *q, uint32_t file)
{
    (void)file;
    const query_graph *const g = graph_of(q);
    return !g ? -1 : (int64_t)g->graph.node_count;
}
static query_cell node_name(query *q, uint64_t row, const ts_node *n)
{
    ts_operation o;
    const ts_reader *const reader = q->files[n->file].trace.reader;
    if (n->type == TS_NODE_OPERATION &&
        ts_replay_operation(q->graph->replay, row, &o))
        return query_text(ts_operation_label(reader, &o));
    return query_show_cell(q, n->file, SHOW_NAME, n->name);
}
static query_cell node_cell(query *q, uint32_t file, uint64_t row,
                            uint32_t column)
{
    (void)file;
    static const char *const types[] = { "operation", "call", "end", "join" };
    ts_node n;
    if (!ts_replay_node(q->graph->replay, row, &n)) return query_null;
    switch (column) {
    case 0: return query_integer((int64_t)row);
    case 1: return query_integer(n.owner);
    case 2: return query_string(types[n.type]);
    case 3: return node_name(q, row, &n);
    case 4: return query_integer(n.recorded_ns);
    case 5: return query_integer(n.duration_ns);
    case 6: return query_integer(n.gap_ns);
    case 7: return n.track ? query_integer(n.track) : query_null;
    default: return file_path(q, n.file);
    }
}

static const query_column edge_columns[] = {
    KEY("source", "node.id of the dependency"),
    KEY("target", "node.id of the node that waits"),
    COLUMN("kind", TEXT, "launch, stream_order, ...; self: to its own end"),
    COLUMN("inferred", INT, "1: inferred from times, not recorded"),
    COLUMN("from_start", INT, "1: from the start of the source, not its end"),
};
static int64_t edge_count(query *q, uint32_t file)
{
    (void)file;
    const query_graph *const g = graph_of(q);
    return !g ? -1 : (int64_t)g->graph.edge_count;
}
static query_cell edge_cell(query *q, uint32_t file, uint64_t row,
                            uint32_t column)
{
    (void)file;
    const query_graph *const g = q->graph;
    const uint8_t kind = g->graph.kinds[row];
    switch (column) {
    case 0: return query_integer(g->sources[row]);
    case 1: return query_integer(g->graph.targets[row]);
    case 2: return query_string(ts_edge_name(TS_EDGE_KIND(kind)));
    case 3: return query_integer((kind & TS_EDGE_INFERRED) != 0);
    default: return query_integer((kind & TS_EDGE_FROM_START) != 0);
    }
}

/* ---- Timeline ----------------------------------------------------------- */

static const query_column gap_columns[] = {
    KEY("operation", "operation.id of the operation that ended it"),
    KEY("culprit", "node.id of the node that this operation waited for, or "
                   "NULL"),
    COLUMN("start_ns", INT, "start, on the time axis of the first file"),
    COLUMN("end_ns", INT, "end: ns since the start of the recording"),
    COLUMN("duration_ns", INT, "end_ns - start_ns"),
    COLUMN("device", INT, "number of the idle device, or NULL"),
    COLUMN("cause", TEXT, "host_late, launch_latency, copy, host_sync, ..."),
    COLUMN("edge", TEXT, "kind of the edge that led to the cause"),
    COLUMN("inferred", INT, "1: found through inferred edges"),
    COLUMN("file", TEXT, "path of its trace"),
};
static int64_t gap_count(query *q, uint32_t file)
{
    (void)file;
    const query_graph *const g = graph_of(q);
    return !g ? -1 : (int64_t)g->gap_count;
}
static query_cell gap_cell(query *q, uint32_t file, uint64_t row,
                           uint32_t column)
{
    (void)file;
    const gap_row *const r = &q->graph->gaps[row];
    ts_lane device = { 0 };
    ts_replay_device(q->graph->replay, r->device, &device);
    switch (column) {
    case 0: return node_number(r->gap.operation);
    case 1: return node_number(r->gap.culprit);
    case 2: return query_integer(r->gap.start_ns);
    case 3: return query_integer(r->gap.end_ns);
    case 4: return query_integer(r->gap.end_ns - r->gap.start_ns);
    case 5: return query_show_cell(q, device.file, SHOW_DEVICE, device.track);
    case 6: return query_string(ts_idle_name(r->gap.cause));
    case 7: return query_string(ts_edge_name(r->gap.edge));
    case 8: return query_integer(r->gap.inferred);
    default: return file_path(q, device.file);
    }
}

static const query_column state_columns[] = {
    KEY("operation", "operation.id of the running or next operation, or NULL"),
    KEY("culprit", "waiting: node.id of the awaited node, or NULL"),
    COLUMN("state", TEXT, "idle, dispatch_pending, running, waiting, finished"),
    COLUMN("start_ns", INT, "start, on the time axis of the first file"),
    COLUMN("end_ns", INT, "end: ns since the start of the recording"),
    COLUMN("duration_ns", INT, "end_ns - start_ns"),
    COLUMN("device", INT, "number of the device, or NULL"),
    COLUMN("stream", INT, "number of the stream, or NULL"),
    COLUMN("track", INT, "track.id of the stream"),
    COLUMN("file", TEXT, "path of its trace"),
};
static int64_t state_count(query *q, uint32_t file)
{
    (void)file;
    const query_graph *const g = graph_of(q);
    return !g ? -1 : (int64_t)g->span_count;
}
static query_cell state_cell(query *q, uint32_t file, uint64_t row,
                             uint32_t column)
{
    (void)file;
    const span_row *const r = &q->graph->spans[row];
    ts_lane lane = { 0 };
    ts_replay_lane(q->graph->replay, r->lane, &lane);
    switch (column) {
    case 0: return node_number(r->span.operation);
    case 1: return node_number(r->span.culprit);
    case 2: return query_string(ts_state_name(r->span.state));
    case 3: return query_integer(r->span.start_ns);
    case 4: return query_integer(r->span.end_ns);
    case 5: return query_integer(r->span.end_ns - r->span.start_ns);
    case 6: return query_show_cell(q, lane.file, SHOW_DEVICE, lane.track);
    case 7: return query_show_cell(q, lane.file, SHOW_STREAM, lane.track);
    case 8: return query_integer(lane.track);
    default: return file_path(q, lane.file);
    }
}

static const query_column step_columns[] = {
    KEY("number", "number of the step: N, or of the frame, from 0"),
    COLUMN("name", TEXT, "name of the zone or frame"),
    COLUMN("operations", INT, "number of operations issued in it"),
    COLUMN("start_ns", INT, "start, on the time axis of the first file"),
    COLUMN("end_ns", INT, "end: ns since the start of the recording"),
    COLUMN("duration_ns", INT, "end_ns - start_ns; 0: ignored by ts-analyze"),
};
static int64_t step_count(query *q, uint32_t file)
{
    (void)file;
    const query_graph *const g = graph_of(q);
    return !g ? -1 : (int64_t)g->step_count;
}
static query_cell step_cell(query *q, uint32_t file, uint64_t row,
                            uint32_t column)
{
    (void)file;
    const ts_step *const s = &q->graph->steps[row];
    switch (column) {
    case 0: return query_integer((int64_t)s->number);
    case 1: return query_text(s->name);
    case 2: return query_integer((int64_t)s->operations);
    case 3: return query_integer(s->start_ns);
    case 4: return query_integer(s->end_ns);
    default: return query_integer(s->end_ns - s->start_ns);
    }
}

const query_table query_graph_tables[] = {
    TABLE("operation", operation, true,
          "operations in the order of the replay"),
    TABLE("node", node, true, "nodes of the graph: operations, calls, ..."),
    TABLE("edge", edge, true, "dependencies between nodes"),
    TABLE("gap", gap, true, "idle times of devices, each with its cause"),
    TABLE("stream_state", state, true, "states of each stream over time"),
    TABLE("step", step, true, "iterations: zones 'ProfilerStep#N', or frames"),
    { 0 },
};

#endif
