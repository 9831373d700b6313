/*
    ts-cut.c - a part of a trace as a trace of its own
*/
#include "tools/cli/context.h"
#include "tools/common/select/select.h"
#include "tools/tracesmith_tools.h"

static const char *out_text, *name_text, *deps_text;
static bool anonymise, option_json;

static const cli_option options[] = {
    { .name = "-o, --output FILE",
      .help = "the trace to write; an existing trace is replaced when it\n"
              "is complete",
      .text = &out_text },
    SELECT_OPTIONS,
    SELECT_KIND,
    { .name = "--frame [NAME:]A..B",
      .help = "select the time range of frames A to B, numbered from 0",
      .text = &selected.frame },
    { .name = "--process LIST",
      .help = "select events of these processes: numbers or full names,\n"
              "separated by commas; * matches any characters",
      .text = &selected.process },
    { .name = "--name REGEX",
      .help = "select events whose name contains a match of REGEX; ^ and\n"
              "$ match the ends of a name",
      .text = &name_text },
    { .name = "--keep-deps HOW",
      .help = "also keep: calls: the calls that launched kept operations\n"
              "(default, unless --kind is given); both: also operations\n"
              "that kept calls launched; none",
      .text = &deps_text },
    { .name = "--anonymise",
      .help = "remove everything that identifies programs, users,\n"
              "machines and times",
      .flag = &anonymise },
    { .name = "--json", .help = "print one JSON object", .flag = &option_json },
    { 0 },
};

static const cli_tool tool = {
    .name = "ts-cut",
    .usage = "[options] -o FILE TRACE",
    .about = "Writes a part of a trace: the events that match all options. "
             "Events keep their\nfull duration and their recorded times.",
    .options = options,
};

/* ---- Options ------------------------------------------------------------- */

static bool parse_deps(ts_cut_deps *deps)
{
    static const char *const names[] = { "", "calls", "both", "none" };
    for (size_t i = 1; deps_text && i < sizeof names / sizeof *names; i++) {
        if (strcmp(deps_text, names[i]) != 0) continue;
        *deps = (ts_cut_deps)i;
        return true;
    }
    if (!deps_text) return true;
    cli_error(&tool, NULL, "--keep-deps %s: must be calls, both or none",
              deps_text);
    return false;
}

/* ---- Result -------------------------------------------------------------- */

static void print_text(const ts_cut_counts *counts)
{
    cli_put_text(stdout, out_text, strlen(out_text));
    printf(": %s of %s events", cli_count(counts->kept).s,
           cli_count(counts->kept + counts->left_out).s);
    if (counts->added)
        printf(", %s of them because other kept events depend on them",
               cli_count(counts->added).s);
    if (anonymise) printf("; %s texts replaced", cli_count(counts->replaced).s);
    putchar('\n');
}

static void print_json(const ts_cut_counts *counts)
{
    cli_json json = { .out = stdout, .lines = 1 };
    cli_json_open(&json, NULL, '{');
    cli_json_string(&json, "output", out_text);
    cli_json_uint(&json, "kept", counts->kept);
    cli_json_uint(&json, "left_out", counts->left_out);
    cli_json_uint(&json, "added", counts->added);
    cli_json_uint(&json, "undefined", counts->undefined);
    cli_json_uint(&json, "replaced", counts->replaced);
    cli_json_close(&json, '}');
}

int main(int argc, char **argv)
{
    cli_reporter reporter = { .tool = &tool };
    ts_cut_counts counts;
    cli_parse(&tool, &argc, argv);
    if (argc != 2 || !out_text) {
        cli_error(&tool, NULL,
                  argc < 2   ? "a trace to read is required"
                  : argc > 2 ? "exactly one trace can be cut at a time"
                             : "an output is required: -o FILE");
        return cli_usage(&tool);
    }
    ts_cut_desc desc = { .path = argv[1],
                         .output = out_text,
                         .selection = &selected,
                         .name = name_text,
                         .anonymise = anonymise,
                         .observer = cli_observer(&reporter) };
    if (!select_check(&tool) || !parse_deps(&desc.deps))
        return cli_usage(&tool);
    const ts_result result = ts_cut_file(&counts, &desc, NULL);
    if (result == TS_ERR_USAGE) return cli_usage(&tool);
    if (result == TS_OK) (option_json ? print_json : print_text)(&counts);
    return cli_finish(&tool, result == TS_OK ? CLI_OK : CLI_FAILED);
}
