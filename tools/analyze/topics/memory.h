/*
    memory.h - private to the memory topic
*/
#ifndef TS_TOOLS_ANALYZE_TOPICS_MEMORY_H
#define TS_TOOLS_ANALYZE_TOPICS_MEMORY_H

#include "tools/analyze/job/job.h"
#include "tools/analyze/figures/operations/memory.h"

typedef struct memory_job {
    analyze_job *job;
    report_section *section;
    memory m;
    int64_t *offsets; // added to the times of each file
    // For each pool, the highest value of a memory counter if it exceeds the
    // peak of the blocks in the trace; size 0: no counter does.
    struct {
        uint64_t size;
        uint32_t pool;
        ts_text counter;
    } counted;
} memory_job;

// Returns the name of a pool: "cuda:0", "host heap", "GPU 1 pinned"; with the
// file and, on the host, the process if there are several.
ts_text topic_memory_pool(const memory_job *a, uint32_t pool);
// Returns the zones of a path as text; "" outside all zones.
ts_text topic_memory_path(const memory_job *a, uint32_t path);

// Returns the time range between two times as evidence; it ends at the end of
// the trace if there is no second time.
report_evidence topic_memory_around(const memory_job *a, uint32_t file,
                                    int64_t from_ns, int64_t to_ns);
// Returns how many of `count` rows to add to a table. All of them could be as
// large as the trace.
size_t topic_memory_shown(const memory_job *a, size_t count);

// Adds the table of holes at the peaks of the pools, in this order.
void topic_memory_holes(const memory_job *a, const memory_pool **pools);
// Adds the table of blocks of one size that one place allocates repeatedly.
// Returns false if memory runs out.
bool topic_memory_churn(const memory_job *a);

// Finds the highest value of each counter of bytes. Returns false if memory
// runs out.
bool topic_memory_counters(memory_job *a);

// Adds tables of double frees, frees of unknown blocks and uses after a free,
// and the certain errors among them to the answer. Returns the number of
// certain errors.
uint64_t topic_memory_faults(const memory_job *a);

#endif // TS_TOOLS_ANALYZE_TOPICS_MEMORY_H
