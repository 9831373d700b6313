/*
    dot.c - writes a graph in Graphviz's language

    Time runs from left to right. Each device is a box with its streams, each
    process a box with its threads. Source: Graphviz, "The DOT Language".
*/
#include "tools/export/dot.h"
#include "tools/cli/cli.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define NEAT 150 // most nodes for a neat layout

typedef struct dot {
    dot_graph graph;
    export_out *out;
    export_buffer block;
    uint32_t clusters;
    uint16_t kinds; // bit set of the ts_edge_kind in use
    bool inferred;
} dot;

/* ---- Text --------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void put(dot *d,
                                                      const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    const int size = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    export_put(&d->block, text, (size_t)(size < 255 ? size : 255));
    if (d->block.size >= EXPORT_BLOCK_BYTES)
        export_out_block(d->out, &d->block);
}

// Appends the contents of a quoted string; escapes \N and &amp;, which Graphviz
// would interpret.
static void put_quoted(dot *d, ts_text text)
{
    for (size_t i = 0; i < text.size;) {
        const uint8_t byte = (uint8_t)text.text[i];
        const size_t size = export_utf8_size(text.text + i, text.size - i);
        if (byte == '"' || byte == '\\') {
            put(d, "\\%c", byte);
        } else if (byte == '&') {
            put(d, "&amp;");
        } else if (byte && byte < 0x20) {
            put(d, " ");
        } else {
            export_put_utf8(&d->block, text.text + i, size ? size : 1);
        }
        i += size ? size : 1;
    }
}

static void put_time(dot *d, int64_t ns)
{
    put(d, "%s", cli_time(ns).s);
}

/*
    Appends a function's name without result, arguments, template and outer
    namespaces, at most 28 characters.
*/
static void put_brief(dot *d, ts_text name)
{
    enum { LONGEST = 28 };
    size_t from = 0, end = 0, depth = 0;
    const bool is_function =
        memchr(name.text, '(', name.size) || memchr(name.text, '<', name.size);
    for (; end < name.size; end++) {
        const char c = name.text[end];
        // An unnamed namespace is the first of a name, or follows a colon.
        if (is_function && end > from && (c == '<' || c == '(')) break;
        depth = c == '(' ? depth + 1 : c == ')' && depth ? depth - 1 : depth;
        if (is_function && !depth && c == ' ') from = end + 1;
        if (!depth && c == ':' && end && name.text[end - 1] == ':' &&
            name.size - end > 1)
            from = end + 1;
    }
    if (from >= end) from = 0;
    const char *const text = name.text + from;
    size_t size = 0;
    for (size_t i = 0; i < LONGEST && size < end - from; i++) {
        const size_t bytes = export_utf8_size(text + size, end - from - size);
        size += bytes ? bytes : 1;
    }
    put_quoted(d, (ts_text){ text, size });
    if (size < end - from) put(d, "...");
}

/* ---- Nodes -------------------------------------------------------------- */

static ts_text name_of(const dot *d, uint32_t node)
{
    ts_replay *const replay = d->graph.replay;
    ts_operation op;
    ts_node n;
    ts_replay_node(replay, node, &n);
    ts_reader *const reader = ts_replay_reader(replay, n.file);
    if (n.type == TS_NODE_JOIN)
        return (ts_text){ "all earlier operations", 15 };
    if (n.type == TS_NODE_OPERATION && ts_replay_operation(replay, node, &op))
        return ts_operation_label(reader, &op);
    const ts_text name = ts_reader_name(reader, n.name);
    return name.size ? name : (ts_text){ "launch", 6 };
}

typedef struct tally {
    ts_text name;
    uint32_t count;
    int64_t ns;
} tally;

// Sorts by time, longest first, then by frequency.
static int compare_tallies(const void *left, const void *right)
{
    const tally *const a = left, *const b = right;
    if (a->ns != b->ns) return a->ns > b->ns ? -1 : 1;
    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    const size_t size =
        a->name.size < b->name.size ? a->name.size : b->name.size;
    const int order = memcmp(a->name.text, b->name.text, size);
    return order
               ? order
               : (a->name.size > b->name.size) - (a->name.size < b->name.size);
}

enum { NAMES = 256, SHOWN = 4 };

// Lists the names of a run in order of occurrence, up to NAMES. *others: number
// of members with other names.
static size_t tally_run(const dot *d, uint32_t leader, tally *names,
                        uint32_t *others)
{
    size_t count = 0;
    *others = 0;
    for (uint32_t i = leader; i != DOT_NONE; i = d->graph.next[i]) {
        const ts_text name = name_of(d, i);
        ts_node n;
        size_t at = 0;
        ts_replay_node(d->graph.replay, i, &n);
        while (at < count && !cli_same_text(names[at].name, name))
            at++;
        if (at == NAMES) {
            (*others)++;
            continue;
        }
        if (at == count) names[count++] = (tally){ name, 0, 0 };
        names[at].count++;
        names[at].ns += n.duration_ns;
    }
    return count;
}

