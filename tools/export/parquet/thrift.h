/*
    thrift.h - structures in Thrift's compact protocol

    The fields of a structure are put in ascending order of their numbers.

    Source: apache/thrift, doc/specs/thrift-compact-protocol.md.
*/
#ifndef TS_EXPORT_PARQUET_THRIFT_H
#define TS_EXPORT_PARQUET_THRIFT_H

#include "tools/export/parquet/bytes.h"

enum {
    THRIFT_I32 = 5,
    THRIFT_I64 = 6,
    THRIFT_BINARY = 8,
    THRIFT_LIST = 9,
    THRIFT_STRUCT = 12
};

// Structures that are open, from the outermost: the last field of each.
typedef struct thrift {
    parquet_bytes *bytes;
    int last[8], depth;
} thrift;

static inline thrift thrift_begin(parquet_bytes *bytes)
{
    return (thrift){ .bytes = bytes };
}

// Ends a structure.
static inline void thrift_end(thrift *t)
{
    parquet_append_le(t->bytes, 0, 1);
    if (t->depth) t->depth--;
}

static inline void thrift_field(thrift *t, int field, int type)
{
    const int step = field - t->last[t->depth]; // 1 to 15 in what we write
    parquet_append_le(t->bytes, (uint64_t)(step << 4 | type), 1);
    t->last[t->depth] = field;
}

static inline void thrift_number(thrift *t, int64_t number)
{
    const uint64_t sign = number < 0 ? UINT64_MAX : 0; // zigzag
    parquet_append_varint(t->bytes, (uint64_t)number << 1 ^ sign);
}

static inline void thrift_i32(thrift *t, int field, int32_t number)
{
    thrift_field(t, field, THRIFT_I32);
    thrift_number(t, number);
}

static inline void thrift_i64(thrift *t, int field, int64_t number)
{
    thrift_field(t, field, THRIFT_I64);
    thrift_number(t, number);
}

static inline void thrift_bytes(thrift *t, const void *bytes, size_t size)
{
    parquet_append_varint(t->bytes, size);
    parquet_append(t->bytes, bytes, size);
}

static inline void thrift_binary(thrift *t, int field, const void *bytes,
                                 size_t size)
{
    thrift_field(t, field, THRIFT_BINARY);
    thrift_bytes(t, bytes, size);
}

// Its elements follow; a structure among them begins with thrift_open.
static inline void thrift_list(thrift *t, int field, int type, size_t count)
{
    thrift_field(t, field, THRIFT_LIST);
    parquet_append_le(t->bytes, (count < 15 ? count : 15) << 4 | (unsigned)type,
                      1);
    if (count >= 15) parquet_append_varint(t->bytes, count);
}

static inline void thrift_open(thrift *t)
{
    t->last[++t->depth] = 0;
}

static inline void thrift_struct(thrift *t, int field)
{
    thrift_field(t, field, THRIFT_STRUCT);
    thrift_open(t);
}

#endif // TS_EXPORT_PARQUET_THRIFT_H
