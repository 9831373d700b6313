/*
    test_analyze_memory.c - who holds memory, by hand-made allocations
*/
#include "tests/tools/analyze/story_analyze.h"
#include "tools/analyze/job/private.h"
#include "tools/analyze/figures/operations/memory.h"

static memory computed(story *s)
{
    memory m;
    story_read(s);
    const memory_file file = { .reader = s->reader };
    assert_true(memory_compute(&m, &file, 1, 100));
    return m;
}

static void done(story *s, memory *m)
{
    memory_close(m);
    story_end(s);
}

static const char *path_of(const memory *m, uint32_t path)
{
    static char text[256];
    paths_text(&m->paths, path, text, sizeof text);
    return text;
}

/* ---- Peaks -------------------------------------------------------------- */

UNIT_TEST(the_peak_is_the_most_that_was_held_at_once)
{
    story s = story_begin();
    story_zone(&s, HOST, 0, 1000, "run");
    story_zone(&s, HOST, 100, 200, "load");
    story_alloc(&s, HOST, 50, 0x1000, 10, NULL, NULL);
    story_alloc(&s, HOST, 150, 0x2000, 30, NULL, NULL);
    story_alloc(&s, HOST, 160, 0x3000, 20, NULL, NULL); // 60: the peak
    story_free(&s, HOST, 300, 0x2000, NULL);
    story_alloc(&s, HOST, 400, 0x2000, 25, NULL, NULL); // 55
    story_free(&s, HOST, 500, 0x1000, NULL);
    memory m = computed(&s);
    assert_int_equal(1, m.pool_count);
    assert_int_equal(60, m.pools[0].peak_size);
    assert_int_equal(160, m.pools[0].peak_ns);
    assert_int_equal(3, m.pools[0].peak_count);
    assert_int_equal(45, m.pools[0].live_size);
    assert_int_equal(4, m.pools[0].allocations);
    assert_int_equal(85, m.pools[0].allocated_size);
    assert_int_equal(0, m.fault_counts[MEMORY_UNKNOWN_FREE]);

    memory_group *groups;
    size_t count;
    assert_true(memory_groups(&m, MEMORY_BY_PATH, false, &groups, &count));
    assert_int_equal(2, count);
    assert_int_equal(50, groups[0].size);
    assert_int_equal(2, groups[0].count);
    assert_string_equal("load < run", path_of(&m, groups[0].value));
    assert_int_equal(10, groups[1].size);
    assert_string_equal("run", path_of(&m, groups[1].value));
    free(groups);
    assert_true(memory_groups(&m, MEMORY_BY_SIZE, false, &groups, &count));
    assert_int_equal(2, count); // 17 to 32 bytes, 9 to 16
    assert_int_equal(5, groups[0].value);
    assert_int_equal(4, groups[1].value);
    free(groups);
    REPORT(s.path, "memory");
    done(&s, &m);
}

UNIT_TEST(what_happens_at_one_nanosecond_happens_at_once)
{
    story s = story_begin();
    story_alloc(&s, HOST, 10, 0x1000, 100, NULL, NULL);
    // Moved at once: never 200, and the address is free when it is taken.
    story_alloc(&s, HOST, 20, 0x1000, 100, NULL, NULL);
    story_free(&s, HOST, 20, 0x1000, NULL);
    story_alloc(&s, HOST, 30, 0x2000, 5, NULL, NULL);
    story_free(&s, HOST, 30, 0x2000, NULL);
    memory m = computed(&s);
    assert_int_equal(100, m.pools[0].peak_size);
    assert_int_equal(100, m.pools[0].live_size);
    assert_int_equal(1, m.pools[0].live_count);
    for (int i = 0; i < MEMORY_FAULTS; i++)
        assert_int_equal(0, m.fault_counts[i]);
    REPORT(s.path, "memory");
    done(&s, &m);
}

