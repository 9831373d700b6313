/*
    sbt_sample.h - a small trace with everything in it

    Every kind of chunk and of event, every encoding. Clock 0 counts
    nanoseconds and starts at tick 1000, so trace time is tick - 1000.
*/
#ifndef SBT_SAMPLE_H
#define SBT_SAMPLE_H

#include "tests/replay/reader/sbt_forge_events.h"

// The columns of each kind as section 8 of the format lists them.
typedef struct sample_kind {
    uint8_t event;
    uint8_t columns[16]; // without start; ends with 0
} sample_kind;

#define SAMPLE_GPU 2, 20, 22, 23, 24, 3, 17
static const sample_kind sample_kinds[] = {
    { 2, { 3, 8 } },
    { 3, { 3, 9, 10, 11, 17, 12 } },
    { 4, { 3 } },
    { 5, { 3, 12 } },
    { 6, { 10, 11 } },
    { 7, { 3 } },
    { 8, { 13, 14, 15, 16, 3, 17 } },
    { 9, { 13, 15 } },
    { 10, { 18, 19 } },
    { 11, { 18, 19, 3 } },
    { 12, { 2, 9, 20, 21, 17 } },
    { 16, { SAMPLE_GPU, 25, 26, 27 } },
    { 17, { SAMPLE_GPU, 10, 14, 28, 13, 29, 30 } },
    { 18, { SAMPLE_GPU, 14, 13, 11 } },
    { 19, { SAMPLE_GPU, 18 } },
    { 20, { SAMPLE_GPU, 18, 31 } },
    { 21, { SAMPLE_GPU, 18 } },
    { 22, { SAMPLE_GPU } },
    { 23, { SAMPLE_GPU, 18 } },
    { 24, { SAMPLE_GPU, 13, 9 } },
    { 25, { SAMPLE_GPU, 27 } },
    { 26, { SAMPLE_GPU, 9, 32, 33, 14, 10, 30, 34, 25 } },
    { 27, { SAMPLE_GPU, 13, 14, 15, 29 } },
    { 28, { SAMPLE_GPU, 13, 15 } },
};
enum { SAMPLE_KINDS = sizeof sample_kinds / sizeof *sample_kinds };
enum { SAMPLE_ROWS = 4, SAMPLE_START = 1000 };

static const char *const sample_texts[SAMPLE_ROWS] = { "", "one", "two words",
                                                       "\xff\x01" };

// What the sample holds in a row of a column: small where it names something.
static inline uint64_t sample_value(uint32_t event, uint32_t column,
                                    uint32_t row)
{
    switch (column) {
    case 1: return SAMPLE_START + 100 * event + 10 * row;
    case 2: return 3 + row;
    case 3: return 1 + row % 2;
    case 9:
    case 15:
    case 16: return 1 + row;
    case 10: return 1 + row % 2;
    case 17: return 1;
    case 24:
    case 30: return 2;
    case 25: return 1;
    case 13:
    case 28: return UINT64_C(0x7f00deadbe00) + 64 * row * column;
    default: return (uint64_t)event * 1000003 * (row + 1) + column;
    }
}

static inline void sample_events(forge *f, const sample_kind *kind,
                                 uint32_t track)
{
    static const uint8_t ways[][2] = { { FORGE_PACK, FORGE_DELTA },
                                       { FORGE_PLANES, FORGE_PLAIN },
                                       { FORGE_PACK, FORGE_PLAIN },
                                       { FORGE_PLANES, FORGE_DELTA } };
    uint64_t values[SAMPLE_ROWS];
    const uint64_t first = sample_value(kind->event, 1, 0);
    forge_events(f, kind->event, track, SAMPLE_ROWS, first, first + 90);
    for (uint32_t i = 0; i == 0 || kind->columns[i - 1]; i++) {
        const uint8_t column = i ? kind->columns[i - 1] : 1;
        const uint8_t *const way = ways[(i + kind->event) % 4];
        for (uint32_t row = 0; row < SAMPLE_ROWS; row++)
            values[row] = sample_value(kind->event, column, row);
        if (column == 12)
            forge_texts(f, column, sample_texts);
        else
            forge_column(f, column, way[0], way[1], values);
    }
    forge_events_end(f);
}

