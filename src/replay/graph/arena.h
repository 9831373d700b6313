/* ---- Graph: big blocks of memory ---------------------------------------- */

#include <stdlib.h>
#include <string.h>

/*
    Loading, building and looking at a trace takes dozens of blocks of many
    megabytes, most of them for a while. malloc gives each back to the system,
    which clears every page before it hands it out again; that is a third of
    the time of ten million operations. So big blocks are cut from regions
    that are kept until all is closed, and a block that was freed, whole or in
    parts, is the next one. Regions consist of big pages, where the system has
    such. Small blocks are malloc's.

    Threads: one lock; there are few big blocks.
*/
#define TS__ARENA_LEAST  (UINT32_C(1) << 20) // bytes of a big block
#define TS__ARENA_PIECE  (UINT32_C(1) << 14) // all sizes are multiples of it
#define TS__ARENA_REGION (UINT32_C(1) << 24) // of the first region
#define TS__ARENA_PAGE   (UINT32_C(1) << 21) // regions begin and end at one

typedef struct ts__extent { // of a region, free or not
    char *from;
    size_t size;
    bool used, first; // first: of its region
} ts__extent;

typedef struct ts__arena {
    pthread_mutex_t lock;
    uint32_t users;
    size_t size; // of all regions
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

// Leaves the extent with `size` bytes; what is beyond is free. Without memory
// for that it stays as it is.
static void ts__extent_split(ts__arena *arena, size_t at, size_t size)
{
    const ts__extent whole = arena->extents[at];
    const ts__extent rest = { whole.from + size, whole.size - size, false,
                              false };
    if (rest.size && ts__extent_insert(arena, at + 1, rest))
        arena->extents[at].size = size;
}

// Adds the next extent to this one, if both are free and side by side.
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

// Of equal regions there would be more and more; a little more than what there
// is costs nothing before it is used.
static bool ts__arena_grow(ts__arena *arena, size_t size)
{
    size_t most = arena->size / 2;
    if (most < TS__ARENA_REGION) most = TS__ARENA_REGION;
    if (most < size) most = size;
    if (most > SIZE_MAX - TS__ARENA_PAGE) return false;
    most = ts__arena_pages(most);
    void *block = NULL;
    if (posix_memalign(&block, TS__ARENA_PAGE, most)) {
        // Where the address space is limited, what is needed may still fit.
        most = ts__arena_pages(size);
        if (posix_memalign(&block, TS__ARENA_PAGE, most)) return false;
    }
    const ts__extent region = { (char *)block, most, false, true };
    if (!ts__extent_insert(arena, arena->count, region)) {
        free(block);
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

// The first that is free and large enough: what came first was used most.
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

// Whether a block has `size` bytes now, where it is.
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

// An arena's resize() of ts_allocator; without an arena, malloc's.
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
    pthread_mutex_lock(&arena->lock);
    void *const block = ts__arena_locked(arena, ptr, old_size, new_size);
    pthread_mutex_unlock(&arena->lock);
    return block;
}

/*
    The allocator that is wanted. Without one it is a new arena; one that
    another object has already is shared, and lives as long as either.
*/
static ts_allocator ts__arena_open(const ts_allocator *wanted)
{
    ts_allocator a = *wanted;
    if (a.resize && a.resize != ts__arena_resize) return a;
    ts__arena *arena = a.resize ? (ts__arena *)a.user : NULL;
    a.resize = ts__arena_resize;
    if (arena) {
        pthread_mutex_lock(&arena->lock);
        arena->users++;
        pthread_mutex_unlock(&arena->lock);
        return a;
    }
    a.user = arena = (ts__arena *)calloc(1, sizeof *arena);
    if (arena) {
        arena->users = 1;
        pthread_mutex_init(&arena->lock, NULL);
    }
    return a;
}

static void ts__arena_close(const ts_allocator *a)
{
    ts__arena *const arena = (ts__arena *)a->user;
    if (a->resize != ts__arena_resize || !arena) return;
    pthread_mutex_lock(&arena->lock);
    const bool last = --arena->users == 0;
    pthread_mutex_unlock(&arena->lock);
    if (!last) return;
    for (size_t i = 0; i < arena->count; i++)
        if (arena->extents[i].first) free(arena->extents[i].from);
    pthread_mutex_destroy(&arena->lock);
    free(arena->extents);
    free(arena);
}
