/*
    sync.h - synchronisations that were needless, or wider than needed
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_TIME_SYNC_H
#define TS_TOOLS_ANALYZE_FIGURES_TIME_SYNC_H

#include "tools/analyze/figures/base/host_position.h"
#include "tools/analyze/figures/base/model.h"
#include "tools/analyze/figures/base/groups.h"
#include "tools/analyze/job/sums.h"

typedef enum sync_finding {
    SYNC_WAITED = 0, // for work that ran
    SYNC_WIDE,       // for a device, of which one stream alone had work
    SYNC_IDLE,       // for nothing: all was done already
    SYNC_AGAIN,      // for nothing: nothing was issued since the one before
    SYNC_UNKNOWN,    // the trace does not tell what for
    SYNC_POLL,       // no wait: it asked whether work was done
    SYNC_FINDINGS
} sync_finding;

// One of the host: an operation, or a call that is known to block.
typedef struct sync_item {
    uint32_t node;
    uint32_t file, thread;
    uint32_t function;        // group of names of the call or operation
    uint32_t zone;            // likewise, innermost; TS_NODE_NONE: none
    int64_t start_ns, end_ns; // of the call
    sync_finding finding;
    uint32_t waited_for; // node, or TS_NODE_NONE
    uint32_t streams;    // of a device, that had work when it began
    int64_t idle_ns;     // of devices, charged to it
} sync_item;

// Items of one function and zone; all but `items` are sums.
typedef struct sync_site {
    uint32_t function, zone;
    uint64_t count, needless, wide, polls; // polls: all of them or none
    int64_t blocked_ns, needless_ns, idle_ns;
    size_t longest; // item
} sync_site;

typedef struct sync_result {
    sync_item *items; // in order of time of each file
    size_t count;
    sync_site *sites; // the one that blocked longest first
    size_t site_count;
    uint64_t counts[SYNC_FINDINGS];
    int64_t blocked_ns[SYNC_FINDINGS]; // of polls: that they took
    int64_t idle_ns; // of devices, charged to any of them but polls
    // Waits of streams for events.
    uint64_t waits, same_stream, known_before, no_record;
    struct sync_wait {
        uint32_t operation;
        bool same_stream;
    } * needless_waits; // same_stream and known_before of them
} sync_result;

// `names` gets groups of calls and zones. False without memory. Close it in
// any case.
bool sync_open(sync_result *result, const ts_replay *replay,
               const ts_timeline *timeline, names_index *names);
void sync_close(sync_result *result);

static inline bool sync_is_needless(sync_finding finding)
{
    return finding == SYNC_IDLE || finding == SYNC_AGAIN;
}

// The part about waits of streams (waits.c).
bool sync_take_waits(sync_result *result, const ts_replay *replay);

// Runs a model without the needless ones, or without all of which is known
// what they waited for. False without memory.
bool sync_without(const sync_result *result, ts_replay *model, bool all,
                  model_figures *figures);

#endif // TS_TOOLS_ANALYZE_FIGURES_TIME_SYNC_H
