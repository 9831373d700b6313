/*
    call.h - what the functions of tracesmith_tools.h share

    Each public function begins a context for its thread (tools/cli/context.h),
    calls code of the other rooms, and ends the context with a result and an
    error text. The other rooms do not include anything of this one.
*/
#ifndef TS_TOOLS_API_CALL_H
#define TS_TOOLS_API_CALL_H

#include "tools/cli/context.h"

typedef struct api_call {
    cli_context context;
    ts_error *error; // of the caller, may be NULL
    // The result of a failure that is reported without one (TS_ERR_USAGE).
    ts_result fallback;
    bool begun;
} api_call;

/*
    Begins a call. observer and selection may be NULL. False without memory.
    Call api_end in any case: it returns that failure.
*/
bool api_begin(api_call *call, const ts_observer *observer,
               const ts_selection *selection, ts_error *error);
// Ends a call. Returns TS_OK, or the result of the reported failure.
ts_result api_end(api_call *call, bool ok);
// Reports that a desc is invalid. Returns false.
bool api_refuse(const cli_tool *tool, const char *why);

/* ---- Outputs ------------------------------------------------------------- */

typedef struct api_output {
    const ts_output *output;
    cli_out file;
    FILE *stream;
    bool failed; // the caller's write callback failed
} api_output;

/*
    Opens an output and makes it the stream of the context. On failure reports
    the reason and returns false.
*/
bool api_output_open(api_output *to, api_call *call, const cli_tool *tool,
                     const ts_output *output);
// Closes an output; without `keep` removes the file. Returns whether everything
// was written.
bool api_output_close(api_output *to, api_call *call, const cli_tool *tool,
                      bool keep);
// Checks that an output has exactly one destination, and that an existing file
// there is of the same kind and none of the inputs. On failure reports the
// reason and returns false.
bool api_output_check(const cli_tool *tool, const ts_output *output,
                      cli_kind kind, const char *const *inputs, size_t count);

/* ---- Copies -------------------------------------------------------------- */

// Copies of the texts of a desc, for a handle that outlives the call.
typedef struct api_texts {
    char **items;
    size_t count, room;
    bool failed; // out of memory
} api_texts;

// Copies a text; api_texts_close frees the copy. NULL for NULL and without
// memory.
char *api_keep(api_texts *texts, const char *text);
// Copies an array of texts. Free the array with free(); its texts belong to
// `texts`. NULL without memory; never NULL for an empty array.
char **api_keep_all(api_texts *texts, const char *const *items, size_t count);
void api_texts_close(api_texts *texts);

#endif // TS_TOOLS_API_CALL_H
