/*
    chrome.c - Chrome's JSON, for chrome://tracing and other viewers

    Slices are complete events ("X"), except spans ("b", "e"), whose end is
    unknown when they begin. Times are microseconds with three decimals, printed
    from integers. Each lane is a thread, because viewers of this format drop
    overlapping slices of a thread. A device is a process, because the format
    has no level between process and thread. Arrows use bind_id, which refers to
    a slice; other arrows bind to whatever slice is there at their time.

    Source: "Trace Event Format", Google, 2016; catapult's color_scheme.html.
*/
#include "tools/export/json.h"
#include "tools/common/symbolize/symbolize.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

// Ids of invented threads and processes start here; real ones are below 2^22.
#define MADE_UP 1000000000u

typedef struct place { // the place of a lane
    uint64_t process, thread;
} place;

typedef struct chrome {
    const export_target *target;
    ts_reader *reader;
    export_out *out;
    export_buffer block;
    bool filled; // at least one event was written
    bool no_args;
    export_map threads; // process and thread -> in use
    export_map sites;   // site -> index + 1 of its text
    export_buffer *site_texts;
    size_t site_count, site_capacity;
    export_buffer *shared_texts; // of shared arguments, by id - 1
    size_t shared_count, shared_capacity;
} chrome;

/* ---- JSON --------------------------------------------------------------- */

// Inline, so that the size of a literal is known.
static inline __attribute__((always_inline)) void add(export_buffer *b,
                                                      const char *text)
{
    export_put(b, text, strlen(text));
}

static inline __attribute__((always_inline)) void put(chrome *c,
                                                      const char *text)
{
    add(&c->block, text);
}

/* ---- Events ------------------------------------------------------------- */

