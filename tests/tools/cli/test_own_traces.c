// Which traces may run code without --trust: those on the user's own list.
#define _GNU_SOURCE
#include "tools/cut/cut.h"

#include "tests/tools/merge/merge_forge.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

static char state[64];

static char *within(const char *part)
{
    static char paths[4][128];
    static int next;
    char *const path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", state, part);
    return path;
}

static void make_trace(const char *name)
{
    const ts_writer_desc desc = { .path = path_of(name), .process = 77 };
    const made plain = { .rank = -1 };
    ts_writer *w;
    assert_int_equal(TS_OK, ts_writer_open(&w, &desc));
    put_tracks(w, &plain);
    assert_int_equal(TS_OK, ts_writer_close(w));
    assert_int_equal(0, chmod(path_of(name), 0644));
}

static bool is_own(const char *name)
{
    const ts_reader_desc desc = { .path = path_of(name) };
    ts_reader *reader;
    assert_int_equal(TS_OK, ts_reader_open(&reader, &desc));
    const bool own = cli_trace_is_own(reader);
    ts_reader_close(reader);
    return own;
}

static void copy_bytes(const char *from, const char *to, size_t flipped)
{
    static char bytes[1 << 16];
    FILE *in = fopen(path_of(from), "rb"), *out = fopen(path_of(to), "wb");
    const size_t size = fread(bytes, 1, sizeof bytes, in);
    if (flipped) bytes[flipped] ^= 1;
    assert_int_equal(size, fwrite(bytes, 1, size, out));
    fclose(in);
    fclose(out);
}

// Empties the list, and lets it begin as it should.
static int begin(void **unused)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s' && mkdir -m 700 '%s'", state,
             state);
    if (system(command) != 0) return -1;
    make_trace("a.sbt");
    return 0;
}

UNIT_TEST_WITHIN(what_is_listed_is_own_whatever_its_name, begin, NULL)
{
    assert_false(is_own("a.sbt"));
    cli_trace_own(path_of("a.sbt"));
    assert_true(is_own("a.sbt"));
    copy_bytes("a.sbt", "b.sbt", 0);
    assert_true(is_own("b.sbt"));
    assert_int_equal(0, rename(path_of("a.sbt"), path_of("c.sbt")));
    assert_true(is_own("c.sbt"));
}

UNIT_TEST_WITHIN(a_list_is_made_where_there_is_no_folder_yet, begin, NULL)
{
    assert_int_equal(0, setenv("XDG_STATE_HOME", within("one/two"), 1));
    cli_trace_own(path_of("a.sbt"));
    assert_true(is_own("a.sbt"));
    assert_int_equal(0, setenv("XDG_STATE_HOME", "one/two", 1)); // no place
    assert_false(is_own("a.sbt"));
    assert_int_equal(0, setenv("XDG_STATE_HOME", state, 1));
}

UNIT_TEST_WITHIN(other_bytes_are_not, begin, NULL)
{
    struct stat st;
    cli_trace_own(path_of("a.sbt"));
    copy_bytes("a.sbt", "b.sbt", 24); // of the process's number
    assert_false(is_own("b.sbt"));
    assert_int_equal(0, stat(path_of("a.sbt"), &st));
    assert_int_equal(0, truncate(path_of("a.sbt"), st.st_size + 1));
    assert_false(is_own("a.sbt"));
}

// What a trace brings along with it, as tar --xattrs and cp -a carry it.
UNIT_TEST_WITHIN(no_attribute_of_the_file_makes_it_own, begin, NULL)
{
    uint8_t session[16];
    const int file = open(path_of("a.sbt"), O_RDWR | O_CLOEXEC);
    assert_int_equal(16, pread(file, session, 16, 16));
    if (fsetxattr(file, "user.tracesmith", session, 16, 0) != 0) {
        close(file);
        skip(); // the file system keeps no attributes
    }
    close(file);
    assert_false(is_own("a.sbt"));
}

