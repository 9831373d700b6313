/*
    rocprofiler.c - a double of librocprofiler-sdk.so

    Its public functions, as far as a tool needs them to trace HIP; the layouts
    are those of version 1.0.0, or of 0.5.0 with the word `old` in HIP_DOUBLE.
    libamdhip64's double tells it what happens. Further words:

        drop        three records of each delivery are dropped and counted
        hang_flush  a flush never returns
        no_buffer   no buffer can be made
        no_context  a context cannot be started
        crowd       a program's own contexts come first: ids begin at 7

    As the real one it calls finalizers of tools within its lock: a tool that
    calls it there ends the program.
*/
#define _GNU_SOURCE
#include "tests/doubles/hip.h"
#include "tests/doubles/rocprofiler.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

typedef struct context {
    bool used, running, every[KINDS];
    callback on[KINDS];
    void *data[KINDS];
    bool wanted[OPERATIONS]; // of HIP
    bool buffered[KINDS];
} context;

static struct {
    pthread_mutex_t lock;
    context contexts[CONTEXTS];
    deliver to;
    void *to_data;
    uint32_t buffer_context, tools, count;
    header headers[ROOM];
    union {
        dispatch d;
        copy c;
        scratch s;
    } payloads[ROOM];
    tool *tool[8];
    client_id client[8];
    bool symbols[256], scratched;
    uint64_t correlation;
    int state; // 0, 1 configured, 2 finalizing, 3 ended
    pthread_t finalizer;
    configure forced;
} sdk = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool old(void)
{
    return double_does("old");
}

static uint32_t scratch_kind(void)
{
    return old() ? 13 : 12;
}

static void not_from_a_finalizer(void)
{
    if (sdk.state != 2 || !pthread_equal(sdk.finalizer, pthread_self())) return;
    static const char text[] = "rocprofiler called from its finalizer\n";
    if (write(2, text, sizeof text - 1) > 0) _exit(99);
}

/* ---- What tools call ---------------------------------------------------- */

static int name_of(const char *const *names, int count, int kind,
                   const char **name, uint64_t *size)
{
    if (kind < 0 || kind >= count) return KIND_NOT_FOUND;
    *name = names[kind];
    if (size) *size = strlen(*name);
    return OK;
}

EXPORT int rocprofiler_query_buffer_tracing_kind_name(int kind,
                                                      const char **name,
                                                      uint64_t *size)
{
    if (old() && kind == 12)
        return name_of(&(const char *){ "PAGE_MIGRATION" }, 1, 0, name, size);
    if (old() && kind == 13) kind = 12;
    return name_of(buffer_names, 13, kind, name, size);
}

EXPORT int rocprofiler_query_callback_tracing_kind_name(int kind,
                                                        const char **name,
                                                        uint64_t *size)
{
    return name_of(callback_names, old() ? 15 : 21, kind, name, size);
}

EXPORT int rocprofiler_query_callback_tracing_kind_operation_name(
    int kind, int32_t operation, const char **name, uint64_t *size)
{
    if (kind != HIP || operation < 0) return KIND_NOT_FOUND;
    *name = double_names[operation];
    if (size) *size = strlen(*name);
    return OK;
}

EXPORT int rocprofiler_iterate_callback_tracing_kind_operations(
    int kind, int (*each)(int, int32_t, void *), void *data)
{
    for (int32_t i = 0; kind == HIP && double_names[i]; i++)
        if (each(kind, i, data) != 0) break;
    return OK;
}

EXPORT int rocprofiler_create_context(uint64_t *id)
{
    not_from_a_finalizer();
    if (sdk.state) return LOCKED;
    uint64_t i = double_does("crowd") ? 7 : 1;
    while (i < CONTEXTS && sdk.contexts[i].used)
        i++;
    if (i == CONTEXTS) return ERROR;
    sdk.contexts[i].used = true;
    *id = i;
    return OK;
}

