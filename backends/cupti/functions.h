/*
    cupti/functions.h - which functions of the runtime and the driver are
    recorded

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__CUPTI_FUNCTIONS_H
#define TS__CUPTI_FUNCTIONS_H

#include "../gpu/functions.h"
#include "vendors.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { // what is recorded for a function
    TS__CU_QUIET = 0,
    TS__CU_CALL = 1,   // the call
    TS__CU_LAUNCH = 2, // the call, which launches one kernel
    // The call; its first arguments are destination and source.
    TS__CU_MOVES = 3,
    TS__CU_FILLS = 4, // the call; its first argument is the destination
    // The call; its first argument is the destination, its third the source.
    TS__CU_MOVES_3 = 5,
    TS__CU_WAITS = 6 // the call, which waits for a device
};

typedef struct ts__cu_rule {
    // Without the domain's prefix; a trailing * matches any suffix.
    const char *name;
    uint8_t rule;
} ts__cu_rule;

// All functions of the runtime are recorded except for plain queries, which
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
    { "GetDeviceProperties*", TS__CU_CALL }, // slow, so it is recorded
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

// The runtime calls the driver all the time, so only driver functions that
// programs use directly to start work or wait for it are recorded. The
// positions of addresses among their arguments are in ts__cs_rules.
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
    // Between these, launches become nodes of a graph.
    { "StreamBeginCapture*", TS__CU_CALL },
    { "StreamEndCapture", TS__CU_CALL },
    { "EventRecord*", TS__CU_CALL },
    { "EventSynchronize", TS__CU_CALL },
    { "CtxRecordEvent", TS__CU_CALL },
    { "CtxSynchronize", TS__CU_CALL },
    { "CtxWaitEvent", TS__CU_CALL },
    { "ModuleLoad*", TS__CU_CALL },
    { "LibraryLoad*", TS__CU_CALL },
    { "*", TS__CU_QUIET },
};

// CUPTI lists functions as "cudaLaunchKernel_ptsz_v7000" or "cuMemcpy_ptds".
// Returns the size of the name without version and stream suffix.
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

// Returns the rule of a driver function whose name needs its version: functions
// with addresses (those from before CUDA 3.2 took 32-bit addresses and are
// excluded) and the wait of CUDA 13. 0: none of them.
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

// Returns the rule of a function by its name. Functions that start with "__"
// are called by code that compilers generate, such as __cudaLaunchKernel of
// CUDA 13; only launches among them are recorded.
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
    for (;; rules++) { // the last rule matches every name
        const size_t own = strlen(rules->name);
        const bool any = rules->name[own - 1] == '*';
        if (!strncmp(name + skip, rules->name, own - any) &&
            (any || size - skip == own))
            return inner && rules->rule != TS__CU_LAUNCH ? TS__CU_QUIET
                                                         : rules->rule;
    }
}

// Enables the functions of the rules. Returns false if the library does not
// return their names.
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

#endif // TS__CUPTI_FUNCTIONS_H
