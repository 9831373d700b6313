/*
    run.c - runs a program with the library in it

    Like a shell, it leaves the terminal, stdin, stdout and stderr to the
    program. The program receives signals of the terminal directly; those that
    only ts-record receives are forwarded.
*/
#define _GNU_SOURCE // environ, pipe2, vfork
#include "tools/record/record.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Signals that are forwarded to the program.
static const int of_program[] = { SIGINT, SIGQUIT, SIGTERM,
                                  SIGHUP, SIGUSR1, SIGUSR2 };
enum { OF_PROGRAM = sizeof of_program / sizeof *of_program };

static void do_nothing(int number)
{
    (void)number;
}

// Signals that are waited for must not be ignored.
static void set_signals(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = do_nothing;
    for (size_t i = 0; i < OF_PROGRAM; i++)
        sigaction(of_program[i], &action, NULL);
    signal(
        SIGPIPE,
        SIG_IGN); // a closed pipe must not end us before the traces are merged
}

// Forwards a signal, unless the kernel sent it: then the program has it, too.
static void take_signal(record_job *job, const siginfo_t *info)
{
    const int number = info->si_signo;
    if (info->si_code > 0 || info->si_pid == job->pid) return;
    if (number == SIGUSR2 && job->options.flight_ns) {
        record_live(job, true);
        record_snapshot(job);
    } else if (number == job->options.capture_signal) {
        record_capture_toggle(job);
    } else if (!record_group_had(number)) {
        kill(job->pid, number);
    }
}

// When the program is stopped, stops ts-record so that the shell gets the
// terminal back.
static void take_stop(record_job *job)
{
    const int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    const bool ours = terminal >= 0 && tcgetpgrp(terminal) == getpgrp();
    if (terminal >= 0) close(terminal);
    if (!ours) return;
    record_live(job, true);
    record_keys_close();
    record_group_stop(job->pid);
    if (job->options.capture_key) record_keys_open(job);
}

static bool has_ended(record_job *job)
{
    int status = 0;
    pid_t got;
    while ((got = waitpid(job->pid, &status, WNOHANG | WUNTRACED)) > 0 ||
           (got < 0 && errno == EINTR)) {
        if (got < 0) continue;
        if (!WIFSTOPPED(status)) {
            job->status = status;
            return true;
        }
        take_stop(job);
    }
    return got < 0;
}

static void wait_for_end(record_job *job)
{
    const struct timespec often = { 0, 200000000 };
    sigset_t set;
    siginfo_t info;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (size_t i = 0; i < OF_PROGRAM; i++)
        sigaddset(&set, of_program[i]);
    sigprocmask(SIG_SETMASK, &set, NULL);
    while (!has_ended(job)) {
        const bool looks = job->options.live || job->options.estimate;
        const int number = looks ? sigtimedwait(&set, &info, &often)
                                 : sigwaitinfo(&set, &info);
        if (number > 0 && number != SIGCHLD) take_signal(job, &info);
        if (record_keys_pressed()) record_capture_toggle(job);
        record_live(job, false);
    }
    record_live(job, true);
    record_keys_close();
}

// Of a child of vfork: the memory is ts-record's.
static void run_child(const record_job *job, const sigset_t *old,
                      void (*old_child)(int), int failure)
{
    signal(SIGCHLD, old_child);
    sigprocmask(SIG_SETMASK, old, NULL); // the mask is all that was changed
    if (job->options.capture_key) record_keys_child();
    execvp(job->argv[0], job->argv);
    const int error = errno;
    if (write(failure, &error, sizeof error) < 0) _exit(125);
    _exit(error == ENOENT ? 127 : 126);
}

static int code_of(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Starts the program. SIGCHLD remains blocked and pending until it is waited
// for.
static bool start(record_job *job, const int failure[2])
{
    sigset_t all, old;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &old);
    // If our parent ignored SIGCHLD, there would be no status to wait for.
    void (*const old_child)(int) = signal(SIGCHLD, SIG_DFL);
    job->begin_ns = cli_now_ns();
    job->pid = vfork();
    if (job->pid == 0) run_child(job, &old, old_child, failure[1]);
    set_signals();
    if (job->pid > 0) {
        job->next =
            record_group_watch() == job->pid + 1 ? job->pid + 2 : job->pid + 1;
        return true;
    }
    cli_error(job->tool, NULL, "vfork: %s", strerror(errno));
    sigprocmask(SIG_SETMASK, &old, NULL);
    return false;
}

// The same with the variables of the program.
static bool start_with_vars(record_job *job, const int failure[2])
{
    char **const own = environ;
    size_t count = 0;
    while (own[count])
        count++;
    char **const copy = malloc((count + 1) * sizeof *copy);
    if (!copy) {
        cli_error(job->tool, NULL, "out of memory");
        return false;
    }
    memcpy(copy, own, (count + 1) * sizeof *copy);
    environ = copy;
    if (!job->others) record_vars_set(job);
    const bool started = start(job, failure);
    environ = own;
    free(copy);
    return started;
}

// Explains why an existing file cannot be executed.
static const char *missing(const char *program)
{
    if (access(program, F_OK) != 0) return "";
    return strchr(program, '/')
               ? ": its interpreter or loader is missing"
               : " in PATH; to run a program of this folder, write ./ before "
                 "its name";
}

int record_run(record_job *job)
{
    int failure[2], error = 0;
    if (pipe2(failure, O_CLOEXEC) != 0) { // a successful exec closes it
        cli_error(job->tool, NULL, "%s", strerror(errno));
        return RECORD_FAILED;
    }
    const bool keys = !job->options.capture_key || record_keys_open(job);
    const bool started = keys && start_with_vars(job, failure);
    close(failure[1]);
    if (started) {
        job->never_ran = read(failure[0], &error, sizeof error) == sizeof error;
        wait_for_end(job);
        job->ran_ns = record_control_ns(job);
        record_group_end();
    }
    close(failure[0]);
    if (!started) return RECORD_FAILED;
    if (job->never_ran)
        cli_error(job->tool, job->argv[0], "%s%s", strerror(error),
                  error == ENOENT ? missing(job->argv[0]) : "");
    return code_of(job->status);
}
