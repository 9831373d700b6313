/*
    samples.c - where the samples of a profile were: functions and call stacks
*/
#include "tools/analyze/figures/base/wording.h"
#include "tools/analyze/figures/operations/samples.h"
#include "tools/analyze/topics/flame.h"

static ts_text type_text(analyze_job *job, const samples_type *t)
{
    static const ts_text plain = { "samples", 7 };
    if (!t->name.size) return t->unit.size ? t->unit : plain;
    return analyze_name(job, t->name);
}

static int64_t total_of(const samples_type *t)
{
    const double total = t->total * (double)samples_parts(t);
    return total < 9e18 ? (int64_t)(total + 0.5) : INT64_MAX;
}

static report_value weight_of(const samples_type *t, int64_t parts)
{
    return samples_parts(t) == 1 ? report_number(t->shown, parts, 0)
                                 : report_factor(parts, samples_parts(t));
}

static void put_types(analyze_job *job, const samples *s, report_section *to)
{
    static const report_column columns[] = {
        { "type", "type", REPORT_TEXT },
        { "unit", "unit", REPORT_TEXT },
        { "samples", "samples", REPORT_COUNT },
        { "total", "total", REPORT_COUNT },
    };
    report_table *const table =
        report_table_begin(to, "types", "What is sampled", columns, 4);
    for (size_t i = 0; i < s->type_count; i++) {
        const samples_type *const t = &s->types[i];
        const report_value row[] = {
            report_text(type_text(job, t)),
            t->unit.size ? report_text(t->unit) : report_unknown(REPORT_TEXT),
            report_count(t->count),
            weight_of(t, total_of(t)),
        };
        report_row(table, row, NULL);
    }
}

static report_table *begin_functions(report_section *to, const char *key,
                                     const char *title)
{
    static const report_column columns[] = {
        { "type", "type", REPORT_TEXT },
        { "function", "function", REPORT_TEXT },
        { "self", "self", REPORT_COUNT },
        { "self_share", "share", REPORT_SHARE },
        { "total", "total", REPORT_COUNT },
        { "total_share", "share", REPORT_SHARE },
    };
    return report_table_begin(to, key, title, columns, TOPIC_COUNT(columns));
}

static void put_function(analyze_job *job, const samples *s,
                         const samples_type *t, const samples_function *f,
                         report_table *table)
{
    const report_value row[] = {
        report_text(type_text(job, t)), report_text(s->paths.names[f->name]),
        weight_of(t, f->self),          report_share(f->self, total_of(t)),
        weight_of(t, f->total),         report_share(f->total, total_of(t)),
    };
    report_row(table, row, NULL);
}

static void put_answer(analyze_job *job, const samples *s,
                       const samples_type *t, const samples_function *first,
                       report_section *to)
{
    const ts_text name = s->paths.names[first->name], type = type_text(job, t);
    const report_value self = report_share(first->self, total_of(t));
    report_answer(to, "%s of %.*s in %s, %s of it in %.*s itself.",
                  report_words(weight_of(t, total_of(t))).s,
                  (int)(type.size < 80 ? type.size : 80), type.text,
                  cli_counted(t->count, "sample", "samples").s,
                  report_words(self).s,
                  (int)(name.size < 120 ? name.size : 120), name.text);
}

static void put_trust(const samples *s, const samples_type *t,
                      report_section *to)
{
    if (t->without_stack)
        report_trust(to, REPORT_MEDIUM, "%s of %s without a call stack",
                     cli_count(t->without_stack).s,
                     cli_counted(t->count, "sample", "samples").s);
    if (s->left_out)
        report_trust(to, REPORT_MEDIUM, "%s of further types left out",
                     cli_counted(s->left_out, "sample", "samples").s);
    if (s->paths.cut)
        report_trust(to, REPORT_MEDIUM,
                     "%s nested too deeply to be distinguished",
                     cli_counted(s->paths.cut, "function", "functions").s);
    report_trust(to, REPORT_HIGH, "all %s counted",
                 cli_counted(s->count, "sample is", "samples are").s);
}

// The functions of the main type, or the first --top ones of another type.
static bool put_functions(analyze_job *job, samples *s, const samples_type *t,
                          bool main, report_section *to, report_table *table)
{
    samples_function *list;
    size_t count;
    samples_weigh(s, t);
    const bool ok = samples_functions(s, &list, &count);
    if (ok && main && !count) report_answer(to, "The samples have no weight.");
    if (ok && main && count) put_answer(job, s, t, &list[0], to);
    const size_t most =
        main ? (size_t)job->options.rows : (size_t)job->options.top;
    for (size_t i = 0; ok && i < count && i < most; i++)
        put_function(job, s, t, &list[i], table);
    if (main) report_rows_of(table, count);
    free(list);
    return ok;
}

static bool put_main(analyze_job *job, samples *s, const samples_type *t,
                     report_section *to)
{
    flame_tree tree = { 0 };
    report_table *const table =
        begin_functions(to, "functions", "Functions by their own samples");
    const bool ok = put_functions(job, s, t, true, to, table) &&
                    flame_open(&tree, &s->paths) &&
                    flame_chart(job, &tree, to, "samples",
                                samples_parts(t) == 1
                                    ? "Samples by call stack"
                                    : "Samples by call stack, in millionths",
                                t->shown);
    flame_close(&tree);
    return ok;
}

static bool put_others(analyze_job *job, samples *s, const samples_type *main,
                       report_section *to)
{
    report_table *const table =
        begin_functions(to, "other_functions",
                        "The same for the other types, the first of "
                        "each");
    for (size_t i = 0; i < s->type_count; i++)
        if (&s->types[i] != main &&
            !put_functions(job, s, &s->types[i], false, to, table))
            return false;
    return true;
}

static bool fill(analyze_job *job, report *r)
{
    report_section *const to = report_begin(r, "samples", "Samples");
    samples s;
    bool ok = samples_open(&s, job);
    const samples_type *const main = samples_main(&s);
    if (ok && !main)
        report_not_applicable(to, "The trace contains no samples of a "
                                  "profile; ts-import reads profiles.");
    if (ok && main) {
        report_figure(to, "samples", "samples", report_count(s.count));
        put_types(job, &s, to);
        put_trust(&s, main, to);
        ok = put_main(job, &s, main, to) &&
             (s.type_count == 1 || put_others(job, &s, main, to));
    }
    samples_close(&s);
    return ok;
}

const analyze_topic topic_samples = {
    .name = "samples",
    .title = "Samples",
    .help = "functions by the samples of a profile: self and total",
    .fill = fill,
};
