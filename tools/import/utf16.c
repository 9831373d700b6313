/*
    utf16.c - text in UTF-16, read as UTF-8
*/
#include "tools/import/utf16.h"
#include <stdlib.h>
#include <string.h>

enum { IN = 32 << 10, REPLACEMENT = 0xFFFD };

struct import_utf16 {
    import_utf16_input *read;
    void *user;
    bool is_big; // the high byte comes first
    bool is_cut;
    uint32_t high;   // the open first half of a surrogate pair; 0: none
    size_t in_size;  // bytes that are not converted yet
    size_t at, size; // of `out`
    uint8_t in[IN];
    uint8_t out[IN / 2 * 3 + 3]; // a unit takes up to 3, an open half 3
};

static bool is_mark(const uint8_t *bytes, bool is_big)
{
    return bytes[is_big] == 0xFF && bytes[!is_big] == 0xFE;
}

// Returns whether a bracket and another character of ASCII come first.
static bool is_json(const uint8_t *bytes, bool is_big)
{
    const uint8_t bracket = bytes[is_big], next = bytes[2 + is_big];
    return !bytes[!is_big] && !bytes[2 + !is_big] && next &&
           (bracket == '[' || bracket == '{');
}

static bool begins(const uint8_t *bytes, size_t size, bool is_big)
{
    return size >= IMPORT_UTF16_LOOK &&
           (is_mark(bytes, is_big) || is_json(bytes, is_big));
}

bool import_utf16_begins(const uint8_t *bytes, size_t size)
{
    return begins(bytes, size, false) || begins(bytes, size, true);
}

import_utf16 *import_utf16_open(const uint8_t *first, size_t size,
                                import_utf16_input *read, void *user)
{
    import_utf16 *const t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->read = read;
    t->user = user;
    t->is_big = begins(first, size, true);
    const size_t mark = is_mark(first, t->is_big) ? 2 : 0;
    t->in_size = size - mark;
    memcpy(t->in, first + mark, t->in_size);
    return t;
}

void import_utf16_close(import_utf16 *t)
{
    free(t);
}

bool import_utf16_is_cut(const import_utf16 *t)
{
    return t->is_cut;
}

static void put(import_utf16 *t, uint32_t c)
{
    uint8_t *to = t->out + t->size;
    const int more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const uint8_t leads[] = { 0, 0xC0, 0xE0, 0xF0 };
    *to++ = (uint8_t)(leads[more] | c >> 6 * more);
    for (int i = more; i-- > 0;)
        *to++ = (uint8_t)(0x80 | (c >> 6 * i & 0x3F));
    t->size += (size_t)more + 1;
}

static void put_unit(import_utf16 *t, uint32_t unit)
{
    const bool is_low = unit >> 10 == 0xDC00 >> 10;
    if (t->high && is_low) {
        put(t, 0x10000 + ((t->high - 0xD800) << 10) + (unit - 0xDC00));
        t->high = 0;
        return;
    }
    if (t->high) put(t, REPLACEMENT);
    t->high = unit >> 10 == 0xD800 >> 10 ? unit : 0;
    if (!t->high) put(t, is_low ? REPLACEMENT : unit);
}

// Reads and converts the next units; false at the end.
static bool convert(import_utf16 *t)
{
    const size_t got = t->read(t->user, t->in + t->in_size, IN - t->in_size);
    t->in_size += got;
    t->at = t->size = 0;
    for (size_t i = 0; i + 1 < t->in_size; i += 2)
        put_unit(t,
                 (uint32_t)t->in[i + !t->is_big] << 8 | t->in[i + t->is_big]);
    t->in[0] = t->in[t->in_size ? t->in_size - 1 : 0];
    t->in_size %= 2;
    if (got) return true;
    t->is_cut |= t->high || t->in_size;
    if (t->high) put(t, REPLACEMENT);
    t->high = 0;
    return t->size > 0;
}

size_t import_utf16_read(import_utf16 *t, uint8_t *bytes, size_t size)
{
    while (t->at == t->size)
        if (!convert(t)) return 0;
    const size_t part = t->size - t->at < size ? t->size - t->at : size;
    memcpy(bytes, t->out + t->at, part);
    t->at += part;
    return part;
}
