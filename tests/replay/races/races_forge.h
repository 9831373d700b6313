/*
    races_forge.h - hand-made GPU work with memory, looked at for races

    Tracks of every trace made here, by id: 1 a process, 2 and 3 its threads,
    10 device 0 with context 11 and streams 100..., 190 its legacy default
    stream, 191 a non-blocking one; 20, 21, 200... those of device 1.

    A row is an event. Rows with a queued time have a call of their own on
    `thread`, from queued to queued + 1, or to `back`.
*/
#ifndef RACES_FORGE_H
#define RACES_FORGE_H

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
enum { S0 = 100, S1, S2, S3, LEGACY = 190, FREE = 191, T0 = 200, T1 };

// Accesses to memory.
enum { RD = 1, WR = 2, RW = 3, COARSE = 4 };
#define K  TS_EVENT_KERNEL
#define M  TS_EVENT_MEMCPY
#define Z  TS_EVENT_MEMSET
#define R  TS_EVENT_EVENT_RECORD
#define W  TS_EVENT_EVENT_WAIT
#define SS TS_EVENT_STREAM_SYNC
#define DS TS_EVENT_DEVICE_SYNC
#define ES TS_EVENT_EVENT_SYNC
#define GA TS_EVENT_GPU_ALLOC
#define GF TS_EVENT_GPU_FREE
#define AC TS_EVENT_ACCESS
#define HA TS_EVENT_ALLOC
#define HF TS_EVENT_FREE
#define CO TS_EVENT_COLLECTIVE

typedef struct act {
    ts_event_kind kind;
    uint32_t track;
    int64_t start, end;
    int64_t queued; // -1: no call is known
    uint64_t address, size;
    uint32_t mode;       // of kernels and the host
    uint64_t source;     // of copies
    uint32_t copy;       // type | memory << 4 (3: within the device)
    uint64_t id, record; // of events; record: row + 1 of what is waited for;
                         // an access: id is the correlation of its operation
    uint32_t thread;     // (HOST)
    const char *call;    // ("launch")
    int64_t back;        // when the call returns (queued + 1)
    size_t zone;         // launched from the zone of this row (its own)
} act;

typedef struct scene {
    char path[32];
    ts_reader *reader;
    ts_replay *replay;
    ts_races *races;
    const act *acts;
    size_t count;
} scene;

static inline void scene_track(ts_writer *w, uint32_t id, uint8_t type,
                               uint32_t parent, uint64_t number, uint64_t flags)
{
    const ts_track_entry entry = {
        .type = type, .parent = parent, .number = number, .flags = flags
    };
    ts_writer_track(w, id, &entry);
}

static inline void scene_tracks(ts_writer *w, uint32_t streams)
{
    scene_track(w, PROCESS, TS_TRACK_PROCESS, 0, 4242, 0);
    scene_track(w, HOST, TS_TRACK_THREAD, PROCESS, 1, 0);
    scene_track(w, OTHER, TS_TRACK_THREAD, PROCESS, 2, 0);
    for (uint32_t d = 0; d < 2; d++) {
        scene_track(w, D0 + 10 * d, TS_TRACK_DEVICE, PROCESS, d, 0);
        scene_track(w, C0 + 10 * d, TS_TRACK_CONTEXT, D0 + 10 * d, 1, 0);
        for (uint32_t s = 0; s < 8; s++)
            scene_track(w, S0 + 100 * d + s, TS_TRACK_STREAM, C0 + 10 * d,
                        s + 1, 0);
    }
    scene_track(w, LEGACY, TS_TRACK_STREAM, C0, 90, TS_STREAM_LEGACY_DEFAULT);
    scene_track(w, FREE, TS_TRACK_STREAM, C0, 91, TS_STREAM_NON_BLOCKING);
    for (uint32_t s = 0; s < streams; s++)
        scene_track(w, 1000 + s, TS_TRACK_STREAM, C0, 1000 + s, 0);
}

static inline uint32_t scene_name(ts_writer *w, const char *text)
{
    return ts_writer_name(w, text, strlen(text));
}

static inline void scene_access(ts_writer *w, const act *a, size_t i)
{
    const ts_writer_value values[] = { { TS_COLUMN_ADDRESS, a->address },
                                       { TS_COLUMN_SIZE, a->size },
                                       { TS_COLUMN_TYPE, a->mode },
                                       { TS_COLUMN_CORRELATION,
                                         a->kind == AC ? a->id : i + 1 } };
    ts_writer_event(w, AC, a->track, a->start, 0, values, 4);
}

static inline void scene_call(ts_writer *w, const act *a, size_t i)
{
    const ts_writer_value values[] = {
        { TS_COLUMN_NAME, scene_name(w, a->call ? a->call : "launch") },
        { TS_COLUMN_CORRELATION, i + 1 },
    };
    const int64_t back = a->back ? a->back : a->queued + 1;
    ts_writer_event(w, TS_EVENT_API_CALL, a->thread ? a->thread : HOST,
                    a->queued, back - a->queued, values, 2);
}

