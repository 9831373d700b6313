/*
    job.h - the job: opened traces, their replay, and data that topics share

    A topic takes a job and fills one section of a report. Data that is
    expensive to load is loaded once, when the first topic needs it.
*/
#ifndef TS_TOOLS_ANALYZE_JOB_JOB_H
#define TS_TOOLS_ANALYZE_JOB_JOB_H

#include "tools/analyze/report/report.h"
#include "tools/cli/sort.h"

typedef struct analyze_job analyze_job;

/* ==== 1. Topics ========================================================== */

// A threshold that --set KEY=VALUE changes. Its unit is REPORT_COUNT,
// REPORT_NS, REPORT_BYTES, REPORT_RATE (bytes per second) or REPORT_SHARE; a
// share is in hundredths of a percent.
typedef struct analyze_setting {
    const char *key, *help; // "advice.launch-share"
    report_unit unit;
    int64_t value; // the default
} analyze_setting;

// A topic. Each file of topics/ defines one; topics/list.c lists them all.
typedef struct analyze_topic {
    const char *name, *title;
    const char *help; // which question it answers, in one line
    // Fills a section. Returns false if memory runs out. A topic that does not
    // apply to the trace calls report_not_applicable and returns true.
    bool (*fill)(analyze_job *job, report *r);
    const analyze_setting *settings; // ends with { 0 }; NULL: none
} analyze_topic;

extern const analyze_topic *const analyze_topics[]; // ends with NULL

/* ==== 2. The job ========================================================= */

typedef struct analyze_file {
    const char *path;
    cli_trace trace;
    int64_t rank;
    bool ranked; // the trace says which rank it is
} analyze_file;

typedef struct analyze_options {
    uint64_t top;     // maximum rows of a table as text and HTML (10)
    uint64_t rows;    // maximum rows of a table as JSON (1000)
    const char *sort; // key of the column to sort by (NULL: order of the topic)
    bool collapse;    // print template arguments as f<...>
    bool no_demangle; // names as recorded
    const cli_list *sets;  // KEY=VALUE
    const cli_list *flops; // REGEX=COUNT, of floating point operations
    const char *selected;  // "--step 5", as commands take it (NULL: all)
} analyze_options;

struct analyze_job {
    const cli_tool *tool;
    analyze_file *files;
    uint32_t file_count;
    analyze_options options;
    bool wrong_usage; // a function below failed because an option is invalid
    struct analyze_private *private; // see job.c
};

// Returns the reader of a file, which lives as long as the job.
static inline ts_reader *analyze_reader(const analyze_job *job, uint32_t file)
{
    return job->files[file].trace.reader;
}
// Whether the importer estimated the times of a file because its source has
// none.
bool analyze_estimated(const analyze_job *job, uint32_t file);
// Returns the facts of a file; they live as long as the job.
static inline const ts_info *analyze_info(const analyze_job *job, uint32_t file)
{
    return job->files[file].trace.info;
}
// The name of a file in messages: "rank 3" if its rank is known, else "file 0".
// It is used where there are several files.
cli_text analyze_file_name(const analyze_job *job, uint32_t file);

// Returns the value of a setting of any topic.
int64_t analyze_set(const analyze_job *job, const char *key);
// The value of a setting as reports show it.
report_value analyze_setting_value(const analyze_setting *s, int64_t value);

/* ==== 3. Data loaded on demand =========================================== */

/*
    Returns the graph of all files, replayed exactly as recorded. Returns NULL
    if the trace has no GPU operation or the replay failed; analyze_why then
    gives the reason as one clause. The pointers that functions of this section
    return are valid until the job ends; those to the timeline and the columns
    only until analyze_forget.
*/
ts_replay *analyze_replay(analyze_job *job);
ts_timeline *analyze_timeline(analyze_job *job); // of the record
// Returns why analyze_replay returned NULL, as one clause.
const char *analyze_why(const analyze_job *job);
// Returns what to add to times of a file to put them on the time axis of the
// first file.
int64_t analyze_offset(analyze_job *job, uint32_t file);
// Finds the time range that the traces were cut to, on the common time axis:
// see cli_clip. Returns false if there is none.
bool analyze_clip(analyze_job *job, int64_t *from_ns, int64_t *to_ns);
// Returns how the files were cut, such as "--step 5 (1,033 of 5,165 events)";
// empty if they were not all cut in the same way.
ts_text analyze_selected(analyze_job *job);
/*
    Returns a second graph for what-ifs. It can be run in TS_REPLAY_MODEL with
    changes any number of times. Its operations have the same numbers as those
    of analyze_replay.
*/
ts_replay *analyze_model(analyze_job *job);

