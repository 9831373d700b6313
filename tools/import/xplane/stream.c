/*
    stream.c - reading protobuf from a file, a field at a time
*/
#include "tools/import/xplane/stream.h"
#include "tools/import/wire.h"

bool xplane_open(xplane_stream *s, const char *path)
{
    memset(s, 0, sizeof *s);
    s->in = fopen(path, "rbe");
    if (!s->in || fseeko(s->in, 0, SEEK_END)) return false;
    const off_t size = ftello(s->in);
    s->size = size > 0 ? (uint64_t)size : 0;
    return true;
}

void xplane_close(xplane_stream *s)
{
    if (s->in) fclose(s->in);
    s->in = NULL;
}

void xplane_seek(xplane_stream *s, uint64_t at)
{
    s->at = at < s->size ? at : s->size;
}

// Loads the block at s->at; false at the end.
static bool load(xplane_stream *s)
{
    if (s->at >= s->size || s->is_damaged) return false;
    s->block_at = s->at;
    s->block_size = 0;
    if (fseeko(s->in, (off_t)s->at, SEEK_SET) == 0)
        s->block_size = fread(s->block, 1, sizeof s->block, s->in);
    s->is_damaged = !s->block_size; // shorter than it was
    return s->block_size > 0;
}

size_t xplane_read(xplane_stream *s, void *bytes, size_t size)
{
    size_t done = 0;
    while (done < size) {
        const bool is_loaded =
            s->at >= s->block_at && s->at - s->block_at < s->block_size;
        if (!is_loaded && !load(s)) break;
        const size_t from = (size_t)(s->at - s->block_at);
        const size_t left = s->block_size - from;
        const size_t part = size - done < left ? size - done : left;
        memcpy((char *)bytes + done, s->block + from, part);
        s->at += part;
        done += part;
    }
    return done;
}

static bool read_varint(xplane_stream *s, uint64_t *value)
{
    *value = 0;
    for (uint32_t shift = 0; shift < 64; shift += 7) {
        uint8_t byte;
        if (!xplane_read(s, &byte, 1)) return false;
        *value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

static bool read_fixed(xplane_stream *s, size_t size, uint64_t *value)
{
    uint8_t bytes[8];
    *value = 0;
    if (xplane_read(s, bytes, size) < size) return false;
    for (size_t i = 0; i < size; i++)
        *value |= (uint64_t)bytes[i] << 8 * i;
    return true;
}

bool xplane_field_next(xplane_stream *s, uint64_t end, xplane_field *f)
{
    uint64_t tag;
    if (s->at >= end || s->is_damaged) return false;
    bool good = read_varint(s, &tag) && tag >> 3;
    f->number = tag >> 3;
    f->type = tag & 7;
    if (good)
        good = f->type == IMPORT_VARINT    ? read_varint(s, &f->value)
               : f->type == IMPORT_FIXED64 ? read_fixed(s, 8, &f->value)
               : f->type == IMPORT_FIXED32
                   ? read_fixed(s, 4, &f->value)
                   : f->type == IMPORT_BYTES && read_varint(s, &f->value);
    good = good && s->at <= end;
    f->end = s->at;
    if (good && f->type == IMPORT_BYTES) {
        good = f->value <= end - s->at;
        f->end = s->at + f->value;
    }
    s->is_damaged |= !good;
    return good;
}
