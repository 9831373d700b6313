/*
    gpu/graph_changes.h - what calls change of executable graphs

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Follows a graph between its launches: nodes that are changed, child
    graphs that are exchanged, all of it updated from another graph. Single
    nodes are named by those of the graph that it was instantiated from; the
    nodes of another graph are matched by their places.

    Nothing is guessed: a node that could be one of several is unknown from
    then on, and a change of it declines the launches that follow.

    CONTENTS                            search for "==== 2." to jump
        1. Places
        2. Executable graphs
        3. Nodes
        4. Calls
*/
#ifndef TS__GPU_GRAPH_CHANGES_H
#define TS__GPU_GRAPH_CHANGES_H

#include "tracesmith.h"
#include "cuda_abi.h"
#include "driver.h"
#include "driver_requests.h"
#include "exclusive.h"
#include "functions.h"
#include "graph.h"
#include "modules.h"
#include "operations.h"
#include "state.h"
#include "waiting.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ==== 1. Places ========================================================== */

typedef struct ts__cs_spot_in {
    uint64_t hash;
    uint32_t at; // index of the node
} ts__cs_spot_in;

static uint64_t ts__cs_mix(uint64_t a, uint64_t b)
{
    a = (a ^ b * UINT64_C(0x9E3779B97F4A7C15)) * UINT64_C(0xD6E8FEB86659FD93);
    return a ^ a >> 32;
}

static int ts__cs_by_place(const void *left, const void *right)
{
    const ts__cs_spot_in *const a = (const ts__cs_spot_in *)left;
    const ts__cs_spot_in *const b = (const ts__cs_spot_in *)right;
    return (a->hash > b->hash) - (a->hash < b->hash);
}

// Returns a hash for each node numbered from `first` to `end` - 1, made of its
// type and of its predecessors and successors. Equal graphs have equal hashes
// in whatever order the driver returns their nodes. Sorted by hash; NULL if out
// of memory.
static ts__cs_spot_in *ts__cs_places(const ts__cs_graph *g, uint32_t first,
                                     uint32_t end, size_t *count)
{
    ts__cs_spot_in *const places =
        (ts__cs_spot_in *)calloc(g->count + 1, sizeof *places);
    uint64_t *const all = (uint64_t *)calloc(2 * g->count + 1, sizeof *all);
    uint64_t *const hash = all, *const behind = all + g->count;
    *count = 0;
    // Two rounds, so that the neighbours of neighbours count as well.
    for (int round = 0; places && all && round < 2; round++) {
        memset(behind, 0, g->count * sizeof *behind);
        for (size_t i = 0; i < g->count; i++) {
            const ts__cs_node *const n = &g->nodes[i];
            uint64_t sum = (uint32_t)n->type;
            for (uint32_t k = 0; k < n->after_count; k++)
                if (g->nodes[n->after[k]].number - first < end - first)
                    sum += ts__cs_mix(hash[n->after[k]], 1);
            hash[i] = ts__cs_mix(hash[i] + 1, sum);
        }
        for (size_t i = g->count; i--;) {
            const ts__cs_node *const n = &g->nodes[i];
            hash[i] = ts__cs_mix(hash[i], behind[i] + 2);
            if (n->number - first >= end - first) continue;
            for (uint32_t k = 0; k < n->after_count; k++)
                behind[n->after[k]] += ts__cs_mix(hash[i], 3);
        }
    }
    for (size_t i = 0; places && all && i < g->count; i++) {
        if (g->nodes[i].number - first >= end - first) continue;
        const ts__cs_spot_in one = { hash[i], (uint32_t)i };
        places[(*count)++] = one;
    }
    free(all);
    if (places) qsort(places, *count, sizeof *places, ts__cs_by_place);
    return places;
}

// Returns whether no other node has the same hash.
static bool ts__cs_is_alone(const ts__cs_spot_in *all, size_t count, size_t at)
{
    return (!at || all[at - 1].hash != all[at].hash) &&
           (at + 1 == count || all[at + 1].hash != all[at].hash);
}

// Copies the handles of nodes of `from`, numbered from `first` to `end` - 1, to
// the nodes of `to` that have the same unique hash.
static void ts__cs_handles_pass(const ts__cs_graph *from, uint32_t first,
                                uint32_t end, ts__cs_graph *to)
{
    size_t count = 0, now_count = 0;
    ts__cs_spot_in *const was = ts__cs_places(from, first, end, &count);
    ts__cs_spot_in *const now = ts__cs_places(to, 0, UINT32_MAX, &now_count);
    for (size_t i = 0; i < to->count; i++)
        to->nodes[i].handle = NULL;
    for (size_t i = 0, k = 0; was && now && i < count && k < now_count;) {
        if (was[i].hash == now[k].hash && ts__cs_is_alone(was, count, i) &&
            ts__cs_is_alone(now, now_count, k))
            to->nodes[now[k].at].handle = from->nodes[was[i].at].handle;
        if (was[i].hash <= now[k].hash)
            i++;
        else
            k++;
    }
    free(was);
    free(now);
}

