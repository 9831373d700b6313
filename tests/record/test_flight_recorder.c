// Flight recorder and its dumps, the bound on memory, compression.
#define _GNU_SOURCE
#include "tests/record/record_fixture.h"

static void flows(uint64_t first, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        TS_FLOW_STEP(first + i);
}

// The identifiers of the flows of a trace must be consecutive and end at
// `last`. Returns their number.
static uint64_t assert_newest(const rt_trace *trace, uint64_t last)
{
    uint64_t expected = last - trace->count + 1;
    for (size_t i = 0; i < trace->count; i++) {
        assert_int_equal(trace->rows[i].kind, TS_EVENT_FLOW);
        assert_int_equal(trace->rows[i].values[TS_COLUMN_ID], expected++);
    }
    return trace->count;
}

UNIT_TEST(overwrite_keeps_the_newest_records)
{
    const ts_session_desc desc = { .policy = TS_POLICY_OVERWRITE,
                                   .ring_bytes = 32768 };
    const char *const path = rt_start("over.sbt", desc);
    flows(1, 100000);
    rt_trace trace = rt_end(path);
    const uint64_t kept = assert_newest(&trace, 100000);
    assert_true(kept >= 256); // at least a good part of a ring
    assert_int_equal(kept + rt_lost(&trace, TS_LOSS_OVERWRITTEN), 100000);
    assert_int_equal(trace.info->lost, 100000 - kept);
    rt_close(&trace);
}

UNIT_TEST(what_fits_is_not_overwritten)
{
    const ts_session_desc desc = { .policy = TS_POLICY_OVERWRITE };
    const char *const path = rt_start("fits.sbt", desc);
    flows(1, 1000);
    rt_trace trace = rt_end(path);
    assert_int_equal(assert_newest(&trace, 1000), 1000);
    assert_int_equal(trace.info->lost, 0);
    rt_close(&trace);
}

UNIT_TEST(a_snapshot_holds_the_last_moments)
{
    const ts_session_desc desc = { .policy = TS_POLICY_OVERWRITE,
                                   .ring_bytes = 32768 };
    const char *const path = rt_start("flight.sbt", desc);
    flows(1, 50000);
    const char *const first = rt_path("first.sbt");
    assert_int_equal(ts_session_snapshot(first), TS_OK);
    flows(50001, 50000);
    const char *const second = rt_path("second.sbt");
    assert_int_equal(ts_session_snapshot(second), TS_OK);
    flows(100001, 10);

    rt_trace trace = rt_end(first);
    assert_true(assert_newest(&trace, 50000) >= 256);
    rt_close(&trace);
    trace = rt_read(second);
    assert_true(assert_newest(&trace, 100000) >= 256);
    rt_close(&trace);
    trace = rt_read(path);
    assert_true(assert_newest(&trace, 100010) >= 10);
    rt_close(&trace);
}

UNIT_TEST(a_snapshot_names_its_sites_and_threads)
{
    const ts_session_desc desc = { .policy = TS_POLICY_OVERWRITE };
    rt_start("named.sbt", desc);
    TS_THREAD_NAME("flyer");
    {
        TS_ZONE("outer", "flight");
        TS_ZONE_VALUE("altitude", 9000);
        TS_MESSAGE("climbing");
        TS_COUNTER("fuel", 0.5);
    }
    TS_ZONE_BEGIN(open, "still open");
    const char *const copy = rt_path("snap.sbt");
    assert_int_equal(ts_session_snapshot(copy), TS_OK);
    TS_ZONE_END(open);
    rt_trace trace = rt_end(copy);
    const rt_row *const zone = rt_only(&trace, TS_EVENT_ZONE, "outer");
    ts_track track;
    assert_true(ts_reader_track(trace.reader, zone->track, &track));
    rt_assert_text(track.name, "flyer");
    assert_int_equal(
        rt_only(&trace, TS_EVENT_ZONE_ARG, "outer")->values[TS_COLUMN_VALUE],
        9000);
    assert_string_equal(rt_only(&trace, TS_EVENT_MESSAGE, NULL)->text,
                        "climbing");
    rt_only(&trace, TS_EVENT_COUNTER, "fuel");
    rt_only(&trace, TS_EVENT_ZONE_OPEN, "still open");
    rt_close(&trace);
}

UNIT_TEST(a_snapshot_under_help_holds_what_the_file_lacks)
{
    const ts_session_desc desc = { .drain = TS_DRAIN_MANUAL };
    const char *const path = rt_start("help.sbt", desc);
    flows(1, 100);
    assert_int_equal(ts_session_flush(), TS_OK);
    flows(101, 50);
    const char *const copy = rt_path("rest.sbt");
    assert_int_equal(ts_session_snapshot(copy), TS_OK);
    flows(151, 50);
    rt_trace trace = rt_end(copy);
    assert_int_equal(assert_newest(&trace, 150), 50);
    rt_close(&trace);
    trace = rt_read(path);
    assert_int_equal(assert_newest(&trace, 200), 200);
    rt_close(&trace);
}

