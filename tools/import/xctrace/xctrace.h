/*
    xctrace.h - tables of Instruments, as `xctrace export --xpath` writes them

        import_source -> xml.c -> elements -> values.c -> rows -> xctrace.c

    A table is a <node> with its <schema>, whose columns have mnemonics, and
    <row>s with an element for each column. A value that occurs again is written
    once with an id, wherever it occurs first, and then as a reference to it: so
    all values with ids are kept, about 100 bytes and their texts each.
    <sentinel/> is no value. Numbers are the text of an element, "fmt" is what
    Instruments shows. A node without a schema has that of the one before.

    Source: no document of Apple describes the format. Exports that others
    published agree on all of this, and on the columns that are used: tests of
    VincentGourbin's MLXProfiler (XCTraceExportTests.swift, of a recording),
    postretro's gpu_time.py, tinygrad's and other readers of
    metal-gpu-intervals, metal-application-encoders-list,
    metal-application-command-buffer-submissions, os-signpost-interval and
    time-profile (28 and 29 November 2026).
*/
#ifndef TS_TOOLS_IMPORT_XCTRACE_XCTRACE_H
#define TS_TOOLS_IMPORT_XCTRACE_XCTRACE_H

#include "tools/import/map.h"
#include "tools/import/profile/profile.h"
#include "tools/import/xctrace/xml.h"

enum { XCTRACE_COLUMNS = 64, XCTRACE_DEPTH = 32 };

// A part of the texts that are kept.
typedef struct xctrace_text {
    size_t at, size;
} xctrace_text;

typedef struct xctrace_value {
    xctrace_text text, fmt;
    xctrace_text label; // of a <string> inside
    int64_t pid, tid;   // of elements inside; IMPORT_NONE: none
    ts_frame_entry frame;
    uint32_t stack; // of frames inside; 0: none
    bool is_there;  // false: <sentinel/>, or a reference to nothing
    bool has_frame;
} xctrace_value;

typedef struct xctrace {
    import_job *job;
    xml *xml;
    profile profile;
    bool no_memory;
    char table[XML_NAME];
    char columns[XCTRACE_COLUMNS][XML_NAME];
    size_t column_count;
    xctrace_value cells[XCTRACE_COLUMNS]; // of the row
    size_t cell_count;
    uint64_t taken; // rows of tables that are known
    // Of values.c:
    xctrace_value *values; // those with ids
    size_t value_count, value_room;
    cli_map value_of; // by id: index + 1
    char *texts;
    size_t text_size, text_room;
    xctrace_value open[XCTRACE_DEPTH];
    uint64_t ids[XCTRACE_DEPTH]; // of open values; 0: none
    // Of xctrace.c:
    cli_map streams; // hashes of a process and a channel to numbers + 1
    size_t stream_count;
} xctrace;

// Reads the cells of a row up to its end. False: the XML is broken.
bool xctrace_read_row(xctrace *x);
// Returns the number that a value is; IMPORT_NONE: it is none, or not there.
int64_t xctrace_number(const xctrace *x, const xctrace_value *value);
void xctrace_values_close(xctrace *x);

#endif // TS_TOOLS_IMPORT_XCTRACE_XCTRACE_H
