/*
    test_execute_text.c - what ts-replay --execute prints

    Of results made by hand: 26 kernels, of which the first two were captured,
    as a kernel and as a launch of a graph. Word for word in
    test_execute_text.txt; UPDATE=1 rewrites it.
*/
#define _GNU_SOURCE // mkstemp, open_memstream
#define TRACESMITH_WRITER
#include "tests/tools/analyze/report_expected.h"
#include "tests/tools/printed.h"
#include "tests/tools/terminal.h"
#include "tools/replay/execute/execute.h"

#include <fcntl.h>
#include <unistd.h>

enum { PROCESS = 1, DEVICE, STREAM, ROWS = 26 };
static char path[] = "/tmp/ts-execute-XXXXXX";
static const cli_tool tool = { .name = "test" };

static uint32_t name_in(ts_writer *w, const char *text)
{
    return ts_writer_name(w, text, strlen(text));
}

// Two regions that no argument points to: of memory, and of the module.
static void put_kernel(ts_writer *w)
{
    struct {
        ts_capture_operation head;
        ts_capture_region regions[2];
    } r = { .head = { .type = TS_CAPTURE_OPERATION,
                      .track = STREAM,
                      .kind = TS_EVENT_KERNEL,
                      .state = TS_CAPTURE_WHOLE,
                      .correlation = 1,
                      .order = 1,
                      .image = 1,
                      .vendor = name_in(w, "abacus"),
                      .region_count = 2 } };
    r.regions[0].address = 0x10000;
    r.regions[0].size = 1 << 20;
    r.regions[1].address = 0x200000;
    r.regions[1].image = 1;
    r.regions[1].size = 4096;
    ts_writer_capture(w, &r, sizeof r);
}

static void put_graph(ts_writer *w)
{
    struct {
        ts_capture_operation head;
        uint8_t args[64];
        struct {
            ts_capture_attribute attribute;
            ts_capture_operation head;
        } nodes[2];
    } r = { .head = { .type = TS_CAPTURE_OPERATION,
                      .track = STREAM,
                      .kind = TS_EVENT_GRAPH_LAUNCH,
                      .state = TS_CAPTURE_WHOLE,
                      .correlation = 2,
                      .order = 2,
                      .args_size = 64 } };
    for (uint32_t i = 0; i < 2; i++) {
        r.nodes[i].attribute.id = TS_ATTRIBUTE_NODE;
        r.nodes[i].attribute.size = sizeof r.nodes[i].head;
        r.nodes[i].head.kind = TS_EVENT_KERNEL;
        r.nodes[i].head.image = 1;
        r.nodes[i].head.name = name_in(w, i ? "norm" : "gemm");
    }
    ts_writer_capture(w, &r, sizeof r);
}

static int make_trace(void **state)
{
    ts_writer *w;
    const ts_writer_desc desc = { .path = path };
    const int fd = mkstemp(path);
    if (fd < 0 || close(fd) || ts_writer_open(&w, &desc) != TS_OK) return -1;
    const ts_track_entry tracks[] = {
        { .type = TS_TRACK_PROCESS },
        { .type = TS_TRACK_DEVICE, .parent = PROCESS },
        { .type = TS_TRACK_STREAM, .parent = DEVICE, .number = 7 },
    };
    for (uint32_t i = 0; i < 3; i++)
        ts_writer_track(w, PROCESS + i, &tracks[i]);
    for (int64_t i = 0; i < ROWS; i++) {
        const ts_writer_value value = { TS_COLUMN_CORRELATION,
                                        (uint64_t)i + 1 };
        ts_writer_event(w, TS_EVENT_KERNEL, STREAM, 100 * i, 50, &value, 1);
    }
    const ts_module_entry module = { .path = name_in(w, "model.cubin") };
    ts_capture_image image = { .type = TS_CAPTURE_IMAGE,
                               .id = 1,
                               .size = 4096 };
    image.module = ts_writer_module(w, &module, "\1\2\3\4", 4);
    ts_writer_capture(w, &image, sizeof image);
    put_kernel(w);
    put_graph(w);
    return ts_writer_close(w) == TS_OK ? 0 : -1;
}

static int remove_trace(void **state)
{
    return unlink(path);
}

typedef struct result {
    replay_file file;
    replay_job replay;
    execute_options options;
    execute_row rows[ROWS];
    ts_executor executor;
    execute_job job;
} result;

// All rows were executed, as recorded.
static void open_result(result *r)
{
    memset(r, 0, sizeof *r);
    r->file.path = path;
    r->replay = (replay_job){
        .tool = &tool, .path = path, .files = &r->file, .file_count = 1
    };
    assert_true(
        cli_trace_open(&r->file.trace, &tool, path, NULL, CLI_WARN_ALL));
    assert_int_equal(TS_OK, replay_open(&r->replay, (ts_replay_desc){ 0 }));
    r->executor.name = "cuda";
    r->job = (execute_job){ .replay = &r->replay,
                            .options = &r->options,
                            .reader = replay_reader(&r->replay, 0),
                            .executor = &r->executor,
                            .rows = r->rows,
                            .count = ROWS,
                            .captured = ROWS,
                            .executed = ROWS,
                            .compared = ROWS,
                            .first = ROWS,
                            .levels = { 0, ROWS } };
    for (uint32_t i = 0; i < ROWS; i++) {
        r->rows[i] = (execute_row){ .operation = i,
                                    .capture = i < 2 ? i : EXECUTE_NONE };
        r->rows[i].item.outcome = TS_OUTCOME_EXECUTED;
        r->rows[i].item.level = 1;
        r->rows[i].item.compared = true;
    }
}

