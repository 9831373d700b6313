/* ---- Execution: state --------------------------------------------------- */

// A range is an allocation of the record and its current memory. Each chunk has
// two hashes: of its current contents (`current`) and of the last recorded
// contents (`recorded`). A chunk that was written takes memory even if it is
// zero.
enum { TS__EX_ACTUAL = 1, TS__EX_RECORDED = 2, TS__EX_WRITTEN = 4 };
enum { TS__EX_TABLES = 33 }; // bytes of hash tables for each chunk
// Number of chunks that a device hashes in one request.
enum { TS__EX_DEVICE_HASHES = 1024 };

typedef struct ts__ex_range {
    uint64_t address, size, actual;
    uint32_t device, image;
    uint64_t offset; // within its module, of a global variable
    uint8_t *bytes;  // memory of the host; NULL: none
    uint64_t *current, *recorded;
    uint8_t *known;
    uint64_t cost; // bytes of memory of this process that it takes
    size_t op;     // the operation that owns it, for memory of the host
    // For concurrent operations: the part that used it last, and the operation
    // of that part (with its region) that changed it last or else used it
    // first.
    uint32_t batch, last_region;
    size_t last;
} ts__ex_range;

typedef struct ts__ex_module {
    uint32_t image;
    uint64_t module;
    ts_reason reason; // why it could not be loaded
    char why[240];
} ts__ex_module;

typedef struct ts__ex_stream {
    uint32_t track, device;
    uint64_t stream;
    // concurrent: the last part that used it, the last barrier.
    uint32_t batch, barrier;
} ts__ex_stream;

// A lane is a stream on which a branch of a graph runs. The stream on which the
// graph was launched (`owner`) is a lane of its own. Positions of nodes count
// from 1.
enum { TS__EX_LANES = 8 };
typedef struct ts__ex_lane {
    uint64_t owner, stream;
    uint32_t device;
    // Last node; node to wait for; last node that the owner waited for.
    uint32_t tail, needed, joined;
} ts__ex_lane;

typedef struct ts__ex_spare { // an event that nothing waits for any more
    uint64_t event;
    uint32_t device;
} ts__ex_spare;

// A list of hashes, decompressed from the trace. There are two, so that one
// list can be compared with another.
typedef struct ts__ex_listed {
    uint64_t hash[2];
    const uint8_t *bytes; // NULL: empty
    size_t size;
    ts__scratch scratch;
} ts__ex_listed;

struct ts_execution {
    ts_reader *reader;
    const size_t *captures;
    size_t count;
    ts_execution_desc desc;
    void *state;                        // of the executor
    bool lost;                          // the device does not respond
    uint32_t devices[64], device_count; // tracks, ascending
    ts__ex_range **ranges;              // in device memory
    size_t range_count, range_capacity;
    ts__ex_range **hosts; // in host memory, ordered by operation
    size_t host_count, host_capacity, host_at;
    uint32_t batch; // number of the concurrent part; 0: one operation at a time
    bool as_graph;
    uint64_t bytes;         // memory of this process in use
    uint64_t zeros[2];      // hash of a chunk of zeros
    uint64_t missing_bytes; // size of what did not fit; 0: nothing
    uint32_t held; // regions of the current operation whose ranges were found
    ts__ex_module *modules;
    size_t module_count, module_capacity;
    ts__ex_stream *streams;
    size_t stream_count, stream_capacity;
    ts__ex_lane *lanes;
    size_t lane_count, lane_capacity;
    ts__ex_spare *events;
    size_t event_count, event_capacity;
    uint8_t *scratch;
    ts__scratch contents; // decompressed contents, valid until the next use
    ts__ex_listed lists[2];
    uint32_t list_last; // index of the list requested last
    // The current operation.
    size_t op;
    uint64_t order; // highest order that the chain has reached
    bool late;      // in a chain: the operation is not beyond `order`
    ts_capture now;
    ts__ex_range **regions; // ranges of its regions
    size_t region_capacity;
    uint8_t *args;
    size_t args_capacity;
    // Hashes that the device made of the current range: see ts__ex_device_hash.
    uint64_t device_hashes[2 * TS__EX_DEVICE_HASHES];
    uint64_t device_hash_first, device_hash_end;
    bool device_hash_known, device_hash_wrong;
};

static uint64_t ts__ex_chunks(uint64_t size)
{
    return size / TS_CAPTURE_CHUNK + (size % TS_CAPTURE_CHUNK != 0);
}

static uint64_t ts__ex_chunk_size(uint64_t size, uint64_t chunk)
{
    const uint64_t left = size - chunk * TS_CAPTURE_CHUNK;
    return left < TS_CAPTURE_CHUNK ? left : TS_CAPTURE_CHUNK;
}

// Contents of memory that was never written. This array is never written
// either.
static uint8_t ts__ex_zeros[TS_CAPTURE_CHUNK];

static bool ts__ex_is_zeros(const ts_execution *e, const uint8_t *hash)
{
    return !memcmp(hash, e->zeros, sizeof e->zeros);
}

static void ts__ex_range_free(ts_execution *e, ts__ex_range *r)
{
    const ts_allocator *const a = &e->desc.allocator;
    const size_t chunks = (size_t)ts__ex_chunks(r->size);
    ts__mem_put(a, r->current, chunks * 16);
    ts__mem_put(a, r->recorded, chunks * 16);
    ts__mem_put(a, r->known, chunks);
    ts__mem_put(a, r->bytes, (size_t)r->size);
    ts__mem_put(a, r, sizeof *r);
}

