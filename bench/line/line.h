/*
    line.h - an instrumented line, and its limit, for any compiler

    A zone in a loop, a zone that is all of its function, and what nobody can go
    below: two clock reads, 16 bytes stored, the head released. In C and C++.
*/
#ifndef TS_BENCH_LINE_H
#define TS_BENCH_LINE_H

#include "tracesmith.h"

// The cheapest clock read.
static inline uint64_t line_tick(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t tick;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(tick));
    return tick;
#else
    return ts_tick_now();
#endif
}

#ifdef __cplusplus
extern "C" {
#endif
typedef struct line_slot {
    uint64_t a, b;
} line_slot;

typedef struct line_ring {
    uint64_t head, mask;
    line_slot *slots;
} line_ring;

void line_yard(line_ring *ring, uint64_t count);
void line_loop(line_ring *ring, uint64_t count);
void line_own(line_ring *ring, uint64_t count);
void line_marks(line_ring *ring, uint64_t count);
#ifdef __cplusplus
}
#endif

#endif // TS_BENCH_LINE_H
