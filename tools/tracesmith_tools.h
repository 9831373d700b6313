/*
    tracesmith_tools.h - import, export, analyse, compare, query, cut and merge
    traces, and ask a replay "what if?", from a program

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    WHAT IT DOES
        What ts-import, ts-export, ts-analyze, ts-diff, ts-query, ts-cut and
        ts-merge do: these tools are option tables over the functions below.
        ts-mcp is a server over them, and the what-ifs are those of ts-replay.
        Results are structs, or text, JSON, HTML and other forms written to a
        path, a FILE or a callback.

    WHAT IT DOES NOT DO
        It prints nothing, installs no signal handler and never ends the
        process. It does not record (tracesmith.h does) and gives no access to
        single events (tracesmith_replay.h does).

    USE
        #include "tracesmith_tools.h"
        #include <stdio.h>

        int main(int argc, char **argv)
        {
            const char *const path = argc > 1 ? argv[1] : "trace.sbt";
            ts_analysis_desc desc = { 0 };
            ts_analysis *analysis;
            ts_error error;
            desc.paths = &path;
            desc.path_count = 1;
            const ts_output output = { .stream = stdout };
            if (ts_analysis_open(&analysis, &desc, &error) != TS_OK ||
                ts_analysis_write(analysis, TS_REPORT_JSON, &output, &error) !=
                    TS_OK)
                fprintf(stderr, "%s\n", error.text);
            ts_analysis_close(analysis);
            return error.result == TS_OK ? 0 : 1;
        }

    LINK
        cc program.c $(pkg-config --cflags --libs tracesmith-tools)
        It is a library of its own, libtracesmith-tools, as it needs what a
        program that only records must not need: SQLite, libdw, zlib, ...

    RULES
        Descs: all zero is the default, given in parentheses. Strings and
        arrays of a desc are copied or not used after the function returned.
        Errors: every function that can fail returns a ts_result and fills the
        caller's ts_error (NULL: not wanted), also with success. Handles are
        NULL after a failure, except where the comment says otherwise; every
        close function takes NULL.
        Input: traces and files of other tools may be damaged or hostile; that
        is a failure, a message or a count, never undefined behaviour.
        Paths: "-" is the process's standard input or output, where a trace or
        a text can be read or written as a stream.
        Threads: different handles may be used by different threads at the
        same time, and a handle by one thread after another, but not by two at
        once. Calls without a handle may be made by any threads at the same
        time. Callbacks are called by the thread that made the call, except
        where the comment says otherwise; they must not use the same handle.
        Processes: names of functions are demangled, and symbols of stacks
        looked up (`no_symbols` is false), in child processes with limits, as
        a trace may be hostile; fork is called for that.

    CONTENTS                            search for "==== 4." to jump
        1. Version
        2. Errors, messages, outputs
        3. Selection                    the part of a trace that is looked at
        4. Import
        5. Export
        6. Analysis
        7. Diff
        8. SQL
        9. Cut
       10. Merge
       11. What-if                     predictions by the model of a replay
       12. Page                        a trace in a browser
*/
#ifndef TRACESMITH_TOOLS_H
#define TRACESMITH_TOOLS_H

#include <stdio.h>
#include "tracesmith_replay.h"

/* ==== 1. Version ========================================================= */

#ifdef __cplusplus
#define TS_TOOLS_API extern "C" __attribute__((visibility("default")))
#else
#define TS_TOOLS_API extern __attribute__((visibility("default")))
#endif

// Of this header: 10000 * major + 100 * minor + patch.
#define TS_TOOLS_VERSION \
    (10000 * TS_VERSION_MAJOR + 100 * TS_VERSION_MINOR + TS_VERSION_PATCH)

// Of the library. Before 1.0, only a library of the same minor version fits.
TS_TOOLS_API uint32_t ts_tools_version(void);

/* ==== 2. Errors, messages, outputs ======================================= */

/*
    Why a call failed. `text` says what failed, where and what can be done
    about it, in one sentence or a few lines of valid UTF-8 without control
    characters but line breaks; it names options as the tools call them, and
    the fields of descs are called alike. With success it is empty.
*/
typedef struct ts_error {
    ts_result result;
    char text[1020]; // cut if it is longer
} ts_error;

