/*
    occupancy.h - estimated occupancy of kernels
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_OCCUPANCY_H
#define TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_OCCUPANCY_H

#include "tracesmith_replay.h"

// Limits of a multiprocessor. All are 0 if unknown.
typedef struct occupancy_limits {
    uint32_t multiprocessors; // of the device; 0: unknown; may be unknown alone
    uint32_t warp_threads, threads, blocks, registers, shared;
    // Allocation units of registers and shared memory.
    uint32_t register_unit, shared_unit;
    // Bytes per block reserved by the system.
    uint32_t shared_reserved;
} occupancy_limits;

/*
    Reads the limits of a device from the metadata of its track; what it lacks
    is filled from the published limits of its compute capability. Returns false
    if too little is known.
*/
bool occupancy_device(const ts_reader *reader, uint32_t device,
                      occupancy_limits *limits);

typedef enum occupancy_limiter {
    OCCUPANCY_WARPS, // the maximum of warps is reached
    OCCUPANCY_BLOCKS,
    OCCUPANCY_REGISTERS,
    OCCUPANCY_SHARED,
    OCCUPANCY_GRID, // the grid has too few blocks to fill the device once
    OCCUPANCY_LIMITERS
} occupancy_limiter;
// Returns the name of what limits the occupancy.
const char *occupancy_limiter_name(occupancy_limiter limiter);

typedef struct occupancy {
    uint32_t blocks; // blocks that fit on a multiprocessor
    // Resident and maximum warps of the device, or of one multiprocessor if
    // their number is unknown. Their ratio is the occupancy.
    uint64_t warps, warps_most;
    occupancy_limiter limiter;
    uint64_t grid_blocks;
    uint64_t wave_blocks; // blocks that the device can hold; 0: unknown
    uint64_t waves;       // number of waves, rounded up
} occupancy;

/*
    Estimates the occupancy of a launch: what can be resident, not what was. If
    a grid does not fill the device once, its actual number of blocks counts.
    Returns false if the launch is unknown or impossible on such a device.
*/
bool occupancy_of(const occupancy_limits *limits, const ts_launch_entry *launch,
                  occupancy *o);

// Returns ns * num / den, rounded half up; num <= den.
int64_t calc_part_of(int64_t ns, uint64_t num, uint64_t den);

#endif // TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_OCCUPANCY_H
