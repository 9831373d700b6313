// Captures of CUDA: device variables that the host writes.
#define _GNU_SOURCE
#include "tests/backends/cuda/cuda_graph_fixture.h"

#define VARIABLE_CALLS(X) \
    X(cuModuleGetGlobal_v2, (uint64_t *, size_t *, void *, const char *)) \
    X(cuLibraryGetGlobal, (uint64_t *, size_t *, void *, const char *)) \
    X(cuLibraryUnload, (void *))
VARIABLE_CALLS(CU_DECLARE)

static int start_variables(void **user)
{
    if (start_graphs(user)) return -1;
    VARIABLE_CALLS(CU_FIND)
    return 0;
}

static void write_bias(uint64_t bias, uint32_t value)
{
    ok(cuMemcpyHtoD_v2(bias, &value, sizeof value));
}

static void launch_biased(void *function)
{
    uint32_t value = 1;
    void *arguments[] = { &others, &numbers, &value };
    ok(cuLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, stream, arguments,
                      NULL));
}

// Whether an operation reaches a variable.
static bool has_variable(size_t index)
{
    const ts_capture c = capture_at(index);
    bool has = false;
    assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
    for (uint32_t i = 0; i < c.head.region_count; i++)
        has |= c.regions[i].image != 0;
    return has;
}

// All of it in a row again: what a copy leaves there is what kernels find.
static void run_in_a_chain(size_t count)
{
    const ts_execution_desc desc = { .executor = &ts_cuda_executor,
                                     .chain = true };
    const size_t positions[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    ts_execution *e;
    char why[200];
    ok(ts_execution_open(&e, trace.reader, positions, count, &desc, why,
                         sizeof why));
    for (size_t i = 0; i < count; i++) {
        ts_execution_item item;
        ts_execution_run(e, i, &item);
        assert_string_equal(ts_reason_name(item.reason), "none");
        assert_int_equal(item.outcome, TS_OUTCOME_EXECUTED);
        assert_true(item.compared);
        assert_false(item.diverged);
        assert_int_equal(item.patched, 0);
    }
    ts_execution_close(e);
}

UNIT_TEST(a_copy_to_a_variable_is_one)
{
    uint64_t bias;
    size_t size;
    begin_graphs();
    ok(cuModuleGetGlobal_v2(&bias, &size, module, "bias"));
    write_bias(bias, 20); // before any kernel needs it
    launch_biased(biased);
    assert_int_equal(number_at(others), 31);
    write_bias(bias, 30);
    launch_biased(biased);
    assert_int_equal(number_at(others), 41);
    write_bias(bias, 3);
    end_graphs();
    assert_int_equal(ts_reader_capture_count(trace.reader), 5);
    for (size_t i = 0; i < 5; i++)
        assert_true(has_variable(i));
    run_in_a_chain(5);
    rt_close(&trace);
}

// Its code is loaded because the variable is asked for.
UNIT_TEST(so_is_one_to_a_variable_of_a_library)
{
    uint64_t bias;
    size_t size;
    void *library, *kernel;
    begin_graphs();
    ok(cuLibraryLoadData(&library, cubin, NULL, NULL, 0, NULL, NULL, 0));
    ok(cuLibraryGetKernel(&kernel, library, "biased"));
    ok(cuLibraryGetGlobal(&bias, &size, library, "bias"));
    write_bias(bias, 20);
    launch_biased(kernel);
    assert_int_equal(number_at(others), 31);
    ok(cuLibraryUnload(library));
    end_graphs();
    assert_true(has_variable(0));
    assert_true(has_variable(1));
    run_in_a_chain(2);
    rt_close(&trace);
}

int main(void)
{
    return unit_run(start_variables, finish);
}
