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
    uint64_t *reported; // hashes by the device, NULL: it does not hash
    bool told_wrong;    // it did so wrongly
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

#ifndef __cplusplus // a file of C of the program or library has it
#include "capture/operations.h"
#include "capture/options.h"
#endif

#endif // TS_CAPTURE_H
