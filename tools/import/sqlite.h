/*
    sqlite.h - reading sources that are SQLite databases

    The file is opened read-only, and nothing in its schema runs: views,
    triggers, generated columns and virtual tables are ignored. Tables and
    columns are addressed by name; the values of a column that the file's
    version lacks are NULL. A table is read row by row:

        enum { START, END, NAME };
        static const char *const columns[] = { "start", "end", "name" };
        import_rows rows;
        import_rows_open(&rows, db, "EVENTS", columns, 3, 1u << NAME);
        while (import_rows_next(&rows))
            ... rows.values[START], import_rows_text(&rows, NAME, &size) ...
        import_rows_close(&rows);

    Where SQLite finds damage, reading of that table ends, and a bad row is
    counted.
*/
#ifndef TS_TOOLS_IMPORT_SQLITE_H
#define TS_TOOLS_IMPORT_SQLITE_H

#include "tools/import/import.h"
#include "tools/import/strings.h"

struct sqlite3;
typedef struct import_db import_db;

// The library that this build lacks to read databases, or NULL.
#ifdef TRACESMITH_SQLITE
#define IMPORT_DB_MISSING NULL
#else
#define IMPORT_DB_MISSING "SQLite (libsqlite3-dev)"
#endif

// Returns whether the source is a database with one of these tables; * in a
// name matches any text.
bool import_db_recognise(import_source *source, const char *const *tables,
                         size_t count);

// Opens the job's source as a database; NULL after import_fail.
import_db *import_db_open(import_job *job);
// Closes the database and frees its list of tables; NULL is allowed.
void import_db_close(import_db *db);

// Returns the name of the index-th table of the schema; NULL: no more. *read is
// set to whether the table was opened with import_rows_open or passed.
const char *import_db_table(import_db *db, size_t index, bool *read);
// Excludes a table from import_db_rest.
void import_db_pass(import_db *db, const char *table);
// Counts the rows of every table that was not read as unowned.
void import_db_rest(import_db *db);

enum { IMPORT_COLUMNS = 40 };
#define IMPORT_TIME_MAX (INT64_MAX / 4) // of either sign; beyond it: a bad row

// Private: returns the rowid of a table's last row; 0 if SQLite cannot find it
// quickly.
uint64_t import_sqlite_rows(struct sqlite3 *handle, const char *table);
// Returns whether there is a write-ahead log beside the database, with rows
// that the database lacks.
bool import_sqlite_has_log(const char *path);

typedef struct import_rows {
    int64_t values[IMPORT_COLUMNS]; // IMPORT_NONE: NULL, or no integer
    uint64_t has;                   // bit set of the columns that the table has
    uint64_t wrong; // bit set of this row's values with a wrong type
    bool again;     // set by the caller: do not count the rows again
    size_t count;   // columns
    import_db *db;  // private from here on
    struct sqlite3_stmt *statement;
    uint64_t texts, left;
    size_t present; // number of the statement's columns; which each is
    uint8_t column[IMPORT_COLUMNS], place[IMPORT_COLUMNS];
    char table[64], names[IMPORT_COLUMNS][32];
} import_rows;

/*
    Opens a table. Columns whose bit is set in `texts` may be no integers; read
    them with import_rows_text or import_rows_real. Columns whose name is NULL
    are skipped. count 0: every column, of any type. False if there is no such
    table; the other functions may be called even then.
*/
bool import_rows_open(import_rows *rows, import_db *db, const char *table,
                      const char *const *columns, size_t count, uint64_t texts);
// Opens the columns of a table without rows; the table does not count as read.
bool import_rows_look(import_rows *rows, import_db *db, const char *table);
// Reads the next row and counts it in job->rows; false at the end.
bool import_rows_next(import_rows *rows);
// Ends the query; allowed at any row, and twice.
void import_rows_close(import_rows *rows);

// Returns a text, valid until the next row; NULL and size 0 if the value is no
// text.
const char *import_rows_text(import_rows *rows, size_t column, size_t *size);
// Reads a number as double; false if the value is no number.
// Returns the bytes of a BLOB or text; NULL if the value is neither.
const uint8_t *import_rows_bytes(import_rows *rows, size_t column,
                                 size_t *size);
// Gets a number with its fraction. False if the column holds none.
bool import_rows_real(import_rows *rows, size_t column, double *value);
// Returns the table's name of a column; "" if the table lacks it.
const char *import_rows_column(const import_rows *rows, size_t column);

/*
    Counts the row as flawed if a value has the wrong type. If a column of
    `needed` has the wrong type or is NULL, counts the row as bad and returns
    false.
*/
bool import_rows_check(import_rows *rows, uint64_t needed, int64_t time_ns);
// Returns a value as u32 or u64; 0 if it is NULL, negative or too large. The
// latter two are counted as a flaw.
uint32_t import_rows_u32(import_rows *rows, size_t column);
// Returns a column that cannot be negative; 0: it is missing, or negative,
// which is counted as a flaw.
uint64_t import_rows_u64(import_rows *rows, size_t column);

/*
    Computes start and duration from the columns of start and end. Returns false
    and counts the row as bad if there is no time (NULL, or both are zero) or
    the end precedes the start.
*/
bool import_rows_times(import_rows *rows, size_t start, size_t end,
                       int64_t *start_ns, int64_t *duration_ns);

// Parses the whole text as a decimal number; false if it is none or overflows.
bool import_number(const char *text, size_t size, int64_t *value);

// Reads a table of texts by number: the columns `id` and `value`. NULL without
// memory; rows that are broken are counted as bad.
import_strings *import_strings_read(import_job *job, import_db *db,
                                    const char *table, const char *id,
                                    const char *value);

#endif // TS_TOOLS_IMPORT_SQLITE_H
