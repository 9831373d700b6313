/* ---- 10.30 Replay: classes of delays ------------------------------------- */

// Fewer samples than this say nothing about a class of their own.
#define TS__CLASS_SAMPLES 8
// Quartiles are taken from so many samples of a class, evenly spread.
#define TS__CLASS_SORTED 4096
// No delay of a device or a driver is so long: something else was waited for.
#define TS__CLASS_MOST_NS 1000000
// What is never an outlier: resolution of clocks, noise of one access.
#define TS__CLASS_NOISE_NS 1000

typedef struct ts__class {
    ts_delay pub;
    uint32_t parent; // coarser class, TS_NODE_NONE: none
    int64_t guard;   // what is added to find the edge that holds a node
    int64_t least;   // shortest delay of all edges
    int64_t sum;     // of the samples within low_ns and high_ns
    uint64_t kept;   // how many these are
    uint64_t seen;   // counts samples while they are picked
    int64_t spread;  // between the quartiles
    uint32_t of;     // class whose delay it uses
    bool from_end;   // launches: counted from the end of the call
    int64_t spread_from_start;
} ts__class;

typedef struct ts__model {
    ts__rvec classes;    // ts__class
    ts__rvec edge_class; // uint32_t of each edge; TS_NODE_NONE: only `fixed`
    ts__rvec fixed;      // int64_t of each edge: delay beside its class
    ts__rvec hold;       // ts__hold of each node
    ts__rvec residual;   // int64_t of each node
    ts__rvec is_held;    // bool of each node: some edge leads to it
    ts__rmap known;      // key of a class to its index
    uint64_t unexplained;
    int64_t unexplained_ns;
    bool calibrated;
    // Of the last run.
    bool ran;
    ts__rvec offsets, targets, kinds, delay; // a changed graph
    ts__rvec gap;                            // residuals that still count
    ts__rvec held;     // node that left the resource a node waited for
    ts__rvec parts;    // ts_path_part
    ts__rvec extra;    // int64_t of each operation: TS_CHANGE_INSERT in it
    ts__rvec inserted; // ts_inserted
    ts__rvec steps;    // ts_step
    ts__rvec step_zones;
    ts_path path;
    bool has_path, has_steps, looked_for_steps;
} ts__model;

// The edge that holds a node back: the largest source plus delay.
typedef struct ts__hold {
    int64_t at;
    uint32_t edge, class_of;
} ts__hold;

static ts__class *ts__model_class(const ts__model *m, size_t i)
{
    return (ts__class *)m->classes.data + i;
}
static uint32_t *ts__model_classes(const ts__model *m)
{
    return (uint32_t *)m->edge_class.data;
}
static int64_t *ts__model_fixed(const ts__model *m)
{
    return (int64_t *)m->fixed.data;
}
static ts__hold *ts__model_holds(const ts__model *m)
{
    return (ts__hold *)m->hold.data;
}

// Whether anything leads to a node; else its residual is a time.
static bool ts__model_is_held(const ts__model *m, uint32_t node)
{
    return ((const bool *)m->is_held.data)[node];
}

// Nodes that are no operations, to a class. Ends of operations have the kind
// of their owner and TS__AT_END.
enum { TS__AT_CALL = 1, TS__AT_CALL_END = 2, TS__AT_JOIN = 3, TS__AT_END = 32 };

static uint32_t ts__node_role(const ts_replay *r, uint32_t node)
{
    if (node < r->op_count) return ts__replay_op(r, node)->kind;
    if (node < r->op_count + r->call_count) return TS__AT_CALL;
    if (node >= r->join_first) return TS__AT_JOIN;
    const uint32_t owner = ts__settle_owner(r, node);
    if (owner >= r->op_count) return TS__AT_CALL_END;
    return ts__replay_op(r, owner)->kind | (uint32_t)TS__AT_END;
}

