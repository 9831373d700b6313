/*
    flame.h - the flame graph, as a question and as files
*/
#ifndef TS_TOOLS_ANALYZE_TOPICS_FLAME_H
#define TS_TOOLS_ANALYZE_TOPICS_FLAME_H

#include "tools/analyze/job/job.h"
#include "tools/analyze/figures/work/flame.h"

typedef struct flame_sums {
    uint64_t operations;
    uint64_t by_stack, by_zone, by_nothing; // they add up to it
    bool inferred; // some zones only by the time of the call
} flame_sums;

/*
    What launched the work of the devices, weighted by how long that ran: the
    stack of the host, else its zones, then what ran. The paths are to be
    closed in any case. False: no memory. No work: no paths.
*/
bool flame_of_devices(analyze_job *job, path_tree *p, flame_sums *sums);
// The same without weights: the path that launched each operation of the
// graph, in its zones alone if stacks are not wanted; of other than work
// CLI_NONE. *nodes is to be freed. NULL: no work. False: no memory.
bool flame_nodes(analyze_job *job, path_tree *p, bool stacks, flame_sums *sums,
                 uint32_t **nodes);
// Zones of all threads, weighted by the time in no zone further in.
bool flame_of_zones(analyze_job *job, path_tree *p);

// Which of both is meant: "gpu", "zones"; NULL: gpu if there is work.
// Writes folded text, or a picture; false with the reason on stderr.
bool flame_write(analyze_job *job, const char *by, FILE *out, bool svg);

#endif // TS_TOOLS_ANALYZE_TOPICS_FLAME_H
