/*
    test_scene_counters.c - counters that follow from events: queues, occupancy,
    copies, memory
*/
#include "tests/tools/studio/scene_fixture.h"
#include "tools/analyze/figures/operations/memory.h"

enum { PIXELS = 100 };

static void draw(scene *s, canvas *c, uint32_t row, int64_t from_ns,
                 int64_t to_ns)
{
    canvas_draw(s, c, row, from_ns, to_ns, PIXELS);
    assert_int_equal(0, c->v.box_count);
}

static void open_scene(staged *t)
{
    made_read(&t->m);
    assert_int_equal(TS_OK, scene_open(&t->s, t->m.reader));
    assert_true(scene_load(t->s, 0, 100));
    staged_work(t->s);
}

static void device_number(made *m, const char *key, int64_t value)
{
    ts_writer_metadata(m->w, D0, key, TS_VALUE_INT, (uint64_t)value);
}

// An A100: 108 multiprocessors for 64 warps each.
static staged staged_a100(void)
{
    staged t;
    made_begin(&t.m, 0);
    device_number(&t.m, "compute_major", 8);
    device_number(&t.m, "multiprocessors", 108);
    return t;
}

// A kernel of blocks of 256 threads (64 warps fit), or of a warp (32 fit).
static void kernel(made *m, uint32_t stream, bool full, int64_t from,
                   int64_t to)
{
    const ts_launch_entry launch = { .name =
                                         made_name(m, full ? "full" : "half"),
                                     .grid = { 1000000, 1, 1 },
                                     .block = { full ? 256 : 32, 1, 1 },
                                     .registers = 16 };
    const ts_writer_value value = { TS_COLUMN_LAUNCH,
                                    ts_writer_launch(m->w, &launch) };
    made_operation(m, TS_EVENT_KERNEL, stream, from, to, &value, 1);
}

static void expect(const canvas *c, int from, int to, double value)
{
    for (int i = from; i < to; i++) {
        assert_true(c->low[i] == (float)value);
        assert_true(c->high[i] == (float)value);
    }
}

static const char *row_name(scene *s, uint32_t row)
{
    static char text[256];
    const ts_text name = scene_row_name(s, scene_row_at(s, row));
    snprintf(text, sizeof text, "%.*s", (int)name.size, name.text);
    return text;
}

static bool has_row(const scene *s, uint32_t track, uint32_t part)
{
    return scene_row_known(s, SCENE_COUNTER, track, part) != CLI_NONE;
}

/* ---- What a step says ---------------------------------------------------- */

// A look takes place every quarter of a second. Also what was added last is
// counted in the end.
UNIT_TEST(counters_that_take_long_are_made_again_more_rarely)
{
    staged t = staged_a100();
    for (int i = 0; i < 100; i++)
        kernel(&t.m, S0, true, i * 20, i * 20 + 10);
    made_read(&t.m);
    assert_int_equal(TS_OK, scene_open(&t.s, t.m.reader));
    assert_true(scene_load(t.s, 0, 100));
    t.s->limits.slice = 5;
    staged_work(t.s);
    assert_int_equal(21, t.s->derived.slices);
    for (int i = 0; i < 5; i++)
        assert_false(scene_derived_grow(t.s, i == 0));
    assert_false(scene_is_behind(t.s));
    assert_true(scene_derived_grow(t.s, false));
    assert_false(scene_derived_work(t.s));
    assert_false(scene_derived_grow(t.s, true)); // while they are made
    staged_work(t.s);
    for (int i = 0; i < 5; i++)
        assert_false(scene_derived_grow(t.s, false));
    assert_true(scene_derived_grow(t.s, false));
    staged_close(&t);
}

static void assert_says(scene *s, uint32_t row, int64_t time_ns,
                        const char *fact)
{
    scene_item item;
    facts f = { "" };
    assert_true(scene_pick(s, row, time_ns, 0, &item));
    assert_true(scene_event(s, item.ref, add_fact, &f));
    assert_non_null(strstr(f.text, fact));
}

