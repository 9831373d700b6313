// Rare cases of OpenCL: threads that go on, old calls, defaults.
#define TS__CL_SINCE_MAX 8
#include "tests/backends/opencl/opencl_fixture.h"

static void *enqueue_until_stopped(void *end)
{
    const cl_mem a = buffer_of(64);
    for (int i = 0; !__atomic_load_n((int *)end, __ATOMIC_RELAXED); i++) {
        set_enqueue(i % 2 ? queue : any_order, a, 0, NULL, NULL);
        if (i % 4 == 3) fine(clFinish(i % 8 == 3 ? queue : any_order));
    }
    clReleaseMemObject(a);
    return NULL;
}

UNIT_TEST(a_session_stops_at_once_while_threads_go_on)
{
    pthread_t thread[4];
    int end = 0;
    for (int i = 0; i < 4; i++)
        pthread_create(&thread[i], NULL, enqueue_until_stopped, &end);
    uint64_t lost = 0;
    for (int i = 0; i < 10; i++) {
        const char *const path = rt_start("busy.sbt", plain);
        usleep(20000);
        assert_int_equal(ts_session_stop(), TS_OK);
        rt_trace trace = rt_open(path);
        lost += trace.info->lost;
        rt_close(&trace);
    }
    __atomic_store_n(&end, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(lost, 0); // as what a stop waits for in vain is
}

UNIT_TEST(what_never_ends_is_waited_for_once_and_lost)
{
    cl_int result;
    const cl_mem a = buffer_of(64);
    const cl_event user = clCreateUserEvent(context, &result);
    const char *path = rt_start("stuck.sbt", plain);
    set_enqueue(queue, a, 0, NULL, NULL);
    set_enqueue(queue, a, 1, &user, NULL);
    set_enqueue(queue, a, 0, NULL, NULL);
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_int_equal(ts__cl.pending, 0); // what a stop waits for
    rt_trace trace = rt_read(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, "set"), 1);
    assert_int_equal(rt_lost(&trace, TS_LOSS_BACKEND), 2);
    rt_close(&trace);
    path = rt_start("other.sbt", plain);
    set_enqueue(any_order, a, 0, NULL, NULL);
    trace = rt_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, "set"), 1);
    assert_int_equal(trace.info->lost, 0);
    rt_close(&trace);
    rt_start("after.sbt", plain);
    fine(clSetUserEventStatus(user, CL_COMPLETE));
    fine(clFinish(queue));
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_int_equal(ts__cl.pending, 0);
    clReleaseEvent(user);
    clReleaseMemObject(a);
}

static ts__cl_functions driver; // as it is
static int releases, held;

static int32_t release_and_look(ts__cl_handle event)
{
    held += locks_held();
    releases++;
    return driver.clReleaseEvent(event);
}

static int32_t info_and_look(ts__cl_handle event, uint32_t what, size_t room,
                             void *value, size_t *size)
{
    held += locks_held();
    return driver.clGetEventInfo(event, what, room, value, size);
}

static int32_t times_and_look(ts__cl_handle event, uint32_t what, size_t room,
                              void *value, size_t *size)
{
    held += locks_held();
    return driver.clGetEventProfilingInfo(event, what, room, value, size);
}

UNIT_TEST(the_driver_is_asked_under_no_lock)
{
    const cl_mem a = buffer_of(64);
    rt_start("release.sbt", plain);
    ts__cl_thread_stop(); // nobody else looks
    TS__STORE(&ts__cl.runs, 1);
    driver = ts__cl.next;
    ts__cl.next.clReleaseEvent = release_and_look;
    ts__cl.next.clGetEventInfo = info_and_look;
    ts__cl.next.clGetEventProfilingInfo = times_and_look;
    for (int i = 0; i < 10; i++)
        set_enqueue(queue, a, 0, NULL, NULL);
    fine(clFinish(queue));
    ts__cl.next = driver;
    TS__STORE(&ts__cl.runs, 0);
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_int_equal(releases, 10);
    assert_int_equal(held, 0);
    clReleaseMemObject(a);
}

// As a driver that runs queued commands and callbacks only when it is queried.
static int32_t info_and_call(ts__cl_handle event, uint32_t what, size_t room,
                             void *value, size_t *size)
{
    static bool within;
    const bool calls = !within;
    within = true;
    if (calls) fine(clFinish(queue));
    if (calls) within = false;
    return driver.clGetEventInfo(event, what, room, value, size);
}

UNIT_TEST(a_driver_may_call_the_program_that_calls_it)
{
    const cl_mem a = buffer_of(64);
    const char *const path = rt_start("within.sbt", plain);
    ts__cl_thread_stop();
    TS__STORE(&ts__cl.runs, 1);
    driver = ts__cl.next;
    ts__cl.next.clGetEventInfo = info_and_call;
    for (int i = 0; i < 3; i++)
        set_enqueue(queue, a, 0, NULL, NULL);
    fine(clFinish(queue));
    ts__cl.next = driver;
    TS__STORE(&ts__cl.runs, 0);
    rt_trace trace = rt_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, "set"), 3);
    assert_int_equal(trace.info->lost, 0);
    rt_close(&trace);
    clReleaseMemObject(a);
}

