/*
    stats.h - statistics of events by key: counts, durations, quantiles

    Several threads scan the columns. Each fills its own groups, which are then
    merged by key, so that results do not depend on the threads.
*/
#ifndef TS_TOOLS_ANALYZE_JOB_STATS_H
#define TS_TOOLS_ANALYZE_JOB_STATS_H

#include "tools/cli/cli.h"

// Statistics of the events that share a key.
typedef struct stats_group {
    uint64_t key[2]; // its meaning is the caller's
    uint32_t file;
    uint64_t count;
    uint64_t bytes;
    int64_t total_ns, least_ns, most_ns;
    int64_t first_ns, last_ns; // starts of the earliest and the latest event
    int64_t most_at_ns;     // start of the longest event; the first of equals
    int64_t p50_ns, p95_ns; // set by stats_quantiles
    uint64_t from;          // private: index of its first duration
} stats_group;

// Starts from { 0 }.
typedef struct stats_map {
    stats_group *groups; // sorted by file and key after stats_run
    size_t count;
    size_t room;     // private
    cli_index index; // private: by file and key
    bool failed;     // no memory
} stats_map;

// Returns the group of a key, which it creates if needed; NULL if memory runs
// out. The pointer is valid until the next call.
stats_group *stats_find(stats_map *map, uint32_t file, uint64_t key0,
                        uint64_t key1);
// Returns the index of the group of a key; UINT32_MAX if there is none.
uint32_t stats_look(const stats_map *map, uint32_t file, uint64_t key0,
                    uint64_t key1);
// Adds an event to a group: to count, total, extremes and bytes. Of equally
// long events the earliest is kept as the longest, whatever the order.
void stats_add(stats_group *group, int64_t start_ns, int64_t duration_ns,
               uint64_t bytes);
// Returns a + b, saturated, because a trace may hold any time.
int64_t stats_sum(int64_t a, int64_t b);
// Adds group `from` to group `to`. File and keys become those of the longest
// event.
void stats_join(stats_group *to, const stats_group *from);
// Sorts the groups by file, then key, so that their order is the same on every
// run whatever order the threads found them in. Returns false if memory runs
// out.
bool stats_sort(stats_map *map);
// Frees the groups; *map is empty afterwards and may be used again.
void stats_close(stats_map *map);

/* ---- Scans --------------------------------------------------------------- */

enum { STATS_KEYS = 4 };

// One event of a chunk, from which the caller derives its groups.
typedef struct stats_event {
    uint32_t file, row;
    const ts_columns *columns;
} stats_event;

// Returns the event's value in a column; 0 if its chunk lacks the column.
static inline uint64_t stats_value(const stats_event *e, ts_column column)
{
    const uint64_t *const values = e->columns->values[column];
    return values ? values[e->row] : 0;
}
// Returns the event's own track, also in chunks with events of several.
static inline uint32_t stats_track(const stats_event *e)
{
    const ts_columns *const c = e->columns;
    return c->tracks ? c->tracks[e->row] : c->track;
}

typedef struct stats_key {
    uint64_t key[2];
} stats_key;

/*
    Groups the events of `kinds` in `file` of a reader into `map_count` maps.
    `keys` fills one key for each map, or returns false to skip the event;
    several threads call it at once. `bytes` is a column to sum up (0: none).
    Returns false if memory runs out.
*/
typedef struct stats_scan {
    uint64_t kinds; // bits, as in ts_filter
    ts_column bytes;
    size_t map_count;
    bool (*keys)(const stats_event *event, stats_key *keys, void *user);
    void *user;
} stats_scan;
// Decodes the chunks of the scan's kinds on several threads, each of which
// fills maps of its own, and adds them to `maps`, whose result does not depend
// on the number of threads. Damaged chunks are left out; the reader lists them.
// False without memory.
bool stats_run(ts_reader *reader, uint32_t file, const stats_scan *scan,
               stats_map *maps);

/*
    Computes the quantiles of groups with a second scan, which collects the
    durations. number[g] is the row of group g of the map; there are `row_count`
    rows. Their p50_ns and p95_ns are exact (the lower middle value of an even
    count). `readers` has one reader for each file. Returns false if memory runs
    out.
*/
bool stats_quantiles(ts_reader *const *readers, uint32_t file_count,
                     const stats_scan *scan, size_t which, const stats_map *map,
                     const uint32_t *number, stats_group *rows,
                     size_t row_count);

#endif // TS_TOOLS_ANALYZE_JOB_STATS_H
