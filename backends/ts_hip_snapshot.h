/*
    ts_hip_snapshot.h - captures of HIP; a part of ts_hip.h, private to it

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: libamdhip64.so, as it is in the process.
    Checked with:   a double of it (tests/doubles/), and of rocprofiler-sdk;
                    arguments as the headers of HIP 5.2 and 6.2 have them.
                    November 2026. Not run on hardware.

    WHAT IT DOES
        Makes of a function of HIP that begins or has returned one of CUDA's
        driver, with the arguments as they lie there: mostly they are the same.
        What captures have in common is in ts_cuda_snapshot.h.

    WHAT IT DOES NOT DO
        It needs to be told of calls before and after they run, with their
        arguments and results: of the four ways of ts_hip.h rocprofiler-sdk does
        that. By the others nothing is captured, and the trace says so.

    CONTENTS                            search for "==== 2." to jump
        1. Which functions
        2. Arguments
        3. The driver
        4. Code                         ts_hip_snapshot_code.h
        5. Calls
*/
#if defined(TS__HIP_IMPLEMENTED) && !defined(TS_HIP_SNAPSHOT_H)
#define TS_HIP_SNAPSHOT_H

#include "ts_cuda_snapshot.h"
#include "ts_hip_bundle.h"
#include "ts_hip_code.h"

/* ==== 1. Which functions ================================================= */

enum { // kinds that only HIP has
    TS__HS_MODULE = 100,
    TS__HS_MODULE_FILE,
    TS__HS_MODULE_GONE,
    TS__HS_FUNCTION
};

typedef enum ts__hs_how { // its arguments lie
    TS__HS_SAME,          // as CUDA's do
    TS__HS_LAUNCH,        // function, grid, block, arguments, LDS, stream
    TS__HS_ITEMS,         // as CUDA's, but the grid counts work items
    TS__HS_ROWS,          // one after another
    TS__HS_BOX            // in hipMemcpy3DParms
} ts__hs_how;

enum { TS__HS_OF_HOST = 1 }; // width of a launch: its function is the host's

typedef struct ts__hs_rule {
    ts__cs_rule like;  // the name without hip and _spt
    uint8_t how, size; // of the arguments, in bytes
} ts__hs_rule;

