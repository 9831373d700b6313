// fork, vfork and exec in the middle of a session.
#define _GNU_SOURCE
#include "tests/record/record_fixture.h"

#include <spawn.h>
#include <sys/prctl.h>

static const ts_session_desc quiet;
static const ts_session_desc follow = { .fork = TS_FORK_FOLLOW };

static void assert_zones(const char *path, pid_t pid, size_t count)
{
    rt_trace trace = rt_read(path);
    if (rt_rows(&trace, TS_EVENT_ZONE, "counted") != count)
        fail_msg("%s: %zu zones, not %zu", path,
                 rt_rows(&trace, TS_EVENT_ZONE, "counted"), count);
    assert_int_equal(trace.info->process, (uint32_t)pid);
    assert_int_equal(trace.info->lost, 0);
    rt_close(&trace);
}

static void record_and_exit(void *user)
{
    rt_zones(1000);
    exit(0); // handlers of exit run in the child too
}

static void record_and_stop(void *user)
{
    rt_zones(1000);
    RT_CHECK(ts_session_stop() == TS_OK);
}

UNIT_TEST(a_quiet_child_records_nothing)
{
    const char *const path = rt_start("quiet.sbt", quiet);
    rt_zones(1000);
    rt_in_child(record_and_exit, NULL);
    rt_zones(1000);
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_zones(path, getpid(), 2000);
}

static void look_at_state(void *user)
{
    ts_stats stats;
    RT_CHECK(ts_session_stats(&stats) == TS_OK && !stats.recording);
    RT_CHECK(ts_session_flush() == TS_ERR_STATE);
    RT_CHECK(ts_session_pause() == TS_ERR_STATE);
    rt_zones(10);
    RT_CHECK(ts_session_stop() == TS_ERR_STATE);
}

UNIT_TEST(a_quiet_child_has_no_session)
{
    const char *const path = rt_start("none.sbt", quiet);
    rt_zones(10);
    rt_in_child(look_at_state, NULL);
    rt_zones(10);
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_zones(path, getpid(), 20);
}

static void start_own(void *user)
{
    rt_start("own-%p.sbt", quiet);
    rt_zones(77);
    RT_CHECK(ts_session_stop() == TS_OK);
}

UNIT_TEST(a_quiet_child_may_start_its_own_session)
{
    const char *const path = rt_start("parent.sbt", quiet);
    rt_zones(10);
    const pid_t pid = rt_fork(start_own, NULL);
    assert_int_equal(rt_wait(pid), 0);
    rt_zones(10);
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_zones(path, getpid(), 20);
    assert_zones(rt_path_of("own-%d.sbt", pid), pid, 77);
}

UNIT_TEST(a_following_child_has_a_trace_of_its_own)
{
    rt_start("follow-%p.sbt", follow);
    rt_zones(1000);
    const pid_t pid = rt_fork(record_and_exit, NULL);
    assert_int_equal(rt_wait(pid), 0);
    rt_zones(1000);
    assert_int_equal(ts_session_stop(), TS_OK);
    // 3,000 in all, each in the file of the process that recorded it
    assert_zones(rt_path_of("follow-%d.sbt", getpid()), getpid(), 2000);
    assert_zones(rt_path_of("follow-%d.sbt", pid), pid, 1000);
}

static void stop_what_did_not_start(void *user)
{
    rt_zones(10);
    RT_CHECK(ts_session_stop() == TS_ERR_IO);
    RT_CHECK(ts_session_stop() == TS_ERR_STATE);
}

// Nobody has called ts_session_start in it.
UNIT_TEST(a_child_that_cannot_follow_learns_of_it)
{
    const char *const folder = rt_path("away");
    assert_int_equal(mkdir(folder, 0700), 0);
    rt_start("away/follow-%p.sbt", follow);
    char own[600];
    snprintf(own, sizeof own, "%s/follow-%d.sbt", folder, (int)getpid());
    assert_int_equal(unlink(own), 0);
    assert_int_equal(rmdir(folder), 0);
    rt_in_child(stop_what_did_not_start, NULL);
    assert_int_equal(ts_session_stop(), TS_OK);
}

static bool says(const char *path, const char *key)
{
    ts_metadata said;
    rt_trace trace = rt_read(path);
    const bool there = ts_reader_metadata(trace.reader, 0, key, &said);
    rt_close(&trace);
    return there;
}

// The description of a session does not pass to the session of a child.
UNIT_TEST(a_following_child_has_facts_of_its_own)
{
    rt_start("facts-%p.sbt", follow);
    ts_metadata_text(0, "phase", "of the parent");
    const pid_t pid = rt_fork(record_and_exit, NULL);
    assert_int_equal(rt_wait(pid), 0);
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_true(says(rt_path_of("facts-%d.sbt", getpid()), "phase"));
    assert_false(says(rt_path_of("facts-%d.sbt", pid), "phase"));
    assert_true(says(rt_path_of("facts-%d.sbt", pid), "command"));
}

static void record_and_die(void *user)
{
    rt_zones(1000);
    raise(SIGKILL);
}