UNIT_TEST(pools_devices_and_kinds_of_memory_are_separate)
{
    story s = story_begin();
    story_alloc(&s, HOST, 10, 0x1000, 1, NULL, NULL);
    story_alloc(&s, HOST, 20, 0x1000, 2, "cache", NULL);
    story_gpu_alloc(&s, C0, 30, 0x1000, 4, 3, HOST);
    story_gpu_alloc(&s, S1, 40, 0x2000, 8, 2, HOST);
    story_gpu_alloc(&s, C1, 50, 0x1000, 16, 3, HOST);
    story_gpu_free(&s, S0, 60, 0x1000); // of device 0, from another track
    story_free(&s, OTHER, 70, 0x1000, "cache");
    memory m = computed(&s);
    assert_int_equal(5, m.pool_count);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(1 << i, m.pools[i].peak_size);
    assert_int_equal(5, m.pools[1].name.size);
    assert_int_equal(D0, m.pools[2].device);
    assert_int_equal(3, m.pools[2].memory);
    assert_int_equal(2, m.pools[3].memory);
    assert_int_equal(D1, m.pools[4].device);
    const uint64_t live[] = { 1, 0, 0, 8, 16 };
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(live[i], m.pools[i].live_size);
    assert_int_equal(0, m.fault_counts[MEMORY_UNKNOWN_FREE]);
    REPORT(s.path, "memory");
    done(&s, &m);
}

// Two more processes, which use one device that belongs to neither.
enum { SECOND = 30, THIRD, ITS_THREAD, THEIRS, SHARED };
static story story_of_processes(void)
{
    story s = story_begin();
    story_track(s.writer, SECOND, TS_TRACK_PROCESS, 0, 7);
    story_track(s.writer, THIRD, TS_TRACK_PROCESS, 0, 8);
    story_track(s.writer, ITS_THREAD, TS_TRACK_THREAD, SECOND, 7);
    story_track(s.writer, THEIRS, TS_TRACK_THREAD, THIRD, 8);
    story_track(s.writer, SHARED, TS_TRACK_DEVICE, 0, 9);
    return s;
}

UNIT_TEST(each_process_has_its_own_addresses)
{
    story s = story_of_processes();
    story_alloc(&s, HOST, 10, 0x1000, 100, NULL, NULL);
    story_alloc(&s, ITS_THREAD, 20, 0x1000, 7, NULL, NULL);
    story_alloc(&s, THEIRS, 30, 0x1000, 3, "cache", NULL);
    story_free(&s, OTHER, 40, 0x1000, NULL);
    story_gpu_alloc(&s, SHARED, 50, 0x1000, 40, 3, ITS_THREAD);
    story_gpu_alloc(&s, SHARED, 60, 0x1000, 2, 3, THEIRS);
    const ts_writer_value values[] = { { TS_COLUMN_ADDRESS, 0x1000 },
                                       { TS_COLUMN_THREAD, ITS_THREAD } };
    ts_writer_event(s.writer, TS_EVENT_GPU_FREE, SHARED, 70, 0, values, 2);
    memory m = computed(&s);
    assert_int_equal(4, m.pool_count); // the device's is one
    const uint64_t peak[] = { 100, 7, 3, 42 }, live[] = { 0, 7, 3, 2 };
    const uint32_t process[] = { PROCESS, SECOND, THIRD, 0 };
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(peak[i], m.pools[i].peak_size);
        assert_int_equal(live[i], m.pools[i].live_size);
        assert_int_equal(process[i], m.pools[i].process);
    }
    for (int i = 0; i < MEMORY_FAULTS; i++)
        assert_int_equal(0, m.fault_counts[i]);
    REPORT(s.path, "memory");
    done(&s, &m);
}

UNIT_TEST(lines_keep_their_value_between_rows)
{
    story s = story_begin();
    story_alloc(&s, HOST, 0, 0x1000, 10, NULL, "weights");
    story_alloc(&s, HOST, 4800, 0x2000, 5, NULL, "state");
    story_free(&s, HOST, 4801, 0x2000, NULL);
    memory m = computed(&s);
    assert_int_equal(3, m.line_count);
    assert_int_equal(1, m.pool_lines);
    assert_int_equal(10, m.lines[0].most[0]);
    assert_int_equal(10, m.lines[0].most[200]);
    assert_int_equal(15, m.lines[0].most[436]); // 4800 / 11 ns
    assert_int_equal(10, m.lines[0].most[437]);
    assert_int_equal(4796, memory_slice_ns(&m, 436));
    assert_int_equal(10, m.lines[1].most[479]);
    assert_int_equal(5, m.lines[2].peak);
    REPORT(s.path, "memory");
    done(&s, &m);
}

/* ---- Faults ------------------------------------------------------------- */

