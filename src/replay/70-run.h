/* ---- 10.26 Replay: the plan ---------------------------------------------- */

static void ts__plan_edges(ts_replay *r)
{
    for (uint32_t i = 0; i < r->node_count; i++) {
        const bool inside = ts__replay_selected(r, i);
        const uint32_t end = ts__replay_offsets(r)[i + 1];
        for (uint32_t e = ts__replay_offsets(r)[i]; e < end; e++) {
            const uint8_t kind = TS_EDGE_KIND(ts__replay_kind(r, e));
            if (kind == TS_EDGE_SELF ||
                !ts__replay_selected(r, ts__replay_target(r, e)))
                continue;
            if (inside) {
                r->stats.edges[kind]++;
                r->stats.inferred[kind] +=
                    (ts__replay_kind(r, e) & TS_EDGE_INFERRED) != 0;
            } else {
                r->stats.cut_edges++;
            }
        }
    }
}

static void ts__plan_operations(ts_replay *r)
{
    ts_replay_stats *const s = &r->stats;
    for (uint32_t i = 0; i < r->op_count; i++) {
        const ts__op *const op = ts__replay_op(r, i);
        if (op->skip != TS_SKIP_NOT) {
            s->skipped[op->skip]++;
            continue;
        }
        const int64_t start = ts__replay_time(r)[i];
        const int64_t end = ts__replay_end(r, i);
        if (!s->operations || start < s->recorded_start_ns)
            s->recorded_start_ns = start;
        if (!s->operations || end > s->recorded_end_ns)
            s->recorded_end_ns = end;
        s->operations++;
    }
    for (uint32_t i = 0; i < r->call_count; i++)
        s->calls += ts__replay_selected(r, r->op_count + i);
}

/*
    A loss of one stream or device touches only that. A loss of a thread may
    have hit any operation, since threads of the vendor's library report them.
*/
static bool ts__plan_touches(const ts_replay *r, uint32_t file,
                             const ts_loss_row *loss)
{
    const ts_replay_stats *const s = &r->stats;
    if (loss->cause >= TS_LOSS_STALL_FIRST) return false;
    const ts_replay_file *const f = ts__replay_file(r, file);
    const int64_t first = ts__replay_add(loss->first_ns, f->offset_ns);
    const int64_t last = ts__replay_add(loss->last_ns, f->offset_ns);
    const bool timed = loss->first_ns || loss->last_ns;
    if (timed && (last < s->recorded_start_ns || first > s->recorded_end_ns))
        return false;
    ts_track track;
    if (!ts_reader_track(f->reader, loss->track, &track) ||
        (track.type != TS_TRACK_STREAM && track.type != TS_TRACK_CONTEXT &&
         track.type != TS_TRACK_DEVICE))
        return true;
    for (size_t i = 0; i < r->lanes.count; i++) {
        const ts__replay_lane *const lane = ts__replay_lane_at(r, i);
        if (lane->selected && lane->file == file &&
            (lane->track == loss->track || lane->device_track == loss->track ||
             lane->context_track == loss->track))
            return true;
    }
    return false;
}

static void ts__plan_losses(ts_replay *r)
{
    ts_loss_row loss;
    for (uint32_t file = 0; file < r->files.count; file++)
        for (size_t i = 0;
             ts_reader_loss(ts__replay_file(r, file)->reader, i, &loss); i++)
            if (ts__plan_touches(r, file, &loss)) r->stats.lost += loss.count;
}

static bool ts__replay_files(ts_replay *r, const ts_replay_desc *desc)
{
    const size_t count = 1 + desc->more_count;
    if (!ts__rvec_fill(&r->allocator, &r->files, sizeof(ts_replay_file), count,
                       0))
        return false;
    for (uint32_t i = 0; i < count; i++)
        ts__replay_file(r, i)->reader = i ? desc->more[i - 1] : r->reader;
    for (uint32_t i = 0; i < count; i++)
        if (!ts__parts_add(r, i)) return false;
    return true;
}

static bool ts__load_window_ok(const ts_replay_desc *desc)
{
    if (desc->load_before_ns < 0) return false;
    return (!desc->load_from_ns && !desc->load_to_ns) ||
           desc->load_from_ns < desc->load_to_ns;
}

// No recorded time lies beyond TS__REPLAY_TIME_MAX, so no window need.
static void ts__load_window(ts_replay *r, const ts_replay_desc *desc)
{
    const int64_t most = TS__REPLAY_TIME_MAX + 1;
    const int64_t from = desc->load_from_ns, to = desc->load_to_ns;
    r->windowed = from || to;
    r->load_from = from < -most ? -most : from > most ? most : from;
    r->load_to = to < -most ? -most : to > most ? most : to;
    r->calls_from = -most;
    if (desc->load_before_ns && desc->load_before_ns < r->load_from + most)
        r->calls_from = r->load_from - desc->load_before_ns;
}

