/*
    context.h - what a call of the library writes to, reports to and looks at

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
    FILE *out;                     // of results; NULL: the call has none
    uint32_t columns;              // of ts_output
    bool no_symbols;
    bool (*trace_opened)(cli_trace *trace, const cli_tool *tool);
    struct select_places *places; // of tools/common/select; freed at the end
    // Why the call fails: of the first cli_fail, else the last message.
    ts_result result; // TS_OK: nobody said
    char text[sizeof((ts_error *)0)->text];
    // Private: the message that is being made.
    FILE *message;
    char *bytes;
    size_t size;
    struct cli_context *outer;
} cli_context;

// False: no memory, and it has not begun.
bool cli_context_begin(cli_context *context);
void cli_context_end(cli_context *context);
// That of this thread; NULL: a tool's own code runs.
cli_context *cli_context_now(void);

// Whether the process is one of the tools, which may handle signals: cli_parse
// says so.
extern bool cli_is_tool;

// What a tool shows of a call: messages and progress, as its own.
typedef struct cli_reporter {
    const cli_tool *tool;
    cli_progress progress; // private
} cli_reporter;
ts_observer cli_observer(cli_reporter *reporter);

#endif // TS_TOOLS_CLI_CONTEXT_H