// The function of a call or its end; 0: none.
static uint32_t ts__node_name(const ts_replay *r, uint32_t node)
{
    const uint32_t owner = ts__settle_owner(r, node);
    if (owner < r->op_count || owner >= r->op_count + r->call_count) return 0;
    return ((const uint32_t *)r->call_names.data)[owner - r->op_count];
}

// All that tells classes apart; hashed as it is.
typedef struct ts__class_key {
    uint32_t kind, from, to, part;      // part: direction of a copy, or a graph
    uint32_t device, name, file, level; // file: part
} ts__class_key;

static ts__class_key ts__class_of_edge(const ts_replay *r, uint32_t from,
                                       uint32_t to, uint8_t kind)
{
    ts__class_key key = { 0 };
    key.kind = TS_EDGE_KIND(kind);
    key.from = ts__node_role(r, from);
    key.to = ts__node_role(r, to);
    if (to < r->op_count && key.to == TS_EVENT_MEMCPY)
        key.part = ts__replay_op(r, to)->label;
    const ts__replay_lane *const lane =
        ts__replay_lane_at(r, ts__replay_lanes(r)[to]);
    key.device = lane->device;
    key.file = lane->part;
    key.name = ts__node_name(r, to);
    if (!key.name && key.kind == TS_EDGE_LAUNCH)
        key.name = ts__node_name(r, from);
    return key;
}

// Kinds of nodes whose delays have the same causes.
static uint32_t ts__class_family(uint32_t role)
{
    switch (role) {
    case TS_EVENT_EVENT_RECORD:
    case TS_EVENT_EVENT_WAIT: return TS_EVENT_EVENT_WAIT;
    case TS_EVENT_KERNEL:
    case TS_EVENT_MEMCPY:
    case TS_EVENT_MEMSET:
    case TS_EVENT_COLLECTIVE:
    case TS_EVENT_HOST_FUNCTION: return TS_EVENT_KERNEL;
    default: return role & TS__AT_END ? TS__AT_END : TS__AT_CALL;
    }
}

// What the next coarser class does not tell apart.
static ts__class_key ts__class_coarser(const ts__class_key *key)
{
    ts__class_key up = *key;
    up.level = key->level + 1;
    if (up.level == 1) up.from = up.name = up.part = 0;
    if (up.level == 2) {
        up.device = up.file = 0;
        up.to = ts__class_family(up.to);
    }
    return up;
}

static uint32_t ts__class_find(ts_replay *r, ts__model *m,
                               const ts__class_key *key)
{
    const uint64_t hash = XXH3_64bits(key, sizeof *key);
    const uint32_t at = ts__rmap_get(&m->known, hash);
    if (at != TS_NODE_NONE) return at;
    uint32_t parent = TS_NODE_NONE;
    if (key->level < 2) {
        const ts__class_key up = ts__class_coarser(key);
        parent = ts__class_find(r, m, &up);
        if (parent == TS_NODE_NONE) return TS_NODE_NONE;
    }
    ts__class *const c =
        (ts__class *)ts__rvec_push(&r->allocator, &m->classes, sizeof *c);
    if (!c) return TS_NODE_NONE;
    memset(c, 0, sizeof *c);
    c->parent = parent;
    c->least = INT64_MAX;
    c->pub.kind = key->kind;
    c->pub.from = (key->from & 31) >= TS_EVENT_GPU_FIRST ? key->from & 31 : 0;
    c->pub.to = (key->to & 31) >= TS_EVENT_GPU_FIRST ? key->to & 31 : 0;
    if (key->level < 2 && key->device < r->device_results.count)
        c->pub.device =
            ((const ts_lane *)r->device_results.data)[key->device].track;
    c->pub.name = key->name;
    c->pub.file = ts__replay_part(r, key->file)->file;
    const uint32_t index = (uint32_t)(m->classes.count - 1);
    if (!ts__rmap_put(&r->allocator, &m->known, hash, index))
        return TS_NODE_NONE;
    return index;
}

/* ---- 10.31 Replay: calibration ------------------------------------------- */

