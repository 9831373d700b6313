/*
    model.h - what a run of the model comes to, with something changed
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_BASE_MODEL_H
#define TS_TOOLS_ANALYZE_FIGURES_BASE_MODEL_H

#include "tools/cli/cli.h"

typedef struct model_figures {
    bool known; // all of it ran
    int64_t makespan_ns;
    ts_cost bound;
    int64_t assumed_ns; // of its critical path: see ts_path
} model_figures;

// changes: count of them; none: the model as it is. False without memory.
bool model_run(ts_replay *model, const ts_change *changes, size_t count,
               model_figures *figures);

// What is shorter than `base`; 0 if one of them is not known.
static inline int64_t model_gain(const model_figures *base,
                                 const model_figures *changed)
{
    return base->known && changed->known
               ? base->makespan_ns - changed->makespan_ns
               : 0;
}

// Whether so much more of the path than of `base`, one part in 50, is delays
// that the record hardly shows that what is said of it is often wrong.
bool model_assumes(const model_figures *base, const model_figures *changed);

#endif // TS_TOOLS_ANALYZE_FIGURES_BASE_MODEL_H
