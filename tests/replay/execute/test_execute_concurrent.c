// Captured operations run again concurrently, and as a graph.
#define _GNU_SOURCE
#include "tests/replay/execute/concurrent_fixture.h"

/* ---- Kernels ------------------------------------------------------------- */

static int present, wanted; // how many kernels run, and have to run at once

static void meet(const void *args, const ts_vdev_block *block)
{
    float *const *const values = args;
    __atomic_fetch_add(&present, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&present, __ATOMIC_ACQUIRE) < wanted)
        rt_sleep_ms(1);
    (*values)[0] += 1;
}

static int stage; // how many of the slow ones are over

static void slow(const void *args, const ts_vdev_block *block)
{
    rt_sleep_ms(30);
    add(args, block);
    __atomic_fetch_add(&stage, 1, __ATOMIC_ACQ_REL);
}

static int seen[2]; // stages that the quick ones saw

static void quick(const void *args, const ts_vdev_block *block)
{
    const int now = __atomic_load_n(&stage, __ATOMIC_ACQUIRE);
    seen[0] = seen[1];
    seen[1] = now;
    add(args, block);
}

/* ---- Running ------------------------------------------------------------- */

// They have run alone: the counters start again.
static ts_result release_and_reset(void *state, uint64_t address)
{
    present = stage = seen[0] = seen[1] = 0;
    wanted = 2;
    return ts_vdev_executor.release(state, address);
}

static uint32_t waited_ms; // at most, the last time

static ts_result note_wait(void *state, uint32_t timeout_ms)
{
    waited_ms = timeout_ms;
    return ts_vdev_executor.wait(state, timeout_ms);
}

static ts_result run(size_t count, const ts_execution_edge *edges,
                     size_t edge_count, bool graph, uint32_t loops)
{
    ts_execution_desc desc = usual();
    desc.loops = loops;
    desc.timeout_ms = 30000;
    executor.release = release_and_reset;
    executor.wait = note_wait;
    return run_concurrently(desc, count, edges, edge_count, graph);
}

static void assert_all_same(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_string_equal("none", ts_reason_name(items[i].reason));
        assert_int_equal(TS_OUTCOME_EXECUTED, items[i].outcome);
        assert_false(items[i].diverged);
        assert_false(items[i].running);
    }
    assert_int_equal(0, whole.regions_different);
}

static void launch_on(ts_vdev_stream stream, ts_vdev_kernel kernel, float *to,
                      float *from, float value)
{
    const add_args args = { to, from, value };
    const ts_vdev_launch_desc desc = { .args = &args };
    ok(ts_vdev_launch(vdev, stream, kernel, &desc));
}

// Two kernels on independent streams.
static void record_rendezvous(void)
{
    begin();
    const ts_vdev_kernel kernel = vt_kernel("meet", meet, sizeof(float *), 0);
    const ts_vdev_stream one = vt_stream(0, true, 0);
    const ts_vdev_stream two = vt_stream(0, true, 0);
    const char *const path = rt_start("meeting.sbt", plain);
    float *const a = floats(0), *const b = floats(5);
    const ts_vdev_launch_desc first = { .args = &a }, second = { .args = &b };
    wanted = 1; // a capture has one run alone
    ok(ts_capture_start(NULL));
    launch_on(one, plain_add, a, a, 1);
    ok(ts_vdev_launch(vdev, one, kernel, &first));
    ok(ts_vdev_launch(vdev, two, kernel, &second));
    finish(path);
}

UNIT_TEST(streams_run_concurrently)
{
    record_rendezvous();
    ok(run(3, NULL, 0, false, 1));
    assert_all_same(3);
    assert_int_equal(2, present); // and each of them waited for the other
    assert_int_equal(2, whole.streams);
    assert_int_equal(2, whole.regions);
    assert_int_equal(1, whole.parts);
    assert_int_equal(0, whole.events);
    assert_false(items[0].compared); // another one wrote there after it
    assert_true(items[1].compared);
    assert_true(items[2].compared);
    const uint64_t digest = items[1].digest;
    close_execution();
    wanted = 1;
    ok(run(3, NULL, 0, false, 1));
    assert_int_equal(digest, items[1].digest);
    close_all();
}

static void tie(ts_vdev_stream from, ts_vdev_stream to)
{
    const ts_vdev_event event = vt_event();
    ok(ts_vdev_event_record(vdev, event, from));
    ok(ts_vdev_event_wait(vdev, event, to));
}

