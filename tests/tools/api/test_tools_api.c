/*
    test_tools_api.c - what the functions of tracesmith_tools.h do
*/
#include "tests/tools/api/api_fixture.h"
#include "tools/tracesmith_tools.h"

#include <pthread.h>

static ts_analysis *open_analysis(const ts_observer *observer)
{
    const char *const path = at.trace;
    ts_analysis_desc desc = { .paths = &path, .path_count = 1 };
    ts_analysis *analysis;
    ts_error error;
    if (observer) desc.observer = *observer;
    assert_int_equal(ts_analysis_open(&analysis, &desc, &error), TS_OK);
    assert_int_equal(error.result, TS_OK);
    assert_string_equal(error.text, "");
    return analysis;
}

/* ---- Import and export --------------------------------------------------- */

UNIT_TEST_WITHIN(the_library_is_of_the_header, set_up, tear_down)
{
    assert_int_equal(ts_tools_version(), TS_TOOLS_VERSION);
}

UNIT_TEST_WITHIN(an_import_tells_what_it_wrote, set_up, tear_down)
{
    const char *const path = at.kineto;
    const char *const output = folder_file(&at, "out.sbt");
    const ts_import_desc desc = { .paths = &path,
                                  .path_count = 1,
                                  .output = output };
    ts_import *imported;
    ts_error error;
    assert_int_equal(ts_import_files(&imported, &desc, &error), TS_OK);
    assert_int_equal(ts_import_count(imported), 1);
    const ts_import_output *const o = ts_import_at(imported, 0);
    assert_string_equal(o->path, output);
    assert_string_equal(o->format, "kineto");
    assert_string_equal(o->base, "kineto.json");
    assert_true(o->has_rank);
    assert_int_equal(o->rank, 3);
    assert_int_equal(o->events[TS_EVENT_KERNEL], 1);
    assert_int_equal(o->events[TS_EVENT_API_CALL], 1);
    assert_int_equal(o->bad.count, 0);
    assert_null(ts_import_at(imported, 1));
    assert_int_equal(ts_import_left_out(imported), 0);
    assert_int_equal(ts_import_unknown(imported), 0);
    memory text = { 0 };
    const ts_output out = to_memory(&text);
    assert_int_equal(ts_import_write(imported, TS_REPORT_JSON, &out, &error),
                     TS_OK);
    assert_non_null(strstr(text.text, "\"rank\": 3"));
    forget(&text);
    ts_import_close(imported);
}

UNIT_TEST_WITHIN(the_formats_are_listed, set_up, tear_down)
{
    ts_import_format format;
    bool has_kineto = false;
    size_t count = 0;
    for (; ts_import_format_at(count, &format); count++)
        has_kineto |= !strcmp(format.name, "kineto") && *format.title;
    assert_true(has_kineto);
    assert_false(ts_import_format_at(count + 1, &format));
}

UNIT_TEST_WITHIN(an_export_goes_to_a_path_a_stream_and_a_callback, set_up,
                 tear_down)
{
    const char *const output = folder_file(&at, "out.json");
    memory written = { 0 }, streamed = { 0 };
    ts_export_desc desc = { .path = at.trace, .output = { .path = output } };
    ts_export_counts counts;
    ts_error error;
    // The sample is damaged on purpose nowhere: all of it arrives.
    assert_int_equal(ts_export_file(&counts, &desc, &error), TS_OK);
    assert_true(counts.is_file);
    assert_string_equal(counts.format, "chrome");
    const uint64_t size = counts.bytes, slices = counts.slices;
    assert_true(slices > 0);

    desc.format = "chrome";
    desc.output = to_memory(&written);
    assert_int_equal(ts_export_file(&counts, &desc, &error), TS_OK);
    assert_false(counts.is_file);
    assert_int_equal(counts.slices, slices);
    assert_int_equal(written.size, size);

    FILE *const stream = open_memstream(&streamed.text, &streamed.size);
    desc.output = (ts_output){ .stream = stream };
    assert_int_equal(ts_export_file(&counts, &desc, &error), TS_OK);
    fclose(stream);
    assert_int_equal(streamed.size, size);
    assert_memory_equal(streamed.text, written.text, size);
    forget(&written);
    forget(&streamed);
}

