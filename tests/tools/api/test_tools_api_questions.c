/*
    test_tools_api_questions.c - bounds of SQL, what-ifs, and what an analysis
    says of its own trust
*/
#include "tests/tools/api/api_fixture.h"
#include "tools/tracesmith_tools.h"

/* ---- SQL ----------------------------------------------------------------- */

static const char endless[] =
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
    "SELECT count(*) FROM c";

static ts_sql *open_sql(void)
{
    const char *const path = at.trace;
    const ts_sql_desc desc = { .paths = &path, .path_count = 1 };
    ts_sql *sql;
    assert_int_equal(ts_sql_open(&sql, &desc, NULL), TS_OK);
    return sql;
}

static ts_result ask(ts_sql *sql, const char *text, memory *rows,
                     ts_error *error)
{
    const ts_output output = to_memory(rows);
    return ts_sql_write(sql, text, NULL, TS_SQL_CSV, &output, NULL, error);
}

static const char endless_rows[] =
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
    "SELECT x FROM c";

// What rows were handed over, as a line each: "1|0.5|text|-".
typedef struct taken {
    char text[512];
    size_t statements, rows, most;
} taken;

static bool take_columns(void *user, const char *const *names, size_t count)
{
    taken *const t = user;
    for (size_t i = 0; i < count; i++)
        snprintf(t->text + strlen(t->text), 64, "%s%c", names[i],
                 i + 1 < count ? '|' : '\n');
    t->statements++;
    return t->statements <= 2;
}

static bool take_row(void *user, const ts_sql_value *values, size_t count)
{
    taken *const t = user;
    for (size_t i = 0; i < count; i++) {
        char *const to = t->text + strlen(t->text);
        const ts_sql_value *const v = &values[i];
        const char end = i + 1 < count ? '|' : '\n';
        if (v->type == TS_SQL_INTEGER)
            snprintf(to, 64, "%lld%c", (long long)v->integer, end);
        else if (v->type == TS_SQL_REAL)
            snprintf(to, 64, "%g%c", v->real, end);
        else if (v->type == TS_SQL_TEXT)
            snprintf(to, 64, "'%.*s'%c", (int)v->text.size, v->text.text, end);
        else
            snprintf(to, 64, "-%c", end);
    }
    return ++t->rows != t->most;
}

static ts_result read_rows(const char *text, taken *t, ts_error *error)
{
    const ts_sql_rows rows = { .user = t,
                               .columns = take_columns,
                               .row = take_row };
    ts_sql *const sql = open_sql();
    const ts_result result = ts_sql_read(sql, text, NULL, &rows, error);
    ts_sql_close(sql);
    return result;
}

UNIT_TEST_WITHIN(rows_are_handed_over_as_values, set_up, tear_down)
{
    taken t = { .most = 100 };
    assert_int_equal(read_rows("SELECT 7 AS n, 0.5 AS n, 'a' || char(98), NULL "
                               "AS x; SELECT 1 AS one WHERE 0",
                               &t, NULL),
                     TS_OK);
    assert_string_equal(t.text, "n|n_2|'a' || char(98)|x\n7|0.5|'ab'|-\none\n");
    assert_int_equal(t.statements, 2);
}

UNIT_TEST_WITHIN(rows_need_both_functions, set_up, tear_down)
{
    ts_error error;
    const ts_sql_rows rows = { .columns = take_columns };
    ts_sql *const sql = open_sql();
    assert_int_equal(ts_sql_read(sql, "SELECT 1", NULL, &rows, &error),
                     TS_ERR_USAGE);
    assert_string_equal(error.text, "rows must have both functions");
    ts_sql_close(sql);
}

UNIT_TEST_WITHIN(a_caller_that_gives_up_ends_the_query, set_up, tear_down)
{
    ts_error error;
    taken t = { .most = 2 };
    assert_int_equal(read_rows(endless_rows, &t, &error), TS_ERR_STATE);
    assert_non_null(strstr(error.text, "took no more rows"));
    assert_int_equal(t.rows, 2);
    // Names that are not taken end it as well.
    taken none = { .statements = 2, .most = 100 };
    assert_int_equal(read_rows("SELECT 1", &none, NULL), TS_ERR_STATE);
    assert_int_equal(none.rows, 0);
    taken wrong = { .most = 100 };
    assert_int_equal(read_rows("SELCT", &wrong, NULL), TS_ERR_USAGE);
}

