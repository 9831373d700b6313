/*
    stack/libunwind.h - stacks by libunwind, on other machines

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__STACK_LIBUNWIND_H
#define TS__STACK_LIBUNWIND_H

#include "tracesmith.h"
#include "../ts_stack.h"
#include "modules.h"

#define UNW_LOCAL_ONLY // libunwind.h requires it to be defined before
#include <libunwind.h>
#include <string.h>

// Stores the frames above the one that called unw_getcontext.
static uint32_t ts__stack_steps(unw_context_t *here, uint64_t *addresses,
                                uint32_t skip, uint32_t room)
{
    unw_cursor_t at;
    unw_word_t pc = 0;
    uint32_t count = 0;
    if (unw_init_local(&at, here) != 0) return 0;
    while (count < room) {
        const bool exact = unw_is_signal_frame(&at) > 0;
        if (unw_step(&at) <= 0 || unw_get_reg(&at, UNW_REG_IP, &pc) != 0 || !pc)
            break;
        if (skip && skip--) continue;
        addresses[count++] = exact ? pc : pc - 1;
    }
    return count;
}

// Returns how many of the first frames are in this module, if those are to be
// left out.
static uint32_t ts__stack_inside(const uint64_t *addresses, uint32_t count)
{
    uint32_t i = 0;
#ifdef TRACESMITH_UNWIND_OUTSIDE
    ts__stack_object own;
    if (!ts__stack_find((uint64_t)(uintptr_t)ts__stack_inside, &own)) return 0;
    while (i < count && addresses[i] >= own.start && addresses[i] < own.end)
        i++;
#else
    (void)addresses;
    (void)count;
#endif
    return i;
}

static uint32_t ts__stack_number(unw_context_t *here, uint32_t skip,
                                 uint32_t depth)
{
    uint64_t addresses[TS_STACK_DEEPEST];
    ts_frame_entry frames[TS_STACK_DEEPEST];
    if (depth > TS_STACK_DEEPEST) depth = TS_STACK_DEEPEST;
    if (!depth || !TS__LOAD(&ts__here.gate)) return 0;
    const uint32_t all =
        ts__stack_steps(here, addresses, skip, TS_STACK_DEEPEST);
    const uint32_t first = ts__stack_inside(addresses, all);
    const uint32_t count = all - first < depth ? all - first : depth;
    memset(frames, 0, sizeof frames);
    for (uint32_t i = 0; i < count; i++) {
        ts__stack_object object;
        const uint64_t at = addresses[first + i];
        const uint32_t module =
            ts__stack_find(at, &object) ? ts__stack_module_get(&object) : 0;
        frames[i].module = ts__stack_modules[module].number;
        frames[i].offset = at - ts__stack_modules[module].start;
    }
    return count ? ts_stack_define(frames, count) : 0;
}

__attribute__((noinline)) uint32_t ts_stack_here(uint32_t skip, uint32_t depth)
{
    unw_context_t here;
    (void)unw_getcontext(&here);
    return ts__stack_number(&here, skip, depth);
}

__attribute__((noinline)) uint32_t
ts_stack_addresses(uint64_t *addresses, uint32_t room, uint32_t skip)
{
    unw_context_t here;
    (void)unw_getcontext(&here);
    if (room > TS_STACK_DEEPEST) room = TS_STACK_DEEPEST;
    const uint32_t count = ts__stack_steps(&here, addresses, skip, room);
    const uint32_t first = ts__stack_inside(addresses, count);
    memmove(addresses, addresses + first, (count - first) * sizeof *addresses);
    return count - first;
}

static uint32_t ts__stack_depth; // depth of the stacks of launches

// Called by ts_gpu_origin_here, whose own frame is left out.
static __attribute__((noinline)) uint32_t ts__stack_of_launch(void)
{
    unw_context_t here;
    (void)unw_getcontext(&here);
    return ts__stack_number(&here, 1, TS__LOAD(&ts__stack_depth));
}

void ts_stack_launches(uint32_t depth)
{
    TS__STORE(&ts__stack_depth, depth);
    ts_gpu_origin_stacks(depth ? ts__stack_of_launch : NULL);
}

const char *ts_stack_problem(void)
{
    uint64_t any[2];
    return ts_stack_addresses(any, 2, 0)
               ? NULL
               : "libunwind finds no frames in this program";
}

#endif // TS__STACK_LIBUNWIND_H
