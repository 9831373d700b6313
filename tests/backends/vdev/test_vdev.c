// What the virtual accelerator reports, read back from traces.
#define _GNU_SOURCE
#include "tests/record/record_fixture.h"
#include "tests/backends/vdev/vdev_fixture.h"

static const ts_session_desc plain;
static ts_vdev_kernel work;

// Adds to its value, a few microseconds for each of `turns`.
typedef struct work_args {
    volatile uint32_t *value;
    uint32_t turns;
} work_args;

static void do_work(const void *args, const ts_vdev_block *block)
{
    const work_args *const w = args;
    for (uint32_t i = 0; i < w->turns * 1000; i++)
        *w->value = *w->value + 1;
}

static int open_two(void **state)
{
    const ts_vdev_desc desc = { 0 };
    vt_open(desc);
    work = vt_kernel("work", do_work, sizeof(work_args), 16);
    return 0;
}

static int close_it(void **state)
{
    return ts_vdev_close(vdev) == TS_OK ? 0 : -1;
}

static ts_vdev_stream stream(uint32_t device, const char *name)
{
    const ts_vdev_stream_desc desc = { .device = device, .name = name };
    ts_vdev_stream made;
    ok(ts_vdev_stream_create(&made, vdev, &desc));
    return made;
}

static void launch(ts_vdev_stream on, void *value, uint32_t turns)
{
    const work_args args = { value, turns };
    const ts_vdev_launch_desc desc = {
        .grid = { 1 }, .block = { 8, 4 }, .args = &args, .shared_bytes = 100
    };
    ok(ts_vdev_launch(vdev, on, work, &desc));
}

static int64_t end_ns(const rt_row *row)
{
    return row->start_ns + row->duration_ns;
}

static const rt_row *api_of(const rt_trace *trace, const rt_row *op)
{
    const uint64_t id = op->values[TS_COLUMN_CORRELATION];
    const rt_row *api = NULL;
    for (size_t i = 0; i < trace->count; i++) {
        const rt_row *const row = &trace->rows[i];
        if (row->kind != TS_EVENT_API_CALL ||
            row->values[TS_COLUMN_CORRELATION] != id)
            continue;
        assert_null(api); // one only
        api = row;
    }
    assert_non_null(api);
    return api;
}

// queued <= submitted <= start <= end, and the API call began with queued.
static void assert_causal(const rt_trace *trace, const rt_row *op)
{
    const rt_row *const api = api_of(trace, op);
    const uint64_t queued = op->values[TS_COLUMN_QUEUED];
    const uint64_t submitted = op->values[TS_COLUMN_SUBMITTED];
    assert_true(queued >= submitted && submitted >= 1);
    assert_true(op->duration_ns >= 0);
    assert_int_equal(api->start_tick, op->start_tick - (queued - 1));
    assert_int_equal(api->values[TS_COLUMN_RESULT], 0);
    assert_int_equal(op->values[TS_COLUMN_THREAD], api->track);
}

// What lies on a stream, one after another; syncs are the host's.
static void assert_fifo(const rt_trace *trace)
{
    for (size_t i = 0; i < trace->info->track_count; i++) {
        ts_track track;
        const rt_row *last = NULL;
        assert_true(ts_reader_track_at(trace->reader, i, &track));
        if (track.type != TS_TRACK_STREAM) continue;
        for (size_t j = 0; j < trace->count; j++) {
            const rt_row *const row = &trace->rows[j];
            if (row->track != track.id || row->kind == TS_EVENT_STREAM_SYNC ||
                row->kind == TS_EVENT_EVENT_SYNC)
                continue;
            // On a coarse clock a moment sorts behind what it came before.
            if (last && end_ns(row) == last->start_ns) continue;
            if (last) assert_true(row->start_ns >= end_ns(last));
            last = row;
        }
    }
}

static void nothing(void *user)
{
}

