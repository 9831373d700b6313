/*
    query.h - SQL over traces

    Opens traces as tables of an SQLite database in memory. The tables are
    virtual: a query decodes the chunks and columns that it needs; nothing is
    imported. In a build without SQLite query_open fails with a message.
*/
#ifndef TS_QUERY_H
#define TS_QUERY_H

#include "tools/cli/cli.h"
#include "tools/tracesmith_tools.h"

typedef struct query query;

typedef enum query_mode {
    QUERY_TABLE = 0, // for people, fitted to the terminal's width
    QUERY_CSV = 1,   // RFC 4180, with a header line
    QUERY_JSON = 2,  // one object
    QUERY_VALUES = 3 // to the functions of query_set_rows
} query_mode;

// Opens `count` traces; 0 is enough for query_schema and query_tables. NULL,
// with the reason on stderr, if one cannot be read. paths must outlive the
// query.
query *query_open(const cli_tool *tool, char *const *paths, uint32_t count);
void query_close(query *q); // NULL is allowed

// Binds :name, @name and $name to a value in all queries. assignment is
// "NAME=VALUE"; a VALUE that parses as a number is bound as one. False if it
// has another form.
bool query_set(query *q, const char *assignment);

// Runs statements and prints their rows. Returns CLI_OK, or CLI_FAILED with the
// error and its position on stderr. `where` names the text in messages ("line 3
// of report.sql"); NULL: the text is from the command line.
int query_run(query *q, const char *sql, const char *where);
void query_set_mode(query *q, query_mode mode);
// Whether aggregates are answered from columns, where that is possible (true).
void query_set_pushdown(query *q, bool pushdown);
// Where rows go in QUERY_VALUES. rows must outlive the calls of query_run.
void query_set_rows(query *q, const ts_sql_rows *rows);

// Bounds the calls of query_run that follow.
void query_limit(query *q, const ts_sql_limits *limits);

// Returns the number of rows of the last statement.
uint64_t query_row_count(const query *q);
// Whether it had more of them than a bound allows.
bool query_has_more(const query *q);

// Prints the tables and the meaning of their columns.
int query_schema(const query *q, const char *table); // NULL: all
// Prints the names of tables and views.
int query_tables(const query *q);

// Writes a new database: all tables and views, or the rows of one query (sql
// not NULL) as the table `result`. Returns CLI_OK or CLI_FAILED.
int query_save(query *q, const char *path, const char *sql);

#endif // TS_QUERY_H
