/*
    rule_trace.c - advice: problems of the trace itself
*/
#include "tools/analyze/advice/rule.h"

static advice_finding *find_flaw(advice *a, const advice_rule *rule)
{
    advice_finding *const f = advice_find(a, rule);
    f->trust = true;
    f->severity = REPORT_WARNING;
    advice_show_time(f, 0, a->start_ns, a->end_ns);
    return f;
}

/* ---- trace-losses -------------------------------------------------------- */

// Adds up the lost records by cause, and finds the row with most of them.
static uint64_t count_losses(const advice *a, uint64_t *by_cause,
                             ts_loss_row *worst, uint32_t *file)
{
    uint64_t lost = 0;
    ts_loss_row row;
    for (uint32_t i = 0; i < a->job->file_count; i++)
        for (size_t k = 0; ts_reader_loss(analyze_reader(a->job, i), k, &row);
             k++) {
            if (row.cause >= TS_LOSS_STALL_FIRST) continue;
            lost += row.count;
            by_cause[row.cause] += row.count;
            if (row.count <= worst->count) continue;
            *worst = row;
            *file = i;
        }
    return lost;
}

void rule_trace_losses(advice *a, const advice_rule *rule)
{
    uint64_t by_cause[TS_LOSS_STALL_FIRST] = { 0 };
    uint32_t file = 0, most = 0;
    ts_loss_row worst = { 0 };
    const uint64_t lost = count_losses(a, by_cause, &worst, &file);
    if (!lost || (int64_t)lost < advice_limit(a, rule, "count")) return;
    for (uint32_t i = 0; i < TS_LOSS_STALL_FIRST; i++)
        if (by_cause[i] > by_cause[most]) most = i;
    ts_replay_file place = { 0 };
    ts_replay_file_at(a->replay, file, &place);
    advice_finding *const f = find_flaw(a, rule);
    if (worst.last_ns > worst.first_ns)
        advice_show_time(f, file, worst.first_ns + place.offset_ns,
                         worst.last_ns + place.offset_ns);
    ADVICE_SAY(a, f, title, "the trace lost records");
    ADVICE_SAY(a, f, what,
               "%s missing, %s of them because of %s. All figures refer to the "
               "remaining records.",
               cli_counted(lost, "record is", "records are").s,
               by_cause[most] == lost ? "all" : cli_count(by_cause[most]).s,
               ts_loss_name(most));
    ADVICE_SAY(a, f, todo,
               "Record again with larger rings, policy \"help\" or \"block\", "
               "or fewer kinds of events.");
    ADVICE_SAY(a, f, how,
               "no gain: this finding is about the quality of the "
               "trace");
}

/* ---- profiler-overhead --------------------------------------------------- */

// Adds the times during which a profiler recorded its own overhead.
static void add_overhead(advice *a, uint32_t file, const ts_track *track,
                         advice_spans *spans, const uint32_t *threads,
                         size_t thread_count)
{
    const ts_filter filter = { .kinds = TS_FILTER(ZONE),
                               .tracks = &track->id,
                               .track_count = 1 };
    ts_replay_file place = { 0 };
    ts_cursor *cursor;
    ts_event event;
    ts_replay_file_at(a->replay, file, &place);
    if (ts_cursor_open(&cursor, analyze_reader(a->job, file), &filter) !=
        TS_OK) {
        a->failed = true;
        return;
    }
    while (ts_cursor_next(cursor, &event)) {
        const int64_t start = event.start_ns + place.offset_ns;
        for (size_t i = 0; i < thread_count; i++)
            advice_span_add(a, spans, file, threads[i], start,
                            start + event.duration_ns);
    }
    ts_cursor_close(cursor);
}

// Returns up to `most` threads of a file that launch work.
static size_t launching(const advice *a, uint32_t file, uint32_t *threads,
                        size_t most)
{
    size_t count = 0;
    for (uint32_t i = 0; i < a->graph.call_count && count < most; i++) {
        const ts_node n = advice_node(a, (uint32_t)a->op_count + i);
        size_t k = 0;
        while (k < count && threads[k] != n.track)
            k++;
        if (n.file == file && k == count) threads[count++] = n.track;
    }
    return count;
}