typedef struct ts__calibration {
    ts_replay *replay;
    ts__model *model;
    ts__rvec latest; // int64_t of each node: its latest edge of some kinds
    ts__rvec graphs; // uint64_t of each call: what it launched, see below
    ts__rsort sort;
    bool failed;
} ts__calibration;

static bool ts__edge_is_host(uint8_t kind)
{
    const uint8_t k = TS_EDGE_KIND(kind);
    return k == TS_EDGE_HOST_ORDER || k == TS_EDGE_USER;
}

// What an overlapping successor keeps: its place within the one before it.
static bool ts__edge_overlaps(const ts_replay *r, uint32_t from, uint32_t to,
                              uint8_t kind)
{
    return kind & TS_EDGE_FROM_START &&
           TS_EDGE_KIND(kind) == TS_EDGE_STREAM_ORDER && to < r->op_count &&
           ts__kind_works(ts__replay_op(r, to)->kind) &&
           ts__kind_works(ts__replay_op(r, from)->kind);
}

typedef enum ts__edge_set {
    TS__EDGES_HOST,  // order on the host
    TS__EDGES_OTHERS // all but a node's tie to its own end
} ts__edge_set;

// The latest source of each node among some edges.
static void ts__calibrate_latest(ts__calibration *c, ts__edge_set set)
{
    const ts_replay *const r = c->replay;
    int64_t *const latest = (int64_t *)c->latest.data;
    for (uint32_t i = 0; i < r->node_count; i++)
        latest[i] = TS__NO_TIME;
    for (uint32_t i = 0; i < r->node_count; i++) {
        const uint32_t end = ts__replay_offsets(r)[i + 1];
        for (uint32_t e = ts__replay_offsets(r)[i]; e < end; e++) {
            const uint8_t kind = ts__replay_kind(r, e);
            if (set == TS__EDGES_HOST ? !ts__edge_is_host(kind)
                                      : TS_EDGE_KIND(kind) == TS_EDGE_SELF)
                continue;
            const int64_t at = ts__rrun_source(r, i, kind);
            int64_t *const to = &latest[ts__replay_target(r, e)];
            if (at > *to) *to = at;
        }
    }
}

/*
    Delays that are what they are: of the host (from the later of two calls;
    the other only orders), of an overlap, of what nothing blocked. Returns
    false if the edge has a class instead.
*/
static bool ts__calibrate_is_fixed(const ts__calibration *c, uint32_t from,
                                   uint32_t to, uint8_t kind, ts__edge_set set,
                                   int64_t *delay)
{
    const ts_replay *const r = c->replay;
    const int64_t at = ts__rrun_source(r, from, kind);
    const int64_t recorded = ts__replay_time(r)[to] - at;
    const int64_t latest = ((const int64_t *)c->latest.data)[to];
    *delay = 0;
    if (ts__edge_is_host(kind)) {
        if (set == TS__EDGES_HOST && at == latest) *delay = recorded;
        return true;
    }
    if (to >= r->join_first) return true;
    if (TS_EDGE_KIND(kind) == TS_EDGE_QUEUE &&
        ts__node_role(r, to) != TS__AT_CALL_END)
        return true; // there was room: it only orders
    if (TS_EDGE_KIND(kind) == TS_EDGE_SELF) {
        const bool blocked = latest > at;
        if (!blocked) *delay = recorded;
        return !blocked;
    }
    if (kind & TS_EDGE_FROM_START &&
        TS_EDGE_KIND(kind) == TS_EDGE_STREAM_ORDER) {
        if (ts__edge_overlaps(r, from, to, kind)) *delay = recorded;
        return true;
    }
    return false;
}

