/*
    ts_capture.h - keeps what operations need to be run again

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: none; backends bring one.
    Checked with:   ts_vdev.h; Debian 12, x86-64, gcc 12 and clang 14,
                    November 2026.

    WHAT IT DOES
        Knows the live allocations of a device library, finds those that an
        operation can reach, and puts their contents into the trace before and
        after it: in chunks that are stored once, so that only what changed
        costs space. Bounded in bytes; beyond the bound hashes alone are kept,
        and the trace says so. docs/execution.md tells what becomes of it.

    WHAT IT DOES NOT DO
        It calls no device: a backend hands it operations, and a function
        that shows it memory. It waits for nothing: the backend sees to it
        that nothing runs while memory is looked at.

    USE
        const ts_session_desc session = { .path = "app.sbt" };
        const ts_capture_desc what = { .kernels = "gemm*", .frames = 3 };
        ts_session_start(&session); // if it fails, ts_session_stop tells
        ts_capture_start(&what); // what backends are asked for, from now on
        // ... the program
        ts_capture_stop();
        return ts_session_stop();

    CONTENTS                            search for "==== 2." to jump
        1. What to keep
        2. For backends
        3. Implementation               private
*/
#ifndef TS_CAPTURE_H
#define TS_CAPTURE_H

#include "ts_filter.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ==== 1. What to keep ==================================================== */

// Where memory of a device is hashed, if its backend can do it there. Whether a
// device hashes right is tried first, and what is copied is hashed again.
typedef enum ts_capture_hash {
    TS_CAPTURE_HASH_AUTO,   // on the device, where that saves copies
    TS_CAPTURE_HASH_DEVICE, // on the device, whatever it costs
    TS_CAPTURE_HASH_HOST
} ts_capture_hash;

// All zeros keeps everything up to 1 GiB.
typedef struct ts_capture_desc {
    // only kernels of these names, as ts_filter_desc has them (all, and copies
    // and sets)
    const char *kernels TS__UNSET;
    // only what is launched inside a zone of this name
    const char *zone TS__UNSET;
    // of each kernel name only the launches number `first` (0) and so on,
    // `count` of them (0: all)
    uint64_t first TS__UNSET, count TS__UNSET;
    uint32_t frames TS__UNSET;  // ends with so many ts_capture_frame (0: never)
    bool hashes_only TS__UNSET; // keep no contents (false)
    // of contents; beyond it hashes alone (1 GiB)
    uint64_t budget_bytes TS__UNSET;
    // wait so long for a device to get idle (10,000); an operation before which
    // it does not is declined
    uint32_t drain_ms TS__UNSET;
    // pointers in memory are followed so often (4) ...
    uint32_t scan_depth TS__UNSET;
    uint64_t scan_bytes TS__UNSET; // ... in allocations up to this size (1 MiB)
    uint64_t operations TS__UNSET; // ends when so many were kept (0: never)
    // zones and marks of these names begin frames, and TS_FRAMEs of other names
    // do not (all TS_FRAMEs)
    const char *frame TS__UNSET;
    // where it is hashed (TS_CAPTURE_HASH_AUTO)
    ts_capture_hash hash TS__UNSET;
} ts_capture_desc;

typedef struct ts_capture_figures {
    uint64_t whole, hashes, declined; // operations
    uint64_t kept_bytes;              // contents that the trace got
    uint64_t looked_bytes;            // contents that were hashed
    uint64_t device_bytes;            // of them on a device, and not copied
    uint64_t reasons[TS_REASON_LIMIT];
    bool over_budget;
} ts_capture_figures;

/*
    Begins to keep operations; NULL is all defaults. Strings are copied. One
    that is under way is replaced. Needs a session: without one nothing is
    kept, and with its end it ends. A child made by fork keeps nothing unless
    it asks again. Memory of a device that the host itself writes must not be
    in use.

    Threads: any. Errors: TS_ERR_USAGE (a text too long).
*/
TS__WEAK_API ts_result ts_capture_start(const ts_capture_desc *desc);
// Ends it, and says in the trace's metadata what was kept.
TS__WEAK_API void ts_capture_stop(void);
// A frame ends and the next one begins: see ts_capture_desc.frames. TS_FRAME
// does the same while a session records.
TS__WEAK_API void ts_capture_frame(void);

/*
    Captures when something happens: ts_capture_arm keeps the wishes, and each
    trigger begins a capture; with `frames` where the next frame does, else at
    once. It ends after its frames or operations, or by the next trigger, and
    can be triggered again, until ts_capture_stop. What operations read then
    is kept with them, whenever it was written. Otherwise as ts_capture_start;
    each capture has its own budget.

    Threads: any, but no signal handler.
*/
TS__WEAK_API ts_result ts_capture_arm(const ts_capture_desc *desc);
TS__WEAK_API void ts_capture_trigger(void);
// Of the present or last one.
TS__WEAK_API ts_capture_figures ts_capture_result(void);
// Operations and bytes of all captures of this session, the present one, too.
// *waits: one begins with the next frame.
TS__WEAK_API ts_capture_figures ts_capture_total(bool *waits);

/*
    Reads what ts-record has in --capture: "kernel:gemm*,-gemm_tn", "zone:step",
    "budget:2G", "frames:3", "frame:step", "operations:100", "first:10",
    "count:2", "hashes", "hash:device" (or "host" or "auto"); several with
    blanks between. Strings in *desc point into `room`, of `size` bytes.

    Errors: TS_ERR_USAGE.
*/
TS__WEAK_API ts_result ts_capture_parse(ts_capture_desc *desc, char *room,
                                        size_t size, const char *text);

/* ==== 2. For backends ==================================================== */

typedef struct ts_capture_op ts_capture_op;
enum { TS_CAPTURE_HIDDEN = 128, TS_CAPTURE_ALIGNED = 64 };

