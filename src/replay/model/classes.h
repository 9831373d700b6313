/* ---- Model: classes of delays ------------------------------------------- */

// A class with fewer samples uses the delay of its coarser class.
#define TS__CLASS_SAMPLES 8
// Quartiles are computed from this many samples of a class, evenly spread.
#define TS__CLASS_SORTED 4096
// No device or driver delays work that long: it waited for something else.
#define TS__CLASS_MOST_NS 1000000
// Deviations up to this are no outliers: clock resolution, noise of one access.
#define TS__CLASS_NOISE_NS 1000

typedef struct ts__class {
    ts_delay pub;
    uint32_t parent; // coarser class; TS_NODE_NONE: none
    int64_t guard;   // delay assumed when searching the edge that holds a node
    int64_t least;   // shortest delay of all edges of the class
    int64_t sum;     // of the samples within [low_ns, high_ns]
    uint64_t kept;   // number of these samples
    uint64_t seen;   // samples seen so far while picking
    int64_t spread;  // width of the interval with most samples
    uint32_t of;     // class whose delay it uses: itself or a coarser one
    bool from_end;   // launches: the delay counts from the end of the call
    int64_t spread_from_start;
} ts__class;

typedef struct ts__model {
    ts__rvec classes; // ts__class
    // uint32_t of each edge: ts__fixed, and the index of its class
    ts__rvec edge_class;
    ts__rvec hold; // ts__hold of each node
    // int64_t of each node: time that its class does not explain.
    ts__rvec residual;
    ts__rvec is_held; // bool of each node: an edge leads to it
    ts__rmap known;   // key of a class to its index
    uint64_t unexplained;
    int64_t unexplained_ns;
    bool calibrated;
    // Results of the last run.
    bool ran;
    ts__rvec offsets, targets, kinds, delay; // a changed graph
    ts__rvec held;     // node that freed the resource a node waited for
    ts__rvec parts;    // ts_path_part
    ts__rvec extra;    // int64_t of each operation: time that changes inserted
    ts__rvec inserted; // ts_inserted
    ts__rvec steps;    // ts_step
    ts__rvec step_zones;
    ts_path path;
    bool has_path, has_steps, looked_for_steps;
} ts__model;

// The edge that holds a node back: the one with the largest source time plus
// delay.
typedef struct ts__hold {
    int64_t at;
    uint32_t edge, class_of;
} ts__hold;

static ts__class *ts__model_class(const ts__model *m, size_t i)
{
    return (ts__class *)m->classes.data + i;
}

// The delay of an edge in addition to that of its class: a bit of edge_class.
typedef enum ts__fixed {
    TS__FIXED_NONE,
    TS__FIXED_RECORDED, // the recorded time between its source and its target
    TS__FIXED_CALL      // the duration of the node that it comes from
} ts__fixed;

#define TS__CLASS_BITS 30
// The index of no class: the edge has a fixed delay alone.
#define TS__CLASS_NONE ((UINT32_C(1) << TS__CLASS_BITS) - 1)

static void ts__model_edge_set(const ts__model *m, uint32_t e,
                               uint32_t class_of, ts__fixed fixed)
{
    ((uint32_t *)m->edge_class.data)[e] =
        (uint32_t)fixed << TS__CLASS_BITS | class_of;
}
// Returns the class of an edge; TS_NODE_NONE: none.
static uint32_t ts__model_edge_class(const ts__model *m, uint32_t e)
{
    const uint32_t of =
        ((const uint32_t *)m->edge_class.data)[e] & TS__CLASS_NONE;
    return of == TS__CLASS_NONE ? TS_NODE_NONE : of;
}
// Returns the delay of an edge from `from` in addition to that of its class.
static int64_t ts__model_fixed(const ts_replay *r, const ts__model *m,
                               uint32_t from, uint32_t e)
{
    switch (((const uint32_t *)m->edge_class.data)[e] >> TS__CLASS_BITS) {
    case TS__FIXED_RECORDED:
        return ts__replay_time(r)[ts__replay_target(r, e)] -
               ts__rrun_source(r, from, ts__replay_kind(r, e));
    case TS__FIXED_CALL: return ts__replay_duration(r)[from];
    default: return 0;
    }
}
static ts__hold *ts__model_holds(const ts__model *m)
{
    return (ts__hold *)m->hold.data;
}

// Whether any edge leads to a node. If not, its residual is its start time.
static bool ts__model_is_held(const ts__model *m, uint32_t node)
{
    return ((const bool *)m->is_held.data)[node];
}

// Roles of nodes other than operations in a class. The end of an operation has
// the kind of its owner plus TS__AT_END.
enum { TS__AT_CALL = 1, TS__AT_CALL_END = 2, TS__AT_JOIN = 3, TS__AT_END = 32 };

static uint32_t ts__node_role(const ts_replay *r, uint32_t node)
{
    if (node < r->op_count) return ts__replay_op(r, node)->kind;
    if (node < r->op_count + r->call_count) return TS__AT_CALL;
    if (node >= r->join_first) return TS__AT_JOIN;
    const uint32_t owner = ts__node_owner(r, node);
    if (owner >= r->op_count) return TS__AT_CALL_END;
    return ts__replay_op(r, owner)->kind | (uint32_t)TS__AT_END;
}

// Returns the name of the API function of a call or its end; 0: none.
static uint32_t ts__node_name(const ts_replay *r, uint32_t node)
{
    const uint32_t owner = ts__node_owner(r, node);
    if (owner < r->op_count || owner >= r->op_count + r->call_count) return 0;
    return ((const uint32_t *)r->call_names.data)[owner - r->op_count];
}

// All that distinguishes classes. Hashed as raw bytes.
typedef struct ts__class_key {
    // part: direction of a copy, or hash of a graph.
    uint32_t kind, from, to, part;
    uint32_t device, name, file, level; // file: index of a ts_replay_part
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

// Maps a role to the role that stands for all whose delays have the same
// causes.
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

// Returns the key of the next coarser class, with fewer distinctions.
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

// Returns the index of a class. A new one is added with its coarser classes.
// TS_NODE_NONE: out of memory.
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
    if (!c || m->classes.count > TS__CLASS_NONE) return TS_NODE_NONE;
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
