/*
    export_walk.c - a trace's events as slices, instants and samples on lanes

    Events of one track that begin in the same nanosecond are held back
    together (the *group*), because the arguments of a zone follow it. Then
    each is placed on a lane of its row; slices that are over are ended first.
*/
#include "tools/export/export_rows.h"
#include <stdlib.h>

#define GROUP_MAX    4096 // events held back
#define OWNER_SEARCH 256  // zones tried as the owner of an argument
#define PROGRESS     8192 // events between two looks at clock and disk

typedef struct held { // an event that waits for its group to be complete
    export_item item;
    export_row *row;
    uint64_t tick;
    uint32_t first_arg, last_arg; // indexes + 1 into args, linked by `next`
    bool is_slice;
} held;

typedef struct walk {
    ts_reader *reader;
    const export_options *options;
    export_rows rows;
    export_links *links; // NULL: no arrows wanted
    export_counts *counts;
    int64_t end_ns; // of the trace, where unfinished slices stop

    uint32_t group_track;
    int64_t group_ns;
    held *held;
    size_t held_count, held_capacity;
    export_arg *args; // of the group
    size_t arg_count, arg_capacity;
    export_buffer gathered; // arguments of one item, in a row
    char **texts;           // copies of the group's texts
    size_t text_count, text_capacity;

    export_map spans; // id -> lane of its open slices
    export_map live;  // pool row and address -> size of a live allocation
} walk;

/* ---- Arguments ---------------------------------------------------------- */

static ts_text text_of(const char *text)
{
    return (ts_text){ text, strlen(text) };
}

static ts_text keep_text(walk *w, ts_text text)
{
    w->texts = export_grow(w->texts, &w->text_capacity, w->text_count,
                           sizeof *w->texts);
    char *const copy = export_resize(NULL, text.size + 1);
    memcpy(copy, text.text, text.size);
    w->texts[w->text_count++] = copy;
    return (ts_text){ copy, text.size };
}

// An argument of the item that is being made; NULL if none are wanted.
static export_arg *add_arg(walk *w, ts_text name, export_arg_type type)
{
    w->args =
        export_grow(w->args, &w->arg_capacity, w->arg_count, sizeof *w->args);
    export_arg *const arg = &w->args[w->arg_count++];
    arg->name = name;
    arg->type = type;
    arg->next = 0;
    return arg;
}

static void add_uint(walk *w, const char *name, uint64_t value)
{
    add_arg(w, text_of(name), EXPORT_UINT)->u.uint = value;
}

static void add_address(walk *w, const char *name, uint64_t value)
{
    add_arg(w, text_of(name), EXPORT_ADDRESS)->u.uint = value;
}

// text: lives as long as the trace or the group. Empty ones are left out.
static void add_text(walk *w, const char *name, ts_text text)
{
    if (text.size) add_arg(w, text_of(name), EXPORT_TEXT)->u.text = text;
}

static void add_name(walk *w, const char *name, uint64_t id)
{
    add_text(w, name, ts_reader_name(w->reader, (uint32_t)id));
}

static void add_triple(walk *w, const char *name, const uint32_t triple[3])
{
    if (!triple[0] && !triple[1] && !triple[2]) return;
    export_arg *const arg = add_arg(w, text_of(name), EXPORT_TRIPLE);
    memcpy(arg->u.triple, triple, sizeof arg->u.triple);
}

static void add_track(walk *w, const char *name, uint64_t id)
{
    if (!id) return;
    const export_row *const row = export_rows_track(&w->rows, (uint32_t)id);
    add_text(w, name, row->lanes[0]->name);
}

// "libx.so+0x1f20;app+0x400;..." with the innermost frame first.
static void add_stack(walk *w, uint64_t stack)
{
    const ts_frame_entry *frames;
    const uint32_t count =
        stack ? ts_reader_stack(w->reader, (uint32_t)stack, &frames) : 0;
    export_buffer text = { 0 };
    for (uint32_t i = 0; i < count; i++) {
        const ts_module_entry *const module =
            ts_reader_module(w->reader, frames[i].module);
        const ts_text path =
            ts_reader_name(w->reader, module ? module->path : 0);
        size_t from = path.size; // the file's name without its folders
        while (from && path.text[from - 1] != '/')
            from--;
        if (i) export_put(&text, ";", 1);
        export_put(&text, path.text + from, path.size - from);
        if (path.size) export_put(&text, "+", 1);
        export_put_hex(&text, frames[i].offset);
    }
    if (count)
        add_text(w, "stack",
                 keep_text(w, (ts_text){ (char *)text.data, text.size }));
    export_resize(text.data, 0);
}

