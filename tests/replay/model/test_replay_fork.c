/*
    test_replay_fork.c - two replays of one graph, and brief runs
*/
#include "tests/replay/model/model_forge.h"
#include <stdlib.h>

static const ts_change faster = { .type = TS_CHANGE_SCALE, .factor = { 1, 2 } };

static ts_replay_run_desc prediction(bool brief)
{
    const ts_replay_run_desc desc = { .mode = TS_REPLAY_MODEL,
                                      .changes = &faster,
                                      .change_count = 1,
                                      .brief = brief };
    return desc;
}

UNIT_TEST(a_fork_predicts_while_the_original_keeps_its_run)
{
    fixture x = burst();
    work_same(&x);
    const ts_replay_stats before = *stats(&x);
    ts_operation was, is;
    assert_true(ts_replay_operation(x.replay, 7, &was));
    ts_replay *fork;
    assert_int_equal(TS_OK, ts_replay_fork(&fork, x.replay));
    const ts_replay_run_desc desc = prediction(false);
    assert_int_equal(TS_OK, ts_replay_run(fork, &desc));
    assert_true(ts_replay_result(fork)->end_ns < before.end_ns);
    assert_memory_equal(&before, stats(&x), sizeof before);
    assert_true(ts_replay_operation(x.replay, 7, &is));
    assert_memory_equal(&was, &is, sizeof was);
    // The same prediction as that of a replay opened separately.
    const uint64_t digest = ts_replay_result(fork)->digest;
    ts_replay_close(fork);
    assert_int_equal(TS_OK, ts_replay_run(x.replay, &desc));
    assert_int_equal(digest, stats(&x)->digest);
    work_close(&x);
}

UNIT_TEST(a_fork_starts_without_a_run)
{
    fixture x = steady();
    work_same(&x);
    ts_replay *fork;
    ts_path path;
    assert_int_equal(TS_ERR_USAGE, ts_replay_fork(NULL, x.replay));
    assert_int_equal(TS_ERR_USAGE, ts_replay_fork(&fork, NULL));
    assert_null(fork);
    assert_int_equal(TS_OK, ts_replay_fork(&fork, x.replay));
    assert_int_equal(TS_ERR_STATE, ts_replay_path(fork, &path));
    assert_int_equal(TS_OK, ts_replay_run(fork, NULL));
    assert_int_equal(stats(&x)->digest, ts_replay_result(fork)->digest);
    ts_replay_close(fork);
    work_close(&x);
}

UNIT_TEST(a_fork_has_nothing_of_the_run_of_the_original)
{
    fixture x = steady();
    const ts_replay_stats before = *stats(&x);
    const ts_change remove = { .type = TS_CHANGE_REMOVE };
    const ts_replay_run_desc desc = { .mode = TS_REPLAY_MODEL,
                                      .changes = &remove,
                                      .change_count = 1 };
    assert_int_equal(TS_OK, ts_replay_run(x.replay, &desc));
    assert_int_equal(KERNELS, stats(&x)->skipped[TS_SKIP_REMOVED]);
    assert_int_equal(0, stats(&x)->operations);
    ts_replay *fork;
    assert_int_equal(TS_OK, ts_replay_fork(&fork, x.replay));
    assert_memory_equal(&before, ts_replay_result(fork), sizeof before);
    ts_operation first;
    assert_true(ts_replay_operation(fork, 0, &first));
    assert_int_equal(TS_SKIP_NOT, first.skip);
    ts_replay_close(fork);
    assert_int_equal(TS_OK, ts_replay_run(x.replay, NULL));
    assert_int_equal(TS_OK, ts_replay_fork(&fork, x.replay));
    assert_memory_equal(&before, ts_replay_result(fork), sizeof before);
    ts_lane lane;
    assert_true(ts_replay_lane(x.replay, 0, &lane));
    assert_int_equal(KERNELS, lane.operations);
    assert_true(ts_replay_lane(fork, 0, &lane));
    assert_int_equal(0, lane.operations);
    assert_int_equal(0, lane.busy_ns);
    ts_replay_close(fork);
    work_close(&x);
}

