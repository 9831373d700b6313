/*
    summary.c - an overview of the run
*/
#include "tools/analyze/topics/summary.h"
#include "tools/analyze/figures/base/wording.h"
#include "tools/analyze/topics/tracks.h"
#include "tools/analyze/figures/operations/copies.h"
#include "tools/analyze/job/window.h"
#include "tools/analyze/figures/time/bound.h"
#include "tools/analyze/figures/operations/kernels.h"
#include "tools/analyze/figures/time/summary.h"
#include "tools/analyze/figures/operations/zones.h"

enum { TOP_KERNELS = 1000 };

static const char bound_share[] = "summary.bound-share";

static const char *const bound_names[SUMMARY_BOUNDS] = {
    "kernels",   "communication",  "copies",
    "host_late", "launch_latency", "other work first",
    "host_sync", "unexplained",    "late_start",
};

// "The largest part of the time goes to ...".
static const char *const bound_texts[SUMMARY_BOUNDS] = {
    "kernels",
    "communication that no kernel hides",
    "copies that no kernel hides",
    "waiting for a host that launched too late",
    "waiting for launches to reach the device",
    "waiting for other streams, copies or collectives",
    "waiting for a host that was blocked in synchronisations",
    "idle time without a recorded cause",
    "waiting for a device that started ready operations late",
};

typedef struct summary_topic {
    analyze_job *job;
    report_section *s;
    summary_figures f;
    int64_t parts[SUMMARY_BOUNDS], span_ns;
    summary_bound part; // the largest
    int64_t bounds[BOUND_LIMIT];
    bound most;
    int64_t loading_ns; // part of BOUND_HOST
    bound_cause cause;
    kernels k;
    copies c;
} summary_topic;

static int64_t span_of(const ts_timeline_figures *f)
{
    return f->busy_ns + f->idle_ns;
}

/* ---- The answer ---------------------------------------------------------- */

// Computes what bounds the device time. The windows of a long trace do not
// record what the host did; all of that time counts as host time.
static bool take_bounds(summary_topic *a)
{
    const ts_timeline_figures *const f = a->f.total;
    ts_replay *const replay = a->f.windows ? NULL : analyze_replay(a->job);
    names_index names = { 0 };
    idle_result idle = { 0 };
    launch_result launch = { 0 };
    bool ok = true;
    if (replay) {
        ts_timeline *const t = analyze_timeline(a->job);
        ok = names_of_job(&names, a->job) &&
             idle_open(&idle, replay, t, &names) &&
             launch_open(&launch, replay, t, &names) &&
             bound_cause_find(&a->cause, a->job, replay, &names, &idle);
        if (ok) {
            a->bounds[BOUND_LAUNCH] = bound_launching(f, &idle, &launch);
            a->loading_ns = bound_loading(&idle, &launch);
        }
        launch_close(&launch);
        idle_close(&idle);
        names_close(&names);
    }
    a->bounds[BOUND_HOST] = idle_late(f) - a->bounds[BOUND_LAUNCH];
    a->bounds[BOUND_COPY] = f->only_ns[TS_WORK_COPY];
    a->bounds[BOUND_COMMUNICATION] = f->only_ns[TS_WORK_COLLECTIVE];
    for (int i = 0; i < BOUND_LIMIT; i++)
        if (a->bounds[i] > a->bounds[a->most]) a->most = (bound)i;
    return ok;
}

static bool is_large(const summary_topic *a, bound which)
{
    return a->span_ns > 0 && // guards against overflow
           (double)a->bounds[which] * 10000 >=
               (double)analyze_set(a->job, bound_share) * (double)a->span_ns;
}

// Whether the run is bound by this part: the largest one, if it is large
// enough.
static bool is_bound(const summary_topic *a, bound which)
{
    return which == a->most && is_large(a, which);
}

// Adds a sentence such as "For 35.7 % of the time ...".
static void answer_part(const summary_topic *a, bound which, const char *lead)
{
    const bool one = a->f.device_count == 1;
    const char *const texts[BOUND_LIMIT] = {
        "launches were in progress",
        one ? "the device waited for a host that did something else"
            : "devices waited for a host that did something else",
        "copies ran that no kernel hides",
        "communication ran that no kernel hides",
    };
    report_answer(a->s, "%s %s of the time %s.", lead,
                  report_words(report_share(a->bounds[which], a->span_ns)).s,
                  texts[which]);
}

