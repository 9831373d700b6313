/*
    bound.h - what a run is bound by, and the host zone that caused most idle
    time
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_TIME_BOUND_H
#define TS_TOOLS_ANALYZE_FIGURES_TIME_BOUND_H

#include "tools/analyze/job/job.h"
#include "tools/analyze/figures/time/idle.h"
#include "tools/analyze/figures/operations/launch.h"

// What bounds a run, measured by device time: see docs/analyze.md. A run is
// bound by the largest cause if that makes up at least a fifth.
typedef enum bound {
    // Idle while launch calls ran or launches were in flight.
    BOUND_LAUNCH,
    // Idle while the host did something else, or loaded code.
    BOUND_HOST,
    BOUND_COPY,          // exposed copies and memsets
    BOUND_COMMUNICATION, // exposed collectives
    BOUND_LIMIT
} bound;
// Returns the term: "launch-bound"
const char *bound_name(bound which);

// Returns the part of idle_late during which launch calls ran or launches were
// in flight.
int64_t bound_launching(const ts_timeline_figures *figures,
                        const idle_result *idle, const launch_result *launch);
// Returns the part of idle_late in launches that loaded or compiled code. Only
// the first launch of a kernel does so; fewer launches would not help.
int64_t bound_loading(const idle_result *idle, const launch_result *launch);

// The zone in which devices waited longest for the host, and an annotation
// around it.
typedef struct bound_cause {
    int64_t ns;            // idle time in the zone; 0: unknown
    ts_text zone, outer;   // outer: enclosing annotation, "" if none
    report_evidence where; // its longest occurrence
} bound_cause;
// Returns false if memory runs out.
bool bound_cause_find(bound_cause *cause, analyze_job *job,
                      const ts_replay *replay, const names_index *names,
                      const idle_result *idle);

#endif // TS_TOOLS_ANALYZE_FIGURES_TIME_BOUND_H
