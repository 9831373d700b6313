/*
    test_analyze_advice_ranks.c - advice about devices, ranks, memory, steps
    and the trace itself
*/
#include "tests/tools/analyze/advice_fixture.h"
#include "tools/analyze/advice/advice.h"

/* ---- Devices and ranks -------------------------------------------------- */

// A collective of 100 us between kernels of 50 us on one stream; with overlap
// the second kernel is done before it. Good: a kernel beside hides it.
static void exposed_communication(made *m, bool bad)
{
    call_at(m, HOST, "cudaLaunchKernel", 0, 1);
    kernel_at(m, S0, "k", 6, 56);
    call_at(m, HOST, "ncclAllReduce", 2, 3);
    collective_at(m, S0, 1, MIB, 8, 57, 157);
    call_at(m, HOST, "cudaLaunchKernel", 4, 5);
    kernel_at(m, S0, "k", 158, 208);
    if (bad) return;
    call_at(m, HOST, "cudaLaunchKernel", 6, 7);
    kernel_at(m, S1, "beside", 20, 200);
}

// Twelve of 5 us, 1 us apart. Joined, they need neither the pause nor, but for
// the first, the 5 us that the quickest takes.
static void small_collectives(made *m, bool bad)
{
    for (int64_t i = 0; i < 12; i++) {
        call_at(m, HOST, "ncclAllReduce", 2 * i, 2 * i + 1);
        collective_at(m, S0, (uint64_t)i + 1, bad ? 4096 : 4 * MIB, 8,
                      6 + 6 * i, 11 + 6 * i);
    }
}

// Of twelve collectives the last two take 100 us instead of 10.
static void collective_skew(made *m, bool bad)
{
    int64_t at = 6;
    for (int64_t i = 0; i < 12; i++) {
        const int64_t length = bad && i >= 10 ? 100 : 10;
        call_at(m, HOST, "ncclAllReduce", 2 * i, 2 * i + 1);
        collective_at(m, S0, (uint64_t)i + 1, MIB, 8, at, at + length);
        at += length + 1;
    }
}

// The one device works for 400 us, the other for 200 us: 300 us on average.
static void device_imbalance(made *m, bool bad)
{
    for (int64_t i = 0; i < 4; i++) {
        call_at(m, HOST, "cudaLaunchKernel", 4 * i, 4 * i + 1);
        kernel_at(m, S0, "k", 6 + 101 * i, 106 + 101 * i);
        call_at(m, HOST, "cudaLaunchKernel", 4 * i + 2, 4 * i + 3);
        const int64_t length = bad ? 50 : 100, begin = 8 + (length + 1) * i;
        kernel_at(m, T0, "k", begin, begin + length);
    }
}

static void unused_device(made *m, bool bad)
{
    fact(m, bad ? D1 : D0, "multiprocessors", 80);
    launch_at(m, "k", 0, 2);
}

// Its number may be all that is known of a device.
static void bare_device(made *m, bool bad)
{
    launch_at(m, "k", 0, 2);
}

static void hip_device(made *m, bool bad)
{
    fact(m, D1, "multiprocessors", 80);
    call_at(m, HOST, "hipLaunchKernel", 0, 4);
    kernel_at(m, S0, "k", 6, 8);
}

UNIT_TEST(only_a_device_that_is_described_can_be_unused)
{
    advised x;
    advised_scene(&x, bare_device, true);
    advised_run(&x, "unused-device", NULL);
    assert_int_equal(0, x.a.finding_count);
    ADVICE(&x);
    advised_close(&x);
    advised_scene(&x, hip_device, true);
    advised_run(&x, "unused-device", NULL);
    assert_int_equal(1, x.a.finding_count);
    assert_string_equal("The trace describes 1 device on which this process "
                        "ran no operation; 1 other ran some. It does not show "
                        "whether another process uses it.",
                        x.a.findings[0].what.text);
    assert_int_equal(REPORT_MEDIUM, x.a.findings[0].confidence);
    assert_non_null(strstr(x.a.findings[0].todo.text, "ROCR_VISIBLE_DEVICES"));
    ADVICE(&x);
    advised_close(&x);
}

