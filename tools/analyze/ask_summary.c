/*
    ask_summary.c - what was this run, in one look?
*/
#include "tools/analyze/ask_summary.h"
#include "tools/analyze/ask_time.h"
#include "tools/analyze/calc_copies.h"
#include "tools/analyze/calc_idle.h"
#include "tools/analyze/calc_kernels.h"
#include "tools/analyze/calc_summary.h"

enum { TOP_KERNELS = 1000 };

static const char launch_share[] = "summary.launch-share";

static const char *const bound_names[SUMMARY_BOUNDS] = {
    "kernels",        "communication",    "copies",    "host_late",
    "launch_latency", "other work first", "host_sync", "unexplained",
};

// What most of the time goes to, as a sentence about the devices.
static const char *const bound_texts[SUMMARY_BOUNDS] = {
    "mostly with kernels",
    "mostly with communication that nothing hides",
    "mostly with copies that nothing hides",
    "and waited for a host that launched too late most of all",
    "and waited for launches to arrive most of all",
    "and waited for other streams, copies or collectives most of all",
    "and waited for a host that was blocked in synchronisations most of all",
    "and idle for reasons that nothing recorded tells most of all",
};

typedef struct summary_ask {
    analyze_job *job;
    report_section *s;
    summary_figures f;
    int64_t parts[SUMMARY_BOUNDS], span_ns;
    summary_bound bound;
    kernels k;
    copies c;
} summary_ask;

static int64_t span_of(const ts_timeline_figures *f)
{
    return f->busy_ns + f->idle_ns;
}

/* ---- The answer ---------------------------------------------------------- */

static bool launch_bound(const summary_ask *a, int64_t *ns)
{
    *ns = idle_late(a->f.total);
    // In hundredths of a percent, without overflow.
    return a->span_ns > 0 &&
           (double)*ns * 10000 >=
               (double)analyze_set(a->job, launch_share) * (double)a->span_ns;
}

// From the first event of any kind to the last, or to the end of the work.
static void take_record(analyze_job *job, const ts_timeline_figures *f,
                        int64_t *from, int64_t *to)
{
    *from = f->start_ns;
    *to = f->end_ns;
    for (uint32_t i = 0; i < job->file_count; i++) {
        const ts_info *const info = analyze_info(job, i);
        const int64_t first = stats_sum(info->first_ns, analyze_offset(job, i));
        const int64_t last = stats_sum(info->last_ns, analyze_offset(job, i));
        if (first < *from) *from = first;
        if (last > *to) *to = last;
    }
}

// Where the devices worked for a part of the record only, all that follows is
// about that part.
static void answer_span(const summary_ask *a)
{
    const ts_timeline_figures *const f = a->f.total;
    int64_t from, to, recorded_ns;
    take_record(a->job, f, &from, &to);
    if (__builtin_sub_overflow(to, from, &recorded_ns) ||
        f->end_ns - f->start_ns >= recorded_ns / 10 * 9)
        return;
    report_answer(a->s,
                  "Recorded %s, from %s to %s; devices worked from %s to %s, "
                  "which all times here are about.",
                  cli_time(recorded_ns).s, report_words(report_time(from)).s,
                  report_words(report_time(to)).s,
                  report_words(report_time(f->start_ns)).s,
                  report_words(report_time(f->end_ns)).s);
}

static void answer(const summary_ask *a)
{
    const ts_timeline_figures *const f = a->f.total;
    const size_t devices = a->f.device_count;
    int64_t launch_ns;
    answer_span(a);
    report_answer(a->s, "%zu device%s, %s: busy %s of the time, %s (%s).",
                  devices, devices == 1 ? "" : "s",
                  cli_time(f->end_ns - f->start_ns).s,
                  report_words(report_share(f->busy_ns, a->span_ns)).s,
                  bound_texts[a->bound],
                  report_words(report_share(a->parts[a->bound], a->span_ns)).s);
    const bool bound = launch_bound(a, &launch_ns);
    const bool most = a->bound == SUMMARY_HOST || a->bound == SUMMARY_LAUNCH;
    report_answer(a->s,
                  bound && most ? "It is launch-bound: late launches cost %s "
                                  "of the time."
                  : bound       ? "Late launches cost %s of the time: in part "
                                  "it is launch-bound."
                                : "It is not launch-bound: late launches cost "
                                  "%s of the time.",
                  report_words(report_share(launch_ns, a->span_ns)).s);
}

