/*
    patterns.c - repeated sequences of small kernels, candidates for fusion
*/
#include "tools/analyze/figures/base/wording.h"
#include "tools/analyze/figures/time/patterns.h"

enum { MODELS_MOST = 16 };

typedef struct patterns_topic {
    analyze_job *job;
    report_section *s;
    ts_replay *replay;
    names_index names;
    patterns_result r;
    model_figures model, fused[MODELS_MOST];
    size_t modelled;
} patterns_topic;

static const analyze_setting settings[] = {
    { "patterns.small", "maximum duration of a kernel worth fusing", REPORT_NS,
      10000 },
    { "patterns.models",
      "number of patterns whose gain is computed (at most "
      "16)",
      REPORT_COUNT, 5 },
    { 0 }
};

// Returns the names of the kernels: "a, b, c (2 more)"; a repeated name is "a x
// 3".
static ts_text kernels_of(const patterns_topic *a, const patterns_pattern *p)
{
    enum { SHOWN = 4 };
    ts_text text = { "", 0 };
    size_t shown = 0;
    for (size_t i = 0; i < p->length;) {
        size_t end = i + 1;
        while (end < p->length && p->names[end] == p->names[i])
            end++;
        if (shown++ == SHOWN)
            return analyze_format(a->job, "%.*s and %zu more", TOPIC_TEXT(text),
                                  p->length - i);
        const ts_text name =
            topic_brief(a->job, topic_group(a->job, &a->names, p->names[i]));
        text = analyze_format(a->job, "%.*s%s%.*s", TOPIC_TEXT(text),
                              i ? ", " : "", TOPIC_TEXT(name));
        if (end - i > 1)
            text =
                analyze_format(a->job, "%.*s x %zu", TOPIC_TEXT(text), end - i);
        i = end;
    }
    return text;
}

static bool model_gains(patterns_topic *a)
{
    const int64_t most = analyze_set(a->job, "patterns.models");
    ts_replay *const model = most > 0 ? analyze_model(a->job) : NULL;
    bool ok = !model || model_unchanged(a->job, &a->model);
    while (ok && model && a->model.known && a->modelled < a->r.count &&
           a->modelled < MODELS_MOST && (int64_t)a->modelled < most) {
        const size_t i = a->modelled++;
        ok = patterns_fuse(&a->r, &a->r.list[i], model, &a->fused[i]);
    }
    return ok;
}

static int64_t gain_of(const patterns_topic *a, size_t pattern)
{
    return model_gain(&a->model, &a->fused[pattern]);
}

static void answer(const patterns_topic *a)
{
    const patterns_result *const r = &a->r;
    const ts_replay_stats *const s = ts_replay_result(a->replay);
    size_t best = SIZE_MAX;
    const cli_text small = cli_time(analyze_set(a->job, "patterns.small"));
    if (!r->count) {
        report_answer(a->s,
                      "No sequence of kernels below %s occurs %d times or "
                      "more.",
                      small.s, PATTERNS_LEAST);
        return;
    }
    report_answer(
        a->s, "%s of the %s below %s occur in %s sequence%s.",
        report_words(report_share((int64_t)r->covered, (int64_t)r->small)).s,
        cli_counted(r->small, "kernel", "kernels").s, small.s,
        cli_count(r->count).s,
        r->count == 1 ? " that repeats" : "s that repeat");
    for (size_t i = 0; i < a->modelled; i++)
        if (a->fused[i].known &&
            (best == SIZE_MAX || gain_of(a, i) > gain_of(a, best)))
            best = i;
    if (best == SIZE_MAX) return;
    if (gain_of(a, best) > (s->end_ns - s->start_ns) / 500) {
        const patterns_pattern *const p = &r->list[best];
        const ts_text first =
            topic_brief(a->job, topic_group(a->job, &a->names, p->names[0]));
        report_answer(
            a->s,
            "Fusing the %zu kernels that begin with %.*s, which occur %s "
            "times, would save %s (%s of the run).",
            p->length, TOPIC_TEXT(first), cli_count(p->count).s,
            cli_time(gain_of(a, best)).s,
            report_words(
                report_share(gain_of(a, best), s->end_ns - s->start_ns))
                .s);
    } else if (gain_of(a, best) > 0) {
        report_answer(a->s, "Fusing one of them would save at most %s.",
                      cli_time(gain_of(a, best)).s);
    } else {
        report_answer(a->s, "Fusing one of them would save no time.");
    }
}

static void put_table(const patterns_topic *a)
{
    static const report_column columns[] = {
        { "kernels", "kernels", REPORT_TEXT },
        { "length", "length", REPORT_COUNT },
        { "count", "times", REPORT_COUNT },
        { "work_ns", "kernels", REPORT_NS },
        { "between_ns", "between them", REPORT_NS },
        { "calls_ns", "calls saved", REPORT_NS },
        { "gain_ns", "gain", REPORT_NS }
    };
    report_table *const t = report_table_begin(
        a->s, "patterns", "Repeated sequences", columns, TOPIC_COUNT(columns));
    for (size_t i = 0; i < a->r.count && i < a->job->options.rows; i++) {
        const patterns_pattern *const p = &a->r.list[i];
        const report_value row[] = { report_text(kernels_of(a, p)),
                                     report_count(p->length),
                                     report_count(p->count),
                                     report_ns(p->work_ns),
                                     report_ns(p->between_ns),
                                     report_ns(p->calls_ns),
                                     i < a->modelled && a->fused[i].known
                                         ? report_ns(gain_of(a, i))
                                         : report_unknown(REPORT_NS) };
        const report_evidence e = topic_evidence(a->replay, p->operations[0]);
        report_row(t, row, &e);
    }
    report_rows_of(t, a->r.count);
}

static bool fill(analyze_job *job, report *r)
{
    patterns_topic a = { .job = job };
    a.s = topic_begin(job, r, "patterns", "Patterns", &a.replay, NULL);
    if (!a.s) return true;
    const bool ok = names_of_job(&a.names, job) &&
                    patterns_open(&a.r, a.replay, &a.names,
                                  analyze_set(job, "patterns.small")) &&
                    model_gains(&a);
    if (ok && !a.r.kernels)
        report_not_applicable(a.s, "The trace contains no kernel.");
    else if (ok) {
        answer(&a);
        report_figure(a.s, "kernels", "kernels", report_count(a.r.kernels));
        report_figure(a.s, "small", "small ones", report_count(a.r.small));
        report_figure(a.s, "covered", "in repeated sequences",
                      report_count(a.r.covered));
        if (a.r.count) {
            report_trust(
                a.s, REPORT_MEDIUM,
                "gains are computed by a model in which only the first kernel "
                "is launched and the others follow without a gap, with "
                "unchanged host work between the calls; whether the kernels "
                "can be fused is not checked");
            put_table(&a);
        }
    }
    patterns_close(&a.r);
    names_close(&a.names);
    return ok;
}

const analyze_topic topic_patterns = {
    "patterns", "Patterns",
    "repeated sequences of small kernels: the gain of fusing", fill, settings
};
