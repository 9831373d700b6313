// Captures of CUDA: launches of graphs, captured and run again.
#define _GNU_SOURCE
#include "tests/backends/cuda/cuda_graph_fixture.h"

/* ---- Tests -------------------------------------------------------------- */

// numbers = (10 + 2) * ...: set, add, a copy to others, biased back.
static void build_chain(void)
{
    ok(cuGraphCreate(&graph, 0));
    void *const first = add_kernel(NULL, 0, numbers, 2); // 12
    void *const copy = add_copy(&first, 1,               // others = 12
                                (ts__cuda_end){ .type = 2, .device = others },
                                (ts__cuda_end){ .type = 2, .device = numbers });
    void *const next = add_kernel(&copy, 1, others, 5); // 17
    add_set(&next, 1, numbers, 7);                      // 7
}

UNIT_TEST(a_graph_by_hand_is_one_operation_with_its_nodes)
{
    ts_capture_node node = { .index = 0 };
    ts_capture_image image;
    begin_graphs();
    build_chain();
    make_ready();
    ok(cuGraphLaunch(ready, stream));
    assert_int_equal(number_at(numbers), 7);
    assert_int_equal(number_at(others), 17);
    end_graphs();
    assert_int_equal(ts_reader_capture_count(trace.reader), 1);
    const ts_capture c = capture_at(0);
    assert_int_equal(c.head.kind, TS_EVENT_GRAPH_LAUNCH);
    assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
    assert_int_equal(reached(&c), 2);
    // The driver lists them last first; they come in a valid order.
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(ts_capture_node_next(&c, &node));
        assert_int_equal(node.after_count, i != 0);
        if (i) assert_int_equal(node.after[0], i - 1);
        if (i % 2 == 0) {
            assert_int_equal(node.head.kind, TS_EVENT_KERNEL);
            assert_string_equal(
                ts_reader_name(trace.reader, node.head.name).text, "add");
            assert_int_equal(node.head.args_size, 12);
            assert_int_equal(node.args_at, i * 32);
            assert_int_equal(c.args[node.args_at + 8], i ? 5 : 2);
            assert_true(ts_reader_image(trace.reader, node.head.image, &image));
        }
    }
    assert_int_equal(node.head.kind, TS_EVENT_MEMSET);
    assert_false(ts_capture_node_next(&c, &node));
    assert_int_equal(first_of(c.regions[0].before), 10);
    runs_the_same(1, 0, 2); // its addresses are taken
    set_free(true);
    runs_the_same(1, 0, 1);
    set_free(false);
    rt_close(&trace);
}

// Its rows share the correlation of the launch, and so does the capture.
UNIT_TEST(a_launch_has_the_correlation_of_its_nodes)
{
    begin_graphs();
    build_chain();
    make_ready();
    ok(cuGraphLaunch(ready, stream));
    end_graphs();
    const ts_capture c = capture_at(0);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, NULL), 4);
    for (size_t i = 0; i < trace.count; i++)
        if (trace.rows[i].kind == TS_EVENT_KERNEL)
            assert_int_equal(trace.rows[i].values[TS_COLUMN_CORRELATION],
                             c.head.correlation);
    rt_close(&trace);
}

UNIT_TEST(a_recorded_graph_is_launched_twice_on_two_streams)
{
    void *other, *event;
    begin_graphs();
    ok(cuStreamCreate(&other, 1));
    ok(cuEventCreate(&event, 0));
    ok(cuStreamBeginCapture_v2(stream, 0));
    ok(launch(add, numbers, 1));
    ok(cuEventRecord(event, stream));
    ok(cuStreamWaitEvent(other, event, 0));
    ok(cuMemsetD32Async(others, 3, COUNT, other));
    ok(cuEventRecord(event, other));
    ok(cuStreamWaitEvent(stream, event, 0));
    ok(launch(add, others, 4));
    ok(cuStreamEndCapture(stream, &graph));
    assert_int_equal(number_at(numbers), 10);
    make_ready();
    ok(cuGraphLaunch(ready, stream));
    ok(cuGraphLaunch(ready, other));
    assert_int_equal(number_at(numbers), 12);
    assert_int_equal(number_at(others), 7);
    end_graphs();
    // What was recorded is no operation.
    assert_int_equal(ts_reader_capture_count(trace.reader), 2);
    const ts_capture first = capture_at(0), second = capture_at(1);
    assert_int_not_equal(first.head.track, second.head.track);
    assert_int_equal(nodes_of(&first, TS_EVENT_KERNEL), 2);
    assert_int_equal(nodes_of(&first, TS_EVENT_MEMSET), 1);
    runs_the_same(2, 0, 2);
    runs_the_same(2, 1, 2);
    rt_close(&trace);
}

