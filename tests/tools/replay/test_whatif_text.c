/*
    test_whatif_text.c - what ts-replay --what-if prints: how far the model of
    a trace, and each change of it, can be trusted

    Word for word in test_whatif_text.txt; UPDATE=1 rewrites it.
*/
#define _GNU_SOURCE // open_memstream
#include "tests/replay/model/model_forge.h"
#include "tests/tools/analyze/report_expected.h"
#include "tools/replay/whatif/whatif.h"

static const cli_tool tool = { .name = "test" };

static char *print(ts_replay *replay, const whatif *list, size_t count)
{
    char *text = NULL;
    size_t size;
    whatif_report report;
    assert_int_equal(TS_OK, whatif_run(replay, list, count, &report));
    FILE *const out = open_memstream(&text, &size);
    assert_non_null(out);
    whatif_print(out, &report);
    assert_int_equal(0, fclose(out));
    whatif_report_close(&report);
    return text;
}

// Prints the model, and up to two changes of it; closes the trace.
static void says(const char *test, fixture *x, const char *one, const char *two)
{
    const char *const texts[] = { one, two };
    whatif list[2];
    size_t count = 0;
    for (; count < 2 && texts[count]; count++)
        assert_true(whatif_read(&tool, texts[count], &list[count]));
    report_check(__FILE__, test, print(x->replay, list, count), NULL, 0);
    for (size_t i = 0; i < count; i++)
        whatif_close(&list[i]);
    work_close(x);
}
#define SAYS(x, one, two) says(__func__, &(x), one, two)

// Twenty kernels as in `steady`, and room for what is different.
typedef struct work {
    op ops[KERNELS + 2];
    call calls[KERNELS + 2];
    uint32_t op_count, call_count;
} work;

static work begin(void)
{
    work w = { .op_count = KERNELS, .call_count = KERNELS };
    steady_work(w.ops, w.calls);
    return w;
}

static fixture open_work(const work *w)
{
    return work_with(w->ops, w->op_count, w->calls, w->call_count, NULL, 0);
}

static void add_call(work *w, uint64_t start, const char *name)
{
    const call c = { HOST, start, start + US, w->call_count + 1, name };
    w->calls[w->call_count++] = c;
}

UNIT_TEST(a_regular_trace_is_trusted_a_rare_delay_is_not)
{
    fixture x = steady();
    SAYS(x, "host 0", "scale kernel~.*=1.05");
}

UNIT_TEST(a_wait_without_a_recorded_cause)
{
    work w = begin();
    for (uint32_t i = 10; i < KERNELS; i++) {
        w.ops[i].start = (306 + 11 * ((uint64_t)i - 10)) * US;
        w.ops[i].end = w.ops[i].start + 10 * US;
    }
    fixture x = open_work(&w);
    SAYS(x, NULL, NULL);
}

UNIT_TEST(delays_that_fit_no_constant)
{
    work w = begin();
    for (uint32_t i = 3; i < KERNELS; i += 5)
        w.ops[i].start += 3 * US, w.ops[i].end += 3 * US;
    fixture x = open_work(&w);
    SAYS(x, NULL, NULL);
}

// Kernels that were launched early, but began as one of another stream ended.
UNIT_TEST(edges_that_are_inferred_from_times)
{
    work w = begin();
    for (uint32_t i = 0; i + 1 < KERNELS; i += 4) {
        w.ops[i].end += 60 * US;
        w.ops[i + 1].track = S0 + 1;
        w.ops[i + 1].start = w.ops[i].end + 1 * US;
        w.ops[i + 1].end = w.ops[i + 1].start + 2 * US;
        w.ops[i + 2].track = w.ops[i + 3].track = S0 + 2;
    }
    fixture x = open_work(&w);
    SAYS(x, NULL, NULL);
}

UNIT_TEST(operations_without_a_call)
{
    work w = begin();
    w.ops[3].correlation = 0;
    fixture x = open_work(&w);
    SAYS(x, NULL, NULL);
    w.ops[4].correlation = 0;
    x = open_work(&w);
    SAYS(x, NULL, NULL);
}

static void add_wait(work *w, uint64_t at)
{
    add_call(w, at, "wait");
    const op o = { W, S0, at + 5 * US, at + 5 * US, UNKNOWN, w->call_count,
                   7, 999 };
    w->ops[w->op_count++] = o;
}

UNIT_TEST(waits_whose_event_is_not_in_the_trace)
{
    work w = begin();
    add_wait(&w, 393 * US);
    fixture x = open_work(&w);
    SAYS(x, NULL, NULL);
    add_wait(&w, 395 * US);
    x = open_work(&w);
    SAYS(x, NULL, NULL);
}

static void add_sync(work *w, uint64_t at, uint64_t end)
{
    add_call(w, at, "sync");
    w->calls[w->call_count - 1].end = end + US;
    const op o = { DS, D0, at, end, UNKNOWN, w->call_count };
    w->ops[w->op_count++] = o;
}

UNIT_TEST(syncs_of_a_device_that_two_threads_use)
{
    work w = begin();
    w.calls[0].thread = OTHER;
    w.calls[0].end = w.calls[1].start = 2 * US;
    add_sync(&w, 386 * US, 397 * US);
    fixture x = open_work(&w);
    SAYS(x, NULL, NULL);
    add_sync(&w, 398 * US, 399 * US);
    x = open_work(&w);
    SAYS(x, NULL, NULL);
}

UNIT_TEST(launches_whose_operations_are_missing_may_run_between)
{
    work w = begin();
    w.calls[KERNELS - 1].name = "cudaMemcpyAsync";
    w.ops[KERNELS - 1].kind = TS_EVENT_MEMCPY;
    add_call(&w, 393 * US, "cudaMemcpyAsync");
    fixture x = open_work(&w);
    SAYS(x, "serialise", NULL);
}

UNIT_TEST(collectives_that_are_matched_by_name)
{
    work w = begin();
    for (uint32_t i = 0; i < 4; i++) {
        op *const o = &w.ops[i];
        o->kind = TS_EVENT_COLLECTIVE;
        o->name = "all_reduce";
        o->ranks = 2;
        if (i % 2) o->track = T0;
    }
    fixture x = open_work(&w);
    SAYS(x, NULL, NULL);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
