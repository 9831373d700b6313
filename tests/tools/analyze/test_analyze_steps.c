/*
    test_analyze_steps.c - loops in sequences, and steps that are slow
*/
#include "tests/tools/analyze/time_fixture.h"
#include "tools/analyze/job/private.h"
#include "tools/analyze/figures/time/period.h"
#include "tools/analyze/figures/time/steps.h"

/* ---- Loops --------------------------------------------------------------- */

// Letters as tokens; a weight before each token that is a capital.
static period find(const char *text)
{
    uint32_t tokens[4096];
    int64_t weights[4096];
    const size_t count = strlen(text);
    period p;
    assert_true(count <= 4096);
    for (size_t i = 0; i < count; i++) {
        tokens[i] = (uint32_t)(unsigned char)text[i];
        weights[i] = text[i] >= 'A' && text[i] <= 'Z' ? 100 : 1;
    }
    assert_true(period_find(&p, tokens, weights, count, 256));
    return p;
}

UNIT_TEST(a_loop_is_found_behind_a_prologue)
{
    period p = find("xyzxqrstAbcdeAbcdeAbcdeAbcdefin");
    assert_int_equal(4, p.count);
    assert_int_equal(5, p.length);
    assert_int_equal(1000, p.likeness);
    assert_int_equal(8, p.starts[0]);
    assert_int_equal(23, p.starts[3]);
    assert_int_equal(28, p.starts[4]); // the end is not in it
    period_close(&p);
}

UNIT_TEST(the_outermost_loop_is_the_one)
{
    // Three steps of six layers each.
    period p = find("Sabcabcabcabcabcabcen"
                    "Sabcabcabcabcabcabcen"
                    "Sabcabcabcabcabcabcen");
    assert_int_equal(3, p.count);
    assert_int_equal(21, p.length);
    assert_int_equal(0, p.starts[0]);
    assert_int_equal(63, p.starts[3]);
    period_close(&p);
    // One step: its layers are all that repeats.
    p = find("Sabcabcabcabcabcabcen");
    assert_int_equal(6, p.count);
    assert_int_equal(3, p.length);
    period_close(&p);
}

UNIT_TEST(iterations_may_differ_a_little)
{
    period p = find("AbcdefghijAbcdefghijAbcdXefghijAbcdefghijAbcefghijAb");
    assert_int_equal(5, p.count);
    assert_int_equal(10, p.length);
    assert_int_equal(20, p.starts[2]);
    assert_int_equal(31, p.starts[3]);
    assert_int_equal(50, p.starts[5]); // the sixth is not whole
    period_close(&p);
}

UNIT_TEST(an_iteration_begins_where_the_pauses_are)
{
    period p = find("deAbcdeAbcdeAbcdeAbcdeAbcde");
    assert_int_equal(5, p.count);
    assert_int_equal(2, p.starts[0]);
    period_close(&p);
    // Far into what was found first, and then to both ends.
    p = find("bcdeZabcdeZabcdeZabcdeZabcdeZabcde");
    assert_int_equal(5, p.count);
    assert_int_equal(4, p.starts[0]);
    assert_int_equal(34, p.starts[5]);
    period_close(&p);
}

// Four of five have to agree on what comes after the pause.
UNIT_TEST(one_iteration_of_five_may_begin_with_something_else)
{
    period p = find("AbcdxbcdAbcdAbcdAbcd");
    assert_int_equal(5, p.count);
    assert_int_equal(0, p.starts[0]);
    period_close(&p);
}

UNIT_TEST(what_does_not_repeat_is_no_loop)
{
    const char *const none[] = { "",
                                 "a",
                                 "ab",
                                 "abab", // twice is not enough
                                 "abcdefghijklmnopqrstuvwxyz",
                                 "aaxbcdybefgcaahijxkylmbb" };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        period p = find(none[i]);
        assert_int_equal(0, p.count);
        period_close(&p);
    }
}

// Whatever there is, turns are in order and within the sequence.
UNIT_TEST(random_sequences_have_iterations_in_order)
{
    enum { COUNT = 1000 };
    uint32_t tokens[COUNT];
    int64_t weights[COUNT];
    uint64_t seed = 1;
    size_t found = 0;
    for (size_t round = 0; round < 300; round++) {
        const size_t count = 20 + round * 3, length = 1 + round % 23;
        for (size_t i = 0; i < count; i++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            const bool odd = seed >> 60 == 0; // one in sixteen
            tokens[i] = (uint32_t)(odd ? seed >> 33 : i % length * 7) % 29;
            weights[i] = (int64_t)(seed >> 40 & 63);
        }
        period p;
        assert_true(
            period_find(&p, tokens, round % 3 ? weights : NULL, count, 29));
        for (size_t i = 0; i < p.count; i++) {
            assert_true(p.starts[i] < p.starts[i + 1]);
            assert_true(p.starts[i + 1] <= count);
        }
        found += p.count > 0;
        period_close(&p);
    }
    assert_true(found > 200);
}

