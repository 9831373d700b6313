/*
    analysis.c - ts_analysis: why a program is slow
*/
#include "tools/analyze/advice/advice.h"
#include "tools/analyze/output/output.h"
#include "tools/analyze/report/parts.h"
#include "tools/analyze/topics/flame.h"
#include "tools/api/call.h"
#include "tools/common/select/select.h"

static const cli_tool tool = { .name = "ts-analyze" };

struct ts_analysis {
    api_texts texts;
    char **paths, **all_settings, **all_flops;
    cli_list settings, flops;
    const char *only;
    bool no_symbols;
    ts_observer observer;
    analyze_job job;
    report *report; // NULL: not computed yet
};

/* ---- Opening ------------------------------------------------------------- */

static bool take_list(cli_list *list, char *const *items, size_t count)
{
    if (count > CLI_LIST_MOST)
        return api_refuse(&tool, "at most 64 settings and 64 flops expressions "
                                 "are allowed");
    for (size_t i = 0; i < count; i++)
        list->items[i] = items[i];
    list->count = count;
    return true;
}

static int64_t rows(int64_t given, int64_t normal)
{
    return given < 0 ? 0 : given ? given : normal;
}

// Copies the desc, including its texts.
static bool take_desc(ts_analysis *a, const ts_analysis_desc *desc)
{
    api_texts *const t = &a->texts;
    a->paths = api_keep_all(t, desc->paths, desc->path_count);
    a->all_settings = api_keep_all(t, desc->settings, desc->setting_count);
    a->all_flops = api_keep_all(t, desc->flops, desc->flops_count);
    a->only = api_keep(t, desc->only);
    a->no_symbols = desc->no_symbols;
    a->observer = desc->observer;
    a->job = (analyze_job){
        .tool = &tool,
        .options = { .top = (uint64_t)rows(desc->top, 10),
                     .rows = (uint64_t)rows(desc->rows, 1000),
                     .sort = api_keep(t, desc->sort),
                     .collapse = desc->collapse,
                     .no_demangle = desc->mangled,
                     .sets = &a->settings,
                     .flops = &a->flops,
                     .selected = api_keep(t, select_words()) },
    };
    if (t->failed) return cli_out_of_memory(&tool);
    return take_list(&a->settings, a->all_settings, desc->setting_count) &&
           take_list(&a->flops, a->all_flops, desc->flops_count);
}

static bool open_files(ts_analysis *a, api_call *call, size_t path_count)
{
    uint32_t count = (uint32_t)path_count;
    if (!select_check(&tool) || !analyze_only_check(&tool, a->only) ||
        !analyze_files_check(&tool, a->paths, path_count) ||
        !analyze_flops_check(&tool, &a->flops) ||
        !cli_inputs_check(&tool, (const char *const *)a->paths, path_count))
        return false;
    call->fallback = TS_ERR_NOT_FOUND;
    if (!select_files(&tool, a->paths, &count)) return false;
    select_install();
    const bool opened = analyze_open(&a->job, a->paths, count);
    if (a->job.wrong_usage) call->fallback = TS_ERR_USAGE;
    return opened;
}

ts_result ts_analysis_open(ts_analysis **analysis, const ts_analysis_desc *desc,
                           ts_error *error)
{
    api_call call;
    *analysis = NULL;
    bool ok = api_begin(&call, &desc->observer, desc->selection, error);
    if (ok && (!desc->path_count || desc->path_count > UINT32_MAX))
        ok = api_refuse(&tool, "a trace to read is required");
    ts_analysis *const a = ok ? calloc(1, sizeof *a) : NULL;
    if (ok && !a) ok = cli_out_of_memory(&tool);
    if (ok) ok = take_desc(a, desc) && open_files(a, &call, desc->path_count);
    const ts_result result = api_end(&call, ok);
    if (ok)
        *analysis = a;
    else
        ts_analysis_close(a);
    return result;
}

void ts_analysis_close(ts_analysis *analysis)
{
    if (!analysis) return;
    report_close(analysis->report);
    if (analysis->job.files || analysis->job.private)
        analyze_close(&analysis->job);
    free(analysis->paths);
    free(analysis->all_settings);
    free(analysis->all_flops);
    api_texts_close(&analysis->texts);
    free(analysis);
}

/* ---- Reports ------------------------------------------------------------- */

static bool begin(ts_analysis *a, api_call *call, ts_error *error)
{
    const bool ok = api_begin(call, &a->observer, NULL, error);
    call->context.no_symbols = a->no_symbols;
    return ok;
}

static bool compute(ts_analysis *a)
{
    if (a->report) return true;
    report *const r = report_open();
    if (!r) return cli_out_of_memory(&tool);
    if (analyze_run(&a->job, a->only, r)) {
        a->report = r;
        return true;
    }
    report_close(r);
    return false;
}

// Checks that an output is none of the inputs.
static bool check(const ts_analysis *a, const ts_output *output, cli_kind kind)
{
    return api_output_check(&tool, output, kind, (const char *const *)a->paths,
                            a->job.file_count);
}

static const cli_kind kinds[] = { [TS_REPORT_TEXT] = CLI_ANY,
                                  [TS_REPORT_JSON] = CLI_JSON,
                                  [TS_REPORT_HTML] = CLI_HTML };

