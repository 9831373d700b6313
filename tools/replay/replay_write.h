/*
    replay_write.h - ts-replay -o: a schedule as a trace of its own

    replay_write.c  what becomes of each event, and what is said about it
    replay_warp.c   when the host did what it did
    Everything else is copied by tools/copy/.
*/
#ifndef TS_REPLAY_WRITE_H
#define TS_REPLAY_WRITE_H

#include "tools/copy/copy.h"
#include "tools/replay/replay.h"

/* ---- Times of the host (replay_warp.c) ---------------------------------- */

/*
    Where a model moved calls, what else their thread did moves along: it
    keeps its distance from the call before it, and its order.
*/
typedef struct warp warp;
// *w is NULL if no call moved. False without memory.
bool warp_open(warp **w, const ts_replay *replay);
void warp_close(warp *w); // NULL is allowed
// The time of something on a track of a file; w may be NULL.
int64_t warp_time(const warp *w, uint32_t file, uint32_t track,
                  int64_t time_ns);

#endif // TS_REPLAY_WRITE_H
