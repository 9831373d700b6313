/*
    diff_forge.h - hand-made runs with noise, compared
*/
#ifndef DIFF_FORGE_H
#define DIFF_FORGE_H

#include "tests/tools/analyze/story_forge.h"
#include "tests/tools/analyze/report_expected.h"
#include "tools/diff/diff.h"

enum { STEPS = 20 };
static const cli_tool tool = { .name = "test" };

// A number from 0 to `limit` that depends on the seed and the place alone.
static inline int64_t noise(uint64_t seed, uint64_t place, int64_t limit)
{
    return (int64_t)(cli_hash_join(seed, place) % (uint64_t)(limit + 1));
}

// Steps of a gemm of 10,000 ns, scaled, and ten relus of 1,000 ns, all with
// noise of `share` percent.
static inline story run_with(int steps, uint64_t seed, int64_t gemm_ns,
                             int64_t share, bool marked)
{
    story s = story_begin();
    int64_t t = 1000, device = 2000;
    for (int i = 0; i < steps; i++) {
        char name[32];
        snprintf(name, sizeof name, "ProfilerStep#%d", i);
        const int64_t begin = t;
        for (int k = 0; k < 11; k++) {
            const int64_t base = k ? 1000 : gemm_ns;
            const int64_t more =
                noise(seed, (uint64_t)(i * 16 + k), base * share / 100);
            const int64_t ns = base + more - base * share / 200;
            story_kernel(&s, S0, device, device + ns, k ? "relu" : "gemm", HOST,
                         t += 10);
            device += ns;
        }
        t = device;
        if (marked) story_zone(&s, HOST, begin, t, name);
        device += 1000;
        t += 100;
    }
    return s;
}

static inline story run_of(uint64_t seed, int64_t gemm_ns, int64_t share,
                           bool marked)
{
    return run_with(STEPS, seed, gemm_ns, share, marked);
}

static inline void compare(diff *d, story *a, story *b)
{
    char *paths[] = { a->path, b->path };
    if (a->writer) story_write(a);
    if (b->writer) story_write(b);
    *d = (diff){ .tool = &tool, .alpha = DIFF_CERTAIN / 20 };
    for (int side = 0; side < 2; side++)
        d->sides[side].job =
            (analyze_job){ .tool = &tool,
                           .options = { .top = 10, .rows = 100 } };
    assert_true(diff_open(d, paths, 1, paths + 1, 1));
    assert_true(diff_compare(d));
}

// What ts-diff says of them stands beside the test, test_NAME.txt, word for
// word.
static inline void expect_text(const char *source, const char *test,
                               const story *a, const story *b)
{
    const char *const paths[] = { a->path, b->path };
    const ts_diff_desc desc = {
        .a_paths = paths, .a_count = 1, .b_paths = paths + 1, .b_count = 1
    };
    char *text = NULL;
    size_t size = 0;
    FILE *const stream = open_memstream(&text, &size);
    const ts_output output = { .stream = stream };
    ts_diff *d;
    ts_error error;
    if (ts_diff_open(&d, &desc, &error) != TS_OK ||
        ts_diff_write(d, TS_REPORT_TEXT, &output, &error) != TS_OK)
        fail_msg("%s", error.text);
    ts_diff_close(d);
    assert_int_equal(0, fclose(stream));
    report_check(source, test, text, paths, 2);
}

#define done(d, a, b) done_of(__FILE__, __func__, d, a, b)
static inline void done_of(const char *source, const char *test, diff *d,
                           story *a, story *b)
{
    expect_text(source, test, a, b);
    diff_close(d);
    story_end(a);
    story_end(b);
}

static inline const diff_row *row_of(const diff *d, diff_subject subject,
                                     const char *name)
{
    for (size_t i = 0; i < d->row_count; i++)
        if (d->rows[i].subject == subject &&
            d->rows[i].name.size == strlen(name) &&
            !memcmp(d->rows[i].name.text, name, strlen(name)))
            return &d->rows[i];
    fail_msg("no row of %s", name);
    return NULL;
}

// The verdict of the worst hit of a gate.
static inline diff_verdict judge(const diff *d, const char *text)
{
    diff_gates gates = { 0 };
    assert_true(diff_gate_add(&gates, &tool, "--gate", text));
    assert_true(diff_gates_check(&gates, d));
    assert_true(gates.items[0].hit_count > 0);
    const diff_verdict verdict = gates.items[0].hits[0].verdict;
    assert_true((verdict == DIFF_REGRESSED) == diff_gates_failed(&gates));
    diff_gates_close(&gates);
    return verdict;
}

#endif // DIFF_FORGE_H
