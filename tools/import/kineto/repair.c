/*
    repair.c - repairs rows of invalid JSON, finds where to resume
*/
#include "tools/import/kineto/kineto.h"
#include <ctype.h>

int kineto_field_of(const uint8_t *key, size_t size)
{
    static const char *const names[] = { "ph",  "cat",   "name", "pid",
                                         "tid", "ts",    "dur",  "id",
                                         "id2", "scope", "args" };
    static const uint8_t sizes[] = { 2, 3, 4, 3, 3, 2, 3, 2, 3, 5, 4 };
    for (int i = 0; i <= KINETO_FIELDS; i++)
        if (sizes[i] == size && !memcmp(names[i], key, size)) return i;
    return -1;
}

/* ---- Mending ------------------------------------------------------------ */

static size_t word_size(const uint8_t *at, size_t size)
{
    size_t n = 0;
    while (n < size && ((at[n] | 0x20) >= 'a') && ((at[n] | 0x20) <= 'z'))
        n++;
    return n;
}

// Returns whether a text begins with "\\u" and four hexadecimal digits.
static bool is_code(const uint8_t *at, size_t size)
{
    if (size < 6 || at[1] != 'u') return false;
    for (size_t i = 2; i < 6; i++)
        if (!isxdigit(at[i])) return false;
    return true;
}

// Copies a string in quotes with valid escapes; returns its size in `from`.
static size_t mend_string(const uint8_t *from, size_t size, uint8_t **to)
{
    size_t i = 1;
    *(*to)++ = '"';
    while (i < size && from[i] != '"') {
        const uint8_t next = i + 1 < size ? from[i + 1] : 0;
        if (from[i] == '\\' && next &&
            (strchr("\"\\/bfnrt", next) || is_code(from + i, size - i))) {
            *(*to)++ = from[i++];
            *(*to)++ = from[i++];
            continue;
        }
        if (from[i] == '\\') *(*to)++ = '\\';
        *(*to)++ = from[i] < ' ' ? ' ' : from[i];
        i++;
    }
    *(*to)++ = '"';
    return i < size ? i + 1 : i;
}

// Removes a comma before the bracket that follows.
static uint8_t *drop_comma(const uint8_t *mended, uint8_t *to)
{
    uint8_t *end = to;
    while (end > mended && strchr(" \t\r\n", end[-1]) && end[-1])
        end--;
    return end > mended && end[-1] == ',' ? end - 1 : to;
}

size_t kineto_mend(const uint8_t *from, size_t size, uint8_t *mended)
{
    uint8_t *to = mended;
    for (size_t i = 0; i < size;) {
        const size_t word = word_size(from + i, size - i);
        if (from[i] == '"') {
            i += mend_string(from + i, size - i, &to);
        } else if (word) {
            const bool known = (word == 4 && (!memcmp(from + i, "true", 4) ||
                                              !memcmp(from + i, "null", 4))) ||
                               (word == 5 && !memcmp(from + i, "false", 5)) ||
                               word == 1;
            // Remove a sign before it.
            if (!known && to > mended && (to[-1] == '-' || to[-1] == '+')) to--;
            memcpy(to, known ? from + i : (const uint8_t *)"null",
                   known ? word : 4);
            to += known ? word : 4;
            i += word;
        } else {
            if (from[i] == '}' || from[i] == ']') to = drop_comma(mended, to);
            *to++ = from[i++];
        }
    }
    return (size_t)(to - mended);
}

/* ---- The next row ------------------------------------------------------- */

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static size_t skip_blanks(const uint8_t *text, size_t at, size_t size)
{
    while (at < size && is_blank(text[at]))
        at++;
    return at;
}

// Returns whether a row begins at the bracket, judging by its first key.
static bool begins_row(const uint8_t *text, size_t at, size_t size)
{
    at = skip_blanks(text, at + 1, size);
    if (at >= size || text[at] != '"') return false;
    const uint8_t *const key = text + at + 1;
    const uint8_t *const end = memchr(key, '"', size - at - 1);
    if (!end || kineto_field_of(key, (size_t)(end - key)) < 0) return false;
    const size_t colon = skip_blanks(text, (size_t)(end - text) + 1, size);
    return colon < size && text[colon] == ':';
}

// Returns whether the array of events ends at the bracket.
static bool ends_events(const uint8_t *text, size_t at, size_t size)
{
    at = skip_blanks(text, at + 1, size);
    if (at >= size || text[at] == '}') return at < size;
    if (text[at] != ',') return false;
    at = skip_blanks(text, at + 1, size);
    return at < size && text[at] == '"';
}

// Finds the next row, or the bracket that ends the array of events.
size_t kineto_find_row(const uint8_t *text, size_t from, size_t size)
{
    uint8_t before = 0; // last byte that is no blank; 0: unknown
    for (size_t i = from; i < size; i++) {
        const uint8_t c = text[i];
        const bool separate =
            !before || before == ',' || before == '[' || before == '}';
        if (c == '{' && separate && begins_row(text, i, size)) return i;
        if (c == ']' && before == '}' && ends_events(text, i, size)) return i;
        if (!is_blank(c)) before = c;
    }
    return size;
}

// Finds the position after the bracket that begins the array of events.
size_t kineto_find_events(const uint8_t *text, size_t from, size_t size)
{
    static const char key[] = "\"traceEvents\"";
    for (size_t i = from; i + sizeof key - 1 < size; i++) {
        if (text[i] != '"' || memcmp(text + i, key, sizeof key - 1)) continue;
        size_t at = skip_blanks(text, i + sizeof key - 1, size);
        if (at == size || text[at] != ':') continue;
        at = skip_blanks(text, at + 1, size);
        if (at < size - 1 && text[at] == '[') return at + 1;
    }
    return size;
}
