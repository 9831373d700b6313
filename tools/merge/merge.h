/*
    merge.h - several traces become one on one clock

    placement.c  where each file lies on the time axis of the first
    write.c  the trace
    messages.c    what is said of it, as text and JSON
*/
#ifndef TS_MERGE_H
#define TS_MERGE_H

#include "tools/common/rewrite/rewrite.h"

// How the place of a file was found, from sure to unknown.
typedef enum merge_how {
    MERGE_FIRST,       // the axis is its own
    MERGE_GIVEN,       // --offset, or that of a file of the same machine
    MERGE_CLOCK,       // the clock of the machine: exact
    MERGE_COLLECTIVES, // ends of collectives that it shares
    MERGE_DATE,        // Unix time of the start
    MERGE_NOTHING
} merge_how;
const char *merge_how_name(merge_how how); // "clock", ...: a JSON value

typedef struct merge_file {
    const char *path;
    cli_trace trace;
    int64_t offset_ns, residual_ns;
    uint64_t matched; // collectives
    merge_how how;
    uint32_t clock; // the first file of the same machine
    uint32_t joins; // 1 + number of an earlier file of the same process
    bool given;     // --offset names it
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
    cli_warn warn;      // of what is wrong with the files
    uint64_t undefined; // numbers that nothing defines
} merge_job;

// False, with the reason on stderr, if one cannot be read.
bool merge_open(merge_job *job, char **paths, uint32_t count);
void merge_close(merge_job *job);
// Texts FILE=TIME; false, with the reason on stderr, if one means nothing.
bool merge_offsets(merge_job *job, const cli_list *texts);
// Puts every file on the axis; says on stderr what nothing ties.
bool merge_place(merge_job *job);
// False, with the reason on stderr, if it could not be written.
bool merge_write(merge_job *job);

void merge_text(const merge_job *job);
void merge_json(const merge_job *job);

#endif // TS_MERGE_H
