/*
    parser.h - between the files of the parser

    json.c makes rows of what yajl finds, blocks.c feeds it,
    flow.c takes the rows to the importer.
*/
#ifndef TS_TOOLS_IMPORT_KINETO_PARSER_H
#define TS_TOOLS_IMPORT_KINETO_PARSER_H

#include "tools/import/kineto/kineto.h"
#include "tools/import/kineto/flow.h"
#include <yajl/yajl_parse.h>

enum {
    BLOCK = 1 << 20,   // bytes held; a longer row cannot be mended
    PIECE = 256 << 10, // bytes read at a time
    TEXT = KINETO_ROW_TEXT,
    VALUE = 65535,    // of one value
    DEPTH = 256,      // of nesting
    SILENT = 16 << 20 // bytes without a value or key: no JSON
};

// Where in the file the parser is.
typedef enum kineto_state {
    AT_START,
    AT_TOP,    // in the outermost object
    IN_EVENTS, // in the array of events
    IN_DEVICES,
    IN_ROW,
    IN_ARGS,
    IN_NESTED, // in an array or object that becomes a text
    AT_END
} kineto_state;

typedef struct kineto_parser {
    import_source *source;
    kineto_flow *flow;
    kineto_row *row; // of the flow, as is `text`
    yajl_handle yajl;
    kineto_state place;
    kineto_state list;    // where the row's end leads back to
    kineto_state outside; // of IN_NESTED
    bool is_array;        // the outermost value is the array of events
    bool events_seen;
    bool is_cut;        // the file ends early
    uint64_t rows;      // that were lost
    uint32_t depth;     // of IN_NESTED
    bool comma;         // the next element of IN_NESTED needs one
    bool is_done;       // mended text: its row came
    bool full;          // the row's texts exceed their room
    int field;          // of the key last seen; KINETO_FIELDS: "args", -1: none
    kineto_value *into; // where the next value goes
    char *text;         // of the row; texts do not move
    size_t text_size;
    uint8_t *block;
    size_t size, at;         // read; given to yajl
    size_t row_at;           // where the open row began; == at: none is open
    bool row_open, row_lost; // lost: its beginning is not held any more
    uint64_t fed, last_fed;  // bytes; at the last value
} kineto_parser;

// A new yajl at the start of a file; false: no memory.
bool kineto_parser_start(kineto_parser *parser);
// One that is inside the array of events.
bool kineto_parser_start_in_events(kineto_parser *parser);

#endif // TS_TOOLS_IMPORT_KINETO_PARSER_H