// A column of all GPU operations of a file, which are as wide as the largest
// value needs.
typedef struct analyze_values {
    const void *data; // private, as is `size`: 1, 2, 4 or 8 bytes
    size_t count, size;
} analyze_values;
/*
    Returns one column of all GPU operations of a file. Values from damaged
    chunks are 0. Returns NULL if all values are 0 or memory runs out.
*/
const analyze_values *analyze_column(analyze_job *job, uint32_t file,
                                     ts_column column);
// Returns the value of an operation by its ts_operation.row; 0 past the end, or
// if `values` is NULL.
static inline uint64_t analyze_value(const analyze_values *values, size_t row)
{
    if (!values || row >= values->count) return 0;
    switch (values->size) {
    case 1: return ((const uint8_t *)values->data)[row];
    case 2: return ((const uint16_t *)values->data)[row];
    case 4: return ((const uint32_t *)values->data)[row];
    default: return ((const uint64_t *)values->data)[row];
    }
}
// Returns, in the same form, the stack that launched each operation: its own
// stack, else that of its call. (The innermost zone is the column
// TS_COLUMN_SITE, which recorders and importers both fill.)
const uint32_t *analyze_stacks(analyze_job *job, uint32_t file, size_t *count);

// What figures compute once for all topics, by the function in the comment.
typedef enum analyze_keep {
    ANALYZE_KEEP_GROUPS, // names_of_job
    ANALYZE_KEEP_MODEL,  // model_unchanged
    ANALYZE_KEEP_COSTS,  // model_record_costs
    ANALYZE_KEEP_LIMIT
} analyze_keep;
typedef struct analyze_kept {
    void *data; // NULL: not computed yet
    void (*close)(void *data);
} analyze_kept;
// Returns where it is kept. analyze_close calls `close` unless data is NULL.
analyze_kept *analyze_kept_at(analyze_job *job, analyze_keep what);

// Frees the timeline and the columns. They are built again on demand.
void analyze_forget(analyze_job *job);

/* ==== 4. Names =========================================================== */

// Returns a name of the trace for display: demangled, and collapsed if the
// options say so.
ts_text analyze_name(analyze_job *job, ts_text name);
// Returns the name of the operation's kernel, collective or host function, else
// its kind.
ts_text analyze_label(analyze_job *job, const ts_operation *operation);
// Returns the name of a device or stream, such as "GPU 0" or "stream 7 on GPU 0
// of rank 1".
ts_text analyze_track(analyze_job *job, uint32_t file, uint32_t track);
// Formats like printf. The text is valid until the job ends.
__attribute__((format(printf, 2, 3))) ts_text
analyze_format(analyze_job *job, const char *format, ...);
// Returns the name of a stack frame, such as "libfoo.so+0x12a0".
ts_text analyze_frame(analyze_job *job, uint32_t file,
                      const ts_frame_entry *frame, uint32_t at);
// Returns up to `most` frames of a stack in one line, innermost first.
ts_text analyze_stack(analyze_job *job, uint32_t file, uint32_t stack,
                      uint32_t most);

/* ==== 5. Running ========================================================= */

// Opens the files. Returns false, with the reason on stderr, if a file cannot
// be read or an option is invalid. Call analyze_close in any case.
bool analyze_open(analyze_job *job, char **paths, uint32_t count);
// Returns false, with the reason on stderr, if a path is not a file but looks
// like the name of a topic.
bool analyze_files_check(const cli_tool *tool, char **paths, size_t count);
// Returns false, with the reason on stderr, if an item of the list is not a
// valid REGEX=N.
bool analyze_flops_check(const cli_tool *tool, const cli_list *flops);
// Returns false, with the reason on stderr, if a name in the list is not a
// topic.
bool analyze_only_check(const cli_tool *tool, const char *only);
// Runs the topics named in `only` (NULL: all). Returns false, with the reason
// on stderr, if a name is unknown or memory runs out.
bool analyze_run(analyze_job *job, const char *only, report *r);
// Closes all traces of the job and frees what it computed, its texts included;
// allowed after a failed open.
void analyze_close(analyze_job *job);

#endif // TS_TOOLS_ANALYZE_JOB_JOB_H
