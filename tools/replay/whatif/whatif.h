/*
    whatif.h - "what if", from words to figures

    A what-if is one text, such as "scale gemm=1/2". Each is run on its own
    against the unchanged model, and all of them together if there are several.
*/
#ifndef TS_TOOLS_REPLAY_WHATIF_WHATIF_H
#define TS_TOOLS_REPLAY_WHATIF_WHATIF_H

#include "tools/cli/cli.h"
#include <regex.h>

// What --help and the manual say about the texts.
#define WHATIF_HELP \
    "change something and say what comes of it; may be given\n" \
    "several times. REGEX matches a part of a name, ^ and $\n" \
    "are its ends; KIND~REGEX means one kind (kernel,\n" \
    "memcpy, collective, ...):\n" \
    "  scale REGEX=FACTOR            durations, 0.5 or 1/2\n" \
    "  remove REGEX\n" \
    "  insert NAME=TIME after REGEX\n" \
    "  fuse REGEX                    no launch nor gap between\n" \
    "  copy h2d,d2h=FACTOR           or h2d bw=2x,lat=5us\n" \
    "  network FACTOR                or bw=2x,lat=5us\n" \
    "  copy-engines N                of each direction\n" \
    "  streams REGEX=STREAM          move there, by issue\n" \
    "  serialise                     one stream a device\n" \
    "  no-launch-overhead\n" \
    "  host FACTOR                   0.5: twice as fast\n" \
    "  straggler rank=R:FACTOR       one rank slower\n" \
    "  ideal-overlap                 hides copies and network"

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

// One text, taken apart.
typedef struct whatif {
    const char *text; // as given
    whatif_verb verb;
    uint32_t kind;        // of "KIND~REGEX"; 0: any
    bool has_regex, said; // said: what is wrong with it
    regex_t regex;
    const char *pattern; // its text
    size_t pattern_size;
    ts_ratio factor;
    bool has_bandwidth, has_latency;
    int64_t ns;          // a latency, or what is inserted
    uint32_t directions; // of copies: bits of copy types
    uint32_t number;     // engines, rank
    char word[128];      // name of what is inserted, stream
} whatif;

// False, with the reason on stderr, if it is none.
bool whatif_read(const cli_tool *tool, const char *text, whatif *w);
void whatif_close(whatif *w);
// What is assumed, in words: "transfers take half as long". "": the text says.
cli_text whatif_assumed(const whatif *w);

// "2", "0.5", "1/2", "2x", "50%"; exact. False if it is none. What-ifs take
// "2x" for bandwidths alone.
bool whatif_ratio(const char *text, size_t size, ts_ratio *ratio);

/* ---- Changes (apply.c) ------------------------------------------- */

typedef struct whatif_changes {
    ts_change *list;
    size_t count;
    uint32_t copy_engines; // 0: as recorded
    uint64_t meant;        // operations, summed over what they are meant by
    int64_t unsized_ns;    // of transfers whose sizes do not tell apart what
                           // is latency and what bandwidth
} whatif_changes;

// Appends what a what-if means for a replay. False without memory, or if it
// names a stream or rank that is not there, which `why` says.
bool whatif_apply(const whatif *w, const ts_replay *replay,
                  whatif_changes *changes, const char **why);
void whatif_changes_close(whatif_changes *changes);

// Whether a what-if with an expression is about operations of a kind.
bool whatif_asks_for(const whatif *w, ts_event_kind kind);
// What is wrong where no operation is meant, and the nearest names.
void whatif_nothing(const whatif *w, const ts_replay *replay, char *text,
                    size_t room);
void whatif_near(const whatif *w, const ts_replay *replay, char *text,
                 size_t room);

// A column of each operation of some kinds (bits), 0 unknown. NULL: no memory.
// (columns.c)
uint64_t *whatif_column(const ts_replay *replay, ts_column column,
                        uint64_t kinds);
// Whether transfers that a change with sizes means, of each sort, have some
// that are twice as large as others.
bool whatif_sizes_differ(const ts_replay *replay, const ts_change *change);

/* ---- Report (run.c, whatif_text.c) ------------------------------- */

typedef struct whatif_trust {
    const char *confidence; // "high", "medium" or "low",
    char because[160];      // and why it is not high
} whatif_trust;

typedef struct whatif_figures {
    const char *text;   // NULL: the unchanged model
    cli_text assumed;   // "": nothing to add, or several
    char nothing[400];  // said if no operation is meant
    whatif_trust trust; // because: where it is less than the model's
    uint64_t meant;
    // Operations that waited in vain. The rest of the figures is zero then: a
    // part of the work has no makespan to compare.
    uint64_t never_ran;
    uint64_t operations, removed; // that ran, that were taken away
    int64_t makespan_ns;
    int64_t change_ns; // of the makespan, against that of the unchanged model
    int64_t cost_ns[TS_COST_LIMIT];
    int64_t assumed_ns; // of the critical path: see ts_path
    ts_cost bound;
    int64_t *step_ns; // report.step_count of them; NULL: none to compare
    uint64_t digest;
} whatif_figures;

typedef struct whatif_report {
    whatif_figures *figures; // the model, each what-if, all together
    size_t count;
    ts_step *steps; // names and numbers
    size_t step_count;
    int64_t recorded_ns;
    uint64_t unexplained, nodes;
    int64_t unexplained_ns;
    whatif_trust trust;  // in the model
    const char *why;     // with TS_ERR_USAGE: what is wrong with ...
    const char *of_text; // ... this one
} whatif_report;

// Runs everything; the replay is left with the schedule of all of them.
ts_result whatif_run(ts_replay *replay, const whatif *list, size_t count,
                     whatif_report *report);
void whatif_report_close(whatif_report *report);
// Says on stderr which of them deadlocked; false if any did.
bool whatif_all_ran(const cli_tool *tool, const char *path,
                    const whatif_report *report);

void whatif_print(FILE *out, const whatif_report *report);
void whatif_json(cli_json *json, const whatif_report *report);

#endif // TS_TOOLS_REPLAY_WHATIF_WHATIF_H
