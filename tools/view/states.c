/*
    states.c - --states: what streams did, and why devices idled
*/
#include "tools/view/states.h"

/* ---- Cells -------------------------------------------------------------- */

// Distributes [from, to) over the cells: to[cell] grows by its part.
static void share_out(const view_states *s, int64_t from, int64_t to,
                      view_shares *cells, size_t field)
{
    const view *const v = s->v;
    const int64_t width = s->d.rows.cell_ns;
    if (from < v->from_ns) from = v->from_ns;
    if (to > v->to_ns) to = v->to_ns;
    while (from < to) {
        const int64_t cell = (from - v->from_ns) / width;
        int64_t end = v->from_ns + (cell + 1) * width;
        if (end > to) end = to;
        *(int64_t *)(void *)((char *)&cells[cell] + field) += end - from;
        from = end;
    }
}

void view_states_device(const view_states *s, size_t device, view_shares *cells)
{
    const ts_timeline_figures *const f =
        ts_timeline_device(s->timeline, device);
    int64_t busy_from = f->start_ns;
    ts_gap gap;
    for (size_t i = 0; ts_timeline_gap(s->timeline, device, i, &gap); i++) {
        share_out(s, busy_from, gap.start_ns, cells,
                  offsetof(view_shares, busy_ns));
        share_out(s, gap.start_ns, gap.end_ns, cells,
                  offsetof(view_shares, idle_ns) +
                      (size_t)gap.cause * sizeof(int64_t));
        busy_from = gap.end_ns;
    }
    share_out(s, busy_from, f->end_ns, cells, offsetof(view_shares, busy_ns));
}

void view_states_stream(const view_states *s, size_t stream, view_shares *cells,
                        view_shares *sum)
{
    const view *const v = s->v;
    ts_state_spans spans = ts_timeline_state_spans(s->timeline, stream);
    ts_state_span span;
    while (ts_state_spans_next(&spans, &span)) {
        const int64_t from =
            span.start_ns > v->from_ns ? span.start_ns : v->from_ns;
        const int64_t to = span.end_ns < v->to_ns ? span.end_ns : v->to_ns;
        if (from >= to) continue;
        sum->state_ns[span.state] += to - from;
        if (cells)
            share_out(s, from, to, cells,
                      offsetof(view_shares, state_ns) +
                          (size_t)span.state * sizeof(int64_t));
    }
}

uint32_t view_states_queue(const view_states *s, size_t device, uint32_t part,
                           uint32_t parts)
{
    const int64_t range = s->v->to_ns - s->v->from_ns;
    // In two steps, as range * part might overflow.
    const int64_t at = range / (2 * parts) * (2 * part + 1) +
                       range % (2 * parts) * (2 * part + 1) / (2 * parts);
    return ts_timeline_queue(s->timeline, device, s->v->from_ns + at);
}

/* ---- Gaps --------------------------------------------------------------- */

static int longer_first(const void *left, const void *right)
{
    const view_gap *const a = left, *const b = right;
    return cli_gap_order(&a->gap, a->device, &b->gap, b->device);
}

view_gap *view_states_gaps(const view_states *s, size_t *count)
{
    size_t all = 0;
    for (size_t d = 0; ts_timeline_device(s->timeline, d); d++)
        all += ts_timeline_gap_count(s->timeline, d);
    view_gap *const gaps = view_resize(NULL, all + 1, sizeof *gaps);
    *count = 0;
    for (size_t d = 0; ts_timeline_device(s->timeline, d); d++)
        for (size_t i = 0;
             ts_timeline_gap(s->timeline, d, i, &gaps[*count].gap); i++)
            gaps[(*count)++].device = d;
    qsort(gaps, *count, sizeof *gaps, longer_first);
    return gaps;
}

/* ---- All ---------------------------------------------------------------- */

bool view_states_takes(const view_states *s, const ts_lane *lane)
{
    return view_track_is_selected(view_states_file(s, lane->file), lane->track);
}

view *view_states_file(const view_states *s, uint32_t file)
{
    return file ? &s->v->more[file - 1] : s->v;
}

cli_text view_states_file_name(const view_states *s, uint32_t file)
{
    const view *const v = view_states_file(s, file);
    return s->v->ranked ? cli_format("rank %" PRId64, v->rank)
                        : cli_format("file %" PRIu32, file);
}

static bool succeeded(const view *v, ts_result result)
{
    if (result == TS_OK) return true;
    cli_error(v->tool, v->path, "%s",
              result == TS_ERR_NOT_FOUND
                  ? "the trace contains no operation of a device, so that "
                    "there are no states to show"
                  : ts_result_text(result));
    return false;
}

// Sets the range from the first call to the last end of an operation.
static void whole_range(view_states *s)
{
    view *const v = s->v;
    bool any = false;
    for (size_t i = 0; i < ts_replay_lane_count(s->replay); i++) {
        ts_state_spans spans = ts_timeline_state_spans(s->timeline, i);
        ts_state_span span;
        while (ts_state_spans_next(&spans, &span)) {
            if (!any || span.start_ns < v->from_ns) v->from_ns = span.start_ns;
            if (!any || span.end_ns > v->to_ns) v->to_ns = span.end_ns;
            any = true;
        }
    }
    if (v->to_ns <= v->from_ns) v->to_ns = v->from_ns + 1;
}

static bool open_replay(view_states *s)
{
    const view *const v = s->v;
    ts_reader **const more = view_resize(NULL, v->more_count, sizeof *more);
    for (size_t i = 0; i < v->more_count; i++)
        more[i] = v->more[i].trace.reader;
    const ts_replay_desc desc = { .more = more,
                                  .more_count = (uint32_t)v->more_count };
    const ts_result result = ts_replay_open(&s->replay, v->trace.reader, &desc);
    free(more);
    return succeeded(v, result);
}

bool view_states_show(view *v)
{
    view_states s = { .v = v };
    if (!open_replay(&s)) return false;
    ts_timeline_desc desc = { 0 };
    if (v->zoomed) {
        desc.from_ns = v->from_ns;
        desc.to_ns = v->to_ns;
    } else if (!cli_clip(v->trace.reader, &desc.from_ns, &desc.to_ns)) {
        desc.from_ns = desc.to_ns = 0;
    }
    const bool opened =
        succeeded(v, ts_timeline_open(&s.timeline, s.replay, &desc));
    if (opened) {
        if (!v->zoomed) whole_range(&s);
        v->json ? view_states_json(&s) : view_states_draw(&s);
    }
    ts_timeline_close(s.timeline);
    ts_replay_close(s.replay);
    return opened;
}
