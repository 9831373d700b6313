/*
    json.c - the report of ts-replay as one JSON object
*/
#include "tools/replay/replay.h"

static void put_edges(cli_json *json, const ts_replay_stats *s)
{
    cli_json_open(json, "edges", '{');
    for (uint32_t i = TS_EDGE_SELF + 1; i < TS_EDGE_LIMIT; i++)
        cli_json_uint(json, ts_edge_name(i), s->edges[i]);
    cli_json_close(json, '}');
}

static void put_skipped(cli_json *json, const ts_replay_stats *s)
{
    cli_json_open(json, "skipped", '{');
    for (uint32_t i = TS_SKIP_NOT + 1; i < TS_SKIP_LIMIT; i++)
        cli_json_uint(json, ts_skip_name(i), s->skipped[i]);
    cli_json_close(json, '}');
}

static void put_files(cli_json *json, const replay_job *job)
{
    ts_replay_file file;
    cli_json_open(json, "files", '[');
    for (uint32_t i = 0; ts_replay_file_at(job->replay, i, &file); i++) {
        const replay_file *const f = &job->files[i];
        cli_json_file(json, f->path, job->ranked ? &f->rank : NULL, &file);
    }
    cli_json_close(json, ']');
}

static void put_loops(cli_json *json, const replay_job *job)
{
    const replay_loops *const loops = &job->loops;
    if (!loops->count) return;
    const uint64_t operations = ts_replay_result(job->replay)->operations;
    const uint64_t best = loops->ns[0];
    cli_json_open(json, "loops", '{');
    cli_json_uint(json, "count", loops->count);
    cli_json_bool(json, "same_digest", loops->same);
    cli_json_uint(json, "shortest_ns", best);
    cli_json_uint(json, "median_ns", loops->ns[(loops->count - 1) / 2]);
    cli_json_uint(json, "longest_ns", loops->ns[loops->count - 1]);
    cli_json_uint(json, "operations_per_s",
                  best ? (uint64_t)((double)operations * 1e9 / (double)best)
                       : 0);
    cli_json_close(json, '}');
}

static uint64_t damage(const replay_job *job)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < job->file_count; i++)
        count += ts_reader_damage_count(replay_reader(job, i));
    return count;
}

static void put_plan(cli_json *json, const replay_job *job)
{
    const ts_replay_stats *const s = ts_replay_result(job->replay);
    cli_json_string(json, "file", job->path);
    put_files(json, job);
    cli_json_string(json, "mode",
                    job->mode == TS_REPLAY_MODEL ? "model" : "exact");
    cli_json_string(json, "deps", replay_deps_name(job->deps));
    cli_json_bool(json, "dry_run", job->dry_run);
    cli_json_uint(json, "operations", s->operations);
    cli_json_uint(json, "operations_in_trace", s->loaded);
    cli_json_uint(json, "added_by_closure", s->added);
    cli_json_uint(json, "calls", s->calls);
    put_skipped(json, s);
    put_edges(json, s);
    uint64_t inferred = 0;
    for (uint32_t i = 0; i < TS_EDGE_LIMIT; i++)
        inferred += s->inferred[i];
    cli_json_uint(json, "inferred_edges", inferred);
    cli_json_uint(json, "cut_edges", s->cut_edges);
    cli_json_uint(json, "overlaps", s->overlaps);
    cli_json_uint(json, "meetings", s->rendezvous);
    cli_json_uint(json, "meetings_partial", s->rendezvous_partial);
    cli_json_uint(json, "meetings_guessed", s->rendezvous_guessed);
    cli_json_uint(json, "contradicted_edges", s->contradicted);
    cli_json_uint(json, "never_recorded_waits", s->never_recorded);
    cli_json_uint(json, "missing_records", s->missing_records);
    cli_json_uint(json, "lost", s->lost);
    cli_json_uint(json, "damage", damage(job));
}

// Writes idle time and the shares of it that the graph explains.
static void put_confidence(cli_json *json, const replay_job *job)
{
    const ts_timeline_figures f = job->total;
    if (f.idle_ns <= 0) {
        cli_json_null(json, "confidence");
        return;
    }
    const double all = (double)f.idle_ns;
    cli_json_open(json, "confidence", '{');
    cli_json_real(json, "explicit", (double)f.explicit_ns / all);
    cli_json_real(json, "inferred", (double)f.inferred_ns / all);
    cli_json_real(json, "unexplained", (double)f.unexplained_ns / all);
    cli_json_int(json, "idle_ns", f.idle_ns);
    cli_json_close(json, '}');
}

// The makespan to compare with the record: with what-ifs, of the model without
// them.
static int64_t modelled(const replay_job *job)
{
    const ts_replay_stats *const s = ts_replay_result(job->replay);
    return job->report.count ? job->report.figures[0].makespan_ns
                             : s->end_ns - s->start_ns;
}

