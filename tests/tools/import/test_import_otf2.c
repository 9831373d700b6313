/*
    test_import_otf2.c - archives of OTF2 become zones, operations, counters

    The archives were written by the module of OTF2 for Python, see
    tests/checks/import/otf2.py.
*/
#include "tests/tools/import/import_fixture.h"
#include "tools/import/import.h"
#include <fcntl.h>
#ifdef TRACESMITH_ZLIB
#include <zlib.h>
#endif

extern const import_format import_otf2;

#ifdef TRACESMITH_OTF2
enum { BYTES = 4096 };
static const char *const files[] = { "traces.otf2",  "traces.def",
                                     "traces/0.def", "traces/0.evt",
                                     "traces/1.def", "traces/1.evt",
                                     "traces/2.def", "traces/2.evt" };
enum { FILES = sizeof files / sizeof *files };

// A copy of an archive, apart from the outputs.
static const char *copy_of(const char *name)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/otf2/%s", fixture_folder, name);
    return path;
}

static size_t load(const char *from, uint8_t *bytes)
{
    FILE *const in = fopen(from, "rb");
    assert_non_null(in);
    const size_t size = fread(bytes, 1, BYTES, in);
    assert_in_range(size, 1, BYTES - 1);
    fclose(in);
    return size;
}

static void save(const char *name, const uint8_t *bytes, size_t size)
{
    FILE *const out = fopen(copy_of(name), "wb");
    assert_non_null(out);
    assert_int_equal(size, fwrite(bytes, 1, size, out));
    assert_int_equal(0, fclose(out));
}

static size_t load_file(const char *archive, size_t file, uint8_t *bytes)
{
    char path[300];
    snprintf(path, sizeof path, "tests/tools/import/otf2/%s/%s", archive,
             files[file]);
    return load(path, bytes);
}

static void copy(const char *archive)
{
    uint8_t bytes[BYTES];
    for (size_t i = 0; i < FILES; i++)
        save(files[i], bytes, load_file(archive, i, bytes));
}

#define HERE "tests/tools/import/otf2/"

UNIT_TEST(regions_messages_metrics_and_copies_are_kept)
{
    import_expect_text(HERE "rounds/traces.otf2", HERE "rounds.txt");
}

UNIT_TEST(what_is_odd_is_kept_or_counted)
{
    import_expect_text(HERE "odd/traces.otf2", HERE "odd.txt");
}

UNIT_TEST(the_clock_gives_unix_time)
{
    imported i = import_into(HERE "rounds/traces.otf2", fixture_path(1, "o"));
    assert_true(i.job->has_unix_offset);
    assert_in_range(i.job->unix_offset_ns, INT64_C(1700000000000000000),
                    INT64_MAX);
    assert_int_equal(IMPORT_NONE, i.job->rank);
    import_done(&i);
}

// The other locations are read.
UNIT_TEST(a_file_of_events_that_is_cut_or_missing_spoils_no_other)
{
    uint8_t bytes[BYTES];
    copy("rounds");
    const size_t size = load_file("rounds", 5, bytes);
    save(files[5], bytes, size / 2);
    imported i = import_into(copy_of("traces.otf2"), fixture_path(1, "o"));
    assert_true(i.job->is_cut);
    assert_in_range(import_tallied(&i.job->bad, "missing_event"), 1, 20);
    assert_int_equal(1, i.job->events[TS_EVENT_KERNEL]);
    assert_int_equal(1, i.job->events[TS_EVENT_API_CALL]);
    assert_int_equal(0, i.job->events[TS_EVENT_FLOW]);
    assert_int_equal(
        2, import_tallied(&i.job->unowned, "message that matches no other"));
    import_done(&i);
    unlink(copy_of(files[7]));
    i = import_into(copy_of("traces.otf2"), fixture_path(1, "o"));
    assert_int_equal(0, i.job->events[TS_EVENT_KERNEL]);
    assert_int_equal(1, i.job->events[TS_EVENT_API_CALL]);
    import_done(&i);
}

UNIT_TEST(definitions_that_are_damaged_are_refused)
{
    uint8_t bytes[BYTES];
    copy("rounds");
    save(files[1], bytes, load_file("rounds", 1, bytes) / 2);
    char *const text = import_refused(copy_of("traces.otf2"));
    assert_non_null(strstr(text, "the library of OTF2 cannot read it: "));
    free(text);
}

// Any byte may be any other.
UNIT_TEST(damage_anywhere_ends_in_a_trace_or_a_sentence)
{
    uint8_t bytes[BYTES];
    const int old = dup(STDERR_FILENO), none = open("/dev/null", O_WRONLY);
    assert_int_equal(STDERR_FILENO, dup2(none, STDERR_FILENO));
    for (size_t file = 0; file < FILES; file++) {
        const size_t size = load_file("rounds", file, bytes);
        for (size_t at = 8 + file % 3; at < size; at += 23) {
            copy("rounds");
            bytes[at] ^= at & 1 ? 0xFF : 1;
            save(files[file], bytes, at % 4 ? size : at);
            imported i =
                import_into(copy_of("traces.otf2"), fixture_path(1, "o"));
            import_done(&i);
            bytes[at] ^= at & 1 ? 0xFF : 1;
        }
    }
    dup2(old, STDERR_FILENO);
    close(none);
    close(old);
}

UNIT_TEST(an_anchor_alone_is_refused)
{
    uint8_t bytes[BYTES];
    const size_t size = load_file("rounds", 0, bytes);
    char *const text = import_refused(fixture_save(bytes, size));
    assert_non_null(
        strstr(text, "it is the anchor of an OTF2 archive, whose other files "
                     "are not beside it: unpack the archive, and import the "
                     "file NAME.otf2\n"));
    free(text);
}

#ifdef TRACESMITH_ZLIB
UNIT_TEST(a_packed_anchor_is_refused)
{
    uint8_t bytes[BYTES];
    const size_t size = load_file("rounds", 0, bytes);
    copy("rounds");
    gzFile out = gzopen(copy_of("traces.otf2"), "wb");
    assert_non_null(out);
    assert_int_equal(size, gzwrite(out, bytes, (unsigned)size));
    assert_int_equal(Z_OK, gzclose(out));
    char *const text = import_refused(copy_of("traces.otf2"));
    assert_non_null(strstr(text, "are not beside it"));
    free(text);
}
#endif

static int begin(void **state)
{
    return fixture_begin(state) || mkdir(copy_of(""), 0700) ||
           mkdir(copy_of("traces"), 0700);
}

static int end(void **state)
{
    for (size_t i = 0; i < FILES; i++)
        unlink(copy_of(files[i]));
    return rmdir(copy_of("traces")) || rmdir(copy_of("")) || fixture_end(state);
}
#else
UNIT_TEST(without_its_library_otf2_is_named)
{
    const char *const path = "tests/tools/import/otf2/odd/traces.otf2";
    import_input *const input = import_input_open(&fixture_tool, path);
    assert_non_null(input);
    assert_true(import_otf2.recognise(import_input_next(input)));
    import_input_close(input);
    assert_string_equal(
        "the library of OTF2, 3.0 or later (libopen-trace-format2-dev)",
        import_otf2.missing);
}

static int begin(void **state)
{
    return fixture_begin(state);
}

static int end(void **state)
{
    return fixture_end(state);
}
#endif

int main(void)
{
    return unit_run(begin, end);
}