UNIT_TEST(faults_are_distinguished)
{
    story s = story_begin();
    story_zone(&s, HOST, 0, 1000, "run");
    story_alloc(&s, HOST, 10, 0x1000, 8, NULL, NULL);
    story_free(&s, HOST, 20, 0x1000, NULL);
    story_free(&s, HOST, 30, 0x1000, NULL);         // twice
    story_free(&s, HOST, 40, 0x5000, NULL);         // never seen
    story_free(&s, HOST, 50, 0x1000, "other pool"); // never seen there
    story_alloc(&s, HOST, 60, 0x2000, 8, NULL, NULL);
    story_alloc(&s, HOST, 70, 0x2000, 16, NULL, NULL); // a free was lost
    story_free(&s, HOST, 80, 0, NULL);                 // means nothing
    story_alloc(&s, HOST, 90, 0, 16, NULL, NULL);      // failed
    story_alloc(&s, HOST, 95, UINT64_MAX - 3, 16, NULL, NULL);
    memory m = computed(&s);
    assert_int_equal(1, m.fault_counts[MEMORY_DOUBLE_FREE]);
    assert_int_equal(2, m.fault_counts[MEMORY_UNKNOWN_FREE]);
    assert_int_equal(1, m.fault_counts[MEMORY_REPLACED]);
    assert_int_equal(4, m.fault_count);
    assert_int_equal(MEMORY_DOUBLE_FREE, m.faults[0].kind);
    assert_int_equal(30, m.faults[0].time_ns);
    assert_int_equal(0x1000, m.faults[0].address);
    assert_int_equal(20, m.blocks[m.faults[0].block].to_ns);
    assert_string_equal("run", path_of(&m, m.faults[0].path));
    assert_int_equal(MEMORY_REPLACED, m.faults[3].kind);
    assert_int_equal(70, m.blocks[m.faults[3].block].to_ns);
    assert_int_equal(1, m.failed);
    assert_int_equal(1, m.bad);
    assert_int_equal(16, m.pools[0].live_size);
    assert_int_equal(16, m.pools[0].peak_size);
    REPORT(s.path, "memory");
    done(&s, &m);
}

UNIT_TEST(what_is_never_freed_is_grouped_by_where_it_comes_from)
{
    story s = story_begin();
    for (int i = 0; i < 3; i++) {
        story_zone(&s, HOST, 100 * i, 100 * i + 50, "step");
        story_alloc(&s, HOST, 100 * i + 10, 0x1000 + 16u * (unsigned)i, 16,
                    NULL, NULL);
        story_alloc(&s, HOST, 100 * i + 20, 0x9000, 1 << 20, NULL, NULL);
        story_free(&s, HOST, 100 * i + 30, 0x9000, NULL);
    }
    memory m = computed(&s);
    memory_group *groups;
    size_t count;
    assert_true(memory_groups(&m, MEMORY_BY_PATH, true, &groups, &count));
    assert_int_equal(1, count);
    assert_int_equal(48, groups[0].size);
    assert_int_equal(3, groups[0].count);
    assert_int_equal(10, m.blocks[groups[0].first].from_ns);
    free(groups);
    REPORT(s.path, "memory");
    done(&s, &m);
}

/* ---- Holes, churn ------------------------------------------------------- */

UNIT_TEST(holes_are_where_blocks_lay_before_the_peak)
{
    story s = story_begin();
    // Four neighbours of 100, two of them freed, and a far one.
    for (unsigned i = 0; i < 4; i++)
        story_alloc(&s, HOST, 10 + i, 0x1000 + 100 * i, 100, NULL, NULL);
    story_alloc(&s, HOST, 20, 0x9000, 50, NULL, NULL);
    story_free(&s, HOST, 30, 0x1000 + 100, NULL);
    story_free(&s, HOST, 31, 0x1000 + 200, NULL);
    story_free(&s, HOST, 32, 0x9000, NULL);
    story_alloc(&s, HOST, 40, 0x1000 + 100, 20, NULL, NULL); // into the hole
    story_alloc(&s, HOST, 50, 0x5000, 1000, NULL, NULL);     // the peak
    story_alloc(&s, HOST, 60, 0x7000, 1, NULL, NULL);
    story_free(&s, HOST, 60, 0x1000, NULL);
    memory m = computed(&s);
    assert_int_equal(1220, m.pools[0].peak_size);
    assert_int_equal(50, m.pools[0].peak_ns);
    assert_int_equal(2, m.pools[0].holes); // 0x1078 to 0x112C, the far one
    assert_int_equal(230, m.pools[0].known_free);
    assert_int_equal(180, m.pools[0].largest_hole);
    REPORT(s.path, "memory");
    done(&s, &m);
}

