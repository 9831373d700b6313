/*
    api.c - the API calls that took the most time
*/
#include "tools/analyze/figures/base/wording.h"
#include "tools/analyze/figures/operations/api.h"

typedef struct api_topic {
    analyze_job *job;
    report_section *s;
    api api;
    stats_group all;
} api_topic;

static void put_names(const api_topic *a)
{
    static const report_column columns[] = {
        { "name", "function", REPORT_TEXT },
        { "count", "count", REPORT_COUNT },
        { "total_ns", "total", REPORT_NS },
        { "share", "share", REPORT_SHARE },
        { "mean_ns", "mean", REPORT_NS },
        { "p50_ns", "p50", REPORT_NS },
        { "p95_ns", "p95", REPORT_NS },
        { "max_ns", "max", REPORT_NS },
        { "min_ns", "min", REPORT_NS },
        { "blocks", "may block", REPORT_TEXT },
    };
    report_table *const t = report_table_begin(a->s, "functions", "By function",
                                               columns, TOPIC_COUNT(columns));
    for (size_t i = 0; i < a->api.names.count; i++) {
        const stats_row *const r = &a->api.names.rows[i];
        const report_value row[] = {
            report_text(r->text),
            report_count(r->sum.count),
            report_ns(r->sum.total_ns),
            report_share(r->sum.total_ns, a->all.total_ns),
            report_ns(r->sum.total_ns / (int64_t)r->sum.count),
            report_ns(r->sum.p50_ns),
            report_ns(r->sum.p95_ns),
            report_ns(r->sum.most_ns),
            report_ns(r->sum.least_ns),
            report_string(api_may_block(r->text) ? "yes" : ""),
        };
        const report_evidence e = stats_longest(a->job, &r->sum);
        report_row(t, row, &e);
    }
}

// Adds the time of threads in calls that may block, by function and thread.
static void put_threads(const api_topic *a)
{
    static const report_column columns[] = {
        { "thread", "thread", REPORT_TEXT }, { "count", "calls", REPORT_COUNT },
        { "total_ns", "total", REPORT_NS },  { "share", "share", REPORT_SHARE },
        { "mean_ns", "mean", REPORT_NS },    { "max_ns", "max", REPORT_NS },
    };
    report_table *const t = report_table_begin(a->s, "threads", "By thread",
                                               columns, TOPIC_COUNT(columns));
    for (size_t i = 0; i < a->api.threads.count; i++)
        stats_row_put(a->job, t, columns, TOPIC_COUNT(columns),
                      &a->api.threads.rows[i], a->all.total_ns);
}

static uint64_t put_results(const api_topic *a)
{
    static const report_column columns[] = {
        { "name", "function: result", REPORT_TEXT },
        { "count", "count", REPORT_COUNT },
        { "total_ns", "total", REPORT_NS },
        { "first_ns", "first", REPORT_TIME },
        { "last_ns", "last", REPORT_TIME },
    };
    report_table *t = NULL;
    uint64_t count = 0;
    for (size_t i = 0; i < a->api.results.count; i++) {
        const stats_row *const r = &a->api.results.rows[i];
        if (!r->sum.key[1]) continue; // success
        if (!t)
            t = report_table_begin(a->s, "results", "Calls that failed",
                                   columns, TOPIC_COUNT(columns));
        stats_row_put(a->job, t, columns, TOPIC_COUNT(columns), r,
                      a->all.total_ns);
        count += r->sum.count;
    }
    return count;
}

static void answer(const api_topic *a, uint64_t failed)
{
    const stats_row *const most = &a->api.names.rows[0];
    report_answer(
        a->s,
        "%s took %s of the threads' time; %.*s took the largest part "
        "(%s).",
        cli_counted(a->all.count, "call", "calls").s,
        cli_time(a->all.total_ns).s, TOPIC_TEXT(most->text),
        report_words(report_share(most->sum.total_ns, a->all.total_ns)).s);
    if (!report_is_none(a->api.blocking.total_ns, a->all.total_ns))
        report_answer(a->s, "%s of it was in calls that may block.",
                      report_words(report_share(a->api.blocking.total_ns,
                                                a->all.total_ns))
                          .s);
    if (failed) report_answer(a->s, "%s failed.", cli_count(failed).s);
    report_figure(a->s, "count", "calls", report_count(a->all.count));
    report_figure(a->s, "functions", "functions",
                  report_count(a->api.names.count));
    report_figure(a->s, "total_ns", "time in calls",
                  report_ns(a->all.total_ns));
    report_figure(a->s, "blocking_ns", "in calls that may block",
                  report_ns(a->api.blocking.total_ns));
    report_figure(a->s, "failed", "failed", report_count(failed));
    report_trust(a->s, REPORT_HIGH,
                 "all recorded calls are included; calls that may block are "
                 "recognized by name");
}

static bool fill(analyze_job *job, report *r)
{
    api_topic a = { .job = job };
    a.s = report_begin(r, "api", "API calls");
    const bool ok = api_open(&a.api, job);
    if (ok) a.all = stats_rows_sum(&a.api.names);
    if (ok && !a.all.count) {
        report_not_applicable(a.s, "The trace contains no API call: record "
                                   "with a backend that records calls of the "
                                   "runtime.");
    } else if (ok) {
        put_names(&a);
        put_threads(&a);
        answer(&a, put_results(&a));
    }
    api_close(&a.api);
    return ok;
}

const analyze_topic topic_api = {
    .name = "api",
    .title = "API calls",
    .help = "calls by function, thread and result; time in blocking calls",
    .fill = fill,
};
