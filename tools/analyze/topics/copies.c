/*
    copies.c - copies: amount, speed, kind of memory
*/
#include "tools/analyze/figures/base/wording.h"
#include "tools/analyze/figures/operations/copies.h"

typedef struct copies_topic {
    analyze_job *job;
    report_section *s;
    copies c;
    stats_group all;
} copies_topic;

static void put_rows(const copies_topic *a, const stats_rows *rows,
                     const char *key, const char *title)
{
    static const report_column columns[] = {
        { "name", "copies", REPORT_TEXT },
        { "count", "count", REPORT_COUNT },
        { "bytes", "size", REPORT_BYTES },
        { "total_ns", "time", REPORT_NS },
        { "rate", "rate", REPORT_RATE },
        { "mean_ns", "mean", REPORT_NS },
        { "p50_ns", "p50", REPORT_NS },
        { "p95_ns", "p95", REPORT_NS },
        { "min_ns", "min", REPORT_NS },
        { "max_ns", "max", REPORT_NS },
        { "share", "of time", REPORT_SHARE },
    };
    report_table *const t =
        report_table_begin(a->s, key, title, columns, TOPIC_COUNT(columns));
    for (size_t i = 0; i < rows->count; i++)
        stats_row_put(a->job, t, columns, TOPIC_COUNT(columns), &rows->rows[i],
                      a->all.total_ns);
}

static void put_longest(const copies_topic *a)
{
    static const report_column columns[] = {
        { "start_ns", "start", REPORT_TIME },
        { "duration_ns", "time", REPORT_NS },
        { "bytes", "size", REPORT_BYTES },
        { "rate", "rate", REPORT_RATE },
        { "name", "copy", REPORT_TEXT },
        { "track", "on", REPORT_TEXT },
    };
    report_table *const t = report_table_begin(
        a->s, "longest", "The longest copies", columns, TOPIC_COUNT(columns));
    for (size_t i = 0; i < a->c.longest_count; i++) {
        const copies_one *const c = &a->c.longest[i];
        const int64_t start =
            stats_sum(c->start_ns, analyze_offset(a->job, c->file));
        const report_value row[] = {
            report_time(start),
            report_ns(c->ns),
            report_bytes(c->size),
            c->size ? report_rate(c->size, c->ns) : report_unknown(REPORT_RATE),
            report_text(copies_one_text(&a->c, c)),
            report_text(analyze_track(a->job, c->file, c->track)),
        };
        const report_evidence e =
            report_from_to(c->file, start, stats_sum(start, c->ns));
        report_row(t, row, &e);
    }
    report_rows_of(t, a->c.single_count);
}

static void answer(const copies_topic *a)
{
    const stats_row *const most = &a->c.kinds.rows[0];
    const copies *const c = &a->c;
    report_answer(
        a->s, "%s moved %s in %s, %s of that time %.*s",
        cli_counted(a->all.count, "copy or memset", "copies and memsets").s,
        cli_bytes(a->all.bytes).s, cli_time(a->all.total_ns).s,
        report_words(report_share(most->sum.total_ns, a->all.total_ns)).s,
        TOPIC_TEXT(most->text));
    report_answer(a->s, most->sum.bytes ? "(at %s)." : "(size not known).",
                  report_words(stats_rate(&most->sum)).s);
    if (c->pageable.count && c->pinned.count)
        report_answer(a->s, "Pageable memory is copied at %s, pinned at %s.",
                      report_words(stats_rate(&c->pageable)).s,
                      report_words(stats_rate(&c->pinned)).s);
    else if (c->pageable.count)
        report_answer(a->s, "All copies between host and device with known "
                            "memory kinds use pageable memory.");
}

static void put_figures(const copies_topic *a)
{
    const copies *const c = &a->c;
    report_figure(a->s, "count", "copies and memsets",
                  report_count(a->all.count));
    report_figure(a->s, "bytes", "moved", report_bytes(a->all.bytes));
    report_figure(a->s, "total_ns", "total time", report_ns(a->all.total_ns));
    report_figure(a->s, "pageable_bytes", "of pageable host memory",
                  report_bytes(c->pageable.bytes));
    report_figure(a->s, "pageable_rate", "at", stats_rate(&c->pageable));
    report_figure(a->s, "pinned_bytes", "of pinned host memory",
                  report_bytes(c->pinned.bytes));
    report_figure(a->s, "pinned_rate", "at", stats_rate(&c->pinned));
    report_trust(a->s, REPORT_HIGH,
                 "all recorded copies are included; a rate is the total size "
                 "divided by the total duration");
}

static bool fill(analyze_job *job, report *r)
{
    copies_topic a = { .job = job };
    a.s = report_begin(r, "copies", "Copies");
    const bool ok = copies_open(&a.c, job, true) &&
                    copies_find_longest(&a.c, job->options.rows);
    if (ok) a.all = stats_rows_sum(&a.c.kinds);
    if (ok && !a.all.count) {
        report_not_applicable(a.s, "The trace contains no copy: none was made, "
                                   "or copies were not recorded.");
    } else if (ok) {
        answer(&a);
        put_figures(&a);
        put_rows(&a, &a.c.kinds, "kinds", "By kind");
        put_rows(&a, &a.c.memories, "memories", "By kind and memory");
        put_rows(&a, &a.c.sizes, "sizes", "By kind and size");
        put_longest(&a);
    }
    copies_close(&a.c);
    return ok;
}

const analyze_topic topic_copies = {
    .name = "copies",
    .title = "Copies",
    .help =
        "copies by kind, memory and size; rates of pageable and pinned memory",
    .fill = fill,
};