// Slow ones on one stream, a quick one on another, which has to wait for them.
static void record_waiting(void)
{
    begin();
    const ts_vdev_kernel slow_one =
        vt_kernel("slow", slow, sizeof(add_args), 0);
    const ts_vdev_kernel quick_one =
        vt_kernel("quick", quick, sizeof(add_args), 0);
    const ts_vdev_stream one = vt_stream(0, true, 0);
    const ts_vdev_stream two = vt_stream(0, true, 0);
    const char *const path = rt_start("waiting.sbt", plain);
    float *const a = floats(0), *const b = floats(5);
    ok(ts_capture_start(NULL));
    launch_on(one, plain_add, a, a, 1);
    launch_on(one, slow_one, a, a, 1);
    tie(one, two);
    launch_on(two, quick_one, b, a, 2);
    tie(two, one);
    launch_on(one, slow_one, a, b, 3);
    tie(one, two);
    tie(one, two); // once is enough
    launch_on(two, quick_one, b, a, 4);
    finish(path);
    stage = seen[0] = seen[1] = 0;
}

static const ts_execution_edge waits[] = { { 1, 2 }, { 2, 3 }, { 3, 4 } };

UNIT_TEST(an_edge_holds_an_operation_back)
{
    record_waiting();
    ok(run(5, waits, 3, false, 1));
    assert_all_same(5);
    assert_int_equal(1, seen[0]);
    assert_int_equal(2, seen[1]);
    assert_int_equal(3, whole.events);
    assert_true(whole.ns >= 60000000); // they slept for that long
    // And may take twice what they took one after another, and a limit.
    assert_int_equal(5, whole.completed);
    assert_true(whole.sequential_ns >= 60000000);
    assert_int_equal(30000 + whole.sequential_ns / 500000, waited_ms);
    close_all();
}

// The same edges as by hand, from the events of the trace, without those that
// are inferred from times.
UNIT_TEST(edges_are_what_the_trace_waited_for)
{
    record_waiting();
    const ts_replay_desc desc = { 0 };
    ts_replay *replay;
    ts_execution_edge *edges;
    ts_operation op;
    uint32_t kernels[5];
    size_t count = 0, edge_count;
    ok(ts_replay_open(&replay, reader, &desc));
    for (size_t i = 0; ts_replay_operation(replay, i, &op); i++)
        if (op.kind == TS_EVENT_KERNEL) kernels[count++] = (uint32_t)i;
    assert_int_equal(5, count);
    ok(ts_execution_edges(replay, kernels, count, &edges, &edge_count));
    assert_int_equal(3, edge_count);
    assert_memory_equal(waits, edges, sizeof waits);
    ts_execution_edges_free(replay, edges, edge_count);
    // What lies between may be left out.
    kernels[2] = kernels[3];
    kernels[3] = kernels[4];
    ok(ts_execution_edges(replay, kernels, 4, &edges, &edge_count));
    assert_int_equal(1, edge_count);
    assert_int_equal(2, edges[0].before);
    assert_int_equal(3, edges[0].after);
    ts_execution_edges_free(replay, edges, edge_count);
    ts_replay_close(replay);
    close_all();
}

UNIT_TEST(what_nobody_replayed_wrote_comes_between)
{
    record_waiting();
    static const ts_execution_edge edges[] = { { 1, 2 }, { 2, 3 } };
    positions[3] = 4; // without the second slow one
    ok(run(4, edges, 2, false, 1));
    assert_all_same(4);
    assert_int_equal(3, whole.patched); // the chunks of `a`
    close_execution();
    // Where it does not exist, the last one finds what was there before.
    ts_execution_desc desc = usual();
    desc.no_patches = true;
    ok(ts_execution_open(&execution, reader, positions, 4, &desc, why,
                         sizeof why));
    ok(ts_execution_run_concurrent(execution, edges, 2, false, items, &whole,
                                   why, sizeof why));
    assert_int_equal(0, whole.patched);
    assert_true(items[3].diverged);
    assert_int_equal(2, whole.regions_different); // `a`, and what came of it
    close_all();
}

UNIT_TEST(what_is_replaced_is_compared_before)
{
    record_waiting();
    static const ts_execution_edge edges[] = { { 1, 2 }, { 2, 3 } };
    positions[3] = 4; // without the second slow one
    extra = 0.5f;     // what it left of `a` is wrong, and then gone
    ok(run(4, edges, 2, false, 1));
    extra = 0;
    assert_true(items[1].diverged);
    assert_int_equal(3, items[1].chunks_different);
    assert_int_equal(3, items[3].patched);
    assert_int_equal(3, items[3].patched_different);
    close_all();
}

