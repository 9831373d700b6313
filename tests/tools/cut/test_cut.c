/*
    test_cut.c - ts-cut: which events of a trace are kept

    Every trace here is this one; letters stand for events below, at times in
    nanoseconds:

        thread      O outer 0-100; S step 10-30, s step 50-70; their arguments
                    A at 10, a at 50; calls C 12-14 and c 55-57; F frames at
                    0, 50 and 100
        counter     N at 20
        device 0    K gemm 40-60, launched by C, queued at 12
        device 1    k relu 80-120, launched by c, not known when
                    D says that k waits for K, on the thread at 56
*/
#define _GNU_SOURCE // mkdtemp
#include "tools/cut/cut.h"

#include "tests/tools/merge/merge_forge.h"

#include <signal.h>
#include <sys/resource.h>

enum { STREAM_0 = 10, STREAM_1, DEVICE_0, DEVICE_1, COUNTER };

static const cli_tool tool = { .name = "test" };

static uint32_t site_of(ts_writer *w, const char *name)
{
    const ts_site_entry site = { .name = name_in(w, name) };
    return ts_writer_site(w, &site);
}

static void put_span(ts_writer *w, ts_event_kind kind, const char *name,
                     int64_t from, int64_t to)
{
    const ts_writer_value site = { TS_COLUMN_SITE, site_of(w, name) };
    ts_writer_event(w, kind, THREAD, from, to - from, &site, 1);
}

static void put_arg(ts_writer *w, const char *name, int64_t at)
{
    const ts_writer_value values[] = { { TS_COLUMN_SITE, site_of(w, name) },
                                       { TS_COLUMN_NAME, name_in(w, "n") },
                                       { TS_COLUMN_TYPE, TS_VALUE_TEXT } };
    ts_writer_event_text(w, TS_EVENT_ZONE_ARG, THREAD, at, 0, values, 3, "arg",
                         3);
}

static void put_call(ts_writer *w, uint64_t correlation, int64_t from,
                     int64_t to)
{
    const ts_writer_value values[] = {
        { TS_COLUMN_NAME, name_in(w, "cudaLaunchKernel") },
        { TS_COLUMN_CORRELATION, correlation },
    };
    ts_writer_event(w, TS_EVENT_API_CALL, THREAD, from, to - from, values, 2);
}

static void put_kernel(ts_writer *w, const char *name, uint32_t stream,
                       uint64_t correlation, int64_t from, int64_t to,
                       uint64_t queued)
{
    const ts_launch_entry launch = { .name = name_in(w, name) };
    const ts_writer_value values[] = {
        { TS_COLUMN_LAUNCH, ts_writer_launch(w, &launch) },
        { TS_COLUMN_CORRELATION, correlation },
        { TS_COLUMN_QUEUED, queued },
        { TS_COLUMN_THREAD, THREAD },
    };
    ts_writer_event(w, TS_EVENT_KERNEL, stream, from, to - from, values, 4);
}

static void put_all_tracks(ts_writer *w)
{
    const ts_track_entry process = { .type = TS_TRACK_PROCESS };
    const ts_track_entry thread = { .type = TS_TRACK_THREAD, .parent = 1 };
    const ts_track_entry counter = { .type = TS_TRACK_COUNTER, .parent = 1 };
    ts_writer_track(w, PROCESS, &process);
    ts_writer_track(w, THREAD, &thread);
    ts_writer_track(w, COUNTER, &counter);
    for (uint32_t i = 0; i < 2; i++) {
        const ts_track_entry device = { .type = TS_TRACK_DEVICE,
                                        .parent = PROCESS };
        const ts_track_entry stream = { .type = TS_TRACK_STREAM,
                                        .parent = DEVICE_0 + i };
        ts_writer_track(w, DEVICE_0 + i, &device);
        ts_writer_track(w, STREAM_0 + i, &stream);
    }
}