// Adds the next part, if it is large too.
static void answer_next(const summary_topic *a)
{
    bound next = BOUND_LIMIT;
    for (int i = 0; i < BOUND_LIMIT; i++)
        if ((bound)i != a->most && is_large(a, (bound)i) &&
            (next == BOUND_LIMIT || a->bounds[i] > a->bounds[next]))
            next = (bound)i;
    if (next != BOUND_LIMIT)
        answer_part(a, next,
                    "The name refers to the largest part: for another");
}

static void answer_bound(const summary_topic *a)
{
    if (!is_bound(a, a->most)) {
        const int64_t most = a->bounds[a->most];
        const cli_text more = cli_format(
            "more than %s", report_words(report_share(most, a->span_ns)).s);
        report_answer(a->s,
                      "It is not bound by launches, host, copies or "
                      "communication: none of these takes %s.",
                      most ? more.s : "any time");
        return;
    }
    const cli_text lead = cli_format("It is %s: for", bound_name(a->most));
    answer_part(a, a->most, lead.s);
    if (a->most == BOUND_HOST && a->loading_ns > a->bounds[BOUND_HOST] / 2)
        report_answer(a->s,
                      "Most of that is first launches, which load or compile "
                      "code (%s); a longer run has this cost only once.",
                      cli_time(a->loading_ns).s);
    else if (a->most == BOUND_HOST && a->cause.ns &&
             a->cause.ns >= a->bounds[BOUND_HOST] / 20)
        report_answer(
            a->s, "The largest share of that is in '%.*s'%s%.*s%s (%s).",
            TOPIC_TEXT(a->cause.zone), a->cause.outer.size ? ", within '" : "",
            TOPIC_TEXT(a->cause.outer), a->cause.outer.size ? "'" : "",
            cli_time(a->cause.ns).s);
    answer_next(a);
}

static void answer(const summary_topic *a)
{
    const ts_timeline_figures *const f = a->f.total;
    const size_t devices = a->f.device_count;
    report_answer(a->s,
                  "%zu device%s, %s: busy %s of the time. The largest part of "
                  "the time is spent on %s (%s).",
                  devices, devices == 1 ? "" : "s",
                  cli_time(f->end_ns - f->start_ns).s,
                  report_words(report_share(f->busy_ns, a->span_ns)).s,
                  bound_texts[a->part],
                  report_words(report_share(a->parts[a->part], a->span_ns)).s);
    answer_bound(a);
}

// Notes that the answer excludes the rest of the record, however long it is.
static void answer_rest(const summary_topic *a)
{
    const cut_figures *const cut = analyze_cut(a->job);
    // The span of a step begins when the previous step was complete.
    const int64_t first = a->f.total->start_ns < cut->work_from_ns
                              ? a->f.total->start_ns
                              : cut->work_from_ns;
    const int64_t before = first - cut->from_ns;
    const int64_t after = cut->to_ns - cut->work_to_ns;
    const int64_t rest = (before > 0 ? before : 0) + (after > 0 ? after : 0);
    if (!cut->works || rest < (cut->to_ns - cut->from_ns) / 10) return;
    report_answer(a->s,
                  "For %s more, no device was busy: %s before the first "
                  "operation, %s after the last.",
                  cli_time(rest).s, cli_time(before > 0 ? before : 0).s,
                  cli_time(after > 0 ? after : 0).s);
}

static void answer_cut(const summary_topic *a)
{
    const cut_figures *const cut = analyze_cut(a->job);
    if (cut->queued)
        report_answer(a->s,
                      "The trace begins in the middle of the program: %s of "
                      "the %s operations %s launched before.",
                      cli_count(cut->queued).s, cli_count(cut->operations).s,
                      cut->queued == 1 ? "was" : "were");
    if (cut->outside)
        report_answer(a->s,
                      "It ends in the middle of the program: the operations of "
                      "%s call%s are not included.",
                      cli_count(cut->outside).s, cut->outside == 1 ? "" : "s");
}

static void put_trust(const summary_topic *a)
{
    const ts_timeline_figures *const f = a->f.total;
    report_trust(a->s, REPORT_HIGH,
                 "totals are exact sums over all operations");
    if (a->f.windows)
        report_trust(a->s, REPORT_HIGH,
                     "causes of idle time were computed for %s windows of the "
                     "trace; --only summary,idle uses the whole graph",
                     cli_count(a->f.windows).s);
    else
        report_trust(a->s, REPORT_HIGH,
                     "causes were computed for the whole "
                     "graph");
    if (f->idle_ns && f->unexplained_ns > f->idle_ns / 4)
        report_trust(
            a->s, REPORT_MEDIUM,
            "no recorded cause explains %s of the idle time",
            report_words(report_share(f->unexplained_ns, f->idle_ns)).s);
}

