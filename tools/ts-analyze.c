/*
    ts-analyze.c - why is it slow, and where did the memory go?
*/
#include "tools/analyze/topics/flame.h"
#include "tools/cli/context.h"
#include "tools/common/select/select.h"
#include "tools/common/symbolize/symbolize.h"
#include "tools/tracesmith_tools.h"

static const char *only_text, *html_text, *sort_text;
static const char *folded_text, *svg_text, *flame_text;
static cli_list sets, flops;
static uint64_t top = 10, rows = 1000;
static bool option_json, option_list, option_rules, option_collapse,
    option_mangled;

static const cli_option options[] = {
    { .name = "--only LIST",
      .help = "report only these topics, separated by commas",
      .text = &only_text },
    SELECT_OPTIONS,
    { .name = "--list",
      .help = "print the topics, and the thresholds that --set changes",
      .flag = &option_list },
    { .name = "--rules",
      .help = "print the rules of topic advice with their thresholds,\n"
              "and how each computes its gain",
      .flag = &option_rules },
    { .name = "--top N",
      .help = "rows of each table in the text and HTML reports (default:\n"
              "10)",
      .number = &top },
    { .name = "--rows N",
      .help = "rows of each table in --json (default: 1000)",
      .number = &rows },
    { .name = "--sort KEY",
      .help = "sort tables by the column with this key, largest first;\n"
              "--json shows the keys",
      .text = &sort_text },
    { .name = "--collapse",
      .help = "treat kernels that differ only in template arguments as\n"
              "one",
      .flag = &option_collapse },
    { .name = "--mangled",
      .help = "do not demangle names",
      .flag = &option_mangled },
    { .name = "--set KEY=VALUE",
      .help = "change a threshold; may be repeated",
      .list = &sets },
    { .name = "--flops REGEX=N",
      .help = "floating point operations per launch of kernels whose\n"
              "name matches REGEX: 2.5G, 3/thread or 1k/block; after a\n"
              "comma, the bytes that it moves; ^ and $ match the ends of\n"
              "a name; may be repeated",
      .list = &flops },
    { .name = "--html OUT",
      .help = "write the report as one HTML page",
      .text = &html_text },
    { .name = "--folded OUT",
      .help = "instead of a report, write the device time by launching\n"
              "code, as folded stacks for flame graph tools; - is stdout",
      .text = &folded_text },
    { .name = "--svg OUT",
      .help = "write the flame graph as an SVG picture",
      .text = &svg_text },
    { .name = "--flame-by WHAT",
      .help = "contents of --folded and --svg: gpu: device time by\n"
              "launching code (default); zones: host time by zone;\n"
              "samples: the samples of a profile by call stack",
      .text = &flame_text },
    SYMBOLIZE_OPTION,
    { .name = "--json", .help = "print one JSON object", .flag = &option_json },
    { 0 },
};

static const cli_tool tool = {
    .name = "ts-analyze",
    .usage = "[options] FILE...",
    .about = "Analyzes a trace: what ran, why it is slow, what used the "
             "memory, and what to\nimprove. Several traces, one for each "
             "process, are analyzed together.",
    .options = options,
};

static bool check_usage(void)
{
    const bool flames = folded_text || svg_text;
    if (flame_text && !flame_is_way(flame_text))
        cli_error(&tool, NULL, "--flame-by %s: must be gpu, zones or samples",
                  flame_text);
    else if (flame_text && !flames)
        cli_error(&tool, NULL, "--flame-by requires --folded or --svg");
    else if (flames && (only_text || sort_text) && !option_json && !html_text)
        cli_error(&tool, NULL,
                  "%s applies to reports: with --folded or --svg, it requires "
                  "--json or --html",
                  only_text ? "--only" : "--sort");
    else
        return true;
    return false;
}

static bool check_files(const char *const *inputs, size_t count)
{
    const cli_output outputs[] = {
        { "--html", html_text, CLI_HTML },
        { "--folded", folded_text, CLI_FOLDED },
        { "--svg", svg_text, CLI_SVG },
        { "--json", option_json ? "-" : NULL, CLI_ANY },
    };
    return cli_inputs_check(&tool, inputs, count) &&
           cli_outputs_check(&tool, outputs, 4, inputs, count);
}

static ts_result write_flame(ts_analysis *a, ts_flame_format format,
                             const char *path)
{
    const ts_output out = { .path = path };
    if (!path) return TS_OK;
    return ts_analysis_flame_write(a, flame_text, format, &out, NULL);
}

// Flame graphs are written to files of their own; then a report is printed only
// if one was requested.
static ts_result write_all(ts_analysis *a)
{
    const ts_output page = { .path = html_text };
    ts_result result = write_flame(a, TS_FLAME_FOLDED, folded_text);
    if (result == TS_OK) result = write_flame(a, TS_FLAME_SVG, svg_text);
    if (result == TS_OK && html_text)
        result = ts_analysis_write(a, TS_REPORT_HTML, &page, NULL);
    if (result == TS_OK && option_json)
        result = ts_analysis_write(a, TS_REPORT_JSON, cli_tool_output(), NULL);
    if (result == TS_OK && !option_json && !html_text && !folded_text &&
        !svg_text)
        result = ts_analysis_write(a, TS_REPORT_TEXT, cli_tool_output(), NULL);
    return result;
}

static int analyze(char **paths, size_t count)
{
    cli_reporter reporter = { .tool = &tool };
    const ts_analysis_desc desc = { .paths = (const char *const *)paths,
                                    .path_count = count,
                                    .selection = &selected,
                                    .only = only_text,
                                    .top = cli_row_count(top),
                                    .rows = cli_row_count(rows),
                                    .sort = sort_text,
                                    .collapse = option_collapse,
                                    .mangled = option_mangled,
                                    .no_symbols = symbolize_off,
                                    .settings = sets.items,
                                    .setting_count = sets.count,
                                    .flops = flops.items,
                                    .flops_count = flops.count,
                                    .observer = cli_observer(&reporter) };
    ts_analysis *a;
    ts_result result = ts_analysis_open(&a, &desc, NULL);
    if (result == TS_OK) result = write_all(a);
    ts_analysis_close(a);
    return result == TS_OK          ? CLI_OK
           : result == TS_ERR_USAGE ? CLI_USAGE
                                    : CLI_FAILED;
}

int main(int argc, char **argv)
{
    cli_parse(&tool, &argc, argv);
    if (option_rules || option_list) {
        (option_rules ? ts_analysis_rules_write
                      : ts_analysis_topics_write)(cli_tool_output(), NULL);
        return cli_finish(&tool, CLI_OK);
    }
    if (argc < 2) {
        cli_error(&tool, NULL, "a trace to read is required");
        return cli_usage(&tool);
    }
    if (!analyze_only_check(&tool, only_text)) return CLI_USAGE;
    if (!check_usage() || !select_check(&tool)) return cli_usage(&tool);
    if (!check_files((const char *const *)argv + 1, (size_t)argc - 1))
        return CLI_USAGE;
    return cli_finish(&tool, analyze(argv + 1, (size_t)argc - 1));
}