/* ---- Arguments of GPU operations ---------------------------------------- */

static const char *copy_name(uint64_t type)
{
    static const char *const names[] = {
        "", "h2d", "d2h", "d2d", "h2h", "p2p"
    };
    return type < 6 ? names[type] : "";
}

static void add_memory(walk *w, const char *name, uint64_t kind)
{
    static const char *const names[] = { "",       "pageable", "pinned",
                                         "device", "managed",  "array" };
    if (kind < 6) add_text(w, name, text_of(names[kind]));
}

static void add_launch(walk *w, uint64_t id)
{
    const ts_launch_entry *const launch =
        ts_reader_launch(w->reader, (uint32_t)id);
    if (!launch) return;
    add_triple(w, "grid", launch->grid);
    add_triple(w, "block", launch->block);
    add_triple(w, "cluster", launch->cluster);
    if (launch->registers) add_uint(w, "registers", launch->registers);
    if (launch->static_shared)
        add_uint(w, "static_shared_bytes", launch->static_shared);
    if (launch->dynamic_shared)
        add_uint(w, "dynamic_shared_bytes", launch->dynamic_shared);
    if (launch->local) add_uint(w, "local_bytes", launch->local);
}

// How long before its start an operation was queued or submitted.
static void add_delay(walk *w, const char *name, const ts_event *event,
                      ts_column column)
{
    const uint64_t ticks = ts_event_value(event, column);
    if (!ticks) return;
    const ts_columns *const columns = event->columns;
    const int64_t then =
        ts_reader_time_ns(w->reader, columns->clock,
                          columns->start_ticks[event->row] - (ticks - 1));
    add_arg(w, text_of(name), EXPORT_INT)->u.number =
        (int64_t)((uint64_t)event->start_ns - (uint64_t)then);
}

static void add_kind_args(walk *w, const ts_event *event)
{
    static const char *const elements[] = { "",    "i8",  "u8",  "i32",
                                            "u32", "i64", "u64", "f16",
                                            "f32", "f64", "bf16" };
    const uint64_t type = ts_event_value(event, TS_COLUMN_TYPE);
    const uint64_t memory = ts_event_value(event, TS_COLUMN_MEMORY);
    switch ((int)event->kind) {
    case TS_EVENT_KERNEL:
        add_launch(w, ts_event_value(event, TS_COLUMN_LAUNCH));
        break;
    case TS_EVENT_MEMCPY:
        add_text(w, "copy", text_of(copy_name(type)));
        add_memory(w, "source_memory", memory & 15);
        add_memory(w, "destination_memory", memory >> 4 & 15);
        break;
    case TS_EVENT_MEMSET:
        add_uint(w, "value", ts_event_value(event, TS_COLUMN_VALUE));
        break;
    case TS_EVENT_COLLECTIVE:
        if (type < 11) add_text(w, "element", text_of(elements[type]));
        break;
    case TS_EVENT_GPU_ALLOC: add_memory(w, "memory", memory >> 4 & 15); break;
    default: break;
    }
}

// Columns that become arguments as they are. Zero is "unknown" for all but
// sizes, which are shown when the kind has them.
static const struct {
    uint8_t column;
    bool is_address, keep_zero;
    const char *name;
} plain_args[] = {
    { TS_COLUMN_CORRELATION, false, false, "correlation" },
    { TS_COLUMN_SIZE, false, true, "bytes" },
    { TS_COLUMN_SOURCE, true, false, "source" },
    { TS_COLUMN_ADDRESS, true, false, "address" },
    { TS_COLUMN_GRAPH, false, false, "graph" },
    { TS_COLUMN_GRAPH_NODE, false, false, "graph_node" },
    { TS_COLUMN_ID, false, false, "id" },
    { TS_COLUMN_RECORD, false, false, "record" },
    { TS_COLUMN_COMMUNICATOR, true, false, "communicator" },
    { TS_COLUMN_SEQUENCE, false, false, "sequence" },
    { TS_COLUMN_RANKS, false, false, "ranks" },
};