/* ==== 2. Executable graphs =============================================== */

// The caller holds the lock.
static ts__cs_graph *ts__cs_graph_of(uint64_t ready, size_t *at)
{
    for (size_t i = 0; i < ts__cs_ready.count; i++) {
        if ((uintptr_t)ts__cs_ready.graphs[i]->ready != ready) continue;
        if (at) *at = i;
        return ts__cs_ready.graphs[i];
    }
    return NULL;
}

static void ts__cs_graph_names(ts__cs_graph *g)
{
    free((void *)g->names);
    g->name_count = 0;
    g->names = (const char **)malloc((g->count + 1) * sizeof *g->names);
    for (size_t i = 0; g->names && i < g->count; i++)
        if (g->nodes[i].name) g->names[g->name_count++] = g->nodes[i].name;
}

static void ts__cs_graph_gone(uint64_t ready)
{
    size_t at = 0;
    pthread_mutex_lock(&ts__cs_ready.lock);
    ts__cs_graph *const g = ts__cs_graph_of(ready, &at);
    if (g) ts__cs_ready.graphs[at] = ts__cs_ready.graphs[--ts__cs_ready.count];
    pthread_mutex_unlock(&ts__cs_ready.lock);
    ts__cs_graph_free(g);
}

// Returns whether the graph was instantiated in the context or uses code of it.
static bool ts__cs_graph_is_of(const ts__cs_graph *g, const void *context)
{
    bool is = g->context == context;
    for (size_t i = 0; i < g->count && !is; i++)
        is = g->nodes[i].code && g->nodes[i].code->context == context;
    return is;
}

static void ts__cs_graphs_left(const void *context)
{
    size_t kept = 0;
    pthread_mutex_lock(&ts__cs_ready.lock);
    for (size_t i = 0; i < ts__cs_ready.count; i++) {
        ts__cs_graph *const g = ts__cs_ready.graphs[i];
        if (ts__cs_graph_is_of(g, context))
            ts__cs_graph_free(g);
        else
            ts__cs_ready.graphs[kept++] = g;
    }
    ts__cs_ready.count = kept;
    pthread_mutex_unlock(&ts__cs_ready.lock);
}

static void ts__cs_graphs_forget(void)
{
    pthread_mutex_lock(&ts__cs_ready.lock);
    while (ts__cs_ready.count)
        ts__cs_graph_free(ts__cs_ready.graphs[--ts__cs_ready.count]);
    pthread_mutex_unlock(&ts__cs_ready.lock);
}

// Reads the graph as it is now. Returns NULL if the driver does not answer.
static ts__cs_graph *ts__cs_graph_request(const ts__cs_call *c, uint64_t source)
{
    ts__cs_job job;
    job.what = TS__CS_OWN;
    job.own = ts__cs_graph_new;
    job.context = c->context;
    job.object = (void *)(uintptr_t)source;
    job.found = NULL;
    job.drop = ts__cs_graph_drop;
    if (!ts__cs_is_safe(c->context) ||
        !ts__cs_request(&ts__cs.driver, &job, ts__cs_until()))
        return NULL;
    return (ts__cs_graph *)job.found;
}

static void ts__cs_graph_made(const ts__cs_call *c)
{
    const uint64_t ready = ts__cs_pointed(c, 0), source = ts__cs_argument(c, 8);
    ts__cs_graph_gone(ready);
    ts__cs_graph *const g = ts__cs_graph_request(c, source);
    if (!g) return; // its launches are declined
    g->ready = (void *)(uintptr_t)ready;
    g->source = (void *)(uintptr_t)source;
    g->context = c->context;
    ts__cs_graph_names(g);
    pthread_mutex_lock(&ts__cs_ready.lock);
    ts__cs_graph **const more = (ts__cs_graph **)ts__cs_more(
        (void *)ts__cs_ready.graphs, &ts__cs_ready.capacity, ts__cs_ready.count,
        sizeof *more);
    if (more) {
        ts__cs_ready.graphs = more;
        more[ts__cs_ready.count++] = g;
    }
    pthread_mutex_unlock(&ts__cs_ready.lock);
    if (!more) ts__cs_graph_free(g);
}

static bool ts__cs_any_off(const ts__cs_graph *g, uint32_t first, uint32_t end)
{
    for (size_t i = 0; i < g->count; i++)
        if (g->nodes[i].off && g->nodes[i].number - first < end - first)
            return true;
    return false;
}

