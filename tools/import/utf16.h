/*
    utf16.h - text in UTF-16, as Windows programs write it, read as UTF-8
*/
#ifndef TS_IMPORT_UTF16_H
#define TS_IMPORT_UTF16_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct import_utf16 import_utf16;

// Reads the next bytes of UTF-16; returns 0 at the end.
typedef size_t import_utf16_input(void *user, uint8_t *bytes, size_t size);

// Returns whether a file begins like UTF-16: with a byte order mark, or with
// the two bytes of a bracket of JSON. Looks at IMPORT_UTF16_LOOK bytes.
enum { IMPORT_UTF16_LOOK = 4 };
bool import_utf16_begins(const uint8_t *bytes, size_t size);

// Opens text that begins with `first`, at most IMPORT_UTF16_LOOK bytes, and
// goes on with what `read` returns. NULL: no memory.
import_utf16 *import_utf16_open(const uint8_t *first, size_t size,
                                import_utf16_input *read, void *user);
// Frees the text; NULL is allowed.
void import_utf16_close(import_utf16 *text);

// Reads the next bytes of UTF-8, without the byte order mark, at least one
// except at the end. Halves of surrogate pairs become U+FFFD.
size_t import_utf16_read(import_utf16 *text, uint8_t *bytes, size_t size);
// Returns whether the text ended inside a character.
bool import_utf16_is_cut(const import_utf16 *text);

#endif // TS_IMPORT_UTF16_H
