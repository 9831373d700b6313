/*
    tasks.c - one task at a time, in a thread of its own

        sql, csv            the rest of the text is SQL
        diff                compares the two traces
        steps, steps2       steps of the first and of the second trace
        races, execute      what ts-replay says of the trace
        verify              whether both traces did the same
        cut FROM TO         a part of the trace, times of the trace in ns
        perfetto FROM TO    the same for Perfetto
*/
#define _GNU_SOURCE // mkdtemp, O_CLOEXEC
#include "tools/studio/serve/tasks.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "tools/cli/cli.h"

void studio_task_fail(studio_task *task, const char *format, ...)
{
    if (*task->why) return;
    va_list args;
    va_start(args, format);
    vsnprintf(task->why, sizeof task->why, format, args);
    va_end(args);
}

bool studio_task_put(void *user, const void *bytes, size_t size)
{
    studio_task *const task = user;
    if (size > STUDIO_TASK_BYTES - task->size)
        studio_task_fail(task, "the result is larger than %d MiB",
                         STUDIO_TASK_BYTES >> 20);
    else if (!cli_grow(&task->output, &task->room, task->size + size, 1))
        studio_task_fail(task, "out of memory");
    if (*task->why) return false;
    memcpy(task->output + task->size, bytes, size);
    task->size += size;
    return true;
}

bool studio_task_is_over(studio_task *task)
{
    if (atomic_load(&task->cancelled))
        studio_task_fail(task, "cancelled");
    else if (cli_now_ns() > task->deadline_ns)
        studio_task_fail(task, "it took longer than %" PRIu32 " s",
                         task->seconds);
    return *task->why;
}

/* ---- What can be asked for ----------------------------------------------- */

// Reads "FROM TO" as two times of options. False: it is something else.
static bool read_range(const char *text, char from[32], char to[32])
{
    int64_t first, last;
    int end = 0;
    if (sscanf(text, "%" SCNd64 " %" SCNd64 "%n", &first, &last, &end) != 2 ||
        text[end] || first < 0 || last < first)
        return false;
    snprintf(from, 32, "%" PRId64 "ns", first);
    snprintf(to, 32, "%" PRId64 "ns", last);
    return true;
}

