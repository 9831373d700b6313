/*
    perfetto.c - Perfetto's protobuf trace

    Every lane is a packet sequence of its own: its track is the sequence's
    default, its times are differences to the packet before, its names are
    numbers. A begin then takes 12 to 14 bytes and an end 11, before packing.
    What a sequence uses for the first time is defined in the same packet.

    Field numbers are those of perfetto's protos/perfetto/trace/:
    trace_packet, track_event, debug_annotation, interned_data and others.
*/
#include "tools/export/export.h"
#include "tools/export/export_proto.h"
#include <stdio.h>

enum { // TracePacket
    PACKET = 1,
    PACKET_CLOCKS = 6,
    PACKET_TIME = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_TIME_CLOCK = 58,
    PACKET_DEFAULTS = 59,
    PACKET_TRACK = 60,
    PACKET_ATTRIBUTES = 126
};

enum { // TrackEvent
    EVENT_CATEGORY = 3,
    EVENT_ARG = 4,
    EVENT_TYPE = 9,
    EVENT_NAME_ID = 10,
    EVENT_TRACK = 11,
    EVENT_LOG = 21,
    EVENT_NAME = 23,
    EVENT_INT = 30,
    EVENT_PLACE = 34,
    EVENT_DOUBLE = 44,
    EVENT_FLOW = 47,
    EVENT_LAST_FLOW = 48,
    EVENT_STACK = 56
};

enum { BEGIN = 1, FINISH = 2, INSTANT = 3, SAMPLE = 4 }; // EVENT_TYPE

enum { // InternedData
    INTERNED_CATEGORY = 1,
    INTERNED_NAME = 2,
    INTERNED_ARG_NAME = 3,
    INTERNED_PLACE = 4,
    INTERNED_FUNCTION = 5,
    INTERNED_FRAME = 6,
    INTERNED_STACK = 7,
    INTERNED_LOG = 20,
    INTERNED_KINDS = 21
};

enum { CLOCK_BOOT = 6, CLOCK_REAL = 1, CLOCK_OURS = 64 };

// What a sequence knows of a site, so that a zone costs one look-up.
typedef struct known_site {
    uint32_t name, category, place;
} known_site;

typedef struct sequence {
    uint32_t id;
    bool begun;
    int64_t last_ns;
    uint64_t arg_names;   // bit n: our name n is defined
    const char *category; // the last one, and its number
    uint32_t category_number;
    uint32_t counts[INTERNED_KINDS]; // numbers given out so far
    export_map texts;                // address of a text and kind -> number
    export_map stacks;               // stack -> number
    export_map sites;                // site -> index + 1
    known_site *known;
    size_t known_count, known_capacity;
} sequence;

typedef struct perfetto {
    const export_target *target;
    ts_reader *reader;
    export_out *out;
    export_buffer block;    // whole packets
    export_buffer interned; // InternedData of the packet that is being made
    bool no_args;
} perfetto;

/* ---- Packets ------------------------------------------------------------ */

static void packet_end(perfetto *p, size_t packet)
{
    proto_end(&p->block, packet);
    if (p->block.size >= EXPORT_BLOCK_BYTES)
        export_out_block(p->out, &p->block);
}

static uint64_t time_of(const perfetto *p, int64_t time_ns)
{
    return (uint64_t)time_ns + (uint64_t)p->target->shift_ns;
}

static void put_clock(export_buffer *b, uint32_t clock, uint64_t time)
{
    const size_t entry = proto_begin(b, 1);
    proto_uint(b, 1, clock);
    proto_uint(b, 2, time);
    if (clock == CLOCK_OURS) proto_uint(b, 3, 1); // differences
    proto_end(b, entry);
}

// The first packet of a sequence: its clock and its track.
static void sequence_begin(perfetto *p, sequence *s, const export_lane *lane,
                           int64_t time_ns)
{
    export_buffer *const b = &p->block;
    const size_t packet = proto_begin(b, PACKET);
    proto_uint(b, PACKET_SEQUENCE, s->id);
    proto_uint(b, PACKET_FLAGS, 1); // a new state
    const size_t clocks = proto_begin(b, PACKET_CLOCKS);
    put_clock(b, CLOCK_OURS, 0);
    put_clock(b, CLOCK_BOOT, time_of(p, time_ns));
    proto_end(b, clocks);
    const size_t defaults = proto_begin(b, PACKET_DEFAULTS);
    proto_uint(b, PACKET_TIME_CLOCK, CLOCK_OURS);
    const size_t event = proto_begin(b, 11);
    proto_uint(b, EVENT_TRACK, lane->id);
    proto_end(b, event);
    proto_end(b, defaults);
    packet_end(p, packet);
    s->begun = true;
    s->last_ns = time_ns;
}

