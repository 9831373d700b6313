/*
    sql.c - SQL over traces
*/
#include "tools/api/call.h"
#include "tools/common/select/select.h"
#include "tools/query/query.h"

static const cli_tool tool = { .name = "ts-query" };

struct ts_sql {
    api_texts texts;
    char **paths;
    uint32_t count;
    bool no_symbols;
    ts_observer observer;
    query *query;
};

/* ---- Opening ------------------------------------------------------------- */

static bool open_sql(ts_sql *s, api_call *call, const ts_sql_desc *desc)
{
    s->no_symbols = desc->no_symbols;
    s->observer = desc->observer;
    s->count = (uint32_t)desc->path_count;
    s->paths = api_keep_all(&s->texts, desc->paths, desc->path_count);
    if (s->texts.failed) return cli_out_of_memory(&tool);
    if (!select_check(&tool) ||
        !cli_inputs_check(&tool, (const char *const *)s->paths, s->count))
        return false;
    call->fallback = TS_ERR_NOT_FOUND;
    if (!select_files(&tool, s->paths, &s->count)) return false;
    select_install();
    s->query = query_open(&tool, s->paths, s->count);
    if (!s->query) return false;
    query_set_pushdown(s->query, !desc->no_pushdown);
    for (size_t i = 0; i < desc->setting_count; i++)
        if (!query_set(s->query, desc->settings[i]))
            return cli_fail(&tool, TS_ERR_USAGE, NULL,
                            "--set %s: must be NAME=VALUE", desc->settings[i]);
    return true;
}

ts_result ts_sql_open(ts_sql **sql, const ts_sql_desc *desc, ts_error *error)
{
    api_call call;
    *sql = NULL;
    bool ok = api_begin(&call, &desc->observer, desc->selection, error);
    call.context.no_symbols = desc->no_symbols;
    if (ok && desc->path_count > UINT32_MAX)
        ok = api_refuse(&tool, "more traces than a query can hold");
    ts_sql *const s = ok ? calloc(1, sizeof *s) : NULL;
    if (ok && !s) ok = cli_out_of_memory(&tool);
    ok = ok && open_sql(s, &call, desc);
    const ts_result result = api_end(&call, ok);
    if (ok)
        *sql = s;
    else
        ts_sql_close(s);
    return result;
}

void ts_sql_close(ts_sql *sql)
{
    if (!sql) return;
    query_close(sql->query);
    free(sql->paths);
    api_texts_close(&sql->texts);
    free(sql);
}

size_t ts_sql_trace_count(const ts_sql *sql)
{
    return sql->count;
}

/* ---- Bounds -------------------------------------------------------------- */

void ts_sql_limit(ts_sql *sql, const ts_sql_limits *limits)
{
    query_limit(sql->query, limits);
}

bool ts_sql_has_more(const ts_sql *sql)
{
    return query_has_more(sql->query);
}

/* ---- Running ------------------------------------------------------------- */

// A job for `put`: what to write to `output`, and in which form.
typedef struct sql_job {
    bool (*put)(ts_sql *sql, const struct sql_job *job);
    ts_sql_format format;
    const char *text, *where, *table;
} sql_job;

static bool run_job(ts_sql *s, api_call *call, const sql_job *job,
                    const ts_output *output)
{
    static const cli_kind kinds[] = { CLI_ANY, CLI_ANY, CLI_JSON };
    api_output to;
    if ((unsigned)job->format > TS_SQL_JSON)
        return api_refuse(&tool, "rows must be a table, CSV or JSON");
    if (!api_output_check(&tool, output, kinds[job->format],
                          (const char *const *)s->paths, s->count) ||
        !api_output_open(&to, call, &tool, output))
        return false;
    query_set_mode(s->query, (query_mode)job->format);
    const bool done = job->put(s, job);
    // Rows printed before an error are kept.
    return api_output_close(&to, call, &tool, true) && done;
}

static ts_result run(ts_sql *s, const sql_job *job, const ts_output *output,
                     ts_error *error)
{
    api_call call;
    bool ok = api_begin(&call, &s->observer, NULL, error);
    call.context.no_symbols = s->no_symbols;
    ok = ok && run_job(s, &call, job, output);
    return api_end(&call, ok);
}

static bool put_rows(ts_sql *s, const sql_job *job)
{
    return query_run(s->query, job->text, job->where) == CLI_OK;
}

static bool put_schema(ts_sql *s, const sql_job *job)
{
    return query_schema(s->query, job->table) == CLI_OK;
}

static bool put_tables(ts_sql *s, const sql_job *job)
{
    (void)job;
    return query_tables(s->query) == CLI_OK;
}

ts_result ts_sql_write(ts_sql *sql, const char *text, const char *where,
                       ts_sql_format format, const ts_output *output,
                       uint64_t *rows, ts_error *error)
{
    const sql_job job = {
        .put = put_rows, .format = format, .text = text, .where = where
    };
    const ts_result result = run(sql, &job, output, error);
    if (rows) *rows = result == TS_OK ? query_row_count(sql->query) : 0;
    return result;
}

ts_result ts_sql_read(ts_sql *sql, const char *text, const char *where,
                      const ts_sql_rows *rows, ts_error *error)
{
    api_call call;
    bool ok = api_begin(&call, &sql->observer, NULL, error);
    call.context.no_symbols = sql->no_symbols;
    if (ok && (!rows->columns || !rows->row))
        ok = api_refuse(&tool, "rows must have both functions");
    if (ok) {
        query_set_mode(sql->query, QUERY_VALUES);
        query_set_rows(sql->query, rows);
        ok = query_run(sql->query, text, where) == CLI_OK;
    }
    return api_end(&call, ok);
}

ts_result ts_sql_schema_write(ts_sql *sql, const char *table,
                              const ts_output *output, ts_error *error)
{
    const sql_job job = { .put = put_schema, .table = table };
    return run(sql, &job, output, error);
}

ts_result ts_sql_tables_write(ts_sql *sql, const ts_output *output,
                              ts_error *error)
{
    const sql_job job = { .put = put_tables };
    return run(sql, &job, output, error);
}

static bool save(ts_sql *s, const char *path, const char *text)
{
    const cli_output output = { "path", path, CLI_DATABASE };
    if (!path || !strcmp(path, "-"))
        return api_refuse(&tool, "a database must be written to a file");
    return cli_regular_check(&tool, path) &&
           cli_outputs_check(&tool, &output, 1, (const char *const *)s->paths,
                             s->count) &&
           query_save(s->query, path, text) == CLI_OK;
}

ts_result ts_sql_save(ts_sql *sql, const char *path, const char *text,
                      ts_error *error)
{
    api_call call;
    bool ok = api_begin(&call, &sql->observer, NULL, error);
    call.context.no_symbols = sql->no_symbols;
    call.fallback = TS_ERR_IO;
    ok = ok && save(sql, path, text);
    return api_end(&call, ok);
}
