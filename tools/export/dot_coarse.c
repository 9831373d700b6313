/*
    dot_coarse.c - reduces a graph to a given number of nodes

    Each stream is cut at its longest idle times; the operations between two
    cuts become one node. The calls of a thread are cut where one launches into
    a node that no earlier call launched into. The number of cuts is the largest
    that gives no more nodes than requested.
*/
#include "tools/export/dot.h"
#include <stdlib.h>

typedef struct item { // an operation or call that is drawn
    bool is_call;
    uint64_t track; // file << 32 | track
    int64_t start_ns, end_ns;
    uint32_t node;
    uint32_t
        rank; // of an operation: number of longer gaps than the one before it
} item;

typedef struct gap {
    int64_t ns; // length of the gap before an item
    size_t item;
} gap;

typedef struct coarse {
    dot_graph *g;
    item *items; // sorted by track, then time; operations first
    size_t count, operations;
    uint32_t tracks;    // tracks with operations
    uint32_t *launched; // of each call: its last operation, or DOT_NONE
} coarse;

static int compare_items(const void *left, const void *right)
{
    const item *const a = left, *const b = right;
    if (a->is_call != b->is_call) return a->is_call ? 1 : -1;
    if (a->track != b->track) return a->track < b->track ? -1 : 1;
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

static int compare_gaps(const void *left, const void *right)
{
    const gap *const a = left, *const b = right;
    if (a->ns != b->ns) return a->ns > b->ns ? -1 : 1;
    return (a->item > b->item) - (a->item < b->item);
}

static void list_items(coarse *c)
{
    const dot_graph *const g = c->g;
    const uint32_t ops = g->graph.operation_count;
    const uint32_t end = ops + g->graph.call_count;
    c->items = export_resize(NULL, ((size_t)end + 1) * sizeof *c->items);
    for (uint32_t i = 0; i < end; i++) {
        ts_node n;
        if (g->leader[i] == DOT_NONE) continue;
        ts_replay_node(g->replay, i, &n);
        c->items[c->count++] =
            (item){ .is_call = i >= ops,
                    .track = (uint64_t)n.file << 32 | n.track,
                    .start_ns = n.recorded_ns,
                    .end_ns = n.recorded_ns + n.duration_ns,
                    .node = i };
        c->operations += i < ops;
    }
    qsort(c->items, c->count, sizeof *c->items, compare_items);
}

static bool begins_track(const coarse *c, size_t i)
{
    return !i || c->items[i].is_call != c->items[i - 1].is_call ||
           c->items[i].track != c->items[i - 1].track;
}

// Ranks gaps by length; the beginning of a stream counts as the longest.
static void rank_gaps(coarse *c)
{
    gap *const gaps = export_resize(NULL, (c->operations + 1) * sizeof *gaps);
    int64_t busy_until = 0;
    for (size_t i = 0; i < c->operations; i++) {
        const item *const one = &c->items[i];
        const bool first = begins_track(c, i);
        c->tracks += first;
        gaps[i] = (gap){ first ? INT64_MAX : one->start_ns - busy_until, i };
        if (first || one->end_ns > busy_until) busy_until = one->end_ns;
    }
    if (c->operations) qsort(gaps, c->operations, sizeof *gaps, compare_gaps);
    for (size_t i = 0; i < c->operations; i++)
        c->items[gaps[i].item].rank = (uint32_t)i;
    export_resize(gaps, 0);
}

static void list_launched(coarse *c)
{
    const dot_graph *const g = c->g;
    const size_t size = ((size_t)g->graph.call_count + 1) * sizeof(uint32_t);
    c->launched = export_resize(NULL, size);
    memset(c->launched, 0xFF, size);
    for (uint32_t i = 0; i < g->graph.operation_count; i++) {
        ts_operation op;
        if (g->leader[i] == DOT_NONE) continue;
        ts_replay_operation(g->replay, i, &op);
        if (op.call != TS_NODE_NONE)
            c->launched[op.call - g->graph.operation_count] = i;
    }
}

// Adds an item to the node of the previous one, or begins a new node.
static void put_item(coarse *c, size_t i, bool begins)
{
    dot_graph *const g = c->g;
    const uint32_t node = c->items[i].node;
    g->next[node] = DOT_NONE;
    g->leader[node] = begins ? node : g->leader[c->items[i - 1].node];
    if (!begins) g->next[c->items[i - 1].node] = node;
}

// Returns whether a call launches into a later node than all earlier calls.
static bool opens(const coarse *c, size_t i, uint32_t *latest)
{
    const uint32_t op =
        c->launched[c->items[i].node - c->g->graph.operation_count];
    const bool first = begins_track(c, i);
    const uint32_t before = first ? DOT_NONE : *latest;
    if (first) *latest = DOT_NONE;
    if (op == DOT_NONE) return first;
    const uint32_t into = c->g->leader[op];
    if (*latest == DOT_NONE || into > *latest) *latest = into;
    // Calls that launch nothing join the node of the first that does.
    return first || (before != DOT_NONE && *latest != before);
}

// Cuts streams into `cuts` nodes. Returns the total number of nodes.
static uint64_t cut(coarse *c, uint32_t cuts)
{
    uint64_t nodes = 0;
    uint32_t latest = DOT_NONE;
    for (size_t i = 0; i < c->count; i++) {
        const bool begins =
            i < c->operations ? c->items[i].rank < cuts : opens(c, i, &latest);
        put_item(c, i, begins);
        nodes += begins;
    }
    return nodes;
}

// Draws a join, "all work so far", as the last work that it waits for.
static void place_joins(dot_graph *g)
{
    const ts_graph *const graph = &g->graph;
    const uint32_t end = graph->operation_count + graph->call_count;
    for (uint32_t i = end; i < graph->node_count; i++)
        g->leader[i] = DOT_NONE;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        ts_node n;
        ts_replay_node(g->replay, i, &n);
        const uint32_t from = g->leader[n.type == TS_NODE_END ? n.owner : i];
        for (uint32_t e = graph->offsets[i];
             from != DOT_NONE && e < graph->offsets[i + 1]; e++) {
            const uint32_t to = graph->targets[e];
            ts_replay_node(g->replay, to, &n);
            if (n.type == TS_NODE_JOIN) g->leader[to] = from;
        }
    }
}

