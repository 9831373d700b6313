/*
    record_keys.c - what is pressed on the terminal

    The terminal is the program's: two cannot read it. Whoever asks for keys
    gives it to ts-record, and the program reads /dev/null where it would read
    the terminal. Ctrl-C and Ctrl-Z stay what they are.
*/
#include "tools/record/record.h"
#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

static int terminal = -1;
static struct termios old;

// Whoever reads it or sets it from the background is stopped, with its group.
static bool in_front(void)
{
    return terminal >= 0 && tcgetpgrp(terminal) == getpgrp();
}

void record_keys_close(void)
{
    if (terminal < 0) return;
    if (in_front()) tcsetattr(terminal, TCSANOW, &old);
    close(terminal);
    terminal = -1;
}

// In the background nothing is read; that is no failure.
bool record_keys_open(const record_job *job)
{
    static bool at_exit;
    const int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || tcgetattr(fd, &old) != 0) {
        cli_error(job->tool, NULL, "--capture-on key: there is no terminal");
        if (fd >= 0) close(fd);
        return false;
    }
    if (tcgetpgrp(fd) != getpgrp()) {
        close(fd);
        return true;
    }
    struct termios now = old;
    now.c_lflag &= (tcflag_t) ~(tcflag_t)(ICANON | ECHO);
    now.c_cc[VMIN] = 0; // read returns at once
    now.c_cc[VTIME] = 0;
    tcsetattr(fd, TCSANOW, &now);
    terminal = fd;
    if (!at_exit) atexit(record_keys_close);
    at_exit = true;
    return true;
}

bool record_keys_pressed(void)
{
    char keys[64];
    bool pressed = false;
    ssize_t size = 0;
    while (in_front() && (size = read(terminal, keys, sizeof keys)) > 0)
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
