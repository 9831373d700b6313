/*
    test_races_text.c - what ts-replay --races and --explore print

    Word for word in test_races_text.txt; UPDATE=1 rewrites it.
*/
#include "tests/replay/races/races_forge.h"
#include "tests/tools/analyze/report_expected.h"
#include "tests/tools/printed.h"
#include "tools/replay/races/races.h"

#define A .address = 0x1000, .size = 256
static const cli_tool tool = { .name = "test" };

// Prints the races (orders 0), or what other orders leave.
static void says(const char *test, const act *acts, size_t count,
                 uint64_t orders)
{
    scene s;
    replay_job job = { .tool = &tool };
    const races_options options = { .races = !orders,
                                    .explore = orders != 0,
                                    .orders = orders,
                                    .selection = { { "--stream", "1,2" } } };
    scene_write(&s, acts, count, 80);
    char *path = s.path;
    assert_true(replay_files_open(&job, &path, 1));
    assert_int_equal(TS_OK, replay_open(&job, (ts_replay_desc){ 0 }));
    FILE *const before = printed_begin(&stdout);
    races_run(&job, &options);
    char *const text = printed_end(&stdout, before);
    report_check(__FILE__, test, text, (const char *const[]){ s.path }, 1);
    ts_replay_close(job.replay);
    replay_files_close(&job);
    unlink(s.path);
}
#define SAYS(acts, orders) \
    says(__func__, acts, sizeof(acts) / sizeof *(acts), orders)

UNIT_TEST(each_kind_of_race_and_what_would_order_it)
{
#define AT(n) .address = 0x1000 * (n), .size = 256
    const act acts[] = {
        { K, S0, 10, 20, 1, AT(1), WR },
        { K, S1, 30, 40, 3, AT(1), RW | COARSE },
        // freed before a later use; freed while it may be in use
        { GA, S2, 42, 42, 41, AT(2) },
        { GF, S2, 43, 43, 42, AT(2) },
        { K, S2, 50, 60, 44, AT(2), RD },
        { GA, S2, 52, 52, 45, AT(3) },
        { K, S2, 61, 70, 46, AT(3), WR },
        { GF, S3, 71, 71, 47, AT(3) },
        // used where it may not be allocated yet; freed twice
        { GA, S2, 72, 72, 48, AT(4) },
        { K, S3, 73, 80, 49, AT(4), WR },
        { GA, S2, 81, 81, 50, AT(5) },
        { GF, S2, 82, 82, 51, AT(5) },
        { GF, S2, 83, 83, 52, AT(5) },
        // the host reads too early, and writes too early
        { M, S0, 110, 120, 101, .address = 0x9000, .size = 64, .source = 0x8000,
          .copy = 2 | 0x23 << 4, .call = "memcpyAsync" },
        { AC, HOST, 130, 130, -1, .address = 0x9000, .size = 64, .mode = RD },
        { M, S0, 150, 160, 131, .address = 0x8000, .size = 64, .source = 0xA000,
          .copy = 1 | 0x32 << 4, .call = "memcpyAsync" },
        { AC, HOST, 140, 140, -1, .address = 0xA000, .size = 64, .mode = WR },
    };
    SAYS(acts, 0);
}

UNIT_TEST(what_could_not_be_looked_at_is_counted)
{
    enum { READERS = 66, MORE = 11 };
    act acts[READERS + MORE] = { 0 };
    for (uint32_t i = 0; i < READERS; i++)
        acts[i] =
            (act){ K, 1000 + i, 10 + i, 20 + i, 1, A, .mode = RD, .zone = 1 };
    const act more[MORE] = {
        { K, S0, 200, 210, 2, A, WR },
        { K, S1, 300, 310, -1, A, WR },              // when was it launched?
        { GF, C0, 320, 330, -1, .address = 0x7000 }, // where?
        { K, S2, 340, 350, 4, .address = UINT64_MAX - 3, .size = 8,
          .mode = WR },
        { GF, S2, 360, 360, 5, .address = 0x9000 },
        { AC, HOST, 365, 365, -1, A, RD, .id = 999 }, // of which operation?
        { W, S2, 370, 400, 6, .id = 7, .record = READERS + 11 },
        { K, S2, 400, 410, 7, .address = 0xA000, .size = 8, .mode = WR },
        { R, S2, 410, 410, 8, .id = 8 },
        { W, S3, 370, 400, 9, .id = 8, .record = READERS + 9 },
        { R, S3, 420, 420, 10, .id = 7 },
    };
    memcpy(acts + READERS, more, sizeof more);
    SAYS(acts, 0);
}

UNIT_TEST(an_order_that_leaves_other_memory)
{
    const act acts[] = {
        { K, S0, 10, 20, 1, A, WR },
        { K, S1, 30, 40, 3, A, WR },
    };
    SAYS(acts, 100);
}

UNIT_TEST(an_order_in_which_the_host_reads_another_value)
{
    const act acts[] = {
        { M, S0, 10, 20, 1, .address = 0x8000, .size = 4096, .source = 0x1000,
          .copy = 2 | 0x23 << 4, .call = "copyAsync" },
        { AC, HOST, 30, 30, -1, .address = 0x8000, .size = 4096, .mode = RD },
    };
    SAYS(acts, 100);
}

UNIT_TEST(more_steps_than_the_virtual_device_runs)
{
    enum { COUNT = 20001 };
    act *const acts = calloc(COUNT, sizeof *acts);
    assert_non_null(acts);
    for (int64_t i = 0; i < COUNT; i++)
        acts[i] =
            (act){ K, S0, 10 * i + 1, 10 * i + 9, 10 * i, A, WR, .zone = 1 };
    says(__func__, acts, COUNT, 1);
    free(acts);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
