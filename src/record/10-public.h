/*
    tracesmith.h - record what a CPU + GPU program did into one file

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    WHAT IT DOES
        Zones, marks, messages, counters, allocations, frames, flows, spans
        and GPU operations go into a ring per thread, from there into an SBT
        file (docs/sbt-format.md). A record survives the death of the process
        from the moment its recording call has returned. What is lost all the
        same is counted in the trace, with its cause.

    WHAT IT DOES NOT DO
        It does not read traces (tracesmith_replay.h does), draw, upload, or
        read environment variables. It never prints and never aborts: every
        failure is a ts_result or a row of the loss ledger. It knows no
        vendor's GPU interface; backends/ do.

    USE
        #define TRACESMITH_IMPLEMENTATION // in one file of the program
        #include "tracesmith.h"
        #include <stdio.h>

        int main(void)
        {
            const ts_session_desc desc = { .path = "trace.sbt" };
            ts_session_start(&desc); // if it fails, ts_session_stop tells
            for (int i = 0; i < 3; i++) {
                TS_ZONE("work");
                TS_COUNTER("i", i);
            }
            const ts_result result = ts_session_stop();
            if (result == TS_OK) return 0;
            fprintf(stderr, "trace.sbt: %s\n", ts_result_text(result));
            return 1;
        }

    CONTENTS                            search for "==== 4." to jump
        1. Options                      macros that change the build
        2. Results                      every way a call can fail
        3. Format                       SBT: numbers and sizes
        4. Session                      start, stop, flush, snapshot
        5. Names                        sites, names, counters, metadata
        6. Hot path                     what an instrumented line runs
        7. Zones
        8. Marks, counters, memory, frames, flows, spans
        9. GPU                          devices, streams, operations, backends
       10. Losses and salvage
       11. Writer                       a trace from times known otherwise
       12. Implementation               private
*/
#if defined(TRACESMITH_IMPLEMENTATION) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE // before the first system header
#endif
#ifndef TRACESMITH_H
#define TRACESMITH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ==== 1. Options ========================================================= */

/*
    TRACESMITH_IMPLEMENTATION  in one C11 or C++17 file: the functions
    TRACESMITH_SALVAGE         beside it: ts_salvage as well, which readers
                               need; tracesmith_replay.h asks for it by itself
                               where both implementations are in one file
    TRACESMITH_DISABLE         every macro of sections 7 and 8 becomes
                               nothing; arguments are still type-checked
    TRACESMITH_ZSTD            the writer can compress (needs -lzstd)
    TRACESMITH_WRITER          section 11; libtracesmith has it
    TRACESMITH_TICK()          own clock: an expression, uint64_t nanoseconds,
                               must never fall (for tests)
    TRACESMITH_STATIC          functions are static, of this file alone: for
                               programs of one file, whose compiler then
                               leaves out what they do not use
    TS_API                     how public functions are declared
*/
#define TS_VERSION_MAJOR 0
#define TS_VERSION_MINOR 1
#define TS_VERSION_PATCH 0

// Visible even under -fvisibility=hidden, so that every shared object of a
// process finds the same session.
#if defined(TRACESMITH_STATIC) && !defined(TRACESMITH_DISABLE)
#define TS__STATIC
#endif
#ifndef TS_API
#ifdef TS__STATIC
#define TS_API static __attribute__((unused))
#elif defined(__cplusplus)
#define TS_API extern "C" __attribute__((visibility("default")))
#else
#define TS_API extern __attribute__((visibility("default")))
#endif
#endif

// What a designated initialiser leaves out is 0, also to C++ with -Wextra.
#if defined(__cplusplus) && __cplusplus >= 202002L
#define TS__UNSET \
    { \
    }
#else
#define TS__UNSET
#endif

/* ==== 2. Results ========================================================= */

// Values are pinned; new ones are added at the end.
#define TS_RESULTS(X) \
    X(TS_OK, 0, "ok") \
    X(TS_ERR_USAGE, -1, "a call breaks the rules of its description") \
    X(TS_ERR_STATE, -2, "not possible in the session's present state") \
    X(TS_ERR_MEMORY, -3, "out of memory") \
    X(TS_ERR_IO, -4, "a file could not be read or written") \
    X(TS_ERR_DISK_FULL, -5, "no space left on the disk") \
    X(TS_ERR_TRUNCATED, -6, "the file ends inside a chunk") \
    X(TS_ERR_CORRUPT, -7, "a chunk breaks the rules of the format") \
    X(TS_ERR_NOT_SBT, -8, "not an SBT file") \
    X(TS_ERR_VERSION, -9, "made by an incompatible version") \
    X(TS_ERR_UNSUPPORTED, -10, "not supported by this build") \
    X(TS_ERR_NOT_FOUND, -11, "no such thing in the trace") \
    X(TS_ERR_BUSY, -12, "the trace is still being written") \
    X(TS_ERR_NOT_FILE, -13, "a folder, a device or a named pipe, not a file") \
    X(TS_ERR_UNTRUSTED, -14, \
      "the sidecar is not this user's alone, or is another trace's")

typedef enum ts_result {
#define TS__X(name, value, text) name = value,
    TS_RESULTS(TS__X)
#undef TS__X
} ts_result;

// One lower-case clause without a full stop; never NULL.
TS_API const char *ts_result_text(ts_result result);

/* ==== 3. Format ========================================================== */

/*
    The numbers of docs/sbt-format.md, which gives their meaning.
    Both the writer below and the reader in tracesmith_replay.h use these.
*/
#define TS_FILE_MAGIC      "SBT1\r\n\x1a\n"
#define TS_CHUNK_MAGIC     0x43544253u // "SBTC"
#define TS_FORMAT_MAJOR    1
#define TS_FORMAT_MINOR    0
#define TS_TRACK_MIXED     0xFFFFFFFFu
#define TS_CHUNK_COUNT_MAX (1u << 24)
#define TS_CHUNK_BYTES_MAX (1u << 28)
#define TS_COLUMNS_MAX     64
#define TS_LOD_CELLS       16

typedef struct ts_file_header {
    uint8_t magic[8];
    uint16_t major, minor;
    uint32_t flags;
    uint8_t session[16];
    uint64_t start_tick;
    uint64_t start_realtime_ns;
    uint32_t process;
    uint32_t unused;
    uint64_t checksum;
} ts_file_header;

// In the index, `checksum` is the chunk's offset.
typedef struct ts_chunk_header {
    uint32_t magic;
    uint8_t kind;
    uint8_t event;
    uint16_t flags;
    uint32_t session;
    uint32_t track;
    uint32_t count;
    uint32_t clock;
    uint64_t first, last;
    uint32_t stored_size, raw_size;
    uint32_t sequence;
    uint32_t reserved;
    uint64_t checksum;
} ts_chunk_header;

enum { TS_CHUNK_ZSTD = 1, TS_CHUNK_RESERVED = 0xFE };

typedef enum ts_chunk_kind {
    TS_CHUNK_NAMES = 1,
    TS_CHUNK_SITES = 2,
    TS_CHUNK_TRACKS = 3,
    TS_CHUNK_LAUNCHES = 4,
    TS_CHUNK_MODULES = 5,
    TS_CHUNK_STACKS = 6,
    TS_CHUNK_CLOCK = 7,
    TS_CHUNK_METADATA = 8,
    TS_CHUNK_LOSS = 9,
    TS_CHUNK_SYMBOLS = 10,
    TS_CHUNK_EVENTS = 16,
    TS_CHUNK_BLOB = 17,
    TS_CHUNK_CAPTURE = 18,
    TS_CHUNK_INDEX = 32,
    TS_CHUNK_END = 33
} ts_chunk_kind;

// Bodies of entries, as they lie in the file.
typedef struct ts_site_entry {
    uint32_t name, category, function, file, line, color;
} ts_site_entry;

typedef struct ts_track_entry {
    uint8_t type, unused[3];
    uint32_t parent, name, unit;
    uint64_t number, flags;
} ts_track_entry;

typedef struct ts_launch_entry {
    uint32_t name, grid[3], block[3], cluster[3];
    uint32_t registers, static_shared, dynamic_shared, local;
} ts_launch_entry;

typedef struct ts_module_entry { // then the build-id
    uint32_t path, unused;
    uint64_t address, size;
} ts_module_entry;

typedef struct ts_frame_entry { // a stack is an array of these
    uint32_t module, unused;
    uint64_t offset;
} ts_frame_entry;

typedef struct ts_symbol_entry { // then ts_line_entry, innermost first
    uint32_t module, unused;
    uint64_t offset;
} ts_symbol_entry;

typedef struct ts_line_entry {
    uint32_t function, file, line, unused;
} ts_line_entry;

typedef struct ts_clock_entry {
    uint8_t type, unused[7];
    uint64_t tick, raw_ns, realtime_ns, boottime_ns, uncertainty_ns;
} ts_clock_entry;

typedef struct ts_metadata_entry {
    uint32_t key, type;
    uint64_t value;
} ts_metadata_entry;

typedef struct ts_loss_entry {
    uint32_t cause, detail;
    uint64_t count, first, last, stall_ns;
} ts_loss_entry;

/*
    Captures: what it takes to run an operation again. Chunks of memory are
    blobs of TS_CAPTURE_CHUNK bytes; a list of them is a blob of 16 bytes each.
*/
#define TS_CAPTURE_CHUNK 65536u
typedef enum ts_capture_type {
    TS_CAPTURE_IMAGE = 1,
    TS_CAPTURE_OPERATION = 2
} ts_capture_type;

typedef struct ts_capture_image { // code that kernels are in
    uint32_t type, id;
    uint32_t module, vendor; // vendor: a name, such as "vdev"
    uint64_t size, hash[2];  // of its bytes, a blob if the trace holds them
    uint32_t form, options;  // ts_capture_form; name: how it was built
    uint64_t unused;
} ts_capture_image;

typedef enum ts_capture_form {
    TS_CAPTURE_FILE = 0, // program or library of the host
    TS_CAPTURE_OPENCL_C = 1,
    TS_CAPTURE_SPIRV = 2,
    TS_CAPTURE_DEVICE_BINARY = 3, // of one OpenCL device
    TS_CAPTURE_CUBIN = 4,
    TS_CAPTURE_PTX = 5,
    TS_CAPTURE_FATBIN = 6,
    TS_CAPTURE_AMD_OBJECT = 7
} ts_capture_form;

// Behind it come parameters, arguments, regions, attributes.
typedef struct ts_capture_operation {
    uint32_t type, track, kind, state; // ts_capture_state
    uint64_t correlation, order;       // order: of submission, from 1
    uint32_t reason;                   // ts_reason
    uint32_t image, name;              // of a kernel; image: an id
    uint32_t args_size, param_count, region_count;
    uint64_t function; // offset in the image
    uint32_t grid[3], block[3];
    uint32_t shared, vendor;            // dynamic shared memory; a name
    uint64_t source, destination, size; // of copies and sets
    uint64_t value;                     // of sets
} ts_capture_operation;

typedef struct ts_capture_param {
    uint32_t offset, size;
    uint32_t type, unused; // ts_capture_param_type
} ts_capture_param;

