/*
    export_read.h - reads what ts-export writes, trusting nothing

    For machines without a trace processor: inflates, checks every message of
    a Perfetto trace against the fields that it may have, and gives its slices,
    instants and samples back; checks that a text is JSON. Everything that is
    wrong sets `wrong` and ends the reading. Written from RFC 8259 and
    perfetto's .proto files.
*/
#ifndef EXPORT_READ_H
#define EXPORT_READ_H

#include "tests/tools/export/export_expected.h"
#ifdef TRACESMITH_ZLIB
#include <zlib.h>
#endif

/* ---- Inflate ------------------------------------------------------------ */

enum { READ_ZLIB = 15, READ_GZIP = 15 + 16 }; // windowBits of zlib.h

// Appends what a whole stream holds; its checksum is zlib's to check. false:
// it is none, ends early, or something follows it.
static inline bool read_inflate(expected_text *to, const uint8_t *bytes,
                                size_t size, int kind)
{
#ifdef TRACESMITH_ZLIB
    z_stream z = { .next_in = (uint8_t *)(uintptr_t)bytes,
                   .avail_in = (uInt)size };
    char part[4096];
    int result = inflateInit2(&z, kind);
    while (result == Z_OK) {
        z.next_out = (uint8_t *)part;
        z.avail_out = sizeof part;
        result = inflate(&z, Z_NO_FLUSH);
        expected_add(to, part, sizeof part - z.avail_out);
    }
    const bool whole = result == Z_STREAM_END && !z.avail_in;
    inflateEnd(&z);
    return whole;
#else
    return false;
#endif
}

/* ---- Messages ----------------------------------------------------------- */

enum { // what a field holds
    READ_NUMBER,
    READ_FIXED,
    READ_TEXT,
    READ_BLOB,
    READ_PACKET,
    READ_SNAPSHOT,
    READ_CLOCK,
    READ_DEFAULTS,
    READ_EVENT,
    READ_INTERNED,
    READ_NAMED,
    READ_PLACE,
    READ_ARG,
    READ_LOG,
    READ_FRAME,
    READ_STACK,
    READ_TRACK,
    READ_PROCESS,
    READ_THREAD,
    READ_COUNTER,
    READ_ATTRIBUTES,
    READ_ATTRIBUTE
};

