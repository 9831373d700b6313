/*
    args.c - the arguments of items
*/
#include "tools/export/args.h"
#include <stdio.h>

/* ---- Arguments ---------------------------------------------------------- */

ts_text export_keep_text(export_args *a, ts_text text)
{
    a->texts = export_grow(a->texts, &a->text_capacity, a->text_count,
                           sizeof *a->texts);
    char *const copy = export_resize(NULL, text.size + 1);
    memcpy(copy, text.text, text.size);
    a->texts[a->text_count++] = copy;
    return (ts_text){ copy, text.size };
}

const ts_text export_arg_names[EXPORT_ARG_LIMIT] = { { "", 0 },
#define X(id, text) { text, sizeof text - 1 },
                                                     EXPORT_ARGS(X)
#undef X
};

export_arg *export_add(export_args *a, export_arg_name name,
                       export_arg_type type)
{
    a->args = export_grow(a->args, &a->capacity, a->count, sizeof *a->args);
    export_arg *const arg = &a->args[a->count++];
    arg->name = export_arg_names[name];
    arg->known = (uint8_t)name;
    arg->type = type;
    arg->next = 0;
    arg->repeat = 0;
    return arg;
}

void export_put_arg_name(export_buffer *buffer, const export_arg *arg)
{
    char number[16];
    const int size = snprintf(number, sizeof number, " %u", arg->repeat + 1u);
    export_put(buffer, arg->name.text, arg->name.size);
    if (arg->repeat) export_put(buffer, number, (size_t)size);
}

export_arg *export_add_named(export_args *a, ts_text name, export_arg_type type)
{
    export_arg *const arg = export_add(a, EXPORT_ARG_OTHER, type);
    arg->name = name;
    return arg;
}

void export_add_uint(export_args *a, export_arg_name name, uint64_t value)
{
    export_add(a, name, EXPORT_UINT)->u.uint = value;
}

void export_add_address(export_args *a, export_arg_name name, uint64_t value)
{
    export_add(a, name, EXPORT_ADDRESS)->u.uint = value;
}

// text: must live as long as the trace or the group. Empty texts are left out.
void export_add_text(export_args *a, export_arg_name name, ts_text text)
{
    if (text.size) export_add(a, name, EXPORT_TEXT)->u.text = text;
}

void export_add_name(export_args *a, export_arg_name name, uint64_t id)
{
    export_add_text(a, name, ts_reader_name(a->reader, (uint32_t)id));
}

static void add_triple(export_args *a, export_arg_name name,
                       const uint32_t triple[3])
{
    if (!triple[0] && !triple[1] && !triple[2]) return;
    export_arg *const arg = export_add(a, name, EXPORT_TRIPLE);
    memcpy(arg->u.triple, triple, sizeof arg->u.triple);
}

void export_add_track(export_args *a, export_arg_name name, uint64_t id)
{
    if (!id) return;
    const export_row *const row = export_rows_track(a->rows, (uint32_t)id);
    export_add_text(a, name, row->lanes[0]->name);
}

/* ---- Arguments of GPU operations ---------------------------------------- */

static const char *copy_name(uint64_t type)
{
    static const char *const names[] = {
        "", "h2d", "d2h", "d2d", "h2h", "p2p"
    };
    return type < 6 ? names[type] : "";
}

static void add_memory(export_args *a, export_arg_name name, uint64_t kind)
{
    static const char *const names[] = { "",       "pageable", "pinned",
                                         "device", "managed",  "array" };
    if (kind < 6) export_add_text(a, name, export_text(names[kind]));
}

static void add_launch(export_args *a, uint64_t id)
{
    const ts_launch_entry *const launch =
        ts_reader_launch(a->reader, (uint32_t)id);
    if (!launch) return;
    add_triple(a, EXPORT_ARG_GRID, launch->grid);
    add_triple(a, EXPORT_ARG_BLOCK, launch->block);
    add_triple(a, EXPORT_ARG_CLUSTER, launch->cluster);
    if (launch->registers)
        export_add_uint(a, EXPORT_ARG_REGISTERS, launch->registers);
    if (launch->static_shared)
        export_add_uint(a, EXPORT_ARG_STATIC_SHARED_BYTES,
                        launch->static_shared);
    if (launch->dynamic_shared)
        export_add_uint(a, EXPORT_ARG_DYNAMIC_SHARED_BYTES,
                        launch->dynamic_shared);
    if (launch->local)
        export_add_uint(a, EXPORT_ARG_LOCAL_BYTES, launch->local);
}

