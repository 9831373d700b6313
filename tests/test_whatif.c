/*
    test_whatif.c - the texts of --what-if, and what comes of them

    Traces are written with ts_writer, so that kernels have names. Times are in
    microseconds.
*/
#define TRACESMITH_WRITER
#include "tools/replay/whatif.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>
#include <cmocka.h>

enum { US = 1000, THREAD = 2, DEVICE = 10, STREAM = 100 };
static const cli_tool tool = { .name = "test" };

/* ---- Texts -------------------------------------------------------------- */

static void factors_are_exact(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t num, den;
    } good[] = { { "2", 2, 1 },  { "0.5", 5, 10 },      { "1/3", 1, 3 },
                 { "2x", 2, 1 }, { "80%", 80, 100 },    { ".25", 25, 100 },
                 { "0", 0, 1 },  { "1.5/0.5", 150, 50 } };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ts_ratio r;
        assert_true(whatif_ratio(good[i].text, strlen(good[i].text), &r));
        assert_int_equal(good[i].num, r.num);
        assert_int_equal(good[i].den, r.den);
    }
    static const char *const bad[] = { "",    ".",   "x",     "-1",
                                       "1/0", "1e3", "1/",    "2xx",
                                       "1 ",  "%",   "1.2.3", "12345678901",
                                       "0x2" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ts_ratio r;
        assert_false(whatif_ratio(bad[i], strlen(bad[i]), &r));
    }
}

static whatif parsed(const char *text)
{
    whatif w;
    assert_true(whatif_read(&tool, text, &w));
    return w;
}

static void texts_are_taken_apart(void **state)
{
    (void)state;
    whatif w = parsed("scale a=b=1/2"); // the last = is ours
    assert_int_equal(0, regexec(&w.regex, "xa=by", 0, NULL, 0));
    assert_int_equal(2, w.factor.den);
    whatif_close(&w);
    w = parsed("remove memcpy~.*");
    assert_int_equal(TS_EVENT_MEMCPY, w.kind);
    whatif_close(&w);
    w = parsed("remove ::~Guard"); // no word: part of the expression
    assert_int_equal(0, w.kind);
    assert_int_equal(0, regexec(&w.regex, "a::~Guard", 0, NULL, 0));
    whatif_close(&w);
    w = parsed("insert new one=3us after gemm");
    assert_string_equal("new one", w.word);
    assert_int_equal(3 * US, w.ns);
    whatif_close(&w);
    w = parsed("copy h2d,p2p bw=2x,lat=5us");
    assert_int_equal(1 << 1 | 1 << 5, w.directions);
    assert_int_equal(1, w.factor.num); // twice the bandwidth, half the time
    assert_int_equal(2, w.factor.den);
    assert_true(w.has_latency);
    w = parsed("straggler rank=3:1.5");
    assert_int_equal(3, w.number);
    w = parsed("streams relu=0:7");
    assert_string_equal("0:7", w.word);
    whatif_close(&w);
}

/* ---- Traces ------------------------------------------------------------- */

typedef struct scene {
    char path[2][64];
    ts_writer *writer;
    ts_reader *readers[2];
    size_t count;
    ts_replay *replay;
    char folder[32];
} scene;

static void add_track(ts_writer *w, uint32_t id, ts_track_type type,
                      uint32_t parent, uint64_t number)
{
    const ts_track_entry entry = { .type = (uint8_t)type,
                                   .parent = parent,
                                   .number = number };
    ts_writer_track(w, id, &entry);
}

// One more file; its rank is its number.
static void begin(scene *s)
{
    if (!s->count) {
        strcpy(s->folder, "/tmp/ts-whatif-XXXXXX");
        assert_non_null(mkdtemp(s->folder));
    }
    snprintf(s->path[s->count], sizeof s->path[0], "%s/%zu.sbt", s->folder,
             s->count);
    const ts_writer_desc desc = { .path = s->path[s->count] };
    assert_int_equal(TS_OK, ts_writer_open(&s->writer, &desc));
    add_track(s->writer, 1, TS_TRACK_PROCESS, 0, 1);
    add_track(s->writer, THREAD, TS_TRACK_THREAD, 1, 1);
    add_track(s->writer, DEVICE, TS_TRACK_DEVICE, 1, 0);
    for (uint32_t i = 0; i < 3; i++)
        add_track(s->writer, STREAM + i, TS_TRACK_STREAM, DEVICE, 7 + i);
    ts_writer_metadata(s->writer, 0, "rank", TS_VALUE_INT, s->count);
    ts_writer_metadata(s->writer, DEVICE, "multiprocessors", TS_VALUE_INT, 4);
    ts_writer_metadata(s->writer, DEVICE, "max_threads_per_multiprocessor",
                       TS_VALUE_INT, 1024);
    s->count++;
}

