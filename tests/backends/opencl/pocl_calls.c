// A program with the OpenCL backend inside, on PoCL, and what its trace says.
#include "tests/backends/opencl/opencl_fixture.h"

static int64_t end_of(const rt_row *row)
{
    return row->start_ns + row->duration_ns;
}

static uint64_t number_of(const rt_row *row)
{
    return row->values[TS_COLUMN_CORRELATION];
}

// The row of a kind with a correlation.
static const rt_row *with_number(const rt_trace *trace, ts_event_kind kind,
                                 uint64_t number)
{
    for (size_t i = 0; i < trace->count; i++)
        if (trace->rows[i].kind == kind && number_of(&trace->rows[i]) == number)
            return &trace->rows[i];
    fail_msg("no %s with number %d", ts_event_name(kind), (int)number);
    return NULL;
}

static bool depends(const rt_trace *trace, uint64_t number, uint64_t after)
{
    for (size_t i = 0; i < trace->count; i++)
        if (trace->rows[i].kind == TS_EVENT_DEPENDENCY &&
            number_of(&trace->rows[i]) == number &&
            trace->rows[i].values[TS_COLUMN_RECORD] == after)
            return true;
    return false;
}

UNIT_TEST(a_kernel_lies_in_the_zone_that_launched_it)
{
    const cl_mem to = buffer_of(1024), from = buffer_of(1024);
    const char *const path = rt_start("zone.sbt", plain);
    for (int i = 0; i < 20; i++) {
        TS_ZONE("launcher");
        work_enqueue(queue, to, from, 100);
        fine(clFinish(queue));
    }
    rt_trace trace = rt_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, "work"), 20);
    assert_int_equal(rt_rows(&trace, TS_EVENT_STREAM_SYNC, NULL), 20);
    for (size_t i = 0; i < 20; i++) {
        const rt_row *const zone = rt_nth(&trace, TS_EVENT_ZONE, NULL, i);
        const rt_row *const kernel = rt_nth(&trace, TS_EVENT_KERNEL, NULL, i);
        const rt_row *const call =
            with_number(&trace, TS_EVENT_API_CALL, number_of(kernel));
        assert_true(kernel->start_ns >= zone->start_ns);
        assert_true(end_of(kernel) <= end_of(zone));
        assert_true(kernel->start_ns >= call->start_ns);
        assert_string_equal(call->name, "clEnqueueNDRangeKernel");
        assert_int_equal(kernel->values[TS_COLUMN_SITE],
                         zone->values[TS_COLUMN_SITE]);
        assert_int_equal(kernel->values[TS_COLUMN_THREAD], zone->track);
        assert_int_equal(call->track, zone->track);
    }
    const rt_row *const kernel = rt_nth(&trace, TS_EVENT_KERNEL, NULL, 0);
    const ts_launch_entry *const launch = ts_reader_launch(
        trace.reader, (uint32_t)kernel->values[TS_COLUMN_LAUNCH]);
    assert_int_equal(launch->grid[0], 4);
    assert_int_equal(launch->grid[1], 2);
    assert_int_equal(launch->grid[2], 1);
    assert_int_equal(launch->block[0], 16);
    assert_int_equal(launch->dynamic_shared, 256);
    rt_close(&trace);
    clReleaseMemObject(to);
    clReleaseMemObject(from);
}

