/*
    test_record_summary.c - what ts-record says at its end

    Of jobs and traces made by hand; word for word in test_record_summary.txt.
    UPDATE=1 rewrites it.
*/
#define _GNU_SOURCE // mkdtemp, open_memstream
#define TRACESMITH_WRITER
#include "tests/tools/analyze/report_expected.h"
#include "tests/tools/printed.h"
#include "tools/record/record.h"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

enum { THREAD = 1, MS = 1000000 };
static const cli_tool tool = { .name = "ts-record" };
static char folder[] = "/tmp/ts-summary-XXXXXX";
static int root;

// Tests run in a folder of their own, so that paths are always the same.
static int enter(void **state)
{
    root = open(".", O_RDONLY | O_DIRECTORY);
    return root >= 0 && mkdtemp(folder) && !chdir(folder) ? 0 : -1;
}

static int leave(void **state)
{
    static const char *const made[] = { "run.sbt", "run.1.sbt", "more.sbt",
                                        "log", "program" };
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        unlink(made[i]);
    return fchdir(root) || close(root) ? -1 : rmdir(folder);
}

static record_job job_of(record_options options)
{
    static char *argv[] = { (char *)"./program", NULL };
    record_job job = { .tool = &tool,
                       .out = "run.sbt",
                       .folder = ".",
                       .inject = "/dev/null",
                       .options = options,
                       .argv = argv,
                       .ran_ns = 2000 * (int64_t)MS };
    return job;
}

// A trace of two marks, 500 ms apart.
static ts_writer *begin(const char *path)
{
    const ts_writer_desc desc = { .path = path, .process = 77 };
    const ts_track_entry thread = { .type = TS_TRACK_THREAD };
    ts_writer *w;
    assert_int_equal(TS_OK, ts_writer_open(&w, &desc));
    ts_writer_track(w, THREAD, &thread);
    ts_writer_event(w, TS_EVENT_MARK, THREAD, 1 * MS, 0, NULL, 0);
    ts_writer_event(w, TS_EVENT_MARK, THREAD, 501 * MS, 0, NULL, 0);
    return w;
}

static void note(ts_writer *w, const char *key, const char *text)
{
    ts_writer_metadata(w, 0, key, TS_VALUE_TEXT,
                       ts_writer_name(w, text, strlen(text)));
}

// Prints with a function, and compares.
static void says(const char *test, const record_job *job,
                 void (*print)(const record_job *job))
{
    FILE *const before = printed_begin(&stderr);
    print(job);
    char *const text = printed_end(&stderr, before);
    assert_int_equal(0, fchdir(root));
    report_check(__FILE__, test, text, NULL, 0);
    assert_int_equal(0, chdir(folder));
}
#define SAYS(job, print) says(__func__, &(job), print)

// The same of a finished trace.
#define SAYS_OF(writer, job) \
    (assert_int_equal(TS_OK, ts_writer_close(writer)), \
     says(__func__, &(job), record_print_trace))

UNIT_TEST(captured_operations_by_what_became_of_them)
{
    record_part part = {
        .kept = { .whole = 12345, .hashes = 2, .declined = 4, .bytes = 1 << 20 }
    };
    record_job job =
        job_of((record_options){ .capture = "all", .every = true });
    part.kept.reasons[0] = 1;
    part.kept.reasons[TS_REASON_NO_MEMORY] = 3;
    job.parts = &part;
    job.part_count = 1;
    ts_writer *w = begin("run.sbt");
    note(w, "capture.by.opencl", "1");
    ts_writer_metadata(w, 0, "capture.budget_reached.opencl", TS_VALUE_INT,
                       1 << 30);
    ts_writer_metadata(w, 0, "opencl.device_binaries", TS_VALUE_INT, 2);
    SAYS_OF(w, job);
    part.kept = (record_kept){ .whole = 1, .hashes = 1, .declined = 1 };
    part.kept.reasons[TS_REASON_NO_MEMORY] = 1;
    w = begin("run.sbt");
    ts_writer_metadata(w, 0, "opencl.device_binaries", TS_VALUE_INT, 1);
    SAYS_OF(w, job);
}

