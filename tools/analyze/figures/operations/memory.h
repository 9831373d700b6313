/*
    memory.h - blocks of memory: where they were allocated, when, for how long

    Rows of the events alloc, free, gpu_alloc and gpu_free become *blocks*. A
    pool is a pool that the source names, the heap of the host (no name), or one
    kind of memory of a device. A free finds its block by address: within the
    pool on the host, within the device for gpu_free, and in either case within
    its process: each has addresses of its own. Events with equal times happen
    at once: peaks are taken after all of them, and if a block is live at an
    address, a free there precedes an allocation of the same time.
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_MEMORY_H
#define TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_MEMORY_H

#include "tools/analyze/figures/base/zone_paths.h"

#define MEMORY_NEVER INT64_MAX

typedef struct memory_block {
    uint64_t address, size;
    int64_t from_ns, to_ns; // to_ns is MEMORY_NEVER if not freed
    uint32_t pool;          // index of its pool
    uint32_t path;          // path of the zones it was allocated in
    uint32_t file, stack, site;
    uint32_t category; // name of `paths`, or CLI_NONE
    uint32_t use;      // index of its memory_use
} memory_block;

typedef struct memory_pool {
    uint32_t file, device; // track of the device; 0: the host
    uint32_t process;      // of a heap, if the file has several; else 0
    ts_text name;          // name given by the source, or ""
    uint32_t memory;       // kind of device memory as in the format; 0: unknown
    uint64_t allocations, frees;
    uint64_t allocated_size;        // bytes of all allocations
    uint64_t live_size, live_count; // live blocks at the end of the trace
    uint64_t peak_size, peak_count; // maximum live blocks
    int64_t peak_ns;
    int64_t first_ns, last_ns; // first and last event
    // Free space at the peak, within the addresses that blocks had occupied
    // until then.
    uint64_t known_free, largest_hole, holes;
    bool touched; // private
} memory_pool;

typedef enum memory_fault_kind {
    MEMORY_DOUBLE_FREE = 0, // free of a block that was already freed
    MEMORY_UNKNOWN_FREE,    // free of an address that was never allocated
    MEMORY_REPLACED         // allocation where a block is live: a free was lost
} memory_fault_kind;
enum { MEMORY_FAULTS = 3, MEMORY_FAULTS_KEPT = 1000 };

typedef struct memory_fault {
    memory_fault_kind kind;
    uint32_t pool, block; // block: previous block at the address, or CLI_NONE
    uint64_t address;
    int64_t time_ns;
    uint32_t file, path; // place of the event
} memory_fault;

// The blocks of one size that one place allocated in a pool.
typedef struct memory_use {
    uint64_t size;
    uint32_t pool, path;
    uint64_t count, freed, short_lived; // short_lived: number of freed blocks
    uint64_t live, most;                // most: maximum live at once
    int64_t lifetime_ns;                // summed lifetime of the freed blocks
    int64_t first_ns, last_ns;          // first and last allocation
} memory_use;

// A line of a chart: the maximum of live bytes in each slice of time. There are
// at most MEMORY_LINES_MOST lines of pools and as many of categories; the last
// line of each includes all others.
enum { MEMORY_SLICES = 480, MEMORY_LINES_MOST = 64 };
typedef struct memory_line {
    uint32_t pool;     // CLI_NONE for a line of a category
    uint32_t category; // CLI_NONE for a line of a pool
    uint64_t live, peak;
    uint64_t most[MEMORY_SLICES];
    uint32_t slice; // private: filled up to this slice
    bool touched;   // private
} memory_line;

typedef struct memory {
    path_tree paths;
    memory_pool *pools;
    memory_block *blocks; // sorted by from_ns
    memory_use *uses;
    // Lines of pools, then lines of categories by first use.
    memory_line *lines;
    memory_fault *faults; // the first MEMORY_FAULTS_KEPT
    size_t pool_count, block_count, use_count, line_count, fault_count;
    size_t pool_lines; // how many of the lines are of pools
    uint64_t fault_counts[MEMORY_FAULTS];
    uint64_t rows;             // number of all events
    uint64_t failed;           // failed allocations, without an address
    uint64_t bad;              // skipped: beyond the end of the address space
    int64_t first_ns, last_ns; // first and last event
    size_t pool_room, block_room, use_room, line_room, fault_room; // private
} memory;

// A file, and the offset that puts its times on the common axis.
typedef struct memory_file {
    ts_reader *reader;
    int64_t offset_ns;
} memory_file;

// Computes all of it. short_ns: a block freed within this time is short-lived.
// Returns false if memory runs out. Call memory_close in any case.
bool memory_compute(memory *m, const memory_file *files, uint32_t count,
                    int64_t short_ns);
// Frees blocks, pools and paths; allowed after memory_compute failed.
void memory_close(memory *m);

// Whether a block is allocated at a time; a block is not live at the time it is
// freed.
static inline bool memory_is_live(const memory_block *b, int64_t time_ns)
{
    return b->from_ns <= time_ns && time_ns < b->to_ns;
}
// Private: finds the holes at the peak of each pool.
bool memory_holes(memory *m);
// Returns the start time of slice i of the lines.
int64_t memory_slice_ns(const memory *m, uint32_t slice);

// How memory_groups groups blocks.
typedef enum memory_key {
    MEMORY_BY_PATH = 0,
    MEMORY_BY_STACK,
    MEMORY_BY_SIZE,    // value: the size, rounded up to a power of two
    MEMORY_BY_CATEGORY // value: a name of `paths`; CLI_NONE: none
} memory_key;
typedef struct memory_group {
    uint32_t pool, value;
    uint64_t size, count;
    uint32_t first; // its first block
} memory_group;
/*
    Groups the blocks that are live at the peak of their pool or, if
    never_freed, those never freed; the largest group first. The caller frees
    *groups. Returns false if memory runs out.
*/
bool memory_groups(const memory *m, memory_key key, bool never_freed,
                   memory_group **groups, size_t *count);

#endif // TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_MEMORY_H
