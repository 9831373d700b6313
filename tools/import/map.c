// map.c - open addressing, at most two thirds full
#include "tools/import/map.h"

#include <stdlib.h>

typedef struct import_map_cell {
    int64_t key, value;
    bool used;
} cell;

// Source: Steele, Lea, Flood: Fast splittable pseudorandom number generators
// (the finalizer of SplitMix64).
static size_t mix(int64_t key)
{
    uint64_t x = (uint64_t)key + UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return (size_t)(x ^ x >> 31);
}

static cell *find(const import_map *map, int64_t key)
{
    size_t i = mix(key) & (map->room - 1);
    while (map->cells[i].used && map->cells[i].key != key)
        i = (i + 1) & (map->room - 1);
    return &map->cells[i];
}

static bool grow(import_map *map)
{
    if (map->count < map->room / 3 * 2) return true;
    import_map larger = { .room = map->room ? map->room * 2 : 64 };
    larger.cells = calloc(larger.room, sizeof *larger.cells);
    if (!larger.cells) return false;
    for (size_t i = 0; i < map->room; i++)
        if (map->cells[i].used)
            *find(&larger, map->cells[i].key) = map->cells[i];
    larger.count = map->count;
    free(map->cells);
    *map = larger;
    return true;
}

int64_t *import_map_put(import_map *map, int64_t key, bool *fresh)
{
    if (!grow(map)) return NULL;
    cell *const c = find(map, key);
    if (fresh) *fresh = !c->used;
    if (!c->used) {
        *c = (cell){ key, 0, true };
        map->count++;
    }
    return &c->value;
}

const int64_t *import_map_get(const import_map *map, int64_t key)
{
    if (!map->room) return NULL;
    const cell *const c = find(map, key);
    return c->used ? &c->value : NULL;
}

void import_map_free(import_map *map)
{
    free(map->cells);
    *map = (import_map){ 0 };
}
