/*
    test_import_nsys.c - Nsight Systems SQLite exports become traces
*/
#ifdef TRACESMITH_SQLITE
#include "tests/tools/import/import_nsys.h"
#include "tools/import/import.h"

UNIT_TEST(kernels_come_with_launch_call_and_thread)
{
    sql_expect(
        STRINGS KERNELS CALLS KERNEL("200, 260", "0, 1, 7, 5, " P10, "1, 2, 3")
            KERNEL("270, 290", "0, 1, 7, 6, " P10, "6, 6, NULL")
                CALL("100, 150", T11, "5", "4") CALL("160, 170", T11, "6", "4"),
        "100+50 api_call on process 10/thread 11 name=cudaLaunchKernel "
        "correlation=5\n"
        "160+10 api_call on process 10/thread 11 name=cudaLaunchKernel "
        "correlation=6\n"
        "200+60 kernel on device 0/context 1/stream 7 correlation=5 "
        "thread=process 10/thread 11 launch=void "
        "full<int>(int)<<<4.2.1, 64.1.1>>> r32 s16+32 l8\n"
        "270+20 collective on device 0/context 1/stream 7 correlation=6 "
        "thread=process 10/thread 11 name=AllReduce type=8 "
        "launch=ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)<<<4.2.1, "
        "64.1.1>>> r32 s16+32 l8\n"
        "flags device 0/context 1/stream 7 0x2\n"
        "estimated legacy_default_stream 1\n");
}

UNIT_TEST(bad_rows_are_counted_by_cause)
{
    sql_expect(
        STRINGS KERNELS CALLS KERNEL("0, 0", "0, 1, 7, 5, " P10, "1, 2, 3")
            KERNEL("NULL, 9", "0, 1, 7, 5, " P10,
                   "1, 2, 3") KERNEL("90, 80", "0, 1, 7, 5, " P10, "1, 2, 3")
                KERNEL("'soon', 80", "0, 1, 7, 5, " P10, "1, 2, 3")
                    KERNEL("10, 20", "NULL, 1, 7, 5, " P10, "1, 2, 3")
                        KERNEL("10, 20", "-5, 1, 7, 5, " P10, "1, 2, 3") KERNEL(
                            "-9223372036854775807, 9223372036854775807",
                            "0, 1, 7, 5, " P10, "1, 2, 3")
                            KERNEL("50, 60", "0, 1, 7, 5, " P10, "77, 78, NULL")
                                CALL("10, 20", "NULL", "5", "4")
                                    CALL("20, 10", T11, "5", "4"),
        "50+10 kernel on device 0/context 1/stream 7 correlation=5 "
        "launch=<<<4.2.1, 64.1.1>>> r32 s16+32 l8\n"
        "flags device 0/context 1/stream 7 0x2\n"
        "bad no_time 2\nbad reversed_time 2\nbad broken_row 1\n"
        "bad unknown_device 2\nbad absurd_time 1\nbad unknown_thread 1\n"
        "flawed unknown_name 1\n"
        "estimated legacy_default_stream 1\n");
}

UNIT_TEST(wrong_values_cost_the_value_not_the_row)
{
    sql_expect(
        STRINGS KERNELS
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 5, 0, 1, NULL, "
        "'x', NULL, 2, 2, 2, -4, 9999999999, 1, 1, 64, 1, 1, 2.5, 0, 0, "
        "NULL, NULL);",
        "1+4 kernel on device 0/context 1 launch=full<<<0.1.1, 64.1.1>>>\n"
        "flawed wrong_type 1\nflawed value_out_of_range 2\n");
}

// Two processes number their contexts, calls and events alike.
UNIT_TEST(processes_are_kept_separate)
{
    sql_expect(
        STRINGS KERNELS CALLS
        "CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);"
        "INSERT INTO PROCESSES VALUES (" P10 ", 10, 'a'), (" P20 ", 20, 'b'),"
        "(503316480, 30, 'idle');"
        "CREATE TABLE ThreadNames (nameId INTEGER, globalTid INTEGER);"
        "INSERT INTO ThreadNames VALUES (7, " T11
        "), (7, 1);" KERNEL("10, 20", "0, 1, 9, 5, " P10, "2, 2, 2")
            KERNEL("12, 22", "0, 1, 9, 5, " P20, "2, 2, 2")
                CALL("1, 2", T11, "5", "4") CALL("3, 4", T21, "5", "4"),
        "1+1 api_call on process 10 a/thread 11 main name=cudaLaunchKernel "
        "correlation=5\n"
        "3+1 api_call on process 20 b/thread 21 name=cudaLaunchKernel "
        "correlation=4294967301\n"
        "10+10 kernel on device 0/context 1/stream 9 correlation=5 "
        "thread=process 10 a/thread 11 main launch=full<<<4.2.1, 64.1.1>>> "
        "r32 s16+32 l8\n"
        "12+10 kernel on device 0/context 4294967297/stream 9 "
        "correlation=4294967301 thread=process 20 b/thread 21 "
        "launch=full<<<4.2.1, 64.1.1>>> r32 s16+32 l8\n"
        "no place ThreadNames: of threads without events 1\n"
        "no place PROCESSES: without events 1\n");
}

