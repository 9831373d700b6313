// Branches of captured CUDA graphs run concurrently: an executor around the
// real one records what waits for what.
#define _GNU_SOURCE
#include "tests/backends/cuda/cuda_graph_fixture.h"

enum { STREAMS = 64, EVENTS = 1024, MOST = 64 };

// The kernels that are over before the next operation of a stream, or before an
// event: a bit for each, numbered by its value.
static struct {
    uint64_t streams[STREAMS], events[EVENTS], before[MOST];
    uint64_t on[MOST]; // stream of a kernel
    uint64_t used;     // streams with kernels
    size_t made, launched;
} seen;

static ts_result hear_launch(void *state, uint64_t on,
                             const ts_executor_launch *l)
{
    uint32_t value;
    memcpy(&value, (const uint8_t *)l->args + 8, sizeof value);
    assert_true(on < STREAMS && value < MOST);
    seen.before[value] = seen.streams[on];
    seen.streams[on] |= UINT64_C(1) << value;
    seen.on[value] = on;
    seen.used |= UINT64_C(1) << on;
    seen.launched++;
    return ts_cuda_executor.launch(state, on, l);
}

static ts_result hear_event(void *state, uint64_t on, uint64_t *event)
{
    const ts_result result = ts_cuda_executor.event(state, on, event);
    assert_true(*event < EVENTS);
    seen.events[*event] = seen.streams[on];
    seen.made++;
    return result;
}

static ts_result hear_event_again(void *state, uint64_t on, uint64_t event)
{
    seen.events[event] = seen.streams[on];
    return ts_cuda_executor.event_again(state, on, event);
}

static ts_result hear_event_wait(void *state, uint64_t on, uint64_t event)
{
    seen.streams[on] |= seen.events[event];
    return ts_cuda_executor.event_wait(state, on, event);
}

// Runs the captures one after another; all give their recorded results.
static void hear(size_t count, uint32_t loops)
{
    ts_executor listener = ts_cuda_executor;
    listener.launch = hear_launch;
    listener.event = hear_event;
    listener.event_again = hear_event_again;
    listener.event_wait = hear_event_wait;
    const ts_execution_desc desc = { .executor = &listener, .loops = loops };
    const size_t positions[] = { 0, 1, 2, 3 };
    ts_execution_item item;
    ts_execution *e;
    char why[200];
    memset(&seen, 0, sizeof seen);
    ok(ts_execution_open(&e, trace.reader, positions, count, &desc, why,
                         sizeof why));
    for (size_t i = 0; i < count; i++) {
        ts_execution_run(e, i, &item);
        assert_int_equal(item.outcome, TS_OUTCOME_EXECUTED);
        assert_true(item.compared);
        assert_false(item.diverged);
        assert_false(item.unstable);
    }
    ts_execution_close(e);
}

static bool is_before(uint32_t first, uint32_t second)
{
    return seen.before[second] >> first & 1;
}

static size_t streams_used(void)
{
    return (size_t)__builtin_popcountll(seen.used);
}

// A kernel of the graph, which adds its number behind those of a mask.
static void *nodes[MOST];

static void add_node(uint32_t number, uint64_t mask)
{
    void *after[MOST];
    size_t count = 0;
    for (uint32_t i = 0; i < number; i++)
        if (mask >> i & 1) after[count++] = nodes[i];
    nodes[number] =
        add_kernel(after, count, number & 1 ? numbers : others, number);
}

static void capture_graph(void)
{
    make_ready();
    ok(cuGraphLaunch(ready, stream));
    end_graphs();
}

