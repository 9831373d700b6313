/*
    rocm.h - what the importers of rocprofv3's outputs share

    JSON and CSV hold the same rows in other notations; databases have tables.
*/
#ifndef TS_TOOLS_IMPORT_ROCM_ROCM_H
#define TS_TOOLS_IMPORT_ROCM_ROCM_H

#include "tools/import/import.h"
#include "tools/import/map.h"

// A row of the output. Numbers are IMPORT_NONE where the row has none; what is
// never negative may exceed INT64_MAX, and is then negative.
typedef struct rocm_row {
    ts_text kind, name; // "HIP_RUNTIME_API", "hipMalloc"; of a kernel: its name
    int64_t process, thread, correlation, start_ns, end_ns;
    int64_t result;
    int64_t agent, source_agent; // of a copy: where it goes, and from where
    int64_t queue, stream;
    int64_t size, address, source; // bytes, and where they are
    int64_t shared, local, registers, block[3], grid[3]; // grid: in threads
} rocm_row;

extern const rocm_row rocm_no_row; // nothing is known

// A process while its rows are read.
typedef struct rocm {
    import_job *job;
    uint64_t index;  // of the process in the file: upper bits of correlations
    int64_t process; // of rows that name none
    bool has_agents; // false: each agent is taken for a GPU of its number
    cli_map devices; // by agent: index of the GPU + 1; 0: a CPU
    bool out_of_memory;
} rocm;

// Adds an agent. gpu: its index among the GPUs; IMPORT_NONE: it is a CPU.
void rocm_agent(rocm *r, int64_t agent, int64_t gpu, ts_text name);

// Each imports a row; one that lacks what it needs is bad.
void rocm_take_call(rocm *r, const rocm_row *row); // a call or a marker
// Imports a kernel, on its stream.
void rocm_take_kernel(rocm *r, const rocm_row *row);
// Imports a copy, on the stream of its destination, else of its source.
void rocm_take_copy(rocm *r, const rocm_row *row);
// Imports an allocation or a release; other operations have no place.
void rocm_take_allocation(rocm *r, const rocm_row *row);
// Imports an operation on scratch memory, as a zone below its device.
void rocm_take_scratch(rocm *r, const rocm_row *row);
// Imports the value of a counter of a kernel, at its start.
void rocm_take_counter(rocm *r, const rocm_row *row, ts_text counter,
                       double value);

// Returns whether a category is that of a library's functions, such as
// "HIP_RUNTIME_API" or "HSA_CORE_API". Others are markers of the program.
bool rocm_is_call(ts_text category);
// Returns the type of a copy by its name ("MEMORY_COPY_HOST_TO_DEVICE"), else
// by whether it goes to and from a GPU.
uint8_t rocm_copy_type(ts_text name, bool to_gpu, bool from_gpu);
// Sets one side of the grid, in blocks, and of its block.
void rocm_side(ts_launch_entry *launch, size_t side, uint32_t block,
               uint32_t threads);

#endif // TS_TOOLS_IMPORT_ROCM_ROCM_H