typedef enum ts_capture_param_type { // of 8 bytes, but for the first
    TS_PARAM_UNKNOWN = 0,
    TS_PARAM_POINTER = 1,
    TS_PARAM_LOCAL = 2,   // a size of shared memory, without contents
    TS_PARAM_SAMPLER = 3, // number of a sampler attribute
    TS_PARAM_OBJECT = 4   // address of memory that an attribute describes
} ts_capture_param_type;

// What else an operation is made of; then `size` bytes, and zeros up to a
// multiple of 8.
typedef struct ts_capture_attribute {
    uint32_t id, size; // ts_capture_attribute_id
} ts_capture_attribute;

typedef enum ts_capture_attribute_id { // append only
    TS_ATTRIBUTE_GLOBAL_OFFSET = 1,    // u64[3]
    TS_ATTRIBUTE_GLOBAL_SIZE = 2,      // u64[3] threads
    TS_ATTRIBUTE_IMAGE = 3,            // ts_capture_object
    TS_ATTRIBUTE_SAMPLER = 4,          // ts_capture_sampler
    TS_ATTRIBUTE_GEOMETRY = 5,         // ts_capture_geometry
    TS_ATTRIBUTE_PATTERN = 6,          // of a set
    TS_ATTRIBUTE_COPY_IMAGE = 7,       // ts_capture_copy_image
    TS_ATTRIBUTE_DIMENSIONS = 8,       // u32, if not up to the last above 1
    TS_ATTRIBUTE_NODE = 9,             // of a graph's launch, see below
    TS_ATTRIBUTE_CUDA_LAUNCH = 32,     // u32 id, u32 unused, 64 bytes
    TS_ATTRIBUTE_FUNCTION = 33,        // u32 id, i32 value
    TS_ATTRIBUTE_COOPERATIVE = 34,     // empty
    TS_ATTRIBUTE_TENSOR_MAP = 48,      // 336 bytes, docs/sbt-format.md
    TS_ATTRIBUTE_TEXTURE = 49          // 376 bytes, likewise
} ts_capture_attribute_id;

typedef struct ts_capture_object { // an image of OpenCL, as its own enums say
    uint64_t address;
    uint32_t order, type, object_type, unused;
    uint64_t width, height, depth, array_size, row_pitch, slice_pitch;
} ts_capture_object;

typedef struct ts_capture_sampler {
    uint32_t number, normalized, addressing, filter;
} ts_capture_sampler;

/*
    A copy or set of boxes, all in bytes, rows and slices. Origins count from
    source and destination; an image has no row and slice here, but its own.
*/
typedef struct ts_capture_geometry {
    uint64_t source_origin[3], destination_origin[3], region[3];
    uint64_t source_row, source_slice, destination_row, destination_slice;
} ts_capture_geometry;

// The bytes of a box: the first, from where origins count, and how many to the
// last. False: it is empty, or an address cannot hold that.
static inline bool ts_capture_span(const uint64_t origin[3],
                                   const uint64_t region[3], uint64_t row,
                                   uint64_t slice, uint64_t *first,
                                   uint64_t *size)
{
    const uint64_t steps[2] = { row, slice };
    *first = origin[0];
    *size = region[0];
    for (int i = 0; i < 2; i++) {
        uint64_t skipped, covered;
        if (!region[i + 1] ||
            __builtin_mul_overflow(origin[i + 1], steps[i], &skipped) ||
            __builtin_mul_overflow(region[i + 1] - 1, steps[i], &covered) ||
            __builtin_add_overflow(*first, skipped, first) ||
            __builtin_add_overflow(*size, covered, size))
            return false;
    }
    return region[0] && *first <= INT64_MAX && *size <= INT64_MAX;
}

/*
    A launch of a graph has a TS_ATTRIBUTE_NODE for each node, those that come
    before a node in front of it: a ts_capture_operation, whose kind is 0 for
    what is only order, and whose track is that of the device that it runs on if
    it is not the launch's; then uint32_t positions of the nodes that it waits
    for. A node's arguments, if it has any, are the next args_size bytes of the
    launch's, from a multiple of TS_CAPTURE_NODE_ALIGNED on; parameters and
    regions are the launch's. Attributes behind it are its own.
*/
#define TS_CAPTURE_NODE_ALIGNED 64u

typedef struct ts_capture_copy_image { // an end of a copy or set
    uint32_t which, unused;            // 0: source, 1: destination
    uint64_t address;                  // of a ts_capture_object
} ts_capture_copy_image;

typedef struct ts_capture_region { // memory that an operation can reach
    uint64_t address, size;
    uint32_t device;        // track, 0: host memory
    uint32_t access;        // TS_ACCESS_...
    uint32_t found, from;   // ts_capture_found; offset of the argument, or
                            // the region that led there
    uint64_t version;       // grows with whatever may write there
    uint32_t image, unused; // of a global: where it is at home ...
    uint64_t offset;        // ... and at which offset
    uint64_t before[2], after[2]; // lists of chunks, 0 not known
} ts_capture_region;

typedef enum ts_capture_state {
    TS_CAPTURE_WHOLE = 1,   // can be run again
    TS_CAPTURE_HASHES = 2,  // memory is known by its hashes only
    TS_CAPTURE_DECLINED = 3 // reason: why not
} ts_capture_state;

typedef enum ts_capture_found {
    TS_CAPTURE_BY_ARGUMENT = 1,
    TS_CAPTURE_BY_MEMORY = 2,
    TS_CAPTURE_BY_GLOBAL = 3,
    TS_CAPTURE_BY_COPY = 4
} ts_capture_found;

// Why an operation was not captured or is not run. Stable; append only.
#define TS_REASONS(X) \
    X(NONE, 0, "none") \
    X(VA_UNAVAILABLE, 1, "VA_UNAVAILABLE") \
    X(IMAGE_MISSING, 2, "IMAGE_MISSING") \
    X(IMAGE_ARCH, 3, "IMAGE_ARCH") \
    X(PARAM_LAYOUT_UNKNOWN, 4, "PARAM_LAYOUT_UNKNOWN") \
    X(UVM, 5, "UVM") \
    X(IPC, 6, "IPC") \
    X(EXTERNAL_MEMORY, 7, "EXTERNAL_MEMORY") \
    X(MULTICAST, 8, "MULTICAST") \
    X(PEER, 9, "PEER") \
    X(COLLECTIVE, 10, "COLLECTIVE") \
    X(HOST_CALLBACK, 11, "HOST_CALLBACK") \
    X(DEVICE_HEAP, 12, "DEVICE_HEAP") \
    X(CDP, 13, "CDP") \
    X(COND_GRAPH, 14, "COND_GRAPH") \
    X(DEVICE_UPDATABLE_NODE, 15, "DEVICE_UPDATABLE_NODE") \
    X(TEXTURE_BINDLESS, 16, "TEXTURE_BINDLESS") \
    X(STREAM_MEMOP, 17, "STREAM_MEMOP") \
    X(DRAIN_TIMEOUT, 18, "DRAIN_TIMEOUT") \
    X(SNAPSHOT_BUDGET, 19, "SNAPSHOT_BUDGET") \
    X(IN_CAPTURE, 20, "IN_CAPTURE") \
    X(ATTACHED_LATE, 21, "ATTACHED_LATE") \
    X(ATTR_UNKNOWN, 22, "ATTR_UNKNOWN") \
    X(DRIVER_MISMATCH, 23, "DRIVER_MISMATCH") \
    X(NOT_CAPTURED, 24, "NOT_CAPTURED") \
    X(MEMORY_MISSING, 25, "MEMORY_MISSING") \
    X(GLOBAL_MOVED, 26, "GLOBAL_MOVED") \
    X(POINTER_DEAD, 27, "POINTER_DEAD") \
    X(ESCAPE, 28, "ESCAPE") \
    X(TIMEOUT, 29, "TIMEOUT") \
    X(DEVICE_FAILED, 30, "DEVICE_FAILED") \
    X(BAD_CAPTURE, 31, "BAD_CAPTURE") \
    X(NO_MEMORY, 32, "NO_MEMORY") \
    X(TOO_MANY, 33, "TOO_MANY") \
    X(OTHER_BACKEND, 34, "OTHER_BACKEND") \
    X(ROW_MISSING, 35, "ROW_MISSING")

typedef enum ts_reason {
#define TS__X(name, value, text) TS_REASON_##name = value,
    TS_REASONS(TS__X)
#undef TS__X
} ts_reason;
#define TS_REASON_LIMIT 36

typedef struct ts_column_header {
    uint8_t column, encoding, transform, width;
    uint32_t size;
    uint64_t base;
} ts_column_header;

typedef enum ts_track_type {
    TS_TRACK_PROCESS = 1,
    TS_TRACK_THREAD = 2,
    TS_TRACK_DEVICE = 3,
    TS_TRACK_CONTEXT = 4,
    TS_TRACK_STREAM = 5,
    TS_TRACK_COUNTER = 6
} ts_track_type;

// Bits of `flags` of a stream; its priority + 32768 is in bits 16 to 31.
enum {
    TS_STREAM_NON_BLOCKING = 1,
    TS_STREAM_LEGACY_DEFAULT = 2,
    TS_STREAM_OUT_OF_ORDER = 4 // only dependencies order what lies on it
};

typedef enum ts_clock_type {
    TS_CLOCK_TSC = 1,
    TS_CLOCK_CNTVCT = 2,
    TS_CLOCK_MONOTONIC_RAW = 3,
    TS_CLOCK_OTHER = 4
} ts_clock_type;

typedef enum ts_value_type {
    TS_VALUE_INT = 1,
    TS_VALUE_DOUBLE = 2,
    TS_VALUE_TEXT = 3
} ts_value_type;

typedef enum ts_phase {
    TS_PHASE_START = 1,
    TS_PHASE_STEP = 2,
    TS_PHASE_END = 3
} ts_phase;

// What kind of dependency: of order alone, or of data.
typedef enum ts_dependency {
    TS_DEPENDENCY_UNKNOWN = 0,
    TS_DEPENDENCY_CONTROL = 1,
    TS_DEPENDENCY_DATA = 2
} ts_dependency;

typedef enum ts_encoding {
    TS_ENCODING_CONSTANT = 0,
    TS_ENCODING_PACK = 1,
    TS_ENCODING_PLANES = 2,
    TS_ENCODING_TEXT = 3
} ts_encoding;

typedef enum ts_transform {
    TS_TRANSFORM_NONE = 0,
    TS_TRANSFORM_DELTA = 1,
    TS_TRANSFORM_GAP = 2,    // start: from the end of the row before
    TS_TRANSFORM_QUEUED = 3, // submitted: from queued
    TS_TRANSFORM_ISSUED = 4  // queued: from the moment of the row before
} ts_transform;

