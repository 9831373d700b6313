/*
    line.c - what line.h declares; compiled once for each compiler, language and
    kind of object by bench/compilers.sh
*/
#include "bench/line/line.h"

#define BARRIER() __asm__ volatile("" ::: "memory")

void line_yard(line_ring *ring, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t start = line_tick();
        BARRIER();
        line_slot *const slot = &ring->slots[ring->head & ring->mask];
        slot->a = start;
        slot->b = (line_tick() - start) << 32 | 65;
        // release: pairs with the acquire of a real consumer
        __atomic_store_n(&ring->head, ring->head + 1, __ATOMIC_RELEASE);
        BARRIER();
    }
}

void line_loop(line_ring *ring, uint64_t count)
{
    (void)ring;
    for (uint64_t i = 0; i < count; i++) {
        TS_ZONE("in a loop");
        BARRIER();
    }
}

static __attribute__((noinline)) void own(void)
{
    TS_ZONE("the only one of its function");
    BARRIER();
}

void line_own(line_ring *ring, uint64_t count)
{
    (void)ring;
    for (uint64_t i = 0; i < count; i++)
        own();
}

void line_marks(line_ring *ring, uint64_t count)
{
    (void)ring;
    for (uint64_t i = 0; i < count; i++) {
        TS_MARK("mark");
        BARRIER();
    }
}
