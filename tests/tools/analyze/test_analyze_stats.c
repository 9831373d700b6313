/*
    test_analyze_stats.c - kernels, copies, calls and zones, summed by hand
*/
#include "tests/tools/analyze/story_analyze.h"
#include "tools/analyze/figures/operations/api.h"
#include "tools/analyze/figures/operations/copies.h"
#include "tools/analyze/figures/operations/kernels.h"
#include "tools/analyze/figures/operations/zones.h"

typedef struct scene {
    story s;
    analyze_job job;
} scene;

static void close_scene(scene *x)
{
    analyze_close(&x->job);
    story_end(&x->s);
}

static const stats_row *row_of(const stats_rows *rows, const char *text)
{
    for (size_t i = 0; i < rows->count; i++)
        if (rows->rows[i].text.size == strlen(text) &&
            !memcmp(rows->rows[i].text.text, text, strlen(text)))
            return &rows->rows[i];
    print_error("no row is called '%s'\n", text);
    abort();
}

static void expect_sum(const stats_group *g, uint64_t count, int64_t total,
                       int64_t least, int64_t most)
{
    assert_int_equal(count, g->count);
    assert_int_equal(total, g->total_ns);
    assert_int_equal(least, g->least_ns);
    assert_int_equal(most, g->most_ns);
}

/* ---- Columns ------------------------------------------------------------- */

// Writes copies of the given sizes and opens the trace.
static void copies_of(scene *x, const uint64_t *sizes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const ts_writer_value value = { TS_COLUMN_SIZE, sizes[i] };
        ts_writer_event(x->s.writer, TS_EVENT_MEMCPY, S0, 100 * i, 10, &value,
                        1);
    }
    story_open(&x->s, &x->job, false);
}

UNIT_TEST(a_column_has_all_values_in_as_many_bytes_as_they_need)
{
    static const uint64_t largest[] = {
        1,       UINT8_MAX,  UINT8_MAX + 1, UINT16_MAX,
        1 << 16, UINT32_MAX, 1ull << 32,    UINT64_MAX,
    };
    static const size_t bytes[] = { 1, 1, 2, 2, 4, 4, 8, 8 };
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        scene x = { .s = story_begin() };
        const uint64_t sizes[] = { 0, largest[i], largest[i] / 2 };
        copies_of(&x, sizes, 3);
        const analyze_values *const v =
            analyze_column(&x.job, 0, TS_COLUMN_SIZE);
        assert_non_null(v);
        assert_int_equal(3, v->count);
        assert_int_equal(bytes[i], v->size);
        for (size_t k = 0; k < 3; k++)
            assert_true(analyze_value(v, k) == sizes[k]);
        assert_true(analyze_value(v, 3) == 0);
        assert_ptr_equal(v, analyze_column(&x.job, 0, TS_COLUMN_SIZE));
        close_scene(&x);
    }
}

UNIT_TEST(a_column_of_zeros_takes_no_memory)
{
    static const uint64_t sizes[2];
    scene x = { .s = story_begin() };
    copies_of(&x, sizes, 2);
    assert_null(analyze_column(&x.job, 0, TS_COLUMN_SIZE));
    assert_true(analyze_value(NULL, 0) == 0);
    close_scene(&x);
}

/* ---- Kernels ------------------------------------------------------------- */

UNIT_TEST(kernels_of_one_name_are_summed_over_streams_and_devices)
{
    scene x = { .s = story_begin() };
    story_kernel(&x.s, S0, 100, 110, "gemm", HOST, 50);
    story_kernel(&x.s, S1, 105, 125, "gemm", HOST, 60);
    story_kernel(&x.s, T0, 200, 206, "gemm", OTHER, 70);
    story_kernel(&x.s, S0, 300, 301, "relu", HOST, 80);
    story_open(&x.s, &x.job, false);
    kernels k;
    assert_true(kernels_open(&k, &x.job, true));
    assert_int_equal(2, k.names.count);
    const stats_row *const gemm = &k.names.rows[0];
    assert_string_equal("gemm", gemm->text.text);
    expect_sum(&gemm->sum, 3, 36, 6, 20);
    assert_int_equal(10, gemm->sum.p50_ns);
    assert_int_equal(20, gemm->sum.p95_ns); // two of three are 67 %
    assert_int_equal(100, gemm->sum.first_ns);
    assert_int_equal(200, gemm->sum.last_ns);
    assert_int_equal(105, gemm->sum.most_at_ns);
    expect_sum(&row_of(&k.names, "relu")->sum, 1, 1, 1, 1);
    kernels_close(&k);
    REPORT(x.s.path, "kernels,copies,api,zones");
    close_scene(&x);
}

