/* ---- Model: plan of a run ----------------------------------------------- */

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
        const uint8_t skip = ts__replay_skips(r)[i];
        if (skip != TS_SKIP_NOT) {
            s->skipped[skip]++;
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
    Returns the interval in which lost events may belong to the selection: from
    the last operation before it on its streams to the first one after it.
    Without such operations the interval has no bound, since the first or the
    last operations of all may be lost.
*/
static void ts__plan_window(const ts_replay *r, int64_t *from, int64_t *to)
{
    const ts_replay_stats *const s = &r->stats;
    *from = r->windowed ? r->load_from : INT64_MIN;
    *to = r->windowed ? r->load_to : INT64_MAX;
    for (uint32_t i = 0; i < r->op_count; i++) {
        if (ts__replay_selected(r, i) ||
            !ts__replay_lane_at(r, ts__replay_lanes(r)[i])->selected)
            continue;
        const int64_t start = ts__replay_time(r)[i], end = ts__replay_end(r, i);
        if (end <= s->recorded_start_ns && end > *from) *from = end;
        if (start >= s->recorded_end_ns && start < *to) *to = start;
    }
}

/*
    Whether a loss may affect the selection. A loss on a stream or device
    affects only that; a loss on a thread may affect any operation, since
    threads of the vendor's library report them.
*/
static bool ts__plan_touches(const ts_replay *r, uint32_t file,
                             const ts_loss_row *loss, int64_t from, int64_t to)
{
    if (loss->cause >= TS_LOSS_STALL_FIRST) return false;
    const ts_replay_file *const f = ts__replay_file(r, file);
    const int64_t first = ts__replay_add(loss->first_ns, f->offset_ns);
    const int64_t last = ts__replay_add(loss->last_ns, f->offset_ns);
    const bool timed = loss->first_ns || loss->last_ns;
    if (timed && (last < from || first > to)) return false;
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
    int64_t from, to;
    ts__plan_window(r, &from, &to);
    for (uint32_t file = 0; file < r->files.count; file++)
        for (size_t i = 0;
             ts_reader_loss(ts__replay_file(r, file)->reader, i, &loss); i++)
            if (ts__plan_touches(r, file, &loss, from, to))
                r->stats.lost += loss.count;
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

// Clamps the window: no recorded time is beyond TS__REPLAY_TIME_MAX.
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

// Makes a copy of its own of a vector whose elements belong to another replay.
static bool ts__replay_copy(const ts_allocator *a, ts__rvec *v)
{
    const ts__rvec from = *v;
    memset(v, 0, sizeof *v);
    if (!ts__rvec_reserve(a, v, from.size ? from.size : 1, from.count))
        return false;
    if (from.count) memcpy(v->data, from.data, from.count * from.size);
    v->count = from.count;
    return true;
}

static void ts__lanes_reset(ts__rvec *lanes)
{
    for (size_t i = 0; i < lanes->count; i++) {
        ts_lane *const lane = (ts_lane *)lanes->data + i;
        lane->operations = 0;
        lane->start_ns = lane->end_ns = lane->busy_ns = 0;
    }
}

// Clears the figures of the last run.
static void ts__figures_clear(ts_replay *r)
{
    ts_replay_stats *const s = &r->stats;
    ts__lanes_reset(&r->lane_results);
    ts__lanes_reset(&r->device_results);
    s->operations = s->different = s->digest = 0;
    s->start_ns = s->end_ns = s->busy_from_ns = s->busy_to_ns = 0;
    s->start_error_p50_ns = s->start_error_p95_ns = s->start_error_max_ns = 0;
}

// Makes everything what it was before the first run.
static void ts__replay_unrun(ts_replay *r)
{
    ts_replay_stats *const s = &r->stats;
    ts__figures_clear(r);
    s->unexplained = 0;
    s->unexplained_ns = 0;
    s->skipped[TS_SKIP_UNMET] = s->skipped[TS_SKIP_REMOVED] = 0;
    for (uint32_t i = 0; i < r->op_count; i++) {
        if (!ts__replay_selected(r, i)) continue;
        ts__replay_skips(r)[i] = TS_SKIP_NOT;
        s->operations++;
    }
}

TS_API ts_result ts_replay_fork(ts_replay **fork, const ts_replay *of)
{
    if (!fork) return TS_ERR_USAGE;
    *fork = NULL;
    if (!of) return TS_ERR_USAGE;
    const ts_allocator a = ts__arena_open(&of->allocator);
    ts_replay *const r =
        (ts_replay *)a.resize(a.user, NULL, 0, sizeof(ts_replay));
    if (!r) {
        ts__arena_close(&a);
        return TS_ERR_MEMORY;
    }
    *r = *of;
    r->allocator = a;
    r->forked = true;
    r->as_recorded = false;
    r->model = NULL;
    ts__rvec *const of_runs[] = { &r->start, &r->gap, &r->changed, &r->cycle };
    for (size_t i = 0; i < sizeof of_runs / sizeof of_runs[0]; i++)
        memset(of_runs[i], 0, sizeof *of_runs[i]);
    ts__rvec *const copied[] = { &r->skips, &r->lane_results,
                                 &r->device_results };
    bool ok = true;
    for (size_t i = 0; i < sizeof copied / sizeof copied[0]; i++)
        ok &= ts__replay_copy(&a, copied[i]);
    if (!ok) {
        ts_replay_close(r);
        return TS_ERR_MEMORY;
    }
    ts__replay_unrun(r);
    *fork = r;
    return TS_OK;
}

static void ts__model_close(ts_replay *r);

// Frees what a fork owns.
static void ts__replay_close_runs(ts_replay *replay)
{
    ts__model_close(replay);
    ts__rvec *const vecs[] = { &replay->skips,        &replay->start,
                               &replay->gap,          &replay->changed,
                               &replay->lane_results, &replay->device_results,
                               &replay->cycle };
    for (size_t i = 0; i < sizeof vecs / sizeof vecs[0]; i++)
        ts__rvec_close(&replay->allocator, vecs[i]);
}

TS_API void ts_replay_close(ts_replay *replay)
{
    if (!replay) return;
    const ts_allocator a = replay->allocator;
    ts__replay_close_runs(replay);
    ts__rvec *const vecs[] = { &replay->files,
                               &replay->ops,
                               &replay->call_names,
                               &replay->call_classes,
                               &replay->events,
                               &replay->places,
                               &replay->rendezvous,
                               &replay->members,
                               &replay->member_rendezvous,
                               &replay->collectives,
                               &replay->joined,
                               &replay->queued,
                               &replay->deps_named,
                               &replay->call_numbers,
                               &replay->lanes,
                               &replay->waiters,
                               &replay->time,
                               &replay->duration,
                               &replay->lane,
                               &replay->flags,
                               &replay->offsets,
                               &replay->targets,
                               &replay->kinds,
                               &replay->ends,
                               &replay->parts,
                               &replay->part_of.entries,
                               &replay->part_first };
    const size_t count = replay->forked ? 0 : sizeof vecs / sizeof vecs[0];
    for (size_t i = 0; i < count; i++)
        ts__rvec_close(&a, vecs[i]);
    a.resize(a.user, replay, sizeof *replay, 0);
    ts__arena_close(&a);
}
