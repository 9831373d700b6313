/*
    test_replay_traces.c - the traces that tests/cli/replay-*.test replay

    They lie beside the transcripts. UPDATE=1 writes them again.
*/
#include "tests/replay/graph/replay_forge.h"

static void name_tracks(forge *f, const char *const *names, size_t count,
                        const uint64_t (*tracks)[5])
{
    forge_begin(f, FORGE_NAMES);
    for (size_t i = 0; i < count; i++)
        forge_entry(f, (uint32_t)i + 1, names[i], strlen(names[i]));
    forge_end(f);
    forge_begin(f, FORGE_TRACKS);
    for (size_t i = 0; tracks[i][0]; i++) {
        const uint64_t values[] = { tracks[i][1], tracks[i][2],
                                    tracks[i][3], 0,
                                    tracks[i][4], 0 };
        forge_numbers(f, (uint32_t)tracks[i][0], 4, 6, values);
    }
    forge_end(f);
}

// Two devices, four streams; both devices have a stream 2.
static void begin(forge *f)
{
    static const char *const names[] = { "left",    "right",   "upload",
                                         "compute", "produce", "consume" };
    static const uint64_t tracks[][5] = {
        // id, type, parent, name, number
        { HOST, 2, 0, 0, 4242 }, { D0, 3, 0, 1, 0 },
        { D1, 3, 0, 2, 1 },      { S0, 5, D0, 3, 1 },
        { S0 + 1, 5, D0, 4, 2 }, { T0, 5, D1, 4, 2 },
        { T0 + 1, 5, D1, 0, 7 }, { 0 }
    };
    forge_open(f, 0);
    name_tracks(f, names, sizeof names / sizeof *names, tracks);
    forge_begin(f, FORGE_LAUNCHES);
    for (uint32_t i = 1; i <= 2; i++) {
        const uint64_t values[14] = { 4 + i, 8, 1, 1, 64, 1, 1 };
        forge_numbers(f, i, 14, 14, values);
    }
    forge_end(f);
    forge_sample(f, 0, TS_CLOCK_MONOTONIC_RAW, 0, 0, 1);
}

static void add_all(forge *f, const op *ops, size_t count)
{
    for (uint8_t kind = TS_EVENT_GPU_FIRST; kind < TS_EVENT_LIMIT; kind++)
        add_kind(f, ops, count, kind, false);
}

#define US(n) ((n)*UINT64_C(1000))
static const op two[] = {
    { TS_EVENT_MEMCPY, S0, US(10), US(40), US(5), 1, 0, 0, HOST },
    { R, S0, US(40), US(40), US(6), 2, 1, 0, HOST },
    { TS_EVENT_MEMCPY, S0, US(40), US(70), US(7), 3, 0, 0, HOST },
    { W, S0 + 1, US(9), US(41), US(8), 4, 1, 0, HOST },
    { K, S0 + 1, US(42), US(90), US(9), 5, 1, 0, HOST },
    { R, S0 + 1, US(90), US(90), US(10), 6, 2, 0, HOST },
    { W, T0, US(12), US(91), US(11), 7, 2, 0, HOST },
    { K, T0, US(92), US(130), US(12), 8, 2, 0, HOST },
    { K, T0, US(130), US(150), US(13), 9, 2, 0, HOST },
    { K, T0 + 1, US(20), US(60), US(14), 10, 2, 0, HOST },
    { DS, D1, US(15), US(152), US(15), 11, 0, 0, HOST },
    { K, S0 + 1, US(155), US(160), US(153), 12, 1, 0, HOST },
};

static void forge_two(forge *f)
{
    begin(f);
    add_all(f, two, sizeof two / sizeof *two);
}

static void forge_cycle(forge *f)
{
    static const op ops[] = {
        { W, S0, US(1), US(5), US(1), 11, 1, 24, HOST },
        { R, S0, US(6), US(6), US(2), 12, 2, 0, HOST },
        { W, S0 + 1, US(1), US(5), US(3), 13, 2, 12, HOST },
        { R, S0 + 1, US(6), US(6), US(4), 24, 1, 0, HOST },
        { K, S0 + 1, US(7), US(9), US(5), 14, 1, 0, HOST },
        { K, T0, US(7), US(9), US(6), 15, 2, 0, HOST },
    };
    begin(f);
    add_all(f, ops, sizeof ops / sizeof *ops);
}

static void forge_cpu(forge *f)
{
    const call calls[] = { { HOST, US(1), US(2), 0 } };
    begin(f);
    add_calls(f, calls, 1);
}

// Records were lost, a chunk is damaged, an event was never recorded.
static void forge_lossy(forge *f)
{
    begin(f);
    const uint64_t loss[] = { 1, 0, 17, US(30), US(35), 0 };
    forge_begin(f, FORGE_LOSS);
    forge_numbers(f, HOST, 2, 6, loss);
    forge_end(f);
    const size_t count = sizeof two / sizeof *two;
    for (uint8_t kind = TS_EVENT_GPU_FIRST; kind < TS_EVENT_LIMIT; kind++) {
        const size_t before = f->size;
        add_kind(f, two, count, kind, false);
        if (kind == R) f->file.bytes[before + 100] ^= 1;
    }
}

// Events of a kind of a later version; a kernel whose launch is not defined.
static void forge_future(forge *f)
{
    const uint64_t starts[] = { US(1), US(2) };
    const op ops[] = { { K, S0, US(10), US(20), US(5), 1, 77, 0, HOST } };
    begin(f);
    forge_events(f, 60, HOST, 2, US(1), US(2));
    forge_column(f, 1, FORGE_PACK, FORGE_DELTA, starts);
    forge_events_end(f);
    add_all(f, ops, 1);
}

static void compare(const char *path, void (*make)(forge *f))
{
    forge f;
    make(&f);
    forge_finish(&f);
    const char *const update = getenv("UPDATE");
    if (update && *update) {
        FILE *const out = fopen(path, "wb");
        assert_non_null(out);
        assert_int_equal(f.size, fwrite(f.bytes, 1, f.size, out));
        assert_int_equal(0, fclose(out));
    }
    static uint8_t bytes[1 << 16];
    FILE *const in = fopen(path, "rb");
    if (!in) fail_msg("%s is missing; UPDATE=1 writes it", path);
    const size_t size = fread(bytes, 1, sizeof bytes, in);
    fclose(in);
    assert_int_equal(f.size, size);
    assert_memory_equal(f.bytes, bytes, size);
    forge_close(&f);
}

UNIT_TEST(the_traces_of_the_transcripts_are_these)
{
    compare("tests/cli/replay-two.sbt", forge_two);
    compare("tests/cli/replay-circle.sbt", forge_cycle);
    compare("tests/cli/replay-cpu.sbt", forge_cpu);
    compare("tests/cli/replay-lossy.sbt", forge_lossy);
    compare("tests/cli/future.sbt", forge_future);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
