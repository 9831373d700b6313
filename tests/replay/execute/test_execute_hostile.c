// An operation that needs more than any machine has is declined; the others are
// not.
#define _GNU_SOURCE
#include "tests/replay/execute/execute_fixture.h"

static ts_execution_item run_one(size_t index)
{
    ts_execution_item item;
    ts_execution_run(execution, index, &item);
    return item;
}

static void assert_reason(const char *reason, size_t index)
{
    const ts_execution_item item = run_one(index);
    assert_string_equal(reason, ts_reason_name(item.reason));
    assert_int_equal(TS_OUTCOME_DECLINED, item.outcome);
    assert_int_equal(item.reason == TS_REASON_NO_MEMORY,
                     strstr(item.why, "does not fit") != NULL);
}

static void assert_same(size_t index)
{
    const ts_execution_item item = run_one(index);
    assert_string_equal("none", ts_reason_name(item.reason));
    assert_int_equal(TS_OUTCOME_EXECUTED, item.outcome);
    assert_int_equal(1, item.level);
    assert_true(item.compared);
    assert_false(item.diverged);
}

// A record of a memset of memory that never existed. Its contents are one chunk
// repeated for `listed` bytes.
static void put_set(uint64_t address, uint64_t size, uint64_t listed,
                    uint32_t device)
{
    static uint8_t chunk[TS_CAPTURE_CHUNK];
    struct {
        ts_capture_operation head;
        ts_capture_region region;
    } record;
    memset(&record, 0, sizeof record);
    memset(chunk, 1, sizeof chunk);
    record.head.type = TS_CAPTURE_OPERATION;
    record.head.kind = TS_EVENT_MEMSET;
    record.head.state = TS_CAPTURE_WHOLE;
    record.head.vendor = ts_name_define("vdev");
    record.head.track = vdev->devices[0].legacy->track;
    record.head.destination = record.region.address = address;
    record.head.size = 16;
    record.head.region_count = 1;
    record.region.size = size;
    record.region.device = device;
    record.region.found = TS_CAPTURE_BY_COPY;
    record.region.access = TS_ACCESS_WRITE;
    const uint64_t count = (listed + TS_CAPTURE_CHUNK - 1) / TS_CAPTURE_CHUNK;
    uint64_t *const list = malloc((size_t)count * 16);
    assert_non_null(list);
    ok(ts_blob_put(chunk, sizeof chunk, list));
    for (uint64_t i = 1; i < count; i++)
        memcpy(&list[2 * i], list, 16);
    ok(ts_blob_put(list, (size_t)count * 16, record.region.before));
    memcpy(record.region.after, record.region.before, 16);
    free(list);
    ok(ts_capture_put(&record, sizeof record));
}

// Two honest operations around what `put` writes.
static void record(void (*put)(uint64_t address, uint32_t device))
{
    begin();
    const char *const path = rt_start("hostile.sbt", plain);
    float *const a = floats(0), *const b = floats(1);
    ok(ts_capture_start(NULL));
    launch_add(plain_add, a, b, 1);
    ok(ts_vdev_device_synchronize(vdev, 0));
    put((uintptr_t)a, vdev->devices[0].track);
    launch_add(plain_add, b, a, 2);
    finish(path);
}

static void open_execution(ts_execution_desc desc)
{
    char why[200];
    desc.memory_bytes = 64 << 20;
    ok(ts_execution_open(&execution, reader, positions,
                         ts_reader_capture_count(reader), &desc, why,
                         sizeof why));
}

static void put_far(uint64_t address, uint32_t device)
{
    // Too far from the others for one device, and where nothing can be.
    put_set(UINT64_C(0x7FFFFFF00000), TS_CAPTURE_CHUNK, TS_CAPTURE_CHUNK,
            device);
    put_set(UINT64_MAX - 2 * TS_CAPTURE_CHUNK, TS_CAPTURE_CHUNK,
            TS_CAPTURE_CHUNK, device);
}

UNIT_TEST(addresses_that_nobody_has_cost_no_other_theirs)
{
    record(put_far);
    open_execution(usual());
    assert_same(0);
    assert_reason("VA_UNAVAILABLE", 1);
    assert_reason("VA_UNAVAILABLE", 2);
    assert_same(3);
    close_all();
}

static void put_vast(uint64_t address, uint32_t device)
{
    const uint64_t far = address + (UINT64_C(1) << 33);
    put_set(far, UINT64_C(1) << 46, TS_CAPTURE_CHUNK, device); // no such list
    put_set(far, UINT64_C(1) << 36, UINT64_C(1) << 36, device);
    put_set(far, 128 << 20, 128 << 20, device);
}

UNIT_TEST(sizes_that_nobody_has_cost_no_other_theirs)
{
    record(put_vast);
    open_execution(usual());
    assert_same(0);
    assert_reason("NO_MEMORY", 1);
    assert_reason("NO_MEMORY", 2);
    assert_reason("NO_MEMORY", 3);
    assert_same(4);
    close_all();
}

