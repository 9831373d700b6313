// OpenCL's rarer cases: threads that go on, old calls, defaults.
#include "tests/capture/opencl_inside.h"

static void *enqueue_until_told(void *end)
{
    const cl_mem a = buffer_of(64);
    for (int i = 0; !__atomic_load_n((int *)end, __ATOMIC_RELAXED); i++) {
        set_enqueue(i % 2 ? queue : any_order, a, 0, NULL, NULL);
        if (i % 4 == 3) fine(clFinish(i % 8 == 3 ? queue : any_order));
    }
    clReleaseMemObject(a);
    return NULL;
}

static void a_session_stops_at_once_while_threads_go_on(void **state)
{
    (void)state;
    pthread_t thread[4];
    int end = 0;
    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, enqueue_until_told, &end);
    uint64_t longest = 0, lost = 0;
    for (int i = 0; i < 10; i++) {
        const char *const path = rt_start("busy.sbt", plain);
        usleep(20000);
        const uint64_t before = rt_now_ns(CLOCK_MONOTONIC);
        assert_int_equal(ts_session_stop(), TS_OK);
        const uint64_t took = rt_now_ns(CLOCK_MONOTONIC) - before;
        if (took > longest) longest = took;
        rt_trace trace = rt_open(path);
        lost += trace.info->lost;
        rt_close(&trace);
    }
    __atomic_store_n(&end, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(lost, 0);
    assert_true(longest < 1500000000);
}

static void a_marker_stands_for_what_is_before_it(void **state)
{
    (void)state;
    const cl_mem a = buffer_of(64), b = buffer_of(64);
    cl_event event;
    const char *const path = rt_start("marker.sbt", plain);
    for (int i = 0; i < 3; i++)
        set_enqueue(any_order, a, 0, NULL, NULL);
    fine(clEnqueueMarkerWithWaitList(any_order, 0, NULL, NULL)); // 3 before it
    fine(clEnqueueMarkerWithWaitList(any_order, 0, NULL, &event)); // 1
    fine(clEnqueueBarrierWithWaitList(any_order, 0, NULL, NULL));  // 1
    fine(clEnqueueWaitForEvents(queue, 1, &event));                // 1
    set_enqueue(queue, b, 0, NULL, NULL); // in order anyway
    fine(clFinish(queue));
    fine(clFinish(any_order));
    assert_int_equal(ts_session_stop(), TS_OK);
    rt_trace trace = rt_read(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_EVENT_RECORD, NULL), 4);
    assert_int_equal(rt_rows(&trace, TS_EVENT_DEPENDENCY, NULL), 6);
    rt_close(&trace);
    clReleaseEvent(event);
    clReleaseMemObject(a);
    clReleaseMemObject(b);
}

static void a_rectangle_without_pitches_begins_where_it_does(void **state)
{
    (void)state;
    const size_t from[3] = { 4, 3, 2 }, to[3] = { 0, 1, 0 };
    const size_t region[3] = { 16, 8, 2 };
    static char host[1024];
    const char *const path = rt_start("rectangle.sbt", plain);
    const cl_mem a = buffer_of(1024);
    fine(clEnqueueReadBufferRect(queue, a, CL_TRUE, from, to, region, 0, 0, 0,
                                 0, host, 0, NULL, NULL));
    assert_int_equal(ts_session_stop(), TS_OK);
    rt_trace trace = rt_read(path);
    const uint64_t at =
        rt_only(&trace, TS_EVENT_GPU_ALLOC, NULL)->values[TS_COLUMN_ADDRESS];
    const rt_row *const row = rt_only(&trace, TS_EVENT_MEMCPY, NULL);
    assert_int_equal(row->values[TS_COLUMN_SOURCE],
                     at + 4 + 3 * 16 + 2 * 8 * 16);
    assert_int_equal(row->values[TS_COLUMN_ADDRESS], (uintptr_t)host + 16);
    assert_int_equal(row->values[TS_COLUMN_SIZE], 256);
    rt_close(&trace);
    clReleaseMemObject(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_stops_at_once_while_threads_go_on),
        cmocka_unit_test(a_marker_stands_for_what_is_before_it),
        cmocka_unit_test(a_rectangle_without_pitches_begins_where_it_does),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
