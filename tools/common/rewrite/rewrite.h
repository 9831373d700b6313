/*
    rewrite.h - copying a trace, or parts of it, into another trace

    ids.c       maps numbers of a file to the new trace: names, sites, tracks
    metadata.c  tracks, metadata, losses, blobs, clocks
    events.c    events, one chunk at a time
    captures.c  captures, which are needed to run operations again
    merge.c     metadata about each file when several are merged

    Memory does not grow with the number of events: each chunk is decoded,
    changed, written and freed. Maps grow with the dictionaries.
*/
#ifndef TS_TOOLS_COMMON_REWRITE_REWRITE_H
#define TS_TOOLS_COMMON_REWRITE_REWRITE_H

#include "tools/cli/cli.h"

// The role of a text, for callers that rename it.
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
    COPY_TRACK, // of a track type from a later version
    COPY_UNIT,
    COPY_KEY,   // of metadata
    COPY_VALUE, // of metadata
    COPY_LOSS,
    COPY_TEXT // of a message or an argument
} copy_role;
enum { COPY_ROLES = COPY_TEXT + 1 };

// Returns the new text, which lives until the next call. An empty text for
// COPY_KEY leaves that metadata out.
typedef ts_text (*copy_rename)(void *user, copy_role role, ts_text text);

// The role of a number, for callers that change it.
typedef enum copy_number {
    COPY_TASK,   // id of a process or a thread
    COPY_HANDLE, // any other id that programs or vendors choose
    COPY_ADDRESS
} copy_number;
typedef uint64_t (*copy_renumber)(void *user, copy_number what, uint64_t value);

/*
    State of a merge. Tracks get new numbers, file after file. Ids that are
    unique only within a process (correlation ids, events, graphs, flows, spans)
    get the number of their *part* in the upper 16 bits. A part is a file, or a
    part of a file that was itself merged; ids of the first part are unchanged.
    The metadata `merge.part` of a part's process tracks is its number.

    Two files may describe the same process: one that it recorded itself, and
    one recorded from outside. The later file *joins* the earlier one: processes
    and threads with the same ids become the same tracks. A forked child's file
    has a track for the parent's process without events: it becomes the parent's
    own track.
*/
enum {
    COPY_PARTS = 32767, // the most that the upper bits of ids can hold
    COPY_COMMON = 256
};
typedef struct copy_member { // a process or a thread
    uint32_t file, type, track;
    uint64_t number, machine; // machine: hash of its boot id; 0: unknown
} copy_member;
typedef struct copy_merge {
    uint32_t next_track, next_part, next_image;
    copy_member *members; // of the files copied so far
    size_t member_count, member_room;
    bool shared_flows; // ids of flows and spans are common to all files
    bool hosts;        // several hosts: names of process tracks include them
    uint64_t common[COPY_COMMON]; // hashes of the keys that copy_common wrote
    size_t common_count;
} copy_merge;

typedef struct copy_map { // by old number: the new number; 0: none yet
    uint32_t *to;
    uint32_t size;
} copy_map;

typedef struct copy_captures copy_captures;

// Copies one file into the trace. The caller sets the fields before `Private`;
// the rest is zero.
typedef struct copy {
    ts_reader *reader;
    ts_writer *writer;
    const char *path;     // of the file
    int64_t offset_ns;    // added to its times
    copy_merge *merge;    // NULL: one file only, whose numbers are kept
    uint32_t file, joins; // its index; 1 + index of the file it joins, or 0
    // The reader that converts ticks to times (default: `reader`), and what to
    // add then: two clock samples may differ by some nanoseconds.
    const ts_reader *axis;
    int64_t axis_ns;
    copy_rename rename;     // NULL: texts, numbers and build-ids are kept
    copy_renumber renumber; // set if and only if `rename` is
    void *rename_user;
    int64_t losses_from_ns, losses_to_ns; // copies only these; both 0: all
    uint64_t undefined; // out: references that the file does not define

    // Private.
    copy_map names, sites, launches, stacks, modules, images;
    copy_captures *captures; // NULL: captures are not copied
    cli_map tracks;          // in a merge: old number to new one
    uint32_t first_track;    // new tracks before it are of other files
    uint32_t process;        // new track of events without a process
    uint32_t part;           // the file's first part
    uint32_t part_count;     // 1 unless the file itself was merged
    bool no_memory;
} copy;

// Assigns the track numbers. False without memory; call copy_end even then.
bool copy_begin(copy *c);
// Frees the maps and the captures. The reader and the writer stay open.
void copy_end(copy *c);

// Returns the number of a text among the new trace's names, renamed if the
// caller renames; 0 for an empty text.
uint32_t copy_text(copy *c, copy_role role, ts_text text);
// Converts the number of a name. Renames once for each number: the role of the
// first use decides. 0: no name, or an empty one.
uint32_t copy_name(copy *c, copy_role role, uint32_t name);
// Converts a value of a column to the new trace's numbers.
uint64_t copy_value(copy *c, ts_event_kind kind, ts_column column,
                    uint64_t value);
// The same for `count` values: to[i] from from[rows[i]].
void copy_values(copy *c, ts_event_kind kind, ts_column column,
                 const uint64_t *from, const uint32_t *rows, uint32_t count,
                 uint64_t *to);