// Adds a chart of all four bounds, since the run is bound by the largest alone.
static void put_bounds(const summary_topic *a)
{
    static const char *const keys[BOUND_LIMIT][2] = {
        { "launch_bound", "launch_share" },
        { "host_bound", "host_share" },
        { "copy_bound", "copy_share" },
        { "communication_bound", "communication_share" },
    };
    for (int i = 0; i < BOUND_LIMIT; i++) {
        report_figure(a->s, keys[i][0], bound_name((bound)i),
                      report_string(is_bound(a, (bound)i) ? "yes" : "no"));
        report_figure(a->s, keys[i][1], "such time",
                      report_share(a->bounds[i], a->span_ns));
    }
}

static void put_figures(const summary_topic *a)
{
    const ts_timeline_figures *const f = a->f.total;
    const stats_group run = stats_rows_sum(&a->k.names);
    const stats_group copied = stats_rows_sum(&a->c.kinds);
    report_section *const s = a->s;
    const cut_figures *const cut = analyze_cut(a->job);
    report_figure(s, "recorded_ns", "recorded",
                  report_ns(cut->to_ns - cut->from_ns));
    // For a step: since the work of the previous steps was complete.
    report_figure(s, "duration_ns",
                  cut->works && f->start_ns < cut->work_from_ns
                      ? "span of devices"
                      : "first to last work of devices",
                  report_ns(f->end_ns - f->start_ns));
    report_figure(s, "start_ns", "which starts at", report_time(f->start_ns));
    report_figure(s, "busy_share", "busy",
                  report_share(f->busy_ns, a->span_ns));
    report_figure(s, "busy_ns", "busy, all devices", report_ns(f->busy_ns));
    report_figure(s, "idle_ns", "idle, all devices", report_ns(f->idle_ns));
    report_figure(s, "operations", "kernels, copies, memsets",
                  report_count(f->operations));
    report_figure(s, "kernel_sum_ns", "kernels, total",
                  report_ns(run.total_ns));
    report_figure(s, "copied_bytes", "copied", report_bytes(copied.bytes));
    report_figure(s, "communication_ns", "communication",
                  report_ns(f->work_ns[TS_WORK_COLLECTIVE]));
    report_figure(s, "exposed_ns", "of it not hidden",
                  report_ns(f->only_ns[TS_WORK_COLLECTIVE]));
    report_figure(s, "bound_by", "largest part",
                  report_string(bound_names[a->part]));
    put_bounds(a);
    report_figure(s, "launch_late_ns", "cost of late launches",
                  report_ns(idle_late(f)));
    if (!a->f.windows)
        report_figure(s, "launching_ns", "of it launching",
                      report_ns(a->bounds[BOUND_LAUNCH]));
    if (cut->queued)
        report_figure(s, "queued_before", "work queued before the record",
                      report_count(cut->queued));
    if (cut->outside)
        report_figure(s, "calls_outside",
                      "calls whose work is after the record",
                      report_count(cut->outside));
    if (cut->running)
        report_figure(s, "running_after", "work after the host's last event",
                      report_count(cut->running));
}

/* ---- Devices ------------------------------------------------------------- */

static void put_devices(const summary_topic *a)
{
    static const report_column columns[] = {
        { "device", "device", REPORT_TEXT },
        { "operations", "operations", REPORT_COUNT },
        { "busy_ns", "busy", REPORT_NS },
        { "busy_share", "of span", REPORT_SHARE },
        { "idle_ns", "idle", REPORT_NS },
        { "kernel_ns", "kernels", REPORT_NS },
        { "collective_ns", "collect.", REPORT_NS },
        { "copy_ns", "copies", REPORT_NS },
        { "exposed_ns", "exposed", REPORT_NS },
        { "span_ns", "span", REPORT_NS },
    };
    report_table *const t =
        report_table_begin(a->s, "devices",
                           "Devices: time with at least one such operation "
                           "running",
                           columns, TOPIC_COUNT(columns));
    for (size_t i = 0; i < a->f.device_count; i++) {
        const ts_timeline_figures *const f = a->f.devices[i];
        const report_value row[] = {
            report_text(analyze_track(a->job, f->file, f->track)),
            report_count(f->operations),
            report_ns(f->busy_ns),
            report_share(f->busy_ns, span_of(f)),
            report_ns(f->idle_ns),
            report_ns(f->work_ns[TS_WORK_KERNEL]),
            report_ns(f->work_ns[TS_WORK_COLLECTIVE]),
            report_ns(f->work_ns[TS_WORK_COPY]),
            report_ns(f->only_ns[TS_WORK_COLLECTIVE]),
            report_ns(span_of(f)),
        };
        const report_evidence e =
            report_from_to(f->file, f->start_ns, f->end_ns);
        report_row(t, row, &e);
    }
}

