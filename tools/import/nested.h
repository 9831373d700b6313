/*
    nested.h - zones whose begin and end are rows of their own

    On each thread an end belongs to the zone that was begun last, of those with
    its name if it has one. A zone whose begin is bad nests as the others do, so
    that its end ends no other one. Zones without an end stay open.
*/
#ifndef TS_TOOLS_IMPORT_NESTED_H
#define TS_TOOLS_IMPORT_NESTED_H

#include "tools/import/import.h"

typedef struct import_begun import_begun; // private
typedef struct import_nest {              // of a thread
    uint32_t thread;
    uint64_t lost;             // zones above the top that had no room
    import_begun *top, *ended; // ended: not written yet, the outermost first
} import_nest;

typedef struct import_nested {
    import_job *job;
    cli_map rows; // of threads in `nests`
    import_nest *nests;
    size_t count, room;
    size_t bytes; // of all begun zones
    bool no_memory;
} import_nested;

import_nested import_nested_open(import_job *job);
// Begins a zone. start_ns IMPORT_NONE: its time is bad. site: of import_site. A
// text becomes its argument "args"; size 0: it has none. Zones that are too
// deep, or without a time, are counted as bad.
void import_nested_begin(import_nested *n, uint32_t thread, int64_t start_ns,
                         uint32_t site, const char *text, size_t size);
// Adds an argument to the zone that was begun last. value: its bits, unless it
// is a text. Counted as bad: there is no zone, or too much is open.
void import_nested_arg(import_nested *n, uint32_t thread, uint32_t name,
                       ts_value_type type, uint64_t value, const char *text,
                       size_t size);
// Ends the zone that was begun last; site 0: any, else of those with this site,
// and zones within it are counted as bad. end_ns IMPORT_NONE: the time is bad.
// Counted as bad: an end without a time or a zone, or before its zone's begin.
void import_nested_end(import_nested *n, uint32_t thread, int64_t end_ns,
                       uint32_t site);
// Writes what is still open, and frees. False if memory ran out.
bool import_nested_close(import_nested *n);

#endif // TS_TOOLS_IMPORT_NESTED_H
