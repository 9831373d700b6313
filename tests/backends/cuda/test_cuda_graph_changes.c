// Captures of CUDA: executable graphs that change between their launches.
#define _GNU_SOURCE
#include "tests/backends/cuda/cuda_graph_fixture.h"

// What a kernel that adds is told.
static ts__cuda_kernel_node kernel_of(void **arguments)
{
    const ts__cuda_kernel_node kernel = { .function = add,
                                          .grid = { 4, 1, 1 },
                                          .block = { 256, 1, 1 },
                                          .arguments = arguments };
    return kernel;
}

static int change_kernel(void *node, uint64_t address, uint32_t value)
{
    void *arguments[] = { &address, &value };
    const ts__cuda_kernel_node more = kernel_of(arguments);
    return cuGraphExecKernelNodeSetParams_v2(ready, node, &more);
}

// The values that a launch adds, one for each kernel, in their order.
static void adds(size_t which, const uint8_t *values, size_t count)
{
    const ts_capture c = capture_at(which);
    ts_capture_node node = { .index = 0 };
    size_t seen = 0;
    assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
    while (ts_capture_node_next(&c, &node)) {
        if (node.head.kind != TS_EVENT_KERNEL) continue;
        assert_true(seen < count);
        assert_int_equal(c.args[node.args_at + 8], values[seen++]);
    }
    assert_int_equal(seen, count);
}

// A graph of one kernel behind another, and the last of them.
static void *build_two(uint32_t first, uint32_t second)
{
    ok(cuGraphCreate(&graph, 0));
    void *const one = add_kernel(NULL, 0, numbers, first);
    return add_kernel(&one, 1, numbers, second);
}

UNIT_TEST(what_is_changed_of_a_graph_is_launched_changed)
{
    uint32_t value = 100;
    begin_graphs();
    ok(cuGraphCreate(&graph, 0));
    void *const kernel = add_kernel(NULL, 0, numbers, 2);
    void *const set = add_set(&kernel, 1, others, 3);
    ok(cuGraphInstantiateWithFlags(&ready, graph, 0));
    ok(cuGraphLaunch(ready, stream)); // 12, 3
    void *arguments[] = { &numbers, &value };
    const ts__cuda_kernel_node more = { .function = add,
                                        .grid = { 2, 1, 1 },
                                        .block = { 256, 1, 1 },
                                        .arguments = arguments };
    const ts__cuda_set_node short_one = {
        .to = others + 4, .value = 9, .width = 4, .count = 2, .rows = 1
    };
    ok(cuGraphExecKernelNodeSetParams_v2(ready, kernel, &more));
    ok(cuGraphExecMemsetNodeSetParams(ready, set, &short_one, &value));
    ok(cuGraphLaunch(ready, stream)); // 112, 3 9 9 3
    ok(cuGraphNodeSetEnabled(ready, kernel, 0));
    ok(cuGraphLaunch(ready, stream)); // 112, 3 9 9 3
    assert_int_equal(number_at(numbers), 112);
    assert_int_equal(number_at(others), 3);
    end_graphs();
    const ts_capture c = capture_at(1), off = capture_at(2);
    ts_capture_node node = { .index = 0 };
    assert_true(ts_capture_node_next(&c, &node));
    assert_int_equal(node.head.grid[0], 2);
    assert_int_equal(c.args[node.args_at + 8], 100);
    assert_int_equal(nodes_of(&off, TS_EVENT_KERNEL), 0);
    for (size_t i = 0; i < 3; i++)
        runs_the_same(3, i, 2);
    rt_close(&trace);
}