UNIT_TEST(a_brief_run_has_the_ends_of_the_full_one)
{
    fixture x = burst();
    const ts_replay_run_desc full = prediction(false), brief = prediction(true);
    assert_int_equal(TS_OK, ts_replay_run(x.replay, &full));
    const ts_replay_stats whole = *stats(&x);
    const ts_path path = path_of(&x);
    assert_int_equal(TS_OK, ts_replay_run(x.replay, &brief));
    assert_int_equal(whole.start_ns, stats(&x)->start_ns);
    assert_int_equal(whole.end_ns, stats(&x)->end_ns);
    assert_int_equal(whole.operations, stats(&x)->operations);
    assert_true(whole.digest && whole.different);
    assert_int_equal(0, stats(&x)->digest);
    assert_int_equal(0, stats(&x)->different);
    ts_lane lane;
    assert_true(ts_replay_lane(x.replay, 0, &lane));
    assert_int_equal(0, lane.operations);
    assert_int_equal(0, lane.busy_ns);
    assert_memory_equal(path.cost_ns, path_of(&x).cost_ns, sizeof path.cost_ns);
    work_close(&x);
}

UNIT_TEST(a_brief_exact_run_has_the_times_of_the_record)
{
    fixture x = burst();
    const ts_replay_run_desc brief = { .brief = true };
    assert_int_equal(TS_OK, ts_replay_run(x.replay, NULL));
    const ts_replay_stats whole = *stats(&x);
    ts_lane full, lane;
    ts_operation was, is;
    ts_node node;
    assert_true(ts_replay_lane(x.replay, 0, &full));
    assert_true(ts_replay_operation(x.replay, 7, &was));
    const ts_path path = path_of(&x);
    // After a prediction nothing of it is left.
    const ts_replay_run_desc desc = prediction(true);
    assert_int_equal(TS_OK, ts_replay_run(x.replay, &desc));
    assert_int_equal(TS_OK, ts_replay_run(x.replay, &brief));
    assert_int_equal(whole.start_ns, stats(&x)->start_ns);
    assert_int_equal(whole.end_ns, stats(&x)->end_ns);
    assert_int_equal(whole.operations, stats(&x)->operations);
    assert_int_equal(0, stats(&x)->different);
    assert_int_equal(0, stats(&x)->digest);
    assert_true(ts_replay_operation(x.replay, 7, &is));
    assert_memory_equal(&was, &is, sizeof was);
    assert_true(ts_replay_lane(x.replay, 0, &lane));
    assert_int_equal(full.operations, lane.operations);
    assert_true(full.busy_ns > 0);
    assert_int_equal(0, lane.busy_ns);
    assert_memory_equal(path.cost_ns, path_of(&x).cost_ns, sizeof path.cost_ns);
    // The gaps of the full run are gone, those of the next one come back.
    assert_true(ts_replay_node(x.replay, 7, &node));
    assert_int_equal(0, node.gap_ns);
    assert_int_equal(TS_OK, ts_replay_run(x.replay, NULL));
    assert_memory_equal(&whole, stats(&x), sizeof whole);
    work_close(&x);
}

UNIT_TEST(a_brief_exact_run_of_other_durations_differs)
{
    fixture x = burst();
    const size_t count = ts_replay_graph(x.replay).operation_count;
    int64_t *const longer = calloc(count, sizeof *longer);
    ts_operation o;
    assert_non_null(longer);
    for (size_t i = 0; ts_replay_operation(x.replay, i, &o); i++)
        longer[i] = 2 * (o.recorded_end_ns - o.recorded_start_ns);
    ts_replay_run_desc desc = { .durations_ns = longer };
    assert_int_equal(TS_OK, ts_replay_run(x.replay, &desc));
    const ts_replay_stats whole = *stats(&x);
    desc.brief = true;
    assert_int_equal(TS_OK, ts_replay_run(x.replay, &desc));
    assert_int_equal(whole.end_ns, stats(&x)->end_ns);
    assert_true(whole.different > 0);
    assert_int_equal(whole.different, stats(&x)->different);
    free(longer);
    work_close(&x);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
