/*
    csv.h - reading CSV, a row at a time

    Cells are separated by commas and may be quoted ("a ""b"", c"), as RFC 4180
    has it. The first row names the columns.
*/
#ifndef TS_TOOLS_IMPORT_CSV_H
#define TS_TOOLS_IMPORT_CSV_H

#include "tools/import/import.h"

enum { IMPORT_CELLS = 128 }; // of a row; the rest is dropped

typedef struct import_csv {
    import_source *source;
    ts_text cells[IMPORT_CELLS]; // count; valid until the next row
    size_t count;
    bool is_cut;             // the file ends inside of a quoted cell
    uint8_t block[16 << 10]; // private from here on
    size_t at, size;
    char *bytes;
    size_t byte_count, room;
    bool out_of_memory;
} import_csv;

void import_csv_open(import_csv *csv, import_source *source);
// Reads the next row, without empty ones; false at the end.
bool import_csv_next(import_csv *csv);
// Frees the row. False if memory ran out.
bool import_csv_close(import_csv *csv);

#endif // TS_TOOLS_IMPORT_CSV_H