UNIT_TEST(why_no_operation_was_captured)
{
    record_job job =
        job_of((record_options){ .capture = "all", .capture_on = "key" });
    SAYS_OF(begin("run.sbt"), job);
    job.options.capture_on = NULL;
    SAYS_OF(begin("run.sbt"), job);
    ts_writer *const w = begin("run.sbt");
    note(w, "capture.by.cuda", "1");
    SAYS_OF(w, job);
}

UNIT_TEST(launches_without_a_recorded_operation)
{
    record_part part = { .launches = { .called = 10, .recorded = 7 } };
    record_job job = job_of((record_options){ 0 });
    job.parts = &part;
    job.part_count = 1;
    SAYS_OF(begin("run.sbt"), job);
    part.launches =
        (record_launches){ .called = 10, .recorded = 8, .graphs = true };
    SAYS_OF(begin("run.sbt"), job);
    part.launches = (record_launches){ .called = 10,
                                       .recorded = 6,
                                       .into_graphs = 3,
                                       .graphs = true,
                                       .more = true,
                                       .failed = 4,
                                       .failures = { { "cuInit", 3, 2 } } };
    SAYS_OF(begin("run.sbt"), job);
    part.launches = (record_launches){ .called = 10, .recorded = 6 };
    job.options.flight_ns = 100 * (int64_t)MS;
    SAYS_OF(begin("run.sbt"), job);
}

static ts_writer *overwritten(void)
{
    ts_writer *const w = begin("run.sbt");
    ts_writer_loss(w, THREAD, TS_LOSS_OVERWRITTEN, 0, 5, 10, 20);
    return w;
}

UNIT_TEST(a_flight_recorder_keeps_what_its_memory_can)
{
    record_job job = job_of((record_options){ .flight_ns = 900 * (int64_t)MS });
    SAYS_OF(overwritten(), job);
    job.options.flight_ns = 5000 * (int64_t)MS;
    SAYS_OF(overwritten(), job);
    job.options.flight_ns = INT64_MAX / 2;
    SAYS_OF(overwritten(), job);
    job.options.flight_memory = TS_INJECT_FLIGHT_MOST;
    SAYS_OF(overwritten(), job);
}

UNIT_TEST(lost_records_and_their_causes)
{
    ts_writer *const w = begin("run.sbt");
    const uint32_t why = ts_writer_name(w, "of NVTX", 7);
    ts_writer_loss(w, THREAD, TS_LOSS_RING_FULL, 0, 1000, 10, 20);
    ts_writer_loss(w, THREAD, TS_LOSS_BACKEND, why, 7, 10, 20);
    const record_job job = job_of((record_options){ 0 });
    SAYS_OF(w, job);
}

UNIT_TEST(what_options_left_out)
{
    record_job job = job_of((record_options){ .size_limit = 1 << 20 });
    ts_writer *w = begin("run.sbt");
    note(w, "capture.ended", "size");
    SAYS_OF(w, job);
    job.options = (record_options){ .duration_ns = MS, .kinds = "kernel" };
    w = begin("run.sbt");
    note(w, "capture.ended", "duration");
    SAYS_OF(w, job);
    job.options = (record_options){ .delay_ns = 9000 * (int64_t)MS };
    SAYS_OF(begin("run.sbt"), job);
}

UNIT_TEST(many_traces_that_are_not_merged)
{
    enum { COUNT = 18 };
    static record_part parts[COUNT];
    record_job job = job_of((record_options){ 0 });
    job.parts = parts;
    job.part_count = COUNT;
    for (size_t i = 0; i < COUNT; i++) {
        parts[i].process = 100 + (long)i;
        strcpy(parts[i].path, "more.sbt");
    }
    assert_int_equal(TS_OK, ts_writer_close(begin("more.sbt")));
    SAYS(job, record_print_parts);
}

UNIT_TEST(traces_that_the_program_recorded_itself)
{
    enum { COUNT = 10 };
    static record_part parts[COUNT];
    record_job job = job_of((record_options){ 0 });
    job.parts = parts;
    job.part_count = COUNT;
    job.gone = 1;
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(parts[i].path, sizeof parts[i].path, "own-%zu.sbt", i);
        parts[i].own = true;
    }
    SAYS(job, record_print_own);
    job.part_count = 1;
    job.gone = 2;
    parts[0].left = true;
    SAYS(job, record_print_own);
}

