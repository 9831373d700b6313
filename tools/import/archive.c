/*
    archive.c - reads archives and compressed files by libarchive
*/
#include "tools/import/archive.h"

#ifdef TRACESMITH_ARCHIVE
#include <archive.h>
#include <archive_entry.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// HEADER: bytes that an entry counts, as in tar.
enum { BLOCK = 64 << 10, NAME = 4096, HEADER = 512 };

struct import_archive {
    import_bytes *stream;
    struct archive *in;
    bool is_open, has_entry, is_ended;
    const uint8_t *part; // of the file, not yet read: `left` bytes
    size_t left;
    uint64_t hole; // zeros before it
    int64_t at;    // in the file
    bool has_error;
    char error[300];
    bool has_name;
    char name[NAME];
    uint8_t block[BLOCK];
};

/* ---- Recognising --------------------------------------------------------- */

// Whether the checksum of a header of tar is right.
static bool is_tar(const uint8_t *block)
{
    uint64_t sum = 0, wanted = 0;
    for (size_t i = 0; i < 512; i++)
        sum += i >= 148 && i < 156 ? ' ' : block[i];
    for (size_t i = 148; i < 156; i++) {
        if (block[i] >= '0' && block[i] <= '7')
            wanted = wanted * 8 + (uint64_t)(block[i] - '0');
        else if (block[i] != ' ' || wanted)
            break;
    }
    return sum == wanted && block[0];
}

typedef struct kind {
    const char *magic;
    size_t size;
    const char *name; // of a compression
    int (*support)(struct archive *in);
} kind;

