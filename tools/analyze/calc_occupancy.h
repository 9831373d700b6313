/*
    calc_occupancy.h - how much of a device a kernel's launch can fill
*/
#ifndef TS_CALC_OCCUPANCY_H
#define TS_CALC_OCCUPANCY_H

#include "tools/ts_cli.h"

// Of a multiprocessor, as the trace says; 0: unknown.
typedef struct calc_device {
    uint64_t multiprocessors, threads, registers, shared, warp;
    uint64_t compute_major;
} calc_device;

typedef enum calc_limit {
    CALC_LIMIT_THREADS = 0, // nothing but the number of threads
    CALC_LIMIT_REGISTERS,
    CALC_LIMIT_SHARED,
    CALC_LIMIT_BLOCKS // so many blocks a multiprocessor holds, and no more
} calc_limit;

typedef struct calc_occupancy {
    bool known;
    uint64_t warps, most; // of a multiprocessor: that fit, that it has
    calc_limit limit;
    uint64_t fits;   // blocks of a multiprocessor
    uint64_t blocks; // of the launch
    uint64_t room;   // blocks that fit on the device at once
} calc_occupancy;

/*
    What the launch allows, if blocks are as many as it has and nothing else
    runs: an estimate, since rules differ a little from device to device.
    Source: CUDA C++ Programming Guide, "Hardware Multithreading", and the
    granularities of the occupancy calculator.
*/
calc_occupancy calc_occupancy_of(const calc_device *device,
                                 const ts_launch_entry *launch);
const char *calc_limit_name(calc_limit limit); // "registers", ...

// ns * num / den, half up; num <= den.
int64_t calc_part_of(int64_t ns, uint64_t num, uint64_t den);

#endif // TS_CALC_OCCUPANCY_H