static void add_gpu_args(walk *w, const ts_event *event)
{
    const uint8_t *const columns = ts_event_columns(event->kind);
    for (size_t i = 0; i < sizeof plain_args / sizeof *plain_args; i++) {
        if (!columns || !strchr((const char *)columns, plain_args[i].column))
            continue;
        const uint64_t value =
            ts_event_value(event, (ts_column)plain_args[i].column);
        if (!value && !plain_args[i].keep_zero) continue;
        (plain_args[i].is_address ? add_address
                                  : add_uint)(w, plain_args[i].name, value);
    }
    add_kind_args(w, event);
    add_name(w, "pool", ts_event_value(event, TS_COLUMN_POOL));
    add_track(w, "peer", ts_event_value(event, TS_COLUMN_PEER));
    add_delay(w, "queued_ns", event, TS_COLUMN_QUEUED);
    add_delay(w, "submitted_ns", event, TS_COLUMN_SUBMITTED);
    add_track(w, "thread", ts_event_value(event, TS_COLUMN_THREAD));
    const uint32_t site = (uint32_t)ts_event_value(event, TS_COLUMN_SITE);
    if (site) add_text(w, "zone", ts_reader_site_name(w->reader, site));
    add_stack(w, ts_event_value(event, TS_COLUMN_STACK));
}

/* ---- The group ---------------------------------------------------------- */

static const export_arg *gather_args(walk *w, const held *h, uint32_t *count)
{
    *count = 0;
    w->gathered.size = 0;
    for (uint32_t i = h->first_arg; i; i = w->args[i - 1].next, ++*count)
        export_put(&w->gathered, &w->args[i - 1], sizeof *w->args);
    return (const export_arg *)(const void *)w->gathered.data;
}

static void count_arrows(walk *w, const export_arrows *arrows)
{
    if (arrows->target || arrows->phase > TS_PHASE_START) w->counts->arrows++;
}

static void flush_group(walk *w)
{
    for (size_t i = 0; i < w->held_count; i++) {
        held *const h = &w->held[i];
        h->item.args = gather_args(w, h, &h->item.arg_count);
        count_arrows(w, &h->item.arrows);
        if (h->is_slice)
            export_rows_slice(&w->rows, h->row, &h->item);
        else
            export_rows_instant(&w->rows, h->row, &h->item);
    }
    for (size_t i = 0; i < w->text_count; i++)
        export_resize(w->texts[i], 0);
    w->held_count = w->arg_count = w->text_count = 0;
}

static void enter_group(walk *w, const ts_event *event)
{
    if (event->start_ns == w->group_ns && event->track == w->group_track &&
        w->held_count < GROUP_MAX && w->arg_count < GROUP_MAX)
        return;
    flush_group(w);
    w->group_ns = event->start_ns;
    w->group_track = event->track;
}

// A held event on its own track, as a slice or an instant, without arguments.
static held *hold(walk *w, const ts_event *event, bool is_slice)
{
    w->held =
        export_grow(w->held, &w->held_capacity, w->held_count, sizeof *w->held);
    held *const h = &w->held[w->held_count++];
    memset(&h->item, 0, sizeof h->item);
    h->item.start_ns = event->start_ns;
    h->item.end_ns = export_end_ns(event);
    h->item.site = (uint32_t)ts_event_value(event, TS_COLUMN_SITE);
    h->row = export_rows_track(&w->rows, event->track);
    h->tick = event->columns->start_ticks[event->row];
    h->first_arg = h->last_arg = 0;
    h->is_slice = is_slice;
    if (w->links) export_links_next(w->links, event, &h->item.arrows);
    return h;
}

// Gives what was added to w->args since `from` to a held event.
static void own_args(walk *w, held *h, size_t from)
{
    if (w->options->no_args) w->arg_count = from;
    for (size_t i = from; i < w->arg_count; i++) {
        if (h->last_arg) w->args[h->last_arg - 1].next = (uint32_t)i + 1;
        if (!h->first_arg) h->first_arg = (uint32_t)i + 1;
        h->last_arg = (uint32_t)i + 1;
    }
}

