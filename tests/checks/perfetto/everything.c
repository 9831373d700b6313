/*
    everything.c - records a trace that holds every kind of event

    everything OUT [COUNT]: with names that are hard to write down, slices
    that overlap, spans, flows, launches with and without API calls. COUNT:
    that many zones and counter samples more, on four threads.
*/
#define _GNU_SOURCE
#include "tracesmith.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

// A text that breaks what does not escape: quotes, backslashes, control
// characters, emoji, bytes that are no UTF-8 (lone, overlong, surrogate).
#define HARD \
    "q\" b\\ \t\n\x01\x7f \xF0\x9F\x8E\x89 \xFF\xC0\x80\xED\xA0\x80 </x>"

static void pause_ns(long ns)
{
    nanosleep(&(struct timespec){ 0, ns }, NULL);
}

/* ---- Threads ------------------------------------------------------------ */

static void zones(void)
{
    TS_ZONE("outer", "cpu", 0xFF8800);
    TS_ZONE_VALUE("answer", 42);
    TS_ZONE_VALUE("negative", -7);
    TS_ZONE_VALUE("large", INT64_MIN);
    TS_ZONE_VALUE("half", 0.5);
    TS_ZONE_VALUE(HARD, 1);
    TS_ZONE_TEXT(HARD);
    TS_ZONE_TEXT("a second text");
    TS_ZONE_VALUE("answer", 43);
    {
        TS_ZONE(HARD, HARD);
        TS_ZONE_TEXT("inner");
    }
    {
        TS_FUNCTION();
    }
    for (int i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "made %d", i);
        TS_ZONE_NAME(name);
    }
}

static void nest(int depth)
{
    TS_ZONE("deep");
    if (depth > 1) nest(depth - 1);
}

static void points(void)
{
    TS_ZONE("points");
    TS_MARK("mark", "cpu", 0x00FF00);
    TS_MARK(HARD);
    TS_MESSAGE("a message");
    TS_MESSAGE(HARD);
    TS_MESSAGE("");
    static char big[7000];
    for (size_t i = 0; i < sizeof big - 1; i++)
        big[i] = (char)('a' + i % 26);
    TS_MESSAGE(big);
    TS_COUNTER("whole", -5);
    TS_COUNTER("whole", INT64_C(9007199254740992));
    ts_counter_define("bytes used", "bytes", 0);
    TS_COUNTER("bytes used", 4096);
    ts_counter_define("rate", "items", TS_COUNTER_RATE);
    TS_COUNTER("rate", 0.1);
    TS_COUNTER("odd", 1.5);
    TS_COUNTER("odd", (double)INFINITY);
    TS_COUNTER("odd", -2.5);
    TS_COUNTER(HARD, 1);
}

static void memory(void)
{
    TS_ZONE("memory");
    void *const a = (void *)(uintptr_t)0x10000;
    void *const b = (void *)(uintptr_t)0x20000;
    TS_ALLOC(a, 100);
    TS_ALLOC(b, 50);
    TS_FREE(a);
    TS_ALLOC(a, 7, "arena", "textures");
    TS_FREE(b);
    TS_FREE(a, "arena");
    TS_FREE(b); // not allocated any more
}

static void *other_thread(void *user)
{
    (void)user;
    TS_THREAD_NAME("other " HARD);
    TS_ZONE("other side");
    TS_FLOW_STEP(77);
    TS_SPAN_END(1);
    TS_SPAN_END(99); // never started
    return NULL;
}

static void spans_and_flows(void)
{
    TS_ZONE("spans");
    TS_SPAN_START(1, "request");
    TS_SPAN_START(2, "request");
    TS_SPAN_START(2, "part of a request");
    TS_SPAN_START(UINT64_MAX, "never ends");
    TS_FLOW_START(77);
    pthread_t thread;
    pthread_create(&thread, NULL, other_thread, NULL);
    pthread_join(thread, NULL);
    TS_FLOW_END(77);
    TS_SPAN_END(2);
    TS_SPAN_END(2);
    for (int i = 0; i < 3; i++) {
        TS_FRAME("frame");
        pause_ns(1000);
    }
}

// Zones that overlap without nesting, as signal handlers can make them.
static void overlap(void)
{
    static ts_site one = { .name = "overlap 1" }, two = { .name = "overlap 2" };
    ts_zone a = ts_zone_begin(&one);
    ts_zone b = ts_zone_begin(&two);
    ts_zone_end(&a);
    pause_ns(1000);
    ts_zone_end(&b);
}

