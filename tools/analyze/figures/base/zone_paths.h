/*
    zone_paths.h - host zones as paths: a zone and the zones around it

    A path is a node of a tree: the name of the innermost zone and the path of
    the zones around it. Node 0 is the root, outside all zones. Paths of several
    files share one tree, in which equal names are one.
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_BASE_ZONE_PATHS_H
#define TS_TOOLS_ANALYZE_FIGURES_BASE_ZONE_PATHS_H

#include "tools/cli/cli.h"

enum { PATHS_ROOT = 0, PATHS_DEPTH_MOST = 512 };
#define PATHS_NODES_MOST (UINT32_C(1) << 22)

typedef struct paths_node {
    uint32_t parent, name, depth;
    int64_t own_ns; // weight: see paths_zones
} paths_node;

typedef struct path_tree {
    ts_text *names; // valid as long as the readers
    paths_node *nodes;
    uint32_t name_count, node_count;
    size_t name_room, node_room;
    cli_map name_index, node_index; // by hash; names are compared
    // Zones attributed to an outer path: too deep, or too many paths.
    uint64_t cut;
    // Zones that begin inside another one and outlast it; from its end on they
    // belong to the path around it.
    uint64_t overlaps;
} path_tree;

// Returns false if memory runs out, like all functions here. Call paths_close
// in any case.
bool paths_open(path_tree *p);
// Frees the tree with the names of its nodes.
void paths_close(path_tree *p);

// Returns the number of a text; CLI_NONE if memory runs out. The text must stay
// valid as long as the tree.
uint32_t paths_name(path_tree *p, ts_text name);
// Returns the path of a name within another path; CLI_NONE if memory runs out.
uint32_t paths_child(path_tree *p, uint32_t parent, uint32_t name);

// Returns the number of the text that names a site.
uint32_t paths_site(path_tree *p, const ts_reader *reader, uint32_t site);

// Whether a track is a thread of a process. Zones of devices or profilers are
// not host time.
bool paths_is_host(const ts_reader *reader, uint32_t track);

// A lookup of the zones that a thread was in at a time.
typedef struct paths_query {
    int64_t time_ns; // on the axis of the file
    uint32_t track;
    uint32_t owner; // for the caller: the origin of the query
    uint32_t node;  // result: the path
} paths_query;

// Resolves `count` queries of a file. Sorts them by track and time.
bool paths_resolve(path_tree *p, ts_reader *reader, paths_query *queries,
                   size_t count);

// Adds the exclusive time of all zones to own_ns of their paths. Zones without
// an end last to the end of the trace.
bool paths_zones(path_tree *p, ts_reader *reader);

// Writes a path as "matmul < step < main", or "matmul < step < ..." if it does
// not fit into `size` bytes (at least 16). Returns the length in bytes; names
// may contain zero bytes.
size_t paths_text(const path_tree *p, uint32_t node, char *text, size_t size);

#endif // TS_TOOLS_ANALYZE_FIGURES_BASE_ZONE_PATHS_H
