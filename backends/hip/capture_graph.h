/*
    hip/capture_graph.h - graphs of HIP

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Answers the queries of ../gpu/graph.h by functions of HIP, whose
    structures differ. HIP does not describe every node: for a copy of plain
    bytes it leaves the answer unset, and of a kernel it omits that it is
    cooperative. So copies are known by the calls that made them: a call
    that adds a node has it, and what is recorded from a stream is its last
    node then. Copies of such a node are other nodes, of which that is
    unknown; a kernel itself is remembered.

    Nothing is guessed: copies in graphs that HIP itself made of others
    (child graphs, clones) are declined.

    CONTENTS                            search for "==== 2." to jump
        1. Nodes whose calls were seen
        2. Queries
        3. Kernels
        4. What calls change
*/
#ifndef TS__HIP_CAPTURE_GRAPH_H
#define TS__HIP_CAPTURE_GRAPH_H

#include "tracesmith.h"
#include "../ts_capture.h"
#include "../capture/memory.h"
#include "../gpu/cuda_abi.h"
#include "../gpu/driver.h"
#include "../gpu/driver_requests.h"
#include "../gpu/exclusive.h"
#include "../gpu/functions.h"
#include "../gpu/graph.h"
#include "../gpu/graph_changes.h"
#include "../gpu/graph_launch.h"
#include "../gpu/modules.h"
#include "../gpu/operations.h"
#include "../gpu/state.h"
#include "../gpu/textures.h"
#include "../gpu/waiting.h"
#include "capture_arguments.h"
#include "capture_calls.h"
#include "capture_code.h"
#include "capture_driver.h"
#include "capture_functions.h"
#include "capture_launches.h"
#include "capture_variables.h"
#include "code.h"

#include <pthread.h>
#include <string.h>

/* ==== 1. Nodes whose calls were seen ===================================== */

typedef struct ts__hs_seen {
    uint64_t node;  // sorted by node
    uint64_t graph; // the graph that contains it
    // recorded: its recording has not ended; unlike: HIP describes the node
    // incompletely.
    bool recorded, unlike;
    ts__cuda_box box; // for copies
} ts__hs_seen;

static struct {
    pthread_mutex_t lock;
    ts__hs_seen *nodes;
    size_t count, capacity;
    // Kernel functions and memset destinations that were recorded by calls
    // which HIP describes incompletely.
    uint64_t *not_reported;
    size_t unreported_count, unreported_capacity;
    // An entry was lost for lack of memory, so all count as such.
    bool all_unreported;
} ts__hs_nodes = { .lock = PTHREAD_MUTEX_INITIALIZER };

// Returns NULL if the node's call was not seen. The caller holds the lock.
static ts__hs_seen *ts__hs_seen_of(uint64_t node)
{
    const size_t after =
        ts_capture_range_after(ts__hs_nodes.nodes, ts__hs_nodes.count,
                               sizeof *ts__hs_nodes.nodes, node);
    ts__hs_seen *const s = after ? &ts__hs_nodes.nodes[after - 1] : NULL;
    return s && s->node == node ? s : NULL;
}

static bool ts__hs_seen_get(const void *node, ts__hs_seen *seen)
{
    pthread_mutex_lock(&ts__hs_nodes.lock);
    const ts__hs_seen *const s = ts__hs_seen_of((uintptr_t)node);
    if (s) *seen = *s;
    pthread_mutex_unlock(&ts__hs_nodes.lock);
    return s != NULL;
}

// Two calls with the same last node: one of them added none, and it is unknown
// which.
static bool ts__hs_seen_twice(const ts__hs_seen *known, const ts__hs_seen *seen)
{
    return known->recorded && seen->recorded && known->graph == seen->graph;
}

static void ts__hs_seen_put(const ts__hs_seen *seen)
{
    pthread_mutex_lock(&ts__hs_nodes.lock);
    ts__hs_seen *const known = ts__hs_seen_of(seen->node);
    const bool twice = known && ts__hs_seen_twice(known, seen);
    ts__hs_seen *const more =
        known ? NULL
              : (ts__hs_seen *)ts__cs_more(ts__hs_nodes.nodes,
                                           &ts__hs_nodes.capacity,
                                           ts__hs_nodes.count, sizeof *more);
    if (known) *known = *seen;
    if (twice) known->unlike = true;
    if (more) {
        ts__hs_nodes.nodes = more;
        const size_t at = ts_capture_range_after(more, ts__hs_nodes.count,
                                                 sizeof *more, seen->node);
        memmove(&more[at + 1], &more[at],
                (ts__hs_nodes.count++ - at) * sizeof *more);
        more[at] = *seen;
    }
    pthread_mutex_unlock(&ts__hs_nodes.lock);
}

