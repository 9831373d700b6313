/*
    test_analyze_path.c - a critical path whose parts are known
*/
#include "tests/tools/analyze/time_fixture.h"
#include "tools/analyze/figures/time/critical_path.h"

static int64_t sum_of(const sums *s, uint64_t key)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->rows[i].key == key) return s->rows[i].ns;
    return -1;
}

// Every operation was launched from zone `step`, whatever the trace says.
static uint32_t step_of(void *user, uint32_t operation)
{
    return *(uint32_t *)user;
}

/*
    The host calls at 0 and at 100, from 20 to 60 in zone `load`, from 60 to 85
    in `read`; kernels run 10 to 40 and 110 to 160. Back from 160: kernel b 110
    to 160, its launch 100 to 110, the host before; the run begins with kernel
    a, at 10.
*/
static void make(made *m)
{
    made_begin(m, 0);
    made_launch(m, S0, "a", 0, 10, 40);
    made_zone(m, HOST, "load", 20, 60);
    made_zone(m, HOST, "read", 60, 85);
    made_launch(m, S0, "b", 100, 110, 160);
    made_open(m);
}

UNIT_TEST(the_path_adds_up_to_the_run_by_category_name_and_zone)
{
    made m;
    path_result r;
    make(&m);
    uint32_t step = names_add(&m.names, m.replay, 0, TS_EVENT_ZONE, 0);
    assert_true(path_open(&r, m.replay, &m.names, step_of, &step, 99));
    assert_int_equal(150, r.makespan_ns);
    assert_int_equal(TS_COST_HOST, r.bound);
    assert_int_equal(90, r.cost_ns[TS_COST_HOST]);
    assert_int_equal(10, r.cost_ns[TS_COST_LAUNCH]);
    assert_int_equal(50, r.cost_ns[TS_COST_COMPUTE]);
    const uint32_t b = made_group(&m, "b");
    assert_int_equal(50, sum_of(&r.names, path_key(b, TS_COST_COMPUTE, false)));
    assert_int_equal(10, sum_of(&r.names, path_key(b, TS_COST_LAUNCH, true)));
    // What the device did, and the launch on its way, is of the zone that
    // launched; the host was in `load` for 40 and in none for 25.
    assert_int_equal(40, sum_of(&r.zones, made_group(&m, "load")));
    assert_int_equal(60, sum_of(&r.zones, step));
    assert_int_equal(25, sum_of(&r.zones, TS_NODE_NONE));
    // The longest part is the host's, of which `load` is not the half, but
    // the most.
    const uint32_t load = made_group(&m, "load");
    assert_int_equal(load, r.held[0].zone);
    assert_int_equal(40, r.held[0].zone_ns);
    assert_int_equal(90, r.held[0].length_ns);
    assert_int_equal(step, r.held[1].zone);
    assert_int_equal(40, sum_of(&r.names, path_key(load, TS_COST_HOST, true)));
    assert_int_equal(
        25, sum_of(&r.names, path_key(TS_NODE_NONE, TS_COST_HOST, true)));
    int64_t last = INT64_MAX, all = 0;
    for (size_t i = 0; i < r.part_count; i++) {
        const ts_path_part *const p = &r.parts[r.longest[i]];
        assert_true(p->end_ns - p->start_ns <= last);
        last = p->end_ns - p->start_ns;
        all += last;
    }
    assert_int_equal(150, all);
    path_close(&r);
    REPORT(m.path, "path");
    made_close(&m);
}

