/* ---- 10.60 Races: what touches memory ------------------------------------ */

// Who touches memory at one point of the order: an operation, the call that
// makes one, or the host.
typedef struct ts__actor {
    uint32_t op;   // or TS_NODE_NONE: the host's own
    uint32_t node; // of the order, at whose end it is done
    uint32_t next; // another actor at this node
    uint32_t file, track, thread, label, site, stack;
    uint32_t device; // track, 0: the host or unknown
    int64_t start, end;
    uint64_t where; // hash of its launch site
    uint32_t chain, epoch;
    uint64_t fill; // value of a set
    bool own;      // of a copy or set: what its columns say, no access event
    uint8_t kind;
    bool host;      // on a thread, not on a stream
    bool placed;    // a later one: its call is known, so what it waits for is
    uint32_t spans; // first of its spans; they lie together
    uint32_t span_count;
} ts__actor;

enum { TS__COPY_STAGED = 1, TS__COPY_BACK = 2 };  // from, to pageable memory
enum { TS__SPAN_ALLOC = 16, TS__SPAN_FREE = 32 }; // beside TS_ACCESS_...

typedef struct ts__strip {
    uint64_t first, last; // addresses, both inside
    uint32_t actor;
    uint32_t low, high; // cells of the table, [low, high)
    uint32_t space;
    uint8_t mode;
} ts__strip;

// A row of memory as the trace has it, before its operation is known.
typedef struct ts__touch {
    uint64_t address, size, correlation;
    int64_t time;
    uint32_t file, track, site, stack;
    uint8_t kind, mode;
} ts__touch;

typedef struct ts__race_pair { // actors
    uint32_t first, second;
    bool free; // may change places
} ts__race_pair;

struct ts_races {
    const ts_replay *replay;
    ts_allocator allocator;
    ts__rvec actors;      // ts__actor
    ts__rvec spans;       // ts__strip
    ts__rvec copies;      // uint8_t, of each operation: TS__COPY_...
    ts__rvec heads;       // uint32_t, of each node of the order: its actors
    ts__rvec edges;       // ts__edge, beyond those of the graph
    ts__rvec hosts;       // uint32_t: lane of each node beyond the graph's
    ts__rvec rows;        // ts_race
    ts__rvec cells;       // uint64_t: first address of each
    ts__rvec cell_spaces; // uint32_t
    ts__rvec events;      // ts__race_event, in the order of the record
    ts__rvec befores;     // uint32_t: events that each comes right after
    ts__rvec pairs;       // ts__race_pair: races, for exploring
    uint32_t cell_count;
    ts_races_stats stats;
};

static ts__actor *ts__races_actor(const ts_races *x, size_t i)
{
    return (ts__actor *)x->actors.data + i;
}
static ts__strip *ts__races_span(const ts_races *x, size_t i)
{
    return (ts__strip *)x->spans.data + i;
}

// Which operations may touch memory at all.
static bool ts__kind_touches(uint8_t kind)
{
    return ts__kind_works(kind) || kind == TS_EVENT_HOST_FUNCTION ||
           kind == TS_EVENT_GPU_ALLOC || kind == TS_EVENT_GPU_FREE;
}

/*
    Rows of the file and operations of the replay find each other by all that
    both know. Of several that are alike in that the first of the file is the
    first of the replay: its total order ends with the order of the file.
*/
typedef struct ts__finder {
    ts__rmap first; // hash of an operation to the first like it
    ts__rvec next;  // uint32_t, of each operation: the next like it
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
        if (!ts__kind_touches(op->kind)) continue;
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

// The operation of a row, each one once; TS_NODE_NONE: it was left out.
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
    // The last one stays: an entry without a value would end a probe.
    if (next != TS_NODE_NONE) entry->value = next;
    return op;
}

// The address space of a track: that of its process.
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

