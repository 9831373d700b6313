/*
    test_replay_options.c - ts-replay --ops and --zone

    A trace made by hand: thread 2 is in zone `step` twice, and in `inner`
    within the first; thread 3 in `other` meanwhile. Ten kernels are launched
    from here and there.
*/
#define _GNU_SOURCE // mkstemp
#define TRACESMITH_WRITER
#include "tools/replay/replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>
#include "tests/unit.h"

enum { PROCESS = 1, MAIN = 2, OTHER = 3, DEVICE = 10, STREAM = 11 };
static char path[] = "/tmp/ts_choose_XXXXXX";
static const cli_tool tool = { .name = "test" };

static uint32_t site(ts_writer *w, const char *name)
{
    const ts_site_entry entry = { .name =
                                      ts_writer_name(w, name, strlen(name)) };
    return ts_writer_site(w, &entry);
}

static void zone(ts_writer *w, uint32_t thread, const char *name, int64_t from,
                 int64_t to)
{
    const ts_writer_value value = { TS_COLUMN_SITE, site(w, name) };
    ts_writer_event(w, TS_EVENT_ZONE, thread, from, to - from, &value, 1);
}

// A kernel of 10 ns, 100 ns after its call; zone: of its own column.
static void kernel(ts_writer *w, uint32_t thread, int64_t call,
                   const char *zone_name)
{
    static uint64_t correlation;
    const ts_writer_value of_call = { TS_COLUMN_CORRELATION, ++correlation };
    const ts_writer_value values[] = {
        { TS_COLUMN_CORRELATION, correlation },
        { TS_COLUMN_SITE, zone_name ? site(w, zone_name) : 0 },
    };
    if (thread)
        ts_writer_event(w, TS_EVENT_API_CALL, thread, call, 2, &of_call, 1);
    ts_writer_event(w, TS_EVENT_KERNEL, STREAM, call + 100, 10, values, 2);
}

static int make_trace(void **state)
{
    ts_writer *w;
    const ts_writer_desc desc = { .path = path };
    const int fd = mkstemp(path);
    if (fd < 0 || close(fd) || ts_writer_open(&w, &desc) != TS_OK) return -1;
    const ts_track_entry tracks[] = {
        { .type = TS_TRACK_PROCESS },
        { .type = TS_TRACK_THREAD, .parent = PROCESS, .number = 2 },
        { .type = TS_TRACK_THREAD, .parent = PROCESS, .number = 3 },
        { .type = TS_TRACK_DEVICE, .parent = PROCESS },
        { .type = TS_TRACK_STREAM, .parent = DEVICE, .number = 7 },
    };
    const uint32_t ids[] = { PROCESS, MAIN, OTHER, DEVICE, STREAM };
    for (int i = 0; i < 5; i++)
        ts_writer_track(w, ids[i], &tracks[i]);
    zone(w, MAIN, "inner", 120, 180);
    zone(w, MAIN, "step", 100, 200);
    zone(w, MAIN, "step", 400, 500);
    zone(w, OTHER, "other", 0, 900);
    zone(w, OTHER, "a,b", 950, 990);
    kernel(w, MAIN, 50, NULL);     // 0: before
    kernel(w, MAIN, 100, NULL);    // 1: as step begins
    kernel(w, MAIN, 150, NULL);    // 2: in inner, in step
    kernel(w, OTHER, 160, NULL);   // 3: another thread
    kernel(w, MAIN, 200, NULL);    // 4: as step ends: not in it
    kernel(w, MAIN, 450, NULL);    // 5: in the second step
    kernel(w, 0, 600, "step");     // 6: no call, but its own zone
    kernel(w, 0, 700, NULL);       // 7: nothing known
    kernel(w, OTHER, 960, NULL);   // 8: in a,b
    kernel(w, MAIN, 970, "inner"); // 9
    return ts_writer_close(w) == TS_OK ? 0 : -1;
}

static int remove_trace(void **state)
{
    return unlink(path);
}

// Bits of the operations that are chosen; -1: the text means nothing.
static int chosen(const char *ops, const char *zones)
{
    replay_file file = { .path = path };
    replay_job job = {
        .tool = &tool, .path = path, .files = &file, .file_count = 1
    };
    int bits = -1;
    assert_true(cli_trace_open(&file.trace, &tool, path, NULL, CLI_WARN_ALL));
    replay_choice *const choice = replay_choose(&job, ops, zones);
    if (choice) {
        const ts_replay_desc desc = { .choose = replay_chosen,
                                      .choose_user = choice };
        ts_operation op;
        assert_int_equal(TS_OK, replay_open(&job, desc));
        bits = 0;
        for (size_t i = 0; ts_replay_operation(job.replay, i, &op); i++)
            bits |= (op.skip == TS_SKIP_NOT) << i;
        ts_replay_close(job.replay);
    }
    replay_choice_close(choice);
    cli_trace_close(&file.trace);
    return bits;
}

UNIT_TEST(operations_are_counted_from_0_with_both_ends)
{
    assert_int_equal(0x3ff, chosen("..", NULL));
    assert_int_equal(1 << 3, chosen("3", NULL));
    assert_int_equal(1 << 3, chosen("3..3", NULL));
    assert_int_equal(0x1c, chosen("2..4", NULL));
    assert_int_equal(0x07, chosen("..2", NULL));
    assert_int_equal(0x300, chosen("8..", NULL));
    assert_int_equal(0, chosen("10..", NULL));
}

UNIT_TEST(other_ranges_are_refused)
{
    const char *const wrong[] = { "",   "4..3", "a..b",  "1...2",
                                  "-1", "1..x", "..1..2" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(-1, chosen(wrong[i], NULL));
}

UNIT_TEST(every_instance_of_a_zone_counts_on_the_launching_thread)
{
    assert_int_equal(1 << 1 | 1 << 2 | 1 << 5 | 1 << 6, chosen(NULL, "step"));
    assert_int_equal(1 << 2 | 1 << 9, chosen(NULL, "inner"));
    assert_int_equal(1 << 3, chosen(NULL, "other"));
}

UNIT_TEST(names_may_be_several_patterns_or_hold_a_comma)
{
    assert_int_equal(1 << 2 | 1 << 3 | 1 << 9, chosen(NULL, "inner,other"));
    assert_int_equal(1 << 1 | 1 << 2 | 1 << 5 | 1 << 6, chosen(NULL, "s*p"));
    assert_int_equal(1 << 8, chosen(NULL, "a,b"));
    assert_int_equal(-1, chosen(NULL, "nothing"));
}

UNIT_TEST(both_must_hold)
{
    assert_int_equal(1 << 2 | 1 << 5, chosen("2..5", "step"));
}

int main(void)
{
    return unit_run(make_trace, remove_trace);
}