// A device library, or one instance of it.
typedef struct ts_capture_vendor {
    const char *name; // as in the trace: "vdev"
    // Shows memory of a device: size is at most TS_CAPTURE_CHUNK + 7, with
    // `hidden` TS_CAPTURE_CHUNK + TS_CAPTURE_HIDDEN. Either where it is or in
    // `scratch`; NULL: it cannot.
    const void *(*view)(void *user, uint64_t address, uint64_t size,
                        void *scratch);
    bool host_visible;  // the host may write it unseen: look at all of it
                        // every time, whatever wrote there
    bool by_parameters; // what a kernel reaches stands in its parameters of
                        // types pointer and object: memory is not searched
    // Looks at so many bytes, on a multiple of TS_CAPTURE_ALIGNED, that may
    // hide an address, and says so by ts_capture_reach. NULL: nothing does.
    void (*hidden)(void *user, ts_capture_op *op, const void *bytes,
                   ts_capture_found found, uint32_t from);
    // Hashes memory where it is: of each TS_CAPTURE_CHUNK bytes from `address`
    // on the two words of their XXH3-128. The last of at most
    // TS__CAP_HASHES_MAX may be shorter, but has more than 240 bytes. False: it
    // cannot, or it would cost more than to view them. NULL: it never can.
    bool (*hash)(void *user, uint64_t address, uint64_t size, uint64_t *hashes);
    // How many bytes from `address` on are alike, in chunks from there: memory
    // that nobody has written since it was zeros (*blank), which is then not
    // viewed, or any other. At least a chunk, or all. NULL: it never knows.
    uint64_t (*blank)(void *user, uint64_t address, uint64_t size, bool *blank);
    // Whether anything has run beside the operation, which is asked after all
    // that it wrote was looked at. NULL: nothing can.
    bool (*disturbed)(void *user);
} ts_capture_vendor;
enum { TS__CAP_HASHES_MAX = 4096 };

typedef struct ts__cap_range { // an allocation
    uint64_t address, size, version;
    uint32_t device, image;
    uint64_t offset;   // of a global in its image
    uint64_t *hashes;  // 2 of each chunk, NULL: never looked at
    uint8_t *state;    // of each chunk: TS__CAP_...
    uint64_t list[2];  // blob of the hashes, as far as `listed`
    uint64_t seen;     // order of the operation that found it last
    bool listed, dead; // dead: freed
} ts__cap_range;

typedef struct ts_capture_memory {
    const ts_capture_vendor *vendor;
    void *user;
    // Private.
    ts__cap_range *ranges; // in order of address
    size_t count, capacity;
    uint64_t low, high; // nothing lies outside
    uint32_t capture;   // the one that the ranges are of
    uint32_t session;
    uint64_t freed[64][2]; // the last ones: address, size
    uint32_t freed_at;
    uint8_t *scratch;
    uint64_t *told;  // hashes by the device, NULL: it does not hash
    bool told_wrong; // it did so wrongly
} ts_capture_memory;

// An operation, all zeros at first. The backend fills in `head` (all but
// counts and order) and the arguments; once the operation is wanted, also what
// it knows of their layout (ts_capture_param_add) and what else it takes.
struct ts_capture_op {
    ts_capture_operation head;
    const char *name;         // of a kernel
    const char *const *names; // of those of a graph
    size_t name_count;
    const void *args;
    // Private.
    ts_capture_param *params;
    ts_capture_region *regions;
    size_t param_capacity, capacity;
    uint8_t *copy; // of the arguments
    uint8_t *attributes;
    size_t attributes_size;
    bool all_kept, failed, unseen;
};

typedef struct ts__cap_state {
    uint32_t on;    // number of the capture, 0: none
    uint32_t waits; // it begins with the next frame
    uint32_t captures, frames_left, images;
    bool armed;
    pthread_mutex_t lock;
    ts_capture_desc desc;
    char kernels[TS_FILTER_NAMES_MAX], zone[256], frame[256];
    ts_capture_figures figures, sums; // sums: of the session
    uint32_t ended;                   // captures of the session
    uint64_t admitted;
    uint64_t order;
    uint32_t *launches; // by name: how often
    size_t launch_room;
    bool hooked; // sessions and forks are known
} ts__cap_state;
#ifdef __cplusplus
extern "C" ts__cap_state ts__cap_now;
#elif defined(TS__STATIC)
static ts__cap_state ts__cap_now = { .lock = PTHREAD_MUTEX_INITIALIZER };
#else
extern ts__cap_state ts__cap_now;
#endif

// Whether operations are kept: one load.
static inline bool ts_capture_on(void)
{
    return TS__UNLESS_DISABLED(TS__LOAD(&ts__cap_now.on) != 0);
}

#ifdef CLOCK_MONOTONIC // not in strict ISO C, which is for no backend
// The moment so many milliseconds from now, and whether it has passed.
static inline struct timespec ts_capture_deadline(uint32_t ms)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += ms / 1000;
    at.tv_nsec += TS__AS(long, ms % 1000) * 1000000;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}

static inline bool ts_capture_late(const struct timespec *deadline)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec > deadline->tv_sec ||
           (now.tv_sec == deadline->tv_sec && now.tv_nsec >= deadline->tv_nsec);
}
#endif

/*
    A backend calls these with its own lock held, so that nothing of one
    memory happens at once. `fresh` says that this memory does not know what is
    allocated: it wants ts_capture_alloc for everything that there is.
*/
TS__WEAK_API bool ts_capture_fresh(ts_capture_memory *memory);
TS__WEAK_API void ts_capture_alloc(ts_capture_memory *memory, uint64_t address,
                                   uint64_t size, uint32_t device);
// The same of a variable of an image (ts_capture_image_add).
TS__WEAK_API void ts_capture_global(ts_capture_memory *memory, uint64_t address,
                                    uint64_t size, uint32_t device,
                                    uint32_t image, uint64_t offset);
TS__WEAK_API void ts_capture_free(ts_capture_memory *memory, uint64_t address);
// An allocation has got larger at its end; what it held is still there.
TS__WEAK_API void ts_capture_grow(ts_capture_memory *memory, uint64_t address,
                                  uint64_t size);
// How large the allocation is that begins there; 0: it is not known.
TS__WEAK_API uint64_t ts_capture_size(const ts_capture_memory *memory,
                                      uint64_t address);
TS__WEAK_API void ts_capture_close(ts_capture_memory *memory);

// Whether this operation is to be kept. Of others the backend says what they
// may write: ts_capture_touch, size 0 for all of an allocation.
TS__WEAK_API bool ts_capture_requested(ts_capture_op *op);
TS__WEAK_API void ts_capture_touch(ts_capture_memory *memory, uint64_t address,
                                   uint64_t size);

// A parameter, in any order, and an attribute (docs/sbt-format.md tells what
// each id holds). Before ts_capture_begin.
TS__WEAK_API void ts_capture_param_add(ts_capture_op *op, uint32_t offset,
                                       uint32_t size,
                                       ts_capture_param_type type);
TS__WEAK_API void ts_capture_attribute_add(ts_capture_op *op, uint32_t id,
                                           const void *bytes, size_t size);
// A node of a launch of a graph (TS_EVENT_GRAPH_LAUNCH), behind those that it
// waits for, `count` positions; attributes added next are its own. Arguments
// of nodes are the operation's, from multiples of TS_CAPTURE_NODE_ALIGNED on.
TS__WEAK_API void ts_capture_node_add(ts_capture_op *op,
                                      const ts_capture_operation *node,
                                      const uint32_t *after, uint32_t count);