typedef struct ts__gather { // at work on the accesses of a trace
    ts_races *races;
    ts__finder finder;
    ts__rmap spaces, space_of; // of processes; of tracks
    ts__rvec touches;          // ts__touch: rows of kind access
    ts__rvec hosts;            // ts__touch: what the host does
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

// The spans of an actor follow each other: give them before the next actor.
static void ts__gather_span(ts__gather *g, uint32_t actor, uint64_t address,
                            uint64_t size, uint8_t mode)
{
    ts_races *const x = g->races;
    ts__actor *const who = ts__races_actor(x, actor);
    if (!size || address > UINT64_MAX - size) {
        x->stats.bad_ranges++;
        return;
    }
    ts__strip *const span =
        (ts__strip *)ts__rvec_push(&x->allocator, &x->spans, sizeof *span);
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

// An operation as the actor that it is; node TS_NODE_NONE: it has no place.
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
    // The call does it, or the thread itself.
    if (o->call != TS_NODE_NONE)
        actor.node = ts__replay_end_node(r, o->call);
    else if (!o->thread || !ts__kind_of_host(o->kind, false))
        actor.node = TS_NODE_NONE;
    actor.host = actor.placed = true;
    return actor;
}

/* ---- 10.61 Races: reading the rows --------------------------------------- */

// Calls `take` for every chunk of some kinds, in the order of the files.
static ts_result ts__gather_scan(ts__gather *g, uint64_t kinds,
                                 void (*take)(ts__gather *g, uint32_t file,
                                              const ts_columns *c))
{
    const ts_replay *const r = g->races->replay;
    for (uint32_t file = 0; file < r->files.count; file++) {
        ts_reader *const reader = ts__replay_file(r, file)->reader;
        ts_columns columns = { 0 };
        ts_chunk_info info;
        for (size_t i = 0; ts_reader_chunk(reader, i, &info); i++) {
            const ts_chunk_header *const h = &info.header;
            if (h->kind != TS_CHUNK_EVENTS || h->event >= TS_EVENT_LIMIT ||
                !(kinds >> h->event & 1))
                continue;
            // Damage costs the chunk alone; the reader's list has it.
            const ts_result result = ts_reader_decode(reader, i, &columns);
            if (result == TS_ERR_MEMORY) g->failed = true;
            if (result == TS_OK && !g->failed) take(g, file, &columns);
        }
        ts_columns_close(reader, &columns);
    }
    return g->failed ? TS_ERR_MEMORY : TS_OK;
}

static bool ts__gather_time_ok(const ts_columns *c, uint32_t i)
{
    return ts__replay_time_ok(c->start_ns[i]) &&
           ts__replay_time_ok(c->duration_ns[i]) && c->duration_ns[i] >= 0;
}

static void ts__gather_touch(ts__gather *g, ts__rvec *to, uint32_t file,
                             const ts_columns *c, uint32_t i, uint8_t mode)
{
    if (!ts__gather_time_ok(c, i)) return;
    ts__touch *const touch =
        (ts__touch *)ts__rvec_push(&g->races->allocator, to, sizeof *touch);
    if (!touch) {
        g->failed = true;
        return;
    }
    touch->address = ts__columns_get(c, TS_COLUMN_ADDRESS, i);
    touch->size = ts__columns_get(c, TS_COLUMN_SIZE, i);
    touch->correlation = ts__columns_get(c, TS_COLUMN_CORRELATION, i);
    touch->time =
        c->start_ns[i] + ts__replay_file(g->races->replay, file)->offset_ns;
    touch->file = file;
    touch->track = c->tracks ? c->tracks[i] : c->track;
    touch->site = (uint32_t)ts__columns_get(c, TS_COLUMN_SITE, i);
    touch->stack = (uint32_t)ts__columns_get(c, TS_COLUMN_STACK, i);
    touch->kind = (uint8_t)c->kind;
    touch->mode = mode;
}

static void ts__gather_take_accesses(ts__gather *g, uint32_t file,
                                     const ts_columns *c)
{
    const uint64_t known = TS_ACCESS_READ | TS_ACCESS_WRITE | TS_ACCESS_COARSE;
    for (uint32_t i = 0; i < c->count; i++) {
        const uint8_t mode =
            (uint8_t)(ts__columns_get(c, TS_COLUMN_TYPE, i) & known);
        const bool host = !ts__columns_get(c, TS_COLUMN_CORRELATION, i);
        if (mode & (TS_ACCESS_READ | TS_ACCESS_WRITE))
            ts__gather_touch(g, host ? &g->hosts : &g->touches, file, c, i,
                             mode);
    }
}

static uint64_t ts__gather_call_key(uint32_t file, uint32_t track,
                                    uint64_t correlation)
{
    const uint64_t v[] = { (uint64_t)file << 32 | track, correlation };
    return XXH3_64bits(v, sizeof v);
}

// Operations by their correlation; of several with one, as in a graph, it is
// not known whose access it is: they get none.
static bool ts__gather_name_calls(ts__gather *g)
{
    const ts_replay *const r = g->races->replay;
    for (uint32_t i = 0; g->touches.count && i < r->op_count; i++) {
        const ts__op *const op = ts__replay_op(r, i);
        if (!op->correlation || !ts__kind_touches(op->kind)) continue;
        const ts__replay_lane *const lane =
            ts__replay_lane_at(r, ts__replay_lanes(r)[i]);
        const uint64_t key =
            ts__gather_call_key(lane->file, lane->track, op->correlation);
        const bool more = ts__rmap_get(&g->by_call, key) != TS_NODE_NONE;
        if (!ts__rmap_put(&g->races->allocator, &g->by_call, key,
                          more ? TS_NODE_NONE - 1 : i))
            return false;
    }
    return true;
}

// Finds the operations of all accesses and sorts these by operation, in the
// order of the file; `time` is the operation then.
static bool ts__gather_match(ts__gather *g)
{
    ts_races *const x = g->races;
    if (!ts__gather_name_calls(g)) return false;
    ts__touch *const touches = (ts__touch *)g->touches.data;
    size_t kept = 0;
    for (size_t i = 0; i < g->touches.count; i++) {
        ts__touch touch = touches[i];
        const uint32_t op = ts__rmap_get(
            &g->by_call,
            ts__gather_call_key(touch.file, touch.track, touch.correlation));
        if (op >= TS_NODE_NONE - 1) {
            x->stats.lost_accesses++;
            continue;
        }
        touch.time = op;
        touches[kept++] = touch;
    }
    g->touches.count = kept;
    ts__rsort sort = { 0 };
    ts__rvec sorted = { 0 };
    bool ok = ts__rsort_open(&x->allocator, &sort, kept) &&
              ts__rvec_reserve(&x->allocator, &sorted, sizeof(ts__touch), kept);
    for (size_t i = 0; ok && i < kept; i++) {
        ts__rsort_keys(&sort)[i] = (uint64_t)touches[i].time;
        ts__rsort_index(&sort)[i] = (uint32_t)i;
    }
    if (ok) {
        ts__rsort_run(&sort, kept);
        for (size_t i = 0; i < kept; i++)
            ((ts__touch *)sorted.data)[i] = touches[ts__rsort_index(&sort)[i]];
        sorted.count = kept;
    }
    ts__rsort_close(&x->allocator, &sort);
    ts__rvec_close(&x->allocator, &g->touches);
    g->touches = sorted;
    return ok;
}

// The accesses of an operation.
static size_t ts__gather_touches(const ts__gather *g, uint32_t op,
                                 const ts__touch **first)
{
    const ts__touch *const touches = (const ts__touch *)g->touches.data;
    size_t low = 0, high = g->touches.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (touches[middle].time < (int64_t)op)
            low = middle + 1;
        else
            high = middle;
    }
    size_t end = low;
    while (end < g->touches.count && touches[end].time == (int64_t)op)
        end++;
    *first = touches + low;
    return end - low;
}

