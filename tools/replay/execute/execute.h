/*
    execute.h - what the parts of ts-replay --execute share
*/
#ifndef TS_TOOLS_REPLAY_EXECUTE_EXECUTE_H
#define TS_TOOLS_REPLAY_EXECUTE_EXECUTE_H

#include "tools/replay/replay.h"

// The command-line options.
typedef struct execute_options {
    bool execute, chain, overlap, as_graph, trust, stop_at_first, bisect, json,
        no_confine;
    const char *backend, *compare, *va, *extract, *output;
    uint64_t loops, timeout_s;
} execute_options;

// Which confinements of the process that runs kernels could be applied.
typedef struct execute_confined {
    bool tried, privileges, limits, calls, files;
    bool shared_memory; // has a private /dev/shm
    int landlock;       // version of Landlock; 0: not supported
} execute_confined;

#define EXECUTE_NONE UINT32_MAX // no capture

// An operation of the selection, in the order of submission.
typedef struct execute_row {
    uint32_t operation; // as ts_replay_operation counts
    uint32_t capture;   // its capture's position, or EXECUTE_NONE
    bool order;         // an event, a wait, a sync, an allocation: no result
    bool piece;  // a graph node, a part of a copy: runs as part of another row
    uint32_t of; // the capture that runs it: its own, or that of the whole
    ts_execution_item item;
} execute_row;

typedef struct execute_job {
    const replay_job *replay;
    const execute_options *options;
    ts_reader *reader;
    const ts_executor *executor;
    ts_execution_desc desc;
    execute_row *rows;
    size_t count;
    uint64_t missing; // captures without a row, if all rows are selected
    // Counts of the captured rows. Each is executed, substituted, declined, or
    // not run because another row ended the run before it.
    uint64_t captured, executed, substituted, declined, not_run;
    uint64_t reasons[TS_REASON_LIMIT];  // why declined
    uint64_t left_out[TS_REASON_LIMIT]; // why rows were not captured
    uint64_t order, nodes, parts, diverged, unstable, escaped, compared,
        patched, patched_different; // escaped: touched unmapped memory;
                                    // nodes, parts: pieces of graph
                                    // launches and of other operations
    uint64_t levels[3];
    bool timed_out, closed; // closed: the device cannot be opened
    size_t first;           // row of the first divergence; count: none
    uint64_t digest;
    execute_confined confined;
    char folder[4096]; // where the process may write; empty: nowhere
    bool folder_goes;  // remove the folder after the run
    // With concurrent streams (--overlap):
    ts_execution_whole whole;
    int64_t work_ns, span_ns; // recorded, of the executed operations
} execute_job;

// ts-replay --execute: executes the selected operations of a job. Returns the
// exit code.
int execute_run(const replay_job *job, const execute_options *options);

// Checks the options. False, with the reason on stderr, if one is invalid.
bool execute_check(const cli_tool *tool, const execute_options *options);

// Returns the executor of a backend; NULL if there is none. (backends.c)
const ts_executor *execute_backend(const char *name);
// The names of all backends that have an executor.
cli_text execute_backends(void);

// Executes rows [from, to) in another process and adds up the results. chain:
// each row uses the memory that the rows before it left. (process.c)
bool execute_rows(execute_job *job, size_t from, size_t to, bool chain);

// Fills in the selected rows, in order of submission as far as the captures
// record it. False, with a message on stderr, without memory. (rows.c)
bool execute_find_rows(execute_job *job);

// Confines the calling process, which runs kernels: drops the privileges, files
// and system calls that kernels do not need. (confine.c)
void execute_confine(const execute_job *job, execute_confined *held);
// Call these before the first and after the last such process.
void execute_confine_begin(execute_job *job);
// Removes the temporary folder of a confined run.
void execute_confine_end(execute_job *job);
// Prints which protections were in force, as "not" where the kernel lacks one.
void execute_confined_text(const execute_confined *held);
// Adds the same as member "confined".
void execute_confined_json(cli_json *json, const execute_confined *held);

// For which operations of other streams each capture has to wait. find: false,
// with the reason on stderr, on failure. Free with execute_edges_free.
// (concurrent.c)
typedef struct execute_edges {
    ts_execution_edge *edges;
    size_t count;
} execute_edges;
// Finds the dependencies among the captured operations of rows [from, to).
// False, with the reason on stderr, without memory. Free with
// execute_edges_free.
bool execute_edges_find(const execute_job *job, size_t from, size_t to,
                        execute_edges *edges);