TS_API ts_result ts_replay_open(ts_replay **replay, ts_reader *reader,
                                const ts_replay_desc *desc)
{
    static const ts_replay_desc none = { 0 };
    if (!replay) return TS_ERR_USAGE;
    *replay = NULL;
    if (!desc) desc = &none;
    if (!reader || desc->to_ns < desc->from_ns || desc->deps > TS_DEPS_NONE ||
        !ts__load_window_ok(desc))
        return TS_ERR_USAGE;
    for (size_t i = 0; i < desc->more_count; i++)
        if (!desc->more[i]) return TS_ERR_USAGE;
    if (desc->more_count >= 65535) return TS_ERR_UNSUPPORTED;
    const ts_allocator allocator = ts__arena_open(&desc->allocator);
    ts_replay *const r = (ts_replay *)allocator.resize(allocator.user, NULL, 0,
                                                       sizeof(ts_replay));
    if (!r) {
        ts__arena_close(&allocator);
        return TS_ERR_MEMORY;
    }
    memset(r, 0, sizeof *r);
    r->reader = reader;
    r->allocator = allocator;
    r->deps = desc->deps;
    r->queue_depth = desc->queue_depth ? desc->queue_depth : 1024;
    r->connections = desc->connections;
    r->no_inference = desc->no_inference;
    r->clocks_only = desc->clocks_only;
    ts__load_window(r, desc);
    ts_result result = ts__replay_files(r, desc)
                           ? ts__replay_load(r, desc->threads)
                           : TS_ERR_MEMORY;
    if (result == TS_OK) result = ts__replay_build(r);
    if (result == TS_OK && !ts__replay_select(r, desc)) result = TS_ERR_MEMORY;
    if (result != TS_OK) {
        ts_replay_close(r);
        return result;
    }
    ts__plan_operations(r);
    ts__plan_edges(r);
    ts__plan_losses(r);
    *replay = r;
    return TS_OK;
}

static void ts__model_close(ts_replay *r);

TS_API void ts_replay_close(ts_replay *replay)
{
    if (!replay) return;
    const ts_allocator a = replay->allocator;
    ts__model_close(replay);
    ts__rvec *const vecs[] = { &replay->files,        &replay->ops,
                               &replay->call_names,   &replay->call_classes,
                               &replay->events,       &replay->places,
                               &replay->meetings,     &replay->members,
                               &replay->met,          &replay->collectives,
                               &replay->joined,       &replay->queued,
                               &replay->deps_named,   &replay->call_numbers,
                               &replay->lanes,        &replay->waiters,
                               &replay->time,         &replay->duration,
                               &replay->lane,         &replay->flags,
                               &replay->offsets,      &replay->targets,
                               &replay->kinds,        &replay->start,
                               &replay->gap,          &replay->changed,
                               &replay->lane_results, &replay->device_results,
                               &replay->circle,       &replay->ends,
                               &replay->parts,        &replay->part_of.entries,
                               &replay->part_first };
    for (size_t i = 0; i < sizeof vecs / sizeof vecs[0]; i++)
        ts__rvec_close(&a, vecs[i]);
    a.resize(a.user, replay, sizeof *replay, 0);
    ts__arena_close(&a);
}

/* ---- 10.27 Replay: the run ----------------------------------------------- */

/*
    Without limits on resources, when a node starts depends on its edges alone
    and not on the order in which nodes are looked at, so they are taken from a
    plain queue as they become ready: first in, first out keeps close to the
    order in memory. Limits need the order of time, see 7.33.
*/
typedef struct ts__rrun {
    ts_replay *replay;
    // The graph that runs: the replay's own, or a changed one.
    const uint32_t *offsets, *targets;
    const uint8_t *kinds;
    const int64_t *delay;    // of each edge (NULL: none)
    const int64_t *duration; // of each node
    uint32_t *missing;       // of each node: edges that have not fired
    int64_t *start;          // likewise: the latest that has, then the start
    int64_t *gap;            // the latest edge of the record, then the gap
    const bool *removed;     // operations that a change took away (NULL: none)
    uint64_t ran;
} ts__rrun;

// A node that is not selected is never ready.
#define TS__RUN_NEVER (UINT32_C(1) << 31)

// Whether an edge from `node` is heeded: fired by it, or by the record.
static bool ts__rrun_heeds(const ts_replay *r, uint32_t node)
{
    return ts__replay_selected(r, node) || r->deps != TS_DEPS_NONE;
}

static int64_t ts__rrun_source(const ts_replay *r, uint32_t node, uint8_t kind)
{
    return kind & TS_EDGE_FROM_START ? ts__replay_time(r)[node]
                                     : ts__replay_end(r, node);
}

// An edge that a change took away. No sum with a time comes near it.
#define TS__EDGE_OFF (-TS__REPLAY_SUM_MAX)

// When an edge lets its target start. One that was taken away still fires, but
// a node that has no other does not start at the beginning of time.
static int64_t ts__rrun_at(const ts__rrun *run, uint32_t e, int64_t source)
{
    if (!run->delay) return source;
    if (run->delay[e] == TS__EDGE_OFF) return TS__NO_TIME;
    return ts__replay_add(source, run->delay[e]);
}