// One operation of every kind.
static void do_everything(void)
{
    TS_ZONE("everything");
    char host[64] = "host";
    char *const one = vt_memory(0, 4096), *const two = vt_memory(1, 4096);
    const ts_vdev_stream s = stream(0, "everything");
    const ts_vdev_event e = vt_event();
    ok(ts_vdev_memset_async(vdev, s, one, 7, 4096));
    ok(ts_vdev_memcpy_async(vdev, s, one, host, 64));
    ok(ts_vdev_memcpy_async(vdev, s, one + 64, one, 64));
    ok(ts_vdev_memcpy_async(vdev, s, two, one, 64));
    ok(ts_vdev_memcpy_async(vdev, s, host, one, 32));
    ok(ts_vdev_memcpy(vdev, s, host + 32, host, 16));
    launch(s, one, 1);
    ok(ts_vdev_event_record(vdev, e, s));
    ok(ts_vdev_event_wait(vdev, e, s));
    ok(ts_vdev_host_function(vdev, s, "nothing", nothing, NULL));
    ok(ts_vdev_event_synchronize(vdev, e));
    ok(ts_vdev_stream_synchronize(vdev, s));
    ok(ts_vdev_device_synchronize(vdev, 0));
    ok(ts_vdev_free(vdev, one));
    ok(ts_vdev_free(vdev, two));
}

UNIT_TEST_WITHIN(every_operation_has_its_call_its_launcher_and_its_order,
                 open_two, close_it)
{
    const char *const path = rt_start("everything.sbt", plain);
    do_everything();
    ok(ts_session_stop());
    rt_trace trace = rt_read(path);
    size_t count = 0;
    for (size_t i = 0; i < trace.count; i++) {
        const rt_row *const row = &trace.rows[i];
        if (row->kind < TS_EVENT_GPU_FIRST) continue;
        assert_causal(&trace, row);
        const uint32_t site = (uint32_t)row->values[TS_COLUMN_SITE];
        rt_assert_text(ts_reader_site_name(trace.reader, site), "everything");
        count++;
    }
    assert_int_equal(count, 17);
    assert_fifo(&trace);
    rt_only(&trace, TS_EVENT_API_CALL, "vdevLaunchKernel");
    rt_only(&trace, TS_EVENT_API_CALL, "vdevStreamWaitEvent");
    rt_only(&trace, TS_EVENT_API_CALL, "vdevMemcpy");
    assert_int_equal(rt_rows(&trace, TS_EVENT_API_CALL, "vdevMemcpyAsync"), 4);
    assert_int_equal(trace.info->lost, 0);
    rt_close(&trace);
}

static void do_nothing(const void *args, const ts_vdev_block *block)
{
}

UNIT_TEST_WITHIN(kernels_tell_what_their_arguments_point_to, open_two, close_it)
{
    typedef struct pair {
        void *in, *out;
        char *elsewhere;
    } pair;
    const ts_vdev_role roles[] = {
        { offsetof(pair, in), TS_ACCESS_READ, 24 },
        { offsetof(pair, out), TS_ACCESS_READ | TS_ACCESS_WRITE, 0 },
        { offsetof(pair, elsewhere), TS_ACCESS_WRITE, 0 }, // host: not known
    };
    ts_vdev_kernel_desc desc = { .name = "roles",
                                 .function = do_nothing,
                                 .args_size = sizeof(pair),
                                 .role_count = 3,
                                 .roles = roles };
    ts_vdev_kernel kernel;
    ok(ts_vdev_kernel_register(&kernel, vdev, &desc));
    char *const in = vt_memory(0, 256), *const out = vt_memory(0, 1000);
    char local = 0;
    const pair args = { in, out + 8, &local };
    const ts_vdev_access more = { in + 64, 8, TS_ACCESS_WRITE };
    const ts_vdev_launch_desc launched = { .args = &args,
                                           .access_count = 1,
                                           .accesses = &more };
    const char *const path = rt_start("roles.sbt", plain);
    ok(ts_vdev_launch(vdev, vt_stream(0, true, 0), kernel, &launched));
    vt_finish();
    ok(ts_session_stop());
    rt_trace trace = rt_read(path);
    const struct {
        const char *address;
        uint64_t size, mode;
    } wanted[] = { { in, 24, 1 }, { out, 1000, 7 }, { in + 64, 8, 2 } };
    assert_int_equal(rt_rows(&trace, TS_EVENT_ACCESS, NULL), 3);
    const rt_row *const ran = rt_only(&trace, TS_EVENT_KERNEL, "roles");
    for (size_t i = 0; i < 3; i++) {
        const rt_row *const row = rt_nth(&trace, TS_EVENT_ACCESS, NULL, i);
        assert_int_equal(row->track, ran->track);
        assert_int_equal(row->values[TS_COLUMN_CORRELATION],
                         ran->values[TS_COLUMN_CORRELATION]);
        assert_int_equal(row->values[TS_COLUMN_ADDRESS],
                         (uintptr_t)wanted[i].address);
        assert_int_equal(row->values[TS_COLUMN_SIZE], wanted[i].size);
        assert_int_equal(row->values[TS_COLUMN_TYPE], wanted[i].mode);
    }
    rt_close(&trace);
    const ts_vdev_role outside = { sizeof(pair) - 4, TS_ACCESS_READ, 0 };
    desc.roles = &outside;
    desc.role_count = 1;
    assert_int_equal(TS_ERR_USAGE,
                     ts_vdev_kernel_register(&kernel, vdev, &desc));
    ok(ts_vdev_free(vdev, in));
    ok(ts_vdev_free(vdev, out));
}

