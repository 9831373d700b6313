/*
    test_replay_select.c - a part of a trace, replayed
*/
#include "tests/replay/graph/replay_forge.h"

/* ---- Selection ---------------------------------------------------------- */

UNIT_TEST(a_selection_says_what_it_leaves_out)
{
    const uint32_t streams[] = { S0 + 1 }, devices[] = { D0 };
    const ts_replay_desc desc = { .streams = streams,
                                  .stream_count = 1,
                                  .devices = devices,
                                  .device_count = 1,
                                  .from_ns = 54,
                                  .to_ns = 100 };
    fixture x = WORK_DESC(crossing, &desc);
    assert_int_equal(5, stats(&x)->loaded);
    assert_int_equal(1, stats(&x)->operations);
    assert_int_equal(1, stats(&x)->skipped[TS_SKIP_DEVICE]);
    assert_int_equal(2, stats(&x)->skipped[TS_SKIP_STREAM]);
    assert_int_equal(1, stats(&x)->skipped[TS_SKIP_TIME]);
    work_same(&x);
    assert_int_equal(1, stats(&x)->operations);
    assert_int_equal(5, stats(&x)->end_ns - stats(&x)->start_ns);
    work_close(&x);
}

UNIT_TEST(a_time_range_takes_what_touches_it)
{
    const op ops[] = {
        { K, S0, 0, 10, UNKNOWN, 0, 0, 0, 0 }, // ends where it begins
        { K, S0, 10, 20, UNKNOWN, 0, 0, 0, 0 },
        { R, S0, 20, 20, UNKNOWN, 0, 0, 0, 0 }, // at its end
        { K, S0, 20, 30, UNKNOWN, 0, 0, 0, 0 },
        { R, S0 + 1, 10, 10, UNKNOWN, 0, 0, 0, 0 }, // at its beginning
        { K, S0 + 2, 0, 90, UNKNOWN, 0, 0, 0, 0 },  // around it
    };
    const ts_replay_desc desc = { .from_ns = 10, .to_ns = 20 };
    fixture x = WORK_DESC(ops, &desc);
    work_same(&x);
    assert_int_equal(3, stats(&x)->operations);
    assert_int_equal(3, stats(&x)->skipped[TS_SKIP_TIME]);
    work_close(&x);
}

// Takes the operations of one row's parity, and says why not the others.
static ts_skip by_row(const ts_replay *replay, size_t index, void *user)
{
    ts_operation o;
    uint32_t *const asked = user;
    assert_true(ts_replay_operation(replay, index, &o));
    (*asked)++;
    return o.row % 2 ? TS_SKIP_ZONE : TS_SKIP_NOT;
}

UNIT_TEST(a_function_may_choose_among_what_is_selected)
{
    uint32_t asked = 0;
    const uint32_t devices[] = { D0 };
    const ts_replay_desc desc = { .devices = devices,
                                  .device_count = 1,
                                  .choose = by_row,
                                  .choose_user = &asked };
    // In the file: the kernels (0, 1, 2), the record (3), the wait (4).
    fixture x = WORK_DESC(crossing, &desc);
    assert_int_equal(4, asked);
    assert_int_equal(2, stats(&x)->operations);
    assert_int_equal(1, stats(&x)->skipped[TS_SKIP_DEVICE]);
    assert_int_equal(2, stats(&x)->skipped[TS_SKIP_ZONE]);
    work_same(&x);
    work_close(&x);
}

UNIT_TEST(the_rest_of_the_world_can_be_frozen)
{
    const uint32_t streams[] = { S0 + 1 };
    const ts_replay_desc desc = { .streams = streams, .stream_count = 1 };
    fixture x = WORK_DESC(crossing, &desc);
    assert_int_equal(2, stats(&x)->operations);
    assert_int_equal(2, stats(&x)->calls);
    assert_int_equal(2, stats(&x)->cut_edges); // the record; the call before
    work_change(&x, S0, 2, 98);
    work_expect(&x, S0 + 1, 55, 55, 60); // that is not replayed
    work_close(&x);
}

UNIT_TEST(the_rest_of_the_world_can_be_left_out)
{
    const uint32_t streams[] = { S0 + 1 };
    const ts_replay_desc desc = { .streams = streams,
                                  .stream_count = 1,
                                  .deps = TS_DEPS_NONE };
    fixture x = WORK_DESC(crossing, &desc);
    assert_int_equal(2, stats(&x)->cut_edges);
    work_same(&x);
    assert_int_equal(2, stats(&x)->operations);
    work_close(&x);
}

