/*
    stack/unknown_machine.h - no stacks: neither tables nor libunwind

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__STACK_UNKNOWN_MACHINE_H
#define TS__STACK_UNKNOWN_MACHINE_H

#include <stdint.h>

uint32_t ts_stack_here(uint32_t skip, uint32_t depth)
{
    (void)skip;
    (void)depth;
    return 0;
}

uint32_t ts_stack_addresses(uint64_t *addresses, uint32_t room, uint32_t skip)
{
    (void)addresses;
    (void)room;
    (void)skip;
    return 0;
}

void ts_stack_launches(uint32_t depth)
{
    (void)depth;
}

const char *ts_stack_problem(void)
{
    return "call stacks are supported on Linux x86-64 and aarch64 only; "
           "elsewhere define TRACESMITH_LIBUNWIND";
}

#endif // TS__STACK_UNKNOWN_MACHINE_H
