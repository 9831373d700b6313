/*
    canvas.c - one line of styled characters
*/
#include "tools/view/view.h"

/* ---- Lines -------------------------------------------------------------- */

void view_line_clear(view_line *line)
{
    for (uint32_t i = 0; i < line->width; i++)
        line->glyphs[i] = (view_glyph){ .code = ' ' };
}

void view_put_code(view_line *line, uint32_t column, uint32_t code,
                   view_style style)
{
    if (column >= line->width) return;
    if (cli_is_control(code)) code = line->unicode ? 0xFFFD : '?';
    if (code > 0x7E && !line->unicode) code = '?';
    line->glyphs[column] = (view_glyph){ code, style };
}

uint32_t view_put(view_line *line, uint32_t column, uint32_t end,
                  const char *text, size_t size, view_style style)
{
    if (end > line->width) end = line->width;
    const bool cut = column < end && cli_columns(text, size) > end - column;
    const uint32_t stop = cut ? end - 1 : end;
    uint32_t code;
    for (size_t n; (n = cli_utf8(text, size, &code)) != 0;
         text += n, size -= n) {
        const uint32_t columns = line->unicode ? cli_code_columns(code) : 1;
        if (!columns) continue;
        if (column + columns > stop) break;
        view_put_code(line, column, code, style);
        if (columns == 2) line->glyphs[column + 1] = (view_glyph){ 0, style };
        column += columns;
    }
    if (!cut) return column;
    view_put_code(line, column, line->unicode ? 0x2026 : '~', style);
    return column + 1;
}

uint32_t view_put_string(view_line *line, uint32_t column, uint32_t end,
                         const char *text, view_style style)
{
    return view_put(line, column, end, text, strlen(text), style);
}

static void print_code(FILE *out, uint32_t c)
{
    if (c < 0x80) {
        fputc((int)c, out);
    } else if (c < 0x800) {
        fputc((int)(0xC0 | c >> 6), out);
        fputc((int)(0x80 | (c & 0x3F)), out);
    } else {
        if (c >= 0x10000) {
            fputc((int)(0xF0 | c >> 18), out);
            fputc((int)(0x80 | (c >> 12 & 0x3F)), out);
        } else {
            fputc((int)(0xE0 | c >> 12), out);
        }
        fputc((int)(0x80 | (c >> 6 & 0x3F)), out);
        fputc((int)(0x80 | (c & 0x3F)), out);
    }
}

void view_line_write(const view_line *line, FILE *out)
{
    for (uint32_t i = 0; i < line->width; i++)
        if (line->glyphs[i].code) print_code(out, line->glyphs[i].code);
}

static bool same_style(view_style a, view_style b)
{
    return a.fg == b.fg && a.bg == b.bg && a.bold == b.bold && a.dim == b.dim;
}

static void print_style(FILE *out, view_style style)
{
    fputs("\x1b[0", out);
    if (style.bold) fputs(";1", out);
    if (style.dim) fputs(";2", out);
    if (style.fg) fprintf(out, ";38;5;%u", style.fg);
    if (style.bg) fprintf(out, ";48;5;%u", style.bg);
    fputc('m', out);
}

void view_line_print(const view_line *line, FILE *out, bool color)
{
    uint32_t end = line->width;
    while (end && line->glyphs[end - 1].code == ' ' &&
           !line->glyphs[end - 1].style.bg)
        end--;
    view_style now = { 0 };
    for (uint32_t i = 0; i < end; i++) {
        const view_glyph *const g = &line->glyphs[i];
        if (!g->code) continue;
        if (color && !same_style(now, g->style)) print_style(out, g->style);
        now = g->style;
        print_code(out, g->code);
    }
    if (color && !same_style(now, (view_style){ 0 })) fputs("\x1b[0m", out);
    fputc('\n', out);
}

/* ---- Names -------------------------------------------------------------- */

// Copies a name without what stands between matching `open` and `close`.
static size_t drop_brackets(char *to, const char *from, size_t size, char open,
                            char close)
{
    size_t kept = 0, depth = 0;
    for (size_t i = 0; i < size; i++) {
        if (from[i] == open && i) depth++;
        if (!depth) to[kept++] = from[i];
        if (from[i] == close && depth) depth--;
    }
    return kept;
}

ts_text view_shorten(ts_text name, uint32_t columns, char buffer[256])
{
    if (name.size > 255 || cli_columns(name.text, name.size) <= columns ||
        !memchr(name.text, ':', name.size) +
                !memchr(name.text, '(', name.size) +
                !memchr(name.text, '<', name.size) ==
            3)
        return name;
    size_t size = drop_brackets(buffer, name.text, name.size, '(', ')');
    if (cli_columns(buffer, size) > columns)
        size = drop_brackets(buffer, buffer, size, '<', '>');
    if (cli_columns(buffer, size) <= columns) return (ts_text){ buffer, size };
    // The result type, then the namespaces one by one.
    char *from = buffer;
    char *const space = memchr(from, ' ', size);
    if (space && space + 1 < from + size) {
        size -= (size_t)(space + 1 - from);
        from = space + 1;
    }
    while (cli_columns(from, size) > columns) {
        char *const colon = memchr(from, ':', size);
        if (!colon || colon + 2 >= from + size || colon[1] != ':') break;
        size -= (size_t)(colon + 2 - from);
        from = colon + 2;
    }
    return (ts_text){ from, size };
}
