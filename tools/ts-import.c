/*
    ts-import.c - traces of other tools as SBT
*/
#include "tools/cli/context.h"
#include "tools/import/import.h"
#include "tools/tracesmith_tools.h"

static const char *output, *format_name, *rank_list;
static bool option_verbose, option_json;

static const cli_option options[] = {
    { .name = "-o, --output OUT",
      .help = "the SBT file to write, or a folder; several ranks are\n"
              "written to OUT-rankN.sbt, or %r in OUT is replaced by the\n"
              "rank",
      .text = &output },
    { .name = "--format NAME",
      .help = "treat the files as this format instead of detecting it",
      .text = &format_name },
    { .name = "--rank LIST",
      .help = "import only these ranks, separated by commas",
      .text = &rank_list },
    { .name = "--verbose",
      .help = "also list rows that were not imported, bad or estimated",
      .flag = &option_verbose },
    { .name = "--json",
      .help = "print a summary of the output as one JSON object",
      .flag = &option_json },
    { 0 },
};

static const cli_tool tool = {
    .name = "ts-import",
    .usage = "[options] -o OUT FILE...",
    .about =
        "Converts traces of other tools to SBT files, one for each rank. "
        "Reads files,\nalso compressed, archives (tar, zip, 7z) and folders, "
        "and detects the format\nfrom the contents.",
    .options = options,
};

static bool check_usage(int argc)
{
    if (argc < 2)
        cli_error(&tool, NULL, "a file to read is required");
    else if (!output || !*output || !strcmp(output, "-"))
        cli_error(&tool, NULL, "an output is required: -o OUT");
    else
        return import_request_check(&tool, format_name, rank_list);
    return false;
}

int main(int argc, char **argv)
{
    cli_reporter reporter = { .tool = &tool };
    cli_parse(&tool, &argc, argv);
    if (!check_usage(argc)) return cli_usage(&tool);
    const ts_import_desc desc = { .paths = (const char *const *)argv + 1,
                                  .path_count = (size_t)argc - 1,
                                  .output = output,
                                  .format = format_name,
                                  .rank = rank_list,
                                  .verbose = option_verbose,
                                  .observer = cli_observer(&reporter) };
    const ts_output out = { .stream = stdout };
    ts_import *imported;
    const ts_result result = ts_import_files(&imported, &desc, NULL);
    if (imported)
        ts_import_write(imported, option_json ? TS_REPORT_JSON : TS_REPORT_TEXT,
                        &out, NULL);
    ts_import_close(imported);
    return cli_finish(&tool, result == TS_OK ? CLI_OK : CLI_FAILED);
}
