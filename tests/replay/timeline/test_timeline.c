/*
    test_timeline.c - the causes of idle time, computed by hand
*/
#include "tests/replay/timeline/timeline_forge.h"

UNIT_TEST(a_call_after_the_device_ran_dry_is_late)
{
    const op ops[] = {
        { K, S0, 10, 20, 5, 1, 0, 0, HOST },
        { K, S0, 50, 60, 45, 2, 0, 0, HOST },
    };
    timeline x = TIMELINE(ops);
    const ts_gap gap = gap_is(&x, 0, 20, 50, TS_IDLE_HOST_LATE);
    assert_int_equal(work_find(&x.work, S0, 50), gap.operation);
    assert_int_equal(call_of(&x, S0, 50), gap.culprit);
    assert_int_equal(TS_EDGE_LAUNCH, gap.edge);
    assert_int_equal(1, ts_timeline_gap_count(x.timeline, 0));
    const ts_timeline_figures *const f = ts_timeline_device(x.timeline, 0);
    assert_int_equal(D0, f->track);
    assert_int_equal(10, f->start_ns); // not its call, which is at 5
    assert_int_equal(60, f->end_ns);
    assert_int_equal(20, f->busy_ns);
    assert_int_equal(30, f->idle_ns);
    assert_int_equal(30, f->explicit_ns);
    assert_int_equal(2, f->launches);
    assert_int_equal(5, f->launch_p50_ns);
    timeline_close(&x);
}

UNIT_TEST(a_call_in_time_leaves_the_latency_of_the_launch)
{
    const op ops[] = {
        { K, S0, 10, 20, 5, 1, 0, 0, HOST },
        { K, S0 + 1, 26, 30, 20, 2, 0, 0, HOST }, // as the gap begins
        { K, S0 + 1, 39, 40, 29, 3, 0, 0, HOST },
    };
    timeline x = TIMELINE(ops);
    gap_is(&x, 0, 20, 26, TS_IDLE_LAUNCH_LATENCY);
    const ts_gap gap = gap_is(&x, 1, 30, 39, TS_IDLE_LAUNCH_LATENCY);
    // Its predecessor was done last: this is a dispatch from a queue.
    assert_int_equal(work_find(&x.work, S0 + 1, 26), gap.culprit);
    assert_int_equal(TS_EDGE_STREAM_ORDER, gap.edge);
    timeline_close(&x);
}

UNIT_TEST(a_sync_is_to_blame_for_half_of_how_late_a_call_was)
{
    op ops[] = {
        { K, S0, 10, 38, 5, 1, 0, 0, HOST },
        { DS, D0, 8, 40, 8, 0, 0, 0, HOST },
        { K, S0, 50, 60, 45, 2, 0, 0, HOST },
    };
    timeline x = TIMELINE(ops);
    ts_gap gap = gap_is(&x, 0, 38, 50, TS_IDLE_HOST_SYNC);
    assert_int_equal(work_find(&x.work, D0, 8), gap.culprit);
    timeline_close(&x);
    // The call is 7 ns late: blocked for 3 of these, the host was late anyway.
    for (uint64_t start = 36; start <= 37; start++) {
        ops[1].start = start;
        ops[1].queued = start;
        x = TIMELINE(ops);
        gap_is(&x, 0, 38, 50,
               start == 36 ? TS_IDLE_HOST_SYNC : TS_IDLE_HOST_LATE);
        timeline_close(&x);
    }
    // Another thread'state sync has nothing to do with it.
    ops[1].start = 8;
    ops[1].queued = 8;
    ops[1].thread = OTHER;
    x = TIMELINE(ops);
    gap_is(&x, 0, 38, 50, TS_IDLE_HOST_LATE);
    timeline_close(&x);
}

UNIT_TEST(blocks_of_one_gap_add_up)
{
    const op ops[] = {
        { K, S0, 10, 20, 5, 1, 0, 0, HOST },
        { SS, S0, 8, 21, 8, 0, 0, 0, HOST },   // 13
        { K, T0, 22, 60, 21, 2, 0, 0, HOST },  // of the other device
        { SS, T0, 30, 61, 30, 0, 0, 0, HOST }, // 31
        { SS, T0, 40, 61, 40, 0, 0, 0, HOST }, // within the other
        { K, S0, 66, 70, 64, 3, 0, 0, HOST },  // 44 late
    };
    timeline x = TIMELINE(ops);
    const ts_gap gap = gap_is(&x, 0, 20, 66, TS_IDLE_HOST_SYNC);
    assert_int_equal(work_find(&x.work, T0, 30), gap.culprit);
    timeline_close(&x);
}

