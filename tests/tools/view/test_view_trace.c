/*
    The trace that the transcripts of ts-view and ts-info show,
    tests/cli/view.sbt, is what is written down here.

    UPDATE=1 build/tests/tools/view/test_view_trace writes the file.
*/
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include "tests/unit.h"
#include <stdio.h>

#include "tests/replay/reader/sbt_forge_events.h"

enum { TICK_0 = 1000, MS = 1000000, US = 1000 };
enum {
    PROCESS = 1,
    MAIN,
    WORKER,
    DEVICE,
    CONTEXT,
    UPLOAD,
    COMPUTE,
    HEAP,
    LOAD
};

static const char *const names[] = {
    "game",       "main",
    "worker 1",   "npu",
    "ctx",        "upload",
    "heap",       "bytes",
    "load",       "%",
    "tick",       "update",
    "draw",       "physics",
    "src/loop.c", "main.cpp",
    "mark",       "request",
    "frames",     "host",
    "testbed",    "app",
    "game",       "levels",
    "reduce",     "ns::matmul<float, 4>(float const*, float*)",
};
enum {
    N_GAME = 1,
    N_MAIN,
    N_WORKER,
    N_NPU,
    N_CTX,
    N_UPLOAD,
    N_HEAP,
    N_BYTES,
    N_LOAD,
    N_PERCENT,
    N_TICK,
    N_UPDATE,
    N_DRAW,
    N_PHYSICS,
    N_FILE,
    N_FILE2,
    N_MARK,
    N_REQUEST,
    N_FRAMES,
    N_HOST,
    N_TESTBED,
    N_APP,
    N_APP_NAME,
    N_LEVELS,
    N_REDUCE,
    N_MATMUL
};
enum { S_TICK = 1, S_UPDATE, S_DRAW, S_PHYSICS, S_MARK, S_REQUEST, S_FRAMES };

static void put_dictionaries(forge *f)
{
    static const uint64_t sites[][6] = {
        { N_TICK, 0, N_MAIN, N_FILE, 10, 0 },
        { N_UPDATE, 0, N_MAIN, N_FILE, 12, 0 },
        { N_DRAW, N_LEVELS, N_MAIN, N_FILE, 20, 0x2266CC },
        { N_PHYSICS, 0, 0, N_FILE2, 7, 0 },
        { N_MARK, 0, 0, N_FILE, 30, 0 },
        { N_REQUEST, 0, 0, 0, 0, 0 },
        { N_FRAMES, 0, 0, 0, 0, 0 },
    };
    static const uint64_t launches[][14] = {
        { N_MATMUL, 8, 8, 1, 16, 16, 1, 0, 0, 0, 40, 2048, 0, 0 },
        { N_REDUCE, 64, 1, 1, 256, 1, 1, 0, 0, 0, 16, 0, 512, 0 },
    };
    forge_begin(f, FORGE_NAMES);
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++)
        forge_entry(f, i + 1, names[i], strlen(names[i]));
    forge_end(f);
    forge_begin(f, FORGE_SITES);
    for (uint32_t i = 0; i < sizeof sites / sizeof *sites; i++)
        forge_numbers(f, i + 1, 6, 6, sites[i]);
    forge_end(f);
    forge_begin(f, FORGE_LAUNCHES);
    for (uint32_t i = 0; i < sizeof launches / sizeof *launches; i++)
        forge_numbers(f, i + 1, 14, 14, launches[i]);
    forge_end(f);
}

static void put_tracks(forge *f)
{
    const uint64_t facts[][3] = { { N_HOST, 3, N_TESTBED },
                                  { N_APP, 3, N_APP_NAME } };
    forge_track(f, PROCESS, 1, 0, N_GAME, 0);
    forge_track(f, MAIN, 2, PROCESS, N_MAIN, 0);
    forge_track(f, WORKER, 2, PROCESS, N_WORKER, 0);
    forge_track(f, DEVICE, 3, PROCESS, N_NPU, 0);
    forge_track(f, CONTEXT, 4, DEVICE, N_CTX, 0);
    forge_track(f, UPLOAD, 5, CONTEXT, N_UPLOAD, 0);
    forge_track(f, COMPUTE, 5, CONTEXT, 0, 0); // has a number only
    forge_track(f, HEAP, 6, PROCESS, N_HEAP, N_BYTES);
    forge_track(f, LOAD, 6, PROCESS, N_LOAD, N_PERCENT);
    forge_begin(f, FORGE_METADATA);
    forge_numbers(f, 0, 2, 3, facts[0]);
    forge_numbers(f, 0, 2, 3, facts[1]);
    forge_end(f);
}

