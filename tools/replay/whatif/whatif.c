/*
    whatif.c - parses the texts of --what-if
*/
#include "tools/replay/whatif/whatif.h"
#include <ctype.h>

static const struct {
    const char *name;
    whatif_verb verb;
    const char *form; // syntax of the rest; NULL: none
} verbs[] = {
    { "scale", WHATIF_SCALE, "REGEX=FACTOR" },
    { "remove", WHATIF_REMOVE, "REGEX" },
    { "insert", WHATIF_INSERT, "NAME=TIME after REGEX" },
    { "fuse", WHATIF_FUSE, "REGEX" },
    { "copy", WHATIF_COPY,
      "DIRECTIONS=FACTOR or DIRECTIONS bw=FACTOR,lat=TIME" },
    { "network", WHATIF_NETWORK, "FACTOR or bw=FACTOR,lat=TIME" },
    { "copy-engines", WHATIF_ENGINES, "N" },
    { "streams", WHATIF_STREAMS, "REGEX=STREAM" },
    { "serialise", WHATIF_SERIALISE, NULL },
    { "serialize", WHATIF_SERIALISE, NULL },
    { "no-launch-overhead", WHATIF_NO_LAUNCH, NULL },
    { "host", WHATIF_HOST, "FACTOR" },
    { "straggler", WHATIF_STRAGGLER, "rank=R:FACTOR" },
    { "ideal-overlap", WHATIF_OVERLAP, NULL },
};

// The parsed text, and whether an error was reported.
typedef struct reading {
    const cli_tool *tool;
    whatif *w;
} reading;

// Reports "--what-if 'TEXT': 'PART' is WHY". Returns false.
static bool refuse(const reading *r, const char *part, size_t size,
                   const char *why)
{
    if (!r->w->said)
        cli_error(r->tool, NULL, "--what-if '%s': '%.*s' is %s", r->w->text,
                  (int)size, part, why);
    r->w->said = true;
    return false;
}

/* ---- Values ------------------------------------------------------------- */

static bool is(const char *text, size_t size, const char *word)
{
    return strlen(word) == size && !memcmp(text, word, size);
}

// Parses a decimal number into a numerator and a power of ten.
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

// Factors apply to times. "2x" is refused except after bw=, as it could mean a
// speed.
static bool take_factor(const reading *r, const char *text, size_t size)
{
    if (size > 1 && text[size - 1] == 'x')
        return refuse(r, text, size,
                      "ambiguous: a factor scales time (0.5: half as long); "
                      "bw=2x scales bandwidth");
    return whatif_ratio(text, size, &r->w->factor) ||
           refuse(r, text, size, "not a factor such as 2, 0.5, 1/3 or 80%");
}

static bool take_time(const reading *r, const char *text, size_t size)
{
    char copy[32] = "";
    if (size < sizeof copy) memcpy(copy, text, size);
    return (cli_parse_time(copy, &r->w->ns) && r->w->ns >= 0) ||
           refuse(r, text, size,
                  "not a time with a unit, such as 1.5ms or "
                  "20us");
}

static bool take_number(const reading *r, const char *text, size_t size,
                        const char *why)
{
    uint64_t value, den;
    if (!size || decimal(text, size, &value, &den) != size || den != 1)
        return refuse(r, text, size, why);
    r->w->number = (uint32_t)value;
    return true;
}

static bool take_word(const reading *r, const char *text, size_t size)
{
    if (!size || size >= sizeof r->w->word)
        return refuse(r, text, size, size ? "too long" : "no name");
    memcpy(r->w->word, text, size);
    r->w->word[size] = 0;
    return true;
}

/* ---- Expressions -------------------------------------------------------- */

static uint32_t kind_of(const char *text, size_t size)
{
    for (uint32_t kind = TS_EVENT_GPU_FIRST; kind < TS_EVENT_LIMIT; kind++)
        if (is(text, size, ts_event_name(kind))) return kind;
    return 0;
}

// Parses the KIND of "KIND~REGEX": one word before a ~. *size: its size with ~.
static bool take_kind(const reading *r, const char *text, size_t *size)
{
    const char *const tilde = memchr(text, '~', *size);
    size_t name = 0; // destructors have a ~ after ::
    while (name < *size && (isalnum((unsigned char)text[name]) ||
                            text[name] == '_' || text[name] == '-'))
        name++;
    *size = 0;
    if (!tilde || !name || tilde != text + name) return true;
    *size = name + 1;
    r->w->kind = kind_of(text, name);
    return r->w->kind ||
           refuse(r, text, name,
                  "not a kind of operation, such as kernel, memcpy, memset or "
                  "collective");
}

