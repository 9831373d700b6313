/*
    Functions of ts-query, what a query may not do, damage, several files,
    databases that are saved.
*/
#define _GNU_SOURCE
#include "tools/cli/context.h"
#include "tools/query/tables.h"

#include "tests/tools/query/query_fixture.h"

#include "tests/replay/reader/sbt_sample.h"

static loaded sample(void)
{
    forge f;
    sample_forge(&f);
    const loaded a = loaded_of(&f);
    forge_close(&f);
    return a;
}

/* ---- Functions ---------------------------------------------------------- */

UNIT_TEST(functions_give_what_was_computed_by_hand)
{
    loaded a = sample();
    assert_rows(a.q,
                "SELECT time_text(1500000), time_text(NULL), "
                "bytes_text(1572864), bytes_text(-1)",
                "1.500 ms|-|1.500 MiB|-1 B\n");
    // [0,10) [5,12) [20,25) [22,23) [25,30): 12 + 10; one goes backwards.
    assert_rows(a.q,
                "WITH t(a, b) AS (VALUES (20, 25), (0, 10), (5, 12), "
                "(22, 23), (25, 30), (9, 3), (NULL, 7)) "
                "SELECT union_ns(a, b) FROM t",
                "22\n");
    assert_rows(a.q, "SELECT union_ns(a, b) FROM (SELECT 1 a, 2 b) WHERE 0",
                "0\n");
    assert_rows(a.q,
                "WITH t(x) AS (VALUES (5), (1), (4), (2), (3), (NULL)) "
                "SELECT percentile(x, 0), percentile(x, 20), "
                "percentile(x, 21), median(x), percentile(x, 100) FROM t",
                "1|1|2|3|5\n");
    assert_rows(a.q, "SELECT median(x) FROM (SELECT 1 x) WHERE 0", "-\n");
    assert_rows(a.q, "SELECT median(x) FROM (SELECT 2.5 x)", "2.5\n");
    assert_rows(a.q, "SELECT percentile(1, 101)",
                "a percentile must be between 0 and 100");
    assert_rows(a.q,
                "SELECT 'abc' REGEXP '^a.c$', 'abc' REGEXP 'd', "
                "NULL REGEXP 'd'",
                "1|0|-\n");
    loaded_close(&a);
}

UNIT_TEST(each_way_to_access_memory_has_its_name)
{
    uint64_t times[8], modes[8];
    forge f;
    forge_open(&f, 0);
    forge_sample(&f, 0, 4, 0, 0, 0);
    forge_track(&f, 2, 2, 0, 0, 0);
    for (uint64_t i = 0; i < 8; i++)
        times[i] = modes[i] = i;
    forge_events(&f, 14, 2, 8, 0, 7);
    forge_column(&f, 1, FORGE_PACK, FORGE_DELTA, times);
    forge_column(&f, 10, FORGE_PACK, FORGE_PLAIN, modes);
    forge_events_end(&f);
    forge_finish(&f);
    loaded a = loaded_of(&f);
    forge_close(&f);
    assert_rows(a.q, "SELECT mode FROM access",
                "-\nread\nwrite\nread+write\n-\n"
                "read, coarse\nwrite, coarse\nread+write, coarse\n");
    loaded_close(&a);
}

UNIT_TEST(names_are_read_as_people_do)
{
    loaded a = sample();
    assert_rows(a.q,
                "SELECT short_name('void ns::f<int, g(1)>(char *)'), "
                "short_name('(anonymous namespace)::h(int)'), "
                "short_name('plain'), short_name('copy (a -> b)'), "
                "demangle('plain'), demangle(NULL)",
                "f|h|plain|copy (a -> b)|plain|-\n");
    char *const read = cli_demangle("_ZN2ns1fIiEEvPc");
    if (read) {
        assert_string_equal(read, "void ns::f<int>(char*)");
        assert_rows(a.q,
                    "SELECT demangle('_ZN2ns1fIiEEvPc'), "
                    "short_name('_ZN2ns1fIiEEvPc')",
                    "void ns::f<int>(char*)|f\n");
    }
    free(read);
    loaded_close(&a);
}

