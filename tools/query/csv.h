/*
    csv.h - values as CSV (RFC 4180), into memory
*/
#ifndef TS_TOOLS_QUERY_CSV_H
#define TS_TOOLS_QUERY_CSV_H

#include "tools/cli/cli.h"

typedef struct csv_buffer {
    char *data;
    size_t size, room;
    bool failed; // no memory: what was put since is missing
} csv_buffer;

void csv_close(csv_buffer *buffer);

void csv_put_bytes(csv_buffer *buffer, const char *bytes, size_t size);
void csv_put_integer(csv_buffer *buffer, int64_t number);
// With enough digits to read back the same number.
void csv_put_real(csv_buffer *buffer, double real);
// In quotes if they are needed. Line breaks stay; other control characters, and
// bytes that are no UTF-8, are replaced as cli_put_text replaces them.
void csv_put_text(csv_buffer *buffer, const char *text, size_t size);

// Returns a number as text; exact: as csv_put_real.
cli_text csv_real_text(double real, bool exact);

#endif // TS_TOOLS_QUERY_CSV_H
