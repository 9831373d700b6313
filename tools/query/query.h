/*
    query.h - SQL over traces

    Opens traces as tables of an SQLite database in memory. The tables are
    virtual: a query decodes the chunks of columns that it needs, nothing is
    imported. Without SQLite at build time query_open says so and fails.
*/
#ifndef TS_QUERY_H
#define TS_QUERY_H

#include "tools/cli/cli.h"

typedef struct query query;

typedef enum query_mode {
    QUERY_TABLE = 0, // for people, fitted to a terminal
    QUERY_CSV = 1,   // RFC 4180, with a line of names
    QUERY_JSON = 2   // one object
} query_mode;

// Opens `count` traces; none for query_schema and query_tables alone. NULL,
// with the reason on stderr, if one cannot be read. paths must outlive the
// query.
query *query_open(const cli_tool *tool, char *const *paths, uint32_t count);
void query_close(query *q); // NULL is allowed

// Binds :name, @name and $name to a value in all queries; a value that reads
// as a number is one. "NAME=VALUE"; false if it is not of that form.
bool query_set(query *q, const char *assignment);

// Runs statements and prints their rows. Returns CLI_OK, or
// CLI_FAILED with the reason and its place on stderr. `where` names the text
// in messages ("line 3 of report.sql"); NULL: it is the command line's.
int query_run(query *q, const char *sql, const char *where);
void query_set_mode(query *q, query_mode mode);

// Rows of the last statement.
uint64_t query_row_count(const query *q);

// Prints what tables there are and what their columns mean.
int query_schema(const query *q, const char *table); // NULL: all
// Prints the names of tables and views.
int query_tables(const query *q);

// Writes all tables and views into a new database, or the rows of one query
// (sql not NULL) as its table `result`. CLI_OK or CLI_FAILED.
int query_save(query *q, const char *path, const char *sql);

#endif // TS_QUERY_H
