/*
    dot.h - operations and what they waited for, as a graph to be drawn

    Made of a replay's graph: the helper that is an operation's end is drawn as
    the operation itself; joins, which stand for "all work so far", as points.
*/
#ifndef TS_EXPORT_DOT_H
#define TS_EXPORT_DOT_H

#include "tools/export/export.h"

#define DOT_NONE UINT32_MAX

typedef struct dot_options {
    int64_t from_ns, to_ns; // what touches [from, to); both 0: everything
    bool collapse;
    uint64_t nodes; // join what is near until there are no more (0: do not)
    uint64_t limit; // more nodes than this are refused (0: none are)
} dot_options;

typedef struct dot_counts {
    uint64_t operations, calls; // that are drawn, alone or in a run
    uint64_t nodes, edges;
    uint64_t left_out; // edges to what is not drawn
} dot_counts;

/*
    What is drawn. With `collapse`, operations in a row on a stream become one
    node, unless something waits for one before the last, or one after the
    first waits for something but its launch. So do calls in a row on a thread
    if all that they launched is in one node, and nothing but the next call
    depends on them. Each path between nodes is then one between operations,
    and the other way round.
*/
typedef struct dot_graph {
    ts_replay *replay;
    ts_graph graph;
    const dot_options *options;
    uint32_t *leader; // of each node: that which it is drawn as, or DOT_NONE
    uint32_t *next;   // of each node: the next in its run, or DOT_NONE
    dot_counts counts;
} dot_graph;

// Edges between drawn nodes that have their kind in common are one.
typedef struct dot_edge {
    uint32_t from, to;
    uint8_t kind;   // without TS_EDGE_FROM_START
    uint32_t count; // how many there are
    int64_t lag_ns; // the least time from what is waited for to what waits
} dot_edge;

/*
    With `nodes`: what of a stream lies between long gaps becomes one node,
    and so do the calls that launched it. Streams are not joined, so there may
    be more nodes. Ways between nodes are no longer those of their members.
*/
void dot_graph_coarsen(dot_graph *g); // private
void dot_graph_open(dot_graph *g, ts_replay *replay,
                    const dot_options *options);
void dot_graph_close(dot_graph *g);
// In order of their ends; *count of them. To be freed.
dot_edge *dot_graph_edges(dot_graph *g, size_t *count);

// Leaves out those of coarse nodes that others imply. Private.
size_t dot_edges_thin(const dot_graph *g, dot_edge *edges, size_t count);

typedef enum dot_result {
    DOT_OK,
    DOT_NOTHING, // there are no operations, or none in the range
    DOT_TOO_MANY,
    DOT_FAILED // *error says why
} dot_result;

// Draws a trace for Graphviz. counts: set as far as it got.
dot_result export_dot(ts_reader *reader, export_out *out,
                      const dot_options *options, dot_counts *counts,
                      ts_result *error);

#endif // TS_EXPORT_DOT_H
