/* ==== GPU ================================================================ */

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