/* ---- Occupancy ----------------------------------------------------------- */

UNIT_TEST(kernels_side_by_side_fill_a_device_to_a_hundred_percent)
{
    staged t = staged_a100();
    canvas c;
    kernel(&t.m, S0, false, 10, 50);
    kernel(&t.m, S1, false, 30, 40); // both: all
    kernel(&t.m, S1, true, 45, 60);  // 150 % would be too much
    open_scene(&t);
    const uint32_t row = staged_row(&t, SCENE_COUNTER, D0, SCENE_OCCUPANCY);
    draw(t.s, &c, row, 0, PIXELS);
    expect(&c, 10, 30, 50);
    expect(&c, 30, 40, 100);
    expect(&c, 40, 45, 50);
    expect(&c, 45, 60, 100);
    expect(&c, 60, PIXELS, 0);
    assert_true(isnan(c.high[9])); // nothing was recorded yet
    assert_string_equal("occupancy of GPU 0", row_name(t.s, row));
    assert_true(scene_row_at(t.s, row)->high == 100);
    staged_close(&t);
}

UNIT_TEST(occupancy_has_a_gap_where_a_launch_is_not_known)
{
    staged t = staged_a100();
    canvas c;
    kernel(&t.m, S0, true, 10, 30);
    made_operation(&t.m, TS_EVENT_KERNEL, S1, 20, 40, NULL, 0);
    kernel(&t.m, S0, false, 50, 60);
    open_scene(&t);
    const uint32_t row = staged_row(&t, SCENE_COUNTER, D0, SCENE_OCCUPANCY);
    draw(t.s, &c, row, 0, PIXELS);
    expect(&c, 10, 20, 100);
    for (int i = 20; i < 40; i++)
        assert_true(isnan(c.low[i]) && isnan(c.high[i]));
    expect(&c, 40, 50, 0);
    expect(&c, 50, 60, 50);
    // A pixel that is known in part shows that part.
    draw(t.s, &c, row, 0, PIXELS * 100);
    assert_true(c.low[0] == 0 && c.high[0] == 100);
    staged_close(&t);
}

UNIT_TEST(a_device_of_unknown_size_has_no_occupancy)
{
    staged t;
    made_begin(&t.m, 0);
    kernel(&t.m, S0, true, 10, 30);
    open_scene(&t);
    assert_false(has_row(t.s, D0, SCENE_OCCUPANCY));
    staged_close(&t);
}

/* ---- Copies -------------------------------------------------------------- */

static void copy(made *m, uint32_t stream, uint64_t type, uint64_t size,
                 int64_t from, int64_t to)
{
    const ts_writer_value values[] = { { TS_COLUMN_TYPE, type },
                                       { TS_COLUMN_SIZE, size } };
    made_operation(m, TS_EVENT_MEMCPY, stream, from, to, values, 2);
}

