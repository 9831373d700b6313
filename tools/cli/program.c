/*
    program.c - finding other programs and running them
*/
#include "tools/cli/context.h"
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

// The program that a tool runs, for its signal handler; 0: none.
static volatile sig_atomic_t running;

void cli_program_interrupted(void)
{
    enum { PATIENCE = 100 };
    const struct timespec pause = { .tv_nsec = 10000000 };
    const pid_t process = (pid_t)running;
    if (!process) return;
    kill(process, SIGTERM);
    for (int i = 0; waitpid(process, NULL, WNOHANG) == 0; i++) {
        if (i == PATIENCE) kill(process, SIGKILL);
        nanosleep(&pause, NULL);
    }
}

// Finds a file that access(), with `mode`, allows; an empty folder is the
// working one.
static bool find(const char *name, int mode, char *path, size_t room)
{
    const char *list = getenv("PATH");
    if (!list) list = "/bin:/usr/bin";
    for (;;) {
        const size_t size = strcspn(list, ":");
        struct stat about;
        const int need = snprintf(path, room, "%.*s/%s", size ? (int)size : 1,
                                  size ? list : ".", name);
        if (need >= 0 && (size_t)need < room && stat(path, &about) == 0 &&
            S_ISREG(about.st_mode) && access(path, mode) == 0)
            return true;
        if (!list[size]) return false;
        list += size + 1;
    }
}

bool cli_program_find(const char *name, char *path, size_t room)
{
    if (strchr(name, '/')) return snprintf(path, room, "%s", name) < (int)room;
    return find(name, X_OK, path, room) || find(name, F_OK, path, room);
}

// All but those that our shell had us ignore, as under nohup.
static sigset_t signals_to_reset(void)
{
    static const int kept[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };
    sigset_t set;
    struct sigaction now;
    sigfillset(&set);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (!sigaction(kept[i], NULL, &now) && now.sa_handler == SIG_IGN)
            sigdelset(&set, kept[i]);
    return set;
}

// A tool may block signals and handle them; other programs start as from a
// shell.
static int spawn(pid_t *process, const char *const *argv, int output)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    const sigset_t reset = signals_to_reset();
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigdefault(&attributes, &reset);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, output, 1);
    posix_spawn_file_actions_adddup2(&files, output, 2);
    const int error = posix_spawnp(process, argv[0], &files, &attributes,
                                   (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return error;
}

int cli_program_run(const char *const *argv, int output)
{
    pid_t process;
    int status = 0;
    errno = spawn(&process, argv, output);
    if (errno) return -1;
    if (cli_is_tool) running = (sig_atomic_t)process;
    pid_t ended;
    while ((ended = waitpid(process, &status, 0)) < 0 && errno == EINTR)
        continue;
    if (cli_is_tool) running = 0;
    if (ended < 0) return -1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
