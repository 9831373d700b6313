/*
    test_analyze_occupancy.c - what fits on a multiprocessor, by hand
*/
#include "tests/tools/analyze/story_analyze.h"
#include "tools/analyze/figures/operations/occupancy.h"
#include "tools/analyze/report/parts.h"

// An A100: compute capability 8.0.
static const occupancy_limits a100 = {
    .multiprocessors = 108,
    .warp_threads = 32,
    .threads = 2048,
    .blocks = 32,
    .registers = 65536,
    .shared = 167936,
    .register_unit = 256,
    .shared_unit = 128,
    .shared_reserved = 1024,
};

static occupancy of(uint32_t grid, uint32_t block, uint32_t registers,
                    uint32_t shared)
{
    const ts_launch_entry launch = { .grid = { grid, 1, 1 },
                                     .block = { block, 1, 1 },
                                     .registers = registers,
                                     .dynamic_shared = shared };
    occupancy o;
    assert_true(occupancy_of(&a100, &launch, &o));
    return o;
}

UNIT_TEST(threads_fill_a_multiprocessor)
{
    // 256 threads are 8 warps, of which 64 fit: 8 blocks, 864 on all.
    const occupancy o = of(864, 256, 32, 0);
    assert_int_equal(8, o.blocks);
    assert_int_equal(64 * 108, o.warps);
    assert_int_equal(64 * 108, o.warps_most);
    assert_int_equal(OCCUPANCY_WARPS, o.limiter);
    assert_int_equal(864, o.wave_blocks);
    assert_int_equal(1, o.waves);
    assert_int_equal(2, of(865, 256, 32, 0).waves);
}

UNIT_TEST(small_blocks_are_limited_by_their_number)
{
    // 32 blocks of one warp: half of 64.
    const occupancy o = of(1000000, 32, 16, 0);
    assert_int_equal(32, o.blocks);
    assert_int_equal(32 * 108, o.warps);
    assert_int_equal(OCCUPANCY_BLOCKS, o.limiter);
}

UNIT_TEST(registers_are_given_to_warps_of_a_partition)
{
    // 168 x 32 = 5376 registers a warp, 16384 in a partition: 3 warps, 12 in
    // all; blocks of 8 warps: one.
    const occupancy o = of(1000000, 256, 168, 0);
    assert_int_equal(1, o.blocks);
    assert_int_equal(8 * 108, o.warps);
    assert_int_equal(OCCUPANCY_REGISTERS, o.limiter);
    // 33 x 32 = 1056, rounded up 1280: 12 warps a partition, 48, 6 blocks.
    assert_int_equal(6, of(1000000, 256, 33, 0).blocks);
}

UNIT_TEST(shared_memory_counts_what_the_system_takes)
{
    // 49152 + 1024 = 50176 in 167936: 3 blocks of 4 warps.
    const occupancy o = of(1000000, 128, 32, 49152);
    assert_int_equal(3, o.blocks);
    assert_int_equal(OCCUPANCY_SHARED, o.limiter);
    // 54954 + 1024 = 55978, rounded up 56064: 2 blocks; 3 x 55978 would fit.
    assert_int_equal(2, of(1000000, 128, 32, 54954).blocks);
}

UNIT_TEST(a_small_grid_fills_what_it_has)
{
    const occupancy o = of(54, 256, 32, 0);
    assert_int_equal(OCCUPANCY_GRID, o.limiter);
    assert_int_equal(54 * 8, o.warps);
    assert_int_equal(1, o.waves);
}

UNIT_TEST(impossible_launches_have_no_occupancy)
{
    static const ts_launch_entry launches[] = {
        { .grid = { 1, 1, 1 }, .block = { 0, 1, 1 } },
        { .grid = { 0, 1, 1 }, .block = { 32, 1, 1 } },
        { .grid = { 1, 1, 1 }, .block = { 4096, 1, 1 } },
        { .grid = { 1, 1, 1 },
          .block = { UINT32_MAX, UINT32_MAX, UINT32_MAX } },
        { .grid = { 1, 1, 1 }, .block = { 32, 1, 1 }, .registers = UINT32_MAX },
        { .grid = { 1, 1, 1 },
          .block = { 32, 1, 1 },
          .static_shared = UINT32_MAX,
          .dynamic_shared = UINT32_MAX },
    };
    occupancy o;
    for (size_t i = 0; i < sizeof launches / sizeof *launches; i++)
        assert_false(occupancy_of(&a100, &launches[i], &o));
    assert_false(occupancy_of(&a100, NULL, &o));
    const ts_launch_entry huge = { .grid = { UINT32_MAX, UINT32_MAX, 4 },
                                   .block = { 32, 1, 1 } };
    assert_true(occupancy_of(&a100, &huge, &o));
    assert_true(o.waves > 0);
}

