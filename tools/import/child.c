/*
    child.c - a library that reads files, in a process of its own
*/
#define _GNU_SOURCE
#include "tools/import/child.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int import_child_silence_ms = 30000;

// Above what the parent has, of which the child is a copy. Sanitizers reserve
// far more than that.
static void limit_memory(void)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    unsigned long pages = 0;
    struct rlimit memory;
    FILE *const in = fopen("/proc/self/statm", "re");
    const bool is_known = in && fscanf(in, "%lu", &pages) == 1;
    if (in) fclose(in);
    if (!is_known || getrlimit(RLIMIT_AS, &memory)) return;
    const rlim_t most =
        (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + ((rlim_t)2 << 30);
    if (memory.rlim_cur > most) memory.rlim_cur = most;
    setrlimit(RLIMIT_AS, &memory);
#endif
}

// Those that are ignored stay so, as under nohup.
static void default_signals(void)
{
    static const int signals[] = { SIGABRT, SIGSEGV, SIGBUS,
                                   SIGHUP,  SIGINT,  SIGTERM };
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        struct sigaction old;
        if (!sigaction(signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
            signal(signals[i], SIG_DFL);
    }
}

_Noreturn static void be_child(int fd, void (*work)(FILE *out, void *user),
                               void *user)
{
    const struct rlimit no_core = { 0, 0 };
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &no_core);
    limit_memory();
    default_signals();
    if (nowhere >= 0) dup2(nowhere, STDERR_FILENO);
    FILE *const out = fdopen(fd, "wb");
    if (!out) _exit(1);
    work(out, user);
    _exit(fflush(out) != 0); // runs nothing that is the parent's
}

bool import_child_start(import_child *child,
                        void (*work)(FILE *out, void *user), void *user)
{
    int pipe_of[2];
    *child = (import_child){ .fd = -1 };
    if (pipe2(pipe_of, O_CLOEXEC)) return false;
    fflush(stdout);
    const pid_t pid = fork();
    if (!pid) be_child(pipe_of[1], work, user);
    close(pipe_of[1]);
    if (pid < 0) close(pipe_of[0]);
    if (pid < 0) return false;
    child->pid = (int)pid;
    child->fd = pipe_of[0];
    return true;
}

// Waits for more of what it writes; false: there is none.
static bool fill(import_child *child)
{
    for (;;) {
        struct pollfd wait = { .fd = child->fd, .events = POLLIN };
        const int ready = poll(&wait, 1, import_child_silence_ms);
        if (ready < 0 && errno == EINTR) continue;
        child->is_silent = !ready;
        const ssize_t got =
            ready > 0 ? read(child->fd, child->bytes, sizeof child->bytes) : 0;
        if (got < 0 && errno == EINTR) continue;
        child->is_read |= ready > 0 && !got;
        child->at = 0;
        child->count = got > 0 ? (size_t)got : 0;
        return got > 0;
    }
}

bool import_child_read(import_child *child, void *bytes, size_t size)
{
    uint8_t *to = bytes;
    while (size) {
        if (!child->count && !fill(child)) return false;
        const size_t part = size < child->count ? size : child->count;
        memcpy(to, child->bytes + child->at, part);
        child->at += part;
        child->count -= part;
        to += part;
        size -= part;
    }
    return true;
}

const char *import_child_end(import_child *child)
{
    int status = 0;
    close(child->fd);
    if (!child->is_read) kill(child->pid, SIGKILL);
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (child->is_silent) return "it did not get on with the data";
    if (!child->is_read) return NULL;
    if (WIFSIGNALED(status))
        return "it crashed over the data, or needs more than 2 GiB of memory";
    return WEXITSTATUS(status) ? "its data did not arrive" : NULL;
}