// Runs a tool that writes a file into a folder of its own, and opens that.
static void write_file(studio_task *task, const char *tool, const char *name)
{
    const char *const tmp = getenv("TMPDIR");
    char folder[512], path[600], unfinished[610], from[32], to[32];
    if (!read_range(task->rest, from, to)) {
        studio_task_fail(task, "this is no range of times");
        return;
    }
    snprintf(folder, sizeof folder, "%s/ts-studio-XXXXXX",
             tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(folder)) {
        studio_task_fail(task, "no temporary folder can be made");
        return;
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(unfinished, sizeof unfinished, "%s.part", path);
    const char *const arguments[] = { "--from", from,       "--to",
                                      to,       "--output", path,
                                      "--",     task->path, NULL };
    studio_task_run(task, tool, arguments, 0);
    task->file = *task->why ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (task->file < 0) studio_task_fail(task, "the tool ended early");
    unlink(path);
    unlink(unfinished);
    rmdir(folder);
}

// Compares the two traces; options: of the tool, the last is NULL.
static void compare(studio_task *task, const char *tool,
                    const char *const *options, int most)
{
    const char *arguments[8];
    size_t count = 0;
    while (*options)
        arguments[count++] = *options++;
    arguments[count++] = "--json";
    arguments[count++] = "--";
    arguments[count++] = task->path;
    arguments[count++] = task->other;
    arguments[count] = NULL;
    if (!task->other)
        studio_task_fail(task, "there is no second trace to compare");
    else
        studio_task_run(task, tool, arguments, most);
}

static void show_steps(studio_task *task, const char *path)
{
    const char *const arguments[] = { "--only", "steps", "--rows", "100000",
                                      "--json", "--",    path,     NULL };
    if (!path)
        studio_task_fail(task, "there is no second trace to compare");
    else
        studio_task_run(task, "ts-analyze", arguments, 0);
}

static void replay(studio_task *task, const char *option)
{
    const char *const arguments[] = { option, "--json", "--", task->path,
                                      NULL };
    studio_task_run(task, "ts-replay", arguments, 4);
}

static void run(studio_task *task)
{
    // Names as the page shows them, which looks for them.
    const char *const diff[] = { "--rows=1000",
                                 task->mangled ? "--mangled" : NULL, NULL };
    static const char *const verify[] = { "--verify", NULL };
    const char *const what = task->text;
    if (!strcmp(what, "sql") || !strcmp(what, "csv"))
        studio_task_sql(task, *what == 's');
    else if (!strcmp(what, "diff"))
        compare(task, "ts-diff", diff, 1);
    else if (!strcmp(what, "verify"))
        compare(task, "ts-replay", verify, 1);
    else if (!strcmp(what, "steps"))
        show_steps(task, task->path);
    else if (!strcmp(what, "steps2"))
        show_steps(task, task->other);
    else if (!strcmp(what, "races"))
        replay(task, "--races");
    else if (!strcmp(what, "execute"))
        replay(task, "--execute");
    else if (!strncmp(what, "cut ", 4))
        write_file(task, "ts-cut", "part.sbt");
    else if (!strncmp(what, "perfetto ", 9))
        write_file(task, "ts-export", "part.pftrace");
    else
        studio_task_fail(task, "no such thing");
}

/* ---- The thread ---------------------------------------------------------- */

static void *work(void *user)
{
    studio_tasks *const t = user;
    run(t->current);
    t->done(t->user);
    atomic_store(&t->busy, false);
    return NULL;
}

// Cuts the request behind its first line.
static bool take_text(studio_task *task, const char *text, size_t size)
{
    task->text = malloc(size + 1);
    if (!task->text) return false;
    memcpy(task->text, text, size);
    task->text[size] = 0;
    char *const end = strchr(task->text, '\n');
    task->rest = end ? end + 1 : task->text + size;
    if (end) *end = 0;
    char *const space = strchr(task->text, ' ');
    if (space) task->rest = space + 1;
    return true;
}

// Takes the place of the task that runs. False: *why says why it cannot.
static bool take_place(studio_tasks *t, studio_task *task, const char **why)
{
    pthread_mutex_lock(&t->lock);
    const bool free = !t->current && !t->ended;
    *why = t->ended ? "cancelled" : "another task is running: cancel it first";
    if (free) {
        t->current = task;
        atomic_store(&t->busy, true);
    }
    pthread_mutex_unlock(&t->lock);
    return free;
}

studio_task *studio_task_begin(studio_tasks *t, const studio_task_desc *desc,
                               const char **why)
{
    studio_task *const task = calloc(1, sizeof *task);
    *why = "out of memory";
    if (!task) return NULL;
    if (!take_place(t, task, why)) {
        free(task);
        return NULL;
    }
    *why = "out of memory";
    task->path = desc->path;
    task->other = desc->other;
    task->mangled = desc->mangled;
    task->file = -1;
    task->seconds = desc->seconds && desc->seconds < STUDIO_TASK_SECONDS
                        ? desc->seconds
                        : STUDIO_TASK_SECONDS;
    task->deadline_ns = cli_now_ns() + task->seconds * UINT64_C(1000000000);
    t->done = desc->done;
    t->user = desc->user;
    if (take_text(task, desc->text, desc->size) &&
        !pthread_create(&t->thread, NULL, work, t)) {
        t->running = true;
        return task;
    }
    studio_task_close(t, task);
    return NULL;
}

void studio_task_cancel(studio_tasks *t)
{
    pthread_mutex_lock(&t->lock);
    if (t->current) atomic_store(&t->current->cancelled, true);
    pthread_mutex_unlock(&t->lock);
}

void studio_tasks_end(studio_tasks *t)
{
    const struct timespec moment = { .tv_nsec = 10000000 };
    pthread_mutex_lock(&t->lock);
    t->ended = true;
    pthread_mutex_unlock(&t->lock);
    studio_task_cancel(t);
    while (atomic_load(&t->busy))
        nanosleep(&moment, NULL);
}

void studio_task_close(studio_tasks *t, studio_task *task)
{
    if (t->running) pthread_join(t->thread, NULL);
    t->running = false;
    pthread_mutex_lock(&t->lock);
    t->current = NULL;
    pthread_mutex_unlock(&t->lock);
    atomic_store(&t->busy, false);
    if (task->file >= 0) close(task->file);
    free(task->output);
    free(task->text);
    free(task);
}
