/*
    memory_rows.h - private to memory.c: events before they become blocks
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_MEMORY_ROWS_H
#define TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_MEMORY_ROWS_H

#include "tools/analyze/figures/operations/memory.h"

typedef struct memory_row {
    uint64_t address, size;
    int64_t time_ns;
    uint32_t space; // address space
    uint32_t pool;
    uint32_t file, stack, category, path, site;
    uint32_t order;
    bool takes;
} memory_row;

typedef struct memory_work {
    memory *m;
    memory_row *rows;
    size_t row_count, row_room;
    cli_map pools, spaces;    // to indices of pools; to address spaces
    cli_map blocks;           // from space and address to the latest block
    cli_map uses, categories; // to indices of uses; to lines
    // Those changed at the current time.
    uint32_t *touched_pools, *touched_lines;
    size_t touched_pool_count, touched_line_count, pools_room, lines_room;
    uint32_t space_count;
    int64_t short_ns;
} memory_work;

// Appends the events of a file. Returns false if memory runs out.
bool memory_read(memory_work *w, const memory_file *file, uint32_t index);

#endif // TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_MEMORY_ROWS_H
