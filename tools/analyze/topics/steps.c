/*
    steps.c - steps, their durations, and which are slow
*/
#include "tools/analyze/figures/base/wording.h"
#include "tools/analyze/figures/time/steps.h"

typedef struct steps_topic {
    analyze_job *job;
    report_section *s;
    ts_replay *replay;
    ts_timeline *timeline;
    names_index names;
    steps_result r;
} steps_topic;

static size_t count_slow(const steps_result *r)
{
    size_t slow = 0;
    for (size_t i = 0; i < r->count; i++)
        slow += r->steps[i].slow;
    return slow;
}

static int64_t length_of(const steps_step *s)
{
    return s->end_ns - s->start_ns;
}

// Returns why a slow step is slow.
static ts_text excess_of(const steps_topic *a, const steps_step *s)
{
    const steps_excess *const e = &s->excess;
    if (e->idle_ns <= 0 && e->work_ns <= 0) return (ts_text){ "", 0 };
    if (e->idle_ns >= e->work_ns)
        return analyze_format(a->job, "+%s idle, %s", cli_time(e->idle_ns).s,
                              ts_idle_name(e->cause));
    const ts_text name =
        topic_brief(a->job, topic_group(a->job, &a->names, e->group));
    return analyze_format(a->job, "+%s in %.*s", cli_time(e->work_ns).s,
                          TOPIC_TEXT(name));
}

static void answer(const steps_topic *a)
{
    const steps_result *const r = &a->r;
    const size_t slow = count_slow(r);
    size_t worst = 0;
    for (size_t i = 1; i < r->count; i++)
        if (length_of(&r->steps[i]) > length_of(&r->steps[worst])) worst = i;
    report_answer(
        a->s, "%s iterations of %s in the median (median distance %s), %s.",
        cli_count(r->count).s, cli_time(r->median_ns).s,
        cli_time(r->deviation_ns).s,
        slow ? cli_format("%zu of them slow", slow).s : "none of them slow");
    if (!slow) return;
    const ts_text why = excess_of(a, &r->steps[worst]);
    report_answer(a->s, "The slowest is %s with %s: %.*s.",
                  steps_words(&r->steps[worst]).s,
                  cli_time(length_of(&r->steps[worst])).s, TOPIC_TEXT(why));
}

static cli_text marked_words(uint64_t count)
{
    return cli_counted(count, "step is marked", "steps are marked");
}

static void not_applicable(const steps_topic *a)
{
    if (a->r.few)
        report_not_applicable(a->s,
                              "Only %s, but at least three are needed; no "
                              "other repetition was found. Record more steps.",
                              marked_words(a->r.few).s);
    else
        report_not_applicable(
            a->s, "The trace contains no marked steps, and no repetition was "
                  "found; mark steps with frames, or with zones named "
                  "ProfilerStep#N.");
}

// Returns the time outside all steps.
static int64_t outside_of(const steps_topic *a)
{
    return a->replay ? ts_replay_result(a->replay)->end_ns -
                           ts_replay_result(a->replay)->start_ns - a->r.sum_ns
                     : 0;
}

// Lowers the confidence if the found steps cover a small part of the run.
static void trust_outside(const steps_topic *a)
{
    const int64_t outside = outside_of(a), whole = outside + a->r.sum_ns;
    if (outside * 10 > whole)
        report_trust(a->s, outside * 2 > whole ? REPORT_LOW : REPORT_MEDIUM,
                     "%s of %s is outside of the steps", cli_time(outside).s,
                     cli_time(whole).s);
}

static bool clocks_differ(analyze_job *job)
{
    for (uint32_t i = 1; i < job->file_count; i++)
        if (analyze_offset(job, i) != analyze_offset(job, 0)) return true;
    return false;
}

static void put_how(const steps_topic *a)
{
    const steps_result *const r = &a->r;
    if (r->marked) {
        report_trust(a->s, REPORT_HIGH, "the trace marks its steps");
        if (clocks_differ(a->job))
            report_trust(a->s, REPORT_MEDIUM,
                         "operations of the other files are assigned to steps "
                         "by their time, which depends on the alignment of "
                         "clocks");
        if (r->left_out)
            report_note(a->s,
                        "%s of %s marked steps are not included: none of their "
                        "operations ended after those of the previous step.",
                        cli_count(r->left_out).s,
                        cli_count(r->left_out + r->count).s);
        return;
    }
    if (r->few)
        report_note(a->s, "%s, which is too few: at least three are needed.",
                    marked_words(r->few).s);
    const ts_text stream = analyze_track(a->job, r->file, r->stream);
    report_note(a->s,
                "The detected steps are the outermost loop that repeats in the "
                "trace: iterations, or the layers of a single one.");
    trust_outside(a);
    report_trust(a->s, r->likeness >= 950 ? REPORT_HIGH : REPORT_MEDIUM,
                 "%s; detected by repetition on %.*s: %s each, of which %s are "
                 "equal in the median",
                 r->few ? marked_words(r->few).s : "steps are not marked",
                 TOPIC_TEXT(stream),
                 cli_counted(r->length, "operation", "operations").s,
                 report_words(report_share(r->likeness, 1000)).s);
}