// Event kinds. "gpu" ones share the columns of a GPU operation.
#define TS_EVENTS(X) \
    X(ZONE, 1, "zone") \
    X(ZONE_OPEN, 2, "zone_open") \
    X(ZONE_ARG, 3, "zone_arg") \
    X(MARK, 4, "mark") \
    X(MESSAGE, 5, "message") \
    X(COUNTER, 6, "counter") \
    X(FRAME, 7, "frame") \
    X(ALLOC, 8, "alloc") \
    X(FREE, 9, "free") \
    X(FLOW, 10, "flow") \
    X(SPAN, 11, "span") \
    X(API_CALL, 12, "api_call") \
    X(DEPENDENCY, 13, "dependency") \
    X(ACCESS, 14, "access") \
    X(KERNEL, 16, "kernel") \
    X(MEMCPY, 17, "memcpy") \
    X(MEMSET, 18, "memset") \
    X(EVENT_RECORD, 19, "event_record") \
    X(EVENT_WAIT, 20, "event_wait") \
    X(STREAM_SYNC, 21, "stream_sync") \
    X(DEVICE_SYNC, 22, "device_sync") \
    X(EVENT_SYNC, 23, "event_sync") \
    X(HOST_FUNCTION, 24, "host_function") \
    X(GRAPH_LAUNCH, 25, "graph_launch") \
    X(COLLECTIVE, 26, "collective") \
    X(GPU_ALLOC, 27, "gpu_alloc") \
    X(GPU_FREE, 28, "gpu_free")

typedef enum ts_event_kind {
#define TS__X(name, value, text) TS_EVENT_##name = value,
    TS_EVENTS(TS__X)
#undef TS__X
} ts_event_kind;
#define TS_EVENT_GPU_FIRST 16
#define TS_EVENT_LIMIT     29 // every known kind is below

#define TS_COLUMNS(X) \
    X(START, 1, "start") \
    X(DURATION, 2, "duration") \
    X(SITE, 3, "site") \
    X(NEST, 4, "nest") \
    X(LEAD, 5, "lead") \
    X(TAIL, 6, "tail") \
    X(TRACK, 7, "track") \
    X(DEPTH, 8, "depth") \
    X(NAME, 9, "name") \
    X(TYPE, 10, "type") \
    X(VALUE, 11, "value") \
    X(TEXT, 12, "text") \
    X(ADDRESS, 13, "address") \
    X(SIZE, 14, "size") \
    X(POOL, 15, "pool") \
    X(CATEGORY, 16, "category") \
    X(STACK, 17, "stack") \
    X(ID, 18, "id") \
    X(PHASE, 19, "phase") \
    X(CORRELATION, 20, "correlation") \
    X(RESULT, 21, "result") \
    X(QUEUED, 22, "queued") \
    X(SUBMITTED, 23, "submitted") \
    X(THREAD, 24, "thread") \
    X(LAUNCH, 25, "launch") \
    X(GRAPH_NODE, 26, "graph_node") \
    X(GRAPH, 27, "graph") \
    X(SOURCE, 28, "source") \
    X(MEMORY, 29, "memory") \
    X(PEER, 30, "peer") \
    X(RECORD, 31, "record") \
    X(COMMUNICATOR, 32, "communicator") \
    X(SEQUENCE, 33, "sequence") \
    X(RANKS, 34, "ranks")

typedef enum ts_column {
#define TS__X(name, value, text) TS_COLUMN_##name = value,
    TS_COLUMNS(TS__X)
#undef TS__X
} ts_column;
#define TS_COLUMN_LIMIT 35

#define TS_LOSSES(X) \
    X(RING_FULL, 1, "ring_full") \
    X(OVERWRITTEN, 2, "overwritten") \
    X(DISK_FULL, 3, "disk_full") \
    X(WRITE_ERROR, 4, "write_error") \
    X(MEMORY_BOUND, 5, "memory_bound") \
    X(REENTRANT, 6, "reentrant") \
    X(STALE, 7, "stale") \
    X(DICTIONARY_FULL, 8, "dictionary_full") \
    X(BAD_RECORD, 9, "bad_record") \
    X(BACKEND, 10, "backend") \
    X(TOO_DEEP, 11, "too_deep") \
    X(HELPED, 64, "helped") \
    X(BLOCKED, 65, "blocked") \
    X(INCOMPLETE, 66, "incomplete")

typedef enum ts_loss {
#define TS__X(name, value, text) TS_LOSS_##name = value,
    TS_LOSSES(TS__X)
#undef TS__X
} ts_loss;
#define TS_LOSS_STALL_FIRST 64 // causes from here on lost nothing

// The names of DESIGN's vocabulary: "zone", "start", "ring_full", ...
// An unknown number gives "unknown". Threads: any.
TS_API const char *ts_event_name(uint32_t kind);
TS_API const char *ts_column_name(uint32_t column);
TS_API const char *ts_loss_name(uint32_t cause);

// The columns that a writer of this version gives events of `kind`, in the
// order of the specification, without `track`; ends with 0. NULL: unknown.
TS_API const uint8_t *ts_event_columns(uint32_t kind);

/* ==== 4. Session ========================================================= */

// What a recording call does when its thread's ring is full.
typedef enum ts_policy {
    TS_POLICY_HELP = 0,      // writes out its own ring: nothing is lost
    TS_POLICY_DROP = 1,      // refuses the new record and counts it
    TS_POLICY_OVERWRITE = 2, // flight recorder: forgets the oldest
    TS_POLICY_BLOCK = 3      // waits for the drain thread
} ts_policy;

typedef enum ts_drain {
    TS_DRAIN_THREAD = 0, // a background thread moves records to the file
    TS_DRAIN_MANUAL = 1  // only ts_session_flush does (and a full ring)
} ts_drain;

/*
    What a child made by fork() does. A signal handler may fork as well: what it
    interrupted is recorded once, by the parent. Handlers of pthread_atfork may
    call all of this: in the child the first such call begins it; in the parent
    sites and names that are new are not recorded, and session calls fail.
    A child that runs no such handlers (_Fork, clone) records nothing, and nor
    do its own; it can start no session. Where Linux is older than 4.14 such a
    child must call neither this nor exit().
*/
typedef enum ts_fork {
    TS_FORK_QUIET = 0, // records nothing
    TS_FORK_FOLLOW = 1 // starts a session of its own; `path` must hold %p
} ts_fork;

/*
    How to record. All zeros but `path` is a complete desc.

    `path` may hold %p (process identifier), %r (rank), %h (host name), %%.
    An existing file of that name is replaced. Strings are copied.
*/
typedef struct ts_session_desc {
    const char *path TS__UNSET;      // the trace; required
    ts_policy policy TS__UNSET;      // on a full ring (TS_POLICY_HELP)
    ts_drain drain TS__UNSET;        // who empties the rings (TS_DRAIN_THREAD)
    ts_fork fork TS__UNSET;          // what children do (TS_FORK_QUIET)
    uint64_t memory_bytes TS__UNSET; // bound on all rings together (256 MiB)
    // largest ring of a thread, rounded up to a power of two, 32 KiB to 64 MiB
    // (4 MiB; TS_POLICY_OVERWRITE: 1 MiB)
    uint32_t ring_bytes TS__UNSET;
    // a record is in the file after at most about this long (500)
    uint32_t flush_ms TS__UNSET;
    uint32_t rank TS__UNSET; // rank of the process, for %r and merging (0)
    // zstd level 1-19, needs TRACESMITH_ZSTD (0: no)
    uint32_t compress TS__UNSET;
    int snapshot_signal TS__UNSET; // this signal writes a snapshot (0: none)
    // where, may also hold %n, a count ("PATH.%n.sbt")
    const char *snapshot_path TS__UNSET;
    // where rings lie (/dev/shm if it is a memory file system, else beside the
    // trace)
    const char *sidecar_dir TS__UNSET;
    const char *app TS__UNSET; // name of the program (its file name)
} ts_session_desc;

/*
    Starts recording. There is one session in a process; threads need no
    registration and may already run. Under ts-record the trace is also in
    what that writes. After a failure the program runs as it would without
    TraceSmith: recording calls do nothing, and ts_session_stop returns that
    failure again.

    Threads: any; calls of this section exclude each other.
    Errors:  TS_ERR_USAGE     a field is out of range, or no path
             TS_ERR_STATE     a session runs already (nested sessions)
             TS_ERR_IO        the trace cannot be created
             TS_ERR_NOT_FILE  something that is no file has its name
             TS_ERR_BUSY      another process is writing it
             TS_ERR_DISK_FULL no room for the header or the first rings
             TS_ERR_MEMORY    the rings cannot be mapped
             TS_ERR_UNSUPPORTED `compress` without TRACESMITH_ZSTD
*/
TS_API ts_result ts_session_start(const ts_session_desc *desc);

/*
    Writes what is buffered, the index and the end. Zones open at this moment
    become zone_open events. Runs by itself at exit. After a start that failed
    it returns that failure, once, so that a program which checks only here
    notices.

    Threads: others may go on recording; what they record from here on is not
             part of the trace.
    Errors:  TS_ERR_STATE nothing was started, or it was stopped already
             the first error since the start: TS_ERR_IO, TS_ERR_DISK_FULL (of
             the trace, or where rings lie), TS_ERR_MEMORY (a ring could not
             be mapped). What it cost is in the ledger.
*/
TS_API ts_result ts_session_stop(void);

// Recording stops / goes on; the trace stays open. Zones that began before a
// pause and end in it are recorded. Errors: TS_ERR_STATE without a session.
TS_API ts_result ts_session_pause(void);
TS_API ts_result ts_session_resume(void);

// Returns when everything recorded before the call is in the file (not
// necessarily on the disk). Errors: TS_ERR_STATE, and as ts_session_stop.
TS_API ts_result ts_session_flush(void);

/*
    Writes what the rings hold now as a complete trace of its own and goes on
    recording. With TS_POLICY_OVERWRITE these are the last moments before the
    call; with another policy what is not in the file yet.

    path: as in the desc, with %n too; NULL: the desc's snapshot_path.
    Errors: TS_ERR_STATE, TS_ERR_IO, TS_ERR_DISK_FULL.
*/
TS_API ts_result ts_session_snapshot(const char *path);

typedef struct ts_stats {
    uint64_t records;      // moved from rings to the file so far
    uint64_t lost;         // sum of the losses of every cause
    uint64_t lost_by[16];  // by ts_loss
    uint64_t helped;       // times a producer drained its own ring
    uint64_t blocked;      // times a producer waited
    uint64_t stall_ns;     // time both took
    uint64_t file_bytes;   // size of the trace
    uint64_t memory_bytes; // of rings
    uint32_t rings;        // in use or in the pool
    uint32_t threads;      // that recorded so far
    uint32_t generation;   // counts sessions of this process; 0: none yet
    bool recording;        // started and not paused
} ts_stats;

// Threads: any. Errors: TS_ERR_USAGE when stats is NULL. After a stop the
// figures of the last session stay.
TS_API ts_result ts_session_stats(ts_stats *stats);

/* ==== 5. Names =========================================================== */

/*
    A place in the source. The macros make a static one; its text is copied at
    the first hit, so that a module may be unloaded later. Other code may fill
    one in (all but `code`) and use it with ts_zone_begin.
    Strings: NULL is none. Threads: any number may hit it at once.
*/
typedef struct ts_site {
    const char *name, *category, *function, *file;
    uint32_t line;
    uint32_t color; // 0x00RRGGBB, 0 none
    uint32_t code;  // private: 0 until the first hit
} ts_site;

typedef struct ts_counter { // a counter as the macros hold it
    const char *name;
    uint32_t code; // private: 0 until the first hit
} ts_counter;

/*
    Keep a text, or look it up: the same text always gives the same number.
    At most 65,535 bytes are kept. Costs a hash and one probe when known.

    Threads: any; signal handlers too. Allowed before a session starts.
    Errors:  0 when nothing can be kept any more; a record that is not made for
             want of it is counted, as dictionary_full.
*/
TS_API uint32_t ts_name_define(const char *text);
TS_API uint32_t ts_name_define_sized(const char *text, size_t size);

