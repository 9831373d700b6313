/*
    bytes.h - reading a file, unpacked if it is gzip
*/
#ifndef TS_TOOLS_IMPORT_BYTES_H
#define TS_TOOLS_IMPORT_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The bytes of a file, or the unpacked bytes of its gzip members; bytes after
// the last member are ignored. Holds two buffers. A file that unpacks to far
// more bytes than any trace does (a zip bomb) is an error.
typedef struct import_bytes import_bytes;

import_bytes *import_bytes_open(int fd); // owns the fd; NULL: no memory
// The same for bytes that a function reads (it returns 0 at the end), which are
// a part of `stream`.
import_bytes *import_bytes_open_from(size_t (*read)(void *user, void *bytes,
                                                    size_t size),
                                     void *user, import_bytes *file);
void import_bytes_close(import_bytes *stream);

// Returns the next `size` bytes, or all that are left, without consuming them.
// size: at most IMPORT_PEEK.
enum { IMPORT_PEEK = 64 << 10 };
const uint8_t *import_bytes_peek(import_bytes *stream, size_t *size);
size_t import_bytes_read(import_bytes *stream, void *bytes, size_t size);

const char *import_bytes_error(const import_bytes *stream); // or NULL
bool import_bytes_is_packed(const import_bytes *stream);
uint64_t import_bytes_done(
    const import_bytes *stream); // bytes of the file that are read

#endif // TS_TOOLS_IMPORT_BYTES_H