// HIP also describes copies of this node incompletely.
static void ts__hs_unreported_put(uint64_t object)
{
    bool known = false;
    pthread_mutex_lock(&ts__hs_nodes.lock);
    for (size_t i = 0; i < ts__hs_nodes.unreported_count && !known; i++)
        known = ts__hs_nodes.not_reported[i] == object;
    uint64_t *const more =
        known ? NULL
              : (uint64_t *)ts__cs_more(ts__hs_nodes.not_reported,
                                        &ts__hs_nodes.unreported_capacity,
                                        ts__hs_nodes.unreported_count,
                                        sizeof *more);
    if (more) {
        ts__hs_nodes.not_reported = more;
        more[ts__hs_nodes.unreported_count++] = object;
    }
    ts__hs_nodes.all_unreported |= !known && !more;
    pthread_mutex_unlock(&ts__hs_nodes.lock);
}

static bool ts__hs_is_unreported(const void *object)
{
    pthread_mutex_lock(&ts__hs_nodes.lock);
    bool is = ts__hs_nodes.all_unreported;
    for (size_t i = 0; i < ts__hs_nodes.unreported_count && !is; i++)
        is = ts__hs_nodes.not_reported[i] == (uintptr_t)object;
    pthread_mutex_unlock(&ts__hs_nodes.lock);
    return is;
}

// Forgets a node, the nodes of a graph, or those being recorded (0, 0, false:
// none of these), because their addresses may be reused.
static void ts__hs_seen_gone(uint64_t node, uint64_t graph, bool recorded)
{
    size_t kept = 0;
    pthread_mutex_lock(&ts__hs_nodes.lock);
    for (size_t i = 0; i < ts__hs_nodes.count; i++) {
        const ts__hs_seen *const s = &ts__hs_nodes.nodes[i];
        if ((!node || s->node != node) && (!graph || s->graph != graph) &&
            !(recorded && s->recorded))
            ts__hs_nodes.nodes[kept++] = *s;
    }
    ts__hs_nodes.count = kept;
    pthread_mutex_unlock(&ts__hs_nodes.lock);
}

// The recording of a graph has ended.
static void ts__hs_seen_done(uint64_t graph)
{
    pthread_mutex_lock(&ts__hs_nodes.lock);
    for (size_t i = 0; i < ts__hs_nodes.count; i++)
        if (ts__hs_nodes.nodes[i].graph == graph)
            ts__hs_nodes.nodes[i].recorded = false;
    pthread_mutex_unlock(&ts__hs_nodes.lock);
}

/* ==== 2. Queries ========================================================= */

static struct {
    int (*type)(void *, int *);
    int (*kernel)(void *, void *), (*set)(void *, void *);
    int (*attribute)(void *, int, void *);
    int (*recorded)(void *, int *, unsigned long long *, void **, void ***,
                    size_t *);
} ts__hs_graph_call;

// HIP numbers node types from 12 on differently from CUDA.
static int ts__hs_node_type(void *node, int *type)
{
    const int result = ts__hs_graph_call.type(node, type);
    if (*type == 12 || *type == 13)
        *type = TS__CUDA_NODE_COPY; // copy from or to a symbol
    else if (*type > 13)
        *type = TS__CUDA_NODE_MEMOP;
    return result;
}

static bool ts__hs_is_unlike(const void *node)
{
    ts__hs_seen seen;
    return ts__hs_seen_get(node, &seen) && seen.unlike;
}

static int ts__hs_node_kernel(void *node, ts__cuda_kernel_node *kernel)
{
    ts__hs_kernel_node k;
    memset(&k, 0, sizeof k);
    if (ts__hs_is_unlike(node) || ts__hs_graph_call.kernel(node, &k) != 0 ||
        ts__hs_is_unreported(k.function))
        return 1;
    ts__hs_kernel_of(kernel, &k);
    return 0;
}

static int ts__hs_node_set(void *node, ts__cuda_set_node *set)
{
    ts__hs_set_node s;
    memset(&s, 0, sizeof s);
    if (ts__hs_is_unlike(node) || ts__hs_graph_call.set(node, &s) != 0 ||
        ts__hs_is_unreported((const void *)(uintptr_t)s.to))
        return 1;
    ts__hs_set_of(set, &s);
    return 0;
}

static int ts__hs_node_copy(void *node, ts__cuda_box *box)
{
    ts__hs_seen seen;
    if (!ts__hs_seen_get(node, &seen) || seen.unlike) return 1;
    *box = seen.box;
    return 0;
}

// Other attributes have no effect on the result.
static int ts__hs_node_attribute(void *node, int id, void *value)
{
    return id == TS_CUDA_LAUNCH_COOPERATIVE
               ? ts__hs_graph_call.attribute(node, id, value)
               : 1;
}

