/*
    whatif.h - what-ifs: parsing, running, reporting

    A what-if is one text, such as "scale gemm=1/2". Each is run alone and
    compared with the unchanged model; if there are several, one more run
    combines them all.
*/
#ifndef TS_TOOLS_REPLAY_WHATIF_WHATIF_H
#define TS_TOOLS_REPLAY_WHATIF_WHATIF_H

#include "tools/cli/cli.h"
#include <regex.h>

// The syntax, as --help and the manual page describe it.
#define WHATIF_HELP \
    "predict the effect of a change; may be repeated. REGEX\n" \
    "matches a part of a name, ^ and $ match its ends;\n" \
    "KIND~REGEX matches one kind (kernel, memcpy, ...).\n" \
    "Changes:\n" \
    "  scale REGEX=FACTOR            durations, 0.5 or 1/2\n" \
    "  remove REGEX                  operations take no time\n" \
    "  insert NAME=TIME after REGEX  one more operation each\n" \
    "  fuse REGEX                    one launch, no gaps\n" \
    "  copy h2d,d2h=FACTOR           or h2d bw=2x,lat=5us\n" \
    "  network FACTOR                or bw=2x,lat=5us\n" \
    "  copy-engines N                per direction\n" \
    "  streams REGEX=STREAM          move to another stream\n" \
    "  serialise                     one stream per device\n" \
    "  no-launch-overhead            launches take no time\n" \
    "  host FACTOR                   0.5: twice as fast\n" \
    "  straggler rank=R:FACTOR       slow down one rank\n" \
    "  ideal-overlap                 hide copies and network"

typedef enum whatif_verb {
    WHATIF_SCALE,
    WHATIF_REMOVE,
    WHATIF_INSERT,
    WHATIF_FUSE,
    WHATIF_COPY,
    WHATIF_NETWORK,
    WHATIF_ENGINES,
    WHATIF_STREAMS,
    WHATIF_SERIALISE,
    WHATIF_NO_LAUNCH,
    WHATIF_HOST,
    WHATIF_STRAGGLER,
    WHATIF_OVERLAP
} whatif_verb;

// A parsed what-if.
typedef struct whatif {
    const char *text; // as given
    whatif_verb verb;
    uint32_t kind;        // of "KIND~REGEX"; 0: any kind
    bool has_regex, said; // said: an error was reported
    regex_t regex;
    const char *pattern; // text of `regex`
    size_t pattern_size;
    ts_ratio factor;
    bool has_bandwidth, has_latency;
    int64_t ns;          // a latency, or the inserted time
    uint32_t directions; // of copies: bits of copy types
    uint32_t number;     // engines, rank
    char word[128];      // name of the inserted operation, or stream
} whatif;

// Parses a what-if. False, with the reason on stderr, if it is invalid.
bool whatif_read(const cli_tool *tool, const char *text, whatif *w);
// Frees the regular expression of a parsed change; allowed twice.
void whatif_close(whatif *w);
// The assumption in words, such as "transfers take half as long"; "" if the
// text itself is clear enough.
cli_text whatif_assumed(const whatif *w);

// Parses a ratio exactly: "2", "0.5", "1/2", "2x", "50%". False if it is
// invalid. What-ifs allow "2x" only for bandwidths.
bool whatif_ratio(const char *text, size_t size, ts_ratio *ratio);

/* ---- Changes (apply.c) ------------------------------------------- */

typedef struct whatif_changes {
    ts_change *list;
    size_t count;
    uint32_t copy_engines; // 0: as recorded
    uint64_t meant;        // matching operations, summed over the changes
    int64_t unsized_ns;    // time of transfers whose sizes are too similar
                           // to separate latency from bandwidth
} whatif_changes;

// Appends the changes that a what-if means for a replay. False without memory,
// or with *why if it names a stream or rank that does not exist.
bool whatif_apply(const whatif *w, const ts_replay *replay,
                  whatif_changes *changes, const char **why);
// Frees the changes with the operations that they apply to.
void whatif_changes_close(whatif_changes *changes);

// Whether the regular expression of a what-if applies to operations of a kind.
bool whatif_matches_kind(const whatif *w, ts_event_kind kind);
// Explains why a what-if matches no operation.
void whatif_nothing(const whatif *w, const ts_replay *replay, char *text,
                    size_t room);
// Lists the names that are most similar to its pattern.
void whatif_near(const whatif *w, const ts_replay *replay, char *text,
                 size_t room);

// Reads the value of a column for each operation of some kinds (bits 1 <<
// kind); 0: unknown. Free with free(); NULL without memory. (columns.c)
uint64_t *whatif_column(const ts_replay *replay, ts_column column,
                        uint64_t kinds);
// Whether each sort of transfer that a change affects has sizes that differ by
// a factor of two: less does not separate latency from bandwidth.
bool whatif_sizes_differ(const ts_replay *replay, const ts_change *change);

/* ---- Report (run.c, whatif_text.c) ------------------------------- */

typedef struct whatif_trust {
    const char *confidence; // "high", "medium" or "low"
    char because[160];      // why it is not high
} whatif_trust;

typedef struct whatif_figures {
    const char *text;   // NULL: the unchanged model
    cli_text assumed;   // "": nothing to add, or all what-ifs
    char nothing[400];  // message if no operation matches
    whatif_trust trust; // reason only if lower than the model's
    uint64_t meant;
    // Operations that never ran (deadlock). If there are any, the other figures
    // are zero: the makespan of a part of the work cannot be compared.
    uint64_t never_ran;
    uint64_t operations, removed; // that ran; that the change removed
    int64_t makespan_ns;
    int64_t change_ns; // of the makespan against the unchanged model
    int64_t cost_ns[TS_COST_LIMIT];
    int64_t assumed_ns; // of the critical path: see ts_path
    ts_cost bound;
    int64_t *step_ns; // report.step_count elements; NULL: no steps
    uint64_t digest;
} whatif_figures;

typedef struct whatif_report {
    whatif_figures *figures; // the model, each what-if, all combined
    size_t count;
    ts_step *steps; // names and numbers
    size_t step_count;
    int64_t recorded_ns;
    uint64_t unexplained, nodes;
    int64_t unexplained_ns;
    whatif_trust trust;  // in the model
    const char *why;     // with TS_ERR_USAGE: the reason,
    const char *of_text; // and the text that is invalid
} whatif_report;

// Runs the model and all what-ifs. Afterwards the replay has the schedule of
// all of them combined.
ts_result whatif_run(ts_replay *replay, const whatif *list, size_t count,
                     whatif_report *report);
// Frees the figures of all runs; *report is empty afterwards.
void whatif_report_close(whatif_report *report);
// Reports on stderr the what-ifs that deadlocked. False if any did.
bool whatif_all_ran(const cli_tool *tool, const char *path,
                    const whatif_report *report);

// Prints the model's figures, then those of each change against them.
void whatif_print(FILE *out, const whatif_report *report);
// Adds the members "model" and "what_ifs".
void whatif_json(cli_json *json, const whatif_report *report);

#endif // TS_TOOLS_REPLAY_WHATIF_WHATIF_H