static const struct {
    uint8_t message, field, type;
} read_fields[] = {
    { READ_PACKET, 6, READ_SNAPSHOT },  { READ_PACKET, 8, READ_NUMBER },
    { READ_PACKET, 10, READ_NUMBER },   { READ_PACKET, 11, READ_EVENT },
    { READ_PACKET, 12, READ_INTERNED }, { READ_PACKET, 13, READ_NUMBER },
    { READ_PACKET, 50, READ_BLOB },     { READ_PACKET, 59, READ_DEFAULTS },
    { READ_PACKET, 60, READ_TRACK },    { READ_PACKET, 126, READ_ATTRIBUTES },
    { READ_SNAPSHOT, 1, READ_CLOCK },   { READ_SNAPSHOT, 2, READ_NUMBER },
    { READ_CLOCK, 1, READ_NUMBER },     { READ_CLOCK, 2, READ_NUMBER },
    { READ_CLOCK, 3, READ_NUMBER },     { READ_DEFAULTS, 58, READ_NUMBER },
    { READ_DEFAULTS, 11, READ_EVENT },  { READ_EVENT, 3, READ_NUMBER },
    { READ_EVENT, 4, READ_ARG },        { READ_EVENT, 9, READ_NUMBER },
    { READ_EVENT, 10, READ_NUMBER },    { READ_EVENT, 11, READ_NUMBER },
    { READ_EVENT, 21, READ_LOG },       { READ_EVENT, 23, READ_TEXT },
    { READ_EVENT, 30, READ_NUMBER },    { READ_EVENT, 34, READ_NUMBER },
    { READ_EVENT, 44, READ_FIXED },     { READ_EVENT, 47, READ_FIXED },
    { READ_EVENT, 48, READ_FIXED },     { READ_EVENT, 56, READ_NUMBER },
    { READ_INTERNED, 5, READ_NAMED },   { READ_INTERNED, 6, READ_FRAME },
    { READ_INTERNED, 7, READ_STACK },   { READ_FRAME, 1, READ_NUMBER },
    { READ_FRAME, 2, READ_NUMBER },     { READ_STACK, 1, READ_NUMBER },
    { READ_STACK, 2, READ_NUMBER },     { READ_INTERNED, 1, READ_NAMED },
    { READ_INTERNED, 2, READ_NAMED },   { READ_INTERNED, 3, READ_NAMED },
    { READ_INTERNED, 4, READ_PLACE },   { READ_INTERNED, 20, READ_NAMED },
    { READ_NAMED, 1, READ_NUMBER },     { READ_NAMED, 2, READ_TEXT },
    { READ_PLACE, 1, READ_NUMBER },     { READ_PLACE, 2, READ_TEXT },
    { READ_PLACE, 3, READ_TEXT },       { READ_PLACE, 4, READ_NUMBER },
    { READ_ARG, 1, READ_NUMBER },       { READ_ARG, 2, READ_NUMBER },
    { READ_ARG, 3, READ_NUMBER },       { READ_ARG, 4, READ_NUMBER },
    { READ_ARG, 5, READ_FIXED },        { READ_ARG, 6, READ_TEXT },
    { READ_ARG, 7, READ_NUMBER },       { READ_ARG, 10, READ_TEXT },
    { READ_ARG, 12, READ_ARG },         { READ_LOG, 1, READ_NUMBER },
    { READ_LOG, 2, READ_NUMBER },       { READ_TRACK, 1, READ_NUMBER },
    { READ_TRACK, 2, READ_TEXT },       { READ_TRACK, 3, READ_PROCESS },
    { READ_TRACK, 4, READ_THREAD },     { READ_TRACK, 5, READ_NUMBER },
    { READ_TRACK, 8, READ_COUNTER },    { READ_TRACK, 11, READ_NUMBER },
    { READ_TRACK, 12, READ_NUMBER },    { READ_TRACK, 15, READ_NUMBER },
    { READ_TRACK, 17, READ_NUMBER },    { READ_PROCESS, 1, READ_NUMBER },
    { READ_PROCESS, 6, READ_TEXT },     { READ_PROCESS, 8, READ_TEXT },
    { READ_THREAD, 1, READ_NUMBER },    { READ_THREAD, 2, READ_NUMBER },
    { READ_THREAD, 5, READ_TEXT },      { READ_COUNTER, 3, READ_NUMBER },
    { READ_COUNTER, 6, READ_TEXT },     { READ_ATTRIBUTES, 1, READ_ATTRIBUTE },
    { READ_ATTRIBUTE, 1, READ_TEXT },   { READ_ATTRIBUTE, 2, READ_NUMBER },
    { READ_ATTRIBUTE, 3, READ_TEXT },
};

typedef struct read_field {
    uint32_t field, type;
    uint64_t number;      // READ_NUMBER, READ_FIXED
    const uint8_t *bytes; // others
    size_t size;
} read_field;

typedef struct read_sequence {
    bool begun;
    uint32_t track;
    int64_t time_ns;
    expected_text names[256], categories[64]; // by number
    uint64_t arg_names;
    int64_t open[600];
    size_t open_items[600];
    size_t depth;
} read_sequence;

typedef struct read_trace {
    const char *wrong; // NULL: nothing
    expected items;    // `reader` unused
    read_sequence *sequences;
    size_t sequence_count;
    expected_text *tracks; // names by number
    size_t track_count;
    size_t packets, arrows, depth;
} read_trace;

static inline bool read_varint(const uint8_t **at, const uint8_t *end,
                               uint64_t *value)
{
    *value = 0;
    for (uint32_t shift = 0; shift < 64 && *at < end; shift += 7) {
        const uint8_t byte = *(*at)++;
        *value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return true;
    }
    return false;
}

