/*
    api.h - API calls by function, thread and result
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_API_H
#define TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_API_H

#include "tools/analyze/figures/base/stats_rows.h"

enum { API_NAME, API_THREAD, API_RESULT, API_MAPS };

typedef struct api {
    analyze_job *job;
    stats_map maps[API_MAPS];
    stats_rows names, threads, results;
    stats_scan scan;
    stats_group blocking; // sum over calls that may block the host
} api;

// Returns false if memory runs out. Call api_close in any case.
bool api_open(api *a, analyze_job *job);
// Frees the figures; call it before the job's traces are closed.
void api_close(api *a);

/*
    Whether a function may block the host until a device is done, judged by its
    name: synchronisations, and copies and frees that are not asynchronous.
*/
bool api_may_block(ts_text name);

#endif // TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_API_H
