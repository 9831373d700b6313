/*
    gpu/graph.h - reads graphs of CUDA

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    A graph is read when it is instantiated, because the executable graph
    cannot be queried for its nodes; graph_changes.h follows it afterwards.
    A launch is one operation, with all its nodes. Contents between nodes
    are not recorded: the graph has the device until all of it is over.

    CONTENTS                            search for "==== 2." to jump
        1. Graphs
        2. Reading
        3. Order
*/
#ifndef TS__GPU_GRAPH_H
#define TS__GPU_GRAPH_H

#include "tracesmith.h"
#include "../ts_capture.h"
#include "cuda_abi.h"
#include "driver.h"
#include "driver_queries.h"
#include "modules.h"
#include "operations.h"
#include "state.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ==== 1. Graphs ========================================================== */

enum { TS__CS_NODES = 1 << 16, TS__CS_DEPTH = 16 };

enum { TS__CS_NODE_END = -2 }; // type of the node that ends a child graph

typedef struct ts__cs_node {
    void *handle; // handle in the graph that was instantiated, NULL: none
    int type;     // CUgraphNodeType
    // numbers in the order of reading; last: the number of a child graph's end
    uint32_t number, last;
    ts_capture_operation head; // kind 0: the node only orders others
    ts_reason reason; // why a launch with this node cannot be run again
    // the reason given by its attributes, independent of its kernel
    ts_reason attributes_reason;
    bool off;            // the node is disabled
    void *function;      // for kernels
    ts__cs_module *code; // holds a reference; NULL: unknown
    void *object;        // HIP's code object of the kernel
    char *name;
    uint8_t *args;
    uint32_t (*parameters)[2]; // offset, size
    uint32_t parameter_count;
    ts__cuda_attribute *attributes;
    uint32_t attribute_count;
    ts_capture_geometry boxes; // for copies and 2D memsets
    uint32_t value, width;     // for memsets
    uint32_t *after;           // positions of the nodes that this one waits for
    uint32_t after_count;
} ts__cs_node;

typedef struct ts__cs_edge { // numbers of two nodes
    uint32_t from, to;
} ts__cs_edge;

typedef struct ts__cs_graph {
    void *ready, *source, *context;
    ts__cs_node *nodes;
    size_t count, capacity;
    ts__cs_edge *edges; // used only while the graph is read
    size_t edge_count, edge_capacity;
    const char **names; // names of its kernels
    size_t name_count;
    ts_reason reason; // why no launch of the graph can be run again
} ts__cs_graph;

static struct {
    pthread_mutex_t lock;
    ts__cs_graph **graphs;
    size_t count, capacity;
} ts__cs_ready = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void ts__cs_node_free(ts__cs_node *n)
{
    free(n->name);
    free(n->args);
    free(n->parameters);
    free(n->attributes);
    free(n->after);
    ts__cs_module_done(&ts__cs.code, n->code);
}

static void ts__cs_graph_free(ts__cs_graph *g)
{
    if (!g) return;
    for (size_t i = 0; i < g->count; i++)
        ts__cs_node_free(&g->nodes[i]);
    free(g->nodes);
    free(g->edges);
    free((void *)g->names);
    free(g);
}

// Appends a node. Returns NULL if there are too many or memory is short.
static ts__cs_node *ts__cs_node_add(ts__cs_graph *g)
{
    ts__cs_node *const more =
        g->count < TS__CS_NODES
            ? (ts__cs_node *)ts__cs_more(g->nodes, &g->capacity, g->count,
                                         sizeof *more)
            : NULL;
    if (!more) {
        g->reason = TS_REASON_TOO_MANY;
        return NULL;
    }
    g->nodes = more;
    ts__cs_node *const n = &more[g->count];
    memset(n, 0, sizeof *n);
    n->number = (uint32_t)g->count++;
    return n;
}

static void ts__cs_edge_add(ts__cs_graph *g, size_t from, size_t to)
{
    ts__cs_edge *const more = (ts__cs_edge *)ts__cs_more(
        g->edges, &g->edge_capacity, g->edge_count, sizeof *more);
    const ts__cs_edge edge = { (uint32_t)from, (uint32_t)to };
    if (!more) {
        g->reason = TS_REASON_NO_MEMORY;
        return;
    }
    g->edges = more;
    more[g->edge_count++] = edge;
}

