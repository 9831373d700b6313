/* ---- Races: memory accesses ---------------------------------------------- */

// An actor accesses memory at one point of the order: an operation, the call
// that performs one, or the host itself.
typedef struct ts__actor {
    uint32_t op;   // TS_NODE_NONE: the host's own access
    uint32_t node; // node of the order that performs the access
    uint32_t next; // next actor of the same node; TS_NODE_NONE: none
    uint32_t file, track, thread, label, site, stack;
    uint32_t device; // device track; 0: the host or unknown
    int64_t start, end;
    uint64_t where; // hash of its launch site
    uint32_t chain, epoch;
    uint64_t fill; // value that a memset writes
    // A copy's or memset's own columns describe it, not an access event.
    bool own;
    uint8_t kind;
    bool host;      // on a thread rather than a stream
    bool placed;    // its call is known, so all that it waits for is known
    uint32_t spans; // index of its first span; its spans are adjacent
    uint32_t span_count;
} ts__actor;

enum { TS__COPY_STAGED = 1, TS__COPY_BACK = 2 }; // from, to pageable memory
// In addition to TS_ACCESS_...
enum { TS__SPAN_ALLOC = 16, TS__SPAN_FREE = 32 };

typedef struct ts__race_span {
    uint64_t first, last; // first and last address, both inclusive
    uint32_t actor;
    uint32_t low, high; // cells [low, high)
    uint32_t space;
    uint8_t mode;
} ts__race_span;

// A row of the trace that describes an access, before its operation is known.
typedef struct ts__access_row {
    uint64_t address, size, correlation;
    int64_t time;
    uint32_t file, track, site, stack;
    uint8_t kind, mode;
} ts__access_row;

typedef struct ts__race_pair { // indexes of actors
    uint32_t first, second;
    bool free; // other orders may swap them
} ts__race_pair;

struct ts_races {
    const ts_replay *replay;
    ts_allocator allocator;
    ts__rvec actors; // ts__actor
    ts__rvec spans;  // ts__race_span
    ts__rvec copies; // uint8_t, of each operation: TS__COPY_...
    ts__rvec heads;  // uint32_t of each node of the order: its first actor
    ts__rvec edges;  // ts__edge: edges in addition to those of the graph
    ts__rvec hosts;  // uint32_t of each node that is not in the graph: its lane
    ts__rvec rows;   // ts_race
    ts__rvec cells;  // uint64_t: first address of each cell
    ts__rvec cell_spaces;  // uint32_t: address space of each cell
    ts__rvec events;       // ts__race_event, in recorded order
    ts__rvec predecessors; // uint32_t: direct predecessors of each event
    ts__rvec pairs;        // ts__race_pair: races, used for exploring
    uint32_t cell_count;
    ts_races_stats stats;
};

static ts__actor *ts__races_actor(const ts_races *x, size_t i)
{
    return (ts__actor *)x->actors.data + i;
}
static ts__race_span *ts__races_span(const ts_races *x, size_t i)
{
    return (ts__race_span *)x->spans.data + i;
}

// Whether operations of this kind can access memory.
static bool ts__kind_accesses(uint8_t kind)
{
    return ts__kind_works(kind) || kind == TS_EVENT_HOST_FUNCTION ||
           kind == TS_EVENT_GPU_ALLOC || kind == TS_EVENT_GPU_FREE;
}

/*
    Matches rows of a file with operations of the replay by all properties that
    both have. Of several rows with equal properties, the first in the file is
    the first in the replay, whose total order ends with the order of the file.
*/
typedef struct ts__finder {
    // Hash of an operation to the first operation with this hash.
    ts__rmap first;
    ts__rvec next; // uint32_t of each operation: the next with the same hash
} ts__finder;

static uint64_t ts__finder_key(uint32_t file, uint32_t track, uint8_t kind,
                               int64_t start, int64_t duration,
                               uint64_t correlation)
{
    const uint64_t v[] = { (uint64_t)file << 32 | track, kind, (uint64_t)start,
                           (uint64_t)duration, correlation };
    return XXH3_64bits(v, sizeof v);
}

static bool ts__finder_open(const ts_races *x, ts__finder *f)
{
    const ts_replay *const r = x->replay;
    const ts_allocator *const a = &x->allocator;
    if (!ts__rvec_fill(a, &f->next, sizeof(uint32_t), r->op_count, 0xFF))
        return false;
    uint32_t *const next = (uint32_t *)f->next.data;
    for (uint32_t i = r->op_count; i-- > 0;) {
        const ts__op *const op = ts__replay_op(r, i);
        if (!ts__kind_accesses(op->kind)) continue;
        const ts__replay_lane *const lane =
            ts__replay_lane_at(r, ts__replay_lanes(r)[i]);
        const uint64_t key = ts__finder_key(
            lane->file, lane->track, op->kind, ts__replay_time(r)[i],
            ts__replay_duration(r)[i], op->correlation);
        next[i] = ts__rmap_get(&f->first, key);
        if (!ts__rmap_put(a, &f->first, key, i)) return false;
    }
    return true;
}

static void ts__finder_close(const ts_races *x, ts__finder *f)
{
    ts__rvec_close(&x->allocator, &f->first.entries);
    ts__rvec_close(&x->allocator, &f->next);
}