UNIT_TEST(a_following_child_may_be_killed)
{
    rt_start("killed-%p.sbt", follow);
    rt_zones(10);
    const pid_t pid = rt_fork(record_and_die, NULL);
    rt_wait(pid);
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_zones(rt_path_of("killed-%d.sbt", getpid()), getpid(), 10);
    assert_zones(rt_path_of("killed-%d.sbt", pid), pid, 1000);
}

static void grandchild_too(void *user)
{
    pid_t *const pids = user;
    rt_zones(20);
    pids[1] = rt_fork(record_and_exit, NULL);
    RT_CHECK(rt_wait(pids[1]) == 0);
    rt_zones(20);
    exit(0);
}

UNIT_TEST(grandchildren_follow_as_well)
{
    pid_t *const pids = rt_shared(2 * sizeof *pids);
    rt_start("grand-%p.sbt", follow);
    rt_zones(10);
    pids[0] = rt_fork(grandchild_too, pids);
    assert_int_equal(rt_wait(pids[0]), 0);
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_zones(rt_path_of("grand-%d.sbt", getpid()), getpid(), 10);
    assert_zones(rt_path_of("grand-%d.sbt", pids[0]), pids[0], 40);
    assert_zones(rt_path_of("grand-%d.sbt", pids[1]), pids[1], 1000);
    munmap(pids, 2 * sizeof *pids);
}

UNIT_TEST(a_zone_open_at_the_fork_is_the_parents)
{
    rt_start("open-%p.sbt", follow);
    TS_ZONE_BEGIN(open, "open at the fork");
    fflush(NULL);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        TS_ZONE_END(open);
        rt_zones(5);
        _exit(ts_session_stop() != TS_OK);
    }
    assert_int_equal(rt_wait(pid), 0);
    TS_ZONE_END(open);
    rt_trace trace = rt_end(rt_path_of("open-%d.sbt", getpid()));
    rt_only(&trace, TS_EVENT_ZONE, "open at the fork");
    rt_close(&trace);
    trace = rt_read(rt_path_of("open-%d.sbt", pid));
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "counted"), 5);
    assert_int_equal(trace.count, 5);
    assert_int_equal(rt_lost(&trace, TS_LOSS_STALE), trace.info->lost);
    rt_close(&trace);
}

static void fork_and_die(void *user)
{
    const int *const ends = user;
    rt_start("widow.sbt", quiet);
    rt_zones(1000);
    if (!fork()) { // lives on, and tells the test who it is
        alarm(120);
        const pid_t self = getpid();
        RT_CHECK(write(ends[1], &self, sizeof self) == sizeof self);
        for (;;)
            pause();
    }
    for (;;)
        pause();
}

UNIT_TEST(a_child_does_not_hold_its_dead_parents_trace)
{
    int ends[2];
    pid_t orphan;
    assert_int_equal(pipe(ends), 0);
    const char *const path = rt_path("widow.sbt");
    const pid_t pid = rt_fork(fork_and_die, ends);
    assert_int_equal(read(ends[0], &orphan, sizeof orphan), sizeof orphan);
    assert_int_equal(ts_salvage(path, NULL), TS_ERR_BUSY);
    kill(pid, SIGKILL);
    rt_wait(pid);
    assert_zones(path, pid, 1000);
    kill(orphan, SIGKILL);
    close(ends[0]);
    close(ends[1]);
}

/* ---- The program's own handlers ----------------------------------------- */

// Registered before the recorder's handlers: in the parent these run around the
// recorder's, in the child before them.
static void (*around)(void), (*in_child)(void);

static void run_around(void)
{
    if (around) around();
}

static void run_in_child(void)
{
    if (!in_child) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    in_child();
}

// A thread that waits for itself there has its signals blocked.
static int wait_a_minute(pid_t pid)
{
    int status = 0;
    for (int i = 0; i < 6000; i++) {
        if (waitpid(pid, &status, WNOHANG) == pid) return status;
        rt_sleep_ms(10);
    }
    kill(pid, SIGKILL);
    return rt_wait(pid);
}

static void start_early(void)
{
    rt_start("early-%p.sbt", quiet);
    rt_zones(3);
}

UNIT_TEST(a_handler_may_start_the_childs_session)
{
    const char *const path = rt_start("late.sbt", quiet);
    rt_zones(10);
    in_child = start_early;
    const pid_t pid = rt_fork(record_and_stop, NULL);
    in_child = NULL;
    assert_int_equal(wait_a_minute(pid), 0);
    rt_zones(10);
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_zones(path, getpid(), 20);
    assert_zones(rt_path_of("early-%d.sbt", pid), pid, 1003);
}

static void call_all(void)
{
    ts_stats stats;
    ts_name_define("of a handler");
    ts_thread_name("handled");
    ts_session_stats(&stats);
    TS_ZONE("of a handler");
}

static void fork_with_handlers(void *user)
{
    pid_t *const pid = user;
    rt_start("around-%p.sbt", follow);
    rt_zones(10);
    around = in_child = call_all;
    *pid = rt_fork(record_and_stop, NULL);
    around = in_child = NULL;
    RT_CHECK(rt_wait(*pid) == 0);
    rt_zones(10);
    RT_CHECK(ts_session_stop() == TS_OK);
}

