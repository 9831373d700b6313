// Every function of OpenCL that enqueues is in the trace with its time, and in
// a capture whole or with a reason that docs/execution.md names.
//   pocl_every_call list    the names of all that are tried
#include "tests/backends/opencl/opencl_capture_fixture.h"

enum { SIZE = 1024 };
static cl_mem memory, other, image, second;
static uint8_t host[SIZE];
static uint8_t *shared;
static const size_t none[3] = { 0, 0, 0 }, box[3] = { 8, 4, 1 };
static const cl_uint word = 0x01020304, colour[4] = { 1, 2, 3, 4 };

static void CL_CALLBACK nothing(void *unused)
{
}

static cl_kernel bump_of(cl_mem to)
{
    const cl_int one = 1;
    const cl_kernel bump = kept_kernel("bump");
    fine(clSetKernelArg(bump, 0, sizeof to, &to));
    fine(clSetKernelArg(bump, 1, sizeof one, &one));
    return bump;
}

#define LAST 0, NULL, NULL
typedef enum fate {
    WHOLE, // with its memory
    EMPTY, // it moves nothing
    NEVER, // it is no operation on memory
    UVM,   // declined
    CALLBACK
} fate;

static void call_ReadBuffer(void)
{
    fine(clEnqueueReadBuffer(queue, memory, CL_FALSE, 0, SIZE, host, LAST));
}

static void call_WriteBuffer(void)
{
    fine(clEnqueueWriteBuffer(queue, memory, CL_FALSE, 0, SIZE, host, LAST));
}

static void call_CopyBuffer(void)
{
    fine(clEnqueueCopyBuffer(queue, memory, other, 0, 0, SIZE, LAST));
}

static void call_ReadBufferRect(void)
{
    fine(clEnqueueReadBufferRect(queue, memory, CL_FALSE, none, none, box, 16,
                                 0, 16, 0, host, LAST));
}

static void call_WriteBufferRect(void)
{
    fine(clEnqueueWriteBufferRect(queue, memory, CL_FALSE, none, none, box, 16,
                                  0, 16, 0, host, LAST));
}

static void call_CopyBufferRect(void)
{
    fine(clEnqueueCopyBufferRect(queue, memory, other, none, none, box, 16, 0,
                                 16, 0, LAST));
}

static void call_FillBuffer(void)
{
    fine(clEnqueueFillBuffer(queue, memory, &word, 4, 0, SIZE, LAST));
}

static void call_ReadImage(void)
{
    fine(clEnqueueReadImage(queue, image, CL_FALSE, none, box, 0, 0, host,
                            LAST));
}

static void call_WriteImage(void)
{
    fine(clEnqueueWriteImage(queue, image, CL_FALSE, none, box, 0, 0, host,
                             LAST));
}

static void call_CopyImage(void)
{
    fine(clEnqueueCopyImage(queue, image, second, none, none, box, LAST));
}

static void call_CopyImageToBuffer(void)
{
    fine(clEnqueueCopyImageToBuffer(queue, image, memory, none, box, 0, LAST));
}

static void call_CopyBufferToImage(void)
{
    fine(clEnqueueCopyBufferToImage(queue, memory, image, 0, none, box, LAST));
}

static void call_FillImage(void)
{
    fine(clEnqueueFillImage(queue, image, colour, none, box, LAST));
}

static void *mapped(void)
{
    cl_int result;
    void *const at = clEnqueueMapBuffer(queue, memory, CL_FALSE, CL_MAP_WRITE,
                                        0, SIZE, LAST, &result);
    fine(result);
    return at;
}

static void call_MapBuffer(void)
{
    void *const at = mapped();
    fine(clFinish(queue));
    fine(clEnqueueUnmapMemObject(queue, memory, at, LAST));
}

static void call_MapImage(void)
{
    cl_int result;
    size_t pitch;
    void *const at = clEnqueueMapImage(queue, image, CL_FALSE, CL_MAP_READ,
                                       none, box, &pitch, NULL, LAST, &result);
    fine(result);
    fine(clFinish(queue));
    fine(clEnqueueUnmapMemObject(queue, image, at, LAST));
}

static void call_UnmapMemObject(void)
{
    void *const at = mapped();
    fine(clFinish(queue));
    memset(at, 7, SIZE);
    fine(clEnqueueUnmapMemObject(queue, memory, at, LAST));
}

static void call_MigrateMemObjects(void)
{
    fine(clEnqueueMigrateMemObjects(queue, 1, &memory,
                                    CL_MIGRATE_MEM_OBJECT_HOST, LAST));
}