UNIT_TEST_WITHIN(rows_are_bounded_and_skipped, set_up, tear_down)
{
    static const char three[] = "SELECT 7 AS x UNION ALL VALUES (8), (9)";
    const ts_sql_limits second = { .skip_rows = 1, .rows = 1 };
    const ts_sql_limits last = { .skip_rows = 2, .rows = 1 };
    ts_sql *const sql = open_sql();
    memory rows = { 0 };
    ts_sql_limit(sql, &second);
    assert_int_equal(ask(sql, three, &rows, NULL), TS_OK);
    assert_string_equal(rows.text, "x\n8\n");
    assert_true(ts_sql_has_more(sql));
    forget(&rows);
    ts_sql_limit(sql, &last);
    assert_int_equal(ask(sql, three, &rows, NULL), TS_OK);
    assert_string_equal(rows.text, "x\n9\n");
    assert_false(ts_sql_has_more(sql));
    forget(&rows);
    ts_sql_limit(sql, NULL);
    assert_int_equal(ask(sql, three, &rows, NULL), TS_OK);
    assert_string_equal(rows.text, "x\n7\n8\n9\n");
    forget(&rows);
    ts_sql_close(sql);
}

UNIT_TEST_WITHIN(json_of_bounded_rows_is_not_complete, set_up, tear_down)
{
    const ts_sql_limits limits = { .rows = 1 };
    ts_sql *const sql = open_sql();
    memory rows = { 0 };
    const ts_output output = to_memory(&rows);
    ts_sql_limit(sql, &limits);
    assert_int_equal(ts_sql_write(sql, "VALUES (1), (2)", NULL, TS_SQL_JSON,
                                  &output, NULL, NULL),
                     TS_OK);
    assert_non_null(strstr(rows.text, "\"complete\": false"));
    forget(&rows);
    assert_int_equal(
        ts_sql_write(sql, "VALUES (1)", NULL, TS_SQL_JSON, &output, NULL, NULL),
        TS_OK);
    assert_non_null(strstr(rows.text, "\"complete\": true"));
    forget(&rows);
    ts_sql_close(sql);
}

UNIT_TEST_WITHIN(an_endless_query_ends_in_time, set_up, tear_down)
{
    const ts_sql_limits limits = { .time_ns = 20000000 };
    ts_sql *const sql = open_sql();
    memory rows = { 0 };
    ts_error error;
    ts_sql_limit(sql, &limits);
    assert_int_equal(ask(sql, endless, &rows, &error), TS_ERR_STATE);
    assert_error(error, TS_ERR_STATE, "not done after 20.00 ms");
    assert_int_equal(ask(sql, "VALUES (1)", &rows, &error), TS_OK);
    forget(&rows);
    ts_sql_close(sql);
}

static bool third_time(void *user)
{
    return ++*(int *)user == 3;
}

UNIT_TEST_WITHIN(a_query_is_broken_off_when_asked_to, set_up, tear_down)
{
    int calls = 0;
    const ts_sql_limits limits = { .stop = third_time, .user = &calls };
    ts_sql *const sql = open_sql();
    memory rows = { 0 };
    ts_error error;
    ts_sql_limit(sql, &limits);
    assert_int_equal(ask(sql, endless, &rows, &error), TS_ERR_STATE);
    assert_error(error, TS_ERR_STATE, "interrupted");
    assert_int_equal(calls, 3);
    forget(&rows);
    ts_sql_close(sql);
}

