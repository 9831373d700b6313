/*
    opencl_double_graphs.h - what the double of OpenCL makes of command buffers

    Part of opencl_double.h, which includes it. A command is done as soon as it
    is noted: what is looked at is what it is given.
*/
#ifndef TS_TESTS_OPENCL_DOUBLE_GRAPHS_H
#define TS_TESTS_OPENCL_DOUBLE_GRAPHS_H

static ts__ox_handle
double_clCreateCommandBufferKHR(uint32_t count, const ts__ox_handle *queues,
                                const uint64_t *properties, int32_t *error)
{
    check(count == 1 && !properties == !double_overlaps, "another graph");
    return make(GRAPH, 0, is(*queues, QUEUE), error);
}

static int32_t double_clFinalizeCommandBufferKHR(ts__ox_handle graph)
{
    object *const g = is(graph, GRAPH);
    check(!g->hashes, "it was final");
    g->hashes = true;
    return g->element % 16 == 15 ? BAD : 0;
}

DOUBLE_RELEASE(CommandBufferKHR, GRAPH)

static int32_t double_clEnqueueCommandBufferKHR(uint32_t count,
                                                ts__ox_handle *queues,
                                                ts__ox_handle graph,
                                                TS__OX_QUEUED)
{
    check(count == 1 && !waits && !list, "waits");
    check(is(graph, GRAPH) && ((object *)graph)->hashes, "it is not final");
    return queued(*queues, event, 0);
}

// Points are numbers from 1; a command that fails has none.
static int32_t noted(ts__ox_handle graph, ts__ox_handle queue, uint32_t waits,
                     const uint32_t *list, uint32_t *point,
                     ts__ox_handle *command, ts__ox_handle event,
                     int32_t result)
{
    object *const g = is(graph, GRAPH);
    check(!queue && point && !command, "of another queue");
    check(!g->hashes, "a command behind the end");
    check(!waits == !list, "no list");
    for (uint32_t i = 0; i < waits; i++)
        check(list[i] && list[i] <= g->element, "no such point");
    if (event) drop(is(event, EVENT));
    if (!result) *point = (uint32_t)++g->element;
    return result;
}

static int32_t double_clCommandBarrierWithWaitListKHR(ts__ox_handle graph,
                                                      ts__ox_handle queue,
                                                      TS__OX_NOTED)
{
    return noted(graph, queue, waits, list, point, command, NULL, 0);
}

// The properties of a launch; no other command has any.
#define DOUBLE_NOTED(name, params, ...) \
    static int32_t double_clCommand##name##KHR( \
        ts__ox_handle graph, ts__ox_handle queue, TS__OX_LIST params, \
        TS__OX_NOTED) \
    { \
        ts__ox_handle event = NULL; \
        const int32_t result = double_clEnqueue##name( \
            is(graph, GRAPH)->parent, __VA_ARGS__, 0, NULL, &event); \
        return noted(graph, queue, waits, list, point, command, event, \
                     result); \
    }
#define TS__OX_LIST(...) __VA_ARGS__

DOUBLE_NOTED(NDRangeKernel,
             (const uint64_t *properties, ts__ox_handle kernel,
              uint32_t dimensions, const size_t *offset, const size_t *global,
              const size_t *local),
             (check(!properties, "properties"), kernel), dimensions, offset,
             global, local)
DOUBLE_NOTED(CopyBuffer,
             (ts__ox_handle from, ts__ox_handle to, size_t from_offset,
              size_t to_offset, size_t size),
             from, to, from_offset, to_offset, size)
DOUBLE_NOTED(CopyBufferRect,
             (ts__ox_handle from, ts__ox_handle to, const size_t *from_origin,
              const size_t *to_origin, const size_t *region, size_t from_row,
              size_t from_slice, size_t to_row, size_t to_slice),
             from, to, from_origin, to_origin, region, from_row, from_slice,
             to_row, to_slice)
DOUBLE_NOTED(CopyBufferToImage,
             (ts__ox_handle from, ts__ox_handle to, size_t offset,
              const size_t *origin, const size_t *region),
             from, to, offset, origin, region)
DOUBLE_NOTED(CopyImageToBuffer,
             (ts__ox_handle from, ts__ox_handle to, const size_t *origin,
              const size_t *region, size_t offset),
             from, to, origin, region, offset)
DOUBLE_NOTED(FillBuffer,
             (ts__ox_handle buffer, const void *pattern, size_t pattern_size,
              size_t offset, size_t size),
             buffer, pattern, pattern_size, offset, size)
DOUBLE_NOTED(FillImage,
             (ts__ox_handle image, const void *color, const size_t *origin,
              const size_t *region),
             image, color, origin, region)

static void *
double_clGetExtensionFunctionAddressForPlatform(ts__ox_handle platform,
                                                const char *wanted)
{
    void *found = NULL;
    check(platform == double_device, "no such platform");
#define TS__X(type, name, params) \
    type(*const own_##name) params = double_##name; \
    if (!strcmp(wanted, #name)) memcpy(&found, &own_##name, sizeof found);
    TS__OX_GRAPH_CALLS(TS__X)
#undef TS__X
    return found;
}

#endif // TS_TESTS_OPENCL_DOUBLE_GRAPHS_H
