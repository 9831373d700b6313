/* ==== Execution ========================================================== */

/*
    What a trace holds to run its operations again (docs/execution.md). All of
    it is checked when it is read: counts and sizes fit the record, but
    addresses, hashes and names say what the file says.
*/
typedef struct ts_attributes { // of an operation
    const uint8_t *bytes;
    uint64_t size;
} ts_attributes;

typedef struct ts_attribute {
    uint32_t id, size;
    const void *bytes; // on a multiple of 8
} ts_attribute;

typedef struct ts_capture {
    ts_capture_operation head;
    const ts_capture_param *params;   // head.param_count
    const uint8_t *args;              // head.args_size
    const ts_capture_region *regions; // head.region_count
    ts_attributes attributes;
} ts_capture;

// Whether rows of a kind are operations on contents, and one of them may be
// what was captured. Others only order them, but may have their correlation:
// the record of an event that was made for a wait has that of what is waited
// for.
TS_API bool ts_event_has_contents(uint32_t kind);

// The file that is read, open for as long as the reader; -1: bytes in memory.
// So what is asked of the file is asked of what was read.
TS_API int ts_reader_file(const ts_reader *reader);

// The attribute at *at, which moves behind it; begin with 0. False: no more.
TS_API bool ts_attribute_next(const ts_attributes *attributes, uint64_t *at,
                              ts_attribute *found);
// The first of an id that has at least `size` bytes.
TS_API bool ts_attribute_find(const ts_attributes *attributes, uint32_t id,
                              uint32_t size, ts_attribute *found);

// A node of a captured launch of a graph (TS_EVENT_GRAPH_LAUNCH).
typedef struct ts_capture_node {
    ts_capture_operation head; // parameters and regions are the launch's
    uint32_t index;            // from 1
    uint32_t args_at;          // where its arguments are in the launch's
    const uint32_t *after;     // positions, from 0, of nodes that it waits for
    uint32_t after_count;
    ts_attributes attributes;
    uint64_t at; // private
} ts_capture_node;

// The one behind *node; begin with all zeros. False: no more.
TS_API bool ts_capture_node_next(const ts_capture *capture,
                                 ts_capture_node *node);

// By position in the file, from 0, false past the end. Damaged records are
// left out and stand in the reader's list.
TS_API bool ts_reader_capture(ts_reader *reader, size_t index,
                              ts_capture *capture);
TS_API size_t ts_reader_capture_count(ts_reader *reader);
// Code by its number; false if the trace does not have it.
TS_API bool ts_reader_image(ts_reader *reader, uint32_t id,
                            ts_capture_image *image);
TS_API bool ts_reader_image_at(ts_reader *reader, size_t index,
                               ts_capture_image *image);

// "VA_UNAVAILABLE", ...; an unknown number gives "unknown".
TS_API const char *ts_reason_name(uint32_t reason);
// The same for people: "it was not asked for"; of an operation, which `it` is.
TS_API const char *ts_reason_text(uint32_t reason);

/*
    Runs operations: one vendor's devices. Addresses are the device's own.
    Functions give TS_OK or why not, and put one clause for people into `why`,
    where they have one, with its zero at most `room` bytes.
*/
typedef struct ts_executor_range { // memory that will be wanted
    uint64_t address, size;
    uint32_t device;  // from 0
    const char *name; // of the device, as recorded; NULL: not known
} ts_executor_range;

// Bytes of an image of code that is compressed in the trace, at most, and no
// more than ts_execution_desc.memory_bytes: operations of a larger one are
// declined.
enum { TS_EXECUTION_CODE_BYTES = 1 << 30 };

typedef struct ts_executor_code {
    const char *path;    // where it was
    const char *options; // how it was built
    const void *bytes;   // until the call is over; NULL: the trace has none
    uint64_t size;
    uint64_t hash[2]; // XXH3-128 of the bytes
    uint32_t form;    // ts_capture_form
} ts_executor_code;

typedef struct ts_executor_launch {
    uint64_t module, function; // function: offset in the module
    const char *name;
    const uint32_t *grid, *block; // 3 each
    uint32_t shared, args_size, param_count;
    const void *args;
    const ts_capture_param *params; // none of a node of a graph
    ts_attributes attributes;
} ts_executor_launch;