/* ---- Memory and steps --------------------------------------------------- */

static void allocate(made *m, uint64_t address, uint64_t size, int64_t at)
{
    const ts_writer_value values[] = {
        { TS_COLUMN_ADDRESS, address },
        { TS_COLUMN_SIZE, size },
        { TS_COLUMN_MEMORY, DEVICE },
    };
    made_operation(m, TS_EVENT_GPU_ALLOC, D0, at * US, at * US, values, 3);
}

static void release(made *m, uint64_t address, int64_t at)
{
    const ts_writer_value value = { TS_COLUMN_ADDRESS, address };
    made_operation(m, TS_EVENT_GPU_FREE, D0, at * US, at * US, &value, 1);
}

static void memory_full(made *m, bool bad)
{
    fact(m, D0, "memory_bytes", 1000 * MIB);
    launch_at(m, "k", 0, 100);
    allocate(m, 0x1000, (bad ? 950 : 800) * (uint64_t)MIB, 50);
}

// At the peak, of 600 MiB, 299 MiB between two blocks are known to be free.
static void memory_fragmented(made *m, bool bad)
{
    const uint64_t part = 300 * (uint64_t)MIB;
    launch_at(m, "k", 0, 100);
    allocate(m, 0x1000, part, 10);
    allocate(m, 0x1000 + part, part - MIB, 20);
    release(m, 0x1000 + part, 30);
    allocate(m, 0x1000 + (bad ? 2 * part : part), part, 40);
    if (bad) return;
    allocate(m, 0x1000 + 3 * part, part, 50);
}

// Six steps of 100 us; good: one frees what it allocated.
static void steps(made *m, int64_t which, int64_t slow)
{
    static const char *const names[] = { "ProfilerStep#1", "ProfilerStep#2",
                                         "ProfilerStep#3", "ProfilerStep#4",
                                         "ProfilerStep#5", "ProfilerStep#6" };
    int64_t at = 0;
    for (int64_t i = 0; i < 6; i++) {
        const int64_t length = i == which ? slow : 100;
        launch_at(m, "k", at, 10);
        launch_at(m, "k", at + length - 30, 10);
        zone_at(m, HOST, names[i], at, at + length - 1);
        at += length;
    }
}

static void memory_growth(made *m, bool bad)
{
    steps(m, 3, 100);
    for (int64_t i = 0; i < 6; i++)
        allocate(m, 0x1000000 * (uint64_t)(i + 1), MIB, 100 * i + 50);
    if (!bad) release(m, 0x2000000, 450);
}

static void slow_step(made *m, bool bad)
{
    steps(m, 3, bad ? 400 : 110);
}

static void slow_start(made *m, bool bad)
{
    steps(m, 0, 400);
}

/* ---- The trace itself --------------------------------------------------- */

static void trace_losses(made *m, bool bad)
{
    launch_at(m, "k", 0, 2);
    ts_writer_loss(m->w, HOST, bad ? TS_LOSS_RING_FULL : TS_LOSS_BLOCKED, 0, 7,
                   100 * US, 200 * US);
}

// 12 us of each of 19 periods.
static void profiler_overhead(made *m, bool bad)
{
    const char *const name = bad ? "profiler overhead" : "other";
    const ts_track_entry track = { .type = TS_TRACK_THREAD,
                                   .parent = PROCESS,
                                   .name = made_name(m, name) };
    ts_writer_track(m->w, 40, &track);
    for (int64_t i = 0; i < 20; i++) {
        launch_at(m, "k", 20 * i, 2);
        zone_at(m, 40, "Buffer Flush", 20 * i + 6, 20 * i + 18);
    }
}

// Nothing says what kernels without a call and without a stream before them
// waited for.
static void unexplained_idle(made *m, bool bad)
{
    for (int64_t i = 0; i < 10; i++) {
        m->correlation = 0;
        if (bad)
            kernel_at(m, S0, "k", 100 * i, 100 * i + 10);
        else
            launch_at(m, "k", 100 * i, 10);
    }
}

static void estimated_times(made *m, bool bad)
{
    launch_at(m, "k", 0, 2);
    ts_writer_metadata(m->w, 0, bad ? "chakra.times" : "times", TS_VALUE_TEXT,
                       made_name(m, "estimated"));
}

