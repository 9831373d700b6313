/*
    query.c - the tools query and schema: SQL that can only read
*/
#include "tools/mcp/call.h"

// A page has at most ROWS_MOST rows, however small they are; what SQL makes of
// them may have TEXT_MOST bytes.
enum { ROWS_MOST = 1000, TIME_MS = 10000 };
static const size_t text_most = 8 << 20;
static const uint64_t value_most = 1 << 20;

static bool is_cancelled(void *user)
{
    const mcp_call *const call = user;
    return call->cancelled && atomic_load(call->cancelled);
}

// A hint names the options of ts-query; here a tool does what they do.
static void name_tool(char *text, const char *option)
{
    static const char name[] = "schema";
    char *const at = strstr(text, option);
    if (!at) return;
    const char *const rest = at + strlen(option);
    memcpy(at, name, sizeof name - 1);
    memmove(at + sizeof name - 1, rest, strlen(rest) + 1);
}

// Runs the SQL for one page of rows. False, with the error.
static bool run(mcp_call *call, const char *sql, uint64_t first, mcp_text *rows)
{
    const ts_sql_limits limits = {
        .skip_rows = first,
        .rows = ROWS_MOST,
        .time_ns = (uint64_t)mcp_integer_of(call, "time_ms", TIME_MS) * 1000000,
        .value_bytes = value_most,
        .only_read = true,
        .stop = is_cancelled,
        .user = call,
    };
    const ts_output output = { .write = mcp_text_add, .user = rows };
    ts_sql *const handle = call->set->sql;
    rows->most = text_most;
    ts_sql_limit(handle, &limits);
    const ts_result result = ts_sql_write(handle, sql, "sql", TS_SQL_JSON,
                                          &output, NULL, &call->error);
    if (result == TS_ERR_IO)
        mcp_fail(call, result,
                 "sql: its rows have more than %s; select fewer columns, or "
                 "shorter ones",
                 cli_bytes(text_most).s);
    name_tool(call->error.text, "--tables");
    name_tool(call->error.text, "--schema");
    return result == TS_OK;
}

// Shows texts as they are, and numbers as SQLite has them.
static void put_row(mcp_call *call, const mcp_value *row)
{
    cli_json *const json = &call->answer.row;
    for (const mcp_value *v = row->first; v; v = v->next)
        if (v->type == MCP_STRING)
            mcp_put(call, json, NULL, v->text, MCP_PROSE);
        else
            mcp_json_put(json, NULL, v, NULL);
}

static bool put_trust(mcp_call *call, const mcp_value *answer)
{
    const char *because[2] = { NULL };
    int64_t damaged = 0;
    mcp_integer(mcp_at(answer, "damaged_places"), &damaged);
    if (damaged) because[0] = "rows of damaged places are missing";
    return mcp_put_trust(
        call, damaged ? TS_CONFIDENCE_MEDIUM : TS_CONFIDENCE_HIGH, because);
}

static bool put_page(mcp_call *call, const mcp_value *answer)
{
    const mcp_value *const results = mcp_at(answer, "results");
    const mcp_value *const result = results ? results->first : NULL;
    const mcp_value *const columns = mcp_at(result, "columns");
    const mcp_value *const rows = mcp_at(result, "rows");
    cli_json *const json = &call->answer.json;
    uint64_t at = call->answer.first;
    if (!result || result->next)
        return mcp_fail(call, TS_ERR_USAGE,
                        result ? "sql: it is more than one SELECT; ask one "
                                 "after the other"
                               : "sql: it returns no rows; it is a SELECT");
    const bool more = ts_sql_has_more(call->set->sql);
    mcp_put_string(call, json, "answer",
                   cli_format("%s%s", cli_counted(rows->count, "row", "rows").s,
                              more ? ", and more" : "")
                       .s);
    if (!put_trust(call, answer)) return false;
    cli_json_open(json, "columns", '[');
    for (const mcp_value *v = columns->first; v; v = v->next)
        mcp_put(call, json, NULL, v->text, MCP_NAME);
    cli_json_close(json, ']');
    cli_json_uint(json, "first_row", at);
    mcp_list_begin(call, "rows");
    for (const mcp_value *v = rows->first; v; v = v->next, at++) {
        if (!mcp_row_begin(call, at, '[')) break;
        put_row(call, v);
        if (!mcp_row_end(call, ']')) break;
    }
    return mcp_answer_end(call, more);
}

bool mcp_query(mcp_call *call)
{
    const char *const sql = mcp_string_at(call->arguments, "sql");
    mcp_text rows = { 0 };
    mcp_json json = { 0 };
    if (!mcp_need_sql(call->set, &call->error) || !mcp_answer_begin(call))
        return false;
    bool done = run(call, sql, call->answer.first, &rows);
    if (done && !mcp_json_read(&json, rows.text, rows.size))
        done = mcp_fail(call, TS_ERR_UNSUPPORTED,
                        "sql: its rows cannot be read (%s); select fewer "
                        "columns",
                        json.why);
    done = done && put_page(call, json.root);
    mcp_json_close(&json);
    free(rows.text);
    return done;
}

/* ---- Schema -------------------------------------------------------------- */

static bool write_schema(mcp_call *call, const char *table, mcp_text *text)
{
    const ts_output output = { .write = mcp_text_add, .user = text };
    const ts_sql_desc none = { .path_count = 0 };
    ts_sql *sql;
    if (ts_sql_open(&sql, &none, &call->error) != TS_OK) return false;
    const ts_result result =
        table ? ts_sql_schema_write(sql, table, &output, &call->error)
              : ts_sql_tables_write(sql, &output, &call->error);
    ts_sql_close(sql);
    name_tool(call->error.text, "--tables");
    return result == TS_OK;
}

static bool put_lines(mcp_call *call, const char *text)
{
    uint64_t at = 0;
    mcp_list_begin(call, "lines");
    for (const char *end; *text; text = *end ? end + 1 : end, at++) {
        end = text + strcspn(text, "\n");
        if (!mcp_row_begin(call, at, 0)) continue;
        mcp_put(call, &call->answer.row, NULL,
                (ts_text){ text, (size_t)(end - text) }, MCP_PROSE);
        if (!mcp_row_end(call, 0)) break;
    }
    return mcp_answer_end(call, false);
}

bool mcp_schema(mcp_call *call)
{
    const char *const table = mcp_string_at(call->arguments, "table");
    mcp_text text = { 0 };
    bool done = write_schema(call, table, &text) && mcp_answer_begin(call);
    if (done) {
        mcp_put_string(call, &call->answer.json, "answer",
                       table
                           ? "The columns, with their units."
                           : "Tables and views; name one to see its columns. "
                             "Times are ns since the start of the recording.");
        done = put_lines(call, text.text ? text.text : "");
    }
    free(text.text);
    return done;
}