void dot_graph_coarsen(dot_graph *g)
{
    coarse c = { .g = g };
    list_items(&c);
    rank_gaps(&c);
    list_launched(&c);
    uint32_t few = c.tracks, many = (uint32_t)c.operations + 1;
    while (many - few > 1) { // binary search: `few` fits, `many` does not
        const uint32_t middle = few + (many - few) / 2;
        *(cut(&c, middle) > g->options->nodes ? &many : &few) = middle;
    }
    cut(&c, few);
    place_joins(g);
    export_resize(c.items, 0);
    export_resize(c.launched, 0);
}

/* ---- Edges -------------------------------------------------------------- */

typedef struct path { // an edge and its two tracks
    dot_edge edge;
    uint64_t from, to;
    bool from_ordered,
        to_ordered; // edges lead from each node of these tracks to the next
} path;

// Sorts edges to one node from one track, latest source first.
static int compare_sources(const void *left, const void *right)
{
    const path *const a = left, *const b = right;
    if (a->edge.to != b->edge.to) return a->edge.to < b->edge.to ? -1 : 1;
    if (a->edge.kind != b->edge.kind)
        return a->edge.kind < b->edge.kind ? -1 : 1;
    if (a->from != b->from) return a->from < b->from ? -1 : 1;
    return (a->edge.from < b->edge.from) - (a->edge.from > b->edge.from);
}

