/*
    ts_stack.h - the call stack of the calling thread, as a number

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: none.
    Checked with:   Debian 12, x86-64, gcc 12 and clang 14, November 2026;
                    aarch64 in qemu.

    WHAT IT DOES
        Follows the frames of the calling thread, keeps each stack once and
        gives its number: for the launches of every backend, and for zones and
        allocations that ask. Frames are addresses in modules; names are found
        when a trace is read (ts-symbolize).

        A frame is found by the unwind table of the code that it belongs to.
        What a table says of an address is kept, so that a frame costs a few
        nanoseconds. Where a table says that code keeps its frame pointer, that
        is followed, which takes half as long. stack/unwind_tables.h, which must
        lie in its folder, reads the tables. Where code has no table, as
        made at run time, its frame pointer is tried, which the kernel reads:
        one that is none ends the stack, not the program.

        Nothing here takes a lock, allocates or calls a loader's function that
        does, so it may be used wherever a launch is possible: in a signal
        handler, inside malloc, in a callback of dl_iterate_phdr, with 64
        threads at once. Before a table is believed, the module is asked
        whether it is still the one that was seen: one that was closed, with
        another in its place, is another module.

    WHAT IT DOES NOT DO
        It looks up no name. It knows no language's own frames (Python, Java).
        A table that computes where a frame lies, as in the jump tables that
        linkers make, ends the stack.

    USE
        #define TRACESMITH_UNWIND
        #define TRACESMITH_IMPLEMENTATION // in one C11 file of a program
        #include "tracesmith.h"
        #include "backends/ts_stack.h"

        static char buffer[4096];
        ts_stack_launches(16);            // from now on, at each launch
        TS_ZONE("step");
        TS_ZONE_STACK();                  // of this zone
        TS_ALLOC_STACK(buffer, sizeof buffer); // in place of TS_ALLOC

    CONTENTS                            search for "==== 2." to jump
        1. Options
        2. Stacks
        3. Zones and allocations
        4. Implementation               private
*/
#if (defined(TRACESMITH_UNWIND_IMPLEMENTATION) || \
     (defined(TRACESMITH_UNWIND) && defined(TRACESMITH_IMPLEMENTATION))) && \
    !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#ifndef TS_STACK_H
#define TS_STACK_H

#include "tracesmith.h"

/* ==== 1. Options ========================================================= */

/*
    TRACESMITH_UNWIND_IMPLEMENTATION  in one C11 or C++17 file: the functions
    TRACESMITH_UNWIND                 the same, beside TRACESMITH_IMPLEMENTATION
    TRACESMITH_UNWIND_OUTSIDE         stacks begin outside the module that
                                      this is compiled into: for a library in
                                      somebody else's program
    TRACESMITH_LIBUNWIND              libunwind finds the frames, in place of
                                      what is here; link with -lunwind

    Without the functions launches have no stacks. Other machines than x86-64
    and aarch64 with Linux have them by libunwind only; ts_stack_problem says
    so. libunwind takes locks and may allocate: then stacks must not be taken
    in signal handlers or within malloc.
*/

/* ==== 2. Stacks ========================================================== */

enum { TS_STACK_DEEPEST = 256 }; // frames kept of a stack, the innermost ones

/*
    The number of the calling thread's stack, made if it is a new one: the
    caller's frame is the innermost, without the first `skip`. At most `depth`
    frames are kept.

    Threads: any; signal handlers too. Takes 7 KiB of stack, 9 KiB where code
             lies in no module, and 11 KiB where a module is seen for the first
             time.
    Errors:  0 while nothing is recorded, for a depth of 0, without frames, and
             when nothing can be kept any more (counted).
*/
TS_API uint32_t ts_stack_here(uint32_t skip, uint32_t depth);

/*
    The same frames as addresses, recorded or not: of the instruction in which
    each was, of the last byte of the call for those that called. Returns how
    many, at most `room`.
*/
TS_API uint32_t ts_stack_addresses(uint64_t *addresses, uint32_t room,
                                   uint32_t skip);

// From now on ts_gpu_origin_here, with which backends say who launched what,
// takes stacks of so many frames; 0: none. Threads: any.
TS_API void ts_stack_launches(uint32_t depth);

// Why there are no stacks, one clause for people; NULL: there are.
TS_API const char *ts_stack_problem(void);

/* ==== 3. Zones and allocations =========================================== */

/*
    TS_ZONE_STACK()       the innermost zone has this stack, 32 frames of it
    TS_ALLOC_STACK(ptr, size[, pool[, category]])  as TS_ALLOC, with the stack

    Off, they evaluate nothing and check the types of their arguments.
*/
#define TS_ZONE_STACK() \
    TS__IF_ON(ts_zone_stack(ts_stack_here(0, 32)), ((void)0))
#define TS_ALLOC_STACK(ptr, ...) \
    TS__IF_ON(TS__ALLOC_STACK(ptr, __VA_ARGS__, 0, 0, 0), \
              (TS__SKIP(ptr), TS__SKIP_NAME(__VA_ARGS__)))
#define TS__ALLOC_STACK(ptr, size, pool, category, ...) \
    do { \
        static uint32_t ts__pool = 0, ts__category = 0; \
        if (TS__LOAD(&ts__here.gate)) \
            ts_alloc_stack(ptr, size, ts__name_once(&ts__pool, pool), \
                           ts__name_once(&ts__category, category), \
                           ts_stack_here(0, 32)); \
    } while (0)

#ifdef TRACESMITH_DISABLE
#define ts_stack_here(skip, depth) \
    TS__GONE(uint32_t, ts_stack_here(skip, depth))
#define ts_stack_addresses(addresses, room, skip) \
    TS__GONE(uint32_t, ts_stack_addresses(addresses, room, skip))
#define ts_stack_launches(depth) TS__GONE_VOID(ts_stack_launches(depth))
#define ts_stack_problem() \
    (TS__GONE_VOID(ts_stack_problem()), "the program is built without them")
#endif

#endif // TS_STACK_H

#if (defined(TRACESMITH_UNWIND_IMPLEMENTATION) || \
     (defined(TRACESMITH_UNWIND) && defined(TRACESMITH_IMPLEMENTATION))) && \
    !defined(TRACESMITH_DISABLE) && !defined(TS__STACK_IMPLEMENTED)
#define TS__STACK_IMPLEMENTED
#include "stack/machine.h"
#ifdef TS__STACK_MACHINE
#include "stack/stacks.h"
#elif defined(TRACESMITH_LIBUNWIND)
#include "stack/libunwind.h"
#else
#include "stack/unknown_machine.h"
#endif
#endif // implementation
