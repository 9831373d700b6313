/*
    summary.h - parts of the summary in files of their own
*/
#ifndef TS_TOOLS_ANALYZE_TOPICS_SUMMARY_H
#define TS_TOOLS_ANALYZE_TOPICS_SUMMARY_H

#include "tools/analyze/job/job.h"

// What was lost, where, and which figures that touches. Nothing if nothing.
void summary_losses(analyze_job *job, report_section *s);

#endif // TS_TOOLS_ANALYZE_TOPICS_SUMMARY_H
