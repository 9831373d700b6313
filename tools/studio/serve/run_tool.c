/*
    run_tool.c - another tool of this folder, in a process of its own
*/
#define _GNU_SOURCE // pipe2
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tools/studio/serve/tasks.h"
#include "tools/cli/cli.h"

enum { ARGUMENTS = 16, LOOK_MS = 100, LOOKS_AT_END = 10 };

// A process that runs: what it prints, and what it says of errors.
typedef struct child {
    pid_t pid;
    int output, errors;
    char said[400];
    size_t said_size;
} child;

// In the new process: what it writes is limited, and it ends with the thread of
// its task, even if the server is killed.
static void limit(pid_t server)
{
    struct rlimit file;
    if (getrlimit(RLIMIT_FSIZE, &file) == 0 &&
        file.rlim_cur > STUDIO_TASK_FILE) {
        file.rlim_cur = STUDIO_TASK_FILE;
        setrlimit(RLIMIT_FSIZE, &file);
    }
    signal(SIGXFSZ, SIG_IGN); // a write fails instead, and the tool says so
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != server) _exit(127); // it was killed before
}

// In the new process: signals as a program expects them, a group of its own.
static void become(const char *path, const char **arguments, int output,
                   int errors)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
    const int null = open("/dev/null", O_RDONLY);
    if (null < 0 || dup2(null, 0) < 0 || dup2(output, 1) < 0 ||
        dup2(errors, 2) < 0)
        _exit(127);
    execv(path, (char *const *)(uintptr_t)arguments);
    _exit(127);
}

static bool start(child *c, const char *path, const char **arguments)
{
    int output[2], errors[2];
    if (pipe2(output, O_CLOEXEC)) return false;
    if (pipe2(errors, O_CLOEXEC)) {
        close(output[0]);
        close(output[1]);
        return false;
    }
    const pid_t server = getpid();
    c->pid = fork();
    if (!c->pid) {
        limit(server);
        become(path, arguments, output[1], errors[1]);
    }
    if (c->pid > 0) setpgid(c->pid, c->pid); // whoever is first
    close(output[1]);
    close(errors[1]);
    c->output = output[0];
    c->errors = errors[0];
    if (c->pid > 0) return true;
    close(c->output);
    close(c->errors);
    return false;
}

// The last of what it says of errors.
static void keep_said(child *c, const char *bytes, size_t size)
{
    const size_t room = sizeof c->said - 1;
    if (size > room) bytes += size - room, size = room;
    if (c->said_size + size > room) {
        const size_t drop = c->said_size + size - room;
        memmove(c->said, c->said + drop, c->said_size - drop);
        c->said_size -= drop;
    }
    memcpy(c->said + c->said_size, bytes, size);
    c->said_size += size;
    c->said[c->said_size] = 0;
}

// Reads from a pipe; false: it has ended, or the output is too large.
static bool take(studio_task *task, child *c, int pipe)
{
    char bytes[16384];
    const ssize_t size = read(pipe, bytes, sizeof bytes);
    if (size < 0) return errno == EINTR;
    if (!size) return false;
    if (pipe == c->output) return studio_task_put(task, bytes, (size_t)size);
    keep_said(c, bytes, (size_t)size);
    return true;
}

static void follow(studio_task *task, child *c)
{
    struct pollfd pipes[2] = { { c->output, POLLIN, 0 },
                               { c->errors, POLLIN, 0 } };
    while (pipes[0].fd >= 0 || pipes[1].fd >= 0) {
        if (studio_task_is_over(task)) return;
        if (poll(pipes, 2, LOOK_MS) <= 0) continue;
        for (int i = 0; i < 2; i++)
            if (pipes[i].fd >= 0 && pipes[i].revents &&
                !take(task, c, pipes[i].fd))
                pipes[i].fd = -1;
    }
}

// Asks it to end, so that it can remove what it has begun; then it must.
static void end(const child *c)
{
    const struct timespec look = { .tv_nsec = LOOK_MS * 1000000L };
    siginfo_t state = { .si_pid = 0 };
    kill(-c->pid, SIGTERM);
    for (int i = 0; i < LOOKS_AT_END && !state.si_pid; i++) {
        // It stays a process until finish() waits: its number is still its own.
        if (waitid(P_PID, (id_t)c->pid, &state, WEXITED | WNOHANG | WNOWAIT))
            break;
        if (!state.si_pid) nanosleep(&look, NULL);
    }
    kill(-c->pid, SIGKILL);
}

// Waits for its end, and ends it if the task is over.
static int finish(studio_task *task, const child *c)
{
    int status = 0;
    if (*task->why) end(c);
    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(c->output);
    close(c->errors);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

void studio_task_run(studio_task *task, const char *tool,
                     const char *const *arguments, int most)
{
    const char *all[ARGUMENTS] = { tool };
    char path[4096];
    child c = { .pid = -1 };
    for (int i = 0; arguments[i] && i < ARGUMENTS - 2; i++)
        all[i + 1] = arguments[i];
    if (!cli_beside(path, sizeof path, tool) || access(path, X_OK)) {
        studio_task_fail(task, "%s is not beside ts-studio", tool);
        return;
    }
    if (!start(&c, path, all)) {
        studio_task_fail(task, "out of memory");
        return;
    }
    follow(task, &c);
    const int status = finish(task, &c);
    if (status > most || (status && !task->size))
        studio_task_fail(task, "%s",
                         c.said_size ? c.said : "the tool ended early");
}