/*
    Messages and progress of a call. Messages are what a tool writes to stderr:
    warnings such as losses and damage of a trace, and errors, the last of
    which is also the text of ts_error.
*/
typedef struct ts_observer {
    void *user TS__UNSET;
    // One message, as the text of ts_error. (Nobody is told.)
    void (*message)(void *user, const char *text) TS__UNSET;
    // How far a part of the work is: `done` of `total`, in no certain unit;
    // total 0: unknown; what NULL: this part has ended. (Nobody is told.)
    void (*progress)(void *user, const char *what, uint64_t done,
                     uint64_t total) TS__UNSET;
} ts_observer;

/*
    Where text or bytes go: exactly one of `path`, `stream` and `write`. A
    regular file at `path` is replaced at the end, if all of it was written,
    and only if it is empty or of the same kind as what is written: plain text
    and CSV are of no kind and replace what is there, but no input.
*/
typedef struct ts_output {
    const char *path TS__UNSET;
    FILE *stream TS__UNSET; // stays open; the caller flushes and checks it
    // Takes all bytes; false: it cannot, and the call fails with TS_ERR_IO.
    bool (*write)(void *user, const void *bytes, size_t size) TS__UNSET;
    void *user TS__UNSET;
    // Tables of text are fitted to lines of so many columns. (They are not
    // fitted, and sentences are wrapped at 80.)
    uint32_t columns TS__UNSET;
} ts_output;

// Forms of a report; not each function has each.
typedef enum ts_report_format {
    TS_REPORT_TEXT = 0, // for people; may change any time
    TS_REPORT_JSON,     // one object; its keys are stable
    TS_REPORT_HTML,     // one page without references
    TS_REPORT_MARKDOWN, // a summary for a pull request
    TS_REPORT_JUNIT     // gates as JUnit XML
} ts_report_format;

/* ==== 3. Selection ======================================================= */

/*
    The part of a trace that is looked at; all of it must hold. Everything is
    computed over the trace that ts_cut_file would write of that part. Lists
    have commas between entries; * in a name stands for anything.
*/
typedef struct ts_selection {
    const char *rank TS__UNSET;   // "0,4..7" (all)
    const char *step TS__UNSET;   // "5", "2..7": numbers of the analysis (all)
    const char *zone TS__UNSET;   // names: what was done inside (all)
    const char *device TS__UNSET; // numbers, A..B or names (all)
    const char *stream TS__UNSET; // numbers, A..B, DEVICE:STREAM, names (all)
    const char *kind TS__UNSET;   // of events, "gpu": export and cut only (all)
    const char *frame TS__UNSET;  // "[NAME:]A..B": cut only (all)
    const char *process TS__UNSET; // numbers or names: cut only (all)
    int64_t from_ns TS__UNSET;     // what ends after, if has_from
    int64_t to_ns TS__UNSET;       // what begins before, if has_to
    bool has_from TS__UNSET, has_to TS__UNSET; // (false)
} ts_selection;

/* ==== 4. Import ========================================================== */

typedef struct ts_import_desc {
    const char *const *paths TS__UNSET; // files, archives, folders
    size_t path_count TS__UNSET;
    // The SBT file to write, or a folder; several ranks go to OUTPUT-rankN.sbt,
    // or where %r stands.
    const char *output TS__UNSET;
    const char *format TS__UNSET; // "kineto", ... (told by what a file holds)
    const char *rank TS__UNSET;   // numbers with commas between (all)
    // A message for each file that is of none of the formats; what has no
    // place, was bad or is estimated, in the text of ts_import_write. (false)
    bool verbose TS__UNSET;
    ts_observer observer TS__UNSET;
} ts_import_desc;

// How often, by a name such as "broken_row".
typedef struct ts_named_count {
    const char *name;
    uint64_t count;
} ts_named_count;

typedef struct ts_named_counts {
    const ts_named_count *items;
    size_t count;
} ts_named_counts;