static void put_chart(const summary_topic *a)
{
    report_chart *const c =
        topic_time_chart(a->s, "time", "Time of each device by activity");
    for (size_t i = 0; i < a->f.device_count; i++)
        topic_time_bar(a->job, c, a->f.devices[i]);
}

static void put_levels(const summary_topic *a)
{
    static const report_column columns[] = {
        { "at_once", "at once", REPORT_TEXT },
        { "time_ns", "time", REPORT_NS },
        { "share", "of span", REPORT_SHARE }
    };
    if (!a->f.has_levels) return;
    report_table *const t = report_table_begin(
        a->s, "concurrency", "Concurrent operations on a device", columns,
        TOPIC_COUNT(columns));
    for (int i = 0; i < SUMMARY_LEVELS; i++) {
        if (!a->f.level_ns[i]) continue;
        const char *const more = i == SUMMARY_LEVELS - 1 ? " or more" : "";
        const report_value row[] = {
            report_text(analyze_format(a->job, "%d%s", i, more)),
            report_ns(a->f.level_ns[i]),
            report_share(a->f.level_ns[i], a->span_ns),
        };
        report_row(t, row, NULL);
    }
}

/* ---- Idle time ----------------------------------------------------------- */

static void put_idle(const summary_topic *a)
{
    static const report_column columns[] = {
        { "cause", "cause", REPORT_TEXT },
        { "idle_ns", "idle", REPORT_NS },
        { "share", "of idle", REPORT_SHARE },
        { "device_share", "of span", REPORT_SHARE },
        { "gaps", "gaps", REPORT_COUNT },
        { "longest_ns", "longest", REPORT_NS },
    };
    const ts_timeline_figures *const f = a->f.total;
    report_table *const t = report_table_begin(
        a->s, "idle", "Idle time by cause", columns, TOPIC_COUNT(columns));
    bool done[TS_IDLE_LIMIT] = { false };
    for (;;) {
        uint32_t most = TS_IDLE_LIMIT;
        for (uint32_t i = 0; i < TS_IDLE_LIMIT; i++)
            if (!done[i] && f->causes[i] &&
                (most == TS_IDLE_LIMIT || f->cause_ns[i] > f->cause_ns[most]))
                most = i;
        if (most == TS_IDLE_LIMIT) return;
        done[most] = true;
        const ts_gap *const gap = &a->f.longest[most];
        const bool known = gap->end_ns > gap->start_ns;
        const report_value row[] = {
            report_string(ts_idle_name(most)),
            report_ns(f->cause_ns[most]),
            report_share(f->cause_ns[most], f->idle_ns),
            report_share(f->cause_ns[most], a->span_ns),
            report_count(f->causes[most]),
            known ? report_ns(gap->end_ns - gap->start_ns)
                  : report_unknown(REPORT_NS),
        };
        report_evidence e =
            report_from_to(a->f.longest_file[most], gap->start_ns, gap->end_ns);
        report_evidence_add(&e, gap->operation);
        report_row(t, row, known ? &e : NULL);
    }
}

/* ---- Kernels and copies -------------------------------------------------- */

static void put_kernels(const summary_topic *a)
{
    static const report_column columns[] = {
        { "name", "kernel", REPORT_TEXT },  { "count", "count", REPORT_COUNT },
        { "total_ns", "total", REPORT_NS }, { "share", "share", REPORT_SHARE },
        { "mean_ns", "mean", REPORT_NS },   { "max_ns", "max", REPORT_NS },
    };
    const stats_group all = stats_rows_sum(&a->k.names);
    report_table *const t =
        report_table_begin(a->s, "kernels", "Kernels that took longest",
                           columns, TOPIC_COUNT(columns));
    for (size_t i = 0; i < a->k.names.count && i < TOP_KERNELS; i++)
        stats_row_put(a->job, t, columns, TOPIC_COUNT(columns),
                      &a->k.names.rows[i], all.total_ns);
    report_rows_of(t, a->k.names.count);
}

static void put_copies(const summary_topic *a)
{
    static const report_column columns[] = {
        { "kind", "copies", REPORT_TEXT }, { "count", "count", REPORT_COUNT },
        { "bytes", "size", REPORT_BYTES }, { "total_ns", "time", REPORT_NS },
        { "rate", "rate", REPORT_RATE },
    };
    report_table *const t = report_table_begin(a->s, "copies", "Copies by kind",
                                               columns, TOPIC_COUNT(columns));
    for (size_t i = 0; i < a->c.kinds.count; i++)
        stats_row_put(a->job, t, columns, TOPIC_COUNT(columns),
                      &a->c.kinds.rows[i], 0);
}

