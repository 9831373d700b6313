/*
    tables.h - what a job holds; for the files import_*.c only
*/
#ifndef TS_TOOLS_IMPORT_TABLES_H
#define TS_TOOLS_IMPORT_TABLES_H

#include "tools/import/import.h"
#include "tools/import/pack.h"

// A list that grows without moving its elements.
enum { IMPORT_BLOCK = 4096 }; // elements
typedef struct import_list {
    void **blocks;
    size_t block_count, room, count;
    size_t size; // of an element
} import_list;

typedef struct import_track {
    uint32_t kind;   // of the key: ts_track_type, or IMPORT_LANE
    int64_t key[3];  // ids of the source
    uint32_t parent; // of the thread that is a lane: as the key says
    ts_track_entry entry;
    // Of threads.
    import_pack zones; // zone_count of import_known_zone, each from the last
    size_t zone_count;
    int64_t zone_last_ns;
    // Zones with one start and end, the outer one first, not yet written.
    int64_t held_start_ns, held_duration_ns;
    uint32_t held_count, held[16]; // sites
} import_track;

enum { IMPORT_LANE = 64, IMPORT_STRIDE = 4 };

typedef struct import_known_zone {
    int64_t start_ns, end_ns;
    uint32_t site;
    uint32_t facts; // position in the list + 1; 0: none
} import_known_zone;

typedef struct import_call {
    uint64_t correlation;
    int64_t start_ns;
    uint32_t thread;
} import_call;

// What an operation is given at the end.
typedef struct import_held {
    uint32_t thread, site;
} import_held;

typedef struct import_known { // of a collective, in their order
    uint32_t index;           // of its operation
    uint32_t facts;           // position in the list + 1
} import_known;

typedef struct import_record {
    uint64_t correlation, id;
    uint32_t stream;
    bool before; // the correlation is that of a wait, which it comes before
} import_record;

typedef struct import_tables {
    bool no_memory;
    bool no_file; // what was written beside the trace could not be read
    char *packed_path, *calls_path;
    bool has_near, has_process;
    int64_t near_ns;
    cli_progress progress;
    import_list tracks;    // import_track; track n is element n - 1
    cli_index track_index; // by kind and key
    // Operations: first those with times of their own, packed, then those
    // whose times are that of a call.
    bool has_base;
    int64_t base_ns; // packed starts count from it
    import_pack packed;
    size_t packed_count;
    import_list packed_at; // where one of every IMPORT_STRIDE begins, uint64_t
    size_t next;           // the one after the last that was asked for
    uint64_t next_at;      // and where it begins
    import_list known;     // import_known
    import_list loose;     // import_operation
    import_list own_records; // correlations of event records, uint64_t
    import_list facts;       // import_facts
    import_pack calls;       // call_count of import_call, each from the last
    size_t call_count;
    import_call last_call;
    import_list records; // import_record
    import_held *held;   // at the end, of all operations; NULL: there are no
                         // calls that could tell something
} import_tables;

// A new element of zeros; NULL without memory, which the job remembers.
void *import_list_add(import_job *job, import_list *list);
void *import_list_at(const import_list *list, size_t index);
void import_list_free(import_list *list);

// Room for count elements that the job may lack; NULL: it remembers.
void *import_array(import_job *job, size_t count, size_t size);

// Whether the time is near the others; makes it known as one of them.
bool import_is_near(import_job *job, int64_t start_ns, int64_t duration_ns);

import_track *import_track_of(const import_job *job, uint32_t track);
void import_zones_flush(import_job *job, uint32_t track);

// Something to be put in order; of equal keys the smaller index comes first.
// 12 bytes: there are two for each operation at the end, when memory is dear.
typedef struct __attribute__((packed, aligned(4))) import_moment {
    int64_t key;
    uint32_t index;
} import_moment;
void import_moments_sort(import_moment *moments, size_t count);

size_t import_operation_count(const import_job *job);
// As the source has it; the other one is with what it is given at the end.
void import_operation_get_own(import_job *job, size_t index,
                              import_operation *operation);
void import_operation_get(import_job *job, size_t index,
                          import_operation *operation);
void import_operations_write(import_job *job, size_t count); // all of them
// Calls in the order in which they came; *at is 0 at first, *call all zeros.
void import_call_next(import_job *job, uint64_t *at, import_call *call);
void import_call_keep(import_job *job, const import_call *call);
void import_zone_keep(import_job *job, import_track *track,
                      const import_known_zone *zone);
// All zones of a thread; free the result. NULL: no memory.
import_known_zone *import_zones_get(import_job *job, import_track *track);
void import_hold_free(import_job *job);

// Gives operations the site of the innermost zone at their call. issued: when
// each of them was called, in order.
void import_zones_walk(import_job *job, const import_moment *issued,
                       size_t count);

#endif // TS_TOOLS_IMPORT_TABLES_H
