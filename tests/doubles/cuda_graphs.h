/*
    cuda_graphs.h - graphs of the double of CUDA's driver, by hand and recorded
    from streams: a part of libcuda.c

    A graph that is made ready is a copy; what becomes of its source later does
    not matter to it. Nodes are told last first: the driver promises no order.
    What a recording forbids is an error, and ends the recording, as the
    vendor's manual of the driver's interface says.
*/

/* ---- What there is ------------------------------------------------------ */

enum { // results and types of nodes, as cuda.h numbers them
    UNSUPPORTED = 900,
    INVALIDATED = 901,
    IMPLICIT = 906,
    WRONG_THREAD = 908,
    UPDATE_FAILED = 910,
    NODE_KERNEL = 0,
    NODE_COPY = 1,
    NODE_SET = 2,
    NODE_HOST = 3,
    NODE_CHILD = 4,
    NODE_EMPTY = 5,
    NODE_WAIT = 6,
    NODE_CONDITIONAL = 13
};

typedef uint64_t node_set[NODES / 64];

typedef struct end_of_copy {
    size_t x, y, z, level;
    uint32_t type, pad;
    void *host;
    uint64_t device;
    void *array, *reserved;
    size_t pitch, height;
} end_of_copy;

typedef struct copy_box { // CUDA_MEMCPY3D
    end_of_copy from, to;
    size_t width, height, depth;
} copy_box;

typedef struct node {
    struct graph *graph, *child;
    struct node *original; // of a node of a graph that is ready
    int type;
    bool off;
    deed deed;
    void *kernel, *context; // of a library, where it was given as one
    copy_box box;
    void *pointers[32]; // to the arguments
    void *more[5];
    size_t size;
    node_set after;
} node;

typedef struct graph {
    uint32_t magic; // 0: it is gone
    uint32_t count;
    node *nodes;
    struct graph *source;
    uintptr_t context;
} graph;
static graph graphs[GRAPHS];
static uint32_t graph_count;

enum { GRAPH = 0x67726170, READY = 0x72656164 };

typedef struct recording {
    graph *graph; // NULL: nothing is recorded
    uint64_t joined;
    uint32_t origin;
    int mode;
    bool broken;
    pthread_t thread;
    node_set last[STREAMS]; // what comes next on a stream waits for
} recording;
static recording recordings[8];
static __thread int exchange_mode; // 0 global, 1 of the thread, 2 relaxed

static struct {
    recording *recording;
    node_set after;
    uintptr_t context; // all of it
} events[EVENTS];

static recording *recording_of(const void *stream)
{
    const uint64_t bit = UINT64_C(1) << (uintptr_t)stream % STREAMS;
    for (size_t i = 0; i < 8; i++)
        if (recordings[i].graph && recordings[i].joined & bit)
            return &recordings[i];
    return NULL;
}

static bool is_recorded(const void *stream)
{
    return recording_of(stream) != NULL;
}

// What may wait for the device is forbidden while somebody records.
static int forbidden(void)
{
    int result = 0;
    for (size_t i = 0; i < 8; i++) {
        recording *const r = &recordings[i];
        const bool own = pthread_equal(r->thread, pthread_self());
        if (!r->graph || exchange_mode == 2 || r->mode == 2) continue;
        if (!own && (r->mode != 0 || exchange_mode != 0)) continue;
        r->broken = true;
        result = UNSUPPORTED;
    }
    return result;
}

// The default stream waits for all others but those that do not block.
static recording *recording_that_blocks(const void *stream)
{
    for (size_t i = 0; !stream && i < 8; i++) {
        const recording *const r = &recordings[i];
        if (r->graph && !(stream_flags[r->origin % STREAMS] & 1))
            return &recordings[i];
    }
    return NULL;
}

static graph *graph_of(void *handle, uint32_t magic)
{
    graph *const g = handle;
    return g >= graphs && g < graphs + GRAPHS && g->magic == magic ? g : NULL;
}

