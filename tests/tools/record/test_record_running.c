/*
    test_record_running.c - whether processes of a program still run
*/
#define _GNU_SOURCE
#include "tools/record/record.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit.h"

static const cli_tool tool = { .name = "ts-record" };

// Of this test alone: another build of it may run at the same time.
static char folder[64], ours[96];
static char others[] = "TRACESMITH_LOG=/tmp/run.sbt.other/log";

// Runs a command of the shell in a process group of its own, with one variable
// in its environment.
static pid_t start(char *command, char *variable)
{
    int ready[2];
    char byte, *vars[] = { variable, NULL };
    char *argv[] = { (char *)"sh", (char *)"-c", command, command, NULL };
    assert_int_equal(0, pipe2(ready, O_CLOEXEC));
    const pid_t process = fork();
    if (process == 0) {
        setpgid(0, 0);
        execve("/bin/sh", argv, vars);
        _exit(127);
    }
    close(ready[1]);
    assert_int_equal(0, read(ready[0], &byte, 1)); // until exec
    close(ready[0]);
    return process;
}

static pid_t sleeper(char *variable)
{
    return start((char *)"exec sleep 1000", variable);
}

static void end(pid_t process)
{
    kill(-process, SIGKILL);
    assert_int_equal(process, waitpid(process, NULL, 0));
}

static bool awaits(record_job job)
{
    record_parts_await(&job);
    return job.awaited;
}

// A job whose program started after the process with id `last`, just now
// however slow this machine is.
static record_job job_after(pid_t last)
{
    const uint64_t hour = 3600000000000u;
    record_job job = { .tool = &tool,
                       .next = last + 1,
                       .begin_ns = cli_now_ns() + hour };
    strcpy(job.folder, folder);
    return job;
}

UNIT_TEST(a_process_with_the_variables_is_awaited_until_it_ends)
{
    const record_job job = job_after(getpid());
    const pid_t process = sleeper(ours);
    assert_true(awaits(job));
    end(process);
    assert_false(awaits(job));
    const pid_t other = sleeper(others);
    assert_false(awaits(job));
    end(other);
}

// An id that is newer than those of all processes.
static pid_t newest(void)
{
    const pid_t process = fork();
    if (process == 0) _exit(0);
    assert_int_equal(process, waitpid(process, NULL, 0));
    return process;
}

// Nothing else of the machine is looked at, unless ids may have begun again, or
// so many were given that all processes are fewer.
UNIT_TEST(processes_older_than_the_program_are_not_looked_at)
{
    const pid_t older = sleeper(ours);
    const pid_t newer = sleeper(others);
    record_job job = job_after(older);
    const bool seen = awaits(job);
    const pid_t last = newest();
    if (older < newer && newer < last && last < older + 2000)
        assert_false(seen);
    job.begin_ns = 0;
    assert_true(awaits(job));
    job = job_after(newer);
    job.next = INT32_MAX;
    assert_true(awaits(job));
    job.next = 0; // --collect: the program is not known
    assert_true(awaits(job));
    end(older);
    end(newer);
    assert_false(awaits(job));
}

// Each of 200 starts the next one and ends at once: one is missed if ids are
// looked at only up to the newest at the beginning, or if a list of all
// processes is taken for what runs.
UNIT_TEST(a_process_whose_parent_just_ended_is_awaited)
{
    record_job job = job_after(getpid());
    const pid_t first = start((char *)"n=${1:-0}; test $n = 200 && "
                                      "exec sleep 1000; "
                                      "sh -c \"$0\" \"$0\" $((n + 1)) &",
                              ours);
    for (int i = 0; i < 6; i++) {
        job.next = i % 2 ? getpid() + 1 : 0;
        assert_true(awaits(job));
    }
    end(first);
}

int main(void)
{
    snprintf(folder, sizeof folder, "/tmp/run.sbt.%ld", (long)getpid());
    snprintf(ours, sizeof ours, "TRACESMITH_LOG=%s/log", folder);
    return unit_run(NULL, NULL);
}
