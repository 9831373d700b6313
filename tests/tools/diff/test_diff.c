/*
    test_diff.c - two hand-made runs compared, with the noise they have
*/
#include "tests/tools/diff/diff_forge.h"
#include "tools/analyze/report/parts.h"
#include "tools/diff/report_parts.h"

/* ---- Statistics --------------------------------------------------------- */

static int expect_p(double wanted, const int64_t *a, size_t a_count,
                    const int64_t *b, size_t b_count)
{
    int64_t x[128], y[128];
    memcpy(x, a, a_count * sizeof *a);
    memcpy(y, b, b_count * sizeof *b);
    int toward;
    const double p =
        (double)diff_u_test(x, a_count, y, b_count, &toward) / 1e12;
    assert_true(p > wanted * 0.99 - 1e-9 && p < wanted * 1.01 + 1e-9);
    // Which side is which does not matter.
    memcpy(x, a, a_count * sizeof *a);
    memcpy(y, b, b_count * sizeof *b);
    int back;
    assert_true(p == (double)diff_u_test(y, b_count, x, a_count, &back) / 1e12);
    assert_int_equal(-toward, back);
    return toward;
}

UNIT_TEST(the_u_test_gives_the_p_values_of_its_formula)
{
    // By the formula in floating point, another program.
    const int64_t low[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    const int64_t high[] = { 9, 10, 11, 12, 13, 14, 15, 16 };
    assert_int_equal(1, expect_p(0.0009391056991171905, low, 8, high, 8));
    const int64_t ten[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
    const int64_t five[] = { 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    expect_p(0.005075392315273926, ten, 10, five, 10);
    const int64_t tied[] = { 1, 1, 2, 2, 3, 3 }, more[] = { 2, 2, 3, 3, 4, 4 };
    expect_p(0.11334550921952588, tied, 6, more, 6);
    expect_p(1, tied, 6, tied, 6);
    const int64_t same[] = { 5, 5, 5, 5, 5, 5, 5, 5 };
    assert_int_equal(0, expect_p(1, same, 8, same, 8));
    expect_p(1, same, 8, same, 0);
    int64_t a[100], b[100];
    for (int i = 0; i < 100; i++) {
        a[i] = i;
        b[i] = i + 50;
    }
    expect_p(0, a, 100, b, 100); // 5e-20
    for (int i = 0; i < 100; i++) {
        a[i] = INT64_MIN + i;
        b[i] = INT64_MAX - i;
    }
    expect_p(0, a, 100, b, 100);
}

UNIT_TEST(many_tests_raise_p_values)
{
    // 0.01 * 4 / 1, 0.02 * 4 / 2, 0.03 * 4 / 3 and 0.5; none above a later one.
    const uint64_t p[] = { DIFF_CERTAIN / 2, DIFF_CERTAIN / 50,
                           DIFF_CERTAIN / 100, DIFF_CERTAIN * 3 / 100 };
    uint64_t q[4];
    assert_true(diff_adjust(p, q, 4));
    assert_int_equal(DIFF_CERTAIN / 2, q[0]);
    assert_int_equal(DIFF_CERTAIN / 25, q[1]);
    assert_int_equal(DIFF_CERTAIN / 25, q[2]);
    assert_int_equal(DIFF_CERTAIN / 25, q[3]);
}

/* ---- Runs --------------------------------------------------------------- */

UNIT_TEST(the_same_trace_twice_has_no_difference)
{
    story a = run_of(1, 10000, 100, true), b = run_of(1, 10000, 100, true);
    diff d;
    compare(&d, &a, &b);
    assert_true(d.by_step);
    for (size_t i = 0; i < d.row_count; i++) {
        assert_int_equal(0, diff_change(&d, &d.rows[i], DIFF_TOTAL));
        assert_int_equal(0, diff_change(&d, &d.rows[i], DIFF_COUNT));
        assert_false(diff_is_significant(&d, &d.rows[i]));
    }
    assert_int_equal(1, d.stream_count);
    assert_true(d.streams[0].same);
    assert_int_equal(DIFF_WITHIN, judge(&d, "operation:* total +0%"));
    assert_int_equal(DIFF_WITHIN, judge(&d, "makespan +0%"));
    assert_int_equal(DIFF_WITHIN, judge(&d, "idle:* +0%"));
    done(&d, &a, &b);
}

UNIT_TEST(ten_percent_are_found_in_noise_of_one)
{
    for (int marked = 0; marked < 2; marked++) {
        story a = run_of(1, 10000, 3, marked), b = run_of(2, 11000, 3, marked);
        diff d;
        compare(&d, &a, &b);
        const diff_row *const gemm = row_of(&d, DIFF_KERNEL, "gemm");
        const diff_row *const relu = row_of(&d, DIFF_KERNEL, "relu");
        assert_true(gemm->tested && gemm->adjusted < DIFF_CERTAIN / 1000);
        assert_true(diff_is_significant(&d, gemm));
        assert_false(diff_is_significant(&d, relu));
        const int64_t change = diff_change(&d, gemm, DIFF_MEDIAN);
        assert_true(change > 950 && change < 1050);
        assert_int_equal(DIFF_REGRESSED, judge(&d, "kernel:gemm total +5%"));
        assert_int_equal(DIFF_REGRESSED, judge(&d, "kernel:* median +5%"));
        assert_int_equal(DIFF_REGRESSED, judge(&d, "kernel:g*m total +500ns"));
        assert_int_equal(DIFF_REGRESSED, judge(&d, "makespan +2%"));
        assert_int_equal(DIFF_WITHIN, judge(&d, "kernel:* total +15%"));
        assert_int_equal(DIFF_WITHIN, judge(&d, "kernel:* total +5% +1ms"));
        assert_int_equal(DIFF_WITHIN, judge(&d, "kernel:relu total +5%"));
        assert_int_equal(DIFF_WITHIN, judge(&d, "kernel:* count +0"));
        done(&d, &a, &b);
    }
}

UNIT_TEST(ten_percent_are_noise_in_noise_of_thirty)
{
    // From half to one and a half of the mean: a standard deviation of 29 %.
    story a = run_of(1, 10000, 100, true), b = run_of(6, 11000, 100, true);
    diff d;
    compare(&d, &a, &b);
    const diff_row *const gemm = row_of(&d, DIFF_KERNEL, "gemm");
    assert_true(gemm->tested && !diff_is_significant(&d, gemm));
    const int64_t change = diff_change(&d, gemm, DIFF_TOTAL);
    assert_true(change > 500);
    assert_int_equal(DIFF_NOISE, judge(&d, "kernel:gemm total +5%"));
    done(&d, &a, &b);
}

/* ---- Names, counts, order ------------------------------------------------ */

UNIT_TEST(kernels_come_and_go)
{
    story a = story_begin(), b = story_begin();
    for (int i = 0; i < 5; i++) {
        story_kernel(&a, S0, 1000 * i + 100, 1000 * i + 200, "old", HOST,
                     1000 * i);
        story_kernel(&b, S0, 1000 * i + 100, 1000 * i + 200, "fresh", HOST,
                     1000 * i);
        for (story *s = &a;; s = &b) {
            story_kernel(s, S0, 1000 * i + 300, 1000 * i + 400, "both", HOST,
                         1000 * i + 20);
            if (s == &b) break;
        }
    }
    story_kernel(&b, S0, 9000, 9100, "both", HOST, 8000);
    diff d;
    compare(&d, &a, &b);
    assert_false(d.by_step);
    assert_true(diff_is_gone(row_of(&d, DIFF_KERNEL, "old")));
    assert_true(diff_is_new(row_of(&d, DIFF_KERNEL, "fresh")));
    const diff_row *const both = row_of(&d, DIFF_KERNEL, "both");
    assert_int_equal(1, diff_change(&d, both, DIFF_COUNT));
    assert_int_equal(100, diff_change(&d, both, DIFF_TOTAL));
    assert_int_equal(0, diff_change(&d, both, DIFF_MEDIAN));
    assert_string_equal("+20.0 %", diff_percent(&d, both, DIFF_TOTAL).s);
    assert_string_equal(
        "new",
        diff_percent(&d, row_of(&d, DIFF_KERNEL, "fresh"), DIFF_TOTAL).s);
    // What there is more of is no noise; what is new is beyond any share.
    assert_int_equal(DIFF_REGRESSED, judge(&d, "kernel:both total +5%"));
    assert_int_equal(DIFF_REGRESSED, judge(&d, "kernel:both count +0"));
    assert_int_equal(DIFF_WITHIN, judge(&d, "kernel:both count +1"));
    assert_int_equal(DIFF_WITHIN, judge(&d, "kernel:both median +0%"));
    assert_int_equal(DIFF_REGRESSED, judge(&d, "kernel:fresh total +50%"));
    assert_int_equal(DIFF_WITHIN, judge(&d, "kernel:old total +0%"));
    assert_int_equal(1, d.stream_count);
    assert_false(d.streams[0].same);
    // old-both four times and both-old four, against as many of fresh and a
    // both-both more.
    assert_int_equal(9, d.streams[0].pairs_gone);
    assert_int_equal(10, d.streams[0].pairs_new);
    assert_int_equal(0, d.streams[0].first[0]);
    done(&d, &a, &b);
}

UNIT_TEST(few_samples_decide_nothing)
{
    story a = story_begin(), b = story_begin();
    for (int i = 0; i < 3; i++) {
        story_kernel(&a, S0, 1000 * i + 100, 1000 * i + 200, "k", HOST,
                     1000 * i);
        story_kernel(&b, S0, 1000 * i + 100, 1000 * i + 300, "k", HOST,
                     1000 * i);
    }
    diff d;
    compare(&d, &a, &b);
    assert_false(row_of(&d, DIFF_KERNEL, "k")->tested);
    assert_int_equal(DIFF_UNTESTED, judge(&d, "kernel:k total +5%"));
    // There is one makespan: nothing tells its noise.
    assert_int_equal(DIFF_UNTESTED, judge(&d, "makespan +10ns"));
    assert_int_equal(DIFF_WITHIN, judge(&d, "makespan +1us"));
    done(&d, &a, &b);
}

UNIT_TEST(memory_zones_and_calls_are_compared)
{
    story a = story_begin(), b = story_begin();
    for (int side = 0; side < 2; side++) {
        story *const s = side ? &b : &a;
        story_alloc(s, HOST, 10, 0x1000, side ? 3000 : 1000, "cache", NULL);
        for (int i = 0; i < 6; i++) {
            const int64_t t = 1000 * i;
            story_zone(s, HOST, t, t + 500 + (side ? 100 : 0), "load data");
            story_kernel(s, S0, t + 700, t + 800, "k", HOST, t + 100);
        }
    }
    diff d;
    compare(&d, &a, &b);
    assert_int_equal(
        2000, diff_change(&d, row_of(&d, DIFF_MEMORY, "cache"), DIFF_TOTAL));
    assert_int_equal(
        600, diff_change(&d, row_of(&d, DIFF_ZONE, "load data"), DIFF_TOTAL));
    assert_int_equal(6, row_of(&d, DIFF_API, "launch")->parts[0].count);
    assert_int_equal(600,
                     row_of(&d, DIFF_ZONE_WORK, "load data")->parts[1].total);
    assert_int_equal(DIFF_REGRESSED, judge(&d, "memory:peak +1KiB"));
    assert_int_equal(DIFF_WITHIN, judge(&d, "memory:peak +2KiB"));
    assert_int_equal(DIFF_REGRESSED, judge(&d, "memory:c*e peak +50%"));
    assert_int_equal(DIFF_REGRESSED, judge(&d, "zone:load data +10%"));
    assert_int_equal(DIFF_REGRESSED, judge(&d, "zone:load data median +10%"));
    assert_int_equal(DIFF_WITHIN, judge(&d, "zone:load* median +20%"));
    done(&d, &a, &b);
}

static void check_word(const diff *d, const char *name, const char *wanted)
{
    const diff_row *const row = row_of(d, DIFF_KERNEL, name);
    assert_string_equal(wanted, diff_word(d, row).s);
}

// The total falls, as there are fewer; each takes longer. And the reverse; and
// where the middle says one thing and the ranks another, nothing is claimed.
UNIT_TEST(count_and_duration_are_distinguished)
{
    story a = story_begin(), b = story_begin();
    for (int i = 0; i < 180; i++) { // in no order that steps could be found in
        const int64_t t = 2000 * i, odd = i % 2, ns = i % 5;
        switch (noise(7, (uint64_t)i, 2)) {
        case 0:
            story_kernel(&a, S0, t, t + 100 + ns, "fewer", HOST, t - 50);
            if (odd)
                story_kernel(&b, S0, t, t + 163 + ns, "fewer", HOST, t - 50);
            break;
        case 1:
            if (odd)
                story_kernel(&a, S0, t, t + 200 + ns, "more", HOST, t - 40);
            story_kernel(&b, S0, t, t + 150 + ns, "more", HOST, t - 40);
            break;
        default: // nearly all are shorter, few so much longer that the sum is
            story_kernel(&a, S0, t, t + 50 + ns, "alike", HOST, t - 30);
            story_kernel(&b, S0, t, t + (i % 10 ? 40 : 900) + ns, "alike", HOST,
                         t - 30);
            // The reverse, where there are more: their mean falls.
            if (odd || i % 10 == 0)
                story_kernel(&a, S1, t, t + (odd ? 50 : 900) + ns, "waits",
                             HOST, t - 20);
            story_kernel(&b, S1, t, t + 80 + ns, "waits", HOST, t - 20);
        }
    }
    diff d;
    compare(&d, &a, &b);
    assert_false(d.by_step);
    assert_true(diff_change(&d, row_of(&d, DIFF_KERNEL, "fewer"), DIFF_TOTAL) <
                0);
    check_word(&d, "fewer", "fewer, each slower");
    check_word(&d, "more", "more, each faster");
    check_word(&d, "alike", "mixed");
    check_word(&d, "waits", "more");
    assert_int_equal(DIFF_WITHIN, judge(&d, "kernel:fewer total +5%"));
    assert_int_equal(DIFF_REGRESSED, judge(&d, "kernel:fewer median +5%"));
    // Its test says that each is faster: it is none of a total that grew.
    assert_int_equal(DIFF_NOISE, judge(&d, "kernel:alike total +5%"));
    done(&d, &a, &b);
}

/* ---- Gates -------------------------------------------------------------- */

// Checks one gate: whether it failed or was missed, as text.
static const char *outcome(const diff *d, const char *text, bool untested_fails)
{
    diff_gates gates = { .untested_fails = untested_fails };
    assert_true(diff_gate_add(&gates, &tool, "--gate", text));
    assert_true(diff_gates_check(&gates, d));
    const char *const out = diff_gates_failed(&gates)   ? "failed"
                            : diff_gates_missed(&gates) ? "missed"
                                                        : "holds";
    diff_gates_close(&gates);
    return out;
}

UNIT_TEST(what_is_untested_fails_only_where_that_is_asked_for)
{
    story a = story_begin(), b = story_begin();
    for (int i = 0; i < 2; i++)
        story_kernel(i ? &b : &a, S0, 100, i ? 400 : 200, "k", HOST, 0);
    diff d;
    compare(&d, &a, &b);
    assert_string_equal("holds", outcome(&d, "makespan +5%", false));
    assert_string_equal("failed", outcome(&d, "makespan +5%", true));
    assert_string_equal("holds", outcome(&d, "makespan +500%", true));
    report *const r = report_open();
    const diff_gates none = { 0 };
    diff_report(&d, &none, r);
    const char *const answer = r->sections->next->answer.text;
    assert_non_null(strstr(answer,
                           "B takes 300 ns, A 100 ns (+200.0 %): there are too "
                           "few steps to test whether this is noise."));
    assert_null(strstr(answer, "which may be noise"));
    report_close(r);
    done(&d, &a, &b);
}

// A last synchronisation that takes longer is neither work nor idle time.
UNIT_TEST(time_after_all_work_has_no_largest_part)
{
    story a = story_begin(), b = story_begin();
    for (story *s = &a;; s = &b) {
        const int64_t end = s == &a ? 400 : 900;
        for (int i = 0; i < 2; i++)
            story_kernel(s, S0, 100 * i + 50, 100 * i + 100, "k", HOST,
                         100 * i);
        story_operation(s, TS_EVENT_DEVICE_SYNC, D0, 210, end, NULL, HOST, 0);
        if (s == &b) break;
    }
    diff d;
    compare(&d, &a, &b);
    report *const r = report_open();
    const diff_gates none = { 0 };
    diff_report(&d, &none, r);
    const char *const answer = r->sections->next->answer.text;
    assert_null(strstr(answer, "The largest part"));
    report_close(r);
    done(&d, &a, &b);
}

UNIT_TEST(a_gate_that_matches_nothing_is_missed_unless_it_may_be)
{
    story a = story_begin(), b = story_begin();
    for (int i = 0; i < 2; i++)
        story_kernel(i ? &b : &a, S0, 100, 200, "k", HOST, 0);
    diff d;
    compare(&d, &a, &b);
    assert_string_equal("holds", outcome(&d, "kernel:k total +5%", false));
    assert_string_equal("missed", outcome(&d, "kernel:x* total +5%", false));
    assert_string_equal("holds", outcome(&d, "?kernel:x* total +5%", false));
    assert_string_equal("holds", outcome(&d, "? kernel:k total +5%", false));
    done(&d, &a, &b);
}

UNIT_TEST(gates_that_make_no_sense_are_refused)
{
    static const char *const bad[] = {
        "",
        "kernel",
        "kernel:*",
        "kernel:* total",
        "kernel:* total 5%",
        "kernel:* total +",
        "kernel:* total +%",
        "kernel:* total +5",
        "kernel:* total +5%%",
        "kernel:* total +5.%",
        "kernel:* total +.5%",
        "kernel:* total +-5%",
        "kernel:* total +5MiB",
        "kernel:* total +99999999999999999999%",
        "kernel:* total +99999999999999999999999999999999999999ms",
        "kernel:* count +5ms",
        "kernel:* peak +5%",
        "kernel: total +5%",
        "kernel foo +5%",
        "kernels:* total +5%",
        "makespan:* +5%",
        "makespan median of it +5%",
        "memory:peak +5ms",
        "memory:peak count +1MiB",
        "memory:peak +1B +1B +1B +1B",
        "step total +5%",
        "+5%",
        ":",
        "?",
        "??",
        "? +5%",
    };
    diff_gates gates = { 0 };
    // What it says goes to stderr, of which this test is no judge.
    FILE *const keep = stderr;
    stderr = fopen("/dev/null", "w");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (diff_gate_add(&gates, &tool, "--gate", bad[i])) {
            stderr = keep;
            fail_msg("taken: '%s'", bad[i]);
        }
    fclose(stderr);
    stderr = keep;
    diff_gates_close(&gates);
}

UNIT_TEST(gates_are_read_as_they_are_meant)
{
    diff_gates gates = { 0 };
    static const char *const good[] = {
        "kernel:f<int, 3>(a b) total +0.5% +20us",
        "  zone:load weights   count   +3",
        "memory:peak +1.5MiB",
        "launch +5%",
        "operation +1%",
        "idle:host_sync +2ms",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(diff_gate_add(&gates, &tool, "--gate", good[i]));
    const diff_gate *const g = gates.items;
    assert_string_equal("f<int, 3>(a b)", g[0].pattern);
    assert_int_equal(2, g[0].limit_count);
    assert_int_equal(20000, g[0].limits[0].value);
    assert_int_equal(5000, g[0].limits[1].value);
    assert_string_equal("load weights", g[1].pattern);
    assert_int_equal(DIFF_COUNT, g[1].metric);
    assert_int_equal(3, g[1].limits[0].value);
    assert_null(g[2].pattern);
    assert_int_equal(3 << 19, g[2].limits[0].value);
    assert_int_equal(DIFF_MEDIAN, g[3].metric);
    assert_int_equal(1 << DIFF_KERNEL | 1 << DIFF_COPY | 1 << DIFF_COLLECTIVE,
                     g[4].subjects);
    assert_string_equal("host_sync", g[5].pattern);
    diff_gates_close(&gates);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
