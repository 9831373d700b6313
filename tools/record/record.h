/*
    record.h - what the parts of ts-record share

    options.c     what the user wants, from the options
    trace_name.c     the name of the trace
    prepare.c  what must be there before the program runs
    run.c      the program, its signals, its end
    process_group.c    which signals the program has got as well
    environment.c     the variables by which libraries find the recorder
    keys.c     what is pressed on the terminal
    control.c  what is said to the processes while they run
    parts.c    the traces that its processes left
    program_traces.c      those that the program records itself
    spool.c    those of processes that cannot reach the folder
    launches.c whether what was launched was seen to run
    captured.c     operations that can be run again
    trace.c    one trace of them
    losses.c     what is not in a trace
    summary.c      the summary
*/
#ifndef TS_RECORD_H
#define TS_RECORD_H

#include "tools/cli/cli.h"

#include "backends/inject/control.h"
#include <sys/types.h>

enum { RECORD_PATH = 4096 };
// From so many operations on fewer are advised.
enum { RECORD_SHOWN = 1000, RECORD_MANY = 10000 };
// As other programs that run programs do: none of the program's own codes.
enum { RECORD_FAILED = 125 };

// What is to be recorded, and when; zero is everything.
typedef struct record_options {
    const char *kinds, *names; // as in backends/ts_filter.h
    char capture[4096];        // as in backends/ts_capture.h; "": nothing
    const char *capture_on;    // what begins and ends it (NULL: the start)
    int capture_signal;        // of that, 0: none
    bool capture_key;
    bool every;           // operation is kept: nothing in `capture` ends it
    bool estimate;        // while it lasts, how many that are by now
    const char *yield;    // who is given CUPTI (NULL: nobody)
    uint64_t stack_depth; // 0: none
    int64_t delay_ns, duration_ns;
    int64_t flight_ns; // only the last moments
    uint64_t flight_memory, size_limit;
    bool live;
} record_options;

// A call that gave an error, and how often.
enum { RECORD_FAILURES = 8 };
typedef struct record_failure {
    char call[64];
    int64_t error; // as the library has it
    uint64_t count;
} record_failure;

// Calls that launch work, and those of them whose work was seen.
typedef struct record_launches {
    uint64_t called, recorded;
    uint64_t into_graphs; // of those that were called: they run with a graph
    bool graphs;          // some launch what was captured before
    bool more;            // were called than can be known: calls are lost
    uint64_t failed;      // calls of any kind
    record_failure failures[RECORD_FAILURES]; // the first of them; count 0: end
} record_launches;

// Operations that were kept to be run again, or why they were not.
typedef struct record_kept {
    uint64_t whole, hashes, declined, bytes;
    uint64_t reasons[TS_REASON_LIMIT];
} record_kept;

// The trace of one process, or of what it was before it called exec.
typedef struct record_part {
    char path[RECORD_PATH];
    uint64_t start_ns, end_ns; // Unix time; of its last event
    uint64_t events;
    record_launches launches;
    record_kept kept;
    bool main;    // of the program's own process
    bool live;    // still being written
    bool own;     // the program recorded it itself: it stays where it is
    bool foreign; // of another user's process: a copy, if it is `own`
    bool left;    // out of the trace: it has operations that are in another one
    char link[96];     // of such a one, in the folder
    uint32_t backends; // bits of those that told of a GPU
    long process;
} record_part;

typedef struct record_figures {    // of processes that run
    uint64_t records, lost, bytes; // of those that ended, too
    uint32_t processes, threads;
    bool waits, ended;
    uint64_t kept;           // operations to be run again
    bool capturing, a_frame; // a_frame: it begins with the next one
} record_figures;

typedef struct record_job {
    const cli_tool *tool;
    const char *pattern;   // of its name, as the user gave it
    char out[RECORD_PATH]; // the trace
    record_options options;
    char **argv;                // the program and its arguments
    char inject[RECORD_PATH];   // the library
    char folder[RECORD_PATH];   // where the processes write
    char spool[80];             // where they do that cannot; "": nowhere
    ts_inject_control *control; // NULL: nothing is said while they run
    pid_t pid;
    int status;     // as waitpid gives it
    bool never_ran; // exec failed
    int64_t ran_ns; // from the start of the recorder's time to its end
    bool awaited;   // children that may begin to write still run
    bool collected; // of an earlier run, whose program is not known
    record_part *parts;
    size_t part_count;
    uint64_t silent;    // processes that had nothing to say
    uint64_t gone;      // traces of the program's own that it took away
    uint32_t snapshots; // that were written on a signal
    bool live_shown, quiet;
} record_job;

