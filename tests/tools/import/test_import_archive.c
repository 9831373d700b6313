/*
    test_import_archive.c - archives and compressed files are read by libarchive

    They are written by libarchive, too. Those of other programs are read by the
    check import (tests/checks/import/archives.py).
*/
#define _GNU_SOURCE
#include "tests/tools/import/built_without.h"
#include "tests/tools/import/import_fixture.h"
#include "tools/import/archive.h"
#include "tools/import/import.h"

#ifdef TRACESMITH_ARCHIVE
#include <archive.h>
#include <archive_entry.h>
#include <dlfcn.h>
#include <fcntl.h>

typedef int choose(struct archive *out);

static struct archive *begin_filtered(const char *path, choose *format,
                                      choose *filter, choose *second)
{
    struct archive *const out = archive_write_new();
    assert_int_equal(ARCHIVE_OK, format(out));
    if (filter) assert_int_equal(ARCHIVE_OK, filter(out));
    if (second) assert_int_equal(ARCHIVE_OK, second(out));
    assert_int_equal(ARCHIVE_OK, archive_write_open_filename(out, path));
    return out;
}

static struct archive *begin(const char *path, choose *format, choose *filter)
{
    return begin_filtered(path, format, filter, NULL);
}

static void add_kind(struct archive *out, const char *name, unsigned kind,
                     const void *bytes, size_t size)
{
    struct archive_entry *const entry = archive_entry_new();
    archive_entry_set_pathname(entry, name);
    archive_entry_set_filetype(entry, kind);
    archive_entry_set_size(entry, (la_int64_t)size);
    archive_entry_set_perm(entry, 0644);
    if (kind == AE_IFLNK) archive_entry_set_symlink(entry, "/etc/passwd");
    assert_int_equal(ARCHIVE_OK, archive_write_header(out, entry));
    if (size) assert_int_equal(size, archive_write_data(out, bytes, size));
    archive_entry_free(entry);
}

static void add(struct archive *out, const char *name, const char *text)
{
    add_kind(out, name, AE_IFREG, text, strlen(text));
}

static void end(struct archive *out)
{
    assert_int_equal(ARCHIVE_OK, archive_write_close(out));
    archive_write_free(out);
}

// The sources of a file, a line each: their names and contents; then the count
// of failures.
static const char *read_all(const char *path)
{
    static char text[4096];
    size_t size = 0;
    import_input *const input = import_input_open(&fixture_tool, path);
    assert_non_null(input);
    for (import_source *s; (s = import_input_next(input));) {
        char bytes[256];
        const size_t got = import_source_read(s, bytes, sizeof bytes);
        size += (size_t)snprintf(text + size, sizeof text - size, "%s=%.*s%s\n",
                                 import_source_base(s), (int)got, bytes,
                                 import_source_error(s) ? "!" : "");
    }
    snprintf(text + size, sizeof text - size, "%zu", import_input_close(input));
    return text;
}

/* ---- Tests --------------------------------------------------------------- */

UNIT_TEST(every_archive_gives_its_files_in_order)
{
    static choose *const formats[] = { archive_write_set_format_ustar,
                                       archive_write_set_format_pax,
                                       archive_write_set_format_gnutar,
                                       archive_write_set_format_zip,
                                       archive_write_set_format_7zip };
    static choose *const filters[] = { NULL,
                                       archive_write_add_filter_gzip,
                                       archive_write_add_filter_xz,
                                       archive_write_add_filter_zstd,
                                       archive_write_add_filter_bzip2,
                                       archive_write_add_filter_lz4 };
    const char *const path = fixture_path(0, "archive");
    for (size_t f = 0; f < 5; f++)
        for (size_t k = 0; k < (f < 3 ? 6 : 1); k++) {
            struct archive *const out = begin(path, formats[f], filters[k]);
            add(out, "rank0.json", "zero");
            add(out, "folder/rank1.json", "one");
            end(out);
            assert_string_equal("rank0.json=zero\nrank1.json=one\n0",
                                read_all(path));
        }
}