/* ---- What a query may not do -------------------------------------------- */

UNIT_TEST(a_query_reads_and_nothing_else)
{
    static const char *const denied[] = {
        "ATTACH 'x.sqlite' AS x",
        "SELECT load_extension('x')",
        "CREATE TABLE t (a)",
        "CREATE VIRTUAL TABLE t USING zone",
        "DROP VIEW kernel",
        "DELETE FROM sqlite_schema",
        "PRAGMA writable_schema = 1",
        "PRAGMA cache_size = 1",
        "VACUUM INTO 'x.sqlite'",
        "UPDATE zone SET name = 'x'",
        "INSERT INTO name VALUES (1, 'x')",
        "ANALYZE",
    };
    loaded a = sample();
    for (size_t i = 0; i < sizeof denied / sizeof *denied; i++) {
        sqlite3_stmt *statement = NULL;
        int code = sqlite3_prepare_v2(a.q->db, denied[i], -1, &statement, NULL);
        if (code == SQLITE_OK) code = sqlite3_step(statement);
        if (code != SQLITE_AUTH) print_message("%s\n", denied[i]);
        assert_int_equal(code == SQLITE_AUTH || code == SQLITE_ERROR, 1);
        sqlite3_finalize(statement);
    }
    assert_int_not_equal(access("x.sqlite", F_OK), 0);
    assert_rows(a.q, "CREATE TEMP TABLE t AS SELECT name FROM mark", "");
    assert_rows(a.q, "CREATE INDEX temp.i ON t(name)", "");
    assert_rows(a.q, "INSERT INTO t VALUES ('x')", "");
    assert_rows(a.q, "SELECT count(*) FROM t", "5\n");
    loaded_close(&a);
}

UNIT_TEST(an_interrupted_query_ends)
{
    loaded a = sample();
    query_interrupted = 1;
    assert_rows(a.q, "SELECT * FROM zone", "interrupted");
    assert_rows(a.q, "SELECT * FROM zone ORDER BY name", "interrupted");
    query_interrupted = 0;
    assert_rows(a.q, "SELECT count(*) FROM zone", "7\n");
    loaded_close(&a);
}

// A signal stops the loops of tables; SQLite's own flag is for its own.
UNIT_TEST(a_signal_ends_what_tables_do)
{
    loaded a = sample();
    cli_is_tool = true; // a library handles no signal
    query_interrupts_begin(a.q);
    raise(SIGINT);
    assert_rows(a.q, "SELECT * FROM zone", "interrupted");
    query_interrupts_end();
    query_interrupts_begin(a.q); // the next is not concerned
    assert_rows(a.q, "SELECT count(*) FROM zone", "7\n");
    query_interrupts_end();
    cli_is_tool = false;
    loaded_close(&a);
}

/* ---- Broken traces ------------------------------------------------------ */

// Breaks the payload of the chunk that holds events of a kind.
static void break_chunk(forge *f, uint8_t event)
{
    for (size_t i = 0; i < f->chunk_count; i++) {
        uint8_t *const chunk = f->bytes + f->chunks[i];
        if (chunk[4] != FORGE_EVENTS || chunk[5] != event) continue;
        chunk[64 + 16] ^= 1;
        return;
    }
    fail();
}

UNIT_TEST(rows_of_damaged_chunks_are_missing_and_counted)
{
    forge f;
    sample_forge(&f);
    break_chunk(&f, TS_EVENT_KERNEL);
    loaded a = loaded_of(&f);
    forge_close(&f);
    const uint64_t before = a.q->counts.damaged;
    assert_rows(a.q, "SELECT count(*) FROM kernel", "0\n");
    assert_int_equal(a.q->counts.damaged, before + 1);
    assert_rows(a.q, "SELECT count(*) FROM gpu_op", "48\n");
    assert_rows(a.q, "SELECT count(*) FROM gpu_op GROUP BY kind LIMIT 1",
                "4\n");
    assert_rows(a.q, "SELECT count(*) FROM damage", "1\n");
    // Numbers of operations do not move: those of the first four are missing.
    assert_rows(a.q, "SELECT min(id) FROM gpu_op", "4\n");
    loaded_close(&a);
}

