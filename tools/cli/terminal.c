/*
    terminal.c - properties of the terminal; progress
*/
#include "tools/cli/context.h"
#include <sys/ioctl.h>
#include <unistd.h>

static const char *variable(const char *name)
{
    const char *const value = getenv(name);
    return value ? value : "";
}

bool cli_terminal(FILE *stream)
{
    const char *const term = variable("TERM");
    // After cli_fold stdout has no file descriptor.
    const int number = stream == stdout ? STDOUT_FILENO : fileno(stream);
    return isatty(number) && *term && strcmp(term, "dumb") != 0;
}

bool cli_color(FILE *stream)
{
    return cli_terminal(stream) && !*variable("NO_COLOR");
}

bool cli_unicode(void)
{
    // Terminals without a locale are assumed to use UTF-8, as nearly all do; a
    // locale that is set counts.
    static _Atomic int known; // 0: not yet, 1: no, 2: yes
    if (known) return known == 2;
    const char *locale = variable("LC_ALL");
    if (!*locale) locale = variable("LC_CTYPE");
    if (!*locale) locale = variable("LANG");
    const bool is_utf8 = !*locale || strstr(locale, "UTF-8") ||
                         strstr(locale, "utf8") || strstr(locale, "UTF8") ||
                         strstr(locale, "utf-8");
    known = 1 + is_utf8;
    return is_utf8;
}

// The size of the terminal, else the variable, else the fallback.
static uint32_t extent(unsigned short seen, const char *name, uint32_t fallback)
{
    const unsigned long value = seen ? seen : strtoul(variable(name), NULL, 10);
    return value && value < 10000 ? (uint32_t)value : fallback;
}

uint32_t cli_width(void)
{
    const cli_context *const c = cli_context_now();
    struct winsize size = { 0 };
    if (c) return c->columns ? c->columns : 80;
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    return extent(size.ws_col, "COLUMNS", 80);
}

bool cli_has_width(void)
{
    const cli_context *const c = cli_context_now();
    return c ? c->columns : isatty(STDOUT_FILENO) || *variable("COLUMNS");
}

uint32_t cli_height(void)
{
    struct winsize size = { 0 };
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    return extent(size.ws_row, "LINES", 24);
}

/* ---- Progress ----------------------------------------------------------- */

// At most ten times a second.
static void report(const ts_observer *observer, cli_progress *progress,
                   uint64_t done, uint64_t total)
{
    const uint64_t now = cli_now_ns();
    if (!observer->progress || now - progress->last_ns < 100000000u) return;
    progress->last_ns = now;
    progress->shown = true;
    observer->progress(observer->user, progress->what, done, total);
}

void cli_progress_show(cli_progress *progress, uint64_t done, uint64_t total)
{
    const cli_context *const c = cli_context_now();
    if (c)
        report(c->observer, progress, done, total);
    else
        cli_progress_draw(progress, done, total);
}

void cli_progress_end(cli_progress *progress)
{
    const cli_context *const c = cli_context_now();
    if (!c)
        cli_progress_erase(progress);
    else if (progress->shown)
        c->observer->progress(c->observer->user, NULL, 0, 0);
    progress->shown = false;
}

void cli_progress_draw(cli_progress *progress, uint64_t done, uint64_t total)
{
    const uint64_t now = cli_now_ns();
    if (!progress->start_ns) progress->start_ns = now;
    if (now - progress->start_ns < 500000000u) return;
    if (now - progress->last_ns < 100000000u || !isatty(STDERR_FILENO)) return;
    progress->last_ns = now;
    progress->shown = true;
    if (done > total) done = total;
    const double share = total ? (double)done / (double)total : 0;
    char bar[31];
    for (size_t i = 0; i < 30; i++)
        bar[i] = (double)i < share * 30 ? '#' : '.';
    bar[30] = 0;
    fprintf(stderr, "\r%s [%s] %3.0f %%\x1b[K", progress->what, bar,
            share * 100);
    fflush(stderr);
}

void cli_progress_erase(cli_progress *progress)
{
    if (progress->shown) fputs("\r\x1b[K", stderr);
    progress->shown = false;
}
