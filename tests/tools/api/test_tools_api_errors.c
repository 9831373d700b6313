/*
    test_tools_api_errors.c - how the functions of tracesmith_tools.h fail, and
    that they say so to the caller alone
*/
#include "tests/tools/api/api_fixture.h"
#include "tools/tracesmith_tools.h"

static ts_result open_one(const char *path, ts_error *error)
{
    const ts_analysis_desc desc = { .paths = &path, .path_count = 1 };
    ts_analysis *analysis;
    const ts_result result = ts_analysis_open(&analysis, &desc, error);
    if (result != TS_OK) assert_null(analysis);
    ts_analysis_close(analysis);
    return result;
}

/* ---- Inputs -------------------------------------------------------------- */

UNIT_TEST_WITHIN(a_missing_file_is_named, set_up, tear_down)
{
    ts_error error;
    assert_int_equal(open_one("/nowhere/x.sbt", &error), TS_ERR_IO);
    assert_error(error, TS_ERR_IO, "/nowhere/x.sbt: cannot be read");
}

UNIT_TEST_WITHIN(what_is_no_trace_is_refused, set_up, tear_down)
{
    ts_error error;
    assert_int_equal(open_one(at.kineto, &error), TS_ERR_NOT_SBT);
    assert_error(error, TS_ERR_NOT_SBT, "ts-import"); // what to do
}

// Every function that reads a trace, each of a trace cut at any byte.
UNIT_TEST_WITHIN(every_truncation_is_a_result, set_up, tear_down)
{
    const char *const part = folder_file(&at, "part.sbt");
    const char *const cut = folder_file(&at, "cut.sbt");
    forge whole;
    ts_error error;
    sample_forge(&whole);
    for (size_t size = 0; size < whole.size; size += size < 64 ? 1 : 61) {
        ts_cut_counts counts;
        const ts_cut_desc desc = { .path = part, .output = cut };
        write_file(part, whole.bytes, size);
        const ts_result result = ts_cut_file(&counts, &desc, &error);
        assert_int_equal(result, error.result);
        assert_int_equal(result == TS_OK, !*error.text);
    }
    forge_close(&whole);
}

UNIT_TEST_WITHIN(damage_is_a_result_beside_the_counts, set_up, tear_down)
{
    const char *const bad = folder_file(&at, "bad.sbt");
    memory written = { 0 };
    forge whole;
    ts_error error;
    ts_export_counts counts;
    sample_forge(&whole);
    whole.bytes[whole.size / 2] ^= 0x55;
    write_file(bad, whole.bytes, whole.size);
    forge_close(&whole);
    const ts_export_desc desc = { .path = bad,
                                  .output = to_memory(&written),
                                  .format = "chrome" };
    assert_int_equal(ts_export_file(&counts, &desc, &error), TS_ERR_CORRUPT);
    assert_error(error, TS_ERR_CORRUPT, "the output contains everything else");
    assert_string_equal(counts.format, "chrome");
    assert_true(written.size > 0);
    forget(&written);
}

UNIT_TEST_WITHIN(an_import_of_nothing_known_says_the_formats, set_up, tear_down)
{
    const char *const text = folder_file(&at, "notes.txt");
    ts_import_desc desc = { .paths = &text,
                            .path_count = 1,
                            .output = folder_file(&at, "out.sbt") };
    ts_import *imported;
    ts_error error;
    write_file(text, "hello\n", 6);
    assert_int_equal(ts_import_files(&imported, &desc, &error),
                     TS_ERR_NOT_FOUND);
    assert_null(imported);
    assert_error(error, TS_ERR_NOT_FOUND, "its format is unknown");
    assert_error(error, TS_ERR_NOT_FOUND, "kineto");
    desc.format = "nosuch";
    assert_int_equal(ts_import_files(&imported, &desc, &error), TS_ERR_USAGE);
    assert_error(error, TS_ERR_USAGE, "unknown format 'nosuch'");
}

