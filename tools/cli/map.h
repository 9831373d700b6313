/*
    map.h - arrays that grow, and hash maps

    The containers of all tools. Each starts from { 0 }, which is empty and
    needs no close. A function that fails for want of memory says so by what it
    returns, and leaves the container as it was.

    Nothing may depend on the order inside a map: keys may be addresses.
*/
#ifndef TS_TOOLS_CLI_MAP_H
#define TS_TOOLS_CLI_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLI_NONE UINT32_MAX // no row, no position, no number

/* ---- Arrays -------------------------------------------------------------- */

/*
    Makes room for `count` elements of `size` bytes. `array` points to the
    pointer to the first one, *room is how many fit, and at least doubles.
    False without memory.

        if (!cli_grow(&rows, &room, count + 1, sizeof *rows)) return false;
        rows[count++] = row;

    Free: free(rows).
*/
bool cli_grow_more(void *array, size_t *room, size_t count, size_t size);
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
    cli_slot *slots; // private; one more than the mask allows: see map.c
    size_t count;
    size_t mask; // private
} cli_map;

#define CLI_NO_KEY UINT64_MAX // private: of a free slot

// Eight keys in a row stay together, on two cache lines: numbers that count up
// are looked up in order.
static inline size_t cli_map_home(const cli_map *map, uint64_t key)
{
    uint64_t hash = key >> 3;
    hash ^= hash >> 32;
    hash *= UINT64_C(0x9E3779B97F4A7C15); // 2^64 / golden ratio
    hash = ((hash ^ hash >> 29) & ~UINT64_C(7)) + (key & 7);
    return (size_t)hash & map->mask;
}

// The value of a key; NULL: it is not there. Lifetime of this and the next:
// until a key is added or removed.
uint64_t *cli_map_find_no_key(const cli_map *map); // private
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

// The value of a key, which is added with value 0 if it is not there. NULL
// without memory.
uint64_t *cli_map_at(cli_map *map, uint64_t key);
// The value of a key that is below CLI_NONE; this if the key is not there.
static inline uint32_t cli_map_row(const cli_map *map, uint64_t key)
{
    const uint64_t *const row = cli_map_find(map, key);
    return row ? (uint32_t)*row : CLI_NONE;
}
// False without memory.
bool cli_map_set(cli_map *map, uint64_t key, uint64_t value);
// False: it is not there.
bool cli_map_remove(cli_map *map, uint64_t key);
void cli_map_close(cli_map *map);

/* ---- From texts and other keys to rows ----------------------------------- */

/*
    Finds rows of the caller's array by a hash of what makes them equal. Rows
    with the same hash may differ: the caller compares them.

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

// The next row with this hash, from *at = 0 on; CLI_NONE after the last.
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
// False without memory.
bool cli_index_add(cli_index *index, uint64_t hash, uint32_t row);
void cli_index_clear(cli_index *index); // keeps the memory
void cli_index_close(cli_index *index);

// Hashes, in all bits: of bytes, and of a number and another hash.
uint64_t cli_hash(const void *bytes, size_t size);
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
