/*
    wrap.c - wraps text to the width of the terminal
*/
#define _GNU_SOURCE // fopencookie
#include "tools/cli/cli.h"

// Whether a word is a unit, which is not separated from its number: "12.5 %",
// "1.50 ms".
static bool is_unit(ts_text text)
{
    static const char *const units[] = { "%", "ns",  "us",  "ms",  "s",
                                         "B", "KiB", "MiB", "GiB", "TiB" };
    size_t size = 0;
    while (size < text.size && text.text[size] != ' ' &&
           !strchr(",.;:)", text.text[size]))
        size++;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i]) == size && !memcmp(units[i], text.text, size))
            return true;
    return false;
}

// The number of bytes up to the next possible line break.
static size_t word_size(ts_text text)
{
    for (size_t i = 0; i < text.size; i++) {
        if (text.text[i] != ' ') continue;
        const ts_text rest = { text.text + i + 1, text.size - i - 1 };
        const bool digit =
            i && text.text[i - 1] >= '0' && text.text[i - 1] <= '9';
        if (!digit || !is_unit(rest)) return i;
    }
    return text.size;
}

// Where to break a long word: after the last character that may end a line,
// else where the line is full.
static size_t break_at(const char *text, size_t fit)
{
    for (size_t i = fit; i > fit / 3; i--)
        if (strchr("-_/.,:", text[i - 1])) return i;
    return fit;
}

// A word longer than a line is continued on the next lines.
static uint32_t put_word(FILE *out, ts_text word, uint32_t indent, uint32_t at,
                         uint32_t width)
{
    for (;;) {
        const size_t fit = cli_columns_fit(word.text, word.size, width - at);
        const size_t size = !fit || width <= at ? word.size
                            : fit < word.size   ? break_at(word.text, fit)
                                                : fit;
        cli_put_text(out, word.text, size);
        at += cli_columns(word.text, size);
        word.text += size;
        word.size -= size;
        if (!word.size) return at;
        fprintf(out, "\n%*s", (int)indent, "");
        at = indent;
    }
}