UNIT_TEST(memory_that_is_taken_again_begins_a_part)
{
    static float host[64], back[64];
    begin();
    const char *const path = rt_start("parts.sbt", plain);
    float *const a = floats(0);
    for (int i = 0; i < 64; i++)
        host[i] = (float)i;
    ok(ts_capture_start(NULL));
    launch_add(plain_add, a, a, 1);
    ok(ts_vdev_free(vdev, a));
    float *const small = vt_memory(0, sizeof host);
    ok(ts_vdev_memcpy(vdev, 0, small, host, sizeof host));
    ok(ts_vdev_memset_async(vdev, 0, small, 3, 8));
    ok(ts_vdev_memcpy(vdev, 0, back, small, sizeof back));
    assert_ptr_equal(small, a);
    finish(path);
    ok(run(4, NULL, 0, false, 1));
    assert_all_same(4);
    assert_int_equal(2, whole.parts);
    assert_true(items[3].compared); // the host's end
    close_all();
}

UNIT_TEST(the_last_writer_is_named)
{
    record_waiting();
    extra = 0.5f; // all of them are wrong in the replay
    ok(run(5, waits, 3, false, 1));
    extra = 0;
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(i >= 3, items[i].diverged);
    assert_int_equal(2, whole.regions_different);
    assert_int_equal(0, items[4].offset);
    close_all();
}

/* ---- Graphs: a list that is submitted again ------------------------------ */

enum { STEPS = 64 };
typedef struct step {
    char what; // launch, copy, event, wait
    uint64_t stream, event;
    ts_executor_launch launch;
    uint32_t shape[6];
    uint8_t args[64];
    ts_executor_copy copy;
} step;

static step steps[STEPS];
static size_t step_count;
static unsigned graph_launches;
static bool recording;

static step *next_step(char what, uint64_t stream)
{
    assert_true(step_count < STEPS);
    step *const s = &steps[step_count++];
    s->what = what;
    s->stream = stream;
    return s;
}

static ts_result list_launch(void *state, uint64_t stream,
                             const ts_executor_launch *launch)
{
    if (!recording) return ts_vdev_executor.launch(state, stream, launch);
    step *const s = next_step('l', stream);
    s->launch = *launch;
    memcpy(s->shape, launch->grid, 12);
    memcpy(s->shape + 3, launch->block, 12);
    memcpy(s->args, launch->args, launch->args_size);
    s->launch.grid = s->shape;
    s->launch.block = s->shape + 3;
    s->launch.args = s->args;
    return TS_OK;
}

static ts_result list_copy(void *state, uint64_t stream,
                           const ts_executor_copy *copy)
{
    if (!recording) return ts_vdev_executor.copy(state, stream, copy);
    next_step('c', stream)->copy = *copy;
    return TS_OK;
}

static ts_result list_event(void *state, uint64_t stream, uint64_t *event)
{
    if (!recording) return ts_vdev_executor.event(state, stream, event);
    *event = step_count;
    next_step('e', stream);
    return TS_OK;
}

static ts_result list_wait(void *state, uint64_t stream, uint64_t event)
{
    if (!recording) return ts_vdev_executor.event_wait(state, stream, event);
    next_step('w', stream)->event = event;
    return TS_OK;
}

static ts_result list_begin(void *state, uint64_t stream)
{
    recording = true;
    step_count = 0;
    return TS_OK;
}

static ts_result list_end(void *state, uint64_t stream, uint64_t *graph)
{
    recording = false;
    *graph = 7;
    return TS_OK;
}

static ts_result list_run(void *state, uint64_t stream, uint64_t graph)
{
    ts_result result = TS_OK;
    assert_int_equal(7, graph);
    graph_launches++;
    for (size_t i = 0; i < step_count && result == TS_OK; i++) {
        step *const s = &steps[i];
        const ts_executor *const v = &ts_vdev_executor;
        result = s->what == 'l'   ? v->launch(state, s->stream, &s->launch)
                 : s->what == 'c' ? v->copy(state, s->stream, &s->copy)
                 : s->what == 'e'
                     ? v->event(state, s->stream, &s->event)
                     : v->event_wait(state, s->stream, steps[s->event].event);
    }
    return result;
}

static void have_graphs(void)
{
    executor.launch = list_launch;
    executor.copy = list_copy;
    executor.event = list_event;
    executor.event_wait = list_wait;
    executor.graph_begin = list_begin;
    executor.graph_end = list_end;
    executor.graph_launch = list_run;
    graph_launches = 0;
}

UNIT_TEST(all_of_it_is_one_graph)
{
    record_waiting();
    have_graphs();
    positions[3] = 4;
    static const ts_execution_edge edges[] = { { 1, 2 }, { 2, 3 } };
    ok(run(4, edges, 2, true, 2));
    assert_all_same(4);
    assert_int_equal(3, graph_launches); // one to compare, two for the time
    assert_int_equal(2 * (30000 + whole.sequential_ns / 500000), waited_ms);
    assert_int_equal(3, whole.patched);
    assert_true(whole.graph_ns >= 30000000); // one sleeps that long
    size_t forks = 0;
    for (size_t i = 0; i < step_count; i++)
        forks += steps[i].what == 'w' && steps[i].event == 0;
    assert_int_equal(2, forks); // both streams begin behind the first event
    assert_int_equal('w', steps[step_count - 1].what); // and end in one
    close_all();
}

