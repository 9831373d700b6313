/*
    frames.c - frames of a trace: names in the trace, else from modules
*/
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tools/common/symbolize/symbolize.h"

typedef struct place { // a frame and its functions
    uint32_t module;
    uint64_t offset;
    uint32_t first, count; // lines
    bool recorded;         // named by the trace, which is not trusted
} place;

typedef struct kept_text { // a name, as found and demangled
    char *key;
    ts_text text;
} kept_text;

struct symbolize {
    const ts_reader *reader;
    const symbolize_options *options;
    place *places; // sorted by module and offset
    size_t place_count, place_room;
    symbolize_line *lines;
    size_t line_count, line_room;
    kept_text *texts;
    size_t text_count, text_room;
    cli_index text_index; // by key
    symbolize_module *modules;
    size_t module_count;
    bool no_memory;
};

static const symbolize_options usual;

symbolize *symbolize_open(const ts_reader *reader,
                          const symbolize_options *options)
{
    symbolize *const s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->reader = reader;
    s->options = options ? options : &usual;
    return s;
}

void symbolize_close(symbolize *s)
{
    if (!s) return;
    for (size_t i = 0; i < s->text_count; i++) {
        if (s->texts[i].text.text != s->texts[i].key)
            free((char *)(uintptr_t)s->texts[i].text.text);
        free(s->texts[i].key);
    }
    free(s->texts);
    cli_index_close(&s->text_index);
    free(s->places);
    free(s->lines);
    free(s->modules);
    free(s);
}

size_t symbolize_modules(const symbolize *s, const symbolize_module **modules)
{
    *modules = s->modules;
    return s->module_count;
}

/* ---- Texts --------------------------------------------------------------- */

// Stores and demangles a name, once for equal names.
static ts_text keep(symbolize *s, const char *key)
{
    const ts_text none = { "", 0 };
    if (!*key) return none;
    const uint64_t hash = cli_hash(key, strlen(key));
    uint32_t at;
    for (size_t i = 0;
         (at = cli_index_next(&s->text_index, hash, &i)) != CLI_NONE;)
        if (!strcmp(s->texts[at].key, key)) return s->texts[at].text;
    char *const copy = strdup(key);
    if (!copy ||
        !cli_grow(&s->texts, &s->text_room, s->text_count + 1,
                  sizeof *s->texts) ||
        !cli_index_add(&s->text_index, hash, (uint32_t)s->text_count)) {
        free(copy);
        s->no_memory = true;
        return none;
    }
    char *const read = cli_demangle(copy);
    const char *const text = read ? read : copy;
    s->texts[s->text_count] = (kept_text){ copy, { text, strlen(text) } };
    return s->texts[s->text_count++].text;
}

/* ---- Places -------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const place *const x = a, *const y = b;
    if (x->module != y->module) return x->module < y->module ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static bool add_place(symbolize *s, const ts_frame_entry *frame)
{
    if (!cli_grow(&s->places, &s->place_room, s->place_count + 1,
                  sizeof *s->places))
        return false;
    s->places[s->place_count++] =
        (place){ frame->module, frame->offset, 0, 0, false };
    return true;
}

// Collects the distinct places of all stacks; duplicates are removed regularly.
static bool gather(symbolize *s)
{
    const ts_frame_entry *frames;
    const size_t stacks = ts_reader_entry_count(s->reader, TS_CHUNK_STACKS);
    for (size_t i = 0; i < stacks; i++) {
        const uint32_t stack = ts_reader_entry(s->reader, TS_CHUNK_STACKS, i);
        const uint32_t count = ts_reader_stack(s->reader, stack, &frames);
        for (uint32_t j = 0; j < count; j++)
            if (frames[j].module && !add_place(s, &frames[j])) return false;
    }
    if (!s->place_count) return true;
    qsort(s->places, s->place_count, sizeof *s->places, by_place);
    size_t unique = 1;
    for (size_t i = 1; i < s->place_count; i++)
        if (by_place(&s->places[i], &s->places[unique - 1]) != 0)
            s->places[unique++] = s->places[i];
    s->place_count = unique;
    return true;
}

static bool add_line(symbolize *s, place *p, symbolize_line line)
{
    if (!cli_grow(&s->lines, &s->line_room, s->line_count + 1,
                  sizeof *s->lines))
        return false;
    if (!p->count++) p->first = (uint32_t)s->line_count;
    s->lines[s->line_count++] = line;
    return true;
}

static bool from_trace(symbolize *s, place *p)
{
    const ts_frame_entry frame = { p->module, 0, p->offset };
    const ts_line_entry *lines;
    const uint32_t count = ts_reader_symbol(s->reader, &frame, &lines);
    for (uint32_t i = 0; i < count; i++) {
        const symbolize_line line = {
            ts_reader_name(s->reader, lines[i].function),
            ts_reader_name(s->reader, lines[i].file), lines[i].line
        };
        if (!add_line(s, p, line)) return false;
    }
    p->recorded = count != 0;
    return true;
}

/* ---- Answers ------------------------------------------------------------- */

