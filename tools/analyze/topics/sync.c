/*
    sync.c - needless and overly wide synchronisations
*/
#include "tools/analyze/figures/base/wording.h"
#include "tools/analyze/figures/time/sync.h"

typedef struct sync_topic {
    analyze_job *job;
    report_section *s;
    ts_replay *replay;
    ts_timeline *timeline;
    names_index names;
    sync_result r;
    model_figures model, fewer[2]; // without needless ones; without all
} sync_topic;

static const char *const meanings[SYNC_FINDINGS] = {
    "waited for running operations",
    "waited for a device on which only one stream was busy",
    "waited for completed operations",
    "waited although no operation was issued since the last one",
    "waited for operations that the trace does not show",
    "polled without waiting",
};

static uint64_t needless_count(const sync_result *r)
{
    return r->counts[SYNC_IDLE] + r->counts[SYNC_AGAIN];
}

static void answer_waits(const sync_topic *a)
{
    const sync_result *const r = &a->r;
    const uint64_t needless = r->same_stream + r->known_before;
    if (!r->waits) return;
    if (needless)
        report_answer(a->s,
                      "Of %s of streams for events, %s %s unnecessary because "
                      "stream order already ensures completion.",
                      cli_counted(r->waits, "wait", "waits").s,
                      cli_count(needless).s, needless == 1 ? "is" : "are");
    else if (r->no_record < r->waits)
        report_answer(a->s, "No stream waits for an event unnecessarily.");
}

static void answer_polls(const sync_topic *a)
{
    const uint64_t polls = a->r.counts[SYNC_POLL];
    if (!polls) return;
    report_answer(a->s,
                  "%s call%s that polled for completion took %s; %s not "
                  "counted as synchronisation%s.",
                  cli_count(polls).s, polls == 1 ? "" : "s",
                  cli_time(a->r.blocked_ns[SYNC_POLL]).s,
                  polls == 1 ? "it is" : "they are", polls == 1 ? "" : "s");
}

static void answer(const sync_topic *a)
{
    const sync_result *const r = &a->r;
    const uint64_t needless = needless_count(r);
    const uint64_t count = r->count - r->counts[SYNC_POLL];
    int64_t blocked = 0;
    for (int i = 0; i < SYNC_FINDINGS; i++)
        if (i != SYNC_POLL) blocked += r->blocked_ns[i];
    if (!count) {
        report_answer(a->s, "The host never synchronised.");
        return;
    }
    report_answer(a->s,
                  "%s synchronisation%s blocked the host for %s, and devices "
                  "were idle %s for %s.",
                  cli_count(count).s, count == 1 ? "" : "s",
                  cli_time(blocked).s, cli_time(r->idle_ns).s,
                  count == 1 ? "it" : "them");
    if (needless)
        report_answer(
            a->s, "%s did not need to wait (%s).",
            count == 1 ? "It"
                       : cli_format("%s of them", cli_count(needless).s).s,
            cli_time(r->blocked_ns[SYNC_IDLE] + r->blocked_ns[SYNC_AGAIN]).s);
    else
        report_answer(a->s, "%s known to be unnecessary.",
                      count == 1 ? "It is not" : "None of them is");
    if (r->counts[SYNC_WIDE])
        report_answer(a->s,
                      "%s waited for a device although waiting for a stream "
                      "would have sufficed.",
                      cli_count(r->counts[SYNC_WIDE]).s);
}

static void put_gains(const sync_topic *a)
{
    if (a->model.known && a->fewer[0].known)
        report_figure(a->s, "needless_gain_ns", "gain without unnecessary ones",
                      report_ns(model_gain(&a->model, &a->fewer[0])));
    if (a->model.known && a->fewer[1].known)
        report_figure(a->s, "all_gain_ns",
                      "gain without any, at most (results may need them)",
                      report_ns(model_gain(&a->model, &a->fewer[1])));
}