// A site whose name is made at run time; `base` gives the rest (may be NULL).
TS_API uint32_t ts_site_define(const char *name, const ts_site *base);

// Gives a counter its unit ("bytes", "%", NULL none) and behaviour.
// Returns the counter's track, 0 on failure. TS_COUNTER does not need it.
typedef enum ts_counter_flag {
    TS_COUNTER_RATE = 1,     // the value is per second
    TS_COUNTER_MONOTONIC = 2 // the value never falls
} ts_counter_flag;
TS_API uint32_t ts_counter_define(const char *name, const char *unit,
                                  uint32_t flags);

// Facts about the session (track 0) or a track, in ts-info and every export.
// Of the session that runs, or else of the next one: they end with it. Those
// about tracks last as long as the process.
TS_API void ts_metadata_int(uint32_t track, const char *key, int64_t value);
TS_API void ts_metadata_double(uint32_t track, const char *key, double value);
TS_API void ts_metadata_text(uint32_t track, const char *key,
                             const char *value);

// Names the calling thread from now on.
TS_API void ts_thread_name(const char *name);
// The calling thread's track; 0 when it cannot have one.
TS_API uint32_t ts_thread_track(void);

// A loaded file that stacks point into. build_id may be NULL.
TS_API uint32_t ts_module_define(const char *path, uint64_t address,
                                 uint64_t size, const void *build_id,
                                 size_t build_id_size);
// frames: count elements, innermost first. The same stack gives the same
// number. count is at most 256.
TS_API uint32_t ts_stack_define(const ts_frame_entry *frames, uint32_t count);
/*
    Private: the same of a stack in words of 32 bits, as it is kept. One whose
    highest bit is 0 is a frame, the low 31 bits of its offset; one whose
    highest bit is 1 says where that frame and those after it are. Until then
    they are in module 0, below 2 GiB. Writes to four words more.
*/
#define TS__STACK_WHERE(module, offset) \
    (1u << 31 | (uint32_t)(module) << 17 | (uint32_t)((offset) >> 31))
enum { TS__STACK_WORDS = 2 * 256 + 4 };
TS_API uint32_t ts__stack_get(uint32_t *words, uint32_t count);

/*
    Keeps bytes in the trace once, whoever asks how often. Written at once.
    hash: receives the XXH3-128 of the bytes, low half first; may be NULL.
    Errors: TS_ERR_STATE, TS_ERR_USAGE (size over 2^32 - 32), TS_ERR_IO,
            TS_ERR_DISK_FULL.
*/
TS_API ts_result ts_blob_put(const void *bytes, size_t size, uint64_t hash[2]);

// Whether the trace holds these bytes already: TS_OK or TS_ERR_NOT_FOUND.
// hash: receives their XXH3-128, also without a session; may be NULL. If bytes
// is NULL and size is not 0, *hash tells which bytes are asked for.
TS_API ts_result ts_blob_find(const void *bytes, size_t size, uint64_t hash[2]);

/*
    Keeps what it takes to run an operation again: a record as section 13 of
    the specification has it. Blobs that it names come first.

    Errors: as ts_blob_put.
*/
TS_API ts_result ts_capture_put(const void *record, size_t size);

// Whether the calling thread is inside a zone of this name. Slow: it looks
// through the dictionary.
TS_API bool ts_zone_inside(const char *name);

// Ticks of clock 0, what every time in the rings is measured in.
TS_API uint64_t ts_tick_now(void);

/*
    A clock of a device. Give samples before and after the operations that it
    times: at the moment when clock 0 showed host_tick, it showed tick. A
    host_tick of 0: the clock is CLOCK_MONOTONIC_RAW; one sample will do.
    A sample at which the clock, or the host, shows less than at the one before
    is left out; the metadata clock.N.backwards counts them.
    Returns the clock's number, 0 on failure.
*/
TS_API uint32_t ts_clock_define(const char *name);
TS_API void ts_clock_sample(uint32_t clock, uint64_t tick, uint64_t host_tick,
                            uint64_t uncertainty_ns);

/* ==== 6. Hot path ======================================================== */

/*
    Everything an instrumented line executes while recording is here, inline.
    A ring is a power of two of 16-byte slots in a shared file mapping:

        a: tick << 8 | lap << 1 | 0      first slot of a record
        b: kind (6 bits) | ...           by kind
        then, for longer records, slots of 15 bytes of payload behind a byte
        lap << 1 | 1

    `lap` counts the times that the ring went round, modulo 128, so a slot
    tells whether it was written in this lap. A record is published by the
    store of `a`, which comes last.

    The slot is reserved by one instruction: a signal handler that records
    between any two instructions here gets slots of its own, and nothing is
    lost. `limit` keeps TS__RING_MARGIN slots in hand for what such handlers
    reserve between our check and our reservation.
*/
typedef struct ts__slot {
    uint64_t a, b;
} ts__slot;

typedef struct ts__open { // an open zone
    uint64_t start;
    uint64_t code_depth; // code | depth << 32
} ts__open;

#define TS__OPEN_MAX    256 // power of two; deeper zones are recorded as well
#define TS__RING_MARGIN 576

typedef struct ts__ring {
    // The producer's line. `gate` differs from ts__here's when the ring may
    // not be used: no session, or the thread has moved on to another ring.
    uint64_t head;  // next position
    uint64_t limit; // reserve only below it
    uint64_t mask;
    ts__slot *slots;
    uint32_t gate;
    uint32_t depth; // open zones
    uint32_t shift; // log2 of the slot count
    uint32_t unused;
    uint64_t more; // slots reserved beyond the first one of a record
    uint64_t line_end;
    // The consumer's line. Positions below tail are free again.
    uint64_t tail;
    uint64_t tail_end[7];
    ts__open open[TS__OPEN_MAX];
} ts__ring;

// Kinds of records, the low 6 bits of `b`.
enum {
    TS__REC_ZONE = 1,      // site << 6, duration << 32
    TS__REC_MARK = 2,      // site << 6
    TS__REC_COUNTER = 3,   // counter << 6, int32 value << 32
    TS__REC_COUNTER64 = 4, // counter << 6; payload: i64 value
    TS__REC_COUNTERF = 5,  // counter << 6; payload: double value
    TS__REC_FREE = 6,      // address << 16
    TS__REC_ALLOC = 7,     // address << 16; payload: u56 size, u32 pool, site
    TS__REC_FRAME = 8,     // site << 6
    TS__REC_ROW = 9,       // event kind << 6, slots << 16, bytes << 32;
                           // payload: ts__row_put's
    TS__REC_THREAD = 10,   // track << 6: whose records follow
    TS__REC_KERNEL = 11    // an ordinary kernel, see ts__kernel_put
};
#define TS__CODE_LIMIT (1u << 26) // sites and tracks that fit a record

#ifndef TS__PAGE_MOST // of the sizes that kernels are built with
#if defined(__x86_64__) || defined(__i386__)
#define TS__PAGE_MOST 4096
#else
#define TS__PAGE_MOST 65536
#endif
#endif
/*
    What a process looks at before it records. The kernel gives a page of zeros
    to a child that it copies the process for (MADV_WIPEONFORK), so that one
    which runs no handlers of fork leaves its parent's rings alone.
*/
typedef struct ts__page {
    uint32_t gate;    // 0: not recording, else the session's number
    uint32_t session; // the same, also when paused
    uint32_t tick;    // ts_clock_type of clock 0
} __attribute__((aligned(TS__PAGE_MOST))) ts__page;

#define TS__TLS __thread __attribute__((tls_model("initial-exec")))
#ifdef TS__STATIC // what section 12.2 defines otherwise
static ts__ring ts__none;
static ts__page ts__here;
static TS__TLS ts__ring *ts__mine = &ts__none;
#else
TS_API ts__page ts__here;
TS_API TS__TLS ts__ring *ts__mine;
#endif

#ifdef __cplusplus
#define TS__AS(type, value) static_cast<type>(value)
#define TS__ADDRESS(p)      reinterpret_cast<uintptr_t>(p)
#define TS__NULL            nullptr
#else
#define TS__AS(type, value) ((type)(value))
#define TS__ADDRESS(p)      ((uintptr_t)(p))
#define TS__NULL            NULL
#endif
#define TS__LIKELY(x)   __builtin_expect(!!(x), 1)
#define TS__UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TS__LOAD(p)     __atomic_load_n(p, __ATOMIC_RELAXED)
#define TS__STORE(p, v) __atomic_store_n(p, v, __ATOMIC_RELAXED)
// acquire: a name's number is known after the name; pairs with the releases in
// ts__site_code, ts__counter_code and ts__name_once
#define TS__CODE(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)

TS_API uint64_t ts__tick_slow(void);

// The machine's counter, whether or not it can be used.
#if defined(__x86_64__) || defined(__i386__)
#define TS__CLOCK_MACHINE TS_CLOCK_TSC
static inline uint64_t ts__tick_machine(void)
{
    // No fence: the order against neighbouring instructions is not worth
    // the 6 ns; see "Raw limits" in bench/README.md.
    return __builtin_ia32_rdtsc();
}
#elif defined(__aarch64__)
#define TS__CLOCK_MACHINE TS_CLOCK_CNTVCT
static inline uint64_t ts__tick_machine(void)
{
    uint64_t tick;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(tick));
    return tick;
}
#endif

static inline uint64_t ts__tick(void)
{
#if defined(TRACESMITH_TICK)
    return TRACESMITH_TICK();
#elif defined(TS__CLOCK_MACHINE)
    const uint32_t type = TS__LOAD(&ts__here.tick);
    if (TS__UNLIKELY(type != TS__CLOCK_MACHINE)) return ts__tick_slow();
    return ts__tick_machine();
#else
    return ts__tick_slow();
#endif
}

// Reserves count slots. One instruction on x86, so that a signal handler
// sees it done or not begun; not locked, because only this thread does it.
static inline uint64_t ts__ring_reserve(ts__ring *ring, uint64_t count)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    __asm__ volatile("xaddq %0, %1" : "+r"(count), "+m"(ring->head)::"cc");
    return count;
#else
    return __atomic_fetch_add(&ring->head, count, __ATOMIC_RELAXED);
#endif
}

// Adds to ring->more, also whole or not at all to a signal handler.
static inline void ts__ring_count_more(ts__ring *ring, uint64_t count)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    __asm__ volatile("addq %1, %0" : "+m"(ring->more) : "r"(count) : "cc");
#else
    __atomic_fetch_add(&ring->more, count, __ATOMIC_RELAXED);
#endif
}

static inline uint64_t ts__ring_tag(const ts__ring *ring, uint64_t position)
{
    return (position >> ring->shift & 127) << 1;
}

// Publishes a record of one slot at a reserved position.
static inline void ts__ring_publish(ts__ring *ring, uint64_t position,
                                    uint64_t tick, uint64_t b)
{
    ts__slot *const slot = &ring->slots[position & ring->mask];
    TS__STORE(&slot->b, b);
    // release: pairs with the acquire in ts__drain_ring
    __atomic_store_n(&slot->a, tick << 8 | ts__ring_tag(ring, position),
                     __ATOMIC_RELEASE);
}

