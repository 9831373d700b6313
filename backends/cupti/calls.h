/*
    cupti/calls.h - calls of the runtime and the driver; private to
                       ts_cupti.h

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    WHAT IT DOES
        The vendor calls us when a function begins and when it returns, on the
        thread that called it. So the call is recorded there and then, on
        clock 0, and who made it is kept for the operations that it launches.

    WHAT IT DOES NOT DO
        It asks for no records of calls and gives no external identifiers.
        With both, a launch costs a push, a pop and two records in the
        vendor's buffers, on top of a call of ours that takes the stack; they
        would come late, be lost in a crash, and tell no more.

    CONTENTS                            search for "==== 2." to jump
        1. Which functions
        2. Who called
        3. Calls
        4. Graphs, modules, errors
*/
#include "tracesmith.h"

#if defined(TS__CUPTI_IMPLEMENTED) && !defined(TS_CUPTI_CALLS_H)
#define TS_CUPTI_CALLS_H

/* ==== 1. Which functions ================================================= */

enum { // domains of callbacks
    TS__CU_DRIVER = 1,
    TS__CU_RUNTIME = 2,
    TS__CU_RESOURCE = 3,
    TS__CU_STATE = 6
};

enum { // rules
    TS__CU_QUIET = 0,
    TS__CU_CALL = 1,    // is recorded
    TS__CU_LAUNCH = 2,  // and makes one kernel
    TS__CU_MOVES = 3,   // and its first arguments are where to, where from
    TS__CU_FILLS = 4,   // and its first argument is where to
    TS__CU_MOVES_3 = 5, // and its first is where to, its third where from
    TS__CU_WAITS = 6    // for a device
};

typedef struct ts__cu_rule {
    const char *name; // without the prefix of the domain; ends with * for any
    uint8_t rule;
} ts__cu_rule;

// Of the runtime every function is recorded but those that only ask, which
// frameworks call more often than all others together.
static const ts__cu_rule ts__cu_runtime_rules[] = {
    { "LaunchKernel*", TS__CU_LAUNCH },
    { "LaunchCooperativeKernel", TS__CU_LAUNCH },
    { "Memcpy", TS__CU_MOVES },
    { "MemcpyAsync", TS__CU_MOVES },
    { "Memcpy2D", TS__CU_MOVES_3 },
    { "Memcpy2DAsync", TS__CU_MOVES_3 },
    { "MemcpyPeer", TS__CU_MOVES_3 },
    { "MemcpyPeerAsync", TS__CU_MOVES_3 },
    { "Memset", TS__CU_FILLS },
    { "MemsetAsync", TS__CU_FILLS },
    { "Memset2D", TS__CU_FILLS },
    { "Memset2DAsync", TS__CU_FILLS },
    { "DeviceSynchronize", TS__CU_WAITS },
    { "GetDeviceProperties*", TS__CU_CALL }, // takes long
    { "Get*", TS__CU_QUIET },
    { "DriverGetVersion", TS__CU_QUIET },
    { "RuntimeGetVersion", TS__CU_QUIET },
    { "PeekAtLastError", TS__CU_QUIET },
    { "SetDevice", TS__CU_QUIET },
    { "DeviceGet*", TS__CU_QUIET },
    { "DeviceCanAccessPeer", TS__CU_QUIET },
    { "FuncGet*", TS__CU_QUIET },
    { "Occupancy*", TS__CU_QUIET },
    { "PointerGetAttributes", TS__CU_QUIET },
    { "StreamIsCapturing", TS__CU_QUIET },
    { "StreamGet*", TS__CU_QUIET },
    { "StreamQuery", TS__CU_QUIET },
    { "ThreadExchangeStreamCaptureMode", TS__CU_QUIET },
    { "EventCreate*", TS__CU_QUIET },
    { "EventDestroy", TS__CU_QUIET },
    { "EventQuery", TS__CU_QUIET },
    { "EventElapsedTime*", TS__CU_QUIET },
    { "*", TS__CU_CALL },
};

