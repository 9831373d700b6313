/*
    map.h - a map from ids of the source to numbers of the trace
*/
#ifndef TS_TOOLS_IMPORT_MAP_H
#define TS_TOOLS_IMPORT_MAP_H

#include "tools/cli/map.h"

// Returns a pointer to the value of a key, which is added with value 0 if it is
// missing; *fresh (may be NULL) is set if it was. Valid until the next call.
// NULL without memory.
static inline int64_t *import_map_put(cli_map *map, int64_t key, bool *fresh)
{
    const size_t before = map->count;
    uint64_t *const value = cli_map_at(map, (uint64_t)key);
    if (fresh) *fresh = map->count > before;
    return (int64_t *)value;
}
// Returns a pointer to the value of a key; NULL if it is missing.
static inline const int64_t *import_map_get(const cli_map *map, int64_t key)
{
    return (const int64_t *)cli_map_find(map, (uint64_t)key);
}

#endif // TS_TOOLS_IMPORT_MAP_H