UNIT_TEST_WITHIN(nothing_temporary_is_made_where_only_reading_is_allowed,
                 set_up, tear_down)
{
    static const char *const writes[] = { "CREATE TEMP TABLE t AS SELECT 1",
                                          "CREATE TEMP VIEW v AS SELECT 1",
                                          "BEGIN", "ATTACH 'x' AS x",
                                          "PRAGMA cache_size = 1" };
    const ts_sql_limits limits = { .only_read = true };
    ts_sql *const sql = open_sql();
    memory rows = { 0 };
    ts_error error;
    assert_int_equal(ask(sql, writes[0], &rows, &error), TS_OK);
    ts_sql_limit(sql, &limits);
    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
        assert_int_equal(ask(sql, writes[i], &rows, &error), TS_ERR_USAGE);
        assert_error(error, TS_ERR_USAGE, "can only read");
    }
    assert_int_equal(ask(sql, "INSERT INTO t VALUES (2)", &rows, &error),
                     TS_ERR_USAGE);
    assert_int_equal(ask(sql, "SELECT name FROM gpu_op", &rows, &error), TS_OK);
    forget(&rows);
    ts_sql_close(sql);
}

UNIT_TEST_WITHIN(no_value_is_longer_than_the_bound, set_up, tear_down)
{
    const ts_sql_limits limits = { .value_bytes = 1000 };
    ts_sql *const sql = open_sql();
    memory rows = { 0 };
    ts_error error;
    ts_sql_limit(sql, &limits);
    assert_int_equal(ask(sql, "SELECT hex(zeroblob(400))", &rows, &error),
                     TS_OK);
    assert_int_equal(ask(sql, "SELECT hex(zeroblob(600))", &rows, &error),
                     TS_ERR_USAGE);
    assert_error(error, TS_ERR_USAGE, "too big");
    ts_sql_limit(sql, NULL);
    assert_int_equal(ask(sql, "SELECT hex(zeroblob(600))", &rows, &error),
                     TS_OK);
    forget(&rows);
    ts_sql_close(sql);
}

/* ---- What-ifs ------------------------------------------------------------ */

static ts_replay *open_replay(ts_reader **reader, const char *path)
{
    const ts_reader_desc desc = { .path = path };
    ts_replay *replay;
    assert_int_equal(ts_reader_open(reader, &desc), TS_OK);
    assert_int_equal(ts_replay_open(&replay, *reader, NULL), TS_OK);
    return replay;
}

UNIT_TEST_WITHIN(a_what_if_is_compared_with_the_model, set_up, tear_down)
{
    static const char *const changes[] = { "scale .=2", "remove nosuch" };
    const ts_whatif_desc desc = { .changes = changes, .change_count = 2 };
    ts_reader *reader;
    ts_replay *const replay =
        open_replay(&reader, "tests/cli/analyze-memory.sbt");
    ts_whatif *whatif;
    ts_whatif_figures model, twice, none, both;
    ts_error error;
    assert_int_equal(ts_whatif_open(&whatif, replay, &desc, &error), TS_OK);
    assert_true(ts_whatif_figures_at(whatif, 0, &model));
    assert_true(ts_whatif_figures_at(whatif, 1, &twice));
    assert_true(ts_whatif_figures_at(whatif, 2, &none));
    assert_true(ts_whatif_figures_at(whatif, 3, &both));
    assert_false(ts_whatif_figures_at(whatif, 4, &both));
    assert_null(model.change);
    assert_true(ts_whatif_recorded_ns(whatif) > 0);
    assert_string_equal(twice.change, changes[0]);
    assert_string_equal(twice.nothing, "");
    assert_true(twice.meant > 0);
    assert_int_equal(twice.makespan_ns - model.makespan_ns, twice.change_ns);
    assert_true(twice.change_ns > 0);
    assert_int_equal(none.meant, 0);
    assert_int_equal(none.change_ns, 0);
    assert_non_null(strstr(none.nothing, "no operation matches"));
    assert_int_equal(both.makespan_ns, twice.makespan_ns);
    ts_whatif_close(whatif);
    ts_replay_close(replay);
    ts_reader_close(reader);
}

