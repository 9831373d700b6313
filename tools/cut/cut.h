/*
    cut.h - writing a part of a trace as a new trace

    select.c             which events are selected
    names.c              selection by regular expressions over labels
    zones.c              selection by zones and frames
    steps.c              selection by steps
    ranks.c              selection by ranks and processes of a merged trace
    sets.c               sets of numbers, of time spans
    open_zones.c         zones and spans open at the ends of the time range
    dependencies.c       calls and operations that belong to selected ones
    anonymise.c          replaces names; well_known_names.c lists the kept ones
    anonymise_numbers.c  replaces numbers that identify a machine or a run
    write.c              writes the trace
*/
#ifndef TS_CUT_H
#define TS_CUT_H

#include "tools/common/rewrite/rewrite.h"
#include <regex.h>

// Which events are kept besides the selected ones.
typedef enum cut_deps {
    CUT_DEPS_CALLS, // the calls that launched selected operations
    CUT_DEPS_BOTH,  // also the operations that selected calls launched
    CUT_DEPS_NONE
} cut_deps;

// The conditions of a selection; an event must meet all. Zeros select
// everything.
typedef struct cut_options {
    bool timed; // only events that overlap [from_ns, to_ns)
    int64_t from_ns, to_ns;
    bool issued;       // of GPU operations: only those issued in that time
    bool begun;        // of GPU operations: only those that began in that time
    const char *zones; // names of zones, separated by commas, with *
    const uint32_t *streams; // tracks
    size_t stream_count;
    const uint32_t *devices;
    size_t device_count;
    const uint32_t *processes; // tracks
    size_t process_count;
    uint64_t kinds;      // bits 1 << kind
    const regex_t *name; // matches labels
    cut_deps deps;
    bool anonymise;
    const char *what; // the options as text
} cut_options;

typedef struct cut_job {
    const cli_tool *tool;
    const char *path, *out;
    cli_trace *trace;
    cut_options options;
    struct cut_aliases *aliases; // NULL: names are kept
    copy_counts counts;
    uint64_t added; // events kept only because of cut_options.deps
    uint64_t undefined, replaced;
    int64_t offset_ns; // from the file's times to those of the selection
    int64_t begin_ns;  // see cut_choice
    bool temporary;    // only this process reads the part
    bool other_files;  // ranks that are not in this file are in others
} cut_job;

// Writes the part. False, with the reason on stderr, on failure.
bool cut_write(cut_job *job);
// Checks that a text has the form [NAME:]A..B; false, with the reason on
// stderr, if not.
bool cut_frames_valid(const cli_tool *tool, const char *text);
// text: [NAME:]A..B. Sets the time range from the start of frame A to the end
// of frame B. False, with the reason on stderr, on failure.
bool cut_frames(cut_job *job, const char *text);
// Parses A..B, A.., ..B or A; false if the text has another form.
bool cut_range(const char *text, uint64_t *first, uint64_t *last);
// text: A..B. Selects what the host did in steps A to B, and the operations
// that it issued in them. Steps and their numbers are those of ts_replay_steps.
// False, with the reason on stderr, on failure.
bool cut_steps(cut_job *job, const char *text);
// Returns how many steps the trace marks: zones named ProfilerStep#N, else
// frames.
uint64_t cut_step_count(const cut_job *job);
// Whether the trace has zones named ProfilerStep#N. It scans all zones.
bool cut_has_step_zones(const cut_job *job);
/*
    text: ranks such as "0,4..7". Sets options.processes to their processes; the
    caller frees it even on failure. A trace of one process has one rank. False,
    with the reason on stderr, on failure.
*/
bool cut_ranks(cut_job *job, const char *text);
// Returns whether a trace has any rank of an entry of such a list.
bool cut_has_rank(const ts_reader *reader, const char *text, size_t size);

/*
    text: process ids or names such as "4711,worker*". Sets options.processes to
    the matching ones; if ranks were set before, only to those of these ranks.
    False as cut_ranks.
*/
bool cut_processes(cut_job *job, const char *text);

/* ---- Sets (sets.c) --------------------------------------------------- */