UNIT_TEST_WITHIN(what_one_file_gives_is_kept_when_another_fails, set_up,
                 tear_down)
{
    const char *const output = folder_file(&at, "out.sbt");
    const char *const paths[] = { "/nowhere/x.json", at.kineto };
    const ts_import_desc desc = { .paths = paths,
                                  .path_count = 2,
                                  .output = output };
    ts_import *imported;
    ts_error error;
    assert_int_equal(ts_import_files(&imported, &desc, &error), TS_ERR_IO);
    assert_error(error, TS_ERR_IO, "/nowhere/x.json");
    assert_int_equal(ts_import_count(imported), 1);
    assert_int_equal(ts_import_failed(imported), 1);
    ts_import_close(imported);
}

/* ---- Outputs ------------------------------------------------------------- */

UNIT_TEST_WITHIN(an_unwritable_output_is_named, set_up, tear_down)
{
    const char *const path = at.trace;
    const ts_output out = { .path = "/nowhere/out.json" };
    const ts_analysis_desc desc = { .paths = &path, .path_count = 1 };
    const ts_cut_desc cut = { .path = at.trace, .output = "/nowhere/cut.sbt" };
    const ts_export_desc plain = { .path = at.trace, .output = out };
    ts_export_counts counts;
    ts_cut_counts kept;
    ts_analysis *analysis;
    ts_error error;
    assert_int_equal(ts_analysis_open(&analysis, &desc, &error), TS_OK);
    assert_int_equal(ts_analysis_write(analysis, TS_REPORT_JSON, &out, &error),
                     TS_ERR_IO);
    assert_error(error, TS_ERR_IO, "/nowhere/out.json");
    ts_analysis_close(analysis);
    assert_int_equal(ts_cut_file(&kept, &cut, &error), TS_ERR_IO);
    assert_error(error, TS_ERR_IO, "/nowhere/cut.sbt");
    assert_int_equal(ts_export_file(&counts, &plain, &error), TS_ERR_IO);
    assert_error(error, TS_ERR_IO, "/nowhere/out.json");
    assert_null(counts.format);
}

UNIT_TEST_WITHIN(a_callback_that_refuses_fails_the_call, set_up, tear_down)
{
    const char *const path = at.trace;
    const ts_output out = { .write = refuse };
    const ts_analysis_desc desc = { .paths = &path, .path_count = 1 };
    const ts_export_desc plain = { .path = at.trace,
                                   .output = out,
                                   .format = "perfetto" };
    ts_export_counts counts;
    ts_analysis *analysis;
    ts_error error;
    assert_int_equal(ts_analysis_open(&analysis, &desc, &error), TS_OK);
    assert_int_equal(ts_analysis_write(analysis, TS_REPORT_HTML, &out, &error),
                     TS_ERR_IO);
    assert_error(error, TS_ERR_IO,
                 "the output cannot be written: its callback failed");
    ts_analysis_close(analysis);
    assert_int_equal(ts_export_file(&counts, &plain, &error), TS_ERR_IO);
}

UNIT_TEST_WITHIN(an_output_is_one_place, set_up, tear_down)
{
    memory text = { 0 };
    ts_output out = { 0 };
    ts_error error;
    assert_int_equal(ts_analysis_rules_write(&out, &error), TS_ERR_USAGE);
    assert_error(error, TS_ERR_USAGE, "path, stream and write");
    out = to_memory(&text);
    out.stream = stderr;
    assert_int_equal(ts_analysis_rules_write(&out, &error), TS_ERR_USAGE);
    assert_int_equal(text.size, 0);
}

