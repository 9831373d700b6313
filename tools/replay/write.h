/*
    write.h - ts-replay -o: a schedule as a trace of its own

    write.c  what becomes of each event, and what is said about it
    warp.c   when the host did what it did
    Everything else is copied by tools/common/rewrite/.
*/
#ifndef TS_TOOLS_REPLAY_WRITE_H
#define TS_TOOLS_REPLAY_WRITE_H

#include "tools/common/rewrite/rewrite.h"
#include "tools/replay/replay.h"

/* ---- Times of the host (warp.c) ---------------------------------- */

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

#endif // TS_TOOLS_REPLAY_WRITE_H
