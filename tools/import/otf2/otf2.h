/*
    otf2.h - what the files of this folder share

    library.c, definitions.c, events.c and others.c run in a child: they write
    an otf2_record and its bytes for each definition and event, as the library
    gives them. otf2.c reads these; the other files make a trace of them.
*/
#ifndef TS_TOOLS_IMPORT_OTF2_OTF2_H
#define TS_TOOLS_IMPORT_OTF2_OTF2_H

#include "tools/import/child.h"
#include "tools/import/nested.h"

/* ==== 1. Records ========================================================= */

/*
    In `v`, in the order of the library's callbacks, what a kind has:

        CLOCK            ticks a second, offset, Unix time of the offset, is it
                         an archive of ts-export
        STRING           self; bytes: the text
        GROUP            self, name, type, node, creator
        PLACE            self, name, type, group, events: a location
        NODE             self, is_device: a node of the system's tree
        REGION           self, name, role, paradigm, file, line, function,
                         description
        PARADIGM         self, name
        MEMBER           self, name, base, exponent, unit: of a metric
        CLASS            self; bytes: its members
        INSTANCE         self, class, scope, of
        ATTRIBUTE        self, name
        PARAMETER        self, name
        CONTEXT          self, region: of calls
        MEMBERS          self, type, is_global, paradigm; bytes: u64 each
        COMM             self, group, name
        WINDOW           self, comm
        PROPERTY         self, is of a group, name, value
        AT               location: that of the events that follow, its index
        ENTER, LEAVE     region, or a context and 1
        ARG              attribute, type, value: of the next event
        NUMBER           parameter, value, type
        TEXT             parameter, string, type
        METRIC           metric, index, type, value
        SEND             receiver, comm, tag, size, has request, request
        RECEIVE          sender, comm, tag, size, has request, request
        POSTED           request: of a receive
        CANCELLED        request
        COLLECTIVE       operation, comm, root, sent, received
        COPY             is_get, window, remote, size, id
        COPIED           window, id
        OTHER            index of otf2_others, how many
        ERROR            is it the end, events that are missing; bytes: why
*/
typedef enum otf2_kind {
    OTF2_CLOCK,
    OTF2_STRING,
    OTF2_GROUP,
    OTF2_PLACE,
    OTF2_NODE,
    OTF2_REGION,
    OTF2_PARADIGM,
    OTF2_MEMBER,
    OTF2_CLASS,
    OTF2_INSTANCE,
    OTF2_ATTRIBUTE,
    OTF2_PARAMETER,
    OTF2_CONTEXT,
    OTF2_MEMBERS,
    OTF2_COMM,
    OTF2_WINDOW,
    OTF2_PROPERTY,
    OTF2_AT,
    OTF2_ENTER,
    OTF2_LEAVE,
    OTF2_ARG,
    OTF2_NUMBER,
    OTF2_TEXT,
    OTF2_METRIC,
    OTF2_SEND,
    OTF2_RECEIVE,
    OTF2_POSTED,
    OTF2_CANCELLED,
    OTF2_COLLECTIVE,
    OTF2_COPY,
    OTF2_COPIED,
    OTF2_OTHER,
    OTF2_ERROR,
    OTF2_KINDS
} otf2_kind;

enum { OTF2_VALUES = 8, OTF2_BYTES = 16 << 20 };

typedef struct otf2_record {
    uint32_t kind, size; // size: bytes behind it
    uint64_t time;       // ticks; of events
    uint64_t v[OTF2_VALUES];
} otf2_record;

// Events that have no place in a trace, by their names, behind the attributes
// of all of these.
extern const char *const otf2_others[];
extern const size_t otf2_other_count;

#ifdef TRACESMITH_OTF2
#include <otf2/otf2.h>

/* ==== 2. The child ======================================================= */

typedef struct otf2_location {
    uint64_t id, events;
} otf2_location;

typedef struct otf2_child {
    FILE *out;
    otf2_location *locations;
    size_t count, room;
    uint64_t budget;  // records that the file in progress may have
    uint64_t *others; // of the location in progress, as in otf2_others
    bool is_own;      // ts-export wrote the archive
    bool is_quiet;    // writes no records
    char error[200];  // the first one of the library
} otf2_child;

typedef struct otf2_task {
    const char *path; // of the anchor
    size_t first;     // location; above 0: definitions are known
} otf2_task;

// Reads the archive of an otf2_task, and writes its records.
void otf2_read_archive(FILE *out, void *task);
// Writes a record. False: the file has more of them than bytes.
bool otf2_put(otf2_child *c, otf2_record r, const void *bytes, size_t size);
// Reads the global definitions. False: they cannot be read.
bool otf2_read_definitions(otf2_child *c, OTF2_Reader *reader);
// Set what the library calls for events: those that are kept, and the others.
void otf2_events_set(OTF2_EvtReaderCallbacks *callbacks);
void otf2_others_set(OTF2_EvtReaderCallbacks *callbacks);

/* ==== 3. The trace ======================================================= */

typedef struct otf2_row { // a definition; v[0] is its number
    uint64_t v[OTF2_VALUES];
    size_t at, size; // its bytes in `bytes`
} otf2_row;

