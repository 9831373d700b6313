/*
    record_run.c - runs a program with the library in it

    As a shell would: the terminal, stdin, stdout and stderr are the program's.
    Signals of the terminal go to it by themselves, those that only ts-record
    gets are passed on.
*/
#define _XOPEN_SOURCE 700 // realpath
#include "tools/record/record.h"
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- The library -------------------------------------------------------- */

// Beside the tool, as in a build folder, or where `make install` puts it.
static bool find_library(record_job *job)
{
    static const char *const places[] = { "libtracesmith-inject.so",
                                          "../lib/libtracesmith-inject.so" };
    char self[RECORD_PATH], path[2 * RECORD_PATH];
    const ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    if (size <= 0) {
        cli_error(job->tool, "/proc/self/exe", "%s", strerror(errno));
        return false;
    }
    self[size] = 0;
    const char *const folder = dirname(self);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, places[i]);
        if (access(path, R_OK) == 0 && strlen(path) < sizeof job->inject) {
            strcpy(job->inject, path);
            return true;
        }
    }
    cli_error(job->tool, NULL,
              "there is no libtracesmith-inject.so beside %s: build it with "
              "make, or install it with make install",
              folder);
    return false;
}

static bool make_folder(record_job *job)
{
    char whole[RECORD_PATH];
    const int size =
        snprintf(job->folder, sizeof job->folder, "%s.XXXXXX", job->out);
    if (size >= (int)sizeof job->folder) {
        cli_error(job->tool, job->out, "the path is too long");
        return false;
    }
    // Processes may go to other directories: they need the whole path.
    if (!mkdtemp(job->folder) || !realpath(job->folder, whole)) {
        cli_error(job->tool, job->out, "no folder beside it: %s",
                  strerror(errno));
        return false;
    }
    strcpy(job->folder, whole);
    for (const char *p = whole; (p = strchr(p, '%')) != NULL; p++)
        if (p[1] && strchr("phrn%", p[1])) {
            cli_error(job->tool, job->out,
                      "a path with %%%c in it means something else to the "
                      "recorder",
                      p[1]);
            rmdir(whole);
            return false;
        }
    return true;
}

bool record_prepare(record_job *job)
{
    struct stat about;
    if (!*job->out || !strcmp(job->out, "-")) {
        cli_error(job->tool, NULL, "the trace needs the name of a file");
        return false;
    }
    if (stat(job->out, &about) == 0 && !S_ISREG(about.st_mode)) {
        cli_error(job->tool, job->out, "is no file that could be replaced");
        return false;
    }
    const char *const nvtx = getenv("NVTX_INJECTION64_PATH");
    if (nvtx && *nvtx) job->nvtx_taken = nvtx;
    return find_library(job) && make_folder(job);
}

/* ---- The program -------------------------------------------------------- */

static volatile sig_atomic_t child; // its number, for the handler

// What the terminal sends (by the kernel) it sends to the program too.
static void pass_on(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (child > 0 && info->si_code <= 0) kill((pid_t)child, number);
}

static void handle(int number)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = pass_on;
    action.sa_flags = SA_RESTART | SA_SIGINFO;
    sigaction(number, &action, NULL);
}

// The program decides what they mean.
static const int of_program[] = { SIGINT, SIGQUIT, SIGTERM,
                                  SIGHUP, SIGUSR1, SIGUSR2 };

static void run_child(const record_job *job, const sigset_t *old, int tell)
{
    sigprocmask(SIG_SETMASK, old, NULL); // nothing else was changed yet
    record_vars_set(job);
    execvp(job->argv[0], job->argv);
    const int error = errno;
    if (write(tell, &error, sizeof error) < 0) _exit(125);
    _exit(error == ENOENT ? 127 : 126);
}

static int code_of(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int record_run(record_job *job)
{
    int tell[2], error = 0;
    sigset_t all, old;
    if (pipe(tell) != 0) {
        cli_error(job->tool, NULL, "%s", strerror(errno));
        return CLI_FAILED;
    }
    fcntl(tell[1], F_SETFD, FD_CLOEXEC); // closed by an exec that works
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &old);
    job->pid = fork();
    if (job->pid == 0) {
        close(tell[0]);
        run_child(job, &old, tell[1]);
    }
    close(tell[1]);
    if (job->pid < 0) {
        cli_error(job->tool, NULL, "fork: %s", strerror(errno));
        sigprocmask(SIG_SETMASK, &old, NULL);
        close(tell[0]);
        return CLI_FAILED;
    }
    child = job->pid;
    for (size_t i = 0; i < sizeof of_program / sizeof *of_program; i++)
        handle(of_program[i]);
    signal(SIGPIPE, SIG_IGN); // of the summary: the traces come first
    sigprocmask(SIG_SETMASK, &old, NULL);
    job->never_ran = read(tell[0], &error, sizeof error) == sizeof error;
    close(tell[0]);
    while (waitpid(job->pid, &job->status, 0) < 0 && errno == EINTR) {}
    child = 0;
    if (job->never_ran)
        cli_error(job->tool, job->argv[0], "%s", strerror(error));
    return code_of(job->status);
}
