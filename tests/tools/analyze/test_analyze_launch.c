/*
    test_analyze_launch.c - latencies, queues and tiny kernels by hand
*/
#include "tests/tools/analyze/time_fixture.h"
#include "tools/analyze/figures/operations/launch.h"

static const launch_function *function_of(const launch_result *r, const made *m,
                                          const char *name)
{
    for (size_t i = 0; i < r->function_count; i++)
        if (r->functions[i].group == made_group(m, name))
            return &r->functions[i];
    fail_msg("%s launched nothing", name);
    return NULL;
}

/*
    Launches at 0, 10 and 100 of kernels at 8-40, 40-45 and 106-107: the first
    and the last waited for their calls alone, the second for the first.
*/
UNIT_TEST(latency_and_time_in_the_queue_are_distinguished)
{
    made m;
    launch_result r;
    made_begin(&m, 0);
    made_launch(&m, S0, "a", 0, 8, 40);
    made_launch(&m, S0, "b", 10, 40, 45);
    made_launch(&m, S0, "a", 100, 106, 107);
    made_call(&m, HOST, "other", 110, 200); // launches nothing
    made_open(&m);
    assert_true(launch_open(&r, m.replay, m.timeline, &m.names));
    assert_int_equal(1, r.device_count);
    assert_int_equal(2, r.devices[0].latency.count);
    assert_int_equal(6, r.devices[0].latency.ns[0]);
    assert_int_equal(8, r.devices[0].latency.ns[1]);
    assert_int_equal(1, r.devices[0].queued.count);
    assert_int_equal(30, r.devices[0].queued.ns[0]);
    assert_int_equal(0, r.devices[0].unknown);
    assert_int_equal(3, r.calls);
    assert_int_equal(6, r.call_ns);
    assert_int_equal(1, r.function_count);
    assert_int_equal(0, r.blocked);
    launch_close(&r);
    REPORT(m.path, "launch");
    made_close(&m);
}

UNIT_TEST(kernels_shorter_than_their_launch_are_tiny)
{
    made m;
    launch_result r;
    made_begin(&m, 0);
    made_launch(&m, S0, "a", 0, 8, 9);    // 1 < 2
    made_launch(&m, S0, "a", 10, 18, 20); // 2: not less
    made_launch(&m, S0, "b", 20, 28, 29); // 1
    made_call(&m, HOST, "graph", 40, 90); // two at once: no one's launch
    made_kernel(&m, S0, "a", 100, 101);
    made_kernel(&m, S0, "b", 101, 102);
    made_open(&m);
    assert_true(launch_open(&r, m.replay, m.timeline, &m.names));
    assert_int_equal(5, r.kernels);
    assert_int_equal(2, r.tiny_count);
    assert_int_equal(2, r.tiny_ns);
    assert_int_equal(4, r.tiny_call_ns);
    assert_int_equal(2, r.tiny.count);
    assert_int_equal(2, function_of(&r, &m, "graph")->operations);
    assert_true(launch_is_function(&r, made_group(&m, "graph")));
    assert_false(launch_is_function(&r, made_group(&m, "a")));
    launch_close(&r);
    REPORT(m.path, "launch");
    made_close(&m);
}

/*
    1,030 launches of kernels of 1 us, a call each 10 ns: the queue of 1,024 is
    full from launch 1,024 on. That begins at 10,240 and may not end before
    kernel 0 began at 20,000, and so on.
*/
UNIT_TEST(time_blocked_on_a_full_queue_is_counted)
{
    enum { DEPTH = 1024, MORE = 6 };
    made m;
    launch_result r;
    made_begin(&m, 0);
    int64_t at = 0, blocked = 0;
    for (int i = 0; i < DEPTH + MORE; i++) {
        const int64_t start = 20000 + 1000 * i;
        const int64_t room = start - 1000 * DEPTH;
        int64_t end = at + 4;
        if (i >= DEPTH) {
            end = room + 4;
            blocked += room - at;
        }
        made_call(&m, HOST, "launch", at, end);
        made_kernel(&m, S0, "k", start, start + 1000);
        at = i >= DEPTH ? end + 6 : at + 10;
    }
    made_open(&m);
    assert_true(launch_open(&r, m.replay, m.timeline, &m.names));
    assert_int_equal(MORE, r.blocked);
    assert_int_equal(blocked, r.blocked_ns);
    assert_int_equal(MORE, function_of(&r, &m, "launch")->blocked);
    launch_close(&r);
    REPORT(m.path, "launch");
    made_close(&m);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
