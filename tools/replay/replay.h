/*
    replay.h - what the parts of ts-replay share
*/
#ifndef TS_REPLAY_TOOL_H
#define TS_REPLAY_TOOL_H

#include "tools/ts_cli.h"

// Exit codes: these, and never CLI_FAILED for another reason. 4 is for
// replays on a device, which can hang; an emulation cannot.
enum {
    REPLAY_SAME = 0,
    REPLAY_DIVERGED = 1,
    REPLAY_BAD = 2,
    REPLAY_UNSUPPORTED = 3
};

// What was asked for, and what came of it.
typedef struct replay_job {
    const cli_tool *tool;
    const char *path;
    cli_trace trace;
    ts_replay *replay;
    ts_deps deps;
    bool dry_run;
} replay_job;

/* ---- Selection (replay_select.c) ---------------------------------------- */

// Tracks that a list names; free with free(tracks).
typedef struct replay_list {
    uint32_t *tracks;
    size_t count;
} replay_list;

/*
    Finds the streams of "2", "1:2" (device:stream), "upload", "0,3". A number
    that several devices have means all of them, which a line on stderr says.
    False, with the reason on stderr, if a part of the list names nothing.
*/
bool replay_streams(const replay_job *job, const char *text, replay_list *list);
bool replay_devices(const replay_job *job, const char *text, replay_list *list);

/* ---- Reports ------------------------------------------------------------ */

// One for each lane of ts_replay_lane, in its order.
enum { REPLAY_CELLS = 32 };
typedef struct replay_row {
    uint64_t selected, all;      // operations
    int64_t cells[REPLAY_CELLS]; // busy time in each part of the makespan
    int64_t busy_until;          // private
} replay_row;
// Free with free(); NULL without memory.
replay_row *replay_rows(const replay_job *job);
// Where part `cell` of a makespan begins; part REPLAY_CELLS is its end.
int64_t replay_cell(int64_t makespan, int64_t cell);

// "0:2 (compute)", device:stream, as far as there is a device and a name.
void replay_put_track(FILE *out, const replay_job *job, const ts_track *track);

const char *replay_deps_name(ts_deps deps);
bool replay_is_same(const replay_job *job);
// "kernel saxpy on 0:2 (compute) at 1.5 ms", of an operation or a call.
void replay_put_node(FILE *out, const replay_job *job, uint32_t node);

void replay_text(const replay_job *job);
void replay_json(const replay_job *job);

/* ---- Comparison (verify.c) ---------------------------------------------- */

// ts-replay --verify: the operations of two traces. Returns the exit code.
int verify_run(const cli_tool *tool, const char *a, const char *b, bool json);

#endif // TS_REPLAY_TOOL_H
