/*
    test_waits_trace.c - a trace with all causes why a device is idle,
    tests/cli/waits.sbt, for the transcripts `waits` and `mcp-waits`

    UPDATE=1 writes the file. Times are in microseconds; the second device
    waits for the first, for the host, and for nothing that is known.
*/
#include "tests/tools/analyze/time_fixture.h"

enum { US = 1000, DEPTH = 1024 };

static void kernel(made *m, uint32_t stream, const char *name, int64_t from,
                   int64_t to)
{
    made_kernel(m, stream, name, from * US, to * US);
}

static void call(made *m, const char *name, int64_t from, int64_t to)
{
    made_call(m, HOST, name, from * US, to * US);
}

static void launch(made *m, uint32_t stream, const char *name, int64_t at,
                   int64_t from, int64_t to)
{
    call(m, "launch", at, at + 2);
    kernel(m, stream, name, from, to);
}

// The second device's stream waits for what the first was given until now.
static void follow(made *m, uint64_t event, int64_t at, int64_t done)
{
    const ts_writer_value id = { TS_COLUMN_ID, event };
    call(m, "record", at, at + 1);
    made_operation(m, TS_EVENT_EVENT_RECORD, S0, done * US, done * US, &id, 1);
    const ts_writer_value values[] = { { TS_COLUMN_ID, event },
                                       { TS_COLUMN_RECORD, m->correlation } };
    call(m, "wait", at + 1, at + 2);
    made_operation(m, TS_EVENT_EVENT_WAIT, T0, done * US, done * US, values, 2);
}

static void put_other_device(made *m)
{
    launch(m, T0, "first", 0, 8, 12);
    call(m, "copy", 3, 5);
    const ts_writer_value copy[] = { { TS_COLUMN_SIZE, 65536 },
                                     { TS_COLUMN_TYPE, 1 } };
    made_operation(m, TS_EVENT_MEMCPY, S0, 20 * US, 90 * US, copy, 2);
    follow(m, 1, 6, 90);
    launch(m, T0, "after copy", 9, 92, 96);
    launch(m, S0, "long", 12, 100, 150);
    follow(m, 2, 15, 150);
    launch(m, T0, "after kernel", 18, 152, 156);
    call(m, "reduce", 21, 23);
    const ts_writer_value reduce[] = {
        { TS_COLUMN_NAME, made_name(m, "reduce") },
        { TS_COLUMN_COMMUNICATOR, 7 },
        { TS_COLUMN_SEQUENCE, 1 },
        { TS_COLUMN_RANKS, 2 },
    };
    made_operation(m, TS_EVENT_COLLECTIVE, S0, 160 * US, 200 * US, reduce, 4);
    follow(m, 3, 24, 200);
    launch(m, T0, "after collective", 27, 202, 210);
}

static void put_host(made *m)
{
    made_zone(m, HOST, "prepare", 215 * US, 290 * US);
    launch(m, T0, "late", 300, 305, 310);
    call(m, "slow launch", 330, 350);
    kernel(m, T0, "of a slow launch", 352, 400);
    call(m, "launch", 380, 404);
    kernel(m, T1, "on its way", 406, 450);
    launch(m, T1, "at once", 410, 453, 460);
    call(m, "synchronize", 411, 520);
    made_operation(m, TS_EVENT_STREAM_SYNC, T1, 412 * US, 515 * US, NULL, 0);
    launch(m, T1, "after synchronize", 522, 528, 540);
}

static void put_host_function(made *m)
{
    call(m, "launch host", 534, 535);
    made_operation(m, TS_EVENT_HOST_FUNCTION, T1, 545 * US, 590 * US, NULL, 0);
    launch(m, T1, "after host function", 536, 592, 600);
    launch(m, T1, "ready long before", 538, 3000, 3010);
}

// Without its call: only when it was queued is known, as ns before its start.
static void put_queued(made *m, uint32_t stream, const char *name,
                       int64_t queued, int64_t from, int64_t to)
{
    const ts_launch_entry entry = { .name = made_name(m, name),
                                    .grid = { 1, 1, 1 },
                                    .block = { 32, 1, 1 } };
    const ts_writer_value values[] = {
        { TS_COLUMN_LAUNCH, ts_writer_launch(m->w, &entry) },
        { TS_COLUMN_QUEUED, (uint64_t)((from - queued) * US + 1) },
    };
    ts_writer_event(m->w, TS_EVENT_KERNEL, stream, from * US, (to - from) * US,
                    values, 2);
}

// The last launch waits for room in the queue of a stream.
static void put_full_queue(made *m)
{
    const int64_t from = 5000;
    launch(m, T1, "before", from - 50, from - 40, from);
    for (int64_t i = 0; i <= DEPTH; i++) {
        const bool last = i == DEPTH;
        made_call(m, HOST, "launch", (from - 30) * US + 20 * i,
                  last ? (from + 30) * US : (from - 30) * US + 20 * i + 10);
        kernel(m, S0, "small", i ? from + 90 + i : from + 30,
               i ? from + 91 + i : from + 90);
    }
    launch(m, T1, "after a full queue", from + 31, from + 34, from + 40);
}

static void put_all(made *m)
{
    put_other_device(m);
    put_host(m);
    put_host_function(m);
    put_queued(m, T1, "queued late", 3020, 3030, 3040);
    put_queued(m, T0, "queued early", 3035, 3046, 3050);
    put_full_queue(m);
}

static size_t read_file(const char *path, uint8_t *bytes, size_t room)
{
    FILE *const in = fopen(path, "rb");
    if (!in) fail_msg("%s is missing; UPDATE=1 writes it", path);
    const size_t size = fread(bytes, 1, room, in);
    fclose(in);
    return size;
}

UNIT_TEST(the_trace_of_the_transcripts_is_this)
{
    static const char path[] = "tests/cli/waits.sbt";
    static uint8_t wanted[1 << 17], there[1 << 17];
    const char *const update = getenv("UPDATE");
    made m;
    made_path(&m);
    const ts_writer_desc desc = { .path = m.path, .session = "waits" };
    made_tracks(&m, &desc);
    put_all(&m);
    assert_int_equal(TS_OK, ts_writer_close(m.w));
    const size_t size = read_file(m.path, wanted, sizeof wanted);
    unlink(m.path);
    if (update && *update) {
        FILE *const out = fopen(path, "wb");
        assert_non_null(out);
        assert_int_equal(size, fwrite(wanted, 1, size, out));
        assert_int_equal(0, fclose(out));
    }
    assert_int_equal(size, read_file(path, there, sizeof there));
    assert_memory_equal(wanted, there, size);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
