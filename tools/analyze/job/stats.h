/*
    stats.h - figures of many events by key: counts, times, quantiles

    Columns are scanned on several threads, each of which fills groups of its
    own; these are merged by key. Results depend on the events alone.
*/
#ifndef TS_TOOLS_ANALYZE_JOB_STATS_H
#define TS_TOOLS_ANALYZE_JOB_STATS_H

#include "tools/cli/cli.h"

// What is said about the events of one key.
typedef struct stats_group {
    uint64_t key[2]; // what the asker makes of it
    uint32_t file;
    uint64_t count;
    uint64_t bytes;
    int64_t total_ns, least_ns, most_ns;
    int64_t first_ns, last_ns; // of the earliest and the latest start
    int64_t most_at_ns;        // start of the longest, the first of equals
    int64_t p50_ns, p95_ns;    // by stats_quantiles
    uint64_t from;             // private: of the values of its durations
} stats_group;

// Starts from { 0 }.
typedef struct stats_map {
    stats_group *groups; // by file and key after stats_run
    size_t count;
    size_t room;     // private
    cli_index index; // private: by file and key
    bool failed;     // no memory
} stats_map;

// The group of a key; NULL without memory. Valid until the next call.
stats_group *stats_find(stats_map *map, uint32_t file, uint64_t key0,
                        uint64_t key1);
// Its number, without making one; UINT32_MAX: there is none.
uint32_t stats_look(const stats_map *map, uint32_t file, uint64_t key0,
                    uint64_t key1);
void stats_add(stats_group *group, int64_t start_ns, int64_t duration_ns,
               uint64_t bytes);
// a + b, at most what there is room for: times of a trace may be any.
int64_t stats_sum(int64_t a, int64_t b);
// The sum of two groups, in the first; file and keys, which are of that file,
// become those of the longest event.
void stats_join(stats_group *to, const stats_group *from);
// Groups by file, then key: threads see keys in whatever order, sorted they
// are the same on every run. False without memory.
bool stats_sort(stats_map *map);
void stats_close(stats_map *map);

/* ---- Scans --------------------------------------------------------------- */

enum { STATS_KEYS = 4 };

// One event of a chunk, for the asker to say which groups it belongs to.
typedef struct stats_event {
    uint32_t file, row;
    const ts_columns *columns;
} stats_event;

static inline uint64_t stats_value(const stats_event *e, ts_column column)
{
    const uint64_t *const values = e->columns->values[column];
    return values ? values[e->row] : 0;
}
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
    `keys` fills one key for each map; false leaves the event out. It is called
    on several threads at once. `bytes`: column summed up (0: none).
    False without memory.
*/
typedef struct stats_scan {
    uint64_t kinds; // bits, as of ts_filter
    ts_column bytes;
    size_t map_count;
    bool (*keys)(const stats_event *event, stats_key *keys, void *user);
    void *user;
} stats_scan;
bool stats_run(ts_reader *reader, uint32_t file, const stats_scan *scan,
               stats_map *maps);

/*
    The quantiles of groups: a second scan collects the durations. number[g]
    is the row that group g of the map belongs to, all of `row_count`; rows
    then have p50_ns and p95_ns, exactly (of an even count the lower middle).
    readers: of each file. False without memory.
*/
bool stats_quantiles(ts_reader *const *readers, uint32_t file_count,
                     const stats_scan *scan, size_t which, const stats_map *map,
                     const uint32_t *number, stats_group *rows,
                     size_t row_count);

#endif // TS_TOOLS_ANALYZE_JOB_STATS_H
