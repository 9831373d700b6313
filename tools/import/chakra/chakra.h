/*
    chakra.h - what the files of the Chakra importer share

    chakra.c         the format, and what becomes of its nodes
    read.c    protobuf to nodes
    layout.c  times for nodes that have none
*/
#ifndef TS_TOOLS_IMPORT_CHAKRA_CHAKRA_H
#define TS_TOOLS_IMPORT_CHAKRA_CHAKRA_H

#include "tools/import/import.h"
#include "tools/import/map.h"

typedef enum chakra_type { // of the schema
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
    int64_t start_ns, duration_ns; // start IMPORT_NONE: not known
    int64_t queued_ns;             // end of the call that launched it, or 0
    int64_t thread;                // or stream; IMPORT_NONE
    int64_t comm_type, peer, tag;  // IMPORT_NONE
    uint64_t size;
    uint64_t group; // import_communicator's; 0 unknown
    uint32_t name;
    uint32_t first_dep, dep_count;
    uint32_t launcher; // index of the host node that launched it, or its own
    uint32_t track;
    uint8_t type;
    bool on_host;
    bool estimated;
} chakra_node;

typedef struct chakra_dep {
    uint64_t id;
    uint32_t node; // its index; UINT32_MAX: there is none
    bool is_data;
} chakra_dep;

typedef struct chakra {
    import_job *job;
    chakra_node *nodes;
    size_t count, room;
    chakra_dep *deps;
    size_t dep_count, dep_room;
    int64_t process;
    bool has_times; // any node tells when it began
    bool old;       // of a schema before 0.0.4
    bool out_of_memory;
} chakra;

// Whether these first bytes are a message of metadata and then a node.
bool chakra_is(const uint8_t *head, size_t size);
// False: out of memory, or of an old schema.
bool chakra_read(chakra *c);
// Gives every node a time, and finds what launched what.
bool chakra_layout(chakra *c);
// Of a node of a device. Those that tell none: one for each kind of work.
int64_t chakra_stream(const chakra_node *node);

#endif // TS_TOOLS_IMPORT_CHAKRA_CHAKRA_H