// Counts the edges into every node. `gap` becomes the latest of the record,
// `start` the latest that the run will not fire: frozen, it is what it was.
static void ts__rrun_edges(ts__rrun *run)
{
    const ts_replay *const r = run->replay;
    for (uint32_t i = 0; i < r->node_count; i++) {
        if (!ts__rrun_heeds(r, i)) continue;
        const bool fires = ts__replay_selected(r, i);
        const uint32_t end = run->offsets[i + 1];
        for (uint32_t e = run->offsets[i]; e < end; e++) {
            const uint32_t to = run->targets[e];
            const int64_t at =
                ts__rrun_at(run, e, ts__rrun_source(r, i, run->kinds[e]));
            if (at > run->gap[to]) run->gap[to] = at;
            if (fires)
                run->missing[to]++;
            else if (at > run->start[to])
                run->start[to] = at;
        }
    }
}

// What the record shows of every node beyond its latest edge.
static void ts__rrun_gaps(ts__rrun *run)
{
    const int64_t *const time = ts__replay_time(run->replay);
    for (uint32_t i = 0; i < run->replay->node_count; i++) {
        const int64_t at = run->gap[i];
        run->gap[i] = time[i] - (at == TS__NO_TIME ? 0 : at);
    }
}

// Returns how many nodes are ready before the first one runs, in `queue`.
static uint32_t ts__rrun_begin(ts__rrun *run, uint32_t *queue)
{
    const ts_replay *const r = run->replay;
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->node_count; i++) {
        if (!ts__replay_selected(r, i))
            run->missing[i] |= TS__RUN_NEVER;
        else if (!run->missing[i])
            queue[count++] = i;
    }
    return count;
}

// When a node starts whose edges have all fired.
static int64_t ts__rrun_start(const ts__rrun *run, uint32_t node)
{
    const int64_t at = run->start[node];
    return ts__replay_add(at == TS__NO_TIME ? 0 : at, run->gap[node]);
}

// Runs a node; appends what becomes ready to `queue`, returns its new count.
static uint32_t ts__rrun_fire(ts__rrun *run, uint32_t node, int64_t start,
                              uint32_t *queue, uint32_t count)
{
    const int64_t end = ts__replay_add(start, run->duration[node]);
    run->start[node] = start;
    run->ran++;
    const uint32_t last = run->offsets[node + 1];
    for (uint32_t e = run->offsets[node]; e < last; e++) {
        const uint32_t to = run->targets[e];
        const int64_t at = ts__rrun_at(
            run, e, run->kinds[e] & TS_EDGE_FROM_START ? start : end);
        if (at > run->start[to]) run->start[to] = at;
        if (--run->missing[to] == 0) queue[count++] = to;
    }
    return count;
}

static bool ts__rrun_loop(ts__rrun *run)
{
    const ts_allocator *const a = &run->replay->allocator;
    ts__rvec ready = { 0 };
    if (!ts__rvec_reserve(a, &ready, sizeof(uint32_t), run->replay->node_count))
        return false;
    uint32_t *const queue = (uint32_t *)ready.data;
    uint32_t count = ts__rrun_begin(run, queue);
    for (uint32_t i = 0; i < count; i++)
        count = ts__rrun_fire(run, queue[i], ts__rrun_start(run, queue[i]),
                              queue, count);
    ts__rvec_close(a, &ready);
    return true;
}

// Marks what did not run.
static void ts__rrun_stuck(ts__rrun *run)
{
    ts_replay *const r = run->replay;
    r->stats.skipped[TS_SKIP_UNMET] = r->stats.skipped[TS_SKIP_REMOVED] = 0;
    for (uint32_t i = 0; i < r->node_count; i++) {
        const bool stuck = ts__replay_selected(r, i) && run->missing[i];
        if (stuck || !ts__replay_selected(r, i)) run->start[i] = TS__NO_TIME;
        if (i >= r->op_count || !ts__replay_selected(r, i)) continue;
        const uint32_t end = ts__replay_end_node(r, i);
        const bool ends = !run->missing[i] && !run->missing[end];
        ts__replay_op(r, i)->skip = ends ? TS_SKIP_NOT : TS_SKIP_UNMET;
        r->stats.skipped[TS_SKIP_UNMET] += !ends;
        if (!ends || !run->removed || !run->removed[i]) continue;
        ts__replay_op(r, i)->skip = TS_SKIP_REMOVED;
        r->stats.skipped[TS_SKIP_REMOVED]++;
    }
}