// Appends {"ph":"X","pid":1,"tid":2,"ts":3.000
static void event_begin(chrome *c, const char *phase, const export_lane *lane,
                        int64_t time_ns)
{
    const place *const at = lane->state;
    put(c, c->filled ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
    c->filled = true;
    put(c, phase);
    put(c, "\",\"pid\":");
    export_json_uint(&c->block, at->process);
    put(c, ",\"tid\":");
    export_json_uint(&c->block, at->thread);
    put(c, ",\"ts\":");
    export_json_us(&c->block,
                   (uint64_t)time_ns + (uint64_t)c->target->shift_ns);
}

static void event_end(chrome *c)
{
    put(c, "}");
    if (c->block.size >= EXPORT_BLOCK_BYTES)
        export_out_block(c->out, &c->block);
}

// Returns the reserved colour name closest to a colour. Only catapult uses it.
static const char *color_name(uint32_t color)
{
    static const struct {
        const char *name;
        uint8_t r, g, b;
    } colors[] = {
        { "thread_state_uninterruptible", 182, 125, 143 },
        { "thread_state_iowait", 255, 140, 0 },
        { "thread_state_running", 126, 200, 148 },
        { "thread_state_runnable", 133, 160, 210 },
        { "thread_state_unknown", 199, 155, 125 },
        { "background_memory_dump", 0, 180, 180 },
        { "light_memory_dump", 0, 0, 180 },
        { "detailed_memory_dump", 180, 0, 180 },
        { "vsync_highlight_color", 0, 0, 255 },
        { "good", 0, 125, 0 },
        { "bad", 180, 125, 0 },
        { "terrible", 180, 0, 0 },
        { "black", 0, 0, 0 },
        { "grey", 221, 221, 221 },
        { "white", 255, 255, 255 },
        { "yellow", 255, 255, 0 },
        { "olive", 100, 100, 0 },
        { "rail_idle", 238, 142, 0 },
        { "cq_build_failed", 255, 0, 0 },
    };
    size_t best = 0;
    int best_distance = INT32_MAX;
    for (size_t i = 0; i < sizeof colors / sizeof *colors; i++) {
        const int r = (int)(color >> 16 & 255) - colors[i].r;
        const int g = (int)(color >> 8 & 255) - colors[i].g;
        const int b = (int)(color & 255) - colors[i].b;
        const int distance = r * r + g * g + b * b;
        if (distance < best_distance) best_distance = distance, best = i;
    }
    return colors[best].name;
}

// Returns the text that all events of a site share, made once:
// ,"name":..,"cat":..,"cname":.. and the start of its arguments.
static const export_buffer *site_text(chrome *c, uint32_t id)
{
    uint64_t *const index = export_map_at(&c->sites, id);
    if (*index) return &c->site_texts[*index - 1];
    c->site_texts = export_grow(c->site_texts, &c->site_capacity, c->site_count,
                                sizeof *c->site_texts);
    export_buffer *const b = &c->site_texts[c->site_count++];
    *index = c->site_count;
    *b = (export_buffer){ 0 };
    const export_item item = { .site = id };
    const ts_text category = export_item_category(c->reader, &item);
    export_put(b, ",\"name\":", 8);
    export_json_string(b, export_item_name(c->reader, &item));
    if (category.size) {
        export_put(b, ",\"cat\":", 7);
        export_json_string(b, category);
    }
    const ts_site_entry *const site = ts_reader_site(c->reader, id);
    if (site && site->color) {
        const char *const name = color_name(site->color);
        export_put(b, ",\"cname\":\"", 10);
        export_put(b, name, strlen(name));
        export_put(b, "\"", 1);
    }
    return b;
}

static void put_names(chrome *c, const export_item *item)
{
    if (item->site && !item->name.size && !item->category.size) {
        const export_buffer *const text = site_text(c, item->site);
        export_put(&c->block, text->data, text->size);
        return;
    }
    const ts_text category = export_item_category(c->reader, item);
    put(c, ",\"name\":");
    export_json_string(&c->block, export_item_name(c->reader, item));
    if (!category.size) return;
    put(c, ",\"cat\":");
    export_json_string(&c->block, category);
}

static void put_value(export_buffer *b, const export_arg *arg)
{
    switch (arg->type) {
    case EXPORT_INT: export_json_int(b, arg->u.number); break;
    case EXPORT_UINT: export_json_uint(b, arg->u.uint); break;
    case EXPORT_DOUBLE: export_json_double(b, arg->u.real); break;
    case EXPORT_TEXT: export_json_string(b, arg->u.text); break;
    case EXPORT_ADDRESS: // as text: JSON readers keep only 53 bits of a number
        export_put(b, "\"", 1);
        export_put_hex(b, arg->u.uint);
        export_put(b, "\"", 1);
        break;
    case EXPORT_TRUE: add(b, "true"); break;
    case EXPORT_TRIPLE:
        for (int i = 0; i < 3; i++) {
            add(b, i ? "," : "[");
            export_json_uint(b, arg->u.triple[i]);
        }
        add(b, "]");
        break;
    }
}

static void put_key(chrome *c, bool *filled, ts_text key)
{
    put(c, *filled ? "," : ",\"args\":{");
    *filled = true;
    export_json_string(&c->block, key);
    put(c, ":");
}

static void put_arg_key(chrome *c, bool *filled, const export_arg *arg)
{
    if (!arg->repeat) {
        put_key(c, filled, arg->name);
        return;
    }
    export_buffer name = { 0 };
    export_put_arg_name(&name, arg);
    put_key(c, filled, (ts_text){ (char *)name.data, name.size });
    export_resize(name.data, 0);
}

static void put_place(chrome *c, bool *filled, const ts_site_entry *site)
{
    const ts_text file = ts_reader_name(c->reader, site->file);
    const ts_text function = ts_reader_name(c->reader, site->function);
    if (file.size) {
        put_key(c, filled, (ts_text){ "source.file_name", 16 });
        export_json_string(&c->block, file);
        put_key(c, filled, (ts_text){ "source.line_number", 18 });
        export_json_uint(&c->block, site->line);
    }
    if (function.size) {
        put_key(c, filled, (ts_text){ "source.function_name", 20 });
        export_json_string(&c->block, function);
    }
    if (site->color) {
        char text[16];
        snprintf(text, sizeof text, "#%06X", site->color & 0xFFFFFF);
        put_key(c, filled, (ts_text){ "color", 5 });
        export_json_string(&c->block, (ts_text){ text, 7 });
    }
}

// Appends a stack, innermost function first: "work;libx.so+0x1f20;app+0x400".
static void put_stack(chrome *c, bool *filled, uint32_t stack)
{
    const ts_frame_entry *frames;
    const uint32_t count = ts_reader_stack(c->reader, stack, &frames);
    if (!count) return;
    export_buffer text = { 0 };
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t depth = symbolize_depth(c->reader, &frames[i]);
        for (uint32_t k = 0; k < depth; k++) {
            if (text.size) export_put(&text, ";", 1);
            export_put_frame(&text, c->reader, &frames[i], k);
        }
    }
    put_key(c, filled, (ts_text){ "stack", 5 });
    export_json_string(&c->block, (ts_text){ (char *)text.data, text.size });
    export_resize(text.data, 0);
}

