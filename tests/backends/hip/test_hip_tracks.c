// Devices, streams and launches of the HIP backend, in cases that no double
// produces.
#define _GNU_SOURCE
#define TRACESMITH_HIP_IMPLEMENTATION
#include "tests/record/record_fixture.h"

#include "backends/ts_hip.h"

static const ts_session_desc plain;

enum { LAUNCH = 1, CAPTURE, CAPTURE_END };

static bool never(void)
{
    return false;
}

// The session of an interface that reports operations, without its library.
static const char *begin(const char *name)
{
    static const ts__hip_way way = { .name = "test",
                                     .gone = never,
                                     .now_ns = ts__hip_boottime_ns,
                                     .operations = true };
    const char *const path = rt_start(name, plain);
    assert_true(ts__hip_memory_get());
    ts__hip.way = &way;
    ts__hip_reset();
    ts__hip_clock_sample(true);
    ts__hip_api_define(LAUNCH, "hipLaunchKernel");
    ts__hip_api_define(CAPTURE, "hipStreamBeginCapture");
    ts__hip_api_define(CAPTURE_END, "hipStreamEndCapture");
    ts__hip.on = 1;
    return path;
}

/* ---- Devices, streams --------------------------------------------------- */

// The driver numbers processors too: the first GPU may have the number 1.
UNIT_TEST(a_device_that_is_not_there_is_one_of_its_own)
{
    static const ts__hip_facts facts;
    const char *const path = rt_start("devices.sbt", plain);
    alarm(120); // it went on for ever
    pthread_mutex_lock(&ts__hip.lock);
    ts__hip_device_add(1, &facts);
    pthread_mutex_unlock(&ts__hip.lock);
    const uint32_t first = ts__hip_device_track(0);
    const uint32_t none = ts__hip_device_track(1); // as hipSetDevice(1) says
    alarm(0);
    assert_int_equal(first, ts__hip.devices[ts__hip_device_of(1)].track);
    assert_int_not_equal(none, first);
    rt_trace trace = rt_end(path);
    rt_close(&trace);
}

static uint32_t track_of(uint64_t handle, uint64_t tick)
{
    const ts__hip_place place = { .handle = handle, .tick = tick };
    return ts__hip_stream_track(&place);
}

static void make_stream(uint64_t handle, uint64_t tick)
{
    const ts__hip_place place = { .handle = handle, .tick = tick };
    ts__hip_stream_made(&place, 0, 0);
}

// Records of the first one may come when the second one is there.
UNIT_TEST(an_address_that_is_used_again_is_another_stream)
{
    enum { HANDLE = 0x7000, UNSEEN = 0x9000 };
    const char *const path = rt_start("again.sbt", plain);
    make_stream(HANDLE, 10);
    const uint32_t first = track_of(HANDLE, 20);
    ts__hip_stream_destroyed(HANDLE, 30);
    make_stream(HANDLE, 40);
    const uint32_t second = track_of(HANDLE, 50);
    assert_int_not_equal(second, first);
    assert_int_equal(track_of(HANDLE, 25), first);
    make_stream(HANDLE, 60); // the end of the second one was not seen
    assert_int_not_equal(track_of(HANDLE, 70), second);
    assert_int_equal(track_of(HANDLE, 55), second);
    // A stream that existed before the session, and the next one.
    const uint32_t old = track_of(UNSEEN, 20);
    ts__hip_stream_destroyed(UNSEEN, 30);
    assert_int_not_equal(track_of(UNSEEN, 40), old);
    assert_int_equal(track_of(UNSEEN, 29), old);
    rt_trace trace = rt_end(path);
    rt_close(&trace);
}

UNIT_TEST(streams_that_are_too_many_are_counted)
{
    enum { MANY = TS__HIP_STREAMS + 100 };
    const char *const path = begin("crowd.sbt");
    const uint32_t device = ts__hip_device_track(0);
    for (uint64_t i = 1; i <= MANY; i++) // as many come and go
        track_of(i << 8, i), ts__hip_stream_destroyed(i << 8, i + 1);
    assert_int_equal(TS__LOAD(&ts__hip.lost.count[TS__HIP_UNPLACED]), 0);
    for (uint64_t i = 1; i <= MANY; i++)
        track_of(i << 8, 10000);
    const uint64_t lost = TS__LOAD(&ts__hip.lost.count[TS__HIP_UNPLACED]);
    assert_true(lost >= 100 && lost < MANY / 2);
    uint64_t shared = 0;
    for (uint64_t i = 1; i <= MANY; i++)
        shared += track_of(i << 8, 10001) == device;
    assert_int_equal(shared, lost);
    for (uint64_t i = 1; i <= MANY; i++)
        ts__hip_stream_destroyed(i << 8, 10002);
    ts__hip_stop();
    rt_trace trace = rt_end(path);
    assert_int_equal(trace.info->lost, 2 * lost);
    rt_close(&trace);
}