/*
    Every stuck node waits for another stuck one, so following any such edge
    backwards comes round. `before` is filled with one of each node's.
*/
static bool ts__rrun_circle(ts__rrun *run)
{
    ts_replay *const r = run->replay;
    ts__rvec before = { 0 };
    if (!ts__rvec_fill(&r->allocator, &before, sizeof(uint32_t), r->node_count,
                       0xFF))
        return false;
    uint32_t *const from = (uint32_t *)before.data;
    uint32_t node = TS_NODE_NONE;
    for (uint32_t i = 0; i < r->node_count; i++) {
        if (!ts__replay_selected(r, i) || !run->missing[i]) continue;
        if (node == TS_NODE_NONE) node = i;
        const uint32_t end = run->offsets[i + 1];
        for (uint32_t e = run->offsets[i]; e < end; e++)
            from[run->targets[e]] = i;
    }
    for (uint32_t i = 0; i < r->node_count; i++)
        node = from[node]; // now surely inside the circle
    const uint32_t first = node;
    const uint32_t ends_at = r->op_count + r->call_count;
    bool ok = true;
    do {
        uint32_t owner = node;
        if (node >= ends_at && node < r->join_first)
            owner = ((const uint32_t *)r->waiters.data)[node - ends_at];
        const uint32_t *const list = (const uint32_t *)r->circle.data;
        const bool again =
            r->circle.count && list[r->circle.count - 1] == owner;
        if (owner < r->join_first && !again) {
            uint32_t *const to = (uint32_t *)ts__rvec_push(
                &r->allocator, &r->circle, sizeof *to);
            if (to) *to = owner;
            ok = to != NULL;
        }
        node = from[node];
    } while (ok && node != first);
    ts__rvec_close(&r->allocator, &before);
    return ok;
}

static void ts__circle_turn(ts__rvec *circle)
{
    uint32_t *const list = (uint32_t *)circle->data;
    size_t count = circle->count, least = 0;
    // The walk may have begun between the two halves of one node.
    if (count > 1 && list[0] == list[count - 1]) circle->count = --count;
    for (size_t i = 1; i < count; i++)
        if (list[i] < list[least]) least = i;
    while (least--) {
        const uint32_t head = list[0];
        memmove(list, list + 1, (count - 1) * sizeof *list);
        list[count - 1] = head;
    }
}

/* ---- 10.28 Replay: figures of the run ------------------------------------ */

static int64_t ts__model_extra(const ts_replay *r, uint32_t op);

// What was inserted behind an operation is not part of it.
static int64_t ts__op_end(const ts_replay *r, uint32_t op)
{
    const int64_t *const start = (const int64_t *)r->start.data;
    const uint32_t end = ts__replay_end_node(r, op);
    const int64_t extra = ts__model_extra(r, op);
    if (end != op) { // others may have met it without what was inserted
        const bool ended = start[end] != TS__NO_TIME;
        const int64_t without = ended ? start[end] - extra : start[op];
        return without > start[op] ? without : start[op];
    }
    const int64_t *const changed = (const int64_t *)r->changed.data;
    const int64_t duration =
        r->changed.count ? changed[op] : ts__replay_duration(r)[op];
    return ts__replay_add(start[op], duration - extra);
}

// Puts the operations in the sorter's index into total order of the schedule.
static bool ts__figures_sort(const ts_replay *r, ts__rsort *sort, size_t count)
{
    const int64_t *const start = (const int64_t *)r->start.data;
    if (!ts__rsort_open(&r->allocator, sort, r->op_count)) return false;
    for (size_t i = 0; i < count; i++)
        ts__rsort_keys(sort)[i] = ts__replay_lanes(r)[ts__rsort_index(sort)[i]];
    ts__rsort_run(sort, count);
    for (size_t i = 0; i < count; i++)
        ts__rsort_keys(sort)[i] =
            ts__rsort_time(start[ts__rsort_index(sort)[i]]);
    ts__rsort_run(sort, count);
    return true;
}

// The operations that ran, in total order. That of the record is the same
// unless something moved.
static bool ts__figures_order(const ts_replay *r, ts__rsort *sort,
                              size_t *count)
{
    const int64_t *const start = (const int64_t *)r->start.data;
    const uint32_t *const lanes = ts__replay_lanes(r);
    if (!ts__rvec_reserve(&r->allocator, &sort->index[0], sizeof(uint32_t),
                          r->op_count))
        return false;
    bool sorted = true;
    uint32_t last = TS_NODE_NONE;
    for (uint32_t i = 0; i < r->op_count; i++) {
        if (ts__replay_op(r, i)->skip != TS_SKIP_NOT) continue;
        if (last != TS_NODE_NONE &&
            (start[last] > start[i] ||
             (start[last] == start[i] && lanes[last] > lanes[i])))
            sorted = false;
        ts__rsort_index(sort)[(*count)++] = last = i;
    }
    return sorted || ts__figures_sort(r, sort, *count);
}

// What an operation is, wherever it lies in the file. 48 bytes, hashed as
// they are on a little-endian machine, like everything in a trace.
typedef struct ts__identity {
    uint64_t place; // kind, lane type, file, device number: 8, 8, 16, 32 bits
    uint64_t stream, correlation, name;
    int64_t start, end;
} ts__identity;

