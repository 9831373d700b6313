/*
    consumer.c - a program that does with the installed library what the tools
    do: as C and as C++, linked in each way that there is

        consumer FOLDER KINETO.tar.gz
*/
#include "tracesmith_tools.h"
#include <string.h>

static int failed(const char *what, const ts_error *error)
{
    fprintf(stderr, "%s: %s (%d)\n", what, error->text, (int)error->result);
    return 1;
}

// The result and that something is said of it.
static int refused(const char *what, ts_result result, ts_result wanted,
                   const ts_error *error)
{
    if (result == wanted && error->result == wanted && *error->text) return 0;
    fprintf(stderr, "%s: %d and '%s', not %d\n", what, (int)result, error->text,
            (int)wanted);
    return 1;
}

static bool add(void *user, const void *bytes, size_t size)
{
    (void)bytes;
    *(size_t *)user += size;
    return true;
}

static int import_two(const char *source, const char *output)
{
    ts_import_desc desc = { 0 };
    ts_import *imported;
    ts_error error;
    desc.paths = &source;
    desc.path_count = 1;
    desc.output = output;
    if (ts_import_files(&imported, &desc, &error) != TS_OK)
        return failed("import", &error);
    const size_t count = ts_import_count(imported);
    const uint64_t rows = count ? ts_import_at(imported, 0)->rows : 0;
    ts_import_close(imported);
    return count != 2 || !rows;
}

static int export_one(const char *trace, const char *output)
{
    ts_export_desc desc = { 0 };
    ts_export_counts counts;
    ts_error error;
    desc.path = trace;
    desc.output.path = output;
    if (ts_export_file(&counts, &desc, &error) != TS_OK)
        return failed("export", &error);
    return !counts.slices || !counts.bytes;
}

static int analyse(const char *const *traces)
{
    ts_analysis_desc desc = { 0 };
    ts_analysis *analysis;
    ts_analysis_answer answer;
    ts_output output = { 0 };
    ts_error error;
    size_t size = 0, answers = 0;
    desc.paths = traces;
    desc.path_count = 2;
    output.write = add;
    output.user = &size;
    if (ts_analysis_open(&analysis, &desc, &error) != TS_OK)
        return failed("analysis", &error);
    if (ts_analysis_write(analysis, TS_REPORT_JSON, &output, &error) != TS_OK)
        return failed("analysis", &error);
    while (ts_analysis_answer_at(analysis, answers, &answer, &error))
        answers++;
    ts_analysis_close(analysis);
    return !size || answers < 10;
}

static int compare(const char *const *traces)
{
    static const char *const gate = "makespan +1000%";
    ts_diff_desc desc = { 0 };
    ts_diff *diff;
    ts_output output = { 0 };
    ts_error error;
    size_t size = 0;
    desc.a_paths = traces;
    desc.a_count = 1;
    desc.b_paths = traces + 1;
    desc.b_count = 1;
    desc.gates = &gate;
    desc.gate_count = 1;
    output.write = add;
    output.user = &size;
    if (ts_diff_open(&diff, &desc, &error) != TS_OK)
        return failed("diff", &error);
    const ts_diff_verdict verdict = ts_diff_verdict_of(diff);
    if (ts_diff_write(diff, TS_REPORT_MARKDOWN, &output, &error) != TS_OK)
        return failed("diff", &error);
    ts_diff_close(diff);
    return !size || verdict == TS_DIFF_FAILED;
}

static int query(const char *trace)
{
    ts_sql_desc desc = { 0 };
    ts_sql *sql;
    ts_output output = { 0 };
    ts_error error;
    size_t size = 0;
    uint64_t rows = 0;
    desc.paths = &trace;
    desc.path_count = 1;
    output.write = add;
    output.user = &size;
    const ts_result result = ts_sql_open(&sql, &desc, &error);
    if (result == TS_ERR_UNSUPPORTED) return 0; // built without SQLite
    if (result != TS_OK) return failed("sql", &error);
    if (ts_sql_write(sql, "SELECT name FROM gpu_op", NULL, TS_SQL_CSV, &output,
                     &rows, &error) != TS_OK)
        return failed("sql", &error);
    const ts_result wrong = ts_sql_write(sql, "SELECT nme FROM gpu_op", "here",
                                         TS_SQL_CSV, &output, NULL, &error);
    const int bad = refused("sql", wrong, TS_ERR_USAGE, &error);
    ts_sql_close(sql);
    return bad || !size || !rows;
}

static int cut_one(const char *trace, const char *output)
{
    ts_selection selection = { 0 };
    ts_cut_desc desc = { 0 };
    ts_cut_counts counts;
    ts_error error;
    selection.kind = "kernel";
    desc.path = trace;
    desc.output = output;
    desc.selection = &selection;
    if (ts_cut_file(&counts, &desc, &error) != TS_OK)
        return failed("cut", &error);
    return !counts.kept || !counts.left_out;
}

static int merge_two(const char *const *traces, const char *output)
{
    ts_merge_desc desc = { 0 };
    ts_merge *merged;
    ts_merge_file file;
    ts_error error;
    desc.paths = traces;
    desc.path_count = 2;
    desc.output = output;
    if (ts_merge_files(&merged, &desc, &error) != TS_OK)
        return failed("merge", &error);
    const bool second = ts_merge_file_at(merged, 1, &file);
    ts_merge_close(merged);
    return !second || !file.events;
}

static int fail_as_documented(const char *trace, const char *folder)
{
    static const char *const missing = "no-such-file.sbt";
    char unwritable[512];
    ts_analysis_desc analysis = { 0 };
    ts_analysis *none;
    ts_cut_desc cut = { 0 };
    ts_cut_counts counts;
    ts_error error;
    analysis.paths = &missing;
    analysis.path_count = 1;
    int bad = refused("missing", ts_analysis_open(&none, &analysis, &error),
                      TS_ERR_IO, &error);
    analysis.paths = &folder; // a tar file
    bad |= refused("hostile", ts_analysis_open(&none, &analysis, &error),
                   TS_ERR_NOT_SBT, &error);
    snprintf(unwritable, sizeof unwritable, "%s/no-such-folder/x.sbt", folder);
    cut.path = trace;
    cut.output = unwritable;
    return bad | refused("unwritable", ts_cut_file(&counts, &cut, &error),
                         TS_ERR_IO, &error);
}

int main(int argc, char **argv)
{
    static const char names[][16] = { "job.sbt",       "job-rank0.sbt",
                                      "job-rank1.sbt", "job.json",
                                      "cut.sbt",       "merged.sbt" };
    char paths[6][512];
    if (argc != 3 || ts_tools_version() != TS_TOOLS_VERSION) return 2;
    for (size_t i = 0; i < 6; i++)
        snprintf(paths[i], sizeof paths[i], "%s/%s", argv[1], names[i]);
    const char *const ranks[] = { paths[1], paths[2] };
    return import_two(argv[2], paths[0]) || export_one(paths[1], paths[3]) ||
           analyse(ranks) || compare(ranks) || query(paths[1]) ||
           cut_one(paths[1], paths[4]) || merge_two(ranks, paths[5]) ||
           fail_as_documented(paths[1], argv[2]);
}
