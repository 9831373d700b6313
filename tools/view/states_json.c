/*
    states_json.c - --states --json
*/
#include "tools/view/states.h"

static void put_track(view_states *s, cli_json *json, uint32_t file,
                      uint32_t track)
{
    cli_text made;
    if (s->v->more_count) cli_json_uint(json, "file", file);
    if (!track) {
        cli_json_null(json, "track");
        return;
    }
    const ts_text name =
        cli_track_name(view_track_of(view_states_file(s, file), track), &made);
    cli_json_uint(json, "track", track);
    cli_json_text(json, "name", name.text, name.size);
}

static void put_times(cli_json *json, const char *key, const int64_t *times,
                      int count, const char *(*name)(uint32_t))
{
    cli_json_open(json, key, '{');
    for (int i = 0; i < count; i++)
        cli_json_int(json, name((uint32_t)i), times[i]);
    cli_json_close(json, '}');
}

static void put_figures(cli_json *json, const ts_timeline_figures *f,
                        bool of_device)
{
    cli_json_uint(json, "operations", f->operations);
    cli_json_int(json, "start_ns", f->start_ns);
    cli_json_int(json, "end_ns", f->end_ns);
    cli_json_int(json, "busy_ns", f->busy_ns);
    cli_json_int(json, "idle_ns", f->idle_ns);
    put_times(json, "work_ns", f->work_ns, TS_WORK_LIMIT, ts_work_name);
    put_times(json, "only_ns", f->only_ns, TS_WORK_LIMIT, ts_work_name);
    put_times(json, "cause_ns", f->cause_ns, TS_IDLE_LIMIT, ts_idle_name);
    cli_json_open(json, "causes", '{');
    for (uint32_t i = 0; i < TS_IDLE_LIMIT; i++)
        cli_json_uint(json, ts_idle_name(i), f->causes[i]);
    cli_json_close(json, '}');
    cli_json_int(json, "dispatch_ns", f->dispatch_ns);
    cli_json_open(json, "confidence", '{');
    cli_json_int(json, "explicit_ns", f->explicit_ns);
    cli_json_int(json, "inferred_ns", f->inferred_ns);
    cli_json_int(json, "unexplained_ns", f->unexplained_ns);
    cli_json_close(json, '}');
    cli_json_open(json, "launch", '{');
    cli_json_uint(json, "count", f->launches);
    if (of_device) cli_json_int(json, "p50_ns", f->launch_p50_ns);
    if (of_device) cli_json_int(json, "p95_ns", f->launch_p95_ns);
    cli_json_int(json, "max_ns", f->launch_max_ns);
    cli_json_close(json, '}');
    cli_json_open(json, "queue", '{');
    cli_json_uint(json, "max", f->queue_max);
    cli_json_int(json, "operation_ns", f->queue_ns);
    cli_json_close(json, '}');
}

static void put_device(view_states *s, cli_json *json, size_t device)
{
    const int64_t *times;
    ts_lane lane;
    if (!ts_replay_device(s->replay, device, &lane)) return;
    cli_json_open(json, NULL, '{');
    put_track(s, json, lane.file, lane.track);
    put_figures(json, ts_timeline_device(s->timeline, device), true);
    const size_t count = ts_timeline_concurrency(s->timeline, device, &times);
    cli_json_open(json, "concurrency_ns", '[');
    for (size_t i = 0; i < count; i++)
        cli_json_int(json, NULL, times[i]);
    cli_json_close(json, ']');
    // The queue depth is sampled in the middle of PARTS equal parts of the
    // range.
    enum { PARTS = 64 };
    cli_json_open(json, "queue_depth", '[');
    for (uint32_t i = 0; i < PARTS; i++)
        cli_json_uint(json, NULL, view_states_queue(s, device, i, PARTS));
    cli_json_close(json, ']');
    cli_json_close(json, '}');
}

static void put_node(view_states *s, cli_json *json, const char *key,
                     uint32_t node)
{
    char *text = NULL;
    size_t size = 0;
    FILE *const out =
        node == TS_NODE_NONE ? NULL : open_memstream(&text, &size);
    if (!out) {
        cli_json_null(json, key);
        return;
    }
    view_states_put_node(out, s, node, true);
    fclose(out);
    cli_json_text(json, key, text, size);
    free(text);
}

