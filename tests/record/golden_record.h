/*
    golden_record.h - what the golden traces hold: one function for each

    Included by tests/record/test_golden.c, whose clock is tick_now.
*/
#ifndef GOLDEN_RECORD_H
#define GOLDEN_RECORD_H

static uint32_t stream, other_stream, device, other_device;

static void pass(uint64_t ticks)
{
    tick_now += ticks;
}

/* ---- Threads ------------------------------------------------------------ */

static void record_zone(void)
{
    {
        TS_ZONE("outer", "category", 0xFF8000);
        pass(10);
        for (int i = 0; i < 3; i++) {
            TS_ZONE("inner");
            pass(5);
            {
                TS_ZONE("innermost");
                pass(1);
            }
        }
        pass(2);
        TS_ZONE("to the end");
        pass(7);
    }
    pass(3);
    {
        TS_ZONE_NAME("made at run time");
    }
    TS_ZONE_BEGIN(first, "crosses");
    pass(1);
    TS_ZONE_BEGIN(second, "crossed");
    pass(1);
    TS_ZONE_END(first);
    pass(1);
    TS_ZONE_END(second);
    TS_ZONE_BEGIN(slow, "longer than 32 bits");
    pass(UINT64_C(1) << 33);
    TS_ZONE_END(slow);
}

static ts_zone left_open[2];
static void record_zone_open(void)
{
    static ts_site sites[2] = { { .name = "outer" }, { .name = "inner" } };
    pass(1);
    left_open[0] = ts_zone_begin(&sites[0]);
    pass(2);
    left_open[1] = ts_zone_begin(&sites[1]);
    pass(3);
}

static void record_zone_arg(void)
{
    TS_ZONE("argued");
    pass(1);
    TS_ZONE_VALUE("int", -7);
    TS_ZONE_VALUE("big", UINT64_C(1) << 62);
    TS_ZONE_VALUE("double", 0.1);
    TS_ZONE_TEXT("a text with \"quotes\", \\ and \xC3\xA9");
    TS_ZONE_TEXT("");
    pass(1);
}

static void record_mark(void)
{
    for (int i = 0; i < 3; i++) {
        pass(5);
        TS_MARK("mark", "category", 0x123456);
    }
}

static void record_message(void)
{
    static char big[9000];
    memset(big, 'm', sizeof big - 1);
    TS_MESSAGE("");
    pass(1);
    TS_MESSAGE("hello\nworld \xE2\x82\xAC");
    TS_ZONE("around");
    pass(1);
    TS_MESSAGE(big);
}

static void record_counter(void)
{
    ts_counter_define("level", "bytes", TS_COUNTER_MONOTONIC);
    for (int i = -2; i < 3; i++) {
        pass(1);
        TS_COUNTER("level", i * 1000);
        TS_COUNTER("share", i / 4.0);
    }
    TS_COUNTER("level", INT64_MAX);
    TS_COUNTER("level", INT64_MIN);
}

static void record_frame(void)
{
    for (int i = 0; i < 4; i++) {
        pass(16);
        TS_FRAME("frame");
        if (i % 2) TS_FRAME("slow frame", "physics");
    }
}

static const void *pointer(uint64_t address)
{
    return (const void *)(uintptr_t)address;
}

static void record_alloc(void)
{
    TS_ALLOC(pointer(0x1000), 16);
    TS_ZONE("owner");
    pass(1);
    TS_ALLOC(pointer(0x7FFF00001000), 1 << 20, "arena");
    TS_ALLOC(pointer(0xFFFF800000000000), UINT64_MAX, "arena", "textures");
}

static void record_free(void)
{
    TS_FREE(pointer(0x1000));
    pass(1);
    TS_FREE(pointer(0x7FFF00001000), "arena");
    TS_FREE(pointer(0xFFFF800000000000), "arena");
}

static void record_flow(void)
{
    TS_FLOW_START(1);
    pass(1);
    TS_FLOW_STEP(1);
    TS_FLOW_START(UINT64_MAX);
    pass(1);
    TS_FLOW_END(1);
    TS_FLOW_END(UINT64_MAX);
}

static void record_span(void)
{
    TS_SPAN_START(0, "job");
    pass(1);
    TS_SPAN_START(9, "other job", "category");
    pass(1);
    TS_SPAN_END(0);
    TS_SPAN_END(9);
}

static void record_api_call(void)
{
    const uint8_t id[4] = { 1, 2, 3, 4 };
    const uint32_t module =
        ts_module_define("libdemo.so", 0x1000, 0x9000, id, sizeof id);
    const ts_frame_entry frames[] = { { module, 0, 0x42 }, { 0, 0, 0xABCD } };
    ts_api_call call = { .name = ts_name_define("launch"),
                         .stack = ts_stack_define(frames, 2),
                         .start = tick_now,
                         .end = tick_now + 9,
                         .correlation = 77 };
    ts_api_call_record(&call);
    call.result = 700;
    call.stack = 0;
    pass(20);
    call.start = call.end = tick_now;
    ts_api_call_record(&call);
}

