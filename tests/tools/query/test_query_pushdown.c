// Answers from columns, against those that SQLite finds row by row.
#include "tests/tools/query/query_storm.h"
#include "tools/cli/context.h"
#include "tools/query/events.h"
#include "tools/query/pushdown/pushdown.h"

typedef struct answer {
    char *rows;
    bool pushed;
} answer;

static void put_value(text *t, sqlite3_stmt *statement, int i)
{
    static const char types[] = "?IFTBN";
    cli_text made = cli_format("|%c", types[sqlite3_column_type(statement, i)]);
    text_add(t, made.s, strlen(made.s));
    if (sqlite3_column_type(statement, i) == SQLITE_FLOAT) {
        made = cli_format("%.17g", sqlite3_column_double(statement, i));
        text_add(t, made.s, strlen(made.s));
        return;
    }
    const char *const value = (const char *)sqlite3_column_text(statement, i);
    if (value) text_add(t, value, (size_t)sqlite3_column_bytes(statement, i));
}

// Returns the rows with their types; false after an error.
static bool step_all(sqlite3_stmt *statement, text *t)
{
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(statement); i++)
            put_value(t, statement, i);
        text_add(t, "\n", 1);
    }
    return code == SQLITE_DONE;
}

// As query_run does it: what cannot be pushed, or fails so, runs plainly.
static answer answer_of(query *q, const char *sql, bool push)
{
    sqlite3_stmt *plain = NULL;
    text t = { 0 };
    answer a = { 0 };
    text_add(&t, "", 0);
    q->push_off = !push;
    if (sqlite3_prepare_v2(q->db, sql, -1, &plain, NULL) == SQLITE_OK) {
        sqlite3_stmt *const pushed = query_push_prepare(q, plain);
        if (pushed) {
            a.pushed = step_all(pushed, &t);
            assert_true(a.pushed || !t.size); // no row before an error
            sqlite3_finalize(pushed);
            query_push_end(q);
        }
        if (!a.pushed && !step_all(plain, &t))
            text_add(&t, sqlite3_errmsg(q->db), strlen(sqlite3_errmsg(q->db)));
    } else {
        text_add(&t, sqlite3_errmsg(q->db), strlen(sqlite3_errmsg(q->db)));
    }
    sqlite3_finalize(plain);
    a.rows = t.text;
    return a;
}

// Compares both ways. Returns whether the columns answered.
static bool compare(query *q, const char *sql)
{
    const answer plain = answer_of(q, sql, false);
    const answer pushed = answer_of(q, sql, true);
    if (strcmp(plain.rows, pushed.rows) != 0) print_message("%s\n", sql);
    assert_string_equal(pushed.rows, plain.rows);
    free(plain.rows);
    free(pushed.rows);
    return pushed.pushed;
}

static void assert_pushed(query *q, const char *sql)
{
    if (!compare(q, sql)) fail_msg("not answered from columns: %s", sql);
}

static void assert_plain(query *q, const char *sql)
{
    if (compare(q, sql)) fail_msg("answered from columns: %s", sql);
}

/* ---- Traces ------------------------------------------------------------- */

static loaded open_storm(storm *s, uint32_t files)
{
    loaded a = { 0 };
    for (uint32_t i = 0; i < files; i++) {
        loaded_write(&a, NULL, 0);
        storm_write(s, a.path[i], 3000);
    }
    loaded_open(&a);
    return a;
}

static void compare_random(uint32_t files, uint32_t count)
{
    storm s = { .random = 88172645463325252u + files };
    loaded a = open_storm(&s, files);
    uint32_t pushed = 0;
    for (uint32_t i = 0; i < count; i++) {
        char *const sql = storm_query(&s, a.q);
        pushed += compare(a.q, sql);
        sqlite3_free(sql);
    }
    print_message("%u of %u from columns\n", pushed, count);
    assert_in_range(pushed, count / 3, count);
    loaded_close(&a);
}

UNIT_TEST(random_queries_have_the_same_rows)
{
    compare_random(1, 3000);
}

UNIT_TEST(random_queries_of_two_files_have_the_same_rows)
{
    compare_random(2, 1000);
}

UNIT_TEST(the_first_rows_in_order_are_the_same)
{
    // Some of the traces have chunks of which one column is malformed.
    enum { QUERIES = 200, TRACES = 10 };
    uint32_t found = 0;
    for (uint32_t trace = 0; trace < TRACES; trace++) {
        storm s = { .random = 4711 * (trace + 1) };
        loaded a = open_storm(&s, 1 + trace % 2);
        for (uint32_t i = 0; i < QUERIES; i++) {
            char *const sql = storm_first(&s, a.q);
            found += compare(a.q, sql);
            sqlite3_free(sql);
        }
        loaded_close(&a);
    }
    print_message("%u of %u with a last number\n", found, QUERIES * TRACES);
    assert_in_range(found, QUERIES * TRACES / 8, QUERIES * TRACES);
}

