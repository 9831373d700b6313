/*
    races.h - ts-replay --races and --explore
*/
#ifndef TS_TOOLS_REPLAY_RACES_RACES_H
#define TS_TOOLS_REPLAY_RACES_RACES_H

#include "tools/replay/replay.h"

enum { RACES_SELECTIONS = 9 };
typedef struct races_options {
    bool races, explore; // one of them at least
    uint64_t orders, seed;
    bool json;
    // Options that select operations, and their values (NULL: not given).
    const char *selection[RACES_SELECTIONS][2];
} races_options;

// What came of it.
typedef struct races_job {
    const replay_job *replay;
    races_options options;
    ts_races *races;
    ts_exploration exploration;
    uint64_t vdev_orders; // run again on the vdev; 0: none
    bool vdev_differs;    // one left another memory there
} races_job;

// Looks at what the job's replay has selected. Returns the exit code.
int races_run(const replay_job *job, const races_options *options);

// Runs the order that differs, or some that do not, on the vdev as well.
void races_vdev(races_job *job);

void races_text(const races_job *job);
void races_json(const races_job *job);

// "write", "read and write", "free", ...
const char *races_access(const ts_race_side *side);
// What would order the two, as one sentence.
void races_put_fix(FILE *out, const races_job *job, const ts_race *race);

#endif // TS_TOOLS_REPLAY_RACES_RACES_H