// Sorts edges from one node to one track, earliest target first.
static int compare_targets(const void *left, const void *right)
{
    const path *const a = left, *const b = right;
    if (a->edge.from != b->edge.from)
        return a->edge.from < b->edge.from ? -1 : 1;
    if (a->edge.kind != b->edge.kind)
        return a->edge.kind < b->edge.kind ? -1 : 1;
    if (a->to != b->to) return a->to < b->to ? -1 : 1;
    return (a->edge.to > b->edge.to) - (a->edge.to < b->edge.to);
}

static uint64_t track_of(const dot_graph *g, uint32_t node)
{
    ts_node n;
    ts_replay_node(g->replay, node, &n);
    return (uint64_t)n.type << 63 | (uint64_t)n.file << 32 | n.track;
}

static bool same_source(const path *a, const path *b)
{
    return a->edge.to == b->edge.to && a->edge.kind == b->edge.kind &&
           a->from == b->from && a->from_ordered;
}

static bool same_target(const path *a, const path *b)
{
    return a->edge.from == b->edge.from && a->edge.kind == b->edge.kind &&
           a->to == b->to && a->to_ordered;
}

static bool has_order(const dot_edge *edges, size_t count, uint32_t from,
                      uint32_t to)
{
    size_t low = 0, high = count;
    while (low < high) { // find the first that is not less
        const size_t middle = low + (high - low) / 2;
        const dot_edge *const e = &edges[middle];
        if (e->from < from || (e->from == from && e->to < to))
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < count && edges[low].from == from && edges[low].to == to; low++)
        if (TS_EDGE_KIND(edges[low].kind) == TS_EDGE_STREAM_ORDER ||
            TS_EDGE_KIND(edges[low].kind) == TS_EDGE_HOST_ORDER)
            return true;
    return false;
}

// Finds the tracks on which edges do not lead from each node to the next.
static void find_gaps(const dot_graph *g, const dot_edge *edges, size_t count,
                      export_map *loose)
{
    export_map last = { 0 }; // track -> its last node + 1
    for (uint32_t i = 0; i < g->graph.node_count; i++) {
        if (g->leader[i] != i) continue;
        const uint64_t track = track_of(g, i);
        uint64_t *const before = export_map_at(&last, track);
        if (*before && !has_order(edges, count, (uint32_t)(*before - 1), i))
            *export_map_at(loose, track) = 1;
        *before = (uint64_t)i + 1;
    }
    export_map_free(&last);
}

// Keeps the first of equal paths.
static size_t keep_first(path *paths, size_t count,
                         int (*compare)(const void *, const void *),
                         bool (*alike)(const path *, const path *))
{
    size_t kept = 0;
    if (count) qsort(paths, count, sizeof *paths, compare);
    for (size_t i = 0; i < count; i++)
        if (!kept || !alike(&paths[kept - 1], &paths[i]))
            paths[kept++] = paths[i];
        else
            paths[kept - 1].edge.count += paths[i].edge.count;
    return kept;
}

/*
    A node that waits for a node of a track also waits for all earlier ones, and
    a node that delays a node of a track also delays all later ones; such
    further edges are redundant. This holds only if edges lead from each node of
    the stream or thread to the next.
*/
size_t dot_edges_thin(const dot_graph *g, dot_edge *edges, size_t count)
{
    path *const paths = export_resize(NULL, (count + 1) * sizeof *paths);
    export_map loose = { 0 };
    find_gaps(g, edges, count, &loose);
    for (size_t i = 0; i < count; i++) {
        path *const p = &paths[i];
        *p = (path){ .edge = edges[i],
                     .from = track_of(g, edges[i].from),
                     .to = track_of(g, edges[i].to) };
        p->from_ordered = !export_map_find(&loose, p->from);
        p->to_ordered = !export_map_find(&loose, p->to);
    }
    export_map_free(&loose);
    count = keep_first(paths, count, compare_sources, same_source);
    count = keep_first(paths, count, compare_targets, same_target);
    for (size_t i = 0; i < count; i++)
        edges[i] = paths[i].edge;
    export_resize(paths, 0);
    return count;
}