UNIT_TEST_WITHIN(a_graph_is_counted_in_nodes, set_up, tear_down)
{
    memory written = { 0 };
    const ts_export_desc desc = { .path = at.trace,
                                  .output = to_memory(&written),
                                  .format = "dot" };
    ts_export_counts counts;
    assert_int_equal(ts_export_file(&counts, &desc, NULL), TS_OK);
    assert_string_equal(counts.format, "dot");
    assert_true(counts.nodes > 0);
    assert_memory_equal(written.text, "digraph", 7);
    forget(&written);
}

/* ---- Analysis and diff --------------------------------------------------- */

UNIT_TEST_WITHIN(an_analysis_is_text_json_and_html, set_up, tear_down)
{
    static const struct {
        ts_report_format format;
        const char *begin;
    } forms[] = { { TS_REPORT_JSON, "{" }, { TS_REPORT_HTML, "<!DOCTYPE" } };
    ts_analysis *const analysis = open_analysis(NULL);
    memory text = { 0 }, again = { 0 };
    ts_output out = to_memory(&text);
    assert_int_equal(ts_analysis_write(analysis, TS_REPORT_TEXT, &out, NULL),
                     TS_OK);
    assert_non_null(strstr(text.text, at.trace));
    forget(&text);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        out = to_memory(&text);
        assert_int_equal(
            ts_analysis_write(analysis, forms[i].format, &out, NULL), TS_OK);
        assert_memory_equal(text.text, forms[i].begin, strlen(forms[i].begin));
        out = to_memory(&again); // nothing of it is used up
        assert_int_equal(
            ts_analysis_write(analysis, forms[i].format, &out, NULL), TS_OK);
        assert_string_equal(text.text, again.text);
        forget(&text);
        forget(&again);
    }
    ts_analysis_close(analysis);
}

UNIT_TEST_WITHIN(lines_are_fitted_to_columns, set_up, tear_down)
{
    ts_analysis *const analysis = open_analysis(NULL);
    size_t lines[2] = { 0, 0 };
    for (size_t i = 0; i < 2; i++) {
        memory text = { 0 };
        ts_output out = to_memory(&text);
        out.columns = i ? 60 : 200;
        assert_int_equal(
            ts_analysis_write(analysis, TS_REPORT_TEXT, &out, NULL), TS_OK);
        for (const char *c = text.text; *c; c++)
            lines[i] += *c == '\n';
        forget(&text);
    }
    assert_true(lines[1] > lines[0]); // sentences are wrapped earlier
    ts_analysis_close(analysis);
}

UNIT_TEST_WITHIN(answers_and_findings_are_structs, set_up, tear_down)
{
    ts_analysis *const analysis = open_analysis(NULL);
    ts_analysis_answer answer;
    ts_analysis_finding finding;
    ts_error error;
    size_t answers = 0, findings = 0;
    for (; ts_analysis_answer_at(analysis, answers, &answer, &error); answers++)
        assert_true(*answer.topic && *answer.title && answer.answer.size);
    assert_int_equal(error.result, TS_OK);
    assert_true(answers >= 10);
    for (; ts_analysis_finding_at(analysis, findings, &finding, &error);
         findings++)
        assert_true(*finding.rule && *finding.title && finding.what.size);
    assert_int_equal(error.result, TS_OK);
    ts_analysis_close(analysis);
}