UNIT_TEST(graphs_within_graphs_are_nodes_of_one)
{
    void *inner, *node;
    begin_graphs();
    ok(cuGraphCreate(&graph, 0));
    void *const one = add_kernel(NULL, 0, numbers, 1);
    add_copy(&one, 1, (ts__cuda_end){ .type = 2, .device = others },
             (ts__cuda_end){ .type = 2, .device = numbers });
    inner = graph;
    ok(cuGraphCreate(&graph, 0));
    void *const first = add_set(NULL, 0, numbers, 50);
    ok(cuGraphAddChildGraphNode(&node, graph, &first, 1, inner));
    add_kernel(&node, 1, others, 8);
    make_ready();
    ok(cuGraphLaunch(ready, stream));
    assert_int_equal(number_at(others), 59);
    end_graphs();
    const ts_capture c = capture_at(0);
    assert_int_equal(nodes_of(&c, TS_EVENT_KERNEL), 2);
    assert_int_equal(nodes_of(&c, 0), 2); // where it begins, and ends
    runs_the_same(1, 0, 2);
    rt_close(&trace);
}

UNIT_TEST(copies_of_nodes_keep_the_hosts_bytes)
{
    static uint32_t host[COUNT + 8], back[COUNT];
    for (int i = 0; i < COUNT + 8; i++)
        host[i] = 20;
    begin_graphs();
    ok(cuGraphCreate(&graph, 0));
    void *nodes[3];
    nodes[0] = add_copy(NULL, 0, (ts__cuda_end){ .type = 2, .device = numbers },
                        (ts__cuda_end){ .type = 1, .host = host });
    nodes[1] = add_copy(NULL, 0, (ts__cuda_end){ .type = 2, .device = others },
                        (ts__cuda_end){ .type = 1, .host = host + 8 });
    nodes[2] = add_kernel(nodes, 2, numbers, 3);
    add_copy(&nodes[2], 1, (ts__cuda_end){ .type = 1, .host = back },
             (ts__cuda_end){ .type = 2, .device = numbers });
    make_ready();
    ok(cuGraphLaunch(ready, stream));
    assert_int_equal(back[COUNT - 1], 23);
    memset(host, 0, sizeof host); // it is in the trace
    end_graphs();
    // Both copies from the host overlap: they are one region, beside that of
    // the copy back and two of the device.
    const ts_capture c = capture_at(0);
    assert_int_equal(reached(&c), 4);
    runs_the_same(1, 0, 2);
    rt_close(&trace);
}

UNIT_TEST(a_changed_result_is_found_within_its_launch)
{
    begin_graphs();
    build_chain();
    make_ready();
    ok(cuGraphLaunch(ready, stream));
    end_graphs();
    setenv("DOUBLE_CUDA_WRONG", "add", 1);
    const ts_execution_item item = run_again(1, 0);
    unsetenv("DOUBLE_CUDA_WRONG");
    assert_int_equal(item.outcome, TS_OUTCOME_EXECUTED);
    assert_true(item.diverged);
    assert_int_equal(item.address, others);
    rt_close(&trace);
}