enum { TS__MEMORY_PAGEABLE = 1, TS__MEMORY_ARRAY = 5 };

// The two sides of a copy. Addresses of arrays are none.
static void ts__gather_copy(ts__gather *g, const ts__actor *actor,
                            const ts_columns *c, uint32_t i)
{
    const ts_replay *const r = g->races->replay;
    const uint64_t size = ts__columns_get(c, TS_COLUMN_SIZE, i);
    const uint64_t memory = ts__columns_get(c, TS_COLUMN_MEMORY, i);
    const uint64_t from = ts__columns_get(c, TS_COLUMN_SOURCE, i);
    const uint64_t to = ts__columns_get(c, TS_COLUMN_ADDRESS, i);
    const bool reads = from && (memory & 15) != TS__MEMORY_ARRAY;
    const bool writes = to && (memory >> 4 & 15) != TS__MEMORY_ARRAY;
    const uint32_t call = ts__replay_op(r, actor->op)->call;
    const uint64_t type = ts__columns_get(c, TS_COLUMN_TYPE, i);
    const bool pageable = type == 1 && (memory & 15) == TS__MEMORY_PAGEABLE;
    const bool back = type == 2 && (memory >> 4 & 15) == TS__MEMORY_PAGEABLE;
    const bool staged = pageable && call != TS_NODE_NONE;
    ((uint8_t *)g->races->copies.data)[actor->op] =
        (uint8_t)((pageable ? TS__COPY_STAGED : 0) |
                  (back ? TS__COPY_BACK : 0));
    if (!reads && !writes) return;
    if (reads && staged) {
        ts__actor reader = *actor;
        reader.node = call; // at its start: what is copied comes after it
        reader.start = ts__replay_time(r)[call];
        reader.end = ts__replay_end(r, call);
        reader.host = true;
        const uint32_t who = ts__gather_actor(g, &reader);
        if (!g->failed) ts__gather_span(g, who, from, size, TS_ACCESS_READ);
    }
    if (g->failed || (staged && !writes)) return;
    const uint32_t who = ts__gather_actor(g, actor);
    if (g->failed) return;
    if (reads && !staged) ts__gather_span(g, who, from, size, TS_ACCESS_READ);
    if (writes) ts__gather_span(g, who, to, size, TS_ACCESS_WRITE);
}

