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
      .help = "select these ranks: numbers or A..B, separated by commas;\n" \
              "if the trace records no ranks, the files of a merged\n" \
              "trace, numbered from 0", \
      .text = &selected.rank }, \
        { .name = "--step N[..M]", \
          .help = "select steps N to M, as numbered by ts-analyze: what the\n" \
                  "host did during these steps, and the GPU operations that\n" \
                  "it issued then, from all threads; if ts-analyze detected\n" \
                  "the steps, the GPU operations that began during them", \
          .text = &selected.step }, \
        { .name = "--zone LIST", \
          .help = "select events inside zones with these names, and the GPU\n" \
                  "operations launched there; full names, separated by\n" \
                  "commas; * matches any characters", \
          .text = &selected.zone }, \
        { .name = "--from TIME", \
          .help = "select events that end after TIME, counted from the\n" \
                  "start of the trace, such as 1.5ms, 20us or 3s", \
          .flag = &selected.has_from, \
          .time_ns = &selected.from_ns }, \
        { .name = "--to TIME", \
          .help = "select events that begin before TIME", \
          .flag = &selected.has_to, \
          .time_ns = &selected.to_ns }, \
        { .name = "--device LIST", \
          .help = "select events on these devices: numbers, A..B or names,\n" \
                  "separated by commas", \
          .text = &selected.device }, \
    { \
        .name = "--stream LIST", \
        .help = "select events on these streams: numbers or A..B (on all\n" \
                "devices), DEVICE:STREAM or names, separated by commas", \
        .text = &selected.stream \
    }

#define SELECT_KIND \
    { \
        .name = "--kind, --kinds LIST", \
        .help = "select these kinds of events: kernel, zone, ...; gpu\n" \
                "means all GPU operations; separated by commas", \
        .text = &selected.kind \
    }

// Returns whether any option other than --from and --to is set.
bool select_any(void);
// Whether any option but --from and --to selects: then a part of a trace has to
// be written before it is analyzed.
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