// Returns the operation of a row and takes it out; TS_NODE_NONE: the replay
// does not have it.
static uint32_t ts__finder_take(ts__finder *f, uint32_t file,
                                const ts_columns *c, uint32_t i, int64_t offset)
{
    const uint64_t key = ts__finder_key(
        file, c->tracks ? c->tracks[i] : c->track, (uint8_t)c->kind,
        c->start_ns[i] + offset, c->duration_ns[i],
        ts__columns_get(c, TS_COLUMN_CORRELATION, i));
    if (!f->first.used) return TS_NODE_NONE;
    ts__rmap_entry *const entry = ts__rmap_slot(&f->first, key);
    const uint32_t op = entry->value;
    if (op == TS_NODE_NONE) return op;
    const uint32_t next = ((const uint32_t *)f->next.data)[op];
    // Keep the last one: an entry without a value would end the probing.
    if (next != TS_NODE_NONE) entry->value = next;
    return op;
}

// Returns the address space of a track, which is that of its process.
static uint32_t ts__races_space(ts_races *x, ts__rmap *spaces, uint32_t file,
                                uint32_t track)
{
    ts_reader *const reader = ts__replay_file(x->replay, file)->reader;
    uint32_t process = 0;
    ts_track t;
    for (int depth = 0; depth < 8 && ts_reader_track(reader, track, &t);
         depth++) {
        if (t.type == TS_TRACK_PROCESS) {
            process = t.id;
            break;
        }
        track = t.parent;
    }
    const uint64_t key = ts__replay_key(file, process);
    const uint32_t known = ts__rmap_get(spaces, key);
    if (known != TS_NODE_NONE) return known;
    const uint32_t space = (uint32_t)spaces->used;
    return ts__rmap_put(&x->allocator, spaces, key, space) ? space
                                                           : TS_NODE_NONE;
}

typedef struct ts__gather { // collects the accesses of a trace
    ts_races *races;
    ts__finder finder;
    ts__rmap spaces, space_of; // address spaces of processes; of tracks
    ts__rvec accesses;         // ts__access_row: rows of access events
    ts__rvec hosts;            // ts__access_row: accesses of the host
    ts__rmap by_call;          // operations by file, track and correlation
    bool failed;
} ts__gather;

static uint32_t ts__gather_space(ts__gather *g, uint32_t file, uint32_t track)
{
    const uint64_t key = ts__replay_key(file, track);
    uint32_t space = ts__rmap_get(&g->space_of, key);
    if (space != TS_NODE_NONE) return space;
    space = ts__races_space(g->races, &g->spaces, file, track);
    if (space == TS_NODE_NONE ||
        !ts__rmap_put(&g->races->allocator, &g->space_of, key, space))
        g->failed = true;
    return space;
}

// Adds a span to an actor. All spans of an actor must be added before the next
// actor, so that they are adjacent.
static void ts__gather_span(ts__gather *g, uint32_t actor, uint64_t address,
                            uint64_t size, uint8_t mode)
{
    ts_races *const x = g->races;
    ts__actor *const who = ts__races_actor(x, actor);
    if (!size || address > UINT64_MAX - size) {
        x->stats.bad_ranges++;
        return;
    }
    ts__race_span *const span =
        (ts__race_span *)ts__rvec_push(&x->allocator, &x->spans, sizeof *span);
    if (!span) {
        g->failed = true;
        return;
    }
    memset(span, 0, sizeof *span);
    span->first = address;
    span->last = address + size - 1;
    span->actor = actor;
    span->mode = mode;
    span->space = ts__gather_space(g, who->file, who->track);
    if (!who->span_count++) who->spans = (uint32_t)x->spans.count - 1;
    x->stats.ranges++;
}

static uint32_t ts__gather_actor(ts__gather *g, const ts__actor *like)
{
    ts_races *const x = g->races;
    ts__actor *const to =
        (ts__actor *)ts__rvec_push(&x->allocator, &x->actors, sizeof *to);
    if (!to) {
        g->failed = true;
        return TS_NODE_NONE;
    }
    *to = *like;
    to->next = TS_NODE_NONE;
    const uint64_t v[] = { like->kind, (uint64_t)like->file << 32 | like->label,
                           (uint64_t)like->site << 32 | like->stack };
    to->where = XXH3_64bits(v, sizeof v);
    return (uint32_t)x->actors.count - 1;
}

// Describes an operation as an actor. node is TS_NODE_NONE if its place in the
// order is unknown.
static ts__actor ts__gather_operation(const ts__gather *g, uint32_t op)
{
    const ts_replay *const r = g->races->replay;
    const ts__op *const o = ts__replay_op(r, op);
    const ts__replay_lane *const lane =
        ts__replay_lane_at(r, ts__replay_lanes(r)[op]);
    ts__actor actor = { 0 };
    actor.op = op;
    actor.node = op;
    actor.file = lane->file;
    actor.track = lane->track;
    actor.device = lane->device_track;
    actor.thread = o->thread;
    actor.kind = o->kind;
    actor.label = o->label;
    actor.start = ts__replay_time(r)[op];
    actor.end = ts__replay_end(r, op);
    actor.placed = o->call != TS_NODE_NONE;
    if (lane->fifo) return actor;
    // The call performs it or, without a call, the thread itself.
    if (o->call != TS_NODE_NONE)
        actor.node = ts__replay_end_node(r, o->call);
    else if (!o->thread || !ts__kind_of_host(o->kind, false))
        actor.node = TS_NODE_NONE;
    actor.host = actor.placed = true;
    return actor;
}
