/*
    bytes.h - unpacked bytes of a file
*/
#ifndef TS_TOOLS_IMPORT_BYTES_H
#define TS_TOOLS_IMPORT_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A file, or what gzip members of it unpack to; other bytes behind them are
// left out. Nothing is held beyond two buffers. What unpacks to far more than
// any trace does is an error.
typedef struct import_bytes import_bytes;

import_bytes *import_bytes_open(int fd); // takes the fd; NULL: no memory
// What a function reads (0: the end), which is a part of that file.
import_bytes *import_bytes_open_from(size_t (*read)(void *user, void *bytes,
                                                    size_t size),
                                     void *user, import_bytes *file);
void import_bytes_close(import_bytes *stream);

// The next bytes without taking them: `size` of them or all that are left.
// size: at most IMPORT_PEEK.
enum { IMPORT_PEEK = 64 << 10 };
const uint8_t *import_bytes_peek(import_bytes *stream, size_t *size);
size_t import_bytes_read(import_bytes *stream, void *bytes, size_t size);

const char *import_bytes_error(const import_bytes *stream); // or NULL
bool import_bytes_is_packed(const import_bytes *stream);
uint64_t import_bytes_done(const import_bytes *stream); // bytes of the file

#endif // TS_TOOLS_IMPORT_BYTES_H
