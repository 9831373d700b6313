/*
    near.c - suggests names for a pattern without a match
*/
#include "tools/replay/whatif/whatif.h"
#include <ctype.h>
#include <strings.h>

enum { NEAREST = 3, WORD = 40 };

typedef struct near_name {
    char *name;
    size_t far; // number of differing letters
} near_name;

// The longest literal part of a regular expression.
static cli_text word_of(const whatif *w)
{
    size_t best = 0, longest = 0;
    for (size_t at = 0, size; at < w->pattern_size; at += size + 1) {
        for (size = 0; at + size < w->pattern_size; size++) {
            const char c = w->pattern[at + size];
            if (!isalnum((unsigned char)c) && c != '_' && c != ':') break;
        }
        if (size <= longest) continue;
        longest = size;
        best = at;
    }
    if (longest > WORD) longest = WORD;
    return cli_format("%.*s", (int)longest, w->pattern + best);
}

static bool has(const char *name, const char *word)
{
    for (const size_t size = strlen(word); *name; name++)
        if (!strncasecmp(name, word, size)) return true;
    return false;
}

// Inserts a name into the list of the most similar ones; owns `name`.
static void keep(near_name *list, char *name, size_t far)
{
    for (size_t i = 0; i < NEAREST; i++)
        if (list[i].name && !strcmp(list[i].name, name)) {
            free(name);
            return;
        }
    for (size_t i = 0; i < NEAREST && name; i++) {
        if (list[i].name && list[i].far <= far) continue;
        const near_name pushed = list[i];
        list[i] = (near_name){ name, far };
        name = pushed.name;
        far = pushed.far;
    }
    free(name);
}

static void try_name(near_name *list, const char *word, ts_text label)
{
    char *const copy = strndup(label.text, label.size);
    char *const read = copy ? cli_demangle(copy) : NULL;
    char *const name = read ? cli_collapse_name(read, strlen(read))
                            : cli_collapse_name(label.text, label.size);
    free(read);
    free(copy);
    if (!name) return;
    cli_near near = { .word = word };
    cli_near_try(&near, name, strcspn(name, "<("));
    if (has(name, word))
        keep(list, name, 0);
    else if (near.name)
        keep(list, name, near.far);
    else
        free(name);
}

void whatif_near(const whatif *w, const ts_replay *replay, char *text,
                 size_t room)
{
    near_name list[NEAREST] = { { 0 } };
    const cli_text word = word_of(w);
    uint32_t last = UINT32_MAX; // labels repeat
    ts_operation o;
    for (uint32_t i = 0; *word.s && ts_replay_operation(replay, i, &o); i++) {
        if (!whatif_matches_kind(w, o.kind) || o.label == last) continue;
        last = o.label;
        try_name(list, word.s,
                 ts_operation_label(ts_replay_reader(replay, o.file), &o));
    }
    size_t used = (size_t)snprintf(
        text, room, "no operation matches: no name contains this%s",
        list[0].name ? "; similar names:" : "; ts-view --stats lists them");
    for (size_t i = 0; i < NEAREST && list[i].name; i++) {
        if (used < room)
            used += (size_t)snprintf(text + used, room - used, "\n        %s",
                                     list[i].name);
        free(list[i].name);
    }
}
