// Everything that is no zone: marks, messages, counters, memory, frames,
// flows, spans, threads, blobs, metadata.
#define _GNU_SOURCE
#include "tests/record/record_fixture.h"

static const ts_session_desc plain;

static ts_text name_of(const rt_trace *trace, uint64_t name)
{
    return ts_reader_name(trace->reader, (uint32_t)name);
}

static const ts_site_entry *site_of(const rt_trace *trace, const rt_row *row)
{
    return ts_reader_site(trace->reader, (uint32_t)row->values[TS_COLUMN_SITE]);
}

UNIT_TEST(marks_and_frames_have_names_and_order)
{
    const char *const path = rt_start("marks.sbt", plain);
    for (int i = 0; i < 3; i++) {
        TS_FRAME("frame");
        rt_next_tick();
        TS_MARK("mark", "kind of", 0x123456);
        rt_next_tick();
    }
    TS_FRAME("other", "display");
    rt_trace trace = rt_end(path);
    assert_int_equal(trace.count, 7);
    assert_int_equal(rt_rows(&trace, TS_EVENT_FRAME, "frame"), 3);
    assert_int_equal(rt_rows(&trace, TS_EVENT_MARK, "mark"), 3);
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(trace.rows[i].kind,
                         i % 2 ? TS_EVENT_MARK : TS_EVENT_FRAME);
        assert_int_equal(trace.rows[i].duration_ns, 0);
        assert_int_equal(trace.rows[i].track, trace.rows[0].track);
    }
    const ts_site_entry *const site = site_of(&trace, &trace.rows[1]);
    assert_int_equal(site->color, 0x123456);
    rt_assert_text(name_of(&trace, site->category), "kind of");
    rt_assert_text(name_of(&trace, site->file), __FILE__);
    rt_close(&trace);
}

UNIT_TEST(messages_of_every_size_are_kept)
{
    static char big[20001];
    for (size_t i = 0; i < sizeof big - 1; i++)
        big[i] = (char)('a' + i % 26);
    static const size_t sizes[] = { 0,   1,    2,    7,    8,    14,   15,
                                    16,  29,   30,   31,   45,   100,  255,
                                    256, 1000, 4095, 7999, 8000, 8001, 20000 };
    enum { COUNT = sizeof sizes / sizeof *sizes };
    const char *const path = rt_start("messages.sbt", plain);
    for (size_t i = 0; i < COUNT; i++)
        ts_message_sized(big, sizes[i]);
    TS_MESSAGE("");
    TS_MESSAGE("hello \xE2\x82\xAC");
    TS_MESSAGE(NULL);
    ts_message_sized("a\0b", 3);
    rt_trace trace = rt_end(path);
    for (size_t i = 0; i < COUNT; i++) {
        const rt_row *const row = &trace.rows[i];
        const size_t size = sizes[i] > 8000 ? 8000 : sizes[i];
        assert_int_equal(row->kind, TS_EVENT_MESSAGE);
        assert_int_equal(row->text_size, size);
        assert_memory_equal(row->text, big, size);
    }
    assert_int_equal(trace.rows[COUNT].text_size, 0);
    assert_string_equal(trace.rows[COUNT + 1].text, "hello \xE2\x82\xAC");
    const rt_row *const last = &trace.rows[trace.count - 1];
    assert_int_equal(last->text_size, 3);
    assert_memory_equal(last->text, "a\0b", 3);
    rt_close(&trace);
}

static void assert_int_sample(const rt_trace *trace, size_t index,
                              int64_t value)
{
    const rt_row *const row = rt_nth(trace, TS_EVENT_COUNTER, NULL, index);
    assert_int_equal(row->values[TS_COLUMN_TYPE], TS_VALUE_INT);
    if ((int64_t)row->values[TS_COLUMN_VALUE] != value)
        fail_msg("sample %zu is %" PRId64 ", not %" PRId64, index,
                 (int64_t)row->values[TS_COLUMN_VALUE], value);
}

static void assert_double_sample(const rt_trace *trace, size_t index,
                                 double value)
{
    const rt_row *const row = rt_nth(trace, TS_EVENT_COUNTER, NULL, index);
    assert_int_equal(row->values[TS_COLUMN_TYPE], TS_VALUE_DOUBLE);
    assert_memory_equal(&row->values[TS_COLUMN_VALUE], &value, sizeof value);
}