static void record_sample(void)
{
    const uint32_t module =
        ts_module_define("/opt/app", 0x400000, 0x10000, NULL, 0);
    const ts_frame_entry inner[] = { { .module = module, .offset = 0x30 },
                                     { .module = module, .offset = 0x20 },
                                     { .module = module, .offset = 0x10 } };
    const uint32_t deep = ts_stack_define(inner, 3);
    const uint32_t flat = ts_stack_define(&inner[1], 2);
    const uint32_t cpu = ts_name_define("cpu"), ns = ts_name_define("ns");
    const uint32_t space = ts_name_define("alloc_space");
    for (int i = 0; i < 3; i++) {
        pass(10);
        ts_sample(cpu, ns, 10, deep);
    }
    pass(10);
    ts_sample(cpu, ns, 10, flat);
    ts_sample(space, ts_name_define("bytes"), INT64_MAX, flat);
    ts_sample(0, 0, -1, 0);
}

static void record_access(void)
{
    const ts_gpu_access host = { .mode = TS_ACCESS_READ,
                                 .address = 0x7000,
                                 .size = 16 };
    ts_gpu_access_record(&host);
    pass(5);
    ts_gpu_access work = { .track = stream,
                           .mode = TS_ACCESS_WRITE,
                           .correlation = 1000,
                           .address = UINT64_C(0xFFFF000000000000),
                           .size = UINT64_C(1) << 40 };
    ts_gpu_access_record(&work);
    work.mode = TS_ACCESS_READ | TS_ACCESS_WRITE | TS_ACCESS_COARSE;
    work.address += 4096;
    ts_gpu_access_record(&work);
    pass(5);
}

/* ---- Devices ------------------------------------------------------------ */

static void define_devices(void)
{
    const ts_gpu_device_desc one = { .name = "Card A" };
    const ts_gpu_device_desc two = { .name = "Card B", .index = 1 };
    device = ts_gpu_device_define(&one);
    other_device = ts_gpu_device_define(&two);
    const ts_gpu_context_desc context = { .device = device, .number = 1 };
    const ts_gpu_stream_desc first = { .context =
                                           ts_gpu_context_define(&context),
                                       .number = 7,
                                       .priority = -1,
                                       .flags = TS_STREAM_NON_BLOCKING };
    const ts_gpu_stream_desc second = { .name = "default",
                                        .context = other_device,
                                        .flags = TS_STREAM_LEGACY_DEFAULT };
    stream = ts_gpu_stream_define(&first);
    other_stream = ts_gpu_stream_define(&second);
    ts_metadata_text(device, "vendor", "Golden Works");
}

// Three operations of a kind; of the last one few fields are known.
static void record_gpu(ts_event_kind kind, const ts_gpu_op *like)
{
    TS_ZONE("launching");
    for (int i = 0; i < 3; i++) {
        ts_gpu_op op = *like;
        op.kind = kind;
        op.track = i == 1 ? other_stream : stream;
        pass(100);
        op.start = tick_now;
        op.end = tick_now + 40 + (uint64_t)i;
        if (i < 2) {
            op.origin = ts_gpu_origin_here();
            op.queued = op.start - 90;
            op.submitted = op.start - 50;
            op.correlation = 1000 + (uint64_t)i;
        } else {
            memset(&op.u, 0, sizeof op.u);
        }
        ts_gpu_op_record(&op);
    }
}

static void record_kernel(void)
{
    const ts_gpu_launch_desc launch = {
        .name = "_Z6matmulPf",
        .grid = { 10, 20, 1 },
        .block = { 128, 1, 1 },
        .cluster = { 2, 1, 1 },
        .registers = 40,
        .static_shared = 1024,
        .dynamic_shared = 2048,
        .local = 16,
    };
    const ts_gpu_op op = { .u.kernel = { ts_gpu_launch_define(&launch), 5,
                                         6 } };
    record_gpu(TS_EVENT_KERNEL, &op);
}

static void record_memcpy(void)
{
    const ts_gpu_op op = { .u.memcpy = { 5, 2 | 3 << 4, 1 << 20, 0x1000, 0x2000,
                                         other_device } };
    record_gpu(TS_EVENT_MEMCPY, &op);
}

static void record_memset(void)
{
    const ts_gpu_op op = { .u.memset = { 4096, 0x2000, 255 } };
    record_gpu(TS_EVENT_MEMSET, &op);
}

static const ts_gpu_op event_op = { .u.event = { .id = 11 } };
static void record_event_record(void)
{
    record_gpu(TS_EVENT_EVENT_RECORD, &event_op);
}

static void record_event_wait(void)
{
    const ts_gpu_op op = { .u.event = { .id = 11, .record = 1000 } };
    record_gpu(TS_EVENT_EVENT_WAIT, &op);
}

static void record_stream_sync(void)
{
    record_gpu(TS_EVENT_STREAM_SYNC, &event_op);
}

