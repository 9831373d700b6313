/*
    ts_capture.h - captures operations, so that they can be run again

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: none; backends bring one.
    Checked with:   ts_vdev.h; Debian 12, x86-64, gcc 12 and clang 14,
                    November 2026.

    WHAT IT DOES
        Knows the live allocations of a device library, finds those that an
        operation can reach, and puts their contents into the trace before and
        after it, in chunks of which each is stored once: only what changed
        costs space. The contents have a budget in bytes; beyond it the trace
        gets hashes alone, and says so. docs/execution.md describes what can be
        done with a capture.

    WHAT IT DOES NOT DO
        It calls no device: a backend hands it operations, and a function that
        reads memory. It waits for nothing: the backend sees to it that nothing
        runs while memory is read.

    USE
        #include "backends/ts_capture.h"

        int main(void)
        {
            const ts_session_desc session = { .path = "app.sbt" };
            const ts_capture_desc some = { .kernels = "gemm*", .frames = 3 };
            ts_session_start(&session); // ts_session_stop returns its failure
            ts_capture_start(&some);    // backends capture from now on
            // ... the program
            ts_capture_stop();
            return ts_session_stop();
        }

    CONTENTS                            search for "==== 2." to jump
        1. Captures                     begun and ended by a program
        2. For backends                 memory and operations
        3. Implementation               private: capture/README.md
*/
#ifndef TS_CAPTURE_H
#define TS_CAPTURE_H

#include "ts_filter.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* ==== 1. Captures ======================================================== */

// Where memory of a device is hashed, if its backend can do that on the device.
// The device's hash is tested on known bytes first, and the host hashes again
// whatever is copied.
typedef enum ts_capture_hash {
    TS_CAPTURE_HASH_AUTO,   // on the device where that saves copies
    TS_CAPTURE_HASH_DEVICE, // on the device, whatever it costs
    TS_CAPTURE_HASH_HOST
} ts_capture_hash;

// All zeros captures every operation, with up to 1 GiB of contents.
typedef struct ts_capture_desc {
    // patterns of the names of kernels, as `names` of ts_filter_desc; then no
    // copies and memsets are captured (every operation)
    const char *kernels TS__UNSET;
    // only what is launched inside a zone of this name (anywhere)
    const char *zone TS__UNSET;
    // of each kernel name the launches number `first` (0) and following,
    // `count` of them (0: all)
    uint64_t first TS__UNSET, count TS__UNSET;
    uint32_t frames TS__UNSET;  // ends after so many frames (0: never)
    bool hashes_only TS__UNSET; // store no contents (false)
    // bytes of contents; beyond them hashes alone (1 GiB)
    uint64_t budget_bytes TS__UNSET;
    // how long an operation waits until the device is idle, in milliseconds;
    // after that it is recorded as declined (10,000)
    uint32_t drain_ms TS__UNSET;
    // how many pointers in memory are followed in a row (4) ...
    uint32_t scan_depth TS__UNSET;
    uint64_t scan_bytes TS__UNSET; // ... in allocations up to this size (1 MiB)
    uint64_t operations TS__UNSET; // ends after so many operations (0: never)
    // patterns of names: zones and marks that match begin frames, and
    // TS_FRAMEs that do not match begin none (every TS_FRAME)
    const char *frame TS__UNSET;
    ts_capture_hash hash TS__UNSET; // (TS_CAPTURE_HASH_AUTO)
} ts_capture_desc;

typedef struct ts_capture_figures {
    uint64_t whole, hashes, declined; // operations, by ts_capture_state
    uint64_t kept_bytes;              // contents that the trace got
    uint64_t looked_bytes;            // contents that were hashed
    uint64_t device_bytes; // of looked_bytes: hashed on a device, not copied
    uint64_t reasons[TS_REASON_LIMIT]; // operations, by ts_reason
    bool over_budget;
} ts_capture_figures;

/*
    Begins a capture; NULL: all defaults. A capture that is on ends first. The
    strings are copied. It ends by ts_capture_stop, with the session, or as
    desc says; without a session nothing is captured. In a child made by fork
    there is no capture until it calls this again. The host must not write
    memory of a device that it shares meanwhile.

    Threads: any.
    Errors:  TS_ERR_USAGE (a string is too long): nothing changes.
*/
TS__WEAK_API ts_result ts_capture_start(const ts_capture_desc *desc);

/*
    Ends the capture, disarms the trigger, and writes the figures of the session
    into the trace's metadata (capture.whole, capture.declined ...). Without a
    capture it does nothing.

    Threads: any.
*/
TS__WEAK_API void ts_capture_stop(void);

