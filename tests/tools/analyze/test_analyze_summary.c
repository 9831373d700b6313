/*
    test_analyze_summary.c - a run as a whole, summed by hand
*/
#include "tests/tools/analyze/story_analyze.h"
#include "tools/analyze/job/private.h"
#include "tools/analyze/figures/time/bound.h"
#include "tools/analyze/job/window.h"
#include "tools/analyze/figures/time/summary.h"

typedef struct scene {
    story s;
    analyze_job job;
    summary_figures f;
} scene;

static void close_scene(scene *x)
{
    summary_close(&x->f);
    analyze_close(&x->job);
    story_end(&x->s);
}

/*
    Stream 0:  launch at 0, gemm [10, 50), launch at 100, relu [105, 125)
    Stream 1:  copy [40, 60), launched at 20
    Device 0 is busy [10, 60) and [105, 125): 70 of 115; it idles [60, 105),
    for a launch at 100.
*/
static void put_run(scene *x)
{
    story_kernel(&x->s, S0, 10, 50, "gemm", HOST, 0);
    story_call(&x->s, HOST, 20, "copy");
    story_operation(&x->s, TS_EVENT_MEMCPY, S1, 40, 60, NULL, HOST, 0);
    story_kernel(&x->s, S0, 105, 125, "relu", HOST, 100);
}

UNIT_TEST(a_small_run_adds_up)
{
    scene x = { .s = story_begin() };
    put_run(&x);
    story_open(&x.s, &x.job, false);
    assert_true(summary_open(&x.f, &x.job));
    assert_int_equal(0, x.f.windows);
    assert_int_equal(1, x.f.device_count);
    const ts_timeline_figures *const f = x.f.total;
    assert_int_equal(70, f->busy_ns);
    assert_int_equal(45, f->idle_ns);
    assert_int_equal(60, f->work_ns[TS_WORK_KERNEL]);
    assert_int_equal(20, f->work_ns[TS_WORK_COPY]);
    assert_int_equal(10, f->only_ns[TS_WORK_COPY]);
    assert_int_equal(45, x.f.level_ns[0]);
    assert_int_equal(60, x.f.level_ns[1]);
    assert_int_equal(10, x.f.level_ns[2]);
    assert_int_equal(60, x.f.longest[TS_IDLE_HOST_LATE].start_ns);
    assert_int_equal(105, x.f.longest[TS_IDLE_HOST_LATE].end_ns);
    int64_t parts[SUMMARY_BOUNDS], sum = 0;
    assert_int_equal(SUMMARY_KERNELS, summary_parts(f, parts));
    for (int i = 0; i < SUMMARY_BOUNDS; i++)
        sum += parts[i];
    assert_int_equal(115, sum);
    assert_int_equal(45, parts[SUMMARY_HOST]);
    REPORT(x.s.path, "summary");
    close_scene(&x);
}

// More operations than the whole graph is made for.
static void put_long_run(scene *x, uint32_t count)
{
    uint64_t random = 1;
    int64_t host = 0, stream[4] = { 0 };
    for (uint32_t i = 0; i < count; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const uint32_t s = (uint32_t)(random >> 60) % 4;
        host += 200 + (int64_t)(random >> 40 & 1023) + (i % 5000 ? 0 : 40000);
        int64_t start = host + 2000;
        if (start < stream[s]) start = stream[s];
        stream[s] = start + (int64_t)(random >> 30 & 4095);
        story_kernel(&x->s, S0 + s, start, stream[s], i % 3 ? "gemm" : "relu",
                     HOST, host);
    }
}

UNIT_TEST(a_long_run_in_windows_adds_up_to_the_whole)
{
    scene x = { .s = story_begin() };
    put_long_run(&x, 210000);
    story_open(&x.s, &x.job, false);
    summary_figures whole;
    assert_true(summary_open(&x.f, &x.job));
    assert_true(x.f.windows > 1);
    x.job.private->uses_graph = true;
    assert_true(summary_open(&whole, &x.job));
    assert_int_equal(0, whole.windows);
    const ts_timeline_figures *const a = x.f.total, *const b = whole.total;
    assert_int_equal(b->busy_ns, a->busy_ns);
    assert_int_equal(b->idle_ns, a->idle_ns);
    assert_int_equal(b->operations, a->operations);
    assert_int_equal(b->start_ns, a->start_ns);
    assert_int_equal(b->end_ns, a->end_ns);
    int64_t idle = 0;
    for (int i = 0; i < TS_WORK_LIMIT; i++)
        assert_int_equal(b->only_ns[i], a->only_ns[i]);
    for (int i = 0; i < TS_IDLE_LIMIT; i++)
        idle += a->cause_ns[i];
    assert_int_equal(a->idle_ns, idle);
    summary_close(&whole);
    REPORT(x.s.path, "summary");
    close_scene(&x);
}

