/*
    test_import_nsys_host.c - Nsight Systems: ranges, samples, descriptions
*/
#ifdef TRACESMITH_SQLITE
#include "tests/tools/import/import_nsys.h"
#include "tools/import/import.h"

UNIT_TEST(nvtx_ranges_marks_and_names_arrive)
{
    sql_expect(
        STRINGS
        "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType "
        "INTEGER, rangeId INTEGER, category INTEGER, color INTEGER, text TEXT,"
        "globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId "
        "INTEGER, uint64Value INTEGER, doubleValue REAL, jsonText TEXT);"
        "INSERT INTO NVTX_EVENTS VALUES"
        "(10, 90, 59, NULL, 3, 4278255360, 'step', " T11 ", NULL, NULL, 0, 7,"
        " NULL, NULL),"
        "(20, 30, 59, NULL, NULL, NULL, 'aten::mm, seq = 4, op_id = 9, sizes ="
        " [[1, 2]]', " T11 ", NULL, NULL, 0, NULL, 0.5, '{\"a\":1}'),"
        "(40, NULL, 59, NULL, NULL, NULL, 'open', " T11 ", NULL, NULL, 1,"
        " NULL, NULL, NULL),"
        "(41, 60, 60, 12, NULL, NULL, NULL, " T11 ", " T21 ", 7, 1, NULL, NULL,"
        " NULL),"
        "(45, NULL, 34, NULL, NULL, NULL, 'here', " T11 ", NULL, NULL, 0, NULL,"
        " NULL, NULL),"
        "(1, NULL, 33, NULL, 3, NULL, 'train', " T11 ", NULL, NULL, 0, NULL,"
        " NULL, NULL),"
        "(1, NULL, 75, NULL, NULL, NULL, 'lib', " T11 ", NULL, NULL, 1, NULL,"
        " NULL, NULL),"
        "(1, NULL, 98, NULL, NULL, NULL, 'x', " T11 ", NULL, NULL, 1, NULL,"
        " NULL, NULL),"
        "(70, 60, 59, NULL, NULL, NULL, 'x', " T11 ", NULL, NULL, 0, NULL,"
        " NULL, NULL);",
        "10+80 zone on process 10/thread 11 site=step/train#00ff00\n"
        "10+0 zone_arg on process 10/thread 11 site=step/train#00ff00 "
        "name=payload type=1 value=7\n"
        "20+10 zone on process 10/thread 11 site=aten::mm\n"
        "20+0 zone_arg on process 10/thread 11 site=aten::mm name=seq type=1 "
        "value=4\n"
        "20+0 zone_arg on process 10/thread 11 site=aten::mm name=op_id "
        "type=1 value=9\n"
        "20+0 zone_arg on process 10/thread 11 site=aten::mm name=sizes "
        "type=3 \"[[1, 2]]\"\n"
        "20+0 zone_arg on process 10/thread 11 site=aten::mm name=payload "
        "type=2 value=4602678819172646912\n"
        "20+0 zone_arg on process 10/thread 11 site=aten::mm name=payload "
        "type=3 \"{\"a\":1}\"\n"
        "40+0 zone_open on process 10/thread 11 site=open/lib\n"
        "41+0 span on process 10/thread 11 id=1 phase=1 site=main/lib\n"
        "45+0 mark on process 10/thread 11 site=here\n"
        "60+0 span on process 20/thread 21 id=1 phase=3\n"
        "bad reversed_time 1\n"
        "no place NVTX_EVENTS: event type 98 1\n");
}

