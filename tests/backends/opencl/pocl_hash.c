// Hashes by the device are those of the host, and captures with them are the
// same but copy less. On PoCL, where that saves nothing.
#include "tests/backends/opencl/opencl_capture_fixture.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { MOST = 200 * 1024, CHUNKS = 40, SIZE = CHUNKS * TS_CAPTURE_CHUNK };

static ts__cl_functions driver; // as it is

static int keep_driver(void **state)
{
    const int failed = open_all(state);
    driver = ts__cl.next;
    return failed;
}

static int give_back(void **state)
{
    ts__cl.next = driver;
    return 0;
}

// What the host has of each chunk.
static void hash_here(const uint8_t *bytes, size_t size, uint64_t *hashes)
{
    for (size_t at = 0; at < size; at += TS_CAPTURE_CHUNK, hashes += 2) {
        const size_t left = size - at;
        ts_blob_find(bytes + at,
                     left < TS_CAPTURE_CHUNK ? left : TS_CAPTURE_CHUNK, hashes);
    }
}

// Of each size, and from each offset in eight bytes on. The rest of a chunk of
// up to 240 bytes is the host's: nothing is written there.
UNIT_TEST(every_size_hashes_as_on_the_host)
{
    uint64_t by_device[8], here[8];
    ts__cl_hasher h;
    uint8_t *const bytes = (uint8_t *)malloc(MOST + 64);
    for (uint32_t i = 0; i < MOST + 64; i++)
        bytes[i] = (uint8_t)(i * 2246822519u >> 11);
    const cl_mem memory = memory_of(CL_MEM_COPY_HOST_PTR, MOST + 64, bytes);
    ts__cap_now.desc.hash = TS_CAPTURE_HASH_DEVICE;
    ts__cl_hasher_new(&h, context, device, queue);
    assert_null(h.wrong);
    for (uint32_t size = 1; size <= MOST; size += size < 1500          ? 1
                                                  : size % 65536 < 300 ? 1
                                                                       : 331) {
        const uint32_t offset = size % 13;
        const bool tail =
            size % TS_CAPTURE_CHUNK && size % TS_CAPTURE_CHUNK <= 240;
        const size_t chunks = (size_t)ts__cap_chunks(size);
        memset(by_device, 0xEE, sizeof by_device);
        fine(driver.clEnqueueWriteBuffer(
            queue, h.hashes, 1, 0, sizeof by_device, by_device, 0, NULL, NULL));
        assert_true(
            ts__cl_hash_run(&h, queue, memory, offset, size, by_device));
        hash_here(bytes + offset, size, here);
        if (tail) memset(&here[2 * chunks - 2], 0xEE, 16);
        assert_memory_equal(by_device, here, chunks * 16);
    }
    ts__cl_hasher_free(&h);
    clReleaseMemObject(memory);
    free(bytes);
}

static uint64_t copied;

static int32_t count_copied(ts__cl_handle on, ts__cl_handle buffer,
                            uint32_t blocking, size_t offset, size_t size,
                            void *host, uint32_t waits,
                            const ts__cl_handle *list, ts__cl_handle *event)
{
    copied += size;
    return driver.clEnqueueReadBuffer(on, buffer, blocking, offset, size, host,
                                      waits, list, event);
}

typedef struct kept_run { // what a capture of the same commands holds
    uint64_t hash[2], copied, by_device;
    char how[128];
} kept_run;

static void text_of(ts_reader *reader, const char *key, char *text, size_t room)
{
    ts_metadata found;
    text[0] = 0;
    if (ts_reader_metadata(reader, 0, key, &found))
        snprintf(text, room, "%.*s", (int)found.text.size, found.text.text);
}

// Three kernels on a large buffer, each of which changes one chunk of it, a
// copy and a fill.
static kept_run run_as(const char *how)
{
    kept_run run = { { 0, 0 }, 0, 0, "" };
    uint8_t *const bytes = (uint8_t *)malloc(SIZE + 100);
    for (uint32_t i = 0; i < SIZE + 100; i++)
        bytes[i] = (uint8_t)(i * 2246822519u >> 11);
    // The last chunk has 100 bytes.
    const cl_mem to = memory_of(CL_MEM_COPY_HOST_PTR, SIZE + 100, bytes);
    const cl_mem unread =
        memory_of(CL_MEM_COPY_HOST_PTR | CL_MEM_WRITE_ONLY, SIZE / 2, bytes);
    const char *const path = begin("same.sbt", how);
    copied = 0;
    ts__cl.next.clEnqueueReadBuffer = count_copied;
    for (int i = 0; i < 3; i++)
        bump_enqueue(queue, to, i, 64, 0, NULL);
    fine(clEnqueueCopyBuffer(queue, to, unread, 0, 5, 70000, 0, NULL, NULL));
    fine(clEnqueueFillBuffer(queue, unread, "a", 1, 9, 1000, 0, NULL, NULL));
    fine(clFinish(queue));
    run.copied = copied;
    run.by_device = ts_capture_result().device_bytes;
    give_back(NULL);
    ts_reader *const reader = end(path);
    XXH3_state_t all;
    XXH3_128bits_reset(&all);
    assert_int_equal(ts_reader_capture_count(reader), 5);
    for (size_t i = 0; i < 5; i++) {
        ts_capture c;
        assert_true(ts_reader_capture(reader, i, &c));
        assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
        for (uint32_t k = 0; k < c.head.region_count; k++) {
            const ts_capture_region *const r = &c.regions[k];
            XXH3_128bits_update(&all, r->before, 16);
            XXH3_128bits_update(&all, r->after, 16);
            XXH3_128bits_update(&all, &r->size, 8);
            // All of it is there.
            uint8_t *const there = ct_bytes(reader, r, r->after);
            assert_non_null(there);
            XXH3_128bits_update(&all, there, (size_t)r->size);
            free(there);
        }
    }
    const XXH128_hash_t sum = XXH3_128bits_digest(&all);
    memcpy(run.hash, &sum, 16);
    text_of(reader, "capture.hash.opencl", run.how, sizeof run.how);
    ts_reader_close(reader);
    clReleaseMemObject(to);
    clReleaseMemObject(unread);
    free(bytes);
    return run;
}

