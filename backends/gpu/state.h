/*
    gpu/state.h - the state of captures on GPUs, and what CUDA and HIP
    differ in

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    One capture core serves both: HIP's calls are translated to those of
    CUDA's driver, and ts__cs_vendor holds what remains different. A program
    that uses both captures the one that starts first.
*/
#ifndef TS__GPU_STATE_H
#define TS__GPU_STATE_H

#include "tracesmith.h"
#include "../ts_capture.h"
#include "cuda_abi.h"
#include "driver.h"
#include "modules.h"
#include "tensor_maps.h"

#include <pthread.h>

struct ts__cs_call;
struct ts__cs_node;

// The differences between CUDA and HIP.
typedef struct ts__cs_vendor {
    ts_capture_vendor memory;
    const char *refusal; // metadata key for the reason why nothing is captured
    bool (*find)(ts__cs_driver *d); // finds the driver's functions
    // Called when a capture begins, which has no images yet.
    void (*fresh)(void);
    // Describes code and arguments of a launch. each, more: as the call passes
    // them (kernelParams and extra).
    void (*kernel)(const struct ts__cs_call *c, ts_capture_op *op,
                   bool exclusive, void *function, void **each, void **more,
                   uint8_t **args);
    const struct ts__cs_graph_calls *graphs; // NULL: graphs are not captured
    // Called for each stream that TraceSmith makes; may be NULL.
    void (*made)(void *context, void *stream);
    // Returns the kernel that hashes memory in a form that the driver loads;
    // NULL: none, and `wrong` may contain the reason. The caller frees it with
    // free().
    char *(*hash_code)(ts__cs_own *own);
    // Returns the track of a device by its number, 0: unknown for now. If NULL,
    // memory whose allocation was not seen counts as memory of the operation's
    // device.
    uint32_t (*device)(uint32_t number);
    // Managed memory is captured if the device can share it with the host.
    bool managed;
    // If the address is a variable of code that has not been used yet, adds the
    // variable and returns true. NULL: no variables are found in this way.
    bool (*variable)(const struct ts__cs_call *c, uint64_t address);
} ts__cs_vendor;

typedef struct ts__cs_graph_calls {
    void (*named)(const struct ts__cs_call *c, ts_capture_op *op);
    void (*launch)(const struct ts__cs_call *c, ts_capture_op *op,
                   bool exclusive, uint8_t **args);
    void (*completed)(const struct ts__cs_call *c); // a graph call has returned
    void (*gone)(uint64_t ready);
    void (*forget)(void);
    // For kernel nodes: `arguments` copies the arguments and their layout;
    // `put_kernel` puts them into a launch, at offset `at` of `args`.
    ts_reason (*arguments)(struct ts__cs_node *n, const ts__cuda_kernel_node *k,
                           ts__cs_job *job, bool answered);
    void (*put_kernel)(const struct ts__cs_call *c, ts_capture_op *op,
                       const struct ts__cs_node *n, uint8_t *args, uint32_t at);
    void (*left)(const void *context); // forgets the graphs of a context
} ts__cs_graph_calls;

typedef struct ts__cs_range { // an allocation; sorted by address
    uint64_t address, size;
    void *context;     // destroyed with this context; NULL: independent
    uint32_t device;   // track of the device
    ts_reason reason;  // why operations that reach it cannot be captured
    bool host, mapped; // mapped: at reserved addresses
    bool managed;      // the host also writes it, unnoticed
} ts__cs_range;

typedef struct ts__cs_texture {
    ts__cuda_texture how;
    void *context;
} ts__cs_texture;

static struct {
    uint32_t on; // number of the session while hooks are active, else 0
    const ts__cs_vendor *vendor;
    bool tested, unsafe;
    ts__cs_driver driver;
    ts__cs_code code;
    pthread_mutex_t testing; // protects the two fields above
    // The fields below are protected by `exclusive_lock`.
    pthread_mutex_t exclusive_lock;
    pthread_cond_t exclusive_change;
    bool capturing, late;
    bool disturbed; // a call timed out and runs concurrently with the capture
    uint32_t inside, recording;
    // The fields below are protected by `memory_lock`.
    pthread_mutex_t memory_lock;
    ts_capture_memory memory;
    bool touched; // an operation wrote at an unknown address
    bool managed; // managed memory may exist
    ts__cs_range *ranges;
    size_t range_count, range_capacity;
    uint64_t *seams; // begins of reserved address ranges
    size_t seam_count, seam_capacity;
    ts__cs_tensors tensors;
    ts__cs_texture *textures; // sorted by handle
    size_t texture_count, texture_capacity;
    uint64_t reads_until_ns;
    const struct ts__cs_call *call; // the call that is being described, or NULL
    void *context;                  // the context of the operation in flight
    uint32_t device;                // track of that operation's device
    uint32_t hashed; // the last capture whose metadata reports the hashing
} ts__cs = { .testing = PTHREAD_MUTEX_INITIALIZER,
             .exclusive_lock = PTHREAD_MUTEX_INITIALIZER,
             .memory_lock = PTHREAD_MUTEX_INITIALIZER,
             .driver = { .lock = PTHREAD_MUTEX_INITIALIZER },
             .code = { .lock = PTHREAD_MUTEX_INITIALIZER } };

static bool ts__cs_is_on(void)
{
    // acquire: pairs with the release in ts__cs_start
    return __atomic_load_n(&ts__cs.on, __ATOMIC_ACQUIRE) != 0;
}

#endif // TS__GPU_STATE_H