EXPORT int rocprofiler_start_context(uint64_t id)
{
    not_from_a_finalizer();
    if (double_does("no_context")) return ERROR;
    if (sdk.state > 1) return FINALIZED;
    sdk.contexts[id].running = true;
    return OK;
}

EXPORT int rocprofiler_stop_context(uint64_t id)
{
    not_from_a_finalizer();
    sdk.contexts[id].running = false;
    return OK;
}

EXPORT int rocprofiler_create_buffer(uint64_t of, size_t size, size_t watermark,
                                     int policy, deliver to, void *data,
                                     uint64_t *id)
{
    if (double_does("no_buffer") || watermark > size || policy < 1)
        return ERROR;
    sdk.to = to;
    sdk.to_data = data;
    sdk.buffer_context = (uint32_t)of;
    *id = 42;
    return OK;
}

// On a thread of its own, as always.
static void *hand_over(void *unused)
{
    static header *list[ROOM];
    uint64_t dropped = 0;
    pthread_mutex_lock(&sdk.lock);
    uint32_t count = sdk.count;
    sdk.count = 0;
    for (uint32_t i = 0; i < count; i++)
        list[i] = &sdk.headers[i];
    if (double_does("drop") && count >= 3) count -= 3, dropped = 3;
    if (count || dropped)
        sdk.to(sdk.buffer_context, 42, list, count, sdk.to_data, dropped);
    pthread_mutex_unlock(&sdk.lock);
    return unused;
}

EXPORT int rocprofiler_flush_buffer(uint64_t id)
{
    pthread_t thread;
    not_from_a_finalizer();
    if (sdk.state > 2) return FINALIZED;
    while (double_does("hang_flush"))
        pause();
    if (id != 42 || pthread_create(&thread, NULL, hand_over, NULL) != 0)
        return ERROR;
    pthread_join(thread, NULL);
    return OK;
}

EXPORT int rocprofiler_configure_buffer_tracing_service(
    uint64_t id, int kind, const int32_t *operations, size_t count, uint64_t to)
{
    if (sdk.state || to != 42 || operations || count) return ERROR;
    sdk.contexts[id].buffered[kind] = true;
    return OK;
}

EXPORT int rocprofiler_configure_callback_tracing_service(
    uint64_t id, int kind, const int32_t *operations, size_t count, callback on,
    void *data)
{
    context *const c = &sdk.contexts[id];
    if (sdk.state || c->on[kind]) return ERROR;
    c->on[kind] = on;
    c->data[kind] = data;
    c->every[kind] = !operations;
    for (size_t i = 0; i < count; i++)
        c->wanted[operations[i]] = true;
    return OK;
}

EXPORT int rocprofiler_create_callback_thread(uint64_t *thread)
{
    *thread = 5;
    return OK;
}

EXPORT int rocprofiler_assign_callback_thread(uint64_t buffer, uint64_t thread)
{
    return buffer == 42 && thread == 5 ? OK : ERROR;
}

EXPORT int rocprofiler_get_timestamp(uint64_t *now_ns)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    *now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return OK;
}

/* ---- Agents: a processor and two devices -------------------------------- */

static void put(uint8_t *agent, size_t at, uint64_t value, size_t size)
{
    memcpy(agent + at, &value, size);
}

EXPORT int rocprofiler_query_available_agents(int version,
                                              int (*take)(int, const void **,
                                                          size_t, void *),
                                              size_t size, void *data)
{
    static uint8_t agents[3][312];
    static const uint64_t bank[3] = { 1, 0, UINT64_C(192) << 30 };
    const void *list[3];
    if (version != 1 || size > sizeof agents[0]) return ERROR;
    for (uint64_t i = 0; i < 3; i++) {
        uint8_t *const a = agents[i];
        list[i] = a;
        put(a, 0, old() ? 256 : sizeof agents[0], 8);
        put(a, 8, 1000 + i, 8);
        put(a, 16, i ? 2 : 1, 4);
        put(a, 28, 1, 4);
        put(a, 52, 64, 4);
        put(a, 64, 64, 4);
        put(a, 72, 304, 4);
        put(a, 140, 2100, 4);
        put(a, 224, (uintptr_t)bank, 8);
        put(a, 248, (uintptr_t) "gfx942", 8);
        put(a, 264, (uintptr_t) "AMD Instinct MI300X", 8);
        put(a, 292, 15, 4);
    }
    return take(version, list, 3, data);
}

