/* ==== Execution ========================================================== */

/*
    Captured operations, and running them again (docs/execution.md). Counts and
    sizes of a capture are checked when it is read, so that they fit its record;
    addresses, hashes and names are whatever the file contains.
*/

// The encoded attributes of an operation: see ts_attribute_next.
typedef struct ts_attributes {
    const uint8_t *bytes;
    uint64_t size;
} ts_attributes;

// A decoded attribute.
typedef struct ts_attribute {
    uint32_t id, size; // TS_ATTRIBUTE_...; bytes
    const void *bytes; // aligned to 8
} ts_attribute;

// A captured operation. Lifetime: until the reader is closed.
typedef struct ts_capture {
    ts_capture_operation head;        // kind, stream, place in the trace ...
    const ts_capture_param *params;   // head.param_count
    const uint8_t *args;              // head.args_size
    const ts_capture_region *regions; // head.region_count
    ts_attributes attributes;
} ts_capture;

// Returns whether events of a kind change or read the contents of memory, so
// that they may be captured. Other kinds only order operations. They may share
// the correlation of a captured one: an event record made for a wait has the
// correlation of what is waited for.
TS_API bool ts_event_has_contents(uint32_t kind);

// Returns the file descriptor of the trace, so that a caller can examine the
// very file that is being read; -1 for a trace in memory or from a pipe. The
// reader closes it.
TS_API int ts_reader_file(const ts_reader *reader);

// Decodes the attribute at offset *at and moves *at behind it. Begin with 0.
// False at the end.
TS_API bool ts_attribute_next(const ts_attributes *attributes, uint64_t *at,
                              ts_attribute *found);

// Finds the first attribute with an id and at least `size` bytes. False: none.
TS_API bool ts_attribute_find(const ts_attributes *attributes, uint32_t id,
                              uint32_t size, ts_attribute *found);

// A node of a captured graph launch (TS_EVENT_GRAPH_LAUNCH).
typedef struct ts_capture_node {
    ts_capture_operation head; // parameters and regions are those of the launch
    uint32_t index;            // from 1
    uint32_t args_at;          // offset of its arguments in those of the launch
    const uint32_t *after;     // positions, from 0, of nodes that it waits for
    uint32_t after_count;      // elements of `after`
    ts_attributes attributes;
    uint64_t at; // private
} ts_capture_node;

// Gets the node after *node. Begin with a node of zeros. False at the end.
TS_API bool ts_capture_node_next(const ts_capture *capture,
                                 ts_capture_node *node);

// Gets captured operation number `index`, in the order of the file. False past
// the end. Damaged records are left out; the reader lists them. Threads: any.
TS_API bool ts_reader_capture(ts_reader *reader, size_t index,
                              ts_capture *capture);

// Returns the number of captured operations. Threads: any.
TS_API size_t ts_reader_capture_count(ts_reader *reader);

// Gets the code image with a number. False if the trace does not have it.
// Threads: any.
TS_API bool ts_reader_image(ts_reader *reader, uint32_t id,
                            ts_capture_image *image);

// Gets code image number `index`, in the order of the file. False past the end.
// Threads: any.
TS_API bool ts_reader_image_at(ts_reader *reader, size_t index,
                               ts_capture_image *image);

// Returns the name of a ts_reason, such as "VA_UNAVAILABLE"; "unknown" for any
// other number. Static.
TS_API const char *ts_reason_name(uint32_t reason);

// Returns a ts_reason as a clause for people, such as "it works with other
// processes"; "it" is the operation. Static.
TS_API const char *ts_reason_text(uint32_t reason);

// A range of device memory that operations use.
typedef struct ts_executor_range {
    uint64_t address, size; // as recorded
    uint32_t device;        // number, from 0
    const char *name;       // of the device, as recorded; NULL: not known
} ts_executor_range;