// A trace that was written. Lifetime: until ts_import_close.
typedef struct ts_import_output {
    const char *path;   // the trace
    const char *source; // what it was made of: "run.tar.gz: rank0.json"
    const char *base;   // the last part of that: "rank0.json"
    const char *format; // "kineto"
    int64_t rank;       // if has_rank
    bool has_rank;
    bool is_cut; // the source ends early
    uint64_t bytes;
    uint64_t rows; // of the source
    int64_t duration_ns;
    uint64_t events[TS_EVENT_LIMIT]; // by ts_event_kind
    ts_named_counts bad;             // rows left out, by cause
    ts_named_counts flawed;          // rows kept, with a flaw, by cause
    ts_named_counts no_place;        // rows that SBT has no place for
    ts_named_counts estimated;       // times that were estimated
    const char *secret; // metadata that seem to hold a password; or NULL
} ts_import_output;

typedef struct ts_import ts_import;

/*
    Turns traces of other tools into SBT files. After a failure of some files
    *imported is not NULL and has what was written of the others; it is NULL if
    nothing was.

    Errors: TS_ERR_USAGE       the desc makes no sense
            TS_ERR_IO          a file cannot be read, the output not written
            TS_ERR_NOT_FOUND   no file is of a known format or of these ranks
            TS_ERR_CORRUPT     a file is damaged or cut short
            TS_ERR_UNSUPPORTED this build lacks a library for the format
            TS_ERR_MEMORY
*/
TS_TOOLS_API ts_result ts_import_files(ts_import **imported,
                                       const ts_import_desc *desc,
                                       ts_error *error);
// How many traces were written; NULL: none.
TS_TOOLS_API size_t ts_import_count(const ts_import *imported);
// One of them; NULL: there are not so many.
TS_TOOLS_API const ts_import_output *ts_import_at(const ts_import *imported,
                                                  size_t index);
// Writes what was written, as text or JSON; a verbose desc has more text.
TS_TOOLS_API ts_result ts_import_write(const ts_import *imported,
                                       ts_report_format format,
                                       const ts_output *output,
                                       ts_error *error);
// The number of files that were left out as those of other ranks; NULL: none.
TS_TOOLS_API uint64_t ts_import_left_out(const ts_import *imported);
// The number of files of a folder or an archive whose format is unknown; NULL:
// none.
TS_TOOLS_API uint64_t ts_import_unknown(const ts_import *imported);
// The number of files of which nothing could be imported; NULL: none.
TS_TOOLS_API uint64_t ts_import_failed(const ts_import *imported);
// Frees what ts_import_files returned; NULL is allowed. The traces stay.
TS_TOOLS_API void ts_import_close(ts_import *imported);

// `missing`: the library that this build lacks for the format, or NULL.
typedef struct ts_import_format {
    const char *name, *title, *missing;
} ts_import_format;
// Gets a format that can be imported, in no certain order. False: there are not
// so many.
TS_TOOLS_API bool ts_import_format_at(size_t index, ts_import_format *format);

/* ==== 5. Export ========================================================== */

typedef struct ts_export_desc {
    const char *path TS__UNSET; // the trace
    // Where to; `write` is called by another thread.
    ts_output output TS__UNSET;
    // "perfetto", "kineto", "chrome", "dot", "nsys" (by output.path's name),
    // "parquet", "csv" or "otf2": output.path is a folder, which is made
    const char *format TS__UNSET;
    const ts_selection *selection TS__UNSET; // (everything)
    bool no_args TS__UNSET;     // no arguments and source locations (false)
    bool no_flows TS__UNSET;    // no arrows (false)
    bool no_compress TS__UNSET; // packets of Perfetto as they are (false)
    bool no_salvage TS__UNSET;  // an unfinished trace as it is (false)
    bool no_symbols TS__UNSET;  // frames as the trace names them (false)
    bool collapse TS__UNSET;    // dot: operations in a row are a node (false)
    uint64_t nodes TS__UNSET;   // dot: join what is near until so few (all)
    uint64_t limit TS__UNSET;   // dot: refuse more nodes (1000)
    bool no_limit TS__UNSET;    // dot: refuse none (false)
    // parquet, csv: names of tables of ts-query with commas between (all, but
    // not the views with names of Nsight Systems)
    const char *tables TS__UNSET;
    ts_observer observer TS__UNSET;
} ts_export_desc;

// What was written.
typedef struct ts_export_counts {
    const char *format; // as in the desc; NULL: nothing was
    bool is_file;       // it is a regular file at output.path
    uint64_t bytes;     // of that file or of those in the folder, else 0
    uint64_t slices, instants, samples, arrows, lanes; // perfetto, chrome
    uint64_t stack_samples; // likewise: of profiles; `samples` is of counters
    uint64_t operations, calls, nodes, edges; // dot, chakra
    uint64_t left_out;     // dot: edges that lead out of the selection;
                           // chakra: events that it has no place for
    uint64_t tables, rows; // parquet, csv
} ts_export_counts;

