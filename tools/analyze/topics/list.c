/*
    list.c - the questions, in the order in which they are answered
*/
#include "tools/analyze/job/job.h"

extern const analyze_question ask_summary;
extern const analyze_question ask_idle;
extern const analyze_question ask_launch;
extern const analyze_question ask_path;
extern const analyze_question ask_kernels;
extern const analyze_question ask_copies;
extern const analyze_question ask_api;
extern const analyze_question ask_zones;
extern const analyze_question ask_overlap;
extern const analyze_question ask_steps;
extern const analyze_question ask_sync;
extern const analyze_question ask_patterns;
extern const analyze_question ask_memory;
extern const analyze_question ask_ranks;
extern const analyze_question ask_flame;
extern const analyze_question ask_roofline;
extern const analyze_question ask_advice;

const analyze_question *const analyze_questions[] = {
    &ask_summary,  &ask_idle,     &ask_launch, &ask_path,    &ask_kernels,
    &ask_copies,   &ask_api,      &ask_zones,  &ask_overlap, &ask_steps,
    &ask_sync,     &ask_patterns, &ask_memory, &ask_ranks,   &ask_flame,
    &ask_roofline, &ask_advice,   NULL,
};