// Source: hip/hip_runtime_api.h, hip/hip_ext.h.
static const ts__hs_rule ts__hs_rules[] = {
    { { "LaunchKernel", TS__CS_LAUNCH, TS__HS_OF_HOST, 40 },
      TS__HS_LAUNCH,
      56 },
    { { "ExtLaunchKernel", TS__CS_LAUNCH, TS__HS_OF_HOST, 40 },
      TS__HS_LAUNCH,
      56 },
    { { "LaunchCooperativeKernel", TS__CS_LAUNCH_TOGETHER, TS__HS_OF_HOST, 40 },
      TS__HS_LAUNCH,
      56 },
    { { "ModuleLaunchKernel", TS__CS_LAUNCH, 0, 40 }, TS__HS_SAME, 64 },
    { { "ModuleLaunchCooperativeKernel", TS__CS_LAUNCH_TOGETHER, 0, 40 },
      TS__HS_SAME,
      56 },
    { { "ExtModuleLaunchKernel", TS__CS_LAUNCH, 0, 40 }, TS__HS_ITEMS, 64 },
    { { "HccModuleLaunchKernel", TS__CS_LAUNCH, 0, 40 }, TS__HS_ITEMS, 64 },
    { { "LaunchHostFunc", TS__CS_HOST_FUNCTION, 0, 0 }, TS__HS_SAME, 24 },
    { { "StreamAddCallback", TS__CS_HOST_FUNCTION, 0, 0 }, TS__HS_SAME, 24 },
    { { "Launch*", TS__CS_OTHER, 0, 0 }, TS__HS_SAME, 0 },
    { { "DrvLaunch*", TS__CS_OTHER, 0, 0 }, TS__HS_SAME, 0 },
    { { "ExtLaunch*", TS__CS_OTHER, 0, 0 }, TS__HS_SAME, 0 },
    { { "ModuleLaunch*", TS__CS_OTHER, 0, 0 }, TS__HS_SAME, 0 },
    { { "GraphLaunch", TS__CS_GRAPH, 0, 8 }, TS__HS_SAME, 16 },
    { { "Memcpy", TS__CS_COPY, 0, 0 }, TS__HS_SAME, 24 },
    { { "MemcpyAsync", TS__CS_COPY, 0, 32 }, TS__HS_SAME, 40 },
    { { "MemcpyWithStream", TS__CS_COPY, 0, 32 }, TS__HS_SAME, 40 },
    { { "MemcpyHtoD", TS__CS_COPY, 0, 0 }, TS__HS_SAME, 24 },
    { { "MemcpyDtoH", TS__CS_COPY, 0, 0 }, TS__HS_SAME, 24 },
    { { "MemcpyDtoD", TS__CS_COPY, 0, 0 }, TS__HS_SAME, 24 },
    { { "MemcpyHtoDAsync", TS__CS_COPY, 0, 24 }, TS__HS_SAME, 32 },
    { { "MemcpyDtoHAsync", TS__CS_COPY, 0, 24 }, TS__HS_SAME, 32 },
    { { "MemcpyDtoDAsync", TS__CS_COPY, 0, 24 }, TS__HS_SAME, 32 },
    { { "MemcpyPeer", TS__CS_COPY_PEER, 0, 0 }, TS__HS_SAME, 40 },
    { { "MemcpyPeerAsync", TS__CS_COPY_PEER, 0, 40 }, TS__HS_SAME, 48 },
    { { "Memcpy2D", TS__CS_COPY_BOX, 0, 0 }, TS__HS_ROWS, 48 },
    { { "Memcpy2DAsync", TS__CS_COPY_BOX, 0, 8 }, TS__HS_ROWS, 64 },
    { { "Memcpy3D", TS__CS_COPY_BOX, 0, 0 }, TS__HS_BOX, 8 },
    { { "Memcpy3DAsync", TS__CS_COPY_BOX, 0, 8 }, TS__HS_BOX, 16 },
    { { "Memcpy*", TS__CS_OTHER, 0, 0 }, TS__HS_SAME, 0 },
    { { "DrvMemcpy*", TS__CS_OTHER, 0, 0 }, TS__HS_SAME, 0 },
    { { "Memset", TS__CS_SET, 1, 0 }, TS__HS_SAME, 24 },
    { { "MemsetAsync", TS__CS_SET, 1, 24 }, TS__HS_SAME, 32 },
    { { "MemsetD8", TS__CS_SET, 1, 0 }, TS__HS_SAME, 24 },
    { { "MemsetD8Async", TS__CS_SET, 1, 24 }, TS__HS_SAME, 32 },
    { { "MemsetD16", TS__CS_SET, 2, 0 }, TS__HS_SAME, 24 },
    { { "MemsetD16Async", TS__CS_SET, 2, 24 }, TS__HS_SAME, 32 },
    { { "MemsetD32", TS__CS_SET, 4, 0 }, TS__HS_SAME, 24 },
    { { "MemsetD32Async", TS__CS_SET, 4, 24 }, TS__HS_SAME, 32 },
    { { "Memset2D", TS__CS_SET_ROWS, 1, 0 }, TS__HS_SAME, 40 },
    { { "Memset2DAsync", TS__CS_SET_ROWS, 1, 40 }, TS__HS_SAME, 48 },
    { { "Memset*", TS__CS_OTHER, 0, 0 }, TS__HS_SAME, 0 },
    { { "StreamWriteValue*", TS__CS_OTHER, 0, 0 }, TS__HS_SAME, 0 },
    { { "StreamBatchMemOp*", TS__CS_OTHER, 0, 0 }, TS__HS_SAME, 0 },
    { { "Malloc", TS__CS_ALLOC, 0, 0 }, TS__HS_SAME, 16 },
    { { "ExtMallocWithFlags", TS__CS_ALLOC, 0, 0 }, TS__HS_SAME, 16 },
    { { "MallocAsync", TS__CS_ALLOC, 0, 0 }, TS__HS_SAME, 16 },
    { { "MallocFromPoolAsync", TS__CS_ALLOC, 0, 0 }, TS__HS_SAME, 16 },
    { { "MallocPitch", TS__CS_ALLOC_ROWS, 0, 0 }, TS__HS_SAME, 32 },
    { { "MemAllocPitch", TS__CS_ALLOC_ROWS, 0, 0 }, TS__HS_SAME, 32 },
    { { "MallocManaged", TS__CS_ALLOC_MANAGED, 0, 0 }, TS__HS_SAME, 16 },
    { { "HostMalloc", TS__CS_ALLOC_HOST, 0, 0 }, TS__HS_SAME, 16 },
    { { "HostAlloc", TS__CS_ALLOC_HOST, 0, 0 }, TS__HS_SAME, 16 },
    { { "MallocHost", TS__CS_ALLOC_HOST, 0, 0 }, TS__HS_SAME, 16 },
    { { "MemAllocHost", TS__CS_ALLOC_HOST, 0, 0 }, TS__HS_SAME, 16 },
    { { "HostRegister", TS__CS_REGISTER_HOST, 0, 0 }, TS__HS_SAME, 16 },
    { { "IpcOpenMemHandle", TS__CS_OPENED, 0, 0 }, TS__HS_SAME, 8 },
    { { "ExternalMemoryGetMappedBuffer", TS__CS_EXTERNAL, 0, 0 },
      TS__HS_SAME,
      8 },
    { { "Free", TS__CS_FREE, 0, 0 }, TS__HS_SAME, 8 },
    { { "FreeAsync", TS__CS_FREE, 0, 0 }, TS__HS_SAME, 8 },
    { { "FreeHost", TS__CS_FREE, 0, 0 }, TS__HS_SAME, 8 },
    { { "HostFree", TS__CS_FREE, 0, 0 }, TS__HS_SAME, 8 },
    { { "HostUnregister", TS__CS_FREE, 0, 0 }, TS__HS_SAME, 8 },
    { { "IpcCloseMemHandle", TS__CS_FREE, 0, 0 }, TS__HS_SAME, 8 },
    { { "MemAddressReserve", TS__CS_RESERVE, 0, 0 }, TS__HS_SAME, 16 },
    { { "MemAddressFree", TS__CS_UNRESERVE, 0, 0 }, TS__HS_SAME, 16 },
    { { "MemMap", TS__CS_MAP, 0, 0 }, TS__HS_SAME, 16 },
    { { "MemUnmap", TS__CS_UNMAP, 0, 0 }, TS__HS_SAME, 16 },
    { { "StreamCreate", TS__CS_STREAM, 0, 0 }, TS__HS_SAME, 8 },
    { { "StreamCreateWithFlags", TS__CS_STREAM, 0, 0 }, TS__HS_SAME, 12 },
    { { "StreamCreateWithPriority", TS__CS_STREAM, 1, 0 }, TS__HS_SAME, 16 },
    { { "ExtStreamCreateWithCUMask", TS__CS_STREAM, 0, 0 }, TS__HS_SAME, 8 },
    { { "StreamDestroy", TS__CS_STREAM_GONE, 0, 0 }, TS__HS_SAME, 8 },
    { { "StreamBeginCapture*", TS__CS_RECORD, 0, 0 }, TS__HS_SAME, 8 },
    { { "StreamEndCapture", TS__CS_RECORDED, 0, 0 }, TS__HS_SAME, 8 },
    { { "ModuleLoad", TS__HS_MODULE_FILE, 0, 0 }, TS__HS_SAME, 16 },
    { { "ModuleLoadData*", TS__HS_MODULE, 0, 0 }, TS__HS_SAME, 16 },
    { { "ModuleLoadFatBinary", TS__HS_MODULE, 0, 0 }, TS__HS_SAME, 16 },
    { { "ModuleUnload", TS__HS_MODULE_GONE, 0, 0 }, TS__HS_SAME, 8 },
    { { "ModuleGetFunction", TS__HS_FUNCTION, 0, 0 }, TS__HS_SAME, 24 },
};
enum { TS__HS_RULES = sizeof ts__hs_rules / sizeof *ts__hs_rules };

