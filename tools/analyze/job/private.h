/*
    private.h - private: the data that a job has loaded
*/
#ifndef TS_TOOLS_ANALYZE_JOB_PRIVATE_H
#define TS_TOOLS_ANALYZE_JOB_PRIVATE_H

#include "tools/analyze/job/job.h"
#include "tools/analyze/report/parts.h"

typedef struct analyze_loaded { // loaded data of one file
    uint64_t *first;            // row of the first operation of each chunk
    size_t operations;
    bool counted;
    bool tried[TS_COLUMN_LIMIT];
    analyze_values columns[TS_COLUMN_LIMIT]; // data NULL: all 0
    bool tried_stacks;
    uint32_t *stacks;
} analyze_loaded;

struct analyze_private {
    ts_replay *replay, *model;
    ts_timeline *timeline;
    bool tried_replay, tried_model, tried_timeline;
    bool uses_graph; // a topic other than the summary is requested
    const char *why;
    analyze_loaded *loaded; // by file
    int64_t *settings;      // by topic, then setting
    report *texts;          // owns the texts of analyze_format
    struct cut_figures *cut;
    struct analyze_names *names;
    analyze_kept kept[ANALYZE_KEEP_LIMIT];
};

// Reads the values of --set. Returns false, with the reason on stderr, if one
// is invalid.
bool analyze_settings_read(analyze_job *job);
// Adds sentences about losses to the report. Losses, and events cut off at the
// ends of the record, lower the confidence of the answers.
void analyze_losses(analyze_job *job, report *r);
// Frees the columns.
void analyze_columns_close(analyze_job *job);
// Frees the job's demangled names; nothing happens if none was made.
void analyze_names_close(analyze_job *job);

#endif // TS_TOOLS_ANALYZE_JOB_PRIVATE_H
