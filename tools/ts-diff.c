/*
    ts-diff.c - what changed between two traces of one program?
*/
#include "tools/diff/diff.h"
#include "tools/common/select/select.h"
#include "tools/common/symbolize/symbolize.h"

static cli_list gate_list, gate_files;
static const char *junit_text, *markdown_text, *alpha_text;
static uint64_t top = 10, rows = 1000;
static bool want_untested, want_json, want_collapse, want_mangled;

static const cli_option options[] = {
    SELECT_OPTIONS,
    { .name = "--gate GATE",
      .help = "exit 1 if B is worse by more than noise and this:\n"
              "'kernel:gemm* total +5%', 'makespan +2ms',\n"
              "'idle:host_sync +10%', 'memory:peak +64MiB', ...;\n"
              "exit 2 if it matches nothing, unless ? leads it, or\n"
              "compares sums of different numbers of steps:\n"
              "'?kernel:foo* +5%'; may be given several times",
      .list = &gate_list },
    { .name = "--gate-file FILE",
      .help = "gates, one a line; # begins a comment",
      .list = &gate_files },
    { .name = "--gate-untested",
      .help = "what is beyond a limit fails also where no noise is known",
      .flag = &want_untested },
    { .name = "--alpha SHARE",
      .help = "a difference that noise alone makes in less than this\n"
              "share of all cases is significant (5%)",
      .text = &alpha_text },
    { .name = "--top N",
      .help = "rows of each table in the text (10)",
      .number = &top },
    { .name = "--rows N",
      .help = "rows of each table in --json (1000)",
      .number = &rows },
    { .name = "--collapse",
      .help = "kernels that differ in template arguments only are one",
      .flag = &want_collapse },
    { .name = "--mangled",
      .help = "names as they were recorded",
      .flag = &want_mangled },
    { .name = "--junit OUT",
      .help = "write the gates as JUnit XML",
      .text = &junit_text },
    { .name = "--markdown OUT",
      .help = "write a summary for a pull request",
      .text = &markdown_text },
    { .name = "--no-symbols",
      .help = "name frames of call stacks as the trace does: look into\n"
              "no file of this machine",
      .flag = &symbolize_off },
    { .name = "--json", .help = "print one JSON object", .flag = &want_json },
    { 0 },
};

static const cli_tool tool = {
    .name = "ts-diff",
    .usage = "[options] A B, or [options] A... -- B...",
    .about = "Compares two traces of one program: what takes longer in B than "
             "in A, by more\nthan noise. Several files on a side are the "
             "processes of one run.\nExit code: 0 no gate failed, 1 one did, "
             "2 bad input or usage,\nor a gate matches nothing or can see no "
             "change.",
    .options = options,
};

enum { SAME = 0, REGRESSED = 1, BAD = 2 };

// "5%", "0.1%"; of DIFF_CERTAIN.
static bool parse_alpha(const char *text, uint64_t *alpha)
{
    uint64_t value = 0, unit = DIFF_CERTAIN / 100;
    *alpha = DIFF_CERTAIN / 20;
    if (!text) return true;
    const char *s = text;
    for (; *s >= '0' && *s <= '9' && value <= 100; s++)
        value = value * 10 + (uint64_t)(*s - '0');
    bool ok = s > text && value <= 100;
    value *= unit;
    if (ok && *s == '.')
        for (ok = s[1] >= '0' && s[1] <= '9'; *++s >= '0' && *s <= '9';)
            value += (unit /= 10) * (uint64_t)(*s - '0');
    *alpha = value;
    if (ok && !strcmp(s, "%") && value && value < DIFF_CERTAIN) return true;
    cli_error(&tool, NULL,
              "--alpha %s: it is a share above 0 %% and below 100 %%, such as "
              "1%%",
              text);
    return false;
}

static bool read_gates(diff_gates *gates)
{
    for (size_t i = 0; i < gate_list.count; i++)
        if (!diff_gate_add(gates, &tool, "--gate", gate_list.items[i]))
            return false;
    for (size_t i = 0; i < gate_files.count; i++)
        if (!diff_gate_file(gates, &tool, gate_files.items[i])) return false;
    return true;
}

static void warn(const diff_gates *gates, const diff *d)
{
    for (size_t i = 0; i < gates->count; i++)
        if (diff_gate_blind(&gates->items[i]))
            cli_error(&tool, NULL,
                      "gate '%s': %s, so that totals are of different work%s",
                      gates->items[i].text, diff_unequal(d),
                      d->alike ? "; 'step +3%' compares steps" : "");
        else if (diff_gate_missed(&gates->items[i]) &&
                 diff_gate_is_part(&gates->items[i], d))
            cli_error(&tool, NULL,
                      "gate '%s': no name is '%s' as a whole, but it is a part "
                      "of some: '*%s*' matches these",
                      gates->items[i].text, gates->items[i].pattern,
                      gates->items[i].pattern);
        else if (diff_gate_missed(&gates->items[i]))
            cli_error(&tool, NULL,
                      "gate '%s': neither trace has anything like it; if it "
                      "may be absent, write '?%s'",
                      gates->items[i].text, gates->items[i].text);
}