UNIT_TEST(a_copy_tells_bytes_direction_and_place)
{
    char host[512] = { 0 };
    const char *const path = rt_start("copy.sbt", plain);
    const cl_mem a = buffer_of(1024), b = buffer_of(2048);
    fine(
        clEnqueueWriteBuffer(queue, a, CL_TRUE, 256, 512, host, 0, NULL, NULL));
    fine(clEnqueueCopyBuffer(queue, a, b, 256, 1024, 512, 0, NULL, NULL));
    fine(clEnqueueReadBuffer(queue, b, CL_FALSE, 1024, 128, host, 0, NULL,
                             NULL));
    fine(clFinish(queue));
    clReleaseMemObject(a);
    clReleaseMemObject(b);
    rt_trace trace = rt_end(path);
    const rt_row *row[3];
    uint64_t at[2];
    for (size_t i = 0; i < 3; i++)
        row[i] = rt_nth(&trace, TS_EVENT_MEMCPY, NULL, i);
    for (size_t i = 0; i < 2; i++) {
        const rt_row *const made = rt_nth(&trace, TS_EVENT_GPU_ALLOC, NULL, i);
        const rt_row *const gone = rt_nth(&trace, TS_EVENT_GPU_FREE, NULL, i);
        at[i] = made->values[TS_COLUMN_ADDRESS];
        assert_int_equal(made->values[TS_COLUMN_SIZE], i ? 2048 : 1024);
        assert_int_equal(gone->values[TS_COLUMN_ADDRESS], at[i]);
        assert_true(gone->start_ns >= end_of(row[2]));
    }
    static const struct {
        const char *call;
        uint64_t type, size;
    } want[3] = { { "clEnqueueWriteBuffer (blocking)", 1, 512 },
                  { "clEnqueueCopyBuffer", 3, 512 },
                  { "clEnqueueReadBuffer", 2, 128 } };
    for (size_t i = 0; i < 3; i++) {
        const rt_row *const call =
            with_number(&trace, TS_EVENT_API_CALL, number_of(row[i]));
        assert_string_equal(call->name, want[i].call);
        assert_int_equal(row[i]->values[TS_COLUMN_TYPE], want[i].type);
        assert_int_equal(row[i]->values[TS_COLUMN_SIZE], want[i].size);
    }
    assert_int_equal(row[0]->values[TS_COLUMN_SOURCE], (uintptr_t)host);
    assert_int_equal(row[0]->values[TS_COLUMN_ADDRESS], at[0] + 256);
    assert_int_equal(row[1]->values[TS_COLUMN_SOURCE], at[0] + 256);
    assert_int_equal(row[1]->values[TS_COLUMN_ADDRESS], at[1] + 1024);
    assert_int_equal(row[2]->values[TS_COLUMN_SOURCE], at[1] + 1024);
    rt_close(&trace);
}

// What will be overwritten is not read.
UNIT_TEST(a_map_tells_bytes_direction_and_place)
{
    static const cl_map_flags flags[] = { CL_MAP_READ,
                                          CL_MAP_WRITE_INVALIDATE_REGION };
    void *mapped[2];
    cl_int result;
    const char *const path = rt_start("map.sbt", plain);
    const cl_mem a = buffer_of(1024);
    for (size_t i = 0; i < 2; i++) {
        mapped[i] = clEnqueueMapBuffer(queue, a, CL_TRUE, flags[i], 256, 128, 0,
                                       NULL, NULL, &result);
        fine(result);
        fine(clEnqueueUnmapMemObject(queue, a, mapped[i], 0, NULL, NULL));
        fine(clFinish(queue));
    }
    clReleaseMemObject(a);
    rt_trace trace = rt_end(path);
    const uint64_t at =
        rt_only(&trace, TS_EVENT_GPU_ALLOC, NULL)->values[TS_COLUMN_ADDRESS];
    for (size_t i = 0; i < 2; i++) {
        const rt_row *const row =
            rt_nth(&trace, TS_EVENT_MEMCPY, NULL, 2 * i); // then its unmap
        assert_int_equal(row->values[TS_COLUMN_TYPE], 2);
        assert_int_equal(row->values[TS_COLUMN_SIZE], i ? 0 : 128);
        assert_int_equal(row->values[TS_COLUMN_SOURCE], at + 256);
        assert_int_equal(row->values[TS_COLUMN_ADDRESS], (uintptr_t)mapped[i]);
    }
    rt_close(&trace);
}