/*
    Writes a trace for another viewer. A damaged trace is exported but for what
    is damaged, and the result is TS_ERR_CORRUPT, with *counts filled in.

    Errors: TS_ERR_USAGE     the desc makes no sense
            TS_ERR_NOT_FOUND nothing is in the selection; dot: no operation
            those of ts_reader_open, TS_ERR_DISK_FULL, TS_ERR_UNSUPPORTED
*/
TS_TOOLS_API ts_result ts_export_file(ts_export_counts *counts,
                                      const ts_export_desc *desc,
                                      ts_error *error);

/* ==== 6. Analysis ======================================================== */

typedef struct ts_analysis_desc {
    const char *const *paths TS__UNSET; // traces, one of each process
    size_t path_count TS__UNSET;
    const ts_selection *selection TS__UNSET; // (everything)
    const char *only TS__UNSET;              // list of topics (all)
    // Rows of a table in text and HTML (10), in JSON (1000); -1: none.
    int64_t top TS__UNSET, rows TS__UNSET;
    const char *sort TS__UNSET; // key of a column (as they come)
    bool collapse TS__UNSET;    // instances of a template are one (false)
    bool mangled TS__UNSET;     // names as recorded (false)
    bool no_symbols TS__UNSET;  // frames as the trace names them (false)
    const char *const *settings TS__UNSET; // KEY=VALUE, thresholds
    size_t setting_count TS__UNSET;        // at most 64
    const char *const *flops TS__UNSET;    // REGEX=N, of kernels
    size_t flops_count TS__UNSET;          // at most 64
    ts_observer observer TS__UNSET;        // of all calls of the handle
} ts_analysis_desc;

typedef struct ts_analysis ts_analysis;

/*
    Opens traces for an analysis.

    Errors: TS_ERR_USAGE     the desc makes no sense
            TS_ERR_NOT_FOUND nothing is in the selection
            TS_ERR_STATE     two of the traces are of one process
            those of ts_reader_open
*/
TS_TOOLS_API ts_result ts_analysis_open(ts_analysis **analysis,
                                        const ts_analysis_desc *desc,
                                        ts_error *error);
// Writes the report as text, JSON or HTML. The first call that needs it
// computes it.
TS_TOOLS_API ts_result ts_analysis_write(ts_analysis *analysis,
                                         ts_report_format format,
                                         const ts_output *output,
                                         ts_error *error);

typedef enum ts_flame_format {
    TS_FLAME_FOLDED = 0, // folded stacks, which flame graph tools read
    TS_FLAME_SVG
} ts_flame_format;
// Writes a flame graph. by: "gpu" (what launched the time on the devices),
// "zones" (time of the host), "samples" (of a profile). NULL: "gpu".
TS_TOOLS_API ts_result ts_analysis_flame_write(ts_analysis *analysis,
                                               const char *by,
                                               ts_flame_format format,
                                               const ts_output *output,
                                               ts_error *error);

// How much of a statement to trust: the trace shows it; it follows from what
// the trace shows by a rule; it is likely.
typedef enum ts_confidence {
    TS_CONFIDENCE_HIGH = 0,
    TS_CONFIDENCE_MEDIUM,
    TS_CONFIDENCE_LOW
} ts_confidence;

typedef enum ts_severity {
    TS_SEVERITY_INFO = 0,
    TS_SEVERITY_WARNING,
    TS_SEVERITY_SEVERE
} ts_severity;

// The answer of a topic. Texts may hold any bytes of a trace.
typedef struct ts_analysis_answer {
    const char *topic, *title;
    ts_text answer;      // one or two sentences
    bool applies;        // false: the answer says why it does not
    bool has_confidence; // the next line is known
    ts_confidence confidence;
} ts_analysis_answer;

