// GPU operations and device clocks, field by field.
#define _GNU_SOURCE
#include "tests/record/record_fixture.h"

static const ts_session_desc plain;

typedef struct card {
    uint32_t device, other, context, stream, bare;
} card;

static card define_card(void)
{
    card c;
    const ts_gpu_device_desc device = { .name = "Card A", .index = 0 };
    const ts_gpu_device_desc other = { .name = "Card B", .index = 1 };
    c.device = ts_gpu_device_define(&device);
    c.other = ts_gpu_device_define(&other);
    const ts_gpu_context_desc context = { .device = c.device, .number = 9 };
    c.context = ts_gpu_context_define(&context);
    const ts_gpu_stream_desc stream = {
        .name = "copies",
        .context = c.context,
        .number = UINT64_MAX,
        .priority = -5,
        .flags = TS_STREAM_NON_BLOCKING,
    };
    c.stream = ts_gpu_stream_define(&stream);
    const ts_gpu_stream_desc bare = { .context = c.other, .number = 7 };
    c.bare = ts_gpu_stream_define(&bare);
    return c;
}

static ts_gpu_op op_make(ts_event_kind kind, uint32_t track)
{
    const uint64_t now = ts_tick_now();
    ts_gpu_op op;
    memset(&op, 0, sizeof op);
    op.kind = kind;
    op.track = track;
    op.start = now;
    op.end = now + 5000;
    return op;
}

UNIT_TEST(devices_contexts_and_streams_are_tracks)
{
    const char *const path = rt_start("tracks.sbt", plain);
    const card c = define_card();
    ts_metadata_text(c.device, "vendor", "Test Works");
    ts_gpu_op op = op_make(TS_EVENT_EVENT_RECORD, c.stream);
    ts_gpu_op_record(&op);
    op = op_make(TS_EVENT_EVENT_RECORD, c.bare);
    ts_gpu_op_record(&op);
    rt_trace trace = rt_end(path);
    ts_track track;
    assert_true(ts_reader_track(trace.reader, c.stream, &track));
    assert_int_equal(track.type, TS_TRACK_STREAM);
    rt_assert_text(track.name, "copies");
    assert_true(track.number == UINT64_MAX);
    assert_int_equal(track.parent, c.context);
    assert_int_equal(track.flags & 3, TS_STREAM_NON_BLOCKING);
    assert_int_equal(track.flags >> 16 & 0xFFFF, 32768 - 5);
    assert_true(ts_reader_track(trace.reader, c.context, &track));
    assert_int_equal(track.type, TS_TRACK_CONTEXT);
    assert_int_equal(track.number, 9);
    assert_int_equal(track.parent, c.device);
    rt_assert_text(track.name, "context 9");
    assert_true(ts_reader_track(trace.reader, c.device, &track));
    assert_int_equal(track.type, TS_TRACK_DEVICE);
    rt_assert_text(track.name, "Card A");
    assert_true(ts_reader_track(trace.reader, track.parent, &track));
    assert_int_equal(track.type, TS_TRACK_PROCESS);
    assert_int_equal(track.number, (uint64_t)getpid());
    assert_true(ts_reader_track(trace.reader, c.bare, &track));
    rt_assert_text(track.name, "stream 7");
    assert_int_equal(track.parent, c.other);
    assert_int_equal(track.flags >> 16 & 0xFFFF, 32768);
    ts_metadata vendor;
    assert_true(ts_reader_metadata(trace.reader, c.device, "vendor", &vendor));
    rt_assert_text(vendor.text, "Test Works");
    rt_close(&trace);
}

