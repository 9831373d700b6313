// The session as a whole: start, stop, pause, flush, dumps, limits.
#define _GNU_SOURCE
#include "tests/record/record_fixture.h"

static const ts_session_desc plain;

UNIT_TEST(an_empty_session_is_a_valid_trace)
{
    const char *const path = rt_start("empty.sbt", plain);
    rt_trace trace = rt_end(path);
    assert_int_equal(trace.count, 0);
    assert_true(trace.info->indexed);
    assert_int_equal(trace.info->process, (uint32_t)getpid());
    assert_int_equal(trace.info->lost, 0);
    assert_int_equal(trace.info->salvaged, 0);
    assert_false(trace.info->live);
    rt_close(&trace);
}

UNIT_TEST(a_stop_without_a_session_says_so)
{
    assert_int_equal(ts_session_stop(), TS_ERR_STATE);
    rt_start("stopped.sbt", plain);
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_int_equal(ts_session_stop(), TS_ERR_STATE);
}

// Many programs check only what the stop returns.
UNIT_TEST(a_stop_reports_that_the_start_failed)
{
    const ts_session_desc no_folder = { .path = rt_path("no/such/folder.sbt") };
    const ts_session_desc no_file = { .path = rt_make_folder() };
    assert_int_equal(ts_session_start(&no_folder), TS_ERR_IO);
    assert_int_equal(ts_session_start(&no_file), TS_ERR_NOT_FILE);
    rt_zones(1);
    assert_int_equal(ts_session_stop(), TS_ERR_NOT_FILE); // the last one
    assert_int_equal(ts_session_stop(), TS_ERR_STATE);    // once
    // A start that works makes good for those before it, and one that fails
    // because a session runs leaves that alone.
    assert_int_equal(ts_session_start(&no_folder), TS_ERR_IO);
    rt_start("works.sbt", plain);
    assert_int_equal(ts_session_start(&no_folder), TS_ERR_STATE);
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_int_equal(ts_session_stop(), TS_ERR_STATE);
}

UNIT_TEST(calls_without_a_session_say_so)
{
    assert_int_equal(ts_session_pause(), TS_ERR_STATE);
    assert_int_equal(ts_session_resume(), TS_ERR_STATE);
    assert_int_equal(ts_session_flush(), TS_ERR_STATE);
    assert_int_equal(ts_session_snapshot(rt_path("none.sbt")), TS_ERR_STATE);
    assert_int_equal(ts_blob_put("x", 1, NULL), TS_ERR_STATE);
    assert_int_equal(access(rt_path("none.sbt"), F_OK), -1);
}

UNIT_TEST(recording_without_a_session_does_nothing)
{
    static char block[8];
    rt_zones(10);
    TS_MARK("nothing");
    TS_COUNTER("nothing", 1);
    TS_MESSAGE("nothing");
    TS_FRAME("nothing");
    TS_ALLOC(block, 8);
    TS_FREE(block);
    TS_FLOW_START(1);
    TS_SPAN_START(1, "nothing");
    TS_SPAN_END(1);
    const char *const path = rt_start("after.sbt", plain);
    rt_trace trace = rt_end(path);
    assert_int_equal(trace.count, 0);
    rt_close(&trace);
}

UNIT_TEST(a_nested_start_is_refused)
{
    const char *const path = rt_start("outer.sbt", plain);
    const ts_session_desc inner = { .path = rt_path("inner.sbt") };
    assert_int_equal(ts_session_start(&inner), TS_ERR_STATE);
    assert_int_equal(access(inner.path, F_OK), -1);
    rt_zones(3);
    rt_trace trace = rt_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "counted"), 3);
    rt_close(&trace);
}

