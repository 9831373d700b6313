/*
    perfetto.c - writes Perfetto's protobuf traces

    Every lane is a packet sequence: its track is the sequence's default, times
    are differences to the previous packet, names are numbers. So a begin takes
    12 to 14 bytes and an end 11, before compression. A number is defined in the
    packet that first uses it on a sequence. Names have the same numbers on all
    lanes, so that the bytes of a kernel repeat on each of them.
*/
#include "tools/export/perfetto.h"
#include <stdio.h>

/* ---- Packets ------------------------------------------------------------ */

// Moves a lane's packets into the block.
void perfetto_flush_lane(perfetto *p, sequence *s)
{
    export_put(&p->block, s->packets.data, s->packets.size);
    s->packets.size = 0;
    perfetto_flush(p);
}

// Writes the first packet of a sequence: its clock and its track.
static void sequence_begin(perfetto *p, sequence *s, const export_lane *lane,
                           int64_t time_ns)
{
    export_buffer *const b = &s->packets;
    const size_t packet = proto_begin(b, PACKET);
    proto_uint(b, PACKET_SEQUENCE, s->id);
    proto_uint(b, PACKET_FLAGS, 1); // start of a new state
    const size_t clocks = proto_begin(b, PACKET_CLOCKS);
    perfetto_put_clock(b, CLOCK_OURS, 0);
    perfetto_put_clock(b, CLOCK_BOOT, perfetto_time(p, time_ns));
    proto_end(b, clocks);
    const size_t defaults = proto_begin(b, PACKET_DEFAULTS);
    proto_uint(b, PACKET_TIME_CLOCK, CLOCK_OURS);
    const size_t event = proto_begin(b, 11);
    proto_uint(b, EVENT_TRACK, lane->id);
    proto_end(b, event);
    proto_end(b, defaults);
    proto_end(b, packet);
    s->begun = true;
    s->last_ns = time_ns;
}

// Writes the event in progress as a packet, with the definitions that it needs.
// Times never decrease.
static void put_packet_as(perfetto *p, sequence *s, int64_t time_ns,
                          uint32_t field)
{
    const uint64_t passed = (uint64_t)time_ns - (uint64_t)s->last_ns;
    const size_t event = p->event.size, interned = p->interned.size;
    const uint32_t tag = field << 3 | PROTO_BYTES;
    size_t size = 2 + proto_size(passed) + proto_size(s->id) + proto_size(tag) +
                  proto_size(event) + event;
    if (interned) size += 1 + proto_size(interned) + interned;
    uint8_t *to = export_room(&s->packets, size + 11);
    *to++ = PACKET << 3 | PROTO_BYTES;
    to = proto_put(to, size);
    *to++ = PACKET_TIME << 3;
    to = proto_put(to, passed);
    *to++ = PACKET_SEQUENCE << 3;
    to = proto_put(to, s->id);
    to = proto_put(to, tag);
    to = proto_put(to, event);
    memcpy(to, p->event.data, event);
    to += event;
    if (interned) {
        *to++ = PACKET_INTERNED << 3 | PROTO_BYTES;
        to = proto_put(to, interned);
        memcpy(to, p->interned.data, interned);
        to += interned;
    }
    s->packets.size = (size_t)(to - s->packets.data);
    s->last_ns = time_ns;
    p->interned.size = 0;
    perfetto_packet_added(p, s);
}

static void put_packet(perfetto *p, sequence *s, int64_t time_ns)
{
    put_packet_as(p, s, time_ns, PACKET_EVENT);
}

// Begins an event of the lane, after the sequence's first packets if needed.
static export_buffer *event_begin(perfetto *p, const export_lane *lane,
                                  int64_t time_ns, uint32_t type)
{
    sequence *const s = lane->state;
    if (!s->begun) sequence_begin(p, s, lane, time_ns);
    p->event.size = 0;
    proto_uint(&p->event, EVENT_TYPE, type);
    return &p->event;
}

/* ---- Events ------------------------------------------------------------- */

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

