// Compresses a bundle of code objects, from stdin to stdout, as compilers for
// AMD's devices do: a header of version 2, then zlib.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

int main(void)
{
    enum { ROOM = 16 << 20, HEADER = 24 };
    uint8_t *const bytes = malloc(ROOM), *const packed = malloc(ROOM);
    if (!bytes || !packed) return 1;
    const size_t size = fread(bytes, 1, ROOM, stdin);
    uLongf written = ROOM - HEADER;
    if (compress2(packed + HEADER, &written, bytes, size, 9) != Z_OK) return 1;
    const uint32_t sizes[2] = { (uint32_t)written + HEADER, (uint32_t)size };
    memset(packed, 0, HEADER);
    memcpy(packed, "CCOB\2", 5); // 0: zlib
    memcpy(packed + 8, sizes, sizeof sizes);
    return fwrite(packed, 1, sizes[0], stdout) != sizes[0];
}
