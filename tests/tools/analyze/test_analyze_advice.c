/*
    test_analyze_advice.c - advice as a whole: what it says first, what it
    leaves out, and that its catalogue is complete
*/
#include "tests/tools/analyze/advice_fixture.h"
#include "tools/analyze/advice/advice.h"
#include "tools/analyze/report/parts.h"

extern const analyze_topic topic_advice;

// The advice on a scene.
static report_section *topic_of(advised *x, advice_scene scene, const char *set,
                                report **r)
{
    memset(x, 0, sizeof *x);
    made_begin(&x->files[0], 0);
    x->count = 1;
    scene(&x->files[0], true);
    advised_open(x, set);
    *r = report_open();
    assert_non_null(*r);
    assert_true(topic_advice.fill(&x->job, *r));
    assert_false(report_failed(*r));
    return (*r)->sections;
}

static void close_all(advised *x, report *r)
{
    report_close(r);
    analyze_close(&x->job);
    unlink(x->files[0].path);
}

// Kernels of 100 us that follow each other, on two devices: nothing is wrong
// with that.
static void clean(made *m, bool bad)
{
    static const char *const names[] = { "a", "b", "c", "d", "e", "f",
                                         "g", "h", "i", "j", "k", "l" };
    for (int64_t i = 0; i < 12; i++) {
        call_at(m, HOST, "cudaLaunchKernel", 4 * i, 4 * i + 1);
        kernel_at(m, S0, names[i], 6 + 101 * i, 106 + 101 * i);
        call_at(m, HOST, "cudaLaunchKernel", 4 * i + 2, 4 * i + 3);
        kernel_at(m, T0, names[i], 8 + 101 * i, 108 + 101 * i);
    }
}

UNIT_TEST(a_clean_trace_says_so)
{
    advised x;
    report *r;
    const report_section *const s = topic_of(&x, clean, NULL, &r);
    assert_int_equal(0, s->finding_count);
    static const char said[] = "No finding: none of 52 rules applies.";
    assert_memory_equal(said, s->answer.text, sizeof said - 1);
    ADVICE(&x);
    close_all(&x, r);
}

// The host holds the device up: 12 us of 20 in a zone, calls of 4 us.
static void slow_host(made *m, bool bad)
{
    for (int64_t i = 0; i < 120; i++) {
        launch_at(m, "k", 20 * i, 2);
        zone_at(m, HOST, "prepare", 20 * i + 6, 20 * i + 18);
    }
}

UNIT_TEST(the_largest_gain_comes_first)
{
    advised x;
    report *r;
    const report_section *const s = topic_of(&x, slow_host, NULL, &r);
    assert_true(s->finding_count >= 4);
    int64_t gain = INT64_MAX;
    bool gains = true;
    for (size_t i = 0; i < s->finding_count; i++) {
        const report_finding *const f = &s->findings[i];
        assert_true(gains || !f->has_gain);
        gains = f->has_gain;
        if (f->has_gain) { // what rests on an assumed speed-up likewise
            assert_true(f->gain_ns <= gain && f->gain_ns > 0);
            gain = f->gain_ns;
        }
        assert_true(f->evidence.has_time && f->what.size && f->todo.size);
        assert_int_equal((119 * 20 + 2) * US, f->of_ns);
    }
    // A graph takes all that the host does in all but the first two launches.
    assert_string_equal("graph-capture", s->findings[0].id);
    ADVICE(&x);
    close_all(&x, r);
}

UNIT_TEST(small_gains_are_left_out)
{
    advised x;
    report *r;
    const report_section *s =
        topic_of(&x, slow_host, "advice.min-gain=99%", &r);
    for (size_t i = 0; i < s->finding_count; i++)
        assert_false(s->findings[i].has_gain);
    ADVICE(&x);
    close_all(&x, r);
}

// All the while another device computes.
static void hidden_host(made *m, bool bad)
{
    slow_host(m, bad);
    kernel_at(m, T0, "long", 1, 120 * 20);
}