static held *hold_named(walk *w, const ts_event *event, bool is_slice,
                        const char *name, const char *category)
{
    held *const h = hold(w, event, is_slice);
    h->item.site = 0;
    h->item.name = text_of(name);
    h->item.name_kept = true;
    h->item.category = text_of(category);
    return h;
}

/* ---- Events of threads -------------------------------------------------- */

static void take_zone(walk *w, const ts_event *event)
{
    held *const h = hold(w, event, true);
    if (event->kind != TS_EVENT_ZONE_OPEN) return;
    const size_t from = w->arg_count;
    add_arg(w, text_of("unfinished"), EXPORT_TRUE);
    own_args(w, h, from);
}

static held *find_owner(walk *w, uint64_t site, uint64_t tick)
{
    const size_t stop =
        w->held_count > OWNER_SEARCH ? w->held_count - OWNER_SEARCH : 0;
    for (size_t i = w->held_count; i-- > stop;) {
        held *const h = &w->held[i];
        if (h->is_slice && h->item.site == site && h->tick == tick) return h;
    }
    return NULL;
}

// A named number or a text of a zone. One whose zone is not there (lost,
// outside the range) is shown as an instant, not dropped.
static void take_zone_arg(walk *w, const ts_event *event)
{
    if (w->options->no_args) return;
    const uint64_t bits = ts_event_value(event, TS_COLUMN_VALUE);
    const uint64_t tick = event->columns->start_ticks[event->row];
    held *owner = find_owner(w, ts_event_value(event, TS_COLUMN_SITE), tick);
    if (!owner) owner = hold_named(w, event, false, "zone_arg", "zone_arg");
    const size_t from = w->arg_count;
    ts_text name = ts_reader_name(
        w->reader, (uint32_t)ts_event_value(event, TS_COLUMN_NAME));
    switch (ts_event_value(event, TS_COLUMN_TYPE)) {
    case TS_VALUE_INT:
        if (!name.size) name = text_of("value");
        add_arg(w, name, EXPORT_INT)->u.number = (int64_t)bits;
        break;
    case TS_VALUE_DOUBLE:
        if (!name.size) name = text_of("value");
        memcpy(&add_arg(w, name, EXPORT_DOUBLE)->u.real, &bits, 8);
        break;
    default: {
        if (!name.size) name = text_of("text");
        const ts_text text = keep_text(w, ts_event_text(event));
        add_arg(w, name, EXPORT_TEXT)->u.text = text;
    }
    }
    own_args(w, owner, from);
}

static void take_message(walk *w, const ts_event *event)
{
    held *const h = hold(w, event, false);
    const ts_text text = ts_event_text(event);
    h->item.name = text.size ? keep_text(w, text) : text_of("message");
    h->item.category = text_of("message");
    h->item.is_log = true;
}

static void take_api_call(walk *w, const ts_event *event)
{
    held *const h = hold(w, event, true);
    h->item.name = ts_event_label(w->reader, event);
    h->item.name_kept = true;
    h->item.category = text_of("api_call");
    const size_t from = w->arg_count;
    const uint64_t correlation = ts_event_value(event, TS_COLUMN_CORRELATION);
    if (correlation) add_uint(w, "correlation", correlation);
    add_uint(w, "result", ts_event_value(event, TS_COLUMN_RESULT));
    add_stack(w, ts_event_value(event, TS_COLUMN_STACK));
    own_args(w, h, from);
}

static void take_flow(walk *w, const ts_event *event)
{
    static const char *const names[] = { "flow start", "flow step",
                                         "flow end" };
    const uint64_t phase = ts_event_value(event, TS_COLUMN_PHASE);
    const uint64_t id = ts_event_value(event, TS_COLUMN_ID);
    const bool known = phase >= TS_PHASE_START && phase <= TS_PHASE_END;
    held *const h =
        hold_named(w, event, false, known ? names[phase - 1] : "flow", "flow");
    if (known && !w->options->no_flows) {
        h->item.arrows.flow = id;
        h->item.arrows.phase = (ts_phase)phase;
    }
    const size_t from = w->arg_count;
    add_uint(w, "id", id);
    own_args(w, h, from);
}