// Something that can be improved. Texts may hold any bytes of a trace.
typedef struct ts_analysis_finding {
    const char *rule;  // "launch-bound"
    const char *title; // what is wrong, one clause
    ts_severity severity;
    ts_confidence confidence;
    ts_text what; // sentences with figures
    ts_text todo; // what to do
    ts_text how;  // how the gain was computed
    bool has_gain;
    int64_t gain_ns, of_ns; // of_ns: the makespan
    bool has_time;
    int64_t from_ns, to_ns; // where, on the axis of the first file
} ts_analysis_finding;

/*
    Gets an answer, in the order of the report, which the first call of this or
    the next function computes. False: there are not so many; or the report
    could not be computed, which *error shows.

    Lifetime: of texts, until ts_analysis_close.
*/
TS_TOOLS_API bool ts_analysis_answer_at(ts_analysis *analysis, size_t index,
                                        ts_analysis_answer *answer,
                                        ts_error *error);
// Gets a reason why the confidence in an answer is not high, in the same way.
TS_TOOLS_API bool ts_analysis_because_at(ts_analysis *analysis, size_t answer,
                                         size_t index, ts_text *because,
                                         ts_error *error);
// Gets a finding of the advice, in the same way.
TS_TOOLS_API bool ts_analysis_finding_at(ts_analysis *analysis, size_t index,
                                         ts_analysis_finding *finding,
                                         ts_error *error);
// Gets a sentence on what the trace lacks, such as lost records, and which
// figures that affects, in the same way.
TS_TOOLS_API bool ts_analysis_loss_at(ts_analysis *analysis, size_t index,
                                      ts_text *loss, ts_error *error);
// Closes an analysis; NULL is allowed.
TS_TOOLS_API void ts_analysis_close(ts_analysis *analysis);

// Writes, as text, the topics that there are and their settings.
TS_TOOLS_API ts_result ts_analysis_topics_write(const ts_output *output,
                                                ts_error *error);
// Writes, as text, the rules of advice and their settings.
TS_TOOLS_API ts_result ts_analysis_rules_write(const ts_output *output,
                                               ts_error *error);

/* ==== 7. Diff ============================================================ */

typedef struct ts_diff_desc {
    // A is before, B after: traces, one of each process of a run.
    const char *const *a_paths TS__UNSET;
    size_t a_count TS__UNSET;
    const char *const *b_paths TS__UNSET;
    size_t b_count TS__UNSET;
    const ts_selection *selection TS__UNSET; // of both sides (everything)
    const char *const *gates TS__UNSET;      // "kernel:gemm* total +5%", ...
    size_t gate_count TS__UNSET;
    const char *const *gate_files TS__UNSET; // with a gate a line
    size_t gate_file_count TS__UNSET;
    // What is beyond a limit fails also where no noise is known. (false)
    bool gate_untested TS__UNSET;
    const char *alpha
        TS__UNSET; // a share: what is less likely is no noise (5%)
    // Rows of a table in text and Markdown (10), in JSON (1000); -1: none.
    int64_t top TS__UNSET, rows TS__UNSET;
    bool collapse TS__UNSET;        // instances of a template are one (false)
    bool mangled TS__UNSET;         // names as recorded (false)
    bool no_symbols TS__UNSET;      // frames as the trace names them (false)
    ts_observer observer TS__UNSET; // of all calls of the handle
} ts_diff_desc;

typedef struct ts_diff ts_diff;

typedef enum ts_diff_verdict {
    TS_DIFF_PASSED = 0, // no gate failed
    TS_DIFF_FAILED,     // a gate did
    TS_DIFF_BLIND       // a gate matches nothing or can see no change
} ts_diff_verdict;

/*
    Compares two runs of one program.

    Errors: TS_ERR_USAGE     the desc, or a gate, makes no sense
            TS_ERR_NOT_FOUND nothing is in the selection
            TS_ERR_STATE     two of the traces of a side are of one process
            those of ts_reader_open
*/
TS_TOOLS_API ts_result ts_diff_open(ts_diff **diff, const ts_diff_desc *desc,
                                    ts_error *error);
// Returns whether the gates passed.
TS_TOOLS_API ts_diff_verdict ts_diff_verdict_of(const ts_diff *diff);
// Writes what differs: text, JSON, Markdown or JUnit.
TS_TOOLS_API ts_result ts_diff_write(ts_diff *diff, ts_report_format format,
                                     const ts_output *output, ts_error *error);
// Closes a comparison; NULL is allowed.
TS_TOOLS_API void ts_diff_close(ts_diff *diff);

