/*
    test_analyze_advice_host.c - advice about the host and its launches
*/
#include "tests/tools/analyze/advice_fixture.h"
#include "tools/analyze/advice/advice.h"

// Twenty kernels of 2 us, each launched after 16 us of something. Devices wait
// for the host: a host with 80 % saves a fifth of 19 periods of 20 us. Good:
// kernels of 100 us, launched every 5 us, from the second on in a queue.
static void host_bound(made *m, bool bad)
{
    for (int64_t i = 0; i < 20; i++) {
        if (bad) {
            launch_at(m, "k", 20 * i, 2);
            continue;
        }
        call_at(m, HOST, "cudaLaunchKernel", 5 * i, 5 * i + 4);
        kernel_at(m, S0, "k", 6 + 101 * i, 106 + 101 * i);
    }
}

// The zone has 12 us of each of 19 periods. Good: it is where nobody waits.
static void host_zone(made *m, bool bad)
{
    for (int64_t i = 0; i < 20; i++) {
        launch_at(m, "k", 20 * i, 2);
        zone_at(m, bad ? HOST : OTHER, "prepare", 20 * i + 6, 20 * i + 18);
    }
}

// Two zones: all that is within the loader counts as loading.
static void data_loading(made *m, bool bad)
{
    for (int64_t i = 0; i < 20; i++) {
        launch_at(m, "k", 20 * i, 2);
        zone_at(m, HOST, "decode", 20 * i + 8, 20 * i + 16);
        zone_at(m, HOST, bad ? "DataLoader.__next__" : "forward", 20 * i + 6,
                20 * i + 18);
    }
}

// Two threads launch alternately, 4 us each, and then at once: 10 us each if
// bad. Each of the 60 calls at once that come before the last kernel is 6 us
// longer.
static void contended_launches(made *m, bool bad)
{
    for (int64_t i = 0; i < 120; i++) {
        const bool both = i >= 60;
        const int64_t at = 40 * i, length = both && bad ? 10 : 4;
        call_at(m, HOST, "cudaLaunchKernel", at, at + length);
        kernel_at(m, S0, "k", at + length + 2, at + length + 3);
        const int64_t other = both ? at : at + 20;
        call_at(m, OTHER, "cudaLaunchKernel", other, other + length);
        kernel_at(m, S1, "k", other + length + 2, other + length + 3);
    }
}

// Calls of 8 us in periods of 10; good: kernels of 200 us, calls of 8.
static void launch_overhead(made *m, bool bad)
{
    for (int64_t i = 0; i < 120; i++) {
        const int64_t at = (bad ? 10 : 300) * i;
        call_at(m, HOST, "cudaLaunchKernel", at, at + 8);
        kernel_at(m, S0, "k", at + 9, at + (bad ? 10 : 209));
    }
}

// Launched ahead of the device, which has 1 us between kernels of 2 or 50.
static void tiny_kernels(made *m, bool bad)
{
    const int64_t length = bad ? 2 : 50;
    for (int64_t i = 0; i < 120; i++) {
        call_at(m, HOST, "cudaLaunchKernel", 2 * i, 2 * i + 1);
        const int64_t at = 6 + (length + 1) * i;
        kernel_at(m, S0, "k", at, at + length);
    }
}

/*
    a at 6, b at 16, a long kernel at 26, twelve times. Without the second
    launch, of 4 us, all that follows comes 4 us earlier each time.
*/
static void fusible_sequence(made *m, bool bad)
{
    static const char *const others[] = { "c", "d", "e", "f", "g", "h" };
    for (int64_t i = 0; i < 12; i++) {
        launch_at(m, bad ? "a" : others[i % 6], 120 * i, 2);
        launch_at(m, bad ? "b" : others[i / 2], 120 * i + 10, 2);
        launch_at(m, "long", 120 * i + 20, 50);
    }
}

/*
    Four times the same twelve launches, 10 us apart, behind a copy from the
    host. Captured, all but the first time: 110 us less twice, and 110 - 22
    before the last kernel, since on the device 2 us are between their starts.
    Good: no two times are the same.
*/
static void graph_capture(made *m, bool bad)
{
    static const char *const names[] = { "a", "b", "c", "d", "e", "f",
                                         "g", "h", "i", "j", "k", "l" };
    for (int64_t i = 0; i < 4; i++) {
        const int64_t at = 140 * i;
        call_at(m, HOST, "cudaMemcpyAsync", at, at + 4);
        copy_at(m, S0, TO_DEVICE, PINNED, 64, at + 6, at + 7);
        for (int64_t k = 0; k < 12; k++)
            launch_at(m, names[bad ? k : (k * (2 * i + 1) + i * k * k) % 12],
                      at + 10 + 10 * k, 1);
    }
}

/*
    1,034 launches on one stream, whose kernels take 1 ms: from number 1,027
    on each waits for the kernel 1,024 before it to begin: the last one returns
    at 9,016, and number 1,026 did at 2,054. After the last one comes a kernel
    on another device. Good: the same without the last fourteen.
*/
static void queue_full(made *m, bool bad)
{
    int64_t at = 0;
    for (int64_t i = 0; i < (bad ? 1034 : 1020); i++) {
        const int64_t begins = 6 + 1001 * (i - 1024);
        const int64_t end = i >= 1024 && begins > at + 2 ? begins + 1 : at + 2;
        call_at(m, HOST, "cudaLaunchKernel", at, end);
        kernel_at(m, S0, "k", 6 + 1001 * i, 1006 + 1001 * i);
        at = end;
    }
    call_at(m, HOST, "cudaLaunchKernel", at, at + 2);
    kernel_at(m, T0, "long", at + 6, at + 6 + 1040000);
}