UNIT_TEST_WITHIN(inputs_and_files_of_others_are_not_replaced, set_up, tear_down)
{
    const char *const path = at.trace, *const notes = folder_file(&at, "notes");
    const ts_analysis_desc desc = { .paths = &path, .path_count = 1 };
    const ts_cut_desc cut = { .path = at.trace, .output = at.trace };
    ts_output out = { .path = at.trace };
    ts_cut_counts counts;
    ts_analysis *analysis;
    ts_error error;
    struct stat before, after;
    write_file(notes, "mine\n", 5);
    assert_int_equal(stat(at.trace, &before), 0);
    assert_int_equal(ts_analysis_open(&analysis, &desc, &error), TS_OK);
    assert_int_equal(ts_analysis_write(analysis, TS_REPORT_TEXT, &out, &error),
                     TS_ERR_IO);
    assert_error(error, TS_ERR_IO, at.trace);
    out.path = notes;
    assert_int_equal(ts_analysis_write(analysis, TS_REPORT_HTML, &out, &error),
                     TS_ERR_IO);
    assert_error(error, TS_ERR_IO, "not an HTML page");
    ts_analysis_close(analysis);
    assert_int_equal(ts_cut_file(&counts, &cut, &error), TS_ERR_IO);
    assert_error(error, TS_ERR_IO, "is the input trace");
    assert_int_equal(stat(at.trace, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(before.st_size, after.st_size);
}

/* ---- Descs --------------------------------------------------------------- */

UNIT_TEST_WITHIN(an_empty_desc_is_refused, set_up, tear_down)
{
    ts_error error;
    ts_import *imported;
    ts_export_counts exported;
    ts_analysis *analysis;
    ts_diff *diff;
    ts_cut_counts cut;
    ts_merge *merged;
    const ts_import_desc import_desc = { 0 };
    const ts_export_desc export_desc = { 0 };
    const ts_analysis_desc analysis_desc = { 0 };
    const ts_diff_desc diff_desc = { 0 };
    const ts_cut_desc cut_desc = { 0 };
    const ts_merge_desc merge_desc = { 0 };
    assert_int_equal(ts_import_files(&imported, &import_desc, &error),
                     TS_ERR_USAGE);
    assert_int_equal(ts_export_file(&exported, &export_desc, &error),
                     TS_ERR_USAGE);
    assert_int_equal(ts_analysis_open(&analysis, &analysis_desc, &error),
                     TS_ERR_USAGE);
    assert_int_equal(ts_diff_open(&diff, &diff_desc, &error), TS_ERR_USAGE);
    assert_int_equal(ts_cut_file(&cut, &cut_desc, &error), TS_ERR_USAGE);
    assert_int_equal(ts_merge_files(&merged, &merge_desc, &error),
                     TS_ERR_USAGE);
    assert_error(error, TS_ERR_USAGE, "traces to read are required");
}

UNIT_TEST_WITHIN(what_a_desc_asks_for_is_checked, set_up, tear_down)
{
    const char *const path = at.trace;
    ts_selection selection = { .step = "x" };
    ts_analysis_desc desc = { .paths = &path,
                              .path_count = 1,
                              .selection = &selection };
    ts_analysis *analysis;
    ts_error error;
    assert_int_equal(ts_analysis_open(&analysis, &desc, &error), TS_ERR_USAGE);
    assert_error(error, TS_ERR_USAGE, "--step x");
    selection = (ts_selection){ .stream = "nosuch" };
    assert_int_equal(ts_analysis_open(&analysis, &desc, &error),
                     TS_ERR_NOT_FOUND);
    assert_error(error, TS_ERR_NOT_FOUND, "no stream is 'nosuch'");
    assert_error(error, TS_ERR_NOT_FOUND, "streams of the trace"); // which are
    desc.selection = NULL;
    desc.only = "kernel";
    assert_int_equal(ts_analysis_open(&analysis, &desc, &error), TS_ERR_USAGE);
    assert_error(error, TS_ERR_USAGE, "did you mean kernels?");
}

UNIT_TEST_WITHIN(an_output_has_one_of_its_forms, set_up, tear_down)
{
    const char *const path = at.trace;
    const char *const many[65] = { NULL };
    const ts_analysis_desc desc = { .paths = &path, .path_count = 1 };
    const ts_diff_desc two = {
        .a_paths = &path, .a_count = 1, .b_paths = &path, .b_count = 1
    };
    memory text = { 0 };
    const ts_output out = to_memory(&text);
    ts_analysis *analysis;
    ts_diff *diff;
    ts_error error;
    assert_int_equal(ts_analysis_open(&analysis, &desc, &error), TS_OK);
    ts_analysis_write(analysis, TS_REPORT_JUNIT, &out, &error);
    assert_error(error, TS_ERR_USAGE, "must be text, JSON or HTML");
    ts_analysis_flame_write(analysis, "host", TS_FLAME_FOLDED, &out, &error);
    assert_error(error, TS_ERR_USAGE,
                 "a flame graph must be by gpu, zones or samples");
    ts_analysis_close(analysis);
    assert_int_equal(ts_diff_open(&diff, &two, &error), TS_OK);
    ts_diff_write(diff, TS_REPORT_HTML, &out, &error);
    assert_error(error, TS_ERR_USAGE, "must be text, JSON, Markdown or JUnit");
    ts_diff_close(diff);
    assert_int_equal(text.size, 0);
    const ts_analysis_desc full = {
        .paths = &path, .path_count = 1, .settings = many, .setting_count = 65
    };
    ts_analysis_open(&analysis, &full, &error);
    assert_error(error, TS_ERR_USAGE,
                 "at most 64 settings and 64 flops expressions are allowed");
    ts_merge *merge;
    const ts_merge_desc merged = { .paths = &path,
                                   .path_count = 1,
                                   .output = "/nowhere/x.sbt",
                                   .offset_count = 65 };
    ts_merge_files(&merge, &merged, &error);
    assert_error(error, TS_ERR_USAGE, "at most 64 offsets are allowed");
}

UNIT_TEST_WITHIN(a_value_beyond_an_enumeration_is_refused, set_up, tear_down)
{
    const char *const path = at.kineto;
    const char *const twice[] = { at.trace, folder_file(&at, "imported.sbt") };
    const ts_import_desc desc = { .paths = &path,
                                  .path_count = 1,
                                  .output = twice[1] };
    const ts_merge_desc two = { .paths = twice,
                                .path_count = 2,
                                .output = folder_file(&at, "merged.sbt") };
    const ts_cut_desc cut = { .path = at.trace,
                              .output = two.output,
                              .deps = (ts_cut_deps)9 };
    memory text = { 0 };
    const ts_output out = to_memory(&text);
    ts_import *imported;
    ts_merge *merged;
    ts_cut_counts kept;
    ts_error error;
    assert_int_equal(ts_import_files(&imported, &desc, &error), TS_OK);
    ts_import_write(imported, TS_REPORT_HTML, &out, &error);
    assert_error(error, TS_ERR_USAGE, "an import must be text or JSON");
    ts_import_close(imported);
    assert_int_equal(ts_merge_files(&merged, &two, &error), TS_OK);
    ts_merge_write(merged, TS_REPORT_HTML, &out, &error);
    assert_error(error, TS_ERR_USAGE, "a merge must be text or JSON");
    ts_merge_close(merged);
    ts_cut_file(&kept, &cut, &error);
    assert_error(error, TS_ERR_USAGE,
                 "the additional events to keep must be calls, both or none");
    assert_int_equal(text.size, 0);
}

UNIT_TEST_WITHIN(sql_errors_tell_the_place, set_up, tear_down)
{
    const char *const path = at.trace;
    const ts_sql_desc desc = { .paths = &path, .path_count = 1 };
    memory text = { 0 }, said = { 0 };
    const ts_output out = to_memory(&text);
    ts_sql *sql;
    ts_error error;
    const ts_result result = ts_sql_open(&sql, &desc, &error);
    if (result == TS_ERR_UNSUPPORTED) skip(); // without SQLite
    assert_int_equal(result, TS_OK);
    assert_int_equal(ts_sql_write(sql, "SELECT 1;\nSELECT * FROM zon", "a.sql",
                                  TS_SQL_CSV, &out, NULL, &error),
                     TS_ERR_USAGE);
    assert_error(error, TS_ERR_USAGE, "a.sql");
    assert_error(error, TS_ERR_USAGE, "no such table: zon");
    assert_error(error, TS_ERR_USAGE, "did you mean zone?");
    ts_sql *more;
    const ts_sql_desc full = { .paths = &path,
                               .path_count = (size_t)UINT32_MAX + 1 };
    ts_sql_open(&more, &full, &error);
    assert_error(error, TS_ERR_USAGE, "more traces than a query can hold");
    assert_null(more);
    ts_sql_write(sql, "SELECT 1", NULL, (ts_sql_format)9, &out, NULL, &error);
    assert_error(error, TS_ERR_USAGE, "rows must be a table, CSV or JSON");
    assert_int_equal(ts_sql_write(sql, "DROP TABLE zone", NULL, TS_SQL_CSV,
                                  &out, NULL, &error),
                     TS_ERR_USAGE);
    assert_int_equal(ts_sql_schema_write(sql, "zon", &out, &error),
                     TS_ERR_NOT_FOUND);
    assert_int_equal(ts_sql_save(sql, at.trace, NULL, &error), TS_ERR_IO);
    ts_sql_close(sql);
    forget(&text);
    forget(&said);
}

UNIT_TEST_WITHIN(a_gate_that_is_none_is_refused, set_up, tear_down)
{
    const char *const path = at.trace, *const gate = "nosuch +5%";
    ts_diff_desc desc = { .a_paths = &path,
                          .a_count = 1,
                          .b_paths = &path,
                          .b_count = 1,
                          .gates = &gate,
                          .gate_count = 1 };
    ts_diff *diff;
    ts_error error;
    assert_int_equal(ts_diff_open(&diff, &desc, &error), TS_ERR_USAGE);
    assert_error(error, TS_ERR_USAGE, "nosuch");
    desc.gate_count = 0;
    desc.alpha = "much";
    assert_int_equal(ts_diff_open(&diff, &desc, &error), TS_ERR_USAGE);
    assert_error(error, TS_ERR_USAGE, "much");
}

UNIT_TEST_WITHIN(a_trace_given_twice_is_a_state, set_up, tear_down)
{
    const char *const paths[] = { at.trace, at.trace };
    const ts_analysis_desc desc = { .paths = paths, .path_count = 2 };
    const ts_merge_desc both = { .paths = paths,
                                 .path_count = 2,
                                 .output = folder_file(&at, "out.sbt") };
    ts_analysis *analysis;
    ts_merge *merged;
    ts_error error;
    assert_int_equal(ts_analysis_open(&analysis, &desc, &error), TS_ERR_STATE);
    assert_error(error, TS_ERR_STATE, "is given twice");
    assert_int_equal(ts_merge_files(&merged, &both, &error), TS_ERR_STATE);
    assert_error(error, TS_ERR_STATE, "is given twice");
}

/* ---- Who hears of it ----------------------------------------------------- */

// Descriptors 1 and 2 go to a file for the time of a call.
UNIT_TEST_WITHIN(the_process_prints_nothing, set_up, tear_down)
{
    const char *const path = at.trace;
    const char *const said = folder_file(&at, "said");
    memory heard = { 0 }, text = { 0 };
    const ts_analysis_desc desc = { .paths = &path,
                                    .path_count = 1,
                                    .sort = "no_such_column",
                                    .observer = observed(&heard) };
    const ts_output out = to_memory(&text);
    const int file = open(said, O_RDWR | O_CREAT | O_TRUNC, 0600);
    const int before[] = { dup(1), dup(2) };
    ts_analysis *analysis;
    ts_error error;
    struct stat status;
    fflush(stdout);
    dup2(file, 1);
    dup2(file, 2);
    const ts_result opened = ts_analysis_open(&analysis, &desc, NULL);
    const ts_result written =
        ts_analysis_write(analysis, TS_REPORT_TEXT, &out, &error);
    ts_analysis_close(analysis);
    fflush(stdout);
    fflush(stderr);
    dup2(before[0], 1);
    dup2(before[1], 2);
    close(before[0]);
    close(before[1]);
    assert_int_equal(fstat(file, &status), 0);
    close(file);
    assert_int_equal(status.st_size, 0);
    assert_int_equal(opened, TS_OK);
    assert_int_equal(written, TS_ERR_USAGE);
    assert_non_null(strstr(heard.text, error.text));
    assert_null(strstr(heard.text, "ts-analyze: ")); // who says it is known
    forget(&heard);
    forget(&text);
}

static void take_progress(void *user, const char *what, uint64_t done,
                          uint64_t total)
{
    ((size_t *)user)[what != NULL]++;
}

// Each part that begins ends.
UNIT_TEST_WITHIN(progress_ends, set_up, tear_down)
{
    size_t parts[2] = { 0, 0 };
    const ts_cut_desc desc = { .path = at.trace,
                               .output = folder_file(&at, "cut.sbt"),
                               .observer = { .user = parts,
                                             .progress = take_progress } };
    ts_cut_counts counts;
    assert_int_equal(ts_cut_file(&counts, &desc, NULL), TS_OK);
    assert_true(parts[1] > 0);
    assert_int_equal(parts[0], 1);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