UNIT_TEST(copies_of_a_direction_add_up)
{
    enum { TO_DEVICE = 1, TO_HOST = 2 };
    staged t;
    canvas c;
    made_begin(&t.m, 0);
    copy(&t.m, S0, TO_DEVICE, 200, 10, 30); // 10 bytes a ns
    copy(&t.m, S1, TO_DEVICE, 30, 20, 50);  // 1
    copy(&t.m, S0, TO_DEVICE, 60, 50, 60);  // 6, at once after it
    copy(&t.m, S0, TO_HOST, 50, 20, 30);
    copy(&t.m, T0, TO_HOST, 70, 20, 30); // of another device
    copy(&t.m, S0, TO_HOST, 0, 70, 80);  // of unknown size
    copy(&t.m, S0, TO_HOST, 5, 90, 90);  // without a duration
    open_scene(&t);
    const uint32_t in =
        staged_row(&t, SCENE_COUNTER, D0, SCENE_RATE + TO_DEVICE);
    draw(t.s, &c, in, 0, PIXELS);
    expect(&c, 10, 20, 10e9);
    expect(&c, 20, 30, 11e9);
    expect(&c, 30, 50, 1e9);
    expect(&c, 50, 60, 6e9); // no gap between
    expect(&c, 60, PIXELS, 0);
    assert_says(t.s, in, 15,
                ";what=sizes of running copies, divided by their durations;");
    const uint32_t out =
        staged_row(&t, SCENE_COUNTER, D0, SCENE_RATE + TO_HOST);
    draw(t.s, &c, out, 0, PIXELS);
    expect(&c, 20, 30, 5e9);
    expect(&c, 30, PIXELS, 0);
    assert_string_equal("copy device to host of GPU 0", row_name(t.s, out));
    assert_true(has_row(t.s, D1, SCENE_RATE + TO_HOST));
    assert_false(has_row(t.s, D1, SCENE_RATE + TO_DEVICE));
    staged_close(&t);
}

/* ---- Memory -------------------------------------------------------------- */

static uint32_t random_state;

static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % limit;
}

// Few addresses and times, so that frees of nothing, frees of what was freed,
// blocks that are replaced and events of one moment are frequent.
static void put_memory(made *m, size_t count)
{
    static const char *const pools[] = { "cache", "arena" };
    int64_t time = 0;
    for (size_t i = 0; i < count; i++) {
        time += random_below(3);
        const bool device = random_below(2), takes = random_below(2);
        const uint32_t named = random_below(3);
        ts_writer_value values[4] = {
            { TS_COLUMN_ADDRESS, 0x1000 + 16 * random_below(40) },
            { TS_COLUMN_POOL, named < 2 ? made_name(m, pools[named]) : 0 }
        };
        size_t used = 2;
        if (takes)
            values[used++] =
                (ts_writer_value){ TS_COLUMN_SIZE, 1 + random_below(1000) };
        if (takes && device)
            values[used++] =
                (ts_writer_value){ TS_COLUMN_MEMORY, random_below(4) << 4 };
        const ts_event_kind kind =
            device  ? takes ? TS_EVENT_GPU_ALLOC : TS_EVENT_GPU_FREE
            : takes ? TS_EVENT_ALLOC
                    : TS_EVENT_FREE;
        const uint32_t track = device            ? random_below(2) ? D0 : D1
                               : random_below(2) ? HOST
                                                 : OTHER;
        ts_writer_event(m->w, kind, track, time, 0, values, used);
    }
}

// The row of a pool of ts-analyze.
static const strip *row_of_pool(const scene *s, const memory_pool *pool)
{
    for (size_t i = 0; i < s->row_count; i++) {
        const scene_row *const row = &s->rows[i].pub;
        if (!scene_is_derived(row) || row->part < SCENE_POOL) continue;
        const scene_pool *const p = &s->derived.pools[row->part - SCENE_POOL];
        const ts_text name = ts_reader_name(s->reader, p->name);
        if (p->device == (pool->device > 0) && p->memory == pool->memory &&
            (!p->device || p->track == pool->device) &&
            name.size == pool->name.size &&
            !memcmp(name.text, pool->name.text, name.size))
            return &s->rows[i];
    }
    return NULL;
}

static void assert_as_analyzed(const scene *s)
{
    const memory_file file = { .reader = s->reader };
    size_t compared = 0;
    memory m;
    assert_true(memory_compute(&m, &file, 1, 0));
    for (size_t i = 0; i < m.pool_count; i++) {
        const strip *const r = row_of_pool(s, &m.pools[i]);
        if (!m.pools[i].allocations) continue;
        assert_non_null(r);
        assert_true(r->pub.high == (double)m.pools[i].peak_size);
        assert_true(r->items[r->count - 1].value ==
                    (double)m.pools[i].live_size);
        compared++;
    }
    assert_true(compared > 0);
    memory_close(&m);
}

