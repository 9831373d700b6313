/*
    parser.h - what the files of the parser share

    blocks.c feeds yajl with the file, json.c makes rows of its callbacks,
    flow.c queues the rows for the importer. repair.c resumes after damage.
*/
#ifndef TS_TOOLS_IMPORT_KINETO_PARSER_H
#define TS_TOOLS_IMPORT_KINETO_PARSER_H

#include "tools/import/kineto/kineto.h"
#include "tools/import/kineto/flow.h"
#include <yajl/yajl_parse.h>

enum {
    BLOCK = 1 << 20,   // bytes buffered; longer rows cannot be repaired
    PIECE = 256 << 10, // bytes read at a time
    TEXT = KINETO_ROW_TEXT,
    VALUE = 65535,    // bytes of one value
    DEPTH = 256,      // levels of nesting
    SILENT = 16 << 20 // bytes without a value or key: not JSON
};

// Where in the file the parser is.
typedef enum kineto_state {
    AT_START,
    AT_TOP,    // in the outermost object
    IN_EVENTS, // in the array of events
    IN_DEVICES,
    IN_ROW,
    IN_ARGS,
    IN_NESTED, // in an array or object that is kept as text
    AT_END
} kineto_state;

typedef struct kineto_parser {
    import_source *source;
    kineto_flow *flow;
    kineto_row *row; // owned by the flow, as is `text`
    yajl_handle yajl;
    kineto_state place;
    kineto_state list;    // the state after the row's end
    kineto_state outside; // the state after IN_NESTED
    bool is_array;        // the outermost value is the array of events
    bool events_seen;
    bool is_cut;        // the file ends early
    uint64_t rows;      // lost rows
    uint32_t depth;     // levels open in IN_NESTED
    bool comma;         // the next element of IN_NESTED needs one
    bool is_done;       // of repaired text: its row is complete
    bool full;          // the row's texts exceed KINETO_ROW_TEXT
    int field;          // of the last key, as kineto_field_of
    kineto_value *into; // where to store the next value
    char *text;         // of the row; texts do not move once stored
    size_t text_size;
    uint8_t *block;
    size_t size, at;         // bytes read; bytes passed to yajl
    size_t row_at;           // start of the open row; == at: no row is open
    bool row_open, row_lost; // lost: its start is no longer buffered
    uint64_t fed, last_fed;  // bytes passed in total; until the last value
} kineto_parser;

// Creates a yajl parser for the start of a file; false: no memory.
bool kineto_parser_start(kineto_parser *parser);
// The same, but inside the array of events.
bool kineto_parser_start_in_events(kineto_parser *parser);

#endif // TS_TOOLS_IMPORT_KINETO_PARSER_H