static graph *new_graph(uint32_t magic)
{
    uint32_t at = 0; // what a context left, or the next one
    while (at < graph_count && (graphs[at].magic || graphs[at].nodes))
        at++;
    if (at == GRAPHS) return NULL;
    if (at == graph_count) graph_count++;
    graph *const g = &graphs[at];
    memset(g, 0, sizeof *g);
    g->magic = magic;
    g->context = here();
    g->nodes = calloc(NODES, sizeof *g->nodes);
    return g->nodes ? g : NULL;
}

// What is ready runs in a context, and goes with it.
static void drop_graphs(uintptr_t context)
{
    for (uint32_t i = 0; i < graph_count; i++) {
        if (graphs[i].magic != READY || graphs[i].context != context) continue;
        free(graphs[i].nodes);
        memset(&graphs[i], 0, sizeof graphs[i]);
    }
}

static bool is_ready_to_run(const function *f)
{
    for (uint32_t i = 0; i < graph_count; i++)
        for (uint32_t k = 0; graphs[i].magic == READY && k < graphs[i].count;
             k++)
            if (graphs[i].nodes[k].deed.kernel == f) return true;
    return false;
}

static node *new_node(graph *g, int type)
{
    if (g->count == NODES) return NULL;
    node *const n = &g->nodes[g->count++];
    n->graph = g;
    n->type = type;
    return n;
}

static void do_box(const copy_box *b)
{
    const end_of_copy *const f = &b->from, *const t = &b->to;
    const char *const from = f->type == 1 ? f->host : (void *)f->device;
    char *const to = t->type == 1 ? t->host : (void *)t->device;
    for (size_t z = 0; z < b->depth; z++)
        for (size_t y = 0; y < b->height; y++)
            memmove(to + ((t->z + z) * t->height + t->y + y) * t->pitch + t->x,
                    from + ((f->z + z) * f->height + f->y + y) * f->pitch +
                        f->x,
                    b->width);
}

static void run_graph(const graph *g, uint32_t stream)
{
    for (uint32_t i = 0; i < g->count; i++) {
        const node *const n = &g->nodes[i];
        if (n->off) continue;
        if (n->type == NODE_COPY)
            do_box(&n->box);
        else if (n->type == NODE_KERNEL || n->type == NODE_SET)
            do_it(&n->deed, stream);
        else if (n->child)
            run_graph(n->child, stream);
    }
}

/* ---- Recording ---------------------------------------------------------- */

static void box_of(const deed *d, copy_box *b)
{
    memset(b, 0, sizeof *b);
    b->width = d->size;
    b->height = b->depth = 1;
    b->from.type = d->from_host ? 1 : 2;
    b->to.type = d->to_host ? 1 : 2;
    b->from.host = d->from_host ? (void *)d->from : NULL;
    b->to.host = d->to_host ? (void *)d->to : NULL;
    b->from.device = d->from_host ? 0 : d->from;
    b->to.device = d->to_host ? 0 : d->to;
}

// At once, or as a node of the graph that this stream is recorded into.
static int submit(const deed *d, uint32_t stream)
{
    recording *const r = recording_of((void *)(uintptr_t)stream);
    recording *const other = recording_that_blocks((void *)(uintptr_t)stream);
    if (other) {
        other->broken = true;
        return IMPLICIT;
    }
    if (!r) {
        if (is_nowhere()) return CONTEXT_GONE;
        if (!is_stream(stream)) return 400;
        do_it(d, stream);
        return 0; // what a kernel did is found out later
    }
    if (r->broken) return INVALIDATED;
    node *const n = new_node(r->graph, d->kernel ? NODE_KERNEL
                                       : d->from ? NODE_COPY
                                                 : NODE_SET);
    if (!n) return NO_MEMORY;
    n->deed = *d;
    if (n->type == NODE_COPY) box_of(d, &n->box);
    memcpy(n->after, r->last[stream % STREAMS], sizeof n->after);
    memset(r->last[stream % STREAMS], 0, sizeof n->after);
    const uint32_t at = r->graph->count - 1;
    r->last[stream % STREAMS][at / 64] = UINT64_C(1) << at % 64;
    return 0;
}

