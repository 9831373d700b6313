/*
    import_sql.h - databases for tests of importers, out of SQL
*/
#ifndef IMPORT_SQL_H
#define IMPORT_SQL_H

#include "tests/tools/import/import_fixture.h"

#include <sqlite3.h>

static inline const char *sql_file(const char *sql)
{
    const char *const path = fixture_path(0, "made.sqlite");
    sqlite3 *db;
    char *error = NULL;
    unlink(path);
    assert_int_equal(SQLITE_OK, sqlite3_open(path, &db));
    if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK)
        fail_msg("%s", error);
    sqlite3_close(db);
    return path;
}

static inline void sql_expect(const char *sql, const char *expected)
{
    import_expect(sql_file(sql), expected);
}

// The one number that a query gives.
static inline uint64_t sql_number(const char *path, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *s;
    char uri[700];
    snprintf(uri, sizeof uri, "file:%s?immutable=1", path);
    assert_int_equal(
        SQLITE_OK, sqlite3_open_v2(
                       uri, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL));
    if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    assert_int_equal(SQLITE_ROW, sqlite3_step(s));
    const uint64_t number = (uint64_t)sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    sqlite3_close(db);
    return number;
}

// Rows of every table together, those named like `without` left out.
static inline uint64_t sql_all_rows(const char *path, const char *without)
{
    char sql[400];
    uint64_t rows = 0;
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name "
             "NOT LIKE '%s' AND name NOT LIKE 'sqlite%%'",
             without);
    const uint64_t count = sql_number(path, sql);
    for (uint64_t i = 0; i < count; i++) {
        char name[80];
        sqlite3 *db;
        sqlite3_stmt *s;
        snprintf(sql, sizeof sql,
                 "SELECT name FROM sqlite_master WHERE type = 'table' AND name "
                 "NOT LIKE '%s' AND name NOT LIKE 'sqlite%%' LIMIT 1 OFFSET "
                 "%" PRIu64,
                 without, i);
        char uri[700];
        snprintf(uri, sizeof uri, "file:%s?immutable=1", path);
        sqlite3_open_v2(uri, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
        sqlite3_prepare_v2(db, sql, -1, &s, NULL);
        assert_int_equal(SQLITE_ROW, sqlite3_step(s));
        snprintf(name, sizeof name, "%s", sqlite3_column_text(s, 0));
        sqlite3_finalize(s);
        sqlite3_close(db);
        snprintf(sql, sizeof sql, "SELECT count(*) FROM \"%s\"", name);
        rows += sql_number(path, sql);
    }
    return rows;
}

#endif // IMPORT_SQL_H
