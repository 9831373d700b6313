/*
    replay_forge.h - hand-made GPU work, replayed

    Tracks of every trace made here, by id:

        1       a process
        2, 3    its threads
        10      device 0      20      device 1
        11      its context   21      its context
        100...  streams 0, 1, ... of device 0, 200... of device 1
        190     legacy default stream of device 0, 191 a non-blocking one,
        192     one that is out of order

    Operations are rows of `op`. replay_open lays them out in chunks; its
    `layout` permutes them in ways that must not matter.
*/
#ifndef REPLAY_FORGE_H
#define REPLAY_FORGE_H

#include "tests/replay/reader/sbt_forge_events.h"
#include "tools/replay/replay.h"
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include "tests/unit.h"

// Rows give only the columns that matter to them.
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

enum { PROCESS = 1, HOST = 2, OTHER = 3 };
enum { D0 = 10, C0 = 11, S0 = 100, LEGACY = 190, FREE = 191, ANY = 192 };
enum { D1 = 20, C1 = 21, T0 = 200 };
#define UNKNOWN UINT64_MAX

typedef struct op {
    uint8_t kind;
    uint32_t track;
    uint64_t start, end;
    uint64_t queued; // UNKNOWN: not recorded
    uint64_t correlation;
    uint64_t id, record; // of an event; a kernel's id is its launch
    uint32_t thread;
    // Of collectives, copies and host functions.
    const char *name;
    uint64_t communicator, sequence, size, ranks, peer, type, memory;
} op;

typedef struct call {
    uint32_t thread;
    uint64_t start, end, correlation;
    const char *name; // NULL: not known
    uint64_t result;
} call;

typedef struct fixture {
    forge f;
    ts_reader *reader;
    ts_replay *replay;
} fixture;

static inline void add_track(forge *f, uint32_t id, uint8_t type,
                             uint32_t parent, uint64_t number, uint64_t flags)
{
    const uint64_t values[] = { type, parent, 0, 0, number, flags };
    forge_numbers(f, id, 4, 6, values);
}

static inline void add_tracks(forge *f, uint32_t streams)
{
    forge_begin(f, FORGE_TRACKS);
    add_track(f, PROCESS, 1, 0, 4242, 0);
    add_track(f, HOST, 2, PROCESS, 1, 0);
    add_track(f, OTHER, 2, PROCESS, 2, 0);
    for (uint32_t d = 0; d < 4; d++) {
        add_track(f, D0 + 10 * d, 3, PROCESS, d, 0);
        add_track(f, C0 + 10 * d, 4, D0 + 10 * d, 1, 0);
        for (uint32_t s = 0; s < 8; s++)
            add_track(f, S0 + 100 * d + s, 5, C0 + 10 * d, s, 0);
    }
    add_track(f, LEGACY, 5, C0, 90, TS_STREAM_LEGACY_DEFAULT);
    add_track(f, FREE, 5, C0, 91, TS_STREAM_NON_BLOCKING);
    add_track(f, ANY, 5, C0, 92,
              TS_STREAM_NON_BLOCKING | TS_STREAM_OUT_OF_ORDER);
    for (uint32_t s = 0; s < streams; s++)
        add_track(f, 1000 + s, 5, C0, 1000 + s, 0);
    forge_end(f);
}

static inline void add_column(forge *f, uint8_t column, uint64_t *values)
{
    forge_column(f, column, FORGE_PLANES, FORGE_PLAIN, values);
}

// A column that is left out if all of it is unknown.
static inline void add_rare(forge *f, uint8_t column, uint64_t *values)
{
    bool any = false;
    for (uint32_t i = 0; i < f->next.count; i++)
        any |= values[i] != 0;
    if (any) add_column(f, column, values);
}

// Numbers of names, the same in every trace made here.
enum { NAMES = 64 };
static const char *forged_names[NAMES];
static inline uint64_t name_of(const char *text)
{
    size_t i = 0;
    if (!text) return 0;
    while (i < NAMES && forged_names[i] && strcmp(forged_names[i], text))
        i++;
    if (i == NAMES) abort();
    forged_names[i] = text;
    return i + 1;
}