typedef struct begin_parameters {
    void *stream;
    int mode;
} begin_parameters;

static int begin(const void *user)
{
    const begin_parameters *const p = user;
    if (!p->stream) return UNSUPPORTED;
    if (is_recorded(p->stream)) return 401;
    for (size_t i = 0; i < 8; i++) {
        recording *const r = &recordings[i];
        if (r->graph) continue;
        memset(r, 0, sizeof *r);
        r->graph = new_graph(GRAPH);
        r->origin = (uint32_t)(uintptr_t)p->stream;
        r->joined = UINT64_C(1) << r->origin % STREAMS;
        r->mode = p->mode;
        r->thread = pthread_self();
        return r->graph ? 0 : NO_MEMORY;
    }
    return INVALID;
}

DRIVER(cuStreamBeginCapture_v2, void *stream, int mode)
{
    const begin_parameters p = { stream, mode };
    TRACED(DOUBLE_QUIET, cuStreamBeginCapture_v2, begin, ON(0));
}

typedef struct end_parameters {
    void *stream;
    void **graph;
} end_parameters;

static int end(const void *user)
{
    const end_parameters *const p = user;
    recording *const r = recording_of(p->stream);
    if (!r || r->origin != (uint32_t)(uintptr_t)p->stream) return INVALID;
    if (r->mode != 2 && !pthread_equal(r->thread, pthread_self()))
        return WRONG_THREAD;
    *p->graph = r->broken ? NULL : r->graph;
    const bool broken_off = r->broken;
    r->graph = NULL;
    return broken_off ? INVALIDATED : 0;
}

DRIVER(cuStreamEndCapture, void *stream, void **made)
{
    const end_parameters p = { stream, made };
    TRACED(DOUBLE_QUIET, cuStreamEndCapture, end, ON(0));
}

DRIVER(cuStreamIsCapturing, void *stream, int *status)
{
    wait_for_lock();
    const recording *const r = recording_of(stream);
    if (recording_that_blocks(stream)) return IMPLICIT;
    *status = r ? 1 + r->broken : 0;
    return 0;
}

// Of a recorded stream: the graph, and the node that what comes next waits for.
DRIVER(cuStreamGetCaptureInfo_v2, void *stream, int *status, uint64_t *id,
       void **made, void *const **last, size_t *count)
{
    static __thread void *nodes[NODES];
    const recording *const r = recording_of(stream);
    *status = r ? 1 + r->broken : 0;
    *count = 0;
    if (!r) return 0;
    const uint64_t *const set = r->last[(uintptr_t)stream % STREAMS];
    for (uint32_t i = 0; i < r->graph->count; i++)
        if (set[i / 64] >> i % 64 & 1) nodes[(*count)++] = &r->graph->nodes[i];
    *id = 1;
    *made = r->graph;
    *last = nodes;
    return 0;
}

DRIVER(cuThreadExchangeStreamCaptureMode, int *mode)
{
    const int before = exchange_mode;
    if ((unsigned)*mode > 2) return INVALID;
    exchange_mode = *mode;
    *mode = before;
    return 0;
}

static void record_event(uintptr_t event, const void *stream)
{
    recording *const r = recording_of(stream);
    events[event % EVENTS].recording = r;
    if (r)
        memcpy(events[event % EVENTS].after,
               r->last[(uintptr_t)stream % STREAMS], sizeof(node_set));
}

// A stream that waits for an event of a recording is recorded with it.
static void join_event(const void *stream, uintptr_t event)
{
    const uintptr_t number = (uintptr_t)stream % STREAMS;
    recording *const r = events[event % EVENTS].recording;
    if (!r || !r->graph) return;
    r->joined |= UINT64_C(1) << number;
    for (size_t i = 0; i < NODES / 64; i++)
        r->last[number][i] |= events[event % EVENTS].after[i];
}

/* ---- By hand ------------------------------------------------------------ */

