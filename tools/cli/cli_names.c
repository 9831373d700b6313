/*
    cli_names.c - long names of functions, made shorter
*/
#include "tools/ts_cli.h"

/* ---- Templates ----------------------------------------------------------- */

static bool starts(const char *text, size_t size, const char *with)
{
    return size >= strlen(with) && !memcmp(text, with, strlen(with));
}

// The bytes of a bracket and all up to the one that closes it; 0: none does.
static size_t bracket_size(const char *text, size_t size, char open, char close)
{
    size_t depth = 0;
    for (size_t i = 0; i < size; i++) {
        const bool arrow = text[i] == '>' && i && text[i - 1] == '-';
        if (text[i] == open) depth++;
        if (text[i] == close && !arrow && !--depth) return i + 1;
    }
    return 0;
}

// Where "operator<" and its like end: their signs are no brackets.
static size_t operator_size(const char *text, size_t size)
{
    if (!starts(text, size, "operator")) return 0;
    size_t i = 8;
    if (starts(text + i, size - i, "()")) return i + 2;
    while (i < size && strchr("<>=-+*/%&|^!~[],", text[i]))
        i++;
    return i;
}

char *cli_collapse_name(const char *name, size_t size)
{
    // At worst every "<" becomes "<...>".
    char *const text = malloc(size * 5 + 1);
    char *to = text;
    if (!text) return NULL;
    if (starts(name, size, "void ")) name += 5, size -= 5;
    while (size) {
        size_t step = operator_size(name, size);
        if (step) {
            memcpy(to, name, step);
            to += step;
        } else if (*name == '<' &&
                   (step = bracket_size(name, size, '<', '>')) != 0) {
            memcpy(to, "<...>", 5);
            to += 5;
        } else if (starts(name, size, "(anonymous namespace)")) {
            step = 21;
            memcpy(to, name, step);
            to += step;
        } else if (*name == '(' && to > text &&
                   (step = bracket_size(name, size, '(', ')')) != 0) {
            // Parameters are left out, and what may follow: " const".
            const char *const rest = name + step;
            if (starts(rest, size - step, " const")) step += 6;
        } else {
            step = 1;
            *to++ = *name;
        }
        name += step;
        size -= step;
    }
    *to = 0;
    return text;
}

/* ---- Brief names --------------------------------------------------------- */

enum { DEPTH_MOST = 64 };

typedef struct brief {
    char *text;
    size_t size;
    size_t paths[DEPTH_MOST]; // where in the text a path of names began
    size_t depth;             // of brackets
} brief;

static void put(brief *b, const char *name, size_t step)
{
    memcpy(b->text + b->size, name, step);
    b->size += step;
    if (step > 1) return;
    if (strchr("<({[", *name) && b->depth + 1 < DEPTH_MOST)
        b->paths[++b->depth] = b->size;
    else if (strchr(">)}]", *name) && b->depth)
        b->depth--;
    else if (strchr(" ,&*", *name))
        b->paths[b->depth] = b->size;
}

// Of "f()::{lambda}" and "f::operator()" all is needed.
static bool is_path(const char *name, size_t size)
{
    return starts(name, size, "::") && !starts(name, size, "::operator") &&
           !starts(name, size, "::{");
}

char *cli_brief_name(const char *name, size_t size)
{
    brief b = { .text = malloc(size + 1) };
    if (!b.text) return NULL;
    if (starts(name, size, "void ")) name += 5, size -= 5;
    while (size) {
        size_t step = operator_size(name, size);
        if (starts(name, size, "(anonymous namespace)")) step = 21;
        if (is_path(name, size)) {
            b.size = b.paths[b.depth];
            step = 2;
        } else if (step || *name != '(' || b.depth || !b.size ||
                   b.text[b.size - 1] == ' ' ||
                   !(step = bracket_size(name, size, '(', ')'))) {
            put(&b, name, step ? step : 1);
            step = step ? step : 1;
        }
        name += step;
        size -= step;
    }
    b.text[b.size] = 0;
    return b.text;
}

/* ---- Short names -------------------------------------------------------- */

// The end of what a bracket opens, or the text's.
static size_t behind(const char *text, size_t at, size_t size)
{
    size_t depth = 0;
    for (; at < size; at++) {
        if (text[at] == '<' || text[at] == '(') depth++;
        const bool arrow = text[at] == '>' && at && text[at - 1] == '-';
        if ((text[at] == '>' || text[at] == ')') && !arrow && !--depth)
            return at + 1;
    }
    return size;
}

ts_text cli_short_name(ts_text name)
{
    size_t first = 0, at = 0, end = 0;
    while (at < name.size) {
        const char c = name.text[at];
        const bool open = c == '(' || c == '<';
        const size_t next = open ? behind(name.text, at, name.size) : at + 1;
        const bool scoped = next + 1 < name.size && name.text[next] == ':' &&
                            name.text[next + 1] == ':';
        if (open && !scoped && at == first) return name; // no function
        if (open && !scoped) {
            if (!end) end = at;
            if (c == '(') break;
        }
        if (c == ' ' || c == ':') {
            first = next;
            end = 0;
        }
        at = next;
    }
    if (!end) end = name.size;
    if (first >= end) return name;
    return (ts_text){ name.text + first, end - first };
}
