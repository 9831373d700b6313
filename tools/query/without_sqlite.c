/*
    without_sqlite.c - the functions of query.h in a build without SQLite
*/
#include "tools/query/query.h"

#ifndef TRACESMITH_SQLITE

query *query_open(const cli_tool *tool, char *const *paths, uint32_t count)
{
    (void)paths;
    (void)count;
    cli_fail(tool, TS_ERR_UNSUPPORTED, NULL,
             "this build has no SQLite: install libsqlite3-dev (or the package "
             "of your system) and build again");
    return NULL;
}

// Never called, because query_open always fails.
void query_close(query *q)
{
    (void)q;
}
bool query_set(query *q, const char *assignment)
{
    return q && assignment;
}
void query_set_mode(query *q, query_mode mode)
{
    (void)q;
    (void)mode;
}

void query_set_pushdown(query *q, bool pushdown)
{
    (void)q;
    (void)pushdown;
}
void query_set_rows(query *q, const ts_sql_rows *rows)
{
    (void)q;
    (void)rows;
}
int query_run(query *q, const char *sql, const char *where)
{
    return q && sql && where ? CLI_OK : CLI_FAILED;
}
int query_schema(const query *q, const char *table)
{
    return q && table ? CLI_OK : CLI_FAILED;
}
int query_tables(const query *q)
{
    return q ? CLI_OK : CLI_FAILED;
}
int query_save(query *q, const char *path, const char *sql)
{
    return q && path && sql ? CLI_OK : CLI_FAILED;
}
void query_limit(query *q, const ts_sql_limits *limits)
{
    (void)q;
    (void)limits;
}
uint64_t query_row_count(const query *q)
{
    return q != NULL;
}
bool query_has_more(const query *q)
{
    return q != NULL;
}

#endif