// A file that is compressed is that file, and its text may be UTF-16.
UNIT_TEST(a_compressed_file_is_read_as_the_file)
{
    static choose *const filters[] = { archive_write_add_filter_xz,
                                       archive_write_add_filter_zstd,
                                       archive_write_add_filter_bzip2,
                                       archive_write_add_filter_lz4 };
    const char *const path = fixture_path(0, "run.json.packed");
    for (size_t k = 0; k < 4; k++) {
        struct archive *out =
            begin(path, archive_write_set_format_raw, filters[k]);
        add(out, "ignored", "{\"traceEvents\": []}");
        end(out);
        assert_string_equal("run.json.packed={\"traceEvents\": []}\n0",
                            read_all(path));
        out = begin(path, archive_write_set_format_raw, filters[k]);
        add_kind(out, "ignored", AE_IFREG, "\xFF\xFE{\0}\0", 6);
        end(out);
        assert_string_equal("run.json.packed={}\n0", read_all(path));
    }
}

// Names are for messages; what is no regular file is passed over.
UNIT_TEST(names_and_links_lead_nowhere)
{
    const char *const path = fixture_path(0, "hostile.tar");
    struct archive *const out =
        begin(path, archive_write_set_format_pax, archive_write_add_filter_xz);
    add(out, "../../../tmp/escaped.json", "up");
    add(out, "/etc/absolute.json", "root");
    add_kind(out, "link.json", AE_IFLNK, NULL, 0);
    add_kind(out, "folder/", AE_IFDIR, NULL, 0);
    add_kind(out, "pipe", AE_IFIFO, NULL, 0);
    add(out, "last.json", "end");
    end(out);
    assert_string_equal("escaped.json=up\nabsolute.json=root\nlast.json=end\n0",
                        read_all(path));
    assert_int_equal(-1, access("/tmp/escaped.json", F_OK));
}

// Entries that nobody wants count, too: they are unpacked to get behind them.
UNIT_TEST(what_expands_to_more_than_any_trace_is_refused)
{
    enum { SIZE = 160 << 20 };
    char *const zeros = calloc(1, SIZE);
    const char *const path = fixture_path(0, "bomb.tar");
    struct archive *const out = begin(path, archive_write_set_format_ustar,
                                      archive_write_add_filter_zstd);
    assert_non_null(zeros);
    add_kind(out, "bomb", AE_IFREG, zeros, SIZE);
    add(out, "behind.json", "{}");
    end(out);
    free(zeros);
    import_input *const input = import_input_open(&fixture_tool, path);
    assert_non_null(import_input_next(input));
    assert_null(import_input_next(input));
    assert_int_equal(1, import_input_close(input));
}

// Returns why reading a file ended, after `count` regular files.
static const char *error_of(const char *path, size_t count)
{
    static char why[400];
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    import_bytes *const stream = import_bytes_open(fd);
    import_archive *const a = import_archive_open(stream);
    assert_non_null(a);
    while (import_archive_next(a))
        count--;
    assert_int_equal(0, count);
    const char *const error = import_archive_error(a);
    snprintf(why, sizeof why, "%s", error ? error : "");
    import_archive_close(a);
    import_bytes_close(stream);
    return why;
}

#define BOMB \
    "the archive expands to more than 200 times its size, which is not " \
    "plausible for a trace; if you trust it, unpack it first"

// Makes tar's header of an entry; `size` bytes follow.
static void make_header(char *block, char type, unsigned long long size)
{
    unsigned sum = 0;
    memset(block, 0, 512);
    memcpy(block, "x", 2);
    memcpy(block + 100, "0000644", 8);
    snprintf(block + 124, 13, "%012llo", size);
    memset(block + 148, ' ', 8);
    block[156] = type;
    memcpy(block + 157, "y", 2);
    memcpy(block + 257, "ustar\00000", 8);
    for (size_t i = 0; i < 512; i++)
        sum += (unsigned char)block[i];
    snprintf(block + 148, 8, "%06o", sum);
}

// A hard link of pax may have them.
UNIT_TEST(data_of_what_is_no_file_counts)
{
    enum { SIZE = 160 << 20, WHOLE = 3 * 512 + SIZE + 1024 };
    char *const tar = calloc(1, WHOLE);
    const char *const path = fixture_path(0, "bomb.tar.bz2");
    struct archive *const out = begin(path, archive_write_set_format_raw,
                                      archive_write_add_filter_bzip2);
    assert_non_null(tar);
    make_header(tar, 'x', 12);
    memcpy(tar + 512, "12 path=abc\n", 12);
    make_header(tar + 1024, '1', SIZE);
    add_kind(out, "-", AE_IFREG, tar, WHOLE);
    end(out);
    free(tar);
    assert_string_equal(BOMB, error_of(path, 0));
}

