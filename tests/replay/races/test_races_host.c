/*
    test_races_host.c - races: what the host does, memory that comes and goes

    One small trace for each rule. A: 0x1000 to 0x10FF.
*/
#include "tests/replay/races/races_forge.h"

#define A        .address = 0x1000, .size = 256
#define BEHIND   .address = 0x1100, .size = 256
#define NEAR     .address = 0x10FF, .size = 256
#define EVENT(n) .id = n

/* ---- Default streams, the host ------------------------------------------ */

UNIT_TEST(the_legacy_default_stream_orders_blocking_streams)
{
    act acts[] = {
        { K, S0, 10, 20, 1, A, WR },
        { K, LEGACY, 30, 40, 3, BEHIND, WR },
        { K, S1, 50, 60, 5, A, RW },
    };
    CLEAN(acts);
    acts[2].track = FREE;
    RACE(acts, WRITE_WRITE, 0, 2);
}

UNIT_TEST(host_syncs_order_what_is_launched_after_them)
{
    const struct {
        act sync;
        bool orders;
    } cases[] = {
        { { SS, S0, 12, 21, 12, .back = 22 }, true },
        { { SS, S1, 12, 21, 12, .back = 22 }, false },
        { { DS, D0, 12, 21, 12, .back = 22 }, true },
        { { DS, D1, 12, 21, 12, .back = 22 }, false },
        { { DS, C0, 12, 21, 12, .back = 22 }, true },
        { { ES, S0, 12, 21, 12, EVENT(7), .back = 22 }, true },
        { { ES, S0, 12, 21, 12, EVENT(8), .back = 22 }, false },
        { { SS, S0, 12, 21, 12, .thread = OTHER, .back = 22 }, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const act acts[] = {
            { K, S0, 10, 20, 1, A, WR },
            { R, S0, 20, 20, 2, EVENT(7) },
            cases[i].sync,
            { K, S1, 30, 40, 25, A, RW },
        };
        if (cases[i].orders)
            CLEAN(acts);
        else
            RACE(acts, WRITE_WRITE, 0, 3);
    }
}

UNIT_TEST(what_is_launched_before_the_sync_races)
{
    const act acts[] = {
        { K, S0, 10, 20, 1, A, WR },
        { K, S1, 30, 40, 3, A, RW },
        { SS, S0, 12, 21, 12, .back = 22 },
    };
    RACE(acts, WRITE_WRITE, 0, 1);
}

UNIT_TEST(the_host_races_with_what_it_did_not_wait_for)
{
    act acts[] = {
        { M, S0, 10, 20, 1, .address = 0x1000, .size = 64, .source = 0x8000,
          .copy = 2 | 0x23 << 4, .call = "memcpyAsync" },
        { AC, HOST, 30, 30, -1, A, RD },
    };
    ts_race race = RACE(acts, READ_WRITE, 0, 1);
    assert_int_equal(TS_RACE_FIX_HOST_SYNC, race.fix);
    assert_int_equal(TS_NODE_NONE, race.second.operation);
    const act right[] = { acts[0],
                          { SS, S0, 12, 21, 12, .back = 22 },
                          acts[1] };
    CLEAN(right);
    // Written after the launch, before the copy has read it.
    act upload[] = {
        { M, S0, 50, 60, 1, .address = 0x8000, .size = 64, .source = 0x1000,
          .copy = 1 | 0x32 << 4, .call = "memcpyAsync" },
        { AC, HOST, 30, 30, -1, A, WR },
    };
    race = RACE(upload, READ_WRITE, 1, 0);
    assert_int_equal(TS_RACE_FIX_LAUNCH_LATER, race.fix);
    upload[1].start = upload[1].end = 0; // before the launch
    CLEAN(upload);
    upload[1].track = OTHER; // another thread: nobody knows
    RACE(upload, READ_WRITE, 1, 0);
}

UNIT_TEST(copies_hold_the_host_up_only_if_they_must)
{
    enum { FROM_PAGEABLE = 1 | 0x31 << 4, TO_PAGEABLE = 2 | 0x13 << 4 };
    enum { FROM_PINNED = 1 | 0x32 << 4, TO_PINNED = 2 | 0x23 << 4 };
    const struct {
        uint32_t copy;
        const char *call;
        bool waits;
    } cases[] = {
        { TO_PAGEABLE, "memcpyAsync", true }, { TO_PAGEABLE, "memcpy", true },
        { TO_PINNED, "memcpyAsync", false },  { TO_PINNED, "memcpy", true },
        { FROM_PINNED, "memcpy", true },      { FROM_PINNED, "xAsync", false },
        { FROM_PAGEABLE, "memcpy", false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const act acts[] = {
            // The call returned after the copy, as it happens.
            { M, FREE, 10, 20, 1, .address = 0x8000, .size = 64,
              .source = 0x1000, .copy = cases[i].copy, .call = cases[i].call,
              .back = 22 },
            { K, S1, 30, 40, 25, .address = 0x8000, .size = 64, .mode = RW },
        };
        if (cases[i].waits)
            CLEAN(acts);
        else
            RACE(acts, WRITE_WRITE, 0, 1);
    }
}

UNIT_TEST(the_source_of_a_pageable_copy_is_read_by_the_call)
{
    act acts[] = {
        { M, S0, 50, 60, 1, .address = 0x8000, .size = 64, .source = 0x1000,
          .copy = 1 | 0x31 << 4, .call = "memcpyAsync" },
        { AC, HOST, 30, 30, -1, A, WR },
    };
    CLEAN(acts);
    acts[0].copy = 1 | 0x32 << 4; // pinned
    RACE(acts, READ_WRITE, 1, 0);
}

UNIT_TEST(what_the_host_does_lies_between_its_calls)
{
    act acts[] = {
        { AC, HOST, 5, 5, -1, A, WR },
        { AC, HOST, 6, 6, -1, BEHIND, WR },
        { K, S0, 60, 70, 10, A, RD },
        { K, S1, 60, 70, 12, BEHIND, RD },
        { DS, D0, 80, 90, 80, .back = 91 },
        { AC, HOST, 92, 92, -1, A, WR },
        { AC, HOST, 93, 93, -1, BEHIND, RD },
        { K, S0, 100, 110, 95, A, RW },
    };
    CLEAN(acts);
    acts[5].start = acts[5].end = 85; // during the sync: not after it
    RACE(acts, READ_WRITE, 2, 5);
}

/* ---- Allocations -------------------------------------------------------- */

UNIT_TEST(use_after_free_is_found_in_every_order)
{
    act acts[] = {
        { GA, S0, 2, 2, 1, A },
        { K, S0, 10, 20, 3, A, WR },
        { GF, S0, 21, 21, 5, .address = 0x1000 },
        { K, S0, 30, 40, 7, NEAR, RD },
    };
    const ts_race race = RACE(acts, USE_AFTER_FREE, 2, 3);
    assert_int_equal(TS_RACE_FIX_FREE_LATER, race.fix);
    assert_int_equal(0x10FF, race.address);
    assert_int_equal(1, race.size);
    acts[3] = (act){ K, S0, 30, 40, 7, BEHIND, RD };
    CLEAN(acts);
}

UNIT_TEST(memory_that_is_allocated_again_may_be_used)
{
    act acts[] = {
        { GA, S0, 2, 2, 1, A },
        { K, S0, 10, 20, 3, A, WR },
        { GF, S0, 21, 21, 5, .address = 0x1000 },
        { GA, S0, 22, 22, 6, .address = 0x1000, .size = 64 },
        { K, S0, 30, 40, 7, .address = 0x1000, .size = 64, .mode = RD },
    };
    CLEAN(acts);
    acts[4].size = 65;
    const ts_race race = RACE(acts, USE_AFTER_FREE, 2, 4);
    assert_int_equal(0x1000, race.address);
}

UNIT_TEST(a_free_that_does_not_wait_races)
{
    act acts[] = {
        { GA, S0, 2, 2, 1, A },
        { K, S0, 10, 20, 3, A, WR },
        { R, S0, 20, 20, 4, EVENT(7) },
        { W, S1, 20, 21, 5, EVENT(7), .record = 3 },
        { GF, S1, 30, 30, 6, .address = 0x1000 },
    };
    CLEAN(acts);
    acts[3].record = 0, acts[3].id = 8;
    // Not ordered with the allocation either.
    scene s = SCENE(acts);
    ts_race race;
    assert_int_equal(1, scene_stats(&s)->instances);
    assert_true(ts_races_at(s.races, 0, &race));
    assert_int_equal(TS_RACE_UNORDERED_FREE, race.kind);
    scene_close(&s);
}

UNIT_TEST(a_free_by_a_call_waits_for_its_device)
{
    act acts[] = {
        { GA, C0, 2, 2, 1, A, .call = "malloc" },
        { K, FREE, 10, 20, 3, A, WR },
        { GF, C0, 30, 30, 6, .address = 0x1000, .call = "free", .back = 31 },
    };
    CLEAN(acts);
    acts[2].start = acts[2].end = 15; // while it ran
    acts[2].back = 16;
    RACE(acts, UNORDERED_FREE, 1, 2);
}

UNIT_TEST(a_second_free_is_reported)
{
    const act acts[] = {
        { GA, C0, 2, 2, 1, A, .call = "malloc" },
        { GF, C0, 30, 30, 6, .address = 0x1000, .call = "free", .back = 31 },
        { GF, C0, 40, 40, 36, .address = 0x1000, .call = "free", .back = 41 },
    };
    const ts_race race = RACE(acts, DOUBLE_FREE, 1, 2);
    assert_int_equal(TS_RACE_FIX_FREE_ONCE, race.fix);
    assert_int_equal(256, race.size);
}

UNIT_TEST(a_free_of_unknown_memory_is_counted)
{
    const act acts[] = {
        { K, S0, 10, 20, 3, A, WR },
        { GF, S1, 30, 30, 6, .address = 0x1000 },
    };
    scene s = SCENE(acts);
    assert_int_equal(1, scene_stats(&s)->unknown_frees);
    assert_int_equal(0, scene_stats(&s)->instances);
    scene_close(&s);
}

UNIT_TEST(a_use_may_come_before_the_allocation)
{
    const act acts[] = {
        { GA, S0, 2, 2, 1, A },
        { K, S1, 10, 20, 3, A, WR },
    };
    const ts_race race = RACE(acts, UNORDERED_ALLOC, 0, 1);
    assert_int_equal(TS_RACE_FIX_EVENT_WAIT, race.fix);
}

UNIT_TEST(host_memory_freed_under_a_copy_is_a_race)
{
    act acts[] = {
        { HA, HOST, 1, 1, -1, A },
        { HA, HOST, 1, 1, -1, .address = 0x5000, .size = 10 }, // nobody's
        { M, S0, 50, 60, 3, .address = 0x8000, .size = 64, .source = 0x1000,
          .copy = 1 | 0x32 << 4, .call = "memcpyAsync" },
        { HF, HOST, 30, 30, -1, .address = 0x5000 },
        { HF, HOST, 31, 31, -1, .address = 0x1000 },
    };
    const ts_race race = RACE(acts, UNORDERED_FREE, 4, 2);
    assert_int_equal(TS_RACE_FIX_LAUNCH_LATER, race.fix);
    scene s = SCENE(acts);
    assert_int_equal(2, scene_stats(&s)->host);
    scene_close(&s);
    acts[4].start = acts[4].end = 70;
    RACE(acts, UNORDERED_FREE, 2, 4);
    const act right[] = {
        acts[0], acts[2], { SS, S0, 55, 61, 55, .back = 62 }, acts[4]
    };
    CLEAN(right);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