static void put_times(cli_json *json, const replay_job *job)
{
    const ts_replay_stats *const s = ts_replay_result(job->replay);
    const int64_t recorded = s->recorded_end_ns - s->recorded_start_ns;
    const int64_t replayed = s->end_ns - s->start_ns;
    cli_json_int(json, "recorded_makespan_ns", recorded);
    if (job->dry_run) return;
    if (s->operations)
        cli_json_int(json, "makespan_ns", replayed);
    else
        cli_json_null(json, "makespan_ns"); // no operation is left to run
    cli_json_real(
        json, "makespan_error",
        recorded ? (double)(modelled(job) - recorded) / (double)recorded : 0.0);
    cli_json_open(json, "start_error_ns", '{');
    cli_json_int(json, "p50", s->start_error_p50_ns);
    cli_json_int(json, "p95", s->start_error_p95_ns);
    cli_json_int(json, "max", s->start_error_max_ns);
    cli_json_close(json, '}');
    cli_json_uint(json, "different_operations", s->different);
    char digest[17];
    snprintf(digest, sizeof digest, "%016" PRIx64, s->digest);
    cli_json_string(json, "digest", digest);
    cli_json_string(json, "result",
                    !s->operations && !s->skipped[TS_SKIP_UNMET] ? "empty"
                    : !replay_is_same(job)                       ? "diverged"
                    : job->mode == TS_REPLAY_MODEL               ? "modelled"
                                                                 : "same");
}

static void put_name(cli_json *json, const ts_track *track)
{
    cli_text made;
    const ts_text name = cli_track_name(track, &made);
    cli_json_text(json, "name", name.text, name.size);
}

// Writes a track; the number of a stream is the one for --stream.
static void put_track(cli_json *json, const replay_job *job, uint32_t file,
                      uint32_t id)
{
    ts_track track;
    const bool known = ts_reader_track(replay_reader(job, file), id, &track);
    cli_json_uint(json, "track", id);
    if (known && track.type == TS_TRACK_STREAM)
        cli_json_uint(json, "stream", track.number);
    else
        cli_json_null(json, "stream");
    if (known) put_name(json, &track);
}

// The busy share of a device's span: see replay_rows.
static double share(int64_t busy_ns, int64_t span_ns)
{
    return span_ns > 0 ? (double)busy_ns / (double)span_ns : 0.0;
}

static void put_figures(cli_json *json, const replay_job *job,
                        const ts_lane *lane, int64_t span_ns)
{
    cli_json_uint(json, "operations", lane->operations);
    if (!job->dry_run) {
        cli_json_int(json, "start_ns", lane->start_ns);
        cli_json_int(json, "end_ns", lane->end_ns);
        cli_json_int(json, "busy_ns", lane->busy_ns);
        cli_json_int(json, "span_ns", span_ns);
        cli_json_real(json, "utilisation", share(lane->busy_ns, span_ns));
    }
    cli_json_close(json, '}');
}

static void put_device(cli_json *json, const replay_job *job, uint32_t file,
                       uint32_t id, bool name)
{
    ts_track track;
    const bool known = ts_reader_track(replay_reader(job, file), id, &track);
    if (job->file_count > 1) cli_json_uint(json, "file", file);
    if (known)
        cli_json_uint(json, "device", track.number);
    else
        cli_json_null(json, "device");
    if (known && name) put_name(json, &track);
}

static void put_lanes(cli_json *json, const replay_job *job)
{
    replay_row *const rows = replay_rows(job, 1);
    ts_lane lane;
    cli_json_open(json, "streams", '[');
    for (size_t i = 0; rows && ts_replay_lane(job->replay, i, &lane); i++) {
        if (!rows[i].selected) continue;
        lane.operations = rows[i].selected;
        cli_json_open(json, NULL, '{');
        put_device(json, job, lane.file, lane.device, false);
        put_track(json, job, lane.file, lane.track);
        put_figures(json, job, &lane, rows[i].span_ns);
    }
    cli_json_close(json, ']');
    free(rows);
}

static void put_devices(cli_json *json, const replay_job *job)
{
    ts_lane device;
    double sum = 0;
    uint64_t count = 0;
    cli_json_open(json, "devices", '[');
    for (size_t i = 0; ts_replay_device(job->replay, i, &device); i++) {
        if (!device.operations) continue;
        const int64_t span_ns = job->spans_ns ? job->spans_ns[i] : 0;
        count++;
        sum += share(device.busy_ns, span_ns);
        cli_json_open(json, NULL, '{');
        put_device(json, job, device.file, device.track, true);
        put_figures(json, job, &device, span_ns);
    }
    cli_json_close(json, ']');
    cli_json_real(json, "utilisation", count ? sum / (double)count : 0.0);
}

static void put_cycle(cli_json *json, const replay_job *job)
{
    const uint32_t *nodes;
    const size_t count = ts_replay_cycle(job->replay, &nodes);
    cli_json_open(json, "circle", '[');
    for (size_t i = 0; i < count; i++) {
        ts_operation op;
        ts_node node;
        if (!ts_replay_node(job->replay, nodes[i], &node)) continue;
        cli_json_open(json, NULL, '{');
        if (ts_replay_operation(job->replay, nodes[i], &op)) {
            cli_json_string(json, "kind", ts_event_name(op.kind));
            cli_json_uint(json, "correlation", op.correlation);
        } else {
            cli_json_string(json, "kind", ts_event_name(TS_EVENT_API_CALL));
        }
        cli_json_uint(json, "track", node.track);
        cli_json_int(json, "recorded_ns", node.recorded_ns);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}

void replay_json(const replay_job *job)
{
    cli_json json = { .out = stdout, .lines = 2 };
    cli_json_open(&json, NULL, '{');
    put_plan(&json, job);
    put_confidence(&json, job);
    put_times(&json, job);
    put_loops(&json, job);
    if (job->report.count) whatif_json(&json, &job->report);
    put_lanes(&json, job);
    if (!job->dry_run) {
        put_devices(&json, job);
        put_cycle(&json, job);
    }
    cli_json_close(&json, '}');
}
