/*
    call.h - what the functions of tracesmith_tools.h share

    Each public function is a call: it begins a context for its thread, does
    its work through the rooms of tools/, which know nothing of it, and ends
    with a result and its text.
*/
#ifndef TS_TOOLS_API_CALL_H
#define TS_TOOLS_API_CALL_H

#include "tools/cli/context.h"

typedef struct api_call {
    cli_context context;
    ts_error *error; // the caller's; NULL: not wanted
    // Of a failure that is reported without a result. (TS_ERR_USAGE)
    ts_result fallback;
    bool begun;
} api_call;

/*
    Begins a call. observer and selection may be NULL. False without memory;
    api_end is to be called in any case, and says so.
*/
bool api_begin(api_call *call, const ts_observer *observer,
               const ts_selection *selection, ts_error *error);
// Ends it: TS_OK, or the result of the failure that was reported.
ts_result api_end(api_call *call, bool ok);
// A desc that breaks its rules. Returns false.
bool api_refuse(const cli_tool *tool, const char *why);

/* ---- Outputs ------------------------------------------------------------- */

typedef struct api_output {
    const ts_output *output;
    cli_out file;
    FILE *stream;
    bool failed; // the callback
} api_output;

/*
    Opens what is to be written and makes it the context's stream. False, and
    it was said why.
*/
bool api_output_open(api_output *to, api_call *call, const cli_tool *tool,
                     const ts_output *output);
// Without `keep` nothing is left at a path. Returns whether all was written.
bool api_output_close(api_output *to, api_call *call, const cli_tool *tool,
                      bool keep);
// False, and it was said why: exactly one place is to be given, and what is at
// a path may be replaced and is none of the inputs.
bool api_output_check(const cli_tool *tool, const ts_output *output,
                      cli_kind kind, const char *const *inputs, size_t count);

/* ---- Copies -------------------------------------------------------------- */

// Texts of a desc that a handle needs after the call.
typedef struct api_texts {
    char **items;
    size_t count, room;
    bool failed; // no memory
} api_texts;

// A copy that lives as long as the texts; NULL for NULL, and without memory.
char *api_keep(api_texts *texts, const char *text);
// A new array of copies, to be freed; NULL without memory, never for 0.
char **api_keep_all(api_texts *texts, const char *const *items, size_t count);
void api_texts_close(api_texts *texts);

#endif // TS_TOOLS_API_CALL_H
