/*
    test_import_rocprofv3.c - databases of rocprofv3 become traces
*/
#ifdef TRACESMITH_SQLITE
#include "tests/tools/import/import_sql.h"
#include "tools/import/import.h"

// The tables of a process, and who is who in it: process 7, thread 8, GPU 0.
#define TABLES(u) \
    "CREATE TABLE rocpd_string" u " (id INTEGER PRIMARY KEY, string TEXT);" \
    "INSERT INTO rocpd_string" u " VALUES (1, 'HIP_RUNTIME_API')," \
    "(2, 'hipLaunchKernel'), (3, 'MARKER_CORE_API'), (4, 'step')," \
    "(5, 'MEMORY_COPY_HOST_TO_DEVICE'), (6, 'hipMemcpyAsync');" \
    "CREATE TABLE rocpd_info_process" u " (id INTEGER, pid INTEGER, command " \
    "TEXT); INSERT INTO rocpd_info_process" u " VALUES (1, 7, 'app');" \
    "CREATE TABLE rocpd_info_thread" u " (id INTEGER, pid INTEGER, tid " \
    "INTEGER, name TEXT); INSERT INTO rocpd_info_thread" u \
    " VALUES (1, 1, 8, '');" \
    "CREATE TABLE rocpd_info_agent" u " (id INTEGER, type TEXT, type_index " \
    "INTEGER, product_name TEXT); INSERT INTO rocpd_info_agent" u \
    " VALUES (1, 'CPU', 0, 'EPYC'), (2, 'GPU', 0, 'MI300X')," \
    "(3, 'GPU', 1, 'MI300X');" \
    "CREATE TABLE rocpd_info_kernel_symbol" u " (id INTEGER, display_name " \
    "TEXT, arch_vgpr_count INTEGER); INSERT INTO rocpd_info_kernel_symbol" u \
    " VALUES (40, 'gemm', 32);" \
    "CREATE TABLE rocpd_event" u " (id INTEGER, category_id INTEGER, " \
    "stack_id INTEGER);" \
    "CREATE TABLE rocpd_region" u " (id INTEGER, tid INTEGER, start INTEGER, " \
    "end INTEGER, name_id INTEGER, event_id INTEGER);" \
    "CREATE TABLE rocpd_kernel_dispatch" u " (id INTEGER, agent_id INTEGER, " \
    "kernel_id INTEGER, queue_id INTEGER, stream_id INTEGER, start INTEGER, " \
    "end INTEGER, private_segment_size INTEGER, group_segment_size INTEGER, " \
    "workgroup_size_x INTEGER, workgroup_size_y INTEGER, workgroup_size_z " \
    "INTEGER, grid_size_x INTEGER, grid_size_y INTEGER, grid_size_z INTEGER, " \
    "event_id INTEGER);" \
    "CREATE TABLE rocpd_memory_copy" u " (id INTEGER, start INTEGER, end " \
    "INTEGER, name_id INTEGER, dst_agent_id INTEGER, dst_address INTEGER, " \
    "src_agent_id INTEGER, src_address INTEGER, size INTEGER, queue_id " \
    "INTEGER, stream_id INTEGER, event_id INTEGER);" \
    "CREATE TABLE rocpd_memory_allocate" u " (tid INTEGER, type TEXT, start " \
    "INTEGER, address INTEGER, size INTEGER, agent_id INTEGER);"
#define ONE              "_0000a1b2_3c4d_5e6f"
#define EVENTS(u, rows)  "INSERT INTO rocpd_event" u " VALUES " rows ";"
#define REGIONS(u, rows) "INSERT INTO rocpd_region" u " VALUES " rows ";"
#define KERNELS(u, rows) \
    "INSERT INTO rocpd_kernel_dispatch" u " VALUES " rows ";"

// 1,000 threads in blocks of 256 are four blocks.
static void kernels_come_with_launch_call_and_zone(void **state)
{
    (void)state;
    sql_expect(
        TABLES(ONE) EVENTS(ONE, "(1, 1, 500), (2, 3, 501), (3, 1, 500)")
            REGIONS(ONE, "(1, 1, 20, 30, 2, 1), (2, 1, 10, 90, 4, 2)")
                KERNELS(ONE, "(1, 2, 40, 9, 0, 40, 50, 8, 16, 256, 1, "
                             "1, 1000, 1, 1, 3)"),
        "10+80 zone on process 7 app/thread 8 site=step/MARKER_CORE_API\n"
        "20+10 api_call on process 7 app/thread 8 name=hipLaunchKernel "
        "correlation=500\n"
        "40+10 kernel on device 0 MI300X/stream 0 correlation=500 "
        "thread=process 7 app/thread 8 site=step/MARKER_CORE_API "
        "launch=gemm<<<4.1.1, 256.1.1>>> r32 s0+16 l8\n");
}

