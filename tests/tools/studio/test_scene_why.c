/*
    test_scene_why.c - how the page explains operations, gaps and the critical
    path, word for word: test_scene_why.txt
*/
#include "tests/tools/studio/scene_fixture.h"
#include "tools/studio/scene/scene.h"

typedef struct told {
    char text[1 << 16];
    size_t size;
} told;

static void tell(told *to, scene *s, const char *what, scene_ref ref)
{
    scene_reason reasons[SCENE_REASONS];
    const size_t count = scene_why(s, ref, reasons);
    const size_t room = sizeof to->text;
    for (size_t i = 0; i < count && to->size < room; i++)
        to->size +=
            (size_t)snprintf(to->text + to->size, room - to->size, "%s %s%s\n",
                             i ? "    " : what, reasons[i].text,
                             reasons[i].inferred ? " [inferred]" : "");
}

// All that a trace explains, or its gaps.
static void expect(const char *name, ts_reader *reader, bool gaps)
{
    static told all;
    scene *s;
    ts_operation op;
    ts_path path;
    ts_gap gap;
    all = (told){ .size = 0 };
    assert_int_equal(TS_OK, scene_open(&s, reader));
    assert_true(scene_load(s, 0, 100));
    assert_int_equal(TS_OK, scene_graph(s));
    for (size_t i = 0; !gaps && ts_replay_operation(s->replay, i, &op); i++)
        tell(&all, s, "operation:", scene_ref_of_op(s, &op));
    for (size_t d = 0; ts_timeline_device(s->timeline, d); d++)
        for (size_t i = 0; ts_timeline_gap(s->timeline, d, i, &gap); i++)
            tell(&all, s, "gap:", SCENE_REF_GAP | d << 32 | i);
    assert_int_equal(TS_OK, scene_path(s, &path));
    for (size_t i = 0; !gaps && i < s->path.count; i++)
        tell(&all, s, "path:", SCENE_REF_PART | i);
    assert_true(all.size < sizeof all.text);
    report_compare(__FILE__, name, all.text);
    scene_close(s);
}

static void expect_made(const char *name, made *m)
{
    made_read(m);
    expect(name, m->reader, false);
    ts_reader_close(m->reader);
    unlink(m->path);
}

static void expect_file(const char *path, bool gaps)
{
    ts_reader *reader;
    const ts_reader_desc desc = { .path = path };
    assert_int_equal(TS_OK, ts_reader_open(&reader, &desc));
    expect(path, reader, gaps);
    ts_reader_close(reader);
}

UNIT_TEST(two_devices_that_wait_for_each_other)
{
    expect_file("tests/cli/replay-two.sbt", false);
}

UNIT_TEST(each_cause_of_idle_time)
{
    expect_file("tests/cli/waits.sbt", true);
}

UNIT_TEST(a_cycle_and_a_single_rank)
{
    expect_file("tests/cli/replay-circle.sbt", false);
    expect_file("tests/golden/collective.sbt", false);
}

static void wait_for(made *m, ts_event_kind kind, uint32_t track, int64_t from,
                     int64_t to)
{
    made_call(m, HOST, "synchronize", from, to);
    made_operation(m, kind, track, from, to, NULL, 0);
}

// A stream waits for what another has been given until now: two calls of 2 ns.
static void follow(made *m, uint32_t first, uint32_t second, int64_t at,
                   int64_t done)
{
    const ts_writer_value id = { TS_COLUMN_ID, 5 };
    made_call(m, HOST, "record", at, at + 1);
    made_operation(m, TS_EVENT_EVENT_RECORD, first, done, done, &id, 1);
    const ts_writer_value values[] = { { TS_COLUMN_ID, 5 },
                                       { TS_COLUMN_RECORD, m->correlation } };
    made_call(m, HOST, "wait", at + 2, at + 3);
    made_operation(m, TS_EVENT_EVENT_WAIT, second, done, done, values, 2);
}

// A kernel is waited for, then one on another stream, then a copy; the last is
// launched early and starts late.
UNIT_TEST(the_host_and_streams_wait)
{
    made m;
    made_begin(&m, 0);
    made_launch(&m, S0, "a", 0, 10, 50);
    wait_for(&m, TS_EVENT_STREAM_SYNC, S0, 20, 52);
    made_launch(&m, S0, "b", 60, 70, 90);
    follow(&m, S0, S1, 62, 90);
    made_launch(&m, S1, "c", 68, 100, 120);
    made_call(&m, HOST, "copy", 72, 73);
    const ts_writer_value size = { TS_COLUMN_SIZE, 4096 };
    made_operation(&m, TS_EVENT_MEMCPY, S1, 121, 160, &size, 1);
    follow(&m, S1, T0, 74, 160);
    made_launch(&m, T0, "d", 80, 170, 180);
    made_launch(&m, T0, "early", 82, 5000, 5010);
    wait_for(&m, TS_EVENT_DEVICE_SYNC, D1, 84, 5012);
    made_launch(&m, T0, "last", 5020, 5030, 5040);
    expect_made(__func__, &m);
}

// The legacy default stream waits for others, and they for it.
UNIT_TEST(the_legacy_default_stream_waits)
{
    made m;
    made_begin(&m, 0);
    const ts_track_entry legacy = { .type = TS_TRACK_STREAM,
                                    .parent = D0,
                                    .number = 7,
                                    .flags = TS_STREAM_LEGACY_DEFAULT };
    ts_writer_track(m.w, 13, &legacy);
    made_launch(&m, S0, "a", 0, 10, 1000);
    made_launch(&m, 13, "b", 4, 1001, 2000);
    made_launch(&m, S1, "c", 8, 2001, 3000);
    expect_made(__func__, &m);
}

