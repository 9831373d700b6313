/*
    topic.c - the advice topic: what to change first
*/
#include "tools/analyze/advice/advice.h"
#include "tools/analyze/figures/base/wording.h"

static size_t rule_count(void)
{
    size_t count = 0;
    while (advice_rules[count].id)
        count++;
    return count;
}

// Adds the current thresholds of a rule.
static void put_limits(const advice *a, const advice_finding *f,
                       report_finding *to)
{
    const size_t size = strlen(f->rule->id);
    for (const analyze_setting *s = advice_settings; s->key; s++) {
        if (strncmp(s->key, f->rule->id, size) || s->key[size] != '.' ||
            to->limit_count == REPORT_LIMITS)
            continue;
        report_limit *const limit = &to->limits[to->limit_count++];
        const int64_t value = analyze_set(a->job, s->key);
        limit->key = s->key;
        limit->value = analyze_setting_value(s, value);
    }
}

static report_severity severity_of(const advice *a, const advice_finding *f)
{
    if (!f->has_gain || f->trust) return f->severity;
    if (f->assumed) return REPORT_INFO;
    return f->gain_ns >= a->makespan_ns / 10   ? REPORT_SEVERE
           : f->gain_ns >= a->makespan_ns / 50 ? REPORT_WARNING
                                               : REPORT_INFO;
}

static ts_text how_of(const advice *a, const advice_finding *f)
{
    if (f->has_gain || (!f->never_ran && !f->change_count && !f->durations_ns))
        return f->how;
    if (f->never_ran)
        return analyze_format(a->job,
                              "no gain computed: operations wait for each "
                              "other in a cycle in the %s",
                              f->how.text);
    return analyze_format(a->job,
                          "no gain computed because advice.runs is exhausted; "
                          "it is at most %s: %s",
                          cli_time(f->at_most_ns).s, f->how.text);
}

static void put_finding(const advice *a, report_section *s,
                        const advice_finding *f)
{
    report_finding to = { .id = f->rule->id,
                          .title = f->title.text,
                          .severity = severity_of(a, f),
                          .confidence = f->confidence,
                          .what = f->what,
                          .todo = f->todo,
                          .how = how_of(a, f),
                          .has_gain = f->has_gain,
                          .gain_ns = f->gain_ns,
                          .of_ns = a->makespan_ns,
                          .evidence = f->evidence };
    put_limits(a, f, &to);
    report_finding_add(s, &to);
}

// Whether the path is on the host only because the host waits there.
static bool host_waits(const advice *a)
{
    if (a->bound != TS_COST_HOST) return false;
    for (size_t i = 0; i < a->dropped_count; i++)
        if (a->dropped[i].waits &&
            !strcmp(a->dropped[i].rule->id, "host-bound"))
            return true;
    return false;
}

// Reports dropped findings, which need no action: one line as text, rows in
// JSON.
static void put_dropped(const advice *a, report_section *s)
{
    static const report_column columns[] = {
        { "rule", "rule", REPORT_TEXT },
        { "title", "what", REPORT_TEXT },
        { "gain_ns", "gain", REPORT_NS },
        { "at_most_ns", "at most", REPORT_NS },
        { "why", "why", REPORT_TEXT },
    };
    ts_text line = { "", 0 };
    if (!a->dropped_count) return;
    report_table *const t =
        report_table_begin(s, "left_out", "Omitted findings", columns,
                           sizeof columns / sizeof *columns);
    report_table_data(t);
    for (size_t i = 0; i < a->dropped_count; i++) {
        const advice_dropped *const d = &a->dropped[i];
        const report_value ns = report_ns(d->gain_ns > 0 ? d->gain_ns : 0);
        const report_value unknown = report_unknown(REPORT_NS);
        const report_value row[] = {
            report_string(d->rule->id), report_text(d->title),
            d->has_gain ? ns : unknown, d->has_gain ? unknown : ns,
            report_string(d->waits ? "the host only waits there"
                                   : "gain below advice.min-gain")
        };
        report_row(t, row, NULL);
        line = analyze_format(a->job, "%s%s%s %s%s%s", line.text,
                              line.size ? ", " : "", d->rule->id,
                              d->has_gain ? "" : "at most ", report_words(ns).s,
                              d->waits ? " (it only waits)" : "");
    }
    report_note(s, "Omitted because the gain is small: %s.", line.text);
}