/*
    Launches of one graph have the same nodes, whatever the order in which they
    ran: a sum over them tells graphs apart. Gaps between nodes are those of
    their graph. One mean over several graphs would have the sum right, and
    times wrong for as long as one graph is launched again and again.
*/
static void ts__calibrate_graphs(ts__calibration *c)
{
    const ts_replay *const r = c->replay;
    uint64_t *const graphs = (uint64_t *)c->graphs.data;
    for (uint32_t i = 0; i < r->op_count; i++) {
        const ts__op *const op = ts__replay_op(r, i);
        const uint32_t node[2] = { op->kind, op->label };
        if (op->call != TS_NODE_NONE && ts__kind_works(op->kind))
            graphs[op->call - r->op_count] += XXH3_64bits(node, sizeof node);
    }
}

static uint32_t ts__calibrate_graph_of(const ts__calibration *c, uint32_t node)
{
    const ts_replay *const r = c->replay;
    if (node >= r->op_count) return 0;
    const uint32_t call = ts__replay_op(r, node)->call;
    if (call == TS_NODE_NONE) return 0;
    const uint64_t graph = ((uint64_t *)c->graphs.data)[call - r->op_count];
    return (uint32_t)(graph ^ graph >> 32);
}

static void ts__calibrate_edge(ts__calibration *c, uint32_t from, uint32_t e,
                               ts__edge_set set)
{
    const ts_replay *const r = c->replay;
    const uint8_t kind = ts__replay_kind(r, e);
    const uint32_t to = ts__replay_target(r, e);
    if (ts__edge_is_host(kind) != (set == TS__EDGES_HOST)) return;
    int64_t *const fixed = &ts__model_fixed(c->model)[e];
    uint32_t *const index = &ts__model_classes(c->model)[e];
    *index = TS_NODE_NONE;
    if (ts__calibrate_is_fixed(c, from, to, kind, set, fixed)) return;
    ts__class_key key = ts__class_of_edge(r, from, to, kind);
    if (key.kind == TS_EDGE_GRAPH) key.part = ts__calibrate_graph_of(c, to);
    *index = ts__class_find(c->replay, c->model, &key);
    if (*index == TS_NODE_NONE) c->failed = true;
}

// Gives every edge its class or its fixed delay.
static void ts__calibrate_edges(ts__calibration *c)
{
    const ts_replay *const r = c->replay;
    for (int set = TS__EDGES_HOST; set <= TS__EDGES_OTHERS; set++) {
        ts__calibrate_latest(c, (ts__edge_set)set);
        for (uint32_t i = 0; i < r->node_count && !c->failed; i++)
            for (uint32_t e = ts__replay_offsets(r)[i];
                 e < ts__replay_offsets(r)[i + 1]; e++)
                ts__calibrate_edge(c, i, e, (ts__edge_set)set);
    }
}

// What a class adds to one of its edges, in the record.
static int64_t ts__calibrate_sample(const ts__calibration *c, uint32_t from,
                                    uint32_t e)
{
    const ts_replay *const r = c->replay;
    return ts__replay_time(r)[ts__replay_target(r, e)] -
           ts__rrun_source(r, from, ts__replay_kind(r, e)) -
           ts__model_fixed(c->model)[e];
}

// Finds what holds each node, with the guards of the classes for delays. At
// equal times it is the launch: then the stream's own delay is unknown.
static void ts__calibrate_holds(ts__calibration *c)
{
    const ts_replay *const r = c->replay;
    ts__hold *const holds = ts__model_holds(c->model);
    for (uint32_t i = 0; i < r->node_count; i++) {
        holds[i].at = TS__NO_TIME;
        holds[i].edge = TS_NODE_NONE;
    }
    for (uint32_t i = 0; i < r->node_count; i++) {
        const uint32_t end = ts__replay_offsets(r)[i + 1];
        for (uint32_t e = ts__replay_offsets(r)[i]; e < end; e++) {
            const uint8_t kind = ts__replay_kind(r, e);
            const uint32_t class_of = ts__model_classes(c->model)[e];
            int64_t at =
                ts__rrun_source(r, i, kind) + ts__model_fixed(c->model)[e];
            if (class_of != TS_NODE_NONE)
                at += ts__model_class(c->model, class_of)->guard;
            ts__hold *const hold = &holds[ts__replay_target(r, e)];
            if (at < hold->at || (at == hold->at && hold->at != TS__NO_TIME &&
                                  TS_EDGE_KIND(kind) != TS_EDGE_LAUNCH))
                continue;
            hold->at = at;
            hold->edge = e;
            hold->class_of = class_of;
        }
    }
}

