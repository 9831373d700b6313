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

// What CUDA and HIP do not have in common.
typedef struct ts__cs_vendor {
    ts_capture_vendor memory;
    const char *refusal; // the key of metadata that says why nothing is kept
    bool (*find)(ts__cs_driver *d); // the driver's functions
    void (*fresh)(void);            // a capture begins: it has no images
    // Code and arguments of a launch; each, more: as the call has them.
    void (*kernel)(const struct ts__cs_call *c, ts_capture_op *op,
                   bool exclusive, void *function, void **each, void **more,
                   uint8_t **args);
    const struct ts__cs_graph_calls *graphs;   // NULL: they are not captured
    void (*made)(void *context, void *stream); // a stream of our own, or NULL
    // The kernel that hashes, as the driver loads it; NULL: there is none, and
    // `wrong` may say why. Free: free().
    char *(*hash_code)(ts__cs_own *own);
    // The track of the device of that number, 0: unknown now. NULL:
    // memory whose allocation was not seen counts as the operation's device's.
    uint32_t (*device)(uint32_t number);
    bool managed; // such memory is kept, where the device can share it
    // Whether unknown memory is a variable of code that has not been
    // needed yet: then it is added. NULL: never known.
    bool (*variable)(const struct ts__cs_call *c, uint64_t address);
} ts__cs_vendor;

typedef struct ts__cs_graph_calls {
    void (*named)(const struct ts__cs_call *c, ts_capture_op *op);
    void (*launch)(const struct ts__cs_call *c, ts_capture_op *op,
                   bool exclusive, uint8_t **args);
    void (*completed)(const struct ts__cs_call *c); // a call has returned
    void (*gone)(uint64_t ready);
    void (*forget)(void);
    // Of a node that is a kernel: its arguments and their layout
    // are copied; it is put into a launch, its arguments at `at` of `args`.
    ts_reason (*arguments)(struct ts__cs_node *n, const ts__cuda_kernel_node *k,
                           ts__cs_job *job, bool answered);
    void (*put_kernel)(const struct ts__cs_call *c, ts_capture_op *op,
                       const struct ts__cs_node *n, uint8_t *args, uint32_t at);
    void (*left)(const void *context); // what is of it goes
} ts__cs_graph_calls;

typedef struct ts__cs_range { // an allocation, in order of address
    uint64_t address, size;
    void *context;     // it goes with; NULL: with none
    uint32_t device;   // track
    ts_reason reason;  // why what reaches it cannot be captured
    bool host, mapped; // mapped: at addresses that were reserved
    bool managed;      // the host writes it as well, unseen
} ts__cs_range;

typedef struct ts__cs_texture {
    ts__cuda_texture how;
    void *context;
} ts__cs_texture;

static struct {
    uint32_t on; // hooks work; the number of the session
    const ts__cs_vendor *vendor;
    bool tested, unsafe;
    ts__cs_driver driver;
    ts__cs_code code;
    pthread_mutex_t testing; // of the two above
    // Under `exclusive_lock`.
    pthread_mutex_t exclusive_lock;
    pthread_cond_t exclusive_change;
    bool capturing, late;
    bool disturbed; // a call waited in vain, and runs during the capture
    uint32_t inside, recording;
    // Under `memory_lock`.
    pthread_mutex_t memory_lock;
    ts_capture_memory memory;
    bool touched; // something was written at an unknown place
    bool managed; // there may be such memory
    ts__cs_range *ranges;
    size_t range_count, range_capacity;
    uint64_t *seams; // where reservations begin
    size_t seam_count, seam_capacity;
    ts__cs_tensors tensors;
    ts__cs_texture *textures; // in order of their handles
    size_t texture_count, texture_capacity;
    uint64_t reads_until_ns;
    const struct ts__cs_call *call; // that is being described, or NULL
    void *context;                  // of the operation in flight
    uint32_t device;                // track
    uint32_t hashed;                // the capture in whose metadata it stands
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
