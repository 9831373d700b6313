/*
    critical_path.h - the critical path by name, by zone, and without its costs
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_TIME_CRITICAL_PATH_H
#define TS_TOOLS_ANALYZE_FIGURES_TIME_CRITICAL_PATH_H

#include "tools/analyze/figures/base/host_activity.h"
#include "tools/analyze/figures/base/model.h"

typedef struct path_result {
    int64_t makespan_ns; // makespan; the sums below add up to it
    int64_t cost_ns[TS_COST_LIMIT];
    ts_cost bound;
    // By path_key: group, category, and whether the path went through the
    // operation or call or only up to its start. The group is that of the
    // operation or call, `most` is a part, and `count` counts each operation or
    // call once. For host time before a call the group is the zone and `count`
    // the number of times there. Time before the record began has no group.
    sums names;
    // By innermost zone: for host time the zone the host was in, for device
    // time the zone of the launch. TS_NODE_NONE: no zone.
    sums zones;
    uint32_t *longest; // indices of parts, the longest first
    size_t longest_count;
    ts_path_part *parts; // a copy, owned
    hold *held;          // zones of each of the longest parts
    size_t part_count;
    model_figures model; // result of the unchanged model
    // Results without the costs of one category.
    model_figures free[TS_COST_LIMIT];
} path_result;

// Packs a group of names, a cost and whether the time lies before the node into
// one key for sums.
static inline uint64_t path_key(uint32_t group, ts_cost cost, bool before)
{
    return ((uint64_t)group * TS_COST_LIMIT + cost) * 2 + before;
}
// Returns the group of a key.
static inline uint32_t path_key_group(uint64_t key)
{
    return (uint32_t)(key / 2 / TS_COST_LIMIT);
}
// Returns the cost of a key.
static inline ts_cost path_key_cost(uint64_t key)
{
    return (ts_cost)(key / 2 % TS_COST_LIMIT);
}

// Whether a part lies before the start of its operation or call. Otherwise it
// lies within it.
static inline bool path_before(const ts_path_part *part, const ts_node *owner)
{
    return part->waits && part->start_ns < owner->recorded_ns;
}

// Whether a part is host time before a call or synchronisation, whatever the
// host did then.
static inline bool path_of_host(const ts_path_part *part, const ts_node *owner)
{
    return part->cost == TS_COST_HOST && path_before(part, owner);
}

// Whether a part lies before the first recorded event that led to it.
static inline bool path_unrecorded(const ts_path_part *part)
{
    return part->cost == TS_COST_UNEXPLAINED && part->waits &&
           part->edge == TS_EDGE_SELF;
}

// Returns the group of the zone that an operation recorded as its launch zone,
// or TS_NODE_NONE. As an argument, NULL: no operation recorded one.
typedef uint32_t (*path_zone)(void *user, uint32_t operation);

// Computes the path of the last run of a replay. `names` receives groups of
// zones and calls; `most` limits `longest`. Returns false if memory runs out.
// Call path_close in any case.
bool path_open(path_result *result, ts_replay *replay, names_index *names,
               path_zone zone, void *user, size_t most);
// Runs a model once without each category that is on the path. The figures of
// the unchanged model, `model`, are set. Returns false if memory runs out.
bool path_without(path_result *result, ts_replay *model);
// Frees the result; allowed after path_open failed.
void path_close(path_result *result);

#endif // TS_TOOLS_ANALYZE_FIGURES_TIME_CRITICAL_PATH_H
