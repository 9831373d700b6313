/*
    opencl/capture.h - captures of OpenCL: turns, memory, contents

    Part of ts_opencl.h, which includes it.

    A command that is to be kept (ts_capture.h) has the devices to itself. Its
    call takes the turn, waits, for a bounded time, until nothing else runs,
    reads what the command can reach, lets it run and end, and reads again.
    Other threads' commands wait meanwhile, but not forever: one that passes by
    declines what is being kept. Contents are read on a queue of our own.

    Memory becomes known when a command first uses it, under the address that
    the trace gave it, and its contents are read then. Objects that lie in a
    buffer (a part of one, an image made from one) are that buffer.
*/
#ifdef TS__OPENCL_IMPLEMENTED // included by ts_opencl.h alone

/* ---- 4.20 Captures: turns ------------------------------------------------ */

// One end of a copy or fill: an object, SVM, or the host's memory.
typedef struct ts__cl_end_of {
    uint64_t address; // of its first byte
    bool device, svm;
    ts__cl_handle memory; // an object
    uint64_t base;        // from where the origin counts
    // Of a box: bytes, rows, slices. In images rows and slices are its own.
    uint64_t origin[3], region[3], row, slice;
} ts__cl_end_of;

typedef struct ts__cl_object {   // memory that the command at work may reach
    ts__cl_handle handle;        // what is read: a buffer or an image
    uint64_t address, size;      // of all of that
    uint64_t at, at_size;        // where the object itself lies
    bool image, shared;          // shared: the host may write it at any time
    bool unread;                 // kernels may not read it
    uint64_t element, region[3]; // of an image: bytes; elements, rows, slices
    ts_capture_object about;     // of an image, also of one in a buffer
} ts__cl_object;

typedef struct ts__cl_mapped { // by the host
    ts__cl_handle memory;
    const void *at;
    bool writes;
    ts__cl_end_of device, host;
    uint64_t size;
} ts__cl_mapped;

// A command while something is kept.
typedef struct ts__cl_seen {
    bool turn, keeps;    // it has the turn, and is being kept
    bool noted;          // it will stand in the trace, without contents
    ts__cl_handle event; // if nobody else wants to know when it is done
    uint8_t *args;
    size_t arg_room;
    ts_capture_op op;
} ts__cl_seen;

typedef struct ts__cl_code { // that the trace has
    uint64_t hash[2];
    uint32_t form, options, image;
} ts__cl_code;

typedef struct ts__cl_dead { // memory that was freed
    struct ts__cl_dead *next;
    uint64_t address, size;
} ts__cl_dead;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t idle; // CLOCK_MONOTONIC
    bool busy;           // somebody has the turn
    uint32_t disturbed;  // somebody did not wait for it
    uint32_t late;       // waiting was in vain: do not, until it is idle once
    uint32_t inside;     // commands being enqueued without the turn
    uint32_t extended;   // the program may enqueue what nobody sees
    uint32_t passed;     // queues that wait for the program are not followed
    uint32_t opened;     // what one of them waited for was done
    ts__cl_mapped *mapped;
    size_t mapped_count, mapped_room;
    ts__cl_handle *events; // of commands that nobody else follows, new ones
    size_t event_count, event_room;
    ts__cl_dead *dead; // a stack, without the lock
    // Of who has the turn:
    ts__cl_handle *followed; // `events` that were looked at
    size_t followed_count, followed_room;
    ts_capture_memory memory;
    ts__cl_object *objects;
    size_t object_count, object_room;
    ts__cl_handle app_queue, queue; // the program's; our own, NULL: none yet
    struct {                        // what was read last
        const ts__cl_object *of;    // NULL: it may have changed since
        uint64_t first, size, room;
        uint8_t *bytes;
    } shadow;
    ts__cl_code *codes;
    size_t code_count, code_room;
    uint64_t binaries; // of them, which run on such a device alone
} ts__cl_cap = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void ts__cl_capture_once(void)
{
    ts__cl_cond_init(&ts__cl_cap.idle);
}

