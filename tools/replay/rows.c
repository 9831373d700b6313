/*
    rows.c - figures and names of streams and nodes for both reports
*/
#include "tools/replay/replay.h"

// Files are named by rank only if all have one and all differ.
void replay_name_files(replay_job *job)
{
    job->ranked = true;
    for (uint32_t i = 0; i < job->file_count && job->ranked; i++) {
        ts_metadata rank;
        job->ranked =
            ts_reader_metadata(replay_reader(job, i), 0, "rank", &rank) &&
            rank.type == TS_VALUE_INT;
        job->files[i].rank = job->ranked ? rank.number : 0;
        for (uint32_t k = 0; k < i; k++)
            if (job->files[k].rank == job->files[i].rank) job->ranked = false;
    }
}

cli_text replay_file_name(const replay_job *job, uint32_t file)
{
    return job->ranked ? cli_format("rank %" PRId64, job->files[file].rank)
                       : cli_format("file %" PRIu32, file);
}

const char *replay_deps_name(ts_deps deps)
{
    return deps == TS_DEPS_CLOSURE ? "closure"
           : deps == TS_DEPS_NONE  ? "none"
                                   : "frozen";
}

const char *replay_mode_name(ts_replay_mode mode)
{
    return mode == TS_REPLAY_MODEL ? "model" : "exact";
}

bool replay_is_same(const replay_job *job)
{
    const ts_replay_stats *const s = ts_replay_result(job->replay);
    if (job->mode == TS_REPLAY_MODEL)
        return s->operations && !s->skipped[TS_SKIP_UNMET];
    return s->operations && !s->different &&
           s->start_ns == s->recorded_start_ns &&
           s->end_ns == s->recorded_end_ns;
}

static void take_spans(replay_job *job, const ts_timeline *timeline)
{
    const size_t count = ts_replay_device_count(job->replay);
    job->spans_ns = calloc(count + 1, sizeof *job->spans_ns);
    for (size_t i = 0; job->spans_ns && i < count; i++) {
        const ts_timeline_figures *const f = ts_timeline_device(timeline, i);
        if (f) job->spans_ns[i] = f->end_ns - f->start_ns;
    }
}

void replay_measure(replay_job *job)
{
    const ts_timeline_desc recorded = { .begin_ns = job->begin_ns };
    const ts_timeline_desc replayed = { .replayed = true };
    const bool same = job->mode == TS_REPLAY_EXACT && replay_is_same(job);
    ts_timeline *timeline;
    if (ts_timeline_open(&timeline, job->replay, &recorded) == TS_OK) {
        job->total = *ts_timeline_total(timeline);
        if (same) take_spans(job, timeline);
        ts_timeline_close(timeline);
    }
    if (same || job->dry_run ||
        ts_timeline_open(&timeline, job->replay, &replayed) != TS_OK)
        return;
    take_spans(job, timeline);
    ts_timeline_close(timeline);
}

void replay_put_node(FILE *out, const replay_job *job, uint32_t node)
{
    ts_operation op;
    ts_node n;
    ts_track track;
    ts_text text = { "call", 4 };
    if (!ts_replay_node(job->replay, node, &n)) return;
    const ts_reader *const reader = replay_reader(job, n.file);
    const bool known = ts_reader_track(reader, n.track, &track);
    if (n.type == TS_NODE_CALL) {
        const ts_text name = ts_reader_name(reader, n.name);
        if (name.size) text = name;
    } else if (ts_replay_operation(job->replay, node, &op)) {
        text = ts_operation_label(reader, &op);
        if (op.kind == TS_EVENT_KERNEL) fputs("kernel ", out);
    }
    cli_put_text(out, text.text, text.size);
    fputs(" on ", out);
    if (known && track.type == TS_TRACK_DEVICE) fputs("device ", out);
    if (known)
        replay_put_track(out, job, n.file, &track);
    else
        fprintf(out, "track %" PRIu32, n.track);
    fprintf(out, " at %s", cli_time(n.recorded_ns).s);
}