UNIT_TEST(launch_configurations_are_distinguished)
{
    scene x = { .s = story_begin() };
    const uint32_t name = story_name(&x.s, "gemm");
    for (uint32_t i = 0; i < 3; i++) {
        const ts_launch_entry launch = { .name = name,
                                         .grid = { i < 2 ? 7 : 8, 1, 1 },
                                         .block = { 64, 1, 1 } };
        const ts_writer_value value = { TS_COLUMN_LAUNCH,
                                        ts_writer_launch(x.s.writer, &launch) };
        ts_writer_event(x.s.writer, TS_EVENT_KERNEL, S0 + i, 100 * i, 10 + i,
                        &value, 1);
    }
    story_open(&x.s, &x.job, false);
    kernels k;
    assert_true(kernels_open(&k, &x.job, true));
    assert_int_equal(1, k.names.count);
    assert_int_equal(2, k.configs.count);
    expect_sum(&k.configs.rows[0].sum, 2, 21, 10, 11);
    expect_sum(&k.configs.rows[1].sum, 1, 12, 12, 12);
    assert_int_equal(8, kernels_launch(&k, &k.configs.rows[1].sum)->grid[0]);
    assert_int_equal(D0, kernels_device(&k.configs.rows[1].sum));
    kernels_close(&k);
    REPORT(x.s.path, "kernels,copies,api,zones");
    close_scene(&x);
}

UNIT_TEST(instances_of_templates_can_be_one)
{
    for (int collapse = 0; collapse < 2; collapse++) {
        scene x = { .s = story_begin() };
        story_kernel(&x.s, S0, 100, 110, "void f<int>(int)", HOST, 50);
        story_kernel(&x.s, S0, 120, 150, "void f<char>(char)", HOST, 60);
        story_open(&x.s, &x.job, collapse);
        kernels k;
        assert_true(kernels_open(&k, &x.job, true));
        assert_int_equal(collapse ? 1 : 2, k.names.count);
        if (collapse)
            expect_sum(&row_of(&k.names, "f<...>")->sum, 2, 40, 10, 30);
        kernels_close(&k);
        REPORT(x.s.path, "kernels,copies,api,zones");
        close_scene(&x);
    }
}

UNIT_TEST(kernels_are_summed_by_zone_and_by_stack)
{
    scene x = { .s = story_begin() };
    const ts_module_entry module = { .path = story_name(&x.s, "/usr/bin/app") };
    const uint32_t app = ts_writer_module(x.s.writer, &module, NULL, 0);
    const ts_frame_entry frames[] = { { app, 0, 0x10 }, { app, 0, 0x200 } };
    const uint32_t stack = ts_writer_stack(x.s.writer, frames, 2);
    for (uint32_t i = 0; i < 3; i++) {
        const ts_writer_value values[] = {
            { TS_COLUMN_SITE, i ? story_site(&x.s, "forward") : 0 },
            { TS_COLUMN_STACK, i == 1 ? 0 : stack },
        };
        ts_writer_event(x.s.writer, TS_EVENT_KERNEL, S0, 100 * i, 10 + i,
                        values, 2);
    }
    story_open(&x.s, &x.job, false);
    kernels k;
    assert_true(kernels_open(&k, &x.job, true));
    assert_true(k.has_stacks);
    expect_sum(&row_of(&k.zones, "forward")->sum, 2, 23, 11, 12);
    expect_sum(&row_of(&k.zones, "(no zone)")->sum, 1, 10, 10, 10);
    expect_sum(&row_of(&k.stacks, "app+0x10 < app+0x200")->sum, 2, 22, 10, 12);
    expect_sum(&row_of(&k.stacks, "(no stack)")->sum, 1, 11, 11, 11);
    kernels_close(&k);
    REPORT(x.s.path, "kernels,copies,api,zones");
    close_scene(&x);
}

// Against a sort of all of them.
static int by_value(const void *left, const void *right)
{
    const int64_t *const a = left, *const b = right;
    return (*a > *b) - (*a < *b);
}