typedef struct ts_executor_copy {
    uint64_t destination, source, size;
    bool to_host, from_host; // this end is memory of the process
    ts_attributes attributes;
} ts_executor_copy;

typedef struct ts_executor_set {
    uint64_t destination, size;
    uint64_t value; // a byte, unless an attribute has a pattern
    ts_attributes attributes;
} ts_executor_set;

typedef struct ts_executor {
    const char *name; // as captures have it: "vdev"
    bool host_memory; // that of its devices is the process's own
    // The attributes that it heeds, then 0; NULL: none. An operation with
    // another one is never run.
    const uint32_t *attributes;
    // ranges: all that may be allocated, in order of device and address.
    // TS_ERR_UNSUPPORTED: the vendor's library or device is not there.
    ts_result (*open)(void **state, uint32_t device_count,
                      const ts_executor_range *ranges, size_t count, char *why,
                      size_t room);
    void (*close)(void *state); // NULL is allowed
    // Why the last call failed, if its result is none of MEMORY, BUSY and
    // CORRUPT (NULL, or TS_REASON_NONE: as the result says).
    ts_reason (*reason)(void *state);
    // *address: the one that is wanted, then the one that it is. Another one
    // is no failure.
    ts_result (*allocate)(void *state, uint32_t device, uint64_t *address,
                          uint64_t size);
    ts_result (*release)(void *state, uint64_t address);
    // Nothing runs meanwhile.
    ts_result (*write)(void *state, uint64_t address, const void *bytes,
                       uint64_t size);
    ts_result (*read)(void *state, void *bytes, uint64_t address,
                      uint64_t size);
    // TS_ERR_NOT_FOUND: the code is not there; TS_ERR_UNSUPPORTED: it is for
    // another machine, or of a form that this cannot load.
    ts_result (*load)(void *state, const ts_executor_code *code,
                      uint64_t *module, char *why, size_t room);
    // The address of a variable of a module, which each device has its own of.
    ts_result (*global)(void *state, uint64_t module, uint32_t device,
                        uint64_t offset, uint64_t size, uint64_t *address);
    ts_result (*stream)(void *state, uint32_t device, uint64_t flags,
                        uint64_t *stream);
    // The arguments of a launch may change when the call is over; memory of
    // the host that a copy names stays until a wait.
    ts_result (*launch)(void *state, uint64_t stream,
                        const ts_executor_launch *launch);
    ts_result (*copy)(void *state, uint64_t stream,
                      const ts_executor_copy *copy);
    ts_result (*set)(void *state, uint64_t stream, const ts_executor_set *set);
    // Waits for everything; TS_ERR_BUSY: it takes longer.
    ts_result (*wait)(void *state, uint32_t timeout_ms);
    // Events, where streams run beside each other; NULL: they do not.
    // A new one is reached when what the stream has so far is over.
    ts_result (*event)(void *state, uint64_t stream, uint64_t *event);
    ts_result (*event_wait)(void *state, uint64_t stream, uint64_t event);
    // The same event once more, for those that are told to wait from now on.
    // NULL: branches of captured graphs go one after another.
    ts_result (*event_again)(void *state, uint64_t stream, uint64_t event);
    // What is submitted between begin and end becomes a graph and does not
    // run. All of it begins and ends on `stream`: others join it by events.
    // Arguments may go after a call, memory of the host stays until the
    // execution closes. NULL: it has no graphs; TS_ERR_UNSUPPORTED of the
    // first: this device has none.
    // TS_ERR_BUSY of a launch: one before it still runs, and the device takes
    // no other. It is asked again until that is over, or for too long.
    ts_result (*graph_begin)(void *state, uint64_t stream);
    ts_result (*graph_end)(void *state, uint64_t stream, uint64_t *graph);
    ts_result (*graph_launch)(void *state, uint64_t stream, uint64_t graph);
    // How many bytes from `address` on, of one allocation, are alike, in chunks
    // of TS_CAPTURE_CHUNK from there: memory that nobody has written since it
    // was zeros (*blank), which is then neither written nor read, or any other.
    // At least a chunk, or all. NULL: it never knows. Nothing runs meanwhile.
    uint64_t (*blank)(void *state, uint64_t address, uint64_t size,
                      bool *blank);
    // The hashes of memory of a device, chunk by chunk as captures have them,
    // so that only what differs is read. Each chunk has more than 240 bytes.
    // NULL, or any failure: all of it is read, as where that takes less time.
    ts_result (*hash)(void *state, uint64_t address, uint64_t size,
                      uint64_t *hashes);
} ts_executor;

