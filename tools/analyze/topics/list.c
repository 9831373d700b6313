/*
    list.c - all topics in the order of the report
*/
#include "tools/analyze/job/job.h"

extern const analyze_question topic_summary;
extern const analyze_question topic_idle;
extern const analyze_question topic_launch;
extern const analyze_question topic_path;
extern const analyze_question topic_kernels;
extern const analyze_question topic_copies;
extern const analyze_question topic_api;
extern const analyze_question topic_zones;
extern const analyze_question topic_overlap;
extern const analyze_question topic_steps;
extern const analyze_question topic_sync;
extern const analyze_question topic_patterns;
extern const analyze_question topic_memory;
extern const analyze_question topic_ranks;
extern const analyze_question topic_flame;
extern const analyze_question topic_roofline;
extern const analyze_question topic_advice;

const analyze_question *const analyze_questions[] = {
    &topic_summary, &topic_idle,   &topic_launch, &topic_path,
    &topic_kernels, &topic_copies, &topic_api,    &topic_zones,
    &topic_overlap, &topic_steps,  &topic_sync,   &topic_patterns,
    &topic_memory,  &topic_ranks,  &topic_flame,  &topic_roofline,
    &topic_advice,  NULL,
};
