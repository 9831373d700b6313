/*
    test_notes.c - notes in a file beside a trace, and whose files are let alone
*/
#define _GNU_SOURCE // mkdtemp
#include "tools/studio/serve/notes.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/unit.h"

static const char some[] = "{\n \"studio_notes\": 1,\n \"notes\": []\n}\n";

// A folder of a test, with the name of a trace in it and that of its notes.
typedef struct place {
    char folder[32], trace[48], notes[64];
} place;

static place make_place(void)
{
    place p = { .folder = "/tmp/ts_notes_XXXXXX" };
    assert_non_null(mkdtemp(p.folder));
    snprintf(p.trace, sizeof p.trace, "%s/x.sbt", p.folder);
    snprintf(p.notes, sizeof p.notes, "%s.notes.json", p.trace);
    return p;
}

static void remove_place(const place *p)
{
    remove(p->notes);
    assert_int_equal(0, rmdir(p->folder)); // nothing else was left in it
}

static void put(const place *p, const char *text)
{
    FILE *const file = fopen(p->notes, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(0, fclose(file));
}

static void expect(const place *p, const char *text)
{
    char *got;
    size_t size;
    assert_null(studio_notes_read(p->trace, &got, &size));
    assert_int_equal(strlen(text), size);
    assert_memory_equal(text, got, size);
    free(got);
}

// Writes notes over those that are there.
static const char *write_notes(const char *trace, const char *text, size_t size)
{
    char version[STUDIO_NOTES_VERSION];
    char *old;
    size_t old_size;
    (void)studio_notes_read(trace, &old, &old_size);
    studio_notes_version(old ? old : "", old ? old_size : 0, version);
    free(old);
    return studio_notes_write(trace, text, size, version);
}

// Neither reads nor replaces what is there, for a reason.
static void expect_refused(const place *p, const char *why)
{
    char *got;
    size_t size;
    assert_string_equal(why, studio_notes_read(p->trace, &got, &size));
    assert_null(got);
    assert_string_equal(why, write_notes(p->trace, some, sizeof some - 1));
}

UNIT_TEST(notes_are_written_beside_the_trace_and_read_back)
{
    const place p = make_place();
    struct stat about;
    expect(&p, "");
    assert_null(write_notes(p.trace, some, sizeof some - 1));
    assert_int_equal(0, stat(p.notes, &about));
    assert_int_equal(0600, about.st_mode & 0777);
    expect(&p, some);
    assert_null(write_notes(p.trace, some, sizeof some - 1));
    expect(&p, some);
    remove_place(&p);
}

UNIT_TEST(notes_that_were_not_read_are_kept)
{
    const char *const why = "they were changed elsewhere: reload the page";
    const place p = make_place();
    char stale[STUDIO_NOTES_VERSION];
    studio_notes_version("", 0, stale); // as the file was before
    assert_null(write_notes(p.trace, some, sizeof some - 1));
    assert_string_equal(
        why, studio_notes_write(p.trace, some, sizeof some - 1, NULL));
    assert_string_equal(
        why, studio_notes_write(p.trace, some, sizeof some - 1, stale));
    expect(&p, some);
    remove_place(&p);
}

UNIT_TEST(what_is_no_file_of_notes_is_let_alone)
{
    const place p = make_place();
    put(&p, "my own text");
    expect_refused(&p, "the file of the notes holds something else");
    assert_int_equal(0, remove(p.notes));
    assert_int_equal(0, symlink("/etc/passwd", p.notes));
    expect_refused(&p, "the file of the notes cannot be read");
    assert_int_equal(0, remove(p.notes));
    assert_int_equal(0, mkdir(p.notes, 0700));
    expect_refused(&p, "the file of the notes is no regular file");
    remove_place(&p);
}

UNIT_TEST(a_file_of_another_user_is_let_alone)
{
    const place p = make_place();
    put(&p, some);
    if (chown(p.notes, 12345, 12345) == 0) // only root can give it away
        expect_refused(&p, "the file of the notes belongs to another user");
    remove_place(&p);
}

UNIT_TEST(notes_are_limited)
{
    const place p = make_place();
    char *const large = malloc(STUDIO_MOST_NOTES + 2);
    assert_non_null(large);
    memset(large, ' ', STUDIO_MOST_NOTES + 1);
    memcpy(large, some, sizeof some - 1);
    large[STUDIO_MOST_NOTES + 1] = 0;
    assert_string_equal("the notes are too large",
                        write_notes(p.trace, large, STUDIO_MOST_NOTES + 1));
    assert_string_equal("these are no notes", write_notes(p.trace, "{}", 2));
    put(&p, large);
    expect_refused(&p, "the file of the notes is too large");
    free(large);
    remove_place(&p);
}

UNIT_TEST(where_nothing_can_be_written_it_says_so)
{
    const place p = make_place();
    struct rlimit before, none = { 0 };
    assert_string_equal("the folder of the trace cannot be written to",
                        write_notes("/nowhere/x.sbt", some, sizeof some - 1));
    assert_int_equal(0, getrlimit(RLIMIT_FSIZE, &before));
    none.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(0, setrlimit(RLIMIT_FSIZE, &none));
    const char *const why = write_notes(p.trace, some, sizeof some - 1);
    assert_int_equal(0, setrlimit(RLIMIT_FSIZE, &before));
    assert_string_equal("the notes cannot be written", why);
    expect(&p, "");
    remove_place(&p);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