// Limit for the size of a compressed code image, as is
// ts_execution_desc.memory_bytes. Operations with larger code are declined.
enum { TS_EXECUTION_CODE_BYTES = 1 << 30 };

// Code that an executor loads.
typedef struct ts_executor_code {
    const char *path;    // of its file when it was recorded
    const char *options; // with which it was built
    const void *bytes;   // valid during the call; NULL: not in the trace
    uint64_t size;
    uint64_t hash[2]; // XXH3-128 of the bytes
    uint32_t form;    // ts_capture_form
} ts_executor_code;

// A kernel launch. Pointers are valid during the call.
typedef struct ts_executor_launch {
    uint64_t module, function; // module: of `load`; function: offset in it
    const char *name;
    const uint32_t *grid, *block; // 3 elements each
    // shared: bytes of dynamic shared memory; args_size: bytes
    uint32_t shared, args_size, param_count;
    const void *args;
    const ts_capture_param *params; // param_count; none for a graph's node
    ts_attributes attributes;
} ts_executor_launch;

typedef struct ts_executor_copy {
    uint64_t destination, source, size; // addresses of a device, unless
    bool to_host, from_host;            // this end is memory of the process
    ts_attributes attributes;
} ts_executor_copy;

// A memset.
typedef struct ts_executor_set {
    uint64_t destination, size;
    uint64_t value; // a byte, unless an attribute holds a pattern
    ts_attributes attributes;
} ts_executor_set;

/*
    An executor runs captured operations on the devices of one vendor. Backends
    implement it; addresses are those of the device. Functions return TS_OK or
    an error. Those with `why` may write one clause for people there, at most
    `room` bytes with its zero.

    Threads: one call at a time for each state.
*/
typedef struct ts_executor {
    const char *name; // as in captures: "vdev"
    bool host_memory; // device memory is memory of this process
    // Attributes that it supports, then a 0; NULL: none. An operation with any
    // other attribute is never run.
    const uint32_t *attributes;
    // Opens the devices. ranges: count ranges that may be allocated, in order
    // of device and address. TS_ERR_UNSUPPORTED: the vendor's library or a
    // device is missing.
    ts_result (*open)(void **state, uint32_t device_count,
                      const ts_executor_range *ranges, size_t count, char *why,
                      size_t room);
    void (*close)(void *state); // state NULL is allowed
    // Optional: returns the reason why the last call failed, unless its result
    // is MEMORY, BUSY or CORRUPT. TS_REASON_NONE: the result says enough.
    ts_reason (*reason)(void *state);
    // Allocates device memory, at *address if possible, and sets *address to
    // where it is. Another address is no failure.
    ts_result (*allocate)(void *state, uint32_t device, uint64_t *address,
                          uint64_t size);
    // Frees what `allocate` returned.
    ts_result (*release)(void *state, uint64_t address);
    // Copy between this process and device memory. Nothing runs meanwhile.
    ts_result (*write)(void *state, uint64_t address, const void *bytes,
                       uint64_t size);
    ts_result (*read)(void *state, void *bytes, uint64_t address,
                      uint64_t size);
    // Loads code. TS_ERR_NOT_FOUND: the code is not available;
    // TS_ERR_UNSUPPORTED: it is for another machine, or of a form that the
    // executor cannot load.
    ts_result (*load)(void *state, const ts_executor_code *code,
                      uint64_t *module, char *why, size_t room);
    // Gets the address of a global variable of a module on a device.
    ts_result (*global)(void *state, uint64_t module, uint32_t device,
                        uint64_t offset, uint64_t size, uint64_t *address);
    // Creates a stream.
    ts_result (*stream)(void *state, uint32_t device, uint64_t flags,
                        uint64_t *stream);
    // Submit an operation to a stream. The caller may change the arguments of a
    // launch when the call returns; host memory of a copy stays valid until the
    // next `wait`.
    ts_result (*launch)(void *state, uint64_t stream,
                        const ts_executor_launch *launch);
    ts_result (*copy)(void *state, uint64_t stream,
                      const ts_executor_copy *copy);
    ts_result (*set)(void *state, uint64_t stream, const ts_executor_set *set);
    // Waits until everything is done. TS_ERR_BUSY: the time is over.
    ts_result (*wait)(void *state, uint32_t timeout_ms);
    // Optional, if streams run concurrently: creates an event that completes
    // when everything submitted to the stream so far is done, and makes a
    // stream wait for an event.
    ts_result (*event)(void *state, uint64_t stream, uint64_t *event);
    ts_result (*event_wait)(void *state, uint64_t stream, uint64_t event);
    // Optional: records an event again; later waits are for the new record.
    // NULL: branches of captured graphs run one after another.
    ts_result (*event_again)(void *state, uint64_t stream, uint64_t event);
    // Optional: graphs. Operations submitted between graph_begin and graph_end
    // become a graph and do not run. The graph begins and ends on `stream`;
    // other streams join it by events. Arguments need to live during the call
    // only, host memory until the execution closes. graph_begin returns
    // TS_ERR_UNSUPPORTED if the device has no graphs. graph_launch returns
    // TS_ERR_BUSY while an earlier launch runs and the device takes no other;
    // the caller tries again until the time is over.
    ts_result (*graph_begin)(void *state, uint64_t stream);
    ts_result (*graph_end)(void *state, uint64_t stream, uint64_t *graph);
    ts_result (*graph_launch)(void *state, uint64_t stream, uint64_t graph);
    // Optional: sets *blank to whether the chunk (TS_CAPTURE_CHUNK bytes) at
    // `address` is still zero because nobody has written it; such memory is
    // neither written nor read. Returns for how many bytes from there on, of
    // one allocation, this holds: at least a chunk, or all that is left.
    // NULL: not known. Nothing runs meanwhile.
    uint64_t (*blank)(void *state, uint64_t address, uint64_t size,
                      bool *blank);
    // Optional: hashes device memory chunk by chunk as captures do, so that
    // only chunks that differ are read. Each chunk has more than 240 bytes.
    // Without it, after a failure, and where reading is faster, everything is
    // read.
    ts_result (*hash)(void *state, uint64_t address, uint64_t size,
                      uint64_t *hashes);
} ts_executor;

