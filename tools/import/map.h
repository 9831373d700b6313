/*
    map.h - from numbers of the source to numbers of ours

    Start with { 0 }; import_map_free ends. Nothing depends on the order
    inside.
*/
#ifndef TS_TOOLS_IMPORT_MAP_H
#define TS_TOOLS_IMPORT_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct import_map {
    struct import_map_cell *cells; // private
    size_t count;
    size_t room; // private
} import_map;

// Where the value of a key stands, 0 at first; *fresh (NULL allowed): it is
// new. Valid until the next call. NULL: no memory.
int64_t *import_map_put(import_map *map, int64_t key, bool *fresh);
// NULL: there is none.
const int64_t *import_map_get(const import_map *map, int64_t key);
void import_map_free(import_map *map);

#endif // TS_TOOLS_IMPORT_MAP_H
