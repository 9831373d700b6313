/* ==== Format ============================================================= */

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
