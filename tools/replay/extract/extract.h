/*
    extract.h - what the programs of --extract share
*/
#ifndef TS_TOOLS_REPLAY_EXTRACT_EXTRACT_H
#define TS_TOOLS_REPLAY_EXTRACT_EXTRACT_H

#include "tools/replay/execute/execute.h"

// A file of the folder; NULL with the reason on stderr.
FILE *extract_open(const execute_job *job, const char *name);
bool extract_close(const execute_job *job, FILE *file, const char *name);
bool extract_file(const execute_job *job, const char *name, const void *bytes,
                  size_t size);

// Says why there is nothing to write. False.
bool extract_refuse(const execute_job *job, const char *why);
// The code of a launch, which is the reader's; false: refused.
bool extract_code(const execute_job *job, const ts_capture *c,
                  ts_capture_image *image, const void **bytes, size_t *size);

// Parts of the program's text: a literal; what is called NAME; `args`, with
// one byte more; the names of a region's files, which are written, before and
// after, and whether they are there: false: refused.
void extract_string(FILE *out, const char *text);
void extract_three(FILE *out, const char *name, const uint32_t *v);
void extract_args(FILE *out, const ts_capture *c);
bool extract_region(const execute_job *job, FILE *out, const ts_capture *c,
                    uint32_t index);
// fail, memory_of (a region's file), fill_from and differs.
extern const char extract_common[];
extern const char extract_read_all[]; // for files as they are; behind that

// A launch of OpenCL. (opencl.c)
bool extract_opencl(const execute_job *job, const ts_capture *c);
// What its programs begin with, and parts that they end with, then NULL.
extern const char extract_opencl_head[];
extern const char *const extract_opencl_program[];

// A launch of CUDA. (cuda.c)
bool extract_cuda(const execute_job *job, const ts_capture *c);
// A launch of HIP; there as well.
bool extract_hip(const execute_job *job, const ts_capture *c);
// What programs of both begin with; what CUDA's then have; behind the data what
// is a vendor's own, and how both end.
extern const char extract_gpu_head[];
extern const char extract_cuda_head[];
extern const char extract_cuda_program[], extract_hip_program[];
extern const char extract_gpu_program[];

#endif // TS_TOOLS_REPLAY_EXTRACT_EXTRACT_H