// Returns ,"key":value for each of some shared arguments, made once.
static const export_buffer *shared_text(chrome *c, const export_shared *shared)
{
    while (c->shared_count < shared->id) {
        c->shared_texts = export_grow(c->shared_texts, &c->shared_capacity,
                                      c->shared_count, sizeof(export_buffer));
        c->shared_texts[c->shared_count++] = (export_buffer){ 0 };
    }
    export_buffer *const b = &c->shared_texts[shared->id - 1];
    if (b->size) return b;
    for (uint32_t i = 0; i < shared->count; i++) {
        add(b, ",");
        export_json_string(b, shared->args[i].name);
        add(b, ":");
        put_value(b, &shared->args[i]);
    }
    return b;
}

static void put_shared(chrome *c, bool *filled, const export_shared *shared)
{
    const export_buffer *const text = shared_text(c, shared);
    if (!*filled) put(c, ",\"args\":{");
    export_put(&c->block, text->data + !*filled, text->size - !*filled);
    *filled = true;
}

static void put_args(chrome *c, const export_item *item, const char *category)
{
    bool filled = false;
    const ts_site_entry *const site =
        item->site ? ts_reader_site(c->reader, item->site) : NULL;
    for (uint32_t i = 0; i < item->arg_count; i++) {
        put_arg_key(c, &filled, &item->args[i]);
        put_value(&c->block, &item->args[i]);
    }
    if (item->shared && item->shared->count)
        put_shared(c, &filled, item->shared);
    if (category) {
        const ts_text own = export_item_category(c->reader, item);
        if (own.size) put_key(c, &filled, (ts_text){ category, 8 });
        if (own.size) export_json_string(&c->block, own);
    }
    if (site && !c->no_args) put_place(c, &filled, site);
    if (item->stack) put_stack(c, &filled, item->stack);
    if (filled) put(c, "}");
}

// Offset of the arrow ids used with bind_id. Trace processors number other
// arrows from 0 and would merge arrows with equal numbers.
enum { BOUND = 1 << 30 };

// All arrows of a launch share one id: any number of slices may receive it.
static void put_arrows(chrome *c, const export_arrows *arrows)
{
    const uint64_t target = arrows->is_late ? 0 : arrows->target;
    const uint64_t launch = arrows->source ? arrows->source : target;
    if (!launch && !arrows->phase) return;
    const bool out = arrows->source || arrows->phase == TS_PHASE_START ||
                     arrows->phase == TS_PHASE_STEP;
    const bool in = target || arrows->phase == TS_PHASE_STEP ||
                    arrows->phase == TS_PHASE_END;
    put(c, ",\"bind_id\":\"");
    export_put_hex(&c->block, arrows->phase
                                  ? export_flow_number(arrows->flow)
                                  : export_launch_number(launch, BOUND));
    put(c, "\"");
    if (in) put(c, ",\"flow_in\":true");
    if (out) put(c, ",\"flow_out\":true");
}

// Writes an arrow as two events, "s" and "f": for operations that seem to begin
// before their launch, because clocks disagree.
static void put_late_arrow(chrome *c, const export_lane *lane,
                           const char *phase, int64_t time_ns, uint64_t number)
{
    event_begin(c, phase, lane, time_ns);
    put(c, ",\"bp\":\"e\",\"cat\":\"launch\",\"name\":\"launch\",\"id\":\"");
    export_put_hex(&c->block, number);
    put(c, "\"");
    event_end(c);
}

static void put_late_arrows(chrome *c, const export_lane *lane,
                            const export_item *item)
{
    const export_arrows *const arrows = &item->arrows;
    for (uint32_t i = 0; arrows->has_late && i < arrows->fan_out; i++)
        put_late_arrow(c, lane, "s", item->start_ns,
                       export_launch_number(arrows->source, i));
    if (arrows->is_late)
        put_late_arrow(c, lane, "f", arrows->source_ns + 1,
                       export_launch_number(arrows->target, arrows->arrow));
}

