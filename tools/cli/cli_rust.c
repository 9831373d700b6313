/*
    cli_rust.c - names of Rust functions, mangled as since 2018 ("v0")

    Source: Rust RFC 2603, "Rust Symbol Name Mangling v0". Hashes of crates,
    numbers of closures and lifetimes are left out, as rustc's own short form
    does. A name may refer back to parts of itself, so that a short one stands
    for a long text: output, depth and steps are bounded.
*/
#include "tools/cli/cli_rust.h"

enum { TEXT_MOST = 4096, DEPTH_MOST = 64, STEPS_MOST = 20000 };

typedef struct rust {
    const char *name; // behind "_R"
    size_t at, size;
    char *text;
    size_t used;
    uint32_t depth, steps;
    uint32_t mute; // parts that are read and not shown
    bool bad;
} rust;

static void put_sized(rust *r, const char *text, size_t size)
{
    if (r->mute || r->bad) return;
    if (size > TEXT_MOST - r->used) {
        r->bad = true;
        return;
    }
    memcpy(r->text + r->used, text, size);
    r->used += size;
}

static void put(rust *r, const char *text)
{
    put_sized(r, text, strlen(text));
}

static char next(rust *r)
{
    if (r->bad || r->at == r->size || r->steps++ == STEPS_MOST) {
        r->bad = true;
        return 0;
    }
    return r->name[r->at++];
}

static bool take(rust *r, char c)
{
    if (r->bad || r->at == r->size || r->name[r->at] != c) return false;
    r->at++;
    return true;
}

static uint64_t decimal(rust *r)
{
    uint64_t number = 0;
    if (take(r, '0')) return 0;
    while (r->at < r->size && r->name[r->at] >= '0' && r->name[r->at] <= '9') {
        number = number * 10 + (uint64_t)(next(r) - '0');
        if (number > r->size) r->bad = true;
        if (r->bad) return 0;
    }
    return number;
}

// "_" is 0, "0_" is 1, "Z_" is 62, ...
static uint64_t base_62(rust *r)
{
    uint64_t number = 0;
    if (take(r, '_')) return 0;
    for (;;) {
        const char c = next(r);
        if (c == '_') return number + 1;
        const uint64_t digit = c >= '0' && c <= '9'   ? (uint64_t)(c - '0')
                               : c >= 'a' && c <= 'z' ? (uint64_t)(c - 'a') + 10
                               : c >= 'A' && c <= 'Z' ? (uint64_t)(c - 'A') + 36
                                                      : 62;
        if (digit == 62 || number > UINT64_MAX / 62 - 62) r->bad = true;
        if (r->bad) return 0;
        number = number * 62 + digit;
    }
}

static void disambiguator(rust *r)
{
    if (take(r, 's')) base_62(r);
}

// Its size; 0 for closures, which have none.
static size_t identifier(rust *r)
{
    const bool punycode = take(r, 'u');
    const uint64_t size = decimal(r);
    take(r, '_');
    if (r->bad || size > r->size - r->at) {
        r->bad = true;
        return 0;
    }
    if (punycode) put(r, "punycode{");
    put_sized(r, r->name + r->at, (size_t)size);
    if (punycode) put(r, "}");
    r->at += (size_t)size;
    return (size_t)size;
}

static void path(rust *r, bool in_type);
static void type(rust *r);

// Reads what an earlier part says, from there.
static void back(rust *r, void (*read)(rust *r))
{
    const uint64_t to = base_62(r);
    const size_t here = r->at;
    if (r->bad || to >= here) {
        r->bad = true;
        return;
    }
    r->at = (size_t)to;
    read(r);
    r->at = here;
}

static bool enter(rust *r)
{
    if (r->depth++ == DEPTH_MOST) r->bad = true;
    return !r->bad;
}

static void constant_data(rust *r)
{
    const bool negative = take(r, 'n');
    uint64_t number = 0;
    cli_text text;
    for (char c; (c = next(r)) != '_' && !r->bad;) {
        const uint64_t digit = c >= '0' && c <= '9'   ? (uint64_t)(c - '0')
                               : c >= 'a' && c <= 'f' ? (uint64_t)(c - 'a') + 10
                                                      : 16;
        if (digit == 16 || number >> 60) r->bad = true;
        number = number << 4 | (digit & 15);
    }
    text = cli_format("%s%" PRIu64, negative ? "-" : "", number);
    put(r, text.s);
}

static void constant(rust *r)
{
    if (!enter(r)) return;
    if (take(r, 'p')) {
        put(r, "_");
    } else if (take(r, 'B')) {
        back(r, constant);
    } else {
        r->mute++;
        type(r);
        r->mute--;
        constant_data(r);
    }
    r->depth--;
}

static void argument(rust *r)
{
    if (take(r, 'L'))
        base_62(r), put(r, "'_");
    else if (take(r, 'K'))
        constant(r);
    else
        type(r);
}