static unsigned refusals;          // left of the launch before
static bool ends;                  // it will be over
static uint32_t reported_limit_ms; // reported while launches wait

// As a device on which launches of one graph run one after another.
static ts_result list_run_alone(void *state, uint64_t stream, uint64_t graph)
{
    if (graph_launches > 1) {
        reported_limit_ms = whole.limit_ms;
        if (!ends || ++refusals % 4) return TS_ERR_BUSY;
    }
    return list_run(state, stream, graph);
}

UNIT_TEST(launches_that_cannot_overlap_wait_for_each_other)
{
    record_waiting();
    have_graphs();
    executor.graph_launch = list_run_alone;
    positions[3] = 4;
    static const ts_execution_edge edges[] = { { 1, 2 }, { 2, 3 } };
    ends = true;
    refusals = 0;
    ok(run(4, edges, 2, true, 5));
    const uint64_t once = 30000 + whole.sequential_ns / 500000;
    assert_all_same(4);
    assert_int_equal(6, graph_launches);
    assert_int_equal(16, refusals); // the first to measure waits for none
    assert_int_equal(5 * once,
                     reported_limit_ms); // each of them may take that long
    assert_int_equal(once, waited_ms);   // the last one
    close_all();
}

static ts_result wait_long(void *state, uint32_t timeout_ms)
{
    return ts_vdev_executor.wait(state, 30000);
}

UNIT_TEST(one_that_is_never_over_is_not_waited_for)
{
    record_waiting();
    have_graphs();
    executor.graph_launch = list_run_alone;
    executor.wait = wait_long; // what runs alone is over in time
    ends = false;
    ts_execution_desc desc = usual();
    desc.loops = 3;
    desc.timeout_ms = 20;
    ok(run_concurrently(desc, 3, NULL, 0, true));
    assert_int_equal(2, graph_launches);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(TS_REASON_TIMEOUT, items[i].reason);
    close_all();
}

static int warm_runs; // of what does more the first time

static void warms(const void *args, const ts_vdev_block *block)
{
    if (!__atomic_fetch_add(&warm_runs, 1, __ATOMIC_ACQ_REL)) rt_sleep_ms(50);
    add(args, block);
}

// What a device does only the first time is done before the time is taken.
UNIT_TEST(the_first_run_is_not_measured)
{
    begin();
    const ts_vdev_kernel kernel =
        vt_kernel("warms", warms, sizeof(add_args), 0);
    const char *const path = rt_start("warm.sbt", plain);
    float *const a = floats(0);
    ok(ts_capture_start(NULL));
    launch_add(plain_add, a, a, 1);
    launch_add(kernel, a, a, 1);
    finish(path);
    warm_runs = 0;
    ok(run(2, NULL, 0, false, 1));
    assert_all_same(2);
    assert_int_equal(2, warm_runs);
    assert_int_equal(2, whole.completed);
    assert_true(whole.sequential_ns >= 50000000);
    assert_int_equal(1, whole.regions); // as if it had run once
    assert_int_equal(0, whole.patched);
    close_all();
}

UNIT_TEST(what_cannot_be_combined_says_why)
{
    record_rendezvous();
    wanted = 1;
    assert_int_equal(TS_ERR_UNSUPPORTED, run(3, NULL, 0, true, 1));
    assert_string_equal("vdev has no graphs", why);
    close_execution();
    executor.event = NULL;
    assert_int_equal(TS_ERR_UNSUPPORTED, run(3, NULL, 0, false, 1));
    assert_string_equal("vdev has no events", why);
    close_all();
    begin();
    const char *const path = rt_start("two.sbt", plain);
    float *const a = floats(0);
    ok(ts_capture_start(NULL));
    launch_add(plain_add, a, a, 1);
    ok(ts_vdev_free(vdev, a));
    ok(ts_vdev_memset_async(vdev, 0, vt_memory(0, 64), 3, 8));
    finish(path);
    have_graphs();
    assert_int_equal(TS_ERR_UNSUPPORTED, run(2, NULL, 0, true, 1));
    assert_non_null(strstr(why, "do not form a single graph"));
    assert_int_equal(0, graph_launches);
    close_all();
}

int main(void)
{
    NEED_ADDRESSES();
    return unit_run(NULL, NULL);
}
