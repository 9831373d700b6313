/*
    gate.c - parses gates: how much worse a trace may be
*/
#include "tools/diff/diff.h"
#include <unistd.h>

static char *copy_text(const char *text, size_t size)
{
    char *const copy = malloc(size + 1);
    if (!copy) return NULL;
    memcpy(copy, text, size);
    copy[size] = 0;
    return copy;
}

static bool wrong(const cli_tool *tool, const char *where, const char *text,
                  const char *why)
{
    cli_fail(tool, TS_ERR_USAGE, NULL, "%s '%s': %s", where, text, why);
    return false;
}

/* ---- Limits ------------------------------------------------------------- */

// Parses digits with up to four decimals, in ten-thousandths.
static bool parse_decimal(const char *text, size_t size, int64_t *value)
{
    int64_t sum = 0;
    size_t i = 0;
    int decimals = -1;
    for (; i < size; i++) {
        if (text[i] == '.' && decimals < 0) {
            decimals = 0;
            continue;
        }
        if (text[i] < '0' || text[i] > '9' || decimals == 4 ||
            sum > INT64_MAX / 100000 / 100)
            return false;
        sum = sum * 10 + (text[i] - '0');
        decimals += decimals >= 0;
    }
    if (!size || text[0] == '.' || decimals == 0) return false;
    for (int n = decimals < 0 ? 0 : decimals; n < 4; n++) {
        if (sum > INT64_MAX / 10) return false;
        sum *= 10;
    }
    *value = sum;
    return true;
}

// Parses a size with a unit. A number without a unit is a count.
static bool parse_bytes(const char *text, size_t size, int64_t *value)
{
    uint64_t bytes;
    if (text[size - 1] != 'B' || !cli_parse_bytes(text, &bytes)) return false;
    *value = (int64_t)bytes; // at most INT64_MAX
    return true;
}

// Parses a limit: "+5%", "+2ms", "+64MiB", "+3".
static bool parse_limit(const char *text, size_t size, diff_limit *limit)
{
    char copy[32];
    if (size < 2 || size >= sizeof copy || text[0] != '+') return false;
    memcpy(copy, text + 1, size - 1);
    copy[--size] = 0;
    if (copy[size - 1] == '%') {
        limit->unit = DIFF_LIMIT_SHARE; // ten thousandths of 1 % each
        return parse_decimal(copy, size - 1, &limit->value);
    }
    limit->unit = DIFF_LIMIT_BYTES;
    if (parse_bytes(copy, size, &limit->value)) return true;
    limit->unit = DIFF_LIMIT_COUNT;
    if (strspn(copy, "0123456789") == size) {
        if (!parse_decimal(copy, size, &limit->value)) return false;
        limit->value /= 10000;
        return true;
    }
    limit->unit = DIFF_LIMIT_NS;
    return cli_parse_time(copy, &limit->value) && limit->value >= 0;
}

/* ---- Parsing ------------------------------------------------------------ */

typedef struct words {
    const char *text;
    size_t size; // bytes left to parse
} words;

// Finds the last word of the remaining text; false if there is none.
static bool last_word(const words *w, const char **word, size_t *size)
{
    size_t end = w->size;
    while (end && (w->text[end - 1] == ' ' || w->text[end - 1] == '\t'))
        end--;
    size_t begin = end;
    while (begin && w->text[begin - 1] != ' ' && w->text[begin - 1] != '\t')
        begin--;
    *word = w->text + begin;
    *size = end - begin;
    return end > begin;
}

static bool is_word(const char *word, size_t size, const char *text)
{
    return strlen(text) == size && !memcmp(word, text, size);
}

static void take_word(words *w, const char *word)
{
    w->size = (size_t)(word - w->text);
    while (w->size &&
           (w->text[w->size - 1] == ' ' || w->text[w->size - 1] == '\t'))
        w->size--;
}

static bool take_limits(diff_gate *g, words *w)
{
    const char *word;
    size_t size;
    while (last_word(w, &word, &size) && *word == '+') {
        if (g->limit_count == DIFF_LIMITS ||
            !parse_limit(word, size, &g->limits[g->limit_count++]))
            return false;
        take_word(w, word);
    }
    return g->limit_count > 0;
}

