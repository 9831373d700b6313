/* ---- Model: figures of a run -------------------------------------------- */

static int64_t ts__model_extra(const ts_replay *r, uint32_t op);

// Returns the end of an operation in the run, without what was inserted behind
// it.
static int64_t ts__op_end(const ts_replay *r, uint32_t op)
{
    const int64_t *const start = ts__run_start(r);
    const uint32_t end = ts__replay_end_node(r, op);
    const int64_t extra = ts__model_extra(r, op);
    if (end != op) { // others may have waited for it without the inserted time
        const bool ended = start[end] != TS__NO_TIME;
        const int64_t without = ended ? start[end] - extra : start[op];
        return without > start[op] ? without : start[op];
    }
    const int64_t *const changed = (const int64_t *)r->changed.data;
    const int64_t duration =
        r->changed.count ? changed[op] : ts__replay_duration(r)[op];
    return ts__replay_add(start[op], duration - extra);
}

// Sorts the operations in the sorter's index by start, then lane: the total
// order of the schedule.
static bool ts__figures_sort(const ts_replay *r, ts__rsort *sort, size_t count)
{
    const int64_t *const start = ts__run_start(r);
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

// Lists the operations that ran in total order. Recorded order is total order
// unless something moved.
static bool ts__figures_order(const ts_replay *r, ts__rsort *sort,
                              size_t *count)
{
    const int64_t *const start = ts__run_start(r);
    const uint32_t *const lanes = ts__replay_lanes(r);
    if (!ts__rvec_reserve(&r->allocator, &sort->index[0], sizeof(uint32_t),
                          r->op_count))
        return false;
    bool sorted = true;
    uint32_t last = TS_NODE_NONE;
    for (uint32_t i = 0; i < r->op_count; i++) {
        if (ts__replay_skips(r)[i] != TS_SKIP_NOT) continue;
        if (last != TS_NODE_NONE &&
            (start[last] > start[i] ||
             (start[last] == start[i] && lanes[last] > lanes[i])))
            sorted = false;
        ts__rsort_index(sort)[(*count)++] = last = i;
    }
    return sorted || ts__figures_sort(r, sort, *count);
}

// Identifies an operation independently of where it is in the file. Its 48
// bytes are hashed as they are in memory; traces are only read on little-endian
// machines.
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
        // As in a trace of this process alone.
        id->correlation &= (UINT64_C(1) << 48) - 1;
    id->start = ts__run_start(r)[index];
    id->end = ts__op_end(r, index);
    return ts__figures_name(r, known, hashes, index, &id->name);
}

// Computes the digest of the schedule whose order is given by `index`.
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

// Adds [start, end) to the figures of a lane. Must be called in order of start.
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

// Computes busy times. Lanes without operations (threads) come first in the
// list of lanes and have no result.
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
        const int64_t start = ts__run_start(r)[index[i]];
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

// Returns the nearest-rank percentile of `count` sorted values.
static int64_t ts__percentile(const uint64_t *sorted, size_t count,
                              size_t percent)
{
    return (int64_t)sorted[(count * percent + 99) / 100 - 1];
}

