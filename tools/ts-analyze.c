/*
    ts-analyze.c - why is it slow, and where did the memory go?
*/
#include "tools/analyze/advice/advice.h"
#include "tools/analyze/topics/flame.h"
#include "tools/analyze/figures/work/roofline.h"
#include "tools/common/select/select.h"
#include "tools/common/symbolize/symbolize.h"

static const char *only_text, *html_text, *sort_text;
static const char *folded_text, *svg_text, *flame_text;
static cli_list sets, flops;
static uint64_t top = 10, rows = 1000;
static bool want_json, want_list, want_rules, want_collapse, want_mangled;

static const cli_option options[] = {
    { .name = "--only LIST",
      .help = "only these questions, names with commas between",
      .text = &only_text },
    SELECT_OPTIONS,
    { .name = "--list",
      .help = "print the questions, and the thresholds of --set",
      .flag = &want_list },
    { .name = "--rules",
      .help = "print the rules of advice, how each computes its gain,\n"
              "and its thresholds",
      .flag = &want_rules },
    { .name = "--top N",
      .help = "rows of each table in the text and the page (10)",
      .number = &top },
    { .name = "--rows N",
      .help = "rows of each table in --json (1000)",
      .number = &rows },
    { .name = "--sort KEY",
      .help = "sort tables that have a column of this key by it,\n"
              "the largest first; --json shows the keys",
      .text = &sort_text },
    { .name = "--collapse",
      .help = "kernels that differ in template arguments only are one",
      .flag = &want_collapse },
    { .name = "--mangled",
      .help = "names as they were recorded",
      .flag = &want_mangled },
    { .name = "--set KEY=VALUE",
      .help = "change a threshold; may be given several times",
      .list = &sets },
    { .name = "--flops REGEX=N",
      .help = "what a launch of such a kernel computes, in operations\n"
              "of floating point (2.5G, 3/thread, 1k/block), and after a\n"
              "comma how many bytes it moves; REGEX matches a part of\n"
              "a name, ^ and $ are its ends; may be given several times",
      .list = &flops },
    { .name = "--html OUT",
      .help = "write the report as one page, for a browser",
      .text = &html_text },
    { .name = "--folded OUT",
      .help = "write what launched the time on the devices as folded\n"
              "stacks, which flame graph tools read, in place of a\n"
              "report; - is stdout",
      .text = &folded_text },
    { .name = "--svg OUT",
      .help = "write the same as a picture",
      .text = &svg_text },
    { .name = "--flame-by WHAT",
      .help = "of these two: gpu (the default), or zones: the time of\n"
              "the host by zone",
      .text = &flame_text },
    { .name = "--no-symbols",
      .help = "name frames of call stacks as the trace does: look into\n"
              "no file of this machine",
      .flag = &symbolize_off },
    { .name = "--json", .help = "print one JSON object", .flag = &want_json },
    { 0 },
};

static const cli_tool tool = {
    .name = "ts-analyze",
    .usage = "[options] FILE...",
    .about = "Answers questions about a trace: what was it, why is it slow, "
             "where did the\nmemory go. Several traces, one of each process, "
             "are looked at jointly.",
    .options = options,
};

static cli_text setting_value(const analyze_setting *s)
{
    if (s->unit == REPORT_SHARE)
        return report_words(report_share(s->value, 10000));
    return report_words(report_number(s->unit, s->value, 0));
}

static void list(void)
{
    for (const analyze_question *const *q = analyze_questions; *q; q++) {
        printf("%-10s  %s\n", (*q)->name, (*q)->help);
        const bool many = (*q)->settings == advice_settings;
        if (many) printf("%12s--rules shows its thresholds\n", "");
        for (const analyze_setting *s = (*q)->settings; !many && s && s->key;
             s++)
            printf("%12s--set %s=%s  %s\n", "", s->key, setting_value(s).s,
                   s->help);
    }
}

static void list_limits(const char *id)
{
    const size_t size = strlen(id);
    for (const analyze_setting *s = advice_settings; s->key; s++)
        if (!strncmp(s->key, id, size) && s->key[size] == '.')
            printf("    %s=%s  %s\n", s->key, setting_value(s).s, s->help);
}

