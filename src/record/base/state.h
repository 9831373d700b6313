/* ---- State -------------------------------------------------------------- */

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
