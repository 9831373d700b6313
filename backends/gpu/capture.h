/*
    gpu/capture.h - captures of CUDA; a part of ts_cupti.h, private to it,
                         and of HIP (hip/capture.h), whose calls are alike

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: libcuda.so.1, as it is in the process.
    Checked with:   doubles of the driver and of CUPTI (tests/doubles/), the
                    structures of CUDA 13.0's headers. November 2026. Not run
                    on a GPU.

    WHAT IT DOES
        Gives an operation that is to be kept (ts_capture.h) the device to
        itself, between the two callbacks around its call: waits, for a bounded
        time, until nothing runs, has the memory looked at, lets the call run,
        waits for it, has the memory looked at again. Calls of other threads
        wait meanwhile. Knows what is allocated, and how.

    WHAT IT DOES NOT DO
        It calls no driver on a thread of the program. What is recorded into a
        graph is no operation: it passes. A file of C that has both CUDA and HIP
        captures the one that starts first.

    CONTENTS                            search for "==== 2." to jump
        1. Which functions              gpu/functions.h
        2. The driver                   gpu/driver.h,
                                        gpu/streams.h
        3. Code                         gpu/modules.h
           and tensor maps              gpu/tensor_maps.h
        4. Memory                       and gpu/mapped_memory.h,
                                        gpu/textures.h
        5. Turns                        gpu/contexts.h
        6. What an operation is         gpu/operations.h,
           and what else happens        gpu/completed_calls.h
        7. Callbacks                    gpu/callbacks.h
*/
#if (defined(TS__CUPTI_IMPLEMENTED) || defined(TS__HIP_IMPLEMENTED)) && \
    !defined(TS_CUDA_SNAPSHOT_H)
#define TS_CUDA_SNAPSHOT_H

#include "cuda_abi.h"
#include "../ts_capture.h"

#include "functions.h" // 1

#include "driver.h" // 2

#include "streams.h" // 2

#include "modules.h" // 3

#include "tensor_maps.h" // 3

/* ==== 4. Memory ========================================================== */

struct ts__cs_call;
struct ts__cs_node;

// What CUDA and HIP do not have in common.
typedef struct ts__cs_vendor {
    ts_capture_vendor memory;
    const char *refusal; // the key of metadata that says why nothing is kept
    bool (*find)(ts__cs_driver *d); // the driver's functions
    void (*fresh)(void);            // a capture begins: it has no images
    // Code and arguments of a launch; each, more: as the call has them.
    void (*kernel)(const struct ts__cs_call *c, ts_capture_op *op, bool turn,
                   void *function, void **each, void **more, uint8_t **args);
    const struct ts__cs_graph_calls *graphs;   // NULL: they are not captured
    void (*made)(void *context, void *stream); // a stream of our own, or NULL
    // The kernel that hashes, as the driver loads it; NULL: there is none, and
    // `wrong` may say why. Free: free().
    char *(*hash_code)(ts__cs_own *own);
    // The track of the device of that number, 0: nobody can tell now. NULL:
    // memory that nobody saw being allocated is the operation's device's.
    uint32_t (*device)(uint32_t number);
    bool managed; // such memory is kept, where the device can share it
    // Whether memory that nobody knows is a variable of code that has not been
    // needed yet: it is known as one then. NULL: nobody can tell.
    bool (*variable)(const struct ts__cs_call *c, uint64_t address);
} ts__cs_vendor;

typedef struct ts__cs_graph_calls {
    void (*named)(const struct ts__cs_call *c, ts_capture_op *op);
    void (*launch)(const struct ts__cs_call *c, ts_capture_op *op, bool turn,
                   uint8_t **args);
    void (*happened)(const struct ts__cs_call *c); // a call has returned
    void (*gone)(uint64_t ready);
    void (*forget)(void);
    // Of a node that is a kernel: its arguments and what tells their layout
    // are copied; it is put into a launch, its arguments at `at` of `args`.
    ts_reason (*arguments)(struct ts__cs_node *n, const ts__cuda_kernel_node *k,
                           ts__cs_job *job, bool answered);
    void (*put_kernel)(const struct ts__cs_call *c, ts_capture_op *op,
                       const struct ts__cs_node *n, uint8_t *args, uint32_t at);
    void (*left)(const void *context); // what is of it goes
} ts__cs_graph_calls;

typedef struct ts__cs_range { // an allocation, in order of address
    uint64_t address, size;
    void *context;     // it goes with; NULL: with none
    uint32_t device;   // track
    ts_reason reason;  // why what reaches it cannot be captured
    bool host, mapped; // mapped: at addresses that were reserved
    bool managed;      // the host writes it as well, and nobody sees that
} ts__cs_range;

typedef struct ts__cs_texture {
    ts__cuda_texture how;
    void *context;
} ts__cs_texture;