static bool ts__figures_name(const ts_replay *r, ts__rmap *known,
                             ts__rvec *hashes, uint32_t index, uint64_t *hash)
{
    const ts__op *const op = ts__replay_op(r, index);
    const uint32_t file = ts__replay_file_of(r, index);
    const ts_reader *const reader = ts__replay_file(r, file)->reader;
    const bool launch = op->kind == TS_EVENT_KERNEL;
    *hash = op->kind == TS_EVENT_MEMCPY ? op->label : 0;
    if (!launch && op->kind != TS_EVENT_COLLECTIVE &&
        op->kind != TS_EVENT_HOST_FUNCTION)
        return true;
    const uint64_t key = ts__replay_key(file * 2 + launch, op->label);
    const uint32_t at = ts__rmap_get(known, key);
    if (at != TS_NODE_NONE) {
        *hash = ((const uint64_t *)hashes->data)[at];
        return true;
    }
    uint32_t name = op->label;
    if (launch) {
        const ts_launch_entry *const entry =
            ts_reader_launch(reader, op->label);
        name = entry ? entry->name : 0;
    }
    const ts_text text = ts_reader_name(reader, name);
    *hash = XXH3_64bits(text.text, text.size);
    uint64_t *const to =
        (uint64_t *)ts__rvec_push(&r->allocator, hashes, sizeof *to);
    if (to) *to = *hash;
    return to &&
           ts__rmap_put(&r->allocator, known, key, (uint32_t)hashes->count - 1);
}

static bool ts__figures_identity(const ts_replay *r, uint32_t index,
                                 ts__rmap *known, ts__rvec *hashes,
                                 ts__identity *id)
{
    const ts__op *const op = ts__replay_op(r, index);
    const ts__replay_lane *const lane =
        ts__replay_lane_at(r, ts__replay_lanes(r)[index]);
    id->place = op->kind | (uint64_t)lane->type << 8 |
                (uint64_t)lane->part << 16 | lane->device_number << 32;
    id->stream = lane->number;
    id->correlation = op->correlation;
    if (op->correlation >> 48 == ts__replay_part(r, lane->part)->local)
        id->correlation &= (UINT64_C(1) << 48) - 1; // as if it were alone
    id->start = ((const int64_t *)r->start.data)[index];
    id->end = ts__op_end(r, index);
    return ts__figures_name(r, known, hashes, index, &id->name);
}

// The digest of a schedule whose order is in `index`.
static bool ts__figures_digest(ts_replay *r, const uint32_t *index,
                               size_t count)
{
    ts__rmap known = { { 0 }, 0 };
    ts__rvec hashes = { 0 };
    ts__identity block[64];
    size_t filled = 0;
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_64bits_reset(&state);
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        ok = ts__figures_identity(r, index[i], &known, &hashes,
                                  &block[filled++]);
        if (filled < 64 && i + 1 < count) continue;
        XXH3_64bits_update(&state, block, filled * sizeof block[0]);
        filled = 0;
    }
    r->stats.digest = XXH3_64bits_digest(&state);
    ts__rvec_close(&r->allocator, &known.entries);
    ts__rvec_close(&r->allocator, &hashes);
    return ok;
}

// Adds [start, end) to what a lane did; starts come in order.
static void ts__lane_add(ts_lane *lane, int64_t *busy_until, int64_t start,
                         int64_t end, bool works)
{
    if (!lane->operations++ || start < lane->start_ns) lane->start_ns = start;
    if (lane->operations == 1 || end > lane->end_ns) lane->end_ns = end;
    if (!works) return;
    const int64_t from = start > *busy_until ? start : *busy_until;
    if (end > from) {
        lane->busy_ns += end - from;
        *busy_until = end;
    }
}

static void ts__lanes_reset(ts__rvec *lanes)
{
    for (size_t i = 0; i < lanes->count; i++) {
        ts_lane *const lane = (ts_lane *)lanes->data + i;
        lane->operations = 0;
        lane->start_ns = lane->end_ns = lane->busy_ns = 0;
    }
}

// Busy times. Lanes without operations, the threads, come first and have no
// result.
static bool ts__figures_busy(ts_replay *r, const uint32_t *index, size_t count)
{
    const size_t own = r->lane_results.count, all = r->device_results.count;
    ts__rvec until = { 0 };
    if (!ts__rvec_reserve(&r->allocator, &until, sizeof(int64_t), own + all))
        return false;
    int64_t *const busy_until = (int64_t *)until.data;
    for (size_t i = 0; i < own + all; i++)
        busy_until[i] = TS__NO_TIME;
    ts__lanes_reset(&r->lane_results);
    ts__lanes_reset(&r->device_results);
    ts_replay_stats *const s = &r->stats;
    const size_t threads = r->lanes.count - own;
    bool any = false;
    s->start_ns = s->end_ns = s->busy_from_ns = s->busy_to_ns = 0;
    for (size_t i = 0; i < count; i++) {
        const uint8_t kind = ts__replay_op(r, index[i])->kind;
        const uint32_t lane = ts__replay_lanes(r)[index[i]];
        const uint32_t device = ts__replay_lane_at(r, lane)->device;
        const int64_t start = ((const int64_t *)r->start.data)[index[i]];
        const int64_t end = ts__op_end(r, index[i]);
        const bool works = ts__kind_works(kind);
        ts__lane_add((ts_lane *)r->lane_results.data + (lane - threads),
                     &busy_until[lane - threads], start, end,
                     works || kind == TS_EVENT_HOST_FUNCTION);
        ts__lane_add((ts_lane *)r->device_results.data + device,
                     &busy_until[own + device], start, end, works);
        if (i == 0) s->start_ns = start;
        if (i == 0 || end > s->end_ns) s->end_ns = end;
        if (works && !any) s->busy_from_ns = start;
        if (works && (!any || end > s->busy_to_ns)) s->busy_to_ns = end;
        any |= works;
    }
    ts__rvec_close(&r->allocator, &until);
    return true;
}

