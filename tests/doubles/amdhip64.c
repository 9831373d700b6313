/*
    amdhip64.c - a double of libamdhip64.so

    See hip.h. It looks for those who want to listen as the real one does:
    rocprofiler-sdk when ROCP_TOOL_LIBRARIES names tools (by
    rocprofiler-register), else libraries that HSA_TOOLS_LIB names. Words in
    HIP_DOUBLE make it misbehave:

        zero_times  reversed  every third operation has such times
        late        operations are told of when the program exits
        fail        launches fail
        newer       it has more functions than any version that is known
*/
#define _GNU_SOURCE
#include "backends/hip/bundle.h"
#include "tests/doubles/hip_arguments.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT const char *const double_names[] = {
#define X(name) #name,
    FUNCTIONS(X)
#undef X
        NULL
};

struct hip_stream {
    int device;
    uint64_t tail_ns; // its last operation ends
    void *object;     // on the device
    struct hip_stream *next;
};
struct hip_event {
    uint64_t time_ns;
    void *object; // on the device
};
struct hip_function {
    const void *function; // of the host
    char name[120];
    struct module
        *module;  // of a file's; NULL: `object` is there from the start
    void *object; // on the device; NULL: `function` itself is the kernel
};

enum { DEVICES = 2, KERNELS = 64, WAITING = 4096, MODULES = 16, SYMBOLS = 16 };
static struct {
    pthread_mutex_t lock;
    struct hip_stream defaults[DEVICES], *streams; // those that there are
    struct hip_function kernels[KERNELS];
    uint32_t kernel_count, ops;
    double_op waiting[WAITING]; // finished, not told of
    uint32_t waiting_count;
    const double_listener *listener;
} hip = { .lock = PTHREAD_MUTEX_INITIALIZER };
static __thread int current_device;
static __thread uint64_t current_call;

EXPORT int double_does(const char *word)
{
    const char *const words = getenv("HIP_DOUBLE");
    const char *const at = words ? strstr(words, word) : NULL;
    return at != NULL;
}

EXPORT void double_listen(const double_listener *listener)
{
    __atomic_store_n(&hip.listener, listener, __ATOMIC_RELEASE);
}

static const double_listener *listener(void)
{
    return __atomic_load_n(&hip.listener, __ATOMIC_ACQUIRE);
}

#include "tests/doubles/hip_hook.h"

/* ---- Those who want to listen ------------------------------------------- */

