/*
    unit.h - a unit test that registers itself

        UNIT_TEST(a_ring_wraps_around)
        {
            assert_int_equal(...);
        }

        int main(void)
        {
            return unit_run(NULL, NULL);
        }

    Tests run in the order in which the program has them.
*/
#ifndef TS_TESTS_UNIT_H
#define TS_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { UNIT_MOST = 128 };
static struct CMUnitTest unit_tests[UNIT_MOST];
static size_t unit_places[UNIT_MOST], unit_count;

// Registers a test. Compilers may run constructors in another order than they
// stand in; `place` rises from test to test.
__attribute__((unused)) static void unit_add(size_t place,
                                             const struct CMUnitTest *test)
{
    size_t at = unit_count++;
    if (unit_count > UNIT_MOST) abort();
    for (; at && unit_places[at - 1] > place; at--) {
        unit_places[at] = unit_places[at - 1];
        unit_tests[at] = unit_tests[at - 1];
    }
    unit_places[at] = place;
    unit_tests[at] = *test;
}

// Runs the tests; what main returns. `before` and `after` are called around all
// of them (NULL: none).
__attribute__((unused)) static int unit_run(CMFixtureFunction before,
                                            CMFixtureFunction after)
{
    return _cmocka_run_group_tests("tests", unit_tests, unit_count, before,
                                   after);
}

// Runs each test in a process of its own, for tests that change what a process
// has only once, such as a library that stays loaded, a table that is never
// emptied or a driver that hangs. None of them can depend on another.
__attribute__((unused)) static int unit_run_alone(CMFixtureFunction before,
                                                  CMFixtureFunction after)
{
    int failed = 0;
    for (size_t i = 0; i < unit_count; i++) {
        int status = 0;
        fflush(NULL); // the child must not print it again
        const pid_t child = fork();
        if (child == 0)
            exit(_cmocka_run_group_tests("tests", &unit_tests[i], 1, before,
                                         after));
        if (child < 0 || waitpid(child, &status, 0) != child || status) {
            if (child < 0 || WIFSIGNALED(status))
                fprintf(stderr, "%s: it ended without a result\n",
                        unit_tests[i].name);
            failed++;
        }
    }
    return failed;
}

// What is called after each test. A fixture may define another function.
#define UNIT_AFTER      NULL
#define UNIT_TEST(name) UNIT_TEST_WITHIN(name, NULL, UNIT_AFTER)
// The same, with functions that are called before and after this one test.
#define UNIT_TEST_WITHIN(name, before, after) \
    static void name(void **unit_state); \
    __attribute__((constructor)) static void unit_add_##name(void) \
    { \
        const struct CMUnitTest test = { #name, name, before, after, NULL }; \
        unit_add(__COUNTER__, &test); \
    } \
    static void name(void **unit_state)

#endif
