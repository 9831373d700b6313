/*
    flame.h - weighted trees of paths for flame graphs
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_FLAME_H
#define TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_FLAME_H

#include "tools/analyze/job/job.h"
#include "tools/analyze/figures/base/zone_paths.h"

// The children of each node, the heaviest first, and the total weight of each
// node.
typedef struct flame_tree {
    const path_tree *paths;
    int64_t *totals;    // weight of each node with all nodes below it
    uint32_t *children; // children of node n: [offsets[n], offsets[n + 1])
    uint32_t *offsets;
    uint32_t *below; // number of weighted nodes below each node
} flame_tree;

// Treats negative weights as 0. Returns false if memory runs out. Call
// flame_close in any case.
bool flame_open(flame_tree *t, const path_tree *p);
// Frees the tree; the paths that it was made of belong to the caller.
void flame_close(flame_tree *t);

// A node to draw. Parents come before their children.
typedef struct flame_node {
    uint32_t parent; // index in this list; CLI_NONE: root
    uint32_t node;   // node of the paths; CLI_NONE: stands for omitted nodes
    // Omitted nodes: number of weights they have; else number of outer frames
    // omitted above it.
    uint32_t count;
    int64_t own; // own weight; omitted nodes: their whole weight
} flame_node;

/*
    Makes the list of nodes to draw. It omits nodes with less than 1/`least` of
    the total weight, nodes below `depth` levels, and the common outer frames of
    all paths except eight. Omitted siblings become one node. The caller frees
    *nodes. Returns false if memory runs out.
*/
bool flame_cut(const flame_tree *t, int64_t least, uint32_t depth,
               flame_node **nodes, size_t *count);

// Writes a line for each path with a weight, in the folded format of flame
// graph tools: names separated by ";", a space, the weight.
void flame_folded(const flame_tree *t, FILE *out);

/* ---- Trees of a job ------------------------------------------------------ */

// Call stacks of a job as paths of a tree, each looked up once.
typedef struct flame_stacks {
    analyze_job *job;
    path_tree *paths;
    cli_map stacks; // file and stack to node
    cli_map frames; // file, module and offset to name
} flame_stacks;

// Returns the node of a stack, its root for one that is unknown; CLI_NONE if
// memory runs out. Outer frames beyond the maximum depth are omitted, since the
// inner ones matter.
uint32_t flame_stack_node(flame_stacks *s, uint32_t file, uint32_t stack);
// Frees the maps; job and paths belong to the caller.
void flame_stacks_close(flame_stacks *s);

typedef struct flame_sums {
    uint64_t operations;
    uint64_t by_stack, by_zone, by_nothing; // these add up to operations
    bool inferred; // some zones are known only by the time of the call
} flame_sums;

/*
    Builds the paths that launched the work of the devices, weighted by run
    time: the host stack if recorded, else the zones, then the name of the
    operation. p has no paths if there is no work. Close the paths in any case.
    Returns false if memory runs out.
*/
bool flame_of_devices(analyze_job *job, path_tree *p, flame_sums *sums);
// Does the same without weights: *nodes has the launching path of each
// operation of the graph (CLI_NONE for operations that are no work), by zones
// alone if not `stacks`. *nodes is NULL if there is no work; the caller frees
// it. Returns false if memory runs out.
bool flame_nodes(analyze_job *job, path_tree *p, bool stacks, flame_sums *sums,
                 uint32_t **nodes);
// Builds the paths of the zones of all threads, weighted by exclusive time.
// Returns false if memory runs out.
bool flame_of_zones(analyze_job *job, path_tree *p);

#endif // TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_FLAME_H