UNIT_TEST_WITHIN(topics_and_rules_are_listed, set_up, tear_down)
{
    memory text = { 0 };
    const ts_output out = to_memory(&text);
    assert_int_equal(ts_analysis_topics_write(&out, NULL), TS_OK);
    assert_non_null(strstr(text.text, "summary"));
    forget(&text);
    assert_int_equal(ts_analysis_rules_write(&out, NULL), TS_OK);
    assert_non_null(strstr(text.text, "all of them\n"));
    forget(&text);
}

UNIT_TEST_WITHIN(a_flame_graph_is_folded_or_a_picture, set_up, tear_down)
{
    ts_analysis *const analysis = open_analysis(NULL);
    memory text = { 0 };
    const ts_output out = to_memory(&text);
    assert_int_equal(
        ts_analysis_flame_write(analysis, "gpu", TS_FLAME_SVG, &out, NULL),
        TS_OK);
    assert_non_null(strstr(text.text, "<svg"));
    forget(&text);
    assert_int_equal(
        ts_analysis_flame_write(analysis, NULL, TS_FLAME_FOLDED, &out, NULL),
        TS_OK);
    assert_true(text.size > 0);
    forget(&text);
    ts_analysis_close(analysis);
}

UNIT_TEST_WITHIN(a_diff_of_one_run_passes_its_gates, set_up, tear_down)
{
    const char *const path = at.trace;
    const char *const gates[] = { "makespan +5%", "kernel:nosuch* +5%" };
    ts_diff_desc desc = { .a_paths = &path,
                          .a_count = 1,
                          .b_paths = &path,
                          .b_count = 1,
                          .gates = gates,
                          .gate_count = 1 };
    ts_diff *diff;
    ts_error error;
    memory text = { 0 };
    const ts_output out = to_memory(&text);
    assert_int_equal(ts_diff_open(&diff, &desc, &error), TS_OK);
    assert_int_equal(ts_diff_verdict_of(diff), TS_DIFF_PASSED);
    assert_int_equal(ts_diff_write(diff, TS_REPORT_JUNIT, &out, NULL), TS_OK);
    assert_memory_equal(text.text, "<?xml", 5);
    forget(&text);
    assert_int_equal(ts_diff_write(diff, TS_REPORT_MARKDOWN, &out, NULL),
                     TS_OK);
    assert_memory_equal(text.text, "## ", 3);
    forget(&text);
    assert_int_equal(ts_diff_write(diff, TS_REPORT_JSON, &out, NULL), TS_OK);
    assert_memory_equal(text.text, "{", 1);
    forget(&text);
    ts_diff_close(diff);

    desc.gate_count = 2; // the second one matches nothing
    assert_int_equal(ts_diff_open(&diff, &desc, &error), TS_OK);
    assert_int_equal(ts_diff_verdict_of(diff), TS_DIFF_BLIND);
    ts_diff_close(diff);
}

/* ---- SQL, cut, merge ----------------------------------------------------- */

static ts_sql *open_sql(const char *setting)
{
    const char *const path = at.trace;
    const ts_sql_desc desc = { .paths = &path,
                               .path_count = 1,
                               .settings = &setting,
                               .setting_count = setting != NULL };
    ts_sql *sql;
    const ts_result result = ts_sql_open(&sql, &desc, NULL);
    if (result == TS_ERR_UNSUPPORTED) skip(); // without SQLite
    assert_int_equal(result, TS_OK);
    return sql;
}

UNIT_TEST_WITHIN(rows_are_csv_and_json, set_up, tear_down)
{
    ts_sql *const sql = open_sql("n=2");
    memory text = { 0 };
    const ts_output out = to_memory(&text);
    uint64_t rows;
    assert_int_equal(ts_sql_trace_count(sql), 1);
    assert_int_equal(ts_sql_write(sql, "SELECT :n AS a, 'x,y' AS b", NULL,
                                  TS_SQL_CSV, &out, &rows, NULL),
                     TS_OK);
    assert_string_equal(text.text, "a,b\n2,\"x,y\"\n");
    assert_int_equal(rows, 1);
    forget(&text);
    assert_int_equal(ts_sql_write(sql, "SELECT count(*) AS n FROM gpu_op", NULL,
                                  TS_SQL_JSON, &out, &rows, NULL),
                     TS_OK);
    assert_non_null(strstr(text.text, "\"complete\": true"));
    forget(&text);
    ts_sql_close(sql);
}

