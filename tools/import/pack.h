/*
    pack.h - a compact list of integers that can spill to a file
*/
#ifndef TS_TOOLS_IMPORT_PACK_H
#define TS_TOOLS_IMPORT_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
    Integers in LEB128 (seven bits in a byte, lowest first), in blocks. All
    zeros is an empty list. If a path is set, only one megabyte is kept in
    memory and the rest in a file of that name, which is unlinked right after
    its creation, so that memory does not grow with the trace. If the file
    cannot be written, everything is kept in memory.
*/
typedef struct import_pack {
    const char *path;
    uint64_t end;     // position of the next number
    bool broken;      // the file could not be read: its numbers are 0
    uint8_t **blocks; // private from here on; NULL: it is in the file
    size_t block_count, written, room;
    int file;       // 0: none
    uint8_t *cache; // blocks of the file
    size_t *cached; // their numbers, plus 1
} import_pack;

bool import_pack_put(import_pack *pack, uint64_t number); // false: no memory
void import_pack_free(import_pack *pack); // resets all fields, with the path

// Returns the number at position *at and moves *at to the next one.
uint64_t import_pack_get(import_pack *pack, uint64_t *at);

// Zigzag encoding: signed integers near zero become small unsigned ones.
static inline uint64_t import_fold(int64_t number)
{
    return (uint64_t)number << 1 ^ (uint64_t)(number >> 63);
}

// The inverse of import_fold.
static inline int64_t import_unfold(uint64_t number)
{
    return (int64_t)(number >> 1 ^ (~(number & 1) + 1));
}

#endif // TS_TOOLS_IMPORT_PACK_H