typedef struct ts__hs_kept { // a function by its number
    const ts__hs_rule *rule; // NULL: it does not matter
    bool per_thread;         // its default stream is the thread's own
} ts__hs_kept;
static ts__hs_kept ts__hs_keep[TS__HIP_APIS];

// Whether calls of the function with that number matter for captures.
static bool ts__hs_define(uint32_t number, const char *name)
{
    ts__hs_kept kept = { NULL, false };
    size_t size = name ? strlen(name) : 0;
    if (number >= TS__HIP_APIS || size < 4 || strncmp(name, "hip", 3) != 0)
        return false;
    name += 3;
    size -= 3;
    kept.per_thread = size > 4 && !strcmp(name + size - 4, "_spt");
    if (kept.per_thread) size -= 4;
    for (size_t i = 0; i < TS__HS_RULES && !kept.rule; i++)
        if (ts__cs_rule_names(&ts__hs_rules[i].like, name, size))
            kept.rule = &ts__hs_rules[i];
    ts__hs_keep[number] = kept;
    return kept.rule != NULL;
}

/* ==== 2. Arguments ======================================================= */

typedef struct ts__hs_arguments { // as CUDA's driver has them
    uint64_t words[9];
    ts__cuda_box box;
} ts__hs_arguments;

// What is not known to lie there is zeros.
static void ts__hs_bytes(uint64_t *words, const char *from, size_t size)
{
    memset(words, 0, 9 * sizeof *words);
    memcpy(words, from, size < 72 ? size : 72);
}

