/*
    test_execute_match.c - which event of a trace is which captured operation

    Traces here have a device (track 3) with two streams (4, 5). Events are
    1 ns long, in the order in which they are written.
*/
#define _GNU_SOURCE // mkdtemp
#include "tests/tools/merge/merge_forge.h"

#include "tools/replay/execute/execute.h"

enum { OTHER = STREAM + 1, NONE = -1 };

typedef struct written { // an event or a capture
    uint32_t kind, track;
    uint64_t correlation;
} written;

static replay_job replay;
static execute_job job;
static ts_reader *reader;

static void put_events(ts_writer *w, const written *events, size_t count)
{
    const ts_launch_entry launch = { .name = name_in(w, "k") };
    const uint32_t one = ts_writer_launch(w, &launch);
    for (size_t i = 0; i < count; i++) {
        const ts_writer_value values[] = {
            { TS_COLUMN_LAUNCH, one },
            { TS_COLUMN_CORRELATION, events[i].correlation },
        };
        const bool kernel = events[i].kind == TS_EVENT_KERNEL;
        ts_writer_event(w, events[i].kind, events[i].track,
                        10 * (int64_t)(i + 1), 1, values + !kernel, 1 + kernel);
    }
}

static void put_captures(ts_writer *w, const written *captures, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const ts_capture_operation head = {
            .type = TS_CAPTURE_OPERATION,
            .track = captures[i].track,
            .kind = captures[i].kind,
            .state = TS_CAPTURE_WHOLE,
            .correlation = captures[i].correlation,
            .order = i + 1,
        };
        ts_writer_capture(w, &head, sizeof head);
    }
}

// Matches them; *job tells how.
static void find(const written *events, size_t event_count,
                 const written *captures, size_t capture_count)
{
    const ts_writer_desc desc = { .path = path_of("rows.sbt"), .process = 77 };
    const made plain = { .rank = -1 };
    const ts_reader_desc read = { .path = desc.path };
    const ts_track_entry other = { .type = TS_TRACK_STREAM,
                                   .parent = DEVICE,
                                   .number = 8 };
    ts_writer *w;
    assert_int_equal(TS_OK, ts_writer_open(&w, &desc));
    put_tracks(w, &plain);
    ts_writer_track(w, OTHER, &other);
    put_events(w, events, event_count);
    put_captures(w, captures, capture_count);
    assert_int_equal(TS_OK, ts_writer_close(w));
    assert_int_equal(TS_OK, ts_reader_open(&reader, &read));
    assert_int_equal(TS_OK, ts_replay_open(&replay.replay, reader, NULL));
    const execute_job fresh = { .replay = &replay, .reader = reader };
    job = fresh;
    assert_true(execute_find_rows(&job));
    assert_int_equal(event_count, job.count);
}

static void end(void)
{
    free(job.rows);
    ts_replay_close(replay.replay);
    ts_reader_close(reader);
}

// The row of an event, whatever the order of rows.
static const execute_row *row_of(uint32_t event)
{
    for (size_t i = 0; i < job.count; i++)
        if (job.rows[i].operation == event) return &job.rows[i];
    fail();
    return NULL;
}

static void assert_captures(const int *expected, size_t count)
{
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal((uint32_t)expected[i], row_of(i)->capture);
}

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))
#define FIND(events, taken) \
    find(events, COUNT_OF(events), taken, COUNT_OF(taken))
#define ASSERT_CAPTURES(of) assert_captures(of, COUNT_OF(of))

UNIT_TEST(the_record_of_a_wait_is_no_operation)
{
    static const written events[] = { { TS_EVENT_KERNEL, STREAM, 1 },
                                      { TS_EVENT_EVENT_RECORD, STREAM, 1 },
                                      { TS_EVENT_EVENT_RECORD, STREAM, 2 },
                                      { TS_EVENT_MEMCPY, STREAM, 2 } };
    static const written taken[] = { { TS_EVENT_KERNEL, STREAM, 1 },
                                     { TS_EVENT_MEMCPY, STREAM, 2 } };
    static const int expected[] = { 0, NONE, NONE, 1 };
    FIND(events, taken);
    ASSERT_CAPTURES(expected);
    assert_true(row_of(1)->order);
    assert_true(row_of(2)->order);
    assert_int_equal(0, job.missing);
    end();
}

UNIT_TEST(events_alone_leave_their_capture_without_a_row)
{
    static const written events[] = { { TS_EVENT_EVENT_RECORD, STREAM, 1 },
                                      { TS_EVENT_KERNEL, STREAM, 2 },
                                      { TS_EVENT_KERNEL, OTHER, 3 },
                                      { TS_EVENT_KERNEL, OTHER, 4 } };
    static const written taken[] = { { TS_EVENT_KERNEL, STREAM, 1 },
                                     { TS_EVENT_KERNEL, STREAM, 3 } };
    static const int expected[] = { NONE, NONE, NONE, NONE };
    FIND(events, taken);
    ASSERT_CAPTURES(expected);
    assert_int_equal(2, job.missing);
    assert_int_equal(TS_REASON_NOT_CAPTURED, row_of(1)->item.reason);
    end();
}

UNIT_TEST(a_driver_may_do_something_else_and_in_parts)
{
    // A set that ran as two kernels, beside a copy of the same call.
    static const written events[] = { { TS_EVENT_KERNEL, STREAM, 5 },
                                      { TS_EVENT_KERNEL, STREAM, 5 },
                                      { TS_EVENT_MEMCPY, STREAM, 5 },
                                      { TS_EVENT_MEMCPY, OTHER, 5 } };
    static const written taken[] = { { TS_EVENT_MEMCPY, STREAM, 5 },
                                     { TS_EVENT_MEMSET, STREAM, 5 } };
    static const int expected[] = { 1, NONE, 0, NONE };
    FIND(events, taken);
    ASSERT_CAPTURES(expected);
    assert_true(row_of(1)->piece);
    assert_false(row_of(3)->piece); // on a stream where nothing was captured
    assert_int_equal(0, job.missing);
    end();
}

UNIT_TEST(two_captures_never_share_a_row)
{
    static const written events[] = { { TS_EVENT_KERNEL, STREAM, 4 } };
    static const written taken[] = { { TS_EVENT_KERNEL, STREAM, 4 },
                                     { TS_EVENT_KERNEL, STREAM, 4 } };
    static const int expected[] = { 0 };
    FIND(events, taken);
    ASSERT_CAPTURES(expected);
    assert_int_equal(1, job.missing);
    end();
}

UNIT_TEST(one_row_stands_for_a_launch_of_a_graph)
{
    static const written events[] = { { TS_EVENT_KERNEL, OTHER, 9 },
                                      { TS_EVENT_EVENT_RECORD, STREAM, 9 },
                                      { TS_EVENT_KERNEL, STREAM, 9 },
                                      { TS_EVENT_KERNEL, STREAM, 9 } };
    static const written taken[] = { { TS_EVENT_GRAPH_LAUNCH, STREAM, 9 } };
    static const int expected[] = { NONE, NONE, 0, NONE };
    FIND(events, taken);
    ASSERT_CAPTURES(expected);
    assert_true(row_of(0)->piece);
    assert_false(row_of(1)->piece);
    assert_true(row_of(3)->piece);
    assert_int_equal(0, row_of(3)->of);
    end();
}

int main(void)
{
    return unit_run(folder_begin, folder_end);
}
