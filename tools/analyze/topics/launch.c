/*
    launch.c - the cost of launches, and whether it matters
*/
#include "tools/analyze/figures/base/wording.h"
#include "tools/analyze/figures/time/bound.h"

typedef struct launch_topic {
    analyze_job *job;
    report_section *s;
    ts_replay *replay;
    ts_timeline *timeline;
    names_index names;
    idle_result idle;
    launch_result r;
    // Idle time during launches; during code loading.
    int64_t bound_ns, loading_ns;
} launch_topic;

static int64_t part_of(const launch_times *t, uint32_t per_mille)
{
    return sums_quantile(t->ns, t->count, per_mille);
}

static report_value quantile(const launch_times *t, uint32_t per_mille)
{
    return t->count ? report_ns(part_of(t, per_mille))
                    : report_unknown(REPORT_NS);
}

// Reports the latency of the device with the most launches.
static void answer_latency(const launch_topic *a)
{
    const ts_timeline_figures *f, *most = NULL;
    for (size_t d = 0; (f = ts_timeline_device(a->timeline, d)); d++)
        if (!most || f->launches > most->launches) most = f;
    if (!most || !most->launches) return;
    const ts_text device = analyze_track(a->job, most->file, most->track);
    report_answer(a->s,
                  "Operations that waited only for their launch started %s "
                  "after the start of the call (median of %s launch%s of %.*s; "
                  "95 %% within %s).",
                  cli_time(most->launch_p50_ns).s, cli_count(most->launches).s,
                  most->launches == 1 ? "" : "es", TOPIC_TEXT(device),
                  cli_time(most->launch_p95_ns).s);
}

static void answer(const launch_topic *a)
{
    const ts_timeline_figures *const f = ts_timeline_total(a->timeline);
    const int64_t span = f->busy_ns + f->idle_ns;
    const int64_t late = idle_late(f);
    if (!a->r.calls) {
        report_answer(a->s, "The trace contains no launch call.");
        return;
    }
    if (!late)
        report_answer(a->s, "Late launches caused no idle time.");
    else
        report_answer(
            a->s,
            "Late launches caused %s of idle time (%s of the time): %s while a "
            "launch was in progress, %s in first launches that load or compile "
            "code, %s while the host did something else.",
            cli_time(late).s, report_words(report_share(late, span)).s,
            cli_time(a->bound_ns).s, cli_time(a->loading_ns).s,
            cli_time(late - a->bound_ns - a->loading_ns).s);
    answer_latency(a);
}

static report_value launch_value(const ts_timeline_figures *f, int64_t ns)
{
    return f->launches ? report_ns(ns) : report_unknown(REPORT_NS);
}

/* ---- Tables -------------------------------------------------------------- */

static void put_devices(const launch_topic *a)
{
    static const report_column columns[] = {
        { "device", "device", REPORT_TEXT },
        { "launches", "launches", REPORT_COUNT },
        { "min_ns", "latency min", REPORT_NS },
        { "p50_ns", "p50", REPORT_NS },
        { "p95_ns", "p95", REPORT_NS },
        { "max_ns", "max", REPORT_NS },
        { "queued", "queued", REPORT_COUNT },
        { "queued_p50_ns", "in queue p50", REPORT_NS },
        { "queued_p95_ns", "p95", REPORT_NS },
        { "queued_max_ns", "max", REPORT_NS },
        { "depth_mean", "depth mean", REPORT_FACTOR },
        { "depth_max", "max", REPORT_COUNT }
    };
    report_table *const t =
        report_table_begin(a->s, "devices",
                           "Latency from the launch call to the start of the "
                           "operation",
                           columns, TOPIC_COUNT(columns));
    for (size_t d = 0; d < a->r.device_count; d++) {
        const ts_timeline_figures *const f = ts_timeline_device(a->timeline, d);
        const launch_times *const l = &a->r.devices[d].latency;
        const launch_times *const q = &a->r.devices[d].queued;
        const report_value row[] = {
            report_text(analyze_track(a->job, f->file, f->track)),
            report_count(f->launches),
            f->launches ? quantile(l, 0) : report_unknown(REPORT_NS),
            launch_value(f, f->launch_p50_ns),
            launch_value(f, f->launch_p95_ns),
            launch_value(f, f->launch_max_ns),
            report_count(q->count),
            quantile(q, 500),
            quantile(q, 950),
            quantile(q, 1000),
            report_factor(f->queue_ns, f->busy_ns + f->idle_ns),
            report_count(f->queue_max)
        };
        const report_evidence e =
            report_from_to(f->file, f->start_ns, f->end_ns);
        report_row(t, row, &e);
        if (a->r.devices[d].unknown)
            report_note(
                a->s, "Not included: %s of %.*s without a recorded call.",
                cli_counted(a->r.devices[d].unknown, "operation", "operations")
                    .s,
                TOPIC_TEXT(analyze_track(a->job, f->file, f->track)));
    }
}