UNIT_TEST(bad_descs_are_refused)
{
    const char *const path = rt_path("bad.sbt");
    const ts_session_desc bad[] = {
        { 0 },
        { .path = "" },
        { .path = path, .policy = (ts_policy)4 },
        { .path = path, .drain = (ts_drain)2 },
        { .path = path, .fork = (ts_fork)2 },
        { .path = path, .fork = TS_FORK_FOLLOW }, // needs %p
        { .path = path, .ring_bytes = UINT32_C(65) << 20 },
        { .path = path, .compress = 20 },
        { .path = path, .snapshot_signal = -1 },
        { .path = path, .snapshot_signal = 1000 },
    };
    assert_int_equal(ts_session_start(NULL), TS_ERR_USAGE);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const ts_result result = ts_session_start(&bad[i]);
        if (result != TS_ERR_USAGE)
            fail_msg("desc %zu: %s", i, ts_result_text(result));
    }
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(ts_session_stop(), TS_ERR_USAGE);
}

UNIT_TEST(a_path_that_cannot_be_made_is_an_error)
{
    const ts_session_desc desc = { .path = rt_path("no/such/folder.sbt") };
    assert_int_equal(ts_session_start(&desc), TS_ERR_IO);
    const ts_session_desc folder = { .path = rt_make_folder() };
    assert_int_equal(ts_session_start(&folder), TS_ERR_NOT_FILE);
    // and the next one works
    const char *const path = rt_start("then.sbt", plain);
    rt_zones(1);
    rt_trace trace = rt_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, NULL), 1);
    rt_close(&trace);
}

// The longest of them is that of a snapshot, PATH.%n.sbt.
UNIT_TEST(a_path_that_does_not_fit_is_refused)
{
    enum { LONGEST = 4096 - (int)sizeof ".%n.sbt" };
    char path[LONGEST + 20];
    const ts_session_desc desc = { .path = path };
    const size_t folder = strlen(rt_make_folder());
    memset(path, '/', sizeof path);
    memcpy(path, rt_make_folder(), folder);
    for (size_t size = LONGEST - 3; size < sizeof path; size++) {
        memcpy(path + size - 8, "long.sbt", 9);
        assert_int_equal(ts_session_start(&desc),
                         size <= LONGEST ? TS_OK : TS_ERR_USAGE);
        if (size <= LONGEST) assert_int_equal(ts_session_stop(), TS_OK);
        memset(path + size - 8, '/', 8);
    }
}

UNIT_TEST(patterns_in_the_path_are_filled_in)
{
    char host[256] = "", expected[600];
    gethostname(host, sizeof host - 1);
    const ts_session_desc desc = { .rank = 17 };
    rt_start("p%p-r%r-%h-100%%.sbt", desc);
    rt_zones(1);
    assert_int_equal(ts_session_stop(), TS_OK);
    snprintf(expected, sizeof expected, "%s/p%d-r17-%s-100%%.sbt",
             rt_make_folder(), (int)getpid(), host);
    rt_trace trace = rt_read(expected);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, NULL), 1);
    ts_metadata rank;
    assert_true(ts_reader_metadata(trace.reader, 0, "rank", &rank));
    assert_int_equal(rank.number, 17);
    rt_close(&trace);
}

UNIT_TEST(an_existing_file_is_replaced)
{
    const char *const path = rt_start("twice.sbt", plain);
    rt_zones(1000);
    assert_int_equal(ts_session_stop(), TS_OK);
    rt_start("twice.sbt", plain);
    rt_zones(2);
    rt_trace trace = rt_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, NULL), 2);
    rt_close(&trace);
}

