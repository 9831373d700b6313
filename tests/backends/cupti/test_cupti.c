// The CUPTI backend on the double of libcupti of CUDA 13.1: what a program does
// on the GPU is in its trace.
#define TRACESMITH_CUPTI_IMPLEMENTATION // the test looks inside
#define TRACESMITH_UNWIND_IMPLEMENTATION
#include "tests/backends/cupti/cupti_fixture.h"

#include "backends/ts_stack.h"

UNIT_TEST(a_kernel_has_its_launch_and_its_configuration)
{
    const char *const path = rt_start("kernel.sbt", cu_plain);
    {
        TS_ZONE("matmul");
        CU_LAUNCH(.name = "gemm", .stream = 1, .grid = 40, .ns = 1000);
    }
    rt_trace trace = cu_end(path);
    const rt_row *const zone = rt_only(&trace, TS_EVENT_ZONE, "matmul");
    const rt_row *const call = rt_only(&trace, TS_EVENT_API_CALL, NULL);
    const rt_row *const kernel = rt_only(&trace, TS_EVENT_KERNEL, "gemm");
    const ts_launch_entry *const launch = ts_reader_launch(
        trace.reader, (uint32_t)kernel->values[TS_COLUMN_LAUNCH]);
    assert_string_equal(call->name, "cudaLaunchKernel");
    assert_int_equal(call->track, zone->track);
    assert_int_equal(kernel->duration_ns, 1000);
    assert_int_equal(kernel->values[TS_COLUMN_CORRELATION],
                     call->values[TS_COLUMN_CORRELATION]);
    assert_int_equal(kernel->values[TS_COLUMN_THREAD], zone->track);
    assert_int_equal(kernel->values[TS_COLUMN_SITE],
                     zone->values[TS_COLUMN_SITE]);
    assert_int_equal(kernel->values[TS_COLUMN_GRAPH_NODE], 0);
    assert_int_equal(launch->grid[0], 40);
    assert_int_equal(launch->grid[2], 1);
    assert_int_equal(launch->block[0], 128);
    assert_int_equal(launch->registers, 32);
    assert_int_equal(launch->static_shared, 1024);
    assert_int_equal(launch->dynamic_shared, 2048);
    assert_int_equal(launch->cluster[0], 0);
    assert_string_equal(cu_text(&trace, "backend.cupti"), "on");
    assert_int_equal(cu_fact(&trace, "cupti.version"), 130100);
    assert_int_equal(cu_fact(&trace, "cupti.launches"), 1);
    assert_int_equal(cu_fact(&trace, "cupti.kernels"), 1);
    cu_assert_nothing_lost(&trace);
    rt_close(&trace);
}

// All that is known of it is its name. The names of NCCL come mangled.
UNIT_TEST(a_kernel_of_nccl_is_a_collective_of_unknown_size)
{
    static const char mangled[] =
        "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgs"
        "StorageILm4096EE";
    const char *const path = rt_start("collective.sbt", cu_plain);
    CU_LAUNCH(.name = mangled, .stream = 1, .grid = 4, .ns = 1000);
    CU_LAUNCH(.name = "ncclDevKernel_Generic(ncclDevKernelArgs)", .ns = 10);
    CU_LAUNCH(.name = "my_nccl_helper", .ns = 10);
    CU_LAUNCH(.name = "_Z6finishP18ncclDevKernel_Args", .ns = 10);
    rt_trace trace = cu_end(path);
    const rt_row *const one = rt_only(&trace, TS_EVENT_COLLECTIVE, "AllReduce");
    const ts_launch_entry *const launch =
        ts_reader_launch(trace.reader, (uint32_t)one->values[TS_COLUMN_LAUNCH]);
    assert_int_equal(one->duration_ns, 1000);
    assert_int_equal(one->values[TS_COLUMN_TYPE], 8); // f32
    assert_int_equal(one->values[TS_COLUMN_COMMUNICATOR], 0);
    assert_int_equal(one->values[TS_COLUMN_SEQUENCE], 0);
    assert_int_equal(one->values[TS_COLUMN_SIZE], 0);
    assert_int_equal(one->values[TS_COLUMN_RANKS], 0);
    assert_int_equal(one->values[TS_COLUMN_PEER], 0);
    assert_int_equal(launch->grid[0], 4);
    rt_assert_text(ts_reader_name(trace.reader, launch->name), mangled);
    rt_only(&trace, TS_EVENT_COLLECTIVE, "ncclDevKernel_Generic");
    rt_only(&trace, TS_EVENT_KERNEL, "my_nccl_helper");
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, NULL), 2);
    assert_int_equal(cu_fact(&trace, "cupti.kernels"), 4);
    cu_assert_nothing_lost(&trace);
    rt_close(&trace);
}

