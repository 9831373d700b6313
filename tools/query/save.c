/*
    save.c - writes the virtual tables to a real database
*/
#include "tools/query/tables.h"

#ifdef TRACESMITH_SQLITE

bool query_run_made(query *q, char *sql)
{
    const int code =
        sql ? sqlite3_exec(q->db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    return code == SQLITE_OK;
}

// Returns a CREATE TABLE with types and comments, which SQLite stores.
static char *create_text(const query *q, const query_table *table)
{
    sqlite3_str *const text = sqlite3_str_new(q->db);
    const bool file = q->file_count > 1 && !table->kinds && !table->joint;
    const uint32_t count = table->column_count;
    uint32_t shown = 0;
    while (shown < count && (q->file_count > 1 ||
                             strcmp(table->columns[shown].name, "file") != 0))
        shown++;
    sqlite3_str_appendf(text, "CREATE TABLE saved.\"%w\" ( -- %s\n",
                        table->name, table->about);
    for (uint32_t i = 0; i < shown; i++)
        sqlite3_str_appendf(
            text, "    \"%w\" %s%s -- %s\n", table->columns[i].name,
            query_type_name(table->columns[i].type),
            i + 1 < shown || file ? "," : "", table->columns[i].about);
    if (file) sqlite3_str_appendall(text, "    file TEXT\n");
    sqlite3_str_appendall(text, ")");
    return sqlite3_str_finish(text);
}

static bool save_table(query *q, const query_table *table)
{
    if (!strcmp(table->name, "query_stats")) return true;
    return query_run_made(q, create_text(q, table)) &&
           query_run_made(
               q, sqlite3_mprintf(
                      "INSERT INTO saved.\"%w\" SELECT * FROM main.\"%w\"",
                      table->name, table->name));
}

static bool save_tables(query *q)
{
    const query_table *table;
    const query_view *view;
    for (size_t i = 0; (table = query_table_at(i)) != NULL; i++)
        if (!save_table(q, table)) return false;
    for (size_t i = 0; (view = query_view_at(i)) != NULL; i++) {
        char *const text = query_view_text(q, view, "saved.");
        if (!query_run_made(q, text)) return false;
    }
    return query_run_made(
               q, sqlite3_mprintf("CREATE INDEX saved.gpu_op_correlation "
                                  "ON gpu_op(correlation)")) &&
           query_run_made(
               q, sqlite3_mprintf("CREATE INDEX saved.api_call_correlation "
                                  "ON api_call(correlation)")) &&
           query_run_made(
               q, sqlite3_mprintf("CREATE INDEX saved.name_id ON name(id)")) &&
           query_run_made(q, sqlite3_mprintf("CREATE INDEX saved.StringIds_id "
                                             "ON StringIds(id)"));
}

// The statement is first compiled alone, to check that it only reads.
static bool save_result(query *q, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    const char *rest = "";
    q->trusted = false;
    const int code = sqlite3_prepare_v2(q->db, sql, -1, &statement, &rest);
    q->trusted = true;
    if (code != SQLITE_OK) return false;
    const bool alone = statement && sqlite3_stmt_readonly(statement) &&
                       sqlite3_column_count(statement) > 0 &&
                       !rest[strspn(rest, " \t\r\n;")];
    sqlite3_finalize(statement);
    if (!alone) {
        q->failure = "--save requires a single SELECT";
        return false;
    }
    char *const text = sqlite3_mprintf("CREATE TABLE saved.result AS %.*s",
                                       (int)(rest - sql), sql);
    const bool done = text && query_execute(q, text);
    sqlite3_free(text);
    return done;
}

// Fills the new file as one transaction.
static bool save(query *q, const char *path, query_fill fill, void *user)
{
    return query_run_made(q, sqlite3_mprintf("ATTACH %Q AS saved", path)) &&
           query_run_made(q,
                          sqlite3_mprintf("PRAGMA saved.journal_mode = OFF")) &&
           query_run_made(q,
                          sqlite3_mprintf("PRAGMA saved.synchronous = OFF")) &&
           query_run_made(q, sqlite3_mprintf("BEGIN")) && fill(q, user) &&
           query_run_made(q, sqlite3_mprintf("COMMIT"));
}

bool query_save_by(query *q, const char *path, query_fill fill, void *user)
{
    cli_out out; // SQLite writes the file, but would not report why it cannot
    if (!cli_out_open(&out, q->tool, path)) return false;
    query_interrupts_begin(q);
    q->failure = NULL;
    q->trusted = true;
    const bool done = out.temporary && save(q, out.temporary, fill, user);
    if (!done)
        cli_fail(q->tool, TS_ERR_IO, path, "cannot be saved: %s",
                 !out.temporary ? "not a regular file"
                 : q->failure   ? q->failure
                                : sqlite3_errmsg(q->db));
    sqlite3_exec(q->db, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_exec(q->db, "DETACH saved", NULL, NULL, NULL);
    q->trusted = false;
    query_interrupts_end();
    cli_progress_end(&q->progress);
    query_print_damage(q);
    return cli_out_close(&out, done);
}

static bool fill(query *q, void *sql)
{
    return sql ? save_result(q, sql) : save_tables(q);
}

int query_save(query *q, const char *path, const char *sql)
{
    return query_save_by(q, path, fill, (void *)(uintptr_t)sql) ? CLI_OK
                                                                : CLI_FAILED;
}

#endif