static struct {
    uint32_t on; // hooks work; the number of the session
    const ts__cs_vendor *vendor;
    bool tested, unsafe;
    ts__cs_driver driver;
    ts__cs_code code;
    pthread_mutex_t testing; // of the two above
    // Under `turn`.
    pthread_mutex_t turn;
    pthread_cond_t turned;
    bool capturing, late;
    bool disturbed; // the capture under way: who waited in vain runs beside
    uint32_t inside, recording;
    // Under `memory_lock`.
    pthread_mutex_t memory_lock;
    ts_capture_memory memory;
    bool touched; // by somebody, nobody knows where
    bool managed; // there may be such memory
    ts__cs_range *ranges;
    size_t range_count, range_capacity;
    uint64_t *seams; // where reservations begin
    size_t seam_count, seam_capacity;
    ts__cs_tensors tensors;
    ts__cs_texture *textures; // in order of their handles
    size_t texture_count, texture_capacity;
    uint64_t reads_until_ns;
    const struct ts__cs_call *call; // that is being described, or NULL
    void *context;                  // of the operation under way
    uint32_t device;                // track
    uint32_t hashed;                // the capture in whose metadata it stands
} ts__cs = { .testing = PTHREAD_MUTEX_INITIALIZER,
             .turn = PTHREAD_MUTEX_INITIALIZER,
             .memory_lock = PTHREAD_MUTEX_INITIALIZER,
             .driver = { .lock = PTHREAD_MUTEX_INITIALIZER },
             .code = { .lock = PTHREAD_MUTEX_INITIALIZER } };

static bool ts__cs_is_on(void)
{
    // acquire: pairs with the release in ts__cs_start
    return __atomic_load_n(&ts__cs.on, __ATOMIC_ACQUIRE) != 0;
}