// Who asks for kernels gets all of them, and those that communicate alone are
// to be had as well.
UNIT_TEST(collectives_are_asked_for_as_kernels_or_alone)
{
    static const struct {
        const char *kinds;
        size_t kernels, collectives;
    } cases[] = { { "kernel", 1, 1 },
                  { "collective", 0, 1 },
                  { "-collective", 1, 0 },
                  { "-kernel", 0, 0 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ts_filter_desc filter = { .kinds = cases[i].kinds };
        assert_int_equal(ts_filter_set(&filter), TS_OK);
        const char *const path = rt_start("asked.sbt", cu_plain);
        CU_LAUNCH(.name = "ncclDevKernel_AllGather", .ns = 10);
        CU_LAUNCH(.name = "gemm", .ns = 10);
        rt_trace trace = cu_end(path);
        assert_int_equal(ts_filter_set(NULL), TS_OK);
        assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, NULL),
                         cases[i].kernels);
        assert_int_equal(rt_rows(&trace, TS_EVENT_COLLECTIVE, NULL),
                         cases[i].collectives);
        cu_assert_nothing_lost(&trace);
        rt_close(&trace);
    }
}

UNIT_TEST(devices_contexts_and_streams_are_described)
{
    const char *const path = rt_start("tracks.sbt", cu_plain);
    CU_LAUNCH(.name = "a", .stream = 0);
    CU_LAUNCH(.name = "b", .stream = 2);
    rt_trace trace = cu_end(path);
    ts_track null, two, context, device;
    ts_metadata fact;
    const uint32_t a = rt_only(&trace, TS_EVENT_KERNEL, "a")->track;
    const uint32_t b = rt_only(&trace, TS_EVENT_KERNEL, "b")->track;
    assert_true(ts_reader_track(trace.reader, a, &null));
    assert_true(ts_reader_track(trace.reader, b, &two));
    assert_int_equal(null.number, 7);
    assert_int_equal(null.flags & 0xFFFF, TS_STREAM_LEGACY_DEFAULT);
    assert_int_equal(two.number, 15);
    assert_int_equal(two.flags & 0xFFFF, TS_STREAM_NON_BLOCKING);
    assert_int_equal(two.parent, null.parent);
    assert_true(ts_reader_track(trace.reader, two.parent, &context));
    assert_int_equal(context.type, TS_TRACK_CONTEXT);
    assert_true(ts_reader_track(trace.reader, context.parent, &device));
    rt_assert_text(device.name, "NVIDIA Double");
    assert_true(ts_reader_metadata(trace.reader, context.parent,
                                   "compute_capability", &fact));
    rt_assert_text(fact.text, "9.0");
    assert_true(ts_reader_metadata(trace.reader, context.parent,
                                   "multiprocessors", &fact));
    assert_int_equal(fact.number, 132);
    assert_true(ts_reader_metadata(trace.reader, context.parent, "memory_bytes",
                                   &fact));
    assert_int_equal(fact.number, INT64_C(150754820096));
    rt_close(&trace);
}

