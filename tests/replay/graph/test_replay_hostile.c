/*
    test_replay_hostile.c - records that contradict themselves
*/
#include "tests/replay/graph/replay_forge.h"
#include <time.h>

/* ---- Whatever the record says ------------------------------------------- */

static uint64_t random_below(uint64_t *seed, uint64_t limit)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (*seed >> 33) % limit;
}

static op random_op(uint64_t *seed, bool queued)
{
    static const uint8_t kinds[] = { K,  K,  K,  TS_EVENT_MEMCPY,
                                     R,  R,  W,  W,
                                     SS, DS, ES, TS_EVENT_GRAPH_LAUNCH };
    static const uint32_t tracks[] = {
        S0, S0 + 1, S0 + 2, LEGACY, LEGACY, FREE, T0, T0 + 1, D0, C0, D1, 9999
    };
    op o = { 0 };
    o.kind = kinds[random_below(seed, sizeof kinds)];
    o.track = tracks[random_below(seed, 12)];
    // Few distinct times, so that many are equal.
    o.queued = random_below(seed, 20);
    o.start = o.queued + random_below(seed, 3) * random_below(seed, 12);
    o.end = o.start + random_below(seed, 2) * random_below(seed, 20);
    if (!queued || !random_below(seed, 50)) o.queued = UNKNOWN;
    o.correlation = random_below(seed, 30);
    o.id = random_below(seed, 4);
    o.thread = (uint32_t)random_below(seed, 3) + 1;
    if (o.thread == PROCESS) o.thread = 0;
    return o;
}

UNIT_TEST(every_record_comes_out_as_it_was)
{
    enum { COUNT = 60, CALLS = 20 };
    for (uint64_t round = 0; round < 1500; round++) {
        uint64_t seed = round;
        op ops[COUNT];
        call calls[CALLS] = { 0 };
        for (size_t i = 0; i < COUNT; i++)
            ops[i] = random_op(&seed, round & 1);
        for (size_t i = 0; i < CALLS; i++) {
            calls[i].thread = HOST + (uint32_t)random_below(&seed, 2);
            calls[i].start = random_below(&seed, 25);
            calls[i].end = calls[i].start + random_below(&seed, 20);
            calls[i].correlation = random_below(&seed, 60);
        }
        const uint32_t choice[] = { S0, LEGACY, D0, 9999 };
        const ts_replay_desc desc = { .streams = choice,
                                      .stream_count = round / 2 % 3 ? 4 : 0,
                                      .deps = (ts_deps)(round / 6 % 3) };
        fixture x = work_with(ops, COUNT, calls, round & 4 ? CALLS : 0, &desc,
                              (int)(round % 4));
        assert_int_equal(TS_OK, ts_replay_run(x.replay, NULL));
        if (stats(&x)->different)
            fail_msg("round %" PRIu64 ": %" PRIu64 " differ", round,
                     stats(&x)->different);
        work_close(&x);
    }
}

UNIT_TEST(absurd_times_are_counted_and_left_out)
{
    op ops[sizeof crossing / sizeof *crossing];
    memcpy(ops, crossing, sizeof crossing);
    ops[0].end = UINT64_C(1) << 62;
    fixture x = WORK(ops);
    work_same(&x);
    assert_int_equal(5, stats(&x)->loaded);
    assert_int_equal(4, stats(&x)->operations);
    assert_int_equal(1, stats(&x)->skipped[TS_SKIP_BAD_TIME]);
    work_close(&x);
}

UNIT_TEST(durations_beyond_all_bounds_do_not_overflow)
{
    fixture x = WORK(crossing);
    const int64_t durations[5] = { INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX,
                                   INT64_MAX };
    const ts_replay_run_desc desc = { .durations_ns = durations };
    assert_int_equal(TS_OK, ts_replay_run(x.replay, &desc));
    assert_true(stats(&x)->end_ns > stats(&x)->start_ns);
    work_close(&x);
}

UNIT_TEST(a_damaged_chunk_costs_only_its_own)
{
    fixture x;
    work_begin(&x, 0);
    add_kind(&x.f, crossing, 5, K, false);
    const size_t before = x.f.size;
    add_kind(&x.f, crossing, 5, R, false);
    const size_t after = x.f.size;
    add_kind(&x.f, crossing, 5, W, false);
    x.f.file.bytes[(before + after) / 2] ^= 1;
    work_open(&x, NULL);
    work_same(&x);
    assert_int_equal(4, stats(&x)->operations);
    assert_int_equal(1, stats(&x)->never_recorded);
    assert_true(ts_reader_damage_count(x.reader) > 0);
    work_close(&x);
}

