// Captures of OpenCL where commands are declined, left out or wait; nothing
// that writes memory is missed.
#include "tests/backends/opencl/opencl_capture_fixture.h"

static void is_binary_of(ts_reader *reader, const ts_capture *c, cl_program of)
{
    ts_capture_image image;
    const void *bytes;
    size_t size, want_size;
    fine(clGetProgramInfo(of, CL_PROGRAM_BINARY_SIZES, sizeof want_size,
                          &want_size, NULL));
    unsigned char *want = malloc(want_size);
    fine(clGetProgramInfo(of, CL_PROGRAM_BINARIES, sizeof want, &want, NULL));
    assert_true(ts_reader_image(reader, c->head.image, &image));
    assert_int_equal(image.form, TS_CAPTURE_DEVICE_BINARY);
    assert_int_equal(ts_reader_blob(reader, image.hash, &bytes, &size), TS_OK);
    assert_int_equal(size, want_size);
    assert_memory_equal(bytes, want, size);
    free(want);
}

static void set_of(cl_program of, cl_mem to)
{
    cl_int result;
    const size_t count = 4;
    const cl_kernel step = clCreateKernel(of, "step_on", &result);
    fine(result);
    fine(clSetKernelArg(step, 0, sizeof to, &to));
    fine(clEnqueueNDRangeKernel(queue, step, 1, NULL, &count, NULL, 0, NULL,
                                NULL));
    fine(clFinish(queue));
    clReleaseKernel(step);
}

UNIT_TEST(programs_without_all_of_their_source_are_kept_as_binaries)
{
    cl_int result;
    const char *header = "#define STEP 3\n", *name = "step.h";
    const char *text = "#include \"step.h\"\n"
                       "__kernel void step_on(__global int *to)\n"
                       "{ to[get_global_id(0)] += STEP; }\n";
    const cl_program headers =
        clCreateProgramWithSource(context, 1, &header, NULL, NULL);
    const cl_program object =
        clCreateProgramWithSource(context, 1, &text, NULL, NULL);
    fine(clCompileProgram(object, 1, &device, "", 1, &headers, &name, NULL,
                          NULL));
    const cl_program linked =
        clLinkProgram(context, 1, &device, "", 1, &object, NULL, NULL, &result);
    fine(result);
    size_t size;
    fine(clGetProgramInfo(linked, CL_PROGRAM_BINARY_SIZES, sizeof size, &size,
                          NULL));
    unsigned char *bytes = malloc(size);
    fine(clGetProgramInfo(linked, CL_PROGRAM_BINARIES, sizeof bytes, &bytes,
                          NULL));
    const unsigned char *from = bytes;
    const cl_program binary = clCreateProgramWithBinary(
        context, 1, &device, &size, &from, NULL, &result);
    fine(result);
    fine(clBuildProgram(binary, 1, &device, "", NULL, NULL));
    const cl_mem to = buffer_of(16);
    const char *const path = begin("binary.sbt", "all");
    set_of(linked, to);
    set_of(binary, to);
    ts_reader *const reader = end(path);
    const ts_capture c[2] = { ct_nth(reader, TS_EVENT_KERNEL, 0),
                              ct_nth(reader, TS_EVENT_KERNEL, 1) };
    is_binary_of(reader, &c[0], linked);
    is_binary_of(reader, &c[1], binary);
    ts_reader_close(reader);
    free(bytes);
    clReleaseMemObject(to);
    clReleaseProgram(binary);
    clReleaseProgram(linked);
    clReleaseProgram(object);
    clReleaseProgram(headers);
}

