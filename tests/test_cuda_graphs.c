// Captures of CUDA: launches of graphs, kept and run again.
#define _GNU_SOURCE
#define TRACESMITH_CUDA_EXEC_IMPLEMENTATION
#include "backends/ts_cuda_exec.h"
#include "tests/cuda_capture_fixture.h"

#include <sys/mman.h>

#define GRAPH_CALLS(X) \
    X(cuStreamIsCapturing, (void *, int *)) \
    X(cuStreamWaitEvent, (void *, void *, unsigned)) \
    X(cuEventCreate, (void **, unsigned)) \
    X(cuEventRecord, (void *, void *)) \
    X(cuMemcpyHtoDAsync_v2, (uint64_t, const void *, size_t, void *)) \
    X(cuGraphCreate, (void **, unsigned)) \
    X(cuGraphDestroy, (void *)) \
    X(cuGraphAddKernelNode_v2, \
      (void **, void *, void *const *, size_t, const ts__cuda_kernel_node *)) \
    X(cuGraphAddMemcpyNode, \
      (void **, void *, void *const *, size_t, const ts__cuda_box *, void *)) \
    X(cuGraphAddMemsetNode, (void **, void *, void *const *, size_t, \
                             const ts__cuda_set_node *, void *)) \
    X(cuGraphAddChildGraphNode, \
      (void **, void *, void *const *, size_t, void *)) \
    X(cuGraphAddNode_v2, \
      (void **, void *, void *const *, const void *, size_t, const int *)) \
    X(cuGraphKernelNodeSetAttribute, (void *, int, const void *)) \
    X(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long)) \
    X(cuGraphExecKernelNodeSetParams_v2, \
      (void *, void *, const ts__cuda_kernel_node *)) \
    X(cuGraphExecMemsetNodeSetParams, \
      (void *, void *, const ts__cuda_set_node *, void *)) \
    X(cuGraphExecChildGraphNodeSetParams, (void *, void *, void *)) \
    X(cuGraphNodeSetEnabled, (void *, void *, unsigned)) \
    X(cuGraphExecUpdate_v2, (void *, void *, void *)) \
    X(cuGraphExecDestroy, (void *)) \
    X(cuGraphLaunch, (void *, void *))
#define X(name, parameters) static int(*name) parameters;
GRAPH_CALLS(X)
#undef X

static void *graph, *ready, *biased;
static uint64_t others;