static inline void add_names(forge *f)
{
    if (!forged_names[0]) return;
    forge_begin(f, FORGE_NAMES);
    for (uint32_t i = 0; i < NAMES && forged_names[i]; i++)
        forge_entry(f, i + 1, forged_names[i], strlen(forged_names[i]));
    forge_end(f);
}

// The operations of one kind as one chunk, first to last or last to first.
static inline void add_kind(forge *f, const op *ops, size_t count, uint8_t kind,
                            bool backwards)
{
    enum { COMMON = 8, COLUMNS = 16 };
    const uint8_t columns[COLUMNS] = {
        1,  2,  7,  20, 22, 24, kind == TS_EVENT_KERNEL ? 25 : 18, 31, 9, 32,
        33, 14, 34, 30, 10, 29
    };
    uint64_t *const values = calloc(COLUMNS * count + 1, sizeof *values);
    uint32_t n = 0;
    uint64_t first = UINT64_MAX, last = 0;
    if (!values) abort();
    for (size_t k = 0; k < count; k++) {
        const op *const o = &ops[backwards ? count - 1 - k : k];
        if (o->kind != kind) continue;
        const uint64_t row[COLUMNS] = { o->start,
                                        o->end - o->start,
                                        o->track,
                                        o->correlation,
                                        o->queued == UNKNOWN
                                            ? 0
                                            : o->start - o->queued + 1,
                                        o->thread,
                                        o->id,
                                        o->record,
                                        name_of(o->name),
                                        o->communicator,
                                        o->sequence,
                                        o->size,
                                        o->ranks,
                                        o->peer,
                                        o->type,
                                        o->memory };
        for (size_t c = 0; c < COLUMNS; c++)
            values[c * count + n] = row[c];
        if (o->start < first) first = o->start;
        if (o->end > last) last = o->end;
        n++;
    }
    if (n) {
        forge_events(f, kind, 0xFFFFFFFF, n, first, last);
        for (size_t c = 0; c < COLUMNS; c++)
            (c < COMMON ? add_column : add_rare)(f, columns[c],
                                                 values + c * count);
        forge_events_end(f);
    }
    free(values);
}

static inline void add_calls(forge *f, const call *calls, uint32_t count)
{
    enum { COMMON = 4, COLUMNS = 6 };
    const uint8_t columns[COLUMNS] = { 1, 2, 7, 20, 9, 21 };
    uint64_t *const values = calloc(COLUMNS * (size_t)count + 1, 8);
    uint64_t first = UINT64_MAX, last = 0;
    if (!values) abort();
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t row[COLUMNS] = {
            calls[i].start,         calls[i].end - calls[i].start,
            calls[i].thread,        calls[i].correlation,
            name_of(calls[i].name), calls[i].result
        };
        for (size_t c = 0; c < COLUMNS; c++)
            values[c * count + i] = row[c];
        if (calls[i].start < first) first = calls[i].start;
        if (calls[i].end > last) last = calls[i].end;
    }
    if (count) {
        forge_events(f, TS_EVENT_API_CALL, 0xFFFFFFFF, count, first, last);
        for (size_t c = 0; c < COLUMNS; c++)
            (c < COMMON ? add_column : add_rare)(f, columns[c],
                                                 values + c * count);
        forge_events_end(f);
    }
    free(values);
}

// A dependency of the source: correlation `to` comes after `from`.
typedef struct dependency {
    uint64_t from, to;
} dependency;

static inline void add_dependencies(forge *f, const dependency *deps,
                                    uint32_t count)
{
    enum { COLUMNS = 3 };
    const uint8_t columns[COLUMNS] = { 1, 31, 20 };
    uint64_t *const values = calloc(COLUMNS * (size_t)count + 1, 8);
    if (!values) abort();
    for (uint32_t i = 0; i < count; i++) {
        values[count + i] = deps[i].from;
        values[2 * (size_t)count + i] = deps[i].to;
    }
    forge_events(f, TS_EVENT_DEPENDENCY, HOST, count, 0, 0);
    for (size_t c = 0; c < COLUMNS; c++)
        add_column(f, columns[c], values + c * count);
    forge_events_end(f);
    free(values);
}

