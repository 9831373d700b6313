/*
    test_import_rpd.c - RPD files of ROCm become traces
*/
#ifdef TRACESMITH_SQLITE
#include "tests/tools/import/import_sql.h"
#include "tools/import/import.h"

#define STRINGS \
    "CREATE TABLE rocpd_string (id INTEGER PRIMARY KEY, string TEXT);" \
    "INSERT INTO rocpd_string VALUES (1, ''), (2, 'hipLaunchKernel')," \
    "(3, 'hipExtModuleLaunchKernel'), (4, 'hipGraphLaunch'), (5, 'gemm')," \
    "(6, 'scale'), (7, 'KernelExecution'), (8, 'Task'), (9, " \
    "'CopyHostToDevice'), (10, 'hipMemcpyAsync'), (11, 'UserMarker'), (12, " \
    "'step'), (13, 'rpdflush'), (14, 'stream = 0x0'), (15, 'Barrier'), (16, " \
    "'CopyDeviceToDevice'), (17, 'aten::mm');"
#define API \
    "CREATE TABLE rocpd_api (id INTEGER PRIMARY KEY, pid INTEGER, tid " \
    "INTEGER, start INTEGER, end INTEGER, apiName_id INTEGER, args_id " \
    "INTEGER);"
#define OPS \
    "CREATE TABLE rocpd_op (id INTEGER PRIMARY KEY, gpuId INTEGER, queueId " \
    "INTEGER, sequenceId INTEGER, completionSignal TEXT, start INTEGER, end " \
    "INTEGER, description_id INTEGER, opType_id INTEGER);" \
    "CREATE TABLE rocpd_api_ops (id INTEGER PRIMARY KEY, api_id INTEGER, " \
    "op_id INTEGER);"
#define LAUNCHES \
    "CREATE TABLE rocpd_kernelapi (api_ptr_id INTEGER PRIMARY KEY, stream " \
    "TEXT, gridX INTEGER, gridY INTEGER, gridZ INTEGER, workgroupX INTEGER, " \
    "workgroupY INTEGER, workgroupZ INTEGER, groupSegmentSize INTEGER, " \
    "privateSegmentSize INTEGER, kernelName_id INTEGER);"

// Of hipExtModuleLaunchKernel the grid counts threads.
UNIT_TEST(kernels_come_with_launch_and_call)
{
    sql_expect(STRINGS API OPS LAUNCHES
               "INSERT INTO rocpd_api VALUES (100, 1, 2, 10, 20, 2, 1),"
               "(101, 1, 2, 30, 40, 3, 1);"
               "INSERT INTO rocpd_op VALUES (200, 0, 3, 0, '', 50, 60, 5, 7),"
               "(201, 0, 3, 0, '', 70, 80, 1, 7);"
               "INSERT INTO rocpd_api_ops VALUES (1, 100, 200), (2, 101, 201);"
               "INSERT INTO rocpd_kernelapi VALUES"
               "(100, '0x0', 4, 1, 1, 64, 1, 1, 16, 8, 5),"
               "(101, '0x0', 1000, 1, 1, 256, 1, 1, 0, 0, 6);",
               "10+10 api_call on process 1/thread 2 name=hipLaunchKernel "
               "correlation=100\n"
               "30+10 api_call on process 1/thread 2 "
               "name=hipExtModuleLaunchKernel correlation=101\n"
               "50+10 kernel on device 0/stream 3 correlation=100 "
               "thread=process 1/thread 2 launch=gemm<<<4.1.1, 64.1.1>>> "
               "s0+16 l8\n"
               "70+10 kernel on device 0/stream 3 correlation=101 "
               "thread=process 1/thread 2 launch=scale<<<4.1.1, 256.1.1>>>\n");
}

UNIT_TEST(operations_of_a_graph_launch_share_its_call)
{
    sql_expect(STRINGS API OPS
               "INSERT INTO rocpd_api VALUES (100, 1, 2, 10, 20, 4, 14);"
               "INSERT INTO rocpd_op VALUES (200, 0, 0, 0, '', 50, 60, 5, 8),"
               "(201, 0, 0, 0, '', 60, 70, 1, 16), (202, 0, 0, 0, '', 70, 80,"
               "1, 15);"
               "INSERT INTO rocpd_api_ops VALUES (1, 100, 200), (2, 100, 201),"
               "(3, 100, 202), (4, 99, 202);",
               "10+10 api_call on process 1/thread 2 name=hipGraphLaunch "
               "correlation=100\n"
               "50+10 kernel on device 0/stream 0 correlation=100 "
               "thread=process 1/thread 2 launch=gemm\n"
               "60+10 memcpy on device 0/stream 0 correlation=100 "
               "thread=process 1/thread 2 type=3 memory=51\n"
               "70+10 event_record on device 0/stream 0 correlation=100 "
               "thread=process 1/thread 2 id=202\n"
               "flawed duplicate_correlation 1\n"
               "no place rocpd_api: arguments of calls 1\n");
}

