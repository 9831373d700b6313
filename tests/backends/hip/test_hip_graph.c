// Captures of HIP: launches of graphs, captured and run again.
#define CALLS(X) \
    X(hipSetDevice) \
    X(hipModuleLoadData) \
    X(hipModuleGetFunction) \
    X(hipStreamCreateWithFlags) \
    X(hipMalloc) \
    X(hipFree) \
    X(hipMemcpyAsync) \
    X(hipMemsetD32Async) \
    X(hipEventCreate) \
    X(hipEventDestroy) \
    X(hipEventRecord) \
    X(hipStreamWaitEvent) \
    X(hipModuleLaunchKernel) \
    X(hipModuleLaunchCooperativeKernel) \
    X(hipStreamBeginCapture) \
    X(hipStreamEndCapture) \
    X(hipGraphCreate) \
    X(hipGraphDestroy) \
    X(hipGraphGetNodes) \
    X(hipGraphAddKernelNode) \
    X(hipGraphAddMemcpyNode) \
    X(hipGraphAddMemcpyNode1D) \
    X(hipGraphAddMemsetNode) \
    X(hipGraphAddChildGraphNode) \
    X(hipGraphInstantiateWithFlags) \
    X(hipGraphExecKernelNodeSetParams) \
    X(hipGraphExecMemsetNodeSetParams) \
    X(hipGraphExecMemcpyNodeSetParams1D) \
    X(hipGraphNodeSetEnabled) \
    X(hipGraphExecUpdate) \
    X(hipGraphExecDestroy) \
    X(hipGraphLaunch)
#include "tests/backends/hip/hip_capture_fixture.h"

static void *graph, *ready;

static void create(void)
{
    ok(call_hipGraphCreate(&graph, 0));
}

static hip_kernel_node kernel_of(uint32_t **to, uint32_t *value,
                                 void *arguments[2])
{
    arguments[0] = to;
    arguments[1] = value;
    const hip_kernel_node kernel = { .function = add,
                                     .grid = { 4, 1, 1 },
                                     .block = { 256, 1, 1 },
                                     .arguments = arguments };
    return kernel;
}

static void *add_kernel(void *after, uint32_t *to, uint32_t value)
{
    void *arguments[2], *node;
    const hip_kernel_node kernel = kernel_of(&to, &value, arguments);
    ok(call_hipGraphAddKernelNode(&node, graph, &after, after != NULL,
                                  &kernel));
    return node;
}

static void *add_set(void *after, uint32_t *to, uint32_t value)
{
    const hip_set_node set = {
        .to = to, .value = value, .width = 4, .count = COUNT, .rows = 1
    };
    void *node;
    ok(call_hipGraphAddMemsetNode(&node, graph, &after, after != NULL, &set));
    return node;
}

static void *add_copy(void *after, uint32_t *to, const uint32_t *from)
{
    void *node;
    ok(call_hipGraphAddMemcpyNode1D(&node, graph, &after, after != NULL, to,
                                    from, BYTES, 3));
    return node;
}

// 32 rows of 64 bytes, of which the first half is copied.
static void *add_box(void *after, uint32_t *to, uint32_t *from)
{
    const hip_box box = { .from = { from, 64, 64, 32 },
                          .to = { to, 64, 64, 32 },
                          .width = 32,
                          .height = 32,
                          .depth = 1,
                          .kind = 3 };
    void *node;
    ok(call_hipGraphAddMemcpyNode(&node, graph, &after, after != NULL, &box));
    return node;
}

static void make_ready(void)
{
    ok(call_hipGraphInstantiateWithFlags(&ready, graph, 0));
}

static void launch_graph(void)
{
    ok(call_hipGraphLaunch(ready, stream));
}

static int launch(uint32_t *to, uint32_t value, hipStream_t on)
{
    void *arguments[] = { &to, &value };
    return call_hipModuleLaunchKernel(add, 4, 1, 1, 256, 1, 1, 0, on, arguments,
                                      NULL);
}

static uint32_t nodes_of(const ts_capture *c, uint32_t kind)
{
    ts_capture_node node = { .index = 0 };
    uint32_t count = 0;
    while (ts_capture_node_next(c, &node))
        count += node.head.kind == kind;
    return count;
}

static void is_whole(size_t count, size_t which)
{
    const ts_capture c = capture_at(which);
    assert_int_equal(c.head.kind, TS_EVENT_GRAPH_LAUNCH);
    assert_string_equal(ts_reason_name(c.head.reason), "none");
    assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
    runs_the_same(count, which, 0);
}

/* ---- Tests -------------------------------------------------------------- */

