/*
    walk.c - turns events into slices, instants and samples on lanes

    Events of a track that begin in the same nanosecond are held back as a
    *group*, because the arguments of a zone follow it. Then each is placed on a
    lane of its row, after the slices that have ended by then are closed.
*/
#include "tools/export/args.h"
#include "tools/cli/processes.h"
#include "tools/common/symbolize/symbolize.h"
#include "tools/export/findings.h"

#define GROUP_MAX    4096 // most events held back
#define OWNER_SEARCH 256  // zones tried as the owner of an argument
#define AHEAD        8    // slices between two stages of prefetching
#define PROGRESS     8192 // events between two checks of progress and errors

typedef struct held { // an event that is held back until its group is complete
    export_item item;
    export_row *row;
    uint64_t tick;
    uint32_t first_arg, last_arg; // indexes + 1 into args, linked by `next`
    uint32_t arg_count;
    bool is_slice;
} held;

typedef struct walk {
    ts_reader *reader;
    const export_options *options;
    export_rows rows;
    export_links *links; // NULL: no arrows requested
    export_counts *counts;
    int64_t end_ns; // of the trace, where unfinished slices stop

    uint32_t group_track;
    int64_t group_ns;
    held *held;
    size_t held_count, held_capacity;
    export_args args;       // of the group
    export_buffer gathered; // arguments of one item, contiguous

    export_map spans; // id -> lane of its open slices
    export_map flows; // id -> number of the last flow that began with it
    uint64_t flow_count;
    // Pool row, process and address -> size of a live allocation.
    export_map live;
    bool several;                       // processes
    ts_text categories[TS_EVENT_LIMIT]; // of GPU operations
} walk;

/* ---- The group ---------------------------------------------------------- */

static const export_arg *gather_args(walk *w, const held *h, uint32_t *count)
{
    *count = h->arg_count;
    if (!h->arg_count) return NULL;
    if (h->last_arg - h->first_arg + 1 == h->arg_count) // contiguous already
        return w->args.args + h->first_arg - 1;
    w->gathered.size = 0;
    for (uint32_t i = h->first_arg; i; i = w->args.args[i - 1].next)
        export_put(&w->gathered, &w->args.args[i - 1], sizeof *w->args.args);
    return (const export_arg *)(const void *)w->gathered.data;
}

static void count_arrows(walk *w, const export_arrows *arrows)
{
    if (arrows->target || arrows->phase > TS_PHASE_START) w->counts->arrows++;
}

static void flush_group(walk *w)
{
    if (!w->held_count && !w->args.count) return;
    for (size_t i = 0; i < w->held_count; i++) {
        held *const h = &w->held[i];
        h->item.args = gather_args(w, h, &h->item.arg_count);
        count_arrows(w, &h->item.arrows);
        if (h->is_slice)
            export_rows_slice(&w->rows, h->row, &h->item);
        else
            export_rows_instant(&w->rows, h->row, &h->item);
    }
    w->held_count = 0;
    export_args_clear(&w->args);
}

static void enter_group(walk *w, const ts_event *event)
{
    if (event->start_ns == w->group_ns && event->track == w->group_track &&
        w->held_count < GROUP_MAX && w->args.count < GROUP_MAX)
        return;
    flush_group(w);
    w->group_ns = event->start_ns;
    w->group_track = event->track;
}

// Holds back an event on its own track, as a slice or an instant, without
// arguments.
static held *hold(walk *w, const ts_event *event, bool is_slice)
{
    w->held =
        export_grow(w->held, &w->held_capacity, w->held_count, sizeof *w->held);
    static const export_item none; // copied in half the time of memset
    held *const h = &w->held[w->held_count++];
    h->item = none;
    h->item.start_ns = event->start_ns;
    h->item.end_ns = export_end_ns(event);
    h->item.site = (uint32_t)ts_event_value(event, TS_COLUMN_SITE);
    h->row = export_rows_track(&w->rows, event->track);
    h->tick = event->columns->start_ticks[event->row];
    h->first_arg = h->last_arg = h->arg_count = 0;
    h->is_slice = is_slice;
    if (w->links) export_links_next(w->links, event, &h->item.arrows);
    return h;
}