UNIT_TEST(branches_run_concurrently)
{
    begin_graphs();
    ok(cuGraphCreate(&graph, 0));
    // 1 -> 2 -> 3 -> 6, 1 -> 4 -> 6, 5 -> 6, 1 -> 7
    add_node(1, 0);
    add_node(2, 1 << 1);
    add_node(3, 1 << 2);
    add_node(4, 1 << 1);
    add_node(5, 0);
    add_node(6, 1 << 3 | 1 << 4 | 1 << 5);
    add_node(7, 1 << 1);
    capture_graph();
    hear(1, 1);
    const uint8_t edges[][2] = { { 1, 2 }, { 2, 3 }, { 1, 4 }, { 3, 6 },
                                 { 4, 6 }, { 5, 6 }, { 1, 7 } };
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        assert_true(is_before(edges[i][0], edges[i][1]));
    const uint8_t unordered[][2] = { { 1, 5 }, { 2, 4 }, { 3, 4 }, { 4, 5 },
                                     { 7, 2 }, { 7, 6 }, { 5, 3 } };
    for (size_t i = 0; i < sizeof unordered / sizeof *unordered; i++) {
        assert_false(is_before(unordered[i][0], unordered[i][1]));
        assert_false(is_before(unordered[i][1], unordered[i][0]));
    }
    assert_int_equal(streams_used(), 4);
    rt_close(&trace);
}

UNIT_TEST(a_chain_takes_one_stream_and_no_events)
{
    begin_graphs();
    ok(cuGraphCreate(&graph, 0));
    for (uint32_t i = 1; i < 20; i++)
        add_node(i, i > 1 ? UINT64_C(1) << (i - 1) : 0);
    capture_graph();
    hear(1, 1);
    assert_int_equal(streams_used(), 1);
    assert_int_equal(seen.made, 0);
    rt_close(&trace);
}

UNIT_TEST(there_are_eight_streams_at_most)
{
    begin_graphs();
    ok(cuGraphCreate(&graph, 0));
    for (uint32_t i = 1; i < 30; i++)
        add_node(i, 0);
    capture_graph();
    hear(1, 1);
    assert_int_equal(seen.launched, 29);
    assert_int_equal(streams_used(), 8);
    rt_close(&trace);
}

// What comes behind a launch on its stream waits for all of it, and so does a
// launch of the same graph; events are used again.
UNIT_TEST(a_launch_ends_when_all_of_its_branches_do)
{
    begin_graphs();
    ok(cuGraphCreate(&graph, 0));
    for (uint32_t i = 1; i < 6; i++)
        add_node(i, i == 5 ? 1 << 1 : 0);
    ok(cuGraphInstantiateWithFlags(&ready, graph, 0));
    ok(cuGraphLaunch(ready, stream));
    ok(launch(add, numbers, 9));
    end_graphs();
    hear(2, 1);
    const size_t made = seen.made;
    assert_true(made > 0);
    assert_int_equal(seen.before[9], (1 << 6) - 2);
    hear(2, 20);
    assert_int_equal(seen.launched, 20 * 6);
    assert_int_equal(seen.made, made);
    rt_close(&trace);
}

// Random graphs: what waits for a node, directly or not, comes after it.
UNIT_TEST(every_edge_of_any_graph_is_kept)
{
    uint64_t random = 88172645463325252u;
    for (int round = 0; round < 12; round++) {
        uint64_t all[MOST] = { 0 }; // that come before
        begin_graphs();
        ok(cuGraphCreate(&graph, 0));
        for (uint32_t i = 1; i < 40; i++) {
            uint64_t mask = 0;
            for (int k = 0; k < round % 4; k++) {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                const uint32_t other = (uint32_t)(random % 40);
                if (other && other < i) mask |= UINT64_C(1) << other;
            }
            for (uint32_t k = 1; k < i; k++)
                if (mask >> k & 1) all[i] |= all[k] | UINT64_C(1) << k;
            add_node(i, mask);
        }
        capture_graph();
        hear(1, 1);
        assert_int_equal(seen.launched, 39);
        assert_true(streams_used() <= 8);
        for (uint32_t i = 1; i < 40; i++)
            assert_int_equal(all[i] & ~seen.before[i], 0);
        rt_close(&trace);
    }
}

int main(void)
{
    return unit_run(start_graphs, finish);
}
