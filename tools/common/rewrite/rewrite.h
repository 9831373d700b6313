/*
    rewrite.h - a trace, or some of it, in another one

    ids.c     numbers of one file in the other: names, sites, tracks, ids
    metadata.c   tracks, metadata, losses, blobs, clocks
    events.c  events, a chunk at a time
    captures.c  what it takes to run operations again
    merge.c   what is said of each file where several become one

    Nothing here grows with the number of events: a chunk is decoded, changed,
    written and forgotten. Maps grow with the dictionaries.
*/
#ifndef TS_TOOLS_COMMON_REWRITE_REWRITE_H
#define TS_TOOLS_COMMON_REWRITE_REWRITE_H

#include "tools/cli/cli.h"

// What a text is, for those who rename it.
typedef enum copy_role {
    COPY_ZONE,
    COPY_CATEGORY,
    COPY_FUNCTION,
    COPY_FILE,
    COPY_KERNEL,
    COPY_COLLECTIVE,
    COPY_HOST_FUNCTION,
    COPY_API,
    COPY_ARGUMENT,
    COPY_POOL,
    COPY_MODULE,
    COPY_PROCESS,
    COPY_THREAD,
    COPY_DEVICE,
    COPY_CONTEXT,
    COPY_STREAM,
    COPY_COUNTER,
    COPY_TRACK, // of a type of a later version
    COPY_UNIT,
    COPY_KEY,   // of metadata
    COPY_VALUE, // of metadata
    COPY_LOSS,
    COPY_TEXT // of a message or an argument
} copy_role;
enum { COPY_ROLES = COPY_TEXT + 1 };

// A renamed text; its bytes live until the next call. An empty key of metadata
// leaves that out.
typedef ts_text (*copy_rename)(void *user, copy_role role, ts_text text);

// What a number is, for those who change it, too.
typedef enum copy_number {
    COPY_TASK,   // of a process or a thread
    COPY_HANDLE, // of what programs or vendors number as they like
    COPY_ADDRESS
} copy_number;
typedef uint64_t (*copy_renumber)(void *user, copy_number what, uint64_t value);

/*
    Several files in one: tracks are numbered anew, one file after the other,
    and ids that mean something in one process only (correlations, events,
    graphs, flows, spans) get the number of their *part* in their upper 16
    bits. A part is a file, or a part of a file that was merged before; those
    of the first keep their ids. Its process tracks say which it is, in the
    metadata `merge.part`.

    Two files may be of one process, as what it records itself and what was
    heard from outside. The later one *joins* the other: their processes and
    threads are the same tracks, by their numbers. A child made by fork knows
    its parent's process, in which it did nothing: that is the parent's own.
*/
enum {
    COPY_PARTS = 32767, // more of them cannot be told apart
    COPY_COMMON = 256
};
typedef struct copy_member { // a process or a thread
    uint32_t file, type, track;
    uint64_t number, machine; // machine: hash of its boot, 0 unknown
} copy_member;
typedef struct copy_merge {
    uint32_t next_track, next_part, next_image;
    copy_member *members; // of the files so far
    size_t member_count, member_room;
    bool shared_flows; // ids of flows and spans mean the same in all files
    bool hosts;        // several: process tracks are named by them, too
    uint64_t common[COPY_COMMON]; // hashes of keys that copy_common wrote
    size_t common_count;
} copy_merge;

typedef struct copy_map { // by number: new number, 0 not known yet
    uint32_t *to;
    uint32_t size;
} copy_map;

typedef struct copy_captures copy_captures;

// From one file into the trace. Fill in what stands first, the rest is zero.
typedef struct copy {
    ts_reader *reader;
    ts_writer *writer;
    const char *path;       // of the file
    int64_t offset_ns;      // added to its times
    copy_merge *merge;      // NULL: alone, and its numbers stay
    uint32_t file, joins;   // its number; 1 + that of the file it joins
    const ts_reader *axis;  // reads its ticks, as two samples of a clock differ
    int64_t axis_ns;        // by some nanoseconds; added then. (the reader)
    copy_rename rename;     // NULL: texts and numbers stay, and build-ids
    copy_renumber renumber; // goes with it
    void *rename_user;
    int64_t losses_from_ns, losses_to_ns; // only these (both 0: all)
    uint64_t undefined; // numbers that the file does not define: none now

    // Private.
    copy_map names, sites, launches, stacks, modules, images;
    copy_captures *captures; // NULL: none are copied
    cli_map tracks;          // where files are merged: to new numbers
    uint32_t first_track;    // in the trace: those before it are of other files
    uint32_t process;        // the track, in the trace, of what has none
    uint32_t part;           // the first one of the file
    uint32_t part_count;     // 1 unless the file itself was merged
    bool no_memory;
} copy;