UNIT_TEST_WITHIN(what_others_may_write_is_not, begin, NULL)
{
    static const mode_t modes[] = { 0664, 0646 };
    cli_trace_own(path_of("a.sbt"));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(0, chmod(path_of("a.sbt"), modes[i]));
        assert_false(is_own("a.sbt"));
    }
    assert_int_equal(0, chmod(path_of("a.sbt"), 0644));
    assert_int_equal(0, chmod(folder, 0777));
    assert_false(is_own("a.sbt"));
    assert_int_equal(0, chmod(folder, 01777));
    assert_true(is_own("a.sbt"));
    assert_int_equal(0, chmod(folder, 0700));
}

UNIT_TEST_WITHIN(a_list_that_others_may_reach_is_not_used, begin, NULL)
{
    static const char *const parts[] = { "", "tracesmith",
                                         "tracesmith/trusted" };
    static const mode_t modes[] = { 0770, 0755, 0710 };
    cli_trace_own(path_of("a.sbt"));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(0, chmod(within(parts[i]), modes[i]));
        assert_false(is_own("a.sbt"));
        assert_int_equal(0, chmod(within(parts[i]), 0700));
        assert_true(is_own("a.sbt"));
    }
    // Nor one that is elsewhere.
    assert_int_equal(0, rename(within("tracesmith"), within("moved")));
    assert_int_equal(0, symlink("moved", within("tracesmith")));
    assert_false(is_own("a.sbt"));
}

UNIT_TEST_WITHIN(a_list_or_a_trace_of_another_user_is_not, begin, NULL)
{
    if (geteuid() != 0) skip(); // who may not give files away
    cli_trace_own(path_of("a.sbt"));
    assert_int_equal(0, chown(path_of("a.sbt"), 65534, 65534));
    assert_false(is_own("a.sbt"));
    assert_int_equal(0, chown(path_of("a.sbt"), 0, 0));
    assert_true(is_own("a.sbt"));
    assert_int_equal(0, chown(within("tracesmith/trusted"), 65534, 65534));
    assert_false(is_own("a.sbt"));
}

// Source: RFC 7693, appendix A, and the reference implementation: of nothing,
// of "abc", and of what ends with a block.
UNIT_TEST(digests_are_those_of_blake2b)
{
    static const struct {
        const char *text, *digest;
    } known[] = {
        { "", "0e5751c026e543b2e8ab2eb06099daa1"
              "d1e5df47778f7787faab45cdf12fe3a8" },
        { "abc", "bddd813c634239723171ef3fee98579b"
                 "94964e3bb1cb3e427262c8c068d52319" },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint8_t digest[CLI_DIGEST_BYTES];
        char text[2 * CLI_DIGEST_BYTES + 1];
        cli_digest d;
        cli_digest_begin(&d);
        cli_digest_add(&d, known[i].text, strlen(known[i].text));
        cli_digest_end(&d, digest);
        for (int k = 0; k < CLI_DIGEST_BYTES; k++)
            snprintf(text + 2 * k, 3, "%02x", digest[k]);
        assert_string_equal(known[i].digest, text);
    }
}

UNIT_TEST(digests_do_not_depend_on_pieces)
{
    static uint8_t bytes[1024];
    uint8_t whole[CLI_DIGEST_BYTES], pieces[CLI_DIGEST_BYTES];
    cli_digest d;
    for (size_t size = 0; size <= sizeof bytes; size += 64) {
        for (size_t i = 0; i < size; i++)
            bytes[i] = (uint8_t)(i * 7 + size);
        cli_digest_begin(&d);
        cli_digest_add(&d, bytes, size);
        cli_digest_end(&d, whole);
        cli_digest_begin(&d);
        for (size_t i = 0; i < size; i += 37)
            cli_digest_add(&d, bytes + i, size - i < 37 ? size - i : 37);
        cli_digest_end(&d, pieces);
        assert_memory_equal(whole, pieces, sizeof whole);
    }
}

static int open_all(void **unused)
{
    if (folder_begin(unused) != 0) return -1;
    snprintf(state, sizeof state, "%s-state", folder);
    return setenv("XDG_STATE_HOME", state, 1);
}

static int close_all(void **unused)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", state);
    return system(command) == 0 ? folder_end(unused) : -1;
}

int main(void)
{
    return unit_run(open_all, close_all);
}
