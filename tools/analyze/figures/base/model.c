/*
    model.c - the result of running the model with changes
*/
#include "tools/analyze/figures/base/model.h"

bool model_run(ts_replay *model, const ts_change *changes, size_t count,
               model_figures *figures)
{
    const ts_replay_run_desc desc = { .mode = TS_REPLAY_MODEL,
                                      .changes = changes,
                                      .change_count = count };
    ts_path path;
    memset(figures, 0, sizeof *figures);
    const ts_result done = ts_replay_run(model, &desc);
    if (done != TS_OK) return done != TS_ERR_MEMORY;
    const ts_replay_stats *const s = ts_replay_result(model);
    if (s->skipped[TS_SKIP_UNMET]) return true;
    if (ts_replay_path(model, &path) != TS_OK) return false;
    figures->known = true;
    figures->makespan_ns = s->end_ns - s->start_ns;
    figures->bound = path.bound;
    figures->assumed_ns = path.assumed_ns;
    return true;
}

bool model_assumes(const model_figures *base, const model_figures *changed)
{
    return changed->known &&
           changed->assumed_ns - base->assumed_ns > base->makespan_ns / 50;
}
