/*
    flame.h - a tree of paths with weights, as flame graphs want it
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_WORK_FLAME_H
#define TS_TOOLS_ANALYZE_FIGURES_WORK_FLAME_H

#include "tools/analyze/job/job.h"
#include "tools/analyze/figures/base/zone_paths.h"

// The children of every node, the heaviest first, and what they add up to.
typedef struct flame_tree {
    const path_tree *paths;
    int64_t *totals;    // of each node with all that is below it
    uint32_t *children; // those of node n: [offsets[n], offsets[n + 1])
    uint32_t *offsets;
    uint32_t *below; // nodes with a weight below each, not itself
} flame_tree;

// Weights below zero count as none. False: no memory.
bool flame_open(flame_tree *t, const path_tree *p);
void flame_close(flame_tree *t);

// What a drawing is given: parents first.
typedef struct flame_node {
    uint32_t parent; // index in this list, CLI_NONE: the root
    uint32_t node;   // of the paths; CLI_NONE: what was cut
    uint32_t count;  // cut: how many weights it stands for; else outer frames
                     // that were left out above it
    int64_t own;     // cut: all of it
} flame_node;

/*
    The tree without its least: nodes of less than a `least`-th of the whole,
    those below `depth` levels, and names that all paths begin with, beyond
    eight of them. What is cut stands as one node beside what is not. *nodes
    is to be freed. False: no memory.
*/
bool flame_cut(const flame_tree *t, int64_t least, uint32_t depth,
               flame_node **nodes, size_t *count);

// Writes a line for each path with a weight, in the form that flame graph
// tools read: its names with ; between, a space, the weight.
void flame_folded(const flame_tree *t, FILE *out);

/* ---- Of a job ------------------------------------------------------------ */

typedef struct flame_sums {
    uint64_t operations;
    uint64_t by_stack, by_zone, by_nothing; // they add up to it
    bool inferred; // some zones only by the time of the call
} flame_sums;

/*
    What launched the work of the devices, weighted by how long that ran: the
    stack of the host, else its zones, then what ran. The paths are to be
    closed in any case. False: no memory. No work: no paths.
*/
bool flame_of_devices(analyze_job *job, path_tree *p, flame_sums *sums);
// The same without weights: the path that launched each operation of the
// graph, in its zones alone if stacks are not wanted; of other than work
// CLI_NONE. *nodes is to be freed. NULL: no work. False: no memory.
bool flame_nodes(analyze_job *job, path_tree *p, bool stacks, flame_sums *sums,
                 uint32_t **nodes);
// Zones of all threads, weighted by the time in no zone further in.
bool flame_of_zones(analyze_job *job, path_tree *p);

#endif // TS_TOOLS_ANALYZE_FIGURES_WORK_FLAME_H
