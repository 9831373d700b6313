// What captures of the virtual accelerator write into a trace.
#define _GNU_SOURCE
#include "tests/record/record_fixture.h"
#include "tests/backends/vdev/vdev_fixture.h"
#include "tests/backends/vdev/captures_fixture.h"

typedef struct one_arg {
    uint8_t pad[3];
    uint64_t pointer;
    uint32_t count;
} __attribute__((packed)) one_arg;

// Adds one to each value behind the pointer; blocks are values.
static void add_one(const void *args, const ts_vdev_block *block)
{
    one_arg a;
    memcpy(&a, args, sizeof a);
    uint32_t *const values = (uint32_t *)(uintptr_t)a.pointer;
    if (block->index[0] < a.count) values[block->index[0]]++;
}

// The same behind a pointer that lies in memory.
static void add_nested(const void *args, const ts_vdev_block *block)
{
    uint32_t *values;
    memcpy(&values, *(const char *const *)args + 5, sizeof values);
    values[block->index[0]]++;
}

static uint32_t tally;

static void count(const void *args, const ts_vdev_block *block)
{
    __atomic_fetch_add(&tally, 1, __ATOMIC_RELAXED);
}

static int gate; // 0 shut, 1 open: what a stuck kernel waits for

static void wait_for_gate(const void *args, const ts_vdev_block *block)
{
    while (!__atomic_load_n(&gate, __ATOMIC_ACQUIRE))
        rt_sleep_ms(1);
}

static const ts_session_desc plain;
static ts_vdev_kernel one, nested, counting, stuck;

static int open_all(void **state)
{
    const ts_vdev_desc desc = { .memory_bytes = 8 << 20 };
    vt_open(desc);
    one = vt_kernel("add_one", add_one, sizeof(one_arg), 0);
    nested = vt_kernel("add_nested", add_nested, sizeof(void *), 0);
    counting = vt_kernel("count", count, 0, 0);
    stuck = vt_kernel("stuck", wait_for_gate, 0, 0);
    return 0;
}

static int close_all(void **state)
{
    return ts_vdev_close(vdev) == TS_OK ? 0 : -1;
}

static void launch(ts_vdev_kernel kernel, const void *args, uint32_t blocks)
{
    const ts_vdev_launch_desc desc = { .grid = { blocks }, .args = args };
    ok(ts_vdev_launch(vdev, 0, kernel, &desc));
}

static void launch_one(void *values, uint32_t blocks)
{
    const one_arg args = { { 0 }, (uintptr_t)values, blocks };
    launch(one, &args, blocks);
}

static ts_capture capture_at(ts_reader *reader, size_t index)
{
    ts_capture capture;
    ts_track stream;
    assert_true(ts_reader_capture(reader, index, &capture));
    assert_true(ts_reader_track(reader, capture.head.track, &stream));
    assert_int_equal(TS_TRACK_STREAM, stream.type);
    return capture;
}

static void assert_first(ts_reader *reader, const ts_capture_region *r,
                         const uint64_t list[2], uint32_t value)
{
    uint8_t *const bytes = ct_bytes(reader, r, list);
    assert_non_null(bytes);
    assert_memory_equal(bytes, &value, sizeof value);
    free(bytes);
}

// Ends the capture and its session once the devices are idle.
static ts_reader *end(const char *path)
{
    vt_finish();
    ts_capture_stop();
    ok(ts_session_stop());
    return ct_open(path);
}