static void close_result(result *r)
{
    ts_replay_close(r->replay.replay);
    cli_trace_close(&r->file.trace);
}

static void says(const char *test, const result *r)
{
    FILE *const before = printed_begin(&stdout);
    execute_text(&r->job);
    report_check(__FILE__, test, printed_end(&stdout, before),
                 (const char *const[]){ path }, 1);
}
#define SAYS(r) says(__func__, &(r))

UNIT_TEST(memory_that_differs_by_its_hash)
{
    result r;
    open_result(&r);
    ts_execution_item *item = &r.rows[0].item;
    r.job.first = 0;
    r.job.diverged = 1;
    item->diverged = true;
    item->address = 0x10000;
    item->size = 1 << 20;
    item->offset = 65536;
    item->chunks = 16;
    item->chunks_different = 3;
    r.job.confined = (execute_confined){ .tried = true,
                                         .privileges = true,
                                         .limits = true,
                                         .calls = true,
                                         .shared_memory = true };
    SAYS(r);
    item->region = 1; // of the module
    r.job.confined.landlock = 3;
    SAYS(r);
    r.job.confined.files = true;
    r.rows[0].item.diverged = false;
    r.rows[1].item = *item;
    r.rows[1].item.diverged = true;
    r.job.first = 1;
    SAYS(r);
    close_result(&r);
}

UNIT_TEST(runs_that_differ_from_each_other)
{
    result r;
    open_result(&r);
    r.options.loops = 3;
    r.job.unstable = 1;
    r.rows[2].item.unstable = true;
    SAYS(r);
    r.job.unstable = r.job.diverged = 2;
    r.rows[3].item.unstable = r.rows[3].item.diverged = true;
    r.rows[3].item.address = 0x2000;
    r.rows[3].item.largest = 0.5;
    SAYS(r);
    close_result(&r);
}

UNIT_TEST(one_graph_with_memory_from_the_record)
{
    result r;
    open_result(&r);
    r.options.overlap = r.options.as_graph = true;
    r.options.loops = 100;
    r.job.whole = (ts_execution_whole){ .parts = 1,
                                        .streams = 2,
                                        .events = 3,
                                        .regions = 4,
                                        .ns = 5000,
                                        .sequential_ns = 7000,
                                        .graph_ns = 4000 };
    r.job.work_ns = 1300;
    r.job.span_ns = 2550;
    r.job.nodes = 12;
    r.job.parts = 3;
    r.job.patched = 2 * ROWS;
    r.job.patched_different = 1;
    for (uint32_t i = 0; i < ROWS; i++) {
        r.rows[i].capture = 0;
        r.rows[i].item.patched = 2;
        r.rows[i].item.patched_address = 0x3000;
    }
    SAYS(r);
    close_result(&r);
}

// The rows that differ are shown, then those that could not run.
UNIT_TEST(more_rows_than_are_shown)
{
    result r;
    open_result(&r);
    for (uint32_t i = 0; i < ROWS; i++)
        r.rows[i].item.diverged = i < 3;
    r.job.diverged = 3;
    SAYS(r);
    for (uint32_t i = 3; i < ROWS - 1; i++) {
        r.rows[i].item.outcome = TS_OUTCOME_DECLINED;
        r.rows[i].item.reason = TS_REASON_NO_MEMORY;
    }
    r.job.declined = ROWS - 4;
    SAYS(r);
    close_result(&r);
}

UNIT_TEST(code_of_others_does_not_run)
{
    result r;
    open_result(&r);
    const int in = open("/dev/null", O_RDONLY), old = dup(STDIN_FILENO);
    assert_true(in >= 0 && old >= 0 && dup2(in, STDIN_FILENO) >= 0);
    FILE *const before = printed_begin(&stderr);
    const bool trusted = execute_trusted(&r.job);
    char *const text = printed_end(&stderr, before);
    assert_true(dup2(old, STDIN_FILENO) >= 0 && !close(in) && !close(old));
    assert_false(trusted);
    report_check(__FILE__, __func__, text, (const char *const[]){ path }, 1);
    close_result(&r);
}

static void ask_trust(void *user)
{
    printf("%s\n", execute_trusted(user) ? "trusted" : "not trusted");
}

UNIT_TEST(who_sits_at_a_terminal_is_asked)
{
    static char said[4000];
    result r;
    open_result(&r);
    terminal_run(said, sizeof said, 24, 80, "n\n", ask_trust, &r.job);
    assert_non_null(
        strstr(said, "Trust this file from now on and run its code? [y/N] n"));
    assert_non_null(strstr(said, "not trusted"));
    close_result(&r);
}

UNIT_TEST(a_backend_that_does_not_exist)
{
    result r;
    open_result(&r);
    FILE *const before = printed_begin(&stderr);
    const int code = execute_run(&r.replay, &r.options);
    r.executor.name = "abacus";
    const bool extracted = execute_extract(&r.job);
    char *const text = printed_end(&stderr, before);
    assert_int_equal(REPLAY_UNSUPPORTED, code);
    assert_false(extracted);
    report_check(__FILE__, __func__, text, (const char *const[]){ path }, 1);
    close_result(&r);
}

int main(void)
{
    return unit_run(make_trace, remove_trace);
}