/*
    For executors whose devices have no wait with a bound: asks again and again,
    less and less often, until the answer is another one than TS_ERR_BUSY or
    the time is over, and returns the last answer. At least once.
*/
TS_API ts_result ts_executor_poll(ts_result (*ask)(void *state), void *state,
                                  uint32_t timeout_ms);

/*
    When another value passes for the expected one. NaN passes for NaN, an
    infinity for itself alone, and a value for itself.
*/
typedef enum ts_compare {
    TS_COMPARE_EXACT = 0,
    TS_COMPARE_ULP = 1,  // at most `tolerance` representable values apart
    TS_COMPARE_RTOL = 2, // at most `tolerance` times the expected value apart
} ts_compare;

// Types of elements, by their numbers in the format: 1 i8, 2 u8, 3 i32, 4 u32,
// 5 i64, 6 u64, 7 f16, 8 f32, 9 f64, 10 bf16, 11 f8e4m3, 12 f8e5m2.
enum { TS_ELEMENT_F32 = 8, TS_ELEMENT_F64 = 9, TS_ELEMENT_LIMIT = 13 };
// "f32"; NULL: no such type.
TS_API const char *ts_element_name(uint64_t element);
TS_API uint32_t ts_element_size(uint64_t element); // in bytes; 0 likewise
// Of a float what it holds; of whole numbers the nearest double.
TS_API double ts_element_value(uint64_t element, const void *bytes);

typedef struct ts_execution_desc {
    const ts_executor *executor TS__UNSET; // required
    // operations go on with what those before them left, in the order of their
    // captures; what is run again, or too late, takes nothing from the record
    // (false: each starts from what the record has)
    bool chain TS__UNSET;
    bool strict TS__UNSET;         // memory must have its old addresses (false)
    uint32_t timeout_ms TS__UNSET; // of one operation (10,000)
    uint32_t loops TS__UNSET; // run each so often from the same contents (1)
    ts_compare compare TS__UNSET; // (TS_COMPARE_EXACT)
    // type for the other comparisons (TS_ELEMENT_F32)
    uint32_t element TS__UNSET;
    double tolerance TS__UNSET;
    // with ULP, what is no further apart passes as well; with RTOL it is added
    // to what that allows (0)
    double absolute TS__UNSET;
    // in a chain: what nobody replayed wrote does not exist (false: the record
    // gives it)
    bool no_patches TS__UNSET;
    ts_allocator allocator TS__UNSET; // (malloc and free)
    // Of memory of this process, at once: an operation that needs more is
    // declined. A few bytes of a file may ask for any size (0: no limit). Where
    // the executor tells what is blank, zeros are not counted. What is
    // compressed in the trace takes memory of the reader, for one chunk, one
    // image of code or two lists at a time.
    uint64_t memory_bytes TS__UNSET;
} ts_execution_desc;

typedef enum ts_outcome {
    TS_OUTCOME_NONE = 0, // not tried, or it took the process along
    TS_OUTCOME_EXECUTED = 1,
    TS_OUTCOME_SUBSTITUTED = 2, // its recorded results take its place
    TS_OUTCOME_DECLINED = 3
} ts_outcome;

// What came of an operation. Plain memory: it may be shared with a process
// that watches.
typedef struct ts_execution_item {
    uint32_t outcome, reason; // ts_outcome, ts_reason
    uint32_t level;   // 1: all addresses as recorded, 2: rewritten, 0: not run
    uint32_t running; // between launch and end
    uint32_t runs;    // of ts_execution_desc.loops, before the last one
    bool compared;    // the record knows what must come out
    bool diverged;    // and it did not
    bool unstable;    // runs from the same contents gave different results
    bool bytes_known; // expected and found hold values
    uint32_t region;  // of the first difference, with its ...
    uint64_t address; // recorded address ...
    uint64_t size;    // size ...
    uint64_t offset;  // and the byte in it
    uint8_t expected[8], found[8];
    uint64_t chunks, chunks_different, chunks_tolerated;
    // Chunks that a chain took from the record, because they had changed there
    // since the last replayed operation: the host wrote them, or an operation
    // that is not replayed. Never those that would be as it left them.
    uint64_t patched;
    uint64_t patched_different; // of these, what held other bytes than recorded
    uint64_t patched_address;   // of the first in its recorded place
    uint64_t elements;          // of a chunk that differ, where bytes are known
    double largest;         // difference between elements of a chunk, but for
                            // NaN
    uint64_t digest;        // XXH3 of the contents of all regions after it
    uint64_t fault_address; // of an ESCAPE
    char why[240];          // more about the reason in lines, or empty
} ts_execution_item;