UNIT_TEST(a_trace_without_devices_says_what_there_is)
{
    scene x = { .s = story_begin() };
    story_zone(&x.s, HOST, 0, 100, "step");
    story_open(&x.s, &x.job, false);
    assert_false(summary_open(&x.f, &x.job));
    report *const r = report_open();
    assert_true(analyze_run(&x.job, "summary,kernels,copies,api,zones", r));
    const report_section *s = r->sections;
    assert_memory_equal("A host-only program: 1 zone of 1 name on 2 threads",
                        s->answer.text, 50);
    assert_non_null(strstr(s->answer.text, "Zone 'step' takes the largest"));
    for (s = s->next; strcmp(s->name, "zones") != 0; s = s->next)
        assert_true(s->not_applicable);
    assert_false(s->not_applicable);
    report_close(r);
    REPORT(x.s.path, "summary");
    close_scene(&x);
}

/*
    Cut out of a running program, times in us. Ten operations that were launched
    before run from 151,000 on; the calls are for what comes after these, and
    for what comes after the record.
*/
enum { CUT_AT = 151000, CUT_QUEUED = 10, CUT_LAUNCHED = 15, CUT_CALLS = 30 };

static void put_cut(scene *x)
{
    for (int i = 0; i < CUT_QUEUED; i++) {
        x->s.correlation = (uint64_t)i + 1;
        story_operation(&x->s, TS_EVENT_KERNEL, S0, (CUT_AT + 10 * i) * 1000,
                        (CUT_AT + 10 * (i + 1)) * 1000 - 20, "gemm", HOST, 0);
    }
    x->s.correlation = 100;
    for (int i = 0; i < CUT_CALLS; i++) {
        const int64_t at = (CUT_AT + 10 * (i + CUT_QUEUED)) * 1000;
        story_call(&x->s, HOST, 8000 * i, "launch");
        if (i < CUT_LAUNCHED)
            story_operation(&x->s, TS_EVENT_KERNEL, S0, at, at + 9980, "gemm",
                            HOST, 0);
    }
}

static const report_figure_line *figure_of(const report_section *s,
                                           const char *key)
{
    for (size_t i = 0; i < s->figure_count; i++)
        if (!strcmp(s->figures[i].key, key)) return &s->figures[i];
    fail_msg("no figure %s", key);
    return NULL;
}

UNIT_TEST(a_span_begins_with_the_first_work)
{
    scene x = { .s = story_begin() };
    put_cut(&x);
    story_open(&x.s, &x.job, false);
    report *const r = report_open();
    assert_true(analyze_run(&x.job, "summary,idle,overlap,path", r));
    assert_int_equal(0, r->window.from_ns);
    assert_int_equal(CUT_AT * 1000, r->window.work_from_ns);
    const report_section *s = r->sections;
    assert_int_equal(250 * 1000 - 20,
                     figure_of(s, "duration_ns")->value.number);
    assert_int_equal(25 * 9980, figure_of(s, "busy_ns")->value.number);
    assert_int_equal(24 * 20, figure_of(s, "idle_ns")->value.number);
    assert_int_equal(CUT_QUEUED, figure_of(s, "queued_before")->value.number);
    assert_int_equal(CUT_CALLS - CUT_LAUNCHED,
                     figure_of(s, "calls_outside")->value.number);
    assert_string_equal("no", figure_of(s, "launch_bound")->value.text.text);
    assert_non_null(strstr(s->answer.text, "busy 99.8 % of the time"));
    assert_non_null(
        strstr(s->answer.text, "10 of the 25 operations were launched before"));
    assert_non_null(strstr(s->answer.text, "15 calls are not included"));
    for (; s; s = s->next)
        assert_true(!s->trusted || s->confidence != REPORT_HIGH);
    report_close(r);
    REPORT(x.s.path, "summary");
    close_scene(&x);
}

