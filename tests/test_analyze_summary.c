/*
    test_analyze_summary.c - a run as a whole, summed by hand
*/
#include "tests/story_analyze.h"
#include "tools/analyze/analyze_private.h"
#include "tools/analyze/calc_summary.h"

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
    Device 0 is busy [10, 60) and [105, 125): 70 of 125; it idles [0, 10), the
    way of the first launch, and [60, 105), for a launch at 100.
*/
static void put_run(scene *x)
{
    story_kernel(&x->s, S0, 10, 50, "gemm", HOST, 0);
    story_call(&x->s, HOST, 20, "copy");
    story_operation(&x->s, TS_EVENT_MEMCPY, S1, 40, 60, NULL, HOST, 0);
    story_kernel(&x->s, S0, 105, 125, "relu", HOST, 100);
}

static void a_small_run_adds_up(void **state)
{
    (void)state;
    scene x = { .s = story_begin() };
    put_run(&x);
    story_open(&x.s, &x.job, false);
    assert_true(summary_open(&x.f, &x.job));
    assert_int_equal(0, x.f.windows);
    assert_int_equal(1, x.f.device_count);
    const ts_timeline_figures *const f = x.f.total;
    assert_int_equal(70, f->busy_ns);
    assert_int_equal(55, f->idle_ns);
    assert_int_equal(60, f->work_ns[TS_WORK_KERNEL]);
    assert_int_equal(20, f->work_ns[TS_WORK_COPY]);
    assert_int_equal(10, f->only_ns[TS_WORK_COPY]);
    assert_int_equal(55, x.f.level_ns[0]);
    assert_int_equal(60, x.f.level_ns[1]);
    assert_int_equal(10, x.f.level_ns[2]);
    assert_int_equal(60, x.f.longest[TS_IDLE_HOST_LATE].start_ns);
    assert_int_equal(105, x.f.longest[TS_IDLE_HOST_LATE].end_ns);
    int64_t parts[SUMMARY_BOUNDS], sum = 0;
    assert_int_equal(SUMMARY_KERNELS, summary_parts(f, parts));
    for (int i = 0; i < SUMMARY_BOUNDS; i++)
        sum += parts[i];
    assert_int_equal(125, sum);
    assert_int_equal(45, parts[SUMMARY_HOST]);
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

static void a_long_run_in_windows_adds_up_to_the_whole(void **state)
{
    (void)state;
    scene x = { .s = story_begin() };
    put_long_run(&x, 210000);
    story_open(&x.s, &x.job, false);
    summary_figures whole;
    assert_true(summary_open(&x.f, &x.job));
    assert_true(x.f.windows > 1);
    x.job.private->wants_graph = true;
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
    close_scene(&x);
}

static void a_trace_without_devices_says_what_there_is(void **state)
{
    (void)state;
    scene x = { .s = story_begin() };
    story_zone(&x.s, HOST, 0, 100, "step");
    story_open(&x.s, &x.job, false);
    assert_false(summary_open(&x.f, &x.job));
    report *const r = report_open();
    assert_true(analyze_ask(&x.job, "summary,kernels,copies,api,zones", r));
    const report_section *s = r->sections;
    assert_non_null(strstr(s->answer.text, "1 zones"));
    for (s = s->next; strcmp(s->name, "zones") != 0; s = s->next)
        assert_true(s->not_applicable);
    assert_false(s->not_applicable);
    report_close(r);
    close_scene(&x);
}

static void losses_lower_every_trust(void **state)
{
    (void)state;
    scene x = { .s = story_begin() };
    put_run(&x);
    ts_writer_loss(x.s.writer, S0, TS_LOSS_RING_FULL, 0, 12, 30, 40);
    story_open(&x.s, &x.job, false);
    report *const r = report_open();
    assert_true(analyze_ask(&x.job, "summary,kernels", r));
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
    close_scene(&x);
}

static void questions_and_settings_must_be_known(void **state)
{
    (void)state;
    scene x = { .s = story_begin() };
    put_run(&x);
    story_open(&x.s, &x.job, false);
    report *const r = report_open();
    assert_false(analyze_ask(&x.job, "summary,nothing", r));
    report_close(r);
    assert_int_equal(2000, analyze_set(&x.job, "summary.launch-share"));
    close_scene(&x);
    cli_list sets = { { "summary.launch-share=12.5%" }, 1 };
    const char *const bad[] = { "x=1", "summary.launch-share",
                                "summary.launch-share=5",
                                "summary.launch-share=%" };
    char none[] = "/nowhere";
    char *path = none;
    analyze_job job = { .tool = &story_tool, .options = { .sets = &sets } };
    assert_false(analyze_open(&job, &path, 1)); // only the file is missing
    assert_int_equal(1250, analyze_set(&job, "summary.launch-share"));
    analyze_close(&job);
    for (size_t i = 0; i < 4; i++) {
        sets.items[0] = bad[i];
        assert_false(analyze_open(&job, &path, 0));
        analyze_close(&job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_run_adds_up),
        cmocka_unit_test(a_long_run_in_windows_adds_up_to_the_whole),
        cmocka_unit_test(a_trace_without_devices_says_what_there_is),
        cmocka_unit_test(losses_lower_every_trust),
        cmocka_unit_test(questions_and_settings_must_be_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