// The operation reaches the memory around an address; of `hidden`.
TS__WEAK_API void ts_capture_reach(const ts_capture_memory *memory,
                                   ts_capture_op *op, uint64_t address,
                                   ts_capture_found found, uint32_t from);

// Before and after an operation that is kept, with the device idle; each begin
// wants its end, or a drop if the device did not take it. Between them
// `decline` may say why it cannot be run again after all.
TS__WEAK_API void ts_capture_begin(ts_capture_memory *memory,
                                   ts_capture_op *op);
TS__WEAK_API void ts_capture_decline(ts_capture_op *op, ts_reason reason);
TS__WEAK_API void ts_capture_end(ts_capture_memory *memory, ts_capture_op *op);
TS__WEAK_API void ts_capture_drop(ts_capture_op *op);

// Keeps code. path, build_id: for people; options: what it was built with;
// address: where it is loaded. Returns its number, 0: it cannot be kept.
typedef struct ts_capture_code {
    const char *vendor, *path;
    const void *bytes, *build_id;
    uint64_t size, build_id_size, address;
    uint32_t form; // ts_capture_form
    const char *options;
} ts_capture_code;
TS__WEAK_API uint32_t ts_capture_image_add(const ts_capture_code *code);

/* ==== 3. Implementation ================================================== */

#ifndef __cplusplus // a file of C of the program or library has it
#ifdef TRACESMITH_DISABLE
#define TS__CAP_SESSION() 0
#else
#define TS__CAP_SESSION() TS__LOAD(&ts__here.gate)
#endif

#ifndef TS__STATIC
__attribute__((weak))
ts__cap_state ts__cap_now = { .lock = PTHREAD_MUTEX_INITIALIZER };
#endif

/* ---- 3.1 Wishes --------------------------------------------------------- */

#include "capture/options.h"

/* ---- 3.2 Live memory ---------------------------------------------------- */

enum { TS__CAP_HASHED = 1, TS__CAP_KEPT = 2 }; // KEPT: the trace has the bytes

static inline uint64_t ts__cap_chunks(uint64_t size)
{
    return size / TS_CAPTURE_CHUNK + (size % TS_CAPTURE_CHUNK != 0);
}

static inline void ts__cap_forget(ts__cap_range *range)
{
    free(range->hashes);
    free(range->state);
}

static inline bool ts__cap_tables(ts__cap_range *range)
{
    const uint64_t chunks = ts__cap_chunks(range->size);
    if (range->hashes) return true;
    if (chunks > SIZE_MAX / 16) return false;
    range->hashes = calloc((size_t)chunks, 16);
    range->state = calloc((size_t)chunks, 1);
    if (range->hashes && range->state) return true;
    ts__cap_forget(range);
    range->hashes = NULL;
    range->state = NULL;
    return false;
}

TS__WEAK_API void ts_capture_close(ts_capture_memory *memory)
{
    for (size_t i = 0; i < memory->count; i++)
        ts__cap_forget(&memory->ranges[i]);
    free(memory->ranges);
    free(memory->scratch);
    free(memory->told);
    memory->ranges = NULL;
    memory->scratch = NULL;
    memory->told = NULL;
    memory->count = memory->capacity = 0;
    memory->low = memory->high = 0;
    memory->capture = 0;
}

// Where a backend's memory is hashed, and why, in the trace's metadata.
static inline void ts__cap_hash_report(const ts_capture_memory *memory,
                                       const char *where)
{
    char key[64];
    snprintf(key, sizeof key, "capture.hash.%.40s", memory->vendor->name);
    ts_metadata_text(0, key, where);
}

// Until the backend says otherwise the host hashes.
static inline void ts__cap_hash_open(ts_capture_memory *memory)
{
    memory->told_wrong = false;
    if (!memory->vendor->hash) return;
    ts__cap_hash_report(memory, "on the host");
    if (ts__cap_now.desc.hash != TS_CAPTURE_HASH_HOST)
        memory->told = malloc((size_t)TS__CAP_HASHES_MAX * 16);
}

TS__WEAK_API bool ts_capture_fresh(ts_capture_memory *memory)
{
    const uint32_t on = TS__LOAD(&ts__cap_now.on);
    const uint32_t session = TS__CAP_SESSION();
    char key[64];
    if (!on || (memory->capture == on && memory->session == session))
        return false;
    snprintf(key, sizeof key, "capture.by.%.40s", memory->vendor->name);
    ts_metadata_text(0, key, "on");
    ts_capture_close(memory);
    memory->scratch = malloc(TS_CAPTURE_CHUNK + TS_CAPTURE_HIDDEN);
    ts__cap_hash_open(memory);
    memory->capture = on;
    memory->session = session;
    memory->freed_at = 0;
    memset(memory->freed, 0, sizeof memory->freed);
    return true;
}