static void ts__gather_own(ts__gather *g, const ts__actor *actor,
                           const ts_columns *c, uint32_t i)
{
    const uint64_t address = ts__columns_get(c, TS_COLUMN_ADDRESS, i);
    const uint64_t size = ts__columns_get(c, TS_COLUMN_SIZE, i);
    if (actor->kind == TS_EVENT_MEMCPY) {
        ts__gather_copy(g, actor, c, i);
        return;
    }
    if (!address || actor->kind == TS_EVENT_KERNEL) return;
    const bool frees = actor->kind == TS_EVENT_GPU_FREE;
    const bool allocates = actor->kind == TS_EVENT_GPU_ALLOC;
    if (!frees && !allocates && actor->kind != TS_EVENT_MEMSET) return;
    ts__actor own = *actor;
    own.fill = ts__columns_get(c, TS_COLUMN_VALUE, i);
    const uint32_t who = ts__gather_actor(g, &own);
    if (g->failed) return;
    // How much is freed is known when its allocation is.
    ts__gather_span(g, who, address, frees ? 1 : size,
                    (uint8_t)(TS_ACCESS_WRITE | (frees       ? TS__SPAN_FREE
                                                 : allocates ? TS__SPAN_ALLOC
                                                             : 0)));
}

static void ts__gather_take_operations(ts__gather *g, uint32_t file,
                                       const ts_columns *c)
{
    ts_races *const x = g->races;
    const int64_t offset = ts__replay_file(x->replay, file)->offset_ns;
    for (uint32_t i = 0; i < c->count && !g->failed; i++) {
        if (!ts__gather_time_ok(c, i)) continue;
        const uint32_t op = ts__finder_take(&g->finder, file, c, i, offset);
        if (op == TS_NODE_NONE || ts__replay_op(x->replay, op)->skip) continue;
        ts__actor actor = ts__gather_operation(g, op);
        actor.site = (uint32_t)ts__columns_get(c, TS_COLUMN_SITE, i);
        actor.stack = (uint32_t)ts__columns_get(c, TS_COLUMN_STACK, i);
        const uint64_t ranges = x->stats.ranges;
        const size_t spans = x->spans.count;
        actor.own = true;
        ts__gather_own(g, &actor, c, i);
        actor.own = false;
        const ts__touch *touches;
        const size_t count = ts__gather_touches(g, op, &touches);
        const uint32_t who = count ? ts__gather_actor(g, &actor) : 0;
        bool coarse = false;
        for (size_t k = 0; k < count && !g->failed; k++) {
            ts__gather_span(g, who, touches[k].address, touches[k].size,
                            touches[k].mode);
            coarse |= (touches[k].mode & TS_ACCESS_COARSE) != 0;
        }
        x->stats.known += x->stats.ranges != ranges;
        x->stats.coarse += coarse;
        if (actor.node != TS_NODE_NONE || x->spans.count == spans) continue;
        x->stats.unplaced++;
        for (size_t k = spans; k < x->spans.count; k++)
            ts__races_span(x, k)->mode = 0; // not looked at
    }
}

