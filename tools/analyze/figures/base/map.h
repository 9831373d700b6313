/*
    map.h - a map from numbers to numbers, and arrays that grow
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_BASE_MAP_H
#define TS_TOOLS_ANALYZE_FIGURES_BASE_MAP_H

#include "tools/cli/cli.h"

#define CALC_NONE 0xFFFFFFFFu

// Makes room for `count` elements of `size` bytes in *items; false: no memory.
static inline bool calc_room(void *items, size_t *room, size_t count,
                             size_t size)
{
    void *at, *grown;
    size_t more = *room ? *room : 16;
    if (count <= *room) return true;
    while (more < count)
        more *= 2;
    memcpy(&at, items, sizeof at);
    if (more > SIZE_MAX / size || !(grown = realloc(at, more * size)))
        return false;
    memcpy(items, &grown, sizeof grown);
    *room = more;
    return true;
}

static inline uint64_t calc_mix(uint64_t a, uint64_t b)
{
    uint64_t x = a * UINT64_C(0x9E3779B97F4A7C15) + b;
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

// All zeros is empty. Values are below CALC_NONE.
typedef struct calc_map {
    uint64_t *keys;
    uint32_t *values; // CALC_NONE: a free place
    size_t count, capacity;
} calc_map;

static inline size_t calc_map_place(const calc_map *map, uint64_t key)
{
    size_t i = (size_t)calc_mix(key, 0) & (map->capacity - 1);
    while (map->values[i] != CALC_NONE && map->keys[i] != key)
        i = (i + 1) & (map->capacity - 1);
    return i;
}

// The value of a key, or CALC_NONE.
static inline uint32_t calc_map_get(const calc_map *map, uint64_t key)
{
    return map->capacity ? map->values[calc_map_place(map, key)] : CALC_NONE;
}

static inline void calc_map_close(calc_map *map)
{
    free(map->keys);
    free(map->values);
    *map = (calc_map){ 0 };
}

static inline bool calc_map_grow(calc_map *map)
{
    calc_map more = { .capacity = map->capacity ? 2 * map->capacity : 64 };
    more.keys = malloc(more.capacity * sizeof *more.keys);
    more.values = malloc(more.capacity * sizeof *more.values);
    if (!more.keys || !more.values) {
        calc_map_close(&more);
        return false;
    }
    memset(more.values, 0xFF, more.capacity * sizeof *more.values);
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->values[i] == CALC_NONE) continue;
        const size_t at = calc_map_place(&more, map->keys[i]);
        more.keys[at] = map->keys[i];
        more.values[at] = map->values[i];
    }
    more.count = map->count;
    calc_map_close(map);
    *map = more;
    return true;
}

// False: no memory.
static inline bool calc_map_set(calc_map *map, uint64_t key, uint32_t value)
{
    if (4 * (map->count + 1) > 3 * map->capacity && !calc_map_grow(map))
        return false;
    const size_t at = calc_map_place(map, key);
    map->count += map->values[at] == CALC_NONE;
    map->keys[at] = key;
    map->values[at] = value;
    return true;
}

#endif // TS_TOOLS_ANALYZE_FIGURES_BASE_MAP_H
