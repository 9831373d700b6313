/* ==== Races ============================================================== */

/*
    Two operations race if they access the same memory, at least one of them
    writes it, and neither has to happen before the other: the graph has no path
    between them. Their times in the record do not matter.

    These order operations: streams, events, syncs, launches, the order of calls
    on a host thread, legacy default streams, graph launches, collectives, and
    dependencies stated by the trace. These do not: inferred edges, edges of a
    full queue, and a copy whose asynchronous call returned late in this run.
    Operations of one stream are in order, even where they overlap in the
    record.

    Accesses are known for copies and memsets (their ranges), device allocations
    and frees, operations that have events of kind `access`, host accesses that
    the trace reports, and the host's own allocations and frees (without a pool)
    where a copy or an access reaches into them. The source of a copy from
    pageable memory is read when the call is made. A free on a device or context
    waits for that device.

    For each operation the latest unordered one of each other stream is found,
    but not the ones before it on that stream: a fix that orders the latest one
    orders them, too. Such a pair is an *instance*. Instances with the same two
    launch sites (kind, name, zone, stack) form one *race*, which the first of
    them represents.
*/
#define TS_RACES(X) \
    X(WRITE_WRITE, 0, "write_write") \
    X(READ_WRITE, 1, "read_write") \
    X(USE_AFTER_FREE, 2, "use_after_free") \
    X(UNORDERED_FREE, 3, "unordered_free") \
    X(DOUBLE_FREE, 4, "double_free") \
    X(UNORDERED_ALLOC, 5, "unordered_alloc")

// WRITE_WRITE and READ_WRITE: two unordered accesses. UNORDERED_FREE: a free
// that may come before the use. UNORDERED_ALLOC: a use that may come before the
// allocation. USE_AFTER_FREE and DOUBLE_FREE are wrong in every order.
typedef enum ts_race_kind {
#define TS__X(name, value, text) TS_RACE_##name = value,
    TS_RACES(TS__X)
#undef TS__X
} ts_race_kind;
#define TS_RACE_LIMIT 6

// How to repair a race.
#define TS_RACE_FIXES(X) \
    X(EVENT_WAIT, 0, "event_wait") \
    X(HOST_SYNC, 1, "host_sync") \
    X(LAUNCH_LATER, 2, "launch_later") \
    X(FREE_LATER, 3, "free_later") \
    X(FREE_ONCE, 4, "free_once")

// EVENT_WAIT: record an event after the first operation and let the stream of
// the second wait for it. HOST_SYNC: let the host wait for the first before it
// does the second. LAUNCH_LATER: let the host launch the second after it did
// the first. FREE_LATER: free after the last use. FREE_ONCE: remove one free.
typedef enum ts_race_fix {
#define TS__X(name, value, text) TS_RACE_FIX_##name = value,
    TS_RACE_FIXES(TS__X)
#undef TS__X
} ts_race_fix;

// Returns the name of a ts_race_kind, such as "write_write"; "unknown" for any
// other number. Static.
TS_API const char *ts_race_name(uint32_t kind);

// Returns the name of a ts_race_fix, such as "event_wait"; "unknown" for any
// other number. Static.
TS_API const char *ts_race_fix_name(uint32_t fix);

// One of the two accesses of a race. Those that the host itself makes have the
// kind access, alloc or free.
typedef struct ts_race_side {
    ts_event_kind kind;
    uint32_t file;
    uint32_t operation;       // index of ts_replay_operation, or TS_NODE_NONE
    uint32_t track, thread;   // its track; the thread that launched or did it
    uint32_t site, stack;     // of the launch; 0 unknown
    int64_t start_ns, end_ns; // as recorded
    uint64_t address, size;   // of the accessed range
    uint32_t mode;            // TS_ACCESS_...
} ts_race_side;

typedef struct ts_race {
    ts_race_kind kind;
    ts_race_fix fix;
    ts_race_side first, second; // in order of launch, else of time
    uint64_t address, size;     // range that both access
    bool coarse; // every instance rests on a coarse access (a whole allocation)
    uint64_t instances;
} ts_race;

// How much the search covered, and what it found.
typedef struct ts_races_stats {
    // selected operations that may access memory: work, host functions,
    // allocations and frees
    uint64_t operations;
    uint64_t known;         // of these: their ranges are known
    uint64_t coarse;        // of the known: a range is a whole allocation
    uint64_t unplaced;      // of the known: neither stream nor thread is known
    uint64_t host;          // accesses, allocations and frees of the host
    uint64_t ranges;        // of all of these
    uint64_t bad_ranges;    // empty, or past the end of the address space
    uint64_t lost_accesses; // access events whose operation is not in the trace
    uint64_t unknown_frees; // of memory whose allocation is not in the trace
    uint64_t unknown_order; // pairs left out: the call of the later is unknown
    uint64_t cycle;         // operations left out: they wait in a cycle
    uint64_t capped;        // lists of unordered partners cut at 64
    uint64_t races;         // found; the first 100,000 are kept
    uint64_t instances;
} ts_races_stats;

