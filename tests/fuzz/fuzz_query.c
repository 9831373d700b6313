/*
    fuzz_query.c - whatever the SQL and the trace are, the query ends

    The SQL stands before the first zero byte, the trace behind it; without
    one the sample of the tests is asked. Conditions, orders and groups that
    are taken off SQLite's hands must not change how many rows there are.
*/
#define _GNU_SOURCE
#include "tools/query/tables.h"

#include <sys/mman.h>
#include <unistd.h>

#include "tests/replay/reader/sbt_sample.h"

static const cli_tool tool = { .name = "fuzz" };
static int file;
static char path[64];
static forge sample;
static int left; // calls of `enough` that are allowed

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    file = memfd_create("trace", 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    sample_forge(&sample);
    // glibc lets both be replaced; libFuzzer keeps its own.
    stdout = fopen("/dev/null", "w");
    stderr = fopen("/dev/null", "w");
    if (file < 0 || !stdout || !stderr) abort();
    return 0;
}

static int enough(void *user)
{
    return --left < 0;
}

static void put(const uint8_t *bytes, size_t size)
{
    if (ftruncate(file, 0) || pwrite(file, bytes, size, 0) != (ssize_t)size)
        abort();
}

static void limits(query *q)
{
    sqlite3_progress_handler(q->db, 1000, enough, NULL);
    sqlite3_limit(q->db, SQLITE_LIMIT_LENGTH, 1 << 20);
    sqlite3_limit(q->db, SQLITE_LIMIT_SQL_LENGTH, 4096);
    sqlite3_limit(q->db, SQLITE_LIMIT_EXPR_DEPTH, 50);
    sqlite3_limit(q->db, SQLITE_LIMIT_COMPOUND_SELECT, 8);
    sqlite3_limit(q->db, SQLITE_LIMIT_VDBE_OP, 20000);
    left = 200;
}

// Rows of a statement; -1: it did not run to its end.
static int64_t count(query *q, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int64_t rows = 0;
    int code = sqlite3_prepare_v2(q->db, sql, -1, &statement, NULL);
    if (code != SQLITE_OK || !statement) return -1;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW)
        rows++;
    sqlite3_finalize(statement);
    return code == SQLITE_DONE ? rows : -1;
}

static void check_counts(query *q)
{
    const query_table *table;
    for (size_t i = 0; (table = query_table_at(i)) != NULL; i++) {
        if (!table->kinds) continue;
        const char *const first = table->columns[0].name;
        char sql[300];
        snprintf(sql, sizeof sql, "SELECT * FROM %s", table->name);
        left = 1000;
        const int64_t all = count(q, sql);
        snprintf(sql, sizeof sql, "SELECT * FROM %s ORDER BY %s, %s DESC",
                 table->name, table->columns[1].name, first);
        const int64_t ordered = count(q, sql);
        snprintf(sql, sizeof sql, "SELECT * FROM %s ORDER BY %s", table->name,
                 first);
        const int64_t first_ordered = count(q, sql);
        if (all < 0 || ordered < 0 || first_ordered < 0) continue;
        if (all != ordered || all != first_ordered) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const uint8_t *const zero = size ? memchr(bytes, 0, size) : NULL;
    if (size > 1 << 16) return 0;
    char *const sql = strndup((const char *)bytes, size);
    if (!sql) return 0;
    if (zero)
        put(zero + 1, size - (size_t)(zero + 1 - bytes));
    else
        put(sample.bytes, sample.size);
    char *const paths[] = { path };
    query *const q = query_open(&tool, paths, 1);
    if (q) {
        limits(q);
        query_set_mode(q, (query_mode)(size % 3));
        query_run(q, sql, NULL);
        if (zero) check_counts(q);
    }
    query_close(q);
    free(sql);
    return 0;
}