UNIT_TEST(losses_count_where_they_touch_the_selection)
{
    const struct {
        uint64_t track, cause, first, last;
        bool counts;
        int64_t to; // of the selection; 0: all that the stream has
    } cases[] = {
        { 0, 1, 0, 0, true, 0 },        { HOST, 1, 40, 70, true, 0 },
        { HOST, 1, 61, 70, true, 0 },   { HOST, 64, 40, 70, false, 0 },
        { S0 + 1, 10, 1, 99, true, 0 }, { S0, 10, 1, 99, false, 0 },
        { D0, 10, 1, 99, true, 0 },     { D1, 10, 1, 99, false, 0 },
        { HOST, 1, 53, 54, true, 53 },  { HOST, 1, 56, 70, false, 53 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint32_t streams[] = { S0 + 1 };
        const ts_replay_desc desc = { .streams = streams,
                                      .stream_count = 1,
                                      .to_ns = cases[i].to };
        fixture x;
        work_begin(&x, 0);
        for (uint8_t kind = K; kind <= W; kind++)
            add_kind(&x.f, crossing, 5, kind, false);
        const uint64_t loss[] = { cases[i].cause, 0, 5, cases[i].first,
                                  cases[i].last,  0 };
        forge_begin(&x.f, FORGE_LOSS);
        forge_numbers(&x.f, (uint32_t)cases[i].track, 2, 6, loss);
        forge_end(&x.f);
        work_open(&x, &desc);
        assert_int_equal(cases[i].counts ? 5 : 0, stats(&x)->lost);
        work_close(&x);
    }
}

/* ---- Memory and time ---------------------------------------------------- */

// Opens and replays it in several ways; each time another allocation fails.
static void fail_each_allocation(ts_reader *reader)
{
    bool done = false;
    for (size_t i = 0; !done; i++) {
        assert_true(i < 1000);
        budget b = { i, 0, false, false };
        const uint32_t tracks[] = { S0, LEGACY };
        const ts_replay_desc desc = { .streams = tracks,
                                      .stream_count = 2,
                                      .deps = (ts_deps)(i % 3),
                                      .threads = 1,
                                      .allocator = { budget_resize, &b } };
        ts_replay *replay;
        ts_result result = ts_replay_open(&replay, reader, &desc);
        assert_true((result == TS_OK) == (replay != NULL));
        if (replay) {
            const ts_change changes[] = {
                { .type = TS_CHANGE_SERIALISE },
                { .type = TS_CHANGE_INSERT, .ns = 5 },
                { .type = TS_CHANGE_REMOVE },
                { .type = TS_CHANGE_OVERLAP },
            };
            const ts_replay_run_desc how = { .mode = TS_REPLAY_MODEL,
                                             .changes = changes,
                                             .change_count = 4,
                                             .copy_engines = 1,
                                             .share_compute = true };
            const ts_step *steps;
            size_t count;
            result = ts_replay_run(replay, NULL);
            if (result == TS_OK) result = ts_replay_run(replay, &how);
            if (result == TS_OK)
                result = ts_replay_steps(replay, &steps, &count);
            ts_replay_close(replay);
        }
        done = !b.refused;
        assert_int_equal(b.failed ? TS_ERR_MEMORY : TS_OK, result);
        assert_int_equal(0, b.held);
    }
}

UNIT_TEST(every_failing_allocation_is_reported)
{
    const op cycle[] = {
        { W, S0, 1, 5, 1, 11, 1, 12, HOST },
        { R, S0, 6, 6, 2, 12, 1, 0, HOST },
        { K, LEGACY, 7, 8, 3, 13, 1, 0, HOST },
        { TS_EVENT_GRAPH_LAUNCH, S0 + 1, 7, 8, 4, 14, 1, 0, HOST },
        { DS, D0, 9, 10, 9, 15, 1, 0, HOST },
    };
    const call calls[] = { { HOST, 0, 1, 11 }, { HOST, 1, 2, 12 } };
    fixture x = WORK_CALLS(cycle, calls);
    fail_each_allocation(x.reader);
    work_close(&x);
    // Many operations of one number wait for many of another.
    enum { HALF = 12 };
    const dependency one_for_all = { 1, 2 };
    op ops[2 * HALF];
    for (uint64_t i = 0; i < 2 * HALF; i++) {
        const uint64_t at = i * 10, number = 1 + i / HALF;
        const op kernel = { K, S0, at, at + 5, UNKNOWN, number, 0, 0, 0 };
        ops[i] = kernel;
    }
    work_begin(&x, 0);
    work_add(&x, ops, 2 * HALF, NULL, 0, 0);
    add_dependencies(&x.f, &one_for_all, 1);
    work_read(&x);
    fail_each_allocation(x.reader);
    work_close(&x);
}

static double seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC; // of this process
}

// Loads and replays kernels with events between 64 streams.
static double time_of(uint32_t count)
{
    op *const ops = calloc(count, sizeof *ops);
    assert_non_null(ops);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t at = (uint64_t)i * 10 + 100;
        const op o = { i % 16 == 5    ? R
                       : i % 16 == 11 ? W
                                      : K,
                       1000 + i % 64,
                       at,
                       at + (i % 16 == 5 ? 0 : 300),
                       at - 50,
                       i + 1,
                       i / 16 % 1000 + 1,
                       0,
                       HOST };
        ops[i] = o;
    }
    fixture x;
    work_begin(&x, 64);
    for (uint8_t kind = K; kind <= W; kind++)
        add_kind(&x.f, ops, count, kind, false);
    free(ops);
    forge_finish(&x.f);
    const ts_reader_desc reader = { .bytes = x.f.bytes, .size = x.f.size };
    assert_int_equal(TS_OK, ts_reader_open(&x.reader, &reader));
    const double start = seconds();
    assert_int_equal(TS_OK, ts_replay_open(&x.replay, x.reader, NULL));
    work_same(&x);
    const double took = seconds() - start;
    assert_int_equal(count, stats(&x)->operations);
    assert_int_equal(count / 16, stats(&x)->edges[TS_EDGE_EVENT]);
    work_close(&x);
    return took;
}

UNIT_TEST(time_grows_as_the_operations_do)
{
    time_of(25000);
    const double few = time_of(25000), many = time_of(200000);
    // Eight times the work. A quadratic step would make it 64 times.
    if (many > 24 * few + 0.05)
        fail_msg("200,000 operations took %.3f s, 25,000 %.3f s", many, few);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