UNIT_TEST_WITHIN(captures_are_the_same_and_less_is_copied, NULL, give_back)
{
    const kept_run host = run_as("hash:host"), there = run_as("hash:device");
    const kept_run left = run_as("all"); // PoCL is on the host
    assert_memory_equal(host.hash, there.hash, 16);
    assert_memory_equal(host.hash, left.hash, 16);
    assert_string_equal(host.how, "on the host");
    assert_string_equal(left.how, "on the host");
    assert_string_equal(there.how, "on the device");
    assert_int_equal(host.by_device, 0);
    assert_int_equal(left.by_device, 0);
    assert_true(there.by_device >= 3 * (SIZE - TS_CAPTURE_CHUNK));
    // After each kernel the chunk that it changed instead of all. What kernels
    // may not read is read by the host.
    assert_true(host.copied > 4 * SIZE);
    assert_true(there.copied < SIZE + 8 * TS_CAPTURE_CHUNK);
}

static int32_t no_program(ts__cl_handle made, uint32_t count,
                          const ts__cl_handle *devices, const char *options,
                          ts__cl_notify notify, void *user)
{
    return -11; // CL_BUILD_PROGRAM_FAILURE
}

// It runs, and does nothing.
static int32_t no_kernel(ts__cl_handle on, ts__cl_handle kernel,
                         uint32_t dimensions, const size_t *offset,
                         const size_t *global, const size_t *local,
                         uint32_t waits, const ts__cl_handle *list,
                         ts__cl_handle *event)
{
    char name[64] = "";
    driver.clGetKernelInfo(kernel, TS__CL_KERNEL_FUNCTION_NAME, sizeof name,
                           name, NULL);
    return !strcmp(name, "ts_hash_chunks")
               ? driver.clEnqueueMarkerWithWaitList(on, 0, NULL, event)
               : driver.clEnqueueNDRangeKernel(on, kernel, dimensions, offset,
                                               global, local, waits, list,
                                               event);
}

static void forget_hashers(void)
{
    ts__cl_held *const held = ts__cl_held_of(context);
    assert_non_null(held);
    for (int i = 0; i < 4; i++)
        ts__cl_hasher_free(&held->hashers[i]);
    memset(held->hashers, 0, sizeof held->hashers);
}

UNIT_TEST_WITHIN(a_compiler_that_fails_leaves_it_to_the_host, NULL, give_back)
{
    const kept_run host = run_as("hash:host");
    forget_hashers();
    ts__cl.next.clBuildProgram = no_program;
    const kept_run run = run_as("hash:device");
    assert_memory_equal(host.hash, run.hash, 16);
    assert_int_equal(run.by_device, 0);
    assert_string_equal(run.how,
                        "on the host: the driver cannot build the kernel");
    // It is not tried again; the trace says so again.
    assert_string_equal(run_as("hash:device").how, run.how);
    forget_hashers();
}

UNIT_TEST_WITHIN(a_device_that_hashes_wrongly_is_found_out, NULL, give_back)
{
    const kept_run host = run_as("hash:host");
    forget_hashers();
    ts__cl.next.clEnqueueNDRangeKernel = no_kernel;
    const kept_run run = run_as("hash:device");
    assert_memory_equal(host.hash, run.hash, 16);
    assert_string_equal(run.how,
                        "on the host: the device computes wrong hashes");
    forget_hashers();
}

// Its hashes were right when it was tried, and later are old ones.
UNIT_TEST_WITHIN(what_is_copied_is_hashed_again, NULL, give_back)
{
    const kept_run host = run_as("hash:host");
    assert_string_equal(run_as("hash:device").how, "on the device");
    ts__cl_held *const held = ts__cl_held_of(context);
    const uint8_t junk[CHUNKS * 16] = { 1 };
    fine(driver.clEnqueueWriteBuffer(queue, held->hashers[0].hashes, 1, 0,
                                     sizeof junk, junk, 0, NULL, NULL));
    ts__cl.next.clEnqueueNDRangeKernel = no_kernel;
    const kept_run run = run_as("hash:device");
    assert_string_equal(run.how,
                        "on the host: the device computed a different hash");
    assert_memory_equal(host.hash, run.hash, 16);
}