UNIT_TEST(churn_is_counted_by_size_and_place)
{
    story s = story_begin();
    for (int i = 0; i < 10; i++) {
        story_zone(&s, HOST, 1000 * i, 1000 * i + 500, "step");
        story_alloc(&s, HOST, 1000 * i + 10, 0x1000, 64, NULL, NULL);
        story_free(&s, HOST, 1000 * i + (i < 4 ? 60 : 400), 0x1000, NULL);
    }
    story_alloc(&s, HOST, 20000, 0x1000, 64, NULL, NULL); // outside
    memory m = computed(&s);
    assert_int_equal(2, m.use_count);
    assert_int_equal(64, m.uses[0].size);
    assert_int_equal(10, m.uses[0].count);
    assert_int_equal(10, m.uses[0].freed);
    assert_int_equal(4, m.uses[0].short_lived); // below 100 ns
    assert_int_equal(4 * 50 + 6 * 390, m.uses[0].lifetime_ns);
    assert_int_equal(1, m.uses[0].most);
    assert_int_equal(1, m.uses[1].count);
    REPORT(s.path, "memory");
    done(&s, &m);
}

/* ---- Zones -------------------------------------------------------------- */

UNIT_TEST(a_path_is_that_of_the_thread_at_that_time)
{
    story s = story_begin();
    story_zone(&s, HOST, 0, 100, "a");
    story_zone(&s, HOST, 10, 50, "b");
    story_zone(&s, HOST, 20, 30, "c");
    story_zone(&s, OTHER, 0, 100, "other");
    story_read(&s);
    path_tree p;
    paths_query q[] = {
        { 5, HOST, 0, 0 },   { 20, HOST, 1, 0 },  { 30, HOST, 2, 0 },
        { 100, HOST, 3, 0 }, { 25, OTHER, 4, 0 }, { 25, HOST, 5, 0 },
    };
    const char *const want[] = { "a", "c < b < a", "b < a",
                                 "",  "other",     "c < b < a" };
    assert_true(paths_open(&p));
    assert_true(paths_resolve(&p, s.reader, q, 6));
    for (size_t i = 0; i < 6; i++) {
        char text[64];
        paths_text(&p, q[i].node, text, sizeof text);
        assert_string_equal(want[q[i].owner], text);
    }
    assert_true(paths_zones(&p, s.reader));
    // a: 100 - 40, b: 40 - 10, c: 10.
    int64_t own[4] = { 0 };
    for (uint32_t i = 1; i < p.node_count; i++)
        own[p.names[p.nodes[i].name].text[0] == 'o'
                ? 3
                : p.names[p.nodes[i].name].text[0] - 'a'] += p.nodes[i].own_ns;
    assert_int_equal(60, own[0]);
    assert_int_equal(30, own[1]);
    assert_int_equal(10, own[2]);
    assert_int_equal(100, own[3]);
    paths_close(&p);
    REPORT(s.path, "memory,flame,zones");
    story_end(&s);
}

UNIT_TEST(deep_nesting_is_cut_and_counted)
{
    story s = story_begin();
    for (int i = 0; i < 600; i++)
        story_zone(&s, HOST, i, 2000 - i, "deep");
    story_read(&s);
    path_tree p;
    paths_query q = { 900, HOST, 0, 0 };
    char text[40];
    assert_true(paths_open(&p));
    assert_true(paths_resolve(&p, s.reader, &q, 1));
    assert_int_equal(PATHS_DEPTH_MOST, p.nodes[q.node].depth);
    assert_int_equal(600 - PATHS_DEPTH_MOST, p.cut);
    paths_text(&p, q.node, text, sizeof text);
    assert_string_equal("deep < deep < deep < deep < deep < ...", text);
    paths_close(&p);
    REPORT(s.path, "memory,flame,zones");
    story_end(&s);
}

UNIT_TEST(a_trace_without_allocations_has_no_pool)
{
    story s = story_begin();
    story_zone(&s, HOST, 0, 100, "a");
    memory m = computed(&s);
    assert_int_equal(0, m.rows);
    assert_int_equal(0, m.pool_count);
    REPORT(s.path, "memory");
    done(&s, &m);
}

UNIT_TEST(frees_alone_are_no_peak_of_nothing)
{
    story s = story_begin();
    story_free(&s, HOST, 10, 0x1000, NULL);
    story_free(&s, HOST, 20, 0x2000, "cache");
    story_read(&s);
    REPORT(s.path, "memory");
    story_end(&s);
}

