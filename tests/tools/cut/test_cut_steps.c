/*
    test_cut_steps.c - ts-cut: steps and ranks

    Times in nanoseconds. Letters stand for what is in the trace:

        thread      P ProfilerStep#3 0-100; Q ProfilerStep#4 100-200
        call        a 12-14, on the thread
        backward    W zone 60-130; calls b 70-72, c 110-112
        stream      A 20-40 of a, B 150-180 of b (in the time of step 4),
                    C 190-250 of c, N 210-220: no call, queued at 90
*/
#define _GNU_SOURCE // mkdtemp
#include "tools/cut/cut.h"

#include "tests/tools/merge/merge_forge.h"

enum { BACKWARD = 9 };

static const cli_tool tool = { .name = "test" };

static void put_zone(ts_writer *w, const char *name, uint32_t thread,
                     int64_t from, int64_t to)
{
    const ts_site_entry site = { .name = name_in(w, name) };
    const ts_writer_value value = { TS_COLUMN_SITE, ts_writer_site(w, &site) };
    ts_writer_event(w, TS_EVENT_ZONE, thread, from, to - from, &value, 1);
}

static void put_call(ts_writer *w, uint32_t thread, uint64_t correlation,
                     int64_t from)
{
    const ts_writer_value values[] = {
        { TS_COLUMN_NAME, name_in(w, "cudaLaunchKernel") },
        { TS_COLUMN_CORRELATION, correlation },
    };
    ts_writer_event(w, TS_EVENT_API_CALL, thread, from, 2, values, 2);
}

static void put_kernel(ts_writer *w, const char *name, uint64_t correlation,
                       int64_t from, int64_t to, uint64_t queued)
{
    const ts_launch_entry launch = { .name = name_in(w, name) };
    const ts_writer_value values[] = {
        { TS_COLUMN_LAUNCH, ts_writer_launch(w, &launch) },
        { TS_COLUMN_CORRELATION, correlation },
        { TS_COLUMN_QUEUED, queued },
    };
    ts_writer_event(w, TS_EVENT_KERNEL, STREAM, from, to - from, values, 3);
}

static void make_steps(const char *name, bool frames)
{
    const ts_writer_desc desc = { .path = path_of(name) };
    const made none = { .name = name };
    const ts_track_entry backward = { .type = TS_TRACK_THREAD,
                                      .parent = PROCESS };
    ts_writer *w;
    assert_int_equal(TS_OK, ts_writer_open(&w, &desc));
    put_tracks(w, &none);
    ts_writer_track(w, BACKWARD, &backward);
    for (int i = 0; frames && i < 2; i++) {
        const ts_site_entry site = { .name = name_in(w, "frame") };
        const ts_writer_value value = { TS_COLUMN_SITE,
                                        ts_writer_site(w, &site) };
        ts_writer_event(w, TS_EVENT_FRAME, THREAD, 100 * i, 0, &value, 1);
    }
    if (!frames) put_zone(w, "ProfilerStep#3", THREAD, 0, 100);
    if (!frames) put_zone(w, "ProfilerStep#4", THREAD, 100, 200);
    put_zone(w, "backward", BACKWARD, 60, 130);
    put_call(w, THREAD, 1, 12);
    put_call(w, BACKWARD, 2, 70);
    put_call(w, BACKWARD, 3, 110);
    put_kernel(w, "A", 1, 20, 40, 0);
    put_kernel(w, "B", 2, 150, 180, 0);
    put_kernel(w, "C", 3, 190, 250, 0);
    put_kernel(w, "N", 0, 210, 220, 210 - 90 + 1);
    assert_int_equal(TS_OK, ts_writer_close(w));
}

static char letter(ts_reader *reader, const ts_event *e)
{
    const int64_t at = e->start_ns;
    switch (e->kind) {
    case TS_EVENT_ZONE: return at == 0 ? 'P' : at == 100 ? 'Q' : 'W';
    case TS_EVENT_API_CALL: return at == 12 ? 'a' : at == 70 ? 'b' : 'c';
    case TS_EVENT_KERNEL: return *ts_event_label(reader, e).text;
    default: return 'F';
    }
}

// What is left, in order of time.
static const char *letters(void)
{
    static char text[64];
    ts_reader *const reader = open_name("out.sbt");
    ts_cursor *cursor;
    ts_event e;
    size_t size = 0;
    assert_int_equal(TS_OK, ts_cursor_open(&cursor, reader, NULL));
    while (ts_cursor_next(cursor, &e))
        text[size++] = letter(reader, &e);
    text[size] = 0;
    ts_cursor_close(cursor);
    ts_reader_close(reader);
    return text;
}

typedef struct request {
    const char *in, *steps, *ranks, *processes, *frames;
    cut_deps deps;
} request;

static bool cut(const request *a)
{
    cli_trace trace;
    cut_job job = { .tool = &tool,
                    .path = path_of(a->in),
                    .out = path_of("out.sbt"),
                    .trace = &trace,
                    .options = { .what = "--test", .deps = a->deps } };
    assert_true(cli_trace_open(&trace, &tool, job.path, NULL, CLI_WARN_NONE));
    const bool done = (!a->steps || cut_steps(&job, a->steps)) &&
                      (!a->ranks || cut_ranks(&job, a->ranks)) &&
                      (!a->processes || cut_processes(&job, a->processes)) &&
                      (!a->frames || cut_frames(&job, a->frames)) &&
                      cut_write(&job);
    free((void *)job.options.processes);
    cli_trace_close(&trace);
    return done;
}