static void dump(const record_job *job)
{
    record_job own = *job;
    record_snapshot(&own);
}

// A dump is written by processes; here the test is theirs.
UNIT_TEST(dumps_while_the_program_runs)
{
    ts_inject_control control = { 0 };
    record_job job = job_of((record_options){ 0 });
    job.control = &control;
    SAYS(job, dump);
    assert_int_equal(TS_OK, ts_writer_close(begin("snapshot-77.sbt")));
    SAYS(job, dump);
    assert_int_equal(0, access("run.1.sbt", R_OK));
}

UNIT_TEST(how_the_program_ended)
{
    record_part live = { .path = "run.sbt", .live = true };
    record_job job = job_of((record_options){ 0 });
    job.status = SIGKILL;
    SAYS(job, record_print_end);
    record_part done = { .path = "run.sbt" };
    job.parts = &done;
    job.part_count = 1;
    SAYS(job, record_print_end);
    job.parts = &live;
    SAYS(job, record_print_end);
    job.part_count = 0;
    job.status = 0;
    job.awaited = true;
    SAYS(job, record_print_end);
}

// A program without an interpreter, which is what makes it static.
UNIT_TEST(programs_into_which_nothing_can_be_loaded)
{
    const record_job job = job_of((record_options){ 0 });
    const Elf64_Ehdr header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64 },
                                .e_phentsize = sizeof(Elf64_Phdr) };
    FILE *const file = fopen("program", "wb");
    assert_non_null(file);
    assert_int_equal(1, fwrite(&header, sizeof header, 1, file));
    assert_int_equal(0, fclose(file));
    SAYS(job, record_print_nothing);
    assert_int_equal(0, chmod("program", 04755));
    SAYS(job, record_print_nothing);
}

static void print_failures(const record_job *job)
{
    record_print_failures(job);
}

UNIT_TEST(a_library_of_the_user_that_cannot_be_loaded)
{
    const record_job job = job_of((record_options){ 0 });
    FILE *const log = fopen("log", "w");
    assert_non_null(log);
    fputs("not chained 7: libmine.so: no such file\n"
          "not chained 8: libmine.so: no such file\n"
          "not recorded 9: its folder is full\n",
          log);
    assert_int_equal(0, fclose(log));
    SAYS(job, print_failures);
}

/* ---- What is moved ------------------------------------------------------- */

UNIT_TEST(a_flight_keeps_its_last_part_and_says_so)
{
    record_part part = { .path = "more.sbt" };
    record_job job = job_of((record_options){ .flight_ns = 100 * MS });
    ts_reader *reader;
    ts_metadata what;
    const ts_reader_desc desc = { .path = "more.sbt" };
    job.parts = &part;
    job.part_count = 1;
    assert_int_equal(TS_OK, ts_writer_close(begin("more.sbt")));
    assert_true(record_cut_parts(&job));
    assert_int_equal(TS_OK, ts_reader_open(&reader, &desc));
    assert_int_equal(1, ts_reader_info(reader)->counts[TS_EVENT_MARK]);
    assert_true(ts_reader_metadata(reader, 0, "cut.what", &what));
    assert_int_equal(what.text.size, strlen("(the last 100.0 ms)"));
    assert_memory_equal(what.text.text, "(the last 100.0 ms)", what.text.size);
    ts_reader_close(reader);
}

// A folder where the file with messages belongs.
UNIT_TEST(what_is_no_file_is_left_where_it_is)
{
    record_job job = job_of((record_options){ .flight_ns = 0 });
    strcpy(job.spool, "./spool");
    assert_int_equal(0, mkdir("spool7", 0700));
    assert_int_equal(0, mkdir("spool7/log", 0700));
    FILE *const before = printed_begin(&stderr);
    record_spool_bring(&job);
    char *const text = printed_end(&stderr, before);
    assert_string_equal(
        text, "ts-record: ./spool7/log: could not be moved and is left there: "
              "it is not a regular file, or another user owns it\n");
    free(text);
    assert_int_equal(0, rmdir("spool7/log"));
    assert_int_equal(0, rmdir("spool7"));
}

int main(void)
{
    return unit_run(enter, leave);
}
