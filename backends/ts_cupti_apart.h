/*
    ts_cupti_apart.h - beside another profiler; private to ts_cupti.h

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    WHAT IT DOES
        One profiler can have CUPTI in a process. Here is who has it or asks for
        it, how it is given up, and how calls are recorded without it: by
        functions of ours between the program and CUDA. What the device does
        then is lost, and counted.

    WHAT IT DOES NOT DO
        It does not take CUPTI back: the other one may want it again, and would
        be refused. It does not see who asks by a function that was looked up by
        name, nor calls of a runtime that is linked statically.

    CONTENTS                            search for "==== 2." to jump
        1. Who
        2. Calls without CUPTI
        3. Who asks
*/
#include "tracesmith.h"

#if defined(TS__CUPTI_IMPLEMENTED) && !defined(TS_CUPTI_APART_H)
#define TS_CUPTI_APART_H

#include "ts_patch.h"

/* ==== 1. Who ============================================================= */

static const struct {
    const char *library, *name;
} ts__cu_profilers[] = {
    { "libToolsInjection", "Nsight Systems" },
    { "libkineto", "PyTorch's profiler (Kineto)" },
    { "libtorch_cuda", "PyTorch's profiler (Kineto)" },
    { "libtorch_cpu", "PyTorch's profiler (Kineto)" },
    { "libproton", "Triton's Proton" },
    { "libparcagpucupti", "parcagpu" },
    { "libscorep", "Score-P" },
    { "libTAU", "TAU" },
    { "libhpcrun", "HPCToolkit" },
    { "libcuinj64", "nvprof" },
};
#define TS__CU_PROFILERS (sizeof ts__cu_profilers / sizeof *ts__cu_profilers)

// Who may have the vendor's interface, as far as the process shows.
static const char *ts__cu_other(void)
{
    for (size_t i = 0; i < TS__CU_PROFILERS; i++) {
        ts__mapped search;
        if (ts__mapped_find(&search, ts__cu_profilers[i].library))
            return ts__cu_profilers[i].name;
    }
    return NULL;
}

// Whose a function is: the file that it lies in, and the name of that.
static void ts__cu_owner(const void *function, char *owner, size_t room)
{
    Dl_info about;
    const bool known = function && dladdr(function, &about) && about.dli_fname;
    const char *const slash = known ? strrchr(about.dli_fname, '/') : NULL;
    const char *const file = slash   ? slash + 1
                             : known ? about.dli_fname
                                     : "code without a file";
    for (size_t i = 0; i < TS__CU_PROFILERS; i++) {
        const char *const library = ts__cu_profilers[i].library;
        if (strncmp(file, library, strlen(library)) != 0) continue;
        snprintf(owner, room, "%s, %.80s", ts__cu_profilers[i].name, file);
        return;
    }
    snprintf(owner, room, "%.80s", file);
}

/* ==== 2. Calls without CUPTI ============================================= */

typedef struct ts__ca_dim3 { // passed as CUDA's is
    uint32_t x, y, z;
} ts__ca_dim3;

// Name, what it does, parameters, what is called with. Source: the headers of
// CUDA 13.0.
#define TS__CA_FUNCTIONS(X) \
    TS__CA_LAUNCH(X, cudaLaunchKernel) \
    TS__CA_LAUNCH(X, cudaLaunchKernel_ptsz) \
    TS__CA_LAUNCH(X, cudaLaunchCooperativeKernel) \
    TS__CA_LAUNCH(X, cudaLaunchCooperativeKernel_ptsz) \
    X(cudaLaunchKernelExC, TS__CU_LAUNCH, \
      (const void *a, const void *b, void **c), (a, b, c)) \
    X(cudaGraphLaunch, TS__CU_MOVES, (void *a, void *b), (a, b)) \
    X(cudaMemcpy, TS__CU_MOVES, (void *a, const void *b, size_t c, int d), \
      (a, b, c, d)) \
    X(cudaMemcpyAsync, TS__CU_MOVES, \
      (void *a, const void *b, size_t c, int d, void *e), (a, b, c, d, e)) \
    X(cudaMemset, TS__CU_MOVES, (void *a, int b, size_t c), (a, b, c)) \
    X(cudaMemsetAsync, TS__CU_MOVES, (void *a, int b, size_t c, void *d), \
      (a, b, c, d)) \
    X(cudaMalloc, TS__CU_CALL, (void **a, size_t b), (a, b)) \
    X(cudaMallocAsync, TS__CU_CALL, (void **a, size_t b, void *c), (a, b, c)) \
    X(cudaFree, TS__CU_CALL, (void *a), (a)) \
    X(cudaFreeAsync, TS__CU_CALL, (void *a, void *b), (a, b)) \
    X(cudaStreamSynchronize, TS__CU_CALL, (void *a), (a)) \
    X(cudaDeviceSynchronize, TS__CU_CALL, (void), ()) \
    X(cudaEventRecord, TS__CU_CALL, (void *a, void *b), (a, b)) \
    X(cudaEventSynchronize, TS__CU_CALL, (void *a), (a)) \
    X(cudaStreamWaitEvent, TS__CU_CALL, (void *a, void *b, unsigned c), \
      (a, b, c)) \
    X(cuLaunchKernel, TS__CU_LAUNCH, \
      (void *a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f, \
       unsigned g, unsigned h, void *i, void **j, void **k), \
      (a, b, c, d, e, f, g, h, i, j, k)) \
    X(cuLaunchKernelEx, TS__CU_LAUNCH, \
      (const void *a, void *b, void **c, void **d), (a, b, c, d)) \
    X(cuGraphLaunch, TS__CU_MOVES, (void *a, void *b), (a, b)) \
    X(cuMemcpyHtoDAsync_v2, TS__CU_MOVES, \
      (uint64_t a, const void *b, size_t c, void *d), (a, b, c, d)) \
    X(cuMemcpyDtoHAsync_v2, TS__CU_MOVES, \
      (void *a, uint64_t b, size_t c, void *d), (a, b, c, d)) \
    X(cuMemcpyDtoDAsync_v2, TS__CU_MOVES, \
      (uint64_t a, uint64_t b, size_t c, void *d), (a, b, c, d)) \
    X(cuStreamSynchronize, TS__CU_CALL, (void *a), (a)) \
    X(cuEventSynchronize, TS__CU_CALL, (void *a), (a)) \
    X(cuCtxSynchronize, TS__CU_CALL, (void), ())
