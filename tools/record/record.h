/*
    record.h - what the parts of ts-record share

    options.c     checks and completes the options
    trace_name.c  the name of the trace
    prepare.c     finds the library and makes the folder before the program runs
    run.c         runs the program, forwards signals, waits for its end
    process_group.c  whether a signal reached the program, too
    environment.c the variables by which libraries find the recorder
    keys.c        keys pressed on the terminal
    control.c     memory shared with the processes while they run
    parts.c       the traces that the processes left
    running.c     whether processes of the program still run
    program_traces.c  traces that the program records itself
    spool.c       traces of processes that cannot reach the folder
    launches.c    whether each launch has a recorded operation
    captured.c    captured operations
    trace.c       merges the parts into one trace
    losses.c      what a trace has lost
    summary.c     the summary
    with/         records with a vendor's own tool instead
*/
#ifndef TS_RECORD_H
#define TS_RECORD_H

#include "tools/common/channel/channel.h"

#include "backends/inject/control.h"
#include <sys/types.h>

enum { RECORD_PATH = 4096 };
// Numbers of captured operations: from SHOWN on the terminal shows the count
// while the program runs; from MANY on the summary advises to capture fewer.
enum { RECORD_SHOWN = 1000, RECORD_MANY = 10000 };
// The exit code for failures of ts-record itself. Like env and timeout, it uses
// a code that programs rarely return.
enum { RECORD_FAILED = 125 };

// The options: what to record, and when. All zeros: everything, all the time.
typedef struct record_options {
    const char *kinds, *names; // as in backends/ts_filter.h
    char capture[4096];        // as in backends/ts_capture.h; "": no capture
    const char *capture_on;    // trigger of the capture (NULL: the start)
    int capture_signal;        // signal of the trigger, 0: none
    bool capture_key;
    bool every;           // `capture` sets no limit: captures all operations
    bool estimate;        // show the count of captured operations meanwhile
    const char *yield;    // profiler that may use CUPTI instead (NULL: none)
    uint64_t stack_depth; // 0: none
    int64_t delay_ns, duration_ns;
    int64_t flight_ns; // flight recorder: how long events are kept
    uint64_t flight_memory, size_limit;
    bool live;
} record_options;

// A call that returned an error, and how often it did.
enum { RECORD_FAILURES = 8 };
typedef struct record_failure {
    char call[64];
    int64_t error; // the library's own error code
    uint64_t count;
} record_failure;

// How many calls launched work, and for how many of them the operation was
// recorded.
typedef struct record_launches {
    uint64_t called, recorded;
    uint64_t into_graphs; // of `called`: captured into a graph, not run at once
    bool graphs;          // some calls launch graphs
    bool more;            // `called` is too low: calls were lost
    uint64_t failed;      // calls of any kind that returned an error
    record_failure failures[RECORD_FAILURES]; // of `failed`, ends with count 0
} record_launches;

// How many operations were captured, and why others were not.
typedef struct record_kept {
    uint64_t whole, hashes, declined, bytes;
    uint64_t reasons[TS_REASON_LIMIT];
} record_kept;

// The trace of one process, or of one program that it ran before exec.
typedef struct record_part {
    char path[RECORD_PATH];
    uint64_t start_ns, end_ns; // Unix time; end: of the last event
    uint64_t events;
    record_launches launches;
    record_kept kept;
    bool main;         // of the process that ts-record started
    bool live;         // still being written
    bool own;          // the program recorded it itself: it is not moved
    bool foreign;      // of another user's process; a copy if it is `own`
    bool left;         // not merged: another part has the same operations
    char link[96];     // if `own`: name of its link in the folder
    uint32_t backends; // bits of the backends that reported a GPU
    long process;
} record_part;

typedef struct record_job {
    const cli_tool *tool;
    const char *pattern;   // the name of the trace as the user gave it
    char out[RECORD_PATH]; // path of the trace
    record_options options;
    char **argv;                // the program and its arguments
    char inject[RECORD_PATH];   // the library to inject
    char folder[RECORD_PATH];   // where the processes write
    char spool[80];             // for those that cannot; "": none
    ts_inject_control *control; // shared memory; NULL: none
    pid_t pid;
    uint64_t begin_ns; // before `pid` was started, of cli_now_ns
    pid_t next;        // first id that others may have got since
    int status;        // as waitpid gives it
    bool never_ran;    // exec failed
    int64_t ran_ns;    // from the start of the recorder's time to its end
    bool awaited;      // children still run and may begin to write
    bool collected;    // --collect: the program is not known
    bool others;       // another recorder is in the program, or none
    record_part *parts;
    size_t part_count;
    uint64_t silent;    // processes that recorded no event
    uint64_t gone;      // traces of the program that it removed itself
    uint32_t snapshots; // dumps written on a signal
    bool live_shown, quiet;
} record_job;

// Checks and completes the options. False, with the reason on stderr, if they
// contradict each other.
bool record_options_check(record_job *job);
// Makes job->out from job->pattern. False if the name is too long.
bool record_name(record_job *job);
// Names the trace and checks that it can be written. False, with the reason on
// stderr, if not.
bool record_check_out(record_job *job);
// Finds the library and makes the folder. False, with the reason on stderr, on
// failure.
bool record_prepare(record_job *job);
// Takes over a folder that an earlier ts-record left. False, with the reason on
// stderr, on failure.
bool record_collect(record_job *job, const char *folder);
// Removes the folder if it is empty.
void record_give_up(const record_job *job);
// Sets the environment variables of the program.
void record_vars_set(const record_job *job);
// Runs the program to its end. Returns the exit code of ts-record; 126 or 127,
// with the reason on stderr, if the program cannot be run.
int record_run(record_job *job);