// By the tables, whatever number the streams have.
UNIT_TEST(flags_of_streams_come_from_the_tables)
{
    sql_expect(
        STRINGS KERNELS
        "CREATE TABLE TARGET_INFO_CUDA_STREAM (streamId INTEGER, hwId INTEGER,"
        "vmId INTEGER, processId INTEGER, contextId INTEGER, priority INTEGER,"
        "flag INTEGER);"
        "INSERT INTO TARGET_INFO_CUDA_STREAM VALUES (7, 0, 1, 10, 1, "
        "4294967295, 2), (8, 0, 1, 10, 1, 0, 1), (9, 0, 1, 10, 1, 0, "
        "2);" KERNEL("10, 20", "0, 1, 7, 1, " P10, "2, 2, 2")
            KERNEL("20, 30", "0, 1, 8, 2, " P10, "2, 2, 2")
                KERNEL("30, 40", "0, 1, 15, 3, " P10, "2, 2, 2"),
        "10+10 kernel on device 0/context 1/stream 7 correlation=1 "
        "launch=full<<<4.2.1, 64.1.1>>> r32 s16+32 l8\n"
        "20+10 kernel on device 0/context 1/stream 8 correlation=2 "
        "launch=full<<<4.2.1, 64.1.1>>> r32 s16+32 l8\n"
        "30+10 kernel on device 0/context 1/stream 15 correlation=3 "
        "launch=full<<<4.2.1, 64.1.1>>> r32 s16+32 l8\n"
        "flags device 0/context 1/stream 7 0x7fff0001\n"
        "flags device 0/context 1/stream 8 0x80000000\n"
        "flags device 0/context 1/stream 15 0x2\n"
        "no place TARGET_INFO_CUDA_STREAM: never used 1\n"
        "estimated legacy_default_stream 1\n");
}

UNIT_TEST(context_tables_name_the_null_stream)
{
    sql_expect(
        STRINGS KERNELS
        "CREATE TABLE TARGET_INFO_CUDA_CONTEXT_INFO (nullStreamId INTEGER,"
        "processId INTEGER, contextId INTEGER);"
        "INSERT INTO TARGET_INFO_CUDA_CONTEXT_INFO VALUES (15, 10, 1);" KERNEL(
            "10, 20", "0, 1, 7, 1, " P10, "2, 2, 2")
            KERNEL("30, 40", "0, 1, 15, 3, " P10, "2, 2, 2"),
        "10+10 kernel on device 0/context 1/stream 7 correlation=1 "
        "launch=full<<<4.2.1, 64.1.1>>> r32 s16+32 l8\n"
        "30+10 kernel on device 0/context 1/stream 15 correlation=3 "
        "launch=full<<<4.2.1, 64.1.1>>> r32 s16+32 l8\n"
        "flags device 0/context 1/stream 15 0x2\n");
}

// The nodes of a graph launch share its correlation and keep their own ids.
UNIT_TEST(copies_memsets_and_graph_nodes_arrive)
{
    sql_expect(
        STRINGS KERNELS
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 1, 9, 4, "
        "" P10
        ", 2, 2, 2, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 77, 3), (20, 30, 0, 1, "
        "9, 4, " P10 ", 2, 2, 2, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 78, 3);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER,"
        "deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId "
        "INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind "
        "INTEGER, dstKind INTEGER, srcDeviceId INTEGER, dstDeviceId INTEGER);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES"
        "(30, 40, 0, 1, 9, 5, " P10 ", 4096, 1, 0, 2, NULL, NULL),"
        "(40, 50, 0, 1, 9, 6, " P10 ", 64, 2, 2, 1, NULL, NULL),"
        "(50, 60, 0, 1, 9, 7, " P10 ", 8, 10, 2, 2, 0, 1),"
        "(60, 70, 0, 1, 9, 8, " P10 ", -8, 13, 4, 3, NULL, NULL);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER,"
        "deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId "
        "INTEGER, globalPid INTEGER, value INTEGER, bytes INTEGER);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (70, 75, 0, 1, 9, 9," P10
        ", 255, 128);",
        "10+10 kernel on device 0/context 1/stream 9 correlation=4 "
        "launch=full<<<1.1.1, 1.1.1>>> graph_node=77 graph=3\n"
        "20+10 kernel on device 0/context 1/stream 9 correlation=4 "
        "launch=full<<<1.1.1, 1.1.1>>> graph_node=78 graph=3\n"
        "30+10 memcpy on device 0/context 1/stream 9 correlation=5 type=1 "
        "size=4096 memory=49\n"
        "40+10 memcpy on device 0/context 1/stream 9 correlation=6 type=2 "
        "size=64 memory=35\n"
        "50+10 memcpy on device 0/context 1/stream 9 correlation=7 type=5 "
        "size=8 memory=51 peer=device 1\n"
        "60+10 memcpy on device 0/context 1/stream 9 correlation=8 type=3 "
        "memory=84\n"
        "70+5 memset on device 0/context 1/stream 9 correlation=9 size=128 "
        "value=255\n"
        "flawed value_out_of_range 1\n");
}

