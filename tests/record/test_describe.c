// What a trace says about the session, its threads, modules and stacks.
#define _GNU_SOURCE
#include "tests/record/record_fixture.h"

static const ts_session_desc plain;

UNIT_TEST(the_session_describes_itself)
{
    const ts_session_desc desc = { .app = "my app" };
    const char *const path = rt_start("self.sbt", desc);
    ts_metadata_int(0, "answer", -42);
    ts_metadata_double(0, "half", 0.5);
    ts_metadata_text(0, "why", "because \"quoted\" \\ \n");
    ts_metadata_int(ts_thread_track(), "core", 3);
    ts_metadata_int(0, "twice", 1);
    ts_metadata_int(0, "twice", 2);
    rt_trace trace = rt_end(path);
    ts_metadata value;
    const char *const keys[] = { "host", "command", "rank", "app",
                                 "os",   "policy",  "cpu",  "boot_id" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!ts_reader_metadata(trace.reader, 0, keys[i], &value))
            fail_msg("no %s", keys[i]);
    assert_true(ts_reader_metadata(trace.reader, 0, "app", &value));
    rt_assert_text(value.text, "my app");
    assert_true(ts_reader_metadata(trace.reader, 0, "answer", &value));
    assert_int_equal(value.type, TS_VALUE_INT);
    assert_int_equal(value.number, -42);
    assert_true(ts_reader_metadata(trace.reader, 0, "half", &value));
    assert_int_equal(value.type, TS_VALUE_DOUBLE);
    assert_true(value.real > 0.499 && value.real < 0.501);
    assert_true(ts_reader_metadata(trace.reader, 0, "why", &value));
    rt_assert_text(value.text, "because \"quoted\" \\ \n");
    assert_true(ts_reader_metadata(trace.reader, 0, "twice", &value));
    assert_int_equal(value.number, 2);
    uint32_t tracks = 0;
    for (size_t i = 0; i < ts_reader_metadata_count(trace.reader); i++) {
        assert_true(ts_reader_metadata_at(trace.reader, i, &value));
        if (value.track && !strcmp(value.key.text, "core")) {
            ts_track track;
            assert_int_equal(value.number, 3);
            assert_true(ts_reader_track(trace.reader, value.track, &track));
            assert_int_equal(track.type, TS_TRACK_THREAD);
            tracks++;
        }
    }
    assert_int_equal(tracks, 1);
    rt_close(&trace);
}

static bool says(const rt_trace *trace, uint32_t track, const char *key)
{
    ts_metadata value;
    return ts_reader_metadata(trace->reader, track, key, &value);
}

UNIT_TEST(what_is_said_of_a_session_ends_with_it)
{
    const ts_session_desc named = { .app = "the first" };
    const char *const first = rt_start("first.sbt", named);
    const ts_gpu_device_desc card = { .name = "card" };
    const uint32_t device = ts_gpu_device_define(&card);
    const uint32_t clock = ts_clock_define("card clock");
    char clock_name[32];
    snprintf(clock_name, sizeof clock_name, "clock.%u.name", clock);
    ts_metadata_text(device, "vendor", "Acme");
    ts_metadata_int(0, "answer", 42);
    assert_int_equal(ts_session_stop(), TS_OK);
    ts_metadata_int(0, "between", 1);

    const char *const second = rt_start("second.sbt", plain);
    ts_metadata_int(0, "later", 2);
    TS_MARK("here");
    ts_clock_sample(clock, 1000, ts_tick_now(), 10);
    const char *const copy = rt_path("copy.sbt");
    assert_int_equal(ts_session_snapshot(copy), TS_OK);

    rt_trace trace = rt_end(first);
    assert_true(says(&trace, 0, "app"));
    assert_true(says(&trace, 0, "answer"));
    assert_true(says(&trace, 0, clock_name));
    rt_close(&trace);
    const char *const others[] = { second, copy };
    for (int i = 0; i < 2; i++) {
        trace = rt_read(others[i]);
        assert_false(says(&trace, 0, "app"));
        assert_false(says(&trace, 0, "answer"));
        assert_true(says(&trace, 0, "between"));
        assert_true(says(&trace, 0, "later"));
        assert_true(says(&trace, 0, "host"));
        // A device and its clock are of the process.
        assert_true(says(&trace, device, "vendor"));
        assert_true(says(&trace, 0, clock_name));
        rt_close(&trace);
    }
    // The metadata between the two sessions belongs to one of them.
    const char *const third = rt_start("third.sbt", plain);
    trace = rt_end(third);
    assert_false(says(&trace, 0, "between"));
    rt_close(&trace);
}