/*
    Polls, for executors whose devices have no wait with a timeout: calls
    ask(state) at growing intervals (5 us to 1 ms) until it returns something
    else than TS_ERR_BUSY or the time is over. Returns the last result. Calls it
    at least once.
*/
TS_API ts_result ts_executor_poll(ts_result (*ask)(void *state), void *state,
                                  uint32_t timeout_ms);

/*
    When a value counts as equal to the expected one. NaN equals NaN, an
    infinity equals only itself, and every value equals itself.
*/
typedef enum ts_compare {
    TS_COMPARE_EXACT = 0, // same bits
    TS_COMPARE_ULP = 1,   // at most `tolerance` representable values apart
    TS_COMPARE_RTOL = 2,  // at most `tolerance` times the expected value apart
} ts_compare;

// Element types by their numbers in the format: 1 i8, 2 u8, 3 i32, 4 u32,
// 5 i64, 6 u64, 7 f16, 8 f32, 9 f64, 10 bf16, 11 f8e4m3, 12 f8e5m2.
enum { TS_ELEMENT_F32 = 8, TS_ELEMENT_F64 = 9, TS_ELEMENT_LIMIT = 13 };

// Returns the name of an element type, such as "f32"; NULL: no such type.
TS_API const char *ts_element_name(uint64_t element);

// Returns the size of an element type in bytes; 0: no such type.
TS_API uint32_t ts_element_size(uint64_t element);

// Returns the value of an element as a double; integers are rounded to the
// nearest one. bytes: ts_element_size bytes, little-endian, of any alignment.
TS_API double ts_element_value(uint64_t element, const void *bytes);