/* ==== 2. Reading ========================================================= */

// Copies the arguments of a kernel node; `job` has the kernel's parameters.
static ts_reason ts__cs_node_arguments(ts__cs_node *n,
                                       const ts__cuda_kernel_node *k,
                                       ts__cs_job *job, bool answered)
{
    ts__cs_layout layout;
    ts_capture_op op;
    ts__cs_module *const m =
        ts__cs_module_of(&ts__cs.code, job->module, n->name);
    n->code = m;
    memset(&op, 0, sizeof op);
    if (!m) return TS_REASON_IMAGE_MISSING;
    if (!ts__cs_layout_find(job, answered, m, n->name, &layout) ||
        !ts__cs_flatten(&layout, k->arguments, k->more, &op, &n->args))
        return TS_REASON_PARAM_LAYOUT_UNKNOWN;
    const size_t size = layout.count * sizeof *n->parameters;
    n->head.args_size = op.head.args_size;
    n->parameters = (uint32_t(*)[2])malloc(size + 1);
    if (!n->parameters) return TS_REASON_NO_MEMORY;
    memcpy(n->parameters, layout.parameters, size);
    n->parameter_count = layout.count;
    return TS_REASON_NONE;
}

static void ts__cs_node_kernel(ts__cs_node *n, const ts__cuda_kernel_node *k,
                               ts__cs_job *job, bool answered)
{
    free(n->name);
    free(n->args);
    free(n->parameters);
    ts__cs_module_done(&ts__cs.code, n->code);
    n->code = NULL;
    n->name = job->called ? strdup(job->called) : NULL;
    n->args = NULL;
    n->parameters = NULL;
    n->parameter_count = 0;
    n->head.kind = TS_EVENT_KERNEL;
    n->head.args_size = 0;
    memcpy(n->head.grid, k->grid, sizeof k->grid);
    memcpy(n->head.block, k->block, sizeof k->block);
    n->head.shared = k->shared;
    n->function = k->function ? k->function : k->kernel;
    // Modules that the query loaded belong to this function.
    if (job->module)
        ts__cs_module_named(&ts__cs.code, job->module, job->loader);
    n->reason = n->name ? ts__cs.vendor->graphs->arguments(n, k, job, answered)
                        : TS_REASON_IMAGE_MISSING;
    if (!n->reason) n->reason = n->attributes_reason;
    if (ts__cs_is_collective(n->name)) n->reason = TS_REASON_COLLECTIVE;
}

// Reads the attributes of a kernel node that differ from their defaults.
static void ts__cs_node_attributes(const ts__cs_driver *d, ts__cs_node *n)
{
    const uint32_t ids = TS_CUDA_LAUNCH_ATTRIBUTES | 1u << TS__CUDA_UPDATABLE;
    ts__cuda_attribute given[32];
    static const uint8_t none[sizeof given->value.bytes] = { 0 };
    uint32_t count = 0;
    for (uint32_t id = 1; d->call.node_attribute && id < 32; id++) {
        ts__cuda_attribute *const a = &given[count];
        memset(a, 0, sizeof *a);
        if (!(ids >> id & 1) ||
            d->call.node_attribute(n->handle, (int)id, &a->value) != 0 ||
            !memcmp(&a->value, none, sizeof none))
            continue;
        a->id = id;
        if (id == TS__CUDA_UPDATABLE)
            n->attributes_reason = TS_REASON_DEVICE_UPDATABLE_NODE;
        else
            count++;
    }
    if (!count) return;
    n->attributes = (ts__cuda_attribute *)malloc(count * sizeof *given);
    if (!n->attributes) n->attributes_reason = TS_REASON_NO_MEMORY;
    if (n->attributes) memcpy(n->attributes, given, count * sizeof *given);
    n->attribute_count = n->attributes ? count : 0;
}

static void ts__cs_node_copy(ts__cs_node *n, const ts__cuda_box *box)
{
    n->head.kind = TS_EVENT_MEMCPY;
    n->reason = ts__cs_box_read(box, &n->head, &n->boxes)
                    ? TS_REASON_NONE
                    : TS_REASON_TEXTURE_BINDLESS;
}