static void chrome_slice(void *self, export_lane *lane, const export_item *item)
{
    chrome *const c = self;
    if (lane->kind == EXPORT_ASYNC) {
        event_begin(c, "b", lane, item->start_ns);
        put(c, ",\"id\":");
        export_json_uint(&c->block, lane->id);
        put(c, ",\"cat\":\"span\",\"name\":");
        export_json_string(&c->block, export_item_name(c->reader, item));
        put_args(c, item, "category");
    } else {
        event_begin(c, "X", lane, item->start_ns);
        put(c, ",\"dur\":");
        export_json_us(&c->block,
                       (uint64_t)item->end_ns - (uint64_t)item->start_ns);
        put_names(c, item);
        put_arrows(c, &item->arrows);
        put_args(c, item, NULL);
    }
    event_end(c);
    put_late_arrows(c, lane, item);
}

static void chrome_end(void *self, export_lane *lane, const export_open *slice)
{
    chrome *const c = self;
    if (lane->kind != EXPORT_ASYNC) return;
    event_begin(c, "e", lane, slice->end_ns);
    put(c, ",\"id\":");
    export_json_uint(&c->block, lane->id);
    put(c, ",\"cat\":\"span\"");
    if (slice->is_unfinished) put(c, ",\"args\":{\"unfinished\":true}");
    event_end(c);
}

// Arrows need slices, so the points of a flow become slices without duration.
static void chrome_instant(void *self, export_lane *lane,
                           const export_item *item)
{
    chrome *const c = self;
    event_begin(c, item->arrows.phase ? "X" : "i", lane, item->start_ns);
    put(c, item->arrows.phase ? ",\"dur\":0" : ",\"s\":\"t\"");
    put_names(c, item);
    put_arrows(c, &item->arrows);
    put_args(c, item, NULL);
    event_end(c);
}

/* ---- Lanes -------------------------------------------------------------- */

// Appends a lane's name with those of its parents below the process: "Memory:
// heap: live bytes".
static void put_lane_name(export_buffer *b, const export_lane *lane)
{
    const export_lane *const parent = lane->parent;
    if (parent && parent->kind != EXPORT_PROCESS &&
        parent->kind != EXPORT_DEVICE) {
        put_lane_name(b, parent);
        export_put(b, ": ", 2);
    }
    export_json_escaped(b, lane->name);
}

// A counter cannot show NaN and infinities; an instant can.
static void chrome_sample(void *self, export_lane *lane, int64_t time_ns,
                          ts_value_type type, uint64_t bits)
{
    chrome *const c = self;
    export_buffer *const b = &c->block;
    double value;
    memcpy(&value, &bits, sizeof value);
    const bool is_double = type == TS_VALUE_DOUBLE;
    const bool is_odd = is_double && !isfinite(value);
    event_begin(c, is_odd ? "i" : "C", lane, time_ns);
    put(c, is_odd ? ",\"s\":\"p\",\"name\":\"" : ",\"name\":\"");
    put_lane_name(b, lane);
    put(c, "\",\"args\":{\"");
    if (lane->unit.size)
        export_json_escaped(b, lane->unit);
    else
        put(c, "value");
    put(c, lane->rate ? "/s\":" : "\":");
    if (is_double)
        export_json_double(b, value);
    else
        export_json_int(b, (int64_t)bits);
    put(c, "}");
    event_end(c);
}

static void put_meta(chrome *c, const place *at, const char *what,
                     const export_lane *lane)
{
    put(c, c->filled ? ",\n" : "\n");
    c->filled = true;
    put(c, "{\"ph\":\"M\",\"pid\":");
    export_json_uint(&c->block, at->process);
    put(c, ",\"tid\":");
    export_json_uint(&c->block, at->thread);
    put(c, ",\"name\":\"");
    put(c, what);
    put(c, "_name\",\"args\":{\"name\":\"");
    put_lane_name(&c->block, lane);
    put(c, "\"}},\n{\"ph\":\"M\",\"pid\":");
    export_json_uint(&c->block, at->process);
    put(c, ",\"tid\":");
    export_json_uint(&c->block, at->thread);
    put(c, ",\"name\":\"");
    put(c, what);
    put(c, "_sort_index\",\"args\":{\"sort_index\":");
    export_json_uint(&c->block, lane->id);
    put(c, "}}");
}

