/*
    sqlite.h - sources that are SQLite databases

    The file is opened read-only and as it is; nothing in its schema runs
    (views, triggers, generated columns, virtual tables are not looked at).
    Tables and columns are taken by name, so that what a version of the source
    lacks is NULL. A table is read row by row:

        enum { START, END, NAME };
        static const char *const columns[] = { "start", "end", "name" };
        import_rows rows;
        import_rows_open(&rows, db, "EVENTS", columns, 3, 1u << NAME);
        while (import_rows_next(&rows))
            ... rows.values[START], import_rows_text(&rows, NAME, &size) ...
        import_rows_close(&rows);

    What SQLite finds damaged ends that table, and is counted as bad.
*/
#ifndef TS_TOOLS_IMPORT_SQLITE_H
#define TS_TOOLS_IMPORT_SQLITE_H

#include "tools/import/import.h"

struct sqlite3;
typedef struct import_db import_db;

// Why databases cannot be read: NULL, or the library that this build lacks.
#ifdef TRACESMITH_SQLITE
#define IMPORT_DB_MISSING NULL
#else
#define IMPORT_DB_MISSING "SQLite (libsqlite3-dev)"
#endif

// Whether the source is a database with one of these tables; * in a name
// stands for anything.
bool import_db_recognise(import_source *source, const char *const *tables,
                         size_t count);

// NULL: said with import_fail.
import_db *import_db_open(import_job *job);
void import_db_close(import_db *db);

bool import_db_has(import_db *db, const char *table);
// The name of the table with this index in the order of the schema; NULL: no
// more. *read: rows were opened on it, or it was passed over.
const char *import_db_table(import_db *db, size_t index, bool *read);
// Such a table does not count as left over.
void import_db_pass(import_db *db, const char *table);
// Counts the rows of every table that nobody read as without a place.
void import_db_rest(import_db *db);

enum { IMPORT_COLUMNS = 40 };
#define IMPORT_TIME_MAX (INT64_MAX / 4) // of either sign; beyond it: bad

// Private: the number of a table's last row; 0: it is not found quickly.
uint64_t import_sqlite_rows(struct sqlite3 *handle, const char *table);
// Whether a log of what is not yet in the database lies beside it.
bool import_sqlite_has_log(const char *path);

typedef struct import_rows {
    int64_t values[IMPORT_COLUMNS]; // IMPORT_NONE: NULL, or no integer
    uint64_t has;                   // bits of the columns that the table has
    uint64_t wrong; // bits of this row's values of another type than wanted
    bool again;     // set after opening: the rows are counted elsewhere
    size_t count;   // columns
    import_db *db;  // private from here on
    struct sqlite3_stmt *statement;
    uint64_t texts, left;
    size_t present; // columns of the statement, and which each is
    uint8_t column[IMPORT_COLUMNS], place[IMPORT_COLUMNS];
    char table[64], names[IMPORT_COLUMNS][32];
} import_rows;

/*
    Columns whose bit is set in `texts` need be no integers: import_rows_text
    and _real give them. Columns whose name is NULL are not wanted. count 0:
    every column, of any type. False: there is no such table; the other
    functions may be called all the same.
*/
bool import_rows_open(import_rows *rows, import_db *db, const char *table,
                      const char *const *columns, size_t count, uint64_t texts);
// The columns of a table, and no rows: it does not count as read.
bool import_rows_look(import_rows *rows, import_db *db, const char *table);
// The next row; counts it in job->rows.
bool import_rows_next(import_rows *rows);
void import_rows_close(import_rows *rows);

// NULL with size 0: NULL, or no text. Valid until the next row.
const char *import_rows_text(import_rows *rows, size_t column, size_t *size);
// False: NULL, or neither number.
// The bytes of a BLOB, or of a text; NULL: it is neither.
const uint8_t *import_rows_bytes(import_rows *rows, size_t column,
                                 size_t *size);
bool import_rows_real(import_rows *rows, size_t column, double *value);
// What the table calls a column; "" if it lacks it.
const char *import_rows_column(const import_rows *rows, size_t column);

/*
    Counts the row as flawed if a value has the wrong type, and as bad, with
    false, if that is one of `needed` (or NULL there).
*/
bool import_rows_check(import_rows *rows, uint64_t needed, int64_t time_ns);
// A value as u32 or u64; none or negative or larger: 0, the latter two a
// flaw.
uint32_t import_rows_u32(import_rows *rows, size_t column);
uint64_t import_rows_u64(import_rows *rows, size_t column);

/*
    Start and duration out of two columns. False, and counted as bad: no time
    (NULL, or both zero), or the end before the start.
*/
bool import_rows_times(import_rows *rows, size_t start, size_t end,
                       int64_t *start_ns, int64_t *duration_ns);

// A whole text as a decimal number; false: it is none, or a larger one.
bool import_number(const char *text, size_t size, int64_t *value);

/*
    A table of texts by number, read once: nsys's StringIds, rpd's
    rocpd_string.
*/
typedef struct import_strings import_strings;
import_strings *import_strings_read(import_job *job, import_db *db,
                                    const char *table, const char *id,
                                    const char *value);
void import_strings_free(import_strings *strings);
// Size 0 and "": none of this number.
ts_text import_strings_text(const import_strings *strings, int64_t id);
// A kernel of this name: import_kernel, or quicker if it is no collective.
void import_strings_kernel(import_strings *strings, int64_t id,
                           import_operation *operation);
// Its number in the trace; 0: none.
uint32_t import_strings_name(import_strings *strings, int64_t id);

#endif // TS_TOOLS_IMPORT_SQLITE_H
