/*
    tasks.h - what takes longer than an answer of a scene: SQL, comparisons,
    exports, executions

    One task at a time, in a thread of its own. It is limited in time and in the
    size of its output, and can be cancelled. SQL runs in this process, and only
    reads; everything else is another tool of the same folder in a process of
    its own.
*/
#ifndef TS_TOOLS_STUDIO_SERVE_TASKS_H
#define TS_TOOLS_STUDIO_SERVE_TASKS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STUDIO_TASK_SECONDS = 60,
    STUDIO_TASK_ROWS = 10000, // of SQL
    STUDIO_TASK_BYTES = 32 << 20,
    STUDIO_TASK_FILE = 1 << 30 // bytes of a part of a trace
};

typedef struct studio_task {
    const char *path, *other; // traces; other: what is compared, or NULL
    char *text;               // the request; the rest of it is in `rest`
    const char *rest;
    bool mangled; // names as in the traces
    // Filled in by the task.
    char *output;
    size_t size, room;
    int file;      // instead of `output`, an unlinked file; -1: none
    char why[512]; // why it failed; "": it did not
    atomic_bool cancelled;
    uint32_t seconds; // at most
    uint64_t deadline_ns;
} studio_task;

typedef struct studio_tasks {
    pthread_mutex_t lock; // of `current` and `ended`
    bool ended;           // no task begins any more
    pthread_t thread;
    bool running;     // the thread is to be joined
    atomic_bool busy; // it has not called `done` yet
    studio_task *current;
    void (*done)(void *user);
    void *user;
} studio_tasks;

// What a task is to do, for what traces, and whom it tells that it has ended.
typedef struct studio_task_desc {
    const char *path, *other;
    bool mangled;     // names as in the traces
    const void *text; // the first line says what, see tasks.c
    size_t size;
    uint32_t seconds;         // at most STUDIO_TASK_SECONDS (0: that)
    void (*done)(void *user); // called by the thread of the task
    void *user;
} studio_task_desc;

// Begins a task. NULL: *why says why it cannot.
studio_task *studio_task_begin(studio_tasks *t, const studio_task_desc *desc,
                               const char **why);
// Ends the task that runs, if any, as soon as it can.
void studio_task_cancel(studio_tasks *t);
// Cancels a task, and waits until it has called `done`; then none begins.
void studio_tasks_end(studio_tasks *t);
// Waits for the thread of a task that has ended, and frees the task.
void studio_task_close(studio_tasks *t, studio_task *task);

/* ---- What tasks are made of ---------------------------------------------- */

// Sets why a task failed; the first reason stays.
__attribute__((format(printf, 2, 3))) void
studio_task_fail(studio_task *task, const char *format, ...);
// Adds output. False: it is too large, or there is no memory.
bool studio_task_put(void *task, const void *bytes, size_t size);
// Whether a task was cancelled or took too long; then it has failed.
bool studio_task_is_over(studio_task *task);
// Runs `rest` as SQL; json: as an object, else as CSV.
void studio_task_sql(studio_task *task, bool json);
// Runs a tool with arguments, the last of which is NULL, and takes what it
// prints. A status of `most` and less is success.
void studio_task_run(studio_task *task, const char *tool,
                     const char *const *arguments, int most);

#endif // TS_TOOLS_STUDIO_SERVE_TASKS_H