// Of the driver, which the runtime calls all the time, only what programs
// use directly to start work or to wait for it. Where copies and sets have
// their addresses captures know: ts__cs_rules.
static const ts__cu_rule ts__cu_driver_rules[] = {
    { "LaunchKernel*", TS__CU_LAUNCH },
    { "LaunchCooperativeKernel", TS__CU_LAUNCH },
    { "Launch*", TS__CU_CALL },
    { "GraphLaunch", TS__CU_CALL },
    { "GraphInstantiate*", TS__CU_CALL },
    { "Memcpy*", TS__CU_CALL },
    { "Memset*", TS__CU_CALL },
    { "MemAlloc*", TS__CU_CALL },
    { "MemFree*", TS__CU_CALL },
    { "StreamSynchronize", TS__CU_CALL },
    { "StreamWaitEvent", TS__CU_CALL },
    { "EventRecord*", TS__CU_CALL },
    { "EventSynchronize", TS__CU_CALL },
    { "CtxSynchronize", TS__CU_CALL },
    { "ModuleLoad*", TS__CU_CALL },
    { "LibraryLoad*", TS__CU_CALL },
    { "*", TS__CU_QUIET },
};

// Functions are listed as "cudaLaunchKernel_ptsz_v7000", or "cuMemcpy_ptds":
// whose variants count as one.
static size_t ts__cu_name_size(const char *name)
{
    const char *const variant = strstr(name, "_v");
    const char *const stream = strstr(name, "_pt");
    size_t size = strlen(name);
    if (variant && variant[2] >= '0' && variant[2] <= '9')
        size = (size_t)(variant - name);
    if (stream && (size_t)(stream - name) < size)
        size = (size_t)(stream - name);
    return size;
}

// Functions of CUDA's driver that a name without its version does not tell:
// what their addresses are (those before CUDA 3.2 took 32 bits for one, and are
// none of these), and what CUDA 13 waits by. 0: none of them.
static uint8_t ts__cu_driver_moves(const char *name)
{
    if (!strcmp(name, "cuCtxSynchronize_v2")) return TS__CU_WAITS;
    const uint8_t known = ts__cs_rule_of(name);
    switch (known ? ts__cs_rules[known - 1].kind : TS__CS_NONE) {
    case TS__CS_COPY: return TS__CU_MOVES;
    case TS__CS_COPY_PEER: return TS__CU_MOVES_3;
    case TS__CS_SET:
    case TS__CS_SET_ROWS: return TS__CU_FILLS;
    default: return TS__CU_QUIET;
    }
}

// What compilers put into programs begins with __, as __cudaLaunchKernel of
// CUDA 13: of that only launches matter.
static uint8_t ts__cu_rule_of(const ts__cu_rule *rules, const char *name,
                              const char *prefix)
{
    const bool inner = !strncmp(name, "__", 2);
    const size_t skip = strlen(prefix) + (inner ? 2 : 0);
    const size_t size = ts__cu_name_size(name);
    if (strncmp(name + (inner ? 2 : 0), prefix, strlen(prefix)) != 0 ||
        size <= skip)
        return TS__CU_QUIET;
    const uint8_t moves = rules == ts__cu_driver_rules && !strcmp(prefix, "cu")
                              ? ts__cu_driver_moves(name)
                              : TS__CU_QUIET;
    if (moves) return moves;
    for (;; rules++) { // the last one takes all
        const size_t own = strlen(rules->name);
        const bool any = rules->name[own - 1] == '*';
        if (!strncmp(name + skip, rules->name, own - any) &&
            (any || size - skip == own))
            return inner && rules->rule != TS__CU_LAUNCH ? TS__CU_QUIET
                                                         : rules->rule;
    }
}