static void put_findings(const sync_topic *a)
{
    static const report_column columns[] = {
        { "finding", "synchronisations that", REPORT_TEXT },
        { "count", "count", REPORT_COUNT },
        { "call_ns", "took", REPORT_NS },
        { "blocked_ns", "blocked for", REPORT_NS }
    };
    report_table *const t =
        report_table_begin(a->s, "findings", "What they waited for", columns,
                           TOPIC_COUNT(columns));
    for (int i = 0; i < SYNC_FINDINGS; i++) {
        if (!a->r.counts[i]) continue;
        const report_value row[] = {
            report_string(meanings[i]), report_count(a->r.counts[i]),
            report_ns(a->r.blocked_ns[i]),
            i == SYNC_POLL ? report_ns(0) : report_ns(a->r.blocked_ns[i])
        };
        report_row(t, row, NULL);
    }
}

static void put_sites(const sync_topic *a)
{
    static const report_column columns[] = {
        { "function", "call", REPORT_TEXT },
        { "zone", "in zone", REPORT_TEXT },
        { "count", "count", REPORT_COUNT },
        { "blocked_ns", "blocked", REPORT_NS },
        { "idle_ns", "device idle", REPORT_NS },
        { "needless", "needless", REPORT_COUNT },
        { "needless_ns", "lost", REPORT_NS },
        { "wide", "whole device", REPORT_COUNT }
    };
    report_table *const t =
        report_table_begin(a->s, "sites", "Places where the host synchronises",
                           columns, TOPIC_COUNT(columns));
    for (size_t i = 0; i < a->r.site_count; i++) {
        const sync_site *const s = &a->r.sites[i];
        const sync_item *const item = &a->r.items[s->longest];
        if (s->polls) continue;
        const report_value row[] = {
            report_text(topic_group(a->job, &a->names, s->function)),
            report_text(topic_group(a->job, &a->names, s->zone)),
            report_count(s->count),
            report_ns(s->blocked_ns),
            report_ns(s->idle_ns),
            report_count(s->needless),
            report_ns(s->needless_ns),
            report_count(s->wide)
        };
        const report_evidence e =
            report_from_to(item->file, item->start_ns, item->end_ns);
        report_row(t, row, &e);
    }
}

static void put_polls(const sync_topic *a)
{
    static const report_column columns[] = {
        { "function", "call", REPORT_TEXT },
        { "zone", "in zone", REPORT_TEXT },
        { "count", "count", REPORT_COUNT },
        { "call_ns", "took", REPORT_NS },
    };
    report_table *const t = report_table_begin(
        a->s, "polls", "Places where the host polls for completion", columns,
        TOPIC_COUNT(columns));
    for (size_t i = 0; i < a->r.site_count; i++) {
        const sync_site *const s = &a->r.sites[i];
        const sync_item *const item = &a->r.items[s->longest];
        if (!s->polls) continue;
        const report_value row[] = {
            report_text(topic_group(a->job, &a->names, s->function)),
            report_text(topic_group(a->job, &a->names, s->zone)),
            report_count(s->count), report_ns(s->blocked_ns)
        };
        const report_evidence e =
            report_from_to(item->file, item->start_ns, item->end_ns);
        report_row(t, row, &e);
    }
}

// Adds the synchronisations that can be improved, in order of time.
static void put_items(const sync_topic *a)
{
    static const report_column columns[] = {
        { "start_ns", "start", REPORT_TIME },
        { "blocked_ns", "blocked", REPORT_NS },
        { "function", "call", REPORT_TEXT },
        { "zone", "in zone", REPORT_TEXT },
        { "finding", "waits", REPORT_TEXT }
    };
    uint64_t count = 0, shown = 0;
    for (size_t i = 0; i < a->r.count; i++)
        count += sync_is_needless(a->r.items[i].finding) ||
                 a->r.items[i].finding == SYNC_WIDE;
    if (!count) return;
    report_table *const t = report_table_begin(
        a->s, "items", "Unnecessary or too wide synchronisations", columns,
        TOPIC_COUNT(columns));
    for (size_t i = 0; i < a->r.count && shown < a->job->options.rows; i++) {
        const sync_item *const item = &a->r.items[i];
        if (!sync_is_needless(item->finding) && item->finding != SYNC_WIDE)
            continue;
        const report_value row[] = {
            report_time(item->start_ns),
            report_ns(item->end_ns - item->start_ns),
            report_text(topic_group(a->job, &a->names, item->function)),
            report_text(topic_group(a->job, &a->names, item->zone)),
            report_string(meanings[item->finding])
        };
        report_evidence e =
            report_from_to(item->file, item->start_ns, item->end_ns);
        if (item->node < a->names.op_count) report_evidence_add(&e, item->node);
        report_row(t, row, &e);
        shown++;
    }
    report_rows_of(t, count);
}