static void call_NDRangeKernel(void)
{
    const size_t count = 16;
    const cl_kernel bump = bump_of(memory);
    fine(clEnqueueNDRangeKernel(queue, bump, 1, NULL, &count, NULL, LAST));
    clReleaseKernel(bump);
}

static void call_Task(void)
{
    const cl_kernel bump = bump_of(memory);
    fine(clEnqueueTask(queue, bump, LAST));
    clReleaseKernel(bump);
}

static void call_NativeKernel(void)
{
    fine(clEnqueueNativeKernel(queue, nothing, NULL, 0, 0, NULL, NULL, LAST));
}

static void call_MarkerWithWaitList(void)
{
    fine(clEnqueueMarkerWithWaitList(queue, LAST));
}

static void call_BarrierWithWaitList(void)
{
    fine(clEnqueueBarrierWithWaitList(queue, LAST));
}

static void call_Marker(void)
{
    cl_event event;
    fine(clEnqueueMarker(queue, &event));
    clReleaseEvent(event);
}

static void call_Barrier(void)
{
    fine(clEnqueueBarrier(queue));
}

static void call_WaitForEvents(void)
{
    cl_event event;
    fine(clEnqueueMarkerWithWaitList(any_order, 0, NULL, &event));
    fine(clEnqueueWaitForEvents(queue, 1, &event));
    fine(clFinish(any_order));
    clReleaseEvent(event);
}

static void call_SVMFree(void)
{
    void *list[] = { clSVMAlloc(context, CL_MEM_READ_WRITE, 64, 0) };
    assert_non_null(list[0]);
    fine(clEnqueueSVMFree(queue, 1, list, NULL, NULL, LAST));
}

static void call_SVMMemcpy(void)
{
    fine(clEnqueueSVMMemcpy(queue, CL_FALSE, shared, host, SIZE, LAST));
}

static void call_SVMMemFill(void)
{
    fine(clEnqueueSVMMemFill(queue, shared, &word, 4, SIZE, LAST));
}

static void call_SVMMap(void)
{
    fine(clEnqueueSVMMap(queue, CL_FALSE, CL_MAP_READ, shared, SIZE, LAST));
    fine(clEnqueueSVMUnmap(queue, shared, LAST));
}

static void call_SVMUnmap(void)
{
    call_SVMMap();
}

static void call_SVMMigrateMem(void)
{
    const size_t size = SIZE;
    const void *list[] = { shared };
    fine(clEnqueueSVMMigrateMem(queue, 1, list, &size, 0, LAST));
}

// What they are called without clEnqueue, what they become, and what of them
// is kept.
#define FUNCTIONS(X) \
    X(ReadBuffer, MEMCPY, WHOLE) \
    X(WriteBuffer, MEMCPY, WHOLE) \
    X(CopyBuffer, MEMCPY, WHOLE) \
    X(ReadBufferRect, MEMCPY, WHOLE) \
    X(WriteBufferRect, MEMCPY, WHOLE) \
    X(CopyBufferRect, MEMCPY, WHOLE) \
    X(FillBuffer, MEMSET, WHOLE) \
    X(ReadImage, MEMCPY, WHOLE) \
    X(WriteImage, MEMCPY, WHOLE) \
    X(CopyImage, MEMCPY, WHOLE) \
    X(CopyImageToBuffer, MEMCPY, WHOLE) \
    X(CopyBufferToImage, MEMCPY, WHOLE) \
    X(FillImage, MEMSET, WHOLE) \
    X(MapBuffer, MEMCPY, EMPTY) \
    X(MapImage, MEMCPY, EMPTY) \
    X(UnmapMemObject, MEMCPY, WHOLE) \
    X(MigrateMemObjects, MEMCPY, EMPTY) \
    X(NDRangeKernel, KERNEL, WHOLE) \
    X(Task, KERNEL, WHOLE) \
    X(NativeKernel, HOST_FUNCTION, CALLBACK) \
    X(MarkerWithWaitList, EVENT_RECORD, NEVER) \
    X(BarrierWithWaitList, EVENT_RECORD, NEVER) \
    X(Marker, EVENT_RECORD, NEVER) \
    X(Barrier, EVENT_RECORD, NEVER) \
    X(WaitForEvents, EVENT_RECORD, NEVER) \
    X(SVMFree, GPU_FREE, NEVER) \
    X(SVMMemcpy, MEMCPY, UVM) \
    X(SVMMemFill, MEMSET, UVM) \
    X(SVMMap, MEMCPY, UVM) \
    X(SVMUnmap, MEMCPY, UVM) \
    X(SVMMigrateMem, MEMCPY, UVM)

