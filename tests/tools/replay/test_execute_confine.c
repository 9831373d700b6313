/*
    test_execute_confine.c - what of /dev/shm and /proc kernels may write to
*/
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/unit.h"
#include "tools/replay/execute/execute.h"

// What the process of kernels found.
enum {
    OWN = 1,
    FILES = 2,
    MADE = 4,
    WROTE_OTHERS = 8,
    WROTE_CUDAS = 16,
    NAMED = 32, // a thread of its own
    WROTE_PARENT = 64,
    THREADS = NAMED | WROTE_PARENT
};

static char others[64], cudas[64], made[64];
static bool there; // /dev/shm
static const ts_executor cuda = { .name = "cuda" }, vdev = { .name = "vdev" };

static void put_file(const char *path)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(file >= 0);
    close(file);
}

static int set_up(void **state)
{
    snprintf(others, sizeof others, "/dev/shm/ts-test-%d", getpid());
    snprintf(cudas, sizeof cudas, "/dev/shm/cuda.shm.ts-test.%d", getpid());
    snprintf(made, sizeof made, "/dev/shm/ts-test-made-%d", getpid());
    there = access("/dev/shm", W_OK) == 0;
    if (!there) return 0;
    put_file(others);
    put_file(cudas);
    return 0;
}

static int tear_down(void **state)
{
    unlink(others);
    unlink(cudas);
    unlink(made);
    return 0;
}

// As in most containers.
static void refuse_spaces(void)
{
    struct sock_filter code[] = {
        { BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr) },
        { BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_unshare },
        { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM },
        { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW },
    };
    const struct sock_fprog program = { sizeof code / sizeof *code, code };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0)
        _exit(128);
}

static bool writes(const char *path, int flags)
{
    const int file = open(path, O_WRONLY | O_CLOEXEC | flags, 0600);
    if (file >= 0) close(file);
    return file >= 0;
}

static void *name_thread(void *named)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/comm",
             (int)syscall(SYS_gettid));
    *(bool *)named = writes(path, O_TRUNC);
    return NULL;
}

static bool names_a_thread(void)
{
    pthread_t thread;
    bool named = false;
    if (pthread_create(&thread, NULL, name_thread, &named) != 0) return false;
    pthread_join(thread, NULL);
    return named;
}

static bool writes_to_parent(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/comm", getppid(), getppid());
    return writes(path, 0);
}

static int confined(const ts_executor *executor, bool spaces)
{
    static const execute_options options = { .execute = true };
    execute_job job = { .options = &options, .executor = executor };
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        execute_confined held = { .tried = false };
        if (!spaces) refuse_spaces();
        execute_confine(&job, &held);
        _exit((held.shared_memory ? OWN : 0) | (held.files ? FILES : 0) |
              (writes(others, 0) ? WROTE_OTHERS : 0) |
              (writes(cudas, 0) ? WROTE_CUDAS : 0) |
              (names_a_thread() ? NAMED : 0) |
              (writes_to_parent() ? WROTE_PARENT : 0) |
              (writes(made, O_CREAT) ? MADE : 0));
    }
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

UNIT_TEST(drivers_have_a_dev_shm_of_their_own)
{
    const int found = there ? confined(&cuda, true) : 0;
    if (!(found & OWN)) skip();
    assert_int_equal(OWN | MADE, found & ~(FILES | THREADS));
    assert_int_not_equal(0, access(made, F_OK));
}

UNIT_TEST(where_they_cannot_only_files_by_name_are_written)
{
    const int found = there ? confined(&cuda, false) : 128;
    if (found == 128) skip(); // no seccomp
    assert_false(found & OWN);
    if (!(found & FILES)) skip(); // no Landlock
    assert_int_equal(FILES | WROTE_CUDAS, found & ~THREADS);
}

UNIT_TEST(the_vdev_has_nothing_to_write_there)
{
    const int found = there ? confined(&vdev, true) : 0;
    assert_false(found & OWN);
    if (!(found & FILES)) skip();
    assert_int_equal(FILES, found);
}

// CUDA's driver does not start without.
UNIT_TEST(drivers_name_their_threads_and_nobody_elses)
{
    const int own = confined(&cuda, true), shared = confined(&cuda, false);
    if (!(own & FILES)) skip();
    assert_int_equal(NAMED, own & THREADS);
    if (shared & FILES) assert_int_equal(NAMED, shared & THREADS);
}

int main(void)
{
    return unit_run(set_up, tear_down);
}
