/*
    fuzz_races.c - whatever touches whatever memory, the search ends and
    agrees with what other orders leave

    Sixteen bytes of input are one thing that happens. Without a race there
    must be no order that leaves another memory, and only one order at all.
*/
#include "tests/replay/reader/sbt_forge_events.h"
#include "tracesmith_replay.h"
#include <stdio.h>

enum { RECORD = 16, MOST = 200, COLUMNS = 13 };

// Which column each value of a row is.
static const uint8_t columns[COLUMNS] = { 1,  2,  7,  20, 22, 24, 13,
                                          14, 28, 10, 29, 18, 31 };
enum { START, DURATION, TRACK, CORRELATION, QUEUED, THREAD, ADDRESS, SIZE };
enum { SOURCE = SIZE + 1, TYPE, MEMORY, ID, NAMED };

typedef struct row {
    uint8_t kind;
    uint64_t v[COLUMNS];
} row;

static const uint8_t kinds[] = {
    TS_EVENT_KERNEL,       TS_EVENT_MEMCPY,      TS_EVENT_MEMSET,
    TS_EVENT_EVENT_RECORD, TS_EVENT_EVENT_WAIT,  TS_EVENT_STREAM_SYNC,
    TS_EVENT_EVENT_SYNC,   TS_EVENT_DEVICE_SYNC, TS_EVENT_GPU_ALLOC,
    TS_EVENT_GPU_FREE,     TS_EVENT_ACCESS,      TS_EVENT_ALLOC,
    TS_EVENT_FREE,         TS_EVENT_API_CALL,    TS_EVENT_COLLECTIVE,
    TS_EVENT_ACCESS,
};

static void check(bool ok, const char *what)
{
    if (ok) return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static row one(const uint8_t *b)
{
    static const uint32_t tracks[] = { 100, 101, 102, 190, 191, 10, 11, 9999 };
    row r = { kinds[b[0] % sizeof kinds], { 0 } };
    const bool host =
        r.kind < TS_EVENT_GPU_FIRST && (r.kind != TS_EVENT_ACCESS || b[1] & 8);
    r.v[START] = b[2] + (uint64_t)(b[3] % 32);
    r.v[DURATION] = b[4] % 64;
    r.v[TRACK] = host ? 2 + b[1] % 2 : tracks[b[1] % 8];
    r.v[CORRELATION] = host && r.kind == TS_EVENT_ACCESS ? 0 : b[5] % 64;
    r.v[QUEUED] = b[6] & 1 ? 0 : r.v[START] - b[2] + 1;
    r.v[THREAD] = b[6] & 2 ? 0 : 2 + (b[6] >> 2) % 2;
    r.v[ADDRESS] = 0x1000 + b[7] % 64;
    r.v[SIZE] = b[8] % 32;
    r.v[SOURCE] = 0x1000 + b[9] % 64;
    if (b[10] == 255) r.v[ADDRESS] = UINT64_MAX - b[7];
    if (b[10] == 254) r.v[SIZE] = UINT64_MAX - b[8];
    r.v[TYPE] = b[10] % 8;
    r.v[MEMORY] = b[11] % 0x44;
    r.v[ID] = b[12] % 8;
    r.v[NAMED] = r.kind == TS_EVENT_EVENT_WAIT && b[12] & 128 ? b[13] : 0;
    return r;
}

static void add_rows(forge *f, const row *rows, size_t count, uint8_t kind)
{
    static uint64_t values[COLUMNS][MOST];
    uint64_t first = UINT64_MAX, last = 0;
    uint32_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (rows[i].kind != kind) continue;
        for (int c = 0; c < COLUMNS; c++)
            values[c][n] = rows[i].v[c];
        const uint64_t end = rows[i].v[START] + rows[i].v[DURATION];
        if (rows[i].v[START] < first) first = rows[i].v[START];
        if (end > last) last = end;
        n++;
    }
    if (!n) return;
    forge_events(f, kind, 0xFFFFFFFF, n, first, last);
    for (int c = 0; c < COLUMNS; c++)
        forge_column(f, columns[c], FORGE_PLANES, FORGE_PLAIN, values[c]);
    forge_events_end(f);
}

static void add_track(forge *f, uint32_t id, uint64_t type, uint32_t parent,
                      uint64_t number, uint64_t flags)
{
    const uint64_t values[] = { type, parent, 0, 0, number, flags };
    forge_numbers(f, id, 4, 6, values);
}

static void look(ts_races *races)
{
    const ts_races_stats *const s = ts_races_result(races);
    const ts_explore_desc desc = { .orders = 24, .seed = s->ranges };
    ts_exploration found;
    ts_race race;
    uint64_t instances = 0;
    for (size_t i = 0; ts_races_at(races, i, &race); i++) {
        instances += race.instances;
        check(race.size && ts_race_side_label(races, &race.first).size,
              "a race of nothing");
    }
    check(instances == s->instances, "the instances do not add up");
    check(s->known <= s->operations, "more is known than there is");
    const ts_result result = ts_races_explore(races, &desc, &found);
    check(result == TS_OK || result == TS_ERR_NOT_FOUND, "exploring fails");
    if (result != TS_OK || s->cycle) return;
    check(s->instances || (!found.differs && found.distinct == 1),
          "orders differ without a race");
}

static void races(ts_reader *reader)
{
    const ts_replay_desc desc = { .threads = 1 };
    ts_replay *replay;
    ts_races *found;
    if (ts_replay_open(&replay, reader, &desc) != TS_OK) return;
    check(ts_races_open(&found, replay) == TS_OK, "the search fails");
    look(found);
    ts_races_close(found);
    ts_replay_close(replay);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static row rows[MOST];
    size_t count = 0;
    for (size_t at = 0; at + RECORD <= size && count < MOST; at += RECORD)
        rows[count++] = one(bytes + at);
    forge f;
    forge_open(&f, 0);
    forge_begin(&f, FORGE_TRACKS);
    add_track(&f, 1, 1, 0, 42, 0);
    add_track(&f, 2, 2, 1, 1, 0);
    add_track(&f, 3, 2, 1, 2, 0);
    add_track(&f, 10, 3, 1, 0, 0);
    add_track(&f, 11, 4, 10, 1, 0);
    for (uint32_t s = 100; s < 103; s++)
        add_track(&f, s, 5, 11, s, 0);
    add_track(&f, 190, 5, 11, 7, TS_STREAM_LEGACY_DEFAULT);
    add_track(&f, 191, 5, 11, 8, TS_STREAM_NON_BLOCKING);
    forge_end(&f);
    forge_sample(&f, 0, TS_CLOCK_MONOTONIC_RAW, 0, 0, 1);
    for (uint8_t kind = 1; kind < TS_EVENT_LIMIT; kind++)
        add_rows(&f, rows, count, kind);
    forge_finish(&f);
    const ts_reader_desc desc = { .bytes = f.bytes,
                                  .size = f.size,
                                  .threads = 1 };
    ts_reader *reader;
    check(ts_reader_open(&reader, &desc) == TS_OK, "a forged trace opens");
    races(reader);
    ts_reader_close(reader);
    forge_close(&f);
    return 0;
}
