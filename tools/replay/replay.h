/*
    replay.h - what the parts of ts-replay share
*/
#ifndef TS_REPLAY_TOOL_H
#define TS_REPLAY_TOOL_H

#include "tools/replay/whatif/whatif.h"

// The exit codes of ts-replay; CLI_FAILED is not used for anything else.
// TIMEOUT occurs only in replays on a device, which can hang; an emulation
// cannot.
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
    int64_t rank; // valid if the job is `ranked`
} replay_file;

// The durations of repeated runs (--loops).
typedef struct replay_loops {
    uint64_t count; // 0: not requested
    uint64_t *ns;   // duration of each run, sorted
    bool same;      // all runs have the same digest
} replay_loops;

// The options of a replay and its results.
typedef struct replay_job {
    const cli_tool *tool;
    const char *path; // of the first file
    replay_file *files;
    uint32_t file_count;
    ts_replay *replay;
    ts_deps deps;
    bool dry_run;
    bool ranked; // every file has a rank, all different
    replay_loops loops;
    ts_replay_mode mode;
    whatif *what_ifs; // parsed
    size_t what_if_count;
    whatif_report report; // with what_ifs
    bool unicode;         // pictures may use block characters
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
// The name of a file when several are replayed: "rank 3", else "file 0".
cli_text replay_file_name(const replay_job *job, uint32_t file);
// Sets the ranks of the files. Call it when all files are open.
void replay_name_files(replay_job *job);

/* ---- Running (run.c) --------------------------------------------- */

// Opens the traces. False, with the reason on stderr, if one cannot be read.
bool replay_files_open(replay_job *job, char **paths, uint32_t count);
// Closes the traces and frees what was computed from them, also after a failed
// open. Close the replay first.
void replay_files_close(replay_job *job);
// Checks that a trace can be written to a path. False, with the reason on
// stderr, if the path is one of the replayed traces, or not a regular file.
bool replay_check_output(const replay_job *job, const char *path);
// Opens the replay; fills in desc.more itself.
ts_result replay_open(replay_job *job, ts_replay_desc desc);
// Parses the texts of --what-if. False, with the reason on stderr, on failure.
bool replay_what_ifs(replay_job *job, const cli_list *texts);
// Runs the replay. loops: number of timed repetitions, 0: none.
ts_result replay_run(replay_job *job, uint64_t loops);

/* ---- Selection (select.c) ---------------------------------------- */

// The tracks that a list names, with the file of each. Free with
// replay_list_close.
typedef struct replay_list {
    uint32_t *tracks, *files;
    size_t count, room;
    const uint32_t *processes;         // only tracks of these processes
    size_t process_count;              // (0: all)
    const struct replay_list *devices; // only streams of these (NULL: all)
} replay_list;

/*
    Finds the streams that a list names: "2", "1:2" (device:stream), "upload",
    "0,3". A number that streams of several devices have selects all of them,
    with a note on stderr. False, with the reason on stderr, if a part of the
    list matches nothing.
*/
bool replay_streams(const replay_job *job, const char *text, replay_list *list);
// The same for devices, by number or name.
bool replay_devices(const replay_job *job, const char *text, replay_list *list);
// Frees a list.
void replay_list_close(replay_list *list);

/* ---- Operations by number and by zone (choose.c) ----------------- */

// A further selection of operations: see ts_replay_desc.choose.
typedef struct replay_choice replay_choice;

/*
    Selects operations by number and by zone. ops: "A..B", inclusive, where
    either end may be missing; or one number. zones: a comma-separated list of
    names with * as a wildcard. Either may be NULL. Returns NULL, with the
    reason on stderr, if an argument is invalid or matches nothing.
*/
replay_choice *replay_choose(const replay_job *job, const char *ops,
                             const char *zones);
void replay_choice_close(replay_choice *choice); // NULL is allowed
// A ts_replay_desc.choose, with a replay_choice as `choice`: TS_SKIP_NOT, or
// why the operation is left out.
ts_skip replay_chosen(const ts_replay *replay, size_t index, void *choice);

/* ---- Reports ------------------------------------------------------------ */

// Figures of one lane of the report; the order is that of ts_replay_lane.
enum { REPLAY_CELLS = 200 };
typedef struct replay_row {
    uint64_t selected, all;      // operations
    int64_t span_ns;             // of its device: see replay_rows
    int64_t cells[REPLAY_CELLS]; // busy time in each part of the makespan
    int64_t busy_until;          // private
} replay_row;
/*
    Computes the rows, with the makespan divided into `cells` parts. Shares of
    busy time relate to the span of the device, as in the timeline: from the
    start of its first work to the end of its last. Free with free(); NULL
    without memory.
*/
replay_row *replay_rows(const replay_job *job, int64_t cells);
// The start of part number `cell` of a makespan divided into `cells` parts.
int64_t replay_cell(int64_t makespan, int64_t cells, int64_t cell);
// Returns busy_ns as a share of the device's span, from 0 to 1; 0 if it has
// none.
double replay_share(const replay_row *row, int64_t busy_ns);

// Prints device:stream and the name, "0:2 (compute)", as far as the track has
// them; with several files "rank 1 0:2 (compute)".
void replay_put_track(FILE *out, const replay_job *job, uint32_t file,
                      const ts_track *track);

// Returns the value of --deps that stands for a mode.
const char *replay_deps_name(ts_deps deps);
// Returns the value of --mode that stands for a mode.
const char *replay_mode_name(ts_replay_mode mode);
// Whether the replay reproduced the record; for a model, whether all operations
// ran.
bool replay_is_same(const replay_job *job);
/*
    Computes for the reports the idle time of the devices by cause (job->total;
    zeros: unknown) and the spans of the devices (job->spans_ns). Call it after
    the run.
*/
void replay_measure(replay_job *job);
// Prints an operation or a call: "kernel saxpy on 0:2 (compute) at 1.5 ms".
void replay_put_node(FILE *out, const replay_job *job, uint32_t node);

// Prints the report for people: figures, lanes, verdict.
void replay_text(const replay_job *job);
void replay_print_lanes(const replay_job *job); // lanes.c
// Prints the report as one JSON object.
void replay_json(const replay_job *job);

/* ---- Real time (live.c) ------------------------------------------ */

// Parses a speed such as "2", "0.5" or "100x" into millionths. False if the
// text is not a speed.
bool replay_parse_speed(const char *text, uint64_t *speed);
// Plays the schedule of the last run in real time, `speed` millionths as fast.
// False without memory.
bool replay_play(const replay_job *job, uint64_t speed);

/* ---- A trace of the schedule (write.c) --------------------------- */

// Writes the schedule as a trace. False, with the reason on stderr, on failure.
bool replay_write(const replay_job *job, const char *path);

/* ---- Comparison (verify.c) ---------------------------------------------- */

// ts-replay --verify: compares the operations of two traces. Returns the exit
// code.
int verify_run(const cli_tool *tool, const char *a, const char *b, bool json);

#endif // TS_REPLAY_TOOL_H