// Assigns the arguments added to w->args since `from` to a held event.
static void own_args(walk *w, held *h, size_t from)
{
    if (w->options->no_args) w->args.count = from;
    for (size_t i = from; i < w->args.count; i++) {
        if (h->last_arg) w->args.args[h->last_arg - 1].next = (uint32_t)i + 1;
        if (!h->first_arg) h->first_arg = (uint32_t)i + 1;
        h->last_arg = (uint32_t)i + 1;
        h->arg_count++;
    }
}

static held *hold_named(walk *w, const ts_event *event, bool is_slice,
                        const char *name, const char *category)
{
    held *const h = hold(w, event, is_slice);
    h->item.site = 0;
    h->item.name = export_text(name);
    h->item.name_kept = true;
    h->item.category = export_text(category);
    return h;
}

static uint32_t stack_of(const walk *w, const ts_event *event)
{
    if (w->options->no_args) return 0;
    return (uint32_t)ts_event_value(event, TS_COLUMN_STACK);
}

/* ---- Events of threads -------------------------------------------------- */

static void take_zone(walk *w, const ts_event *event)
{
    held *const h = hold(w, event, true);
    if (event->kind != TS_EVENT_ZONE_OPEN) return;
    const size_t from = w->args.count;
    export_add(&w->args, EXPORT_ARG_UNFINISHED, EXPORT_TRUE);
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

// Numbers the last argument if others of the item have its name, because
// viewers keep only one argument with a name.
static void number_arg(walk *w, const held *h)
{
    export_arg *const args = w->args.args;
    export_arg *const last = &args[h->last_arg - 1];
    for (uint32_t i = h->first_arg; i != h->last_arg; i = args[i - 1].next) {
        const ts_text name = args[i - 1].name;
        if (name.size == last->name.size &&
            !memcmp(name.text, last->name.text, name.size))
            last->repeat++;
    }
}

// Adds an argument to its zone. If the zone is missing (lost, or outside the
// range), the argument is shown as an instant.
static void take_zone_arg(walk *w, const ts_event *event)
{
    const uint32_t stack = stack_of(w, event);
    if (w->options->no_args) return;
    const uint64_t bits = ts_event_value(event, TS_COLUMN_VALUE);
    const uint64_t tick = event->columns->start_ticks[event->row];
    held *owner = find_owner(w, ts_event_value(event, TS_COLUMN_SITE), tick);
    if (!owner) owner = hold_named(w, event, false, "zone_arg", "zone_arg");
    if (stack) {
        owner->item.stack = stack;
        return;
    }
    const size_t from = w->args.count;
    ts_text name = ts_reader_name(
        w->reader, (uint32_t)ts_event_value(event, TS_COLUMN_NAME));
    switch (ts_event_value(event, TS_COLUMN_TYPE)) {
    case TS_VALUE_INT:
        if (!name.size) name = export_text("value");
        export_add_named(&w->args, name, EXPORT_INT)->u.number = (int64_t)bits;
        break;
    case TS_VALUE_DOUBLE:
        if (!name.size) name = export_text("value");
        memcpy(&export_add_named(&w->args, name, EXPORT_DOUBLE)->u.real, &bits,
               8);
        break;
    default: {
        if (!name.size) name = export_text("text");
        const ts_text text = export_keep_text(&w->args, ts_event_text(event));
        export_add_named(&w->args, name, EXPORT_TEXT)->u.text = text;
    }
    }
    own_args(w, owner, from);
    number_arg(w, owner);
}

static void take_message(walk *w, const ts_event *event)
{
    held *const h = hold(w, event, false);
    const ts_text text = ts_event_text(event);
    h->item.name =
        text.size ? export_keep_text(&w->args, text) : export_text("message");
    h->item.category = export_text("message");
    h->item.is_log = true;
}

static void take_api_call(walk *w, const ts_event *event)
{
    held *const h = hold(w, event, true);
    h->item.name = ts_event_label(w->reader, event);
    h->item.name_kept = true;
    h->item.category = export_text("api_call");
    h->item.stack = stack_of(w, event);
    const size_t from = w->args.count;
    const uint64_t correlation = ts_event_value(event, TS_COLUMN_CORRELATION);
    if (correlation)
        export_add_uint(&w->args, EXPORT_ARG_CORRELATION, correlation);
    export_add_uint(&w->args, EXPORT_ARG_RESULT,
                    ts_event_value(event, TS_COLUMN_RESULT));
    own_args(w, h, from);
}

static void take_sample(walk *w, const ts_event *event)
{
    held *const h = hold(w, event, false);
    const uint64_t bits = ts_event_value(event, TS_COLUMN_VALUE);
    h->item.name = ts_event_label(w->reader, event);
    h->item.name_kept = true;
    h->item.category = export_text("sample");
    h->item.stack = (uint32_t)ts_event_value(event, TS_COLUMN_STACK);
    h->item.is_sample = true;
    const size_t from = w->args.count;
    if (ts_event_value(event, TS_COLUMN_TYPE) == TS_VALUE_DOUBLE)
        memcpy(&export_add(&w->args, EXPORT_ARG_WEIGHT, EXPORT_DOUBLE)->u.real,
               &bits, sizeof bits);
    else
        export_add(&w->args, EXPORT_ARG_WEIGHT, EXPORT_INT)->u.number =
            (int64_t)bits;
    export_add_name(&w->args, EXPORT_ARG_UNIT,
                    ts_event_value(event, TS_COLUMN_UNIT));
    own_args(w, h, from);
}

static void take_access(walk *w, const ts_event *event)
{
    static const char *const names[] = { "access", "read", "write",
                                         "read and write" };
    const uint64_t mode = ts_event_value(event, TS_COLUMN_TYPE);
    held *const h = hold_named(w, event, false, names[mode & 3], "access");
    const size_t from = w->args.count;
    const uint64_t correlation = ts_event_value(event, TS_COLUMN_CORRELATION);
    if (correlation)
        export_add_uint(&w->args, EXPORT_ARG_CORRELATION, correlation);
    export_add_address(&w->args, EXPORT_ARG_ADDRESS,
                       ts_event_value(event, TS_COLUMN_ADDRESS));
    export_add_uint(&w->args, EXPORT_ARG_BYTES,
                    ts_event_value(event, TS_COLUMN_SIZE));
    own_args(w, h, from);
}

// Returns a unique number for a flow; 0: its begin is not in the range. Ids are
// reused, and viewers would connect a new flow with an ended one.
static uint64_t flow_of(walk *w, uint64_t id, uint64_t phase)
{
    if (phase == TS_PHASE_START)
        return *export_map_at(&w->flows, id) = ++w->flow_count;
    const uint64_t *const known = export_map_find(&w->flows, id);
    return known ? *known : 0;
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
        h->item.arrows.flow = flow_of(w, id, phase);
        if (h->item.arrows.flow) h->item.arrows.phase = (ts_phase)phase;
    }
    const size_t from = w->args.count;
    export_add_uint(&w->args, EXPORT_ARG_ID, id);
    own_args(w, h, from);
}