// If there are more names than fit, the label has those that take the most
// time.
static void put_label(dot *d, uint32_t leader, const ts_node *n, int64_t end_ns)
{
    tally names[NAMES];
    uint32_t others;
    const size_t count = tally_run(d, leader, names, &others);
    if (count > SHOWN) qsort(names, count, sizeof *names, compare_tallies);
    for (size_t i = SHOWN; i < count; i++)
        others += names[i].count;
    for (size_t i = 0; i < count && i < SHOWN; i++) {
        if (i) put(d, "\\n");
        put_brief(d, names[i].name);
        if (names[i].count > 1) put(d, " x %" PRIu32, names[i].count);
    }
    if (others) put(d, "\\nand %" PRIu32 " others", others);
    if (end_ns <= n->recorded_ns) return;
    put(d, "\\n");
    put_time(d, end_ns - n->recorded_ns);
}

static bool is_work(ts_event_kind kind)
{
    return kind == TS_EVENT_KERNEL || kind == TS_EVENT_MEMCPY ||
           kind == TS_EVENT_MEMSET || kind == TS_EVENT_COLLECTIVE;
}

// Returns shape and colour, by the kind of the first work in a run.
static const char *look_of(const dot *d, uint32_t leader)
{
    ts_operation op;
    if (!ts_replay_operation(d->graph.replay, leader, &op))
        return "shape=box,style=filled,fillcolor=\"#eeeeee\"";
    for (uint32_t i = leader; i != DOT_NONE && !is_work(op.kind);
         i = d->graph.next[i])
        ts_replay_operation(d->graph.replay, i, &op);
    switch (op.kind) {
    case TS_EVENT_KERNEL: return "fillcolor=\"#c6e0b4\"";
    case TS_EVENT_MEMCPY:
    case TS_EVENT_MEMSET: return "fillcolor=\"#bdd7ee\"";
    case TS_EVENT_COLLECTIVE: return "fillcolor=\"#e2c6ee\"";
    case TS_EVENT_EVENT_RECORD:
    case TS_EVENT_EVENT_WAIT:
        return "shape=ellipse,fillcolor=\"#ffe699\",style=filled";
    case TS_EVENT_STREAM_SYNC:
    case TS_EVENT_DEVICE_SYNC:
    case TS_EVENT_EVENT_SYNC:
        return "shape=octagon,fillcolor=\"#f8cbad\",style=filled";
    default: return "fillcolor=\"#ffffff\"";
    }
}

static void put_node(dot *d, uint32_t leader)
{
    ts_node n, last;
    ts_replay_node(d->graph.replay, leader, &n);
    if (n.type == TS_NODE_JOIN) {
        put(d,
            "  n%" PRIu32 " [shape=point,label=\"\",tooltip=\"all earlier "
            "operations\"];\n",
            leader);
        return;
    }
    int64_t end_ns = n.recorded_ns + n.duration_ns;
    for (uint32_t i = leader; i != DOT_NONE; i = d->graph.next[i]) {
        ts_replay_node(d->graph.replay, i, &last);
        const int64_t end = last.recorded_ns + last.duration_ns;
        if (end > end_ns) end_ns = end;
    }
    const bool run = d->graph.next[leader] != DOT_NONE;
    put(d, "    n%" PRIu32 " [%s%s,label=\"", leader, look_of(d, leader),
        run ? ",peripheries=2" : "");
    put_label(d, leader, &n, end_ns);
    put(d, "\",tooltip=\"");
    put_quoted(d, name_of(d, leader));
    put(d, "\\n%s to %s\"];\n", cli_moment(n.recorded_ns, 9).s,
        cli_moment(end_ns, 9).s);
}

/* ---- Clusters ----------------------------------------------------------- */

static void put_track_label(dot *d, uint32_t file, uint32_t id)
{
    ts_track track = { .id = id };
    export_buffer name = { 0 };
    ts_reader_track(ts_replay_reader(d->graph.replay, file), id, &track);
    export_put_track_name(&name, &track);
    put(d, "label=\"");
    put_quoted(d, (ts_text){ (const char *)name.data, name.size });
    put(d, "\";\n");
    export_resize(name.data, 0);
}

static void open_cluster(dot *d, const char *color)
{
    put(d, "  subgraph cluster_%" PRIu32 " { color=\"%s\"; ", d->clusters++,
        color);
}

typedef struct place { // where a node is drawn
    uint64_t device;   // its index among the devices; threads come first
    uint64_t track;    // file << 32 | track
    uint32_t node;
} place;