UNIT_TEST_WITHIN(a_what_if_that_makes_no_sense_is_refused, set_up, tear_down)
{
    static const char *const wrong = "scale gemm", *const stream =
                                                       "streams gemm=nosuch";
    ts_whatif_desc desc = { .changes = &wrong, .change_count = 1 };
    ts_reader *reader;
    ts_replay *const replay =
        open_replay(&reader, "tests/cli/analyze-memory.sbt");
    ts_whatif *whatif;
    ts_error error;
    assert_int_equal(ts_whatif_open(&whatif, replay, &desc, &error),
                     TS_ERR_USAGE);
    assert_null(whatif);
    assert_error(error, TS_ERR_USAGE, "needs =FACTOR");
    desc.changes = &stream;
    assert_int_equal(ts_whatif_open(&whatif, replay, &desc, &error),
                     TS_ERR_USAGE);
    assert_error(error, TS_ERR_USAGE, "nosuch");
    ts_replay_close(replay);
    ts_reader_close(reader);
}

/* ---- Trust --------------------------------------------------------------- */

UNIT_TEST_WITHIN(an_analysis_says_what_the_trace_lacks, set_up, tear_down)
{
    static const char *const path = "tests/cli/replay-lossy.sbt";
    const ts_analysis_desc desc = { .paths = &path,
                                    .path_count = 1,
                                    .only = "summary,idle" };
    ts_analysis *analysis;
    ts_text text;
    ts_error error;
    bool says = false;
    assert_int_equal(ts_analysis_open(&analysis, &desc, &error), TS_OK);
    assert_true(ts_analysis_loss_at(analysis, 0, &text, &error));
    assert_non_null(strstr(text.text, "17 records were lost"));
    assert_true(ts_analysis_loss_at(analysis, 1, &text, &error));
    assert_non_null(strstr(text.text, "damaged"));
    assert_false(ts_analysis_loss_at(analysis, 2, &text, &error));
    assert_int_equal(error.result, TS_OK);
    for (size_t i = 0; ts_analysis_because_at(analysis, 1, i, &text, &error);
         i++)
        says |= !strcmp(text.text, "the record is not complete");
    assert_true(says);
    assert_false(ts_analysis_because_at(analysis, 2, 0, &text, &error));
    ts_analysis_close(analysis);
}

/* ---- Pages --------------------------------------------------------------- */

static ts_result page_of(const char *path, bool no_report, memory *page,
                         ts_error *error)
{
    const ts_page_desc desc = { .path = path, .no_report = no_report };
    const ts_output output = to_memory(page);
    return ts_page_write(&desc, &output, error);
}

UNIT_TEST_WITHIN(a_page_has_the_trace_and_what_an_analysis_says, set_up,
                 tear_down)
{
    memory with = { 0 }, without = { 0 }, report = { 0 };
    const ts_output output = to_memory(&report);
    assert_int_equal(page_of(at.trace, false, &with, NULL), TS_OK);
    assert_int_equal(page_of(at.trace, true, &without, NULL), TS_OK);
    assert_memory_equal(with.text, "<!doctype html>", 15);
    assert_non_null(strstr(with.text, "U0JUMQ")); // SBT1, as base64
    assert_non_null(strstr(with.text, "\"report\":{"));
    assert_null(strstr(without.text, "\"report\":{"));
    assert_int_equal(ts_page_report_write(at.trace, &output, NULL), TS_OK);
    assert_non_null(strstr(report.text, "\"findings\""));
    forget(&with);
    forget(&without);
    forget(&report);
}

UNIT_TEST_WITHIN(a_page_of_no_trace_is_refused, set_up, tear_down)
{
    ts_error error;
    memory page = { 0 };
    const ts_output output = to_memory(&page);
    assert_int_equal(page_of(NULL, false, &page, &error), TS_ERR_USAGE);
    assert_int_equal(page_of("none.sbt", false, &page, &error), TS_ERR_IO);
    assert_non_null(strstr(error.text, "none.sbt"));
    assert_int_equal(ts_page_report_write("none.sbt", &output, &error),
                     TS_ERR_NOT_FOUND);
    forget(&page);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
