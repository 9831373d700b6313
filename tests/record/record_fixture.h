/*
    record_fixture.h - what the tests of the recorder share

    A folder for traces that goes away at the end, children that run a
    function, and traces read back as rows in the order of the cursor. Every
    trace that is read is verified first: a damaged one fails the test.

    Children made by fork cannot use cmocka's assertions; they use RT_CHECK,
    which ends the child and tells the parent the line.
*/
#ifndef RECORD_FIXTURE_H
#define RECORD_FIXTURE_H

#include "tracesmith_replay.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tests/unit.h"

#define RT_UNUSED __attribute__((unused))

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif

/* ---- Folder ------------------------------------------------------------- */

static char rt_folder[256];
static pid_t rt_owner;

// With the folders in it.
static void rt_empty(const char *folder)
{
    DIR *const dir = opendir(folder);
    if (!dir) return;
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        char path[600];
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (unlink(path) == 0 || errno != EISDIR) continue;
        rt_empty(path);
        rmdir(path);
    }
    closedir(dir);
}

// Only the process that made the folder takes it away, not its children.
static void rt_remove_folder(void)
{
    if (!rt_folder[0] || getpid() != rt_owner) return;
    rt_empty(rt_folder);
    rmdir(rt_folder);
}

static const char *rt_make_folder(void)
{
    if (rt_folder[0]) return rt_folder;
    const char *const base = getenv("TMPDIR");
    snprintf(rt_folder, sizeof rt_folder, "%s/ts-test-XXXXXX",
             base && strlen(base) < 200 ? base : "/tmp");
    if (!mkdtemp(rt_folder)) abort();
    rt_owner = getpid();
    atexit(rt_remove_folder);
    return rt_folder;
}

// A path in the folder, valid until the eighth call after this one.
RT_UNUSED static const char *rt_path(const char *name)
{
    static char paths[8][512];
    static unsigned next;
    char *const path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", rt_make_folder(), name);
    return path;
}

// Of a name with a %d for the process.
RT_UNUSED static const char *rt_path_of(const char *format, pid_t pid)
{
    char name[64];
    snprintf(name, sizeof name, format, (int)pid);
    return rt_path(name);
}

// How many names in a folder hold `part`.
RT_UNUSED static size_t rt_files(const char *folder, const char *part)
{
    size_t count = 0;
    DIR *const dir = opendir(folder);
    if (!dir) return 0;
    const struct dirent *entry;
    while ((entry = readdir(dir)) != NULL)
        if (entry->d_name[0] != '.' && strstr(entry->d_name, part)) count++;
    closedir(dir);
    return count;
}

RT_UNUSED static void rt_sleep_ms(long ms)
{
    struct timespec left = { ms / 1000, ms % 1000 * 1000000 };
    while (nanosleep(&left, &left) && errno == EINTR) {}
}

// Returns when the counter shows another tick, for tests of an order in time:
// some counters, and an emulated one, step once in many nanoseconds.
RT_UNUSED static void rt_next_tick(void)
{
    const uint64_t tick = ts_tick_now();
    while (ts_tick_now() == tick) {}
}

RT_UNUSED static uint64_t rt_now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// `ns`, or less on a machine that has just started, whose clocks have not
// reached it. All clocks of a machine count from about the same moment, hence
// half.
RT_UNUSED static uint64_t rt_past_ns(uint64_t ns)
{
    const uint64_t half = rt_now_ns(CLOCK_MONOTONIC_RAW) / 2;
    return ns < half ? ns : half;
}

/* ---- Children ----------------------------------------------------------- */

// In a child: ends it with a status that tells the line (modulo 250).
#define RT_CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: child: %s\n", __FILE__, __LINE__, \
                    #condition); \
            _exit(__LINE__ % 250 + 1); \
        } \
    } while (0)

typedef void (*rt_child)(void *user);

static pid_t rt_fork(rt_child run, void *user)
{
    rt_make_folder(); // one that parent and child share
    fflush(NULL);
    const pid_t pid = fork();
    if (pid < 0) abort();
    if (pid) return pid;
    run(user);
    _exit(0);
}

// Waits for a child; its status as waitpid gives it.
static int rt_wait(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    return status;
}

// Runs a child to its end; it must succeed.
RT_UNUSED static void rt_in_child(rt_child run, void *user)
{
    const int status = rt_wait(rt_fork(run, user));
    if (WIFSIGNALED(status))
        fail_msg("the child died of signal %d", WTERMSIG(status));
    if (WEXITSTATUS(status))
        fail_msg("the child failed, line %% 250 + 1 = %d", WEXITSTATUS(status));
}

// Memory that parent and children share.
RT_UNUSED static void *rt_shared(size_t size)
{
    void *const memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) abort();
    return memory;
}