typedef void (*ts__sample_call)(ts__calibration *c, uint32_t class_of,
                                int64_t sample);

typedef enum ts__sampled {
    TS__SAMPLE_ALL,
    TS__SAMPLE_LAUNCHES,
    TS__SAMPLE_OTHERS
} ts__sampled;

static bool ts__sample_is(ts__sampled which, uint32_t kind)
{
    return which == TS__SAMPLE_ALL ||
           (kind == TS_EDGE_LAUNCH) == (which == TS__SAMPLE_LAUNCHES);
}

// Calls back for what holds each node, its class and those above.
static void ts__calibrate_each(ts__calibration *c, ts__sampled which,
                               ts__sample_call call)
{
    const ts_replay *const r = c->replay;
    const int64_t *const time = ts__replay_time(r);
    for (uint32_t i = 0; i < r->node_count; i++) {
        const ts__hold *const hold = &ts__model_holds(c->model)[i];
        if (hold->edge == TS_NODE_NONE || hold->class_of == TS_NODE_NONE)
            continue;
        uint32_t k = hold->class_of;
        const ts__class *const class_of = ts__model_class(c->model, k);
        if (!ts__sample_is(which, class_of->pub.kind)) continue;
        const int64_t sample = time[i] - (hold->at - class_of->guard);
        if (sample > TS__CLASS_MOST_NS || sample < -TS__CLASS_MOST_NS) continue;
        for (; k != TS_NODE_NONE; k = ts__model_class(c->model, k)->parent)
            call(c, k, sample);
    }
}

static void ts__sample_count(ts__calibration *c, uint32_t class_of,
                             int64_t sample)
{
    (void)sample;
    ts__model_class(c->model, class_of)->pub.samples++;
}

// Every n-th sample of a class goes to the sorter, class first.
static void ts__sample_pick(ts__calibration *c, uint32_t class_of,
                            int64_t sample)
{
    ts__class *const k = ts__model_class(c->model, class_of);
    const uint64_t stride = k->pub.samples / TS__CLASS_SORTED + 1;
    if (k->seen++ % stride) return;
    const int64_t edge = (INT64_C(1) << 39) - 1;
    if (sample > edge) sample = edge;
    if (sample < -edge) sample = -edge;
    ts__rvec *const keys = &c->sort.keys[0];
    uint64_t *const to =
        (uint64_t *)ts__rvec_push(&c->replay->allocator, keys, sizeof *to);
    if (!to)
        c->failed = true;
    else
        *to = (uint64_t)class_of << 40 | (uint64_t)(sample + edge + 1);
}

static void ts__sample_sum(ts__calibration *c, uint32_t class_of,
                           int64_t sample)
{
    ts__class *const k = ts__model_class(c->model, class_of);
    if (sample < k->pub.low_ns || sample > k->pub.high_ns) return;
    k->sum = ts__replay_add(k->sum, sample);
    k->kept++;
}

// How far apart delays of one class may lie: more is no constant, but
// something that nobody recorded.
static int64_t ts__edge_wide(uint32_t kind)
{
    switch (kind) {
    case TS_EDGE_STREAM_ORDER:
    case TS_EDGE_EVENT:
    case TS_EDGE_GRAPH:
    case TS_EDGE_LEGACY_DEFAULT: return 5000;
    default: return 20000;
    }
}

// The first of the samples in the fewest ns that hold `need` of them.
static size_t ts__class_shortest(const uint64_t *keys, size_t count,
                                 size_t need)
{
    size_t best = 0;
    for (size_t i = 1; i + need <= count; i++)
        if (keys[i + need - 1] - keys[i] < keys[best + need - 1] - keys[best])
            best = i;
    return best;
}