// Numbers the tracks. False without memory. Whatever it returns, close it.
bool copy_begin(copy *c);
void copy_end(copy *c);

uint32_t copy_text(copy *c, copy_role role, ts_text text);
uint32_t copy_name(copy *c, copy_role role, uint32_t name);
// A value of a column, as the trace needs it.
uint64_t copy_value(copy *c, ts_event_kind kind, ts_column column,
                    uint64_t value);
// The same of `count` values: to[i] of from[rows[i]].
void copy_values(copy *c, ts_event_kind kind, ts_column column,
                 const uint64_t *from, const uint32_t *rows, uint32_t count,
                 uint64_t *to);
// Whether a column's values are the same in every trace.
bool copy_is_plain(const copy *c, ts_event_kind kind, ts_column column);
uint32_t copy_track_id(copy *c, uint32_t track);
// Whether another file has said of a track what it is.
bool copy_is_joined(const copy *c, uint32_t to);
void copy_merge_end(copy_merge *merge);
uint32_t copy_module_id(copy *c, uint32_t module);
// Of captures: the number of code, and where an operation stands.
uint32_t copy_image_id(copy *c, uint32_t image);
uint64_t copy_order(const copy *c, uint64_t order);

void copy_tracks(copy *c);
void copy_metadata(copy *c);
void copy_losses(copy *c);
// One by its hash, if the file has it. What is wrong with it is damage of the
// file, which the reader tells.
void copy_blob(copy *c, const uint64_t hash[2]);
void copy_blobs(copy *c);  // but not those of captures that are copied
void copy_clocks(copy *c); // what other clocks showed, where `start_raw_ns`
                           // of the writer was known
// Another session than that of the file, the same for equal salts.
void copy_session(const ts_reader *reader, const void *salt, size_t salt_size,
                  uint8_t session[16]);
// A fact about the trace itself.
void copy_note_text(ts_writer *writer, uint32_t track, const char *key,
                    const char *text);
void copy_note_number(ts_writer *writer, uint32_t track, const char *key,
                      int64_t value);

/* ---- Where several become one (merge.c) ----------------------------- */

// How many parts a file has: 1 if it was never merged.
uint32_t copy_part_count(const ts_reader *reader);
// Its process tracks, by what its session says of it; see copy_tracks.
void copy_parts(copy *c);
uint32_t copy_process_name(copy *c, const ts_track *track);
// What all files say of their sessions is said of the one that they become,
// and of none of their processes.
void copy_common(copy_merge *merge, ts_writer *writer,
                 ts_reader *const *readers, size_t count);
bool copy_is_common(const copy_merge *merge, ts_text key);

/* ---- Events (events.c) --------------------------------------------- */

enum { COPY_ROWS = 8192 }; // of a batch

// Rows of a chunk on their way. `edit` may change times, tracks and `keep`.
typedef struct copy_batch {
    const ts_columns *columns;
    uint32_t first, count; // rows of it: first, first + 1, ...
    uint32_t gpu_row;      // place of the first among the GPU operations of
                           // the file, damaged ones included
    int64_t *start_ns, *duration_ns; // of each, on the axis of the trace
    uint32_t *tracks;                // numbers of the file
    bool *keep;                      // (true)
} copy_batch;

typedef struct copy_hooks {
    // False: nothing of a chunk is wanted; it is not read. (all are)
    bool (*wants)(void *user, const ts_chunk_info *info);
    // False: nothing of a batch is wanted. (all is)
    bool (*edit)(void *user, copy_batch *batch);
    // When the host did something on a thread. (then)
    int64_t (*host_time)(void *user, uint32_t thread, int64_t then_ns);
    void *user;
} copy_hooks;

typedef struct copy_counts {
    uint64_t kept, left_out; // events; damaged ones are neither
    uint64_t unknown;        // of kinds of a later version: left out as well
} copy_counts;

/*
    In the order of the file, which is that of recording. Damaged chunks
    become losses of the trace. `counts` is added to; hooks and progress may
    be NULL. Errors: TS_ERR_MEMORY; others are the writer's.
*/
ts_result copy_events(copy *c, const copy_hooks *hooks, copy_counts *counts,
                      cli_progress *progress);

/* ---- Captures (captures.c) ------------------------------------------ */

// Finds out which the file has, before anything of it is copied; false without
// memory. copy_events notes whose operations are kept.
bool copy_captures_find(copy *c);
void copy_captures_keep(copy *c, uint32_t track, uint64_t correlation);
bool copy_is_captured(const copy *c, const uint64_t hash[2]);
// Writes them, with code and contents: those of operations that were kept, or
// all. Behind the events. Errors: TS_ERR_MEMORY; others are the writer's.
ts_result copy_captures_write(copy *c, bool all);
void copy_captures_close(copy *c);

#endif // TS_TOOLS_COMMON_REWRITE_REWRITE_H
