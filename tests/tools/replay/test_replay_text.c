/*
    test_replay_text.c - what ts-replay prints of a replay

    Word for word in test_replay_text.txt; UPDATE=1 rewrites it.
*/
#define _GNU_SOURCE // open_memstream
#include "tests/replay/graph/replay_forge.h"
#include "tests/tools/analyze/report_expected.h"
#include "tests/tools/printed.h"
#include "tests/tools/terminal.h"
#include "tools/replay/replay.h"

#define KERNEL(at, from, to) \
    { \
        .kind = K, .track = at, .start = from, .end = to, .queued = UNKNOWN \
    }

// Replays traces together; prints the report and closes them.
static void says(const char *test, fixture *parts, uint32_t count)
{
    static const char *const paths[] = { "a.sbt", "b.sbt", "c.sbt", "d.sbt" };
    replay_file files[4] = { { 0 } };
    replay_job job = { .path = paths[0], .files = files, .file_count = count };
    for (uint32_t i = 0; i < count; i++) {
        files[i].path = paths[i];
        files[i].trace.reader = parts[i].reader;
    }
    replay_name_files(&job);
    work_join(parts, count, NULL);
    job.replay = parts[0].replay;
    assert_int_equal(TS_OK, ts_replay_run(job.replay, NULL));
    replay_measure(&job);
    FILE *const before = printed_begin(&stdout);
    replay_text(&job);
    report_check(__FILE__, test, printed_end(&stdout, before), NULL, 0);
    free(job.spans_ns);
    for (uint32_t i = 0; i < count; i++)
        work_close(&parts[i]);
}
#define SAYS(parts) says(__func__, parts, sizeof(parts) / sizeof *(parts))

UNIT_TEST(one_operation)
{
    const op ops[] = { KERNEL(S0, 10, 50) };
    fixture parts[] = { PART(ops, 0) };
    SAYS(parts);
}

UNIT_TEST(waits_that_the_record_contradicts_or_does_not_explain)
{
    const op ops[] = {
        { K, S0, 1, 50, 0, 0, 0, 0, HOST },
        { K, LEGACY, 12, 20, 1, 0, 0, 0, HOST }, // did not wait
        { W, S0 + 1, 3, 3, 3, 0, 8, 0, HOST },   // for what was never recorded
    };
    fixture parts[] = { PART(ops, 0) };
    SAYS(parts);
    const op more[] = {
        { K, S0, 1, 50, 0, 0, 0, 0, HOST },
        { K, S0 + 1, 1, 50, 0, 0, 0, 0, HOST },
        { K, LEGACY, 12, 20, 1, 0, 0, 0, HOST },
        { W, S0 + 2, 3, 3, 3, 0, 8, 0, HOST },
        { W, S0 + 2, 4, 4, 4, 0, 9, 0, HOST },
    };
    parts[0] = PART(more, 0);
    SAYS(parts);
}

#define MEET(from, to, number) \
    { \
        .kind = TS_EVENT_COLLECTIVE, .track = S0, .start = from, .end = to, \
        .queued = UNKNOWN, .name = "all_reduce", .communicator = 5, \
        .sequence = number, .ranks = 2 \
    }

// By what is the clock of each file known?
UNIT_TEST(files_that_lie_on_the_axis_of_the_first)
{
    const op first[] = { MEET(100, 200, 1), MEET(300, 400, 2) };
    const op second[] = { MEET(1150, 1200, 1), MEET(1320, 1402, 2) };
    const op alone[] = { KERNEL(S0, 150, 190) };
    fixture parts[] = { PART(first, 5000), PART(second, 5000),
                        PART(alone, 5100), PART(alone, 0) };
    SAYS(parts);
}

static void play(void *user)
{
    replay_play(user, UINT64_MAX / 2);
}

// On a terminal of five lines there is room for two streams.
UNIT_TEST(streams_that_do_not_fit_are_counted)
{
    static char said[1 << 16];
    const op ops[] = { KERNEL(S0, 10, 50), KERNEL(S0 + 1, 20, 60),
                       KERNEL(S0 + 2, 30, 70), KERNEL(S0 + 3, 40, 80) };
    fixture x = PART(ops, 0);
    replay_file file = { .path = "a.sbt" };
    replay_job job = { .path = "a.sbt", .files = &file, .file_count = 1 };
    work_join(&x, 1, NULL);
    file.trace.reader = x.reader;
    replay_name_files(&job);
    job.replay = x.replay;
    assert_int_equal(TS_OK, ts_replay_run(job.replay, NULL));
    terminal_run(said, sizeof said, 5, 80, "", play, &job);
    assert_non_null(strstr(said, "4 of 4 operations"));
    assert_non_null(strstr(said, "  and 2 more streams\x1b[K"));
    work_close(&x);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
