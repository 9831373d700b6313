/*
    capture_fixture.h - tests of captures on doubles: a trace, what was captured
                        in it, and its replay

    The program that includes it defines EXECUTOR.
*/
#ifndef CAPTURE_FIXTURE_H
#define CAPTURE_FIXTURE_H

static rt_trace trace;

static void ok(int result)
{
    assert_int_equal(result, 0);
}

static ts_capture capture_at(size_t index)
{
    ts_capture c;
    assert_true(ts_reader_capture(trace.reader, index, &c));
    return c;
}

// One hash of what `count` operations found and left; all are whole.
RT_UNUSED static void hash_captures(size_t count, uint64_t hash[2])
{
    memset(hash, 0, 16);
    assert_int_equal(ts_reader_capture_count(trace.reader), count);
    for (size_t i = 0; i < count; i++) {
        const ts_capture c = capture_at(i);
        assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
        for (uint32_t k = 0; k < c.head.region_count; k++) {
            uint64_t all[6];
            memcpy(all, hash, 16);
            memcpy(all + 2, c.regions[k].before, 16);
            memcpy(all + 4, c.regions[k].after, 16);
            ts_blob_find(all, sizeof all, hash);
        }
    }
}

RT_UNUSED static void declined_for(size_t index, ts_reason reason)
{
    const ts_capture c = capture_at(index);
    assert_int_equal(c.head.state, TS_CAPTURE_DECLINED);
    assert_string_equal(ts_reason_name(c.head.reason), ts_reason_name(reason));
}

#ifdef EXECUTOR
// Operation `which` of the first `count`.
RT_UNUSED static ts_execution_item run_again(size_t count, size_t which)
{
    const ts_execution_desc desc = { .executor = &EXECUTOR };
    const size_t positions[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    ts_execution_item item;
    ts_execution *e;
    char why[200];
    ok(ts_execution_open(&e, trace.reader, positions, count, &desc, why,
                         sizeof why));
    ts_execution_run(e, which, &item);
    ts_execution_close(e);
    return item;
}

// It leaves the same contents. level: how its addresses are given, 0 for any.
RT_UNUSED static void runs_the_same(size_t count, size_t which, uint32_t level)
{
    const ts_execution_item item = run_again(count, which);
    assert_string_equal(ts_reason_name(item.reason), "none");
    assert_int_equal(item.outcome, TS_OUTCOME_EXECUTED);
    if (level) assert_int_equal(item.level, level);
    assert_true(item.compared);
    assert_false(item.diverged);
}
#endif

#endif // CAPTURE_FIXTURE_H
