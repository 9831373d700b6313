/*
    memory_groups.c - holes between blocks, and groups of blocks
*/
#include "tools/analyze/figures/operations/memory.h"

/* ---- Holes -------------------------------------------------------------- */

typedef struct place {
    uint64_t from, to; // addresses, [from, to)
    uint32_t pool;
    bool live;
} place;

static int by_pool_and_address(const void *left, const void *right)
{
    const place *const a = left, *const b = right;
    if (a->pool != b->pool) return a->pool < b->pool ? -1 : 1;
    if (a->from != b->from) return a->from < b->from ? -1 : 1;
    return (a->to > b->to) - (a->to < b->to);
}

static void put_hole(memory_pool *pool, uint64_t from, uint64_t to)
{
    if (to <= from) return;
    pool->holes++;
    pool->known_free += to - from;
    if (to - from > pool->largest_hole) pool->largest_hole = to - from;
}

// Finds the holes of a pool; its places are sorted by address. A run is a range
// that blocks covered without a gap; the parts of it without a live block are
// holes.
static void find_holes(memory_pool *pool, const place *places, size_t count)
{
    // Used: holes before this address are counted.
    uint64_t run_end = 0, used = 0;
    for (size_t i = 0; i < count; i++) {
        const place *const p = &places[i];
        if (p->from > run_end || !i) { // a new run
            if (i) put_hole(pool, used, run_end);
            used = p->from;
            run_end = p->from;
        }
        if (p->live) {
            put_hole(pool, used, p->from);
            if (p->to > used) used = p->to;
        }
        if (p->to > run_end) run_end = p->to;
    }
    if (count) put_hole(pool, used, run_end);
}

bool memory_holes(memory *m)
{
    place *const places = malloc((m->block_count + 1) * sizeof *places);
    size_t count = 0;
    if (!places) return false;
    for (size_t i = 0; i < m->block_count; i++) {
        const memory_block *const b = &m->blocks[i];
        const int64_t peak_ns = m->pools[b->pool].peak_ns;
        if (b->from_ns > peak_ns || !b->size) continue;
        places[count++] = (place){ b->address, b->address + b->size, b->pool,
                                   memory_is_live(b, peak_ns) };
    }
    qsort(places, count, sizeof *places, by_pool_and_address);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count; end++)
            if (places[end].pool != places[i].pool) break;
        find_holes(&m->pools[places[i].pool], places + i, end - i);
    }
    free(places);
    return true;
}

/* ---- Groups ------------------------------------------------------------- */

// Returns the size class: 0 for sizes 0 and 1, n for sizes above 2^(n-1) up to
// 2^n.
static uint32_t size_class(uint64_t size)
{
    return size < 2 ? 0 : 64 - (uint32_t)__builtin_clzll(size - 1);
}

static uint32_t value_of(const memory_block *b, memory_key key)
{
    switch (key) {
    case MEMORY_BY_PATH: return b->path;
    case MEMORY_BY_STACK: return b->stack;
    case MEMORY_BY_SIZE: return size_class(b->size);
    case MEMORY_BY_CATEGORY: break;
    }
    return b->category;
}

static int by_size(const void *left, const void *right)
{
    const memory_group *const a = left, *const b = right;
    if (a->size != b->size) return a->size > b->size ? -1 : 1;
    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

bool memory_groups(const memory *m, memory_key key, bool never_freed,
                   memory_group **groups, size_t *count)
{
    cli_map map = { 0 };
    size_t room = 0;
    bool ok = true;
    *groups = NULL;
    *count = 0;
    for (size_t i = 0; ok && i < m->block_count; i++) {
        const memory_block *const b = &m->blocks[i];
        if (never_freed ? b->to_ns != MEMORY_NEVER
                        : !memory_is_live(b, m->pools[b->pool].peak_ns))
            continue;
        const uint32_t value = value_of(b, key);
        const uint64_t key_of = (uint64_t)b->pool << 32 | value;
        uint32_t at = cli_map_row(&map, key_of);
        if (at == CLI_NONE) {
            at = (uint32_t)*count;
            ok = cli_grow(groups, &room, *count + 1, sizeof **groups) &&
                 cli_map_set(&map, key_of, at);
            if (!ok) break;
            (*groups)[(*count)++] =
                (memory_group){ b->pool, value, 0, 0, (uint32_t)i };
        }
        (*groups)[at].size += b->size;
        (*groups)[at].count++;
    }
    cli_map_close(&map);
    if (ok && *count) qsort(*groups, *count, sizeof **groups, by_size);
    return ok;
}
