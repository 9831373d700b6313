/*
    json.c - values as JSON
*/
#include "tools/export/json.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

// Whether one of eight bytes is not ASCII, a control, '"' or '\\'. Each term
// sets the highest bit of such a byte, and perhaps of those after it.
static bool any_special(const char *text)
{
    const uint64_t all = UINT64_MAX / 255, high = all * 0x80;
    uint64_t eight;
    memcpy(&eight, text, sizeof eight);
    const uint64_t quote = eight ^ all * '"', slash = eight ^ all * '\\';
    const uint64_t delete = eight ^ all * 0x7F;
    return (eight | (eight - all * 0x20) | (quote - all) | (slash - all) |
            (delete - all)) &
           high;
}

static bool is_special(char c)
{
    return (uint8_t)c >= 0x7F || (uint8_t)c < 0x20 || c == '"' || c == '\\';
}

// How many bytes stand for themselves.
static size_t plain_size(const char *text, size_t size)
{
    size_t count = 0;
    while (size - count >= 8 && !any_special(text + count))
        count += 8;
    while (count < size && !is_special(text[count]))
        count++;
    return count;
}

// Writes a byte that does not stand for itself, and returns how many it takes.
static size_t put_special(export_buffer *b, const char *text, size_t left)
{
    const uint8_t byte = (uint8_t)*text;
    uint8_t *const to = export_room(b, 8);
    if (byte == '"' || byte == '\\') {
        to[0] = '\\', to[1] = byte, b->size += 2;
        return 1;
    }
    uint32_t code = byte;
    const size_t size = byte < 0x80 ? byte != 0 : export_utf8_size(text, left);
    if (size > 1) cli_utf8(text, size, &code);
    if (size && (byte < 0x80 || cli_is_control(code)))
        b->size += (size_t)snprintf((char *)to, 8, "\\u%04x", (unsigned)code);
    else
        export_put_utf8(b, text, size ? size : 1);
    return size ? size : 1;
}

void export_json_escaped(export_buffer *b, ts_text text)
{
    for (size_t i = 0; i < text.size;) {
        const size_t plain = plain_size(text.text + i, text.size - i);
        export_put(b, text.text + i, plain);
        i += plain;
        if (i < text.size) i += put_special(b, text.text + i, text.size - i);
    }
}

void export_json_string(export_buffer *b, ts_text text)
{
    export_put(b, "\"", 1);
    export_json_escaped(b, text);
    export_put(b, "\"", 1);
}

void export_json_uint(export_buffer *b, uint64_t number)
{
    enum { DIGITS = 20 };
    char text[2 * DIGITS] = { 0 }; // so that DIGITS bytes may always be copied
    char *at = text + DIGITS;
    for (; number >= 100; number /= 100) {
        const uint64_t two = number % 100;
        *--at = (char)('0' + two % 10);
        *--at = (char)('0' + two / 10);
    }
    *--at = (char)('0' + number % 10);
    if (number >= 10) *--at = (char)('0' + number / 10);
    memcpy(export_room(b, DIGITS), at, DIGITS);
    b->size += (size_t)(text + DIGITS - at);
}

void export_json_int(export_buffer *b, int64_t number)
{
    if (number < 0) export_put(b, "-", 1);
    export_json_uint(b, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

void export_json_double(export_buffer *b, double number)
{
    char text[40];
    if (isnan(number)) {
        export_put(b, "\"NaN\"", 5);
    } else if (isinf(number)) {
        const char *const word = number < 0 ? "\"-Infinity\"" : "\"Infinity\"";
        export_put(b, word, strlen(word));
    } else {
        for (int digits = 15; digits <= 17; digits++) {
            snprintf(text, sizeof text, "%.*g", digits, number);
            if (strtod(text, NULL) == number) break;
        }
        export_put(b, text, strlen(text));
    }
}

void export_json_us(export_buffer *b, uint64_t ns)
{
    export_json_uint(b, ns / 1000);
    const uint32_t rest = (uint32_t)(ns % 1000);
    uint8_t *const to = export_room(b, 4);
    to[0] = '.';
    to[1] = (uint8_t)('0' + rest / 100);
    to[2] = (uint8_t)('0' + rest / 10 % 10);
    to[3] = (uint8_t)('0' + rest % 10);
    b->size += 4;
}

/* ---- Text that is JSON itself -------------------------------------------- */

// Where a text is looked at.
typedef struct look {
    const char *at, *end;
} look;

static bool take(look *l, char c)
{
    if (l->at == l->end || *l->at != c) return false;
    l->at++;
    return true;
}

static bool take_word(look *l, const char *word)
{
    const size_t size = strlen(word);
    if ((size_t)(l->end - l->at) < size || memcmp(l->at, word, size) != 0)
        return false;
    l->at += size;
    return true;
}

static bool take_escape(look *l)
{
    if (l->at == l->end) return false;
    if (*l->at != 'u') return strchr("\"\\/bfnrt", *l->at++) && l->at[-1];
    l->at++;
    for (int i = 0; i < 4; i++, l->at++)
        if (l->at == l->end || !*l->at ||
            !strchr("0123456789abcdefABCDEF", *l->at))
            return false;
    return true;
}

static bool take_string(look *l)
{
    if (!take(l, '"')) return false;
    while (l->at < l->end && *l->at != '"') {
        const size_t size = export_utf8_size(l->at, (size_t)(l->end - l->at));
        if (!size || (uint8_t)*l->at < 0x20) return false;
        l->at += size;
        if (l->at[-1] == '\\' && !take_escape(l)) return false;
    }
    return take(l, '"');
}

static size_t take_digits(look *l)
{
    const char *const from = l->at;
    while (l->at < l->end && *l->at >= '0' && *l->at <= '9')
        l->at++;
    return (size_t)(l->at - from);
}

static bool take_number(look *l)
{
    take(l, '-');
    if (!take(l, '0') && !take_digits(l)) return false;
    if (take(l, '.') && !take_digits(l)) return false;
    if (!take(l, 'e') && !take(l, 'E')) return true;
    if (!take(l, '+')) take(l, '-');
    return take_digits(l) > 0;
}

static bool take_scalar(look *l)
{
    if (l->at == l->end) return false;
    if (*l->at == '"') return take_string(l);
    return take_word(l, "true") || take_word(l, "false") ||
           take_word(l, "null") || take_number(l);
}

// Between the values of an array or object: opens[depth - 1] is its bracket.
static bool take_next(look *l, char *opens, size_t *depth)
{
    while (*depth) {
        const bool is_object = opens[*depth - 1] == '{';
        if (take(l, ',')) return !is_object || (take_string(l) && take(l, ':'));
        if (!take(l, is_object ? '}' : ']')) return false;
        --*depth;
    }
    return true;
}

bool export_json_is_nested(ts_text text)
{
    enum { DEEPEST = 64 };
    char opens[DEEPEST];
    size_t depth = 0;
    look l = { text.text, text.text + text.size };
    if (!text.size || (*l.at != '[' && *l.at != '{')) return false;
    do {
        const char c = l.at < l.end ? *l.at : 0;
        if (c != '[' && c != '{') {
            if (!take_scalar(&l) || !take_next(&l, opens, &depth)) return false;
            continue;
        }
        if (depth == DEEPEST) return false;
        opens[depth++] = *l.at++;
        if (take(&l, c == '{' ? '}' : ']')) {
            depth--;
            if (!take_next(&l, opens, &depth)) return false;
        } else if (c == '{' && !(take_string(&l) && take(&l, ':'))) {
            return false;
        }
    } while (depth);
    return l.at == l.end;
}
