/*
    story_forge.h - hand-made programs: zones, calls, kernels and memory

        story s = story_begin();
        story_zone(&s, HOST, 0, 100, "step");
        story_alloc(&s, HOST, 10, 0x1000, 64, "cache");
        story_kernel(&s, S0, 50, 60, "gemm", HOST, 20);
        story_read(&s); // s.reader
        story_end(&s);

    Tracks by id: 1 a process, 2 and 3 its threads, 10 device 0 with context
    11 and streams 100 ..., 20, 21 and 200 ... those of device 1.
*/
#ifndef STORY_FORGE_H
#define STORY_FORGE_H

#define _GNU_SOURCE // mkstemp
#define TRACESMITH_WRITER
#include "tracesmith_replay.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/unit.h"

enum { PROCESS = 1, HOST = 2, OTHER = 3, D0 = 10, C0 = 11, D1 = 20, C1 = 21 };
enum { S0 = 100, S1, S2, S3, T0 = 200, T1 };

typedef struct story {
    char path[40];
    ts_writer *writer;
    ts_reader *reader;
    uint64_t correlation; // of the last call
} story;

static inline void story_track(ts_writer *w, uint32_t id, uint8_t type,
                               uint32_t parent, uint64_t number)
{
    const ts_track_entry entry = { .type = type,
                                   .parent = parent,
                                   .number = number };
    ts_writer_track(w, id, &entry);
}

static inline story story_begin(void)
{
    story s = { .path = "/tmp/ts-story-XXXXXX" };
    const int file = mkstemp(s.path);
    assert_true(file >= 0);
    close(file);
    const ts_writer_desc desc = { .path = s.path };
    assert_int_equal(TS_OK, ts_writer_open(&s.writer, &desc));
    story_track(s.writer, PROCESS, TS_TRACK_PROCESS, 0, 4242);
    story_track(s.writer, HOST, TS_TRACK_THREAD, PROCESS, 1);
    story_track(s.writer, OTHER, TS_TRACK_THREAD, PROCESS, 2);
    for (uint32_t d = 0; d < 2; d++) {
        story_track(s.writer, D0 + 10 * d, TS_TRACK_DEVICE, PROCESS, d);
        story_track(s.writer, C0 + 10 * d, TS_TRACK_CONTEXT, D0 + 10 * d, 1);
        for (uint32_t i = 0; i < 4; i++)
            story_track(s.writer, S0 + 100 * d + i, TS_TRACK_STREAM,
                        C0 + 10 * d, i + 1);
    }
    return s;
}

static inline uint32_t story_name(story *s, const char *text)
{
    return text ? ts_writer_name(s->writer, text, strlen(text)) : 0;
}

static inline uint32_t story_site(story *s, const char *name)
{
    const ts_site_entry site = { .name = story_name(s, name) };
    return name ? ts_writer_site(s->writer, &site) : 0;
}

static inline void story_zone(story *s, uint32_t thread, int64_t start,
                              int64_t end, const char *name)
{
    const ts_writer_value site = { TS_COLUMN_SITE, story_site(s, name) };
    ts_writer_event(s->writer, TS_EVENT_ZONE, thread, start, end - start, &site,
                    1);
}

static inline void story_alloc(story *s, uint32_t thread, int64_t time,
                               uint64_t address, uint64_t size,
                               const char *pool, const char *category)
{
    const ts_writer_value values[] = {
        { TS_COLUMN_ADDRESS, address },
        { TS_COLUMN_SIZE, size },
        { TS_COLUMN_POOL, story_name(s, pool) },
        { TS_COLUMN_CATEGORY, story_name(s, category) },
    };
    ts_writer_event(s->writer, TS_EVENT_ALLOC, thread, time, 0, values, 4);
}

static inline void story_free(story *s, uint32_t thread, int64_t time,
                              uint64_t address, const char *pool)
{
    const ts_writer_value values[] = {
        { TS_COLUMN_ADDRESS, address },
        { TS_COLUMN_POOL, story_name(s, pool) },
    };
    ts_writer_event(s->writer, TS_EVENT_FREE, thread, time, 0, values, 2);
}

// memory: kind in the format's words, 2 pinned, 3 device, 4 managed.
static inline void story_gpu_alloc(story *s, uint32_t track, int64_t time,
                                   uint64_t address, uint64_t size,
                                   uint32_t memory, uint32_t thread)
{
    const ts_writer_value values[] = { { TS_COLUMN_ADDRESS, address },
                                       { TS_COLUMN_SIZE, size },
                                       { TS_COLUMN_MEMORY, memory << 4 },
                                       { TS_COLUMN_THREAD, thread } };
    ts_writer_event(s->writer, TS_EVENT_GPU_ALLOC, track, time, 0, values, 4);
}

static inline void story_gpu_free(story *s, uint32_t track, int64_t time,
                                  uint64_t address)
{
    const ts_writer_value value = { TS_COLUMN_ADDRESS, address };
    ts_writer_event(s->writer, TS_EVENT_GPU_FREE, track, time, 0, &value, 1);
}

// A call of 1 ns at `time`; what comes next has its correlation.
static inline void story_call(story *s, uint32_t thread, int64_t time,
                              const char *name)
{
    const ts_writer_value values[] = {
        { TS_COLUMN_NAME, story_name(s, name) },
        { TS_COLUMN_CORRELATION, ++s->correlation },
    };
    ts_writer_event(s->writer, TS_EVENT_API_CALL, thread, time, 1, values, 2);
}

static inline void story_operation(story *s, ts_event_kind kind,
                                   uint32_t stream, int64_t start, int64_t end,
                                   const char *kernel, uint32_t thread,
                                   uint32_t stack)
{
    const ts_launch_entry launch = { .name = story_name(s, kernel),
                                     .grid = { 1, 1, 1 },
                                     .block = { 32, 1, 1 } };
    ts_writer_value values[5] = {
        { TS_COLUMN_CORRELATION, s->correlation },
        { TS_COLUMN_THREAD, thread },
        { TS_COLUMN_STACK, stack },
    };
    size_t count = 3;
    if (kind == TS_EVENT_KERNEL)
        values[count++] =
            (ts_writer_value){ TS_COLUMN_LAUNCH,
                               ts_writer_launch(s->writer, &launch) };
    if (kind == TS_EVENT_MEMCPY)
        values[count++] = (ts_writer_value){ TS_COLUMN_TYPE, 1 };
    ts_writer_event(s->writer, kind, stream, start, end - start, values, count);
}

// A kernel launched by a call at `call` of a thread.
static inline void story_kernel(story *s, uint32_t stream, int64_t start,
                                int64_t end, const char *name, uint32_t thread,
                                int64_t call)
{
    story_call(s, thread, call, "launch");
    story_operation(s, TS_EVENT_KERNEL, stream, start, end, name, thread, 0);
}

// The trace on disk, without a reader.
static inline void story_write(story *s)
{
    assert_int_equal(TS_OK, ts_writer_close(s->writer));
    s->writer = NULL;
}

static inline void story_read(story *s)
{
    const ts_reader_desc desc = { .path = s->path };
    if (s->writer) story_write(s);
    assert_int_equal(TS_OK, ts_reader_open(&s->reader, &desc));
}

static inline void story_end(story *s)
{
    ts_writer_abandon(s->writer);
    ts_reader_close(s->reader);
    unlink(s->path);
}

#endif // STORY_FORGE_H
