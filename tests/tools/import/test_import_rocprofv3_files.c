/*
    test_import_rocprofv3_files.c - JSON and CSV of rocprofv3 become traces

    The sources are written by hand from the documentation of rocprofv3;
    UPDATE=1 rewrites what JSON becomes.
*/
#include "tests/tools/import/import_fixture.h"
#include "tools/import/import.h"
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

static const char *write_file(int slot, const char *name, const char *text,
                              size_t size)
{
    const char *const path = fixture_path(slot, name);
    FILE *const out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(size, fwrite(text, 1, size, out));
    fclose(out);
    return path;
}

// Imports what must fail, and leaves nothing behind.
static void assert_refused(const char *path)
{
    unlink(fixture_path(1, "out.sbt"));
    imported i = import_into(path, fixture_path(1, "out.sbt"));
    assert_null(i.reader);
    assert_int_equal(-1, access(fixture_path(1, "out.sbt"), F_OK));
    import_job_close(i.job);
    import_input_close(i.input);
}

#ifdef TRACESMITH_YAJL
// What a file of tests/tools/import/rocprofv3/ becomes stands beside it.
static void json_expect(const char *name)
{
    import_expect_file("tests/tools/import/rocprofv3", name);
}

UNIT_TEST(json_kernels_come_with_launch_call_and_zone)
{
    json_expect("kernels");
}

UNIT_TEST(json_copies_allocations_and_scratch_memory_arrive)
{
    json_expect("copies");
}

// Without a trace of kernels the counted dispatches are the kernels.
UNIT_TEST(json_counters_are_summed_for_a_kernel)
{
    json_expect("counters");
    json_expect("counters_beside");
}

UNIT_TEST(json_processes_are_kept_separate)
{
    json_expect("processes");
}

// Programs that write JSON again sort its keys: records come before the names
// that they refer to.
UNIT_TEST(json_keys_may_come_in_any_order)
{
    static const char *const names[] = { "kernels", "processes" };
    for (size_t i = 0; i < 2; i++) {
        char sorted[128], wanted[128];
        const char *const folder = "tests/tools/import/rocprofv3";
        snprintf(sorted, sizeof sorted, "%s/%s_sorted.json", folder, names[i]);
        snprintf(wanted, sizeof wanted, "%s/%s.txt", folder, names[i]);
        char *const text = fixture_text(wanted);
        import_expect(sorted, text);
        free(text);
    }
}

static long peak_kb(void)
{
    struct rusage usage;
    assert_int_equal(0, getrusage(RUSAGE_SELF, &usage));
    return usage.ru_maxrss;
}

// In a process of its own, as peaks never fall.
static void import_small(const char *path)
{
    int status;
    const pid_t child = fork();
    if (!child) {
        const long before = peak_kb();
        imported i = import_into(path, fixture_path(1, "out.sbt"));
        const bool whole = i.job && i.job->events[TS_EVENT_KERNEL] == 1;
        _exit(!whole ? 2 : peak_kb() - before > 32 << 10 ? 3 : 0);
    }
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_int_equal(0, status);
}

// A million empty ones took 500 MB.
UNIT_TEST(json_processes_of_which_nothing_is_said_take_no_memory)
{
    static const char *const firsts[] = { "", "{\"metadata\": {\"pid\": 7}}," };
    for (size_t k = 0; k < 2; k++) {
        char *json;
        size_t size;
        FILE *const out = open_memstream(&json, &size);
        fprintf(out, "{\"rocprofiler-sdk-tool\": [%s", firsts[k]);
        for (int i = 0; i < 400000; i++)
            fputs("{},", out);
        fputs("{\"metadata\": {\"pid\": 8}, \"agents\": [{\"id\": "
              "{\"handle\": 71}, \"type\": 2}], \"buffer_records\": "
              "{\"kernel_dispatch\": [{\"start_timestamp\": 40, "
              "\"end_timestamp\": 50, \"dispatch_info\": {\"agent_id\": "
              "{\"handle\": 71}}}]}}]}",
              out);
        fclose(out);
        import_small(write_file(0, "run.json", json, size));
        free(json);
    }
}

