/*
    groups.h - the operations of a replay, grouped by kind and name
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_BASE_GROUPS_H
#define TS_TOOLS_ANALYZE_FIGURES_BASE_GROUPS_H

#include "tools/analyze/job/job.h"

// Operations of one kind and name; copies are grouped by direction. Zones and
// calls passed to names_add have groups as well, without counts and times.
typedef struct names_group {
    ts_event_kind kind;
    ts_text text;   // recorded name; of a copy "host to device"
    uint32_t first; // first operation; TS_NODE_NONE: none
    uint64_t count;
    int64_t work_ns; // sum of the recorded durations
} names_group;

typedef struct names_index {
    uint32_t *of;  // group of each operation; op_count values
    bool borrowed; // `of` belongs to the job
    size_t op_count;
    names_group *groups; // by first operation
    size_t count;
    size_t room;     // private, like all fields below
    cli_index texts; // by kind and text
    cli_map labels;  // file, kind and label to group
} names_index;

// Returns false if memory runs out. Call names_close in any case.
bool names_open(names_index *names, const ts_replay *replay);
// The same for the replay of a job, whose operations are grouped only once.
bool names_of_job(names_index *names, analyze_job *job);
// Frees the groups; their texts end with it. Allowed after names_open failed.
void names_close(names_index *names);

// Returns the group of a zone by its site (kind TS_EVENT_ZONE) or of a call by
// its name (TS_EVENT_API_CALL), one for all files. The text of a group without
// a name is empty. Returns TS_NODE_NONE if memory runs out.
uint32_t names_add(names_index *names, const ts_replay *replay, uint32_t file,
                   ts_event_kind kind, uint32_t id);

// Whether a kind of operation is work: kernels, copies, memsets, collectives.
static inline bool names_works(ts_event_kind kind)
{
    return kind == TS_EVENT_KERNEL || kind == TS_EVENT_MEMCPY ||
           kind == TS_EVENT_MEMSET || kind == TS_EVENT_COLLECTIVE;
}

// Whether a zone with this name only waits, for another thread or an external
// event, so that its time is no host work. Examples: "threading.py(355): wait",
// "<built-in method acquire of _thread.lock object at 0x...>", "poll".
bool names_waits(ts_text zone);

// Returns "host to device" or the like; "copy" if the direction is unknown.
const char *names_direction(uint64_t copy_type);

#endif // TS_TOOLS_ANALYZE_FIGURES_BASE_GROUPS_H