// A wait on stream 1 for work of `kind` on stream 0, which ends at 50.
static void waits_elsewhere(uint8_t kind, ts_idle cause)
{
    const op ops[] = {
        { kind, S0, 2, 50, 0, 1, 0, 0, HOST },
        { R, S0, 50, 50, 1, 2, 7, 0, HOST },
        { W, S0 + 1, 5, 52, 2, 3, 7, 0, HOST },
        { K, S0 + 1, 55, 60, 3, 4, 0, 0, HOST },
    };
    timeline x = TIMELINE(ops);
    const ts_gap gap = gap_is(&x, 0, 50, 55, cause);
    assert_int_equal(work_find(&x.work, S0, 2), gap.culprit);
    assert_int_equal(TS_EDGE_EVENT, gap.edge);
    assert_false(gap.inferred);
    timeline_close(&x);
}

UNIT_TEST(what_another_stream_did_is_distinguished)
{
    waits_elsewhere(K, TS_IDLE_OTHER_STREAM);
    waits_elsewhere(TS_EVENT_MEMCPY, TS_IDLE_COPY);
    waits_elsewhere(TS_EVENT_MEMSET, TS_IDLE_COPY);
    waits_elsewhere(TS_EVENT_COLLECTIVE, TS_IDLE_COLLECTIVE);
}

UNIT_TEST(the_legacy_default_stream_is_another_stream)
{
    const op ops[] = {
        { K, S0, 1, 10, 0, 0, 0, 0, HOST },
        { K, S0 + 1, 2, 9, 1, 0, 0, 0, HOST },
        { K, LEGACY, 12, 20, 3, 0, 0, 0, HOST },
    };
    timeline x = TIMELINE(ops);
    const ts_gap gap = gap_is(&x, 0, 10, 12, TS_IDLE_OTHER_STREAM);
    assert_int_equal(work_find(&x.work, S0, 1), gap.culprit);
    assert_int_equal(TS_EDGE_LEGACY_DEFAULT, gap.edge);
    timeline_close(&x);
}

UNIT_TEST(a_record_that_came_late_makes_its_host_late)
{
    const op ops[] = {
        { K, S0, 2, 10, 0, 1, 0, 0, HOST },
        { R, S0, 40, 40, 38, 2, 7, 0, OTHER },
        { W, S0 + 1, 5, 41, 2, 3, 7, 2, HOST },
        { K, S0 + 1, 45, 60, 3, 4, 0, 0, HOST },
    };
    timeline x = TIMELINE(ops);
    const ts_gap gap = gap_is(&x, 0, 10, 45, TS_IDLE_HOST_LATE);
    assert_int_equal(call_of(&x, S0, 40), gap.culprit);
    timeline_close(&x);
}

UNIT_TEST(a_host_function_is_the_host)
{
    const op ops[] = {
        { K, S0, 2, 10, 0, 1, 0, 0, HOST },
        { TS_EVENT_HOST_FUNCTION, S0, 11, 40, 1, 2, 0, 0, HOST },
        { K, S0, 42, 60, 2, 3, 0, 0, HOST },
    };
    timeline x = TIMELINE(ops);
    const ts_gap gap = gap_is(&x, 0, 10, 42, TS_IDLE_HOST_LATE);
    assert_int_equal(work_find(&x.work, S0, 11), gap.culprit);
    timeline_close(&x);
}