static void make_trace(void)
{
    const ts_writer_desc desc = { .path = path_of("in.sbt") };
    const ts_writer_value depends[] = { { TS_COLUMN_CORRELATION, 2 },
                                        { TS_COLUMN_RECORD, 1 } };
    const ts_writer_value sample[] = { { TS_COLUMN_TYPE, TS_VALUE_INT },
                                       { TS_COLUMN_VALUE, 7 } };
    ts_writer *w;
    assert_int_equal(TS_OK, ts_writer_open(&w, &desc));
    put_all_tracks(w);
    put_span(w, TS_EVENT_ZONE, "step", 10, 30);
    put_span(w, TS_EVENT_ZONE, "step", 50, 70);
    put_span(w, TS_EVENT_ZONE, "outer", 0, 100);
    put_arg(w, "step", 10);
    put_arg(w, "step", 50);
    put_call(w, 1, 12, 14);
    put_call(w, 2, 55, 57);
    for (int i = 0; i < 3; i++)
        put_span(w, TS_EVENT_FRAME, "frame", 50 * i, 50 * i);
    ts_writer_event(w, TS_EVENT_COUNTER, COUNTER, 20, 0, sample, 2);
    put_kernel(w, "gemm", STREAM_0, 1, 40, 60, 40 - 12 + 1);
    put_kernel(w, "relu", STREAM_1, 2, 80, 120, 0);
    ts_writer_event(w, TS_EVENT_DEPENDENCY, THREAD, 56, 0, depends, 2);
    ts_writer_loss(w, THREAD, TS_LOSS_RING_FULL, 0, 4, 75, 78);
    ts_writer_blob(w, "blob", 4, NULL);
    assert_int_equal(TS_OK, ts_writer_close(w));
}

static int begin(void **state)
{
    if (folder_begin(state)) return -1;
    make_trace();
    return 0;
}

static char letter(const ts_event *e)
{
    switch (e->kind) {
    case TS_EVENT_ZONE:
        return e->start_ns == 0 ? 'O' : e->start_ns == 10 ? 'S' : 's';
    case TS_EVENT_ZONE_ARG: return e->start_ns == 10 ? 'A' : 'a';
    case TS_EVENT_API_CALL: return e->start_ns == 12 ? 'C' : 'c';
    case TS_EVENT_KERNEL: return e->start_ns == 40 ? 'K' : 'k';
    case TS_EVENT_FRAME: return 'F';
    case TS_EVENT_COUNTER: return 'N';
    case TS_EVENT_DEPENDENCY: return 'D';
    default: return '?';
    }
}

// What is in a trace of the folder, in an order that is easy to write down.
static const char *letters_of(const char *name)
{
    static const char order[] = "OSsAaCcFNKkD?";
    static char text[64];
    uint32_t counts[sizeof order] = { 0 };
    ts_reader *const reader = open_name(name);
    ts_cursor *cursor;
    ts_event e;
    assert_int_equal(TS_OK, ts_cursor_open(&cursor, reader, NULL));
    while (ts_cursor_next(cursor, &e))
        counts[strchr(order, letter(&e)) - order]++;
    ts_cursor_close(cursor);
    ts_reader_close(reader);
    size_t size = 0;
    for (size_t i = 0; i < sizeof order; i++)
        while (counts[i]--)
            text[size++] = order[i];
    text[size] = 0;
    return text;
}

static bool run(cut_options options, cut_job *job, const char *in,
                const char *out)
{
    cli_trace trace;
    *job = (cut_job){ .tool = &tool,
                      .path = path_of(in),
                      .out = path_of(out),
                      .trace = &trace,
                      .options = options };
    if (!options.what) job->options.what = "--test";
    assert_true(cli_trace_open(&trace, &tool, job->path, NULL, CLI_WARN_NONE));
    const bool done = cut_write(job);
    cli_trace_close(&trace);
    return done;
}

static const char *cut(cut_options options)
{
    cut_job job;
    assert_true(run(options, &job, "in.sbt", "out.sbt"));
    const char *const letters = letters_of("out.sbt");
    assert_int_equal(strlen(letters), job.counts.kept);
    assert_int_equal(14, job.counts.kept + job.counts.left_out);
    return letters;
}

static cut_options in_time(int64_t from_ns, int64_t to_ns, cut_deps deps)
{
    return (cut_options){
        .timed = true, .from_ns = from_ns, .to_ns = to_ns, .deps = deps
    };
}

/* ---- Tests --------------------------------------------------------------- */

UNIT_TEST(without_options_all_is_kept)
{
    const cut_options all = { 0 };
    assert_string_equal("OSsAaCcFFFNKkD", cut(all));
}

