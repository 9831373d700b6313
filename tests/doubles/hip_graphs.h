/*
    hip_graphs.h - graphs of the double of libamdhip64.so, done by its device: a
    part of amdhip64.c

    As the real one it does not say what copies of plain bytes do.
*/

#define ATTRIBUTE(name) \
    PLAIN(hip##name, cu##name, (void *node, int id, void *value), \
          (node, id, value))
ATTRIBUTE(GraphKernelNodeGetAttribute)
ATTRIBUTE(GraphKernelNodeSetAttribute)
PLAIN(hipGraphCreate, cuGraphCreate, (void **graph, unsigned flags),
      (graph, flags))
PLAIN(hipGraphAddChildGraphNode, cuGraphAddChildGraphNode,
      (void **node, void *graph, void *const *after, size_t count, void *child),
      (node, graph, after, count, child))
PLAIN(hipGraphGetNodes, cuGraphGetNodes,
      (void *graph, void **nodes, size_t *count), (graph, nodes, count))
PLAIN(hipGraphNodeGetType, cuGraphNodeGetType, (void *node, int *type),
      (node, type))
PLAIN(hipGraphChildGraphNodeGetGraph, cuGraphChildGraphNodeGetGraph,
      (void *node, void **graph), (node, graph))
EXPORT int hipStreamGetCaptureInfo_v2(hipStream_t stream, int *status,
                                      unsigned long long *id, void **graph,
                                      void *const **last, size_t *count);
int hipStreamGetCaptureInfo_v2(hipStream_t stream, int *status,
                               unsigned long long *id, void **graph,
                               void *const **last, size_t *count)
{
    uint64_t number = 0;
    const int result = ON_DEVICE->cuStreamGetCaptureInfo_v2(
        device_stream(stream), status, &number, graph, last, count);
    *id = number;
    return result;
}

EXPORT int hipGraphGetEdges(void *graph, void **from, void **to, size_t *count);
int hipGraphGetEdges(void *graph, void **from, void **to, size_t *count)
{
    uint64_t *const more = calloc(*count + 1, sizeof *more);
    const int result =
        ON_DEVICE->cuGraphGetEdges_v2(graph, from, to, more, count);
    free(more);
    return result;
}

/* ---- Nodes -------------------------------------------------------------- */

// A kernel by the function of the host that stands for it, or its handle.
static struct hip_function *function_given(void *handle)
{
    struct hip_function *const k = handle;
    return k >= hip.kernels && k < hip.kernels + KERNELS ? k
                                                         : function_at(handle);
}

static int kernel_of(device_kernel *to, const hip_kernel_node *k)
{
    const struct hip_function *const f = function_given(k->function);
    const dim3 dims[2] = { k->grid, k->block };
    memset(to, 0, sizeof *to);
    if (!f) return hipErrorInvalidValue;
    to->function = object_of(f);
    memcpy(to->grid, dims, sizeof dims);
    to->shared = k->shared;
    to->arguments = k->arguments;
    to->more = k->extra;
    return hipSuccess;
}

static void set_of(device_set *to, const hip_set_node *s)
{
    const device_set set = { (uintptr_t)s->to, s->pitch, s->value,
                             s->width,         s->count, s->rows };
    *to = set;
}

static device_box line_of(void *to, const void *from, size_t size)
{
    device_box b;
    memset(&b, 0, sizeof b);
    b.from.type = b.to.type = 2;
    b.from.device = (uintptr_t)from;
    b.to.device = (uintptr_t)to;
    b.width = size;
    b.height = b.depth = 1;
    return b;
}

static device_box box_of(const hip_box *given)
{
    device_box b = line_of(given->to.at, given->from.at, given->width);
    b.from.pitch = given->from.pitch;
    b.to.pitch = given->to.pitch;
    b.from.x = given->from_x;
    b.from.y = given->from_y;
    b.to.x = given->to_x;
    b.to.y = given->to_y;
    b.height = given->height;
    b.depth = given->depth;
    return b;
}

EXPORT int hipGraphAddKernelNode(void **node, void *graph, void *const *after,
                                 size_t count, const hip_kernel_node *k)
{
    device_kernel kernel;
    const int result = kernel_of(&kernel, k);
    return result ? result
                  : ON_DEVICE->cuGraphAddKernelNode_v2(node, graph, after,
                                                       count, &kernel);
}

EXPORT int hipGraphAddMemsetNode(void **node, void *graph, void *const *after,
                                 size_t count, const hip_set_node *s)
{
    device_set set;
    set_of(&set, s);
    return ON_DEVICE->cuGraphAddMemsetNode(node, graph, after, count, &set,
                                           &set);
}

EXPORT int hipGraphAddMemcpyNode(void **node, void *graph, void *const *after,
                                 size_t count, const hip_box *given)
{
    BEGIN(hipGraphAddMemcpyNode, node, graph, after, count, given);
    device_box b = box_of(given);
    return end(
        &c, ON_DEVICE->cuGraphAddMemcpyNode(node, graph, after, count, &b, &b));
}

