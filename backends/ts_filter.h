/*
    ts_filter.h - which events backends record: kinds, names, stacks

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    WHAT IT DOES
        Holds one filter for the process, which every backend consults: the
        kinds of events, the names, the depth of the stacks of launches. The
        injected library sets it from environment variables, a program by
        ts_filter_set.

    WHAT IT DOES NOT DO
        It records nothing. It does not filter what a program marks by the
        macros of tracesmith.h. It does not read environment variables.

    USE
        #include "backends/ts_filter.h"

        void choose(void) // before ts_session_start
        {
            const ts_filter_desc only = { .kinds = "kernel,memcpy" };
            ts_filter_set(&only);
        }

        bool takes_kernels(void) // in a backend
        {
            return ts_filter_kind(TS_EVENT_KERNEL);
        }

    CONTENTS                            search for "==== 2." to jump
        1. The filter
        2. For backends
        3. Implementation               private
*/
#ifndef TS_FILTER_H
#define TS_FILTER_H

#include "tracesmith.h"
#include <string.h>

// Every backend brings the functions along; the linker keeps one copy.
#ifdef TS__STATIC
#define TS__WEAK_API static __attribute__((unused))
#elif defined(__cplusplus)
#define TS__WEAK_API extern "C" __attribute__((weak))
#else
#define TS__WEAK_API __attribute__((weak))
#endif

/* ==== 1. The filter ====================================================== */

enum {
    TS_FILTER_NAMES_MAX = 4096, // bytes of `names`, with its terminating 0
    TS_FILTER_STACK_MAX = 256   // frames
};

/*
    All zeros passes every event, without stacks.

    Lists are separated by commas. `kinds`: names of events ("kernel", "zone",
    see ts_event_name), and "gpu", "host", "all" for several; "-api_call"
    excludes one. "kernel" includes collectives, which are kernels to a device.
    `names`: patterns of whole names, in which * stands for any characters and ?
    for one; "-pattern" excludes what matches, and \ makes the next character a
    plain one. An event without a name passes. A list that only excludes passes
    everything else.
*/
typedef struct ts_filter_desc {
    const char *kinds TS__UNSET; // (all)
    // at most TS_FILTER_NAMES_MAX - 1 bytes (all)
    const char *names TS__UNSET;
    // frames of the host's stack that are recorded with each launch, at most
    // TS_FILTER_STACK_MAX (0: none)
    uint32_t stack_depth TS__UNSET;
} ts_filter_desc;

/*
    Replaces the filter of the process; NULL: all defaults. The strings are
    copied.

    Threads: one, while no thread records: call it before a session starts.
    Errors:  TS_ERR_USAGE (an unknown kind, a list too long, a depth too
             large): then the filter is as it was.
*/
TS__WEAK_API ts_result ts_filter_set(const ts_filter_desc *desc);

/*
    Reads a list of kinds, as `kinds` of ts_filter_desc. Returns a set of bits,
    1 << ts_event_kind each; 0: the list is empty or has an unknown name.

    Threads: any.
*/
TS__WEAK_API uint64_t ts_filter_kinds(const char *list);

/* ==== 2. For backends ==================================================== */

// With TRACESMITH_DISABLE every event is filtered out.
#ifdef TRACESMITH_DISABLE
#define TS__UNLESS_DISABLED(value) false
#define TS__FILTER_DEPTH()         0
#else
#define TS__UNLESS_DISABLED(value) (value)
#define TS__FILTER_DEPTH()         TS__LOAD(&ts__filter.stack_depth)
#endif

typedef struct ts__filter_state { // private
    uint64_t left_out;            // bits of the excluded kinds
    uint32_t stack_depth;
    uint32_t filtered; // `names` has patterns
    char names[TS_FILTER_NAMES_MAX];
} ts__filter_state;
#ifdef TS__STATIC
static ts__filter_state ts__filter;
#elif defined(__cplusplus)
extern "C" ts__filter_state ts__filter;
#else
extern ts__filter_state ts__filter;
#endif

TS__WEAK_API bool ts__filter_name_slow(const char *text, size_t size);

// Returns whether events of this kind are recorded: one load. Threads: any, at
// any time.
static inline bool ts_filter_kind(ts_event_kind kind)
{
    (void)kind;
    return TS__UNLESS_DISABLED(!(TS__LOAD(&ts__filter.left_out) >> kind & 1));
}

// Returns whether kernels or collectives are recorded. Threads: any.
static inline bool ts_filter_kernels(void)
{
    return ts_filter_kind(TS_EVENT_KERNEL) ||
           ts_filter_kind(TS_EVENT_COLLECTIVE);
}

// Returns whether an event of this name (a zone, a mark, a kernel) is recorded.
// `size` is in bytes. Takes one load without patterns, otherwise time
// proportional to the sizes of the name and the patterns. Threads: any.
static inline bool ts_filter_name(const char *text, size_t size)
{
    (void)text;
    (void)size;
    return TS__UNLESS_DISABLED(!TS__LOAD(&ts__filter.filtered) ||
                               ts__filter_name_slow(text, size));
}

// The same for a text that ends with 0. Threads: any.
static inline bool ts_filter_text(const char *text)
{
    (void)text;
    return TS__UNLESS_DISABLED(!TS__LOAD(&ts__filter.filtered) ||
                               ts__filter_name_slow(text, strlen(text)));
}

