/*
    cuda_graphs_ready.h - graphs of the double of CUDA's driver that are ready
    to be launched: a part of libcuda.c

    Nodes are named by those of the graph that it was made ready from, also
    when it was updated from another one or a graph within it was exchanged.
*/

/* ---- Graphs that are ready ---------------------------------------------- */

static graph *copy_graph(graph *g, uint32_t magic)
{
    graph *const made = new_graph(magic);
    if (!made) abort();
    memcpy(made->nodes, g->nodes, NODES * sizeof *g->nodes);
    made->count = g->count;
    made->source = g;
    for (uint32_t i = 0; i < made->count; i++) {
        node *const n = &made->nodes[i];
        n->graph = made;
        n->original = &g->nodes[i];
        if (n->child) n->child = copy_graph(n->child, magic);
    }
    return made;
}

// The copy of a node of the source.
static node *copy_of(graph *ready, const node *original)
{
    for (uint32_t i = 0; ready && i < ready->count; i++) {
        node *const n = &ready->nodes[i];
        if (n->original == original) return n;
        node *const inside = n->child ? copy_of(n->child, original) : NULL;
        if (inside) return inside;
    }
    return NULL;
}

typedef struct ready_parameters {
    void **ready, *graph;
    unsigned long long flags;
} ready_parameters;

static int make_ready(const void *user)
{
    const ready_parameters *const p = user;
    graph *const g = graph_of(p->graph, GRAPH);
    if (!g || p->flags) return INVALID;
    *p->ready = copy_graph(g, READY);
    return 0;
}

DRIVER(cuGraphInstantiateWithFlags, void **ready, void *source,
       unsigned long long flags)
{
    const ready_parameters p = { ready, source, flags };
    TRACED(DOUBLE_QUIET, cuGraphInstantiateWithFlags, make_ready, ON(0));
}

typedef struct node_parameters {
    void *ready, *node;
    const void *what;
    void *context;
} node_parameters;

static int set_kernel(const void *user)
{
    const node_parameters *const p = user;
    node *const n = copy_of(graph_of(p->ready, READY), p->node);
    return n && n->type == NODE_KERNEL ? put_kernel(n, p->what) : INVALID;
}

DRIVER(cuGraphExecKernelNodeSetParams_v2, void *ready, void *handle,
       const kernel_node *k)
{
    const node_parameters p = { ready, handle, k, NULL };
    TRACED(DOUBLE_QUIET, cuGraphExecKernelNodeSetParams_v2, set_kernel, ON(0));
}

static int set_copy(const void *user)
{
    const node_parameters *const p = user;
    node *const n = copy_of(graph_of(p->ready, READY), p->node);
    return n && n->type == NODE_COPY ? put_box(n, p->what) : INVALID;
}

DRIVER(cuGraphExecMemcpyNodeSetParams, void *ready, void *handle,
       const copy_box *b, void *context)
{
    const node_parameters p = { ready, handle, b, context };
    TRACED(DOUBLE_QUIET, cuGraphExecMemcpyNodeSetParams, set_copy, ON(0));
}

static int set_set(const void *user)
{
    const node_parameters *const p = user;
    node *const n = copy_of(graph_of(p->ready, READY), p->node);
    return n && n->type == NODE_SET ? put_set(n, p->what) : INVALID;
}

DRIVER(cuGraphExecMemsetNodeSetParams, void *ready, void *handle,
       const set_node *s, void *context)
{
    const node_parameters p = { ready, handle, s, context };
    TRACED(DOUBLE_QUIET, cuGraphExecMemsetNodeSetParams, set_set, ON(0));
}

// Nodes and edges must be the same; what they do may be something else.
static bool is_alike(const graph *to, const graph *from)
{
    bool same = to->count == from->count;
    for (uint32_t i = 0; same && i < to->count; i++) {
        const node *const a = &to->nodes[i], *const b = &from->nodes[i];
        same = a->type == b->type &&
               !memcmp(a->after, b->after, sizeof(node_set)) &&
               (!a->child || is_alike(a->child, b->child));
    }
    return same;
}

static void take_over(graph *to, const graph *from)
{
    for (uint32_t i = 0; i < to->count; i++) {
        node *const n = &to->nodes[i];
        n->deed = from->nodes[i].deed;
        n->box = from->nodes[i].box;
        if (n->child) take_over(n->child, from->nodes[i].child);
    }
}

