/* ==== Races ============================================================== */

/*
    Two operations race if they touch the same memory, one of them writes,
    and neither must happen before the other: no path between them in the
    graph. When they ran in the record does not matter.

    What orders: streams, events, syncs, launches, the order of calls on a
    host thread, legacy default streams, graph launches, collectives, and
    dependencies that the source gave. What does not: edges that are inferred
    or come from a full queue, and a copy whose asynchronous call happened to
    return late. On one stream all is in order, even where the record
    overlaps.

    What is known to touch memory: copies and sets (their ranges), device
    allocations and frees, kernels and others for which the trace has events
    of kind `access`, accesses of the host if it reports them, and the host's
    own allocations and frees (without a pool) where a copy or an access
    reaches into them. The source of a copy from pageable memory is read when
    the call is made. A free on a device or context waits for that device.

    For each operation the latest unordered ones of each other stream are
    found, those before them that they are ordered with are not: what orders
    the latest orders those too. An instance is one such pair. Instances with
    the same two launch sites (kind, name, zone, stack) make one race; the
    first of them stands for it.
*/
#define TS_RACES(X) \
    X(WRITE_WRITE, 0, "write_write") \
    X(READ_WRITE, 1, "read_write") \
    X(USE_AFTER_FREE, 2, "use_after_free") \
    X(UNORDERED_FREE, 3, "unordered_free") \
    X(DOUBLE_FREE, 4, "double_free") \
    X(UNORDERED_ALLOC, 5, "unordered_alloc")

// USE_AFTER_FREE and DOUBLE_FREE happen in every order; UNORDERED_FREE is a
// free that may come before the use, UNORDERED_ALLOC a use that may come
// before the allocation.
typedef enum ts_race_kind {
#define TS__X(name, value, text) TS_RACE_##name = value,
    TS_RACES(TS__X)
#undef TS__X
} ts_race_kind;
#define TS_RACE_LIMIT 6

// What would order the two.
#define TS_RACE_FIXES(X) \
    X(EVENT_WAIT, 0, "event_wait") \
    X(HOST_SYNC, 1, "host_sync") \
    X(LAUNCH_LATER, 2, "launch_later") \
    X(FREE_LATER, 3, "free_later") \
    X(FREE_ONCE, 4, "free_once")

// EVENT_WAIT: record an event behind the first, let the stream of the second
// wait for it. HOST_SYNC: the host waits for the first before it does the
// second. LAUNCH_LATER: the host launches the second after it did the first.
typedef enum ts_race_fix {
#define TS__X(name, value, text) TS_RACE_FIX_##name = value,
    TS_RACE_FIXES(TS__X)
#undef TS__X
} ts_race_fix;

TS_API const char *ts_race_name(uint32_t kind);
TS_API const char *ts_race_fix_name(uint32_t fix);

// Who took part. The host's own: kind access, alloc or free.
typedef struct ts_race_side {
    ts_event_kind kind;
    uint32_t file;
    uint32_t operation;     // as ts_replay_operation counts, or TS_NODE_NONE
    uint32_t track, thread; // where it lies; who launched or did it
    uint32_t site, stack;   // of the launch, 0 unknown
    int64_t start_ns, end_ns;
    uint64_t address, size;
    uint32_t mode; // TS_ACCESS_...
} ts_race_side;

typedef struct ts_race {
    ts_race_kind kind;
    ts_race_fix fix;
    ts_race_side first, second; // as launched; else as they ran
    uint64_t address, size;     // that both touch
    bool coarse;                // every instance rests on a coarse access
    uint64_t instances;
} ts_race;

typedef struct ts_races_stats {
    // Operations that are selected and may touch memory: work, host functions,
    // allocations and frees.
    uint64_t operations;
    uint64_t known;         // of these: with ranges
    uint64_t coarse;        // of the known: some range is an allocation's
    uint64_t unplaced;      // of the known: neither stream nor thread known
    uint64_t host;          // the host's accesses, allocations and frees
    uint64_t ranges;        // of all of these
    uint64_t bad_ranges;    // empty or past the end of the address space
    uint64_t lost_accesses; // access events whose operation is not there
    uint64_t unknown_frees; // of what was never seen allocated
    uint64_t unknown_order; // pairs left out: the later one's call is unknown
    uint64_t circle;        // operations not looked at: they wait in a circle
    uint64_t capped;        // lists of unordered partners cut at 64
    uint64_t races;         // also those beyond the 100,000 kept
    uint64_t instances;
} ts_races_stats;