UNIT_TEST(copies_have_bytes_addresses_and_peers)
{
    sql_expect(
        STRINGS API OPS
        "CREATE TABLE rocpd_copyapi (api_ptr_id INTEGER PRIMARY KEY, size "
        "INTEGER, kind INTEGER, dst TEXT, src TEXT, dstDevice INTEGER, "
        "srcDevice INTEGER, pinned INTEGER);"
        "INSERT INTO rocpd_api VALUES (100, 1, 2, 10, 20, 10, 1),"
        "(101, 1, 2, 20, 30, 10, 1);"
        "INSERT INTO rocpd_op VALUES (200, 0, 0, 0, '', 50, 60, 1, 9),"
        "(201, 0, 0, 0, '', 60, 70, 1, 16);"
        "INSERT INTO rocpd_api_ops VALUES (1, 100, 200), (2, 101, 201);"
        "INSERT INTO rocpd_copyapi VALUES (100, 4096, 1, '0x1f00', '0xa0', 0,"
        "0, 1), (101, 64, 3, 'none', '0xg', 1, 0, 0);",
        "10+10 api_call on process 1/thread 2 name=hipMemcpyAsync "
        "correlation=100\n"
        "20+10 api_call on process 1/thread 2 name=hipMemcpyAsync "
        "correlation=101\n"
        "50+10 memcpy on device 0/stream 0 correlation=100 thread=process "
        "1/thread 2 type=1 size=4096 source=160 address=7936 memory=50\n"
        "60+10 memcpy on device 0/stream 0 correlation=101 thread=process "
        "1/thread 2 type=5 size=64 memory=51 peer=device 1\n");
}

UNIT_TEST(markers_become_zones_and_samples_counters)
{
    sql_expect(
        STRINGS API
        "CREATE TABLE ext_autogradapi (api_ptr_id INTEGER, autogradName_id "
        "INTEGER, seq, op_id, sizes TEXT, input_op_ids TEXT);"
        "INSERT INTO ext_autogradapi VALUES (101, 17, 5, '', '[[2]]', ''),"
        "(999, 17, 1, '', '', '');"
        "CREATE TABLE rocpd_monitor (id INTEGER, deviceType TEXT, deviceId "
        "INTEGER, monitorType TEXT, start INTEGER, end INTEGER, value TEXT);"
        "INSERT INTO rocpd_monitor VALUES (1, 'gpu', 3, 'sclk', 12, 20, "
        "'134'), (2, 'gpu', 3, 'sclk', 20, 30, 'fast');"
        "INSERT INTO rocpd_api VALUES (100, 1, 2, 10, 90, 11, 12),"
        "(101, 1, 2, 20, 30, 11, 17), (102, 1, 2, 40, 40, 11, 12),"
        "(103, 1, 2, 95, 99, 13, 1);",
        "10+80 zone on process 1/thread 2 site=step/roctx\n"
        "12+0 counter on device 3/counter 0 sclk type=1 value=134\n"
        "20+10 zone on process 1/thread 2 site=aten::mm/autograd\n"
        "20+0 zone_arg on process 1/thread 2 site=aten::mm/autograd name=seq "
        "type=1 value=5\n"
        "20+0 zone_arg on process 1/thread 2 site=aten::mm/autograd "
        "name=sizes type=3 \"[[2]]\"\n"
        "40+0 mark on process 1/thread 2 site=step/roctx\n"
        "95+4 zone on process 1/thread 2 site=rpdflush/profiler\n"
        "bad unknown_marker 1\nbad broken_row 1\n");
}

UNIT_TEST(bad_rows_are_counted_by_cause)
{
    sql_expect(STRINGS API OPS
               "INSERT INTO rocpd_api VALUES (100, 1, 2, 20, 10, 2, 1),"
               "(101, 1, NULL, 10, 20, 2, 1), (102, 1, 2, 0, 0, 2, 1),"
               "(103, 1, 'main', 10, 20, 2, 1);"
               "INSERT INTO rocpd_op VALUES (200, 0, 0, 0, '', 50, 40, 5, 7),"
               "(201, NULL, 0, 0, '', 50, 60, 5, 7),"
               "(202, 0, 0, 0, '', 'x', 60, 5, 7),"
               "(203, 0, 0, 0, '', 50, 60, 77, 78);"
               "INSERT INTO rocpd_api_ops VALUES (1, NULL, 203);",
               "50+10 kernel on device 0/stream 0 launch=\n"
               "bad broken_row 5\nbad reversed_time 2\nbad no_time 1\n"
               "flawed unknown_name 1\n");
}

UNIT_TEST(missing_tables_are_no_failure)
{
    sql_expect(API "INSERT INTO rocpd_api VALUES (1, 1, 2, 10, 20, 2, 1);",
               "10+10 zone on process 1/thread 2 site=/profiler\n"
               "flawed unknown_name 1\n");
}

/* ---- The real file ------------------------------------------------------ */

UNIT_TEST(the_real_file_arrives_whole)
{
#ifndef TRACESMITH_ZLIB
    skip(); // it is compressed
#endif
    imported i = import_into(fixture_data("rocm/mytrace.rpd.gz"),
                             fixture_path(2, "one.sbt"));
    const import_job *const job = i.job;
    // The figures of sqlite3 on the unpacked file.
    assert_int_equal(10124 + 14736 + 10124 + 536 + 1228 + 8 + 81 + 11816 +
                         86387 + 129,
                     job->rows);
    assert_int_equal(1228 + 7720, job->events[TS_EVENT_KERNEL]);
    assert_int_equal(804 + 22 + 350, job->events[TS_EVENT_MEMCPY]);
    assert_int_equal(14736, job->events[TS_EVENT_API_CALL] +
                                job->events[TS_EVENT_ZONE] +
                                job->events[TS_EVENT_MARK]);
    assert_int_equal(81, job->events[TS_EVENT_COUNTER]);
    assert_int_equal(86387, import_tallied(&job->unowned, "ext_callstack"));
    assert_int_equal(0, job->bad.total);
    assert_int_equal(0, job->flawed.total);
    import_replays_exactly(&i, 10124);
    import_done(&i);
}

int main(void)
{
    return unit_run(fixture_begin, fixture_end);
}
#else
#include "tests/tools/import/built_without.h"
BUILT_WITHOUT("SQLite")
#endif