// The position behind the last range that begins at or before an address, of
// `size` bytes each, whose first eight are where it begins.
static inline size_t ts_capture_range_after(const void *ranges, size_t count,
                                            size_t size, uint64_t address)
{
    size_t low = 0;
    while (low < count) {
        const size_t middle = low + (count - low) / 2;
        uint64_t begin;
        memcpy(&begin, (const char *)ranges + middle * size, sizeof begin);
        if (begin <= address)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

static inline size_t ts__cap_after(const ts_capture_memory *memory,
                                   uint64_t address)
{
    return ts_capture_range_after(memory->ranges, memory->count,
                                  sizeof *memory->ranges, address);
}

static inline ts__cap_range *ts__cap_find(const ts_capture_memory *memory,
                                          uint64_t address)
{
    if (address - memory->low >= memory->high - memory->low) return NULL;
    const size_t after = ts__cap_after(memory, address);
    if (!after) return NULL;
    ts__cap_range *const range = &memory->ranges[after - 1];
    return address - range->address < range->size ? range : NULL;
}

TS__WEAK_API void ts_capture_global(ts_capture_memory *memory, uint64_t address,
                                    uint64_t size, uint32_t device,
                                    uint32_t image, uint64_t offset)
{
    if (!memory->capture || !size) return;
    if (memory->count == memory->capacity) {
        const size_t capacity = memory->capacity ? memory->capacity * 2 : 64;
        ts__cap_range *const more =
            realloc(memory->ranges, capacity * sizeof *more);
        if (!more) return; // it stays unknown: replays cannot reach it
        memory->ranges = more;
        memory->capacity = capacity;
    }
    const size_t at = ts__cap_after(memory, address);
    memmove(&memory->ranges[at + 1], &memory->ranges[at],
            (memory->count++ - at) * sizeof *memory->ranges);
    ts__cap_range *const range = &memory->ranges[at];
    memset(range, 0, sizeof *range);
    range->address = address;
    range->size = size;
    range->device = device;
    range->image = image;
    range->offset = offset;
    memory->low = memory->ranges[0].address;
    const ts__cap_range *const last = &memory->ranges[memory->count - 1];
    memory->high = last->address + last->size;
}

TS__WEAK_API void ts_capture_alloc(ts_capture_memory *memory, uint64_t address,
                                   uint64_t size, uint32_t device)
{
    ts_capture_global(memory, address, size, device, 0, 0);
}

TS__WEAK_API void ts_capture_free(ts_capture_memory *memory, uint64_t address)
{
    const size_t after = ts__cap_after(memory, address);
    if (!after || memory->ranges[after - 1].address != address) return;
    ts__cap_range *const range = &memory->ranges[after - 1];
    uint64_t *const freed = memory->freed[memory->freed_at++ % 64];
    freed[0] = range->address;
    freed[1] = range->size;
    ts__cap_forget(range);
    memmove(range, range + 1, (memory->count - after) * sizeof *range);
    memory->count--;
}

TS__WEAK_API void ts_capture_grow(ts_capture_memory *memory, uint64_t address,
                                  uint64_t size)
{
    ts__cap_range *const range = ts__cap_find(memory, address);
    if (!range || range->address != address || size <= range->size) return;
    const uint64_t had = range->hashes ? range->size / TS_CAPTURE_CHUNK : 0;
    ts__cap_range old = *range;
    range->size = size;
    range->version++;
    range->listed = false;
    range->hashes = NULL;
    range->state = NULL;
    // Chunks that were whole are as they were; without memory all are new.
    if (had && ts__cap_tables(range)) {
        memcpy(range->hashes, old.hashes, (size_t)had * 16);
        memcpy(range->state, old.state, (size_t)had);
    }
    ts__cap_forget(&old);
    const ts__cap_range *const last = &memory->ranges[memory->count - 1];
    memory->high = last->address + last->size;
}

TS__WEAK_API uint64_t ts_capture_size(const ts_capture_memory *memory,
                                      uint64_t address)
{
    const ts__cap_range *const range = ts__cap_find(memory, address);
    return range && range->address == address ? range->size : 0;
}

static inline bool ts__cap_is_freed(const ts_capture_memory *memory,
                                    uint64_t address)
{
    for (size_t i = 0; i < 64; i++)
        if (address - memory->freed[i][0] < memory->freed[i][1]) return true;
    return false;
}

TS__WEAK_API void ts_capture_touch(ts_capture_memory *memory, uint64_t address,
                                   uint64_t size)
{
    ts__cap_range *const range = ts__cap_find(memory, address);
    if (!range) return;
    uint64_t from = address - range->address;
    if (!size) from = 0;
    if (!size || size > range->size - from) size = range->size - from;
    range->version++;
    range->listed = false;
    if (!range->state || !size) return;
    const uint64_t last = (from + size - 1) / TS_CAPTURE_CHUNK;
    for (uint64_t i = from / TS_CAPTURE_CHUNK; i <= last; i++)
        range->state[i] = 0;
}

/* ---- 3.3 Contents ------------------------------------------------------- */

// Hashes bytes and keeps them, if that is wanted and there is room for it.
// bytes NULL: their hash is known, and they are not to be kept if the trace
// has them not. Returns TS__CAP_...
static inline uint8_t ts__cap_keep(const void *bytes, size_t size,
                                   uint64_t hash[2])
{
    ts__cap_state *const s = &ts__cap_now;
    bool keep = ts_blob_find(bytes, size, hash) != TS_OK;
    pthread_mutex_lock(&s->lock);
    const uint64_t budget = s->desc.budget_bytes;
    const bool known = !keep, early = !s->figures.over_budget;
    s->figures.looked_bytes += size;
    if (!bytes) s->figures.device_bytes += size;
    if (keep && s->desc.hashes_only) keep = false;
    if (keep && size > budget - s->figures.kept_bytes) {
        s->figures.over_budget = true;
        keep = false;
    }
    if (!bytes) keep = false; // the budget is another one than it was
    if (keep) s->figures.kept_bytes += size;
    if (keep && !s->on) s->sums.kept_bytes += size; // see ts__cap_count
    const bool reached = early && s->figures.over_budget;
    pthread_mutex_unlock(&s->lock);
    if (reached)
        ts_metadata_int(0, "capture.budget_reached_bytes", (int64_t)budget);
    const bool kept =
        known || (keep && ts_blob_put(bytes, size, hash) == TS_OK);
    return kept ? TS__CAP_HASHED | TS__CAP_KEPT : TS__CAP_HASHED;
}

// Whether a chunk is to be looked at. *kept: the trace holds it if not.
static inline bool ts__cap_stale(const ts_capture_memory *memory,
                                 const ts__cap_range *range, uint64_t chunk,
                                 bool *kept)
{
    const uint8_t state = range->state[chunk];
    if (!state || memory->vendor->host_visible) return true;
    if (state & TS__CAP_KEPT) return false;
    *kept = false;
    return !ts__cap_now.desc.hashes_only;
}

#include "capture/device_hash.h"

// Chunks that nobody has written are zeros, and all of them are one.
typedef struct ts__cap_blank {
    uint64_t end; // chunks up to here are alike
    bool blank, known;
    uint64_t hash[2]; // where it is known
    uint8_t state;
} ts__cap_blank;

static inline bool ts__cap_is_blank(const ts_capture_memory *memory,
                                    const ts__cap_range *range, uint64_t chunk,
                                    ts__cap_blank *b)
{
    const ts_capture_vendor *const vendor = memory->vendor;
    const uint64_t at = chunk * TS_CAPTURE_CHUNK;
    if (!vendor->blank || ts__cap_size(range, chunk) < TS_CAPTURE_CHUNK)
        return false;
    if (chunk >= b->end)
        b->end = chunk +
                 ts__cap_chunks(vendor->blank(memory->user, range->address + at,
                                              range->size - at, &b->blank));
    if (b->blank && !b->known) {
        memset(memory->scratch, 0, TS_CAPTURE_CHUNK);
        b->state = ts__cap_keep(memory->scratch, TS_CAPTURE_CHUNK, b->hash);
        b->known = true;
    }
    return b->blank;
}

// What a chunk holds now. *kept: the trace has the bytes.
static inline void ts__cap_note(ts__cap_range *range, uint64_t chunk,
                                const uint64_t hash[2], uint8_t state,
                                bool *kept)
{
    uint64_t *const known = &range->hashes[2 * chunk];
    if (!range->state[chunk] || memcmp(hash, known, 16)) range->listed = false;
    memcpy(known, hash, 16);
    range->state[chunk] = state;
    *kept &= (state & TS__CAP_KEPT) != 0;
}

// Looks at what may have changed. False: it cannot be seen. *kept: the trace
// holds all of it.
static inline bool ts__cap_look(ts_capture_memory *memory, ts__cap_range *range,
                                bool *kept)
{
    const uint64_t chunks = ts__cap_chunks(range->size);
    ts__cap_query told = { 0, 0, false };
    ts__cap_blank blank;
    memset(&blank, 0, sizeof blank);
    if (!memory->scratch || !ts__cap_tables(range)) return false;
    for (uint64_t i = 0; i < chunks; i++) {
        const uint64_t at = i * TS_CAPTURE_CHUNK, size = ts__cap_size(range, i);
        const void *bytes = NULL;
        uint64_t hash[2];
        bool held = true;
        if (!ts__cap_stale(memory, range, i, &held)) {
            *kept &= held;
            continue;
        }
        if (ts__cap_is_blank(memory, range, i, &blank)) {
            ts__cap_note(range, i, blank.hash, blank.state, kept);
            continue;
        }
        const uint64_t *const by = ts__cap_hash_of(memory, range, i, &told);
        if (by) memcpy(hash, by, sizeof hash);
        if (!by || ts__cap_bytes_requested((size_t)size, hash)) {
            bytes = memory->vendor->view(memory->user, range->address + at,
                                         size, memory->scratch);
            if (!bytes) return false;
        }
        const uint8_t state = ts__cap_keep(bytes, (size_t)size, hash);
        if (by && memcmp(hash, by, 16)) ts__cap_hash_mismatch(memory);
        ts__cap_note(range, i, hash, state, kept);
    }
    return true;
}

// The list of a range as it is now, {0, 0} if it cannot be seen.
static inline void ts__cap_list(ts_capture_memory *memory, ts__cap_range *range,
                                uint64_t list[2], bool *kept)
{
    list[0] = list[1] = 0;
    if (!ts__cap_look(memory, range, kept)) {
        *kept = false;
        return;
    }
    if (!range->listed)
        range->listed =
            ts_blob_put(range->hashes, (size_t)ts__cap_chunks(range->size) * 16,
                        range->list) == TS_OK;
    if (range->listed) memcpy(list, range->list, 16);
    if (!range->listed) *kept = false;
}

/* ---- 3.4 Operations ----------------------------------------------------- */

static inline ts_capture_region *ts__cap_region(ts_capture_op *op,
                                                const ts__cap_range *range,
                                                ts_capture_found found,
                                                uint32_t from)
{
    for (uint32_t i = 0; i < op->head.region_count; i++) {
        ts_capture_region *const known = &op->regions[i];
        if (known->address == range->address && known->device == range->device)
            return known;
    }
    if (op->head.region_count == op->capacity) {
        const size_t capacity = op->capacity ? op->capacity * 2 : 8;
        ts_capture_region *const more =
            realloc(op->regions, capacity * sizeof *more);
        op->failed |= !more;
        if (!more) return NULL;
        op->regions = more;
        op->capacity = capacity;
    }
    ts_capture_region *const r = &op->regions[op->head.region_count++];
    memset(r, 0, sizeof *r);
    r->address = range->address;
    r->size = range->size;
    r->device = range->device;
    r->image = range->image;
    r->offset = range->offset;
    r->version = range->version;
    r->found = found;
    r->from = from;
    r->access = TS_ACCESS_READ | TS_ACCESS_WRITE | TS_ACCESS_COARSE;
    return r;
}

static inline void ts__cap_scan_at(const ts_capture_memory *memory,
                                   ts_capture_op *op, const uint8_t *bytes,
                                   size_t at, ts_capture_found found,
                                   uint32_t from)
{
    uint64_t value;
    memcpy(&value, bytes + at, sizeof value);
    if (value - memory->low >= memory->high - memory->low) return;
    ts__cap_range *const range = ts__cap_find(memory, value);
    // Of many pointers into the same memory one is enough.
    if (!range || range->seen == op->head.order) return;
    range->seen = op->head.order;
    ts__cap_region(op, range, found,
                   found == TS_CAPTURE_BY_ARGUMENT ? (uint32_t)at : from);
}

// The bytes at the top that all addresses have in common: three at most.
typedef struct ts__cap_top {
    uint64_t bytes[3], mask[3]; // eight times each; mask 0: not in common
} ts__cap_top;

static inline ts__cap_top ts__cap_top_of(const ts_capture_memory *memory)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    const uint64_t differs = memory->low ^ (memory->high - 1);
    ts__cap_top top;
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t shift = 56 - 8 * i;
        top.bytes[i] = (memory->low >> shift & 255) * ones;
        top.mask[i] = differs >> shift ? 0 : ~UINT64_C(0);
    }
    return top;
}