// Zones, calls and kernels that touch [from, to), moments in it.
UNIT_TEST(time_keeps_what_touches_it)
{
    const cut_deps none = CUT_DEPS_NONE;
    assert_string_equal("OSAN", cut(in_time(20, 25, none)));
    assert_string_equal("OSA", cut(in_time(29, 30, none)));
    assert_string_equal("O", cut(in_time(30, 40, none)));
    assert_string_equal("OsaFK", cut(in_time(50, 55, none)));
    assert_string_equal("Fk", cut(in_time(100, INT64_MAX, none)));
    assert_string_equal("OF", cut(in_time(INT64_MIN, 10, none)));
}

UNIT_TEST(calls_come_with_their_operations)
{
    assert_string_equal("OCK", cut(in_time(32, 45, CUT_DEPS_CALLS)));
    assert_string_equal("cFkD", cut(in_time(100, 110, CUT_DEPS_CALLS)));
    // A call in the time brings its operation only if that is requested.
    assert_string_equal("OSAC", cut(in_time(12, 13, CUT_DEPS_CALLS)));
    assert_string_equal("OSACK", cut(in_time(12, 13, CUT_DEPS_BOTH)));
}

UNIT_TEST(streams_devices_kinds_and_names_select)
{
    const uint32_t stream = STREAM_1, device = DEVICE_0;
    const cut_options by_stream = { .streams = &stream, .stream_count = 1 };
    const cut_options by_device = { .devices = &device,
                                    .device_count = 1,
                                    .deps = CUT_DEPS_NONE };
    const cut_options neither = { .streams = &stream,
                                  .stream_count = 1,
                                  .devices = &device,
                                  .device_count = 1 };
    const cut_options by_kind = { .kinds = TS_FILTER(ZONE) | TS_FILTER(COUNTER),
                                  .deps = CUT_DEPS_NONE };
    cut_job job;
    assert_string_equal("ckD", cut(by_stream));
    assert_string_equal("K", cut(by_device));
    assert_string_equal("OSsAaN", cut(by_kind));
    assert_false(run(neither, &job, "in.sbt", "nothing.sbt"));
    assert_int_not_equal(0, access(path_of("nothing.sbt"), F_OK));
    assert_int_not_equal(0, access(path_of("nothing.sbt.part"), F_OK));
}

// What has no name is called by its kind, as D is.
UNIT_TEST(names_match_a_part_of_a_label)
{
    regex_t regex;
    cut_options w = { .name = &regex, .deps = CUT_DEPS_NONE };
    const char *const wanted[][2] = {
        { "ste", "SsAa" }, { "^gemm$", "K" }, { "ep|em", "SsAaKD" },
        { "^cuda", "Cc" }, { "relu", "k" },   { "^counter$", "N" },
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        assert_int_equal(
            0, regcomp(&regex, wanted[i][0], REG_EXTENDED | REG_NOSUB));
        assert_string_equal(wanted[i][1], cut(w));
        regfree(&regex);
    }
}

// What the thread did inside, and what was launched there: K by when it was
// queued, k by its call.
UNIT_TEST(zones_keep_what_was_done_and_launched_inside)
{
    cut_options w = { .zones = "step", .deps = CUT_DEPS_NONE };
    assert_string_equal("SsAaCcFKkD", cut(w));
    w.zones = "nothing,ste*";
    w.timed = true;
    w.from_ns = INT64_MIN;
    w.to_ns = 35;
    w.deps = CUT_DEPS_BOTH;
    assert_string_equal("SACK", cut(w));
}

static void put_span_event(ts_writer *w, uint64_t id, int64_t at, bool end)
{
    const ts_writer_value values[] = {
        { TS_COLUMN_ID, id },
        { TS_COLUMN_PHASE, end ? TS_PHASE_END : TS_PHASE_START },
    };
    ts_writer_event(w, TS_EVENT_SPAN, THREAD, at, 0, values, 2);
}