// Begins a packet of the lane's sequence at a time that never falls.
static size_t packet_at(perfetto *p, const export_lane *lane, int64_t time_ns)
{
    sequence *const s = lane->state;
    if (!s->begun) sequence_begin(p, s, lane, time_ns);
    const size_t packet = proto_begin(&p->block, PACKET);
    proto_uint(&p->block, PACKET_TIME,
               (uint64_t)time_ns - (uint64_t)s->last_ns);
    proto_uint(&p->block, PACKET_SEQUENCE, s->id);
    s->last_ns = time_ns;
    return packet;
}

/* ---- Interning ---------------------------------------------------------- */

static void define_as(perfetto *p, uint32_t kind, uint32_t number, ts_text text)
{
    const size_t entry = proto_begin(&p->interned, kind);
    proto_uint(&p->interned, 1, number);
    proto_text(&p->interned, 2, text.text, text.size);
    proto_end(&p->interned, entry);
}

// A new number for a text; its definition goes out with the packet.
static uint32_t define(perfetto *p, sequence *s, uint32_t kind, ts_text text)
{
    define_as(p, kind, ++s->counts[kind], text);
    return s->counts[kind];
}

// The number of a text that lives as long as the trace, 0 for an empty one.
static uint32_t intern(perfetto *p, sequence *s, uint32_t kind, ts_text text)
{
    if (!text.size) return 0;
    const uint64_t key = (uint64_t)(uintptr_t)text.text << 3 | kind;
    uint64_t *const number = export_map_at(&s->texts, key);
    if (!*number) *number = define(p, s, kind, text);
    return (uint32_t)*number;
}

// One lane has few categories; most often the one of before.
static uint32_t intern_category(perfetto *p, sequence *s, ts_text text)
{
    if (s->category != text.text) {
        s->category_number = intern(p, s, INTERNED_CATEGORY, text);
        s->category = text.text;
    }
    return s->category_number;
}

static uint32_t define_place(perfetto *p, sequence *s,
                             const ts_site_entry *site)
{
    const ts_text file = ts_reader_name(p->reader, site->file);
    const ts_text function = ts_reader_name(p->reader, site->function);
    if (!file.size && !function.size) return 0;
    const uint32_t number = ++s->counts[INTERNED_PLACE];
    export_buffer *const b = &p->interned;
    const size_t entry = proto_begin(b, INTERNED_PLACE);
    proto_uint(b, 1, number);
    if (file.size) proto_text(b, 2, file.text, file.size);
    if (function.size) proto_text(b, 3, function.text, function.size);
    if (site->line) proto_uint(b, 4, site->line);
    proto_end(b, entry);
    return number;
}

static known_site intern_site(perfetto *p, sequence *s, uint32_t id)
{
    uint64_t *const index = export_map_at(&s->sites, id);
    if (*index) return s->known[*index - 1];
    known_site made = { 0, 0, 0 };
    const ts_site_entry *const site = ts_reader_site(p->reader, id);
    const export_item item = { .site = id };
    made.name = intern(p, s, INTERNED_NAME, export_item_name(p->reader, &item));
    made.category =
        intern(p, s, INTERNED_CATEGORY, export_item_category(p->reader, &item));
    if (site && !p->no_args) made.place = define_place(p, s, site);
    s->known =
        export_grow(s->known, &s->known_capacity, s->known_count, sizeof made);
    s->known[s->known_count++] = made;
    *index = s->known_count;
    return made;
}

// A stack and its frames, outermost first. Frames are not looked up: stacks
// are few, and a frame is small.
static uint32_t define_stack(perfetto *p, sequence *s, uint32_t stack)
{
    export_buffer *const b = &p->interned;
    const ts_frame_entry *frames;
    const uint32_t count = ts_reader_stack(p->reader, stack, &frames);
    const uint32_t first = s->counts[INTERNED_FRAME] + 1;
    if (!count) return 0;
    for (uint32_t i = count; i-- > 0;) {
        export_buffer name = { 0 };
        export_put_frame(&name, p->reader, &frames[i]);
        const uint32_t function = define(
            p, s, INTERNED_FUNCTION, (ts_text){ (char *)name.data, name.size });
        export_resize(name.data, 0);
        const size_t frame = proto_begin(b, INTERNED_FRAME);
        proto_uint(b, 1, ++s->counts[INTERNED_FRAME]);
        proto_uint(b, 2, function);
        proto_end(b, frame);
    }
    const size_t entry = proto_begin(b, INTERNED_STACK);
    proto_uint(b, 1, ++s->counts[INTERNED_STACK]);
    for (uint32_t i = 0; i < count; i++)
        proto_uint(b, 2, first + i);
    proto_end(b, entry);
    return s->counts[INTERNED_STACK];
}