static void launched(scene *s, const ts_launch_entry *launch, uint32_t stream,
                     int64_t start, int64_t duration, uint64_t correlation)
{
    const ts_writer_value values[] = {
        { TS_COLUMN_LAUNCH, ts_writer_launch(s->writer, launch) },
        { TS_COLUMN_CORRELATION, correlation },
    };
    ts_writer_event(s->writer, TS_EVENT_KERNEL, STREAM + stream, start * US,
                    duration * US, values, 2);
}

static void kernel(scene *s, const char *name, uint32_t stream, int64_t start,
                   int64_t duration, uint64_t correlation)
{
    const ts_launch_entry launch = {
        .name = ts_writer_name(s->writer, name, strlen(name)),
        .grid = { 2, 1, 1 },
        .block = { 32, 32, 1 },
    };
    launched(s, &launch, stream, start, duration, correlation);
}

static void launch_call(scene *s, int64_t start, uint64_t correlation)
{
    const ts_writer_value values[] = {
        { TS_COLUMN_NAME, ts_writer_name(s->writer, "launch", 6) },
        { TS_COLUMN_CORRELATION, correlation },
    };
    ts_writer_event(s->writer, TS_EVENT_API_CALL, THREAD, start * US, 4 * US,
                    values, 2);
}

static void step_zone(scene *s, const char *name, int64_t start)
{
    const ts_site_entry site = {
        .name = ts_writer_name(s->writer, name, strlen(name)),
    };
    const ts_writer_value value = { TS_COLUMN_SITE,
                                    ts_writer_site(s->writer, &site) };
    ts_writer_event(s->writer, TS_EVENT_ZONE, THREAD, start * US, 99 * US,
                    &value, 1);
}

static void collective(scene *s, int64_t start, int64_t duration)
{
    const ts_writer_value values[] = {
        { TS_COLUMN_NAME, ts_writer_name(s->writer, "all_reduce", 10) },
        { TS_COLUMN_COMMUNICATOR, 77 },
        { TS_COLUMN_SEQUENCE, 1 },
        { TS_COLUMN_SIZE, 4096 },
        { TS_COLUMN_RANKS, 2 },
    };
    ts_writer_event(s->writer, TS_EVENT_COLLECTIVE, STREAM, start * US,
                    duration * US, values, 5);
}

static void end(scene *s)
{
    assert_int_equal(TS_OK, ts_writer_close(s->writer));
    const ts_reader_desc desc = { .path = s->path[s->count - 1] };
    assert_int_equal(TS_OK, ts_reader_open(&s->readers[s->count - 1], &desc));
}

static void play(scene *s)
{
    const ts_replay_desc desc = { .more = s->readers + 1,
                                  .more_count = s->count - 1 };
    assert_int_equal(TS_OK, ts_replay_open(&s->replay, s->readers[0], &desc));
}

static void close_scene(scene *s)
{
    ts_replay_close(s->replay);
    for (size_t i = 0; i < s->count; i++) {
        ts_reader_close(s->readers[i]);
        assert_int_equal(0, unlink(s->path[i]));
    }
    assert_int_equal(0, rmdir(s->folder));
}

// A kernel of 10 us every 20, five for each of three steps, launched 6 us
// before each; "gemm" and "relu" take turns.
static scene three_steps(void)
{
    scene s = { .count = 0 };
    begin(&s);
    for (int64_t i = 0; i < 15; i++) {
        launch_call(&s, 20 * i, (uint64_t)i + 1);
        kernel(&s, i % 2 ? "relu<float>" : "gemm_128", 0, 20 * i + 6, 10,
               (uint64_t)i + 1);
    }
    step_zone(&s, "ProfilerStep#7", 0);
    step_zone(&s, "ProfilerStep#8", 100);
    step_zone(&s, "ProfilerStep#9", 200);
    step_zone(&s, "ProfilerStep", 300); // none
    end(&s);
    play(&s);
    return s;
}

/* ---- Figures ------------------------------------------------------------ */

