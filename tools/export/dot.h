/*
    dot.h - the dependency graph of a trace, drawn for Graphviz

    It is made from the graph of a replay. The helper node that stands for an
    operation's end is drawn as the operation itself; joins, which stand for
    "all work so far", are drawn as points.
*/
#ifndef TS_EXPORT_DOT_H
#define TS_EXPORT_DOT_H

#include "tools/export/export.h"

#define DOT_NONE UINT32_MAX

typedef struct dot_options {
    int64_t from_ns,
        to_ns; // draws what overlaps [from, to); both 0: everything
    bool collapse;
    uint64_t
        nodes; // merge neighbours until at most this many are left (0: do not)
    uint64_t limit; // fail if there are more nodes (0: no limit)
} dot_options;

typedef struct dot_counts {
    uint64_t operations, calls; // drawn, alone or in a run
    uint64_t nodes, edges;
    uint64_t left_out; // edges to nodes that are not drawn
} dot_counts;

/*
    The nodes to draw. With `collapse`, consecutive operations of a stream
    become one node (a run), unless a node outside depends on any but the last,
    or any but the first depends on something besides its launch. Consecutive
    calls of a thread become one node if everything that they launched is in one
    node and only the next call depends on them. So paths between nodes
    correspond exactly to paths between operations.
*/
typedef struct dot_graph {
    ts_replay *replay;
    ts_graph graph;
    const dot_options *options;
    uint32_t *leader; // of each node: the node it is drawn as, or DOT_NONE
    uint32_t *next;   // of each node: the next of its run, or DOT_NONE
    dot_counts counts;
} dot_graph;

// All edges of one kind between two drawn nodes.
typedef struct dot_edge {
    uint32_t from, to;
    uint8_t kind;   // without TS_EDGE_FROM_START
    uint32_t count; // number of edges
    int64_t lag_ns; // the shortest time from the edge's source to its target
} dot_edge;

/*
    For dot_options.nodes: all operations of a stream between two long gaps
    become one node, and so do the calls that launched them. Streams are never
    merged, so there may be more nodes than requested. Paths between nodes no
    longer correspond to paths between operations.
*/
void dot_graph_coarsen(dot_graph *g); // private
void dot_graph_open(dot_graph *g, ts_replay *replay,
                    const dot_options *options);
void dot_graph_close(dot_graph *g);
// Returns the *count edges, sorted by the nodes at their ends; the caller frees
// them.
dot_edge *dot_graph_edges(dot_graph *g, size_t *count);

// Private: removes edges of coarse nodes that other edges imply; returns how
// many are left.
size_t dot_edges_thin(const dot_graph *g, dot_edge *edges, size_t count);

typedef enum dot_result {
    DOT_OK,
    DOT_NOTHING, // there are no operations in the range
    DOT_TOO_MANY,
    DOT_FAILED // *error says why
} dot_result;

// Draws a trace. *counts is set as far as the drawing got.
dot_result export_dot(ts_reader *reader, export_out *out,
                      const dot_options *options, dot_counts *counts,
                      ts_result *error);

#endif // TS_EXPORT_DOT_H
