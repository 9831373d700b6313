/*
    whatif.c - what the texts of --what-if mean
*/
#include "tools/replay/whatif.h"
#include <ctype.h>

static const struct {
    const char *name;
    whatif_verb verb;
    bool bare; // nothing follows
} verbs[] = {
    { "scale", WHATIF_SCALE, false },
    { "remove", WHATIF_REMOVE, false },
    { "insert", WHATIF_INSERT, false },
    { "fuse", WHATIF_FUSE, false },
    { "copy", WHATIF_COPY, false },
    { "network", WHATIF_NETWORK, false },
    { "copy-engines", WHATIF_ENGINES, false },
    { "streams", WHATIF_STREAMS, false },
    { "serialise", WHATIF_SERIALISE, true },
    { "serialize", WHATIF_SERIALISE, true },
    { "no-launch-overhead", WHATIF_NO_LAUNCH, true },
    { "host", WHATIF_HOST, false },
    { "straggler", WHATIF_STRAGGLER, false },
    { "ideal-overlap", WHATIF_OVERLAP, true },
};

/* ---- Values ------------------------------------------------------------- */

static bool is(const char *text, size_t size, const char *word)
{
    return strlen(word) == size && !memcmp(text, word, size);
}

// Digits with at most one point as a whole number of tenths, hundredths, ...
static size_t decimal(const char *text, size_t size, uint64_t *num,
                      uint64_t *den)
{
    size_t i = 0, digits = 0;
    bool point = false;
    *num = 0;
    *den = 1;
    for (; i < size; i++) {
        if (text[i] == '.' && !point) {
            point = true;
            continue;
        }
        if (text[i] < '0' || text[i] > '9' || ++digits > 9) break;
        *num = *num * 10 + (uint64_t)(text[i] - '0');
        if (point) *den *= 10;
    }
    return digits ? i : 0;
}

bool whatif_ratio(const char *text, size_t size, ts_ratio *ratio)
{
    uint64_t num, den, over = 1, over_den = 1;
    size_t at = decimal(text, size, &num, &den);
    if (!at) return false;
    if (at < size && text[at] == '/') {
        const size_t more =
            decimal(text + at + 1, size - at - 1, &over, &over_den);
        if (!more || !over) return false;
        at += 1 + more;
    } else if (at + 1 == size && text[at] == '%') {
        over = 100;
        at++;
    } else if (at + 1 == size && text[at] == 'x') {
        at++;
    }
    if (at != size) return false;
    num *= over_den;
    den *= over;
    while ((num > UINT32_MAX || den > UINT32_MAX) && num % 10 == 0 &&
           den % 10 == 0) {
        num /= 10;
        den /= 10;
    }
    if (num > UINT32_MAX || den > UINT32_MAX) return false;
    ratio->num = (uint32_t)num;
    ratio->den = (uint32_t)den;
    return true;
}

static bool take_factor(whatif *w, const char *text, size_t size)
{
    return whatif_ratio(text, size, &w->factor);
}

static bool take_time(const char *text, size_t size, int64_t *ns)
{
    char copy[32];
    if (size >= sizeof copy) return false;
    memcpy(copy, text, size);
    copy[size] = 0;
    return cli_parse_time(copy, ns) && *ns >= 0;
}

static bool take_number(const char *text, size_t size, uint32_t *number)
{
    uint64_t value, den;
    if (decimal(text, size, &value, &den) != size || den != 1) return false;
    *number = (uint32_t)value;
    return true;
}

static bool take_word(whatif *w, const char *text, size_t size)
{
    if (!size || size >= sizeof w->word) return false;
    memcpy(w->word, text, size);
    w->word[size] = 0;
    return true;
}

/* ---- Expressions -------------------------------------------------------- */

static uint32_t kind_of(const char *text, size_t size)
{
    for (uint32_t kind = TS_EVENT_GPU_FIRST; kind < TS_EVENT_LIMIT; kind++)
        if (is(text, size, ts_event_name(kind))) return kind;
    return 0;
}

// What stands before a ~ is a kind if it is one word.
static bool take_kind(const cli_tool *tool, whatif *w, const char *text,
                      size_t *size)
{
    const char *const tilde = memchr(text, '~', *size);
    size_t name = 0; // destructors have :: before their ~
    while (name < *size && (isalnum((unsigned char)text[name]) ||
                            text[name] == '_' || text[name] == '-'))
        name++;
    *size = 0;
    if (!tilde || !name || tilde != text + name) return true;
    *size = name + 1;
    w->kind = kind_of(text, name);
    if (w->kind) return true;
    cli_error(tool, NULL, "--what-if '%s': no kind is called %.*s", w->text,
              (int)name, text);
    w->said = true;
    return false;
}

// "REGEX" or "KIND~REGEX". An empty one would mean everything, by accident.
static bool take_regex(const cli_tool *tool, whatif *w, const char *text,
                       size_t size)
{
    size_t kind = size;
    if (!take_kind(tool, w, text, &kind)) return false;
    if (kind == size) {
        cli_error(tool, NULL,
                  "--what-if '%s': the expression is empty; . is "
                  "everything",
                  w->text);
        w->said = true;
        return false;
    }
    char *const copy = strndup(text + kind, size - kind);
    if (!copy) return false;
    const int wrong = regcomp(&w->regex, copy, REG_EXTENDED | REG_NOSUB);
    free(copy);
    w->has_regex = wrong == 0;
    if (wrong) {
        char why[128];
        regerror(wrong, &w->regex, why, sizeof why);
        cli_error(tool, NULL, "--what-if '%s': %s", w->text, why);
        w->said = true;
    }
    return !wrong;
}