UNIT_TEST(what_needs_all_rows_has_no_last_number)
{
    storm s = { .random = 99 };
    loaded a = open_storm(&s, 1);
    assert_pushed(a.q, "SELECT name, duration_ns AS d FROM zone "
                       "WHERE depth = 1 ORDER BY d DESC, name LIMIT 3");
    const answer plan = answer_of(a.q,
                                  "EXPLAIN QUERY PLAN SELECT * FROM kernel "
                                  "ORDER BY duration_ns DESC LIMIT 3",
                                  true);
    assert_non_null(strstr(plan.rows, "duration_ns>=? in order of"));
    free(plan.rows);
    assert_plain(a.q, "SELECT json_group_array(name) FROM zone "
                      "ORDER BY duration_ns DESC LIMIT 1");
    assert_plain(a.q, "SELECT median(duration_ns) FROM zone "
                      "ORDER BY duration_ns DESC LIMIT 1");
    assert_plain(a.q, "SELECT * FROM zone ORDER BY name LIMIT 3");
    assert_plain(a.q, "SELECT * FROM zone ORDER BY start_ns LIMIT 3");
    assert_plain(a.q, "SELECT * FROM zone ORDER BY -duration_ns LIMIT 3");
    assert_plain(a.q, "SELECT * FROM zone WHERE depth IN (1, 2) "
                      "ORDER BY duration_ns LIMIT 3");
    assert_plain(a.q, "SELECT correlation FROM api_call "
                      "ORDER BY correlation DESC LIMIT 3");
    loaded_close(&a);
}

/* ---- Rows as CSV -------------------------------------------------------- */

static void say_nothing(void *user, const char *message)
{
    (void)user, (void)message;
}

// What query_run prints, to be freed.
static char *csv_of(query *q, const char *sql, bool push)
{
    static const ts_observer observer = { .message = say_nothing };
    static const ts_selection selection;
    char *printed = NULL;
    size_t size = 0;
    cli_context context = { .observer = &observer,
                            .selection = &selection,
                            .out = open_memstream(&printed, &size) };
    assert_non_null(context.out);
    assert_true(cli_context_begin(&context));
    query_set_mode(q, QUERY_CSV);
    query_set_pushdown(q, push);
    const int code = query_run(q, sql, NULL);
    query_set_mode(q, QUERY_TABLE);
    cli_context_end(&context);
    assert_int_equal(fputc(code ? '!' : '.', context.out), code ? '!' : '.');
    fclose(context.out);
    return printed;
}

// Returns whether a statement's rows are formatted chunk by chunk.
static bool has_lines(query *q, const char *sql)
{
    sqlite3_stmt *plain;
    if (sqlite3_prepare_v2(q->db, sql, -1, &plain, NULL) != SQLITE_OK)
        return false;
    query_set_mode(q, QUERY_CSV);
    query_set_pushdown(q, true);
    sqlite3_stmt *const pushed = query_push_prepare(q, plain);
    const bool lines = pushed && q->push->lines;
    query_set_mode(q, QUERY_TABLE);
    sqlite3_finalize(pushed);
    sqlite3_finalize(plain);
    query_push_end(q);
    return lines;
}

UNIT_TEST(rows_are_the_same_csv)
{
    enum { QUERIES = 600 };
    storm s = { .random = 99 };
    loaded a = open_storm(&s, 2);
    uint32_t lines = 0;
    for (uint32_t i = 0; i < QUERIES; i++) {
        char *const sql = storm_rows(&s, a.q);
        char *const rows = csv_of(a.q, sql, false);
        char *const pushed = csv_of(a.q, sql, true);
        if (strcmp(rows, pushed) != 0) print_message("%s\n", sql);
        assert_string_equal(pushed, rows);
        lines += has_lines(a.q, sql);
        free(rows);
        free(pushed);
        sqlite3_free(sql);
    }
    print_message("%u of %u chunk by chunk\n", lines, QUERIES);
    assert_in_range(lines, QUERIES / 3, QUERIES);
    loaded_close(&a);
}

