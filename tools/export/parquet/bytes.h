/*
    bytes.h - a growing array of bytes

    A failure to allocate is kept in `failed`: whoever appends need not look
    until the end.
*/
#ifndef TS_EXPORT_PARQUET_BYTES_H
#define TS_EXPORT_PARQUET_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct parquet_bytes {
    uint8_t *data;
    size_t size, room;
    bool failed;
} parquet_bytes;

// Makes room for `more` bytes after the contents. False: no memory.
static inline bool parquet_room(parquet_bytes *b, size_t more)
{
    if (b->failed || b->room - b->size >= more) return !b->failed;
    size_t room = b->room ? b->room : 256;
    while (room - b->size < more && room <= SIZE_MAX / 2)
        room *= 2;
    uint8_t *const data = room - b->size < more ? NULL : realloc(b->data, room);
    b->failed = !data;
    if (!data) return false;
    b->data = data;
    b->room = room;
    return true;
}

static inline void parquet_append(parquet_bytes *b, const void *bytes,
                                  size_t size)
{
    if (!size || !parquet_room(b, size)) return;
    memcpy(b->data + b->size, bytes, size);
    b->size += size;
}

// Little endian, `size` of its bytes.
static inline void parquet_append_le(parquet_bytes *b, uint64_t number,
                                     size_t size)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(number >> 8 * i);
    parquet_append(b, bytes, size);
}

static inline void parquet_append_varint(parquet_bytes *b, uint64_t number)
{
    uint8_t bytes[10];
    size_t size = 0;
    for (; number >= 0x80; number >>= 7)
        bytes[size++] = (uint8_t)(number | 0x80);
    bytes[size++] = (uint8_t)number;
    parquet_append(b, bytes, size);
}

static inline void parquet_bytes_close(parquet_bytes *b)
{
    free(b->data);
    *b = (parquet_bytes){ 0 };
}

#endif // TS_EXPORT_PARQUET_BYTES_H