UNIT_TEST(what_gains_nothing_is_left_out_whatever_the_threshold)
{
    advised x;
    report *r;
    const report_section *s =
        topic_of(&x, hidden_host, "advice.min-gain=0%", &r);
    assert_true(s->finding_count > 0);
    for (size_t i = 0; i < s->finding_count; i++)
        assert_true(!s->findings[i].has_gain || s->findings[i].gain_ns > 0);
    ADVICE(&x);
    close_all(&x, r);
}

UNIT_TEST(without_runs_no_gain_is_claimed)
{
    advised x;
    report *r;
    const report_section *s = topic_of(&x, slow_host, "advice.runs=1", &r);
    size_t gains = 0, said = 0;
    for (size_t i = 0; i < s->finding_count; i++) {
        gains += s->findings[i].has_gain;
        said += strstr(s->findings[i].how.text, "advice.runs") != NULL;
    }
    assert_int_equal(1, gains);
    assert_true(said >= 2);
    ADVICE(&x);
    close_all(&x, r);
}

static void no_work(made *m, bool bad)
{
    zone_at(m, HOST, "alone", 0, 10);
}

UNIT_TEST(a_trace_without_work_gets_no_advice)
{
    advised x;
    report *r;
    const report_section *const s = topic_of(&x, no_work, NULL, &r);
    assert_true(s->not_applicable);
    assert_int_equal(0, s->finding_count);
    ADVICE(&x);
    close_all(&x, r);
}

// Operations that wait for each other: there is no run to compare with.
UNIT_TEST(a_cycle_gains_nothing)
{
    char *path = "tests/cli/replay-circle.sbt";
    analyze_job job = { .tool = &advice_tool };
    report *const r = report_open();
    assert_true(analyze_open(&job, &path, 1));
    assert_true(topic_advice.fill(&job, r));
    const report_section *const s = r->sections;
    bool said = false;
    for (size_t i = 0; i < s->finding_count; i++) {
        assert_false(s->findings[i].has_gain);
        said |= !strcmp("model-error", s->findings[i].id);
    }
    assert_true(said);
    assert_non_null(strstr(s->answer.text, "in a cycle"));
    report_close(r);
    analyze_close(&job);
}

/* ---- The catalogue ------------------------------------------------------ */

static char *read_page(void)
{
    FILE *const file = fopen("docs/advice.md", "r");
    enum { ROOM = 1 << 18 };
    char *const page = calloc(ROOM + 1, 1);
    assert_non_null(file);
    assert_non_null(page);
    assert_true(fread(page, 1, ROOM, file) < ROOM);
    fclose(file);
    return page;
}

UNIT_TEST(each_rule_stands_in_the_catalogue)
{
    char *const page = read_page();
    size_t rules = 0;
    for (const advice_rule *rule = advice_rules; rule->id; rule++) {
        const cli_text head = cli_format("\n### %s\n", rule->id);
        if (!strstr(page, head.s)) fail_msg("%s is not described", rule->id);
        for (const advice_rule *k = advice_rules; k != rule; k++)
            assert_string_not_equal(k->id, rule->id);
        assert_true(*rule->about && *rule->gain && *rule->family);
        rules++;
    }
    assert_true(rules >= 25);
    size_t heads = 0;
    for (const char *at = page; (at = strstr(at, "\n### ")) != NULL; at++)
        heads++;
    assert_int_equal(rules, heads);
    free(page);
}

// Every threshold belongs to a rule, and stands in its part of the page.
UNIT_TEST(each_threshold_stands_there_too)
{
    char *const page = read_page();
    for (const analyze_setting *s = advice_settings; s->key; s++) {
        const char *const dot = strchr(s->key, '.');
        assert_non_null(dot);
        const int size = (int)(dot - s->key);
        const char *part =
            strstr(page, cli_format("\n### %.*s\n", size, s->key).s);
        if (!strncmp(s->key, "advice.", 7)) part = page;
        if (!part) fail_msg("%s: no such rule", s->key);
        const char *const word =
            part == page ? strstr(page, cli_format("`%s`", s->key).s)
                         : strstr(part, cli_format("`%s`", dot + 1).s);
        const char *const next = strstr(part + 1, "\n### ");
        if (!word || (next && part != page && word > next))
            fail_msg("%s is not described", s->key);
    }
    free(page);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
