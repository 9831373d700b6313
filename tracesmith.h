// Made by make from the sections in src/record/: edit those.
/*
    tracesmith.h - record what a CPU + GPU program did into one file

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    WHAT IT DOES
        Records zones, marks, messages, counters, allocations, frames, flows,
        spans and GPU operations into one ring for each thread, and from there
        into an SBT file (docs/sbt-format.md). A record survives the death of
        the process from the moment its recording call has returned. Records
        that are lost for another reason are counted in the trace, with the
        cause.

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
            ts_session_start(&desc); // ts_session_stop returns its failure
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
        4. Session                      start, stop, flush, dump
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
#if defined(TRACESMITH_IMPLEMENTATION) && !defined(_FILE_OFFSET_BITS)
#define _FILE_OFFSET_BITS 64 // files of 2 GiB, on machines of 32 bits
#endif
#ifndef TRACESMITH_H
#define TRACESMITH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ==== 1. Options ========================================================= */
// src/record/public/options.h

/*
    TRACESMITH_IMPLEMENTATION  define it in one C11 or C++17 file: the
                               functions
    TRACESMITH_SALVAGE         beside it: ts_salvage as well, which readers
                               need; tracesmith_replay.h defines it where both
                               implementations are in one file
    TRACESMITH_DISABLE         every macro of sections 7 and 8 becomes
                               nothing; arguments are still type-checked
    TRACESMITH_ZSTD            the writer can compress (needs -lzstd)
    TRACESMITH_WRITER          beside it: section 11, ts_writer; libtracesmith
                               has it
    TRACESMITH_PICTURES        beside it: long traces get a top of their index,
                               and chunks of several streams pictures of each;
                               TRACESMITH_WRITER implies it
    TRACESMITH_NO_FILES        for systems without files (WebAssembly): as
                               TRACESMITH_DISABLE; tracesmith_replay.h then
                               reads traces in memory or through a function
    TRACESMITH_TICK()          another clock, for tests: an expression of type
                               uint64_t, nanoseconds, that never decreases
    TRACESMITH_STATIC          functions are static: for programs of one file,
                               whose compiler then drops unused functions
    TS_API                     how public functions are declared

    The recorder needs Linux. Elsewhere TRACESMITH_DISABLE compiles a program
    without recording, and tracesmith_replay.h reads traces.
*/
#if defined(_WIN32) && !defined(TRACESMITH_NO_FILES) && \
    (defined(TRACESMITH_DISABLE) || !defined(TRACESMITH_IMPLEMENTATION))
#define TRACESMITH_NO_FILES // no sidecars,
#define TS__WINDOWS_FILES   // but the reader opens paths
#endif
#if !defined(__linux__) && defined(TRACESMITH_IMPLEMENTATION) && \
    !defined(TRACESMITH_DISABLE) && !defined(TRACESMITH_NO_FILES)
#error "tracesmith.h records on Linux only: define TRACESMITH_DISABLE"
#define TRACESMITH_DISABLE
#define TRACESMITH_NO_FILES
#endif
#if defined(TRACESMITH_NO_FILES) && !defined(TRACESMITH_DISABLE)
#define TRACESMITH_DISABLE
#endif

#if defined(TRACESMITH_WRITER) && !defined(TRACESMITH_PICTURES)
#define TRACESMITH_PICTURES
#endif

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
// src/record/public/results.h

// Values are pinned; new ones are added at the end.
#define TS_RESULTS(X) \
    X(TS_OK, 0, "ok") \
    X(TS_ERR_USAGE, -1, "a call breaks the rules of its description") \
    X(TS_ERR_STATE, -2, "not possible in the current state of the session") \
    X(TS_ERR_MEMORY, -3, "out of memory") \
    X(TS_ERR_IO, -4, "a file could not be read or written") \
    X(TS_ERR_DISK_FULL, -5, "no space left on the disk") \
    X(TS_ERR_TRUNCATED, -6, "the file ends inside a chunk") \
    X(TS_ERR_CORRUPT, -7, "a chunk breaks the rules of the format") \
    X(TS_ERR_NOT_SBT, -8, "not an SBT file") \
    X(TS_ERR_VERSION, -9, "written by an incompatible version") \
    X(TS_ERR_UNSUPPORTED, -10, "not supported by this build") \
    X(TS_ERR_NOT_FOUND, -11, "not found in the trace") \
    X(TS_ERR_BUSY, -12, "the trace is still being written") \
    X(TS_ERR_NOT_FILE, -13, "a folder, a device or a named pipe, not a file") \
    X(TS_ERR_UNTRUSTED, -14, \
      "other users can access the sidecar, or it belongs to another trace")

typedef enum ts_result {
#define TS__X(name, value, text) name = value,
    TS_RESULTS(TS__X)
#undef TS__X
} ts_result;

// What a result means, as one lower-case clause without a full stop: "out of
// memory". Never NULL; static text, valid for ever. Threads: any.
TS_API const char *ts_result_text(ts_result result);

/* ==== 3. Format ========================================================== */
// src/record/public/format.h

/*
    The numbers of docs/sbt-format.md, which defines their meaning. The recorder
    and the reader in tracesmith_replay.h both use them.
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

// Limits of the top of the index.
#define TS_TOP_KINDS_MAX      256
#define TS_TOP_ROWS_MAX       2048
#define TS_TOP_ROW_CELLS_MAX  4096
#define TS_TOP_CELLS_MAX      65536
#define TS_TOP_DICTIONARY_MAX (768u << 10)

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
    TS_CHUNK_PICTURES = 19,
    TS_CHUNK_TOP = 31,
    TS_CHUNK_INDEX = 32,
    TS_CHUNK_END = 33
} ts_chunk_kind;

// Pictures of the tracks of the events chunk before it: this for each track
// behind u32 tracks and u32 cells, then the cells as in the index.
typedef struct ts_pictures_entry {
    uint32_t track, events;
} ts_pictures_entry;

// The top of the index: this, kinds, rows, the cells of all rows, and copies of
// the chunks of dictionaries.
typedef struct ts_top_header {
    uint32_t flags, kinds, rows, cells; // cells: of each row
    uint64_t dictionary;                // bytes of the copies
} ts_top_header;

enum { TS_TOP_DICTIONARY = 1 }; // flags: all dictionaries are there

// All events of a kind and a clock.
typedef struct ts_top_kind {
    uint32_t event, clock;
    uint64_t count, stored; // events, bytes of their chunks
    uint64_t first, last;   // ticks
} ts_top_kind;

// A picture of all events of a kind on a track.
typedef struct ts_top_row {
    uint32_t track, clock, event, unused;
    uint64_t first, width, count; // ticks; ticks of a cell; events
} ts_top_row;

typedef struct ts_top_cell {
    uint32_t id, busy; // of a counter's track: its f32 smallest and largest
    uint64_t count;
} ts_top_cell;

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
    X(SAMPLE, 15, "sample") \
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
    X(RANKS, 34, "ranks") \
    X(UNIT, 35, "unit")

typedef enum ts_column {
#define TS__X(name, value, text) TS_COLUMN_##name = value,
    TS_COLUMNS(TS__X)
#undef TS__X
} ts_column;
#define TS_COLUMN_LIMIT 36

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

// Returns the name of a ts_event_kind, such as "zone"; "unknown" for any other
// number. Static. Threads: any.
TS_API const char *ts_event_name(uint32_t kind);
// Returns the name of a ts_column, such as "start"; "unknown" for any other
// number. Static. Threads: any.
TS_API const char *ts_column_name(uint32_t column);
// Returns the name of a ts_loss, such as "ring_full"; "unknown" for any other
// number. Static. Threads: any.
TS_API const char *ts_loss_name(uint32_t cause);

// The columns that a writer of this version gives events of `kind`, in the
// order of the specification, without `track`; ends with 0. NULL: unknown.
TS_API const uint8_t *ts_event_columns(uint32_t kind);

/* ==== 4. Session ========================================================= */
// src/record/public/session.h

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
    What a child made by fork() does. A signal handler may fork as well: the
    record that it interrupted is made once, by the parent. Handlers of
    pthread_atfork may call every function of this header: in the child the
    first call takes effect at once; in the parent new sites and names are not
    recorded, and calls of this section fail with TS_ERR_STATE.

    A child that runs no such handlers (_Fork, clone) records nothing and can
    start no session; the same holds for its children. On Linux before 4.14
    such a child must call neither this library nor exit().
*/
typedef enum ts_fork {
    TS_FORK_QUIET = 0, // the child records nothing
    TS_FORK_FOLLOW = 1 // it starts its own session; `path` must hold %p
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
    // longest time from a record to its place in the file, about (500)
    uint32_t flush_ms TS__UNSET;
    uint32_t rank TS__UNSET; // rank of the process, for %r and merging (0)
    // zstd level 1-19, needs TRACESMITH_ZSTD (0: no)
    uint32_t compress TS__UNSET;
    int snapshot_signal TS__UNSET; // this signal writes a dump (0: none)
    // where dumps go; may also hold %n, the dump's number ("PATH.%n.sbt")
    const char *snapshot_path TS__UNSET;
    // folder of the rings (/dev/shm if it is a memory file system, else that of
    // the trace)
    const char *sidecar_dir TS__UNSET;
    const char *app TS__UNSET; // name of the program (its file name)
} ts_session_desc;

/*
    Starts recording. There is one session in a process; threads need no
    registration and may already run. Under ts-record the trace also becomes
    part of the one that ts-record writes. After a failure the program runs as
    it would without TraceSmith: recording calls do nothing, and ts_session_stop
    returns that failure again.

    Threads: any; calls of this section exclude each other.
    Errors:  TS_ERR_USAGE     a field is out of range, or no path
             TS_ERR_STATE     a session runs already (nested sessions)
             TS_ERR_IO        the trace cannot be created
             TS_ERR_NOT_FILE  `path` names a folder, a device or a pipe
             TS_ERR_BUSY      another process is writing it
             TS_ERR_DISK_FULL no room for the header or the first rings
             TS_ERR_MEMORY    the rings cannot be mapped
             TS_ERR_UNSUPPORTED `compress` without TRACESMITH_ZSTD
*/
TS_API ts_result ts_session_start(const ts_session_desc *desc);

/*
    Writes what is buffered and the index, and closes the trace. Zones that are
    open at this moment become zone_open events. Is called at exit if the
    program does not call it. After a start that failed it returns that failure,
    once, so that a program which checks only this result notices.

    Threads: others may go on recording; what they record from here on is not
             part of the trace.
    Errors:  TS_ERR_STATE nothing was started, or it was stopped already
             the first error since the start: TS_ERR_IO, TS_ERR_DISK_FULL (of
             the trace's disk or the rings'), TS_ERR_MEMORY (a ring could not
             be mapped). The loss ledger counts the records that it cost.
*/
TS_API ts_result ts_session_stop(void);

// Stops recording; the trace stays open. A zone that began before the pause and
// ends in it is recorded. Threads: any. Errors: TS_ERR_STATE without a session.
TS_API ts_result ts_session_pause(void);
// Records again after a pause. Threads: any. Errors: TS_ERR_STATE without a
// session.
TS_API ts_result ts_session_resume(void);

// Returns when everything recorded before the call is in the file (not
// necessarily on the disk). Errors: TS_ERR_STATE, and as ts_session_stop.
TS_API ts_result ts_session_flush(void);

/*
    Writes a dump: what the rings hold now, as a complete trace of its own.
    Recording goes on. With TS_POLICY_OVERWRITE the rings hold the last moments
    before the call; with another policy, what is not in the file yet.

    path: as in the desc, with %n too; NULL: the desc's snapshot_path.
    Errors: TS_ERR_STATE, TS_ERR_IO, TS_ERR_DISK_FULL.
*/
TS_API ts_result ts_session_snapshot(const char *path);

typedef struct ts_stats {
    uint64_t records;      // moved from the rings to the file so far
    uint64_t lost;         // sum of the losses of every cause
    uint64_t lost_by[16];  // by ts_loss
    uint64_t helped;       // times a producer drained its own ring
    uint64_t blocked;      // times a producer waited
    uint64_t stall_ns;     // that helping and waiting took
    uint64_t file_bytes;   // size of the trace
    uint64_t memory_bytes; // of rings
    uint32_t rings;        // in use or in the pool
    uint32_t threads;      // that recorded so far
    uint32_t generation;   // counts sessions of this process; 0: none yet
    bool recording;        // started and not paused
} ts_stats;

// The figures of the session, or of the last one after it was stopped.
// Threads: any. Errors: TS_ERR_USAGE when stats is NULL.
TS_API ts_result ts_session_stats(ts_stats *stats);

/* ==== 5. Names =========================================================== */
// src/record/public/names.h

/*
    A place in the source. The macros make a static one, whose strings are
    copied at the first hit, so that its module may be unloaded later. Other
    code may fill one in (all but `code`) and use it with ts_zone_begin. A NULL
    string is left out. Threads: any number may hit a site at once.
*/
typedef struct ts_site {
    const char *name, *category, *function, *file;
    uint32_t line;
    uint32_t color; // 0x00RRGGBB, 0 none
    uint32_t code;  // private: low half of a zone's record, 0 until the first
} ts_site;          // hit

typedef struct ts_counter { // a counter as the macros hold it
    const char *name;
    uint32_t code; // private: low half of a sample's record, 0 until the first
} ts_counter;      // hit

/*
    Returns the number of a text; the same text always has the same number. At
    most 65,535 bytes of it are kept. A known text costs a hash and one probe.

    Threads: any, and signal handlers. May be called before a session starts.
    Errors:  0 when the dictionary is full; records that need the number are
             then not made, and counted as dictionary_full.
*/
TS_API uint32_t ts_name_define(const char *text);
// The same for a text of `size` bytes, not terminated.
TS_API uint32_t ts_name_define_sized(const char *text, size_t size);

// The number of a site whose name is made at run time; `base` (may be NULL) has
// the other fields. Threads and errors: as ts_name_define.
TS_API uint32_t ts_site_define(const char *name, const ts_site *base);

typedef enum ts_counter_flag {
    TS_COUNTER_RATE = 1,     // the value is per second
    TS_COUNTER_MONOTONIC = 2 // the value never falls
} ts_counter_flag;
// Gives a counter its unit ("bytes", "%"; NULL: none) and flags. Returns the
// counter's track, 0 on failure. Optional: TS_COUNTER works without.
// Threads: any.
TS_API uint32_t ts_counter_define(const char *name, const char *unit,
                                  uint32_t flags);

/*
    Metadata: facts about the session (track 0) or about a track; ts-info and
    every export show them. A fact about the session belongs to the one that
    runs, or else to the next one, and ends with it. A fact about a track is in
    every later session of the process. key and text are copied. Threads: any.
*/

// States a fact that is a number.
TS_API void ts_metadata_int(uint32_t track, const char *key, int64_t value);
// States a fact that is a number in floating point.
TS_API void ts_metadata_double(uint32_t track, const char *key, double value);
// States a fact that is a text; NULL is ignored.
TS_API void ts_metadata_text(uint32_t track, const char *key,
                             const char *value);

// Names the calling thread from now on; the name is copied.
TS_API void ts_thread_name(const char *name);
// The calling thread's track; 0 when it cannot have one.
TS_API uint32_t ts_thread_track(void);

// A file mapped for execution, into which frames of stacks point. address,
// size: of its first mapping, in bytes. build_id may be NULL. Returns its
// number, 0 on failure. Threads: any.
TS_API uint32_t ts_module_define(const char *path, uint64_t address,
                                 uint64_t size, const void *build_id,
                                 size_t build_id_size);
// The number of a stack; the same stack always has the same number. frames:
// `count` elements, at most 256, innermost first. 0 on failure. Threads: any,
// and signal handlers.
TS_API uint32_t ts_stack_define(const ts_frame_entry *frames, uint32_t count);
/*
    Private: the number of a stack in its stored form, words of 32 bits. A word
    whose highest bit is 0 is a frame: the low 31 bits of its offset. A word
    whose highest bit is 1 comes before a frame and gives the module and the
    high bits of the offset of this frame and those after it; at first these
    are module 0 and 0. The function writes up to four words behind the last.
*/
#define TS__STACK_WHERE(module, offset) \
    (1u << 31 | (uint32_t)(module) << 17 | (uint32_t)((offset) >> 31))
enum { TS__STACK_WORDS = 2 * 256 + 4 };
TS_API uint32_t ts__stack_get(uint32_t *words, uint32_t count);

/*
    Stores bytes in the trace, at once; equal bytes are stored only once.
    hash: receives their XXH3-128, low half first; may be NULL.
    Threads: any.
    Errors: TS_ERR_STATE, TS_ERR_USAGE (size over 2^32 - 32), TS_ERR_IO,
            TS_ERR_DISK_FULL.
*/
TS_API ts_result ts_blob_put(const void *bytes, size_t size, uint64_t hash[2]);

// Whether the trace already holds these bytes: TS_OK or TS_ERR_NOT_FOUND. hash:
// receives their XXH3-128, also without a session; may be NULL. If bytes is
// NULL and size is not 0, the bytes with the hash *hash are looked for.
// Threads: any.
TS_API ts_result ts_blob_find(const void *bytes, size_t size, uint64_t hash[2]);

/*
    Stores a capture record: what is needed to run an operation again, laid out
    as section 13 of docs/sbt-format.md says. Store the blobs that it names
    first.

    Threads: any. Errors: as ts_blob_put.
*/
TS_API ts_result ts_capture_put(const void *record, size_t size);

// Whether the calling thread is inside a zone of this name. Slow: it searches
// the dictionary.
TS_API bool ts_zone_inside(const char *name);

// The present time in ticks of clock 0, in which records have their times.
// Threads: any, and signal handlers.
TS_API uint64_t ts_tick_now(void);

/*
    A clock of a device. Returns its number, 0 on failure. Its times are put on
    the trace's axis by samples. Threads: any.
*/
TS_API uint32_t ts_clock_define(const char *name);
/*
    A sample: the clock showed `tick` when clock 0 showed `host_tick`, with an
    error of at most uncertainty_ns. Give one before and one after the
    operations that the clock times. host_tick 0 means that the clock is
    CLOCK_MONOTONIC_RAW, for which one sample is enough. A sample in which
    either clock has gone backwards is left out and counted in the metadata
    clock.N.backwards. Threads: any.
*/
TS_API void ts_clock_sample(uint32_t clock, uint64_t tick, uint64_t host_tick,
                            uint64_t uncertainty_ns);

/* ==== 6. Hot path ======================================================== */
// src/record/public/hot_path.h

/*
    Everything an instrumented line executes while recording is here, inline.
    A ring is a power of two of 16-byte slots in a shared file mapping:

        a: tick << 8 | lap << 1 | 0      first slot of a record
        b: kind (6 bits) | ...           by kind
        then, for longer records, slots of 15 bytes of payload behind a byte
        lap << 1 | 1

    `lap` counts how often the ring has wrapped around, modulo 128, so that a
    slot shows whether it was written in the present lap. Storing `a`, which
    comes last, publishes the record.

    The slot is reserved by one instruction: a signal handler that records
    between any two instructions here gets slots of its own, and nothing is
    lost. `limit` leaves TS__RING_MARGIN slots free for what such handlers
    reserve between our check and our reservation.
*/
typedef struct ts__slot {
    uint64_t a, b;
} ts__slot;

#define TS__OPEN_MAX 256 // deeper zones are recorded as well
// An open zone. Those of a ring are spread over two arrays of eight bytes for
// each zone, which processors can index without a multiplication.
typedef struct ts__open {
    uint64_t start;
    uint64_t others[TS__OPEN_MAX - 1];
    uint32_t code;  // low half of the zone's record
    uint32_t depth; // UINT32_MAX: under construction
} ts__open;

#define TS__RING_MARGIN 576

typedef struct ts__ring {
    // The producer's line. `gate` differs from ts__here's when the ring may
    // not be used: no session, or the thread has moved on to another ring.
    uint64_t head;  // next position
    uint64_t limit; // reserve only below it
    uint64_t mask;
    uint64_t lap; // 1 << (57 - shift): see ts__ring_tag
    uint32_t gate;
    uint32_t quick; // the same if the machine's counter is the clock, else 0
    uint32_t depth; // open zones
    uint32_t shift; // log2 of the slot count
    ts__slot *slots;
    uint64_t more; // slots reserved beyond the first one of a record
    uint64_t open[2 * TS__OPEN_MAX]; // see ts__ring_open
    // The consumer's line. Positions below tail are free again.
    uint64_t tail;
    uint64_t tail_end[7];
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
    TS__REC_KERNEL = 11,   // an ordinary kernel, see ts__kernel_put
    TS__REC_VALUE = 12,    // site << 6, name << 32, ts_value_type << 58;
                           // payload: u56 0, u64 value; `a`: the zone's start
    TS__REC_FLOW = 13      // ts_phase << 6, id << 16
};
#define TS__CODE_LIMIT (1u << 26) // sites and tracks that fit a record
// The low half of a zone's record: what a ts_site and a ts_zone have as `code`.
#define TS__ZONE_CODE(site) ((site) << 6 | TS__REC_ZONE)

#ifndef TS__PAGE_MOST // largest page of any kernel
#if defined(__x86_64__) || defined(__i386__)
#define TS__PAGE_MOST 4096
#else
#define TS__PAGE_MOST 65536
#endif
#endif
/*
    What decides whether this process may record. In a child the kernel replaces
    the page by zeros (MADV_WIPEONFORK), so that a child which runs no handlers
    of fork cannot write into its parent's rings.
*/
typedef struct ts__page {
    uint32_t gate;    // 0: not recording, else the session's number
    uint32_t session; // the same, also when paused
    uint32_t tick;    // ts_clock_type of clock 0
} __attribute__((aligned(TS__PAGE_MOST))) ts__page;

#define TS__TLS __thread __attribute__((tls_model("initial-exec")))
#ifdef TS__STATIC // otherwise base/platform.h defines it
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
#define TS__COLD __attribute__((cold, nothrow))
// Where half a function in a call of its own would keep what it works on in
// memory.
#define TS__INLINE      static inline __attribute__((always_inline))
#define TS__LIKELY(x)   __builtin_expect(!!(x), 1)
#define TS__UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TS__LOAD(p)     __atomic_load_n(p, __ATOMIC_RELAXED)
#define TS__STORE(p, v) __atomic_store_n(p, v, __ATOMIC_RELAXED)
// acquire: a name's number is known after the name; pairs with the releases in
// ts__site_code, ts__counter_code and ts__name_once
#define TS__CODE(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)

TS_API uint64_t ts__tick_slow(void);

/*
    Comparisons with memory. The compilers load a word of which they were told
    that it is shared into a register first, which takes a register and makes
    the line longer.
*/
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && \
    defined(__GCC_ASM_FLAG_OUTPUTS__)
static inline bool ts__is(const uint32_t *p, uint32_t value)
{
    bool same;
    __asm__ volatile("cmpl %2, %1" : "=@cce"(same) : "m"(*p), "er"(value));
    return same;
}

static inline bool ts__below(uint64_t value, const uint64_t *limit)
{
    bool below;
    __asm__ volatile("cmpq %2, %1" : "=@ccb"(below) : "r"(value), "m"(*limit));
    return below;
}
#else
static inline bool ts__is(const uint32_t *p, uint32_t value)
{
    return TS__LOAD(p) == value;
}

static inline bool ts__below(uint64_t value, const uint64_t *limit)
{
    return value < TS__LOAD(limit);
}
#endif

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
#else
#define TS__CLOCK_MACHINE TS_CLOCK_MONOTONIC_RAW
static inline uint64_t ts__tick_machine(void)
{
    return ts__tick_slow();
}
#endif

// Whether ts__tick_machine is the clock; false in a child of fork whose page
// was wiped.
static inline bool ts__quick(void)
{
    return ts__is(&ts__here.tick, TS__CLOCK_MACHINE);
}

static inline uint64_t ts__tick(void)
{
#if defined(TRACESMITH_TICK)
    return TRACESMITH_TICK();
#else
    return TS__LIKELY(ts__quick()) ? ts__tick_machine() : ts__tick_slow();
#endif
}

// Reserves count slots. One instruction on x86, which a signal handler cannot
// interrupt half-way; not locked, because only this thread reserves here.
static inline uint64_t ts__ring_reserve(ts__ring *ring, uint64_t count)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    __asm__ volatile("xaddq %0, %1" : "+r"(count), "+m"(ring->head)::"cc");
    return count;
#else
    return __atomic_fetch_add(&ring->head, count, __ATOMIC_RELAXED);
#endif
}

// Where a ring keeps an open zone of a depth.
static inline ts__open *ts__ring_open(ts__ring *ring, uint32_t depth)
{
    void *const open = &ring->open[depth % TS__OPEN_MAX];
    return TS__AS(ts__open *, open);
}

// Counts one more open zone; before: how many there were.
static inline void ts__ring_deeper(ts__ring *ring, uint32_t before)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    (void)before;
    __asm__ volatile("incl %0" : "+m"(ring->depth)::"cc");
#else
    __atomic_store_n(&ring->depth, before + 1, __ATOMIC_RELEASE);
#endif
}

// Adds to ring->more, likewise indivisible for signal handlers.
static inline void ts__ring_count_more(ts__ring *ring, uint64_t count)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    __asm__ volatile("addq %1, %0" : "+m"(ring->more) : "r"(count) : "cc");
#else
    __atomic_fetch_add(&ring->more, count, __ATOMIC_RELAXED);
#endif
}

// The lap of a position, as slots have it: (position >> shift & 127) << 1.
static inline uint64_t ts__ring_tag(const ts__ring *ring, uint64_t position)
{
    return (position * ring->lap >> 57) << 1;
}

// Publishes a record of one slot at a reserved position.
static inline void ts__ring_publish(ts__ring *ring, uint64_t position,
                                    uint64_t tick, uint64_t b)
{
    ts__slot *const slot = &ring->slots[position & ring->mask];
    TS__STORE(&slot->b, b);
    // release: pairs with the acquire in ts__drain_ring
    __atomic_store_n(&slot->a, (tick << 8) + ts__ring_tag(ring, position),
                     __ATOMIC_RELEASE);
}

// Whether a ring has room for count slots, and some for signal handlers.
static inline bool ts__ring_has(const ts__ring *ring, uint32_t count)
{
    return ts__below(TS__LOAD(&ring->head) + (count - 1), &ring->limit);
}

// Whether count slots of a ring may be reserved in the session `gate` and be
// given times by the machine's counter.
static inline bool ts__ring_quick(const ts__ring *ring, uint32_t gate,
                                  uint32_t count)
{
    return ts__is(&ring->quick, gate) && ts__ring_has(ring, count);
}

// A record of one slot, now.
static inline void ts__ring_record(ts__ring *ring, uint64_t b)
{
    const uint64_t tick = ts__tick_machine();
    ts__ring_publish(ring, ts__ring_reserve(ring, 1), tick, b);
}

// The calling thread's ring with room for count slots, NULL if it must not
// record now or the record is lost (and counted).
TS_API ts__ring *ts__ring_room(uint32_t count);

static inline ts__ring *ts__ring_get(uint32_t count)
{
    const uint32_t gate = TS__LOAD(&ts__here.gate);
    if (!gate) return TS__NULL;
    ts__ring *const ring = ts__mine;
    if (TS__LIKELY(ts__is(&ring->gate, gate) && ts__ring_has(ring, count)))
        return ring;
    return ts__ring_room(count);
}

/* ==== 7. Zones =========================================================== */
// src/record/public/zones.h

/*
    A zone is a named interval of one thread's time; zones nest. A zone that
    ends on another thread is recorded on that thread: use a span for such work.

    TS_ZONE(name)                   until the end of the block
    TS_ZONE(name, category)         the same with a category
    TS_ZONE(name, category, color)  and a colour 0xRRGGBB
    TS_FUNCTION()                   the same, named after the function
    TS_ZONE_NAME(text)              the same, with a name made at run time,
                                    which is looked up each time
    TS_ZONE_BEGIN(var, name)        declares `var` and begins a zone
    TS_ZONE_END(var)                ends it; a second time does nothing
    TS_ZONE_VALUE(name, number)     a named number of the innermost zone
    TS_ZONE_TEXT(text)              a text of the innermost zone, at most
                                    8,000 bytes are kept

    All other names and categories must be string literals.
*/
typedef struct ts_zone { // private
    uint64_t start;
    uint32_t code; // low half of its record, 0: nothing to end
    uint32_t depth;
} ts_zone;

// All cases of the two functions below that are not the usual one, each in one
// call, so that little code lies in the way of the usual one.
TS_API TS__COLD ts_zone ts__zone_begin_slow(ts_site *site);
TS_API TS__COLD void ts__zone_end_slow(uint64_t start, uint32_t code,
                                       uint32_t depth);

/*
    What begins a zone sets its members one by one: compilers keep a structure
    that is copied as a whole in memory, or pack it. And what is known before is
    kept in them: of a variable gcc warns in functions that call setjmp.
*/
// quick: the machine's counter is known to be the clock.
TS__INLINE void ts__zone_open(ts_zone *zone, ts__ring *ring, bool quick)
{
    zone->depth = TS__LOAD(&ring->depth);
    ts__open *const open = ts__ring_open(ring, zone->depth);
    // Not the zone that had the entry before, which has ended: the process may
    // be killed before the entry is complete.
    TS__STORE(&open->depth, UINT32_MAX);
    // The depth grows first: a handler's zones go above our entry.
    ts__ring_deeper(ring, zone->depth);
    zone->start = quick ? ts__tick_machine() : ts__tick();
    // release: these and ts__ring_deeper pair with the acquires in
    // ts__open_zones
    __atomic_store_n(&open->start, zone->start, __ATOMIC_RELEASE);
    TS__STORE(&open->code, zone->code);
    __atomic_store_n(&open->depth, zone->depth, __ATOMIC_RELEASE);
}

TS__INLINE void ts__zone_begin(ts_zone *zone, ts_site *site)
{
    zone->start = zone->depth = 0;
    zone->code = TS__LOAD(&ts__here.gate);
    if (!zone->code) return;
    zone->depth = zone->code; // the gate
    zone->code = TS__CODE(&site->code);
    ts__ring *const ring = ts__mine;
    if (TS__LIKELY(zone->code && ts__is(&ring->quick, zone->depth))) {
        ts__zone_open(zone, ring, true);
        return;
    }
    ts_zone made = ts__zone_begin_slow(site);
    zone->start = made.start;
    zone->code = made.code;
    zone->depth = made.depth;
}

// A zone at a site made by ts_site_define (0: none).
static inline void ts__zone_begin_site(ts_zone *zone, uint32_t site)
{
    ts__ring *const ring = site ? ts__ring_get(1) : TS__NULL;
    zone->start = zone->depth = 0;
    zone->code = ring ? TS__ZONE_CODE(site) : 0;
    if (ring) ts__zone_open(zone, ring, false);
}

// As ts_site_define, for a static place of which only the name changes: its
// `code` becomes the number of the place.
TS_API uint32_t ts__site_named(const char *name, ts_site *base);

static inline void ts__zone_begin_named(ts_zone *zone, const char *name,
                                        ts_site *base)
{
    zone->code = TS__LOAD(&ts__here.gate);
    ts__zone_begin_site(zone, zone->code ? ts__site_named(name, base) : 0);
}

// Begins a zone by hand. Cost and threads: as TS_ZONE.
static inline ts_zone ts_zone_begin(ts_site *site)
{
    ts_zone zone;
    ts__zone_begin(&zone, site);
    return zone;
}

// Begins a zone at a site made by ts_site_define.
static inline ts_zone ts_zone_begin_site(uint32_t site)
{
    ts_zone zone;
    ts__zone_begin_site(&zone, site);
    return zone;
}

// Ends a zone of the calling thread; a second time does nothing.
TS__INLINE void ts_zone_end(ts_zone *zone)
{
    if (!zone->code) return;
    ts__ring *const ring = ts__mine;
    // All that can be known before the clock is read: what comes after it must
    // wait for it.
    if (TS__LIKELY(ts__quick() && ts__ring_has(ring, 1))) {
        const uint64_t duration = ts__tick_machine() - zone->start;
        const uint64_t turned = duration << 32 | duration >> 32;
        if (TS__LIKELY(TS__AS(uint32_t, turned) == 0)) {
            ts__ring_publish(ring, ts__ring_reserve(ring, 1), zone->start,
                             turned | zone->code);
            // Only now: a crash in between leaves the zone recorded and open,
            // which salvage can tell; the other order could leave it neither.
            // A signal handler may have given the thread a larger ring.
            TS__STORE(&ts__mine->depth, zone->depth);
            zone->code = 0;
            return;
        }
    }
    ts__zone_end_slow(zone->start, zone->code, zone->depth);
    zone->code = 0;
}

// Ends a zone while zones inside it are still open, as ranges of libraries may.
static inline void ts_zone_end_outer(ts_zone *zone)
{
    zone->depth = TS__LOAD(&ts__mine->depth);
    ts_zone_end(zone);
}

// Attaches a number to the innermost open zone; the name is copied.
TS_API void ts_zone_value_int(const char *name, int64_t value);
// Attaches a number in floating point to the innermost open zone; the name is
// copied.
TS_API void ts_zone_value_double(const char *name, double value);
// Attaches a text to the innermost open zone, of which 8,000 bytes are kept.
// NULL is ignored.
TS_API void ts_zone_text(const char *text);

/* ==== 8. Marks, counters, memory, frames, flows, spans =================== */
// src/record/public/events.h

/*
    TS_MARK(name[, category[, color]])  a moment on this thread
    TS_MESSAGE(text)              a text on this thread; at most 8,000 bytes
    TS_COUNTER(name, number)      a sample; counters belong to the process
    TS_ALLOC(ptr, size[, pool[, category]])  memory was allocated
    TS_FREE(ptr[, pool])          memory was freed; NULL is ignored
    TS_FRAME(name)                a frame ends and the next one begins
    TS_FLOW_START(id), _STEP, _END  an arrow through the zones around them
    TS_SPAN_START(id, name), TS_SPAN_END(id)  work that moves between threads
                                  or fibers; id is any u64, reusable after END
    TS_THREAD_NAME(text)          names the calling thread

    Names, pools and categories must be string literals; texts are copied.

    The functions below do what the macros do, from any thread and from signal
    handlers. While nothing is recorded they do nothing.
*/

// All cases of the function below that are not the usual one.
TS_API TS__COLD void ts__mark_slow(ts_site *site);

// Records a mark of a static site, whose texts must be literals.
static inline void ts_mark(ts_site *site)
{
    const uint32_t gate = TS__LOAD(&ts__here.gate);
    if (!gate) return;
    const uint32_t code = TS__CODE(&site->code);
    ts__ring *const ring = ts__mine;
    if (TS__LIKELY(code && ts__ring_quick(ring, gate, 1)))
        ts__ring_record(ring, code + (TS__REC_MARK - TS__REC_ZONE));
    else
        ts__mark_slow(site);
}

// Records a mark at a site made by ts_site_define (0: nothing).
static inline void ts_mark_site(uint32_t site)
{
    ts_site made = { TS__NULL, TS__NULL, TS__NULL,           TS__NULL,
                     0,        0,        TS__ZONE_CODE(site) };
    if (site) ts_mark(&made);
}

// All cases of the function below that are not the usual one.
TS_API TS__COLD void ts__counter_slow(ts_counter *counter, int64_t value);

// Records a sample of a static counter.
static inline void ts_counter_int(ts_counter *counter, int64_t value)
{
    const uint32_t gate = TS__LOAD(&ts__here.gate);
    if (!gate) return;
    const uint32_t code = TS__CODE(&counter->code);
    ts__ring *const ring = ts__mine;
    if (TS__LIKELY(code && value == TS__AS(int32_t, value) &&
                   ts__ring_quick(ring, gate, 1)))
        ts__ring_record(ring, TS__AS(uint64_t, value) << 32 | code);
    else
        ts__counter_slow(counter, value);
}

// Records a sample of a static counter, in floating point.
TS_API void ts_counter_double(ts_counter *counter, double value);
// Records an unsigned sample of a static counter; beyond INT64_MAX as a double.
TS_API void ts_counter_uint(ts_counter *counter, uint64_t value);

// As TS_ALLOC, with the call stack of the allocation: a number of
// ts_stack_define. pool: a name (0: none); site: see ts_site_define (0: none).
TS_API void ts_alloc_stack(const void *ptr, uint64_t size, uint32_t pool,
                           uint32_t category, uint32_t stack);
// Gives the innermost open zone its call stack, likewise. 0 is ignored.
TS_API void ts_zone_stack(uint32_t stack);

// Any pool, category (names, 0 none), address and size.
TS_API TS__COLD void ts__alloc_slow(uint64_t address, uint64_t size,
                                    uint32_t pool, uint32_t category);
TS_API TS__COLD void ts__free_slow(uint64_t address, uint32_t pool);

// Records an allocation of `size` bytes at ptr (NULL: nothing). pool, category:
// names (0: none). Its site is the innermost open zone's.
static inline void ts_alloc(const void *ptr, uint64_t size, uint32_t pool,
                            uint32_t category)
{
    const uint32_t gate = TS__LOAD(&ts__here.gate);
    if (!gate) return;
    const uint64_t address = TS__ADDRESS(ptr);
    ts__ring *const ring = ts__mine;
    if (TS__UNLIKELY(category || address >> 48 || size >> 56 ||
                     !ts__ring_quick(ring, gate, 2))) {
        ts__alloc_slow(address, size, pool, category);
        return;
    }
    if (!address) return;
    const uint64_t tick = ts__tick_machine();
    const uint32_t top = TS__LOAD(&ring->depth) - 1;
    const ts__open *const open = ts__ring_open(ring, top);
    uint64_t site = TS__LOAD(&open->code) >> 6;
    if (TS__LOAD(&open->depth) != top) site = 0; // none, or known no more
    const uint64_t position = ts__ring_reserve(ring, 2);
    ts__ring_count_more(ring, 1);
    ts__slot *const more = &ring->slots[(position + 1) & ring->mask];
    TS__STORE(&more->b, site << 32 | pool);
    TS__STORE(&more->a, (size << 8) + ts__ring_tag(ring, position + 1) + 1);
    ts__ring_publish(ring, position, tick, address << 16 | TS__REC_ALLOC);
}

// Records that memory at ptr was freed (NULL: nothing). pool: as ts_alloc had.
static inline void ts_free(const void *ptr, uint32_t pool)
{
    const uint32_t gate = TS__LOAD(&ts__here.gate);
    if (!gate) return;
    const uint64_t address = TS__ADDRESS(ptr);
    ts__ring *const ring = ts__mine;
    if (TS__UNLIKELY(pool || address >> 48 || !ts__ring_quick(ring, gate, 1)))
        ts__free_slow(address, pool);
    else if (address)
        ts__ring_record(ring, address << 16 | TS__REC_FREE);
}

// Records a message, which ends with a zero. NULL is ignored.
TS_API void ts_message(const char *text);
// Records a message of `size` bytes, of which at most 8,000 are kept. NULL is
// ignored.
TS_API void ts_message_sized(const char *text, size_t size);
// Records that a frame of a static site ends and the next one begins, and calls
// the hooks of ts_frame_listen.
TS_API void ts_frame(ts_site *site);
// Records an end or a step of an arrow; steps of equal ids are connected in
// order of time.
TS_API void ts_flow(uint64_t id, ts_phase phase);
// Records the start of a span of a static site.
TS_API void ts_span_start(uint64_t id, ts_site *site);
// Records the start of a span at a site made by ts_site_define (0: nothing).
static inline void ts_span_start_site(uint64_t id, uint32_t site)
{
    ts_site made = { TS__NULL, TS__NULL, TS__NULL,           TS__NULL,
                     0,        0,        TS__ZONE_CODE(site) };
    if (site) ts_span_start(id, &made);
}
// Records the end of the span with this id, on any thread.
TS_API void ts_span_end(uint64_t id);
// Records a sample of this thread: that it was at `stack`, a number of
// ts_stack_define, which stands for `weight` of what is sampled. name, unit:
// names, such as of "cpu" and "ns" (0: a plain count).
TS_API void ts_sample(uint32_t name, uint32_t unit, int64_t weight,
                      uint32_t stack);

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
    __attribute__((always_inline)) explicit ts__scope(ts_site *site)
    {
        ts__zone_begin(&zone, site);
    }
    ts__scope(const char *name, ts_site *base)
    {
        ts__zone_begin_named(&zone, name, base);
    }
    __attribute__((always_inline)) ~ts__scope()
    {
        ts_zone_end(&zone);
    }
    ts__scope(const ts__scope &) = delete;
    ts__scope &operator=(const ts__scope &) = delete;
};
#define TS__SCOPE(var, begin, ...) ts__scope var(__VA_ARGS__)
#else
#define TS__SCOPE(var, begin, ...) \
    __attribute__((cleanup(ts_zone_end), unused)) ts_zone var; \
    begin(&var, __VA_ARGS__)
#endif

// `n` makes the names of a zone's variables unique, also within a line.
#define TS__ZONE(n, ...) \
    TS__SITE(TS__JOIN(ts__site_, n), __VA_ARGS__); \
    TS__SCOPE(TS__JOIN(ts__zone_, n), ts__zone_begin, &TS__JOIN(ts__site_, n))
#define TS__ZONE_NAME(n, text) \
    TS__SITE(TS__JOIN(ts__site_, n), TS__NONE); \
    TS__SCOPE(TS__JOIN(ts__zone_, n), ts__zone_begin_named, text, \
              &TS__JOIN(ts__site_, n))
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
// src/record/public/gpu.h

/*
    Here a backend, or a program with its own accelerator, reports devices and
    what ran on them. backends/ts_vdev.h is the model to follow.

    Definitions may be made before a session and stay valid in later ones. Each
    definition returns a number, 0 on failure; defining the same thing again
    gives a new number, so keep the first. Names are copied.

    Threads: any. Operations may be reported late and in any order.
*/
typedef struct ts_gpu_device_desc {
    const char *name TS__UNSET;
    uint32_t index TS__UNSET;  // the vendor's number of the device
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

// Defines the track of a device. Returns its number, 0 on failure.
TS_API uint32_t ts_gpu_device_define(const ts_gpu_device_desc *desc);
// Defines the track of a context of a device. Returns its number, 0 on failure.
TS_API uint32_t ts_gpu_context_define(const ts_gpu_context_desc *desc);
// Defines the track of a stream, on which operations lie. Returns its number, 0
// on failure.
TS_API uint32_t ts_gpu_stream_define(const ts_gpu_stream_desc *desc);
// Returns the number of a kernel with its configuration, 0 on failure. The same
// description gives the same number; looking it up costs a hash.
TS_API uint32_t ts_gpu_launch_define(const ts_gpu_launch_desc *desc);

// Who launched an operation. Take it on the launching thread and report it with
// the operation. All zeros while nothing is recorded.
typedef struct ts_gpu_origin {
    uint32_t thread, site, stack;
} ts_gpu_origin;
// Returns the calling thread's track, innermost open zone, and stack if a
// function for stacks is set. Threads: any.
TS_API ts_gpu_origin ts_gpu_origin_here(void);

// Sets the function that ts_gpu_origin_here calls, while a session records, for
// the calling thread's stack: a number of ts_stack_define. NULL: no stacks.
// backends/ts_stack.h sets it.
TS_API void ts_gpu_origin_stacks(uint32_t (*stack_here)(void));

// One finished operation. Zero is "unknown" in every field but `kind`,
// `track`, `start` and `end`.
typedef struct ts_gpu_op {
    ts_event_kind kind TS__UNSET; // TS_EVENT_KERNEL and later
    uint32_t track TS__UNSET;     // stream; context or device for a device_sync
    uint32_t clock TS__UNSET;     // of the four times (0: ts_tick_now)
    uint64_t queued TS__UNSET;    // the host requested it
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

// Records a finished operation; what is wrong in it is counted as bad_record.
// Threads: any.
TS_API void ts_gpu_op_record(const ts_gpu_op *op);

// A range of memory that an operation, or this thread, reads or writes. Copies,
// memsets, allocations and frees need none: their own records say it.
typedef struct ts_gpu_access {
    uint32_t track TS__UNSET; // where the operation lies (0: the host does it)
    uint32_t mode TS__UNSET;  // TS_ACCESS_...
    uint64_t correlation TS__UNSET; // of the operation, 0 for the host
    uint64_t address TS__UNSET, size TS__UNSET;
} ts_gpu_access;

// COARSE: somewhere within the range, for example when only the allocation is
// known.
enum { TS_ACCESS_READ = 1, TS_ACCESS_WRITE = 2, TS_ACCESS_COARSE = 4 };

// Reports an access. Report accesses of the host at the moment they happen: a
// write before the launch that is to see it, a read after the wait that allows
// it. Threads: any.
TS_API void ts_gpu_access_record(const ts_gpu_access *access);

// An order that the program demands in addition to that of streams and events.
typedef struct ts_gpu_dependency {
    uint32_t track TS__UNSET;       // of the operation that waits
    uint32_t type TS__UNSET;        // a ts_dependency
    uint64_t correlation TS__UNSET; // of the operation that waits
    // correlation of what must have ended: operations, or the call
    uint64_t after TS__UNSET;
} ts_gpu_dependency;

// Reports an order; neither operation needs to have been reported yet.
// Threads: any that records.
TS_API void ts_gpu_dependency_record(const ts_gpu_dependency *dependency);

// A call of a runtime or driver function.
typedef struct ts_api_call {
    uint32_t name TS__UNSET; // of the function
    uint32_t stack TS__UNSET;
    uint64_t start TS__UNSET, end TS__UNSET; // clock 0
    uint64_t correlation TS__UNSET, result TS__UNSET;
    uint32_t thread TS__UNSET; // track of who called (this thread)
} ts_api_call;
// Records a call that has returned. Threads: any that records.
TS_API void ts_api_call_record(const ts_api_call *call);

/*
    A source of events that reports by itself while a session runs: a vendor's
    tracing interface, or another library that traces. A session starts and
    stops the backends in the order in which they were added; functions may be
    NULL.

    start: begins to report; called after recording has begun. Returns TS_OK or
           an error (TS_ERR_NOT_FOUND: what it would trace is not there) with
           one clause for people in `why`, of at most `room` bytes with its
           terminating zero. The session then runs without this backend, and its
           metadata says so as `backend.NAME`.
    flush: reports what is complete; called by ts_session_flush.
    stop:  reports everything, in bounded time; called before recording ends,
           also at exit, when libraries may already be unloaded.

    Threads: those that start, flush and stop the session; one at a time.
             In a child made by fork none of them is called, not even with
             TS_FORK_FOLLOW; a session that the child itself starts calls start.
             Each backend releases by itself what it holds from the parent.
*/
typedef struct ts_backend {
    const char *name TS__UNSET; // lower case: "nvtx"
    ts_result (*start)(char *why, size_t room) TS__UNSET;
    void (*flush)(void) TS__UNSET;
    void (*stop)(void) TS__UNSET;
} ts_backend;

// Adds a backend to all sessions from now on; if a session runs, the backend
// starts at once. Threads: any. Errors: TS_ERR_USAGE (NULL, no name),
// TS_ERR_MEMORY (more than 16). Lifetime: *backend must remain valid until the
// process ends.
TS_API ts_result ts_backend_add(const ts_backend *backend);

/*
    Calls `hook` at each frame, on the thread that reports it: with `sure` when
    a TS_FRAME was recorded, without when a backend reports by ts_frame_hint
    that something begins which a user may regard as a frame, such as a zone or
    a mark. The hook must return quickly.

    Threads:  any.
    Errors:   TS_ERR_MEMORY (more than 4).
    Lifetime: the hook must remain valid until the process ends.
*/
TS_API ts_result ts_frame_listen(void (*hook)(const char *name, bool sure));
// Tells the hooks of ts_frame_listen that something of this name begins, which
// a user may regard as a frame. Records nothing. Threads: any.
TS_API void ts_frame_hint(const char *name);

/* ==== 10. Losses and salvage ============================================= */
// src/record/public/losses.h

// Reports that `count` records of `track` between two ticks of clock 0 are
// missing. detail: one clause that says which, copied; may be NULL. Threads:
// any.
TS_API void ts_loss_report(uint32_t track, ts_loss cause, const char *detail,
                           uint64_t count, uint64_t first, uint64_t last);

#if !defined(TS__STATIC) || defined(TRACESMITH_SALVAGE) || \
    defined(TRACESMITH_REPLAY_IMPLEMENTATION)
/*
    Moves what a dead process left in its sidecar into its trace, finishes
    the trace and removes the sidecar. Does nothing to a finished trace.

    records: receives how many records were moved; may be NULL.
    Threads: any; of two that salvage one trace the second finds it finished.
    Errors:  TS_ERR_BUSY      the recording process lives
             TS_ERR_NOT_FOUND the trace is unfinished but no sidecar was found
                              (the index can still be rebuilt by a reader)
             TS_ERR_UNTRUSTED the file at the sidecar's path is a link, can be
                              written by others, or belongs to another trace
             TS_ERR_VERSION   made by another version of TraceSmith
             TS_ERR_NOT_FILE, TS_ERR_NOT_SBT, TS_ERR_IO, TS_ERR_DISK_FULL,
             TS_ERR_MEMORY
*/
TS_API ts_result ts_salvage(const char *trace, uint64_t *records);
#endif

/*
    With TRACESMITH_DISABLE recording calls compile to nothing, too: arguments
    are type-checked and not evaluated. They return success, and 0 for what they
    would define; ts_salvage returns TS_ERR_UNSUPPORTED.
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
#define ts_sample(...)               TS__GONE_VOID(ts_sample(__VA_ARGS__))
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
// src/record/public/writer.h

#ifdef TRACESMITH_WRITER
/*
    Writes a trace of events whose times are already known, as an importer or a
    simulation needs. No session is needed, and any number of writers may be
    open.

    Threads: each writer is used by one thread at a time.
    Processes: a child made by fork may only close or abandon a writer that it
    inherits. Both free it there and leave the file to the parent; close returns
    TS_ERR_USAGE.
*/
typedef struct ts_writer ts_writer;

typedef struct ts_writer_desc {
    // the trace. An existing file is replaced by ts_writer_close, not before;
    // until then the trace grows in PATH.part
    const char *path TS__UNSET;
    // identity of the trace (a fixed one, so that equal calls give equal bytes)
    uint8_t session[16] TS__UNSET;
    uint64_t start_realtime_ns TS__UNSET; // Unix time of trace time 0 (unknown)
    uint32_t process TS__UNSET;           // identifier of the process (unknown)
    bool compress TS__UNSET;              // zstd, needs TRACESMITH_ZSTD (false)
    uint64_t start_raw_ns TS__UNSET; // CLOCK_MONOTONIC_RAW at trace time 0 ...
    // and CLOCK_BOOTTIME, on the machine that the metadata `boot_id` names
    // (unknown)
    uint64_t start_boottime_ns TS__UNSET;
    // that encode and compress chunks, the caller's included; at most 32. The
    // bytes of the trace do not depend on it. Each takes about 4 MB (1)
    uint32_t threads TS__UNSET;
} ts_writer_desc;

// One value of an event besides its times.
typedef struct ts_writer_value {
    ts_column column;
    uint64_t value; // doubles as their bits
} ts_writer_value;

/*
    Begins a trace. *writer is NULL on failure. The first error of any later
    call is kept and returned by close; what comes after it is not written. With
    several threads an error of the file may be found some calls later.

    Errors:  TS_ERR_USAGE no path, or one that is too long
             TS_ERR_IO    the file cannot be made
             TS_ERR_NOT_FILE `path` names a folder, a device or a pipe
             TS_ERR_BUSY  another process is writing it
             TS_ERR_UNSUPPORTED `compress` without TRACESMITH_ZSTD
             TS_ERR_DISK_FULL, TS_ERR_MEMORY
*/
TS_API ts_result ts_writer_open(ts_writer **writer, const ts_writer_desc *desc);

// Dictionaries: equal entries have the same number. Each function returns 0
// when there is no memory, which ts_writer_close reports.

// Returns the number of a text of `size` bytes, of which 65,535 are kept.
TS_API uint32_t ts_writer_name(ts_writer *writer, const char *text,
                               size_t size);
// Returns the number of a site; its texts are numbers of ts_writer_name.
TS_API uint32_t ts_writer_site(ts_writer *writer, const ts_site_entry *site);
// Returns the number of a kernel with its configuration.
TS_API uint32_t ts_writer_launch(ts_writer *writer,
                                 const ts_launch_entry *launch);
// Returns the number of a module. build_id: of which 64 bytes are kept; NULL:
// none.
TS_API uint32_t ts_writer_module(ts_writer *writer,
                                 const ts_module_entry *module,
                                 const void *build_id, size_t build_id_size);
// Returns the number of a stack. frames: `count` elements, innermost first, of
// which 4,096 are kept.
TS_API uint32_t ts_writer_stack(ts_writer *writer, const ts_frame_entry *frames,
                                uint32_t count);

// The symbol of a frame. lines: `count` elements, innermost first (inlined
// functions).
TS_API uint32_t ts_writer_symbol(ts_writer *writer, const ts_frame_entry *frame,
                                 const ts_line_entry *lines, uint32_t count);

// Defines a track and returns its id. id 0: a new one; otherwise the track with
// that id, which may be defined again.
TS_API uint32_t ts_writer_track(ts_writer *writer, uint32_t id,
                                const ts_track_entry *track);

// A fact about a track (0: about the session). value: by its type an integer,
// the bits of a double, or the number of a name.
TS_API void ts_writer_metadata(ts_writer *writer, uint32_t track,
                               const char *key, ts_value_type type,
                               uint64_t value);

// A row of the loss ledger. detail: a name or 0.
TS_API void ts_writer_loss(ts_writer *writer, uint32_t track, uint32_t cause,
                           uint32_t detail, uint64_t count, int64_t first_ns,
                           int64_t last_ns);

// The same for a stall, with the time that it took in nanoseconds.
TS_API void ts_writer_stall(ts_writer *writer, uint32_t track, uint32_t cause,
                            uint32_t detail, uint64_t count, int64_t first_ns,
                            int64_t last_ns, uint64_t stall_ns);

/*
    Opens a finished trace to add names, symbols and metadata in place; what it
    holds already is not changed. `names` and `symbols`: the highest numbers in
    use (ts_reader_entry). Until the writer is closed the trace is unfinished;
    ts_writer_abandon leaves it as it was.

    Errors:  TS_ERR_TRUNCATED the trace is not finished
             TS_ERR_BUSY      another process writes it
             TS_ERR_IO, TS_ERR_NOT_SBT, TS_ERR_MEMORY, TS_ERR_USAGE
*/
TS_API ts_result ts_writer_extend(ts_writer **writer, const char *path,
                                  uint32_t names, uint32_t symbols);

/*
    Writes one event. Times may be negative and come in any order; events of
    equal time keep the order of the calls. Of two zones with the same start and
    end, write the inner one first. values: `count` other columns of the kind
    (ts_event_columns), in any order; those left out are 0. `duration_ns` of
    a kind without duration is ignored. An event that lies more than 2^61 ns
    from time 0, or whose duration is negative, is left out and counted in the
    ledger (TS_LOSS_BAD_RECORD).

    Errors, kept: TS_ERR_USAGE (unknown kind, a column that the kind does not
    have, track 0).
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
    Writes many events at once: the same as ts_writer_event_text for each, at a
    tenth of the cost, because many rows become chunks as they are. The rows
    should be in the order in which they were recorded. Columns that the kind
    does not have are ignored.

    Errors, kept: TS_ERR_USAGE (unknown kind, a track 0).
*/
TS_API void ts_writer_rows(ts_writer *writer, const ts_rows *rows);

/*
    Stores bytes in the trace; equal bytes are stored only once.
    hash: receives the XXH3-128 of the bytes, low half first; may be NULL.
    Errors, kept: TS_ERR_USAGE (size over 2^32 - 32).
*/
TS_API void ts_writer_blob(ts_writer *writer, const void *bytes, size_t size,
                           uint64_t hash[2]);

// Stores a capture record, laid out as section 13 of docs/sbt-format.md says.
// Store the blobs that it names first.
TS_API void ts_writer_capture(ts_writer *writer, const void *record,
                              size_t size);

// What the machine's other clocks showed at time_ns of the trace. Samples come
// in order of time. uncertainty_ns: the time that reading the clocks took.
TS_API void ts_writer_clock(ts_writer *writer, int64_t time_ns,
                            uint64_t realtime_ns, uint64_t boottime_ns,
                            uint64_t uncertainty_ns);

/*
    Makes `time_ns` the zero of the trace as readers see it, and gives its Unix
    time (0: unknown). For sources that give neither at their beginning; times
    passed to other calls keep their meaning. The last call counts.
*/
TS_API void ts_writer_origin(ts_writer *writer, int64_t time_ns,
                             uint64_t realtime_ns);

// The first error so far; TS_OK is final only from ts_writer_close.
TS_API ts_result ts_writer_error(const ts_writer *writer);

/*
    Completes the trace and moves it to `path`. After an error the trace is
    removed and an existing file at `path` is unchanged. Always frees the
    writer.

    Errors:  the first since the open: TS_ERR_IO, TS_ERR_DISK_FULL,
             TS_ERR_MEMORY, TS_ERR_USAGE (also in a child made by fork).
*/
TS_API ts_result ts_writer_close(ts_writer *writer);
// Removes what was written and frees the writer. NULL is allowed. A child made
// by fork removes nothing.
TS_API void ts_writer_abandon(ts_writer *writer);
#endif // TRACESMITH_WRITER

#endif // TRACESMITH_H

/* ==== 12. Implementation ================================================= */
// src/record/base/implementation.h

// The implementation is C that C++ compiles too: its casts and NULL are C's.
#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wzero-as-null-pointer-constant"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wuseless-cast"
#endif
#endif

/* ---- 12.1 Sidecars, for the recorder and for readers -------------------- */
// src/record/base/sidecar.h

#if ((defined(TRACESMITH_IMPLEMENTATION) && !defined(TRACESMITH_DISABLE)) || \
     defined(TRACESMITH_REPLAY_IMPLEMENTATION)) && \
    !defined(TS__SIDECAR_IMPLEMENTED)
#define TS__SIDECAR_IMPLEMENTED

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "traces are little-endian, this machine is not: TRACESMITH_DISABLE"
#undef TRACESMITH_IMPLEMENTATION
#undef TRACESMITH_REPLAY_IMPLEMENTATION
#elif !defined(TRACESMITH_NO_FILES)
#include <sys/mman.h>
#endif
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ // refused above
#elif defined(TRACESMITH_IMPLEMENTATION) && !defined(MREMAP_MAYMOVE) && \
    !defined(TRACESMITH_NO_FILES)
#error "include tracesmith.h before system headers, or define _GNU_SOURCE"
#undef TRACESMITH_IMPLEMENTATION // one error is enough
#undef TRACESMITH_REPLAY_IMPLEMENTATION
#elif !defined(TRACESMITH_NO_FILES)
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef F_OFD_SETLK
#define F_OFD_SETLK 37 // Linux 3.15
#endif
#define TS__PATH_MAX      4096

// Flags for opening a file that somebody else may have put there: do not wait
// for a pipe, do not follow a link.
#define TS__OPEN_STRANGE  (O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC)

// The beginning of a sidecar.
typedef struct ts__sidecar_head {
    uint8_t magic[8];
    uint32_t layout; // sizeof(ts__sidecar), catches other versions
    uint16_t tick_type;
    uint16_t overwrites;      // a flight recorder's rings
    ts_file_header header;    // of the trace
    uint64_t device, inode;   // the trace's; 0: it has not been made yet
    char trace[TS__PATH_MAX]; // its path
} ts__sidecar_head;
#define TS__SIDECAR_MAGIC "TSRIN4\x1a\n"

// The sidecar's name in a directory; false if it is too long.
static bool ts__sidecar_name(char *out, const char *dir,
                             const uint8_t session[16])
{
    uint64_t word[2]; // the session's bytes as two numbers
    memcpy(word, session, sizeof word);
    return snprintf(out, TS__PATH_MAX,
                    "%s/tracesmith-%016" PRIx64 "%016" PRIx64 ".ring", dir,
                    __builtin_bswap64(word[0]),
                    __builtin_bswap64(word[1])) < TS__PATH_MAX;
}

static void ts__directory_of(char *out, const char *path)
{
    const char *const slash = strrchr(path, '/');
    if (!slash) path = ".";
    const size_t size = slash && slash != path ? (size_t)(slash - path) : 1;
    memcpy(out, path, size);
    out[size] = 0;
}

// Whether this user made the file and nobody else can have changed it. Root
// also accepts files of the trace's owner.
static bool ts__sidecar_own(int fd, uid_t owner)
{
    struct stat st;
    const uid_t user = geteuid();
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink <= 1 &&
           !(st.st_mode & (S_IWGRP | S_IWOTH)) &&
           (st.st_uid == user || (!user && st.st_uid == owner));
}

// Opens the folder of a path, so that the file which was checked is the one
// that is removed: whoever may write to a folder above can redirect the path in
// between, but not an open folder.
static inline int ts__folder_open(const char *path, const char **name)
{
    char dir[TS__PATH_MAX];
    const char *const slash = strrchr(path, '/');
    if (strlen(path) >= sizeof dir) return -1;
    ts__directory_of(dir, path);
    *name = slash ? slash + 1 : path;
    return open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

// Removes a path if it still names the open file.
static inline bool ts__unlink_open(const char *path, int fd)
{
    const char *name;
    struct stat there, ours;
    const int folder = ts__folder_open(path, &name);
    const bool done = folder >= 0 && fstat(fd, &ours) == 0 &&
                      fstatat(folder, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
                      there.st_dev == ours.st_dev &&
                      there.st_ino == ours.st_ino &&
                      unlinkat(folder, name, 0) == 0;
    if (folder >= 0) close(folder);
    return done;
}
#endif // files, little-endian, headers included early enough
#endif // TS__SIDECAR_IMPLEMENTED

#if defined(TRACESMITH_IMPLEMENTATION) && !defined(TS__IMPLEMENTED)
#define TS__IMPLEMENTED

#include <string.h>

// Most of what follows runs rarely and is optimised for size; rings/ and
// encode/ run for each record and are not.
#ifdef __clang__
#define TS__SMALL_BEGIN \
    _Pragma("clang attribute push(__attribute__((minsize)), apply_to=function)")
#define TS__SMALL_END _Pragma("clang attribute pop")
#elif __GNUC__ >= 12
#define TS__SMALL_BEGIN \
    _Pragma("GCC push_options") _Pragma("GCC optimize(\"Oz\")")
#define TS__SMALL_END _Pragma("GCC pop_options")
#else
#define TS__SMALL_BEGIN \
    _Pragma("GCC push_options") _Pragma("GCC optimize(\"Os\")")
#define TS__SMALL_END _Pragma("GCC pop_options")
#endif
TS__SMALL_BEGIN

/* ---- 12.2 Texts of results, events and columns -------------------------- */
// src/record/base/texts.h

// Lists that end with NULL: a table is smaller than a switch.
typedef struct ts__text {
    int number;
    const char *text;
} ts__text;

static const char *ts__text_of(const ts__text *list, int number,
                               const char *otherwise)
{
    while (list->text && list->number != number)
        list++;
    return list->text ? list->text : otherwise;
}

#define TS__X(name, value, text) { value, text },
#define TS__TEXT_OF(list, number, otherwise) \
    static const ts__text texts[] = { list(TS__X){ 0, NULL } }; \
    return ts__text_of(texts, (int)(number), otherwise)

const char *ts_result_text(ts_result result)
{
    TS__TEXT_OF(TS_RESULTS, result, "unknown result");
}

const char *ts_event_name(uint32_t kind)
{
    TS__TEXT_OF(TS_EVENTS, kind, "unknown");
}

const char *ts_column_name(uint32_t column)
{
    TS__TEXT_OF(TS_COLUMNS, column, "unknown");
}

const char *ts_loss_name(uint32_t cause)
{
    TS__TEXT_OF(TS_LOSSES, cause, "unknown");
}
#undef TS__X
#undef TS__TEXT_OF

#define TS__COLUMNS_PER_EVENT 16

const uint8_t *ts_event_columns(uint32_t kind)
{
#define TS__C(name) TS_COLUMN_##name
#define TS__GPU \
    TS__C(START), TS__C(DURATION), TS__C(CORRELATION), TS__C(QUEUED), \
        TS__C(SUBMITTED), TS__C(THREAD), TS__C(SITE), TS__C(STACK)
    // By event kind; 0 is none.
    static const uint8_t columns[TS_EVENT_LIMIT][TS__COLUMNS_PER_EVENT + 1] = {
        { 0 },
        // zone
        { TS__C(START), TS__C(DURATION), TS__C(SITE) },
        // zone_open
        { TS__C(START), TS__C(SITE), TS__C(DEPTH) },
        // zone_arg
        { TS__C(START), TS__C(SITE), TS__C(NAME), TS__C(TYPE), TS__C(VALUE),
          TS__C(STACK), TS__C(TEXT) },
        // mark
        { TS__C(START), TS__C(SITE) },
        // message
        { TS__C(START), TS__C(SITE), TS__C(TEXT) },
        // counter
        { TS__C(START), TS__C(TYPE), TS__C(VALUE) },
        // frame
        { TS__C(START), TS__C(SITE) },
        // alloc
        { TS__C(START), TS__C(ADDRESS), TS__C(SIZE), TS__C(POOL),
          TS__C(CATEGORY), TS__C(SITE), TS__C(STACK) },
        // free
        { TS__C(START), TS__C(ADDRESS), TS__C(POOL) },
        // flow
        { TS__C(START), TS__C(ID), TS__C(PHASE) },
        // span
        { TS__C(START), TS__C(ID), TS__C(PHASE), TS__C(SITE) },
        // api_call
        { TS__C(START), TS__C(DURATION), TS__C(NAME), TS__C(CORRELATION),
          TS__C(RESULT), TS__C(STACK) },
        // dependency
        { TS__C(START), TS__C(TYPE), TS__C(CORRELATION), TS__C(RECORD) },
        // access
        { TS__C(START), TS__C(ADDRESS), TS__C(SIZE), TS__C(TYPE),
          TS__C(CORRELATION) },
        // sample
        { TS__C(START), TS__C(NAME), TS__C(UNIT), TS__C(TYPE), TS__C(VALUE),
          TS__C(STACK) },
        // kernel
        { TS__GPU, TS__C(LAUNCH), TS__C(GRAPH_NODE), TS__C(GRAPH) },
        // memcpy
        { TS__GPU, TS__C(TYPE), TS__C(SIZE), TS__C(SOURCE), TS__C(ADDRESS),
          TS__C(MEMORY), TS__C(PEER) },
        // memset
        { TS__GPU, TS__C(SIZE), TS__C(ADDRESS), TS__C(VALUE) },
        // event_record
        { TS__GPU, TS__C(ID) },
        // event_wait
        { TS__GPU, TS__C(ID), TS__C(RECORD) },
        // stream_sync
        { TS__GPU, TS__C(ID) },
        // device_sync
        { TS__GPU },
        // event_sync
        { TS__GPU, TS__C(ID) },
        // host_function
        { TS__GPU, TS__C(ADDRESS), TS__C(NAME) },
        // graph_launch
        { TS__GPU, TS__C(GRAPH) },
        // collective
        { TS__GPU, TS__C(NAME), TS__C(COMMUNICATOR), TS__C(SEQUENCE),
          TS__C(SIZE), TS__C(TYPE), TS__C(PEER), TS__C(RANKS), TS__C(LAUNCH) },
        // gpu_alloc
        { TS__GPU, TS__C(ADDRESS), TS__C(SIZE), TS__C(POOL), TS__C(MEMORY) },
        // gpu_free
        { TS__GPU, TS__C(ADDRESS), TS__C(POOL) },
    };
#undef TS__GPU
#undef TS__C
    if (kind >= TS_EVENT_LIMIT || !columns[kind][0]) return NULL;
    return columns[kind];
}

TS__SMALL_END

#ifndef TRACESMITH_DISABLE

/* ---- 12.3 Platform: everything that is Linux ---------------------------- */
// src/record/base/platform.h

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif
// Optimised for size, too: on long chunks this costs 5 % of the speed.
TS__SMALL_BEGIN
#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

static __attribute__((noinline)) uint64_t
ts__checksum(const void *bytes, size_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes, size, seed); // seed 0: XXH3_64bits
}
TS__SMALL_END
#ifdef TRACESMITH_ZSTD
#include <zstd.h>
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 // Linux 5.14
#endif

TS__SMALL_BEGIN

static uint64_t ts__clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// The kind of clock 0, and whether ts__tick must take the slow way.
static uint8_t ts__tick_type(void)
{
#if defined(TRACESMITH_TICK)
    return TS_CLOCK_OTHER;
#elif defined(__x86_64__) || defined(__i386__)
    // Intel SDM volume 3, "Invariant TSC": CPUID 80000007H, EDX bit 8.
    uint32_t a, b, c, d;
    const bool known = __get_cpuid(0x80000007u, &a, &b, &c, &d) != 0;
    return known && (d >> 8 & 1) ? TS_CLOCK_TSC : TS_CLOCK_MONOTONIC_RAW;
#elif defined(__aarch64__)
    return TS_CLOCK_CNTVCT;
#else
    return TS_CLOCK_MONOTONIC_RAW;
#endif
}

static void ts__futex_wait(uint32_t *word, uint32_t value, uint64_t timeout_ns)
{
    struct timespec t;
    t.tv_sec = (time_t)(timeout_ns / 1000000000u);
    t.tv_nsec = (long)(timeout_ns % 1000000000u);
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &t, NULL, 0);
}

static void ts__futex_wake(uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

// Changes a futex word and wakes those who wait for a change.
static void ts__futex_bump(uint32_t *word)
{
    __atomic_fetch_add(word, 1, __ATOMIC_RELEASE);
    ts__futex_wake(word);
}

// A mutex that a child made by fork may simply reset: 0 free, 1 held, 2
// contended. This is safe because every holder has signals blocked (ts__enter).
typedef struct ts__lock {
    uint32_t word;
} ts__lock;

static bool ts__lock_try(ts__lock *lock)
{
    uint32_t expected = 0;
    return __atomic_compare_exchange_n(&lock->word, &expected, 1, false,
                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void ts__lock_take(ts__lock *lock)
{
    if (ts__lock_try(lock)) return;
    while (__atomic_exchange_n(&lock->word, 2, __ATOMIC_ACQUIRE) != 0)
        ts__futex_wait(&lock->word, 2, 100000000u);
}

static void ts__lock_give(ts__lock *lock)
{
    if (__atomic_exchange_n(&lock->word, 0, __ATOMIC_RELEASE) == 2)
        ts__futex_wake(&lock->word);
}

// New private memory, filled with zeros; NULL on failure.
static void *ts__pages_new(size_t size)
{
    void *const p = mmap(NULL, size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

// Replaces shared memory by private memory at the same address and copies the
// first `keep` bytes. If there is no memory, it remains shared.
static bool ts__own_memory(void *memory, size_t keep, size_t size)
{
    void *const own = ts__pages_new(size);
    if (!own) return false;
    memcpy(own, memory, keep);
    return mremap(own, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, memory) ==
           memory;
}

static size_t ts__page_round(size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (size + page - 1) & ~(page - 1);
}

// The session's result for the last failed system call (errno).
static ts_result ts__disk_error(ts_result otherwise)
{
    return errno == ENOSPC || errno == EDQUOT || errno == EFBIG
               ? TS_ERR_DISK_FULL
               : otherwise;
}

// Whether a file may grow to a size. Beyond RLIMIT_FSIZE the app would get
// SIGXFSZ, which ends it.
static bool ts__file_may_grow(uint64_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 ||
           limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur;
}

// Maps a part of a file as shared memory with its pages present and its disk
// blocks reserved: touching a hole on a full disk would raise SIGBUS. Returns
// NULL and sets errno on failure.
static void *ts__pages_map(int fd, uint64_t offset, size_t size)
{
    int error;
    if (!ts__file_may_grow(offset + size)) {
        errno = ENOSPC;
        return NULL;
    }
    do
        error = posix_fallocate(fd, (off_t)offset, (off_t)size);
    while (error == EINTR);
    if (error) {
        errno = error;
        return NULL;
    }
    void *const p =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
    if (p == MAP_FAILED) { // give the blocks back
        error = errno;
        const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
        if (fallocate(fd, mode, (off_t)offset, (off_t)size) != 0) error = errno;
        errno = error;
        return NULL;
    }
    if (madvise(p, size, MADV_POPULATE_WRITE) != 0)
        for (size_t i = 0; i < size; i += 4096)
            __atomic_fetch_add((uint8_t *)p + i, 0, __ATOMIC_RELAXED);
    return p;
}

// Writes all bytes or none: on failure the file is truncated to `offset`.
static ts_result ts__file_write(int fd, uint64_t offset, const void *bytes,
                                size_t size)
{
    if (!ts__file_may_grow(offset + size)) return TS_ERR_DISK_FULL;
    size_t done = 0;
    while (done < size) {
        const ssize_t n = pwrite(fd, (const uint8_t *)bytes + done, size - done,
                                 (off_t)(offset + done));
        if (n > 0) {
            done += (size_t)n;
            continue;
        }
        if (n < 0 && errno == EINTR) continue;
        const ts_result result =
            n == 0 ? TS_ERR_DISK_FULL : ts__disk_error(TS_ERR_IO);
        // An error here leaves a torn chunk, which readers skip.
        return ftruncate(fd, (off_t)offset) == 0 ? result : TS_ERR_IO;
    }
    return TS_OK;
}

/*
    Our file in a program that may close descriptors it did not open, as daemons
    do, so that the number may now mean another file. Such a file is neither
    written to nor closed.
*/
typedef struct ts__file {
    int fd; // -1: none
    dev_t device;
    ino_t inode;
} ts__file;

// Opens a file above the standard streams. Like open(2) on failure.
static int ts__file_open(ts__file *file, const char *path, int flags,
                         mode_t mode)
{
    struct stat st;
    int fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode);
    if (fd >= 0 && fd < 3) {
        const int low = fd;
        fd = fcntl(low, F_DUPFD_CLOEXEC, 3);
        close(low);
    }
    file->fd = fd;
    if (fd < 0) return -1;
    if (fstat(fd, &st) != 0) {
        if (flags & O_EXCL) unlink(path); // this call created it
        close(fd);
        return file->fd = -1;
    }
    file->device = st.st_dev;
    file->inode = st.st_ino;
    return fd;
}

static bool ts__file_is(const ts__file *file, int fd)
{
    struct stat st;
    return fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == file->device &&
           st.st_ino == file->inode;
}

// Whether the descriptor is still our file, or can be opened again by its path.
static bool ts__file_keep(ts__file *file, const char *path)
{
    if (ts__file_is(file, file->fd)) return true;
    ts__file again;
    if (ts__file_open(&again, path, O_RDWR, 0) < 0) return false;
    if (again.device == file->device && again.inode == file->inode) {
        file->fd = again.fd;
        return true;
    }
    close(again.fd);
    return false;
}

static void ts__file_close(ts__file *file)
{
    if (ts__file_is(file, file->fd)) close(file->fd);
    file->fd = -1;
}

static bool ts__file_read(int fd, uint64_t offset, void *bytes, size_t size)
{
    return pread(fd, bytes, size, (off_t)offset) == (ssize_t)size;
}

// Takes the lock which shows that the sidecar's writer is alive. The lock
// belongs to the open file description, so that a reader in the same process
// does not release it.
static bool ts__file_lock(int fd)
{
    struct flock lock;
    memset(&lock, 0, sizeof lock);
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

// A hash for our own tables: short code, and fast for a few words.
static uint64_t ts__mix(const void *bytes, size_t size, uint64_t seed)
{
    const uint8_t *p = (const uint8_t *)bytes;
    uint64_t hash = seed + size, word;
    for (; size >= 8; size -= 8, p += 8) {
        memcpy(&word, p, 8);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15u; // 2^64 / golden ratio
        hash ^= hash >> 32;
    }
    for (word = 0; size; size--)
        word = word << 8 | *p++;
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 32;
}

// Reads the beginning of a file as text and returns its size, 0 if there is
// nothing.
static size_t ts__text_read(const char *path, char *text, size_t room)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? read(fd, text, room - 1) : 0;
    if (fd >= 0) close(fd);
    const size_t size = n > 0 ? (size_t)n : 0;
    text[size] = 0;
    return size;
}

// Two words that identify a trace: random ones from the kernel or, if it gives
// none, made from the time and the process.
static void ts__random(void *words)
{
    const uint64_t process = (uint64_t)getpid() << 32;
    const uint64_t now[] = { ts__clock_ns(CLOCK_REALTIME),
                             ts__clock_ns(CLOCK_MONOTONIC_RAW) ^ process };
    memcpy(words, now, sizeof now);
    syscall(SYS_getrandom, words, sizeof now, 1 /* GRND_NONBLOCK */);
}

/* ---- 12.4 State --------------------------------------------------------- */
// src/record/base/state.h

#define TS__RINGS_MAX        4096
#define TS__BLOCKS_MAX       2048
#define TS__BLOCK_BYTES      (256u << 10)
#define TS__BATCH_ROWS       8192
#define TS__BATCH_SLOTS      16384
#define TS__BATCH_TEXT       (512u << 10)
#define TS__RING_SLOTS_MIN   2048
#define TS__INDEX_ENTRIES    1024
#define TS__NAME_MAX         65535
#define TS__TEXT_MAX         8000
#define TS__GLOBAL_LOSSES    64
#define TS__ENCODERS         4
#define TS__CHUNKS_PER_BATCH 512
#define TS__CLOCKS_MAX       32
#define TS__BATCH_BYTES      (4u << 20)
#define TS__SCRATCH_BYTES    (512u << 10)

// The total of one cause, and how much of it is in the trace: `sent`, or
// `pending` once the append numbered `pending_epoch` is complete.
typedef struct ts__loss_total {
    uint64_t count, stall_ns, first, last;
    uint64_t sent, sent_stall, sent_last;
    uint64_t pending, pending_stall, pending_last;
    uint64_t pending_epoch;
    uint32_t track, cause, detail, unused;
} ts__loss_total;

enum { TS__LOSS_SLOTS = 12 };

/*
    A ring's mapping:
        0      ts__ring        the hot part
        4224   ts__ring_rest   the rest
        8192   slots
*/
typedef struct ts__ring_rest {
    ts__lock lock;       // of the consumer's side
    uint32_t state;      // TS__RING_...
    uint32_t track;      // of the records at `tail`
    uint32_t owner;      // track of the owning thread
    uint32_t index;      // in the sidecar
    ts__ring *older;     // the thread's smaller ring before this one
    uint64_t start;      // position of the first record
    uint64_t drained_ns; // when it was last emptied
    // The last changes of owner: they tell a flight recorder whose records it
    // holds when the THREAD record has been overwritten.
    struct {
        uint64_t position;
        uint32_t track;
    } owners[16];
    uint32_t owner_count;
    uint32_t forgotten_reported; // a flight recorder's loss is in the ledger
    uint64_t kept;               // records that reached the trace
    ts__loss_total losses[TS__LOSS_SLOTS];
} ts__ring_rest;

enum { TS__RING_FREE = 1, TS__RING_OWNED = 2, TS__RING_RETIRED = 3 };

static ts__ring_rest *ts__rest(const ts__ring *ring)
{
    return (ts__ring_rest *)((uintptr_t)ring + sizeof *ring);
}

// A dictionary entry as it lies in a block, 8-aligned.
typedef struct ts__entry {
    uint64_t hash;
    uint32_t id;
    uint32_t size;
    uint32_t kind; // ts_chunk_kind
    uint32_t unused;
} ts__entry; // then the bytes

// State of a trace's writer. It lies in the sidecar, so that salvage continues
// exactly where the process died.
typedef struct ts__writer_state {
    uint64_t offset;       // of the next chunk
    uint64_t index_offset; // of the last index part, 0 none
    uint64_t records;      // written
    uint64_t loss_epoch;   // counts appends of the ledger
    uint32_t sequence;
    uint32_t index_count;
    uint32_t finished;
    uint32_t open_sent;    // of the zones open at the end
    uint64_t salvage_from; // records + 1 when salvage began
} ts__writer_state;

/*
    The sidecar: this header, then dictionary blocks and rings as they are
    needed. Only processes of the same version read it.
*/
typedef struct ts__sidecar {
    ts__sidecar_head head;
    uint64_t size; // of the file
    ts__writer_state state;
    /*
        The journal. An append saves `state` in `before`, sets step to 1,
        writes, updates `state`, sets step to 2, moves the ring's tail to
        `tail`, and sets step to 0. Whatever instruction the process dies at,
        salvage either undoes the append (step 1) or completes it (step 2).
    */
    uint32_t step;
    uint32_t ring; // index into rings, TS__RINGS_MAX: none
    uint64_t tail, kept;
    uint32_t track; // at the new tail
    uint32_t unused;
    ts__writer_state before;

    ts_clock_entry clock[2]; // first and last sample
    ts__loss_total losses[TS__GLOBAL_LOSSES];
    uint32_t block_count, ring_count;
    struct {
        uint64_t offset;  // the word before it says how much is used
        uint64_t written; // of the session's log, or of the process's blocks
                          // while a trace begins: in the trace
    } blocks[TS__BLOCKS_MAX];
    struct {
        uint64_t offset, size;
    } rings[TS__RINGS_MAX];
    ts_chunk_header index[TS__INDEX_ENTRIES];
    uint64_t lod[TS__INDEX_ENTRIES][TS_LOD_CELLS];
} ts__sidecar;

// One file being written: a session's trace, a dump, or a salvaged trace.
typedef struct ts__writer {
    ts__file file;
    const char *path;
    ts__lock lock;
    ts__sidecar *sidecar; // a dump has a private one
    uint8_t *scratch;     // TS__SCRATCH_BYTES, for entries and index parts
    uint64_t reserved;    // disk space is allocated up to here
    ts_result error;      // the first
    bool final;           // may use the space reserved for the end
} ts__writer;

static void ts__writer_failed(ts__writer *w, ts_result result)
{
    if (result != TS_OK && TS__LOAD(&w->error) == TS_OK)
        TS__STORE(&w->error, result);
}

typedef struct ts__block { // of the dictionary
    uint8_t *bytes;
    uint64_t *used; // release: pairs with the acquire in ts__writer_blocks
    uint64_t size;
    uint64_t past;     // entries up to here belong to ended sessions
    uint64_t reported; // entries up to here are older than the session
    uint64_t kept;     // value of `used` at the fork, if shared
    uint32_t session;  // not 0: of its log, and of the process: see ts__shelf
} ts__block;
// Kinds of entries in addition to those of chunks. PACKED: a stack in words,
// see ts__stack_get. The others are never written to a trace.
enum {
    TS__ENTRY_PACKED = 13,
    TS__ENTRY_BLOB = 14,
    TS__ENTRY_COUNTER = 15,
    TS__ENTRY_PLACE = 16, // a site without a name
    TS__ENTRY_LIMIT,
    TS__ENTRY_NAMED = 31 // | place << 5; a name: the site of it in this place
};

enum { TS__OPEN_ZONES_MAX = 16384 };
typedef struct ts__open_zone {
    uint64_t start;
    uint32_t site, track, depth, unused;
} ts__open_zone;

typedef struct ts__picture {
    uint64_t first, width; // of the chunk; of a cell
    uint32_t cell;         // the last one returned
    uint64_t busy[TS_LOD_CELLS], longest[TS_LOD_CELLS];
    uint32_t count[TS_LOD_CELLS], id[TS_LOD_CELLS];
} ts__picture;

#ifdef TRACESMITH_PICTURES
enum { TS__PICTURED_TRACKS = 128, TS__PICTURED_SLOTS = 256 };
typedef struct ts__track_picture { // of one track in a chunk of several
    uint32_t track, events;
    uint64_t covered; // up to this tick
    ts__picture picture;
} ts__track_picture;
#endif

/*
    Work space for one batch: up to TS__BATCH_ROWS events of one kind as
    columns, and the chunks made of a batch. Several threads may encode at
    once, each with one of these.
*/
typedef struct ts__encoder {
    // All columns of a row are written together: the padding spreads them over
    // several sets of the cache.
    uint64_t column[TS__COLUMNS_PER_EVENT][TS__BATCH_ROWS + 24];
    uint64_t track[TS__BATCH_ROWS + 24]; // u64 like every column
    uint64_t stored[TS__BATCH_ROWS + 64];
    uint64_t root_start[TS__BATCH_ROWS + 24], root_end[TS__BATCH_ROWS + 24];
    uint32_t root_site[TS__BATCH_ROWS];
    uint32_t text_size[TS__BATCH_ROWS];
    uint8_t text[TS__BATCH_TEXT];
    uint8_t payload[16 * 1024]; // of one record
    uint64_t lod[TS__CHUNKS_PER_BATCH][TS_LOD_CELLS];
#ifdef TRACESMITH_PICTURES
    ts__track_picture pictures[TS__PICTURED_TRACKS];
    uint8_t picture_slots[TS__PICTURED_SLOTS]; // number + 1 by track; 0: free
    uint32_t picture_count;
#endif
    uint64_t base; // the session's start tick
    uint64_t now;  // records lie within 2^55 ticks of it
    ts__open_zone open[TS__OPEN_ZONES_MAX]; // see ts__open_zones
    uint32_t open_count;
    uint32_t records;
    uint32_t text_used;
    uint32_t chunks;
    uint32_t compress;
    uint32_t unused;
    size_t size; // of out
    uint8_t out[TS__BATCH_BYTES];
    uint8_t raw[TS__BATCH_BYTES]; // before compression
} ts__encoder;

// The state of the process. All zeros is the initial state.
typedef struct ts__core {
    // A child made by fork resets everything before `blocks` to zeros.
    ts__lock api; // session calls exclude each other
    ts__lock names;
    ts__lock ledger; // of losses without a ring; taken last
    ts__lock pool;   // rings of the session
    uint32_t inside; // threads inside the slow path
    uint32_t threads;
    uint32_t ring_count, free_count;
    uint64_t ring_bytes;    // of all
    uint32_t encoders_busy; // bits
    uint32_t process_track;
    bool active, thread_runs, names_shared;
    // Dictionary.
    ts__block blocks[TS__BLOCKS_MAX];
    uint32_t block_count;
    ts__block *block, *log;  // entries are added to these
    uint32_t grow_failed[2]; // requests refused since the disk was full
    // Hash tables of deduplicated entries: the one in use, and the larger one
    // that it is being copied into.
    ts__entry **table, **table_next;
    uint32_t table_used;
    uint32_t last_id[TS__ENTRY_LIMIT]; // by kind of entry
    // Session.
    ts_session_desc desc;
    char path[TS__PATH_MAX], snapshot_path[TS__PATH_MAX];
    char path_pattern[TS__PATH_MAX], sidecar_dir[TS__PATH_MAX], app[256];
    char sidecar_path[TS__PATH_MAX];
    ts_result
        start_error; // of a failed start, until ts_session_stop returns it
    uint32_t generation;
    uint32_t snapshots;
    uint64_t start_tick;
    ts__writer writer;
    ts__file sidecar_file;
    ts__ring *rings[TS__RINGS_MAX];
    uint32_t free_rings[TS__RINGS_MAX];
    uint32_t stopping;
    ts__encoder *encoders[TS__ENCODERS];
    uint32_t encoder_wake;
    // Drain thread.
    pthread_t thread;
    uint32_t wake;    // futex: counts requests to drain now
    uint32_t drained; // futex: counts drains
    uint32_t snapshot_requested;
    uint64_t clock_next_ns, clock_step_ns;
    struct sigaction old_action;
    ts_stats last_stats;
    // Process.
    pthread_key_t key;
    bool hooks_ready;
    uint8_t tick_type;
    uint32_t clock_count;
} ts__core;

static ts__core ts__c;
#ifndef TS__STATIC
static ts__ring ts__none; // limit 0, gate 0: for threads without a ring
ts__page ts__here;
TS__TLS ts__ring *ts__mine = &ts__none;
#endif
// This thread: whether it is inside the slow path; its track, its name, and the
// session to which they were reported.
static TS__TLS uint32_t ts__inside, ts__track, ts__track_name,
    ts__track_reported;
static TS__TLS ts__ring *ts__before; // its ring in an earlier session

// The dictionary's log in the sidecar, by block.
static ts__block ts__log[TS__BLOCKS_MAX];

static void ts__platform_init(void)
{
    const uint8_t type = ts__tick_type();
    TS__STORE(&ts__here.tick, type);
    // release: pairs with the acquire in ts__busy
    __atomic_store_n(&ts__c.tick_type, type, __ATOMIC_RELEASE);
}

uint64_t ts_tick_now(void)
{
    return ts__tick();
}

// What a recording call must not change for its caller.
typedef struct ts__caller {
    uint64_t signals; // the kernel's set of them: bit SIGNAL - 1
    int error;        // errno
    int cancel;       // pthread_setcancelstate
} ts__caller;

// Sets the blocked signals. pthread_sigmask would take twice as long.
static __attribute__((noinline)) void ts__signals_set(int how, uint64_t set,
                                                      uint64_t *old)
{
    syscall(SYS_rt_sigprocmask, how, &set, old, sizeof set);
}

// All signals but faults, which would kill the program without calling its
// handler if they were blocked, and the C library's own 32 and 33.
#define TS__SIGNALS_ALL \
    ~(UINT64_C(1) << (SIGSEGV - 1) | UINT64_C(1) << (SIGBUS - 1) | \
      UINT64_C(1) << (SIGILL - 1) | UINT64_C(1) << (SIGFPE - 1) | \
      UINT64_C(1) << (SIGTRAP - 1) | UINT64_C(1) << (SIGSYS - 1) | \
      UINT64_C(3) << 31)

// Blocks signals, so that no handler runs while this thread holds a lock; its
// records are only delayed. Also disables cancellation of the thread.
static void ts__caller_save(ts__caller *caller)
{
    caller->error = errno;
    ts__signals_set(SIG_BLOCK, TS__SIGNALS_ALL, &caller->signals);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &caller->cancel);
}

static void ts__caller_restore(const ts__caller *caller)
{
    pthread_setcancelstate(caller->cancel, NULL);
    ts__signals_set(SIG_SETMASK, caller->signals, NULL);
    errno = caller->error;
}

// This thread between fork's handlers, see session/fork.h.
static TS__TLS struct {
    ts__caller caller;
    pid_t process; // that forks, 0: none
    bool follow;
} ts__fork;

static void ts__fork_child(void);

// Whether this thread must not enter the slow path (not 0): it is inside
// already (a fault there led to a handler that records), or in one of the
// program's own fork handlers, or this is a child whose fork handlers did not
// run. In a child made by fork, where a handler of the program may run before
// ours, our handler's work is done now.
static __attribute__((noinline)) uint32_t ts__busy(void)
{
    if (ts__fork.process && ts__fork.process != getpid()) ts__fork_child();
    // acquire: pairs with the release in ts__platform_init
    const uint32_t type = __atomic_load_n(&ts__c.tick_type, __ATOMIC_ACQUIRE);
    return ts__inside | (type & ~TS__LOAD(&ts__here.tick));
}

// CLOCK_MONOTONIC_RAW in nanoseconds. In a child whose fork handlers did not
// run it takes the thread's ring away; before the first session there is none.
uint64_t ts__tick_slow(void)
{
#ifdef TS__CLOCK_MACHINE
    if (!TS__LOAD(&ts__here.tick)) {
        if (ts__busy()) ts__mine = &ts__none;
        return ts__tick_machine();
    }
#endif
    return ts__clock_ns(CLOCK_MONOTONIC_RAW);
}

// Enters and leaves the slow path.
static bool ts__enter(ts__caller *caller)
{
    if (ts__busy()) return false;
    ts__caller_save(caller);
    ts__inside = 1;
    __atomic_fetch_add(&ts__c.inside, 1, __ATOMIC_SEQ_CST);
    return true;
}

static void ts__leave(const ts__caller *caller)
{
    __atomic_fetch_sub(&ts__c.inside, 1, __ATOMIC_SEQ_CST);
    ts__inside = 0;
    ts__caller_restore(caller);
}

// Within the slow path: whether this session's memory may still be used.
// ts_session_stop ends the session and then waits until no thread is inside.
static bool ts__session_still(uint32_t gate)
{
    return gate && __atomic_load_n(&ts__here.session, __ATOMIC_SEQ_CST) == gate;
}

// Session calls run with signals blocked and exclude each other, so that the
// session's memory remains mapped; they may use the slow path themselves.
static bool ts__api_enter(ts__caller *caller)
{
    if (ts__busy()) return false;
    ts__caller_save(caller);
    ts__lock_take(&ts__c.api);
    return true;
}

static void ts__api_leave(const ts__caller *caller)
{
    ts__lock_give(&ts__c.api);
    ts__caller_restore(caller);
}

/* ---- 12.5 Loss ledger --------------------------------------------------- */
// src/record/base/ledger.h

// A total has one writer at a time; the drain reads it without a lock.
static void ts__loss_add(ts__loss_total *total, uint64_t count, uint64_t first,
                         uint64_t last, uint64_t stall_ns)
{
    const uint64_t before = TS__LOAD(&total->count);
    if (!before || (int64_t)(first - TS__LOAD(&total->first)) < 0)
        TS__STORE(&total->first, first);
    if (!before || (int64_t)(last - TS__LOAD(&total->last)) > 0)
        TS__STORE(&total->last, last);
    TS__STORE(&total->stall_ns, TS__LOAD(&total->stall_ns) + stall_ns);
    TS__STORE(&total->count, before + count);
}

// The row for a loss among the rows before `shared`; if these are all taken, a
// row behind them that several losses share.
static ts__loss_total *ts__loss_find(ts__loss_total *total,
                                     ts__loss_total *shared, uint32_t row,
                                     uint32_t track, ts_loss cause,
                                     uint32_t detail)
{
    while (total < shared && total->cause &&
           (total->cause != (uint32_t)cause || total->track != track ||
            total->detail != detail))
        total++;
    if (total == shared) {
        total += row;
        track = detail = 0;
    }
    TS__STORE(&total->track, track);
    TS__STORE(&total->detail, detail);
    TS__STORE(&total->cause, (uint32_t)cause);
    return total;
}

// Counts a loss of the thread that owns the ring; only that thread calls this.
// When all of its rows are taken, it uses one row for each of the four causes.
static void ts__loss_ring(ts__ring *ring, ts_loss cause, uint64_t count,
                          uint64_t first, uint64_t last, uint64_t stall_ns)
{
    ts__ring_rest *const rest = ts__rest(ring);
    const uint32_t row = cause == TS_LOSS_RING_FULL  ? 0
                         : cause == TS_LOSS_TOO_DEEP ? 1
                         : cause == TS_LOSS_HELPED   ? 2
                                                     : 3;
    ts__loss_add(ts__loss_find(rest->losses, rest->losses + TS__LOSS_SLOTS - 4,
                               row, rest->owner, cause, 0),
                 count, first, last, stall_ns);
}

// Counts a loss that has no ring or that another thread found. The last 16
// rows, one for each cause, are for losses that find no row of their own.
static void ts__loss_note(ts__sidecar *sidecar, uint32_t track, ts_loss cause,
                          uint32_t detail, uint64_t count, uint64_t first,
                          uint64_t last)
{
    if (!sidecar || !count) return;
    ts__lock_take(&ts__c.ledger);
    ts__loss_add(ts__loss_find(sidecar->losses,
                               sidecar->losses + TS__GLOBAL_LOSSES - 16,
                               (uint32_t)cause % 16, track, cause, detail),
                 count, first, last, 0);
    ts__lock_give(&ts__c.ledger);
}

// The same for a loss at this moment. The caller makes sure that the session's
// memory stays mapped.
static void ts__loss_now(uint32_t track, ts_loss cause)
{
    const uint64_t now = ts__tick();
    ts__loss_note(ts__c.writer.sidecar, track, cause, 0, 1, now, now);
}

static bool ts__loss_open(const ts__loss_total *total, uint64_t epoch)
{
    const bool done = total->pending_epoch <= epoch;
    return TS__LOAD(&total->count) != (done ? total->pending : total->sent);
}

// What the trace does not have yet of a total, as a row. The append that writes
// it sets the writer's epoch to `epoch` + 1.
static ts_loss_entry ts__loss_row(ts__loss_total *total, uint64_t epoch)
{
    if (total->pending_epoch <= epoch) {
        total->sent = total->pending;
        total->sent_stall = total->pending_stall;
        total->sent_last = total->pending_last;
    }
    total->pending_epoch = epoch + 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST); // a crash sees program order
    total->pending = TS__LOAD(&total->count);
    total->pending_stall = TS__LOAD(&total->stall_ns);
    total->pending_last = TS__LOAD(&total->last);
    ts_loss_entry row;
    row.cause = TS__LOAD(&total->cause);
    row.detail = TS__LOAD(&total->detail);
    row.count = total->pending - total->sent;
    row.first = total->sent ? total->sent_last : TS__LOAD(&total->first);
    row.last = total->pending_last;
    row.stall_ns = total->pending_stall - total->sent_stall;
    return row;
}

/* ---- 12.6 Dictionary ---------------------------------------------------- */
// src/record/dictionary/dictionary.h

/*
    Names, sites, tracks and so on live as long as the process, in blocks that
    are never freed or moved. Lookups take no lock: an entry or a table is
    complete before the pointer to it is published. During a session each new
    entry also goes into a log in the sidecar, from which the drain or salvage
    writes it to the trace.
*/
static const uint8_t *ts__entry_bytes(const ts__entry *entry)
{
    return (const uint8_t *)(entry + 1);
}

static size_t ts__entry_room(size_t size)
{
    return (sizeof(ts__entry) + size + 7) & ~(size_t)7;
}

// Finds the entry with these bytes in a table; if there is none, adds `put`.
// Stacks are added without a lock: see ts__shelf.
static ts__entry *ts__table_get(ts__entry **table, uint32_t kind,
                                const void *bytes, size_t size, uint64_t hash,
                                ts__entry *put)
{
    // The mask lies before the table, so that the two always match.
    const uint64_t mask = (uint64_t)(uintptr_t)table[-1];
    // The lowest bit of a hash is always set.
    for (uint64_t i = hash >> 1 & mask;; i = (i + 1) & mask) {
        // acquire: pairs with the release here, of another thread
        ts__entry *e = __atomic_load_n(&table[i], __ATOMIC_ACQUIRE);
        if (!e && (!put || __atomic_compare_exchange_n(&table[i], &e, put,
                                                       false, __ATOMIC_SEQ_CST,
                                                       __ATOMIC_ACQUIRE)))
            return put;
        if (e->hash == hash && e->kind == kind && e->size == size &&
            memcmp(ts__entry_bytes(e), bytes, size) == 0)
            return e;
    }
}

static ts__entry *ts__table_put(ts__entry **table, ts__entry *e)
{
    return ts__table_get(table, e->kind, ts__entry_bytes(e), e->size, e->hash,
                         e);
}

static ts__entry *ts__entry_find(uint32_t kind, const void *bytes, size_t size,
                                 uint64_t hash)
{
    // acquire: pairs with the release in ts__table_grow
    ts__entry **const table = __atomic_load_n(&ts__c.table, __ATOMIC_ACQUIRE);
    return table ? ts__table_get(table, kind, bytes, size, hash, NULL) : NULL;
}

// Makes an entry visible to other threads. Returns the number of the entry with
// these bytes, which is another one if another thread was faster.
static uint32_t ts__entry_show(ts__entry *e)
{
    ts__entry **const table = __atomic_load_n(&ts__c.table, __ATOMIC_ACQUIRE);
    const ts__entry *known = ts__table_put(table, e);
    // Either a copy in progress sees the entry, or this thread sees the copy.
    ts__entry **const next =
        __atomic_load_n(&ts__c.table_next, __ATOMIC_SEQ_CST);
    if (next != table) known = ts__table_put(next, e);
    __atomic_fetch_add(&ts__c.table_used, 1, __ATOMIC_RELAXED);
    return known->id;
}

// Whether the table is half full, or there is none yet.
static bool ts__table_full(void)
{
    ts__entry **const table = __atomic_load_n(&ts__c.table, __ATOMIC_ACQUIRE);
    return !table || TS__LOAD(&ts__c.table_used) >= (uintptr_t)table[-1] / 2;
}

// Makes the table four times as large when it is full. Old tables are kept for
// lookups in progress; together they take a third of the present one.
static bool ts__table_grow(void)
{
    if (!ts__table_full()) return true;
    ts__entry **const old = ts__c.table;
    const size_t count = old ? ((uintptr_t)old[-1] + 1) * 4 : 4096;
    ts__entry **const table =
        (ts__entry **)ts__pages_new((count + 1) * sizeof *table);
    if (!table) return false;
    // All of it will be touched; one page fault after another takes ten times
    // as long.
    madvise(table, (count + 1) * sizeof *table, MADV_POPULATE_WRITE);
    table[0] = (ts__entry *)(count - 1);
    __atomic_store_n(&ts__c.table_next, table + 1, __ATOMIC_SEQ_CST);
    for (size_t i = 0; i < count / 4 && old; i++) {
        ts__entry *const e = __atomic_load_n(&old[i], __ATOMIC_SEQ_CST);
        if (e) ts__table_put(table + 1, e);
    }
    __atomic_store_n(&ts__c.table, table + 1, __ATOMIC_RELEASE);
    return true;
}

// What a part of the sidecar is for. There may be room for entries where there
// is none for rings, which are large.
enum { TS__GROW_ENTRIES, TS__GROW_RINGS };

// After a failure each record would try again. Of these requests only the
// first, second, fourth and so on, and then each 4,096th, reach the disk.
static bool ts__grow_refused(int what)
{
    uint32_t *const failed = &ts__c.grow_failed[what];
    const uint32_t n = TS__LOAD(failed);
    if (!(n & (n - 1)) || n % 4096 == 0) return false;
    TS__STORE(failed, n + 1);
    return true;
}

static void ts__grow_failed(int what)
{
    TS__STORE(&ts__c.grow_failed[what], TS__LOAD(&ts__c.grow_failed[what]) + 1);
}

// A part of the sidecar for a block or a ring; NULL when there is no space,
// which ts_session_stop reports.
static void *ts__sidecar_grow(int what, size_t size, uint64_t *offset)
{
    ts__sidecar *const sidecar = ts__c.writer.sidecar;
    void *pages = NULL;
    size = ts__page_round(size);
    *offset = __atomic_fetch_add(&sidecar->size, size, __ATOMIC_RELAXED);
    errno = EIO;
    if (ts__file_keep(&ts__c.sidecar_file, ts__c.sidecar_path))
        pages = ts__pages_map(ts__c.sidecar_file.fd, *offset, size);
    if (!pages)
        ts__writer_failed(
            &ts__c.writer,
            ts__disk_error(errno == EIO ? TS_ERR_IO : TS_ERR_MEMORY));
    if (pages)
        TS__STORE(&ts__c.grow_failed[what], 0);
    else
        ts__grow_failed(what);
    return pages;
}

// Adds a block whose memory is the part of the sidecar at `offset`. The word
// before its bytes says how much of it is used.
static ts__block *ts__block_add(ts__block *blocks, uint32_t *count,
                                void *memory, size_t size, uint64_t offset)
{
    ts__block *const block = &blocks[*count];
    if (!memory) return NULL;
    memset(block, 0, sizeof *block);
    block->used = (uint64_t *)memory;
    block->bytes = (uint8_t *)memory + sizeof *block->used;
    block->size = size - sizeof *block->used;
    if (offset)
        ts__c.writer.sidecar->blocks[*count].offset =
            offset + sizeof *block->used;
    // release: pairs with the acquire in ts__writer_blocks
    __atomic_store_n(count, *count + 1, __ATOMIC_RELEASE);
    return block;
}

// A block with room for `need` bytes, the last one or a new one.
static ts__block *ts__block_get(ts__block **last, ts__block *blocks,
                                uint32_t *count, size_t need, bool shared)
{
    if (*last && *(*last)->used + need <= (*last)->size) return *last;
    if (*count == TS__BLOCKS_MAX) return NULL;
    size_t size = *last ? TS__BLOCK_BYTES : 32u << 10;
    need += sizeof *(*last)->used;
    if (size < need) size = need;
    size = ts__page_round(size);
    uint64_t offset = 0;
    void *const memory = shared
                             ? ts__sidecar_grow(TS__GROW_ENTRIES, size, &offset)
                             : ts__pages_new(size);
    ts__block *const block = ts__block_add(blocks, count, memory, size, offset);
    if (block) *last = block;
    return block;
}

static ts__entry *ts__block_put(ts__block *block, uint32_t kind, uint32_t id,
                                const void *bytes, size_t size, uint64_t hash)
{
    ts__entry *const e = (ts__entry *)(void *)(block->bytes + *block->used);
    e->hash = hash;
    e->id = id;
    e->size = (uint32_t)size;
    e->kind = kind;
    if (size) memcpy(e + 1, bytes, size);
    __atomic_store_n(block->used, *block->used + ts__entry_room(size),
                     __ATOMIC_RELEASE);
    return e;
}

static bool ts__log_add(uint32_t kind, uint32_t id, const void *bytes,
                        size_t size)
{
    if (!ts__c.names_shared || kind >= TS__ENTRY_BLOB) return true;
    // Read it only here: a starting session sets it before names are shared.
    ts__sidecar *const sidecar = ts__c.writer.sidecar;
    ts__block *const block = ts__block_get(
        &ts__c.log, ts__log, &sidecar->block_count, ts__entry_room(size), true);
    if (block) ts__block_put(block, kind, id, bytes, size, 0);
    return block != NULL;
}

// Adds an entry. Names' lock held; 0 when there is no room.
static uint32_t ts__entry_add(uint32_t kind, uint32_t id, const void *bytes,
                              size_t size, uint64_t hash)
{
    ts__block *const block =
        ts__table_grow()
            ? ts__block_get(&ts__c.block, ts__c.blocks, &ts__c.block_count,
                            ts__entry_room(size), false)
            : NULL;
    if (!block || !ts__log_add(kind, id, bytes, size)) {
        // An ending session unmaps its memory once names are no longer shared.
        if (ts__c.names_shared) ts__loss_now(0, TS_LOSS_INCOMPLETE);
        return 0;
    }
    ts__entry *const e = ts__block_put(block, kind, id, bytes, size, hash);
    return hash ? ts__entry_show(e) : id;
}

// The next number of a kind, 0 when there are no more. If its entry cannot be
// kept, the number is not used again.
static uint32_t ts__id_next(uint32_t kind)
{
    if (kind == TS__ENTRY_PACKED) kind = TS_CHUNK_STACKS;
    if (TS__LOAD(&ts__c.last_id[kind]) >= TS__CODE_LIMIT - 256) return 0;
    return __atomic_add_fetch(&ts__c.last_id[kind], 1, __ATOMIC_RELAXED);
}

// A new entry with the next identifier of its kind, never deduplicated.
static uint32_t ts__entry_new(uint32_t kind, const void *bytes, size_t size)
{
    const uint32_t id = ts__id_next(kind);
    return id ? ts__entry_add(kind, id, bytes, size, 0) : 0;
}

// Makes an entry that was not found, unless another thread has done so since.
static uint32_t ts__entry_make(uint32_t kind, const void *bytes, size_t size,
                               uint64_t hash)
{
    ts__caller old;
    if (kind < TS__ENTRY_BLOB && ts__grow_refused(TS__GROW_ENTRIES)) return 0;
    if (!ts__enter(&old)) return 0;
    ts__lock_take(&ts__c.names);
    const ts__entry *const known = ts__entry_find(kind, bytes, size, hash);
    uint32_t id = known ? known->id : ts__id_next(kind);
    if (!known && id) id = ts__entry_add(kind, id, bytes, size, hash);
    ts__lock_give(&ts__c.names);
    ts__leave(&old);
    return id;
}

// The number of the entry with these bytes, which is made if there is none.
static uint32_t ts__entry_get(uint32_t kind, const void *bytes, size_t size)
{
    const uint64_t hash = ts__mix(bytes, size, kind) | 1;
    const ts__entry *const known = ts__entry_find(kind, bytes, size, hash);
    return known ? known->id : ts__entry_make(kind, bytes, size, hash);
}

/* ---- 12.7 Names, sites, tracks, metadata, modules ----------------------- */
// src/record/dictionary/names.h

uint32_t ts_name_define_sized(const char *text, size_t size)
{
    if (!text) return 0;
    if (size > TS__NAME_MAX) size = TS__NAME_MAX;
    return ts__entry_get(TS_CHUNK_NAMES, text, size);
}

uint32_t ts_name_define(const char *text)
{
    return text ? ts_name_define_sized(text, strlen(text)) : 0;
}

// A site but for its name. False if one of its texts got no number.
static bool ts__site_place(ts_site_entry *entry, const ts_site *site)
{
    memset(entry, 0, sizeof *entry);
    if (!site) return true;
    entry->category = ts_name_define(site->category);
    entry->function = ts_name_define(site->function);
    entry->file = ts_name_define(site->file);
    entry->line = site->line;
    entry->color = site->color;
    return (entry->category || !site->category) &&
           (entry->function || !site->function) && (entry->file || !site->file);
}

static uint32_t ts__site_get(const char *name, const ts_site *site)
{
    if (!name && site) name = site->name ? site->name : site->function;
    const uint32_t number = ts_name_define(name);
    if (name && !number) return 0;
    ts_site_entry entry;
    ts__site_place(&entry, site);
    entry.name = number;
    return ts__entry_get(TS_CHUNK_SITES, &entry, sizeof entry);
}

// Counts a record that cannot be made because its name got no number.
static uint32_t ts__nameless(void)
{
    ts__caller old;
    if (!ts__enter(&old)) return 0;
    if (ts__session_still(TS__LOAD(&ts__here.session)))
        ts__loss_now(ts__track, TS_LOSS_DICTIONARY_FULL);
    ts__leave(&old);
    return 0;
}

uint32_t ts_site_define(const char *name, const ts_site *base)
{
    const uint32_t code = ts__site_get(name, base);
    return code ? code : ts__nameless();
}

enum { TS__NAMED_MAX = 128 }; // longer names are looked up like any site's

// Remembers which site a name in a place is. May fail: then it is looked for
// again the next time.
static void ts__named_add(uint32_t kind, uint32_t site, const char *name,
                          size_t size, uint64_t hash)
{
    ts__caller old;
    if (!ts__enter(&old)) return;
    ts__lock_take(&ts__c.names);
    if (!ts__entry_find(kind, name, size, hash))
        ts__entry_add(kind, site, name, size, hash);
    ts__lock_give(&ts__c.names);
    ts__leave(&old);
}

static uint32_t ts__place_code(ts_site *base)
{
    ts_site_entry entry;
    // One without a text would be that of another place, too.
    if (!ts__site_place(&entry, base)) return 0;
    const uint32_t place = ts__entry_get(TS__ENTRY_PLACE, &entry, sizeof entry);
    __atomic_store_n(&base->code, place, __ATOMIC_RELEASE);
    return place;
}

TS__SMALL_END
uint32_t ts__site_named(const char *name, ts_site *base)
{
    const size_t size = name ? strlen(name) : SIZE_MAX;
    if (TS__UNLIKELY(size > TS__NAMED_MAX)) return ts_site_define(name, base);
    const uint32_t known_place = TS__CODE(&base->code);
    const uint32_t place = known_place ? known_place : ts__place_code(base);
    const uint32_t kind = place << 5 | TS__ENTRY_NAMED;
    const uint64_t hash = ts__mix(name, size, kind) | 1;
    const ts__entry *const known = ts__entry_find(kind, name, size, hash);
    if (TS__LIKELY(known != NULL)) return known->id;
    const uint32_t site = ts_site_define(name, base);
    if (site && place) ts__named_add(kind, site, name, size, hash);
    return site;
}
TS__SMALL_BEGIN

// What a site has as `code`, which it gets now if this is its first hit.
static uint32_t ts__site_code(ts_site *site)
{
    const uint32_t known = TS__CODE(&site->code);
    if (known) return known;
    const uint32_t id = ts_site_define(NULL, site);
    const uint32_t code = id ? TS__ZONE_CODE(id) : 0;
    __atomic_store_n(&site->code, code, __ATOMIC_RELEASE);
    return code;
}

// Adds a track, or defines `id` again when it is not 0.
static uint32_t ts__track_put(uint32_t id, ts_track_type type, uint32_t parent,
                              uint32_t name, uint32_t unit, uint64_t number,
                              uint64_t flags)
{
    ts_track_entry entry;
    memset(&entry, 0, sizeof entry);
    entry.type = (uint8_t)type;
    entry.parent = parent;
    entry.name = name;
    entry.unit = unit;
    entry.number = number;
    entry.flags = flags;
    ts__caller old;
    if (!ts__enter(&old)) return 0;
    ts__lock_take(&ts__c.names);
    if (id)
        id = ts__entry_add(TS_CHUNK_TRACKS, id, &entry, sizeof entry, 0);
    else
        id = ts__entry_new(TS_CHUNK_TRACKS, &entry, sizeof entry);
    ts__lock_give(&ts__c.names);
    ts__leave(&old);
    return id;
}

// The process's own track: number 1 in the first process, a new number in a
// child made by fork.
static uint32_t ts__process_track(void)
{
    if (!TS__LOAD(&ts__c.process_track)) {
        char name[256];
        ts__text_read("/proc/self/comm", name, sizeof name);
        name[strcspn(name, "\n")] = 0;
        const uint32_t track =
            ts__track_put(0, TS_TRACK_PROCESS, 0, ts_name_define(name), 0,
                          (uint64_t)getpid(), 0);
        uint32_t none = 0; // another thread may have been faster
        __atomic_compare_exchange_n(&ts__c.process_track, &none, track, false,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
    return ts__c.process_track;
}

static uint32_t ts__thread_describe(uint32_t name)
{
    const uint32_t session = TS__LOAD(&ts__here.session);
    const uint32_t process = ts__process_track();
    if (session && ts__track_reported != session)
        __atomic_fetch_add(&ts__c.threads, 1, __ATOMIC_RELAXED);
    ts__track_name = name;
    ts__track_reported = session;
    ts__track = ts__track_put(ts__track, TS_TRACK_THREAD, process, name, 0,
                              (uint64_t)syscall(SYS_gettid), 0);
    return ts__track;
}

// A trace has the tracks of those threads only that recorded in its session, so
// each thread reports its track to each session.
uint32_t ts_thread_track(void)
{
    if (ts__track && ts__track_reported == TS__LOAD(&ts__here.session))
        return ts__track;
    if (!ts__track_name) {
        char name[17] = { 0 };
        prctl(PR_GET_NAME, name);
        ts__track_name = ts_name_define(name);
    }
    return ts__thread_describe(ts__track_name);
}

void ts_thread_name(const char *name)
{
    if (name) ts__thread_describe(ts_name_define(name));
}

// Counters are identified by their name: an entry with the name as key holds
// the track.
static uint32_t ts__counter_track(const char *name, const char *unit,
                                  uint32_t flags, bool define)
{
    const uint32_t key = ts_name_define(name);
    if (!key) return 0;
    ts__caller old;
    const uint32_t unit_name = ts_name_define(unit);
    const uint32_t parent = ts__process_track();
    if (!ts__enter(&old)) return 0;
    ts__lock_take(&ts__c.names);
    const uint64_t hash = ts__mix(&key, 4, TS__ENTRY_COUNTER) | 1;
    ts__entry *known = ts__entry_find(TS__ENTRY_COUNTER, &key, 4, hash);
    uint32_t id = known ? known->id : 0;
    if (!id || define) {
        ts_track_entry entry;
        memset(&entry, 0, sizeof entry);
        entry.type = TS_TRACK_COUNTER;
        entry.parent = parent;
        entry.name = key;
        entry.unit = unit_name;
        entry.flags = flags;
        if (id)
            ts__entry_add(TS_CHUNK_TRACKS, id, &entry, sizeof entry, 0);
        else
            id = ts__entry_new(TS_CHUNK_TRACKS, &entry, sizeof entry);
        if (id && !known) ts__entry_add(TS__ENTRY_COUNTER, id, &key, 4, hash);
    }
    ts__lock_give(&ts__c.names);
    ts__leave(&old);
    return id;
}

uint32_t ts_counter_define(const char *name, const char *unit, uint32_t flags)
{
    return ts__counter_track(name, unit, flags, true);
}

// What a counter has as `code`, likewise.
static uint32_t ts__counter_code(ts_counter *counter)
{
    const uint32_t known = TS__CODE(&counter->code);
    if (known) return known;
    const uint32_t id = ts__counter_track(counter->name, NULL, 0, false);
    const uint32_t code = id ? id << 6 | TS__REC_COUNTER : 0;
    __atomic_store_n(&counter->code, code, __ATOMIC_RELEASE);
    return code ? code : ts__nameless();
}

static void ts__metadata_put(uint32_t track, const char *key, uint32_t type,
                             uint64_t value)
{
    ts_metadata_entry entry;
    entry.key = ts_name_define(key);
    entry.type = type;
    entry.value = value;
    ts__caller old;
    if (!entry.key || !ts__enter(&old)) return;
    ts__lock_take(&ts__c.names);
    ts__entry_add(TS_CHUNK_METADATA, track, &entry, sizeof entry, 0);
    ts__lock_give(&ts__c.names);
    ts__leave(&old);
}

void ts_metadata_int(uint32_t track, const char *key, int64_t value)
{
    ts__metadata_put(track, key, TS_VALUE_INT, (uint64_t)value);
}

void ts_metadata_double(uint32_t track, const char *key, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    ts__metadata_put(track, key, TS_VALUE_DOUBLE, bits);
}

void ts_metadata_text(uint32_t track, const char *key, const char *value)
{
    if (!value) return;
    ts__metadata_put(track, key, TS_VALUE_TEXT, ts_name_define(value));
}

uint32_t ts_module_define(const char *path, uint64_t address, uint64_t size,
                          const void *build_id, size_t build_id_size)
{
    uint8_t bytes[sizeof(ts_module_entry) + 64];
    ts_module_entry entry;
    if (build_id_size > 64) build_id_size = 64;
    if (!build_id) build_id_size = 0;
    memset(&entry, 0, sizeof entry);
    entry.path = ts_name_define(path);
    entry.address = address;
    entry.size = size;
    memcpy(bytes, &entry, sizeof entry);
    if (build_id_size) memcpy(bytes + sizeof entry, build_id, build_id_size);
    return ts__entry_get(TS_CHUNK_MODULES, bytes, sizeof entry + build_id_size);
}

/* ---- 12.8 Stacks -------------------------------------------------------- */
// src/record/dictionary/stacks.h

/*
    New stacks arrive by the thousand, and one system call or page fault would
    take as long as the rest of the work. So they are added without a lock
    (which would require blocked signals) and stored once: in blocks of the log
    that outlive the session, because they belong to the process as well.

    A shelf holds one such block. Adding an entry takes a shelf by one
    instruction; a shelf that is taken already, by another thread or by code
    that a signal handler interrupted, is skipped, so that nobody waits. A shelf
    that is never given back (a jump out of a handler) is out of use until the
    session ends; the next session takes it over, and a thread still in the old
    session does not get a shelf that the new one has used. When no shelf is
    free, entries are added like all others.

    An entry is in the log before it is in the table, where other threads find
    it.
*/
enum { TS__SHELVES = 8, TS__SHELF_FROM = 32 };
typedef struct ts__shelf {
    uint32_t taken;   // 2 * the last session that used it, + 1 if taken
    ts__block *block; // one of the process's
} ts__shelf;
static ts__shelf ts__shelves[TS__SHELVES];
static struct {
    uint32_t session, count; // new stacks in it
    uint32_t none;           // the session in which there is no room
} ts__shelf_use;

/*
    Maps a block of the log through its own file descriptor: it remains mapped
    in a child made by fork, where the session's descriptor would keep the
    sidecar locked after the parent's death. The child does not write to the
    block; `kept` says what was in it at the fork.
*/
static void *ts__shelf_memory(size_t size, uint64_t *offset)
{
    ts__file file;
    void *memory = NULL;
    ts__sidecar *const sidecar = ts__c.writer.sidecar;
    if (ts__file_open(&file, ts__c.sidecar_path, O_RDWR, 0) < 0) return NULL;
    if (ts__file_is(&ts__c.sidecar_file, file.fd)) {
        *offset = __atomic_fetch_add(&sidecar->size, size, __ATOMIC_RELAXED);
        memory = ts__pages_map(file.fd, *offset, size);
    }
    close(file.fd);
    return memory;
}

/*
    In a child made by fork: a signal handler that forks may have interrupted an
    addition, which then continues in both processes. The block's contents and
    the entry being added become the child's own; the parent's log is not
    touched.
*/
static void ts__shelves_to_own(void)
{
    for (uint32_t i = 0; i < TS__SHELVES; i++) {
        const ts__block *const block = ts__shelves[i].block;
        if (!(ts__shelves[i].taken & 1) || !block) continue;
        uint64_t keep = block->kept + ts__entry_room(4 * TS__STACK_WORDS);
        if (keep > block->size) keep = block->size;
        ts__own_memory(block->bytes - 8, (size_t)keep + 8,
                       (size_t)block->size + 8);
    }
}

// Set once shelves are used: a program without stacks need not link them.
static void (*ts__shelves_own)(void);

// Gives the next block to a shelf that this thread has taken. Names' lock held.
static ts__block *ts__shelf_block(const ts__shelf *shelf, uint32_t gate)
{
    ts__sidecar *const sidecar = ts__c.writer.sidecar;
    uint64_t offset = 0;
    // An ending session unmaps its memory once names are no longer shared. Each
    // session has its own blocks; half of all blocks are for other entries.
    if (!ts__c.names_shared || !ts__session_still(gate) ||
        sidecar->block_count >= TS__BLOCKS_MAX / 2 ||
        ts__c.block_count >= TS__BLOCKS_MAX / 2)
        return NULL;
    const bool more = shelf->block && shelf->block->session == gate;
    const size_t size = ts__page_round(TS__BLOCK_BYTES / (more ? 1 : 4));
    void *const memory = ts__shelf_memory(size, &offset);
    ts__block *const log =
        ts__block_add(ts__log, &sidecar->block_count, memory, size, offset);
    if (!log) return NULL;
    log->session = gate;
    ts__block *const block = &ts__c.blocks[ts__c.block_count];
    *block = *log;
    block->used = &block->kept;
    ts__shelves_own = ts__shelves_to_own;
    // release: pairs with the acquire in ts__writer_blocks
    __atomic_store_n(&ts__c.block_count, ts__c.block_count + 1,
                     __ATOMIC_RELEASE);
    return block;
}

static __attribute__((noinline)) ts__block *ts__shelf_fill(ts__shelf *shelf,
                                                           uint32_t gate)
{
    ts__caller old;
    if (!ts__enter(&old)) return NULL;
    ts__lock_take(&ts__c.names);
    ts__block *const block = ts__shelf_block(shelf, gate);
    // release: pairs with the acquire in ts__shelf_put, where a thread of the
    // session before may read it
    if (block)
        __atomic_store_n(&shelf->block, block, __ATOMIC_RELEASE);
    else
        TS__STORE(&ts__shelf_use.none, gate);
    ts__lock_give(&ts__c.names);
    ts__leave(&old);
    return block;
}

TS__SMALL_END

// Adds an entry to a shelf that this thread has taken.
static uint32_t ts__shelf_put(ts__shelf *shelf, uint32_t gate,
                              const ts__entry *head, const void *bytes)
{
    const size_t room = ts__entry_room(head->size);
    // acquire: pairs with the release in ts__shelf_fill
    ts__block *block = __atomic_load_n(&shelf->block, __ATOMIC_ACQUIRE);
    if (!block || block->session != gate || block->kept + room > block->size)
        block = ts__shelf_fill(shelf, gate);
    if (!block) return 0;
    const uint64_t used = block->kept + room;
    ts__entry *const e = (ts__entry *)(void *)(block->bytes + block->kept);
    const uint32_t id = ts__id_next(head->kind);
    if (!id) return 0;
    *e = *head;
    e->id = id;
    memcpy(e + 1, bytes, head->size);
    // release: pairs with the acquire in ts__writer_blocks
    __atomic_store_n(&block->kept, used, __ATOMIC_RELEASE);
    // Write to the log before checking the session: if it has not ended by
    // then, its log has the entry, and the next session begins with it.
    uint64_t *const logged = (uint64_t *)(void *)block->bytes - 1;
    __atomic_exchange_n(logged, used, __ATOMIC_SEQ_CST);
    if (!ts__session_still(gate)) return 0;
    return ts__entry_show(e);
}

// Adds an unknown stack; 0: it must be added like other entries.
static uint32_t ts__shelf_add(const ts__entry *head, const void *bytes)
{
    const uint32_t gate = TS__LOAD(&ts__here.session);
    if (!gate || ts__table_full() || TS__LOAD(&ts__shelf_use.none) == gate)
        return 0;
    if (TS__LOAD(&ts__shelf_use.session) != gate) {
        TS__STORE(&ts__shelf_use.count, 0);
        TS__STORE(&ts__shelf_use.session, gate);
    }
    // A session with few new stacks needs no block for them.
    if (TS__LOAD(&ts__shelf_use.count) < TS__SHELF_FROM) {
        __atomic_fetch_add(&ts__shelf_use.count, 1, __ATOMIC_RELAXED);
        return 0;
    }
    for (uint32_t i = 0; i < TS__SHELVES; i++) {
        ts__shelf *const shelf = &ts__shelves[i];
        uint32_t was = TS__LOAD(&shelf->taken);
        // One taken in an earlier session writes to that session's block only.
        if ((int32_t)(was - 2 * gate) > 0 ||
            !__atomic_compare_exchange_n(&shelf->taken, &was, 2 * gate + 1,
                                         false, __ATOMIC_ACQUIRE,
                                         __ATOMIC_RELAXED))
            continue;
        // Check after the shelf was taken: see ts__shelves_to_own.
        const uint32_t id = ts__session_still(gate)
                                ? ts__shelf_put(shelf, gate, head, bytes)
                                : 0;
        was = 2 * gate + 1; // unless a later session has it
        __atomic_compare_exchange_n(&shelf->taken, &was, 2 * gate, false,
                                    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
        return id;
    }
    return 0;
}

// Two independent sums run in parallel, where one would be a chain. Up to three
// words behind the last one must be zeros.
static uint64_t ts__stack_hash(const uint32_t *words, uint32_t count)
{
    const uint64_t odd = 0x9E3779B97F4A7C15u; // 2^64 / golden ratio
    uint64_t a = count, b = odd, two[2];
    for (uint32_t i = 0; i < count; i += 4) {
        memcpy(two, words + i, sizeof two);
        a = ((a << 25 | a >> 39) ^ two[0]) * odd;
        b = ((b << 25 | b >> 39) ^ two[1]) * odd;
    }
    a = (a ^ (b << 32 | b >> 32)) * odd;
    return a ^ a >> 32;
}

uint32_t ts__stack_get(uint32_t *words, uint32_t count)
{
    if (!count) return 0;
    memset(words + count, 0, 4 * sizeof *words);
    const ts__entry head = { ts__stack_hash(words, count) | 1, 0, 4 * count,
                             TS__ENTRY_PACKED, 0 };
    const ts__entry *const known =
        ts__entry_find(head.kind, words, head.size, head.hash);
    if (known) return known->id;
    const uint32_t id = ts__shelf_add(&head, words);
    return id ? id : ts__entry_make(head.kind, words, head.size, head.hash);
}

uint32_t ts_stack_define(const ts_frame_entry *frames, uint32_t count)
{
    uint32_t words[TS__STACK_WORDS], at = 0, last = TS__STACK_WHERE(0, 0);
    uint64_t wide = 0;
    if (!frames || !count || count > 256) return 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t module = frames[i].module, offset = frames[i].offset;
        const uint32_t where = TS__STACK_WHERE(module, offset);
        wide |= module << 34 | offset;
        if (where != last) words[at++] = where;
        last = where;
        words[at++] = (uint32_t)offset & ~(1u << 31);
    }
    return wide >> 48
               ? ts__entry_get(TS_CHUNK_STACKS, frames, count * sizeof *frames)
               : ts__stack_get(words, at);
}

TS__SMALL_BEGIN

/* ---- 12.9 Rings --------------------------------------------------------- */
// src/record/rings/rings.h

static size_t ts__ring_offset(void) // of the slots in the mapping
{
    return 8192;
}

static size_t ts__ring_bytes(uint32_t shift) // of the mapping
{
    return ts__ring_offset() + ((size_t)16 << shift);
}

static uint64_t ts__ring_slots(const ts__ring *ring)
{
    return ring->mask + 1;
}

// A ring of 1 << shift slots. Pool's lock held; NULL over the bound.
static ts__ring *ts__ring_new(uint32_t shift)
{
    ts__sidecar *const sidecar = ts__c.writer.sidecar;
    const size_t size = ts__ring_bytes(shift);
    const uint32_t index = ts__c.ring_count;
    if (index == TS__RINGS_MAX ||
        ts__c.ring_bytes + size > ts__c.desc.memory_bytes)
        return NULL;
    uint64_t offset = 0;
    ts__ring *const ring =
        (ts__ring *)ts__sidecar_grow(TS__GROW_RINGS, size, &offset);
    if (!ring) return NULL;
    ring->slots = (ts__slot *)(void *)((uint8_t *)ring + ts__ring_offset());
    ring->shift = shift;
    ring->mask = ((uint64_t)1 << shift) - 1;
    ring->lap = (uint64_t)1 << (57 - shift);
    // Start in lap 1, so that a slot of zeros reads as never written.
    ring->head = ring->tail = ts__ring_slots(ring);
    ts__rest(ring)->start = ring->head;
    ts__rest(ring)->drained_ns = ts__clock_ns(CLOCK_MONOTONIC);
    ts__rest(ring)->index = index;
    ring->limit = ts__c.desc.policy == TS_POLICY_OVERWRITE
                      ? UINT64_MAX
                      : ring->tail + ts__ring_slots(ring) - TS__RING_MARGIN;
    sidecar->rings[index].offset = offset;
    sidecar->rings[index].size = size;
    ts__c.rings[index] = ring;
    TS__STORE(&ts__c.ring_bytes, ts__c.ring_bytes + size);
    // release: pairs with the acquires of whoever walks the rings
    __atomic_store_n(&sidecar->ring_count, index + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&ts__c.ring_count, index + 1, __ATOMIC_RELEASE);
    return ring;
}

// Makes the calling thread the ring's owner. Pool's lock held.
static void ts__ring_own(ts__ring *ring, uint32_t gate)
{
    ts__ring_rest *const rest = ts__rest(ring);
    const uint64_t position = ts__ring_reserve(ring, 1);
    TS__STORE(&rest->owner, ts__track);
    rest->older = NULL;
    TS__STORE(&rest->owners[rest->owner_count % 16].position, position);
    TS__STORE(&rest->owners[rest->owner_count % 16].track, ts__track);
    // release: pairs with the acquire in ts__snapshot_track
    __atomic_store_n(&rest->owner_count, rest->owner_count + 1,
                     __ATOMIC_RELEASE);
    TS__STORE(&rest->state, TS__RING_OWNED);
    TS__STORE(&ring->depth, 0);
    TS__STORE(&ring->gate, gate);
    TS__STORE(&ring->quick, ts__quick() ? gate : 0);
    ts__ring_publish(ring, position, 0,
                     (uint64_t)ts__track << 6 | TS__REC_THREAD);
}

static uint32_t ts__shift_first(void)
{
    uint32_t shift = 11; // TS__RING_SLOTS_MIN
    if (ts__c.desc.policy == TS_POLICY_OVERWRITE)
        while (((uint64_t)16 << shift) < ts__c.desc.ring_bytes)
            shift++;
    return shift;
}

static bool ts__ring_fits(ts__ring *ring, uint32_t count)
{
    return ring->head + count <= TS__LOAD(&ring->limit);
}

// Reads how far the consumer has come and moves the limit, never more than half
// a ring ahead, so that the drain is woken in time.
static bool ts__ring_refresh(ts__ring *ring, uint32_t count)
{
    if (ts__c.desc.policy == TS_POLICY_OVERWRITE) return true;
    // acquire: pairs with the release in ts__writer_append
    const uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
    const uint64_t slots = ts__ring_slots(ring);
    uint64_t limit = tail + slots - TS__RING_MARGIN;
    if (limit > ring->head + slots / 2) limit = ring->head + slots / 2;
    TS__STORE(&ring->limit, limit);
    if (ring->head - tail >= slots / 4 && TS__LOAD(&ts__c.thread_runs)) {
        ts__futex_bump(&ts__c.wake);
    }
    return ts__ring_fits(ring, count);
}

static void ts__ring_drain(ts__ring *ring, uint64_t upto, bool dead);
static void ts__row_write(ts__ring *ring, uint32_t event,
                          const uint64_t *values, uint32_t count);

// Unmaps a thread's rings of an ended session: its last and the smaller ones.
static void ts__rings_unmap(ts__ring *ring)
{
    while (ring) {
        ts__ring *const older = ts__rest(ring)->older;
        munmap(ring, ts__ring_bytes(ring->shift));
        ring = older;
    }
}

// A ring of at least 1 << shift slots: a free one, or a new one. Pool's lock
// held; only ts__ring_attach reads the count without it.
static ts__ring *ts__ring_pick(uint32_t shift)
{
    uint32_t *const list = ts__c.free_rings;
    const uint32_t last = ts__c.free_count - 1;
    for (uint32_t i = last; i != UINT32_MAX; i--) {
        ts__ring *const ring = ts__c.rings[list[i]];
        if (ring->shift < shift) continue;
        list[i] = list[last];
        TS__STORE(&ts__c.free_count, last);
        return ring;
    }
    return ts__ring_new(shift);
}

/*
    Finds a ring for a thread that has none in this session; called inside the
    slow path. The thread's ring of the session before remains mapped until the
    next session, because we may be in a signal handler that interrupted a
    record into it.
*/
static ts__ring *ts__ring_attach(uint32_t gate)
{
    ts__ring *ring = NULL;
    if (!TS__LOAD(&ts__c.free_count) && ts__grow_refused(TS__GROW_RINGS)) {
        ts__loss_now(ts__track, TS_LOSS_MEMORY_BOUND);
        return NULL;
    }
    // ts_thread_track enters the slow path itself.
    ts__inside = 0;
    const bool known = ts_thread_track() != 0;
    ts__inside = 1;
    if (!known) {
        ts__grow_failed(TS__GROW_RINGS);
        ts__loss_now(0, TS_LOSS_DICTIONARY_FULL);
        return NULL;
    }
    ts__lock_take(&ts__c.pool);
    const bool still = ts__session_still(gate);
    if (still) ring = ts__ring_pick(ts__shift_first());
    // Many short threads can fill a ring between two visits of the drain. Its
    // last owner has ended: unpublished slots will never be published.
    if (ring && !ts__ring_refresh(ring, 2))
        ts__ring_drain(ring, ring->head, true);
    if (ring)
        ts__ring_own(ring, gate);
    else if (still)
        ts__loss_now(ts__track, TS_LOSS_MEMORY_BOUND);
    ts__lock_give(&ts__c.pool);
    if (!ring) return NULL;
    if (ts__mine != &ts__none) { // of an earlier session
        ts__rings_unmap(ts__before);
        ts__before = ts__mine;
    }
    ts__mine = ring;
    pthread_setspecific(ts__c.key, ring);
    return ring;
}

/*
    Gives a larger ring to a thread that fills its own. With `stuck`, one of the
    same size: the old one cannot be emptied because a slot was reserved and
    never published (a jump out of a signal handler, a cancelled thread). The
    old ring belongs to the thread until it ends, because we may be in a signal
    handler that interrupted a record into it.
*/
static ts__ring *ts__ring_grow(ts__ring *ring, uint32_t gate, bool stuck)
{
    uint32_t shift = ring->shift;
    const uint32_t depth = ring->depth;
    if (!stuck) {
        // Nor while a handler has interrupted the begin of a zone, whose entry
        // is going to be completed in this ring.
        if (((uint64_t)16 << shift) >= ts__c.desc.ring_bytes ||
            ts__ring_open(ring, depth - 1)->depth == UINT32_MAX)
            return NULL;
        shift += 2;
        while (((uint64_t)16 << shift) > ts__c.desc.ring_bytes)
            shift--;
    }
    ts__lock_take(&ts__c.pool);
    if (!ts__session_still(gate)) {
        ts__lock_give(&ts__c.pool);
        return NULL;
    }
    ts__ring *const next = ts__ring_pick(shift);
    if (next) {
        ts__ring_own(next, gate);
        memcpy(next->open, ring->open, sizeof next->open);
        ts__rest(next)->older = ring;
        // The old ring keeps its depth: what a handler interrupted may look for
        // the innermost zone there.
        TS__STORE(&next->depth, depth);
        TS__STORE(&ts__rest(ring)->state, TS__RING_RETIRED);
        TS__STORE(&ring->gate, 0);
        TS__STORE(&ring->quick, 0);
        ts__mine = next;
        pthread_setspecific(ts__c.key, next);
    }
    ts__lock_give(&ts__c.pool);
    return next;
}

// Whether the next record to drain was reserved by this very thread and never
// published.
static bool ts__ring_stuck(const ts__ring *ring)
{
    // acquire: pairs with the release in ts__writer_append
    const uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
    const ts__slot *const slot = &ring->slots[tail & ring->mask];
    return ring->head != tail &&
           (TS__LOAD(&slot->a) & 0xFF) != ts__ring_tag(ring, tail);
}

// Waits for the drain thread; false when waiting cannot help.
static bool ts__ring_block(ts__ring *ring, uint32_t count, uint32_t gate)
{
    while (!ts__ring_refresh(ring, count)) {
        if (!ts__session_still(gate) || !TS__LOAD(&ts__c.thread_runs) ||
            ts__ring_stuck(ring))
            return false;
        ts__futex_bump(&ts__c.wake);
        ts__futex_wait(&ts__c.drained, TS__LOAD(&ts__c.drained), 1000000u);
    }
    return true;
}

static ts__ring *ts__ring_make_room(ts__ring *ring, uint32_t count,
                                    uint32_t gate)
{
    if (ts__ring_refresh(ring, count)) return ring;
    ts__ring *const larger = ts__ring_grow(ring, gate, false);
    if (larger) return larger;
    const uint64_t tick = ts__tick();
    const uint64_t begin_ns = ts__clock_ns(CLOCK_MONOTONIC);
    ts_loss cause = TS_LOSS_RING_FULL;
    bool fits = false;
    if (ts__c.desc.policy == TS_POLICY_HELP) {
        cause = TS_LOSS_HELPED;
        ts__ring_drain(ring, ring->head, false);
        fits = ts__ring_refresh(ring, count);
    } else if (ts__c.desc.policy == TS_POLICY_BLOCK) {
        cause = TS_LOSS_BLOCKED;
        fits = ts__ring_block(ring, count, gate);
    }
    if (cause != TS_LOSS_RING_FULL)
        ts__loss_ring(ring, cause, 1, tick, ts__tick(),
                      ts__clock_ns(CLOCK_MONOTONIC) - begin_ns);
    if (fits) return ring;
    ts__ring *const fresh =
        cause != TS_LOSS_RING_FULL ? ts__ring_grow(ring, gate, true) : NULL;
    if (fresh) return fresh;
    if (ts__session_still(gate))
        ts__loss_ring(ring, TS_LOSS_RING_FULL, 1, tick, tick, 0);
    return NULL;
}

// Records the zones that an ending thread leaves open.
static void ts__ring_leave(ts__ring *ring)
{
    const uint32_t gate = ring->gate;
    for (uint32_t depth = 0; ring && depth < ring->depth; depth++) {
        const ts__open *const entry = ts__ring_open(ring, depth);
        if (entry->depth != depth) continue; // too deep
        const uint64_t row[] = { entry->start, entry->code >> 6, depth };
        if (!ts__ring_fits(ring, 8)) ring = ts__ring_make_room(ring, 8, gate);
        if (ring) ts__row_write(ring, TS_EVENT_ZONE_OPEN, row, 3);
    }
}

// Runs when a thread ends: returns its ring, and the smaller ones before it,
// which nobody can be using any more.
static void ts__ring_detach(void *value)
{
    ts__caller old;
    bool found = false;
    ts__ring *const mine = (ts__ring *)value;
    if (!ts__enter(&old)) return;
    if (ts__session_still(TS__LOAD(&mine->gate))) ts__ring_leave(mine);
    ts__mine = &ts__none;
    // Recording the open zones may have set a new ring: do not run again.
    pthread_setspecific(ts__c.key, NULL);
    ts__lock_take(&ts__c.pool);
    const uint32_t owner = ts__rest(mine)->owner;
    for (uint32_t i = 0; i < ts__c.ring_count; i++) {
        ts__ring *const ring = ts__c.rings[i];
        ts__ring_rest *const rest = ts__rest(ring);
        found |= ring == mine;
        if (rest->owner != owner || rest->state == TS__RING_FREE) continue;
        TS__STORE(&ring->depth, 0);
        TS__STORE(&rest->state, TS__RING_FREE);
        ts__c.free_rings[ts__c.free_count] = i;
        TS__STORE(&ts__c.free_count, ts__c.free_count + 1);
    }
    ts__lock_give(&ts__c.pool);
    if (!found) ts__rings_unmap(mine);
    ts__rings_unmap(ts__before);
    ts__before = NULL;
    ts__leave(&old);
}

// Room for `count` slots in the session numbered `gate`.
static ts__ring *ts__ring_room_in(uint32_t gate, uint32_t count)
{
    ts__caller old;
    if (!ts__enter(&old)) {
        // A fault inside the slow path. The interrupted code keeps the
        // session's memory mapped.
        ts__loss_now(ts__track, TS_LOSS_REENTRANT);
        return NULL;
    }
    ts__ring *ring = NULL;
    if (ts__session_still(gate)) {
        ring = ts__mine;
        if (TS__LOAD(&ring->gate) != gate) ring = ts__ring_attach(gate);
        if (ring && !ts__ring_fits(ring, count))
            ring = ts__ring_make_room(ring, count, gate);
    }
    ts__leave(&old);
    return ring;
}

ts__ring *ts__ring_room(uint32_t count)
{
    const uint32_t gate = TS__LOAD(&ts__here.gate);
    return gate ? ts__ring_room_in(gate, count) : NULL;
}

// Counts a zone that began before this session.
static void ts__zone_stale(uint32_t gate)
{
    ts__caller old;
    if (!ts__enter(&old)) return;
    if (ts__session_still(gate)) ts__loss_now(ts__track, TS_LOSS_STALE);
    ts__leave(&old);
}

TS__COLD ts_zone ts__zone_begin_slow(ts_site *site)
{
    ts_zone zone = { 0, ts__site_code(site), 0 };
    ts__ring *const ring = zone.code ? ts__ring_get(1) : NULL;
    if (ring)
        ts__zone_open(&zone, ring, false);
    else
        zone.code = 0;
    return zone;
}

TS__COLD void ts__zone_end_slow(uint64_t start, uint32_t code, uint32_t depth)
{
    const uint64_t end = ts_tick_now(); // first: it may take the ring away
    const uint32_t gate = TS__LOAD(&ts__here.session); // also when paused
    ts__ring *ring = ts__mine;
    const uint64_t duration = end - start;
    if (!gate) return;
    if ((int64_t)(start - TS__LOAD(&ts__c.start_tick)) < 0) {
        ts__zone_stale(gate);
        return;
    }
    // 8 slots: what ts__row_put needs, in case the gate is closed.
    if (TS__LOAD(&ring->gate) != gate || !ts__ring_fits(ring, 8))
        ring = ts__ring_room_in(gate, 8);
    if (!ring) {
        if (TS__LOAD(&ts__mine->gate) == gate)
            TS__STORE(&ts__mine->depth, depth);
        return;
    }
    if (duration >> 32 == 0) {
        ts__ring_publish(ring, ts__ring_reserve(ring, 1), start,
                         duration << 32 | code);
    } else {
        const uint64_t row[] = { start, duration, code >> 6 };
        ts__row_write(ring, TS_EVENT_ZONE, row, 3);
    }
    TS__STORE(&ts__mine->depth, depth);
}

TS__SMALL_END

/* ---- 12.10 Records with a payload --------------------------------------- */
// src/record/rings/records.h

// Writes a slot after the first one of a record; `a` has 56 bits.
static void ts__ring_more(ts__ring *ring, uint64_t position, uint64_t a,
                          uint64_t b)
{
    ts__slot *const slot = &ring->slots[position & ring->mask];
    TS__STORE(&slot->b, b);
    TS__STORE(&slot->a, a << 8 | ts__ring_tag(ring, position) | 1);
}

// Copies bytes into the slots after a reserved position, 15 to a slot; reads up
// to 14 bytes beyond the last. It stores whole words: a slot assembled from
// bytes would be loaded before these have left the store buffer, 4 ns a slot.
static void ts__ring_fill(ts__ring *ring, uint64_t position,
                          const uint8_t *bytes, size_t size)
{
    for (size_t done = 0; done < size; done += 15) {
        uint64_t low, high;
        memcpy(&low, bytes + done, 8);
        memcpy(&high, bytes + done + 7, 8);
        ts__ring_more(ring, ++position, low, high);
    }
}

static uint32_t ts__slots_for(size_t size)
{
    return 1 + (uint32_t)((size + 14) / 15);
}

static void ts__ring_put(ts__ring *ring, uint64_t tick, uint64_t b,
                         const uint8_t *bytes, size_t size)
{
    const uint32_t slots = ts__slots_for(size);
    const uint64_t position = ts__ring_reserve(ring, slots);
    ts__ring_count_more(ring, slots - 1);
    ts__ring_fill(ring, position, bytes, size);
    ts__ring_publish(ring, position, tick, b);
}

/*
    A row: u32 track, u32 clock, a u64 for each of ts_event_columns but the
    text, then the text. A long row is written with signals blocked, because
    TS__RING_MARGIN bounds what nested handlers may reserve.
*/
static void ts__row_put_in(uint8_t *bytes, uint32_t event, uint32_t track,
                           uint32_t clock, const uint64_t *values,
                           uint32_t count, const char *text, size_t size)
{
    memcpy(bytes, &track, 4);
    memcpy(bytes + 4, &clock, 4);
    memcpy(bytes + 8, values, 8 * count);
    if (size) memcpy(bytes + 8 + 8 * count, text, size);
    size += 8 + 8 * count;
    memset(bytes + size, 0, 14);
    const uint32_t slots = ts__slots_for(size);
    ts__ring *ring = ts__ring_get(slots);
    if (!ring) return;
    const uint64_t b = (uint64_t)size << 32 | (uint64_t)slots << 16 |
                       (uint64_t)event << 6 | TS__REC_ROW;
    if (slots <= 32) {
        ts__ring_put(ring, values[0], b, bytes, size);
        return;
    }
    ts__caller old;
    const uint32_t gate = TS__LOAD(&ts__here.gate);
    if (!ts__enter(&old)) return;
    ring = ts__mine;
    if (ts__session_still(gate) && TS__LOAD(&ring->gate) == gate) {
        if (!ts__ring_fits(ring, slots)) // a handler was faster
            ring = ts__ring_make_room(ring, slots, gate);
        if (ring) ts__ring_put(ring, values[0], b, bytes, size);
    }
    ts__leave(&old);
}

enum {
    TS__ROW_BYTES = 8 + 8 * TS__COLUMNS_PER_EVENT + 16,
    TS__TEXT_SHORT = 256
};

// Not inlined: a signal handler may run on a small stack, and only a long text
// needs much of it.
static __attribute__((noinline)) void
ts__row_put_long(uint32_t event, uint32_t track, uint32_t clock,
                 const uint64_t *values, uint32_t count, const char *text,
                 size_t size)
{
    uint8_t bytes[TS__ROW_BYTES + TS__TEXT_MAX];
    if (size > TS__TEXT_MAX) size = TS__TEXT_MAX;
    ts__row_put_in(bytes, event, track, clock, values, count, text, size);
}

static __attribute__((noinline)) void
ts__row_put(uint32_t event, uint32_t track, uint32_t clock,
            const uint64_t *values, uint32_t count, const char *text,
            size_t size)
{
    uint8_t bytes[TS__ROW_BYTES + TS__TEXT_SHORT];
    if (size > TS__TEXT_SHORT)
        ts__row_put_long(event, track, clock, values, count, text, size);
    else
        ts__row_put_in(bytes, event, track, clock, values, count, text, size);
}

TS__SMALL_BEGIN

// The innermost open zone; false if there is none, or if zones TS__OPEN_MAX
// levels deeper have overwritten its entry.
static bool ts__open_zone_get(ts__ring *ring, uint64_t *start, uint32_t *code)
{
    const uint32_t depth = TS__LOAD(&ring->depth) - 1;
    const ts__open *const entry = ts__ring_open(ring, depth);
    *start = TS__LOAD(&entry->start);
    *code = TS__LOAD(&entry->code) >> 6;
    return depth != UINT32_MAX && TS__LOAD(&entry->depth) == depth;
}

// A short row of this thread into a ring that is known to have room.
static void ts__row_write(ts__ring *ring, uint32_t event,
                          const uint64_t *values, uint32_t count)
{
    // 16 more: ts__ring_fill reads whole slots.
    uint8_t bytes[8 + 8 * TS__COLUMNS_PER_EVENT + 16] = { 0 };
    memcpy(bytes + 8, values, 8 * count);
    const size_t size = 8 + 8 * count;
    ts__ring_put(ring, values[0],
                 (uint64_t)size << 32 | (uint64_t)ts__slots_for(size) << 16 |
                     (uint64_t)event << 6 | TS__REC_ROW,
                 bytes, size);
}

static uint32_t ts__open_site(ts__ring *ring)
{
    uint64_t start;
    uint32_t code;
    return ts__open_zone_get(ring, &start, &code) ? code : 0;
}

// The name of a site (0: unknown), by a search through the blocks.
static uint32_t ts__site_name(uint32_t site)
{
    // acquire: pairs with the release in ts__block_add
    const uint32_t count =
        __atomic_load_n(&ts__c.block_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count; i++) {
        const ts__block *const block = &ts__c.blocks[i];
        // acquire: pairs with the releases of those who add entries
        const uint64_t end = __atomic_load_n(block->used, __ATOMIC_ACQUIRE);
        for (uint64_t at = 0; at < end;) {
            const ts__entry *const e =
                (const ts__entry *)(const void *)(block->bytes + at);
            uint32_t name = 0;
            memcpy(&name, ts__entry_bytes(e), e->size < 4 ? 0 : 4);
            if (e->kind == TS_CHUNK_SITES && e->id == site) return name;
            at += ts__entry_room(e->size);
        }
    }
    return 0;
}

bool ts_zone_inside(const char *name)
{
    ts__ring *const ring = ts__mine;
    const size_t size = name ? strlen(name) : 0;
    const ts__entry *const entry = ts__entry_find(
        TS_CHUNK_NAMES, name, size, ts__mix(name, size, TS_CHUNK_NAMES) | 1);
    if (!entry || !name) return false;
    uint32_t depth = TS__LOAD(&ring->depth);
    bool inside = false;
    ts__caller old;
    if (!ts__enter(&old)) return false;
    ts__lock_take(&ts__c.names); // blocks grow under it
    for (uint32_t i = 0; i < TS__OPEN_MAX && i < depth && !inside; i++) {
        const ts__open *const open = ts__ring_open(ring, depth - 1 - i);
        inside = ts__site_name(TS__LOAD(&open->code) >> 6) == entry->id;
    }
    ts__lock_give(&ts__c.names);
    ts__leave(&old);
    return inside;
}

// The ring, if it has an innermost zone to which something can be attached.
static ts__ring *ts__ring_inside(uint64_t *start, uint32_t *code)
{
    ts__ring *const ring = ts__ring_get(8);
    if (!ring || !TS__LOAD(&ring->depth)) return NULL;
    if (ts__open_zone_get(ring, start, code)) return ring;
    const uint64_t now = ts__tick();
    ts__loss_ring(ring, TS_LOSS_TOO_DEEP, 1, now, now, 0);
    return NULL;
}

static void ts__zone_arg(const char *name, uint32_t stack, const char *text)
{
    uint64_t start;
    uint32_t code;
    if (!ts__ring_inside(&start, &code)) return;
    const uint64_t row[] = {
        start, code, name ? ts_name_define(name) : 0, TS_VALUE_TEXT, 0, stack
    };
    ts__row_put(TS_EVENT_ZONE_ARG, ts__track, 0, row, 6, text,
                text ? strlen(text) : 0);
}

static void ts__zone_value(const char *name, ts_value_type type, uint64_t value)
{
    uint64_t start;
    uint32_t site;
    if (!TS__LOAD(&ts__here.gate)) return;
    const uint64_t number = ts_name_define(name);
    ts__ring *const ring = ts__ring_inside(&start, &site);
    if (!ring) return;
    const uint64_t b = (uint64_t)type << 58 | number << 32 |
                       (uint64_t)site << 6 | TS__REC_VALUE;
    const uint64_t position = ts__ring_reserve(ring, 2);
    ts__ring_count_more(ring, 1);
    ts__ring_more(ring, position + 1, 0, value);
    ts__ring_publish(ring, position, start, b);
}

void ts_zone_value_int(const char *name, int64_t value)
{
    ts__zone_value(name, TS_VALUE_INT, (uint64_t)value);
}

void ts_zone_value_double(const char *name, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    ts__zone_value(name, TS_VALUE_DOUBLE, bits);
}

void ts_zone_text(const char *text)
{
    if (text) ts__zone_arg(NULL, 0, text);
}

void ts_zone_stack(uint32_t stack)
{
    if (stack) ts__zone_arg("stack", stack, NULL);
}

TS__COLD void ts__mark_slow(ts_site *site)
{
    ts__ring *const ring = ts__ring_get(1);
    const uint32_t code = ring ? ts__site_code(site) : 0;
    if (!code) return;
    const uint64_t tick = ts__tick();
    ts__ring_publish(ring, ts__ring_reserve(ring, 1), tick,
                     code + (TS__REC_MARK - TS__REC_ZONE));
}

// A sample of 64 bits.
static void ts__counter_put(ts__ring *ring, uint32_t code, uint32_t record,
                            uint64_t value)
{
    const uint64_t tick = ts__tick();
    uint8_t bytes[22] = { 0 };
    memcpy(bytes, &value, 8);
    ts__ring_put(ring, tick, code + (record - TS__REC_COUNTER), bytes, 8);
}

TS__COLD void ts__counter_slow(ts_counter *counter, int64_t value)
{
    ts__ring *const ring = ts__ring_get(2);
    const uint32_t code = ring ? ts__counter_code(counter) : 0;
    if (!code) return;
    if (value != (int32_t)value) {
        ts__counter_put(ring, code, TS__REC_COUNTER64, (uint64_t)value);
        return;
    }
    const uint64_t tick = ts__tick();
    ts__ring_publish(ring, ts__ring_reserve(ring, 1), tick,
                     (uint64_t)value << 32 | code);
}

void ts_counter_double(ts_counter *counter, double value)
{
    ts__ring *const ring = ts__ring_get(2);
    const uint32_t code = ring ? ts__counter_code(counter) : 0;
    if (!code) return;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    ts__counter_put(ring, code, TS__REC_COUNTERF, bits);
}

void ts_counter_uint(ts_counter *counter, uint64_t value)
{
    if (value <= INT64_MAX)
        ts_counter_int(counter, (int64_t)value);
    else
        ts_counter_double(counter, (double)value);
}

TS__COLD void ts__alloc_slow(uint64_t address, uint64_t size, uint32_t pool,
                             uint32_t category)
{
    if (!address || !ts__ring_get(8)) return;
    const uint64_t row[] = {
        ts_tick_now(), address, size, pool, category, ts__open_site(ts__mine), 0
    };
    ts__row_put(TS_EVENT_ALLOC, ts__track, 0, row, 7, NULL, 0);
}

void ts_alloc_stack(const void *ptr, uint64_t size, uint32_t pool,
                    uint32_t category, uint32_t stack)
{
    ts__ring *const ring = ptr ? ts__ring_get(8) : NULL;
    if (!ring) return;
    const uint64_t row[] = { ts__tick(), (uint64_t)(uintptr_t)ptr, size, pool,
                             category,   ts__open_site(ring),      stack };
    ts__row_put(TS_EVENT_ALLOC, ts__track, 0, row, 7, NULL, 0);
}

TS__COLD void ts__free_slow(uint64_t address, uint32_t pool)
{
    if (!address || !ts__ring_get(8)) return;
    const uint64_t row[] = { ts_tick_now(), address, pool };
    ts__row_put(TS_EVENT_FREE, ts__track, 0, row, 3, NULL, 0);
}

void ts_message_sized(const char *text, size_t size)
{
    ts__ring *const ring = text ? ts__ring_get(8) : NULL;
    if (!ring) return;
    const uint64_t row[] = { ts__tick(), ts__open_site(ring) };
    ts__row_put(TS_EVENT_MESSAGE, ts__track, 0, row, 2, text, size);
}

void ts_message(const char *text)
{
    ts_message_sized(text, text ? strlen(text) : 0);
}

enum { TS__FRAME_HOOKS = 4 };
static void (*ts__frame_hooks[TS__FRAME_HOOKS])(const char *name, bool sure);

ts_result ts_frame_listen(void (*hook)(const char *name, bool sure))
{
    for (int i = 0; i < TS__FRAME_HOOKS; i++) {
        void (*old)(const char *name, bool sure) = NULL;
        if (__atomic_compare_exchange_n(&ts__frame_hooks[i], &old, hook, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
            old == hook)
            return TS_OK;
    }
    return TS_ERR_MEMORY;
}

// The list is filled from its beginning, so the first empty place ends it.
static void ts__frame_report(const char *name, bool sure)
{
    for (int i = 0; i < TS__FRAME_HOOKS; i++) {
        void (*const hook)(const char *name, bool sure) =
            __atomic_load_n(&ts__frame_hooks[i], __ATOMIC_RELAXED);
        if (!hook) return;
        hook(name, sure);
    }
}

void ts_frame_hint(const char *name)
{
    ts__frame_report(name, false);
}

void ts_frame(ts_site *site)
{
    ts__ring *const ring = ts__ring_get(1);
    if (!ring) return;
    const uint32_t code = ts__site_code(site);
    if (!code) return;
    const uint64_t tick = ts__tick();
    ts__ring_publish(ring, ts__ring_reserve(ring, 1), tick,
                     code + (TS__REC_FRAME - TS__REC_ZONE));
    ts__frame_report(site->name, true);
}

void ts_flow(uint64_t id, ts_phase phase)
{
    ts__ring *const ring = ts__ring_get(4);
    if (!ring) return;
    if (TS__LIKELY(!(id >> 48) && (uint32_t)phase < 4)) {
        const uint64_t tick = ts__tick();
        ts__ring_publish(ring, ts__ring_reserve(ring, 1), tick,
                         id << 16 | (uint64_t)phase << 6 | TS__REC_FLOW);
        return;
    }
    const uint64_t row[] = { ts__tick(), id, (uint64_t)phase };
    ts__row_put(TS_EVENT_FLOW, ts__track, 0, row, 3, NULL, 0);
}

static void ts__span(uint64_t id, ts_phase phase, uint32_t site)
{
    ts__ring *const ring = ts__ring_get(4);
    if (!ring) return;
    const uint64_t row[] = { ts__tick(), id, (uint64_t)phase, site };
    ts__row_put(TS_EVENT_SPAN, ts__track, 0, row, 4, NULL, 0);
}

void ts_span_start(uint64_t id, ts_site *site)
{
    if (!TS__LOAD(&ts__here.gate)) return;
    const uint32_t code = ts__site_code(site);
    if (code) ts__span(id, TS_PHASE_START, code >> 6);
}

void ts_span_end(uint64_t id)
{
    ts__span(id, TS_PHASE_END, 0);
}

void ts_sample(uint32_t name, uint32_t unit, int64_t weight, uint32_t stack)
{
    ts__ring *const ring = ts__ring_get(8);
    if (!ring) return;
    const uint64_t row[] = { ts__tick(),       name, unit, TS_VALUE_INT,
                             (uint64_t)weight, stack };
    ts__row_put(TS_EVENT_SAMPLE, ts__track, 0, row, 6, NULL, 0);
}

/* ---- 12.11 Records of GPU operations ------------------------------------ */
// src/record/rings/gpu_records.h

uint32_t ts_gpu_device_define(const ts_gpu_device_desc *desc)
{
    const uint32_t parent = desc->parent ? desc->parent : ts__process_track();
    return ts__track_put(0, TS_TRACK_DEVICE, parent, ts_name_define(desc->name),
                         0, desc->index, 0);
}

uint32_t ts_gpu_context_define(const ts_gpu_context_desc *desc)
{
    char name[40];
    snprintf(name, sizeof name, "context %llu",
             (unsigned long long)desc->number);
    return ts__track_put(0, TS_TRACK_CONTEXT, desc->device,
                         ts_name_define(desc->name ? desc->name : name), 0,
                         desc->number, 0);
}

uint32_t ts_gpu_stream_define(const ts_gpu_stream_desc *desc)
{
    char name[40];
    snprintf(name, sizeof name, "stream %llu",
             (unsigned long long)desc->number);
    const uint64_t priority = (uint64_t)(desc->priority + 32768) & 0xFFFF;
    return ts__track_put(0, TS_TRACK_STREAM, desc->context,
                         ts_name_define(desc->name ? desc->name : name), 0,
                         desc->number, priority << 16 | (desc->flags & 0xFFFF));
}

uint32_t ts_gpu_launch_define(const ts_gpu_launch_desc *desc)
{
    ts_launch_entry entry;
    memset(&entry, 0, sizeof entry);
    entry.name = ts_name_define(desc->name);
    memcpy(entry.grid, desc->grid, sizeof entry.grid);
    memcpy(entry.block, desc->block, sizeof entry.block);
    memcpy(entry.cluster, desc->cluster, sizeof entry.cluster);
    entry.registers = desc->registers;
    entry.static_shared = desc->static_shared;
    entry.dynamic_shared = desc->dynamic_shared;
    entry.local = desc->local;
    return ts__entry_get(TS_CHUNK_LAUNCHES, &entry, sizeof entry);
}

static uint32_t (*ts__origin_stack)(void);

void ts_gpu_origin_stacks(uint32_t (*stack_here)(void))
{
    __atomic_store_n(&ts__origin_stack, stack_here, __ATOMIC_RELAXED);
}

// Not inlined: the frame of its caller is the first of the recorded stack.
__attribute__((noinline)) ts_gpu_origin ts_gpu_origin_here(void)
{
    ts_gpu_origin origin = { 0, 0, 0 };
    if (!TS__LOAD(&ts__here.gate)) return origin;
    origin.thread = ts_thread_track();
    origin.site = ts__open_site(ts__mine);
    uint32_t (*const stack_here)(void) = TS__LOAD(&ts__origin_stack);
    if (stack_here) origin.stack = stack_here();
    return origin;
}

// Values of an operation beyond the common columns, in their order: offsets and
// sizes of the fields in ts_gpu_op.u.
static uint32_t ts__gpu_columns(const ts_gpu_op *op, uint64_t *v)
{
#define TS__F(part, field) \
    { \
        (uint8_t) offsetof(ts_gpu_op, u.part.field), \
            (uint8_t)sizeof(((const ts_gpu_op *)0)->u.part.field) \
    }
    static const uint8_t fields[TS_EVENT_LIMIT - TS_EVENT_GPU_FIRST][9][2] = {
        { TS__F(kernel, launch), TS__F(kernel, graph_node),
          TS__F(kernel, graph) },
        { TS__F(memcpy, type), TS__F(memcpy, size), TS__F(memcpy, source),
          TS__F(memcpy, destination), TS__F(memcpy, memory),
          TS__F(memcpy, peer) },
        { TS__F(memset, size), TS__F(memset, destination),
          TS__F(memset, value) },
        { TS__F(event, id) },                       // event_record
        { TS__F(event, id), TS__F(event, record) }, // event_wait
        { TS__F(event, id) },                       // stream_sync
        { { 0, 0 } },                               // device_sync
        { TS__F(event, id) },                       // event_sync
        { TS__F(host_function, address), TS__F(host_function, name) },
        { TS__F(graph_launch, graph) },
        { TS__F(collective, name), TS__F(collective, communicator),
          TS__F(collective, sequence), TS__F(collective, size),
          TS__F(collective, type), TS__F(collective, peer),
          TS__F(collective, ranks), TS__F(collective, launch) },
        { TS__F(memory, address), TS__F(memory, size), TS__F(memory, pool),
          TS__F(memory, memory) },                       // gpu_alloc
        { TS__F(memory, address), TS__F(memory, pool) }, // gpu_free
    };
#undef TS__F
    const uint8_t(*const list)[2] = fields[op->kind - TS_EVENT_GPU_FIRST];
    uint32_t n = 0;
    for (; list[n][1]; n++)
        if (list[n][1] == 8)
            memcpy(&v[n], (const uint8_t *)op + list[n][0], 8);
        else
            memcpy(&v[n], (const uint8_t *)op + list[n][0], 4);
    return n;
}
TS__SMALL_END

/*
    Records a kernel in three slots instead of eight, if it has no stack and no
    graph and its values are small enough; false if not.

        a: start (low 56 bits)     b: kind, clock << 6, start >> 56 << 24,
                                      duration << 32
        a: site, thread << 26      b: queued, submitted << 32 (as columns)
        a: track, launch << 26     b: correlation
*/
static bool ts__kernel_put(const ts_gpu_op *op)
{
    const uint64_t launch = op->u.kernel.launch, thread = op->origin.thread;
    const uint64_t duration = op->end - op->start;
    const uint64_t queued = op->queued ? op->start - op->queued + 1 : 0;
    const uint64_t submitted =
        op->submitted ? op->start - op->submitted + 1 : 0;
    if ((duration | queued | submitted) >> 32 || launch >> 28 ||
        (op->track | op->origin.site | thread) >> 26 || op->clock >> 18 ||
        op->origin.stack || op->u.kernel.graph_node || op->u.kernel.graph)
        return false;
    ts__ring *const ring = ts__ring_get(3);
    if (!ring) return true; // lost, and counted
    const uint64_t position = ts__ring_reserve(ring, 3);
    ts__ring_count_more(ring, 2);
    ts__ring_more(ring, position + 1, thread << 26 | op->origin.site,
                  submitted << 32 | queued);
    ts__ring_more(ring, position + 2, launch << 26 | op->track,
                  op->correlation);
    ts__ring_publish(ring, position, op->start,
                     duration << 32 | op->start >> 56 << 24 |
                         (uint64_t)op->clock << 6 | TS__REC_KERNEL);
    return true;
}

TS__SMALL_BEGIN
static __attribute__((noinline)) void ts__op_refuse(const ts_gpu_op *op,
                                                    const char *why)
{
    const uint64_t now = ts_tick_now();
    ts_loss_report(op->track, TS_LOSS_BACKEND, why, 1, now, now);
}

static __attribute__((noinline)) void ts__op_put(const ts_gpu_op *op)
{
    uint64_t v[TS__COLUMNS_PER_EVENT] = { 0 };
    v[0] = op->start;
    v[1] = op->end - op->start;
    v[2] = op->correlation;
    if (op->queued) v[3] = op->start - op->queued + 1;
    if (op->submitted) v[4] = op->start - op->submitted + 1;
    v[5] = op->origin.thread;
    v[6] = op->origin.site;
    v[7] = op->origin.stack;
    const uint32_t count = 8 + ts__gpu_columns(op, v + 8);
    ts__row_put((uint32_t)op->kind, op->track, op->clock, v, count, NULL, 0);
}
TS__SMALL_END

void ts_gpu_op_record(const ts_gpu_op *op)
{
    if (!TS__LOAD(&ts__here.gate)) return;
    const uint32_t kind = (uint32_t)op->kind;
    if ((int64_t)(op->end - op->start) < 0)
        ts__op_refuse(op, "it ends before it starts");
    else if (kind < TS_EVENT_GPU_FIRST || kind >= TS_EVENT_LIMIT ||
             op->clock >= TS__CLOCKS_MAX)
        ts__op_refuse(op, "it has an unknown kind or clock");
    else if (kind != TS_EVENT_KERNEL || !ts__kernel_put(op))
        ts__op_put(op);
}

TS__SMALL_BEGIN

void ts_gpu_access_record(const ts_gpu_access *access)
{
    const uint32_t here = TS__LOAD(&ts__here.gate) ? ts_thread_track() : 0;
    if (!here) return;
    const uint64_t v[] = { ts_tick_now(), access->address, access->size,
                           access->mode, access->correlation };
    ts__row_put(TS_EVENT_ACCESS, access->track ? access->track : here, 0, v, 5,
                NULL, 0);
}

void ts_gpu_dependency_record(const ts_gpu_dependency *dependency)
{
    if (!TS__LOAD(&ts__here.gate) || !ts_thread_track()) return;
    const uint64_t v[] = { ts_tick_now(), dependency->type,
                           dependency->correlation, dependency->after };
    ts__row_put(TS_EVENT_DEPENDENCY, dependency->track, 0, v, 4, NULL, 0);
}

void ts_api_call_record(const ts_api_call *call)
{
    if (!TS__LOAD(&ts__here.gate) || !ts_thread_track()) return;
    const uint64_t v[] = { call->start,  call->end - call->start,
                           call->name,   call->correlation,
                           call->result, call->stack };
    ts__row_put(TS_EVENT_API_CALL, call->thread ? call->thread : ts__track, 0,
                v, 6, NULL, 0);
}

void ts_loss_report(uint32_t track, ts_loss cause, const char *detail,
                    uint64_t count, uint64_t first, uint64_t last)
{
    const uint32_t name = ts_name_define(detail);
    ts__caller old;
    if (!ts__api_enter(&old)) return;
    ts__loss_note(ts__c.writer.sidecar, track, cause, name, count, first, last);
    ts__api_leave(&old);
}
TS__SMALL_END

/* ---- 12.12 Encoder: packed bits ----------------------------------------- */
// src/record/encode/bits.h

/*
    The encoder turns the records of a ring into chunks in encoder->out. Their
    headers lack session, sequence and checksum, which the writer fills in.
*/
typedef struct ts__batch {
    uint64_t from, to;    // positions
    uint32_t track;       // of its records
    uint32_t next;        // track of the records after it
    uint32_t zones;       // rows in columns 0 to 2
    uint64_t events;      // bits: the other kinds of events in it
    uint64_t stale, bad;  // records not taken
    uint64_t first, last; // of these
    bool sound;           // every slot from `from` to `to` was found good
} ts__batch;

static uint64_t ts__bits(uint64_t value) // that it takes to store it
{
    return value ? 64 - (uint64_t)__builtin_clzll(value) : 0;
}

static uint64_t ts__zigzag(uint64_t d)
{
    return d << 1 ^ (0 - (d >> 63));
}

// The tick of a record whose low 56 bits are known, within 2^55 of `near`:
// five months of a 3 GHz counter.
static uint64_t ts__tick_full(uint64_t near, uint64_t low)
{
    return near + (uint64_t)((int64_t)((low - near) << 8) >> 8);
}

static void ts__put_u64(uint8_t *p, uint64_t value)
{
    memcpy(p, &value, sizeof value);
}

typedef struct ts__bit_writer {
    uint8_t *out;
    uint64_t word; // of which `used` bits are taken
    uint32_t used;
} ts__bit_writer;

static inline void ts__bits_put(ts__bit_writer *w, uint64_t value,
                                uint32_t width)
{
    w->word |= value << w->used;
    w->used += width;
    if (w->used < 64) return;
    ts__put_u64(w->out, w->word);
    w->out += 8;
    w->used -= 64;
    w->word = w->used ? value >> (width - w->used) : 0;
}

// Packs the differences of `count` values, at most 64, from `base`; returns the
// end of the output. Packs narrow ones four at a time, because the dependency
// through `word` is what takes time.
static uint8_t *ts__pack_block(uint8_t *out, const uint64_t *v, uint64_t base,
                               size_t count, uint32_t width)
{
    ts__bit_writer w = { out, 0, 0 };
    size_t i = 0;
    if (!width) return out;
    for (; width <= 16 && i + 4 <= count; i += 4) {
        const uint64_t low = (v[i] - base) | (v[i + 1] - base) << width;
        const uint64_t high = (v[i + 2] - base) | (v[i + 3] - base) << width;
        ts__bits_put(&w, low | high << 2 * width, 4 * width);
    }
    for (; i < count; i++)
        ts__bits_put(&w, v[i] - base, width);
    if (w.used) {
        ts__put_u64(w.out, w.word);
        w.out += 8;
    }
    return w.out;
}

// All bits that the differences of `count` values from `base` need. Several
// independent sums run in parallel, where one would be a chain.
static uint64_t ts__any_bits(const uint64_t *v, uint64_t base, size_t count)
{
    uint64_t a = 0, b = 0, c = 0, d = 0;
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        a |= v[i] - base;
        b |= v[i + 1] - base;
        c |= v[i + 2] - base;
        d |= v[i + 3] - base;
    }
    for (; i < count; i++)
        a |= v[i] - base;
    return a | b | c | d;
}

typedef struct ts__range {
    uint64_t smallest, largest;
} ts__range;

static ts__range ts__range_of(const uint64_t *v, size_t count)
{
    ts__range a = { v[0], v[0] }, b = a;
    size_t i = count & 1;
    for (; i < count; i += 2) {
        if (v[i] < a.smallest) a.smallest = v[i];
        if (v[i] > a.largest) a.largest = v[i];
        if (v[i + 1] < b.smallest) b.smallest = v[i + 1];
        if (v[i + 1] > b.largest) b.largest = v[i + 1];
    }
    if (b.smallest < a.smallest) a.smallest = b.smallest;
    if (b.largest > a.largest) a.largest = b.largest;
    return a;
}

static uint8_t *ts__pack(uint8_t *out, const uint64_t *v, uint64_t base,
                         uint32_t count)
{
    const uint32_t blocks = (count + 63) / 64;
    uint8_t *const widths = out;
    memset(widths, 0, (blocks + 7u) & ~7u);
    out += (blocks + 7u) & ~7u;
    for (uint32_t i = 0; i < blocks; i++) {
        const uint32_t n = count - i * 64 < 64 ? count - i * 64 : 64;
        const uint64_t any = ts__any_bits(v + i * 64, base, n);
        widths[i] = (uint8_t)ts__bits(any);
        out = ts__pack_block(out, v + i * 64, base, n, widths[i]);
    }
    return out;
}

// Whether this encoder compresses; false in a build without zstd.
static bool ts__compresses(const ts__encoder *e)
{
#ifdef TRACESMITH_ZSTD
    return e->compress != 0;
#else
    (void)e;
    return false;
#endif
}

// Writes values as byte planes, which compress better than packed bits.
static uint8_t *ts__planes(uint8_t *out, const uint64_t *v, uint64_t base,
                           uint32_t count, uint32_t width)
{
    for (uint32_t p = 0; p < width; p++)
        for (uint32_t i = 0; i < count; i++)
            *out++ = (uint8_t)((v[i] - base) >> 8 * p);
    while ((uintptr_t)out & 7)
        *out++ = 0;
    return out;
}

// Number of bits that packing takes, to compare two transforms.
static uint64_t ts__pack_cost(const uint64_t *v, uint64_t base, uint32_t count)
{
    uint64_t cost = 0;
    for (uint32_t i = 0; i < count; i += 64)
        cost += ts__bits(
            ts__any_bits(v + i, base, count - i < 64 ? count - i : 64));
    return cost;
}

// The same for byte planes, whose cost depends on how much the values vary:
// estimated by their distances from the mean.
static uint64_t ts__plane_cost(const uint64_t *v, uint64_t base, uint32_t count)
{
    uint64_t sum = 0, cost = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += v[i] - base;
    base += sum / count;
    for (uint32_t i = 0; i < count; i++)
        cost += ts__bits(ts__zigzag(v[i] - base));
    return cost;
}

/* ---- 12.13 Encoder: one chunk ------------------------------------------- */
// src/record/encode/chunk.h

/*
    One chunk under construction. Descriptors are written in place; the data go
    behind the space for all possible descriptors and are moved up at the end.
*/
typedef struct ts__chunk {
    uint8_t *start; // its header
    uint8_t *payload;
    uint8_t *data, *data_start;
    uint32_t columns;
#ifdef TRACESMITH_ZSTD
    uint32_t cut_count;
    uint32_t cuts[8 * (TS__COLUMNS_PER_EVENT + 2)]; // ends of planes, in data
#endif
} ts__chunk;

TS__SMALL_BEGIN
static ts__chunk ts__chunk_begin(ts__encoder *e)
{
    ts__chunk chunk;
    chunk.start = e->out + e->size;
    chunk.payload =
        ts__compresses(e) ? e->raw : chunk.start + sizeof(ts_chunk_header);
    chunk.columns = 0;
#ifdef TRACESMITH_ZSTD
    chunk.cut_count = 0;
#endif
    chunk.data_start = chunk.payload + 8 + 16 * (TS__COLUMNS_PER_EVENT + 2);
    chunk.data = chunk.data_start;
    return chunk;
}

static void ts__chunk_describe(ts__chunk *chunk, const ts_column_header *column)
{
    memcpy(chunk->payload + 8 + 16 * chunk->columns++, column, sizeof *column);
}

// Planes differ in their statistics, so the compressor should begin a new block
// with each, unless that costs more than it saves.
static void ts__chunk_cut(ts__chunk *chunk, const uint8_t *planes,
                          uint32_t count, uint32_t width)
{
#ifdef TRACESMITH_ZSTD
    const uint32_t at = (uint32_t)(planes - chunk->data_start);
    for (uint32_t i = 1; i <= width && count >= 1024; i++)
        chunk->cuts[chunk->cut_count++] = at + i * count;
#else
    (void)chunk, (void)planes, (void)count, (void)width;
#endif
}

// The stored values of a column under a transform (docs/sbt-format.md, section
// 7). Rows of operations have durations in column 1 and `queued` in column 3.
static void ts__transform(const ts__encoder *e, uint32_t transform,
                          const uint64_t *v, uint32_t count, uint64_t *stored)
{
    stored[0] = 0;
    if (transform == TS_TRANSFORM_DELTA)
        for (uint32_t i = 1; i < count; i++)
            stored[i] = ts__zigzag(v[i] - v[i - 1]);
    if (transform == TS_TRANSFORM_GAP)
        for (uint32_t i = 1; i < count; i++)
            stored[i] = ts__zigzag(v[i] - v[i - 1] - e->column[1][i - 1]);
    if (transform == TS_TRANSFORM_QUEUED)
        for (uint32_t i = 0; i < count; i++)
            stored[i] = ts__zigzag(e->column[3][i] - v[i]);
    if (transform == TS_TRANSFORM_ISSUED)
        for (uint32_t i = 1; i < count; i++)
            stored[i] = ts__zigzag((e->column[0][i] - v[i]) -
                                   (e->column[0][i - 1] - v[i - 1]));
}

// Adds a column of `count` values; a column of zeros is left out. `transforms`:
// bits 1 << ts_transform of those to try; the smallest result is taken.
static void ts__chunk_column(ts__encoder *e, ts__chunk *chunk, uint32_t id,
                             const uint64_t *v, uint32_t count,
                             uint32_t transforms)
{
    ts_column_header column;
    memset(&column, 0, sizeof column);
    column.column = (uint8_t)id;
    const ts__range range = ts__range_of(v, count);
    column.base = range.smallest;
    if (range.smallest == range.largest) {
        if (v[0]) ts__chunk_describe(chunk, &column);
        return;
    }
    // For small values a base of zero packs as well.
    if (ts__bits(range.smallest) * 2 < ts__bits(range.largest)) column.base = 0;
    uint64_t base = column.base, bits = ts__bits(range.largest - base);
    uint64_t (*const cost_of)(const uint64_t *, uint64_t, uint32_t) =
        ts__compresses(e) ? ts__plane_cost : ts__pack_cost;
    uint64_t least = transforms ? cost_of(v, base, count) : 0;
    for (uint8_t t = TS_TRANSFORM_DELTA; transforms >> t; t++) {
        if (!(transforms >> t & 1)) continue;
        ts__transform(e, t, v, count, e->stored);
        const uint64_t cost = cost_of(e->stored, 0, count);
        if (cost >= least) continue;
        least = cost;
        column.transform = t;
    }
    if (column.transform) {
        ts__transform(e, column.transform, v, count, e->stored);
        column.base = column.transform == TS_TRANSFORM_QUEUED ? 0
                      : column.transform == TS_TRANSFORM_ISSUED
                          ? e->column[0][0] - v[0]
                          : v[0];
        v = e->stored;
        base = 0;
        bits = ts__bits(ts__any_bits(v, 0, count));
    }
    uint8_t *const begin = chunk->data;
    if (!bits) {
        column.encoding = TS_ENCODING_CONSTANT;
    } else if (ts__compresses(e)) {
        column.encoding = TS_ENCODING_PLANES;
        column.width = (uint8_t)((bits + 7) / 8);
        chunk->data = ts__planes(begin, v, base, count, column.width);
        ts__chunk_cut(chunk, begin, count, column.width);
    } else {
        column.encoding = TS_ENCODING_PACK;
        chunk->data = ts__pack(begin, v, base, count);
    }
    column.size = (uint32_t)(chunk->data - begin);
    ts__chunk_describe(chunk, &column);
}

// The transforms worth trying for a column of a kind of event.
static uint32_t ts__transforms(uint32_t column, bool spans)
{
    uint32_t bits = 1u << TS_TRANSFORM_DELTA;
    if (column == TS_COLUMN_START && spans) bits |= 1u << TS_TRANSFORM_GAP;
    if (column == TS_COLUMN_SUBMITTED) bits |= 1u << TS_TRANSFORM_QUEUED;
    if (column == TS_COLUMN_QUEUED) bits |= 1u << TS_TRANSFORM_ISSUED;
    return bits;
}

static void ts__chunk_texts(const ts__encoder *e, ts__chunk *chunk,
                            uint32_t count)
{
    if (!e->text_used) return;
    ts_column_header column;
    memset(&column, 0, sizeof column);
    column.column = TS_COLUMN_TEXT;
    column.encoding = TS_ENCODING_TEXT;
    uint8_t *p = chunk->data;
    memcpy(p, e->text_size, count * sizeof *e->text_size);
    p += count * sizeof *e->text_size;
    memcpy(p, e->text, e->text_used);
    p += e->text_used;
    while ((size_t)(p - chunk->data) & 7)
        *p++ = 0;
    column.size = (uint32_t)(p - chunk->data);
    chunk->data = p;
    ts__chunk_describe(chunk, &column);
}

#ifdef TRACESMITH_ZSTD
// Compresses to one frame, with a block for each plane that is worth it.
// Returns the size, 0 on failure.
static size_t ts__chunk_pack(const ts__encoder *e, const ts__chunk *chunk,
                             void *to, size_t room, size_t raw)
{
    ZSTD_CCtx *const zstd = ZSTD_createCCtx();
    ZSTD_outBuffer out = { to, room, 0 };
    ZSTD_inBuffer in = { e->raw, 0, 0 };
    size_t left = zstd ? 0 : 1;
    if (zstd) {
        ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, (int)e->compress);
        ZSTD_CCtx_setPledgedSrcSize(zstd, raw);
    }
    for (uint32_t i = 0; zstd && !left && i <= chunk->cut_count; i++) {
        const bool last = i == chunk->cut_count;
        in.size = last ? raw : 8 + 16 * chunk->columns + chunk->cuts[i];
        left = ZSTD_compressStream2(zstd, &out, &in,
                                    last ? ZSTD_e_end : ZSTD_e_flush);
    }
    ZSTD_freeCCtx(zstd);
    return left ? 0 : out.pos; // an error, or no room
}
#endif

// Completes the chunk: moves the payload into place, compressed if that makes
// it smaller.
static void ts__chunk_end(ts__encoder *e, ts__chunk *chunk,
                          ts_chunk_header *header)
{
    const uint32_t head[2] = { chunk->columns, 0 };
    memcpy(chunk->payload, head, sizeof head);
    uint8_t *const data = chunk->payload + 8 + 16 * chunk->columns;
    const size_t size = (size_t)(chunk->data - chunk->data_start);
    memmove(data, chunk->data_start, size);
    memset(data + size, 0, 8);
    const size_t raw = (size_t)(data - chunk->payload) + size + 8;
    uint8_t *const payload = chunk->start + sizeof *header;
    size_t stored = raw;
    header->magic = TS_CHUNK_MAGIC;
    header->kind = TS_CHUNK_EVENTS;
    header->raw_size = (uint32_t)raw;
#ifdef TRACESMITH_ZSTD
    if (e->compress) {
        const size_t room = TS__BATCH_BYTES - (size_t)(payload - e->out);
        stored = ts__chunk_pack(e, chunk, payload, room, raw);
        if (!stored || stored >= raw)
            stored = raw;
        else
            header->flags = TS_CHUNK_ZSTD;
    }
#endif
    if (ts__compresses(e) && !header->flags) memcpy(payload, e->raw, raw);
    header->stored_size = (uint32_t)stored;
    memcpy(chunk->start, header, sizeof *header);
    while (stored & 7)
        payload[stored++] = 0;
    e->size += sizeof *header + stored;
    e->records += header->count;
    e->chunks++;
}

static void ts__encoder_reset(ts__encoder *e)
{
    e->size = 0;
    e->chunks = 0;
    e->records = 0;
}

TS__SMALL_END

/* ---- 12.14 Encoder: rows and their pictures ----------------------------- */
// src/record/encode/rows.h

TS__SMALL_BEGIN
static void ts__picture_begin(ts__picture *picture, uint64_t first,
                              uint64_t last)
{
    memset(picture, 0, sizeof *picture);
    picture->first = first;
    // Cells are whole ticks wide, at least one, and reach beyond the last tick.
    picture->width = (last - first) / TS_LOD_CELLS + 1;
}

TS__SMALL_END

// The cell of a tick. Rows are nearly in order, so it is mostly the last one.
static uint32_t ts__picture_cell(ts__picture *picture, uint64_t tick)
{
    const uint64_t at = tick - picture->first;
    if (at - picture->cell * picture->width >= picture->width) {
        const uint64_t cell = at / picture->width;
        picture->cell = cell < TS_LOD_CELLS ? (uint32_t)cell : TS_LOD_CELLS - 1;
    }
    return picture->cell;
}

static void ts__picture_span(ts__picture *picture, uint64_t start, uint64_t end,
                             uint32_t id)
{
    const uint64_t width = picture->width;
    const uint32_t from = ts__picture_cell(picture, start);
    if (end - start >= picture->longest[from]) {
        picture->longest[from] = end - start;
        picture->id[from] = id;
    }
    const uint32_t to = ts__picture_cell(picture, end);
    for (uint32_t i = from; i <= to; i++) {
        const uint64_t cell = picture->first + i * width;
        const uint64_t a = start > cell ? start : cell;
        const uint64_t b = end < cell + width ? end : cell + width;
        if (b > a) picture->busy[i] += b - a;
    }
}

TS__SMALL_BEGIN
static void ts__picture_end(const ts__picture *picture,
                            uint64_t cells[TS_LOD_CELLS])
{
    const double width = (double)picture->width;
    for (uint32_t i = 0; i < TS_LOD_CELLS; i++) {
        const double share = (double)picture->busy[i] / width;
        const uint64_t busy = share >= 1 ? 65535 : (uint64_t)(share * 65535);
        const uint64_t count =
            picture->count[i] > 65535 ? 65535 : picture->count[i];
        cells[i] = picture->id[i] | busy << 32 | count << 48;
    }
}

TS__SMALL_END

// Counts rows by their start. A multiplication of doubles is fast enough for
// the frequent kinds, and its 53 bits are enough for a picture.
static void ts__picture_count(ts__picture *picture, const uint64_t *start,
                              uint32_t count)
{
    const double scale = 1 / (double)picture->width;
    const double most = TS_LOD_CELLS - 1;
    for (uint32_t i = 0; i < count; i++) {
        double at = (double)(int64_t)(start[i] - picture->first) * scale;
        at = at < most ? at : most; // before the conversion to an integer
        picture->count[at > 0 ? (uint32_t)at : 0]++;
    }
}

// Zones are coded relative to the zones inside them: docs/sbt-format.md, 8.1.
static void ts__encode_zones(ts__encoder *e, uint32_t track, uint32_t count)
{
    const uint64_t *const start = e->column[0];
    const uint64_t *const duration = e->column[1];
    uint64_t *const nest = e->column[3], *const lead = e->column[4];
    uint64_t *const tail = e->column[5];
    ts_chunk_header header;
    memset(&header, 0, sizeof header);
    header.track = track;
    header.count = count;
    header.event = TS_EVENT_ZONE;
    header.first = start[0];
    header.last = start[0] + duration[0];
    for (uint32_t i = 1; i < count; i++) {
        if (start[i] < header.first) header.first = start[i];
        if (start[i] + duration[i] > header.last)
            header.last = start[i] + duration[i];
    }
    uint64_t end = header.first;
    uint32_t top = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t s = start[i], t = start[i] + duration[i];
        uint32_t inside = 0;
        while (inside < top && e->root_start[top - inside - 1] >= s)
            inside++;
        if (s >= end) {
            nest[i] = 0;
            lead[i] = s - end;
            tail[i] = duration[i];
        } else if (inside && t >= end) {
            nest[i] = inside + 1;
            lead[i] = e->root_start[top - inside] - s;
            tail[i] = t - end;
            top -= inside;
        } else {
            nest[i] = 1;
            lead[i] = end - s;
            tail[i] = duration[i];
        }
        e->root_start[top] = s;
        e->root_end[top] = t;
        e->root_site[top++] = (uint32_t)e->column[2][i];
        end = t;
    }
    ts__picture picture;
    ts__picture_begin(&picture, header.first, header.last);
#ifdef TRACESMITH_WRITER // in a session a chunk's zones are of one thread
    if (track == TS_TRACK_MIXED) top = 0;
#endif
    for (uint32_t i = 0; i < top; i++)
        ts__picture_span(&picture, e->root_start[i], e->root_end[i],
                         e->root_site[i]);
    ts__picture_count(&picture, start, count);
    ts__picture_end(&picture, e->lod[e->chunks]);
    ts__chunk chunk = ts__chunk_begin(e);
#ifdef TRACESMITH_WRITER
    if (track == TS_TRACK_MIXED)
        ts__chunk_column(e, &chunk, TS_COLUMN_TRACK, e->track, count, 0);
#endif
    ts__chunk_column(e, &chunk, TS_COLUMN_SITE, e->column[2], count, 0);
    ts__chunk_column(e, &chunk, TS_COLUMN_NEST, nest, count, 0);
    ts__chunk_column(e, &chunk, TS_COLUMN_LEAD, lead, count, 0);
    ts__chunk_column(e, &chunk, TS_COLUMN_TAIL, tail, count, 0);
    ts__chunk_end(e, &chunk, &header);
}

static int ts__column_index(const uint8_t *columns, uint32_t id)
{
    for (int i = 0; columns[i]; i++)
        if (columns[i] == id) return i;
    return -1;
}

TS__SMALL_BEGIN
static float ts__counter_float(uint64_t type, uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return type == TS_VALUE_DOUBLE ? (float)value : (float)(int64_t)bits;
}

static void ts__picture_counter(ts__encoder *e, const ts_chunk_header *header,
                                uint64_t cells[TS_LOD_CELLS])
{
    ts__picture picture;
    float low[TS_LOD_CELLS], high[TS_LOD_CELLS];
    const uint32_t nan_bits = 0x7FC00000u;
    ts__picture_begin(&picture, header->first, header->last);
    for (int i = 0; i < TS_LOD_CELLS; i++)
        memcpy(&low[i], &nan_bits, 4), memcpy(&high[i], &nan_bits, 4);
    for (uint32_t i = 0; i < header->count; i++) {
        const uint32_t cell = ts__picture_cell(&picture, e->column[0][i]);
        const float value = ts__counter_float(e->column[1][i], e->column[2][i]);
        if (!(low[cell] <= value)) low[cell] = value;
        if (!(high[cell] >= value)) high[cell] = value;
    }
    for (int i = 0; i < TS_LOD_CELLS; i++) {
        uint32_t a, b;
        memcpy(&a, &low[i], 4);
        memcpy(&b, &high[i], 4);
        cells[i] = a | (uint64_t)b << 32;
    }
}

static void ts__picture_rows(ts__encoder *e, const ts_chunk_header *header,
                             const uint8_t *columns)
{
    uint64_t *const cells = e->lod[e->chunks];
    const bool mixed = header->track == TS_TRACK_MIXED;
    if (header->event == TS_EVENT_COUNTER && !mixed) {
        ts__picture_counter(e, header, cells);
        return;
    }
    ts__picture picture;
    ts__picture_begin(&picture, header->first, header->last);
    ts__picture_count(&picture, e->column[0], header->count);
    if (columns[1] == TS_COLUMN_DURATION && !mixed) {
        int id = ts__column_index(columns, TS_COLUMN_LAUNCH);
        if (id < 0 && header->event == TS_EVENT_API_CALL)
            id = ts__column_index(columns, TS_COLUMN_NAME);
        uint64_t covered = header->first;
        for (uint32_t i = 0; i < header->count; i++) {
            const uint64_t end = e->column[0][i] + e->column[1][i];
            uint64_t start = e->column[0][i];
            if (start < covered) start = covered;
            if (end < start) continue;
            covered = end;
            ts__picture_span(&picture, start, end,
                             id < 0 ? 0 : (uint32_t)e->column[id][i]);
        }
    }
    ts__picture_end(&picture, cells);
}

#ifdef TRACESMITH_PICTURES
// The picture of a track, a new one at its first row; NULL: they are too many.
static ts__track_picture *ts__pictures_find(ts__encoder *e, uint32_t track,
                                            const ts_chunk_header *header)
{
    for (uint32_t at = (track * 0x9E3779B1u) >> 24;; at++) {
        uint8_t *const slot = &e->picture_slots[at % TS__PICTURED_SLOTS];
        ts__track_picture *p = *slot ? &e->pictures[*slot - 1] : NULL;
        if (p && p->track != track) continue;
        if (p) return p;
        if (e->picture_count == TS__PICTURED_TRACKS) return NULL;
        p = &e->pictures[e->picture_count++];
        p->track = track;
        p->events = 0;
        p->covered = header->first;
        ts__picture_begin(&p->picture, header->first, header->last);
        *slot = (uint8_t)e->picture_count;
        return p;
    }
}

static bool ts__pictures_take(ts__encoder *e, const ts_chunk_header *header,
                              int id)
{
    memset(e->picture_slots, 0, sizeof e->picture_slots);
    e->picture_count = 0;
    for (uint32_t i = 0; i < header->count; i++) {
        ts__track_picture *const p =
            ts__pictures_find(e, (uint32_t)e->track[i], header);
        const uint64_t end = e->column[0][i] + e->column[1][i];
        uint64_t start = e->column[0][i];
        if (!p) return false;
        p->events++;
        p->picture.count[ts__picture_cell(&p->picture, start)]++;
        if (start < p->covered) start = p->covered;
        if (end < start) continue;
        p->covered = end;
        ts__picture_span(&p->picture, start, end,
                         id < 0 ? 0 : (uint32_t)e->column[id][i]);
    }
    return true;
}

// Makes `count` cells of TS_LOD_CELLS.
static void ts__pictures_merge(uint64_t cells[TS_LOD_CELLS], uint32_t count)
{
    const uint32_t each = TS_LOD_CELLS / count;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t id = 0, most = 0, busy = 0, events = 0;
        for (uint32_t j = i * each; j < (i + 1) * each; j++) {
            const uint64_t share = cells[j] >> 32 & 0xFFFF;
            if (share >= most) id = (uint32_t)cells[j];
            if (share >= most) most = share;
            busy += share;
            events += cells[j] >> 48;
        }
        cells[i] =
            id | busy / each << 32 | (events > 65535 ? 65535 : events) << 48;
    }
}

// Adds pictures of the tracks of the chunk before, with as many cells as take
// at most half a byte for each event, entries in the index included.
static void ts__encode_pictures(ts__encoder *e, const ts_chunk_header *events,
                                const uint8_t *columns)
{
    ts_chunk_header header = *events;
    uint32_t cells = TS_LOD_CELLS;
    if (!ts__pictures_take(e, events,
                           ts__column_index(columns, TS_COLUMN_LAUNCH)))
        return;
    const uint32_t fixed = 8 + e->picture_count * 8;
    while (cells && 2 * sizeof header + fixed + e->picture_count * cells * 8 >
                        events->count / 2)
        cells /= 2;
    if (!cells) return;
    header.kind = TS_CHUNK_PICTURES;
    header.flags = 0;
    header.count = e->picture_count;
    header.stored_size = header.raw_size = fixed + e->picture_count * cells * 8;
    uint8_t *p = e->out + e->size;
    memcpy(p, &header, sizeof header);
    p += sizeof header;
    memcpy(p, &e->picture_count, 4);
    memcpy(p + 4, &cells, 4);
    p += 8;
    for (uint32_t i = 0; i < e->picture_count; i++, p += 8)
        memcpy(p, &e->pictures[i], 8); // track, events
    for (uint32_t i = 0; i < e->picture_count; i++, p += cells * 8) {
        uint64_t all[TS_LOD_CELLS];
        ts__picture_end(&e->pictures[i].picture, all);
        ts__pictures_merge(all, cells);
        memcpy(p, all, cells * 8);
    }
    e->size += sizeof header + header.stored_size;
    e->chunks++;
}
#endif

// Encodes the rows in e->column, of one kind of event and one clock, as a
// chunk.
static void ts__encode_rows(ts__encoder *e, uint32_t event, uint32_t clock,
                            uint32_t count)
{
    const uint8_t *const columns = ts_event_columns(event);
    ts_chunk_header header;
    memset(&header, 0, sizeof header);
    header.event = (uint8_t)event;
    header.clock = clock;
    header.count = count;
    header.track = (uint32_t)e->track[0];
    const bool spans = columns[1] == TS_COLUMN_DURATION;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t start = e->column[0][i];
        const uint64_t end = start + (spans ? e->column[1][i] : 0);
        if (!i || (int64_t)(start - header.first) < 0) header.first = start;
        if (!i || (int64_t)(end - header.last) > 0) header.last = end;
        if (e->track[i] != header.track) header.track = TS_TRACK_MIXED;
    }
    ts__picture_rows(e, &header, columns);
    ts__chunk chunk = ts__chunk_begin(e);
    if (header.track == TS_TRACK_MIXED)
        ts__chunk_column(e, &chunk, TS_COLUMN_TRACK, e->track, count, 0);
    for (uint32_t i = 0; columns[i]; i++)
        if (columns[i] == TS_COLUMN_TEXT)
            ts__chunk_texts(e, &chunk, count);
        else
            ts__chunk_column(e, &chunk, columns[i], e->column[i], count,
                             ts__transforms(columns[i], spans));
    ts__chunk_end(e, &chunk, &header);
#ifdef TRACESMITH_PICTURES
    if (header.track == TS_TRACK_MIXED && spans)
        ts__encode_pictures(e, &header, columns);
#endif
}

TS__SMALL_END

/* ---- 12.15 Encoder: from a ring to chunks ------------------------------- */
// src/record/encode/ring.h

static bool ts__slot_ready(const ts__ring *ring, uint64_t position, uint64_t *a,
                           uint32_t more)
{
    const ts__slot *const slot = &ring->slots[position & ring->mask];
    // acquire: pairs with the release in ts__ring_publish
    *a = __atomic_load_n(&slot->a, __ATOMIC_ACQUIRE);
    return (*a & 0xFF) == (ts__ring_tag(ring, position) | more);
}

// The slots of a record, by its kind. A table, because a switch would cost a
// jump for each record.
static uint32_t ts__record_slots(uint64_t b)
{
    static const uint8_t slots[TS__REC_FLOW + 1] = { 1, 1, 1, 1, 2, 2, 1,
                                                     2, 1, 0, 1, 3, 2, 1 };
    const uint32_t kind = b & 63;
    if (kind == TS__REC_ROW) return (uint32_t)(b >> 16 & 0xFFFF);
    return kind <= TS__REC_FLOW ? slots[kind] : 1;
}

// The kind of event of a record; 0: none that this version writes.
static uint32_t ts__record_event(uint64_t b)
{
    static const uint8_t events[TS__REC_FLOW + 1] = { 0,
                                                      TS_EVENT_ZONE,
                                                      TS_EVENT_MARK,
                                                      TS_EVENT_COUNTER,
                                                      TS_EVENT_COUNTER,
                                                      TS_EVENT_COUNTER,
                                                      TS_EVENT_FREE,
                                                      TS_EVENT_ALLOC,
                                                      TS_EVENT_FRAME,
                                                      0,
                                                      0,
                                                      TS_EVENT_KERNEL,
                                                      TS_EVENT_ZONE_ARG,
                                                      TS_EVENT_FLOW };
    const uint32_t kind = b & 63;
    if (kind == TS__REC_ROW) return (uint32_t)(b >> 6 & 1023);
    return kind <= TS__REC_FLOW ? events[kind] : 0;
}

// Reads the payload of a record; false if one of its slots is missing or it is
// too long, which only a fault can cause.
static bool ts__record_payload(const ts__ring *ring, uint64_t position,
                               uint32_t slots, uint8_t *bytes)
{
    for (uint32_t i = 1; i < slots; i++) {
        uint64_t low, high;
        if (!ts__slot_ready(ring, position + i, &low, 1)) return false;
        high = TS__LOAD(&ring->slots[(position + i) & ring->mask].b);
        low >>= 8;
        memcpy(bytes, &low, 8);
        memcpy(bytes + 7, &high, 8);
        bytes += 15;
    }
    return true;
}

// Number of columns of a row, without its text.
static uint32_t ts__row_values(uint32_t event)
{
    uint32_t count = 0;
    const uint8_t *const ids = ts_event_columns(event);
    for (int i = 0; ids[i]; i++)
        count += ids[i] != TS_COLUMN_TEXT;
    return count;
}

// Bytes of text in a valid record.
static uint32_t ts__record_text(uint64_t b)
{
    if ((b & 63) != TS__REC_ROW) return 0;
    return (uint32_t)(b >> 32) - 8 - 8 * ts__row_values(ts__record_event(b));
}

TS__SMALL_BEGIN
static bool ts__record_valid(const ts__ring *ring, uint64_t position,
                             uint64_t b, uint64_t upto)
{
    const uint32_t slots = ts__record_slots(b);
    const uint32_t event = ts__record_event(b);
    if ((b & 63) == TS__REC_THREAD) return true;
    if (event && slots == 1 && (b & 63) != TS__REC_ROW) return true;
    if (!event || event >= TS_EVENT_LIMIT || !ts_event_columns(event) ||
        !slots || position + slots > upto)
        return false;
    if ((b & 63) == TS__REC_ROW) {
        const size_t columns = ts__row_values(event);
        const size_t size = (size_t)(b >> 32);
        if (size < 8 + 8 * columns || ts__slots_for(size) != slots ||
            size > 8 + 8 * columns + TS__TEXT_MAX)
            return false;
    }
    uint64_t a;
    for (uint32_t i = 1; i < slots; i++)
        if (!ts__slot_ready(ring, position + i, &a, 1)) return false;
    return true;
}
TS__SMALL_END

// Removes a zone from the list of open ones: it has been recorded.
static void ts__open_close(ts__encoder *e, uint64_t start, uint64_t site)
{
    for (uint32_t i = 0; i < e->open_count; i++)
        if (e->open[i].start == start && e->open[i].site == site)
            e->open[i].site = 0;
}

/*
    Scans the records from batch->from on: takes zones into columns 0 to 2 and
    notes which other kinds there are. Stops at `upto`, at a change of thread,
    when the work space is full, or at a record under construction. With `dead`
    nobody completes such a record any more, and it is skipped.
*/
static void ts__batch_scan(ts__encoder *e, const ts__ring *ring,
                           ts__batch *batch, uint64_t upto, bool dead)
{
    const uint64_t base = e->base;
    uint64_t position = batch->from;
    uint64_t texts = 0;
    uint32_t rows = 0;
    batch->zones = 0;
    batch->events = batch->stale = batch->bad = 0;
    batch->next = batch->track;
    while (position < upto && rows < TS__BATCH_ROWS &&
           position - batch->from < TS__BATCH_SLOTS &&
           texts < TS__BATCH_TEXT / 2) {
        uint64_t a;
        if (!ts__slot_ready(ring, position, &a, 0)) {
            if (!dead) break;
            position++;
            continue;
        }
        const uint64_t b = TS__LOAD(&ring->slots[position & ring->mask].b);
        if (TS__LIKELY((b & 63) == TS__REC_ZONE)) {
            const uint64_t start = ts__tick_full(e->now, a >> 8);
            position++;
            if (TS__UNLIKELY((int64_t)(start - base) < 0)) {
                batch->stale++;
                continue;
            }
            if (TS__UNLIKELY(e->open_count))
                ts__open_close(e, start, b >> 6 & (TS__CODE_LIMIT - 1));
            e->column[0][batch->zones] = start;
            e->column[1][batch->zones] = b >> 32;
            e->column[2][batch->zones++] = b >> 6 & (TS__CODE_LIMIT - 1);
            rows++;
            continue;
        }
        if (!ts__record_valid(ring, position, b, upto)) {
            // A handler died in the middle of a record that it interrupted.
            batch->bad++;
            position++;
            continue;
        }
        if ((b & 63) == TS__REC_THREAD) {
            batch->next = (uint32_t)(b >> 6);
            position++;
            if (rows) break;
            batch->track = batch->next;
            continue;
        }
        batch->events |= UINT64_C(1) << ts__record_event(b);
        texts += ts__record_text(b);
        position += ts__record_slots(b);
        rows++;
    }
    batch->to = position;
    batch->sound = !dead && !batch->bad;
}

TS__SMALL_BEGIN
// Decodes a record of ts__kernel_put into row `row`.
static void ts__kernel_read(ts__encoder *e, const ts__ring *ring,
                            uint64_t position, uint64_t a, uint64_t b,
                            uint32_t row, uint32_t *clock)
{
    const ts__slot *const one = &ring->slots[(position + 1) & ring->mask];
    const ts__slot *const two = &ring->slots[(position + 2) & ring->mask];
    const uint64_t place = TS__LOAD(&one->a) >> 8, times = TS__LOAD(&one->b);
    const uint64_t what = TS__LOAD(&two->a) >> 8;
    *clock = (uint32_t)(b >> 6) & 0x3FFFF;
    if (what & (TS__CODE_LIMIT - 1))
        e->track[row] = what & (TS__CODE_LIMIT - 1);
    e->column[0][row] = a >> 8 | (b >> 24 & 0xFF) << 56;
    e->column[1][row] = b >> 32;
    e->column[2][row] = TS__LOAD(&two->b);
    e->column[3][row] = (uint32_t)times;
    e->column[4][row] = times >> 32;
    e->column[5][row] = place >> 26;
    e->column[6][row] = place & (TS__CODE_LIMIT - 1);
    e->column[7][row] = 0; // stack
    e->column[8][row] = what >> 26;
    e->column[9][row] = 0; // graph
    e->column[10][row] = 0;
}

// Decodes a record's columns and text into row `row`.
static void ts__record_read(ts__encoder *e, const ts__ring *ring,
                            uint64_t position, uint64_t a, uint64_t b,
                            uint32_t track, uint32_t row, uint32_t *clock)
{
    const uint32_t slots = ts__record_slots(b);
    const uint64_t code = b >> 6 & (TS__CODE_LIMIT - 1);
    uint8_t *const p = e->payload;
    uint64_t value = 0;
    const bool kernel = (b & 63) == TS__REC_KERNEL;
    if (slots > 1 && !kernel) ts__record_payload(ring, position, slots, p);
    e->track[row] = track;
    e->text_size[row] = 0;
    e->column[0][row] = ts__tick_full(e->now, a >> 8);
    *clock = 0;
    switch (b & 63) {
    case TS__REC_KERNEL:
        ts__kernel_read(e, ring, position, a, b, row, clock);
        break;
    case TS__REC_MARK:
    case TS__REC_FRAME: e->column[1][row] = code; break;
    case TS__REC_COUNTER:
        e->track[row] = code;
        e->column[1][row] = TS_VALUE_INT;
        e->column[2][row] = (uint64_t)(int64_t)(int32_t)(b >> 32);
        break;
    case TS__REC_COUNTER64:
    case TS__REC_COUNTERF:
        e->track[row] = code;
        e->column[1][row] =
            (b & 63) == TS__REC_COUNTERF ? TS_VALUE_DOUBLE : TS_VALUE_INT;
        memcpy(&e->column[2][row], p, 8);
        break;
    case TS__REC_FREE: // without a pool, where a flow has its phase
    case TS__REC_FLOW:
        e->column[1][row] = b >> 16;
        e->column[2][row] = b >> 6 & 3;
        break;
    case TS__REC_VALUE:
        e->column[1][row] = code;
        e->column[2][row] = b >> 32 & (TS__CODE_LIMIT - 1);
        e->column[3][row] = b >> 58;
        memcpy(&e->column[4][row], p + 7, 8);
        e->column[5][row] = 0; // stack
        break;
    case TS__REC_ALLOC: {
        uint32_t pool_site[2];
        memcpy(&value, p, 7);
        memcpy(pool_site, p + 7, 8);
        e->column[1][row] = b >> 16;
        e->column[2][row] = value;
        e->column[3][row] = pool_site[0];
        e->column[4][row] = 0;
        e->column[5][row] = pool_site[1];
        e->column[6][row] = 0;
        break;
    }
    default: { // a row
        const uint8_t *const ids = ts_event_columns(ts__record_event(b));
        uint32_t n = 0, own_track;
        memcpy(&own_track, p, 4);
        memcpy(clock, p + 4, 4);
        if (own_track) e->track[row] = own_track;
        for (uint32_t i = 0; ids[i]; i++)
            if (ids[i] != TS_COLUMN_TEXT)
                memcpy(&e->column[i][row], p + 8 + 8 * n++, 8);
        const uint32_t text = (uint32_t)(b >> 32) - 8 - 8 * n;
        memcpy(e->text + e->text_used, p + 8 + 8 * n, text);
        e->text_used += text;
        e->text_size[row] = text;
    }
    }
}

// A clock that ran backwards must not lead to a chunk that readers refuse.
static void ts__durations_check(uint64_t *duration, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if ((int64_t)duration[i] < 0) duration[i] = 0;
}

// Encodes the rows of one kind and one clock of a batch as a chunk. Returns the
// next clock that has rows, 0 when there is none.
static uint32_t ts__batch_rows(ts__encoder *e, const ts__ring *ring,
                               const ts__batch *batch, uint32_t event,
                               uint32_t clock)
{
    uint32_t count = 0, next = 0;
    e->text_used = 0;
    for (uint64_t i = batch->from; i < batch->to;) {
        uint64_t a;
        const uint64_t b = TS__LOAD(&ring->slots[i & ring->mask].b);
        const uint64_t position = i;
        if (!ts__slot_ready(ring, i, &a, 0) ||
            (!batch->sound && !ts__record_valid(ring, i, b, batch->to))) {
            i++;
            continue;
        }
        i += ts__record_slots(b);
        if (ts__record_event(b) != event || (b & 63) == TS__REC_ZONE) continue;
        uint32_t own;
        const uint32_t texts = e->text_used;
        ts__record_read(e, ring, position, a, b, batch->track, count, &own);
        // 13 kinds of operations and 31 clocks at most: TS__CHUNKS_PER_BATCH is
        // enough, whatever a damaged sidecar holds.
        if (event < TS_EVENT_GPU_FIRST || own >= TS__CLOCKS_MAX) own = 0;
        if (own == clock) {
            count++;
            continue;
        }
        e->text_used = texts;
        if (own > clock && (!next || own < next)) next = own;
    }
    if (count && ts_event_columns(event)[1] == TS_COLUMN_DURATION)
        ts__durations_check(e->column[1], count);
    if (count && event == TS_EVENT_ZONE)
        ts__encode_zones(e, batch->track, count);
    else if (count)
        ts__encode_rows(e, event, clock, count);
    return next;
}

static void ts__batch_encode(ts__encoder *e, const ts__ring *ring,
                             const ts__batch *batch)
{
    if (batch->zones) ts__encode_zones(e, batch->track, batch->zones);
    for (uint32_t event = 0; event < TS_EVENT_LIMIT; event++) {
        if (!(batch->events >> event & 1)) continue;
        uint32_t clock = 0;
        do
            clock = ts__batch_rows(e, ring, batch, event, clock);
        while (clock);
    }
}

// compress: only where memory may be allocated, which producers must not do.
static ts__encoder *ts__encoder_take(const ts__sidecar *sidecar, bool compress)
{
    for (;;) {
        for (uint32_t i = 0; i < TS__ENCODERS; i++) {
            uint32_t busy = TS__LOAD(&ts__c.encoders_busy);
            if (busy >> i & 1) continue;
            if (!__atomic_compare_exchange_n(
                    &ts__c.encoders_busy, &busy, busy | 1u << i, false,
                    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
                i--; // it changed under us: look again
                continue;
            }
            ts__encoder *const e = ts__c.encoders[i];
            ts__encoder_reset(e);
            e->base = sidecar->head.header.start_tick;
            e->now = ts_tick_now();
            e->open_count = 0;
            e->compress = compress ? ts__c.desc.compress : 0;
            return e;
        }
        const uint32_t seen = TS__LOAD(&ts__c.encoder_wake);
        if (TS__LOAD(&ts__c.encoders_busy) == (1u << TS__ENCODERS) - 1)
            ts__futex_wait(&ts__c.encoder_wake, seen, 1000000u);
    }
}

static void ts__encoder_give(const ts__encoder *e)
{
    for (uint32_t i = 0; i < TS__ENCODERS; i++)
        if (ts__c.encoders[i] == e)
            __atomic_fetch_and(&ts__c.encoders_busy, ~(1u << i),
                               __ATOMIC_RELEASE);
    ts__futex_bump(&ts__c.encoder_wake);
}
TS__SMALL_END

TS__SMALL_BEGIN

/* ---- 12.16 Trace file --------------------------------------------------- */
// src/record/file/trace_file.h

/*
    Appends chunks to a trace. The caller of every function here holds the
    writer's lock. An append is atomic even if the process dies in it: see
    ts__sidecar.
*/

// Bytes that the end of the trace may take: ledger, open zones, index, end.
static uint64_t ts__writer_reserve(const ts__writer *w)
{
    return (16u << 10) + (w->sidecar->state.index_count + 64) *
                             (sizeof(ts_chunk_header) + 8 * TS_LOD_CELLS);
}

// Reserves disk space in advance, and keeps some for the end of the trace.
static bool ts__writer_space(ts__writer *w, uint64_t end)
{
    const uint64_t need = end + ts__writer_reserve(w);
    if (w->final) return true;
    if (!ts__file_may_grow(need)) return false;
    if (need <= w->reserved) return true;
    // Little: on a memory file system it is memory.
    static const uint32_t steps[] = { 1u << 20, 1u << 16, 0 };
    for (int i = 0; i < 3; i++) {
        const uint64_t upto = need + steps[i];
        if (!ts__file_may_grow(upto)) continue;
        // From where it is reserved: a memory file system walks each page.
        if (fallocate(w->file.fd, FALLOC_FL_KEEP_SIZE, (off_t)w->reserved,
                      (off_t)(upto - w->reserved)) == 0) {
            w->reserved = upto;
            return true;
        }
        if (errno != ENOSPC && errno != EDQUOT && errno != EINTR) {
            w->reserved = UINT64_MAX; // not supported by this file system
            return true;
        }
    }
    return false;
}

static size_t ts__chunk_bytes(const ts_chunk_header *header)
{
    return sizeof *header + (((size_t)header->stored_size + 7) & ~(size_t)7);
}

typedef struct ts__commit { // what an append changes outside the file
    ts__writer_state state; // offset, sequence, index_count: filled in
    ts__ring *ring;         // NULL: none
    uint64_t tail, kept;    // of the ring
    uint32_t track;
    bool index; // the chunks are not listed in the index
} ts__commit;

static ts__commit ts__commit_begin(const ts__writer *w)
{
    ts__commit commit;
    memset(&commit, 0, sizeof commit);
    commit.state = w->sidecar->state;
    return commit;
}

// Gives finished chunks their number, session and checksum, and adds them to
// the index under construction; they count once the append is committed.
static void ts__writer_seal(ts__writer *w, ts__commit *commit, uint8_t *bytes,
                            size_t size, const uint64_t (*lod)[TS_LOD_CELLS])
{
    ts__sidecar *const sidecar = w->sidecar;
    for (size_t at = 0; at < size;) {
        ts_chunk_header header;
        memcpy(&header, bytes + at, sizeof header);
        memcpy(&header.session, sidecar->head.header.session, 4);
        header.sequence = commit->state.sequence++;
        header.checksum = ts__checksum(
            bytes + at + sizeof header, header.stored_size,
            ts__checksum(&header, offsetof(ts_chunk_header, checksum), 0));
        memcpy(bytes + at, &header, sizeof header);
        if (!commit->index) {
            const uint32_t i = commit->state.index_count++;
            header.checksum = commit->state.offset;
            sidecar->index[i] = header;
            if (header.kind == TS_CHUNK_EVENTS)
                memcpy(sidecar->lod[i], lod++, sizeof *lod);
#ifdef TRACESMITH_PICTURES
            if (header.kind == TS_CHUNK_PICTURES) lod++; // it has a place
#endif
        }
        commit->state.offset += ts__chunk_bytes(&header);
        at += ts__chunk_bytes(&header);
    }
}

static ts_result ts__writer_append(ts__writer *w, uint8_t *bytes, size_t size,
                                   const uint64_t (*lod)[TS_LOD_CELLS],
                                   ts__commit *commit)
{
    ts__sidecar *const sidecar = w->sidecar;
    const uint64_t offset = sidecar->state.offset;
    ts__writer_seal(w, commit, bytes, size, lod);
    if (!ts__file_keep(&w->file, w->path)) return TS_ERR_IO;
    if (!ts__writer_space(w, offset + size)) return TS_ERR_DISK_FULL;
    sidecar->before = sidecar->state;
    __atomic_signal_fence(__ATOMIC_SEQ_CST); // a crash sees program order
    __atomic_store_n(&sidecar->step, 1, __ATOMIC_RELEASE);
    const ts_result result = ts__file_write(w->file.fd, offset, bytes, size);
    if (result == TS_OK) {
        sidecar->state = commit->state;
        sidecar->ring = TS__RINGS_MAX;
        if (commit->ring) {
            sidecar->ring = ts__rest(commit->ring)->index;
            sidecar->tail = commit->tail;
            sidecar->kept = commit->kept;
            sidecar->track = commit->track;
        }
        __atomic_store_n(&sidecar->step, 2, __ATOMIC_RELEASE);
        if (commit->ring) {
            TS__STORE(&ts__rest(commit->ring)->track, commit->track);
            ts__rest(commit->ring)->kept = commit->kept;
            // release: pairs with the acquire in ts__ring_refresh
            __atomic_store_n(&commit->ring->tail, commit->tail,
                             __ATOMIC_RELEASE);
        }
    }
    __atomic_store_n(&sidecar->step, 0, __ATOMIC_RELEASE);
    return result;
}

// Appends the chunks in the scratch space up to `end`.
static ts_result ts__writer_scratch(ts__writer *w, const uint8_t *end)
{
    ts__commit commit = ts__commit_begin(w);
    return ts__writer_append(w, w->scratch, (size_t)(end - w->scratch), NULL,
                             &commit);
}

// Starts a chunk of entries in the scratch space at `at`.
static uint8_t *ts__entries_begin(uint8_t *at, uint32_t kind)
{
    ts_chunk_header header;
    memset(&header, 0, sizeof header);
    header.magic = TS_CHUNK_MAGIC;
    header.kind = (uint8_t)kind;
    memcpy(at, &header, sizeof header);
    return at + sizeof header;
}

static uint8_t *ts__entries_add(uint8_t *at, uint32_t id, const void *bytes,
                                uint32_t size)
{
    const uint32_t head[2] = { id, size };
    memcpy(at, head, sizeof head);
    memcpy(at + sizeof head, bytes, size);
    return at + sizeof head + size;
}

// The same for a packed stack.
static uint8_t *ts__entries_unpack(uint8_t *out, const ts__entry *e)
{
    uint8_t *const body = ts__entries_add(out, e->id, e, 0);
    const uint32_t *word = (const uint32_t *)(const void *)(e + 1);
    const uint32_t *const end = word + e->size / sizeof *word;
    uint32_t where = 0, size = 0;
    for (; word < end; word++) {
        if (*word >> 31) {
            where = *word << 1;
            continue;
        }
        // u32 module, u32 unused, u64 offset
        const uint64_t frame[] = { where >> 18,
                                   (uint64_t)where << 30 << 16 >> 16 | *word };
        memcpy(body + size, frame, sizeof frame);
        size += sizeof frame;
    }
    memcpy(body - sizeof size, &size, sizeof size);
    return body + size;
}

static uint8_t *ts__entries_end(uint8_t *start, uint8_t *end, uint32_t count)
{
    ts_chunk_header header;
    memcpy(&header, start, sizeof header);
    header.count = count;
    header.stored_size = header.raw_size =
        (uint32_t)(end - start - (ptrdiff_t)sizeof header);
    memcpy(start, &header, sizeof header);
    while ((size_t)(end - start) & 7)
        *end++ = 0;
    return end;
}

// A chunk of one entry.
static uint8_t *ts__entries_one(uint8_t *at, uint32_t kind, uint32_t id,
                                const void *bytes, uint32_t size)
{
    uint8_t *const body = ts__entries_begin(at, kind);
    return ts__entries_end(at, ts__entries_add(body, id, bytes, size), 1);
}

// Writes the index part under construction and begins a new one.
static ts_result ts__writer_index(ts__writer *w)
{
    ts__sidecar *const sidecar = w->sidecar;
    const uint32_t count = sidecar->state.index_count;
    const uint64_t head[2] = { sidecar->state.index_offset, 0 };
    uint8_t *p = ts__entries_begin(w->scratch, TS_CHUNK_INDEX);
    memcpy(p, head, sizeof head);
    p += sizeof head;
    memcpy(p, sidecar->index, count * sizeof *sidecar->index);
    p += count * sizeof *sidecar->index;
    for (uint32_t i = 0; i < count; i++) {
        if (sidecar->index[i].kind != TS_CHUNK_EVENTS) continue;
        memcpy(p, sidecar->lod[i], sizeof sidecar->lod[i]);
        p += sizeof sidecar->lod[i];
    }
    p = ts__entries_end(w->scratch, p, count);
    ts__commit commit = ts__commit_begin(w);
    commit.index = true;
    commit.state.index_offset = commit.state.offset;
    commit.state.index_count = 0;
    return ts__writer_append(w, w->scratch, (size_t)(p - w->scratch), NULL,
                             &commit);
}

// Room in the index for this many more chunks.
static ts_result ts__writer_prepare(ts__writer *w, uint32_t chunks)
{
    if (w->sidecar->state.index_count + chunks <= TS__INDEX_ENTRIES)
        return TS_OK;
    return ts__writer_index(w);
}

static const uint8_t ts__dictionary_kinds[] = {
    TS_CHUNK_NAMES,   TS_CHUNK_SITES,  TS_CHUNK_TRACKS,  TS_CHUNK_LAUNCHES,
    TS_CHUNK_MODULES, TS_CHUNK_STACKS, TS_CHUNK_METADATA
};

// Whether the entry at `at` of a block belongs to this session: threads report
// their tracks to each session, and facts about a session end with it.
static bool ts__entry_here(const ts__block *block, uint64_t at,
                           const ts__entry *e)
{
    if (e->kind == TS_CHUNK_TRACKS && e->size &&
        ts__entry_bytes(e)[0] == TS_TRACK_THREAD)
        return at >= block->reported;
    return e->kind != TS_CHUNK_METADATA || e->id || at >= block->past;
}

// Writes the dictionary entries that lie in [from, to) of a block, a chunk for
// each kind. The scratch space holds four times the largest range, which packed
// stacks can need.
static ts_result ts__writer_range(ts__writer *w, const ts__block *block,
                                  uint64_t from, uint64_t to)
{
    uint8_t *out = w->scratch;
    for (size_t k = 0; k < sizeof ts__dictionary_kinds; k++) {
        uint8_t *const start = out;
        uint8_t *p = ts__entries_begin(start, ts__dictionary_kinds[k]);
        uint32_t count = 0;
        const ts__entry *e;
        for (uint64_t at = from; at < to; at += ts__entry_room(e->size)) {
            e = (const ts__entry *)(const void *)(block->bytes + at);
            const bool packed = e->kind == TS__ENTRY_PACKED;
            if ((packed ? (uint32_t)TS_CHUNK_STACKS : e->kind) !=
                    ts__dictionary_kinds[k] ||
                !ts__entry_here(block, at, e))
                continue;
            p = packed ? ts__entries_unpack(p, e)
                       : ts__entries_add(p, e->id, e + 1, e->size);
            count++;
        }
        if (count) out = ts__entries_end(start, p, count);
    }
    if (out == w->scratch) return TS_OK;
    return ts__writer_scratch(w, out);
}

// How much of a block of dictionary entries fits one append.
static size_t ts__range_size(const uint8_t *bytes, size_t size)
{
    size_t at = 0;
    while (size - at >= sizeof(ts__entry)) {
        const ts__entry *const e =
            (const ts__entry *)(const void *)(bytes + at);
        const size_t next = at + ts__entry_room(e->size);
        if (next > size || next > TS__SCRATCH_BYTES / 4 - 1024) break;
        at = next;
    }
    return at;
}

// Writes the entries of dictionary blocks that this file does not have yet.
static ts_result ts__writer_blocks(ts__writer *w, const ts__block *blocks,
                                   const uint32_t *count)
{
    // acquire: pairs with the release in ts__block_add
    const uint32_t most = __atomic_load_n(count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < most; i++) {
        const ts__block *const block = &blocks[i];
        uint64_t *const at = &w->sidecar->blocks[i].written;
        // acquire: pairs with the releases of those who add entries
        const uint64_t end = __atomic_load_n(block->used, __ATOMIC_ACQUIRE);
        while (*at < end) {
            const size_t size =
                ts__range_size(block->bytes + *at, (size_t)(end - *at));
            if (!size) return TS_ERR_CORRUPT; // only in a damaged sidecar
            ts_result result = ts__writer_prepare(w, 16);
            if (result == TS_OK)
                result = ts__writer_range(w, block, *at, *at + size);
            if (result != TS_OK) return result;
            // Not in the journal: at worst, entries are written twice.
            *at += size;
        }
    }
    return TS_OK;
}

// Writes the whole dictionary: at the start of a trace, and for a dump. Names'
// lock held.
static ts_result ts__writer_dictionary(ts__writer *w)
{
    return ts__writer_blocks(w, ts__c.blocks, &ts__c.block_count);
}

// Writes new dictionary entries from the log in the sidecar. Called after
// records were read from their ring and before they are written, so that names
// come before their use.
static ts_result ts__writer_entries(ts__writer *w, const ts__block *log)
{
    return ts__writer_blocks(w, log, &w->sidecar->block_count);
}

static ts_result ts__writer_clock(ts__writer *w, uint32_t clock,
                                  const ts_clock_entry *sample)
{
    const ts_result result = ts__writer_prepare(w, 1);
    if (result != TS_OK) return result;
    return ts__writer_scratch(w,
                              ts__entries_one(w->scratch, TS_CHUNK_CLOCK, clock,
                                              sample, sizeof *sample));
}

// Writes the rows of the ledger that the trace does not have yet.
static ts_result ts__writer_losses(ts__writer *w, ts__ring *const *rings,
                                   uint32_t ring_count)
{
    const uint64_t epoch = w->sidecar->state.loss_epoch;
    uint8_t *p = ts__entries_begin(w->scratch, TS_CHUNK_LOSS);
    uint32_t count = 0;
    const uint32_t most = TS__SCRATCH_BYTES / 2 / 48;
    for (uint32_t i = 0; i <= ring_count && count < most; i++) {
        ts__loss_total *const totals =
            i < ring_count ? ts__rest(rings[i])->losses : w->sidecar->losses;
        const uint32_t n = i < ring_count ? TS__LOSS_SLOTS : TS__GLOBAL_LOSSES;
        for (uint32_t j = 0; j < n; j++) {
            if (!ts__loss_open(&totals[j], epoch)) continue;
            const ts_loss_entry row = ts__loss_row(&totals[j], epoch);
            p = ts__entries_add(p, TS__LOAD(&totals[j].track), &row,
                                sizeof row);
            count++;
        }
    }
    if (!count) return TS_OK;
    uint8_t *const end = ts__entries_end(w->scratch, p, count);
    ts__commit commit = ts__commit_begin(w);
    commit.state.loss_epoch = epoch + 1;
    return ts__writer_append(w, w->scratch, (size_t)(end - w->scratch), NULL,
                             &commit);
}

// Writes a figure about the trace at its end, as metadata. The dictionary never
// gives the number of its name.
static ts_result ts__writer_note(ts__writer *w, uint32_t number,
                                 const char *key, uint64_t value)
{
    ts_metadata_entry entry;
    entry.key = 0xFFFFFF00u + number;
    entry.type = TS_VALUE_INT;
    entry.value = value;
    const ts_result result = ts__writer_prepare(w, 2);
    if (result != TS_OK) return result;
    uint8_t *p = ts__entries_one(w->scratch, TS_CHUNK_NAMES, entry.key, key,
                                 (uint32_t)strlen(key));
    p = ts__entries_one(p, TS_CHUNK_METADATA, 0, &entry, sizeof entry);
    return ts__writer_scratch(w, p);
}

static ts_result ts__writer_chunks(ts__writer *w, ts__encoder *e,
                                   ts__commit *commit)
{
    commit->state.records += e->records;
    return ts__writer_append(w, e->out, e->size,
                             (const uint64_t(*)[TS_LOD_CELLS])e->lod, commit);
}

// Appends an encoder's chunks. open_sent: how many open zones are written then.
static ts_result ts__writer_encoded(ts__writer *w, ts__encoder *e,
                                    uint32_t open_sent)
{
    const ts_result result = ts__writer_prepare(w, e->chunks);
    if (result != TS_OK) return result;
    ts__commit commit = ts__commit_begin(w);
    commit.state.open_sent = open_sent;
    return ts__writer_chunks(w, e, &commit);
}

// Writes the zones that are open at the end. The state records how many are
// written, because salvage may be killed as well.
static ts_result ts__writer_open_zones(ts__writer *w, ts__encoder *e)
{
    ts_result result = TS_OK;
    while (result == TS_OK && w->sidecar->state.open_sent < e->open_count) {
        uint32_t i = w->sidecar->state.open_sent, count = 0;
        ts__encoder_reset(e);
        for (; i < e->open_count && count < TS__BATCH_ROWS; i++) {
            const ts__open_zone *const zone = &e->open[i];
            if (!zone->site) continue;
            e->column[0][count] = zone->start;
            e->column[1][count] = zone->site;
            e->column[2][count] = zone->depth;
            e->text_size[count] = 0;
            e->track[count++] = zone->track;
        }
        if (!count) break;
        ts__encode_rows(e, TS_EVENT_ZONE_OPEN, 0, count);
        result = ts__writer_encoded(w, e, i);
    }
    return result;
}

// Makes a path absolute, so that it remains valid when the program changes its
// working directory.
static void ts__path_whole(char *path)
{
    char whole[PATH_MAX];
    if (realpath(path, whole) && strlen(whole) < TS__PATH_MAX)
        memcpy(path, whole, strlen(whole) + 1);
}

// Removes the sidecar of a dead process's trace that is about to be replaced.
static void ts__sidecar_orphan(int trace, const char *path, uid_t owner)
{
    ts_file_header old;
    char dir[TS__PATH_MAX], name[TS__PATH_MAX];
    if (!ts__file_read(trace, 0, &old, sizeof old) ||
        memcmp(old.magic, TS_FILE_MAGIC, sizeof old.magic) != 0)
        return;
    ts__directory_of(dir, path);
    const char *const dirs[] = { "/dev/shm", dir, ts__c.sidecar_dir };
    for (int i = 0; i < 3; i++) {
        if (!ts__sidecar_name(name, dirs[i], old.session)) continue;
        const int fd = open(name, O_RDWR | TS__OPEN_STRANGE);
        if (fd >= 0 && ts__sidecar_own(fd, owner) && ts__file_lock(fd))
            unlink(name);
        if (fd >= 0) close(fd);
    }
}

// Opens the file and locks it: a file that another process writes is not
// touched.
static ts_result ts__writer_open(ts__writer *w, const char *path)
{
    struct stat st;
    w->path = path;
    if (ts__file_open(&w->file, path, O_RDWR | O_CREAT, 0666) < 0)
        return ts__disk_error(errno == EISDIR ? TS_ERR_NOT_FILE : TS_ERR_IO);
    if (fstat(w->file.fd, &st) != 0) return TS_ERR_IO;
    if (!S_ISREG(st.st_mode)) return TS_ERR_NOT_FILE;
    // Other errors: a file system without locks, so go on without.
    if (!ts__file_lock(w->file.fd) && (errno == EAGAIN || errno == EACCES))
        return TS_ERR_BUSY;
    ts__sidecar_orphan(w->file.fd, path, st.st_uid);
    return ftruncate(w->file.fd, 0) == 0 ? TS_OK : TS_ERR_IO;
}

// Creates the file with its header.
static ts_result ts__writer_create(ts__writer *w, const char *path)
{
    ts_file_header *const header = &w->sidecar->head.header;
    ts_result result = ts__writer_open(w, path);
    w->error = TS_OK;
    w->reserved = 0;
    w->final = false;
    w->sidecar->state.offset = sizeof *header;
    if (result == TS_OK)
        result = ts__file_write(w->file.fd, 0, header, sizeof *header);
    if (result == TS_OK && !ts__writer_space(w, sizeof *header))
        result = TS_ERR_DISK_FULL;
    if (result == TS_OK) return TS_OK;
    ts__file_close(&w->file);
    return result;
}

/* ---- 12.17 The top of the index ----------------------------------------- */
// src/record/file/top.h

/*
    The chunk that the end chunk points to: what a viewer needs to open a trace
    and to draw all of it, in at most 2 MB. It is made when a trace of more than
    one index part ends, from the parts in the file, so that recording pays
    nothing for it. Without memory or disk space a trace has none, nor if it
    would be more than a quarter of the trace.

    Only libtracesmith and programs with TRACESMITH_PICTURES write it.
*/
#ifdef TRACESMITH_PICTURES

TS__SMALL_BEGIN

enum {
    TS__TOP_SLOTS = 4 * TS_TOP_ROWS_MAX,
    TS__TOP_WORK = TS__SCRATCH_BYTES // for one part of the index
};

// A cell under construction.
typedef struct ts__top_cell {
    uint64_t busy, count;
    uint64_t best; // ticks by which `id` was chosen
    uint32_t id;
    float low, high;
    bool sampled;
} ts__top_cell;

typedef struct ts__top {
    ts_top_header header;
    ts_top_kind kinds[TS_TOP_KINDS_MAX];
    ts_top_row rows[TS_TOP_ROWS_MAX];
    uint16_t slots[TS__TOP_SLOTS]; // row + 1 by hash; 0: free
    bool many_rows;
    bool pictured; // the chunk before this one has pictures of its tracks
    uint32_t tracks[2 * TS__BATCH_ROWS / 4]; // a chunk of pictures
    uint64_t last[TS_TOP_ROWS_MAX];          // of each row
    // second pass
    ts__top_cell *cells;
    uint8_t *dictionary; // filled from its end
    uint64_t left;
    bool failed;
} ts__top;

typedef void ts__top_take(ts__writer *w, ts__top *t,
                          const ts_chunk_header *header, const uint64_t *lod);

// The row of a track, event and clock; makes one if `header` has a chunk more.
static ts_top_row *ts__top_row(ts__top *t, const ts_chunk_header *header)
{
    const uint32_t key[3] = { header->track, header->clock, header->event };
    uint64_t at = ts__mix(key, sizeof key, 0);
    for (;; at++) {
        uint16_t *const slot = &t->slots[at % TS__TOP_SLOTS];
        ts_top_row *row = *slot ? &t->rows[*slot - 1] : NULL;
        if (row && (row->track != header->track ||
                    row->clock != header->clock || row->event != header->event))
            continue;
        if (row) return row;
        if (t->header.rows == TS_TOP_ROWS_MAX) return NULL;
        row = &t->rows[t->header.rows++];
        row->track = header->track;
        row->clock = header->clock;
        row->event = header->event;
        row->first = header->first;
        t->last[row - t->rows] = header->last;
        *slot = (uint16_t)t->header.rows;
        return row;
    }
}

static ts_top_kind *ts__top_kind(ts__top *t, const ts_chunk_header *header)
{
    ts_top_kind *kind = t->kinds;
    for (; kind < t->kinds + t->header.kinds; kind++)
        if (kind->event == header->event && kind->clock == header->clock)
            return kind;
    if (t->header.kinds == TS_TOP_KINDS_MAX) return NULL;
    t->header.kinds++;
    kind->event = header->event;
    kind->clock = header->clock;
    kind->first = header->first;
    kind->last = header->last;
    return kind;
}

static void ts__top_widen(uint64_t *first, uint64_t *last,
                          const ts_chunk_header *header)
{
    if ((int64_t)(header->first - *first) < 0) *first = header->first;
    if ((int64_t)(header->last - *last) > 0) *last = header->last;
}

static bool ts__top_is_dictionary(const ts_chunk_header *header)
{
    return header->kind >= TS_CHUNK_NAMES && header->kind <= TS_CHUNK_SYMBOLS;
}

// Makes room for a picture of the events of a chunk, or of one of its tracks.
static void ts__top_measure_row(ts__top *t, const ts_chunk_header *header)
{
    ts_top_row *const row = ts__top_row(t, header);
    if (!row) {
        t->many_rows = true;
        return;
    }
    row->count += header->count;
    ts__top_widen(&row->first, &t->last[row - t->rows], header);
}

static void ts__top_measure_kind(ts__top *t, const ts_chunk_header *header)
{
    ts_top_kind *const kind = ts__top_kind(t, header);
    if (!kind) {
        t->failed = true;
        return;
    }
    kind->count += header->count;
    kind->stored += ts__chunk_bytes(header);
    ts__top_widen(&kind->first, &kind->last, header);
}

// Reads the pictures of tracks into t->tracks.
static bool ts__top_tracks_read(ts__writer *w, ts__top *t,
                                const ts_chunk_header *header)
{
    if (header->stored_size > sizeof t->tracks ||
        !ts__file_read(w->file.fd, header->checksum + sizeof *header, t->tracks,
                       header->stored_size))
        t->failed = true;
    return !t->failed;
}

// The events of one of the tracks, as the header of a chunk of its own.
static ts_chunk_header
ts__top_track(const ts__top *t, const ts_chunk_header *header, uint32_t index)
{
    ts_chunk_header one = *header;
    one.track = t->tracks[2 + 2 * index];
    one.count = t->tracks[2 + 2 * index + 1];
    return one;
}

// First pass: sizes, sums and time ranges. Pictures of tracks come before the
// chunk that they describe, as chunks come from the last to the first.
static void ts__top_measure(ts__writer *w, ts__top *t,
                            const ts_chunk_header *header, const uint64_t *lod)
{
    (void)lod;
    if (ts__top_is_dictionary(header))
        t->header.dictionary += ts__chunk_bytes(header);
    if (header->kind == TS_CHUNK_PICTURES && ts__top_tracks_read(w, t, header))
        for (uint32_t i = 0; i < header->count; i++) {
            const ts_chunk_header one = ts__top_track(t, header, i);
            ts__top_measure_row(t, &one);
        }
    if (header->kind == TS_CHUNK_EVENTS && header->count) {
        ts__top_measure_kind(t, header);
        if (!t->pictured) ts__top_measure_row(t, header);
    }
    t->pictured = header->kind == TS_CHUNK_PICTURES;
}

static void ts__top_sample(ts__top_cell *cell, uint64_t lod)
{
    float low, high;
    const uint32_t bits[] = { (uint32_t)lod, (uint32_t)(lod >> 32) };
    memcpy(&low, &bits[0], sizeof low);
    memcpy(&high, &bits[1], sizeof high);
    if (!(low <= high)) return; // no sample
    if (!cell->sampled || low < cell->low) cell->low = low;
    if (!cell->sampled || high > cell->high) cell->high = high;
    cell->sampled = true;
}

// Adds the busy time of one cell of a chunk, [from, to), to those of its row.
static void ts__top_spread(const ts__top *t, const ts_top_row *row,
                           ts__top_cell *cells, uint64_t from, uint64_t to,
                           uint64_t lod)
{
    const double share = (double)(uint16_t)(lod >> 32) / 65535;
    for (uint64_t i = from / row->width;
         i < t->header.cells && i * row->width < to; i++) {
        const uint64_t begin = i * row->width, end = begin + row->width;
        const uint64_t part =
            (end < to ? end : to) - (begin > from ? begin : from);
        const uint64_t busy = (uint64_t)(share * (double)part);
        cells[i].busy += busy;
        if (busy <= cells[i].best && cells[i].id) continue;
        cells[i].best = busy;
        cells[i].id = (uint32_t)lod;
    }
}

// Adds a picture of `count` cells to that of its row.
static void ts__top_picture(ts__top *t, const ts_chunk_header *header,
                            const uint64_t *lod, uint32_t count)
{
    const ts_top_row *const row =
        t->header.rows ? ts__top_row(t, header) : NULL;
    const uint64_t width = ((header->last - header->first) / TS_LOD_CELLS + 1) *
                           (TS_LOD_CELLS / count);
    const bool mixed = header->track == TS_TRACK_MIXED;
    if (!row) return;
    ts__top_cell *const cells =
        t->cells + (size_t)(row - t->rows) * t->header.cells;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t from = header->first - row->first + i * width;
        const uint64_t at = from / row->width;
        if (at >= t->header.cells) break;
        if (header->event == TS_EVENT_COUNTER && !mixed) {
            ts__top_sample(&cells[at], lod[i]);
            continue;
        }
        cells[at].count += lod[i] >> 48;
        if (!mixed && (lod[i] >> 32 & 0xFFFF))
            ts__top_spread(t, row, cells, from, from + width, lod[i]);
    }
}

static void ts__top_fill_tracks(ts__top *t, const ts_chunk_header *header)
{
    const uint32_t cells = t->tracks[1];
    const uint32_t *from = t->tracks + 2 + 2 * header->count;
    for (uint32_t i = 0; i < header->count; i++, from += 2 * cells) {
        const ts_chunk_header one = ts__top_track(t, header, i);
        uint64_t lod[TS_LOD_CELLS];
        memcpy(lod, from, cells * sizeof *lod);
        ts__top_picture(t, &one, lod, cells);
    }
}

// Second pass: pictures, and copies of the dictionaries. Chunks come from the
// last to the first.
static void ts__top_fill(ts__writer *w, ts__top *t,
                         const ts_chunk_header *header, const uint64_t *lod)
{
    if (header->kind == TS_CHUNK_EVENTS && header->count && !t->pictured)
        ts__top_picture(t, header, lod, TS_LOD_CELLS);
    if (header->kind == TS_CHUNK_PICTURES && ts__top_tracks_read(w, t, header))
        ts__top_fill_tracks(t, header);
    t->pictured = header->kind == TS_CHUNK_PICTURES;
    if (!t->dictionary || !ts__top_is_dictionary(header)) return;
    const size_t size = ts__chunk_bytes(header);
    t->left -= size;
    if (!ts__file_read(w->file.fd, header->checksum, t->dictionary + t->left,
                       size))
        t->failed = true;
}

static void ts__top_chunks(ts__writer *w, ts__top *t,
                           const ts_chunk_header *headers, const uint64_t *lod,
                           uint32_t count, bool all, ts__top_take *take)
{
    uint32_t events = 0;
    for (uint32_t i = 0; i < count; i++)
        events += headers[i].kind == TS_CHUNK_EVENTS;
    for (uint32_t i = count; i-- > 0;) {
        const bool pictured = headers[i].kind == TS_CHUNK_EVENTS;
        events -= pictured;
        // `all`: the pictures of other chunks have a place as well
        take(w, t, &headers[i],
             lod + (size_t)TS_LOD_CELLS * (all ? i : events));
    }
}

// Calls `take` for each chunk of the trace, from the last to the first.
static void ts__top_walk(ts__writer *w, ts__top *t, ts__top_take *take)
{
    const ts__writer_state *const state = &w->sidecar->state;
    uint64_t offset = state->index_offset;
    ts__top_chunks(w, t, w->sidecar->index, w->sidecar->lod[0],
                   state->index_count, true, take);
    while (offset && !t->failed) {
        ts_chunk_header part;
        const uint8_t *const payload = w->scratch + sizeof part;
        t->failed = !ts__file_read(w->file.fd, offset, &part, sizeof part) ||
                    part.kind != TS_CHUNK_INDEX ||
                    ts__chunk_bytes(&part) > TS__TOP_WORK ||
                    !ts__file_read(w->file.fd, offset, w->scratch,
                                   ts__chunk_bytes(&part));
        if (t->failed) return;
        ts__top_chunks(
            w, t, (const ts_chunk_header *)(const void *)(payload + 16),
            (const uint64_t *)(const void *)(payload + 16 +
                                             (size_t)part.count * sizeof part),
            part.count, false, take);
        memcpy(&offset, payload, sizeof offset);
    }
}

static void ts__top_layout(ts__top *t)
{
    ts_top_header *const header = &t->header;
    if (t->many_rows) header->rows = 0;
    header->cells = header->rows ? TS_TOP_CELLS_MAX / header->rows : 0;
    if (header->cells > TS_TOP_ROW_CELLS_MAX)
        header->cells = TS_TOP_ROW_CELLS_MAX;
    for (uint32_t i = 0; i < header->rows; i++)
        t->rows[i].width = (t->last[i] - t->rows[i].first) / header->cells + 1;
    if (header->dictionary > TS_TOP_DICTIONARY_MAX)
        header->dictionary = 0;
    else
        header->flags = TS_TOP_DICTIONARY;
    t->left = header->dictionary;
}

static ts_top_cell ts__top_cell_end(const ts__top_cell *cell,
                                    const ts_top_row *row)
{
    ts_top_cell out;
    memset(&out, 0, sizeof out);
    out.count = cell->count;
    if (row->event == TS_EVENT_COUNTER && row->track != TS_TRACK_MIXED) {
        const uint32_t nan_bits = 0x7FC00000u;
        memcpy(&out.id, cell->sampled ? (const void *)&cell->low : &nan_bits,
               sizeof out.id);
        memcpy(&out.busy, cell->sampled ? (const void *)&cell->high : &nan_bits,
               sizeof out.busy);
        return out;
    }
    const double share = (double)cell->busy / (double)row->width;
    out.id = cell->id;
    out.busy = share >= 1 ? 65535 : (uint32_t)(share * 65535);
    return out;
}

// Puts everything into its place behind the chunk header; returns the end.
static uint8_t *ts__top_write(const ts__top *t, uint8_t *bytes)
{
    const ts_top_header *const header = &t->header;
    uint8_t *p = ts__entries_begin(bytes, TS_CHUNK_TOP);
    memcpy(p, header, sizeof *header);
    p += sizeof *header;
    memcpy(p, t->kinds, header->kinds * sizeof *t->kinds);
    p += header->kinds * sizeof *t->kinds;
    memcpy(p, t->rows, header->rows * sizeof *t->rows);
    p += header->rows * sizeof *t->rows;
    for (uint32_t i = 0; i < header->rows * header->cells; i++) {
        const ts_top_cell cell =
            ts__top_cell_end(&t->cells[i], &t->rows[i / header->cells]);
        memcpy(p, &cell, sizeof cell);
        p += sizeof cell;
    }
    if (header->dictionary)
        memcpy(p, t->dictionary, (size_t)header->dictionary);
    p += header->dictionary;
    return ts__entries_end(bytes, p, 0);
}

// Whether the disk has room for the top besides the end of the trace.
static bool ts__top_fits(ts__writer *w, size_t size)
{
    const uint64_t end =
        w->sidecar->state.offset + size + ts__writer_reserve(w);
    if (!ts__file_may_grow(end)) return false;
    return fallocate(w->file.fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)end) == 0 ||
           (errno != ENOSPC && errno != EDQUOT);
}

static uint64_t ts__top_append(ts__writer *w, ts__top *t)
{
    const size_t cells = (size_t)t->header.rows * t->header.cells;
    const size_t room = sizeof(ts_chunk_header) + sizeof t->header +
                        sizeof t->kinds + sizeof t->rows +
                        cells * sizeof(ts_top_cell) +
                        (size_t)t->header.dictionary + 8;
    const size_t work = cells * sizeof *t->cells;
    const size_t size = work + (size_t)t->header.dictionary + room;
    if (room > w->sidecar->state.offset / 4) return 0;
    uint8_t *const memory =
        ts__top_fits(w, room) ? (uint8_t *)ts__pages_new(size) : NULL;
    if (!memory) return 0;
    t->cells = (ts__top_cell *)(void *)memory;
    if (t->header.dictionary) t->dictionary = memory + work;
    ts__top_walk(w, t, ts__top_fill);
    uint8_t *const bytes = memory + work + t->header.dictionary;
    uint64_t offset = w->sidecar->state.offset;
    ts__commit commit = ts__commit_begin(w);
    if (t->failed || t->left ||
        ts__writer_append(w, bytes, (size_t)(ts__top_write(t, bytes) - bytes),
                          NULL, &commit) != TS_OK)
        offset = 0;
    munmap(memory, size);
    return offset;
}

// Writes the top; returns its offset, 0: there is none.
static uint64_t ts__writer_top(ts__writer *w)
{
    if (!w->sidecar->state.index_offset || ts__writer_prepare(w, 1) != TS_OK)
        return 0;
    uint64_t offset = 0;
    ts__top *const top = (ts__top *)ts__pages_new(sizeof *top);
    if (!top) return 0;
    ts__top_walk(w, top, ts__top_measure);
    ts__top_layout(top);
    if (!top->failed) offset = ts__top_append(w, top);
    munmap(top, sizeof *top);
    return offset;
}

TS__SMALL_END
#endif // TRACESMITH_PICTURES

TS__SMALL_BEGIN

// Writes the index and the end chunk and cuts the file to its size: the file is
// complete.
static ts_result ts__writer_finish(ts__writer *w)
{
    ts_result result = TS_OK;
    uint64_t top = 0;
#ifdef TRACESMITH_PICTURES
    top = ts__writer_top(w);
#endif
    if (w->sidecar->state.index_count) result = ts__writer_index(w);
    ts__commit commit = ts__commit_begin(w);
    commit.index = true;
    commit.state.finished = 1;
    uint8_t *const end = ts__entries_begin(w->scratch, TS_CHUNK_END);
    memcpy(w->scratch + offsetof(ts_chunk_header, first),
           &commit.state.index_offset, sizeof commit.state.index_offset);
    memcpy(w->scratch + offsetof(ts_chunk_header, last), &top, sizeof top);
    if (result == TS_OK)
        result = ts__writer_append(w, w->scratch, (size_t)(end - w->scratch),
                                   NULL, &commit);
    if (ftruncate(w->file.fd, (off_t)w->sidecar->state.offset) != 0 &&
        result == TS_OK)
        result = TS_ERR_IO;
    return result;
}

TS__SMALL_END

/* ---- 12.18 Drain -------------------------------------------------------- */
// src/record/file/drain.h

/*
    Moves records out of a ring. `ring` holds the positions and `view` the
    slots: both are the same ring in a session; in salvage `view` is a mapping
    of the dead process's ring.
*/
typedef struct ts__mover {
    ts__writer *writer;
    const ts__block *log; // of the dictionary
    bool dead;            // nobody writes to the rings now
    bool compress;        // memory may be allocated, as zstd does
    bool salvage;         // keep in the ring what cannot be written
} ts__mover;

// The time range of the encoded records; for those of a device's clock, now.
static void ts__encoder_span(const ts__encoder *e, uint64_t *first,
                             uint64_t *last)
{
    ts_chunk_header header;
    bool none = true;
    *first = *last = e->now;
    for (size_t at = 0; at < e->size; at += ts__chunk_bytes(&header)) {
        memcpy(&header, e->out + at, sizeof header);
        if (header.clock) continue;
        if (none || (int64_t)(header.first - *first) < 0) *first = header.first;
        if (none || (int64_t)(header.last - *last) > 0) *last = header.last;
        none = false;
    }
}

// Counts an encoded batch that could not be written.
static void ts__move_lost(const ts__writer *w, const ts__encoder *e,
                          uint32_t track, ts_result result)
{
    uint64_t first, last;
    if (!e->size) return;
    ts__encoder_span(e, &first, &last);
    ts__loss_note(w->sidecar, track,
                  result == TS_ERR_DISK_FULL ? TS_LOSS_DISK_FULL
                                             : TS_LOSS_WRITE_ERROR,
                  0, e->records, first, last);
}

// Writes one encoded batch. What cannot be written is counted as lost and
// leaves the ring: the program must not suffer from a full disk.
static void ts__move_commit(const ts__mover *m, ts__ring *ring, ts__encoder *e,
                            const ts__batch *batch)
{
    ts__writer *const w = m->writer;
    ts__lock_take(&w->lock);
    ts_result result = ts__writer_entries(w, m->log);
    if (result == TS_OK) result = ts__writer_prepare(w, e->chunks);
    ts__commit commit = ts__commit_begin(w);
    commit.ring = ring;
    commit.tail = batch->to;
    commit.kept = ts__rest(ring)->kept + e->records + batch->stale + batch->bad;
    commit.track = batch->next;
    if (result == TS_OK && e->size) result = ts__writer_chunks(w, e, &commit);
    ts__writer_failed(w, result);
    if (result != TS_OK && m->salvage) {
        ts__lock_give(&w->lock);
        return;
    }
    if (result != TS_OK || !e->size) {
        TS__STORE(&ts__rest(ring)->track, batch->next);
        __atomic_store_n(&ring->tail, batch->to, __ATOMIC_RELEASE);
    }
    if (result != TS_OK) ts__move_lost(w, e, batch->track, result);
    ts__lock_give(&w->lock);
}

// Moves one batch; false if nothing could be moved.
static bool ts__move_batch(const ts__mover *m, ts__ring *ring,
                           const ts__ring *view, ts__encoder *e, uint64_t upto)
{
    ts__batch batch;
    ts__encoder_reset(e);
    batch.from = ring->tail;
    batch.track = ts__rest(ring)->track;
    ts__batch_scan(e, view, &batch, upto, m->dead);
    if (batch.to == batch.from) return false;
    ts__batch_encode(e, view, &batch);
    ts__move_commit(m, ring, e, &batch);
    const uint64_t now = e->now;
    ts__loss_note(m->writer->sidecar, batch.track, TS_LOSS_STALE, 0,
                  batch.stale, now, now);
    ts__loss_note(m->writer->sidecar, batch.track, TS_LOSS_BAD_RECORD, 0,
                  batch.bad, now, now);
    return m->writer->error == TS_OK || !m->salvage;
}

// own: the caller's encoder; NULL: take one for each batch.
static void ts__ring_move(const ts__mover *m, ts__ring *ring, ts__encoder *own,
                          uint64_t upto)
{
    ts__ring_rest *const rest = ts__rest(ring);
    ts__lock_take(&rest->lock);
    bool moved = true;
    while (moved && ring->tail < upto) {
        ts__encoder *const e =
            own ? own : ts__encoder_take(m->writer->sidecar, m->compress);
        moved = ts__move_batch(m, ring, ring, e, upto);
        if (!own) ts__encoder_give(e);
    }
    ts__lock_give(&rest->lock);
}

// Drains a ring on its producer's thread, perhaps inside a signal handler.
static void ts__ring_drain(ts__ring *ring, uint64_t upto, bool dead)
{
    const ts__mover m = { &ts__c.writer, ts__log, dead, false, false };
    ts__ring_move(&m, ring, NULL, upto);
}

// acquire: pairs with the release in ts__ring_new
static uint32_t ts__ring_count(void)
{
    return __atomic_load_n(&ts__c.ring_count, __ATOMIC_ACQUIRE);
}

// Reads the four clocks as closely together as 8 attempts allow.
static ts_clock_entry ts__clock_read(void)
{
    ts_clock_entry best;
    memset(&best, 0, sizeof best);
    best.type = ts__c.tick_type;
    best.uncertainty_ns = UINT64_MAX;
    for (int i = 0; i < 8; i++) {
        const uint64_t before = ts__clock_ns(CLOCK_MONOTONIC_RAW);
        const uint64_t tick = ts_tick_now();
        const uint64_t after = ts__clock_ns(CLOCK_MONOTONIC_RAW);
        if (after - before >= best.uncertainty_ns) continue;
        best.uncertainty_ns = after - before;
        best.tick = tick;
        best.raw_ns = before + (after - before) / 2;
#ifdef TRACESMITH_TICK
        best.raw_ns = tick; // already nanoseconds, of another origin
        best.realtime_ns = ts__clock_ns(CLOCK_REALTIME);
        best.boottime_ns = ts__clock_ns(CLOCK_BOOTTIME);
        break;
#endif
        best.realtime_ns = ts__clock_ns(CLOCK_REALTIME);
        best.boottime_ns = ts__clock_ns(CLOCK_BOOTTIME);
        const uint64_t late = ts__clock_ns(CLOCK_MONOTONIC_RAW) - best.raw_ns;
        best.realtime_ns -= late;
        best.boottime_ns -= late;
    }
    return best;
}

// Writer's lock held.
static void ts__clock_write(ts__writer *w)
{
    const ts_clock_entry sample = ts__clock_read();
    ts__sidecar *const sidecar = w->sidecar;
    sidecar->clock[sidecar->clock[0].raw_ns != 0] = sample;
    ts__writer_failed(w, ts__writer_clock(w, 0, &sample));
}

// Copies samples of devices' clocks into a dump. Set once a device has a clock:
// a program without need not link it. NULL: there are none.
static ts_result (*ts__clocks_copy)(ts__writer *w);

// Samples the clocks: often at first, so that a short trace has a rate, then
// once a second.
static void ts__clock_tend(ts__writer *w)
{
    ts__lock_take(&w->lock);
    const uint64_t now = ts__clock_ns(CLOCK_MONOTONIC_RAW);
    if (now >= ts__c.clock_next_ns) {
        ts__clock_write(w);
        if (ts__c.clock_step_ns < 1000000000u) ts__c.clock_step_ns *= 10;
        ts__c.clock_next_ns = now + ts__c.clock_step_ns;
    }
    ts__lock_give(&w->lock);
}

// Drains the rings that need it, or `all`; not those of a flight recorder.
// Returns whether a ring fills quickly. The clock is sampled first, so that a
// file which is cut after these events has its rate.
static bool ts__drain_round(bool all)
{
    ts__clock_tend(&ts__c.writer);
    if (ts__c.desc.policy == TS_POLICY_OVERWRITE) return false;
    bool busy = false;
    const ts__mover m = { &ts__c.writer, ts__log, false, true, false };
    const uint64_t now = ts__clock_ns(CLOCK_MONOTONIC);
    const uint64_t flush_ns = (uint64_t)ts__c.desc.flush_ms * 1000000u;
    for (uint32_t i = 0; i < ts__ring_count(); i++) {
        ts__ring *const ring = ts__c.rings[i];
        ts__ring_rest *const rest = ts__rest(ring);
        // acquire: everything below head has been reserved
        const uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
        const uint64_t held = head - TS__LOAD(&ring->tail);
        // Small rings are drained less often: small chunks cost space.
        const uint64_t slots = ts__ring_slots(ring);
        const bool full = held >= (slots > 8192 ? slots / 8 : slots / 2);
        if (!held) {
            TS__STORE(&rest->drained_ns, now);
            continue;
        }
        if (!all && !full && now - TS__LOAD(&rest->drained_ns) < flush_ns)
            continue;
        ts__ring_move(&m, ring, NULL, head);
        TS__STORE(&rest->drained_ns, now);
        busy |= full;
    }
    ts__futex_bump(&ts__c.drained);
    return busy;
}

// Writes new entries of the dictionary and the ledger.
static void ts__drain_misc(void)
{
    ts__writer *const w = &ts__c.writer;
    ts__lock_take(&w->lock);
    ts_result result = ts__writer_entries(w, ts__log);
    if (result == TS_OK) result = ts__writer_prepare(w, 1);
    if (result == TS_OK)
        result = ts__writer_losses(w, ts__c.rings, ts__ring_count());
    ts__writer_failed(w, result);
    ts__lock_give(&w->lock);
}

static void ts__header_seal(ts_file_header *header)
{
    header->checksum =
        ts__checksum(header, offsetof(ts_file_header, checksum), 0);
}

// Fills in %p %r %h %n %%. False if the result is too long.
static bool ts__path_expand(char *out, const char *pattern, uint32_t count)
{
    size_t used = 0;
    for (const char *p = pattern; *p; p++) {
        struct utsname host;
        char number[24];
        const char *part = p;
        size_t size = 1;
        const char what = *p == '%' ? p[1] : 0;
        if (what == 'p' || what == 'r' || what == 'n') {
            part = number;
            size = (size_t)snprintf(number, sizeof number, "%u",
                                    what == 'p'   ? (uint32_t)getpid()
                                    : what == 'r' ? ts__c.desc.rank
                                                  : count);
        } else if (what == 'h') {
            part = uname(&host) == 0 ? host.nodename : "localhost";
            size = strlen(part);
        } else if (what && what != '%') { // not one of ours: copy it
            size = 2;
        }
        if (what) p++;
        if (used + size >= TS__PATH_MAX) return false;
        memcpy(out + used, part, size);
        used += size;
    }
    out[used] = 0;
    return used > 0;
}

// Collects the zones on the stacks of all rings. Done before the last drain,
// which removes those that have ended meanwhile.
static void ts__open_zones(ts__encoder *e, ts__ring *const *rings,
                           uint32_t ring_count)
{
    for (uint32_t i = 0; i < ring_count; i++) {
        ts__ring *const ring = rings[i];
        if (TS__LOAD(&ts__rest(ring)->state) != TS__RING_OWNED) continue;
        // acquire: pairs with the release in ts__ring_deeper
        const uint32_t depth = __atomic_load_n(&ring->depth, __ATOMIC_ACQUIRE);
        for (uint32_t d = 0; d < depth && d < TS__OPEN_MAX &&
                             e->open_count < TS__OPEN_ZONES_MAX;
             d++) {
            const ts__open *const entry = ts__ring_open(ring, d);
            ts__open_zone *const zone = &e->open[e->open_count];
            // acquire: pairs with the releases in ts__zone_open
            zone->start = __atomic_load_n(&entry->start, __ATOMIC_ACQUIRE);
            zone->depth = __atomic_load_n(&entry->depth, __ATOMIC_ACQUIRE);
            zone->site = __atomic_load_n(&entry->code, __ATOMIC_ACQUIRE) >> 6;
            zone->track = TS__LOAD(&ts__rest(ring)->owner);
            // Another depth: a deeper zone has overwritten the entry, or is
            // about to. Another start: the zone has ended meanwhile.
            if (zone->depth < depth && zone->start == TS__LOAD(&entry->start))
                e->open_count++;
        }
    }
}

/* ---- 12.19 Dump of the flight recorder ---------------------------------- */
// src/record/file/dump.h

/*
    Copies what a ring holds now into a private ring. The producer of a flight
    recorder goes on overwriting during the copy; records that it may have
    touched are left out.
*/
static uint64_t ts__snapshot_copy(const ts__ring *ring, ts__ring *copy,
                                  ts__slot *slots)
{
    const uint64_t size = ts__ring_slots(ring);
    const uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
    const uint64_t start = ts__rest(ring)->start;
    uint64_t from = TS__LOAD(&ring->tail);
    memset(copy, 0, sizeof *copy);
    copy->mask = ring->mask;
    copy->shift = ring->shift;
    copy->lap = ring->lap;
    copy->slots = slots;
    for (uint64_t i = 0; i < size; i++) {
        slots[i].a = __atomic_load_n(&ring->slots[i].a, __ATOMIC_ACQUIRE);
        slots[i].b = TS__LOAD(&ring->slots[i].b);
    }
    // A producer reserves before it stores: once every processor has passed a
    // barrier, head bounds what the copy may have read half-written.
    syscall(SYS_membarrier, 8 /* PRIVATE_EXPEDITED */, 0, 0);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    const uint64_t later = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
    if (later > start + size && from < later - size) from = later - size;
    copy->head = head;
    return from;
}

// The track whose records begin at a position.
static uint32_t ts__snapshot_track(const ts__ring *ring, uint64_t position)
{
    const ts__ring_rest *const rest = ts__rest(ring);
    uint32_t track = 0;
    // acquire: pairs with the release in ts__ring_own
    const uint32_t n = __atomic_load_n(&rest->owner_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = n > 16 ? n - 16 : 0; i < n; i++)
        if (TS__LOAD(&rest->owners[i % 16].position) <= position)
            track = TS__LOAD(&rest->owners[i % 16].track);
    return track;
}

// The records that an overwriting ring has lost: reserved slots less those
// beyond a record's first, less changes of owner, less the records kept.
static uint64_t ts__overwritten(const ts__ring *ring, uint64_t kept)
{
    const ts__ring_rest *const rest = ts__rest(ring);
    const uint64_t made = TS__LOAD(&ring->head) - rest->start -
                          TS__LOAD(&ring->more) - TS__LOAD(&rest->owner_count);
    return (int64_t)(made - kept) > 0 ? made - kept : 0;
}

static ts_result ts__snapshot_names(ts__writer *w)
{
    if (w == &ts__c.writer) return ts__writer_entries(w, ts__log);
    ts__lock_take(&ts__c.names);
    const ts_result result = ts__writer_dictionary(w);
    ts__lock_give(&ts__c.names);
    return result;
}

static ts_result ts__snapshot_batch(ts__writer *w, ts__encoder *e,
                                    uint32_t track, ts_result result)
{
    if (!e->size) return result;
    if (result == TS_OK) result = ts__writer_encoded(w, e, 0);
    if (result != TS_OK) ts__move_lost(w, e, track, result);
    return result;
}

// After an error the remaining records are not written but counted as lost: a
// dump has no other ledger.
static ts_result ts__snapshot_ring(ts__writer *w, ts__encoder *e,
                                   const ts__ring *ring, ts__slot *slots,
                                   ts_result result)
{
    ts__ring copy;
    ts__batch batch;
    uint64_t kept = 0, oldest = e->now;
    batch.from = ts__snapshot_copy(ring, &copy, slots);
    batch.track = ts__snapshot_track(ring, batch.from);
    // Names come before the records that use them.
    if (result == TS_OK) result = ts__snapshot_names(w);
    while (batch.from < copy.head) {
        ts__encoder_reset(e);
        ts__batch_scan(e, &copy, &batch, copy.head, true);
        ts__batch_encode(e, &copy, &batch);
        kept += e->records + batch.stale + batch.bad;
        uint64_t first, last;
        ts__encoder_span(e, &first, &last);
        if ((int64_t)(first - oldest) < 0) oldest = first;
        result = ts__snapshot_batch(w, e, batch.track, result);
        batch.track = batch.next;
        batch.from = batch.to;
    }
    if (ts__c.desc.policy == TS_POLICY_OVERWRITE)
        ts__loss_note(w->sidecar, TS__LOAD(&ts__rest(ring)->owner),
                      TS_LOSS_OVERWRITTEN, 0, ts__overwritten(ring, kept),
                      e->base, oldest);
    return result;
}

static ts_result ts__snapshot_rings(ts__writer *w, ts__encoder *e)
{
    ts_result result = ts__snapshot_names(w); // even if there is no ring
    for (uint32_t i = 0; i < ts__ring_count(); i++) {
        const ts__ring *const ring = ts__c.rings[i];
        const size_t bytes = (size_t)ts__ring_slots(ring) * sizeof(ts__slot);
        ts__slot *const slots = (ts__slot *)ts__pages_new(bytes);
        if (slots) {
            result = ts__snapshot_ring(w, e, ring, slots, result);
            munmap(slots, bytes);
            continue;
        }
        if (result == TS_OK) result = TS_ERR_MEMORY;
        ts__loss_note(w->sidecar, TS__LOAD(&ts__rest(ring)->owner),
                      TS_LOSS_MEMORY_BOUND, 0, ts__overwritten(ring, 0),
                      e->base, e->now);
    }
    return result;
}

// Makes a writer with private state, for a file other than the session's trace.
static bool ts__writer_new(ts__writer *w)
{
    memset(w, 0, sizeof *w);
    w->file.fd = -1;
    w->sidecar = (ts__sidecar *)ts__pages_new(sizeof *w->sidecar);
    w->scratch = (uint8_t *)ts__pages_new(TS__SCRATCH_BYTES);
    return w->sidecar && w->scratch;
}

static void ts__writer_free(ts__writer *w)
{
    ts__file_close(&w->file);
    if (w->sidecar) munmap(w->sidecar, sizeof *w->sidecar);
    if (w->scratch) munmap(w->scratch, TS__SCRATCH_BYTES);
}

// Writes the parts of a dump in their order; the file has been created.
static ts_result ts__snapshot_write(ts__writer *w)
{
    const ts__sidecar *const session = ts__c.writer.sidecar;
    const ts_clock_entry now = ts__clock_read();
    ts_result result = ts__writer_clock(w, 0, &session->clock[0]);
    if (result == TS_OK) result = ts__writer_clock(w, 0, &now);
    ts_result (*const copy)(ts__writer * w) = TS__LOAD(&ts__clocks_copy);
    if (result == TS_OK && copy) result = copy(w);
    ts__encoder *const e = ts__encoder_take(session, true);
    ts__open_zones(e, ts__c.rings, ts__ring_count());
    if (result == TS_OK) result = ts__snapshot_rings(w, e);
    if (result == TS_OK) result = ts__writer_open_zones(w, e);
    ts__encoder_give(e);
    if (result == TS_OK) result = ts__writer_losses(w, NULL, 0);
    w->final = true;
    const ts_result finished = ts__writer_finish(w);
    return result == TS_OK ? finished : result;
}

// Writes a dump. pattern: see ts_session_desc.path. Called inside the slow
// path.
static ts_result ts__snapshot(const char *pattern)
{
    ts__writer w;
    char path[TS__PATH_MAX];
    ts_result result = TS_ERR_MEMORY;
    if (!ts__path_expand(
            path, pattern,
            __atomic_add_fetch(&ts__c.snapshots, 1, __ATOMIC_RELAXED)))
        return TS_ERR_USAGE;
    if (ts__writer_new(&w)) {
        w.sidecar->head.header = ts__c.writer.sidecar->head.header;
        ts__random(w.sidecar->head.header.session);
        ts__header_seal(&w.sidecar->head.header);
        result = ts__writer_create(&w, path);
        if (result == TS_OK) result = ts__snapshot_write(&w);
    }
    ts__writer_free(&w);
    return result;
}

typedef struct ts__process_stat {
    char state;
    int parent, threads;      // parent 0: none
    unsigned long long began; // in ticks since boot
} ts__process_stat;

// The kernel's facts about a process. Source: proc(5), fields 3, 4, 20 and 22.
static bool ts__process_read(const char *path, ts__process_stat *stat)
{
    char text[1024];
    ts__text_read(path, text, sizeof text);
    const char *const at =
        strrchr(text, ')'); // ends the name, which may hold any bytes
    return at && sscanf(at,
                        ") %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                        "%*s %*s %*s %*s %*s %d %*s %llu",
                        &stat->state, &stat->parent, &stat->threads,
                        &stat->began) == 4;
}

// Whether the drain thread is the only one left: main() ended with pthread_exit
// and all others have ended. The process ends with its last thread, so it must
// not be this one.
static bool ts__drain_alone(void)
{
    ts__process_stat own;
    return ts__process_read("/proc/self/stat", &own) && own.state == 'Z' &&
           own.threads == 2;
}

static void *ts__drain_main(void *unused)
{
    const uint64_t longest = 16000000u; // producers wake it: ts__ring_refresh
    uint64_t next_ns = 0, sleep_ns = 2000000u;
    (void)unused;
    prctl(PR_SET_NAME, "ts-drain");
    ts__inside = 1; // it never records
    while (!TS__LOAD(&ts__c.stopping)) {
        const uint32_t seen = __atomic_load_n(&ts__c.wake, __ATOMIC_ACQUIRE);
        const bool busy = ts__drain_round(false);
        const uint64_t now = ts__clock_ns(CLOCK_MONOTONIC);
        if (now >= next_ns) {
            ts__drain_misc();
            next_ns = now + (uint64_t)ts__c.desc.flush_ms * 1000000u;
            if (ts__drain_alone()) {
                ts__inside = 0;
                exit(0);
            }
        }
        if (__atomic_exchange_n(&ts__c.snapshot_requested, 0, __ATOMIC_ACQUIRE))
            ts__snapshot(ts__c.snapshot_path);
        sleep_ns = busy ? 200000u : sleep_ns * 2;
        if (sleep_ns > longest) sleep_ns = longest;
        ts__futex_wait(&ts__c.wake, seen, sleep_ns);
    }
    return NULL;
}

/* ---- 12.20 Session: what a start needs ---------------------------------- */
// src/record/session/setup.h

static bool ts__copy_text(char *out, size_t room, const char *text)
{
    const size_t size = text ? strlen(text) : 0;
    if (size >= room) return false;
    if (text) memmove(out, text, size);
    out[size] = 0;
    return true;
}

static ts_result ts__session_check(const ts_session_desc *d)
{
    if (!d || !d->path || !*d->path || d->ring_bytes > 64u << 20 ||
        (d->memory_bytes && d->memory_bytes < 128u << 10) ||
        (uint32_t)d->policy > TS_POLICY_BLOCK ||
        (uint32_t)d->drain > TS_DRAIN_MANUAL ||
        (uint32_t)d->fork > TS_FORK_FOLLOW || d->compress > 19 ||
        d->snapshot_signal < 0 || d->snapshot_signal >= NSIG)
        return TS_ERR_USAGE;
    if (d->policy == TS_POLICY_BLOCK && d->drain == TS_DRAIN_MANUAL)
        return TS_ERR_USAGE; // nothing would ever wake the producer
    if (d->fork == TS_FORK_FOLLOW && !strstr(d->path, "%p"))
        return TS_ERR_USAGE;
#ifndef TRACESMITH_ZSTD
    if (d->compress) return TS_ERR_UNSUPPORTED;
#endif
    return TS_OK;
}

// Fills in the defaults; no other place knows them.
static void ts__session_defaults(ts_session_desc *d)
{
    uint32_t bytes = 16 * TS__RING_SLOTS_MIN;
    if (!d->memory_bytes) d->memory_bytes = 256u << 20;
    if (!d->ring_bytes)
        d->ring_bytes = d->policy == TS_POLICY_OVERWRITE ? 1u << 20 : 4u << 20;
    if (!d->flush_ms) d->flush_ms = 500;
    while (bytes < d->ring_bytes)
        bytes *= 2;
    d->ring_bytes = bytes;
}

// Copies the strings of the desc. In a child made by fork they may lie in ts__c
// itself.
static bool ts__session_texts(const ts_session_desc *desc)
{
    if (!ts__copy_text(ts__c.path_pattern, TS__PATH_MAX, desc->path) ||
        !ts__copy_text(ts__c.sidecar_dir, TS__PATH_MAX, desc->sidecar_dir) ||
        !ts__copy_text(ts__c.app, sizeof ts__c.app, desc->app) ||
        !ts__path_expand(ts__c.path, ts__c.path_pattern, 0))
        return false;
    ts__c.desc.path = ts__c.path_pattern;
    ts__c.desc.sidecar_dir = ts__c.sidecar_dir;
    ts__c.desc.app = ts__c.app;
    if (!desc->snapshot_path)
        return snprintf(ts__c.snapshot_path, TS__PATH_MAX, "%s.%%n.sbt",
                        ts__c.path) < TS__PATH_MAX;
    ts__c.desc.snapshot_path = ts__c.snapshot_path;
    return ts__copy_text(ts__c.snapshot_path, TS__PATH_MAX,
                         desc->snapshot_path);
}

static bool ts__is_memory_dir(const char *dir)
{
    struct statfs fs; // f_type: statfs(2)
    return statfs(dir, &fs) == 0 &&
           ((uint32_t)fs.f_type == 0x01021994u /* TMPFS_MAGIC */ ||
            (uint32_t)fs.f_type == 0x858458f6u /* RAMFS_MAGIC */);
}

static ts_result ts__sidecar_open(const char *dir, const ts_file_header *header)
{
    if (!ts__sidecar_name(ts__c.sidecar_path, dir, header->session))
        return TS_ERR_USAGE;
    const int fd = ts__file_open(&ts__c.sidecar_file, ts__c.sidecar_path,
                                 O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0) return TS_ERR_IO;
    const size_t size = ts__page_round(sizeof(ts__sidecar));
    ts__sidecar *const sidecar =
        ts__file_lock(fd) ? (ts__sidecar *)ts__pages_map(fd, 0, size) : NULL;
    if (!sidecar) {
        const ts_result result = ts__disk_error(TS_ERR_MEMORY);
        ts__file_close(&ts__c.sidecar_file);
        unlink(ts__c.sidecar_path);
        return result;
    }
    sidecar->head.layout = sizeof *sidecar;
    sidecar->head.tick_type = ts__c.tick_type;
    sidecar->head.overwrites = ts__c.desc.policy == TS_POLICY_OVERWRITE;
    sidecar->head.header = *header;
    sidecar->size = size;
    sidecar->ring = TS__RINGS_MAX;
    memcpy(sidecar->head.magic, TS__SIDECAR_MAGIC, sizeof sidecar->head.magic);
    ts__path_whole(ts__c.sidecar_path);
    ts__c.writer.sidecar = sidecar;
    return TS_OK;
}

static ts_result ts__sidecar_create(const ts_file_header *header)
{
    char dir[TS__PATH_MAX];
    if (ts__c.sidecar_dir[0])
        return ts__sidecar_open(ts__c.sidecar_dir, header);
    if (ts__is_memory_dir("/dev/shm") &&
        ts__sidecar_open("/dev/shm", header) == TS_OK)
        return TS_OK;
    ts__directory_of(dir, ts__c.path);
    return ts__sidecar_open(dir, header);
}

// Makes or removes the link beside the trace to a sidecar in a folder that the
// user chose.
static void ts__sidecar_link(bool make)
{
    char link[TS__PATH_MAX], target[TS__PATH_MAX];
    if (!ts__c.sidecar_dir[0]) return;
    if (snprintf(link, sizeof link, "%s.ring", ts__c.path) >= (int)sizeof link)
        return;
    const ssize_t n = readlink(link, target, sizeof target - 1);
    if (n < 0 && errno == EINVAL) return; // a file of the user's, not our link
    target[n > 0 ? n : 0] = 0;
    if (!make && strcmp(target, ts__c.sidecar_path) != 0) return;
    unlink(link);
    if (make && symlink(ts__c.sidecar_path, link) != 0) return;
}

// The processor's name. On x86 not from /proc/cpuinfo, which is slow because it
// may query the frequency of every core.
static bool ts__cpu_model(char *out, size_t room)
{
#if defined(__x86_64__) || defined(__i386__)
    // Intel SDM volume 2, CPUID 80000002H to 80000004H.
    uint32_t words[13] = { 0 };
    // The compiler's header says int or unsigned.
    if ((unsigned)__get_cpuid_max(0x80000000u, NULL) < 0x80000004u)
        return false;
    for (uint32_t i = 0; i < 12; i += 4)
        __cpuid(0x80000002u + i / 4, words[i], words[i + 1], words[i + 2],
                words[i + 3]);
    const char *name = (const char *)words;
    name += strspn(name, " ");
#else
    char text[1024] = { 0 };
    static const char key[] = "model name\t: ";
    ts__text_read("/proc/cpuinfo", text, sizeof text);
    char *const line = strstr(text, key);
    const char *const name = line ? line + sizeof key - 1 : "unknown";
    if (line) line[sizeof key - 1 + strcspn(name, "\n")] = 0;
#endif
    return ts__copy_text(out, room, name);
}

static void ts__session_facts(void)
{
    struct utsname host;
    char text[256];
    ts__process_track();
    if (uname(&host) == 0) {
        ts_metadata_text(0, "host", host.nodename);
        snprintf(text, sizeof text, "%.60s %.60s %.60s", host.sysname,
                 host.release, host.machine);
        ts_metadata_text(0, "os", text);
    }
    char command[1024];
    const size_t size =
        ts__text_read("/proc/self/cmdline", command, sizeof command);
    for (size_t i = 0; i + 1 < size; i++) // each argument ends with a zero
        if (!command[i]) command[i] = ' ';
    if (size) ts_metadata_text(0, "command", command);
    if (ts__cpu_model(text, sizeof text)) ts_metadata_text(0, "cpu", text);
#ifdef __aarch64__
    uint64_t hz;
    __asm__("mrs %0, cntfrq_el0" : "=r"(hz));
    ts_metadata_int(0, "clock.hz", (int64_t)hz);
#endif
    if (ts__text_read("/proc/sys/kernel/random/boot_id", text, 37))
        ts_metadata_text(0, "boot_id", text);
    static const char *const policies[] = { "help", "drop", "overwrite",
                                            "block" };
    ts_metadata_text(0, "policy", policies[ts__c.desc.policy]);
    ts_metadata_text(0, "tracesmith", "0.1.0");
    if (ts__c.app[0]) ts_metadata_text(0, "app", ts__c.app);
    ts_metadata_int(0, "rank", ts__c.desc.rank);
}

// Allocates the work space, which lives as long as the process.
static bool ts__session_memory(void)
{
    ts__writer *const w = &ts__c.writer;
    if (!w->scratch) w->scratch = (uint8_t *)ts__pages_new(TS__SCRATCH_BYTES);
    for (int i = 0; i < TS__ENCODERS; i++) {
        if (!ts__c.encoders[i])
            ts__c.encoders[i] =
                (ts__encoder *)ts__pages_new(sizeof(ts__encoder));
        if (!ts__c.encoders[i]) return false;
    }
    return w->scratch != NULL;
}

static void ts__fork_prepare(void);
static void ts__fork_parent(void);

static void ts__at_exit(void)
{
    ts_session_stop();
}

// Sets up, once in a process, what every session needs.
static bool ts__session_hooks(void)
{
    if (ts__c.hooks_ready) return true;
    ts__platform_init();
    madvise(&ts__here, sizeof ts__here, 18 /* MADV_WIPEONFORK */);
    // For dumps, see ts__snapshot_copy; may fail on old kernels.
    syscall(SYS_membarrier, 16 /* REGISTER_PRIVATE_EXPEDITED */, 0, 0);
    if (pthread_key_create(&ts__c.key, ts__ring_detach) != 0 ||
        pthread_atfork(ts__fork_prepare, ts__fork_parent, ts__fork_child) != 0)
        return false;
    atexit(ts__at_exit);
    // Our code must remain loaded even if it is in a shared object that the
    // program closes.
    Dl_info info;
    if (dladdr((const void *)(uintptr_t)&ts_session_start, &info) &&
        info.dli_fname)
        dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    ts__c.hooks_ready = true;
    return true;
}

static void ts__snapshot_handler(int number)
{
    const int error = errno;
    (void)number;
    __atomic_store_n(&ts__c.snapshot_requested, 1, __ATOMIC_RELEASE);
    ts__futex_bump(&ts__c.wake);
    errno = error;
}

static void ts__signal_take(void)
{
    struct sigaction action;
    if (!ts__c.desc.snapshot_signal) return;
    memset(&action, 0, sizeof action);
    action.sa_handler = ts__snapshot_handler;
    action.sa_flags = SA_RESTART;
    sigfillset(&action.sa_mask);
    sigaction(ts__c.desc.snapshot_signal, &action, &ts__c.old_action);
}

static void ts__signal_give(void)
{
    if (ts__c.desc.snapshot_signal)
        sigaction(ts__c.desc.snapshot_signal, &ts__c.old_action, NULL);
}

static void ts__header_make(ts_file_header *header)
{
    memset(header, 0, sizeof *header);
    memcpy(header->magic, TS_FILE_MAGIC, sizeof header->magic);
    header->major = TS_FORMAT_MAJOR;
    header->minor = TS_FORMAT_MINOR;
    ts__random(header->session);
    header->start_tick = ts_tick_now();
    header->start_realtime_ns = ts__clock_ns(CLOCK_REALTIME);
    header->process = (uint32_t)getpid();
    ts__header_seal(header);
}

// Ends the session's log and drops the facts about the session. The sidecar's
// own counts are left alone: in a child it is the parent's, who goes on
// recording.
static void ts__names_close(void)
{
    for (uint32_t i = 0; i < TS__BLOCKS_MAX && ts__log[i].used; i++) {
        if (!ts__log[i].session)
            munmap(ts__log[i].used,
                   (size_t)ts__log[i].size + sizeof *ts__log[i].used);
        ts__log[i].used = NULL;
    }
    for (uint32_t i = 0; i < ts__c.block_count; i++)
        ts__c.blocks[i].past =
            __atomic_load_n(ts__c.blocks[i].used, __ATOMIC_ACQUIRE);
    ts__c.log = NULL;
    memset(ts__c.grow_failed, 0, sizeof ts__c.grow_failed);
    ts__c.names_shared = false;
}

// Undoes a failed start, or cleans up after a stop.
static void ts__session_close(void)
{
    ts__writer *const w = &ts__c.writer;
    ts__file_close(&w->file);
    ts__sidecar_link(false);
    // Threads may still be in the middle of a record and own their rings until
    // they notice: the rings remain mapped, on private memory.
    ts__lock_take(&ts__c.pool);
    for (uint32_t i = 0; i < ts__c.ring_count; i++) {
        ts__ring *const ring = ts__c.rings[i];
        const uintptr_t end = (uintptr_t)ring + ts__ring_bytes(ring->shift);
        // A page may be larger than the part before the slots.
        const uintptr_t from = ts__page_round((uintptr_t)ring->slots);
        if (ts__rest(ring)->state == TS__RING_FREE)
            munmap(ring, end - (uintptr_t)ring);
        else if (from < end)
            // Private memory replaces that of the file.
            mmap((void *)from, end - from, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
                 0);
    }
    ts__c.ring_count = 0;
    TS__STORE(&ts__c.free_count, 0);
    TS__STORE(&ts__c.ring_bytes, 0);
    ts__lock_give(&ts__c.pool);
    ts__lock_take(&ts__c.names);
    ts__names_close();
    ts__lock_give(&ts__c.names);
    // From here on nobody can add a ring or a block of the log.
    if (w->sidecar) {
        // One that cannot be removed must not look like a dead writer's.
        if (unlink(ts__c.sidecar_path) != 0)
            memset(w->sidecar->head.magic, 0, sizeof w->sidecar->head.magic);
        munmap(w->sidecar, sizeof *w->sidecar);
    }
    ts__file_close(&ts__c.sidecar_file);
    w->sidecar = NULL;
    ts__c.active = false;
}

// Writes the first chunks of the trace: the clock and the dictionary so far.
static ts_result ts__session_begin(void)
{
    ts__writer *const w = &ts__c.writer;
    ts__c.clock_step_ns = 100000;
    ts__c.clock_next_ns = 0;
    ts__clock_tend(w);
    ts__lock_take(&ts__c.names);
    // acquire: a thread of the last session may still be adding entries
    for (uint32_t i = 0; i < ts__c.block_count; i++)
        ts__c.blocks[i].reported =
            __atomic_load_n(ts__c.blocks[i].used, __ATOMIC_ACQUIRE);
    if (w->error == TS_OK) w->error = ts__writer_dictionary(w);
    // From here on these count blocks of the log.
    memset(w->sidecar->blocks, 0, sizeof w->sidecar->blocks);
    ts__c.names_shared = true;
    ts__lock_give(&ts__c.names);
    return w->error;
}

/* ---- 12.21 Session: start, stop, flush, backends ------------------------ */
// src/record/session/session.h

static bool ts__thread_start(void)
{
    uint64_t old;
    TS__STORE(&ts__c.stopping, 0);
    if (ts__c.desc.drain == TS_DRAIN_MANUAL) return true;
    // The thread inherits the mask: it takes no signals.
    ts__signals_set(SIG_SETMASK, TS__SIGNALS_ALL, &old);
    const int error = pthread_create(&ts__c.thread, NULL, ts__drain_main, NULL);
    TS__STORE(&ts__c.thread_runs, error == 0);
    ts__signals_set(SIG_SETMASK, old, NULL);
    return error == 0;
}

// Writes into the sidecar which trace it belongs to.
static void ts__sidecar_describe(ts__sidecar_head *head)
{
    ts__path_whole(ts__c.path);
    memcpy(head->trace, ts__c.path, sizeof head->trace);
    head->device = ts__c.writer.file.device;
    head->inode = ts__c.writer.file.inode;
}

#ifndef TS__INJECTED
#define TS__INJECTED 0 // 1: in the library of ts-record, which has that folder
#endif

/*
    Whether ts-record runs this process cannot be read from a variable, so that
    leaves a folder in /dev/shm, by its number and when it began, for links to
    traces: ts-record puts what the program records itself and what it heard
    from outside on one time axis. Only its owner can rename what is in
    /dev/shm, so what was looked at stays what it is.
*/
static bool ts__session_announce_to(unsigned user, const ts_file_header *header)
{
    char text[160];
    uint64_t session[2];
    ts__process_stat stat;
    struct stat st;
    memcpy(session, header->session, sizeof session);
    const int size =
        snprintf(text, sizeof text, "/dev/shm/tracesmith-record-%u", user);
    if (lstat(text, &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != user)
        return false;
    // The nearest of those that this process descends from.
    for (int process = getppid(); process > 0; process = stat.parent) {
        snprintf(text + size, sizeof text - (size_t)size, "/proc/%d/stat",
                 process);
        if (!ts__process_read(text + size, &stat)) break;
        snprintf(text + size, sizeof text - (size_t)size,
                 "/%d.%llu/own-%u-%016llx%016llx.sbt", process, stat.began,
                 (unsigned)header->process, (unsigned long long)session[0],
                 (unsigned long long)session[1]);
        if (symlink(ts__c.path, text) == 0) return true;
    }
    return false;
}

static ts_result ts__session_open(const ts_session_desc *desc)
{
    ts_file_header header;
    ts__writer *const w = &ts__c.writer;
    ts_result result = ts__session_check(desc);
    if (result != TS_OK) return result;
    ts__c.desc = *desc;
    ts__session_defaults(&ts__c.desc);
    if (!ts__session_texts(desc)) return TS_ERR_USAGE;
    if (!ts__session_hooks() || !ts__session_memory()) return TS_ERR_MEMORY;
    w->file.fd = ts__c.sidecar_file.fd = -1;
    ts__session_facts();
    ts__header_make(&header);
    result = ts__sidecar_create(&header);
    if (result == TS_OK) result = ts__writer_create(w, ts__c.path);
    if (result == TS_OK) ts__sidecar_describe(&w->sidecar->head);
    if (result == TS_OK) result = ts__session_begin();
    if (result == TS_OK) {
        ts__sidecar_link(true);
        ts__c.active = true;
        ts__c.start_tick = header.start_tick;
        ts__c.generation++;
        TS__STORE(&ts__c.threads,
                  0); // threads of an earlier session may have counted
        __atomic_store_n(&ts__here.session, ts__c.generation, __ATOMIC_SEQ_CST);
        if (!ts__thread_start()) result = TS_ERR_MEMORY;
    }
    if (result != TS_OK) {
        __atomic_store_n(&ts__here.session, 0, __ATOMIC_SEQ_CST);
        if (w->file.fd >= 0) unlink(ts__c.path);
        ts__session_close();
        return result;
    }
    // The ts-record may be root's, and the process have changed its user since.
    if (!TS__INJECTED && !ts__session_announce_to((unsigned)geteuid(), &header))
        ts__session_announce_to(0, &header);
    ts__signal_take();
    __atomic_store_n(&ts__here.gate, ts__c.generation, __ATOMIC_RELEASE);
    return TS_OK;
}

static ts_result ts__session_start_locked(const ts_session_desc *desc)
{
    if (ts__c.active) return TS_ERR_STATE;
    return ts__c.start_error = ts__session_open(desc);
}

// Backends are called without any lock, because they record. `on`: the backend
// reports; the thread that changes it makes the call.
enum { TS__BACKENDS = 16 };
static struct {
    const ts_backend *of[TS__BACKENDS];
    struct {
        uint32_t on, busy; // busy: a thread is calling it
    } state[TS__BACKENDS];
} ts__backends;
typedef enum ts__to_backends {
    TS__STOP = 0, // values that `on` is to have
    TS__START = 1,
    TS__FLUSH
} ts__to_backends;

static void ts__backend_start(const ts_backend *backend, uint32_t *on)
{
    char key[64], why[192];
    memcpy(why, "on", sizeof "on");
    if (backend->start && backend->start(why, sizeof why) != TS_OK)
        __atomic_store_n(on, 0, __ATOMIC_RELEASE);
    snprintf(key, sizeof key, "backend.%.48s", backend->name);
    ts_metadata_text(0, key, why);
}

// Starts, stops or flushes a backend. Sessions may start and stop on several
// threads, of which one at a time calls the backend; the wait for it is
// bounded, in case that call never returns.
static void ts__backend_do(uint32_t i, const ts_backend *backend, uint32_t what)
{
    uint32_t *const on = &ts__backends.state[i].on;
    for (int wait = 0; wait < 2000; wait++) {
        if (!__atomic_exchange_n(&ts__backends.state[i].busy, 1,
                                 __ATOMIC_ACQUIRE))
            break;
        if (what == TS__FLUSH) return;
        usleep(1000);
    }
    if (what == TS__FLUSH) {
        if (TS__LOAD(on) && backend->flush) backend->flush();
    } else if (__atomic_exchange_n(on, what, __ATOMIC_ACQ_REL) != what) {
        if (what == TS__START)
            ts__backend_start(backend, on);
        else if (backend->stop)
            backend->stop();
    }
    // release: pairs with the acquire above
    __atomic_store_n(&ts__backends.state[i].busy, 0, __ATOMIC_RELEASE);
}

static __attribute__((noinline)) void ts__backends_do(uint32_t what)
{
    for (uint32_t i = 0; i < TS__BACKENDS; i++) {
        // See ts_backend_add.
        const ts_backend *const backend =
            __atomic_load_n(&ts__backends.of[i], __ATOMIC_SEQ_CST);
        if (backend) ts__backend_do(i, backend, what);
    }
}

ts_result ts_backend_add(const ts_backend *backend)
{
    if (!backend || !backend->name) return TS_ERR_USAGE;
    for (uint32_t i = 0; i < TS__BACKENDS; i++) {
        const ts_backend *old = NULL;
        // Either this call sees the starting session or that one sees the
        // backend: it stores its number before it reads this list.
        if (!__atomic_compare_exchange_n(&ts__backends.of[i], &old, backend,
                                         false, __ATOMIC_SEQ_CST,
                                         __ATOMIC_ACQUIRE) &&
            old != backend)
            continue;
        if (!old && __atomic_load_n(&ts__here.session, __ATOMIC_SEQ_CST))
            ts__backend_do(i, backend, TS__START);
        return TS_OK;
    }
    return TS_ERR_MEMORY;
}

ts_result ts_session_start(const ts_session_desc *desc)
{
    ts__caller old;
    if (!ts__api_enter(&old)) return TS_ERR_STATE;
    const ts_result result = ts__session_start_locked(desc);
    ts__api_leave(&old);
    if (result == TS_OK) ts__backends_do(TS__START);
    return result;
}

static void ts__session_drain_last(ts__encoder *e)
{
    ts__mover m = { &ts__c.writer, ts__log, false, true, false };
    for (uint32_t i = 0; i < ts__ring_count(); i++) {
        ts__ring *const ring = ts__c.rings[i];
        const uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
        // A thread may be between reserving and publishing: wait up to 20 ms.
        for (int wait = 0; wait <= 20 && ring->tail < head; wait++) {
            if (wait) usleep(1000);
            m.dead = wait == 20;
            ts__ring_move(&m, ring, e, head);
        }
    }
}

// Writes everything after the last event; used by salvage, too.
static void ts__session_end(ts__writer *w, ts__ring *const *rings,
                            uint32_t ring_count, ts__encoder *e,
                            const ts__block *log)
{
    w->final = true;
    ts__lock_take(&w->lock);
    ts__writer_failed(w, ts__writer_entries(w, log));
    ts__writer_failed(w, ts__writer_open_zones(w, e));
    ts__writer_failed(w, ts__writer_prepare(w, 2));
    ts_result ledger = ts__writer_losses(w, rings, ring_count);
    ts__writer_failed(w, ledger);
    if (ledger != TS_OK) ledger = ts__writer_losses(w, rings, ring_count);
    ts__writer_failed(
        w, ts__writer_note(w, 0, "records", w->sidecar->state.records));
    // An end chunk promises a complete ledger.
    if (ledger == TS_OK) ts__writer_failed(w, ts__writer_finish(w));
    ts__lock_give(&w->lock);
}

static void ts__stats_fill(ts_stats *stats);

// Waits until no thread that entered before the gate closed is inside.
static void ts__wait_outside(void)
{
    for (int i = 0; i < 10000; i++) {
        if (!__atomic_load_n(&ts__c.inside, __ATOMIC_SEQ_CST)) return;
        usleep(100);
    }
}

static ts_result ts__session_stop_locked(void)
{
    ts__writer *const w = &ts__c.writer;
    if (!ts__c.active) {
        const ts_result result = ts__c.start_error;
        ts__c.start_error = TS_OK;
        return result == TS_OK ? TS_ERR_STATE : result;
    }
    ts__signal_give();
    __atomic_store_n(&ts__here.gate, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&ts__here.session, 0, __ATOMIC_SEQ_CST);
    TS__STORE(&ts__c.stopping, 1);
    if (ts__c.thread_runs) {
        ts__futex_bump(&ts__c.wake);
        // At exit the drain thread itself may call this.
        if (!pthread_equal(pthread_self(), ts__c.thread))
            pthread_join(ts__c.thread, NULL);
        TS__STORE(&ts__c.thread_runs, false);
    }
    ts__wait_outside();
    for (uint32_t i = 0; i < ts__ring_count(); i++)
        TS__STORE(&ts__c.rings[i]->limit,
                  0); // zones that end later take the slow path
    ts__c.clock_next_ns = 0;
    ts__clock_tend(w);
    ts__encoder *const e = ts__encoder_take(w->sidecar, true);
    ts__open_zones(e, ts__c.rings, ts__ring_count());
    if (ts__c.desc.policy == TS_POLICY_OVERWRITE)
        ts__writer_failed(w, ts__snapshot_rings(w, e));
    else
        ts__session_drain_last(e);
    ts__session_end(w, ts__c.rings, ts__ring_count(), e, ts__log);
    ts__encoder_give(e);
    ts__stats_fill(&ts__c.last_stats);
    const ts_result result = w->error;
    ts__session_close();
    ts__c.last_stats.recording = false;
    return result;
}

ts_result ts_session_stop(void)
{
    ts__caller old;
    if (!ts__inside) ts__backends_do(TS__STOP);
    if (!ts__api_enter(&old)) return TS_ERR_STATE;
    const ts_result result = ts__session_stop_locked();
    ts__api_leave(&old);
    return result;
}

static ts_result ts__session_gate(bool open)
{
    ts__caller old;
    if (!ts__api_enter(&old)) return TS_ERR_STATE;
    const ts_result result = ts__c.active ? TS_OK : TS_ERR_STATE;
    if (result == TS_OK)
        __atomic_store_n(&ts__here.gate, open ? ts__c.generation : 0,
                         __ATOMIC_RELEASE);
    ts__api_leave(&old);
    return result;
}

ts_result ts_session_pause(void)
{
    return ts__session_gate(false);
}

ts_result ts_session_resume(void)
{
    return ts__session_gate(true);
}

ts_result ts_session_flush(void)
{
    ts__caller old;
    if (!ts__inside) ts__backends_do(TS__FLUSH);
    if (!ts__api_enter(&old)) return TS_ERR_STATE;
    ts_result result = TS_ERR_STATE;
    if (ts__c.active) {
        ts__drain_round(true);
        ts__drain_misc();
        if (__atomic_exchange_n(&ts__c.snapshot_requested, 0, __ATOMIC_ACQUIRE))
            ts__snapshot(ts__c.snapshot_path);
        result = ts__c.writer.error;
    }
    ts__api_leave(&old);
    return result;
}

ts_result ts_session_snapshot(const char *path)
{
    ts__caller old;
    if (!ts__inside) ts__backends_do(TS__FLUSH);
    if (!ts__api_enter(&old)) return TS_ERR_STATE;
    ts_result result = TS_ERR_STATE;
    if (ts__c.active) result = ts__snapshot(path ? path : ts__c.snapshot_path);
    ts__api_leave(&old);
    return result;
}

static void ts__stats_losses(ts_stats *stats, const ts__loss_total *totals,
                             uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t n = TS__LOAD(&totals[i].count);
        const uint32_t cause = TS__LOAD(&totals[i].cause);
        if (cause == TS_LOSS_HELPED) stats->helped += n;
        if (cause == TS_LOSS_BLOCKED) stats->blocked += n;
        if (cause >= TS_LOSS_STALL_FIRST)
            stats->stall_ns += TS__LOAD(&totals[i].stall_ns);
        if (cause < 16) {
            stats->lost += n;
            stats->lost_by[cause] += n;
        }
    }
}

static void ts__stats_fill(ts_stats *stats)
{
    const ts__sidecar *const sidecar = ts__c.writer.sidecar;
    memset(stats, 0, sizeof *stats);
    ts__lock_take(&ts__c.writer.lock);
    stats->records = sidecar->state.records;
    stats->file_bytes = sidecar->state.offset;
    ts__lock_give(&ts__c.writer.lock);
    stats->memory_bytes = TS__LOAD(&ts__c.ring_bytes);
    stats->rings = ts__ring_count();
    stats->threads = TS__LOAD(&ts__c.threads);
    stats->generation = ts__c.generation;
    stats->recording = TS__LOAD(&ts__here.gate) != 0;
    for (uint32_t i = 0; i < stats->rings; i++)
        ts__stats_losses(stats, ts__rest(ts__c.rings[i])->losses,
                         TS__LOSS_SLOTS);
    ts__stats_losses(stats, sidecar->losses, TS__GLOBAL_LOSSES);
}

ts_result ts_session_stats(ts_stats *stats)
{
    ts__caller old;
    if (!stats || !ts__api_enter(&old)) return TS_ERR_USAGE;
    if (ts__c.active)
        ts__stats_fill(stats);
    else
        *stats = ts__c.last_stats;
    ts__api_leave(&old);
    return TS_OK;
}

/* ---- 12.22 Blobs and captures ------------------------------------------- */
// src/record/session/blobs.h

// The dictionary key of a blob: blobs that this session has written are
// dictionary entries. With bytes NULL, `known` has the hash already.
static uint64_t ts__blob_key(uint64_t known[3], const void *bytes, size_t size)
{
    if (bytes || !size) {
        const XXH128_hash_t sum = XXH3_128bits(bytes, size);
        known[0] = sum.low64;
        known[1] = sum.high64;
    }
    known[2] = ts__c.generation;
    return ts__mix(known, 24, TS__ENTRY_BLOB) | 1;
}

static ts_result ts__blob_write(ts__writer *w, uint8_t *chunk, size_t whole)
{
    ts__lock_take(&w->lock);
    ts_result result = ts__writer_prepare(w, 1);
    ts__commit commit = ts__commit_begin(w);
    if (result == TS_OK)
        result = ts__writer_append(w, chunk, whole, NULL, &commit);
    ts__lock_give(&w->lock);
    return result;
}

// A buffer for one chunk, reused because new pages would cost more than the
// rest. A caller who finds it taken or too small gets its own memory; in a
// child made by a fork while it is taken, this is so for ever.
enum { TS__BLOB_ROOM = TS_CAPTURE_CHUNK + 4096 };
static struct {
    uint8_t *pages;
    bool taken;
} ts__blob_room;

static uint8_t *ts__blob_room_take(size_t size)
{
    // acquire: pairs with the release in ts__blob_room_give
    if (size > TS__BLOB_ROOM ||
        __atomic_exchange_n(&ts__blob_room.taken, true, __ATOMIC_ACQUIRE))
        return (uint8_t *)ts__pages_new(size);
    uint8_t *pages = __atomic_load_n(&ts__blob_room.pages, __ATOMIC_RELAXED);
    if (!pages) pages = (uint8_t *)ts__pages_new(TS__BLOB_ROOM);
    __atomic_store_n(&ts__blob_room.pages, pages, __ATOMIC_RELAXED);
    if (!pages) __atomic_store_n(&ts__blob_room.taken, false, __ATOMIC_RELEASE);
    return pages;
}

static void ts__blob_room_give(uint8_t *room, size_t size)
{
    if (!room) return;
    if (room != __atomic_load_n(&ts__blob_room.pages, __ATOMIC_RELAXED))
        munmap(room, size);
    else
        __atomic_store_n(&ts__blob_room.taken, false, __ATOMIC_RELEASE);
}

// Makes a chunk of bytes, preceded by their hash. Another thread may write to
// them at the same time, so the copy is hashed.
static uint8_t *ts__blob_chunk(uint32_t kind, const void *bytes, size_t size,
                               size_t *whole, uint64_t known[3], uint64_t *mix)
{
    *whole = (sizeof(ts_chunk_header) + 16 + size + 7) & ~(size_t)7;
    uint8_t *const chunk = ts__blob_room_take(*whole);
    if (!chunk) return NULL;
    uint8_t *p = ts__entries_begin(chunk, kind);
    if (size) memcpy(p + 16, bytes, size);
    *mix = ts__blob_key(known, p + 16, size);
    memcpy(p, known, 16);
    ts__entries_end(chunk, p + 16 + size, 1);
    return chunk;
}

static ts_result ts__blob_keep(ts__writer *w, uint32_t kind, const void *bytes,
                               size_t size, uint64_t hash[2])
{
    uint64_t known[3], mix = 0;
    size_t whole;
    if ((!bytes && size) || size > UINT32_MAX - 31u) return TS_ERR_USAGE;
    ts__caller old;
    if (!ts__api_enter(&old)) return TS_ERR_STATE;
    uint8_t *const chunk =
        ts__blob_chunk(kind, bytes, size, &whole, known, &mix);
    ts_result result = !chunk         ? TS_ERR_MEMORY
                       : ts__c.active ? TS_OK
                                      : TS_ERR_STATE;
    const bool blob = kind == TS_CHUNK_BLOB;
    if (chunk && hash) memcpy(hash, known, 16);
    if (result == TS_OK &&
        (!blob || !ts__entry_find(TS__ENTRY_BLOB, known, sizeof known, mix))) {
        result = ts__blob_write(w, chunk, whole);
        ts__lock_take(&ts__c.names);
        if (result == TS_OK && blob)
            ts__entry_add(TS__ENTRY_BLOB, 1, known, sizeof known, mix);
        ts__lock_give(&ts__c.names);
    }
    ts__blob_room_give(chunk, whole);
    ts__api_leave(&old);
    return result;
}

ts_result ts_blob_put(const void *bytes, size_t size, uint64_t hash[2])
{
    return ts__blob_keep(&ts__c.writer, TS_CHUNK_BLOB, bytes, size, hash);
}

ts_result ts_blob_find(const void *bytes, size_t size, uint64_t hash[2])
{
    uint64_t known[3] = { 0 };
    if (hash) memcpy(known, hash, 16);
    const uint64_t mix = ts__blob_key(known, bytes, size);
    if (hash) memcpy(hash, known, 16);
    return ts__entry_find(TS__ENTRY_BLOB, known, sizeof known, mix)
               ? TS_OK
               : TS_ERR_NOT_FOUND;
}

ts_result ts_capture_put(const void *record, size_t size)
{
    return ts__blob_keep(&ts__c.writer, TS_CHUNK_CAPTURE, record, size, NULL);
}

/* ---- 12.23 Clocks of devices -------------------------------------------- */
// src/record/session/device_clocks.h

// The time on CLOCK_MONOTONIC_RAW of a tick of clock 0, by two samples taken
// around now.
static uint64_t ts__tick_raw_ns(uint64_t tick)
{
    const ts_clock_entry now = ts__clock_read();
    const ts_clock_entry *const first = &ts__c.writer.sidecar->clock[0];
    const double rate = now.tick != first->tick
                            ? (double)(now.raw_ns - first->raw_ns) /
                                  (double)(now.tick - first->tick)
                            : 1;
    return now.raw_ns +
           (uint64_t)(int64_t)((double)(int64_t)(tick - now.tick) * rate);
}

// The first and the latest sample of a device's clock, for dumps. Writer's lock
// held.
enum { TS__CLOCK_KEPT = 64 };
typedef struct ts__clock_kept {
    uint32_t name, named; // named: last session with its name
    uint32_t generation, count, backwards;
    ts_clock_entry samples[TS__CLOCK_KEPT];
} ts__clock_kept;
static ts__clock_kept ts__clocks_kept[TS__CLOCKS_MAX];

static void ts__clock_fact(uint32_t clock, const char *what, uint32_t type,
                           uint64_t value)
{
    char key[32];
    snprintf(key, sizeof key, "clock.%u.%s", clock, what);
    ts__metadata_put(0, key, type, value);
}

// Describes a clock to the session: the clock lives as long as the process, the
// session's metadata do not.
static void ts__clock_describe(uint32_t clock)
{
    ts__clock_kept *const kept = &ts__clocks_kept[clock];
    const uint32_t session = TS__LOAD(&ts__here.session);
    // Without a session, the next one gets it.
    const uint32_t now = session ? session : ts__c.generation + 1;
    if (!kept->name ||
        __atomic_exchange_n(&kept->named, now, __ATOMIC_RELAXED) == now)
        return;
    ts__clock_fact(clock, "name", TS_VALUE_TEXT, kept->name);
}

uint32_t ts_clock_define(const char *name)
{
    const uint32_t clock =
        __atomic_add_fetch(&ts__c.clock_count, 1, __ATOMIC_RELAXED);
    if (clock >= TS__CLOCKS_MAX) return 0;
    ts__clocks_kept[clock].name = ts_name_define(name);
    ts__clock_describe(clock);
    return clock;
}

static ts_result ts__clocks_kept_copy(ts__writer *w)
{
    ts_result result = TS_OK;
    ts__lock_take(&ts__c.writer.lock);
    for (uint32_t clock = 1; clock < TS__CLOCKS_MAX; clock++) {
        const ts__clock_kept *const kept = &ts__clocks_kept[clock];
        if (kept->generation != ts__c.generation) continue;
        for (uint32_t i = 0; i < kept->count && result == TS_OK; i++)
            result = ts__writer_clock(w, clock, &kept->samples[i]);
    }
    ts__lock_give(&ts__c.writer.lock);
    return result;
}

static void ts__clock_keep(ts__clock_kept *kept, const ts_clock_entry *sample)
{
    if (kept->count == TS__CLOCK_KEPT) {
        kept->count--;
        memmove(&kept->samples[1], &kept->samples[2],
                (TS__CLOCK_KEPT - 2) * sizeof *sample);
    }
    kept->samples[kept->count++] = *sample;
    TS__STORE(&ts__clocks_copy, &ts__clocks_kept_copy);
}

// Whether a sample follows the last one: readers take a step back for damage.
static bool ts__clock_follows(ts__clock_kept *kept, ts_clock_entry *next)
{
    if (kept->generation != ts__c.generation) {
        kept->generation = ts__c.generation;
        kept->count = kept->backwards = 0;
    }
    if (!kept->count) return true;
    const ts_clock_entry *const last = &kept->samples[kept->count - 1];
    // Allow some nanoseconds for the error of ts__tick_raw_ns.
    const int64_t back = (int64_t)(last->raw_ns - next->raw_ns);
    if (back > 0 && back < 1000) next->raw_ns = last->raw_ns;
    if ((int64_t)(next->tick - last->tick) > 0 &&
        (int64_t)(next->raw_ns - last->raw_ns) >= 0)
        return true;
    kept->backwards++;
    return false;
}

void ts_clock_sample(uint32_t clock, uint64_t tick, uint64_t host_tick,
                     uint64_t uncertainty_ns)
{
    ts__writer *const w = &ts__c.writer;
    ts_clock_entry sample;
    memset(&sample, 0, sizeof sample);
    if (!clock || clock >= TS__CLOCKS_MAX) return;
    ts__clock_kept *const kept = &ts__clocks_kept[clock];
    uint32_t before = 0, backwards = 0;
    ts__caller old;
    ts__clock_describe(clock);
    if (!ts__api_enter(&old)) return;
    if (ts__c.active) {
        sample.type = TS_CLOCK_OTHER;
        sample.tick = tick;
        sample.raw_ns = host_tick ? ts__tick_raw_ns(host_tick) : tick;
        sample.uncertainty_ns = uncertainty_ns;
        ts__lock_take(&w->lock);
        if (kept->generation == ts__c.generation) before = kept->backwards;
        if (ts__clock_follows(kept, &sample)) {
            ts__clock_keep(kept, &sample);
            ts__writer_failed(w, ts__writer_clock(w, clock, &sample));
        }
        backwards = kept->backwards;
        ts__lock_give(&w->lock);
    }
    ts__api_leave(&old);
    if (backwards != before)
        ts__clock_fact(clock, "backwards", TS_VALUE_INT, backwards);
}

/* ---- 12.24 Fork --------------------------------------------------------- */
// src/record/session/fork.h

// Takes all locks, so that none is held by a thread which the child does not
// have. Several threads may be forking at once.
static void ts__fork_prepare(void)
{
    if (!ts__api_enter(&ts__fork.caller)) return;
    ts__fork.follow = ts__c.active && ts__c.desc.fork == TS_FORK_FOLLOW;
    ts__fork.process = getpid();
    ts__lock_take(&ts__c.names);
    ts__lock_take(&ts__c.pool);
    ts__inside = 1; // the program's own handlers may call
}

static void ts__fork_parent(void)
{
    if (!ts__fork.process) return;
    ts__fork.process = 0;
    ts__inside = 0;
    ts__lock_give(&ts__c.pool);
    ts__lock_give(&ts__c.names);
    ts__api_leave(&ts__fork.caller);
}

/*
    Of the parent's rings the child keeps that of its own thread, as private
    memory: a signal handler that interrupted a record may have forked, and the
    record continues in both processes. The child has no threads that use the
    other rings.
*/
static void ts__fork_rings(void)
{
    ts__ring *next = ts__mine != &ts__none ? ts__mine : NULL, *own = NULL;
    for (ts__ring *ring = next; ring; ring = next) {
        ts__ring_rest *const rest = ts__rest(ring);
        next = rest->older;
        if (!next) {
            next = ts__before;
            ts__before = NULL;
        }
        if (!ts__own_memory(ring, ts__ring_offset(),
                            ts__ring_bytes(ring->shift)))
            continue; // the parent's, like the others
        rest->index = TS__RINGS_MAX;
        rest->older = own;
        own = ring;
    }
    if (own) ts__before = own;
    for (uint32_t i = 0; i < ts__c.ring_count; i++)
        if (ts__rest(ts__c.rings[i])->index == i)
            munmap(ts__c.rings[i], ts__ring_bytes(ts__c.rings[i]->shift));
}

// The child shares the parent's rings, trace and sidecar: it releases all of
// them, keeps the dictionary and, with TS_FORK_FOLLOW, starts its own session.
static void ts__fork_child(void)
{
    if (!ts__fork.process) return;
    ts__fork.process = 0;
    ts__here.gate = ts__here.session = 0;
    ts__here.tick = ts__c.tick_type;
    ts__fork_rings();
    ts__mine = &ts__none;
    ts__track = 0;
    ts__inside = 0;
    pthread_setspecific(ts__c.key, NULL);
    if (ts__c.active) {
        // A mapping would keep the sidecar locked after the parent's death.
        ts__file_close(&ts__c.writer.file);
        ts__file_close(&ts__c.sidecar_file);
        if (ts__shelves_own) ts__shelves_own();
        ts__names_close();
        munmap(ts__c.writer.sidecar, sizeof *ts__c.writer.sidecar);
        ts__signal_give();
    }
    memset((void *)&ts__c, 0, offsetof(ts__core, blocks));
    ts__c.writer.lock.word = 0;
    ts__c.writer.file.fd = ts__c.sidecar_file.fd = -1;
    ts__c.writer.sidecar = NULL;
    memset(ts__backends.state, 0, sizeof ts__backends.state);
    if (ts__fork.follow) ts__session_start_locked(&ts__c.desc);
    ts__caller_restore(&ts__fork.caller);
}

TS__SMALL_END

#endif // !TRACESMITH_DISABLE
#endif // TRACESMITH_IMPLEMENTATION

/* ---- 12.25 What a dead process left ------------------------------------- */
// src/record/salvage/leftover.h

#if ((defined(TRACESMITH_IMPLEMENTATION) && defined(TRACESMITH_SALVAGE) && \
      !defined(TRACESMITH_DISABLE)) || \
     defined(TRACESMITH_REPLAY_IMPLEMENTATION)) && \
    !defined(TRACESMITH_NO_FILES) && !defined(TS__LEFTOVER_IMPLEMENTED)
#define TS__LEFTOVER_IMPLEMENTED

typedef struct ts__leftover { // the sidecar of a trace
    int fd;                   // -1: none that may be used
    char path[TS__PATH_MAX];
    char link[TS__PATH_MAX]; // the link beside the trace
} ts__leftover;

static bool ts__sidecar_head_read(int fd, ts__sidecar_head *head)
{
    const bool whole =
        pread(fd, head, sizeof *head, 0) == (ssize_t)sizeof *head &&
        !memcmp(head->magic, TS__SIDECAR_MAGIC, sizeof head->magic);
    head->trace[sizeof head->trace - 1] = 0;
    return whole;
}

// Whether the trace that a sidecar names still exists.
static bool ts__sidecar_awaited(const ts__sidecar_head *head)
{
    ts_file_header header;
    const int fd = open(head->trace, O_RDONLY | TS__OPEN_STRANGE);
    if (fd < 0) return errno != ENOENT && errno != ENOTDIR;
    const bool same =
        pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
        !memcmp(header.session, head->header.session, sizeof header.session);
    close(fd);
    return same;
}

// Whether a sidecar in a folder shared by many traces belongs to this trace,
// and not to another one with the same identity, such as a copy.
static bool ts__sidecar_fits(int fd, const struct stat *trace)
{
    ts__sidecar_head head;
    if (!ts__sidecar_head_read(fd, &head)) return true; // ts_salvage says why
    return (head.device == (uint64_t)trace->st_dev &&
            head.inode == (uint64_t)trace->st_ino) ||
           !ts__sidecar_awaited(&head);
}

static ts_result ts__leftover_open(ts__leftover *l, const struct stat *trace,
                                   bool shared, int flags)
{
    const int fd = open(l->path, flags | TS__OPEN_STRANGE);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? TS_ERR_NOT_FOUND
                                                   : TS_ERR_UNTRUSTED;
    if (ts__sidecar_own(fd, trace->st_uid) &&
        (!shared || ts__sidecar_fits(fd, trace))) {
        l->fd = fd;
        return TS_OK;
    }
    close(fd);
    return TS_ERR_UNTRUSTED;
}

// Follows the link beside the trace, which must lead to a file with the
// sidecar's name.
static ts_result ts__leftover_link(ts__leftover *l, const uint8_t session[16])
{
    char dir[TS__PATH_MAX], named[TS__PATH_MAX];
    const ssize_t n = readlink(l->link, l->path, sizeof l->path - 1);
    if (n < 0) return errno == EINVAL ? TS_ERR_UNTRUSTED : TS_ERR_NOT_FOUND;
    l->path[n] = 0;
    ts__directory_of(dir, l->path);
    return *l->path == '/' && ts__sidecar_name(named, dir, session) &&
                   !strcmp(named, l->path)
               ? TS_OK
               : TS_ERR_UNTRUSTED;
}

/*
    Opens the sidecar of a trace: in shared memory, beside it, or where the
    link beside it leads. TS_ERR_UNTRUSTED: the file there was not made
    by this user's recorder for this trace.
*/
static ts_result ts__leftover_find(ts__leftover *l, const char *path, int trace,
                                   const uint8_t session[16], int flags)
{
    struct stat st;
    char dir[TS__PATH_MAX];
    ts_result found = TS_ERR_NOT_FOUND;
    l->fd = -1;
    if (strlen(path) >= TS__PATH_MAX - 8) return TS_ERR_NOT_FOUND;
    if (fstat(trace, &st) != 0) return TS_ERR_IO;
    snprintf(l->link, sizeof l->link, "%s.ring", path);
    ts__directory_of(dir, path);
    for (int place = 0; place < 3; place++) {
        ts_result result =
            place == 2 ? ts__leftover_link(l, session)
            : ts__sidecar_name(l->path, place ? dir : "/dev/shm", session)
                ? TS_OK
                : TS_ERR_NOT_FOUND;
        if (result == TS_OK)
            result = ts__leftover_open(l, &st, place != 1, flags);
        if (result == TS_OK) return TS_OK;
        if (result != TS_ERR_NOT_FOUND) found = result;
    }
    return found;
}
#endif // TS__LEFTOVER_IMPLEMENTED

/* ---- 12.26 Salvage ------------------------------------------------------ */
// src/record/salvage/salvage.h

#if defined(TRACESMITH_IMPLEMENTATION) && !defined(TRACESMITH_DISABLE) && \
    (defined(TRACESMITH_SALVAGE) || \
     defined(TRACESMITH_REPLAY_IMPLEMENTATION)) && \
    !defined(TS__SALVAGE_IMPLEMENTED)
#define TS__SALVAGE_IMPLEMENTED
TS__SMALL_BEGIN

typedef struct ts__rescue { // one trace being salvaged
    ts__writer writer;
    ts__encoder *encoder;
    ts__leftover found;
    uint8_t *map;
    uint64_t size;
    ts__block log[TS__BLOCKS_MAX];
    ts__ring *rings[TS__RINGS_MAX];
} ts__rescue;

// Whether the trace has its end chunk, so that there is nothing to do.
static bool ts__trace_finished(int fd, uint64_t size)
{
    ts_chunk_header end;
    if (size < 128 || !ts__file_read(fd, size - sizeof end, &end, sizeof end))
        return false;
    return end.magic == TS_CHUNK_MAGIC && end.kind == TS_CHUNK_END &&
           end.stored_size == 0 &&
           end.checksum ==
               ts__checksum(
                   "", 0,
                   ts__checksum(&end, offsetof(ts_chunk_header, checksum), 0));
}

// The sidecar is untrusted input: every number in it that is used as a position
// or a count is checked once, here.
static bool ts__rescue_state_fits(const ts__writer_state *state)
{
    return state->index_count <= TS__INDEX_ENTRIES &&
           state->offset >= sizeof(ts_file_header);
}

// Finds the log's blocks and cuts each where its entries become invalid.
static bool ts__rescue_log(ts__rescue *r)
{
    const ts__sidecar *const s = r->writer.sidecar;
    uint64_t before = sizeof *s; // blocks do not overlap
    for (uint32_t i = 0; i < s->block_count; i++) {
        ts__block *const block = &r->log[i];
        const uint64_t offset = s->blocks[i].offset;
        uint64_t used;
        if (offset < before + sizeof used || offset > r->size || offset % 8)
            return false;
        block->bytes = r->map + offset;
        block->used = &block->kept;
        memcpy(&used, block->bytes - sizeof used, sizeof used);
        if (used > r->size - offset || s->blocks[i].written > used ||
            s->blocks[i].written % 8)
            return false;
        before = offset + used;
        while (used - block->kept >= sizeof(ts__entry)) {
            ts__entry e;
            memcpy(&e, block->bytes + block->kept, sizeof e);
            const uint64_t size = ts__entry_room(e.size);
            if (e.size > TS__NAME_MAX || size > used - block->kept) break;
            block->kept += size;
        }
    }
    return true;
}

static bool ts__rescue_ring_fits(const ts__rescue *r, uint32_t i)
{
    const ts__sidecar *const s = r->writer.sidecar;
    const uint64_t offset = s->rings[i].offset, size = s->rings[i].size;
    const uint64_t before =
        i ? s->rings[i - 1].offset + s->rings[i - 1].size : sizeof *s;
    if (offset < before || offset > r->size || offset % 4096 ||
        size > r->size - offset || size < ts__ring_offset())
        return false;
    const ts__ring *const ring = (const ts__ring *)(void *)(r->map + offset);
    return ring->shift >= 4 && ring->shift <= 32 &&
           ring->mask == (UINT64_C(1) << ring->shift) - 1 &&
           ring->lap == UINT64_C(1) << (57 - ring->shift) &&
           size >= ts__ring_offset() + ((uint64_t)16 << ring->shift);
}

// A private copy of a sidecar that another user owns (for root): its owner
// could write to it or truncate it meanwhile. Progress is not stored in the
// original; a failed salvage begins again.
static void *ts__rescue_copy(int fd, uint64_t size)
{
    uint64_t done = 0;
    ssize_t n = 1;
    uint8_t *const copy = size <= UINT64_C(4) << 30
                              ? (uint8_t *)ts__pages_new((size_t)size)
                              : NULL;
    while (copy && n > 0 && done < size) {
        n = pread(fd, copy + done, (size_t)(size - done), (off_t)done);
        if (n > 0) done += (uint64_t)n;
    }
    return copy ? copy : MAP_FAILED;
}

static ts_result ts__rescue_map(ts__rescue *r, const ts_file_header *header)
{
    struct stat st;
    if (fstat(r->found.fd, &st) != 0) return TS_ERR_IO;
    r->size = (uint64_t)st.st_size;
    if (r->size < sizeof(ts__sidecar)) return TS_ERR_VERSION;
    void *const map = st.st_uid == geteuid()
                          ? mmap(NULL, (size_t)r->size, PROT_READ | PROT_WRITE,
                                 MAP_SHARED, r->found.fd, 0)
                          : ts__rescue_copy(r->found.fd, r->size);
    if (map == MAP_FAILED) return TS_ERR_MEMORY;
    r->map = (uint8_t *)map;
    ts__sidecar *const s = (ts__sidecar *)map;
    r->writer.sidecar = s;
    if (memcmp(s->head.magic, TS__SIDECAR_MAGIC, sizeof s->head.magic) != 0 ||
        s->head.layout != sizeof *s)
        return TS_ERR_VERSION;
    if (memcmp(s->head.header.session, header->session, 16) != 0)
        return TS_ERR_NOT_FOUND;
    if (s->block_count > TS__BLOCKS_MAX || s->ring_count > TS__RINGS_MAX ||
        s->step > 2 || !ts__rescue_log(r) ||
        !ts__rescue_state_fits(s->step == 1 ? &s->before : &s->state))
        return TS_ERR_CORRUPT;
    for (uint32_t i = 0; i < s->ring_count; i++) {
        if (!ts__rescue_ring_fits(r, i)) return TS_ERR_CORRUPT;
        r->rings[i] = (ts__ring *)(void *)(r->map + s->rings[i].offset);
        // A ring holds at most one lap below its head.
        if (r->rings[i]->head < r->rings[i]->mask + 1) return TS_ERR_CORRUPT;
    }
    return TS_OK;
}

// Undoes or completes the append that the process died in.
static ts_result ts__rescue_journal(ts__rescue *r, uint64_t trace_size)
{
    ts__sidecar *const s = r->writer.sidecar;
    if (s->step == 1) s->state = s->before;
    if (s->step == 2 && s->ring < s->ring_count) {
        r->rings[s->ring]->tail = s->tail;
        ts__rest(r->rings[s->ring])->kept = s->kept;
        ts__rest(r->rings[s->ring])->track = s->track;
    }
    s->step = 0;
    if (s->state.offset > trace_size) return TS_ERR_TRUNCATED;
    return ftruncate(r->writer.file.fd, (off_t)s->state.offset) == 0
               ? TS_OK
               : TS_ERR_IO;
}

// Adds a sample of the clocks, which gives a short trace its rate, if the
// machine has not been restarted since.
static void ts__rescue_clock(ts__rescue *r)
{
    const ts__sidecar *const s = r->writer.sidecar;
    const ts_clock_entry now = ts__clock_read();
    const uint64_t ns = now.raw_ns - s->clock[0].raw_ns;
    const uint64_t boot_ns = now.boottime_ns - s->clock[0].boottime_ns;
    const bool same_boot = s->clock[0].raw_ns && now.tick > s->clock[0].tick &&
                           ns <= boot_ns + 1000000000u && (int64_t)ns > 0;
    if (same_boot && s->head.tick_type == ts__c.tick_type)
        ts__writer_failed(&r->writer, ts__writer_clock(&r->writer, 0, &now));
}

static void ts__rescue_rings(ts__rescue *r)
{
    const ts__mover m = { &r->writer, r->log, true, false, true };
    ts__sidecar *const s = r->writer.sidecar;
    for (uint32_t i = 0; i < s->ring_count; i++) {
        ts__ring *const ring = r->rings[i];
        const uint64_t slots = ring->mask + 1;
        ts__ring view = *ring;
        view.slots = (ts__slot *)(void *)((uint8_t *)ring + ts__ring_offset());
        if (ring->head - ring->tail > slots) { // a flight recorder
            ring->tail = ring->head - slots;
            ts__rest(ring)->track = ts__snapshot_track(ring, ring->tail);
        }
        while (ring->tail < view.head &&
               ts__move_batch(&m, ring, &view, r->encoder, view.head))
            ;
        if (!s->head.overwrites || ts__rest(ring)->forgotten_reported) continue;
        ts__rest(ring)->forgotten_reported = 1;
        ts__loss_note(s, ts__rest(ring)->owner, TS_LOSS_OVERWRITTEN, 0,
                      ts__overwritten(ring, ts__rest(ring)->kept),
                      s->head.header.start_tick, r->encoder->now);
    }
}

static void ts__rescue_remove(const ts__rescue *r)
{
    char target[TS__PATH_MAX];
    const char *name;
    ts__unlink_open(r->found.path, r->found.fd);
    const int folder = ts__folder_open(r->found.link, &name);
    const ssize_t n =
        folder < 0 ? 0 : readlinkat(folder, name, target, sizeof target - 1);
    target[n > 0 ? n : 0] = 0;
    if (n > 0 && !strcmp(target, r->found.path)) unlinkat(folder, name, 0);
    if (folder >= 0) close(folder);
}

static ts_result ts__rescue_run(ts__rescue *r, const char *trace,
                                uint64_t *records)
{
    struct stat st;
    ts_file_header header;
    ts__writer *const w = &r->writer;
    w->path = trace;
    if (ts__file_open(&w->file, trace, O_RDWR, 0) < 0) return TS_ERR_IO;
    if (fstat(w->file.fd, &st) != 0) return TS_ERR_IO;
    if (!S_ISREG(st.st_mode)) return TS_ERR_NOT_FILE;
    // Lock it, so that nobody begins to write it again meanwhile.
    if (!ts__file_lock(w->file.fd) && (errno == EAGAIN || errno == EACCES))
        return TS_ERR_BUSY;
    if (fstat(w->file.fd, &st) != 0) return TS_ERR_IO;
    if (!ts__file_read(w->file.fd, 0, &header, sizeof header) ||
        memcmp(header.magic, TS_FILE_MAGIC, sizeof header.magic) != 0)
        return TS_ERR_NOT_SBT;
    const ts_result found =
        ts__leftover_find(&r->found, trace, w->file.fd, header.session, O_RDWR);
    if (ts__trace_finished(w->file.fd, (uint64_t)st.st_size)) {
        // The process may have died between the last chunk and the clean-up.
        if (found == TS_OK && ts__file_lock(r->found.fd)) ts__rescue_remove(r);
        return TS_OK;
    }
    if (found != TS_OK) return found;
    if (!ts__file_lock(r->found.fd)) return TS_ERR_BUSY;
    ts_result result = ts__rescue_map(r, &header);
    if (result == TS_OK && fstat(w->file.fd, &st) != 0) result = TS_ERR_IO;
    if (result == TS_OK) result = ts__rescue_journal(r, (uint64_t)st.st_size);
    if (result != TS_OK) return result;
    ts__sidecar *const s = w->sidecar;
    if (s->state.finished) { // by another salvage or a late stop
        ts__rescue_remove(r);
        return TS_OK;
    }
    r->encoder->base = s->head.header.start_tick;
    r->encoder->now = s->clock[s->clock[1].tick != 0].tick;
    w->final = true;
    ts__rescue_clock(r);
    if (!s->state.salvage_from) s->state.salvage_from = s->state.records + 1;
    ts__open_zones(r->encoder, r->rings, s->ring_count);
    if (w->error == TS_OK) ts__rescue_rings(r);
    if (w->error != TS_OK)
        return w->error; // everything is kept for another attempt
    const uint64_t saved = s->state.records - (s->state.salvage_from - 1);
    ts__writer_failed(w, ts__writer_note(w, 1, "salvaged.records", saved));
    ts__session_end(w, r->rings, s->ring_count, r->encoder, r->log);
    if (records) *records = saved;
    if (w->error == TS_OK) ts__rescue_remove(r);
    return w->error;
}

ts_result ts_salvage(const char *trace, uint64_t *records)
{
    if (records) *records = 0;
    if (!trace) return TS_ERR_USAGE;
    ts__caller old;
    if (!ts__api_enter(&old)) return TS_ERR_STATE;
    ts__platform_init();
    ts__rescue *const r = (ts__rescue *)ts__pages_new(sizeof *r);
    ts_result result = TS_ERR_MEMORY;
    if (r) {
        r->found.fd = r->writer.file.fd = -1;
        r->writer.scratch = (uint8_t *)ts__pages_new(TS__SCRATCH_BYTES);
        r->encoder = (ts__encoder *)ts__pages_new(sizeof *r->encoder);
        if (r->writer.scratch && r->encoder)
            result = ts__rescue_run(r, trace, records);
        if (r->map) munmap(r->map, (size_t)r->size);
        if (r->found.fd >= 0) close(r->found.fd);
        ts__file_close(&r->writer.file);
        if (r->writer.scratch) munmap(r->writer.scratch, TS__SCRATCH_BYTES);
        if (r->encoder) munmap(r->encoder, sizeof *r->encoder);
        munmap(r, sizeof *r);
    }
    ts__api_leave(&old);
    return result;
}

TS__SMALL_END

#endif // salvage

/* ---- 12.27 Writer: state ------------------------------------------------ */
// src/record/writer/state.h

#if defined(TRACESMITH_IMPLEMENTATION) && !defined(TRACESMITH_DISABLE) && \
    defined(TRACESMITH_WRITER) && !defined(TS__WRITER_IMPLEMENTED)
#define TS__WRITER_IMPLEMENTED

/*
    Events wait as rows of u64 cells, one list for each kind on each track,
    until there are enough for a chunk or the memory for all rows is used up.
    Then they go through the recorder's encoder and writer, whose state lies in
    private memory instead of a sidecar, as for a dump.
*/
#define TS__PUT_MEMORY  (64u << 20)         // for all rows
#define TS__PUT_EPOCH   (UINT64_C(1) << 62) // the tick of trace time 0
#define TS__PUT_FAR     (INT64_C(1) << 61)
#define TS__PUT_ENTRIES (256u << 10) // bytes of one dictionary held back
enum { TS__PUT_FEW = 64 };   // fewer rows are not worth a chunk of their own
enum { TS__PUT_MANY = 512 }; // rows that become a chunk without waiting

typedef struct ts__put_rows {
    uint64_t *cells; // `capacity` rows; a text's cell: offset << 32 | size
    uint8_t *text;
    uint32_t track, kind;
    uint32_t count, capacity;
    uint32_t text_used, text_capacity;
    uint64_t bad; // events left out
} ts__put_rows;

// Entries of one kind for the next chunk, which is built in this buffer.
typedef struct ts__put_list {
    uint8_t *bytes;
    size_t size, capacity;
    uint32_t count;
} ts__put_list;

typedef struct ts__put_known { // an entry by the hash of kind and contents
    uint64_t low, high;
    uint32_t id; // 0: free
} ts__put_known;

typedef struct ts__put_crew ts__put_crew;

struct ts_writer {
    ts__writer file;
    ts__encoder *encoder; // of the next chunk
    ts__put_crew *crew;   // NULL: no other thread encodes
    pid_t process;        // the only one that may write
    char path[TS__PATH_MAX], part_path[TS__PATH_MAX + 8];
    // Dictionaries.
    ts__put_known *known;
    uint32_t known_mask, known_count;
    uint32_t last_id[TS_CHUNK_BLOB + 1];
    ts__put_list lists[TS_CHUNK_SYMBOLS + 1]; // by kind of chunk
    uint64_t end; // extended: where the end chunk was; 0: not extended
    ts_chunk_header end_chunk;
    // Rows.
    uint8_t width[TS_EVENT_LIMIT]; // cells of a row, 0: no such kind
    uint8_t cell[TS_EVENT_LIMIT][TS_COLUMN_LIMIT]; // 255: none
    ts__put_rows *rows;
    uint32_t rows_count, rows_capacity, rows_last;
    uint32_t *table; // of positions in rows, + 1
    uint32_t table_mask;
    uint64_t memory;    // that rows take
    uint64_t start_raw; // CLOCK_MONOTONIC_RAW at trace time 0
    // One chunk's rows on their way to the encoder.
    const uint64_t *line[TS__BATCH_ROWS];
    const ts__put_rows *owner[TS__BATCH_ROWS];
    uint64_t key[TS__BATCH_ROWS];
    uint16_t order[2][TS__BATCH_ROWS];
};

// Keeps the first error. One of a chunk that waits is an earlier one than that
// of the call.
static void ts__put_failed(ts_writer *w, ts_result result);

// Whether this is a child made by fork, which has neither the workers nor a
// right to the file.
static bool ts__put_inherited(const ts_writer *w)
{
    return w->process != getpid();
}

// Ends the workers and frees their memory: from now on the caller does it all.
static void ts__put_alone(ts_writer *w);

// Like realloc, but takes the workers' memory where there is no other.
static void *ts__put_memory(ts_writer *w, void *old, size_t size)
{
    void *more = realloc(old, size);
    if (more || !w->crew) return more;
    ts__put_alone(w);
    return realloc(old, size);
}

// Grows an array to hold count elements and some more; false without memory.
static bool ts__put_room(ts_writer *w, void **array, uint32_t *capacity,
                         uint32_t count, size_t size)
{
    uint32_t next = *capacity ? *capacity : 4;
    if (count <= *capacity) return true;
    while (next < count)
        next *= 2;
    void *const more = ts__put_memory(w, *array, next * size);
    if (!more) return false;
    *array = more;
    *capacity = next;
    return true;
}

/* ---- 12.28 Writer: chunks encoded by several threads -------------------- */
// src/record/writer/workers.h

/*
    With more than one thread, workers encode and compress chunks while the
    caller goes on. What is to be appended waits in a ring of jobs, in the order
    of the calls. Only the caller appends, so that the file, its errors and
    errno are those of a single thread. A caller that finds the ring full
    encodes a chunk itself instead of waiting.

        first          taken            end
        | done | taken | new  | new  |  free ...
*/
enum { TS__PUT_THREADS = 32, TS__PUT_JOBS = 2 * TS__PUT_THREADS };
enum { TS__PUT_COPY = 1 << 20 }; // more bytes are appended without a job

typedef struct ts__put_job {
    ts__encoder *encoder; // rows of a chunk; NULL: finished chunks in `bytes`
    uint8_t *bytes;
    size_t size;
    uint32_t kind, count;
    bool done;
} ts__put_job;

struct ts__put_crew {
    // Guards taken, end, fresh, idle, stop, and `done` of jobs.
    pthread_mutex_t mutex;
    pthread_cond_t news; // a job is new, or stop is set
    pthread_cond_t done;
    ts__put_job jobs[TS__PUT_JOBS];
    uint64_t first, taken, end; // numbers of jobs
    uint32_t fresh;             // jobs with an encoder that nobody has taken
    uint32_t room;              // jobs that may wait
    uint32_t most, made, idle;  // workers
    bool stop;
    pthread_t threads[TS__PUT_THREADS];
    ts__encoder *spare[TS__PUT_JOBS + 1];
    uint32_t spares;
};

static ts__put_job *ts__put_job_at(ts__put_crew *crew, uint64_t number)
{
    return &crew->jobs[number % TS__PUT_JOBS];
}

static void ts__put_encode_rows(ts__encoder *e, uint32_t kind, uint32_t count)
{
    ts__encoder_reset(e);
    if (kind != TS_EVENT_ZONE) {
        ts__encode_rows(e, kind, 0, count);
        return;
    }
    uint32_t track = (uint32_t)e->track[0];
    for (uint32_t i = 1; i < count; i++)
        if (e->track[i] != track) track = TS_TRACK_MIXED;
    ts__encode_zones(e, track, count);
}

static void ts__put_append_now(ts_writer *w, uint8_t *bytes, size_t size)
{
    ts_result result = ts__writer_prepare(&w->file, 1);
    ts__commit commit = ts__commit_begin(&w->file);
    if (result == TS_OK)
        result = ts__writer_append(&w->file, bytes, size, NULL, &commit);
    ts__writer_failed(&w->file, result);
}

static void ts__put_append_encoded(ts_writer *w, ts__encoder *e)
{
    ts_result result = ts__writer_prepare(&w->file, e->chunks);
    ts__commit commit = ts__commit_begin(&w->file);
    if (result == TS_OK) result = ts__writer_chunks(&w->file, e, &commit);
    ts__writer_failed(&w->file, result);
}

// Encodes the first new job. The mutex is held, but not meanwhile.
static void ts__put_work(ts__put_crew *crew)
{
    ts__put_job *const job = ts__put_job_at(crew, crew->taken++);
    if (!job->encoder) return; // done already
    crew->fresh--;
    pthread_mutex_unlock(&crew->mutex);
    ts__put_encode_rows(job->encoder, job->kind, job->count);
    pthread_mutex_lock(&crew->mutex);
    job->done = true;
    pthread_cond_signal(&crew->done);
}

static void *ts__put_worker(void *argument)
{
    ts__put_crew *const crew = (ts__put_crew *)argument;
    pthread_mutex_lock(&crew->mutex);
    while (!crew->stop) {
        if (crew->fresh) {
            ts__put_work(crew);
            continue;
        }
        crew->idle++;
        pthread_cond_wait(&crew->news, &crew->mutex);
        crew->idle--;
    }
    pthread_mutex_unlock(&crew->mutex);
    return NULL;
}

// Appends the first job, which is done.
static void ts__put_commit(ts_writer *w, ts__put_job *job)
{
    ts__put_crew *const crew = w->crew;
    if (job->encoder)
        ts__put_append_encoded(w, job->encoder);
    else
        ts__put_append_now(w, job->bytes, job->size);
    if (job->encoder) crew->spare[crew->spares++] = job->encoder;
    free(job->bytes);
    memset(job, 0, sizeof *job);
    crew->first++;
}

// Appends what is done, and more until at most `left` jobs wait. After an error
// all that wait are kept, to be freed in the end.
static void ts__put_wait(ts_writer *w, uint32_t left)
{
    ts__put_crew *const crew = w->crew;
    if (!crew) return;
    pthread_mutex_lock(&crew->mutex);
    while (crew->first != crew->end && w->file.error == TS_OK) {
        ts__put_job *const job = ts__put_job_at(crew, crew->first);
        if (crew->first == crew->taken && !job->encoder) crew->taken++;
        if (crew->first != crew->taken && job->done) {
            pthread_mutex_unlock(&crew->mutex);
            ts__put_commit(w, job);
            pthread_mutex_lock(&crew->mutex);
        } else if (crew->end - crew->first <= left) {
            break;
        } else if (crew->taken != crew->end) {
            ts__put_work(crew);
        } else {
            pthread_cond_wait(&crew->done, &crew->mutex);
        }
    }
    pthread_mutex_unlock(&crew->mutex);
}

static void ts__put_failed(ts_writer *w, ts_result result)
{
    if (result != TS_OK) ts__put_wait(w, 0);
    ts__writer_failed(&w->file, result);
}

// Starts a worker that gets no signals. If it cannot, the others do its work.
static void ts__put_hire(ts__put_crew *crew)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&crew->threads[crew->made], NULL, ts__put_worker,
                       crew) == 0)
        crew->made++;
    else
        crew->most = crew->made;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

// Adds a job. False after an error: then it is not taken.
static bool ts__put_submit(ts_writer *w, ts__put_job job)
{
    ts__put_crew *const crew = w->crew;
    ts__put_wait(w, crew->room - 1);
    if (w->file.error != TS_OK) return false;
    *ts__put_job_at(crew, crew->end) = job;
    pthread_mutex_lock(&crew->mutex);
    crew->end++;
    if (job.encoder) {
        crew->fresh++;
        // A trace of a single chunk needs no worker.
        if (crew->idle)
            pthread_cond_signal(&crew->news);
        else if (crew->fresh > 1 && crew->made < crew->most)
            ts__put_hire(crew);
    }
    pthread_mutex_unlock(&crew->mutex);
    return true;
}

// Appends finished chunks after all that wait.
static void ts__put_append(ts_writer *w, uint8_t *bytes, size_t size)
{
    ts__put_job job;
    memset(&job, 0, sizeof job);
    job.size = size;
    job.done = true;
    if (w->crew && size <= TS__PUT_COPY) job.bytes = (uint8_t *)malloc(size);
    if (!job.bytes) {
        ts__put_wait(w, 0);
        if (w->file.error == TS_OK) ts__put_append_now(w, bytes, size);
        return;
    }
    memcpy(job.bytes, bytes, size);
    if (!ts__put_submit(w, job)) free(job.bytes);
}

// An encoder that is free. Without memory for another one it is one of those
// that wait now, and fewer wait from then on.
static ts__encoder *ts__put_encoder(ts_writer *w)
{
    ts__put_crew *const crew = w->crew;
    if (!crew->spares) {
        void *const fresh = ts__pages_new(sizeof(ts__encoder));
        if (fresh) return (ts__encoder *)fresh;
        if (crew->room > 1) crew->room /= 2;
        ts__put_wait(w, 0);
    }
    return crew->spares ? crew->spare[--crew->spares] : NULL;
}

// Writes the encoder's columns as a chunk.
static void ts__put_encode(ts_writer *w, uint32_t kind, uint32_t count)
{
    ts__put_crew *const crew = w->crew;
    ts__put_job job;
    if (!crew) {
        ts__put_encode_rows(w->encoder, kind, count);
        ts__put_append_encoded(w, w->encoder);
        return;
    }
    memset(&job, 0, sizeof job);
    job.encoder = w->encoder;
    job.kind = kind;
    job.count = count;
    const uint32_t compress = w->encoder->compress;
    if (!ts__put_submit(w, job)) return;
    w->encoder = ts__put_encoder(w);
    if (w->encoder)
        w->encoder->compress = compress;
    else
        ts__put_failed(w, TS_ERR_MEMORY);
}

// The workers of a writer; without memory, it has none.
static void ts__put_crew_open(ts_writer *w, uint32_t threads)
{
    if (threads < 2) return;
    ts__put_crew *const crew = (ts__put_crew *)ts__pages_new(sizeof *crew);
    if (!crew) return;
    crew->most =
        threads - 1 < TS__PUT_THREADS ? threads - 1 : TS__PUT_THREADS - 1;
    crew->room = 2 * crew->most + 2;
    pthread_mutex_init(&crew->mutex, NULL);
    pthread_cond_init(&crew->news, NULL);
    pthread_cond_init(&crew->done, NULL);
    w->crew = crew;
}

static void ts__put_dismiss(ts__put_crew *crew)
{
    pthread_mutex_lock(&crew->mutex);
    crew->stop = true;
    pthread_cond_broadcast(&crew->news);
    pthread_mutex_unlock(&crew->mutex);
    for (uint32_t i = 0; i < crew->made; i++)
        pthread_join(crew->threads[i], NULL);
    pthread_cond_destroy(&crew->news);
    pthread_cond_destroy(&crew->done);
    pthread_mutex_destroy(&crew->mutex);
}

// Ends the workers; jobs that wait are not written. A child made by fork has
// no workers, and a mutex that one of them may have held.
static void ts__put_crew_close(ts_writer *w)
{
    ts__put_crew *const crew = w->crew;
    if (!crew) return;
    if (!ts__put_inherited(w)) ts__put_dismiss(crew);
    for (; crew->first != crew->end; crew->first++) {
        ts__put_job *const job = ts__put_job_at(crew, crew->first);
        if (job->encoder) munmap(job->encoder, sizeof *job->encoder);
        free(job->bytes);
    }
    for (uint32_t i = 0; i < crew->spares; i++)
        munmap(crew->spare[i], sizeof *crew->spare[i]);
    munmap(crew, sizeof *crew);
    w->crew = NULL;
}

static void ts__put_alone(ts_writer *w)
{
    ts__put_wait(w, 0);
    ts__put_crew_close(w);
}

/* ---- 12.29 Writer: dictionaries ----------------------------------------- */
// src/record/writer/dictionary.h

// Writes the waiting entries; kinds that others refer to come first.
static void ts__put_entries(ts_writer *w)
{
    static const uint8_t kinds[] = { TS_CHUNK_NAMES,    TS_CHUNK_SITES,
                                     TS_CHUNK_TRACKS,   TS_CHUNK_LAUNCHES,
                                     TS_CHUNK_MODULES,  TS_CHUNK_STACKS,
                                     TS_CHUNK_METADATA, TS_CHUNK_LOSS,
                                     TS_CHUNK_SYMBOLS };
    for (size_t i = 0; i < sizeof kinds && w->file.error == TS_OK; i++) {
        ts__put_list *const list = &w->lists[kinds[i]];
        if (!list->count) continue;
        const uint8_t *const end =
            ts__entries_end(list->bytes, list->bytes + list->size, list->count);
        ts__put_append(w, list->bytes, (size_t)(end - list->bytes));
        list->count = 0;
    }
}

// Adds an entry whose body consists of two parts.
static void ts__put_entry(ts_writer *w, uint32_t kind, uint32_t id,
                          const void *body, size_t size, const void *more,
                          size_t more_size)
{
    ts__put_list *const list = &w->lists[kind];
    if (w->file.error != TS_OK) return;
    if (list->count && list->size > TS__PUT_ENTRIES) ts__put_entries(w);
    if (!list->count) list->size = sizeof(ts_chunk_header);
    const size_t need = list->size + 8 + size + more_size + 8;
    if (need > list->capacity) {
        uint8_t *const bytes =
            (uint8_t *)ts__put_memory(w, list->bytes, 2 * need);
        if (!bytes) {
            ts__put_failed(w, TS_ERR_MEMORY);
            return;
        }
        list->bytes = bytes;
        list->capacity = 2 * need;
    }
    if (!list->count++) ts__entries_begin(list->bytes, kind);
    uint8_t *p = list->bytes + list->size;
    p = ts__entries_add(p, id, body, (uint32_t)size);
    if (more_size) memcpy(p, more, more_size);
    const uint32_t whole = (uint32_t)(size + more_size);
    memcpy(list->bytes + list->size + 4, &whole, sizeof whole);
    list->size = (size_t)(p - list->bytes) + more_size;
}

static bool ts__put_known_grow(ts_writer *w)
{
    const uint32_t count = w->known ? 2 * (w->known_mask + 1) : 1024;
    ts__put_known *const known =
        (ts__put_known *)ts__put_memory(w, NULL, count * sizeof *known);
    if (!known) return false;
    memset(known, 0, count * sizeof *known);
    for (uint32_t i = 0; w->known && i <= w->known_mask; i++) {
        if (!w->known[i].id) continue;
        uint32_t at = (uint32_t)w->known[i].low & (count - 1);
        while (known[at].id)
            at = (at + 1) & (count - 1);
        known[at] = w->known[i];
    }
    free(w->known);
    w->known = known;
    w->known_mask = count - 1;
    return true;
}

// The number of the entry with this hash, or a new one; 0: no memory.
static uint32_t ts__put_find(ts_writer *w, uint32_t kind, XXH128_hash_t hash,
                             bool *known)
{
    *known = false;
    if ((!w->known || w->known_count > w->known_mask / 2) &&
        !ts__put_known_grow(w)) {
        ts__put_failed(w, TS_ERR_MEMORY);
        return 0;
    }
    uint32_t at = (uint32_t)hash.low64 & w->known_mask;
    for (; w->known[at].id; at = (at + 1) & w->known_mask) {
        *known =
            w->known[at].low == hash.low64 && w->known[at].high == hash.high64;
        if (*known) return w->known[at].id;
    }
    w->known_count++;
    w->known[at].low = hash.low64;
    w->known[at].high = hash.high64;
    w->known[at].id = ++w->last_id[kind];
    return w->known[at].id;
}

// The number of an entry, or a new one. Contents are distinguished by their
// XXH3-128 alone, as blobs are.
static uint32_t ts__put_define(ts_writer *w, uint32_t kind, const void *body,
                               size_t size, const void *more, size_t more_size)
{
    XXH3_state_t state;
    XXH128_hash_t hash = XXH3_128bits_withSeed(body, size, kind);
    if (more_size) {
        XXH3_128bits_reset_withSeed(&state, kind);
        XXH3_128bits_update(&state, body, size);
        XXH3_128bits_update(&state, more, more_size);
        hash = XXH3_128bits_digest(&state);
    }
    bool known;
    const uint32_t id = ts__put_find(w, kind, hash, &known);
    if (id && !known) ts__put_entry(w, kind, id, body, size, more, more_size);
    return id;
}

uint32_t ts_writer_name(ts_writer *w, const char *text, size_t size)
{
    if (size > TS__NAME_MAX) size = TS__NAME_MAX;
    return ts__put_define(w, TS_CHUNK_NAMES, text ? text : "", text ? size : 0,
                          NULL, 0);
}

uint32_t ts_writer_site(ts_writer *w, const ts_site_entry *site)
{
    return ts__put_define(w, TS_CHUNK_SITES, site, sizeof *site, NULL, 0);
}

uint32_t ts_writer_launch(ts_writer *w, const ts_launch_entry *launch)
{
    return ts__put_define(w, TS_CHUNK_LAUNCHES, launch, sizeof *launch, NULL,
                          0);
}

uint32_t ts_writer_module(ts_writer *w, const ts_module_entry *module,
                          const void *build_id, size_t build_id_size)
{
    ts_module_entry entry = *module;
    entry.unused = 0;
    return ts__put_define(w, TS_CHUNK_MODULES, &entry, sizeof entry, build_id,
                          !build_id            ? 0
                          : build_id_size < 64 ? build_id_size
                                               : 64);
}

uint32_t ts_writer_stack(ts_writer *w, const ts_frame_entry *frames,
                         uint32_t count)
{
    if (count > 4096) count = 4096;
    return ts__put_define(w, TS_CHUNK_STACKS, frames, count * sizeof *frames,
                          NULL, 0);
}

uint32_t ts_writer_symbol(ts_writer *w, const ts_frame_entry *frame,
                          const ts_line_entry *lines, uint32_t count)
{
    const ts_symbol_entry entry = { frame->module, 0, frame->offset };
    return ts__put_define(w, TS_CHUNK_SYMBOLS, &entry, sizeof entry, lines,
                          count * sizeof *lines);
}

uint32_t ts_writer_track(ts_writer *w, uint32_t id, const ts_track_entry *track)
{
    ts_track_entry entry = *track;
    memset(entry.unused, 0, sizeof entry.unused);
    if (!id) id = w->last_id[TS_CHUNK_TRACKS] + 1;
    if (id > w->last_id[TS_CHUNK_TRACKS]) w->last_id[TS_CHUNK_TRACKS] = id;
    if (!id || id == TS_TRACK_MIXED) {
        ts__put_failed(w, TS_ERR_USAGE);
        return 0;
    }
    ts__put_entry(w, TS_CHUNK_TRACKS, id, &entry, sizeof entry, NULL, 0);
    return id;
}

void ts_writer_metadata(ts_writer *w, uint32_t track, const char *key,
                        ts_value_type type, uint64_t value)
{
    ts_metadata_entry entry;
    entry.key = ts_writer_name(w, key, strlen(key));
    entry.type = (uint32_t)type;
    entry.value = value;
    ts__put_entry(w, TS_CHUNK_METADATA, track, &entry, sizeof entry, NULL, 0);
}

static uint64_t ts__put_tick(int64_t time_ns)
{
    const int64_t near = time_ns > TS__PUT_FAR    ? TS__PUT_FAR
                         : time_ns < -TS__PUT_FAR ? -TS__PUT_FAR
                                                  : time_ns;
    return TS__PUT_EPOCH + (uint64_t)near;
}

void ts_writer_stall(ts_writer *w, uint32_t track, uint32_t cause,
                     uint32_t detail, uint64_t count, int64_t first_ns,
                     int64_t last_ns, uint64_t stall_ns)
{
    ts_loss_entry entry;
    memset(&entry, 0, sizeof entry);
    entry.cause = cause;
    entry.detail = detail;
    entry.count = count;
    entry.first = ts__put_tick(first_ns);
    entry.last = ts__put_tick(last_ns);
    entry.stall_ns = stall_ns;
    ts__put_entry(w, TS_CHUNK_LOSS, track, &entry, sizeof entry, NULL, 0);
}

void ts_writer_loss(ts_writer *w, uint32_t track, uint32_t cause,
                    uint32_t detail, uint64_t count, int64_t first_ns,
                    int64_t last_ns)
{
    ts_writer_stall(w, track, cause, detail, count, first_ns, last_ns, 0);
}

/* ---- 12.30 Writer: rows of events --------------------------------------- */
// src/record/writer/rows.h

static uint64_t ts__put_hash(uint32_t track, uint32_t kind)
{
    return (((uint64_t)track << 5) | kind) * UINT64_C(0x9E3779B97F4A7C15) >> 32;
}

static bool ts__put_table_grow(ts_writer *w)
{
    const uint32_t count = w->table ? 2 * (w->table_mask + 1) : 256;
    uint32_t *const table =
        (uint32_t *)ts__put_memory(w, NULL, count * sizeof *table);
    if (!table) return false;
    memset(table, 0, count * sizeof *table);
    for (uint32_t i = 0; i < w->rows_count; i++) {
        const ts__put_rows *const rows = &w->rows[i];
        uint64_t at = ts__put_hash(rows->track, rows->kind);
        while (table[at & (count - 1)])
            at++;
        table[at & (count - 1)] = i + 1;
    }
    free(w->table);
    w->table = table;
    w->table_mask = count - 1;
    return true;
}

// The list of rows of a kind on a track; NULL without memory.
static ts__put_rows *ts__put_rows_of(ts_writer *w, uint32_t kind,
                                     uint32_t track)
{
    if (w->rows_last < w->rows_count) {
        ts__put_rows *const last = &w->rows[w->rows_last];
        if (last->track == track && last->kind == kind) return last;
    }
    if ((!w->table || w->rows_count > w->table_mask / 2) &&
        !ts__put_table_grow(w))
        return NULL;
    uint64_t at = ts__put_hash(track, kind);
    for (; w->table[at & w->table_mask]; at++) {
        const uint32_t i = w->table[at & w->table_mask] - 1;
        if (w->rows[i].track != track || w->rows[i].kind != kind) continue;
        w->rows_last = i;
        return &w->rows[i];
    }
    void *rows = w->rows;
    if (!ts__put_room(w, &rows, &w->rows_capacity, w->rows_count + 1,
                      sizeof *w->rows))
        return NULL;
    w->rows = (ts__put_rows *)rows;
    ts__put_rows *const fresh = &w->rows[w->rows_count];
    memset(fresh, 0, sizeof *fresh);
    fresh->track = track;
    fresh->kind = kind;
    w->rows_last = w->rows_count;
    w->table[at & w->table_mask] = ++w->rows_count;
    return fresh;
}

static uint64_t ts__put_size(const ts_writer *w, const ts__put_rows *rows)
{
    return (uint64_t)rows->capacity * w->width[rows->kind] * 8 +
           rows->text_capacity;
}

static void ts__put_forget(ts_writer *w, ts__put_rows *rows)
{
    w->memory -= ts__put_size(w, rows);
    free(rows->cells);
    free(rows->text);
    rows->cells = NULL;
    rows->text = NULL;
    rows->count = rows->capacity = rows->text_used = rows->text_capacity = 0;
}

// Sorts the `count` elements of w->order[0] by w->key; a stable sort.
static void ts__put_sort(ts_writer *w, uint32_t count)
{
    const ts__range range = ts__range_of(w->key, count);
    const uint64_t span = range.largest - range.smallest;
    for (uint32_t shift = 0; shift < 64 && span >> shift; shift += 11) {
        uint32_t at[2048] = { 0 }, sum = 0;
        const uint16_t *const from = w->order[0];
        uint16_t *const to = w->order[1];
        for (uint32_t i = 0; i < count; i++)
            at[(w->key[i] - range.smallest) >> shift & 2047]++;
        for (uint32_t i = 0; i < 2048; i++) {
            const uint32_t n = at[i];
            at[i] = sum;
            sum += n;
        }
        for (uint32_t i = 0; i < count; i++) {
            const uint64_t key = w->key[from[i]] - range.smallest;
            to[at[key >> shift & 2047]++] = from[i];
        }
        memcpy(w->order[0], to, count * sizeof *to);
    }
}

static uint64_t ts__put_end(const uint64_t *line, bool spans)
{
    return line[0] + (spans ? line[1] : 0);
}

// Sorts the lines by their ends; of zones with the same end the inner ones come
// first.
static void ts__put_order(ts_writer *w, uint32_t kind, uint32_t count)
{
    const bool spans = ts_event_columns(kind)[1] == TS_COLUMN_DURATION;
    bool sorted = true, tied = false;
    for (uint32_t i = 0; i < count; i++) {
        w->order[0][i] = (uint16_t)i;
        w->key[i] = ts__put_end(w->line[i], spans);
        if (i && w->key[i] < w->key[i - 1]) sorted = false;
    }
    if (!sorted) ts__put_sort(w, count);
    if (kind != TS_EVENT_ZONE) return;
    for (uint32_t i = 1; i < count && !tied; i++) {
        const uint16_t a = w->order[0][i - 1], b = w->order[0][i];
        tied = w->key[a] == w->key[b] && w->line[a][0] < w->line[b][0];
    }
    if (!tied) return;
    for (uint32_t i = 0; i < count; i++) {
        w->order[0][i] = (uint16_t)i;
        w->key[i] = ~w->line[i][0];
    }
    ts__put_sort(w, count);
    for (uint32_t i = 0; i < count; i++)
        w->key[i] = ts__put_end(w->line[i], spans);
    ts__put_sort(w, count);
}

// Copies the lines, in order, into the encoder's columns.
static void ts__put_load(ts_writer *w, uint32_t kind, uint32_t count)
{
    ts__encoder *const e = w->encoder;
    const uint32_t width = w->width[kind];
    const uint32_t text = w->cell[kind][TS_COLUMN_TEXT];
    e->text_used = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t from = w->order[0][i];
        const uint64_t *const line = w->line[from];
        e->track[i] = w->owner[from]->track;
        for (uint32_t c = 0; c < width; c++)
            e->column[c][i] = line[c];
        if (text == 255) continue;
        e->text_size[i] = (uint32_t)line[text];
        if (!e->text_size[i]) continue;
        memcpy(e->text + e->text_used,
               w->owner[from]->text + (line[text] >> 32), e->text_size[i]);
        e->text_used += e->text_size[i];
    }
}

// Writes the lines as a chunk.
static void ts__put_chunk(ts_writer *w, uint32_t kind, uint32_t count)
{
    if (!count) return;
    ts__put_entries(w);
    if (w->file.error != TS_OK) return;
    ts__put_order(w, kind, count);
    ts__put_load(w, kind, count);
    ts__put_encode(w, kind, count);
}

// Adds rows to the `count` waiting lines; returns the new count.
static uint32_t ts__put_lines(ts_writer *w, const ts__put_rows *rows,
                              uint32_t count)
{
    const uint32_t width = w->width[rows->kind];
    for (uint32_t i = 0; i < rows->count; i++) {
        w->line[count] = rows->cells + (size_t)i * width;
        w->owner[count++] = rows;
    }
    return count;
}

// Writes a list that has enough rows for a chunk.
static void ts__put_full(ts_writer *w, ts__put_rows *rows)
{
    ts__put_chunk(w, rows->kind, ts__put_lines(w, rows, 0));
    rows->count = 0;
    rows->text_used = 0;
}

// Writes all rows of a kind: a chunk for each track with many rows, and common
// chunks for the others.
static void ts__put_kind(ts_writer *w, uint32_t kind)
{
    uint32_t lines = 0, first = 0;
    uint64_t text = 0;
    for (uint32_t i = 0; i < w->rows_count; i++) {
        ts__put_rows *const rows = &w->rows[i];
        if (rows->kind != kind || rows->count < TS__PUT_FEW) continue;
        ts__put_full(w, rows);
        ts__put_forget(w, rows);
    }
    for (uint32_t i = 0; i <= w->rows_count; i++) {
        ts__put_rows *const rows = i < w->rows_count ? &w->rows[i] : NULL;
        if (rows && (rows->kind != kind || !rows->count)) continue;
        if (!rows || lines + rows->count > TS__BATCH_ROWS ||
            text + rows->text_used > TS__BATCH_TEXT) {
            ts__put_chunk(w, kind, lines);
            for (; first < i; first++)
                if (w->rows[first].kind == kind)
                    ts__put_forget(w, &w->rows[first]);
            lines = 0;
            text = 0;
        }
        if (!rows) break;
        lines = ts__put_lines(w, rows, lines);
        text += rows->text_used;
    }
}

// Frees memory by writing the kind that takes most of it.
static void ts__put_relieve(ts_writer *w)
{
    uint64_t sizes[TS_EVENT_LIMIT] = { 0 };
    uint32_t most = 0;
    for (uint32_t i = 0; i < w->rows_count; i++)
        sizes[w->rows[i].kind] += ts__put_size(w, &w->rows[i]);
    for (uint32_t kind = 1; kind < TS_EVENT_LIMIT; kind++)
        if (sizes[kind] > sizes[most]) most = kind;
    ts__put_kind(w, most);
}

static bool ts__put_rows_grow(ts_writer *w, ts__put_rows *rows)
{
    const uint64_t before = ts__put_size(w, rows);
    void *cells = rows->cells;
    const bool done =
        ts__put_room(w, &cells, &rows->capacity, rows->count + 1,
                     (size_t)w->width[rows->kind] * sizeof *rows->cells);
    rows->cells = (uint64_t *)cells;
    w->memory += ts__put_size(w, rows) - before;
    return done;
}

// Makes room for another row; NULL if it is not to be written.
static ts__put_rows *ts__put_begin(ts_writer *w, uint32_t kind, uint32_t track,
                                   int64_t start_ns, int64_t duration_ns)
{
    if (TS__UNLIKELY(w->file.error != TS_OK)) return NULL;
    if (kind >= TS_EVENT_LIMIT || !w->width[kind] || !track ||
        track == TS_TRACK_MIXED) {
        ts__put_failed(w, TS_ERR_USAGE);
        return NULL;
    }
    ts__put_rows *rows = ts__put_rows_of(w, kind, track);
    if (rows && (start_ns > TS__PUT_FAR || start_ns < -TS__PUT_FAR ||
                 (w->cell[kind][TS_COLUMN_DURATION] != 255 &&
                  (duration_ns < 0 || duration_ns > TS__PUT_FAR)))) {
        rows->bad++;
        return NULL;
    }
    if (rows && rows->count == TS__BATCH_ROWS) ts__put_full(w, rows);
    if (rows && rows->count == rows->capacity && !ts__put_rows_grow(w, rows))
        rows = NULL;
    if (!rows) ts__put_failed(w, TS_ERR_MEMORY);
    return rows;
}

static void ts__put_finish(ts_writer *w, ts__put_rows *rows)
{
    rows->count++;
    if (TS__UNLIKELY(w->memory > TS__PUT_MEMORY)) ts__put_relieve(w);
}

// Fills in the times and values of the row after the last one.
static uint64_t *ts__put_cells(ts_writer *w, const ts__put_rows *rows,
                               int64_t start_ns, int64_t duration_ns,
                               const ts_writer_value *values, size_t count)
{
    const uint8_t *const cell = w->cell[rows->kind];
    const uint32_t width = w->width[rows->kind];
    uint64_t *const cells = rows->cells + (size_t)rows->count * width;
    for (uint32_t i = 1; i < width; i++)
        cells[i] = 0;
    cells[0] = TS__PUT_EPOCH + (uint64_t)start_ns;
    if (cell[TS_COLUMN_DURATION] != 255) cells[1] = (uint64_t)duration_ns;
    for (size_t i = 0; i < count; i++) {
        const uint32_t column = (uint32_t)values[i].column;
        if (column <= TS_COLUMN_DURATION || column == TS_COLUMN_TEXT ||
            column >= TS_COLUMN_LIMIT || cell[column] == 255) {
            ts__put_failed(w, TS_ERR_USAGE);
            return cells;
        }
        cells[cell[column]] = values[i].value;
    }
    return cells;
}

void ts_writer_event(ts_writer *w, ts_event_kind kind, uint32_t track,
                     int64_t start_ns, int64_t duration_ns,
                     const ts_writer_value *values, size_t count)
{
    ts__put_rows *const rows =
        ts__put_begin(w, (uint32_t)kind, track, start_ns, duration_ns);
    if (!rows) return;
    ts__put_cells(w, rows, start_ns, duration_ns, values, count);
    ts__put_finish(w, rows);
}

void ts_writer_event_text(ts_writer *w, ts_event_kind kind, uint32_t track,
                          int64_t start_ns, int64_t duration_ns,
                          const ts_writer_value *values, size_t count,
                          const char *text, size_t text_size)
{
    if (text_size > TS__NAME_MAX) text_size = TS__NAME_MAX;
    ts__put_rows *const rows =
        ts__put_begin(w, (uint32_t)kind, track, start_ns, duration_ns);
    if (!rows) return;
    if (w->cell[kind][TS_COLUMN_TEXT] == 255) {
        ts__put_failed(w, TS_ERR_USAGE);
        return;
    }
    if (rows->text_used + text_size > TS__BATCH_TEXT) ts__put_full(w, rows);
    const uint64_t before = ts__put_size(w, rows);
    void *bytes = rows->text;
    if (!ts__put_room(w, &bytes, &rows->text_capacity,
                      rows->text_used + (uint32_t)text_size, 1)) {
        ts__put_failed(w, TS_ERR_MEMORY);
        return;
    }
    rows->text = (uint8_t *)bytes;
    w->memory += ts__put_size(w, rows) - before;
    uint64_t *const cells =
        ts__put_cells(w, rows, start_ns, duration_ns, values, count);
    cells[w->cell[kind][TS_COLUMN_TEXT]] =
        (uint64_t)rows->text_used << 32 | text_size;
    if (text_size) memcpy(rows->text + rows->text_used, text, text_size);
    rows->text_used += (uint32_t)text_size;
    ts__put_finish(w, rows);
}

/* ---- 12.31 Writer: events as columns ------------------------------------ */
// src/record/writer/columns.h

static uint32_t ts__rows_track(const ts_rows *rows, uint32_t i)
{
    return rows->tracks ? rows->tracks[i] : rows->track;
}

// Whether the rows can become chunks as they are.
static bool ts__rows_sound(const ts_rows *rows, bool spans)
{
    uint64_t bad = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        const uint32_t track = ts__rows_track(rows, i);
        bad |= !track | (track == TS_TRACK_MIXED);
        bad |= (uint64_t)rows->start_ns[i] + (uint64_t)TS__PUT_FAR >
               2 * (uint64_t)TS__PUT_FAR;
    }
    for (uint32_t i = 0; spans && i < rows->count; i++)
        bad |= (uint64_t)rows->duration_ns[i] > (uint64_t)TS__PUT_FAR;
    return !bad;
}

// Writes one row by itself.
static void ts__rows_one(ts_writer *w, const ts_rows *rows, uint32_t i)
{
    const uint8_t *const columns = ts_event_columns(rows->kind);
    ts_writer_value values[TS__COLUMNS_PER_EVENT];
    size_t count = 0;
    bool text = false;
    for (uint32_t c = 0; columns && columns[c]; c++) {
        const uint64_t *const of = rows->values[columns[c]];
        if (columns[c] == TS_COLUMN_TEXT) text = rows->text_sizes != NULL;
        if (columns[c] <= TS_COLUMN_DURATION || columns[c] == TS_COLUMN_TEXT ||
            !of)
            continue;
        values[count].column = (ts_column)columns[c];
        values[count++].value = of[i];
    }
    if (text)
        ts_writer_event_text(w, rows->kind, ts__rows_track(rows, i),
                             rows->start_ns[i], rows->duration_ns[i], values,
                             count, rows->texts[i], rows->text_sizes[i]);
    else
        ts_writer_event(w, rows->kind, ts__rows_track(rows, i),
                        rows->start_ns[i], rows->duration_ns[i], values, count);
}

// Writes the rows waiting on the same tracks, which come before these.
static void ts__rows_flush(ts_writer *w, const ts_rows *rows)
{
    if (rows->tracks) {
        ts__put_kind(w, (uint32_t)rows->kind);
        return;
    }
    ts__put_rows *const waiting =
        ts__put_rows_of(w, (uint32_t)rows->kind, rows->track);
    if (!waiting) ts__put_failed(w, TS_ERR_MEMORY);
    if (waiting && waiting->count) ts__put_full(w, waiting);
}

// Copies the texts of `count` rows from `first` on into the encoder; returns
// how many fit, at least one.
static uint32_t ts__rows_texts(ts__encoder *e, const ts_rows *rows,
                               uint32_t first, uint32_t count)
{
    e->text_used = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t size = rows->text_sizes ? rows->text_sizes[first + i] : 0;
        if (size > TS__NAME_MAX) size = TS__NAME_MAX;
        if (e->text_used + size > TS__BATCH_TEXT) return i;
        e->text_size[i] = size;
        if (size) memcpy(e->text + e->text_used, rows->texts[first + i], size);
        e->text_used += size;
    }
    return count;
}

// Writes rows from `first` on as a chunk; returns how many it took.
static uint32_t ts__rows_chunk(ts_writer *w, const ts_rows *rows,
                               uint32_t first)
{
    ts__encoder *const e = w->encoder;
    const uint8_t *const columns = ts_event_columns(rows->kind);
    uint32_t count = rows->count - first;
    if (count > TS__BATCH_ROWS) count = TS__BATCH_ROWS;
    if (w->cell[rows->kind][TS_COLUMN_TEXT] != 255)
        count = ts__rows_texts(e, rows, first, count);
    for (uint32_t i = 0; i < count; i++) {
        e->track[i] = ts__rows_track(rows, first + i);
        e->column[0][i] = TS__PUT_EPOCH + (uint64_t)rows->start_ns[first + i];
    }
    for (uint32_t c = 1; columns[c]; c++) {
        const uint64_t *from = rows->values[columns[c]];
        if (columns[c] == TS_COLUMN_TEXT) continue;
        if (columns[c] == TS_COLUMN_DURATION)
            from = (const uint64_t *)rows->duration_ns;
        if (from)
            memcpy(e->column[c], from + first, count * sizeof *from);
        else
            memset(e->column[c], 0, count * sizeof *from);
    }
    ts__put_encode(w, (uint32_t)rows->kind, count);
    return count;
}

void ts_writer_rows(ts_writer *w, const ts_rows *rows)
{
    const uint32_t kind = (uint32_t)rows->kind;
    if (w->file.error != TS_OK) return;
    if (kind >= TS_EVENT_LIMIT || !w->width[kind]) {
        ts__put_failed(w, TS_ERR_USAGE);
        return;
    }
    if (rows->count < TS__PUT_MANY ||
        !ts__rows_sound(rows, w->cell[kind][TS_COLUMN_DURATION] != 255)) {
        for (uint32_t i = 0; i < rows->count; i++)
            ts__rows_one(w, rows, i);
        return;
    }
    ts__rows_flush(w, rows);
    ts__put_entries(w);
    for (uint32_t i = 0; i < rows->count && w->file.error == TS_OK;)
        i += ts__rows_chunk(w, rows, i);
}

/* ---- 12.32 Writer: blobs, open, close ----------------------------------- */
// src/record/writer/open.h

static void ts__put_blob(ts_writer *w, uint32_t kind, const uint64_t key[2],
                         const void *bytes, size_t size)
{
    const size_t whole = (sizeof(ts_chunk_header) + 16 + size + 7) & ~(size_t)7;
    uint8_t *chunk = (uint8_t *)ts__pages_new(whole);
    if (!chunk && w->crew) {
        ts__put_alone(w);
        chunk = (uint8_t *)ts__pages_new(whole);
    }
    if (!chunk) {
        ts__put_failed(w, TS_ERR_MEMORY);
        return;
    }
    uint8_t *p = ts__entries_begin(chunk, kind);
    memcpy(p, key, 16);
    if (size) memcpy(p + 16, bytes, size);
    ts__entries_end(chunk, p + 16 + size, 1);
    ts__put_append(w, chunk, whole);
    munmap(chunk, whole);
}

void ts_writer_blob(ts_writer *w, const void *bytes, size_t size,
                    uint64_t hash[2])
{
    if ((!bytes && size) || size > UINT32_MAX - 31u) {
        ts__put_failed(w, TS_ERR_USAGE);
        return;
    }
    const XXH128_hash_t sum = XXH3_128bits(bytes, size);
    const uint64_t key[2] = { sum.low64, sum.high64 };
    if (hash) memcpy(hash, key, sizeof key);
    bool known;
    ts__put_find(w, TS_CHUNK_BLOB, XXH3_128bits_withSeed(key, 16, 17), &known);
    if (w->file.error == TS_OK && !known)
        ts__put_blob(w, TS_CHUNK_BLOB, key, bytes, size);
}

void ts_writer_capture(ts_writer *w, const void *record, size_t size)
{
    if (!record || !size || size > TS_CHUNK_BYTES_MAX - 16) {
        ts__put_failed(w, TS_ERR_USAGE);
        return;
    }
    const XXH128_hash_t sum = XXH3_128bits(record, size);
    const uint64_t key[2] = { sum.low64, sum.high64 };
    ts__put_entries(w); // before the record that refers to them
    if (w->file.error == TS_OK)
        ts__put_blob(w, TS_CHUNK_CAPTURE, key, record, size);
}

/* Open and close. */

static void ts__put_columns(ts_writer *w)
{
    memset(w->cell, 255, sizeof w->cell);
    for (uint32_t kind = 1; kind < TS_EVENT_LIMIT; kind++) {
        const uint8_t *const columns = ts_event_columns(kind);
        if (!columns) continue;
        for (uint8_t i = 0; columns[i]; i++) {
            w->cell[kind][columns[i]] = i;
            w->width[kind] = (uint8_t)(i + 1);
        }
    }
}

static void ts__put_header(ts_file_header *header, const ts_writer_desc *desc)
{
    static const uint8_t none[16] = { 0 };
    const XXH128_hash_t usual = XXH3_128bits("tracesmith", 10);
    const uint64_t session[2] = { usual.low64, usual.high64 };
    memcpy(header->magic, TS_FILE_MAGIC, sizeof header->magic);
    header->major = TS_FORMAT_MAJOR;
    header->minor = TS_FORMAT_MINOR;
    memcpy(header->session,
           memcmp(desc->session, none, 16) ? (const void *)desc->session
                                           : (const void *)session,
           16);
    header->start_tick = TS__PUT_EPOCH;
    header->start_realtime_ns = desc->start_realtime_ns;
    header->process = desc->process;
    ts__header_seal(header);
}

// Resolves the paths: a link is followed, so that its target is replaced.
static ts_result ts__put_paths(ts_writer *w, const char *path)
{
    struct stat st;
    char whole[PATH_MAX];
    if (stat(path, &st) == 0) {
        if (!S_ISREG(st.st_mode)) return TS_ERR_NOT_FILE;
        if (!realpath(path, whole)) return TS_ERR_IO;
        path = whole;
    }
    if (!ts__copy_text(w->path, sizeof w->path, path)) return TS_ERR_USAGE;
    snprintf(w->part_path, sizeof w->part_path, "%s.part", w->path);
    return TS_OK;
}

// A sample of the writer's only clock, which counts nanoseconds.
static ts_clock_entry ts__put_sample(const ts_writer *w, int64_t time_ns)
{
    ts_clock_entry sample;
    memset(&sample, 0, sizeof sample);
    sample.type =
        w->start_raw == TS__PUT_EPOCH ? TS_CLOCK_OTHER : TS_CLOCK_MONOTONIC_RAW;
    sample.tick = ts__put_tick(time_ns);
    sample.raw_ns = w->start_raw + (sample.tick - TS__PUT_EPOCH);
    return sample;
}

static ts_result ts__put_clock(ts_writer *w, const ts_writer_desc *desc)
{
    w->start_raw = desc->start_raw_ns ? desc->start_raw_ns : TS__PUT_EPOCH;
    ts_clock_entry sample = ts__put_sample(w, 0);
    sample.realtime_ns = desc->start_realtime_ns;
    sample.boottime_ns = desc->start_boottime_ns;
    return ts__writer_clock(&w->file, 0, &sample);
}

void ts_writer_clock(ts_writer *w, int64_t time_ns, uint64_t realtime_ns,
                     uint64_t boottime_ns, uint64_t uncertainty_ns)
{
    ts__put_wait(w, 0);
    if (w->file.error != TS_OK) return;
    ts_clock_entry sample = ts__put_sample(w, time_ns);
    sample.realtime_ns = realtime_ns;
    sample.boottime_ns = boottime_ns;
    sample.uncertainty_ns = uncertainty_ns;
    ts__put_failed(w, ts__writer_clock(&w->file, 0, &sample));
}

static void ts__put_free(ts_writer *w)
{
    ts__put_crew_close(w);
    for (uint32_t i = 0; i < w->rows_count; i++)
        ts__put_forget(w, &w->rows[i]);
    for (size_t i = 0; i < sizeof w->lists / sizeof *w->lists; i++)
        free(w->lists[i].bytes);
    free(w->rows);
    free(w->table);
    free(w->known);
    if (w->encoder) munmap(w->encoder, sizeof *w->encoder);
    if (w->file.scratch) munmap(w->file.scratch, TS__SCRATCH_BYTES);
    if (w->file.sidecar) munmap(w->file.sidecar, sizeof *w->file.sidecar);
    munmap(w, sizeof *w);
}

static ts_result ts__put_open(ts_writer *w, const ts_writer_desc *desc)
{
    ts_result result = ts__put_paths(w, desc->path);
    if (result != TS_OK) return result;
    w->encoder = (ts__encoder *)ts__pages_new(sizeof *w->encoder);
    w->file.scratch = (uint8_t *)ts__pages_new(TS__SCRATCH_BYTES);
    w->file.sidecar = (ts__sidecar *)ts__pages_new(sizeof *w->file.sidecar);
    if (!w->encoder || !w->file.scratch || !w->file.sidecar)
        return TS_ERR_MEMORY;
    w->encoder->compress = desc->compress ? 3 : 0;
    ts__put_columns(w);
    ts__put_header(&w->file.sidecar->head.header, desc);
    result = ts__writer_create(&w->file, w->part_path);
    if (result == TS_OK) result = ts__put_clock(w, desc);
    if (result == TS_OK) ts__put_crew_open(w, desc->threads);
    return result;
}

ts_result ts_writer_open(ts_writer **writer, const ts_writer_desc *desc)
{
    if (!writer) return TS_ERR_USAGE;
    *writer = NULL;
    if (!desc || !desc->path) return TS_ERR_USAGE;
#ifndef TRACESMITH_ZSTD
    if (desc->compress) return TS_ERR_UNSUPPORTED;
#endif
    ts_writer *const w = (ts_writer *)ts__pages_new(sizeof *w);
    if (!w) return TS_ERR_MEMORY;
    w->process = getpid();
    w->file.file.fd = -1;
    const ts_result result = ts__put_open(w, desc);
    if (result == TS_OK) {
        *writer = w;
    } else {
        // The file of another process is not ours to remove.
        if (w->part_path[0] && result != TS_ERR_BUSY) unlink(w->part_path);
        ts__file_close(&w->file.file);
        ts__put_free(w);
    }
    return result;
}

void ts_writer_origin(ts_writer *w, int64_t time_ns, uint64_t realtime_ns)
{
    ts_file_header *const header = &w->file.sidecar->head.header;
    if (w->file.error != TS_OK) return;
    header->start_tick = ts__put_tick(time_ns);
    header->start_realtime_ns = realtime_ns;
    ts__header_seal(header);
    ts__put_failed(w,
                   ts__file_write(w->file.file.fd, 0, header, sizeof *header));
}

ts_result ts_writer_error(const ts_writer *w)
{
    return w->file.error;
}

static void ts__put_bad(ts_writer *w)
{
    for (uint32_t i = 0; i < w->rows_count; i++) {
        const ts__put_rows *const rows = &w->rows[i];
        if (!rows->bad) continue;
        const char *const text = "time out of range";
        ts_writer_loss(w, rows->track, TS_LOSS_BAD_RECORD,
                       ts_writer_name(w, text, strlen(text)), rows->bad, 0, 0);
    }
}

// Restores the trace as it was before it was extended.
static void ts__put_restore(ts_writer *w)
{
    const uint64_t size = w->end + sizeof w->end_chunk;
    if (ftruncate(w->file.file.fd, (off_t)size) != 0) return;
    ts__file_write(w->file.file.fd, w->end, &w->end_chunk, sizeof w->end_chunk);
}

static ts_result ts__put_extend(ts_writer *w, const char *path)
{
    struct stat st;
    ts_chunk_header end;
    ts__writer_state *const state = &w->file.sidecar->state;
    ts_file_header *const header = &w->file.sidecar->head.header;
    if (!ts__copy_text(w->path, sizeof w->path, path)) return TS_ERR_USAGE;
    w->file.path = w->path;
    if (ts__file_open(&w->file.file, path, O_RDWR, 0) < 0) return TS_ERR_IO;
    const int fd = w->file.file.fd;
    if (!ts__file_lock(fd) && (errno == EAGAIN || errno == EACCES))
        return TS_ERR_BUSY;
    if (fstat(fd, &st) != 0) return TS_ERR_IO;
    const uint64_t size = (uint64_t)st.st_size;
    if (size < sizeof *header ||
        !ts__file_read(fd, 0, header, sizeof *header) ||
        memcmp(header->magic, TS_FILE_MAGIC, sizeof header->magic) != 0)
        return TS_ERR_NOT_SBT;
    if (size < sizeof *header + sizeof end ||
        !ts__file_read(fd, size - sizeof end, &end, sizeof end) ||
        end.magic != TS_CHUNK_MAGIC || end.kind != TS_CHUNK_END ||
        end.checksum !=
            ts__checksum(
                "", 0,
                ts__checksum(&end, offsetof(ts_chunk_header, checksum), 0)))
        return TS_ERR_TRUNCATED;
    w->end = size - sizeof end;
    w->end_chunk = end;
    state->offset = w->end;
    state->sequence = end.sequence;
    state->index_offset = end.first;
    return TS_OK;
}

ts_result ts_writer_extend(ts_writer **writer, const char *path, uint32_t names,
                           uint32_t symbols)
{
    if (!writer) return TS_ERR_USAGE;
    *writer = NULL;
    if (!path) return TS_ERR_USAGE;
    ts_writer *const w = (ts_writer *)ts__pages_new(sizeof *w);
    if (!w) return TS_ERR_MEMORY;
    w->process = getpid();
    w->file.file.fd = -1;
    w->last_id[TS_CHUNK_NAMES] = names;
    w->last_id[TS_CHUNK_SYMBOLS] = symbols;
    ts__put_columns(w);
    w->encoder = (ts__encoder *)ts__pages_new(sizeof *w->encoder);
    w->file.scratch = (uint8_t *)ts__pages_new(TS__SCRATCH_BYTES);
    w->file.sidecar = (ts__sidecar *)ts__pages_new(sizeof *w->file.sidecar);
    ts_result result = TS_ERR_MEMORY;
    if (w->encoder && w->file.scratch && w->file.sidecar)
        result = ts__put_extend(w, path);
    if (result == TS_OK) {
        *writer = w;
    } else {
        ts__file_close(&w->file.file);
        ts__put_free(w);
    }
    return result;
}

ts_result ts_writer_close(ts_writer *w)
{
    if (!w) return TS_ERR_USAGE;
    if (ts__put_inherited(w)) {
        ts_writer_abandon(w);
        return TS_ERR_USAGE;
    }
    for (uint32_t kind = 1; kind < TS_EVENT_LIMIT; kind++)
        ts__put_kind(w, kind);
    ts__put_bad(w);
    ts__put_entries(w);
    ts__put_alone(w); // what follows needs memory, too
    w->file.final = true;
    if (w->file.error == TS_OK) ts__put_failed(w, ts__writer_finish(&w->file));
    if (w->file.error == TS_OK && !w->end && rename(w->part_path, w->path) != 0)
        ts__put_failed(w, TS_ERR_IO);
    const ts_result result = w->file.error;
    if (result == TS_OK) {
        ts__file_close(&w->file.file);
        ts__put_free(w);
    } else {
        ts_writer_abandon(w);
    }
    return result;
}

void ts_writer_abandon(ts_writer *w)
{
    if (!w) return;
    const bool own = !ts__put_inherited(w);
    if (own && w->end)
        ts__put_restore(w);
    else if (own)
        unlink(w->part_path);
    ts__file_close(&w->file.file);
    ts__put_free(w);
}

#endif // TRACESMITH_WRITER

#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif
