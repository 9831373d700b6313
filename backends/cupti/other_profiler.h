/*
    cupti/other_profiler.h - what is recorded when another profiler has
    CUPTI

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    One profiler at a time can use CUPTI in a process. This finds out which
    one does or requests it, leaves CUPTI to it, and records calls by
    functions of ours between the program and CUDA. Operations of devices
    are lost then, and counted.

    CUPTI is not taken back within a session: a profiler that has
    unsubscribed may still flush, and would get our buffers or we its; a
    clock that is given a second time spoils the records that follow;
    PyTorch's profiler keeps its subscription while it is off. Calls by
    addresses that were looked up earlier are not seen: as a rule those of a
    statically linked runtime.

    CONTENTS                            search for "==== 2." to jump
        1. Which profiler
        2. Calls without CUPTI
        3. Requests of other profilers
        4. Looking up by name
        5. Looking for files
*/
#ifndef TS__CUPTI_OTHER_PROFILER_H
#define TS__CUPTI_OTHER_PROFILER_H

#include "tracesmith.h"
#include "../ts_filter.h"
#include "../gpu/patch.h"
#include "../gpu/records.h"
#include "functions.h"
#include "vendors.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ==== 1. Which profiler ================================================== */

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

// Returns the name of the profiler in this process that may use CUPTI.
static const char *ts__cu_other(void)
{
    for (size_t i = 0; i < TS__CU_PROFILERS; i++) {
        ts__mapped search;
        if (ts__mapped_find(&search, ts__cu_profilers[i].library))
            return ts__cu_profilers[i].name;
    }
    return NULL;
}

// Writes the name of the file that contains a function.
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

typedef struct ts__ca_dim3 { // passed by value as CUDA's dim3
    uint32_t x, y, z;
} ts__ca_dim3;

// Programs compiled with CUDA_API_PER_THREAD_DEFAULT_STREAM call the second
// name.
#define TS__CA_TWICE(X, name, own, ...) X(name, __VA_ARGS__) X(own, __VA_ARGS__)
// Columns: name, rule, parameters, arguments of the call.
// Source: the headers of CUDA 13.0.
#define TS__CA_FUNCTIONS(X) \
    TS__CA_LAUNCH(X, cudaLaunchKernel) \
    TS__CA_LAUNCH(X, cudaLaunchKernel_ptsz) \
    TS__CA_LAUNCH(X, __cudaLaunchKernel) \
    TS__CA_LAUNCH(X, __cudaLaunchKernel_ptsz) \
    TS__CA_LAUNCH(X, cudaLaunchCooperativeKernel) \
    TS__CA_LAUNCH(X, cudaLaunchCooperativeKernel_ptsz) \
    TS__CA_TWICE(X, cudaLaunchKernelExC, cudaLaunchKernelExC_ptsz, \
                 TS__CU_LAUNCH, (const void *a, const void *b, void **c), \
                 (a, b, c)) \
    TS__CA_TWICE(X, cudaGraphLaunch, cudaGraphLaunch_ptsz, TS__CU_MOVES, \
                 (void *a, void *b), (a, b)) \
    TS__CA_TWICE(X, cudaMemcpy, cudaMemcpy_ptds, TS__CU_MOVES, \
                 (void *a, const void *b, size_t c, int d), (a, b, c, d)) \
    TS__CA_TWICE(X, cudaMemcpyAsync, cudaMemcpyAsync_ptsz, TS__CU_MOVES, \
                 (void *a, const void *b, size_t c, int d, void *e), \
                 (a, b, c, d, e)) \
    TS__CA_TWICE(X, cudaMemset, cudaMemset_ptds, TS__CU_MOVES, \
                 (void *a, int b, size_t c), (a, b, c)) \
    TS__CA_TWICE(X, cudaMemsetAsync, cudaMemsetAsync_ptsz, TS__CU_MOVES, \
                 (void *a, int b, size_t c, void *d), (a, b, c, d)) \
    X(cudaMalloc, TS__CU_CALL, (void **a, size_t b), (a, b)) \
    TS__CA_TWICE(X, cudaMallocAsync, cudaMallocAsync_ptsz, TS__CU_CALL, \
                 (void **a, size_t b, void *c), (a, b, c)) \
    X(cudaFree, TS__CU_CALL, (void *a), (a)) \
    TS__CA_TWICE(X, cudaFreeAsync, cudaFreeAsync_ptsz, TS__CU_CALL, \
                 (void *a, void *b), (a, b)) \
    TS__CA_TWICE(X, cudaStreamSynchronize, cudaStreamSynchronize_ptsz, \
                 TS__CU_CALL, (void *a), (a)) \
    X(cudaDeviceSynchronize, TS__CU_CALL, (void), ()) \
    TS__CA_TWICE(X, cudaEventRecord, cudaEventRecord_ptsz, TS__CU_CALL, \
                 (void *a, void *b), (a, b)) \
    X(cudaEventSynchronize, TS__CU_CALL, (void *a), (a)) \
    TS__CA_TWICE(X, cudaStreamWaitEvent, cudaStreamWaitEvent_ptsz, \
                 TS__CU_CALL, (void *a, void *b, unsigned c), (a, b, c)) \
    TS__CA_TWICE(X, cuLaunchKernel, cuLaunchKernel_ptsz, TS__CU_LAUNCH, \
                 (void *a, unsigned b, unsigned c, unsigned d, unsigned e, \
                  unsigned f, unsigned g, unsigned h, void *i, void **j, \
                  void **k), \
                 (a, b, c, d, e, f, g, h, i, j, k)) \
    TS__CA_TWICE(X, cuLaunchKernelEx, cuLaunchKernelEx_ptsz, TS__CU_LAUNCH, \
                 (const void *a, void *b, void **c, void **d), (a, b, c, d)) \
    TS__CA_TWICE(X, cuGraphLaunch, cuGraphLaunch_ptsz, TS__CU_MOVES, \
                 (void *a, void *b), (a, b)) \
    TS__CA_TWICE(X, cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2_ptsz, \
                 TS__CU_MOVES, (uint64_t a, const void *b, size_t c, void *d), \
                 (a, b, c, d)) \
    TS__CA_TWICE(X, cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v2_ptsz, \
                 TS__CU_MOVES, (void *a, uint64_t b, size_t c, void *d), \
                 (a, b, c, d)) \
    TS__CA_TWICE(X, cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2_ptsz, \
                 TS__CU_MOVES, (uint64_t a, uint64_t b, size_t c, void *d), \
                 (a, b, c, d)) \
    TS__CA_TWICE(X, cuStreamSynchronize, cuStreamSynchronize_ptsz, \
                 TS__CU_CALL, (void *a), (a)) \
    X(cuEventSynchronize, TS__CU_CALL, (void *a), (a)) \
    X(cuCtxSynchronize, TS__CU_CALL, (void), ())
#define TS__CA_LAUNCH(X, name) \
    X(name, TS__CU_LAUNCH, \
      (const void *a, ts__ca_dim3 b, ts__ca_dim3 c, void **d, size_t e, \
       void *f), \
      (a, b, c, d, e, f))

#define TS__CA_LOOKUPS(X) \
    X(cuGetProcAddress) \
    X(cuGetProcAddress_v2) \
    X(cudaGetDriverEntryPoint) \
    X(cudaGetDriverEntryPoint_ptsz) \
    X(cudaGetDriverEntryPointByVersion) \
    X(cudaGetDriverEntryPointByVersion_ptsz)
#define TS__CA_REQUESTS(X) \
    X(cuptiSubscribe) \
    X(cuptiSubscribe_v2) \
    X(cuptiActivityRegisterCallbacks)

enum {
#define TS__X(name, rule, parameters, call) TS__CA_##name,
#define TS__Y(name)                         TS__CA_##name,
    TS__CA_FUNCTIONS(TS__X) TS__CA_LOOKUPS(TS__Y) TS__CA_REQUESTS(TS__Y)
#undef TS__X
#undef TS__Y
        TS__CA_COUNT,
    TS__CA_LOOKUPS_AT = TS__CA_cuGetProcAddress,
    TS__CA_REQUESTS_AT = TS__CA_cuptiSubscribe
};

static ts__cu *ts__ca_engine; // the engine of this process; at most one
static const ts__patch ts__ca_own[TS__CA_COUNT]; // defined below
static void *ts__ca_real[TS__CA_COUNT];          // NULL: not found (yet)
// Dictionary codes of the names.
static uint32_t ts__ca_codes[TS__CA_LOOKUPS_AT];

