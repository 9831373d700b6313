// The same stacks with a C library that is asked under its loader's lock.
#define TS__STACK_OLD
#include "tests/backends/stack/test_stack.c"
