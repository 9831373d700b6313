/*
    ts-merge.c - several traces become one
*/
#include "tools/merge/merge.h"

static const char *out_text;
static cli_list offsets;
static bool shared_flows, want_json;

static const cli_option options[] = {
    { .name = "-o, --output FILE",
      .help = "the trace to write; what is there is replaced at the end",
      .text = &out_text },
    { .name = "--offset FILE=TIME",
      .help = "add TIME to all times of that file (-1.5ms, 20us),\n"
              "whatever its clock says; the first file has the time axis",
      .list = &offsets },
    { .name = "--shared-flows",
      .help = "ids of flows and spans mean the same in all processes",
      .flag = &shared_flows },
    { .name = "--json", .help = "print one JSON object", .flag = &want_json },
    { 0 },
};

static const cli_tool tool = {
    .name = "ts-merge",
    .usage = "[options] -o FILE TRACE...",
    .about = "Makes one trace of several, such as the ranks of a job, on the\n"
             "clock of the first.",
    .options = options,
};

int main(int argc, char **argv)
{
    merge_job job = { .tool = &tool };
    cli_parse(&tool, &argc, argv);
    if (argc < 2) {
        cli_error(&tool, NULL, "which traces?");
        return cli_usage(&tool);
    }
    if (!out_text) {
        cli_error(&tool, NULL, "where to? Give -o FILE");
        return cli_usage(&tool);
    }
    job.out = out_text;
    job.shared_flows = shared_flows;
    int code = CLI_FAILED;
    if (merge_open(&job, argv + 1, (uint32_t)argc - 1)) {
        if (!merge_offsets(&job, &offsets) ||
            !cli_joined_check(&tool, out_text, "merge.files")) {
            code = CLI_USAGE;
        } else if (merge_place(&job) && merge_write(&job)) {
            (want_json ? merge_json : merge_text)(&job);
            code = CLI_OK;
        }
    }
    merge_close(&job);
    return cli_finish(&tool, code);
}