static bool find_rocprofiler(void)
{
    const char *const tools = getenv("ROCP_TOOL_LIBRARIES");
    void (*attach)(void) = NULL;
    void *library = dlopen("librocprofiler-sdk.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!library && tools && *tools)
        library = dlopen("librocprofiler-sdk.so.1", RTLD_LAZY | RTLD_GLOBAL);
    if (library) *(void **)&attach = dlsym(library, "double_attach");
    if (attach) attach();
    return attach != NULL;
}

static void find_tools(void)
{
    char names[4096] = "";
    const char *const list = getenv("HSA_TOOLS_LIB");
    if (list) strncpy(names, list, sizeof names - 1);
    for (char *rest = names, *name; (name = strtok_r(rest, " ", &rest));) {
        bool (*load)(void *, uint64_t, uint64_t, const char *const *) = NULL;
        void *const library = dlopen(name, RTLD_LAZY);
        if (library) *(void **)&load = dlsym(library, "OnLoad");
        if (library && (!load || !load(NULL, 1, 0, NULL))) dlclose(library);
    }
}

static void start_once(void)
{
    if (!find_rocprofiler()) find_tools();
}

static void start(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static __thread bool inside; // tools call us
    if (inside) return;
    inside = true;
    pthread_once(&once, start_once);
    inside = false;
}

/* ---- Calls -------------------------------------------------------------- */

typedef struct call {
    uint32_t number;
    const void *arguments;
    size_t size;
    uint64_t correlation, outer;
    const double_listener *to;
} call;

static void begin(call *c, uint32_t number, const void *arguments, size_t size)
{
    start();
    memset(c, 0, sizeof *c);
    c->number = number;
    c->arguments = arguments;
    c->size = size;
    c->to = listener();
    c->outer = current_call;
    if (c->to) c->correlation = c->to->call(number, 0, arguments, size, 0, 0);
    current_call = c->correlation;
}

static int end(call *c, int result)
{
    if (c->to)
        c->to->call(c->number, 1, c->arguments, c->size, result,
                    c->correlation);
    current_call = c->outer;
    return result;
}

// What a function is called with, laid out as the structs of its arguments.
#define BEGIN(name, ...) \
    const name##_arguments a = { __VA_ARGS__ }; \
    call c; \
    begin(&c, NUMBER_##name, &a, sizeof a)
#define BEGIN_EMPTY(name) \
    call c; \
    begin(&c, NUMBER_##name, NULL, 0)

/* ---- Operations --------------------------------------------------------- */

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct hip_stream *stream_of(hipStream_t stream)
{
    return stream ? stream : &hip.defaults[current_device];
}

static void deliver(void)
{
    static double_op ops[WAITING];
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&one);
    pthread_mutex_lock(&hip.lock);
    const uint32_t count = hip.waiting_count;
    memcpy(ops, hip.waiting, count * sizeof *ops);
    hip.waiting_count = 0;
    pthread_mutex_unlock(&hip.lock);
    for (uint32_t i = 0; i < count && listener(); i++)
        listener()->op(&ops[i]);
    pthread_mutex_unlock(&one);
}

__attribute__((destructor)) static void at_exit(void)
{
    if (double_does("late")) deliver();
}

static void submit(double_op *op, hipStream_t on)
{
    struct hip_stream *const s = stream_of(on);
    if (hip.waiting_count == WAITING) deliver();
    pthread_mutex_lock(&hip.lock);
    const uint64_t now = now_ns() + 2000;
    op->start_ns = now > s->tail_ns ? now : s->tail_ns + 100;
    op->end_ns = s->tail_ns = op->start_ns + 3000;
#ifdef HOOK_OLD
    op->correlation = number_op();
#else
    op->correlation = current_call;
#endif
    op->device = s->device;
    op->queue = 1 + (uint64_t)s->device;
    const bool third = hip.ops++ % 3 == 2;
    if (third && double_does("zero_times")) op->start_ns = op->end_ns = 0;
    if (third && double_does("reversed")) op->end_ns = op->start_ns - 1;
    if (hip.waiting_count < WAITING) hip.waiting[hip.waiting_count++] = *op;
    pthread_mutex_unlock(&hip.lock);
}

static void wait_until(uint64_t time_ns)
{
    while (now_ns() < time_ns) {
        const struct timespec little = { 0, 20000 };
        nanosleep(&little, NULL);
    }
    if (!double_does("late")) deliver();
}

#include "tests/doubles/hip_device.h"

/* ---- Devices and memory ------------------------------------------------- */

EXPORT int hipGetDeviceCount(int *count)
{
    BEGIN(hipGetDeviceCount, count);
    *count = DEVICES;
    if (getenv("DOUBLE_CUDA_DEVICES")) ON_DEVICE->cuDeviceGetCount(count);
    return end(&c, hipSuccess);
}

// What is of a device is of its first context.
static int use_device(int device)
{
    return ON_DEVICE->cuCtxSetCurrent((void *)((uintptr_t)device + 1));
}

EXPORT int hipSetDevice(int device)
{
    BEGIN(hipSetDevice, device);
    if (device < 0 || device >= DEVICES) return end(&c, hipErrorInvalidValue);
    current_device = device;
    for (int i = 0; i < DEVICES; i++)
        hip.defaults[i].device = i;
    return end(&c, use_device(device));
}

EXPORT int hipGetDevice(int *device)
{
    BEGIN(hipGetDevice, device);
    *device = current_device;
    return end(&c, hipSuccess);
}

EXPORT int hipGetLastError(void)
{
    BEGIN_EMPTY(hipGetLastError);
    return end(&c, hipSuccess);
}

EXPORT int hipMalloc(void **pointer, size_t size)
{
    BEGIN(hipMalloc, .pointer = pointer, .size = size);
    return end(&c, ON_DEVICE->cuMemAlloc_v2((uint64_t *)pointer, size));
}

EXPORT int hipFree(void *pointer)
{
    BEGIN(hipFree, pointer);
    return end(&c, ON_DEVICE->cuMemFree_v2((uintptr_t)pointer));
}

static int copy_on(uint64_t to, uint64_t from, size_t size, int kind,
                   hipStream_t stream);

static void copy(void *to, const void *from, size_t size, int kind,
                 hipStream_t stream)
{
    double_op op = { .kind = DOUBLE_COPY, .size = size, .copy = kind };
    op.to = to;
    op.from = from;
    memcpy(to, from, size);
    submit(&op, stream);
}

EXPORT int hipMemcpy(void *to, const void *from, size_t size, int kind)
{
    BEGIN(hipMemcpy, to, from, size, kind);
    copy(to, from, size, kind, NULL);
    wait_until(stream_of(NULL)->tail_ns);
    return end(&c, hipSuccess);
}

EXPORT int hipMemcpyAsync(void *to, const void *from, size_t size, int kind,
                          hipStream_t stream)
{
    BEGIN(hipMemcpyAsync, to, from, size, kind, stream);
    if (recording && !size) return end(&c, hipSuccess); // and no node
    if (recording)
        return end(&c,
                   copy_on((uintptr_t)to, (uintptr_t)from, size, kind, stream));
    copy(to, from, size, kind, stream);
    return end(&c, hipSuccess);
}

EXPORT int hipMemcpy2DAsync(void *to, size_t to_pitch, const void *from,
                            size_t from_pitch, size_t width, size_t height,
                            int kind, hipStream_t stream)
{
    BEGIN(hipMemcpy2DAsync, to, to_pitch, from, from_pitch, width, height, kind,
          stream);
    double_op op = { .kind = DOUBLE_COPY, .size = width * height, .to = to };
    op.copy = kind;
    op.from = from;
    if (c.to && c.to->stream) c.to->stream((uintptr_t)stream, 0);
    for (size_t y = 0; y < height; y++)
        memcpy((char *)to + y * to_pitch, (const char *)from + y * from_pitch,
               width);
    submit(&op, stream);
    if (c.to && c.to->stream) c.to->stream((uintptr_t)stream, 1);
    return end(&c, hipSuccess);
}

EXPORT int hipMemsetAsync(void *to, int value, size_t size, hipStream_t stream)
{
    BEGIN(hipMemsetAsync, to, value, size, stream);
    double_op op = { .kind = DOUBLE_SET, .size = size, .to = to };
    op.items[0] = 256;
    op.items[1] = op.items[2] = op.block[1] = op.block[2] = 1;
    op.block[0] = 64;
    op.name = "__amd_rocclr_fillBufferAligned";
    op.number = KERNELS + 1;
    memset(to, value, size);
    submit(&op, stream);
    return end(&c, hipSuccess);
}

/* ---- Streams and events ------------------------------------------------- */

static void forget_modules(int device);

// All that is of a device goes, with its modules too.
static int reset_device(int device)
{
    void *context;
    if (device < 0 || device >= DEVICES) return hipErrorInvalidValue;
    pthread_mutex_lock(&hip.lock);
    for (struct hip_stream **at = &hip.streams; *at;) {
        struct hip_stream *const stream = *at;
        const bool goes = stream->device == device;
        if (goes) *at = stream->next;
        if (goes) free(stream);
        if (!goes) at = &stream->next;
    }
    pthread_mutex_unlock(&hip.lock);
    forget_modules(device);
    ON_DEVICE->cuDevicePrimaryCtxReset_v2(device);
    return ON_DEVICE->cuDevicePrimaryCtxRetain(&context, device);
}

EXPORT int hipDeviceReset(void)
{
    BEGIN_EMPTY(hipDeviceReset);
    return end(&c, reset_device(current_device));
}

EXPORT int hipDevicePrimaryCtxReset(int device)
{
    BEGIN(hipDevicePrimaryCtxReset, device);
    return end(&c, reset_device(device));
}

static hipStream_t stream_new(void)
{
    hipStream_t stream = calloc(1, sizeof *stream);
    stream->device = current_device;
    ON_DEVICE->cuStreamCreate(&stream->object, 1);
    pthread_mutex_lock(&hip.lock);
    stream->next = hip.streams;
    hip.streams = stream;
    pthread_mutex_unlock(&hip.lock);
    return stream;
}

EXPORT int hipStreamCreate(hipStream_t *stream)
{
    BEGIN(hipStreamCreate, .stream = stream);
    *stream = stream_new();
    return end(&c, hipSuccess);
}

EXPORT int hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags)
{
    BEGIN(hipStreamCreateWithFlags, .stream = stream, .flags = flags);
    *stream = stream_new();
    return end(&c, hipSuccess);
}

EXPORT int hipStreamDestroy(hipStream_t stream)
{
    BEGIN(hipStreamDestroy, stream);
    wait_until(stream->tail_ns);
    pthread_mutex_lock(&hip.lock);
    struct hip_stream **at = &hip.streams;
    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
    pthread_mutex_unlock(&hip.lock);
    free(stream);
    return end(&c, hipSuccess);
}

EXPORT int hipStreamSynchronize(hipStream_t stream)
{
    BEGIN(hipStreamSynchronize, stream);
    wait_until(stream_of(stream)->tail_ns);
    return end(&c, hipSuccess);
}

EXPORT int hipDeviceSynchronize(void)
{
    BEGIN_EMPTY(hipDeviceSynchronize);
    wait_until(stream_of(NULL)->tail_ns);
    return end(&c, hipSuccess);
}

static int event_new(hipEvent_t *event, unsigned flags)
{
    *event = calloc(1, sizeof **event);
    return ON_DEVICE->cuEventCreate(&(*event)->object, flags);
}

EXPORT int hipEventCreate(hipEvent_t *event)
{
    BEGIN(hipEventCreate, event);
    return end(&c, event_new(event, 0));
}

EXPORT int hipEventRecord(hipEvent_t event, hipStream_t stream)
{
    BEGIN(hipEventRecord, event, stream);
    event->time_ns = stream_of(stream)->tail_ns;
    return end(&c,
               ON_DEVICE->cuEventRecord(event->object, device_stream(stream)));
}

EXPORT int hipEventSynchronize(hipEvent_t event)
{
    BEGIN(hipEventSynchronize, event);
    wait_until(event->time_ns);
    return end(&c, hipSuccess);
}

EXPORT int hipStreamWaitEvent(hipStream_t stream, hipEvent_t event,
                              unsigned flags)
{
    BEGIN(hipStreamWaitEvent, stream, event, flags);
    struct hip_stream *const s = stream_of(stream);
    if (s->tail_ns < event->time_ns) s->tail_ns = event->time_ns;
    return end(&c, ON_DEVICE->cuStreamWaitEvent(device_stream(stream),
                                                event->object, flags));
}

#include "tests/doubles/hip_driver.h"

#include "tests/doubles/hip_graphs.h"

EXPORT int hipRuntimeGetVersion(int *version)
{
    *version = 60241133;
    return hipSuccess;
}