// Turns on what the rules say. False: it does not tell the names.
static bool ts__cu_rules_set(ts__cu *u, uint32_t domain,
                             const ts__cu_rule *rules, const char *prefix)
{
    bool any = false;
    for (uint32_t id = 1; u->call.call_name && id < TS__CU_IDS; id++) {
        const char *name = NULL;
        if (u->call.call_name(domain, id, &name) != 0 || !name) continue;
        any = true;
        u->rules[domain][id] = ts__cu_rule_of(rules, name, prefix);
        if (u->rules[domain][id] == TS__CU_QUIET) continue;
        u->call.call_on(1, u->subscriber, domain, id);
    }
    return any;
}

/* ==== 2. Who called ====================================================== */

typedef struct ts__cu_call { // that the thread is in
    const ts__cu *engine;
    uint32_t session, domain, id, correlation;
    uint32_t known; // session in which the thread's track was noted
    uint32_t node;  // it made a node of a graph: nothing is launched
    uint8_t rule;
    ts_gpu_origin origin;
    uint64_t start;
} ts__cu_call;
static TS__TLS ts__cu_call ts__cu_here;

// Notes which track the calling thread has: records of overhead tell threads
// by their system's number only.
static void ts__cu_thread_note(ts__cu *u, uint32_t track)
{
    const uint32_t id = (uint32_t)syscall(SYS_gettid);
    for (uint32_t i = 0; i < TS__CU_THREADS; i++) {
        ts__cu_thread *const t = &u->memory->threads[(id + i) % TS__CU_THREADS];
        uint32_t seen = 0;
        // release: pairs with the acquire in ts__cu_thread_track
        if (__atomic_compare_exchange_n(&t->id, &seen, id, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
            seen == id) {
            __atomic_store_n(&t->track, track, __ATOMIC_RELEASE);
            return;
        }
    }
}

static uint32_t ts__cu_thread_track(ts__cu *u, uint32_t id)
{
    for (uint32_t i = 0; id && i < TS__CU_THREADS; i++) {
        ts__cu_thread *const t = &u->memory->threads[(id + i) % TS__CU_THREADS];
        const uint32_t seen = TS__LOAD(&t->id);
        if (seen == id) return __atomic_load_n(&t->track, __ATOMIC_ACQUIRE);
        if (!seen) break;
    }
    return 0;
}

// launch: a kernel is to come. A call that the runtime's makes in turn may have
// a number of its own, and so may the records of what it starts.
static inline void ts__cu_origin_put(ts__cu *u, uint32_t correlation,
                                     const ts__cu_call *call, bool launch)
{
    const uint32_t outer =
        correlation == call->correlation ? 0 : call->correlation;
    const ts__cu_origin o = { call->origin.thread | (uint64_t)call->origin.site
                                                        << 32,
                              call->origin.stack | (uint64_t)outer << 32,
                              call->start };
    ts__notes_put(&u->origins, correlation, &o, sizeof o, launch);
}

// reported: its kernel is, so it waits no longer. *correlation becomes that of
// the call that the program made.
static inline bool ts__cu_origin_get(ts__cu *u, uint64_t *correlation,
                                     bool reported, ts_gpu_origin *origin,
                                     uint64_t *tick)
{
    ts__cu_origin o;
    const bool known =
        ts__notes_get(&u->origins, *correlation, &o, sizeof o, reported);
    if (TS__UNLIKELY(!known)) memset(&o, 0, sizeof o);
    const uint32_t outer = (uint32_t)(o.stack_outer >> 32);
    if (TS__UNLIKELY(outer)) {
        *correlation = outer;
        if (reported) ts__notes_settle(&u->origins, outer, sizeof o);
    }
    origin->thread = (uint32_t)o.thread_site;
    origin->site = (uint32_t)(o.thread_site >> 32);
    origin->stack = (uint32_t)o.stack_outer;
    *tick = o.tick;
    return known;
}

static bool ts__cu_is_move(uint8_t rule)
{
    return rule >= TS__CU_MOVES && rule <= TS__CU_MOVES_3;
}

// Records do not tell addresses; arguments do.
static __attribute__((noinline)) void ts__cu_move_put(ts__cu *u,
                                                      uint32_t correlation,
                                                      const void *arguments,
                                                      uint8_t rule)
{
    ts__cu_move m = { 0, 0 };
    if (!arguments || !u->table->arguments) return;
    m.to = ts__read64(arguments, 0);
    if (rule == TS__CU_MOVES) m.from = ts__read64(arguments, 8);
    if (rule == TS__CU_MOVES_3) m.from = ts__read64(arguments, 16);
    ts__notes_put(&u->moves, correlation, &m, sizeof m, false);
}

static ts__cu_move ts__cu_move_get(const ts__cu *u, uint64_t correlation)
{
    ts__cu_move m;
    if (!ts__notes_get(&u->moves, correlation, &m, sizeof m, false))
        memset(&m, 0, sizeof m);
    return m;
}

/* ==== 3. Calls =========================================================== */

typedef struct ts__cu_call_data { // CUpti_CallbackData
    int32_t site;                 // 0 begins, 1 returns
    const char *name;
    const void *parameters;
    const int *result;
    const char *symbol;
    void *context;
    uint32_t context_id;
    uint64_t *user;
    uint32_t correlation;
} ts__cu_call_data;

static void ts__cu_call_begin(ts__cu *u, uint32_t domain, uint32_t id,
                              const ts__cu_call_data *data, uint32_t session)
{
    ts__cu_call *const c = &ts__cu_here;
    const bool within = c->engine == u && c->session == session &&
                        c->domain == TS__CU_RUNTIME && domain == TS__CU_DRIVER;
    const uint8_t rule = id < TS__CU_IDS ? u->rules[domain][id] : TS__CU_CALL;
    if (within) { // what the runtime's function does in the driver
        if (data->correlation != c->correlation)
            ts__cu_origin_put(u, data->correlation, c, false);
        if (ts__cu_is_move(rule) && !ts__cu_is_move(c->rule))
            ts__cu_move_put(u, c->correlation, data->parameters, rule);
        return;
    }
    c->engine = u;
    c->session = session;
    c->domain = domain;
    c->id = id;
    c->correlation = data->correlation;
    c->node = 0;
    c->rule = rule;
    c->start = ts_tick_now();
    c->origin = ts_gpu_origin_here();
    if (TS__UNLIKELY(c->known != session)) {
        c->known = session;
        ts__cu_thread_note(u, c->origin.thread);
    }
    if (TS__UNLIKELY(!TS__LOAD(&u->first_correlation)))
        TS__STORE(&u->first_correlation, c->correlation);
    if (TS__UNLIKELY(ts__cu_is_move(rule)))
        ts__cu_move_put(u, c->correlation, data->parameters, rule);
    // For a kernel that nobody wants none waits.
    ts__cu_origin_put(u, c->correlation, c,
                      rule == TS__CU_LAUNCH && ts_filter_kind(TS_EVENT_KERNEL));
}

static uint32_t ts__cu_function(ts__cu *u, uint32_t domain, uint32_t id,
                                const char *name)
{
    uint32_t code = id < TS__CU_IDS ? TS__CODE(&u->names[domain][id]) : 0;
    if (code || !name) return code;
    code = ts_name_define_sized(name, ts__cu_name_size(name));
    if (id < TS__CU_IDS)
        __atomic_store_n(&u->names[domain][id], code, __ATOMIC_RELEASE);
    return code;
}

static void ts__cu_call_end(ts__cu *u, uint32_t domain, uint32_t id,
                            const ts__cu_call_data *data, uint32_t session)
{
    ts__cu_call *const c = &ts__cu_here;
    if (c->engine != u || c->session != session || c->domain != domain ||
        c->id != id || c->correlation != data->correlation)
        return; // it began before the session, or lies within another
    c->engine = NULL;
    const int result = data->result ? *data->result : 0;
    const uint8_t rule = id < TS__CU_IDS ? u->rules[domain][id] : 0;
    if (rule == TS__CU_LAUNCH) {
        if (!result && c->node)
            __atomic_fetch_add(&u->into_graphs, 1, __ATOMIC_RELAXED);
        if (result || c->node)
            ts__notes_settle(&u->origins, c->correlation,
                             sizeof(ts__cu_origin));
        else
            __atomic_fetch_add(&u->launches, 1, __ATOMIC_RELAXED);
    }
    if (rule == TS__CU_WAITS && !result)
        __atomic_fetch_add(&u->device_waits, 1, __ATOMIC_RELAXED);
    if (!ts_filter_kind(TS_EVENT_API_CALL)) return;
    const ts_api_call call = {
        .name = ts__cu_function(u, domain, id, data->name),
        .stack = c->origin.stack,
        .start = c->start,
        .end = ts_tick_now(),
        .correlation = c->correlation,
        .result = (uint64_t)(uint32_t)result,
    };
    ts_api_call_record(&call);
}

/* ==== 4. Graphs, modules, errors ========================================= */

typedef struct ts__cu_resource { // CUpti_ResourceData
    void *context, *handle, *more;
} ts__cu_resource;

typedef struct ts__cu_graph_data { // CUpti_GraphData, its beginning
    void *graph, *original_graph, *node, *original;
} ts__cu_graph_data;

typedef struct ts__cu_notice { // CUpti_StateData
    int32_t result;
    const char *text;
} ts__cu_notice;

enum { // identifiers of resources and states
    TS__CU_CONTEXT_LEFT = 2,
    TS__CU_MODULE_LOADED = 6,
    TS__CU_MODULE_UNLOADED = 7,
    TS__CU_NODE_CREATED = 13,
    TS__CU_NODE_CLONED = 20,
    TS__CU_FATAL_ERROR = 1
};

/*
    The entry of a node; with `make` a new one. NULL: none. Where there is no
    room the oldest of its neighbours makes some: numbers of nodes rise. Their
    ends are of no use, because records come later.
*/
static ts__cu_node *ts__cu_node_at(ts__cu *u, uint64_t id, bool make)
{
    const uint64_t hash = id * 0x9E3779B97F4A7C15u >> 32;
    ts__cu_node *oldest = NULL;
    uint64_t least = UINT64_MAX;
    for (uint64_t i = 0; id && i < 64; i++) {
        ts__cu_node *const n = &u->memory->nodes[(hash + i) % TS__CU_NODES];
        uint64_t seen = TS__LOAD(&n->id);
        if (seen == id) return n;
        if (!seen && !make) return NULL;
        if (seen && seen < least) {
            least = seen;
            oldest = n;
        }
        if (seen) continue;
        if (__atomic_compare_exchange_n(&n->id, &seen, id, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
            seen == id)
            return n;
    }
    if (!make || !oldest) return NULL;
    TS__STORE(&oldest->stack, 0);
    TS__STORE(&oldest->id, id); // of two threads the later one keeps its own
    return oldest;
}

// The stack of the node's creation, 0 if there is none.
static uint32_t ts__cu_node_stack(ts__cu *u, uint64_t id)
{
    const ts__cu_node *const n = ts__cu_node_at(u, id, false);
    return n ? (uint32_t)TS__LOAD(&n->stack) : 0;
}

// A graph that is made ready to run is a copy: its nodes were created where
// those of the first one were.
static void ts__cu_node_made(ts__cu *u, const ts__cu_resource *resource,
                             bool cloned)
{
    const ts__cu_graph_data *const data =
        (const ts__cu_graph_data *)resource->more;
    uint64_t id = 0, original = 0;
    ts__cu_here.node = 1;
    const ts_gpu_origin origin =
        ts__cu_here.engine == u ? ts__cu_here.origin : ts_gpu_origin_here();
    if (!u->call.node_id || !data || !origin.stack ||
        u->call.node_id(data->node, &id) != 0)
        return;
    uint32_t stack = cloned ? 0 : origin.stack;
    if (cloned && u->call.node_id(data->original, &original) == 0)
        stack = ts__cu_node_stack(u, original);
    ts__cu_node *const n = stack ? ts__cu_node_at(u, id, true) : NULL;
    if (n) TS__STORE(&n->stack, stack);
}

static void ts__cu_noticed(ts__cu *u, uint32_t id, const ts__cu_notice *notice)
{
    char text[sizeof u->error];
    snprintf(text, sizeof text, "%s: %.200s (%d)", u->table->product,
             notice->text ? notice->text : "no text", notice->result);
    ts_message(text);
    if (id != TS__CU_FATAL_ERROR || TS__LOAD(&u->fatal)) return;
    memcpy(u->error, text, sizeof text);
    // It is over: nothing of it is called again. release: the text; pairs with
    // the acquire in ts__cu_sum_up
    __atomic_store_n(&u->fatal, 1, __ATOMIC_RELEASE);
}

// Of captures: cupti/capture.h.
static void ts__cu_keep_call(ts__cu *u, uint32_t id,
                             const ts__cu_call_data *data);
static void ts__cu_keep_resource(uint32_t id, const ts__cu_resource *data);
static void ts__cu_keep_not(ts__cu *u);

// A call of our own, which nobody is to hear of: its tick is 0.
static void ts__cu_own_put(ts__cu *u, uint32_t correlation)
{
    const ts__cu_origin own = { 0, 0, 0 };
    ts__notes_put(&u->origins, correlation, &own, sizeof own, false);
}

// Of the driver's functions some matter to captures only.
static void ts__cu_told_call(ts__cu *u, uint32_t domain, uint32_t id,
                             const ts__cu_call_data *call, uint32_t session)
{
    const bool kept = domain == TS__CU_DRIVER && id < TS__CU_IDS && u->keep[id];
    const bool only = kept && u->rules[domain][id] == TS__CU_QUIET;
    if (ts__cs_mine) {
        if (call->site == 0) ts__cu_own_put(u, call->correlation);
        return;
    }
    if (kept && call->site) ts__cu_keep_call(u, id, call);
    if (call->site == 0 && !only)
        ts__cu_call_begin(u, domain, id, call, session);
    else if (!only)
        ts__cu_call_end(u, domain, id, call, session);
    if (kept && !call->site) ts__cu_keep_call(u, id, call);
}

static void ts__cu_callback(void *user, uint32_t domain, uint32_t id,
                            const void *data)
{
    ts__cu *const u = (ts__cu *)user;
    // acquire: pairs with the release in ts__cu_open
    const uint32_t session = __atomic_load_n(&u->on, __ATOMIC_ACQUIRE);
    if (!session || !data || TS__LOAD(&u->apart)) return;
    if (domain == TS__CU_RUNTIME || domain == TS__CU_DRIVER) {
        ts__cu_told_call(u, domain, id, (const ts__cu_call_data *)data,
                         session);
    } else if (domain == TS__CU_RESOURCE) {
        if (u->keeps) ts__cu_keep_resource(id, (const ts__cu_resource *)data);
        if (id == TS__CU_MODULE_UNLOADED)
            __atomic_fetch_add(&u->epoch, 1, __ATOMIC_RELAXED);
        else if (id == TS__CU_NODE_CREATED || id == TS__CU_NODE_CLONED)
            ts__cu_node_made(u, (const ts__cu_resource *)data,
                             id == TS__CU_NODE_CLONED);
    } else if (domain == TS__CU_STATE) {
        ts__cu_noticed(u, id, (const ts__cu_notice *)data);
    }
}

#endif // TS_CUPTI_CALLS_H
