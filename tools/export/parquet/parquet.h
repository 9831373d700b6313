/*
    parquet.h - writes a table as a file of Apache Parquet

    Rows are put value by value. They are collected into row groups of bounded
    size, which a second thread encodes and writes, so that memory does not grow
    with the number of rows. Every column may have NULLs. Texts that repeat are
    written once in each group (dictionary encoding), and so are repeating
    integers. Pages are compressed by zstd, if the build has it.

    Source: apache/parquet-format 2.10: README.md, Encodings.md, parquet.thrift.
*/
#ifndef TS_EXPORT_PARQUET_H
#define TS_EXPORT_PARQUET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum parquet_type {
    PARQUET_INTEGER, // INT64
    PARQUET_REAL,    // DOUBLE
    PARQUET_TEXT     // BYTE_ARRAY, a STRING
} parquet_type;

typedef struct parquet_column {
    const char *name; // lives until parquet_close
    parquet_type type;
} parquet_column;

typedef struct parquet parquet;

// Whether this build can compress, that is, has zstd.
extern const bool parquet_compresses;

/*
    Begins a file at the start of `out`, which stays open, and of which the
    caller checks ferror after parquet_close. `columns` are copied. NULL: no
    memory.
*/
parquet *parquet_open(FILE *out, const parquet_column *columns, size_t count,
                      bool compress);

/*
    Put the value of a column of the current row; each column gets one. A byte
    of a text that is not valid UTF-8 becomes U+FFFD, as readers refuse others.
*/
void parquet_put_null(parquet *file, size_t column);
void parquet_put_integer(parquet *file, size_t column, int64_t number);
void parquet_put_real(parquet *file, size_t column, double number);
void parquet_put_text(parquet *file, size_t column, const char *text,
                      size_t size);
// Ends a row. False: no memory, or the output failed; parquet_close is next.
bool parquet_end_row(parquet *file);

// Writes what is left and the footer, and frees everything. False: no memory,
// or the output failed. Without `complete`, the file is left as it is.
bool parquet_close(parquet *file, bool complete);

#endif // TS_EXPORT_PARQUET_H