static const char *last_equals(const char *text)
{
    return strrchr(text, '=');
}

// "REGEX=VALUE": the last = counts, since expressions may hold some.
static bool read_pair(const cli_tool *tool, whatif *w, const char *rest)
{
    const char *const equals = last_equals(rest);
    if (!equals) return false;
    const size_t size = strlen(equals + 1);
    const bool ok = w->verb == WHATIF_STREAMS
                        ? take_word(w, equals + 1, size)
                        : take_factor(w, equals + 1, size);
    return ok && take_regex(tool, w, rest, (size_t)(equals - rest));
}

// "NAME=TIME after REGEX"
static bool read_insert(const cli_tool *tool, whatif *w, const char *rest)
{
    const char *const after = strstr(rest, " after ");
    if (!after) return false;
    const char *equals = after;
    while (equals > rest && *equals != '=')
        equals--;
    return *equals == '=' && take_word(w, rest, (size_t)(equals - rest)) &&
           take_time(equals + 1, (size_t)(after - equals - 1), &w->ns) &&
           take_regex(tool, w, after + 7, strlen(after + 7));
}

/* ---- Transfers ---------------------------------------------------------- */

// "bw=2x,lat=5us", in any order, or one of them.
static bool read_link(whatif *w, const char *text)
{
    while (*text) {
        const size_t size = strcspn(text, ",");
        if (size > 3 && !memcmp(text, "bw=", 3)) {
            ts_ratio faster;
            if (!whatif_ratio(text + 3, size - 3, &faster) || !faster.num)
                return false;
            w->factor.num = faster.den;
            w->factor.den = faster.num;
            w->has_bandwidth = true;
        } else if (size > 4 && !memcmp(text, "lat=", 4)) {
            if (!take_time(text + 4, size - 4, &w->ns)) return false;
            w->has_latency = true;
        } else {
            return false;
        }
        text += size + (text[size] == ',');
    }
    return w->has_bandwidth || w->has_latency;
}

static bool read_directions(whatif *w, const char *text, size_t size)
{
    static const char *const names[] = {
        "", "h2d", "d2h", "d2d", "h2h", "p2p"
    };
    while (size) {
        const char *const comma = memchr(text, ',', size);
        const size_t part = comma ? (size_t)(comma - text) : size;
        uint32_t bits = is(text, part, "all") ? 63 : 0;
        for (uint32_t i = 1; i < sizeof names / sizeof *names; i++)
            if (is(text, part, names[i])) bits |= UINT32_C(1) << i;
        if (!bits) return false;
        w->directions |= bits;
        text += part + (comma != NULL);
        size -= part + (comma != NULL);
    }
    return w->directions != 0;
}

// "h2d,d2h=0.5" or "h2d bw=2x,lat=5us"
static bool read_copy(whatif *w, const char *rest)
{
    const size_t size = strcspn(rest, " =");
    if (!rest[size] || !read_directions(w, rest, size)) return false;
    const char *const value = rest + size + 1;
    return rest[size] == '=' ? take_factor(w, value, strlen(value))
                             : read_link(w, value);
}

// "rank=R:FACTOR"
static bool read_straggler(whatif *w, const char *rest)
{
    if (strncmp(rest, "rank=", 5)) return false;
    const size_t size = strcspn(rest + 5, ":");
    const char *const factor = rest + 5 + size + 1;
    return rest[5 + size] && take_number(rest + 5, size, &w->number) &&
           take_factor(w, factor, strlen(factor));
}

/* ---- All of it ---------------------------------------------------------- */

static bool read_rest(const cli_tool *tool, whatif *w, const char *rest)
{
    const size_t size = strlen(rest);
    switch (w->verb) {
    case WHATIF_SCALE:
    case WHATIF_STREAMS: return read_pair(tool, w, rest);
    case WHATIF_REMOVE:
    case WHATIF_FUSE: return take_regex(tool, w, rest, size);
    case WHATIF_INSERT: return read_insert(tool, w, rest);
    case WHATIF_COPY: return read_copy(w, rest);
    case WHATIF_NETWORK:
        return take_factor(w, rest, size) || read_link(w, rest);
    case WHATIF_ENGINES:
        return take_number(rest, size, &w->number) && w->number;
    case WHATIF_HOST: return take_factor(w, rest, size);
    case WHATIF_STRAGGLER: return read_straggler(w, rest);
    default: return true;
    }
}

bool whatif_read(const cli_tool *tool, const char *text, whatif *w)
{
    memset(w, 0, sizeof *w);
    w->text = text;
    w->factor.num = w->factor.den = 1;
    const size_t size = strcspn(text, " ");
    const char *rest = text + size;
    rest += strspn(rest, " ");
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        if (!is(text, size, verbs[i].name)) continue;
        w->verb = verbs[i].verb;
        if (verbs[i].bare ? !*rest : *rest && read_rest(tool, w, rest))
            return true;
        break;
    }
    whatif_close(w);
    if (!w->said)
        cli_error(tool, NULL, "--what-if '%s': not understood; see --help",
                  text);
    return false;
}

void whatif_close(whatif *w)
{
    if (w->has_regex) regfree(&w->regex);
    w->has_regex = false;
}