#define COPIES(u) \
    "INSERT INTO rocpd_memory_copy" u \
    " VALUES (1, 40, 50, 5, 2, 4096, 1, 8192, 64, 9, 3, 2)," \
    "(2, 60, 70, NULL, 3, 1, 2, 2, 32, 9, NULL, NULL);" \
    "INSERT INTO rocpd_memory_allocate" u \
    " VALUES (1, 'ALLOC', 5, 4096, 64, 2), (1, 'FREE', 80, 4096, 0, 2)," \
    "(1, 'REALLOC', 81, 4096, 0, 2);"

static void copies_and_allocations_arrive(void **state)
{
    (void)state;
    sql_expect(TABLES(ONE) EVENTS(ONE, "(1, 1, 500), (2, 1, 500)")
                   REGIONS(ONE, "(1, 1, 20, 30, 6, 1)") COPIES(ONE),
               "5+0 alloc on process 7 app/thread 8 address=4096 size=64 "
               "pool=gpu:0\n"
               "20+10 api_call on process 7 app/thread 8 name=hipMemcpyAsync "
               "correlation=500\n"
               "40+10 memcpy on device 0 MI300X/stream 3 correlation=500 "
               "thread=process 7 app/thread 8 type=1 size=64 source=8192 "
               "address=4096\n"
               "60+10 memcpy on device 1 MI300X/stream 9 type=5 size=32 "
               "source=2 address=1 peer=device 0 MI300X\n"
               "80+0 free on process 7 app/thread 8 address=4096 pool=gpu:0\n"
               "no place rocpd_memory_allocate: other kinds 1\n");
}

// Two processes number their calls alike; they are told apart.
static void processes_are_kept_separate(void **state)
{
    (void)state;
    sql_expect(TABLES("_a") TABLES("_b") EVENTS("_a", "(1, 1, 5)")
                   EVENTS("_b", "(1, 1, 5)")
                       REGIONS("_a", "(1, 1, 20, 30, 2, 1)")
                           REGIONS("_b", "(1, 1, 40, 50, 2, 1)"),
               "20+10 api_call on process 7 app/thread 8 name=hipLaunchKernel "
               "correlation=5\n"
               "40+10 api_call on process 7 app/thread 8 name=hipLaunchKernel "
               "correlation=281474976710661\n");
}

static void bad_rows_are_counted_by_cause(void **state)
{
    (void)state;
    sql_expect(
        TABLES(ONE) REGIONS(ONE, "(1, 1, 20, 10, 2, 1), (2, 9, 20, 30, 2, 1), "
                                 "(3, 1, 20, 30, 99, NULL)")
            KERNELS(ONE, "(1, 1, 40, 9, 0, 40, 50, 8, 16, 256, 1, "
                         "1, 1000, 1, 1, 3), (1, 2, 41, 9, 0, 40, "
                         "50, 8, 16, 0, 1, 1, 5, 1, 1, NULL)"),
        "20+10 zone on process 7 app/thread 8 site=\n"
        "40+10 kernel on device 0 MI300X/stream 0 launch=<<<5.1.1, 0.1.1>>> "
        "s0+16 l8\n"
        "bad reversed_time 1\n"
        "bad unknown_thread 1\n"
        "bad unknown_device 1\n"
        "flawed unknown_name 2\n");
}

static void other_schemas_are_refused(void **state)
{
    (void)state;
    imported i = import_into(
        sql_file("CREATE TABLE rocpd_region_a (id INTEGER, start_id INTEGER);"
                 "INSERT INTO rocpd_region_a VALUES (1, 2);"),
        fixture_path(1, "out.sbt"));
    assert_null(i.reader); // nothing came of it
    assert_int_equal(-1, access(fixture_path(1, "out.sbt"), F_OK));
    import_job_close(i.job);
    import_input_close(i.input);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_come_with_launch_call_and_zone),
        cmocka_unit_test(copies_and_allocations_arrive),
        cmocka_unit_test(processes_are_kept_separate),
        cmocka_unit_test(bad_rows_are_counted_by_cause),
        cmocka_unit_test(other_schemas_are_refused),
    };
    return cmocka_run_group_tests(tests, fixture_begin, fixture_end);
}
#else
#include "tests/tools/import/built_without.h"
BUILT_WITHOUT("SQLite")
#endif