UNIT_TEST(copies_and_memsets_have_sizes_and_kinds)
{
    const char *const path = rt_start("copy.sbt", cu_plain);
    CU_RUN(.what = DOUBLE_COPY, .bytes = 4096, .ns = 100);
    CU_RUN(.what = DOUBLE_PEER_COPY, .bytes = 8192, .ns = 100);
    CU_RUN(.what = DOUBLE_SET, .bytes = 64, .ns = 100);
    rt_trace trace = cu_end(path);
    const rt_row *const copy = rt_nth(&trace, TS_EVENT_MEMCPY, NULL, 0);
    const rt_row *const peer = rt_nth(&trace, TS_EVENT_MEMCPY, NULL, 1);
    const rt_row *const set = rt_only(&trace, TS_EVENT_MEMSET, NULL);
    ts_track device;
    assert_int_equal(copy->values[TS_COLUMN_TYPE], 1);
    assert_int_equal(copy->values[TS_COLUMN_SIZE], 4096);
    assert_int_equal(copy->values[TS_COLUMN_MEMORY], 2 | 3 << 4);
    assert_int_equal(copy->values[TS_COLUMN_PEER], 0);
    assert_int_equal(peer->values[TS_COLUMN_TYPE], 5);
    assert_int_equal(peer->values[TS_COLUMN_SIZE], 8192);
    assert_true(ts_reader_track(
        trace.reader, (uint32_t)peer->values[TS_COLUMN_PEER], &device));
    assert_int_equal(device.number, 1);
    assert_int_equal(set->values[TS_COLUMN_SIZE], 64);
    assert_int_equal(set->values[TS_COLUMN_VALUE], 255);
    const uint64_t number = copy->values[TS_COLUMN_CORRELATION];
    assert_int_equal(copy->values[TS_COLUMN_ADDRESS], 0x7100000 + number);
    assert_int_equal(copy->values[TS_COLUMN_SOURCE], 0x7200000 + number);
    const uint64_t next = peer->values[TS_COLUMN_CORRELATION];
    assert_int_equal(peer->values[TS_COLUMN_ADDRESS], 0x7100000 + next);
    assert_int_equal(peer->values[TS_COLUMN_SOURCE], 0x7300000 + next);
    assert_int_equal(set->values[TS_COLUMN_ADDRESS], 0x7100000 + number + 2);
    cu_assert_nothing_lost(&trace);
    rt_close(&trace);
}

/*
    A function of the runtime calls the driver, with the same correlation, with
    another one, or so that records have that other one. Each operation has the
    correlation of the call that the program made, and no launch waits for a
    kernel that has been reported.
*/
UNIT_TEST(calls_within_calls_count_once)
{
    for (uint64_t nested = 0; nested < 3; nested++) {
        cu_set("nested", nested);
        const char *const path = rt_start("nested.sbt", cu_plain);
        CU_LAUNCH(.repeat = 5);
        CU_RUN(.what = DOUBLE_INNER_LAUNCH, .repeat = 5);
        CU_RUN(.what = DOUBLE_COPY, .bytes = 64);
        CU_RUN(.what = DOUBLE_TO_SYMBOL, .bytes = 64);
        rt_trace trace = cu_end(path);
        cu_set("nested", 0);
        assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, NULL), 10);
        assert_int_equal(rt_rows(&trace, TS_EVENT_API_CALL, NULL), 12);
        assert_int_equal(
            rt_rows(&trace, TS_EVENT_API_CALL, "__cudaLaunchKernel"), 5);
        assert_int_equal(cu_fact(&trace, "cupti.launches"), 10);
        for (size_t i = 0; i < 10; i++)
            assert_int_equal(rt_nth(&trace, TS_EVENT_KERNEL, NULL, i)
                                 ->values[TS_COLUMN_CORRELATION],
                             rt_nth(&trace, TS_EVENT_API_CALL, NULL, i)
                                 ->values[TS_COLUMN_CORRELATION]);
        for (size_t i = 0; i < 2; i++) {
            const rt_row *const copy = rt_nth(&trace, TS_EVENT_MEMCPY, NULL, i);
            assert_int_equal(copy->values[TS_COLUMN_ADDRESS],
                             0x7100000 + copy->values[TS_COLUMN_CORRELATION] +
                                 (i && nested ? 1 : 0));
        }
        cu_assert_nothing_lost(&trace);
        rt_close(&trace);
    }
}

// Streams are apart; a buffer holds what ended in any order.
UNIT_TEST(records_may_come_in_any_order)
{
    cu_set("reorder", 1);
    const char *const path = rt_start("reorder.sbt", cu_plain);
    CU_RUN(.what = DOUBLE_MALLOC, .bytes = 64, .event = 1);
    for (uint32_t i = 0; i < 50; i++) {
        CU_LAUNCH(.stream = i % 3, .ns = 100, .name = i % 2 ? "odd" : "even");
        CU_RUN(.what = DOUBLE_EVENT_RECORD, .stream = i % 3, .event = 1 + i);
        CU_RUN(.what = DOUBLE_STREAM_WAIT, .stream = (i + 1) % 3,
               .event = 1 + i);
    }
    rt_trace trace = cu_end(path);
    cu_set("reorder", 0);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, "odd"), 25);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, "even"), 25);
    assert_int_equal(rt_rows(&trace, TS_EVENT_EVENT_RECORD, NULL), 50);
    assert_int_equal(rt_rows(&trace, TS_EVENT_EVENT_WAIT, NULL), 50);
    for (size_t i = 0; i < trace.count; i++)
        assert_true(trace.rows[i].kind != TS_EVENT_KERNEL ||
                    trace.rows[i].values[TS_COLUMN_THREAD]);
    cu_assert_nothing_lost(&trace);
    rt_close(&trace);
}