// Launches that a stream capture puts into a graph have no work of their own:
// it runs when the graph does. The same launches outside of one are missing.
static uint64_t outside_after(bool captured)
{
    scene x = { .s = story_begin() };
    for (int i = 0; i < CUT_LAUNCHED; i++) {
        const int64_t at = CUT_AT * 1000 + i * 1000;
        story_call(&x.s, HOST, i * 1000, "cudaLaunchKernel");
        story_operation(&x.s, TS_EVENT_KERNEL, S0, at, at + 900, "gemm", HOST,
                        0);
    }
    if (captured) story_call(&x.s, HOST, 50000, "cudaStreamBeginCapture_v10");
    for (int i = 0; i < 4; i++)
        story_call(&x.s, HOST, 51000 + i * 1000, "cudaLaunchKernel");
    story_call(&x.s, HOST, 60000, "cudaStreamEndCapture");
    story_call(&x.s, HOST, 61000, "cudaLaunchKernel");
    story_open(&x.s, &x.job, false);
    const uint64_t outside = analyze_cut(&x.job)->outside;
    if (captured) REPORT(x.s.path, "summary");
    close_scene(&x);
    return outside;
}

UNIT_TEST(launches_into_a_graph_have_no_work)
{
    assert_int_equal(1, outside_after(true));
    assert_int_equal(5, outside_after(false));
}

/*
    Rounds of 100 us, of which `part` us are what the run is to be bound by and
    a kernel takes the rest. Nothing comes after the last kernel, so that the
    share is 19 * part of 2,000 - part: 22 are 21.1 %, and 20 are 19.2 %.
*/
static void put_rounds(scene *x, bound which, int64_t part)
{
    enum { ROUNDS = 20, US = 1000 };
    for (int64_t i = 0; i < ROUNDS; i++) {
        const int64_t at = 1000 * US + 100 * US * i, next = at + 100 * US;
        const int64_t ends = next - part * US;
        // Each but the first is launched at the end of the round before.
        const bool late = which == BOUND_LAUNCH || which == BOUND_HOST;
        const int64_t long_ns = which == BOUND_LAUNCH ? part * US - 1 : 100;
        const ts_writer_value call[] = {
            { TS_COLUMN_NAME, story_name(&x->s, "launch") },
            { TS_COLUMN_CORRELATION, ++x->s.correlation },
        };
        ts_writer_event(x->s.writer, TS_EVENT_API_CALL, HOST,
                        late && i ? at - long_ns : i * 200,
                        late && i ? long_ns : 100, call, 2);
        story_operation(&x->s, TS_EVENT_KERNEL, S0, at, ends, "gemm", HOST, 0);
        if (i + 1 == ROUNDS) break;
        if (which == BOUND_HOST)
            story_zone(&x->s, HOST, ends, next - 1000, "resize");
        if (late) continue;
        story_call(&x->s, HOST, i * 200 + 150, "copy");
        story_operation(
            &x->s, which == BOUND_COPY ? TS_EVENT_MEMCPY : TS_EVENT_COLLECTIVE,
            S0, ends, next, "part", HOST, 0);
    }
}

UNIT_TEST(a_run_is_bound_by_what_costs_a_fifth)
{
    static const char *const keys[BOUND_LIMIT] = { "launch_bound", "host_bound",
                                                   "copy_bound",
                                                   "communication_bound" };
    for (int which = 0; which < BOUND_LIMIT; which++)
        for (int64_t part = 20; part <= 22; part += 2) {
            scene x = { .s = story_begin() };
            put_rounds(&x, (bound)which, part);
            story_open(&x.s, &x.job, false);
            report *const r = report_open();
            assert_true(analyze_run(&x.job, "summary", r));
            const report_section *const s = r->sections;
            for (int i = 0; i < BOUND_LIMIT; i++)
                assert_string_equal(i == which && part == 22 ? "yes" : "no",
                                    figure_of(s, keys[i])->value.text.text);
            char said[40];
            snprintf(said, sizeof said, "It is %s", bound_name((bound)which));
            assert_int_equal(part == 22, strstr(s->answer.text, said) != NULL);
            assert_int_equal(part == 20, strstr(s->answer.text,
                                                "It is not bound by") != NULL);
            assert_non_null(
                strstr(s->answer.text, " before the first operation, 0 ns "));
            // The host's part ends in what it did.
            assert_int_equal(which == BOUND_HOST && part == 22,
                             strstr(s->answer.text, "'resize'") != NULL);
            report_close(r);
            REPORT(x.s.path, "summary");
            close_scene(&x);
        }
}