UNIT_TEST(wait_lists_and_barriers_are_dependencies)
{
    cl_event event[3], user;
    cl_int result;
    const cl_mem a = buffer_of(64), b = buffer_of(64);
    const char *const path = rt_start("order.sbt", plain);
    user = clCreateUserEvent(context, &result);
    set_enqueue(any_order, a, 1, &user, &event[0]); // 0
    set_enqueue(any_order, b, 0, NULL, &event[1]);  // 1
    set_enqueue(queue, b, 2, event, &event[2]);     // 2: after both
    fine(clEnqueueBarrierWithWaitList(any_order, 0, NULL, NULL));
    set_enqueue(any_order, a, 0, NULL, NULL);  // 3: after the barrier
    set_enqueue(queue, b, 1, &event[2], NULL); // 4: in order anyway
    fine(clSetUserEventStatus(user, CL_COMPLETE));
    fine(clFinish(any_order));
    fine(clWaitForEvents(1, &event[2]));
    fine(clFinish(queue));
    rt_trace trace = rt_end(path);
    // Kernels by correlation, which counts up.
    uint64_t number[5];
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, "set"), 5);
    for (size_t i = 0; i < 5; i++) {
        number[i] = UINT64_MAX;
        for (size_t k = 0; k < 5; k++) {
            const uint64_t n =
                number_of(rt_nth(&trace, TS_EVENT_KERNEL, NULL, k));
            if (n < number[i] && (!i || n > number[i - 1])) number[i] = n;
        }
    }
    size_t memsets = 0;
    for (size_t i = 0; i < trace.count; i++)
        if (trace.rows[i].kind == TS_EVENT_API_CALL &&
            !strcmp(trace.rows[i].name, "clSetUserEventStatus")) {
            assert_true(depends(&trace, number[0], number_of(&trace.rows[i])));
            memsets++;
        }
    assert_int_equal(memsets, 1);
    assert_true(depends(&trace, number[2], number[0]));
    assert_true(depends(&trace, number[2], number[1]));
    assert_false(depends(&trace, number[1], number[0]));
    assert_false(depends(&trace, number[4], number[2]));
    assert_false(depends(&trace, number[3], number[0]));
    // The barrier is one record, the other is behind event[2].
    uint64_t barrier = 0;
    for (size_t i = 0; i < rt_rows(&trace, TS_EVENT_EVENT_RECORD, NULL); i++) {
        const uint64_t n =
            number_of(rt_nth(&trace, TS_EVENT_EVENT_RECORD, NULL, i));
        if (n != number[2]) barrier = n;
    }
    assert_true(depends(&trace, barrier, number[0]));
    assert_true(depends(&trace, barrier, number[1]));
    assert_true(depends(&trace, number[3], barrier));
    const rt_row *const sync = rt_only(&trace, TS_EVENT_EVENT_SYNC, NULL);
    assert_int_equal(sync->values[TS_COLUMN_ID], number[2]);
    rt_close(&trace);
    for (int i = 0; i < 3; i++)
        clReleaseEvent(event[i]);
    clReleaseEvent(user);
    clReleaseMemObject(a);
    clReleaseMemObject(b);
}

