/*
    test_extract_refuses.c - launches that ts-replay --extract cannot write

    Each trace has one captured launch, which differs in one respect from one
    that can be written.
*/
#define _GNU_SOURCE // mkdtemp, open_memstream
#define TRACESMITH_WRITER
#include "tests/tools/printed.h"
#include "tools/replay/execute/execute.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>
#include "tests/unit.h"

enum { PROCESS = 1, DEVICE, STREAM, SIZE = 4096 };
static char folder[] = "/tmp/ts-extract-XXXXXX";
static char path[64], output[64];
static const cli_tool tool = { .name = "test" };

static int begin(void **state)
{
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof path, "%s/run.sbt", folder);
    snprintf(output, sizeof output, "%s/out", folder);
    return 0;
}

static void remove_output(void)
{
    static const char *const names[] = { "main.c",       "before-0.bin",
                                         "after-0.bin",  "kernel.cubin",
                                         "kernel.ptx",   "kernel.cl",
                                         "before-1.bin", "after-1.bin" };
    char name[128];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(name, sizeof name, "%s/%s", output, names[i]);
        unlink(name);
    }
    rmdir(output);
}

static int end(void **state)
{
    remove_output();
    unlink(path);
    return rmdir(folder);
}

// A launch with one pointer to one region, whose memory and code are stored.
typedef struct launch {
    struct {
        ts_capture_operation head;
        ts_capture_param param;
        uint64_t args;
        ts_capture_region region;
        ts_capture_attribute attribute;
        uint32_t values[18];
    } record;
    ts_capture_image image;
} launch;

static void list_of(ts_writer *w, uint64_t list[2])
{
    static const uint8_t bytes[SIZE] = { 1 };
    uint64_t hash[2];
    ts_writer_blob(w, bytes, sizeof bytes, hash);
    ts_writer_blob(w, hash, sizeof hash, list);
}

static launch usual(ts_writer *w)
{
    launch l = { .record = { .head = { .type = TS_CAPTURE_OPERATION,
                                       .track = STREAM,
                                       .kind = TS_EVENT_KERNEL,
                                       .state = TS_CAPTURE_WHOLE,
                                       .correlation = 1,
                                       .order = 1,
                                       .image = 1,
                                       .name = ts_writer_name(w, "gemm", 4),
                                       .args_size = 8,
                                       .param_count = 1,
                                       .region_count = 1 },
                             .param = { .size = 8, .type = TS_PARAM_POINTER },
                             .args = 0x200000,
                             .region = { .address = 0x200000,
                                         .size = SIZE,
                                         .device = DEVICE },
                             .attribute = { .id = 250, .size = 72 } },
                 .image = { .type = TS_CAPTURE_IMAGE, .id = 1, .size = 4 } };
    list_of(w, l.record.region.before);
    list_of(w, l.record.region.after);
    ts_writer_blob(w, "code", 4, l.image.hash);
    return l;
}

typedef void change(launch *l);

static void write_trace(uint32_t form, change *edit)
{
    const ts_writer_desc desc = { .path = path };
    const ts_track_entry tracks[] = {
        { .type = TS_TRACK_PROCESS },
        { .type = TS_TRACK_DEVICE, .parent = PROCESS },
        { .type = TS_TRACK_STREAM, .parent = DEVICE, .number = 7 },
    };
    const ts_writer_value value = { TS_COLUMN_CORRELATION, 1 };
    ts_writer *w;
    assert_int_equal(TS_OK, ts_writer_open(&w, &desc));
    for (uint32_t i = 0; i < 3; i++)
        ts_writer_track(w, PROCESS + i, &tracks[i]);
    ts_writer_event(w, TS_EVENT_KERNEL, STREAM, 100, 50, &value, 1);
    launch l = usual(w);
    l.image.form = form;
    edit(&l);
    ts_writer_capture(w, &l.image, sizeof l.image);
    ts_writer_capture(w, &l.record, sizeof l.record);
    assert_int_equal(TS_OK, ts_writer_close(w));
}