UNIT_TEST(rows_in_order_and_expressions_are_not_lines)
{
    storm s = { .random = 99 };
    loaded a = open_storm(&s, 1);
    assert_true(has_lines(a.q, "SELECT * FROM zone"));
    assert_true(has_lines(a.q, "SELECT k.name n, duration_ns FROM kernel k "
                               "WHERE k.name LIKE 'b%' AND 5 < duration_ns"));
    assert_false(has_lines(a.q, "SELECT * FROM zone ORDER BY start_ns"));
    assert_false(has_lines(a.q, "SELECT * FROM zone LIMIT 5"));
    assert_false(has_lines(a.q, "SELECT start_ns + 1 FROM zone"));
    assert_false(has_lines(a.q, "SELECT *, 1 FROM zone"));
    assert_false(has_lines(a.q, "SELECT DISTINCT name FROM zone"));
    assert_false(has_lines(a.q, "SELECT name FROM zone WHERE depth IN (1, 2)"));
    assert_false(has_lines(a.q, "SELECT name FROM zone "
                                "WHERE depth = 1 OR depth = 2"));
    assert_false(has_lines(a.q, "SELECT z.name FROM zone z, mark m"));
    assert_false(has_lines(a.q, "SELECT * FROM site"));
    loaded_close(&a);
}

/* ---- By hand ------------------------------------------------------------ */

UNIT_TEST(what_is_answered_from_columns)
{
    static const char *const queries[] = {
        "SELECT count(*) FROM zone",
        "SELECT count(*), count(*) AS n FROM kernel -- twice\n;",
        "SELECT name, count(*) FROM zone GROUP BY name",
        "SELECT name, count(*) n FROM zone GROUP BY 1 ORDER BY n DESC",
        "SELECT name AS k, sum(duration_ns) FROM zone GROUP BY k",
        "SELECT z.name, max(z.duration_ns) FROM zone AS z GROUP BY z.name",
        "SELECT zone.name, avg(duration_ns) FROM zone GROUP BY zone.name",
        "SELECT \"name\", sum(\"duration_ns\") FROM \"zone\" GROUP BY [name]",
        "SELECT short_name(name), count(*) FROM kernel GROUP BY name",
        "SELECT short_name(name), count(*) FROM kernel "
        "GROUP BY short_name(name)",
        "SELECT name, count(*) FROM zone WHERE start_ns BETWEEN 10 AND 2000 "
        "AND duration_ns > 3 * 5 GROUP BY name HAVING count(*) > 1",
        "SELECT copy, min(size), max(size) FROM memcpy GROUP BY copy",
        "SELECT depth, count(*) FROM zone WHERE parent IS NULL GROUP BY depth",
        "SELECT min(name), max(name), count(category) FROM zone",
        "SELECT s.line, count(*), sum(z.duration_ns) FROM zone z "
        "JOIN site s ON s.id = z.site GROUP BY s.line",
        "SELECT n.text, count(*), avg(a.duration_ns) FROM api_call a, name n "
        "WHERE n.id = a.name_id AND a.duration_ns > 1 GROUP BY n.text",
        "SELECT kind FROM gpu_op GROUP BY kind",
        "SELECT count(*) FROM zone WHERE 0",
        "SELECT name, sum(duration_ns) FROM zone WHERE start_ns > 1e17 "
        "GROUP BY name",
    };
    storm s = { .random = 5 };
    loaded a = open_storm(&s, 1);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
        assert_pushed(a.q, queries[i]);
    loaded_close(&a);
}

UNIT_TEST(what_depends_on_single_rows_is_not)
{
    static const char *const queries[] = {
        "SELECT name FROM zone",
        "SELECT name, count(*) FROM zone",
        "SELECT depth, max(duration_ns) FROM zone",
        "SELECT name, depth, count(*) FROM zone GROUP BY name",
        "SELECT name || depth, count(*) FROM zone GROUP BY name",
        "SELECT count(DISTINCT name) FROM zone",
        "SELECT DISTINCT name FROM zone",
        "SELECT total(duration_ns) FROM zone",
        "SELECT median(duration_ns) FROM zone",
        "SELECT sum(duration_ns + 1) FROM zone",
        "SELECT count(*) FROM zone WHERE end_ns - duration_ns > 4",
        "SELECT count(*) FROM zone WHERE start_ns > duration_ns",
        "SELECT count(*) FROM (SELECT * FROM zone)",
        "SELECT count(*) FROM zone WHERE name IN (SELECT name FROM mark)",
        "SELECT count(*) FROM zone a, zone b WHERE a.id = b.parent",
        "SELECT count(*) FROM zone UNION ALL SELECT 1",
        "SELECT count(*) OVER () FROM zone",
        "SELECT count(*) FILTER (WHERE depth > 0) FROM zone",
        "SELECT count(*) FROM zone WHERE random() % 2 = 5",
        "SELECT name, count(*) FROM zone GROUP BY name COLLATE NOCASE",
        "SELECT name AS depth, count(*) FROM zone GROUP BY name",
        "SELECT count(*) FROM main.zone",
        "SELECT count(*) FROM zone WHERE rowid > 5",
        "SELECT name, count(*) FROM zone GROUP BY name ORDER BY depth",
        "SELECT sum(address) FROM memory", // overflows
        "SELECT avg(address) FROM memory", // not exact
        "SELECT 1",
    };
    storm s = { .random = 5 };
    loaded a = open_storm(&s, 1);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
        assert_plain(a.q, queries[i]);
    loaded_close(&a);
}