// Launches of 3 ms do more than launch: fewer of them would be no help.
UNIT_TEST(launches_that_load_code_are_the_hosts)
{
    enum { MS = 1000000 };
    scene x = { .s = story_begin() };
    for (int64_t i = 0; i < 10; i++) {
        const ts_writer_value call[] = {
            { TS_COLUMN_NAME, story_name(&x.s, "launch") },
            { TS_COLUMN_CORRELATION, ++x.s.correlation },
        };
        ts_writer_event(x.s.writer, TS_EVENT_API_CALL, HOST, (10 * i + 7) * MS,
                        3 * MS, call, 2);
        story_operation(&x.s, TS_EVENT_KERNEL, S0, (10 * i + 10) * MS,
                        (10 * i + 17) * MS, "gemm", HOST, 0);
    }
    story_open(&x.s, &x.job, false);
    report *const r = report_open();
    assert_true(analyze_run(&x.job, "summary", r));
    const report_section *const s = r->sections;
    assert_string_equal("no", figure_of(s, "launch_bound")->value.text.text);
    assert_string_equal("yes", figure_of(s, "host_bound")->value.text.text);
    assert_non_null(strstr(s->answer.text, "Most of that is first launches"));
    // 3 ms of 100 before the first operation are not worth a sentence.
    assert_null(strstr(s->answer.text, "no device was busy"));
    report_close(r);
    REPORT(x.s.path, "summary");
    close_scene(&x);
}

// A second part of a fifth has its share, and is named as what comes next.
UNIT_TEST(the_next_part_that_is_large_is_named)
{
    enum { US = 1000 };
    scene x = { .s = story_begin() };
    for (int64_t i = 0; i < 10; i++) {
        const int64_t at = 1000 * US + 100 * US * i;
        story_call(&x.s, HOST, i * 600, "launch");
        story_operation(&x.s, TS_EVENT_KERNEL, S0, at, at + 20 * US, "gemm",
                        HOST, 0);
        story_call(&x.s, HOST, i * 600 + 200, "copy");
        story_operation(&x.s, TS_EVENT_MEMCPY, S0, at + 20 * US, at + 65 * US,
                        "part", HOST, 0);
        story_call(&x.s, HOST, i * 600 + 400, "gather");
        story_operation(&x.s, TS_EVENT_COLLECTIVE, S0, at + 65 * US,
                        at + 100 * US, "part", HOST, 0);
    }
    story_open(&x.s, &x.job, false);
    report *const r = report_open();
    assert_true(analyze_run(&x.job, "summary", r));
    const report_section *const s = r->sections;
    const report_value copy = figure_of(s, "copy_share")->value;
    const report_value other = figure_of(s, "communication_share")->value;
    assert_int_equal(450 * US, copy.number);
    assert_int_equal(350 * US, other.number);
    assert_int_equal(1000 * US, other.of);
    assert_string_equal("no",
                        figure_of(s, "communication_bound")->value.text.text);
    assert_non_null(strstr(s->answer.text, "It is copy-bound"));
    assert_non_null(strstr(s->answer.text, "largest part: for another "
                                           "35.0 % of the time communication"));
    report_close(r);
    REPORT(x.s.path, "summary");
    close_scene(&x);
}

// One that has all its calls and all its work is cut nowhere.
UNIT_TEST(a_whole_program_is_not_cut)
{
    scene x = { .s = story_begin() };
    put_run(&x);
    story_open(&x.s, &x.job, false);
    const cut_figures *const cut = analyze_cut(&x.job);
    assert_int_equal(3, cut->operations);
    assert_int_equal(3, cut->launches);
    assert_int_equal(0, cut->queued);
    assert_int_equal(0, cut->outside);
    assert_int_equal(1, cut->running); // relu, after its launch
    assert_int_equal(24, cut->running_ns);
    assert_false(cut_weighs(cut));
    REPORT(x.s.path, "summary");
    close_scene(&x);
}

UNIT_TEST(losses_lower_every_trust)
{
    scene x = { .s = story_begin() };
    put_run(&x);
    ts_writer_loss(x.s.writer, S0, TS_LOSS_RING_FULL, 0, 12, 30, 40);
    story_open(&x.s, &x.job, false);
    report *const r = report_open();
    assert_true(analyze_run(&x.job, "summary,kernels", r));
    assert_non_null(strstr(r->losses->text.text, "12 records were lost"));
    for (const report_section *s = r->sections; s; s = s->next)
        assert_int_equal(REPORT_MEDIUM, s->confidence);
    const report_table *const t = r->sections->tables;
    assert_string_equal("losses", t->key);
    assert_int_equal(1, t->row_count);
    assert_string_equal("stream 1 on GPU 0", t->values[0].text.text);
    assert_int_equal(12, t->values[2].number);
    assert_int_equal(30, t->values[4].number);
    report_close(r);
    REPORT(x.s.path, "summary");
    close_scene(&x);
}