// As a program that caches its compiled binaries.
UNIT_TEST(a_binary_whose_source_was_here_is_kept_as_that)
{
    cl_int result;
    size_t size, kept_size;
    ts_capture_image image;
    const void *text_kept;
    const char *text = "__kernel void step_on(__global int *to)\n"
                       "{ to[get_global_id(0)] += STEP; }\n";
    const char *const path = begin("cached.sbt", "all");
    const cl_program first =
        clCreateProgramWithSource(context, 1, &text, NULL, NULL);
    fine(clBuildProgram(first, 1, &device, "-DSTEP=4", NULL, NULL));
    fine(clGetProgramInfo(first, CL_PROGRAM_BINARY_SIZES, sizeof size, &size,
                          NULL));
    unsigned char *bytes = malloc(size);
    fine(clGetProgramInfo(first, CL_PROGRAM_BINARIES, sizeof bytes, &bytes,
                          NULL));
    clReleaseProgram(first);
    const unsigned char *from = bytes;
    const cl_program binary = clCreateProgramWithBinary(
        context, 1, &device, &size, &from, NULL, &result);
    fine(result);
    fine(clBuildProgram(binary, 1, &device, "", NULL, NULL));
    const cl_mem to = buffer_of(16);
    set_of(binary, to);
    ts_reader *const reader = end(path);
    const ts_capture c = ct_nth(reader, TS_EVENT_KERNEL, 0);
    assert_true(ts_reader_image(reader, c.head.image, &image));
    assert_int_equal(image.form, TS_CAPTURE_OPENCL_C);
    assert_int_equal(ts_reader_blob(reader, image.hash, &text_kept, &kept_size),
                     TS_OK);
    assert_int_equal(kept_size, strlen(text));
    assert_memory_equal(text_kept, text, kept_size);
    const ts_text options = ts_reader_name(reader, image.options);
    assert_int_equal(options.size, strlen("-DSTEP=4"));
    assert_memory_equal(options.text, "-DSTEP=4", options.size);
    ts_reader_close(reader);
    free(bytes);
    clReleaseMemObject(to);
    clReleaseProgram(binary);
}

UNIT_TEST(a_source_that_includes_files_is_kept_as_a_binary)
{
    char options[600];
    const char *text = "#  include \"by.h\"\n"
                       "__kernel void step_on(__global int *to)\n"
                       "{ to[get_global_id(0)] += BY; }\n";
    FILE *const file = fopen(rt_path("by.h"), "w");
    assert_non_null(file);
    fputs("#define BY 2\n", file);
    fclose(file);
    snprintf(options, sizeof options, "-I %s", rt_folder);
    const cl_program with =
        clCreateProgramWithSource(context, 1, &text, NULL, NULL);
    fine(clBuildProgram(with, 1, &device, options, NULL, NULL));
    const cl_mem to = buffer_of(16);
    const char *const path = begin("include.sbt", "all");
    set_of(with, to);
    ts_reader *const reader = end(path);
    const ts_capture c = ct_nth(reader, TS_EVENT_KERNEL, 0);
    is_binary_of(reader, &c, with);
    ts_reader_close(reader);
    clReleaseMemObject(to);
    clReleaseProgram(with);
}

static void CL_CALLBACK nothing(void *unused)
{
}

UNIT_TEST(what_cannot_be_run_again_is_declined_with_a_reason)
{
    const size_t count = 4;
    const cl_int one = 1;
    const cl_mem to = buffer_of(16);
    const char *const path = begin("declined.sbt", "all");
    int *const shared = clSVMAlloc(context, CL_MEM_READ_WRITE, 64, 0);
    const cl_kernel bump = kept_kernel("bump");
    fine(clSetKernelArgSVMPointer(bump, 0, shared));
    fine(clSetKernelArg(bump, 1, sizeof one, &one));
    fine(clEnqueueSVMMemFill(queue, shared, &one, 4, 64, 0, NULL, NULL));
    fine(clEnqueueNDRangeKernel(queue, bump, 1, NULL, &count, NULL, 0, NULL,
                                NULL));
    fine(clEnqueueNativeKernel(queue, nothing, NULL, 0, 0, NULL, NULL, 0, NULL,
                               NULL));
    fine(clFinish(queue));
    // A command that fails is not captured.
    const cl_kernel unset = kept_kernel("bump");
    assert_int_not_equal(clEnqueueNDRangeKernel(queue, unset, 1, NULL, &count,
                                                NULL, 0, NULL, NULL),
                         CL_SUCCESS);
    char byte;
    assert_int_not_equal(
        clEnqueueReadBuffer(queue, to, CL_TRUE, 8, 100, &byte, 0, NULL, NULL),
        CL_SUCCESS);
    ts_reader *const reader = end(path);
    assert_int_equal(3, ts_reader_capture_count(reader));
    assert_int_equal(ct_nth(reader, TS_EVENT_MEMSET, 0).head.reason,
                     TS_REASON_UVM);
    assert_int_equal(ct_nth(reader, TS_EVENT_KERNEL, 0).head.reason,
                     TS_REASON_UVM);
    assert_int_equal(ct_nth(reader, TS_EVENT_HOST_FUNCTION, 0).head.reason,
                     TS_REASON_HOST_CALLBACK);
    ts_reader_close(reader);
    clReleaseKernel(unset);
    clReleaseKernel(bump);
    clSVMFree(context, shared);
    clReleaseMemObject(to);
}