UNIT_TEST_WITHIN(tables_are_described_and_saved, set_up, tear_down)
{
    ts_sql *const sql = open_sql(NULL);
    const char *const saved = folder_file(&at, "saved.db");
    memory text = { 0 };
    const ts_output out = to_memory(&text);
    struct stat status;
    assert_int_equal(ts_sql_tables_write(sql, &out, NULL), TS_OK);
    assert_non_null(strstr(text.text, "gpu_op"));
    forget(&text);
    assert_int_equal(ts_sql_schema_write(sql, "zone", &out, NULL), TS_OK);
    assert_non_null(strstr(text.text, "CREATE TABLE zone"));
    forget(&text);
    assert_int_equal(ts_sql_save(sql, saved, "SELECT 1 AS one", NULL), TS_OK);
    assert_int_equal(stat(saved, &status), 0);
    ts_sql_close(sql);
}

UNIT_TEST_WITHIN(a_cut_keeps_what_is_selected, set_up, tear_down)
{
    const char *const output = folder_file(&at, "cut.sbt");
    const ts_selection selection = { .kind = "kernel" };
    const ts_cut_desc desc = { .path = at.trace,
                               .output = output,
                               .selection = &selection };
    ts_cut_counts counts;
    assert_int_equal(ts_cut_file(&counts, &desc, NULL), TS_OK);
    assert_int_equal(counts.kept, SAMPLE_ROWS);
    assert_true(counts.left_out > 0);
    assert_int_equal(counts.added, 0);
}

UNIT_TEST_WITHIN(a_merge_tells_where_files_lie, set_up, tear_down)
{
    const char *const cut = folder_file(&at, "cut.sbt");
    const char *const output = folder_file(&at, "merged.sbt");
    const ts_cut_desc part = { .path = at.trace, .output = cut };
    ts_cut_counts counts;
    assert_int_equal(ts_cut_file(&counts, &part, NULL), TS_OK);
    const char *const paths[] = { at.trace, cut };
    char offset[128];
    snprintf(offset, sizeof offset, "%s=1.5us", cut);
    const char *const offsets[] = { offset };
    const ts_merge_desc desc = { .paths = paths,
                                 .path_count = 2,
                                 .output = output,
                                 .offsets = offsets,
                                 .offset_count = 1 };
    ts_merge *merged;
    ts_merge_file file;
    assert_int_equal(ts_merge_files(&merged, &desc, NULL), TS_OK);
    assert_true(ts_merge_file_at(merged, 1, &file));
    assert_string_equal(file.path, cut);
    assert_true(file.given);
    assert_int_equal(file.offset_ns, 1500);
    assert_false(ts_merge_file_at(merged, 2, &file));
    assert_int_equal(ts_merge_undefined(merged), 0);
    memory text = { 0 };
    const ts_output out = to_memory(&text);
    assert_int_equal(ts_merge_write(merged, TS_REPORT_JSON, &out, NULL), TS_OK);
    assert_non_null(strstr(text.text, "\"offset_ns\": 1500"));
    forget(&text);
    ts_merge_close(merged);
}

/* ---- Ownership ----------------------------------------------------------- */

