/*
    resolve.h - a selection as ts-cut takes it. Include it first.
*/
#ifndef TS_TOOLS_COMMON_SELECT_RESOLVE_H
#define TS_TOOLS_COMMON_SELECT_RESOLVE_H

#include "tools/cut/cut.h"
#include "tools/replay/replay.h"
#include "tools/common/select/select.h"

// Tracks that the lists of cut_options point to.
typedef struct select_lists {
    replay_list streams, devices;
} select_lists;

/*
    Sets job->options to what the selection means in job->trace. False, with
    the reason on stderr, if it means nothing there. Call select_close in any
    case.
*/
bool select_resolve(cut_job *job, select_lists *lists);
void select_close(cut_job *job, select_lists *lists);

// N[..M]: as cut_steps, by the numbers of ts-analyze.
bool select_steps(cut_job *job, const char *text);

// The GPU operations of the selected ranks and steps. NULL: all. False, with
// the reason on stderr, if there are none such. Close them in any case.
typedef struct select_rows select_rows;
bool select_rows_open(select_rows **rows, const replay_job *job);
// Since when the devices of each file had nothing else to do; NULL: all is
// selected. See ts_timeline_desc.
const int64_t *select_rows_begin(const select_rows *rows);
bool select_rows_have(const select_rows *rows, uint32_t file, uint64_t row);
void select_rows_close(select_rows *rows);

#endif // TS_TOOLS_COMMON_SELECT_RESOLVE_H