UNIT_TEST(a_kernel_keeps_its_launch_and_origin)
{
    const char *const path = rt_start("kernel.sbt", plain);
    const card c = define_card();
    const ts_gpu_launch_desc desc = {
        .name = "_Z6matmulPfS_S_i",
        .grid = { 1, 2, 3 },
        .block = { 4, 5, 6 },
        .cluster = { 7, 8, 9 },
        .registers = 255,
        .static_shared = 1024,
        .dynamic_shared = UINT32_MAX,
        .local = 64,
    };
    const uint32_t launch = ts_gpu_launch_define(&desc);
    assert_int_equal(ts_gpu_launch_define(&desc), launch);
    ts_gpu_op op = op_make(TS_EVENT_KERNEL, c.stream);
    const ts_frame_entry frame = { 0, 0, 0x1234 };
    {
        TS_ZONE("launching");
        op.origin = ts_gpu_origin_here();
        op.origin.stack = ts_stack_define(&frame, 1);
    }
    op.queued = op.start - 300;
    op.submitted = op.start - 200;
    op.correlation = UINT64_MAX;
    op.u.kernel.launch = launch;
    op.u.kernel.graph_node = UINT64_MAX - 1;
    op.u.kernel.graph = 3;
    ts_gpu_op_record(&op);
    const uint32_t thread = ts_thread_track();
    assert_int_equal(op.origin.thread, thread);

    rt_trace trace = rt_end(path);
    const rt_row *const row = rt_only(&trace, TS_EVENT_KERNEL, desc.name);
    assert_int_equal(row->track, c.stream);
    assert_int_equal(row->start_tick, op.start);
    assert_int_equal(row->values[TS_COLUMN_QUEUED], 301);
    assert_int_equal(row->values[TS_COLUMN_SUBMITTED], 201);
    assert_true(row->values[TS_COLUMN_CORRELATION] == UINT64_MAX);
    assert_true(row->values[TS_COLUMN_GRAPH_NODE] == UINT64_MAX - 1);
    assert_int_equal(row->values[TS_COLUMN_GRAPH], 3);
    assert_int_equal(row->values[TS_COLUMN_THREAD], thread);
    const uint32_t site = (uint32_t)row->values[TS_COLUMN_SITE];
    rt_assert_text(ts_reader_site_name(trace.reader, site), "launching");
    const ts_frame_entry *frames;
    const uint32_t stack = (uint32_t)row->values[TS_COLUMN_STACK];
    assert_int_equal(ts_reader_stack(trace.reader, stack, &frames), 1);
    assert_int_equal(frames[0].offset, 0x1234);
    const ts_launch_entry *const found =
        ts_reader_launch(trace.reader, (uint32_t)row->values[TS_COLUMN_LAUNCH]);
    assert_non_null(found);
    assert_memory_equal(found->grid, desc.grid, sizeof desc.grid);
    assert_memory_equal(found->block, desc.block, sizeof desc.block);
    assert_memory_equal(found->cluster, desc.cluster, sizeof desc.cluster);
    assert_int_equal(found->registers, 255);
    assert_int_equal(found->static_shared, 1024);
    assert_int_equal(found->dynamic_shared, UINT32_MAX);
    assert_int_equal(found->local, 64);
    rt_close(&trace);
}

// Kernels of a queue that fills up: they are issued at a steady pace, and their
// starts fall behind. Some do not say when they were issued.
static void issue(const card *c, ts_gpu_op *op, uint64_t base, uint32_t i,
                  bool gaps)
{
    *op = op_make(TS_EVENT_KERNEL, i % 7 ? c->stream : c->bare);
    const uint64_t issued = base + 4000 * (uint64_t)i + i * i % 13;
    op->start = base + 100000 + 9000 * (uint64_t)i + i * 7919 % 3000;
    op->end = op->start + 8000;
    op->queued = gaps && i % 50 == 49 ? 0 : issued;
    op->submitted = issued + 700 + i % 11;
}

static void check_issued(uint32_t compress, bool gaps)
{
    enum { COUNT = 3000 };
    ts_session_desc desc = plain;
    desc.compress = compress;
    const char *const path = rt_start("issued.sbt", desc);
    const card c = define_card();
    const uint64_t base = ts_tick_now();
    ts_gpu_op op;
    for (uint32_t i = 0; i < COUNT; i++) {
        issue(&c, &op, base, i, gaps);
        ts_gpu_op_record(&op);
    }
    rt_trace trace = rt_end(path);
    uint32_t found = 0;
    for (size_t i = 0; i < trace.count; i++) {
        const rt_row *const row = &trace.rows[i];
        if (row->kind != TS_EVENT_KERNEL) continue;
        issue(&c, &op, base, found++, gaps);
        const uint64_t queued = op.queued ? op.start - op.queued + 1 : 0;
        assert_true(row->start_tick == op.start);
        assert_true(row->values[TS_COLUMN_QUEUED] == queued);
        assert_true(row->values[TS_COLUMN_SUBMITTED] ==
                    op.start - op.submitted + 1);
    }
    assert_int_equal(found, COUNT);
    rt_close(&trace);
}

UNIT_TEST(moments_of_issue_come_back)
{
    check_issued(0, false);
    check_issued(0, true);
#ifdef TRACESMITH_ZSTD
    check_issued(3, false);
    check_issued(3, true);
#endif
}