/* ---- Several files ------------------------------------------------------ */

UNIT_TEST(files_are_distinguished_by_path)
{
    forge f;
    loaded a = { 0 };
    sample_forge(&f);
    loaded_write(&a, f.bytes, f.size);
    loaded_write(&a, f.bytes, f.size);
    forge_close(&f);
    loaded_open(&a);
    assert_rows(a.q, "SELECT name, count(*) FROM zone GROUP BY name",
                "alpha|8\nbeta|6\n");
    assert_rows(a.q,
                "SELECT count(*), count(DISTINCT file) FROM "
                "(SELECT file, count(*) FROM zone GROUP BY file)",
                "2|2\n");
    char sql[200], wanted[100];
    snprintf(sql, sizeof sql,
             "SELECT DISTINCT file FROM kernel WHERE file = '%s'", a.path[1]);
    snprintf(wanted, sizeof wanted, "%s\n", a.path[1]);
    assert_rows(a.q, sql, wanted);
    assert_rows(a.q, "SELECT count(*) FROM name", "16\n");
    assert_rows(a.q,
                "SELECT count(*) FROM kernel k JOIN name n "
                "ON n.file = k.file AND n.id = 3",
                "8\n");
    assert_rows(a.q, "SELECT count(*) FROM operation", "104\n");
    loaded_close(&a);
}

/* ---- Databases ---------------------------------------------------------- */

UNIT_TEST(a_saved_database_has_every_row)
{
    loaded a = sample();
    char path[100];
    snprintf(path, sizeof path, "%s.sqlite", a.path[0]);
    assert_int_equal(query_save(a.q, path, NULL), CLI_OK);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    query saved = { .db = db };
    const query_table *table;
    for (size_t i = 0; (table = query_table_at(i)) != NULL; i++) {
        char sql[100];
        if (!strcmp(table->name, "query_stats")) continue;
        snprintf(sql, sizeof sql, "SELECT * FROM \"%s\"", table->name);
        char *const wanted = rows_of(a.q, sql);
        assert_rows(&saved, sql, wanted);
        free(wanted);
    }
    const query_view *view;
    for (size_t i = 0; (view = query_view_at(i)) != NULL; i++) {
        char sql[100];
        snprintf(sql, sizeof sql, "SELECT * FROM \"%s\" ORDER BY 1, 2",
                 view->name);
        char *const wanted = rows_of(a.q, sql);
        assert_rows(&saved, sql, wanted);
        free(wanted);
    }
    sqlite3_close(db);
    unlink(path);
    loaded_close(&a);
}

UNIT_TEST(a_result_is_saved_alone)
{
    loaded a = sample();
    char path[100];
    snprintf(path, sizeof path, "%s.sqlite", a.path[0]);
    assert_true(query_set(a.q, "least=1020ns"));
    assert_int_equal(query_save(a.q, path,
                                "SELECT name, count(*) AS n FROM zone "
                                "WHERE start_ns < :least GROUP BY name;\n"),
                     CLI_OK);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    query saved = { .db = db };
    assert_rows(&saved, "SELECT name, n FROM result", "alpha|4\nbeta|3\n");
    sqlite3_close(db);
    unlink(path);
    assert_int_equal(query_save(a.q, path, "CREATE TEMP TABLE x (a)"),
                     CLI_FAILED);
    assert_int_equal(query_save(a.q, path, "SELECT 1; SELECT 2"), CLI_FAILED);
    assert_int_equal(query_save(a.q, path, "SELECT :nothing"), CLI_FAILED);
    assert_int_equal(query_save(a.q, "/nowhere/x.sqlite", NULL), CLI_FAILED);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_rows(a.q, "SELECT count(*) FROM zone", "7\n");
    loaded_close(&a);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