// Called by the driver, on any thread.
static void ts__cl_capture_freed(uint64_t address, uint64_t size)
{
    ts__cl_dead *const d =
        ts_capture_on() ? (ts__cl_dead *)malloc(sizeof *d) : NULL;
    if (!d) return; // addresses are not used again
    d->address = address;
    d->size = size;
    d->next = __atomic_load_n(&ts__cl_cap.dead, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&ts__cl_cap.dead, &d->next, d, false,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {}
}

// Forgets what was freed. A part of a buffer is nothing by itself, unless it
// is all of it: then the buffer's contents are read once more. Of an image the
// driver may take more than there is to be kept.
static void ts__cl_capture_bury(void)
{
    ts_capture_memory *const memory = &ts__cl_cap.memory;
    ts__cl_dead *d =
        __atomic_exchange_n(&ts__cl_cap.dead, NULL, __ATOMIC_ACQUIRE);
    while (d) {
        ts__cl_dead *const next = d->next;
        if (ts_capture_size(memory, d->address) <= d->size)
            ts_capture_free(memory, d->address);
        free(d);
        d = next;
    }
}

static void ts__cl_touch_all(void)
{
    ts_capture_memory *const memory = &ts__cl_cap.memory;
    for (size_t i = 0; i < memory->count; i++)
        ts_capture_touch(memory, memory->ranges[i].address, 0);
}

static const void *ts__cl_view(void *user, uint64_t address, uint64_t size,
                               void *scratch);
static bool ts__cl_hash(void *user, uint64_t address, uint64_t size,
                        uint64_t *hashes);

static const ts_capture_vendor ts__cl_vendor = { .name = "opencl",
                                                 .view = ts__cl_view,
                                                 .by_parameters = true,
                                                 .hash = ts__cl_hash };

static void ts__cl_mark_all(void);
static void ts__cl_open_gates(void);

// With the turn: what a new capture begins with.
static void ts__cl_capture_begin(void)
{
    ts__cl_cap.memory.vendor = &ts__cl_vendor;
    ts__cl_cap.object_count = 0;
    if (ts_capture_fresh(&ts__cl_cap.memory)) {
        ts__cl_cap.code_count = 0;
        ts__cl_cap.binaries = 0;
        TS__STORE(&ts__cl_cap.late, 0);
        ts__cl_mark_all();
    }
    ts__cl_capture_bury();
    if (__atomic_exchange_n(&ts__cl_cap.disturbed, 0, __ATOMIC_ACQ_REL) ||
        TS__LOAD(&ts__cl_cap.extended))
        ts__cl_touch_all();
    ts__cl_open_gates();
}

static bool ts__cl_is_kept_kind(ts_event_kind kind)
{
    return kind == TS_EVENT_KERNEL || kind == TS_EVENT_MEMCPY ||
           kind == TS_EVENT_MEMSET || kind == TS_EVENT_HOST_FUNCTION;
}

// A call that will enqueue: waits for its turn.
static void ts__cl_turn(ts__cl_call *call, ts_event_kind kind)
{
    if (!ts__cl_is_kept_kind(kind)) return;
    ts__cl_seen *const seen = (ts__cl_seen *)calloc(1, sizeof *seen);
    if (!seen) {
        __atomic_store_n(&ts__cl_cap.disturbed, 1, __ATOMIC_RELEASE);
        return;
    }
    call->seen = seen;
    const struct timespec until =
        ts_capture_deadline(ts__cap_now.desc.drain_ms);
    bool in_time = true;
    pthread_mutex_lock(&ts__cl_cap.lock);
    while (ts__cl_cap.busy && in_time)
        in_time = pthread_cond_timedwait(&ts__cl_cap.idle, &ts__cl_cap.lock,
                                         &until) == 0;
    seen->turn = !ts__cl_cap.busy;
    if (seen->turn) {
        ts__cl_cap.busy = true;
    } else {
        ts__cl_cap.inside++;
        __atomic_store_n(&ts__cl_cap.disturbed, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&ts__cl_cap.lock);
    if (seen->turn) ts__cl_capture_begin();
}

// Gives the turn back before the command is enqueued: it is not kept.
static void ts__cl_turn_pass(ts__cl_seen *seen)
{
    if (!seen->turn) return;
    seen->turn = false;
    pthread_mutex_lock(&ts__cl_cap.lock);
    ts__cl_cap.busy = false;
    ts__cl_cap.inside++;
    pthread_cond_broadcast(&ts__cl_cap.idle);
    pthread_mutex_unlock(&ts__cl_cap.lock);
}

// Functions of extensions are the driver's own.
static void ts__cl_extension(const void *function, const char *name)
{
    if (function && name && !strncmp(name, "clEnqueue", 9))
        TS__STORE(&ts__cl_cap.extended, 1);
}

static void *ts__cl_clGetExtensionFunctionAddress(const char *name)
{
    void *const found = ts__cl.next.clGetExtensionFunctionAddress(name);
    ts__cl_extension(found, name);
    return found;
}

static void *
ts__cl_clGetExtensionFunctionAddressForPlatform(ts__cl_handle platform,
                                                const char *name)
{
    void *const found =
        ts__cl.next.clGetExtensionFunctionAddressForPlatform(platform, name);
    ts__cl_extension(found, name);
    return found;
}

#include "capture_waits.h"

/* ---- 4.22 Captures: memory ----------------------------------------------- */

static uint64_t ts__cl_image_size(ts__cl_handle image, uint32_t what)
{
    size_t size = 0;
    ts__cl.next.clGetImageInfo(image, what, sizeof size, &size, NULL);
    return size;
}

// What an image is, and how its contents lie: without gaps, or as in the
// buffer that it was made from.
static bool ts__cl_image_about(ts__cl_object *o, uint32_t type, bool within)
{
    ts_capture_object *const a = &o->about;
    uint32_t format[2] = { 0, 0 };
    ts__cl.next.clGetImageInfo(o->handle, TS__CL_IMAGE_FORMAT, sizeof format,
                               format, NULL);
    a->order = format[0];
    a->type = format[1];
    a->object_type = type;
    a->width = ts__cl_image_size(o->handle, TS__CL_IMAGE_WIDTH);
    a->height = ts__cl_image_size(o->handle, TS__CL_IMAGE_HEIGHT);
    a->depth = ts__cl_image_size(o->handle, TS__CL_IMAGE_DEPTH);
    a->array_size = ts__cl_image_size(o->handle, TS__CL_IMAGE_ARRAY_SIZE);
    const uint64_t element =
        ts__cl_image_size(o->handle, TS__CL_IMAGE_ELEMENT_SIZE);
    o->element = element;
    const bool lines = type == TS__CL_MEM_OBJECT_IMAGE1D_ARRAY;
    o->region[0] = a->width;
    o->region[1] = lines ? a->array_size : a->height;
    o->region[2] =
        type == TS__CL_MEM_OBJECT_IMAGE2D_ARRAY ? a->array_size : a->depth;
    for (int i = 1; i < 3; i++)
        if (!o->region[i]) o->region[i] = 1;
    a->row_pitch = a->width * element;
    if (within)
        a->row_pitch = ts__cl_image_size(o->handle, TS__CL_IMAGE_ROW_PITCH);
    if (a->row_pitch < a->width * element) a->row_pitch = a->width * element;
    a->slice_pitch = a->row_pitch * (lines ? 1 : o->region[1]);
    const uint64_t size = a->row_pitch * o->region[1] * o->region[2];
    const bool fits = within || size <= o->at_size + 4096;
    if (!within) o->at_size = size;
    return a->width && element && fits;
}

// Whether there is more of it than elements in rows and slices.
static bool ts__cl_image_layered(ts__cl_handle image)
{
    uint32_t levels = 0, samples = 0;
    ts__cl.next.clGetImageInfo(image, TS__CL_IMAGE_NUM_MIP_LEVELS,
                               sizeof levels, &levels, NULL);
    ts__cl.next.clGetImageInfo(image, TS__CL_IMAGE_NUM_SAMPLES, sizeof samples,
                               &samples, NULL);
    return levels > 1 || samples > 1;
}

/*
    What an object is, and what it lies in; or why it cannot be read: it was
    made before anybody looked, or by an interface that nobody knows, or it is
    an image of several levels or samples.
*/
static ts_reason ts__cl_object_read(ts__cl_handle handle, ts__cl_object *o)
{
    ts__cl_memory m;
    uint32_t type = 0;
    uint64_t flags = 0;
    memset(o, 0, sizeof *o);
    if (!ts__cl_memory_get(TS__CL_MEMORY, handle, &m))
        return TS_REASON_ATTACHED_LATE;
    o->handle = handle;
    o->at = m.address;
    o->at_size = m.size;
    ts__cl.next.clGetMemObjectInfo(handle, TS__CL_MEM_TYPE, sizeof type, &type,
                                   NULL);
    const bool image = type != TS__CL_MEM_OBJECT_BUFFER;
    ts__cl_handle whole = handle;
    for (int depth = 0; depth < 4; depth++) {
        ts__cl_handle above = NULL;
        ts__cl.next.clGetMemObjectInfo(whole, TS__CL_MEM_ASSOCIATED_MEMOBJECT,
                                       sizeof above, &above, NULL);
        if (!above) break;
        whole = above;
    }
    if (image && ts__cl_image_layered(handle))
        return TS_REASON_PARAM_LAYOUT_UNKNOWN;
    if (type == TS__CL_MEM_OBJECT_PIPE ||
        (image && !ts__cl_image_about(o, type, whole != handle)) ||
        !ts__cl_memory_get(TS__CL_MEMORY, whole, &m))
        return TS_REASON_ATTACHED_LATE;
    o->about.address = o->at;
    o->image = image && whole == handle;
    o->handle = whole;
    o->address = m.address;
    o->size = o->image ? o->at_size : m.size;
    ts__cl.next.clGetMemObjectInfo(whole, TS__CL_MEM_FLAGS, sizeof flags,
                                   &flags, NULL);
    o->shared = flags & TS__CL_MEM_USE_HOST_PTR;
    o->unread = flags & TS__CL_MEM_WRITE_ONLY;
    return o->at >= o->address && o->at - o->address <= o->size
               ? TS_REASON_NONE
               : TS_REASON_ATTACHED_LATE;
}

// Adds an object of the command at work; or why that cannot be kept. The first
// ones stay where they are.
static ts_reason ts__cl_object_add(const ts__cl_call *call,
                                   ts__cl_handle handle,
                                   const ts__cl_object **added)
{
    if (ts__cl_cap.object_count == ts__cl_cap.object_room) {
        const size_t room = ts__cl_cap.object_room * 2 + 64;
        ts__cl_object *const more =
            (ts__cl_object *)realloc(ts__cl_cap.objects, room * sizeof *more);
        if (!more) return TS_REASON_NO_MEMORY;
        ts__cl_cap.objects = more;
        ts__cl_cap.object_room = room;
    }
    ts__cl_object *const o = &ts__cl_cap.objects[ts__cl_cap.object_count];
    const ts_reason reason = ts__cl_object_read(handle, o);
    if (reason) return reason;
    *added = o;
    ts__cl_cap.object_count++;
    ts_capture_memory *const memory = &ts__cl_cap.memory;
    if (!ts_capture_size(memory, o->address))
        ts_capture_alloc(memory, o->address, o->size,
                         call->queue->device->track);
    if (o->shared) ts_capture_touch(memory, o->address, 0);
    return TS_REASON_NONE;
}

// An object that a command which is not kept may write.
static void ts__cl_object_touch(ts__cl_handle handle)
{
    ts__cl_object o;
    if (!handle) return;
    if (!ts__cl_object_read(handle, &o))
        ts_capture_touch(&ts__cl_cap.memory, o.address, 0);
}

#include "capture_contents.h"

#include "device_hash.h"

/* ---- 4.24 Captures: commands --------------------------------------------- */

// Whether the command is to be kept, which then has a head. Else the turn is
// for somebody else, when what it may write has been touched.
static bool ts__cl_seen_wanted(ts__cl_call *call, const char *kernel)
{
    ts_capture_op *const op = &call->seen->op;
    if (!call->command) return false;
    op->head.kind = call->command->op.kind;
    op->head.track = call->command->op.track;
    op->head.correlation = call->command->op.correlation;
    op->name = kernel;
    if (kernel) op->head.name = ts_name_define(kernel);
    return ts_capture_requested(op);
}

// Whether it has the turn. Else it runs as it would without us, and is counted.
static bool ts__cl_seen_turn(ts__cl_call *call, const char *kernel)
{
    ts__cl_seen *const seen = call->seen;
    if (!seen || seen->turn) return seen != NULL;
    seen->noted = ts__cl_seen_wanted(call, kernel);
    if (seen->noted) ts_capture_decline(&seen->op, TS_REASON_DRAIN_TIMEOUT);
    return false;
}

// It will run as it would without us, and may write anywhere.
static void ts__cl_seen_give_up(ts__cl_seen *seen)
{
    seen->noted = true;
    ts__cl_touch_all();
    ts__cl_turn_pass(seen);
}

// The command is described: looks at what is there before it.
static void ts__cl_seen_begin(ts__cl_call *call)
{
    ts__cl_seen *const seen = call->seen;
    ts_capture_op *const op = &seen->op;
    ts__cl_cap.app_queue = call->queue->handle;
    if (op->head.state != TS_CAPTURE_DECLINED) {
        const bool gated = ts__cl_gated(call);
        if (gated) TS__STORE(&ts__cl_cap.late, 1);
        if (gated || !ts__cl_drain())
            ts_capture_decline(op, TS_REASON_DRAIN_TIMEOUT);
    }
    if (op->head.state == TS_CAPTURE_DECLINED) {
        ts__cl_seen_give_up(seen);
        return;
    }
    ts_capture_begin(&ts__cl_cap.memory, op);
    ts__cl_cap.shadow.of = NULL; // from now on
    seen->keeps = true;
    ts__cl_command *const c = call->command;
    c->called[0] = ts_tick_now(); // the moment at which it is enqueued
    if (c->probe) ts__cl_probe_take(c->probe->before);
}

static void ts__cl_seen_decline(ts__cl_call *call, ts_reason reason)
{
    if (!call->seen) return;
    const bool wanted = ts__cl_seen_wanted(call, NULL);
    if (wanted) ts_capture_decline(&call->seen->op, reason);
    if (call->seen->turn) ts__cl_seen_give_up(call->seen);
    call->seen->noted = wanted;
}

// It moves nothing, or nothing that a device would see.
static void ts__cl_seen_nothing(ts__cl_call *call)
{
    if (!call->seen) return;
    call->seen->noted = ts__cl_seen_wanted(call, NULL);
    ts__cl_turn_pass(call->seen);
}

// The driver has taken it, or has not.
static void ts__cl_seen_end(ts__cl_call *call, int32_t result,
                            ts__cl_handle *event)
{
    ts__cl_seen *const seen = call->seen;
    ts_capture_op *const op = &seen->op;
    if (result == TS__CL_SUCCESS) {
        const int32_t status = ts__cl_wait(call->queue->handle, *event);
        const bool alone =
            !__atomic_load_n(&ts__cl_cap.disturbed, __ATOMIC_ACQUIRE) &&
            !__atomic_load_n(&ts__cl_cap.opened, __ATOMIC_SEQ_CST);
        if (status > 0) TS__STORE(&ts__cl_cap.late, 1);
        if (status > 0 || !alone)
            ts_capture_decline(op, TS_REASON_DRAIN_TIMEOUT);
        else if (status < 0)
            ts_capture_decline(op, TS_REASON_DEVICE_FAILED);
        ts_capture_end(&ts__cl_cap.memory, op);
    }
    ts__cl_reader_close();
}

// Where the driver is to put the event of a command.
static ts__cl_handle *ts__cl_event_place(ts__cl_call *call,
                                         ts__cl_handle *event)
{
    if (event) return event;
    return call->command ? &call->command->event
           : call->seen  ? &call->seen->event
                         : NULL;
}

// Behind everything else that the call does.
static void ts__cl_turn_end(ts__cl_call *call, int32_t result,
                            ts__cl_handle *event)
{
    ts__cl_seen *const seen = call->seen;
    if (!call->command && result == TS__CL_SUCCESS && event && *event) {
        if (event != &seen->event) ts__cl.next.clRetainEvent(*event);
        ts__cl.next.clFlush(call->queue->handle); // see ts__cl_flush_all
        ts__cl_event_add(*event);
    }
    if (seen->noted && result == TS__CL_SUCCESS) {
        ts_capture_memory none;
        memset(&none, 0, sizeof none);
        none.vendor = &ts__cl_vendor;
        ts_capture_begin(&none, &seen->op);
        ts_capture_end(&none, &seen->op);
    }
    pthread_mutex_lock(&ts__cl_cap.lock);
    if (seen->turn)
        ts__cl_cap.busy = false;
    else
        ts__cl_cap.inside--;
    pthread_cond_broadcast(&ts__cl_cap.idle);
    pthread_mutex_unlock(&ts__cl_cap.lock);
    ts_capture_drop(&seen->op);
    free(seen->args);
    free(seen);
    call->seen = NULL;
}

#endif // TS__OPENCL_IMPLEMENTED