static void put_fact(story *s, const char *key, int64_t value)
{
    ts_writer_metadata(s->writer, D0, key, TS_VALUE_INT, (uint64_t)value);
}

UNIT_TEST(what_metadata_lacks_is_published)
{
    story s = story_begin();
    put_fact(&s, "compute_major", 8);
    put_fact(&s, "compute_minor", 6);
    put_fact(&s, "multiprocessors", 82);
    put_fact(&s, "shared_mem_per_multiprocessor", 65536);
    story_read(&s);
    occupancy_limits l;
    assert_true(occupancy_device(s.reader, D0, &l));
    assert_int_equal(16, l.blocks);
    assert_int_equal(1536, l.threads);
    assert_int_equal(65536, l.registers);
    assert_int_equal(65536, l.shared); // not the 100 KiB of the table
    assert_int_equal(82, l.multiprocessors);
    assert_int_equal(1024, l.shared_reserved);
    assert_false(occupancy_device(s.reader, D1, &l));
    REPORT(s.path, "kernels");
    story_end(&s);
}

// A device of 4 multiprocessors for 1,024 threads each: 128 warps in all.
static void put_device(story *s)
{
    put_fact(s, "compute_major", 8);
    put_fact(s, "multiprocessors", 4);
    put_fact(s, "max_threads_per_multiprocessor", 1024);
}

static void put_launch(story *s, ts_event_kind kind, const char *name,
                       uint32_t grid, int64_t from, int64_t to)
{
    const ts_launch_entry launch = { .name = story_name(s, name),
                                     .grid = { grid, 1, 1 },
                                     .block = { 256, 1, 1 },
                                     .registers = 32 };
    const ts_writer_value values[] = {
        { TS_COLUMN_LAUNCH, ts_writer_launch(s->writer, &launch) },
        { TS_COLUMN_NAME, launch.name },
    };
    ts_writer_event(s->writer, kind, S0, from, to - from, values,
                    kind == TS_EVENT_COLLECTIVE ? 2 : 1);
}

static const report_figure_line *figure_of(const report_section *s,
                                           const char *key)
{
    for (size_t i = 0; i < s->figure_count; i++)
        if (!strcmp(s->figures[i].key, key)) return &s->figures[i];
    fail_msg("there is no figure %s", key);
    return NULL;
}

/*
    Kernel full, of 16 blocks, fills the device for 30 us, kernel part, of one
    block, for 10 us. A collective of one block takes 60 us: it may be as small
    as it likes.
*/
UNIT_TEST(collectives_are_in_no_sum_of_occupancy)
{
    for (int with = 0; with < 2; with++) {
        story s = story_begin();
        analyze_job job;
        put_device(&s);
        put_launch(&s, TS_EVENT_KERNEL, "full", 16, 0, 30000);
        put_launch(&s, TS_EVENT_KERNEL, "part", 1, 30000, 40000);
        if (with)
            put_launch(&s, TS_EVENT_COLLECTIVE, "all_reduce", 1, 40000, 100000);
        story_open(&s, &job, false);
        report *const r = report_open();
        assert_true(analyze_run(&job, "kernels", r));
        const report_figure_line *const low =
            figure_of(r->sections, "low_occupancy");
        assert_string_equal(with ? "low occupancy, no collectives"
                                 : "time at low occupancy",
                            low->label);
        assert_int_equal(10000, low->value.number); // of part alone
        assert_int_equal(40000, low->value.of);     // of kernels alone
        const report_value all = figure_of(r->sections, "total_ns")->value;
        assert_int_equal(with ? 100000 : 40000, all.number); // with it
        report_close(r);
        analyze_close(&job);
        REPORT(s.path, "kernels");
        story_end(&s);
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