// Returns the depth in frames of the stack that is recorded with each launch;
// 0: none. Threads: any.
static inline uint32_t ts_filter_stack_depth(void)
{
    return TS__FILTER_DEPTH();
}

/* ==== 3. Implementation ================================================== */

#ifdef TRACESMITH_DISABLE
#define ts_filter_set(desc)   TS__GONE(ts_result, ts_filter_set(desc))
#define ts_filter_kinds(list) TS__GONE(uint64_t, ts_filter_kinds(list))
#else

#ifndef TS__STATIC
__attribute__((weak)) ts__filter_state ts__filter;
#endif

// Returns the item of a list at *at, with its length in *size, and moves *at
// past it.
static inline const char *ts__filter_item(const char **at, size_t *size)
{
    const char *const item = *at;
    const char *p = item;
    while (*p && *p != ',')
        p += *p == '\\' && p[1] ? 2 : 1;
    *size = TS__AS(size_t, p - item);
    *at = *p ? p + 1 : p;
    return item;
}

static inline bool ts__filter_is(const char *item, size_t size,
                                 const char *word)
{
    return strlen(word) == size && !memcmp(item, word, size);
}

static inline uint64_t ts__filter_bits(const char *item, size_t size)
{
    const uint64_t all = (UINT64_C(1) << TS_EVENT_LIMIT) - 2;
    const uint64_t host = (UINT64_C(1) << TS_EVENT_GPU_FIRST) - 2;
    if (ts__filter_is(item, size, "all")) return all;
    if (ts__filter_is(item, size, "host")) return host;
    if (ts__filter_is(item, size, "gpu")) return all & ~host;
    if (ts__filter_is(item, size, "kernel"))
        return UINT64_C(1) << TS_EVENT_KERNEL | UINT64_C(1)
                                                    << TS_EVENT_COLLECTIVE;
#define TS__X(name, value, text) \
    if (ts__filter_is(item, size, text)) return UINT64_C(1) << value;
    TS_EVENTS(TS__X)
#undef TS__X
    return 0;
}

TS__WEAK_API uint64_t ts_filter_kinds(const char *list)
{
    const size_t whole = strlen(list);
    uint64_t kinds = 0;
    if (!whole || list[whole - 1] == ',') return 0;
    for (bool first = true; first || *list; first = false) {
        size_t size = 0;
        const char *const item = ts__filter_item(&list, &size);
        const bool out = size && *item == '-';
        const uint64_t bits = ts__filter_bits(item + out, size - out);
        if (!bits) return 0;
        if (out && first) kinds = ts__filter_bits("all", 3);
        kinds = out ? kinds & ~bits : kinds | bits;
    }
    return kinds;
}

TS__WEAK_API ts_result ts_filter_set(const ts_filter_desc *desc)
{
    const char *const list = desc && desc->kinds ? desc->kinds : "";
    const char *const names = desc && desc->names ? desc->names : "";
    const uint32_t depth = desc ? desc->stack_depth : 0;
    const uint64_t kinds = ts_filter_kinds(*list ? list : "all");
    const size_t size = strlen(names);
    if (!kinds || size >= TS_FILTER_NAMES_MAX || depth > TS_FILTER_STACK_MAX)
        return TS_ERR_USAGE;
    memcpy(ts__filter.names, names, size + 1);
    TS__STORE(&ts__filter.left_out, ~kinds);
    TS__STORE(&ts__filter.filtered, size != 0);
    TS__STORE(&ts__filter.stack_depth, depth);
    return TS_OK;
}

// Returns whether a pattern matches all of a text. Takes time proportional to
// the product of their sizes, because only the last * is tried again.
static inline bool ts__filter_match(const char *pattern, const char *end,
                                    const char *text, size_t size)
{
    const char *const text_end = text + size;
    const char *star = TS__NULL, *again = TS__NULL;
    while (text < text_end) {
        const bool plain = pattern < end && *pattern != '*';
        const char *p = pattern;
        if (plain && *p == '\\' && p + 1 < end) p++;
        if (plain && ((*p == '?' && p == pattern) || *p == *text)) {
            pattern = p + 1;
            text++;
        } else if (pattern < end && *pattern == '*') {
            star = ++pattern;
            again = text;
        } else if (star) {
            pattern = star;
            text = ++again;
        } else {
            return false;
        }
    }
    while (pattern < end && *pattern == '*')
        pattern++;
    return pattern == end;
}

// Returns whether a list of patterns selects a text: some pattern matches it
// and none with a leading - does. A list of exclusions alone selects all other
// texts.
static inline bool ts__filter_selects(const char *list, const char *text,
                                      size_t size)
{
    bool any = false, selected = false;
    while (*list) {
        size_t item_size = 0;
        const char *const item = ts__filter_item(&list, &item_size);
        const bool out = item_size && *item == '-';
        any = any || !out;
        if (!ts__filter_match(item + out, item + item_size, text, size))
            continue;
        if (out) return false;
        selected = true;
    }
    return selected || !any;
}

TS__WEAK_API bool ts__filter_name_slow(const char *text, size_t size)
{
    return ts__filter_selects(ts__filter.names, text, size);
}

#endif // !TRACESMITH_DISABLE

#endif // TS_FILTER_H
