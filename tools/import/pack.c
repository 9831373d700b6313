/*
    pack.c - a compact list of integers that can spill to a file
*/
#define _POSIX_C_SOURCE 200809L
#include "tools/import/pack.h"
#include "tools/cli/map.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 1 << 13, LONGEST = 10, HELD = 128, CACHED = 128 };

/* ---- The file ----------------------------------------------------------- */

static bool open_file(import_pack *pack)
{
    pack->cache = malloc((size_t)CACHED * BLOCK);
    pack->cached = calloc(CACHED, sizeof *pack->cached);
    int file = -1;
    if (pack->cache && pack->cached)
        file = open(pack->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file > 0) {
        unlink(pack->path);
        pack->file = file;
        return true;
    }
    if (file == 0) close(file); // because 0 means no file
    free(pack->cache);
    free(pack->cached);
    pack->cache = NULL;
    pack->cached = NULL;
    return false;
}

static bool write_block(import_pack *pack, size_t n)
{
    const uint8_t *const block = pack->blocks[n];
    for (size_t done = 0; done < BLOCK;) {
        const ssize_t size = pwrite(pack->file, block + done, BLOCK - done,
                                    (off_t)(n * BLOCK + done));
        if (size <= 0) return false;
        done += (size_t)size;
    }
    free(pack->blocks[n]);
    pack->blocks[n] = NULL;
    return true;
}

// Moves the blocks in memory to the file. If that fails, it is not tried again.
static void spill(import_pack *pack)
{
    if (!pack->path || pack->block_count - pack->written < HELD) return;
    bool ok = pack->file || open_file(pack);
    while (ok && pack->written < pack->block_count) {
        ok = write_block(pack, pack->written);
        pack->written += ok;
    }
    if (!ok) pack->path = NULL;
}

static const uint8_t *read_block(import_pack *pack, size_t n)
{
    uint8_t *const block = pack->cache + n % CACHED * BLOCK;
    size_t *const which = &pack->cached[n % CACHED];
    if (*which == n + 1) return block;
    *which = n + 1;
    for (size_t done = 0; done < BLOCK;) {
        const ssize_t size = pread(pack->file, block + done, BLOCK - done,
                                   (off_t)(n * BLOCK + done));
        if (size > 0) {
            done += (size_t)size;
            continue;
        }
        pack->broken = true;
        memset(block + done, 0, BLOCK - done);
        break;
    }
    return block;
}

/* ---- Numbers ------------------------------------------------------------ */

// A number never crosses blocks: one that might not fit begins the next.
static uint64_t place(uint64_t at)
{
    return at % BLOCK > BLOCK - LONGEST ? (at / BLOCK + 1) * BLOCK : at;
}

static bool add_block(import_pack *pack)
{
    spill(pack);
    const size_t n = pack->block_count;
    if (!cli_grow(&pack->blocks, &pack->room, n + 1, sizeof *pack->blocks))
        return false;
    // Zeroed, because the bytes after the last number are written too.
    pack->blocks[n] = calloc(1, BLOCK);
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

uint64_t import_pack_get(import_pack *pack, uint64_t *at)
{
    uint64_t p = place(*at), number = 0;
    if (p / BLOCK >= pack->block_count) { // computed from unreadable bytes
        pack->broken = true;
        return 0;
    }
    const uint8_t *block = pack->blocks[p / BLOCK];
    if (!block) block = read_block(pack, (size_t)(p / BLOCK));
    uint8_t byte;
    int shift = 0;
    do {
        byte = block[p++ % BLOCK];
        number |= (uint64_t)(byte & 127) << shift;
        shift += 7;
    } while (byte & 128 && shift < 64);
    *at = p;
    return number;
}

void import_pack_free(import_pack *pack)
{
    static const import_pack none;
    for (size_t i = pack->written; i < pack->block_count; i++)
        free(pack->blocks[i]);
    free(pack->blocks);
    free(pack->cache);
    free(pack->cached);
    if (pack->file) close(pack->file);
    *pack = none;
}