UNIT_TEST(the_default_stream_is_one_by_either_handle)
{
    const char *const path = rt_start("streams.sbt", plain);
    const uint32_t null = track_of(0, 1);
    assert_int_equal(track_of(1, 1), null);
    assert_int_not_equal(track_of(2, 1), null);
    rt_trace trace = rt_end(path);
    rt_close(&trace);
}

/* ---- Launches ----------------------------------------------------------- */

static void call(uint32_t function, uint64_t correlation, uint64_t result)
{
    const char arguments[64] = { 0 };
    ts__hip_enter(function, correlation, arguments, false);
    ts__hip_leave(function, result);
}

static void report(uint64_t correlation)
{
    const uint64_t now = ts__hip_boottime_ns();
    const ts__hip_record record = { .correlation = correlation,
                                    .start_ns = now,
                                    .end_ns = now + 1 };
    ts__hip_kernel kernel = { .name = "kernel" };
    ts__hip_kernel_end(ts__hip_taker_get(), &record, &kernel);
    ts__hip_taken(ts__hip_taker_get(), UINT64_MAX);
}

static int64_t fact(const rt_trace *trace, const char *key)
{
    ts_metadata m;
    assert_true(ts_reader_metadata(trace->reader, 0, key, &m));
    return m.number;
}

UNIT_TEST(a_launch_without_a_kernel_is_lost_unless_it_is_captured)
{
    const char *const path = begin("launches.sbt");
    call(LAUNCH, 1, 0);
    call(LAUNCH, 2, 0);
    call(LAUNCH, 3, 0);
    call(LAUNCH, 4, 1); // fails
    call(CAPTURE, 5, 0);
    call(LAUNCH, 6, 0); // becomes a node of a graph
    call(LAUNCH, 9, 0); // on a stream that is not captured
    call(LAUNCH, 10, 1);
    call(LAUNCH, 11, 0);
    call(CAPTURE_END, 7, 0);
    call(LAUNCH, 8, 0);
    report(1);
    report(8);
    report(9);
    ts__hip_stop();
    rt_trace trace = rt_end(path);
    ts_loss_row row;
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, "kernel"), 3);
    assert_int_equal(trace.info->lost, 2);
    assert_int_equal(fact(&trace, "hip.launches"), 5);
    assert_int_equal(fact(&trace, "hip.into_graphs"), 2);
    assert_true(ts_reader_loss(trace.reader, 0, &row));
    rt_assert_text(ts_reader_name(trace.reader, row.detail),
                   "HIP: launches without a report of their kernel");
    rt_close(&trace);
}

UNIT_TEST(a_capture_that_fails_or_is_left_open_ends)
{
    rt_trace trace;
    const char *path = begin("spoilt.sbt");
    call(CAPTURE, 1, 0);
    call(CAPTURE_END, 2, 908); // of another thread: it goes on
    call(LAUNCH, 3, 0);
    call(CAPTURE_END, 4, 901); // it was invalidated
    call(LAUNCH, 5, 0);
    call(CAPTURE, 6, 0);
    call(LAUNCH, 7, 0);
    ts__hip_stop();
    trace = rt_end(path);
    assert_int_equal(trace.info->lost, 1);
    rt_close(&trace);
    path = begin("next.sbt"); // it ended in between
    call(LAUNCH, 8, 0);
    ts__hip_stop();
    trace = rt_end(path);
    assert_int_equal(trace.info->lost, 1);
    rt_close(&trace);
}

/* ---- Operations --------------------------------------------------------- */

enum { COPY = 4, APART = 1000 }; // s

static uint64_t slow_ns(void) // a clock of its own, which was set late
{
    return ts__hip_boottime_ns() - APART * UINT64_C(1000000000);
}

static void report_as(uint64_t correlation, const char *name, uint64_t start_ns)
{
    const ts__hip_record record = { .correlation = correlation,
                                    .start_ns = start_ns,
                                    .end_ns = start_ns + 1000 };
    ts__hip_kernel kernel = { .name = name };
    ts__hip_kernel_end(ts__hip_taker_get(), &record, &kernel);
    ts__hip_taken(ts__hip_taker_get(), UINT64_MAX);
}

UNIT_TEST(kernels_before_their_launch_are_reported_with_any_clock)
{
    static const ts__hip_way way = {
        .name = "test", .gone = never, .now_ns = slow_ns, .operations = true
    };
    const char *const path = begin("clock.sbt");
    ts__hip.way = &way;
    ts__follow_begin(&ts__hip.time, ts_clock_define("its own"), false);
    ts__hip_clock_sample(true);
    call(LAUNCH, 1, 0);
    call(LAUNCH, 2, 0);
    // Far enough that it does not matter when the clocks were compared.
    const uint64_t far = UINT64_C(100000000000);
    report_as(1, "after", slow_ns() + far);
    assert_int_equal(ts__hip.before_launch, 0);
    report_as(2, "before", slow_ns() - far);
    assert_int_equal(ts__hip.before_launch, 1);
    ts__hip_stop();
    assert_int_equal(ts_session_stop(), TS_OK);
    ts__hip.time.clock = 0;
    rt_trace trace = rt_read(path);
    assert_int_equal(trace.info->lost, 0);
    rt_close(&trace);
}