UNIT_TEST(api_calls_keep_every_field)
{
    const char *const path = rt_start("api.sbt", plain);
    const uint32_t name = ts_name_define("cuLaunchKernel");
    const ts_api_call first = { .name = name,
                                .start = ts_tick_now(),
                                .end = ts_tick_now() + 999,
                                .correlation = UINT64_MAX,
                                .result = UINT64_MAX };
    ts_api_call_record(&first);
    const ts_api_call second = { .name = name,
                                 .start = first.end,
                                 .end = first.end };
    ts_api_call_record(&second);
    const uint32_t thread = ts_thread_track();
    rt_trace trace = rt_end(path);
    const rt_row *row = rt_nth(&trace, TS_EVENT_API_CALL, NULL, 0);
    assert_string_equal(row->name, "cuLaunchKernel");
    assert_int_equal(row->track, thread);
    assert_int_equal(row->start_tick, first.start);
    assert_true(row->duration_ns > 0);
    assert_true(row->values[TS_COLUMN_CORRELATION] == UINT64_MAX);
    assert_true(row->values[TS_COLUMN_RESULT] == UINT64_MAX);
    row = rt_nth(&trace, TS_EVENT_API_CALL, NULL, 1);
    assert_int_equal(row->values[TS_COLUMN_CORRELATION], 0);
    assert_int_equal(row->duration_ns, 0);
    rt_close(&trace);
}

UNIT_TEST(modules_and_stacks_are_kept_once)
{
    const char *const path = rt_start("stacks.sbt", plain);
    const uint8_t build_id[20] = { 0xDE, 0xAD, 0xBE, 0xEF, 1, 2, 3 };
    const uint32_t module = ts_module_define(
        "/lib/libdemo.so", 0x7F0000000000, 0x20000, build_id, sizeof build_id);
    const uint32_t bare = ts_module_define("[vdso]", 4096, 4096, NULL, 0);
    static ts_frame_entry frames[256];
    for (uint32_t i = 0; i < 256; i++) {
        frames[i].module = i % 2 ? module : bare;
        frames[i].offset = i * 16;
    }
    const uint32_t deep = ts_stack_define(frames, 256);
    const uint32_t flat = ts_stack_define(frames, 1);
    assert_int_not_equal(deep, 0);
    assert_int_not_equal(flat, deep);
    assert_int_equal(ts_stack_define(frames, 256), deep);
    const ts_api_call calls[] = {
        { .stack = deep, .start = ts_tick_now(), .end = ts_tick_now() },
        { .stack = flat, .start = ts_tick_now(), .end = ts_tick_now() }
    };
    ts_api_call_record(&calls[0]);
    ts_api_call_record(&calls[1]);
    rt_trace trace = rt_end(path);
    const ts_frame_entry *found;
    const rt_row *row = rt_nth(&trace, TS_EVENT_API_CALL, NULL, 0);
    uint32_t stack = (uint32_t)row->values[TS_COLUMN_STACK];
    assert_int_equal(ts_reader_stack(trace.reader, stack, &found), 256);
    assert_memory_equal(found, frames, sizeof frames);
    row = rt_nth(&trace, TS_EVENT_API_CALL, NULL, 1);
    stack = (uint32_t)row->values[TS_COLUMN_STACK];
    assert_int_equal(ts_reader_stack(trace.reader, stack, &found), 1);
    const ts_module_entry *const entry = ts_reader_module(trace.reader, module);
    assert_non_null(entry);
    assert_true(entry->address == 0x7F0000000000);
    assert_int_equal(entry->size, 0x20000);
    rt_assert_text(ts_reader_name(trace.reader, entry->path),
                   "/lib/libdemo.so");
    assert_memory_equal(entry + 1, build_id, sizeof build_id);
    rt_close(&trace);
}