/* ==== 8. SQL ============================================================= */

// The prefix ts_query_ belongs to tree-sitter.

typedef struct ts_sql_desc {
    const char *const *paths TS__UNSET; // traces; none: tables are empty
    size_t path_count TS__UNSET;
    const ts_selection *selection TS__UNSET; // (everything)
    const char *const *settings TS__UNSET;   // NAME=VALUE: of :NAME
    size_t setting_count TS__UNSET;
    bool no_symbols TS__UNSET;      // frames as the trace names them (false)
    ts_observer observer TS__UNSET; // of all calls of the handle
    // SQLite adds up row by row what else is added up by column: the same
    // answers, slower (false)
    bool no_pushdown TS__UNSET;
} ts_sql_desc;

typedef struct ts_sql ts_sql;

typedef enum ts_sql_format {
    TS_SQL_TABLE = 0, // for people, fitted to output.columns
    TS_SQL_CSV,       // RFC 4180, with a line of names
    TS_SQL_JSON       // one object
} ts_sql_format;

/*
    Opens traces as tables of an SQLite database in memory; nothing is read
    but what a query needs. docs/query.md has the tables.

    Errors: TS_ERR_USAGE       the desc makes no sense
            TS_ERR_NOT_FOUND   nothing is in the selection
            TS_ERR_UNSUPPORTED this build has no SQLite
            those of ts_reader_open
*/
TS_TOOLS_API ts_result ts_sql_open(ts_sql **sql, const ts_sql_desc *desc,
                                   ts_error *error);
// How many traces there are, which are those of the selected ranks.
TS_TOOLS_API size_t ts_sql_trace_count(const ts_sql *sql);
/*
    Runs statements and writes their rows. A query reads, and makes temporary
    tables and views; it does nothing else. where: what to call the text in
    errors, "line 3 of report.sql" (NULL: "SQL"). rows: how many rows the last
    statement had, or NULL.

    Errors: TS_ERR_USAGE the text is no SQL, or names what there is not; the
            error tells the line and column
*/
TS_TOOLS_API ts_result ts_sql_write(ts_sql *sql, const char *text,
                                    const char *where, ts_sql_format format,
                                    const ts_output *output, uint64_t *rows,
                                    ts_error *error);
/*
    Bounds of ts_sql_write, for SQL that comes from somebody else. Rows are
    those of each statement; `complete` of the JSON is false where some are
    left out.
*/
typedef struct ts_sql_limits {
    uint64_t skip_rows TS__UNSET;   // leave out the first ones (0)
    uint64_t rows TS__UNSET;        // at most so many (all)
    uint64_t time_ns TS__UNSET;     // of a call, which then fails (any)
    uint64_t value_bytes TS__UNSET; // of a text (what SQLite allows, 1 GB)
    bool only_read TS__UNSET; // refuse temporary tables and views too (false)
    // True: give up. Called again and again. (Never.)
    bool (*stop)(void *user) TS__UNSET;
    void *user TS__UNSET;
} ts_sql_limits;

/*
    Sets the bounds of later calls of ts_sql_write (limits NULL: none). Such a
    call fails with TS_ERR_STATE after time_ns, or if `stop` says so; what reads
    a whole trace at once, as the tables of the graph do, is not broken off.
*/
TS_TOOLS_API void ts_sql_limit(ts_sql *sql, const ts_sql_limits *limits);
typedef enum ts_sql_type {
    TS_SQL_NULL = 0,
    TS_SQL_INTEGER,
    TS_SQL_REAL,
    TS_SQL_TEXT // a blob, too
} ts_sql_type;

// A value of a row. Lifetime of the text: until the function returns.
typedef struct ts_sql_value {
    ts_sql_type type;
    int64_t integer;
    double real;
    ts_text text;
} ts_sql_value;

// Takes the rows of statements; false: give up.
typedef struct ts_sql_rows {
    void *user TS__UNSET;
    // A statement begins. names: of its `count` columns, each different.
    bool (*columns)(void *user, const char *const *names,
                    size_t count) TS__UNSET;
    // A row of it, `count` values.
    bool (*row)(void *user, const ts_sql_value *values, size_t count) TS__UNSET;
} ts_sql_rows;