// Starts and ends of those that are kept, with their ids as hundreds.
static void expect_spans(int64_t from_ns, int64_t to_ns, const int64_t *wanted)
{
    cut_job job;
    ts_cursor *cursor;
    ts_event e;
    assert_true(run(in_time(from_ns, to_ns, CUT_DEPS_CALLS), &job, "spans.sbt",
                    "out.sbt"));
    ts_reader *const reader = open_name("out.sbt");
    assert_int_equal(TS_OK, ts_cursor_open(&cursor, reader, NULL));
    for (; ts_cursor_next(cursor, &e); wanted++)
        assert_int_equal(*wanted,
                         (int64_t)ts_event_value(&e, TS_COLUMN_ID) * 100 +
                             e.start_ns);
    assert_int_equal(0, *wanted);
    ts_cursor_close(cursor);
    ts_reader_close(reader);
}

// Span 1: 10-90, 2: 20-30, 3: 40-60, 1 again: 95-98, 4 from 15 on.
UNIT_TEST(spans_keep_both_of_their_events)
{
    const int64_t events[][2] = { { 1, 10 },  { 4, 15 }, { 2, 20 },
                                  { 2, -30 }, { 3, 40 }, { 3, -60 },
                                  { 1, -90 }, { 1, 95 }, { 1, -98 } };
    const ts_writer_desc desc = { .path = path_of("spans.sbt") };
    ts_writer *w;
    assert_int_equal(TS_OK, ts_writer_open(&w, &desc));
    put_all_tracks(w);
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        put_span_event(w, (uint64_t)events[i][0],
                       events[i][1] < 0 ? -events[i][1] : events[i][1],
                       events[i][1] < 0);
    assert_int_equal(TS_OK, ts_writer_close(w));
    const int64_t middle[] = { 110, 415, 340, 360, 190, 0 };
    const int64_t early[] = { 110, 415, 220, 230, 190, 0 };
    const int64_t late[] = { 415, 195, 198, 0 };
    const int64_t between[] = { 110, 415, 190, 0 };
    expect_spans(50, 55, middle);
    expect_spans(5, 25, early);
    expect_spans(97, 200, late);
    expect_spans(32, 38, between);
}

// Half of many spans end in another order than they began in; what is left
// is still known to be open.
UNIT_TEST(spans_that_end_in_any_order_hide_no_others)
{
    enum { COUNT = 30 };
    int64_t wanted[COUNT / 2 + 1] = { 0 };
    const ts_writer_desc desc = { .path = path_of("spans.sbt") };
    ts_writer *w;
    assert_int_equal(TS_OK, ts_writer_open(&w, &desc));
    put_all_tracks(w);
    for (int i = 0; i < COUNT; i++)
        put_span_event(w, (uint64_t)i + 1, 10 + i, false);
    for (int i = 0; i < COUNT; i += 2)
        put_span_event(w, (uint64_t)i + 1, 60 + i, true);
    for (int i = 1; i < COUNT; i += 2)
        wanted[i / 2] = (i + 1) * 100 + 10 + i;
    assert_int_equal(TS_OK, ts_writer_close(w));
    expect_spans(95, 98, wanted);
}

static bool frames(const char *text, cut_options *options)
{
    cli_trace trace;
    cut_job job = { .tool = &tool, .path = path_of("in.sbt"), .trace = &trace };
    assert_true(cli_trace_open(&trace, &tool, job.path, NULL, CLI_WARN_NONE));
    const bool found = cut_frames(&job, text);
    cli_trace_close(&trace);
    *options = job.options;
    return found;
}

UNIT_TEST(frames_are_times)
{
    const struct {
        const char *text;
        int64_t from_ns, to_ns;
    } good[] = {
        { "0..0", 0, 50 },         { "0", 0, 50 },
        { "0..1", 0, 100 },        { "1", 50, 100 },
        { "frame:1..1", 50, 100 }, { "..0", 0, 50 },
        { "1..", 50, INT64_MAX },  { "2", 100, INT64_MAX },
        { "2..", 100, INT64_MAX },
    };
    const char *const bad[] = { "3",   "1..0", "",   "..",   "x",
                                "1.2", "0..9", "-1", "no:0", "3.." };
    cut_options options;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(frames(good[i].text, &options));
        assert_true(options.timed);
        assert_int_equal(good[i].from_ns, options.from_ns);
        assert_int_equal(good[i].to_ns, options.to_ns);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(frames(bad[i], &options));
}