static inline void work_begin(fixture *x, uint32_t streams)
{
    memset(x, 0, sizeof *x);
    forge_open(&x->f, 0);
    add_tracks(&x->f, streams);
    forge_sample(&x->f, 0, TS_CLOCK_MONOTONIC_RAW, 0, 0, 1);
}

// The Unix time at which a trace begins; 0: it does not know.
static inline void work_started(fixture *x, uint64_t realtime_ns)
{
    forge_set(x->f.file.bytes + 40, realtime_ns, 8);
    forge_seal_header(x->f.file.bytes);
}

static inline void work_fact(fixture *x, uint32_t name, const char *key,
                             uint64_t value)
{
    forge_name(&x->f, name, key);
    const uint64_t values[] = { name, TS_VALUE_INT, value };
    forge_begin(&x->f, FORGE_METADATA);
    forge_numbers(&x->f, 0, 2, 3, values);
    forge_end(&x->f);
}

// The number of the process among those of its job.
static inline void work_rank(fixture *x, uint64_t rank)
{
    work_fact(x, 900, "rank", rank);
}

static inline void work_read(fixture *x)
{
    forge_finish(&x->f);
    const ts_reader_desc reader = { .bytes = x->f.bytes, .size = x->f.size };
    assert_int_equal(TS_OK, ts_reader_open(&x->reader, &reader));
}

static inline void work_open(fixture *x, const ts_replay_desc *desc)
{
    work_read(x);
    assert_int_equal(TS_OK, ts_replay_open(&x->replay, x->reader, desc));
}

static inline void work_add(fixture *x, const op *ops, size_t count,
                            const call *calls, uint32_t call_count, int layout)
{
    for (size_t i = 0; i < count; i++)
        name_of(ops[i].name);
    for (size_t i = 0; i < call_count; i++)
        name_of(calls[i].name);
    add_names(&x->f);
    add_calls(&x->f, calls, call_count);
    for (int k = TS_EVENT_GPU_FIRST; k < TS_EVENT_LIMIT; k++)
        add_kind(&x->f, ops, count,
                 (uint8_t)(layout & 1
                               ? TS_EVENT_LIMIT - 1 + TS_EVENT_GPU_FIRST - k
                               : k),
                 layout & 2);
}

static inline fixture work_with(const op *ops, size_t count, const call *calls,
                                uint32_t call_count, const ts_replay_desc *desc,
                                int layout)
{
    fixture x;
    work_begin(&x, 0);
    work_add(&x, ops, count, calls, call_count, layout);
    work_open(&x, desc);
    return x;
}

// One of several traces; work_join opens the replay in the first.
static inline fixture work_part(const op *ops, size_t count, const call *calls,
                                uint32_t call_count, uint64_t realtime_ns)
{
    fixture x;
    work_begin(&x, 0);
    work_started(&x, realtime_ns);
    work_add(&x, ops, count, calls, call_count, 0);
    work_read(&x);
    return x;
}
#define PART(ops, realtime_ns) \
    work_part(ops, sizeof(ops) / sizeof *(ops), NULL, 0, realtime_ns)

static inline void work_join(fixture *parts, size_t count,
                             const ts_replay_desc *desc)
{
    ts_replay_desc joint = { 0 };
    ts_reader *more[16];
    if (desc) joint = *desc;
    for (size_t i = 1; i < count; i++)
        more[i - 1] = parts[i].reader;
    joint.more = more;
    joint.more_count = count - 1;
    assert_int_equal(TS_OK,
                     ts_replay_open(&parts[0].replay, parts[0].reader, &joint));
}
#define WORK(ops) work_with(ops, sizeof(ops) / sizeof *(ops), NULL, 0, NULL, 0)
#define WORK_CALLS(ops, calls) \
    work_with(ops, sizeof(ops) / sizeof *(ops), calls, \
              sizeof(calls) / sizeof *(calls), NULL, 0)
#define WORK_DESC(ops, desc) \
    work_with(ops, sizeof(ops) / sizeof *(ops), NULL, 0, desc, 0)