// Returns the thread's own id, unless another lane uses it already.
static uint64_t thread_number(chrome *c, const place *at,
                              const export_lane *lane)
{
    if (lane->kind != EXPORT_THREAD || lane->first) return MADE_UP + lane->id;
    if (lane->number >= MADE_UP) return MADE_UP + lane->id;
    uint64_t *const taken =
        export_map_at(&c->threads, at->process << 32 | lane->number);
    if (*taken) return MADE_UP + lane->id;
    *taken = 1;
    return lane->number;
}

static void chrome_lane(void *self, export_lane *lane)
{
    chrome *const c = self;
    place *const at = export_zeroed(1, sizeof *at);
    lane->state = at;
    if (lane->kind == EXPORT_PROCESS || lane->kind == EXPORT_DEVICE) {
        at->process = lane->kind == EXPORT_PROCESS && lane->process < MADE_UP
                          ? lane->process
                          : MADE_UP + lane->id;
        put_meta(c, at, "process", lane);
        if (lane->kind == EXPORT_PROCESS && !lane->first) return;
    } else {
        at->process = ((const place *)lane->parent->state)->process;
    }
    at->thread = thread_number(c, at, lane);
    if (lane->kind != EXPORT_GROUP && lane->kind != EXPORT_COUNTER)
        put_meta(c, at, "thread", lane);
}

static void chrome_free_lane(void *self, export_lane *lane)
{
    (void)self;
    export_resize(lane->state, 0);
}

/* ---- Head and tail ------------------------------------------------------ */

static void *chrome_open(const export_target *target)
{
    chrome *const c = export_zeroed(1, sizeof *c);
    c->target = target;
    c->reader = target->reader;
    c->out = target->out;
    c->no_args = target->options->no_args;
    put(c, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
    return c;
}

static void put_metadata(chrome *c, const ts_metadata *m)
{
    export_buffer *const b = &c->block;
    ts_track track;
    put(c, ",\n\"");
    if (m->track && ts_reader_track(c->reader, m->track, &track)) {
        export_buffer name = { 0 };
        export_put_track_name(&name, &track);
        export_json_escaped(b, (ts_text){ (char *)name.data, name.size });
        put(c, ".");
        export_resize(name.data, 0);
    }
    export_json_escaped(b, m->key);
    put(c, "\":");
    switch (m->type) {
    case TS_VALUE_INT: export_json_int(b, m->number); break;
    case TS_VALUE_DOUBLE: export_json_double(b, m->real); break;
    default: export_json_string(b, m->text); break;
    }
}

static void chrome_close(void *self)
{
    chrome *const c = self;
    const ts_info *const info = ts_reader_info(c->reader);
    put(c, "\n],\"otherData\":{\n\"trace.start_realtime_ns\":");
    export_json_uint(&c->block, info->start_realtime_ns);
    put(c, ",\n\"trace.time_shift_ns\":");
    export_json_int(&c->block, c->target->shift_ns);
    put(c, ",\n\"trace.lost\":");
    export_json_uint(&c->block, info->lost);
    ts_metadata m;
    for (size_t i = 0; ts_reader_metadata_at(c->reader, i, &m); i++)
        put_metadata(c, &m);
    put(c, "}}\n");
    export_out_block(c->out, &c->block);

    for (size_t i = 0; i < c->site_count; i++)
        export_resize(c->site_texts[i].data, 0);
    export_resize(c->site_texts, 0);
    for (size_t i = 0; i < c->shared_count; i++)
        export_resize(c->shared_texts[i].data, 0);
    export_resize(c->shared_texts, 0);
    export_map_free(&c->sites);
    export_map_free(&c->threads);
    export_resize(c->block.data, 0);
    export_resize(c, 0);
}

static const char *const suffixes[] = { ".json", ".json.gz", NULL };

const export_format export_chrome = {
    .name = "chrome",
    .kind = CLI_CHROME,
    .suffixes = suffixes,
    .packing = EXPORT_GZIP,
    .open = chrome_open,
    .lane = chrome_lane,
    .slice = chrome_slice,
    .end = chrome_end,
    .instant = chrome_instant,
    .sample = chrome_sample,
    .free_lane = chrome_free_lane,
    .close = chrome_close,
};