static void *named_thread(void *user)
{
    TS_MARK("in named");
    TS_THREAD_NAME(user);
    TS_THREAD_NAME("renamed");
    TS_MARK("in named");
    return NULL;
}

static void *system_named_thread(void *user)
{
    pthread_setname_np(pthread_self(), "os-name");
    TS_MARK("in system named");
    return user;
}

UNIT_TEST(threads_have_names)
{
    char name[] = "a name longer than the fifteen bytes of the system";
    const char *const path = rt_start("threads.sbt", plain);
    pthread_t one, two;
    assert_int_equal(pthread_create(&one, NULL, named_thread, name), 0);
    pthread_join(one, NULL);
    assert_int_equal(pthread_create(&two, NULL, system_named_thread, NULL), 0);
    pthread_join(two, NULL);
    TS_THREAD_NAME("main one");
    TS_MARK("in main");
    rt_trace trace = rt_end(path);
    ts_track track;
    const rt_row *row = rt_nth(&trace, TS_EVENT_MARK, "in named", 0);
    assert_int_equal(row->track,
                     rt_nth(&trace, TS_EVENT_MARK, "in named", 1)->track);
    assert_true(ts_reader_track(trace.reader, row->track, &track));
    rt_assert_text(track.name, "renamed");
    assert_int_equal(track.type, TS_TRACK_THREAD);
    row = rt_only(&trace, TS_EVENT_MARK, "in system named");
    assert_true(ts_reader_track(trace.reader, row->track, &track));
    rt_assert_text(track.name, "os-name");
    row = rt_only(&trace, TS_EVENT_MARK, "in main");
    assert_true(ts_reader_track(trace.reader, row->track, &track));
    rt_assert_text(track.name, "main one");
    assert_int_equal(track.number, (uint64_t)getpid());
    assert_true(ts_reader_track(trace.reader, track.parent, &track));
    assert_int_equal(track.type, TS_TRACK_PROCESS);
    rt_close(&trace);
}

UNIT_TEST(a_backend_reports_what_it_lost)
{
    const char *const path = rt_start("lost.sbt", plain);
    const ts_gpu_device_desc device = { .name = "card" };
    const uint32_t card = ts_gpu_device_define(&device);
    const ts_gpu_stream_desc first = { .context = card, .number = 1 };
    const ts_gpu_stream_desc second = { .context = card, .number = 2 };
    const uint32_t busy = ts_gpu_stream_define(&first);
    const uint32_t calm = ts_gpu_stream_define(&second);
    const uint64_t now = ts_tick_now();
    ts_loss_report(busy, TS_LOSS_BACKEND, "buffer overrun", 12, now,
                   now + 1000);
    ts_loss_report(busy, TS_LOSS_BACKEND, "buffer overrun", 30, now, now);
    ts_loss_report(calm, TS_LOSS_BACKEND, NULL, 5, now, now);
    ts_stats stats;
    assert_int_equal(ts_session_stop(), TS_OK);
    ts_session_stats(&stats);
    assert_int_equal(stats.lost_by[TS_LOSS_BACKEND], 47);
    rt_trace trace = rt_read(path);
    assert_int_equal(rt_lost(&trace, TS_LOSS_BACKEND), 47);
    ts_loss_row row;
    uint64_t overrun = 0;
    for (size_t i = 0; ts_reader_loss(trace.reader, i, &row); i++)
        if (row.track == busy) {
            overrun += row.count;
            rt_assert_text(ts_reader_name(trace.reader, row.detail),
                           "buffer overrun");
        }
    assert_int_equal(overrun, 42);
    rt_close(&trace);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