static int compare_places(const void *left, const void *right)
{
    const place *const a = left, *const b = right;
    if (a->device != b->device) return a->device < b->device ? -1 : 1;
    if (a->track != b->track) return a->track < b->track ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

// Maps each stream to the index of its device + 1.
static void map_devices(const dot *d, export_map *devices)
{
    ts_lane lane, device;
    for (size_t i = 0; ts_replay_lane(d->graph.replay, i, &lane); i++)
        for (size_t k = 0; ts_replay_device(d->graph.replay, k, &device); k++)
            if (device.track == lane.device && device.file == lane.file) {
                *export_map_at(devices,
                               (uint64_t)lane.file << 32 | lane.track) = k + 1;
                break;
            }
}

static place *list_places(const dot *d, size_t *count)
{
    export_map devices = { 0 };
    map_devices(d, &devices);
    place *const places = export_resize(
        NULL, ((size_t)d->graph.counts.nodes + 1) * sizeof *places);
    *count = 0;
    for (uint32_t i = 0; i < d->graph.graph.node_count; i++) {
        ts_node n;
        if (d->graph.leader[i] != i) continue;
        ts_replay_node(d->graph.replay, i, &n);
        const uint64_t track = (uint64_t)n.file << 32 | n.track;
        const uint64_t *const device = export_map_find(&devices, track);
        const bool host = n.type == TS_NODE_CALL || !device;
        // Joins have no place and are sorted last.
        places[(*count)++] = (place){ n.type == TS_NODE_JOIN ? UINT64_MAX
                                      : host                 ? 0
                                                             : *device,
                                      n.type == TS_NODE_JOIN ? 0 : track, i };
    }
    export_map_free(&devices);
    qsort(places, *count, sizeof *places, compare_places);
    return places;
}

static void put_device_label(dot *d, uint64_t device)
{
    ts_lane lane;
    if (device &&
        ts_replay_device(d->graph.replay, (size_t)device - 1, &lane) &&
        lane.track)
        put_track_label(d, lane.file, lane.track);
    else
        put(d, "label=\"%s\";\n", device ? "unknown device" : "host");
}

static void put_places(dot *d)
{
    size_t count;
    place *const places = list_places(d, &count);
    for (size_t i = 0; i < count; i++) {
        const place *const p = &places[i];
        const bool join = p->device == UINT64_MAX;
        const bool device = !i || p->device != p[-1].device;
        const bool track = device || p->track != p[-1].track;
        if (i && track && p[-1].device != UINT64_MAX) put(d, "  }\n");
        if (i && device && p[-1].device != UINT64_MAX) put(d, "  }\n");
        if (device && !join) {
            open_cluster(d, p->device ? "#70ad47" : "#a0a0a0");
            put_device_label(d, p->device);
        }
        if (track && !join) {
            open_cluster(d, "#d0d0d0");
            put_track_label(d, (uint32_t)(p->track >> 32), (uint32_t)p->track);
        }
        put_node(d, p->node);
    }
    if (count && places[count - 1].device != UINT64_MAX) put(d, "  }\n  }\n");
    export_resize(places, 0);
}

/* ---- Edges -------------------------------------------------------------- */

typedef struct edge_look {
    const char *color, *style;
    bool named; // has a label
} edge_look;

static edge_look edge_look_of(uint32_t kind)
{
    switch (kind) {
    case TS_EDGE_HOST_ORDER: return (edge_look){ "#909090", "solid", false };
    case TS_EDGE_LAUNCH: return (edge_look){ "#2e75b6", "solid", false };
    case TS_EDGE_STREAM_ORDER: return (edge_look){ "#000000", "solid", false };
    case TS_EDGE_EVENT: return (edge_look){ "#ed7d31", "bold", true };
    case TS_EDGE_SYNC: return (edge_look){ "#c00000", "bold", true };
    case TS_EDGE_LEGACY_DEFAULT: return (edge_look){ "#7030a0", "bold", true };
    case TS_EDGE_GRAPH: return (edge_look){ "#008080", "solid", true };
    case TS_EDGE_COLLECTIVE:
    case TS_EDGE_P2P: return (edge_look){ "#d000d0", "bold", true };
    case TS_EDGE_QUEUE: return (edge_look){ "#806000", "bold", true };
    default: return (edge_look){ "#404040", "bold", true };
    }
}

static void put_edge(dot *d, const dot_edge *edge)
{
    const uint32_t kind = TS_EDGE_KIND(edge->kind);
    const bool inferred = (edge->kind & TS_EDGE_INFERRED) != 0;
    const edge_look look = edge_look_of(kind);
    d->kinds |= (uint16_t)(1u << kind);
    d->inferred |= inferred;
    put(d, "  n%" PRIu32 " -> n%" PRIu32 " [color=\"%s\",style=%s", edge->from,
        edge->to, look.color, inferred ? "dashed" : look.style);
    // Edges back in time, which coarse nodes can have, do not affect the
    // layout.
    ts_node from, to;
    ts_replay_node(d->graph.replay, edge->from, &from);
    ts_replay_node(d->graph.replay, edge->to, &to);
    if (d->graph.options->nodes && from.recorded_ns > to.recorded_ns)
        put(d, ",constraint=false");
    // A high weight keeps streams and threads straight.
    if (kind == TS_EDGE_STREAM_ORDER || kind == TS_EDGE_HOST_ORDER)
        put(d, ",weight=10");
    if (look.named || inferred) {
        put(d, ",fontcolor=\"%s\",label=\"%s", look.color, ts_edge_name(kind));
        if (edge->count > 1) put(d, " x %" PRIu32, edge->count);
        if (inferred) {
            // Show the time between them, the only evidence of an inferred
            // edge.
            put(d, "\\ninferred: ");
            put_time(d, edge->lag_ns);
            put(d, " apart");
        }
        put(d, "\"");
    }
    put(d, ",tooltip=\"%s, ", ts_edge_name(kind));
    put_time(d, edge->lag_ns);
    put(d, "\"];\n");
}

static void put_legend(dot *d)
{
    static const char *const colors[] = { "",       "grey",    "blue",
                                          "black",  "orange",  "red",
                                          "purple", "teal",    "magenta",
                                          "brown",  "magenta", "dark grey" };
    put(d, "  labelloc=t; fontsize=11;\n  label=\"");
    bool any = false;
    for (uint32_t i = 1; i < TS_EDGE_LIMIT; i++) {
        if (!(d->kinds >> i & 1)) continue;
        put(d, "%s%s: %s", any ? ",  " : "",
            i < sizeof colors / sizeof *colors ? colors[i] : "dark grey",
            ts_edge_name(i));
        any = true;
    }
    if (d->graph.options->nodes)
        put(d, "\\neach box contains all operations between two gaps; an arrow "
               "applies to at least one of them");
    const uint64_t lost = ts_replay_result(d->graph.replay)->lost;
    if (d->inferred) put(d, ",  dashed: inferred");
    if (lost)
        put(d, "\\n%" PRIu64 " record%s lost", lost,
            lost == 1 ? " was" : "s were");
    put(d, "\";\n");
}

/* ---- All ---------------------------------------------------------------- */

static void write_all(dot *d)
{
    size_t count;
    static const char head[] =
        "digraph trace {\n"
        "  rankdir=LR; nodesep=0.15; ranksep=0.35;\n"
        "  fontname=\"Helvetica\"; fontsize=10;\n"
        "  node [shape=box,style=\"rounded,filled\",fontname=\"Helvetica\","
        "fontsize=9,height=0.3,margin=\"0.08,0.04\"];\n"
        "  edge [fontname=\"Helvetica\",fontsize=8,arrowsize=0.6];\n";
    export_put(&d->block, head, sizeof head - 1);
    // Graphviz takes very long for large graphs; these settings make it faster.
    put(d, "  %s\n",
        d->graph.counts.nodes <= NEAT
            ? "newrank=true;"
            : "nslimit=1; nslimit1=1; mclimit=0.3; splines=line;");
    put_places(d);
    dot_edge *const edges = dot_graph_edges(&d->graph, &count);
    for (size_t i = 0; i < count; i++)
        put_edge(d, &edges[i]);
    export_resize(edges, 0);
    put_legend(d);
    put(d, "}\n");
    export_out_block(d->out, &d->block);
    export_resize(d->block.data, 0);
}

static void close_replay(void *replay)
{
    ts_replay_close(replay);
}

dot_result export_dot(ts_reader *reader, export_out *out,
                      const dot_options *options, dot_counts *counts,
                      ts_result *error)
{
    ts_replay *replay;
    *counts = (dot_counts){ 0 };
    *error = ts_replay_open(&replay, reader, NULL);
    if (*error == TS_ERR_NOT_FOUND) return DOT_NOTHING;
    if (*error != TS_OK) return DOT_FAILED;
    export_push(close_replay, replay);
    dot d = { .out = out };
    dot_graph_open(&d.graph, replay, options);
    *counts = d.graph.counts;
    dot_result result = DOT_OK;
    if (!counts->operations)
        result = DOT_NOTHING;
    else if (options->limit && counts->nodes > options->limit)
        result = DOT_TOO_MANY;
    else
        write_all(&d);
    *counts = d.graph.counts;
    dot_graph_close(&d.graph);
    export_pop();
    ts_replay_close(replay);
    return result;
}