UNIT_TEST(ten_sessions_in_a_row_are_ten_traces)
{
    ts_stats stats;
    assert_int_equal(ts_session_stats(&stats), TS_OK);
    const uint32_t before = stats.generation;
    for (int i = 0; i < 10; i++) {
        char name[32];
        snprintf(name, sizeof name, "row-%d.sbt", i);
        rt_start(name, plain);
        rt_zones(i + 1);
        for (int k = 0; k < 5; k++)
            TS_COUNTER("row", k);
        TS_MARK("row mark");
        assert_int_equal(ts_session_stop(), TS_OK);
    }
    assert_int_equal(ts_session_stats(&stats), TS_OK);
    assert_int_equal(stats.generation, before + 10);
    for (int i = 0; i < 10; i++) { // known sites are named in each
        char name[32];
        snprintf(name, sizeof name, "row-%d.sbt", i);
        rt_trace trace = rt_read(rt_path(name));
        assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "counted"), i + 1);
        assert_int_equal(rt_rows(&trace, TS_EVENT_COUNTER, "row"), 5);
        rt_only(&trace, TS_EVENT_MARK, "row mark");
        assert_int_equal(trace.count, (size_t)i + 7);
        rt_close(&trace);
    }
}

static int count_lines(const char *path)
{
    int lines = 0, c;
    FILE *const file = fopen(path, "r");
    assert_non_null(file);
    while ((c = getc(file)) != EOF)
        lines += c == '\n';
    fclose(file);
    return lines;
}

UNIT_TEST(many_sessions_leave_nothing_behind)
{
    int maps = 0;
    size_t files = 0;
    for (int i = 0; i < 120; i++) {
        if (i == 20) {
            maps = count_lines("/proc/self/maps");
            files = rt_files("/proc/self/fd", "");
        }
        rt_start("again.sbt", plain);
        rt_zones(1);
        assert_int_equal(ts_session_stop(), TS_OK);
    }
    assert_true(count_lines("/proc/self/maps") <= maps + 10);
    assert_int_equal(rt_files("/proc/self/fd", ""), files);
    rt_trace trace = rt_read(rt_path("again.sbt"));
    assert_int_equal(trace.count, 1);
    rt_close(&trace);
}

UNIT_TEST(a_pause_records_nothing_and_a_resume_goes_on)
{
    ts_stats stats;
    const char *const path = rt_start("pause.sbt", plain);
    TS_MARK("before");
    assert_int_equal(ts_session_pause(), TS_OK);
    assert_int_equal(ts_session_pause(), TS_OK);
    ts_session_stats(&stats);
    assert_false(stats.recording);
    TS_MARK("during");
    rt_zones(100);
    assert_int_equal(ts_session_flush(), TS_OK);
    assert_int_equal(ts_session_resume(), TS_OK);
    assert_int_equal(ts_session_resume(), TS_OK);
    ts_session_stats(&stats);
    assert_true(stats.recording);
    TS_MARK("after");
    rt_trace trace = rt_end(path);
    rt_only(&trace, TS_EVENT_MARK, "before");
    rt_only(&trace, TS_EVENT_MARK, "after");
    assert_int_equal(trace.count, 2);
    assert_int_equal(trace.info->lost, 0);
    rt_close(&trace);
}

UNIT_TEST(a_session_may_be_stopped_while_paused)
{
    const char *const path = rt_start("paused.sbt", plain);
    rt_zones(5);
    assert_int_equal(ts_session_pause(), TS_OK);
    rt_trace trace = rt_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "counted"), 5);
    rt_close(&trace);
}

UNIT_TEST(a_flush_puts_everything_into_the_file)
{
    const ts_session_desc slow = { .flush_ms = 600000 };
    const char *const path = rt_start("flush.sbt", slow);
    for (int i = 1; i <= 5; i++) {
        rt_zones(100);
        assert_int_equal(ts_session_flush(), TS_OK);
        const ts_reader_desc desc = { .path = path, .threads = 1 };
        ts_reader *reader;
        assert_int_equal(ts_reader_open(&reader, &desc), TS_OK);
        assert_true(ts_reader_info(reader)->live);
        assert_int_equal(ts_reader_info(reader)->counts[TS_EVENT_ZONE],
                         100 * i);
        ts_reader_close(reader);
    }
    ts_stats stats;
    ts_session_stats(&stats);
    struct stat file;
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(stats.file_bytes, file.st_size);
    assert_int_equal(ts_session_stop(), TS_OK);
}

