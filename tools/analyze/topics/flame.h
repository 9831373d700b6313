/*
    flame.h - the flame graph as a topic, and as a file
*/
#ifndef TS_TOOLS_ANALYZE_TOPICS_FLAME_H
#define TS_TOOLS_ANALYZE_TOPICS_FLAME_H

#include "tools/analyze/job/job.h"
#include "tools/analyze/figures/operations/flame.h"

// Whether `by` is a way to make a flame graph: "gpu" (device work), "zones"
// (host time) or "samples" (of a profile).
bool flame_is_way(const char *by);
// Writes a flame graph as folded text or, if `svg`, as a picture. NULL: "gpu".
// Returns false with the reason on stderr.
bool flame_write(analyze_job *job, const char *by, FILE *out, bool svg);

// Adds a chart of a tree to a section. Returns NULL if memory runs out.
report_chart *flame_chart(analyze_job *job, const flame_tree *t,
                          report_section *s, const char *key, const char *title,
                          report_unit unit);

#endif // TS_TOOLS_ANALYZE_TOPICS_FLAME_H
