/*
    column.h - the values of a column in a row group, and its pages
*/
#ifndef TS_EXPORT_PARQUET_COLUMN_H
#define TS_EXPORT_PARQUET_COLUMN_H

#include "tools/cli/map.h"
#include "tools/export/parquet/bytes.h"
#include "tools/export/parquet/parquet.h"

// Rows of a group: few enough that every page is below 1 MiB of numbers.
enum { PARQUET_GROUP_ROWS = 122880 };

typedef struct parquet_values {
    parquet_type type;
    bool failed;      // no memory
    uint32_t rows;    // with NULLs
    uint32_t count;   // without
    size_t room;      // of values
    uint8_t *present; // PARQUET_GROUP_ROWS bytes: whether the row has a value
    union {
        int64_t *integers;
        double *reals;
        uint32_t *texts; // indexes of the dictionary
        void *all;
    } u;
    // Texts, each once. text_ends[i]: the end of text i in `bytes`.
    cli_index index;
    parquet_bytes bytes;
    size_t *text_ends;
    size_t text_room, text_count;
} parquet_values;

// Each returns the number of bytes that the group has grown by.
size_t parquet_values_null(parquet_values *values);
size_t parquet_values_integer(parquet_values *values, int64_t number);
size_t parquet_values_real(parquet_values *values, double number);
size_t parquet_values_text(parquet_values *values, const char *text,
                           size_t size);
// Removes the values and keeps the memory.
void parquet_values_clear(parquet_values *values);
void parquet_values_close(parquet_values *values);

static inline const char *parquet_text(const parquet_values *v, size_t i,
                                       size_t *size)
{
    const size_t from = i ? v->text_ends[i - 1] : 0;
    *size = v->text_ends[i] - from;
    return (const char *)v->bytes.data + from;
}

// What an encoder keeps from column to column.
typedef struct parquet_encoder {
    bool compress;
    void *zstd; // context of the compressor
    parquet_bytes page, packed, header, minimum, maximum;
    uint32_t *indexes; // of integers; PARQUET_GROUP_ROWS
    int64_t *distinct; // integers, each once
} parquet_encoder;

bool parquet_encoder_open(parquet_encoder *encoder, bool compress);
void parquet_encoder_close(parquet_encoder *encoder);

/*
    Appends the pages of a column to `out` and its ColumnChunk to `footer`.
    `offset` is where the pages begin in the file, *raw grows by their size
    before compression. False: no memory.
*/
bool parquet_encode(parquet_encoder *encoder, const parquet_values *values,
                    const char *name, int64_t offset, parquet_bytes *out,
                    parquet_bytes *footer, int64_t *raw);

#endif // TS_EXPORT_PARQUET_COLUMN_H
