/*
    execute_extract.h - what the programs of --extract share
*/
#ifndef TS_REPLAY_EXECUTE_EXTRACT_H
#define TS_REPLAY_EXECUTE_EXTRACT_H

#include "tools/replay/execute.h"

// A file of the folder; NULL with the reason on stderr.
FILE *extract_open(const execute_job *job, const char *name);
bool extract_close(const execute_job *job, FILE *file, const char *name);
// The contents of a list, chunk by chunk. False: the trace lacks some.
bool extract_contents(const execute_job *job, const char *name,
                      const uint64_t list[2]);

// A launch of OpenCL. (execute_extract_opencl.c)
bool extract_opencl(const execute_job *job, const ts_capture *c);
// What its programs begin with, and parts that they end with, then NULL.
extern const char extract_opencl_head[];
extern const char *const extract_opencl_program[];

#endif // TS_REPLAY_EXECUTE_EXTRACT_H
