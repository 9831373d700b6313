/*
    import_pack.c - numbers that wait, in few bytes
*/
#include "tools/import/import_pack.h"
#include <stdlib.h>

enum { BLOCK = 1 << 16, LONGEST = 10 };

// A number lies in one block: one that might not fit begins the next.
static uint64_t place(uint64_t at)
{
    return at % BLOCK > BLOCK - LONGEST ? (at / BLOCK + 1) * BLOCK : at;
}

static bool add_block(import_pack *pack)
{
    const size_t n = pack->block_count;
    if (!(n & (n - 1))) {
        const size_t room = n ? 2 * n : 1;
        uint8_t **const more = realloc(pack->blocks, room * sizeof *more);
        if (!more) return false;
        pack->blocks = more;
    }
    pack->blocks[n] = malloc(BLOCK);
    pack->block_count += pack->blocks[n] != NULL;
    return pack->blocks[n] != NULL;
}

bool import_pack_put(import_pack *pack, uint64_t number)
{
    uint64_t at = place(pack->end);
    if (at / BLOCK == pack->block_count && !add_block(pack)) return false;
    uint8_t *const block = pack->blocks[at / BLOCK];
    for (; number > 127; number >>= 7)
        block[at++ % BLOCK] = (uint8_t)(number | 128);
    block[at++ % BLOCK] = (uint8_t)number;
    pack->end = at;
    return true;
}

uint64_t import_pack_get(const import_pack *pack, uint64_t *at)
{
    uint64_t p = place(*at), number = 0;
    const uint8_t *const block = pack->blocks[p / BLOCK];
    uint8_t byte;
    int shift = 0;
    do {
        byte = block[p++ % BLOCK];
        number |= (uint64_t)(byte & 127) << shift;
        shift += 7;
    } while (byte & 128);
    *at = p;
    return number;
}

void import_pack_free(import_pack *pack)
{
    for (size_t i = 0; i < pack->block_count; i++)
        free(pack->blocks[i]);
    free(pack->blocks);
    pack->blocks = NULL;
    pack->block_count = 0;
    pack->end = 0;
}