// At which of eight offsets an address may begin: bits 8 * offset + 7.
static inline uint64_t ts__cap_candidates(const ts__cap_top *top,
                                          const uint8_t *bytes)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t other = 0;
    for (uint32_t i = 0; i < 3; i++) {
        uint64_t value;
        memcpy(&value, bytes + 7 - i, sizeof value);
        other |= (value ^ top->bytes[i]) & top->mask[i];
    }
    return (other - ones) & ~other & (ones << 7); // bytes of 0, or more
}

TS__WEAK_API void ts_capture_reach(const ts_capture_memory *memory,
                                   ts_capture_op *op, uint64_t address,
                                   ts_capture_found found, uint32_t from)
{
    const ts__cap_range *const range = ts__cap_find(memory, address);
    if (range) ts__cap_region(op, range, found, from);
}

static inline void ts__cap_scan_hidden(const ts_capture_memory *memory,
                                       ts_capture_op *op, const uint8_t *bytes,
                                       size_t size, ts_capture_found found,
                                       uint32_t from)
{
    const ts_capture_vendor *const vendor = memory->vendor;
    for (size_t i = 0; vendor->hidden && i + TS_CAPTURE_HIDDEN <= size;
         i += TS_CAPTURE_ALIGNED)
        vendor->hidden(memory->user, op, bytes + i, found,
                       found == TS_CAPTURE_BY_ARGUMENT ? (uint32_t)i : from);
}