// Six ticks of 3 ms, each with an update, in it physics, and a draw.
static void put_main(forge *f)
{
    forge_zone zones[24];
    uint64_t frames[7], sites[7], marks[2];
    uint32_t n = 0;
    for (uint32_t i = 0; i < 6; i++) {
        const uint64_t at = TICK_0 + i * 3 * MS;
        const uint64_t long_draw = i == 3 ? 900 * US : 0;
        zones[n++] = (forge_zone){ at + 200 * US, at + 700 * US, S_PHYSICS };
        zones[n++] = (forge_zone){ at + 100 * US, at + 1000 * US, S_UPDATE };
        zones[n++] =
            (forge_zone){ at + 1100 * US, at + 2000 * US + long_draw, S_DRAW };
        zones[n++] = (forge_zone){ at, at + 2 * MS + 950 * US, S_TICK };
    }
    forge_zones(f, MAIN, FORGE_PACK, zones, n);
    for (uint32_t i = 0; i < 7; i++) {
        frames[i] = TICK_0 + i * 3 * MS;
        sites[i] = S_FRAMES;
    }
    forge_events(f, 7, MAIN, 7, frames[0], frames[6]);
    forge_column(f, 1, FORGE_PACK, FORGE_DELTA, frames);
    forge_column(f, 3, FORGE_PACK, FORGE_PLAIN, sites);
    forge_events_end(f);
    marks[0] = TICK_0 + 4 * MS;
    marks[1] = TICK_0 + 13 * MS;
    sites[0] = sites[1] = S_MARK;
    forge_events(f, 4, MAIN, 2, marks[0], marks[1]);
    forge_column(f, 1, FORGE_PACK, FORGE_DELTA, marks);
    forge_column(f, 3, FORGE_PACK, FORGE_PLAIN, sites);
    forge_events_end(f);
}

// Two hundred short zones, then a gap in which records were lost; a message
// with characters that would steer a terminal, and one that is no UTF-8.
static void put_worker(forge *f)
{
    static const char *const texts[] = { "level \x1b[31m\"2\"", "\xff\\" };
    const uint64_t times[] = { TICK_0 + 2 * MS, TICK_0 + 10 * MS };
    const uint64_t lost[] = {
        1, 0, 1234, TICK_0 + 12 * MS, TICK_0 + 15 * MS, 0
    };
    const uint64_t helped[] = { 64, 0, 3, TICK_0, TICK_0 + MS, 4500 };
    forge_zone zones[200];
    for (uint32_t i = 0; i < 200; i++) {
        const uint64_t at = TICK_0 + MS + i * 50 * US;
        zones[i] = (forge_zone){ at, at + (10 + i % 40) * US, S_PHYSICS };
    }
    forge_zones(f, WORKER, FORGE_PACK, zones, 200);
    forge_events(f, 5, WORKER, 2, times[0], times[1]);
    forge_column(f, 1, FORGE_PACK, FORGE_DELTA, times);
    forge_texts(f, 12, texts);
    forge_events_end(f);
    forge_begin(f, FORGE_LOSS);
    forge_numbers(f, WORKER, 2, 6, lost);
    forge_numbers(f, WORKER, 2, 6, helped);
    forge_end(f);
}

// A span from main to the worker.
static void put_span(forge *f)
{
    const uint64_t start = TICK_0 + 2 * MS, end = TICK_0 + 8 * MS, id = 77;
    const uint64_t phases[] = { 1, 3 }, site = S_REQUEST;
    forge_events(f, 11, MAIN, 1, start, start);
    forge_column(f, 1, FORGE_PACK, FORGE_DELTA, &start);
    forge_column(f, 18, FORGE_PACK, FORGE_PLAIN, &id);
    forge_column(f, 19, FORGE_PACK, FORGE_PLAIN, &phases[0]);
    forge_column(f, 3, FORGE_PACK, FORGE_PLAIN, &site);
    forge_events_end(f);
    forge_events(f, 11, WORKER, 1, end, end);
    forge_column(f, 1, FORGE_PACK, FORGE_DELTA, &end);
    forge_column(f, 18, FORGE_PACK, FORGE_PLAIN, &id);
    forge_column(f, 19, FORGE_PACK, FORGE_PLAIN, &phases[1]);
    forge_events_end(f);
}