/* ---- GPU ---------------------------------------------------------------- */

typedef struct gpu {
    uint32_t device, context, streams[2], launch;
} gpu;

static gpu gpu_define(void)
{
    const ts_gpu_device_desc device = { .name = "device \"0\"", .index = 0 };
    gpu g = { .device = ts_gpu_device_define(&device) };
    const ts_gpu_context_desc context = { .device = g.device, .number = 1 };
    g.context = ts_gpu_context_define(&context);
    for (uint32_t i = 0; i < 2; i++) {
        const ts_gpu_stream_desc stream = { .context = g.context,
                                            .number = 7 + i };
        g.streams[i] = ts_gpu_stream_define(&stream);
    }
    const ts_gpu_launch_desc launch = { .name = "matmul<float>(\"x\")",
                                        .grid = { 8, 4, 1 },
                                        .block = { 256, 1, 1 },
                                        .registers = 32,
                                        .dynamic_shared = 1024 };
    g.launch = ts_gpu_launch_define(&launch);
    return g;
}

// Records an operation that started and ended so many ticks after `base`.
static void operation(ts_gpu_op op, uint64_t base, uint64_t start, uint64_t end)
{
    op.queued = base;
    op.submitted = base + (start > 10 ? 10 : start);
    op.start = base + start;
    op.end = base + end;
    ts_gpu_op_record(&op);
}

static uint32_t stack_define(void)
{
    const uint32_t module = ts_module_define("/usr/lib/lib\"x\".so", 0x400000,
                                             0x1000, "\x12\x34", 2);
    const ts_frame_entry frames[] = { { .module = module, .offset = 0x1f20 },
                                      { .module = 0,
                                        .offset = 0x7f0012345678 } };
    return ts_stack_define(frames, 2);
}

static void gpu_calls(const gpu *g)
{
    TS_ZONE("gpu calls");
    ts_gpu_origin origin = ts_gpu_origin_here();
    origin.stack = stack_define();
    ts_api_call call = { .name = ts_name_define("vendorLaunch"),
                         .stack = origin.stack,
                         .correlation = 501 };
    call.start = ts_tick_now();
    call.end = call.start + 2000;
    ts_api_call_record(&call);
    // Two kernels of one call; they overlap on one stream.
    ts_gpu_op op = { .kind = TS_EVENT_KERNEL,
                     .track = g->streams[0],
                     .correlation = 501,
                     .origin = origin };
    op.u.kernel.launch = g->launch;
    operation(op, call.start + 100, 10000, 30000);
    operation(op, call.start + 100, 20000, 40000);
    op.correlation = 0;
    op.u.kernel.graph = 3;
    op.u.kernel.graph_node = 4;
    operation(op, call.start + 100, 20000, 25000);
    pause_ns(50000);
}

static void gpu_kinds(const gpu *g)
{
    TS_ZONE("gpu kinds");
    const ts_gpu_origin origin = ts_gpu_origin_here();
    uint64_t at = 3000;
    const uint64_t base = ts_tick_now();
    for (int kind = TS_EVENT_MEMCPY; kind <= TS_EVENT_GPU_FREE; kind++) {
        ts_gpu_op op = { .kind = (ts_event_kind)kind,
                         .track = g->streams[1],
                         .origin = origin };
        op.correlation = 600 + (uint64_t)kind;
        switch (kind) {
        case TS_EVENT_MEMCPY:
            op.u.memcpy.type = 1;
            op.u.memcpy.memory = 0x32;
            op.u.memcpy.size = 1 << 20;
            op.u.memcpy.source = 0x7F00000000000000;
            op.u.memcpy.destination = 0xFFFFFFFFFFFFFFFF;
            break;
        case TS_EVENT_MEMSET: op.u.memset.size = 64; break;
        case TS_EVENT_EVENT_WAIT:
            op.u.event.id = 9;
            op.u.event.record = 619;
            break;
        case TS_EVENT_EVENT_RECORD:
        case TS_EVENT_STREAM_SYNC:
        case TS_EVENT_EVENT_SYNC: op.u.event.id = 9; break;
        case TS_EVENT_DEVICE_SYNC: op.track = g->device; break;
        case TS_EVENT_HOST_FUNCTION:
            op.u.host_function.name = ts_name_define("callback");
            break;
        case TS_EVENT_GRAPH_LAUNCH: op.u.graph_launch.graph = 3; break;
        case TS_EVENT_COLLECTIVE:
            op.u.collective.name = ts_name_define("allreduce");
            op.u.collective.type = 8;
            op.u.collective.ranks = 8;
            op.u.collective.size = 4096;
            op.u.collective.communicator = 0xC0;
            op.u.collective.sequence = 12;
            break;
        case TS_EVENT_GPU_ALLOC:
        case TS_EVENT_GPU_FREE:
            op.u.memory.address = 0xD000;
            op.u.memory.size = kind == TS_EVENT_GPU_ALLOC ? 4096 : 0;
            op.u.memory.memory = 0x30;
            op.u.memory.pool = ts_name_define("pool");
            break;
        default: break;
        }
        operation(op, base + 50, at, at + 1000);
        at += 1500;
    }
    pause_ns(50000);
}

