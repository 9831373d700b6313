/* ==== Models ============================================================== */

/*
    TS_REPLAY_MODEL replaces recorded delays by constants, so that a change
    moves what depends on it and nothing else:

    - Every edge belongs to a class: its kind, the kinds of its two ends, the
      device, and the function that was called. The delay of a class is the mean
      of its recorded delays on edges that were the last to be satisfied,
      without outliers. A class with fewer than eight such samples takes the
      delay of a coarser class. A kind without any sample takes a small
      constant, at most its shortest sample (`assumed`).
    - Delays on the host, between calls and within them, stay as recorded,
      except where a call waited for a device.
    - The usual delays of a class are the shortest interval that holds half of
      its samples, if it is no wider than delays of one cause are (20 us for
      launches and returns of syncs, 5 us on a device, or the least delay of the
      class if that is more); else the fullest interval of that width. A node
      is *unexplained* if its delay is further from that interval than three
      times its width, the widths above, and a microsecond for noise. It keeps
      its recorded delay and is counted. So a long wait for something that was
      not recorded is neither spread over all nodes nor taken for a property of
      the device.
    - Where operations of a stream overlap, the later one keeps its relative
      place within the earlier one.
    - A collective ends after its last member has arrived, plus the shortest
      recorded duration of its members.
    - A copy waits while all copy engines of its direction and device are busy.

    Delays are means, not medians, so that errors do not add up: the modelled
    delays of a class have the same sum as the recorded ones.
*/
typedef enum ts_replay_mode {
    TS_REPLAY_EXACT = 0, // every node keeps its own recorded delay
    TS_REPLAY_MODEL = 1  // nodes get the delay of their class
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

// Returns the name of a ts_cost, such as "host"; "unknown" for any other
// number. Static.
TS_API const char *ts_cost_name(uint32_t cost);

// A rational number; 0 over 0 stands for 1.
typedef struct ts_ratio {
    uint32_t num, den;
} ts_ratio;

/*
    What a change alters. Changes apply in the order given and add up. Each
    applies to the operations that `operations` selects, as far as it makes
    sense for them. Products are rounded half up.
*/
typedef enum ts_change_type {
    TS_CHANGE_SCALE = 1,    // multiplies durations by `factor`
    TS_CHANGE_REMOVE = 2,   // the operations take no time, nor do calls that
                            // launched nothing else; what waited for them waits
                            // for their dependencies
    TS_CHANGE_INSERT = 3,   // adds an operation of `ns` after each, whose call
                            // takes as long as that of the original
    TS_CHANGE_TRANSFER = 4, // for copies and collectives: duration T becomes
                            // a' + (T - a) * factor. a is the duration for no
                            // bytes, fitted by `sizes` (without: the shortest
                            // duration) of the same direction and device, or
                            // communicator; a' is `ns` if has_ns, else a
    TS_CHANGE_MOVE = 5,     // moves them to stream `track` of their file, in
                            // order of issue
    TS_CHANGE_FUSE = 6,     // an operation that follows another of them on its
                            // stream needs no launch
    TS_CHANGE_SERIALISE = 7, // one stream for each device, in order of issue;
                             // an operation waits for its dependencies, too
    TS_CHANGE_NO_LAUNCH = 8, // calls that launch take no time, and launches
                             // arrive at once
    TS_CHANGE_HOST = 9,      // multiplies the time of host work by `factor`;
                             // ignores `operations`
    TS_CHANGE_OVERLAP = 10,  // no kernel waits for a copy or a collective
    TS_CHANGE_CUT = 11,      // edges of the kinds in `edges` that begin or end
                             // at them delay nothing
    TS_CHANGE_SPARE = 12, // host work in `spans` takes no time, and a call that
                          // returns in one waits for nothing; ignores
                          // `operations`
    TS_CHANGE_BEGIN = 13  // nodes without a recorded cause, such as the first
                          // call of a thread, come `sooner_ns` of their part
                          // sooner; ignores `operations`
} ts_change_type;

// A span of a thread's recorded time, on the time axis of the replay.
typedef struct ts_host_span {
    uint32_t file TS__UNSET, thread TS__UNSET; // thread: a track
    int64_t start_ns TS__UNSET, end_ns TS__UNSET;
} ts_host_span;

// A change for ts_replay_run_desc: a what-if. Arrays must live until
// ts_replay_run returns.
typedef struct ts_change {
    ts_change_type type TS__UNSET;
    // one for each operation of ts_replay_operation (NULL: all of them)
    const bool *operations TS__UNSET;
    ts_ratio factor TS__UNSET; // (1)
    int64_t ns TS__UNSET;      // INSERT, TRANSFER
    bool has_ns TS__UNSET;     // TRANSFER
    // HOST: applies to `part` of ts_replay_part_at only (false: all parts)
    bool one_part TS__UNSET;
    uint32_t part TS__UNSET;
    uint32_t track TS__UNSET; // MOVE
    uint32_t edges TS__UNSET; // CUT: bits 1 << ts_edge_kind
    // SPARE: span_count spans in any order; they may overlap
    const ts_host_span *spans TS__UNSET;
    size_t span_count TS__UNSET;
    // BEGIN: one for each part of ts_replay_part_at (NULL: 0)
    const int64_t *sooner_ns TS__UNSET;
    // TRANSFER: bytes of each operation, 0 unknown (NULL: all unknown)
    const uint64_t *sizes TS__UNSET;
} ts_change;

// A class of delays, as a model uses it.
typedef struct ts_delay {
    uint32_t kind;     // ts_edge_kind
    uint32_t from, to; // kinds of operations; 0: the host, or several
    uint32_t device;   // track; 0: not on one device
    uint32_t name;     // of the function called; 0: none, or several
    uint32_t file;
    int64_t delay_ns;        // used in place of the recorded delays
    int64_t low_ns, high_ns; // samples outside stay as recorded
    uint64_t edges, samples; // samples: edges that were the last satisfied
    bool coarser; // too few samples: the delay is that of a coarser class
    bool assumed; // no sample: the delay is a constant
} ts_delay;

// Gets class number `index` of the model, after a run in TS_REPLAY_MODEL.
// False past the end.
TS_API bool ts_replay_delay(const ts_replay *replay, size_t index,
                            ts_delay *delay);

// A part of the critical path: a node that runs, or one that waits.
typedef struct ts_path_part {
    int64_t start_ns, end_ns;
    uint32_t node; // that runs, or that waits
    uint32_t edge; // if it waits: ts_edge_kind of the edge it waited for
    bool waits;
    ts_cost cost;
} ts_path_part;

/*
    The critical path of the last run: from the latest end back to the start of
    the schedule, always to what was satisfied last. Parts are in order of time
    and without gaps, so that their sum is the makespan (end_ns - start_ns of
    the stats). A wait is charged to the cost of its edge for as long as the
    class of the edge usually takes, in either mode; what is longer than the
    samples of the class explain is charged to UNEXPLAINED.
*/
typedef struct ts_path {
    const ts_path_part *parts; // count elements
    size_t count;
    int64_t cost_ns[TS_COST_LIMIT]; // sums of the parts
    ts_cost bound;                  // the largest of them
    int64_t assumed_ns; // model: delays for which the record has fewer than
                        // eight samples, or none
} ts_path;

/*
    Finds the critical path of the last run.

    Errors:   TS_ERR_STATE there was no run; TS_ERR_MEMORY.
    Lifetime: until the next run or close.
*/
TS_API ts_result ts_replay_path(ts_replay *replay, ts_path *path);

/*
    A step: one iteration of the program. Steps are zones called
    "ProfilerStep#N", else frames, of the first file that has any. An operation
    belongs to the step in which the host issued it. A step lasts from the end
    of the step before it (the first: from the start of the schedule) to the
    latest end of its operations, so that all steps together are the makespan.
    What comes before the first step or after the last counts to that step.
*/
typedef struct ts_step {
    ts_text name; // of the zone; frames: "frame"
    uint64_t number, operations;
    int64_t recorded_ns;            // its recorded duration, by the same rule
    int64_t start_ns, end_ns;       // in the last run
    int64_t cost_ns[TS_COST_LIMIT]; // of the critical path in it
} ts_step;

/*
    Gets the steps of the last run, in order of time: *count elements. A trace
    without steps has 0 of them and that is no error.

    Errors:   TS_ERR_STATE there was no run; TS_ERR_MEMORY.
    Lifetime: until the next run or close.
*/
TS_API ts_result ts_replay_steps(ts_replay *replay, const ts_step **steps,
                                 size_t *count);

// An operation that TS_CHANGE_INSERT added to the last run.
typedef struct ts_inserted {
    uint32_t after;  // operation that it follows
    uint32_t change; // index in ts_replay_run_desc.changes
    int64_t start_ns, end_ns;
} ts_inserted;

// Gets inserted operation number `index`, in order of `after`. False past the
// end.
TS_API bool ts_replay_inserted(const ts_replay *replay, size_t index,
                               ts_inserted *inserted);