// Adds how long before its start an operation was queued or submitted.
static void add_delay(export_args *a, export_arg_name name,
                      const ts_event *event, ts_column column)
{
    const uint64_t ticks = ts_event_value(event, column);
    if (!ticks) return;
    const ts_columns *const columns = event->columns;
    const int64_t then =
        ts_reader_time_ns(a->reader, columns->clock,
                          columns->start_ticks[event->row] - (ticks - 1));
    export_add(a, name, EXPORT_INT)->u.number =
        (int64_t)((uint64_t)event->start_ns - (uint64_t)then);
}

static void add_kind_args(export_args *a, const ts_event *event)
{
    const uint64_t type = ts_event_value(event, TS_COLUMN_TYPE);
    const uint64_t memory = ts_event_value(event, TS_COLUMN_MEMORY);
    const char *const element = ts_element_name(type);
    switch ((int)event->kind) {
    case TS_EVENT_MEMCPY:
        export_add_text(a, EXPORT_ARG_COPY, export_text(copy_name(type)));
        add_memory(a, EXPORT_ARG_SOURCE_MEMORY, memory & 15);
        add_memory(a, EXPORT_ARG_DESTINATION_MEMORY, memory >> 4 & 15);
        break;
    case TS_EVENT_MEMSET:
        export_add_uint(a, EXPORT_ARG_VALUE,
                        ts_event_value(event, TS_COLUMN_VALUE));
        break;
    case TS_EVENT_COLLECTIVE:
        if (!type || element)
            export_add_text(a, EXPORT_ARG_ELEMENT,
                            export_text(element ? element : ""));
        break;
    case TS_EVENT_GPU_ALLOC:
        add_memory(a, EXPORT_ARG_MEMORY, memory >> 4 & 15);
        break;
    default: break;
    }
}

// Columns that become arguments unchanged. Zero means unknown and is not shown,
// except for sizes.
static const struct {
    uint8_t column;
    bool is_address, keep_zero;
    export_arg_name name;
} plain_args[] = {
    { TS_COLUMN_SIZE, false, true, EXPORT_ARG_BYTES },
    { TS_COLUMN_SOURCE, true, false, EXPORT_ARG_SOURCE },
    { TS_COLUMN_ADDRESS, true, false, EXPORT_ARG_ADDRESS },
    { TS_COLUMN_GRAPH, false, false, EXPORT_ARG_GRAPH },
    { TS_COLUMN_GRAPH_NODE, false, false, EXPORT_ARG_GRAPH_NODE },
    { TS_COLUMN_ID, false, false, EXPORT_ARG_ID },
    { TS_COLUMN_RECORD, false, false, EXPORT_ARG_RECORD },
    { TS_COLUMN_COMMUNICATOR, true, false, EXPORT_ARG_COMMUNICATOR },
    { TS_COLUMN_SEQUENCE, false, false, EXPORT_ARG_SEQUENCE },
    { TS_COLUMN_RANKS, false, false, EXPORT_ARG_RANKS },
};

// Returns the bit set of these columns that a kind has.
static uint32_t plain_args_of(export_args *a, ts_event_kind kind)
{
    uint32_t *const used = &a->plain[kind % TS_EVENT_LIMIT];
    const char *const columns = (const char *)ts_event_columns(kind);
    if (*used || !columns) return *used & INT32_MAX;
    *used = UINT32_C(1) << 31;
    for (size_t i = 0; i < sizeof plain_args / sizeof *plain_args; i++)
        if (strchr(columns, plain_args[i].column)) *used |= UINT32_C(1) << i;
    return *used & INT32_MAX;
}