/* ---- Reading back ------------------------------------------------------- */

typedef struct rt_row {
    ts_event_kind kind;
    uint32_t track;
    int64_t start_ns, duration_ns;
    uint64_t start_tick;
    uint64_t values[TS_COLUMN_LIMIT];
    char name[128]; // of the site, launch or counter, else the event's label
    char *text;     // with a terminator
    size_t text_size;
} rt_row;

typedef struct rt_trace {
    ts_reader *reader;
    const ts_info *info;
    rt_row *rows; // after rt_load
    size_t count;
} rt_trace;

static void rt_show_damage(const ts_reader *reader)
{
    ts_damage damage;
    for (size_t i = 0; ts_reader_damage(reader, i, &damage); i++)
        fprintf(stderr, "damage at %" PRIu64 ", %" PRIu64 " bytes: %s: %s\n",
                damage.offset, damage.size, ts_result_text(damage.result),
                damage.text);
}

// Opens and verifies. What a dead writer left is salvaged.
static rt_trace rt_open(const char *path)
{
    rt_trace trace = { NULL, NULL, NULL, 0 };
    const ts_reader_desc desc = { .path = path, .threads = 1 };
    const ts_result result = ts_reader_open(&trace.reader, &desc);
    if (result != TS_OK)
        fail_msg("%s cannot be opened: %s", path, ts_result_text(result));
    if (ts_reader_verify(trace.reader) != TS_OK) {
        rt_show_damage(trace.reader);
        fail_msg("%s is damaged", path);
    }
    trace.info = ts_reader_info(trace.reader);
    assert_true(trace.info->finished);
    assert_int_equal(trace.info->salvage, TS_OK);
    assert_int_equal(ts_reader_damage_count(trace.reader), 0);
    return trace;
}

static void rt_name(const rt_trace *trace, const ts_event *event, char *name,
                    size_t size)
{
    ts_text text = ts_event_label(trace->reader, event);
    const uint32_t site = (uint32_t)ts_event_value(event, TS_COLUMN_SITE);
    const uint32_t launch = (uint32_t)ts_event_value(event, TS_COLUMN_LAUNCH);
    ts_track track;
    if (event->kind == TS_EVENT_COUNTER &&
        ts_reader_track(trace->reader, event->track, &track))
        text = track.name;
    else if (site && event->kind < TS_EVENT_GPU_FIRST)
        text = ts_reader_site_name(trace->reader, site);
    else if (event->kind != TS_EVENT_COLLECTIVE && launch &&
             ts_reader_launch(trace->reader, launch))
        text = ts_reader_name(trace->reader,
                              ts_reader_launch(trace->reader, launch)->name);
    snprintf(name, size, "%.*s", (int)text.size, text.text);
}

static void rt_row_fill(const rt_trace *trace, const ts_event *event,
                        rt_row *row)
{
    memset(row, 0, sizeof *row);
    row->kind = event->kind;
    row->track = event->track;
    row->start_ns = event->start_ns;
    row->duration_ns = event->duration_ns;
    row->start_tick = event->columns->start_ticks[event->row];
    for (int i = 1; i < TS_COLUMN_LIMIT; i++)
        row->values[i] = ts_event_value(event, (ts_column)i);
    rt_name(trace, event, row->name, sizeof row->name);
    const ts_text text = ts_event_text(event);
    row->text = malloc(text.size + 1);
    if (!row->text) abort();
    memcpy(row->text, text.text, text.size);
    row->text[text.size] = 0;
    row->text_size = text.size;
}

// Fills trace->rows with the events of a filter (NULL: all).
RT_UNUSED static void rt_load(rt_trace *trace, const ts_filter *filter)
{
    ts_cursor *cursor;
    ts_event event;
    size_t room = 0;
    assert_int_equal(ts_cursor_open(&cursor, trace->reader, filter), TS_OK);
    while (ts_cursor_next(cursor, &event)) {
        if (trace->count == room) {
            room = room ? room * 2 : 64;
            trace->rows = realloc(trace->rows, room * sizeof *trace->rows);
            if (!trace->rows) abort();
        }
        rt_row_fill(trace, &event, &trace->rows[trace->count++]);
    }
    assert_int_equal(ts_cursor_result(cursor), TS_OK);
    ts_cursor_close(cursor);
}

RT_UNUSED static rt_trace rt_read(const char *path)
{
    rt_trace trace = rt_open(path);
    rt_load(&trace, NULL);
    return trace;
}

// Ends the session that records `path`, and reads it.
RT_UNUSED static rt_trace rt_end(const char *path)
{
    assert_int_equal(ts_session_stop(), TS_OK);
    return rt_read(path);
}

