/*
    test_races_orders.c - races shown by running other legal orders
*/
#include "tests/replay/races/races_random.h"

static ts_exploration explore(const scene *s, uint64_t orders, uint64_t seed)
{
    const ts_explore_desc desc = { .orders = orders, .seed = seed };
    ts_exploration found;
    assert_int_equal(TS_OK, ts_races_explore(s->races, &desc, &found));
    return found;
}

#define BUFFER(n) .address = 0x1000 * (n), .size = 4096
enum { UP = 1 | 0x32 << 4, DOWN = 2 | 0x23 << 4 };

// Upload on one stream, a kernel on another, download behind it.
static const act forgotten[] = {
    { GA, C0, 1, 1, 1, BUFFER(1), .call = "malloc" },
    { GA, C0, 2, 2, 2, BUFFER(2), .call = "malloc" },
    { M, S0, 10, 20, 5, BUFFER(1), .source = 0x8000, .copy = UP,
      .call = "copyAsync" },
    { R, S0, 20, 20, 6, .id = 7 },
    { K, S1, 30, 40, 9, BUFFER(1), RW },
    { R, S1, 40, 40, 10, .id = 8 },
    { W, S0, 41, 42, 11, .id = 8, .record = 6 },
    { M, S0, 50, 60, 12, .address = 0x9000, .size = 4096, .source = 0x1000,
      .copy = DOWN, .call = "copyAsync" },
    { SS, S0, 13, 61, 13, .back = 62 },
};

UNIT_TEST(a_forgotten_wait_is_found_with_the_two_that_it_was_for)
{
    scene x = SCENE(forgotten);
    const ts_exploration found = explore(&x, 10000, 1);
    assert_true(found.differs);
    assert_int_equal(2, scene_row(&x, &found.first));
    assert_int_equal(4, scene_row(&x, &found.second));
    assert_int_equal(0x1000, found.address);
    assert_int_equal(4096, found.size);
    // The seed gives it again, as the first.
    const ts_exploration again = explore(&x, 1, found.seed);
    assert_true(again.differs);
    assert_int_equal(1, again.orders);
    assert_int_equal(found.seed, again.seed);
    assert_memory_equal(&found.first, &again.first, sizeof again.first);
    assert_memory_equal(&found.second, &again.second, sizeof again.second);
    assert_int_equal(found.address, again.address);
    scene_close(&x);
}

UNIT_TEST(every_seed_finds_it_soon)
{
    scene x = SCENE(forgotten);
    for (uint64_t seed = 0; seed < 200; seed++) {
        const ts_exploration found = explore(&x, 20, seed);
        assert_true(found.differs);
    }
    scene_close(&x);
}

// Random orders seldom swap two operations of which one waits for all others,
// so pairs that race are swapped on purpose.
UNIT_TEST(a_race_behind_much_else_is_found_soon)
{
    enum { OTHERS = 30 };
    act acts[3 * OTHERS + 2] = { { K, S0, 10, 20, 1, BUFFER(1), RW } };
    size_t count = 1;
    for (uint32_t i = 0; i < OTHERS; i++) {
        const uint32_t on = 1000 + i;
        acts[count++] = (act){ K, on, 10, 20, 2, BUFFER(10 + i), RW };
        acts[count++] = (act){ R, on, 20, 20, 3, .id = 100 + i };
    }
    for (uint32_t i = 0; i < OTHERS; i++)
        acts[count++] =
            (act){ W, S1, 30, 30, 4, .id = 100 + i, .record = 3 + 2 * i };
    acts[count++] = (act){ K, S1, 40, 50, 5, BUFFER(1), RW };
    scene x = scene_of(acts, count, OTHERS);
    assert_int_equal(1, scene_stats(&x)->instances);
    for (uint64_t seed = 0; seed < 20; seed++)
        assert_true(explore(&x, 10, seed).differs);
    scene_close(&x);
}

