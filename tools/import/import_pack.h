/*
    import_pack.h - numbers that wait, in few bytes
*/
#ifndef TS_IMPORT_PACK_H
#define TS_IMPORT_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Numbers of seven bits a byte, the lowest first, in blocks that never move.
typedef struct import_pack {
    uint8_t **blocks;
    size_t block_count;
    uint64_t end; // where the next number goes
} import_pack;

bool import_pack_put(import_pack *pack, uint64_t number); // false: no memory
void import_pack_free(import_pack *pack);

// The number at *at, which moves to the next one.
uint64_t import_pack_get(const import_pack *pack, uint64_t *at);

// Signed numbers whose amount is small as small numbers.
static inline uint64_t import_fold(int64_t number)
{
    return (uint64_t)number << 1 ^ (uint64_t)(number >> 63);
}

static inline int64_t import_unfold(uint64_t number)
{
    return (int64_t)(number >> 1 ^ (~(number & 1) + 1));
}

#endif // TS_IMPORT_PACK_H
