/*
    ts_stack.h - numbers the call stacks of threads

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: none.
    Checked with:   Debian 12, x86-64, gcc 12 and clang 14, November 2026;
                    aarch64 in qemu.

    WHAT IT DOES
        Follows the frames of the calling thread, stores each stack once and
        returns its number: for the launches of every backend, and for zones and
        allocations that request it. Frames are addresses in modules; names are
        found when a trace is read (ts-symbolize).

        A frame is found by the unwind table of its code. What a table says of
        an address is cached, so that a frame costs a few nanoseconds. Where a
        table says that code keeps its frame pointer, that is followed, which
        takes half as long. Where code has no table, as code made at run time,
        its frame pointer is tried: the kernel reads it, so that a wrong one
        ends the stack, not the program.

        Nothing here takes a lock, allocates, or calls a function of the loader
        that does. So it may be called wherever a launch is possible: in a
        signal handler, inside malloc, in a callback of dl_iterate_phdr, from 64
        threads concurrently. Before a table is used, the module is compared
        with the one that was seen first: another module may have been loaded
        in its place.

    WHAT IT DOES NOT DO
        It looks up no name. It knows no frames of interpreters (Python, Java).
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
        4. Implementation               private: stack/README.md
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
    TRACESMITH_UNWIND                 the same, with TRACESMITH_IMPLEMENTATION
    TRACESMITH_UNWIND_OUTSIDE         stacks begin outside the module that
                                      this is compiled into: for a library in
                                      somebody else's program
    TRACESMITH_LIBUNWIND              libunwind finds the frames, in place of
                                      the code here; link with -lunwind

    Without the functions launches have no stacks. The code here knows x86-64
    and aarch64 with Linux; other machines need libunwind, and ts_stack_problem
    says so. libunwind takes locks and may allocate: with it stacks must not be
    taken in signal handlers or inside malloc.
*/

/* ==== 2. Stacks ========================================================== */

enum { TS_STACK_DEEPEST = 256 }; // frames stored of a stack, the innermost ones

/*
    Returns the number of the calling thread's stack, a new one if it is seen
    for the first time. The caller's frame is the innermost; `skip` innermost
    frames are left out, and at most `depth` frames are stored.

    Threads: any; signal handlers too. Takes 7 KiB of stack, 9 KiB where code
             lies in no module, and 11 KiB where a module is seen for the first
             time.
    Errors:  0 while nothing is recorded, for a depth of 0, without frames, and
             when no more stacks can be stored (the trace counts these).
*/
TS_API uint32_t ts_stack_here(uint32_t skip, uint32_t depth);

/*
    Writes the addresses of the same frames, whether or not a session records:
    of the current instruction, and for callers of the last byte of the call.
    Returns how many, at most `room`; 0: none are found.

    Threads: any; signal handlers too.
*/
TS_API uint32_t ts_stack_addresses(uint64_t *addresses, uint32_t room,
                                   uint32_t skip);

// From now on each launch that a backend records has a stack of at most `depth`
// frames; 0: none. Threads: any.
TS_API void ts_stack_launches(uint32_t depth);

// Why there are no stacks, one clause of text; NULL: there are. Threads: any.
TS_API const char *ts_stack_problem(void);

/* ==== 3. Zones and allocations =========================================== */

/*
    TS_ZONE_STACK()       the innermost zone has this stack, 32 frames of it
    TS_ALLOC_STACK(ptr, size[, pool[, category]])  as TS_ALLOC, with the stack

    While nothing records they evaluate no arguments. With TRACESMITH_DISABLE
    the types of the arguments are still checked.
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
