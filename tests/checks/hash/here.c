// The kernel of backends/capture/hash.cl as C, beside the host's own
// hash. Prints the PTX, as a driver is given it.
#include "backends/cupti/hash_ptx.h"
#include "tests/doubles/hash_here.h"
#define XXH_INLINE_ALL
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

int main(void)
{
    uint8_t *const bytes = malloc(TS_CHUNK + 16);
    if (!bytes) return 1;
    for (uint32_t i = 0; i < TS_CHUNK + 16; i++)
        bytes[i] = (uint8_t)(i * 2246822519u >> 11);
    for (uint32_t size = TS_SHORT + 1; size <= TS_CHUNK;
         size += size < 3000 || size > TS_CHUNK - 200 ? 1 : 61) {
        const uint32_t offset = size % 11, items = 8u << size % 5;
        const XXH128_hash_t want = XXH3_128bits(bytes + offset, size);
        uint64_t hash[2];
        hash_here(bytes + offset, size, items, hash);
        if (hash[0] == want.low64 && hash[1] == want.high64) continue;
        fprintf(stderr, "%u bytes from %u on, %u items\n", size, offset, items);
        return 1;
    }
    free(bytes);
    for (size_t i = 0;
         i < sizeof ts__cuda_hash_text / sizeof *ts__cuda_hash_text; i++)
        fputs(ts__cuda_hash_text[i], stdout);
    return fflush(stdout) ? 1 : 0;
}