UNIT_TEST_WITHIN(every_kind_has_its_values, open_two, close_it)
{
    const char *const path = rt_start("kinds.sbt", plain);
    do_everything();
    ok(ts_session_stop());
    rt_trace trace = rt_read(path);
    static const uint64_t sizes[] = { 0, 64, 32, 64, 16, 64 }; // by type
    static const uint64_t memories[] = { 0, 0x32, 0x23, 0x33, 0x22, 0x33 };
    uint64_t types = 0;
    for (size_t i = 0; i < 5; i++) {
        const rt_row *const row = rt_nth(&trace, TS_EVENT_MEMCPY, NULL, i);
        const uint64_t type = row->values[TS_COLUMN_TYPE];
        types |= UINT64_C(1) << type;
        assert_int_equal(row->values[TS_COLUMN_SIZE], sizes[type]);
        assert_int_equal(row->values[TS_COLUMN_MEMORY], memories[type]);
        ts_track peer = { 0 };
        const uint32_t id = (uint32_t)row->values[TS_COLUMN_PEER];
        assert_int_equal(type == 5, ts_reader_track(trace.reader, id, &peer));
        assert_int_equal(type == 5, peer.number);
    }
    assert_int_equal(types, 0x3E);
    const rt_row *const set = rt_only(&trace, TS_EVENT_MEMSET, NULL);
    const rt_row *const took = rt_nth(&trace, TS_EVENT_GPU_ALLOC, NULL, 0);
    const rt_row *const gave = rt_nth(&trace, TS_EVENT_GPU_FREE, NULL, 0);
    assert_int_equal(set->values[TS_COLUMN_VALUE], 7);
    assert_int_equal(set->values[TS_COLUMN_SIZE], 4096);
    assert_int_equal(took->values[TS_COLUMN_SIZE], 4096);
    assert_int_equal(took->values[TS_COLUMN_MEMORY], 0x30);
    const uint64_t address = set->values[TS_COLUMN_ADDRESS];
    assert_int_equal(took->values[TS_COLUMN_ADDRESS], address);
    assert_int_equal(gave->values[TS_COLUMN_ADDRESS], address);

    const rt_row *const kernel = rt_only(&trace, TS_EVENT_KERNEL, "work");
    const ts_launch_entry *const config = ts_reader_launch(
        trace.reader, (uint32_t)kernel->values[TS_COLUMN_LAUNCH]);
    assert_int_equal(config->grid[0] + config->grid[1] + config->grid[2], 3);
    assert_int_equal(config->block[0], 8);
    assert_int_equal(config->block[1], 4);
    assert_int_equal(config->static_shared, 16);
    assert_int_equal(config->dynamic_shared, 100);

    const rt_row *const record = rt_only(&trace, TS_EVENT_EVENT_RECORD, NULL);
    const rt_row *const wait = rt_only(&trace, TS_EVENT_EVENT_WAIT, NULL);
    const rt_row *const sync = rt_only(&trace, TS_EVENT_EVENT_SYNC, NULL);
    assert_int_equal(wait->values[TS_COLUMN_ID], record->values[TS_COLUMN_ID]);
    assert_int_equal(sync->values[TS_COLUMN_ID], record->values[TS_COLUMN_ID]);
    assert_int_equal(wait->values[TS_COLUMN_RECORD],
                     record->values[TS_COLUMN_CORRELATION]);
    rt_only(&trace, TS_EVENT_HOST_FUNCTION, "nothing");
    rt_close(&trace);
}

