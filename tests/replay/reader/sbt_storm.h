/*
    sbt_storm.h - a forged trace of many chunks that overlap in time
*/
#ifndef SBT_STORM_H
#define SBT_STORM_H

#include "tests/replay/reader/sbt_forge_events.h"
#include "tracesmith_replay.h"

enum { CHUNKS = 40, ROWS = 100 };

static uint64_t rolled = 88172645463325252u;

static inline uint64_t roll(uint64_t below)
{
    rolled ^= rolled << 13;
    rolled ^= rolled >> 7;
    rolled ^= rolled << 17;
    return rolled % below;
}

// Chunks of several tracks and kinds that overlap, with many equal times.
static inline void storm_forge(forge *f)
{
    forge_open(f, 1000);
    forge_sample(f, 0, 3, 1000, 0, 0);
    for (uint32_t i = 0; i < CHUNKS; i++) {
        uint64_t starts[ROWS], durations[ROWS], tracks[ROWS];
        const uint64_t first = 1000 + 20 * i;
        const bool mixed = i % 7 == 0;
        for (uint32_t row = 0; row < ROWS; row++) {
            starts[row] = first + roll(200);
            durations[row] = roll(4);
            tracks[row] = 1 + roll(5);
        }
        const uint8_t kinds[] = { 12, 4, 16, 10 };
        forge_events(f, kinds[i % 4], mixed ? 0xFFFFFFFF : 1 + i % 3, ROWS,
                     first, first + 203);
        forge_column(f, 1, FORGE_PACK, FORGE_PLAIN, starts);
        if (kinds[i % 4] % 4 == 0)
            forge_column(f, 2, FORGE_PLANES, FORGE_PLAIN, durations);
        if (mixed) forge_column(f, 7, FORGE_PACK, FORGE_PLAIN, tracks);
        forge_events_end(f);
    }
    forge_finish(f);
}

static inline ts_reader *storm_open(const forge *f)
{
    ts_reader *reader;
    const ts_reader_desc desc = { .bytes = f->bytes,
                                  .size = f->size,
                                  .threads = 2 };
    if (ts_reader_open(&reader, &desc) != TS_OK) abort();
    return reader;
}

#endif // SBT_STORM_H