UNIT_TEST(quantiles_are_exact)
{
    enum { COUNT = 5000 };
    static int64_t values[COUNT];
    uint64_t random = 12345;
    scene x = { .s = story_begin() };
    for (int i = 0; i < COUNT; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        values[i] = (int64_t)(random >> 33) % (i % 3 ? 100 : 1000000);
        story_operation(&x.s, TS_EVENT_KERNEL, S0 + (uint32_t)i % 4,
                        10000000 + i, 10000000 + i + values[i], "k", 0, 0);
    }
    story_open(&x.s, &x.job, false);
    kernels k;
    assert_true(kernels_open(&k, &x.job, true));
    qsort(values, COUNT, sizeof *values, by_value);
    assert_int_equal(values[(COUNT - 1) / 2], k.names.rows[0].sum.p50_ns);
    assert_int_equal(values[(COUNT * 95 + 99) / 100 - 1],
                     k.names.rows[0].sum.p95_ns);
    kernels_close(&k);
    REPORT(x.s.path, "kernels,copies,api,zones");
    close_scene(&x);
}

/* ---- Copies -------------------------------------------------------------- */

static void put_copy(story *s, int64_t start, int64_t end, uint64_t type,
                     uint64_t size, uint64_t memory)
{
    const ts_writer_value values[] = { { TS_COLUMN_TYPE, type },
                                       { TS_COLUMN_SIZE, size },
                                       { TS_COLUMN_MEMORY, memory } };
    ts_writer_event(s->writer, TS_EVENT_MEMCPY, S0, start, end - start, values,
                    3);
}

UNIT_TEST(copies_are_summed_by_kind_memory_and_size)
{
    scene x = { .s = story_begin() };
    put_copy(&x.s, 0, 100, 1, 1000, 1 | 3 << 4);   // to device, pageable
    put_copy(&x.s, 100, 110, 1, 5000, 2 | 3 << 4); // pinned
    put_copy(&x.s, 200, 240, 2, 100, 3 | 1 << 4);  // to host, pageable
    put_copy(&x.s, 300, 301, 3, 1 << 30, 3 | 3 << 4);
    const ts_writer_value size = { TS_COLUMN_SIZE, 64 };
    ts_writer_event(x.s.writer, TS_EVENT_MEMSET, S1, 400, 2, &size, 1);
    story_open(&x.s, &x.job, false);
    copies c;
    assert_true(copies_open(&c, &x.job, true));
    assert_int_equal(4, c.kinds.count);
    expect_sum(&row_of(&c.kinds, "host to device")->sum, 2, 110, 10, 100);
    assert_int_equal(6000, row_of(&c.kinds, "host to device")->sum.bytes);
    expect_sum(&row_of(&c.kinds, "memset")->sum, 1, 2, 2, 2);
    expect_sum(&row_of(&c.memories, "host to device, pinned")->sum, 1, 10, 10,
               10);
    expect_sum(&row_of(&c.sizes, "host to device, to 64 KiB")->sum, 1, 10, 10,
               10);
    expect_sum(&row_of(&c.sizes, "device to device, larger")->sum, 1, 1, 1, 1);
    expect_sum(&c.pageable, 2, 140, 40, 100);
    assert_int_equal(1100, c.pageable.bytes);
    expect_sum(&c.pinned, 1, 10, 10, 10);
    copies_close(&c);
    REPORT(x.s.path, "kernels,copies,api,zones");
    close_scene(&x);
}

UNIT_TEST(sizes_that_no_memory_has_add_up_to_the_most)
{
    scene x = { .s = story_begin() };
    put_copy(&x.s, 0, 100, 1, UINT64_MAX - 1, 0);
    put_copy(&x.s, 100, 110, 1, 5000, 0);
    story_open(&x.s, &x.job, false);
    report *const r = report_open();
    copies c;
    assert_true(copies_open(&c, &x.job, true));
    assert_true(UINT64_MAX == c.kinds.rows[0].sum.bytes);
    assert_true(INT64_MAX == report_bytes(UINT64_MAX).number);
    copies_close(&c);
    assert_true(analyze_run(&x.job, "summary,copies", r));
    report_close(r);
    REPORT(x.s.path, "kernels,copies,api,zones");
    close_scene(&x);
}

/* ---- Calls --------------------------------------------------------------- */

static void put_call(story *s, uint32_t thread, int64_t start, int64_t end,
                     const char *name, uint64_t result)
{
    const ts_writer_value values[] = { { TS_COLUMN_NAME, story_name(s, name) },
                                       { TS_COLUMN_RESULT, result } };
    ts_writer_event(s->writer, TS_EVENT_API_CALL, thread, start, end - start,
                    values, 2);
}

