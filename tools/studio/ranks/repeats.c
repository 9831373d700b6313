/*
    repeats.c - traces of a folder that would show processes twice

    Two names of one file, as a link `latest.sbt` makes, and what ts-merge made
    of other traces of the folder. ts-record, too, makes merged traces, of the
    processes of one rank: those stay unless another trace has all of them.
*/
#define _GNU_SOURCE // lstat
#include "tools/studio/ranks/repeats.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// Removes the paths whose flag is set.
static void leave_out(studio_ranks *ranks, size_t first, const bool *flags)
{
    size_t kept = first;
    for (size_t i = first; i < ranks->count; i++)
        if (flags[i - first])
            free(ranks->items[i]);
        else
            ranks->items[kept++] = ranks->items[i];
    ranks->count = kept;
}

/* ---- One file with two names --------------------------------------------- */

typedef struct entry {
    dev_t device;
    ino_t file;
    bool known, link;
} entry;

static entry look(const char *path)
{
    struct stat about, itself;
    if (stat(path, &about) || lstat(path, &itself))
        return (entry){ .known = false };
    return (entry){ .device = about.st_dev,
                    .file = about.st_ino,
                    .known = true,
                    .link = S_ISLNK(itself.st_mode) };
}

// Whether entry i stays out for another one of the same file: one that is no
// link, else the first.
static bool is_second(const entry *entries, size_t count, size_t i)
{
    const entry *const mine = &entries[i];
    for (size_t k = 0; mine->known && k < count; k++) {
        const entry *const other = &entries[k];
        if (k == i || !other->known || other->device != mine->device ||
            other->file != mine->file)
            continue;
        if (other->link == mine->link ? k < i : mine->link) return true;
    }
    return false;
}

bool studio_ranks_leave_links(studio_ranks *ranks, size_t first)
{
    const size_t count = ranks->count - first;
    entry *const entries = calloc(count + 1, sizeof *entries);
    bool *const flags = calloc(count + 1, sizeof *flags);
    for (size_t i = 0; entries && i < count; i++)
        entries[i] = look(ranks->items[first + i]);
    for (size_t i = 0; entries && flags && i < count; i++)
        flags[i] = is_second(entries, count, i);
    const bool ok = entries && flags;
    if (ok) leave_out(ranks, first, flags);
    free(flags);
    free(entries);
    return ok;
}

/* ---- Traces that were merged of others ----------------------------------- */

enum { MOST_PARTS = 4096 }; // of a merged trace; with more it stays

// One of the traces that a trace was merged of, or a trace that was not.
typedef struct part {
    char *name;    // of its file
    int64_t rank;  // -1: none
    uint64_t pid;  // 0: any
    size_t source; // the trace that has it
} part;

typedef struct parts {
    part *items;
    size_t count, room;
} parts;

static bool is_key(const ts_metadata *m, const char *key, ts_value_type type)
{
    return m->type == type && m->key.size == strlen(key) &&
           !memcmp(m->key.text, key, m->key.size);
}

static bool add_part(parts *all, const ts_reader *reader, uint32_t track,
                     const char *name, size_t size, size_t source)
{
    ts_metadata rank;
    ts_track process;
    part p = { .rank = -1, .source = source };
    if (ts_reader_metadata(reader, track, "rank", &rank) &&
        rank.type == TS_VALUE_INT)
        p.rank = rank.number;
    if (track && ts_reader_track(reader, track, &process))
        p.pid = process.number;
    p.name = strndup(name, size);
    if (p.name && cli_grow(&all->items, &all->room, all->count + 1, sizeof p)) {
        all->items[all->count++] = p;
        return true;
    }
    free(p.name);
    return false;
}

static const char *base_of(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool add_parts(parts *all, const ts_reader *reader, const char *path,
                      size_t source)
{
    const char *const name = base_of(path);
    ts_metadata m;
    bool ok = true;
    if (!ts_reader_metadata(reader, 0, "merge.files", &m))
        return add_part(all, reader, 0, name, strlen(name), source);
    for (size_t i = 0; ok && ts_reader_metadata_at(reader, i, &m); i++)
        if (m.track && is_key(&m, "merge.of", TS_VALUE_TEXT))
            ok = add_part(all, reader, m.track, m.text.text, m.text.size,
                          source);
    return ok;
}

// What cannot be read is left to those who merge.
static bool read_parts(parts *all, const char *path, size_t source)
{
    const ts_reader_desc desc = { .path = path };
    ts_reader *reader;
    if (ts_reader_open(&reader, &desc) != TS_OK) return true;
    const bool ok = add_parts(all, reader, path, source);
    ts_reader_close(reader);
    return ok;
}

static bool is_equal(const part *a, const part *b)
{
    return a->rank == b->rank && (!a->pid || !b->pid || a->pid == b->pid) &&
           !strcmp(a->name, b->name);
}

static size_t count_of(const parts *all, size_t source)
{
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++)
        count += all->items[i].source == source;
    return count;
}

// counts: of the parts of each trace. A trace with fewer parts has this one.
static bool has_another(const parts *all, const size_t *counts, const part *p)
{
    for (size_t i = 0; i < all->count; i++) {
        const part *const other = &all->items[i];
        if (counts[other->source] < counts[p->source] && is_equal(other, p))
            return true;
    }
    return false;
}

static bool is_merge(const parts *all, const size_t *counts, size_t source)
{
    if (counts[source] < 2 || counts[source] > MOST_PARTS) return false;
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].source == source &&
            !has_another(all, counts, &all->items[i]))
            return false;
    return true;
}

static void leave_merges(studio_ranks *ranks, const cli_tool *tool,
                         size_t first, const parts *all, size_t *counts,
                         bool *flags)
{
    const size_t count = ranks->count - first;
    for (size_t i = 0; i < count; i++)
        counts[i] = count_of(all, i);
    for (size_t i = 0; i < count; i++) {
        flags[i] = is_merge(all, counts, i);
        if (flags[i])
            cli_error(tool, ranks->items[first + i],
                      "is left out: other traces of the folder have its "
                      "processes");
    }
    leave_out(ranks, first, flags);
}

bool studio_ranks_leave_merged(studio_ranks *ranks, const cli_tool *tool,
                               size_t first)
{
    const size_t count = ranks->count - first;
    parts all = { .items = NULL };
    size_t *const counts = calloc(count + 1, sizeof *counts);
    bool *const flags = calloc(count + 1, sizeof *flags);
    bool ok = counts && flags;
    for (size_t i = 0; ok && count > 1 && i < count; i++)
        ok = read_parts(&all, ranks->items[first + i], i);
    if (ok) leave_merges(ranks, tool, first, &all, counts, flags);
    for (size_t i = 0; i < all.count; i++)
        free(all.items[i].name);
    free(all.items);
    free(flags);
    free(counts);
    return ok;
}