static void refuses(const char *backend, uint32_t form, change *edit,
                    const char *wanted)
{
    replay_file file = { .path = path };
    replay_job replay = {
        .tool = &tool, .path = path, .files = &file, .file_count = 1
    };
    const execute_options options = { .extract = "gemm", .output = output };
    const ts_executor executor = { .name = backend };
    execute_row row = { .capture = 0 };
    write_trace(form, edit);
    assert_true(cli_trace_open(&file.trace, &tool, path, NULL, CLI_WARN_ALL));
    assert_int_equal(1, ts_reader_capture_count(file.trace.reader));
    const execute_job job = { .replay = &replay,
                              .options = &options,
                              .reader = file.trace.reader,
                              .executor = &executor,
                              .rows = &row,
                              .count = 1 };
    FILE *const before = printed_begin(&stderr);
    const bool done = execute_extract(&job);
    char *const text = printed_end(&stderr, before);
    const char *const why = strstr(text, "run.sbt: ");
    assert_false(done);
    assert_non_null(why);
    assert_string_equal(wanted, why + strlen("run.sbt: "));
    free(text);
    cli_trace_close(&file.trace);
    remove_output();
}

static void decline(launch *l)
{
    l->record.head.state = TS_CAPTURE_DECLINED;
}
static void forget_code(launch *l)
{
    l->image.hash[0]++;
}
static void forget_memory(launch *l)
{
    l->record.region.before[0]++;
}
static void set_attribute(launch *l)
{
    l->record.attribute.id = TS_ATTRIBUTE_CUDA_LAUNCH;
    l->record.values[0] = 31;
}
static void use_variable(launch *l)
{
    l->record.region.image = 2;
}
static void use_own_variable(launch *l)
{
    l->record.region.image = 1;
    l->record.region.found = TS_CAPTURE_BY_GLOBAL;
}
static void use_host(launch *l)
{
    l->record.region.device = 0;
}
static void use_nothing(launch *l)
{
    l->record.region.size = 0;
}
static void use_image(launch *l)
{
    l->record.param.type = TS_PARAM_OBJECT;
}
static void keep(launch *l)
{
    (void)l;
}

UNIT_TEST(what_the_trace_lacks)
{
    refuses("cuda", TS_CAPTURE_PTX, decline,
            "the launches of 'gemm' were declined: ts-replay --execute shows "
            "why\n");
    refuses("cuda", TS_CAPTURE_PTX, forget_code,
            "the trace does not hold the kernel's code\n");
    refuses("cuda", TS_CAPTURE_PTX, forget_memory,
            "the trace does not hold the memory of this launch\n");
}

UNIT_TEST(launches_of_cuda_that_need_their_process)
{
    refuses("cuda", TS_CAPTURE_PTX, set_attribute,
            "the launch has an attribute that --extract cannot set\n");
    refuses("cuda", TS_CAPTURE_PTX, use_variable,
            "the launch accesses a module's variable by its address, which "
            "differs in each process\n");
    refuses("cuda", TS_CAPTURE_PTX, use_own_variable,
            "the kernel's code does not contain the names of its variables\n");
    refuses("cuda", TS_CAPTURE_PTX, use_host,
            "the launch accesses memory outside of its device\n");
    refuses("cuda", TS_CAPTURE_PTX, use_nothing,
            "the capture of this launch is damaged\n");
    refuses("cuda", TS_CAPTURE_OPENCL_C, keep,
            "its code is for another type of device\n");
}

UNIT_TEST(launches_of_opencl_that_cannot_be_written)
{
    refuses("opencl", TS_CAPTURE_PTX, keep,
            "--extract supports OpenCL kernels from source and from device "
            "binaries only\n");
    refuses("opencl", TS_CAPTURE_OPENCL_C, use_image,
            "the capture of this launch is damaged\n");
}

int main(void)
{
    return unit_run(begin, end);
}