// Its samples go to the session's file when they come.
UNIT_TEST(a_snapshot_has_the_clocks_of_devices)
{
    const ts_session_desc desc = { .policy = TS_POLICY_OVERWRITE };
    const char *const path = rt_start("device.sbt", desc);
    const uint32_t clock = ts_clock_define("device");
    const ts_gpu_device_desc device = { .name = "device" };
    const ts_gpu_context_desc context = { .device =
                                              ts_gpu_device_define(&device) };
    const ts_gpu_stream_desc stream = { .context =
                                            ts_gpu_context_define(&context) };
    const uint64_t start = ts_tick_now();
    for (uint64_t i = 1; i <= 100; i++) // more than are kept
        ts_clock_sample(clock, i * 1000000, start + i * 100000, 10);
    const ts_gpu_op op = { .kind = TS_EVENT_MEMCPY,
                           .track = ts_gpu_stream_define(&stream),
                           .clock = clock,
                           .start = 99100000,
                           .end = 99600000,
                           .correlation = 1 };
    ts_gpu_op_record(&op);
    const char *const copy = rt_path("device-snap.sbt");
    assert_int_equal(ts_session_snapshot(copy), TS_OK);
    rt_trace trace = rt_end(path);
    const rt_row whole = *rt_only(&trace, TS_EVENT_MEMCPY, NULL);
    rt_close(&trace);
    trace = rt_read(copy);
    const rt_row *const row = rt_only(&trace, TS_EVENT_MEMCPY, NULL);
    // Time 0 is a time of the host, whose rate is known to a few nanoseconds.
    assert_true(llabs(row->start_ns - whole.start_ns) < 1000);
    assert_int_equal(row->duration_ns, whole.duration_ns);
    rt_close(&trace);
}

UNIT_TEST(snapshots_are_numbered)
{
    const ts_session_desc desc = { .policy = TS_POLICY_OVERWRITE,
                                   .snapshot_path = rt_path("shot-%n.sbt") };
    rt_start("numbers.sbt", desc);
    flows(1, 5);
    for (int i = 0; i < 3; i++)
        assert_int_equal(ts_session_snapshot(NULL), TS_OK);
    assert_int_equal(rt_files(rt_make_folder(), "shot-"), 3);
    assert_int_equal(rt_files(rt_make_folder(), "%n"), 0);
    const char *const missing = rt_path("no/such/folder.sbt");
    assert_int_equal(ts_session_snapshot(missing), TS_ERR_IO);
    flows(6, 5);
    assert_int_equal(ts_session_stop(), TS_OK);
}

static void ignore_signal(int number)
{
}

UNIT_TEST(a_signal_takes_a_snapshot)
{
    struct sigaction action, after;
    memset(&action, 0, sizeof action);
    action.sa_handler = ignore_signal;
    assert_int_equal(sigaction(SIGUSR2, &action, NULL), 0);
    const ts_session_desc desc = { .policy = TS_POLICY_OVERWRITE,
                                   .ring_bytes = 32768,
                                   .snapshot_signal = SIGUSR2,
                                   .snapshot_path = rt_path("sig-%n.sbt") };
    rt_start("signal.sbt", desc);
    flows(1, 70000);
    assert_int_equal(raise(SIGUSR2), 0);
    for (int i = 0; i < 3000 && !rt_files(rt_make_folder(), "sig-"); i++)
        rt_sleep_ms(10);
    rt_sleep_ms(100); // it may still be being written
    assert_int_equal(rt_files(rt_make_folder(), "sig-"), 1);
    assert_int_equal(ts_session_stop(), TS_OK);
    // the handler that was there before is back
    assert_int_equal(sigaction(SIGUSR2, NULL, &after), 0);
    assert_ptr_equal(after.sa_handler, ignore_signal);
    signal(SIGUSR2, SIG_DFL);

    char name[64];
    size_t found = 0;
    for (int n = 0; n < 100; n++) {
        snprintf(name, sizeof name, "sig-%d.sbt", n);
        if (access(rt_path(name), F_OK)) continue;
        rt_trace trace = rt_read(rt_path(name));
        assert_true(assert_newest(&trace, 70000) >= 256);
        rt_close(&trace);
        found++;
    }
    assert_int_equal(found, 1);
}

static bool go_on;

static void *fly(void *user)
{
    const uint64_t base = (uint64_t)(uintptr_t)user << 40;
    for (uint64_t i = 0; __atomic_load_n(&go_on, __ATOMIC_RELAXED); i++) {
        TS_ZONE("flying");
        TS_FLOW_STEP(base | i);
    }
    return NULL;
}