static const advice_case cases[] = {
    { "exposed-communication", exposed_communication, 51,
      "exposed-communication.share=50%", 57 },
    { "small-collectives", small_collectives, 66, "small-collectives.size=2048",
      6 },
    { "collective-skew", collective_skew, 180, "collective-skew.count=13",
      116 },
    { "device-imbalance", device_imbalance, 100, "device-imbalance.excess=40%",
      6 },
    { "unused-device", unused_device, NO_GAIN, "unused-device.count=2", 6 },
    { "memory-full", memory_full, NO_GAIN, "memory-full.share=96%", 50 },
    { "memory-fragmented", memory_fragmented, NO_GAIN,
      "memory-fragmented.size=300MiB", 40 },
    { "memory-growth", memory_growth, NO_GAIN, "memory-growth.size=6MiB", 86 },
    { "slow-step", slow_step, NO_GAIN, "slow-step.excess=400%", 286 },
    { "trace-losses", trace_losses, NO_GAIN, "trace-losses.count=8", 100 },
    { "profiler-overhead", profiler_overhead, 228, "advice.min-gain=70%", 6 },
    { "unexplained-idle", unexplained_idle, NO_GAIN,
      "unexplained-idle.share=101%", 0 },
    { "estimated-times", estimated_times, NO_GAIN, NULL, 6 },
};
enum { CASES = sizeof cases / sizeof *cases };

UNIT_TEST(each_rule_fires_with_its_gain_or_not_at_all)
{
    check_cases(cases, CASES);
}

UNIT_TEST(a_heap_that_grows_is_named_by_its_process)
{
    enum { SECOND = 90, ITS_THREAD };
    advised x;
    memset(&x, 0, sizeof x);
    made *const m = &x.files[x.count++];
    made_begin(m, 1000000000);
    const ts_track_entry process = { .type = TS_TRACK_PROCESS, .number = 7 };
    const ts_track_entry thread = { .type = TS_TRACK_THREAD, .parent = SECOND };
    ts_writer_track(m->w, SECOND, &process);
    ts_writer_track(m->w, ITS_THREAD, &thread);
    steps(m, 3, 100);
    for (int i = 0; i < 6; i++) { // the first process holds what it took
        const ts_writer_value values[] = { { TS_COLUMN_ADDRESS,
                                             0x1000000 * (uint64_t)(i + 1) },
                                           { TS_COLUMN_SIZE, MIB } };
        const int64_t at = (100 * i + 50) * US;
        ts_writer_event(m->w, TS_EVENT_ALLOC, HOST, 50 * US + i, 0, values, 2);
        ts_writer_event(m->w, TS_EVENT_ALLOC, ITS_THREAD, at, 0, values, 2);
    }
    advised_run(&x, "memory-growth", NULL);
    assert_int_equal(1, x.a.finding_count);
    assert_non_null(strstr(x.a.findings[0].what.text,
                           "The heap of process 7 holds 1.000 MiB after the "
                           "first of 6 steps"));
    ADVICE(&x);
    advised_close(&x);
}

/* ---- straggler: more than one trace ------------------------------------- */

/*
    Four rounds of a kernel of 100 us and a collective of 10, 1 us apart, all
    launched at the start. If bad, the kernels of rank 2 take 150 us: from one
    collective to the next it has 152 us, the others 102.
*/
static void add_rank(advised *x, bool bad)
{
    const size_t rank = x->count++;
    made *const m = &x->files[rank];
    made_begin(m, 1000000000);
    fact(m, 0, "rank", rank);
    const int64_t latest = bad ? 150 : 100;
    const int64_t length = bad && rank == 2 ? 150 : 100;
    for (int64_t i = 0; i < 4; i++) {
        const int64_t at = 6 + i * (latest + 12);
        call_at(m, HOST, "cudaLaunchKernel", 4 * i, 4 * i + 1);
        kernel_at(m, S0, "k", at, at + length);
        call_at(m, HOST, "ncclAllReduce", 4 * i + 2, 4 * i + 3);
        collective_at(m, S0, (uint64_t)i + 1, MIB, 3, at + length + 1,
                      at + latest + 11);
    }
}

