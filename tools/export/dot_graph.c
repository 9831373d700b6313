/*
    dot_graph.c - chooses the nodes to draw and combines them to runs
*/
#include "tools/export/dot.h"
#include <stdlib.h>

// Returns the node that a helper node belongs to.
static uint32_t owner_of(const dot_graph *g, uint32_t node)
{
    ts_node n;
    if (node < g->graph.operation_count + g->graph.call_count) return node;
    ts_replay_node(g->replay, node, &n);
    return n.owner;
}

static uint8_t kind_of(const dot_graph *g, uint32_t edge)
{
    return (uint8_t)(g->graph.kinds[edge] & ~TS_EDGE_FROM_START);
}

/* ---- What is drawn ------------------------------------------------------ */

static bool touches(const dot_options *o, const ts_node *n)
{
    if (!o->from_ns && !o->to_ns) return true;
    const int64_t end = n->recorded_ns + n->duration_ns;
    return n->recorded_ns < o->to_ns &&
           (end > o->from_ns || n->recorded_ns >= o->from_ns);
}

// Chooses operations and calls that overlap the range, and the calls that
// launched these operations. A chosen node is its own leader.
static void choose(dot_graph *g)
{
    const uint32_t ops = g->graph.operation_count;
    ts_operation op;
    ts_node n;
    for (uint32_t i = 0; i < ops; i++) {
        ts_replay_node(g->replay, i, &n);
        ts_replay_operation(g->replay, i, &op);
        if (!touches(g->options, &n)) continue;
        g->leader[i] = i;
        g->counts.operations++;
        if (op.call != TS_NODE_NONE) g->leader[op.call] = op.call;
    }
    if (!g->counts.operations) return;
    for (uint32_t i = ops; i < ops + g->graph.call_count; i++) {
        ts_replay_node(g->replay, i, &n);
        if (touches(g->options, &n)) g->leader[i] = i;
        g->counts.calls += g->leader[i] != DOT_NONE;
    }
}

// Chooses joins with drawn nodes on both sides. They follow all other nodes and
// have edges to later joins only.
static void choose_joins(dot_graph *g)
{
    const ts_graph *const graph = &g->graph;
    const uint32_t calls_end = graph->operation_count + graph->call_count;
    uint8_t *const sides = export_zeroed(graph->node_count + 1, 1);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const uint32_t owner = owner_of(g, i);
        const bool from = owner < calls_end ? g->leader[owner] != DOT_NONE
                                            : (sides[owner] & 1) != 0;
        for (uint32_t e = graph->offsets[i]; from && e < graph->offsets[i + 1];
             e++)
            sides[graph->targets[e]] |= 1;
    }
    for (uint32_t i = graph->node_count; i-- > calls_end;) {
        if (owner_of(g, i) != i) continue;
        bool to = false;
        for (uint32_t e = graph->offsets[i]; e < graph->offsets[i + 1]; e++)
            to |= g->leader[owner_of(g, graph->targets[e])] != DOT_NONE;
        if (to && sides[i]) g->leader[i] = i;
    }
    export_resize(sides, 0);
}

/* ---- Runs --------------------------------------------------------------- */

enum { HOLDS_IN = 1, HOLDS_OUT = 2, SPREADS = 4 };

typedef struct runs {
    uint8_t *ties;    // HOLDS_... and SPREADS of each node
    uint32_t *before; // of each node: the previous one on its stream or thread
} runs;

// Finds nodes with dependencies that must stay visible: all except launches and
// the order of a stream or thread.
static void find_ties(const dot_graph *g, runs *r)
{
    const ts_graph *const graph = &g->graph;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const uint32_t from = owner_of(g, i);
        for (uint32_t e = graph->offsets[i]; e < graph->offsets[i + 1]; e++) {
            const uint32_t to = owner_of(g, graph->targets[e]);
            const uint8_t kind = TS_EDGE_KIND(graph->kinds[e]);
            if (from == to || kind == TS_EDGE_LAUNCH) continue;
            if (kind == TS_EDGE_STREAM_ORDER || kind == TS_EDGE_HOST_ORDER) {
                uint32_t *const before = &r->before[to];
                if (*before == DOT_NONE || *before < from) *before = from;
                continue;
            }
            r->ties[from] |= HOLDS_OUT;
            r->ties[to] |= HOLDS_IN;
        }
    }
}

static void join_run(dot_graph *g, uint32_t last, uint32_t node)
{
    g->leader[node] = g->leader[last];
    g->next[last] = node;
}

static void join_operations(dot_graph *g, const runs *r)
{
    for (uint32_t i = 0; i < g->graph.operation_count; i++) {
        const uint32_t last = r->before[i];
        if (g->leader[i] == DOT_NONE || last >= i ||
            g->leader[last] == DOT_NONE || g->next[last] != DOT_NONE)
            continue;
        if (!(r->ties[last] & HOLDS_OUT) && !(r->ties[i] & HOLDS_IN))
            join_run(g, last, i);
    }
}