RT_UNUSED static void rt_close(rt_trace *trace)
{
    for (size_t i = 0; i < trace->count; i++)
        free(trace->rows[i].text);
    free(trace->rows);
    ts_reader_close(trace->reader);
    memset(trace, 0, sizeof *trace);
}

// Rows of a kind and a name (NULL: any name).
static size_t rt_rows(const rt_trace *trace, ts_event_kind kind,
                      const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < trace->count; i++) {
        const rt_row *const row = &trace->rows[i];
        if (row->kind == kind && (!name || !strcmp(row->name, name))) count++;
    }
    return count;
}

// The index-th row of a kind and name; the test fails if there is none.
static const rt_row *rt_nth(const rt_trace *trace, ts_event_kind kind,
                            const char *name, size_t index)
{
    for (size_t i = 0; i < trace->count; i++) {
        const rt_row *const row = &trace->rows[i];
        if (row->kind == kind && (!name || !strcmp(row->name, name)) &&
            !index--)
            return row;
    }
    fail_msg("no %s named %s", ts_event_name(kind), name ? name : "anything");
    return NULL;
}

// The only row of a kind and a name.
RT_UNUSED static const rt_row *rt_only(const rt_trace *trace,
                                       ts_event_kind kind, const char *name)
{
    if (rt_rows(trace, kind, name) != 1)
        fail_msg("%zu %s named %s, not 1", rt_rows(trace, kind, name),
                 ts_event_name(kind), name ? name : "anything");
    return rt_nth(trace, kind, name, 0);
}

// Sum of a cause in the loss ledger of the file. Only waiting counts as stall.
RT_UNUSED static uint64_t rt_lost(const rt_trace *trace, ts_loss cause)
{
    uint64_t count = 0;
    ts_loss_row row;
    for (size_t i = 0; ts_reader_loss(trace->reader, i, &row); i++) {
        if (row.cause != TS_LOSS_BLOCKED && row.cause != TS_LOSS_HELPED)
            assert_int_equal(row.stall_ns, 0);
        if (row.cause == cause) count += row.count;
    }
    return count;
}

// The events of a kind counted one by one, not from headers; for big traces.
RT_UNUSED static uint64_t rt_count(const rt_trace *trace, ts_event_kind kind,
                                   const char *name)
{
    const ts_filter filter = { .kinds = UINT64_C(1) << kind };
    ts_cursor *cursor;
    ts_event event;
    char text[128];
    uint64_t count = 0;
    assert_int_equal(ts_cursor_open(&cursor, trace->reader, &filter), TS_OK);
    while (ts_cursor_next(cursor, &event)) {
        if (name) rt_name(trace, &event, text, sizeof text);
        if (!name || !strcmp(text, name)) count++;
    }
    assert_int_equal(ts_cursor_result(cursor), TS_OK);
    ts_cursor_close(cursor);
    return count;
}

RT_UNUSED static void rt_assert_text(ts_text text, const char *expected)
{
    assert_int_equal(text.size, strlen(expected));
    assert_memory_equal(text.text, expected, text.size);
}

RT_UNUSED static double rt_double(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// Starts a session with a path in the folder; it must work.
RT_UNUSED static const char *rt_start(const char *name, ts_session_desc desc)
{
    const char *const path = rt_path(name);
    desc.path = path;
    ts_result result = ts_session_start(&desc);
    if (result == TS_ERR_STATE) { // of a test that failed in the middle
        ts_session_stop();
        result = ts_session_start(&desc);
    }
    if (result != TS_OK)
        fail_msg("%s does not start: %s", path, ts_result_text(result));
    return path;
}

// Records `count` zones named "counted".
RT_UNUSED static void rt_zones(int count)
{
    for (int i = 0; i < count; i++) {
        TS_ZONE("counted");
    }
}

RT_UNUSED static void rt_assert_inside(const rt_row *inner, const rt_row *outer)
{
    assert_int_equal(inner->track, outer->track);
    assert_true(inner->start_ns >= outer->start_ns);
    assert_true(inner->start_ns + inner->duration_ns <=
                outer->start_ns + outer->duration_ns);
}

// The trace has that many of them, and no losses.
RT_UNUSED static void rt_assert_zones(const char *path, size_t count)
{
    rt_trace trace = rt_read(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "counted"), count);
    assert_int_equal(trace.info->lost, 0);
    rt_close(&trace);
}

// After a test that failed in the middle, so that the next one can start its
// session.
RT_UNUSED static int rt_stop(void **state)
{
    ts_session_stop();
    return 0;
}
#undef UNIT_AFTER
#define UNIT_AFTER rt_stop

#endif // RECORD_FIXTURE_H