// Starts a process in ts-record's process group that notes which signals the
// group receives. It ends with ts-record at the latest. Returns its id.
pid_t record_group_watch(void);
// Ends that process.
void record_group_end(void);
// Whether a signal that ts-record received was sent to the whole group.
bool record_group_had(int number);
// Stops ts-record, too, until the program or the shell continues it.
void record_group_stop(pid_t process);

// Creates the memory shared with the processes. False, with the reason on
// stderr, on failure.
bool record_control_make(record_job *job);
// Returns the age of the shared memory in nanoseconds; 0 if there is none.
int64_t record_control_ns(const record_job *job);
// Removes the shared memory, unless a child may still open it.
void record_control_remove(const record_job *job);
// Draws the line of --live; with `end`, erases it.
void record_live(record_job *job, bool end);
// Requests a dump from every process. False if one did not write it in time.
bool record_dump_request(record_job *job);
// Makes every process begin a capture, or end the one that runs.
void record_capture_toggle(record_job *job);

// The key that begins and ends a capture. Keys are read from the terminal
// between record_keys_open and record_keys_close; meanwhile the program's
// standard input is not the terminal.
enum { RECORD_KEY = 'c' };
// Takes the terminal's keys, without echo or lines. False, with the reason on
// stderr, without a terminal.
bool record_keys_open(const record_job *job);
// Gives the terminal back as it was, if ts-record still is in front.
void record_keys_close(void);
// Whether the key was pressed an odd number of times since the last call. Never
// waits.
bool record_keys_pressed(void);
// Prepares the child's standard input; called before exec.
void record_keys_child(void);

// Opens the traces in the folder, salvaging those of dead processes, and
// removes those without events, unless all are empty. prefix: of the names of
// the files; "" for the traces, else that of the dumps.
bool record_parts_find(record_job *job, const char *prefix);
// Sets job->awaited. Call it before record_parts_find: then the trace of a
// child that ends in between is found.
void record_parts_await(record_job *job);
// Whether any part is of a process that has ended.
bool record_parts_ended(const record_job *job);
// Removes the traces, and the folder unless children still use it (`awaited`).
void record_parts_remove(const record_job *job);
// Frees the list of parts; the files stay.
void record_parts_close(record_job *job);
// Creates the spool: a place for processes that cannot write to the folder.
void record_spool_make(record_job *job);
void record_spool_load(record_job *job); // of an earlier run
// Removes the note by which an earlier run's spool is found, unless children
// still run.
void record_spool_remove(const record_job *job);
// Moves the traces from the spool into the folder.
void record_spool_bring(const record_job *job);
// Whether a trace in the folder was recorded by another user's process.
bool record_spool_foreign(const char *path);
// Copies a complete trace that belongs to `owner`. The owner is not trusted:
// the file may be changed or replaced at any moment.
bool record_spool_copy(const record_job *job, const char *path, uid_t owner,
                       const char *to, bool *live);

// Makes sessions that the program starts itself announce their traces: see
// ts__session_announce_to.
void record_own_begin(const record_job *job);
void record_own_load(const record_job *job); // of an earlier run
// Removes links, note and folders, unless children that still run may announce
// a trace.
void record_own_remove(const record_job *job);
// Puts the announced traces into the folder: as links, or as copies if they
// belong to another user.
void record_own_bring(record_job *job);
// Whether the name of a file in the folder is that of such a link.
bool record_own_is(const char *name);
// Finds the trace behind a link and fills in `part`. False if the trace is gone
// or of another session.
bool record_own_find(const record_job *job, const char *name,
                     record_part *part);
// Sets `left` of parts whose operations another part has, too.
void record_own_compare(record_job *job);
// Returns the part before `part` of the same process that is nearest in time;
// `part` itself if there is none.
size_t record_own_partner(const record_job *job, size_t part);
// Prints on stderr which traces the program recorded itself, and why some are
// not merged.
void record_print_own(const record_job *job);

// Returns the number of processes that have complete traces.
size_t record_process_count(const record_job *job);

// Counts launches and their operations in a trace. All zeros if it has no
// calls: then nothing can be said.
record_launches record_launches_of(ts_reader *reader);
// Adds the counts of another process to `sum`.
void record_launches_add(record_launches *sum, const record_launches *other);
// Counts the captured operations of a trace by state, and the bytes that they
// keep.
record_kept record_kept_of(ts_reader *reader);
// Prints how many captured operations can be executed. trace: the merged one.
void record_print_kept(const record_job *job, ts_reader *trace);
// Merges the parts into one trace at `out`. False, with the reason on stderr,
// on failure.
bool record_assemble(const record_job *job, const char *out);
// Cuts each part to the last flight_ns.
bool record_cut_parts(const record_job *job);
// Writes the dumps of all processes as one trace, into the folder of job->out.
void record_snapshot(record_job *job);

// Prints the records that a trace has lost, by cause, and returns their number.
// Records that a flight recorder overwrites by design do not count.
uint64_t record_print_lost(const record_job *job, const ts_reader *reader);

// Prints a line for each process that the injected library could not record.
// Returns their number.
size_t record_print_failures(const record_job *job);
// Prints the summary of the merged trace: events, launches, captures, losses.
void record_print_trace(const record_job *job);
// Prints the summary of traces that were not merged.
void record_print_parts(const record_job *job);
// Prints on stderr how the program ended, if by a signal, and which processes
// still record.
void record_print_end(const record_job *job);
// Prints on stderr why there is no trace, as far as that can be told.
void record_print_nothing(const record_job *job);

#endif // TS_RECORD_H