// Every thread's flows must run without a gap, whatever is being overwritten.
UNIT_TEST(snapshots_under_load_have_no_holes)
{
    enum { THREADS = 3, SHOTS = 10 };
    pthread_t threads[THREADS];
    const ts_session_desc desc = { .policy = TS_POLICY_OVERWRITE,
                                   .ring_bytes = 1 << 18 };
    rt_start("load.sbt", desc);
    __atomic_store_n(&go_on, true, __ATOMIC_RELAXED);
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, fly, (void *)(i + 1))) abort();
    for (int shot = 0; shot < SHOTS; shot++) {
        uint64_t last[THREADS + 1] = { 0 };
        rt_sleep_ms(5);
        const char *const path = rt_path("under-load.sbt");
        assert_int_equal(ts_session_snapshot(path), TS_OK);
        rt_trace trace = rt_read(path);
        for (size_t i = 0; i < trace.count; i++) {
            if (trace.rows[i].kind != TS_EVENT_FLOW) continue;
            const uint64_t id = trace.rows[i].values[TS_COLUMN_ID];
            assert_in_range(id >> 40, 1, THREADS);
            uint64_t *const before = &last[id >> 40];
            if (*before) assert_int_equal(id, *before + 1);
            *before = id;
        }
        rt_close(&trace);
    }
    __atomic_store_n(&go_on, false, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(ts_session_stop(), TS_OK);
}

/* ---- Memory ------------------------------------------------------------- */

enum { CROWD = 64, EACH = 1000 };

static pthread_barrier_t crowd_ready;

static void *crowd_run(void *user)
{
    for (int i = 0; i < EACH; i++) {
        TS_ZONE("crowded");
    }
    pthread_barrier_wait(&crowd_ready); // all of them live at once
    return user;
}

UNIT_TEST(memory_stays_within_its_bound)
{
    const ts_session_desc desc = { .memory_bytes = 1 << 20,
                                   .ring_bytes = 1 << 16 };
    const char *const path = rt_start("bound.sbt", desc);
    pthread_t threads[CROWD];
    pthread_barrier_init(&crowd_ready, NULL, CROWD + 1);
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, crowd_run, NULL), 0);
    pthread_barrier_wait(&crowd_ready);
    ts_stats stats;
    ts_session_stats(&stats);
    assert_true(stats.memory_bytes <= 1 << 20);
    for (int i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&crowd_ready);
    assert_int_equal(ts_session_stop(), TS_OK);
    ts_session_stats(&stats);
    rt_trace trace = rt_open(path);
    const uint64_t kept = rt_count(&trace, TS_EVENT_ZONE, "crowded");
    const uint64_t lost = rt_lost(&trace, TS_LOSS_MEMORY_BOUND);
    assert_int_equal(kept + lost, CROWD * EACH);
    assert_int_equal(trace.info->lost, lost);
    assert_int_equal(stats.lost_by[TS_LOSS_MEMORY_BOUND], lost);
    assert_true(kept >= 4 * EACH);
    rt_close(&trace);
}

/* ---- Compression -------------------------------------------------------- */

static size_t zstd_chunks(const rt_trace *trace)
{
    size_t count = 0;
    ts_chunk_info info;
    for (size_t i = 0; ts_reader_chunk(trace->reader, i, &info); i++)
        if (info.header.flags & TS_CHUNK_ZSTD) count++;
    return count;
}

UNIT_TEST(compressed_traces_hold_the_same)
{
    const ts_session_desc with = { .path = rt_path("zstd.sbt"), .compress = 3 };
    const ts_result result = ts_session_start(&with);
    if (result == TS_ERR_UNSUPPORTED) {
        assert_int_equal(access(with.path, F_OK), -1);
        skip(); // built without zstd, and says so
    }
    assert_int_equal(result, TS_OK);
    flows(1, 200000);
    rt_trace trace = rt_end(with.path);
    assert_int_equal(assert_newest(&trace, 200000), 200000);
    assert_true(zstd_chunks(&trace) > 0);
    const uint64_t small = trace.info->file_bytes;
    rt_close(&trace);

    const ts_session_desc without = { 0 };
    const char *const path = rt_start("plain.sbt", without);
    flows(1, 200000);
    assert_int_equal(ts_session_stop(), TS_OK);
    trace = rt_open(path);
    assert_int_equal(zstd_chunks(&trace), 0);
    assert_true(small < trace.info->file_bytes);
    rt_close(&trace);
}

UNIT_TEST(a_snapshot_of_nothing_says_whose_it_is)
{
    const char *const copy = rt_path("nothing.sbt");
    const ts_session_desc desc = { .app = "idle" };
    rt_start("idle.sbt", desc);
    assert_int_equal(ts_session_snapshot(copy), TS_OK);
    rt_trace trace = rt_end(copy);
    ts_metadata value;
    assert_true(ts_reader_metadata(trace.reader, 0, "app", &value));
    rt_assert_text(value.text, "idle");
    rt_close(&trace);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
