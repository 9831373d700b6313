/*
    symbolize.h - what frames of stacks are called

    frames.c    frames of a trace: what it says, else what is at hand
    text.c   the same for tools that show frames
    process.c    a process of its own that reads one module
    files.c  where modules and their debug information lie
    elf.c    which of them is the right one; tables of symbols
    dwarf.c  functions, inlined ones and lines by elfutils' libdw
    cache.c  answers, kept by build-id

    Files are read in a process with limits, as whoever made a trace may have
    chosen which: one that crashes or runs for long costs the names of its
    module, which then come from the table of symbols or not at all. A file
    whose build-id is another one is refused, never guessed at.
*/
#ifndef TS_TOOLS_COMMON_SYMBOLIZE_SYMBOLIZE_H
#define TS_TOOLS_COMMON_SYMBOLIZE_SYMBOLIZE_H

#include "tools/cli/cli.h"

typedef struct symbolize_options {
    const char *const *debug_dirs; // searched first; then /usr/lib/debug
    size_t debug_dir_count;
    bool debuginfod; // ask the servers of DEBUGINFOD_URLS
    bool no_cache;
    bool again; // look up what the trace says already, too
} symbolize_options;

// One function of a frame.
typedef struct symbolize_line {
    ts_text function, file; // file: "" not known
    uint32_t line;
} symbolize_line;

// What became of a module.
typedef struct symbolize_module {
    uint32_t module;       // as the trace counts
    uint32_t frames;       // different places in it
    uint32_t named, lined; // of these
    char why[256];         // not all are named or have lines: why
} symbolize_module;

typedef struct symbolize symbolize;

// NULL without memory. `options`: NULL, the default; used until it is closed.
symbolize *symbolize_open(const ts_reader *reader,
                          const symbolize_options *options);
// Looks up all frames of all stacks. False without memory.
bool symbolize_all(symbolize *s);
// Functions of a frame, innermost first; 0: not known.
uint32_t symbolize_frame(symbolize *s, const ts_frame_entry *frame,
                         const symbolize_line **lines);
// By module, those of which there are frames.
size_t symbolize_modules(const symbolize *s, const symbolize_module **modules);
void symbolize_close(symbolize *s);

/* ---- For tools that show frames ------------------------------------------ */

// --no-symbols of a tool: only what the trace says itself.
extern bool symbolize_off;
// Whether that holds for the call of the library, or for the tool.
bool symbolize_is_off(void);

/*
    How many functions a frame stands for, 1 at least, and what they are
    called: "work", "libx.so+0x1f20" where that is all that is known. `at` is 0
    for the innermost. What is not in the trace is looked up, once for each
    reader, and known until it is closed (cli_trace_close). Texts with an
    offset live until the eighth call from then.

    Threads: one at a time for each reader.
*/
uint32_t symbolize_depth(const ts_reader *reader, const ts_frame_entry *frame);
ts_text symbolize_text(const ts_reader *reader, const ts_frame_entry *frame,
                       uint32_t at);
// The same with the line: false if only module and offset are known.
bool symbolize_place(const ts_reader *reader, const ts_frame_entry *frame,
                     uint32_t at, symbolize_line *line);

/* ---- Between its files --------------------------------------------------- */

// A module to be read, and the places in it.
typedef struct symbolize_question {
    const char *path;
    uint8_t id[64];
    size_t id_size;
    const uint64_t *offsets; // count, ascending
    uint32_t count;
    const symbolize_options *options;
    bool no_dwarf; // the table of symbols alone
} symbolize_question;

// Answers are texts: for each place that is known, in order,
//     @INDEX COUNT            then COUNT lines, innermost first:
//     LINE TAB FILE TAB FUNCTION
// and anywhere "!why", what is missing.
typedef struct symbolize_answer {
    char *text;
    size_t size;
    bool complete; // the process came to its end
} symbolize_answer;

symbolize_answer symbolize_ask(const symbolize_question *q);
// In the process that reads: prints the answer.
void symbolize_read(const symbolize_question *q, FILE *out);

// A hash of what there is at the places where files of a module may lie.
uint64_t symbolize_identity(const symbolize_question *q);

// The text of a module's answers that are kept, with offsets (hexadecimal) in
// place of indexes; NULL: none. To be freed.
char *symbolize_cache_get(const symbolize_question *q);
void symbolize_cache_put(const symbolize_question *q, const char *text,
                         size_t size);

#endif // TS_TOOLS_COMMON_SYMBOLIZE_SYMBOLIZE_H