UNIT_TEST(nothing_is_left_of_what_was_freed)
{
    story s = story_begin();
    story_alloc(&s, HOST, 10, 0x1000, 64, NULL, NULL);
    story_free(&s, HOST, 20, 0x1000, NULL);
    story_read(&s);
    REPORT(s.path, "memory");
    story_end(&s);
}

UNIT_TEST(blocks_are_listed_by_stack)
{
    story s = story_begin();
    for (uint32_t i = 0; i < 2; i++) {
        const ts_frame_entry frame = { .offset = 0x400 + i };
        const ts_writer_value values[] = {
            { TS_COLUMN_ADDRESS, 0x1000 * (i + 1) },
            { TS_COLUMN_SIZE, UINT64_C(64) << i },
            { TS_COLUMN_STACK, ts_writer_stack(s.writer, &frame, 1) },
        };
        ts_writer_event(s.writer, TS_EVENT_ALLOC, HOST, 10 + i, 0, values, 3);
    }
    story_read(&s);
    REPORT(s.path, "memory");
    story_end(&s);
}

// Lines for so many pools could not be told apart.
UNIT_TEST(the_smallest_of_many_pools_share_a_line)
{
    story s = story_begin();
    for (uint32_t i = 0; i < MEMORY_LINES_MOST + 2; i++) {
        char pool[16];
        snprintf(pool, sizeof pool, "pool %u", (unsigned)i);
        story_alloc(&s, HOST, 10 + i, 0x1000, 1000 - i, pool, NULL);
    }
    analyze_job job;
    story_open(&s, &job, false);
    report *const r = report_open();
    assert_true(analyze_run(&job, "memory", r));
    const report_chart *const c = r->sections->charts;
    assert_int_equal(MEMORY_LINES_MOST, c->count);
    assert_string_equal("pool 62", c->items[MEMORY_LINES_MOST - 2].label.text);
    assert_string_equal("other pools",
                        c->items[MEMORY_LINES_MOST - 1].label.text);
    // What the last three hold: 1000 - 63, - 64 and - 65 bytes.
    assert_int_equal(2808, c->points[c->point_count - 1].value);
    report_close(r);
    analyze_close(&job);
    story_end(&s);
}

// Deeper than paths go, and an allocation in the deepest.
UNIT_TEST(an_allocation_in_a_zone_too_deep_is_of_its_parent)
{
    story s = story_begin();
    for (int i = 0; i < PATHS_DEPTH_MOST + 2; i++)
        story_zone(&s, HOST, i, 2000 - i, "deep");
    story_alloc(&s, HOST, 1000, 0x1000, 8, NULL, NULL);
    story_read(&s);
    REPORT(s.path, "memory");
    story_end(&s);
}

UNIT_TEST(a_zone_may_have_no_name_or_only_wait)
{
    story s = story_begin();
    const ts_writer_value site = { TS_COLUMN_SITE, 0 };
    ts_writer_event(s.writer, TS_EVENT_ZONE, HOST, 0, 100, &site, 1);
    story_zone(&s, HOST, 200, 900, "poll");
    story_alloc(&s, HOST, 50, 0x1000, 64, NULL, NULL);
    story_read(&s);
    REPORT(s.path, "memory,zones");
    story_end(&s);
}

/* ---- The trace of the transcripts ---------------------------------------- */

static void gpu_row(story *s, ts_event_kind kind, int64_t start,
                    int64_t duration, uint64_t address, uint64_t size)
{
    const uint32_t track = kind == TS_EVENT_MEMCPY ? S0 : C0;
    const uint32_t where = kind == TS_EVENT_MEMCPY ? 2 | 3 << 4 : 3 << 4;
    const ts_writer_value values[] = {
        { TS_COLUMN_CORRELATION, s->correlation },
        { TS_COLUMN_THREAD, HOST },
        { TS_COLUMN_ADDRESS, address },
        { TS_COLUMN_SIZE, size },
        { TS_COLUMN_MEMORY, where },
        { TS_COLUMN_TYPE, 1 },
    };
    ts_writer_event(s->writer, kind, track, start, duration, values,
                    kind == TS_EVENT_MEMCPY      ? 6
                    : kind == TS_EVENT_GPU_ALLOC ? 5
                                                 : 3);
}

