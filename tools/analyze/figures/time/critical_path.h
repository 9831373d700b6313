/*
    critical_path.h - the critical path by name, by zone, and without its parts
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_TIME_CRITICAL_PATH_H
#define TS_TOOLS_ANALYZE_FIGURES_TIME_CRITICAL_PATH_H

#include "tools/analyze/figures/base/host_activity.h"
#include "tools/analyze/figures/base/model.h"

typedef struct path_result {
    int64_t makespan_ns; // what all sums below add up to
    int64_t cost_ns[TS_COST_LIMIT];
    ts_cost bound;
    // By name, category and whether it went through that or only up to its
    // start: path_key, where the group is that of the operation or of the call;
    // `most` is a part, `count` those operations or calls, each once. Of what
    // the host does before a call the group is the zone, and `count` its times
    // there; what came before the record began has none.
    sums names;
    // By innermost zone: of what the host does, that in which it is; of what a
    // device does, that in which it was launched. TS_NODE_NONE: in none.
    sums zones;
    uint32_t *longest; // parts, the longest first
    size_t longest_count;
    ts_path_part *parts; // a copy
    hold *held;          // of each of the longest: the zones that it was in
    size_t part_count;
    model_figures model;               // unchanged
    model_figures free[TS_COST_LIMIT]; // without costs of a category
} path_result;

static inline uint64_t path_key(uint32_t group, ts_cost cost, bool before)
{
    return ((uint64_t)group * TS_COST_LIMIT + cost) * 2 + before;
}
static inline uint32_t path_key_group(uint64_t key)
{
    return (uint32_t)(key / 2 / TS_COST_LIMIT);
}
static inline ts_cost path_key_cost(uint64_t key)
{
    return (ts_cost)(key / 2 % TS_COST_LIMIT);
}

// Whether a part ends where an operation or call begins; else it is of that.
static inline bool path_before(const ts_path_part *part, const ts_node *owner)
{
    return part->waits && part->start_ns < owner->recorded_ns;
}

// Whether a part is of the host before a call, or before a synchronisation, in
// whatever it was in then.
static inline bool path_of_host(const ts_path_part *part, const ts_node *owner)
{
    return part->cost == TS_COST_HOST && path_before(part, owner);
}

// Whether nothing of what led to a part was recorded yet.
static inline bool path_unrecorded(const ts_path_part *part)
{
    return part->cost == TS_COST_UNEXPLAINED && part->waits &&
           part->edge == TS_EDGE_SELF;
}

// The group of the zone that an operation itself says it was launched in, or
// TS_NODE_NONE. NULL: none does.
typedef uint32_t (*path_zone)(void *user, uint32_t operation);

// Of the last run of a replay. `names` gets groups of zones and calls; `most`
// parts are among the longest. False without memory. Close it in any case.
bool path_open(path_result *result, ts_replay *replay, names_index *names,
               path_zone zone, void *user, size_t most);
// Runs a replay as a model, once as it is and once without each category that
// is on the path. False without memory.
bool path_without(path_result *result, ts_replay *model);
void path_close(path_result *result);

#endif // TS_TOOLS_ANALYZE_FIGURES_TIME_CRITICAL_PATH_H