// The wait is bounded by ten minutes: a program that ends has not waited.
UNIT_TEST(what_waits_for_the_program_is_not_waited_for)
{
    cl_int result;
    int values[16] = { 0 };
    const cl_mem to = memory_of(CL_MEM_COPY_HOST_PTR, sizeof values, values);
    const ts_capture_desc desc = { .drain_ms = 600000 };
    const char *const path = rt_start("user.sbt", plain);
    assert_int_equal(ts_capture_start(&desc), TS_OK);
    const cl_event user = clCreateUserEvent(context, &result);
    fine(result);
    bump_enqueue(any_order, to, 1, 16, 1, &user);
    bump_enqueue(queue, to, 0, 1, 0, NULL);
    fine(clSetUserEventStatus(user, CL_COMPLETE));
    fine(clFinish(any_order));
    fine(clFinish(queue));
    bump_enqueue(queue, to, 7, 16, 0, NULL);
    fine(clEnqueueReadBuffer(queue, to, CL_TRUE, 0, sizeof values, values, 0,
                             NULL, NULL));
    ts_reader *const reader = end(path);
    size_t late = 0;
    uint64_t at = 0;
    for (size_t i = 0; i < 3; i++) {
        const ts_capture c = ct_nth(reader, TS_EVENT_KERNEL, i);
        late += c.head.reason == TS_REASON_DRAIN_TIMEOUT;
        if (c.head.state == TS_CAPTURE_WHOLE) at = ct_value(&c, 0);
    }
    assert_int_equal(late, 2);
    const ts_capture last = ct_nth(reader, TS_EVENT_KERNEL, 2);
    const int before = 11;
    ct_is(reader, &last, at + 4, true, &before, 4);
    assert_int_equal(values[1], 28);
    ts_reader_close(reader);
    clReleaseEvent(user);
    clReleaseMemObject(to);
}

static ts__cl_functions driver; // as it is

// Commands that wait for a user event cannot run: what is captured meanwhile is
// right, and what they write when the event is set is seen.
UNIT_TEST(what_was_there_before_the_session_spoils_nothing)
{
    cl_int result;
    cl_event done;
    const int zero = 0, one = 1, eleven = 11;
    const cl_mem to = buffer_of(64), other = buffer_of(64);
    fine(clEnqueueFillBuffer(queue, to, &zero, 4, 0, 64, 0, NULL, NULL));
    fine(clEnqueueFillBuffer(queue, other, &zero, 4, 0, 64, 0, NULL, NULL));
    fine(clFinish(queue));
    const cl_command_queue third = queue_of(0);
    const cl_event user = clCreateUserEvent(context, &result);
    fine(result);
    set_enqueue(any_order, to, 1, &user, NULL); // waits for the program
    set_enqueue(third, to, 1, &user, &done);
    const ts_capture_desc desc = { .drain_ms = 600000 };
    const char *const path = rt_start("gates.sbt", plain);
    assert_int_equal(ts_capture_start(&desc), TS_OK);
    bump_enqueue(queue, other, 1, 16, 0, NULL);
    bump_enqueue(queue, other, 1, 16, 1, &done); // so does that
    bump_enqueue(third, other, 1, 16, 0, NULL);  // behind such a one
    fine(clSetUserEventStatus(user, CL_COMPLETE));
    fine(clFinish(queue));
    fine(clFinish(third));
    bump_enqueue(queue, to, 0, 1, 0, NULL);
    fine(clFinish(queue));
    ts_reader *const reader = end(path);
    assert_int_equal(4, ts_reader_capture_count(reader));
    const ts_capture first = ct_nth(reader, TS_EVENT_KERNEL, 0);
    const ts_capture last = ct_nth(reader, TS_EVENT_KERNEL, 3);
    assert_int_equal(first.head.state, TS_CAPTURE_WHOLE);
    ct_is(reader, &first, ct_value(&first, 0), false, &eleven, 4);
    for (size_t i = 1; i < 3; i++)
        assert_int_equal(ct_nth(reader, TS_EVENT_KERNEL, i).head.reason,
                         TS_REASON_DRAIN_TIMEOUT);
    assert_int_equal(last.head.state, TS_CAPTURE_WHOLE);
    ct_is(reader, &last, ct_value(&last, 0), true, &one, 4);
    ts_reader_close(reader);
    clReleaseEvent(done);
    clReleaseEvent(user);
    clReleaseCommandQueue(third);
    clReleaseMemObject(other);
    clReleaseMemObject(to);
}