/*
    Rows of synchronisation have device 0 whatever the device; a wait names
    its record; a record without a time happens when its stream is done with
    what was before, at the call at the earliest.
*/
UNIT_TEST(records_waits_and_syncs_find_each_other)
{
    sql_expect(
        STRINGS KERNELS CALLS KERNEL(
            "100, 200", "1, 2, 9, 1, " P10,
            "2, 2, 2") "CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT "
                       "(timestamp INTEGER,"
                       "deviceId INTEGER, contextId INTEGER, streamId "
                       "INTEGER, correlationId "
                       "INTEGER, globalPid INTEGER, eventId INTEGER, "
                       "eventSyncId INTEGER);"
                       "INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES"
                       "(0, 0, 2, 9, 2, " P10 ", 5, 50), (0, 0, 2, 9, 99, " P10
                       ", 5, 51);"
                       "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION "
                       "(start INTEGER,"
                       "end INTEGER, deviceId INTEGER, contextId INTEGER, "
                       "streamId INTEGER,"
                       "correlationId INTEGER, globalPid INTEGER, syncType "
                       "INTEGER, eventId "
                       "INTEGER, eventSyncId INTEGER);"
                       "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES"
                       "(130, 131, 0, 2, 10, 3, " P10 ", 2, 5, 50),"
                       "(140, 201, 0, 2, 9, 4, " P10 ", 3, 4294967295, NULL),"
                       "(210, 220, 0, 2, 4294967295, 5, " P10
                       ", 4, 4294967295, NULL),"
                       "(230, 240, 0, 2, 4294967295, 6, " P10 ", 1, 5, 50),"
                       "(250, 260, 0, 2, 9, 7, " P10
                       ", 9, 0, 0);" CALL("90, 95", T11, "1", "4")
                           CALL("110, 120", T11, "2", "4")
                               CALL("130, 132", T11, "3", "4"),
        "90+5 api_call on process 10/thread 11 name=cudaLaunchKernel "
        "correlation=1\n"
        "100+100 kernel on device 1/context 2/stream 9 correlation=1 "
        "thread=process 10/thread 11 launch=full<<<4.2.1, 64.1.1>>> r32 "
        "s16+32 l8\n"
        "110+10 api_call on process 10/thread 11 name=cudaLaunchKernel "
        "correlation=2\n"
        "130+2 api_call on process 10/thread 11 name=cudaLaunchKernel "
        "correlation=3\n"
        "131+69 event_wait on device 1/context 2/stream 10 correlation=3 "
        "queued=2 submitted=1 thread=process 10/thread 11 id=5 record=2\n"
        "140+61 stream_sync on device 1/context 2/stream 9 correlation=4\n"
        "200+0 event_record on device 1/context 2/stream 9 correlation=2 "
        "thread=process 10/thread 11 id=5\n"
        "210+10 device_sync on device 1/context 2 correlation=5\n"
        "230+10 event_sync on device 1/context 2 correlation=6 id=5\n"
        "bad unknown_sync_type 1\nbad no_time 1\n"
        "estimated event_record 1\nestimated event_wait 1\n");
}

/* ---- The real file ------------------------------------------------------ */

#define SYNCS \
    "INSERT INTO StringIds VALUES (20, 'cudaEventRecord_v3020')," \
    "(21, 'cuEventRecord');" \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER," \
    "end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER," \
    "correlationId INTEGER, globalPid INTEGER, syncType INTEGER," \
    "eventId INTEGER, eventSyncId INTEGER);"