enum {
    OPERATIONS = 1u << DIFF_KERNEL | 1u << DIFF_COPY | 1u << DIFF_COLLECTIVE,
    SAMPLES = 1u << DIFF_SAMPLE | 1u << DIFF_SAMPLE_STACK,
    WHOLE = 1u << DIFF_MAKESPAN | 1u << DIFF_STEP | 1u << DIFF_LATENCY
};

static bool take_metric(diff_gate *g, words *w)
{
    static const struct {
        const char *name;
        diff_metric metric;
    } metrics[] = { { "total", DIFF_TOTAL },
                    { "median", DIFF_MEDIAN },
                    { "count", DIFF_COUNT },
                    { "peak", DIFF_TOTAL } };
    const char *word;
    size_t size;
    // Steps and latencies are compared by their medians.
    const bool middle =
        !(g->subjects & ~(1u << DIFF_STEP | 1u << DIFF_LATENCY));
    g->metric = middle ? DIFF_MEDIAN : DIFF_TOTAL;
    if (!last_word(w, &word, &size)) return true;
    for (unsigned i = 0; i < 4; i++) {
        if (!is_word(word, size, metrics[i].name)) continue;
        const bool peak = !strcmp(metrics[i].name, "peak");
        if (peak != (g->subjects == 1u << DIFF_MEMORY)) return false;
        g->metric = metrics[i].metric;
        take_word(w, word);
        if (g->subjects & SAMPLES) return g->metric == DIFF_TOTAL;
        return !middle || g->metric == DIFF_MEDIAN;
    }
    return true;
}

// Parses "kernel:" and the pattern that follows, up to `size`.
static const char *take_subject(diff_gate *g, const words *w)
{
    size_t size = 0;
    while (size < w->size && w->text[size] != ':' && w->text[size] != ' ')
        size++;
    for (int s = 0; s < DIFF_SUBJECT_LIMIT; s++)
        if (is_word(w->text, size, diff_subject_name((diff_subject)s)))
            g->subjects = 1u << s;
    if (is_word(w->text, size, "operation")) g->subjects = OPERATIONS;
    return g->subjects ? w->text + size : NULL;
}

static bool units_fit(const diff_gate *g)
{
    for (size_t i = 0; i < g->limit_count; i++) {
        const diff_limit_unit wanted =
            g->metric == DIFF_COUNT            ? DIFF_LIMIT_COUNT
            : g->subjects == 1u << DIFF_MEMORY ? DIFF_LIMIT_BYTES
                                               : DIFF_LIMIT_NS;
        if (g->limits[i].unit != DIFF_LIMIT_SHARE &&
            (g->limits[i].unit != wanted || g->subjects & SAMPLES))
            return false;
    }
    return true;
}

static bool parse(diff_gate *g, const cli_tool *tool, const char *where)
{
    const char *text = g->text;
    g->optional = *text == '?';
    text += strspn(text, "? \t") * g->optional;
    words w = { text, strlen(text) };
    const char *const rest = take_subject(g, &w);
    if (!rest)
        return wrong(tool, where, g->text,
                     "must begin with makespan, step, kernel, copy, "
                     "collective, operation, config, zone, zone-work, stack, "
                     "api, idle, launch, memory, sample or sample-stack");
    if (!take_limits(g, &w))
        return wrong(tool, where, g->text,
                     "must end with one to three limits such as +5%, +2ms, "
                     "+64MiB or +3");
    const char *const begin = rest;
    if (begin >= text + w.size || *begin == ':') {
        if (!take_metric(g, &w))
            return wrong(tool, where, g->text,
                         "unknown metric; use total, median, count or, for "
                         "memory, peak; samples have only a total");
    } else if (!take_metric(g, &w) || begin < text + w.size) {
        return wrong(tool, where, g->text,
                     "the metric before the limit must be total, median, count "
                     "or, for memory, peak");
    }
    if (!units_fit(g))
        return wrong(tool, where, g->text,
                     "the limit must be a share or a time; for memory bytes, "
                     "for counts a number, for samples only a share");
    const size_t size =
        begin < text + w.size ? (size_t)(text + w.size - begin) : 0;
    if (!size) return true;
    if (g->subjects & WHOLE)
        return wrong(tool, where, g->text, "it does not take a name");
    if (size < 2)
        return wrong(tool, where, g->text, "a name must follow the colon");
    if (g->subjects == 1u << DIFF_MEMORY && is_word(begin, size, ":peak"))
        return true;
    g->pattern = copy_text(begin + 1, size - 1);
    return g->pattern != NULL;
}

