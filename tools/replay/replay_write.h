/*
    replay_write.h - ts-replay -o: a schedule as a trace of its own

    replay_write.c  what becomes of each event, and what is said about it
    replay_copy.c   dictionaries: numbers of one file in the other
    replay_warp.c   when the host did what it did
*/
#ifndef TS_REPLAY_WRITE_H
#define TS_REPLAY_WRITE_H

#define TRACESMITH_WRITER
#include "tools/replay/replay.h"

/* ---- Dictionaries (replay_copy.c) --------------------------------------- */

enum { COPY_SLOTS = 4096 }; // power of two
typedef struct copy_cache {
    uint32_t from[COPY_SLOTS], to[COPY_SLOTS];
} copy_cache;

// From one file into the trace. The writer finds equal entries itself; the
// caches only save it the trouble.
typedef struct copy {
    ts_reader *reader;
    ts_writer *writer;
    uint32_t file;
    uint32_t track_base; // added to its tracks; 0 for a single file
    uint32_t last_track; // of the file; higher ones are defined nowhere
    bool merged;         // with other files
    copy_cache names, sites, launches, stacks;
    uint64_t undefined; // numbers that the file does not define: none now
} copy;

uint32_t copy_name(copy *c, uint32_t name);
uint32_t copy_text(ts_writer *writer, ts_text text);
// A value of a column, as the trace needs it.
uint64_t copy_value(copy *c, ts_event_kind kind, ts_column column,
                    uint64_t value);
uint32_t copy_track_id(copy *c, uint32_t track);
uint32_t copy_next_base(const copy *c); // of the file after it
void copy_tracks(copy *c);
void copy_metadata(copy *c);
void copy_losses(copy *c, int64_t offset_ns);

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
