/*
    replay.h - what the parts of ts-replay share
*/
#ifndef TS_REPLAY_TOOL_H
#define TS_REPLAY_TOOL_H

#include "tools/replay/whatif/whatif.h"

// Exit codes: these, and never CLI_FAILED for another reason. TIMEOUT is for
// replays on a device, which can hang; an emulation cannot.
enum {
    REPLAY_SAME = 0,
    REPLAY_DIVERGED = 1,
    REPLAY_BAD = 2,
    REPLAY_UNSUPPORTED = 3,
    REPLAY_TIMEOUT = 4
};

typedef struct replay_file {
    const char *path;
    cli_trace trace;
    int64_t rank; // if the job is `ranked`
} replay_file;

// The times of one run after another.
typedef struct replay_loops {
    uint64_t count; // 0: they were not asked for
    uint64_t *ns;   // of each, in order of size
    bool same;      // all gave the same digest
} replay_loops;

// What was asked for, and what came of it.
typedef struct replay_job {
    const cli_tool *tool;
    const char *path; // of the first file
    replay_file *files;
    uint32_t file_count;
    ts_replay *replay;
    ts_deps deps;
    bool dry_run;
    bool ranked; // every file is of another rank, and says so
    replay_loops loops;
    ts_replay_mode mode;
    whatif *what_ifs; // each read
    size_t what_if_count;
    whatif_report report; // of a model
    bool unicode;         // pictures may be of blocks
    // See replay_measure.
    ts_timeline_figures total; // of the record
    int64_t *spans_ns;         // of each device in the schedule
    const int64_t *begin_ns;   // of each file: see ts_timeline_desc
} replay_job;

// The reader of a file.
static inline ts_reader *replay_reader(const replay_job *job, uint32_t file)
{
    return job->files[file].trace.reader;
}
// How a file is called where there are several: "rank 3", else "file 0".
cli_text replay_file_name(const replay_job *job, uint32_t file);
void replay_name_files(replay_job *job); // once all are open

/* ---- Running (run.c) --------------------------------------------- */

// False, with the reason on stderr, if one cannot be read.
bool replay_files_open(replay_job *job, char **paths, uint32_t count);
void replay_files_close(replay_job *job);
// False, with the reason on stderr, if a trace cannot go there: it is one of
// those that are replayed, or no file.
bool replay_check_output(const replay_job *job, const char *path);
// `more` is filled in.
ts_result replay_open(replay_job *job, ts_replay_desc desc);
// Reads texts of --what-if; false with the reason on stderr.
bool replay_what_ifs(replay_job *job, const cli_list *texts);
// loops: 0 or how often.
ts_result replay_run(replay_job *job, uint64_t loops);

/* ---- Selection (select.c) ---------------------------------------- */

// Tracks that a list names, and the file of each; see replay_list_close.
typedef struct replay_list {
    uint32_t *tracks, *files;
    size_t count, room;
    const uint32_t *processes; // only what belongs to one of these
    size_t process_count;      // (0: all)
} replay_list;

/*
    Finds the streams of "2", "1:2" (device:stream), "upload", "0,3". A number
    that several devices have means all of them, which a line on stderr says.
    False, with the reason on stderr, if a part of the list names nothing.
*/
bool replay_streams(const replay_job *job, const char *text, replay_list *list);
bool replay_devices(const replay_job *job, const char *text, replay_list *list);
void replay_list_close(replay_list *list);

/* ---- Operations by number and by zone (choose.c) ----------------- */

// Which operations are wanted besides; see ts_replay_desc.choose.
typedef struct replay_choice replay_choice;

/*
    ops: "A..B", both included, either may be missing; or one number. zones:
    names of zones, with * for anything and commas between. Either may be
    NULL. NULL, with the reason on stderr, if they mean nothing.
*/
replay_choice *replay_choose(const replay_job *job, const char *ops,
                             const char *zones);
void replay_choice_close(replay_choice *choice); // NULL is allowed
ts_skip replay_chosen(const ts_replay *replay, size_t index, void *choice);

/* ---- Reports ------------------------------------------------------------ */

// One for each lane of ts_replay_lane, in its order.
enum { REPLAY_CELLS = 200 };
typedef struct replay_row {
    uint64_t selected, all;      // operations
    int64_t span_ns;             // of its device: busy and idle, see below
    int64_t cells[REPLAY_CELLS]; // busy time in each part of the makespan
    int64_t busy_until;          // private
} replay_row;
/*
    The makespan is cut into `cells` parts. Shares of busy time are those of
    the span of a device, as the timeline has it: from the begin of its first
    work to the end of its last. Free with free(); NULL without memory.
*/
replay_row *replay_rows(const replay_job *job, int64_t cells);
// Where a part of a makespan that is cut into `cells` begins.
int64_t replay_cell(int64_t makespan, int64_t cells, int64_t cell);
double replay_share(const replay_row *row, int64_t busy_ns);

// "0:2 (compute)", device:stream, as far as there is a device and a name;
// with several files "rank 1 0:2 (compute)".
void replay_put_track(FILE *out, const replay_job *job, uint32_t file,
                      const ts_track *track);

const char *replay_deps_name(ts_deps deps);
const char *replay_mode_name(ts_replay_mode mode);
// A model is, if all of it ran.
bool replay_is_same(const replay_job *job);
/*
    Idle time of the devices in the record and what explains it, in job->total
    (zeros: unknown), and what devices' shares of busy time are shares of. For
    the reports, after the run.
*/
void replay_measure(replay_job *job);
// "kernel saxpy on 0:2 (compute) at 1.5 ms", of an operation or a call.
void replay_put_node(FILE *out, const replay_job *job, uint32_t node);

void replay_text(const replay_job *job);
void replay_print_lanes(const replay_job *job); // lanes.c
void replay_json(const replay_job *job);

/* ---- Real time (live.c) ------------------------------------------ */

// "2", "0.5", "100x" as millionths; false if it is none.
bool replay_parse_speed(const char *text, uint64_t *speed);
// Plays the schedule that was run. False without memory.
bool replay_play(const replay_job *job, uint64_t speed);

/* ---- A trace of the schedule (write.c) --------------------------- */

// False, with the reason on stderr, if it could not be written.
bool replay_write(const replay_job *job, const char *path);

/* ---- Comparison (verify.c) ---------------------------------------------- */

// ts-replay --verify: the operations of two traces. Returns the exit code.
int verify_run(const cli_tool *tool, const char *a, const char *b, bool json);

#endif // TS_REPLAY_TOOL_H