// Nearest-rank percentile of `count` sorted values.
static int64_t ts__percentile(const uint64_t *sorted, size_t count,
                              size_t percent)
{
    return (int64_t)sorted[(count * percent + 99) / 100 - 1];
}

static bool ts__figures_errors(ts_replay *r, ts__rsort *sort, size_t count)
{
    ts_replay_stats *const s = &r->stats;
    const int64_t *const start = (const int64_t *)r->start.data;
    s->start_error_p50_ns = s->start_error_p95_ns = s->start_error_max_ns = 0;
    s->different = s->skipped[TS_SKIP_UNMET];
    bool moved = false;
    for (size_t i = 0; i < count; i++) {
        const uint32_t op = ts__rsort_index(sort)[i];
        moved |= start[op] != ts__replay_time(r)[op];
        s->different += start[op] != ts__replay_time(r)[op] ||
                        ts__op_end(r, op) != ts__replay_end(r, op);
    }
    if (!moved) return true;
    if (!ts__rsort_open(&r->allocator, sort, r->op_count)) return false;
    for (size_t i = 0; i < count; i++) {
        const uint32_t op = ts__rsort_index(sort)[i];
        const int64_t error = start[op] - ts__replay_time(r)[op];
        ts__rsort_keys(sort)[i] = (uint64_t)(error < 0 ? -error : error);
    }
    ts__rsort_run(sort, count);
    const uint64_t *const sorted = ts__rsort_keys(sort);
    s->start_error_p50_ns = ts__percentile(sorted, count, 50);
    s->start_error_p95_ns = ts__percentile(sorted, count, 95);
    s->start_error_max_ns = ts__percentile(sorted, count, 100);
    return true;
}

static bool ts__figures(ts_replay *r)
{
    ts__rsort sort = { 0 };
    size_t count = 0;
    bool ok = ts__figures_order(r, &sort, &count);
    if (ok)
        ok = ts__figures_digest(r, ts__rsort_index(&sort), count) &&
             ts__figures_busy(r, ts__rsort_index(&sort), count);
    ok = ok && ts__figures_errors(r, &sort, count);
    r->stats.operations = count;
    ts__rsort_close(&r->allocator, &sort);
    return ok;
}

static bool ts__rrun_open(ts__rrun *run)
{
    ts_replay *const r = run->replay;
    const ts_allocator *const a = &r->allocator;
    const size_t count = r->node_count;
    ts__rvec missing = { 0 };
    if (!ts__rvec_reserve(a, &r->start, sizeof(int64_t), count) ||
        !ts__rvec_reserve(a, &r->gap, sizeof(int64_t), count) ||
        !ts__rvec_fill(a, &missing, sizeof(uint32_t), count, 0))
        return false;
    r->start.count = r->gap.count = count;
    run->start = (int64_t *)r->start.data;
    run->gap = (int64_t *)r->gap.data;
    run->missing = (uint32_t *)missing.data;
    for (size_t i = 0; i < count; i++)
        run->start[i] = run->gap[i] = TS__NO_TIME;
    r->circle.count = 0;
    return true;
}

static void ts__rrun_close(ts__rrun *run)
{
    const ts_allocator *const a = &run->replay->allocator;
    const size_t count = run->replay->node_count ? run->replay->node_count : 1;
    if (run->missing)
        a->resize(a->user, run->missing, count * sizeof *run->missing, 0);
    run->missing = NULL;
}

// A meeting takes as long as the operation that is its measure.
static void ts__rrun_meet(const ts_replay *r)
{
    int64_t *const changed = (int64_t *)r->changed.data;
    for (size_t i = 0; i < r->joined.count; i++) {
        const uint32_t join = r->join_first + (uint32_t)i;
        changed[join] = changed[ts__replay_cost_of(r, join)];
    }
}

// The durations of a run, in ts_replay.changed unless all are as recorded.
static bool ts__rrun_change(ts_replay *r, const int64_t *durations_ns)
{
    r->changed.count = 0;
    if (!durations_ns) return true;
    const size_t size = sizeof *durations_ns, count = r->node_count;
    if (!ts__rvec_reserve(&r->allocator, &r->changed, size, count))
        return false;
    int64_t *const changed = (int64_t *)r->changed.data;
    memcpy(changed, ts__replay_duration(r), count * size);
    for (size_t i = 0; i < r->op_count; i++)
        changed[i] = durations_ns[i] < TS__REPLAY_SUM_MAX ? durations_ns[i]
                                                          : TS__REPLAY_SUM_MAX;
    r->changed.count = count;
    ts__rrun_meet(r);
    return true;
}