static uint32_t intern_stack(perfetto *p, sequence *s, uint32_t stack)
{
    if (!stack) return 0;
    uint64_t *const number = export_map_at(&s->stacks, stack);
    if (!*number) *number = define_stack(p, s, stack);
    return (uint32_t)*number;
}

static void put_interned(perfetto *p)
{
    if (!p->interned.size) return;
    const size_t data = proto_begin(&p->block, PACKET_INTERNED);
    export_put(&p->block, p->interned.data, p->interned.size);
    proto_end(&p->block, data);
    p->interned.size = 0;
}

/* ---- Events ------------------------------------------------------------- */

enum { // DebugAnnotation
    ARG_NAME_ID = 1,
    ARG_BOOL = 2,
    ARG_UINT = 3,
    ARG_INT = 4,
    ARG_DOUBLE = 5,
    ARG_TEXT = 6,
    ARG_POINTER = 7,
    ARG_NAME = 10,
    ARG_ARRAY = 12
};

static void put_value(export_buffer *b, const export_arg *arg)
{
    switch (arg->type) {
    case EXPORT_INT: proto_uint(b, ARG_INT, (uint64_t)arg->u.number); break;
    case EXPORT_UINT: proto_uint(b, ARG_UINT, arg->u.uint); break;
    case EXPORT_DOUBLE: proto_double(b, ARG_DOUBLE, arg->u.real); break;
    case EXPORT_TEXT:
        proto_text(b, ARG_TEXT, arg->u.text.text, arg->u.text.size);
        break;
    case EXPORT_ADDRESS: proto_uint(b, ARG_POINTER, arg->u.uint); break;
    case EXPORT_TRUE: proto_uint(b, ARG_BOOL, 1); break;
    case EXPORT_TRIPLE:
        for (int i = 0; i < 3; i++) {
            const size_t element = proto_begin(b, ARG_ARRAY);
            proto_uint(b, ARG_UINT, arg->u.triple[i]);
            proto_end(b, element);
        }
        break;
    }
}

// Our own names have fixed numbers, the program's follow them.
static uint32_t intern_arg_name(perfetto *p, sequence *s, const export_arg *arg)
{
    if (!arg->known) return intern(p, s, INTERNED_ARG_NAME, arg->name);
    const uint64_t bit = UINT64_C(1) << arg->known;
    if (!(s->arg_names & bit))
        define_as(p, INTERNED_ARG_NAME, arg->known, arg->name);
    s->arg_names |= bit;
    return arg->known;
}

static void put_arg_name(export_buffer *b, const export_arg *arg)
{
    export_buffer name = { 0 };
    export_put_arg_name(&name, arg);
    proto_text(b, ARG_NAME, (char *)name.data, name.size);
    export_resize(name.data, 0);
}

static void put_arg(perfetto *p, sequence *s, const export_arg *arg)
{
    export_buffer *const b = &p->block;
    const uint32_t name = arg->repeat ? 0 : intern_arg_name(p, s, arg);
    const size_t annotation = proto_begin(b, EVENT_ARG);
    if (name)
        proto_uint(b, ARG_NAME_ID, name);
    else
        put_arg_name(b, arg);
    put_value(b, arg);
    proto_end(b, annotation);
}

static void put_color(perfetto *p, sequence *s, uint32_t site)
{
    const ts_site_entry *const entry =
        site ? ts_reader_site(p->reader, site) : NULL;
    if (!entry || !entry->color || p->no_args) return;
    char text[16];
    snprintf(text, sizeof text, "#%06X", entry->color & 0xFFFFFF);
    const export_arg color = { .known = EXPORT_ARG_COLOR,
                               .name = export_arg_names[EXPORT_ARG_COLOR],
                               .type = EXPORT_TEXT,
                               .u.text = { text, 7 } };
    put_arg(p, s, &color);
}