UNIT_TEST_WITHIN(devices_and_streams_describe_themselves, open_two, close_it)
{
    const char *const path = rt_start("tracks.sbt", plain);
    const ts_vdev_stream_desc desc = { 1, true, -3, NULL };
    ts_vdev_stream s, legacy;
    ok(ts_vdev_stream_create(&s, vdev, &desc));
    ok(ts_vdev_stream_default(&legacy, vdev, 1));
    launch(s, vt_memory(1, 4096), 1);
    launch(legacy, vt_memory(1, 4096), 1);
    ok(ts_vdev_device_synchronize(vdev, 1));
    ok(ts_session_stop());
    rt_trace trace = rt_read(path);
    const rt_row *const sync = rt_only(&trace, TS_EVENT_DEVICE_SYNC, NULL);
    ts_track track, context, device;
    ts_metadata fact;
    assert_true(ts_reader_track(trace.reader, sync->track, &device));
    assert_int_equal(device.type, TS_TRACK_DEVICE);
    assert_int_equal(device.number, 1);
    assert_true(
        ts_reader_metadata(trace.reader, device.id, "memory_bytes", &fact));
    assert_int_equal(fact.number, 1 << 20);
    assert_true(
        ts_reader_metadata(trace.reader, device.id, "multiprocessors", &fact));
    assert_int_equal(fact.number, 2);
    for (size_t i = 0; i < 2; i++) {
        const rt_row *const k = rt_nth(&trace, TS_EVENT_KERNEL, "work", i);
        assert_true(ts_reader_track(trace.reader, k->track, &track));
        assert_true(ts_reader_track(trace.reader, track.parent, &context));
        assert_int_equal(context.type, TS_TRACK_CONTEXT);
        assert_int_equal(context.parent, device.id);
        const bool ours = track.number == 1;
        assert_int_equal(track.flags >> 16, 32768 - (ours ? 3 : 0));
        assert_int_equal(track.flags & 0xFFFF, ours ? TS_STREAM_NON_BLOCKING
                                                    : TS_STREAM_LEGACY_DEFAULT);
    }
    rt_close(&trace);
}

// Two kernels that can only end when both have begun.
static pthread_barrier_t barrier;

static void meet(const void *args, const ts_vdev_block *block)
{
    pthread_barrier_wait(&barrier);
}

UNIT_TEST_WITHIN(overlap_is_in_the_trace, open_two, close_it)
{
    const ts_vdev_launch_desc config = { .grid = { 1 } };
    const ts_vdev_kernel kernel = vt_kernel("meet", meet, 0, 0);
    pthread_barrier_init(&barrier, NULL, 2);
    const char *const path = rt_start("overlap.sbt", plain);
    ok(ts_vdev_launch(vdev, stream(0, "a"), kernel, &config));
    ok(ts_vdev_launch(vdev, stream(0, "b"), kernel, &config));
    ok(ts_vdev_device_synchronize(vdev, 0));
    ok(ts_session_stop());
    pthread_barrier_destroy(&barrier);
    rt_trace trace = rt_read(path);
    const rt_row *const a = rt_nth(&trace, TS_EVENT_KERNEL, "meet", 0);
    const rt_row *const b = rt_nth(&trace, TS_EVENT_KERNEL, "meet", 1);
    assert_int_not_equal(a->track, b->track);
    assert_true(b->start_ns <= end_ns(a));
    rt_close(&trace);
}