// After the loop: what did not run and why, and the figures.
static bool ts__rrun_finish(ts__rrun *run)
{
    ts_replay *const r = run->replay;
    uint64_t wanted = 0;
    for (uint32_t i = 0; i < r->node_count; i++)
        wanted += ts__replay_selected(r, i);
    ts__rrun_stuck(run);
    if (run->ran < wanted) {
        if (!ts__rrun_circle(run)) return false;
        ts__circle_turn(&r->circle);
    }
    return ts__figures(r);
}

static ts__rrun ts__rrun_of(ts_replay *r)
{
    const ts__rrun run = {
        .replay = r,
        .offsets = (const uint32_t *)r->offsets.data,
        .targets = (const uint32_t *)r->targets.data,
        .kinds = (const uint8_t *)r->kinds.data,
        .duration = r->changed.count ? (const int64_t *)r->changed.data
                                     : ts__replay_duration(r),
    };
    return run;
}

static bool ts__rrun_exact(ts_replay *r, const int64_t *durations_ns)
{
    if (!ts__rrun_change(r, durations_ns)) return false;
    ts__rrun run = ts__rrun_of(r);
    bool ok = ts__rrun_open(&run);
    if (ok) {
        ts__rrun_edges(&run);
        ts__rrun_gaps(&run);
        ok = ts__rrun_loop(&run) && ts__rrun_finish(&run);
    }
    ts__rrun_close(&run);
    return ok;
}

static ts_result ts__model_run(ts_replay *r, const ts_replay_run_desc *desc);
static void ts__model_forget(ts_replay *r); // what rests on the last run
TS_API ts_result ts_replay_run(ts_replay *replay,
                               const ts_replay_run_desc *desc)
{
    static const ts_replay_run_desc none = { 0 };
    if (!replay) return TS_ERR_USAGE;
    if (!desc) desc = &none;
    const int64_t *const durations_ns = desc->durations_ns;
    bool any = false;
    for (uint32_t i = 0; i < replay->op_count; i++) {
        any |= ts__replay_selected(replay, i);
        if (durations_ns && durations_ns[i] < 0) return TS_ERR_USAGE;
    }
    if (!any) return TS_ERR_NOT_FOUND;
    ts__model_forget(replay);
    replay->stats.unexplained = 0;
    replay->stats.unexplained_ns = 0;
    if (desc->mode == TS_REPLAY_MODEL) return ts__model_run(replay, desc);
    if (desc->mode != TS_REPLAY_EXACT || desc->change_count ||
        desc->copy_engines || desc->share_compute)
        return TS_ERR_USAGE;
    return ts__rrun_exact(replay, durations_ns) ? TS_OK : TS_ERR_MEMORY;
}

/* ---- 10.29 Replay: looking at it ----------------------------------------- */

TS_API const char *ts_edge_name(uint32_t kind)
{
    switch (kind) {
#define TS__X(name, value, text) \
    case value: return text;
        TS_EDGES(TS__X)
#undef TS__X
    default: return "unknown";
    }
}

TS_API const char *ts_skip_name(uint32_t skip)
{
    switch (skip) {
#define TS__X(name, value, text) \
    case value: return text;
        TS_SKIPS(TS__X)
#undef TS__X
    default: return "unknown";
    }
}

TS_API const ts_replay_stats *ts_replay_result(const ts_replay *replay)
{
    return &replay->stats;
}

TS_API bool ts_replay_host_unknown(const ts_replay_stats *stats)
{
    return stats->unknown_host_ns >
           (stats->recorded_end_ns - stats->recorded_start_ns) / 50;
}

TS_API bool ts_replay_file_at(const ts_replay *replay, size_t index,
                              ts_replay_file *file)
{
    if (index >= replay->files.count) return false;
    *file = *ts__replay_file(replay, (uint32_t)index);
    return true;
}

TS_API ts_reader *ts_replay_reader(const ts_replay *replay, uint32_t file)
{
    return file < replay->files.count ? ts__replay_file(replay, file)->reader
                                      : NULL;
}

TS_API bool ts_replay_part_at(const ts_replay *replay, size_t index,
                              ts_replay_part *part)
{
    if (index >= replay->parts.count) return false;
    const ts__origin *const origin = ts__replay_part(replay, (uint32_t)index);
    part->file = origin->file;
    part->process = origin->process;
    return true;
}