static void put_arrows(export_buffer *b, const export_arrows *arrows)
{
    for (uint32_t i = 0; i < arrows->fan_out; i++)
        proto_fixed64(b, EVENT_FLOW, export_launch_number(arrows->source, i));
    if (arrows->target && !arrows->is_late)
        proto_fixed64(b, EVENT_LAST_FLOW,
                      export_launch_number(arrows->target, arrows->arrow));
    if (arrows->phase)
        proto_fixed64(
            b, arrows->phase == TS_PHASE_END ? EVENT_LAST_FLOW : EVENT_FLOW,
            export_arrow_number(arrows->flow, 2));
}

// The text of a message is in the log too, with its place in the source.
static void put_log(perfetto *p, sequence *s, ts_text text, uint32_t place)
{
    export_buffer *const b = &p->block;
    const uint32_t number = define(p, s, INTERNED_LOG, text);
    const size_t log = proto_begin(b, EVENT_LOG);
    if (place) proto_uint(b, 1, place);
    proto_uint(b, 2, number);
    proto_end(b, log);
}

static void put_item(perfetto *p, const export_lane *lane,
                     const export_item *item, uint32_t type)
{
    sequence *const s = lane->state;
    export_buffer *const b = &p->block;
    const size_t packet = packet_at(p, lane, item->start_ns);
    const size_t event = proto_begin(b, PACKET_EVENT);
    proto_uint(b, EVENT_TYPE, type);
    known_site site = { 0, 0, 0 };
    if (item->site) site = intern_site(p, s, item->site);
    if (item->name.size && item->name_kept)
        site.name = intern(p, s, INTERNED_NAME, item->name);
    if (item->category.size)
        site.category = intern_category(p, s, item->category);
    if (item->name.size && !item->name_kept)
        proto_text(b, EVENT_NAME, item->name.text, item->name.size);
    else if (site.name)
        proto_uint(b, EVENT_NAME_ID, site.name);
    if (site.category) proto_uint(b, EVENT_CATEGORY, site.category);
    if (site.place) proto_uint(b, EVENT_PLACE, site.place);
    for (uint32_t i = 0; i < item->arg_count; i++)
        put_arg(p, s, &item->args[i]);
    put_color(p, s, item->site);
    put_arrows(b, &item->arrows);
    const uint32_t stack = intern_stack(p, s, item->stack);
    if (stack) proto_uint(b, EVENT_STACK, stack);
    if (item->is_log) put_log(p, s, item->name, site.place);
    proto_end(b, event);
    put_interned(p);
    packet_end(p, packet);
}

static void perfetto_slice(void *self, export_lane *lane,
                           const export_item *item)
{
    put_item(self, lane, item, BEGIN);
}

static void perfetto_instant(void *self, export_lane *lane,
                             const export_item *item)
{
    put_item(self, lane, item, INSTANT);
}

static void perfetto_end(void *self, export_lane *lane,
                         const export_open *slice)
{
    const export_arg unfinished = { .known = EXPORT_ARG_UNFINISHED,
                                    .name =
                                        export_arg_names[EXPORT_ARG_UNFINISHED],
                                    .type = EXPORT_TRUE };
    perfetto *const p = self;
    const size_t packet = packet_at(p, lane, slice->end_ns);
    const size_t event = proto_begin(&p->block, PACKET_EVENT);
    proto_uint(&p->block, EVENT_TYPE, FINISH);
    if (slice->is_unfinished) put_arg(p, lane->state, &unfinished);
    if (slice->late_arrow)
        proto_fixed64(&p->block, EVENT_LAST_FLOW, slice->late_arrow);
    proto_end(&p->block, event);
    put_interned(p);
    packet_end(p, packet);
}

static void perfetto_sample(void *self, export_lane *lane, int64_t time_ns,
                            ts_value_type type, uint64_t bits)
{
    perfetto *const p = self;
    const size_t packet = packet_at(p, lane, time_ns);
    const size_t event = proto_begin(&p->block, PACKET_EVENT);
    proto_uint(&p->block, EVENT_TYPE, SAMPLE);
    if (type == TS_VALUE_DOUBLE)
        proto_fixed64(&p->block, EVENT_DOUBLE, bits);
    else
        proto_uint(&p->block, EVENT_INT, bits);
    proto_end(&p->block, event);
    packet_end(p, packet);
}

/* ---- Tracks ------------------------------------------------------------- */