UNIT_TEST(a_graph_by_hand_is_one_operation_with_its_nodes)
{
    ts_capture_node node = { .index = 0 };
    begin();
    create();
    void *const first = add_kernel(NULL, numbers, 2);     // 12
    void *const copy = add_copy(first, others, numbers);  // 12
    void *const next = add_kernel(copy, others, 5);       // 17
    void *const box = add_box(next, numbers + 8, others); // 17, by halves
    add_set(box, numbers, 7);
    make_ready();
    ok(call_hipGraphDestroy(graph));
    launch_graph();
    assert_int_equal(others[0], 17);
    assert_int_equal(numbers[0], 7);
    end();
    assert_int_equal(ts_reader_capture_count(trace.reader), 1);
    is_whole(1, 0);
    const ts_capture c = capture_at(0);
    assert_int_equal(nodes_of(&c, TS_EVENT_KERNEL), 2);
    assert_int_equal(nodes_of(&c, TS_EVENT_MEMCPY), 2);
    assert_int_equal(nodes_of(&c, TS_EVENT_MEMSET), 1);
    assert_true(ts_capture_node_next(&c, &node));
    assert_string_equal(ts_reader_name(trace.reader, node.head.name).text,
                        "add");
    assert_int_equal(node.head.args_size, 12);
    assert_int_equal(c.args[node.args_at + 8], 2);
    rt_close(&trace);
}