/* ---- Events with rows of their own -------------------------------------- */

// Arguments since `from`, for an item that is not held.
static void give_args(walk *w, export_item *item, size_t from)
{
    if (w->options->no_args) w->arg_count = from;
    item->args = w->args + from;
    item->arg_count = (uint32_t)(w->arg_count - from);
}

// A frame lasts to the next mark of the same name on the same thread. A
// frame's slice can be written only when that is known.
static void end_frame(walk *w, export_row *row, int64_t end_ns,
                      bool is_finished)
{
    export_item item = row->frame;
    if (!row->has_frame) return;
    item.end_ns = end_ns > item.start_ns ? end_ns : item.start_ns;
    const size_t from = w->arg_count;
    add_uint(w, "frame", row->frame_number++);
    if (!is_finished) add_arg(w, text_of("unfinished"), EXPORT_TRUE);
    give_args(w, &item, from);
    export_rows_slice(&w->rows, row, &item);
    row->has_frame = false;
}

static void take_frame(walk *w, const ts_event *event)
{
    const uint32_t site = (uint32_t)ts_event_value(event, TS_COLUMN_SITE);
    const ts_text name = ts_reader_site_name(w->reader, site);
    export_row *const row = export_rows_frames(&w->rows, event->track, name);
    end_frame(w, row, event->start_ns, true);
    row->frame = (export_item){ .start_ns = event->start_ns, .site = site };
    row->has_frame = true;
}

// UINT64_MAX is a legal span and no legal key.
static uint64_t span_key(uint64_t id)
{
    return id == EXPORT_NO_KEY ? UINT64_C(0xA5C3F00D5EED0001) : id;
}

static void start_span(walk *w, const ts_event *event, uint64_t id)
{
    export_item item = {
        .start_ns = event->start_ns,
        .end_ns = EXPORT_OPEN_END,
        .site = (uint32_t)ts_event_value(event, TS_COLUMN_SITE),
    };
    uint64_t *const open = export_map_at(&w->spans, span_key(id));
    export_lane *lane = (export_lane *)(uintptr_t)*open;
    if (!lane)
        lane = export_rows_span(&w->rows,
                                ts_reader_site_name(w->reader, item.site));
    *open = (uintptr_t)lane;
    const size_t from = w->arg_count;
    add_uint(w, "id", id);
    add_track(w, "thread", event->track);
    give_args(w, &item, from);
    export_rows_begin(&w->rows, lane, &item);
}

// What neither starts nor ends one that is open: an end whose start was lost
// or is before the range, or a phase of a later version.
static void show_span(walk *w, const ts_event *event, uint64_t id,
                      const char *name)
{
    held *const h = hold_named(w, event, false, name, "span");
    const size_t from = w->arg_count;
    add_uint(w, "id", id);
    own_args(w, h, from);
}

static void end_span(walk *w, const ts_event *event, uint64_t id)
{
    const uint64_t *const open = export_map_find(&w->spans, span_key(id));
    if (!open) {
        show_span(w, event, id, "span end without a start");
        return;
    }
    export_lane *const lane = (export_lane *)(uintptr_t)*open;
    export_rows_end(&w->rows, lane, event->start_ns);
    if (lane->depth) return;
    export_map_remove(&w->spans, span_key(id));
    export_rows_span_free(lane);
}

static void take_span(walk *w, const ts_event *event)
{
    const uint64_t id = ts_event_value(event, TS_COLUMN_ID);
    switch (ts_event_value(event, TS_COLUMN_PHASE)) {
    case TS_PHASE_START: start_span(w, event, id); break;
    case TS_PHASE_END: end_span(w, event, id); break;
    default: show_span(w, event, id, "span"); break;
    }
}

/* ---- Memory ------------------------------------------------------------- */