// Every value that points into live memory, at whatever byte it begins: a
// packed struct aligns nothing. What looks like a pointer but is none costs
// space and nothing else.
static inline void ts__cap_scan(const ts_capture_memory *memory,
                                ts_capture_op *op, const uint8_t *bytes,
                                size_t size, ts_capture_found found,
                                uint32_t from)
{
    const ts__cap_top top = ts__cap_top_of(memory);
    size_t i = 0;
    for (; i + 15 <= size; i += 8) {
        uint64_t may = ts__cap_candidates(&top, bytes + i);
        for (; may; may &= may - 1)
            ts__cap_scan_at(memory, op, bytes,
                            i + (size_t)__builtin_ctzll(may) / 8, found, from);
    }
    for (; i + 8 <= size; i++)
        ts__cap_scan_at(memory, op, bytes, i, found, from);
    ts__cap_scan_hidden(memory, op, bytes, size, found, from);
}

static inline void ts__cap_follow(ts_capture_memory *memory, ts_capture_op *op)
{
    const ts_capture_desc *const d = &ts__cap_now.desc;
    // What begins in one chunk may end in the next: a pointer, or what hides.
    const uint64_t most =
        TS_CAPTURE_CHUNK +
        (memory->vendor->hidden ? TS_CAPTURE_HIDDEN - TS_CAPTURE_ALIGNED : 7);
    uint32_t from = 0;
    for (uint32_t depth = 0; depth < d->scan_depth; depth++) {
        const uint32_t to = op->head.region_count;
        for (; from < to; from++) {
            const ts_capture_region r = op->regions[from];
            if (r.size > d->scan_bytes || r.size < 8 || !memory->scratch)
                continue;
            for (uint64_t at = 0; at < r.size; at += TS_CAPTURE_CHUNK) {
                const uint64_t left = r.size - at;
                const uint64_t size = left < most ? left : most;
                const uint8_t *const bytes = memory->vendor->view(
                    memory->user, r.address + at, size, memory->scratch);
                if (bytes)
                    ts__cap_scan(memory, op, bytes, (size_t)size,
                                 TS_CAPTURE_BY_MEMORY, from);
            }
        }
    }
}

// What the parameters say of themselves.
static inline void ts__cap_parameters(ts_capture_memory *memory,
                                      ts_capture_op *op)
{
    for (uint32_t i = 0; i < op->head.param_count; i++) {
        const ts_capture_param p = op->params[i];
        uint64_t value;
        if (p.type != TS_PARAM_POINTER && p.type != TS_PARAM_OBJECT) continue;
        memcpy(&value, op->copy + p.offset, sizeof value);
        const ts__cap_range *const range = ts__cap_find(memory, value);
        if (range)
            ts__cap_region(op, range, TS_CAPTURE_BY_ARGUMENT, p.offset);
        else if (ts__cap_is_freed(memory, value))
            ts_capture_decline(op, TS_REASON_POINTER_DEAD);
    }
}

// The attribute at *at, which moves behind it; false: no more.
static inline bool ts__cap_attribute(const ts_capture_op *op, size_t *at,
                                     ts_capture_attribute *head,
                                     const uint8_t **bytes)
{
    if (*at >= op->attributes_size) return false;
    memcpy(head, op->attributes + *at, sizeof *head);
    *bytes = op->attributes + *at + sizeof *head;
    *at += sizeof *head + ((head->size + 7u) & ~(size_t)7);
    return true;
}

// Whether its code, or that of a node of it, is in an image.
static inline bool ts__cap_uses(const ts_capture_op *op, uint32_t image)
{
    ts_capture_attribute head;
    ts_capture_operation node;
    const uint8_t *bytes;
    if (op->head.kind != TS_EVENT_GRAPH_LAUNCH) return op->head.image == image;
    for (size_t at = 0; ts__cap_attribute(op, &at, &head, &bytes);) {
        if (head.id != TS_ATTRIBUTE_NODE) continue;
        memcpy(&node, bytes, sizeof node);
        if (node.image == image) return true;
    }
    return false;
}

static inline void ts__cap_arguments(ts_capture_memory *memory,
                                     ts_capture_op *op)
{
    const bool search = !memory->vendor->by_parameters;
    if (search)
        ts__cap_scan(memory, op, op->copy, op->head.args_size,
                     TS_CAPTURE_BY_ARGUMENT, 0);
    ts__cap_parameters(memory, op);
    for (size_t i = 0; i < memory->count; i++)
        if (memory->ranges[i].image &&
            ts__cap_uses(op, memory->ranges[i].image))
            ts__cap_region(op, &memory->ranges[i], TS_CAPTURE_BY_GLOBAL, 0);
    if (search) ts__cap_follow(memory, op);
}

// The box of a copy, or of the node whose attributes begin at `at`; false: it
// has none.
static inline bool ts__cap_geometry(const ts_capture_op *op, size_t at,
                                    ts_capture_geometry *g)
{
    ts_capture_attribute head;
    const uint8_t *bytes;
    while (ts__cap_attribute(op, &at, &head, &bytes) &&
           head.id != TS_ATTRIBUTE_NODE) {
        if (head.id != TS_ATTRIBUTE_GEOMETRY || head.size != sizeof *g)
            continue;
        memcpy(g, bytes, sizeof *g);
        return true;
    }
    return false;
}

/*
    What an end of a copy is of the host's memory: `size` bytes, or a box, from
    an address on. What lies between rows that are written stays as it is, and
    is read for that.
*/
static inline void ts__cap_host_end(ts_capture_op *op, size_t attributes,
                                    ts__cap_range *host, uint32_t *access)
{
    ts_capture_geometry g;
    uint64_t first = 0;
    const bool writes = *access == TS_ACCESS_WRITE;
    if (!ts__cap_geometry(op, attributes, &g)) return;
    if (!(writes ? ts_capture_span(g.destination_origin, g.region,
                                   g.destination_row, g.destination_slice,
                                   &first, &host->size)
                 : ts_capture_span(g.source_origin, g.region, g.source_row,
                                   g.source_slice, &first, &host->size)))
        ts_capture_decline(op, TS_REASON_BAD_CAPTURE);
    host->address += first;
    if (writes) *access |= TS_ACCESS_READ;
}

// One end of a copy or set: an allocation, or the host's own memory.
static inline void ts__cap_end(ts_capture_memory *memory, ts_capture_op *op,
                               uint64_t address, uint32_t access)
{
    const ts__cap_range *range = ts__cap_find(memory, address);
    ts__cap_range host;
    memset(&host, 0, sizeof host);
    host.address = address;
    host.size = op->head.size;
    if (!range && !address) return;
    if (!range) ts__cap_host_end(op, 0, &host, &access);
    ts_capture_region *const r =
        ts__cap_region(op, range ? range : &host, TS_CAPTURE_BY_COPY, 0);
    if (!r) return;
    r->access = r->before[0] == 1 ? r->access | access : access;
    r->before[0] = 1; // until the contents are looked at
}