// An importer made the times up: no figure of them is sure.
UNIT_TEST(times_that_no_source_has_lower_every_trust)
{
    scene x = { .s = story_begin() };
    put_run(&x);
    ts_writer_metadata(x.s.writer, 0, "chakra.times", TS_VALUE_TEXT,
                       story_name(&x.s, "estimated"));
    story_open(&x.s, &x.job, false);
    report *const r = report_open();
    assert_true(analyze_run(&x.job, "summary,idle,kernels,sync", r));
    size_t answers = 0;
    for (const report_section *s = r->sections; s; s = s->next) {
        if (s->not_applicable) continue;
        assert_int_equal(REPORT_LOW, s->confidence);
        answers++;
    }
    assert_true(answers >= 3);
    report_close(r);
    REPORT(x.s.path, "summary");
    close_scene(&x);
}

// Of a part by zone or stream other work of a device is not there: it looks
// idle. Of a part by time all of it is.
UNIT_TEST(a_part_of_the_work_is_no_sure_answer)
{
    const char *const parts[] = { "--from 5ns --zone a*", "--stream 7",
                                  "--from 5ns --device 0" };
    for (int i = 0; i < 3; i++) {
        scene x = { .s = story_begin() };
        put_run(&x);
        ts_writer_metadata(x.s.writer, 0, "cut.what", TS_VALUE_TEXT,
                           story_name(&x.s, parts[i]));
        story_open(&x.s, &x.job, false);
        report *const r = report_open();
        assert_true(analyze_run(&x.job, "summary,kernels", r));
        assert_int_equal(i < 2 ? REPORT_LOW : REPORT_HIGH,
                         r->sections->confidence);
        assert_int_equal(REPORT_HIGH, r->sections->next->confidence);
        report_close(r);
        REPORT(x.s.path, "summary");
        close_scene(&x);
    }
}

UNIT_TEST(topics_and_settings_must_be_known)
{
    scene x = { .s = story_begin() };
    put_run(&x);
    story_open(&x.s, &x.job, false);
    report *const r = report_open();
    assert_false(analyze_run(&x.job, "summary,nothing", r));
    report_close(r);
    assert_int_equal(2000, analyze_set(&x.job, "summary.bound-share"));
    close_scene(&x);
    cli_list sets = { { "summary.bound-share=12.5%" }, 1 };
    const char *const bad[] = { "x=1",
                                "summary.bound-share",
                                "summary.bound-share=5",
                                "summary.bound-share=%",
                                "pageable-copy.rate=12GiB",
                                "pageable-copy.rate=12/s",
                                "pageable-copy.rate=0 B/s" };
    char none[] = "/nowhere";
    char *path = none;
    analyze_job job = { .tool = &story_tool, .options = { .sets = &sets } };
    assert_false(analyze_open(&job, &path, 1)); // only the file is missing
    assert_int_equal(1250, analyze_set(&job, "summary.bound-share"));
    analyze_close(&job);
    sets.items[0] = "pageable-copy.rate=12.5 GB/s";
    assert_false(analyze_open(&job, &path, 1));
    assert_int_equal(INT64_C(12500000000),
                     analyze_set(&job, "pageable-copy.rate"));
    analyze_close(&job);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sets.items[0] = bad[i];
        assert_false(analyze_open(&job, &path, 0));
        analyze_close(&job);
    }
}

UNIT_TEST(copies_of_one_kind_of_memory_are_said_to_be)
{
    scene x = { .s = story_begin() };
    for (int i = 0; i < 2; i++) {
        const ts_writer_value values[] = {
            { TS_COLUMN_CORRELATION, ++x.s.correlation },
            { TS_COLUMN_TYPE, 1 },
            { TS_COLUMN_SIZE, 4096 },
            { TS_COLUMN_MEMORY, 1 | 3 << 4 },
        };
        ts_writer_event(x.s.writer, TS_EVENT_MEMCPY, S0, 1000 * i, 500, values,
                        4);
    }
    story_write(&x.s);
    REPORT(x.s.path, "copies,summary");
    story_end(&x.s);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