static ts__cl_handle followed; // the last marker behind what a queue has
static int in_vain;            // how often it was asked before it was reached

static int32_t note_marker(ts__cl_handle on, uint32_t waits,
                           const ts__cl_handle *list, ts__cl_handle *event)
{
    const int32_t result =
        driver.clEnqueueMarkerWithWaitList(on, waits, list, event);
    followed = *event;
    return result;
}

static int32_t late_status(ts__cl_handle event, uint32_t what, size_t room,
                           void *value, size_t *size)
{
    const int32_t queued = CL_QUEUED,
                  result =
                      driver.clGetEventInfo(event, what, room, value, size);
    if (event == followed && what == TS__CL_EVENT_EXECUTION_STATUS &&
        in_vain < 5) {
        in_vain++;
        memcpy(value, &queued, sizeof queued);
    }
    return result;
}

// Commands from before the session are over before anything is captured.
UNIT_TEST(what_ran_before_the_session_is_waited_for)
{
    const cl_mem to = buffer_of(64);
    const int zero = 0;
    driver = ts__cl.next;
    fine(clEnqueueFillBuffer(queue, to, &zero, 4, 0, 64, 0, NULL, NULL));
    fine(clFinish(queue));
    ts__cl.next.clEnqueueMarkerWithWaitList = note_marker;
    ts__cl.next.clGetEventInfo = late_status;
    const char *const path = rt_start("ran.sbt", plain);
    const ts_capture_desc desc = { .drain_ms = 600000 };
    assert_int_equal(ts_capture_start(&desc), TS_OK);
    bump_enqueue(queue, to, 0, 1, 0, NULL);
    ts_reader *const reader = end(path);
    ts__cl.next = driver;
    assert_non_null(followed);
    assert_int_equal(in_vain, 5);
    assert_int_equal(ct_nth(reader, TS_EVENT_KERNEL, 0).head.state,
                     TS_CAPTURE_WHOLE);
    ts_reader_close(reader);
    clReleaseMemObject(to);
}

static void *set_later(void *event)
{
    const struct timespec later = { 0, 50000000 };
    nanosleep(&later, NULL);
    clSetUserEventStatus(event, CL_COMPLETE);
    return NULL;
}

UNIT_TEST(what_was_in_flight_when_it_begins_is_waited_for)
{
    cl_int result;
    pthread_t thread;
    const int zero = 0, one = 1;
    const cl_mem to = buffer_of(64);
    const cl_event user = clCreateUserEvent(context, &result);
    fine(result);
    fine(clEnqueueFillBuffer(queue, to, &zero, 4, 0, 64, 0, NULL, NULL));
    fine(clFinish(queue));
    const ts_capture_desc desc = { .drain_ms = 600000 };
    const char *const path = rt_start("before.sbt", plain);
    set_enqueue(any_order, to, 1, &user, NULL);
    assert_int_equal(ts_capture_start(&desc), TS_OK);
    pthread_create(&thread, NULL, set_later, user);
    bump_enqueue(queue, to, 0, 1, 0, NULL);
    pthread_join(thread, NULL);
    ts_reader *const reader = end(path);
    const ts_capture c = ct_nth(reader, TS_EVENT_KERNEL, 0);
    assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
    ct_is(reader, &c, ct_value(&c, 0), true, &one, 4);
    ts_reader_close(reader);
    clReleaseEvent(user);
    clReleaseMemObject(to);
}

typedef struct late_write {
    cl_mem to;
    cl_event user;
    int values[16];
} late_write;

static void *write_late(void *arg)
{
    const late_write *const w = arg;
    fine(clEnqueueWriteBuffer(queue, w->to, CL_TRUE, 0, sizeof w->values,
                              w->values, 1, &w->user, NULL));
    return NULL;
}