static void put_trust(const summary_ask *a)
{
    const ts_timeline_figures *const f = a->f.total;
    report_trust(a->s, REPORT_HIGH,
                 "totals are sums over all operations, to the nanosecond");
    if (a->f.windows)
        report_trust(a->s, REPORT_HIGH,
                     "causes of idle time are of %s windows of the trace, each "
                     "with its margins; --only summary,idle takes the whole "
                     "graph",
                     cli_count(a->f.windows).s);
    else
        report_trust(a->s, REPORT_HIGH, "causes are of the whole graph");
    if (f->idle_ns && f->unexplained_ns > f->idle_ns / 4)
        report_trust(
            a->s, REPORT_MEDIUM,
            "nothing recorded explains %s of the idle time",
            report_words(report_share(f->unexplained_ns, f->idle_ns)).s);
}

static void put_figures(const summary_ask *a)
{
    const ts_timeline_figures *const f = a->f.total;
    const stats_group run = stats_rows_sum(&a->k.names);
    const stats_group copied = stats_rows_sum(&a->c.kinds);
    report_section *const s = a->s;
    int64_t launch_ns;
    const bool bound = launch_bound(a, &launch_ns);
    int64_t from, to, recorded_ns;
    take_record(a->job, f, &from, &to);
    if (!__builtin_sub_overflow(to, from, &recorded_ns))
        report_figure(s, "recorded_ns", "recorded", report_ns(recorded_ns));
    report_figure(s, "duration_ns", "first to last work of devices",
                  report_ns(f->end_ns - f->start_ns));
    report_figure(s, "start_ns", "which starts at", report_time(f->start_ns));
    report_figure(s, "busy_share", "busy",
                  report_share(f->busy_ns, a->span_ns));
    report_figure(s, "busy_ns", "busy, all devices", report_ns(f->busy_ns));
    report_figure(s, "idle_ns", "idle, all devices", report_ns(f->idle_ns));
    report_figure(s, "operations", "kernels, copies, sets",
                  report_count(f->operations));
    report_figure(s, "kernel_sum_ns", "kernels, summed up",
                  report_ns(run.total_ns));
    report_figure(s, "copied_bytes", "copied", report_bytes(copied.bytes));
    report_figure(s, "communication_ns", "communication",
                  report_ns(f->work_ns[TS_WORK_COLLECTIVE]));
    report_figure(s, "exposed_ns", "of it not hidden",
                  report_ns(f->only_ns[TS_WORK_COLLECTIVE]));
    report_figure(s, "bound_by", "bound by",
                  report_string(bound_names[a->bound]));
    report_figure(s, "launch_bound", "launch-bound",
                  report_string(bound ? "yes" : "no"));
    report_figure(s, "launch_late_ns", "cost of late launches",
                  report_ns(launch_ns));
}

/* ---- Devices ------------------------------------------------------------- */

static void put_devices(const summary_ask *a)
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
    report_table *const t = report_table_begin(
        a->s, "devices", "Devices: time with any such work running", columns,
        ASK_COUNT(columns));
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

static void put_chart(const summary_ask *a)
{
    report_chart *const c =
        ask_time_chart(a->s, "time", "Where the time of each device went");
    for (size_t i = 0; i < a->f.device_count; i++)
        ask_time_bar(a->job, c, a->f.devices[i]);
}

static void put_levels(const summary_ask *a)
{
    static const report_column columns[] = {
        { "at_once", "at once", REPORT_TEXT },
        { "time_ns", "time", REPORT_NS },
        { "share", "of span", REPORT_SHARE }
    };
    if (!a->f.has_levels) return;
    report_table *const t = report_table_begin(
        a->s, "concurrency", "Operations at work on a device at once", columns,
        ASK_COUNT(columns));
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

static void put_idle(const summary_ask *a)
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
        a->s, "idle", "Idle time by cause", columns, ASK_COUNT(columns));
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