// The function itself serves as the `module`, because it has its code.
static int ts__hs_function_query(void **module, void *handle)
{
    *module = ts__hs_function_at(handle, ts__hs_call.device);
    return *module ? 0 : 1;
}

static int ts__hs_function_name(const char **name, void *handle)
{
    const ts__hs_function *const f =
        ts__hs_function_at(handle, ts__hs_call.device);
    *name = f ? f->name : NULL;
    return f ? 0 : 1;
}

static void ts__hs_find_graphs(void *library, ts__cs_calls *call)
{
    if (!ts__hs_graph_call.type) {
        ts__hs_symbol(library, "hipGraphKernelNodeGetParams",
                      &ts__hs_graph_call.kernel);
        ts__hs_symbol(library, "hipGraphMemsetNodeGetParams",
                      &ts__hs_graph_call.set);
        ts__hs_symbol(library, "hipGraphKernelNodeGetAttribute",
                      &ts__hs_graph_call.attribute);
        ts__hs_symbol(library, "hipStreamGetCaptureInfo_v2",
                      &ts__hs_graph_call.recorded);
        ts__hs_symbol(library, "hipGraphNodeGetType", &ts__hs_graph_call.type);
    }
    ts__hs_symbol(library, "hipGraphGetNodes", &call->nodes);
    ts__hs_symbol(library, "hipGraphGetEdges", &call->edges_old);
    ts__hs_symbol(library, "hipGraphChildGraphNodeGetGraph", &call->node_child);
    call->module = ts__hs_function_query;
    call->name = ts__hs_function_name;
    call->node_copy = ts__hs_node_copy;
    if (ts__hs_graph_call.type) call->node_type = ts__hs_node_type;
    if (ts__hs_graph_call.kernel) call->node_kernel = ts__hs_node_kernel;
    if (ts__hs_graph_call.set) call->node_set = ts__hs_node_set;
    if (ts__hs_graph_call.attribute)
        call->node_attribute = ts__hs_node_attribute;
}

/* ==== 3. Kernels ========================================================= */

static ts_reason ts__hs_node_arguments(ts__cs_node *n,
                                       const ts__cuda_kernel_node *k,
                                       ts__cs_job *job, bool answered)
{
    ts__amd_kernel how;
    ts_capture_op op;
    const ts__hs_function *const f = (const ts__hs_function *)job->module;
    ts__hs_code *const code = f ? f->code : NULL;
    (void)answered; // HIP does not report the parameters
    memset(&op, 0, sizeof op);
    n->object = code;
    if (!code) return TS_REASON_IMAGE_MISSING;
    if (!ts__amd_kernel_read(&how, code->bytes, code->size, n->name))
        return TS_REASON_PARAM_LAYOUT_UNKNOWN;
    const ts__cs_layout layout = ts__hs_layout(&how);
    if (!ts__cs_flatten(&layout, k->arguments, k->more, &op, &n->args))
        return TS_REASON_PARAM_LAYOUT_UNKNOWN;
    n->head.args_size = op.head.args_size;
    return TS_REASON_NONE;
}

static void ts__hs_put_kernel(const ts__cs_call *c, ts_capture_op *op,
                              const ts__cs_node *n, uint8_t *args, uint32_t at)
{
    ts__amd_kernel how;
    ts_capture_operation head = n->head;
    ts__hs_code *const code = (ts__hs_code *)n->object;
    head.image = ts__hs_image(c, code);
    head.name = ts_name_define(n->name);
    if (!head.image) ts_capture_decline(op, TS_REASON_IMAGE_MISSING);
    if (n->head.args_size) memcpy(args + at, n->args, n->head.args_size);
    ts_capture_node_add(op, &head, n->after, n->after_count);
    for (uint32_t i = 0; i < n->attribute_count; i++)
        ts_capture_attribute_add(op, TS_ATTRIBUTE_CUDA_LAUNCH,
                                 &n->attributes[i], sizeof *n->attributes);
    if (ts__amd_kernel_read(&how, code->bytes, code->size, n->name))
        ts__hs_parameters(op, &how, args + at, at);
    ts__cs_textures_used(op, args + at, n->head.args_size, at);
}

/* ==== 4. What calls change =============================================== */

static bool ts__hs_query_recorded(ts__cs_job *job)
{
    int status = 0;
    unsigned long long id = 0;
    void *graph = NULL, **last = NULL;
    size_t count = 0;
    if (!ts__hs_graph_call.recorded ||
        ts__hs_graph_call.recorded(job->object, &status, &id, &graph, &last,
                                   &count) != 0 ||
        status != 1 || count != 1)
        return false;
    job->address = (uintptr_t)last[0];
    job->module = graph;
    return true;
}