/* ---- 10.62 Races: the host ----------------------------------------------- */

// Memory that GPU work touches, as ranges that lie apart, ascending.
typedef struct ts__reached {
    uint64_t first, last;
    uint32_t space;
} ts__reached;

static int ts__reached_compare(const void *left, const void *right)
{
    const ts__reached *const a = (const ts__reached *)left;
    const ts__reached *const b = (const ts__reached *)right;
    if (a->space != b->space) return a->space < b->space ? -1 : 1;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    return a->last < b->last ? -1 : a->last > b->last;
}

static bool ts__gather_reached(ts__gather *g, ts__rvec *reached)
{
    ts_races *const x = g->races;
    if (!ts__rvec_reserve(&x->allocator, reached, sizeof(ts__reached),
                          x->spans.count))
        return false;
    ts__reached *const list = (ts__reached *)reached->data;
    for (size_t i = 0; i < x->spans.count; i++) {
        const ts__strip *const s = ts__races_span(x, i);
        list[i].first = s->first;
        list[i].last = s->last;
        list[i].space = s->space;
    }
    if (x->spans.count)
        qsort(list, x->spans.count, sizeof *list, ts__reached_compare);
    size_t kept = 0;
    for (size_t i = 0; i < x->spans.count; i++) {
        ts__reached *const last = kept ? &list[kept - 1] : NULL;
        if (last && last->space == list[i].space &&
            list[i].first <= last->last) {
            if (list[i].last > last->last) last->last = list[i].last;
        } else {
            list[kept++] = list[i];
        }
    }
    reached->count = kept;
    return true;
}

static bool ts__reached_has(const ts__rvec *reached, uint32_t space,
                            uint64_t first, uint64_t last)
{
    const ts__reached *const list = (const ts__reached *)reached->data;
    size_t low = 0, high = reached->count;
    while (low < high) { // the first that ends behind `first`
        const size_t middle = low + (high - low) / 2;
        if (list[middle].space < space ||
            (list[middle].space == space && list[middle].last < first))
            low = middle + 1;
        else
            high = middle;
    }
    return low < reached->count && list[low].space == space &&
           list[low].first <= last;
}

static void ts__gather_take_heap(ts__gather *g, uint32_t file,
                                 const ts_columns *c)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (!ts__columns_get(c, TS_COLUMN_POOL, i) &&
            ts__columns_get(c, TS_COLUMN_ADDRESS, i))
            ts__gather_touch(
                g, &g->hosts, file, c, i,
                (uint8_t)(TS_ACCESS_WRITE |
                          (c->kind == TS_EVENT_ALLOC ? TS__SPAN_ALLOC
                                                     : TS__SPAN_FREE)));
}

