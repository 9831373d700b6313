/*
    zone_paths.h - where on the host something was: the zones around it

    A path is a node of a tree: its innermost name and the path around that.
    Node 0 is the root, outside of all zones. Paths of several files share a
    tree: equal names are one.
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_BASE_ZONE_PATHS_H
#define TS_TOOLS_ANALYZE_FIGURES_BASE_ZONE_PATHS_H

#include "tools/cli/cli.h"

enum { PATHS_ROOT = 0, PATHS_DEPTH_MOST = 512 };
#define PATHS_NODES_MOST (UINT32_C(1) << 22)

typedef struct paths_node {
    uint32_t parent, name, depth;
    int64_t own_ns; // a weight: see paths_zones
} paths_node;

typedef struct path_tree {
    ts_text *names; // they live as long as the readers
    paths_node *nodes;
    uint32_t name_count, node_count;
    size_t name_room, node_room;
    cli_map name_index, node_index; // by hash, verified
    uint64_t cut;      // not put deeper: too deep, or too many paths
    uint64_t overlaps; // zones that begin in another and outlast it: once
                       // that has ended they are in what was around it
} path_tree;

// False: no memory, as for all functions here. Close in any case.
bool paths_open(path_tree *p);
void paths_close(path_tree *p);

// The number of a text; CLI_NONE: no memory. The text must stay.
uint32_t paths_name(path_tree *p, ts_text name);
// The path of a name within another path; CLI_NONE: no memory.
uint32_t paths_child(path_tree *p, uint32_t parent, uint32_t name);

// What to call a site, as a number.
uint32_t paths_site(path_tree *p, const ts_reader *reader, uint32_t site);

// Whether a track is a thread of a process: what devices or profilers have
// zones for are no times of the host.
bool paths_is_host(const ts_reader *reader, uint32_t track);

// A question: in which zones was this thread at this time?
typedef struct paths_query {
    int64_t time_ns; // on the axis of the file
    uint32_t track;
    uint32_t owner; // whose query it is: the caller's
    uint32_t node;  // the answer
} paths_query;

// Answers `count` queries of a file, which are put in order of track and time.
bool paths_resolve(path_tree *p, ts_reader *reader, paths_query *queries,
                   size_t count);

// Adds to own_ns of each path the time that zones spent there and in no zone
// further in. Zones without an end count to the end of the trace.
bool paths_zones(path_tree *p, ts_reader *reader);

// "matmul < step < main", or "matmul < step < ..." if `size` bytes, 16 at
// least, do not hold all. Returns its size; names may hold zero bytes.
size_t paths_text(const path_tree *p, uint32_t node, char *text, size_t size);

#endif // TS_TOOLS_ANALYZE_FIGURES_BASE_ZONE_PATHS_H