UNIT_TEST(functions_that_only_ask_are_not_recorded)
{
    const char *const path = rt_start("quiet.sbt", cu_plain);
    CU_RUN(.what = DOUBLE_GET_ERROR, .repeat = 100);
    CU_RUN(.what = DOUBLE_DEVICE_SYNC);
    CU_RUN(.what = DOUBLE_DRIVER_LAUNCH);
    rt_trace trace = cu_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_API_CALL, NULL), 2);
    rt_only(&trace, TS_EVENT_API_CALL, "cuLaunchKernel");
    rt_only(&trace, TS_EVENT_API_CALL, "cudaDeviceSynchronize");
    assert_int_equal(cu_fact(&trace, "cupti.launches"), 1);
    rt_close(&trace);
}

UNIT_TEST(a_launch_that_fails_waits_for_no_kernel)
{
    const char *const path = rt_start("failed.sbt", cu_plain);
    CU_LAUNCH(.result = 719);
    rt_trace trace = cu_end(path);
    const rt_row *const call = rt_only(&trace, TS_EVENT_API_CALL, NULL);
    assert_int_equal(call->values[TS_COLUMN_RESULT], 719);
    assert_int_equal(cu_fact(&trace, "cupti.launches"), 0);
    cu_assert_nothing_lost(&trace);
    rt_close(&trace);
}

// Kernel, record, wait: record and wait lie where their streams got to.
UNIT_TEST(events_are_placed_behind_what_they_follow)
{
    const char *const path = rt_start("events.sbt", cu_plain);
    CU_LAUNCH(.name = "long", .stream = 1, .ns = 40000000);
    CU_RUN(.what = DOUBLE_EVENT_RECORD, .stream = 1, .event = 3, .sync = 91);
    CU_RUN(.what = DOUBLE_STREAM_WAIT, .stream = 3, .event = 3, .sync = 91);
    CU_LAUNCH(.name = "after", .stream = 1, .ns = 100);
    CU_RUN(.what = DOUBLE_EVENT_SYNC, .stream = 1, .event = 3, .ns = 5000);
    CU_RUN(.what = DOUBLE_STREAM_SYNC, .stream = 1, .ns = 6000);
    CU_RUN(.what = DOUBLE_DEVICE_SYNC, .ns = 7000);
    rt_sleep_ms(60);
    rt_trace trace = cu_end(path);
    const rt_row *const first = rt_only(&trace, TS_EVENT_KERNEL, "long");
    const rt_row *const after = rt_only(&trace, TS_EVENT_KERNEL, "after");
    const rt_row *const record = rt_only(&trace, TS_EVENT_EVENT_RECORD, NULL);
    const rt_row *const wait = rt_only(&trace, TS_EVENT_EVENT_WAIT, NULL);
    const rt_row *const host = rt_only(&trace, TS_EVENT_EVENT_SYNC, NULL);
    const rt_row *const stream = rt_only(&trace, TS_EVENT_STREAM_SYNC, NULL);
    const rt_row *const whole = rt_only(&trace, TS_EVENT_DEVICE_SYNC, NULL);
    ts_track context;
    assert_int_equal(record->track, first->track);
    assert_true(record->start_ns >= first->start_ns + 40000000 - 1000);
    assert_true(record->start_ns <= after->start_ns);
    assert_int_equal(record->values[TS_COLUMN_ID], 3);
    assert_int_not_equal(wait->track, record->track);
    assert_int_equal(wait->values[TS_COLUMN_RECORD],
                     record->values[TS_COLUMN_CORRELATION]);
    assert_int_equal(host->values[TS_COLUMN_ID], 3);
    assert_int_equal(host->duration_ns, 5000);
    assert_int_equal(stream->track, first->track);
    assert_int_equal(stream->values[TS_COLUMN_ID], 14);
    assert_true(ts_reader_track(trace.reader, whole->track, &context));
    assert_int_equal(context.type, TS_TRACK_CONTEXT);
    cu_assert_nothing_lost(&trace);
    rt_close(&trace);
}

