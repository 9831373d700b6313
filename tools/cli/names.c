/*
    names.c - shortens long names of functions
*/
#include "tools/cli/cli.h"

/* ---- Templates ----------------------------------------------------------- */

static bool starts(const char *text, size_t size, const char *with)
{
    return size >= strlen(with) && !memcmp(text, with, strlen(with));
}

enum { DEPTH_MOST = 64, FAILS_MOST = 8 };

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z') || c == '_';
}

// The open brackets. In "(8)>(0)" the sign is a comparison: < opens a bracket
// only after a name, and > closes one only if it is open.
typedef struct brackets {
    char open[DEPTH_MOST];
    size_t depth;
    bool deep; // nested deeper than the array
} brackets;

static void take_sign(brackets *b, char before, char sign)
{
    static const char opening[] = "<([{", closing[] = ">)]}";
    const char *const o = sign ? strchr(opening, sign) : NULL;
    const char *const c = sign ? strchr(closing, sign) : NULL;
    if (o && (sign != '<' || !b->depth || is_word(before))) {
        if (b->depth == DEPTH_MOST) b->deep = true;
        if (!b->deep) b->open[b->depth++] = sign;
    }
    if (!c || (sign == '>' && before == '-')) return;
    const char wanted = opening[c - closing];
    // A < that is still open at another closing bracket was a comparison.
    while (sign != '>' && b->depth && b->open[b->depth - 1] == '<')
        b->depth--;
    if (b->depth && b->open[b->depth - 1] == wanted) b->depth--;
}

// The number of bytes from a bracket to the one that closes it; 0 if none does.
static size_t bracket_size(const char *text, size_t size)
{
    brackets b = { .depth = 0 };
    for (size_t i = 0; i < size && !b.deep; i++) {
        take_sign(&b, i ? text[i - 1] : 0, text[i]);
        if (!b.depth) return i + 1;
    }
    return 0;
}

// Removes the return type before a function's name: "unsigned int f".
static size_t drop_type(char *text, size_t size)
{
    size_t depth = 0;
    // "operator unsigned int" is a name as a whole.
    for (size_t i = 0; i < size; i++)
        if (starts(text + i, size - i, "operator ")) return size;
    for (size_t i = size; i-- > 0;) {
        if (text[i] && strchr(">)]}", text[i])) depth++;
        if (text[i] && strchr("<([{", text[i]) && depth) depth--;
        if (text[i] != ' ' || depth) continue;
        memmove(text, text + i + 1, size - i - 1);
        return size - i - 1;
    }
    return size;
}

// The size of "operator<" and the like, whose signs are not brackets.
static size_t operator_size(const char *text, size_t size)
{
    if (!starts(text, size, "operator")) return 0;
    size_t i = 8;
    if (starts(text + i, size - i, "()")) return i + 2;
    while (i < size && strchr("<>=-+*/%&|^!~[],", text[i]))
        i++;
    return i;
}

static size_t const_size(const char *text, size_t size)
{
    return starts(text, size, " const") ? 6 : 0;
}

char *cli_collapse_name(const char *name, size_t size)
{
    // In the worst case every "<" becomes "<...>".
    char *const text = malloc(size * 5 + 1);
    size_t to = 0, fails = 0;
    if (!text) return NULL;
    if (starts(name, size, "void ")) name += 5, size -= 5;
    while (size) {
        const bool open =
            (*name == '<' || (*name == '(' && to)) && fails < FAILS_MOST;
        size_t step = operator_size(name, size);
        if (starts(name, size, "(anonymous namespace)")) step = 21;
        size_t left_out = open && !step ? bracket_size(name, size) : 0;
        if (open && !step && !left_out) fails++;
        if (left_out && *name == '(') {
            left_out += const_size(name + left_out, size - left_out);
            to = drop_type(text, to);
        } else if (left_out) {
            memcpy(text + to, "<...>", 5);
            to += 5;
        } else {
            step = step ? step : 1;
            memcpy(text + to, name, step);
            to += step;
        }
        name += left_out ? left_out : step;
        size -= left_out ? left_out : step;
    }
    text[to] = 0;
    return text;
}

/* ---- Brief names --------------------------------------------------------- */

typedef struct brief {
    char *text;
    size_t size;
    size_t paths[DEPTH_MOST + 1]; // start of the path of names at each depth
    brackets open;
} brief;

static void put(brief *b, const char *name, size_t step)
{
    const size_t before = b->open.depth;
    const char last = b->size ? b->text[b->size - 1] : 0;
    memcpy(b->text + b->size, name, step);
    b->size += step;
    if (step > 1) return;
    take_sign(&b->open, last, *name);
    if (b->open.depth > before || (*name && strchr(" ,&*", *name)))
        b->paths[b->open.depth] = b->size;
}

// "f()::{lambda}" and "f::operator()" are kept as a whole.
static bool is_path(const char *name, size_t size)
{
    return starts(name, size, "::") && !starts(name, size, "::operator") &&
           !starts(name, size, "::{");
}

// The size of a function's parameters; 0 for a note such as in "name (1)".
static size_t parameters_size(const brief *b, const char *name, size_t size)
{
    if (*name != '(' || b->open.depth || !b->size ||
        b->text[b->size - 1] == ' ')
        return 0;
    return bracket_size(name, size);
}

char *cli_brief_name(const char *name, size_t size)
{
    brief b = { .text = malloc(size + 1) };
    size_t fails = 0;
    if (!b.text) return NULL;
    if (starts(name, size, "void ")) name += 5, size -= 5;
    while (size) {
        size_t step = operator_size(name, size);
        if (starts(name, size, "(anonymous namespace)")) step = 21;
        const size_t left_out =
            step || fails == FAILS_MOST ? 0 : parameters_size(&b, name, size);
        if (left_out) {
            b.size = drop_type(b.text, b.size);
            step = left_out;
        } else if (!step && is_path(name, size)) {
            b.size = b.paths[b.open.depth];
            step = 2;
        } else {
            fails += !step && *name == '(' && !b.open.depth;
            step = step ? step : 1;
            put(&b, name, step);
        }
        name += step;
        size -= step;
    }
    b.text[b.size] = 0;
    return b.text;
}

/* ---- Short names -------------------------------------------------------- */

// The offset after the matching bracket, or the end of the text. A > within
// parentheses is a comparison.
static size_t behind(const char *text, size_t at, size_t size)
{
    enum { BITS = 64 };
    uint64_t round = 0; // a bit for each open bracket, the innermost last
    size_t depth = 0;
    for (; at < size; at++) {
        const char c = text[at];
        const bool arrow = c == '>' && at && text[at - 1] == '-';
        if (c == '<' || c == '(') {
            if (depth++ == BITS) return size;
            round = round << 1 | (c == '(');
        } else if (c == ')' || (c == '>' && !arrow && !(round & 1))) {
            while (c == ')' && depth > 1 &&
                   !(round & 1)) // the < was a comparison
                round >>= 1, depth--;
            round >>= 1;
            if (!--depth) return at + 1;
        }
    }
    return size;
}

bool cli_has(ts_text name, const char *part)
{
    const size_t size = strlen(part);
    for (size_t i = 0; i + size <= name.size; i++)
        if (!memcmp(name.text + i, part, size)) return true;
    return false;
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
        if (open && !scoped && at == first) return name; // not a function
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