static void put_answer(const advice *a, report_section *s)
{
    size_t gains = 0, others = 0, trust = 0;
    for (size_t i = 0; i < a->finding_count; i++) {
        const advice_finding *const f = &a->findings[i];
        if (f->trust)
            trust++;
        else if (f->has_gain)
            gains++;
        else
            others++;
    }
    const size_t rules = rule_count();
    if (!a->finding_count) {
        report_answer(s, "No finding: none of %s rules applies.",
                      cli_count(rules).s);
    } else if (gains) {
        const advice_finding *const first = &a->findings[0];
        report_answer(s, "First: %s (%s), up to %s of %s%s.", first->title.text,
                      first->rule->id, cli_time(first->gain_ns).s,
                      cli_time(a->makespan_ns).s,
                      first->assumed ? ", if the assumption holds" : "");
    } else {
        report_answer(s, "No finding would save time.");
    }
    if (gains > 1)
        report_answer(s, "Gains cannot be added, because findings "
                         "overlap.");
    const report_value share =
        report_share(a->cost_ns[a->bound], a->recorded_ns);
    if (a->stuck)
        report_answer(s, "Operations wait for each other in a cycle, so that "
                         "no gain can be computed.");
    else if (host_waits(a))
        report_answer(s,
                      "The critical path is on the host (%s), but a faster "
                      "host would save little: most of this time is waiting.",
                      report_words(share).s);
    else
        report_answer(s, "The run is bound by %s (%s of the critical path).",
                      ts_cost_name(a->bound), report_words(share).s);
    report_figure(s, "makespan_ns", "run, as modelled",
                  report_ns(a->makespan_ns));
    report_figure(s, "rules", "rules", report_count(rules));
    report_figure(s, "findings", "findings", report_count(a->finding_count));
    report_figure(s, "with_gain", "with a gain", report_count(gains));
    report_figure(s, "without_gain", "without", report_count(others));
    report_figure(s, "about_the_trace", "about the trace", report_count(trust));
    report_figure(s, "too_small", "omitted, gain too small",
                  report_count(a->dropped_count));
    report_figure(s, "model_runs", "what-if replays", report_count(a->runs));
}

static void put_trust(const advice *a, report_section *s)
{
    const ts_replay_stats *const stats = ts_replay_result(a->replay);
    const ts_timeline_figures *const t = ts_timeline_total(a->timeline);
    const int64_t error = a->makespan_ns - a->recorded_ns;
    if (a->stuck)
        report_trust(s, REPORT_LOW, "the model does not run to the end");
    else
        report_trust(s,
                     error > a->recorded_ns / 100 ||
                             -error > a->recorded_ns / 100
                         ? REPORT_LOW
                         : REPORT_HIGH,
                     "the unchanged model takes %s, the record %s",
                     cli_time(a->makespan_ns).s, cli_time(a->recorded_ns).s);
    if (t->idle_ns > 0 && (t->inferred_ns + t->unexplained_ns) * 2 > t->idle_ns)
        report_trust(s, REPORT_LOW,
                     "most of the idle time has no recorded cause");
    else if (t->idle_ns > 0 &&
             (t->inferred_ns + t->unexplained_ns) * 10 > t->idle_ns)
        report_trust(s, REPORT_MEDIUM,
                     "some of the idle time has no recorded cause");
    for (size_t i = 0; i < a->finding_count; i++)
        if (a->findings[i].trust && !a->findings[i].has_gain)
            report_trust(s, REPORT_LOW, "%s (%s)", a->findings[i].title.text,
                         a->findings[i].rule->id);
    topic_trust_threads(s, stats);
    topic_trust_ranks(s, a->replay, a->cost_ns[TS_COST_COMMUNICATION]);
    if (a->unrun)
        report_note(s, "%s no computed gain: advice.runs (%s) is exhausted.",
                    cli_counted(a->unrun, "finding has", "findings have").s,
                    cli_count(a->runs).s);
}

static bool fill(analyze_job *job, report *r)
{
    report_section *const s = report_begin(r, "advice", "Advice");
    if (!analyze_timeline(job)) {
        report_not_applicable(s, "No advice: %s.", analyze_why(job));
        return true;
    }
    advice a;
    bool ok = advice_open(&a, job);
    for (const advice_rule *rule = advice_rules; ok && rule->id; rule++) {
        rule->check(&a, rule);
        ok = !a.failed;
    }
    if (ok) advice_run(&a);
    ok = ok && !a.failed;
    if (ok) {
        put_answer(&a, s);
        for (size_t i = 0; i < a.finding_count; i++)
            put_finding(&a, s, &a.findings[i]);
        put_dropped(&a, s);
        put_trust(&a, s);
    }
    advice_close(&a);
    return ok;
}

const analyze_topic topic_advice = {
    .name = "advice",
    .title = "Advice",
    .help = "what to improve first, and the expected gain",
    .fill = fill,
    .settings = advice_settings,
};