// Completes what is wanted; false, with the reason on stderr, if it makes no
// sense.
bool record_options_check(record_job *job);
// What the trace is called, by `pattern`, into `out`; false: it is too long.
bool record_name(record_job *job);
// Finds the library and makes the folder; false with the reason on stderr.
bool record_prepare(record_job *job);
// Takes over a folder that another ts-record left; false with the reason.
bool record_collect(record_job *job, const char *folder);
// Takes the folder away as far as it is empty.
void record_give_up(const record_job *job);
// In the child: sets the variables.
void record_vars_set(const record_job *job);
// Runs the program to its end. Returns what ts-record is to return; 126 and
// 127, with the reason on stderr, if it cannot be run.
int record_run(record_job *job);

// A process that stands in the group; ends with ts-record at the latest.
void record_group_watch(void);
void record_group_end(void);
// Whether a signal that ts-record has got went to the whole group.
bool record_group_had(int number);
// Stops ts-record as well, until the program or its shell goes on.
void record_group_stop(pid_t process);

// The memory that the processes see; false with the reason on stderr.
bool record_control_make(record_job *job);
// How long ago it was made; 0: it was not.
int64_t record_control_ns(const record_job *job);
// Unless a child may still look for it.
void record_control_remove(const record_job *job);
// Shows how far they are, or takes that away.
void record_live(record_job *job, bool end);
// Has every process write what its rings hold; false: one did not in time.
bool record_snapshot_ask(record_job *job);
// Has every process begin to keep operations, or end it.
void record_capture_ask(record_job *job);

// The key that does so. Keys are taken from the terminal between open and
// close; the program's standard input then is no terminal.
enum { RECORD_KEY = 'c' };
bool record_keys_open(const record_job *job);
void record_keys_close(void);
bool record_keys_pressed(void);
// In the child.
void record_keys_child(void);

// Opens what is in the folder, which saves what dead processes left, and
// takes away the traces in which nothing happened, unless all are such.
// prefix: "" or that of the snapshots.
bool record_parts_find(record_job *job, const char *prefix);
// Notes whether children still run, which find the folder as it is. Before the
// traces are looked for: a child that ends in between has left its own.
void record_parts_await(record_job *job);
// Whether a trace of them is one of a process that has ended.
bool record_parts_ended(const record_job *job);
// Removes the traces, and the folder unless it is awaited.
void record_parts_remove(const record_job *job);
void record_parts_close(record_job *job);
// Names a place for processes that cannot reach the folder.
void record_spool_make(record_job *job);
void record_spool_load(record_job *job); // that of an earlier run
void record_spool_remove(const record_job *job);
// What is there comes into the folder.
void record_spool_bring(const record_job *job);
// Whether a trace in the folder is of another user's process.
bool record_spool_foreign(const char *path);
// Copies a complete trace that is a file of `owner`, who may change or replace
// what is there at any moment.
bool record_spool_copy(const record_job *job, const char *path, uid_t owner,
                       const char *to, bool *live);

// Lets sessions of the program's own be found; see ts__session_announce_to.
void record_own_begin(const record_job *job);
void record_own_load(const record_job *job); // that of an earlier run
void record_own_remove(const record_job *job);
// What they told comes into the folder: links, and copies of other users'.
void record_own_bring(record_job *job);
bool record_own_is(const char *name);
// Where that is, into `part`; false: it is gone, or another session's.
bool record_own_find(const record_job *job, const char *name,
                     record_part *part);
// Marks those that would count operations twice.
void record_own_compare(record_job *job);
// The trace, of those before it, of the same process; its own number: none.
size_t record_own_partner(const record_job *job, size_t part);
void record_own_say(const record_job *job);

// How many processes the traces that are whole are of.
size_t record_process_count(const record_job *job);

record_launches record_launches_of(ts_reader *reader);
// Adds those of another process.
void record_launches_add(record_launches *sum, const record_launches *other);
record_kept record_kept_of(ts_reader *reader);
// What of the operations of all processes can be run again; `trace`: of all.
void record_say_kept(const record_job *job, ts_reader *trace);
// Makes one trace of the parts at `out`; false with the reason on stderr.
bool record_assemble(const record_job *job, const char *out);
// Cuts each of them to the last moments.
bool record_cut_parts(const record_job *job);
// Writes a trace of what the processes hold now, beside job->out.
void record_snapshot(record_job *job);

// Prints what a trace has lost, by cause; not what a flight recorder is to
// forget. How much that was.
uint64_t record_say_lost(const record_job *job, const ts_reader *reader);

// Prints a line for each process that could not be recorded, as the library
// noted; returns how many.
size_t record_say_failures(const record_job *job);
void record_say_trace(const record_job *job);
// The same of the traces that are left as they are.
void record_say_parts(const record_job *job);
void record_say_end(const record_job *job);
void record_say_nothing(const record_job *job);

#endif // TS_RECORD_H