#define TS__CA_LAUNCH(X, name) \
    X(name, TS__CU_LAUNCH, \
      (const void *a, ts__ca_dim3 b, ts__ca_dim3 c, void **d, size_t e, \
       void *f), \
      (a, b, c, d, e, f))

enum {
#define TS__X(name, rule, parameters, call) TS__CA_##name,
    TS__CA_FUNCTIONS(TS__X)
#undef TS__X
        TS__CA_COUNT
};

static ts__cu *ts__ca_engine; // of the process; there is one
static void *ts__ca_real[TS__CA_COUNT];
static uint32_t ts__ca_codes[TS__CA_COUNT]; // names

typedef struct ts__ca_call {
    bool recorded;
    uint32_t stack;
    uint64_t start;
} ts__ca_call;

static void ts__ca_begin(ts__ca_call *c)
{
    ts__cu *const u = __atomic_load_n(&ts__ca_engine, __ATOMIC_ACQUIRE);
    // acquire: pairs with the release in ts__cu_go_apart
    c->recorded =
        u && TS__LOAD(&u->on) && __atomic_load_n(&u->apart, __ATOMIC_ACQUIRE);
    if (!c->recorded) return;
    c->start = ts_tick_now();
    c->stack = ts_gpu_origin_here().stack;
}

static int ts__ca_end(const ts__ca_call *c, uint32_t number, const char *name,
                      uint8_t rule, int result)
{
    if (!c->recorded) return result;
    ts__cu *const u = __atomic_load_n(&ts__ca_engine, __ATOMIC_ACQUIRE);
    if (!result && rule == TS__CU_LAUNCH)
        __atomic_fetch_add(&u->launches, 1, __ATOMIC_RELAXED);
    // What it had the device do nobody tells us.
    if (!result && rule != TS__CU_CALL) ts__lose(&u->lost, TS__CU_APART, 0, 1);
    if (!ts_capture_kind(TS_EVENT_API_CALL)) return result;
    uint32_t code = TS__CODE(&ts__ca_codes[number]);
    if (!code) {
        code = ts_name_define(name);
        __atomic_store_n(&ts__ca_codes[number], code, __ATOMIC_RELEASE);
    }
    ts_api_call call;
    memset(&call, 0, sizeof call);
    call.name = code;
    call.stack = c->stack;
    call.start = c->start;
    call.end = ts_tick_now();
    call.result = (uint64_t)(uint32_t)result;
    ts_api_call_record(&call);
    return result;
}

