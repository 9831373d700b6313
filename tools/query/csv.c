/*
    csv.c - values as CSV (RFC 4180), into memory
*/
#include "tools/query/csv.h"

void csv_close(csv_buffer *buffer)
{
    free(buffer->data);
    *buffer = (csv_buffer){ 0 };
}

// Makes room for `size` bytes more, at least one. NULL: failed.
static char *room_for(csv_buffer *b, size_t size)
{
    if (b->room - b->size >= size) return b->data + b->size;
    if (!cli_grow(&b->data, &b->room, b->size + size, 1)) {
        b->failed = true;
        return NULL;
    }
    return b->data + b->size;
}

void csv_put_bytes(csv_buffer *buffer, const char *bytes, size_t size)
{
    char *const to = size ? room_for(buffer, size) : NULL;
    if (!to) return;
    memcpy(to, bytes, size);
    buffer->size += size;
}

void csv_put_integer(csv_buffer *buffer, int64_t number)
{
    char digits[20];
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    size_t at = sizeof digits;
    char *const to = room_for(buffer, sizeof digits + 1);
    if (!to) return;
    for (; left >= 100; left /= 100) {
        const unsigned two = (unsigned)(left % 100);
        digits[--at] = (char)('0' + two % 10);
        digits[--at] = (char)('0' + two / 10);
    }
    if (left >= 10) digits[--at] = (char)('0' + left % 10);
    digits[--at] = (char)('0' + (left >= 10 ? left / 10 : left));
    *to = '-';
    memcpy(to + (number < 0), digits + at, sizeof digits - at);
    buffer->size += sizeof digits - at + (number < 0);
}

cli_text csv_real_text(double real, bool exact)
{
    cli_text text = cli_format("%.15g", real);
    for (int digits = 16; exact && digits <= 17; digits++) {
        if (!(strtod(text.s, NULL) < real) && !(strtod(text.s, NULL) > real))
            break;
        text = cli_format("%.*g", digits, real);
    }
    return text;
}

void csv_put_real(csv_buffer *buffer, double real)
{
    const cli_text text = csv_real_text(real, true);
    csv_put_bytes(buffer, text.s, strlen(text.s));
}

/* ---- Texts -------------------------------------------------------------- */

// Returns how many bytes at the beginning are printable ASCII and, if `plain`,
// need no quotes.
static size_t printable(const char *text, size_t size, bool plain)
{
    size_t i = 0;
    for (; i < size; i++)
        if (text[i] < ' ' || text[i] > '~' ||
            (plain && (text[i] == ',' || text[i] == '"')))
            break;
    return i;
}

static void put_safe(csv_buffer *buffer, const char *text, size_t size)
{
    while (size) {
        uint32_t code;
        const size_t plain = printable(text, size, false);
        csv_put_bytes(buffer, text, plain);
        text += plain;
        size -= plain;
        const size_t n = cli_utf8(text, size, &code);
        if (cli_is_control(code) || (code == 0xFFFD && n == 1))
            csv_put_bytes(buffer, cli_unicode() ? "\uFFFD" : "?",
                          cli_unicode() ? 3 : 1);
        else
            csv_put_bytes(buffer, text, n);
        text += n;
        size -= n;
    }
}

static bool needs_quotes(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] == ',' || text[i] == '"' || text[i] == '\r' ||
            text[i] == '\n' || !text[i])
            return true;
    return false;
}

void csv_put_text(csv_buffer *buffer, const char *text, size_t size)
{
    const size_t plain = printable(text, size, true);
    if (plain == size) {
        csv_put_bytes(buffer, text, size);
        return;
    }
    if (!needs_quotes(text, size)) {
        put_safe(buffer, text, size);
        return;
    }
    csv_put_bytes(buffer, "\"", 1);
    size_t from = 0;
    for (size_t i = 0; i <= size; i++) {
        if (i < size && text[i] != '"' && text[i] != '\n') continue;
        put_safe(buffer, text + from, i - from);
        if (i < size && text[i] == '"') csv_put_bytes(buffer, "\"", 1);
        if (i < size) csv_put_bytes(buffer, &text[i], 1);
        from = i + 1;
    }
    csv_put_bytes(buffer, "\"", 1);
}
