/*
    test_races.c - races: one small trace for each rule

    A: 0x1000 to 0x10FF. Whether two rows overlap in time never matters, so most
    do not.
*/
#include "tests/replay/races/races_random.h"

#define A        .address = 0x1000, .size = 256
#define BEHIND   .address = 0x1100, .size = 256
#define NEAR     .address = 0x10FF, .size = 256
#define EVENT(n) .id = n

/* ---- Streams and events ------------------------------------------------- */

UNIT_TEST(two_streams_without_an_event_race)
{
    const act acts[] = {
        { K, S0, 10, 20, 1, A, WR },
        { K, S1, 30, 40, 3, A, RD },
    };
    const ts_race race = RACE(acts, READ_WRITE, 0, 1);
    assert_int_equal(TS_RACE_FIX_EVENT_WAIT, race.fix);
    assert_int_equal(0x1000, race.address);
    assert_int_equal(256, race.size);
    assert_int_equal(S0, race.first.track);
    assert_int_equal(S1, race.second.track);
    assert_int_equal(HOST, race.first.thread);
    assert_true(race.first.site && race.first.site != race.second.site);
    assert_int_equal(TS_ACCESS_WRITE, race.first.mode);
    assert_false(race.coarse);
}

UNIT_TEST(what_was_launched_first_comes_first)
{
    const act acts[] = {
        { K, S0, 30, 40, 1, A, WR },
        { K, S1, 10, 20, 3, A, RD }, // ran too early
    };
    const ts_race race = RACE(acts, READ_WRITE, 0, 1);
    assert_int_equal(S0, race.first.track);
}

UNIT_TEST(one_stream_is_in_order_even_where_the_record_overlaps)
{
    const act acts[] = {
        { K, S0, 10, 20, 1, A, WR },
        { K, S0, 15, 40, 3, A, RW },
        { K, S0, 16, 18, 5, A, RW },
        { K, S0, 50, 60, 7, A, RD },
    };
    CLEAN(acts);
}

UNIT_TEST(an_event_wait_orders)
{
    const act acts[] = {
        { K, S0, 10, 20, 1, A, WR },
        { R, S0, 20, 20, 3, EVENT(7) },
        { W, S1, 20, 21, 5, EVENT(7), .record = 2 },
        { K, S1, 30, 40, 7, A, RW },
    };
    CLEAN(acts);
    act unnamed[4];
    memcpy(unnamed, acts, sizeof acts);
    unnamed[2].record = 0; // the most recent record of the event
    CLEAN(unnamed);
}

UNIT_TEST(a_wait_behind_the_access_does_not_help)
{
    const act acts[] = {
        { K, S0, 10, 20, 1, A, WR },
        { R, S0, 20, 20, 3, EVENT(7) },
        { K, S1, 30, 40, 5, A, RW },
        { W, S1, 40, 41, 7, EVENT(7), .record = 2 },
    };
    RACE(acts, WRITE_WRITE, 0, 2);
}

UNIT_TEST(a_record_before_the_access_does_not_help)
{
    const act acts[] = {
        { R, S0, 9, 9, 1, EVENT(7) },
        { K, S0, 10, 20, 3, A, WR },
        { W, S1, 20, 21, 5, EVENT(7), .record = 1 },
        { K, S1, 30, 40, 7, A, RD },
    };
    RACE(acts, READ_WRITE, 1, 3);
}

UNIT_TEST(a_later_record_does_not_move_a_wait)
{
    const act acts[] = {
        { R, S0, 9, 9, 1, EVENT(7) }, { W, S1, 10, 11, 2, EVENT(7) },
        { K, S0, 10, 20, 3, A, WR },  { R, S0, 20, 20, 4, EVENT(7) },
        { K, S1, 30, 40, 7, A, RD },
    };
    RACE(acts, READ_WRITE, 2, 4);
    const act right[] = {
        { R, S0, 9, 9, 1, EVENT(7) },   { K, S0, 10, 20, 3, A, WR },
        { R, S0, 20, 20, 4, EVENT(7) }, { W, S1, 20, 21, 5, EVENT(7) },
        { K, S1, 30, 40, 7, A, RD },
    };
    CLEAN(right);
}

UNIT_TEST(a_wait_for_what_was_never_recorded_orders_nothing)
{
    const act acts[] = {
        { K, S0, 10, 20, 1, A, WR },
        { W, S1, 20, 21, 5, EVENT(9) },
        { K, S1, 30, 40, 7, A, RD },
    };
    RACE(acts, READ_WRITE, 0, 2);
}