UNIT_TEST(the_corrected_one_stays_clean_over_10000_orders)
{
    act acts[10];
    memcpy(acts, forgotten, 4 * sizeof *acts);
    acts[4] = (act){ W, S1, 21, 22, 8, .id = 7, .record = 4 };
    memcpy(acts + 5, forgotten + 4, 5 * sizeof *acts);
    acts[7].record = 7;
    scene x = scene_of(acts, 10, 0);
    assert_int_equal(0, scene_stats(&x)->instances);
    const ts_exploration found = explore(&x, 10000, 1);
    assert_false(found.differs);
    assert_int_equal(10000, found.orders);
    assert_int_equal(1, found.distinct); // there is only one, in truth
    scene_close(&x);
}

UNIT_TEST(orders_that_differ_in_nothing_are_one)
{
    const act acts[] = {
        { K, S0, 10, 20, 1, BUFFER(1), RW },
        { K, S1, 10, 20, 2, BUFFER(2), RW },
        { K, S2, 10, 20, 3, BUFFER(3), RW },
        { K, S0, 30, 40, 4, BUFFER(1), RW },
        { K, S1, 30, 40, 5, BUFFER(2), RW },
        { K, S2, 30, 40, 6, BUFFER(3), RW },
    };
    scene x = SCENE(acts);
    const ts_exploration found = explore(&x, 1000, 3);
    assert_false(found.differs);
    assert_int_equal(6, found.operations);
    assert_int_equal(1, found.distinct);
    scene_close(&x);
}

UNIT_TEST(races_that_change_nothing_do_not_differ)
{
    // Two memsets of one value, and a reader of the result.
    act acts[] = {
        { Z, S0, 10, 20, 1, BUFFER(1) },
        { Z, S1, 10, 20, 2, .address = 0x1800, .size = 4096 },
        { DS, D0, 3, 25, 3, .back = 26 },
        { K, S2, 30, 40, 30, BUFFER(1), RD },
    };
    scene x = SCENE(acts);
    assert_int_equal(1, scene_stats(&x)->instances);
    const ts_exploration found = explore(&x, 100, 1);
    assert_false(found.differs);
    scene_close(&x);
}

UNIT_TEST(copies_move_what_is_there)
{
    // Half of 1 goes through 2, in two parts, to 3; in the other order it does
    // not.
    const act acts[] = {
        { K, S0, 1, 5, 1, BUFFER(1), WR },
        { M, S0, 10, 11, 2, .address = 0x2000, .size = 1024, .source = 0x1000,
          .copy = 3 },
        { M, S0, 12, 13, 3, .address = 0x2400, .size = 1024, .source = 0x1400,
          .copy = 3 },
        { M, S1, 20, 21, 4, .address = 0x3000, .size = 2048, .source = 0x2000,
          .copy = 3 },
    };
    scene x = SCENE(acts);
    const ts_exploration found = explore(&x, 100, 1);
    assert_true(found.differs);
    assert_int_equal(3, scene_row(&x, &found.second));
    assert_int_equal(0x3000, found.address & ~UINT64_C(0x400));
    scene_close(&x);
}

UNIT_TEST(what_the_host_reads_counts)
{
    const act acts[] = {
        { M, S0, 10, 20, 1, BUFFER(8), .source = 0x1000, .copy = DOWN,
          .call = "copyAsync" },
        { AC, HOST, 30, 30, -1, BUFFER(8), RD },
    };
    scene x = SCENE(acts);
    const ts_exploration found = explore(&x, 100, 1);
    assert_true(found.differs);
    assert_int_equal(0, scene_row(&x, &found.first));
    assert_int_equal(1, scene_row(&x, &found.second));
    scene_close(&x);
}

UNIT_TEST(races_and_orders_agree_on_random_scenes)
{
    static act acts[MOST];
    int racy = 0, clean = 0, differ = 0;
    for (dice_state = 1; dice_state < 600; dice_state++) {
        const uint64_t seed = dice_state;
        const size_t count = random_acts(acts);
        scene x = scene_of(acts, count, 0);
        const bool races = scene_stats(&x)->instances;
        ts_exploration found = { 0 };
        const ts_explore_desc desc = { .orders = 100, .seed = seed };
        const ts_result result = ts_races_explore(x.races, &desc, &found);
        assert_int_equal(scene_stats(&x)->ranges ? TS_OK : TS_ERR_NOT_FOUND,
                         result);
        if (races != (found.differs || found.distinct > 1))
            fail_msg("seed %" PRIu64 ": %s races, %" PRIu64 " orders, %s", seed,
                     races ? "has" : "no", found.distinct,
                     found.differs ? "differ" : "same");
        if (found.differs) {
            const act *const a = &acts[scene_row(&x, &found.first)];
            const act *const b = &acts[scene_row(&x, &found.second)];
            assert_true((a->mode | b->mode) & WR);
            assert_true(a->track != b->track);
            assert_true(a->address < b->address + b->size &&
                        b->address < a->address + a->size);
        }
        racy += races;
        clean += !races;
        differ += found.differs;
        scene_close(&x);
        dice_state = seed;
    }
    assert_true(racy > 100 && clean > 20 && differ > 100);
}

