/* ==== Models ============================================================== */

/*
    TS_REPLAY_MODEL puts constants in the place of recorded delays, so that a
    change of one thing moves what depends on it and nothing else:

    - Every edge has a class: its kind, what it leads from and to, the device,
      and the function that was called. The delay of a class is the mean of
      what the record shows of it where the edge was the one that held its
      node back, outliers left out. A class with fewer than eight such samples
      takes the delay of a coarser one, a kind without any a small constant,
      no longer than its shortest sample (`assumed`).
    - Delays on the host, between calls and within them, stay as recorded,
      except where a call waited for a device.
    - A class is where its samples are dense: the shortest interval that holds
      half of them, if it is no wider than the delays of one cause are (20 us
      for launches and returns of syncs, 5 us on a device, or as wide as its
      least delay), else the fullest interval so wide. A node whose delay is
      further from that than three times its width, or than these limits, and
      a microsecond for noise, is *unexplained*: it keeps what the record
      shows, and is counted. So a long wait for something that nobody recorded
      is neither spread over all nodes nor taken for a property of the device.
    - Where operations of a stream overlap, the later one keeps its place
      within the earlier one, in proportion.
    - A collective ends the shortest recorded duration of its members after
      the last of them has arrived.
    - A copy waits if its device has all copy engines of the direction busy.

    Means, not medians, so that errors do not add up: the modelled delays of a
    class have the sum of the recorded ones.
*/
typedef enum ts_replay_mode {
    TS_REPLAY_EXACT = 0, // every node keeps its own recorded delay
    TS_REPLAY_MODEL = 1
} ts_replay_mode;

// What the time of a run is spent on.
#define TS_COSTS(X) \
    X(HOST, 0, "host") \
    X(LAUNCH, 1, "launch") \
    X(COMPUTE, 2, "compute") \
    X(COPY, 3, "copy") \
    X(COMMUNICATION, 4, "communication") \
    X(SYNC, 5, "sync") \
    X(UNEXPLAINED, 6, "unexplained")
typedef enum ts_cost {
#define TS__X(name, value, text) TS_COST_##name = value,
    TS_COSTS(TS__X)
#undef TS__X
} ts_cost;
#define TS_COST_LIMIT 7
// "host", "launch", ...; an unknown number gives "unknown".
TS_API const char *ts_cost_name(uint32_t cost);

// A rational number; 0 over 0 stands for 1.
typedef struct ts_ratio {
    uint32_t num, den;
} ts_ratio;

/*
    A change to what a model replays. Changes apply in the order given and add
    up; each means the operations that `operations` says, as far as it can
    apply to them. Products are rounded half up.
*/
typedef enum ts_change_type {
    TS_CHANGE_SCALE = 1,    // durations times `factor`
    TS_CHANGE_REMOVE = 2,   // they take no time, nor do calls that launched
                            // nothing else; what waited for them waits for
                            // what they waited for
    TS_CHANGE_INSERT = 3,   // after each, one of `ns`, whose call takes as long
    TS_CHANGE_TRANSFER = 4, // duration T becomes a' + (T - a) * factor, where
                            // a is what one of no bytes would take, by `sizes`
                            // (without: the shortest) of their direction and
                            // device, or communicator, a' is `ns` if has_ns,
                            // else a; for copies and collectives
    TS_CHANGE_MOVE = 5, // to stream `track` of their file, in order of issue
    TS_CHANGE_FUSE = 6, // what follows another on its stream needs no launch
    TS_CHANGE_SERIALISE = 7, // one stream for each device, in order of issue;
                             // both: behind what they wait for
    TS_CHANGE_NO_LAUNCH = 8, // calls that launch take no time, launches
                             // arrive at once
    TS_CHANGE_HOST = 9,      // what the host does takes `factor` times as
                             // long; `operations` does not matter
    TS_CHANGE_OVERLAP = 10,  // no kernel waits for a copy or a collective
    TS_CHANGE_CUT = 11, // edges of the kinds in `edges` from them, or to them,
                        // hold nothing back
    TS_CHANGE_SPARE = 12, // what the host does in `spans` takes no time, and a
                          // call that returns in one waits for nothing;
                          // `operations` does not matter
    TS_CHANGE_BEGIN = 13  // what nothing of the record led to, as the first
                          // call of a thread, comes `sooner_ns` of its part
                          // sooner; `operations` does not matter
} ts_change_type;

