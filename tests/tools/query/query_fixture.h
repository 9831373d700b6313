/*
    query_fixture.h - queries on forged traces, and their rows as text

    A row is a line, values with | between, NULL as -.
*/
#ifndef QUERY_FIXTURE_H
#define QUERY_FIXTURE_H

#include "tools/query/tables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "tests/unit.h"
#include <unistd.h>

#include "tests/replay/reader/sbt_forge_events.h"

static const cli_tool query_tool = { .name = "test" };

typedef struct loaded {
    query *q;
    char *path[2];
    uint32_t count;
} loaded;

static inline void loaded_write(loaded *a, const uint8_t *bytes, size_t size)
{
    char *const path = malloc(64);
    assert_non_null(path);
    a->path[a->count++] = path;
    strcpy(path, "/tmp/ts_query_XXXXXX");
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, size), (ssize_t)size);
    close(file);
}

static inline void loaded_open(loaded *a)
{
    char *const paths[] = { a->path[0], a->path[1] };
    a->q = query_open(&query_tool, paths, a->count);
    assert_non_null(a->q);
}

static inline loaded loaded_of(const forge *f)
{
    loaded a = { 0 };
    loaded_write(&a, f->bytes, f->size);
    loaded_open(&a);
    return a;
}

static inline void loaded_close(loaded *a)
{
    query_close(a->q);
    for (uint32_t i = 0; i < a->count; i++) {
        unlink(a->path[i]);
        free(a->path[i]);
    }
}

typedef struct text {
    char *text;
    size_t size, room;
} text;

static inline void text_add(text *t, const char *more, size_t size)
{
    if (t->size + size + 1 > t->room) {
        t->room = 2 * (t->size + size) + 256;
        t->text = realloc(t->text, t->room);
        assert_non_null(t->text);
    }
    memcpy(t->text + t->size, more, size);
    t->size += size;
    t->text[t->size] = 0;
}

static inline void text_row(text *t, sqlite3_stmt *statement)
{
    for (int i = 0; i < sqlite3_column_count(statement); i++) {
        if (i) text_add(t, "|", 1);
        if (sqlite3_column_type(statement, i) == SQLITE_FLOAT) {
            // SQLite's own text differs between versions and machines.
            const cli_text real =
                cli_format("%.15g", sqlite3_column_double(statement, i));
            text_add(t, real.s, strlen(real.s));
            continue;
        }
        const char *const value =
            (const char *)sqlite3_column_text(statement, i);
        if (value)
            text_add(t, value, (size_t)sqlite3_column_bytes(statement, i));
        else
            text_add(t, "-", 1);
    }
    text_add(t, "\n", 1);
}

// Rows of a statement; the text of an error instead. To be freed.
static inline char *rows_of(query *q, const char *sql)
{
    text t = { 0 };
    text_add(&t, "", 0);
    q->begun = q->counts;
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(q->db, sql, -1, &statement, NULL);
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(statement);
        if (code == SQLITE_ROW) text_row(&t, statement);
    }
    if (code != SQLITE_DONE) {
        const char *const message = sqlite3_errmsg(q->db);
        text_add(&t, message, strlen(message));
    }
    sqlite3_finalize(statement);
    return t.text;
}

static inline void assert_rows(query *q, const char *sql, const char *wanted)
{
    char *const got = rows_of(q, sql);
    if (strcmp(got, wanted) != 0) print_message("%s\n", sql);
    assert_string_equal(got, wanted);
    free(got);
}

// Both statements give the same rows, and some.
static inline void assert_same(query *q, const char *a, const char *b)
{
    char *const x = rows_of(q, a), *const y = rows_of(q, b);
    if (strcmp(x, y) != 0) print_message("%s\n%s\n", a, b);
    assert_string_equal(x, y);
    free(x);
    free(y);
}

#endif // QUERY_FIXTURE_H