// Gets the box of a copy from the arguments of a call. Returns false if it is
// no copy.
static bool ts__hs_box_of(const ts__cs_call *c, ts__cuda_box *box)
{
    const ts__cs_kind kind = (ts__cs_kind)c->rule->kind;
    memset(box, 0, sizeof *box);
    if (kind == TS__CS_COPY) {
        ts__hs_end(&box->to, ts__cs_argument(c, 0), 0);
        ts__hs_end(&box->from, ts__cs_argument(c, 8), 0);
        box->width = ts__cs_argument(c, 16);
        box->height = box->depth = 1;
    } else if (kind == TS__CS_COPY_BOX && ts__cs_argument(c, 0)) {
        memcpy(box, (const void *)(uintptr_t)ts__cs_argument(c, 0),
               sizeof *box);
    }
    return kind == TS__CS_COPY || kind == TS__CS_COPY_BOX;
}

static bool ts__hs_is_nothing(const ts__cuda_box *box)
{
    return !box->width || !box->height || !box->depth;
}

// Notes the node that a call added to the graph its stream is recorded into, if
// HIP would not describe it. A copy of 0 bytes adds no node; the last node is
// then another call's.
static void ts__hs_recorded(const ts__cs_call *c)
{
    const bool how = c->rule->kind == TS__CS_LAUNCH_HOW;
    ts__cs_job job;
    ts__hs_seen seen;
    void *stream;
    memset(&seen, 0, sizeof seen);
    memset(&job, 0, sizeof job);
    seen.recorded = true;
    seen.unlike = !ts__hs_box_of(c, &seen.box);
    if (!TS__LOAD(&ts__cs.recording)) return;
    // It may be unknown whether this stream is the one being recorded.
    if (seen.unlike) ts__hs_unreported_put(ts__cs_argument(c, how ? 8 : 0));
    if (!seen.unlike && ts__hs_is_nothing(&seen.box)) return;
    if (!ts__cs_stream_here(c, &stream) || (uintptr_t)stream <= 2) return;
    job.what = TS__CS_OWN;
    job.own = ts__hs_query_recorded;
    job.context = c->context;
    job.object = stream;
    if (!ts__cs_is_safe(c->context) ||
        !ts__cs_request(&ts__cs.driver, &job, ts__cs_until()))
        return;
    seen.node = job.address;
    seen.graph = (uintptr_t)job.module;
    ts__hs_seen_put(&seen);
}

// A copy node was added or changed explicitly; its arguments begin at `at`.
static void ts__hs_node_made(const ts__cs_call *c, const ts__cuda_box *box)
{
    ts__hs_seen seen;
    const bool made = c->rule->kind == TS__HS_COPY_ADDED;
    const uint64_t node = made ? ts__cs_pointed(c, 0) : ts__cs_argument(c, 0);
    memset(&seen, 0, sizeof seen);
    if (!made && !ts__hs_seen_get((const void *)(uintptr_t)node, &seen)) return;
    seen.node = node;
    if (made) seen.graph = ts__cs_argument(c, 8);
    seen.box = *box;
    ts__hs_seen_put(&seen);
}

// Handles a call that has returned, successfully or not.
static void ts__hs_graph_returned(const ts__cs_call *c, const ts__hs_rule *rule,
                                  const ts__cuda_box *box)
{
    const uint8_t kind = c->rule->kind;
    const bool ends = kind == TS__CS_RECORDED;
    if (ends && c->result)
        // With its graph; other nodes are declined.
        ts__hs_seen_gone(0, 0, true);
    else if (ends)
        ts__hs_seen_done(ts__cs_pointed(c, 8));
    else if (c->result)
        return;
    else if (kind == TS__HS_COPY_ADDED || kind == TS__HS_COPY_CHANGED)
        ts__hs_node_made(c, box);
    else if (kind == TS__CS_COPY || kind == TS__CS_COPY_BOX ||
             kind == TS__CS_LAUNCH_COOPERATIVE || kind == TS__CS_LAUNCH_HOW ||
             rule->how == TS__HS_CUBE) // a node's description lacks the depth
        ts__hs_recorded(c);
}

static void ts__hs_graphs_forget(void)
{
    ts__cs_graphs_forget();
    pthread_mutex_lock(&ts__hs_nodes.lock);
    ts__hs_nodes.count = ts__hs_nodes.unreported_count = 0;
    ts__hs_nodes.all_unreported = false;
    pthread_mutex_unlock(&ts__hs_nodes.lock);
}

static const ts__cs_graph_calls ts__hs_graphs = {
    .named = ts__cs_graph_named,
    .launch = ts__cs_graph_launch,
    .completed = ts__cs_graph_call_completed,
    .gone = ts__cs_graph_gone,
    .forget = ts__hs_graphs_forget,
    .arguments = ts__hs_node_arguments,
    .put_kernel = ts__hs_put_kernel,
};

#endif // TS__HIP_CAPTURE_GRAPH_H