UNIT_TEST(a_recorded_graph_has_the_copies_of_two_streams)
{
    static uint32_t host[COUNT];
    hipStream_t other;
    hipEvent_t event;
    begin();
    for (int i = 0; i < COUNT; i++)
        host[i] = 20;
    ok(call_hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
    ok(call_hipEventCreate(&event));
    ok(call_hipStreamBeginCapture(stream, 2));
    ok(call_hipMemcpyAsync(numbers, host, BYTES, 1, stream));
    ok(call_hipEventRecord(event, stream));
    ok(call_hipStreamWaitEvent(other, event, 0));
    ok(call_hipMemcpyAsync(others, numbers, BYTES, 3, other));
    ok(call_hipEventRecord(event, other));
    ok(call_hipStreamWaitEvent(stream, event, 0));
    ok(launch(numbers, 3, stream));
    ok(call_hipMemsetD32Async(numbers, 1, 8, stream));
    ok(call_hipStreamEndCapture(stream, &graph));
    ok(call_hipEventDestroy(event));
    assert_int_equal(numbers[8], 10); // nothing ran
    make_ready();
    launch_graph();
    assert_int_equal(numbers[0], 1);
    end();
    const ts_capture c = capture_at(0);
    assert_int_equal(nodes_of(&c, TS_EVENT_MEMCPY), 2);
    is_whole(1, 0);
    rt_close(&trace);
}

UNIT_TEST(what_is_changed_of_a_graph_is_launched_changed)
{
    uint32_t value = 100, *to;
    void *arguments[2];
    begin();
    create();
    void *const kernel = add_kernel(NULL, numbers, 2);
    void *const copy = add_copy(kernel, others, numbers);
    void *const set = add_set(copy, numbers, 3);
    make_ready();
    to = numbers;
    hip_kernel_node more = kernel_of(&to, &value, arguments);
    more.grid.x = 2;
    const hip_set_node less = {
        .to = others + 1, .value = 9, .width = 4, .count = 2, .rows = 1
    };
    ok(call_hipGraphExecKernelNodeSetParams(ready, kernel, &more));
    ok(call_hipGraphExecMemsetNodeSetParams(ready, set, &less));
    ok(call_hipGraphExecMemcpyNodeSetParams1D(ready, copy, others + 4, numbers,
                                              64, 3));
    launch_graph(); // 110; others 10 9 9 10 110 ...
    assert_int_equal(numbers[0], 110);
    assert_int_equal(others[1], 9);
    assert_int_equal(others[4], 110);
    assert_int_equal(others[20], 10);
    ok(call_hipGraphNodeSetEnabled(ready, kernel, 0));
    launch_graph();
    end();
    const ts_capture c = capture_at(0), off = capture_at(1);
    ts_capture_node node = { .index = 0 };
    assert_true(ts_capture_node_next(&c, &node));
    assert_int_equal(node.head.grid[0], 2);
    assert_int_equal(c.args[node.args_at + 8], 100);
    assert_int_equal(nodes_of(&off, TS_EVENT_KERNEL), 0);
    is_whole(2, 0);
    is_whole(2, 1);
    rt_close(&trace);
}

UNIT_TEST(a_graph_takes_what_another_one_has)
{
    void *first, *unused;
    int result;
    begin();
    create();
    add_copy(add_kernel(NULL, numbers, 2), others, numbers);
    make_ready();
    first = graph;
    create();
    add_copy(add_kernel(NULL, others, 30), numbers, others); // 40
    ok(call_hipGraphExecUpdate(ready, graph, &unused, &result));
    launch_graph();
    assert_int_equal(numbers[0], 40);
    ok(call_hipGraphExecDestroy(ready));
    graph = first;
    make_ready();
    launch_graph();
    assert_int_equal(numbers[0], 42);
    end();
    is_whole(2, 0);
    is_whole(2, 1);
    rt_close(&trace);
}

UNIT_TEST(graphs_within_graphs_are_nodes_of_one)
{
    void *inner, *node;
    begin();
    create();
    add_set(add_kernel(NULL, numbers, 1), others, 6);
    inner = graph;
    create();
    void *const first = add_set(NULL, numbers, 50);
    ok(call_hipGraphAddChildGraphNode(&node, graph, &first, 1, inner));
    add_kernel(node, others, 8);
    make_ready();
    launch_graph();
    assert_int_equal(others[0], 14);
    end();
    const ts_capture c = capture_at(0);
    assert_int_equal(nodes_of(&c, TS_EVENT_KERNEL), 2);
    is_whole(1, 0);
    rt_close(&trace);
}

// HIP tells nothing about copies in a child graph, nor about cooperative
// kernels.
UNIT_TEST(what_hip_does_not_tell_is_declined)
{
    void *inner, *node;
    uint32_t value = 1;
    void *arguments[] = { &numbers, &value };
    begin();
    create();
    add_copy(NULL, others, numbers);
    inner = graph;
    create();
    ok(call_hipGraphAddChildGraphNode(&node, graph, NULL, 0, inner));
    make_ready();
    launch_graph();
    ok(call_hipStreamBeginCapture(stream, 2));
    ok(call_hipModuleLaunchCooperativeKernel(add, 4, 1, 1, 256, 1, 1, 0, stream,
                                             arguments));
    ok(call_hipStreamEndCapture(stream, &graph));
    make_ready();
    launch_graph();
    assert_int_equal(numbers[0], 11);
    end();
    declined_for(0, TS_REASON_ATTACHED_LATE);
    declined_for(1, TS_REASON_ATTACHED_LATE);
    rt_close(&trace);
}

static void record_cooperative(void)
{
    uint32_t value = 1;
    void *arguments[] = { &numbers, &value };
    ok(call_hipStreamBeginCapture(stream, 2));
    ok(call_hipModuleLaunchCooperativeKernel(add, 4, 1, 1, 256, 1, 1, 0, stream,
                                             arguments));
    ok(call_hipStreamEndCapture(stream, &graph));
}

// The node in the child graph is a copy, of which HIP does not tell more.
UNIT_TEST(a_recorded_cooperative_kernel_is_declined_in_a_graph_within)
{
    void *inner, *node;
    begin();
    record_cooperative();
    inner = graph;
    create();
    ok(call_hipGraphAddChildGraphNode(&node, graph, NULL, 0, inner));
    make_ready();
    launch_graph();
    assert_int_equal(numbers[0], 11);
    end();
    declined_for(0, TS_REASON_ATTACHED_LATE);
    rt_close(&trace);
    // Another session knows nothing of it.
    begin();
    create();
    add_kernel(NULL, numbers, 2);
    make_ready();
    launch_graph();
    end();
    is_whole(1, 0);
    rt_close(&trace);
}

UNIT_TEST(a_cooperative_kernel_stays_one_with_other_arguments)
{
    uint32_t value = 3, *to;
    size_t count = 1;
    void *arguments[2], *node;
    begin();
    record_cooperative();
    ok(call_hipGraphGetNodes(graph, &node, &count));
    make_ready();
    to = numbers;
    const hip_kernel_node more = kernel_of(&to, &value, arguments);
    ok(call_hipGraphExecKernelNodeSetParams(ready, node, &more));
    launch_graph();
    assert_int_equal(numbers[0], 13);
    end();
    declined_for(0, TS_REASON_ATTACHED_LATE);
    rt_close(&trace);
}

UNIT_TEST(a_recorded_copy_of_nothing_is_no_node)
{
    begin();
    numbers[0] = 4;
    ok(call_hipStreamBeginCapture(stream, 2));
    ok(call_hipMemcpyAsync(others, numbers, BYTES, 3, stream));
    ok(call_hipMemcpyAsync(numbers, others, 0, 3, stream));
    ok(call_hipStreamEndCapture(stream, &graph));
    make_ready();
    launch_graph();
    assert_int_equal(others[0], 4);
    end();
    const ts_capture c = capture_at(0);
    assert_int_equal(nodes_of(&c, TS_EVENT_MEMCPY), 1);
    is_whole(1, 0);
    rt_close(&trace);
}

UNIT_TEST(a_node_of_two_recorded_calls_is_nobodys)
{
    ts__hs_seen one = { .node = 8, .graph = 16, .recorded = true };
    ts__hs_seen_put(&one);

    assert_false(ts__hs_is_unlike((void *)8));
    one.box.width = 4;
    ts__hs_seen_put(&one);
    assert_true(ts__hs_is_unlike((void *)8));
    ts__hs_seen_gone(0, 16, false); // what has the address next is another one
    ts__hs_seen_put(&one);
    assert_false(ts__hs_is_unlike((void *)8));
    ts__hs_seen_done(16);
    ts__hs_seen_put(&one);
    assert_false(ts__hs_is_unlike((void *)8));
    ts__hs_seen_gone(8, 0, false);
}

int main(void)
{
    return unit_run(start, finish);
}
