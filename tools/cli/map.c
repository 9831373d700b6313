/*
    map.c - arrays that grow, and hash maps

    Both maps use linear probing, so that a lookup mostly reads one cache line.
*/
#include "tools/cli/map.h"
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

bool cli_grow_more(void *array, size_t *room, size_t count, size_t size)
{
    void *old; // pointers of all types have one form
    size_t more = *room ? 2 * *room : 16;
    if (more < count) more = count;
    if (more > SIZE_MAX / size) return false;
    memcpy(&old, array, sizeof old);
    void *const grown = realloc(old, more * size);
    if (!grown) return false;
    memcpy(array, &grown, sizeof grown);
    *room = more;
    return true;
}

/* ---- From numbers to numbers --------------------------------------------- */

// CLI_NO_KEY marks free slots, so the value of that key itself is stored in an
// extra slot after all others. The extra slot is used if its key field differs
// from CLI_NO_KEY.
uint64_t *cli_map_find_no_key(const cli_map *map)
{
    cli_slot *const last = &map->slots[map->mask + 1];
    return last->key == CLI_NO_KEY ? NULL : &last->value;
}

static cli_slot *free_slot(const cli_map *map, uint64_t key)
{
    if (key == CLI_NO_KEY) return &map->slots[map->mask + 1];
    size_t at = cli_map_home(map, key);
    while (map->slots[at].key != CLI_NO_KEY)
        at = (at + 1) & map->mask;
    return &map->slots[at];
}

static bool map_grow(cli_map *map)
{
    const size_t room = map->slots ? 2 * (map->mask + 1) : 16;
    if (room >= SIZE_MAX / sizeof(cli_slot)) return false;
    cli_map more = { .count = map->count, .mask = room - 1 };
    more.slots = malloc((room + 1) * sizeof *more.slots);
    if (!more.slots) return false;
    for (size_t i = 0; i <= room; i++)
        more.slots[i].key = CLI_NO_KEY;
    for (size_t i = 0; map->slots && i <= map->mask; i++)
        if (map->slots[i].key != CLI_NO_KEY)
            *free_slot(&more, map->slots[i].key) = map->slots[i];
    if (map->slots) more.slots[room] = map->slots[map->mask + 1];
    free(map->slots);
    *map = more;
    return true;
}

uint64_t *cli_map_at(cli_map *map, uint64_t key)
{
    uint64_t *const found = cli_map_find(map, key);
    if (found) return found;
    if ((!map->slots || map->count >= map->mask / 4 * 3) && !map_grow(map))
        return NULL;
    cli_slot *const slot = free_slot(map, key);
    slot->key = key == CLI_NO_KEY ? 0 : key;
    slot->value = 0;
    map->count++;
    return &slot->value;
}

bool cli_map_set(cli_map *map, uint64_t key, uint64_t value)
{
    uint64_t *const at = cli_map_at(map, key);
    if (at) *at = value;
    return at;
}

// Moves later slots of the probe sequence into the gap of a removed key, so
// that no tombstones are needed.
static void close_gap(cli_map *map, size_t gap)
{
    for (size_t i = (gap + 1) & map->mask;; i = (i + 1) & map->mask) {
        const cli_slot slot = map->slots[i];
        if (slot.key == CLI_NO_KEY) break;
        // A slot can move unless its home lies between the gap and the slot.
        const size_t home = cli_map_home(map, slot.key);
        if (((i - home) & map->mask) < ((i - gap) & map->mask)) continue;
        map->slots[gap] = slot;
        gap = i;
    }
    map->slots[gap].key = CLI_NO_KEY;
}

bool cli_map_remove(cli_map *map, uint64_t key)
{
    uint64_t *const value = cli_map_find(map, key);
    if (!value) return false;
    const size_t at = (size_t)((cli_slot *)(void *)(value - 1) - map->slots);
    if (at > map->mask)
        map->slots[at].key = CLI_NO_KEY;
    else
        close_gap(map, at);
    map->count--;
    return true;
}

bool cli_map_copy(cli_map *to, const cli_map *from)
{
    cli_map copy = *from;
    const size_t size = (from->mask + 2) * sizeof *copy.slots;
    copy.slots = from->slots ? malloc(size) : NULL;
    if (from->slots && !copy.slots) return false;
    if (copy.slots) memcpy(copy.slots, from->slots, size);
    *to = copy;
    return true;
}

void cli_map_close(cli_map *map)
{
    free(map->slots);
    *map = (cli_map){ 0 };
}

/* ---- From texts and other keys to rows ----------------------------------- */

static void put(cli_index *index, uint64_t slot)
{
    size_t at = (size_t)(slot >> 32) & index->mask;
    while (index->slots[at])
        at = (at + 1) & index->mask;
    index->slots[at] = slot;
}

// At most half full: an unsuccessful lookup reads two slots on average.
static bool index_grow(cli_index *index)
{
    const size_t room = index->slots ? 2 * (index->mask + 1) : 64;
    cli_index more = { calloc(room, sizeof *more.slots), index->count,
                       room - 1 };
    if (!more.slots) return false;
    for (size_t i = 0; index->slots && i <= index->mask; i++)
        if (index->slots[i]) put(&more, index->slots[i]);
    free(index->slots);
    *index = more;
    return true;
}

bool cli_index_add(cli_index *index, uint64_t hash, uint32_t row)
{
    if (2 * (index->count + 1) > index->mask && !index_grow(index))
        return false;
    put(index, (hash & UINT32_MAX) << 32 | (row + 1));
    index->count++;
    return true;
}

bool cli_index_copy(cli_index *to, const cli_index *from)
{
    cli_index copy = *from;
    const size_t size = (from->mask + 1) * sizeof *copy.slots;
    copy.slots = from->slots ? malloc(size) : NULL;
    if (from->slots && !copy.slots) return false;
    if (copy.slots) memcpy(copy.slots, from->slots, size);
    *to = copy;
    return true;
}

void cli_index_clear(cli_index *index)
{
    if (index->slots)
        memset(index->slots, 0, (index->mask + 1) * sizeof *index->slots);
    index->count = 0;
}

void cli_index_close(cli_index *index)
{
    free(index->slots);
    *index = (cli_index){ 0 };
}

uint64_t cli_hash(const void *bytes, size_t size)
{
    return XXH3_64bits(bytes, size);
}