bool diff_gate_add(diff_gates *gates, const cli_tool *tool, const char *where,
                   const char *text)
{
    while (*text == ' ' || *text == '\t')
        text++;
    if (!cli_grow(&gates->items, &gates->room, gates->count + 1,
                  sizeof *gates->items))
        return wrong(tool, where, text, "out of memory");
    diff_gate *const g = &gates->items[gates->count++];
    *g = (diff_gate){ .text = copy_text(text, strlen(text)) };
    if (!g->text) return wrong(tool, where, text, "out of memory");
    return parse(g, tool, where);
}

// A named pipe or a device may have no end: neither is read.
static FILE *open_gates(const cli_tool *tool, const char *path)
{
    const char *why;
    if (!strcmp(path, "-")) return stdin;
    errno = 0;
    const int file = cli_open_input(path, &why);
    FILE *const in = file < 0 ? NULL : fdopen(file, "r");
    if (in) return in;
    cli_fail(tool, cli_errno_result(errno), path, "%s",
             file < 0 ? why : strerror(errno));
    if (file >= 0) close(file);
    return NULL;
}

bool diff_gate_file(diff_gates *gates, const cli_tool *tool, const char *path)
{
    char line[4096];
    FILE *const in = open_gates(tool, path);
    if (!in) return false;
    bool ok = true;
    for (unsigned number = 1; ok && fgets(line, sizeof line, in); number++) {
        size_t size = strlen(line);
        const cli_text where = cli_format("line %u", number);
        if (!strchr(line, '\n') && !feof(in)) {
            cli_fail(tool, TS_ERR_USAGE, path,
                     "%s is too long, or contains a zero byte", where.s);
            ok = false;
            break;
        }
        size = strcspn(line, "#\r\n");
        while (size && (line[size - 1] == ' ' || line[size - 1] == '\t'))
            size--;
        line[size] = 0;
        if (!line[strspn(line, " \t")]) continue;
        char place[512];
        snprintf(place, sizeof place, "%s: %s", path, where.s);
        ok = diff_gate_add(gates, tool, place, line);
    }
    if (ok && ferror(in)) {
        cli_fail(tool, TS_ERR_IO, path, "the file cannot be read");
        ok = false;
    }
    if (in != stdin) fclose(in);
    return ok;
}

void diff_gates_close(diff_gates *gates)
{
    for (size_t i = 0; i < gates->count; i++) {
        free(gates->items[i].text);
        free(gates->items[i].pattern);
        free(gates->items[i].hits);
    }
    free(gates->items);
    *gates = (diff_gates){ 0 };
}

void diff_gate_warn(const diff_gate *g, const diff *d, const cli_tool *tool)
{
    if (diff_gate_blind(g))
        cli_error(tool, NULL,
                  "gate '%s': %s, so that totals cannot be compared%s", g->text,
                  diff_unequal(d),
                  d->alike ? "; 'step +3%' compares steps" : "");
    else if (diff_gate_missed(g) && diff_gate_is_part(g, d))
        cli_error(tool, NULL,
                  "gate '%s': no full name is '%s', but some names contain it: "
                  "use '*%s*'",
                  g->text, g->pattern, g->pattern);
    else if (diff_gate_missed(g))
        cli_error(tool, NULL,
                  "gate '%s': neither trace contains a match; if it may be "
                  "absent, write '?%s'",
                  g->text, g->text);
}
