/*
    api.h - API calls by function, thread and result
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_WORK_API_H
#define TS_TOOLS_ANALYZE_FIGURES_WORK_API_H

#include "tools/analyze/figures/base/stats_rows.h"

enum { API_NAME, API_THREAD, API_RESULT, API_MAPS };

typedef struct api {
    analyze_job *job;
    stats_map maps[API_MAPS];
    stats_rows names, threads, results;
    stats_scan scan;
    stats_group blocking; // calls that may block the host, by their names
} api;

// False without memory; close in any case.
bool api_open(api *a, analyze_job *job);
void api_close(api *a);

/*
    Whether a function may hold up the host until a device is done, in the
    words that vendors use: synchronisations, copies and frees that are not
    asynchronous.
*/
bool api_may_block(ts_text name);

#endif // TS_TOOLS_ANALYZE_FIGURES_WORK_API_H