UNIT_TEST(events_order_through_a_third_stream_and_another_device)
{
    const act acts[] = {
        { K, S0, 10, 20, 1, A, WR },
        { R, S0, 20, 20, 2, EVENT(1) },
        { W, T0, 20, 21, 3, EVENT(1), .record = 2 },
        { R, T0, 21, 21, 4, EVENT(2) },
        { W, S1, 21, 22, 5, EVENT(2), .record = 4 },
        { K, S1, 30, 40, 7, A, RW },
        { K, S2, 50, 60, 8, A, RD }, // waits for nothing
    };
    RACE(acts, READ_WRITE, 5, 6);
}

/* ---- Ranges ------------------------------------------------------------- */

UNIT_TEST(readers_do_not_race)
{
    const act acts[] = {
        { K, S0, 10, 20, 1, A, RD },
        { K, S1, 10, 20, 3, A, RD },
        { M, S2, 10, 20, 5, .address = 0x9000, .size = 256, .source = 0x1000,
          .copy = 3 },
    };
    CLEAN(acts);
}

UNIT_TEST(ranges_side_by_side_do_not_race_one_byte_does)
{
    act acts[] = {
        { K, S0, 10, 20, 1, A, WR },
        { K, S1, 10, 20, 3, BEHIND, WR },
    };
    CLEAN(acts);
    acts[1] = (act){ K, S1, 10, 20, 3, NEAR, WR };
    const ts_race race = RACE(acts, WRITE_WRITE, 0, 1);
    assert_int_equal(0x10FF, race.address);
    assert_int_equal(1, race.size);
}

UNIT_TEST(small_ranges_race_with_a_big_one_and_it_with_them)
{
    act acts[9];
    for (uint32_t i = 0; i < 8; i++)
        acts[i] = (act){ K,          S0,        10 * i,
                         10 * i + 5, 1 + i,     .address = 0x1000 + 32 * i,
                         .size = 16, .mode = WR };
    acts[8] = (act){
        K, S1, 200, 210, 100, .address = 0x1000, .size = 4096, .mode = RD
    };
    scene s = SCENE(acts);
    // The latest of the other stream stands for those before it.
    assert_true(scene_stats(&s)->instances >= 1);
    ts_race race;
    for (size_t i = 0; ts_races_at(s.races, i, &race); i++)
        assert_int_equal(8, scene_row(&s, &race.second));
    scene_close(&s);
    act turned[] = { acts[8], acts[3] };
    turned[1].start = 300, turned[1].end = 310, turned[1].queued = 200;
    turned[1].track = S1 + 1;
    RACE(turned, READ_WRITE, 0, 1);
}

UNIT_TEST(copies_and_memsets_touch_what_their_addresses_say)
{
    act acts[] = {
        { Z, S0, 10, 20, 1, A },
        { M, S1, 30, 40, 3, .address = 0x9000, .size = 16, .source = 0x10F0,
          .copy = 3 },
    };
    RACE(acts, READ_WRITE, 0, 1);
    acts[1].source = 0x1100;
    CLEAN(acts);
    acts[1].address = 0xFF8;
    RACE(acts, WRITE_WRITE, 0, 1);
    acts[1].address = 0xFF0;
    CLEAN(acts);
}

UNIT_TEST(coarse_accesses_are_marked)
{
    act acts[] = {
        { K, S0, 10, 20, 1, A, WR },
        { K, S1, 30, 40, 3, A, RW | COARSE },
    };
    const ts_race race = RACE(acts, WRITE_WRITE, 0, 1);
    assert_true(race.coarse);
    scene s = SCENE(acts);
    assert_int_equal(2, scene_stats(&s)->operations);
    assert_int_equal(2, scene_stats(&s)->known);
    assert_int_equal(1, scene_stats(&s)->coarse);
    scene_close(&s);
}

/* ---- What is reported --------------------------------------------------- */

UNIT_TEST(a_pair_of_launch_sites_is_one_race)
{
    enum { TIMES = 20 };
    act acts[2 * TIMES] = { 0 };
    for (int i = 0; i < TIMES; i++) {
        const int64_t at = 100 * i;
        acts[2 * i] = (act){ K, S0, at + 10, at + 15, at + 1, A, WR };
        acts[2 * i + 1] = (act){ Z, S1, at + 20, at + 25, at + 2, A };
        acts[2 * i].zone = 1;
        acts[2 * i + 1].zone = 2;
    }
    scene s = SCENE(acts);
    ts_race race;
    assert_true(ts_races_at(s.races, 0, &race));
    assert_false(ts_races_at(s.races, 1, &race));
    assert_int_equal(1, scene_stats(&s)->races);
    // Each with the latest of the other stream, also the other way round.
    assert_int_equal(2 * TIMES - 1, race.instances);
    assert_int_equal(2 * TIMES - 1, scene_stats(&s)->instances);
    assert_int_equal(0, scene_row(&s, &race.first));
    assert_int_equal(1, scene_row(&s, &race.second));
    scene_close(&s);
}

