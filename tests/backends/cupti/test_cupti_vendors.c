// The engine of the CUPTI backend with other vendors' libraries: that of MetaX
// has the same interface with other layouts.
#define TRACESMITH_CUPTI_IMPLEMENTATION // the test looks inside
#include "tests/backends/cupti/cupti_fixture.h"

UNIT_TEST(metax_is_cupti_by_another_table)
{
    const char *const path = rt_start("mcpti.sbt", cu_plain);
    {
        TS_ZONE("host");
        CU_LAUNCH(.name = "k", .stream = 1, .grid = 3, .ns = 2000);
        CU_RUN(.what = DOUBLE_COPY, .bytes = 77, .ns = 100);
        CU_RUN(.what = DOUBLE_SET, .bytes = 7, .ns = 100);
        CU_RUN(.what = DOUBLE_STREAM_SYNC, .stream = 1, .ns = 100);
        CU_RUN(.what = DOUBLE_MALLOC, .bytes = 7);
        rt_sleep_ms(1);
    }
    rt_trace trace = cu_end(path);
    const rt_row *const zone = rt_only(&trace, TS_EVENT_ZONE, "host");
    const rt_row *const kernel = rt_only(&trace, TS_EVENT_KERNEL, "k");
    assert_string_equal(cu_text(&trace, "backend.mcpti"), "on");
    assert_int_equal(cu_fact(&trace, "mcpti.version"), 12);
    assert_int_equal(kernel->duration_ns, 2000);
    assert_int_equal(kernel->values[TS_COLUMN_SITE],
                     zone->values[TS_COLUMN_SITE]);
    // Its clock is sampled: a time is as good as the samples.
    CU_ASSERT_SAYS(&trace, "mcpti.clock", "sampled");
    assert_true(kernel->start_ns >= zone->start_ns - 20000);
    assert_true(kernel->start_ns <= zone->start_ns + zone->duration_ns);
    assert_int_equal(rt_rows(&trace, TS_EVENT_MEMCPY, NULL), 1);
    assert_int_equal(rt_rows(&trace, TS_EVENT_MEMSET, NULL), 1);
    assert_int_equal(rt_rows(&trace, TS_EVENT_STREAM_SYNC, NULL), 1);
    // Functions that its table lacks are not called.
    assert_int_equal(rt_rows(&trace, TS_EVENT_GPU_ALLOC, NULL), 0);
    ts_track stream, context, device;
    assert_true(ts_reader_track(trace.reader, kernel->track, &stream));
    assert_true(ts_reader_track(trace.reader, stream.parent, &context));
    assert_true(ts_reader_track(trace.reader, context.parent, &device));
    rt_assert_text(device.name, "MCPTI device 0");
    cu_assert_nothing_lost(&trace);
    rt_close(&trace);
}

UNIT_TEST(a_metax_library_of_another_layout_is_refused)
{
    const char *const path = rt_start("layout.sbt", cu_plain);
    cu_set("wrong_layout", 1);
    CU_LAUNCH(.ns = 10, .repeat = 40);
    rt_trace trace = cu_end(path);
    cu_set("wrong_layout", 0);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, NULL), 0);
    CU_ASSERT_SAYS(&trace, "backend.mcpti", "libmcpti.so 12");
    CU_ASSERT_SAYS(&trace, "backend.mcpti", "unexpected layout");
    rt_close(&trace);
}

// Of the default stream, of a thread's own, and of any version.
UNIT_TEST(variants_of_a_function_count_as_one)
{
    static const char *const names[] = { "cudaMemcpy_v3020",
                                         "cudaMemcpy_ptds_v7000",
                                         "cudaMemcpyAsync_v3020",
                                         "cudaMemcpyAsync_ptsz_v7000" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(ts__cu_rule_of(ts__cu_runtime_rules, names[i], "cuda"),
                         TS__CU_MOVES);
    assert_int_equal(ts__cu_rule_of(ts__cu_driver_rules, "cuMemcpy_ptds", "cu"),
                     TS__CU_MOVES);
    assert_int_equal(ts__cu_name_size("cudaMemset_ptds_v7000"), 10);
    assert_int_equal(ts__cu_name_size("cuMemcpyHtoD_v2_ptds"), 12);
}

static uint8_t rule_of(const char *name)
{
    return name[0] == '_' || name[2] == 'd'
               ? ts__cu_rule_of(ts__cu_runtime_rules, name, "cuda")
               : ts__cu_rule_of(ts__cu_driver_rules, name, "cu");
}

// Compilers of CUDA 13 put other functions into programs.
UNIT_TEST(what_compilers_call_is_a_launch)
{
    assert_int_equal(rule_of("__cudaLaunchKernel_v13000"), TS__CU_LAUNCH);
    assert_int_equal(rule_of("__cudaLaunchKernel_ptsz_v13000"), TS__CU_LAUNCH);
    assert_int_equal(rule_of("__cudaPushCallConfiguration_v13000"),
                     TS__CU_QUIET);
    assert_int_equal(rule_of("__cudaRegisterFunction_v13000"), TS__CU_QUIET);
    assert_int_equal(ts__cu_name_size("__cudaLaunchKernel_ptsz_v13000"), 18);
}

// Whose arguments begin with addresses; those with one of 32 bits do not.
UNIT_TEST(where_addresses_are_is_known)
{
    static const struct {
        const char *name;
        uint8_t rule;
    } all[] = { { "cuMemcpyHtoD_v2", TS__CU_MOVES },
                { "cuMemcpyHtoD_v2_ptds", TS__CU_MOVES },
                { "cuMemcpyDtoHAsync_v2_ptsz", TS__CU_MOVES },
                { "cuMemcpyDtoD_v2", TS__CU_MOVES },
                { "cuMemcpyHtoD", TS__CU_CALL },
                { "cuMemcpyDtoA_v2", TS__CU_CALL },
                { "cuMemcpyPeerAsync", TS__CU_MOVES_3 },
                { "cuMemcpyPeer_ptds", TS__CU_MOVES_3 },
                { "cuMemsetD8_v2", TS__CU_FILLS },
                { "cuMemsetD2D32Async_ptsz", TS__CU_FILLS },
                { "cuMemsetD32", TS__CU_CALL },
                { "cudaMemcpy2DAsync_ptsz_v7000", TS__CU_MOVES_3 },
                { "cudaMemcpyPeer_v4000", TS__CU_MOVES_3 },
                { "cudaMemset2D_v3020", TS__CU_FILLS },
                { "cudaMemcpyToSymbol_v3020", TS__CU_CALL } };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (rule_of(all[i].name) != all[i].rule)
            fail_msg("%s has rule %u", all[i].name, rule_of(all[i].name));
}

UNIT_TEST(without_the_library_its_name_is_said)
{
    static const char *const none[] = { NULL };
    ts__cu_table nowhere = ts__mcpti_table;
    char why[192] = "on";
    nowhere.library = "libnowhere.so";
    nowhere.names = none;
    ts__cu engine = { .table = &nowhere };
    assert_false(ts__cu_library(&engine, why, sizeof why));
    assert_string_equal(why, "libnowhere.so was not found");
}

int main(void)
{
    cu_load("libmcpti.so");
    ts_backend_add(&ts_mcpti_backend);
    return unit_run(NULL, NULL);
}