// Leaves those of the host's allocations and frees that GPU work reaches into.
static bool ts__gather_prune(ts__gather *g)
{
    const ts_allocator *const a = &g->races->allocator;
    ts__rvec reached = { 0 };
    ts__rmap kept_blocks = { { 0 }, 0 };
    bool ok = ts__gather_reached(g, &reached);
    ts__touch *const touches = (ts__touch *)g->hosts.data;
    for (int frees = 0; ok && frees < 2; frees++) {
        size_t kept = 0;
        for (size_t i = 0; ok && i < g->hosts.count; i++) {
            const ts__touch t = touches[i];
            const uint32_t space = ts__gather_space(g, t.file, t.track);
            const uint64_t v[] = { space, t.address };
            const uint64_t key = XXH3_64bits(v, sizeof v);
            bool keep = true;
            if (t.mode & TS__SPAN_ALLOC && !frees) {
                keep = t.size && t.address <= UINT64_MAX - t.size &&
                       ts__reached_has(&reached, space, t.address,
                                       t.address + t.size - 1);
                if (keep) ok = ts__rmap_put(a, &kept_blocks, key, 0);
            } else if (t.mode & TS__SPAN_FREE && frees) {
                keep = ts__rmap_get(&kept_blocks, key) != TS_NODE_NONE;
            }
            if (keep) touches[kept++] = t;
        }
        g->hosts.count = kept;
    }
    ts__rvec_close(a, &reached);
    ts__rvec_close(a, &kept_blocks.entries);
    return ok && !g->failed;
}

// A node for each thing that the host does, and the actor that does it.
static void ts__gather_hosts(ts__gather *g)
{
    ts_races *const x = g->races;
    const ts__touch *const touches = (const ts__touch *)g->hosts.data;
    for (size_t i = 0; i < g->hosts.count && !g->failed; i++) {
        const ts__touch *const t = &touches[i];
        ts__actor actor = { 0 };
        actor.op = TS_NODE_NONE;
        actor.node = x->replay->node_count + (uint32_t)i;
        actor.file = t->file;
        actor.track = actor.thread = t->track;
        actor.kind = t->kind;
        actor.site = t->site;
        actor.stack = t->stack;
        actor.start = actor.end = t->time;
        actor.host = actor.placed = true;
        const uint32_t who = ts__gather_actor(g, &actor);
        if (!g->failed)
            ts__gather_span(g, who, t->address,
                            t->mode & TS__SPAN_FREE ? 1 : t->size, t->mode);
        x->stats.host++;
    }
}

static ts_result ts__gather_run(ts__gather *g)
{
    ts_races *const x = g->races;
    const uint64_t own = TS_FILTER(MEMCPY) | TS_FILTER(MEMSET) |
                         TS_FILTER(GPU_ALLOC) | TS_FILTER(GPU_FREE);
    const uint64_t told =
        TS_FILTER(KERNEL) | TS_FILTER(COLLECTIVE) | TS_FILTER(HOST_FUNCTION);
    for (uint32_t i = 0; i < x->replay->op_count; i++) {
        const ts__op *const op = ts__replay_op(x->replay, i);
        x->stats.operations += !op->skip && ts__kind_touches(op->kind);
    }
    ts_result result =
        ts__gather_scan(g, TS_FILTER(ACCESS), ts__gather_take_accesses);
    if (!ts__rvec_fill(&x->allocator, &x->copies, 1, x->replay->op_count, 0))
        return TS_ERR_MEMORY;
    if (result == TS_OK &&
        !(ts__finder_open(x, &g->finder) && ts__gather_match(g)))
        return TS_ERR_MEMORY;
    if (result == TS_OK)
        result = ts__gather_scan(g, own | (g->touches.count ? told : 0),
                                 ts__gather_take_operations);
    if (result == TS_OK && x->spans.count)
        result = ts__gather_scan(g, TS_FILTER(ALLOC) | TS_FILTER(FREE),
                                 ts__gather_take_heap);
    if (result != TS_OK) return result;
    if (!ts__gather_prune(g)) return TS_ERR_MEMORY;
    if (g->hosts.count >= UINT32_MAX - x->replay->node_count)
        return TS_ERR_UNSUPPORTED;
    ts__gather_hosts(g);
    return g->failed ? TS_ERR_MEMORY : TS_OK;
}

static void ts__gather_close(ts__gather *g)
{
    const ts_allocator *const a = &g->races->allocator;
    ts__finder_close(g->races, &g->finder);
    ts__rvec_close(a, &g->spaces.entries);
    ts__rvec_close(a, &g->space_of.entries);
    ts__rvec_close(a, &g->by_call.entries);
    ts__rvec_close(a, &g->touches);
    ts__rvec_close(a, &g->hosts);
}
