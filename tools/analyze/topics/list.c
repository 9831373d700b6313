/*
    list.c - all topics in the order of the report
*/
#include "tools/analyze/job/job.h"

extern const analyze_topic topic_summary;
extern const analyze_topic topic_idle;
extern const analyze_topic topic_launch;
extern const analyze_topic topic_path;
extern const analyze_topic topic_kernels;
extern const analyze_topic topic_copies;
extern const analyze_topic topic_api;
extern const analyze_topic topic_zones;
extern const analyze_topic topic_overlap;
extern const analyze_topic topic_steps;
extern const analyze_topic topic_sync;
extern const analyze_topic topic_patterns;
extern const analyze_topic topic_memory;
extern const analyze_topic topic_ranks;
extern const analyze_topic topic_flame;
extern const analyze_topic topic_samples;
extern const analyze_topic topic_roofline;
extern const analyze_topic topic_advice;

const analyze_topic *const analyze_topics[] = {
    &topic_summary,  &topic_idle,   &topic_launch, &topic_path,
    &topic_kernels,  &topic_copies, &topic_api,    &topic_zones,
    &topic_overlap,  &topic_steps,  &topic_sync,   &topic_patterns,
    &topic_memory,   &topic_ranks,  &topic_flame,  &topic_samples,
    &topic_roofline, &topic_advice, NULL,
};
