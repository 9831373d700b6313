/*
    flow.h - the queue of rows between parser and importer

        parser thread: row, row, note, row -> batch -+
                                                     |  a queue of a few
        main thread:   kineto_take, in order <- batch+

    The result is the same with one thread as with two, because notes pass
    through the same queue as rows, in order.
*/
#ifndef TS_TOOLS_IMPORT_KINETO_FLOW_H
#define TS_TOOLS_IMPORT_KINETO_FLOW_H

#include "tools/import/kineto/kineto.h"

enum { KINETO_ROW_TEXT = 1 << 20 }; // maximum bytes of a row's texts

// Selects the function that a note calls: import_bad, import_flaw or
// import_unowned.
typedef enum kineto_note_kind {
    KINETO_BAD,
    KINETO_FLAW,
    KINETO_HOMELESS
} kineto_note_kind;

typedef struct kineto_flow kineto_flow;

// Returns the row to fill, with room for KINETO_ARGS arguments, and the buffer
// for its texts. Both change with each kineto_flow_give.
kineto_row *kineto_flow_row(const kineto_flow *flow);
// Returns where the bytes of a key or text begin that is being read: behind
// those of the rows around it.
char *kineto_flow_text(const kineto_flow *flow);
// Queues the completed row; its texts take text_size bytes.
void kineto_flow_give(kineto_flow *flow, size_t text_size);
// Reports how far the source is read; the importer's thread shows it.
void kineto_flow_reached(kineto_flow *flow, uint64_t done, uint64_t total);
// Queues a note after the rows given so far. The text is not copied.
void kineto_note(kineto_flow *flow, kineto_note_kind kind, const char *text);

// Runs `parse` and passes its rows to kineto_take until both are done, on two
// threads if a second one can be started. False: out of memory.
bool kineto_flow_run(kineto *k, void (*parse)(void *user, kineto_flow *flow),
                     void *user);

#endif // TS_TOOLS_IMPORT_KINETO_FLOW_H
