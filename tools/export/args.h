/*
    args.h - the arguments of items

    They gather in one array while items are made. Names are static or live as
    long as the trace; texts are kept until export_args_clear.
*/
#ifndef TS_TOOLS_EXPORT_ARGS_H
#define TS_TOOLS_EXPORT_ARGS_H

#include "tools/export/rows.h"

typedef struct export_args {
    ts_reader *reader;
    export_rows *rows;
    export_arg *args;
    size_t count, capacity;
    char **texts; // copies
    size_t text_count, text_capacity;
    uint32_t plain[TS_EVENT_LIMIT]; // columns that become arguments, as bits
    // What operations share, by the numbers of thread, zone and launch.
    export_shared **shared;
    size_t shared_count, shared_capacity;
    export_map contexts; // thread << 32 | site -> number
    export_map launches; // number of that << 32 | launch -> index + 1
    uint64_t last_key, last_context; // of contexts, where they are numbered
} export_args;

static inline ts_text export_text(const char *text)
{
    return (ts_text){ text, strlen(text) };
}

// Adds an argument whose value the caller sets. Lifetime: until the next one.
export_arg *export_add(export_args *a, export_arg_name name,
                       export_arg_type type);
// The same with a name of the program's, which lives as long as the trace.
export_arg *export_add_named(export_args *a, ts_text name,
                             export_arg_type type);
void export_add_uint(export_args *a, export_arg_name name, uint64_t value);
void export_add_address(export_args *a, export_arg_name name, uint64_t value);
// Empty texts are left out. text: must live until export_args_clear.
void export_add_text(export_args *a, export_arg_name name, ts_text text);
// The text of a name; the name of a track, 0 none.
void export_add_name(export_args *a, export_arg_name name, uint64_t id);
void export_add_track(export_args *a, export_arg_name name, uint64_t id);
// What is known about a GPU operation, but for what it shares with others.
void export_add_operation(export_args *a, const ts_event *event);
// That: configuration, thread, zone. NULL without any; lives until the end.
const export_shared *export_args_shared(export_args *a, const ts_event *event);

ts_text export_keep_text(export_args *a, ts_text text);
void export_args_clear(export_args *a);
void export_args_free(export_args *a);

#endif // TS_TOOLS_EXPORT_ARGS_H