UNIT_TEST(a_rank_that_all_wait_for_is_named)
{
    for (int bad = 0; bad < 2; bad++) {
        advised x;
        memset(&x, 0, sizeof x);
        for (int rank = 0; rank < 3; rank++)
            add_rank(&x, bad);
        advised_run(&x, "straggler", NULL);
        assert_int_equal(bad, x.a.finding_count);
        if (bad) {
            const advice_finding *const f = &x.a.findings[0];
            assert_string_equal("all ranks wait for rank 2", f->title.text);
            assert_int_equal(2, f->evidence.file);
            // 150 us times 102 / 152 are 100.658 us, in each of four rounds.
            assert_int_equal(4 * (150000 - 100658), f->gain_ns);
        }
        ADVICE(&x);
        advised_close(&x);
    }
}

// Rank 2 comes 6 us late to each of four collectives, 200 us apart: that gains
// far less than the setting asks for.
UNIT_TEST(a_straggler_is_named_however_little_it_gains)
{
    advised x;
    memset(&x, 0, sizeof x);
    for (int rank = 0; rank < 3; rank++) {
        made *const m = &x.files[x.count++];
        made_begin(m, 1000000000);
        fact(m, 0, "rank", (uint64_t)rank);
        for (int64_t i = 0; i < 4; i++) {
            const int64_t at = 300 + i * 200, late = rank == 2 ? 6 : 0;
            call_at(m, HOST, "ncclAllReduce", at - 50, at - 48);
            collective_at(m, S0, (uint64_t)i + 1, MIB, 3, at + late, at + 20);
        }
    }
    advised_run(&x, "straggler", "advice.min-gain=90%");
    assert_int_equal(1, x.a.finding_count);
    assert_string_equal("all ranks wait for rank 2",
                        x.a.findings[0].title.text);
    assert_true(x.a.findings[0].has_gain);
    assert_int_equal(0, x.a.dropped_count);
    ADVICE(&x);
    advised_close(&x);
}

/*
    Rank 2 begins 100 us after the others and waits for nobody. From one
    collective to the next all of them take 90 us, so that no change of what it
    does makes it like the others.
*/
UNIT_TEST(a_straggler_that_does_no_more_has_no_gain)
{
    advised x;
    memset(&x, 0, sizeof x);
    for (int rank = 0; rank < 3; rank++) {
        made *const m = &x.files[x.count++];
        made_begin(m, 1000000000);
        fact(m, 0, "rank", (uint64_t)rank);
        for (int64_t i = 0; i < 4; i++) {
            const int64_t at = 300 + i * 200;
            const int64_t late = rank == 2 ? (i ? 1 : 100) : 0;
            call_at(m, HOST, "ncclAllReduce", at - 50, at - 48);
            collective_at(m, S0, (uint64_t)i + 1, MIB, 3, at + late,
                          at + 110 + (rank == 2));
        }
    }
    advised_run(&x, "straggler", NULL);
    assert_int_equal(1, x.a.finding_count);
    const advice_finding *const f = &x.a.findings[0];
    assert_string_equal("all ranks wait for rank 2", f->title.text);
    assert_false(f->has_gain);
    assert_int_equal(0, f->change_count);
    assert_int_equal(REPORT_WARNING, f->severity);
    assert_non_null(strstr(f->how.text, "no gain computed"));
    assert_non_null(strstr(f->todo.text, "why it starts late"));
    ADVICE(&x);
    advised_close(&x);
}

/*
    Two rounds of a kernel of 100 us and a collective of 10, 1 us apart, all
    launched at once, 100 us later on rank 2 if bad, whose record begins then.
*/
static void add_late_rank(advised *x, bool bad)
{
    const size_t rank = x->count++;
    made *const m = &x->files[rank];
    made_begin(m, 1000000000);
    fact(m, 0, "rank", rank);
    const int64_t all = bad ? 100 : 0, late = rank == 2 ? all : 0;
    for (int64_t i = 0; i < 2; i++) {
        const int64_t begin = i ? 118 + all : 6 + late;
        const int64_t end = (i ? 218 : 106) + all;
        call_at(m, HOST, "cudaLaunchKernel", 4 * i + late, 4 * i + 1 + late);
        kernel_at(m, S0, "k", begin, begin + 100);
        call_at(m, HOST, "ncclAllReduce", 4 * i + 2 + late, 4 * i + 3 + late);
        collective_at(m, S0, (uint64_t)i + 1, MIB, 3, begin + 101, end + 11);
    }
}

