/*
    profile.h - what the formats of profiles share

    profile.c     functions, stacks and samples to the trace
    lines.c       lines of a source
    folded.c      folded stacks, "main;work;leaf 12"
    perf.c        text of perf script
    speedscope.c  speedscope's JSON
    pprof.c       pprof's protobuf

    Profiles name functions and mostly have no addresses. So a frame of a stack
    is the number of its function in a module that the profile names, and the
    symbol of that place is the function. The module has a build-id that no file
    has, so that nobody looks for these numbers in a file.
*/
#ifndef TS_TOOLS_IMPORT_PROFILE_PROFILE_H
#define TS_TOOLS_IMPORT_PROFILE_PROFILE_H

#include "tools/import/import.h"

// A function as the source names it; numbers of names, 0: not given.
typedef struct profile_function {
    uint32_t module, name, file, line; // module: name of its file
} profile_function;

typedef struct profile {
    import_job *job;
    profile_function *functions; // by number - 1
    size_t function_count, function_room;
    cli_index index; // hashes of functions to their numbers
    cli_map modules; // names of modules to modules
    bool no_memory;
    ts_frame_entry *frames; // of the stack in progress, innermost first
    size_t frame_count, frame_room;
} profile;

// What a sample measures: names of the trace (0: not given), and its weight.
typedef struct profile_weight {
    uint32_t name, unit;
    ts_value_type type;
    uint64_t value; // doubles as their bits
} profile_weight;

enum { PROFILE_FRAMES_MOST = 4096 }; // of a stack that a trace keeps

// Begins an empty profile.
profile profile_open(import_job *job);
// Frees it; false if memory ran out, with the reason on stderr.
bool profile_close(profile *p);

// Returns the name of a function; one without a text is "[unknown]".
uint32_t profile_name(profile *p, const char *text, size_t size);
// Returns the module of a name; 0: that of functions without one.
uint32_t profile_module(profile *p, uint32_t name);
// Returns the frame of a function, which gets its symbol at its first use.
ts_frame_entry profile_frame(profile *p, const profile_function *function);
// Adds a frame to the stack in progress.
void profile_push(profile *p, const ts_frame_entry *frame);
// Returns the stack in progress (0: no frame) and begins another one. Of one
// that is too deep the innermost frames are kept, and it is counted as a flaw.
// outermost_first: the order of the pushes.
uint32_t profile_stack(profile *p, bool outermost_first);

// Writes a sample.
void profile_sample(profile *p, uint32_t thread, int64_t time_ns,
                    const profile_weight *weight, uint32_t stack);
// Reads a weight: a whole number, else a double. False if it is no number.
bool profile_weight_read(profile_weight *weight, const char *text, size_t size);

// The most bytes that pprof.c holds; a test makes it smaller.
extern size_t profile_bytes_most;

/* ==== Lines =============================================================== */

enum { PROFILE_LINE = 1 << 20 };

typedef struct profile_lines {
    import_source *source;
    char *line; // the last one, without its end; a zero byte follows
    size_t size;
    bool cut;    // it was longer than PROFILE_LINE, and the rest dropped
    char *bytes; // read ahead: [at, end)
    size_t at, end;
} profile_lines;

// Begins to read; false: no memory.
bool profile_lines_open(profile_lines *l, import_source *source);
// Reads the next line; false: the end.
bool profile_lines_next(profile_lines *l);
void profile_lines_close(profile_lines *l);

#endif // TS_TOOLS_IMPORT_PROFILE_PROFILE_H