static void *ts__ca_real_of(uint32_t number)
{
    // acquire: pairs with the release in ts__ca_find
    return __atomic_load_n(&ts__ca_real[number], __ATOMIC_ACQUIRE);
}

typedef struct ts__ca_call {
    bool recorded;
    uint32_t stack;
    uint64_t start;
} ts__ca_call;

static void ts__ca_begin(ts__ca_call *c)
{
    ts__cu *const u = __atomic_load_n(&ts__ca_engine, __ATOMIC_ACQUIRE);
    // acquire: pairs with the release in ts__cu_go_standalone
    c->recorded = u && TS__LOAD(&u->on) &&
                  __atomic_load_n(&u->standalone, __ATOMIC_ACQUIRE);
    if (!c->recorded) return;
    if (TS__UNLIKELY(!TS__LOAD(&u->heard))) TS__STORE(&u->heard, 1);
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
    // The operation that it started is not reported, so it counts as lost.
    if (!result && rule != TS__CU_CALL)
        ts__lose(&u->lost, TS__CU_STANDALONE, 0, 1);
    if (!ts_filter_kind(TS_EVENT_API_CALL)) return result;
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
        void *const found = ts__ca_real_of(TS__CA_##name); \
        int(*real) parameters; \
        memcpy(&real, &found, sizeof real); \
        ts__ca_begin(&here); \
        return ts__ca_end(&here, TS__CA_##name, #name, rule, real call); \
    }
TS__CA_FUNCTIONS(TS__X)
#undef TS__X

/* ==== 3. Requests of other profilers ===================================== */

// Returns whether CUPTI is to be given up to this profiler.
static bool ts__cu_yields(const char *owner)
{
    const char *const to = ts__cu_desc.yield;
    return to && (!strcmp(to, "all") || strcasestr(owner, to));
}

// Called when another profiler wants to subscribe. Only notes that CUPTI is to
// be given up: the worker does that later, because the calling thread may hold
// any lock.
static void ts__cu_note_request(const void *function)
{
    ts__cu *const u = __atomic_load_n(&ts__ca_engine, __ATOMIC_ACQUIRE);
    char owner[128], text[256];
    if (!u || !TS__LOAD(&u->on) || TS__LOAD(&u->standalone) ||
        ts__cu_forbidden == getpid())
        return;
    ts__cu_owner(function, owner, sizeof owner);
    const bool yields = ts__cu_yields(owner);
    if (yields) {
        TS__STORE(&u->yield, 1);
        ts__worker_flush(&u->worker);
    } else if (__atomic_exchange_n(&u->contended, 1, __ATOMIC_RELAXED)) {
        return; // already reported
    }
    snprintf(text, sizeof text, "%s requested %s %s", owner, u->table->product,
             !yields ? "and was refused; ts-record --yield allows it"
             : TS__LOAD(&u->standalone)
                 ? "and has it until the end: from then on calls are recorded, "
                   "but not the operations that they start"
                 : "and did not get it in time");
    ts__cu_fact(u, "asked", text);
    ts_message(text);
}

static int ts__ca_cuptiSubscribe(void **handle, ts__cu_called function,
                                 void *user)
{
    int (*real)(void **, ts__cu_called, void *);
    void *const found = ts__ca_real_of(TS__CA_cuptiSubscribe);
    const void *whose;
    memcpy(&whose, &function, sizeof whose);
    memcpy(&real, &found, sizeof real);
    ts__cu_note_request(whose);
    return real(handle, function, user);
}

static int ts__ca_cuptiSubscribe_v2(void **handle, ts__cu_called function,
                                    void *user, ts__cu_subscription *how)
{
    int (*real)(void **, ts__cu_called, void *, ts__cu_subscription *);
    void *const found = ts__ca_real_of(TS__CA_cuptiSubscribe_v2);
    const void *whose;
    memcpy(&whose, &function, sizeof whose);
    memcpy(&real, &found, sizeof real);
    ts__cu_note_request(whose);
    return real(handle, function, user, how);
}

static int ts__ca_cuptiActivityRegisterCallbacks(ts__cu_requested requested,
                                                 ts__cu_completed completed)
{
    int (*real)(ts__cu_requested, ts__cu_completed);
    void *const found = ts__ca_real_of(TS__CA_cuptiActivityRegisterCallbacks);
    const void *whose;
    memcpy(&whose, &requested, sizeof whose);
    memcpy(&real, &found, sizeof real);
    ts__cu_note_request(whose);
    return real(requested, completed);
}

/* ==== 4. Looking up by name ============================================== */

// If a lookup returned the address of a replaced function, returns our function
// instead. The library itself decides which version of a function is found.
// Only done if calls may have to be recorded without CUPTI: another profiler
// has it or may get it.
static void ts__ca_instead(void **found)
{
    for (uint32_t i = 0; *found && i < TS__CA_COUNT; i++) {
        if (ts__ca_real_of(i) != *found) continue;
        memcpy(found, &ts__ca_own[i].own, sizeof *found);
        return;
    }
}

// All lookup functions take the name and the result pointer first. Up to three
// more arguments are passed in registers; some functions have fewer.
// Source: cuda.h and cuda_runtime_api.h of CUDA 13.0.
static int ts__ca_look_up(uint32_t number, const char *name, void **found,
                          uintptr_t a, uintptr_t b, uintptr_t c)
{
    int (*real)(const char *, void **, uintptr_t, uintptr_t, uintptr_t);
    void *const function = ts__ca_real_of(number);
    memcpy(&real, &function, sizeof real);
    const int result = real(name, found, a, b, c);
    if (!result && found) ts__ca_instead(found);
    return result;
}

#define TS__X(name) \
    static int ts__ca_##name(const char *text, void **found, uintptr_t a, \
                             uintptr_t b, uintptr_t c) \
    { \
        return ts__ca_look_up(TS__CA_##name, text, found, a, b, c); \
    }
TS__CA_LOOKUPS(TS__X)
#undef TS__X

// Replaces dlsym. With RTLD_DEFAULT (0) and RTLD_NEXT (-1) dlsym depends on the
// file of its caller, so this jumps to the real dlsym with the original return
// address.
#define TS__CA_HIDDEN __attribute__((visibility("hidden"), used))
TS__CA_HIDDEN void *ts__ca_dlsym(void *library, const char *name);
TS__CA_HIDDEN void *ts__ca_dlsym_in(void *library, const char *name);
TS__CA_HIDDEN void *(*ts__ca_dlsym_real)(void *, const char *) = dlsym;

void *ts__ca_dlsym_in(void *library, const char *name)
{
    void *found = ts__ca_dlsym_real(library, name);
    ts__ca_instead(&found);
    return found;
}

__asm__(".text\n"
        ".p2align 4\n"
        ".hidden ts__ca_dlsym\n"
        ".globl ts__ca_dlsym\n"
        ".type ts__ca_dlsym, %function\n"
        "ts__ca_dlsym:\n"
        ".cfi_startproc\n" // so that a sampling profiler can unwind it
#ifdef __aarch64__
        "    hint #34\n" // bti c
        "    add x16, x0, #1\n"
        "    cmp x16, #1\n"
        "    b.ls 1f\n"
        "    b ts__ca_dlsym_in\n"
        "1:  adrp x16, ts__ca_dlsym_real\n"
        "    ldr x16, [x16, :lo12:ts__ca_dlsym_real]\n"
        "    br x16\n"
#else
        "    endbr64\n"
        "    leaq 1(%rdi), %rax\n"
        "    cmpq $1, %rax\n"
        "    ja ts__ca_dlsym_in\n"
        "    jmpq *ts__ca_dlsym_real(%rip)\n"
#endif
        ".cfi_endproc\n"
        ".size ts__ca_dlsym, . - ts__ca_dlsym\n");

/* ==== 5. Looking for files =============================================== */

#define TS__CA_OWN(name, own) { name, (void (*)(void))own },
static const ts__patch ts__ca_own[TS__CA_COUNT] = {
#define TS__X(name, rule, parameters, call) TS__Y(name)
#define TS__Y(name)                         TS__CA_OWN(#name, ts__ca_##name)
    TS__CA_FUNCTIONS(TS__X) TS__CA_LOOKUPS(TS__Y) TS__CA_REQUESTS(TS__Y)
#undef TS__X
#undef TS__Y
};

// Sets the real function once, because a call may be using it.
static void ts__ca_real_is(uint32_t number, const void *function)
{
    void *real;
    memcpy(&real, function, sizeof real);
    // release: pairs with the acquire in ts__ca_real_of
    if (!ts__ca_real[number])
        __atomic_store_n(&ts__ca_real[number], real, __ATOMIC_RELEASE);
}

// Finds the real functions. Calls between CUDA's libraries are not replaced.
static void ts__ca_find(const ts__cu *u, ts__patch_set *set)
{
    void *const libraries[] = { ts__library_present("libcuda.so"),
                                ts__library_present("libcudart") };
    for (uint32_t i = 0; i < TS__CA_REQUESTS_AT; i++) {
        const bool runtime = strstr(ts__ca_own[i].name, "cuda") != NULL;
        void *const library = libraries[runtime];
        void *const found = library ? dlsym(library, ts__ca_own[i].name) : NULL;
        ts__ca_real_is(i, &found);
        if (ts__ca_real[i]) set->spare[runtime] = ts__ca_real[i];
    }
    ts__ca_real_is(TS__CA_cuptiSubscribe, &u->call.subscribe);
    ts__ca_real_is(TS__CA_cuptiSubscribe_v2, &u->call.subscribe2);
    ts__ca_real_is(TS__CA_cuptiActivityRegisterCallbacks, &u->call.callbacks);
    memcpy(&set->spare[2], &u->call.version, sizeof set->spare[2]);
}

// Replaces functions `first` to `end` - 1 in the files that are loaded now.
// by_name: replaces the lookup functions too. Returns false if no CUDA library
// is loaded that a file could call.
static bool ts__ca_put(const ts__cu *u, uint32_t first, uint32_t end,
                       bool by_name)
{
    static const ts__patch look = { "dlsym", (void (*)(void))ts__ca_dlsym };
    ts__patch there[TS__CA_COUNT];
    void *real[TS__CA_COUNT];
    ts__patch_set set = { "cu", there, real, 0, { NULL } };
    ts__ca_find(u, &set);
    for (uint32_t i = 0; i < TS__CA_COUNT; i++)
        if (ts__ca_real[i] &&
            ((i >= first && i < end) ||
             (by_name && i >= TS__CA_LOOKUPS_AT && i < TS__CA_REQUESTS_AT))) {
            real[set.count] = ts__ca_real[i];
            there[set.count++] = ts__ca_own[i];
        }
    ts__patch_files(&set);
    if (by_name) {
        set.prefix = look.name;
        set.patches = &look;
        set.real = NULL;
        set.count = 1;
        // Calls to dlsym from our own file are not replaced. If a program takes
        // the address of dlsym, ts__ca_dlsym_real may itself lead to the
        // replacement, which would recurse.
        memcpy(&set.spare[3], &look.own, sizeof look.own);
        memcpy(&set.spare[4], &ts__ca_dlsym_real, sizeof ts__ca_dlsym_real);
        ts__patch_files(&set);
    }
    return set.spare[0] || set.spare[1];
}

// Returns false if no function of CUDA can be called.
static bool ts__ca_calls(const ts__cu *u)
{
    return ts__ca_put(u, 0, TS__CA_LOOKUPS_AT, true);
}

// Replaces functions in files loaded since the last call. Until then their
// calls are not seen.
static void ts__cu_look(ts__cu *u)
{
    if (u != ts__ca_engine) return;
    const uint64_t loaded = ts__patch_loaded();
    if (loaded == u->loaded) return;
    u->loaded = loaded;
    if (TS__LOAD(&u->standalone))
        ts__ca_calls(u);
    else
        ts__ca_put(u, TS__CA_REQUESTS_AT, TS__CA_COUNT,
                   ts__cu_desc.yield != NULL);
}

// From now on calls are recorded without CUPTI.
static void ts__cu_go_standalone(ts__cu *u)
{
    // release: the table of real functions; pairs with the acquire in
    // ts__ca_begin
    __atomic_store_n(&u->standalone, 1, __ATOMIC_RELEASE);
    // Forces a new search, because a file may have been loaded meanwhile.
    u->loaded = 0;
}

#endif // TS__CUPTI_OTHER_PROFILER_H