// A set of numbers: a bit map with a page for each range that has any.
enum { CUT_PAGE = 4096 };
typedef struct cut_set {
    uint64_t **pages; // bit maps of CUT_PAGE numbers
    size_t count, room;
    cli_map index; // by number / CUT_PAGE
    uint64_t last_number;
    uint32_t last; // its page, or CLI_NONE
    bool no_memory;
} cut_set;
// Adds a number; without memory it sets no_memory, and the set is unusable.
void cut_set_add(cut_set *set, uint64_t value);
// Whether a number was added. Not thread-safe: it remembers the last page.
bool cut_set_has(cut_set *set, uint64_t value);
// Frees the pages; the set is empty afterwards.
void cut_set_close(cut_set *set);

// A cache of yes/no answers by number; only small numbers are cached.
typedef struct cut_memo {
    uint8_t *known; // 0: unknown, 1: no, 2: yes
    uint32_t size;
} cut_memo;

// When zones of some names were open on a track. cut_spans_settle sorts a list
// and merges overlapping spans.
typedef struct cut_span {
    uint32_t track;
    int64_t from_ns, to_ns;
} cut_span;
typedef struct cut_spans {
    cut_span *list;
    size_t count, capacity;
    bool no_memory;
} cut_spans;
// Adds a span, in any order; without memory it sets no_memory.
void cut_spans_add(cut_spans *spans, cut_span span);
void cut_spans_settle(cut_spans *spans); // call it before cut_spans_have
// Whether one span of the track covers all of [from_ns, to_ns].
bool cut_spans_have(const cut_spans *spans, uint32_t track, int64_t from_ns,
                    int64_t to_ns);
// Frees the spans; the list is empty afterwards.
void cut_spans_close(cut_spans *spans);

/* ---- Choosing ------------------------------------------------------------ */

typedef struct cut_choice {
    ts_reader *reader;
    const cut_options *options;
    uint32_t *tracks; // selected streams and devices, sorted
    size_t track_count;
    bool on_tracks;  // only events on `tracks`
    cut_spans zones; // of options->zones
    cut_memo zone_names;
    cut_memo names[5];     // see names.c
    cut_set zone_calls;    // correlation ids of calls in these zones
    cut_set issued, known; // correlation ids: of calls in the time, of all
    cut_set earlier;       // correlation ids of calls before it
    // With options->issued: the end of the work on selected tracks that was
    // issued before the time range; INT64_MIN: there is none.
    int64_t begin_ns;
    cut_set open; // open at the ends of the time range: see open_zones.c
    cut_set calls, waiting; // correlation ids of selected calls, operations
    uint64_t *added;        // counts events kept for deps
} cut_choice;

// False without memory. Close it in any case.
bool cut_choice_open(cut_choice *choice, ts_reader *reader,
                     const cut_options *options);
// Frees the sets; the reader stays open.
void cut_choice_close(cut_choice *choice);

// One event of a batch, as the functions below see it.
typedef struct cut_row {
    const ts_columns *columns;
    uint32_t row, track;
    int64_t start_ns, end_ns;
} cut_row;

// Whether an event meets all conditions. Call it for events in the order of the
// file; calls and operations that it selects must be noted by the caller.
bool cut_is_selected(cut_choice *choice, const cut_row *row);
// The `takes` and `edit` of copy_hooks.
bool cut_takes_chunk(void *choice, const ts_chunk_info *info);
// Keeps the selected rows of a batch and those that belong to them, and counts
// the latter in *choice->added.
bool cut_edit(void *choice, copy_batch *batch);

