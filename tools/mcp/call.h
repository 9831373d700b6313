/*
    call.h - a call of a tool, and the answer that it makes

    An answer is an object: fields of the tool, then one list, then where to go
    on. Rows are added to the list until the answer has as many tokens as the
    caller allows; the cursor names the next one.
*/
#ifndef TS_TOOLS_MCP_CALL_H
#define TS_TOOLS_MCP_CALL_H

#include "tools/mcp/models.h"
#include <stdatomic.h>

typedef struct mcp_answer {
    char *text; // the answer, once it is finished
    size_t size;
    FILE *out;
    cli_json json;
    char *row_text; // the row that is being written
    size_t row_size;
    FILE *row_out;
    cli_json row;
    uint64_t first, next; // numbers of rows: of the page's first, of the next
    uint64_t tokens;      // as they are counted, without what is added
    uint64_t most;
    uint64_t cut_texts;
    bool more;
} mcp_answer;

typedef struct mcp_call {
    mcp_models *models;
    const char *tool;
    const mcp_value
        *arguments; // an object that fits the tool's schema; or NULL
    mcp_set *set;   // the traces that are asked about
    mcp_set *also;  // and those they are compared with, or NULL
    const atomic_bool *cancelled;
    mcp_answer answer;
    ts_error error; // why the tool failed
    uint64_t key;   // of the arguments, in cursors
} mcp_call;

// The tools. False, with call->error, on failure.
bool mcp_summary(mcp_call *call);
bool mcp_idle_causes(mcp_call *call);
bool mcp_why(mcp_call *call);
bool mcp_what_if(mcp_call *call);
bool mcp_diff(mcp_call *call);
bool mcp_query(mcp_call *call);
bool mcp_schema(mcp_call *call);
bool mcp_advice(mcp_call *call);

/* ==== Arguments =========================================================== */

// Checks arguments (NULL: none) against the schema of a tool, which may refer
// to `defs`. False, with a sentence in call->error.
bool mcp_arguments_check(mcp_call *call, const mcp_value *schema,
                         const mcp_value *defs);
int64_t mcp_integer_of(const mcp_call *call, const char *key, int64_t normal);
// The traces that an argument names; `normal` is the number of the one without
// it. NULL, with call->error: there is no such trace.
mcp_set *mcp_set_of(mcp_call *call, const char *key, uint32_t normal);

/* ==== Answers ============================================================= */

// About how many tokens a text has for a language model.
uint64_t mcp_tokens(const char *text, size_t size);

// Begins the answer. False, with call->error, if the cursor is not one of this
// call.
bool mcp_answer_begin(mcp_call *call);
// How far to trust the answer. confidence: lowered if the traces are not
// complete. because: reasons, one after the other, ending with NULL.
bool mcp_put_trust(mcp_call *call, ts_confidence confidence,
                   const char *const *because);
// The same, as the analysis has it for a topic.
bool mcp_put_topic_trust(mcp_call *call, const char *topic);

// Begins the list.
void mcp_list_begin(mcp_call *call, const char *key);
// Begins row number `row`: an object, an array, or (bracket 0) a value. False:
// do not write it, as it lies before the page, or the page is full.
bool mcp_row_begin(mcp_call *call, uint64_t row, char bracket);
// Ends it. False: the page is full.
bool mcp_row_end(mcp_call *call, char bracket);
// Ends list and answer. more: rows are left that mcp_row_begin was not called
// for. False, with call->error, if not even a row had room.
bool mcp_answer_end(mcp_call *call, bool more);
void mcp_answer_close(mcp_answer *answer);

// A text, cut if it is long. MCP_PROSE is for sentences.
enum { MCP_NAME = 160, MCP_PROSE = 600 };
void mcp_put(mcp_call *call, cli_json *json, const char *key, ts_text text,
             size_t most);
void mcp_put_string(mcp_call *call, cli_json *json, const char *key,
                    const char *text);
// A name of the trace as a person would read it.
void mcp_put_name(mcp_call *call, cli_json *json, const char *key,
                  ts_text name);
// The name of a track of one of the set's files.
void mcp_put_track(mcp_call *call, cli_json *json, const char *key,
                   uint32_t file, uint32_t track);
void mcp_put_confidence(cli_json *json, const char *key,
                        ts_confidence confidence);

// Fails with a sentence. Returns false.
__attribute__((format(printf, 3, 4))) bool
mcp_fail(mcp_call *call, ts_result result, const char *format, ...);

#endif // TS_TOOLS_MCP_CALL_H