// It is enqueued before the capture begins and returns after an operation.
UNIT_TEST(a_call_across_the_beginning_has_written)
{
    cl_int result;
    pthread_t thread;
    late_write w = { .values = { 70 } };
    const struct timespec moment = { 0, 50000000 };
    w.to = memory_of(CL_MEM_COPY_HOST_PTR, sizeof w.values, w.values);
    w.user = clCreateUserEvent(context, &result);
    fine(result);
    const ts_capture_desc desc = { .drain_ms = 600000 };
    const char *const path = rt_start("across.sbt", plain);
    pthread_create(&thread, NULL, write_late, &w);
    nanosleep(&moment, NULL); // if it begins later, it is one of the capture
    assert_int_equal(ts_capture_start(&desc), TS_OK);
    bump_enqueue(any_order, w.to, 1, 16, 0, NULL);
    fine(clFinish(any_order));
    fine(clSetUserEventStatus(w.user, CL_COMPLETE));
    pthread_join(thread, NULL);
    bump_enqueue(any_order, w.to, 1, 16, 0, NULL);
    ts_reader *const reader = end(path);
    const ts_capture c = ct_nth(reader, TS_EVENT_KERNEL, 1);
    ct_is(reader, &c, ct_value(&c, 0), true, w.values, sizeof w.values);
    ts_reader_close(reader);
    clReleaseEvent(w.user);
    clReleaseMemObject(w.to);
}

UNIT_TEST(user_events_that_go_unset_hold_nobody_up)
{
    cl_int result;
    const uint32_t unset = ts__cl.unset;
    const cl_event one = clCreateUserEvent(context, &result);
    const cl_event other = clCreateUserEvent(context, &result);
    ts__cl_queue *const q = ts__cl_find(TS__CL_QUEUE, queue);
    assert_int_equal(ts__cl.unset, unset + 2);
    assert_true(ts__cl_gate_one(q, (ts__cl_handle)one));
    assert_true(ts__cl_queue_gated(q));
    fine(clRetainEvent(one));
    fine(clReleaseEvent(one)); // the program has it
    assert_true(ts__cl_queue_gated(q));
    fine(clReleaseEvent(one));
    assert_false(ts__cl_queue_gated(q));
    assert_int_equal(ts__cl.unset, unset + 1);
    // Another queue of the same handle waits for nothing of that.
    assert_true(ts__cl_gate_one(q, (ts__cl_handle)other));
    assert_true(ts__cl_queue_gated(q));
    const uint32_t number = q->number;
    q->number = number + 1000000; // as when one is made
    assert_false(ts__cl_queue_gated(q));
    assert_true(ts__cl_gate_one(q, (ts__cl_handle)other));
    assert_true(ts__cl_queue_gated(q));
    q->number = number;
    assert_false(ts__cl_queue_gated(q));
    fine(clReleaseEvent(other));
    assert_int_equal(ts__cl.unset, unset);
}

// Another thread holds the lock for longer than anything waits for it.
UNIT_TEST(what_passes_by_is_counted)
{
    int values[16] = { 0 };
    const cl_mem to = memory_of(CL_MEM_COPY_HOST_PTR, sizeof values, values);
    const ts_capture_desc desc = { .drain_ms = 1 };
    const char *const path = rt_start("passes.sbt", plain);
    assert_int_equal(ts_capture_start(&desc), TS_OK);
    ts__cl_cap.busy = true;
    bump_enqueue(queue, to, 1, 16, 0, NULL);
    fine(clEnqueueReadBuffer(queue, to, CL_TRUE, 0, sizeof values, values, 0,
                             NULL, NULL));
    ts__cl_cap.busy = false;
    ts_reader *const reader = end(path);
    assert_int_equal(2, ts_reader_capture_count(reader));
    const ts_capture c = ct_nth(reader, TS_EVENT_KERNEL, 0);
    const ts_capture copy = ct_nth(reader, TS_EVENT_MEMCPY, 0);
    assert_string_equal(ct_name(reader, c.head.name), "bump");
    assert_int_equal(c.head.reason, TS_REASON_DRAIN_TIMEOUT);
    assert_int_equal(copy.head.reason, TS_REASON_DRAIN_TIMEOUT);
    assert_int_equal(values[15], 11);
    ts_reader_close(reader);
    clReleaseMemObject(to);
}

static int held, flushes, asked;

static int32_t flush_and_look(ts__cl_handle on)
{
    __atomic_add_fetch(&held, locks_held(), __ATOMIC_RELAXED);
    __atomic_add_fetch(&flushes, 1, __ATOMIC_RELAXED);
    return driver.clFlush(on);
}

static int32_t info_and_look(ts__cl_handle event, uint32_t what, size_t room,
                             void *value, size_t *size)
{
    __atomic_add_fetch(&held, locks_held(), __ATOMIC_RELAXED);
    __atomic_add_fetch(&asked, 1, __ATOMIC_RELAXED);
    return driver.clGetEventInfo(event, what, room, value, size);
}

