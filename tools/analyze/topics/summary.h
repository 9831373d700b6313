/*
    summary.h - private to the summary topic
*/
#ifndef TS_TOOLS_ANALYZE_TOPICS_SUMMARY_H
#define TS_TOOLS_ANALYZE_TOPICS_SUMMARY_H

#include "tools/analyze/job/job.h"

// Adds what was lost, where, and which figures it affects. Adds nothing if
// nothing was lost.
void summary_losses(analyze_job *job, report_section *s);

#endif // TS_TOOLS_ANALYZE_TOPICS_SUMMARY_H
