/*
    select.h - the selection options that all tools share

    --rank --step --zone --from --to --device --stream mean the same in every
    tool as in ts-cut: a tool opens, instead of the trace, the part that ts-cut
    would write. So a tool's figures for a selection equal its figures for the
    trace that ts-cut writes.

    select.c  the options, and their resolution in a trace
    part.c    opens the selected part instead of the trace
    rows.c    GPU operations of ranks and steps, for ts-replay
    steps.c   steps by ts-analyze's numbers, marked or detected
*/
#ifndef TS_TOOLS_COMMON_SELECT_SELECT_H
#define TS_TOOLS_COMMON_SELECT_SELECT_H

#include "tools/cli/context.h"

// The selection of the command line; a tool has one. `frame` and `process` are
// options of ts-cut only.
extern ts_selection selected;
// Returns the selection in effect: that of the current library call, else that
// of the command line.
const ts_selection *select_now(void);

// Rows of the option table, the same in all tools.
#define SELECT_OPTIONS \
    { .name = "--rank LIST", \
      .help = "only these ranks: numbers or A..B, with commas between;\n" \
              "if none is known, the files of a merged trace from 0", \
      .text = &selected.rank }, \
        { .name = "--step N[..M]", \
          .help = "only steps N to M, by the numbers of ts-analyze: the\n" \
                  "operations that the host issued in them, from all\n" \
                  "threads, with what the host did then; of steps that\n" \
                  "ts-analyze found, those that began in them", \
          .text = &selected.step }, \
        { .name = "--zone LIST", \
          .help = "only what was done inside zones of these names, and the\n" \
                  "operations launched there; whole names, in which *\n" \
                  "stands for anything", \
          .text = &selected.zone }, \
        { .name = "--from TIME", \
          .help = "only what ends after: 1.5ms, 20us, 3s after the start", \
          .flag = &selected.has_from, \
          .time_ns = &selected.from_ns }, \
        { .name = "--to TIME", \
          .help = "only what begins before", \
          .flag = &selected.has_to, \
          .time_ns = &selected.to_ns }, \
        { .name = "--device LIST", \
          .help = "only what lies on these devices: numbers, A..B or names", \
          .text = &selected.device }, \
    { \
        .name = "--stream LIST", \
        .help = "only what lies on these streams: numbers or A..B (on all\n" \
                "devices), DEVICE:STREAM or names, with commas between", \
        .text = &selected.stream \
    }

#define SELECT_KIND \
    { \
        .name = "--kind, --kinds LIST", \
        .help = "only these kinds of events: kernel, zone, ...; gpu is all\n" \
                "GPU operations", \
        .text = &selected.kind \
    }

// Returns whether any option other than --from and --to is set.
bool select_any(void);
bool select_any_but_time(void);
// Checks the options without a trace. False, with the reason on stderr, if one
// is invalid.
bool select_check(const cli_tool *tool);
// Parses a list of event kinds to a bit set; 0, with the reason on stderr, if
// one is unknown.
uint64_t select_kinds(const cli_tool *tool, const char *list);
// Returns the selection as options, such as "--step 5 --device 0"; valid until
// the next call.
const char *select_words(void);

// Makes cli_trace_open open the selected part of a trace from now on.
void select_install(void);
// The same for a tool that handles --from and --to itself: if only these are
// set, the trace is opened as it is.
void select_install_window(void);
/*
    For several traces: removes those without a selected rank from the list, and
    finds the offset of each to the time axis of the first, which --from and
    --to refer to. False, with the reason on stderr, if none is left.
*/
bool select_files(const cli_tool *tool, char **paths, uint32_t *count);

#endif // TS_TOOLS_COMMON_SELECT_SELECT_H
