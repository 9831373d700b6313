/*
    verify.c - ts-replay --verify
*/
#include "tools/replay/verify/verify.h"

static bool open_side(const cli_tool *tool, const char *path, verify_side *side)
{
    side->path = path;
    return cli_trace_open(&side->trace, tool, path, NULL, CLI_WARN_ALL);
}

static int compare(const cli_tool *tool, verify_report *report, bool json)
{
    size_t damage[2];
    for (int i = 0; i < 2; i++)
        damage[i] = ts_reader_damage_count(report->side[i].trace.reader);
    const bool loaded = verify_load(report->side);
    for (int i = 0; i < 2; i++)
        cli_trace_damage(&report->side[i].trace, tool, report->side[i].path,
                         damage[i]);
    if (!loaded || !verify_match(report)) {
        cli_out_of_memory(tool);
        return REPLAY_BAD;
    }
    // A comparison without operations is a failure.
    for (int i = 0; i < 2; i++) {
        if (report->side[i].op_count) continue;
        cli_error(tool, report->side[i].path,
                  "the trace contains no GPU operation to compare");
        return REPLAY_UNSUPPORTED;
    }
    if (json)
        verify_json(report);
    else
        verify_text(report);
    return verify_is_same(report) ? REPLAY_SAME : REPLAY_DIVERGED;
}

int verify_run(const cli_tool *tool, const char *a, const char *b, bool json)
{
    verify_report report = { 0 };
    int code = REPLAY_BAD;
    if (open_side(tool, a, &report.side[0])) {
        if (open_side(tool, b, &report.side[1])) {
            code = compare(tool, &report, json);
            verify_close(&report.side[1]);
            cli_trace_close(&report.side[1].trace);
        }
        verify_close(&report.side[0]);
        cli_trace_close(&report.side[0].trace);
    }
    free(report.differences);
    return code;
}