static void list(rust *r, void (*read)(rust *r), const char *close)
{
    for (uint32_t i = 0; !take(r, 'E') && !r->bad; i++) {
        if (i) put(r, ", ");
        read(r);
    }
    put(r, close);
}

static void outer_path(rust *r)
{
    path(r, false);
}

static void type_path(rust *r)
{
    path(r, true);
}

// A function's, without what it may not change: lifetimes.
static void signature(rust *r)
{
    if (take(r, 'G')) base_62(r);
    if (take(r, 'U')) put(r, "unsafe ");
    if (take(r, 'K')) {
        put(r, "extern \"");
        if (take(r, 'C'))
            put(r, "C");
        else
            identifier(r);
        put(r, "\" ");
    }
    put(r, "fn(");
    list(r, type, ")");
    if (take(r, 'u')) return; // gives ()
    put(r, " -> ");
    type(r);
}

static void dynamic(rust *r)
{
    if (take(r, 'G')) base_62(r);
    put(r, "dyn ");
    for (uint32_t i = 0; !take(r, 'E') && !r->bad; i++) {
        if (i) put(r, " + ");
        path(r, true);
        while (take(r, 'p')) { // an associated type
            r->mute++;
            identifier(r);
            type(r);
            r->mute--;
        }
    }
    if (take(r, 'L')) base_62(r);
}

static void pointer(rust *r, const char *what)
{
    if (*what == '&' && take(r, 'L')) base_62(r);
    put(r, what);
    type(r);
}

static void type(rust *r)
{
    // By letter.
    static const char *const basic[26] = {
        "i8",    "bool", "char", "f64", "str",  "f32",  NULL,  "u8", "isize",
        "usize", NULL,   "i32",  "u32", "i128", "u128", "_",   NULL, NULL,
        "i16",   "u16",  "()",   "...", NULL,   "i64",  "u64", "!"
    };
    const char c = next(r);
    if (!enter(r)) return;
    if (c >= 'a' && c <= 'z' && basic[c - 'a']) {
        put(r, basic[c - 'a']);
    } else {
        switch (c) {
        case 'A':
            put(r, "[");
            type(r);
            put(r, "; ");
            constant(r);
            put(r, "]");
            break;
        case 'S':
            put(r, "[");
            type(r);
            put(r, "]");
            break;
        case 'T':
            put(r, "(");
            list(r, type, ")");
            break;
        case 'R': pointer(r, "&"); break;
        case 'Q': pointer(r, "&mut "); break;
        case 'P': pointer(r, "*const "); break;
        case 'O': pointer(r, "*mut "); break;
        case 'F': signature(r); break;
        case 'D': dynamic(r); break;
        case 'B': back(r, type); break;
        default:
            if (r->at) r->at--;
            path(r, true);
        }
    }
    r->depth--;
}

// Where an impl stands is not shown.
static void impl_path(rust *r)
{
    disambiguator(r);
    r->mute++;
    path(r, false);
    r->mute--;
}

static void nested(rust *r)
{
    const char space = next(r);
    path(r, false);
    disambiguator(r);
    if (space >= 'A' && space <= 'Z') { // {closure}, {shim:vtable}, ...
        put(r, space == 'C' ? "::{closure" : "::{shim");
        const size_t before = r->used;
        put(r, ":");
        if (!identifier(r)) r->used = r->mute ? r->used : before;
        put(r, "}");
    } else {
        const size_t before = r->used;
        put(r, "::");
        if (!identifier(r)) r->used = r->mute ? r->used : before;
    }
}

static void path(rust *r, bool in_type)
{
    const char c = next(r);
    if (!enter(r)) return;
    switch (c) {
    case 'C':
        disambiguator(r);
        identifier(r);
        break;
    case 'M':
        impl_path(r);
        put(r, "<");
        type(r);
        put(r, ">");
        break;
    case 'X':
        impl_path(r);
        /* fall through */
    case 'Y':
        put(r, "<");
        type(r);
        put(r, " as ");
        path(r, true);
        put(r, ">");
        break;
    case 'N': nested(r); break;
    case 'I':
        path(r, in_type);
        put(r, in_type ? "<" : "::<");
        list(r, argument, ">");
        break;
    case 'B': back(r, in_type ? type_path : outer_path); break;
    default: r->bad = true;
    }
    r->depth--;
}

char *cli_rust_name(const char *name)
{
    rust r = { .name = name + 2 };
    if (strncmp(name, "_R", 2) != 0) return NULL;
    // What linkers and compilers append: ".llvm.123".
    r.size = strcspn(r.name, ".$");
    r.text = calloc(1, TEXT_MOST + 1);
    if (!r.text) return NULL;
    path(&r, false);
    // Then nothing, or the crate that made an instance of it.
    if (!r.bad && r.at < r.size) {
        r.mute++;
        path(&r, false);
        r.mute--;
    }
    if (!r.bad && r.at == r.size && r.used) return r.text;
    free(r.text);
    return NULL;
}