static void put_gap(view_states *s, cli_json *json, const view_gap *gap)
{
    const ts_gap *const g = &gap->gap;
    cli_json_open(json, NULL, '{');
    cli_json_uint(json, "device", gap->device);
    cli_json_int(json, "start_ns", g->start_ns);
    cli_json_int(json, "end_ns", g->end_ns);
    cli_json_string(json, "cause", ts_idle_name((uint32_t)g->cause));
    cli_json_string(json, "edge", ts_edge_name(g->edge));
    cli_json_bool(json, "inferred", g->inferred);
    put_node(s, json, "operation", g->operation);
    put_node(s, json, "culprit", g->culprit);
    cli_json_close(json, '}');
}

static void put_state_span(view_states *s, cli_json *json,
                           const ts_state_span *span)
{
    cli_json_open(json, NULL, '{');
    cli_json_string(json, "state", ts_state_name((uint32_t)span->state));
    cli_json_int(json, "start_ns", span->start_ns);
    cli_json_int(json, "end_ns", span->end_ns);
    if (span->state == TS_STATE_WAITING) {
        cli_json_string(json, "edge", ts_edge_name(span->edge));
        cli_json_bool(json, "inferred", span->inferred);
        put_node(s, json, "culprit", span->culprit);
    }
    cli_json_close(json, '}');
}

static void put_stream(view_states *s, cli_json *json, size_t stream,
                       const ts_lane *lane)
{
    view_shares sum = { 0 };
    view_states_stream(s, stream, NULL, &sum);
    cli_json_open(json, NULL, '{');
    put_track(s, json, lane->file, lane->track);
    cli_json_uint(json, "device", lane->device);
    put_times(json, "state_ns", sum.state_ns, TS_STATE_LIMIT, ts_state_name);
    cli_json_open(json, "states", '[');
    ts_state_spans spans = ts_timeline_state_spans(s->timeline, stream);
    ts_state_span span;
    while (ts_state_spans_next(&spans, &span))
        if (span.start_ns < s->v->to_ns && span.end_ns > s->v->from_ns)
            put_state_span(s, json, &span);
    cli_json_close(json, ']');
    cli_json_close(json, '}');
}

static void put_files(const view_states *s, cli_json *json)
{
    ts_replay_file file;
    if (!s->v->more_count) return;
    cli_json_open(json, "files", '[');
    for (uint32_t i = 0; ts_replay_file_at(s->replay, i, &file); i++) {
        const view *const v = view_states_file(s, i);
        cli_json_file(json, v->path, s->v->ranked ? &v->rank : NULL, &file);
    }
    cli_json_close(json, ']');
}

void view_states_json(view_states *s)
{
    const ts_replay_stats *const r = ts_replay_result(s->replay);
    cli_json json = { .out = stdout, .lines = 3 };
    cli_json_open(&json, NULL, '{');
    cli_json_int(&json, "from_ns", s->v->from_ns);
    cli_json_int(&json, "to_ns", s->v->to_ns);
    put_files(s, &json);
    cli_json_uint(&json, "lost", r->lost);
    cli_json_uint(&json, "bad_times", r->skipped[TS_SKIP_BAD_TIME]);
    cli_json_open(&json, "total", '{');
    put_figures(&json, ts_timeline_total(s->timeline), false);
    cli_json_close(&json, '}');
    cli_json_open(&json, "devices", '[');
    for (size_t i = 0; ts_timeline_device(s->timeline, i); i++)
        put_device(s, &json, i);
    cli_json_close(&json, ']');
    size_t count;
    view_gap *const gaps = view_states_gaps(s, &count);
    cli_json_open(&json, "gaps", '[');
    for (size_t i = 0; i < count && (!s->v->limited || i < s->v->limit); i++)
        put_gap(s, &json, &gaps[i]);
    cli_json_close(&json, ']');
    free(gaps);
    ts_lane lane;
    cli_json_open(&json, "streams", '[');
    for (size_t i = 0; ts_replay_lane(s->replay, i, &lane); i++)
        if (view_states_takes(s, &lane)) put_stream(s, &json, i, &lane);
    cli_json_close(&json, ']');
    cli_json_close(&json, '}');
}