UNIT_TEST(json_bad_rows_are_counted_by_cause)
{
    json_expect("bad");
}

UNIT_TEST(json_has_at_most_64_counters_of_a_kernel)
{
    char *json;
    size_t size;
    FILE *const out = open_memstream(&json, &size);
    fputs("{\"rocprofiler-sdk-tool\": [{\"agents\": [{\"id\": {\"handle\": "
          "71}, \"type\": 2}], \"callback_records\": "
          "{\"counter_collection\": [{\"dispatch_data\": "
          "{\"start_timestamp\": 40, \"end_timestamp\": 50, "
          "\"dispatch_info\": {\"agent_id\": {\"handle\": 71}}}, "
          "\"records\": [",
          out);
    for (int i = 0; i < 66; i++)
        fprintf(out, "%s{\"counter_id\": %d, \"value\": 1}", i ? "," : "", i);
    fputs("]}]}}]}", out);
    fclose(out);
    imported i = import_into(write_file(0, "run.json", json, size),
                             fixture_path(1, "out.sbt"));
    assert_int_equal(64, i.job->events[TS_EVENT_COUNTER]);
    assert_int_equal(
        2, import_tallied(&i.job->unowned, "counters beyond the 64th"));
    import_done(&i);
    free(json);
}

#define COUNTED_HEAD \
    "{\"rocprofiler-sdk-tool\": [{\"agents\": [{\"id\": {\"handle\": " \
    "71}, \"type\": 2}], \"counters\": [{\"id\": {\"handle\": 1}, " \
    "\"name\": \"WAVES\"}], \"callback_records\": " \
    "{\"counter_collection\": ["
#define COUNTED \
    "{\"dispatch_data\": {\"start_timestamp\": 40, \"end_timestamp\": " \
    "50, \"dispatch_info\": {\"agent_id\": {\"handle\": 71}}}, " \
    "\"records\": ["

// What has no value is bad, and what is behind it counts.
UNIT_TEST(json_counters_without_a_value_are_bad)
{
    static const char json[] = COUNTED_HEAD COUNTED
        "{\"counter_id\": {\"handle\": 1}, \"value\": 1},"
        "{\"counter_id\": {\"handle\": 1}}, {},"
        "{\"value\": 2, \"counter_id\": {\"handle\": 1}}]}]}}]}";
    import_expect(write_file(0, "run.json", json, sizeof json - 1),
                  "40+10 kernel on device 0/stream 0 launch=\n"
                  "40+0 counter on device 0/counter 0 WAVES type=2 "
                  "value=4613937818241073152\n"
                  "bad no_number 1\n"
                  "flawed unknown_name 1\n");
}

// The values of a kernel are read in one pass, not with a search for each.
UNIT_TEST(json_with_many_counters_is_read_in_linear_time)
{
    enum { KERNELS = 4, VALUES = 30000, SECONDS = 3 };
    char *json;
    size_t size;
    FILE *const out = open_memstream(&json, &size);
    fputs(COUNTED_HEAD, out);
    for (int k = 0; k < KERNELS; k++) {
        fputs(k ? "," COUNTED : COUNTED, out);
        for (int i = 0; i < VALUES; i++)
            fprintf(out, "%s{\"counter_id\": 1, \"value\": 1}", i ? "," : "");
        fputs("]}", out);
    }
    fputs("]}}]}", out);
    fclose(out);
    const clock_t from = clock();
    imported i = import_into(write_file(0, "run.json", json, size),
                             fixture_path(1, "out.sbt"));
    assert_in_range(clock() - from, 0, SECONDS * CLOCKS_PER_SEC);
    assert_int_equal(KERNELS, i.job->events[TS_EVENT_COUNTER]);
    assert_int_equal(0, i.job->bad.total);
    import_done(&i);
    free(json);
}

