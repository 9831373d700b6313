/*
    symbolize.h - names of stack frames

    frames.c   frames of a trace: names in the trace, else from modules
    text.c     frames as text, for tools that print them
    process.c  the reader process, which reads one module
    files.c    search paths of modules and their debug information
    elf.c      checks build-ids; symbol tables
    dwarf.c    functions, inlined functions and lines, with elfutils' libdw
    cache.c    answers, cached by build-id

    Modules are read in a separate process with limits, because a trace names
    them and may come from anybody. If that process crashes or takes too long,
    the names of the module come from its symbol table, or are missing. A file
    with another build-id is never used.
*/
#ifndef TS_TOOLS_COMMON_SYMBOLIZE_SYMBOLIZE_H
#define TS_TOOLS_COMMON_SYMBOLIZE_SYMBOLIZE_H

#include "tools/cli/cli.h"

typedef struct symbolize_options {
    const char *const *debug_dirs; // searched first; then /usr/lib/debug
    size_t debug_dir_count;
    bool debuginfod; // ask the servers of DEBUGINFOD_URLS
    bool no_cache;
    bool again; // also look up frames that the trace names
} symbolize_options;

// One function of a frame.
typedef struct symbolize_line {
    ts_text function, file; // file: "" if unknown
    uint32_t line;
} symbolize_line;

// The result for a module.
typedef struct symbolize_module {
    uint32_t module;       // its number in the trace
    uint32_t frames;       // distinct offsets in it
    uint32_t named, lined; // of these frames
    char why[256];         // why some have no name or line
} symbolize_module;

typedef struct symbolize symbolize;

// NULL without memory. options: NULL for the defaults; must live until
// symbolize_close.
symbolize *symbolize_open(const ts_reader *reader,
                          const symbolize_options *options);
// Looks up all frames of all stacks. False without memory.
bool symbolize_all(symbolize *s);
// Returns the number of functions of a frame, innermost first; 0: unknown.
uint32_t symbolize_frame(symbolize *s, const ts_frame_entry *frame,
                         const symbolize_line **lines);
// Returns the results of the modules that have frames.
size_t symbolize_modules(const symbolize *s, const symbolize_module **modules);
// Frees texts and modules; NULL is allowed. Texts from it end with it.
void symbolize_close(symbolize *s);

/* ---- For tools that show frames ------------------------------------------ */

// --no-symbols of a tool: use only names in the trace.
extern bool symbolize_off;
// Its row of the option table, the same in all tools.
#define SYMBOLIZE_OPTION \
    { \
        .name = "--no-symbols", \
        .help = "use only the function names stored in the trace; do not\n" \
                "look into files of this machine", \
        .flag = &symbolize_off \
    }
// Returns whether it is set, for the current library call or for the tool.
bool symbolize_is_off(void);

/*
    symbolize_depth returns how many functions a frame stands for (inlined ones
    included), at least 1; symbolize_text returns the name of one of them (at: 0
    is the innermost). Where only module and offset are known, the name is
    "libx.so+0x1f20". Names that are not in the trace are looked up once for
    each reader and cached until cli_trace_close. Names with an offset live
    until eight further calls.

    Threads: one at a time for each reader.
*/
uint32_t symbolize_depth(const ts_reader *reader, const ts_frame_entry *frame);
// Returns the name of a frame's function, of the inlined one number `at`;
// without symbols the recorded name, else the module and offset.
ts_text symbolize_text(const ts_reader *reader, const ts_frame_entry *frame,
                       uint32_t at);
// The same with file and line; false if only module and offset are known.
bool symbolize_place(const ts_reader *reader, const ts_frame_entry *frame,
                     uint32_t at, symbolize_line *line);

/* ---- Between its files --------------------------------------------------- */

// A request to the reader process: a module and offsets in it.
typedef struct symbolize_request {
    const char *path;
    uint8_t id[64];
    size_t id_size;
    const uint64_t *offsets; // `count` offsets, ascending
    uint32_t count;
    const symbolize_options *options;
    bool no_dwarf; // use only the symbol table
} symbolize_request;

// The answer is a text. For each known offset, in order:
//     @INDEX COUNT            then COUNT lines, innermost first:
//     LINE TAB FILE TAB FUNCTION
// and on any line "!why": what is missing.
typedef struct symbolize_answer {
    char *text;
    size_t size;
    bool complete; // the process completed
} symbolize_answer;

// Looks addresses up in a child process with limits on memory and time, because
// debug information is hostile input that libraries trust. The answer is empty
// if the child fails; its lines are freed by the caller.
symbolize_answer symbolize_lookup(const symbolize_request *q);
// Prints the answer; called in the reader process.
void symbolize_read(const symbolize_request *q, FILE *out);

// Returns a hash of the files at a module's candidate paths, to detect changes.
uint64_t symbolize_identity(const symbolize_request *q);

// Returns the cached answers of a module, with hexadecimal offsets instead of
// indexes; NULL: none. The caller frees it.
char *symbolize_cache_get(const symbolize_request *q);
// Stores the answer to a request in the user's cache, atomically. Failures do
// not matter: the next run looks it up again.
void symbolize_cache_put(const symbolize_request *q, const char *text,
                         size_t size);

#endif // TS_TOOLS_COMMON_SYMBOLIZE_SYMBOLIZE_H