// Returns whether a column's values need no conversion.
bool copy_is_plain(const copy *c, ts_event_kind kind, ts_column column);
// Converts the number of a track. Of a file that is not merged it is unchanged;
// an undefined one is counted in `undefined`.
uint32_t copy_track_id(copy *c, uint32_t track);
// Returns whether a new track was already defined by another file.
bool copy_is_joined(const copy *c, uint32_t to);
// Frees the state of a merge, after its last file.
void copy_merge_end(copy_merge *merge);
// Converts the number of a module and copies its entry at first use; addresses
// and build-ids are left out where texts are renamed.
uint32_t copy_module_id(copy *c, uint32_t module);
// For captures: convert the number of a code image, and the order of an
// operation.
uint32_t copy_image_id(copy *c, uint32_t image);
// Converts the order of a captured operation, which is unique within a process
// only.
uint64_t copy_order(const copy *c, uint64_t order);

// Defines the file's tracks in the new trace, with names renamed; in a merge
// also the metadata of its process tracks.
void copy_tracks(copy *c);
// Copies metadata. In a merge, that of the session goes to the file's process
// track, unless copy_common wrote it for all files.
void copy_metadata(copy *c);
// Copies the loss ledger, without rows outside of losses_from_ns and
// losses_to_ns; rows without a time are always copied.
void copy_losses(copy *c);
// Copies the blob with this hash, if the file has it. Errors in it are damage
// of the file, which the reader reports.
void copy_blob(copy *c, const uint64_t hash[2]);
void copy_blobs(copy *c);  // all except those of captures that are copied
void copy_clocks(copy *c); // samples of other clocks; needs the writer's
                           // `start_raw_ns`
// Computes a new session id from the file's and a salt; equal salts give equal
// ids.
void copy_session(const ts_reader *reader, const void *salt, size_t salt_size,
                  uint8_t session[16]);
// Writes metadata about the new trace itself.
void copy_note_text(ts_writer *writer, uint32_t track, const char *key,
                    const char *text);
// The same for an integer.
void copy_note_number(ts_writer *writer, uint32_t track, const char *key,
                      int64_t value);

/* ---- Where several become one (merge.c) ----------------------------- */

// Returns the number of parts of a file; 1 if it is not merged.
uint32_t copy_part_count(const ts_reader *reader);
// Writes the metadata of a file's process tracks from that of its session; see
// copy_tracks.
void copy_parts(copy *c);
// Returns the number of the name of a process track: in a merge with its rank
// and, if there are several hosts, its host.
uint32_t copy_process_name(copy *c, const ts_track *track);
// Writes session metadata that all files have in common as metadata of the new
// session, and of none of its processes.
void copy_common(copy_merge *merge, ts_writer *writer,
                 ts_reader *const *readers, size_t count);
// Whether copy_common wrote a session key, by its hash.
bool copy_is_common(const copy_merge *merge, ts_text key);

/* ---- Events (events.c) --------------------------------------------- */

enum { COPY_ROWS = 8192 }; // maximum rows of a batch

// Rows of a chunk while they are copied. `edit` may change times, tracks and
// `keep`.
typedef struct copy_batch {
    const ts_columns *columns;
    uint32_t first, count; // rows of `columns`: first, first + 1, ...
    uint32_t gpu_row;      // index of the first among the GPU operations of
                           // the file, with damaged ones
    int64_t *start_ns, *duration_ns; // on the new time axis
    uint32_t *tracks;                // of each row, as in the file
    bool *keep;                      // initially true
} copy_batch;

typedef struct copy_hooks {
    // Returns false to skip a chunk without reading it. NULL: none is skipped.
    bool (*takes)(void *user, const ts_chunk_info *info);
    // Edits a batch; returns false to skip it. NULL: all is copied.
    bool (*edit)(void *user, copy_batch *batch);
    // Changes the time at which a host thread queued or submitted an operation.
    // NULL: times are kept.
    int64_t (*host_time)(void *user, uint32_t thread, int64_t then_ns);
    void *user;
} copy_hooks;

typedef struct copy_counts {
    uint64_t kept, left_out; // events; damaged ones count as neither
    uint64_t unknown;        // of kinds from a later version: left out as well
} copy_counts;

/*
    Copies all events in the order of the file, which is the order of recording.
    Damaged chunks become losses of the new trace. Adds to *counts. hooks and
    progress may be NULL. Errors: TS_ERR_MEMORY and those of the writer.
*/
ts_result copy_events(copy *c, const copy_hooks *hooks, copy_counts *counts,
                      cli_progress *progress);

// Prints what the file at a path lacks: events of kinds from a later version,
// references that the source does not define. Nothing if both are 0.
void copy_warn(const cli_tool *tool, const char *path, uint64_t unknown,
               uint64_t undefined);

/* ---- Captures (captures.c) ------------------------------------------ */

// Finds the captures of the file. Call it before anything is copied;
// copy_events then notes which operations are kept. False without memory.
bool copy_captures_find(copy *c);
// Marks the capture of an operation that is copied, by its stream and
// correlation id; nothing happens without captures.
void copy_captures_keep(copy *c, uint32_t track, uint64_t correlation);
// Whether a blob belongs to a capture: copy_captures_write copies it,
// copy_blobs does not.
bool copy_is_captured(const copy *c, const uint64_t hash[2]);
// Writes captures with their code and memory: all, or those of kept operations.
// Call it after copy_events. Errors: TS_ERR_MEMORY and those of the writer.
ts_result copy_captures_write(copy *c, bool all);
// Frees what copy_captures_find made; copy_end calls it.
void copy_captures_close(copy *c);

#endif // TS_TOOLS_COMMON_REWRITE_REWRITE_H
