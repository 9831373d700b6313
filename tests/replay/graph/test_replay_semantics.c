/*
    test_replay_semantics.c - launches, graphs, calls that wait, full queues

    Each test first replays its trace as recorded, where every nanosecond must
    come out, and then with one operation longer or shorter: only what depends
    on it may move.
*/
#include "tests/replay/graph/replay_forge.h"

#define M TS_EVENT_MEMCPY
#define KERNEL(at, from, to, by) \
    { \
        .kind = K, .track = at, .start = from, .end = to, .correlation = by, \
        .queued = UNKNOWN \
    }

/* ---- Graphs ------------------------------------------------------------- */

// One stream: a, then b and c at once, then d; before and after it others.
UNIT_TEST(branches_of_a_graph_on_one_stream_join_again)
{
    const op ops[] = {
        KERNEL(S0, 2, 5, 1),   KERNEL(S0, 10, 20, 2), KERNEL(S0, 21, 40, 2),
        KERNEL(S0, 22, 30, 2), KERNEL(S0, 41, 50, 2), KERNEL(S0, 52, 60, 3),
    };
    const call calls[] = { { HOST, 0, 1, 1 },
                           { HOST, 1, 3, 2, "cudaGraphLaunch" },
                           { HOST, 4, 5, 3 } };
    fixture x = WORK_CALLS(ops, calls);
    work_change(&x, S0, 22, 28); // now the longer branch: until 50
    work_expect(&x, S0, 21, 21, 40);
    work_expect(&x, S0, 41, 51, 60);
    work_expect(&x, S0, 52, 62, 70);
    work_change(&x, S0, 2, 13); // until 15
    work_expect(&x, S0, 10, 20, 30);
    work_expect(&x, S0, 21, 31, 50);
    work_expect(&x, S0, 22, 32, 40);
    assert_int_equal(3, stats(&x)->edges[TS_EDGE_LAUNCH]); // one for the graph
    assert_int_equal(4, stats(&x)->edges[TS_EDGE_GRAPH]);
    assert_int_equal(0, stats(&x)->overlaps);
    assert_int_equal(0, stats(&x)->inferred[TS_EDGE_GRAPH]);
    work_close(&x);
}

UNIT_TEST(nodes_on_other_streams_belong_to_the_launch_stream)
{
    const op ops[] = {
        KERNEL(S0, 2, 9, 1),       KERNEL(S0, 10, 20, 2),
        KERNEL(S0 + 1, 21, 45, 2), KERNEL(S0 + 2, 12, 18, 2), // a second root
        KERNEL(S0, 46, 50, 2),     KERNEL(S0 + 3, 50, 58, 2), // two sinks
        KERNEL(S0 + 2, 46, 55, 2), KERNEL(S0, 60, 65, 3),
    };
    const call calls[] = { { HOST, 0, 1, 1 },
                           { HOST, 1, 3, 2, "cudaGraphLaunch" },
                           { HOST, 4, 5, 3 } };
    fixture x = WORK_CALLS(ops, calls);
    work_change(&x, S0 + 1, 21, 34); // 10 longer
    work_expect(&x, S0, 46, 56, 60);
    work_expect(&x, S0 + 2, 46, 56, 65);
    work_expect(&x, S0 + 3, 50, 60, 68);
    work_expect(&x, S0, 60, 70, 75); // after both sinks
    work_change(&x, S0, 2, 17);      // what was there before holds both roots
    work_expect(&x, S0, 10, 20, 30);
    work_expect(&x, S0 + 2, 12, 22, 28);
    assert_true(stats(&x)->inferred[TS_EDGE_GRAPH] > 0);
    assert_int_equal(4, stats(&x)->edges[TS_EDGE_LAUNCH]); // two roots
    work_close(&x);
}

// Its streams are not those of the program: the default stream orders nothing.
UNIT_TEST(nodes_of_a_graph_do_not_wait_for_default_streams)
{
    const op ops[] = {
        KERNEL(LEGACY, 2, 5, 1), KERNEL(LEGACY, 10, 20, 2),
        KERNEL(S0, 21, 30, 2),   KERNEL(LEGACY, 31, 40, 2),
        KERNEL(S0, 41, 50, 2),   KERNEL(S0 + 1, 60, 65, 3),
    };
    const call calls[] = { { HOST, 0, 1, 1 },
                           { HOST, 1, 3, 2, "cudaGraphLaunch" },
                           { HOST, 4, 5, 3 } };
    fixture x = WORK_CALLS(ops, calls);
    assert_int_equal(3, stats(&x)->edges[TS_EDGE_GRAPH]);
    // What is launched later waits for the node there.
    assert_int_equal(1, stats(&x)->edges[TS_EDGE_LEGACY_DEFAULT]);
    work_change(&x, LEGACY, 10, 40); // 30 longer
    work_expect(&x, S0, 41, 71, 80);
    work_expect(&x, S0 + 1, 60, 90, 95);
    work_close(&x);
}

