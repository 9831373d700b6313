// What backends share that read a vendor's records.
#define _GNU_SOURCE
#include "tests/rectest.h"

#include "backends/ts_records.h"

typedef struct note {
    uint64_t a, b;
} note;

static void a_note_is_found_until_its_place_is_needed(void **state)
{
    (void)state;
    ts__notes notes = { 0 };
    note n = { 0, 0 };
    assert_false(ts__notes_get(&notes, 7, &n));
    assert_true(ts__notes_open(&notes, 16, sizeof n));
    assert_false(ts__notes_get(&notes, 7, &n));
    const note first = { 1, 2 }, second = { 3, 4 };
    ts__notes_put(&notes, 7, &first);
    assert_true(ts__notes_get(&notes, 7, &n) && n.a == 1 && n.b == 2);
    assert_true(ts__notes_get(&notes, 7, &n)); // many records of one call
    ts__notes_put(&notes, 7 + 16, &second);
    assert_false(ts__notes_get(&notes, 7, &n));
    assert_true(ts__notes_get(&notes, 7 + 16, &n) && n.a == 3 && n.b == 4);
    assert_false(ts__notes_get(&notes, 0, &n));
    free(notes.slots);
}

static ts__notes shared;

static void *write_notes(void *start)
{
    for (uint64_t key = (uintptr_t)start; key < 40000; key += 2) {
        const note n = { key, ~key };
        ts__notes_put(&shared, key, &n);
    }
    return NULL;
}

static void a_note_is_whole_while_others_write(void **state)
{
    (void)state;
    pthread_t threads[2];
    note n;
    uint64_t found = 0;
    assert_true(ts__notes_open(&shared, 8, sizeof n));
    for (uintptr_t i = 0; i < 2; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, write_notes, (void *)(i + 1)), 0);
    for (uint64_t key = 1; key < 40000; key++)
        if (ts__notes_get(&shared, key, &n)) {
            assert_true(n.a == key && n.b == ~key);
            found++;
        }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (uint64_t key = 39990; key < 40000; key++)
        found += ts__notes_get(&shared, key, &n);
    assert_true(found > 0);
    free(shared.slots);
}

static void losses_reach_the_ledger_once_by_cause(void **state)
{
    (void)state;
    static ts__shortfall lost[] = { { .detail = "no time" },
                                    { .detail = "none" } };
    const ts_session_desc desc = { 0 };
    const char *const path = rt_start("lost.sbt", desc);
    ts__lose(&lost[0], 2);
    ts__lose(&lost[0], 3);
    ts__shortfall_report(lost, 2, 0);
    ts__shortfall_report(lost, 2, 0); // nothing new
    assert_int_equal(ts_session_stop(), TS_OK);
    rt_trace trace = rt_read(path);
    assert_int_equal(trace.info->lost, 5);
    rt_close(&trace);
}

static uint32_t steps;

static void step(void *argument)
{
    __atomic_add_fetch((uint32_t *)argument, 1, __ATOMIC_RELAXED);
}

static int pipe_ends[2];

static void hang(void *argument)
{
    char byte;
    if (read(pipe_ends[0], &byte, 1) == 1) step(argument);
}

static void a_call_that_hangs_is_left_behind(void **state)
{
    (void)state;
    assert_int_equal(pipe(pipe_ends), 0);
    assert_true(ts__call_bounded(step, &steps, 60000));
    assert_int_equal(steps, 1);
    assert_false(ts__call_bounded(hang, &steps, 10));
    assert_int_equal(__atomic_load_n(&steps, __ATOMIC_RELAXED), 1);
    assert_int_equal(write(pipe_ends[1], "", 1), 1); // it ends by itself
    while (__atomic_load_n(&steps, __ATOMIC_RELAXED) == 1)
        usleep(1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_note_is_found_until_its_place_is_needed),
        cmocka_unit_test(a_note_is_whole_while_others_write),
        cmocka_unit_test(losses_reach_the_ledger_once_by_cause),
        cmocka_unit_test(a_call_that_hangs_is_left_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