// The first of the most samples that lie within `wide` ns; *need: how many.
static size_t ts__class_densest(const uint64_t *keys, size_t count,
                                int64_t wide, size_t *need)
{
    size_t best = 0;
    *need = 0;
    for (size_t first = 0, end = 0; first < count; first++) {
        while (end < count && keys[end] - keys[first] <= (uint64_t)wide)
            end++;
        if (end - first <= *need) continue;
        *need = end - first;
        best = first;
    }
    return best;
}

/*
    Where the samples of a class are: the shortest interval with half of them,
    or, where that is wider than delays of one cause are, the densest one as
    wide as these may be.
*/
static void ts__class_fence(ts__class *k, const uint64_t *keys, size_t count)
{
    const int64_t zero = INT64_C(1) << 39;
    const uint64_t mask = (UINT64_C(1) << 40) - 1;
    size_t need = count / 2 + 1;
    size_t first = ts__class_shortest(keys, count, need);
    int64_t low = (int64_t)(keys[first] & mask) - zero;
    int64_t wide = ts__edge_wide(k->pub.kind);
    if (low > wide) wide = low;
    if ((int64_t)(keys[first + need - 1] - keys[first]) > wide)
        first = ts__class_densest(keys, count, wide, &need);
    low = (int64_t)(keys[first] & mask) - zero;
    const int64_t high = (int64_t)(keys[first + need - 1] & mask) - zero;
    k->spread = high - low;
    int64_t more = 3 * k->spread;
    if (more > wide) more = wide;
    k->pub.low_ns = low - more - TS__CLASS_NOISE_NS;
    k->pub.high_ns = high + more + TS__CLASS_NOISE_NS;
}

static void ts__calibrate_fences(ts__calibration *c, size_t count)
{
    const uint64_t *const keys = ts__rsort_keys(&c->sort);
    for (size_t first = 0, end; first < count; first = end) {
        const uint64_t class_of = keys[first] >> 40;
        for (end = first; end < count && keys[end] >> 40 == class_of;)
            end++;
        ts__class_fence(ts__model_class(c->model, (size_t)class_of),
                        keys + first, end - first);
    }
}

// Typical of devices of today, for kinds that a trace shows no sample of.
static int64_t ts__edge_assumed(uint32_t kind)
{
    switch (kind) {
    case TS_EDGE_LAUNCH: return 5000;
    case TS_EDGE_SYNC: return 5000;
    case TS_EDGE_SELF:
    case TS_EDGE_COLLECTIVE:
    case TS_EDGE_P2P: return 0;
    default: return 1000;
    }
}

static int64_t ts__mean(int64_t sum, int64_t count)
{
    const int64_t twice = 2 * sum + count; // half up
    const int64_t q = twice / (2 * count);
    return twice % (2 * count) < 0 ? q - 1 : q;
}

// Classes come after those that they are part of.
static void ts__calibrate_delays(ts__calibration *c, ts__sampled which)
{
    ts__model *const m = c->model;
    for (uint32_t i = 0; i < m->classes.count; i++) {
        ts__class *const k = ts__model_class(m, i);
        const bool top = k->parent == TS_NODE_NONE;
        if (!ts__sample_is(which, k->pub.kind)) continue;
        k->pub.coarser = k->pub.assumed = false;
        k->of = i;
        if (k->kept && (top || k->kept >= TS__CLASS_SAMPLES)) {
            k->pub.delay_ns = ts__mean(k->sum, (int64_t)k->kept);
        } else if (top) {
            const int64_t assumed = ts__edge_assumed(k->pub.kind);
            k->pub.assumed = true;
            k->pub.delay_ns = k->least < assumed ? k->least : assumed;
            k->pub.low_ns = k->pub.delay_ns - TS__CLASS_NOISE_NS;
            k->pub.high_ns = k->pub.delay_ns + TS__CLASS_NOISE_NS;
        } else {
            const ts__class *const up = ts__model_class(m, k->parent);
            k->of = up->of;
            k->pub.coarser = true;
            k->pub.assumed = up->pub.assumed;
            k->pub.delay_ns = up->pub.delay_ns;
            k->pub.low_ns = up->pub.low_ns;
            k->pub.high_ns = up->pub.high_ns;
        }
    }
}

