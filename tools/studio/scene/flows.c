/*
    flows.c - arrows between boxes: what waited for what
*/
#include "tools/studio/scene/parts.h"

enum { THROUGH = 4 }; // joins of joins that are followed

typedef struct flow_list {
    scene *s;
    ts_graph graph;
    scene_flow *items;
    size_t count, room;
    uint64_t total; // those that were not kept as well
    bool more;      // there may be others, which are not counted
    int64_t from_ns, to_ns;
    uint8_t *taken; // by pixel: arrows that end there; NULL: keep all
    uint32_t pixels;
    bool failed;
} flow_list;

/* ---- Edges by what they lead to ------------------------------------------ */

static void count_targets(const ts_graph *g, uint32_t *first)
{
    for (uint32_t e = 0; e < g->edge_count; e++)
        first[g->targets[e] + 1]++;
    for (uint32_t n = 0; n < g->node_count; n++)
        first[n + 1] += first[n];
}

static bool index_edges(scene *s)
{
    const ts_graph g = ts_replay_graph(s->replay);
    scene_incoming *const in = &s->incoming;
    if (in->first) return true;
    in->first = calloc(g.node_count + 2u, sizeof *in->first);
    in->edges = malloc((g.edge_count + 1u) * sizeof *in->edges);
    if (!in->first || !in->edges) {
        scene_incoming_close(in);
        return false;
    }
    // Filled from one element ahead, so that each node ends at its own first.
    count_targets(&g, in->first + 1);
    for (uint32_t n = 0; n < g.node_count; n++)
        for (uint32_t e = g.offsets[n]; e < g.offsets[n + 1]; e++)
            in->edges[in->first[g.targets[e] + 1]++] =
                (scene_edge){ n, g.kinds[e] };
    return true;
}

void scene_incoming_close(scene_incoming *in)
{
    free(in->first);
    free(in->edges);
    *in = (scene_incoming){ 0 };
}

/* ---- Where the end of an arrow is ---------------------------------------- */

// The box of a track that begins at a time; any that does without a ref.
static bool find_box(const scene *s, scene_row_type type, uint32_t track,
                     int64_t start_ns, scene_ref ref, scene_flow_end *to)
{
    for (uint32_t part = 0; part < SCENE_LANES; part++) {
        const uint32_t row = scene_row_known(s, type, track, part);
        if (row == CLI_NONE) return false;
        const strip *const r = &s->rows[row];
        size_t i = scene_row_before(r, scene_near(start_ns), 0);
        for (; i < r->count && r->items[i].start_ns == scene_near(start_ns);
             i++) {
            if (ref != SCENE_REF_NONE && r->items[i].ref != ref) continue;
            to->row = row;
            to->ref = r->items[i].ref;
            to->label = r->items[i].label;
            return true;
        }
    }
    return false;
}

// Finds the box of a node. False: a join, or nothing that is shown.
static bool find_node(const scene *s, uint32_t at, ts_node *owner,
                      scene_flow_end *to)
{
    ts_operation op;
    if (!ts_replay_node(s->replay, at, owner) ||
        !ts_replay_node(s->replay, owner->owner, owner))
        return false;
    if (owner->type == TS_NODE_OPERATION &&
        ts_replay_operation(s->replay, owner->owner, &op))
        return find_box(s, SCENE_WORK, op.track, op.recorded_start_ns,
                        scene_ref_of_op(s, &op), to);
    return owner->type == TS_NODE_CALL &&
           find_box(s, SCENE_CALLS, owner->track, owner->recorded_ns,
                    SCENE_REF_NONE, to);
}

static int64_t end_of(const ts_node *node)
{
    return scene_near(scene_near(node->recorded_ns) +
                      scene_near(node->duration_ns));
}

/* ---- Collecting ---------------------------------------------------------- */

static bool is_wanted(flow_list *l, const scene_flow *f)
{
    const int64_t first = f->from.ns < f->to.ns ? f->from.ns : f->to.ns;
    const int64_t last = f->from.ns < f->to.ns ? f->to.ns : f->from.ns;
    if (first >= l->to_ns || last < l->from_ns) return false;
    l->total++;
    if (!l->taken) return l->count < SCENE_MOST_FLOWS;
    const double part = (double)(f->to.ns - l->from_ns) /
                        (double)(l->to_ns - l->from_ns) * l->pixels;
    const uint32_t pixel = part < 0            ? 0
                           : part >= l->pixels ? l->pixels - 1
                                               : (uint32_t)part;
    if (l->taken[pixel] >= SCENE_PIXEL_FLOWS) return false;
    l->taken[pixel]++;
    return true;
}