// The exporter's own names have fixed numbers; those of the program follow.
static uint32_t intern_arg_name(perfetto *p, sequence *s, const export_arg *arg)
{
    if (!arg->known) return perfetto_intern(p, s, INTERNED_ARG_NAME, arg->name);
    const uint64_t bit = UINT64_C(1) << arg->known;
    if (!(s->arg_names & bit))
        perfetto_define_as(p, INTERNED_ARG_NAME, arg->known, arg->name);
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

// A fast path for numbers with one of the exporter's own names.
static void put_number(export_buffer *b, const export_arg *arg)
{
    uint8_t *const begin = export_room(b, 20), *to = begin + 2;
    *to++ = ARG_NAME_ID << 3;
    *to++ = arg->known; // at most 63
    *to++ = arg->type == EXPORT_INT ? ARG_INT << 3 : ARG_UINT << 3;
    to = proto_put(to, arg->u.uint);
    begin[0] = EVENT_ARG << 3 | PROTO_BYTES;
    begin[1] = (uint8_t)(to - begin - 2);
    b->size += (size_t)(to - begin);
}

static void put_arg(perfetto *p, sequence *s, const export_arg *arg)
{
    export_buffer *const b = &p->event;
    const uint32_t name = arg->repeat ? 0 : intern_arg_name(p, s, arg);
    if (name && arg->known && arg->type <= EXPORT_UINT) {
        put_number(b, arg);
        return;
    }
    const size_t annotation = proto_begin(b, EVENT_ARG);
    if (name)
        proto_uint(b, ARG_NAME_ID, name);
    else
        put_arg_name(b, arg);
    put_value(b, arg);
    proto_end(b, annotation);
}

// Pads a form, so that most forms and their packets have the same size: the
// number that ends at `at` is encoded in more bytes.
static void form_pad(export_buffer *b, size_t at)
{
    const size_t more = (0 - b->size) % 8, rest = b->size - at;
    if (!more || at > 4) return; // a varint has at most ten bytes
    export_room(b, more);
    uint8_t *const end = b->data + at;
    memmove(end + more, end, rest);
    end[-1] |= 0x80;
    memset(end, 0x80, more);
    end[more - 1] = 0;
    b->size += more;
}

static void form_make(perfetto *p, shared_form *form, const export_item *item)
{
    export_buffer *const b = &form->bytes;
    size_t name_end = 0;
    if (item->name_shared) {
        form->name = item->name;
        form->category = item->category;
        proto_uint(b, EVENT_NAME_ID,
                   perfetto_number_of(p, INTERNED_NAME, item->name));
        name_end = b->size;
        proto_uint(b, EVENT_CATEGORY,
                   perfetto_number_of(p, INTERNED_CATEGORY, item->category));
    }
    for (uint32_t i = 0; i < item->shared->count; i++) {
        const export_arg *const arg = &item->shared->args[i];
        const size_t annotation = proto_begin(b, EVENT_ARG);
        proto_uint(b, ARG_NAME_ID, arg->known);
        put_value(b, arg);
        proto_end(b, annotation);
        form->arg_names |= UINT64_C(1) << arg->known;
    }
    if (name_end) form_pad(b, name_end);
}

// Defines the numbers of a form at its first use on a lane.
static void form_define(perfetto *p, sequence *s, const shared_form *form)
{
    perfetto_intern(p, s, INTERNED_NAME, form->name);
    perfetto_intern(p, s, INTERNED_CATEGORY, form->category);
    for (uint64_t names = form->arg_names & ~s->arg_names; names;
         names &= names - 1) {
        const uint32_t known = (uint32_t)__builtin_ctzll(names);
        perfetto_define_as(p, INTERNED_ARG_NAME, known,
                           export_arg_names[known]);
    }
    s->arg_names |= form->arg_names;
}

// Adds the bytes that all kernels of this name and launch share.
static void put_form(perfetto *p, sequence *s, const export_item *item)
{
    const uint32_t number = item->shared->id * 2 + item->name_shared;
    while (p->form_count <= number) {
        p->forms = export_grow(p->forms, &p->form_capacity, p->form_count,
                               sizeof *p->forms);
        p->forms[p->form_count++] = (shared_form){ 0 };
    }
    shared_form *const form = &p->forms[number];
    if (!form->bytes.size) form_make(p, form, item);
    if (perfetto_bit_set_add(&s->forms, number)) form_define(p, s, form);
    export_put(&p->event, form->bytes.data, form->bytes.size);
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
    // A flow may end several times. Its number is unique, so that it need not
    // be terminated.
    if (arrows->phase)
        proto_fixed64(b, EVENT_FLOW, export_flow_number(arrows->flow));
}

// Adds a message to the log as well, with its place in the source.
static void put_log(perfetto *p, sequence *s, ts_text text, uint32_t place)
{
    export_buffer *const b = &p->event;
    const uint32_t number = perfetto_define(p, s, INTERNED_LOG, text);
    const size_t log = proto_begin(b, EVENT_LOG);
    if (place) proto_uint(b, 1, place);
    proto_uint(b, 2, number);
    proto_end(b, log);
}

// Adds name, category and place, unless the item's form has them. Returns the
// place's number.
static uint32_t put_names(perfetto *p, sequence *s, const export_item *item)
{
    export_buffer *const b = &p->event;
    known_site site = { 0 };
    if (item->site) site = perfetto_intern_site(p, s, item->site);
    if (item->name.size && item->name_kept)
        site.name = perfetto_intern(p, s, INTERNED_NAME, item->name);
    if (item->category.size)
        site.category = perfetto_intern_category(p, s, item->category);
    if (item->name.size && !item->name_kept)
        proto_text(b, EVENT_NAME, item->name.text, item->name.size);
    else if (site.name)
        proto_uint(b, EVENT_NAME_ID, site.name);
    if (site.category) proto_uint(b, EVENT_CATEGORY, site.category);
    if (site.place) proto_uint(b, EVENT_PLACE, site.place);
    return site.place;
}

static void put_item(perfetto *p, const export_lane *lane,
                     const export_item *item, uint32_t type)
{
    sequence *const s = lane->state;
    export_buffer *const b = event_begin(p, lane, item->start_ns, type);
    const uint32_t place = item->name_shared ? 0 : put_names(p, s, item);
    for (uint32_t i = 0; i < item->arg_count; i++)
        put_arg(p, s, &item->args[i]);
    if (item->shared) put_form(p, s, item);
    if (item->site) put_color(p, s, item->site);
    put_arrows(b, &item->arrows);
    const uint32_t stack = perfetto_intern_stack(p, s, item->stack);
    if (stack) proto_uint(b, EVENT_STACK, stack);
    if (item->is_log) put_log(p, s, item->name, place);
    put_packet(p, s, item->start_ns);
}

static void perfetto_slice(void *self, export_lane *lane,
                           const export_item *item)
{
    sequence *const s = lane->state;
    s->stencil.last = perfetto_stencil_slice(self, s, item);
    if (!s->stencil.last && !perfetto_short_event(self, s, item, BEGIN))
        put_item(self, lane, item, BEGIN);
}

// A sample of a profile is no event of the track, but one of its thread.
static void put_stack_sample(perfetto *p, const export_lane *lane,
                             const export_item *item)
{
    sequence *const s = lane->state;
    if (!s->begun) sequence_begin(p, s, lane, item->start_ns);
    p->event.size = 0;
    proto_uint(&p->event, PERF_SAMPLE_PROCESS, lane->process);
    proto_uint(&p->event, PERF_SAMPLE_THREAD, lane->number);
    const uint32_t stack = perfetto_intern_stack(p, s, item->stack);
    if (stack) proto_uint(&p->event, PERF_SAMPLE_STACK, stack);
    put_packet_as(p, s, item->start_ns, PACKET_PERF_SAMPLE);
}

static void perfetto_instant(void *self, export_lane *lane,
                             const export_item *item)
{
    if (item->is_sample)
        put_stack_sample(self, lane, item);
    else if (!perfetto_short_event(self, lane->state, item, INSTANT))
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
    sequence *const s = lane->state;
    if (!slice->is_unfinished && !slice->late_arrow) {
        if (!s->stencil.last || !perfetto_stencil_end(p, s, slice->end_ns))
            perfetto_short_end(p, s, slice->end_ns);
        return;
    }
    export_buffer *const b = event_begin(p, lane, slice->end_ns, FINISH);
    if (slice->is_unfinished) put_arg(p, s, &unfinished);
    if (slice->late_arrow) proto_fixed64(b, EVENT_LAST_FLOW, slice->late_arrow);
    put_packet(p, s, slice->end_ns);
}

static void perfetto_sample(void *self, export_lane *lane, int64_t time_ns,
                            ts_value_type type, uint64_t bits)
{
    perfetto *const p = self;
    export_buffer *const b = event_begin(p, lane, time_ns, SAMPLE);
    if (type == TS_VALUE_DOUBLE)
        proto_fixed64(b, EVENT_DOUBLE, bits);
    else
        proto_uint(b, EVENT_INT, bits);
    put_packet(p, lane->state, time_ns);
}

static void perfetto_prefetch(const export_lane *lane, uint32_t stage)
{
    const char *const state = lane->state;
    const sequence *const s = lane->state;
    if (stage == 1) // what kernels read
        for (size_t at = 0; at < offsetof(sequence, arg_names); at += 64)
            __builtin_prefetch(state + at);
    else if (s->packets.data)
        for (size_t at = 0; at < 192; at += 64)
            __builtin_prefetch(s->packets.data + s->packets.size + at, 1);
}

static void *perfetto_open(const export_target *target)
{
    perfetto *const p = export_zeroed(1, sizeof *p);
    p->target = target;
    p->reader = target->reader;
    p->out = target->out;
    p->no_args = target->options->no_args;
    p->forms = export_zeroed(2, sizeof *p->forms);
    p->form_count = p->form_capacity = 2; // those of stencils
    p->counts[INTERNED_ARG_NAME] =
        EXPORT_ARG_LIMIT - 1; // the exporter's own come first
    perfetto_head(p);
    return p;
}

static void perfetto_free_lane(void *self, export_lane *lane)
{
    sequence *const s = lane->state;
    if (s->packets.size) perfetto_flush_lane(self, s);
    export_map_free(&s->sites);
    export_map_free(&s->stacks);
    export_resize(s->known, 0);
    export_resize(s->packets.data, 0);
    export_resize(s->forms.words, 0);
    for (int kind = 0; kind <= INTERNED_ARG_NAME; kind++)
        export_resize(s->defined[kind].words, 0);
    export_resize(s, 0);
}

static void perfetto_close(void *self)
{
    perfetto *const p = self;
    export_out_block(p->out, &p->block);
    export_map_free(&p->texts);
    for (size_t i = 0; i < p->form_count; i++)
        export_resize(p->forms[i].bytes.data, 0);
    export_resize(p->forms, 0);
    export_resize(p->block.data, 0);
    export_resize(p->event.data, 0);
    export_resize(p->interned.data, 0);
    export_resize(p, 0);
}

static const char *const suffixes[] = { ".perfetto-trace", ".pftrace", ".pb",
                                        ".perfetto", NULL };

const export_format export_perfetto = {
    .name = "perfetto",
    .kind = CLI_PERFETTO,
    .suffixes = suffixes,
    .packing = EXPORT_PACKETS,
    .open = perfetto_open,
    .lane = perfetto_lane,
    .slice = perfetto_slice,
    .end = perfetto_end,
    .instant = perfetto_instant,
    .sample = perfetto_sample,
    .prefetch = perfetto_prefetch,
    .free_lane = perfetto_free_lane,
    .close = perfetto_close,
};