/* ---- What HIP tells ----------------------------------------------------- */

static void notify(const context *c, uint64_t id, uint32_t kind,
                   uint32_t operation, uint32_t phase, uint64_t internal,
                   void *payload)
{
    static __thread uint64_t user;
    record_new r = { id,
                     (uint64_t)syscall(SYS_gettid),
                     { internal, 0, 0 },
                     kind,
                     operation,
                     phase,
                     payload };
    if (old()) {
        const record_old o = { id,        r.thread, internal, 0, kind,
                               operation, phase,    payload,  0 };
        memcpy(&r, &o, sizeof r);
    }
    c->on[kind](r, &user, c->data[kind]);
}

static void notify_all(uint32_t kind, uint32_t operation, uint32_t phase,
                       uint64_t internal, void *payload)
{
    for (uint64_t id = 1; id < CONTEXTS; id++) {
        const context *const c = &sdk.contexts[id];
        if (c->running && c->on[kind] &&
            (c->every[kind] || c->wanted[operation]))
            notify(c, id, kind, operation, phase, internal, payload);
    }
}

static uint64_t on_call(uint32_t number, int phase, const void *arguments,
                        size_t size, int result, uint64_t correlation)
{
    struct {
        uint64_t size;
        uint64_t arguments[11];
        uint64_t result;
    } payload = { sizeof payload, { 0 }, (uint64_t)result };
    if (!correlation)
        correlation = __atomic_add_fetch(&sdk.correlation, 1, __ATOMIC_RELAXED);
    if (arguments) memcpy(payload.arguments, arguments, size);
    if (sdk.state < 3)
        notify_all(HIP, number, phase ? 2 : 1, correlation, &payload);
    return correlation;
}

static void on_stream(uint64_t stream, int phase)
{
    uint64_t payload[3] = { sizeof payload, 17, stream };
    if (!old()) notify_all(STREAM, 3, phase ? 2 : 1, 0, payload);
}

static void keep(uint32_t kind, const void *payload, size_t size)
{
    const context *const c = &sdk.contexts[sdk.buffer_context];
    if (sdk.count == ROOM || !c->running || !c->buffered[kind]) return;
    header *const h = &sdk.headers[sdk.count];
    h->category = 1;
    h->kind = kind;
    h->payload = &sdk.payloads[sdk.count++];
    memcpy(h->payload, payload, size);
}

static void keep_kernel(const double_op *op)
{
    dispatch d = { .size = sizeof d,
                   .kind = KERNELS,
                   .operation = 2,
                   .internal = op->correlation,
                   .start_ns = op->start_ns,
                   .end_ns = op->end_ns,
                   .info = { .size = 72,
                             .agent = 1001 + (uint64_t)op->device,
                             .queue = op->queue,
                             .kernel = op->number,
                             .private_size = 16,
                             .group_size = op->shared + 64 } };
    memcpy(d.info.block, op->block, sizeof d.info.block);
    memcpy(d.info.grid, op->items, sizeof d.info.grid);
    keep(KERNELS, &d, sizeof d);
}

static void keep_scratch(const double_op *op)
{
    const scratch s = { .size = sizeof s,
                        .kind = scratch_kind(),
                        .operation = 1,
                        .correlation = { op->correlation, 0, 0 },
                        .agent = 1001 + (uint64_t)op->device,
                        .queue = op->queue,
                        .start_ns = op->start_ns,
                        .end_ns = op->start_ns + 10,
                        .bytes = 4096 };
    const scratch_old o = { .size = sizeof o,
                            .kind = s.kind,
                            .operation = s.operation,
                            .agent = s.agent,
                            .queue = s.queue,
                            .start_ns = s.start_ns,
                            .end_ns = s.end_ns,
                            .internal = op->correlation };
    sdk.scratched = true;
    if (old())
        keep(s.kind, &o, sizeof o);
    else
        keep(s.kind, &s, sizeof s);
}

