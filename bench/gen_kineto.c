/*
    gen_kineto.c - makes a long PyTorch trace from a short one

        gen_kineto [--only CATEGORY] TRACE.json MEGABYTES OUT.json

    Repeats the events of a JSON trace (all, or those of one category), each
    time later and with new correlation ids, until the file has the given size.
    The text before and after the events is kept.
*/
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct key {
    const char *text;
    uint64_t step; // added in each repetition
    bool is_time;
} key;

static key keys[] = {
    { "\"ts\":", 0, true },
    { "\"correlation\":", 0, false },
    { "\"External id\":", 0, false },
    { "\"id\":", 0, false },
};
enum { KEYS = sizeof keys / sizeof *keys };

static char *read_file(const char *path, size_t *size)
{
    FILE *const in = fopen(path, "rb");
    char *text = NULL;
    if (in && !fseek(in, 0, SEEK_END)) {
        *size = (size_t)ftell(in);
        rewind(in);
        text = malloc(*size + 1);
        if (text && fread(text, 1, *size, in) == *size) text[*size] = 0;
    }
    if (in) fclose(in);
    return text;
}

// Finds the end of the array that begins at `at`, which may not be the last
// array of the file. NULL if it has none.
static char *find_end(char *at)
{
    int depth = 0;
    bool quoted = false;
    for (; *at; at++) {
        if (quoted && *at == '\\' && at[1])
            at++;
        else if (*at == '"')
            quoted = !quoted;
        else if (!quoted && (*at == '[' || *at == '{'))
            depth++;
        else if (!quoted && (*at == ']' || *at == '}') && --depth == 0)
            return at;
    }
    return NULL;
}

// Finds the next key with a number as its value, from `at` on. NULL: none.
static key *find_key(const char **at)
{
    for (const char *p = *at; (p = strchr(p, '"')); p++) {
        for (int i = 0; i < KEYS; i++) {
            const size_t size = strlen(keys[i].text);
            if (strncmp(p, keys[i].text, size)) continue;
            const char *value = p + size;
            value += strspn(value, " \n");
            if (*value < '0' || *value > '9') break;
            *at = value;
            return &keys[i];
        }
    }
    return NULL;
}

// Computes the steps between repetitions: more than the range of the values.
static void find_steps(const char *events)
{
    uint64_t first = UINT64_MAX, last = 0;
    const char *at = events;
    for (const key *k; (k = find_key(&at));) {
        const uint64_t value = strtoull(at, NULL, 10);
        if (!k->is_time) {
            key *const mine = &keys[k - keys];
            if (value > mine->step) mine->step = value;
            continue;
        }
        if (value < first) first = value;
        if (value > last) last = value;
    }
    keys[0].step = last - first + 1000;
    // Correlation ids of calls and operations share one range.
    uint64_t most = 0;
    for (int i = 1; i < KEYS; i++)
        if (keys[i].step > most) most = keys[i].step;
    for (int i = 1; i < KEYS; i++)
        keys[i].step = most + 1;
}

// Finds the end of the value that begins at `at`.
static char *find_comma(char *at)
{
    int depth = 0;
    bool quoted = false;
    for (; *at && (quoted || depth || *at != ','); at++) {
        if (quoted && *at == '\\' && at[1])
            at++;
        else if (*at == '"')
            quoted = !quoted;
        else if (!quoted)
            depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
    }
    return at;
}

static bool has_category(const char *event, const char *end,
                         const char *category)
{
    const char *at = strstr(event, "\"cat\":");
    if (!at || at > end) return false;
    at += strlen("\"cat\":");
    at += strspn(at, " \n\"");
    const size_t size = strlen(category);
    return !strncmp(at, category, size) && at[size] == '"';
}

// Removes all events but those of a category.
static void keep_only(char *events, const char *category)
{
    char *to = events;
    for (char *at = events, *end; *at; at = *end ? end + 1 : end) {
        end = find_comma(at);
        if (!has_category(at, end, category)) continue;
        if (to != events) *to++ = ',';
        memmove(to, at, (size_t)(end - at));
        to += end - at;
    }
    *to = 0;
}

static void put_events(const char *events, uint64_t repetition, FILE *out)
{
    const char *from = events, *at = events;
    for (const key *k; (k = find_key(&at));) {
        char *end;
        const uint64_t value = strtoull(at, &end, 10);
        fwrite(from, 1, (size_t)(at - from), out);
        // 0 means no correlation and is kept.
        fprintf(out, "%" PRIu64,
                value || k->is_time ? value + repetition * k->step : 0);
        from = at = end;
    }
    fputs(from, out);
}

int main(int argc, char **argv)
{
    const char *only = NULL;
    if (argc == 6 && !strcmp(argv[1], "--only")) {
        only = argv[2];
        argc -= 2;
        argv += 2;
    }
    size_t size = 0;
    char *const text = argc == 4 ? read_file(argv[1], &size) : NULL;
    char *events = text ? strstr(text, "\"traceEvents\"") : NULL;
    if (events) events = strchr(events, '[');
    char *const end = events ? find_end(events) : NULL;
    FILE *const out = end ? fopen(argv[3], "wb") : NULL;
    if (!out) {
        fprintf(stderr, "gen_kineto: usage: [--only CATEGORY] TRACE.json "
                        "MEGABYTES OUT.json\n");
        return 2;
    }
    fwrite(text, 1, (size_t)(++events - text), out);
    *end = 0;
    if (only) keep_only(events, only);
    find_steps(events);
    const uint64_t wanted = strtoull(argv[2], NULL, 10) * 1000000;
    const size_t once = strlen(events);
    const uint64_t count = once ? wanted / once + 1 : 0;
    for (uint64_t i = 0; i < count; i++) {
        if (i) fputc(',', out);
        put_events(events, i, out);
    }
    *end = ']';
    fputs(end, out);
    const bool failed = ferror(out) != 0;
    free(text);
    return fclose(out) || failed;
}