UNIT_TEST(pools_have_the_peaks_that_the_analysis_finds)
{
    for (uint32_t seed = 1; seed <= 20; seed++) {
        staged t;
        made_begin(&t.m, 0);
        random_state = seed;
        put_memory(&t.m, 20 * seed);
        open_scene(&t);
        assert_as_analyzed(t.s);
        staged_close(&t);
    }
}

static void allocate(made *m, uint32_t track, int64_t time, uint64_t address,
                     uint64_t size)
{
    const ts_writer_value values[] = { { TS_COLUMN_ADDRESS, address },
                                       { TS_COLUMN_SIZE, size } };
    ts_writer_event(m->w, size ? TS_EVENT_ALLOC : TS_EVENT_FREE, track, time, 0,
                    values, size ? 2 : 1);
}

UNIT_TEST(processes_have_memory_of_their_own)
{
    enum { SECOND = 40, ITS_THREAD = 41 };
    staged t;
    canvas c;
    made_begin(&t.m, 0);
    const ts_track_entry process = { .type = TS_TRACK_PROCESS, .number = 2 };
    const ts_track_entry thread = { .type = TS_TRACK_THREAD, .parent = SECOND };
    ts_writer_track(t.m.w, SECOND, &process);
    ts_writer_track(t.m.w, ITS_THREAD, &thread);
    allocate(&t.m, HOST, 10, 0x1000, 100);
    allocate(&t.m, ITS_THREAD, 20, 0x1000, 7); // the same address
    allocate(&t.m, OTHER, 30, 0x1000, 0);
    open_scene(&t);
    const uint32_t first = staged_row(&t, SCENE_COUNTER, PROCESS, SCENE_POOL);
    draw(t.s, &c, first, 0, PIXELS);
    expect(&c, 10, 30, 100);
    expect(&c, 30, PIXELS, 0);
    assert_string_equal("host heap of process 0", row_name(t.s, first));
    assert_says(
        t.s, first, 15,
        ";what=allocated and not yet freed, of what the trace contains;");
    draw(t.s, &c, staged_row(&t, SCENE_COUNTER, SECOND, SCENE_POOL + 1), 0,
         PIXELS);
    expect(&c, 20, PIXELS, 7);
    staged_close(&t);
}

UNIT_TEST(processes_that_share_a_device_have_their_own_addresses)
{
    enum { SECOND = 40, ITS_THREAD, SHARED };
    staged t;
    canvas c;
    made_begin(&t.m, 0);
    const ts_track_entry process = { .type = TS_TRACK_PROCESS, .number = 2 };
    const ts_track_entry thread = { .type = TS_TRACK_THREAD, .parent = SECOND };
    const ts_track_entry device = { .type = TS_TRACK_DEVICE, .number = 9 };
    ts_writer_track(t.m.w, SECOND, &process);
    ts_writer_track(t.m.w, ITS_THREAD, &thread);
    ts_writer_track(t.m.w, SHARED, &device);
    const ts_event_kind kinds[] = { TS_EVENT_GPU_ALLOC, TS_EVENT_GPU_ALLOC,
                                    TS_EVENT_GPU_FREE };
    for (int i = 0; i < 3; i++) { // 100 and 7 at one address, 100 are freed
        const ts_writer_value values[] = { { TS_COLUMN_ADDRESS, 0x1000 },
                                           { TS_COLUMN_THREAD,
                                             i == 1 ? ITS_THREAD : HOST },
                                           { TS_COLUMN_SIZE, i ? 7 : 100 } };
        ts_writer_event(t.m.w, kinds[i], SHARED, 10 * (i + 1), 0, values,
                        i < 2 ? 3 : 2);
    }
    open_scene(&t);
    draw(t.s, &c, staged_row(&t, SCENE_COUNTER, SHARED, SCENE_POOL), 0, PIXELS);
    expect(&c, 10, 20, 100);
    expect(&c, 20, 30, 107);
    expect(&c, 30, PIXELS, 7);
    staged_close(&t);
}