static void ts__cs_node_set(ts__cs_node *n, const ts__cuda_set_node *s)
{
    const uint64_t wide = s->count * s->width;
    ts_capture_geometry *const g = &n->boxes;
    n->head.kind = TS_EVENT_MEMSET;
    n->head.destination = s->to;
    n->head.value = s->value & 0xFF;
    n->head.size = wide * s->rows;
    n->value = s->value;
    n->width = s->width;
    n->reason = s->width == 1 || s->width == 2 || s->width == 4
                    ? TS_REASON_NONE
                    : TS_REASON_ATTR_UNKNOWN;
    memset(g, 0, sizeof *g);
    if (s->rows < 2) return;
    g->region[0] = wide;
    g->region[1] = s->rows;
    g->region[2] = 1;
    g->destination_row = s->pitch;
    g->destination_slice = s->pitch * s->rows;
}

// Prepares the query for a node's kernel. A library's kernel is looked up in
// the node's context, which may differ from the one that the graph is read in.
static void ts__cs_kernel_job(const ts__cuda_kernel_node *k, void *context,
                              ts__cs_job *job)
{
    memset(job, 0, sizeof *job);
    job->what = TS__CS_FUNCTION;
    job->is_kernel = !k->function;
    job->object = k->function ? k->function : k->kernel;
    job->context = job->is_kernel && k->context ? k->context : context;
}

// Makes a query from within another one. Returns false if it fails.
static bool ts__cs_kernel_request(ts__cs_driver *d, ts__cs_job *job)
{
    void *const before = d->job.context;
    if (job->context == before) return ts__cs_function(d, job);
    pthread_mutex_lock(&d->lock);
    const bool leaving = ts__cs_is_leaving(d, job->context);
    if (!leaving) ts__cs_context_enter(d, job->context);
    pthread_mutex_unlock(&d->lock);
    const bool ok = !leaving && d->call.context_set(job->context) == 0 &&
                    ts__cs_function(d, job);
    pthread_mutex_lock(&d->lock);
    ts__cs_context_enter(d, before);
    pthread_mutex_unlock(&d->lock);
    d->call.context_set(before);
    return ok;
}

static void ts__cs_kernel_read(ts__cs_driver *d, ts__cs_node *n)
{
    ts__cuda_kernel_node kernel;
    ts__cs_job job;
    memset(&kernel, 0, sizeof kernel);
    // A kernel that later replaces this one keeps the node's attributes.
    n->reason = n->attributes_reason = TS_REASON_ATTACHED_LATE;
    if (!d->call.node_kernel || d->call.node_kernel(n->handle, &kernel) != 0)
        return;
    n->attributes_reason = TS_REASON_NONE;
    ts__cs_kernel_job(&kernel, d->job.context, &job);
    const bool answered = ts__cs_kernel_request(d, &job);
    ts__cs_node_attributes(d, n);
    ts__cs_node_kernel(n, &kernel, &job, answered);
}

// Reads a node according to its type.
static void ts__cs_node_read(ts__cs_driver *d, ts__cs_node *n, int type)
{
    ts__cuda_box box;
    ts__cuda_set_node set;
    switch (type) {
    case TS__CUDA_NODE_KERNEL: ts__cs_kernel_read(d, n); return;
    case TS__CUDA_NODE_COPY:
        n->reason = TS_REASON_ATTACHED_LATE;
        if (d->call.node_copy && !d->call.node_copy(n->handle, &box))
            ts__cs_node_copy(n, &box);
        return;
    case TS__CUDA_NODE_SET:
        n->reason = TS_REASON_ATTACHED_LATE;
        if (d->call.node_set && !d->call.node_set(n->handle, &set))
            ts__cs_node_set(n, &set);
        return;
    case TS__CUDA_NODE_CHILD:
    case TS__CUDA_NODE_EMPTY:
    case TS__CUDA_NODE_WAIT:
    case TS__CUDA_NODE_RECORD: return; // the node only orders others
    case TS__CUDA_NODE_HOST: n->reason = TS_REASON_HOST_CALLBACK; return;
    case TS__CUDA_NODE_SIGNAL:
    case TS__CUDA_NODE_SEMAPHORE: n->reason = TS_REASON_EXTERNAL_MEMORY; return;
    case TS__CUDA_NODE_ALLOC:
    case TS__CUDA_NODE_FREE: n->reason = TS_REASON_DEVICE_HEAP; return;
    case TS__CUDA_NODE_MEMOP: n->reason = TS_REASON_STREAM_MEMOP; return;
    case TS__CUDA_NODE_CONDITIONAL: n->reason = TS_REASON_COND_GRAPH; return;
    default: n->reason = TS_REASON_ATTR_UNKNOWN; return;
    }
}

