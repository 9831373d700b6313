/*
    groups.h - the operations of a replay, grouped by kind and name
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_BASE_GROUPS_H
#define TS_TOOLS_ANALYZE_FIGURES_BASE_GROUPS_H

#include "tools/cli/cli.h"

// Operations of one kind and name; copies: of one direction. Zones and calls
// that names_add was asked about have groups too, without figures.
typedef struct names_group {
    ts_event_kind kind;
    ts_text text;   // as recorded; of a copy "host to device"
    uint32_t first; // operation; TS_NODE_NONE: none
    uint64_t count;
    int64_t work_ns; // sum of the recorded durations
} names_group;

typedef struct names_index {
    uint32_t *of; // the group of each operation; those are `op_count`
    size_t op_count;
    names_group *groups; // in order of their first operation
    size_t count;
    size_t room;     // private, as all below
    cli_index texts; // by kind and text
    cli_map labels;  // file, kind and label to group
} names_index;

// False without memory. Close it in any case.
bool names_open(names_index *names, const ts_replay *replay);
void names_close(names_index *names);

// The group of a zone by its site (kind TS_EVENT_ZONE) or of a call by its
// name (TS_EVENT_API_CALL), whatever file it is of; without a name the text
// is empty. TS_NODE_NONE: no memory.
uint32_t names_add(names_index *names, const ts_replay *replay, uint32_t file,
                   ts_event_kind kind, uint32_t id);

// Kernels, copies, sets and collectives: what makes a device busy.
static inline bool names_works(ts_event_kind kind)
{
    return kind == TS_EVENT_KERNEL || kind == TS_EVENT_MEMCPY ||
           kind == TS_EVENT_MEMSET || kind == TS_EVENT_COLLECTIVE;
}

// Whether a zone by that name only waits, for another thread or for the world:
// what the host spends there is no work of it. "threading.py(355): wait",
// "<built-in method acquire of _thread.lock object at 0x...>", "poll".
bool names_waits(ts_text zone);

// "host to device"; "copy" if it is not known.
const char *names_direction(uint64_t copy_type);

#endif // TS_TOOLS_ANALYZE_FIGURES_BASE_GROUPS_H
