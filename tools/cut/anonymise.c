/*
    anonymise.c - replaces names that identify a program or its owner

    Texts are numbered in order of occurrence; equal texts get equal names. So a
    run of the same program under another name or on another machine gives the
    same bytes. Unlike hashes, the new names cannot be reversed by trying texts.
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
    cli_index_close(&aliases->index);
    free(aliases->bases);
    cut_spans_close(&aliases->regions);
    *aliases = (cut_aliases){ 0 };
}

cut_alias *cut_alias_find(cut_aliases *a, int role, uint64_t low, uint64_t high)
{
    static _Thread_local cut_alias none;
    const uint64_t hash = low ^ high;
    uint32_t at;
    for (size_t i = 0; (at = cli_index_next(&a->index, hash, &i)) != CLI_NONE;)
        if (a->list[at].low == low && a->list[at].high == high)
            return &a->list[at];
    if (!cli_grow(&a->list, &a->room, a->count + 1, sizeof *a->list) ||
        !cli_index_add(&a->index, hash, (uint32_t)a->count)) {
        a->no_memory = true;
        none = (cut_alias){ .number = 1, .role = (uint8_t)role };
        return &none;
    }
    a->list[a->count] =
        (cut_alias){ low, high, ++a->last[role], (uint8_t)role, false };
    return &a->list[a->count++];
}

// Returns the extension of a file name if it only identifies the language.
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
    // Metadata whose key a program or a machine chose is left out.
    if (role == COPY_KEY) return open ? text : (ts_text){ "", 0 };
    const XXH128_hash_t hash = XXH3_128bits(text.text, text.size);
    const size_t before = a->count;
    cut_alias *const alias =
        cut_alias_find(a, (int)role, hash.low64, hash.high64);
    if (a->count > before) alias->keep = open;
    if (alias->keep && open) return text;
    // A text with several roles keeps the first one.
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