static void put_waits(const sync_topic *a)
{
    static const report_column columns[] = {
        { "start_ns", "start", REPORT_TIME },
        { "track", "of", REPORT_TEXT },
        { "why", "complete because", REPORT_TEXT }
    };
    const sync_result *const r = &a->r;
    const uint64_t count = r->same_stream + r->known_before;
    ts_operation op;
    if (r->waits) {
        report_figure(a->s, "event_waits", "waits of streams for events",
                      report_count(r->waits));
        report_figure(a->s, "event_waits_same_stream",
                      "recorded on the stream that waits",
                      report_count(r->same_stream));
        report_figure(a->s, "event_waits_known", "waited for before",
                      report_count(r->known_before));
        report_figure(a->s, "event_waits_no_record",
                      "whose record is not known", report_count(r->no_record));
    }
    if (!count) return;
    report_table *const t =
        report_table_begin(a->s, "event_waits", "Unnecessary waits for events",
                           columns, TOPIC_COUNT(columns));
    for (uint64_t i = 0; i < count && i < a->job->options.rows; i++) {
        if (!ts_replay_operation(a->replay, r->needless_waits[i].operation,
                                 &op))
            continue;
        const report_value row[] = {
            report_time(op.recorded_start_ns),
            report_text(analyze_track(a->job, op.file, op.track)),
            report_string(r->needless_waits[i].same_stream
                              ? "recorded on the same stream"
                              : "the stream already waited for it")
        };
        const report_evidence e =
            topic_evidence(a->replay, r->needless_waits[i].operation);
        report_row(t, row, &e);
    }
    report_rows_of(t, count);
}

static bool without(sync_topic *a)
{
    ts_replay *const model = a->r.count ? analyze_model(a->job) : NULL;
    bool ok = !model || model_unchanged(a->job, &a->model);
    for (int all = 0; ok && model && all < 2; all++)
        if (all || needless_count(&a->r))
            ok = sync_without(&a->r, model, all, &a->fewer[all]);
    return ok;
}

static bool fill(analyze_job *job, report *r)
{
    sync_topic a = { .job = job };
    a.s =
        topic_begin(job, r, "sync", "Synchronisation", &a.replay, &a.timeline);
    if (!a.s) return true;
    const bool ok = names_of_job(&a.names, job) &&
                    sync_open(&a.r, a.replay, a.timeline, &a.names) &&
                    without(&a);
    if (ok) {
        answer(&a);
        answer_polls(&a);
        answer_waits(&a);
        if (a.r.counts[SYNC_UNKNOWN])
            report_trust(a.s, REPORT_MEDIUM,
                         "for %s synchronisation%s the trace does not show "
                         "what %s waited for",
                         cli_count(a.r.counts[SYNC_UNKNOWN]).s,
                         a.r.counts[SYNC_UNKNOWN] == 1 ? "" : "s",
                         a.r.counts[SYNC_UNKNOWN] == 1 ? "it" : "they");
        put_gains(&a);
        if (a.r.count) put_findings(&a);
        if (a.r.count > a.r.counts[SYNC_POLL]) put_sites(&a);
        if (a.r.counts[SYNC_POLL]) put_polls(&a);
        put_items(&a);
        put_waits(&a);
    }
    sync_close(&a.r);
    names_close(&a.names);
    return ok;
}

const analyze_topic topic_sync = {
    "sync", "Synchronisation",
    "waits of the host and of streams, unnecessary or too wide ones", fill, NULL
};
