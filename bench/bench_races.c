/*
    bench_races.c - how long the search for races takes

    In each step a stream copies into its buffer, waits for the stream before
    it, and runs a kernel that reads that stream's buffer and a shared range,
    and writes its own buffer. One wait in 1,000 is missing.
*/
#define TRACESMITH_WRITER
#include "bench/bench.h"

enum { ROUNDS = 3, BUFFER = 4096, FIRST = 1000 };

typedef struct making {
    ts_writer *w;
    uint32_t streams, launch;
    uint64_t correlation;
    int64_t host; // time of the launching thread
} making;

static void put(making *m, ts_event_kind kind, uint32_t stream, int64_t start,
                const ts_writer_value *more, size_t count)
{
    ts_writer_value v[12] = { { TS_COLUMN_CORRELATION, ++m->correlation },
                              { TS_COLUMN_THREAD, 2 } };
    memcpy(v + 2, more, count * sizeof *v);
    const ts_writer_value call[] = { v[0] };
    ts_writer_event(m->w, TS_EVENT_API_CALL, 2, m->host, 1, call, 1);
    ts_writer_event(m->w, kind, FIRST + stream, start,
                    kind == TS_EVENT_EVENT_RECORD ? 0 : 8, v, count + 2);
    m->host += 2;
}

static void touch(making *m, uint32_t stream, uint64_t address, uint64_t mode)
{
    const ts_writer_value v[] = { { TS_COLUMN_ADDRESS, address },
                                  { TS_COLUMN_SIZE, BUFFER },
                                  { TS_COLUMN_TYPE, mode },
                                  { TS_COLUMN_CORRELATION, m->correlation } };
    ts_writer_event(m->w, TS_EVENT_ACCESS, FIRST + stream, m->host, 0, v, 4);
}

static uint64_t buffer(uint32_t stream)
{
    return UINT64_C(0x100000) + (uint64_t)stream * BUFFER;
}

// Makes the five operations of one step.
static void step(making *m, uint64_t n)
{
    const uint32_t stream = (uint32_t)(n % m->streams);
    const uint32_t before = (stream + m->streams - 1) % m->streams;
    const int64_t at = (int64_t)(n / m->streams * m->streams) * 12 + 1000;
    const ts_writer_value copy[] = { { TS_COLUMN_TYPE, 3 },
                                     { TS_COLUMN_SIZE, BUFFER / 2 },
                                     { TS_COLUMN_SOURCE, 0x80000 },
                                     { TS_COLUMN_ADDRESS, buffer(stream) } };
    put(m, TS_EVENT_MEMCPY, stream, at, copy, 4);
    const ts_writer_value own[] = { { TS_COLUMN_ID, 1 + stream } };
    const ts_writer_value wait[] = { { TS_COLUMN_ID, 1 + before } };
    if (n % 1000 != 999) put(m, TS_EVENT_EVENT_WAIT, stream, at + 8, wait, 1);
    const ts_writer_value kernel[] = { { TS_COLUMN_LAUNCH, m->launch } };
    put(m, TS_EVENT_KERNEL, stream, at + 16, kernel, 1);
    touch(m, stream, buffer(before), TS_ACCESS_READ);
    touch(m, stream, 0x80000, TS_ACCESS_READ);
    touch(m, stream, buffer(stream), TS_ACCESS_WRITE);
    put(m, TS_EVENT_EVENT_RECORD, stream, at + 24, own, 1);
    const ts_writer_value set[] = { copy[1], copy[3] };
    put(m, TS_EVENT_MEMSET, stream, at + 24, set, 2);
}

static void make(const char *path, uint32_t streams, uint64_t operations)
{
    const ts_writer_desc desc = { .path = path };
    making m = { .streams = streams };
    bench_need(ts_writer_open(&m.w, &desc), path);
    ts_track_entry track = { .type = TS_TRACK_PROCESS };
    ts_writer_track(m.w, 1, &track);
    track.parent = 1;
    track.type = TS_TRACK_THREAD;
    ts_writer_track(m.w, 2, &track);
    track.type = TS_TRACK_DEVICE;
    ts_writer_track(m.w, 3, &track);
    track.parent = 3;
    track.type = TS_TRACK_STREAM;
    for (track.number = 0; track.number < streams; track.number++)
        ts_writer_track(m.w, FIRST + (uint32_t)track.number, &track);
    const ts_launch_entry launch = { .name = ts_writer_name(m.w, "k", 1) };
    m.launch = ts_writer_launch(m.w, &launch);
    for (uint64_t n = 0; n < operations / 5; n++)
        step(&m, n);
    bench_need(ts_writer_close(m.w), path);
}

static void measure(const char *key, const char *what, uint32_t streams,
                    uint64_t operations, double budget)
{
    const char *const path = bench_path("races.sbt");
    make(path, streams, operations);
    ts_reader *const reader = bench_open(path);
    ts_replay *replay = NULL;
    bench_need(ts_replay_open(&replay, reader, NULL), path);
    double least = INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        ts_races *races = NULL;
        const double begin = bench_process_ns();
        bench_need(ts_races_open(&races, replay), path);
        bench_keep_min(&least, (bench_process_ns() - begin) * 1e-9);
        if (!ts_races_result(races)->instances) exit(1);
        ts_races_close(races);
    }
    const double millions = (double)ts_replay_result(replay)->loaded * 1e-6;
    ts_replay_close(replay);
    ts_reader_close(reader);
    remove(path);
    const bench_row row = { .key = key,
                            .what = what,
                            .figure = least / millions,
                            .unit = "s",
                            .rule = BENCH_FIGURE_MAX,
                            .budget = budget };
    bench_print(&row);
}

int main(int argc, char **argv)
{
    bench_parse(argc, argv);
    const uint64_t operations = bench.quick ? 200000 : 1000000;
    measure("races.64", "races among 1 M operations, 64 streams", 64,
            operations, 3);
    measure("races.1024", "the same, 1,024 streams", 1024, operations, 6);
    return 0;
}