#define WAIT(time, correlation, sync) \
    "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (" time "," time \
    ", 0, 2, 9, " correlation ", " P10 ", 2, 5, " sync ");"
#define RECORDS \
    CALL("10, 14", T11, "1", "20") \
    CALL("11, 13", T11, "1", "21") \
    CALL("20, 24", T11, "2", "20") CALL("30, 34", T11, "3", "20")

static char *dump_of(const char *sql)
{
    imported i = import_into(sql_file(sql), fixture_path(1, "out.sbt"));
    char *const text = import_dump(&i);
    import_done(&i);
    return text;
}

// The second record of the process has number 101, and so on.
UNIT_TEST(waits_find_the_calls_of_their_records_by_order)
{
    char *const text = dump_of(
        STRINGS KERNELS CALLS KERNEL("5, 6", "1, 2, 9, 90, " P10, "2, 2, 2")
            SYNCS RECORDS WAIT("25", "4", "101") WAIT("35", "5", "102")
                WAIT("36", "6", "100") WAIT("37", "7", "99"));
    assert_non_null(
        strstr(text, "correlation=4 queued=1 submitted=1 id=5 record=2\n"));
    assert_non_null(
        strstr(text, "correlation=5 queued=1 submitted=1 id=5 record=3\n"));
    assert_non_null(
        strstr(text, "correlation=6 queued=1 submitted=1 id=5 record=1\n"));
    assert_non_null(strstr(
        text, "correlation=7 queued=1 submitted=1 id=5\n")); // before them all
    free(text);
}

// Numbers that count something else lead to no record.
UNIT_TEST(numbers_that_count_no_records_are_not_believed)
{
    char *const text = dump_of(
        STRINGS KERNELS CALLS KERNEL("5, 6", "1, 2, 9, 90, " P10, "2, 2, 2")
            SYNCS RECORDS WAIT("15", "4", "100") WAIT("25", "5", "110")
                WAIT("35", "6", "120"));
    assert_null(strstr(text, "record="));
    free(text);
}

UNIT_TEST(the_real_file_arrives_whole)
{
    const char *const path = fixture_data("nsys/h100_2gpu_1s.sqlite");
    imported i = import_into(path, fixture_path(2, "one.sbt"));
    const import_job *const job = i.job;
#define ROWS(table) sql_number(path, "SELECT count(*) FROM " table)
    assert_int_equal(ROWS("CUPTI_ACTIVITY_KIND_KERNEL"),
                     job->events[TS_EVENT_KERNEL]);
    assert_int_equal(ROWS("CUPTI_ACTIVITY_KIND_MEMCPY"),
                     job->events[TS_EVENT_MEMCPY]);
    assert_int_equal(ROWS("CUPTI_ACTIVITY_KIND_MEMSET"),
                     job->events[TS_EVENT_MEMSET]);
    assert_int_equal(ROWS("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"),
                     job->events[TS_EVENT_EVENT_WAIT] +
                         job->events[TS_EVENT_STREAM_SYNC]);
    assert_int_equal(ROWS("CUPTI_ACTIVITY_KIND_RUNTIME"),
                     job->events[TS_EVENT_API_CALL]);
    assert_int_equal(ROWS("NVTX_EVENTS") + ROWS("CUPTI_ACTIVITY_KIND_OVERHEAD"),
                     job->events[TS_EVENT_ZONE]);
    assert_int_equal(0, job->bad.total);
    assert_int_equal(0, job->flawed.total);
    // Every row of every table is one of these, is a name, or has no place.
    assert_int_equal(sql_all_rows(path, "ENUM@_%' ESCAPE '@"), job->rows);
    uint64_t events = 0;
    for (size_t kind = 0; kind < TS_EVENT_LIMIT; kind++)
        if (kind != TS_EVENT_ZONE_ARG) events += job->events[kind];
    const uint64_t described =
        ROWS("StringIds") + 1 + 1 + // start of the session, its details
        ROWS("META_DATA_EXPORT") + ROWS("META_DATA_CAPTURE") +
        ROWS("TARGET_INFO_SYSTEM_ENV") + ROWS("TARGET_INFO_CUDA_STREAM") +
        ROWS("ThreadNames") + ROWS("PROCESSES") +
        ROWS("NVTX_PAYLOAD_SCHEMA_ENTRIES");
    const uint64_t unread =
        import_tallied(&job->unowned, "ANALYSIS_FILE") +
        import_tallied(&job->unowned, "ProcessStreams") +
        import_tallied(&job->unowned, "NVTX_PAYLOAD_SCHEMAS");
    assert_int_equal(job->rows, events + described + unread);
    import_replays_exactly(&i, 4612);
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
