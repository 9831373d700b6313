/*
    stream.h - reading protobuf from a file, a field at a time

    Messages are not held in memory: their contents are read in place, or
    skipped.

        for (xplane_field f; xplane_field_next(s, end, &f);) {
            if (f.number == 2) ... // contents up to f.end
            xplane_seek(s, f.end);
        }
*/
#ifndef TS_TOOLS_IMPORT_XPLANE_STREAM_H
#define TS_TOOLS_IMPORT_XPLANE_STREAM_H

#include "tools/import/import.h"

typedef struct xplane_stream {
    FILE *in;
    uint64_t at;       // position in the file
    uint64_t size;     // of the file
    bool is_damaged;   // a field did not fit, or the file could not be read
    uint64_t block_at; // private from here on: position of the block
    size_t block_size;
    uint8_t block[64 << 10];
} xplane_stream;

typedef struct xplane_field {
    uint64_t number, value; // value: of a varint or fixed-size field
    uint8_t type;           // IMPORT_VARINT ...
    uint64_t end;           // position behind the field
} xplane_field;

// Opens a file; false with errno. Closed by xplane_close.
bool xplane_open(xplane_stream *s, const char *path);
void xplane_close(xplane_stream *s);
// Moves to a position, at most the end of the file.
void xplane_seek(xplane_stream *s, uint64_t at);
// Reads the next field of a message that ends at `end`; of bytes their size, so
// that s->at is at the first of them. False at the end, or if it is damaged.
bool xplane_field_next(xplane_stream *s, uint64_t end, xplane_field *f);
// Reads bytes; returns how many there were.
size_t xplane_read(xplane_stream *s, void *bytes, size_t size);

#endif // TS_TOOLS_IMPORT_XPLANE_STREAM_H
