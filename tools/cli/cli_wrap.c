/*
    cli_wrap.c - text in lines that are no wider than the terminal
*/
#include "tools/ts_cli.h"

// "12.5 %", "1.50 ms" stay together.
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

// The bytes up to where a line may be broken.
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

// Behind the last of what may end a line within a word, or all that fits.
static size_t break_at(const char *text, size_t fit)
{
    for (size_t i = fit; i > fit / 3; i--)
        if (strchr("-_/.,:", text[i - 1])) return i;
    return fit;
}

// A word that no line has room for goes on in the next ones.
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