/* ---- Events with rows of their own -------------------------------------- */

// Sets the arguments added since `from` for an item that is not held back.
static void give_args(walk *w, export_item *item, size_t from)
{
    if (w->options->no_args) w->args.count = from;
    item->arg_count = (uint32_t)(w->args.count - from);
    item->args = item->arg_count ? w->args.args + from : NULL;
}

// Writes a frame's slice. A frame lasts until the next frame event with the
// same name on the same thread, so it is written only then.
static void end_frame(walk *w, export_row *row, int64_t end_ns,
                      bool is_finished)
{
    export_item item = row->frame;
    if (!row->has_frame) return;
    item.end_ns = end_ns > item.start_ns ? end_ns : item.start_ns;
    const size_t from = w->args.count;
    export_add_uint(&w->args, EXPORT_ARG_FRAME, row->frame_number++);
    if (!is_finished) export_add(&w->args, EXPORT_ARG_UNFINISHED, EXPORT_TRUE);
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

// UINT64_MAX is a valid span id but no valid map key.
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
    const size_t from = w->args.count;
    export_add_uint(&w->args, EXPORT_ARG_ID, id);
    export_add_track(&w->args, EXPORT_ARG_THREAD, event->track);
    give_args(w, &item, from);
    export_rows_begin(&w->rows, lane, &item);
}