UNIT_TEST(a_pool_without_a_name_is_called_by_its_memory)
{
    staged t;
    made_begin(&t.m, 0);
    const ts_writer_value values[] = { { TS_COLUMN_ADDRESS, 0x1000 },
                                       { TS_COLUMN_SIZE, 100 },
                                       { TS_COLUMN_MEMORY, 4 << 4 } };
    ts_writer_event(t.m.w, TS_EVENT_GPU_ALLOC, D0, 10, 0, values, 3);
    open_scene(&t);
    const uint32_t row = staged_row(&t, SCENE_COUNTER, D0, SCENE_POOL);
    assert_string_equal("managed memory of GPU 0", row_name(t.s, row));
    staged_close(&t);
}

UNIT_TEST(memory_of_an_unknown_kind_has_a_plain_name)
{
    staged t;
    made_begin(&t.m, 0);
    const ts_writer_value values[] = { { TS_COLUMN_ADDRESS, 0x1000 },
                                       { TS_COLUMN_SIZE, 100 },
                                       { TS_COLUMN_MEMORY, 8 << 4 } };
    ts_writer_event(t.m.w, TS_EVENT_GPU_ALLOC, D0, 10, 0, values, 3);
    open_scene(&t);
    const uint32_t row = staged_row(&t, SCENE_COUNTER, D0, SCENE_POOL);
    assert_string_equal("memory of GPU 0", row_name(t.s, row));
    staged_close(&t);
}

/* ---- Queues -------------------------------------------------------------- */

// The value of a row at a time, after all that happened then.
static uint32_t depth_at(const scene *s, uint32_t stream, int64_t time_ns)
{
    const uint32_t row = scene_row_known(s, SCENE_COUNTER, stream, SCENE_QUEUE);
    if (row == CLI_NONE) return 0;
    const size_t at = scene_row_before(&s->rows[row], time_ns + 1, 0);
    return at ? (uint32_t)s->rows[row].items[at - 1].value : 0;
}

UNIT_TEST(queues_of_streams_add_up_to_the_depth_of_their_device)
{
    enum { LAUNCHES = 300 };
    staged t;
    int64_t call = 0, ends[2] = { 0, 0 };
    made_begin(&t.m, 0);
    random_state = 7;
    for (int i = 0; i < LAUNCHES; i++) {
        const uint32_t stream = random_below(2);
        call += 3 + random_below(8);
        const int64_t from =
            (ends[stream] > call ? ends[stream] : call) + 1 + random_below(3);
        ends[stream] = from + 1 + random_below(18);
        made_launch(&t.m, stream ? S1 : S0, "k", call, from, ends[stream]);
        if (i % 10) continue;
        // A wait of the host is in no queue.
        made_call(&t.m, HOST, "wait", call + 2, ends[stream] + 1);
        made_operation(&t.m, TS_EVENT_STREAM_SYNC, stream ? S1 : S0, call + 3,
                       ends[stream], NULL, 0);
    }
    open_scene(&t);
    assert_int_equal(TS_OK, scene_graph(t.s));
    uint32_t most = 0;
    for (int64_t i = -1; i < ends[0] + 2 || i < ends[1] + 2; i++) {
        const uint32_t depth = depth_at(t.s, S0, i) + depth_at(t.s, S1, i);
        assert_int_equal(depth, ts_timeline_queue(t.s->timeline, 0, i));
        if (depth > most) most = depth;
    }
    assert_true(most > 3);
    assert_int_equal(most, ts_timeline_device(t.s->timeline, 0)->queue_max);
    const uint32_t row = staged_row(&t, SCENE_COUNTER, S0, SCENE_QUEUE);
    assert_string_equal("queue of stream 1 on GPU 0", row_name(t.s, row));
    assert_says(t.s, row, ends[0],
                ";what=operations launched and not yet begun;");
    staged_close(&t);
}

