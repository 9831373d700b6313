/*
    test_import_utf16.c - sources in UTF-16 become the same traces as in UTF-8
*/
#include "tests/tools/import/import_fixture.h"
#include "tools/import/utf16.h"
#include <iconv.h>

typedef struct bytes_of_text {
    const uint8_t *bytes;
    size_t size, at, most; // most: bytes of one read
} bytes_of_text;

static size_t next_bytes(void *user, uint8_t *bytes, size_t size)
{
    bytes_of_text *const t = user;
    if (size > t->most) size = t->most;
    if (size > t->size - t->at) size = t->size - t->at;
    memcpy(bytes, t->bytes + t->at, size);
    t->at += size;
    return size;
}

// Reads UTF-16 by pieces of `most` bytes of it and `room` bytes of UTF-8.
static size_t decode(char *to, const void *bytes, size_t size, size_t most,
                     size_t room, bool *is_cut)
{
    bytes_of_text t = { bytes, size, 4, most };
    import_utf16 *const utf16 = import_utf16_open(bytes, 4, next_bytes, &t);
    assert_non_null(utf16);
    size_t done = 0;
    for (size_t got = 1; got; done += got)
        got = import_utf16_read(utf16, (uint8_t *)to + done, room);
    *is_cut = import_utf16_is_cut(utf16);
    import_utf16_close(utf16);
    return done;
}

static void expect(const char *utf8, const void *bytes, size_t size, bool cut)
{
    char to[64];
    bool is_cut;
    for (size_t most = 1; most < 8; most++)
        for (size_t room = 1; room < 8; room++) {
            assert_int_equal(strlen(utf8),
                             decode(to, bytes, size, most, room, &is_cut));
            assert_memory_equal(utf8, to, strlen(utf8));
            assert_int_equal(cut, is_cut);
        }
}

#define EXPECT(utf8, bytes, cut) expect(utf8, bytes, sizeof bytes - 1, cut)

UNIT_TEST(characters_of_all_lengths_are_decoded)
{
    EXPECT("[A\u00e9\u20ac\U0001F600]",
           "[\0A\0\xe9\0\xac\x20\x3d\xd8\x00\xde]\0", false);
    EXPECT("[A\u00e9\u20ac\U0001F600]",
           "\xfe\xff\0[\0A\0\xe9\x20\xac\xd8\x3d\xde\x00\0]", false);
}

UNIT_TEST(half_a_character_is_replaced)
{
    EXPECT("[A\uFFFDB\uFFFDC",
           "[\0A\0\x3d\xd8"
           "B\0\x00\xde"
           "C\0",
           false);
    EXPECT("[A\uFFFD\uFFFD", "[\0A\0\x3d\xd8\x3d\xd8", true);
    EXPECT("[A", "[\0A\0B", true);
}

UNIT_TEST(other_files_are_not_taken_for_it)
{
    static const char *const others[] = { "[{\"p", "SQLi", "\x1f\x8b\x08\0" };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(import_utf16_begins((const uint8_t *)others[i], 4));
    assert_false(import_utf16_begins((const uint8_t *)"[\0\0\0", 4));
    assert_false(import_utf16_begins((const uint8_t *)"\xff\xfe", 2));
}

#ifdef TRACESMITH_YAJL

// The source converted by iconv, in a file or as the member of a tar.
static const char *save_as(const char *code, const char *mark, size_t marks)
{
    static char from[1 << 16], to[4 << 16];
    FILE *const in = fopen("tests/tools/import/kineto/chrome.json", "rb");
    assert_non_null(in);
    char *source = from, *target = to + marks;
    size_t left = fread(from, 1, sizeof from, in), room = sizeof to - marks;
    fclose(in);
    memcpy(to, mark, marks);
    const iconv_t convert = iconv_open(code, "UTF-8");
    assert_int_equal(0, iconv(convert, &source, &left, &target, &room));
    iconv_close(convert);
    const char *const path = fixture_path(0, "wide.json");
    FILE *const out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(1, fwrite(to, (size_t)(target - to), 1, out));
    fclose(out);
    return path;
}

static char *dump_of(const char *path)
{
    imported i = import_into(path, fixture_path(1, "out.sbt"));
    assert_null(import_source_error(i.job->source));
    char *const text = import_dump(&i);
    import_done(&i);
    return text;
}

UNIT_TEST(a_trace_in_utf16_is_the_same_as_in_utf8)
{
    static const struct {
        const char *code, *mark;
        size_t marks;
    } ways[] = { { "UTF-16LE", "", 0 },
                 { "UTF-16BE", "", 0 },
                 { "UTF-16LE", "\xff\xfe", 2 },
                 { "UTF-16BE", "\xfe\xff", 2 } };
    char *const wanted = dump_of("tests/tools/import/kineto/chrome.json");
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char *const text =
            dump_of(save_as(ways[i].code, ways[i].mark, ways[i].marks));
        assert_string_equal(wanted, text);
        free(text);
    }
    free(wanted);
}

// The rows before are there.
UNIT_TEST(a_trace_that_ends_inside_a_character_is_said_to_be_cut)
{
    const char *const path = save_as("UTF-16LE", "", 0);
    FILE *const out = fopen(path, "ab");
    assert_non_null(out);
    fputc('x', out);
    fclose(out);
    imported i = import_into(path, fixture_path(1, "out.sbt"));
    assert_string_equal("the UTF-16 text ends inside a character",
                        import_source_error(i.job->source));
    assert_int_equal(2, i.job->events[TS_EVENT_ZONE]);
    import_done(&i);
}

#endif

int main(void)
{
    return unit_run(fixture_begin, fixture_end);
}