UNIT_TEST(a_graph_of_thousands_of_parallel_nodes_takes_no_longer)
{
    enum { COUNT = 20000 };
    static op ops[COUNT];
    for (uint64_t i = 0; i < COUNT; i++) {
        const op one = KERNEL(S0 + (uint32_t)i % 8, 100 + i, 90000 - i, 1);
        ops[i] = one;
    }
    const call calls[] = { { HOST, 0, 1, 1 } };
    fixture x = WORK_CALLS(ops, calls);
    work_same(&x);
    work_close(&x);
}

/* ---- Dependent launches ------------------------------------------------- */

UNIT_TEST(a_dependent_launch_begins_before_the_one_before_has_ended)
{
    const op ops[] = { KERNEL(S0, 10, 30, 1), KERNEL(S0, 26, 40, 2),
                       KERNEL(S0, 41, 50, 3) };
    fixture x = WORK(ops);
    assert_int_equal(1, stats(&x)->overlaps);
    work_change(&x, S0, 10, 22); // its end moves, its trigger does not
    work_expect(&x, S0, 26, 26, 40);
    work_expect(&x, S0, 41, 41, 50);
    work_close(&x);
}

/* ---- Host --------------------------------------------------------------- */

// A call that waits, without any operation that says so, and what the thread
// launches after it.
UNIT_TEST(a_call_that_waits_holds_its_thread)
{
    static const char *const names[] = { "cudaDeviceSynchronize", "cudaFree",
                                         "hipCtxSynchronize" };
    for (size_t i = 0; i < 3; i++) {
        const op ops[] = { KERNEL(S0, 2, 50, 1), KERNEL(S0 + 1, 3, 40, 2),
                           KERNEL(T0, 9, 90, 9), KERNEL(S0 + 2, 60, 70, 3) };
        const call calls[] = { { OTHER, 0, 1, 9 },
                               { HOST, 0, 1, 1 },
                               { HOST, 1, 2, 2 },
                               { HOST, 5, 53, 7, names[i] },
                               { HOST, 54, 55, 3 } };
        fixture x = WORK_CALLS(ops, calls);
        work_change(&x, S0, 2, 58); // 10 longer: returns at 63
        work_expect(&x, S0 + 2, 60, 70, 80);
        work_change(&x, S0 + 1, 3, 67); // until 70
        work_expect(&x, S0 + 2, 60, 80, 90);
        work_change(&x, T0, 9, 900); // another device
        work_expect(&x, S0 + 2, 60, 60, 70);
        assert_int_equal(3, stats(&x)->edges[TS_EDGE_SYNC]); // join and end
        work_close(&x);
    }
}

UNIT_TEST(freeing_that_did_not_wait_waits_for_nothing)
{
    const op ops[] = { KERNEL(S0, 2, 50, 1), KERNEL(S0 + 1, 3, 10, 2),
                       KERNEL(S0 + 2, 60, 70, 3) };
    const call calls[] = { { HOST, 0, 1, 1 },
                           { HOST, 1, 2, 2 },
                           { HOST, 5, 12, 0, "cudaFree" },
                           { HOST, 54, 55, 3 } };
    fixture x = WORK_CALLS(ops, calls);
    work_change(&x, S0 + 1, 3, 50);
    work_expect(&x, S0 + 2, 60, 60, 70);
    assert_int_equal(0, stats(&x)->edges[TS_EDGE_SYNC]);
    assert_int_equal(0, stats(&x)->contradicted);
    work_close(&x);
}

