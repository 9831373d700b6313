/*
    perfetto_intern.c - numbers for texts, places and stacks, and their
    definitions, which are written in the packet that first uses them
*/
#include "tools/export/perfetto.h"
#include "tools/common/symbolize/symbolize.h"

// Adds a number; false if the set had it.
bool perfetto_bit_set_add(bit_set *set, uint32_t number)
{
    const size_t at = number / 64;
    const uint64_t bit = UINT64_C(1) << number % 64;
    if (at >= set->count) {
        set->words = export_resize(set->words, (at + 4) * sizeof *set->words);
        memset(set->words + set->count, 0,
               (at + 4 - set->count) * sizeof *set->words);
        set->count = at + 4;
    }
    if (set->words[at] & bit) return false;
    set->words[at] |= bit;
    return true;
}

void perfetto_define_as(perfetto *p, uint32_t kind, uint32_t number,
                        ts_text text)
{
    const size_t entry = proto_begin(&p->interned, kind);
    proto_uint(&p->interned, 1, number);
    proto_text(&p->interned, 2, text.text, text.size);
    proto_end(&p->interned, entry);
}

// Returns a new number for a text and defines it in the packet in progress.
uint32_t perfetto_define(perfetto *p, sequence *s, uint32_t kind, ts_text text)
{
    perfetto_define_as(p, kind, ++s->counts[kind], text);
    return s->counts[kind];
}

// Returns the number of a text that lives as long as the trace; 0 if it is
// empty.
uint32_t perfetto_number_of(perfetto *p, uint32_t kind, ts_text text)
{
    if (!text.size) return 0;
    const uint64_t key = (uint64_t)(uintptr_t)text.text << 3 | kind;
    uint64_t *const number = export_map_at(&p->texts, key);
    if (!*number) *number = ++p->counts[kind];
    return (uint32_t)*number;
}

// The same for a lane: defines the text at its first use there.
uint32_t perfetto_intern(perfetto *p, sequence *s, uint32_t kind, ts_text text)
{
    const uint32_t number = perfetto_number_of(p, kind, text);
    if (number && perfetto_bit_set_add(&s->defined[kind], number))
        perfetto_define_as(p, kind, number, text);
    return number;
}

// A lane has few categories, mostly the previous one, which is cached.
uint32_t perfetto_intern_category(perfetto *p, sequence *s, ts_text text)
{
    if (s->category != text.text) {
        s->category_number = perfetto_intern(p, s, INTERNED_CATEGORY, text);
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

// Encodes the event of a slice at a site.
static void encode_site(known_site *site)
{
    uint8_t *to = site->event;
    *to++ = EVENT_TYPE << 3;
    *to++ = BEGIN;
    if (site->name) {
        *to++ = EVENT_NAME_ID << 3;
        to = proto_put(to, site->name);
    }
    if (site->category) {
        *to++ = EVENT_CATEGORY << 3;
        to = proto_put(to, site->category);
    }
    if (site->place) {
        to = proto_put(to, EVENT_PLACE << 3);
        to = proto_put(to, site->place);
    }
    site->size = (uint8_t)(to - site->event);
}

known_site perfetto_intern_site(perfetto *p, sequence *s, uint32_t id)
{
    uint64_t *const index = export_map_at(&s->sites, id);
    if (*index) return s->known[*index - 1];
    known_site made = { 0 };
    const ts_site_entry *const site = ts_reader_site(p->reader, id);
    const export_item item = { .site = id };
    made.name = perfetto_intern(p, s, INTERNED_NAME,
                                export_item_name(p->reader, &item));
    made.category = perfetto_intern(p, s, INTERNED_CATEGORY,
                                    export_item_category(p->reader, &item));
    if (site && !p->no_args) made.place = define_place(p, s, site);
    if (!site || !site->color || p->no_args) encode_site(&made);
    s->known =
        export_grow(s->known, &s->known_capacity, s->known_count, sizeof made);
    s->known[s->known_count++] = made;
    *index = s->known_count;
    return made;
}

static void define_frame(perfetto *p, sequence *s, const ts_frame_entry *frame,
                         uint32_t at)
{
    export_buffer *const b = &p->interned;
    export_buffer name = { 0 };
    export_put_frame(&name, p->reader, frame, at);
    const uint32_t function = perfetto_define(
        p, s, INTERNED_FUNCTION, (ts_text){ (char *)name.data, name.size });
    export_resize(name.data, 0);
    const size_t begun = proto_begin(b, INTERNED_FRAME);
    proto_uint(b, 1, ++s->counts[INTERNED_FRAME]);
    proto_uint(b, 2, function);
    proto_end(b, begun);
}

// Defines a stack and its frames, outermost first. Frames are not shared
// between stacks: there are few stacks, and frames are small.
static uint32_t define_stack(perfetto *p, sequence *s, uint32_t stack)
{
    export_buffer *const b = &p->interned;
    const ts_frame_entry *frames;
    const uint32_t count = ts_reader_stack(p->reader, stack, &frames);
    const uint32_t first = s->counts[INTERNED_FRAME] + 1;
    if (!count) return 0;
    for (uint32_t i = count; i-- > 0;)
        for (uint32_t k = symbolize_depth(p->reader, &frames[i]); k-- > 0;)
            define_frame(p, s, &frames[i], k);
    const size_t entry = proto_begin(b, INTERNED_STACK);
    proto_uint(b, 1, ++s->counts[INTERNED_STACK]);
    for (uint32_t i = first; i <= s->counts[INTERNED_FRAME]; i++)
        proto_uint(b, 2, i);
    proto_end(b, entry);
    return s->counts[INTERNED_STACK];
}

uint32_t perfetto_intern_stack(perfetto *p, sequence *s, uint32_t stack)
{
    if (!stack) return 0;
    uint64_t *const number = export_map_at(&s->stacks, stack);
    if (!*number) *number = define_stack(p, s, stack);
    return (uint32_t)*number;
}
