/*
    pack.c - compresses blocks with zlib and libdeflate

    Each block of a Perfetto trace is a zlib stream of its own, which libdeflate
    writes in half of zlib's time. A gzip file is one stream; libdeflate cannot
    write it in parts, so zlib does. Both use level 1, because an export is
    usually read once and higher levels save at most a tenth.

    Source: RFC 1950 (zlib streams), RFC 1952 (gzip).
*/
#include "tools/export/export.h"
#include <stdlib.h>

#ifdef TRACESMITH_ZLIB
#include <zlib.h>
#ifdef TRACESMITH_DEFLATE
#include <libdeflate.h>
#endif

enum { LEVEL = 1 };

struct export_packer {
    export_packing packing;
    z_stream gzip;
#ifdef TRACESMITH_DEFLATE
    struct libdeflate_compressor *packets;
#endif
};

const bool export_packs = true;

#ifdef TRACESMITH_DEFLATE

static bool open_packets(export_packer *p)
{
    p->packets = libdeflate_alloc_compressor(LEVEL);
    return p->packets != NULL;
}

static size_t packet_bound(const export_packer *p, size_t size)
{
    return libdeflate_zlib_compress_bound(p->packets, size);
}

static size_t pack_packet(export_packer *p, uint8_t *to, size_t most,
                          const export_buffer *from)
{
    return libdeflate_zlib_compress(p->packets, from->data, from->size, to,
                                    most);
}

static void close_packets(export_packer *p)
{
    libdeflate_free_compressor(p->packets);
}

#else

static bool open_packets(export_packer *p)
{
    (void)p;
    return true;
}

static size_t packet_bound(const export_packer *p, size_t size)
{
    (void)p;
    return compressBound(size);
}

static size_t pack_packet(export_packer *p, uint8_t *to, size_t most,
                          const export_buffer *from)
{
    (void)p;
    uLongf size = most;
    return compress2(to, &size, from->data, from->size, LEVEL) ? 0 : size;
}

static void close_packets(export_packer *p)
{
    (void)p;
}

#endif

export_packer *export_packer_open(export_packing packing)
{
    enum { GZIP_HEADER = 16 }; // zlib.h, deflateInit2: added to the window
    export_packer *const p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->packing = packing;
    const bool opened =
        packing == EXPORT_GZIP
            ? deflateInit2(&p->gzip, LEVEL, Z_DEFLATED, GZIP_HEADER + MAX_WBITS,
                           8, Z_DEFAULT_STRATEGY) == Z_OK
            : open_packets(p);
    if (opened) return p;
    free(p);
    return NULL;
}

bool export_pack_packets(export_packer *p, export_buffer *to,
                         const export_buffer *from)
{
    const size_t most = packet_bound(p, from->size);
    const size_t size = pack_packet(p, export_room(to, most), most, from);
    to->size += size;
    return size > 0;
}

void export_pack_gzip(export_packer *p, export_buffer *to,
                      const export_buffer *from, bool last)
{
    z_stream *const z = &p->gzip;
    z->next_in = from->data;
    z->avail_in = (uInt)from->size;
    do {
        z->next_out = export_room(to, EXPORT_BLOCK_BYTES);
        z->avail_out = EXPORT_BLOCK_BYTES;
        deflate(z, last ? Z_FINISH : Z_NO_FLUSH);
        to->size += EXPORT_BLOCK_BYTES - z->avail_out;
    } while (!z->avail_out);
}

void export_packer_close(export_packer *p)
{
    if (!p) return;
    if (p->packing == EXPORT_GZIP)
        deflateEnd(&p->gzip);
    else
        close_packets(p);
    free(p);
}

#else

const bool export_packs = false;

export_packer *export_packer_open(export_packing packing)
{
    (void)packing;
    return NULL;
}

bool export_pack_packets(export_packer *p, export_buffer *to,
                         const export_buffer *from)
{
    (void)p, (void)to, (void)from;
    return false;
}

void export_pack_gzip(export_packer *p, export_buffer *to,
                      const export_buffer *from, bool last)
{
    (void)p, (void)to, (void)from, (void)last;
}

void export_packer_close(export_packer *p)
{
    (void)p;
}

#endif