// Another thread looks for longer than anything waits for it.
UNIT_TEST(who_looks_is_not_waited_for_forever)
{
    const cl_mem a = buffer_of(64);
    const char *const path = rt_start("looks.sbt", plain);
    set_enqueue(queue, a, 0, NULL, NULL);
    ts__cl_queue *const q = ts__cl_find(TS__CL_QUEUE, queue);
    assert_true(ts__cl_look_at(q, TS__CL_PATIENCE_MS));
    assert_false(ts__cl_look_at(q, TS__CL_PATIENCE_MS)); // the same thread
    pthread_mutex_lock(&q->lock);
    q->looker = ts__cl.thread;
    pthread_mutex_unlock(&q->lock);
    assert_false(ts__cl_look_at(q, 1));
    ts__cl_looked(q);
    fine(clFinish(queue));
    rt_trace trace = rt_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, "set"), 1);
    rt_close(&trace);
    clReleaseMemObject(a);
}

UNIT_TEST(a_barrier_is_tied_to_all_however_many)
{
    enum { BEFORE = 100 };
    const cl_mem a = buffer_of(64);
    const char *const path = rt_start("many.sbt", plain);
    for (int i = 0; i < BEFORE; i++)
        set_enqueue(any_order, a, 0, NULL, NULL);
    fine(clEnqueueBarrierWithWaitList(any_order, 0, NULL, NULL));
    set_enqueue(any_order, a, 0, NULL, NULL);
    fine(clFinish(any_order));
    rt_trace trace = rt_end(path);
    const uint64_t barrier = rt_only(&trace, TS_EVENT_EVENT_RECORD, NULL)
                                 ->values[TS_COLUMN_CORRELATION];
    size_t before = 0, after = 0;
    for (size_t i = 0; i < trace.count; i++) {
        const rt_row *const row = &trace.rows[i];
        if (row->kind != TS_EVENT_DEPENDENCY) continue;
        before += row->values[TS_COLUMN_CORRELATION] == barrier;
        after += row->values[TS_COLUMN_RECORD] == barrier;
    }
    assert_int_equal(before, BEFORE);
    assert_int_equal(after, 1);
    assert_int_equal(trace.info->lost, 0);
    rt_close(&trace);
    clReleaseMemObject(a);
}

// PoCL 3.1 loses 28 bytes for each image in a buffer.
#ifndef __has_feature
#define __has_feature(what) 0
#endif
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#else
#define __lsan_disable() ((void)0)
#define __lsan_enable()  ((void)0)
#endif

UNIT_TEST(an_image_in_a_buffer_is_no_memory_of_its_own)
{
    const char *const path = rt_start("image.sbt", plain);
    const cl_mem whole = buffer_of(4096);
    cl_int result;
    const cl_image_format format = { CL_RGBA, CL_UNSIGNED_INT32 };
    const cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER,
                                 .image_width = 64,
                                 .buffer = whole };
    __lsan_disable();
    const cl_mem image = clCreateImage(context, CL_MEM_READ_WRITE, &format,
                                       &desc, NULL, &result);
    __lsan_enable();
    fine(result);
    ts__cl_memory m;
    assert_true(ts__cl_memory_get(TS__CL_MEMORY, image, &m));
    clReleaseMemObject(image);
    clReleaseMemObject(whole);
    rt_trace trace = rt_end(path);
    const rt_row *const made = rt_only(&trace, TS_EVENT_GPU_ALLOC, NULL);
    rt_only(&trace, TS_EVENT_GPU_FREE, NULL);
    assert_int_equal(m.address, made->values[TS_COLUMN_ADDRESS]);
    rt_close(&trace);
}

UNIT_TEST(a_marker_stands_for_what_is_before_it)
{
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
    rt_trace trace = rt_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_EVENT_RECORD, NULL), 4);
    assert_int_equal(rt_rows(&trace, TS_EVENT_DEPENDENCY, NULL), 6);
    rt_close(&trace);
    clReleaseEvent(event);
    clReleaseMemObject(a);
    clReleaseMemObject(b);
}

UNIT_TEST(a_rectangle_without_pitches_begins_where_it_does)
{
    const size_t from[3] = { 4, 3, 2 }, to[3] = { 0, 1, 0 };
    const size_t region[3] = { 16, 8, 2 };
    static char host[1024];
    const char *const path = rt_start("rectangle.sbt", plain);
    const cl_mem a = buffer_of(1024);
    fine(clEnqueueReadBufferRect(queue, a, CL_TRUE, from, to, region, 0, 0, 0,
                                 0, host, 0, NULL, NULL));
    rt_trace trace = rt_end(path);
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
    return unit_run(open_device, close_device);
}
