/*
    hip/bundle.h - unpacks compressed bundles of code objects

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: libz.so.1 and libzstd.so.1, found when a bundle needs
                    one: programs that have no such bundles need neither.
    Checked with:   zlib 1.2.13 and zstd 1.5.4, bundles of
                    tests/backends/hip/test_hip_code.c. November 2026. Not
                    with one of a compiler for GPUs.

    Unpacks a bundle as compilers compress it since ROCm 6: a header in one
    of three versions, then a stream of zlib or zstd. Nothing is trusted:
    what becomes larger than the header says, or than 1 GiB, is refused. The
    header's hash is not compared: it is one of the compiler's own.

    Source: LLVM, documents of clang-offload-bundler; RFC 1950, RFC 8878.

    CONTENTS                            search for "==== 2." to jump
        1. Headers
        2. Streams
        3. Bundles
*/
#ifndef TS__HIP_BUNDLE_H
#define TS__HIP_BUNDLE_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ==== 1. Headers ========================================================= */

enum { TS__AMD_ZLIB = 0, TS__AMD_ZSTD = 1, TS__AMD_UNPACKED = 1 << 30 };

typedef struct ts__amd_packed {
    uint32_t method;
    // bytes; file: size of the whole file, 0: unknown.
    uint64_t header, file, unpacked;
} ts__amd_packed;

// Reads a header: magic "CCOB", version and method (2 bytes each), size of the
// file (since version 2), unpacked size, hash (8 bytes). Sizes have 4 bytes,
// since version 3 8 bytes. Returns false if it is no header or of a newer
// version.
static inline bool ts__amd_packed_read(ts__amd_packed *p, const void *bytes,
                                       uint64_t size)
{
    const uint8_t *const from = (const uint8_t *)bytes;
    uint16_t head[2];
    if (size < 8 || memcmp(from, "CCOB", 4) != 0) return false;
    memcpy(head, from + 4, sizeof head);
    const uint64_t wide = head[0] >= 3 ? 8 : 4;
    memset(p, 0, sizeof *p);
    p->method = head[1];
    p->header = 8 + wide * (head[0] == 1 ? 1 : 2) + 8;
    if (!head[0] || head[0] > 3 || head[1] > TS__AMD_ZSTD || size < p->header)
        return false;
    // little-endian, as AMD's hosts are
    memcpy(&p->unpacked, from + p->header - 8 - wide, (size_t)wide);
    if (head[0] > 1) memcpy(&p->file, from + 8, (size_t)wide);
    return p->unpacked && p->unpacked <= TS__AMD_UNPACKED &&
           (head[0] == 1 || (p->file > p->header && p->file <= size));
}

/* ==== 2. Streams ========================================================= */

typedef struct ts__amd_stream { // the remaining input and output
    const uint8_t *from;
    uint64_t left;
    uint8_t *to;
    uint64_t room;
} ts__amd_stream;

// The library is not unloaded, because a program may have hundreds of bundles.
static inline bool ts__amd_find(const char *library, const char *const *names,
                                void **found, int count)
{
    void *const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    for (int i = 0; handle && i < count; i++)
        found[i] = dlsym(handle, names[i]);
    for (int i = 0; handle && i < count; i++)
        if (!found[i]) return false;
    return handle != NULL;
}

// Returns the number of bytes for the next step: up to the end of a page. The
// end of the stream may be unknown, and the page after it unmapped; so a page
// is read only if the stream continues in it.
static inline uint64_t ts__amd_step(const ts__amd_stream *s)
{
    const uint64_t page = 4096 - ((uintptr_t)s->from & 4095);
    return page < s->left ? page : s->left;
}

// Unpacks with zlib. Returns true if the stream ended and filled the output.
// Source: zlib.h of zlib 1.2.
static inline bool ts__amd_inflate(ts__amd_stream *s)
{
    static const char *const names[] = { "inflateInit_", "inflate",
                                         "inflateEnd" };
    struct { // z_stream
        const uint8_t *in;
        uint32_t in_left;
        unsigned long in_all;
        uint8_t *out;
        uint32_t out_left;
        unsigned long out_all;
        const char *message;
        void *more[4]; // NULL: the default allocator
        int type;
        unsigned long check, unused;
    } z;
    int (*init)(void *, const char *, int), (*work)(void *, int);
    int (*end)(void *), result = 0;
    void *found[3];
    if (!ts__amd_find("libz.so.1", names, found, 3)) return false;
    memcpy(&init, &found[0], sizeof init);
    memcpy(&work, &found[1], sizeof work);
    memcpy(&end, &found[2], sizeof end);
    memset(&z, 0, sizeof z);
    if (init(&z, "1", (int)sizeof z) != 0) return false;
    z.out = s->to;
    z.out_left = (uint32_t)s->room;
    while (!result && s->left) {
        const uint64_t step = ts__amd_step(s);
        z.in = s->from;
        z.in_left = (uint32_t)step;
        result = work(&z, 0);
        s->from += step - z.in_left;
        s->left -= step - z.in_left;
        if (z.in_left && !result) break; // the output is full
    }
    s->room = z.out_left;
    end(&z);
    return result == 1 && !s->room; // Z_STREAM_END
}

// The same with zstd.
// Source: zstd.h of zstd 1.4.
static inline bool ts__amd_zstd(ts__amd_stream *s)
{
    static const char *const names[] = { "ZSTD_createDStream",
                                         "ZSTD_decompressStream",
                                         "ZSTD_freeDStream" };
    typedef struct { // ZSTD_inBuffer and ZSTD_outBuffer
        const void *bytes;
        size_t size, at;
    } buffer;
    void *(*create)(void);
    size_t (*work)(void *, buffer *, buffer *), (*end)(void *), more = 1;
    void *found[3];
    if (!ts__amd_find("libzstd.so.1", names, found, 3)) return false;
    memcpy(&create, &found[0], sizeof create);
    memcpy(&work, &found[1], sizeof work);
    memcpy(&end, &found[2], sizeof end);
    void *const z = create();
    buffer out = { s->to, (size_t)s->room, 0 };
    // Zstd returns errors as size_t values near the maximum.
    while (z && s->left && more && more < (size_t)-128) {
        buffer in = { s->from, (size_t)ts__amd_step(s), 0 };
        const size_t before = out.at;
        more = work(z, &out, &in);
        if (!in.at && out.at == before) break; // the output is full
        s->from += in.at;
        s->left -= in.at;
    }
    s->room -= out.at;
    if (z) end(z);
    return z && !more && !s->room;
}

/* ==== 3. Bundles ========================================================= */

// Unpacks a compressed bundle of at most `size` bytes. Returns NULL if it is
// none, is damaged, or the library for its method is missing. The caller frees
// the result with free().
static inline uint8_t *ts__amd_unpack(const void *bytes, uint64_t size,
                                      uint64_t *unpacked)
{
    ts__amd_packed p;
    if (!ts__amd_packed_read(&p, bytes, size)) return NULL;
    uint8_t *const to = (uint8_t *)malloc((size_t)p.unpacked);
    ts__amd_stream s = { (const uint8_t *)bytes + p.header,
                         (p.file ? p.file : size) - p.header, to, p.unpacked };
    const bool done = to && (p.method == TS__AMD_ZLIB ? ts__amd_inflate(&s)
                                                      : ts__amd_zstd(&s));
    *unpacked = p.unpacked;
    if (done) return to;
    free(to);
    return NULL;
}

#endif // TS__HIP_BUNDLE_H
