// The kernel of backends/capture/hash.cl on the host, its items one by one.
#ifndef HASH_HERE_H
#define HASH_HERE_H

#include "../../backends/capture/hash.cl"

// A group of so many items, a multiple of 8.
static void hash_here(const uint8_t *bytes, uint32_t size, uint32_t items,
                      uint64_t hash[2])
{
    uint64_t sums[TS_SUMS];
    if (size <= TS_SHORT) return;
    for (uint32_t i = 0; i < items; i++)
        ts_add(bytes, size, sums, i, items);
    for (uint32_t i = 0; i < 8; i++)
        ts_fold(size, sums, i);
    for (uint32_t i = 0; i < 2; i++)
        hash[i] = ts_end(size, sums, i);
}

#endif // HASH_HERE_H