TS_API bool ts_replay_operation(const ts_replay *replay, size_t index,
                                ts_operation *operation)
{
    if (index >= replay->op_count) return false;
    const uint32_t i = (uint32_t)index;
    const ts__op *const op = ts__replay_op(replay, i);
    const ts__replay_lane *const lane =
        ts__replay_lane_at(replay, ts__replay_lanes(replay)[i]);
    ts_operation o = { 0 };
    o.kind = (ts_event_kind)op->kind;
    o.track = lane->track;
    o.device = lane->device_track;
    o.thread = op->thread;
    o.call = op->call;
    o.label = op->label;
    o.correlation = op->correlation;
    o.recorded_start_ns = ts__replay_time(replay)[i];
    o.recorded_end_ns = ts__replay_end(replay, i);
    o.skip = (ts_skip)op->skip;
    o.row = ((const uint32_t *)replay->places.data)[i];
    o.file = lane->file;
    o.part = lane->part;
    if (replay->start.count && o.skip == TS_SKIP_NOT) {
        o.start_ns = ((const int64_t *)replay->start.data)[i];
        o.end_ns = ts__op_end(replay, i);
    }
    *operation = o;
    return true;
}

TS_API ts_text ts_operation_label(const ts_reader *reader,
                                  const ts_operation *operation)
{
    ts_text text = { NULL, 0 };
    if (operation->kind == TS_EVENT_KERNEL) {
        const ts_launch_entry *const launch =
            ts_reader_launch(reader, operation->label);
        if (launch) text = ts_reader_name(reader, launch->name);
    } else if (operation->kind == TS_EVENT_COLLECTIVE ||
               operation->kind == TS_EVENT_HOST_FUNCTION) {
        text = ts_reader_name(reader, operation->label);
    }
    if (!text.size) {
        text.text = ts_event_name(operation->kind);
        text.size = strlen(text.text);
    }
    return text;
}

TS_API size_t ts_replay_lane_count(const ts_replay *replay)
{
    return replay->lane_results.count;
}

TS_API bool ts_replay_lane(const ts_replay *replay, size_t index, ts_lane *lane)
{
    if (index >= replay->lane_results.count) return false;
    *lane = ((const ts_lane *)replay->lane_results.data)[index];
    return true;
}

TS_API size_t ts_replay_device_count(const ts_replay *replay)
{
    return replay->device_results.count;
}

TS_API bool ts_replay_device(const ts_replay *replay, size_t index,
                             ts_lane *device)
{
    if (index >= replay->device_results.count) return false;
    *device = ((const ts_lane *)replay->device_results.data)[index];
    return true;
}

TS_API ts_graph ts_replay_graph(const ts_replay *replay)
{
    ts_graph graph = { 0 };
    graph.node_count = replay->node_count;
    graph.operation_count = replay->op_count;
    graph.call_count = replay->call_count;
    graph.edge_count = (uint32_t)replay->targets.count;
    graph.offsets = (const uint32_t *)replay->offsets.data;
    graph.targets = (const uint32_t *)replay->targets.data;
    graph.kinds = (const uint8_t *)replay->kinds.data;
    return graph;
}

// When an operation or a call ran, if it did.
static void ts__node_times(const ts_replay *r, uint32_t i, ts_node *n)
{
    const int64_t *const start = (const int64_t *)r->start.data;
    const int64_t *const changed = (const int64_t *)r->changed.data;
    if (!r->start.count || !n->selected || start[i] == TS__NO_TIME) return;
    const uint32_t end = ts__replay_end_node(r, i);
    if (end != i && start[end] == TS__NO_TIME) return;
    n->start_ns = start[i];
    const int64_t duration =
        r->changed.count ? changed[i] : ts__replay_duration(r)[i];
    if (i < r->op_count)
        n->end_ns = ts__op_end(r, i);
    else if (end != i)
        n->end_ns = start[end];
    else
        n->end_ns = ts__replay_add(start[i], duration);
}

TS_API bool ts_replay_node(const ts_replay *replay, size_t index, ts_node *node)
{
    if (index >= replay->node_count) return false;
    const uint32_t i = (uint32_t)index;
    const uint32_t calls_end = replay->op_count + replay->call_count;
    ts_node n = { TS_NODE_OPERATION, i, 0, 0, 0, 0, 0, false, 0, 0, 0 };
    n.file = ts__replay_file_of(replay, i);
    n.track = ts__replay_lane_at(replay, ts__replay_lanes(replay)[i])->track;
    n.recorded_ns = ts__replay_time(replay)[i];
    n.duration_ns = ts__replay_duration(replay)[i];
    if (replay->gap.count) n.gap_ns = ((const int64_t *)replay->gap.data)[i];
    n.selected = ts__replay_selected(replay, i);
    if (i < calls_end) ts__node_times(replay, i, &n);
    if (i >= replay->join_first) {
        n.type = TS_NODE_JOIN;
        n.track = 0;
    } else if (i >= calls_end) {
        n.type = TS_NODE_END;
        n.owner = ((const uint32_t *)replay->waiters.data)[i - calls_end];
    } else if (i >= replay->op_count) {
        n.type = TS_NODE_CALL;
        n.name =
            ((const uint32_t *)replay->call_names.data)[i - replay->op_count];
    }
    *node = n;
    return true;
}

TS_API size_t ts_replay_circle(const ts_replay *replay, const uint32_t **nodes)
{
    *nodes = (const uint32_t *)replay->circle.data;
    return replay->circle.count;
}