// Cuts a line off a text, which ends with a zero byte.
static char *cut_line(char **text)
{
    char *const line = *text;
    char *const end = strchr(line, '\n');
    *text = end ? end + 1 : line + strlen(line);
    if (end) *end = 0;
    return line;
}

// "LINE TAB FILE TAB FUNCTION"
static bool take_line(symbolize *s, place *p, char *text)
{
    char *const file = strchr(text, '\t');
    char *const function = file ? strchr(file + 1, '\t') : NULL;
    if (!function) return false;
    *file = *function = 0;
    const symbolize_line line = { keep(s, function + 1), keep(s, file + 1),
                                  (uint32_t)strtoul(text, NULL, 10) };
    return add_line(s, p, line);
}

/*
    Parses an answer on `places`, `count` of one module. Its numbers are indexes
    into `requested`, or offsets. Stops at a malformed line: the reader process
    died while it wrote.
*/
static void take_answer(symbolize *s, place *places, size_t count,
                        place *const *requested, size_t requested_count,
                        char *text, char *why, size_t why_room)
{
    enum { MOST = 256 };
    while (*text && !s->no_memory) {
        char *line = cut_line(&text), *rest;
        place *p = NULL;
        if (*line == '!') snprintf(why, why_room, "%s", line + 1);
        if (*line != '@') continue;
        const uint64_t number = strtoull(line + 1, &rest, requested ? 10 : 16);
        unsigned long lines = strtoul(rest, NULL, 10);
        const place key = { places->module, number, 0, 0, false };
        if (requested)
            p = number < requested_count ? requested[number] : NULL;
        else
            p = bsearch(&key, places, count, sizeof key, by_place);
        const bool wanted = p && !p->count && lines <= MOST;
        for (; lines && *text; lines--) {
            line = cut_line(&text);
            if (wanted && !take_line(s, p, line)) return;
        }
    }
}

static void keep_answer(const symbolize *s, const symbolize_request *q,
                        const place *places, size_t count)
{
    char *text = NULL;
    size_t size = 0;
    FILE *const out = open_memstream(&text, &size);
    if (!out) return;
    for (size_t i = 0; i < count; i++) {
        if (!places[i].count || places[i].recorded) continue;
        fprintf(out, "@%" PRIx64 " %" PRIu32 "\n", places[i].offset,
                places[i].count);
        for (uint32_t j = 0; j < places[i].count; j++) {
            const symbolize_line *const l = &s->lines[places[i].first + j];
            fprintf(out, "%" PRIu32 "\t%s\t%s\n", l->line, l->file.text,
                    l->function.text);
        }
    }
    if (fclose(out) == 0) symbolize_cache_put(q, text, size);
    free(text);
}

