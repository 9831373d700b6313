/*
    select.h - the selection that all tools take

    --rank --step --zone --from --to --device --stream mean in every tool what
    they mean in ts-cut: a tool that computes over a trace opens, in place of
    it, the part that ts-cut would write, so that both give the same figures.

    select.c        the options, and what they mean in a trace
    part.c   the part in place of the whole
    rows.c   GPU operations of ranks and steps, for ts-replay
    steps.c  steps by the numbers of ts-analyze, marked or found
*/
#ifndef TS_TOOLS_COMMON_SELECT_SELECT_H
#define TS_TOOLS_COMMON_SELECT_SELECT_H

#include "tools/cli/context.h"

// Of the command line: a tool has one selection. Only ts-cut has `frame` and
// `process`.
extern ts_selection selected;
// In effect: that of the call of the library, else that of the command line.
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

// Whether anything is selected, besides --from and --to.
bool select_any(void);
bool select_any_but_time(void);
// False, with the reason on stderr, if an option can mean nothing at all.
bool select_check(const cli_tool *tool);
// Bits of the kinds in a list; 0, with the reason on stderr, if one is none.
uint64_t select_kinds(const cli_tool *tool, const char *list);
// "--step 5 --device 0", in words that select the same again; lives until the
// next call.
const char *select_words(void);

// From now on cli_trace_open opens the selected part of a trace.
void select_install(void);
// The same for a tool that looks at a window of a trace anyway: no part is made
// for --from and --to alone.
void select_install_window(void);
/*
    Several traces: takes those of ranks that are not selected out of the list,
    and finds how far each is from the axis of the first, of which --from and
    --to are. False, with the reason on stderr, if none is left.
*/
bool select_files(const cli_tool *tool, char **paths, uint32_t *count);

#endif // TS_TOOLS_COMMON_SELECT_SELECT_H
