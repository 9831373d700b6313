/*
    writer_file.h - a file that is written with ts_writer and read back
*/
#ifndef WRITER_FILE_H
#define WRITER_FILE_H

#define _GNU_SOURCE // mkstemp
#define TRACESMITH_WRITER
#include "tracesmith_replay.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/unit.h"

static char path[] = "/tmp/ts_writer_XXXXXX", part[64];

static inline ts_writer *begin(void)
{
    const ts_writer_desc desc = { .path = path };
    ts_writer *writer = NULL;
    assert_int_equal(TS_OK, ts_writer_open(&writer, &desc));
    return writer;
}

static inline ts_reader *finish(ts_writer *writer)
{
    const ts_reader_desc desc = { .path = path };
    ts_reader *reader = NULL;
    assert_int_equal(TS_OK, ts_writer_close(writer));
    assert_int_equal(TS_OK, ts_reader_open(&reader, &desc));
    assert_int_equal(TS_OK, ts_reader_verify(reader));
    assert_true(ts_reader_info(reader)->finished);
    assert_true(ts_reader_info(reader)->indexed);
    assert_false(ts_reader_info(reader)->clock_estimated);
    return reader;
}

static inline uint32_t track_of(ts_writer *writer, ts_track_type type,
                                uint64_t number)
{
    ts_track_entry entry = { .type = (uint8_t)type, .number = number };
    return ts_writer_track(writer, 0, &entry);
}

static inline uint64_t next(uint64_t *state)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = *state;
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static inline long size_of(const char *file)
{
    struct stat st;
    return stat(file, &st) == 0 ? (long)st.st_size : -1;
}

/* Every kind of event. */

static inline void kernel(ts_writer *writer, uint32_t track, uint64_t i)
{
    const ts_writer_value values[] = { { TS_COLUMN_CORRELATION, i },
                                       { TS_COLUMN_LAUNCH, 1 + i % 7 } };
    ts_writer_event(writer, TS_EVENT_KERNEL, track, (int64_t)i * 1000, 500,
                    values, 2);
}

static inline int make_path(void **state)
{
    const int fd = mkstemp(path);
    snprintf(part, sizeof part, "%s.part", path);
    return fd < 0 ? -1 : close(fd);
}

static inline int remove_path(void **state)
{
    return unlink(path);
}

#endif // WRITER_FILE_H
