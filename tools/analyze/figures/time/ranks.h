/*
    ranks.h - which ranks wait for which in collectives

    A rank is a device of a file, with the index of ts_replay_device. A
    rendezvous is a collective, or a send and its receive, for which at least
    two ranks have traces. A member waits from its own arrival to that of the
    last member, unless it ends earlier.
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_TIME_RANKS_H
#define TS_TOOLS_ANALYZE_FIGURES_TIME_RANKS_H

#include "tools/analyze/figures/base/host_activity.h"

typedef struct ranks_rendezvous {
    uint32_t group;            // group of names of its first member
    uint32_t members;          // members with a trace
    int64_t first_ns, last_ns; // arrivals
    int64_t end_ns;            // end of the last member
    // Between first and last end: a sign of clock errors.
    int64_t end_spread_ns;
    int64_t waited_ns;  // waiting time of all members
    uint32_t last;      // the rank that arrived last
    uint32_t operation; // operation of that rank
    uint32_t earliest;  // operation that arrived first
    // Part of the skew because the file of the last rank began later than that
    // of the first; 0 if that is less than half.
    int64_t head_ns;
    // Node of the first operation or call that was late on the way to the last
    // member; TS_NODE_NONE: unknown.
    uint32_t cause;
    // If the cause is a call: what its thread was in while it was late.
    hold held;
} ranks_rendezvous;

typedef struct ranks_rank {
    uint32_t file, device; // track
    // Rendezvous it took part in; those in which it arrived last.
    uint64_t rendezvous, lasts;
    int64_t waited_ns; // time it waited for others
    int64_t caused_ns; // time others waited for it
    int64_t in_ns;     // run time of its collectives
    int64_t began_ns;  // first event of its file, on the common axis
} ranks_rank;

typedef struct ranks_result {
    ranks_rank *ranks;
    size_t rank_count;
    ranks_rendezvous *rendezvous; // sorted by waiting time, the most first
    size_t rendezvous_count;
    int64_t waited_ns; // waiting time of all ranks
    sums pairs;        // key: rank that waited << 32 | rank it waited for
    sums names;        // waiting time by group of names
} ranks_result;

// timeline: NULL skips the causes. Returns false if memory runs out. Call
// ranks_close in any case.
bool ranks_open(ranks_result *result, const ts_replay *replay,
                const ts_timeline *timeline, names_index *names);
// Frees the result; allowed after ranks_open failed.
void ranks_close(ranks_result *result);

#endif // TS_TOOLS_ANALYZE_FIGURES_TIME_RANKS_H