// Row i is launched from the zone "line i", or that of an earlier row.
static inline void scene_operation(ts_writer *w, const act *a, size_t i)
{
    char text[32];
    snprintf(text, sizeof text, "line %zu", a->zone ? a->zone : i);
    const ts_site_entry site = { .name = scene_name(w, text) };
    const ts_launch_entry launch = { .name = scene_name(w, "kernel") };
    ts_writer_value v[16];
    size_t n = 0;
#define PUT(c, x) v[n++] = (ts_writer_value){ TS_COLUMN_##c, x }
    PUT(CORRELATION, i + 1);
    if (a->queued >= 0) PUT(THREAD, a->thread ? a->thread : HOST);
    PUT(SITE, ts_writer_site(w, &site));
    switch ((int)a->kind) {
    case K: PUT(LAUNCH, ts_writer_launch(w, &launch)); break;
    case M:
        PUT(TYPE, a->copy & 15);
        PUT(MEMORY, a->copy >> 4);
        PUT(SOURCE, a->source);
        PUT(ADDRESS, a->address);
        PUT(SIZE, a->size);
        break;
    case Z:
    case GA: PUT(SIZE, a->size); // fall through
    case GF: PUT(ADDRESS, a->address); break;
    case R:
    case ES: PUT(ID, a->id); break;
    case W:
        PUT(ID, a->id);
        PUT(RECORD, a->record);
        break;
    case CO:
        PUT(COMMUNICATOR, a->id);
        PUT(SEQUENCE, a->record);
        break;
    default: break;
    }
#undef PUT
    ts_writer_event(w, a->kind, a->track, a->start, a->end - a->start, v, n);
    if (a->queued >= 0) scene_call(w, a, i);
    const bool described = a->kind == K || a->kind == CO;
    if (described && a->mode) scene_access(w, a, i);
}

static inline void scene_host(ts_writer *w, const act *a)
{
    const ts_writer_value v[] = { { TS_COLUMN_ADDRESS, a->address },
                                  { TS_COLUMN_SIZE, a->size } };
    ts_writer_event(w, a->kind, a->track, a->start, 0, v,
                    a->kind == HA ? 2 : 1);
}

static inline void scene_write(scene *s, const act *acts, size_t count,
                               uint32_t streams)
{
    memset(s, 0, sizeof *s);
    s->acts = acts;
    s->count = count;
    strcpy(s->path, "/tmp/ts_races_XXXXXX");
    const int file = mkstemp(s->path);
    assert_true(file >= 0);
    close(file);
    const ts_writer_desc desc = { .path = s->path };
    ts_writer *w;
    assert_int_equal(TS_OK, ts_writer_open(&w, &desc));
    scene_tracks(w, streams);
    for (size_t i = 0; i < count; i++)
        if (acts[i].kind == AC)
            scene_access(w, &acts[i], i);
        else if (acts[i].kind < TS_EVENT_GPU_FIRST)
            scene_host(w, &acts[i]);
        else
            scene_operation(w, &acts[i], i);
    assert_int_equal(TS_OK, ts_writer_close(w));
}

static inline scene scene_of(const act *acts, size_t count, uint32_t streams)
{
    scene s;
    scene_write(&s, acts, count, streams);
    const ts_reader_desc desc = { .path = s.path };
    assert_int_equal(TS_OK, ts_reader_open(&s.reader, &desc));
    assert_int_equal(TS_OK, ts_replay_open(&s.replay, s.reader, NULL));
    assert_int_equal(TS_OK, ts_races_open(&s.races, s.replay));
    return s;
}
#define SCENE(acts) scene_of(acts, sizeof(acts) / sizeof *(acts), 0)

static inline void scene_close(scene *s)
{
    ts_races_close(s->races);
    ts_replay_close(s->replay);
    ts_reader_close(s->reader);
    unlink(s->path);
}

// The row that a side is.
static inline size_t scene_row(const scene *s, const ts_race_side *side)
{
    ts_operation o;
    if (side->operation != TS_NODE_NONE) {
        assert_true(ts_replay_operation(s->replay, side->operation, &o));
        return o.correlation - 1;
    }
    for (size_t i = 0; i < s->count; i++)
        if (s->acts[i].kind == side->kind && s->acts[i].track == side->track &&
            s->acts[i].start == side->start_ns)
            return i;
    fail_msg("nobody starts at %" PRId64, side->start_ns);
    return 0;
}

static inline const ts_races_stats *scene_stats(const scene *s)
{
    return ts_races_result(s->races);
}

static inline void scene_dump(const scene *s)
{
    ts_race race;
    for (size_t i = 0; ts_races_at(s->races, i, &race); i++)
        print_message("%s: row %zu and row %zu, 0x%" PRIx64 " +%" PRIu64
                      ", %" PRIu64 " times, %s\n",
                      ts_race_name(race.kind), scene_row(s, &race.first),
                      scene_row(s, &race.second), race.address, race.size,
                      race.instances, ts_race_fix_name(race.fix));
}

// No race in these rows.
static inline void scene_clean(const act *acts, size_t count)
{
    scene s = scene_of(acts, count, 0);
    if (scene_stats(&s)->instances) {
        scene_dump(&s);
        fail_msg("there should be no race");
    }
    scene_close(&s);
}
#define CLEAN(acts) scene_clean(acts, sizeof(acts) / sizeof *(acts))

// Exactly one race in these rows, of one instance: of rows a and b.
static inline ts_race scene_race(const act *acts, size_t count,
                                 ts_race_kind kind, size_t a, size_t b)
{
    scene s = scene_of(acts, count, 0);
    ts_race race = { 0 };
    const bool any = ts_races_at(s.races, 0, &race);
    if (!any || scene_stats(&s)->instances != 1 || race.kind != kind ||
        scene_row(&s, &race.first) != a || scene_row(&s, &race.second) != b) {
        scene_dump(&s);
        fail_msg("want one race of %s: rows %zu and %zu", ts_race_name(kind), a,
                 b);
    }
    assert_int_equal(1, scene_stats(&s)->races);
    assert_int_equal(1, race.instances);
    scene_close(&s);
    return race;
}
#define RACE(acts, kind, a, b) \
    scene_race(acts, sizeof(acts) / sizeof *(acts), TS_RACE_##kind, a, b)

#endif // RACES_FORGE_H