// A node of the driver and the numbers of its first and last node here; they
// differ for a child graph.
typedef struct ts__cs_spot {
    void *handle;
    uint32_t begin, end;
} ts__cs_spot;

static int ts__cs_by_handle(const void *left, const void *right)
{
    const ts__cs_spot *const a = (const ts__cs_spot *)left;
    const ts__cs_spot *const b = (const ts__cs_spot *)right;
    return (a->handle > b->handle) - (a->handle < b->handle);
}

static void ts__cs_graph_edges(const ts__cs_driver *d, ts__cs_graph *g,
                               void *handle, const ts__cs_spot *spots,
                               size_t count)
{
    size_t edges = 0;
    const bool old = !d->call.edges;
    if (old ? !d->call.edges_old ||
                  d->call.edges_old(handle, NULL, NULL, &edges) != 0
            : d->call.edges(handle, NULL, NULL, NULL, &edges) != 0) {
        g->reason = TS_REASON_ATTACHED_LATE;
        return;
    }
    // With arrays, the driver refuses a count of 0: seen on an H200, CUDA 13.0.
    if (!edges) return;
    // Three columns: source, target, and eight bytes of edge data.
    void **const all = (void **)calloc(edges + 1, 3 * sizeof *all);
    if (!all || (old ? d->call.edges_old(handle, all, all + edges, &edges)
                     : d->call.edges(handle, all, all + edges, all + 2 * edges,
                                     &edges)) != 0) {
        g->reason = TS_REASON_ATTACHED_LATE;
        edges = 0;
    }
    for (size_t i = 0; i < edges; i++) {
        const ts__cs_spot keys[2] = { { all[i], 0, 0 },
                                      { all[edges + i], 0, 0 } };
        const ts__cs_spot *ends[2];
        for (int k = 0; k < 2; k++)
            ends[k] = (const ts__cs_spot *)bsearch(
                &keys[k], spots, count, sizeof *spots, ts__cs_by_handle);
        if (ends[0] && ends[1])
            ts__cs_edge_add(g, ends[0]->end, ends[1]->begin);
        else
            g->reason = TS_REASON_ATTACHED_LATE;
    }
    free((void *)all);
}

// Returns whether the requesting thread has given up: then the graph may be
// changed or destroyed meanwhile.
static bool ts__cs_is_given_up(ts__cs_driver *d, ts__cs_graph *g)
{
    const bool silent = ts__cs_is_silent(d);
    if (silent) g->reason = TS_REASON_DRAIN_TIMEOUT;
    return silent;
}

static void ts__cs_graph_read(ts__cs_driver *d, ts__cs_graph *g, void *handle,
                              uint32_t depth);

// Reads a child graph. Its nodes lie between two nodes that only order others.
static void ts__cs_child_read(ts__cs_driver *d, ts__cs_graph *g,
                              ts__cs_spot *spot, uint32_t depth)
{
    void *child = NULL;
    const size_t first = g->count;
    if (ts__cs_is_given_up(d, g)) return;
    if (!d->call.node_child || d->call.node_child(spot->handle, &child) != 0) {
        g->reason = TS_REASON_ATTACHED_LATE;
        return;
    }
    ts__cs_graph_read(d, g, child, depth + 1);
    const size_t last = g->count;
    ts__cs_node *const end = ts__cs_node_add(g);
    if (!end) return;
    end->type = TS__CS_NODE_END;
    g->nodes[spot->begin].last = spot->end = end->number;
    ts__cs_edge_add(g, spot->begin, last);
    for (size_t i = first; i < last; i++) {
        ts__cs_edge_add(g, spot->begin, i);
        ts__cs_edge_add(g, i, last);
    }
}