// The races of a replay. Opaque.
typedef struct ts_races ts_races;

/*
    Searches for races among the selected operations of a replay. *races is NULL
    on failure. It is no failure if no access is known: see `known` and `host`
    of the stats.

    Threads:  many threads may read it, but ts_races_explore and ts_races_order
              need it alone.
    Memory:   about 150 bytes for each range and 40 for each node of the graph.
    Errors:   TS_ERR_UNSUPPORTED more than 65,536 streams and threads, or 2^30
                                 ranges
              TS_ERR_USAGE       an argument is NULL
              TS_ERR_MEMORY
    Lifetime: the replay must outlive it.
    Free:     ts_races_close.
*/
TS_API ts_result ts_races_open(ts_races **races, const ts_replay *replay);

// Frees the races and everything that they returned. NULL is allowed.
TS_API void ts_races_close(ts_races *races);

// Returns the figures of the search. Lifetime: until close.
TS_API const ts_races_stats *ts_races_result(const ts_races *races);

// Gets race number `index`, in the order of discovery. False past the end.
TS_API bool ts_races_at(const ts_races *races, size_t index, ts_race *race);

// Returns a name for a side: that of its kernel or function, else of its kind.
// Lifetime: as long as the reader is open.
TS_API ts_text ts_race_side_label(const ts_races *races,
                                  const ts_race_side *side);

/*
    An exploration runs the operations with known accesses again and again, in
    other orders that the graph allows, on a symbolic memory. An operation
    writes a hash of itself and of everything that it reads; a copy moves
    contents, a memset fills, a free destroys. After each order the memory, and
    what the host read, are compared with the recorded order.

    Order i of seed s equals order 0 of seed s + i, on every machine. Half of
    the orders reverse one racing pair, a quarter schedules streams by random
    priorities that change a few times, a quarter schedules operations by random
    priorities. Pairs that ts_races does not examine (unknown order, two host
    threads, allocations and frees among each other) keep their recorded order.

    Two orders are equivalent if all pairs that access the same memory come in
    the same order in both; `distinct` counts orders without an equivalent
    earlier one.
*/
typedef struct ts_explore_desc {
    // how many orders to try; the first that differs ends the exploration (1)
    uint64_t orders TS__UNSET;
    uint64_t seed TS__UNSET; // (0)
    // called with the number of orders done; false ends the exploration (NULL)
    bool (*progress)(void *user, uint64_t done) TS__UNSET;
    void *user TS__UNSET;
} ts_explore_desc;

typedef struct ts_exploration {
    uint64_t orders;     // that were run
    uint64_t distinct;   // of these, counted up to a million
    uint64_t operations; // steps of an order, with calls and host accesses
    bool differs;        // some order leaves other contents than recorded
    uint64_t seed;       // of the order that differs
    // The cause: with `first` right before `second` the memory is as recorded;
    // if just these two are swapped, it is not.
    ts_race_side first, second;
    uint64_t address, size; // the first range that differs
} ts_exploration;

/*
    Runs other legal orders (desc NULL: one order of seed 0) and reports the
    first that differs.

    Errors: TS_ERR_NOT_FOUND no access is known
            TS_ERR_USAGE     races or result is NULL
            TS_ERR_MEMORY
*/
TS_API ts_result ts_races_explore(ts_races *races, const ts_explore_desc *desc,
                                  ts_exploration *result);

/*
    The following functions are the parts of ts_races_explore, for programs that
    run orders themselves, for example on a device. The caller allocates a
    symbolic memory, aligned to 8 bytes. The steps of an order are numbered from
    0 in the recorded order; ts_exploration.operations is their number.

    Threads: one step of a memory at a time.
*/

// Returns the size of a symbolic memory in bytes.
TS_API size_t ts_races_memory_size(const ts_races *races);

// Initialises a symbolic memory before the first step of an order.
TS_API void ts_races_memory_clear(const ts_races *races, void *memory);

// Runs a step on a symbolic memory. Does nothing past the last step.
TS_API void ts_races_memory_step(const ts_races *races, void *memory,
                                 uint32_t step);

// Returns a digest of the contents of a symbolic memory and of what the host
// read.
TS_API uint64_t ts_races_memory_digest(const ts_races *races,
                                       const void *memory);

// Returns the stream or thread of a step, numbered from 0; 0 past the last
// step.
TS_API uint32_t ts_races_step_lane(const ts_races *races, uint32_t step);

/*
    Gets an order: that of *seed, or the recorded one (seed NULL). order
    receives all steps.

    Errors: TS_ERR_NOT_FOUND (no access is known), TS_ERR_MEMORY.
*/
TS_API ts_result ts_races_order(ts_races *races, const uint64_t *seed,
                                uint32_t *order);