// The calling thread's ring with room for count slots, NULL if it must not
// record now or the record is lost (and counted).
TS_API ts__ring *ts__ring_room(uint32_t count);

static inline ts__ring *ts__ring_get(uint32_t count)
{
    const uint32_t gate = TS__LOAD(&ts__here.gate);
    if (!gate) return TS__NULL;
    ts__ring *const ring = ts__mine;
    if (TS__UNLIKELY(TS__LOAD(&ring->gate) != gate ||
                     TS__LOAD(&ring->head) + count > TS__LOAD(&ring->limit)))
        return ts__ring_room(count);
    return ring;
}

/* ==== 7. Zones =========================================================== */

/*
    A zone is a span of one thread's time with a name. Zones nest. One that
    ends on another thread than it began on is recorded there: use a span.

    TS_ZONE(name)                   until the end of the block
    TS_ZONE(name, category)         the same with a category
    TS_ZONE(name, category, color)  and a colour 0xRRGGBB
    TS_FUNCTION()                   the same, named like the function
    TS_ZONE_NAME(text)              the same, with a name made at run time,
                                    which is looked up each time
    TS_ZONE_BEGIN(var, name)        declares `var` and begins a zone
    TS_ZONE_END(var)                ends it; a second time does nothing
    TS_ZONE_VALUE(name, number)     a named number of the innermost zone
    TS_ZONE_TEXT(text)              a text of the innermost zone, at most
                                    8,000 bytes are kept

    Names and categories of the others must be string literals.
*/
typedef struct ts_zone { // private
    uint64_t start;
    uint32_t code; // 0: nothing to end
    uint32_t depth;
} ts_zone;

// Slow cases of the two functions below.
TS_API uint32_t ts__site_code(ts_site *site);
TS_API void ts__zone_end_slow(ts_zone zone, uint64_t end);

static inline ts_zone ts__zone_begin_code(ts__ring *ring, uint32_t code)
{
    ts_zone zone;
    // The depth grows first: a handler's zones go above our entry.
    zone.depth = TS__LOAD(&ring->depth);
    TS__STORE(&ring->depth, zone.depth + 1);
    zone.code = code;
    zone.start = ts__tick();
    ts__open *const entry = &ring->open[zone.depth % TS__OPEN_MAX];
    TS__STORE(&entry->start, zone.start);
    TS__STORE(&entry->code_depth, code | TS__AS(uint64_t, zone.depth) << 32);
    return zone;
}

// Begins a zone by hand. Cost and threads: as TS_ZONE.
static inline ts_zone ts_zone_begin(ts_site *site)
{
    const ts_zone none = { 0, 0, 0 };
    ts_zone zone = none; // its code here: gcc fears setjmp for a variable's
    const uint32_t gate = TS__LOAD(&ts__here.gate);
    if (!gate) return none;
    zone.code = TS__CODE(&site->code);
    if (TS__UNLIKELY(!zone.code) && !(zone.code = ts__site_code(site)))
        return none;
    ts__ring *ring = ts__mine;
    if (TS__UNLIKELY(TS__LOAD(&ring->gate) != gate) &&
        !(ring = ts__ring_room(1)))
        return none;
    return ts__zone_begin_code(ring, zone.code);
}

// The zone of a site made by ts_site_define.
static inline ts_zone ts_zone_begin_site(uint32_t site)
{
    const ts_zone none = { 0, 0, 0 };
    ts__ring *const ring = site ? ts__ring_get(1) : TS__NULL;
    return ring ? ts__zone_begin_code(ring, site) : none;
}

static inline ts_zone ts__zone_begin_named(const char *name,
                                           const ts_site *base)
{
    const uint32_t on = TS__LOAD(&ts__here.gate);
    return ts_zone_begin_site(on ? ts_site_define(name, base) : 0);
}

static inline void ts_zone_end(ts_zone *zone)
{
    if (!zone->code) return;
    const uint64_t end = ts__tick(); // first: it may take the ring away
    ts__ring *const ring = ts__mine;
    const uint64_t duration = end - zone->start;
    if (TS__LIKELY(duration >> 32 == 0 &&
                   TS__LOAD(&ring->head) < TS__LOAD(&ring->limit))) {
        ts__ring_publish(ring, ts__ring_reserve(ring, 1), zone->start,
                         duration << 32 | zone->code << 6 | TS__REC_ZONE);
        // Only now: a crash in between leaves the zone recorded and open,
        // which salvage can tell; the other order could leave it neither.
        TS__STORE(&ring->depth, zone->depth);
    } else {
        // By value, so that the compiler may keep a zone in registers.
        ts__zone_end_slow(*zone, end);
    }
    zone->code = 0;
}

// Ends a zone around others that stay open, as ranges of libraries may do.
static inline void ts_zone_end_outer(ts_zone *zone)
{
    zone->depth = TS__LOAD(&ts__mine->depth);
    ts_zone_end(zone);
}

TS_API void ts_zone_value_int(const char *name, int64_t value);
TS_API void ts_zone_value_double(const char *name, double value);
TS_API void ts_zone_text(const char *text);

/* ==== 8. Marks, counters, memory, frames, flows, spans =================== */

/*
    TS_MARK(name[, category[, color]])  a moment on this thread
    TS_MESSAGE(text)              a text on this thread; at most 8,000 bytes
    TS_COUNTER(name, number)      a sample; the counter is the process's
    TS_ALLOC(ptr, size[, pool[, category]])  memory taken ...
    TS_FREE(ptr[, pool])          ... and given back. NULL is ignored
    TS_FRAME(name)                a frame ends and the next one begins
    TS_FLOW_START(id), _STEP, _END  an arrow through the zones around them
    TS_SPAN_START(id, name), TS_SPAN_END(id)  work that moves between threads
                                  or fibers; id is any u64, reusable after END
    TS_THREAD_NAME(text)          names the calling thread

    Names, pools and categories must be string literals; texts are copied.
*/
static inline void ts_mark(ts_site *site)
{
    ts__ring *const ring = ts__ring_get(1);
    if (!ring) return;
    const uint32_t known = TS__CODE(&site->code);
    const uint32_t code = TS__LIKELY(known) ? known : ts__site_code(site);
    if (TS__UNLIKELY(!code)) return;
    const uint64_t tick = ts__tick();
    ts__ring_publish(ring, ts__ring_reserve(ring, 1), tick,
                     TS__AS(uint64_t, code) << 6 | TS__REC_MARK);
}

// At a site made by ts_site_define.
static inline void ts_mark_site(uint32_t site)
{
    ts_site made = { TS__NULL, TS__NULL, TS__NULL, TS__NULL, 0, 0, site };
    if (site) ts_mark(&made);
}

TS_API uint32_t ts__counter_code(ts_counter *counter);
TS_API void ts__counter_wide(ts__ring *ring, uint32_t code, uint32_t record,
                             uint64_t value);

static inline void ts_counter_int(ts_counter *counter, int64_t value)
{
    ts__ring *const ring = ts__ring_get(2);
    if (!ring) return;
    const uint32_t known = TS__CODE(&counter->code);
    const uint32_t code = TS__LIKELY(known) ? known : ts__counter_code(counter);
    if (TS__UNLIKELY(!code)) return;
    if (TS__UNLIKELY(value != TS__AS(int32_t, value))) {
        ts__counter_wide(ring, code, TS__REC_COUNTER64,
                         TS__AS(uint64_t, value));
        return;
    }
    const uint64_t tick = ts__tick();
    ts__ring_publish(ring, ts__ring_reserve(ring, 1), tick,
                     TS__AS(uint64_t, TS__AS(uint32_t, value)) << 32 |
                         TS__AS(uint64_t, code) << 6 | TS__REC_COUNTER);
}

TS_API void ts_counter_double(ts_counter *counter, double value);
TS_API void ts_counter_uint(ts_counter *counter, uint64_t value);

// The same with the stack that asked, a number of ts_stack_define.
TS_API void ts_alloc_stack(const void *ptr, uint64_t size, uint32_t pool,
                           uint32_t category, uint32_t stack);
// The stack of the innermost open zone, likewise. 0 is ignored.
TS_API void ts_zone_stack(uint32_t stack);

// Any pool, category (names, 0 none), address and size.
TS_API void ts__alloc_slow(uint64_t address, uint64_t size, uint32_t pool,
                           uint32_t category);
TS_API void ts__free_slow(uint64_t address, uint32_t pool);

static inline void ts_alloc(const void *ptr, uint64_t size, uint32_t pool,
                            uint32_t category)
{
    const uint64_t address = TS__ADDRESS(ptr);
    ts__ring *const ring = ts__ring_get(2);
    if (!ring || !address) return;
    if (TS__UNLIKELY(category || address >> 48 || size >> 56)) {
        ts__alloc_slow(address, size, pool, category);
        return;
    }
    const uint64_t tick = ts__tick();
    const uint32_t depth = TS__LOAD(&ring->depth);
    uint64_t site =
        TS__LOAD(&ring->open[(depth - 1) % TS__OPEN_MAX].code_depth);
    if (site >> 32 != depth - 1) site = 0; // none, or known no more
    const uint64_t position = ts__ring_reserve(ring, 2);
    ts__ring_count_more(ring, 1);
    ts__slot *const more = &ring->slots[(position + 1) & ring->mask];
    TS__STORE(&more->b, site << 32 | pool);
    TS__STORE(&more->a, size << 8 | ts__ring_tag(ring, position + 1) | 1);
    ts__ring_publish(ring, position, tick, address << 16 | TS__REC_ALLOC);
}

static inline void ts_free(const void *ptr, uint32_t pool)
{
    const uint64_t address = TS__ADDRESS(ptr);
    ts__ring *const ring = ts__ring_get(1);
    if (!ring || !address) return;
    if (TS__UNLIKELY(pool || address >> 48)) {
        ts__free_slow(address, pool);
        return;
    }
    const uint64_t tick = ts__tick();
    ts__ring_publish(ring, ts__ring_reserve(ring, 1), tick,
                     address << 16 | TS__REC_FREE);
}

TS_API void ts_message(const char *text);
TS_API void ts_message_sized(const char *text, size_t size);
TS_API void ts_frame(ts_site *site);
TS_API void ts_flow(uint64_t id, ts_phase phase);
TS_API void ts_span_start(uint64_t id, ts_site *site);
static inline void ts_span_start_site(uint64_t id, uint32_t site)
{
    ts_site made = { TS__NULL, TS__NULL, TS__NULL, TS__NULL, 0, 0, site };
    if (site) ts_span_start(id, &made);
}
TS_API void ts_span_end(uint64_t id);

/*
    The macros. Each has an on and an off form; off evaluates nothing but
    still checks the types of its arguments.
*/
#define TS__JOIN2(a, b) a##b
#define TS__JOIN(a, b)  TS__JOIN2(a, b)
// An argument that is not given: a text or a number. C++ warns of a 0 for both.
#ifdef __cplusplus
struct ts__nothing {
    constexpr operator const char *() const
    {
        return nullptr;
    }
    constexpr operator uint32_t() const
    {
        return 0;
    }
};
#define TS__NONE ts__nothing()
#else
#define TS__NONE 0
#endif
#define TS__SKIP(expr) ((void)sizeof(expr))

#ifdef TRACESMITH_DISABLE
#define TS__IF_ON(on, off) off
#else
#define TS__IF_ON(on, off) on
#endif

