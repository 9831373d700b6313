/*
    chakra.h - Chakra execution traces of MLCommons, for simulators

    Each node of the replay's graph becomes a node, with the number of the graph
    as its id:

        operation       COMP_NODE, MEM_..., COMM_...
        call            COMP_NODE of the host
        end of a wait   COMP_NODE, whose duration is what remained when all that
                        it waited for had ended
        join            COMP_NODE without duration

    A dependency of Chakra is satisfied when its node has ended. So a call that
    waits has no duration: that is its end's. Two kinds of nodes are added, with
    the number of the graph plus the number of its nodes as their ids: what the
    host did between two calls, and the start of an operation at which others
    may start, too. An operation depends on the end of the call that launched
    it, as in the traces that Chakra makes of PyTorch.

    Source: mlcommons/chakra (21585d8), schema/protobuf/et_def.proto; names and
    types of attributes: src/feeder/et_feeder_node.cpp,
    src/converter/pytorch_converter.py.
*/
#ifndef TS_TOOLS_EXPORT_CHAKRA_CHAKRA_H
#define TS_TOOLS_EXPORT_CHAKRA_CHAKRA_H

#include "tools/cli/map.h"
#include "tools/export/export.h"

// What a row of an operation holds besides what the graph has.
typedef struct chakra_facts {
    uint64_t size, communicator;
    uint32_t peer; // rank + 1; 0: none
    uint32_t name; // of a collective's kind
    uint8_t copy;  // type of a copy
} chakra_facts;

typedef struct chakra_rows {
    chakra_facts *rows; // by ts_operation.row
    size_t count;
} chakra_rows;

// Reads the facts of all operations. Errors: those of decoding.
ts_result chakra_rows_read(chakra_rows *all, ts_reader *reader);

// Counts dependencies, as rows of the trace, that cannot be edges: a side is no
// operation or call of the trace.
ts_result chakra_lost_dependencies(ts_reader *reader, uint64_t *lost);
// Finds the numbers that are names of communicators. Errors: those of decoding,
// TS_ERR_MEMORY.
ts_result chakra_groups_read(cli_map *groups, const chakra_rows *all,
                             ts_reader *reader);
// Returns the number of a communicator: its name, or one from 2^30 to 2^31 - 1.
uint32_t chakra_group(const cli_map *groups, uint64_t communicator);

#endif // TS_TOOLS_EXPORT_CHAKRA_CHAKRA_H
