/*
    bound.h - what a run is bound by, and the first event that was late
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_TIME_BOUND_H
#define TS_TOOLS_ANALYZE_FIGURES_TIME_BOUND_H

#include "tools/analyze/job/job.h"
#include "tools/analyze/figures/time/idle.h"
#include "tools/analyze/figures/work/launch.h"

// Words of the field, each by the time of the devices that it costs: docs,
// docs/analyze.md. A run is bound by the largest if that is a fifth or more.
typedef enum bound {
    BOUND_LAUNCH,        // idle: launches were made or on their way
    BOUND_HOST,          // idle: the host did something else, or loaded code
    BOUND_COPY,          // copies and memsets that nothing hides
    BOUND_COMMUNICATION, // collectives that nothing hides
    BOUND_LIMIT
} bound;
// "launch-bound"
const char *bound_name(bound which);

// Of idle_late, while launches were being made or on their way.
int64_t bound_launching(const ts_timeline_figures *figures,
                        const idle_result *idle, const launch_result *launch);
// Of idle_late, in launches that loaded or compiled code: only the first of a
// kernel does, so fewer launches are no help.
int64_t bound_loading(const idle_result *idle, const launch_result *launch);

// The zone in which devices waited most for the host, and what is around it.
typedef struct bound_cause {
    int64_t ns;            // idle time meanwhile; 0: nothing known
    ts_text zone, outer;   // outer: an annotation around it, "" if none
    report_evidence where; // the longest time that it took
} bound_cause;
// False without memory.
bool bound_cause_find(bound_cause *cause, analyze_job *job,
                      const ts_replay *replay, const names_index *names,
                      const idle_result *idle);

#endif // TS_TOOLS_ANALYZE_FIGURES_TIME_BOUND_H
