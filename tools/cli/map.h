/*
    map.h - arrays that grow, and hash maps

    The containers of all tools. Each starts from { 0 }, which is empty and
    needs no close. A function that runs out of memory returns false or NULL and
    leaves the container unchanged.

    No output may depend on the order of entries in a map: keys may be
    addresses, which differ from run to run.
*/
#ifndef TS_TOOLS_CLI_MAP_H
#define TS_TOOLS_CLI_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLI_NONE UINT32_MAX // no row, no position, no number

/* ---- Arrays -------------------------------------------------------------- */

// Private: cli_grow, when there is no room.
bool cli_grow_more(void *array, size_t *room, size_t count, size_t size);
/*
    Makes room for `count` elements of `size` bytes. `array` points to the
    pointer to the first element. *room is the number of elements that fit; it
    at least doubles. False without memory.

        if (!cli_grow(&rows, &room, count + 1, sizeof *rows)) return false;
        rows[count++] = row;

    Free: free(rows).
*/
static inline bool cli_grow(void *array, size_t *room, size_t count,
                            size_t size)
{
    return count <= *room || cli_grow_more(array, room, count, size);
}

/* ---- From numbers to numbers --------------------------------------------- */

typedef struct cli_slot {
    uint64_t key, value;
} cli_slot;

// Open addressing with linear probing, at most 3/4 full. Any key, any value.
typedef struct cli_map {
    cli_slot *slots; // private; mask + 2 of them: see map.c
    size_t count;
    size_t mask; // private
} cli_map;

#define CLI_NO_KEY UINT64_MAX // private: the key of a free slot

// The first slot to try for a key. Eight consecutive keys share two cache
// lines, because ascending numbers are usually looked up in order.
static inline size_t cli_map_home(const cli_map *map, uint64_t key)
{
    uint64_t hash = key >> 3;
    hash ^= hash >> 32;
    hash *= UINT64_C(0x9E3779B97F4A7C15); // 2^64 / golden ratio
    hash = ((hash ^ hash >> 29) & ~UINT64_C(7)) + (key & 7);
    return (size_t)hash & map->mask;
}

uint64_t *cli_map_find_no_key(const cli_map *map); // private
// Returns the value of a key, NULL if the map does not have it. The pointer is
// valid until a key is added or removed; so is that of cli_map_at.
static inline uint64_t *cli_map_find(const cli_map *map, uint64_t key)
{
    if (!map->slots) return NULL;
    if (key == CLI_NO_KEY) return cli_map_find_no_key(map);
    for (size_t i = cli_map_home(map, key);; i = (i + 1) & map->mask) {
        cli_slot *const slot = &map->slots[i];
        if (slot->key == key) return &slot->value;
        if (slot->key == CLI_NO_KEY) return NULL;
    }
}

// Returns the value of a key; adds it with value 0 if the map does not have it.
// NULL without memory.
uint64_t *cli_map_at(cli_map *map, uint64_t key);
// Returns the value of a key, which must be below CLI_NONE; CLI_NONE if the map
// does not have the key.
static inline uint32_t cli_map_row(const cli_map *map, uint64_t key)
{
    const uint64_t *const row = cli_map_find(map, key);
    return row ? (uint32_t)*row : CLI_NONE;
}
// Adds a key or replaces its value. False without memory.
bool cli_map_set(cli_map *map, uint64_t key, uint64_t value);
// Removes a key. False if the map does not have it.
bool cli_map_remove(cli_map *map, uint64_t key);
// Makes a copy; `to` is empty. False without memory.
bool cli_map_copy(cli_map *to, const cli_map *from);
// Frees a map, which can be used again.
void cli_map_close(cli_map *map);

/* ---- From texts and other keys to rows ----------------------------------- */

/*
    Finds rows of the caller's array by a hash of their key. Rows with the same
    hash may have different keys: the caller compares them.

        uint32_t row = 0;
        for (size_t at = 0; (row = cli_index_next(&x, hash, &at)) != CLI_NONE;)
            if (same(&rows[row], key)) return row;
        return cli_index_add(&x, hash, count) ? add_row(key) : CLI_NONE;
*/
typedef struct cli_index {
    uint64_t *slots; // private: 32 bits of the hash, row + 1; 0: free
    size_t count;
    size_t mask; // private
} cli_index;

// Returns the next row with this hash, CLI_NONE after the last. Start with
// *at = 0.
static inline uint32_t cli_index_next(const cli_index *index, uint64_t hash,
                                      size_t *at)
{
    if (!index->slots) return CLI_NONE;
    for (;;) {
        const uint64_t slot = index->slots[(hash + *at) & index->mask];
        ++*at;
        if (!slot) return CLI_NONE;
        if (slot >> 32 == (uint32_t)hash) return (uint32_t)slot - 1;
    }
}
// Adds a row under a hash. False without memory.
bool cli_index_add(cli_index *index, uint64_t hash, uint32_t row);
// Makes a copy; `to` is empty. False without memory.
bool cli_index_copy(cli_index *to, const cli_index *from);
// Removes all rows and keeps the memory.
void cli_index_clear(cli_index *index);
// Frees an index, which can be used again.
void cli_index_close(cli_index *index);

// Returns a hash of bytes; all 64 bits are well mixed.
uint64_t cli_hash(const void *bytes, size_t size);
// Returns a hash of a number and another hash, likewise.
static inline uint64_t cli_hash_join(uint64_t hash, uint64_t number)
{
    // Source: Steele, Lea, Flood: Fast splittable pseudorandom number
    // generators, 2014 (the finaliser of SplitMix64).
    uint64_t x = hash * UINT64_C(0x9E3779B97F4A7C15) + number;
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

#endif // TS_TOOLS_CLI_MAP_H