// How to run captures. Only `executor` is required.
typedef struct ts_execution_desc {
    const ts_executor *executor TS__UNSET; // required
    // run a chain: each operation starts from the memory that those before it
    // left, in the order of their captures; one that runs again, or out of
    // order, takes nothing from the record (false: each starts from its
    // recorded memory)
    bool chain TS__UNSET;
    bool strict TS__UNSET;         // require recorded addresses (false)
    uint32_t timeout_ms TS__UNSET; // for one operation (10,000)
    uint32_t loops TS__UNSET;      // runs of each from the same contents (1)
    ts_compare compare TS__UNSET;  // (TS_COMPARE_EXACT)
    // element type for ULP and RTOL (TS_ELEMENT_F32)
    uint32_t element TS__UNSET;
    double tolerance TS__UNSET;
    // absolute tolerance: ULP accepts smaller differences as well; RTOL adds it
    // to the relative one (0)
    double absolute TS__UNSET;
    // chain: do not take from the record what was written by the host or by
    // operations that are not replayed (false: take it)
    bool no_patches TS__UNSET;
    ts_allocator allocator TS__UNSET; // (malloc and free)
    // limit for the memory of this process in use at a time; an operation that
    // needs more is declined. A hostile file of a few bytes may ask for any
    // size. Blank memory is not counted if the executor has `blank`.
    // Decompression uses memory of the reader, for one chunk, one code image or
    // two lists at a time (0: no limit)
    uint64_t memory_bytes TS__UNSET;
} ts_execution_desc;

typedef enum ts_outcome {
    TS_OUTCOME_NONE = 0, // not tried, or the process died
    TS_OUTCOME_EXECUTED = 1,
    TS_OUTCOME_SUBSTITUTED = 2, // not run; its recorded results were written
    TS_OUTCOME_DECLINED = 3     // not run, for a reason
} ts_outcome;

// The result of an operation. It has no pointers, so that it may lie in memory
// shared with a process that watches this one.
typedef struct ts_execution_item {
    uint32_t outcome, reason; // ts_outcome, ts_reason
    // 1: all addresses as recorded; 2: addresses rewritten; 0: not run
    uint32_t level;
    uint32_t running; // 1 between launch and end
    uint32_t runs; // completed runs of ts_execution_desc.loops before the last
    bool compared; // the record holds the expected results
    bool diverged; // the results differ from them
    bool unstable; // runs from the same contents gave different results
    bool bytes_known; // `expected` and `found` are set
    // the first difference: region, its recorded address and size, and the
    // offset of the byte in it
    uint32_t region;
    uint64_t address;
    uint64_t size;
    uint64_t offset;
    uint8_t expected[8], found[8]; // bytes from there on
    // compared chunks; those that differ; those that differ within tolerance
    uint64_t chunks, chunks_different, chunks_tolerated;
    // Chunks that a chain took from the record because the record shows that
    // the host, or an operation that is not replayed, changed them since the
    // last replayed operation. Unchanged chunks are never taken.
    uint64_t patched;
    uint64_t patched_different; // of these: held other bytes than recorded
    uint64_t patched_address;   // recorded address of the first of them
    uint64_t elements; // elements that differ in a chunk, if bytes_known
    double largest;    // largest difference of elements in a chunk, without NaN
    uint64_t digest;   // XXH3 of the contents of all regions afterwards
    uint64_t fault_address; // of TS_REASON_ESCAPE
    char why[240];          // details of the reason, in lines, or empty
} ts_execution_item;

// Captures that are prepared to run on an executor. Opaque.
typedef struct ts_execution ts_execution;

