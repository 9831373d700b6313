/*
    own.c - a program with a session of its own, which is heard from outside

        own WHAT TRACE [TRACE]

    On two threads there is a zone of its own around a range of NVTX.
*/
#define main client
#include "tests/checks/capture/client.c"
#undef main

#define TRACESMITH_IMPLEMENTATION
#include "tracesmith.h"

static void start(const char *path, ts_fork fork)
{
    const ts_session_desc desc = { .path = path, .fork = fork };
    if (ts_session_start(&desc) != TS_OK) exit(9);
}

static void *work(void *unused)
{
    TS_ZONE("mine");
    range("theirs");
    return unused;
}

static void work_twice(void)
{
    pthread_t thread;
    work(NULL);
    if (pthread_create(&thread, NULL, work, NULL) != 0) exit(9);
    pthread_join(thread, NULL);
}

static void run_child(void)
{
    const pid_t child = fork();
    work(NULL);
    if (!child) exit(0);
    waitpid(child, NULL, 0);
}

static bool is(const char *what, const char *mode)
{
    return !strcmp(what, mode);
}

int main(int argc, char **argv)
{
    if (argc < 3) return 9;
    const char *const what = argv[1], *const path = argv[2];
    if (!is(what, "alone")) find_handler();
    start(path, is(what, "child") ? TS_FORK_FOLLOW : TS_FORK_QUIET);
    work_twice();
    if (is(what, "child")) run_child();
    if (is(what, "kill")) raise(SIGKILL);
    if (is(what, "await")) {
        puts("here");
        fflush(stdout);
        while (access(argv[3], F_OK) != 0)
            usleep(10000);
    }
    if (is(what, "exec")) {
        ts_session_stop();
        execl(argv[0], argv[0], "plain", argv[3], (char *)NULL);
    }
    if (is(what, "again")) {
        ts_session_stop();
        start(argv[3], TS_FORK_QUIET);
        work_twice();
    }
    if (ts_session_stop() != TS_OK) return 9;
    if (is(what, "moved")) rename(path, argv[3]);
    puts(what);
    return 3;
}