// A kind of operation, its fields set to a value, and the columns expected.
typedef struct field {
    ts_column column;
    uint64_t value;
} field;

static uint32_t narrow(uint64_t value)
{
    return (uint32_t)value;
}

static size_t set_fields(ts_gpu_op *op, uint64_t v, uint32_t name, field *out)
{
    size_t n = 0;
#define FIELD(member, as, column) \
    do { \
        op->u.member = as(v); \
        out[n++] = (field){ TS_COLUMN_##column, as(v) }; \
    } while (0)
    switch (op->kind) {
    case TS_EVENT_MEMCPY:
        op->u.memcpy.type = 5;
        out[n++] = (field){ TS_COLUMN_TYPE, 5 };
        FIELD(memcpy.size, (uint64_t), SIZE);
        FIELD(memcpy.source, (uint64_t), SOURCE);
        FIELD(memcpy.destination, (uint64_t), ADDRESS);
        FIELD(memcpy.memory, narrow, MEMORY);
        FIELD(memcpy.peer, narrow, PEER);
        break;
    case TS_EVENT_MEMSET:
        FIELD(memset.size, (uint64_t), SIZE);
        FIELD(memset.destination, (uint64_t), ADDRESS);
        FIELD(memset.value, (uint64_t), VALUE);
        break;
    case TS_EVENT_EVENT_WAIT:
        FIELD(event.record, (uint64_t), RECORD);
        FIELD(event.id, (uint64_t), ID);
        break;
    case TS_EVENT_EVENT_RECORD:
    case TS_EVENT_STREAM_SYNC:
    case TS_EVENT_EVENT_SYNC: FIELD(event.id, (uint64_t), ID); break;
    case TS_EVENT_HOST_FUNCTION:
        FIELD(host_function.address, (uint64_t), ADDRESS);
        op->u.host_function.name = name;
        out[n++] = (field){ TS_COLUMN_NAME, name };
        break;
    case TS_EVENT_GRAPH_LAUNCH:
        FIELD(graph_launch.graph, (uint64_t), GRAPH);
        break;
    case TS_EVENT_COLLECTIVE:
        op->u.collective.name = name;
        out[n++] = (field){ TS_COLUMN_NAME, name };
        FIELD(collective.communicator, (uint64_t), COMMUNICATOR);
        FIELD(collective.sequence, (uint64_t), SEQUENCE);
        FIELD(collective.size, (uint64_t), SIZE);
        FIELD(collective.type, narrow, TYPE);
        FIELD(collective.peer, narrow, PEER);
        FIELD(collective.ranks, narrow, RANKS);
        break;
    case TS_EVENT_GPU_ALLOC:
        FIELD(memory.size, (uint64_t), SIZE);
        FIELD(memory.memory, narrow, MEMORY);
        // fall through
    case TS_EVENT_GPU_FREE:
        FIELD(memory.address, (uint64_t), ADDRESS);
        op->u.memory.pool = name;
        out[n++] = (field){ TS_COLUMN_POOL, name };
        break;
    default: break; // a device_sync has no more
    }
#undef FIELD
    return n;
}

static const uint64_t field_values[] = { 0, 1, 0xFFFFFFFF, UINT64_MAX };
enum {
    VALUES = sizeof field_values / sizeof *field_values,
    KINDS = TS_EVENT_LIMIT - TS_EVENT_MEMCPY
};

UNIT_TEST(every_kind_keeps_every_field)
{
    static field fields[KINDS][VALUES][8];
    static size_t counts[KINDS][VALUES];
    const char *const path = rt_start("kinds.sbt", plain);
    const card c = define_card();
    const uint32_t name = ts_name_define("AllReduce");
    for (int k = 0; k < KINDS; k++)
        for (int v = 0; v < VALUES; v++) {
            ts_gpu_op op = op_make((ts_event_kind)(TS_EVENT_MEMCPY + k),
                                   v % 2 ? c.bare : c.stream);
            op.correlation = field_values[v];
            counts[k][v] = set_fields(&op, field_values[v], name, fields[k][v]);
            ts_gpu_op_record(&op);
            rt_next_tick();
        }
    rt_trace trace = rt_end(path);
    assert_int_equal(trace.count, KINDS * VALUES);
    for (int k = 0; k < KINDS; k++)
        for (size_t v = 0; v < VALUES; v++) {
            const ts_event_kind kind = (ts_event_kind)(TS_EVENT_MEMCPY + k);
            const rt_row *const row = rt_nth(&trace, kind, NULL, v);
            assert_int_equal(row->track, v % 2 ? c.bare : c.stream);
            assert_true(row->values[TS_COLUMN_CORRELATION] == field_values[v]);
            assert_int_equal(row->values[TS_COLUMN_QUEUED], 0);
            for (size_t i = 0; i < counts[k][v]; i++) {
                const field *const f = &fields[k][v][i];
                if (row->values[f->column] != f->value)
                    fail_msg("%s: %s is %" PRIx64 ", not %" PRIx64,
                             ts_event_name(kind), ts_column_name(f->column),
                             row->values[f->column], f->value);
            }
        }
    rt_close(&trace);
}

UNIT_TEST(a_device_sync_may_lie_on_a_device)
{
    const char *const path = rt_start("sync.sbt", plain);
    const card c = define_card();
    ts_gpu_op op = op_make(TS_EVENT_DEVICE_SYNC, c.device);
    ts_gpu_op_record(&op);
    op = op_make(TS_EVENT_DEVICE_SYNC, c.context);
    ts_gpu_op_record(&op);
    rt_trace trace = rt_end(path);
    assert_int_equal(rt_nth(&trace, TS_EVENT_DEVICE_SYNC, NULL, 0)->track,
                     c.device);
    assert_int_equal(rt_nth(&trace, TS_EVENT_DEVICE_SYNC, NULL, 1)->track,
                     c.context);
    rt_close(&trace);
}

UNIT_TEST(bad_operations_are_refused_and_counted)
{
    const char *const path = rt_start("bad.sbt", plain);
    const card c = define_card();
    ts_gpu_op op = op_make(TS_EVENT_KERNEL, c.stream);
    op.end = op.start - 1;
    ts_gpu_op_record(&op);
    op = op_make(TS_EVENT_KERNEL, c.stream);
    op.end = op.start; // takes no time: allowed
    ts_gpu_op_record(&op);
    rt_trace trace = rt_end(path);
    assert_int_equal(rt_only(&trace, TS_EVENT_KERNEL, NULL)->duration_ns, 0);
    assert_int_equal(trace.info->lost, 1);
    rt_close(&trace);
}

UNIT_TEST(late_operations_keep_their_times)
{
    enum { COUNT = 2000 };
    const char *const path = rt_start("late.sbt", plain);
    const card c = define_card();
    const uint64_t base = ts_tick_now();
    rt_sleep_ms(2);
    for (uint64_t i = 0; i < COUNT; i++) { // backwards
        ts_gpu_op op = op_make(TS_EVENT_MEMSET, c.stream);
        op.start = base + (COUNT - i) * 1000;
        op.end = op.start + 600;
        op.correlation = COUNT - i;
        ts_gpu_op_record(&op);
    }
    rt_trace trace = rt_end(path);
    assert_int_equal(trace.count, COUNT);
    for (uint64_t i = 0; i < COUNT; i++) {
        assert_int_equal(trace.rows[i].values[TS_COLUMN_CORRELATION], i + 1);
        assert_int_equal(trace.rows[i].start_tick, base + (i + 1) * 1000);
    }
    rt_close(&trace);
}

UNIT_TEST(a_device_clock_is_mapped_by_its_samples)
{
    const char *const path = rt_start("clock.sbt", plain);
    const card c = define_card();
    const uint32_t clock = ts_clock_define("card clock");
    assert_int_not_equal(clock, 0);
    const uint64_t before = ts_tick_now();
    ts_clock_sample(clock, 1000000, before, 10);
    rt_sleep_ms(40);
    const uint64_t after = ts_tick_now();
    ts_clock_sample(clock, 2000000, after, 10);
    ts_gpu_op op = op_make(TS_EVENT_KERNEL, c.stream);
    op.clock = clock;
    op.start = 1500000;
    op.end = 1750000;
    ts_gpu_op_record(&op);
    rt_trace trace = rt_end(path);
    const rt_row *const row = rt_only(&trace, TS_EVENT_KERNEL, NULL);
    const int64_t from = ts_reader_time_ns(trace.reader, 0, before);
    const int64_t to = ts_reader_time_ns(trace.reader, 0, after);
    assert_in_range(row->start_ns, (from + to) / 2 - 1000,
                    (from + to) / 2 + 1000);
    assert_in_range(row->duration_ns, (to - from) / 4 - 1000,
                    (to - from) / 4 + 1000);
    rt_close(&trace);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