void rule_profiler_overhead(advice *a, const advice_rule *rule)
{
    static const char *const words[] = { "profiler overhead", NULL };
    advice_spans spans = { 0 };
    uint64_t times = 0;
    for (uint32_t i = 0; i < a->job->file_count; i++) {
        uint32_t threads[16];
        const size_t count = launching(a, i, threads, 16);
        ts_track track;
        for (size_t k = 0;
             ts_reader_track_at(analyze_reader(a->job, i), k, &track); k++)
            if (advice_has_word(track.name, words) && count) {
                const size_t before = spans.count;
                add_overhead(a, i, &track, &spans, threads, count);
                times += (spans.count - before) / count;
            }
    }
    if (times) {
        const ts_host_span *longest = &spans.list[0];
        for (size_t i = 1; i < spans.count; i++)
            if (spans.list[i].end_ns - spans.list[i].start_ns >
                longest->end_ns - longest->start_ns)
                longest = &spans.list[i];
        const ts_host_span at = *longest;
        advice_finding *const f = find_flaw(a, rule);
        advice_show_time(f, at.file, at.start_ns, at.end_ns);
        advice_spare(a, f, &spans);
        ADVICE_SAY(a, f, title, "the profiler takes time");
        ADVICE_SAY(a, f, what,
                   "The profiler reports %s of its own work, at most %s at "
                   "once (flushing buffers, instrumenting, loading symbols).",
                   cli_counted(times, "time", "times").s,
                   cli_time(at.end_ns - at.start_ns).s);
        ADVICE_SAY(a, f, todo,
                   "This is the cost of recording: without the profiler, the "
                   "program is faster by this amount. Record fewer kinds of "
                   "events, or start after a warm-up.");
        ADVICE_SAY(a, f, how,
                   "replay without the host time of these intervals");
    }
    free(spans.list);
}

/* ---- unexplained-idle ---------------------------------------------------- */

void rule_unexplained_idle(advice *a, const advice_rule *rule)
{
    const ts_timeline_figures *const t = ts_timeline_total(a->timeline);
    const int64_t unknown = t->unexplained_ns + t->inferred_ns;
    if (!unknown ||
        !advice_reaches(a, rule, "share", unknown, t->busy_ns + t->idle_ns))
        return;
    advice_finding *const f = find_flaw(a, rule);
    ADVICE_SAY(a, f, title, "much idle time has no recorded cause");
    ADVICE_SAY(a, f, what,
               "Devices are idle for %s without a recorded cause (for %s of it "
               "a cause was inferred).",
               cli_time(unknown).s, cli_time(t->inferred_ns).s);
    ADVICE_SAY(a, f, todo,
               "Also record synchronisation and events (CUPTI's "
               "synchronization activity, enable_cuda_sync_events=True in "
               "PyTorch), and the API calls of all threads.");
    ADVICE_SAY(
        a, f, how,
        "no gain: this finding is about the accuracy of the gains above");
}

/* ---- model-error --------------------------------------------------------- */

void rule_model_error(advice *a, const advice_rule *rule)
{
    const int64_t error = a->makespan_ns > a->recorded_ns
                              ? a->makespan_ns - a->recorded_ns
                              : a->recorded_ns - a->makespan_ns;
    const ts_replay_stats *const s = ts_replay_result(a->model);
    const bool stuck = s->skipped[TS_SKIP_UNMET] != 0;
    if (!stuck &&
        (!error || !advice_reaches(a, rule, "share", error, a->recorded_ns)))
        return;
    advice_finding *const f = find_flaw(a, rule);
    ADVICE_SAY(a, f, title, "the model does not reproduce the record");
    if (stuck)
        ADVICE_SAY(a, f, what,
                   "%s operations wait for each other in a cycle and never run "
                   "in the model; no gain is computed.",
                   cli_count(s->skipped[TS_SKIP_UNMET]).s);
    else
        ADVICE_SAY(a, f, what,
                   "The unchanged model takes %s, the record %s; gains have an "
                   "error of this size.",
                   cli_time(a->makespan_ns).s, cli_time(a->recorded_ns).s);
    ADVICE_SAY(a, f, todo,
               "Check the trace with ts-replay --mode exact; record API calls "
               "and synchronisation if they are missing.");
    ADVICE_SAY(a, f, how,
               "no gain: this finding is about the quality of the "
               "trace");
}

/* ---- estimated-times ----------------------------------------------------- */

// Reports a source without times of its own, or with a clock of unknown speed.
void rule_estimated_times(advice *a, const advice_rule *rule)
{
    for (uint32_t i = 0; i < a->job->file_count; i++) {
        const char *why = NULL;
        if (analyze_estimated(a->job, i))
            why = "its source has no times, so that the importer estimated "
                  "them";
        if (analyze_info(a->job, i)->clock_estimated)
            why = "its clock has no second sample, so that its rate is assumed";
        if (!why) continue;
        advice_finding *const f = find_flaw(a, rule);
        f->evidence.file = i;
        ADVICE_SAY(a, f, title, "times are estimates");
        ADVICE_SAY(a, f, what, "%s: %s.", a->job->files[i].path, why);
        ADVICE_SAY(a, f, todo,
                   "Do not rely on figures of this trace; record it with "
                   "times.");
        ADVICE_SAY(a, f, how,
                   "no gain: this finding is about the quality of "
                   "the trace");
        return;
    }
}