// Shows a span event that neither begins a span nor ends an open one: its begin
// was lost or precedes the range, or its phase is from a later version.
static void show_span(walk *w, const ts_event *event, uint64_t id,
                      const char *name)
{
    held *const h = hold_named(w, event, false, name, "span");
    const size_t from = w->args.count;
    export_add_uint(&w->args, EXPORT_ARG_ID, id);
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

// Updates the pool's total. The key combines address, process and pool; 2^64 /
// golden ratio spreads the few pools over the key space.
static void count_memory(walk *w, export_row *pool, const ts_event *event,
                         bool is_alloc)
{
    const uint64_t space = w->several ? cli_event_process(w->reader, event) : 0;
    uint64_t key =
        ts_event_value(event, TS_COLUMN_ADDRESS) ^
        (space << 32 | pool->lanes[0]->id) * UINT64_C(0x9E3779B97F4A7C15);
    if (key == EXPORT_NO_KEY) key = 0;
    if (is_alloc) {
        uint64_t *const size = export_map_at(&w->live, key);
        pool->live_bytes -=
            *size; // the address was allocated again without a free
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
    // Allocations of a GPU take effect at their end.
    export_rows_sample(&w->rows, pool->counter, export_end_ns(event),
                       TS_VALUE_INT, pool->live_bytes);
}

static void take_memory(walk *w, const ts_event *event)
{
    export_row *const pool = pool_of(w, event);
    export_item item = {
        .start_ns = event->start_ns,
        .end_ns = event->start_ns,
        .name = export_text(is_alloc(event) ? "alloc" : "free"),
        .name_kept = true,
        .category = export_text("memory"),
        .stack = stack_of(w, event),
    };
    const size_t from = w->args.count;
    export_add_address(&w->args, EXPORT_ARG_ADDRESS,
                       ts_event_value(event, TS_COLUMN_ADDRESS));
    if (is_alloc(event))
        export_add_uint(&w->args, EXPORT_ARG_BYTES,
                        ts_event_value(event, TS_COLUMN_SIZE));
    export_add_name(&w->args, EXPORT_ARG_CATEGORY,
                    ts_event_value(event, TS_COLUMN_CATEGORY));
    const uint32_t site = (uint32_t)ts_event_value(event, TS_COLUMN_SITE);
    if (site)
        export_add_text(&w->args, EXPORT_ARG_ZONE,
                        ts_reader_site_name(w->reader, site));
    export_add_track(&w->args, EXPORT_ARG_THREAD, event->track);
    give_args(w, &item, from);
    export_rows_instant(&w->rows, pool, &item);
    sample_memory(w, event);
}

// With a range, computes the totals at its start from earlier events.
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
        export_cursor_open(&cursor, w->reader, &before) != TS_OK)
        return;
    while (ts_cursor_next(cursor, &event))
        if (export_end_ns(&event) < before.to_ns)
            count_memory(w, pool_of(w, &event), &event, is_alloc(&event));
    export_cursor_close(cursor);
}

/* ---- GPU operations ----------------------------------------------------- */

static void name_operation(walk *w, const ts_event *event, export_item *item)
{
    static const char *const copies[] = { "memcpy",     "memcpy h2d",
                                          "memcpy d2h", "memcpy d2d",
                                          "memcpy h2h", "memcpy p2p" };
    const uint64_t type = ts_event_value(event, TS_COLUMN_TYPE);
    if (event->kind == TS_EVENT_MEMCPY && type < 6)
        item->name = export_text(copies[type]);
    else if (event->kind == TS_EVENT_KERNEL && item->shared &&
             item->shared->name.size)
        item->name = item->shared->name, item->name_shared = true;
    else
        item->name = ts_event_label(w->reader, event);
    item->name_kept = true;
    ts_text *const category = &w->categories[event->kind % TS_EVENT_LIMIT];
    if (!category->size) *category = export_text(ts_event_name(event->kind));
    item->category = *category;
}

