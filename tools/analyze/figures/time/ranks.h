/*
    ranks.h - who waits for whom in collectives

    A rank is a device of a file, as ts_replay_device counts. A rendezvous is a
    collective, or a send and its receive, of which the traces of two ranks at
    least are there. A member waits from its own arrival to the last one, if it
    is still there then.
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_TIME_RANKS_H
#define TS_TOOLS_ANALYZE_FIGURES_TIME_RANKS_H

#include "tools/analyze/figures/base/host_activity.h"

typedef struct ranks_rendezvous {
    uint32_t group;            // of names, of its first member
    uint32_t members;          // that are there
    int64_t first_ns, last_ns; // arrivals
    int64_t end_ns;            // of the last member
    int64_t end_spread_ns;     // between the ends: what clocks are off
    int64_t waited_ns;         // by all members
    uint32_t last;             // rank that came last
    uint32_t operation;        // of that rank
    uint32_t earliest;         // operation that came first
    int64_t head_ns;           // of the skew: the last one's file began later
                               // than that of the first one; 0: not by half
    uint32_t cause; // node: the first that was late on the way to the last
                    // one, an operation or a call; TS_NODE_NONE: not known
    hold held;      // of a call: what its thread was in while it was late
} ranks_rendezvous;

typedef struct ranks_rank {
    uint32_t file, device;      // track
    uint64_t rendezvous, lasts; // took part in, came last
    int64_t waited_ns;          // for others
    int64_t caused_ns;          // others waited for it
    int64_t in_ns;              // its collectives took
    int64_t began_ns;           // first event of its file, on the common axis
} ranks_rank;

typedef struct ranks_result {
    ranks_rank *ranks;
    size_t rank_count;
    ranks_rendezvous *rendezvous; // the most waited in first
    size_t meeting_count;
    int64_t waited_ns; // by all
    sums pairs;        // rank that waited << 32 | rank it waited for
    sums names;        // time waited in rendezvous, by group
} ranks_result;

// timeline: NULL asks for no causes. False without memory. Close it in any
// case.
bool ranks_open(ranks_result *result, const ts_replay *replay,
                const ts_timeline *timeline, names_index *names);
void ranks_close(ranks_result *result);

#endif // TS_TOOLS_ANALYZE_FIGURES_TIME_RANKS_H
