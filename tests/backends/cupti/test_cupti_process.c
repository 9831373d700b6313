// The CUPTI backend in processes that fork or end in every way. Each scene is a
// process of its own: this program, started again.
#define TRACESMITH_CUPTI_IMPLEMENTATION // the test looks inside
#include "tests/backends/cupti/cupti_fixture.h"

extern char **environ;
#include <spawn.h>

/* ---- Scenes ------------------------------------------------------------- */

static void scene_start(const char *path)
{
    ts_session_desc desc = { .path = path };
    const ts_cupti_desc hasty = { .stop_ms = 300 };
    if (ts_cupti_configure(&hasty) != TS_OK) _exit(99);
    cu_load_newest();
    if (ts_session_start(&desc) != TS_OK) _exit(100);
}

// The driver begins while a session runs, as under ts-record.
static int scene_injected(const char *path)
{
    const ts_session_desc desc = { .path = path };
    cu_load("libcupti.so");
    if (ts_session_start(&desc) != TS_OK) return 100;
    ts_cupti_initialize();
    CU_LAUNCH(.name = "k", .ns = 10, .stream = 2);
    return cu_get("dumps") ? 101 : 8;
}

// Existing objects are to be reported.
static int scene_late(void)
{
    CU_LAUNCH(.name = "k", .ns = 10, .stream = 2);
    return cu_get("dumps") ? 9 : 101;
}

static void *launch_for_ever(void *user)
{
    for (;; rt_sleep_ms(1)) // others want the double's lock too
        CU_LAUNCH(.name = "for ever", .stream = 1, .ns = 1, .repeat = 20);
    return NULL;
}

static int scene_exit(void)
{
    CU_LAUNCH(.name = "k", .ns = 10, .repeat = 5);
    return 3;
}

static int scene_hang(void)
{
    CU_LAUNCH(.name = "k", .ns = 10, .repeat = 5);
    ts_session_flush();
    cu_set("hang_flush", 1);
    CU_LAUNCH(.name = "k", .ns = 10, .repeat = 2);
    return 4;
}

static int scene_threads(void)
{
    pthread_t thread;
    for (int i = 0; i < 4; i++)
        if (pthread_create(&thread, NULL, launch_for_ever, NULL)) return 101;
    while (TS__LOAD(&ts__cupti.launches) < 100)
        rt_sleep_ms(1);
    ts_session_flush();
    return 5;
}

static int scene_gone(void)
{
    CU_LAUNCH(.name = "k", .ns = 10, .repeat = 5);
    _exit(6);
}

static int scene_crash(void)
{
    CU_LAUNCH(.name = "k", .ns = 10, .repeat = 5);
    raise(SIGKILL);
    return 102;
}

// What a child does leaves the parent's trace alone, and it cannot record the
// GPU itself.
static int scene_fork(const char *path)
{
    CU_LAUNCH(.name = "parent", .ns = 10);
    const pid_t child = fork();
    if (child == 0) {
        char own[PATH_MAX];
        ts_session_desc desc = { .path = own };
        CU_LAUNCH(.name = "child", .ns = 10);
        snprintf(own, sizeof own, "%s.child", path);
        RT_CHECK(ts_session_start(&desc) == TS_OK);
        CU_LAUNCH(.name = "child", .ns = 10);
        RT_CHECK(ts_session_stop() == TS_OK);
        _exit(0);
    }
    if (child < 0 || rt_wait(child) != 0) return 103;
    CU_LAUNCH(.name = "parent", .ns = 10);
    return 7;
}

/* ---- Tests -------------------------------------------------------------- */

// Runs a scene; its exit status, or 256 + the signal that ended it.
static int play(const char *scene, const char *path)
{
    char self[] = "/proc/self/exe", name[32], where[512];
    snprintf(name, sizeof name, "%s", scene);
    snprintf(where, sizeof where, "%s", path);
    char *const arguments[] = { self, name, where, NULL };
    pid_t pid;
    assert_int_equal(posix_spawn(&pid, self, NULL, NULL, arguments, environ),
                     0);
    const int status = rt_wait(pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
        print_message("a program cannot start itself here\n"); // an emulator
        skip();
    }
    return WIFSIGNALED(status) ? 256 + WTERMSIG(status) : WEXITSTATUS(status);
}

