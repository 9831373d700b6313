/*
    lines.c - lines of a source
*/
#include "tools/import/profile/profile.h"

enum { BLOCK = 64 << 10 };

bool profile_lines_open(profile_lines *l, import_source *source)
{
    *l = (profile_lines){ .source = source };
    l->line = malloc(PROFILE_LINE + 1);
    l->bytes = malloc(BLOCK);
    return l->line && l->bytes;
}

void profile_lines_close(profile_lines *l)
{
    free(l->line);
    free(l->bytes);
}

static void append(profile_lines *l, const char *bytes, size_t size)
{
    const size_t room = PROFILE_LINE - l->size;
    if (size > room) {
        l->cut = true;
        size = room;
    }
    memcpy(l->line + l->size, bytes, size);
    l->size += size;
}

bool profile_lines_next(profile_lines *l)
{
    l->size = 0;
    l->cut = false;
    for (;;) {
        if (l->at == l->end) {
            l->at = 0;
            l->end = import_source_read(l->source, l->bytes, BLOCK);
        }
        if (!l->end) break;
        const char *const from = l->bytes + l->at;
        const char *const newline = memchr(from, '\n', l->end - l->at);
        const size_t size = newline ? (size_t)(newline - from) : l->end - l->at;
        append(l, from, size);
        l->at += size + (newline != NULL);
        if (newline) break;
    }
    const bool any = l->size || l->end;
    if (l->size && l->line[l->size - 1] == '\r') l->size--;
    l->line[l->size] = 0;
    return any;
}