// The copy is from 20 to 40 and its call from 10 to 45; the next one launches
// at 50.
UNIT_TEST(copies_hold_the_host_by_their_call_and_memory)
{
    const struct {
        const char *name;
        uint64_t type, from, to;
        bool holds;
    } cases[] = {
        { "cudaMemcpy", 1, 1, 3, true },
        { "cudaMemcpy", 2, 3, 2, true },
        { NULL, 2, 3, 2, true },
        { "cudaMemcpyAsync", 1, 1, 3, true },  // staged in pieces
        { "cudaMemcpyAsync", 2, 3, 1, true },  // into pageable memory
        { "cudaMemcpyAsync", 2, 3, 0, true },  // the record shows it waited
        { "cudaMemcpyAsync", 2, 3, 2, false }, // pinned: by chance
        { "cudaMemcpyAsync", 1, 2, 3, false },
        { "cudaMemcpyAsync", 3, 3, 3, false },
        { "hipMemcpyAsync", 5, 3, 3, false },
        { "clEnqueueReadBuffer (blocking)", 2, 3, 2, true },
        { "clEnqueueReadBuffer", 2, 3, 2, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const op ops[] = {
            { .kind = M,
              .track = S0,
              .start = 20,
              .end = 40,
              .correlation = 1,
              .type = cases[i].type,
              .queued = UNKNOWN,
              .memory = cases[i].from | cases[i].to << 4 },
            KERNEL(S0 + 1, 55, 60, 2),
        };
        const call calls[] = { { HOST, 10, 45, 1, cases[i].name },
                               { HOST, 50, 51, 2 } };
        fixture x = WORK_CALLS(ops, calls);
        work_change(&x, S0, 20, 120);
        const int64_t later = cases[i].holds ? 100 : 0;
        work_expect(&x, S0 + 1, 55, 55 + later, 60 + later);
        work_close(&x);
    }
}

UNIT_TEST(an_asynchronous_copy_returns_before_its_end)
{
    const op ops[] = {
        { .kind = M,
          .track = S0,
          .start = 20,
          .end = 80,
          .correlation = 1,
          .type = 1,
          .memory = 1 | 3 << 4,
          .queued = UNKNOWN },
        KERNEL(S0 + 1, 55, 60, 2),
    };
    const call calls[] = { { HOST, 10, 30, 1, "cudaMemcpyAsync" },
                           { HOST, 50, 51, 2 } };
    fixture x = WORK_CALLS(ops, calls); // staged by 30
    work_change(&x, S0, 20, 160);
    work_expect(&x, S0 + 1, 55, 55, 60);
    work_close(&x);
}

UNIT_TEST(a_host_function_is_part_of_its_stream)
{
    const op ops[] = {
        KERNEL(S0, 2, 10, 1),
        { .kind = TS_EVENT_HOST_FUNCTION,
          .track = S0,
          .start = 12,
          .end = 30,
          .correlation = 2,
          .name = "callback",
          .queued = UNKNOWN },
        KERNEL(S0, 33, 40, 3),
    };
    fixture x = WORK(ops);
    work_change(&x, S0, 2, 18);
    work_expect(&x, S0, 12, 22, 40);
    work_expect(&x, S0, 33, 43, 50);
    work_close(&x);
}

// The default stream of a thread is a stream like any other.
UNIT_TEST(default_streams_of_threads_are_blocking_streams)
{
    const op ops[] = {
        { K, S0 + 6, 1, 10, 0, 0, 0, 0, HOST },
        { K, S0 + 7, 1, 30, 1, 0, 0, 0, OTHER },
        { K, LEGACY, 32, 40, 2, 0, 0, 0, HOST },
        { K, S0 + 6, 42, 50, 3, 0, 0, 0, OTHER },
    };
    fixture x = WORK(ops);
    work_change(&x, S0 + 7, 1, 39);
    work_expect(&x, LEGACY, 32, 42, 50);
    work_expect(&x, S0 + 6, 42, 52, 60);
    work_close(&x);
}

// That it is non-blocking is only seen from one overlap with the default
// stream.
UNIT_TEST(a_stream_that_ever_overlapped_it_is_non_blocking)
{
    const op ops[] = {
        { K, LEGACY, 1, 10, 0, 0, 0, 0, HOST },
        { K, S0, 12, 20, 1, 0, 0, 0, HOST },
        { K, S0 + 1, 12, 30, 2, 0, 0, 0, HOST },
        { K, LEGACY, 20, 40, 3, 0, 0, 0, HOST }, // beside the second
        { K, S0 + 1, 42, 50, 4, 0, 0, 0, HOST },
        { K, S0, 42, 50, 5, 0, 0, 0, HOST },
    };
    fixture x = WORK(ops);
    work_change(&x, LEGACY, 1, 19); // 10 more
    work_expect(&x, S0, 12, 22, 30);
    work_expect(&x, LEGACY, 20, 30, 50);
    work_expect(&x, S0, 42, 52, 60);
    work_expect(&x, S0 + 1, 12, 12, 30);
    work_expect(&x, S0 + 1, 42, 42, 50);
    assert_int_equal(3, stats(&x)->edges[TS_EDGE_LEGACY_DEFAULT]);
    assert_int_equal(1, stats(&x)->contradicted);
    work_close(&x);
}

/* ---- What the source says ----------------------------------------------- */

UNIT_TEST(dependencies_that_the_source_says_are_kept)
{
    const op ops[] = {
        KERNEL(S0, 10, 20, 1),     KERNEL(S0 + 1, 25, 30, 2),
        KERNEL(S0 + 2, 5, 8, 3),   KERNEL(S0 + 2, 11, 18, 3),
        KERNEL(S0 + 3, 25, 30, 4), KERNEL(S0 + 4, 26, 30, 4),
        KERNEL(S0 + 5, 6, 9, 5),   KERNEL(S0 + 6, 40, 50, 8),
    };
    const call calls[] = { { HOST, 31, 33, 6, "aten::item", 0 },
                           { HOST, 34, 60, 7, "aten::mm", 0 },
                           { HOST, 70, 80, 9, "aten::unnamed", 0 } };
    const dependency deps[] = {
        { 1, 2 },            // one for one
        { 3, 4 },            // two for two: a join
        { 1, 5 },            // which began before: contradicted
        { 2, 6 },            // an operation for a call
        { 6, 7 },            // a call for a call
        { 7, 8 },            // a call that still ran: for its start
        { 1, 99 },           // nobody
        { 99, 2 }, { 1, 1 }, // itself
    };
    fixture x;
    work_begin(&x, 0);
    work_add(&x, ops, 8, calls, 3, 0);
    add_dependencies(&x.f, deps, sizeof deps / sizeof *deps);
    work_open(&x, NULL);
    assert_int_equal(2, stats(&x)->calls);
    assert_int_equal(1 + 4 + 3, stats(&x)->edges[TS_EDGE_USER]);
    assert_int_equal(1, stats(&x)->contradicted);
    work_change(&x, S0, 10, 20); // until 30
    work_expect(&x, S0 + 1, 25, 35, 40);
    work_expect(&x, S0 + 5, 6, 6, 9);
    work_expect(&x, S0 + 6, 40, 50, 60); // by way of both calls
    work_change(&x, S0 + 2, 5, 25);      // until 30, the other until 40
    work_expect(&x, S0 + 3, 25, 47, 52);
    work_expect(&x, S0 + 4, 26, 48, 52);
    work_close(&x);
}

// Many for many: there are no more edges than operations and dependencies.
UNIT_TEST(shared_dependencies_grow_no_faster_than_the_trace)
{
    enum { HALF = 200, ALL = 2 * HALF };
    op ops[ALL];
    dependency deps[2 * ALL];
    for (uint64_t i = 0; i < ALL; i++) {
        const uint64_t at = i < HALF ? i * 10 : 5000 + i * 10;
        const op one = KERNEL(S0 + (i & 7), at, at + 5, i < HALF ? 1 : 2);
        ops[i] = one;
    }
    for (size_t i = 0; i < ALL; i++) { // the same, and many numbers for few
        const dependency again = { 1, 2 };
        deps[i] = again;
    }
    for (uint64_t i = 0; i < ALL; i++) {
        const dependency one = { i & 1 ? 1 : 3 + i, i & 1 ? 3 + i : 2 };
        deps[ALL + i] = one;
    }
    for (uint64_t i = 100; i < HALF; i++) {
        ops[i].correlation = 3 + i;
        ops[HALF + i].correlation = 3 + HALF + i;
    }
    fixture x;
    work_begin(&x, 0);
    work_add(&x, ops, ALL, NULL, 0, 0);
    add_dependencies(&x.f, deps, 2 * ALL);
    work_open(&x, NULL);
    work_same(&x);
    assert_in_range(stats(&x)->edges[TS_EDGE_USER], 100, 2 * ALL + 2 * ALL);
    // The last of number 1; what is before number 2 ended at 1985.
    work_change(&x, S0 + 3, 990, 9000);
    work_expect(&x, S0, 7000, 9990 + 7000 - 1985, 9990 + 7005 - 1985);
    work_close(&x);
}

/* ---- The order of the host ---------------------------------------------- */

// The launch of one kernel is unknown, which does not affect the others.
UNIT_TEST(a_gap_in_what_is_known_of_the_host_costs_only_itself)
{
    const op ops[] = {
        { K, S0, 2, 50, 0, 1, 0, 0, HOST },
        { R, S0, 50, 50, 1, 2, 7, 0, HOST },
        { W, S0 + 1, 5, 50, 2, 3, 7, 0, HOST },
        { K, S0, 51, 60, 3, 4, 0, 0, HOST },
        { R, S0, 60, 60, 4, 5, 7, 0, HOST }, // after the wait was asked for
        { K, S0 + 1, 65, 70, UNKNOWN, 6, 0, 0, 0 },
        { W, S0 + 1, 71, 71, UNKNOWN, 7, 7, 0, 0 },
    };
    fixture x = WORK(ops);
    work_change(&x, S0, 51, 100); // until 151
    work_expect(&x, S0 + 1, 5, 5, 50);
    work_expect(&x, S0 + 1, 65, 65, 70);
    work_expect(&x, S0 + 1, 71, 71, 71); // no earlier than the other wait
    work_close(&x);
}

/* ---- Queues ------------------------------------------------------------- */

UNIT_TEST(a_full_queue_holds_the_launch)
{
    const op ops[] = { KERNEL(S0, 10, 50, 1), KERNEL(S0, 51, 60, 2),
                       KERNEL(S0, 61, 70, 3), KERNEL(S0, 71, 80, 4),
                       KERNEL(S0 + 1, 90, 99, 5) };
    const call calls[] = { { HOST, 0, 2, 1 },
                           { HOST, 3, 5, 2 },
                           { HOST, 6, 12, 3 },  // waits for the first
                           { HOST, 13, 53, 4 }, // and for the second
                           { HOST, 55, 56, 5 } };
    for (uint32_t depth = 1; depth < 4; depth++) {
        const ts_replay_desc desc = { .queue_depth = depth };
        fixture x = work_with(ops, 5, calls, 5, &desc, 0);
        work_change(&x, S0, 10, 50); // 10 longer
        // At depth 1 the record shows that the queue holds more.
        assert_int_equal(depth == 1   ? 0
                         : depth == 2 ? 2
                                      : 1,
                         stats(&x)->edges[TS_EDGE_QUEUE]);
        const int64_t later = depth == 2 ? 10 : 0;
        work_expect(&x, S0 + 1, 90, 90 + later, 99 + later);
        work_close(&x);
    }
}

// Where the launch waited for nothing in the record, its start does.
UNIT_TEST(a_queue_that_never_was_full_can_become_so)
{
    const op ops[] = { KERNEL(S0, 3, 4, 1), KERNEL(S0, 12, 13, 2),
                       KERNEL(S0, 22, 23, 3) };
    const call calls[] = { { HOST, 0, 2, 1 },
                           { HOST, 10, 11, 2 },
                           { HOST, 20, 21, 3 } };
    const ts_replay_desc desc = { .queue_depth = 1 };
    fixture x = work_with(ops, 3, calls, 3, &desc, 0);
    work_change(&x, S0, 3, 100); // until 103
    work_expect(&x, S0, 12, 105, 106);
    work_expect(&x, S0, 22, 115, 116); // its call is at 113: 8 later
    assert_int_equal(2, stats(&x)->edges[TS_EDGE_QUEUE]);
    work_close(&x);
}

UNIT_TEST(streams_that_share_a_hardware_queue_hold_each_other)
{
    const op ops[] = {
        { K, S0, 1, 20, 0, 0, 0, 0, HOST },
        { K, S0, 21, 40, 1, 0, 0, 0, HOST },
        { K, S0 + 1, 3, 9, 2, 0, 0, 0, HOST },
        { K, S0 + 2, 22, 30, 3, 0, 0, 0, HOST }, // behind the second
    };
    const ts_replay_desc none = { 0 }, two = { .connections = 2 };
    fixture x = work_with(ops, 4, NULL, 0, &none, 0);
    work_change(&x, S0, 1, 29);
    work_expect(&x, S0 + 2, 22, 22, 30);
    work_close(&x);
    x = work_with(ops, 4, NULL, 0, &two, 0);
    work_change(&x, S0, 1, 29);
    work_expect(&x, S0, 21, 31, 50);
    work_expect(&x, S0 + 2, 22, 32, 40);
    work_expect(&x, S0 + 1, 3, 3, 9); // the other queue
    work_close(&x);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