// Keeps the pool's running total. The address and the pool together are the
// key; 2^64 / golden ratio spreads the few pools over the addresses.
static void count_memory(walk *w, export_row *pool, const ts_event *event,
                         bool is_alloc)
{
    uint64_t key = ts_event_value(event, TS_COLUMN_ADDRESS) ^
                   (uint64_t)pool->lanes[0]->id * UINT64_C(0x9E3779B97F4A7C15);
    if (key == EXPORT_NO_KEY) key = 0;
    if (is_alloc) {
        uint64_t *const size = export_map_at(&w->live, key);
        pool->live_bytes -= *size; // an address that was never given back
        *size = ts_event_value(event, TS_COLUMN_SIZE);
        pool->live_bytes += *size;
    } else {
        const uint64_t *const size = export_map_find(&w->live, key);
        if (size) pool->live_bytes -= *size;
        export_map_remove(&w->live, key);
    }
}

static bool is_alloc(const ts_event *event)
{
    return event->kind == TS_EVENT_ALLOC || event->kind == TS_EVENT_GPU_ALLOC;
}

static export_row *pool_of(walk *w, const ts_event *event)
{
    const bool on_gpu = event->kind >= TS_EVENT_GPU_FIRST;
    return export_rows_pool(&w->rows, on_gpu ? event->track : 0,
                            (uint32_t)ts_event_value(event, TS_COLUMN_POOL));
}

static void sample_memory(walk *w, const ts_event *event)
{
    export_row *const pool = pool_of(w, event);
    count_memory(w, pool, event, is_alloc(event));
    // Those of a GPU take effect when they are done.
    export_rows_sample(&w->rows, pool->counter, export_end_ns(event),
                       TS_VALUE_INT, pool->live_bytes);
}

static void take_memory(walk *w, const ts_event *event)
{
    export_row *const pool = pool_of(w, event);
    export_item item = {
        .start_ns = event->start_ns,
        .end_ns = event->start_ns,
        .name = text_of(is_alloc(event) ? "alloc" : "free"),
        .name_kept = true,
        .category = text_of("memory"),
    };
    const size_t from = w->arg_count;
    add_address(w, "address", ts_event_value(event, TS_COLUMN_ADDRESS));
    if (is_alloc(event))
        add_uint(w, "bytes", ts_event_value(event, TS_COLUMN_SIZE));
    add_name(w, "category", ts_event_value(event, TS_COLUMN_CATEGORY));
    const uint32_t site = (uint32_t)ts_event_value(event, TS_COLUMN_SITE);
    if (site) add_text(w, "zone", ts_reader_site_name(w->reader, site));
    add_track(w, "thread", event->track);
    add_stack(w, ts_event_value(event, TS_COLUMN_STACK));
    give_args(w, &item, from);
    export_rows_instant(&w->rows, pool, &item);
    sample_memory(w, event);
}

// With a range, the totals at its begin come from what was before.
static void count_memory_before(walk *w)
{
    const ts_filter before = {
        .kinds = TS_FILTER(ALLOC) | TS_FILTER(FREE) | TS_FILTER(GPU_ALLOC) |
                 TS_FILTER(GPU_FREE),
        .from_ns = ts_reader_info(w->reader)->first_ns,
        .to_ns = w->options->from_ns,
    };
    ts_cursor *cursor;
    ts_event event;
    if (before.from_ns >= before.to_ns ||
        ts_cursor_open(&cursor, w->reader, &before) != TS_OK)
        return;
    while (ts_cursor_next(cursor, &event))
        if (export_end_ns(&event) < before.to_ns)
            count_memory(w, pool_of(w, &event), &event, is_alloc(&event));
    ts_cursor_close(cursor);
}

/* ---- GPU operations ----------------------------------------------------- */

static void take_operation(walk *w, const ts_event *event)
{
    static const char *const copies[] = { "memcpy",     "memcpy h2d",
                                          "memcpy d2h", "memcpy d2d",
                                          "memcpy h2h", "memcpy p2p" };
    held *const h = hold(w, event, true);
    const uint64_t type = ts_event_value(event, TS_COLUMN_TYPE);
    h->item.site = 0; // it is the launching zone's
    h->item.name = event->kind == TS_EVENT_MEMCPY && type < 6
                       ? text_of(copies[type])
                       : ts_event_label(w->reader, event);
    h->item.name_kept = true;
    h->item.category = text_of(ts_event_name(event->kind));
    const size_t from = w->arg_count;
    if (!w->options->no_args) add_gpu_args(w, event);
    own_args(w, h, from);
    if (event->kind == TS_EVENT_GPU_ALLOC || event->kind == TS_EVENT_GPU_FREE)
        sample_memory(w, event);
}