static void ts__cs_graph_read(ts__cs_driver *d, ts__cs_graph *g, void *handle,
                              uint32_t depth)
{
    size_t count = 0;
    if (depth == TS__CS_DEPTH || !d->call.nodes || !d->call.node_type ||
        d->call.nodes(handle, NULL, &count) != 0 || count > TS__CS_NODES) {
        g->reason = depth == TS__CS_DEPTH || count > TS__CS_NODES
                        ? TS_REASON_TOO_MANY
                        : TS_REASON_ATTACHED_LATE;
        return;
    }
    void **const nodes = (void **)calloc(count + 1, sizeof *nodes);
    ts__cs_spot *const spots = (ts__cs_spot *)calloc(count + 1, sizeof *spots);
    if (!nodes || !spots ||
        (count && d->call.nodes(handle, nodes, &count) != 0))
        g->reason = TS_REASON_NO_MEMORY;
    for (size_t i = 0; i < count && !g->reason; i++) {
        ts__cs_node *const n = ts__cs_node_add(g);
        int type = -1;
        if (!n) break;
        n->handle = nodes[i];
        spots[i].handle = nodes[i];
        spots[i].begin = spots[i].end = (uint32_t)g->count - 1;
        if (ts__cs_is_given_up(d, g)) break;
        if (d->call.node_type(nodes[i], &type) != 0) type = -1;
        n->type = type;
        ts__cs_node_read(d, n, type);
        if (type == TS__CUDA_NODE_CHILD)
            ts__cs_child_read(d, g, &spots[i], depth);
    }
    if (!g->reason && !ts__cs_is_given_up(d, g)) {
        qsort(spots, count, sizeof *spots, ts__cs_by_handle);
        ts__cs_graph_edges(d, g, handle, spots, count);
    }
    free((void *)nodes);
    free(spots);
}

/* ==== 3. Order =========================================================== */

static bool ts__cs_after_add(ts__cs_node *n, uint32_t position, uint32_t room)
{
    if (!n->after)
        n->after = (uint32_t *)malloc((size_t)room * sizeof *n->after);
    if (n->after) n->after[n->after_count++] = position;
    return n->after != NULL;
}

// Sorts the nodes so that each comes after those that it waits for. Returns
// false if they form a cycle or memory is short.
static bool ts__cs_graph_sort(ts__cs_graph *g)
{
    const size_t count = g->count;
    ts__cs_node *const sorted =
        (ts__cs_node *)calloc(count + 1, sizeof *sorted);
    uint32_t *const all =
        (uint32_t *)calloc(4 * count + g->edge_count + 1, sizeof *all);
    // For each node: its last edge + 1, its number of incoming edges, and how
    // many of those are unvisited; for each edge: the previous edge of the
    // node.
    uint32_t *const last = all, *const in = all + count;
    uint32_t *const left = in + count, *const queue = left + count;
    uint32_t *const before = queue + count;
    bool ok = sorted && all;
    size_t known = 0, done = 0;
    for (size_t i = 0; ok && i < g->edge_count; i++) {
        const ts__cs_edge edge = g->edges[i];
        before[i] = last[edge.from];
        last[edge.from] = (uint32_t)i + 1;
        in[edge.to]++;
        left[edge.to]++;
    }
    for (uint32_t i = 0; ok && i < count; i++)
        if (!left[i]) queue[known++] = i;
    for (; ok && done < known; done++) {
        sorted[done] = g->nodes[queue[done]];
        for (uint32_t e = last[queue[done]]; ok && e; e = before[e - 1]) {
            const uint32_t to = g->edges[e - 1].to;
            ok = ts__cs_after_add(&g->nodes[to], (uint32_t)done, in[to]);
            if (!--left[to]) queue[known++] = to;
        }
    }
    ok = ok && done == count;
    if (ok && count) memcpy(g->nodes, sorted, count * sizeof *sorted);
    free(sorted);
    free(all);
    return ok;
}

static void ts__cs_graph_drop(void *graph)
{
    ts__cs_graph_free((ts__cs_graph *)graph);
}

// Reads a graph. Runs on the thread that calls the driver.
static bool ts__cs_graph_new(ts__cs_job *job)
{
    ts__cs_graph *const g = (ts__cs_graph *)calloc(1, sizeof *g);
    job->found = g;
    if (!g) return false;
    ts__cs_graph_read(&ts__cs.driver, g, job->object, 0);
    if (!g->reason && !ts__cs_graph_sort(g)) g->reason = TS_REASON_NO_MEMORY;
    free(g->edges);
    g->edges = NULL;
    return true;
}

#endif // TS__GPU_GRAPH_H