// function 0, grid 8, block 20, arguments 32, LDS 40 (one of two types, the
// lower half of which is in the same place), stream 48
static void ts__hs_launch(uint64_t *words, const char *from)
{
    uint64_t shared = 0;
    ts__hs_bytes(words, from, 32);
    memcpy(&shared, from + 40, 4);
    words[4] = shared;
    memcpy(&words[5], from + 48, 8);
    memcpy(&words[6], from + 32, 8);
}

// False: its last groups are not full, which no other function can ask for.
static bool ts__hs_items(uint64_t *words)
{
    uint32_t dimensions[6];
    memcpy(dimensions, &words[1], sizeof dimensions);
    for (int i = 0; i < 3; i++) {
        const uint32_t block = dimensions[i + 3];
        if (!block || dimensions[i] % block) return false;
        dimensions[i] /= block;
    }
    memcpy(&words[1], dimensions, sizeof dimensions);
    return true;
}

// An end of a box: HIP's addresses tell by themselves whose they are.
static void ts__hs_end(ts__cuda_end *end, uint64_t address, uint64_t pitch)
{
    end->type = TS__CUDA_UNIFIED;
    end->device = address;
    end->pitch = pitch;
}

// destination 0, its pitch 8, source 16, its pitch 24, width 32, height 40,
// kind 48, stream 56
static void ts__hs_rows(ts__hs_arguments *a, const char *from)
{
    uint64_t given[6];
    memcpy(given, from, sizeof given);
    memset(&a->box, 0, sizeof a->box);
    ts__hs_end(&a->box.to, given[0], given[1]);
    ts__hs_end(&a->box.from, given[2], given[3]);
    a->box.width = given[4];
    a->box.height = given[5];
    a->box.depth = 1;
}

typedef struct ts__hs_corner { // of a hipMemcpy3DParms
    uint64_t array, x, y, z;
    uint64_t address, pitch, width, height;
} ts__hs_corner;

static void ts__hs_box(ts__hs_arguments *a, const char *from)
{
    struct {
        ts__hs_corner from, to;
        uint64_t width, height, depth;
    } given;
    const void *const at = ts__read_text(from, 0);
    memset(&a->box, 0, sizeof a->box);
    a->box.from.type = 3; // an array, until it is known that there is none
    if (!at) return;
    memcpy(&given, at, sizeof given);
    if (given.from.array || given.to.array) return;
    const ts__hs_corner *const ends[2] = { &given.from, &given.to };
    ts__cuda_end *const to[2] = { &a->box.from, &a->box.to };
    for (int i = 0; i < 2; i++) {
        ts__hs_end(to[i], ends[i]->address, ends[i]->pitch);
        to[i]->x = ends[i]->x;
        to[i]->y = ends[i]->y;
        to[i]->z = ends[i]->z;
        to[i]->height = ends[i]->height;
    }
    a->box.width = given.width;
    a->box.height = given.height;
    a->box.depth = given.depth;
}