UNIT_TEST_WITHIN(a_kernel_is_kept_with_its_memory_before_and_after, open_all,
                 close_all)
{
    const char *const path = rt_start("kernel.sbt", plain);
    uint32_t *const values = vt_memory(0, 200000);
    memset(values, 0, 200000);
    values[0] = 7;
    ok(ts_capture_start(NULL));
    launch_one(values + 0, 4);
    launch_one(values + 0, 4);
    vt_finish();
    assert_int_equal(9, values[0]);
    ts_reader *const reader = end(path);
    assert_int_equal(2, ts_reader_capture_count(reader));
    const ts_capture first = capture_at(reader, 0);
    assert_int_equal(TS_EVENT_KERNEL, first.head.kind);
    assert_int_equal(TS_CAPTURE_WHOLE, first.head.state);
    assert_int_equal(1, first.head.region_count);
    assert_int_equal(sizeof(one_arg), first.head.args_size);
    assert_int_equal(4, first.head.grid[0]);
    assert_string_equal("add_one",
                        ts_reader_name(reader, first.head.name).text);
    const ts_capture_region *const r = first.regions;
    assert_int_equal((uintptr_t)values, r->address);
    assert_int_equal(200000, r->size);
    assert_int_equal(TS_CAPTURE_BY_ARGUMENT, r->found);
    assert_int_equal(3, r->from); // a packed struct
    assert_first(reader, r, r->before, 7);
    assert_first(reader, r, r->after, 8);
    const ts_capture second = capture_at(reader, 1);
    assert_memory_equal(second.regions[0].before, r->after, 16);
    assert_true(second.regions[0].version > r->version);
    ts_capture_image image;
    assert_true(ts_reader_image(reader, first.head.image, &image));
    assert_int_equal(second.head.image, first.head.image);
    const void *bytes;
    size_t size;
    ok(ts_reader_blob(reader, image.hash, &bytes, &size));
    assert_int_equal(size, image.size);
    assert_memory_equal(bytes, "\177ELF", 4);
    // Three contents of the first of four chunks, which alone changes; the
    // next two are equal, and the last is short.
    assert_int_equal(4 * 65536 + 3392,
                     ts_capture_result().kept_bytes - image.size);
    ts_reader_close(reader);
}

UNIT_TEST_WITHIN(a_pointer_in_memory_leads_on, open_all, close_all)
{
    const char *const path = rt_start("nested.sbt", plain);
    char *const outer = vt_memory(0, 256);
    uint32_t *const inner = vt_memory(0, 256);
    uint32_t *const other = vt_memory(0, 256);
    memset(outer, 0, 256);
    memset(inner, 0, 256);
    memset(other, 0, 256);
    uint32_t *const into = inner + 2;
    memcpy(outer + 5, &into, sizeof into);
    ok(ts_capture_start(NULL));
    launch(nested, &outer, 2);
    vt_finish();
    ok(ts_session_stop()); // before the capture
    ts_capture_stop();
    ts_reader *const reader = ct_open(path);
    const ts_capture c = capture_at(reader, 0);
    assert_int_equal(2, c.head.region_count); // not `other`
    assert_int_equal((uintptr_t)inner, c.regions[1].address);
    assert_int_equal(TS_CAPTURE_BY_MEMORY, c.regions[1].found);
    assert_int_equal(0, c.regions[1].from);
    ts_reader_close(reader);
}

UNIT_TEST_WITHIN(pointers_are_followed_as_far_as_asked, open_all, close_all)
{
    static const struct {
        ts_capture_desc desc;
        uint32_t regions;
    } cases[] = {
        { { .scan_depth = 0 }, 4 }, // the default
        { { .scan_depth = 2 }, 3 },
        { { .scan_depth = 1 }, 2 },
        { { .scan_bytes = 255 }, 1 }, // each allocation is larger
    };
    char *chain[4];
    for (size_t i = 0; i < 4; i++)
        memset(chain[i] = vt_memory(0, 256), 0, 256);
    for (size_t i = 0; i < 3; i++)
        memcpy(chain[i] + 5, &chain[i + 1], sizeof chain[i]);
    const char *const path = rt_start("depth.sbt", plain);
    for (size_t i = 0; i < 4; i++) {
        ok(ts_capture_start(&cases[i].desc));
        launch(nested, &chain[0], 1);
        vt_finish();
        ts_capture_stop();
    }
    ok(ts_session_stop());
    ts_reader *const reader = ct_open(path);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(cases[i].regions,
                         capture_at(reader, i).head.region_count);
    ts_reader_close(reader);
}

UNIT_TEST_WITHIN(a_variable_of_the_module_is_kept, open_all, close_all)
{
    const char *const path = rt_start("global.sbt", plain);
    ok(ts_vdev_global_register(vdev, 0, &tally, sizeof tally));
    ok(ts_capture_start(NULL));
    tally = 40;
    launch(counting, NULL, 2);
    ts_reader *const reader = end(path);
    const ts_capture c = capture_at(reader, 0);
    assert_int_equal(1, c.head.region_count);
    assert_int_equal(TS_CAPTURE_BY_GLOBAL, c.regions[0].found);
    assert_int_equal(c.head.image, c.regions[0].image);
    assert_first(reader, c.regions, c.regions[0].before, 40);
    assert_first(reader, c.regions, c.regions[0].after, 42);
    ts_reader_close(reader);
}