typedef struct kernel_node { // CUDA_KERNEL_NODE_PARAMS_v2
    void *function;
    uint32_t dims[6], shared;
    void **arguments, **more;
    void *kernel, *context;
} kernel_node;

typedef struct set_node { // CUDA_MEMSET_NODE_PARAMS
    uint64_t to;
    size_t pitch;
    uint32_t value, width;
    size_t count, rows;
} set_node;

static int wait_for(node *n, void *const *after, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const node *const other = after[i];
        if (!other || other->graph != n->graph) return INVALID;
        const size_t at = (size_t)(other - n->graph->nodes);
        n->after[at / 64] |= UINT64_C(1) << at % 64;
    }
    return 0;
}

static int add_node(void **made, void *handle, void *const *after, size_t count,
                    int type)
{
    graph *const g = graph_of(handle, GRAPH);
    node *const n = g ? new_node(g, type) : NULL;
    *made = n;
    return n ? wait_for(n, after, count) : INVALID;
}

static int put_kernel(node *n, const kernel_node *k)
{
    deed d;
    void *const object = k->function ? k->function : k->kernel;
    const uintptr_t before = current;
    if (!k->function && k->context) current = (uintptr_t)k->context;
    const int result =
        read_launch(&d, object, k->dims, k->shared, k->arguments, k->more);
    current = before;
    if (!result) {
        n->kernel = k->function ? NULL : k->kernel;
        n->context = k->function ? NULL : k->context;
        memcpy(d.attributes, n->deed.attributes, sizeof d.attributes);
        n->deed = d;
    }
    return result;
}

static int put_set(node *n, const set_node *s)
{
    const deed d = { .to = s->to,
                     .size = s->count * s->width,
                     .width = s->width,
                     .value = s->value };
    if (!s->to || s->rows > 1) return INVALID;
    n->deed = d;
    return 0;
}

static int put_box(node *n, const copy_box *b)
{
    if (!b->width || !b->height || b->depth != 1) return INVALID;
    n->box = *b;
    return 0;
}

DRIVER(cuGraphCreate, void **made, unsigned flags)
{
    *made = new_graph(GRAPH);
    return *made && !flags ? 0 : INVALID;
}

DRIVER(cuGraphDestroy, void *handle)
{
    graph *const g = graph_of(handle, GRAPH);
    if (!g) return INVALID;
    for (uint32_t i = 0; i < g->count; i++) // what reads it finds nonsense
        memset(&g->nodes[i].deed, 0x55, sizeof g->nodes[i].deed);
    g->magic = 0;
    return 0;
}

DRIVER(cuGraphAddKernelNode_v2, void **made, void *g, void *const *after,
       size_t count, const kernel_node *k)
{
    const int result = add_node(made, g, after, count, NODE_KERNEL);
    return result ? result : put_kernel(*made, k);
}

DRIVER(cuGraphAddMemcpyNode, void **made, void *g, void *const *after,
       size_t count, const copy_box *b, void *context)
{
    const int result = add_node(made, g, after, count, NODE_COPY);
    return result || !context ? INVALID : put_box(*made, b);
}

DRIVER(cuGraphAddMemsetNode, void **made, void *g, void *const *after,
       size_t count, const set_node *s, void *context)
{
    const int result = add_node(made, g, after, count, NODE_SET);
    return result || !context ? INVALID : put_set(*made, s);
}

static graph *copy_graph(graph *g, uint32_t magic);

DRIVER(cuGraphAddChildGraphNode, void **made, void *g, void *const *after,
       size_t count, void *child)
{
    graph *const source = graph_of(child, GRAPH);
    const int result = add_node(made, g, after, count, NODE_CHILD);
    if (result || !source) return INVALID;
    ((node *)*made)->child = copy_graph(source, GRAPH);
    return 0;
}

// Of any type, which does nothing: what it is for is that it is there.
DRIVER(cuGraphAddNode_v2, void **made, void *g, void *const *after,
       const void *edges, size_t count, const int *type)
{
    const int result = add_node(made, g, after, count, *type);
    return edges || *type < NODE_HOST || *type > NODE_CONDITIONAL ? INVALID
                                                                  : result;
}