// One round: samples of the edges that hold, quartiles, means.
static void ts__calibrate_fit(ts__calibration *c, ts__sampled which)
{
    ts__model *const m = c->model;
    for (uint32_t i = 0; i < m->classes.count; i++) {
        ts__class *const k = ts__model_class(m, i);
        if (!ts__sample_is(which, k->pub.kind)) continue;
        k->sum = 0;
        k->kept = k->seen = k->pub.samples = 0;
        k->pub.low_ns = k->pub.high_ns = k->spread = 0;
    }
    ts__calibrate_holds(c);
    ts__calibrate_each(c, which, ts__sample_count);
    c->sort.keys[0].count = 0;
    ts__calibrate_each(c, which, ts__sample_pick);
    const size_t count = c->sort.keys[0].count;
    if (c->failed || !ts__rsort_open(&c->replay->allocator, &c->sort, count)) {
        c->failed = true;
        return;
    }
    ts__rsort_run(&c->sort, count);
    ts__calibrate_fences(c, count);
    ts__calibrate_each(c, which, ts__sample_sum);
    ts__calibrate_delays(c, which);
}

static void ts__calibrate_guards(ts__calibration *c, uint32_t factor)
{
    for (uint32_t i = 0; i < c->model->classes.count; i++) {
        ts__class *const k = ts__model_class(c->model, i);
        if (factor == 1 || k->pub.kind == TS_EDGE_LAUNCH)
            k->guard = k->pub.delay_ns * (int64_t)factor;
    }
}

// Launches counted from the start or from the end of their call.
static void ts__calibrate_launches(ts__calibration *c, bool decide)
{
    const ts_replay *const r = c->replay;
    for (uint32_t i = r->op_count; i < r->op_count + r->call_count; i++) {
        if (ts__replay_flags(r)[i] & TS__NODE_WAITS) continue;
        for (uint32_t e = ts__replay_offsets(r)[i];
             e < ts__replay_offsets(r)[i + 1]; e++) {
            const uint32_t k = ts__model_classes(c->model)[e];
            if (k == TS_NODE_NONE ||
                TS_EDGE_KIND(ts__replay_kind(r, e)) != TS_EDGE_LAUNCH)
                continue;
            const ts__class *const class_of =
                ts__model_class(c->model, ts__model_class(c->model, k)->of);
            const bool from_end =
                !decide || class_of->spread < class_of->spread_from_start;
            ts__model_fixed(c->model)[e] =
                from_end ? ts__replay_duration(r)[i] : 0;
        }
    }
}

static void ts__calibrate_least(ts__calibration *c)
{
    const ts_replay *const r = c->replay;
    for (uint32_t i = 0; i < r->node_count; i++) {
        for (uint32_t e = ts__replay_offsets(r)[i];
             e < ts__replay_offsets(r)[i + 1]; e++) {
            const int64_t sample = ts__calibrate_sample(c, i, e);
            uint32_t k = ts__model_classes(c->model)[e];
            for (; k != TS_NODE_NONE;
                 k = ts__model_class(c->model, k)->parent) {
                ts__class *const class_of = ts__model_class(c->model, k);
                class_of->pub.edges++;
                if (sample < class_of->least) class_of->least = sample;
            }
        }
    }
}