UNIT_TEST_WITHIN(copies_and_sets_keep_both_ends, open_all, close_all)
{
    char host[300], back[300];
    const char *const path = rt_start("copies.sbt", plain);
    char *const memory = vt_memory(0, 4096);
    memset(host, 'a', sizeof host);
    memset(memory, 0, 4096);
    ok(ts_capture_start(NULL));
    ok(ts_vdev_memcpy_async(vdev, 0, memory + 10, host, sizeof host));
    ok(ts_vdev_memset_async(vdev, 0, memory + 11, 'b', 3));
    ok(ts_vdev_memcpy(vdev, 0, back, memory + 10, sizeof back));
    assert_memory_equal(back, "abbbaaa", 7);
    ts_reader *const reader = end(path);
    assert_int_equal(3, ts_reader_capture_count(reader));
    const ts_capture up = capture_at(reader, 0), down = capture_at(reader, 2);
    assert_int_equal(2, up.head.region_count);
    assert_int_equal(0, up.regions[0].device); // the host's
    assert_int_equal(sizeof host, up.regions[0].size);
    assert_int_equal(0, up.regions[0].after[0]);
    uint8_t *const bytes =
        ct_bytes(reader, &up.regions[0], up.regions[0].before);
    assert_memory_equal(bytes, host, sizeof host);
    free(bytes);
    uint8_t *const got =
        ct_bytes(reader, &down.regions[1], down.regions[1].after);
    assert_memory_equal(got, back, sizeof back);
    free(got);
    ts_reader_close(reader);
}

UNIT_TEST_WITHIN(beyond_the_budget_only_hashes_are_kept, open_all, close_all)
{
    const char *const path = rt_start("budget.sbt", plain);
    uint32_t *const values = vt_memory(0, 1 << 20);
    for (uint32_t i = 0; i < 1 << 18; i++)
        values[i] = i;
    const ts_capture_desc desc = { .budget_bytes = 300000 };
    ok(ts_capture_start(&desc));
    launch_one(values, 1);
    ts_reader *const reader = end(path);
    const ts_capture c = capture_at(reader, 0);
    assert_int_equal(TS_CAPTURE_HASHES, c.head.state);
    assert_int_equal(TS_REASON_SNAPSHOT_BUDGET, c.head.reason);
    assert_true(ts_capture_result().kept_bytes <= 300000);
    assert_null(ct_bytes(reader, c.regions, c.regions[0].before));
    ts_metadata said;
    assert_true(
        ts_reader_metadata(reader, 0, "capture.budget_reached_bytes", &said));
    assert_int_equal(300000, said.number);
    ts_reader_close(reader);
}

UNIT_TEST_WITHIN(only_what_is_asked_for_is_kept, open_all, close_all)
{
    char room[100];
    ts_capture_desc desc;
    ok(ts_capture_parse(&desc, room, sizeof room,
                        "kernel:add_* zone:inner first:1 count:1 budget:2M"));
    assert_int_equal(2 << 20, desc.budget_bytes);
    ok(ts_capture_parse(&desc, room, sizeof room, "budget:3GiB"));
    assert_int_equal(UINT64_C(3) << 30, desc.budget_bytes);
    assert_int_equal(TS_ERR_USAGE, ts_capture_parse(&desc, room, sizeof room,
                                                    "kernel:x budget:2X"));
    char word[300] = "zone:", long_room[400];
    memset(word + 5, 'x', 256); // one more than there is room for
    assert_int_equal(TS_ERR_USAGE, ts_capture_parse(&desc, long_room,
                                                    sizeof long_room, word));
    word[260] = 0;
    ok(ts_capture_parse(&desc, long_room, sizeof long_room, word));
    ok(ts_capture_parse(&desc, room, sizeof room,
                        "kernel:add_*,-add_nested zone:inner first:1 count:2"));
    const char *const path = rt_start("filter.sbt", plain);
    char *const outer = vt_memory(0, 256);
    uint32_t *const values = vt_memory(0, 256);
    memset(outer, 0, 256);
    memcpy(outer + 5, &values, sizeof values);
    ok(ts_capture_start(&desc));
    launch_one(values, 1);
    {
        TS_ZONE("inner");
        launch_one(values, 1);
        TS_ZONE("innermost");
        launch(nested, &outer, 1);
        launch_one(values, 3);
        launch_one(values, 1);
    }
    ts_reader *const reader = end(path);
    assert_int_equal(2, ts_reader_capture_count(reader));
    assert_int_equal(1, capture_at(reader, 0).head.grid[0]);
    assert_int_equal(3, capture_at(reader, 1).head.grid[0]);
    ts_reader_close(reader);
}

