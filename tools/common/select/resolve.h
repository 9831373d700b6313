/*
    resolve.h - turns a selection into options of ts-cut. Include it first.
*/
#ifndef TS_TOOLS_COMMON_SELECT_RESOLVE_H
#define TS_TOOLS_COMMON_SELECT_RESOLVE_H

#include "tools/cut/cut.h"
#include "tools/replay/replay.h"
#include "tools/common/select/select.h"

// The arrays that cut_options points to.
typedef struct select_lists {
    replay_list streams, devices;
} select_lists;

/*
    Sets job->options from the selection and job->trace. False, with the reason
    on stderr, if the selection names something that the trace lacks. Call
    select_close in any case.
*/
bool select_resolve(cut_job *job, select_lists *lists);
// Frees the lists and the job's list of processes, which the selection made.
void select_close(cut_job *job, select_lists *lists);

// text: N[..M]. The same as cut_steps, but with ts-analyze's numbers of steps.
bool select_steps(cut_job *job, const char *text);

// The GPU operations of the selected ranks and steps; NULL: all. Opening
// returns false, with the reason on stderr, if there are none. Close them in
// any case.
typedef struct select_rows select_rows;
// Finds the rows of operations that --rank and --step select, of all files of
// the job. *rows is NULL if neither option is given: then all are selected.
// False, with the reason on stderr, on failure; close it in any case.
bool select_rows_open(select_rows **rows, const replay_job *job);
// Returns for each file the time since which its devices had no work outside
// the selection; NULL: all is selected. See ts_timeline_desc.
const int64_t *select_rows_begin(const select_rows *rows);
// Whether a row of operations (ts_operation.row) is selected. NULL: yes.
bool select_rows_have(const select_rows *rows, uint32_t file, uint64_t row);
// Frees the selection; NULL is allowed.
void select_rows_close(select_rows *rows);

#endif // TS_TOOLS_COMMON_SELECT_RESOLVE_H