// Steps by hand, as the vdev runs them.
static uint64_t by_hand(scene *x, const uint64_t *seed, uint64_t steps)
{
    uint32_t order[16];
    uint64_t *const memory = malloc(ts_races_memory_size(x->races));
    assert_int_equal(TS_OK, ts_races_order(x->races, seed, order));
    ts_races_memory_clear(x->races, memory);
    for (uint64_t i = 0; i < steps; i++)
        ts_races_memory_step(x->races, memory, order[i]);
    const uint64_t digest = ts_races_memory_digest(x->races, memory);
    free(memory);
    return digest;
}

UNIT_TEST(steps_by_hand_leave_the_same)
{
    scene x = SCENE(forgotten);
    const ts_exploration found = explore(&x, 100, 1);
    assert_true(found.differs);
    assert_true(found.operations <= 9);
    const uint64_t recorded = by_hand(&x, NULL, found.operations);
    assert_true(recorded == by_hand(&x, NULL, found.operations));
    assert_true(recorded != by_hand(&x, &found.seed, found.operations));
    for (uint64_t seed = 1; seed < found.seed; seed++)
        assert_true(recorded == by_hand(&x, &seed, found.operations));
    assert_true(ts_races_step_lane(x.races, 0) !=
                ts_races_step_lane(x.races, 3));
    scene_close(&x);
}

static size_t allocations, fails_at;

static void *scarce(void *user, void *ptr, size_t old_size, size_t new_size)
{
    if (!new_size) {
        free(ptr);
        return NULL;
    }
    return ++allocations == fails_at ? NULL : realloc(ptr, new_size);
}

UNIT_TEST(every_failing_allocation_is_an_error)
{
    scene x = SCENE(forgotten);
    const ts_replay_desc desc = { .allocator = { scarce, NULL } };
    const ts_explore_desc explore = { .orders = 50 };
    ts_replay *replay;
    size_t failed = 0;
    for (size_t n = 1;; n++) {
        ts_races *races;
        ts_exploration found;
        fails_at = 0;
        assert_int_equal(TS_OK, ts_replay_open(&replay, x.reader, &desc));
        allocations = 0;
        fails_at = n;
        ts_result result = ts_races_open(&races, replay);
        assert_true((result == TS_OK) == (races != NULL));
        if (races) result = ts_races_explore(races, &explore, &found);
        const bool done = allocations < n;
        if (!done) assert_int_equal(TS_ERR_MEMORY, result);
        failed += !done;
        ts_races_close(races);
        ts_replay_close(replay);
        if (done) break;
    }
    assert_true(failed > 40);
    scene_close(&x);
}

static bool twice(void *user, uint64_t done)
{
    return ++*(int *)user, done < 2;
}

UNIT_TEST(progress_can_end_it)
{
    const act acts[] = { { K, S0, 10, 20, 1, BUFFER(1), RW } };
    scene x = SCENE(acts);
    int calls = 0;
    ts_exploration found;
    const ts_explore_desc desc = { .orders = 9,
                                   .progress = twice,
                                   .user = &calls };
    assert_int_equal(TS_OK, ts_races_explore(x.races, &desc, &found));
    assert_int_equal(2, found.orders);
    assert_int_equal(3, calls);
    scene_close(&x);
    const act nothing[] = { { K, S0, 10, 20, 1, .mode = 0 } };
    x = SCENE(nothing);
    assert_int_equal(TS_ERR_NOT_FOUND, ts_races_explore(x.races, NULL, &found));
    scene_close(&x);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