// Parses "REGEX" or "KIND~REGEX". An empty one is refused: it would match all.
static bool take_regex(const reading *r, const char *text, size_t size)
{
    size_t kind = size;
    cli_text why;
    if (!take_kind(r, text, &kind)) return false;
    if (kind == size)
        return refuse(r, text, size, "not an expression; . matches everything");
    r->w->pattern = text + kind;
    r->w->pattern_size = size - kind;
    r->w->has_regex =
        cli_regex_open(&r->w->regex, text + kind, size - kind, &why);
    if (r->w->has_regex) return true;
    const cli_text said = cli_format("not a valid expression: %s", why.s);
    return refuse(r, text + kind, size - kind, said.s);
}

// Reports the syntax of the verb if a separator is missing.
static bool misses(const reading *r, const char *rest, const char *what)
{
    if (!r->w->said)
        cli_error(r->tool, NULL, "--what-if '%s': '%s' needs %s", r->w->text,
                  rest, what);
    r->w->said = true;
    return false;
}

// Parses "REGEX=VALUE" at the last =, as expressions may contain =.
static bool read_pair(const reading *r, const char *rest)
{
    const bool streams = r->w->verb == WHATIF_STREAMS;
    const char *const equals = strrchr(rest, '=');
    if (!equals) return misses(r, rest, streams ? "=STREAM" : "=FACTOR");
    const size_t size = strlen(equals + 1);
    const bool ok = streams ? take_word(r, equals + 1, size)
                            : take_factor(r, equals + 1, size);
    return ok && take_regex(r, rest, (size_t)(equals - rest));
}

// "NAME=TIME after REGEX"
static bool read_insert(const reading *r, const char *rest)
{
    const char *const after = strstr(rest, " after ");
    if (!after) return misses(r, rest, "' after REGEX'");
    const char *equals = after;
    while (equals > rest && *equals != '=')
        equals--;
    if (*equals != '=') return misses(r, rest, "=TIME");
    return take_word(r, rest, (size_t)(equals - rest)) &&
           take_time(r, equals + 1, (size_t)(after - equals - 1)) &&
           take_regex(r, after + 7, strlen(after + 7));
}

/* ---- Transfers ---------------------------------------------------------- */

// "bw=2x"
static bool read_bandwidth(const reading *r, const char *text, size_t size)
{
    ts_ratio faster;
    if (!whatif_ratio(text, size, &faster) || !faster.num)
        return refuse(r, text, size, "not a factor above 0");
    r->w->factor.num = faster.den;
    r->w->factor.den = faster.num;
    r->w->has_bandwidth = true;
    return true;
}

// "bw=2x,lat=5us", in any order, or one of them.
static bool read_link(const reading *r, const char *text)
{
    do {
        const size_t size = strcspn(text, ",");
        if (size >= 3 && !memcmp(text, "bw=", 3)) {
            if (!read_bandwidth(r, text + 3, size - 3)) return false;
        } else if (size >= 4 && !memcmp(text, "lat=", 4)) {
            if (!take_time(r, text + 4, size - 4)) return false;
            r->w->has_latency = true;
        } else {
            return refuse(r, text, size, "neither bw=FACTOR nor lat=TIME");
        }
        text += size + (text[size] == ',');
    } while (*text);
    return true;
}

static bool read_directions(const reading *r, const char *text, size_t size)
{
    static const char *const names[] = {
        "", "h2d", "d2h", "d2d", "h2h", "p2p"
    };
    for (;;) {
        const char *const comma = memchr(text, ',', size);
        const size_t part = comma ? (size_t)(comma - text) : size;
        uint32_t bits = is(text, part, "all") ? 63 : 0;
        for (uint32_t i = 1; i < sizeof names / sizeof *names; i++)
            if (is(text, part, names[i])) bits |= UINT32_C(1) << i;
        if (!bits)
            return refuse(r, text, part,
                          "not one of h2d, d2h, d2d, h2h, p2p and all");
        r->w->directions |= bits;
        if (!comma) return true;
        text += part + 1;
        size -= part + 1;
    }
}

// "h2d,d2h=0.5" or "h2d bw=2x,lat=5us"
static bool read_copy(const reading *r, const char *rest)
{
    const size_t size = strcspn(rest, " =");
    if (!read_directions(r, rest, size)) return false;
    if (!rest[size]) return misses(r, rest, "=FACTOR");
    const char *const value = rest + size + 1;
    return rest[size] == '=' ? take_factor(r, value, strlen(value))
                             : read_link(r, value);
}