UNIT_TEST(what_nothing_explains_is_said_to_be_unexplained)
{
    const op ops[] = {
        { K, S0, 1, 2, 0, 0, 0, 0, HOST }, // launches take 1 ns
        { K, S0, 2, 3, 1, 0, 0, 0, HOST },
        { K, S0, 4, 10, 3, 0, 0, 0, HOST },
        { K, S0 + 1, 12, 20, UNKNOWN, 0, 0, 0, 0 }, // no edge at all
        { K, S0 + 1, 20020, 20030, UNKNOWN, 0, 0, 0, 0 },
        { K, S0 + 1, 40031, 40040, UNKNOWN, 0, 0, 0, 0 }, // 1 ns too slow
        { K, S0, 60041, 60060, 40041, 0, 0, 0, HOST },
        { K, S0, 80061, 80070, 60060, 0, 0, 0, HOST }, // likewise
    };
    timeline x = TIMELINE(ops);
    gap_is(&x, 1, 10, 12, TS_IDLE_UNEXPLAINED);
    gap_is(&x, 2, 20, 20020, TS_IDLE_LAUNCH_LATENCY);
    gap_is(&x, 3, 20030, 40031, TS_IDLE_UNEXPLAINED);
    gap_is(&x, 4, 40040, 60041, TS_IDLE_HOST_LATE);
    gap_is(&x, 5, 60060, 80061, TS_IDLE_UNEXPLAINED);
    assert_int_equal(2 + 20001 + 20001,
                     ts_timeline_device(x.timeline, 0)->unexplained_ns);
    timeline_close(&x);
}

UNIT_TEST(work_that_was_ready_and_began_late_started_late)
{
    const op ops[] = {
        { K, S0, 1, 2, 0, 0, 0, 0, HOST }, // launches take 1 ns
        { K, S0, 2, 3, 1, 0, 0, 0, HOST },
        { R, S0, 3, 3, 1, 0, 7, 0, HOST },
        { W, S0 + 1, 3, 3, 1, 0, 7, 0, HOST }, // so waits are recorded
        { K, S0, 20003, 20030, 3, 0, 0, 0, HOST },
        { K, S0, 40031, 40040, 3, 0, 0, 0, HOST },       // 1 ns later: too late
        { K, S0, 60041, 60060, UNKNOWN, 0, 0, 0, 0 },    // when issued?
        { K, S0, 80061, 80070, 60060, 0, 0, 0, HOST },   // by its launch alone
        { K, S0 + 1, 100071, 100080, 3, 0, 0, 0, HOST }, // had waited for S0
    };
    timeline x = TIMELINE(ops);
    gap_is(&x, 0, 3, 20003, TS_IDLE_LAUNCH_LATENCY);
    gap_is(&x, 1, 20030, 40031, TS_IDLE_LATE_START);
    gap_is(&x, 2, 40040, 60041, TS_IDLE_UNEXPLAINED);
    gap_is(&x, 3, 60060, 80061, TS_IDLE_LATE_START);
    gap_is(&x, 4, 80070, 100071, TS_IDLE_LATE_START);
    const ts_timeline_figures *const f = ts_timeline_device(x.timeline, 0);
    assert_int_equal(3 * 20001, f->cause_ns[TS_IDLE_LATE_START]);
    assert_int_equal(3, f->causes[TS_IDLE_LATE_START]);
    assert_int_equal(20000 + 3 * 20001, f->explicit_ns);
    assert_int_equal(20001, f->unexplained_ns);
    assert_string_equal("late_start", ts_idle_name(TS_IDLE_LATE_START));
    timeline_close(&x);
}

// The second kernel begins late on a device with some streams, of a trace that
// records no waits.
static ts_idle cause_with_streams(uint32_t streams, bool loses)
{
    enum { DEVICE = 500, STREAM };
    const op ops[] = {
        { K, STREAM, 1, 2, 0, 0, 0, 0, HOST },
        { K, STREAM, 30003, 30010, 1, 0, 0, 0, HOST },
    };
    fixture work;
    ts_gap gap;
    work_begin(&work, 0);
    forge_begin(&work.f, FORGE_TRACKS);
    add_track(&work.f, DEVICE, TS_TRACK_DEVICE, PROCESS, 9, 0);
    for (uint32_t i = 0; i < streams; i++)
        add_track(&work.f, STREAM + i, TS_TRACK_STREAM, DEVICE, i, 0);
    forge_end(&work.f);
    if (loses) {
        const uint64_t values[] = { TS_LOSS_RING_FULL, 0, 7, 100, 200, 0 };
        forge_begin(&work.f, FORGE_LOSS);
        forge_numbers(&work.f, HOST, 2, 6, values);
        forge_end(&work.f);
    }
    work_add(&work, ops, 2, NULL, 0, 0);
    work_open(&work, NULL);
    timeline x = timeline_of(work);
    assert_true(ts_timeline_gap(x.timeline, 0, 0, &gap));
    timeline_close(&x);
    return gap.cause;
}

