/*
    ts-merge.c - several traces become one
*/
#include "tools/cli/context.h"
#include "tools/tracesmith_tools.h"

static const char *out_text;
static cli_list offsets;
static bool shared_flows, option_json;

static const cli_option options[] = {
    { .name = "-o, --output FILE",
      .help = "the trace to write; an existing trace is replaced when it\n"
              "is complete",
      .text = &out_text },
    { .name = "--offset FILE=TIME",
      .help = "add TIME to all times of that file (-1.5ms, 20us) instead\n"
              "of aligning its clock; the first file defines the time\n"
              "axis",
      .list = &offsets },
    { .name = "--shared-flows",
      .help = "ids of flows and spans mean the same in all processes",
      .flag = &shared_flows },
    { .name = "--json", .help = "print one JSON object", .flag = &option_json },
    { 0 },
};

static const cli_tool tool = {
    .name = "ts-merge",
    .usage = "[options] -o FILE TRACE...",
    .about = "Merges several traces, such as the ranks of a job, into one on "
             "the time axis of\nthe first.",
    .options = options,
};

int main(int argc, char **argv)
{
    cli_reporter reporter = { .tool = &tool };
    cli_parse(&tool, &argc, argv);
    if (argc < 2) {
        cli_error(&tool, NULL, "traces to read are required");
        return cli_usage(&tool);
    }
    if (!out_text) {
        cli_error(&tool, NULL, "an output is required: -o FILE");
        return cli_usage(&tool);
    }
    const ts_merge_desc desc = { .paths = (const char *const *)argv + 1,
                                 .path_count = (size_t)argc - 1,
                                 .output = out_text,
                                 .offsets = offsets.items,
                                 .offset_count = offsets.count,
                                 .shared_flows = shared_flows,
                                 .observer = cli_observer(&reporter) };
    const ts_output out = { .stream = stdout };
    ts_merge *merged;
    const ts_result result = ts_merge_files(&merged, &desc, NULL);
    if (result == TS_OK)
        ts_merge_write(merged, option_json ? TS_REPORT_JSON : TS_REPORT_TEXT,
                       &out, NULL);
    ts_merge_close(merged);
    return cli_finish(&tool, result == TS_OK          ? CLI_OK
                             : result == TS_ERR_USAGE ? CLI_USAGE
                                                      : CLI_FAILED);
}