/*
    Runs statements as ts_sql_write does, and hands over each row as values.

    Errors: those of ts_sql_write; TS_ERR_STATE a function of *rows gave up
*/
TS_TOOLS_API ts_result ts_sql_read(ts_sql *sql, const char *text,
                                   const char *where, const ts_sql_rows *rows,
                                   ts_error *error);
// Whether the last statement had more rows than ts_sql_limits.rows.
TS_TOOLS_API bool ts_sql_has_more(const ts_sql *sql);
// Writes all tables and views into a new SQLite database, or (text is not
// NULL) the rows of one query as its table `result`.
TS_TOOLS_API ts_result ts_sql_save(ts_sql *sql, const char *path,
                                   const char *text, ts_error *error);
// Writes, as text, what the columns mean, of one table or (NULL) of all.
TS_TOOLS_API ts_result ts_sql_schema_write(ts_sql *sql, const char *table,
                                           const ts_output *output,
                                           ts_error *error);
// Writes, as text, the names of tables and views.
TS_TOOLS_API ts_result ts_sql_tables_write(ts_sql *sql, const ts_output *output,
                                           ts_error *error);
// Closes the traces; NULL is allowed.
TS_TOOLS_API void ts_sql_close(ts_sql *sql);

/* ==== 9. Cut ============================================================= */

typedef enum ts_cut_deps {
    TS_CUT_DEPS_DEFAULT = 0, // CALLS, with a selection of kinds NONE
    TS_CUT_DEPS_CALLS,       // and the calls that launched what is kept
    TS_CUT_DEPS_BOTH,        // and what kept calls launched
    TS_CUT_DEPS_NONE
} ts_cut_deps;

typedef struct ts_cut_desc {
    const char *path TS__UNSET;              // the trace
    const char *output TS__UNSET;            // the trace to write
    const ts_selection *selection TS__UNSET; // (everything)
    const char *name TS__UNSET; // regular expression: a part of a name (all)
    ts_cut_deps deps TS__UNSET;
    // Leave nothing that tells who ran what, where and when. (false)
    bool anonymise TS__UNSET;
    ts_observer observer TS__UNSET;
} ts_cut_desc;

typedef struct ts_cut_counts {
    uint64_t kept, left_out; // events
    uint64_t added;          // of the kept ones, because of `deps`
    uint64_t undefined;      // numbers that nothing in the trace defines
    uint64_t replaced;       // texts, to anonymise
} ts_cut_counts;

/*
    Writes a part of a trace as a trace. Events are kept whole and when they
    were.

    Errors: TS_ERR_USAGE     the desc makes no sense
            TS_ERR_NOT_FOUND the trace has no such rank, step, stream, ...
            those of ts_reader_open and ts_writer_close
*/
TS_TOOLS_API ts_result ts_cut_file(ts_cut_counts *counts,
                                   const ts_cut_desc *desc, ts_error *error);

/* ==== 10. Merge ========================================================== */

typedef struct ts_merge_desc {
    const char *const *paths TS__UNSET; // traces; the first has the time axis
    size_t path_count TS__UNSET;
    const char *output TS__UNSET;         // the trace to write
    const char *const *offsets TS__UNSET; // FILE=TIME, "rank1.sbt=-1.5ms"
    size_t offset_count TS__UNSET;        // at most 64
    // Ids of flows and spans mean the same in all processes. (false)
    bool shared_flows TS__UNSET;
    ts_observer observer TS__UNSET;
} ts_merge_desc;

// Where a file lies on the axis of the first. Lifetime: until ts_merge_close.
typedef struct ts_merge_file {
    const char *path;
    uint64_t events, processes;
    int64_t offset_ns;    // added to its times
    const char *found_by; // "clock", "collectives", ...; static
    bool given;           // one of `offsets` names it
    uint64_t matched;     // collectives by which it was placed
    int64_t residual_ns;  // how well these agree
} ts_merge_file;

typedef struct ts_merge ts_merge;

/*
    Makes one trace of several, such as the ranks of a job.

    Errors: TS_ERR_USAGE the desc makes no sense, or what is at `output` is no
                         trace that was merged
            TS_ERR_STATE a trace is given twice
            those of ts_reader_open and ts_writer_close
*/
TS_TOOLS_API ts_result ts_merge_files(ts_merge **merged,
                                      const ts_merge_desc *desc,
                                      ts_error *error);