/*
    Which edge held a node is not recorded. First come the cases beyond doubt:
    launches after everything else was done, then edges that came so late that
    no launch, were it twice as slow as these, could have held the node. With
    the delays of these the edges that hold are found again, three times.
*/
static void ts__calibrate_rounds(ts__calibration *c)
{
    ts__model *const m = c->model;
    ts__calibrate_fit(c, TS__SAMPLE_LAUNCHES);
    for (uint32_t i = 0; i < m->classes.count; i++)
        ts__model_class(m, i)->spread_from_start =
            ts__model_class(m, i)->spread;
    if (c->failed) return;
    ts__calibrate_launches(c, false);
    ts__calibrate_fit(c, TS__SAMPLE_LAUNCHES);
    if (c->failed) return;
    ts__calibrate_launches(c, true);
    ts__calibrate_fit(c, TS__SAMPLE_LAUNCHES);
    ts__calibrate_least(c);
    ts__calibrate_guards(c, 2);
    if (!c->failed) ts__calibrate_fit(c, TS__SAMPLE_OTHERS);
    for (int round = 0; round < 3 && !c->failed; round++) {
        ts__calibrate_guards(c, 1);
        ts__calibrate_fit(c, TS__SAMPLE_ALL);
    }
    ts__calibrate_guards(c, 1);
}

// What of each node its class does not explain.
static void ts__calibrate_residuals(ts__calibration *c)
{
    const ts_replay *const r = c->replay;
    ts__model *const m = c->model;
    int64_t *const residual = (int64_t *)m->residual.data;
    const int64_t *const time = ts__replay_time(r);
    ts__calibrate_holds(c);
    for (uint32_t i = 0; i < r->node_count; i++) {
        const ts__hold *const hold = &ts__model_holds(m)[i];
        residual[i] = time[i];
        if (hold->edge == TS_NODE_NONE) continue;
        ((bool *)m->is_held.data)[i] = true;
        const uint32_t k = ts__model_classes(m)[hold->edge];
        int64_t low = -TS__CLASS_NOISE_NS, high = TS__CLASS_NOISE_NS;
        residual[i] = time[i] - hold->at;
        if (k != TS_NODE_NONE) {
            const ts_delay *const d = &ts__model_class(m, k)->pub;
            low = d->low_ns - d->delay_ns;
            high = d->high_ns - d->delay_ns;
        }
        if (residual[i] >= low && residual[i] <= high) {
            residual[i] = 0;
            continue;
        }
        m->unexplained++;
        m->unexplained_ns = ts__replay_add(
            m->unexplained_ns, residual[i] < 0 ? -residual[i] : residual[i]);
    }
}

static bool ts__model_reserve(ts_replay *r, ts__model *m)
{
    const ts_allocator *const a = &r->allocator;
    const size_t edges = r->targets.count, nodes = r->node_count;
    return ts__rvec_fill(a, &m->edge_class, sizeof(uint32_t), edges, 0xFF) &&
           ts__rvec_fill(a, &m->fixed, sizeof(int64_t), edges, 0) &&
           ts__rvec_reserve(a, &m->hold, sizeof(ts__hold), nodes) &&
           ts__rvec_fill(a, &m->is_held, sizeof(bool), nodes, 0) &&
           ts__rvec_fill(a, &m->residual, sizeof(int64_t), nodes, 0);
}

static bool ts__model_calibrate(ts_replay *r, ts__model *m)
{
    ts__calibration c = { 0 };
    c.replay = r;
    c.model = m;
    c.failed = !ts__model_reserve(r, m) ||
               !ts__rvec_reserve(&r->allocator, &c.latest, sizeof(int64_t),
                                 r->node_count) ||
               !ts__rvec_fill(&r->allocator, &c.graphs, sizeof(uint64_t),
                              r->call_count, 0);
    if (!c.failed) ts__calibrate_graphs(&c);
    if (!c.failed) ts__calibrate_edges(&c);
    if (!c.failed) ts__calibrate_rounds(&c);
    if (!c.failed) ts__calibrate_residuals(&c);
    ts__rvec_close(&r->allocator, &c.latest);
    ts__rvec_close(&r->allocator, &c.graphs);
    ts__rsort_close(&r->allocator, &c.sort);
    ts__rvec_close(&r->allocator, &m->hold);
    m->calibrated = !c.failed;
    return m->calibrated;
}