// Entries without data: 200,000 links in some kilobytes.
UNIT_TEST(entries_count_as_such)
{
    enum { COUNT = 200000 };
    char block[512];
    const char *const path = fixture_path(0, "bomb.tar.xz");
    struct archive *const out =
        begin(path, archive_write_set_format_raw, archive_write_add_filter_xz);
    char *const tar = malloc(COUNT * sizeof block);
    assert_non_null(tar);
    make_header(block, '2', 0);
    for (size_t i = 0; i < COUNT; i++)
        memcpy(tar + i * sizeof block, block, sizeof block);
    add_kind(out, "-", AE_IFREG, tar, COUNT * sizeof block);
    end(out);
    free(tar);
    assert_string_equal(BOMB, error_of(path, 0));
}

UNIT_TEST(what_is_compressed_twice_is_refused)
{
    static choose *const formats[] = { archive_write_set_format_ustar,
                                       archive_write_set_format_raw,
                                       archive_write_set_format_zip };
    const char *const path = fixture_path(0, "twice");
    for (size_t f = 0; f < 3; f++) {
        struct archive *const out =
            begin_filtered(path, formats[f], archive_write_add_filter_xz,
                           f < 2 ? archive_write_add_filter_bzip2 : NULL);
        add(out, "rank0.json", "{}");
        end(out);
        assert_string_equal("it is compressed twice; unpack it once first",
                            error_of(path, 0));
    }
}

/* ---- A libarchive that lacks a compression ------------------------------- */

static bool lacks_lz4;

// Takes the place of libarchive's.
int archive_read_support_filter_lz4(struct archive *in)
{
    int (*support)(struct archive *);
    if (lacks_lz4) return ARCHIVE_WARN;
    void *const found = dlsym(RTLD_NEXT, "archive_read_support_filter_lz4");
    memcpy(&support, &found, sizeof support);
    return support(in);
}

UNIT_TEST(what_this_libarchive_lacks_is_said)
{
    const char *const path = fixture_path(0, "rank0.json.lz4");
    struct archive *out =
        begin(path, archive_write_set_format_raw, archive_write_add_filter_lz4);
    add(out, "-", "{}");
    end(out);
    assert_string_equal("", error_of(path, 1));
    lacks_lz4 = true;
    assert_string_equal("it is compressed with lz4, and this libarchive was "
                        "built without it; unpack it first",
                        error_of(path, 0));
    out = begin(path, archive_write_set_format_ustar,
                archive_write_add_filter_xz);
    add(out, "rank0.json", "{}");
    end(out);
    assert_string_equal("", error_of(path, 1)); // the others are read
    lacks_lz4 = false;
}

// Whatever is cut or changed, it ends, and says so if something is missing.
UNIT_TEST(a_cut_archive_is_reported)
{
    static choose *const formats[] = { archive_write_set_format_ustar,
                                       archive_write_set_format_zip,
                                       archive_write_set_format_7zip };
    const char *const path = fixture_path(0, "whole");
    char bytes[8192];
    for (size_t f = 0; f < 3; f++) {
        struct archive *const out =
            begin(path, formats[f], f ? NULL : archive_write_add_filter_xz);
        add(out, "rank0.json", "zero");
        add(out, "rank1.json", "one");
        end(out);
        FILE *file = fopen(path, "rb");
        const size_t size = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        for (size_t cut = 8; cut < size - 40; cut += 11) {
            const char *const part = fixture_path(1, "part");
            file = fopen(part, "wb");
            assert_int_equal(cut, fwrite(bytes, 1, cut, file));
            fclose(file);
            const char *const read = read_all(part);
            const bool is_whole =
                strstr(read, "=zero\n") && strstr(read, "=one\n");
            assert_true(is_whole || read[strlen(read) - 1] == '1');
        }
    }
}

int main(void)
{
    return unit_run(fixture_begin, fixture_end);
}

#else
BUILT_WITHOUT("libarchive")
#endif