// Files in the order given; false: there are not so many.
TS_TOOLS_API bool ts_merge_file_at(const ts_merge *merged, size_t index,
                                   ts_merge_file *file);
// Writes where the files lie, as text or JSON.
TS_TOOLS_API ts_result ts_merge_write(const ts_merge *merged,
                                      ts_report_format format,
                                      const ts_output *output, ts_error *error);
// Returns how many numbers in events nothing in the traces defines; NULL: 0.
TS_TOOLS_API uint64_t ts_merge_undefined(const ts_merge *merged);
// Frees what ts_merge_files returned; NULL is allowed. The trace stays.
TS_TOOLS_API void ts_merge_close(ts_merge *merged);

/* ==== 11. What-if ======================================================== */

typedef struct ts_whatif_desc {
    // As ts-replay --what-if takes them: "scale gemm=1/2", ...
    const char *const *changes TS__UNSET;
    size_t change_count TS__UNSET;  // (0: the unchanged model alone)
    ts_observer observer TS__UNSET; // of the call
} ts_whatif_desc;

// What the model says of a run. Lifetime of texts: until ts_whatif_close.
typedef struct ts_whatif_figures {
    const char *change;  // as given; NULL: the model without a change
    const char *assumed; // what the change was taken to mean; "": what it says
    const char *nothing; // why it changes no operation; "": it changes some
    ts_confidence confidence;
    const char *because;            // why the confidence is not high; "": it is
    uint64_t meant;                 // operations that the change applies to
    uint64_t operations;            // that ran
    uint64_t never_ran;             // a deadlock; the figures below are then 0
    int64_t makespan_ns;            // 0: nothing ran
    int64_t change_ns;              // of the makespan, against the model
    ts_cost bound;                  // what most of the critical path is
    int64_t cost_ns[TS_COST_LIMIT]; // of the critical path, by ts_cost
} ts_whatif_figures;

typedef struct ts_whatif ts_whatif;

/*
    Runs the model of a replay, each change alone, and, if there are several,
    all of them combined. The replay then has the schedule of the last run.

    Errors: TS_ERR_USAGE a change makes no sense, or names a stream or a rank
                         that does not exist
            those of ts_replay_run
*/
TS_TOOLS_API ts_result ts_whatif_open(ts_whatif **whatif, ts_replay *replay,
                                      const ts_whatif_desc *desc,
                                      ts_error *error);
// Returns the recorded makespan.
TS_TOOLS_API int64_t ts_whatif_recorded_ns(const ts_whatif *whatif);
// Gets the figures of the model, of each change, and of all combined. False:
// there are not so many.
TS_TOOLS_API bool ts_whatif_figures_at(const ts_whatif *whatif, size_t index,
                                       ts_whatif_figures *figures);
// Frees the figures; NULL is allowed.
TS_TOOLS_API void ts_whatif_close(ts_whatif *whatif);

/* ==== 12. Page =========================================================== */

typedef struct ts_page_desc {
    const char *path TS__UNSET;     // the trace
    bool no_report TS__UNSET;       // without what an analysis says (false)
    ts_observer observer TS__UNSET; // of the call
    // A page without a trace, which reads one of its own web host, by ranges:
    // PAGE?url=TRACE; path is NULL then (false)
    bool hosted TS__UNSET;
    // Names as the trace has them; else those of C++ and Rust are demangled, up
    // to 32,768, if the page contains the trace (false)
    bool mangled TS__UNSET;
} ts_page_desc;

/*
    Writes an HTML page that shows a trace in a browser, as ts-studio -o does:
    one file, which asks nobody. The page does not contain a trace of more than
    50 MiB and asks for its file; a message says so.

    Errors: those of ts_reader_open, TS_ERR_DISK_FULL
*/
TS_TOOLS_API ts_result ts_page_write(const ts_page_desc *desc,
                                     const ts_output *output, ts_error *error);
// Writes what such a page says of the analysis of a trace, as JSON, for a
// server of the page. Errors: TS_ERR_NOT_FOUND there is none: the trace has
// more than 2,000,000 operations, or cannot be read.
TS_TOOLS_API ts_result ts_page_report_write(const char *path,
                                            const ts_output *output,
                                            ts_error *error);

#endif // TRACESMITH_TOOLS_H
