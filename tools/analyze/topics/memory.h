/*
    memory.h - private to the question about memory
*/
#ifndef TS_TOOLS_ANALYZE_TOPICS_MEMORY_H
#define TS_TOOLS_ANALYZE_TOPICS_MEMORY_H

#include "tools/analyze/job/job.h"
#include "tools/analyze/figures/work/memory.h"

typedef struct memory_job {
    analyze_job *job;
    report_section *section;
    memory m;
    int64_t *offsets; // of each file
    // The most that a counter says at the peak of a pool, more than its blocks
    // in the trace; size 0: none does.
    struct {
        uint64_t size;
        uint32_t pool;
        ts_text counter;
    } counted;
} memory_job;

// "cuda:0", "host heap", "GPU 1 pinned"; with the file if there are several.
ts_text topic_memory_pool(const memory_job *a, uint32_t pool);
// The zones of a path; "" outside of all.
ts_text topic_memory_path(const memory_job *a, uint32_t path);

// From a moment to another, or to the end.
report_evidence topic_memory_around(const memory_job *a, uint32_t file,
                                    int64_t from_ns, int64_t to_ns);
// How many of `count` rows anybody is shown; a table of all could be as large
// as the trace.
size_t topic_memory_shown(const memory_job *a, size_t count);

// Holes at the peaks of pools, in this order.
void topic_memory_holes(const memory_job *a, const memory_pool **pools);
// Blocks of one size from one place, again and again. False: no memory.
bool topic_memory_churn(const memory_job *a);

// The most that each counter of bytes came to. False: no memory.
bool topic_memory_counters(memory_job *a);

// Twice freed, never allocated, used after the free: tables and, in the
// answer, what is certainly wrong. Returns how many of those there are.
uint64_t topic_memory_faults(const memory_job *a);

#endif // TS_TOOLS_ANALYZE_TOPICS_MEMORY_H