static const struct function {
    const char *name;
    ts_event_kind kind;
    fate fate;
    void (*call)(void);
} functions[] = {
#define X(name, kind, fate) \
    { "clEnqueue" #name, TS_EVENT_##kind, fate, call_##name },
    FUNCTIONS(X)
#undef X
};
enum { COUNT = sizeof functions / sizeof *functions };

static bool is_tried(const char *name)
{
    for (size_t i = 0; i < COUNT; i++)
        if (!strcmp(name, functions[i].name)) return true;
    return false;
}

// Every function that the backend intercepts is here.
UNIT_TEST(every_function_is_tried)
{
    static const char *const hooked[] = {
#define TS__X(place, type, name, params) #name,
        TS__CL_HOOKED(TS__X)
#undef TS__X
    };
    size_t count = 0;
    for (size_t i = 0; i < sizeof hooked / sizeof *hooked; i++) {
        if (strncmp(hooked[i], "clEnqueue", 9)) continue;
        count++;
        if (!is_tried(hooked[i])) fail_msg("%s is not tried", hooked[i]);
    }
    assert_int_equal(31, COUNT);
    assert_int_equal(COUNT, count);
}

static bool is_documented(ts_reason reason)
{
    static char text[1 << 17];
    char name[64];
    FILE *const file = fopen("docs/execution.md", "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    snprintf(name, sizeof name, "`%s`", ts_reason_name(reason));
    return strstr(text, name) != NULL;
}

// The only operation of a call; the test fails if there is none.
static void is_recorded(const char *path, const struct function *f,
                        uint64_t *number)
{
    rt_trace trace = rt_read(path);
    const rt_row *const call = rt_nth(&trace, TS_EVENT_API_CALL, f->name, 0);
    size_t found = 0;
    *number = call->values[TS_COLUMN_CORRELATION];
    for (size_t i = 0; i < trace.count; i++) {
        const rt_row *const row = &trace.rows[i];
        if (row->kind != f->kind ||
            row->values[TS_COLUMN_CORRELATION] != *number)
            continue;
        assert_true(row->duration_ns >= 0);
        found++;
    }
    if (found != 1) fail_msg("%s: %zu operations", f->name, found);
    assert_int_equal(0, trace.info->lost);
    rt_close(&trace);
}

static void is_kept(const char *path, const struct function *f, uint64_t number)
{
    ts_reader *const reader = ct_open(path);
    ts_capture c;
    size_t i = 0;
    bool found = false;
    while (!found && ts_reader_capture(reader, i++, &c))
        found = c.head.correlation == number;
    if (found != (f->fate != NEVER)) fail_msg("%s: kept %d", f->name, found);
    if (found) assert_int_equal(f->kind, c.head.kind);
    if (f->fate == WHOLE || f->fate == EMPTY) {
        if (c.head.state != TS_CAPTURE_WHOLE)
            fail_msg("%s: %s", f->name, ts_reason_name(c.head.reason));
        assert_int_equal(f->fate == WHOLE, c.head.region_count > 0);
    } else if (found) {
        const ts_reason want =
            f->fate == UVM ? TS_REASON_UVM : TS_REASON_HOST_CALLBACK;
        if (c.head.reason != want || c.head.region_count)
            fail_msg("%s: %s", f->name, ts_reason_name(c.head.reason));
        assert_true(is_documented(want));
    }
    ts_reader_close(reader);
}

UNIT_TEST(each_is_recorded_and_kept_or_declined)
{
    memory = buffer_of(SIZE);
    other = buffer_of(SIZE);
    image = image_of(CL_MEM_OBJECT_IMAGE2D, 8, 4, 0, NULL);
    second = image_of(CL_MEM_OBJECT_IMAGE2D, 8, 4, 0, NULL);
    shared = clSVMAlloc(context, CL_MEM_READ_WRITE, SIZE, 0);
    assert_non_null(shared);
    for (size_t i = 0; i < COUNT; i++) {
        const char *const path = begin("every.sbt", "all");
        uint64_t number;
        functions[i].call();
        fine(clFinish(queue));
        ts_capture_stop();
        assert_int_equal(ts_session_stop(), TS_OK);
        is_recorded(path, &functions[i], &number);
        is_kept(path, &functions[i], number);
    }
    clSVMFree(context, shared);
    clReleaseMemObject(second);
    clReleaseMemObject(image);
    clReleaseMemObject(other);
    clReleaseMemObject(memory);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < COUNT; i++)
        puts(functions[i].name);
    if (argc > 1) return 0;
    return unit_run(open_all, close_all);
}