void export_add_operation(export_args *a, const ts_event *event)
{
    // Arguments that differ each time come first, so that the rest repeats as a
    // whole and compresses well.
    const uint64_t correlation = ts_event_value(event, TS_COLUMN_CORRELATION);
    if (correlation) export_add_uint(a, EXPORT_ARG_CORRELATION, correlation);
    add_delay(a, EXPORT_ARG_QUEUED_NS, event, TS_COLUMN_QUEUED);
    add_delay(a, EXPORT_ARG_SUBMITTED_NS, event, TS_COLUMN_SUBMITTED);
    const uint32_t used = plain_args_of(a, event->kind);
    for (uint32_t rest = used; rest; rest &= rest - 1) {
        const size_t i = (size_t)__builtin_ctz(rest);
        const uint64_t value =
            ts_event_value(event, (ts_column)plain_args[i].column);
        if (!value && !plain_args[i].keep_zero) continue;
        if (plain_args[i].is_address)
            export_add_address(a, plain_args[i].name, value);
        else
            export_add_uint(a, plain_args[i].name, value);
    }
    if (event->kind == TS_EVENT_KERNEL) return;
    add_kind_args(a, event);
    export_add_name(a, EXPORT_ARG_POOL, ts_event_value(event, TS_COLUMN_POOL));
    export_add_track(a, EXPORT_ARG_PEER, ts_event_value(event, TS_COLUMN_PEER));
}

/* ---- Shared arguments --------------------------------------------------- */

static export_shared *shared_new(export_args *a, uint32_t launch,
                                 uint32_t thread, uint32_t site)
{
    const size_t from = a->count;
    add_launch(a, launch);
    export_add_track(a, EXPORT_ARG_THREAD, thread);
    if (site)
        export_add_text(a, EXPORT_ARG_ZONE,
                        ts_reader_site_name(a->reader, site));
    export_shared *const made = export_zeroed(1, sizeof *made);
    made->id = (uint32_t)a->shared_count + 1;
    made->count = (uint32_t)(a->count - from);
    const size_t size = made->count * sizeof *made->args;
    export_arg *const args = export_resize(NULL, size + 1);
    if (size) memcpy(args, a->args + from, size);
    made->args = args;
    a->count = from;
    const ts_launch_entry *const entry = ts_reader_launch(a->reader, launch);
    if (entry) made->name = ts_reader_name(a->reader, entry->name);
    a->shared = export_grow(a->shared, &a->shared_capacity, a->shared_count,
                            sizeof *a->shared);
    a->shared[a->shared_count++] = made;
    return made;
}

const export_shared *export_args_shared(export_args *a, const ts_event *event)
{
    const uint64_t launch = ts_event_value(event, TS_COLUMN_LAUNCH);
    const uint64_t thread = ts_event_value(event, TS_COLUMN_THREAD);
    const uint64_t site = ts_event_value(event, TS_COLUMN_SITE);
    const uint64_t key = (uint64_t)(uint32_t)thread << 32 | (uint32_t)site;
    if (!(launch | key) || key == EXPORT_NO_KEY) return NULL;
    if (key != a->last_key) {
        uint64_t *const context = export_map_at(&a->contexts, key);
        if (!*context) *context = a->contexts.count;
        a->last_key = key;
        a->last_context = *context;
    }
    uint64_t *const index =
        export_map_at(&a->launches, a->last_context << 32 | (uint32_t)launch);
    if (*index) return a->shared[*index - 1];
    const export_shared *const made =
        shared_new(a, (uint32_t)launch, (uint32_t)thread, (uint32_t)site);
    *index = a->shared_count;
    return made;
}

/* ---- Forgetting --------------------------------------------------------- */

void export_args_clear(export_args *a)
{
    for (size_t i = 0; i < a->text_count; i++)
        export_resize(a->texts[i], 0);
    a->count = a->text_count = 0;
}

void export_args_free(export_args *a)
{
    export_args_clear(a);
    for (size_t i = 0; i < a->shared_count; i++) {
        export_resize((void *)(uintptr_t)a->shared[i]->args, 0);
        export_resize(a->shared[i], 0);
    }
    export_resize(a->shared, 0);
    export_map_free(&a->contexts);
    export_map_free(&a->launches);
    export_resize(a->args, 0);
    export_resize(a->texts, 0);
}