// The whole graph is updated from another graph. It is not documented whether
// disabled nodes remain disabled.
static void ts__cs_graph_updated(const ts__cs_call *c)
{
    const uint64_t ready = ts__cs_argument(c, 0),
                   source = ts__cs_argument(c, 8);
    ts__cs_graph *const now = ts__cs_graph_request(c, source);
    pthread_mutex_lock(&ts__cs_ready.lock);
    ts__cs_graph *const g = ts__cs_graph_of(ready, NULL);
    if (g && (!now || ts__cs_any_off(g, 0, UINT32_MAX))) {
        g->reason = TS_REASON_ATTACHED_LATE;
    } else if (g) {
        if ((uintptr_t)g->source != source)
            ts__cs_handles_pass(g, 0, UINT32_MAX, now);
        const ts__cs_graph old = *g;
        *g = *now;
        *now = old;
        g->ready = old.ready;
        g->source = old.source;
        g->context = old.context;
        ts__cs_graph_names(g);
    }
    pthread_mutex_unlock(&ts__cs_ready.lock);
    ts__cs_graph_free(now);
}

/* ==== 3. Nodes =========================================================== */

// Translates the dependencies of a child graph's node to positions in the outer
// graph, and adds the dependency on node `begin`.
static bool ts__cs_after_within(ts__cs_node *n, uint32_t begin, uint32_t first)
{
    uint32_t *const more = (uint32_t *)realloc(
        n->after, ((size_t)n->after_count + 1) * sizeof *more);
    if (!more) return false;
    for (uint32_t i = 0; i < n->after_count; i++)
        more[i] += first;
    more[n->after_count++] = begin;
    n->after = more;
    return true;
}

// Replaces the nodes of the child graph that begins at `begin` with the nodes
// of another graph, which has as many. The other nodes keep their order.
static void ts__cs_child_move(ts__cs_graph *g, size_t begin, ts__cs_graph *now,
                              ts__cs_node *nodes, uint32_t *moved)
{
    const uint32_t first = g->nodes[begin].number + 1;
    const uint32_t end = g->nodes[begin].last, inside = end - first;
    uint32_t at = 0, child = 0, gone = 0;
    for (size_t i = 0; i < g->count; i++) {
        ts__cs_node *const n = &g->nodes[i];
        if (n->number - first < inside) {
            // The end node of the child graph waits for all of its nodes.
            moved[i] = child + gone++;
            ts__cs_node_free(n);
            continue;
        }
        moved[i] = at;
        nodes[at++] = *n;
        if (i != begin) continue;
        child = at;
        at += inside;
    }
    for (uint32_t i = 0; i < at; i++) {
        ts__cs_node *const n = &nodes[i];
        if (i - child < inside) {
            *n = now->nodes[i - child];
            n->number += first;
            n->last += n->last ? first : 0;
            if (!ts__cs_after_within(n, child - 1, child))
                g->reason = TS_REASON_NO_MEMORY;
            continue;
        }
        // The end node, which comes after all nodes of the child.
        const bool ends = n->number == end;
        for (uint32_t k = 0; k < n->after_count; k++)
            n->after[k] = ends ? child - 1 + k : moved[n->after[k]];
    }
    free(g->nodes);
    g->nodes = nodes;
    g->capacity = g->count;
    now->count = 0; // their ownership has moved to this graph
}

// Exchanges the child graph at `begin` for another one of the same shape.
static void ts__cs_child_put(ts__cs_graph *g, size_t begin, ts__cs_graph *now)
{
    const uint32_t first = g->nodes[begin].number + 1;
    const uint32_t end = g->nodes[begin].last;
    ts__cs_node *const nodes =
        (ts__cs_node *)calloc(g->count + 1, sizeof *nodes);
    uint32_t *const moved = (uint32_t *)calloc(g->count + 1, sizeof *moved);
    const bool fits = now && !now->reason && end >= first &&
                      now->count == end - first && nodes && moved &&
                      !ts__cs_any_off(g, first, end);
    if (fits) {
        ts__cs_handles_pass(g, first, end, now);
        ts__cs_child_move(g, begin, now, nodes, moved);
    } else {
        g->reason = now && now->reason ? now->reason : TS_REASON_ATTACHED_LATE;
        free(nodes);
    }
    free(moved);
}

// The new parameters that a call gives to a node.
typedef struct ts__cs_given {
    // The node type that the call applies to; -1: any, to be enabled or
    // disabled.
    int type;
    const void *what; // the vendor's parameter structure
    bool on;
    ts__cuda_kernel_node kernel;
    ts__cs_job job; // the query for the kernel's function
    bool answered;
    ts__cs_graph *graph;
} ts__cs_given;

