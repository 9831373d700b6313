/*
    idle.c - why the devices were idle
*/
#include "tools/analyze/figures/base/wording.h"
#include "tools/analyze/figures/time/bound.h"

typedef struct idle_topic {
    analyze_job *job;
    report_section *s;
    ts_replay *replay;
    ts_timeline *timeline;
    names_index names;
    idle_result r;
    bound_cause cause;
} idle_topic;

// Returns the meaning of a cause, as it follows "because".
static const char *meaning_of(ts_idle cause)
{
    static const char *const texts[TS_IDLE_LIMIT] = {
        "the host launched too late",
        "launches took time to reach the device",
        "kernels of other streams had to end first",
        "copies had to end first",
        "collectives had to end first",
        "the host was blocked in synchronisations",
        "launch queues were full",
        "the cause is not recorded",
        "the device started ready operations late"
    };
    return texts[cause];
}

static ts_idle largest_cause(const ts_timeline_figures *f)
{
    ts_idle most = TS_IDLE_HOST_LATE;
    for (uint32_t i = 0; i < TS_IDLE_LIMIT; i++)
        if (f->cause_ns[i] > f->cause_ns[most]) most = (ts_idle)i;
    return most;
}

// Returns the summed spans of the devices, to which idle time is related.
static int64_t span_of_all(const ts_timeline_figures *f)
{
    return f->busy_ns + f->idle_ns;
}

static void answer(const idle_topic *a)
{
    const ts_timeline_figures *const f = ts_timeline_total(a->timeline);
    const size_t devices = ts_replay_device_count(a->replay);
    if (!f->idle_ns) {
        report_answer(a->s, "No device was ever idle.");
        return;
    }
    const ts_idle most = largest_cause(f);
    const cli_text who = devices > 1
                             ? cli_format("The %zu devices were", devices)
                             : cli_format("The device was");
    const cli_text cause =
        f->cause_ns[most] == f->idle_ns
            ? cli_format("all of it")
            : report_words(report_share(f->cause_ns[most], f->idle_ns));
    report_answer(a->s, "%s idle %s of the time (%s), %s%s because %s.", who.s,
                  report_words(report_share(f->idle_ns, span_of_all(f))).s,
                  cli_time(f->idle_ns).s, cause.s,
                  f->cause_ns[most] == f->idle_ns ? "" : " of that",
                  meaning_of(most));
    // A small share supports no conclusion.
    if (a->cause.ns < f->idle_ns / 20 || !a->cause.ns) return;
    report_answer(
        a->s, "%s waited longest for the host in '%.*s'%s%.*s%s (%s).",
        devices > 1 ? "Devices" : "It", TOPIC_TEXT(a->cause.zone),
        a->cause.outer.size ? ", within '" : "", TOPIC_TEXT(a->cause.outer),
        a->cause.outer.size ? "'" : "", cli_time(a->cause.ns).s);
}

/* ---- By device ----------------------------------------------------------- */

static void put_devices(const idle_topic *a)
{
    static const report_column columns[] = {
        { "device", "device", REPORT_TEXT },
        { "span_ns", "span", REPORT_NS },
        { "idle_ns", "idle", REPORT_NS },
        { "share", "of span", REPORT_SHARE },
        { "gaps", "gaps", REPORT_COUNT },
        { "explicit", "recorded", REPORT_SHARE },
        { "inferred", "inferred", REPORT_SHARE },
        { "unexplained", "neither", REPORT_SHARE }
    };
    report_table *const t = report_table_begin(
        a->s, "devices", "Idle time by device, and whether its cause is known",
        columns, TOPIC_COUNT(columns));
    const ts_timeline_figures *f;
    for (size_t d = 0; (f = ts_timeline_device(a->timeline, d)); d++) {
        const report_value row[] = {
            report_text(analyze_track(a->job, f->file, f->track)),
            report_ns(f->busy_ns + f->idle_ns),
            report_ns(f->idle_ns),
            report_share(f->idle_ns, f->busy_ns + f->idle_ns),
            report_count(ts_timeline_gap_count(a->timeline, d)),
            report_share(f->explicit_ns, f->idle_ns),
            report_share(f->inferred_ns, f->idle_ns),
            report_share(f->unexplained_ns, f->idle_ns)
        };
        const report_evidence e =
            report_from_to(f->file, f->start_ns, f->end_ns);
        report_row(t, row, &e);
    }
}

