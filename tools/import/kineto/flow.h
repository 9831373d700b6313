/*
    flow.h - rows on their way from the parser to the importer

        parser thread: row, row, note, row -> batch -+
                                                     |  a queue of a few
        main thread:   kineto_take, in order <- batch+

    What comes out is the same with one thread as with two: everything that
    the parser has to say goes the same way as its rows.
*/
#ifndef TS_TOOLS_IMPORT_KINETO_FLOW_H
#define TS_TOOLS_IMPORT_KINETO_FLOW_H

#include "tools/import/kineto/kineto.h"

enum { KINETO_ROW_TEXT = 1 << 20 }; // bytes of a row's texts

// What a note counts: see import_bad, import_flaw, import_unowned.
typedef enum kineto_note_kind {
    KINETO_BAD,
    KINETO_FLAW,
    KINETO_HOMELESS
} kineto_note_kind;

typedef struct kineto_flow kineto_flow;

// The row to fill, with room for KINETO_ARGS arguments, and the room for its
// texts. Both are others after each kineto_flow_give.
kineto_row *kineto_flow_row(const kineto_flow *flow);
char *kineto_flow_text(const kineto_flow *flow);
// The row is complete; its texts are that long.
void kineto_flow_give(kineto_flow *flow, size_t text_size);
// How far the source is read: the importer's side shows it.
void kineto_flow_reached(kineto_flow *flow, uint64_t done, uint64_t total);
// Between the rows before and those that come. The text is not copied.
void kineto_note(kineto_flow *flow, kineto_note_kind kind, const char *text);

// Runs `parse` and gives what it finds to kineto_take, until both are done:
// on two threads if there can be a second one. False: out of memory.
bool kineto_flow_run(kineto *k, void (*parse)(void *user, kineto_flow *flow),
                     void *user);

#endif // TS_TOOLS_IMPORT_KINETO_FLOW_H
