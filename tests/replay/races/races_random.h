/*
    races_random.h - random scenes for races_forge.h
*/
#ifndef RACES_RANDOM_H
#define RACES_RANDOM_H

#include "tests/replay/races/races_forge.h"

static uint64_t dice_state;
static inline uint32_t dice(uint32_t sides)
{
    dice_state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = dice_state;
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return (uint32_t)((z ^ z >> 31) % sides);
}

enum { MOST = 60 };

// Kernels, memsets, events and syncs of two threads on a few streams; not all
// in the order in which a device would run them.
static inline size_t random_acts(act *acts)
{
    static const uint32_t streams[] = { S0, S1, S2, S3, T0, FREE, LEGACY };
    const size_t count = 2 + dice(MOST - 2);
    const uint32_t kinds = 4 + dice(16), lanes = 2 + dice(6);
    for (size_t i = 0; i < count; i++) {
        static const ts_event_kind other[] = { R, W, SS, ES, DS };
        const uint32_t kind = dice(kinds);
        const int64_t at = 10 * (int64_t)i;
        act a = { kind < 5 ? other[kind] : K,
                  streams[dice(lanes)],
                  at + 3 + dice(30),
                  0,
                  at,
                  .mode = 0 };
        a.end = a.start + dice(20);
        a.thread = dice(5) ? HOST : OTHER;
        a.id = a.kind == K ? 0 : 1 + dice(3);
        if (a.kind == DS) a.track = dice(2) ? D0 : C1;
        if ((a.kind == SS || a.kind == ES || a.kind == DS)) {
            a.start = at;
            a.back = a.end + 1;
        }
        if (a.kind == K) {
            a.address = 0x1000 + dice(64);
            a.size = 1 + dice(dice(4) ? 4 : 64);
            a.mode = 1 + dice(3);
        }
        acts[i] = a;
    }
    return count;
}

#endif // RACES_RANDOM_H
