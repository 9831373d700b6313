/*
    ts-diff.c - what changed between two traces of one program?
*/
#include "tools/cli/context.h"
#include "tools/diff/diff.h"
#include "tools/common/select/select.h"
#include "tools/common/symbolize/symbolize.h"
#include "tools/tracesmith_tools.h"

static cli_list gate_list, gate_files;
static const char *junit_text, *markdown_text, *alpha_text;
static uint64_t top = 10, rows = 1000;
static bool option_untested, option_json, option_collapse, option_mangled;

static const cli_option options[] = {
    SELECT_OPTIONS,
    { .name = "--gate GATE",
      .help = "exit 1 if B is worse by more than noise and this limit:\n"
              "'kernel:gemm* total +5%', 'makespan +2ms',\n"
              "'idle:host_sync +10%', 'memory:peak +64MiB', ...; a gate\n"
              "that matches nothing, or compares sums of different\n"
              "numbers of steps, is an error (exit 2); with a leading ?,\n"
              "it may match nothing: '?kernel:foo* +5%'; may be repeated",
      .list = &gate_list },
    { .name = "--gate-file FILE",
      .help = "read gates from FILE, one per line; # begins a comment",
      .list = &gate_files },
    { .name = "--gate-untested",
      .help = "also fail if a limit is exceeded but there are too few\n"
              "samples to test for noise",
      .flag = &option_untested },
    { .name = "--alpha SHARE",
      .help = "significance level of the test (default: 5%)",
      .text = &alpha_text },
    { .name = "--top N",
      .help = "rows of each table in the text report (default: 10)",
      .number = &top },
    { .name = "--rows N",
      .help = "rows of each table in --json (default: 1000)",
      .number = &rows },
    { .name = "--collapse",
      .help = "treat kernels that differ only in template arguments as\n"
              "one",
      .flag = &option_collapse },
    { .name = "--mangled",
      .help = "do not demangle names",
      .flag = &option_mangled },
    { .name = "--junit OUT",
      .help = "write the gates as JUnit XML",
      .text = &junit_text },
    { .name = "--markdown OUT",
      .help = "write a summary for a pull request",
      .text = &markdown_text },
    SYMBOLIZE_OPTION,
    { .name = "--json", .help = "print one JSON object", .flag = &option_json },
    { 0 },
};

static const cli_tool tool = {
    .name = "ts-diff",
    .usage = "[options] A B, or [options] A... -- B...",
    .about = "Compares two traces of one program: what takes longer in B than "
             "in A, by more\nthan noise. Several files on a side are the "
             "processes of one run.\nExit status: 0 no gate failed, 1 a gate "
             "failed, 2 bad input or usage, or a gate\nthat matches nothing or "
             "cannot detect a change.",
    .options = options,
};

enum { SAME = 0, REGRESSED = 1, BAD = 2 };

static bool is_stdout(const char *path)
{
    return path && !strcmp(path, "-");
}

static int write_all(ts_diff *d)
{
    const ts_output junit = { .path = junit_text };
    const ts_output markdown = { .path = markdown_text };
    ts_result result = TS_OK;
    if (junit_text) result = ts_diff_write(d, TS_REPORT_JUNIT, &junit, NULL);
    if (result == TS_OK && markdown_text)
        result = ts_diff_write(d, TS_REPORT_MARKDOWN, &markdown, NULL);
    if (result == TS_OK && option_json)
        result = ts_diff_write(d, TS_REPORT_JSON, cli_tool_output(), NULL);
    else if (result == TS_OK && !is_stdout(junit_text) &&
             !is_stdout(markdown_text))
        result = ts_diff_write(d, TS_REPORT_TEXT, cli_tool_output(), NULL);
    if (result != TS_OK) return BAD;
    switch (ts_diff_verdict_of(d)) {
    case TS_DIFF_PASSED: return SAME;
    case TS_DIFF_FAILED: return REGRESSED;
    default: return BAD;
    }
}

static int compare(char **a, size_t a_count, char **b, size_t b_count)
{
    cli_reporter reporter = { .tool = &tool };
    const ts_diff_desc desc = { .a_paths = (const char *const *)a,
                                .a_count = a_count,
                                .b_paths = (const char *const *)b,
                                .b_count = b_count,
                                .selection = &selected,
                                .gates = gate_list.items,
                                .gate_count = gate_list.count,
                                .gate_files = gate_files.items,
                                .gate_file_count = gate_files.count,
                                .gate_untested = option_untested,
                                .alpha = alpha_text,
                                .top = cli_row_count(top),
                                .rows = cli_row_count(rows),
                                .collapse = option_collapse,
                                .mangled = option_mangled,
                                .no_symbols = symbolize_off,
                                .observer = cli_observer(&reporter) };
    ts_diff *d;
    const int code =
        ts_diff_open(&d, &desc, NULL) == TS_OK ? write_all(d) : BAD;
    ts_diff_close(d);
    return code;
}

// Checks the paths of the traces, and of the files with gates.
static bool check_files(char **traces, size_t count)
{
    const cli_output outputs[] = {
        { "--junit", junit_text, CLI_JUNIT },
        { "--markdown", markdown_text, CLI_MARKDOWN },
        { "--json", option_json ? "-" : NULL, CLI_ANY },
    };
    const char **const inputs =
        malloc((count + CLI_LIST_MOST) * sizeof *inputs);
    if (!inputs) return cli_out_of_memory(&tool);
    for (size_t i = 0; i < count; i++)
        inputs[i] = traces[i];
    for (size_t i = 0; i < gate_files.count; i++)
        inputs[count++] = gate_files.items[i];
    const bool ok = cli_inputs_check(&tool, inputs, count) &&
                    cli_outputs_check(&tool, outputs, 3, inputs, count);
    free(inputs);
    return ok;
}

int main(int argc, char **argv)
{
    uint64_t alpha;
    int b_count = -1; // number of files after "--"
    for (int i = 1; i < argc && b_count < 0; i++)
        if (!strcmp(argv[i], "--")) b_count = argc - i - 1;
    cli_parse(&tool, &argc, argv);
    int a_count = argc - 1 - (b_count < 0 ? 0 : b_count);
    if (b_count < 0 || !a_count) { // without "--": one file on each side
        b_count = argc == 3 ? 1 : 0;
        a_count = argc - 1 - b_count;
    }
    if (a_count < 1 || b_count < 1) {
        cli_error(&tool, NULL, "two traces to compare are required");
        return cli_usage(&tool);
    }
    if (!check_files(argv + 1, (size_t)(a_count + b_count))) return BAD;
    if (!diff_alpha_read(&tool, alpha_text, &alpha) || !select_check(&tool))
        return cli_usage(&tool);
    const int code =
        compare(argv + 1, (size_t)a_count, argv + 1 + a_count, (size_t)b_count);
    return cli_finish(&tool, code) == code ? code : BAD;
}
