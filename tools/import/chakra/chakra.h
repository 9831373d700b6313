/*
    chakra.h - what the files of the Chakra importer share

    chakra.c     the format; turns nodes into events
    read.c       decodes protobuf into nodes
    layout.c     estimates times of nodes that have none
    operators.c  reads what is joined with the profiler's trace
    values.c     attributes as numbers and text
*/
#ifndef TS_TOOLS_IMPORT_CHAKRA_CHAKRA_H
#define TS_TOOLS_IMPORT_CHAKRA_CHAKRA_H

#include "tools/import/import.h"
#include "tools/import/map.h"
#include "tools/import/wire.h"

typedef enum chakra_type { // values of the schema
    CHAKRA_INVALID = 0,
    CHAKRA_METADATA = 1,
    CHAKRA_LOAD = 2,
    CHAKRA_STORE = 3,
    CHAKRA_COMPUTE = 4,
    CHAKRA_SEND = 5,
    CHAKRA_RECEIVE = 6,
    CHAKRA_COLLECTIVE = 7
} chakra_type;

typedef struct chakra_node {
    uint64_t id;
    int64_t start_ns, duration_ns;             // start_ns IMPORT_NONE: unknown
    int64_t exact_start_ns, exact_duration_ns; // IMPORT_NONE: only the above
    int64_t device;
    int64_t queued_ns;            // end of the call that launched it; 0: none
    int64_t thread;               // thread or stream; IMPORT_NONE: unknown
    int64_t context;              // of a stream; IMPORT_NONE: none
    int64_t process;              // of a thread; IMPORT_NONE: of the metadata
    int64_t comm_type, peer, tag; // IMPORT_NONE: unknown
    uint64_t size;
    uint64_t group; // from import_communicator; 0: unknown
    uint32_t name;
    uint32_t first_dep, dep_count;
    uint32_t launcher; // index of the host node that launched it; its own: none
    uint32_t track;
    uint8_t type;
    bool on_host;
    bool estimated;
} chakra_node;

typedef struct chakra_dep {
    uint64_t id;
    uint32_t node; // index of the node; UINT32_MAX: not in the file
    bool is_data;
} chakra_dep;

typedef struct chakra {
    import_job *job;
    chakra_node *nodes;
    size_t count, room;
    chakra_dep *deps;
    size_t dep_count, dep_room;
    int64_t process;
    bool has_times; // at least one node has a start time
    bool old;       // the schema is older than 0.0.4
    bool out_of_memory;
} chakra;

// Returns whether the file begins with a metadata message and a node.
bool chakra_is(const uint8_t *head, size_t size);
// Reads all nodes. False: out of memory, or the schema is too old.
bool chakra_read(chakra *c);
// Sets the time and the launcher of every node. False: out of memory.
bool chakra_layout(chakra *c);
// Returns the stream of a device node. Nodes without one get a stream for each
// kind of work.
int64_t chakra_stream(const chakra_node *node);

/* ---- Messages ---- */

enum { CHAKRA_MESSAGE_MAX = 64 << 20 };

typedef struct chakra_attribute {
    ts_text name, text; // text: if it is a string or bytes, else NULL
    int64_t number;     // IMPORT_NONE: it is no whole number of int64_t
    uint64_t field;     // of its value, which has the type; 0: it has none
    import_field value;
} chakra_attribute;

// A text of at most EXECUTION_TEXT + 1 bytes. Starts from { 0 }; free data.
typedef struct chakra_text {
    char *data; // not terminated
    size_t size, room;
    bool no_memory;
} chakra_text;

// Returns whether a field of an attribute is its value, of any type.
bool chakra_is_value(uint64_t field);
// Returns the number in an attribute's field; IMPORT_NONE: it has none of
// int64_t.
int64_t chakra_number(uint64_t field, const import_field *f);
// Prints a number, or a list as JSON, anew. False: it is malformed, or infinite
// or no number.
bool chakra_print(chakra_text *to, const chakra_attribute *a);
// Adds values to a list, which is not closed: a number, packed numbers, or a
// string. False: they are malformed.
bool chakra_list_add(chakra_text *to, uint64_t field, const import_field *f);
// Decodes an attribute; false: it is malformed or has no name.
bool chakra_attribute_take(import_wire w, chakra_attribute *a);
// Reads the size of a message; false at the end. *broken: it is truncated or
// too large.
bool chakra_read_size(import_source *source, uint64_t *size, bool *broken);

#endif // TS_TOOLS_IMPORT_CHAKRA_CHAKRA_H
