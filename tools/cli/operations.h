/*
    operations.h - operations of a trace by row; where the label of an event is
*/
#ifndef TS_CLI_OPERATIONS_H
#define TS_CLI_OPERATIONS_H

#include "tracesmith_replay.h"

// Whether a chunk holds operations, of a kind that this version knows.
bool cli_has_operations(const ts_chunk_header *header);
// The number of operations of a file, which ts_operation.row numbers. `first`,
// if it is not NULL, has an element for each chunk and receives the row of its
// first operation.
uint64_t cli_operation_rows(const ts_reader *reader, uint64_t *first);
// Reads a column of the operations of some kinds into `values`, by row. Values
// of operations without it do not change.
void cli_operation_column(ts_reader *reader, uint64_t kinds, ts_column column,
                          const uint64_t *first, uint64_t *values);

// The column with what labels the events of a kind: a site, a name, a launch or
// the type of a copy. 0, which is no column: the kind itself is the label.
ts_column cli_label_column(ts_event_kind kind);

#endif