/*
    A frame ends and the next one begins: see ts_capture_desc.frames. TS_FRAME
    does the same while a session records.

    Threads: any.
*/
TS__WEAK_API void ts_capture_frame(void);

/*
    Prepares captures that a trigger begins: desc as for ts_capture_start. Each
    ts_capture_trigger begins one, with `frames` at the next frame, else at
    once. It ends as desc says or by the next trigger, and a further trigger
    begins another, until ts_capture_stop. Each has its own budget, and keeps
    whatever its operations read, whenever that was written.

    Threads: any.
    Errors:  TS_ERR_USAGE (a string is too long): nothing changes.
*/
TS__WEAK_API ts_result ts_capture_arm(const ts_capture_desc *desc);

/*
    Begins or ends a capture: see ts_capture_arm. Does nothing where none is
    armed or on.

    Threads: any, but no signal handler: it takes a lock.
*/
TS__WEAK_API void ts_capture_trigger(void);

// The figures of the capture that is on, else of the last one. Threads: any.
TS__WEAK_API ts_capture_figures ts_capture_result(void);

/*
    The operations and bytes of all captures of this session, the one that is on
    included; `reasons` and `looked_bytes` are 0. *waits: whether a capture
    begins at the next frame.

    Threads: any.
*/
TS__WEAK_API ts_capture_figures ts_capture_total(bool *waits);

/*
    Reads the options of ts-record's --capture into *desc: words separated by
    blanks, of "kernel:gemm*,-gemm_tn", "zone:step", "budget:2G", "frames:3",
    "frame:step", "operations:100", "first:10", "count:2", "hashes", "hash:"
    with "device", "host" or "auto", "all".

    room: `size` bytes, which hold the strings of *desc.
    Lifetime: *desc is valid as long as `room` is.
    Errors:   TS_ERR_USAGE (an unknown word, a value out of range, `room` too
              small).
*/
TS__WEAK_API ts_result ts_capture_parse(ts_capture_desc *desc, char *room,
                                        size_t size, const char *text);

/* ==== 2. For backends ==================================================== */

typedef struct ts_capture_op ts_capture_op;
enum { TS_CAPTURE_HIDDEN = 128, TS_CAPTURE_ALIGNED = 64 }; // bytes

/*
    A device library, or one instance of it. Functions are called by the thread
    that calls ts_capture_begin or ts_capture_end, with `user` of the
    ts_capture_memory; each but `view` may be NULL, which is the answer no.
*/
typedef struct ts_capture_vendor {
    const char *name; // as in the trace: "vdev"
    // Shows `size` bytes of device memory: where they are, or as a copy in
    // `scratch`; NULL: it cannot. size: at most TS_CAPTURE_CHUNK + 7, with
    // `hidden` TS_CAPTURE_CHUNK + TS_CAPTURE_HIDDEN. Valid until the next call.
    const void *(*view)(void *user, uint64_t address, uint64_t size,
                        void *scratch);
    // The host may write this memory unseen: all of it is hashed every time.
    bool host_visible;
    // A kernel reaches memory by parameters of the types pointer and object
    // only: its arguments and memory are not searched for addresses.
    bool by_parameters;
    // Examines TS_CAPTURE_HIDDEN bytes, at a multiple of TS_CAPTURE_ALIGNED,
    // that may encode an address, and calls ts_capture_reach for it.
    void (*hidden)(void *user, ts_capture_op *op, const void *bytes,
                   ts_capture_found found, uint32_t from);
    // Hashes device memory on the device: hashes[2 i], hashes[2 i + 1] become
    // the XXH3-128 (low, high) of chunk i, TS_CAPTURE_CHUNK bytes each. There
    // are at most TS__CAP_HASHES_MAX chunks; the last may be shorter, but has
    // more than 240 bytes. False: it cannot, or copying is cheaper.
    bool (*hash)(void *user, uint64_t address, uint64_t size, uint64_t *hashes);
    // How many bytes from `address` on have one property, in *blank: true for
    // memory that nobody has written since it was zeros, which is not viewed.
    // A multiple of TS_CAPTURE_CHUNK, at least one, or `size`.
    uint64_t (*blank)(void *user, uint64_t address, uint64_t size, bool *blank);
    // Whether other work ran on the device during the operation. Called after
    // all that the operation wrote has been hashed.
    bool (*disturbed)(void *user);
} ts_capture_vendor;
enum { TS__CAP_HASHES_MAX = 4096 };

