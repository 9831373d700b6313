/*
    ask_list.c - the questions, in the order in which they are answered
*/
#include "tools/analyze/analyze.h"

extern const analyze_question ask_summary;

const analyze_question *const analyze_questions[] = {
    &ask_summary,
    NULL,
};