UNIT_TEST(arguments_are_accesses_of_what_they_point_to)
{
    const char *const path = rt_start("access.sbt", plain);
    cl_int result;
    const cl_mem to = buffer_of(4096), from = buffer_of(1024);
    const cl_buffer_region region = { 1024, 2048 };
    const cl_mem part = clCreateSubBuffer(
        to, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &result);
    fine(result);
    work_enqueue(queue, part, from, 1);
    int *const shared = clSVMAlloc(context, CL_MEM_READ_WRITE, 256, 0);
    const cl_kernel set = kernel_of("set");
    const size_t one = 1;
    fine(clSetKernelArgSVMPointer(set, 0, shared));
    fine(
        clEnqueueNDRangeKernel(queue, set, 1, NULL, &one, NULL, 0, NULL, NULL));
    fine(clFinish(queue));
    clSVMFree(context, shared);
    clReleaseKernel(set);
    clReleaseMemObject(to); // lives on: the sub-buffer needs it
    clReleaseMemObject(part);
    clReleaseMemObject(from);
    rt_trace trace = rt_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_GPU_ALLOC, NULL), 3);
    assert_int_equal(rt_rows(&trace, TS_EVENT_GPU_FREE, NULL), 3);
    const uint64_t at =
        rt_nth(&trace, TS_EVENT_GPU_ALLOC, NULL, 0)->values[TS_COLUMN_ADDRESS];
    const uint64_t from_at =
        rt_nth(&trace, TS_EVENT_GPU_ALLOC, NULL, 1)->values[TS_COLUMN_ADDRESS];
    const struct {
        uint64_t address, size, mode;
    } want[3] = { { at + 1024, 2048, 7 },
                  { from_at, 1024, 5 }, // a pointer to const
                  { (uintptr_t)shared, 256, 7 } };
    assert_int_equal(rt_rows(&trace, TS_EVENT_ACCESS, NULL), 3);
    for (size_t i = 0; i < 3; i++) {
        const rt_row *const row = rt_nth(&trace, TS_EVENT_ACCESS, NULL, i);
        assert_int_equal(row->values[TS_COLUMN_ADDRESS], want[i].address);
        assert_int_equal(row->values[TS_COLUMN_SIZE], want[i].size);
        assert_int_equal(row->values[TS_COLUMN_TYPE], want[i].mode);
        with_number(&trace, TS_EVENT_KERNEL, number_of(row));
    }
    rt_close(&trace);
}

// Whether to ask once more, after a millisecond: for twenty seconds.
static bool in_a_moment(int *tries)
{
    usleep(1000);
    return ++*tries < 20000;
}

// What the program can ask of a command that waits, and of one that is done.
static void ask(uint64_t *answers)
{
    cl_event event, user;
    cl_int result;
    cl_uint count;
    cl_ulong time = 5;
    int tries = 0;
    const cl_mem a = buffer_of(64);
    const cl_command_queue own = queue_of(0);
    user = clCreateUserEvent(context, &result);
    set_enqueue(own, a, 1, &user, &event);
    fine(clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof count, &count,
                        NULL));
    answers[0] = count;
    fine(clGetCommandQueueInfo(own, CL_QUEUE_REFERENCE_COUNT, sizeof count,
                               &count, NULL));
    answers[1] = count;
    cl_command_queue_properties properties;
    fine(clGetCommandQueueInfo(own, CL_QUEUE_PROPERTIES, sizeof properties,
                               &properties, NULL));
    answers[2] = properties;
    fine(clSetUserEventStatus(user, CL_COMPLETE));
    fine(clFinish(own));
    // The driver lets go of what is done on a thread of its own.
    do
        fine(clGetMemObjectInfo(a, CL_MEM_REFERENCE_COUNT, sizeof count, &count,
                                NULL));
    while (count > 1 && in_a_moment(&tries));
    answers[3] = count;
    answers[4] = (uint64_t)clGetEventProfilingInfo(
        event, CL_PROFILING_COMMAND_END, sizeof time, &time, NULL);
    answers[5] = time;
    // A queue of PoCL keeps its latest event.
    do
        fine(clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof count,
                            &count, NULL));
    while (count > 2 && in_a_moment(&tries));
    assert_in_range(count, 1, 2);
    clReleaseEvent(event);
    clReleaseEvent(user);
    clReleaseMemObject(a);
    clReleaseCommandQueue(own);
}

