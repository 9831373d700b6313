// Streams that are out of order, waits for several things, shared streams.
#include "tests/replay/graph/replay_forge.h"

#define KERNEL(track, start, end, number) \
    { \
        TS_EVENT_KERNEL, track, start, end, UNKNOWN, number \
    }
#define HOSTS(kind, track, start, end, number, id) \
    { \
        kind, track, start, end, UNKNOWN, number, id, 0, HOST \
    }

static fixture work_after(const op *ops, size_t count, const call *calls,
                          uint32_t call_count, const dependency *deps,
                          uint32_t dep_count)
{
    fixture x;
    work_begin(&x, 0);
    work_add(&x, ops, count, calls, call_count, 0);
    add_dependencies(&x.f, deps, dep_count);
    work_open(&x, NULL);
    return x;
}

UNIT_TEST(only_what_it_names_holds_work_that_is_out_of_order)
{
    const op ops[] = { KERNEL(ANY, 10, 50, 1), KERNEL(ANY, 20, 30, 2),
                       KERNEL(ANY, 60, 70, 3) };
    const call calls[] = { { HOST, 1, 2, 1 },
                           { HOST, 3, 4, 2 },
                           { HOST, 5, 6, 3 } };
    const dependency deps[] = { { 1, 3 } };
    fixture x = work_after(ops, 3, calls, 3, deps, 1);
    assert_int_equal(0, stats(&x)->edges[TS_EDGE_STREAM_ORDER]);
    work_change(&x, ANY, 20, 100); // until 120
    work_expect(&x, ANY, 60, 60, 70);
    work_change(&x, ANY, 10, 60); // until 70
    work_expect(&x, ANY, 20, 20, 30);
    work_expect(&x, ANY, 60, 80, 90);
    work_close(&x);
}

UNIT_TEST(what_one_call_launched_is_in_order)
{
    const op ops[] = { KERNEL(ANY, 10, 50, 1),
                       { TS_EVENT_EVENT_RECORD, ANY, 50, 50, UNKNOWN, 1, 7 },
                       KERNEL(ANY, 20, 30, 2) };
    const call calls[] = { { HOST, 1, 2, 1 }, { HOST, 3, 4, 2 } };
    fixture x = WORK_CALLS(ops, calls);
    assert_int_equal(0, stats(&x)->edges[TS_EDGE_GRAPH]); // of one kernel
    work_change(&x, ANY, 10, 60);
    work_expect(&x, ANY, 50, 70, 70);
    work_close(&x);
}

UNIT_TEST(a_sync_waits_for_all_that_is_out_of_order)
{
    for (int i = 0; i < 3; i++) {
        const op ops[] = { KERNEL(ANY, 10, 80, 1), KERNEL(ANY, 12, 60, 2),
                           KERNEL(ANY, 14, 85, 3),
                           HOSTS(TS_EVENT_STREAM_SYNC, ANY, 7, 90, 4, 92),
                           KERNEL(S0, 97, 99, 5) };
        const call calls[] = { { HOST, 1, 2, 1 },
                               { HOST, 3, 4, 2 },
                               { HOST, 5, 6, 3 },
                               { HOST, 7, 90, 4, "clFinish" },
                               { HOST, 95, 96, 5 } };
        fixture x = WORK_CALLS(ops, calls);
        work_change(&x, ANY, 10 + 2 * i, 100 - 2 * i); // until 110
        work_expect(&x, S0, 97, 122, 124);             // 25 later
        work_close(&x);
    }
}

UNIT_TEST(a_sync_waits_for_none_that_others_added_meanwhile)
{
    const op ops[] = { KERNEL(ANY, 10, 80, 1), KERNEL(ANY, 14, 200, 2),
                       KERNEL(ANY, 12, 60, 3),
                       HOSTS(TS_EVENT_STREAM_SYNC, ANY, 7, 90, 4, 92),
                       KERNEL(S0, 97, 99, 5) };
    const call calls[] = { { HOST, 1, 2, 1 },
                           { OTHER, 3, 8, 2 }, // enqueued after the sync
                           { HOST, 5, 6, 3 },
                           { HOST, 7, 90, 4, "clFinish" },
                           { HOST, 95, 96, 5 } };
    fixture x = WORK_CALLS(ops, calls);
    assert_int_equal(0, stats(&x)->contradicted);
    work_change(&x, ANY, 10, 100); // until 110, 30 after what held
    work_expect(&x, S0, 97, 127, 129);
    work_change(&x, ANY, 10, 70);
    work_change(&x, ANY, 12, 98); // until 110
    work_expect(&x, S0, 97, 127, 129);
    work_change(&x, ANY, 12, 48);
    work_change(&x, ANY, 14, 500);
    work_expect(&x, S0, 97, 97, 99);
    work_close(&x);
}

UNIT_TEST(a_wait_ends_after_what_it_depends_on)
{
    const op ops[] = { KERNEL(S0, 10, 40, 1),
                       KERNEL(S0 + 1, 12, 50, 2),
                       { TS_EVENT_EVENT_RECORD, S0 + 1, 50, 50, UNKNOWN, 2, 7 },
                       HOSTS(TS_EVENT_EVENT_SYNC, S0 + 1, 7, 60, 3, 7),
                       KERNEL(T0, 70, 71, 4) };
    const call calls[] = { { HOST, 1, 2, 1 },
                           { HOST, 3, 4, 2 },
                           { HOST, 7, 60, 3, "clWaitForEvents" },
                           { HOST, 65, 66, 4 } };
    const dependency deps[] = { { 1, 3 } };
    fixture x = work_after(ops, 5, calls, 4, deps, 1);
    assert_int_equal(0, stats(&x)->contradicted);
    work_change(&x, S0 + 1, 12, 48); // until 60, 10 later
    work_expect(&x, T0, 70, 80, 81);
    work_change(&x, S0, 10, 60); // until 70, 20 later than what held
    work_expect(&x, T0, 70, 90, 91);
    work_close(&x);
}

UNIT_TEST(a_sync_of_a_shared_stream_waits_for_its_threads_work)
{
    const op ops[] = { KERNEL(S0, 10, 20, 1), KERNEL(S0, 22, 40, 2),
                       HOSTS(TS_EVENT_STREAM_SYNC, S0, 5, 25, 3, 0),
                       KERNEL(S0 + 1, 30, 31, 4) };
    const call calls[] = { { HOST, 1, 2, 1 },
                           { OTHER, 4, 6, 2 }, // enqueued after the sync
                           { HOST, 5, 25, 3, "clFinish" },
                           { HOST, 26, 27, 4 } };
    fixture x = WORK_CALLS(ops, calls);
    work_change(&x, S0, 10, 20); // until 30
    work_expect(&x, S0 + 1, 30, 40, 41);
    work_change(&x, S0, 22, 100);
    work_expect(&x, S0 + 1, 30, 30, 31);
    work_close(&x);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