static int start_graphs(void **user)
{
    if (start(user)) return -1;
#define X(name, parameters) \
    { \
        void *const symbol = cu_symbol(RTLD_DEFAULT, #name); \
        memcpy(&name, &symbol, sizeof name); \
    }
    GRAPH_CALLS(X)
#undef X
    return 0;
}

static void begin_graphs(void)
{
    begin();
    ok(cuModuleGetFunction(&biased, module, "biased"));
    ok(cuMemAlloc_v2(&others, BYTES));
    for (int i = 0; i < COUNT; i++)
        ((uint32_t *)(uintptr_t)numbers)[i] = 10;
}

static void end_graphs(void)
{
    ok(cuMemFree_v2(others));
    end();
}

static uint32_t number_at(uint64_t address)
{
    return *(const uint32_t *)(uintptr_t)address;
}

/* ---- Graphs by hand ----------------------------------------------------- */

static void *add_kernel(void *const *after, size_t count, uint64_t address,
                        uint32_t value)
{
    void *arguments[] = { &address, &value }, *node;
    const ts__cuda_kernel_node kernel = { .function = add,
                                          .grid = { 4, 1, 1 },
                                          .block = { 256, 1, 1 },
                                          .arguments = arguments };
    ok(cuGraphAddKernelNode_v2(&node, graph, after, count, &kernel));
    return node;
}

static void *add_set(void *const *after, size_t count, uint64_t address,
                     uint32_t value)
{
    const ts__cuda_set_node set = {
        .to = address, .value = value, .width = 4, .count = COUNT, .rows = 1
    };
    void *node;
    ok(cuGraphAddMemsetNode(&node, graph, after, count, &set, &node));
    return node;
}

static void *add_copy(void *const *after, size_t count, ts__cuda_end to,
                      ts__cuda_end from)
{
    ts__cuda_box box = {
        .from = from, .to = to, .width = BYTES, .height = 1, .depth = 1
    };
    void *node;
    ok(cuGraphAddMemcpyNode(&node, graph, after, count, &box, &node));
    return node;
}

static void make_ready(void)
{
    ok(cuGraphInstantiateWithFlags(&ready, graph, 0));
    ok(cuGraphDestroy(graph));
}

static uint32_t nodes_of(const ts_capture *c, uint32_t kind)
{
    ts_capture_node node = { .index = 0 };
    uint32_t count = 0;
    while (ts_capture_node_next(c, &node))
        count += node.head.kind == kind;
    return count;
}

/* ---- Running them again ------------------------------------------------- */

// What was at the addresses of before is gone, or there again: the driver
// gives the rest of these granules to others.
static void set_free(bool is_free)
{
    const uint64_t granule = UINT64_C(2) << 20;
    for (int i = 0; i < 2; i++) {
        void *const at =
            (void *)(uintptr_t)((i ? others : numbers) & ~(granule - 1));
        if (is_free)
            munmap(at, granule);
        else
            mmap(at, granule, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    }
}

static ts_execution_item run_again(size_t count, size_t which)
{
    const ts_execution_desc desc = { .executor = &ts_cuda_executor };
    const size_t positions[] = { 0, 1, 2, 3 };
    ts_execution_item item;
    ts_execution *e;
    char why[200];
    ok(ts_execution_open(&e, trace.reader, positions, count, &desc, why,
                         sizeof why));
    ts_execution_run(e, which, &item);
    ts_execution_close(e);
    return item;
}

static void runs_the_same(size_t count, size_t which, uint32_t level)
{
    const ts_execution_item item = run_again(count, which);
    assert_string_equal(ts_reason_name(item.reason), "none");
    assert_int_equal(item.outcome, TS_OUTCOME_EXECUTED);
    assert_int_equal(item.level, level);
    assert_true(item.compared);
    assert_false(item.diverged);
}

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

static void a_graph_by_hand_is_one_operation_with_its_nodes(void **user)
{
    ts_capture_node node = { .index = 0 };
    ts_capture_image image;
    (void)user;
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
    // Last first, says the driver; they come in an order that all allow.
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
static void a_launch_has_the_correlation_of_its_nodes(void **user)
{
    (void)user;
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

static void a_recorded_graph_is_launched_twice_on_two_streams(void **user)
{
    void *other, *event;
    (void)user;
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

static void what_is_changed_of_a_graph_is_launched_changed(void **user)
{
    uint32_t value = 100;
    (void)user;
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

static void a_graph_takes_what_another_one_has(void **user)
{
    (void)user;
    begin_graphs();
    ok(cuGraphCreate(&graph, 0));
    void *const kernel = add_kernel(NULL, 0, numbers, 2);
    ok(cuGraphInstantiateWithFlags(&ready, graph, 0));
    ok(cuGraphCreate(&graph, 0));
    add_kernel(NULL, 0, numbers, 30);
    ok(cuGraphExecUpdate_v2(ready, graph, NULL));
    ok(cuGraphLaunch(ready, stream));
    assert_int_equal(number_at(numbers), 40);
    add_kernel(NULL, 0, numbers, 30);
    assert_int_not_equal(cuGraphExecUpdate_v2(ready, graph, NULL), 0);
    ok(cuGraphLaunch(ready, stream)); // as it was
    // Which node of it the first graph's is now, nobody says.
    uint32_t value = 1;
    void *arguments[] = { &numbers, &value };
    const ts__cuda_kernel_node more = { .function = add,
                                        .grid = { 4, 1, 1 },
                                        .block = { 256, 1, 1 },
                                        .arguments = arguments };
    ok(cuGraphExecKernelNodeSetParams_v2(ready, kernel, &more));
    ok(cuGraphLaunch(ready, stream));
    ok(cuGraphExecDestroy(ready));
    end_graphs();
    runs_the_same(2, 0, 2);
    runs_the_same(2, 1, 2);
    assert_int_equal(first_of(capture_at(1).regions[0].after), 70);
    declined_for(2, TS_REASON_ATTACHED_LATE);
    rt_close(&trace);
}

static void graphs_within_graphs_are_nodes_of_one(void **user)
{
    void *inner, *node;
    (void)user;
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

static void copies_of_nodes_keep_the_hosts_bytes(void **user)
{
    static uint32_t host[COUNT + 8], back[COUNT];
    (void)user;
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

static void a_changed_result_is_found_within_its_launch(void **user)
{
    (void)user;
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

static void asked_for_by_name_is_a_graph_with_such_a_kernel(void **user)
{
    const ts_snapshot_desc only = { .kernels = "add", .drain_ms = 60000 };
    const ts_snapshot_desc none = { .kernels = "biased", .drain_ms = 60000 };
    (void)user;
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

static void declined_is_what_cannot_be_run_again(void **user)
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
    (void)user;
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

static void graphs_of_before_and_changed_children_are_declined(void **user)
{
    void *early, *inner, *node;
    (void)user;
    ok(cuModuleLoadData(&module, cubin));
    ok(cuModuleGetFunction(&add, module, "add"));
    ok(cuMemAlloc_v2(&numbers, BYTES));
    ok(cuGraphCreate(&graph, 0));
    add_kernel(NULL, 0, numbers, 2);
    ok(cuGraphInstantiateWithFlags(&early, graph, 0));
    begin_graphs();
    ok(cuGraphLaunch(early, stream));
    ok(cuGraphCreate(&graph, 0));
    add_kernel(NULL, 0, numbers, 2);
    inner = graph;
    ok(cuGraphCreate(&graph, 0));
    ok(cuGraphAddChildGraphNode(&node, graph, NULL, 0, inner));
    ok(cuGraphInstantiateWithFlags(&ready, graph, 0));
    ok(cuGraphExecChildGraphNodeSetParams(ready, node, inner));
    ok(cuGraphLaunch(ready, stream));
    end_graphs();
    declined_for(0, TS_REASON_ATTACHED_LATE);
    declined_for(1, TS_REASON_ATTACHED_LATE);
    rt_close(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_by_hand_is_one_operation_with_its_nodes),
        cmocka_unit_test(a_launch_has_the_correlation_of_its_nodes),
        cmocka_unit_test(a_recorded_graph_is_launched_twice_on_two_streams),
        cmocka_unit_test(what_is_changed_of_a_graph_is_launched_changed),
        cmocka_unit_test(a_graph_takes_what_another_one_has),
        cmocka_unit_test(graphs_within_graphs_are_nodes_of_one),
        cmocka_unit_test(copies_of_nodes_keep_the_hosts_bytes),
        cmocka_unit_test(a_changed_result_is_found_within_its_launch),
        cmocka_unit_test(asked_for_by_name_is_a_graph_with_such_a_kernel),
        cmocka_unit_test(declined_is_what_cannot_be_run_again),
        cmocka_unit_test(graphs_of_before_and_changed_children_are_declined),
    };
    return cmocka_run_group_tests(tests, start_graphs, finish);
}
