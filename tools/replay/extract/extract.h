/*
    extract.h - what the programs of --extract share
*/
#ifndef TS_TOOLS_REPLAY_EXTRACT_EXTRACT_H
#define TS_TOOLS_REPLAY_EXTRACT_EXTRACT_H

#include "tools/replay/execute/execute.h"

// Creates a file in the output folder. NULL, with the reason on stderr, on
// failure.
FILE *extract_open(const execute_job *job, const char *name);
// Closes a file of the extracted program. False, with the reason on stderr, if
// anything was not written.
bool extract_close(const execute_job *job, FILE *file, const char *name);
// Writes a file of the extracted program in one go. False as extract_close.
bool extract_file(const execute_job *job, const char *name, const void *bytes,
                  size_t size);

// Reports why the operation cannot be extracted. Returns false.
bool extract_refuse(const execute_job *job, const char *why);
// Gets the code of a launch; the reader owns *bytes. False if it was refused.
bool extract_code(const execute_job *job, const ts_capture *c,
                  ts_capture_image *image, const void **bytes, size_t *size);

// Prints a string literal.
void extract_string(FILE *out, const char *text);
// Prints the definition of an array of three numbers.
void extract_three(FILE *out, const char *name, const uint32_t *v);
// Prints the array `args`, with one byte more so that it is never empty.
void extract_args(FILE *out, const ts_capture *c);
// Writes the files of a memory region, before and after the launch, and prints
// their names. False if the region was refused.
bool extract_region(const execute_job *job, FILE *out, const ts_capture *c,
                    uint32_t index);
// Source text: the functions fail, memory_of (contents of a region's file),
// fill_from and differs.
extern const char extract_common[];
// Source text, after extract_common: reads a whole file.
extern const char extract_read_all[];

// Writes a launch of OpenCL as a program. (opencl.c)
bool extract_opencl(const execute_job *job, const ts_capture *c);
// Source text: the start of such a program, and the parts of its end, NULL
// last.
extern const char extract_opencl_head[];
extern const char *const extract_opencl_program[];

// Writes a launch of CUDA as a program. (cuda.c)
bool extract_cuda(const execute_job *job, const ts_capture *c);
// Writes a launch of HIP as a program. (cuda.c)
bool extract_hip(const execute_job *job, const ts_capture *c);
// Source text in order: the start of both kinds of programs, CUDA's addition to
// it; after the data the part of each vendor, and the end of both.
extern const char extract_gpu_head[];
extern const char extract_cuda_head[];
extern const char extract_cuda_program[], extract_hip_program[];
extern const char extract_gpu_program[];

#endif // TS_TOOLS_REPLAY_EXTRACT_EXTRACT_H