static int set_child(const void *user)
{
    const node_parameters *const p = user;
    node *const n = copy_of(graph_of(p->ready, READY), p->node);
    void *child;
    memcpy(&child, &p->what, sizeof child);
    const graph *const source = graph_of(child, GRAPH);
    if (!n || !n->child || !source || !is_alike(n->child, source))
        return INVALID;
    take_over(n->child, source);
    return 0;
}

DRIVER(cuGraphExecChildGraphNodeSetParams, void *ready, void *handle,
       const void *child)
{
    const node_parameters p = { ready, handle, child, NULL };
    TRACED(DOUBLE_QUIET, cuGraphExecChildGraphNodeSetParams, set_child, ON(0));
}

typedef struct any_node { // CUgraphNodeParams
    int type, reserved[3];
    union {
        kernel_node kernel;
        struct {
            int flags, reserved;
            void *context;
            copy_box box;
        } copy;
        set_node set;
        void *child;
        uint64_t room[29];
    } as;
    uint64_t more;
} any_node;

// Its type is known: it does not change.
static int set_any(const void *user)
{
    const node_parameters *const p = user;
    const any_node *const any = p->what;
    const node *const n = copy_of(graph_of(p->ready, READY), p->node);
    node_parameters one = *p;
    if (!n || any->type != n->type || any->reserved[0] || any->more)
        return INVALID;
    one.what = &any->as;
    if (n->type == NODE_KERNEL) return set_kernel(&one);
    if (n->type == NODE_SET) return set_set(&one);
    one.what =
        n->type == NODE_COPY ? (const void *)&any->as.copy.box : any->as.child;
    return n->type == NODE_COPY    ? set_copy(&one)
           : n->type == NODE_CHILD ? set_child(&one)
                                   : 0;
}

DRIVER(cuGraphExecNodeSetParams, void *ready, void *handle, const any_node *any)
{
    const node_parameters p = { ready, handle, any, NULL };
    TRACED(DOUBLE_QUIET, cuGraphExecNodeSetParams, set_any, ON(0));
}

typedef struct enabled_parameters {
    void *ready, *node;
    unsigned on;
} enabled_parameters;

static int set_enabled(const void *user)
{
    const enabled_parameters *const p = user;
    node *const n = copy_of(graph_of(p->ready, READY), p->node);
    if (!n || n->type > NODE_SET) return INVALID;
    n->off = !p->on;
    return 0;
}

DRIVER(cuGraphNodeSetEnabled, void *ready, void *handle, unsigned on)
{
    const enabled_parameters p = { ready, handle, on };
    TRACED(DOUBLE_QUIET, cuGraphNodeSetEnabled, set_enabled, ON(0));
}

typedef struct update_parameters {
    void *ready, *graph, *info;
} update_parameters;

static int update(const void *user)
{
    const update_parameters *const p = user;
    graph *const to = graph_of(p->ready, READY);
    const graph *const from = graph_of(p->graph, GRAPH);
    if (!to || !from) return INVALID;
    if (!is_alike(to, from)) return UPDATE_FAILED;
    take_over(to, from);
    return 0;
}

DRIVER(cuGraphExecUpdate_v2, void *ready, void *from, void *info)
{
    const update_parameters p = { ready, from, info };
    TRACED(DOUBLE_QUIET, cuGraphExecUpdate_v2, update, ON(0));
}

static int destroy_ready(const void *user)
{
    graph *const g = graph_of(*(void *const *)user, READY);
    if (g) g->magic = 0;
    return g ? 0 : INVALID;
}

DRIVER(cuGraphExecDestroy, void *p)
{
    TRACED(DOUBLE_QUIET, cuGraphExecDestroy, destroy_ready, ON(0));
}

typedef struct graph_parameters {
    void *ready, *stream;
} graph_parameters;

static int launch_graph(const void *user)
{
    const graph_parameters *const p = user;
    graph *const g = graph_of(p->ready, READY);
    recording *const r = recording_of(p->stream);
    if (!g) return INVALID;
    if (!r) {
        run_graph(g, (uint32_t)(uintptr_t)p->stream);
        return 0;
    }
    node *const n = new_node(r->graph, NODE_CHILD);
    if (!n) return NO_MEMORY;
    n->child = copy_graph(g, GRAPH);
    return 0;
}

DRIVER(cuGraphLaunch, void *ready, void *stream)
{
    const graph_parameters p = { ready, stream };
    const graph *const g = graph_of(ready, READY);
    TRACED(is_recorded(stream) ? DOUBLE_QUIET : DOUBLE_GRAPH, cuGraphLaunch,
           launch_graph, ON(stream), .nodes = g ? g->count : 0);
}