UNIT_TEST(counters_keep_every_number_exactly)
{
    static const int64_t numbers[] = { 0,
                                       1,
                                       -1,
                                       INT32_MAX,
                                       INT32_MIN,
                                       INT32_MAX + INT64_C(1),
                                       INT32_MIN - INT64_C(1),
                                       INT64_MAX,
                                       INT64_MIN,
                                       4294967295,
                                       -4294967296 };
    enum { COUNT = sizeof numbers / sizeof *numbers };
    const char *const path = rt_start("counters.sbt", plain);
    for (size_t i = 0; i < COUNT; i++)
        TS_COUNTER("n", numbers[i]);
    TS_COUNTER("n", (uint8_t)200);
    TS_COUNTER("n", (size_t)5000000000u);
    TS_COUNTER("n", UINT64_MAX);
    TS_COUNTER("n", 0.1);
    TS_COUNTER("n", -1e300);
    TS_COUNTER("n", 1.5f);
    TS_COUNTER("n", (double)NAN);
    TS_COUNTER("n", (double)-INFINITY);
    rt_trace trace = rt_end(path);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_sample(&trace, i, numbers[i]);
    assert_int_sample(&trace, COUNT, 200);
    assert_int_sample(&trace, COUNT + 1, 5000000000);
    assert_double_sample(&trace, COUNT + 2, (double)UINT64_MAX);
    assert_double_sample(&trace, COUNT + 3, 0.1);
    assert_double_sample(&trace, COUNT + 4, -1e300);
    assert_double_sample(&trace, COUNT + 5, 1.5);
    const double nan = rt_double(trace.rows[COUNT + 6].values[TS_COLUMN_VALUE]);
    assert_true(nan != nan);
    assert_double_sample(&trace, COUNT + 7, (double)-INFINITY);
    assert_int_equal(trace.count, COUNT + 8);
    rt_close(&trace);
}

UNIT_TEST(counters_of_one_name_are_one_track)
{
    const char *const path = rt_start("tracks.sbt", plain);
    const uint32_t memory = ts_counter_define(
        "memory", "bytes", TS_COUNTER_MONOTONIC | TS_COUNTER_RATE);
    assert_int_not_equal(memory, 0);
    assert_int_equal(ts_counter_define("memory", "bytes", 3), memory);
    TS_COUNTER("memory", 1);
    TS_COUNTER("memory", 2); // another place in the source
    TS_COUNTER("plain", 3);
    rt_trace trace = rt_end(path);
    ts_track track;
    const rt_row *const first = rt_nth(&trace, TS_EVENT_COUNTER, "memory", 0);
    const rt_row *const second = rt_nth(&trace, TS_EVENT_COUNTER, "memory", 1);
    assert_int_equal(first->track, second->track);
    assert_int_equal(first->track, memory);
    assert_true(ts_reader_track(trace.reader, first->track, &track));
    assert_int_equal(track.type, TS_TRACK_COUNTER);
    rt_assert_text(track.unit, "bytes");
    assert_int_equal(track.flags, 3);
    const rt_row *const other = rt_only(&trace, TS_EVENT_COUNTER, "plain");
    assert_true(ts_reader_track(trace.reader, other->track, &track));
    rt_assert_text(track.unit, "");
    assert_int_equal(track.flags, 0);
    rt_close(&trace);
}

static const void *pointer(uint64_t address)
{
    return (const void *)(uintptr_t)address;
}

