/*
    time_fixture.h - traces made by hand for the questions about time

    Written with ts_writer and read back. Tracks, by id: threads 2 and 3 of
    process 1; devices 10 and 20 with streams 11, 12 and 21, 22.
*/
#ifndef TIME_FIXTURE_H
#define TIME_FIXTURE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE // mkstemp
#endif
#define TRACESMITH_WRITER
#include "tools/analyze/figures/base/groups.h"
#include "tests/tools/analyze/report_expected.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>
#include "tests/unit.h"

enum { PROCESS = 1, HOST = 2, OTHER = 3 };
enum { D0 = 10, S0 = 11, S1 = 12, D1 = 20, T0 = 21, T1 = 22 };

typedef struct made {
    char path[32];
    ts_writer *w;
    uint64_t correlation; // of the last call
    ts_reader *reader;
    ts_replay *replay;
    ts_timeline *timeline;
    names_index names;
} made;

static inline void made_path(made *m)
{
    memset(m, 0, sizeof *m);
    strcpy(m->path, "/tmp/ts_analyze_XXXXXX");
    const int fd = mkstemp(m->path);
    assert_true(fd >= 0 && !close(fd));
}

static inline void made_tracks(made *m, const ts_writer_desc *desc)
{
    assert_int_equal(TS_OK, ts_writer_open(&m->w, desc));
    const ts_track_entry tracks[] = {
        { .type = TS_TRACK_PROCESS },
        { .type = TS_TRACK_THREAD, .parent = PROCESS, .number = 2 },
        { .type = TS_TRACK_THREAD, .parent = PROCESS, .number = 3 },
        { .type = TS_TRACK_DEVICE, .parent = PROCESS },
        { .type = TS_TRACK_STREAM, .parent = D0, .number = 1 },
        { .type = TS_TRACK_STREAM, .parent = D0, .number = 2 },
        { .type = TS_TRACK_DEVICE, .parent = PROCESS, .number = 1 },
        { .type = TS_TRACK_STREAM, .parent = D1, .number = 1 },
        { .type = TS_TRACK_STREAM, .parent = D1, .number = 2 },
    };
    const uint32_t ids[] = { PROCESS, HOST, OTHER, D0, S0, S1, D1, T0, T1 };
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        ts_writer_track(m->w, ids[i], &tracks[i]);
}

static inline void made_begin(made *m, uint64_t realtime_ns)
{
    made_path(m);
    ts_writer_desc desc = { .path = m->path, .start_realtime_ns = realtime_ns };
    // No two are of one session: several may be looked at together.
    memcpy(desc.session, m->path + strlen(m->path) - 16, 16);
    made_tracks(m, &desc);
}

static inline uint32_t made_name(made *m, const char *text)
{
    return ts_writer_name(m->w, text, strlen(text));
}

// Inner zones first where they begin and end together.
static inline void made_zone(made *m, uint32_t thread, const char *name,
                             int64_t from, int64_t to)
{
    const ts_site_entry entry = { .name = made_name(m, name) };
    const ts_writer_value value = { TS_COLUMN_SITE,
                                    ts_writer_site(m->w, &entry) };
    ts_writer_event(m->w, TS_EVENT_ZONE, thread, from, to - from, &value, 1);
}

// A call with a correlation of its own, which the next operations have too.
static inline void made_call(made *m, uint32_t thread, const char *name,
                             int64_t from, int64_t to)
{
    const ts_writer_value values[] = {
        { TS_COLUMN_CORRELATION, ++m->correlation },
        { TS_COLUMN_NAME, made_name(m, name) },
    };
    ts_writer_event(m->w, TS_EVENT_API_CALL, thread, from, to - from, values,
                    2);
}

// What the last call launched. `more`: further columns, more_count of them.
static inline void made_operation(made *m, ts_event_kind kind, uint32_t track,
                                  int64_t from, int64_t to,
                                  const ts_writer_value *more, size_t count)
{
    ts_writer_value values[12] = { { TS_COLUMN_CORRELATION, m->correlation } };
    assert_true(count < 12);
    for (size_t i = 0; i < count; i++)
        values[i + 1] = more[i];
    ts_writer_event(m->w, kind, track, from, to - from, values, count + 1);
}

static inline void made_kernel(made *m, uint32_t stream, const char *name,
                               int64_t from, int64_t to)
{
    const ts_launch_entry launch = { .name = made_name(m, name),
                                     .grid = { 1, 1, 1 },
                                     .block = { 32, 1, 1 } };
    const ts_writer_value value = { TS_COLUMN_LAUNCH,
                                    ts_writer_launch(m->w, &launch) };
    made_operation(m, TS_EVENT_KERNEL, stream, from, to, &value, 1);
}

// A kernel with a call of 2 ns on thread HOST.
static inline void made_launch(made *m, uint32_t stream, const char *name,
                               int64_t call, int64_t from, int64_t to)
{
    made_call(m, HOST, "launch", call, call + 2);
    made_kernel(m, stream, name, from, to);
}

static inline void made_read(made *m)
{
    assert_int_equal(TS_OK, ts_writer_close(m->w));
    const ts_reader_desc desc = { .path = m->path };
    assert_int_equal(TS_OK, ts_reader_open(&m->reader, &desc));
}

// Replayed exactly, with a timeline; `more`: further traces, already read.
static inline void made_join(made *m, made *more, size_t more_count)
{
    ts_reader *readers[8];
    for (size_t i = 0; i < more_count; i++)
        readers[i] = more[i].reader;
    const ts_replay_desc desc = { .more = readers, .more_count = more_count };
    assert_int_equal(TS_OK, ts_replay_open(&m->replay, m->reader, &desc));
    assert_int_equal(TS_OK, ts_replay_run(m->replay, NULL));
    assert_int_equal(0, ts_replay_result(m->replay)->different);
    assert_int_equal(TS_OK, ts_timeline_open(&m->timeline, m->replay, NULL));
    assert_true(names_open(&m->names, m->replay));
}

static inline void made_open(made *m)
{
    made_read(m);
    made_join(m, NULL, 0);
}

static inline void made_close(made *m)
{
    names_close(&m->names);
    ts_timeline_close(m->timeline);
    ts_replay_close(m->replay);
    ts_reader_close(m->reader);
    unlink(m->path);
}

// The group of an operation, zone or call by its name.
static inline uint32_t made_group(const made *m, const char *name)
{
    for (uint32_t i = 0; i < m->names.count; i++) {
        const ts_text text = m->names.groups[i].text;
        if (text.size == strlen(name) && !memcmp(text.text, name, text.size))
            return i;
    }
    fail_msg("nothing is called %s", name);
    return 0;
}

#endif // TIME_FIXTURE_H