static void put_figures(const steps_topic *a)
{
    const steps_result *const r = &a->r;
    report_figure(a->s, "count", "steps", report_count(r->count));
    report_figure(a->s, "left_out", "marked, but not included",
                  report_count(r->left_out));
    report_figure(a->s, "marked", "marked by the trace",
                  report_string(r->marked ? "yes" : "no"));
    report_figure(a->s, "min_ns", "shortest", report_ns(r->min_ns));
    report_figure(a->s, "median_ns", "median", report_ns(r->median_ns));
    report_figure(a->s, "mean_ns", "mean",
                  report_ns(r->sum_ns / (int64_t)r->count));
    report_figure(a->s, "max_ns", "longest", report_ns(r->max_ns));
    report_figure(a->s, "deviation_ns", "median distance from the median",
                  report_ns(r->deviation_ns));
    report_figure(a->s, "limit_ns", "slow if longer by",
                  report_ns(r->limit_ns));
    report_figure(a->s, "outside_ns", "outside of steps",
                  report_ns(outside_of(a)));
}

static void put_steps(const steps_topic *a, bool slow)
{
    static const report_column columns[] = {
        { "number", "number", REPORT_COUNT },
        { "start_ns", "start", REPORT_TIME },
        { "duration_ns", "length", REPORT_NS },
        { "note", "note", REPORT_TEXT },
        { "change", "of median", REPORT_SHARE },
        { "busy", "busy", REPORT_SHARE },
        { "operations", "operations", REPORT_COUNT }
    };
    const steps_result *const r = &a->r;
    report_table *const t =
        slow ? report_table_begin(a->s, "slow", "Slow ones", columns,
                                  TOPIC_COUNT(columns))
             : report_table_begin(a->s, "steps", "All", columns,
                                  TOPIC_COUNT(columns));
    for (size_t i = 0; i < r->count; i++) {
        const steps_step *const s = &r->steps[i];
        if (slow && !s->slow) continue;
        const ts_text note = s->slow   ? excess_of(a, s)
                             : s->fast ? report_string("fast").text
                                       : s->name;
        const report_value row[] = { report_count(s->number),
                                     report_time(s->start_ns),
                                     report_ns(length_of(s)),
                                     report_text(note),
                                     report_share(length_of(s), r->median_ns),
                                     report_share(s->busy_ns, length_of(s)),
                                     report_count(s->operations),
                                     report_text(note) };
        const report_evidence e =
            report_from_to(r->file, s->start_ns, s->end_ns);
        report_row(t, row, &e);
    }
}

static void put_chart(const steps_topic *a)
{
    report_chart *const c = report_series_begin(
        a->s, "lengths", "Distribution of durations", REPORT_NS);
    const uint32_t line = report_series_line(c, report_string("length").text);
    for (size_t i = 0; i < a->r.count; i++)
        report_series_add(c, line, a->r.steps[i].start_ns,
                          length_of(&a->r.steps[i]));
}

// Adds a chart of the time of all steps by cause, busy time first.
static void put_causes(const steps_topic *a)
{
    static const report_column columns[] = {
        { "what", "time of the device", REPORT_TEXT },
        { "median_ns", "median step", REPORT_NS },
        { "share", "of it", REPORT_SHARE },
        { "max_ns", "most in a step", REPORT_NS }
    };
    const steps_result *const r = &a->r;
    int64_t *const values = malloc(r->count * sizeof *values);
    report_table *const t =
        report_table_begin(a->s, "causes", "Breakdown of the median step",
                           columns, TOPIC_COUNT(columns));
    for (int c = -1; values && c < TS_IDLE_LIMIT; c++) {
        for (size_t i = 0; i < r->count; i++)
            values[i] = c < 0 ? r->steps[i].busy_ns : r->steps[i].cause_ns[c];
        cli_sort_numbers(values, r->count);
        const int64_t middle = sums_quantile(values, r->count, 500);
        if (!values[r->count - 1]) continue;
        const report_value row[] = {
            report_string(c < 0 ? "busy" : ts_idle_name((uint32_t)c)),
            report_ns(middle), report_share(middle, r->median_ns),
            report_ns(values[r->count - 1])
        };
        report_row(t, row, NULL);
    }
    free(values);
}

static bool fill(analyze_job *job, report *r)
{
    steps_topic a = { .job = job };
    a.s = topic_begin(job, r, "steps", "Iterations", &a.replay, &a.timeline);
    if (!a.s) return true;
    const bool ok = names_of_job(&a.names, job) &&
                    steps_open(&a.r, a.replay, a.timeline, &a.names);
    if (ok && !a.r.count) {
        not_applicable(&a);
    } else if (ok) {
        answer(&a);
        put_how(&a);
        put_figures(&a);
        if (count_slow(&a.r)) put_steps(&a, true);
        put_causes(&a);
        put_steps(&a, false);
        put_chart(&a);
    }
    steps_close(&a.r);
    names_close(&a.names);
    return ok;
}

const analyze_topic topic_steps = {
    "steps", "Iterations",
    "iterations, marked or detected: durations, slow ones, causes", fill, NULL
};