static void put_devices(uint64_t address, uint32_t device)
{
    for (uint32_t i = 0; i < 70; i++) {
        const ts_gpu_device_desc one = { .name = "other", .index = 10 + i };
        put_set(address, TS_CAPTURE_CHUNK, TS_CAPTURE_CHUNK,
                ts_gpu_device_define(&one));
    }
}

UNIT_TEST(more_devices_than_there_are_cost_no_other_theirs)
{
    record(put_devices);
    for (size_t i = 0; i < 64; i++)
        positions[i] = i;
    positions[63] = 71;
    char why[200];
    ts_execution_desc desc = usual();
    ok(ts_execution_open(&execution, reader, positions, 64, &desc, why,
                         sizeof why));
    assert_same(0);
    assert_same(63);
    close_all();
}

static size_t asked_ranges;

static ts_result open_asked(void **state, uint32_t device_count,
                            const ts_executor_range *ranges, size_t count,
                            char *why, size_t room)
{
    asked_ranges = count;
    return ts_vdev_executor.open(state, device_count, ranges, count, why, room);
}

static void put_on_two(uint64_t address, uint32_t device)
{
    const ts_gpu_device_desc one = { .name = "other", .index = 10 };
    const uint32_t other = ts_gpu_device_define(&one);
    const uint64_t far = address + (UINT64_C(1) << 33);
    put_set(far, TS_CAPTURE_CHUNK, TS_CAPTURE_CHUNK, device);
    put_set(far, TS_CAPTURE_CHUNK, TS_CAPTURE_CHUNK, other);
}

// Each device has memory of its own: one address is two places.
UNIT_TEST(places_of_two_devices_are_two)
{
    record(put_on_two);
    executor.open = open_asked;
    open_execution(usual());
    assert_int_equal(6, asked_ranges); // two of each honest one, and these
    close_all();
}

// A stream, what nobody defined, and all of them at once.
static void put_others(uint64_t address, uint32_t device)
{
    const uint32_t stream = vdev->devices[0].legacy->track;
    put_set(address, TS_CAPTURE_CHUNK, TS_CAPTURE_CHUNK, stream);
    put_set(address, TS_CAPTURE_CHUNK, TS_CAPTURE_CHUNK, device + 1000);
    put_set(address, TS_CAPTURE_CHUNK, TS_CAPTURE_CHUNK, UINT32_MAX);
}

UNIT_TEST(what_is_no_device_has_no_memory)
{
    record(put_others);
    open_execution(usual());
    assert_same(0);
    for (size_t i = 1; i < 4; i++)
        assert_reason("BAD_CAPTURE", i);
    assert_same(4);
    close_all();
}

// A launch of a graph whose nodes run on a device each: more than there are.
static void put_nodes(uint64_t address, uint32_t device)
{
    enum { NODES = 70 };
    static struct {
        ts_capture_operation head;
        ts_capture_region region;
        struct {
            ts_capture_attribute attribute;
            ts_capture_operation head;
        } nodes[NODES];
    } record;
    static uint8_t chunk[TS_CAPTURE_CHUNK];
    memset(&record, 0, sizeof record);
    record.head.type = TS_CAPTURE_OPERATION;
    record.head.kind = TS_EVENT_GRAPH_LAUNCH;
    record.head.state = TS_CAPTURE_WHOLE;
    record.head.vendor = ts_name_define("vdev");
    record.head.track = vdev->devices[0].legacy->track;
    record.head.region_count = 1;
    record.region.address = address;
    record.region.size = sizeof chunk;
    record.region.device = device;
    record.region.found = TS_CAPTURE_BY_COPY;
    record.region.access = TS_ACCESS_WRITE;
    uint64_t hash[2];
    ok(ts_blob_put(chunk, sizeof chunk, hash));
    ok(ts_blob_put(hash, sizeof hash, record.region.before));
    memcpy(record.region.after, record.region.before, 16);
    for (uint32_t i = 0; i < NODES; i++) {
        const ts_gpu_device_desc one = { .name = "other", .index = 10 + i };
        record.nodes[i].attribute.id = TS_ATTRIBUTE_NODE;
        record.nodes[i].attribute.size = sizeof record.nodes[i].head;
        record.nodes[i].head.track = ts_gpu_device_define(&one);
    }
    ok(ts_capture_put(&record, sizeof record));
}

UNIT_TEST(devices_of_nodes_cost_no_other_theirs)
{
    record(put_nodes);
    open_execution(usual());
    assert_same(0);
    assert_reason("TOO_MANY", 1);
    assert_same(2);
    close_all();
}

int main(void)
{
    NEED_ADDRESSES();
    return unit_run(NULL, NULL);
}
