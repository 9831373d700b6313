/*
    terminal.h - what a function of a tool shows on a terminal

        char said[1000];
        terminal_run(said, sizeof said, 24, 80, "n\n", show, &job);

    The function runs in a process of its own; what it prints is kept.
*/
#ifndef TESTS_TERMINAL_H
#define TESTS_TERMINAL_H

#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// typed: what somebody types meanwhile.
static inline void terminal_run(char *said, size_t room, unsigned short rows,
                                unsigned short columns, const char *typed,
                                void (*run)(void *user), void *user)
{
    const struct winsize size = { .ws_row = rows, .ws_col = columns };
    size_t got = 0;
    ssize_t more = 0;
    int terminal;
    fflush(NULL);
    const pid_t child = forkpty(&terminal, NULL, NULL, &size);
    if (child < 0) abort();
    if (!child) {
        setenv("TERM", "xterm", 1); // the tests may run without any
        run(user);
        fflush(NULL);
        _exit(0);
    }
    if (write(terminal, typed, strlen(typed)) < 0) abort();
    while (got < room - 1 &&
           (more = read(terminal, said + got, room - 1 - got)) > 0)
        got += (size_t)more;
    said[got] = 0;
    close(terminal);
    if (waitpid(child, NULL, 0) != child) abort();
}

#endif // TESTS_TERMINAL_H