UNIT_TEST(what_a_selection_needs_can_be_added)
{
    const uint32_t streams[] = { S0 + 1 };
    const ts_replay_desc desc = { .streams = streams,
                                  .stream_count = 1,
                                  .deps = TS_DEPS_CLOSURE };
    fixture x = WORK_DESC(crossing, &desc);
    assert_int_equal(4, stats(&x)->operations);
    assert_int_equal(2, stats(&x)->added);
    assert_int_equal(0, stats(&x)->cut_edges);
    assert_int_equal(1, stats(&x)->skipped[TS_SKIP_STREAM]);
    work_change(&x, S0, 2, 98);
    work_expect(&x, S0 + 1, 55, 105, 110);
    work_close(&x);
}

// Joins of syncs over streams of which only some are selected.
UNIT_TEST(partial_joins_replay_in_every_mode)
{
    const op ops[] = {
        { K, S0, 1, 10, 0, 0, 0, 0, HOST },
        { K, S0 + 1, 1, 20, 1, 0, 0, 0, HOST },
        { K, S0 + 2, 2, 30, 2, 0, 0, 0, HOST },
        { DS, D0, 3, 31, 3, 0, 0, 0, HOST },
        { K, S0, 33, 40, 32, 0, 0, 0, HOST },
        { K, LEGACY, 41, 50, 33, 0, 0, 0, HOST },
        { DS, D0, 34, 55, 34, 0, 0, 0, HOST },
    };
    const uint32_t choices[][2] = {
        { D0, D0 }, { S0, LEGACY }, { LEGACY, LEGACY }, { S0 + 1, D0 }
    };
    for (size_t i = 0; i < 4; i++) {
        for (int deps = 0; deps <= TS_DEPS_NONE; deps++) {
            const ts_replay_desc desc = { .streams = choices[i],
                                          .stream_count = 2,
                                          .deps = (ts_deps)deps };
            fixture x = WORK_DESC(ops, &desc);
            work_same(&x);
            if (deps == TS_DEPS_CLOSURE)
                assert_int_equal(0, stats(&x)->cut_edges);
            else
                assert_true(stats(&x)->cut_edges > 0);
            work_close(&x);
        }
    }
}

UNIT_TEST(nothing_selected_is_never_a_success)
{
    const uint32_t streams[] = { S0 + 5 };
    const ts_replay_desc desc = { .streams = streams, .stream_count = 1 };
    fixture x = WORK_DESC(crossing, &desc);
    assert_int_equal(0, stats(&x)->operations);
    assert_int_equal(TS_ERR_NOT_FOUND, ts_replay_run(x.replay, NULL));
    work_close(&x);
}

UNIT_TEST(a_trace_without_gpu_operations_is_not_found)
{
    fixture x;
    work_begin(&x, 0);
    const call calls[] = { { HOST, 1, 2, 3 } };
    add_calls(&x.f, calls, 1);
    forge_finish(&x.f);
    const ts_reader_desc reader = { .bytes = x.f.bytes, .size = x.f.size };
    assert_int_equal(TS_OK, ts_reader_open(&x.reader, &reader));
    assert_int_equal(TS_ERR_NOT_FOUND,
                     ts_replay_open(&x.replay, x.reader, NULL));
    assert_null(x.replay);
    work_close(&x);
}

UNIT_TEST(wrong_use_is_refused)
{
    fixture x = WORK(crossing);
    const int64_t durations[5] = { 1, 2, 3, -1, 5 };
    const ts_replay_run_desc negative = { .durations_ns = durations };
    ts_replay *none;
    const ts_replay_desc backwards = { .from_ns = 2, .to_ns = 1 };
    const ts_replay_desc unknown = { .deps = (ts_deps)7 };
    assert_int_equal(TS_ERR_USAGE, ts_replay_run(x.replay, &negative));
    assert_int_equal(TS_ERR_USAGE, ts_replay_run(NULL, NULL));
    assert_int_equal(TS_ERR_USAGE, ts_replay_open(&none, NULL, NULL));
    assert_int_equal(TS_ERR_USAGE, ts_replay_open(NULL, x.reader, NULL));
    assert_int_equal(TS_ERR_USAGE, ts_replay_open(&none, x.reader, &backwards));
    assert_int_equal(TS_ERR_USAGE, ts_replay_open(&none, x.reader, &unknown));
    assert_string_equal("unknown", ts_edge_name(TS_EDGE_LIMIT));
    assert_string_equal("unknown", ts_skip_name(TS_SKIP_LIMIT));
    ts_replay_close(NULL);
    work_close(&x);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
