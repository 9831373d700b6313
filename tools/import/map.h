/*
    map.h - from numbers of the source to numbers of ours
*/
#ifndef TS_TOOLS_IMPORT_MAP_H
#define TS_TOOLS_IMPORT_MAP_H

#include "tools/cli/map.h"

// Where the value of a key stands, 0 at first; *fresh (NULL allowed): it is
// new. Valid until the next call. NULL: no memory.
static inline int64_t *import_map_put(cli_map *map, int64_t key, bool *fresh)
{
    const size_t before = map->count;
    uint64_t *const value = cli_map_at(map, (uint64_t)key);
    if (fresh) *fresh = map->count > before;
    return (int64_t *)value;
}
// NULL: there is none.
static inline const int64_t *import_map_get(const cli_map *map, int64_t key)
{
    return (const int64_t *)cli_map_find(map, (uint64_t)key);
}

#endif // TS_TOOLS_IMPORT_MAP_H