static const advice_case cases[] = {
    { "host-bound", host_bound, 76, "host-bound.share=101%", 24 },
    { "host-zone", host_zone, 228, "host-zone.share=70%", 6 },
    { "data-loading", data_loading, 228, "data-loading.share=70%", 8 },
    { "contended-launches", contended_launches, 360,
      "contended-launches.count=121", 2400 },
    { "launch-overhead", launch_overhead, 952, "launch-overhead.count=121", 0 },
    { "tiny-kernels", tiny_kernels, 119, "tiny-kernels.time=1us", 6 },
    { "fusible-sequence", fusible_sequence, 48, "fusible-sequence.count=13",
      6 },
    { "graph-capture", graph_capture, 308, "graph-capture.launches=13", 10 },
    { "queue-full", queue_full, 6962, "advice.min-gain=1%", 3010 },
};
enum { CASES = sizeof cases / sizeof *cases };

UNIT_TEST(each_rule_fires_with_its_gain_or_not_at_all)
{
    check_cases(cases, CASES);
}

/* ---- A host that only waits ---------------------------------------------- */

// The rule finds its scene and drops it again.
static void expect_waiting(advised *x, const char *id)
{
    advised_run(x, id, NULL);
    assert_int_equal(0, x->a.finding_count);
    assert_int_equal(1, x->a.dropped_count);
    assert_string_equal(id, x->a.dropped[0].rule->id);
    assert_true(x->a.dropped[0].has_gain);
    assert_true(x->a.dropped[0].waits);
}

/*
    The host launches as in host_bound, up to 388 us. Meanwhile one kernel runs
    from 6 to 376 on another stream: a host with 80 % gains the 12 us by which
    it is ahead, 3 %, but so does one that takes no time at all.
*/
UNIT_TEST(a_host_that_is_free_and_gains_no_more_only_waits)
{
    advised x;
    memset(&x, 0, sizeof x);
    made_begin(&x.files[0], 0);
    x.count = 1;
    call_at(&x.files[0], OTHER, "cudaLaunchKernel", 0, 4);
    kernel_at(&x.files[0], S1, "long", 6, 376);
    for (int64_t i = 0; i < 20; i++)
        launch_at(&x.files[0], "k", 20 * i, 2);
    expect_waiting(&x, "host-bound");
    assert_in_range(x.a.dropped[0].gain_ns, x.a.makespan_ns / 100,
                    x.a.makespan_ns / 10);
    ADVICE(&x);
    advised_close(&x);
}

// The zone has 228 us of the path, but another thread takes as long beside it
// and is done 1 us earlier: that is all the zone can gain.
UNIT_TEST(a_zone_whose_time_another_thread_takes_only_waits)
{
    advised x;
    memset(&x, 0, sizeof x);
    made *const m = &x.files[0];
    made_begin(m, 0);
    x.count = 1;
    for (int64_t i = 0; i < 20; i++) {
        launch_at(m, "k", 20 * i, 2);
        zone_at(m, HOST, "prepare", 20 * i + 6, 20 * i + 18);
        call_at(m, OTHER, "cudaLaunchKernel", 20 * i, 20 * i + 4);
        kernel_at(m, S1, "k", 20 * i + 6, 20 * i + (i < 19 ? 8 : 7));
    }
    expect_waiting(&x, "host-zone");
    assert_int_equal(228 * US, x.a.dropped[0].held_ns);
    assert_int_equal(1 * US, x.a.dropped[0].gain_ns);
    ADVICE(&x);
    advised_close(&x);
}

// A free of 100 us, which waits for nothing more, is the longest thing that the
// host does: it is shown where it is, not before.
UNIT_TEST(a_long_call_is_shown_where_it_is)
{
    advised x;
    memset(&x, 0, sizeof x);
    made *const m = &x.files[0];
    made_begin(m, 0);
    x.count = 1;
    for (int64_t i = 0; i < 4; i++)
        launch_at(m, "k", 20 * i, 2);
    call_at(m, HOST, "cudaFree", 80, 180);
    for (int64_t i = 0; i < 4; i++)
        launch_at(m, "k", 190 + 20 * i, 2);
    advised_run(&x, "host-bound", NULL);
    assert_int_equal(1, x.a.finding_count);
    assert_int_equal(80 * US, x.a.findings[0].evidence.from_ns);
    assert_int_equal(180 * US, x.a.findings[0].evidence.to_ns);
    ADVICE(&x);
    advised_close(&x);
}

static void long_sequence(made *m, bool bad)
{
    static const char *const names[] = {
        "a", "b", "c", "d", "e", "f", "g", "h"
    };
    for (int64_t i = 0; i < 12; i++) {
        for (int64_t k = 0; k < 8; k++)
            launch_at(m, names[k], 200 * i + 10 * k, 2);
        launch_at(m, "long", 200 * i + 80, 50);
    }
}

UNIT_TEST(a_long_sequence_is_named_by_its_first_kernels)
{
    advised x;
    advised_scene(&x, long_sequence, true);
    advised_run(&x, "fusible-sequence", NULL);
    assert_int_equal(1, x.a.finding_count);
    ADVICE(&x);
    advised_close(&x);
}

UNIT_TEST(each_rule_about_the_host_has_a_case)
{
    static const char *const families[] = { "host", "launch", NULL };
    check_families(cases, CASES, families);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