UNIT_TEST(a_part_says_what_it_is)
{
    cut_options w = in_time(20, 45, CUT_DEPS_CALLS);
    ts_metadata m;
    cut_job job;
    w.what = "--from 20ns --to 45ns";
    assert_true(run(w, &job, "in.sbt", "out.sbt"));
    assert_int_equal(1, job.added); // C
    w.what = "--stream 0";
    w.kinds = TS_FILTER(KERNEL);
    assert_true(run(w, &job, "out.sbt", "again.sbt"));
    ts_reader *const reader = open_name("again.sbt");
    assert_true(ts_reader_metadata(reader, 0, "cut.what", &m));
    assert_string_equal("--from 20ns --to 45ns; then --stream 0", m.text.text);
    assert_true(ts_reader_metadata(reader, 0, "cut.of", &m));
    assert_string_equal("in.sbt", m.text.text);
    assert_true(ts_reader_metadata(reader, 0, "cut.left_out", &m));
    assert_int_equal(14 - (int64_t)job.counts.kept, m.number);
    assert_true(ts_reader_metadata(reader, 0, "cut.to_ns", &m));
    assert_int_equal(45, m.number);
    assert_int_equal(0, ts_reader_loss_count(reader)); // it was later
    ts_reader_close(reader);
}

UNIT_TEST(a_part_keeps_losses_of_its_time_and_blobs)
{
    uint64_t hash[2];
    cut(in_time(70, 76, CUT_DEPS_NONE));
    ts_reader *const reader = open_name("out.sbt");
    assert_int_equal(4, ts_reader_info(reader)->lost);
    assert_true(ts_reader_blob_at(reader, 0, hash));
    ts_reader_close(reader);
}

UNIT_TEST(a_full_disk_leaves_nothing)
{
    struct rlimit limit, tight;
    const cut_options all = { 0 };
    cut_job job;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limit);
    tight = limit;
    tight.rlim_cur = 1500;
    setrlimit(RLIMIT_FSIZE, &tight);
    const bool done = run(all, &job, "in.sbt", "full.sbt");
    setrlimit(RLIMIT_FSIZE, &limit);
    assert_false(done);
    assert_int_not_equal(0, access(path_of("full.sbt"), F_OK));
    assert_int_not_equal(0, access(path_of("full.sbt.part"), F_OK));
}

static bool has_compressed(const char *name)
{
    ts_reader *const reader = open_name(name);
    ts_chunk_info info;
    bool found = false;
    for (size_t i = 0; ts_reader_chunk(reader, i, &info); i++)
        found |= info.header.flags & 1;
    ts_reader_close(reader);
    return found;
}

UNIT_TEST(a_part_is_compressed_if_the_whole_is)
{
    const ts_writer_desc desc = { .path = path_of("zstd.sbt"),
                                  .compress = true };
    ts_writer *w;
    cut_job job;
    if (ts_writer_open(&w, &desc) == TS_ERR_UNSUPPORTED) skip();
    put_all_tracks(w);
    for (int i = 0; i < 2000; i++)
        put_span(w, TS_EVENT_ZONE, "step", 10 * i, 10 * i + i % 7);
    assert_int_equal(TS_OK, ts_writer_close(w));
    assert_true(has_compressed("zstd.sbt"));
    assert_true(
        run(in_time(0, 10000, CUT_DEPS_CALLS), &job, "zstd.sbt", "out.sbt"));
    assert_int_equal(1000, job.counts.kept);
    assert_true(has_compressed("out.sbt"));
    assert_true(
        run(in_time(0, 10000, CUT_DEPS_CALLS), &job, "in.sbt", "out.sbt"));
    assert_false(has_compressed("out.sbt"));
}

UNIT_TEST(sets_hold_what_was_added)
{
    const uint64_t values[] = {
        0, 1, 4095, 4096, UINT64_C(1) << 48, UINT64_MAX
    };
    cut_set set = { 0 };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        assert_false(cut_set_has(&set, values[i]));
        cut_set_add(&set, values[i]);
    }
    for (uint64_t i = 0; i < 100000; i++)
        cut_set_add(&set, i * 1000003);
    for (uint64_t i = 0; i < 100000; i++) {
        assert_true(cut_set_has(&set, i * 1000003));
        assert_false(cut_set_has(&set, i * 1000003 + 2));
    }
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        assert_true(cut_set_has(&set, values[i]));
    cut_set_close(&set);
}

int main(void)
{
    return unit_run(begin, folder_end);
}
