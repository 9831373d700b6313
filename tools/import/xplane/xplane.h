/*
    xplane.h - what the files of the XPlane importer share

        space: planes of a host, of devices, of other recorders
        plane: lines (threads, streams, groups of the profiler), and names of
               events and of their values by number
        line:  events with offsets from the line's time

    Source: tsl/profiler/protobuf/xplane.proto, and xplane_schema of the same
    project for the names; files of JAX on MI300X and MI350X. Lines of TPUs are
    read by that schema; no file of one was tried.
*/
#ifndef TS_TOOLS_IMPORT_XPLANE_XPLANE_H
#define TS_TOOLS_IMPORT_XPLANE_XPLANE_H

#include "tools/import/import.h"
#include "tools/import/map.h"
#include "tools/import/strings.h"
#include "tools/import/wire.h"

// What a line's events become.
typedef enum xplane_kind {
    XPLANE_THREAD,     // zones and calls of a thread
    XPLANE_STREAM,     // operations of a device, one after the other
    XPLANE_OPERATIONS, // the same, nested: those within others are operations
    XPLANE_GROUP       // zones of a device: steps, modules
} xplane_kind;

// An event as it is in the file.
typedef struct xplane_event {
    int64_t start_ns, duration_ns, name;
    bool is_bad;       // it has no valid time
    import_wire bytes; // of the message, with its values
} xplane_event;

typedef struct xplane {
    import_job *job;
    import_strings *names;  // of the plane's events
    import_strings *values; // names of the plane's values, and texts of them
    bool is_device;
    int64_t device;        // index
    xplane_kind kind;      // of the line
    uint32_t track, outer; // outer: of operations that have others within
    int64_t line_ns;
    uint8_t *held_bytes; // of the event that is not written yet, since the
    size_t held_room;    // next one may begin within it
    xplane_event held;
    bool has_held, out_of_memory;
} xplane;

// A value of an event.
typedef struct xplane_value {
    ts_text name, text;
    uint64_t number; // bits of a double if is_real
    uint8_t field;   // of the message: 2 double, 3 unsigned, 4 signed, 5 text,
                     // 6 bytes, 7 the number of a text; 0: none
} xplane_value;

// Reads the value of a message XStat.
xplane_value xplane_value_of(const xplane *x, import_wire w);
// Imports an event of the line, a message XEvent. Lines have theirs in the
// order of their starts.
void xplane_take_event(xplane *x, import_wire w);
// Imports the event that is held back, at the end of its line.
void xplane_end_line(xplane *x);

#endif // TS_TOOLS_IMPORT_XPLANE_XPLANE_H
