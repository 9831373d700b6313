/*
    diff.c - ts_diff: what changed between two runs
*/
#include "tools/analyze/output/output.h"
#include "tools/api/call.h"
#include "tools/common/select/select.h"
#include "tools/diff/diff.h"

static const cli_tool tool = { .name = "ts-diff" };

struct ts_diff {
    api_texts texts;
    char **paths[2];
    uint32_t counts[2];
    bool no_symbols;
    ts_observer observer;
    diff diff;
    diff_gates gates;
    report *report;
};

/* ---- Opening ------------------------------------------------------------- */

static bool take_gates(ts_diff *d, const ts_diff_desc *desc)
{
    d->gates.untested_fails = desc->gate_untested;
    for (size_t i = 0; i < desc->gate_count; i++)
        if (!diff_gate_add(&d->gates, &tool, "--gate", desc->gates[i]))
            return false;
    for (size_t i = 0; i < desc->gate_file_count; i++)
        if (!diff_gate_file(&d->gates, &tool, desc->gate_files[i]))
            return false;
    return true;
}

static uint64_t rows(int64_t given, uint64_t normal)
{
    return given < 0 ? 0 : given ? (uint64_t)given : normal;
}

// Copies the desc, including its texts.
static bool take_desc(ts_diff *d, const ts_diff_desc *desc)
{
    const analyze_options options = { .top = rows(desc->top, 10),
                                      .rows = rows(desc->rows, 1000),
                                      .collapse = desc->collapse,
                                      .no_demangle = desc->mangled };
    d->no_symbols = desc->no_symbols;
    d->observer = desc->observer;
    d->diff.tool = &tool;
    d->paths[0] = api_keep_all(&d->texts, desc->a_paths, desc->a_count);
    d->paths[1] = api_keep_all(&d->texts, desc->b_paths, desc->b_count);
    for (int side = 0; side < 2; side++)
        d->diff.sides[side].job =
            (analyze_job){ .tool = &tool, .options = options };
    d->counts[0] = (uint32_t)desc->a_count;
    d->counts[1] = (uint32_t)desc->b_count;
    return !d->texts.failed || cli_out_of_memory(&tool);
}

static void warn(const ts_diff *d)
{
    for (size_t i = 0; i < d->gates.count; i++)
        diff_gate_warn(&d->gates.items[i], &d->diff, &tool);
}

static bool compare(ts_diff *d)
{
    // The selection applies to both sides.
    for (int side = 0; side < 2; side++)
        if (!select_files(&tool, d->paths[side], &d->counts[side]))
            return false;
    select_install();
    if (!diff_open(&d->diff, d->paths[0], d->counts[0], d->paths[1],
                   d->counts[1]))
        return false;
    if (!diff_compare(&d->diff) || !diff_gates_check(&d->gates, &d->diff))
        return cli_out_of_memory(&tool);
    warn(d);
    d->report = report_open();
    if (d->report) diff_report(&d->diff, &d->gates, d->report);
    return (d->report && !report_failed(d->report)) || cli_out_of_memory(&tool);
}

static bool open_diff(ts_diff *d, api_call *call, const ts_diff_desc *desc)
{
    const size_t most = UINT32_MAX;
    if (!desc->a_count || !desc->b_count || desc->a_count > most ||
        desc->b_count > most)
        return api_refuse(&tool, "two traces to compare are required");
    if (!take_desc(d, desc) ||
        !diff_alpha_read(&tool, desc->alpha, &d->diff.alpha) ||
        !select_check(&tool) || !take_gates(d, desc))
        return false;
    call->fallback = TS_ERR_NOT_FOUND;
    return compare(d);
}

ts_result ts_diff_open(ts_diff **made, const ts_diff_desc *desc,
                       ts_error *error)
{
    api_call call;
    *made = NULL;
    bool ok = api_begin(&call, &desc->observer, desc->selection, error);
    call.context.no_symbols = desc->no_symbols;
    ts_diff *const d = ok ? calloc(1, sizeof *d) : NULL;
    if (ok && !d) ok = cli_out_of_memory(&tool);
    ok = ok && open_diff(d, &call, desc);
    const ts_result result = api_end(&call, ok);
    if (ok)
        *made = d;
    else
        ts_diff_close(d);
    return result;
}

void ts_diff_close(ts_diff *d)
{
    if (!d) return;
    report_close(d->report);
    diff_close(&d->diff);
    diff_gates_close(&d->gates);
    free(d->paths[0]);
    free(d->paths[1]);
    api_texts_close(&d->texts);
    free(d);
}

ts_diff_verdict ts_diff_verdict_of(const ts_diff *d)
{
    return diff_gates_failed(&d->gates)   ? TS_DIFF_FAILED
           : diff_gates_missed(&d->gates) ? TS_DIFF_BLIND
                                          : TS_DIFF_PASSED;
}

/* ---- Writing ------------------------------------------------------------- */

// Writes the JSON, with the files of both sides, those of A first.
static bool put_json(const ts_diff *d)
{
    const analyze_job *const a = &d->diff.sides[0].job;
    const analyze_job *const b = &d->diff.sides[1].job;
    analyze_job view = { .tool = &tool, .options = a->options };
    view.file_count = a->file_count + b->file_count;
    view.files = calloc(view.file_count, sizeof *view.files);
    if (!view.files) return cli_out_of_memory(&tool);
    for (uint32_t i = 0; i < view.file_count; i++)
        view.files[i] =
            i < a->file_count ? a->files[i] : b->files[i - a->file_count];
    analyze_json(&view, d->report);
    free(view.files);
    return true;
}

static bool put_report(ts_diff *d, ts_report_format format, FILE *out)
{
    const analyze_job view = { .tool = &tool,
                               .options = d->diff.sides[0].job.options };
    switch (format) {
    case TS_REPORT_JSON: return put_json(d);
    case TS_REPORT_MARKDOWN:
        diff_markdown(&d->diff, &d->gates, d->report, out);
        return true;
    case TS_REPORT_JUNIT: diff_junit(&d->diff, &d->gates, out); return true;
    default: analyze_text(&view, d->report); return true;
    }
}

static const cli_kind kinds[] = { [TS_REPORT_TEXT] = CLI_ANY,
                                  [TS_REPORT_JSON] = CLI_JSON,
                                  [TS_REPORT_MARKDOWN] = CLI_MARKDOWN,
                                  [TS_REPORT_JUNIT] = CLI_JUNIT };

static bool put(ts_diff *d, api_call *call, ts_report_format format,
                const ts_output *output)
{
    api_output to;
    if ((unsigned)format > TS_REPORT_JUNIT || format == TS_REPORT_HTML)
        return api_refuse(&tool,
                          "a diff must be text, JSON, Markdown or JUnit");
    for (int side = 0; side < 2; side++)
        if (!api_output_check(&tool, output, kinds[format],
                              (const char *const *)d->paths[side],
                              d->counts[side]))
            return false;
    if (!api_output_open(&to, call, &tool, output)) return false;
    const bool done = put_report(d, format, to.stream);
    return api_output_close(&to, call, &tool, done);
}

ts_result ts_diff_write(ts_diff *d, ts_report_format format,
                        const ts_output *output, ts_error *error)
{
    api_call call;
    bool ok = api_begin(&call, &d->observer, NULL, error);
    call.context.no_symbols = d->no_symbols;
    ok = ok && put(d, &call, format, output);
    return api_end(&call, ok);
}