UNIT_TEST(asked_for_by_name_is_a_graph_with_such_a_kernel)
{
    const ts_capture_desc only = { .kernels = "add", .drain_ms = 60000 };
    const ts_capture_desc none = { .kernels = "biased", .drain_ms = 60000 };
    for (int i = 0; i < 2; i++) {
        begin_with(i ? &none : &only);
        ok(cuGraphCreate(&graph, 0));
        add_kernel(NULL, 0, numbers, 2);
        make_ready();
        ok(cuGraphLaunch(ready, stream));
        end();
        assert_int_equal(ts_reader_capture_count(trace.reader), 1 - i);
        rt_close(&trace);
    }
}

UNIT_TEST(declined_is_what_cannot_be_run_again)
{
    static const struct {
        int type;
        ts_reason reason;
    } cases[] = {
        { 3, TS_REASON_HOST_CALLBACK },   { 8, TS_REASON_EXTERNAL_MEMORY },
        { 9, TS_REASON_EXTERNAL_MEMORY }, { 10, TS_REASON_DEVICE_HEAP },
        { 11, TS_REASON_DEVICE_HEAP },    { 12, TS_REASON_STREAM_MEMOP },
        { 13, TS_REASON_COND_GRAPH },
    };
    const size_t count = sizeof cases / sizeof *cases;
    const uint32_t on[16] = { 1 };
    const uint32_t cluster[16] = { 2, 1, 1 };
    void *node;
    begin_graphs();
    for (size_t i = 0; i < count; i++) {
        ok(cuGraphCreate(&graph, 0));
        add_kernel(NULL, 0, numbers, 2);
        ok(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &cases[i].type));
        make_ready();
        ok(cuGraphLaunch(ready, stream));
    }
    ok(cuGraphCreate(&graph, 0));
    node = add_kernel(NULL, 0, numbers, 2);
    ok(cuGraphKernelNodeSetAttribute(node, 13, on));
    make_ready();
    ok(cuGraphLaunch(ready, stream));
    uint32_t value = 3; // it may be updated whatever it is given
    void *arguments[] = { &numbers, &value };
    const ts__cuda_kernel_node more = { .function = add,
                                        .grid = { 4, 1, 1 },
                                        .block = { 256, 1, 1 },
                                        .arguments = arguments };
    ok(cuGraphExecKernelNodeSetParams_v2(ready, node, &more));
    ok(cuGraphLaunch(ready, stream));
    ok(cuGraphCreate(&graph, 0)); // and what can
    node = add_kernel(NULL, 0, numbers, 2);
    ok(cuGraphKernelNodeSetAttribute(node, 4, cluster));
    const int record = 7;
    ok(cuGraphAddNode_v2(&node, graph, NULL, NULL, 0, &record));
    make_ready();
    ok(cuGraphLaunch(ready, stream));
    end_graphs();
    for (size_t i = 0; i < count; i++)
        declined_for(i, cases[i].reason);
    declined_for(count, TS_REASON_DEVICE_UPDATABLE_NODE);
    declined_for(count + 1, TS_REASON_DEVICE_UPDATABLE_NODE);
    const ts_capture c = capture_at(count + 2);
    ts_attribute a;
    assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
    assert_true(
        ts_attribute_find(&c.attributes, TS_ATTRIBUTE_CUDA_LAUNCH, 72, &a));
    assert_int_equal(((const uint32_t *)a.bytes)[0], 4);
    rt_close(&trace);
}

UNIT_TEST(graphs_of_before_are_declined)
{
    void *early;
    ok(cuModuleLoadData(&module, cubin));
    ok(cuModuleGetFunction(&add, module, "add"));
    ok(cuMemAlloc_v2(&numbers, BYTES));
    ok(cuGraphCreate(&graph, 0));
    add_kernel(NULL, 0, numbers, 2);
    ok(cuGraphInstantiateWithFlags(&early, graph, 0));
    begin_graphs();
    ok(cuGraphLaunch(early, stream));
    end_graphs();
    declined_for(0, TS_REASON_ATTACHED_LATE);
    rt_close(&trace);
}

int main(void)
{
    return unit_run(start_graphs, finish);
}
