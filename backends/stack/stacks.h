/*
    stack/stacks.h - stacks, and their numbers

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__STACK_STACKS_H
#define TS__STACK_STACKS_H

#include "tracesmith.h"
#include "../ts_stack.h"
#include "frames.h"
#include "machine.h"
#include "modules.h"

/* ==== 1. A known chain =================================================== */

// Unwind tables may be missing (-fno-asynchronous-unwind-tables, stripped
// programs) or have an unsupported form. So the first stack taken is that of
// two functions here, whose return addresses are known.
static uint32_t ts__stack_state; // 0: not tried, 1: works, 2: does not

static __attribute__((noinline)) bool ts__stack_try(const void *outer)
{
    ts_frame_entry frames[2];
    TS__STACK_BEGIN(w);
    const uint32_t count = ts__stack_frames(&w, frames, 0, 2, false);
    const void *const inner = __builtin_return_address(0);
    return count == 2 && frames[0].offset + 1 == (uint64_t)(uintptr_t)inner &&
           frames[1].offset + 1 == (uint64_t)(uintptr_t)outer;
}

static __attribute__((noinline)) bool ts__stack_test(void)
{
    const bool good = ts__stack_try(__builtin_return_address(0));
    TS__STORE(&ts__stack_state, good ? 1u : 2u);
    return good;
}

static inline bool ts__stack_works(void)
{
    const uint32_t state = TS__LOAD(&ts__stack_state);
    return TS__LIKELY(state == 1) || (!state && ts__stack_test());
}

/* ==== 2. Numbers ========================================================= */

static TS__STACK_PLAIN uint32_t ts__stack_number(ts__stack_walk *w,
                                                 uint32_t skip, uint32_t depth)
{
    ts_frame_entry frames[TS_STACK_DEEPEST];
    if (depth > TS_STACK_DEEPEST) depth = TS_STACK_DEEPEST;
    if (!depth || !TS__LOAD(&ts__here.gate) || !ts__stack_works()) return 0;
    const uint32_t count =
        ts__stack_frames(w, frames, skip, depth, TS__STACK_OUTSIDE);
    uint32_t words[TS__STACK_WORDS], at = 0, place = 0, number = 0;
    uint64_t start = 0, wide = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (TS__UNLIKELY(frames[i].module != place)) {
            place = frames[i].module;
            start = ts__stack_modules[place].start;
            if (ts__stack_modules[place].number != number) {
                number = ts__stack_modules[place].number;
                words[at++] = TS__STACK_WHERE(number, 0);
            }
            wide |= number >> 14;
        }
        const uint64_t offset = frames[i].offset - start;
        wide |= offset >> 31;
        words[at++] = (uint32_t)offset;
    }
    if (TS__LIKELY(!wide)) return ts__stack_get(words, at);
    for (uint32_t i = 0; i < count; i++) {
        const ts__stack_module *const m = &ts__stack_modules[frames[i].module];
        frames[i].offset -= m->start;
        frames[i].module = m->number;
    }
    return ts_stack_define(frames, count);
}

__attribute__((noinline)) uint32_t ts_stack_here(uint32_t skip, uint32_t depth)
{
    TS__STACK_BEGIN(w);
    return ts__stack_number(&w, skip, depth);
}

__attribute__((noinline)) uint32_t
ts_stack_addresses(uint64_t *addresses, uint32_t room, uint32_t skip)
{
    ts_frame_entry frames[TS_STACK_DEEPEST];
    TS__STACK_BEGIN(w);
    if (room > TS_STACK_DEEPEST) room = TS_STACK_DEEPEST;
    if (!ts__stack_works()) return 0;
    const uint32_t count =
        ts__stack_frames(&w, frames, skip, room, TS__STACK_OUTSIDE);
    for (uint32_t i = 0; i < count; i++)
        addresses[i] = frames[i].offset;
    return count;
}

static uint32_t ts__stack_depth; // depth of the stacks of launches

// Called by ts_gpu_origin_here, whose own frame is left out.
static __attribute__((noinline)) uint32_t ts__stack_of_launch(void)
{
    TS__STACK_BEGIN(w);
    return ts__stack_number(&w, 1, TS__LOAD(&ts__stack_depth));
}

void ts_stack_launches(uint32_t depth)
{
    TS__STORE(&ts__stack_depth, depth);
    if (depth) ts__stack_works(); // tested now rather than at the first launch
    ts_gpu_origin_stacks(depth ? ts__stack_of_launch : NULL);
}

const char *ts_stack_problem(void)
{
    return ts__stack_works() ? NULL
                             : "the program has no unwind tables, or they "
                               "cannot be read";
}

#endif // TS__STACK_STACKS_H