UNIT_TEST(what_is_before_the_record_of_a_rank_is_no_work)
{
    for (int bad = 0; bad < 2; bad++) {
        advised x;
        memset(&x, 0, sizeof x);
        for (int rank = 0; rank < 3; rank++)
            add_late_rank(&x, bad);
        advised_run(&x, "late-begin", NULL);
        assert_int_equal(bad, x.a.finding_count);
        // From the first operation, at 6, to the first call of rank 2.
        assert_int_equal(bad ? (100 - 6) * US : 0,
                         x.a.cost_ns[TS_COST_UNEXPLAINED]);
        if (bad) {
            const advice_finding *const f = &x.a.findings[0];
            assert_int_equal(100 * US, f->gain_ns);
            assert_int_equal(2, f->evidence.file);
            assert_int_equal(REPORT_MEDIUM, f->confidence);
        }
        ADVICE(&x);
        advised_close(&x);
    }
}

// The calls of three ranks are set against the time of three.
UNIT_TEST(shares_of_sums_over_ranks_are_of_all_their_time)
{
    advised x;
    memset(&x, 0, sizeof x);
    for (int rank = 0; rank < 3; rank++) {
        made *const m = &x.files[x.count++];
        made_begin(m, 1000000000);
        fact(m, 0, "rank", (uint64_t)rank);
        for (int64_t i = 0; i < 40; i++)
            launch_at(m, "k", 40 * i, 30);
    }
    advised_run(&x, "launch-overhead", NULL);
    assert_int_equal(3, x.a.process_count);
    assert_int_equal(3 * (39 * 40 + 36) * US, x.a.process_ns);
    assert_in_range(x.a.recorded_ns, 1, (39 * 40 + 36) * US);
    ADVICE(&x);
    advised_close(&x);
}

/* ---- model-error --------------------------------------------------------- */

UNIT_TEST(a_model_that_is_off_is_said_to_be)
{
    advised x;
    memset(&x, 0, sizeof x);
    made_begin(&x.files[0], 0);
    x.count = 1;
    for (int64_t i = 0; i < 20; i++)
        launch_at(&x.files[0], "k", 20 * i, 2);
    advised_run(&x, "model-error", NULL);
    assert_int_equal(0, x.a.finding_count); // it is exact
    x.a.makespan_ns += x.a.makespan_ns / 20;
    const advice_rule *rule = advice_rules;
    while (strcmp(rule->id, "model-error"))
        rule++;
    rule->check(&x.a, rule); // as if it were off by 5 %
    assert_int_equal(1, x.a.finding_count);
    assert_true(x.a.findings[0].trust);
    ADVICE(&x);
    advised_close(&x);
}

UNIT_TEST(a_slow_first_step_warms_up)
{
    advised x;
    advised_scene(&x, slow_start, true);
    advised_run(&x, "slow-step", NULL);
    assert_int_equal(1, x.a.finding_count);
    ADVICE(&x);
    advised_close(&x);
}

UNIT_TEST(each_rule_about_ranks_has_a_case)
{
    static const char *const families[] = { "memory", "steps", NULL };
    check_families(cases, CASES, families);
    for (const advice_rule *rule = advice_rules; rule->id; rule++) {
        if (strcmp(rule->family, "ranks") && strcmp(rule->family, "trace"))
            continue;
        if (!strcmp(rule->id, "straggler") || !strcmp(rule->id, "late-begin") ||
            !strcmp(rule->id, "model-error"))
            continue; // tests of their own
        size_t i = 0;
        while (i < CASES && strcmp(cases[i].id, rule->id))
            i++;
        if (i == CASES) fail_msg("no case for %s", rule->id);
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