// Neither kernels of other names nor commands of kinds that the trace does
// not have.
UNIT_TEST(what_is_not_kept_has_written_all_the_same)
{
    int values[16];
    const cl_mem to = buffer_of(64);
    const int zero = 0, one = 1, nine = 9;
    for (int i = 0; i < 16; i++)
        values[i] = 100;
    fine(clEnqueueFillBuffer(queue, to, &zero, 4, 0, 64, 0, NULL, NULL));
    const ts_filter_desc kernels = { .kinds = "kernel" };
    assert_int_equal(ts_filter_set(&kernels), TS_OK);
    driver = ts__cl.next;
    ts__cl.next.clFlush = flush_and_look;
    ts__cl.next.clGetEventInfo = info_and_look;
    const char *const path = begin("others.sbt", "kernel:bump");
    bump_enqueue(queue, to, 2, 16, 0, NULL);
    set_enqueue(queue, to, 0, NULL, NULL);
    bump_enqueue(queue, to, 2, 16, 0, NULL);
    fine(
        clEnqueueWriteBuffer(queue, to, CL_FALSE, 4, 8, values, 0, NULL, NULL));
    bump_enqueue(any_order, to, 0, 1, 0, NULL);
    fine(clEnqueueFillBuffer(queue, to, &nine, 4, 12, 4, 0, NULL, NULL));
    bump_enqueue(queue, to, 0, 1, 0, NULL);
    ts_reader *const reader = end(path);
    ts__cl.next = driver;
    assert_true(flushes > 0 && asked > 0);
    assert_int_equal(held, 0); // a driver may call the program then
    assert_int_equal(ts_filter_set(NULL), TS_OK);
    assert_int_equal(4, ts_reader_capture_count(reader));
    const ts_capture second = ct_nth(reader, TS_EVENT_KERNEL, 1);
    const ts_capture third = ct_nth(reader, TS_EVENT_KERNEL, 2);
    const ts_capture last = ct_nth(reader, TS_EVENT_KERNEL, 3);
    const uint64_t at = ct_value(&second, 0);
    ct_is(reader, &second, at, true, &one, 4);
    ct_is(reader, &third, at + 4, true, values, 8);
    ct_is(reader, &last, at + 12, true, &nine, 4);
    ts_reader_close(reader);
    clReleaseMemObject(to);
}

UNIT_TEST(only_what_may_have_changed_is_read_again)
{
    static uint8_t bytes[100];
    const cl_mem to = buffer_of(1 << 20);
    const char *const path = begin("changed.sbt", "all");
    uint64_t looked[4];
    for (int i = 0; i < 4; i++) {
        fine(clEnqueueWriteBuffer(queue, to, CL_TRUE, 70000, i == 3 ? 50 : 100,
                                  bytes, 0, NULL, NULL));
        looked[i] = ts_capture_result().looked_bytes;
    }
    assert_int_equal(looked[0], 100 + (1 << 20) + 65536);
    assert_int_equal(looked[1] - looked[0], 100 + 65536);
    assert_int_equal(looked[3] - looked[2], 50 + 65536);
    ts_reader_close(end(path));
    clReleaseMemObject(to);
}

UNIT_TEST(memory_that_the_host_may_not_read_is_read)
{
    int values[16];
    for (int i = 0; i < 16; i++)
        values[i] = i * i;
    const cl_mem to = memory_of(CL_MEM_HOST_NO_ACCESS | CL_MEM_COPY_HOST_PTR,
                                sizeof values, values);
    const cl_image_format format = { CL_R, CL_SIGNED_INT32 };
    cl_image_desc desc;
    cl_int result;
    memset(&desc, 0, sizeof desc);
    desc.image_type = CL_MEM_OBJECT_IMAGE2D;
    desc.image_width = desc.image_height = 4;
    const cl_mem image = clCreateImage(context, CL_MEM_HOST_WRITE_ONLY, &format,
                                       &desc, NULL, &result);
    fine(result);
    const size_t origin[3] = { 0, 0, 0 }, region[3] = { 4, 4, 1 };
    const char *const path = begin("private.sbt", "all");
    bump_enqueue(queue, to, 0, 1, 0, NULL);
    fine(clEnqueueWriteImage(queue, image, CL_FALSE, origin, region, 0, 0,
                             values, 0, NULL, NULL));
    fine(clFinish(queue));
    ts_reader *const reader = end(path);
    const ts_capture c = ct_nth(reader, TS_EVENT_KERNEL, 0);
    const ts_capture copy = ct_nth(reader, TS_EVENT_MEMCPY, 0);
    ct_is(reader, &c, ct_value(&c, 0), true, values, sizeof values);
    ct_is(reader, &copy, copy.head.destination, false, values, sizeof values);
    ts_reader_close(reader);
    clReleaseMemObject(image);
    clReleaseMemObject(to);
}

