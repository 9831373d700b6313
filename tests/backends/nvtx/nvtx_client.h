/*
    nvtx_client.h - what NVTX compiles into a program, for tests of handlers

    Its two tables, as nvtxInit.h lays them out; CALL calls what a handler has
    put into a slot.
*/
#ifndef NVTX_CLIENT_H
#define NVTX_CLIENT_H

#include "backends/ts_nvtx.h"

enum { CORE = 1, CUDA, OPENCL, CUDART, CORE2, SYNC, MODULES };
enum { SLOTS = 16 };
static void (*slots[MODULES][SLOTS])(void);
static void (**tables[MODULES][SLOTS])(void);
static unsigned sizes[MODULES] = { 0, 16, 9, 15, 7, 16, 7 };
static uint32_t handler_version;
// How much of each table a client has; 0: not that table.
static size_t callbacks_size = 16, version_size = 24;

static int module_table(uint32_t module, void (****table)(void), unsigned *size)
{
    if (module >= MODULES) return 0;
    for (int i = 1; i < SLOTS; i++)
        tables[module][i] = &slots[module][i];
    *table = tables[module];
    *size = sizes[module];
    return 1;
}

static void set_version(uint32_t version)
{
    handler_version = version;
}

static const void *get_table(uint32_t number)
{
    static struct {
        size_t size;
        int (*table)(uint32_t, void (****)(void), unsigned *);
    } callbacks = { 0, module_table };
    static struct {
        size_t size;
        uint32_t version, reserved;
        void (*set)(uint32_t);
    } version = { 0, 3, 0, set_version };
    callbacks.size = callbacks_size;
    version.size = version_size;
    return number == 1 && callbacks_size ? (const void *)&callbacks
           : number == 3 && version_size ? (const void *)&version
                                         : NULL;
}

#define CALL(type, module, slot) ((type)slots[module][slot])
#define PUSH(text)               CALL(int (*)(const char *), CORE, 9)(text)
#define POP()                    CALL(int (*)(void), CORE, 11)()
#define DOMAIN(name)             CALL(void *(*)(const char *), CORE2, 12)(name)
#define DOMAIN_PUSH(domain, a) \
    CALL(int (*)(void *, const ts__nv_attributes *), CORE2, 4)(domain, a)
#define DOMAIN_POP(domain) CALL(int (*)(void *), CORE2, 5)(domain)

static inline ts__nv_attributes attributes(const char *text)
{
    return (ts__nv_attributes){ .version = 3,
                                .size = sizeof(ts__nv_attributes),
                                .message_type = TS__NV_ASCII,
                                .message.ascii = text };
}

#endif // NVTX_CLIENT_H
