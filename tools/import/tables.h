/*
    tables.h - the private state of a job; only for the files of this folder
*/
#ifndef TS_TOOLS_IMPORT_TABLES_H
#define TS_TOOLS_IMPORT_TABLES_H

#include "tools/import/import.h"
#include "tools/import/pack.h"

// A list of blocks: it grows without moving its elements.
enum { IMPORT_BLOCK = 4096 }; // elements in a block
typedef struct import_list {
    void **blocks;
    size_t block_count, room, count;
    size_t size; // bytes of an element
} import_list;

typedef struct import_track {
    uint32_t kind;   // ts_track_type or IMPORT_LANE; part of the key
    int64_t key[3];  // ids of the source
    uint32_t parent; // of a lane: the parent in its key
    ts_track_entry entry;
    // Only for threads.
    import_pack zones; // zone_count import_known_zone, delta-encoded
    size_t zone_count;
    int64_t zone_last_ns;
    // Zones with the same start and end that are not written yet, the outermost
    // first.
    int64_t held_start_ns, held_duration_ns;
    uint32_t held_count, held[16]; // sites
} import_track;

enum { IMPORT_LANE = 64, IMPORT_STRIDE = 4 };

typedef struct import_known_zone {
    int64_t start_ns, end_ns;
    uint32_t site;
    uint32_t facts; // index into import_tables.facts + 1; 0: none
} import_known_zone;

typedef struct import_call {
    uint64_t correlation;
    int64_t start_ns;
    uint32_t thread;
} import_call;

// What import_operations_end adds to an operation.
typedef struct import_held {
    uint32_t thread, site;
} import_held;

typedef struct import_known { // facts of a collective, in order of `index`
    uint32_t index;           // of its operation
    uint32_t facts;           // index into import_tables.facts + 1
} import_known;

typedef struct import_record {
    uint64_t correlation, id;
    uint32_t stream;
    bool before; // the correlation id is that of a wait; the record precedes it
} import_record;

typedef struct import_tables {
    bool no_memory;
    bool no_file; // the temporary file could not be read
    char *packed_path, *calls_path;
    bool has_near;
    int64_t near_ns;
    cli_progress progress;
    import_list tracks;    // import_track; track n is element n - 1
    cli_index track_index; // by kind and key
    // Operations: first those with recorded times, packed; then `loose`, those
    // that have only the times of a call.
    bool has_base;
    int64_t base_ns; // packed start times are relative to it
    import_pack packed;
    size_t packed_count;
    import_list packed_at;   // uint64_t: where each IMPORT_STRIDE-th begins
    size_t next;             // index after the last one that was read
    uint64_t next_at;        // where that one begins
    import_list known;       // import_known
    import_list loose;       // import_operation
    import_list own_records; // uint64_t: correlation ids of event records
    import_list facts;       // import_facts
    import_pack calls;       // call_count import_call, delta-encoded
    size_t call_count;
    import_call last_call;
    import_list records; // import_record
    import_held *held;   // of all operations, set at the end; NULL: there are
                         // no calls to take anything from
} import_tables;

// Returns a new element of zeros; NULL without memory, which the job remembers.
void *import_list_add(import_job *job, import_list *list);
// Returns an element, whose address never changes; index < count.
void *import_list_at(const import_list *list, size_t index);
// Frees the elements; the list is empty afterwards.
void import_list_free(import_list *list);

// Allocates an array that the job can do without. NULL without memory, which
// the job remembers.
void *import_array(import_job *job, size_t count, size_t size);

// Checks that a time is near the reference time (import_near) and updates the
// job's first and last time. False if it is not; the row is counted as bad.
bool import_is_near(import_job *job, int64_t start_ns, int64_t duration_ns);

// Returns what is known of a track, valid as long as the job; NULL: there is no
// such track.
import_track *import_track_of(const import_job *job, uint32_t track);
// Writes the zones of a track that import_zone_at held back, the last first: as
// a recorder would, the innermost before those around it.
void import_zones_flush(import_job *job, uint32_t track);

// An element to be sorted by key, then by index. It is packed to 12 bytes
// because at the end there are two for each operation.
typedef struct __attribute__((packed, aligned(4))) import_moment {
    int64_t key;
    uint32_t index;
} import_moment;
// Sorts in place, without memory of its own; fast if they are sorted already.
void import_moments_sort(import_moment *moments, size_t count);

// Returns how many operations are held back, with those whose times are those
// of their calls.
size_t import_operation_count(const import_job *job);
// Reads an operation as the source has it; import_operation_get adds the fields
// of import_held.
void import_operation_get_own(import_job *job, size_t index,
                              import_operation *operation);
// Reads an operation that is held back, with the thread and site that were
// found for it. index < import_operation_count.
void import_operation_get(import_job *job, size_t index,
                          import_operation *operation);
void import_operations_write(import_job *job, size_t count); // writes all
// Reads the next call in the order of their addition. Start with *at 0 and
// *call all zeros.
void import_call_next(import_job *job, uint64_t *at, import_call *call);
// Keeps a call until its operations are known: 6 bytes in a temporary file. On
// failure no_memory is set.
void import_call_keep(import_job *job, const import_call *call);
// Keeps a zone of a track for the operations launched in it, in order of start.
void import_zone_keep(import_job *job, import_track *track,
                      const import_known_zone *zone);
// Returns all zones of a thread, to be freed by the caller; NULL without
// memory.
import_known_zone *import_zones_get(import_job *job, import_track *track);
// Frees everything that was held back, with its temporary files.
void import_hold_free(import_job *job);

// Sets the site of operations: that of the innermost zone at their call.
// issued: times of the calls of the operations, sorted.
void import_zones_walk(import_job *job, const import_moment *issued,
                       size_t count);

#endif // TS_TOOLS_IMPORT_TABLES_H