// `var`, a static site; category and colour are optional.
#define TS__SITE(var, ...) TS__SITE4(var, __VA_ARGS__, TS__NONE, TS__NONE, 0)
#define TS__SITE4(var, name, category, color, ...) \
    static ts_site var = { name,     category, __func__, __FILE__, \
                           __LINE__, color,    0 }

#ifdef __cplusplus
struct ts__scope {
    ts_zone zone;
    explicit ts__scope(ts_zone begun) : zone(begun)
    {
    }
    ~ts__scope()
    {
        ts_zone_end(&zone);
    }
    ts__scope(const ts__scope &) = delete;
    ts__scope &operator=(const ts__scope &) = delete;
};
#define TS__SCOPE(var, begin) const ts__scope var(begin)
#else
#define TS__SCOPE(var, begin) \
    __attribute__((cleanup(ts_zone_end), unused)) ts_zone var = begin
#endif

// `n` makes the names of a zone's variables unique, also within a line.
#define TS__ZONE(n, ...) \
    TS__SITE(TS__JOIN(ts__site_, n), __VA_ARGS__); \
    TS__SCOPE(TS__JOIN(ts__zone_, n), ts_zone_begin(&TS__JOIN(ts__site_, n)))
#define TS__ZONE_NAME(n, text) \
    TS__SITE(TS__JOIN(ts__site_, n), TS__NONE); \
    TS__SCOPE(TS__JOIN(ts__zone_, n), \
              ts__zone_begin_named(text, &TS__JOIN(ts__site_, n)))
#define TS__WITH_SITE(call, ...) \
    do { \
        TS__SITE(ts__site, __VA_ARGS__); \
        call; \
    } while (0)
#define TS__SKIP_NAME(...) TS__SKIP_NAME3(__VA_ARGS__, 0, 0, 0)
#define TS__SKIP_NAME3(name, category, color, ...) \
    (TS__SKIP(name), TS__SKIP(category), TS__SKIP(color))

#define TS_ZONE(...) \
    TS__IF_ON(TS__ZONE(__COUNTER__, __VA_ARGS__), TS__SKIP_NAME(__VA_ARGS__))
#define TS_FUNCTION() TS__IF_ON(TS__ZONE(__COUNTER__, TS__NONE), TS__SKIP(0))
#define TS_ZONE_NAME(text) \
    TS__IF_ON(TS__ZONE_NAME(__COUNTER__, text), TS__SKIP(text))
#define TS_ZONE_BEGIN(var, ...) \
    TS__IF_ON(TS__SITE(TS__JOIN(ts__site_, var), __VA_ARGS__); \
              ts_zone var = ts_zone_begin(&TS__JOIN(ts__site_, var)), \
              TS__SKIP_NAME(__VA_ARGS__))
#define TS_ZONE_END(var) TS__IF_ON(ts_zone_end(&var), ((void)0))
#define TS_ZONE_VALUE(name, number) \
    TS__IF_ON(TS__NUMBER(ts_zone_value, name, number), \
              (TS__SKIP(name), TS__SKIP(number)))
#define TS_ZONE_TEXT(text) TS__IF_ON(ts_zone_text(text), TS__SKIP(text))
#define TS_MARK(...) \
    TS__IF_ON(TS__WITH_SITE(ts_mark(&ts__site), __VA_ARGS__), \
              TS__SKIP_NAME(__VA_ARGS__))
#define TS_MESSAGE(text) TS__IF_ON(ts_message(text), TS__SKIP(text))
#define TS_COUNTER(name, number) \
    TS__IF_ON(TS__COUNTER(name, number), (TS__SKIP(name), TS__SKIP(number)))
#define TS__COUNTER(name, number) \
    do { \
        static ts_counter ts__counter_ = { name, 0 }; \
        TS__NUMBER(ts_counter, &ts__counter_, number); \
    } while (0)
#define TS_ALLOC(ptr, ...) \
    TS__IF_ON(TS__ALLOC(ptr, __VA_ARGS__, TS__NONE, TS__NONE, 0), \
              (TS__SKIP(ptr), TS__SKIP_NAME(__VA_ARGS__)))
#define TS__ALLOC(ptr, size, pool, category, ...) \
    do { \
        static uint32_t ts__pool = 0, ts__category = 0; \
        if (TS__LOAD(&ts__here.gate)) \
            ts_alloc(ptr, size, ts__name_once(&ts__pool, pool), \
                     ts__name_once(&ts__category, category)); \
    } while (0)
#define TS_FREE(...) \
    TS__IF_ON(TS__FREE(__VA_ARGS__, TS__NONE, 0), TS__SKIP_NAME(__VA_ARGS__))
#define TS__FREE(ptr, pool, ...) \
    do { \
        static uint32_t ts__pool = 0; \
        if (TS__LOAD(&ts__here.gate)) \
            ts_free(ptr, ts__name_once(&ts__pool, pool)); \
    } while (0)
#define TS_FRAME(...) \
    TS__IF_ON(TS__WITH_SITE(ts_frame(&ts__site), __VA_ARGS__), \
              TS__SKIP_NAME(__VA_ARGS__))
#define TS_FLOW_START(id) TS__IF_ON(ts_flow(id, TS_PHASE_START), TS__SKIP(id))
#define TS_FLOW_STEP(id)  TS__IF_ON(ts_flow(id, TS_PHASE_STEP), TS__SKIP(id))
#define TS_FLOW_END(id)   TS__IF_ON(ts_flow(id, TS_PHASE_END), TS__SKIP(id))
#define TS_SPAN_START(id, ...) \
    TS__IF_ON(TS__WITH_SITE(ts_span_start(id, &ts__site), __VA_ARGS__), \
              (TS__SKIP(id), TS__SKIP_NAME(__VA_ARGS__)))
#define TS_SPAN_END(id)      TS__IF_ON(ts_span_end(id), TS__SKIP(id))
#define TS_THREAD_NAME(text) TS__IF_ON(ts_thread_name(text), TS__SKIP(text))

// The name of a literal, looked up once for each place.
static inline uint32_t ts__name_once(uint32_t *known, const char *text)
{
    if (!text) return 0;
    uint32_t name = TS__CODE(known);
    if (TS__UNLIKELY(!name)) {
        name = ts_name_define(text);
        __atomic_store_n(known, name, __ATOMIC_RELEASE);
    }
    return name;
}

// Calls PREFIX_int, PREFIX_uint or PREFIX_double by the type of number.
static inline void ts_zone_value_uint(const char *name, uint64_t value)
{
    if (value > INT64_MAX)
        ts_zone_value_double(name, TS__AS(double, value));
    else
        ts_zone_value_int(name, TS__AS(int64_t, value));
}
#ifdef __cplusplus
extern "C++" {
#define TS__OVERLOAD(type, kind, as) \
    static inline void ts_zone_value(const char *name, type value) \
    { \
        ts_zone_value_##kind(name, as); \
    } \
    static inline void ts_counter_sample(ts_counter *counter, type value) \
    { \
        ts_counter_##kind(counter, as); \
    }
TS__OVERLOAD(bool, int, value)
TS__OVERLOAD(char, int, value)
TS__OVERLOAD(signed char, int, value)
TS__OVERLOAD(unsigned char, int, value)
TS__OVERLOAD(short, int, value)
TS__OVERLOAD(unsigned short, int, value)
TS__OVERLOAD(int, int, value)
TS__OVERLOAD(unsigned int, int, value)
TS__OVERLOAD(long, int, value)
TS__OVERLOAD(unsigned long, uint, value)
TS__OVERLOAD(long long, int, value)
TS__OVERLOAD(unsigned long long, uint, value)
TS__OVERLOAD(float, double, value)
TS__OVERLOAD(double, double, value)
TS__OVERLOAD(long double, double, static_cast<double>(value))
#undef TS__OVERLOAD
}
#define TS__NUMBER(prefix, a, number)          TS__NUMBER_##prefix(a, number)
#define TS__NUMBER_ts_zone_value(name, number) ts_zone_value(name, number)
#define TS__NUMBER_ts_counter(counter, number) \
    ts_counter_sample(counter, number)