// "rank=R:FACTOR"
static bool read_straggler(const reading *r, const char *rest)
{
    if (strncmp(rest, "rank=", 5)) return misses(r, rest, "rank=");
    const size_t size = strcspn(rest + 5, ":");
    if (!rest[5 + size]) return misses(r, rest, ":FACTOR");
    const char *const factor = rest + 5 + size + 1;
    return take_number(r, rest + 5, size, "not a rank") &&
           take_factor(r, factor, strlen(factor));
}

/* ---- All of it ---------------------------------------------------------- */

static bool read_rest(const reading *r, const char *rest)
{
    static const char no_engines[] = "not a number of engines";
    const size_t size = strlen(rest);
    switch (r->w->verb) {
    case WHATIF_SCALE:
    case WHATIF_STREAMS: return read_pair(r, rest);
    case WHATIF_REMOVE:
    case WHATIF_FUSE: return take_regex(r, rest, size);
    case WHATIF_INSERT: return read_insert(r, rest);
    case WHATIF_COPY: return read_copy(r, rest);
    case WHATIF_NETWORK:
        return strchr(rest, '=') ? read_link(r, rest)
                                 : take_factor(r, rest, size);
    case WHATIF_ENGINES:
        return take_number(r, rest, size, no_engines) &&
               (r->w->number || refuse(r, rest, size, no_engines));
    case WHATIF_HOST: return take_factor(r, rest, size);
    case WHATIF_STRAGGLER: return read_straggler(r, rest);
    default: return true;
    }
}

static void print_verbs(const reading *r, size_t size)
{
    char text[256] = "";
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        if (i && verbs[i].verb == verbs[i - 1].verb) continue; // spelling
        const size_t at = strlen(text);
        snprintf(text + at, sizeof text - at, "%s%s", i ? ", " : "not one of ",
                 verbs[i].name);
    }
    refuse(r, r->w->text, size, text);
}

bool whatif_read(const cli_tool *tool, const char *text, whatif *w)
{
    memset(w, 0, sizeof *w);
    w->text = text;
    w->factor.num = w->factor.den = 1;
    const reading r = { tool, w };
    const size_t size = strcspn(text, " ");
    const char *rest = text + size;
    rest += strspn(rest, " ");
    size_t i = 0;
    const size_t count = sizeof verbs / sizeof *verbs;
    while (i < count && !is(text, size, verbs[i].name))
        i++;
    bool ok = false;
    if (i == count) {
        print_verbs(&r, size);
    } else {
        w->verb = verbs[i].verb;
        if (verbs[i].form && !*rest)
            misses(&r, text, verbs[i].form);
        else if (!verbs[i].form && *rest)
            refuse(&r, rest, strlen(rest), "unexpected here");
        else
            ok = read_rest(&r, rest);
    }
    if (!ok) whatif_close(w);
    return ok;
}

void whatif_close(whatif *w)
{
    if (w->has_regex) regfree(&w->regex);
    w->has_regex = false;
}

/* ---- In words ----------------------------------------------------------- */

static cli_text times_as_long(ts_ratio factor)
{
    if (2 * (uint64_t)factor.num == factor.den)
        return cli_format("half as long");
    if (factor.num == 2 * (uint64_t)factor.den)
        return cli_format("twice as long");
    return cli_format("%s times as long",
                      cli_real((double)factor.num / factor.den).s);
}

static cli_text link_words(const whatif *w)
{
    const cli_text lat = cli_format("latency %s", cli_time(w->ns).s);
    if (!w->has_bandwidth) return lat;
    return cli_format("transfers at %s times the bandwidth%s%s",
                      cli_real((double)w->factor.den / w->factor.num).s,
                      w->has_latency ? ", " : "", w->has_latency ? lat.s : "");
}

cli_text whatif_assumed(const whatif *w)
{
    const cli_text time = times_as_long(w->factor);
    switch (w->verb) {
    case WHATIF_SCALE: return cli_format("matching operations take %s", time.s);
    case WHATIF_HOST: return cli_format("the host takes %s", time.s);
    case WHATIF_STRAGGLER:
        return cli_format("rank %" PRIu32 " takes %s", w->number, time.s);
    case WHATIF_COPY:
    case WHATIF_NETWORK:
        return w->has_bandwidth || w->has_latency
                   ? link_words(w)
                   : cli_format("transfers take %s", time.s);
    default: return cli_format("%s", "");
    }
}

void whatif_nothing(const whatif *w, const ts_replay *replay, char *text,
                    size_t room)
{
    if (w->has_regex)
        whatif_near(w, replay, text, room);
    else
        snprintf(text, room, "%s",
                 w->verb == WHATIF_NETWORK ? "the trace contains no collective"
                 : w->verb == WHATIF_COPY  ? "the trace contains no such copy"
                                           : "no operation matches");
}