UNIT_TEST(a_graph_takes_what_another_one_has)
{
    begin_graphs();
    void *const last = build_two(2, 3);
    ok(cuGraphInstantiateWithFlags(&ready, graph, 0));
    build_two(30, 40);
    ok(cuGraphExecUpdate_v2(ready, graph, NULL));
    ok(cuGraphLaunch(ready, stream));
    assert_int_equal(number_at(numbers), 80);
    add_kernel(NULL, 0, numbers, 30);
    assert_int_not_equal(cuGraphExecUpdate_v2(ready, graph, NULL), 0);
    ok(cuGraphLaunch(ready, stream)); // as it was
    // Nodes are named by those of the first graph, as ever.
    ok(change_kernel(last, numbers, 5));
    ok(cuGraphLaunch(ready, stream));
    assert_int_equal(number_at(numbers), 185);
    ok(cuGraphExecDestroy(ready));
    end_graphs();
    adds(0, (const uint8_t[]){ 30, 40 }, 2);
    adds(1, (const uint8_t[]){ 30, 40 }, 2);
    adds(2, (const uint8_t[]){ 30, 5 }, 2);
    for (size_t i = 0; i < 3; i++)
        runs_the_same(3, i, 2);
    rt_close(&trace);
}

// Two identical nodes may be taken for each other; a third one may not.
UNIT_TEST(nodes_that_are_alike_are_known_together_only)
{
    void *nodes[2][3];
    begin_graphs();
    for (uint32_t i = 0; i < 2; i++) {
        ok(cuGraphCreate(&graph, 0));
        nodes[i][0] = add_kernel(NULL, 0, numbers, 1 + i);
        nodes[i][1] = add_kernel(NULL, 0, others, 10 + i);
        nodes[i][2] = add_kernel(nodes[i], 2, others, 20 + i);
        if (!i) ok(cuGraphInstantiateWithFlags(&ready, graph, 0));
    }
    ok(cuMemsetD32Async(others, 0, COUNT, stream));
    ok(cuGraphExecUpdate_v2(ready, graph, NULL));
    ok(cuGraphLaunch(ready, stream));
    ok(change_kernel(nodes[0][2], others, 40));
    ok(cuGraphLaunch(ready, stream));
    assert_int_equal(number_at(others), 11 + 21 + 11 + 40);
    ok(change_kernel(nodes[0][0], numbers, 7));
    ok(cuGraphLaunch(ready, stream));
    // Another update, and all of them are known again.
    ok(cuGraphExecUpdate_v2(ready, graph, NULL));
    ok(cuGraphLaunch(ready, stream));
    end_graphs();
    for (size_t i = 1; i < 5; i++)
        if (i != 3) runs_the_same(5, i, 2);
    declined_for(3, TS_REASON_ATTACHED_LATE);
    rt_close(&trace);
}

// If one was disabled, an update leaves unknown whether it is enabled.
UNIT_TEST(an_update_of_a_graph_with_nodes_turned_off)
{
    begin_graphs();
    void *const last = build_two(2, 3);
    ok(cuGraphInstantiateWithFlags(&ready, graph, 0));
    ok(cuGraphNodeSetEnabled(ready, last, 0));
    ok(cuGraphExecUpdate_v2(ready, graph, NULL));
    ok(cuGraphLaunch(ready, stream));
    end_graphs();
    declined_for(0, TS_REASON_ATTACHED_LATE);
    rt_close(&trace);
}

// The only node of a graph within another.
static void *node_within(void *child)
{
    void *inner, *node;
    size_t count = 1;
    ok(cuGraphChildGraphNodeGetGraph(child, &inner));
    ok(cuGraphGetNodes(inner, &node, &count));
    assert_int_equal(count, 1);
    return node;
}

// A kernel in a graph in a graph, with another behind it.
static void *build_nest(uint32_t within, uint32_t behind)
{
    void *node;
    ok(cuGraphCreate(&graph, 0));
    add_kernel(NULL, 0, numbers, within);
    void *const inner = graph;
    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphAddChildGraphNode(&node, graph, NULL, 0, inner));
    add_kernel(&node, 1, numbers, behind);
    return graph;
}