#else
#define TS__NUMBER(prefix, first, number) \
    _Generic((number), float \
             : prefix##_double, double \
             : prefix##_double, unsigned long \
             : prefix##_uint, unsigned long long \
             : prefix##_uint, default \
             : prefix##_int)(first, number)
#endif

/* ==== 9. GPU ============================================================= */

/*
    How a backend, or an app with an accelerator of its own, reports devices
    and what ran on them. backends/ts_vdev.h is the model.

    Definitions may be made before a session and stay valid in later ones.
    Every definition returns a number, 0 on failure; the same description
    gives a new number each time, so keep it. Names are copied.

    Threads: any. Operations may be reported late, in any order.
*/
typedef struct ts_gpu_device_desc {
    const char *name TS__UNSET;
    uint32_t index TS__UNSET;  // as the vendor counts
    uint32_t parent TS__UNSET; // track (the process)
} ts_gpu_device_desc;

typedef struct ts_gpu_context_desc {
    const char *name TS__UNSET; // ("context NUMBER")
    uint32_t device TS__UNSET;  // track
    uint64_t number TS__UNSET;  // vendor's identifier
} ts_gpu_context_desc;

typedef struct ts_gpu_stream_desc {
    const char *name TS__UNSET; // ("stream NUMBER")
    uint32_t context TS__UNSET; // track, or a device's track
    uint64_t number TS__UNSET;  // vendor's identifier
    int32_t priority TS__UNSET; // vendor's scale, -32768 to 32767 (0)
    uint32_t flags TS__UNSET;   // TS_STREAM_... (0)
} ts_gpu_stream_desc;

// A kernel and its launch configuration. Sizes in bytes; 0 is unknown.
typedef struct ts_gpu_launch_desc {
    const char *name TS__UNSET; // as the vendor gives it
    uint32_t grid[3] TS__UNSET, block[3] TS__UNSET, cluster[3] TS__UNSET;
    uint32_t registers TS__UNSET; // per thread
    uint32_t static_shared TS__UNSET, dynamic_shared TS__UNSET;
    uint32_t local TS__UNSET; // per thread
} ts_gpu_launch_desc;

TS_API uint32_t ts_gpu_device_define(const ts_gpu_device_desc *desc);
TS_API uint32_t ts_gpu_context_define(const ts_gpu_context_desc *desc);
TS_API uint32_t ts_gpu_stream_define(const ts_gpu_stream_desc *desc);
// The same description gives the same number; looking it up costs a hash.
TS_API uint32_t ts_gpu_launch_define(const ts_gpu_launch_desc *desc);

// Who launched an operation: take it on the launching thread, hand it in
// with the operation. All zero while nothing is recorded.
typedef struct ts_gpu_origin {
    uint32_t thread, site, stack;
} ts_gpu_origin;
TS_API ts_gpu_origin ts_gpu_origin_here(void);

// Who knows the calling thread's stack, a number of ts_stack_define, asked by
// ts_gpu_origin_here while something is recorded; NULL: nobody.
// backends/ts_stack.h sets it.
TS_API void ts_gpu_origin_stacks(uint32_t (*stack_here)(void));

// One finished operation. Zero is "unknown" in every field but `kind`,
// `track`, `start` and `end`.
typedef struct ts_gpu_op {
    ts_event_kind kind TS__UNSET; // TS_EVENT_KERNEL and later
    uint32_t track TS__UNSET;     // stream; context or device for a device_sync
    uint32_t clock TS__UNSET;     // of the four times (0: ts_tick_now)
    uint64_t queued TS__UNSET;    // the host asked for it
    uint64_t submitted TS__UNSET; // it went to the device
    // it ran; end < start is refused and counted
    uint64_t start TS__UNSET, end TS__UNSET;
    uint64_t correlation TS__UNSET; // ties it to its API call
    ts_gpu_origin origin TS__UNSET;
    union {
        struct {
            uint32_t launch;
            uint64_t graph_node, graph;
        } kernel;
        struct {
            uint32_t type; // 1 h2d, 2 d2h, 3 d2d, 4 h2h, 5 peer
            uint32_t memory;
            uint64_t size, source, destination;
            uint32_t peer; // device track
        } memcpy;
        struct {
            uint64_t size, destination, value;
        } memset;
        struct {
            uint64_t id;     // the event, or what a sync waited for
            uint64_t record; // event_wait: correlation of the record
        } event;
        struct {
            uint64_t address;
            uint32_t name;
        } host_function;
        struct {
            uint64_t graph;
        } graph_launch;
        struct {
            uint32_t name, type, peer, ranks;
            uint64_t communicator, sequence, size;
            uint32_t launch; // of its kernel, 0 unknown
        } collective;
        struct {
            uint64_t address, size;
            uint32_t pool, memory;
        } memory; // gpu_alloc, gpu_free
    } u TS__UNSET;
} ts_gpu_op;

TS_API void ts_gpu_op_record(const ts_gpu_op *op);

// A range of memory that an operation, or this thread, reads or writes.
// Copies, sets, allocations and frees need none: they tell themselves.
typedef struct ts_gpu_access {
    uint32_t track TS__UNSET; // where the operation lies (0: the host does it)
    uint32_t mode TS__UNSET;  // TS_ACCESS_...
    uint64_t correlation TS__UNSET; // of the operation, 0 for the host
    uint64_t address TS__UNSET, size TS__UNSET;
} ts_gpu_access;

// COARSE: somewhere in the range, as when only the allocation is known.
enum { TS_ACCESS_READ = 1, TS_ACCESS_WRITE = 2, TS_ACCESS_COARSE = 4 };

// Report those of the host when they happen: before the launch that is to
// see a write, after the wait that allows a read.
TS_API void ts_gpu_access_record(const ts_gpu_access *access);

// An order that the program asked for beside that of streams and events.
typedef struct ts_gpu_dependency {
    uint32_t track TS__UNSET;       // where what waits lies
    uint32_t type TS__UNSET;        // a ts_dependency
    uint64_t correlation TS__UNSET; // of what waits
    // of what must have ended: operations, or the call
    uint64_t after TS__UNSET;
} ts_gpu_dependency;

// Neither need have been reported yet. Threads: any that records.
TS_API void ts_gpu_dependency_record(const ts_gpu_dependency *dependency);

// A call of a runtime or driver function.
typedef struct ts_api_call {
    uint32_t name TS__UNSET; // of the function
    uint32_t stack TS__UNSET;
    uint64_t start TS__UNSET, end TS__UNSET; // clock 0
    uint64_t correlation TS__UNSET, result TS__UNSET;
    uint32_t thread TS__UNSET; // track of who called (this thread)
} ts_api_call;
TS_API void ts_api_call_record(const ts_api_call *call);

/*
    Something that reports by itself while a session runs: a vendor's capture
    interface, another library that traces. Sessions start and stop those that
    were added, in the order in which they were added; functions may be NULL.

    start: begins to report, after recording has begun; TS_OK, or why not:
           TS_ERR_NOT_FOUND (what it captures is not there), and `why`
           receives one clause for people, with its zero at most `room` bytes.
           A session starts without it, and says so in its metadata as
           `backend.NAME`.
    flush: hands over what is complete, from ts_session_flush.
    stop:  hands over everything, in bounded time, before recording ends. Also
           at exit, when libraries may be gone already.

    Threads: those that start, flush and stop the session; one at a time.
             In a child made by fork nothing is called, also if it follows; a
             session that it starts itself starts them again. They let go of
             what they have by themselves, as they know best.
*/
typedef struct ts_backend {
    const char *name TS__UNSET; // lower case: "nvtx"
    ts_result (*start)(char *why, size_t room) TS__UNSET;
    void (*flush)(void) TS__UNSET;
    void (*stop)(void) TS__UNSET;
} ts_backend;

// Adds a backend, once, for all sessions from now on; it starts at once if a
// session runs. Errors: TS_ERR_USAGE (NULL, no name), TS_ERR_MEMORY (more
// than 16).
// Lifetime: the backend stays for as long as the process.
TS_API ts_result ts_backend_add(const ts_backend *backend);

/*
    Frames for backends. `hook` is called when a TS_FRAME of this name was
    recorded (`sure`), and when a backend says that something begins which a
    user may take for a frame, such as a zone or a mark; on the thread that
    does so, and so it returns at once unless somebody waits for frames. A hint
    is a load if nobody listens.

    Errors:   TS_ERR_MEMORY (more than 4).
    Lifetime: the hook stays for as long as the process.
*/
TS_API ts_result ts_frame_listen(void (*hook)(const char *name, bool sure));
TS_API void ts_frame_hint(const char *name);

/* ==== 10. Losses and salvage ============================================= */

// A backend saw that count records of `track` between two ticks of clock 0
// are missing. detail: says which, copied, may be NULL.
TS_API void ts_loss_report(uint32_t track, ts_loss cause, const char *detail,
                           uint64_t count, uint64_t first, uint64_t last);

#if !defined(TS__STATIC) || defined(TRACESMITH_SALVAGE) || \
    defined(TRACESMITH_REPLAY_IMPLEMENTATION)
/*
    Moves what a dead process left in its sidecar into its trace, finishes
    the trace and removes the sidecar. Does nothing to a finished trace.

    records: receives how many were saved; may be NULL.
    Errors:  TS_ERR_BUSY      the recording process lives
             TS_ERR_NOT_FOUND the trace is unfinished but no sidecar was found
                              (the index can still be rebuilt by a reader)
             TS_ERR_UNTRUSTED what lies in the sidecar's place is a link, others
                              may write to it, or it is another trace's
             TS_ERR_VERSION   made by another version of TraceSmith
             TS_ERR_NOT_FILE, TS_ERR_NOT_SBT, TS_ERR_IO, TS_ERR_DISK_FULL,
             TS_ERR_MEMORY
*/
TS_API ts_result ts_salvage(const char *trace, uint64_t *records);
#endif

/*
    With TRACESMITH_DISABLE the calls that record are gone as well: their
    arguments are type-checked and not evaluated. They report success, and 0
    for what they would define; ts_salvage reports TS_ERR_UNSUPPORTED.
*/
#ifdef TRACESMITH_DISABLE
static inline __attribute__((always_inline)) int ts__gone(size_t size)
{
    (void)size;
    return 0;
}
#define TS__GONE(type, call)      ((type)ts__gone(sizeof(call)))
#define TS__GONE_VOID(call)       ((void)sizeof((call, 0)))
#define ts_session_start(desc)    TS__GONE(ts_result, ts_session_start(desc))
#define ts_session_stop()         TS__GONE(ts_result, ts_session_stop())
#define ts_session_pause()        TS__GONE(ts_result, ts_session_pause())
#define ts_session_resume()       TS__GONE(ts_result, ts_session_resume())
#define ts_session_flush()        TS__GONE(ts_result, ts_session_flush())
#define ts_session_snapshot(path) TS__GONE(ts_result, ts_session_snapshot(path))
#define ts_name_define(text)      TS__GONE(uint32_t, ts_name_define(text))
#define ts_name_define_sized(text, size) \
    TS__GONE(uint32_t, ts_name_define_sized(text, size))
#define ts_site_define(name, base) \
    TS__GONE(uint32_t, ts_site_define(name, base))
#define ts_counter_define(name, unit, flags) \
    TS__GONE(uint32_t, ts_counter_define(name, unit, flags))
#define ts_metadata_int(track, key, value) \
    TS__GONE_VOID(ts_metadata_int(track, key, value))
#define ts_metadata_double(track, key, value) \
    TS__GONE_VOID(ts_metadata_double(track, key, value))
#define ts_metadata_text(track, key, value) \
    TS__GONE_VOID(ts_metadata_text(track, key, value))
#define ts_thread_name(name)  TS__GONE_VOID(ts_thread_name(name))
#define ts_thread_track()     TS__GONE(uint32_t, ts_thread_track())
#define ts_module_define(...) TS__GONE(uint32_t, ts_module_define(__VA_ARGS__))
#define ts_stack_define(frames, count) \
    TS__GONE(uint32_t, ts_stack_define(frames, count))
#define ts_gpu_origin_stacks(here) TS__GONE_VOID(ts_gpu_origin_stacks(here))
#define ts_backend_add(backend)    TS__GONE(ts_result, ts_backend_add(backend))
#define ts_frame_listen(hook)      TS__GONE(ts_result, ts_frame_listen(hook))
#define ts_frame_hint(name)        TS__GONE_VOID(ts_frame_hint(name))
#define ts_tick_now()              TS__GONE(uint64_t, ts_tick_now())
#define ts_clock_define(name)      TS__GONE(uint32_t, ts_clock_define(name))
#define ts_clock_sample(...)       TS__GONE_VOID(ts_clock_sample(__VA_ARGS__))
#define ts_gpu_device_define(desc) \
    TS__GONE(uint32_t, ts_gpu_device_define(desc))
#define ts_gpu_context_define(desc) \
    TS__GONE(uint32_t, ts_gpu_context_define(desc))
#define ts_gpu_stream_define(desc) \
    TS__GONE(uint32_t, ts_gpu_stream_define(desc))
#define ts_gpu_launch_define(desc) \
    TS__GONE(uint32_t, ts_gpu_launch_define(desc))
#define ts_gpu_op_record(op)         TS__GONE_VOID(ts_gpu_op_record(op))
#define ts_gpu_access_record(access) TS__GONE_VOID(ts_gpu_access_record(access))
#define ts_gpu_dependency_record(dependency) \
    TS__GONE_VOID(ts_gpu_dependency_record(dependency))
#define ts_api_call_record(call) TS__GONE_VOID(ts_api_call_record(call))
#define ts_loss_report(...)      TS__GONE_VOID(ts_loss_report(__VA_ARGS__))

#define ts_zone_begin(site)      ts__gone_zone(sizeof(ts_zone_begin(site)))
#define ts_zone_begin_site(site) ts__gone_zone(sizeof(ts_zone_begin_site(site)))
#define ts_zone_end(zone)        TS__GONE_VOID(ts_zone_end(zone))
#define ts_zone_end_outer(zone)  TS__GONE_VOID(ts_zone_end_outer(zone))
#define ts_zone_value_int(name, value) \
    TS__GONE_VOID(ts_zone_value_int(name, value))
#define ts_zone_value_uint(name, value) \
    TS__GONE_VOID(ts_zone_value_uint(name, value))
#define ts_zone_value_double(name, value) \
    TS__GONE_VOID(ts_zone_value_double(name, value))
#define ts_zone_text(text)           TS__GONE_VOID(ts_zone_text(text))
#define ts_mark(site)                TS__GONE_VOID(ts_mark(site))
#define ts_mark_site(site)           TS__GONE_VOID(ts_mark_site(site))
#define ts_counter_int(c, value)     TS__GONE_VOID(ts_counter_int(c, value))
#define ts_counter_uint(c, value)    TS__GONE_VOID(ts_counter_uint(c, value))
#define ts_counter_double(c, value)  TS__GONE_VOID(ts_counter_double(c, value))
#define ts_alloc(...)                TS__GONE_VOID(ts_alloc(__VA_ARGS__))
#define ts_free(ptr, pool)           TS__GONE_VOID(ts_free(ptr, pool))
#define ts_message(text)             TS__GONE_VOID(ts_message(text))
#define ts_message_sized(text, size) TS__GONE_VOID(ts_message_sized(text, size))
#define ts_frame(site)               TS__GONE_VOID(ts_frame(site))
#define ts_flow(id, phase)           TS__GONE_VOID(ts_flow(id, phase))
#define ts_span_start(id, site)      TS__GONE_VOID(ts_span_start(id, site))
#define ts_span_start_site(id, site) TS__GONE_VOID(ts_span_start_site(id, site))
#define ts_span_end(id)              TS__GONE_VOID(ts_span_end(id))

// Nothing is put into a trace: TS_ERR_UNSUPPORTED.
#define ts_salvage(trace, records) \
    (TS__GONE_VOID(ts_salvage(trace, records)), ts__gone_salvage(records))
static inline ts_result ts__gone_salvage(uint64_t *records)
{
    if (records) *records = 0;
    return TS_ERR_UNSUPPORTED;
}
static inline __attribute__((always_inline)) ts_zone ts__gone_zone(size_t size)
{
    const ts_zone none = { 0, 0, 0 };
    (void)size;
    return none;
}
static inline ts_result ts__gone_stats(ts_stats *stats)
{
    static ts_stats none; // zeros, in C++ too
    *stats = none;
    return TS_OK;
}
static inline ts_result ts__gone_blob(uint64_t hash[2])
{
    if (hash) hash[0] = hash[1] = 0;
    return TS_OK;
}
static inline ts_gpu_origin ts__gone_origin(void)
{
    static ts_gpu_origin none;
    return none;
}
#define ts_session_stats(stats) ts__gone_stats(stats)
#define ts_blob_put(bytes, size, hash) \
    (TS__GONE_VOID(ts_blob_put(bytes, size, hash)), ts__gone_blob(hash))
#define ts_blob_find(bytes, size, hash) \
    (TS__GONE_VOID(ts_blob_find(bytes, size, hash)), ts__gone_blob(hash))
#define ts_capture_put(record, size) \
    TS__GONE(ts_result, ts_capture_put(record, size))
#define ts_zone_inside(name) TS__GONE(bool, ts_zone_inside(name))
#define ts_gpu_origin_here() ts__gone_origin()
#endif

/* ==== 11. Writer ========================================================= */

#ifdef TRACESMITH_WRITER
/*
    Writes a trace of events whose times are known already: what an importer
    or a simulation makes. Nothing of a session is needed, and any number of
    writers may be open.

    Threads: each writer is used by one thread at a time.
*/
typedef struct ts_writer ts_writer;

typedef struct ts_writer_desc {
    // the trace. What is there is replaced by close, not before; until then it
    // grows in PATH.part
    const char *path TS__UNSET;
    // identity (a fixed one: the same calls give the same bytes)
    uint8_t session[16] TS__UNSET;
    uint64_t start_realtime_ns TS__UNSET; // Unix time of trace time 0 (unknown)
    uint32_t process TS__UNSET;      // identifier of the recorded one (unknown)
    bool compress TS__UNSET;         // zstd, needs TRACESMITH_ZSTD (false)
    uint64_t start_raw_ns TS__UNSET; // CLOCK_MONOTONIC_RAW at trace time 0 ...
    // and CLOCK_BOOTTIME, on the machine that the metadata `boot_id` names
    // (unknown)
    uint64_t start_boottime_ns TS__UNSET;
} ts_writer_desc;

// One value of an event besides its times.
typedef struct ts_writer_value {
    ts_column column;
    uint64_t value; // doubles as their bits
} ts_writer_value;

/*
    Begins a trace. *writer is NULL on failure. The first error of any later
    call is kept and returned by close; what comes after it is not written.

    Errors:  TS_ERR_USAGE no path, or one that is too long
             TS_ERR_IO    the file cannot be made
             TS_ERR_NOT_FILE something that is no file has its name
             TS_ERR_BUSY  another process is writing it
             TS_ERR_UNSUPPORTED `compress` without TRACESMITH_ZSTD
             TS_ERR_DISK_FULL, TS_ERR_MEMORY
*/
TS_API ts_result ts_writer_open(ts_writer **writer, const ts_writer_desc *desc);

// Dictionaries: equal entries give the same number. At most 65,535 bytes of a
// name, 64 of a build-id and 4,096 frames are kept. 0: no memory (an error).
TS_API uint32_t ts_writer_name(ts_writer *writer, const char *text,
                               size_t size);
TS_API uint32_t ts_writer_site(ts_writer *writer, const ts_site_entry *site);
TS_API uint32_t ts_writer_launch(ts_writer *writer,
                                 const ts_launch_entry *launch);
TS_API uint32_t ts_writer_module(ts_writer *writer,
                                 const ts_module_entry *module,
                                 const void *build_id, size_t build_id_size);
// frames: count elements, innermost first.
TS_API uint32_t ts_writer_stack(ts_writer *writer, const ts_frame_entry *frames,
                                uint32_t count);

// What a frame of a stack is called: lines, count elements, innermost first.
TS_API uint32_t ts_writer_symbol(ts_writer *writer, const ts_frame_entry *frame,
                                 const ts_line_entry *lines, uint32_t count);

// id 0 makes a new track, another one defines or redefines that one.
TS_API uint32_t ts_writer_track(ts_writer *writer, uint32_t id,
                                const ts_track_entry *track);

// A fact about a track, 0: about the session. value: as the type says, a
// double's bits, or a name.
TS_API void ts_writer_metadata(ts_writer *writer, uint32_t track,
                               const char *key, ts_value_type type,
                               uint64_t value);

// A row of the loss ledger. detail: a name or 0.
TS_API void ts_writer_loss(ts_writer *writer, uint32_t track, uint32_t cause,
                           uint32_t detail, uint64_t count, int64_t first_ns,
                           int64_t last_ns);

// The same of a stall, with the time that it took.
TS_API void ts_writer_stall(ts_writer *writer, uint32_t track, uint32_t cause,
                            uint32_t detail, uint64_t count, int64_t first_ns,
                            int64_t last_ns, uint64_t stall_ns);

/*
    Opens a finished trace to add names, symbols and metadata to it, in place:
    nothing that is there is changed. `names` and `symbols`: the highest
    numbers in use (ts_reader_entry). Until it is closed the trace is an
    unfinished one; abandoning it leaves the trace as it was.

    Errors:  TS_ERR_TRUNCATED the trace is not finished
             TS_ERR_BUSY      another process writes it
             TS_ERR_IO, TS_ERR_NOT_SBT, TS_ERR_MEMORY, TS_ERR_USAGE
*/
TS_API ts_result ts_writer_extend(ts_writer **writer, const char *path,
                                  uint32_t names, uint32_t symbols);

/*
    One event. Times may be negative and come in any order; equal ones stay
    in the order of the calls. Of two zones with the same start and end the
    inner one is given first. values: count others of the kind's columns
    (ts_event_columns), in any order; what is left out is 0. `duration_ns` of
    a kind without duration is ignored. An event that lies more than 2^61 ns
    from time 0, or whose duration is negative, is left out and counted in the
    ledger (TS_LOSS_BAD_RECORD).

    Errors, kept: TS_ERR_USAGE (unknown kind, a column it has not, track 0).
*/
TS_API void ts_writer_event(ts_writer *writer, ts_event_kind kind,
                            uint32_t track, int64_t start_ns,
                            int64_t duration_ns, const ts_writer_value *values,
                            size_t count);
// The same with a text (message, zone_arg), of which 65,535 bytes are kept.
TS_API void ts_writer_event_text(ts_writer *writer, ts_event_kind kind,
                                 uint32_t track, int64_t start_ns,
                                 int64_t duration_ns,
                                 const ts_writer_value *values, size_t count,
                                 const char *text, size_t text_size);

// Events of one kind as columns of `count` values.
typedef struct ts_rows {
    ts_event_kind kind TS__UNSET;
    uint32_t count TS__UNSET;
    uint32_t track TS__UNSET;         // of all of them, unless
    const uint32_t *tracks TS__UNSET; // this says it for each (NULL)
    const int64_t *start_ns TS__UNSET, *duration_ns TS__UNSET;
    // by ts_column (NULL: zeros)
    const uint64_t *values[TS_COLUMN_LIMIT] TS__UNSET;
    const uint32_t *text_sizes TS__UNSET; // (NULL: no texts)
    const char *const *texts TS__UNSET;
} ts_rows;

/*
    Many events at once: the same as ts_writer_event_text for each, but many
    rows become chunks as they stand, which costs a tenth. So they should lie
    in the order in which they were recorded. Columns that the kind does not
    have are ignored.

    Errors, kept: TS_ERR_USAGE (unknown kind, a track 0).
*/
TS_API void ts_writer_rows(ts_writer *writer, const ts_rows *rows);

/*
    Keeps bytes in the trace once, whoever asks how often.
    hash: receives the XXH3-128 of the bytes, low half first; may be NULL.
    Errors, kept: TS_ERR_USAGE (size over 2^32 - 32).
*/
TS_API void ts_writer_blob(ts_writer *writer, const void *bytes, size_t size,
                           uint64_t hash[2]);

// A record of an operation or of code, as section 13 of the specification has
// it. Blobs that it names come first.
TS_API void ts_writer_capture(ts_writer *writer, const void *record,
                              size_t size);

// What the machine's other clocks showed at a moment of the trace; moments
// come in order. uncertainty_ns: how far apart they were read.
TS_API void ts_writer_clock(ts_writer *writer, int64_t time_ns,
                            uint64_t realtime_ns, uint64_t boottime_ns,
                            uint64_t uncertainty_ns);

/*
    Makes `time_ns` the zero of the trace, as its readers see it, and says its
    Unix time (0: unknown). For sources that tell neither at their beginning;
    the times of the other calls keep their meaning. The last call counts.
*/
TS_API void ts_writer_origin(ts_writer *writer, int64_t time_ns,
                             uint64_t realtime_ns);

// The first error so far.
TS_API ts_result ts_writer_error(const ts_writer *writer);

/*
    Completes the trace and gives it its name. After an error nothing is left
    of it, and what was at `path` stays. Frees the writer in any case.

    Errors:  the first since the open: TS_ERR_IO, TS_ERR_DISK_FULL,
             TS_ERR_MEMORY, TS_ERR_USAGE.
*/
TS_API ts_result ts_writer_close(ts_writer *writer);
// Removes what was written and frees the writer. NULL is allowed.
TS_API void ts_writer_abandon(ts_writer *writer);
#endif // TRACESMITH_WRITER

#endif // TRACESMITH_H