static inline void sample_names(forge *f)
{
    static const char *const names[] = { "alpha", "beta", "gamma", "delta",
                                         "unit",  "host", "here",  "key" };
    forge_begin(f, FORGE_NAMES);
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++)
        forge_entry(f, i + 1, names[i], strlen(names[i]));
    forge_end(f);
}

static inline void sample_dictionaries(forge *f)
{
    const uint64_t sites[2][6] = { { 1, 2, 3, 4, 10, 0xFF8000 },
                                   { 2, 0, 3, 4, 20, 0 } };
    const uint64_t launch[] = { 3, 8, 4, 2, 64, 1, 1, 0, 0, 0, 32, 16, 8, 4 };
    const uint64_t module[] = { 4, 0, 0x400000, 0x1000, 0x1122334455667788 };
    const uint64_t frames[] = { 1, 0, 0x10, 0, 0, 0 };
    sample_names(f);
    forge_begin(f, FORGE_SITES);
    forge_numbers(f, 1, 6, 6, sites[0]);
    forge_numbers(f, 2, 6, 6, sites[1]);
    forge_end(f);
    forge_begin(f, FORGE_LAUNCHES);
    forge_numbers(f, 1, 14, 14, launch);
    forge_end(f);
    forge_begin(f, FORGE_MODULES);
    forge_numbers(f, 1, 2, 5, module);
    forge_end(f);
    forge_begin(f, FORGE_STACKS);
    forge_numbers(f, 1, 2, 3, frames);
    forge_end(f);
    forge_track(f, 1, 1, 0, 1, 0); // process
    forge_track(f, 2, 2, 1, 2, 0); // thread
    forge_track(f, 3, 5, 1, 3, 0); // stream
    forge_track(f, 4, 6, 1, 4, 5); // counter
}

static inline void sample_facts(forge *f)
{
    const uint64_t host[] = { 6, 3, 7 }, count[] = { 8, 1, 42 };
    const uint64_t lost[] = { 1, 0, 7, SAMPLE_START, SAMPLE_START + 9, 0 };
    const uint64_t stall[] = { 64, 0, 3, SAMPLE_START, SAMPLE_START, 500 };
    forge_begin(f, FORGE_METADATA);
    forge_numbers(f, 0, 2, 3, host);
    forge_numbers(f, 2, 2, 3, count);
    forge_end(f);
    forge_begin(f, FORGE_LOSS);
    forge_numbers(f, 2, 2, 6, lost);
    forge_numbers(f, 2, 2, 6, lost);
    forge_numbers(f, 2, 2, 6, stall);
    forge_end(f);
}

static inline void sample_zones(forge *f, uint32_t track)
{
    static const forge_zone zones[] = {
        { 1010, 1020, 1 }, { 1020, 1025, 2 }, { 1005, 1030, 1 },
        { 1030, 1031, 1 }, { 1000, 1040, 2 }, { 1041, 1041, 1 },
        { 1035, 1050, 2 },
    };
    forge_zones(f, track, FORGE_PACK, zones, sizeof zones / sizeof *zones);
}

static inline uint32_t sample_track(uint32_t event)
{
    return event == 6 ? 4 : event < 16 ? 2 : 3;
}

static inline void sample_forge_without_end(forge *f)
{
    forge_open(f, SAMPLE_START);
    forge_sample(f, 0, 4, SAMPLE_START, 500, UINT64_C(1700000000000000000));
    sample_dictionaries(f);
    sample_zones(f, 2);
    for (size_t i = 0; i < SAMPLE_KINDS / 2; i++)
        sample_events(f, &sample_kinds[i], sample_track(sample_kinds[i].event));
    forge_index(f);
    for (size_t i = SAMPLE_KINDS / 2; i < SAMPLE_KINDS; i++)
        sample_events(f, &sample_kinds[i], sample_track(sample_kinds[i].event));
    forge_blob(f, "blob", 4);
    sample_facts(f);
    forge_sample(f, 0, 4, SAMPLE_START + 5000, 5500,
                 UINT64_C(1700000000000005000));
}

static inline void sample_forge_with(forge *f, bool with_top)
{
    sample_forge_without_end(f);
    if (with_top) forge_top(f);
    forge_finish(f);
}

static inline void sample_forge(forge *f)
{
    sample_forge_with(f, false);
}

#endif // SBT_SAMPLE_H
