/* ---- Graph: big blocks of memory ---------------------------------------- */

#include <stdlib.h>
#include <string.h>

/*
    Loading and analysing a trace allocates dozens of blocks of many megabytes,
    most of them for a short time. malloc would return each to the system, which
    clears every page before it hands it out again: a third of the time for ten
    million operations. Therefore big blocks are carved out of regions that are
    kept until the arena is closed, and freed blocks are reused, whole or in
    parts. Regions use huge pages where the system has them. Small blocks come
    from malloc.

    Threads: any, under one lock; big blocks are few.
*/
#define TS__ARENA_LEAST  (UINT32_C(1) << 20) // minimum size of a big block
#define TS__ARENA_PIECE  (UINT32_C(1) << 14) // granularity of sizes
#define TS__ARENA_REGION (UINT32_C(1) << 24) // size of the first region
#define TS__ARENA_PAGE   (UINT32_C(1) << 21) // alignment of regions

// A part of a region, free or used.
typedef struct ts__extent {
    char *from;
    size_t size;
    bool used, first; // first: the first one of its region
} ts__extent;

typedef struct ts__arena {
    ts__mutex lock;
    uint32_t users;
    size_t size; // sum of all regions
    ts__extent *extents;
    size_t count, capacity;
} ts__arena;

static bool ts__extent_insert(ts__arena *arena, size_t at, ts__extent extent)
{
    if (arena->count == arena->capacity) {
        const size_t capacity = arena->capacity ? arena->capacity * 2 : 64;
        ts__extent *const more = (ts__extent *)realloc(
            arena->extents, capacity * sizeof *arena->extents);
        if (!more) return false;
        arena->extents = more;
        arena->capacity = capacity;
    }
    ts__extent *const to = arena->extents + at;
    memmove(to + 1, to, (arena->count++ - at) * sizeof *to);
    *to = extent;
    return true;
}

// Cuts an extent down to `size` bytes and frees the rest. Without memory for
// the new extent it stays unchanged.
static void ts__extent_split(ts__arena *arena, size_t at, size_t size)
{
    const ts__extent whole = arena->extents[at];
    const ts__extent rest = { whole.from + size, whole.size - size, false,
                              false };
    if (rest.size && ts__extent_insert(arena, at + 1, rest))
        arena->extents[at].size = size;
}

// Merges the next extent into this one, if both are free and adjacent.
static void ts__extent_join(ts__arena *arena, size_t at)
{
    if (at + 1 >= arena->count) return;
    ts__extent *const e = arena->extents + at;
    if (e[0].used || e[1].used || e[1].first) return;
    e[0].size += e[1].size;
    memmove(e + 1, e + 2, (--arena->count - at - 1) * sizeof *e);
}

static size_t ts__arena_pages(size_t size)
{
    return (size + TS__ARENA_PAGE - 1) & ~(size_t)(TS__ARENA_PAGE - 1);
}

// Memory at a multiple of a page; NULL: there is none.
static void *ts__arena_block(size_t size)
{
#ifdef _WIN32
    return _aligned_malloc(size, TS__ARENA_PAGE);
#else
    void *block = NULL;
    return posix_memalign(&block, TS__ARENA_PAGE, size) ? NULL : block;
#endif
}

static void ts__arena_block_free(void *block)
{
#ifdef _WIN32
    _aligned_free(block);
#else
    free(block);
#endif
}

// Adds a region of at least half the size of all regions so far, as regions of
// equal size would become too many. Memory that is not touched costs nothing.
static bool ts__arena_grow(ts__arena *arena, size_t size)
{
    size_t most = arena->size / 2;
    if (most < TS__ARENA_REGION) most = TS__ARENA_REGION;
    if (most < size) most = size;
    if (most > SIZE_MAX - TS__ARENA_PAGE) return false;
    most = ts__arena_pages(most);
    void *block = ts__arena_block(most);
    if (!block) {
        // In a limited address space the needed size alone may still fit.
        most = ts__arena_pages(size);
        block = ts__arena_block(most);
        if (!block) return false;
    }
    const ts__extent region = { (char *)block, most, false, true };
    if (!ts__extent_insert(arena, arena->count, region)) {
        ts__arena_block_free(block);
        return false;
    }
#ifdef MADV_HUGEPAGE
    madvise(block, most, MADV_HUGEPAGE);
#endif
    arena->size += most;
    return true;
}

static size_t ts__arena_round(size_t size)
{
    return (size + TS__ARENA_PIECE - 1) & ~(size_t)(TS__ARENA_PIECE - 1);
}