// Requests the places without an answer; false if the answer is incomplete.
static bool run_request(symbolize *s, symbolize_request *q, place *places,
                        size_t count, symbolize_module *m)
{
    place **const requested = calloc(count, sizeof *requested);
    uint64_t *const offsets = calloc(count, sizeof *offsets);
    bool complete = true;
    q->count = 0;
    for (size_t i = 0; requested && offsets && i < count; i++) {
        if (places[i].count) continue;
        requested[q->count] = &places[i];
        offsets[q->count++] = places[i].offset;
    }
    q->offsets = offsets;
    if (q->count) {
        symbolize_answer answer = symbolize_lookup(q);
        complete = answer.complete;
        if (answer.text)
            take_answer(s, places, count, requested, q->count, answer.text,
                        m->why, sizeof m->why);
        free(answer.text);
    }
    free(requested);
    free(offsets);
    return complete;
}

static void look_up(symbolize *s, place *places, size_t count,
                    symbolize_module *m)
{
    const ts_module_entry *const entry =
        ts_reader_module(s->reader, places->module);
    const ts_text id = ts_reader_build_id(s->reader, places->module);
    symbolize_request q = { .options = s->options, .id_size = id.size };
    size_t known = 0;
    const ts_text path =
        entry ? ts_reader_name(s->reader, entry->path) : (ts_text){ "", 0 };
    q.path = path.text;
    memcpy(q.id, id.text, id.size);
    if (path.size == 0 || *path.text != '/' || strlen(path.text) != path.size) {
        snprintf(m->why, sizeof m->why, "not a regular file");
        return;
    }
    char *const kept = symbolize_cache_get(&q);
    if (kept)
        take_answer(s, places, count, NULL, 0, kept, m->why, sizeof m->why);
    free(kept);
    for (size_t i = 0; i < count; i++)
        known += places[i].count != 0;
    if (known == count) return;
    if (!run_request(s, &q, places, count, m)) {
        q.no_dwarf = true;
        run_request(s, &q, places, count, m);
        snprintf(
            m->why, sizeof m->why,
            "its debug information cannot be read, or not within a minute");
        return;
    }
    size_t now = 0;
    for (size_t i = 0; i < count; i++)
        now += places[i].count != 0;
    if (now > known) keep_answer(s, &q, places, count);
}

static void count_module(const symbolize *s, const place *places, size_t count,
                         symbolize_module *m)
{
    m->frames = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        m->named += places[i].count != 0;
        m->lined += places[i].count && s->lines[places[i].first].line;
    }
}

bool symbolize_all(symbolize *s)
{
    if (!gather(s)) return false;
    for (size_t i = 0; i < s->place_count && !s->options->again; i++)
        if (!from_trace(s, &s->places[i])) return false;
    for (size_t i = 0, end; i < s->place_count && !s->no_memory; i = end) {
        size_t known = 0;
        for (end = i; end < s->place_count &&
                      s->places[end].module == s->places[i].module;
             end++)
            known += s->places[end].count != 0;
        symbolize_module *const more =
            realloc(s->modules, (s->module_count + 1) * sizeof *more);
        if (!more) return false;
        s->modules = more;
        symbolize_module *const m = &more[s->module_count++];
        memset(m, 0, sizeof *m);
        m->module = s->places[i].module;
        if (known < end - i && !symbolize_is_off())
            look_up(s, &s->places[i], end - i, m);
        count_module(s, &s->places[i], end - i, m);
    }
    return !s->no_memory;
}

uint32_t symbolize_frame(symbolize *s, const ts_frame_entry *frame,
                         const symbolize_line **lines)
{
    const place key = { frame->module, frame->offset, 0, 0, false };
    const place *const p =
        s->place_count
            ? bsearch(&key, s->places, s->place_count, sizeof key, by_place)
            : NULL;
    *lines = p && p->count ? &s->lines[p->first] : NULL;
    return p ? p->count : 0;
}