UNIT_TEST_WITHIN(frames_end_a_capture, open_all, close_all)
{
    const char *const path = rt_start("frames.sbt", plain);
    uint32_t *const values = vt_memory(0, 256);
    const ts_capture_desc desc = { .frames = 2, .hashes_only = true };
    ok(ts_capture_start(&desc));
    for (int i = 0; i < 4; i++) {
        launch_one(values, 1);
        vt_finish();
        ts_capture_frame();
    }
    assert_false(ts_capture_on());
    ok(ts_session_stop());
    ts_reader *const reader = ct_open(path);
    assert_int_equal(2, ts_reader_capture_count(reader));
    assert_int_equal(TS_CAPTURE_HASHES, capture_at(reader, 0).head.state);
    ts_reader_close(reader);
}

UNIT_TEST_WITHIN(a_device_that_is_never_idle_is_not_waited_for_long, open_all,
                 close_all)
{
    const char *const path = rt_start("stuck.sbt", plain);
    uint32_t *const values = vt_memory(0, 256);
    values[0] = 0;
    const ts_capture_desc desc = { .drain_ms = 30 };
    ts_vdev_stream other = vt_stream(0, true, 0);
    gate = 0;
    ok(ts_capture_start(&desc));
    launch(stuck, NULL, 1); // declined when it does not end in time
    const one_arg args = { { 0 }, (uintptr_t)values, 1 };
    const ts_vdev_launch_desc more = { .grid = { 1 }, .args = &args };
    ok(ts_vdev_launch(vdev, other, one, &more));
    ok(ts_vdev_stream_synchronize(vdev, other)); // it runs all the same
    assert_int_equal(1, values[0]);
    __atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
    vt_finish();
    ok(ts_vdev_launch(vdev, other, one, &more)); // it is idle again
    ts_reader *const reader = end(path);
    assert_int_equal(3, ts_reader_capture_count(reader));
    for (size_t i = 0; i < 2; i++) {
        const ts_capture c = capture_at(reader, i);
        assert_int_equal(TS_CAPTURE_DECLINED, c.head.state);
        assert_string_equal("DRAIN_TIMEOUT", ts_reason_name(c.head.reason));
    }
    assert_int_equal(TS_CAPTURE_WHOLE, capture_at(reader, 2).head.state);
    ts_reader_close(reader);
}

UNIT_TEST_WITHIN(an_argument_that_points_into_freed_memory_is_declined,
                 open_all, close_all)
{
    const char *const path = rt_start("freed.sbt", plain);
    static const ts_vdev_role role = { 0, TS_ACCESS_READ | TS_ACCESS_WRITE, 0 };
    const ts_vdev_kernel_desc desc = { .name = "use",
                                       .function = count,
                                       .args_size = sizeof(void *),
                                       .role_count = 1,
                                       .roles = &role };
    ts_vdev_kernel use;
    ok(ts_vdev_kernel_register(&use, vdev, &desc));
    void *const memory = vt_memory(0, 256), *const kept = vt_memory(0, 256);
    ok(ts_capture_start(NULL));
    launch(use, &kept, 1);
    ok(ts_vdev_free(vdev, memory));
    launch(use, &memory, 1);
    ts_reader *const reader = end(path);
    const ts_capture c = capture_at(reader, 1);
    assert_int_equal(TS_CAPTURE_DECLINED, c.head.state);
    assert_int_equal(TS_REASON_POINTER_DEAD, c.head.reason);
    ts_reader_close(reader);
}

static void *submit_many(void *values)
{
    for (int i = 0; i < 50; i++)
        launch_one(values, 1);
    return NULL;
}

UNIT_TEST_WITHIN(threads_alternate, open_all, close_all)
{
    const char *const path = rt_start("threads.sbt", plain);
    pthread_t threads[4];
    uint32_t *const values = vt_memory(0, 256);
    values[0] = 0;
    ok(ts_capture_start(NULL));
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, submit_many, values);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    vt_finish();
    assert_int_equal(200, values[0]);
    ts_reader *const reader = end(path);
    assert_int_equal(200, ts_reader_capture_count(reader));
    for (size_t i = 0; i < 200; i++)
        assert_int_equal(TS_CAPTURE_WHOLE, capture_at(reader, i).head.state);
    ts_reader_close(reader);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