// As drivers with cl_khr_mipmap_image say.
static int32_t three_levels(ts__cl_handle image, uint32_t what, size_t room,
                            void *value, size_t *size)
{
    const uint32_t levels = 3;
    if (what != TS__CL_IMAGE_NUM_MIP_LEVELS)
        return driver.clGetImageInfo(image, what, room, value, size);
    memcpy(value, &levels, sizeof levels);
    return CL_SUCCESS;
}

UNIT_TEST(images_of_several_levels_are_declined)
{
    static uint8_t bytes[64];
    const cl_mem image = image_of(CL_MEM_OBJECT_IMAGE2D, 4, 4, 0, NULL);
    const size_t origin[3] = { 0, 0, 0 }, region[3] = { 4, 4, 1 };
    driver = ts__cl.next;
    ts__cl.next.clGetImageInfo = three_levels;
    const char *const path = begin("levels.sbt", "all");
    fine(clEnqueueWriteImage(queue, image, CL_TRUE, origin, region, 0, 0, bytes,
                             0, NULL, NULL));
    ts_reader *const reader = end(path);
    ts__cl.next = driver;
    const ts_capture c = ct_nth(reader, TS_EVENT_MEMCPY, 0);
    assert_int_equal(c.head.state, TS_CAPTURE_DECLINED);
    assert_int_equal(c.head.reason, TS_REASON_PARAM_LAYOUT_UNKNOWN);
    ts_reader_close(reader);
    clReleaseMemObject(image);
}

// As drivers with pipes say; PoCL has none.
static int32_t a_pipe(ts__cl_handle memory, uint32_t what, size_t room,
                      void *value, size_t *size)
{
    const uint32_t type = CL_MEM_OBJECT_PIPE;
    if (what != TS__CL_MEM_TYPE)
        return driver.clGetMemObjectInfo(memory, what, room, value, size);
    memcpy(value, &type, sizeof type);
    return CL_SUCCESS;
}

// Two kernels, both declined.
static void end_with_two(const char *path, ts_reason reason)
{
    ts_reader *const reader = end(path);
    ts__cl.next = driver;
    for (size_t i = 0; i < 2; i++) {
        const ts_capture c = ct_nth(reader, TS_EVENT_KERNEL, i);
        assert_int_equal(c.head.state, TS_CAPTURE_DECLINED);
        assert_int_equal(c.head.reason, reason);
    }
    ts_reader_close(reader);
}

static ts__cl_handle make_pipe(ts__cl_handle within, uint64_t flags,
                               uint32_t packet_size, uint32_t packets,
                               const intptr_t *properties, int32_t *error)
{
    assert_null(properties);
    return driver.clCreateBuffer(within, flags, packet_size * packets, NULL,
                                 error);
}

// As of programs that are built without -cl-kernel-arg-info.
static int32_t no_such_info(ts__cl_handle kernel, uint32_t index, uint32_t what,
                            size_t room, void *value, size_t *size)
{
    return CL_KERNEL_ARG_INFO_NOT_AVAILABLE;
}

UNIT_TEST(pipes_are_declined)
{
    cl_int result;
    driver = ts__cl.next;
    ts__cl.next.clGetMemObjectInfo = a_pipe;
    ts__cl.next.clCreatePipe = make_pipe;
    const cl_mem to =
        clCreatePipe(context, CL_MEM_READ_WRITE, 4, 16, NULL, &result);
    fine(result);
    const char *const path = begin("pipes.sbt", "all");
    bump_enqueue(queue, to, 1, 16, 0, NULL);
    ts__cl.next.clGetKernelArgInfo = no_such_info;
    bump_enqueue(queue, to, 1, 16, 0, NULL);
    fine(clFinish(queue));
    end_with_two(path, TS_REASON_ATTACHED_LATE);
    clReleaseMemObject(to);
}