// Lists for each call the node that it launched into; DOT_NONE: nothing drawn.
static uint32_t *list_launched(const dot_graph *g, uint8_t *ties)
{
    const uint32_t ops = g->graph.operation_count;
    uint32_t *const into =
        export_resize(NULL, ((size_t)g->graph.call_count + 1) * sizeof *into);
    memset(into, 0xFF, ((size_t)g->graph.call_count + 1) * sizeof *into);
    ts_operation op;
    for (uint32_t i = 0; i < ops; i++) {
        if (g->leader[i] == DOT_NONE) continue;
        ts_replay_operation(g->replay, i, &op);
        if (op.call == TS_NODE_NONE) continue;
        uint32_t *const to = &into[op.call - ops];
        if (*to != DOT_NONE && *to != g->leader[i]) ties[op.call] |= SPREADS;
        *to = g->leader[i];
    }
    return into;
}

static void join_calls(dot_graph *g, runs *r)
{
    const uint32_t ops = g->graph.operation_count;
    uint32_t *const into = list_launched(g, r->ties);
    for (uint32_t i = ops; i < ops + g->graph.call_count; i++) {
        const uint32_t last = r->before[i];
        if (g->leader[i] == DOT_NONE || last >= i || last < ops ||
            g->leader[last] == DOT_NONE || g->next[last] != DOT_NONE)
            continue;
        if (!r->ties[last] && !r->ties[i] && into[last - ops] == into[i - ops])
            join_run(g, last, i);
    }
    export_resize(into, 0);
}

void dot_graph_open(dot_graph *g, ts_replay *replay, const dot_options *options)
{
    *g = (dot_graph){ .replay = replay, .options = options };
    g->graph = ts_replay_graph(replay);
    const size_t size = ((size_t)g->graph.node_count + 1) * sizeof *g->leader;
    g->leader = export_resize(NULL, size);
    g->next = export_resize(NULL, size);
    memset(g->leader, 0xFF, size);
    memset(g->next, 0xFF, size);
    choose(g);
    choose_joins(g);
    if (options->nodes && g->counts.operations) {
        dot_graph_coarsen(g);
    } else if (options->collapse) {
        runs r = { .ties = export_zeroed(g->graph.node_count + 1, 1),
                   .before = export_resize(NULL, size) };
        memset(r.before, 0xFF, size);
        find_ties(g, &r);
        join_operations(g, &r);
        join_calls(g, &r);
        export_resize(r.ties, 0);
        export_resize(r.before, 0);
    }
    for (uint32_t i = 0; i < g->graph.node_count; i++)
        g->counts.nodes += g->leader[i] == i;
}

void dot_graph_close(dot_graph *g)
{
    export_resize(g->leader, 0);
    export_resize(g->next, 0);
}

/* ---- Edges -------------------------------------------------------------- */

static int compare_edges(const void *left, const void *right)
{
    const dot_edge *const a = left, *const b = right;
    if (a->from != b->from) return a->from < b->from ? -1 : 1;
    if (a->to != b->to) return a->to < b->to ? -1 : 1;
    return (a->kind > b->kind) - (a->kind < b->kind);
}

static int64_t lag_of(const dot_graph *g, uint32_t from, uint32_t edge)
{
    ts_node source, target;
    ts_replay_node(g->replay, from, &source);
    ts_replay_node(g->replay, g->graph.targets[edge], &target);
    const int64_t at = g->graph.kinds[edge] & TS_EDGE_FROM_START
                           ? source.recorded_ns
                           : source.recorded_ns + source.duration_ns;
    return target.recorded_ns - at;
}

// Lists all edges between leaders, without combining them.
static dot_edge *list_edges(dot_graph *g, size_t *count)
{
    dot_edge *edges = NULL;
    size_t capacity = 0;
    *count = 0;
    for (uint32_t i = 0; i < g->graph.node_count; i++) {
        const uint32_t from = g->leader[owner_of(g, i)];
        for (uint32_t e = g->graph.offsets[i]; e < g->graph.offsets[i + 1];
             e++) {
            const uint32_t to = g->leader[owner_of(g, g->graph.targets[e])];
            if ((from == DOT_NONE) != (to == DOT_NONE)) g->counts.left_out++;
            if (from == to || from == DOT_NONE || to == DOT_NONE ||
                TS_EDGE_KIND(g->graph.kinds[e]) == TS_EDGE_SELF)
                continue;
            edges = export_grow(edges, &capacity, *count, sizeof *edges);
            edges[(*count)++] = (dot_edge){ .from = from,
                                            .to = to,
                                            .kind = kind_of(g, e),
                                            .count = 1,
                                            .lag_ns = lag_of(g, i, e) };
        }
    }
    return edges;
}

dot_edge *dot_graph_edges(dot_graph *g, size_t *count)
{
    size_t all, kept = 0;
    dot_edge *const edges = list_edges(g, &all);
    if (all) qsort(edges, all, sizeof *edges, compare_edges);
    for (size_t i = 0; i < all; i++) {
        dot_edge *const last = kept ? &edges[kept - 1] : NULL;
        if (last && !compare_edges(last, &edges[i])) {
            last->count++;
            if (edges[i].lag_ns < last->lag_ns) last->lag_ns = edges[i].lag_ns;
        } else {
            edges[kept++] = edges[i];
        }
    }
    if (g->options->nodes) kept = dot_edges_thin(g, edges, kept);
    g->counts.edges = *count = kept;
    return edges;
}