/* ---- Losses and damage -------------------------------------------------- */

static void show_loss(walk *w, const ts_loss_row *loss)
{
    export_row *const row = export_rows_losses(&w->rows, loss->track);
    export_item item = {
        .start_ns = loss->first_ns,
        .end_ns =
            loss->last_ns > loss->first_ns ? loss->last_ns : loss->first_ns,
        .category =
            text_of(loss->cause < TS_LOSS_STALL_FIRST ? "loss" : "stall"),
    };
    export_buffer name = { 0 };
    const char *const head =
        loss->cause < TS_LOSS_STALL_FIRST ? "lost: " : "stalled: ";
    export_put(&name, head, strlen(head));
    export_put(&name, ts_loss_name(loss->cause),
               strlen(ts_loss_name(loss->cause)));
    item.name = (ts_text){ (char *)name.data, name.size };
    const size_t from = w->arg_count;
    add_uint(w, "count", loss->count);
    add_uint(w, "cause", loss->cause);
    add_name(w, "detail", loss->detail);
    if (loss->stall_ns) add_uint(w, "stall_ns", loss->stall_ns);
    item.args = w->args + from;
    item.arg_count = (uint32_t)(w->arg_count - from);
    export_rows_slice(&w->rows, row, &item);
    export_resize(name.data, 0);
}

static int by_start(const void *a, const void *b)
{
    const ts_loss_row *const x = a, *const y = b;
    if (x->first_ns != y->first_ns) return x->first_ns < y->first_ns ? -1 : 1;
    if (x->last_ns != y->last_ns) return x->last_ns > y->last_ns ? -1 : 1;
    if (x->track != y->track) return x->track < y->track ? -1 : 1;
    if (x->cause != y->cause) return x->cause < y->cause ? -1 : 1;
    return (x->detail > y->detail) - (x->detail < y->detail);
}

// Losses are facts about the whole trace: a range does not hide them.
static void show_losses(walk *w)
{
    const size_t count = ts_reader_loss_count(w->reader);
    ts_loss_row *const rows = export_resize(NULL, (count + 1) * sizeof *rows);
    for (size_t i = 0; i < count; i++)
        ts_reader_loss(w->reader, i, &rows[i]);
    qsort(rows, count, sizeof *rows, by_start);
    for (size_t i = 0; i < count; i++)
        show_loss(w, &rows[i]);
    export_resize(rows, 0);
}

// Damage has a place in the file; when that was is known from the chunks
// before it.
static int64_t damage_time(const walk *w, uint64_t offset)
{
    int64_t time_ns = ts_reader_info(w->reader)->first_ns;
    const size_t count = ts_reader_chunk_count(w->reader);
    for (size_t i = 0; i < count; i++) {
        ts_chunk_info chunk;
        if (!ts_reader_chunk(w->reader, i, &chunk) || chunk.offset >= offset)
            break;
        if (chunk.header.kind == TS_CHUNK_EVENTS && chunk.last_ns > time_ns)
            time_ns = chunk.last_ns;
    }
    return time_ns;
}

static void show_damage(walk *w)
{
    ts_damage damage;
    for (size_t i = 0; ts_reader_damage(w->reader, i, &damage); i++) {
        export_row *const row = export_rows_damage(&w->rows);
        const int64_t time_ns = damage_time(w, damage.offset);
        export_item item = { .category = text_of("damage"),
                             .name = text_of("damage") };
        item.start_ns = item.end_ns =
            time_ns > row->last_ns ? time_ns : row->last_ns;
        row->last_ns = item.start_ns;
        const size_t from = w->arg_count;
        add_uint(w, "offset", damage.offset);
        add_uint(w, "bytes", damage.size);
        add_text(w, "what", text_of(damage.text ? damage.text : ""));
        add_text(w, "result", text_of(ts_result_text(damage.result)));
        item.args = w->args + from;
        item.arg_count = (uint32_t)(w->arg_count - from);
        export_rows_instant(&w->rows, row, &item);
    }
}

/* ---- The walk ----------------------------------------------------------- */