// A record of the session before is not what a wait of this one waits for.
UNIT_TEST(a_session_knows_only_its_own_event_records)
{
    const char *path = rt_start("recorded.sbt", cu_plain);
    CU_LAUNCH(.name = "k", .stream = 1, .ns = 1000);
    CU_RUN(.what = DOUBLE_EVENT_RECORD, .stream = 1, .event = 3, .sync = 77);
    rt_trace trace = cu_end(path);
    rt_close(&trace);
    path = rt_start("waited.sbt", cu_plain);
    CU_LAUNCH(.name = "k", .stream = 3, .ns = 1000);
    CU_RUN(.what = DOUBLE_STREAM_WAIT, .stream = 3, .event = 3, .sync = 77);
    trace = cu_end(path);
    const rt_row *const wait = rt_only(&trace, TS_EVENT_EVENT_WAIT, NULL);
    assert_int_equal(wait->values[TS_COLUMN_ID], 3);
    assert_int_equal(wait->values[TS_COLUMN_RECORD], 0);
    cu_assert_nothing_lost(&trace);
    rt_close(&trace);
}

UNIT_TEST(memory_is_taken_from_pools_and_given_back)
{
    const char *const path = rt_start("memory.sbt", cu_plain);
    CU_LAUNCH(.name = "k");
    CU_RUN(.what = DOUBLE_MALLOC, .bytes = 1 << 20, .event = 1);
    CU_RUN(.what = DOUBLE_MALLOC, .bytes = 512, .event = 2, .sync = 0xABC);
    CU_RUN(.what = DOUBLE_MALLOC_HOST, .bytes = 256, .event = 3);
    CU_RUN(.what = DOUBLE_FREE, .event = 1);
    CU_RUN(.what = DOUBLE_POOL, .bytes = 333, .sync = 0xABC);
    rt_trace trace = cu_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_GPU_ALLOC, NULL), 3);
    const rt_row *const device = rt_nth(&trace, TS_EVENT_GPU_ALLOC, NULL, 0);
    const rt_row *const pooled = rt_nth(&trace, TS_EVENT_GPU_ALLOC, NULL, 1);
    const rt_row *const host = rt_nth(&trace, TS_EVENT_GPU_ALLOC, NULL, 2);
    const rt_row *const back = rt_only(&trace, TS_EVENT_GPU_FREE, NULL);
    ts_metadata fact;
    assert_int_equal(device->values[TS_COLUMN_ADDRESS], 0x7000001);
    assert_int_equal(device->values[TS_COLUMN_SIZE], 1 << 20);
    assert_int_equal(device->values[TS_COLUMN_MEMORY], 3 << 4);
    assert_int_equal(device->values[TS_COLUMN_POOL], 0);
    assert_int_equal(host->values[TS_COLUMN_MEMORY], 2 << 4);
    assert_int_equal(host->track, device->track);
    assert_int_equal(back->values[TS_COLUMN_ADDRESS], 0x7000001);
    rt_assert_text(
        ts_reader_name(trace.reader, (uint32_t)pooled->values[TS_COLUMN_POOL]),
        "pool 0xabc");
    assert_true(ts_reader_metadata(
        trace.reader, cu_parent(&trace, device->track), "pool 0xabc", &fact));
    rt_assert_text(fact.text, "created, 333 bytes");
    cu_assert_nothing_lost(&trace);
    rt_close(&trace);
}

static int context_of(void *stream, void **context)
{
    *context = stream ? (void *)(uintptr_t)1 : NULL;
    return 0;
}

// A stream has the name that NVTX gave it, before its first work or later.
UNIT_TEST(streams_have_their_names)
{
    const char *const path = rt_start("names.sbt", cu_plain);
    ts_metadata fact;
    ts_track about;
    ts__cu_context_of = context_of;
    ts_cupti_stream_name((void *)(uintptr_t)21, "compute");
    CU_LAUNCH(.name = "first", .stream = 21);
    CU_LAUNCH(.name = "second", .stream = 22);
    assert_int_equal(ts_session_flush(), TS_OK);
    ts_cupti_stream_name((void *)(uintptr_t)22, "copies");
    ts_cupti_stream_name(NULL, "nobody's"); // whose context is not known
    rt_trace trace = cu_end(path);
    ts__cu_context_of = NULL;
    const rt_row *const first = rt_only(&trace, TS_EVENT_KERNEL, "first");
    const rt_row *const second = rt_only(&trace, TS_EVENT_KERNEL, "second");
    assert_true(ts_reader_track(trace.reader, first->track, &about));
    rt_assert_text(about.name, "compute");
    assert_true(ts_reader_metadata(trace.reader, second->track, "name", &fact));
    rt_assert_text(fact.text, "copies");
    rt_close(&trace);
}