enum { // TrackDescriptor
    TRACK_ID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_THREAD = 4,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    TRACK_ORDER = 11,
    TRACK_RANK = 12,
    TRACK_MERGE = 15,
    TRACK_MERGE_KEY = 17
};

enum { ORDER_EXPLICIT = 3, MERGE_BY_KEY = 3 };

static void put_labels(perfetto *p)
{
    ts_metadata m;
    for (size_t i = 0; ts_reader_metadata_at(p->reader, i, &m); i++)
        if (!m.track && m.type == TS_VALUE_TEXT && m.key.size == 4 &&
            !memcmp(m.key.text, "host", 4))
            proto_text(&p->block, 8, m.text.text, m.text.size);
    if (!ts_reader_metadata(p->reader, 0, "rank", &m)) return;
    char text[32];
    const int size =
        snprintf(text, sizeof text, "rank %lld", (long long)m.number);
    if (m.type == TS_VALUE_INT) proto_text(&p->block, 8, text, (size_t)size);
}

static void put_process(perfetto *p, const export_lane *lane)
{
    export_buffer *const b = &p->block;
    const size_t process = proto_begin(b, TRACK_PROCESS);
    proto_uint(b, 1, lane->process);
    proto_text(b, 6, lane->name.text, lane->name.size);
    put_labels(p);
    proto_end(b, process);
}

static void put_thread(perfetto *p, const export_lane *lane)
{
    export_buffer *const b = &p->block;
    const size_t thread = proto_begin(b, TRACK_THREAD);
    proto_uint(b, 1, lane->process);
    proto_uint(b, 2, lane->number);
    proto_text(b, 5, lane->name.text, lane->name.size);
    proto_end(b, thread);
}

static bool text_is(ts_text text, const char *word)
{
    return text.size == strlen(word) && !memcmp(text.text, word, text.size);
}

static void put_counter(perfetto *p, const export_lane *lane)
{
    enum { UNIT = 3, UNIT_NAME = 6, UNIT_NS = 1, UNIT_BYTES = 3 };
    export_buffer *const b = &p->block;
    const size_t counter = proto_begin(b, TRACK_COUNTER);
    if (text_is(lane->unit, "bytes") && !lane->rate) {
        proto_uint(b, UNIT, UNIT_BYTES);
    } else if (text_is(lane->unit, "ns") && !lane->rate) {
        proto_uint(b, UNIT, UNIT_NS);
    } else if (lane->unit.size || lane->rate) {
        const size_t unit = proto_begin(b, UNIT_NAME);
        export_put_utf8(b, lane->unit.text, lane->unit.size);
        if (lane->rate) export_put(b, "/s", 2);
        proto_end(b, unit);
    }
    proto_end(b, counter);
}

// Further lanes of a thread hang below it; those of another row are its
// siblings and are shown as one with it, which `merge` makes sure of.
static void perfetto_lane(void *self, export_lane *lane)
{
    perfetto *const p = self;
    sequence *const s = export_zeroed(1, sizeof *s);
    s->id = lane->id;
    s->counts[INTERNED_ARG_NAME] = EXPORT_ARG_LIMIT - 1; // ours come first
    lane->state = s;
    export_buffer *const b = &p->block;
    const bool is_spill = lane->first && lane->kind == EXPORT_THREAD;
    const export_lane *const parent = is_spill ? lane->first : lane->parent;

    const size_t packet = proto_begin(b, PACKET);
    proto_uint(b, PACKET_SEQUENCE, s->id);
    const size_t track = proto_begin(b, PACKET_TRACK);
    proto_uint(b, TRACK_ID, lane->id);
    if (parent) proto_uint(b, TRACK_PARENT, parent->id);
    if (lane->kind == EXPORT_PROCESS)
        put_process(p, lane);
    else if (lane->kind == EXPORT_THREAD && !is_spill)
        put_thread(p, lane);
    else
        proto_text(b, TRACK_NAME, lane->name.text, lane->name.size);
    if (lane->kind == EXPORT_COUNTER) put_counter(p, lane);
    if (lane->kind == EXPORT_DEVICE) proto_uint(b, TRACK_ORDER, ORDER_EXPLICIT);
    if (lane->kind == EXPORT_ROW || lane->kind == EXPORT_ASYNC || is_spill) {
        proto_uint(b, TRACK_RANK, lane->id);
        proto_uint(b, TRACK_MERGE, MERGE_BY_KEY);
        proto_uint(b, TRACK_MERGE_KEY,
                   lane->first ? lane->first->id : lane->id);
    }
    proto_end(b, track);
    packet_end(p, packet);
}