static void put(flow_list *l, const scene_flow *f)
{
    if (!is_wanted(l, f)) return;
    if (!cli_grow(&l->items, &l->room, l->count + 1, sizeof *l->items))
        l->failed = true;
    else
        l->items[l->count++] = *f;
}

// An edge from one node to another, neither of which is a join.
static void add_edge(flow_list *l, uint32_t from, uint32_t to, uint8_t kind)
{
    scene_flow f = { .edge = TS_EDGE_KIND(kind),
                     .inferred = (kind & TS_EDGE_INFERRED) != 0 };
    ts_node a, b, end;
    if (!find_node(l->s, from, &a, &f.from) ||
        !find_node(l->s, to, &b, &f.to) || a.owner == b.owner ||
        !ts_replay_node(l->s->replay, to, &end))
        return;
    f.from.ns =
        kind & TS_EDGE_FROM_START ? scene_near(a.recorded_ns) : end_of(&a);
    f.to.ns = end.type == TS_NODE_END ? end_of(&b) : scene_near(b.recorded_ns);
    put(l, &f);
}

// Whether enough is counted: what one waits for may be a million others.
static bool is_enough(flow_list *l)
{
    l->more = l->more || l->total >= l->s->limits.flows;
    return l->more || l->failed;
}

static bool is_join(const scene *s, uint32_t at)
{
    ts_node node;
    return ts_replay_node(s->replay, at, &node) && node.type == TS_NODE_JOIN;
}

// What `at` waits for is drawn as arrows to `to`: a join has no box.
static void add_before(flow_list *l, uint32_t at, uint32_t to, int depth)
{
    const scene_incoming *const in = &l->s->incoming;
    for (uint32_t e = in->first[at]; e < in->first[at + 1]; e++) {
        const scene_edge *const edge = &in->edges[e];
        if (TS_EDGE_KIND(edge->kind) == TS_EDGE_SELF) continue;
        if (is_enough(l)) return;
        if (!is_join(l->s, edge->from))
            add_edge(l, edge->from, to, edge->kind);
        else if (depth < THROUGH)
            add_before(l, edge->from, to, depth + 1);
    }
}

static void add_after(flow_list *l, uint32_t at, uint32_t from, int depth)
{
    const ts_graph *const g = &l->graph;
    for (uint32_t e = g->offsets[at]; e < g->offsets[at + 1]; e++) {
        const uint32_t to = g->targets[e];
        if (TS_EDGE_KIND(g->kinds[e]) == TS_EDGE_SELF) continue;
        if (is_enough(l)) return;
        if (!is_join(l->s, to))
            add_edge(l, from, to, g->kinds[e]);
        else if (depth < THROUGH)
            add_after(l, to, from, depth + 1);
    }
}

// The helper node that is the end of one that waits for others; or itself.
static uint32_t end_node(const flow_list *l, uint32_t node)
{
    const ts_graph *const g = &l->graph;
    for (uint32_t e = g->offsets[node]; e < g->offsets[node + 1]; e++)
        if (TS_EDGE_KIND(g->kinds[e]) == TS_EDGE_SELF) return g->targets[e];
    return node;
}

static void add_node_before(flow_list *l, uint32_t node)
{
    const uint32_t end = end_node(l, node);
    add_before(l, node, node, 0);
    if (end != node) add_before(l, end, end, 0);
}

// Marks what was satisfied last of all that leads to the start of the box.
static void mark_last(flow_list *l, scene_ref ref, int64_t start_ns)
{
    scene_flow *last = NULL;
    for (size_t i = 0; i < l->count; i++) {
        scene_flow *const f = &l->items[i];
        if (f->to.ref == ref && f->to.ns == start_ns &&
            (!last || f->from.ns > last->from.ns))
            last = f;
    }
    if (last) last->last = true;
}

/* ---- Of one event, of an area, of the critical path ---------------------- */