UNIT_TEST(a_captured_launch_is_a_node_and_no_kernel)
{
    const char *const path = rt_start("graph.sbt", cu_plain);
    CU_RUN(.what = DOUBLE_CAPTURE, .event = 100);
    CU_RUN(.what = DOUBLE_CLONE, .event = 100, .bytes = 200);
    CU_RUN(.what = DOUBLE_GRAPH, .event = 200, .name = "node", .ns = 50,
           .repeat = 3);
    rt_trace trace = cu_end(path);
    const rt_row *const kernel = rt_nth(&trace, TS_EVENT_KERNEL, "node", 2);
    const rt_row *const call =
        rt_nth(&trace, TS_EVENT_API_CALL, "cudaGraphLaunch", 2);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, NULL), 3);
    assert_int_equal(kernel->values[TS_COLUMN_GRAPH_NODE], 200);
    assert_int_equal(kernel->values[TS_COLUMN_GRAPH], 5);
    assert_int_equal(kernel->values[TS_COLUMN_CORRELATION],
                     call->values[TS_COLUMN_CORRELATION]);
    assert_int_equal(cu_fact(&trace, "cupti.launches"), 0);
    assert_int_equal(cu_fact(&trace, "cupti.into_graphs"), 1);
    cu_assert_nothing_lost(&trace);
    rt_close(&trace);
}

// A kernel of a graph has the stack of the call that made its node, also in a
// clone of the graph.
UNIT_TEST(a_node_has_the_stack_of_its_creation)
{
    const char *const path = rt_start("stacks.sbt", cu_plain);
    if (ts_stack_problem()) skip();
    ts_stack_launches(16);
    CU_LAUNCH(.name = "direct", .ns = 10);
    CU_RUN(.what = DOUBLE_CAPTURE, .event = 300);
    CU_RUN(.what = DOUBLE_CLONE, .event = 300, .bytes = 400);
    CU_RUN(.what = DOUBLE_GRAPH, .event = 400, .name = "node", .ns = 50);
    ts_stack_launches(0);
    rt_trace trace = cu_end(path);
    const rt_row *const direct = rt_only(&trace, TS_EVENT_KERNEL, "direct");
    const rt_row *const node = rt_only(&trace, TS_EVENT_KERNEL, "node");
    const rt_row *const launch =
        rt_only(&trace, TS_EVENT_API_CALL, "cudaGraphLaunch");
    const rt_row *const capture =
        rt_nth(&trace, TS_EVENT_API_CALL, "cudaLaunchKernel", 1);
    assert_int_not_equal(direct->values[TS_COLUMN_STACK], 0);
    assert_int_not_equal(launch->values[TS_COLUMN_STACK], 0);
    assert_int_equal(node->values[TS_COLUMN_STACK],
                     capture->values[TS_COLUMN_STACK]);
    assert_int_not_equal(node->values[TS_COLUMN_STACK],
                         launch->values[TS_COLUMN_STACK]);
    rt_close(&trace);
}

UNIT_TEST(a_whole_graph_is_one_operation)
{
    const ts_cupti_desc whole = { .whole_graphs = true };
    assert_int_equal(ts_cupti_configure(&whole), TS_OK);
    const char *const path = rt_start("whole.sbt", cu_plain);
    CU_RUN(.what = DOUBLE_GRAPH, .event = 200, .ns = 50);
    rt_trace trace = cu_end(path);
    const rt_row *const graph = rt_only(&trace, TS_EVENT_GRAPH_LAUNCH, NULL);
    assert_int_equal(graph->duration_ns, 50);
    assert_int_equal(graph->values[TS_COLUMN_GRAPH], 5);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, NULL), 0);
    rt_close(&trace);
    assert_int_equal(ts_cupti_configure(NULL), TS_OK);
}

UNIT_TEST(latency_stamps_are_there_when_asked_for)
{
    const ts_cupti_desc latency = { .latency = true };
    const ts_cupti_desc wrong = { .buffer_count = 33 };
    assert_int_equal(ts_cupti_configure(&wrong), TS_ERR_USAGE);
    assert_int_equal(ts_cupti_configure(&latency), TS_OK);
    const char *const path = rt_start("latency.sbt", cu_plain);
    CU_LAUNCH(.ns = 50);
    rt_trace trace = cu_end(path);
    const rt_row *const kernel = rt_only(&trace, TS_EVENT_KERNEL, NULL);
    assert_int_equal(kernel->values[TS_COLUMN_QUEUED], 3001);
    assert_int_equal(kernel->values[TS_COLUMN_SUBMITTED], 1001);
    rt_close(&trace);
    assert_int_equal(ts_cupti_configure(NULL), TS_OK);
    rt_trace without = cu_end(rt_start("latency.sbt", cu_plain));
    rt_close(&without);
    assert_int_equal(cu_get("latency"), 0);
}

