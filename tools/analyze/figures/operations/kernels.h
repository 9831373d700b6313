/*
    kernels.h - kernels by name, by launch configuration, by zone
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_KERNELS_H
#define TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_KERNELS_H

#include "tools/analyze/figures/base/stats_rows.h"

enum { KERNELS_LAUNCH, KERNELS_ZONE, KERNELS_STACK, KERNELS_MAPS };

typedef struct kernels {
    analyze_job *job;
    stats_map maps[KERNELS_MAPS];
    stats_rows names, configs, zones, stacks;
    bool has_stacks;
    const uint32_t **stack_of; // stack of each operation, by file and row
    uint64_t **first;          // row of the first operation of each chunk
    cli_map devices;           // of each track, by file and track
    stats_scan scan;
} kernels;

/*
    Computes statistics of the kernels of the whole trace, including collectives
    that are kernels. all: also by configuration, zone and stack, with
    quantiles; else by name only. Returns false if memory runs out. Call
    kernels_close in any case.
*/
bool kernels_open(kernels *k, analyze_job *job, bool all);
// Frees the figures; `job` must still be open.
void kernels_close(kernels *k);

// kernels_launch returns the launch entry of the group of a row (NULL: none);
// kernels_device returns the device it ran on.
const ts_launch_entry *kernels_launch(const kernels *k, const stats_group *g);
// Whether the group of a row is a collective.
bool kernels_collective(const stats_group *g);
// Returns the index of the device in a group's key.
uint32_t kernels_device(const stats_group *g);

#endif // TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_KERNELS_H