// As of a driver whose program has variables; PoCL 3.1 tells of none.
static int32_t four_bytes(ts__cl_handle of, ts__cl_handle on, uint32_t what,
                          size_t room, void *value, size_t *size)
{
    const size_t variables = 4;
    if (what != CL_PROGRAM_BUILD_GLOBAL_VARIABLE_TOTAL_SIZE)
        return driver.clGetProgramBuildInfo(of, on, what, room, value, size);
    memcpy(value, &variables, sizeof variables);
    return CL_SUCCESS;
}

UNIT_TEST(programs_with_variables_are_declined)
{
    const cl_mem to = buffer_of(64);
    driver = ts__cl.next;
    ts__cl.next.clGetProgramBuildInfo = four_bytes;
    const char *const path = begin("variables.sbt", "all");
    bump_enqueue(queue, to, 1, 16, 0, NULL);
    bump_enqueue(queue, to, 1, 16, 0, NULL); // what was found out holds
    fine(clFinish(queue));
    end_with_two(path, TS_REASON_MEMORY_MISSING);
    clReleaseMemObject(to);
}

UNIT_TEST(an_image_in_a_buffer_is_the_buffer)
{
    uint8_t bytes[64], back[16];
    for (int i = 0; i < 64; i++)
        bytes[i] = (uint8_t)i;
    const cl_mem buffer = memory_of(CL_MEM_COPY_HOST_PTR, sizeof bytes, bytes);
    const cl_mem image =
        image_of(CL_MEM_OBJECT_IMAGE1D_BUFFER, 16, 1, 1, buffer);
    const size_t origin[3] = { 4, 0, 0 }, region[3] = { 4, 1, 1 };
    const char *const path = begin("within.sbt", "all");
    bump_enqueue(queue, buffer, 0, 1, 0, NULL);
    fine(clEnqueueReadImage(queue, image, CL_TRUE, origin, region, 0, 0, back,
                            0, NULL, NULL));
    ts_reader *const reader = end(path);
    const ts_capture c = ct_nth(reader, TS_EVENT_KERNEL, 0);
    const ts_capture copy = ct_nth(reader, TS_EVENT_MEMCPY, 0);
    const ts_capture_object *const about =
        ct_attribute(&copy, TS_ATTRIBUTE_IMAGE, sizeof *about, 0);
    assert_int_equal(about->address, ct_value(&c, 0));
    assert_int_equal(about->object_type, CL_MEM_OBJECT_IMAGE1D_BUFFER);
    ct_is(reader, &copy, about->address + 4, true, bytes + 4, 60);
    ct_is(reader, &copy, (uintptr_t)back, false, bytes + 16, 16);
    ts_reader_close(reader);
    clReleaseMemObject(image);
    clReleaseMemObject(buffer);
}

enum { ROUNDS = 20, THREADS = 4 };

static void *bump_often(void *result)
{
    int value[16] = { 0 };
    const cl_command_queue own = queue_of(0);
    const cl_mem to = memory_of(CL_MEM_COPY_HOST_PTR, sizeof value, value);
    for (int i = 0; i < ROUNDS; i++)
        bump_enqueue(own, to, 1, 16, 0, NULL);
    fine(clEnqueueReadBuffer(own, to, CL_TRUE, 0, sizeof value, value, 0, NULL,
                             NULL));
    *(int *)result = value[15];
    clReleaseMemObject(to);
    clReleaseCommandQueue(own);
    return NULL;
}

UNIT_TEST(threads_alternate)
{
    pthread_t thread[THREADS];
    int result[THREADS];
    const char *const path = begin("threads.sbt", "all");
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, bump_often, &result[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(result[i], ROUNDS * 11);
    }
    ts_reader *const reader = end(path);
    assert_int_equal(THREADS * (ROUNDS + 1), ts_reader_capture_count(reader));
    for (size_t i = 0; i < THREADS * ROUNDS; i++) {
        const ts_capture c = ct_nth(reader, TS_EVENT_KERNEL, i);
        int before = 0, after;
        assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
        uint8_t *const bytes =
            ct_bytes(reader, &c.regions[0], c.regions[0].before);
        memcpy(&before, bytes, sizeof before);
        free(bytes);
        after = before + 11;
        ct_is(reader, &c, c.regions[0].address, false, &after, sizeof after);
    }
    ts_reader_close(reader);
}

int main(void)
{
    return unit_run(open_all, close_all);
}