// NCCL's ranges tell what its kernels do not.
UNIT_TEST(payloads_of_nccl_describe_its_kernels)
{
    char expected[1000];
    snprintf(expected, sizeof expected,
             "10+80 zone on process 10/thread 11 site=ncclAllReduce/NCCL\n"
             "10+0 zone_arg on process 10/thread 11 site=ncclAllReduce/NCCL "
             "name=payload type=3 \"{\"NCCL communicator ID\": 77, "
             "\"Message size [bytes]\":4096}\"\n"
             "20+10 api_call on process 10/thread 11 name=cudaLaunchKernel "
             "correlation=5\n"
             "40+10 collective on device 0/context 1/stream 9 correlation=5 "
             "thread=process 10/thread 11 site=ncclAllReduce/NCCL "
             "name=AllReduce communicator=%" PRId64 " size=4096 type=8 "
             "launch=ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)<<<4.2.1, "
             "64.1.1>>> r32 s16+32 l8\n",
             (int64_t)import_communicator("77", 2));
    sql_expect(
        STRINGS KERNELS CALLS KERNEL("40, 50", "0, 1, 9, 5, " P10,
                                     "6, 6, "
                                     "NULL")
            CALL(
                "20, 30", T11, "5",
                "4") "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, "
                     "eventType "
                     "INTEGER, text TEXT, globalTid INTEGER, domainId INTEGER, "
                     "jsonText "
                     "TEXT);"
                     "INSERT INTO NVTX_EVENTS VALUES (10, 90, 59, "
                     "'ncclAllReduce', " T11
                     ", 1, '{\"NCCL communicator ID\": 77, \"Message size "
                     "[bytes]\":4096}'),"
                     "(1, NULL, 75, 'NCCL', " T11 ", 1, NULL);",
        expected);
}

// A head of 24 bytes of data, 56 in all; 77, 4096, 3, -2.
#define LAYOUTS \
    "CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId INTEGER," \
    "  schemaId INTEGER, idx INTEGER, flags INTEGER, type INTEGER," \
    "  name TEXT, offset INTEGER);" \
    "INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES" \
    "  (1, 7, 2, NULL, 5, 'Peer rank', 16)," \
    "  (1, 7, 0, NULL, 18, 'NCCL communicator ID', NULL)," \
    "  (1, 7, 1, NULL, 22, 'Message size [bytes]', 8)," \
    "  (1, 7, 3, NULL, 13, 'below', 20)," \
    "  (1, 7, 4, 16, 5, 'an array', 0)," \
    "  (1, 7, 5, NULL, 18, 'beyond the end', 17)," \
    "  (1, 7, 0, NULL, 18, 'NCCL communicator ID', NULL);"
#define PAYLOADS \
    "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER," \
    "  eventType INTEGER, text TEXT, globalTid INTEGER," \
    "  domainId INTEGER, binaryData TEXT);" \
    "INSERT INTO NVTX_EVENTS VALUES (10, 90, 59, 'ncclAllReduce', " T11 \
    ", 1, x'010000000000000007000000000000001800000000000000" \
    "38000000000000004D000000000000000010000000000000" \
    "03000000FEFF0000')," \
    "(100, 110, 59, 'short', " T11 ", 1, x'0100')," \
    "(1, NULL, 75, 'NCCL', " T11 ", 1, NULL);"

// The same in binary form, twice told, and parts of it that are none of ours.
UNIT_TEST(binary_payloads_are_read_by_their_layouts)
{
    char expected[2048];
    snprintf(expected, sizeof expected,
             "10+80 zone on process 10/thread 11 site=ncclAllReduce/NCCL\n"
             "10+0 zone_arg on process 10/thread 11 site=ncclAllReduce/NCCL "
             "name=NCCL communicator ID type=1 value=77\n"
             "10+0 zone_arg on process 10/thread 11 site=ncclAllReduce/NCCL "
             "name=Message size [bytes] type=1 value=4096\n"
             "10+0 zone_arg on process 10/thread 11 site=ncclAllReduce/NCCL "
             "name=Peer rank type=1 value=3\n"
             "10+0 zone_arg on process 10/thread 11 site=ncclAllReduce/NCCL "
             "name=below type=1 value=-2\n"
             "20+10 api_call on process 10/thread 11 name=cudaLaunchKernel "
             "correlation=5\n"
             "40+10 collective on device 0/context 1/stream 9 correlation=5 "
             "thread=process 10/thread 11 site=ncclAllReduce/NCCL "
             "name=AllReduce communicator=%" PRId64 " size=4096 type=8 peer=4 "
             "launch=ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)<<<4.2.1, "
             "64.1.1>>> r32 s16+32 l8\n"
             "100+10 zone on process 10/thread 11 site=short/NCCL\n"
             "no place NVTX_EVENTS: unknown binary payloads 1\n",
             (int64_t)import_communicator("77", 2));
    sql_expect(STRINGS KERNELS CALLS KERNEL("40, 50", "0, 1, 9, 5, " P10,
                                            "6, 6, "
                                            "NULL")
                   CALL("20, 30", T11, "5", "4") LAYOUTS PAYLOADS,
               expected);
}

