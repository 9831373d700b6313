// Records zones, counters and threads into a trace, and reads it back: with an
// argument, instead of recording, only reads the trace that it names.
#ifndef WITH_LIBRARY
#define TRACESMITH_IMPLEMENTATION
#define TRACESMITH_REPLAY_IMPLEMENTATION
#endif
#include "tracesmith_replay.h"
#include <pthread.h>
#include <stdio.h>

#if defined(__linux__) && !defined(WITH_LIBRARY)
_Static_assert(sizeof(off_t) == 8, "files of 2 GiB and more");
#endif
enum { THREADS = 3, ZONES = 1000 };

static void *work(void *name)
{
    ts_thread_name((const char *)name);
    for (int i = 0; i < ZONES; i++) {
        TS_ZONE("work");
        TS_COUNTER("round", i);
    }
    return NULL;
}

static ts_result record_trace(const char *path)
{
    static char names[THREADS][8] = { "one", "two", "three" };
    pthread_t threads[THREADS];
    const ts_session_desc desc = { .path = path, .app = "portable" };
    const ts_result result = ts_session_start(&desc);
    if (result != TS_OK) return result;
    TS_MARK("begin");
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, names[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return ts_session_stop();
}

static int read_trace(const char *path)
{
    ts_reader *reader;
    ts_cursor *cursor;
    ts_event event;
    uint64_t zones = 0, counters = 0, marks = 0;
    int64_t last = INT64_MIN;
    const ts_reader_desc desc = { .path = path };
    const ts_result result = ts_reader_open(&reader, &desc);
    if (result != TS_OK) {
        fprintf(stderr, "%s: %s\n", path, ts_result_text(result));
        return 1;
    }
    const ts_info *const info = ts_reader_info(reader);
    if (!info->finished || ts_reader_verify(reader) != TS_OK) return 2;
    if (ts_cursor_open(&cursor, reader, NULL) != TS_OK) return 3;
    while (ts_cursor_next(cursor, &event)) {
        zones += event.kind == TS_EVENT_ZONE;
        counters += event.kind == TS_EVENT_COUNTER;
        marks += event.kind == TS_EVENT_MARK;
        if (event.start_ns < last) return 4;
        last = event.start_ns;
    }
    ts_cursor_close(cursor);
    ts_reader_close(reader);
    printf("%d zones, %d counters, %d marks\n", (int)zones, (int)counters,
           (int)marks);
    return zones == THREADS * ZONES && counters == THREADS * ZONES && marks == 1
               ? 0
               : 5;
}

int main(int count, char **arguments)
{
    const char *const path = count > 1 ? arguments[1] : "trace.sbt";
    const ts_result result = count > 1 ? TS_OK : record_trace(path);
    if (result == TS_OK) return read_trace(path);
    fprintf(stderr, "%s: %s\n", path, ts_result_text(result));
    return 1;
}