static void each_what_if_is_compared_with_the_unchanged_model(void **state)
{
    (void)state;
    scene s = three_steps();
    whatif list[] = { parsed("scale kernel~gemm=1/2"), parsed("host 0.5"),
                      parsed("scale conv=2") };
    whatif_report report;
    assert_int_equal(TS_OK, whatif_run(s.replay, list, 3, &report));
    assert_int_equal(5, report.count);
    static const struct {
        uint64_t meant;
        int64_t makespan, steps[3];
        ts_cost bound;
    } wanted[] = {
        { 0, 290, { 90, 100, 100 }, TS_COST_HOST },
        { 8, 285, { 85, 105, 95 }, TS_COST_HOST }, // no gain: host-bound
        { 15, 164, { 54, 55, 55 }, TS_COST_COMPUTE },
        { 0, 290, { 90, 100, 100 }, TS_COST_HOST },
        { 23, 146, { 46, 54, 46 }, TS_COST_HOST },
    };
    for (size_t i = 0; i < report.count; i++) {
        const whatif_figures *const f = &report.figures[i];
        assert_int_equal(wanted[i].makespan * US, f->makespan_ns);
        assert_int_equal((wanted[i].makespan - 290) * US, f->change_ns);
        assert_int_equal(wanted[i].bound, f->bound);
        if (i) assert_int_equal(wanted[i].meant, f->meant);
        assert_int_equal(3, report.step_count);
        for (size_t k = 0; k < 3; k++)
            assert_int_equal(wanted[i].steps[k] * US, f->step_ns[k]);
    }
    assert_int_equal(14, report.steps[0].size);
    assert_memory_equal("ProfilerStep#7", report.steps[0].text, 14);
    // The replay has the schedule of all of them.
    assert_int_equal(152 * US, ts_replay_result(s.replay)->end_ns);
    whatif_report_close(&report);
    for (size_t i = 0; i < 3; i++)
        whatif_close(&list[i]);
    close_scene(&s);
}

static void steps_add_up_to_the_makespan(void **state)
{
    (void)state;
    scene s = three_steps();
    assert_int_equal(TS_OK, ts_replay_run(s.replay, NULL));
    const ts_step *steps;
    size_t count;
    assert_int_equal(TS_OK, ts_replay_steps(s.replay, &steps, &count));
    assert_int_equal(3, count);
    int64_t at = ts_replay_result(s.replay)->start_ns, costs = 0;
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(7 + i, steps[i].number);
        assert_int_equal(5, steps[i].operations);
        assert_int_equal(at, steps[i].start_ns);
        assert_int_equal(steps[i].end_ns - at, steps[i].recorded_ns);
        at = steps[i].end_ns;
        for (uint32_t k = 0; k < TS_COST_LIMIT; k++)
            costs += steps[i].cost_ns[k];
    }
    assert_int_equal(ts_replay_result(s.replay)->end_ns, at);
    assert_int_equal(at - ts_replay_result(s.replay)->start_ns, costs);
    close_scene(&s);
}

static void a_straggler_holds_up_every_rank(void **state)
{
    (void)state;
    scene s = { .count = 0 };
    for (int rank = 0; rank < 2; rank++) {
        begin(&s);
        kernel(&s, "work", 0, 0, 10, 0);
        collective(&s, 11, 20);
        end(&s);
    }
    play(&s);
    whatif w = parsed("straggler rank=1:2");
    whatif_report report;
    assert_int_equal(TS_OK, whatif_run(s.replay, &w, 1, &report));
    assert_int_equal(31 * US, report.figures[0].makespan_ns);
    assert_int_equal(41 * US, report.figures[1].makespan_ns);
    // 20 of kernel, 1 to start, 20 of the collective from then on.
    assert_int_equal(20 * US, report.figures[1].cost_ns[TS_COST_COMPUTE]);
    assert_int_equal(20 * US, report.figures[1].cost_ns[TS_COST_COMMUNICATION]);
    assert_int_equal(1 * US, report.figures[1].cost_ns[TS_COST_LAUNCH]);
    whatif_report_close(&report);
    whatif half = parsed("network bw=2x");
    assert_int_equal(TS_OK, whatif_run(s.replay, &half, 1, &report));
    assert_int_equal(21 * US, report.figures[1].makespan_ns);
    whatif_report_close(&report);
    whatif none = parsed("straggler rank=2:2");
    assert_int_equal(TS_ERR_USAGE, whatif_run(s.replay, &none, 1, &report));
    assert_non_null(report.why);
    whatif_report_close(&report);
    close_scene(&s);
}

