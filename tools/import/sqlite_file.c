// sqlite_file.c - row counts for progress, write-ahead logs, BLOBs
#include "tools/import/sqlite.h"

#ifdef TRACESMITH_SQLITE

#include <sqlite3.h>
#include <sys/stat.h>

bool import_sqlite_has_log(const char *path)
{
    struct stat info;
    char *const name = malloc(strlen(path) + 5);
    if (!name) return false;
    sprintf(name, "%s-wal", path);
    const bool found = !stat(name, &info) && info.st_size;
    free(name);
    return found;
}

// Limit for finding the last row, which takes few steps. If a column is named
// rowid, or the table is damaged, SQLite would scan the whole table, which is
// not worth it for a progress bar.
enum { STEPS = 1000 };

static int give_up(void *user)
{
    (void)user;
    return 1;
}

uint64_t import_sqlite_rows(sqlite3 *handle, const char *table)
{
    sqlite3_stmt *s = NULL;
    char *const sql = sqlite3_mprintf("SELECT max(rowid) FROM \"%w\"", table);
    sqlite3_int64 last = 0;
    sqlite3_progress_handler(handle, STEPS, give_up, NULL);
    if (sql && sqlite3_prepare_v2(handle, sql, -1, &s, NULL) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW)
        last = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    sqlite3_progress_handler(handle, 0, NULL, NULL);
    sqlite3_free(sql);
    return last > 0 ? (uint64_t)last : 0;
}

const uint8_t *import_rows_bytes(import_rows *rows, size_t column, size_t *size)
{
    const int i =
        rows->place[column]; // 0, the dummy: the table lacks the column
    const int type = sqlite3_column_type(rows->statement, i);
    *size = 0;
    if (type != SQLITE_BLOB && type != SQLITE_TEXT) return NULL;
    const uint8_t *const bytes = sqlite3_column_blob(rows->statement, i);
    if (bytes) *size = (size_t)sqlite3_column_bytes(rows->statement, i);
    return bytes;
}

#else

const uint8_t *import_rows_bytes(import_rows *rows, size_t column, size_t *size)
{
    return (const uint8_t *)import_rows_text(rows, column, size);
}

#endif