// The next field of a message, if it may stand there.
static inline bool read_next(read_trace *r, uint32_t message,
                             const uint8_t **at, const uint8_t *end,
                             read_field *f)
{
    static const uint8_t wires[] = { 0, 1, 2 };
    uint64_t tag;
    if (r->wrong || *at == end) return false;
    if (!read_varint(at, end, &tag)) {
        r->wrong = "a tag is cut off";
        return false;
    }
    f->field = (uint32_t)(tag >> 3);
    f->type = UINT32_MAX;
    for (size_t i = 0; i < sizeof read_fields / sizeof *read_fields; i++)
        if (read_fields[i].message == message &&
            read_fields[i].field == f->field)
            f->type = read_fields[i].type;
    if (f->type == UINT32_MAX ||
        (tag & 7) != wires[f->type < 2 ? f->type : 2]) {
        r->wrong = "a field that the message does not have";
        return false;
    }
    if (f->type == READ_FIXED) {
        if (end - *at < 8) r->wrong = "a number is cut off";
        if (r->wrong) return false;
        memcpy(&f->number, *at, 8);
        *at += 8;
        return true;
    }
    if (!read_varint(at, end, &f->number)) r->wrong = "a number is cut off";
    if (r->wrong || f->type == READ_NUMBER) return !r->wrong;
    if (f->number > (uint64_t)(end - *at)) r->wrong = "a message is cut off";
    if (r->wrong) return false;
    f->bytes = *at;
    f->size = (size_t)f->number;
    *at += f->size;
    for (size_t i = 0; f->type == READ_TEXT && i < f->size;) {
        const size_t n = expected_character(f->bytes + i, f->size - i);
        if (!n) r->wrong = "a text is not UTF-8";
        if (!n) return false;
        i += n;
    }
    return true;
}

// A field of a message by its number; false if it is not there.
static inline bool read_find(read_trace *r, uint32_t message,
                             const read_field *in, uint32_t field,
                             read_field *found)
{
    const uint8_t *at = in->bytes;
    read_field f;
    bool has = false;
    memset(found, 0, sizeof *found);
    while (read_next(r, message, &at, in->bytes + in->size, &f))
        if (f.field == field) *found = f, has = true;
    return has;
}

static inline uint64_t read_number(read_trace *r, uint32_t message,
                                   const read_field *in, uint32_t field)
{
    read_field f;
    return read_find(r, message, in, field, &f) ? f.number : 0;
}

static inline void read_set(expected_text *to, const read_field *f)
{
    to->size = 0;
    expected_add(to, (const char *)f->bytes, f->size);
}

/* ---- Packets ------------------------------------------------------------ */

static inline void read_track(read_trace *r, const read_field *track)
{
    read_field f;
    const uint64_t id = read_number(r, READ_TRACK, track, 1);
    const uint64_t parent = read_number(r, READ_TRACK, track, 5);
    if (id != r->track_count + 1 || parent >= id) {
        r->wrong = "a track out of order";
        return;
    }
    r->tracks = realloc(r->tracks, ++r->track_count * sizeof *r->tracks);
    memset(&r->tracks[id - 1], 0, sizeof *r->tracks);
    if (read_find(r, READ_TRACK, track, 2, &f))
        read_set(&r->tracks[id - 1], &f);
    if (read_find(r, READ_TRACK, track, 4, &f) &&
        !read_number(r, READ_THREAD, &f, 2))
        r->wrong = "a thread without a number";
}

static inline void read_interned(read_trace *r, read_sequence *s,
                                 const read_field *interned)
{
    const uint8_t *at = interned->bytes;
    read_field f, text;
    while (read_next(r, READ_INTERNED, &at, interned->bytes + interned->size,
                     &f)) {
        const uint64_t id = read_number(r, f.type, &f, 1);
        if (f.field == 3 && id < 64) {
            if (s->arg_names >> id & 1) r->wrong = "an argument's name twice";
            s->arg_names |= UINT64_C(1) << id;
        }
        if (f.field > 2 || !read_find(r, f.type, &f, 2, &text)) continue;
        expected_text *const to =
            f.field == 2 ? &s->names[id & 255] : &s->categories[id & 63];
        if (!id || to->text) r->wrong = "a number stands for two texts";
        if (!r->wrong) read_set(to, &text);
    }
}