/* ---- Steps --------------------------------------------------------------- */

/*
    Ten steps of 1,000 ns: kernels a (100 ns), b (200 ns) and c (30 ns) in a
    row, 100 after the beginning. In step 6 b takes 400 longer, before step 8
    the host pauses for 500 more.
*/
enum { STEPS = 10 };
static void make_steps(made *m, bool mark)
{
    int64_t at = 1000;
    made_begin(m, 0);
    made_launch(m, S0, "first", 0, 10, 50);
    for (int i = 0; i < STEPS; i++) {
        const int64_t longer = i == 6 ? 400 : 0;
        if (i == 8) at += 500;
        const int64_t begin = at;
        made_launch(m, S0, "a", at + 90, at + 100, at + 200);
        made_launch(m, S0, "b", at + 110, at + 200, at + 400 + longer);
        made_launch(m, S0, "c", at + 120, at + 400 + longer, at + 430 + longer);
        at += 1000 + longer;
        char name[32];
        snprintf(name, sizeof name, "ProfilerStep#%d", i);
        if (mark) made_zone(m, HOST, name, begin + 80, at);
    }
    made_open(m);
}

UNIT_TEST(steps_are_found_and_slow_ones_explained)
{
    made m;
    steps_result r;
    make_steps(&m, false);
    assert_true(steps_open(&r, m.replay, m.timeline, &m.names));
    assert_false(r.marked);
    assert_int_equal(STEPS, r.count);
    assert_int_equal(S0, r.stream);
    assert_int_equal(3, r.length);
    assert_int_equal(1000, r.median_ns);
    assert_int_equal(0, r.deviation_ns);
    assert_int_equal(50, r.limit_ns);
    for (size_t i = 0; i < r.count; i++) {
        const steps_step *const s = &r.steps[i];
        int64_t sum = s->busy_ns;
        for (int c = 0; c < TS_IDLE_LIMIT; c++)
            sum += s->cause_ns[c];
        assert_int_equal(s->end_ns - s->start_ns, sum);
        if (i) assert_int_equal(r.steps[i - 1].end_ns, s->start_ns);
        // Before the first the pause is longer, too: from 50 to 1,100.
        assert_int_equal(i == 0 || i == 6 || i == 8, s->slow);
        assert_int_equal(3, s->operations);
    }
    assert_int_equal(400, r.steps[6].excess.work_ns);
    assert_int_equal(made_group(&m, "b"), r.steps[6].excess.group);
    assert_int_equal(500, r.steps[8].excess.idle_ns);
    assert_int_equal(TS_IDLE_HOST_LATE, r.steps[8].excess.cause);
    assert_int_equal(TS_NODE_NONE, r.of[0]); // before the steps
    assert_int_equal(0, r.of[1]);
    assert_int_equal(STEPS - 1, r.of[3 * STEPS]);
    steps_close(&r);
    REPORT(m.path, "steps");
    made_close(&m);
}

// Fewer than three are no steps, and the answer knows that they are there.
UNIT_TEST(two_marks_are_too_few)
{
    made m;
    steps_result r;
    made_begin(&m, 0);
    made_zone(&m, HOST, "ProfilerStep#1", 0, 100);
    made_launch(&m, S0, "a", 10, 20, 50);
    made_zone(&m, HOST, "ProfilerStep#2", 100, 200);
    made_launch(&m, S0, "b", 110, 120, 150);
    made_open(&m);
    assert_true(steps_open(&r, m.replay, m.timeline, &m.names));
    assert_int_equal(0, r.count);
    assert_int_equal(2, r.few);
    steps_close(&r);
    static const cli_tool tool = { .name = "test" };
    char *path = m.path;
    analyze_job job = { .tool = &tool };
    report *const found = report_open();
    assert_true(analyze_open(&job, &path, 1));
    assert_true(analyze_run(&job, "steps", found));
    assert_non_null(strstr(found->sections->answer.text,
                           "Only 2 steps are marked, but at least three"));
    report_close(found);
    analyze_close(&job);
    REPORT(m.path, "steps");
    made_close(&m);
}