UNIT_TEST(allocations_keep_address_size_pool_and_category)
{
    static const uint64_t addresses[] = { 1,
                                          0x7FFFFFFFF000,
                                          0xFFFFFFFFFFFF,
                                          0x1000000000000,
                                          0xFFFF800000000000,
                                          UINT64_MAX };
    enum { COUNT = sizeof addresses / sizeof *addresses };
    const char *const path = rt_start("alloc.sbt", plain);
    {
        TS_ZONE("owner");
        for (size_t i = 0; i < COUNT; i++) {
            TS_ALLOC(pointer(addresses[i]), i);
            TS_FREE(pointer(addresses[i]));
            TS_ALLOC(pointer(addresses[i]), i + 1, "arena", "textures");
            TS_FREE(pointer(addresses[i]), "arena");
        }
        TS_ALLOC(pointer(16), UINT64_MAX, "arena");
    }
    TS_ALLOC(pointer(32), 5);
    TS_ALLOC(NULL, 8);
    TS_FREE(NULL);
    rt_trace trace = rt_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ALLOC, NULL), 2 * COUNT + 2);
    assert_int_equal(rt_rows(&trace, TS_EVENT_FREE, NULL), 2 * COUNT);
    for (size_t i = 0; i < 2 * COUNT; i++) {
        const rt_row *const a = rt_nth(&trace, TS_EVENT_ALLOC, NULL, i);
        const rt_row *const f = rt_nth(&trace, TS_EVENT_FREE, NULL, i);
        assert_int_equal(a->values[TS_COLUMN_ADDRESS], addresses[i / 2]);
        assert_int_equal(f->values[TS_COLUMN_ADDRESS], addresses[i / 2]);
        assert_int_equal(a->values[TS_COLUMN_SIZE], i / 2 + i % 2);
        const char *const pool = i % 2 ? "arena" : "";
        rt_assert_text(name_of(&trace, a->values[TS_COLUMN_POOL]), pool);
        rt_assert_text(name_of(&trace, f->values[TS_COLUMN_POOL]), pool);
        rt_assert_text(name_of(&trace, a->values[TS_COLUMN_CATEGORY]),
                       i % 2 ? "textures" : "");
        rt_assert_text(ts_reader_site_name(trace.reader,
                                           (uint32_t)a->values[TS_COLUMN_SITE]),
                       "owner");
    }
    const rt_row *row = rt_nth(&trace, TS_EVENT_ALLOC, NULL, 2 * COUNT);
    assert_int_equal(row->values[TS_COLUMN_SIZE], UINT64_MAX);
    row = rt_nth(&trace, TS_EVENT_ALLOC, NULL, 2 * COUNT + 1);
    assert_int_equal(row->values[TS_COLUMN_SITE], 0);
    rt_close(&trace);
}

// A short record has room for 48 bits of it.
UNIT_TEST(flows_keep_identifiers_of_any_size)
{
    static const uint64_t ids[] = { 0, (UINT64_C(1) << 48) - 1,
                                    UINT64_C(1) << 48, UINT64_MAX };
    const char *const path = rt_start("flow_ids.sbt", plain);
    for (size_t i = 0; i < 4; i++) {
        TS_FLOW_START(ids[i]);
        rt_next_tick();
        TS_FLOW_END(ids[i]);
        rt_next_tick();
    }
    assert_int_equal(ts_session_stop(), TS_OK);
    rt_trace trace = rt_read(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_FLOW, NULL), 8);
    for (size_t i = 0; i < 8; i++) {
        const rt_row *const row = rt_nth(&trace, TS_EVENT_FLOW, NULL, i);
        assert_true(row->values[TS_COLUMN_ID] == ids[i / 2]);
        assert_int_equal(row->values[TS_COLUMN_PHASE],
                         i % 2 ? TS_PHASE_END : TS_PHASE_START);
    }
    rt_close(&trace);
}

static void *finish_elsewhere(void *user)
{
    TS_FLOW_STEP(77);
    TS_FLOW_END(77);
    TS_SPAN_END(0);
    TS_SPAN_END(UINT64_MAX);
    return user;
}

