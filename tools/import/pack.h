/*
    pack.h - numbers that wait, in few bytes
*/
#ifndef TS_TOOLS_IMPORT_PACK_H
#define TS_TOOLS_IMPORT_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
    Numbers of seven bits a byte, the lowest first, in blocks. Start with zeros.
    Where a path is set, a megabyte is held and what is beyond lies in a file of
    that name, which is gone from its folder at once: memory must not grow with
    what waits. Without room for the file all is held after all.
*/
typedef struct import_pack {
    const char *path;
    uint64_t end;     // where the next number goes
    bool broken;      // the file could not be read: what came of it is 0
    uint8_t **blocks; // private, all that follow; NULL: it is in the file
    size_t block_count, written, room;
    int file;       // 0: none
    uint8_t *cache; // blocks of the file
    size_t *cached; // which, plus 1
} import_pack;

bool import_pack_put(import_pack *pack, uint64_t number); // false: no memory
void import_pack_free(import_pack *pack); // leaves it empty, path and all

// The number at *at, which moves to the next one.
uint64_t import_pack_get(import_pack *pack, uint64_t *at);

// Signed numbers whose amount is small as small numbers.
static inline uint64_t import_fold(int64_t number)
{
    return (uint64_t)number << 1 ^ (uint64_t)(number >> 63);
}

static inline int64_t import_unfold(uint64_t number)
{
    return (int64_t)(number >> 1 ^ (~(number & 1) + 1));
}

#endif // TS_TOOLS_IMPORT_PACK_H
