/*
    private.h - what a job has loaded
*/
#ifndef TS_TOOLS_ANALYZE_JOB_PRIVATE_H
#define TS_TOOLS_ANALYZE_JOB_PRIVATE_H

#include "tools/analyze/job/job.h"
#include "tools/analyze/report/parts.h"

typedef struct analyze_loaded { // of a file
    uint64_t *first;            // row of the first operation of each chunk
    size_t operations;
    bool counted;
    bool tried[TS_COLUMN_LIMIT];
    uint64_t *columns[TS_COLUMN_LIMIT];
    bool tried_stacks;
    uint32_t *stacks;
} analyze_loaded;

struct analyze_private {
    ts_replay *replay, *model;
    ts_timeline *timeline;
    bool tried_replay, tried_model, tried_timeline;
    bool wants_graph; // a question besides the summary is asked
    const char *why;
    analyze_loaded *loaded; // by file
    int64_t *settings;      // by question, then setting
    report *texts;          // what analyze_format made
    struct cut_figures *cut;
    struct analyze_names *names;
};

// Texts of --set. False with the reason on stderr.
bool analyze_settings_read(analyze_job *job);
// What was lost, as sentences of the report. It lowers the trust of answers,
// and so does what the record cuts off.
void analyze_losses(analyze_job *job, report *r);
// After the columns were used.
void analyze_columns_close(analyze_job *job);
void analyze_names_close(analyze_job *job);

#endif // TS_TOOLS_ANALYZE_JOB_PRIVATE_H