static void put_functions(const launch_topic *a)
{
    static const report_column columns[] = {
        { "function", "function", REPORT_TEXT },
        { "calls", "calls", REPORT_COUNT },
        { "operations", "launched", REPORT_COUNT },
        { "total_ns", "total", REPORT_NS },
        { "min_ns", "min", REPORT_NS },
        { "p50_ns", "p50", REPORT_NS },
        { "p95_ns", "p95", REPORT_NS },
        { "max_ns", "max", REPORT_NS },
        { "blocked", "found a full queue", REPORT_COUNT },
        { "blocked_ns", "waited for space", REPORT_NS }
    };
    report_table *const t =
        report_table_begin(a->s, "functions", "Durations of launch calls",
                           columns, TOPIC_COUNT(columns));
    for (size_t i = 0; i < a->r.function_count; i++) {
        const launch_function *const f = &a->r.functions[i];
        const report_value row[] = { report_text(topic_group(a->job, &a->names,
                                                             f->group)),
                                     report_count(f->calls.count),
                                     report_count(f->operations),
                                     report_ns(f->calls.sum_ns),
                                     quantile(&f->calls, 0),
                                     quantile(&f->calls, 500),
                                     quantile(&f->calls, 950),
                                     quantile(&f->calls, 1000),
                                     report_count(f->blocked),
                                     report_ns(f->blocked_ns) };
        ts_node longest;
        if (!ts_replay_node(a->replay, f->longest, &longest)) continue;
        const report_evidence e =
            report_from_to(longest.file, longest.recorded_ns,
                           longest.recorded_ns + longest.duration_ns);
        report_row(t, row, &e);
    }
}

static void put_tiny(const launch_topic *a)
{
    static const report_column columns[] = {
        { "kernel", "kernel", REPORT_TEXT },
        { "count", "tiny ones", REPORT_COUNT },
        { "of", "of", REPORT_COUNT },
        { "total_ns", "ran for", REPORT_NS },
        { "mean_ns", "mean", REPORT_NS },
        { "longest_ns", "longest", REPORT_NS }
    };
    if (!a->r.tiny_count) return;
    report_table *const t = report_table_begin(
        a->s, "tiny", "Kernels shorter than their launch call", columns,
        TOPIC_COUNT(columns));
    for (size_t i = 0; i < a->r.tiny.count; i++) {
        const sums_row *const sum = &a->r.tiny.rows[i];
        const names_group *const g = &a->names.groups[sum->key];
        ts_operation op;
        const report_value row[] = {
            report_text(topic_group(a->job, &a->names, (uint32_t)sum->key)),
            report_count(sum->count),
            report_count(g->count),
            report_ns(sum->ns),
            report_ns(sum->ns / (int64_t)sum->count),
            report_ns(sum->most_ns)
        };
        if (!ts_replay_operation(a->replay, sum->most, &op)) continue;
        report_evidence e =
            report_from_to(op.file, op.recorded_start_ns, op.recorded_end_ns);
        report_evidence_add(&e, (uint32_t)sum->most);
        report_row(t, row, &e);
    }
}