UNIT_TEST(marked_steps_are_taken_as_they_are)
{
    made m;
    steps_result r;
    make_steps(&m, true);
    assert_true(steps_open(&r, m.replay, m.timeline, &m.names));
    assert_true(r.marked);
    assert_int_equal(STEPS, r.count);
    assert_int_equal(14, r.steps[3].name.size);
    assert_memory_equal("ProfilerStep#3", r.steps[3].name.text, 14);
    assert_int_equal(1000, r.steps[3].end_ns - r.steps[3].start_ns);
    assert_true(r.steps[6].slow);
    assert_true(r.steps[8].slow);
    assert_false(r.steps[7].slow);
    steps_close(&r);
    REPORT(m.path, "steps");
    made_close(&m);
}

// Found, not marked: what is before the loop is of no step.
UNIT_TEST(much_outside_of_the_steps_is_said)
{
    made m;
    made_begin(&m, 0);
    made_launch(&m, S0, "load", 0, 10, 5000);
    made_launch(&m, S0, "check", 2, 5000, 8000);
    for (int i = 0; i < 5; i++) {
        const int64_t at = 9000 + 1000 * i;
        made_launch(&m, S0, "a", at + 10, at + 100, at + 400);
        made_launch(&m, S0, "b", at + 20, at + 400, at + 600);
    }
    made_open(&m);
    REPORT(m.path, "steps");
    made_close(&m);
}

// A loop is found, and the two marks are mentioned.
UNIT_TEST(two_marks_beside_a_loop_are_too_few)
{
    made m;
    made_begin(&m, 0);
    for (int i = 0; i < 8; i++) {
        const int64_t at = 1000 * i;
        made_launch(&m, S0, "a", at + 10, at + 100, at + 200);
        made_launch(&m, S0, "b", at + 20, at + 200, at + 300);
        if (i > 1) continue;
        made_zone(&m, HOST, i ? "ProfilerStep#1" : "ProfilerStep#0", at,
                  at + 900);
    }
    made_open(&m);
    REPORT(m.path, "steps");
    made_close(&m);
}

// Work of step 3 that ends before that of step 2 does: it has no time.
UNIT_TEST(steps_without_time_are_counted_and_numbers_stay)
{
    made m;
    steps_result r, marked;
    made_begin(&m, 0);
    for (int i = 0; i < 6; i++) {
        const int64_t at = 1000 * i;
        char name[32];
        snprintf(name, sizeof name, "ProfilerStep#%d", i + 7);
        made_zone(&m, HOST, name, at, at + 900);
        if (i == 3)
            made_launch(&m, S1, "b", at + 10, at + 20, at + 30);
        else
            made_launch(&m, S0, "a", at + 10, at + 100,
                        i == 2 ? at + 1100 : at + 500);
    }
    made_open(&m);
    assert_true(steps_open(&r, m.replay, m.timeline, &m.names));
    assert_true(r.marked);
    assert_int_equal(5, r.count);
    assert_int_equal(1, r.left_out);
    assert_int_equal(9, r.steps[2].number);
    assert_int_equal(11, r.steps[3].number);
    assert_int_equal(4, r.steps[3].mark);
    assert_int_equal(3100, r.steps[3].start_ns);
    assert_string_equal("ProfilerStep#11", steps_words(&r.steps[3]).s);
    assert_true(steps_marked(&marked, m.replay));
    assert_int_equal(r.count, marked.count);
    for (size_t i = 0; i < r.count; i++)
        assert_int_equal(r.steps[i].end_ns, marked.steps[i].end_ns);
    steps_step frame = { .name = { "frame", 5 }, .number = 20 };
    assert_string_equal("frame 20", steps_words(&frame).s);
    frame.name.size = 0;
    assert_string_equal("number 20", steps_words(&frame).s);
    steps_close(&marked);
    steps_close(&r);
    REPORT(m.path, "steps");
    made_close(&m);
}

UNIT_TEST(a_trace_without_a_loop_has_no_steps)
{
    made m;
    steps_result r;
    made_begin(&m, 0);
    made_launch(&m, S0, "a", 0, 10, 20);
    made_launch(&m, S0, "b", 2, 20, 30);
    made_open(&m);
    assert_true(steps_open(&r, m.replay, m.timeline, &m.names));
    assert_int_equal(0, r.count);
    steps_close(&r);
    REPORT(m.path, "steps");
    made_close(&m);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
