// The same stacks with a C library whose loader takes a lock to answer.
#define TS__STACK_OLD
#include "tests/backends/stack/test_stack.c"
