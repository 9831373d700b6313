/*
    diff.c - the tool diff: what changed between two runs
*/
#include "tools/mcp/call.h"

enum { SECTIONS_SHOWN = 8, SENTENCE = 240 };

static bool take_sides(mcp_call *call)
{
    if (call->models->file_count < 2)
        return mcp_fail(call, TS_ERR_NOT_FOUND,
                        "diff needs two traces, and the server has one: start "
                        "ts-mcp with both");
    call->set = mcp_set_of(call, "before", 1);
    if (!call->set) return false;
    call->also = mcp_set_of(call, "after", 2);
    if (!call->also) return false;
    for (uint32_t i = 0; i < call->set->count; i++)
        for (uint32_t j = 0; j < call->also->count; j++)
            if (call->set->files[i] == call->also->files[j])
                return mcp_fail(call, TS_ERR_USAGE,
                                "after: trace %" PRIu32 " is in `before` too",
                                call->set->files[i] + 1);
    return true;
}

/* ---- What is said -------------------------------------------------------- */

static ts_text text_at(const mcp_value *object, const char *key)
{
    const mcp_value *const v = mcp_at(object, key);
    return mcp_is(v, MCP_STRING) ? v->text : (ts_text){ "", 0 };
}

static ts_confidence confidence_of(const mcp_value *section)
{
    const char *const name = mcp_string_at(section, "confidence");
    return name && !strcmp(name, "high")  ? TS_CONFIDENCE_HIGH
           : name && !strcmp(name, "low") ? TS_CONFIDENCE_LOW
                                          : TS_CONFIDENCE_MEDIUM;
}

static bool put_trust(mcp_call *call, const mcp_value *section)
{
    const char *because[9] = { NULL };
    const mcp_value *const list = mcp_at(section, "because");
    size_t reasons = 0;
    for (const mcp_value *v = list ? list->first : NULL; v && reasons < 8;
         v = v->next)
        if (v->type == MCP_STRING) because[reasons++] = v->text.text;
    return mcp_put_trust(call, confidence_of(section), because);
}

static void put_sections(mcp_call *call, const mcp_value *answers)
{
    cli_json *const json = &call->answer.json;
    uint64_t left_out = 0, shown = 0;
    cli_json_open(json, "sections", '[');
    for (const mcp_value *s = answers->first; s; s = s->next) {
        const char *const confidence = mcp_string_at(s, "confidence");
        if (!mcp_at(s, "applies")->truth || !strcmp(s->key.text, "diff"))
            continue;
        if (shown++ >= SECTIONS_SHOWN) {
            left_out++;
            continue;
        }
        cli_json_open(json, NULL, '{');
        cli_json_string(json, "section", s->key.text);
        mcp_put(call, json, "answer", text_at(s, "answer"), SENTENCE);
        if (confidence)
            cli_json_string(json, "confidence", confidence);
        else
            cli_json_null(json, "confidence");
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
    cli_json_uint(json, "sections_left_out", left_out);
}

/* ---- Changes ------------------------------------------------------------- */

// A row of a table, and where it stands.
typedef struct place {
    const mcp_value *section, *table, *row;
} place;

// Goes to the next row that has a change.
static bool next_change(const mcp_value *answers, place *p)
{
    for (;;) {
        if (p->row) p->row = p->row->next;
        while (!p->row) {
            if (p->table) p->table = p->table->next;
            while (!p->table) {
                p->section = p->section ? p->section->next : answers->first;
                if (!p->section) return false;
                const mcp_value *const tables = mcp_at(p->section, "tables");
                p->table = tables ? tables->first : NULL;
            }
            const mcp_value *const rows = mcp_at(p->table, "rows");
            p->row = rows ? rows->first : NULL;
        }
        if (mcp_at(p->row, "change")) return true;
    }
}

static void copy(cli_json *json, const char *key, const mcp_value *value)
{
    if (value)
        mcp_json_put(json, key, value, NULL);
    else
        cli_json_null(json, key);
}

static bool is_gone(const mcp_value *row)
{
    int64_t count;
    return mcp_integer(mcp_at(row, "count_b"), &count) && !count;
}

static void put_evidence(mcp_call *call, const place *p)
{
    cli_json *const json = &call->answer.row;
    const mcp_value *const evidence = mcp_at(p->row, "evidence");
    const mcp_set *const set = is_gone(p->row) ? call->set : call->also;
    const mcp_value *const operations = mcp_at(evidence, "operations");
    int64_t file;
    if (mcp_integer(mcp_at(evidence, "file"), &file) && file >= 0 &&
        file < set->count)
        cli_json_uint(json, "trace", set->files[file] + 1);
    else
        cli_json_null(json, "trace");
    copy(json, "from_ns", mcp_at(evidence, "from_ns"));
    copy(json, "to_ns", mcp_at(evidence, "to_ns"));
    cli_json_open(json, "operations", '[');
    for (const mcp_value *v = operations ? operations->first : NULL; v;
         v = v->next)
        copy(json, NULL, v);
    cli_json_close(json, ']');
}

static void put_change(mcp_call *call, const place *p)
{
    cli_json *const row = &call->answer.row;
    const mcp_value *const units = mcp_at(p->table, "units");
    mcp_put(call, row, "section", p->section->key, MCP_NAME);
    mcp_put(call, row, "table", p->table->key, MCP_NAME);
    mcp_put(call, row, "name", text_at(p->row, "name"), MCP_NAME);
    mcp_put(call, row, "unit", text_at(units, "change"), MCP_NAME);
    copy(row, "before", mcp_at(p->row, "a"));
    copy(row, "after", mcp_at(p->row, "b"));
    copy(row, "change", mcp_at(p->row, "change"));
    copy(row, "share", mcp_at(p->row, "share"));
    copy(row, "verdict", mcp_at(p->row, "verdict"));
    copy(row, "p", mcp_at(p->row, "p"));
    put_evidence(call, p);
}

static bool put_changes(mcp_call *call, const mcp_value *answers)
{
    uint64_t count = 0, at = 0;
    for (place p = { NULL, NULL, NULL }; next_change(answers, &p);)
        count++;
    cli_json_uint(&call->answer.json, "total_changes", count);
    mcp_list_begin(call, "changes");
    for (place p = { NULL, NULL, NULL }; next_change(answers, &p); at++) {
        if (!mcp_row_begin(call, at, '{')) continue;
        put_change(call, &p);
        if (!mcp_row_end(call, '}')) break;
    }
    return mcp_answer_end(call, false);
}

bool mcp_diff(mcp_call *call)
{
    if (!take_sides(call)) return false;
    const mcp_value *const report =
        mcp_need_diff(call->models, call->set, call->also, &call->error);
    if (!report) return false;
    const mcp_value *const answers = mcp_at(report, "answers");
    const mcp_value *const section = mcp_at(answers, "diff");
    if (!mcp_answer_begin(call)) return false;
    mcp_put(call, &call->answer.json, "answer", text_at(section, "answer"),
            MCP_PROSE);
    if (!put_trust(call, section)) return false;
    put_sections(call, answers);
    return put_changes(call, answers);
}