/* ---- Rows --------------------------------------------------------------- */

typedef struct lane_key {
    uint32_t file, track;
    size_t lane;
} lane_key;

static int by_track(const void *left, const void *right)
{
    const lane_key *const a = left, *const b = right;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    return (a->track > b->track) - (a->track < b->track);
}

int64_t replay_cell(int64_t makespan, int64_t cells, int64_t cell)
{
    // In two steps, as makespan * cell might overflow.
    return makespan / cells * cell + makespan % cells * cell / cells;
}

double replay_share(const replay_row *row, int64_t busy_ns)
{
    return row->span_ns > 0 ? (double)busy_ns / (double)row->span_ns : 0.0;
}

// Adds busy time; overlapping operations count once.
static void fill(replay_row *row, const ts_replay_stats *s, int64_t cells,
                 int64_t start, int64_t end)
{
    if (start < row->busy_until) start = row->busy_until;
    if (end <= start) return;
    row->busy_until = end;
    const int64_t makespan = s->end_ns - s->start_ns;
    start -= s->start_ns;
    end -= s->start_ns;
    // Start from an estimate that is never too large, then find the cell.
    int64_t cell = makespan < cells ? 0 : start / (makespan / cells);
    if (cell >= cells) cell = cells - 1;
    while (cell && replay_cell(makespan, cells, cell) > start)
        cell--;
    while (start < end) {
        const int64_t stop = replay_cell(makespan, cells, cell + 1);
        const int64_t part = stop < end ? stop : end;
        if (part > start) row->cells[cell] += part - start;
        if (part > start) start = part;
        cell++;
    }
}

static bool works(ts_event_kind kind)
{
    return kind == TS_EVENT_KERNEL || kind == TS_EVENT_MEMCPY ||
           kind == TS_EVENT_MEMSET || kind == TS_EVENT_COLLECTIVE ||
           kind == TS_EVENT_HOST_FUNCTION;
}

static void add(replay_row *row, const replay_job *job, int64_t cells,
                const ts_operation *op)
{
    row->all++;
    if (op->skip != TS_SKIP_NOT) return;
    row->selected++;
    if (!job->dry_run && works(op->kind))
        fill(row, ts_replay_result(job->replay), cells, op->start_ns,
             op->end_ns);
}

static void put_spans(const replay_job *job, replay_row *rows)
{
    ts_lane lane, device;
    size_t at = 0; // devices and lanes are in the same order
    for (size_t i = 0; ts_replay_lane(job->replay, i, &lane); i++) {
        while (ts_replay_device(job->replay, at, &device) &&
               (device.track != lane.device || device.file != lane.file))
            at++;
        rows[i].span_ns = job->spans_ns[at];
    }
}

replay_row *replay_rows(const replay_job *job, int64_t cells)
{
    const size_t count = ts_replay_lane_count(job->replay);
    replay_row *const rows = calloc(count + 1, sizeof *rows);
    lane_key *const keys = calloc(count + 1, sizeof *keys);
    if (!rows || !keys) {
        free(rows);
        free(keys);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        ts_lane lane = { 0 };
        ts_replay_lane(job->replay, i, &lane);
        const lane_key key = { lane.file, lane.track, i };
        keys[i] = key;
        rows[i].busy_until = INT64_MIN;
    }
    qsort(keys, count, sizeof *keys, by_track);
    ts_operation op;
    const lane_key *last = NULL;
    for (size_t i = 0; ts_replay_operation(job->replay, i, &op); i++) {
        const lane_key key = { op.file, op.track, 0 };
        if (!last || last->track != op.track || last->file != op.file)
            last = bsearch(&key, keys, count, sizeof key, by_track);
        if (last) add(&rows[last->lane], job, cells, &op);
    }
    free(keys);
    if (job->spans_ns) put_spans(job, rows);
    return rows;
}