static inline void read_event(read_trace *r, read_sequence *s,
                              const read_field *event)
{
    read_field f;
    const uint64_t type = read_number(r, READ_EVENT, event, 9);
    if (type == 2) {
        if (!s->depth) r->wrong = "an end without a begin";
        if (r->wrong) return;
        expected_item *const item = &r->items.items[s->open_items[--s->depth]];
        item->duration_ns = s->time_ns - item->start_ns;
        return;
    }
    if (type < 1 || type > 4) r->wrong = "an event without a type";
    if (type == 1 && s->depth >= 512) r->wrong = "slices nest too deep";
    if (r->wrong) return;
    if (type == 1) {
        s->open_items[s->depth++] = r->items.item_count;
        if (s->depth > r->depth) r->depth = s->depth;
    }
    expected_item *const item =
        expected_new(&r->items, type == 4 ? 'C' : 'S', s->time_ns, s->time_ns);
    if (type == 4) {
        const expected_text *const name = &r->tracks[s->track - 1];
        expected_add(&item->name, name->text ? name->text : "", name->size);
        double real = 0;
        if (read_find(r, READ_EVENT, event, 44, &f))
            memcpy(&real, &f.number, 8),
                expected_print(&item->args, "%.17g", real);
        else
            expected_print(&item->args, "%" PRId64,
                           (int64_t)read_number(r, READ_EVENT, event, 30));
        return;
    }
    const uint64_t name = read_number(r, READ_EVENT, event, 10);
    const uint64_t category = read_number(r, READ_EVENT, event, 3);
    if (read_find(r, READ_EVENT, event, 23, &f))
        expected_add(&item->name, (const char *)f.bytes, f.size);
    else if (name && s->names[name & 255].text)
        expected_add(&item->name, s->names[name & 255].text,
                     s->names[name & 255].size);
    else
        r->wrong = "a slice without a name";
    if (category && !s->categories[category & 63].text)
        r->wrong = "a category that is not defined";
    else if (category)
        expected_add(&item->category, s->categories[category & 63].text,
                     s->categories[category & 63].size);
    r->arrows += read_find(r, READ_EVENT, event, 48, &f);
}

// A first packet of a sequence has both of its clocks and its track.
static inline void read_head(read_trace *r, read_sequence *s,
                             const read_field *packet)
{
    read_field snapshot, clock, defaults, event;
    const uint8_t *at;
    if (!read_find(r, READ_PACKET, packet, 6, &snapshot) ||
        !read_find(r, READ_PACKET, packet, 59, &defaults) ||
        !read_find(r, READ_DEFAULTS, &defaults, 11, &event)) {
        r->wrong = "a sequence without a clock or a track";
        return;
    }
    const int64_t before_ns = s->begun ? s->time_ns : INT64_MIN;
    s->begun = true;
    s->track = (uint32_t)read_number(r, READ_EVENT, &event, 11);
    at = snapshot.bytes;
    while (read_next(r, READ_SNAPSHOT, &at, snapshot.bytes + snapshot.size,
                     &clock))
        if (clock.type == READ_CLOCK &&
            read_number(r, READ_CLOCK, &clock, 1) == 6)
            s->time_ns = (int64_t)read_number(r, READ_CLOCK, &clock, 2);
    if (s->time_ns < before_ns) r->wrong = "a time before the one before";
    if (!s->track || s->track > r->track_count)
        r->wrong = "a track that is not defined";
}

static inline void read_packets(read_trace *r, const uint8_t *bytes,
                                size_t size);

static inline void read_compressed(read_trace *r, const read_field *f)
{
    expected_text raw = { 0 };
    if (read_inflate(&raw, f->bytes, f->size, READ_ZLIB))
        read_packets(r, (const uint8_t *)raw.text, raw.size);
    else
        r->wrong = "a compressed packet is broken";
    free(raw.text);
}

static inline void read_packet(read_trace *r, const read_field *packet)
{
    read_field f;
    r->packets++;
    if (read_find(r, READ_PACKET, packet, 50, &f)) {
        read_compressed(r, &f);
        return;
    }
    const uint64_t id = read_number(r, READ_PACKET, packet, 10);
    if (!id) r->wrong = "a packet without a sequence";
    if (read_find(r, READ_PACKET, packet, 60, &f)) read_track(r, &f);
    if (r->wrong || id == 0xFFFFFF) return; // the head of the file
    if (id > r->sequence_count) {
        r->sequences = realloc(r->sequences, (size_t)id * sizeof *r->sequences);
        for (; r->sequence_count < id; r->sequence_count++)
            memset(&r->sequences[r->sequence_count], 0, sizeof *r->sequences);
    }
    read_sequence *const s = &r->sequences[id - 1];
    if (read_number(r, READ_PACKET, packet, 13) == 1) read_head(r, s, packet);
    if (!read_find(r, READ_PACKET, packet, 11, &f)) return;
    if (!s->begun) r->wrong = "an event before its sequence";
    const int64_t later_ns = (int64_t)read_number(r, READ_PACKET, packet, 8);
    if (later_ns < 0) r->wrong = "a time before the one before";
    s->time_ns += later_ns;
    read_field interned;
    if (read_find(r, READ_PACKET, packet, 12, &interned))
        read_interned(r, s, &interned);
    if (!r->wrong) read_event(r, s, &f);
}