static void list_rules(void)
{
    for (const advice_rule *r = advice_rules; r->id; r++) {
        const bool gains = strcmp(r->gain, "none") != 0;
        printf("%s (%s)\n    %s\n    gain: %s%s\n", r->id, r->family, r->about,
               gains ? "replay with " : "not computed", gains ? r->gain : "");
        list_limits(r->id);
    }
    puts("all of them");
    list_limits("advice");
}

static bool print(const analyze_job *job, const report *r)
{
    if (html_text && !analyze_html(job, r, html_text)) return false;
    if (want_json)
        analyze_json(job, r);
    else if (!html_text)
        analyze_text(job, r);
    return true;
}

// Flame graphs are files of their own; a report comes with them if one is
// asked for.
static bool write_flames(analyze_job *job, report *r)
{
    if (folded_text && !flame_write(job, flame_text, folded_text, false))
        return false;
    if (svg_text && !flame_write(job, flame_text, svg_text, true)) return false;
    return (!want_json && !html_text) ||
           (analyze_ask(job, only_text, r) && print(job, r));
}

static int run(analyze_job *job, char **paths, uint32_t count)
{
    int code = CLI_FAILED;
    report *const r = report_open();
    if (!r)
        cli_error(&tool, NULL, "out of memory");
    else if (analyze_open(job, paths, count) &&
             (folded_text || svg_text
                  ? write_flames(job, r)
                  : analyze_ask(job, only_text, r) && print(job, r)))
        code = CLI_OK;
    report_close(r);
    analyze_close(job);
    return job->wrong_usage ? CLI_USAGE : code;
}

static bool check_flops(void)
{
    for (size_t i = 0; i < flops.count; i++) {
        roofline_rule rule;
        if (!roofline_rule_read(&rule, flops.items[i])) {
            cli_error(&tool, NULL, "--flops %s: %s", flops.items[i],
                      rule.wrong);
            return false;
        }
        roofline_rule_close(&rule);
    }
    return true;
}

static bool check_usage(void)
{
    const bool flames = folded_text || svg_text;
    if (flame_text && strcmp(flame_text, "gpu") && strcmp(flame_text, "zones"))
        cli_error(&tool, NULL, "--flame-by %s: it is gpu or zones", flame_text);
    else if (flame_text && !flames)
        cli_error(&tool, NULL, "--flame-by goes with --folded or --svg");
    else if (flames && (only_text || sort_text) && !want_json && !html_text)
        cli_error(&tool, NULL,
                  "%s is about a report: --folded and --svg make none without "
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
        { "--json", want_json ? "-" : NULL, CLI_ANY },
    };
    return cli_inputs_check(&tool, inputs, count) &&
           cli_outputs_check(&tool, outputs, 4, inputs, count);
}

int main(int argc, char **argv)
{
    cli_parse(&tool, &argc, argv);
    if (want_rules) {
        list_rules();
        return cli_finish(&tool, CLI_OK);
    }
    if (want_list) {
        list();
        return cli_finish(&tool, CLI_OK);
    }
    if (argc < 2) {
        cli_error(&tool, NULL, "which trace?");
        return cli_usage(&tool);
    }
    if (!analyze_only_check(&tool, only_text)) return CLI_USAGE;
    if (!check_usage() || !select_check(&tool)) return cli_usage(&tool);
    if (!analyze_files_check(&tool, argv + 1, (size_t)argc - 1) ||
        !check_flops() ||
        !check_files((const char *const *)argv + 1, (size_t)argc - 1))
        return CLI_USAGE;
    analyze_job job = { .tool = &tool,
                        .options = { .top = top,
                                     .rows = rows,
                                     .sort = sort_text,
                                     .collapse = want_collapse,
                                     .no_demangle = want_mangled,
                                     .sets = &sets,
                                     .flops = &flops,
                                     .selected = select_words() } };
    uint32_t count = (uint32_t)argc - 1;
    if (!select_files(&tool, argv + 1, &count)) return CLI_FAILED;
    select_install();
    return cli_finish(&tool, run(&job, argv + 1, count));
}