// Two steps, since span * slot might overflow.
static int64_t slot_at(int64_t span, int64_t slot, int64_t slots)
{
    return span / slots * slot + span % slots * slot / slots;
}

static void put_depth(const launch_topic *a)
{
    enum { SLOTS = 200 };
    report_chart *const c = report_series_begin(
        a->s, "queue_depth", "Operations launched but not started",
        REPORT_COUNT);
    for (size_t d = 0; d < a->r.device_count; d++) {
        const ts_timeline_figures *const f = ts_timeline_device(a->timeline, d);
        const int64_t span = f->end_ns - f->start_ns;
        const uint32_t line =
            report_series_line(c, analyze_track(a->job, f->file, f->track));
        // Take the maximum of each slot, so that the highest point equals
        // depth_max.
        for (int64_t i = 0; i < SLOTS; i++) {
            const int64_t from = f->start_ns + slot_at(span, i, SLOTS);
            const int64_t to = f->start_ns + slot_at(span, i + 1, SLOTS);
            report_series_add(
                c, line, from,
                ts_timeline_queue_most(a->timeline, d, i ? from : INT64_MIN,
                                       i + 1 < SLOTS ? to : INT64_MAX));
        }
    }
}

static void put_figures(const launch_topic *a)
{
    const ts_timeline_figures *const f = ts_timeline_total(a->timeline);
    const int64_t span = f->busy_ns + f->idle_ns;
    report_figure(a->s, "late_ns", "cost of late launches",
                  report_ns(idle_late(f)));
    report_figure(a->s, "launch_bound_ns", "of that, launching",
                  report_ns(a->bound_ns));
    report_figure(a->s, "loading_ns", "of that, loading code",
                  report_ns(a->loading_ns));
    report_figure(a->s, "launch_bound", "of all time",
                  report_share(a->bound_ns, span));
    report_figure(a->s, "dispatch_ns", "idle between queued operations",
                  report_ns(f->dispatch_ns));
    report_figure(a->s, "calls", "launch calls", report_count(a->r.calls));
    report_figure(a->s, "call_ns", "time in them", report_ns(a->r.call_ns));
    report_figure(a->s, "blocked_ns", "of that waiting for space in a queue",
                  report_ns(a->r.blocked_ns));
    report_figure(
        a->s, "tiny", "kernels shorter than their launch",
        report_share((int64_t)a->r.tiny_count, (int64_t)a->r.kernels));
    report_figure(a->s, "tiny_ns", "they ran for", report_ns(a->r.tiny_ns));
    report_figure(a->s, "tiny_call_ns", "launching them took the host",
                  report_ns(a->r.tiny_call_ns));
}

static bool fill(analyze_job *job, report *r)
{
    launch_topic a = { .job = job };
    a.s = topic_begin(job, r, "launch", "Launches", &a.replay, &a.timeline);
    if (!a.s) return true;
    const bool ok = names_of_job(&a.names, job) &&
                    idle_open(&a.idle, a.replay, a.timeline, &a.names) &&
                    launch_open(&a.r, a.replay, a.timeline, &a.names);
    if (ok) {
        a.bound_ns =
            bound_launching(ts_timeline_total(a.timeline), &a.idle, &a.r);
        a.loading_ns = bound_loading(&a.idle, &a.r);
        answer(&a);
        if (a.r.calls) {
            topic_trust_graph(a.s, a.job, a.replay, a.timeline);
            put_figures(&a);
            put_devices(&a);
            put_functions(&a);
            put_tiny(&a);
            put_depth(&a);
        }
    }
    launch_close(&a.r);
    idle_close(&a.idle);
    names_close(&a.names);
    return ok;
}

const analyze_topic topic_launch = {
    "launch", "Launches",
    "from launch call to start: latency, queues, tiny kernels", fill, NULL
};
