// Captures of CUDA: managed memory, which the host writes unseen.
#define _GNU_SOURCE
#include "tests/backends/cuda/cuda_graph_fixture.h"

static int (*cuModuleGetGlobal_v2)(uint64_t *, size_t *, void *, const char *);

static int start_managed(void **user)
{
    if (start_graphs(user)) return -1;
    void *const symbol = cu_symbol(RTLD_DEFAULT, "cuModuleGetGlobal_v2");
    memcpy(&cuModuleGetGlobal_v2, &symbol, sizeof symbol);
    return 0;
}

static void host_writes(uint64_t address, uint32_t value)
{
    *(uint32_t *)(uintptr_t)address = value;
}

// What operation `index` found at the beginning of its memory, and left.
static void changed(size_t index, uint32_t before, uint32_t after)
{
    const ts_capture c = capture_at(index);
    assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
    assert_int_equal(first_of(c.regions[0].before), before);
    assert_int_equal(first_of(c.regions[0].after), after);
    assert_int_not_equal(c.regions[0].device, 0);
}

UNIT_TEST(managed_memory_is_looked_at_each_time)
{
    uint64_t unseen;
    ok(cuMemAllocManaged(&unseen, BYTES, 1));
    begin();
    ok(cuMemAllocManaged(&others, BYTES, 1));
    host_writes(others, 40);
    ok(launch(add, others, 2));
    host_writes(others, 50);
    ok(launch(add, others, 3));
    host_writes(unseen, 60);
    ok(launch(add, unseen, 4));
    host_writes(unseen, 70);
    ok(launch(add, unseen, 5));
    ok(cuMemFree_v2(others));
    end();
    changed(0, 40, 42);
    changed(1, 50, 53);
    changed(2, 60, 64);
    changed(3, 70, 75);
    runs_the_same(4, 1, 2);
    rt_close(&trace);
    ok(cuMemFree_v2(unseen));
}

UNIT_TEST(so_are_variables_that_the_host_can_write)
{
    void *function;
    uint64_t bias;
    size_t size;
    begin();
    ok(cuModuleGetFunction(&function, module, "shared"));
    ok(cuModuleGetGlobal_v2(&bias, &size, module, "shared_bias"));
    ok(cuMemsetD32Async(numbers, 1, COUNT, stream));
    host_writes(bias, 10);
    ok(launch(function, numbers, 0));
    host_writes(bias, 20);
    ok(launch(function, numbers, 0));
    end();
    changed(1, 1, 11);
    changed(2, 11, 31);
    runs_the_same(3, 2, 2);
    rt_close(&trace);
}

int main(void)
{
    return unit_run(start_managed, finish);
}