typedef struct ts_execution ts_execution;

/*
    Prepares to run captures: `count` positions for ts_reader_capture, in order.
    *execution is NULL on failure, and `why` says it.

    Errors: TS_ERR_USAGE (an element type that is none among them),
            TS_ERR_MEMORY, and those of the executor.
    Lifetime: the reader, the positions and the executor must outlive it.
*/
TS_API ts_result ts_execution_open(ts_execution **execution, ts_reader *reader,
                                   const size_t *captures, size_t count,
                                   const ts_execution_desc *desc, char *why,
                                   size_t room);
TS_API void ts_execution_close(ts_execution *execution); // NULL is allowed

/*
    Runs one, and compares what it leaves. The item is written as it goes, so
    that it tells what was under way if the process ends. After a TIMEOUT the
    device is lost: the process should end, everything else is declined.
*/
TS_API void ts_execution_run(ts_execution *execution, size_t index,
                             ts_execution_item *item);

typedef struct ts_execution_edge {
    size_t before, after; // indices, before < after
} ts_execution_edge;

/*
    What operations of other streams each of some has to wait for, as the graph
    of a replay has it: without what is inferred, and where calls wait for
    copies only if they must. operations: as ts_replay_operation counts, in the
    order in which they are to be submitted; edges are of positions in it.

    Errors: TS_ERR_MEMORY. Free: ts_execution_edges_free.
*/
TS_API ts_result ts_execution_edges(const ts_replay *replay,
                                    const uint32_t *operations, size_t count,
                                    ts_execution_edge **edges,
                                    size_t *edge_count);
TS_API void ts_execution_edges_free(const ts_replay *replay,
                                    ts_execution_edge *edges, size_t count);

typedef struct ts_execution_whole {
    uint64_t alone_ns; // of all of them one after another, at first
    uint32_t alone;    // how many were over then; changes while they run
    uint32_t limit_ms; // how long what runs now may take
    uint64_t ns;       // from the first submission until all was over
    uint64_t graph_ns; // of one launch of the graph, the mean of desc.loops
    uint64_t regions, regions_different; // compared at the end
    uint64_t patched; // chunks that came from the record, as items say
    uint32_t parts, streams, events; // events: made
} ts_execution_whole;

/*
    Runs all of them as a chain, one after another, so that what takes too long
    or the process along is known, and what a device does the first time (it
    builds kernels) is done; if one did, all are declined. Then again from the
    beginning as a chain whose streams run beside each other: submits them in
    their order, and lets each begin when those with an edge to it have ended.
    They may take twice the time that they took alone, and the limit of one.
    Edges come in order of `after`; within a stream there need be none.
    What nobody replayed wrote meanwhile is put in place where everything else
    has ended. At the end each region is compared with what the record had of
    it last, and what differs is said of the operation that wrote it last.
    Memory that was freed and taken again ends a part: the next one begins when
    it is over.

    graph: what is submitted becomes one graph, which is launched once and
    compared, and then desc.loops times more for its time alone.

    Errors: TS_ERR_UNSUPPORTED (the executor has no events, or no graphs, or it
            takes more than one part), TS_ERR_MEMORY, with a clause in `why`;
            what went wrong with an operation is in its item.
*/
TS_API ts_result ts_execution_run_concurrent(ts_execution *execution,
                                             const ts_execution_edge *edges,
                                             size_t edge_count, bool graph,
                                             ts_execution_item *items,
                                             ts_execution_whole *whole,
                                             char *why, size_t room);

#endif // TRACESMITH_REPLAY_H