UNIT_TEST(queues_go_with_their_graph)
{
    staged t = staged_late();
    assert_int_equal(TS_OK, scene_graph(t.s));
    const uint32_t row = staged_row(&t, SCENE_COUNTER, S0, SCENE_QUEUE);
    const uint64_t count = scene_row_at(t.s, row)->count;
    assert_true(count > 0);
    scene_graph_close(t.s); // as when the trace has grown
    assert_int_equal(0, scene_row_at(t.s, row)->count);
    assert_int_equal(TS_OK, scene_graph(t.s));
    assert_int_equal(count, scene_row_at(t.s, row)->count);
    staged_close(&t);
}

UNIT_TEST(a_stream_without_known_launches_has_no_queue)
{
    staged t;
    made_begin(&t.m, 0);
    made_launch(&t.m, S0, "a", 0, 10, 20);
    t.m.correlation = 0;
    made_kernel(&t.m, S1, "b", 30, 40);
    open_scene(&t);
    assert_int_equal(TS_OK, scene_graph(t.s));
    assert_true(has_row(t.s, S0, SCENE_QUEUE));
    assert_false(has_row(t.s, S1, SCENE_QUEUE));
    staged_close(&t);
}

/* ---- Limited memory ------------------------------------------------------ */

enum { STEPS = 20000, STEP_NS = 7 };

// The range of a walk in [from, to), with the value before.
static void true_range(const double *walk, int64_t from_ns, int64_t to_ns,
                       double *low, double *high)
{
    int64_t at = from_ns <= 0 ? 0 : from_ns / STEP_NS;
    *low = *high = walk[at < STEPS ? at : STEPS - 1];
    for (; at < STEPS && at * STEP_NS < to_ns; at++) {
        if (walk[at] < *low) *low = walk[at];
        if (walk[at] > *high) *high = walk[at];
    }
}

static void assert_covers(scene *s, uint32_t row, const double *walk,
                          int64_t from_ns, int64_t width_ns)
{
    const int64_t cell_ns = s->rows[row].cell_ns;
    double low, high;
    canvas c;
    draw(s, &c, row, from_ns, from_ns + width_ns);
    assert_int_equal(cell_ns > width_ns / PIXELS, c.v.coarse);
    for (uint32_t i = 0; i < PIXELS; i++) {
        const int64_t from = scene_pixel_ns(&c.v, i);
        const int64_t to = scene_pixel_ns(&c.v, i + 1);
        // Nothing is hidden, and nothing is farther off than a cell.
        true_range(walk, from, to, &low, &high);
        assert_true(c.low[i] <= low && c.high[i] >= high);
        true_range(walk, from - cell_ns, to + cell_ns, &low, &high);
        assert_true(c.low[i] >= low && c.high[i] <= high);
    }
}

UNIT_TEST(a_counter_in_limited_memory_hides_nothing_at_any_zoom)
{
    static double walk[STEPS];
    staged t = staged_late();
    scene_meter m = { .track = D0, .part = SCENE_RATE };
    random_state = 3;
    for (int i = 0; i < STEPS; i++) {
        int64_t change = 1 + random_below(1000);
        if (random_below(2)) change = -change;
        assert_true(scene_meter_add(&m, 512, i * STEP_NS, change, 0));
        walk[i] = (double)m.sum;
        assert_true(m.steps.count <= 512);
    }
    assert_true(scene_meter_show(t.s, &m));
    const uint32_t row = staged_row(&t, SCENE_COUNTER, D0, SCENE_RATE);
    double low, high;
    true_range(walk, 0, STEPS * STEP_NS, &low, &high);
    assert_true(scene_row_at(t.s, row)->low == low);
    assert_true(scene_row_at(t.s, row)->high == high);
    assert_true(t.s->rows[row].cell_ns > STEP_NS);
    assert_says(t.s, row, STEPS * STEP_NS / 2,
                ";kept=first, lowest, highest and last value in each 1792 ns;");
    for (int64_t width = STEPS * STEP_NS; width >= PIXELS; width /= 3)
        for (int64_t from = 0; from + width <= STEPS * STEP_NS;
             from += width * 2 + 1)
            assert_covers(t.s, row, walk, from, width);
    staged_close(&t);
}

