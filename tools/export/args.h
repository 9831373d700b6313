/*
    args.h - the arguments of items

    They are collected in one array while an item is made. Argument names are
    static or live as long as the trace; texts live until export_args_clear.
*/
#ifndef TS_TOOLS_EXPORT_ARGS_H
#define TS_TOOLS_EXPORT_ARGS_H

#include "tools/export/rows.h"

typedef struct export_args {
    ts_reader *reader;
    export_rows *rows;
    export_arg *args;
    size_t count, capacity;
    char **texts; // copies, owned
    size_t text_count, text_capacity;
    uint32_t
        plain[TS_EVENT_LIMIT]; // bit set of the columns that become arguments
    // Arguments that operations share, by the numbers of thread, zone and
    // launch.
    export_shared **shared;
    size_t shared_count, shared_capacity;
    export_map contexts; // thread << 32 | site -> number
    export_map launches; // context number << 32 | launch -> index + 1
    uint64_t last_key, last_context; // the last lookup in contexts
} export_args;

static inline ts_text export_text(const char *text)
{
    return (ts_text){ text, strlen(text) };
}

// Adds an argument and returns it for the caller to set its value. Lifetime:
// until the next call that adds one.
export_arg *export_add(export_args *a, export_arg_name name,
                       export_arg_type type);
// The same with a name of the program, which must live as long as the trace.
export_arg *export_add_named(export_args *a, ts_text name,
                             export_arg_type type);
void export_add_uint(export_args *a, export_arg_name name, uint64_t value);
void export_add_address(export_args *a, export_arg_name name, uint64_t value);
// Adds a text argument, unless the text is empty. The text must live until
// export_args_clear.
void export_add_text(export_args *a, export_arg_name name, ts_text text);
// export_add_name adds the text of a name; the other one the name of a track
// (0: none).
void export_add_name(export_args *a, export_arg_name name, uint64_t id);
void export_add_track(export_args *a, export_arg_name name, uint64_t id);
// Adds what is known of a GPU operation, except for what it shares with others.
void export_add_operation(export_args *a, const ts_event *event);
// Returns what an operation shares with others: launch configuration, thread,
// zone. NULL if it has none. Lifetime: until the end of the export.
const export_shared *export_args_shared(export_args *a, const ts_event *event);

ts_text export_keep_text(export_args *a, ts_text text);
void export_args_clear(export_args *a);
void export_args_free(export_args *a);

#endif // TS_TOOLS_EXPORT_ARGS_H
