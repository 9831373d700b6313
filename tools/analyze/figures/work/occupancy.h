/*
    occupancy.h - how much of a multiprocessor a kernel can fill
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_WORK_OCCUPANCY_H
#define TS_TOOLS_ANALYZE_FIGURES_WORK_OCCUPANCY_H

#include "tools/cli/cli.h"

// What a multiprocessor holds. All 0: not known.
typedef struct occupancy_limits {
    uint32_t multiprocessors; // 0: not known, alone of these
    uint32_t warp_threads, threads, blocks, registers, shared;
    uint32_t register_unit, shared_unit; // they are given out in these
    uint32_t shared_reserved;            // of each block, for the system
} occupancy_limits;

/*
    Of a device track: what its metadata says, and where that lacks something,
    what is published for its compute capability. False: too little is known.
*/
bool occupancy_device(const ts_reader *reader, uint32_t device,
                      occupancy_limits *limits);

typedef enum occupancy_limiter {
    OCCUPANCY_WARPS, // as many as fit
    OCCUPANCY_BLOCKS,
    OCCUPANCY_REGISTERS,
    OCCUPANCY_SHARED,
    OCCUPANCY_GRID, // too few blocks to fill the device once
    OCCUPANCY_LIMITERS
} occupancy_limiter;
const char *occupancy_limiter_name(occupancy_limiter limiter);

typedef struct occupancy {
    uint32_t blocks;            // that a multiprocessor has room for at once
    uint64_t warps, warps_most; // of the device, or of one multiprocessor if
                                // it is not known how many there are; their
                                // ratio is the occupancy
    occupancy_limiter limiter;
    uint64_t grid_blocks;
    uint64_t wave_blocks; // of the device at once; 0: not known
    uint64_t waves;       // begun
} occupancy;

/*
    An estimate of what can be resident, not of what was. A grid that does not
    fill the device once counts with the blocks that it has. False: the launch
    is not known, or impossible on such a device.
*/
bool occupancy_of(const occupancy_limits *limits, const ts_launch_entry *launch,
                  occupancy *o);

// ns * num / den, half up; num <= den.
int64_t calc_part_of(int64_t ns, uint64_t num, uint64_t den);

#endif // TS_TOOLS_ANALYZE_FIGURES_WORK_OCCUPANCY_H
