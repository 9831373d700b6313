/*
    proto.h - writing protobuf messages into a buffer

    Source: protobuf.dev, "Encoding". A message is preceded by its size. One
    byte is reserved for it; the message is moved if that is not enough.
*/
#ifndef TS_TOOLS_EXPORT_PROTO_H
#define TS_TOOLS_EXPORT_PROTO_H

#include "tools/export/memory.h"

enum { PROTO_VARINT = 0, PROTO_FIXED64 = 1, PROTO_BYTES = 2 };

// Writes a varint of at most 10 bytes; returns the end.
static inline uint8_t *proto_put(uint8_t *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *to++ = (uint8_t)(value | 0x80);
    *to++ = (uint8_t)value;
    return to;
}

static inline size_t proto_size(uint64_t value)
{
    size_t size = 1;
    for (; value >= 0x80; value >>= 7)
        size++;
    return size;
}

static inline void proto_varint(export_buffer *b, uint64_t value)
{
    b->size = (size_t)(proto_put(export_room(b, 10), value) - b->data);
}

static inline void proto_tag(export_buffer *b, uint32_t field, uint32_t type)
{
    proto_varint(b, field << 3 | type);
}

static inline void proto_uint(export_buffer *b, uint32_t field, uint64_t value)
{
    proto_tag(b, field, PROTO_VARINT);
    proto_varint(b, value);
}

static inline void proto_fixed64(export_buffer *b, uint32_t field,
                                 uint64_t value)
{
    proto_tag(b, field, PROTO_FIXED64);
    uint8_t *const to = export_room(b, 8);
    for (int i = 0; i < 8; i++)
        to[i] = (uint8_t)(value >> (i * 8));
    b->size += 8;
}

static inline void proto_double(export_buffer *b, uint32_t field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, 8);
    proto_fixed64(b, field, bits);
}

// Begins a message; returns its position for proto_end.
static inline size_t proto_begin(export_buffer *b, uint32_t field)
{
    proto_tag(b, field, PROTO_BYTES);
    export_room(b, 1);
    return ++b->size;
}

static inline void proto_end(export_buffer *b, size_t begin)
{
    const size_t size = b->size - begin;
    if (size < 0x80) {
        b->data[begin - 1] = (uint8_t)size;
        return;
    }
    size_t more = 0; // bytes of the size beyond the reserved one
    for (size_t rest = size >> 7; rest; rest >>= 7)
        more++;
    export_room(b, more);
    memmove(b->data + begin + more, b->data + begin, size);
    b->size = begin - 1;
    proto_varint(b, size);
    b->size += size;
}

static inline void proto_text(export_buffer *b, uint32_t field,
                              const char *text, size_t size)
{
    const size_t begin = proto_begin(b, field);
    export_put_utf8(b, text, size);
    proto_end(b, begin);
}

static inline void proto_string(export_buffer *b, uint32_t field,
                                const char *text)
{
    proto_text(b, field, text, strlen(text));
}

#endif // TS_TOOLS_EXPORT_PROTO_H