UNIT_TEST(a_graph_within_is_exchanged_for_another)
{
    void *child, *inner, *nodes[2];
    size_t count = 2;
    begin_graphs();
    void *const nest = build_nest(3, 4);
    ok(cuGraphCreate(&graph, 0));
    void *const first = add_kernel(NULL, 0, numbers, 1);
    ok(cuGraphAddChildGraphNode(&child, graph, &first, 1, nest));
    void *const last = add_kernel(&child, 1, numbers, 2);
    ok(cuGraphInstantiateWithFlags(&ready, graph, 0));
    ok(cuGraphLaunch(ready, stream));
    ok(cuGraphExecChildGraphNodeSetParams(ready, child, build_nest(30, 40)));
    ok(cuGraphLaunch(ready, stream));
    // Those behind it, and within it, have the names that they had.
    ok(change_kernel(last, numbers, 5));
    ok(cuGraphChildGraphNodeGetGraph(child, &inner));
    ok(cuGraphGetNodes(inner, nodes, &count)); // last first
    ok(change_kernel(node_within(nodes[1]), numbers, 6));
    ok(cuGraphLaunch(ready, stream));
    assert_int_equal(number_at(numbers), 10 + 10 + 73 + 52);
    end_graphs();
    adds(0, (const uint8_t[]){ 1, 3, 4, 2 }, 4);
    adds(1, (const uint8_t[]){ 1, 30, 40, 2 }, 4);
    adds(2, (const uint8_t[]){ 1, 6, 40, 5 }, 4);
    for (size_t i = 0; i < 3; i++)
        runs_the_same(3, i, 2);
    rt_close(&trace);
}

UNIT_TEST(nodes_of_any_type_are_changed_by_one_function)
{
    uint32_t value = 50;
    void *arguments[] = { &numbers, &value };
    ts__cuda_any_node kernel = { .type = TS__CUDA_NODE_KERNEL };
    ts__cuda_any_node set = { .type = TS__CUDA_NODE_SET };
    ts__cuda_any_node copy = { .type = TS__CUDA_NODE_COPY };
    ts__cuda_any_node within = { .type = TS__CUDA_NODE_CHILD };
    void *nodes[4];
    begin_graphs();
    ok(cuGraphCreate(&graph, 0));
    add_kernel(NULL, 0, others, 1);
    void *const inner = graph;
    ok(cuGraphCreate(&graph, 0));
    nodes[0] = add_set(NULL, 0, numbers, 3);
    nodes[1] = add_kernel(nodes, 1, numbers, 2);
    nodes[2] =
        add_copy(&nodes[1], 1, (ts__cuda_end){ .type = 2, .device = others },
                 (ts__cuda_end){ .type = 2, .device = numbers });
    ok(cuGraphAddChildGraphNode(&nodes[3], graph, &nodes[2], 1, inner));
    void *const whole = graph;
    ok(cuGraphInstantiateWithFlags(&ready, whole, 0));
    ok(cuGraphLaunch(ready, stream));
    assert_int_equal(number_at(others), 6);
    kernel.as.kernel = kernel_of(arguments);
    set.as.set = (ts__cuda_set_node){
        .to = numbers, .value = 9, .width = 4, .count = COUNT, .rows = 1
    };
    copy.as.copy.box = (ts__cuda_box){ .from = { .type = 2, .device = numbers },
                                       .to = { .type = 2, .device = others },
                                       .width = BYTES / 2,
                                       .height = 1,
                                       .depth = 1 };
    ok(cuGraphCreate(&graph, 0));
    add_kernel(NULL, 0, others, 4);
    within.as.graph = graph;
    ok(cuGraphExecNodeSetParams(ready, nodes[1], &kernel));
    ok(cuGraphExecNodeSetParams(ready, nodes[0], &set));
    ok(cuGraphExecNodeSetParams(ready, nodes[2], &copy));
    ok(cuGraphExecNodeSetParams(ready, nodes[3], &within));
    ok(cuGraphLaunch(ready, stream));
    assert_int_equal(number_at(others), 63);
    assert_int_equal(number_at(others + BYTES / 2), 10);
    end_graphs();
    for (size_t i = 0; i < 2; i++)
        runs_the_same(2, i, 2);
    rt_close(&trace);
}

int main(void)
{
    return unit_run(start_graphs, finish);
}