// Of a thread's time, as recorded, on the axis of the replay.
typedef struct ts_host_span {
    uint32_t file TS__UNSET, thread TS__UNSET; // track
    int64_t start_ns TS__UNSET, end_ns TS__UNSET;
} ts_host_span;

typedef struct ts_change {
    ts_change_type type TS__UNSET;
    // of each that ts_replay_operation gives (all)
    const bool *operations TS__UNSET;
    ts_ratio factor TS__UNSET; // (1)
    int64_t ns TS__UNSET;
    bool has_ns TS__UNSET;
    // TS_CHANGE_HOST: only `part` of ts_replay_part_at (all)
    bool one_part TS__UNSET;
    uint32_t part TS__UNSET;
    uint32_t track TS__UNSET; // TS_CHANGE_MOVE
    uint32_t edges TS__UNSET; // TS_CHANGE_CUT: bits 1 << ts_edge_kind
    // TS_CHANGE_SPARE: span_count of them, in any order; they may overlap
    const ts_host_span *spans TS__UNSET;
    size_t span_count TS__UNSET;
    // TS_CHANGE_BEGIN: of each that ts_replay_part_at gives (none)
    const int64_t *sooner_ns TS__UNSET;
    // TS_CHANGE_TRANSFER: bytes of each operation, 0 unknown (NULL: all)
    const uint64_t *sizes TS__UNSET;
} ts_change;

// A class of delays, as a model uses it.
typedef struct ts_delay {
    uint32_t kind;     // ts_edge_kind
    uint32_t from, to; // kinds of operations; 0: the host, or several
    uint32_t device;   // track; 0: not of one
    uint32_t name;     // of the function called; 0: none, or several
    uint32_t file;
    int64_t delay_ns;        // what stands for the recorded ones
    int64_t low_ns, high_ns; // samples outside stay as recorded
    uint64_t edges, samples; // samples: where the edge held its node back
    bool coarser; // too few samples: the delay is that of a coarser class
    bool assumed; // no sample at all
} ts_delay;
// After a run in TS_REPLAY_MODEL. False past the end.
TS_API bool ts_replay_delay(const ts_replay *replay, size_t index,
                            ts_delay *delay);

/*
    The critical path of the last run: from the end that comes last back to
    the start of the schedule, always to what held a node back. Parts are in
    order of time, without gaps: their sum is the makespan, end_ns - start_ns
    of the stats. A wait costs what its edge stands for as long as its class
    takes, in either mode: the rest, if that is more than the samples of the
    class explain, is unexplained.
*/
typedef struct ts_path_part {
    int64_t start_ns, end_ns;
    uint32_t node; // that runs, or that waits: see `waits`
    uint32_t edge; // waits: ts_edge_kind of what it waited for
    bool waits;
    ts_cost cost;
} ts_path_part;

typedef struct ts_path {
    const ts_path_part *parts;
    size_t count;
    int64_t cost_ns[TS_COST_LIMIT]; // sums of the parts
    ts_cost bound;                  // the largest of them
    int64_t assumed_ns; // of a model: delays of which the record shows fewer
                        // than eight cases, or none
} ts_path;

// Lifetime: until the next run or close.
// Errors:   TS_ERR_STATE (no run), TS_ERR_MEMORY.
TS_API ts_result ts_replay_path(ts_replay *replay, ts_path *path);

/*
    Iterations: zones called "ProfilerStep#N", else frames, of the first file
    that has any. An operation belongs to the step in which the host issued
    it. A step lasts from the end of the one before it (the first: from the
    start of the schedule) to the latest end of its operations, so all steps
    together are the makespan; what comes before the first or after the last
    counts to these.
*/
typedef struct ts_step {
    ts_text name; // of the zone; frames: "frame"
    uint64_t number, operations;
    int64_t recorded_ns;            // the step in the record, by the same rule
    int64_t start_ns, end_ns;       // in the last run
    int64_t cost_ns[TS_COST_LIMIT]; // of the critical path within
} ts_step;
// Lifetime and errors: as ts_replay_path. No steps are no error.
TS_API ts_result ts_replay_steps(ts_replay *replay, const ts_step **steps,
                                 size_t *count);

// What TS_CHANGE_INSERT added to the last run, in order of what it follows.
typedef struct ts_inserted {
    uint32_t after;  // operation
    uint32_t change; // index
    int64_t start_ns, end_ns;
} ts_inserted;
TS_API bool ts_replay_inserted(const ts_replay *replay, size_t index,
                               ts_inserted *inserted);
