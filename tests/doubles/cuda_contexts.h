/*
    cuda_contexts.h - contexts of the double of CUDA's driver: a part of
    libcuda.c

    A handle is a number from 1: first the primary contexts of devices, which
    are there until they are reset or given back, then those that were made. Who
    has set none has the first device's, and holds it, as CUDA's runtime does.
    What goes takes along all that is of it, and every number and address of
    that is given out again, beginning with the context's own.
*/

/* ==== 2. Contexts ======================================================== */

enum { PRIMARIES = 8, CONTEXTS = 64, CONTEXT_GONE = 709 };

static struct context {
    bool gone, made, used; // used: by a thread that has set none
    uint32_t holders;      // of a primary one
    uint32_t device;       // of one that was made
    uint64_t id;    // of the one that has the number now, 0: not asked yet
    uint64_t peers; // bits of contexts whose memory its kernels may reach
} contexts[CONTEXTS];
static __thread uintptr_t current;
static pthread_mutex_t contexts_lock = PTHREAD_MUTEX_INITIALIZER;

static uintptr_t here(void)
{
    if (!current) __atomic_store_n(&contexts[0].used, true, __ATOMIC_RELAXED);
    return current ? current : 1;
}

static struct context *context_of(uintptr_t handle)
{
    if (!handle || handle > CONTEXTS) return NULL;
    struct context *const c = &contexts[handle - 1];
    return c->gone || (handle > PRIMARIES && !c->made) ? NULL : c;
}

static uint32_t device_of(uintptr_t handle)
{
    return handle <= PRIMARIES ? (uint32_t)handle - 1
                               : contexts[handle - 1].device;
}

// What can be done only in a context that is there.
static bool is_nowhere(void)
{
    return !context_of(here());
}

// What is of a context goes: each part of the double has one of these.
static void drop_blocks(uintptr_t context);
static void drop_modules(uintptr_t context);
static void drop_streams(uintptr_t context);
static void drop_graphs(uintptr_t context);
static void drop_textures(uintptr_t context);

static void drop_context(uintptr_t handle)
{
    double_op op = { .what = DOUBLE_CONTEXT, .context = (void *)handle };
    if (run) run(&op);
    drop_graphs(handle);
    drop_textures(handle);
    drop_modules(handle);
    drop_streams(handle);
    drop_blocks(handle);
    pthread_mutex_lock(&contexts_lock);
    memset(&contexts[handle - 1], 0, sizeof *contexts);
    contexts[handle - 1].gone = handle <= PRIMARIES;
    pthread_mutex_unlock(&contexts_lock);
}

typedef struct create_parameters {
    void **context;
    unsigned flags;
    int device;
} create_parameters;

static int create(const void *user)
{
    const create_parameters *const p = user;
    uintptr_t i = PRIMARIES;
    pthread_mutex_lock(&contexts_lock);
    while (i < CONTEXTS && contexts[i].made)
        i++;
    if (i < CONTEXTS) contexts[i].made = true;
    if (i < CONTEXTS) contexts[i].device = (uint32_t)p->device;
    pthread_mutex_unlock(&contexts_lock);
    if (i == CONTEXTS) return NO_MEMORY;
    current = i + 1;
    *p->context = (void *)current;
    return 0;
}

DRIVER(cuCtxCreate_v2, void **context, unsigned flags, int device)
{
    const create_parameters p = { context, flags, device };
    TRACED(DOUBLE_QUIET, cuCtxCreate_v2, create, ON(0));
}

static int destroy(const void *user)
{
    const uintptr_t handle = *(const uintptr_t *)user;
    if (handle <= PRIMARIES || !context_of(handle)) return INVALID;
    drop_context(handle);
    if (current == handle) current = 0;
    return 0;
}

DRIVER(cuCtxDestroy_v2, void *p)
{
    TRACED(DOUBLE_QUIET, cuCtxDestroy_v2, destroy, ON(0));
}

DRIVER(cuDevicePrimaryCtxRetain, void **context, int device)
{
    if ((unsigned)device >= PRIMARIES) return INVALID;
    contexts[device].gone = false;
    contexts[device].holders++;
    *context = (void *)((uintptr_t)device + 1);
    return 0;
}

static int give_back(const void *user)
{
    const int device = *(const int *)user;
    if ((unsigned)device >= PRIMARIES || !contexts[device].holders)
        return INVALID;
    if (!--contexts[device].holders && !contexts[device].used)
        drop_context((uintptr_t)device + 1);
    return 0;
}

DRIVER(cuDevicePrimaryCtxRelease_v2, int p)
{
    TRACED(DOUBLE_QUIET, cuDevicePrimaryCtxRelease_v2, give_back, ON(0));
}

static int reset(const void *user)
{
    const int device = *(const int *)user;
    if ((unsigned)device >= PRIMARIES) return INVALID;
    const uint32_t holders = contexts[device].holders;
    if (!contexts[device].gone) drop_context((uintptr_t)device + 1);
    contexts[device].holders = holders; // it may be used again when it is made
    return 0;
}

DRIVER(cuDevicePrimaryCtxReset_v2, int p)
{
    TRACED(DOUBLE_QUIET, cuDevicePrimaryCtxReset_v2, reset, ON(0));
}

DRIVER(cuCtxSetCurrent, void *context)
{
    wait_for_lock();
    if (is_named("DOUBLE_CUDA_LOCK", "2")) return INVALID;
    if (context && !context_of((uintptr_t)context)) return CONTEXT_GONE;
    current = (uintptr_t)context;
    return 0;
}

DRIVER(cuCtxEnablePeerAccess, void *peer, unsigned flags)
{
    struct context *const c = context_of(here());
    if (!c || flags || !context_of((uintptr_t)peer)) return INVALID;
    c->peers |= UINT64_C(1) << ((uintptr_t)peer - 1);
    return 0;
}

// Whether kernels of a context may reach the memory of another one.
static bool is_peer(uintptr_t of, uintptr_t to)
{
    return of == to || contexts[of - 1].peers >> (to - 1) & 1;
}

DRIVER(cuCtxGetCurrent, void **context)
{
    *context = (void *)current;
    return 0;
}

DRIVER(cuCtxGetId, void *context, uint64_t *id)
{
    static uint64_t last;
    struct context *const c = context_of((uintptr_t)context);
    wait_for_lock();
    if (!c) return CONTEXT_GONE;
    if (!c->id) c->id = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
    *id = c->id;
    return 0;
}