UNIT_TEST(other_tables_of_ranges_become_zones)
{
    sql_expect(
        STRINGS CALLS CALL(
            "1, 9", T11, "1",
            "5") "CREATE TABLE OSRT_API (start INTEGER, end INTEGER, "
                 "globalTid INTEGER,"
                 "nameId INTEGER, returnValue INTEGER);"
                 "INSERT INTO OSRT_API VALUES (2, 3, " T11 ", 8, 1);"
                 "CREATE TABLE MPI_P2P_EVENTS (start INTEGER, end INTEGER, "
                 "globalTid "
                 "INTEGER, textId INTEGER, size INTEGER, tag INTEGER);"
                 "INSERT INTO MPI_P2P_EVENTS VALUES (10, 20, " T11
                 ", 9, 64, NULL);"
                 "CREATE TABLE PROFILER_OVERHEAD (start INTEGER, end INTEGER, "
                 "globalTid "
                 "INTEGER, nameId INTEGER);"
                 "INSERT INTO PROFILER_OVERHEAD VALUES (4, 5, " T11 ", 8);"
                 "CREATE TABLE SCHED_EVENTS (start INTEGER, cpu INTEGER);"
                 "INSERT INTO SCHED_EVENTS VALUES (1, 2), (3, 4);"
                 "CREATE TABLE ENUM_X (id INTEGER); INSERT INTO ENUM_X VALUES "
                 "(1);",
        "1+8 api_call on process 10/thread 11 name=cuMemAlloc_v2 "
        "correlation=1\n"
        "2+1 zone on process 10/thread 11 site=read/OS runtime\n"
        "4+1 zone on process 10/thread 0 profiler overhead, thread 11 "
        "site=read/overhead\n"
        "10+10 zone on process 10/thread 11 site=MPI_Send/MPI_P2P_EVENTS\n"
        "10+0 zone_arg on process 10/thread 11 site=MPI_Send/MPI_P2P_EVENTS "
        "name=size type=1 value=64\n"
        "no place SCHED_EVENTS 2\n");
}

UNIT_TEST(metrics_memory_graphs_and_messages_arrive)
{
    sql_expect(
        STRINGS
        "CREATE TABLE GPU_METRICS (timestamp INTEGER, typeId INTEGER, metricId "
        "INTEGER, value INTEGER);"
        "INSERT INTO GPU_METRICS VALUES (5, 257, 2, 40), (6, 257, 2, 41),"
        "(7, 257, 3, 1), (8, 257, 2, NULL);"
        "CREATE TABLE TARGET_INFO_GPU_METRICS (typeId INTEGER, metricId "
        "INTEGER, metricName TEXT);"
        "INSERT INTO TARGET_INFO_GPU_METRICS VALUES (257, 2, 'SMs Active "
        "[Throughput %]');"
        "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, globalPid "
        "INTEGER, deviceId INTEGER, contextId INTEGER, address INTEGER, bytes "
        "INTEGER, memKind INTEGER, memoryOperationType INTEGER);"
        "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES"
        "(10, " P10 ", 0, 1, 4096, 64, 2, 0), (20, " P10 ", 0, 1, 4096, 64, 2,"
        "1), (30, " P10 ", 0, 1, 1, 1, 2, 5);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end "
        "INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,"
        "correlationId INTEGER, globalPid INTEGER, graphId INTEGER);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (40, 50, 0, 1, 7,"
        "8, " P10 ", 3);"
        "CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER, text TEXT,"
        "globalPid INTEGER);"
        "INSERT INTO DIAGNOSTIC_EVENT VALUES (60, 'lost', " P10 ");",
        "5+0 counter on device 1/counter 0 SMs Active type=1 value=40\n"
        "6+0 counter on device 1/counter 0 SMs Active type=1 value=41\n"
        "10+0 gpu_alloc on device 0/context 1 address=4096 size=64 "
        "memory=48\n"
        "20+0 gpu_free on device 0/context 1 address=4096\n"
        "40+10 graph_launch on device 0/context 1/stream 7 correlation=8 "
        "graph=3\n"
        "60+0 message on process 10/thread 0 diagnostics site=diagnostic "
        "\"lost\"\n"
        "flags device 0/context 1/stream 7 0x2\n"
        "bad unknown_memory_operation 1\nbad unknown_metric 1\n"
        "bad broken_row 1\n"
        "estimated legacy_default_stream 1\n");
}

