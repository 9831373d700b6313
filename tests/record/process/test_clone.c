// Children made by the clone system call, for which fork's handlers do not run.
#define _GNU_SOURCE
#include "tests/record/record_fixture.h"

#include <sys/syscall.h>

static const ts_session_desc follow = { .fork = TS_FORK_FOLLOW };

static const char *start(void)
{
    rt_start("clone-%p.sbt", follow);
    return rt_path_of("clone-%d.sbt", getpid());
}

static pid_t copy_process(void)
{
    fflush(NULL);
    return (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
}

// MADV_WIPEONFORK came with Linux 4.14; emulators of a processor ignore it.
static bool the_kernel_wipes(void)
{
    const size_t size = (size_t)sysconf(_SC_PAGESIZE);
    uint32_t *const page = mmap(NULL, size, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    const bool knows = madvise(page, size, 18 /* MADV_WIPEONFORK */) == 0;
    *page = 1;
    const pid_t child = copy_process();
    if (child == 0) _exit((int)*page);
    const bool wiped = rt_wait(child) == 0;
    munmap(page, size);
    return knows && wiped;
}

static void everything_of_a_child(void)
{
    rt_zones(1000);
    TS_ZONE("new in the child");
    TS_MARK("new in the child");
    TS_COUNTER("new in the child", 1);
    TS_FRAME("new in the child");
    TS_MESSAGE("new in the child");
    char name[] = "named in the child";
    ts_name_define(name);
    static char bytes[64] = "kept in the child";
    uint64_t hash[2];
    RT_CHECK(ts_blob_put(bytes, sizeof bytes, hash) != TS_OK);
    const ts_frame_entry frame = { 0, 0, 4096 };
    ts_stack_define(&frame, 1);
    ts_loss_report(0, TS_LOSS_BACKEND, name, 1, 0, 0);
    ts_metadata_text(0, "child", name);
    RT_CHECK(ts_session_flush() == TS_ERR_STATE);
    RT_CHECK(ts_session_pause() == TS_ERR_STATE);
    RT_CHECK(ts_session_snapshot(NULL) == TS_ERR_STATE);
    RT_CHECK(ts_session_stop() == TS_ERR_STATE);
    const ts_session_desc own = { .path = "own.sbt" };
    RT_CHECK(ts_session_start(&own) == TS_ERR_STATE);
    RT_CHECK(ts_tick_now() != 0);
}

static bool done;

static void *record(void *count)
{
    while (!__atomic_load_n(&done, __ATOMIC_RELAXED)) {
        rt_zones(100);
        *(size_t *)count += 100;
        usleep(100);
    }
    return NULL;
}

// In the middle of a zone, with another thread at work.
UNIT_TEST(it_leaves_its_parents_trace_alone)
{
    if (!the_kernel_wipes()) skip();
    const char *const path = start();
    size_t counts[2] = { 0, 1000 };
    pthread_t thread;
    done = false;
    assert_int_equal(pthread_create(&thread, NULL, record, counts), 0);
    rt_zones(1000);
    for (int i = 0; i < 20; i++) {
        TS_ZONE_BEGIN(outer, "outer");
        const pid_t child = copy_process();
        if (child == 0) {
            TS_ZONE_END(outer);
            everything_of_a_child();
            // A grandchild is not taken for a child of the recording process.
            if (i % 3 == 0) {
                const pid_t grandchild = fork();
                if (grandchild == 0) {
                    rt_zones(10);
                    _exit(0);
                }
                RT_CHECK(rt_wait(grandchild) == 0);
            }
            if (i % 2) exit(0); // its handlers are the parent's too
            _exit(0);
        }
        assert_true(child > 0);
        rt_zones(50);
        counts[1] += 50;
        assert_int_equal(rt_wait(child), 0);
        TS_ZONE_END(outer);
    }
    __atomic_store_n(&done, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    rt_trace trace = rt_end(path);
    assert_int_equal(trace.info->lost, 0);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "outer"), 20);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "counted"),
                     counts[0] + counts[1]);
    assert_int_equal(trace.count, 20 + counts[0] + counts[1]);
    rt_close(&trace);
}

// A thread of such a child that ends does not give back a ring of the parent.
UNIT_TEST(a_thread_of_it_may_end)
{
    if (!the_kernel_wipes()) skip();
    const char *const path = start();
    rt_zones(100);
    const pid_t child = copy_process();
    if (child == 0) {
        rt_zones(100);
        pthread_exit(NULL); // the last one: ends the process
    }
    rt_zones(100);
    assert_int_equal(rt_wait(child), 0);
    rt_zones(100);
    rt_trace trace = rt_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "counted"), 300);
    assert_int_equal(trace.info->lost, 0);
    rt_close(&trace);
}

static bool counts_around;

static void count_around(void)
{
    if (counts_around) rt_zones(2);
}

// Handlers of the program may run in the child before the recorder's; until
// then it is like a child made by clone.
UNIT_TEST(handlers_around_a_fork_leave_it_alone)
{
    if (!the_kernel_wipes()) skip();
    const char *const path = start();
    rt_zones(10);
    counts_around = true;
    const pid_t child = fork();
    if (child == 0) {
        rt_zones(1000);
        RT_CHECK(ts_session_stop() == TS_OK);
        _exit(0);
    }
    counts_around = false;
    assert_int_equal(rt_wait(child), 0);
    rt_trace trace = rt_end(path);
    assert_int_equal(trace.info->lost, 0);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "counted"), 10 + 2 + 2);
    rt_close(&trace);
    trace = rt_read(rt_path_of("clone-%d.sbt", child));
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "counted"), 1000);
    rt_close(&trace);
}

int main(void)
{
    pthread_atfork(count_around, count_around, count_around);
    return unit_run(NULL, NULL);
}