UNIT_TEST(calls_are_summed_by_function_thread_and_result)
{
    scene x = { .s = story_begin() };
    put_call(&x.s, HOST, 0, 5, "cudaLaunchKernel", 0);
    put_call(&x.s, HOST, 10, 30, "cudaStreamSynchronize", 0);
    put_call(&x.s, OTHER, 40, 47, "cudaLaunchKernel", 700);
    story_open(&x.s, &x.job, false);
    api a;
    assert_true(api_open(&a, &x.job));
    expect_sum(&row_of(&a.names, "cudaLaunchKernel")->sum, 2, 12, 5, 7);
    expect_sum(&row_of(&a.threads, "thread 1")->sum, 2, 25, 5, 20);
    expect_sum(&row_of(&a.results, "cudaLaunchKernel: 700")->sum, 1, 7, 7, 7);
    expect_sum(&a.blocking, 1, 20, 20, 20);
    api_close(&a);
    REPORT(x.s.path, "kernels,copies,api,zones");
    close_scene(&x);
}

UNIT_TEST(functions_that_may_block_are_known_by_name)
{
    static const char *const yes[] = { "cudaDeviceSynchronize", "clFinish",
                                       "cuMemcpyDtoH_v2", "hipFree" };
    static const char *const no[] = { "cudaMemcpyAsync", "cudaLaunchKernel",
                                      "cudaFreeAsync", "" };
    for (size_t i = 0; i < 4; i++) {
        assert_true(api_may_block((ts_text){ yes[i], strlen(yes[i]) }));
        assert_false(api_may_block((ts_text){ no[i], strlen(no[i]) }));
    }
}

/* ---- Zones --------------------------------------------------------------- */

UNIT_TEST(zones_have_inclusive_exclusive_and_device_time)
{
    scene x = { .s = story_begin() };
    story_zone(&x.s, HOST, 100, 200, "forward");
    story_zone(&x.s, HOST, 300, 340, "forward");
    story_zone(&x.s, HOST, 0, 1000, "step");
    story_zone(&x.s, OTHER, 0, 50, "load");
    story_kernel(&x.s, S0, 5000, 5030, "gemm", HOST, 150);
    story_kernel(&x.s, S0, 6000, 6007, "relu", HOST, 500);
    story_kernel(&x.s, S0, 7000, 7001, "relu", HOST, 2000);
    story_open(&x.s, &x.job, false);
    zones z;
    assert_true(zones_open(&z, &x.job));
    assert_int_equal(3, z.rows.count);
    const stats_row *const step = row_of(&z.rows, "step");
    const stats_row *const forward = row_of(&z.rows, "forward");
    expect_sum(&forward->sum, 2, 140, 40, 100);
    const zone_times *const s = zones_times(&z, step);
    assert_int_equal(1000, s->inclusive_ns);
    assert_int_equal(860, s->exclusive_ns);
    assert_int_equal(37, s->gpu_ns);
    assert_int_equal(7, s->gpu_own_ns);
    assert_int_equal(140, zones_times(&z, forward)->exclusive_ns);
    assert_int_equal(30, zones_times(&z, forward)->gpu_ns);
    assert_int_equal(50,
                     zones_times(&z, row_of(&z.rows, "load"))->inclusive_ns);
    assert_int_equal(38, z.gpu_all_ns);
    assert_int_equal(1, z.gpu_none_ns);
    zones_close(&z);
    REPORT(x.s.path, "kernels,copies,api,zones");
    close_scene(&x);
}

UNIT_TEST(recursion_counts_once_in_inclusive_time)
{
    scene x = { .s = story_begin() };
    story_zone(&x.s, HOST, 20, 60, "fib");
    story_zone(&x.s, HOST, 10, 80, "fib");
    story_zone(&x.s, HOST, 0, 100, "fib");
    story_open(&x.s, &x.job, false);
    zones z;
    assert_true(zones_open(&z, &x.job));
    const stats_row *const fib = row_of(&z.rows, "fib");
    expect_sum(&fib->sum, 3, 210, 40, 100);
    assert_int_equal(100, zones_times(&z, fib)->inclusive_ns);
    assert_int_equal(100, zones_times(&z, fib)->exclusive_ns);
    zones_close(&z);
    REPORT(x.s.path, "kernels,copies,api,zones");
    close_scene(&x);
}