// Frees the edges; allowed twice.
void execute_edges_free(const execute_job *job, execute_edges *edges);
// Adds the result of one process of the record, or of a part of it.
void execute_whole_add(execute_job *job, const ts_execution_whole *whole);
// Prints the figures of a concurrent run; nothing if the device was lost before
// it.
void execute_whole_text(const execute_job *job);
// Adds the same as a member of the open object.
void execute_whole_json(cli_json *json, const execute_job *job);

// Whether the code of the trace may run: this user recorded it on this machine,
// or passed --trust. Otherwise prints what would run. (trust.c)
bool execute_trusted(const execute_job *job);

// How often each executed operation runs.
static inline uint64_t execute_runs(const execute_options *options)
{
    const uint64_t loops = options->loops ? options->loops : 1;
    return options->as_graph ? loops + 2 : options->overlap ? 2 : loops;
}

void execute_text(const execute_job *job); // text.c
// Prints the result as one JSON object. (json.c)
void execute_json(const execute_job *job);
// Whether reports omit a row: it has no result, or none of its own.
static inline bool execute_is_silent(const execute_row *row)
{
    return row->order || row->piece;
}

// Gets the capture of a row that is a graph launch. False if it is none.
bool execute_find_graph(const execute_job *job, const execute_row *row,
                        ts_capture *capture);
// The number of nodes of a graph launch, without those that only order others.
uint32_t execute_count_nodes(const ts_capture *capture);

// Reads a stored list of chunk hashes, two words each; an empty list if the
// trace does not have it. False without memory. Free with free(*hashes).
// (find.c)
bool execute_list(const execute_job *job, const uint64_t list[2],
                  uint64_t **hashes, size_t *count);

// Prints a row as "kernel saxpy on 0:2 (compute)".
void execute_put_row(FILE *out, const execute_job *job, const execute_row *row);

// Finds where an operation was launched: the name of the zone or function, the
// file (empty: unknown) and the line. (find.c)
bool execute_find_site(const execute_job *job, const execute_row *row,
                       ts_text *name, ts_text *file, uint32_t *line);

// The first differing value. Its type is known only with --compare; otherwise
// it is taken for a float if the recorded and the found value look like one,
// else for a word.
typedef enum execute_type {
    EXECUTE_WORD, // of 32 bits
    EXECUTE_REAL,
    EXECUTE_SIGNED,
    EXECUTE_UNSIGNED,
    EXECUTE_BYTES // the end of the buffer, shorter than a value
} execute_type;

typedef struct execute_value {
    execute_type type;
    size_t size;
    uint32_t bits;
    uint64_t whole;
    double real;
} execute_value;
// Reads the differing value from `bytes`, which begins at item->offset of the
// recorded or of the found memory.
execute_value execute_value_of(const execute_job *job,
                               const ts_execution_item *item,
                               const uint8_t *bytes);

// How a kernel addressed the buffer that differs.
typedef struct execute_place {
    enum {
        EXECUTE_BY_NOTHING, // not a kernel
        EXECUTE_BY_PARAM,   // argument `index`
        EXECUTE_BY_BYTES,   // a pointer at byte `index` of the arguments
        EXECUTE_BY_MEMORY,
        EXECUTE_BY_GLOBAL
    } by;
    uint32_t index;
} execute_place;
// Finds how the kernel of a row reached the region that differs;
// EXECUTE_BY_NOTHING if the capture is gone or is of no kernel.
execute_place execute_place_of(const execute_job *job, const execute_row *row);

// Reads the event of an operation: row *at of *columns. The caller closes
// *columns.
bool execute_find_event(const execute_job *job, const ts_operation *op,
                        ts_columns *columns, uint32_t *at);
// Patches an ELF program so that it can be loaded as a library. False if that
// is impossible. (vdev.c)
bool execute_as_library(uint8_t *bytes, uint64_t size);

// --bisect: narrows a divergence down and writes a trace of the operations that
// reproduce it. False, with the reason on stderr, on failure. (bisect.c)
bool execute_bisect(execute_job *job);
// --extract: writes one kernel as a program of its own. False, with the reason
// on stderr, on failure. (extract/extract.c)
bool execute_extract(const execute_job *job);

#endif // TS_TOOLS_REPLAY_EXECUTE_EXECUTE_H
