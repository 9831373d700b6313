/*
    notes.c - bookmarks and notes, in a file beside the trace

    The page makes the text, and believes nothing of what it reads. What is
    looked at here is whose file it is, its size, and that it holds notes.
*/
#define _GNU_SOURCE // mkostemp
#define XXH_INLINE_ALL
#include "tools/studio/serve/notes.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include "tools/cli/cli.h"

static const char head[] = "{\n \"studio_notes\": 1,\n";

static bool are_notes(const void *text, size_t size)
{
    return size >= sizeof head - 1 && !memcmp(text, head, sizeof head - 1);
}

static char *path_of(const char *trace, const char *suffix)
{
    char *path;
    return asprintf(&path, "%s.notes.json%s", trace, suffix) < 0 ? NULL : path;
}

// Reads up to `room` bytes; -1: it cannot.
static ssize_t read_all(int file, char *to, size_t room)
{
    size_t size = 0;
    ssize_t part = 1;
    while (size < room && part > 0) {
        part = read(file, to + size, room - size);
        if (part > 0) size += (size_t)part;
    }
    return part < 0 ? -1 : (ssize_t)size;
}

static const char *read_notes(int file, char **text, size_t *size)
{
    struct stat about;
    if (fstat(file, &about) || !S_ISREG(about.st_mode))
        return "the file of the notes is no regular file";
    if (about.st_uid != geteuid())
        return "the file of the notes belongs to another user";
    *text = malloc(STUDIO_MOST_NOTES + 1);
    if (!*text) return "out of memory";
    const ssize_t got = read_all(file, *text, STUDIO_MOST_NOTES + 1);
    if (got < 0) return "the file of the notes cannot be read";
    if (got > STUDIO_MOST_NOTES) return "the file of the notes is too large";
    if (got && !are_notes(*text, (size_t)got))
        return "the file of the notes holds something else";
    *size = (size_t)got;
    return NULL;
}

const char *studio_notes_read(const char *trace, char **text, size_t *size)
{
    *text = NULL;
    *size = 0;
    char *const path = path_of(trace, "");
    if (!path) return "out of memory";
    const int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    free(path);
    if (file < 0 && errno != ENOENT)
        return "the file of the notes cannot be read";
    const char *const why = file < 0 ? NULL : read_notes(file, text, size);
    if (file >= 0) close(file);
    if (!why && !*text) *text = calloc(1, 1);
    if (why || !*text) free(*text), *text = NULL;
    return why ? why : *text ? NULL : "out of memory";
}

static bool write_all(int file, const char *text, size_t size)
{
    while (size) {
        const ssize_t part = write(file, text, size);
        if (part <= 0) return false;
        text += part;
        size -= (size_t)part;
    }
    return true;
}

static const char *replace(const char *path, char *fresh, const void *text,
                           size_t size)
{
    const int file = mkostemp(fresh, O_CLOEXEC); // 0600
    if (file < 0) return "the folder of the trace cannot be written to";
    const bool written = write_all(file, text, size);
    if (close(file) == 0 && written && !rename(fresh, path)) return NULL;
    unlink(fresh);
    return "the notes cannot be written";
}

void studio_notes_version(const void *text, size_t size,
                          char version[STUDIO_NOTES_VERSION])
{
    snprintf(version, STUDIO_NOTES_VERSION, "\"%016llx\"",
             (unsigned long long)XXH3_64bits(text, size));
}

const char *studio_notes_write(const char *trace, const void *text, size_t size,
                               const char *version)
{
    char present[STUDIO_NOTES_VERSION];
    char *old;
    size_t old_size;
    if (size > STUDIO_MOST_NOTES) return "the notes are too large";
    if (!are_notes(text, size)) return "these are no notes";
    const char *why = studio_notes_read(trace, &old, &old_size);
    if (!why) studio_notes_version(old, old_size, present);
    free(old);
    if (why) return why; // it is not ours to replace
    if (!version || strcmp(version, present))
        return "they were changed elsewhere: reload the page";
    char *const path = path_of(trace, ""), *const fresh =
                                               path_of(trace, ".XXXXXX");
    why = path && fresh ? replace(path, fresh, text, size) : "out of memory";
    free(path);
    free(fresh);
    return why;
}