// As the PyTorch profiler has an annotation that begins within the call that
// makes it, and goes on when that has returned.
UNIT_TEST(zones_that_cross_share_no_moment)
{
    enum { LANE = 900, LANE_ALONE };
    scene x = { .s = story_begin() };
    story_zone(&x.s, HOST, 0, 1000, "next");
    story_zone(&x.s, HOST, 10, 40, "enter");
    story_zone(&x.s, HOST, 20, 900, "annotation");
    story_zone(&x.s, HOST, 100, 700, "resize");
    // What a device or a profiler has zones for is no time of a thread.
    story_track(x.s.writer, LANE, TS_TRACK_THREAD, D0, 0);
    const ts_track_entry alone = { .type = TS_TRACK_THREAD,
                                   .name = story_name(&x.s, "profiler spans") };
    ts_writer_track(x.s.writer, LANE_ALONE, &alone);
    story_zone(&x.s, LANE, 0, 800, "next");
    story_zone(&x.s, LANE_ALONE, 0, 1000, "the whole session");
    story_open(&x.s, &x.job, false);
    zones z;
    assert_true(zones_open(&z, &x.job));
    assert_int_equal(4, z.rows.count);
    static const struct {
        const char *name;
        int64_t exclusive_ns, inclusive_ns;
    } want[] = { { "next", 10 + 100, 1000 },
                 { "enter", 10, 30 },
                 { "annotation", 280, 880 },
                 { "resize", 600, 600 } };
    for (size_t i = 0; i < 4; i++) {
        const zone_times *const t =
            zones_times(&z, row_of(&z.rows, want[i].name));
        assert_int_equal(want[i].exclusive_ns, t->exclusive_ns);
        assert_int_equal(want[i].inclusive_ns, t->inclusive_ns);
    }
    assert_int_equal(1, z.paths.overlaps);
    zones_close(&z);
    REPORT(x.s.path, "kernels,copies,api,zones");
    close_scene(&x);
}

// Of five copies the three longest, each with its own rate and stream.
UNIT_TEST(single_copies_have_their_own_rates)
{
    static const struct {
        int64_t from, to;
        uint64_t size, memory;
    } made[] = { { 10, 20, 100, 1 },
                 { 30, 80, 5000, 2 },
                 { 90, 91, 1, 1 },
                 { 100, 130, 0, 1 },
                 { 140, 190, 100, 2 } };
    scene x = { .s = story_begin() };
    for (size_t i = 0; i < 5; i++) {
        const ts_writer_value values[] = {
            { TS_COLUMN_TYPE, 1 },
            { TS_COLUMN_SIZE, made[i].size },
            { TS_COLUMN_MEMORY, made[i].memory | 3 << 4 },
        };
        ts_writer_event(x.s.writer, TS_EVENT_MEMCPY, S0 + (uint32_t)i % 2,
                        made[i].from, made[i].to - made[i].from, values, 3);
    }
    story_open(&x.s, &x.job, false);
    copies c;
    assert_true(copies_open(&c, &x.job, true));
    assert_true(copies_find_longest(&c, 3));
    assert_int_equal(5, c.single_count);
    assert_int_equal(3, c.longest_count);
    const size_t want[] = { 1, 4, 3 };
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(made[want[i]].from, c.longest[i].start_ns);
        assert_int_equal(made[want[i]].size, c.longest[i].size);
        assert_int_equal(S0 + want[i] % 2, c.longest[i].track);
    }
    const ts_text text = copies_one_text(&c, &c.longest[0]);
    assert_string_equal("host to device, pinned", text.text);
    copies_close(&c);
    REPORT(x.s.path, "kernels,copies,api,zones");
    close_scene(&x);
}

/* ---- Rows ---------------------------------------------------------------- */

static ts_text same_text(const stats_group *group, void *user)
{
    return (ts_text){ "same", 4 };
}

// Keys are ids of a file: with the file of another, they name anything.
UNIT_TEST(a_row_of_several_files_has_file_and_keys_of_one)
{
    stats_map map = { 0 };
    stats_rows rows;
    stats_add(stats_find(&map, 0, 5, 6), 200, 10, 0);
    stats_add(stats_find(&map, 1, 7, 8), 100, 10, 0); // as long, but earlier
    assert_true(stats_rows_open(&rows, &map, same_text, NULL));
    assert_int_equal(1, rows.count);
    const stats_group *const sum = &rows.rows[0].sum;
    expect_sum(sum, 2, 20, 10, 10);
    assert_int_equal(100, sum->most_at_ns);
    assert_int_equal(1, sum->file);
    assert_int_equal(7, sum->key[0]);
    assert_int_equal(8, sum->key[1]);
    stats_rows_close(&rows);
    stats_close(&map);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
