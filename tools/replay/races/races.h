/*
    races.h - ts-replay --races and --explore
*/
#ifndef TS_TOOLS_REPLAY_RACES_RACES_H
#define TS_TOOLS_REPLAY_RACES_RACES_H

#include "tools/replay/replay.h"

enum { RACES_SELECTIONS = 9 };
typedef struct races_options {
    bool races, explore; // at least one is true
    uint64_t orders, seed;
    bool json;
    // Options that select operations, and their values (NULL: not given).
    const char *selection[RACES_SELECTIONS][2];
} races_options;

// The result.
typedef struct races_job {
    const replay_job *replay;
    races_options options;
    ts_races *races;
    ts_exploration exploration;
    uint64_t vdev_orders; // orders also run on the vdev; 0: none
    bool vdev_differs;    // one of them left different memory contents
} races_job;

// Searches the selected operations of the job's replay for races. Returns the
// exit code.
int races_run(const replay_job *job, const races_options *options);

// Runs on the vdev the order whose result differs; if there is none, some
// others.
void races_vdev(races_job *job);

// Prints races or the exploration's result for people, after how much of the
// memory access is known.
void races_text(const races_job *job);
// Prints the same as one JSON object.
void races_json(const races_job *job);

// The kind of an access: "write", "read and write", "free", ...
const char *races_access(const ts_race_side *side);
// Prints in one sentence which synchronisation would order the two accesses.
void races_put_fix(FILE *out, const races_job *job, const ts_race *race);

#endif // TS_TOOLS_REPLAY_RACES_RACES_H