UNIT_TEST(the_program_sees_nothing_of_it)
{
    uint64_t without[6], with[6];
    ask(without);
    rt_start("unseen.sbt", plain);
    for (int i = 0; i < 20; i++) {
        ask(with);
        assert_memory_equal(without, with, sizeof with);
    }
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_int_equal(without[2], 0);
    assert_int_equal((cl_int)without[4], CL_PROFILING_INFO_NOT_AVAILABLE);
    assert_int_equal(without[5], 5);
}

UNIT_TEST(each_session_has_what_ran_in_it)
{
    const cl_mem a = buffer_of(64);
    for (int i = 1; i <= 3; i++) {
        set_enqueue(queue, a, 0, NULL, NULL); // before it
        fine(clFinish(queue));
        const char *const path = rt_start("one.sbt", plain);
        for (int k = 0; k < i; k++)
            set_enqueue(queue, a, 0, NULL, NULL);
        assert_int_equal(ts_session_stop(), TS_OK); // waits for them
        rt_trace trace = rt_read(path);
        assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, "set"), i);
        assert_int_equal(rt_lost(&trace, TS_LOSS_BACKEND), 0);
        ts_track track;
        assert_true(ts_reader_track(
            trace.reader, rt_nth(&trace, TS_EVENT_KERNEL, NULL, 0)->track,
            &track));
        assert_int_equal(track.type, TS_TRACK_STREAM);
        rt_close(&trace);
    }
    clReleaseMemObject(a);
}

enum { THREADS = 8, ROUNDS = 500 };

static void *enqueue_many(void *unused)
{
    cl_event event[2];
    const cl_mem a = buffer_of(64);
    for (int i = 0; i < ROUNDS; i++) {
        const cl_command_queue on = i % 3 ? queue : any_order;
        set_enqueue(on, a, 0, NULL, i % 2 ? &event[0] : NULL);
        if (i % 2) {
            set_enqueue(queue, a, 1, event, &event[1]);
            if (i % 8 == 1) fine(clWaitForEvents(2, event));
            clReleaseEvent(event[0]);
            clReleaseEvent(event[1]);
        }
        if (i % 64 == 0) fine(clFinish(on));
    }
    clReleaseMemObject(a);
    return NULL;
}

UNIT_TEST(eight_threads_lose_nothing)
{
    pthread_t thread[THREADS];
    const char *const path = rt_start("threads.sbt", plain);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, enqueue_many, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    fine(clFinish(queue));
    fine(clFinish(any_order));
    assert_int_equal(ts_session_stop(), TS_OK);
    rt_trace trace = rt_open(path);
    assert_int_equal(trace.info->counts[TS_EVENT_KERNEL],
                     THREADS * (ROUNDS + ROUNDS / 2));
    assert_int_equal(trace.info->lost, 0);
    rt_close(&trace);
}

UNIT_TEST(what_is_not_wanted_is_left_out)
{
    const ts_filter_desc wanted = { .kinds = "kernel,memcpy", .names = "-s?t" };
    const cl_mem a = buffer_of(1024), b = buffer_of(1024);
    char host[16];
    assert_int_equal(ts_filter_set(&wanted), TS_OK);
    const char *const path = rt_start("wanted.sbt", plain);
    cl_event event;
    set_enqueue(queue, a, 0, NULL, &event);
    work_enqueue(queue, a, b, 1);
    fine(clEnqueueReadBuffer(queue, a, CL_TRUE, 0, 16, host, 0, NULL, NULL));
    fine(clWaitForEvents(1, &event));
    fine(clFinish(queue));
    clReleaseEvent(event);
    clReleaseMemObject(a);
    clReleaseMemObject(b);
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_int_equal(ts_filter_set(NULL), TS_OK);
    rt_trace trace = rt_read(path);
    assert_int_equal(trace.count, 2);
    rt_only(&trace, TS_EVENT_KERNEL, "work");
    rt_only(&trace, TS_EVENT_MEMCPY, NULL);
    rt_close(&trace);
}

int main(void)
{
    return unit_run(open_device, close_device);
}