typedef struct ts__cap_range { // an allocation
    uint64_t address, size, version;
    uint32_t device, image;
    uint64_t offset;   // for globals: offset in the image
    uint64_t *hashes;  // two words per chunk, NULL: never hashed
    uint8_t *state;    // TS__CAP_... of each chunk
    uint64_t list[2];  // the blob of the hashes, valid if `listed`
    uint64_t seen;     // order of the last operation that includes it
    bool listed, dead; // dead: freed
} ts__cap_range;

// The state of a device library's memory. Initially all zeros; the backend sets
// `vendor` and `user`.
typedef struct ts_capture_memory {
    const ts_capture_vendor *vendor;
    void *user; // passed to the vendor's functions
    // Private.
    ts__cap_range *ranges; // sorted by address
    size_t count, capacity;
    uint64_t low, high; // bounds of all ranges
    uint32_t capture;   // number of the capture that the ranges belong to
    uint32_t session;
    uint64_t freed[64][2]; // the latest frees: address, size
    uint32_t freed_at;
    uint8_t *scratch;
    // Hashes from the device, NULL: the device does not hash.
    uint64_t *reported;
    bool device_wrong; // the device has returned a wrong hash
} ts_capture_memory;

// An operation, all zeros at first. The backend fills in `head` (all but counts
// and order) and the arguments, valid until ts_capture_begin returns; after
// ts_capture_requested also parameters, attributes and nodes.
struct ts_capture_op {
    ts_capture_operation head;
    const char *name;         // the kernel's name
    const char *const *names; // names of a graph's kernels
    size_t name_count;
    const void *args;
    // Private.
    ts_capture_param *params;
    ts_capture_region *regions;
    size_t param_capacity, capacity;
    uint8_t *copy; // copy of the arguments
    uint8_t *attributes;
    size_t attributes_size;
    bool all_kept, failed, unseen;
};

typedef struct ts__cap_state {
    uint32_t on;    // number of the capture, 0: none
    uint32_t waits; // a capture begins at the next frame
    uint32_t captures, frames_left, images;
    bool armed;
    pthread_mutex_t lock;
    ts_capture_desc desc;
    char kernels[TS_FILTER_NAMES_MAX], zone[256], frame[256];
    ts_capture_figures figures, sums; // sums: of all captures of the session
    uint32_t ended;                   // captures that ended in the session
    uint64_t admitted;
    uint64_t order;
    uint32_t *launches; // number of launches of each name
    size_t launch_room;
    bool hooked; // handlers of sessions and forks are registered
} ts__cap_state;
#ifdef __cplusplus
extern "C" ts__cap_state ts__cap_now;
#elif defined(TS__STATIC)
static ts__cap_state ts__cap_now = { .lock = PTHREAD_MUTEX_INITIALIZER };
#else
extern ts__cap_state ts__cap_now;
#endif

// Returns whether a capture is on: one load. Threads: any.
static inline bool ts_capture_on(void)
{
    return TS__UNLESS_DISABLED(TS__LOAD(&ts__cap_now.on) != 0);
}

#ifdef CLOCK_MONOTONIC // not in strict ISO C, which is for no backend
// Returns the time of CLOCK_MONOTONIC `ms` milliseconds from now.
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

// Returns whether that time has passed.
static inline bool ts_capture_late(const struct timespec *deadline)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec > deadline->tv_sec ||
           (now.tv_sec == deadline->tv_sec && now.tv_nsec >= deadline->tv_nsec);
}
#endif

// Memory. The backend reports its allocations.

/*
    Returns true if a capture has begun since the last call. Then `memory` was
    emptied, and the backend must add all live allocations.

    Threads: this and all functions with the same ts_capture_memory, one at a
             time: the backend holds a lock of its own.
*/
TS__WEAK_API bool ts_capture_fresh(ts_capture_memory *memory);

// Adds an allocation of `size` bytes; device: the track of its device. If host
// memory is short, it is not added, and operations that use it are incomplete.
TS__WEAK_API void ts_capture_alloc(ts_capture_memory *memory, uint64_t address,
                                   uint64_t size, uint32_t device);

// Adds a variable at `offset` bytes from the begin of an image
// (ts_capture_image_add).
TS__WEAK_API void ts_capture_global(ts_capture_memory *memory, uint64_t address,
                                    uint64_t size, uint32_t device,
                                    uint32_t image, uint64_t offset);

// Removes the allocation that begins at `address`, if there is one.
TS__WEAK_API void ts_capture_free(ts_capture_memory *memory, uint64_t address);