// False: CUDA has nothing that is like it.
static bool ts__hs_translate(ts__hs_arguments *a, const ts__hs_rule *rule,
                             const char *from)
{
    const uintptr_t box = (uintptr_t)&a->box;
    switch ((ts__hs_how)rule->how) {
    case TS__HS_LAUNCH: ts__hs_launch(a->words, from); return true;
    case TS__HS_ITEMS:
        ts__hs_bytes(a->words, from, rule->size);
        return ts__hs_items(a->words);
    case TS__HS_ROWS:
        ts__hs_bytes(a->words, from, 0);
        ts__hs_rows(a, from);
        a->words[0] = box;
        if (rule->like.stream_at) memcpy(&a->words[1], from + 56, 8);
        return true;
    case TS__HS_BOX:
        ts__hs_bytes(a->words, from, rule->size);
        ts__hs_box(a, from);
        a->words[0] = box;
        return true;
    default: ts__hs_bytes(a->words, from, rule->size); return true;
    }
}

/* ==== 3. The driver ====================================================== */

static struct {
    int (*device_set)(int);
    int (*about)(uint32_t *, int, uint64_t);
    int (*symbol)(uint64_t *, const void *);
    const char *(*name)(const void *, void *);
    int (*version)(int *);
    bool asked, renumbered; // types of memory, since HIP 6
} ts__hs_call;

static int ts__hs_device_set(void *device)
{
    return ts__hs_call.device_set((int)(uintptr_t)device);
}

// The type of memory, as CUDA counts: HIP did not always. On the thread that
// asks, as all of them.
// Source: hipMemoryType of HIP 5 and 6.
static int ts__hs_about(void *type, int what, uint64_t address)
{
    static const uint32_t types[2][5] = {
        { TS__CUDA_HOST, TS__CUDA_DEVICE, 3, TS__CUDA_UNIFIED,
          TS__CUDA_UNIFIED },
        { 0, TS__CUDA_HOST, TS__CUDA_DEVICE, TS__CUDA_UNIFIED, 0 }
    };
    uint32_t value = 0;
    int version = 0;
    const int result = ts__hs_call.about(&value, what, address);
    if (!ts__hs_call.asked && ts__hs_call.version)
        ts__hs_call.version(&version);
    ts__hs_call.renumbered |= version >= 60000000;
    ts__hs_call.asked = true;
    value = value < 5 ? types[ts__hs_call.renumbered][value] : 0;
    memcpy(type, &value, sizeof value);
    return result;
}

static void ts__hs_symbol(void *library, const char *name, void *to)
{
    void *const symbol = dlsym(library, name);
    memcpy(to, &symbol, sizeof symbol);
}

// The thread that asks may be within one of them: they are not written twice.
static bool ts__hs_find(ts__cs_driver *d)
{
    void *const library = ts__hip_runtime();
    ts__cs_calls call;
    if (!library) return false;
    memset(&call, 0, sizeof call);
    if (!ts__hs_call.device_set) {
        ts__hs_symbol(library, "hipPointerGetAttribute", &ts__hs_call.about);
        ts__hs_symbol(library, "hipGetSymbolAddress", &ts__hs_call.symbol);
        ts__hs_symbol(library, "hipKernelNameRefByPtr", &ts__hs_call.name);
        ts__hs_symbol(library, "hipRuntimeGetVersion", &ts__hs_call.version);
        ts__hs_symbol(library, "hipSetDevice", &ts__hs_call.device_set);
    }
    ts__hs_symbol(library, "hipStreamQuery", &call.query);
    ts__hs_symbol(library, "hipDeviceSynchronize", &call.wait_all);
    ts__hs_symbol(library, "hipStreamCreateWithFlags", &call.stream);
    ts__hs_symbol(library, "hipMemcpyDtoHAsync", &call.to_host);
    ts__hs_symbol(library, "hipMemGetAddressRange", &call.range);
    ts__hs_symbol(library, "hipModuleGetGlobal", &call.global);
    ts__hs_symbol(library, "hipStreamIsCapturing", &call.is_recorded);
    ts__hs_symbol(library, "hipThreadExchangeStreamCaptureMode", &call.mode);
    if (ts__hs_call.about) call.about = ts__hs_about;
    if (ts__hs_call.device_set) call.context_set = ts__hs_device_set;
    if (memcmp(&d->call, &call, sizeof call) != 0) d->call = call;
    return ts__cs_driver_ready(d);
}