static const char *step(const char *in, const char *text)
{
    const request a = { .in = in, .steps = text };
    return cut(&a) ? letters() : "";
}

UNIT_TEST(a_step_has_what_the_host_issued_in_it_from_all_threads)
{
    make_steps("in.sbt", false);
    assert_string_equal("PaAWbBN", step("in.sbt", "3"));
    assert_string_equal("WQcC", step("in.sbt", "4"));
    assert_string_equal("PaAWbQcBCN", step("in.sbt", "3..4"));
    assert_string_equal("PaAWbQcBCN", step("in.sbt", "..4"));
    assert_string_equal("WQcC", step("in.sbt", "4.."));
    const char *const bad[] = { "2", "5", "3..5", "0..2", "" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_string_equal("", step("in.sbt", bad[i]));
}

UNIT_TEST(frames_are_steps_where_there_are_no_others)
{
    make_steps("frames.sbt", true);
    assert_string_equal("FaAWbBN", step("frames.sbt", "0"));
    assert_string_equal("WFcC", step("frames.sbt", "1"));
    assert_string_equal("", step("frames.sbt", "2"));
}

UNIT_TEST(without_frames_it_is_said_that_there_are_steps)
{
    char text[512];
    FILE *const keep = stderr;
    make_steps("in.sbt", false);
    const request a = { .in = "in.sbt", .frames = "0" };
    stderr = tmpfile();
    const bool done = cut(&a);
    rewind(stderr);
    text[fread(text, 1, sizeof text - 1, stderr)] = 0;
    fclose(stderr);
    stderr = keep;
    assert_false(done);
    assert_non_null(strstr(text, "the trace contains no frames, but steps: use "
                                 "--step"));
}

static uint64_t count_of(void)
{
    ts_reader *const reader = open_name("out.sbt");
    const ts_filter all = { 0 };
    ts_cursor *cursor;
    ts_event e;
    uint64_t count = 0;
    assert_int_equal(TS_OK, ts_cursor_open(&cursor, reader, &all));
    while (ts_cursor_next(cursor, &e))
        count++;
    ts_cursor_close(cursor);
    ts_reader_close(reader);
    return count;
}

// merged.sbt: ranks 5 and 2 with seven events each, and rank 3, which has no
// collective, with six.
static void merge_three_ranks(void)
{
    static const char *const names[] = { "a.sbt", "b.sbt", "c.sbt" };
    const made files[] = { { .name = "a.sbt", .rank = 5, .collective = 1000 },
                           { .name = "b.sbt", .rank = 2, .collective = 1400 },
                           { .name = "c.sbt", .rank = 3 } };
    for (size_t i = 0; i < 3; i++)
        make(&files[i]);
    merge_job job = merge_names("merged.sbt", names, 3, NULL, false);
    merge_close(&job);
}

UNIT_TEST(a_rank_of_a_merged_trace_can_be_cut_out)
{
    merge_three_ranks();
    const struct {
        const char *ranks;
        uint64_t count;
    } wanted[] = { { "5", 7 }, { "3", 6 }, { "2,3", 13 }, { "3,3", 6 } };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const request a = { .in = "merged.sbt",
                            .ranks = wanted[i].ranks,
                            .deps = CUT_DEPS_NONE };
        assert_true(cut(&a));
        assert_int_equal(wanted[i].count, count_of());
    }
    const char *const bad[] = { "0", "5,", "", "x", "2,9", "2x" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const request a = { .in = "merged.sbt", .ranks = bad[i] };
        assert_false(cut(&a));
    }
    // One that was not merged is of its own rank.
    const request own = { .in = "a.sbt", .ranks = "5" };
    const request other = { .in = "a.sbt", .ranks = "2" };
    assert_true(cut(&own));
    assert_false(cut(&other));
}

UNIT_TEST(a_process_is_known_by_number_and_name)
{
    merge_three_ranks();
    const struct {
        const char *ranks, *processes;
        uint64_t count;
    } wanted[] = {
        { NULL, "rank 5*", 7 }, { NULL, "rank 3*,rank 5*", 13 },
        { NULL, "77", 20 },     { "3", "77", 6 },
        { "2,3", "rank*", 13 }, { NULL, "*", 20 },
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const request a = { .in = "merged.sbt",
                            .ranks = wanted[i].ranks,
                            .processes = wanted[i].processes,
                            .deps = CUT_DEPS_NONE };
        assert_true(cut(&a));
        assert_int_equal(wanted[i].count, count_of());
    }
    const char *const bad[] = { "78", "", "77,", "rank", "7" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const request a = { .in = "merged.sbt", .processes = bad[i] };
        assert_false(cut(&a));
    }
    const request separate = { .in = "merged.sbt",
                               .ranks = "2",
                               .processes = "rank 3*" };
    assert_false(cut(&separate));
}

int main(void)
{
    return unit_run(folder_begin, folder_end);
}