UNIT_TEST(overhead_lies_on_the_thread_that_paid_for_it)
{
    const char *const path = rt_start("overhead.sbt", cu_plain);
    CU_LAUNCH(.ns = 50);
    CU_RUN(.what = DOUBLE_OVERHEAD, .ns = 12345);
    rt_trace trace = cu_end(path);
    const rt_row *const call =
        rt_only(&trace, TS_EVENT_API_CALL, "cudaLaunchKernel");
    const rt_row *const overhead =
        rt_only(&trace, TS_EVENT_API_CALL, "(overhead: command buffer full)");
    assert_int_equal(overhead->track, call->track);
    assert_in_range(overhead->duration_ns, 12000, 12700);
    rt_close(&trace);
}

// Another thread's number may have the same place in the table.
UNIT_TEST(threads_that_share_a_place_are_both_known)
{
    const uint32_t me = (uint32_t)syscall(SYS_gettid);
    const char *const path = rt_start("places.sbt", cu_plain);
    ts__cupti.memory->threads[me % TS__CU_THREADS].id = me + TS__CU_THREADS;
    CU_LAUNCH(.ns = 50);
    CU_RUN(.what = DOUBLE_OVERHEAD, .ns = 12345);
    rt_trace trace = cu_end(path);
    const rt_row *const call =
        rt_only(&trace, TS_EVENT_API_CALL, "cudaLaunchKernel");
    const rt_row *const overhead =
        rt_only(&trace, TS_EVENT_API_CALL, "(overhead: command buffer full)");
    assert_int_equal(overhead->track, call->track);
    rt_close(&trace);
}

UNIT_TEST(kinds_and_names_are_obeyed)
{
    const ts_filter_desc only = { .kinds = "kernel,zone", .names = "wanted*" };
    assert_int_equal(ts_filter_set(&only), TS_OK);
    const char *const path = rt_start("filter.sbt", cu_plain);
    CU_LAUNCH(.name = "wanted kernel");
    CU_LAUNCH(.name = "another");
    CU_RUN(.what = DOUBLE_COPY, .bytes = 1);
    CU_RUN(.what = DOUBLE_MALLOC, .bytes = 1);
    CU_RUN(.what = DOUBLE_DEVICE_SYNC);
    rt_trace trace = cu_end(path);
    rt_only(&trace, TS_EVENT_KERNEL, "wanted kernel");
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, NULL), 1);
    assert_int_equal(rt_rows(&trace, TS_EVENT_API_CALL, NULL), 0);
    assert_int_equal(rt_rows(&trace, TS_EVENT_MEMCPY, NULL), 0);
    assert_int_equal(rt_rows(&trace, TS_EVENT_GPU_ALLOC, NULL), 0);
    assert_int_equal(rt_rows(&trace, TS_EVENT_DEVICE_SYNC, NULL), 0);
    cu_assert_nothing_lost(&trace);
    rt_close(&trace);
    assert_int_equal(ts_filter_set(NULL), TS_OK);
}

UNIT_TEST(one_kind_of_synchronisation_is_not_another)
{
    const ts_filter_desc only = { .kinds = "stream_sync" };
    assert_int_equal(ts_filter_set(&only), TS_OK);
    const char *const path = rt_start("sync.sbt", cu_plain);
    CU_RUN(.what = DOUBLE_STREAM_SYNC, .stream = 1);
    CU_RUN(.what = DOUBLE_EVENT_SYNC, .stream = 1, .event = 3);
    CU_RUN(.what = DOUBLE_DEVICE_SYNC);
    rt_trace trace = cu_end(path);
    rt_only(&trace, TS_EVENT_STREAM_SYNC, NULL);
    assert_int_equal(rt_rows(&trace, TS_EVENT_EVENT_SYNC, NULL), 0);
    assert_int_equal(rt_rows(&trace, TS_EVENT_DEVICE_SYNC, NULL), 0);
    rt_close(&trace);
    assert_int_equal(ts_filter_set(NULL), TS_OK);
}

