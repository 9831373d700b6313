// Whether what the reader of arguments says is what HIP's headers say, and
// what is known of the sizes of its data. See abi.cpp.
#define TRACESMITH_IMPLEMENTATION
#define TRACESMITH_HIP
#include "tracesmith.h"

#include "backends/ts_hip.h"

size_t abi_size(void);
int abi_functions(void);
bool abi_fill(const char *name, void *data);

static int failures;

static void same(const char *function, const char *what, uint64_t is,
                 uint64_t wanted)
{
    if (is == wanted) return;
    printf("%s: %s is 0x%llx, not 0x%llx\n", function, what,
           (unsigned long long)is, (unsigned long long)wanted);
    failures++;
}

static void check(const ts__hip_function *f, const void *data)
{
    ts__hip_args a;
    ts__hip_plan plan;
    ts__hip_plan_make(&plan, f, true);
    ts__hip_args_read(&a, f, &plan, (const char *)data + 16);
    for (uint32_t i = 0; i < 3 && strpbrk(f->shape, "gw"); i++) {
        same(f->name, "grid", a.grid[i], i + 1);
        same(f->name, "block", a.block[i], i + 4);
        same(f->name, "LDS", a.shared, 7);
    }
    if (strchr(f->shape, 's')) same(f->name, "stream", a.stream, 0x70);
    if (strchr(f->shape, 'e')) same(f->name, "event", a.event, 0x80);
    if (strchr(f->shape, 'p')) same(f->name, "graph", a.graph, 0xC0);
    if (strchr(f->shape, 'd')) same(f->name, "to", a.destination, 0x90);
    if (strchr(f->shape, 'r')) same(f->name, "from", a.source, 0xA0);
    if (strchr(f->shape, 'n')) same(f->name, "size", a.size, 0xB0);
    if (strchr(f->shape, 'k')) same(f->name, "kind", a.copy, 2);
    if (strpbrk(f->shape, "vch")) same(f->name, "value", a.value, 9);
    if (strpbrk(f->shape, "aA"))
        same(f->name, "result", (uintptr_t)a.result, 0xA0);
    if (strchr(f->shape, 'l')) same(f->name, "flags", a.flags, 1);
    if (strchr(f->shape, 'y'))
        same(f->name, "priority", (uint32_t)a.priority, (uint32_t)-2);
}

int main(void)
{
    static uint64_t data[1024];
    int checked = 0;
    const size_t count = sizeof ts__hip_functions / sizeof *ts__hip_functions;
    for (size_t i = 0; i < count; i++)
        if (abi_size() <= sizeof data &&
            abi_fill(ts__hip_functions[i].name, data)) {
            check(&ts__hip_functions[i], data);
            checked++;
        }
    if (abi_size() > TS__HOOK_DATA) puts("no room for data of calls");
    failures += abi_size() > TS__HOOK_DATA;
    for (size_t i = 0; i < sizeof ts__hook_sizes / sizeof *ts__hook_sizes; i++)
        if (ts__hook_sizes[i].functions == abi_functions())
            same("hip_api_data_t", "its size", ts__hook_sizes[i].size,
                 abi_size());
    printf("%d functions of %zu checked, %d wrong\n", checked, count, failures);
    return failures || checked < 40;
}