// Returns false if this kind of change is not followed.
static bool ts__cs_given_read(const ts__cs_call *c, ts__cs_given *given)
{
    const void *const what = (const void *)(uintptr_t)ts__cs_argument(c, 16);
    const ts__cuda_any_node *const any = (const ts__cuda_any_node *)what;
    size_t size = sizeof given->kernel;
    memset(given, 0, sizeof *given);
    given->what = what;
    switch ((ts__cs_kind)c->rule->kind) {
    case TS__CS_NODE_KERNEL:
        given->type = TS__CUDA_NODE_KERNEL;
        if (!c->rule->width) size = TS__CUDA_KERNEL_NODE_OLD;
        break;
    case TS__CS_NODE_COPY: given->type = TS__CUDA_NODE_COPY; break;
    case TS__CS_NODE_SET: given->type = TS__CUDA_NODE_SET; break;
    case TS__CS_NODE_CHILD: given->type = TS__CUDA_NODE_CHILD; break;
    case TS__CS_NODE_ON:
        given->type = -1;
        given->on = ts__cs_argument32(c, 16) != 0;
        break;
    default: // any type: a copy node has more fields before its own
        given->type = any->type;
        given->what = any->type == TS__CUDA_NODE_COPY ? &any->as.copy.box
                                                      : (const void *)&any->as;
        if (any->type == TS__CUDA_NODE_CHILD) given->what = any->as.graph;
    }
    if (given->type == TS__CUDA_NODE_KERNEL)
        memcpy(&given->kernel, given->what, size);
    return given->type <= TS__CUDA_NODE_SET ||
           given->type == TS__CUDA_NODE_CHILD;
}

// Queries the driver for the kernel's function.
static void ts__cs_given_request(const ts__cs_call *c, ts__cs_given *given)
{
    if (given->type == TS__CUDA_NODE_CHILD)
        given->graph = ts__cs_graph_request(c, (uintptr_t)given->what);
    if (given->type != TS__CUDA_NODE_KERNEL) return;
    ts__cs_kernel_job(&given->kernel, c->context, &given->job);
    given->answered =
        ts__cs_is_safe(c->context) &&
        ts__cs_request(&ts__cs.driver, &given->job, ts__cs_until());
}

static void ts__cs_node_give(ts__cs_graph *g, size_t at, ts__cs_given *given)
{
    ts__cs_node *const n = &g->nodes[at];
    ts__cuda_set_node set;
    ts__cuda_box box;
    if (given->type == TS__CUDA_NODE_KERNEL) {
        ts__cs_node_kernel(n, &given->kernel, &given->job, given->answered);
    } else if (given->type == TS__CUDA_NODE_COPY) {
        memcpy(&box, given->what, sizeof box);
        ts__cs_node_copy(n, &box);
    } else if (given->type == TS__CUDA_NODE_SET) {
        memcpy(&set, given->what, sizeof set);
        ts__cs_node_set(n, &set);
    } else if (given->type == TS__CUDA_NODE_CHILD) {
        ts__cs_child_put(g, at, given->graph);
    } else {
        n->off = !given->on;
    }
}

/* ==== 4. Calls =========================================================== */

static void ts__cs_node_changed(const ts__cs_call *c)
{
    const void *const handle = (const void *)(uintptr_t)ts__cs_argument(c, 8);
    ts__cs_given given;
    if (!ts__cs_given_read(c, &given)) return;
    ts__cs_given_request(c, &given);
    pthread_mutex_lock(&ts__cs_ready.lock);
    ts__cs_graph *const g = ts__cs_graph_of(ts__cs_argument(c, 0), NULL);
    size_t at = 0;
    while (g && at < g->count && g->nodes[at].handle != handle)
        at++;
    if (g && at < g->count) {
        ts__cs_node_give(g, at, &given);
        ts__cs_graph_names(g);
    } else if (g) {
        g->reason = TS_REASON_ATTACHED_LATE; // the node is unknown
    }
    pthread_mutex_unlock(&ts__cs_ready.lock);
    ts__cs_graph_free(given.graph);
}

// Handles a successful call that concerns graphs.
static void ts__cs_graph_call_completed(const ts__cs_call *c)
{
    const ts__cs_kind kind = (ts__cs_kind)c->rule->kind;
    if (kind == TS__CS_GRAPH_READY) ts__cs_graph_made(c);
    if (kind == TS__CS_GRAPH_UPDATE) ts__cs_graph_updated(c);
    if (kind >= TS__CS_NODE_KERNEL && kind <= TS__CS_NODE_ANY)
        ts__cs_node_changed(c);
}

#endif // TS__GPU_GRAPH_CHANGES_H