static bool put(ts_analysis *a, api_call *call, ts_report_format format,
                const ts_output *output)
{
    api_output to;
    if ((unsigned)format > TS_REPORT_HTML)
        return api_refuse(&tool, "an analysis must be text, JSON or HTML");
    if (!check(a, output, kinds[format]) || !compute(a) ||
        !api_output_open(&to, call, &tool, output))
        return false;
    if (format == TS_REPORT_HTML)
        analyze_html(&a->job, a->report, to.stream);
    else if (format == TS_REPORT_JSON)
        analyze_json(&a->job, a->report);
    else
        analyze_text(&a->job, a->report);
    return api_output_close(&to, call, &tool, true);
}

ts_result ts_analysis_write(ts_analysis *analysis, ts_report_format format,
                            const ts_output *output, ts_error *error)
{
    api_call call;
    const bool ok =
        begin(analysis, &call, error) && put(analysis, &call, format, output);
    return api_end(&call, ok);
}

static bool put_flame(ts_analysis *a, api_call *call, const char *by,
                      bool is_svg, const ts_output *output)
{
    api_output to;
    if (!flame_is_way(by))
        return api_refuse(&tool,
                          "a flame graph must be by gpu, zones or samples");
    if (!check(a, output, is_svg ? CLI_SVG : CLI_FOLDED) ||
        !api_output_open(&to, call, &tool, output))
        return false;
    const bool done = flame_write(&a->job, by, to.stream, is_svg);
    return api_output_close(&to, call, &tool, done);
}

ts_result ts_analysis_flame_write(ts_analysis *analysis, const char *by,
                                  ts_flame_format format,
                                  const ts_output *output, ts_error *error)
{
    api_call call;
    const bool ok =
        begin(analysis, &call, error) &&
        put_flame(analysis, &call, by, format == TS_FLAME_SVG, output);
    return api_end(&call, ok);
}

/* ---- Figures and findings ------------------------------------------------ */

static bool compute_call(ts_analysis *a, ts_error *error)
{
    api_call call;
    const bool ok = begin(a, &call, error) && compute(a);
    return api_end(&call, ok) == TS_OK;
}

bool ts_analysis_answer_at(ts_analysis *analysis, size_t index,
                           ts_analysis_answer *answer, ts_error *error)
{
    if (!compute_call(analysis, error)) return false;
    const report_section *s = analysis->report->sections;
    while (s && index--)
        s = s->next;
    if (!s) return false;
    *answer =
        (ts_analysis_answer){ .topic = s->name,
                              .title = s->title,
                              .answer = s->answer,
                              .applies = !s->not_applicable,
                              .has_confidence = s->trusted,
                              .confidence = (ts_confidence)s->confidence };
    return true;
}

static ts_analysis_finding describe(const report_finding *f)
{
    return (ts_analysis_finding){ .rule = f->id,
                                  .title = f->title,
                                  .severity = (ts_severity)f->severity,
                                  .confidence = (ts_confidence)f->confidence,
                                  .what = f->what,
                                  .todo = f->todo,
                                  .how = f->how,
                                  .has_gain = f->has_gain,
                                  .gain_ns = f->gain_ns,
                                  .of_ns = f->of_ns,
                                  .has_time = f->evidence.has_time,
                                  .from_ns = f->evidence.from_ns,
                                  .to_ns = f->evidence.to_ns };
}

bool ts_analysis_finding_at(ts_analysis *analysis, size_t index,
                            ts_analysis_finding *finding, ts_error *error)
{
    if (!compute_call(analysis, error)) return false;
    const report_section *s = analysis->report->sections;
    for (; s && index >= s->finding_count; s = s->next)
        index -= s->finding_count;
    if (s) *finding = describe(&s->findings[index]);
    return s;
}

bool ts_analysis_because_at(ts_analysis *analysis, size_t answer, size_t index,
                            ts_text *because, ts_error *error)
{
    if (!compute_call(analysis, error)) return false;
    const report_section *s = analysis->report->sections;
    while (s && answer--)
        s = s->next;
    const report_line *line = s ? s->reasons : NULL;
    while (line && index--)
        line = line->next;
    if (line) *because = line->text;
    return line;
}

bool ts_analysis_loss_at(ts_analysis *analysis, size_t index, ts_text *loss,
                         ts_error *error)
{
    if (!compute_call(analysis, error)) return false;
    const report_line *line = analysis->report->losses;
    while (line && index--)
        line = line->next;
    if (line) *loss = line->text;
    return line;
}

/* ---- Topics and rules ---------------------------------------------------- */

static ts_result put_list(void (*list)(void), const ts_output *output,
                          ts_error *error)
{
    api_call call;
    api_output to;
    bool ok = api_begin(&call, NULL, NULL, error) &&
              api_output_check(&tool, output, CLI_ANY, NULL, 0) &&
              api_output_open(&to, &call, &tool, output);
    if (ok) {
        list();
        ok = api_output_close(&to, &call, &tool, true);
    }
    return api_end(&call, ok);
}

ts_result ts_analysis_topics_write(const ts_output *output, ts_error *error)
{
    return put_list(analyze_list_topics, output, error);
}

ts_result ts_analysis_rules_write(const ts_output *output, ts_error *error)
{
    return put_list(analyze_list_rules, output, error);
}
