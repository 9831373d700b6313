/*
    zstd.h - what the reader calls of libzstd, answered by the page

    Debian has no libzstd for WebAssembly; the page has a decoder of its own.
    Only whole frames are decompressed: nothing that a scene asks for needs the
    beginning of one.

    Source: RFC 8878, section 3.1.1.1 (frame header).
*/
#ifndef TS_TOOLS_STUDIO_WASM_ZSTD_H
#define TS_TOOLS_STUDIO_WASM_ZSTD_H

#include <stddef.h>
#include <stdint.h>

typedef struct ZSTD_DCtx ZSTD_DCtx;

// Returns the decompressed size; SIZE_MAX if the frame is damaged.
__attribute__((import_module("page"), import_name("inflate"))) size_t
page_inflate(void *to, size_t room, const void *from, size_t size);

// The least that the reader's allocator gives: a context has no contents.
static inline size_t ZSTD_estimateDCtxSize(void)
{
    return 8;
}

// Returns `memory` as the context; NULL if it is empty.
static inline ZSTD_DCtx *ZSTD_initStaticDCtx(void *memory, size_t size)
{
    return size ? memory : NULL;
}

// Whether a size stands for an error, as in libzstd.
static inline unsigned ZSTD_isError(size_t result)
{
    return result > SIZE_MAX - 120;
}

// As 64 bits: the size of the contents that the header of a frame states.
static inline unsigned long long ZSTD_getFrameContentSize(const void *frame,
                                                          size_t size)
{
    static const uint8_t dictionary[4] = { 0, 1, 2, 4 };
    const uint8_t *const b = frame;
    if (size < 6 || b[0] != 0x28 || b[1] != 0xB5 || b[2] != 0x2F ||
        b[3] != 0xFD)
        return UINT64_MAX;
    const int single = b[4] >> 5 & 1, code = b[4] >> 6;
    const size_t bytes = code ? (size_t)1 << code : (size_t)single;
    const size_t at = 5 + (size_t)!single + dictionary[b[4] & 3];
    unsigned long long content = code == 1 ? 256 : 0;
    if (!bytes || at + bytes > size) return UINT64_MAX;
    for (size_t i = 0; i < bytes; i++)
        content += (unsigned long long)b[at + i] << 8 * i;
    return content;
}

// Decompresses a whole frame with the page's decoder. Error: SIZE_MAX.
static inline size_t ZSTD_decompressDCtx(ZSTD_DCtx *context, void *to,
                                         size_t room, const void *from,
                                         size_t size)
{
    (void)context;
    return page_inflate(to, room, from, size);
}

// Refuses to decompress the beginning of a frame: always an error.
static inline size_t ZSTD_decompressBegin(ZSTD_DCtx *context)
{
    (void)context;
    return SIZE_MAX;
}

// Never called, because ZSTD_decompressBegin fails.
static inline size_t ZSTD_nextSrcSizeToDecompress(ZSTD_DCtx *context)
{
    (void)context;
    return 0;
}

// Never called, because ZSTD_decompressBegin fails.
static inline size_t ZSTD_decompressContinue(ZSTD_DCtx *context, void *to,
                                             size_t room, const void *from,
                                             size_t size)
{
    (void)context, (void)to, (void)room, (void)from, (void)size;
    return SIZE_MAX;
}

#endif // TS_TOOLS_STUDIO_WASM_ZSTD_H
