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

// Of the runtime every function is recorded but mere queries, which
// frameworks call more often than all others in sum.
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
// use directly to start work or to wait for it. Where copies and memsets have
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

// Functions of CUDA's driver that a name without its version does not
// determine: what their addresses are (those before CUDA 3.2 took 32 bits for
// one, and are none of these), and what CUDA 13 waits by. 0: none of them.
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

// Enables the functions of the rules. False: the library does not name them.
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