static void put_causes(const idle_topic *a)
{
    static const report_column columns[] = { { "cause", "cause", REPORT_TEXT },
                                             { "idle_ns", "idle", REPORT_NS },
                                             { "share", "of idle",
                                               REPORT_SHARE },
                                             { "gaps", "gaps", REPORT_COUNT },
                                             { "mean_ns", "mean", REPORT_NS } };
    const ts_timeline_figures *const f = ts_timeline_total(a->timeline);
    report_table *const t = report_table_begin(
        a->s, "causes", "Idle time by cause", columns, TOPIC_COUNT(columns));
    bool done[TS_IDLE_LIMIT] = { false };
    for (uint32_t n = 0; n < TS_IDLE_LIMIT; n++) {
        uint32_t most = TS_IDLE_LIMIT;
        for (uint32_t i = 0; i < TS_IDLE_LIMIT; i++)
            if (!done[i] && f->causes[i] &&
                (most == TS_IDLE_LIMIT || f->cause_ns[i] > f->cause_ns[most]))
                most = i;
        if (most == TS_IDLE_LIMIT) break;
        done[most] = true;
        const report_value row[] = {
            report_string(ts_idle_name(most)), report_ns(f->cause_ns[most]),
            report_share(f->cause_ns[most], f->idle_ns),
            report_count(f->causes[most]),
            report_ns(f->cause_ns[most] / (int64_t)f->causes[most])
        };
        report_row(t, row, NULL);
    }
}

static void put_chart(const idle_topic *a)
{
    const ts_timeline_figures *f;
    report_chart *const c =
        topic_time_chart(a->s, "device_time", "Device time by activity");
    for (size_t d = 0; (f = ts_timeline_device(a->timeline, d)); d++)
        topic_time_bar(a->job, c, f);
}

/* ---- Gaps ---------------------------------------------------------------- */

static report_evidence evidence_of(const idle_gap *g)
{
    report_evidence e = report_from_to(g->file, g->gap.start_ns, g->gap.end_ns);
    report_evidence_add(&e, g->gap.operation);
    return e;
}

static ts_text host_of(const idle_topic *a, const idle_gap *g)
{
    const ts_text zone = topic_group(a->job, &a->names, g->held.zone);
    const ts_text call = topic_group(a->job, &a->names, g->held.call);
    if (g->held.zone == TS_NODE_NONE)
        return g->held.call == TS_NODE_NONE ? (ts_text){ "", 0 } : call;
    if (g->held.call == TS_NODE_NONE) return zone;
    return analyze_format(a->job, "%.*s: %.*s", TOPIC_TEXT(zone),
                          TOPIC_TEXT(call));
}

// Returns what the operation that ended a gap waited for; its own call without
// a place.
static ts_text culprit_of(const idle_topic *a, const idle_gap *g)
{
    ts_node node;
    ts_operation op;
    const bool own = ts_replay_operation(a->replay, g->gap.operation, &op) &&
                     ts_replay_node(a->replay, g->gap.culprit, &node) &&
                     (op.call == g->gap.culprit || node.track == op.track ||
                      node.track == g->thread);
    return topic_node(a->job, a->replay, g->gap.culprit, !own);
}

// Returns what happened during a gap: what the host was in, if it caused the
// gap, else what was waited for.
static ts_text meanwhile_of(const idle_topic *a, const idle_gap *g)
{
    return g->gap.cause == TS_IDLE_HOST_LATE && g->thread
               ? topic_hold(a->job, a->replay, &a->names, &g->held,
                            g->gap.culprit)
               : culprit_of(a, g);
}

// The marked rows may be those that --top omits.
static void note_inferred(const idle_topic *a)
{
    uint64_t inferred = 0;
    for (size_t i = 0; i < a->r.count; i++)
        inferred += a->r.gaps[i].gap.inferred;
    if (inferred)
        report_note(a->s,
                    "A question mark marks a cause that was inferred from "
                    "times: that of %s of %s.",
                    cli_count(inferred).s,
                    cli_counted(a->r.count, "gap", "gaps").s);
}

static void put_gaps(const idle_topic *a)
{
    static const report_column columns[] = {
        { "start_ns", "start", REPORT_TIME },
        { "idle_ns", "idle", REPORT_NS },
        { "cause", "cause", REPORT_TEXT },
        { "meanwhile", "waiting for", REPORT_TEXT },
        { "ended_by", "ended by", REPORT_TEXT },
        { "device", "device", REPORT_TEXT },
        { "waited_for", "bound by", REPORT_TEXT },
        { "host", "host in", REPORT_TEXT }
    };
    report_table *const t = report_table_begin(a->s, "gaps", "The longest gaps",
                                               columns, TOPIC_COUNT(columns));
    for (size_t i = 0; i < a->r.count && i < a->job->options.rows; i++) {
        const idle_gap *const g = &a->r.gaps[i];
        const ts_timeline_figures *const f =
            ts_timeline_device(a->timeline, g->device);
        const char *const cause = ts_idle_name(g->gap.cause);
        const report_value row[] = {
            report_time(g->gap.start_ns),
            report_ns(g->gap.end_ns - g->gap.start_ns),
            g->gap.inferred ? report_text(analyze_format(a->job, "%s?", cause))
                            : report_string(cause),
            report_text(meanwhile_of(a, g)),
            report_text(topic_node(a->job, a->replay, g->gap.operation, false)),
            report_text(analyze_track(a->job, f->file, f->track)),
            report_text(culprit_of(a, g)),
            report_text(host_of(a, g))
        };
        const report_evidence e = evidence_of(g);
        report_row(t, row, &e);
    }
    report_rows_of(t, a->r.count);
    note_inferred(a);
}

