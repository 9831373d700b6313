/*
    execution.h - execution traces, which the profiler's trace is joined with

        ExecutionTraceObserver's JSON -> json.c          -> execution.c
        Chakra's protobuf -> chakra/operators.c          -> job's zones

    An execution trace has the arguments of operators, but no times. Each node
    has the id that PyTorch gave to the call of its record function; rows of the
    profiler's JSON have the same id as "Record function id" if both observers
    were active. Within a process the id is unique; 0 is none.

    Processes of containers have equal pids, and equal ids. So an execution
    trace is joined with one profile only: with the one that has its process,
    of several with the one of its rank (pair.c).

    All nodes are kept in memory: their texts, and about 50 bytes each.

    Source: torch/csrc/profiler/standalone/execution_trace_observer.cpp (the
    JSON, versions 1.0.1 to 1.1.1); mlcommons/chakra, schema/protobuf/
    et_def.proto and src/converter/pytorch_converter.py (attributes of nodes).
*/
#ifndef TS_TOOLS_IMPORT_EXECUTION_EXECUTION_H
#define TS_TOOLS_IMPORT_EXECUTION_EXECUTION_H

#include "tools/import/import.h"
#include "tools/import/map.h"

/* ==== 1. For the core and for Kineto ===================================== */

// The nodes of any number of execution traces. Starts from { 0 }.
typedef struct import_executions {
    struct execution_file *files; // count
    size_t count, room;
    struct execution_profile *profiles; // profile_count, see pair.c
    size_t profile_count, profile_room;
} import_executions;

// Reads a JSON, or else a protobuf file. False, with the reason on stderr, if
// not all of it could be read; nodes before that are kept.
bool import_executions_add(import_executions *all, const cli_tool *tool,
                           import_source *source);
// Forgets the last one if it is of Chakra and has no ids: it was not made of an
// execution trace of PyTorch, and is of no use here. False: it has some.
bool import_executions_drop(import_executions *all);
// Reads a profile ahead: its rank, and whose operators it may have.
void import_executions_scan(import_executions *all, const cli_tool *tool,
                            import_source *profile);
// Chooses a profile for each execution trace among those that were scanned.
// `others`: there are profiles that were not; they may have what no scanned one
// has. False: several are possible, which is said on stderr.
bool import_executions_pair(import_executions *all, const cli_tool *tool,
                            bool others);
// Adds what is known of a call to the arguments of its zone.
void import_executions_join(import_job *job, int64_t process, int64_t id,
                            const char *name, size_t size, uint32_t thread,
                            int64_t start_ns, uint32_t site);
// Writes metadata of the traces that a job was joined with, and counts their
// nodes that are not in it. False: a trace that is joined with another profile
// has the job's process, too, which is said on stderr.
bool import_executions_end(import_job *job);
// Prints a line on stderr for each trace that was joined with nothing. Returns
// their number.
size_t import_executions_unused(const import_executions *all,
                                const cli_tool *tool);
void import_executions_close(import_executions *all);

/* ==== 2. Between its files =============================================== */

enum {
    EXECUTION_KEYS = 254, // distinct keys of a file; further ones have no place
    EXECUTION_KEY = 128,  // bytes of a key, with a zero; likewise
    EXECUTION_TEXT = 65535 // bytes of a value; longer ones are truncated
};

// The operator of one record function id.
typedef struct execution_node {
    uint64_t id;
    size_t at, end; // its values in file->bytes, see execution.c
    size_t name_at, name_size;
    bool joined; // with a row of the current job
} execution_node;

typedef struct execution_file {
    char *from; // for messages
    char schema[64];
    int64_t process;       // IMPORT_NONE: unknown
    int64_t rank;          // IMPORT_NONE: unknown
    char *profile;         // name of the source to join with; NULL: any
    bool is_refused;       // which profile is its own is unknown
    bool is_claimed;       // by a second profile, the current job
    execution_node *nodes; // count
    size_t count, room;
    uint8_t *bytes; // size
    size_t size, bytes_room;
    char keys[EXECUTION_KEYS][EXECUTION_KEY];
    size_t key_count;
    cli_map node_of;      // by id, the first one: index + 1
    cli_map named;        // by id and name: index + 1
    uint64_t joined, all; // nodes of the current job; rows of all jobs
    uint64_t left_out;    // values that have no place, or are malformed
    uint64_t truncated;   // values
    uint64_t doubles;     // nodes with the id and name of an earlier one
    bool no_memory;
    bool is_chakra;
    execution_node open; // the node that is being read
} execution_file;

typedef enum execution_type {
    EXECUTION_NUMBER, // text of the file
    EXECUTION_TRUE,
    EXECUTION_FALSE,
    EXECUTION_STRING, // or the JSON text of an array or object
} execution_type;

// Begins a node.
void execution_node_begin(execution_file *file);
// Adds a value to the open node: "rf_id" is its id, "name" its name, other ones
// become arguments "et.KEY". Empty texts and arrays are left out.
void execution_node_value(execution_file *file, const char *key,
                          execution_type type, const char *text, size_t size);
// Keeps the open node if it has an id and name that no earlier one has.
void execution_node_end(execution_file *file);
// Returns the rank in a file name, "rank3" or "PREFIX.3.et"; IMPORT_NONE: none.
int64_t execution_rank(const char *name);
// Returns whether an execution trace may be joined with the job's profile.
bool execution_is_for(execution_file *file, const import_job *job);
void execution_profiles_close(import_executions *all);
// Returns whether a JSON begins as an execution trace does.
bool execution_is_json(const uint8_t *head, size_t size);
// Reads a source. NULL: to its end; otherwise what is wrong with it.
const char *execution_read_json(execution_file *file, import_source *source);
// The same for Chakra's messages.
const char *execution_read_protobuf(execution_file *file,
                                    import_source *source);

#endif // TS_TOOLS_IMPORT_EXECUTION_EXECUTION_H