UNIT_TEST(handlers_may_call_what_they_like)
{
    pid_t *const child = rt_shared(sizeof *child);
    const pid_t pid = rt_fork(fork_with_handlers, child);
    assert_int_equal(wait_a_minute(pid), 0);
    rt_trace trace = rt_read(rt_path_of("around-%d.sbt", pid));
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "counted"), 20);
    rt_close(&trace);
    trace = rt_read(rt_path_of("around-%d.sbt", *child));
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "counted"), 1000);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "of a handler"), 1);
    rt_close(&trace);
    munmap(child, sizeof *child);
}

/* ---- Under load --------------------------------------------------------- */

static bool go_on;
static uint64_t made[4];

static void *load(void *user)
{
    uint64_t *const count = user;
    while (__atomic_load_n(&go_on, __ATOMIC_RELAXED)) {
        TS_ZONE("load");
        ++*count;
    }
    return NULL;
}

static void *only_fork(void *user)
{
    *(pid_t *)user = rt_fork(record_and_stop, NULL);
    return NULL;
}

UNIT_TEST(forks_under_load_lose_nothing)
{
    enum { FORKS = 20 };
    pid_t pids[FORKS];
    pthread_t threads[4];
    ts_session_desc desc = follow;
    desc.ring_bytes = 32768;
    rt_start("load-%p.sbt", desc);
    __atomic_store_n(&go_on, true, __ATOMIC_RELAXED);
    for (int i = 0; i < 4; i++)
        if (pthread_create(&threads[i], NULL, load, &made[i])) abort();
    for (int i = 0; i < FORKS; i++) {
        if (i % 2) { // from a thread that records nothing else
            pthread_t forker;
            if (pthread_create(&forker, NULL, only_fork, &pids[i])) abort();
            pthread_join(forker, NULL);
        } else {
            pids[i] = rt_fork(record_and_exit, NULL);
        }
        rt_zones(1);
        if (i % 4 == 3)
            for (int k = i - 3; k <= i; k++)
                assert_int_equal(rt_wait(pids[k]), 0);
    }
    __atomic_store_n(&go_on, false, __ATOMIC_RELAXED);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(ts_session_stop(), TS_OK);
    rt_trace trace = rt_open(rt_path_of("load-%d.sbt", getpid()));
    assert_int_equal(rt_count(&trace, TS_EVENT_ZONE, "load"),
                     made[0] + made[1] + made[2] + made[3]);
    assert_int_equal(rt_count(&trace, TS_EVENT_ZONE, "counted"), FORKS);
    assert_int_equal(trace.info->lost, 0);
    rt_close(&trace);
    for (int i = 0; i < FORKS; i++)
        assert_zones(rt_path_of("load-%d.sbt", pids[i]), pids[i], 1000);
}

/* ---- exec --------------------------------------------------------------- */

UNIT_TEST(programs_started_inherit_nothing)
{
    const char *const path = rt_start("popen.sbt", quiet);
    rt_zones(10);
    FILE *const list = popen("ls -l /proc/self/fd", "r");
    assert_non_null(list);
    char line[512];
    while (fgets(line, sizeof line, list))
        if (strstr(line, "popen.sbt") || strstr(line, ".ring"))
            fail_msg("inherited: %s", line);
    pclose(list);
    rt_zones(10);
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_zones(path, getpid(), 20);
}

extern char **environ;

UNIT_TEST(vfork_and_spawn_do_no_harm)
{
    rt_start("spawn-%p.sbt", follow);
    for (int i = 0; i < 5; i++) {
        rt_zones(10);
        char name[] = "true";
        char *const arguments[] = { name, NULL };
        pid_t pid;
        assert_int_equal(
            posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, environ), 0);
        rt_zones(10);
        assert_int_equal(rt_wait(pid), 0);
        assert_int_not_equal(access(rt_path_of("spawn-%d.sbt", pid), F_OK), 0);
    }
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_zones(rt_path_of("spawn-%d.sbt", getpid()), getpid(), 100);
}

static void sleep_after_exec(void *user)
{
    rt_start(user, quiet);
    rt_zones(1000);
    execl("/bin/sleep", "sleep", "30", (char *)NULL);
    _exit(1);
}

// The process lives on under another program; its old trace is left over.
UNIT_TEST(a_trace_is_free_after_exec)
{
    const char *const path = rt_path("exec.sbt");
    const pid_t pid = rt_fork(sleep_after_exec, "exec.sbt");
    char link[64], target[256] = "";
    snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
    for (int i = 0; i < 60000 && !strstr(target, "sleep"); i++) {
        rt_sleep_ms(10);
        const ssize_t size = readlink(link, target, sizeof target - 1);
        if (size > 0) target[size] = 0;
        if (strstr(target, "coreutils") || strstr(target, "busybox")) break;
    }
    rt_sleep_ms(500); // the name changes before the descriptors are closed
    assert_zones(path, pid, 1000);
    kill(pid, SIGKILL);
    rt_wait(pid);
}

int main(void)
{
    pthread_atfork(run_around, run_around, run_in_child);
    return unit_run(NULL, NULL);
}
