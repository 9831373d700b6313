/*
    memory.h - blocks of memory: who held them, when and for how long

    Rows of alloc and free, gpu_alloc and gpu_free become *blocks*. A pool is
    what the source calls so, the host's heap (no name), or a kind of memory of
    a device. A free finds its block by address: within the pool on the host,
    within the device for gpu_free. What happens at one nanosecond happens at
    once: peaks are taken after it, and of an allocation and a free of one
    address the free comes first if a block is there.
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_WORK_MEMORY_H
#define TS_TOOLS_ANALYZE_FIGURES_WORK_MEMORY_H

#include "tools/analyze/figures/base/zone_paths.h"

#define MEMORY_NEVER INT64_MAX

typedef struct memory_block {
    uint64_t address, size;
    int64_t from_ns, to_ns; // MEMORY_NEVER: not freed
    uint32_t pool;          // index
    uint32_t path;          // of the zones it was allocated in
    uint32_t file, stack, site;
    uint32_t category; // name of `paths`, or CLI_NONE
    uint32_t use;      // index of its memory_use
} memory_block;

typedef struct memory_pool {
    uint32_t file, device; // track of a device, 0: the host's
    ts_text name;          // as the source calls it, maybe ""
    uint32_t memory;       // kind of device memory as in the format, 0 unknown
    uint64_t allocations, frees;
    uint64_t allocated_size;        // of all allocations
    uint64_t live_size, live_count; // at the end
    uint64_t peak_size, peak_count; // most at once
    int64_t peak_ns;
    int64_t first_ns, last_ns; // of its rows
    // At the peak. Known: addresses where blocks lay up to then.
    uint64_t known_free, largest_hole, holes;
    bool touched; // private
} memory_pool;

typedef enum memory_fault_kind {
    MEMORY_DOUBLE_FREE = 0, // of what had been freed
    MEMORY_UNKNOWN_FREE,    // of what was never seen allocated
    MEMORY_REPLACED         // allocated where a block still is: a lost free
} memory_fault_kind;
enum { MEMORY_FAULTS = 3, MEMORY_FAULTS_KEPT = 1000 };

typedef struct memory_fault {
    memory_fault_kind kind;
    uint32_t pool, block; // block: the one before, CLI_NONE unknown
    uint64_t address;
    int64_t time_ns;
    uint32_t file, path; // of the row
} memory_fault;

// Blocks of one size from one place in a pool.
typedef struct memory_use {
    uint64_t size;
    uint32_t pool, path;
    uint64_t count, freed, short_lived; // short_lived: of the freed ones
    uint64_t live, most;                // most: at once
    int64_t lifetime_ns;                // sum over the freed ones
    int64_t first_ns, last_ns;          // of the allocations
} memory_use;

// The most bytes in each slice of time, for a line of a chart. The last line
// of MEMORY_LINES_MOST pools, and of as many categories, has the others too.
enum { MEMORY_SLICES = 480, MEMORY_LINES_MOST = 64 };
typedef struct memory_line {
    uint32_t pool;     // of a category: CLI_NONE
    uint32_t category; // of a pool: CLI_NONE
    uint64_t live, peak;
    uint64_t most[MEMORY_SLICES];
    uint32_t slice; // private: up to which it is filled
    bool touched;   // private
} memory_line;

typedef struct memory {
    path_tree paths;
    memory_pool *pools;
    memory_block *blocks; // in order of from_ns
    memory_use *uses;
    memory_line *lines;   // of pools, then those of categories as they came
    memory_fault *faults; // the first MEMORY_FAULTS_KEPT
    size_t pool_count, block_count, use_count, line_count, fault_count;
    size_t pool_lines; // of the lines
    uint64_t fault_counts[MEMORY_FAULTS];
    uint64_t rows;             // alloc, free, gpu_alloc, gpu_free
    uint64_t failed;           // allocations that gave no address
    uint64_t bad;              // past the end of the address space: left out
    int64_t first_ns, last_ns; // of the rows
    size_t pool_room, block_room, use_room, line_room, fault_room; // private
} memory;

// A file, and what to add to its times.
typedef struct memory_file {
    ts_reader *reader;
    int64_t offset_ns;
} memory_file;

// Short-lived: freed within this time. False: no memory.
bool memory_compute(memory *m, const memory_file *files, uint32_t count,
                    int64_t short_ns);
void memory_close(memory *m);

static inline bool memory_is_live(const memory_block *b, int64_t time_ns)
{
    return b->from_ns <= time_ns && time_ns < b->to_ns;
}
// Private: finds the holes at the peak of each pool.
bool memory_holes(memory *m);
// When slice number i of the lines begins.
int64_t memory_slice_ns(const memory *m, uint32_t slice);

// Blocks that have something in common, added up.
typedef enum memory_key {
    MEMORY_BY_PATH = 0,
    MEMORY_BY_STACK,
    MEMORY_BY_SIZE,    // value: a power of two not below the size
    MEMORY_BY_CATEGORY // value: a name of `paths`, CLI_NONE: none
} memory_key;
typedef struct memory_group {
    uint32_t pool, value;
    uint64_t size, count;
    uint32_t first; // block
} memory_group;
/*
    Groups of the blocks that are live at the peak of their pool, or of those
    never freed; the largest first. *groups is to be freed. False: no memory.
*/
bool memory_groups(const memory *m, memory_key key, bool never_freed,
                   memory_group **groups, size_t *count);

#endif // TS_TOOLS_ANALYZE_FIGURES_WORK_MEMORY_H
