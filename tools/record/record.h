/*
    record.h - what the parts of ts-record share

    record_run.c    the program, its end
    record_vars.c   the variables by which libraries find the recorder
    record_parts.c  the traces that its processes left
*/
#ifndef TS_RECORD_H
#define TS_RECORD_H

#include "tools/ts_cli.h"
#include <sys/types.h>

enum { RECORD_PATH = 4096 };

// The trace of one process, or of what it was before it called exec.
typedef struct record_part {
    char path[RECORD_PATH];
    uint64_t start_ns; // Unix time
    uint64_t events;
    bool main; // of the program's own process
    bool live; // still being written
    long process;
} record_part;

typedef struct record_job {
    const cli_tool *tool;
    const char *out;
    char **argv;              // the program and its arguments
    char inject[RECORD_PATH]; // the library
    char folder[RECORD_PATH]; // where the processes write
    pid_t pid;
    int status;     // as waitpid gives it
    bool never_ran; // exec failed
    record_part *parts;
    size_t part_count;
    uint64_t silent;        // processes that had nothing to say
    const char *nvtx_taken; // the user's own NVTX_INJECTION64_PATH, or NULL
} record_job;

// Finds the library and makes the folder; false with the reason on stderr.
bool record_prepare(record_job *job);
// In the child: sets the variables.
void record_vars_set(const record_job *job);
// Runs the program to its end. Returns what ts-record is to return; 126 and
// 127, with the reason on stderr, if it cannot be run.
int record_run(record_job *job);
// Opens what is in the folder, which saves what dead processes left, and
// takes away the traces in which nothing happened, unless all are such.
bool record_parts_find(record_job *job);
// Removes what is left of the folder, and the folder if it is empty. False:
// a child that nothing was seen of yet writes to it.
bool record_parts_remove(const record_job *job);
void record_parts_close(record_job *job);
// How many processes the traces that are whole are of.
size_t record_process_count(const record_job *job);
// Prints a line for each process that could not be recorded, as the library
// noted; returns how many.
size_t record_say_failures(const record_job *job);

#endif // TS_RECORD_H
