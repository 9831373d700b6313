/*
    rocprofiler.h - layouts and numbers of rocprofiler-sdk, for its double

    Written from its documentation; kept apart from what backends declare, so
    that one mistake is not made twice.
*/
#ifndef DOUBLES_ROCPROFILER_H
#define DOUBLES_ROCPROFILER_H

#include <stddef.h>
#include <stdint.h>

enum { OK = 0, ERROR = 1, KIND_NOT_FOUND = 7, LOCKED = 16, FINALIZED = 21 };
enum { KINDS = 24, CONTEXTS = 16, ROOM = 8192, OPERATIONS = 128 };

typedef struct correlation_3 {
    uint64_t internal, external, ancestor;
} correlation_3;
typedef struct record_new { // of a callback
    uint64_t context, thread;
    correlation_3 correlation;
    uint32_t kind, operation, phase;
    void *payload;
} record_new;
typedef struct record_old {
    uint64_t context, thread, internal, external;
    uint32_t kind, operation, phase;
    void *payload;
    uint64_t unused;
} record_old;
typedef void (*callback)(record_new, uint64_t *, void *);
typedef struct header {
    uint32_t category, kind;
    void *payload;
} header;
typedef void (*deliver)(uint64_t, uint64_t, header **, size_t, void *,
                        uint64_t);

typedef struct dispatch {
    uint64_t size;
    uint32_t kind, operation;
    uint64_t internal, external, thread, start_ns, end_ns;
    struct {
        uint64_t size, agent, queue, kernel, dispatch;
        uint32_t private_size, group_size, block[3], grid[3];
        uint8_t unused[56];
    } info;
} dispatch;
typedef struct copy {
    uint64_t size;
    uint32_t kind, operation;
    uint64_t internal, external, thread, start_ns, end_ns, to_agent, from_agent,
        bytes, to, from;
} copy;
typedef struct scratch {
    uint64_t size;
    uint32_t kind, operation;
    correlation_3 correlation;
    uint64_t agent, queue, thread, start_ns, end_ns;
    uint32_t flags;
    uint64_t bytes;
} scratch;
typedef struct scratch_old { // of 0.5.0
    uint64_t size;
    uint32_t kind, operation;
    uint64_t agent, queue, thread, start_ns, end_ns, internal, external;
    uint32_t flags, pad;
} scratch_old;
typedef struct symbol {
    uint64_t size, kernel, object;
    const char *name;
    uint64_t address;
    uint32_t kernarg_size, kernarg_align, group_size, private_size, scalar,
        vector, accumulator;
} symbol;
_Static_assert(sizeof(dispatch) == 184 && sizeof(copy) == 96 &&
                   sizeof(scratch) == 96 && sizeof(scratch_old) == 80 &&
                   sizeof(record_new) == 64,
               "layouts");

typedef struct client_id {
    size_t size;
    const char *name;
    uint32_t handle;
} client_id;
typedef struct tool {
    size_t size;
    int (*initialize)(void (*)(client_id), void *);
    void (*finalize)(void *);
    void *data;
} tool;
typedef tool *(*configure)(uint32_t, const char *, uint32_t, client_id *);

// Names of kinds by number. Numbers moved between the versions.
static const char *const callback_names[] = { "NONE",
                                              "HSA_CORE_API",
                                              "HSA_AMD_EXT_API",
                                              "HSA_IMAGE_EXT_API",
                                              "HSA_FINALIZE_EXT_API",
                                              "HIP_RUNTIME_API",
                                              "HIP_COMPILER_API",
                                              "MARKER_CORE_API",
                                              "MARKER_CONTROL_API",
                                              "MARKER_NAME_API",
                                              "CODE_OBJECT",
                                              "SCRATCH_MEMORY",
                                              "KERNEL_DISPATCH",
                                              "MEMORY_COPY",
                                              "RCCL_API",
                                              "OMPT",
                                              "MEMORY_ALLOCATION",
                                              "RUNTIME_INITIALIZATION",
                                              "ROCDECODE_API",
                                              "ROCJPEG_API",
                                              "HIP_STREAM" };
static const char *const buffer_names[] = { "NONE",
                                            "HSA_CORE_API",
                                            "HSA_AMD_EXT_API",
                                            "HSA_IMAGE_EXT_API",
                                            "HSA_FINALIZE_EXT_API",
                                            "HIP_RUNTIME_API",
                                            "HIP_COMPILER_API",
                                            "MARKER_CORE_API",
                                            "MARKER_CONTROL_API",
                                            "MARKER_NAME_API",
                                            "MEMORY_COPY",
                                            "KERNEL_DISPATCH",
                                            "SCRATCH_MEMORY" };
enum { HIP = 5, CODE = 10, STREAM = 20, COPIES = 10, KERNELS = 11 };

#endif