/* ---- When they are made -------------------------------------------------- */

UNIT_TEST(counters_of_a_long_trace_are_made_when_asked_for)
{
    staged t = staged_a100();
    for (int i = 0; i < 3000; i++)
        kernel(&t.m, S0, i % 2, i * 20, i * 20 + 10);
    made_read(&t.m);
    assert_int_equal(TS_OK, scene_open(&t.s, t.m.reader));
    t.s->limits = (scene_limits){ .events = 1000,
                                  .window = 2000,
                                  .whole = 1000,
                                  .at_once = 1000,
                                  .slice = 700,
                                  .cells = 1 << 16 };
    canvas c;
    draw(t.s, &c, staged_row(&t, SCENE_WORK, S0, 0), 0, 60000);
    staged_work(t.s);
    assert_false(has_row(t.s, D0, SCENE_OCCUPANCY));
    assert_false(scene_counters_want(t.s));
    int slices = 0;
    for (; scene_is_behind(t.s); slices++)
        scene_work(t.s);
    assert_in_range(slices, 5, 6); // 3,000 in slices of 700
    assert_true(scene_counters_want(t.s));
    const uint32_t row = staged_row(&t, SCENE_COUNTER, D0, SCENE_OCCUPANCY);
    draw(t.s, &c, row, 0, 60000);
    assert_false(c.v.coarse);
    for (int i = 0; i < PIXELS; i++)
        assert_true(c.low[i] == 0 && c.high[i] == 100);
    staged_close(&t);
}

UNIT_TEST(counters_of_a_growing_trace_are_made_again)
{
    staged t = staged_a100();
    kernel(&t.m, S0, true, 10, 30);
    open_scene(&t);
    const uint32_t row = staged_row(&t, SCENE_COUNTER, D0, SCENE_OCCUPANCY);
    assert_false(scene_is_behind(t.s));
    assert_false(scene_derived_grow(t.s, false));
    assert_false(scene_is_behind(t.s));
    assert_true(scene_derived_grow(t.s, true));
    assert_true(scene_is_behind(t.s));
    assert_int_equal(2, scene_row_at(t.s, row)->count); // still shown
    const uint32_t version = scene_rows_version(t.s);
    staged_work(t.s);
    assert_int_equal(2, scene_row_at(t.s, row)->count);
    assert_true(scene_rows_version(t.s) > version);
    staged_close(&t);
}

UNIT_TEST(a_step_says_what_it_counts)
{
    staged t = staged_a100();
    kernel(&t.m, S0, false, 10, 30);
    open_scene(&t);
    const uint32_t row = staged_row(&t, SCENE_COUNTER, D0, SCENE_OCCUPANCY);
    scene_item item;
    facts f = { "" };
    assert_true(scene_pick(t.s, row, 20, 0, &item));
    assert_true(scene_event(t.s, item.ref, add_fact, &f));
    assert_string_equal(
        "counter=occupancy of GPU 0;value=50.0 %;"
        "what=warps of running kernels that fit at once, of the most that the "
        "device holds: from launch configurations, not measured;",
        f.text);
    assert_false(scene_event(t.s, item.ref + 1000, add_fact, &f));
    assert_false(
        scene_event(t.s, SCENE_REF_STEP | UINT64_C(60000) << 32, add_fact, &f));
    staged_close(&t);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
