/*
    cut_anonymise.c - other names for everything that says whose it is

    Texts of dictionaries are numbered in the order in which they are met;
    the same text always becomes the same. Texts of events, of which there may
    be as many as events, become a keyed hash: nothing is kept of them. The
    key is the session's identity, which the result does not hold.
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

// Who does not know the session cannot try texts until one fits.
void cut_aliases_open(cut_aliases *aliases, const ts_reader *reader)
{
    *aliases = (cut_aliases){ 0 };
    aliases->salt = XXH3_64bits(ts_reader_info(reader)->session, 16);
}

void cut_aliases_close(cut_aliases *aliases)
{
    free(aliases->list);
    aliases->list = NULL;
}

static cut_alias *slot_of(const cut_aliases *a, XXH128_hash_t hash)
{
    size_t at = (size_t)hash.low64 & a->mask;
    while (a->list[at].number &&
           (a->list[at].low != hash.low64 || a->list[at].high != hash.high64))
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
        const XXH128_hash_t hash = { old[i].low, old[i].high };
        if (old[i].number) *slot_of(a, hash) = old[i];
    }
    free(old);
    return true;
}

// What it is in this trace: its first role, and its number in that.
static cut_alias find(cut_aliases *a, copy_role role, ts_text text)
{
    const XXH128_hash_t hash = XXH3_128bits(text.text, text.size);
    if ((!a->list || a->count > a->mask / 2) && !grow(a)) {
        a->no_memory = true;
        return (cut_alias){ .number = 1, .role = (uint8_t)role };
    }
    cut_alias *const alias = slot_of(a, hash);
    if (!alias->number) {
        a->count++;
        *alias = (cut_alias){ hash.low64, hash.high64, ++a->last[role],
                              (uint8_t)role, cut_is_public(role, text) };
    }
    return *alias;
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

static ts_text event_text(cut_aliases *a, ts_text text)
{
    const uint64_t hash = XXH3_64bits_withSeed(text.text, text.size, a->salt);
    const int size = snprintf(a->text, sizeof a->text, "text_%" PRIu64, hash);
    return (ts_text){ a->text, (size_t)size };
}

ts_text cut_rename(void *aliases, copy_role role, ts_text text)
{
    cut_aliases *const a = aliases;
    const char *more = "", *between = "";
    static const char boot[] = "boot_id";
    if (role == COPY_TEXT) return event_text(a, text);
    // Numbers of two traces must not look like one machine.
    if (role == COPY_KEY && text.size == sizeof boot - 1 &&
        !memcmp(text.text, boot, text.size))
        return (ts_text){ "", 0 };
    const cut_alias alias = find(a, role, text);
    if (alias.keep && cut_is_public(role, text)) return text;
    if (alias.role == COPY_FILE || alias.role == COPY_MODULE)
        more = extension(text);
    if (alias.role == COPY_COLLECTIVE && cut_collective(text)) {
        between = "_";
        more = cut_collective(text);
    }
    const int size = snprintf(a->text, sizeof a->text, "%s_%" PRIu32 "%s%s",
                              words[alias.role], alias.number, between, more);
    return (ts_text){ a->text, (size_t)size };
}