// A copy on one stream, for which a kernel of the other one waits.
static void put_device(forge *f)
{
    enum { COUNT = 6 };
    uint64_t copy[COUNT], kernel[COUNT], wait[COUNT], copy_ns[COUNT],
        kernel_ns[COUNT], wait_ns[COUNT], launch[COUNT], size[COUNT],
        type[COUNT], thread[COUNT], correlation[COUNT];
    for (uint64_t i = 0; i < COUNT; i++) {
        copy[i] = TICK_0 + i * 3 * MS + 500 * US;
        copy_ns[i] = 600 * US;
        wait[i] = copy[i] - 200 * US;
        wait_ns[i] = 800 * US;
        kernel[i] = copy[i] + 600 * US;
        kernel_ns[i] = (900 + 100 * i) * US;
        launch[i] = i % 3 == 2 ? 2 : 1;
        size[i] = UINT64_C(65536) << i % 4;
        type[i] = 1;
        thread[i] = MAIN;
        correlation[i] = 100 + i;
    }
    forge_events(f, 17, UPLOAD, COUNT, copy[0], copy[5] + copy_ns[5]);
    forge_column(f, 1, FORGE_PACK, FORGE_DELTA, copy);
    forge_column(f, 2, FORGE_PACK, FORGE_PLAIN, copy_ns);
    forge_column(f, 10, FORGE_PACK, FORGE_PLAIN, type);
    forge_column(f, 14, FORGE_PACK, FORGE_PLAIN, size);
    forge_events_end(f);
    forge_events(f, 20, COMPUTE, COUNT, wait[0], wait[5] + wait_ns[5]);
    forge_column(f, 1, FORGE_PACK, FORGE_DELTA, wait);
    forge_column(f, 2, FORGE_PACK, FORGE_PLAIN, wait_ns);
    forge_events_end(f);
    forge_events(f, 16, COMPUTE, COUNT, kernel[0], kernel[5] + kernel_ns[5]);
    forge_column(f, 1, FORGE_PACK, FORGE_DELTA, kernel);
    forge_column(f, 2, FORGE_PACK, FORGE_PLAIN, kernel_ns);
    forge_column(f, 20, FORGE_PACK, FORGE_PLAIN, correlation);
    forge_column(f, 24, FORGE_PACK, FORGE_PLAIN, thread);
    forge_column(f, 25, FORGE_PACK, FORGE_PLAIN, launch);
    forge_events_end(f);
}

static void put_counters(forge *f)
{
    uint64_t times[20], types[20], values[20];
    for (uint64_t i = 0; i < 20; i++) {
        times[i] = TICK_0 + i * 900 * US;
        types[i] = 1;
        values[i] = 1048576 * (1 + i % 8);
    }
    forge_events(f, 6, HEAP, 20, times[0], times[19]);
    forge_column(f, 1, FORGE_PACK, FORGE_DELTA, times);
    forge_column(f, 10, FORGE_PACK, FORGE_PLAIN, types);
    forge_column(f, 11, FORGE_PACK, FORGE_PLAIN, values);
    forge_events_end(f);
    for (uint64_t i = 0; i < 20; i++) {
        const double share = i < 10 ? 12.5 * (double)i : 100 - 4.5 * (double)i;
        types[i] = 2;
        memcpy(&values[i], &share, sizeof share);
    }
    forge_events(f, 6, LOAD, 20, times[0], times[19]);
    forge_column(f, 1, FORGE_PACK, FORGE_DELTA, times);
    forge_column(f, 10, FORGE_PACK, FORGE_PLAIN, types);
    forge_column(f, 11, FORGE_PLANES, FORGE_PLAIN, values);
    forge_events_end(f);
}

static void put_all(forge *f)
{
    forge_open(f, TICK_0);
    forge_sample(f, 0, 4, TICK_0, 500, UINT64_C(1700000000000000000));
    put_dictionaries(f);
    put_tracks(f);
    put_main(f);
    put_worker(f);
    put_span(f);
    put_device(f);
    put_counters(f);
    forge_finish(f);
}

UNIT_TEST(the_trace_of_the_transcripts_is_what_is_written_here)
{
    static const char path[] = "tests/cli/view.sbt";
    static uint8_t bytes[1 << 16];
    const char *const update = getenv("UPDATE");
    forge f;
    put_all(&f);
    FILE *const file = fopen(path, update ? "w+b" : "rb");
    assert_non_null(file);
    if (update) assert_int_equal(f.size, fwrite(f.bytes, 1, f.size, file));
    rewind(file);
    assert_int_equal(f.size, fread(bytes, 1, sizeof bytes, file));
    assert_memory_equal(bytes, f.bytes, f.size);
    fclose(file);
    forge_close(&f);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
