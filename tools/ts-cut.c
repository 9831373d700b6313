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
      .help = "the trace to write; what is there is replaced at the end",
      .text = &out_text },
    SELECT_OPTIONS,
    SELECT_KIND,
    { .name = "--frame [NAME:]A..B",
      .help = "only the time of frames number A to B, from 0",
      .text = &selected.frame },
    { .name = "--process LIST",
      .help = "only what belongs to these processes: numbers or names,\n"
              "in which * stands for anything",
      .text = &selected.process },
    { .name = "--name REGEX",
      .help = "only what has a name a part of which matches; ^ and $ are\n"
              "its ends",
      .text = &name_text },
    { .name = "--keep-deps HOW",
      .help = "calls: and the calls that launched what is kept (the\n"
              "default, unless --kind is given); both: and what kept\n"
              "calls launched; none",
      .text = &deps_text },
    { .name = "--anonymise",
      .help = "leave nothing that tells who ran what, where and when",
      .flag = &anonymise },
    { .name = "--json", .help = "print one JSON object", .flag = &option_json },
    { 0 },
};

static const cli_tool tool = {
    .name = "ts-cut",
    .usage = "[options] -o FILE TRACE",
    .about = "Writes a part of a trace: the events for which all options hold. "
             "They are kept\nwhole and when they were.",
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
    cli_error(&tool, NULL, "--keep-deps %s: it is calls, both or none",
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
        printf(", %s of them because they belong to others",
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
                  argc < 2   ? "which trace?"
                  : argc > 2 ? "one trace at a time"
                             : "where to? Give -o FILE");
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
