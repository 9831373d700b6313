/*
    filter.c - loaded into a test program, limits it to the tests that
    TEST_FILTER names (a pattern with * and ?); tests/one.sh uses it
*/
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

__attribute__((constructor)) static void filter(void)
{
    cmocka_set_test_filter(getenv("TEST_FILTER"));
    unsetenv("LD_PRELOAD"); // programs that a test starts are as always
}