void cli_put_wrapped(FILE *out, ts_text text, uint32_t indent, uint32_t first,
                     uint32_t width)
{
    uint32_t at = first;
    bool begun = first > indent;
    while (text.size) {
        size_t size = word_size(text);
        const ts_text word = { text.text, size };
        const uint32_t wide = cli_columns(word.text, word.size);
        if (begun && at + begun + wide > width) {
            fprintf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (begun) {
            fputc(' ', out);
            at++;
        }
        at = put_word(out, word, indent, at, width);
        begun = true;
        size += size < text.size;
        text.text += size;
        text.size -= size;
    }
    fputc('\n', out);
}

/* ---- Folding ------------------------------------------------------------- */

static struct {
    FILE *out;  // the terminal
    char *line; // the current, incomplete line
    size_t size, room;
} folded;

// The columns of a word, not counting escape sequences for colours.
static uint32_t columns_of(const char *text, size_t size)
{
    uint32_t columns = 0;
    while (size) {
        const char *const escape = memchr(text, '\x1b', size);
        const size_t before = escape ? (size_t)(escape - text) : size;
        columns += cli_columns(text, before);
        text += before;
        size -= before;
        while (size && *text != 'm') {
            text++;
            size--;
        }
        if (size) {
            text++;
            size--;
        }
    }
    return columns;
}

static size_t blanks(ts_text text)
{
    size_t size = 0;
    while (size < text.size && text.text[size] == ' ')
        size++;
    return size;
}

// The indentation of continuation lines: for a row of a table below its value,
// or slightly right of its name; for prose that of its first line. lead: the
// indentation of the first line.
static uint32_t hang_of(ts_text line, uint32_t lead, uint32_t width)
{
    for (size_t i = blanks(line); i + 1 < line.size; i++) {
        const ts_text rest = { line.text + i, line.size - i };
        const size_t gap = blanks(rest);
        const uint32_t at = columns_of(line.text, i + gap);
        if (gap > 1) return at > width / 2 ? lead + 2 : at;
    }
    return lead ? lead : 2;
}

// A word longer than a line is continued on the next lines, unless it has
// colours.
static uint32_t fold_word(ts_text word, uint32_t hang, uint32_t at,
                          uint32_t width)
{
    while (word.size && !memchr(word.text, '\x1b', word.size) &&
           at + cli_columns(word.text, word.size) > width) {
        const size_t fit = cli_columns_fit(word.text, word.size, width - at);
        const size_t size = fit ? break_at(word.text, fit) : 0;
        if (!size) break;
        fwrite(word.text, 1, size, folded.out);
        fprintf(folded.out, "\n%*s", (int)hang, "");
        word.text += size;
        word.size -= size;
        at = hang;
    }
    fwrite(word.text, 1, word.size, folded.out);
    return at + columns_of(word.text, word.size);
}

static void fold_line(ts_text line, uint32_t width)
{
    uint32_t at = (uint32_t)blanks(line);
    if (at > width / 2) at = width / 4;
    const uint32_t hang = hang_of(line, at, width);
    fprintf(folded.out, "%*s", (int)at, "");
    for (bool begun = false;; begun = true) {
        const size_t gap = blanks(line);
        line.text += gap;
        line.size -= gap;
        if (!line.size) return;
        const size_t size = word_size(line);
        const uint32_t wide = columns_of(line.text, size);
        const uint32_t spaces = at + gap == hang ? (uint32_t)gap
                                : gap > 2        ? 2
                                                 : (uint32_t)gap;
        if (begun && at + spaces + wide > width && at > hang) {
            fprintf(folded.out, "\n%*s", (int)hang, "");
            at = hang;
        } else if (begun) {
            at += (uint32_t)fprintf(folded.out, "%*s", (int)spaces, "");
        }
        at = fold_word((ts_text){ line.text, size }, hang, at, width);
        line.text += size;
        line.size -= size;
    }
}

// Commands are not wrapped, because users copy them.
static void put_line(ts_text line)
{
    static const char command[] = "  ts-";
    const uint32_t width = cli_width();
    if (columns_of(line.text, line.size) <= width ||
        (line.size > sizeof command && !memcmp(line.text, command, 5)))
        fwrite(line.text, 1, line.size, folded.out);
    else
        fold_line(line, width);
}

static bool keep_part(const char *bytes, size_t size)
{
    if (folded.size + size > folded.room) {
        const size_t room = 2 * (folded.size + size);
        char *const more = realloc(folded.line, room);
        if (!more) return false;
        folded.line = more;
        folded.room = room;
    }
    memcpy(folded.line + folded.size, bytes, size);
    folded.size += size;
    return true;
}

static ssize_t fold_write(void *unused, const char *bytes, size_t size)
{
    (void)unused;
    for (size_t at = 0; at < size;) {
        const char *const end = memchr(bytes + at, '\n', size - at);
        const size_t part = end ? (size_t)(end - bytes) - at : size - at;
        if (!keep_part(bytes + at, part)) return 0;
        at += part + (end != NULL);
        if (!end) break;
        put_line((ts_text){ folded.line, folded.size });
        fputc('\n', folded.out);
        folded.size = 0;
    }
    return fflush(folded.out) == 0 ? (ssize_t)size : 0;
}

bool cli_is_narrow(void)
{
    return cli_has_width() && cli_width() < 80;
}

void cli_fold(void)
{
#ifdef __GLIBC__ // elsewhere stdout cannot be assigned
    static const cookie_io_functions_t functions = { .write = fold_write };
    if (!cli_is_narrow() || folded.out) return;
    FILE *const file = fopencookie(NULL, "w", functions);
    if (!file) return;
    folded.out = stdout;
    stdout = file;
#endif
}