UNIT_TEST(a_device_of_one_stream_has_no_other_to_wait_for)
{
    assert_int_equal(TS_IDLE_LATE_START, cause_with_streams(1, false));
    assert_int_equal(TS_IDLE_UNEXPLAINED, cause_with_streams(2, false));
    assert_int_equal(TS_IDLE_UNEXPLAINED, cause_with_streams(1, true));
}

// Adds a process track of a merged trace, of the part with this number.
static void add_part(fixture *work, uint32_t track, uint64_t number)
{
    const uint64_t values[] = { 950, TS_VALUE_INT, number };
    forge_begin(&work->f, FORGE_TRACKS);
    add_track(&work->f, track, TS_TRACK_PROCESS, 0, track, 0);
    forge_end(&work->f);
    forge_begin(&work->f, FORGE_METADATA);
    forge_numbers(&work->f, track, 2, 3, values);
    forge_end(&work->f);
}

// The second kernel begins late on a device of two streams, in one of two
// merged traces. waits, loses: the track with an event wait and with a loss; 0:
// none.
enum { OWN = 600, SECOND, OWN_DEVICE, OTHER_DEVICE, OWN_STREAM = 610 };
enum { OTHER_STREAM = 620 };
static ts_idle cause_in_part(uint32_t waits, uint32_t loses)
{
    const op ops[] = {
        { K, OWN_STREAM, 1, 2, 0, 0, 0, 0, HOST },
        { K, OWN_STREAM, 30003, 30010, 1, 0, 0, 0, HOST },
        { K, OTHER_STREAM, 1, 2, 0, 0, 0, 0, HOST },
        { R, waits, 3, 3, 1, 0, 7, 0, HOST },
        { W, waits, 3, 3, 1, 0, 7, 0, HOST },
    };
    fixture work;
    ts_gap gap;
    work_begin(&work, 0);
    forge_name(&work.f, 950, "merge.part");
    add_part(&work, OWN, 0);
    add_part(&work, SECOND, 1);
    forge_begin(&work.f, FORGE_TRACKS);
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t device = OWN_DEVICE + i;
        add_track(&work.f, device, TS_TRACK_DEVICE, OWN + i, 9, 0);
        for (uint32_t k = 0; k < 2; k++)
            add_track(&work.f, OWN_STREAM + 10 * i + k, TS_TRACK_STREAM, device,
                      k, 0);
    }
    forge_end(&work.f);
    if (loses) {
        const uint64_t values[] = { TS_LOSS_RING_FULL, 0, 7, 100, 200, 0 };
        forge_begin(&work.f, FORGE_LOSS);
        forge_numbers(&work.f, loses, 2, 6, values);
        forge_end(&work.f);
    }
    work_add(&work, ops, waits ? 5 : 3, NULL, 0, 0);
    work_open(&work, NULL);
    timeline x = timeline_of(work);
    assert_true(ts_timeline_gap(x.timeline, 0, 0, &gap));
    assert_int_equal(30003, gap.end_ns);
    timeline_close(&x);
    return gap.cause;
}

UNIT_TEST(each_trace_of_a_merged_one_proves_its_own_gaps)
{
    assert_int_equal(TS_IDLE_UNEXPLAINED, cause_in_part(0, 0));
    assert_int_equal(TS_IDLE_UNEXPLAINED, cause_in_part(OTHER_STREAM, 0));
    assert_int_equal(TS_IDLE_LATE_START, cause_in_part(OWN_STREAM + 1, 0));
    assert_int_equal(TS_IDLE_LATE_START, cause_in_part(OWN_STREAM + 1, SECOND));
    assert_int_equal(TS_IDLE_UNEXPLAINED,
                     cause_in_part(OWN_STREAM + 1, OWN_DEVICE));
}

UNIT_TEST(a_wait_without_its_record_may_have_been_the_cause)
{
    const op ops[] = {
        { K, S0, 1, 2, 0, 1, 0, 0, HOST },
        { W, S0, 2, 2, 1, 2, 7, 99, HOST }, // names a record that is not there
        { K, S0, 30003, 30010, 1, 3, 0, 0, HOST },
    };
    timeline x = TIMELINE(ops);
    assert_int_equal(1, stats(&x.work)->missing_records);
    gap_is(&x, 0, 2, 30003, TS_IDLE_UNEXPLAINED);
    timeline_close(&x);
}

