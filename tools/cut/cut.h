/*
    cut.h - a part of a trace as a trace of its own

    select.c     which events are wanted
    names.c      regular expressions over labels
    zones.c      when zones of some names were open; frames
    steps.c      steps: when, and what the host issued in them
    ranks.c      processes of a merged trace
    sets.c       sets of numbers
    open_zones.c       what was open when a time began or ended
    dependencies.c       what belongs to what is wanted
    anonymise.c  other names for everything; well_known_names.c: which stay
    anonymise_numbers.c    other numbers for what tells a machine or a run
    write.c      the trace
*/
#ifndef TS_CUT_H
#define TS_CUT_H

#include "tools/common/rewrite/rewrite.h"
#include <regex.h>

// What is kept besides what is wanted.
typedef enum cut_deps {
    CUT_DEPS_CALLS, // the calls that launched wanted operations
    CUT_DEPS_BOTH,  // and the operations that wanted calls launched
    CUT_DEPS_NONE
} cut_deps;

// What must hold, all of it; zero is everything.
typedef struct cut_options {
    bool timed; // [from_ns, to_ns)
    int64_t from_ns, to_ns;
    bool issued; // GPU operations: those that the host issued in that time
    bool begun;  // GPU operations: those that began in that time
    const char *zones;       // names, with * and commas
    const uint32_t *streams; // tracks
    size_t stream_count;
    const uint32_t *devices;
    size_t device_count;
    const uint32_t *processes; // tracks
    size_t process_count;
    uint64_t kinds;      // bits 1 << kind
    const regex_t *name; // of labels
    cut_deps deps;
    bool anonymise;
    const char *what; // the options in words
} cut_options;

typedef struct cut_job {
    const cli_tool *tool;
    const char *path, *out;
    cli_trace *trace;
    cut_options options;
    struct cut_aliases *aliases; // NULL: names stay
    copy_counts counts;
    uint64_t added; // of the kept ones, because of cut_options.deps
    uint64_t undefined, replaced;
    int64_t offset_ns; // of times of the file to those of the selection
    int64_t begin_ns;  // see cut_choice
    bool temporary;    // the part is for this process alone
    bool other_files;  // a rank that is not here is in one of them
} cut_job;

// False, with the reason on stderr, if it could not be written.
bool cut_write(cut_job *job);
// Whether a text is [NAME:]A..B at all; false with the reason on stderr.
bool cut_frames_valid(const cli_tool *tool, const char *text);
// [NAME:]A..B: sets the time from frame A to the end of frame B. False with
// the reason on stderr.
bool cut_frames(cut_job *job, const char *text);
// A..B, A.., ..B or A. False if it is none.
bool cut_range(const char *text, uint64_t *first, uint64_t *last);
// Likewise: the operations that the host issued in steps A to B, and what it
// did then. Steps and their numbers are those of ts_replay_steps.
bool cut_steps(cut_job *job, const char *text);
// How many the trace marks: zones called ProfilerStep#N, else frames.
uint64_t cut_step_count(const cut_job *job);
bool cut_has_step_zones(const cut_job *job);
/*
    "0,4..7": sets options.processes, to be freed in any case, to those of these
    ranks; a trace of one process alone has one rank. False with the reason on
    stderr.
*/
bool cut_ranks(cut_job *job, const char *text);
// Whether a trace has any rank that an entry of such a list means.
bool cut_has_rank(const ts_reader *reader, const char *text, size_t size);

/*
    "4711,worker*": sets options.processes to those of these numbers or names,
    and of the ranks if ranks were given before. False as cut_ranks.
*/
bool cut_processes(cut_job *job, const char *text);

/* ---- Sets (sets.c) --------------------------------------------------- */

// Numbers, a bit each where they are close to each other.
enum { CUT_PAGE = 4096 };
typedef struct cut_set {
    uint64_t **pages; // bits of CUT_PAGE numbers each
    size_t count, room;
    cli_map index; // by number / CUT_PAGE
    uint64_t last_number;
    uint32_t last; // page of that, or CLI_NONE
    bool no_memory;
} cut_set;
void cut_set_add(cut_set *set, uint64_t value);
bool cut_set_has(cut_set *set, uint64_t value);
void cut_set_close(cut_set *set);

// Whatever 32 bits decide, once for each: small numbers are remembered.
typedef struct cut_memo {
    uint8_t *known; // 0, 1 no, 2 yes
    uint32_t size;
} cut_memo;

// When zones of some names were open, by track; sorted, none overlap.
typedef struct cut_span {
    uint32_t track;
    int64_t from_ns, to_ns;
} cut_span;
typedef struct cut_spans {
    cut_span *list;
    size_t count, capacity;
    bool no_memory;
} cut_spans;
void cut_spans_add(cut_spans *spans, cut_span span);
void cut_spans_settle(cut_spans *spans); // before the first question
bool cut_spans_have(const cut_spans *spans, uint32_t track, int64_t from_ns,
                    int64_t to_ns);
