/*
    xml.c - XML as a stream of events
*/
#include "tools/import/xctrace/xml.h"

enum { NONE = -1, DEPTH_MOST = 1000 };

static int peek(xml *x)
{
    if (x->at == x->end) {
        x->at = 0;
        x->end = import_source_read(x->source, x->piece, sizeof x->piece);
    }
    return x->at < x->end ? x->piece[x->at] : NONE;
}

static int next(xml *x)
{
    const int c = peek(x);
    x->at += c != NONE;
    return c;
}

static bool is_blank(int c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void skip_blanks(xml *x)
{
    while (is_blank(peek(x)))
        x->at++;
}

static void add(xml_text *text, int c)
{
    if (text->size < XML_TEXT_MOST) text->bytes[text->size++] = (char)c;
}

static void add_character(xml_text *text, uint32_t c)
{
    if (c < 0x80) {
        add(text, (int)c);
        return;
    }
    const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const int heads[] = { 0, 0xC0, 0xE0, 0xF0 };
    add(text, heads[more] | (int)(c >> 6 * more));
    for (int i = more; i-- > 0;)
        add(text, 0x80 | (int)(c >> 6 * i & 0x3F));
}

// Reads a reference behind its "&". What is none stays as it is.
static void take_reference(xml *x, xml_text *text)
{
    static const struct {
        const char *name;
        char is;
    } known[] = { { "lt", '<' },
                  { "gt", '>' },
                  { "amp", '&' },
                  { "quot", '"' },
                  { "apos", '\'' } };
    char name[12];
    size_t size = 0;
    while (size < sizeof name - 1 && peek(x) != NONE && peek(x) > ' ' &&
           !strchr(";<>&\"'", peek(x)))
        name[size++] = (char)next(x);
    name[size] = 0;
    if (peek(x) == ';') {
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (!strcmp(name, known[i].name)) {
                x->at++;
                add(text, known[i].is);
                return;
            }
        char *end;
        const bool is_hex = name[0] == '#' && name[1] == 'x';
        const unsigned long c =
            name[0] == '#' ? strtoul(name + 1 + is_hex, &end, is_hex ? 16 : 10)
                           : 0;
        if (c && c <= 0x10FFFF && !*end) {
            x->at++;
            add_character(text, (uint32_t)c);
            return;
        }
    }
    add(text, '&');
    for (size_t i = 0; i < size; i++)
        add(text, name[i]);
}

static void read_name(xml *x, char *name)
{
    size_t size = 0;
    while (peek(x) > ' ' && !strchr("=/>\"'<", peek(x))) {
        const int c = next(x);
        if (size < XML_NAME - 1) name[size++] = (char)c;
    }
    name[size] = 0;
}

// Skips to behind a text of up to three characters. False: the file ends
// before.
static bool skip_past(xml *x, const char *text)
{
    const size_t size = strlen(text);
    char last[3] = "";
    for (int c; (c = next(x)) != NONE;) {
        memmove(last, last + 1, size - 1);
        last[size - 1] = (char)c;
        if (!memcmp(last, text, size)) return true;
    }
    return false;
}

static bool read_attribute(xml *x)
{
    static const char *const names[] = { "id", "ref", "fmt", "name" };
    char name[XML_NAME];
    xml_text ignored, *to = &ignored;
    read_name(x, name);
    skip_blanks(x);
    if (!*name || next(x) != '=') return false;
    skip_blanks(x);
    const int quote = next(x);
    if (quote != '"' && quote != '\'') return false;
    for (size_t i = 0; i < XML_ATTRIBUTES; i++)
        if (!strcmp(name, names[i])) to = &x->attributes[i];
    to->size = 0;
    for (int c; (c = next(x)) != quote;) {
        if (c == NONE || c == '<') return false;
        if (c == '&')
            take_reference(x, to);
        else
            add(to, c);
    }
    to->bytes[to->size] = 0;
    return true;
}

static xml_event read_begin(xml *x)
{
    read_name(x, x->name);
    for (size_t i = 0; i < XML_ATTRIBUTES; i++) {
        x->attributes[i].size = 0;
        x->attributes[i].bytes[0] = 0;
    }
    for (;;) {
        skip_blanks(x);
        const int c = peek(x);
        if (c == '>' || c == '/') break;
        if (!read_attribute(x)) return XML_BROKEN;
    }
    x->is_empty = next(x) == '/';
    if (x->is_empty && next(x) != '>') return XML_BROKEN;
    return *x->name && ++x->depth < DEPTH_MOST ? XML_BEGIN : XML_BROKEN;
}

static xml_event read_end(xml *x)
{
    read_name(x, x->name);
    skip_blanks(x);
    if (next(x) != '>' || !x->depth) return XML_BROKEN;
    x->depth--;
    return XML_END;
}

static xml_event read_text(xml *x)
{
    x->text.size = 0;
    for (int c; (c = peek(x)) != '<' && c != NONE;) {
        x->at++;
        if (c == '&')
            take_reference(x, &x->text);
        else
            add(&x->text, c);
    }
    x->text.bytes[x->text.size] = 0;
    return XML_TEXT;
}

xml_event xml_next(xml *x)
{
    if (x->is_empty) {
        x->is_empty = false;
        x->depth--;
        return XML_END;
    }
    for (;;) {
        const int c = peek(x);
        if (c == NONE) return x->depth ? XML_BROKEN : XML_END_OF_FILE;
        if (c != '<') return read_text(x);
        x->at++;
        if (peek(x) == '/') {
            x->at++;
            return read_end(x);
        }
        if (peek(x) != '?' && peek(x) != '!') return read_begin(x);
        const bool is_comment = next(x) == '!';
        if (is_comment && (next(x) != '-' || next(x) != '-')) return XML_BROKEN;
        if (!skip_past(x, is_comment ? "-->" : "?>")) return XML_BROKEN;
    }
}
