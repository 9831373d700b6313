// What a program does around the recorder: close descriptors, change
// directories, use one path twice, flush a thousand times.
#define _GNU_SOURCE
#include "tests/record/record_fixture.h"

#include <sys/resource.h>

static const ts_session_desc plain;

/* ---- Descriptors -------------------------------------------------------- */

static void record_without_standard_streams(void *user)
{
    close(0);
    close(1);
    close(2);
    rt_start(user, plain);
    rt_zones(10);
    // what is printed must not land in the trace
    for (int fd = 0; fd < 3; fd++)
        if (write(fd, "garbage", 7) >= 0) _exit(10 + fd);
    rt_zones(10);
    if (ts_session_stop() != TS_OK) _exit(20);
}

UNIT_TEST(closed_standard_streams_are_not_taken)
{
    const char *const path = rt_path("streams.sbt");
    rt_in_child(record_without_standard_streams, "streams.sbt");
    rt_assert_zones(path, 20);
}

enum { APP_FILES = 400 };

// As daemons do: closes all descriptors it does not know, then opens its own
// files.
static void close_everything(void *user)
{
    const ts_session_desc desc = { .ring_bytes = 32768 };
    int files[APP_FILES];
    struct stat status;
    char name[32];
    rt_start(user, desc);
    rt_zones(10);
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    for (int i = 0; i < APP_FILES; i++) {
        snprintf(name, sizeof name, "app-%d", i);
        files[i] = open(rt_path(name), O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (files[i] < 0) _exit(10);
    }
    rt_zones(20000);
    ts_session_flush();
    ts_session_stop();
    for (int i = 0; i < APP_FILES; i++) // still open, still empty
        if (fstat(files[i], &status) || status.st_size) _exit(11);
}

UNIT_TEST(a_program_that_closes_everything_keeps_its_files)
{
    rt_make_folder();
    rt_in_child(close_everything, "daemon.sbt");
    rt_empty(rt_make_folder());
}

static void start_without_descriptors(void *user)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    for (rlim_t files = 3; files < 12; files++) {
        limit.rlim_cur = files;
        RT_CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
        const ts_session_desc desc = { .path = rt_path(user) };
        const ts_result result = ts_session_start(&desc);
        RT_CHECK(result == TS_OK || result == TS_ERR_IO);
        rt_zones(10);
        RT_CHECK(ts_session_stop() == result);
    }
}

UNIT_TEST(too_few_descriptors_are_an_error)
{
    rt_make_folder();
    rt_in_child(start_without_descriptors, "few.sbt");
}

/* ---- Directories -------------------------------------------------------- */

static void change_directory(void *user)
{
    RT_CHECK(!chdir(rt_make_folder()));
    const ts_session_desc desc = { .path = user, .sidecar_dir = "." };
    RT_CHECK(ts_session_start(&desc) == TS_OK);
    rt_zones(10);
    RT_CHECK(!chdir("/"));
    rt_zones(10);
    RT_CHECK(ts_session_stop() == TS_OK);
}

static void change_directory_and_die(void *user)
{
    RT_CHECK(!chdir(rt_make_folder()));
    const ts_session_desc desc = { .path = user, .sidecar_dir = "." };
    RT_CHECK(ts_session_start(&desc) == TS_OK);
    rt_zones(10);
    RT_CHECK(!chdir("/"));
    rt_zones(10);
    raise(SIGKILL);
}

UNIT_TEST(the_directory_may_change)
{
    rt_empty(rt_make_folder());
    rt_in_child(change_directory, "moved.sbt");
    rt_assert_zones(rt_path("moved.sbt"), 20);
    rt_wait(rt_fork(change_directory_and_die, "died.sbt"));
    rt_assert_zones(rt_path("died.sbt"), 20);
    assert_int_equal(rt_files(rt_make_folder(), ".ring"), 0);
}

// The folder is moved after the crash: salvage must still find the rings.
UNIT_TEST(a_trace_may_be_moved_before_it_is_salvaged)
{
    char moved[600];
    rt_empty(rt_make_folder());
    const char *const folder = rt_path("new");
    assert_int_equal(mkdir(folder, 0700), 0);
    rt_wait(rt_fork(change_directory_and_die, "died.sbt"));
    assert_int_equal(rt_files(rt_make_folder(), "tracesmith-"), 1);
    snprintf(moved, sizeof moved, "mv %s/*.* %s/", rt_make_folder(), folder);
    assert_int_equal(system(moved), 0);
    snprintf(moved, sizeof moved, "%s/died.sbt", folder);
    rt_assert_zones(moved, 20);
    rt_empty(folder);
    rmdir(folder);
}

