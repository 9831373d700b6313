/*
    write.h - ts-replay -o: a schedule as a trace of its own

    write.c  the new times of the events, and metadata about the replay
    warp.c   the new times of host events
    tools/common/rewrite/ copies everything else.
*/
#ifndef TS_TOOLS_REPLAY_WRITE_H
#define TS_TOOLS_REPLAY_WRITE_H

#include "tools/common/rewrite/rewrite.h"
#include "tools/replay/replay.h"

/* ---- Times of the host (warp.c) ---------------------------------- */

/*
    Maps recorded host times to new ones. When the model moves a call, the other
    events of its thread move along: each keeps its order, and its distance from
    the call before it.
*/
typedef struct warp warp;
// Opens a map; *w is NULL if no call moved. False without memory.
bool warp_open(warp **w, const ts_replay *replay);
void warp_close(warp *w); // NULL is allowed
// The new time of an event on a track of a file. With w NULL returns time_ns.
int64_t warp_time(const warp *w, uint32_t file, uint32_t track,
                  int64_t time_ns);

#endif // TS_TOOLS_REPLAY_WRITE_H