static void take_event(walk *w, const ts_event *event)
{
    switch ((int)event->kind) {
    case TS_EVENT_ZONE:
    case TS_EVENT_ZONE_OPEN: take_zone(w, event); break;
    case TS_EVENT_ZONE_ARG: take_zone_arg(w, event); break;
    case TS_EVENT_MARK: hold(w, event, false); break;
    case TS_EVENT_MESSAGE: take_message(w, event); break;
    case TS_EVENT_COUNTER:
        export_rows_sample(&w->rows,
                           export_rows_track(&w->rows, event->track)->lanes[0],
                           event->start_ns,
                           (ts_value_type)ts_event_value(event, TS_COLUMN_TYPE),
                           ts_event_value(event, TS_COLUMN_VALUE));
        break;
    case TS_EVENT_FRAME: take_frame(w, event); break;
    case TS_EVENT_ALLOC:
    case TS_EVENT_FREE: take_memory(w, event); break;
    case TS_EVENT_FLOW: take_flow(w, event); break;
    case TS_EVENT_SPAN: take_span(w, event); break;
    case TS_EVENT_API_CALL: take_api_call(w, event); break;
    default: take_operation(w, event); break;
    }
}

static ts_result walk_events(walk *w, export_out *out, const ts_filter *filter)
{
    export_feed *feed;
    ts_event event;
    ts_result result = export_feed_open(&feed, w->reader, filter);
    for (uint32_t n = 1; result == TS_OK && export_feed_next(feed, &event);
         n++) {
        enter_group(w, &event);
        take_event(w, &event);
        if (n % PROGRESS) continue;
        if (w->options->progress)
            w->options->progress(w->options->user, event.start_ns);
        if (export_out_error(out)) break; // nothing more would be kept
    }
    if (result == TS_OK) result = export_feed_result(feed);
    export_feed_close(feed);
    flush_group(w);
    return result;
}

// What is still open ends with the trace, marked.
static void finish(walk *w)
{
    for (export_row *row = w->rows.first; row; row = row->next)
        end_frame(w, row, w->end_ns, false);
    show_losses(w);
    show_damage(w);
    export_rows_finish(&w->rows, w->end_ns);
}

static void walk_free(walk *w)
{
    export_links_close(w->links);
    export_map_free(&w->spans);
    export_map_free(&w->live);
    export_resize(w->held, 0);
    export_resize(w->args, 0);
    export_resize(w->gathered.data, 0);
    export_resize(w->texts, 0);
}

ts_result export_walk(ts_reader *reader, const export_format *format,
                      export_out *out, const export_options *options,
                      export_counts *counts)
{
    const ts_info *const info = ts_reader_info(reader);
    const bool ranged = options->from_ns != options->to_ns;
    export_target target = { .reader = reader,
                             .options = options,
                             .out = out,
                             .first_ns = info->first_ns,
                             .last_ns = info->last_ns };
    if (info->first_ns < 0) target.shift_ns = -info->first_ns;
    *counts = (export_counts){ 0 };
    const ts_filter filter = { .from_ns = options->from_ns,
                               .to_ns = options->to_ns };
    walk w = { .reader = reader, .options = options, .counts = counts };
    w.end_ns = ranged && options->to_ns < info->last_ns ? options->to_ns
                                                        : info->last_ns;
    export_rows_open(&w.rows, format, &target, counts);
    if (!options->no_flows) w.links = export_links_open(reader, &filter);
    if (ranged) count_memory_before(&w);
    const ts_result result = walk_events(&w, out, &filter);
    finish(&w);
    export_rows_close(&w.rows);
    walk_free(&w);
    return result;
}

/* ---- What formats ask --------------------------------------------------- */

ts_text export_item_name(const ts_reader *reader, const export_item *item)
{
    if (item->name.size || !item->site) return item->name;
    const ts_text name = ts_reader_site_name(reader, item->site);
    return name.size ? name : text_of("unnamed");
}

ts_text export_item_category(const ts_reader *reader, const export_item *item)
{
    if (item->category.size || !item->site) return item->category;
    const ts_site_entry *const site = ts_reader_site(reader, item->site);
    return ts_reader_name(reader, site ? site->category : 0);
}