UNIT_TEST_WITHIN(what_a_desc_points_to_may_go, set_up, tear_down)
{
    char *const path = strdup(at.trace), *const only = strdup("summary");
    char *const setting = strdup("memory.short-lived=2ms");
    const char *const paths[] = { path }, *const settings[] = { setting };
    const ts_analysis_desc desc = { .paths = paths,
                                    .path_count = 1,
                                    .only = only,
                                    .settings = settings,
                                    .setting_count = 1 };
    ts_analysis *analysis;
    ts_error error;
    assert_int_equal(ts_analysis_open(&analysis, &desc, &error), TS_OK);
    memset(path, 'x', strlen(path));
    memset(only, 'x', strlen(only));
    memset(setting, 'x', strlen(setting));
    free(path);
    free(only);
    free(setting);
    memory text = { 0 };
    const ts_output out = to_memory(&text);
    assert_int_equal(ts_analysis_write(analysis, TS_REPORT_JSON, &out, &error),
                     TS_OK);
    assert_non_null(strstr(text.text, at.trace));
    ts_analysis_answer answer; // `only` is one topic
    assert_true(ts_analysis_answer_at(analysis, 0, &answer, &error));
    assert_string_equal(answer.topic, "summary");
    assert_false(ts_analysis_answer_at(analysis, 1, &answer, &error));
    forget(&text);
    ts_analysis_close(analysis);
}

UNIT_TEST_WITHIN(close_takes_null, set_up, tear_down)
{
    ts_import_close(NULL);
    ts_analysis_close(NULL);
    ts_diff_close(NULL);
    ts_sql_close(NULL);
    ts_merge_close(NULL);
    assert_int_equal(ts_import_count(NULL), 0);
    assert_int_equal(ts_import_left_out(NULL), 0);
    assert_int_equal(ts_import_unknown(NULL), 0);
    assert_int_equal(ts_merge_undefined(NULL), 0);
}

/* ---- Threads ------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 5 };

typedef struct worker {
    pthread_t thread;
    char step[8]; // its own selection
    memory text;
    bool failed;
} worker;

// A part of the trace, which is of the thread's own call alone.
static void analyse_round(worker *w)
{
    const char *const path = at.trace;
    const ts_selection selection = { .kind = NULL,
                                     .has_from = true,
                                     .from_ns = w->step[0] - '0' };
    const ts_analysis_desc desc = { .paths = &path,
                                    .path_count = 1,
                                    .selection = &selection };
    ts_analysis *analysis;
    const ts_output out = to_memory(&w->text);
    forget(&w->text);
    w->failed |= ts_analysis_open(&analysis, &desc, NULL) != TS_OK;
    if (w->failed) return;
    w->failed |=
        ts_analysis_write(analysis, TS_REPORT_TEXT, &out, NULL) != TS_OK;
    w->failed |= !strstr(w->text.text, w->step);
    ts_analysis_close(analysis);
}

static void *work(void *user)
{
    worker *const w = user;
    for (int i = 0; i < ROUNDS && !w->failed; i++)
        analyse_round(w);
    return NULL;
}

UNIT_TEST_WITHIN(threads_have_analyses_of_their_own, set_up, tear_down)
{
    worker workers[THREADS] = { { 0 } };
    for (int i = 0; i < THREADS; i++) {
        snprintf(workers[i].step, sizeof workers[i].step, "%dns", i + 1);
        assert_int_equal(
            pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < THREADS; i++) {
        if (workers[i].failed) fail_msg("%s", workers[i].text.text);
        forget(&workers[i].text);
    }
}

// It is closed by another one than that which opened it.
static void *write_and_close(void *user)
{
    memory text = { 0 };
    const ts_output out = to_memory(&text);
    const ts_result result =
        ts_analysis_write(user, TS_REPORT_JSON, &out, NULL);
    ts_analysis_close(user);
    forget(&text);
    return result == TS_OK ? user : NULL;
}

UNIT_TEST_WITHIN(a_handle_goes_from_thread_to_thread, set_up, tear_down)
{
    pthread_t thread;
    void *done;
    ts_analysis *const analysis = open_analysis(NULL);
    assert_int_equal(pthread_create(&thread, NULL, write_and_close, analysis),
                     0);
    pthread_join(thread, &done);
    assert_ptr_equal(done, analysis);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
