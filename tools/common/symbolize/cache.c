/*
    cache.c - answers, cached by build-id

    One file for each build-id in the user's cache folder, always replaced as a
    whole: if two processes write at the same time, the last one wins, and the
    other's answers are looked up again later. The first line is a hash of the
    files at the module's candidate paths; if they have changed, the cached
    answers are ignored.
*/
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tools/common/symbolize/symbolize.h"
#include <sys/stat.h>
#include <unistd.h>

enum { CACHE_MOST = 64 << 20 }; // bytes of a file

static bool path_of(const symbolize_request *q, char *path, size_t room,
                    bool make)
{
    const char *const cache = getenv("XDG_CACHE_HOME");
    const char *const home = getenv("HOME");
    int used = 0;
    if (q->id_size < 8 || q->no_dwarf || (q->options && q->options->no_cache))
        return false;
    if (cache && *cache == '/')
        used = snprintf(path, room, "%s", cache);
    else if (home && *home == '/')
        used = snprintf(path, room, "%s/.cache", home);
    if (used <= 0 || (size_t)used + 200 > room) return false;
    static const char *const parts[] = { "/tracesmith", "/symbols" };
    for (size_t i = 0; i < 2; i++) {
        if (make && mkdir(path, 0700) != 0 && errno != EEXIST) return false;
        used += snprintf(path + used, room - (size_t)used, "%s", parts[i]);
    }
    if (make && mkdir(path, 0700) != 0 && errno != EEXIST) return false;
    path[used++] = '/';
    for (size_t i = 0; i < q->id_size; i++)
        used += snprintf(path + used, room - (size_t)used, "%02x", q->id[i]);
    return true;
}

static int title(const symbolize_request *q, char *text, size_t room)
{
    return snprintf(text, room, "tracesmith symbols 1 %016" PRIx64 "\n",
                    symbolize_identity(q));
}

char *symbolize_cache_get(const symbolize_request *q)
{
    char path[4096], wanted[64], found[64];
    struct stat about;
    char *text = NULL;
    if (!path_of(q, path, sizeof path, false)) return NULL;
    const int file = cli_open_plain(path);
    FILE *const in = file < 0 ? NULL : fdopen(file, "r");
    if (!in) return NULL;
    title(q, wanted, sizeof wanted);
    if (fgets(found, sizeof found, in) && !strcmp(found, wanted) &&
        fstat(fileno(in), &about) == 0 && about.st_size < CACHE_MOST) {
        text = calloc(1, (size_t)about.st_size + 1);
        const size_t size =
            text ? fread(text, 1, (size_t)about.st_size, in) : 0;
        if (text) text[size] = 0;
    }
    fclose(in);
    return text;
}

// Errors are ignored: the next run only takes longer.
void symbolize_cache_put(const symbolize_request *q, const char *text,
                         size_t size)
{
    char path[4096], temporary[4200], first[64];
    if (size > CACHE_MOST / 2 || !path_of(q, path, sizeof path, true)) return;
    title(q, first, sizeof first);
    snprintf(temporary, sizeof temporary, "%s.%ld", path, (long)getpid());
    FILE *const out = fopen(temporary, "wxe");
    if (!out) return;
    fputs(first, out);
    fwrite(text, 1, size, out);
    if (fclose(out) != 0 || rename(temporary, path) != 0) unlink(temporary);
}
