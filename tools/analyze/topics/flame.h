/*
    flame.h - the flame graph as a topic, and as a file
*/
#ifndef TS_TOOLS_ANALYZE_TOPICS_FLAME_H
#define TS_TOOLS_ANALYZE_TOPICS_FLAME_H

#include "tools/analyze/job/job.h"
#include "tools/analyze/figures/operations/flame.h"

// Writes a flame graph as folded text or, if `svg`, as a picture. `by` is "gpu"
// (device work), "zones" (host time), or NULL for gpu if there is work. Returns
// false with the reason on stderr.
bool flame_write(analyze_job *job, const char *by, FILE *out, bool svg);

#endif // TS_TOOLS_ANALYZE_TOPICS_FLAME_H