UNIT_TEST(flows_and_spans_move_between_threads)
{
    const char *const path = rt_start("flows.sbt", plain);
    TS_FLOW_START(77);
    TS_SPAN_START(0, "zeroth", "job");
    TS_SPAN_START(UINT64_MAX, "last");
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, finish_elsewhere, NULL), 0);
    pthread_join(thread, NULL);
    TS_SPAN_START(0, "zeroth again");
    TS_SPAN_END(0);
    rt_trace trace = rt_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_FLOW, NULL), 3);
    assert_int_equal(rt_rows(&trace, TS_EVENT_SPAN, NULL), 6);
    static const ts_phase phases[] = { TS_PHASE_START, TS_PHASE_STEP,
                                       TS_PHASE_END };
    for (size_t i = 0; i < 3; i++) {
        const rt_row *const row = rt_nth(&trace, TS_EVENT_FLOW, NULL, i);
        assert_int_equal(row->values[TS_COLUMN_ID], 77);
        assert_int_equal(row->values[TS_COLUMN_PHASE], phases[i]);
    }
    static const struct {
        uint64_t id;
        ts_phase phase;
        const char *name;
    } spans[] = {
        { 0, TS_PHASE_START, "zeroth" },
        { UINT64_MAX, TS_PHASE_START, "last" },
        { 0, TS_PHASE_END, NULL },
        { UINT64_MAX, TS_PHASE_END, NULL },
        { 0, TS_PHASE_START, "zeroth again" },
        { 0, TS_PHASE_END, NULL },
    };
    for (size_t i = 0; i < 6; i++) {
        const rt_row *const row = rt_nth(&trace, TS_EVENT_SPAN, NULL, i);
        assert_int_equal(row->values[TS_COLUMN_ID], spans[i].id);
        assert_int_equal(row->values[TS_COLUMN_PHASE], spans[i].phase);
        if (spans[i].name) assert_string_equal(row->name, spans[i].name);
    }
    assert_int_not_equal(rt_nth(&trace, TS_EVENT_SPAN, NULL, 2)->track,
                         rt_nth(&trace, TS_EVENT_SPAN, NULL, 0)->track);
    rt_close(&trace);
}

static size_t blobs(const rt_trace *trace)
{
    size_t count = 0;
    ts_chunk_info info;
    for (size_t i = 0; ts_reader_chunk(trace->reader, i, &info); i++)
        if (info.header.kind == TS_CHUNK_BLOB) count++;
    return count;
}

UNIT_TEST(a_blob_is_stored_once)
{
    static uint8_t bytes[100000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 31 >> 3);
    uint64_t one[2], again[2], other[2], empty[2];
    const char *const path = rt_start("blob.sbt", plain);
    assert_int_equal(ts_blob_put(bytes, sizeof bytes, one), TS_OK);
    assert_int_equal(ts_blob_put(bytes, sizeof bytes, again), TS_OK);
    assert_int_equal(ts_blob_put(bytes, 99999, other), TS_OK);
    assert_int_equal(ts_blob_put(bytes, 0, empty), TS_OK);
    assert_int_equal(ts_blob_put(bytes, sizeof bytes, NULL), TS_OK);
    assert_int_equal(ts_session_stop(), TS_OK);
    assert_memory_equal(one, again, sizeof one);
    assert_memory_not_equal(one, other, sizeof one);
    // XXH3-128 of nothing, from xxHash's own sanity table
    assert_true(empty[0] == 0x6001C324468D497F);
    assert_true(empty[1] == 0x99AA06D3014798D8);
    rt_trace trace = rt_read(path);
    assert_int_equal(blobs(&trace), 3);
    const void *found;
    size_t size;
    assert_int_equal(ts_reader_blob(trace.reader, one, &found, &size), TS_OK);
    assert_non_null(found);
    assert_int_equal(size, sizeof bytes);
    assert_memory_equal(found, bytes, size);
    assert_int_equal(ts_reader_blob(trace.reader, other, &found, &size), TS_OK);
    assert_int_equal(size, 99999);
    rt_close(&trace);
}

// A site or name of an earlier session is valid in a later one, and a blob is
// stored again in each trace.
UNIT_TEST(definitions_outlive_their_session)
{
    uint64_t hash[2];
    const ts_site base = { "unused", "cat", "func", "file.c", 12, 34, 0 };
    const uint32_t site = ts_site_define("made early", &base);
    assert_int_not_equal(site, 0);
    for (int i = 0; i < 2; i++) {
        const char *const path =
            rt_start(i ? "second.sbt" : "first.sbt", plain);
        ts_zone zone = ts_zone_begin_site(site);
        ts_zone_end(&zone);
        assert_int_equal(ts_blob_put("blob", 4, hash), TS_OK);
        rt_trace trace = rt_end(path);
        const ts_site_entry *const entry =
            site_of(&trace, rt_only(&trace, TS_EVENT_ZONE, "made early"));
        rt_assert_text(name_of(&trace, entry->category), "cat");
        rt_assert_text(name_of(&trace, entry->function), "func");
        rt_assert_text(name_of(&trace, entry->file), "file.c");
        assert_int_equal(entry->line, 12);
        assert_int_equal(entry->color, 34);
        assert_int_equal(blobs(&trace), 1);
        rt_close(&trace);
    }
}

int main(void)
{
    return unit_run(NULL, NULL);
}
