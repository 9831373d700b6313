// The C side of zone_cost.rs: the same loop with the macro of the header.
#include "tracesmith.h"

void c_zones(uint64_t times);

void c_zones(uint64_t times)
{
    for (uint64_t i = 0; i < times; i++) {
        TS_ZONE("c");
        __asm__ volatile("" ::: "memory");
    }
}
