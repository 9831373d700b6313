/*
    test_analyze_patterns.c - sequences that repeat, each token counted once
*/
#include "tests/tools/analyze/time_fixture.h"
#include "tools/analyze/figures/time/patterns.h"

// Letters as tokens, a bar for a break.
static patterns_repeats find(const char *text, char *shown)
{
    uint32_t tokens[4096];
    bool breaks[4096] = { true };
    size_t count = 0;
    patterns_repeats r;
    for (; *text; text++) {
        if (*text == '|') {
            breaks[count] = true;
        } else {
            tokens[count++] = (uint32_t)*text;
            breaks[count] = false;
        }
    }
    assert_true(patterns_repeats_find(&r, tokens, breaks, count));
    for (size_t i = 0; i < r.count; i++) {
        const size_t place = r.places[r.list[i].first];
        for (size_t k = 0; k < r.list[i].length; k++)
            *shown++ = (char)tokens[place + k];
        shown += sprintf(shown, "*%zu ", r.list[i].count);
    }
    *shown = 0;
    return r;
}

static void finds(const char *text, const char *expected)
{
    char shown[256];
    patterns_repeats r = find(text, shown);
    assert_string_equal(expected, shown);
    patterns_repeats_close(&r);
}

UNIT_TEST(what_repeats_is_found_once)
{
    finds("", "");
    finds("abab", ""); // twice is not enough
    finds("abxabyabz", "ab*3 ");
    finds("abcxabcyabcz", "abc*3 ");           // not ab and bc as well
    finds("abababab", "ab*4 ");                // not abab, nor ba
    finds("aaaaaa", "aa*3 ");                  // not aaa
    finds("abcdxabcdyabcdzabqabr", "abcd*3 "); // ab is left twice
    finds("abcdxabcdyabcdzabqabrabs", "abcd*3 ab*3 ");
}

UNIT_TEST(nothing_goes_on_over_a_break)
{
    finds("a|ba|ba|b", ""); // two `ba` only
    finds("ab|ab|ab", "ab*3 ");
    finds("xab|yab|zab", "ab*3 ");
}

UNIT_TEST(long_sequences_are_cut_at_the_longest_length)
{
    char text[256] = "", shown[256];
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 40; i++)
            sprintf(text + strlen(text), "%c", i < 26 ? 'a' + i : 'A' + i - 26);
    patterns_repeats r = find(text, shown);
    assert_int_equal(PATTERNS_LONGEST, r.list[0].length);
    assert_int_equal(3, r.list[0].count);
    assert_int_equal(8, r.list[1].length); // what is left of each
    assert_int_equal(2, r.count);
    patterns_repeats_close(&r);
}

// Whatever there is, no token is taken twice, and what is said is true.
UNIT_TEST(random_sequences_hold_what_was_found_in_them)
{
    enum { COUNT = 3000 };
    static uint32_t tokens[COUNT];
    static bool breaks[COUNT];
    uint64_t seed = 1;
    for (int round = 0; round < 20; round++) {
        bool taken[COUNT] = { false };
        for (int i = 0; i < COUNT; i++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            tokens[i] = (uint32_t)(seed >> 33) % (uint32_t)(2 + round);
            breaks[i] = (seed >> 50) % 40 == 0;
        }
        patterns_repeats r;
        assert_true(patterns_repeats_find(&r, tokens, breaks, COUNT));
        for (size_t i = 0; i < r.count; i++) {
            const size_t *const places = r.places + r.list[i].first;
            assert_true(r.list[i].count >= PATTERNS_LEAST);
            for (size_t k = 0; k < r.list[i].count; k++)
                for (size_t t = 0; t < r.list[i].length; t++) {
                    assert_int_equal(tokens[places[0] + t],
                                     tokens[places[k] + t]);
                    assert_false(taken[places[k] + t]);
                    assert_false(t && breaks[places[k] + t]);
                    taken[places[k] + t] = true;
                }
        }
        patterns_repeats_close(&r);
    }
}

/*
    Four times: kernels a (10 ns) and b (20 ns), 30 apart, then a large one of
    5,000 which ends what could be fused. Calls take 2 each.
*/
UNIT_TEST(kernels_are_measured_and_fused)
{
    made m;
    patterns_result r;
    model_figures base, fused;
    made_begin(&m, 0);
    for (int i = 0; i < 4; i++) {
        const int64_t at = 10000 * i;
        made_launch(&m, S0, "a", at, at + 100, at + 110);
        made_launch(&m, S0, "b", at + 40, at + 140, at + 160);
        made_launch(&m, S0, "large", at + 60, at + 160, at + 5160);
    }
    made_open(&m);
    assert_true(patterns_open(&r, m.replay, &m.names, 1000));
    assert_int_equal(12, r.kernels);
    assert_int_equal(8, r.small);
    assert_int_equal(8, r.covered);
    assert_int_equal(1, r.count);
    assert_int_equal(2, r.list[0].length);
    assert_int_equal(4, r.list[0].count);
    assert_int_equal(4 * 30, r.list[0].work_ns);
    assert_int_equal(4 * 30, r.list[0].between_ns);
    assert_int_equal(4 * 2, r.list[0].calls_ns);
    assert_int_equal(made_group(&m, "a"), r.list[0].names[0]);
    assert_int_equal(made_group(&m, "b"), r.list[0].names[1]);
    assert_true(model_run(m.replay, NULL, 0, &base));
    assert_true(patterns_fuse(&r, &r.list[0], m.replay, &fused));
    assert_true(base.known && fused.known);
    // The calls of b are gone, so every further launch is made 2 earlier; of
    // the last time b comes at once, but the large one waits for its launch.
    assert_int_equal(4 * 2, model_gain(&base, &fused));
    patterns_close(&r);
    REPORT(m.path, "patterns");
    made_close(&m);
}

// Small kernels at `step` from each other, each with a call of its own.
static void make_small(made *m, int64_t step, int64_t length)
{
    made_begin(m, 0);
    for (int i = 0; i < 12; i++) {
        const int64_t at = step * i;
        made_launch(m, S0, i % 3 ? "a" : "first", at, at + 3, at + 3 + length);
    }
    made_open(m);
}

UNIT_TEST(fusing_saves_calls_where_the_device_waits_for_them)
{
    made m;
    make_small(&m, 10, 5);
    REPORT(m.path, "patterns");
    made_close(&m);
}

// Each begins when the one before ends, and was launched long before.
UNIT_TEST(fusing_saves_nothing_where_the_device_is_busy)
{
    made m;
    made_begin(&m, 0);
    for (int i = 0; i < 12; i++)
        made_launch(&m, S0, i % 3 ? "a" : "first", 3 * i, 100 + 50 * i,
                    150 + 50 * i);
    made_open(&m);
    REPORT(m.path, "patterns");
    made_close(&m);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