// A kernel that fails: its event says so, the queue goes on.
static int32_t failing_kernel(ts__cl_handle on, ts__cl_handle kernel,
                              uint32_t dimensions, const size_t *offset,
                              const size_t *global, const size_t *local,
                              uint32_t waits, const ts__cl_handle *list,
                              ts__cl_handle *event)
{
    const int32_t result = driver.clEnqueueNDRangeKernel(
        on, kernel, dimensions, offset, global, local, waits, list, event);
    char name[64] = "";
    int32_t error;
    driver.clGetKernelInfo(kernel, TS__CL_KERNEL_FUNCTION_NAME, sizeof name,
                           name, NULL);
    if (strcmp(name, "ts_hash_chunks") || !event) return result;
    driver.clReleaseEvent(*event);
    *event = driver.clCreateUserEvent((ts__cl_handle)context, &error);
    return driver.clSetUserEventStatus(*event, -5);
}

UNIT_TEST_WITHIN(one_that_fails_has_reported_nothing, NULL, give_back)
{
    const kept_run host = run_as("hash:host");
    assert_true(run_as("hash:device").by_device > 0);
    ts__cl.next.clEnqueueNDRangeKernel = failing_kernel;
    const kept_run run = run_as("hash:device");
    assert_memory_equal(host.hash, run.hash, 16);
    assert_int_equal(run.by_device, 0);
}

static void CL_CALLBACK gone(cl_context of, void *user)
{
    __atomic_store_n((bool *)user, true, __ATOMIC_RELEASE);
}

// The driver lets go of it on a thread of its own, a moment later.
static bool goes(const bool *over)
{
    for (int i = 0; i < 20000 && !__atomic_load_n(over, __ATOMIC_ACQUIRE); i++)
        usleep(1000);
    return __atomic_load_n(over, __ATOMIC_ACQUIRE);
}

static cl_context usual;
static cl_command_queue usual_queue;

// A context of its own; `over` is set when it is destroyed.
static bool another_context(bool *over)
{
    cl_int result;
    const cl_context other =
        clCreateContext(NULL, 1, &device, NULL, NULL, &result);
    fine(result);
    *over = false;
    if (clSetContextDestructorCallback(other, gone, over) != CL_SUCCESS)
        return false;
    usual = context;
    usual_queue = queue;
    context = other;
    queue = queue_of(0);
    return true;
}

static void usual_context(void)
{
    context = usual;
    queue = usual_queue;
}

// A context goes when the program lets go of it, and no later.
UNIT_TEST_WITHIN(contexts_are_not_kept_alive, NULL, give_back)
{
    static bool over;
    if (!another_context(&over)) skip();
    const char *const path = begin("context.sbt", "hash:device");
    const cl_mem to = buffer_of(SIZE);
    fine(clRetainContext(context));
    fine(clReleaseContext(context));
    fine(clEnqueueFillBuffer(queue, to, "a", 1, 0, SIZE, 0, NULL, NULL));
    assert_true(ts_capture_result().device_bytes > 0);
    fine(clFinish(queue));
    const ts__cl_held *const held = ts__cl_held_of(context);
    assert_int_equal(held->refs, 1);
    assert_non_null(held->hashers[0].kernel);
    assert_false(held->hashers[0].lent);
    ts_reader_close(end(path));
    fine(clReleaseContext(context));
    assert_null(ts__cl_held_of(context));
    clReleaseMemObject(to);
    clReleaseCommandQueue(queue);
    assert_true(goes(&over));
    usual_context();
}

static int held, builds;

// As a driver that calls the program, which lets go of the context.
static int32_t build_and_release(ts__cl_handle made, uint32_t count,
                                 const ts__cl_handle *devices,
                                 const char *options, ts__cl_notify notify,
                                 void *user)
{
    held += locks_held();
    if (!held && !builds++) { // else it would wait for itself
        fine(clRetainContext(context));
        fine(clReleaseContext(context));
        fine(clReleaseContext(context));
    }
    return driver.clBuildProgram(made, count, devices, options, notify, user);
}

UNIT_TEST_WITHIN(a_context_may_go_while_its_kernel_is_built, NULL, give_back)
{
    static bool over;
    if (!another_context(&over)) skip();
    const char *const path = begin("goes.sbt", "hash:device");
    const cl_mem to = buffer_of(SIZE);
    ts__cl.next.clBuildProgram = build_and_release;
    fine(clEnqueueFillBuffer(queue, to, "a", 1, 0, SIZE, 0, NULL, NULL));
    give_back(NULL);
    fine(clFinish(queue));
    assert_int_equal(builds, 1);
    assert_int_equal(held, 0);
    assert_null(ts__cl_held_of(context));
    ts_reader_close(end(path));
    clReleaseMemObject(to);
    clReleaseCommandQueue(queue);
    assert_true(goes(&over)); // our kernel does not keep it
    usual_context();
}

int main(void)
{
    return unit_run(keep_driver, close_all);
}
