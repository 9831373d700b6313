/*
    context.h - output, observer and selection of a call of the library

    The rooms of tools/ serve the tools and the library of tracesmith_tools.h.
    A tool prints to stdout and stderr, and has one selection. A call of the
    library begins a context for its thread: until it ends, results go to the
    stream of the context, messages and progress to its observer, and the
    selection is its own. Contexts nest, as a callback may call the library.
*/
#ifndef TS_TOOLS_CLI_CONTEXT_H
#define TS_TOOLS_CLI_CONTEXT_H

#include "tools/cli/cli.h"
#include "tools/tracesmith_tools.h"

typedef struct cli_context {
    const ts_observer *observer;   // never NULL
    const ts_selection *selection; // never NULL
    FILE *out;                     // for results; NULL: the call has none
    uint32_t columns;              // as in ts_output
    bool no_symbols;
    bool no_salvage; // unfinished traces are read as they are
    bool (*trace_opened)(cli_trace *trace, const cli_tool *tool);
    struct select_places *places; // of tools/common/select; freed at the end
    // Why the call fails: the text of the first cli_fail, else of the last
    // message.
    ts_result result; // TS_OK: no failure was reported
    char text[sizeof((ts_error *)0)->text];
    // Private: the message that is being composed.
    FILE *message;
    char *bytes;
    size_t size;
    struct cli_context *outer;
} cli_context;

// Begins a context for this thread. False without memory; then there is nothing
// to end.
bool cli_context_begin(cli_context *context);
// Ends a context and makes the one outside of it current again. Same thread as
// its begin.
void cli_context_end(cli_context *context);
// The context of this thread; NULL in a tool, outside of calls of the library.
cli_context *cli_context_now(void);

// Whether the process is one of the tools, which may handle signals; cli_parse
// sets it.
extern bool cli_is_tool;

// An observer with which a tool prints the messages and the progress of a call
// as its own.
typedef struct cli_reporter {
    const cli_tool *tool;
    cli_progress progress; // private
} cli_reporter;
// Returns an observer that shows messages on stderr and progress on the
// terminal. It refers to `reporter`, which must outlive it.
ts_observer cli_observer(cli_reporter *reporter);
// Standard output, as wide as its terminal.
const ts_output *cli_tool_output(void);
// The value of an option for a field of a desc: 0 is a number of rows of an
// option, and the default in a desc.
int64_t cli_row_count(uint64_t given);

#endif // TS_TOOLS_CLI_CONTEXT_H