UNIT_TEST(exit_hands_over_everything)
{
    const char *const path = rt_path("exit.sbt");
    assert_int_equal(play("exit", path), 3);
    rt_trace trace = rt_read(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, "k"), 5);
    assert_int_equal(rt_rows(&trace, TS_EVENT_API_CALL, NULL), 5);
    cu_assert_nothing_lost(&trace);
    rt_close(&trace);
}

// No objects exist yet, and the driver is not ready.
UNIT_TEST(a_driver_that_begins_is_asked_for_nothing)
{
    const char *const paths[] = { rt_path("injected.sbt"),
                                  rt_path("late.sbt") };
    assert_int_equal(play("injected", paths[0]), 8);
    assert_int_equal(play("late", paths[1]), 9);
    for (size_t i = 0; i < 2; i++) {
        rt_trace trace = rt_read(paths[i]);
        rt_only(&trace, TS_EVENT_KERNEL, "k");
        cu_assert_nothing_lost(&trace);
        rt_close(&trace);
    }
}

UNIT_TEST(a_flush_that_hangs_at_exit_delays_it_by_its_bound)
{
    const char *const path = rt_path("hang.sbt");
    assert_int_equal(play("hang", path), 4); // the flush never comes back
    rt_trace trace = rt_read(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, "k"), 5);
    assert_int_equal(rt_rows(&trace, TS_EVENT_API_CALL, NULL), 7);
    assert_int_equal(cu_lost(&trace, "did not respond in time"), 1);
    assert_int_equal(cu_lost(&trace, "launches without a report"), 2);
    rt_close(&trace);
}

UNIT_TEST(calls_during_exit_do_no_harm)
{
    const char *const path = rt_path("threads.sbt");
    assert_int_equal(play("threads", path), 5);
    rt_trace trace = rt_read(path);
    assert_true(rt_rows(&trace, TS_EVENT_KERNEL, "for ever") > 0);
    rt_close(&trace);
}

UNIT_TEST(calls_survive_any_end)
{
    const char *const gone = rt_path("gone.sbt");
    const char *const crash = rt_path("crash.sbt");
    assert_int_equal(play("gone", gone), 6);
    assert_int_equal(play("crash", crash), 256 + SIGKILL);
    rt_trace trace = rt_read(gone);
    assert_int_equal(rt_rows(&trace, TS_EVENT_API_CALL, NULL), 5);
    rt_close(&trace);
    trace = rt_read(crash);
    assert_int_equal(rt_rows(&trace, TS_EVENT_API_CALL, NULL), 5);
    rt_close(&trace);
}

UNIT_TEST(a_child_made_by_fork_is_silent)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    skip(); // the child may wait for a lock that the sanitizer held at fork
#endif
    const char *const path = rt_path("fork.sbt");
    const char *const child = rt_path("fork.sbt.child");
    assert_int_equal(play("fork", path), 7);
    rt_trace trace = rt_read(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, "parent"), 2);
    assert_int_equal(rt_rows(&trace, TS_EVENT_API_CALL, NULL), 2);
    cu_assert_nothing_lost(&trace);
    rt_close(&trace);
    trace = rt_read(child);
    CU_ASSERT_SAYS(&trace, "backend.cupti", "a child created by fork cannot");
    assert_int_equal(rt_rows(&trace, TS_EVENT_API_CALL, NULL), 0);
    rt_close(&trace);
}

static int play_scene(const char *scene, const char *path)
{
    if (!strcmp(scene, "injected")) return scene_injected(path);
    scene_start(path);
    if (!strcmp(scene, "late")) return scene_late();
    if (!strcmp(scene, "exit")) return scene_exit();
    if (!strcmp(scene, "hang")) return scene_hang();
    if (!strcmp(scene, "threads")) return scene_threads();
    if (!strcmp(scene, "gone")) return scene_gone();
    if (!strcmp(scene, "crash")) return scene_crash();
    if (!strcmp(scene, "fork")) return scene_fork(path);
    return 104;
}

int main(int argc, char **argv)
{
    if (argc == 3) return play_scene(argv[1], argv[2]);
    return unit_run(NULL, NULL);
}