/* ---- Head --------------------------------------------------------------- */

enum { HEAD_SEQUENCE = 0xFFFFFF }; // no lane's

// Trace time is shown as BOOTTIME; REALTIME at both ends gives it its date.
static void put_clocks(perfetto *p, int64_t time_ns)
{
    export_buffer *const b = &p->block;
    const size_t packet = proto_begin(b, PACKET);
    proto_uint(b, PACKET_SEQUENCE, HEAD_SEQUENCE);
    const size_t clocks = proto_begin(b, PACKET_CLOCKS);
    put_clock(b, CLOCK_BOOT, time_of(p, time_ns));
    put_clock(b, CLOCK_REAL, ts_reader_realtime_ns(p->reader, time_ns));
    proto_uint(b, 2, CLOCK_BOOT); // the trace's clock
    proto_end(b, clocks);
    packet_end(p, packet);
}

static void put_attribute(perfetto *p, const ts_metadata *m)
{
    export_buffer *const b = &p->block;
    const size_t attribute = proto_begin(b, 1);
    const size_t key = proto_begin(b, 1);
    ts_track track;
    if (m->track && ts_reader_track(p->reader, m->track, &track)) {
        export_buffer name = { 0 };
        export_put_track_name(&name, &track);
        export_put_utf8(b, (char *)name.data, name.size);
        export_put(b, ".", 1);
        export_resize(name.data, 0);
    }
    export_put_utf8(b, m->key.text, m->key.size);
    proto_end(b, key);
    char text[40];
    switch (m->type) {
    case TS_VALUE_INT: proto_uint(b, 2, (uint64_t)m->number); break;
    case TS_VALUE_DOUBLE:
        snprintf(text, sizeof text, "%.17g", m->real);
        proto_string(b, 3, text);
        break;
    default: proto_text(b, 3, m->text.text, m->text.size); break;
    }
    proto_end(b, attribute);
}

static void put_attributes(perfetto *p)
{
    const size_t packet = proto_begin(&p->block, PACKET);
    proto_uint(&p->block, PACKET_SEQUENCE, HEAD_SEQUENCE);
    const size_t attributes = proto_begin(&p->block, PACKET_ATTRIBUTES);
    ts_metadata m;
    for (size_t i = 0; ts_reader_metadata_at(p->reader, i, &m); i++)
        put_attribute(p, &m);
    const ts_metadata own[] = {
        { .key = { "trace.lost", 10 },
          .type = TS_VALUE_INT,
          .number = (int64_t)ts_reader_info(p->reader)->lost },
        { .key = { "trace.time_shift_ns", 19 },
          .type = TS_VALUE_INT,
          .number = p->target->shift_ns },
    };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        put_attribute(p, &own[i]);
    proto_end(&p->block, attributes);
    packet_end(p, packet);
}

static void *perfetto_open(const export_target *target)
{
    perfetto *const p = export_zeroed(1, sizeof *p);
    p->target = target;
    p->reader = target->reader;
    p->out = target->out;
    p->no_args = target->options->no_args;
    put_clocks(p, target->first_ns);
    if (target->last_ns > target->first_ns) put_clocks(p, target->last_ns);
    put_attributes(p);
    return p;
}

static void perfetto_free_lane(void *self, export_lane *lane)
{
    (void)self;
    sequence *const s = lane->state;
    export_map_free(&s->texts);
    export_map_free(&s->sites);
    export_map_free(&s->stacks);
    export_resize(s->known, 0);
    export_resize(s, 0);
}

static void perfetto_close(void *self)
{
    perfetto *const p = self;
    export_out_block(p->out, &p->block);
    export_resize(p->block.data, 0);
    export_resize(p->interned.data, 0);
    export_resize(p, 0);
}

static const char *const suffixes[] = { ".perfetto-trace", ".pftrace", ".pb",
                                        ".perfetto", NULL };

const export_format export_perfetto = {
    .name = "perfetto",
    .suffixes = suffixes,
    .packing = EXPORT_PACKETS,
    .open = perfetto_open,
    .lane = perfetto_lane,
    .slice = perfetto_slice,
    .end = perfetto_end,
    .instant = perfetto_instant,
    .sample = perfetto_sample,
    .free_lane = perfetto_free_lane,
    .close = perfetto_close,
};