/*
    Kernel a from 10 to 20. The host waits for it from 5 to 50, frees memory
    from 60 to 90, which waits for nothing more, and launches b, 100 to 102,
    which runs from 110 to 160. Back from 160: b; its launch, 100 to 110; the
    host, 90 to 100; the free; the host, 50 to 60; the wait, from the end of a
    on; a; its launch, from 5 on, where the first operation begins.
*/
UNIT_TEST(what_is_in_a_call_is_not_what_is_before_it)
{
    made m;
    path_result r;
    made_begin(&m, 0);
    made_launch(&m, S0, "a", 0, 10, 20);
    made_call(&m, HOST, "cudaStreamSynchronize", 5, 50);
    made_operation(&m, TS_EVENT_STREAM_SYNC, S0, 5, 50, NULL, 0);
    made_call(&m, HOST, "cudaFree", 60, 90);
    made_launch(&m, S0, "b", 100, 110, 160);
    made_open(&m);
    assert_true(path_open(&r, m.replay, &m.names, NULL, NULL, 99));
    assert_int_equal(155, r.makespan_ns);
    const uint32_t frees = made_group(&m, "cudaFree");
    const struct {
        uint64_t key;
        int64_t ns;
    } rows[] = {
        { path_key(m.names.of[0], TS_COST_SYNC, false), 30 },
        { path_key(TS_NODE_NONE, TS_COST_HOST, true), 10 + 10 },
        { path_key(frees, TS_COST_HOST, false), 30 },
        { path_key(made_group(&m, "a"), TS_COST_LAUNCH, true), 5 },
        { path_key(made_group(&m, "b"), TS_COST_LAUNCH, true), 10 },
        { path_key(made_group(&m, "a"), TS_COST_COMPUTE, false), 10 },
        { path_key(made_group(&m, "b"), TS_COST_COMPUTE, false), 50 },
    };
    assert_int_equal(sizeof rows / sizeof *rows, r.names.count);
    for (size_t i = 0; i < r.names.count; i++) {
        size_t k = 0;
        while (k < r.names.count && r.names.rows[k].key != rows[i].key)
            k++;
        assert_true(k < r.names.count);
        assert_int_equal(rows[i].ns, r.names.rows[k].ns);
        // None is there twice, but the host in no zone.
        const bool host = path_key_group(rows[i].key) == TS_NODE_NONE;
        assert_int_equal(host ? 2 : 1, r.names.rows[k].count);
    }
    path_close(&r);
    REPORT(m.path, "path");
    made_close(&m);
}

// 100 gaps between launches, of lengths in no order: whatever few are asked
// for, they are the longest.
UNIT_TEST(the_longest_parts_are_the_first_of_all_sorted)
{
    made m;
    path_result all, few;
    int64_t at = 0;
    made_begin(&m, 0);
    for (int i = 0; i < 100; i++) {
        at += 100 + (i * 37 % 50) * 10; // two of each length
        made_launch(&m, S0, "k", at, at + 5, at + 10);
    }
    made_open(&m);
    assert_true(path_open(&all, m.replay, &m.names, NULL, NULL, 1000));
    assert_true(all.part_count > 100);
    assert_int_equal(all.part_count, all.longest_count);
    for (size_t most = 0; most < 12; most++) {
        assert_true(path_open(&few, m.replay, &m.names, NULL, NULL, most));
        assert_int_equal(most, few.longest_count);
        for (size_t i = 0; i < most; i++)
            assert_int_equal(all.longest[i], few.longest[i]);
        path_close(&few);
    }
    path_close(&all);
    REPORT(m.path, "path");
    made_close(&m);
}

UNIT_TEST(a_category_that_is_free_leaves_the_others)
{
    made m;
    path_result r;
    made_begin(&m, 0);
    made_launch(&m, S0, "a", 0, 10, 40);
    made_launch(&m, S0, "b", 100, 110, 160);
    made_launch(&m, S0, "c", 104, 160, 170); // as soon as b is done
    made_open(&m);
    assert_true(path_open(&r, m.replay, &m.names, NULL, NULL, 99));
    assert_true(model_run(m.replay, NULL, 0, &r.model));
    assert_true(path_without(&r, m.replay));
    assert_true(r.model.known);
    assert_int_equal(160, r.model.makespan_ns);
    assert_true(r.free[TS_COST_COMPUTE].known);
    // All kernels done at once: the launch of c, at 104, takes until 114.
    assert_int_equal(104, r.free[TS_COST_COMPUTE].makespan_ns);
    assert_true(r.free[TS_COST_HOST].known);
    // All launched at 0: a from 10 to 40, b and c right after.
    assert_int_equal(90, r.free[TS_COST_HOST].makespan_ns);
    assert_int_equal(TS_COST_COMPUTE, r.free[TS_COST_HOST].bound);
    assert_false(r.free[TS_COST_COPY].known); // not on the path
    path_close(&r);
    REPORT(m.path, "path");
    made_close(&m);
}

// UndefinedBehaviorSanitizer tells what is done with no memory at all.
UNIT_TEST(a_run_that_takes_no_time_has_a_path_without_parts)
{
    made m;
    path_result r;
    made_begin(&m, 0);
    made_launch(&m, S0, "a", 10, 10, 10);
    made_open(&m);
    uint32_t step = TS_NODE_NONE;
    assert_true(path_open(&r, m.replay, &m.names, step_of, &step, 99));
    assert_int_equal(0, r.part_count);
    assert_int_equal(0, r.makespan_ns);
    path_close(&r);
    REPORT(m.path, "path");
    made_close(&m);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
