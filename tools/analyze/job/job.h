/*
    job.h - what the questions of ts-analyze share

    A question takes a job and fills a section of a report. What is dear to
    load is loaded once, when the first question asks for it.
*/
#ifndef TS_TOOLS_ANALYZE_JOB_JOB_H
#define TS_TOOLS_ANALYZE_JOB_JOB_H

#include "tools/analyze/report/report.h"

typedef struct analyze_job analyze_job;

/* ==== 1. Questions ======================================================= */

// A threshold: --set KEY=VALUE. Units: REPORT_COUNT, REPORT_NS, REPORT_BYTES,
// and REPORT_SHARE, whose value is in hundredths of a percent.
typedef struct analyze_setting {
    const char *key, *help; // "advice.launch-share"
    report_unit unit;
    int64_t value; // the default
} analyze_setting;

// One a file of topics/; all of them are listed in topics/list.c.
typedef struct analyze_question {
    const char *name, *title;
    const char *help; // what it answers, one line
    // Fills a section. False without memory. A trace that it does not apply
    // to is no failure: see report_not_applicable.
    bool (*ask)(analyze_job *job, report *r);
    const analyze_setting *settings; // ends with { 0 }; NULL: none
} analyze_question;

extern const analyze_question *const analyze_questions[]; // ends with NULL

/* ==== 2. The job ========================================================= */

typedef struct analyze_file {
    const char *path;
    cli_trace trace;
    int64_t rank;
    bool ranked; // it says which it is
} analyze_file;

typedef struct analyze_options {
    uint64_t top;          // rows of a table that people are shown (10)
    uint64_t rows;         // rows of a table that programs are given (1000)
    const char *sort;      // key of the column to sort by (NULL: as it comes)
    bool collapse;         // templates: f<...>
    bool no_demangle;      // names as recorded
    const cli_list *sets;  // KEY=VALUE
    const cli_list *flops; // REGEX=COUNT, of floating point operations
    const char *selected;  // "--step 5", as commands take it (NULL: all)
} analyze_options;

struct analyze_job {
    const cli_tool *tool;
    analyze_file *files;
    uint32_t file_count;
    analyze_options options;
    bool wrong_usage; // why a function below failed: an option means nothing
    struct analyze_private *private; // see job.c
};

static inline ts_reader *analyze_reader(const analyze_job *job, uint32_t file)
{
    return job->files[file].trace.reader;
}
// Whether the source had no times of its own: the importer estimated them.
bool analyze_estimated(const analyze_job *job, uint32_t file);
static inline const ts_info *analyze_info(const analyze_job *job, uint32_t file)
{
    return job->files[file].trace.info;
}
// How a file is called where there are several: "rank 3", else "file 0".
cli_text analyze_file_name(const analyze_job *job, uint32_t file);

// The value of a setting of any question.
int64_t analyze_set(const analyze_job *job, const char *key);

/* ==== 3. What is loaded when asked for =================================== */

/*
    The graph of all files together, run exactly as recorded. NULL: no GPU
    operation, or another reason, which analyze_why then says in one clause.
    Lifetime of all in this section: until the job ends; of the timeline and
    the columns, until they are forgotten.
*/
ts_replay *analyze_replay(analyze_job *job);
ts_timeline *analyze_timeline(analyze_job *job); // of the record
const char *analyze_why(const analyze_job *job);
// What is added to times of a file to put them on the axis of the first.
int64_t analyze_offset(analyze_job *job, uint32_t file);
// The time that the traces were cut to, on the axis of all: see cli_clip.
bool analyze_clip(analyze_job *job, int64_t *from_ns, int64_t *to_ns);
// "--step 5 (1,033 of 5,165 events)": how the files were cut, if all alike;
// else empty.
ts_text analyze_selected(analyze_job *job);
/*
    A second graph, for what-ifs: run it in TS_REPLAY_MODEL with changes as
    often as wanted. Its operations have the numbers of analyze_replay.
*/
ts_replay *analyze_model(analyze_job *job);

/*
    One column of all GPU operations of a file, by ts_operation.row; `count`
    values. NULL: all are zero, or there is no memory. Damaged chunks: zero.
*/
const uint64_t *analyze_column(analyze_job *job, uint32_t file,
                               ts_column column, size_t *count);
// Likewise the stack that launched it: its own, else that of its call. The
// innermost zone is TS_COLUMN_SITE: recorders and importers both know it.
const uint32_t *analyze_stacks(analyze_job *job, uint32_t file, size_t *count);

// Frees the timeline and the columns, which are made again if asked for.
void analyze_forget(analyze_job *job);

/* ==== 4. Names =========================================================== */

// A name of the trace as people read it: demangled, and collapsed if wanted.
ts_text analyze_name(analyze_job *job, ts_text name);
// Of an operation: its kernel's, collective's or host function's, else kind.
ts_text analyze_label(analyze_job *job, const ts_operation *operation);
// "GPU 0", "stream 7 on GPU 0 of rank 1": a device or stream.
ts_text analyze_track(analyze_job *job, uint32_t file, uint32_t track);
// As printf; the text lives as long as the job.
__attribute__((format(printf, 2, 3))) ts_text
analyze_format(analyze_job *job, const char *format, ...);
// "libfoo.so+0x12a0".
ts_text analyze_frame(analyze_job *job, uint32_t file,
                      const ts_frame_entry *frame, uint32_t at);
// Of a stack, innermost first, at most `most` frames in one line.
ts_text analyze_stack(analyze_job *job, uint32_t file, uint32_t stack,
                      uint32_t most);

/* ==== 5. Running ========================================================= */

// Opens the files. False, with the reason on stderr, if one cannot be read or
// an option means nothing. Call analyze_close in any case.
bool analyze_open(analyze_job *job, char **paths, uint32_t count);
// False, with the reason on stderr, if a path is no file but may be a question.
bool analyze_files_check(const cli_tool *tool, char **paths, size_t count);
// False, with the reason on stderr, if one of a list is no REGEX=N.
bool analyze_flops_check(const cli_tool *tool, const cli_list *flops);
// False, with the reason on stderr, if a name in the list is no question.
bool analyze_only_check(const cli_tool *tool, const char *only);
// Asks the questions whose names `only` lists (NULL: all). False, with the
// reason on stderr, for an unknown one and without memory.
bool analyze_ask(analyze_job *job, const char *only, report *r);
void analyze_close(analyze_job *job);

/* ---- Renderers ---------------------------------------------------------- */

// A command to go on with, as it is typed, and what it shows.
typedef struct analyze_command {
    char *text;
    const char *purpose;
} analyze_command;
enum { ANALYZE_COMMANDS = 7 };
typedef struct analyze_commands {
    analyze_command list[ANALYZE_COMMANDS];
    size_t count; // 0: a file has no name that a command could take
} analyze_commands;

// Those that follow from a whole report. Close them.
void analyze_next(analyze_commands *next, const analyze_job *job,
                  const report *r);
void analyze_next_close(analyze_commands *next);

void analyze_text(const analyze_job *job, const report *r);
void analyze_json(const analyze_job *job, const report *r);
void analyze_html(const analyze_job *job, const report *r, FILE *out);

/* ---- Lists --------------------------------------------------------------- */

// Print the questions and the thresholds of --set; the rules of advice, how
// each computes its gain, and its thresholds.
void analyze_list_topics(void);
void analyze_list_rules(void);

#endif // TS_TOOLS_ANALYZE_JOB_JOB_H