EXPORT int hipGraphAddMemcpyNode1D(void **node, void *graph, void *const *after,
                                   size_t count, void *to, const void *from,
                                   size_t size, int kind)
{
    BEGIN(hipGraphAddMemcpyNode1D, node, graph, after, count, to, from, size,
          kind);
    device_box b = line_of(to, from, size);
    return end(
        &c, ON_DEVICE->cuGraphAddMemcpyNode(node, graph, after, count, &b, &b));
}

EXPORT int hipGraphKernelNodeGetParams(void *node, hip_kernel_node *k);
int hipGraphKernelNodeGetParams(void *node, hip_kernel_node *k)
{
    device_kernel kernel;
    const int result = ON_DEVICE->cuGraphKernelNodeGetParams_v2(node, &kernel);
    if (result) return result;
    dim3 dims[2];
    memcpy(dims, kernel.grid, sizeof dims);
    k->grid = dims[0];
    k->block = dims[1];
    k->shared = kernel.shared;
    k->arguments = kernel.arguments;
    k->extra = kernel.more;
    for (uint32_t i = 0; i < hip.kernel_count; i++) {
        struct hip_function *const f = &hip.kernels[i];
        if (object_of(f) != kernel.function) continue;
        k->function = f;
        if (f->function) memcpy(&k->function, &f->function, sizeof(void *));
    }
    return hipSuccess;
}

EXPORT int hipGraphMemsetNodeGetParams(void *node, hip_set_node *s);
int hipGraphMemsetNodeGetParams(void *node, hip_set_node *s)
{
    device_set set;
    const int result = ON_DEVICE->cuGraphMemsetNodeGetParams(node, &set);
    s->to = (void *)(uintptr_t)set.to;
    s->width = set.width;
    s->rows = set.rows;
    s->pitch = set.pitch;
    s->value = set.value;
    s->count = set.count;
    return result;
}

/* ---- Graphs that are ready ---------------------------------------------- */

#define TOLD(name, device_name, parameters, ...) \
    EXPORT int name parameters; \
    int name parameters \
    { \
        BEGIN(name, __VA_ARGS__); \
        return end(&c, ON_DEVICE->device_name(__VA_ARGS__)); \
    }
TOLD(hipGraphDestroy, cuGraphDestroy, (void *graph), graph)
TOLD(hipGraphExecDestroy, cuGraphExecDestroy, (void *ready), ready)
TOLD(hipGraphInstantiateWithFlags, cuGraphInstantiateWithFlags,
     (void **ready, void *graph, unsigned long long flags), ready, graph, flags)
TOLD(hipGraphNodeSetEnabled, cuGraphNodeSetEnabled,
     (void *ready, void *node, unsigned on), ready, node, on)

EXPORT int hipGraphExecUpdate(void *ready, void *graph, void **node,
                              int *result)
{
    BEGIN(hipGraphExecUpdate, ready, graph, node, result);
    return end(&c, ON_DEVICE->cuGraphExecUpdate_v2(ready, graph, result));
}

EXPORT int hipGraphExecKernelNodeSetParams(void *ready, void *node,
                                           const hip_kernel_node *k)
{
    BEGIN(hipGraphExecKernelNodeSetParams, ready, node, k);
    device_kernel kernel;
    const int result = kernel_of(&kernel, k);
    return end(&c, result ? result
                          : ON_DEVICE->cuGraphExecKernelNodeSetParams_v2(
                                ready, node, &kernel));
}

EXPORT int hipGraphExecMemsetNodeSetParams(void *ready, void *node,
                                           const hip_set_node *s)
{
    BEGIN(hipGraphExecMemsetNodeSetParams, ready, node, s);
    device_set set;
    set_of(&set, s);
    return end(
        &c, ON_DEVICE->cuGraphExecMemsetNodeSetParams(ready, node, &set, &set));
}

EXPORT int hipGraphExecMemcpyNodeSetParams1D(void *ready, void *node, void *to,
                                             const void *from, size_t size,
                                             int kind)
{
    BEGIN(hipGraphExecMemcpyNodeSetParams1D, ready, node, to, from, size, kind);
    device_box b = line_of(to, from, size);
    return end(&c,
               ON_DEVICE->cuGraphExecMemcpyNodeSetParams(ready, node, &b, &b));
}

EXPORT int hipGraphLaunch(void *ready, hipStream_t stream)
{
    BEGIN(hipGraphLaunch, ready, stream);
    double_op op = { .kind = DOUBLE_KERNEL,
                     .name = "node_of_graph", // one stands for all
                     .number = KERNELS + 2,
                     .items = { 256, 1, 1 },
                     .block = { 256, 1, 1 } };
    const int result = ON_DEVICE->cuGraphLaunch(ready, device_stream(stream));
    if (!result) submit_on(&op, stream);
    return end(&c, result);
}
