/*
    sync.h - needless and overly wide synchronisations
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_TIME_SYNC_H
#define TS_TOOLS_ANALYZE_FIGURES_TIME_SYNC_H

#include "tools/analyze/figures/base/host_position.h"
#include "tools/analyze/figures/base/model.h"
#include "tools/analyze/figures/base/groups.h"
#include "tools/analyze/job/sums.h"

typedef enum sync_finding {
    SYNC_WAITED = 0, // waited for running work
    SYNC_WIDE,       // waited for a device on which only one stream had work
    SYNC_IDLE,       // needless: all work was complete
    SYNC_AGAIN,      // needless: nothing was issued since the previous one
    SYNC_UNKNOWN,    // the trace does not record what it waited for
    SYNC_POLL,       // a query whether work was complete, not a wait
    SYNC_FINDINGS
} sync_finding;

// A synchronisation of the host: an operation, or a call that is known to
// block.
typedef struct sync_item {
    uint32_t node;
    uint32_t file, thread;
    uint32_t function;        // group of names of the call or operation
    uint32_t zone;            // group of the innermost zone; TS_NODE_NONE: none
    int64_t start_ns, end_ns; // of the call
    sync_finding finding;
    uint32_t waited_for; // node, or TS_NODE_NONE
    uint32_t streams;    // streams of the device with work when it began
    int64_t idle_ns;     // idle time of devices charged to it
} sync_item;

// Items of one function and zone. All fields but `longest` are sums.
typedef struct sync_site {
    uint32_t function, zone;
    // Polls: all items are polls, or none.
    uint64_t count, needless, wide, polls;
    int64_t blocked_ns, needless_ns, idle_ns;
    size_t longest; // index of the longest item
} sync_site;

typedef struct sync_result {
    sync_item *items; // sorted by file and time
    size_t count;
    sync_site *sites; // sorted by blocked time, the longest first
    size_t site_count;
    uint64_t counts[SYNC_FINDINGS];
    int64_t blocked_ns[SYNC_FINDINGS]; // polls: the time they took
    int64_t idle_ns; // idle time of devices charged to items other than polls
    // Waits of streams for events, by result.
    uint64_t waits, same_stream, known_before, no_record;
    struct sync_wait {
        uint32_t operation;
        bool same_stream;
    } * needless_waits; // the waits counted in same_stream and known_before
} sync_result;

// Finds the synchronisations. `names` receives groups of calls and zones.
// Returns false if memory runs out. Call sync_close in any case.
bool sync_open(sync_result *result, const ts_replay *replay,
               const ts_timeline *timeline, names_index *names);
// Frees the result; allowed after sync_open or sync_take_waits failed.
void sync_close(sync_result *result);

// Whether the host could have done without the synchronisation.
static inline bool sync_is_needless(sync_finding finding)
{
    return finding == SYNC_IDLE || finding == SYNC_AGAIN;
}

// Private: examines the waits of streams (waits.c).
bool sync_take_waits(sync_result *result, const ts_replay *replay);

// Runs a model without the needless synchronisations or, if `all`, without all
// whose awaited work is known. Returns false if memory runs out.
bool sync_without(const sync_result *result, ts_replay *model, bool all,
                  model_figures *figures);

#endif // TS_TOOLS_ANALYZE_FIGURES_TIME_SYNC_H