UNIT_TEST(kernels_that_nobody_wants_are_not_lost)
{
    const ts_filter_desc only = { .kinds = "api_call" };
    assert_int_equal(ts_filter_set(&only), TS_OK);
    const char *const path = rt_start("calls.sbt", cu_plain);
    CU_LAUNCH(.ns = 10, .repeat = 3);
    rt_trace trace = cu_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_API_CALL, NULL), 3);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, NULL), 0);
    assert_int_equal(cu_fact(&trace, "cupti.launches"), 3);
    cu_assert_nothing_lost(&trace);
    rt_close(&trace);
    assert_int_equal(ts_filter_set(NULL), TS_OK);
}

// The clock is given once in a process, the samples in each session.
UNIT_TEST(times_lie_within_the_zone_of_the_host)
{
    for (int session = 0; session < 3; session++) {
        const char *const path = rt_start("clock.sbt", cu_plain);
        {
            TS_ZONE("host");
            CU_LAUNCH(.ns = 1000);
            rt_sleep_ms(2);
        }
        rt_trace trace = cu_end(path);
        const rt_row *const zone = rt_only(&trace, TS_EVENT_ZONE, "host");
        const rt_row *const kernel = rt_only(&trace, TS_EVENT_KERNEL, NULL);
        assert_true(kernel->start_ns >= zone->start_ns - 1000);
        assert_true(kernel->start_ns + kernel->duration_ns <=
                    zone->start_ns + zone->duration_ns);
        CU_ASSERT_SAYS(&trace, "cupti.clock", "ours");
        assert_int_equal(cu_fact(&trace, "cupti.kernels_before_launch"), -1);
        rt_close(&trace);
    }
    assert_int_equal(cu_get("clocks_given"), 1);
}

static void *launch_many(void *user)
{
    ts_thread_name(user);
    for (int i = 0; i < 200; i++)
        CU_LAUNCH(.name = "many", .stream = 4, .ns = 1);
    return NULL;
}

UNIT_TEST(many_threads_launch_and_nothing_is_lost)
{
    enum { THREADS = 50 };
    pthread_t threads[THREADS];
    const char *const path = rt_start("threads.sbt", cu_plain);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, launch_many,
                                        (void *)(uintptr_t) "launcher"),
                         0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    rt_trace trace = cu_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, "many"), THREADS * 200);
    assert_int_equal(rt_rows(&trace, TS_EVENT_API_CALL, NULL), THREADS * 200);
    assert_int_equal(cu_fact(&trace, "cupti.launches"), THREADS * 200);
    for (size_t i = 0; i < trace.count; i++)
        assert_true(trace.rows[i].kind != TS_EVENT_KERNEL ||
                    trace.rows[i].values[TS_COLUMN_THREAD]);
    cu_assert_nothing_lost(&trace);
    rt_close(&trace);
}

UNIT_TEST(a_flush_brings_what_is_complete)
{
    const ts_cupti_desc rare = { .flush_ms = 60000 };
    assert_int_equal(ts_cupti_configure(&rare), TS_OK);
    const char *const path = rt_start("flush.sbt", cu_plain);
    CU_LAUNCH(.ns = 1000);
    rt_sleep_ms(1);
    const uint64_t forced = cu_get("forced");
    assert_int_equal(ts_session_flush(), TS_OK);
    ts_stats stats;
    assert_int_equal(ts_session_stats(&stats), TS_OK);
    assert_int_equal(stats.records, 2); // the call and the kernel
    assert_int_equal(cu_get("forced"), forced);
    rt_trace trace = cu_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, NULL), 1);
    assert_int_equal(cu_get("finalized"), 0);
    assert_int_equal(cu_get("subscribed"), 0);
    rt_close(&trace);
    assert_int_equal(ts_cupti_configure(NULL), TS_OK);
}

// By a clock that runs a tenth of a microsecond a second too fast it would
// take 100 us more.
UNIT_TEST(times_on_our_own_clock_are_exact)
{
    const char *const path = rt_start("exact.sbt", cu_plain);
    const uint64_t ns = rt_past_ns(UINT64_C(1000000000000)) - 1;
    CU_LAUNCH(.name = "long", .ns = ns, .early = ns + 1);
    rt_trace trace = cu_end(path);
    const rt_row *const row = rt_only(&trace, TS_EVENT_KERNEL, "long");
    assert_int_equal(row->duration_ns, ns);
    cu_assert_nothing_lost(&trace);
    rt_close(&trace);
}

int main(void)
{
    cu_load("libcupti.so");
    cu_set("version", 130100); // whose clock is not broken
    ts_cupti_initialize();
    return unit_run(NULL, NULL);
}
