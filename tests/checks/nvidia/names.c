/*
    names.c - the names of all functions that NVIDIA's own CUPTI can tell of,
    through the rules of the backend

    names LIBCUPTI: prints what is missed. A launch has to be one, and a copy or
    a set to be recorded, with its addresses where its arguments are some. It
    needs no driver.
*/
#define _GNU_SOURCE
#define TRACESMITH_IMPLEMENTATION
#define TRACESMITH_CUPTI_IMPLEMENTATION
#include "backends/ts_cupti.h"

static int (*name_of)(uint32_t domain, uint32_t id, const char **name);
static unsigned reported[3], launches, moved, wrong;

static bool begins(const char *name, const char *with)
{
    return !strncmp(name, with, strlen(with));
}

// Launches of one kernel; those of CUDA 9 and before give their arguments in
// other calls.
static bool is_launch(const char *bare)
{
    return begins(bare, "LaunchKernel") ||
           (begins(bare, "LaunchCooperativeKernel") &&
            !begins(bare, "LaunchCooperativeKernelMultiDevice"));
}

static bool is_move(const char *bare)
{
    return begins(bare, "Memcpy") || begins(bare, "Memset");
}

// Functions of the driver whose first argument is an address of 64 bits.
static bool has_address(const char *bare)
{
    static const char *const all[] = { "MemcpyHtoD_v2",      "MemcpyDtoH_v2",
                                       "MemcpyDtoD_v2",      "MemcpyPeer",
                                       "MemcpyHtoDAsync_v2", "MemcpyAsync",
                                       "MemcpyDtoHAsync_v2", "MemsetD8_v2",
                                       "MemsetD32Async",     "MemsetD2D16_v2" };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (begins(bare, all[i])) return true;
    return false;
}

static void complain(const char *what, const char *name, unsigned rule)
{
    printf("%s: %s has rule %u\n", what, name, rule);
    wrong++;
}

static void judge(uint32_t domain, const char *name)
{
    const bool runtime = domain == TS__CU_RUNTIME;
    const char *bare = begins(name, "__") ? name + 2 : name;
    bare += begins(bare, runtime ? "cuda" : "cu") ? (runtime ? 4 : 2) : 0;
    const unsigned rule =
        ts__cu_rule_of(runtime ? ts__cu_runtime_rules : ts__cu_driver_rules,
                       name, runtime ? "cuda" : "cu");
    launches += is_launch(bare);
    moved += is_move(bare);
    if (is_launch(bare) != (rule == TS__CU_LAUNCH))
        complain("launch", name, rule);
    if (is_move(bare) && rule == TS__CU_QUIET) complain("missed", name, rule);
    if (!is_move(bare) && ts__cu_is_move((uint8_t)rule))
        complain("no copy and no set", name, rule);
    if (!runtime && has_address(bare) && rule < TS__CU_MOVES)
        complain("without its addresses", name, rule);
    if (!runtime && is_move(bare) && !ts__cs_rule_of(name))
        complain("captures miss", name, rule);
    if (begins(name, "__") && !is_launch(bare) && rule != TS__CU_QUIET)
        complain("of compilers", name, rule);
}

int main(int argc, char **argv)
{
    void *const library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void *const symbol =
        library ? dlsym(library, "cuptiGetCallbackName") : NULL;
    if (!symbol) {
        printf("%s\n", dlerror());
        return 1;
    }
    memcpy(&name_of, &symbol, sizeof name_of);
    for (uint32_t domain = TS__CU_DRIVER; domain <= TS__CU_RUNTIME; domain++)
        for (uint32_t id = 1; id < 4 * TS__CU_IDS; id++) {
            const char *name = NULL;
            if (name_of(domain, id, &name) != 0 || !name) continue;
            reported[domain]++;
            judge(domain, name);
            if (id >= TS__CU_IDS) complain("beyond what is kept", name, id);
        }
    printf("%u functions of the driver, %u of the runtime: %u launches, %u "
           "copies and sets; %u wrong\n",
           reported[TS__CU_DRIVER], reported[TS__CU_RUNTIME], launches, moved,
           wrong);
    return wrong || reported[TS__CU_DRIVER] < 500 ||
           reported[TS__CU_RUNTIME] < 300;
}