UNIT_TEST(what_has_no_place_is_counted_not_guessed)
{
    const act acts[] = {
        { K, S0, 10, 20, 1, A, WR },
        { K, S1, 30, 40, -1, A, WR }, // no call: a sync may have been there
        { K, S2, 50, 60, 9, .address = 0x9000, .size = 0, .mode = WR },
        { K, S2, 70, 80, 9, .address = UINT64_MAX - 3, .size = 8, .mode = WR },
        { K, S3, 90, 95, 91, .mode = 0 }, // touches nothing that is known
    };
    scene s = SCENE(acts);
    assert_int_equal(0, scene_stats(&s)->instances);
    assert_int_equal(1, scene_stats(&s)->unknown_order);
    assert_int_equal(2, scene_stats(&s)->bad_ranges);
    assert_int_equal(5, scene_stats(&s)->operations);
    assert_int_equal(2, scene_stats(&s)->known);
    scene_close(&s);
}

UNIT_TEST(a_trace_without_memory_has_nothing_to_look_at)
{
    const act acts[] = { { K, S0, 10, 20, 1, .mode = 0 },
                         { K, S1, 10, 20, 2, .mode = 0 } };
    scene s = SCENE(acts);
    assert_int_equal(2, scene_stats(&s)->operations);
    assert_int_equal(0, scene_stats(&s)->known);
    assert_int_equal(0, scene_stats(&s)->ranges);
    scene_close(&s);
}

/* ---- Against brute force ------------------------------------------------ */

typedef struct brute {
    bool reach[MOST][MOST];    // by operation
    bool reported[MOST][MOST]; // reported, in both directions
} brute;

static void brute_walk(const ts_graph *g, uint32_t node, bool *seen)
{
    if (seen[node]) return;
    seen[node] = true;
    for (uint32_t e = g->offsets[node]; e < g->offsets[node + 1]; e++)
        if (!(g->kinds[e] & TS_EDGE_INFERRED) &&
            TS_EDGE_KIND(g->kinds[e]) != TS_EDGE_QUEUE)
            brute_walk(g, g->targets[e], seen);
}

static void brute_fill(brute *b, const scene *s)
{
    const ts_graph g = ts_replay_graph(s->replay);
    bool *const seen = calloc(g.node_count, 1);
    memset(b, 0, sizeof *b);
    for (uint32_t i = 0; i < g.operation_count; i++) {
        memset(seen, 0, g.node_count);
        brute_walk(&g, i, seen);
        for (uint32_t k = 0; k < g.operation_count; k++)
            b->reach[i][k] = k != i && seen[k];
    }
    free(seen);
    ts_race race;
    for (size_t i = 0; ts_races_at(s->races, i, &race); i++)
        b->reported[race.first.operation][race.second.operation] =
            b->reported[race.second.operation][race.first.operation] = true;
}

static const act *brute_act(const scene *s, uint32_t op)
{
    ts_operation o;
    assert_true(ts_replay_operation(s->replay, op, &o));
    return &s->acts[o.correlation - 1];
}

static bool brute_conflict(const act *a, const act *b)
{
    return a->mode && b->mode && ((a->mode | b->mode) & WR) &&
           a->address < b->address + b->size &&
           b->address < a->address + a->size;
}

// Whether b was reported to race with a, or with an operation after a.
static bool brute_reported(const brute *b, uint32_t count, uint32_t first,
                           uint32_t second)
{
    for (uint32_t w = 0; w < count; w++)
        if (b->reported[w][second] && (w == first || b->reach[first][w]))
            return true;
    return false;
}

UNIT_TEST(every_race_is_reported_and_nothing_else)
{
    static brute b;
    static act acts[MOST];
    uint64_t races = 0, ordered = 0;
    for (dice_state = 1; dice_state < 1500; dice_state++) {
        const uint64_t seed = dice_state;
        const size_t count = random_acts(acts);
        scene s = scene_of(acts, count, 0);
        brute_fill(&b, &s);
        assert_int_equal(0, scene_stats(&s)->cycle);
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t k = 0; k < count; k++) {
                if (i == k) continue;
                const bool conflict =
                    brute_conflict(brute_act(&s, i), brute_act(&s, k));
                const bool free = !b.reach[i][k] && !b.reach[k][i];
                if (b.reported[i][k] && !(conflict && free))
                    fail_msg("seed %" PRIu64 ": %u and %u do not race", seed, i,
                             k);
                if (i < k && conflict && free &&
                    !brute_reported(&b, (uint32_t)count, i, k) &&
                    !brute_reported(&b, (uint32_t)count, k, i))
                    fail_msg("seed %" PRIu64 ": %u and %u race", seed, i, k);
                races += conflict && free;
                ordered += conflict && !free;
            }
        scene_close(&s);
        dice_state = seed;
    }
    assert_true(races > 10000 && ordered > 10000);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