UNIT_TEST(a_temporary_table_is_the_one_that_is_meant)
{
    storm s = { .random = 5 };
    loaded a = open_storm(&s, 1);
    assert_pushed(a.q, "SELECT count(*) FROM zone");
    assert_rows(a.q, "CREATE TEMP TABLE ZONE AS SELECT 7 AS depth", "");
    assert_plain(a.q, "SELECT count(*) FROM zone");
    assert_pushed(a.q, "SELECT count(*) FROM kernel");
    loaded_close(&a);
}

UNIT_TEST(nobody_else_reads_the_table_of_sums)
{
    storm s = { .random = 5 };
    loaded a = open_storm(&s, 1);
    char *const rows = rows_of(a.q, "SELECT * FROM ts_sums");
    assert_non_null(strstr(rows, "no such table: ts_sums"));
    free(rows);
    loaded_close(&a);
}

UNIT_TEST(statements_are_rewritten_for_the_table_of_sums)
{
    static const struct {
        const char *sql, *wanted;
    } cases[] = {
        { "select NAME n, Count(category) from zone z where 5<=start_ns and "
          "z.name <> 'x' /* no */ group by n",
          "SELECT \"t0\" AS n, coalesce(sum(CASE WHEN \"t1\" IS NOT NULL "
          "THEN \"a0\" END), 0) FROM ts_sums AS z WHERE 5 <= \"f0\" and "
          "\"t0\" <> 'x' GROUP BY n" },
        { "SELECT avg(size) FROM memcpy WHERE size > 1",
          "SELECT (CAST(sum(\"a0\") AS REAL) / sum(\"a1\")) FROM ts_sums AS "
          "memcpy WHERE \"t0\" = 'memcpy' AND ( \"f0\" > 1)" },
    };
    storm s = { .random = 5 };
    loaded a = open_storm(&s, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        query_push push;
        char *const sql = query_push_rewrite(a.q, cases[i].sql, &push);
        assert_non_null(sql);
        assert_string_equal(sql, cases[i].wanted);
        sqlite3_free(sql);
    }
    loaded_close(&a);
}

UNIT_TEST(a_plan_shows_what_is_answered_from_columns)
{
    static const char *const parts[] = {
        "columns of zone where ",
        "start_ns>?",
        "parent is not null",
        "depth is null",
        "name like ?",
        " by name: ",
        "sum(duration_ns), count(duration_ns)"
    };
    storm s = { .random = 5 };
    loaded a = open_storm(&s, 1);
    const answer plan =
        answer_of(a.q,
                  "EXPLAIN QUERY PLAN SELECT name, avg(duration_ns) FROM zone "
                  "WHERE start_ns > 5 AND parent IS NOT NULL AND depth IS NULL "
                  "AND name LIKE 'a%' GROUP BY name",
                  true);
    assert_true(plan.pushed);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(plan.rows, parts[i]))
            fail_msg("%s is not in %s", parts[i], plan.rows);
    free(plan.rows);
    loaded_close(&a);
}

UNIT_TEST(damaged_chunks_are_counted_and_left_out)
{
    storm s = { .random = 5 };
    loaded a = open_storm(&s, 1);
    const query_chunk *chunk = NULL;
    query_chunk one;
    for (size_t i = 0; !chunk; i++)
        if (query_chunk_of(a.q, &query_event_tables[0], 0, i, &one))
            chunk = &one;
    ts_chunk_info info;
    assert_true(
        ts_reader_chunk(a.q->files[0].trace.reader, chunk->index, &info));
    FILE *const file = fopen(a.path[0], "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)info.offset + 80, SEEK_SET), 0);
    const int byte = fgetc(file);
    assert_int_equal(fseek(file, (long)info.offset + 80, SEEK_SET), 0);
    fputc(byte ^ 1, file);
    fclose(file);
    assert_pushed(a.q, "SELECT count(*) FROM zone");
    assert_int_equal(a.q->counts.damaged, 2); // once each way
    assert_pushed(a.q, "SELECT name, count(*) FROM zone GROUP BY name");
    loaded_close(&a);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