// Cut anywhere, what came before is imported, and the trace says that it is
// cut.
UNIT_TEST(json_cut_anywhere_is_imported_up_to_there)
{
    char *const json = fixture_text("tests/tools/import/rocprofv3/cut.json");
    const size_t whole = (size_t)(strrchr(json, '}') - json) + 1;
    for (size_t size = whole - 200; size <= whole; size++) {
        imported i = import_into(write_file(0, "cut.json", json, size),
                                 fixture_path(1, "out.sbt"));
        assert_non_null(i.reader);
        assert_in_range(i.job->events[TS_EVENT_API_CALL], 0, 2);
        assert_int_equal(i.job->is_cut, size < whole);
        import_done(&i);
    }
    free(json);
}
#endif

/* ---- CSV ---------------------------------------------------------------- */

// Files of a set; the import begins with any of them.
static void write_set(void)
{
    static const struct {
        const char *name, *text;
    } files[] = {
        { "run_agent_info.csv",
          "\"Node_Id\",\"Logical_Node_Id\",\"Agent_Type\",\"Name\","
          "\"Product_Name\"\n0,0,\"CPU\",\"EPYC\",\"EPYC\"\n"
          "4,4,\"GPU\",\"gfx942\",\"MI300X\"\n" },
        { "run_kernel_trace.csv",
          "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Stream_Id\",\"Thread_Id\","
          "\"Dispatch_Id\",\"Kernel_Id\",\"Kernel_Name\",\"Correlation_Id\","
          "\"Start_Timestamp\",\"End_Timestamp\",\"LDS_Block_Size\","
          "\"Scratch_Size\",\"VGPR_Count\",\"Workgroup_Size_X\","
          "\"Workgroup_Size_Y\",\"Workgroup_Size_Z\",\"Grid_Size_X\","
          "\"Grid_Size_Y\",\"Grid_Size_Z\"\n"
          "\"KERNEL_DISPATCH\",\"Agent 4\",3,2,8,1,40,\"void a<\"\"b\"\">(int, "
          "int)\",500,40,50,16,8,32,256,1,1,1000,1,1\r\n"
          "\"KERNEL_DISPATCH\",\"GPU 0\",3,2,8,2,40,\"c\",0,60,70,0,0,0,1,1,1,"
          "1,1,1\n" },
        { "run_hip_api_trace.csv",
          "\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\","
          "\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n"
          "\"HIP_RUNTIME_API\",\"hipLaunchKernel\",7,8,500,20,30\n" },
        { "run_memory_copy_trace.csv",
          "\"Kind\",\"Direction\",\"Source_Agent_Id\","
          "\"Destination_Agent_Id\",\"Correlation_Id\",\"Start_Timestamp\","
          "\"End_Timestamp\"\n\"MEMORY_COPY\",\"MEMORY_COPY_DEVICE_TO_HOST\","
          "\"Agent 4\",\"Agent 0\",9,80,85\n" },
        { "run_kernel_stats.csv",
          "\"Name\",\"Calls\",\"TotalDurationNs\"\n\"c\",1,10\n" },
        { "run_counter_collection.csv",
          "\"Dispatch_Id\",\"Agent_Id\",\"Kernel_Name\",\"Counter_Name\","
          "\"Counter_Value\",\"Start_Timestamp\",\"End_Timestamp\"\n"
          "1,\"Agent 4\",\"c\",\"SQ_WAVES\",2.000000,41,50\n" },
        { "other_hip_api_trace.csv",
          "\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\","
          "\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n"
          "\"HIP_RUNTIME_API\",\"hipFree\",1,1,1,1,2\n" },
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        write_file(0, files[i].name, files[i].text, strlen(files[i].text));
}

UNIT_TEST(csv_files_of_one_prefix_are_one_trace)
{
    static const char *const names[] = { "run_kernel_trace.csv",
                                         "run_agent_info.csv",
                                         "run_memory_copy_trace.csv" };
    write_set();
    for (size_t i = 0; i < 3; i++)
        import_expect(
            fixture_path(0, names[i]),
            "20+10 api_call on process 7/thread 8 name=hipLaunchKernel "
            "correlation=500\n"
            "40+10 kernel on device 0 MI300X/stream 2 correlation=500 "
            "thread=process 7/thread 8 launch=void a<\"b\">(int, "
            "int)<<<4.1.1, 256.1.1>>> r32 s0+16 l8\n"
            "41+0 counter on device 0 MI300X/counter 0 SQ_WAVES type=2 "
            "value=4611686018427387904\n"
            "60+10 kernel on device 0 MI300X/stream 2 launch=c<<<1.1.1, "
            "1.1.1>>>\n"
            "80+5 memcpy on device 0 MI300X/stream 0 correlation=9 type=2\n"
            "no place statistics 1\n");
}

static const char *write_beside(const char *name, const char *text)
{
    return write_file(0, name, text, strlen(text));
}

static void remove_beside(const char *name)
{
    assert_int_equal(0, unlink(fixture_path(0, name)));
}

#define CALLS \
    "\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\"," \
    "\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n" \
    "\"HIP_RUNTIME_API\",\"hipFree\",7,8,1,20,30\n"

// Backups, copies and links under another ending hold the same once more.
UNIT_TEST(csv_files_are_read_once)
{
    static const char *const copies[] = { "a_hip_api_trace.csv.bak",
                                          "a_hip_api_trace.csv.gz",
                                          "a_hip_api_trace.csv.old.csv" };
    write_beside("a_hip_api_trace.csv", CALLS);
    for (size_t i = 0; i < 3; i++)
        write_beside(copies[i], CALLS);
    const char *const target = fixture_path(1, "a_hip_api_trace.csv");
    assert_int_equal(0,
                     symlink(target, fixture_path(0, "a_hsa_api_trace.csv")));
    assert_int_equal(0, link(target, fixture_path(0, "a_rccl_api_trace.csv")));
    import_expect(fixture_path(0, "a_hip_api_trace.csv"),
                  "20+10 api_call on process 7/thread 8 name=hipFree "
                  "correlation=1\n");
    import_expect(fixture_path(0, "a_hip_api_trace.csv.bak"),
                  "20+10 api_call on process 7/thread 8 name=hipFree "
                  "correlation=1\n");
}

UNIT_TEST(csv_files_that_cannot_be_read_are_counted)
{
    write_beside("b_hip_api_trace.csv", CALLS);
    write_beside("b_hsa_api_trace.csv", "");
    write_beside("b_rccl_api_trace.csv", "hello\n");
    write_file(0, "b_memory_copy_trace.csv", "\x89\0\1\n", 4);
    imported i = import_into(fixture_path(0, "b_hip_api_trace.csv"),
                             fixture_path(1, "out.sbt"));
    assert_int_equal(1, i.job->events[TS_EVENT_API_CALL]);
    assert_int_equal(1, import_tallied(&i.job->bad, "unreadable_file"));
    assert_int_equal(1, import_tallied(&i.job->bad, "unknown_columns"));
    assert_int_equal(1, import_tallied(&i.job->bad, "binary_file"));
    assert_true(i.job->is_cut);
    assert_true(i.job->lacks_files);
    import_done(&i);
    remove_beside("b_hsa_api_trace.csv");
    write_beside("b_hsa_api_trace.csv", CALLS "\"cut");
    imported cut = import_into(fixture_path(0, "b_hip_api_trace.csv"),
                               fixture_path(1, "out.sbt"));
    assert_int_equal(2, cut.job->events[TS_EVENT_API_CALL]);
    assert_int_equal(1, import_tallied(&cut.job->bad, "truncated_file"));
    assert_true(cut.job->lacks_files);
    import_done(&cut);
}

static void csv_expect(const char *csv, const char *expected)
{
    import_expect(write_file(0, "alone.csv", csv, strlen(csv)), expected);
}

// Without the file of agents their numbers are taken for those of GPUs.
UNIT_TEST(a_csv_file_alone_is_a_trace)
{
    csv_expect("\"Kind\",\"Direction\",\"Source_Agent_Id\","
               "\"Destination_Agent_Id\",\"Correlation_Id\","
               "\"Start_Timestamp\",\"End_Timestamp\"\n"
               "\"MEMORY_COPY\",\"MEMORY_COPY_HOST_TO_DEVICE\",0,1,3,10,20\n"
               "\"MEMORY_COPY\",\"MEMORY_COPY_DEVICE_TO_DEVICE\",1,2,4,30,40\n",
               "10+10 memcpy on device 1/stream 0 correlation=3 type=1\n"
               "30+10 memcpy on device 2/stream 0 correlation=4 type=5 "
               "peer=device 1\n");
    csv_expect("\"Kind\",\"Operation\",\"Agent_Id\",\"Allocation_Size\","
               "\"Address\",\"Correlation_Id\",\"Start_Timestamp\","
               "\"End_Timestamp\"\n\"MEMORY_ALLOCATION\","
               "\"MEMORY_ALLOCATION_ALLOCATE\",\"Agent 2\",64,"
               "\"0x1000\",1,10,20\n\"MEMORY_ALLOCATION\","
               "\"MEMORY_ALLOCATION_FREE\",\"\",0,\"0x1000\",2,30,40\n",
               "10+0 alloc on thread 0 allocations address=4096 size=64 "
               "pool=gpu:2\n"
               "30+0 free on thread 0 allocations address=4096\n");
    csv_expect("\"Kind\",\"Operation\",\"Agent_Id\",\"Queue_Id\","
               "\"Thread_Id\",\"Alloc_Flags\",\"Start_Timestamp\","
               "\"End_Timestamp\"\n\"SCRATCH_MEMORY\",\"SCRATCH_MEMORY_ALLOC\","
               "\"Agent 2\",1,8,0,10,20\n",
               "10+10 zone on device 2/thread 0 scratch memory "
               "site=SCRATCH_MEMORY_ALLOC/SCRATCH_MEMORY\n");
}

UNIT_TEST(csv_of_counters_alone_has_its_kernels)
{
#define HEAD \
    "\"Dispatch_Id\",\"Agent_Id\",\"Kernel_Name\",\"Counter_Name\"," \
    "\"Counter_Value\""
    csv_expect(HEAD ",\"Start_Timestamp\",\"End_Timestamp\"\n"
                    "1,2,\"c\",\"A\",2,40,50\n1,2,\"c\",\"B\",x,40,50\n",
               "40+10 kernel on device 2/stream 0 launch=c\n"
               "40+0 counter on device 2/counter 0 A type=2 "
               "value=4611686018427387904\n"
               "bad no_number 1\n");
    csv_expect(HEAD "\n1,2,\"c\",\"A\",2\n2,2,\"c\n",
               "bad truncated_row 1\n"
               "no place counters without a time 1\n");
}

UNIT_TEST(csv_bad_rows_are_counted_by_cause)
{
    csv_expect("\"Domain\",\"Function\",\"Process_Id\",\"Thread_Id\","
               "\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n\n"
               "\"MARKER_CORE_API\",\"load\",7,8,1,10,20\n"
               "\"HIP_RUNTIME_API\",\"a\",7,8,1\n"
               "\"HIP_RUNTIME_API\",\"b\",7,,1,30,40\n"
               "\"HIP_RUNTIME_API\",\"c\",7,8,1,30,20\n"
               "\"HIP_RUNTIME_API\",\"d\",7,8,1,x,40\n"
               "\"HIP_RUNTIME_API\",\"e\",7,8,1,30,\"40",
               "10+10 zone on process 7/thread 8 site=load/MARKER_CORE_API\n"
               "bad broken_row 1\n"
               "bad unknown_thread 1\n"
               "bad reversed_time 1\n"
               "bad no_time 1\n"
               "bad truncated_row 1\n");
}

UNIT_TEST(statistics_alone_are_no_trace)
{
    static const char text[] =
        "\"Name\",\"Calls\",\"TotalDurationNs\"\n\"c\",1,10\n";
    assert_refused(write_file(0, "alone.csv", text, sizeof text - 1));
    assert_refused(write_file(0, "alone.csv", text, 33));
}

int main(void)
{
    return unit_run(fixture_begin, fixture_end);
}
