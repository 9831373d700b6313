/*
    memory_rows.h - private to calc_memory: rows on their way to blocks
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_WORK_MEMORY_ROWS_H
#define TS_TOOLS_ANALYZE_FIGURES_WORK_MEMORY_ROWS_H

#include "tools/analyze/figures/work/memory.h"

typedef struct memory_row {
    uint64_t address, size;
    int64_t time_ns;
    uint32_t space; // in which addresses are unique
    uint32_t pool;
    uint32_t file, stack, category, path, site;
    uint32_t order;
    bool takes;
} memory_row;

typedef struct memory_work {
    memory *m;
    memory_row *rows;
    size_t row_count, row_room;
    cli_map pools, spaces;    // to indices
    cli_map blocks;           // space and address to the last block
    cli_map uses, categories; // to indices, to lines
    uint32_t *touched_pools, *touched_lines; // at this instant
    size_t touched_pool_count, touched_line_count, pools_room, lines_room;
    uint32_t space_count;
    int64_t short_ns;
} memory_work;

// Appends the rows of a file. False: no memory.
bool memory_read(memory_work *w, const memory_file *file, uint32_t index);

#endif // TS_TOOLS_ANALYZE_FIGURES_WORK_MEMORY_ROWS_H