void cut_spans_close(cut_spans *spans);

/* ---- Choosing ------------------------------------------------------------ */

typedef struct cut_choice {
    ts_reader *reader;
    const cut_options *options;
    uint32_t *tracks; // those of the streams and devices, sorted
    size_t track_count;
    bool on_tracks;  // only these
    cut_spans zones; // of options->zones
    cut_memo zone_names;
    cut_memo names[5];     // see names.c
    cut_set zone_calls;    // correlations of calls inside them
    cut_set issued, known; // of calls in the time, of any
    cut_set earlier;       // of those before
    // With options->issued: the end of the work on selected tracks that was
    // issued before; INT64_MIN: there is none.
    int64_t begin_ns;
    cut_set open;           // when the time began or ended: see open_zones.c
    cut_set calls, waiting; // correlations of wanted calls, operations
    uint64_t *added;        // counts
} cut_choice;

// False without memory. Close it in any case.
bool cut_choice_open(cut_choice *choice, ts_reader *reader,
                     const cut_options *options);
void cut_choice_close(cut_choice *choice);

// One event of a batch, as the functions below see it.
typedef struct cut_row {
    const ts_columns *columns;
    uint32_t row, track;
    int64_t start_ns, end_ns;
} cut_row;

bool cut_is_selected(cut_choice *choice, const cut_row *row);
// For copy_hooks.
bool cut_wants_chunk(void *choice, const ts_chunk_info *info);
bool cut_edit(void *choice, copy_batch *batch);

bool cut_has_name(cut_choice *choice, const cut_row *row);
bool cut_find_zones(cut_choice *choice);
// Whether the site of a row, if it has one, is a zone of the wanted names.
bool cut_is_zone(cut_choice *choice, const cut_row *row);
bool cut_find_issued(cut_choice *choice);
// By its call; else by when it was queued; else by when it began.
bool cut_is_issued(cut_choice *choice, const cut_row *row);
// Of a row that is not wanted: see cut_choice.begin_ns.
void cut_note_earlier(cut_choice *choice, const cut_row *row);
bool cut_has_track(const cut_choice *choice, uint32_t track);
bool cut_find_open(cut_choice *choice);
bool cut_find_deps(cut_choice *choice);
bool cut_is_dep(cut_choice *choice, const cut_row *row);
uint64_t cut_open_key(const cut_row *row);

// Calls `take` for every row of some kinds whose chunk `wants` (NULL: all)
// lets in. False without memory; damaged chunks are left out.
bool cut_each(cut_choice *choice, uint64_t kinds,
              bool (*wants)(const cut_choice *choice,
                            const ts_chunk_info *info),
              void (*take)(cut_choice *choice, const cut_row *row));

static inline uint64_t cut_value(const cut_row *row, ts_column column)
{
    const uint64_t *const values = row->columns->values[column];
    return values ? values[row->row] : 0;
}
bool cut_memo_get(const cut_memo *memo, uint32_t number, bool *yes);
void cut_memo_put(cut_memo *memo, uint32_t number, bool yes);

/* ---- Other names and numbers --------------------------------------------- */

typedef struct cut_alias { // by the hash of the text
    uint64_t low, high;
    uint32_t number;
    uint8_t role, keep;
} cut_alias;
// What is numbered besides texts: processes with threads, and handles.
enum { CUT_TASKS = COPY_ROLES, CUT_HANDLES, CUT_ROLES };
typedef struct cut_aliases {
    cut_alias *list;
    size_t count, room;
    cli_index index;          // by hash
    uint32_t last[CUT_ROLES]; // numbers
    uint32_t part_count;      // of processes that were merged
    cut_spans regions;        // addresses, none close to another
    uint64_t *bases;          // where each region begins in the result
    bool no_memory;
    char text[160];
} cut_aliases;
// False without memory. Close it in any case.
bool cut_aliases_open(cut_aliases *aliases, ts_reader *reader);
void cut_aliases_close(cut_aliases *aliases);
// A text's or a number's alias, by its hash: a new one gets the next number.
cut_alias *cut_alias_find(cut_aliases *aliases, int role, uint64_t low,
                          uint64_t high);
ts_text cut_rename(void *aliases, copy_role role, ts_text text);
uint64_t cut_renumber(void *aliases, copy_number what, uint64_t value);
bool cut_regions_find(cut_aliases *aliases, ts_reader *reader);

// What everybody knows and tools go by.
bool cut_is_public(copy_role role, ts_text text);
// "AllReduce", if that is what a name of a collective means; NULL: unknown.
const char *cut_collective(ts_text text);

#endif // TS_CUT_H