// roctracer puts the names into its buffers, which it fills again.
UNIT_TEST(names_at_an_address_that_is_used_again_are_read_again)
{
    char name[32] = "first";
    const char *const path = begin("names.sbt");
    for (uint64_t i = 1; i <= 4; i++) {
        call(LAUNCH, i, 0);
        if (i == 3) strcpy(name, "second");
        report_as(i, name, ts__hip_boottime_ns());
    }
    report_as(9, "third", ts__hip_boottime_ns()); // without a launch
    report_as(9, "fourth", ts__hip_boottime_ns());
    ts__hip_stop();
    rt_trace trace = rt_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, "first"), 2);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, "second"), 2);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, "third"), 1);
    assert_int_equal(rt_rows(&trace, TS_EVENT_KERNEL, "fourth"), 1);
    rt_close(&trace);
}

// As firmware is known to time them; readers interpret these times.
UNIT_TEST(kernels_that_overlap_on_a_stream_stay_as_they_were_told)
{
    const char *const path = begin("overlap.sbt");
    const uint64_t now = ts__hip_boottime_ns();
    call(LAUNCH, 1, 0);
    call(LAUNCH, 2, 0);
    call(LAUNCH, 3, 0);
    report_as(1, "first", now + 1000000);
    report_as(2, "second", now + 1000500); // before the first one has ended
    report_as(3, "third", now + 1000500);  // and with the second one
    ts__hip_stop();
    rt_trace trace = rt_end(path);
    const rt_row *const first = rt_only(&trace, TS_EVENT_KERNEL, "first");
    const rt_row *const second = rt_only(&trace, TS_EVENT_KERNEL, "second");
    const rt_row *const third = rt_only(&trace, TS_EVENT_KERNEL, "third");
    assert_int_equal(second->start_tick - first->start_tick, 500);
    assert_int_equal(third->start_tick, second->start_tick);
    assert_int_equal(second->duration_ns, first->duration_ns);
    assert_int_equal(first->track, third->track);
    assert_int_equal(trace.info->lost, 0);
    rt_close(&trace);
}

static void stream_set(uint64_t handle, uint64_t phase)
{
    enum { STREAM = 20, SET = 3 };
    const uint64_t payload[3] = { sizeof payload, 0, handle };
    const ts__rp_record record = { .words = { [5] = STREAM | (uint64_t)SET
                                                                 << 32,
                                              [6] = phase,
                                              [7] = (uintptr_t)payload } };
    ts__rp.stream = STREAM;
    ts__rp_on_stream(record, NULL, NULL);
}

// As rocprofiler-sdk reports it around calls whose arguments are not known.
UNIT_TEST(a_stream_is_that_of_the_calls_that_it_is_set_for)
{
    enum { UNKNOWN = LAUNCH + 8, HANDLE = 0x7700 };
    const char *const path = begin("set.sbt");
    ts__hip_api_define(UNKNOWN, "hipFunctionOfTomorrow");
    const uint32_t stream = track_of(HANDLE, ts__hip_boottime_ns());
    stream_set(HANDLE, 1);
    call(UNKNOWN, 1, 0);
    stream_set(HANDLE, 2);
    call(UNKNOWN, 2, 0);
    report_as(1, "within", ts__hip_boottime_ns());
    report_as(2, "after", ts__hip_boottime_ns());
    ts__hip_stop();
    rt_trace trace = rt_end(path);
    assert_int_equal(rt_only(&trace, TS_EVENT_KERNEL, "within")->track, stream);
    assert_int_not_equal(rt_only(&trace, TS_EVENT_KERNEL, "after")->track,
                         stream);
    rt_close(&trace);
}

// Only the name of the function tells its kind.
UNIT_TEST(a_copy_by_a_kernel_of_the_runtime_has_its_direction)
{
    enum { DEVICE_TO_DEVICE = 3 };
    const char *const path = begin("copy.sbt");
    ts__hip_api_define(COPY, "hipMemcpyDtoDAsync");
    call(COPY, 1, 0);
    report_as(1, "__amd_rocclr_copyBuffer", ts__hip_boottime_ns());
    ts__hip_stop();
    rt_trace trace = rt_end(path);
    const rt_row *const row = rt_only(&trace, TS_EVENT_MEMCPY, NULL);
    assert_int_equal(row->values[TS_COLUMN_TYPE], DEVICE_TO_DEVICE);
    rt_close(&trace);
}

int main(void)
{
    return unit_run_alone(NULL, NULL);
}
