/*
    flame.h - the flame graph, as a question and as files
*/
#ifndef TS_TOOLS_ANALYZE_TOPICS_FLAME_H
#define TS_TOOLS_ANALYZE_TOPICS_FLAME_H

#include "tools/analyze/job/job.h"
#include "tools/analyze/figures/work/flame.h"

// Which of both is meant: "gpu", "zones"; NULL: gpu if there is work.
// Writes folded text, or a picture; false with the reason on stderr.
bool flame_write(analyze_job *job, const char *by, FILE *out, bool svg);

#endif // TS_TOOLS_ANALYZE_TOPICS_FLAME_H