UNIT_TEST(a_long_call_is_done_when_it_returns)
{
    const op ops[] = {
        { K, S0, 1, 2, 0, 0, 0, 0, HOST },
        { K, S0, 3, 5, 2, 0, 0, 0, HOST },
        { K, S0, 10, 20, 6, 1, 0, 0, HOST },
        { K, S0, 90000, 90010, UNKNOWN, 2, 0, 0, HOST },
        { K, S0, 180000, 180010, UNKNOWN, 3, 0, 0, HOST },
    };
    const call calls[] = { { HOST, 19, 89990, 2 }, { HOST, 90005, 90006, 3 } };
    timeline x = TIMELINE_CALLS(ops, calls);
    gap_is(&x, 2, 20, 90000, TS_IDLE_LAUNCH_LATENCY); // loading a module, say
    gap_is(&x, 3, 90010, 180000, TS_IDLE_UNEXPLAINED);
    timeline_close(&x);
}

UNIT_TEST(a_call_that_blocks_by_its_name_is_a_sync)
{
    const op ops[] = {
        { K, S0, 10, 38, 5, 1, 0, 0, HOST },
        { K, S0, 50, 60, 45, 2, 0, 0, HOST },
    };
    const call calls[] = { { HOST, 8, 40, 77, "cudaDeviceSynchronize" } };
    timeline x = TIMELINE_CALLS(ops, calls);
    const ts_gap gap = gap_is(&x, 0, 38, 50, TS_IDLE_HOST_SYNC);
    ts_node node;
    assert_true(ts_replay_node(x.work.replay, gap.culprit, &node));
    assert_int_equal(8, node.recorded_ns);
    uint8_t edge;
    bool inferred;
    assert_int_equal(
        work_find(&x.work, S0, 10),
        ts_timeline_culprit(x.timeline, gap.culprit, &edge, &inferred));
    assert_int_equal(TS_EDGE_SYNC, edge);
    timeline_close(&x);
}

UNIT_TEST(a_sync_that_comes_when_all_is_done_holds_up_nobody)
{
    const op ops[] = {
        { K, S0, 10, 38, 5, 1, 0, 0, HOST },
        { K, S0, 50, 60, 45, 2, 0, 0, HOST },
    };
    const call before[] = { { HOST, 37, 44, 77, "cudaDeviceSynchronize" } };
    const call after[] = { { HOST, 38, 44, 77, "cudaDeviceSynchronize" } };
    timeline x = TIMELINE_CALLS(ops, before);
    gap_is(&x, 0, 38, 50, TS_IDLE_HOST_SYNC);
    timeline_close(&x);
    x = TIMELINE_CALLS(ops, after);
    gap_is(&x, 0, 38, 50, TS_IDLE_HOST_LATE);
    timeline_close(&x);
}

UNIT_TEST(a_full_queue_holds_up_what_comes_after_it)
{
    const op ops[] = {
        { K, T0, 1, 5, UNKNOWN, 1, 0, 0, HOST },
        { K, S0, 10, 50, UNKNOWN, 2, 0, 0, HOST },
        { K, S0, 50, 60, UNKNOWN, 3, 0, 0, HOST },
        { K, S0, 60, 70, UNKNOWN, 4, 0, 0, HOST }, // when the first begins
        { K, T0, 14, 20, UNKNOWN, 5, 0, 0, HOST },
    };
    const call calls[] = {
        { HOST, 0, 1, 1 },  { HOST, 1, 2, 2 },   { HOST, 2, 3, 3 },
        { HOST, 4, 11, 4 }, { HOST, 12, 13, 5 },
    };
    const ts_replay_desc desc = { .queue_depth = 2 };
    timeline x = timeline_of(work_with(ops, 5, calls, 5, &desc, 0));
    ts_gap gap;
    assert_true(ts_timeline_gap(x.timeline, 1, 0, &gap));
    assert_int_equal(5, gap.start_ns);
    assert_int_equal(14, gap.end_ns);
    assert_int_equal(TS_IDLE_QUEUE_FULL, gap.cause);
    assert_int_equal(call_of(&x, S0, 60), gap.culprit);
    timeline_close(&x);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