// Whether the label of an event matches options->name; answers are cached by
// number.
bool cut_has_name(cut_choice *choice, const cut_row *row);
// Collects when the zones of options->zones were open, and the calls in them.
// Nothing to do without the option. False without memory.
bool cut_find_zones(cut_choice *choice);
// Returns whether a row's site has one of the names in options->zones.
bool cut_is_zone(cut_choice *choice, const cut_row *row);
// Collects which correlation ids were issued in the time range and which
// before. Nothing to do unless options->issued. False without memory.
bool cut_find_issued(cut_choice *choice);
// Returns whether an operation was issued in the time range: by its call, else
// by its queued time, else by its start.
bool cut_is_issued(cut_choice *choice, const cut_row *row);
// Updates cut_choice.begin_ns with a row that is not selected.
void cut_note_earlier(cut_choice *choice, const cut_row *row);
// Whether a track is one of the selected streams and devices; always, if none
// was named.
bool cut_has_track(const cut_choice *choice, uint32_t track);
// Finds the zones and spans that are open at the ends of the time range.
// Nothing to do unless options->timed. False without memory.
bool cut_find_open(cut_choice *choice);
// Collects the correlation ids of selected operations and, for CUT_DEPS_BOTH,
// of selected calls. False without memory.
bool cut_find_deps(cut_choice *choice);
// Whether an event that is not selected is kept with one that is, according to
// options->deps. After cut_find_deps.
bool cut_is_dep(cut_choice *choice, const cut_row *row);
// Returns the hash that stands for a zone or span in `open`: of its track,
// start and site, or of its start and id.
uint64_t cut_open_key(const cut_row *row);

// Calls `take` for every row of some kinds in chunks that `takes` accepts
// (NULL: all). Skips damaged chunks. False without memory.
bool cut_each(cut_choice *choice, uint64_t kinds,
              bool (*takes)(const cut_choice *choice,
                            const ts_chunk_info *info),
              void (*take)(cut_choice *choice, const cut_row *row));

// Returns the value of an event in a column; 0 if its chunk lacks the column.
static inline uint64_t cut_value(const cut_row *row, ts_column column)
{
    const uint64_t *const values = row->columns->values[column];
    return values ? values[row->row] : 0;
}
// Gets a cached answer. False: unknown, and *yes is unchanged.
bool cut_memo_get(const cut_memo *memo, uint32_t number, bool *yes);
// Caches an answer. Large numbers, and any without memory, are not cached.
void cut_memo_put(cut_memo *memo, uint32_t number, bool yes);

/* ---- Other names and numbers --------------------------------------------- */

typedef struct cut_alias { // found by the hash of the text
    uint64_t low, high;
    uint32_t number;
    uint8_t role, keep;
} cut_alias;
// Roles of numbers, besides those of texts: process and thread ids, handles.
enum { CUT_TASKS = COPY_ROLES, CUT_HANDLES, CUT_ROLES };
typedef struct cut_aliases {
    cut_alias *list;
    size_t count, room;
    cli_index index;          // by hash
    uint32_t last[CUT_ROLES]; // last number given out
    uint32_t part_count;      // of processes that were merged
    cut_spans regions;        // regions of addresses, far apart from each other
    uint64_t *bases;          // new start address of each region
    bool no_memory;
    char text[160];
} cut_aliases;
// False without memory. Close it in any case.
bool cut_aliases_open(cut_aliases *aliases, ts_reader *reader);
// Frees the aliases; texts from cut_rename end with it.
void cut_aliases_close(cut_aliases *aliases);
// Returns the alias for the hash of a text or number; a new one gets the next
// number of the role.
cut_alias *cut_alias_find(cut_aliases *aliases, int role, uint64_t low,
                          uint64_t high);
// The copy_rename of --anonymise: well-known texts stay, others become a role
// and a number, equal ones for equal texts. The text lives until the next call.
ts_text cut_rename(void *aliases, copy_role role, ts_text text);
// The copy_renumber of --anonymise: 0 stays, equal values stay equal, and
// addresses keep their distance within a region.
uint64_t cut_renumber(void *aliases, copy_number what, uint64_t value);
// Collects the address ranges of the trace and gives each a new start, so that
// distances survive. False without memory.
bool cut_regions_find(cut_aliases *aliases, ts_reader *reader);

// Returns whether a name is well known, such as one that tools rely on, and is
// kept.
bool cut_is_public(copy_role role, ts_text text);
// Returns the kind that a collective's name stands for, such as "AllReduce";
// NULL: unknown.
const char *cut_collective(ts_text text);

#endif // TS_CUT_H
