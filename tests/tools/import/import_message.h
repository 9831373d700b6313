/*
    import_message.h - protobuf messages for tests of importers, field by field
*/
#ifndef IMPORT_MESSAGE_H
#define IMPORT_MESSAGE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct message {
    uint8_t bytes[1 << 18];
    size_t size;
} message;

static inline void put_number(message *m, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        m->bytes[m->size++] = (uint8_t)(value | 0x80);
    m->bytes[m->size++] = (uint8_t)value;
}

static inline void put(message *m, uint32_t field, uint64_t value)
{
    put_number(m, field << 3);
    put_number(m, value);
}

static inline void put_fixed(message *m, uint32_t field, uint64_t value)
{
    put_number(m, field << 3 | 1);
    memcpy(m->bytes + m->size, &value, 8);
    m->size += 8;
}

static inline void put_bytes(message *m, uint32_t field, const void *bytes,
                             size_t size)
{
    put_number(m, field << 3 | 2);
    put_number(m, size);
    memcpy(m->bytes + m->size, bytes, size);
    m->size += size;
}

static inline void put_text(message *m, uint32_t field, const char *text)
{
    put_bytes(m, field, text, strlen(text));
}

// Adds a message to another, and empties it.
static inline void add(message *m, uint32_t field, message *inner)
{
    put_bytes(m, field, inner->bytes, inner->size);
    inner->size = 0;
}

#endif // IMPORT_MESSAGE_H