// Two blocks on a device, a staging buffer, 200 steps of one kernel.
static story leaky(void)
{
    story s = story_begin();
    story_zone(&s, HOST, 0, 100000, "setup");
    story_zone(&s, HOST, 10000, 50000, "load weights");
    story_alloc(&s, HOST, 12000, 0x10000, 4096, "staging", "weights");
    story_call(&s, HOST, 20000, "cudaMalloc");
    gpu_row(&s, TS_EVENT_GPU_ALLOC, 20000, 0, 0x700000000, 1 << 20);
    story_call(&s, HOST, 22000, "cudaMalloc");
    gpu_row(&s, TS_EVENT_GPU_ALLOC, 22000, 0, 0x700100000, 1 << 19);
    story_call(&s, HOST, 30000, "cudaMemcpyAsync");
    gpu_row(&s, TS_EVENT_MEMCPY, 32000, 8000, 0x700000000, 4096);
    for (int i = 0; i < 200; i++) {
        const int64_t t = 200000 + 10000 * i;
        story_zone(&s, HOST, t, t + 9000, "step");
        story_alloc(&s, HOST, t + 100, 0x20000, 256, NULL, NULL);
        story_kernel(&s, S0, t + 3000, t + 8000, "gemm", HOST, t + 1000);
        story_free(&s, HOST, t + 5000, 0x20000, NULL);
        if (i % 50 == 0)
            story_alloc(&s, HOST, t + 6000, 0x90000 + 512 * (uint64_t)i, 512,
                        NULL, NULL);
    }
    const int64_t t = 2300000;
    story_zone(&s, HOST, t, t + 90000, "teardown");
    story_free(&s, HOST, t + 1000, 0x10000, "staging");
    story_free(&s, HOST, t + 2000, 0x10000, "staging");
    story_free(&s, HOST, t + 3000, 0xdead0, NULL);
    story_call(&s, HOST, t + 10000, "cudaFree");
    gpu_row(&s, TS_EVENT_GPU_FREE, t + 10000, 0, 0x700000000, 0);
    story_call(&s, HOST, t + 20000, "cudaMemcpyAsync");
    gpu_row(&s, TS_EVENT_MEMCPY, t + 30000, 4000, 0x700000000, 4096);
    story_write(&s);
    return s;
}

static size_t read_file(const char *path, uint8_t *bytes, size_t room)
{
    FILE *const in = fopen(path, "rb");
    if (!in) fail_msg("%s is missing; UPDATE=1 writes it", path);
    const size_t size = fread(bytes, 1, room, in);
    fclose(in);
    return size;
}

// The allocator's own counter knows what was there before the trace.
UNIT_TEST(the_answer_is_from_the_best_evidence)
{
    enum { COUNTER = 900 };
    story s = story_begin();
    const ts_track_entry counter = { .type = TS_TRACK_COUNTER,
                                     .parent = PROCESS,
                                     .name = story_name(&s, "Total Allocated"),
                                     .unit = story_name(&s, "bytes") };
    ts_writer_track(s.writer, COUNTER, &counter);
    const ts_writer_value values[] = { { TS_COLUMN_TYPE, TS_VALUE_INT },
                                       { TS_COLUMN_VALUE, 178ll << 30 } };
    story_alloc(&s, HOST, 50, 0x1000, 17 << 20, NULL, NULL);
    ts_writer_event(s.writer, TS_EVENT_COUNTER, COUNTER, 50, 0, values, 2);
    analyze_job job;
    story_open(&s, &job, false);
    report *const r = report_open();
    assert_true(analyze_run(&job, "memory", r));
    const char *const said = r->sections->answer.text;
    assert_non_null(strstr(said, "At most 178.0 GiB of host heap was in use"));
    assert_non_null(strstr(said, "according to counter Total Allocated"));
    assert_non_null(strstr(said, "allocations of 17.00 MiB"));
    report_close(r);
    REPORT(s.path, "memory");
    analyze_close(&job);
    story_end(&s);
}

UNIT_TEST(the_trace_of_the_transcripts_is_this)
{
    static const char path[] = "tests/cli/analyze-memory.sbt";
    static uint8_t made[1 << 16], there[1 << 16];
    story s = leaky();
    const size_t size = read_file(s.path, made, sizeof made);
    const char *const update = getenv("UPDATE");
    if (update && *update) {
        FILE *const out = fopen(path, "wb");
        assert_non_null(out);
        assert_int_equal(size, fwrite(made, 1, size, out));
        assert_int_equal(0, fclose(out));
    }
    assert_int_equal(size, read_file(path, there, sizeof there));
    assert_memory_equal(made, there, size);
    story_end(&s);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