// What the trace says of two kernels that nothing else orders.
UNIT_TEST(a_stated_dependency)
{
    made m;
    made_begin(&m, 0);
    made_launch(&m, S0, "a", 0, 10, 50);
    const uint64_t before = m.correlation;
    made_launch(&m, S1, "b", 4, 60, 70);
    const ts_writer_value values[] = {
        { TS_COLUMN_RECORD, before }, { TS_COLUMN_CORRELATION, m.correlation }
    };
    ts_writer_event(m.w, TS_EVENT_DEPENDENCY, HOST, 0, 0, values, 2);
    expect_made(__func__, &m);
}

static void collective(made *m, uint32_t stream, int64_t from, int64_t to)
{
    const ts_writer_value values[] = {
        { TS_COLUMN_NAME, made_name(m, "reduce") },
        { TS_COLUMN_COMMUNICATOR, 7 },
        { TS_COLUMN_SEQUENCE, 1 },
        { TS_COLUMN_RANKS, 2 },
    };
    made_operation(m, TS_EVENT_COLLECTIVE, stream, from, to, values, 4);
}

// The first rank waits for the second; its next kernel waits for the end.
UNIT_TEST(ranks_wait_for_each_other)
{
    made m;
    made_begin(&m, 0);
    made_call(&m, HOST, "reduce", 0, 2);
    collective(&m, S0, 10, 300);
    made_call(&m, OTHER, "reduce", 100, 102);
    collective(&m, T0, 250, 300);
    made_launch(&m, S0, "next", 20, 310, 330);
    expect_made(__func__, &m);
}

// A barrier takes no time: who waits for it waits for who comes last.
UNIT_TEST(ranks_meet_at_a_barrier)
{
    made m;
    made_begin(&m, 0);
    made_call(&m, HOST, "barrier", 0, 2);
    collective(&m, S0, 300, 300);
    made_call(&m, OTHER, "barrier", 100, 102);
    collective(&m, T0, 300, 300);
    made_launch(&m, S0, "next", 20, 310, 330);
    expect_made(__func__, &m);
}

// Ranks 0 and 1, merged. The second has process 50, thread 51 and stream 54.
static void put_process(made *m)
{
    static const ts_track_entry tracks[] = {
        { .type = TS_TRACK_PROCESS, .number = 2 },
        { .type = TS_TRACK_THREAD, .parent = 50, .number = 9 },
        { .type = TS_TRACK_DEVICE, .parent = 50, .number = 1 },
        { .type = TS_TRACK_STREAM, .parent = 52, .number = 1 },
    };
    for (uint32_t i = 0; i < 4; i++)
        ts_writer_track(m->w, i < 3 ? 50 + i : 54, &tracks[i]);
    for (uint32_t rank = 0; rank < 2; rank++) {
        const uint32_t process = rank ? 50 : PROCESS;
        ts_writer_metadata(m->w, process, "merge.part", TS_VALUE_INT, rank);
        ts_writer_metadata(m->w, process, "rank", TS_VALUE_INT, rank);
    }
}

static void pair(made *m, uint32_t stream, const char *name, uint64_t peer)
{
    const ts_writer_value values[] = {
        { TS_COLUMN_NAME, made_name(m, name) },
        { TS_COLUMN_COMMUNICATOR, 7 },
        { TS_COLUMN_SEQUENCE, 1 },
        { TS_COLUMN_PEER, peer + 1 },
    };
    made_operation(m, TS_EVENT_COLLECTIVE, stream, 300, 300, values, 4);
}

UNIT_TEST(a_send_and_its_receive_meet)
{
    made m;
    made_begin(&m, 0);
    put_process(&m);
    made_call(&m, HOST, "send", 0, 2);
    pair(&m, S0, "ncclSend", 1);
    made_call(&m, 51, "receive", 100, 102);
    pair(&m, 54, "ncclRecv", 0);
    made_launch(&m, S0, "next", 20, 310, 330);
    expect_made(__func__, &m);
}

// One call launches a graph: a, then b and c at once. What is launched long
// before the device becomes idle may still come late.
UNIT_TEST(kernels_of_a_graph_wait_for_each_other)
{
    made m;
    made_begin(&m, 0);
    made_call(&m, HOST, "cudaGraphLaunch", 0, 2);
    made_kernel(&m, S0, "a", 10, 20);
    made_kernel(&m, S0, "b", 21, 40);
    made_kernel(&m, S1, "c", 22, 30);
    made_call(&m, HOST, "early", 12, 13);
    made_kernel(&m, T0, "other", 14, 60);
    made_call(&m, HOST, "early", 14, 15);
    made_kernel(&m, T1, "late", 200, 220);
    expect_made(__func__, &m);
}

// Copies of each direction, and a kernel with memory of its own.
UNIT_TEST(copies_are_named_by_their_direction)
{
    made m;
    made_begin(&m, 0);
    for (uint64_t type = 0; type < 6; type++) {
        const ts_writer_value values[] = { { TS_COLUMN_TYPE, type } };
        made_call(&m, HOST, "copy", (int64_t)type * 20, (int64_t)type * 20 + 1);
        made_operation(&m, TS_EVENT_MEMCPY, S0, (int64_t)type * 20 + 4,
                       (int64_t)type * 20 + 10, values, 1);
    }
    expect_made(__func__, &m);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