static inline void work_close(fixture *x)
{
    ts_replay_close(x->replay);
    ts_reader_close(x->reader);
    forge_close(&x->f);
}

static inline const ts_replay_stats *stats(const fixture *x)
{
    return ts_replay_result(x->replay);
}

// Replays as recorded: every time must be as it was.
static inline void work_same(fixture *x)
{
    assert_int_equal(TS_OK, ts_replay_run(x->replay, NULL));
    assert_int_equal(0, stats(x)->different);
    assert_int_equal(0, stats(x)->start_error_max_ns);
    assert_int_equal(stats(x)->recorded_start_ns, stats(x)->start_ns);
    assert_int_equal(stats(x)->recorded_end_ns, stats(x)->end_ns);
}

// What stands for a track of a further file below.
#define OF(file, track) ((uint32_t)(file) << 16 | (track))

// The operation on a track whose recorded start is the given one.
static inline uint32_t work_find(const fixture *x, uint32_t track,
                                 int64_t start)
{
    ts_operation o;
    for (uint32_t i = 0; ts_replay_operation(x->replay, i, &o); i++)
        if (OF(o.file, o.track) == track && o.recorded_start_ns == start)
            return i;
    fail_msg("nothing on track %" PRIu32 " starts at %" PRId64, track, start);
    return 0;
}

// Runs as recorded, then with one duration changed.
static inline void work_change(fixture *x, uint32_t track, int64_t start,
                               int64_t duration)
{
    int64_t durations[4096];
    ts_operation o;
    work_same(x);
    for (uint32_t i = 0; ts_replay_operation(x->replay, i, &o); i++)
        durations[i] = o.recorded_end_ns - o.recorded_start_ns;
    durations[work_find(x, track, start)] = duration;
    const ts_replay_run_desc desc = { .durations_ns = durations };
    assert_int_equal(TS_OK, ts_replay_run(x->replay, &desc));
}

// When the operation that was recorded at `start` begins now.
static inline int64_t work_start_of(const fixture *x, uint32_t track,
                                    int64_t start)
{
    ts_operation o;
    assert_true(ts_replay_operation(x->replay, work_find(x, track, start), &o));
    return o.start_ns;
}

// What became of the operation that was recorded at `start`.
static inline void work_expect(const fixture *x, uint32_t track, int64_t start,
                               int64_t new_start, int64_t new_end)
{
    ts_operation o;
    assert_true(ts_replay_operation(x->replay, work_find(x, track, start), &o));
    assert_int_equal(new_start, o.start_ns);
    assert_int_equal(new_end, o.end_ns);
}

// An allocator that fails once, after `left` allocations. Later ones succeed,
// so that code that ignores the failure is not stopped by the next one. A
// failure to shrink may be ignored.
typedef struct budget {
    size_t left, held;
    bool refused, failed;
} budget;

static inline void *budget_resize(void *user, void *ptr, size_t old_size,
                                  size_t new_size)
{
    budget *const b = user;
    if (!new_size) {
        b->held -= old_size;
        free(ptr);
        return NULL;
    }
    if (b->left-- == 0) {
        b->refused = true;
        b->failed = new_size > old_size;
        return NULL;
    }
    void *const block = realloc(ptr, new_size);
    if (block) b->held += new_size - old_size;
    return block;
}

#define K  TS_EVENT_KERNEL
#define R  TS_EVENT_EVENT_RECORD
#define W  TS_EVENT_EVENT_WAIT
#define SS TS_EVENT_STREAM_SYNC
#define DS TS_EVENT_DEVICE_SYNC
#define ES TS_EVENT_EVENT_SYNC

// An event that crosses streams, and a device apart.
__attribute__((unused)) static const op crossing[] = {
    { K, S0, 2, 50, 0, 1, 0, 0, HOST },
    { R, S0, 50, 50, 1, 2, 7, 0, HOST },
    { W, S0 + 1, 5, 52, 2, 3, 7, 0, HOST },
    { K, S0 + 1, 55, 60, 3, 4, 0, 0, HOST },
    { K, T0, 4, 9, 4, 5, 0, 0, OTHER },
};

#endif // REPLAY_FORGE_H