DRIVER(cuGraphKernelNodeSetAttribute, void *handle, int id, const void *value)
{
    node *const n = handle;
    if ((unsigned)id >= ATTRIBUTES || n->type != NODE_KERNEL) return INVALID;
    memcpy(n->deed.attributes[id], value, sizeof n->deed.attributes[id]);
    return 0;
}

/* ---- Questions ---------------------------------------------------------- */

DRIVER(cuGraphGetNodes, void *handle, void **nodes, size_t *count)
{
    wait_for_lock();
    graph *const g = graph_of(handle, GRAPH);
    // As the real one does (seen on an H200, CUDA 13.0), also below.
    if (!g || (nodes && !*count)) return INVALID;
    for (uint32_t i = 0; nodes && i < g->count && i < *count; i++)
        nodes[i] = &g->nodes[g->count - 1 - i];
    *count = g->count;
    return 0;
}

DRIVER(cuGraphGetEdges_v2, void *handle, void **from, void **to, void *data,
       size_t *count)
{
    wait_for_lock();
    graph *const g = graph_of(handle, GRAPH);
    size_t found = 0;
    if (!g || (from && (!data || !*count))) return INVALID;
    for (uint32_t i = 0; i < g->count; i++)
        for (uint32_t k = 0; k < g->count; k++) {
            if (!(g->nodes[i].after[k / 64] >> k % 64 & 1)) continue;
            if (from && found < *count) {
                from[found] = &g->nodes[k];
                to[found] = &g->nodes[i];
            }
            found++;
        }
    *count = found;
    return 0;
}

DRIVER(cuGraphNodeGetType, const node *n, int *type)
{
    *type = n->type;
    return 0;
}

DRIVER(cuGraphKernelNodeGetParams_v2, node *n, kernel_node *k)
{
    const deed *const d = &n->deed;
    if (n->type != NODE_KERNEL) return INVALID;
    memset(k, 0, sizeof *k);
    k->function =
        n->kernel ? NULL : (void *)(uintptr_t)(d->kernel - functions + 1);
    k->kernel = n->kernel;
    k->context = n->context;
    memcpy(k->dims, d->grid.grid, sizeof k->dims);
    k->shared = d->grid.shared;
    const uint32_t *const p = d->kernel->parameters;
    for (uint32_t i = 0; p && p[2 * i] != UINT32_MAX; i++)
        n->pointers[i] = n->deed.arguments + p[2 * i];
    n->size = d->arguments_size;
    n->more[0] = (void *)1;
    n->more[1] = n->deed.arguments;
    n->more[2] = (void *)2;
    n->more[3] = &n->size;
    k->arguments = d->arguments_size ? NULL : n->pointers;
    k->more = d->arguments_size ? n->more : NULL;
    return 0;
}

DRIVER(cuGraphKernelNodeGetAttribute, const node *n, int id, void *value)
{
    if ((unsigned)id >= ATTRIBUTES || n->type != NODE_KERNEL) return INVALID;
    memcpy(value, n->deed.attributes[id], sizeof n->deed.attributes[id]);
    return 0;
}

DRIVER(cuGraphMemcpyNodeGetParams, const node *n, copy_box *b)
{
    *b = n->box;
    return n->type == NODE_COPY ? 0 : INVALID;
}

DRIVER(cuGraphMemsetNodeGetParams, const node *n, set_node *s)
{
    const deed *const d = &n->deed;
    const set_node made = { d->to,
                            0,
                            (uint32_t)d->value,
                            (uint32_t)d->width,
                            d->width ? d->size / d->width : 0,
                            1 };
    *s = made;
    return n->type == NODE_SET ? 0 : INVALID;
}

DRIVER(cuGraphChildGraphNodeGetGraph, const node *n, void **child)
{
    *child = n->child;
    return n->child ? 0 : INVALID;
}

#include "cuda_graphs_ready.h"