static void put_ends(const idle_topic *a)
{
    static const report_column columns[] = {
        { "ended_by", "ended by", REPORT_TEXT },
        { "cause", "cause", REPORT_TEXT },
        { "idle_ns", "idle", REPORT_NS },
        { "share", "of idle", REPORT_SHARE },
        { "gaps", "gaps", REPORT_COUNT },
        { "longest_ns", "longest", REPORT_NS }
    };
    const int64_t idle = ts_timeline_total(a->timeline)->idle_ns;
    report_table *const t = report_table_begin(
        a->s, "ended_by", "Idle time by the operation that ended it", columns,
        TOPIC_COUNT(columns));
    for (size_t i = 0; i < a->r.ends.count; i++) {
        const sums_row *const sum = &a->r.ends.rows[i];
        const report_value row[] = {
            report_text(topic_group(a->job, &a->names,
                                    (uint32_t)(sum->key / TS_IDLE_LIMIT))),
            report_string(ts_idle_name((uint32_t)(sum->key % TS_IDLE_LIMIT))),
            report_ns(sum->ns),
            report_share(sum->ns, idle),
            report_count(sum->count),
            report_ns(sum->most_ns)
        };
        const report_evidence e = evidence_of(&a->r.gaps[sum->most]);
        report_row(t, row, &e);
    }
}

static void put_host(const idle_topic *a, const sums *all, const char *key,
                     const char *title, const char *label)
{
    const report_column columns[] = { { "name", label, REPORT_TEXT },
                                      { "idle_ns", "idle", REPORT_NS },
                                      { "share", "of these", REPORT_SHARE },
                                      { "longest_ns", "longest", REPORT_NS } };
    if (!all->count || (all->count == 1 && all->rows->key == TS_NODE_NONE))
        return;
    report_table *const t =
        report_table_begin(a->s, key, title, columns, TOPIC_COUNT(columns));
    for (size_t i = 0; i < all->count; i++) {
        const sums_row *const sum = &all->rows[i];
        const report_value row[] = {
            report_text(topic_group(a->job, &a->names, (uint32_t)sum->key)),
            report_ns(sum->ns), report_share(sum->ns, a->r.host_ns),
            report_ns(sum->most_ns)
        };
        const report_evidence e = evidence_of(&a->r.gaps[sum->most]);
        report_row(t, row, &e);
    }
}

static void put_lengths(const idle_topic *a)
{
    static const char *const labels[IDLE_LENGTHS] = {
        "below 1 us",  "1 to 10 us", "10 to 100 us",
        "0.1 to 1 ms", "1 to 10 ms", "10 to 100 ms",
        "0.1 to 1 s",  "1 to 10 s",  "10 s and more"
    };
    static const report_column columns[] = {
        { "length", "gaps of", REPORT_TEXT },
        { "gaps", "gaps", REPORT_COUNT },
        { "idle_ns", "idle", REPORT_NS },
        { "share", "of idle", REPORT_SHARE }
    };
    const int64_t idle = ts_timeline_total(a->timeline)->idle_ns;
    report_table *const t =
        report_table_begin(a->s, "lengths", "Idle time by length of the gap",
                           columns, TOPIC_COUNT(columns));
    for (int i = 0; i < IDLE_LENGTHS; i++) {
        if (!a->r.lengths[i]) continue;
        const report_value row[] = { report_string(labels[i]),
                                     report_count(a->r.lengths[i]),
                                     report_ns(a->r.lengths_ns[i]),
                                     report_share(a->r.lengths_ns[i], idle) };
        report_row(t, row, NULL);
    }
}

static bool fill(analyze_job *job, report *r)
{
    idle_topic a = { .job = job };
    a.s = topic_begin(job, r, "idle", "Idle time", &a.replay, &a.timeline);
    if (!a.s) return true;
    const bool ok = names_of_job(&a.names, job) &&
                    idle_open(&a.r, a.replay, a.timeline, &a.names) &&
                    bound_cause_find(&a.cause, job, a.replay, &a.names, &a.r);
    if (ok) {
        const ts_timeline_figures *const f = ts_timeline_total(a.timeline);
        answer(&a);
        topic_trust_graph(a.s, a.job, a.replay, a.timeline);
        report_figure(a.s, "idle_ns", "idle", report_ns(f->idle_ns));
        report_figure(a.s, "busy_ns", "busy", report_ns(f->busy_ns));
        put_causes(&a);
        put_devices(&a);
        put_chart(&a);
        put_gaps(&a);
        put_ends(&a);
        put_host(&a, &a.r.zones, "zones",
                 "Host activity while a device waited for it, by zone",
                 "innermost zone");
        put_host(&a, &a.r.calls, "calls",
                 "Host activity while a device waited for it, by call",
                 "API call");
        put_lengths(&a);
    }
    idle_close(&a.r);
    names_close(&a.names);
    return ok;
}

const analyze_topic topic_idle = {
    "idle", "Idle time", "why devices were idle: causes, gaps, host activity",
    fill, NULL
};