UNIT_TEST(gpus_get_their_properties_and_numbers)
{
    imported i = import_into(
        sql_file(STRINGS KERNELS KERNEL(
            "10, 20", "0, 1, 7, 1, " P10,
            "2, 2, 2") "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, "
                       "cudaId "
                       "INTEGER, pid INTEGER);"
                       "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (3, 0, 10);"
                       "CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, "
                       "totalMemory "
                       "INTEGER, smCount INTEGER, maxWarpsPerSm INTEGER);"
                       "INSERT INTO TARGET_INFO_GPU VALUES (3, 'H100', "
                       "85899345920, 132, "
                       "64);"
                       "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);"
                       "INSERT INTO META_DATA_EXPORT VALUES "
                       "('EXPORT_SCHEMA_VERSION', "
                       "'2.9.1'), ('EXPORT_ARCH', 'x64');"
                       "CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);"
                       "INSERT INTO META_DATA_CAPTURE VALUES "
                       "('PROCESS_0:ENVIRONMENT_VARIABLE', 'TOKEN=secret');"
                       "CREATE TABLE TARGET_INFO_SESSION_START_TIME "
                       "(utcEpochNs INTEGER);"
                       "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES "
                       "(1000000);"),
        fixture_path(2, "one.sbt"));
    ts_metadata m;
    ts_track track;
    uint32_t device = 0;
    for (size_t k = 0; ts_reader_track_at(i.reader, k, &track); k++)
        if (track.type == TS_TRACK_DEVICE && track.number == 3)
            device = track.id;
    assert_true(ts_reader_metadata(i.reader, device, "memory_bytes", &m));
    assert_int_equal(85899345920, m.number);
    assert_true(ts_reader_metadata(i.reader, device, "multiprocessors", &m));
    assert_int_equal(132, m.number);
    assert_true(ts_reader_metadata(i.reader, device, "max_warps_per_sm", &m));
    assert_true(ts_reader_metadata(i.reader, 0, "nsys.schema", &m));
    assert_int_equal(5, m.text.size);
    assert_memory_equal("2.9.1", m.text.text, 5);
    for (size_t k = 0; ts_reader_metadata_at(i.reader, k, &m); k++)
        assert_null(m.text.size >= 6 ? strstr(m.text.text, "secret") : NULL);
    assert_int_equal(1000010, ts_reader_info(i.reader)->start_realtime_ns);
    import_done(&i);
}

// Views, virtual tables and generated columns could compute for ever.
UNIT_TEST(nothing_in_the_schema_runs)
{
    sql_expect(
        STRINGS CALLS CALL(
            "1, 9", T11, "1",
            "4") "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE "
                 "n(start) AS "
                 "(SELECT 1 UNION ALL SELECT start + 1 FROM n) SELECT start, "
                 "start AS "
                 "end FROM n;"
                 "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end "
                 "INTEGER "
                 "AS (start + 1), deviceId INTEGER);"
                 "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (1, 0);",
        "1+8 api_call on process 10/thread 11 name=cudaLaunchKernel "
        "correlation=1\n"
        "bad no_time 1\n");
}

int main(void)
{
    return unit_run(fixture_begin, fixture_end);
}
#else
#include "tests/tools/import/built_without.h"
BUILT_WITHOUT("SQLite")
#endif