static void record_device_sync(void)
{
    const ts_gpu_op op = { .kind = TS_EVENT_DEVICE_SYNC,
                           .track = device,
                           .start = tick_now,
                           .end = tick_now + 8 };
    ts_gpu_op_record(&op);
}

static void record_event_sync(void)
{
    record_gpu(TS_EVENT_EVENT_SYNC, &event_op);
}

static void record_host_function(void)
{
    const ts_gpu_op op = { .u.host_function = { 0x400123,
                                                ts_name_define("callback") } };
    record_gpu(TS_EVENT_HOST_FUNCTION, &op);
}

static void record_graph_launch(void)
{
    const ts_gpu_op op = { .u.graph_launch = { 6 } };
    record_gpu(TS_EVENT_GRAPH_LAUNCH, &op);
}

static void record_collective(void)
{
    const ts_gpu_op op = { .u.collective = { ts_name_define("AllReduce"), 8,
                                             other_device, 16, 0xC0, 3, 4096,
                                             0 } };
    record_gpu(TS_EVENT_COLLECTIVE, &op);
}

static void record_gpu_alloc(void)
{
    const ts_gpu_op op = { .u.memory = { 0x2000, 1 << 20,
                                         ts_name_define("arena"), 3 << 4 } };
    record_gpu(TS_EVENT_GPU_ALLOC, &op);
}

static void record_gpu_free(void)
{
    const ts_gpu_op op = { .u.memory = { 0x2000, 0, ts_name_define("arena"),
                                         0 } };
    record_gpu(TS_EVENT_GPU_FREE, &op);
}

// No recording call makes such an event; importers do.
static void record_dependency(void)
{
    const uint64_t control[] = { tick_now, TS_DEPENDENCY_CONTROL, 7, 3 };
    const uint64_t data[] = { tick_now, TS_DEPENDENCY_DATA, 7, 1ull << 40 };
    if (!ts__ring_get(4)) return;
    ts__row_put(TS_EVENT_DEPENDENCY, ts__track, 0, control, 4, NULL, 0);
    ts__row_put(TS_EVENT_DEPENDENCY, ts__track, 0, data, 4, NULL, 0);
}

/* ---- Other chunks ------------------------------------------------------- */

static void record_clock(void)
{
    const uint32_t clock = ts_clock_define("device clock");
    ts_clock_sample(clock, 500, tick_now, 1);
    pass(1000);
    ts_clock_sample(clock, 2500, tick_now, 1); // two ticks a nanosecond
    const ts_gpu_op op = { .kind = TS_EVENT_MEMSET,
                           .track = stream,
                           .clock = clock,
                           .start = 1001,
                           .end = 2001 };
    ts_gpu_op_record(&op);
}

static void record_loss(void)
{
    ts_loss_report(stream, TS_LOSS_BACKEND, "buffer", 12, tick_now,
                   tick_now + 5);
    const ts_gpu_op op = {
        .kind = TS_EVENT_KERNEL, .track = stream, .start = 10, .end = 9
    };
    ts_gpu_op_record(&op); // refused
}

static void record_blob(void)
{
    uint64_t hash[2];
    for (int i = 0; i < 2; i++)
        ts_blob_put("golden bytes", 12, hash);
    ts_blob_put("", 0, hash);
}

static void record_metadata(void)
{
    ts_metadata_int(0, "golden.int", -1);
    ts_metadata_double(0, "golden.double", 0.1);
    ts_metadata_text(0, "golden.text", "text");
    ts_metadata_text(0, "golden.text", "later text");
    ts_metadata_int(ts_thread_track(), "core", 3);
}

static void record_nothing(void)
{
}

typedef struct golden {
    const char *name;
    void (*record)(void);
    bool devices;
} golden;

static const golden goldens[] = {
#define THREAD(name) \
    { \
#name, record_##name, false \
    }
#define DEVICE(name) \
    { \
#name, record_##name, true \
    }
    THREAD(zone),         THREAD(zone_open),  THREAD(zone_arg),
    THREAD(mark),         THREAD(message),    THREAD(counter),
    THREAD(frame),        THREAD(alloc),      THREAD(free),
    THREAD(flow),         THREAD(span),       THREAD(api_call),
    DEVICE(kernel),       DEVICE(memcpy),     DEVICE(memset),
    DEVICE(event_record), DEVICE(event_wait), DEVICE(stream_sync),
    DEVICE(device_sync),  DEVICE(event_sync), DEVICE(host_function),
    DEVICE(graph_launch), DEVICE(collective), DEVICE(gpu_alloc),
    DEVICE(gpu_free),     DEVICE(access),     DEVICE(clock),
    DEVICE(loss),         THREAD(blob),       THREAD(metadata),
    THREAD(nothing),      THREAD(dependency), THREAD(sample),
};
enum { GOLDENS = sizeof goldens / sizeof *goldens };

#endif // GOLDEN_RECORD_H