typedef struct otf2_table {
    cli_map map; // from numbers to rows
    otf2_row *rows;
    size_t count, room;
} otf2_table;

typedef struct otf2_arg {
    ts_text name;
    ts_value_type type;
    bool is_unsigned; // beside TS_VALUE_INT
    uint64_t value;
    ts_text text;
} otf2_arg;

enum { OTF2_ARGS = 64 };

typedef struct otf2_open { // a region that was entered
    uint64_t region;
    int64_t start_ns;
    import_operation operation; // what ts-export said of it
    import_facts facts;
    ts_launch_entry launch;
    uint64_t result;
} otf2_open;

// Properties of locations and groups that ts-export writes.
typedef enum otf2_property {
    OTF2_PROPERTY_NUMBER, // of the track
    OTF2_PROPERTY_TYPE,
    OTF2_PROPERTY_FLAGS,
    OTF2_PROPERTY_CONTEXT,
    OTF2_PROPERTY_NONE, // a group of what has no process
    OTF2_PROPERTIES
} otf2_property;

typedef struct otf2_copy {
    uint64_t window, id;
    import_operation operation;
} otf2_copy;

typedef struct otf2_message {
    uint32_t comm, from, to, tag; // from, to: groups of locations
    uint64_t is_receive, order;   // order: of sends, or of what was posted
    uint64_t location, size;
    int64_t time_ns;
    uint32_t track, flow;
} otf2_message;

typedef struct otf2 {
    import_job *job;
    import_child child;
    import_nested zones;
    otf2_table tables[OTF2_KINDS]; // of definitions
    cli_map communicating;         // from paradigms to rows of MEMBERS
    cli_map devices;               // from nodes or groups to numbers
    cli_map sites;                 // from regions
    cli_map properties;            // see otf2_find_property
    bool is_own;                   // ts-export wrote the archive
    char *bytes;                   // of all definitions
    size_t size, room;
    uint64_t total, order; // events that there are; number of this one
    // The location in progress:
    uint64_t location, index;
    uint32_t track;
    bool is_located, is_stream; // is_located: there is a location
    otf2_open *open;            // of a stream; of a thread only calls
    size_t open_count, open_room;
    otf2_copy *copies;
    size_t copy_count, copy_room;
    cli_map posted;   // receives, by their requests
    uint64_t entered; // order of the last enter
    otf2_arg args[OTF2_ARGS];
    size_t arg_count;
    otf2_message *messages;
    size_t message_count, message_room;
    bool no_memory;
} otf2;

// Stores a definition.
void otf2_define(otf2 *o, const otf2_record *r, const char *bytes);
void otf2_define_property(otf2 *o, const otf2_record *r);
// Returns a definition; NULL: there is none.
const otf2_row *otf2_find(const otf2 *o, otf2_kind kind, uint64_t id);
// Returns the text of a string; empty: there is none.
ts_text otf2_text(const otf2 *o, uint64_t string);
// Returns number `at` of a definition's bytes, each of `size` bytes.
uint64_t otf2_member(const otf2 *o, const otf2_row *row, uint64_t at,
                     size_t size);
void otf2_free(otf2 *o);
// Returns the value of a property of a location or a group; NULL: none.
const uint64_t *otf2_find_property(const otf2 *o, bool is_group, uint64_t of,
                                   otf2_property property);
// Sets what ts-export said of an operation or a call.
void otf2_take_columns(otf2 *o, otf2_open *open);
uint32_t otf2_site(otf2 *o, uint64_t region);

// Goes on with another location.
void otf2_go_to(otf2 *o, uint64_t location);
// Returns the track of a location, or of a group of locations.
uint32_t otf2_location_track(otf2 *o, uint64_t location);
uint32_t otf2_group_track(otf2 *o, uint64_t group); // 0: it is none
bool otf2_is_stream(const otf2 *o, uint64_t location);
// Finds the location of a rank. False: it is not known.
bool otf2_rank(const otf2 *o, uint64_t comm, uint64_t rank, uint64_t *location);
// Returns the group of a location; CLI_NONE: it is not known.
uint32_t otf2_group_of(const otf2 *o, uint64_t location);

// Take the events that their names say, of the location in progress.
void otf2_take_enter(otf2 *o, uint64_t region, int64_t time_ns);
void otf2_take_leave(otf2 *o, uint64_t region, int64_t time_ns);
void otf2_take_attribute(otf2 *o, const otf2_record *r);
// Adds the attributes before an event to the zone in progress.
void otf2_add_attributes(otf2 *o);
void otf2_take_parameter(otf2 *o, const otf2_record *r);
void otf2_take_collective(otf2 *o, const otf2_record *r);
void otf2_take_copy(otf2 *o, const otf2_record *r, int64_t time_ns);
void otf2_take_copied(otf2 *o, const otf2_record *r, int64_t time_ns);
void otf2_take_metric(otf2 *o, const otf2_record *r, int64_t time_ns);
void otf2_take_message(otf2 *o, const otf2_record *r, int64_t time_ns);
// Adds a number to the zone in progress, such as the size of a message.
void otf2_say(otf2 *o, const char *name, uint64_t value);
// Matches messages and writes their flows, when all events are there.
void otf2_match(otf2 *o);
#endif

#endif // TS_TOOLS_IMPORT_OTF2_OTF2_H