// The position behind the last range that begins at or before an address.
static size_t ts__cs_after(uint64_t address)
{
    size_t low = 0, high = ts__cs.range_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (ts__cs.ranges[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const ts__cs_range *ts__cs_range_of(uint64_t address)
{
    const size_t after = ts__cs_after(address);
    if (!after) return NULL;
    const ts__cs_range *const r = &ts__cs.ranges[after - 1];
    return address - r->address < r->size ? r : NULL;
}

static void ts__cs_range_remove(uint64_t address)
{
    const size_t after = ts__cs_after(address);
    if (!after || ts__cs.ranges[after - 1].address != address) return;
    if (!ts__cs.ranges[after - 1].host)
        ts_capture_free(&ts__cs.memory, address);
    memmove(&ts__cs.ranges[after - 1], &ts__cs.ranges[after],
            (ts__cs.range_count-- - after) * sizeof *ts__cs.ranges);
}

// What the driver says of a range: managed memory is kept like any other where
// it may be looked at at any time, but always looked at again.
static void ts__cs_range_manage(ts__cs_range *range, ts__cs_managed managed)
{
    range->managed = managed == TS__CS_MANAGED && ts__cs.vendor->managed;
    if (managed && !range->managed) range->reason = TS_REASON_UVM;
    ts__cs.managed |= range->managed;
}

static void ts__cs_range_add(const ts__cs_range *range)
{
    // What is on no device would be read as the host's.
    if (!range->address || !range->size || (!range->device && !range->host))
        return;
    ts__cs_range_remove(range->address); // its end was not seen
    ts__cs_range *const more =
        (ts__cs_range *)ts__cs_more(ts__cs.ranges, &ts__cs.range_capacity,
                                    ts__cs.range_count, sizeof *more);
    if (!more) return;
    ts__cs.ranges = more;
    const size_t at = ts__cs_after(range->address);
    memmove(&more[at + 1], &more[at],
            (ts__cs.range_count++ - at) * sizeof *more);
    more[at] = *range;
    if (!range->host)
        ts_capture_alloc(&ts__cs.memory, range->address, range->size,
                         range->device);
}

#include "mapped_memory.h"

/*
    The context in which memory is looked at: its own, because kernels of
    another one may not touch it, and what they touched then would be the last
    of the program's. NULL: nobody knows one for kernels.
*/
static void *ts__cs_context_at(uint64_t address)
{
    const ts__cs_range *const r = ts__cs_range_of(address);
    if (r && r->context) return r->context;
    return r && r->device == ts__cs.device ? ts__cs.context : NULL;
}

static const void *ts__cs_view(void *user, uint64_t address, uint64_t size,
                               void *scratch)
{
    ts__cs_job job;
    (void)user;
    job.what = TS__CS_READ;
    job.context = ts__cs_context_at(address);
    if (!job.context) job.context = ts__cs.context; // copies reach everything
    job.address = address;
    job.size = size;
    if (!ts__cs_ask(&ts__cs.driver, &job, ts__cs.reads_until_ns)) return NULL;
    memcpy(scratch, ts__cs.driver.bounce, (size_t)size);
    return scratch;
}

#include "device_hash.h" // 4

// An allocation, or a variable of code that was needed.
static bool ts__cs_is_known(uint64_t address)
{
    return ts__cs_range_of(address) || ts__cap_find(&ts__cs.memory, address);
}

// Memory that nobody saw being allocated: the driver knows it.
static void ts__cs_look_up(uint64_t address)
{
    ts__cs_job job;
    if (address < 1 << 16 || ts__cs_is_known(address)) return;
    job.what = TS__CS_ALLOCATION;
    job.context = ts__cs.context;
    job.address = address;
    if (!ts__cs_ask(&ts__cs.driver, &job, ts__cs.reads_until_ns)) return;
    if (ts__cs.call && ts__cs.vendor->variable &&
        ts__cs.vendor->variable(ts__cs.call, address))
        return;
    const bool told = job.device >= 0 && ts__cs.vendor->device;
    ts__cs_range range = { job.address,
                           job.size,
                           job.owner,
                           told ? ts__cs.vendor->device((uint32_t)job.device)
                                : ts__cs.device,
                           TS_REASON_NONE,
                           false,
                           false,
                           false };
    ts__cs_range_manage(&range, job.managed);
    ts__cs_range_add(&range);
}

#include "textures.h"

// A tensor map among the bytes that an operation can reach: so can it the
// memory that it is of.
static inline void ts__cs_hidden(void *user, ts_capture_op *op,
                                 const void *bytes, ts_capture_found found,
                                 uint32_t from)
{
    uint64_t map[16];
    (void)user;
    if (!ts__cs.tensors.count) return;
    memcpy(map, bytes, sizeof map);
    ts__cs_tensor *const t = ts__cs_tensor_find(&ts__cs.tensors, map);
    if (!t) return;
    if (!t->how.address) ts_capture_decline(op, TS_REASON_TEXTURE_BINDLESS);
    ts__cs_look_up(t->how.address);
    ts_capture_reach(&ts__cs.memory, op, t->how.address, found, from);
    if (t->seen != op->head.order)
        ts_capture_attribute_add(op, TS_ATTRIBUTE_TENSOR_MAP, &t->how,
                                 sizeof t->how);
    t->seen = op->head.order;
}

// A capture that nobody told what is allocated.
static void ts__cs_fresh(void)
{
    ts__cs.memory.vendor = &ts__cs.vendor->memory;
    if (!ts_capture_fresh(&ts__cs.memory)) return;
    ts__cs.vendor->fresh();
    ts__cs.touched = false;
    for (size_t i = 0; i < ts__cs.range_count; i++) {
        const ts__cs_range *const r = &ts__cs.ranges[i];
        if (!r->host)
            ts_capture_alloc(&ts__cs.memory, r->address, r->size, r->device);
    }
}

/* ==== 5. Turns =========================================================== */

static uint64_t ts__cs_until(void)
{
    const uint64_t ms = ts__cap_now.desc.drain_ms;
    return ts__cs_now_ns() + (ms ? ms : 10000) * UINT64_C(1000000);
}

// Until nobody captures; in bounded time, because who does may wait for this
// thread. Under `turn`.
static bool ts__cs_wait_turn(const bool *busy, const uint32_t *count,
                             uint64_t until_ns)
{
    const struct timespec until = ts__cs_time(until_ns);
    bool in_time = true;
    while (in_time && ((busy && *busy) || (count && *count)))
        in_time =
            pthread_cond_timedwait(&ts__cs.turned, &ts__cs.turn, &until) == 0;
    return in_time;
}

static void ts__cs_inside(void)
{
    pthread_mutex_lock(&ts__cs.turn);
    if (!ts__cs_wait_turn(&ts__cs.capturing, NULL, ts__cs_until()))
        ts__cs.disturbed = true;
    ts__cs.inside++;
    pthread_mutex_unlock(&ts__cs.turn);
}

// The same of a call that a capture may wait for: it does not wait for that.
static void ts__cs_beside(void)
{
    pthread_mutex_lock(&ts__cs.turn);
    ts__cs.disturbed |= ts__cs.capturing;
    ts__cs.inside++;
    pthread_mutex_unlock(&ts__cs.turn);
}

// See ts_capture_vendor.
static bool ts__cs_is_disturbed(void *user)
{
    (void)user;
    pthread_mutex_lock(&ts__cs.turn);
    const bool disturbed = ts__cs.disturbed;
    pthread_mutex_unlock(&ts__cs.turn);
    return disturbed;
}

static void ts__cs_outside(void)
{
    pthread_mutex_lock(&ts__cs.turn);
    if (ts__cs.inside) ts__cs.inside--;
    pthread_cond_broadcast(&ts__cs.turned);
    pthread_mutex_unlock(&ts__cs.turn);
}

#include "contexts.h"

static bool ts__cs_answers(void *context)
{
    ts__cs_driver *const d = &ts__cs.driver;
    ts__cs_job age, job;
    age.what = TS__CS_OWN;
    age.own = ts__cs_age;
    age.drop = NULL;
    job.what = TS__CS_TEST;
    age.context = job.context = context;
    const uint64_t most = ts__cs_now_ns() + UINT64_C(3000000000);
    const uint64_t until = ts__cs_until(), end = until < most ? until : most;
    return ts__cs_ask(d, &age, end) && ts__cs_ask(d, &job, end);
}

// On the thread that is there for it, else on that of the call.
static void ts__cs_test(void *context)
{
    ts__cs_driver *const d = &ts__cs.driver;
    const ts__cs_calls before = d->call;
    const bool found = ts__cs.vendor->find(d);
    ts__cs.tested = true;
    if (before.query && before.query != d->call.query) ts__cs_driver_anew(d);
    bool safe = found && ts__cs_answers(context);
    if (found && !safe && d->call.context_now) {
        TS__STORE(&d->same, true);
        safe = ts__cs_answers(context);
        if (safe) ts_metadata_text(0, "capture.thread", "the program's");
    }
    ts__cs.unsafe = !safe;
    if (ts__cs.unsafe)
        ts_metadata_text(0, ts__cs.vendor->refusal,
                         "declined: the driver does not answer within a call");
}

// Whether the driver answers while a call is under way: asked once, because a
// driver that does not will never.
static bool ts__cs_is_safe(void *context)
{
    pthread_mutex_lock(&ts__cs.testing);
    if (!ts__cs.tested) ts__cs_test(context);
    const bool safe = !ts__cs.unsafe;
    pthread_mutex_unlock(&ts__cs.testing);
    return safe;
}

static bool ts__cs_drained(void *context, bool *recording)
{
    ts__cs_job job;
    job.what = TS__CS_DRAIN;
    job.context = context;
    job.recording = TS__LOAD(&ts__cs.recording) != 0;
    job.recorded = false;
    const bool ok = ts__cs_ask(&ts__cs.driver, &job,
                               ts__cs.late ? ts__cs_now_ns() : ts__cs_until());
    *recording = job.recorded;
    return ok;
}

// Whether anything is recorded that nobody can be asked about: the driver is
// of before CUDA 10.1, or it may be a thread's own default stream.
static bool ts__cs_may_spoil(bool *recording)
{
    const ts__cs_driver *const d = &ts__cs.driver;
    *recording =
        TS__LOAD(&ts__cs.recording) &&
        (!d->call.is_recorded || !d->call.mode || TS__LOAD(&d->per_thread));
    return *recording;
}

/*
    The device for this call alone. False: it did not get idle in time; then
    nobody waits again until it was once. Or a stream is recorded that nobody
    can wait for without spoiling that.
*/
static bool ts__cs_turn(void *context, bool *recording)
{
    pthread_mutex_lock(&ts__cs.turn);
    const uint64_t until = ts__cs.late ? ts__cs_now_ns() : ts__cs_until();
    const bool mine = ts__cs_wait_turn(&ts__cs.capturing, NULL, until);
    ts__cs.disturbed = !mine;
    if (mine) ts__cs.capturing = true;
    const bool alone = mine && ts__cs_wait_turn(NULL, &ts__cs.inside, until);
    *recording = false;
    if (mine && !alone) {
        ts__cs.capturing = false;
        pthread_cond_broadcast(&ts__cs.turned);
    }
    if (!alone) ts__cs.inside++;
    pthread_mutex_unlock(&ts__cs.turn);
    if (!alone) return false;
    const bool drained = ts__cs_is_safe(context) &&
                         !ts__cs_may_spoil(recording) &&
                         ts__cs_drained(context, recording);
    pthread_mutex_lock(&ts__cs.turn);
    if (drained || !*recording) ts__cs.late = !drained;
    if (!drained) {
        ts__cs.capturing = false;
        ts__cs.inside++; // it runs beside the others
        pthread_cond_broadcast(&ts__cs.turned);
    }
    pthread_mutex_unlock(&ts__cs.turn);
    return drained;
}

static void ts__cs_turn_end(void)
{
    pthread_mutex_lock(&ts__cs.turn);
    ts__cs.capturing = false;
    pthread_cond_broadcast(&ts__cs.turned);
    pthread_mutex_unlock(&ts__cs.turn);
}

#include "operations.h" // 6

#include "completed_calls.h" // 6

#include "callbacks.h" // 7

#endif // TS_CUDA_SNAPSHOT_H