// Takes the first free extent that is large enough: memory in front is the most
// likely to have been touched before.
static void *ts__arena_take(ts__arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2) return NULL;
    size = ts__arena_round(size);
    size_t at = 0;
    while (at < arena->count &&
           (arena->extents[at].used || arena->extents[at].size < size))
        at++;
    if (at == arena->count && !ts__arena_grow(arena, size)) return NULL;
    ts__extent_split(arena, at, size);
    arena->extents[at].used = true;
    return arena->extents[at].from;
}

static size_t ts__arena_find(const ts__arena *arena, const void *block)
{
    size_t at = 0;
    while (arena->extents[at].from != block)
        at++;
    return at;
}

static void ts__arena_free(ts__arena *arena, const void *block)
{
    const size_t at = ts__arena_find(arena, block);
    arena->extents[at].used = false;
    ts__extent_join(arena, at);
    if (at && !arena->extents[at].first) ts__extent_join(arena, at - 1);
}

// Resizes a block in place. Returns whether it has `size` bytes now.
static bool ts__arena_stretch(ts__arena *arena, const void *block, size_t size)
{
    const size_t at = ts__arena_find(arena, block);
    ts__extent *const e = arena->extents + at;
    if (size > SIZE_MAX / 2) return false;
    size = ts__arena_round(size);
    if (e->size >= size) {
        ts__extent_split(arena, at, size);
        ts__extent_join(arena, at + 1);
        return true;
    }
    if (at + 1 == arena->count || e[1].used || e[1].first ||
        e->size + e[1].size < size)
        return false;
    e[1].from += size - e->size;
    e[1].size -= size - e->size;
    e->size = size;
    if (e[1].size) return true;
    memmove(e + 1, e + 2, (--arena->count - at - 1) * sizeof *e);
    return true;
}

static void *ts__arena_locked(ts__arena *arena, void *ptr, size_t old_size,
                              size_t new_size)
{
    const bool big = old_size >= TS__ARENA_LEAST;
    if (!new_size) {
        ts__arena_free(arena, ptr);
        return NULL;
    }
    if (big && new_size >= TS__ARENA_LEAST &&
        ts__arena_stretch(arena, ptr, new_size))
        return ptr;
    void *const block = new_size >= TS__ARENA_LEAST
                            ? ts__arena_take(arena, new_size)
                            : malloc(new_size);
    if (!block || !ptr) return block;
    memcpy(block, ptr, old_size < new_size ? old_size : new_size);
    if (big)
        ts__arena_free(arena, ptr);
    else
        free(ptr);
    return block;
}

// The resize() of ts_allocator for an arena; user NULL: plain malloc.
static void *ts__arena_resize(void *user, void *ptr, size_t old_size,
                              size_t new_size)
{
    ts__arena *const arena = (ts__arena *)user;
    if (!ptr) old_size = 0;
    if (!ptr && !new_size) return NULL;
    if (!arena || (old_size < TS__ARENA_LEAST && new_size < TS__ARENA_LEAST)) {
        if (new_size) return realloc(ptr, new_size);
        free(ptr);
        return NULL;
    }
    ts__mutex_take(&arena->lock);
    void *const block = ts__arena_locked(arena, ptr, old_size, new_size);
    ts__mutex_give(&arena->lock);
    return block;
}

/*
    Returns the allocator to use: the given one, or a new arena if none is
    given. An arena of another object is shared; it lives as long as any user of
    it.
*/
static ts_allocator ts__arena_open(const ts_allocator *given)
{
    ts_allocator a = *given;
    if (a.resize && a.resize != ts__arena_resize) return a;
    ts__arena *arena = a.resize ? (ts__arena *)a.user : NULL;
    a.resize = ts__arena_resize;
    if (arena) {
        ts__mutex_take(&arena->lock);
        arena->users++;
        ts__mutex_give(&arena->lock);
        return a;
    }
    a.user = arena = (ts__arena *)calloc(1, sizeof *arena);
    if (arena) {
        arena->users = 1;
        ts__mutex_open(&arena->lock);
    }
    return a;
}

static void ts__arena_close(const ts_allocator *a)
{
    ts__arena *const arena = (ts__arena *)a->user;
    if (a->resize != ts__arena_resize || !arena) return;
    ts__mutex_take(&arena->lock);
    const bool last = --arena->users == 0;
    ts__mutex_give(&arena->lock);
    if (!last) return;
    for (size_t i = 0; i < arena->count; i++)
        if (arena->extents[i].first)
            ts__arena_block_free(arena->extents[i].from);
    ts__mutex_close(&arena->lock);
    free(arena->extents);
    free(arena);
}
