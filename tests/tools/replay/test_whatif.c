/*
    test_whatif.c - the texts of --what-if, and what comes of them

    Times are in microseconds.
*/
#include "tests/replay/model/whatif_scene.h"
#include "tools/replay/whatif/whatif.h"

static const cli_tool tool = { .name = "test" };

/* ---- Texts -------------------------------------------------------------- */

UNIT_TEST(factors_are_exact)
{
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

UNIT_TEST(texts_are_parsed)
{
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

UNIT_TEST(each_what_if_is_compared_with_the_unchanged_model)
{
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
    assert_int_equal(14, report.steps[0].name.size);
    assert_memory_equal("ProfilerStep#7", report.steps[0].name.text, 14);
    // The replay has the schedule of all of them.
    assert_int_equal(152 * US, ts_replay_result(s.replay)->end_ns);
    whatif_report_close(&report);
    for (size_t i = 0; i < 3; i++)
        whatif_close(&list[i]);
    close_scene(&s);
}

// Names of NCCL's kernels begin so, and what it does has another name.
UNIT_TEST(a_collective_goes_by_its_kernel_too)
{
    scene s = { .count = 0 };
    begin(&s);
    collective_of(&s, 77, 2, 0, 100, 50); // all_reduce, by "ring"
    collective_of(&s, 77, 0, 0, 200, 50); // by nobody knows what
    kernel(&s, "_Z9ring_gemmv", 1, 100, 50, 0);
    end(&s);
    play(&s);
    const struct {
        const char *text;
        uint64_t meant;
        const char *nothing; // in what is said of it
    } cases[] = {
        { "remove ^ring", 2, "" }, // the gemm, demangled, too
        { "remove collective~^ring", 1, "" },
        { "remove kernel~^ring", 1, "" },
        { "remove all_reduce", 2, "" },
        { "remove rnig_gemm", 0, "similar names:\n        ring_gemm" },
        { "remove ^RING.*", 0, "similar names:\n        ring_gemm" },
        { "remove kernel~all_reduce", 0, "ts-view --stats lists them" },
        { "remove memcpy~ring", 0, "ts-view --stats lists them" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        whatif one = parsed(cases[i].text);
        whatif_report report;
        assert_int_equal(TS_OK, whatif_run(s.replay, &one, 1, &report));
        const whatif_figures *const f = &report.figures[1];
        assert_int_equal(cases[i].meant, f->meant);
        if (!f->meant) assert_non_null(strstr(f->nothing, cases[i].nothing));
        whatif_report_close(&report);
        whatif_close(&one);
    }
    close_scene(&s);
}

UNIT_TEST(steps_add_up_to_the_makespan)
{
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

// Twelve steps are printed, and similar names for a name that nothing has.
UNIT_TEST(a_report_is_short)
{
    scene s = { .count = 0 };
    begin(&s);
    for (int64_t i = 0; i < 14; i++) {
        char name[32];
        snprintf(name, sizeof name, "ProfilerStep#%d", (int)i);
        launch_call(&s, 100 * i, (uint64_t)i + 1);
        kernel(&s, "gemm_128", 0, 100 * i + 6, 10, (uint64_t)i + 1);
        step_zone(&s, name, 100 * i);
    }
    end(&s);
    play(&s);
    whatif list[] = { parsed("host 1"), parsed("remove gemm_127") };
    whatif_report report;
    char *text = NULL;
    size_t size;
    FILE *const out = open_memstream(&text, &size);
    assert_int_equal(TS_OK, whatif_run(s.replay, list, 2, &report));
    whatif_print(out, &report);
    assert_int_equal(0, fclose(out));
    assert_non_null(strstr(text, "    ProfilerStep#11  100.0 us  no change\n"
                                 "    and 2 more steps\n"));
    assert_null(strstr(text, "ProfilerStep#12"));
    assert_non_null(
        strstr(text, "    no operation matches: no name contains this; similar "
                     "names:\n        gemm_128\n"));
    free(text);
    whatif_report_close(&report);
    for (size_t i = 0; i < 2; i++)
        whatif_close(&list[i]);
    close_scene(&s);
}

UNIT_TEST(a_straggler_holds_up_every_rank)
{
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

UNIT_TEST(streams_are_found_by_number_on_each_device)
{
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

// A factor alone is of time, wherever it stands; what was assumed is said.
UNIT_TEST(factors_have_one_meaning)
{
    static const char *const said[][2] = {
        { "network 0.5", "transfers take half as long" },
        { "network 2", "transfers take twice as long" },
        { "network bw=2x", "transfers at 2 times the bandwidth" },
        { "copy h2d=0.25", "transfers take 0.25 times as long" },
        { "straggler rank=7:0.5", "rank 7 takes half as long" },
        { "host 0.8", "the host takes 0.8 times as long" },
        { "serialise", "" },
    };
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        whatif w = parsed(said[i][0]);
        assert_string_equal(said[i][1], whatif_assumed(&w).s);
        whatif_close(&w);
    }
    static const char *const unclear[] = { "network 2x", "copy h2d=2x",
                                           "host 2x", "k=2x" };
    for (size_t i = 0; i < 4; i++) {
        whatif w;
        assert_false(whatif_read(&tool, unclear[i], &w));
        whatif_close(&w);
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
