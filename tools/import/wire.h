/*
    wire.h - reading protobuf messages

    Source: protobuf.dev, "Encoding".
*/
#ifndef TS_TOOLS_IMPORT_WIRE_H
#define TS_TOOLS_IMPORT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    IMPORT_VARINT = 0,
    IMPORT_FIXED64 = 1,
    IMPORT_BYTES = 2,
    IMPORT_FIXED32 = 5
};

// The bytes of a message that are not read yet.
typedef struct import_wire {
    const uint8_t *at, *end;
} import_wire;

typedef struct import_field {
    uint64_t number, value; // value: of a varint or fixed-size field
    import_wire bytes;
    uint8_t type; // IMPORT_VARINT ...
} import_field;

// Reads a varint of at most ten bytes; false if there is none.
static inline bool import_wire_varint(import_wire *w, uint64_t *value)
{
    *value = 0;
    for (uint32_t shift = 0; w->at < w->end && shift < 64; shift += 7) {
        const uint8_t byte = *w->at++;
        *value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

// Reads a number of `size` bytes.
static inline bool import_wire_fixed(import_wire *w, size_t size,
                                     uint64_t *value)
{
    if ((size_t)(w->end - w->at) < size) return false;
    *value = 0;
    for (size_t i = 0; i < size; i++)
        *value |= (uint64_t)w->at[i] << 8 * i;
    w->at += size;
    return true;
}

// Reads bytes that are preceded by their number.
static inline bool import_wire_bytes(import_wire *w, import_wire *bytes)
{
    uint64_t size;
    if (!import_wire_varint(w, &size) || size > (uint64_t)(w->end - w->at))
        return false;
    *bytes = (import_wire){ w->at, w->at + size };
    w->at += size;
    return true;
}

// Reads the next field; false at the end, or if the bytes are malformed: then
// w->at < w->end.
static inline bool import_wire_field(import_wire *w, import_field *f)
{
    import_wire rest = *w;
    uint64_t tag;
    *f = (import_field){ 0 };
    if (rest.at == rest.end || !import_wire_varint(&rest, &tag)) return false;
    f->number = tag >> 3;
    f->type = tag & 7;
    const bool taken =
        f->type == IMPORT_VARINT    ? import_wire_varint(&rest, &f->value)
        : f->type == IMPORT_FIXED64 ? import_wire_fixed(&rest, 8, &f->value)
        : f->type == IMPORT_FIXED32
            ? import_wire_fixed(&rest, 4, &f->value)
            : f->type == IMPORT_BYTES && import_wire_bytes(&rest, &f->bytes);
    if (taken && f->number) *w = rest;
    return taken && f->number;
}

#endif // TS_TOOLS_IMPORT_WIRE_H
