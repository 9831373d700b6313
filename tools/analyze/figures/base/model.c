/*
    model.c - the result of running the model with changes
*/
#include "tools/analyze/figures/base/model.h"

bool model_makespan(ts_replay *model, const ts_change *changes, size_t count,
                    model_figures *figures)
{
    const ts_replay_run_desc desc = { .mode = TS_REPLAY_MODEL,
                                      .changes = changes,
                                      .change_count = count,
                                      .brief = true };
    memset(figures, 0, sizeof *figures);
    const ts_result done = ts_replay_run(model, &desc);
    if (done != TS_OK) return done != TS_ERR_MEMORY;
    const ts_replay_stats *const s = ts_replay_result(model);
    if (s->skipped[TS_SKIP_UNMET]) return true;
    figures->known = true;
    figures->makespan_ns = s->end_ns - s->start_ns;
    return true;
}

bool model_run(ts_replay *model, const ts_change *changes, size_t count,
               model_figures *figures)
{
    ts_path path;
    if (!model_makespan(model, changes, count, figures)) return false;
    if (!figures->known) return true;
    if (ts_replay_path(model, &path) != TS_OK) return false;
    figures->bound = path.bound;
    figures->assumed_ns = path.assumed_ns;
    return true;
}

bool model_unchanged(analyze_job *job, model_figures *figures)
{
    analyze_kept *const kept = analyze_kept_at(job, ANALYZE_KEEP_MODEL);
    if (!kept->data) {
        model_figures *const f = malloc(sizeof *f);
        if (!f || !model_run(analyze_model(job), NULL, 0, f)) {
            free(f);
            return false;
        }
        *kept = (analyze_kept){ f, free };
    }
    *figures = *(const model_figures *)kept->data;
    return true;
}

bool model_record(analyze_job *job, ts_path *path)
{
    ts_replay *const model = analyze_model(job);
    analyze_kept *const kept = analyze_kept_at(job, ANALYZE_KEEP_COSTS);
    const ts_replay_run_desc desc = { .brief = true };
    if (ts_replay_run(model, &desc) != TS_OK ||
        ts_replay_path(model, path) != TS_OK)
        return false;
    if (!kept->data) kept->data = malloc(sizeof(ts_path));
    kept->close = free;
    if (!kept->data) return false;
    memcpy(kept->data, path, sizeof *path);
    return true;
}

bool model_record_costs(analyze_job *job, int64_t *cost_ns, ts_cost *bound)
{
    ts_path path;
    analyze_kept *const kept = analyze_kept_at(job, ANALYZE_KEEP_COSTS);
    if (!kept->data && !model_record(job, &path)) return false;
    const ts_path *const recorded = kept->data;
    memcpy(cost_ns, recorded->cost_ns, sizeof recorded->cost_ns);
    *bound = recorded->bound;
    return true;
}

bool model_assumes(const model_figures *base, const model_figures *changed)
{
    return changed->known &&
           changed->assumed_ns - base->assumed_ns > base->makespan_ns / 50;
}
