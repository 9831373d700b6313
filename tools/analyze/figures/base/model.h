/*
    model.h - the result of running the model with changes
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_BASE_MODEL_H
#define TS_TOOLS_ANALYZE_FIGURES_BASE_MODEL_H

#include "tools/analyze/job/job.h"

typedef struct model_figures {
    bool known; // the model ran to the end
    int64_t makespan_ns;
    ts_cost bound;
    int64_t assumed_ns; // assumed delays on its critical path: see ts_path
} model_figures;

// Runs the model with `count` changes. Returns false if memory runs out.
bool model_run(ts_replay *model, const ts_change *changes, size_t count,
               model_figures *figures);

// The same without `bound` and `assumed_ns`, which need the critical path.
bool model_makespan(ts_replay *model, const ts_change *changes, size_t count,
                    model_figures *figures);
// Gets the figures of the unchanged model of a job, which is run only once.
// analyze_model is not NULL.
bool model_unchanged(analyze_job *job, model_figures *figures);

// Runs the record itself on analyze_model and finds its critical path, which is
// valid until the next run. One graph serves it and the model, so that usual
// delays are computed once.
bool model_record(analyze_job *job, ts_path *path);
// Gets the TS_COST_LIMIT sums of that path, and the largest of them. The path
// is found only once.
bool model_record_costs(analyze_job *job, int64_t *cost_ns, ts_cost *bound);

// Returns by how much the makespan is shorter than that of `base`; 0 if either
// is unknown.
static inline int64_t model_gain(const model_figures *base,
                                 const model_figures *changed)
{
    return base->known && changed->known
               ? base->makespan_ns - changed->makespan_ns
               : 0;
}

// Whether assumed delays make up so much more of the path than in `base` (one
// part in 50) that conclusions from the change are often wrong.
bool model_assumes(const model_figures *base, const model_figures *changed);

#endif // TS_TOOLS_ANALYZE_FIGURES_BASE_MODEL_H
