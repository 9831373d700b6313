/*
    merge.h - merging several traces into one, on one clock

    placement.c  finds the offset of each file on the first one's time axis
    write.c      writes the trace
    messages.c   reports the result as text and JSON
*/
#ifndef TS_MERGE_H
#define TS_MERGE_H

#include "tools/common/rewrite/rewrite.h"

// How a file's offset on the common time axis was found, from certain to
// unknown.
typedef enum merge_how {
    MERGE_FIRST,       // the first file, whose axis it is
    MERGE_GIVEN,       // --offset of this file, or of one from the same machine
    MERGE_CLOCK,       // same machine, same clock: exact
    MERGE_COLLECTIVES, // ends of common collectives
    MERGE_DATE,        // Unix time of the start
    MERGE_NOTHING
} merge_how;
const char *merge_how_name(merge_how how); // "clock", ...: a JSON value

typedef struct merge_file {
    const char *path;
    cli_trace trace;
    int64_t offset_ns, residual_ns;
    uint64_t matched; // collectives matched with other files
    merge_how how;
    uint32_t clock; // index of the first file of the same machine
    uint32_t joins; // 1 + index of an earlier file of the same process; 0: none
    bool given;     // --offset was given for it
    int64_t given_ns;
    uint32_t parts;
    copy_counts counts;
} merge_file;

typedef struct merge_job {
    const cli_tool *tool;
    const char *out;
    merge_file *files;
    uint32_t file_count;
    bool shared_flows;
    cli_warn warn;      // collects warnings about the files
    uint64_t undefined; // references that the files do not define
} merge_job;

// Opens the files. False, with the reason on stderr, if one cannot be read.
bool merge_open(merge_job *job, char **paths, uint32_t count);
// Closes the files of a merge.
void merge_close(merge_job *job);
// Applies the values FILE=TIME of --offset; false, with the reason on stderr,
// if one is invalid.
bool merge_offsets(merge_job *job, const cli_list *texts);
// Sets the offset of each file; warns on stderr about files that nothing links
// to the others.
bool merge_place(merge_job *job);
// Writes the merged trace. False, with the reason on stderr, on failure.
bool merge_write(merge_job *job);

// Prints for people what was merged and how each file was aligned.
void merge_text(const merge_job *job);
// Prints the same as one JSON object.
void merge_json(const merge_job *job);

#endif // TS_MERGE_H