static ts__ex_range *ts__ex_range_new(ts_execution *e,
                                      const ts_capture_region *region)
{
    const ts_allocator *const a = &e->desc.allocator;
    const uint64_t chunks = ts__ex_chunks(region->size);
    ts__ex_range *const r = ts__mem_get(a, sizeof *r);
    if (!r) return NULL;
    memset(r, 0, sizeof *r);
    r->address = region->address;
    r->size = region->size;
    r->device = region->device;
    r->image = region->image;
    r->offset = region->offset;
    if (!chunks) return r;
    // Tables for the claimed size are only allocated after the trace was found
    // to have a list of this length: see ts__ex_is_listed.
    r->current = ts__mem_get(a, (size_t)chunks * 16);
    r->recorded = ts__mem_get(a, (size_t)chunks * 16);
    r->known = ts__mem_get(a, (size_t)chunks);
    if (r->known) memset(r->known, 0, (size_t)chunks);
    if (r->current && r->recorded && r->known) return r;
    ts__ex_range_free(e, r);
    return NULL;
}

// Sets which of a chunk's hashes are known.
static void ts__ex_set_known(const ts__ex_range *r, uint64_t chunk,
                             uint8_t hashes)
{
    r->known[chunk] = (uint8_t)((r->known[chunk] & TS__EX_WRITTEN) | hashes);
}

// Returns the hashes of a list; NULL if the trace has none of the right length.
// They are valid until two other lists are requested.
static const uint8_t *ts__ex_list(ts_execution *e, const uint64_t list[2],
                                  uint64_t size)
{
    const uint64_t length = ts__ex_chunks(size) * 16;
    if (!list[0] && !list[1]) return NULL;
    for (uint32_t i = 0; i < 2; i++) {
        const ts__ex_listed *const known = &e->lists[i];
        if (!known->bytes || known->size != length ||
            memcmp(known->hash, list, sizeof known->hash) != 0)
            continue;
        e->list_last = i;
        return known->bytes;
    }
    ts__ex_listed *const next = &e->lists[!e->list_last];
    const ts__blob_limits limits = { length, length, length, &next->scratch };
    next->bytes = NULL;
    if (ts__reader_blob(e->reader, list, &limits, &next->bytes, &next->size) !=
        TS_OK)
        return NULL;
    memcpy(next->hash, list, sizeof next->hash);
    e->list_last = !e->list_last;
    return next->bytes;
}

// Returns the bytes of a chunk; NULL if the trace does not have them. Chunks of
// zeros need no bytes in the trace and always have the same address. kept: the
// bytes stay valid as long as the reader, otherwise until the next chunk is
// requested.
static const uint8_t *ts__ex_bytes(ts_execution *e, const uint8_t *hash,
                                   uint64_t size, bool kept)
{
    const ts__blob_limits limits = { size, size, size,
                                     kept ? NULL : &e->contents };
    uint64_t key[2];
    const uint8_t *bytes;
    size_t have;
    if (size == TS_CAPTURE_CHUNK && ts__ex_is_zeros(e, hash))
        return ts__ex_zeros;
    memcpy(key, hash, sizeof key);
    ts__reader_blob(e->reader, key, &limits, &bytes, &have);
    return bytes;
}

// Returns the index of a device track; 0 also if it is unknown.
static uint32_t ts__ex_device(const ts_execution *e, uint32_t track)
{
    for (uint32_t i = 0; i < e->device_count; i++)
        if (e->devices[i] == track) return i;
    return 0;
}

// Returns the device track of a stream's track; 0: unknown.
static uint32_t ts__ex_device_track(const ts_execution *e, uint32_t track)
{
    ts_track t = { .parent = track };
    for (int i = 0; i < 8 && t.type != TS_TRACK_DEVICE; i++)
        if (!ts_reader_track(e->reader, t.parent, &t)) return 0;
    return t.type == TS_TRACK_DEVICE ? t.id : 0;
}

static bool ts__ex_has_device(const ts_execution *e, uint32_t track)
{
    const uint32_t device = ts__ex_device(e, track);
    return device < e->device_count && e->devices[device] == track;
}

static ts_reason ts__ex_result_reason(ts_result result)
{
    switch (result) {
    case TS_OK: return TS_REASON_NONE;
    case TS_ERR_MEMORY: return TS_REASON_NO_MEMORY;
    case TS_ERR_BUSY: return TS_REASON_TIMEOUT;
    case TS_ERR_CORRUPT: return TS_REASON_BAD_CAPTURE;
    default: return TS_REASON_DEVICE_FAILED;
    }
}

// Returns why the executor failed. The executor may know a more precise reason
// than its result.
static ts_reason ts__ex_reason(const ts_execution *e, ts_result result)
{
    const ts_executor *const x = e->desc.executor;
    const ts_reason reason = ts__ex_result_reason(result);
    if (reason != TS_REASON_DEVICE_FAILED || !x->reason) return reason;
    const ts_reason own = x->reason(e->state);
    return own && own < TS_REASON_LIMIT ? own : reason;
}
