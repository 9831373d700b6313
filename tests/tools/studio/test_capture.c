/*
    test_capture.c - captures of a recording that runs are begun and ended
*/
#define _GNU_SOURCE // mkdtemp
#include "tools/studio/serve/capture.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "tests/unit.h"

static char folder[] = "/tmp/ts-capture-XXXXXX";
static char path[sizeof folder + 16];

static int begin(void **state)
{
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/control", folder);
    return 0;
}

static int end(void **state)
{
    unlink(path);
    return rmdir(folder);
}

// The side of ts-record and of one process, which is this one.
static ts_inject_control *make(size_t size)
{
    unlink(path);
    const int file = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_true(file >= 0 && ftruncate(file, (off_t)size) == 0);
    ts_inject_control *const c =
        mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    assert_true(c != MAP_FAILED);
    if (size < sizeof *c) return c;
    c->layout = sizeof *c;
    c->captures = 1;
    c->processes[0].state = TS_INJECT_RECORDS;
    c->processes[0].process = (uint32_t)getpid();
    return c;
}

static void refuses(ts_inject_control *c)
{
    studio_capture capture;
    assert_false(studio_capture_open(&capture, folder));
    assert_null(capture.channel);
    studio_capture_close(&capture);
    munmap(c, sizeof *c);
}

UNIT_TEST(only_a_channel_in_which_captures_wait_is_joined)
{
    studio_capture capture;
    char real[sizeof path + 8];
    assert_false(studio_capture_open(&capture, NULL));
    assert_false(studio_capture_open(&capture, folder));
    refuses(make(sizeof(ts_inject_control) - 1));
    refuses(make(sizeof(ts_inject_control) + 1));
    ts_inject_control *c = make(sizeof *c);
    c->captures = 0;
    refuses(c);
    c = make(sizeof *c);
    c->layout--; // another build
    refuses(c);
    c = make(sizeof *c);
    snprintf(real, sizeof real, "%s.real", path);
    assert_int_equal(0, rename(path, real));
    assert_int_equal(0, symlink(real, path));
    refuses(c);
    assert_int_equal(0, rename(real, path));
}

UNIT_TEST(a_request_is_made_once_and_only_if_it_changes_something)
{
    studio_capture capture;
    channel_figures figures;
    ts_inject_control *const c = make(sizeof *c);
    ts_inject_process *const p = &c->processes[0];
    assert_true(studio_capture_open(&capture, folder));
    assert_int_equal(200, c->live_ms); // processes give figures from now on
    p->kept = 7;
    assert_string_equal("off", studio_capture_state(&capture, &figures));
    assert_int_equal(7, figures.kept);
    assert_null(studio_capture_ask(&capture, "stop", 4));
    assert_int_equal(0, c->capture);
    const uint32_t command = c->command;
    assert_null(studio_capture_ask(&capture, "start", 5));
    assert_int_equal(1, c->capture);
    assert_int_equal(command + 1, c->command);
    assert_string_equal("the processes have not answered yet",
                        studio_capture_ask(&capture, "start", 5));
    assert_int_equal(1, c->capture);
    p->capturing = TS_INJECT_FRAME;
    assert_string_equal("frame", studio_capture_state(&capture, &figures));
    assert_null(studio_capture_ask(&capture, "start", 5));
    p->capturing = TS_INJECT_ON;
    assert_string_equal("on", studio_capture_state(&capture, &figures));
    assert_null(studio_capture_ask(&capture, "start", 5));
    assert_int_equal(1, c->capture);
    assert_null(studio_capture_ask(&capture, "stop", 4));
    assert_int_equal(2, c->capture);
    capture.asked_ns -= UINT64_C(2000000001); // it never answers
    assert_null(studio_capture_ask(&capture, "stop", 4));
    assert_int_equal(3, c->capture);
    studio_capture_close(&capture);
    munmap(c, sizeof *c);
}

UNIT_TEST(figures_are_given_as_long_as_somebody_wants_them)
{
    studio_capture one, other;
    channel_figures figures;
    ts_inject_control *const c = make(sizeof *c);
    assert_true(studio_capture_open(&one, folder));
    assert_true(studio_capture_open(&other, folder));
    studio_capture_close(&other);
    assert_int_equal(200, c->live_ms);
    assert_true(studio_capture_open(&other, folder));
    studio_capture_close(&one);
    const uint32_t command = c->command;
    studio_capture_state(&other, &figures);
    assert_int_equal(200, c->live_ms);
    assert_int_equal(command + 1, c->command); // to wake the processes
    studio_capture_close(&other);
    assert_int_equal(0, c->live_ms); // no process wakes any more
    c->live_ms = 200;                // ts-record --live
    assert_true(studio_capture_open(&one, folder));
    studio_capture_close(&one);
    assert_int_equal(200, c->live_ms);
    munmap(c, sizeof *c);
}

UNIT_TEST(what_makes_no_sense_is_refused)
{
    studio_capture capture;
    channel_figures figures;
    ts_inject_control *const c = make(sizeof *c);
    assert_true(studio_capture_open(&capture, folder));
    const char *const wrong[] = { "", "starts", "stopp", "x" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_string_equal(
            "no such thing",
            studio_capture_ask(&capture, wrong[i], strlen(wrong[i])));
    c->processes[0].state = TS_INJECT_FREE;
    assert_string_equal("none", studio_capture_state(&capture, &figures));
    assert_string_equal("no process runs now",
                        studio_capture_ask(&capture, "start", 5));
    c->processes[0].state = TS_INJECT_RECORDS; // the next program of a script
    assert_string_equal("off", studio_capture_state(&capture, &figures));
    assert_int_equal(0, unlink(path));
    assert_string_equal("ended", studio_capture_state(&capture, &figures));
    assert_string_equal("the recording has ended",
                        studio_capture_ask(&capture, "start", 5));
    assert_int_equal(0, c->capture);
    studio_capture_close(&capture);
    munmap(c, sizeof *c);
}

int main(void)
{
    return unit_run(begin, end);
}
