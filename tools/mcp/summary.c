/*
    summary.c - the tools summary and advice: what ts-analyze answers
*/
#include "tools/mcp/call.h"

enum { FILES_SHOWN = 6 };

static uint64_t events_of(const ts_info *info)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < TS_EVENT_LIMIT; i++)
        count += info->counts[i];
    return count;
}

static void put_file(mcp_call *call, uint32_t index)
{
    cli_json *const json = &call->answer.json;
    const mcp_file *const file = &call->models->files[index];
    const ts_info *const info = ts_reader_info(file->reader);
    cli_json_open(json, NULL, '{');
    cli_json_uint(json, "file", index + 1);
    mcp_put_string(call, json, "path", file->path);
    // A hostile trace may end before it begins.
    const uint64_t duration =
        info->last_ns < info->first_ns
            ? 0
            : (uint64_t)info->last_ns - (uint64_t)info->first_ns;
    cli_json_uint(json, "duration_ns", duration);
    cli_json_uint(json, "events", events_of(info));
    cli_json_uint(json, "lost_records", info->lost);
    cli_json_uint(json, "damaged_places", ts_reader_damage_count(file->reader));
    cli_json_bool(json, "finished", info->finished);
    cli_json_close(json, '}');
}

static void put_files(mcp_call *call)
{
    cli_json *const json = &call->answer.json;
    const mcp_set *const set = call->set;
    const uint32_t shown = set->count < FILES_SHOWN ? set->count : FILES_SHOWN;
    cli_json_uint(json, "traces", call->models->file_count);
    cli_json_open(json, "files", '[');
    for (uint32_t i = 0; i < shown; i++)
        put_file(call, set->files[i]);
    cli_json_close(json, ']');
    cli_json_uint(json, "files_left_out", set->count - shown);
}

static void put_topic(mcp_call *call, const ts_analysis_answer *answer)
{
    cli_json *const row = &call->answer.row;
    mcp_put_string(call, row, "topic", answer->topic);
    mcp_put_string(call, row, "title", answer->title);
    mcp_put(call, row, "answer", answer->answer, MCP_PROSE);
    cli_json_bool(row, "applies", answer->applies);
    if (answer->has_confidence)
        mcp_put_confidence(row, "confidence", answer->confidence);
    else
        cli_json_null(row, "confidence");
}

// The answer of a topic; empty if there is none.
static ts_text answer_of(mcp_call *call, const char *topic)
{
    ts_analysis_answer answer;
    for (size_t i = 0;
         ts_analysis_answer_at(call->set->full, i, &answer, &call->error); i++)
        if (!strcmp(answer.topic, topic)) return answer.answer;
    return (ts_text){ "", 0 };
}

bool mcp_summary(mcp_call *call)
{
    ts_analysis_answer answer;
    if (!mcp_need_full(call->set, &call->error) || !mcp_answer_begin(call))
        return false;
    mcp_put(call, &call->answer.json, "answer", answer_of(call, "summary"),
            MCP_PROSE);
    if (!mcp_put_topic_trust(call, "summary")) return false;
    put_files(call);
    mcp_list_begin(call, "topics");
    uint64_t at = 0;
    for (size_t i = 0;
         ts_analysis_answer_at(call->set->full, i, &answer, &call->error);
         i++) {
        if (!strcmp(answer.topic, "summary") || // it stands above
            !mcp_row_begin(call, at++, '{'))
            continue;
        put_topic(call, &answer);
        if (!mcp_row_end(call, '}')) break;
    }
    return call->error.result == TS_OK && mcp_answer_end(call, false);
}

/* ---- Advice -------------------------------------------------------------- */

static void put_ns(cli_json *json, const char *key, bool known, int64_t ns)
{
    if (known)
        cli_json_int(json, key, ns);
    else
        cli_json_null(json, key);
}

static void put_finding(mcp_call *call, const ts_analysis_finding *f)
{
    static const char *const severities[] = { "info", "warning", "severe" };
    cli_json *const row = &call->answer.row;
    cli_json_string(row, "rule", f->rule);
    mcp_put_string(call, row, "title", f->title);
    cli_json_string(row, "severity", severities[f->severity]);
    mcp_put_confidence(row, "confidence", f->confidence);
    mcp_put(call, row, "what", f->what, MCP_PROSE);
    mcp_put(call, row, "todo", f->todo, MCP_PROSE);
    mcp_put(call, row, "how", f->how, MCP_PROSE);
    put_ns(row, "gain_ns", f->has_gain, f->gain_ns);
    put_ns(row, "of_ns", f->has_gain, f->of_ns);
    put_ns(row, "from_ns", f->has_time, f->from_ns);
    put_ns(row, "to_ns", f->has_time, f->to_ns);
}

bool mcp_advice(mcp_call *call)
{
    ts_analysis_finding finding;
    uint64_t count = 0;
    if (!mcp_need_full(call->set, &call->error) || !mcp_answer_begin(call))
        return false;
    mcp_put(call, &call->answer.json, "answer", answer_of(call, "advice"),
            MCP_PROSE);
    if (!mcp_put_topic_trust(call, "advice")) return false;
    while (
        ts_analysis_finding_at(call->set->full, count, &finding, &call->error))
        count++;
    cli_json_uint(&call->answer.json, "total_findings", count);
    mcp_list_begin(call, "findings");
    for (uint64_t i = call->answer.first; i < count; i++) {
        ts_analysis_finding_at(call->set->full, i, &finding, &call->error);
        if (!mcp_row_begin(call, i, '{')) break;
        put_finding(call, &finding);
        if (!mcp_row_end(call, '}')) break;
    }
    return call->error.result == TS_OK && mcp_answer_end(call, false);
}