// Memory of the host that nodes of a graph copy. What overlaps is one region:
// a node may read what one before it wrote.
static inline void ts__cap_host_region(ts_capture_op *op, ts__cap_range host,
                                       uint32_t access)
{
    for (uint32_t i = 0; i < op->head.region_count;) {
        const ts_capture_region r = op->regions[i];
        const uint64_t end = host.address + host.size;
        if (r.device || r.address >= end ||
            host.address >= r.address + r.size) {
            i++;
            continue;
        }
        access |= r.access;
        if (r.address < host.address) host.address = r.address;
        host.size = (r.address + r.size > end ? r.address + r.size : end) -
                    host.address;
        op->regions[i] = op->regions[--op->head.region_count];
        i = 0;
    }
    ts_capture_region *const r =
        ts__cap_region(op, &host, TS_CAPTURE_BY_COPY, 0);
    if (r) r->access = access;
}

static inline void ts__cap_node_end(ts_capture_memory *memory,
                                    ts_capture_op *op, size_t attributes,
                                    uint64_t address, uint64_t size,
                                    uint32_t access)
{
    const ts__cap_range *const range = ts__cap_find(memory, address);
    ts__cap_range host;
    memset(&host, 0, sizeof host);
    host.address = address;
    host.size = size;
    if (!address || !size) return;
    if (range) {
        ts__cap_region(op, range, TS_CAPTURE_BY_COPY, 0);
        return;
    }
    ts__cap_host_end(op, attributes, &host, &access);
    if (host.address + host.size > host.address)
        ts__cap_host_region(op, host, access);
}

// What copies and sets among the nodes of a graph name.
static inline void ts__cap_nodes(ts_capture_memory *memory, ts_capture_op *op)
{
    ts_capture_attribute head;
    ts_capture_operation n;
    const uint8_t *bytes;
    for (size_t at = 0; ts__cap_attribute(op, &at, &head, &bytes);) {
        if (head.id != TS_ATTRIBUTE_NODE) continue;
        memcpy(&n, bytes, sizeof n);
        if (n.kind == TS_EVENT_MEMCPY)
            ts__cap_node_end(memory, op, at, n.source, n.size, TS_ACCESS_READ);
        if (n.kind == TS_EVENT_MEMCPY || n.kind == TS_EVENT_MEMSET)
            ts__cap_node_end(memory, op, at, n.destination, n.size,
                             TS_ACCESS_WRITE);
    }
}

// The host's memory has no versions: it is looked at every time.
static inline void ts__cap_host_contents(const ts_capture_region *r,
                                         uint64_t list[2], bool *kept)
{
    const uint64_t chunks = ts__cap_chunks(r->size);
    uint64_t *const hashes = calloc((size_t)chunks + 1, 16);
    list[0] = list[1] = 0;
    for (uint64_t i = 0; hashes && i < chunks; i++) {
        const uint64_t at = i * TS_CAPTURE_CHUNK, left = r->size - at;
        const uint64_t size = left < TS_CAPTURE_CHUNK ? left : TS_CAPTURE_CHUNK;
        *kept &= (ts__cap_keep((const void *)(uintptr_t)(r->address + at),
                               (size_t)size, &hashes[2 * i]) &
                  TS__CAP_KEPT) != 0;
    }
    if (!hashes || ts_blob_put(hashes, (size_t)chunks * 16, list) != TS_OK)
        *kept = false;
    free(hashes);
}

static inline void ts__cap_contents(ts_capture_memory *memory,
                                    ts_capture_op *op, bool before)
{
    for (uint32_t i = 0; i < op->head.region_count; i++) {
        ts_capture_region *const r = &op->regions[i];
        uint64_t *const list = before ? r->before : r->after;
        const bool copied = r->found == TS_CAPTURE_BY_COPY && !r->device;
        bool kept = true;
        list[0] = list[1] = 0;
        // What a copy writes to the host, or reads from it, once is enough.
        if (copied &&
            !(r->access & (before ? TS_ACCESS_READ : TS_ACCESS_WRITE)))
            continue;
        ts__cap_range *const range = ts__cap_find(memory, r->address);
        if (copied)
            ts__cap_host_contents(r, list, &kept);
        else if (range && range->address == r->address &&
                 range->size == r->size)
            ts__cap_list(memory, range, list, &kept);
        if (before) op->all_kept &= kept;
    }
}

TS__WEAK_API void ts_capture_decline(ts_capture_op *op, ts_reason reason)
{
    op->head.state = TS_CAPTURE_DECLINED;
    op->head.reason = reason;
}

TS__WEAK_API void ts_capture_param_add(ts_capture_op *op, uint32_t offset,
                                       uint32_t size,
                                       ts_capture_param_type type)
{
    if (op->head.param_count == op->param_capacity) {
        const size_t capacity = op->param_capacity ? 2 * op->param_capacity : 8;
        ts_capture_param *const more =
            realloc(op->params, capacity * sizeof *more);
        op->failed |= !more;
        if (!more) return;
        op->params = more;
        op->param_capacity = capacity;
    }
    const ts_capture_param param = { offset, size, (uint32_t)type, 0 };
    op->params[op->head.param_count++] = param;
}

TS__WEAK_API void ts_capture_attribute_add(ts_capture_op *op, uint32_t id,
                                           const void *bytes, size_t size)
{
    const ts_capture_attribute head = { id, (uint32_t)size };
    const size_t all = sizeof head + ((size + 7) & ~(size_t)7);
    uint8_t *const more =
        size < 1 << 20 ? realloc(op->attributes, op->attributes_size + all)
                       : NULL;
    op->failed |= !more;
    if (!more) return;
    memset(more + op->attributes_size, 0, all);
    memcpy(more + op->attributes_size, &head, sizeof head);
    if (size) memcpy(more + op->attributes_size + sizeof head, bytes, size);
    op->attributes = more;
    op->attributes_size += all;
}

TS__WEAK_API void ts_capture_node_add(ts_capture_op *op,
                                      const ts_capture_operation *node,
                                      const uint32_t *after, uint32_t count)
{
    const size_t size = sizeof *node + count * sizeof *after;
    uint8_t *const bytes = malloc(size);
    op->failed |= !bytes;
    if (!bytes) return;
    memcpy(bytes, node, sizeof *node);
    if (count) memcpy(bytes + sizeof *node, after, count * sizeof *after);
    ts_capture_attribute_add(op, TS_ATTRIBUTE_NODE, bytes, size);
    free(bytes);
}

