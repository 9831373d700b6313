/*
    whatif_scene.h - traces of up to two ranks, written with ts_writer

    So that kernels and collectives have names and launches. Times are in
    microseconds.
*/
#ifndef WHATIF_SCENE_H
#define WHATIF_SCENE_H

#define _GNU_SOURCE // mkdtemp
#define TRACESMITH_WRITER
#include "tracesmith.h"
#include "tracesmith_replay.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/unit.h"

enum { US = 1000, THREAD = 2, DEVICE = 10, STREAM = 100 };

typedef struct scene {
    char path[2][64];
    ts_writer *writer;
    ts_reader *readers[2];
    size_t count;
    ts_replay *replay;
    char folder[32];
} scene;

static inline void add_track(ts_writer *w, uint32_t id, ts_track_type type,
                             uint32_t parent, uint64_t number)
{
    const ts_track_entry entry = { .type = (uint8_t)type,
                                   .parent = parent,
                                   .number = number };
    ts_writer_track(w, id, &entry);
}

// One more file; its rank is its number.
static inline void begin(scene *s)
{
    if (!s->count) {
        strcpy(s->folder, "/tmp/ts-whatif-XXXXXX");
        assert_non_null(mkdtemp(s->folder));
    }
    snprintf(s->path[s->count], sizeof s->path[0], "%s/%zu.sbt", s->folder,
             s->count);
    const ts_writer_desc desc = { .path = s->path[s->count] };
    assert_int_equal(TS_OK, ts_writer_open(&s->writer, &desc));
    add_track(s->writer, 1, TS_TRACK_PROCESS, 0, 1);
    add_track(s->writer, THREAD, TS_TRACK_THREAD, 1, 1);
    add_track(s->writer, DEVICE, TS_TRACK_DEVICE, 1, 0);
    for (uint32_t i = 0; i < 3; i++)
        add_track(s->writer, STREAM + i, TS_TRACK_STREAM, DEVICE, 7 + i);
    ts_writer_metadata(s->writer, 0, "rank", TS_VALUE_INT, s->count);
    ts_writer_metadata(s->writer, DEVICE, "multiprocessors", TS_VALUE_INT, 4);
    ts_writer_metadata(s->writer, DEVICE, "max_threads_per_multiprocessor",
                       TS_VALUE_INT, 1024);
    s->count++;
}

static inline void launched(scene *s, const ts_launch_entry *launch,
                            uint32_t stream, int64_t start, int64_t duration,
                            uint64_t correlation)
{
    const ts_writer_value values[] = {
        { TS_COLUMN_LAUNCH, ts_writer_launch(s->writer, launch) },
        { TS_COLUMN_CORRELATION, correlation },
    };
    ts_writer_event(s->writer, TS_EVENT_KERNEL, STREAM + stream, start * US,
                    duration * US, values, 2);
}

static inline void kernel(scene *s, const char *name, uint32_t stream,
                          int64_t start, int64_t duration, uint64_t correlation)
{
    const ts_launch_entry launch = {
        .name = ts_writer_name(s->writer, name, strlen(name)),
        .grid = { 2, 1, 1 },
        .block = { 32, 32, 1 },
    };
    launched(s, &launch, stream, start, duration, correlation);
}

static inline void launch_call(scene *s, int64_t start, uint64_t correlation)
{
    const ts_writer_value values[] = {
        { TS_COLUMN_NAME, ts_writer_name(s->writer, "launch", 6) },
        { TS_COLUMN_CORRELATION, correlation },
    };
    ts_writer_event(s->writer, TS_EVENT_API_CALL, THREAD, start * US, 4 * US,
                    values, 2);
}

// Done by a kernel of so many blocks, each as large as a multiprocessor; 0:
// nobody knows.
static inline void collective_of(scene *s, uint64_t communicator,
                                 uint32_t blocks, uint32_t stream,
                                 int64_t start, int64_t duration)
{
    const ts_launch_entry launch = {
        .name = ts_writer_name(s->writer, "ring", 4),
        .grid = { blocks, 1, 1 },
        .block = { 32, 32, 1 },
    };
    const ts_writer_value values[] = {
        { TS_COLUMN_NAME, ts_writer_name(s->writer, "all_reduce", 10) },
        { TS_COLUMN_COMMUNICATOR, communicator },
        { TS_COLUMN_SEQUENCE, 1 },
        { TS_COLUMN_SIZE, 4096 },
        { TS_COLUMN_RANKS, 2 },
        { TS_COLUMN_LAUNCH, blocks ? ts_writer_launch(s->writer, &launch) : 0 },
    };
    ts_writer_event(s->writer, TS_EVENT_COLLECTIVE, STREAM + stream, start * US,
                    duration * US, values, 6);
}

static inline void collective(scene *s, int64_t start, int64_t duration)
{
    collective_of(s, 77, 0, 0, start, duration);
}

static inline void end(scene *s)
{
    assert_int_equal(TS_OK, ts_writer_close(s->writer));
    const ts_reader_desc desc = { .path = s->path[s->count - 1] };
    assert_int_equal(TS_OK, ts_reader_open(&s->readers[s->count - 1], &desc));
}

static inline void play(scene *s)
{
    const ts_replay_desc desc = { .more = s->readers + 1,
                                  .more_count = s->count - 1 };
    assert_int_equal(TS_OK, ts_replay_open(&s->replay, s->readers[0], &desc));
}

static inline void close_scene(scene *s)
{
    ts_replay_close(s->replay);
    for (size_t i = 0; i < s->count; i++) {
        ts_reader_close(s->readers[i]);
        assert_int_equal(0, unlink(s->path[i]));
    }
    assert_int_equal(0, rmdir(s->folder));
}

#endif