/*
    Prepares to run `count` captures, given by their numbers for
    ts_reader_capture, in the order of running. On failure *execution is NULL
    and `why` holds a clause, at most `room` bytes.

    Threads:  one at a time for each execution.
    Errors:   TS_ERR_USAGE (an argument is NULL, no such element type),
              TS_ERR_MEMORY, and those of the executor's `open`.
    Lifetime: the reader, `captures` and the executor must outlive it.
    Free:     ts_execution_close.
*/
TS_API ts_result ts_execution_open(ts_execution **execution, ts_reader *reader,
                                   const size_t *captures, size_t count,
                                   const ts_execution_desc *desc, char *why,
                                   size_t room);

// Frees an execution and its device memory. After a TIMEOUT device memory may
// stay allocated. NULL is allowed.
TS_API void ts_execution_close(ts_execution *execution);

/*
    Runs capture number `index` of the execution, and compares its results with
    the record. *item is updated as it runs, so that it shows what was in flight
    if the process dies. After TS_REASON_TIMEOUT the device is lost: all further
    operations are declined, and the process should end.
*/
TS_API void ts_execution_run(ts_execution *execution, size_t index,
                             ts_execution_item *item);

// One operation waits for another.
typedef struct ts_execution_edge {
    size_t before, after; // indices, before < after
} ts_execution_edge;

/*
    Finds for each of `count` operations the operations of other streams that it
    has to wait for, by the graph of a replay: without inferred edges, and with
    waits of calls for copies only where they are mandatory. operations: indices
    of ts_replay_operation, in order of submission. Edges hold positions in that
    array, in order of `after`.

    Errors: TS_ERR_USAGE an argument is NULL; TS_ERR_MEMORY.
    Free:   ts_execution_edges_free.
*/
TS_API ts_result ts_execution_edges(const ts_replay *replay,
                                    const uint32_t *operations, size_t count,
                                    ts_execution_edge **edges,
                                    size_t *edge_count);

// Frees the edges of ts_execution_edges; count: their number. NULL is allowed.
TS_API void ts_execution_edges_free(const ts_replay *replay,
                                    ts_execution_edge *edges, size_t count);

// Figures of a concurrent run. Updated as it runs, as items are.
typedef struct ts_execution_whole {
    uint64_t sequential_ns; // duration of the first, sequential run
    uint32_t completed;     // operations that it has completed so far
    uint32_t limit_ms;      // time limit for what runs now
    uint64_t ns;       // concurrent run: first submission to last completion
    uint64_t graph_ns; // one launch of the graph, mean of desc.loops
    uint64_t regions, regions_different; // compared at the end
    uint64_t patched; // chunks taken from the record, as in items
    uint32_t parts, streams, events; // events: created
} ts_execution_whole;

/*
    Runs all captures of the execution concurrently, as a chain.

    First all of them run one after another. This identifies operations that
    take too long or kill the process, and completes what a device does only
    once, such as building kernels. If an operation fails here, all are
    declined. Then the chain runs again with concurrent streams: operations are
    submitted in their order, and each begins when those with an edge to it have
    ended. This may take twice the time of the sequential run, plus the limit of
    one operation.

    edges: edge_count of them in order of `after`; edges within a stream are not
    needed. items: one for each capture.

    Contents that were written by something that is not replayed are put in
    place at a point where everything submitted has ended. At the end each
    region is compared with its last recorded contents; a difference is reported
    for the operation that wrote the region last. Memory that was freed and
    allocated again ends a *part*: the next part begins when it is done.

    graph: the submitted operations become one graph, which is launched once and
    compared, and then desc.loops more times to measure its time.

    Errors: TS_ERR_UNSUPPORTED the executor has no events, or no graphs, or a
                               graph would have more than one part
            TS_ERR_USAGE       an argument is NULL
            TS_ERR_MEMORY
            `why` holds a clause. Failures of an operation are in its item.
*/
TS_API ts_result ts_execution_run_concurrent(ts_execution *execution,
                                             const ts_execution_edge *edges,
                                             size_t edge_count, bool graph,
                                             ts_execution_item *items,
                                             ts_execution_whole *whole,
                                             char *why, size_t room);

#endif // TRACESMITH_REPLAY_H