// The node of a call: that of its thread which begins when the event does.
static uint32_t node_of_call(scene *s, scene_ref ref)
{
    uint32_t row;
    ts_node node;
    const ts_columns *const c = scene_decode(s, ref, &row);
    if (!c || c->kind != TS_EVENT_API_CALL) return CLI_NONE;
    const uint32_t track = c->tracks ? c->tracks[row] : c->track;
    const ts_graph g = ts_replay_graph(s->replay);
    for (uint32_t i = 0; i < g.call_count; i++)
        if (ts_replay_node(s->replay, g.operation_count + i, &node) &&
            node.track == track && node.recorded_ns == c->start_ns[row])
            return g.operation_count + i;
    return CLI_NONE;
}

static void flows_of_event(flow_list *l, scene_ref ref)
{
    ts_node node;
    uint32_t at = scene_op_of_ref(l->s, ref);
    if (at == CLI_NONE) at = node_of_call(l->s, ref);
    if (at == CLI_NONE || !ts_replay_node(l->s->replay, at, &node)) return;
    add_node_before(l, at);
    mark_last(l, ref, scene_near(node.recorded_ns));
    const uint32_t end = end_node(l, at);
    add_after(l, at, at, 0);
    if (end != at) add_after(l, end, end, 0);
}

static void flows_of_row(flow_list *l, const strip *r)
{
    size_t i = scene_row_before(r, l->from_ns, 0);
    for (; i < r->count && r->items[i].start_ns < l->to_ns && !l->failed; i++) {
        const uint32_t op = scene_op_of_ref(l->s, r->items[i].ref);
        if (op != CLI_NONE) add_node_before(l, op);
    }
}

// A part that waits ends when its node begins.
static void flows_of_path(flow_list *l)
{
    const ts_path *const path = &l->s->path;
    for (size_t i = 1; l->s->on_path && i < path->count; i++) {
        const ts_path_part *const p = &path->parts[i], *const before = p - 1;
        scene_flow f = { .edge =
                             p->waits ? (uint8_t)p->edge : SCENE_FLOW_PATH_EDGE,
                         .last = true };
        ts_node a, b;
        if (!find_node(l->s, before->node, &a, &f.from) ||
            !find_node(l->s, p->node, &b, &f.to) || a.owner == b.owner)
            continue;
        f.from.ns = scene_near(before->end_ns);
        f.to.ns = scene_near(p->waits ? p->end_ns : p->start_ns);
        put(l, &f);
    }
}

static ts_result collect(flow_list *l, const scene_flow_desc *d)
{
    for (uint32_t i = 0; d->of == SCENE_FLOWS_AREA && i < d->row_count; i++)
        if (d->rows[i] < l->s->row_count &&
            l->s->rows[d->rows[i]].pub.type == SCENE_WORK)
            flows_of_row(l, &l->s->rows[d->rows[i]]);
    if (d->of == SCENE_FLOWS_EVENT) flows_of_event(l, d->ref);
    if (d->of == SCENE_FLOWS_PATH) flows_of_path(l);
    return l->failed ? TS_ERR_MEMORY : TS_OK;
}

ts_result scene_flows_find(scene *s, const scene_flow_desc *d,
                           scene_flows *flows)
{
    ts_path path;
    *flows = (scene_flows){ 0 };
    ts_result result =
        d->of == SCENE_FLOWS_PATH ? scene_path(s, &path) : scene_graph(s);
    if (result != TS_OK) return result;
    if (!index_edges(s)) return TS_ERR_MEMORY;
    flow_list l = { .s = s,
                    .graph = ts_replay_graph(s->replay),
                    .from_ns = -SCENE_FAR,
                    .to_ns = SCENE_FAR };
    if (d->of != SCENE_FLOWS_EVENT) {
        l.from_ns = scene_near(d->from_ns);
        l.to_ns = scene_near(d->to_ns);
        if (l.from_ns >= l.to_ns) return TS_ERR_USAGE;
        l.pixels = d->pixels;
        l.taken = calloc(d->pixels, sizeof *l.taken);
        if (!l.taken) return TS_ERR_MEMORY;
    }
    result = collect(&l, d);
    free(l.taken);
    *flows = (scene_flows){ l.items, l.count, l.total, l.more };
    return result;
}
