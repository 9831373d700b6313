/*
    control.c - requests to the running processes, and their figures

    Both use a page of shared memory: see backends/inject/control.h.
*/
#define _DEFAULT_SOURCE // ftruncate
#include "tools/record/record.h"
#include <fcntl.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

bool record_control_make(record_job *job)
{
    char path[RECORD_PATH + 16];
    snprintf(path, sizeof path, "%s/control", job->folder);
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    void *const map = fd < 0 || ftruncate(fd, sizeof *job->control) != 0
                          ? MAP_FAILED
                          : mmap(NULL, sizeof *job->control,
                                 PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0) close(fd);
    if (map == MAP_FAILED) {
        cli_error(job->tool, path, "%s", strerror(errno));
        return false;
    }
    job->control = map;
    job->control->layout = sizeof *job->control;
    job->control->start_ns = cli_now_ns();
    job->control->captures = job->options.capture_on != NULL;
    job->control->live_ms =
        job->options.live || job->options.estimate ? 200 : 0;
    return true;
}

void record_control_remove(const record_job *job)
{
    char path[RECORD_PATH + 16];
    if (!job->control || job->awaited) return;
    snprintf(path, sizeof path, "%s/control", job->folder);
    unlink(path);
}

int64_t record_control_ns(const record_job *job)
{
    return job->control ? (int64_t)(cli_now_ns() - job->control->start_ns) : 0;
}

/* ---- Figures ------------------------------------------------------------ */

typedef struct line {
    char text[512];
    size_t size;
} line;

__attribute__((format(printf, 2, 3))) static void add(line *l,
                                                      const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int size =
        vsnprintf(l->text + l->size, sizeof l->text - l->size, format, args);
    va_end(args);
    if (size > 0) l->size += (size_t)size;
    if (l->size >= sizeof l->text) l->size = sizeof l->text - 1;
}

// Adds the state of the capture, and the key that begins or ends it.
static void add_capture(line *l, const record_job *job,
                        const channel_figures *f)
{
    const bool key = job->options.capture_key;
    if (!*job->options.capture) return;
    if (f->capturing || f->a_frame)
        add(l, f->capturing ? "capturing, " : "will capture the next frame, ");
    if (key)
        add(l, "%c %s, ", RECORD_KEY,
            f->capturing ? "stops"
            : f->a_frame ? "cancels"
                         : "starts capturing");
    add(l, "%s captured | ", cli_count(f->kept).s);
}

// Leaves out figures from the end until the line fits.
static void cut(line *l, size_t columns)
{
    if (l->size < columns) return;
    l->text[columns - 1] = 0;
    for (size_t i = columns - 1; i-- > 0;) {
        if (!strchr(",:|", l->text[i]) || l->text[i + 1] != ' ') continue;
        l->text[i] = 0;
        return;
    }
}

// In the background another job owns the terminal.
static bool is_in_front(void)
{
    const pid_t front = tcgetpgrp(STDERR_FILENO);
    return front < 0 || front == getpgrp();
}

// Prints at most one line of the terminal.
static void show(line *l)
{
    struct winsize window;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 2)
        cut(l, window.ws_col - 1);
    // The blank separates what the program prints next.
    fprintf(stderr, "\r\033[K%s ", l->text);
    fflush(stderr);
}

// Prints the line of --live.
static void print_figures(const record_job *job)
{
    const channel_figures f = channel_sum(job->control);
    const char *const what = f.waits   ? "waiting"
                             : f.ended ? "ended"
                                       : "recording";
    line l = { .size = 0 };
    add(&l, "%s: ", job->tool->name);
    add_capture(&l, job, &f);
    add(&l, "%s after %s: ", what, cli_moment(record_control_ns(job), 1).s);
    add(&l, "%" PRIu32 " process%s, %s records, %s", f.processes,
        f.processes == 1 ? "" : "es", cli_count(f.records).s,
        cli_bytes(f.bytes).s);
    if (f.lost) add(&l, ", %s LOST", cli_count(f.lost).s);
    show(&l);
}

// Prints how many operations are captured so far, so that the user notices
// early when a capture of everything takes too long.
static bool print_estimate(const record_job *job)
{
    const channel_figures f = channel_sum(job->control);
    const int64_t ms = record_control_ns(job) / 1000000;
    line l = { .size = 0 };
    if (f.kept < RECORD_SHOWN) return false;
    add(&l, "%s: %s operations captured, %s per second", job->tool->name,
        cli_count(f.kept).s,
        cli_count(f.kept * 1000 / (uint64_t)(ms > 0 ? ms : 1)).s);
    add(&l, "; count:3 or operations:1000 capture fewer");
    show(&l);
    return true;
}

void record_live(record_job *job, bool end)
{
    const bool estimate = job->options.estimate;
    if ((!job->options.live && !estimate) || !cli_terminal(stderr) ||
        !is_in_front())
        return;
    if (end && job->live_shown) fputs("\r\033[K", stderr);
    bool shown = false;
    if (!end && estimate)
        shown = print_estimate(job);
    else if (!end)
        print_figures(job), shown = true;
    job->live_shown = shown;
}

/* ---- Snapshots ---------------------------------------------------------- */

// Whether all running processes have written their dump.
static bool all_written(const ts_inject_control *control, uint32_t wanted)
{
    for (uint32_t i = 0; i < TS_INJECT_PROCESSES; i++) {
        const ts_inject_process *const p = &control->processes[i];
        // acquire: pairs with the release in watch_obey of ts_inject.c
        if (__atomic_load_n(&p->state, __ATOMIC_ACQUIRE) == TS_INJECT_RECORDS &&
            __atomic_load_n(&p->written, __ATOMIC_ACQUIRE) != wanted &&
            channel_is_alive(TS__LOAD(&p->process)))
            return false;
    }
    return true;
}

void record_capture_toggle(record_job *job)
{
    channel_ask(job->control, &job->control->capture);
}

bool record_dump_request(record_job *job)
{
    ts_inject_control *const control = job->control;
    const struct timespec wait = { 0, 5000000 };
    const uint32_t wanted = channel_ask(control, &control->write);
    for (int i = 0; i < 1000; i++) {
        if (all_written(control, wanted)) return true;
        nanosleep(&wait, NULL);
    }
    return false;
}
