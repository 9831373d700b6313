/*
    test_replay_figures.c - selection, digest, utilisation, hostile traces
*/
#include "tests/replay_forge.h"
#include <time.h>

/* ---- Selection ---------------------------------------------------------- */

static const op crossing[] = {
    { K, S0, 2, 50, 0, 1, 0, 0, HOST },
    { R, S0, 50, 50, 1, 2, 7, 0, HOST },
    { W, S0 + 1, 5, 52, 2, 3, 7, 0, HOST },
    { K, S0 + 1, 55, 60, 3, 4, 0, 0, HOST },
    { K, T0, 4, 9, 4, 5, 0, 0, OTHER },
};

static void a_selection_says_what_it_leaves_out(void **state)
{
    (void)state;
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

static void a_time_range_takes_what_touches_it(void **state)
{
    (void)state;
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

static void the_rest_of_the_world_can_be_frozen(void **state)
{
    (void)state;
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

static void the_rest_of_the_world_can_be_left_out(void **state)
{
    (void)state;
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

static void what_a_selection_needs_can_be_added(void **state)
{
    (void)state;
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
static void partial_joins_replay_in_every_mode(void **state)
{
    (void)state;
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

static void nothing_selected_is_never_a_success(void **state)
{
    (void)state;
    const uint32_t streams[] = { S0 + 5 };
    const ts_replay_desc desc = { .streams = streams, .stream_count = 1 };
    fixture x = WORK_DESC(crossing, &desc);
    assert_int_equal(0, stats(&x)->operations);
    assert_int_equal(TS_ERR_NOT_FOUND, ts_replay_run(x.replay, NULL));
    work_close(&x);
}

static void a_trace_without_gpu_operations_is_not_found(void **state)
{
    (void)state;
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

static void wrong_use_is_refused(void **state)
{
    (void)state;
    fixture x = WORK(crossing);
    const int64_t durations[5] = { 1, 2, 3, -1, 5 };
    ts_replay *none;
    const ts_replay_desc backwards = { .from_ns = 2, .to_ns = 1 };
    const ts_replay_desc unknown = { .deps = (ts_deps)7 };
    assert_int_equal(TS_ERR_USAGE, ts_replay_run(x.replay, durations));
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

/* ---- Utilisation -------------------------------------------------------- */

static int64_t window(const fixture *x)
{
    return stats(x)->busy_to_ns - stats(x)->busy_from_ns;
}

static void kernels_back_to_back_are_all_of_the_time(void **state)
{
    (void)state;
    op ops[102];
    for (uint32_t i = 0; i < 100; i++) {
        const op kernel = { K, S0 + i % 2, 10 + i * 7, 17 + i * 7, 1,
                            0, 0,          0,          HOST };
        ops[i] = kernel;
    }
    const op record = { R, S0, 5, 5, 1, 0, 7, 0, HOST };
    const op sync = { DS, D0, 2, 720, 2, 0, 0, 0, HOST };
    ops[100] = record; // neither is work
    ops[101] = sync;
    fixture x = WORK(ops);
    work_same(&x);
    ts_lane device;
    assert_int_equal(1, ts_replay_device_count(x.replay));
    assert_true(ts_replay_device(x.replay, 0, &device));
    assert_int_equal(700, window(&x));
    assert_int_equal(700, device.busy_ns);
    ts_lane lane;
    assert_true(ts_replay_lane(x.replay, 0, &lane));
    assert_int_equal(D0, lane.track);
    assert_true(ts_replay_lane(x.replay, 1, &lane));
    assert_int_equal(S0, lane.track);
    assert_int_equal(350, lane.busy_ns);
    work_close(&x);
}

static void overlapping_work_counts_once(void **state)
{
    (void)state;
    const op ops[] = {
        { K, S0, 0, 60, UNKNOWN, 0, 0, 0, 0 },
        { K, S0 + 1, 10, 50, UNKNOWN, 0, 0, 0, 0 },
        { K, S0, 20, 80, UNKNOWN, 0, 0, 0, 0 },
        { K, S0 + 1, 90, 100, UNKNOWN, 0, 0, 0, 0 },
    };
    fixture x = WORK(ops);
    work_same(&x);
    ts_lane device;
    assert_true(ts_replay_device(x.replay, 0, &device));
    assert_int_equal(90, device.busy_ns);
    assert_int_equal(100, window(&x));
    work_close(&x);
}

static void four_half_busy_devices_are_half_busy(void **state)
{
    (void)state;
    op ops[41];
    for (uint32_t i = 0; i < 40; i++) {
        const op kernel = { K,
                            S0 + 100 * (i % 4),
                            10 * (i / 4),
                            10 * (i / 4) + 5,
                            UNKNOWN,
                            0,
                            0,
                            0,
                            0 };
        ops[i] = kernel;
    }
    ops[40] = ops[0]; // at the very end, so that the window is 100
    ops[40].start = 95;
    ops[40].end = 100;
    fixture x = WORK(ops);
    work_same(&x);
    assert_int_equal(4, ts_replay_device_count(x.replay));
    assert_int_equal(100, window(&x));
    for (size_t i = 0; i < 4; i++) {
        ts_lane device;
        assert_true(ts_replay_device(x.replay, i, &device));
        assert_int_equal(i ? 50 : 55, device.busy_ns);
    }
    work_close(&x);
}

/* ---- Digest ------------------------------------------------------------- */

static uint64_t digest_of(const op *ops, size_t count, uint32_t threads,
                          int turn)
{
    const ts_replay_desc desc = { .threads = threads };
    fixture x = work_with(ops, count, NULL, 0, &desc, turn);
    work_same(&x);
    const uint64_t digest = stats(&x)->digest;
    work_same(&x); // again
    assert_int_equal(digest, stats(&x)->digest);
    work_close(&x);
    return digest;
}

static void the_digest_is_that_of_the_schedule_alone(void **state)
{
    (void)state;
    const size_t count = sizeof crossing / sizeof *crossing;
    const uint64_t digest = digest_of(crossing, count, 1, 0);
    for (uint32_t threads = 1; threads < 8; threads += 3)
        for (int turn = 0; turn < 4; turn++)
            assert_int_equal(digest, digest_of(crossing, count, threads, turn));
    // Computed by another program from the same six numbers an operation.
    op other[sizeof crossing / sizeof *crossing];
    memcpy(other, crossing, sizeof crossing);
    other[3].end++;
    assert_int_not_equal(digest, digest_of(other, count, 1, 0));
    memcpy(other, crossing, sizeof crossing);
    other[3].correlation++;
    assert_int_not_equal(digest, digest_of(other, count, 1, 0));
    memcpy(other, crossing, sizeof crossing);
    other[4].track = T0 + 1;
    assert_int_not_equal(digest, digest_of(other, count, 1, 0));
}

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
    // Few moments, so that many are equal.
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

static void every_record_comes_out_as_it_was(void **state)
{
    (void)state;
    enum { COUNT = 60, CALLS = 20 };
    for (uint64_t round = 0; round < 1500; round++) {
        uint64_t seed = round;
        op ops[COUNT];
        call calls[CALLS];
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

static void absurd_times_are_counted_and_left_out(void **state)
{
    (void)state;
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

static void durations_beyond_all_bounds_do_not_overflow(void **state)
{
    (void)state;
    fixture x = WORK(crossing);
    const int64_t durations[5] = { INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX,
                                   INT64_MAX };
    assert_int_equal(TS_OK, ts_replay_run(x.replay, durations));
    assert_true(stats(&x)->end_ns > stats(&x)->start_ns);
    work_close(&x);
}

static void a_damaged_chunk_costs_only_its_own(void **state)
{
    (void)state;
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

static void losses_count_where_they_touch_the_selection(void **state)
{
    (void)state;
    const struct {
        uint64_t track, cause, first, last;
        bool counts;
    } cases[] = {
        { 0, 1, 0, 0, true },        { HOST, 1, 40, 70, true },
        { HOST, 1, 61, 70, false },  { HOST, 64, 40, 70, false },
        { S0 + 1, 10, 1, 99, true }, { S0, 10, 1, 99, false },
        { D0, 10, 1, 99, true },     { D1, 10, 1, 99, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint32_t streams[] = { S0 + 1 };
        const ts_replay_desc desc = { .streams = streams, .stream_count = 1 };
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

typedef struct budget {
    size_t left, held;
} budget;

static void *budget_resize(void *user, void *ptr, size_t old_size,
                           size_t new_size)
{
    budget *const b = user;
    if (!new_size) {
        b->held -= old_size;
        free(ptr);
        return NULL;
    }
    if (!b->left) return NULL;
    b->left--;
    void *const block = realloc(ptr, new_size);
    if (block) b->held += new_size - old_size;
    return block;
}

static void every_failing_allocation_is_reported(void **state)
{
    (void)state;
    const op circle[] = {
        { W, S0, 1, 5, 1, 11, 1, 12, HOST },
        { R, S0, 6, 6, 2, 12, 1, 0, HOST },
        { K, LEGACY, 7, 8, 3, 13, 1, 0, HOST },
        { TS_EVENT_GRAPH_LAUNCH, S0 + 1, 7, 8, 4, 14, 1, 0, HOST },
        { DS, D0, 9, 10, 9, 15, 1, 0, HOST },
    };
    const call calls[] = { { HOST, 0, 1, 11 }, { HOST, 1, 2, 12 } };
    fixture x = WORK_CALLS(circle, calls);
    ts_result opened = TS_ERR_MEMORY, ran = TS_ERR_MEMORY;
    for (size_t i = 0; ran == TS_ERR_MEMORY; i++) {
        assert_true(i < 1000);
        budget b = { i, 0 };
        const uint32_t tracks[] = { S0, LEGACY };
        const ts_replay_desc desc = { .streams = tracks,
                                      .stream_count = 2,
                                      .deps = (ts_deps)(i % 3),
                                      .threads = 1,
                                      .allocator = { budget_resize, &b } };
        ts_replay *replay;
        opened = ts_replay_open(&replay, x.reader, &desc);
        if (opened == TS_OK) {
            ran = ts_replay_run(replay, NULL);
            ts_replay_close(replay);
        } else {
            assert_int_equal(TS_ERR_MEMORY, opened);
            assert_null(replay);
        }
        assert_int_equal(0, b.held);
    }
    assert_int_equal(TS_OK, opened);
    assert_int_equal(TS_OK, ran);
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

static void time_grows_as_the_operations_do(void **state)
{
    (void)state;
    time_of(25000);
    const double few = time_of(25000), many = time_of(200000);
    // Eight times the work. A quadratic step would make it 64 times.
    if (many > 24 * few + 0.05)
        fail_msg("200,000 operations took %.3f s, 25,000 %.3f s", many, few);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_selection_says_what_it_leaves_out),
        cmocka_unit_test(a_time_range_takes_what_touches_it),
        cmocka_unit_test(the_rest_of_the_world_can_be_frozen),
        cmocka_unit_test(the_rest_of_the_world_can_be_left_out),
        cmocka_unit_test(what_a_selection_needs_can_be_added),
        cmocka_unit_test(partial_joins_replay_in_every_mode),
        cmocka_unit_test(nothing_selected_is_never_a_success),
        cmocka_unit_test(a_trace_without_gpu_operations_is_not_found),
        cmocka_unit_test(wrong_use_is_refused),
        cmocka_unit_test(kernels_back_to_back_are_all_of_the_time),
        cmocka_unit_test(overlapping_work_counts_once),
        cmocka_unit_test(four_half_busy_devices_are_half_busy),
        cmocka_unit_test(the_digest_is_that_of_the_schedule_alone),
        cmocka_unit_test(every_record_comes_out_as_it_was),
        cmocka_unit_test(absurd_times_are_counted_and_left_out),
        cmocka_unit_test(durations_beyond_all_bounds_do_not_overflow),
        cmocka_unit_test(a_damaged_chunk_costs_only_its_own),
        cmocka_unit_test(losses_count_where_they_touch_the_selection),
        cmocka_unit_test(every_failing_allocation_is_reported),
        cmocka_unit_test(time_grows_as_the_operations_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