#include "ts_hip_snapshot_code.h" // 4

/* ==== 5. Calls =========================================================== */

static const ts__cs_vendor ts__hs_vendor = {
    .snapshot = { .name = "hip",
                  .view = ts__cs_view,
                  .disturbed = ts__cs_is_disturbed },
    .refusal = "capture.hip",
    .find = ts__hs_find,
    .fresh = ts__hs_fresh,
    .kernel = ts__hs_kernel,
};

static uint32_t ts__hs_track(void *unused, void *context,
                             const ts__cs_stream *stream, bool per_thread)
{
    (void)unused;
    uint64_t handle = (uintptr_t)stream->handle;
    if (!handle && per_thread) handle = 2; // hipStreamPerThread
    ts__hip_place place = { .handle = handle,
                            .tick = ts_tick_now(),
                            .device = (uint32_t)(uintptr_t)context };
    place.device = ts__hip_stream_device(&place);
    ts__hip_device_track(place.device); // it may not be defined yet
    return ts__hip_stream_track(&place);
}

// Calls of our own are none of the program's, nor is what they do.
static void ts__hs_own(uint64_t correlation)
{
    uint64_t words[sizeof(ts__hip_note) / 8] = { 0 };
    words[3] = (uint64_t)TS__HIP_OWN << 32;
    ts__notes_put(&ts__hip.notes, correlation, words, sizeof words, false);
}

static void ts__hs_prepare(ts__cs_call *c, const ts__hs_kept *kept,
                           ts__hs_arguments *a, uint64_t correlation)
{
    const ts__hip_thread *const me = ts__hip_thread_get();
    const uint32_t device = me ? me->device : 0;
    memset(c, 0, sizeof *c);
    c->rule = &kept->rule->like;
    c->arguments = (const uint8_t *)a->words;
    c->context = (void *)(uintptr_t)device;
    c->correlation = (uint32_t)correlation;
    c->device = ts__hip_device_track(device);
    c->per_thread = kept->per_thread;
    c->track = ts__hs_track;
    if (kept->per_thread) TS__STORE(&ts__cs.driver.per_thread, 1);
}

static void ts__hs_enter(uint32_t number, uint64_t correlation,
                         const char *arguments)
{
    static const ts__cs_rule other = { "", TS__CS_OTHER, 0, 0 };
    const ts__hs_kept *const kept = &ts__hs_keep[number % TS__HIP_APIS];
    ts__hs_arguments a;
    ts__cs_call c;
    if (!kept->rule) return;
    const bool known = ts__hs_translate(&a, kept->rule, arguments);
    ts__hs_prepare(&c, kept, &a, correlation);
    if (!known) c.rule = &other;
    const uint8_t kind = c.rule->kind;
    if ((kind == TS__CS_LAUNCH || kind == TS__CS_LAUNCH_TOGETHER) &&
        ts_snapshot_on())
        c.symbol = ts__hs_name(&c);
    ts__cs_enter(&c);
}

static void ts__hs_leave(uint32_t number, uint64_t correlation,
                         const char *arguments, uint64_t result)
{
    static const ts__cs_rule other = { "", TS__CS_OTHER, 0, 0 };
    const ts__hs_kept *const kept = &ts__hs_keep[number % TS__HIP_APIS];
    ts__hs_arguments a;
    ts__cs_call c;
    if (!kept->rule) return;
    const bool known = ts__hs_translate(&a, kept->rule, arguments);
    ts__hs_prepare(&c, kept, &a, correlation);
    if (!known) c.rule = &other;
    c.result = (int)result;
    ts__cs_leave(&c);
    if (!result) ts__hs_happened(&c);
}

// A session begins. can: its way tells of calls as it must be told.
static void ts__hs_start(bool can, uint32_t session)
{
    if (!ts_snapshot_on() && !TS__LOAD(&ts__sn_now.armed)) return;
    if (can)
        ts__cs_start(&ts__hs_vendor, session);
    else
        ts_metadata_text(0, "capture.hip",
                         "declined: only rocprofiler-sdk tells enough of "
                         "calls");
}

static void ts__hs_stop(void)
{
    ts__cs_stop(&ts__hs_vendor);
}

#endif // TS_HIP_SNAPSHOT_H