typedef struct ts_races ts_races;

/*
    Looks for races among what a replay has selected. *races is NULL on
    failure. That nothing is known to touch memory is no failure: see `known`
    and `host` of the stats.

    Memory:  about 150 bytes for each range and 40 for each node of the graph.
    Errors:  TS_ERR_UNSUPPORTED (more than 65,536 threads of work),
             TS_ERR_MEMORY.
    Lifetime: the replay must outlive the races.
*/
TS_API ts_result ts_races_open(ts_races **races, const ts_replay *replay);
TS_API void ts_races_close(ts_races *races); // NULL is allowed
TS_API const ts_races_stats *ts_races_result(const ts_races *races);
// In the order in which they were found. False past the end.
TS_API bool ts_races_at(const ts_races *races, size_t index, ts_race *race);
// What to call a side: a kernel's or function's name, else the kind.
TS_API ts_text ts_race_side_label(const ts_races *races,
                                  const ts_race_side *side);

/*
    Other legal orders. All operations with known memory are run again and
    again, in orders that the graph allows, on a symbolic memory: what an
    operation writes is a hash of itself and of all that it reads; a copy
    moves contents, a set fills, a free destroys. After each order the memory
    is compared with that of the recorded order, and so is what the host read.

    Order i of seed s is order 0 of seed s + i, on every machine. Half of the
    orders turn round one pair that races, a quarter runs streams by random
    priorities that change a few times, a quarter runs operations by random
    priorities. What ts_races does not look at (unknown order, two host
    threads, allocations and frees among each other) stays as recorded.

    Two orders in which all pairs that touch the same memory come in the same
    order are one: `distinct` counts those that were not seen before.
*/
typedef struct ts_explore_desc {
    uint64_t orders TS__UNSET; // at most; the first that differs ends it (1)
    uint64_t seed TS__UNSET;   // (0)
    // false ends it (NULL)
    bool (*progress)(void *user, uint64_t done) TS__UNSET;
    void *user TS__UNSET;
} ts_explore_desc;

typedef struct ts_exploration {
    uint64_t orders;     // that were run
    uint64_t distinct;   // of these, up to a million
    uint64_t operations; // of an order; calls and accesses of the host too
    bool differs;
    uint64_t seed; // of the order that differs
    // With `first` right before `second` the memory is as recorded, with
    // just these two swapped it is not.
    ts_race_side first, second;
    uint64_t address, size; // the first range that differs
} ts_exploration;

// Errors: TS_ERR_NOT_FOUND (nothing is known to touch memory), TS_ERR_MEMORY.
TS_API ts_result ts_races_explore(ts_races *races, const ts_explore_desc *desc,
                                  ts_exploration *result);

/*
    The same by hand, for running orders elsewhere, as on a device. A memory
    is ts_races_memory_size bytes, aligned to 8; only one step of it may run
    at a time. Steps are numbered from 0 to `operations` of the exploration,
    in the recorded order.

    Errors of ts_races_order: as ts_races_explore.
*/
TS_API size_t ts_races_memory_size(const ts_races *races);
TS_API void ts_races_memory_clear(const ts_races *races, void *memory);
TS_API void ts_races_memory_step(const ts_races *races, void *memory,
                                 uint32_t step);
// Of what is left: the memory and what the host read.
TS_API uint64_t ts_races_memory_digest(const ts_races *races,
                                       const void *memory);
// The stream or thread of a step, numbered from 0.
TS_API uint32_t ts_races_step_lane(const ts_races *races, uint32_t step);
// seed: of an order (NULL: the recorded one). order: receives all steps.
TS_API ts_result ts_races_order(ts_races *races, const uint64_t *seed,
                                uint32_t *order);