/* ---- Traces without device work ------------------------------------------ */

static size_t count_tracks(const analyze_job *job, ts_track_type type)
{
    size_t count = 0;
    ts_track track;
    for (uint32_t f = 0; f < job->file_count; f++)
        for (size_t i = 0;
             ts_reader_track_at(analyze_reader(job, f), i, &track); i++)
            count += track.type == type;
    return count;
}

static void answer_zones(analyze_job *job, report_section *s, const zones *z,
                         size_t threads)
{
    const stats_row *most = NULL;
    int64_t ns = 0;
    for (size_t i = 0; i < z->rows.count; i++) {
        const stats_row *const row = &z->rows.rows[i];
        const int64_t own = zones_times(z, row)->exclusive_ns;
        if ((!most || own > ns) && !names_waits(row->text)) {
            most = row;
            ns = own;
        }
    }
    if (!most) return;
    const ts_text name = topic_brief(job, analyze_name(job, most->text));
    report_answer(s, "Zone '%.*s' takes the largest exclusive time (%s%s).",
                  TOPIC_TEXT(name), cli_time(ns).s,
                  threads > 1 ? ", all threads" : "");
}

// Reports what the trace has if there is no device work. The most important
// comes first.
static bool host_only(analyze_job *job, report_section *s)
{
    uint64_t zones_count = 0, calls = 0;
    for (uint32_t i = 0; i < job->file_count; i++) {
        zones_count += analyze_info(job, i)->counts[TS_EVENT_ZONE];
        calls += analyze_info(job, i)->counts[TS_EVENT_API_CALL];
    }
    const cut_figures *const cut = analyze_cut(job);
    const size_t threads = count_tracks(job, TS_TRACK_THREAD);
    const size_t counters = count_tracks(job, TS_TRACK_COUNTER);
    zones z = { 0 };
    bool ok = zones_open(&z, job);
    if (ok) {
        report_answer(s,
                      "A host-only program: %s of %s on %s, %s and %s in %s.",
                      cli_counted(zones_count, "zone", "zones").s,
                      cli_counted(z.rows.count, "name", "names").s,
                      cli_counted(threads, "thread", "threads").s,
                      cli_counted(counters, "counter", "counters").s,
                      cli_counted(calls, "API call", "API calls").s,
                      cli_time(cut->to_ns - cut->from_ns).s);
        answer_zones(job, s, &z, threads);
        report_answer(s, "Devices are unknown: %s.", analyze_why(job));
        report_trust(s, REPORT_HIGH, "exact counts");
        report_figure(s, "duration_ns", "duration",
                      report_ns(cut->to_ns - cut->from_ns));
        report_figure(s, "zones", "zones", report_count(zones_count));
        report_figure(s, "names", "names of zones", report_count(z.rows.count));
        report_figure(s, "threads", "threads", report_count(threads));
        report_figure(s, "counters", "counters", report_count(counters));
        report_figure(s, "calls", "API calls", report_count(calls));
        ok = topic_tracks(job, s);
    }
    zones_close(&z);
    return ok;
}

static bool fill(analyze_job *job, report *r)
{
    summary_topic a = { .job = job };
    a.s = report_begin(r, "summary", "Summary");
    bool ok = true;
    if (summary_open(&a.f, job)) {
        a.part = summary_parts(a.f.total, a.parts);
        a.span_ns = span_of(a.f.total);
        ok = take_bounds(&a) && kernels_open(&a.k, job, false) &&
             copies_open(&a.c, job, false);
        if (ok) {
            answer(&a);
            answer_rest(&a);
            put_trust(&a);
            if (cut_weighs(analyze_cut(job))) answer_cut(&a);
            put_figures(&a);
            // A pass over the whole trace is too expensive where windows are
            // used.
            if (!a.f.windows) ok = topic_tracks(job, a.s);
            summary_losses(job, a.s);
            put_devices(&a);
            put_chart(&a);
            put_idle(&a);
            put_levels(&a);
            put_kernels(&a);
            put_copies(&a);
        }
        kernels_close(&a.k);
        copies_close(&a.c);
    } else {
        ok = host_only(job, a.s);
        summary_losses(job, a.s);
    }
    summary_close(&a.f);
    return ok;
}

static const analyze_setting settings[] = {
    { bound_share, "minimum share of the devices' time of a bound",
      REPORT_SHARE, 2000 },
    { 0 },
};

const analyze_topic topic_summary = {
    .name = "summary",
    .title = "Summary",
    .help = "duration, use of each device, idle time, longest operations",
    .fill = fill,
    .settings = settings,
};