static inline void read_packets(read_trace *r, const uint8_t *bytes,
                                size_t size)
{
    const uint8_t *at = bytes, *const end = bytes + size;
    while (at < end && !r->wrong) {
        read_field packet = { .type = READ_PACKET };
        uint64_t packet_size;
        if (*at++ != 0x0A || !read_varint(&at, end, &packet_size) ||
            packet_size > (uint64_t)(end - at)) {
            r->wrong = "no packet where one should be";
            return;
        }
        packet.bytes = at;
        packet.size = (size_t)packet_size;
        at += packet_size;
        read_packet(r, &packet);
    }
}

static inline void read_open(read_trace *r, const uint8_t *bytes, size_t size)
{
    memset(r, 0, sizeof *r);
    read_packets(r, bytes, size);
    for (size_t i = 0; i < r->sequence_count && !r->wrong; i++)
        if (r->sequences[i].depth) r->wrong = "a slice without an end";
}

static inline void read_close(read_trace *r)
{
    for (size_t i = 0; i < r->sequence_count; i++) {
        for (size_t k = 0; k < 256; k++)
            free(r->sequences[i].names[k].text);
        for (size_t k = 0; k < 64; k++)
            free(r->sequences[i].categories[k].text);
    }
    for (size_t i = 0; i < r->track_count; i++)
        free(r->tracks[i].text);
    free(r->tracks);
    free(r->sequences);
    expected_close(&r->items);
}

/* ---- JSON --------------------------------------------------------------- */

static inline const char *json_space(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

// Each returns behind what it read, NULL if that is no JSON.
static inline const char *json_value(const char *at, int depth);

static inline const char *json_string(const char *at)
{
    if (*at++ != '"') return NULL;
    while (*at != '"') {
        if ((unsigned char)*at < 0x20) return NULL; // zero: the end
        if (*at == '\\') {
            at++;
            if (*at == 'u') {
                if (strspn(at + 1, "0123456789abcdefABCDEF") < 4) return NULL;
                at += 5;
            } else if (*at && strchr("\"\\/bfnrt", *at)) {
                at++;
            } else {
                return NULL;
            }
            continue;
        }
        const size_t size =
            expected_character((const unsigned char *)at, strnlen(at, 4));
        if (!size) return NULL;
        at += size;
    }
    return at + 1;
}

static inline const char *json_number(const char *at)
{
    if (*at == '-') at++;
    const size_t whole = strspn(at, "0123456789");
    if (!whole || (whole > 1 && *at == '0')) return NULL;
    at += whole;
    if (*at == '.') {
        const size_t more = strspn(at + 1, "0123456789");
        if (!more) return NULL;
        at += 1 + more;
    }
    if (*at == 'e' || *at == 'E') {
        at++;
        if (*at == '+' || *at == '-') at++;
        const size_t more = strspn(at, "0123456789");
        if (!more) return NULL;
        at += more;
    }
    return at;
}

static inline const char *json_items(const char *at, char close, int depth)
{
    at = json_space(at + 1);
    if (*at == close) return at + 1;
    for (;;) {
        if (close == '}') {
            at = json_string(json_space(at));
            if (!at || *(at = json_space(at)) != ':') return NULL;
            at++;
        }
        at = json_value(at, depth + 1);
        if (!at) return NULL;
        at = json_space(at);
        if (*at == close) return at + 1;
        if (*at++ != ',') return NULL;
    }
}

static inline const char *json_value(const char *at, int depth)
{
    at = json_space(at);
    if (depth > 64) return NULL;
    if (*at == '{') return json_items(at, '}', depth);
    if (*at == '[') return json_items(at, ']', depth);
    if (*at == '"') return json_string(at);
    if (!strncmp(at, "true", 4) || !strncmp(at, "null", 4)) return at + 4;
    if (!strncmp(at, "false", 5)) return at + 5;
    return json_number(at);
}

static inline bool json_is_valid(const char *text)
{
    const char *const end = json_value(text, 0);
    return end && !*json_space(end);
}

#endif // EXPORT_READ_H