#define TS__X(name, rule, parameters, call) \
    static int ts__ca_##name parameters \
    { \
        ts__ca_call here; \
        int(*real) parameters; \
        memcpy(&real, &ts__ca_real[TS__CA_##name], sizeof real); \
        ts__ca_begin(&here); \
        return ts__ca_end(&here, TS__CA_##name, #name, rule, real call); \
    }
TS__CA_FUNCTIONS(TS__X)
#undef TS__X

// In front of CUDA's functions, in the files that are loaded now. False: there
// is none that a file could call.
static bool ts__ca_calls(void)
{
    static const ts__patch all[] = {
#define TS__X(name, rule, parameters, call) \
    { #name, (void (*)(void))ts__ca_##name },
        TS__CA_FUNCTIONS(TS__X)
#undef TS__X
    };
    ts__patch there[TS__CA_COUNT];
    ts__patch_set set = { "cu", there, TS__CA_COUNT, NULL };
    void *const runtime = ts__library_present("libcudart");
    void *const driver = ts__library_present("libcuda.so");
    for (uint32_t i = 0; i < TS__CA_COUNT; i++) {
        const bool is_runtime = !strncmp(all[i].name, "cuda", 4);
        void *const library = is_runtime ? runtime : driver;
        // Once: a call may be on its way.
        if (!ts__ca_real[i] && library)
            ts__ca_real[i] = dlsym(library, all[i].name);
        there[i] = all[i];
        if (!ts__ca_real[i])
            there[i].name = NULL;
        else
            set.spare = ts__ca_real[i];
    }
    if (set.spare) ts__patch_files(&set);
    return set.spare != NULL;
}

/* ==== 3. Who asks ======================================================== */

static int (*ts__ca_subscribe)(void **, ts__cu_called, void *);
static int (*ts__ca_subscribe2)(void **, ts__cu_called, void *,
                                ts__cu_subscription *);
static int (*ts__ca_register)(ts__cu_requested, ts__cu_completed);

// Whether it is to be given up to them.
static bool ts__cu_yields(const char *owner)
{
    const char *const to = ts__cu_desc.yield;
    return to && (!strcmp(to, "all") || strcasestr(owner, to));
}

// A function of somebody's is to get what ours gets. The worker lets go, within
// its time: this may be a thread of the program that holds anything.
static void ts__cu_asked(const void *function)
{
    ts__cu *const u = __atomic_load_n(&ts__ca_engine, __ATOMIC_ACQUIRE);
    char owner[128], text[256];
    if (!u || !TS__LOAD(&u->on) || TS__LOAD(&u->apart) ||
        ts__cu_forbidden == getpid())
        return;
    ts__cu_owner(function, owner, sizeof owner);
    const bool yields = ts__cu_yields(owner);
    if (yields) {
        TS__STORE(&u->yield, 1);
        ts__worker_flush(&u->worker);
    } else if (__atomic_exchange_n(&u->asked, 1, __ATOMIC_RELAXED)) {
        return; // that was said
    }
    snprintf(text, sizeof text, "%s asked for %s %s", owner, u->table->product,
             !yields               ? "and was refused; ts-record --yield gives "
                                     "it up"
             : TS__LOAD(&u->apart) ? "and has it: from then on calls are "
                                     "recorded, not what they start"
                                   : "and did not get it in time");
    ts__cu_fact(u, "asked", text);
    ts_message(text);
}

static int ts__ca_cuptiSubscribe(void **handle, ts__cu_called function,
                                 void *user)
{
    const void *whose;
    memcpy(&whose, &function, sizeof whose);
    ts__cu_asked(whose);
    return ts__ca_subscribe(handle, function, user);
}

static int ts__ca_cuptiSubscribe_v2(void **handle, ts__cu_called function,
                                    void *user, ts__cu_subscription *how)
{
    const void *whose;
    memcpy(&whose, &function, sizeof whose);
    ts__cu_asked(whose);
    return ts__ca_subscribe2(handle, function, user, how);
}

static int ts__ca_cuptiActivityRegisterCallbacks(ts__cu_requested requested,
                                                 ts__cu_completed completed)
{
    const void *whose;
    memcpy(&whose, &requested, sizeof whose);
    ts__cu_asked(whose);
    return ts__ca_register(requested, completed);
}

// In front of CUPTI's functions, in the files that are loaded now.
static void ts__ca_asks(ts__cu *u)
{
    const ts__patch patches[] = {
        { u->call.subscribe ? "cuptiSubscribe" : NULL,
          (void (*)(void))ts__ca_cuptiSubscribe },
        { u->call.subscribe2 ? "cuptiSubscribe_v2" : NULL,
          (void (*)(void))ts__ca_cuptiSubscribe_v2 },
        { "cuptiActivityRegisterCallbacks",
          (void (*)(void))ts__ca_cuptiActivityRegisterCallbacks },
    };
    ts__patch_set set = { "cupti", patches, 3, NULL };
    memcpy(&set.spare, &u->call.version, sizeof set.spare);
    // The same for as long as the process.
    memcpy(&ts__ca_subscribe, &u->call.subscribe, sizeof ts__ca_subscribe);
    memcpy(&ts__ca_subscribe2, &u->call.subscribe2, sizeof ts__ca_subscribe2);
    memcpy(&ts__ca_register, &u->call.callbacks, sizeof ts__ca_register);
    ts__patch_files(&set);
}

// Files that have been loaded since call past us until this look.
static void ts__cu_look(ts__cu *u)
{
    if (u != ts__ca_engine) return;
    const uint64_t loaded = ts__patch_loaded();
    if (loaded == u->loaded) return;
    u->loaded = loaded;
    if (TS__LOAD(&u->apart))
        ts__ca_calls();
    else
        ts__ca_asks(u);
}

// From now on calls are recorded without CUPTI.
static void ts__cu_go_apart(ts__cu *u)
{
    // release: the table of real functions; pairs with the acquire in
    // ts__ca_begin
    __atomic_store_n(&u->apart, 1, __ATOMIC_RELEASE);
    u->loaded = 0; // a file may have been loaded meanwhile: it is looked again
}

#endif // TS_CUPTI_APART_H