// Kernels whose numbers have all sizes, or are missing, of two launches that
// are told apart by their names only.
static void gpu_numbers(const gpu *g)
{
    enum { COUNT = 300 };
    TS_ZONE("gpu numbers");
    const ts_gpu_launch_desc desc = { .name = "k" };
    const uint32_t launches[] = { g->launch, ts_gpu_launch_define(&desc) };
    const uint64_t base = ts_tick_now();
    uint64_t at = 70000;
    for (uint32_t i = 0; i < COUNT; i++) {
        ts_gpu_op op = { .kind = TS_EVENT_KERNEL,
                         .track = g->streams[0],
                         .origin = ts_gpu_origin_here() };
        op.correlation = i % 5 ? (UINT64_C(1) << i % 63) + 1000 + i : 0;
        op.u.kernel.launch = launches[i / 3 % 2];
        op.u.kernel.graph = i % 50 < 10 ? 7 : 0;
        op.start = base + at;
        op.queued = i % 7 ? op.start - (UINT64_C(1) << i % 16) : 0;
        op.submitted = i % 11 ? op.start - (UINT64_C(1) << i % 16) / 2 : 0;
        op.end = op.start + (UINT64_C(1) << i % 13);
        at += (UINT64_C(1) << i % 13) + (i % 3 ? 17 : 0);
        ts_gpu_op_record(&op);
    }
    pause_ns(50000);
}

/* ---- Many --------------------------------------------------------------- */

static void *many(void *user)
{
    const long count = *(const long *)user;
    TS_THREAD_NAME("many");
    for (long i = 0; i < count; i += 4) {
        TS_ZONE("a");
        TS_COUNTER("i", i);
        {
            TS_ZONE("b");
            TS_ZONE("c", "cat");
        }
        TS_ZONE("d");
    }
    return NULL;
}

static void record_many(long count)
{
    pthread_t threads[4];
    long each = count / 4;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, many, &each);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    const ts_session_desc desc = { .path = argv[1], .app = "every " HARD };
    ts_result result = ts_session_start(&desc);
    if (result != TS_OK) {
        fprintf(stderr, "everything: %s: %s\n", argv[1],
                ts_result_text(result));
        return 1;
    }
    TS_THREAD_NAME("main");
    ts_metadata_text(0, "a \"key\"", HARD);
    ts_metadata_double(0, "third", 1.0 / 3);
    const gpu g = gpu_define();
    ts_metadata_int(g.device, "memory_bytes", INT64_C(1) << 40);
    zones();
    nest(600);
    points();
    memory();
    spans_and_flows();
    overlap();
    gpu_calls(&g);
    gpu_kinds(&g);
    gpu_numbers(&g);
    const uint64_t now = ts_tick_now();
    ts_loss_report(ts_thread_track(), TS_LOSS_BACKEND, HARD, 12, now - 5000,
                   now);
    ts_loss_report(g.streams[0], TS_LOSS_BACKEND, NULL, 3, now - 9000, now);
    if (argc > 2) record_many(atol(argv[2]));
    static ts_site open_site = { .name = "left open" };
    ts_zone open = ts_zone_begin(&open_site);
    TS_ZONE_VALUE("kept", 5);
    (void)open;
    result = ts_session_stop();
    if (result != TS_OK)
        fprintf(stderr, "everything: %s\n", ts_result_text(result));
    return result == TS_OK ? 0 : 1;
}
