/*
    execute.h - what the parts of ts-replay --execute share
*/
#ifndef TS_TOOLS_REPLAY_EXECUTE_EXECUTE_H
#define TS_TOOLS_REPLAY_EXECUTE_EXECUTE_H

#include "tools/replay/replay.h"

// What was asked for.
typedef struct execute_options {
    bool execute, chain, overlap, as_graph, trust, stop_at_first, bisect, json,
        no_confine;
    const char *backend, *compare, *va, *extract, *output;
    uint64_t loops, timeout_s;
} execute_options;

// What held of what the process of kernels is confined by.
typedef struct execute_confined {
    bool tried, privileges, limits, calls, files;
    bool shared_memory; // /dev/shm is its own
    int landlock;       // its version; 0: this kernel has none
} execute_confined;

#define EXECUTE_NONE UINT32_MAX // no capture

// An operation of the selection, in the order of submission.
typedef struct execute_row {
    uint32_t operation; // as ts_replay_operation counts
    uint32_t capture;   // position, or EXECUTE_NONE
    bool order;         // an event, a wait, a sync, an allocation: no contents
    bool
        piece; // a node of a graph, a part of a copy: another row stands for it
    uint32_t of; // the capture that it is a piece of, or its own
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
    // Of the rows that were captured: each is executed, substituted, declined,
    // or not run, if another one ended the run before it.
    uint64_t captured, executed, substituted, declined, not_run;
    uint64_t reasons[TS_REASON_LIMIT];  // why declined
    uint64_t left_out[TS_REASON_LIMIT]; // why others were not captured
    uint64_t order, nodes, parts, diverged, unstable, escaped, compared,
        patched, patched_different; // escaped: touched what is not there;
                                    // nodes, parts: pieces of launches of
                                    // graphs, and of other operations
    uint64_t levels[3];
    bool timed_out, closed; // closed: the device does not open
    size_t first;           // row that diverged first; count: none
    uint64_t digest;
    execute_confined confined;
    char folder[4096]; // where its process may write; empty: nowhere
    bool folder_goes;  // with this run
    // Where streams run beside each other:
    ts_execution_whole whole;
    int64_t work_ns, span_ns; // of what was executed, in the record
} execute_job;

// ts-replay --execute, of the selection of a job. Returns the exit code.
int execute_run(const replay_job *job, const execute_options *options);

// False, with the reason on stderr, if an option means nothing.
bool execute_check(const cli_tool *tool, const execute_options *options);

// The executor of a vendor, NULL if there is none, and the names of all.
// (backends.c)
const ts_executor *execute_backend(const char *name);
cli_text execute_backends(void);

// Runs rows [from, to) in another process and sums up. chain: each goes on
// with what those before it left. (process.c)
bool execute_rows(execute_job *job, size_t from, size_t to, bool chain);

// The selected rows in the order in which they were submitted, as far as
// captures tell; false without memory, which it says. (rows.c)
bool execute_find_rows(execute_job *job);

// Gives up, in the process that runs kernels, what they do not need.
// (confine.c)
void execute_confine(const execute_job *job, execute_confined *held);
// Before and after all such processes.
void execute_confine_begin(execute_job *job);
void execute_confine_end(execute_job *job);
void execute_confined_text(const execute_confined *held);
void execute_confined_json(cli_json *json, const execute_confined *held);

// What operations of other streams each capture has to wait for; false with
// the reason on stderr. Free: execute_edges_free. (concurrent.c)
typedef struct execute_edges {
    ts_execution_edge *edges;
    size_t count;
} execute_edges;
bool execute_edges_find(const execute_job *job, size_t from, size_t to,
                        execute_edges *edges);
void execute_edges_free(const execute_job *job, execute_edges *edges);
// Adds what came of one process of the record, or one part of it.
void execute_whole_add(execute_job *job, const ts_execution_whole *whole);
void execute_whole_text(const execute_job *job);
void execute_whole_json(cli_json *json, const execute_job *job);

// Whether this user made the trace on this machine, or says that it may run;
// else says what would run. (trust.c)
bool execute_trusted(const execute_job *job);

// How often each operation runs that is executed.
static inline uint64_t execute_runs(const execute_options *options)
{
    const uint64_t loops = options->loops ? options->loops : 1;
    return options->as_graph ? loops + 2 : options->overlap ? 2 : loops;
}

void execute_text(const execute_job *job); // text.c
void execute_json(const execute_job *job);
// Whether nothing came of a row: it has no contents, or none of its own.
static inline bool execute_is_silent(const execute_row *row)
{
    return row->order || row->piece;
}

// The capture of a row that stands for a launch of a graph; false: it is none.
bool execute_find_graph(const execute_job *job, const execute_row *row,
                        ts_capture *capture);
// How many nodes a launch of a graph has, less those that are order.
uint32_t execute_count_nodes(const ts_capture *capture);

// The hashes of a list of chunks, two words each; of one that the trace does
// not have, none. False without memory. Free: free(*hashes). (find.c)
bool execute_list(const execute_job *job, const uint64_t list[2],
                  uint64_t **hashes, size_t *count);

// "kernel saxpy on 0:2 (compute)", of a row.
void execute_put_row(FILE *out, const execute_job *job, const execute_row *row);

// Where an operation was launched: a zone or its function, and its file, empty
// if that is not known. (find.c)
bool execute_find_site(const execute_job *job, const execute_row *row,
                       ts_text *name, ts_text *file, uint32_t *line);

// The first value that differs. Of what type it is only --compare knows;
// else it is a word, or a float if both it and what was found look like one.
typedef enum execute_type {
    EXECUTE_WORD, // of 32 bits
    EXECUTE_REAL,
    EXECUTE_SIGNED,
    EXECUTE_UNSIGNED,
    EXECUTE_BYTES // fewer than a value has: the end of the buffer
} execute_type;

typedef struct execute_value {
    execute_type type;
    size_t size;
    uint32_t bits;
    uint64_t whole;
    double real;
} execute_value;
execute_value execute_value_of(const execute_job *job,
                               const ts_execution_item *item,
                               const uint8_t *bytes);

// How a kernel reached the buffer that differs.
typedef struct execute_place {
    enum {
        EXECUTE_BY_NOTHING, // it is no kernel
        EXECUTE_BY_PARAM,   // argument `index`
        EXECUTE_BY_BYTES,   // what lies at byte `index` of the arguments
        EXECUTE_BY_MEMORY,
        EXECUTE_BY_GLOBAL
    } by;
    uint32_t index;
} execute_place;
execute_place execute_place_of(const execute_job *job, const execute_row *row);

// The event of an operation, row *at of *columns, which are to be closed.
bool execute_find_event(const execute_job *job, const ts_operation *op,
                        ts_columns *columns, uint32_t *at);
// Makes a program loadable as a library; false: nothing does. (vdev.c)
bool execute_as_library(uint8_t *bytes, uint64_t size);

// Narrows a divergence down and writes a trace of what it takes; `--extract`
// writes one kernel as a program. False with the reason on stderr.
bool execute_bisect(execute_job *job);        // bisect.c
bool execute_extract(const execute_job *job); // extract/extract.c

#endif // TS_TOOLS_REPLAY_EXECUTE_EXECUTE_H