// With the files of both sides, those of A first.
static void put_json(const diff *d, analyze_job view, const report *r)
{
    const analyze_job *const a = &d->sides[0].job, *const b = &d->sides[1].job;
    view.file_count = a->file_count + b->file_count;
    view.files = malloc(view.file_count * sizeof *view.files);
    if (!view.files) view.file_count = 0;
    for (uint32_t i = 0; i < view.file_count; i++)
        view.files[i] =
            i < a->file_count ? a->files[i] : b->files[i - a->file_count];
    analyze_json(&view, r);
    free(view.files);
}

static bool is_stdout(const char *path)
{
    return path && !strcmp(path, "-");
}

static int tell(diff *d, const diff_gates *gates)
{
    report *const r = report_open();
    analyze_job view = { .tool = &tool, .options = d->sides[0].job.options };
    int code = BAD;
    if (r) diff_report(d, gates, r);
    if (!r || report_failed(r)) {
        cli_error(&tool, NULL, "out of memory");
    } else if ((!junit_text || diff_junit(d, gates, junit_text)) &&
               (!markdown_text || diff_markdown(d, gates, r, markdown_text))) {
        if (want_json)
            put_json(d, view, r);
        else if (!is_stdout(junit_text) && !is_stdout(markdown_text))
            analyze_text(&view, r);
        code = diff_gates_failed(gates)   ? REGRESSED
               : diff_gates_missed(gates) ? BAD
                                          : SAME;
    }
    report_close(r);
    return code;
}

static int run(diff *d, diff_gates *gates, char **a, int a_count, char **b,
               int b_count)
{
    if (!diff_open(d, a, (uint32_t)a_count, b, (uint32_t)b_count)) return BAD;
    if (!diff_compare(d) || !diff_gates_check(gates, d)) {
        cli_error(&tool, NULL, "out of memory");
        return BAD;
    }
    warn(gates, d);
    return tell(d, gates);
}

// Of both sides the same part.
static int select_and_run(diff *d, diff_gates *gates, char **a,
                          uint32_t a_count, char **b, uint32_t b_count)
{
    if (!select_files(&tool, a, &a_count) || !select_files(&tool, b, &b_count))
        return BAD;
    select_install();
    return run(d, gates, a, (int)a_count, b, (int)b_count);
}

// The files with gates are read like the traces.
static bool check_files(char **traces, size_t count)
{
    const cli_output outputs[] = {
        { "--junit", junit_text, CLI_JUNIT },
        { "--markdown", markdown_text, CLI_MARKDOWN },
        { "--json", want_json ? "-" : NULL, CLI_ANY },
    };
    const char **const inputs =
        malloc((count + CLI_LIST_MOST) * sizeof *inputs);
    if (!inputs) {
        cli_error(&tool, NULL, "out of memory");
        return false;
    }
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
    int b_count = -1; // of the files behind "--"
    for (int i = 1; i < argc && b_count < 0; i++)
        if (!strcmp(argv[i], "--")) b_count = argc - i - 1;
    cli_parse(&tool, &argc, argv);
    int a_count = argc - 1 - (b_count < 0 ? 0 : b_count);
    if (b_count < 0 || !a_count) { // one file each
        b_count = argc == 3 ? 1 : 0;
        a_count = argc - 1 - b_count;
    }
    if (a_count < 1 || b_count < 1) {
        cli_error(&tool, NULL, "which two traces?");
        return cli_usage(&tool);
    }
    if (!check_files(argv + 1, (size_t)(a_count + b_count))) return BAD;
    diff d = { .tool = &tool };
    diff_gates gates = { .untested_fails = want_untested };
    if (!parse_alpha(alpha_text, &d.alpha) || !select_check(&tool))
        return cli_usage(&tool);
    const analyze_options o = { .top = top,
                                .rows = rows,
                                .collapse = want_collapse,
                                .no_demangle = want_mangled };
    for (int side = 0; side < 2; side++)
        d.sides[side].job = (analyze_job){ .tool = &tool, .options = o };
    int code = BAD;
    if (read_gates(&gates))
        code = select_and_run(&d, &gates, argv + 1, (uint32_t)a_count,
                              argv + 1 + a_count, (uint32_t)b_count);
    diff_close(&d);
    diff_gates_close(&gates);
    return cli_finish(&tool, code) == code ? code : BAD;
}
