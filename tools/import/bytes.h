/*
    bytes.h - reading a file, unpacked if it is gzip, as UTF-8 if it is UTF-16
*/
#ifndef TS_TOOLS_IMPORT_BYTES_H
#define TS_TOOLS_IMPORT_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The bytes of a file, or the unpacked bytes of its gzip members; bytes after
// the last member are ignored. Text in UTF-16 is read as UTF-8. Holds two
// buffers. A file that unpacks to far
// more bytes than any trace does (a zip bomb) is an error.
typedef struct import_bytes import_bytes;

import_bytes *import_bytes_open(int fd); // owns the fd; NULL: no memory
// The same for bytes that a function reads (it returns 0 at the end), which are
// a part of `stream`.
import_bytes *import_bytes_open_from(size_t (*read)(void *user, void *bytes,
                                                    size_t size),
                                     void *user, import_bytes *file);
// Closes the file and frees the stream; NULL is allowed.
void import_bytes_close(import_bytes *stream);

enum { IMPORT_PEEK = 64 << 10 };
// Returns the next *size unpacked bytes without consuming them, at most
// IMPORT_PEEK; *size receives how many there are, fewer only at the end. Valid
// until the next call.
const uint8_t *import_bytes_peek(import_bytes *stream, size_t *size);
// Reads the next `size` bytes, fewer only at the end or after an error. Returns
// how many.
size_t import_bytes_read(import_bytes *stream, void *bytes, size_t size);

const char *import_bytes_error(const import_bytes *stream); // or NULL
// Returns whether these bytes differ from those of the file, which is gzip or
// UTF-16.
bool import_bytes_is_packed(const import_bytes *stream);
// Returns whether a part of a file that begins with these bytes, four or all of
// them, needs a stream of its own to be read.
bool import_bytes_is_coded(const uint8_t *head, size_t size);
uint64_t import_bytes_done(
    const import_bytes *stream); // bytes of the file that are read
// Counts bytes that were unpacked from those of the file by other means. False
// if they are far more than any trace has: an error.
bool import_bytes_count(import_bytes *file, size_t unpacked);
// Moves as lseek does, in a plain file that can do it. -1: it cannot.
int64_t import_bytes_seek(import_bytes *file, int64_t offset, int from);

#endif // TS_TOOLS_IMPORT_BYTES_H
