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
UNIT_TEST(kernels_come_with_launch_call_and_zone)
{
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

UNIT_TEST(copies_and_allocations_arrive)
{
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
UNIT_TEST(processes_are_kept_separate)
{
    sql_expect(TABLES("_a") TABLES("_b") EVENTS("_a", "(1, 1, 5)")
                   EVENTS("_b", "(1, 1, 5)")
                       REGIONS("_a", "(1, 1, 20, 30, 2, 1)")
                           REGIONS("_b", "(1, 1, 40, 50, 2, 1)"),
               "20+10 api_call on process 7 app/thread 8 name=hipLaunchKernel "
               "correlation=5\n"
               "40+10 api_call on process 7 app/thread 8 name=hipLaunchKernel "
               "correlation=281474976710661\n");
}

UNIT_TEST(bad_rows_are_counted_by_cause)
{
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

// Tables of schema 4, which share tracks and categories; `times`: how rows say
// when they were.
#define TABLES_4(u, times) \
    "CREATE TABLE rocpd_string" u " (id INTEGER PRIMARY KEY, string TEXT);" \
    "INSERT INTO rocpd_string" u " VALUES (1, 'hipLaunchKernel')," \
    "(5, 'MEMORY_COPY_HOST_TO_DEVICE');" \
    "CREATE TABLE rocpd_info_category" u " (id INTEGER, name TEXT);" \
    "INSERT INTO rocpd_info_category" u " VALUES (1, 'HIP_RUNTIME_API');" \
    "CREATE TABLE rocpd_info_process" u " (id INTEGER, pid INTEGER, command " \
    "TEXT); INSERT INTO rocpd_info_process" u " VALUES (7, 7, 'app');" \
    "CREATE TABLE rocpd_info_thread" u " (id INTEGER, pid INTEGER, tid " \
    "INTEGER); INSERT INTO rocpd_info_thread" u " VALUES (8, 7, 8);" \
    "CREATE TABLE rocpd_info_agent" u " (id INTEGER, type TEXT, type_index " \
    "INTEGER, product_name TEXT); INSERT INTO rocpd_info_agent" u \
    " VALUES (1, 'CPU', 0, 'EPYC'), (2, 'GPU', 0, 'MI300X')," \
    "(3, 'NIC', 0, 'Pollara');" \
    "CREATE TABLE rocpd_info_kernel_symbol" u " (id INTEGER, display_name " \
    "TEXT); INSERT INTO rocpd_info_kernel_symbol" u " VALUES (40, 'gemm');" \
    "CREATE TABLE rocpd_track" u " (id INTEGER, tid INTEGER, agent_id " \
    "INTEGER, queue_id INTEGER, stream_id INTEGER);" \
    "INSERT INTO rocpd_track" u " VALUES (1, 8, NULL, NULL, NULL)," \
    "(2, 8, 2, 9, 3);" \
    "CREATE TABLE rocpd_event" u " (id INTEGER, category_id INTEGER, " \
    "stack_id INTEGER); INSERT INTO rocpd_event" u " VALUES (1, 1, 500);" \
    "CREATE TABLE rocpd_region" u \
    " (track_id INTEGER, name_id INTEGER, " times ", event_id INTEGER);" \
    "CREATE TABLE rocpd_kernel_dispatch" u " (track_id INTEGER, kernel_id " \
    "INTEGER, " times ", event_id INTEGER, graph_exec_id INTEGER, " \
    "graph_node_id INTEGER);" \
    "CREATE TABLE rocpd_memory_copy" u \
    " (track_id INTEGER, name_id INTEGER, " times \
    ", dst_agent_id INTEGER, src_agent_id INTEGER, size INTEGER);" \
    "CREATE TABLE rocpd_memory_allocate" u \
    " (track_id INTEGER, type TEXT, " times \
    ", address INTEGER, size INTEGER);"
#define ROWS_4(u, region, kernel, copy, allocation) \
    "INSERT INTO rocpd_region" u " VALUES (1, 1, " region ", 1);" \
    "INSERT INTO rocpd_kernel_dispatch" u " VALUES (2, 40, " kernel \
    ", 1, 6, 77);" \
    "INSERT INTO rocpd_memory_copy" u " VALUES (2, 5, " copy ", 2, 1, 64);" \
    "INSERT INTO rocpd_memory_allocate" u " VALUES (2, 'ALLOC', " allocation \
    ", 4096, 64);"

// The times of 4.0: those of the rows below.
#define TIMES_4(u) \
    "CREATE TABLE rocpd_timestamp" u " (id INTEGER, value INTEGER);" \
    "INSERT INTO rocpd_timestamp" u " VALUES (1, 20), (2, 30), (3, 40)," \
    "(4, 50), (5, 60), (6, 70), (7, 5), (8, 6);"

UNIT_TEST(schema_4_has_tracks_categories_and_times_apart)
{
    static const char wanted[] =
        "5+0 alloc on process 7 app/thread 8 address=4096 size=64 pool=gpu:0\n"
        "20+10 api_call on process 7 app/thread 8 name=hipLaunchKernel "
        "correlation=500\n"
        "40+10 kernel on device 0 MI300X/stream 3 correlation=500 "
        "thread=process 7 app/thread 8 launch=gemm graph_node=77 graph=6\n"
        "60+10 memcpy on device 0 MI300X/stream 3 type=1 size=64\n";
    sql_expect(TABLES_4(ONE, "start INTEGER, end INTEGER")
                   ROWS_4(ONE, "20, 30", "40, 50", "60, 70", "5, 6"),
               wanted); // 4.1
    sql_expect(TIMES_4(ONE) TABLES_4(ONE, "start_id INTEGER, end_id INTEGER")
                   ROWS_4(ONE, "1, 2", "3, 4", "5, 6", "7, 8"),
               wanted); // 4.0
}

UNIT_TEST(other_schemas_are_refused)
{
    imported i = import_into(
        sql_file("CREATE TABLE rocpd_region_a (id INTEGER, begin INTEGER);"
                 "INSERT INTO rocpd_region_a VALUES (1, 2);"),
        fixture_path(1, "out.sbt"));
    assert_null(i.reader); // nothing came of it
    assert_int_equal(-1, access(fixture_path(1, "out.sbt"), F_OK));
    import_job_close(i.job);
    import_input_close(i.input);
}

int main(void)
{
    return unit_run(fixture_begin, fixture_end);
}
#else
#include "tests/tools/import/built_without.h"
BUILT_WITHOUT("SQLite")
#endif