static void keep_copy(const double_op *op)
{
    const uint64_t gpu = 1001 + (uint64_t)op->device;
    const bool up = op->copy == hipMemcpyHostToDevice;
    const copy c = { .size = old() ? 80 : sizeof c,
                     .kind = COPIES,
                     .operation = up ? 2 : 3,
                     .internal = op->correlation,
                     .start_ns = op->start_ns,
                     .end_ns = op->end_ns,
                     .to_agent = up ? gpu : 1000,
                     .from_agent = up ? 1000 : gpu,
                     .bytes = op->size,
                     .to = (uintptr_t)op->to,
                     .from = (uintptr_t)op->from };
    keep(COPIES, &c, sizeof c);
}

static void on_op(const double_op *op)
{
    char name[200];
    if (sdk.state > 2) return;
    if (op->kind != DOUBLE_COPY && !sdk.symbols[op->number]) {
        snprintf(name, sizeof name, "%s.kd", op->name);
        symbol s = { .size = sizeof s,
                     .kernel = op->number,
                     .name = name,
                     .group_size = 64,
                     .vector = 24,
                     .accumulator = 8 };
        sdk.symbols[op->number] = true;
        notify_all(CODE, 2, 1, 0, &s);
    }
    pthread_mutex_lock(&sdk.lock);
    if (op->kind == DOUBLE_COPY)
        keep_copy(op);
    else
        keep_kernel(op);
    if (op->kind == DOUBLE_KERNEL && !sdk.scratched) keep_scratch(op);
    const bool full = sdk.count > ROOM / 2;
    pthread_mutex_unlock(&sdk.lock);
    if (full) rocprofiler_flush_buffer(42);
}

static const double_listener listener = { on_call, on_stream, on_op };

/* ---- Tools -------------------------------------------------------------- */

static void finalize(void)
{
    sdk.finalizer = pthread_self();
    sdk.state = 2;
    for (uint32_t i = 0; i < sdk.tools; i++)
        if (sdk.tool[i]->finalize) sdk.tool[i]->finalize(sdk.tool[i]->data);
    sdk.state = 3;
}

static void no_more(client_id unused)
{
}

static void ask(configure function)
{
    if (!function || sdk.tools == 8) return;
    client_id *const id = &sdk.client[sdk.tools];
    id->size = sizeof *id;
    id->handle = sdk.tools;
    const uint32_t version = old() ? 500 : 10000;
    tool *const t = function(version, "double", sdk.tools, id);
    if (t) sdk.tool[sdk.tools++] = t;
}

// In the order of ROCP_TOOL_LIBRARIES, after the one that a program gave.
static void configure_all(void)
{
    char names[4096] = "";
    const char *const list = getenv("ROCP_TOOL_LIBRARIES");
    if (list) strncpy(names, list, sizeof names - 1);
    atexit(finalize);
    ask(sdk.forced);
    for (char *rest = names, *name; (name = strtok_r(rest, ":, ", &rest));) {
        configure function = NULL;
        void *const library = dlopen(name, RTLD_LAZY | RTLD_GLOBAL);
        if (library)
            *(void **)&function = dlsym(library, "rocprofiler_configure");
        ask(function);
    }
    for (uint32_t i = 0; i < sdk.tools; i++)
        sdk.tool[i]->initialize(no_more, sdk.tool[i]->data);
    sdk.state = 1;
}

EXPORT int rocprofiler_force_configure(configure function)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (sdk.state) return LOCKED;
    sdk.forced = function;
    pthread_once(&once, configure_all);
    return OK;
}

EXPORT void double_attach(void);
EXPORT void double_attach(void)
{
    rocprofiler_force_configure(NULL);
    double_listen(&listener);
}