static const kind kinds[] = {
    { "PK\3\4", 4, NULL, NULL },
    { "7z\xBC\xAF\x27\x1C", 6, NULL, NULL },
    { "\xFD\x37zXZ", 6, "xz", archive_read_support_filter_xz },
    { "\x28\xB5\x2F\xFD", 4, "zstd", archive_read_support_filter_zstd },
    { "BZh", 3, "bzip2", archive_read_support_filter_bzip2 },
    { "\x04\x22\x4D\x18", 4, "lz4", archive_read_support_filter_lz4 },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static bool is_kind(const kind *k, const uint8_t *head, size_t size)
{
    return size >= k->size && !memcmp(head, k->magic, k->size);
}

bool import_archive_begins(const uint8_t *head, size_t size)
{
    for (size_t i = 0; i < KINDS; i++)
        if (is_kind(&kinds[i], head, size)) return true;
    return size >= 512 && is_tar(head);
}

/* ---- What libarchive reads ----------------------------------------------- */

static la_ssize_t give(struct archive *in, void *user, const void **bytes)
{
    import_archive *const a = user;
    (void)in;
    *bytes = a->block;
    return (la_ssize_t)import_bytes_read(a->stream, a->block, BLOCK);
}

static la_int64_t seek(struct archive *in, void *user, la_int64_t at, int from)
{
    import_archive *const a = user;
    (void)in;
    return import_bytes_seek(a->stream, at, from);
}

// Keeps the first reason why reading ended. NULL: what libarchive says.
static bool fail(import_archive *a, const char *why)
{
    const char *const said = a->in && !why ? archive_error_string(a->in) : NULL;
    a->is_ended = true;
    if (a->has_error) return false;
    a->has_error = true;
    if (!why) why = import_bytes_error(a->stream);
    const bool adds = !why && said;
    snprintf(a->error, sizeof a->error, "%s%s%s%s",
             why ? why : "the archive is damaged or truncated",
             adds ? " (libarchive: " : "", adds ? said : "", adds ? ")" : "");
    return false;
}

// A compression that this libarchive lacks would run a program.
static bool is_built_in(const kind *k)
{
    struct archive *const trial = archive_read_new();
    const bool is = trial && k->support(trial) == ARCHIVE_OK;
    archive_read_free(trial);
    return is;
}

static bool set_up(import_archive *a, const uint8_t *head, size_t size)
{
    char why[100];
    for (size_t i = 0; i < KINDS; i++) {
        const kind *const k = &kinds[i];
        if (!k->support) continue;
        if (is_built_in(k)) {
            k->support(a->in);
        } else if (is_kind(k, head, size)) {
            snprintf(why, sizeof why,
                     "it is compressed with %s, and this libarchive was built "
                     "without it; unpack it first",
                     k->name);
            return fail(a, why);
        }
    }
    return archive_read_support_format_tar(a->in) == ARCHIVE_OK &&
           archive_read_support_format_zip(a->in) == ARCHIVE_OK &&
           archive_read_support_format_7zip(a->in) == ARCHIVE_OK &&
           archive_read_support_format_raw(a->in) == ARCHIVE_OK;
}

import_archive *import_archive_open(import_bytes *stream)
{
    import_archive *const a = calloc(1, sizeof *a);
    if (!a) return NULL;
    a->stream = stream;
    a->in = archive_read_new();
    size_t size = IMPORT_ARCHIVE_HEAD;
    const uint8_t *const head = import_bytes_peek(stream, &size);
    a->is_open = a->in && set_up(a, head, size);
    if (!a->is_open) return a;
    archive_read_set_read_callback(a->in, give);
    archive_read_set_callback_data(a->in, a);
    // The others are read from their begin to their end.
    const bool is_listed =
        size >= 2 && (!memcmp(head, "PK", 2) || !memcmp(head, "7z", 2));
    if (is_listed && import_bytes_seek(stream, 0, SEEK_SET) == 0)
        archive_read_set_seek_callback(a->in, seek);
    a->is_open = archive_read_open1(a->in) == ARCHIVE_OK;
    return a;
}

void import_archive_close(import_archive *a)
{
    if (!a) return;
    if (a->in) archive_read_free(a->in);
    free(a);
}

/* ---- Entries ------------------------------------------------------------- */

static void take_name(import_archive *a, struct archive_entry *entry)
{
    const char *name = archive_entry_pathname_utf8(entry);
    if (!name) name = archive_entry_pathname(entry);
    a->has_name = archive_format(a->in) != ARCHIVE_FORMAT_RAW;
    snprintf(a->name, sizeof a->name, "%s", name ? name : "?");
}

const char *import_archive_name(const import_archive *a)
{
    return a->has_name ? a->name : NULL;
}

// Gets the next part of the file, and how many zeros are before it. False: the
// end.
static bool next_part(import_archive *a)
{
    const void *part = NULL;
    la_int64_t at = 0;
    while (a->has_entry && !a->is_ended && !a->left) {
        const int result = archive_read_data_block(a->in, &part, &a->left, &at);
        if (result < ARCHIVE_WARN || at < a->at) fail(a, NULL);
        if (result == ARCHIVE_EOF || a->is_ended) a->left = 0;
        if (result == ARCHIVE_EOF) a->has_entry = false;
    }
    a->part = part;
    a->hole = a->left ? (uint64_t)(at - a->at) : 0;
    return a->left > 0;
}

size_t import_archive_read(import_archive *a, void *bytes, size_t size)
{
    if (!a->left && !next_part(a)) return 0;
    const uint64_t from = a->hole ? a->hole : a->left;
    const size_t got = from < size ? (size_t)from : size;
    if (a->hole) {
        memset(bytes, 0, got);
        a->hole -= got;
    } else {
        memcpy(bytes, a->part, got);
        a->part += got;
        a->left -= got;
    }
    a->at += (int64_t)got;
    if (import_bytes_count(a->stream, got)) return got;
    a->left = 0;
    fail(a, NULL);
    return 0;
}

// What a second compression expands to is not counted before it is skipped.
static bool is_packed_twice(const import_archive *a)
{
    const int format = archive_format(a->in) & ARCHIVE_FORMAT_BASE_MASK;
    const bool packs =
        format == ARCHIVE_FORMAT_ZIP || format == ARCHIVE_FORMAT_7ZIP;
    return archive_filter_count(a->in) > (packs ? 1 : 2);
}

// Moves to the next entry of any kind.
static bool next_entry(import_archive *a, struct archive_entry **entry)
{
    const int result = archive_read_next_header(a->in, entry);
    a->is_ended |= result == ARCHIVE_EOF;
    if (a->is_ended) return false;
    if (result < ARCHIVE_WARN || result == ARCHIVE_RETRY) return fail(a, NULL);
    if (is_packed_twice(a))
        return fail(a, "it is compressed twice; unpack it once first");
    if (!import_bytes_count(a->stream, HEADER)) return fail(a, NULL);
    a->at = 0;
    a->left = 0;
    a->has_entry = true;
    take_name(a, *entry);
    return true;
}

bool import_archive_next(import_archive *a)
{
    struct archive_entry *entry;
    uint8_t rest[16 << 10];
    if (!a->is_open) return fail(a, NULL);
    do {
        // What is skipped is counted, too, whatever it belongs to.
        while (import_archive_read(a, rest, sizeof rest))
            ;
        if (a->is_ended || !next_entry(a, &entry)) return false;
    } while (archive_entry_filetype(entry) != AE_IFREG ||
             archive_entry_hardlink(entry));
    return true;
}

const char *import_archive_error(const import_archive *a)
{
    return a->has_error ? a->error : NULL;
}

#else

bool import_archive_begins(const uint8_t *head, size_t size)
{
    (void)head, (void)size;
    return false;
}

import_archive *import_archive_open(import_bytes *stream)
{
    (void)stream;
    return NULL;
}

void import_archive_close(import_archive *archive)
{
    (void)archive;
}

bool import_archive_next(import_archive *archive)
{
    (void)archive;
    return false;
}

const char *import_archive_name(const import_archive *archive)
{
    (void)archive;
    return NULL;
}

size_t import_archive_read(import_archive *archive, void *bytes, size_t size)
{
    (void)archive, (void)bytes, (void)size;
    return 0;
}

const char *import_archive_error(const import_archive *archive)
{
    (void)archive;
    return NULL;
}

#endif // TRACESMITH_ARCHIVE
