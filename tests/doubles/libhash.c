/*
    libhash.c - the kernel that hashes, for the double of CUDA's driver: what
    it takes for the PTX of backends/cupti/hash_ptx.h
*/
#include "cuda_double.h"

#include "hash_here.h"

#include <stdlib.h>

#define SEEN __attribute__((visibility("default")))

SEEN uint64_t ts_hashes[8192];
SEEN const uint32_t ts_hash_chunks_params[] = { 0, 8,  8, 8,         16,
                                                8, 24, 8, UINT32_MAX };
SEEN void ts_hash_chunks(const void *arguments, const double_grid *grid);

// DOUBLE_HASH_WRONG: a device that hashes wrongly.
void ts_hash_chunks(const void *arguments, const double_grid *grid)
{
    const struct {
        const uint8_t *memory;
        uint64_t offset, size, *hashes;
    } *const a = arguments;
    for (uint32_t chunk = 0; chunk < grid->grid[0]; chunk++) {
        const uint64_t at = (uint64_t)chunk * TS_CHUNK, left = a->size - at;
        hash_here(a->memory + a->offset + at,
                  left < TS_CHUNK ? (uint32_t)left : TS_CHUNK, grid->block[0],
                  a->hashes + 2 * chunk);
        a->hashes[2 * chunk] ^= getenv("DOUBLE_HASH_WRONG") != NULL;
    }
}