TS__WEAK_API void ts_capture_begin(ts_capture_memory *memory, ts_capture_op *op)
{
    ts_capture_operation *const h = &op->head;
    h->type = TS_CAPTURE_OPERATION;
    h->vendor = ts_name_define(memory->vendor->name);
    op->all_kept = true;
    op->copy = malloc((size_t)h->args_size + 8);
    op->failed |= !op->copy;
    op->unseen = op->failed || h->state == TS_CAPTURE_DECLINED;
    if (op->failed) ts_capture_decline(op, TS_REASON_NO_MEMORY);
    if (!op->copy) return;
    if (h->args_size) memcpy(op->copy, op->args, h->args_size);
    if (h->state == TS_CAPTURE_DECLINED) return;
    h->state = TS_CAPTURE_WHOLE;
    if (h->kind == TS_EVENT_GRAPH_LAUNCH) ts__cap_nodes(memory, op);
    if (h->kind == TS_EVENT_KERNEL || h->kind == TS_EVENT_GRAPH_LAUNCH)
        ts__cap_arguments(memory, op);
    if (h->kind == TS_EVENT_MEMCPY)
        ts__cap_end(memory, op, h->source, TS_ACCESS_READ);
    if (h->kind == TS_EVENT_MEMCPY || h->kind == TS_EVENT_MEMSET)
        ts__cap_end(memory, op, h->destination, TS_ACCESS_WRITE);
    if (h->state == TS_CAPTURE_WHOLE) ts__cap_contents(memory, op, true);
    if (h->state == TS_CAPTURE_WHOLE && !op->all_kept) {
        h->state = TS_CAPTURE_HASHES;
        h->reason = TS_REASON_SNAPSHOT_BUDGET;
    }
    if (op->failed) ts_capture_decline(op, TS_REASON_NO_MEMORY);
    op->unseen = op->failed;
}

static inline void ts__cap_write(const ts_capture_op *op)
{
    const ts_capture_operation *const h = &op->head;
    const size_t params = h->param_count * sizeof *op->params;
    const size_t args = (h->args_size + 7u) & ~(size_t)7;
    const size_t regions = h->region_count * sizeof *op->regions;
    const size_t attributes = op->attributes_size;
    const size_t size = sizeof *h + params + args + regions + attributes;
    uint8_t *const record = calloc(1, size);
    if (!record) return;
    uint8_t *p = record;
    memcpy(p, h, sizeof *h);
    p += sizeof *h;
    if (params) memcpy(p, op->params, params);
    p += params;
    if (args) memcpy(p, op->copy, h->args_size);
    p += args;
    if (regions) memcpy(p, op->regions, regions);
    p += regions;
    if (attributes) memcpy(p, op->attributes, attributes);
    ts_capture_put(record, size);
    free(record);
}

static inline void ts__cap_count(const ts_capture_operation *h)
{
    ts__cap_state *const s = &ts__cap_now;
    ts_capture_figures one;
    memset(&one, 0, sizeof one);
    one.whole = h->state == TS_CAPTURE_WHOLE;
    one.hashes = h->state == TS_CAPTURE_HASHES;
    one.declined = h->state == TS_CAPTURE_DECLINED;
    pthread_mutex_lock(&s->lock);
    ts__cap_add(&s->figures, &one);
    s->figures.reasons[h->reason]++;
    // Its capture may have ended meanwhile, and been added up.
    const bool late = !s->on && s->ended;
    if (late) ts__cap_add(&s->sums, &one);
    const ts_capture_figures sums = s->sums;
    const uint32_t ended = s->ended;
    pthread_mutex_unlock(&s->lock);
    if (late && TS__CAP_SESSION()) ts__cap_report(&sums, ended);
    ts__cap_change(ts__cap_do_operation);
}

static inline void ts__cap_put(ts_capture_op *op)
{
    free(op->copy);
    free(op->params);
    free(op->regions);
    free(op->attributes);
    op->copy = op->attributes = NULL;
    op->params = NULL;
    op->regions = NULL;
}

TS__WEAK_API void ts_capture_drop(ts_capture_op *op)
{
    if (op->copy) ts__cap_change(ts__cap_do_drop); // it was begun
    ts__cap_put(op);
}

TS__WEAK_API void ts_capture_end(ts_capture_memory *memory, ts_capture_op *op)
{
    const ts_capture_operation *const h = &op->head;
    // Whatever becomes of the record: this is what the operation may write.
    // What was declined before anybody looked may write anywhere.
    for (size_t i = 0; op->unseen && i < memory->count; i++)
        ts_capture_touch(memory, memory->ranges[i].address, 0);
    for (uint32_t i = 0; i < h->region_count; i++) {
        const ts_capture_region *const r = &op->regions[i];
        if (!(r->access & TS_ACCESS_WRITE)) continue;
        const bool exact =
            r->found == TS_CAPTURE_BY_COPY && !op->attributes_size;
        ts_capture_touch(memory, exact ? h->destination : r->address,
                         exact ? h->size : 0);
    }
    if (op->copy) {
        if (h->state != TS_CAPTURE_DECLINED)
            ts__cap_contents(memory, op, false);
        if (h->state != TS_CAPTURE_DECLINED && memory->vendor->disturbed &&
            memory->vendor->disturbed(memory->user))
            ts_capture_decline(op, TS_REASON_DRAIN_TIMEOUT);
        ts__cap_count(h);
        ts__cap_write(op);
    }
    ts__cap_put(op);
}

TS__WEAK_API uint32_t ts_capture_image_add(const ts_capture_code *code)
{
    ts_capture_image image;
    memset(&image, 0, sizeof image);
    image.type = TS_CAPTURE_IMAGE;
    image.size = code->size;
    image.vendor = ts_name_define(code->vendor);
    image.form = code->form;
    image.options = code->options ? ts_name_define(code->options) : 0;
    image.module =
        ts_module_define(code->path, code->address, code->size, code->build_id,
                         (size_t)code->build_id_size);
    ts__cap_keep(code->bytes, (size_t)code->size, image.hash);
    pthread_mutex_lock(&ts__cap_now.lock);
    image.id = ++ts__cap_now.images;
    pthread_mutex_unlock(&ts__cap_now.lock);
    return ts_capture_put(&image, sizeof image) == TS_OK ? image.id : 0;
}

#endif // !__cplusplus

#endif // TS_CAPTURE_H
