/*
    bytes.c - reads a file, unpacked if it is gzip, as UTF-8 if it is UTF-16
*/
#define _POSIX_C_SOURCE 200809L
#include "tools/import/bytes.h"
#include "tools/import/utf16.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef TRACESMITH_ZLIB
#include <zlib.h>
#endif

enum { IN = 256 << 10, OUT = 256 << 10 };

// Limits for unpacked bytes: UNPACKED_FREE plus UNPACKED_RATIO for each packed
// byte. The ratio of traces is about 20; gzip reaches 1,032.
enum { UNPACKED_FREE = 64 << 20, UNPACKED_RATIO = 200 };

// What unpacks: the gzip data of a file, the archive in it, gzip data in that.
// A byte that goes through several counts once in each.
typedef enum layer { WHOLE, ARCHIVE, PART, LAYERS } layer;

struct import_bytes {
    int fd; // -1: use `from`
    size_t (*from)(void *user, void *bytes, size_t size);
    void *user;
    import_bytes *file;        // the file that it is a part of, or itself
    uint64_t unpacked[LAYERS]; // bytes of the file and all of its parts
    bool opened, packed, ended, behind; // behind: the gzip data is complete
    const char *error;
    _Atomic uint64_t done; // also read by the progress bar, on any thread
    uint64_t reached;      // the most of them
    size_t in_at, in_size;
    size_t at, size;    // unpacked bytes that are not consumed yet
    bool is_known;      // whether it is UTF-16
    import_utf16 *wide; // NULL: it is not
    size_t first_at, first_size;
    uint8_t first[IMPORT_UTF16_LOOK]; // which tell
#ifdef TRACESMITH_ZLIB
    z_stream z;
#endif
    uint8_t in[IN], out[OUT];
};

import_bytes *import_bytes_open(int fd)
{
    import_bytes *const s = calloc(1, sizeof *s);
    if (s) s->fd = fd;
    if (s) s->file = s;
    return s;
}

import_bytes *import_bytes_open_from(size_t (*read)(void *user, void *bytes,
                                                    size_t size),
                                     void *user, import_bytes *file)
{
    import_bytes *const s = import_bytes_open(-1);
    if (s) s->file = file;
    if (s) s->from = read;
    if (s) s->user = user;
    return s;
}

void import_bytes_close(import_bytes *s)
{
    if (!s) return;
#ifdef TRACESMITH_ZLIB
    if (s->packed) inflateEnd(&s->z);
#endif
    import_utf16_close(s->wide);
    if (s->fd >= 0) close(s->fd);
    free(s);
}

// Reads raw bytes of the file; 0 at the end.
static size_t take(import_bytes *s, uint8_t *bytes, size_t size)
{
    ssize_t got;
    if (s->from) return s->from(s->user, bytes, size);
    do
        got = read(s->fd, bytes, size);
    while (got < 0 && errno == EINTR);
    if (got < 0 && !s->error) s->error = strerror(errno);
    s->done += got > 0 ? (uint64_t)got : 0;
    if (s->done > s->reached) s->reached = s->done;
    return got > 0 ? (size_t)got : 0;
}

// Counts the unpacked bytes of all parts, because an archive may contain many
// small bombs.
static bool is_bomb(const import_bytes *file)
{
    uint64_t most = 0;
    for (int i = 0; i < LAYERS; i++)
        if (file->unpacked[i] > most) most = file->unpacked[i];
    return most > UNPACKED_FREE &&
           (most - UNPACKED_FREE) / UNPACKED_RATIO > file->reached;
}

#ifdef TRACESMITH_ZLIB
static bool more_input(import_bytes *s)
{
    if (s->in_at < s->in_size) return true;
    s->in_at = 0;
    s->in_size = take(s, s->in, IN);
    return s->in_size > 0;
}

// Returns whether another gzip member begins here; a single byte is none.
static bool is_member(import_bytes *s)
{
    if (s->in_size - s->in_at < 2) {
        memmove(s->in, s->in + s->in_at, s->in_size - s->in_at);
        s->in_size -= s->in_at;
        s->in_at = 0;
        s->in_size += take(s, s->in + s->in_size, IN - s->in_size);
    }
    return s->in_size - s->in_at >= 2 && s->in[s->in_at] == 0x1f &&
           s->in[s->in_at + 1] == 0x8b;
}

static size_t unpack(import_bytes *s, uint8_t *bytes, size_t size)
{
    if (is_bomb(s->file)) {
        s->error = "the gzip data expands to more than 200 times its size, "
                   "which is not plausible for a trace; if you trust it, "
                   "unpack it with gzip -d first";
        return 0;
    }
    s->z.next_out = bytes;
    s->z.avail_out = (uInt)size;
    while (s->z.avail_out == size && !s->behind) {
        if (!more_input(s)) {
            if (!s->error) s->error = "the gzip data is truncated";
            break;
        }
        s->z.next_in = s->in + s->in_at;
        s->z.avail_in = (uInt)(s->in_size - s->in_at);
        const int result = inflate(&s->z, Z_NO_FLUSH);
        s->in_at = s->in_size - s->z.avail_in;
        if (result == Z_STREAM_END) {
            s->behind = !is_member(s) || inflateReset(&s->z) != Z_OK;
        } else if (result != Z_OK && result != Z_BUF_ERROR) {
            s->error = "the gzip data is damaged";
            break;
        }
    }
    s->file->unpacked[s->file == s ? WHOLE : PART] += size - s->z.avail_out;
    return size - s->z.avail_out;
}