UNIT_TEST(the_drain_thread_writes_without_being_asked)
{
    const ts_session_desc quick = { .flush_ms = 20 };
    const char *const path = rt_start("quick.sbt", quick);
    rt_zones(77);
    uint64_t seen = 0;
    for (int i = 0; i < 3000 && seen < 77; i++) {
        rt_sleep_ms(10);
        const ts_reader_desc desc = { .path = path, .threads = 1 };
        ts_reader *reader;
        assert_int_equal(ts_reader_open(&reader, &desc), TS_OK);
        seen = ts_reader_info(reader)->counts[TS_EVENT_ZONE];
        ts_reader_close(reader);
    }
    assert_int_equal(seen, 77);
    assert_int_equal(ts_session_stop(), TS_OK);
}

UNIT_TEST(a_manual_drain_writes_only_when_asked)
{
    const ts_session_desc manual = { .drain = TS_DRAIN_MANUAL,
                                     .flush_ms = 1,
                                     .ring_bytes = 1 << 20 };
    const char *const path = rt_start("manual.sbt", manual);
    ts_stats before, after;
    rt_zones(50);
    ts_session_stats(&before);
    rt_sleep_ms(30);
    ts_session_stats(&after);
    assert_int_equal(before.file_bytes, after.file_bytes);
    assert_int_equal(before.records, after.records);
    assert_int_equal(ts_session_flush(), TS_OK);
    ts_session_stats(&after);
    assert_true(after.file_bytes > before.file_bytes);
    assert_int_equal(after.records - before.records, 50);
    rt_zones(200000); // far more than a ring: the producer helps itself
    assert_int_equal(ts_session_stop(), TS_OK);
    ts_session_stats(&after);
    assert_true(after.helped > 0);
    rt_trace trace = rt_open(path);
    assert_int_equal(rt_count(&trace, TS_EVENT_ZONE, "counted"), 200050);
    assert_int_equal(trace.info->lost, 0);
    assert_true(rt_lost(&trace, TS_LOSS_HELPED) > 0);
    rt_close(&trace);
}

UNIT_TEST(stats_agree_with_the_trace)
{
    ts_stats stats;
    assert_int_equal(ts_session_stats(NULL), TS_ERR_USAGE);
    const char *const path = rt_start("stats.sbt", plain);
    ts_session_stats(&stats);
    assert_true(stats.recording);
    rt_zones(1234);
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_int_equal(ts_session_stats(&stats), TS_OK);
    assert_false(stats.recording);
    assert_int_equal(stats.records, 1234);
    assert_int_equal(stats.lost, 0);
    assert_int_equal(stats.threads, 1);
    assert_true(stats.rings >= 1);
    struct stat file;
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(stats.file_bytes, file.st_size);
    rt_trace trace = rt_read(path);
    ts_metadata records;
    assert_true(ts_reader_metadata(trace.reader, 0, "records", &records));
    assert_int_equal(records.number, 1234);
    rt_close(&trace);
}

UNIT_TEST(a_clean_stop_leaves_only_the_trace)
{
    const char *const folder = rt_path("side");
    assert_int_equal(mkdir(folder, 0700), 0);
    const ts_session_desc desc = { .sidecar_dir = folder };
    rt_start("clean.sbt", desc);
    rt_zones(10);
    assert_int_equal(rt_files(folder, ".ring"), 1);
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_int_equal(rt_files(folder, ""), 0);
    assert_int_equal(rmdir(folder), 0);
}

UNIT_TEST(a_sidecar_folder_that_is_not_there_is_an_error)
{
    const ts_session_desc desc = { .path = rt_path("nofolder.sbt"),
                                   .sidecar_dir = rt_path("not-there") };
    assert_int_equal(ts_session_start(&desc), TS_ERR_IO);
    assert_int_equal(ts_session_stop(), TS_ERR_IO);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