// Sets the size of the allocation that begins at `address`, which has grown at
// its end. Its contents are unchanged. Smaller sizes are ignored.
TS__WEAK_API void ts_capture_grow(ts_capture_memory *memory, uint64_t address,
                                  uint64_t size);

// Returns the size of the allocation that begins at `address`; 0: unknown.
TS__WEAK_API uint64_t ts_capture_size(const ts_capture_memory *memory,
                                      uint64_t address);

// Frees the state of all allocations. `memory` can be used again.
TS__WEAK_API void ts_capture_close(ts_capture_memory *memory);

/*
    Returns whether an operation is to be captured, by the options and
    `head.kind`, `head.name` and `name` or `names` of *op. If so, `head.order`
    is set, and ts_capture_begin or ts_capture_drop must follow. For other
    operations the backend calls ts_capture_touch for all that they may write.

    Threads: any.
*/
TS__WEAK_API bool ts_capture_requested(ts_capture_op *op);

// Marks `size` bytes from `address` on, within one allocation, as possibly
// written; size 0: the whole allocation.
TS__WEAK_API void ts_capture_touch(ts_capture_memory *memory, uint64_t address,
                                   uint64_t size);

// Description of an operation, before ts_capture_begin. Without memory these
// functions decline the operation (TS_REASON_NO_MEMORY).

// Adds a parameter, `size` bytes at `offset` of the arguments, in any order.
TS__WEAK_API void ts_capture_param_add(ts_capture_op *op, uint32_t offset,
                                       uint32_t size,
                                       ts_capture_param_type type);

// Adds an attribute of `size` bytes, which are copied. docs/sbt-format.md
// describes the ids.
TS__WEAK_API void ts_capture_attribute_add(ts_capture_op *op, uint32_t id,
                                           const void *bytes, size_t size);

/*
    Adds a node of a graph launch (TS_EVENT_GRAPH_LAUNCH). after: positions of
    the `count` nodes that it waits for, all added before it. Attributes that
    are added next belong to the node. Its arguments are a part of the
    operation's, at a multiple of TS_CAPTURE_NODE_ALIGNED.
*/
TS__WEAK_API void ts_capture_node_add(ts_capture_op *op,
                                      const ts_capture_operation *node,
                                      const uint32_t *after, uint32_t count);

// Adds the allocation around `address` to those that the operation can reach.
// For `hidden` of ts_capture_vendor, which passes `found` and `from` on.
TS__WEAK_API void ts_capture_reach(const ts_capture_memory *memory,
                                   ts_capture_op *op, uint64_t address,
                                   ts_capture_found found, uint32_t from);

/*
    Records what a captured operation can read. Call it before the operation is
    submitted, while the device runs nothing else, and keep the device so until
    ts_capture_end. head.state says what became of it: see ts_capture_state.

    Threads: as ts_capture_fresh.
*/
TS__WEAK_API void ts_capture_begin(ts_capture_memory *memory,
                                   ts_capture_op *op);

/*
    Records what the operation wrote, puts its record into the trace, and frees
    what *op holds. Call it when the operation is complete, before the device
    runs anything else.

    Threads: as ts_capture_fresh.
*/
TS__WEAK_API void ts_capture_end(ts_capture_memory *memory, ts_capture_op *op);

// Call it instead of ts_capture_end if the operation did not run, whether or
// not it was begun. Frees what *op holds.
TS__WEAK_API void ts_capture_drop(ts_capture_op *op);

// Declines the operation: it is recorded without contents and cannot be run
// again, for this reason. Call it before ts_capture_end.
TS__WEAK_API void ts_capture_decline(ts_capture_op *op, ts_reason reason);

typedef struct ts_capture_code {
    const char *vendor, *path;             // path: for display
    const void *bytes, *build_id;          // build_id: NULL: none
    uint64_t size, build_id_size, address; // address: where it is loaded
    uint32_t form;                         // ts_capture_form
    const char *options;                   // build options, NULL: none
} ts_capture_code;

/*
    Stores code in the trace; call it once per capture. Returns the number by
    which operations refer to it (head.image); 0: it was not stored.

    Threads: any.
*/
TS__WEAK_API uint32_t ts_capture_image_add(const ts_capture_code *code);

/* ==== 3. Implementation ================================================== */

#ifndef __cplusplus // a file of C of the program or library has it
#include "capture/operations.h"
#include "capture/options.h"
#endif

#endif // TS_CAPTURE_H