static void streams_are_found_by_number_on_each_device(void **state)
{
    (void)state;
    scene s = { .count = 0 };
    begin(&s);
    kernel(&s, "a", 0, 0, 10, 0);
    kernel(&s, "b", 1, 0, 10, 0);
    end(&s);
    play(&s);
    whatif w = parsed("streams b=7");
    whatif_report report;
    assert_int_equal(TS_OK, whatif_run(s.replay, &w, 1, &report));
    assert_int_equal(21 * US, report.figures[1].makespan_ns);
    whatif_report_close(&report);
    whatif_close(&w);
    w = parsed("streams b=0:9"); // nothing ever ran there
    assert_int_equal(TS_ERR_USAGE, whatif_run(s.replay, &w, 1, &report));
    whatif_report_close(&report);
    whatif_close(&w);
    close_scene(&s);
}

static void kernels_can_share_the_multiprocessors(void **state)
{
    (void)state;
    scene s = { .count = 0 };
    begin(&s);
    for (uint32_t i = 0; i < 3; i++) // each fills two of four
        kernel(&s, "half", i, 0, 10, 0);
    end(&s);
    play(&s);
    ts_replay_run_desc desc = { .mode = TS_REPLAY_MODEL };
    assert_int_equal(TS_OK, ts_replay_run(s.replay, &desc));
    assert_int_equal(10 * US, ts_replay_result(s.replay)->end_ns);
    desc.share_compute = true;
    assert_int_equal(TS_OK, ts_replay_run(s.replay, &desc));
    assert_int_equal(20 * US, ts_replay_result(s.replay)->end_ns);
    ts_operation o;
    assert_true(ts_replay_operation(s.replay, 1, &o));
    assert_int_equal(0, o.start_ns);
    assert_true(ts_replay_operation(s.replay, 2, &o));
    assert_int_equal(10 * US, o.start_ns);
    close_scene(&s);
}

static int64_t shared_us(scene *s)
{
    const ts_replay_run_desc desc = { .mode = TS_REPLAY_MODEL,
                                      .share_compute = true };
    assert_int_equal(TS_OK, ts_replay_run(s->replay, &desc));
    return ts_replay_result(s->replay)->end_ns / US;
}

// Four blocks of 8,192 registers or bytes: two fit on one of the four, so
// that a kernel fills half the device, if 16,384 is read; else an eighth.
static void what_fits_is_read_by_the_names_that_importers_write(void **state)
{
    (void)state;
    const ts_launch_entry shapes[] = {
        { .grid = { 4, 1, 1 }, .block = { 32, 1, 1 }, .registers = 256 },
        { .grid = { 4, 1, 1 }, .block = { 32, 1, 1 }, .dynamic_shared = 8192 },
    };
    static const char *const facts[] = { "regs_per_multiprocessor",
                                         "shared_mem_per_multiprocessor" };
    for (size_t k = 0; k < 4; k++) {
        scene s = { .count = 0 };
        begin(&s);
        if (k < 2)
            ts_writer_metadata(s.writer, DEVICE, facts[k], TS_VALUE_INT, 16384);
        for (uint32_t i = 0; i < 3; i++)
            launched(&s, &shapes[k % 2], i, 0, 10, 0);
        end(&s);
        play(&s);
        assert_int_equal(k < 2 ? 20 : 10, shared_us(&s));
        close_scene(&s);
    }
}

// In order of time or as they become ready: the schedule is the same.
static void enough_room_gives_the_schedule_without_limits(void **state)
{
    (void)state;
    scene s = { .count = 0 };
    begin(&s);
    for (int64_t i = 0; i < 200; i++) {
        launch_call(&s, 5 * i, (uint64_t)i + 1);
        kernel(&s, "k", (uint32_t)(i * 7 % 3), 5 * i + 6, 1 + i % 4,
               (uint64_t)i + 1);
    }
    end(&s);
    play(&s);
    ts_replay_run_desc desc = { .mode = TS_REPLAY_MODEL };
    assert_int_equal(TS_OK, ts_replay_run(s.replay, &desc));
    const uint64_t digest = ts_replay_result(s.replay)->digest;
    // At most two overlap, and two fit.
    desc.share_compute = true;
    assert_int_equal(TS_OK, ts_replay_run(s.replay, &desc));
    assert_int_equal(digest, ts_replay_result(s.replay)->digest);
    close_scene(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_are_exact),
        cmocka_unit_test(texts_are_taken_apart),
        cmocka_unit_test(each_what_if_is_compared_with_the_unchanged_model),
        cmocka_unit_test(steps_add_up_to_the_makespan),
        cmocka_unit_test(a_straggler_holds_up_every_rank),
        cmocka_unit_test(streams_are_found_by_number_on_each_device),
        cmocka_unit_test(kernels_can_share_the_multiprocessors),
        cmocka_unit_test(what_fits_is_read_by_the_names_that_importers_write),
        cmocka_unit_test(enough_room_gives_the_schedule_without_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