static bool begin_unpacking(import_bytes *s)
{
    // 31: gzip with a window of any size.
    s->packed = inflateInit2(&s->z, 31) == Z_OK;
    if (!s->packed) s->error = "out of memory";
    return s->packed;
}
#else
static size_t unpack(import_bytes *s, uint8_t *bytes, size_t size)
{
    (void)s, (void)bytes, (void)size;
    return 0;
}

static bool begin_unpacking(import_bytes *s)
{
    s->error = "it is compressed, but this ts-import was built without zlib";
    return false;
}
#endif

// Determines from the first bytes whether the file is packed.
static bool look(import_bytes *s)
{
    s->opened = true;
    while (s->in_size < 2) {
        const size_t got = take(s, s->in + s->in_size, IN - s->in_size);
        if (!got) break;
        s->in_size += got;
    }
    return s->in_size < 2 || s->in[0] != 0x1f || s->in[1] != 0x8b ||
           begin_unpacking(s);
}

// Reads unpacked bytes, at least one except at the end.
static size_t fetch_unpacked(import_bytes *s, uint8_t *bytes, size_t size)
{
    if (s->ended || (!s->opened && !look(s))) return 0;
    size_t got;
    if (s->packed) {
        got = unpack(s, bytes, size);
    } else if (s->in_at < s->in_size) {
        got = s->in_size - s->in_at;
        if (got > size) got = size;
        memcpy(bytes, s->in + s->in_at, got);
        s->in_at += got;
    } else {
        got = take(s, bytes, size);
    }
    s->ended = !got;
    return got;
}

static size_t fetch_wide(void *user, uint8_t *bytes, size_t size)
{
    return fetch_unpacked(user, bytes, size);
}

// Reads the first bytes, which tell whether it is UTF-16.
static void find_out(import_bytes *s)
{
    size_t got = 1;
    s->is_known = true;
    while (got && s->first_size < sizeof s->first) {
        got = fetch_unpacked(s, s->first + s->first_size,
                             sizeof s->first - s->first_size);
        s->first_size += got;
    }
    if (!import_utf16_begins(s->first, s->first_size)) return;
    s->wide = import_utf16_open(s->first, s->first_size, fetch_wide, s);
    if (!s->wide) s->error = "out of memory";
    s->first_size = 0;
    s->ended |= !s->wide;
}

// Reads into the caller's buffer, at least one byte except at the end.
static size_t fetch(import_bytes *s, uint8_t *bytes, size_t size)
{
    if (!s->is_known) find_out(s);
    const size_t first = s->first_size - s->first_at;
    if (first) {
        const size_t part = first < size ? first : size;
        memcpy(bytes, s->first + s->first_at, part);
        s->first_at += part;
        return part;
    }
    if (!s->wide) return fetch_unpacked(s, bytes, size);
    const size_t got = import_utf16_read(s->wide, bytes, size);
    if (!s->error && import_utf16_is_cut(s->wide))
        s->error = "the UTF-16 text ends inside a character";
    return got;
}

const uint8_t *import_bytes_peek(import_bytes *s, size_t *size)
{
    if (s->at + *size > OUT) {
        memmove(s->out, s->out + s->at, s->size - s->at);
        s->size -= s->at;
        s->at = 0;
    }
    while (s->size - s->at < *size) {
        const size_t got = fetch(s, s->out + s->size, OUT - s->size);
        if (!got) break;
        s->size += got;
    }
    if (*size > s->size - s->at) *size = s->size - s->at;
    return s->out + s->at;
}

size_t import_bytes_read(import_bytes *s, void *bytes, size_t size)
{
    uint8_t *const to = bytes;
    size_t done = s->size - s->at;
    if (done > size) done = size;
    memcpy(to, s->out + s->at, done);
    s->at += done;
    while (done < size) {
        const size_t got = fetch(s, to + done, size - done);
        if (!got) break;
        done += got;
    }
    return done;
}

const char *import_bytes_error(const import_bytes *s)
{
    return s->error;
}

bool import_bytes_is_packed(const import_bytes *s)
{
    return s->packed || s->wide;
}

bool import_bytes_is_coded(const uint8_t *head, size_t size)
{
    return (size >= 2 && head[0] == 0x1f && head[1] == 0x8b) ||
           import_utf16_begins(head, size);
}

uint64_t import_bytes_done(const import_bytes *s)
{
    return s->done;
}

bool import_bytes_count(import_bytes *file, size_t unpacked)
{
    file->unpacked[ARCHIVE] += unpacked;
    if (!is_bomb(file)) return true;
    file->error = "the archive expands to more than 200 times its size, which "
                  "is not plausible for a trace; if you trust it, unpack it "
                  "first";
    return false;
}

int64_t import_bytes_seek(import_bytes *s, int64_t offset, int from)
{
    const int64_t ahead = (int64_t)(s->size - s->at + s->first_size -
                                    s->first_at + s->in_size - s->in_at);
    if (s->fd < 0 || import_bytes_is_packed(s)) return -1;
    if (from == SEEK_CUR) offset -= ahead; // what was read but not consumed
    const int64_t at = lseek(s->fd, (off_t)offset, from);
    if (at < 0) return -1;
    s->at = s->size = s->first_at = s->first_size = s->in_at = s->in_size = 0;
    s->ended = false;
    s->done = (uint64_t)at;
    return at;
}