/* ---- One path twice ----------------------------------------------------- */

static void record_until_killed(void *user)
{
    const int *const ends = user;
    const ts_session_desc desc = { .flush_ms = 1 };
    rt_start("shared.sbt", desc);
    rt_zones(100);
    RT_CHECK(ts_session_flush() == TS_OK);
    RT_CHECK(write(ends[1], "x", 1) == 1);
    rt_zones(10);
    RT_CHECK(write(ends[1], "y", 1) == 1);
    for (;;) {
        rt_zones(10);
        rt_sleep_ms(1);
    }
}

// Two runs of a program with the same path: the first one owns it.
UNIT_TEST(a_path_in_use_is_left_alone)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    const ts_session_desc desc = { .path = rt_path("shared.sbt") };
    const pid_t pid = rt_fork(record_until_killed, ends);
    const ssize_t said = read(ends[0], &byte, 1);
    const ts_result result = ts_session_start(&desc);
    rt_zones(7);
    ts_session_stop();
    const ssize_t more = read(ends[0], &byte, 1); // it goes on writing
    kill(pid, SIGKILL);
    rt_wait(pid);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(said, 1);
    assert_int_equal(more, 1);
    assert_int_equal(result, TS_ERR_BUSY);
    rt_trace trace = rt_open(desc.path);
    assert_true(rt_count(&trace, TS_EVENT_ZONE, "counted") > 100);
    assert_int_equal(trace.info->process, (uint32_t)pid);
    rt_close(&trace);
    assert_int_equal(ts_session_start(&desc), TS_OK); // now it is free
    rt_zones(7);
    assert_int_equal(ts_session_stop(), TS_OK);
    rt_assert_zones(desc.path, 7);
}

UNIT_TEST(odd_paths_are_no_harm)
{
    static char path[10000];
    memset(path, 'p', sizeof path - 1);
    const ts_session_desc too_long = { .path = path };
    assert_int_not_equal(ts_session_start(&too_long), TS_OK);
    snprintf(path, sizeof path, "%s/", rt_make_folder());
    memset(path + strlen(path), '%', 200);
    path[strlen(rt_make_folder()) + 201] = 0;
    const ts_session_desc percents = { .path = path };
    assert_int_equal(ts_session_start(&percents), TS_OK); // a hundred of them
    assert_int_equal(ts_session_stop(), TS_OK);
    const char *const odd[] = { "odd%q.sbt", "odd%", "odd-%n.sbt" };
    for (size_t i = 0; i < 3; i++) {
        const ts_session_desc desc = { .path = rt_path(odd[i]) };
        const ts_result result = ts_session_start(&desc);
        assert_true(result == TS_OK || result == TS_ERR_USAGE);
        assert_int_equal(ts_session_stop(), TS_OK);
    }
}

/* ---- Many chunks -------------------------------------------------------- */

enum { FLUSHES = 3000 };

static void flush_often(const char *name)
{
    rt_start(name, plain);
    for (int i = 0; i < FLUSHES; i++) {
        rt_zones(1);
        rt_next_tick();
        TS_COUNTER("flushes", i);
        RT_CHECK(ts_session_flush() == TS_OK);
    }
}

static void flush_often_and_die(void *user)
{
    flush_often(user);
    raise(SIGKILL);
}

// More chunks than one part of the index has room for.
UNIT_TEST(thousands_of_chunks_have_an_index)
{
    const char *const names[] = { "chunks.sbt", "dead-chunks.sbt" };
    flush_often(names[0]);
    assert_int_equal(ts_session_stop(), TS_OK);
    rt_wait(rt_fork(flush_often_and_die, (void *)(uintptr_t)names[1]));
    for (int i = 0; i < 2; i++) {
        rt_trace trace = rt_read(rt_path(names[i]));
        assert_true(trace.info->indexed);
        assert_true(trace.info->chunk_count >= 2 * FLUSHES);
        assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "counted"), FLUSHES);
        for (size_t k = 0; k < FLUSHES; k++) {
            const rt_row *const row = &trace.rows[2 * k + 1];
            assert_int_equal(row->kind, TS_EVENT_COUNTER);
            assert_int_equal(row->values[TS_COLUMN_VALUE], k);
        }
        rt_close(&trace);
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