// Rows of a chunk come nearly in order of time. Where a chunk has rows of many
// tracks, the next ones say which lanes are needed soon: with thousands of
// them, each would wait for memory several times.
static void prefetch_lanes(walk *w, const ts_event *event)
{
    const ts_columns *const columns = event->columns;
    if (!columns->tracks) return;
    for (uint32_t stage = 0; stage < EXPORT_STAGES; stage++) {
        const uint32_t ahead = AHEAD * (EXPORT_STAGES - stage);
        if (columns->count - event->row > ahead)
            export_rows_prefetch(&w->rows, columns->tracks[event->row + ahead],
                                 stage);
    }
}

// An operation need not be held back: no later event belongs to it.
static void take_operation(walk *w, const ts_event *event)
{
    export_item item = { .start_ns = event->start_ns,
                         .end_ns = export_end_ns(event),
                         .stack = stack_of(w, event) };
    flush_group(w);
    prefetch_lanes(w, event);
    if (w->links) export_links_next(w->links, event, &item.arrows);
    if (!w->options->no_args) {
        item.shared = export_args_shared(&w->args, event);
        export_add_operation(&w->args, event);
    }
    name_operation(w, event, &item);
    give_args(w, &item, 0);
    count_arrows(w, &item.arrows);
    export_rows_slice(&w->rows, export_rows_track(&w->rows, event->track),
                      &item);
    w->args.count = 0;
    if (event->kind == TS_EVENT_GPU_ALLOC || event->kind == TS_EVENT_GPU_FREE)
        sample_memory(w, event);
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
    case TS_EVENT_DEPENDENCY: break; // an edge of the graph; not shown
    case TS_EVENT_ACCESS: take_access(w, event); break;
    case TS_EVENT_SAMPLE: take_sample(w, event); break;
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
        if (export_out_error(out)) break; // further output would be discarded
    }
    if (result == TS_OK) result = export_feed_result(feed);
    export_feed_close(feed);
    flush_group(w);
    return result;
}

// Ends what is still open at the end of the trace, marked as unfinished.
static void finish(walk *w)
{
    for (export_row *row = w->rows.first; row; row = row->next)
        end_frame(w, row, w->end_ns, false);
    export_show_losses(&w->rows, &w->args, w->options);
    export_show_damage(&w->rows, &w->args, w->options);
    export_rows_finish(&w->rows, w->end_ns);
}

static void walk_free(walk *w)
{
    export_links_close(w->links);
    export_map_free(&w->spans);
    export_map_free(&w->flows);
    export_map_free(&w->live);
    export_resize(w->held, 0);
    export_args_free(&w->args);
    export_resize(w->gathered.data, 0);
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
    if (info->first_ns < 0)
        target.shift_ns = -(info->first_ns + (info->first_ns == INT64_MIN));
    *counts = (export_counts){ 0 };
    const ts_filter filter = { .from_ns = options->from_ns,
                               .to_ns = options->to_ns };
    walk w = { .reader = reader,
               .options = options,
               .counts = counts,
               .several = cli_has_processes(reader) };
    w.end_ns = ranged && options->to_ns < info->last_ns ? options->to_ns
                                                        : info->last_ns;
    w.args = (export_args){ .reader = reader, .rows = &w.rows };
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
    return name.size ? name : export_text("unnamed");
}

ts_text export_item_category(const ts_reader *reader, const export_item *item)
{
    if (item->category.size || !item->site) return item->category;
    const ts_site_entry *const site = ts_reader_site(reader, item->site);
    return ts_reader_name(reader, site ? site->category : 0);
}

void export_put_frame(export_buffer *buffer, const ts_reader *reader,
                      const ts_frame_entry *frame, uint32_t at)
{
    const ts_text text = symbolize_text(reader, frame, at);
    export_put(buffer, text.text, text.size);
}