UNIT_TEST_WITHIN(waits_and_the_default_stream_are_in_the_trace, open_two,
                 close_it)
{
    void *const value = vt_memory(0, 4096);
    const ts_vdev_stream a = stream(0, "a"), b = stream(1, "b");
    const ts_vdev_event e = vt_event();
    const char *const path = rt_start("order.sbt", plain);
    launch(a, value, 20);
    ok(ts_vdev_event_record(vdev, e, a)); // this one is waited for
    ok(ts_vdev_event_wait(vdev, e, b));
    launch(b, value, 1);
    launch(a, vt_memory(0, 4096), 20);
    ok(ts_vdev_event_record(vdev, e, a));
    launch(0, vt_memory(0, 4096), 1);
    launch(a, vt_memory(0, 4096), 1);
    vt_finish();
    ok(ts_session_stop());
    rt_trace trace = rt_read(path);
    const rt_row *const first = rt_nth(&trace, TS_EVENT_EVENT_RECORD, NULL, 0);
    const rt_row *const wait = rt_only(&trace, TS_EVENT_EVENT_WAIT, NULL);
    assert_int_equal(wait->values[TS_COLUMN_RECORD],
                     first->values[TS_COLUMN_CORRELATION]);
    assert_true(end_ns(wait) >= first->start_ns);
    const rt_row *last = NULL; // the kernels of device 0, in order
    for (size_t i = 0; i < 5; i++) {
        const rt_row *const k = rt_nth(&trace, TS_EVENT_KERNEL, "work", i);
        if (k->track == wait->track)
            assert_true(k->start_ns >= end_ns(wait));
        else if (last)
            assert_true(k->start_ns >= end_ns(last));
        if (k->track != wait->track) last = k;
    }
    assert_fifo(&trace);
    rt_close(&trace);
}

UNIT_TEST_WITHIN(a_session_may_begin_and_end_while_the_device_works, open_two,
                 close_it)
{
    void *const value = vt_memory(0, 4096);
    const ts_vdev_stream s = stream(0, "s");
    launch(s, value, 1); // not recorded
    ok(ts_vdev_stream_synchronize(vdev, s));
    for (int round = 0; round < 2; round++) {
        const char *const path = rt_start("round.sbt", plain);
        for (int i = 0; i < 10; i++)
            launch(s, value, 1);
        ok(ts_vdev_stream_synchronize(vdev, s));
        ok(ts_session_stop());
        for (int i = 0; i < 10; i++)
            launch(s, value, 1);
        rt_trace trace = rt_read(path);
        assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, "work"), 10);
        ts_track track;
        const rt_row *const k = rt_nth(&trace, TS_EVENT_KERNEL, "work", 0);
        assert_true(ts_reader_track(trace.reader, k->track, &track));
        rt_assert_text(track.name, "s");
        rt_close(&trace);
        ok(ts_vdev_stream_synchronize(vdev, s));
    }
}

static void *storm_main(void *arg)
{
    void *const value = vt_memory(*(uint32_t *)arg, 4096);
    const ts_vdev_stream a = stream(0, NULL), b = stream(1, NULL);
    const ts_vdev_event e = vt_event();
    for (int i = 0; i < 200; i++) {
        launch(i % 2 ? a : b, value, 0);
        ok(ts_vdev_event_record(vdev, e, i % 2 ? a : b));
        ok(ts_vdev_event_wait(vdev, e, i % 2 ? b : a));
        if (i % 50 == 0) launch(0, value, 0);
    }
    return NULL;
}

UNIT_TEST_WITHIN(a_storm_is_complete_and_in_order, open_two, close_it)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    uint32_t devices[THREADS] = { 0, 1, 0, 1 };
    const char *const path = rt_start("storm.sbt", plain);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, storm_main, &devices[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    vt_finish();
    ok(ts_session_stop());
    rt_trace trace = rt_read(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, "work"), 4 * 204);
    assert_int_equal(rt_rows(&trace, TS_EVENT_EVENT_WAIT, NULL), 4 * 200);
    assert_int_equal(trace.info->lost, 0);
    assert_fifo(&trace);
    for (size_t i = 0; i < 4 * 204; i += 50)
        assert_causal(&trace, rt_nth(&trace, TS_EVENT_KERNEL, "work", i));
    rt_close(&trace);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
