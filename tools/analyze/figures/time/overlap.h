/*
    overlap.h - hidden and exposed transfers
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_TIME_OVERLAP_H
#define TS_TOOLS_ANALYZE_FIGURES_TIME_OVERLAP_H

#include "tools/analyze/figures/base/model.h"
#include "tools/analyze/figures/base/groups.h"

// A collective, copy or memset. hidden_ns: the time in which a kernel ran on
// its device.
typedef struct overlap_transfer {
    uint32_t operation;
    int64_t total_ns, hidden_ns;
} overlap_transfer;

// Transfers of one name; collectives also of one size.
typedef struct overlap_sum {
    uint32_t group; // group of names
    uint64_t size;  // bytes of each transfer; 0 for copies, or unknown
    uint64_t count, bytes;
    int64_t total_ns, hidden_ns;
    uint32_t worst; // operation with the most exposed time
    int64_t worst_ns;
} overlap_sum;

typedef struct overlap_result {
    overlap_transfer *transfers; // the most exposed first
    size_t count;
    overlap_sum *sums; // the most exposed first; collectives before the rest
    size_t sum_count, collective_sums;
    // Sums over the transfers. Transfers that overlap each other count twice.
    int64_t collective_ns, collective_hidden_ns;
    int64_t copy_ns, copy_hidden_ns;
    uint64_t collectives, copies;
    bool no_kernels;
} overlap_result;

// sizes: bytes of each operation; NULL: unknown. Returns false if memory runs
// out. Call overlap_close in any case.
bool overlap_open(overlap_result *result, const ts_replay *replay,
                  const names_index *names, const uint64_t *sizes);
// Frees the result; allowed after overlap_open failed.
void overlap_close(overlap_result *result);

// Runs a model in which kernels do not wait for collectives or, if not
// `collectives`, for copies and memsets. Returns false if memory runs out.
bool overlap_hide(model_figures *figures, ts_replay *model, bool collectives);

#endif // TS_TOOLS_ANALYZE_FIGURES_TIME_OVERLAP_H
