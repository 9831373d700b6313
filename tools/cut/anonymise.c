/*
    anonymise.c - other names for everything that says whose it is

    Texts are numbered in the order in which they are met; the same text always
    becomes the same. So who runs the same program under another name, on
    another machine, gets the same bytes, and nobody can try texts until one
    fits, as one could with hashes.
*/
#include "tools/cut/cut.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

static const char *const words[COPY_ROLES] = {
    [COPY_ZONE] = "zone",
    [COPY_CATEGORY] = "category",
    [COPY_FUNCTION] = "function",
    [COPY_FILE] = "file",
    [COPY_KERNEL] = "kernel",
    [COPY_COLLECTIVE] = "collective",
    [COPY_HOST_FUNCTION] = "host_function",
    [COPY_API] = "call",
    [COPY_ARGUMENT] = "argument",
    [COPY_POOL] = "pool",
    [COPY_MODULE] = "module",
    [COPY_PROCESS] = "process",
    [COPY_THREAD] = "thread",
    [COPY_DEVICE] = "device",
    [COPY_CONTEXT] = "context",
    [COPY_STREAM] = "stream",
    [COPY_COUNTER] = "counter",
    [COPY_TRACK] = "track",
    [COPY_UNIT] = "unit",
    [COPY_KEY] = "key",
    [COPY_VALUE] = "value",
    [COPY_LOSS] = "detail",
    [COPY_TEXT] = "text",
};

bool cut_aliases_open(cut_aliases *aliases, ts_reader *reader)
{
    *aliases = (cut_aliases){ .part_count = copy_part_count(reader) };
    return cut_regions_find(aliases, reader);
}

void cut_aliases_close(cut_aliases *aliases)
{
    free(aliases->list);
    free(aliases->bases);
    cut_spans_close(&aliases->regions);
    *aliases = (cut_aliases){ 0 };
}

static cut_alias *slot_of(const cut_aliases *a, uint64_t low, uint64_t high)
{
    size_t at = (size_t)(low ^ high) & a->mask;
    while (a->list[at].number &&
           (a->list[at].low != low || a->list[at].high != high))
        at = (at + 1) & a->mask;
    return &a->list[at];
}

static bool grow(cut_aliases *a)
{
    cut_alias *const old = a->list;
    const size_t count = old ? a->mask + 1 : 0;
    cut_alias *const more = calloc(count ? 2 * count : 1024, sizeof *more);
    if (!more) return false;
    a->list = more;
    a->mask = (count ? 2 * count : 1024) - 1;
    for (size_t i = 0; i < count; i++) {
        if (old[i].number) *slot_of(a, old[i].low, old[i].high) = old[i];
    }
    free(old);
    return true;
}

cut_alias *cut_alias_find(cut_aliases *a, int role, uint64_t low, uint64_t high)
{
    static _Thread_local cut_alias none;
    none = (cut_alias){ .number = 1, .role = (uint8_t)role };
    if ((!a->list || a->count > a->mask / 2) && !grow(a)) {
        a->no_memory = true;
        return &none;
    }
    cut_alias *const alias = slot_of(a, low, high);
    if (!alias->number) {
        a->count++;
        *alias =
            (cut_alias){ low, high, ++a->last[role], (uint8_t)role, false };
    }
    return alias;
}

// The end of a file name, if it only says which language it is.
static const char *extension(ts_text text)
{
    static const char *const known[] = { ".c",   ".cc",  ".cpp", ".cu",
                                         ".cuh", ".cxx", ".h",   ".hip",
                                         ".hpp", ".py",  ".rs",  ".so" };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const size_t size = strlen(known[i]);
        if (text.size > size &&
            !memcmp(text.text + text.size - size, known[i], size))
            return known[i];
    }
    return "";
}

ts_text cut_rename(void *aliases, copy_role role, ts_text text)
{
    cut_aliases *const a = aliases;
    const char *more = "", *between = "";
    const bool open = cut_is_public(role, text);
    // What a program or a machine says of itself under names of its own.
    if (role == COPY_KEY) return open ? text : (ts_text){ "", 0 };
    const XXH128_hash_t hash = XXH3_128bits(text.text, text.size);
    const size_t before = a->count;
    cut_alias *const alias =
        cut_alias_find(a, (int)role, hash.low64, hash.high64);
    if (a->count > before) alias->keep = open;
    if (alias->keep && open) return text;
    // What it is in this trace: what it was first.
    if (alias->role == COPY_FILE || alias->role == COPY_MODULE)
        more = extension(text);
    if (alias->role == COPY_COLLECTIVE && cut_collective(text)) {
        between = "_";
        more = cut_collective(text);
    }
    const int size = snprintf(a->text, sizeof a->text, "%s_%" PRIu32 "%s%s",
                              words[alias->role], alias->number, between, more);
    return (ts_text){ a->text, (size_t)size };
}