static void put_kernels(const summary_ask *a)
{
    static const report_column columns[] = {
        { "name", "kernel", REPORT_TEXT },  { "count", "count", REPORT_COUNT },
        { "total_ns", "total", REPORT_NS }, { "share", "share", REPORT_SHARE },
        { "mean_ns", "mean", REPORT_NS },   { "max_ns", "max", REPORT_NS },
    };
    const stats_group all = stats_rows_sum(&a->k.names);
    report_table *const t =
        report_table_begin(a->s, "kernels", "Kernels that took longest",
                           columns, ASK_COUNT(columns));
    for (size_t i = 0; i < a->k.names.count && i < TOP_KERNELS; i++) {
        const stats_row *const r = &a->k.names.rows[i];
        const report_value row[] = {
            report_text(r->text),
            report_count(r->sum.count),
            report_ns(r->sum.total_ns),
            report_share(r->sum.total_ns, all.total_ns),
            report_ns(r->sum.total_ns / (int64_t)r->sum.count),
            report_ns(r->sum.most_ns),
        };
        const report_evidence e = stats_longest(a->job, &r->sum);
        report_row(t, row, &e);
    }
    report_rows_of(t, a->k.names.count);
}

static void put_copies(const summary_ask *a)
{
    static const report_column columns[] = {
        { "kind", "copies", REPORT_TEXT }, { "count", "count", REPORT_COUNT },
        { "bytes", "size", REPORT_BYTES }, { "total_ns", "time", REPORT_NS },
        { "rate", "rate", REPORT_RATE },
    };
    report_table *const t = report_table_begin(a->s, "copies", "Copies by kind",
                                               columns, ASK_COUNT(columns));
    for (size_t i = 0; i < a->c.kinds.count; i++) {
        const stats_row *const r = &a->c.kinds.rows[i];
        const report_value row[] = {
            report_text(r->text),
            report_count(r->sum.count),
            report_bytes(r->sum.bytes),
            report_ns(r->sum.total_ns),
            r->sum.bytes ? report_rate(r->sum.bytes, r->sum.total_ns)
                         : report_unknown(REPORT_RATE),
        };
        const report_evidence e = stats_longest(a->job, &r->sum);
        report_row(t, row, &e);
    }
}

/* ---- Without a device ---------------------------------------------------- */

static void host_only(analyze_job *job, report_section *s)
{
    uint64_t zones = 0, calls = 0;
    int64_t from = INT64_MAX, to = INT64_MIN;
    for (uint32_t i = 0; i < job->file_count; i++) {
        const ts_info *const info = analyze_info(job, i);
        zones += info->counts[TS_EVENT_ZONE];
        calls += info->counts[TS_EVENT_API_CALL];
        if (info->first_ns < from) from = info->first_ns;
        if (info->last_ns > to) to = info->last_ns;
    }
    int64_t span_ns;
    if (__builtin_sub_overflow(to, from, &span_ns)) span_ns = INT64_MAX;
    report_answer(s,
                  "Nothing is known of devices: %s. Of the host there are %s "
                  "zones and %s API calls in %s; zones and api tell more.",
                  analyze_why(job), cli_count(zones).s, cli_count(calls).s,
                  cli_time(span_ns).s);
    report_trust(s, REPORT_HIGH, "counts of the record");
    report_figure(s, "duration_ns", "duration", report_ns(span_ns));
    report_figure(s, "zones", "zones", report_count(zones));
    report_figure(s, "calls", "API calls", report_count(calls));
}

static bool ask(analyze_job *job, report *r)
{
    summary_ask a = { .job = job };
    a.s = report_begin(r, "summary", "Summary");
    bool ok = true;
    if (summary_open(&a.f, job)) {
        a.bound = summary_parts(a.f.total, a.parts);
        a.span_ns = span_of(a.f.total);
        ok = kernels_open(&a.k, job, false) && copies_open(&a.c, job, false);
        if (ok) {
            answer(&a);
            put_trust(&a);
            put_figures(&a);
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
        host_only(job, a.s);
        summary_losses(job, a.s);
    }
    summary_close(&a.f);
    return ok;
}

static const analyze_setting settings[] = {
    { launch_share, "time lost to late launches that is launch-bound",
      REPORT_SHARE, 2000 },
    { 0 },
};

const analyze_question ask_summary = {
    .name = "summary",
    .title = "Summary",
    .help = "duration, use of each device, idle time, what took longest",
    .ask = ask,
    .settings = settings,
};
