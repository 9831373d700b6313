// A library that crashes or hangs in a child takes nothing with it.
#include "tests/tools/import/import_fixture.h"
#include "tools/import/child.h"
#include "tools/import/import.h"
#include <signal.h>

// Three GiB, of which none is used.
static void take_memory(void)
{
    void *volatile bytes = malloc((size_t)3 << 30);
    if (!bytes) abort();
    free(bytes);
}

static void write_and(FILE *out, void *user)
{
    const char *const end = user;
    fwrite("four", 1, 4, out);
    fflush(out);
    if (*end == 'a') abort();
    if (*end == 'x') _exit(3);
    if (*end == 's') raise(SIGHUP);
    if (*end == 'm') take_memory();
    while (*end == 'h')
        pause();
}

#define CRASHED "it crashed over the data, or needs more than 2 GiB of memory"

static void expect(const char *end, const char *why)
{
    import_child child;
    char bytes[4], name[] = { *end, 0 };
    assert_true(import_child_start(&child, write_and, name));
    assert_true(import_child_read(&child, bytes, 4));
    assert_memory_equal("four", bytes, 4);
    if (*end == 'h') import_child_silence_ms = 1;
    assert_false(import_child_read(&child, bytes, 1));
    import_child_silence_ms = 30000;
    const char *const said = import_child_end(&child);
    if (!why) assert_null(said);
    if (why) assert_string_equal(why, said);
}

UNIT_TEST(what_a_child_wrote_is_read)
{
    expect("end", NULL);
}

UNIT_TEST(a_crash_is_said_after_what_was_written)
{
    expect("abort", CRASHED);
    expect("x", "its data did not arrive");
}

UNIT_TEST(a_child_that_hangs_is_ended)
{
    expect("hang", "it did not get on with the data");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
UNIT_TEST(a_child_that_wants_too_much_memory_gets_none)
{
    expect("memory", CRASHED);
}
#endif

UNIT_TEST(a_child_that_hangs_is_ended_if_no_more_of_it_is_wanted)
{
    import_child child;
    char bytes[2];
    assert_true(import_child_start(&child, write_and, "hang"));
    assert_true(import_child_read(&child, bytes, 2));
    assert_null(import_child_end(&child));
}

UNIT_TEST(a_signal_that_is_ignored_ends_no_child)
{
    expect("signal", CRASHED);
    signal(SIGHUP, SIG_IGN);
    expect("signal", NULL);
    signal(SIGHUP, SIG_DFL);
}

int main(void)
{
    return unit_run(fixture_begin, fixture_end);
}
