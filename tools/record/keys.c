/*
    keys.c - keys pressed on the terminal

    Two processes cannot share the input of a terminal. With keys ts-record
    reads it, and the program's stdin is /dev/null instead of the terminal.
    Ctrl-C and Ctrl-Z work as usual.
*/
#include "tools/record/record.h"
#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

static int terminal = -1;
static bool taken; // the terminal has our settings; `old` has the former
static struct termios old;

// A process that reads the terminal or changes its settings from the background
// is stopped with its whole group.
static bool in_front(void)
{
    return terminal >= 0 && tcgetpgrp(terminal) == getpgrp();
}

// Sets the terminal to deliver single keys, with reads that do not block.
// Called repeatedly, because shells and the recorded program may change the
// settings.
static bool take(void)
{
    struct termios now;
    if (!in_front() || tcgetattr(terminal, &now) != 0) return false;
    if (!(now.c_lflag & (ICANON | ECHO)) && !now.c_cc[VMIN] && !now.c_cc[VTIME])
        return true;
    if (!taken) old = now;
    now.c_lflag &= (tcflag_t) ~(tcflag_t)(ICANON | ECHO);
    now.c_cc[VMIN] = 0; // read returns at once
    now.c_cc[VTIME] = 0;
    taken = tcsetattr(terminal, TCSANOW, &now) == 0;
    return taken;
}

void record_keys_close(void)
{
    if (terminal < 0) return;
    if (taken && in_front()) tcsetattr(terminal, TCSANOW, &old);
    taken = false;
    close(terminal);
    terminal = -1;
}

// In the background nothing is read until ts-record is in the foreground.
bool record_keys_open(const record_job *job)
{
    static bool at_exit;
    terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (terminal < 0) {
        cli_error(job->tool, NULL, "--capture-on key requires a terminal");
        return false;
    }
    take();
    if (!at_exit) atexit(record_keys_close);
    at_exit = true;
    return true;
}

bool record_keys_pressed(void)
{
    char keys[64];
    bool pressed = false;
    ssize_t size = 0;
    while (take() && (size = read(terminal, keys, sizeof keys)) > 0)
        for (ssize_t i = 0; i < size; i++)
            pressed ^= keys[i] == RECORD_KEY;
    return pressed;
}

void record_keys_child(void)
{
    const int fd = isatty(STDIN_FILENO) ? open("/dev/null", O_RDONLY) : -1;
    if (fd < 0) return;
    dup2(fd, STDIN_FILENO);
    close(fd);
}