static bool ts__figures_errors(ts_replay *r, ts__rsort *sort, size_t count)
{
    ts_replay_stats *const s = &r->stats;
    const int64_t *const start = ts__run_start(r);
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

// Counts an operation of an exact run for its stream and its device, and
// whether it differs from the record.
static void ts__figures_count(ts_replay *r, uint32_t op)
{
    const size_t threads = r->lanes.count - r->lane_results.count;
    const uint32_t lane = ts__replay_lanes(r)[op];
    const uint32_t device = ts__replay_lane_at(r, lane)->device;
    ((ts_lane *)r->lane_results.data + (lane - threads))->operations++;
    ((ts_lane *)r->device_results.data + device)->operations++;
    r->stats.different += ts__run_start(r)[op] != ts__replay_time(r)[op] ||
                          ts__op_end(r, op) != ts__replay_end(r, op);
}

// Computes the figures of a brief run.
static void ts__figures_brief(ts_replay *r, bool exact)
{
    ts_replay_stats *const s = &r->stats;
    ts__figures_clear(r);
    for (uint32_t i = 0; i < r->op_count; i++) {
        if (ts__replay_skips(r)[i] != TS_SKIP_NOT) continue;
        const int64_t start = ts__run_start(r)[i];
        const int64_t end = ts__op_end(r, i);
        if (!s->operations || start < s->start_ns) s->start_ns = start;
        if (!s->operations++ || end > s->end_ns) s->end_ns = end;
        if (exact) ts__figures_count(r, i);
    }
    if (exact) s->different += s->skipped[TS_SKIP_UNMET];
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
    r->as_recorded = false;
    r->start.count = r->gap.count = count;
    run->start = (int64_t *)r->start.data;
    run->gap = (int64_t *)r->gap.data;
    run->missing = (uint32_t *)missing.data;
    for (size_t i = 0; i < count; i++)
        run->start[i] = TS__NO_TIME;
    r->cycle.count = 0;
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

// Sets the duration of each rendezvous to that of the member that determines
// its cost.
static void ts__rrun_rendezvous(const ts_replay *r)
{
    int64_t *const changed = (int64_t *)r->changed.data;
    for (size_t i = 0; i < r->joined.count; i++) {
        const uint32_t join = r->join_first + (uint32_t)i;
        changed[join] = changed[ts__replay_cost_of(r, join)];
    }
}

// Stores the durations of a run in ts_replay.changed, which stays empty if all
// are as recorded.
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
    ts__rrun_rendezvous(r);
    return true;
}

// Completes a run: determines which operations did not run and why, and
// computes the figures.
static bool ts__rrun_finish(ts__rrun *run, bool brief)
{
    ts_replay *const r = run->replay;
    uint64_t selected = 0;
    for (uint32_t i = 0; i < r->node_count; i++)
        selected += ts__replay_selected(r, i);
    ts__rrun_stuck(run);
    if (run->ran < selected) {
        if (!ts__rrun_cycle(run)) return false;
        ts__cycle_reverse(&r->cycle);
    }
    if (!brief) return ts__figures(r);
    ts__figures_brief(r, !run->delay);
    ts__rvec_close(&r->allocator, &r->gap);
    return true;
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

/*
    Runs the record without following its edges, if that is certain to give the
    recorded times: a node starts after its latest edge as it did in the record,
    and so when it did there, unless it is in a cycle or its sources are not
    selected. Returns whether it did.
*/
static bool ts__rrun_recorded(ts_replay *r)
{
    if (!r->acyclic) return false;
    for (uint32_t i = 0; i < r->node_count; i++)
        if (!ts__replay_selected(r, i)) return false;
    ts__rvec_close(&r->allocator, &r->start);
    ts__rvec_close(&r->allocator, &r->gap);
    r->as_recorded = true;
    r->start.count = r->node_count;
    r->cycle.count = 0;
    r->stats.skipped[TS_SKIP_UNMET] = r->stats.skipped[TS_SKIP_REMOVED] = 0;
    memset(ts__replay_skips(r), TS_SKIP_NOT, r->op_count);
    ts__figures_brief(r, true);
    return true;
}

static bool ts__rrun_exact(ts_replay *r, const ts_replay_run_desc *desc)
{
    if (!ts__rrun_change(r, desc->durations_ns)) return false;
    if (desc->brief && !desc->durations_ns && ts__rrun_recorded(r)) return true;
    ts__rrun run = ts__rrun_of(r);
    bool ok = ts__rrun_open(&run);
    if (ok) {
        for (size_t i = 0; i < r->node_count; i++)
            run.gap[i] = TS__NO_TIME;
        ts__rrun_edges(&run);
        ts__rrun_gaps(&run);
        ok = ts__rrun_loop(&run) && ts__rrun_finish(&run, desc->brief);
    }
    ts__rrun_close(&run);
    return ok;
}

static ts_result ts__model_run(ts_replay *r, const ts_replay_run_desc *desc);
// Drops all that depends on the last run.
static void ts__model_forget(ts_replay *r);
TS_API ts_result ts_replay_run(ts_replay *replay,
                               const ts_replay_run_desc *desc)
{
    static const ts_replay_run_desc none = { 0 };
    if (!replay) return TS_ERR_USAGE;
    if (!desc) desc = &none;
    const int64_t *const durations_ns = desc->durations_ns;
    bool any = false;
    for (uint32_t i = 0; i < replay->op_count && (durations_ns || !any); i++) {
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
    return ts__rrun_exact(replay, desc) ? TS_OK : TS_ERR_MEMORY;
}
