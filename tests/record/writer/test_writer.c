/*
    test_writer.c - traces written from known times

    What ts_writer is given, the reader gives back: every kind of event with
    every column, every dictionary, zones that nest and zones that do not.
*/
#include "tests/record/writer/writer_file.h"

enum { ROWS = 5 };

// A value that is unique to its row and column; identifiers have 32 bits.
static uint64_t value_of(uint32_t kind, uint32_t column, uint32_t row)
{
    return (uint64_t)kind << 16 | (uint64_t)column << 8 | row;
}

static void put_kind(ts_writer *writer, uint32_t kind, uint32_t track)
{
    const uint8_t *const columns = ts_event_columns(kind);
    for (uint32_t row = 0; row < ROWS; row++) {
        ts_writer_value values[TS_COLUMN_LIMIT];
        size_t count = 0;
        bool text = false;
        for (int i = 1; columns[i]; i++) {
            if (columns[i] == TS_COLUMN_TEXT) text = true;
            if (columns[i] == TS_COLUMN_DURATION ||
                columns[i] == TS_COLUMN_TEXT)
                continue;
            values[count].column = (ts_column)columns[i];
            values[count++].value = value_of(kind, columns[i], row);
        }
        const int64_t start = (int64_t)row * 100 - 250;
        if (text)
            ts_writer_event_text(writer, (ts_event_kind)kind, track, start, 0,
                                 values, count, "some text", row);
        else
            ts_writer_event(writer, (ts_event_kind)kind, track, start, 10 + row,
                            values, count);
    }
}

static void check_event(const ts_event *event, uint32_t row)
{
    const uint8_t *const columns = ts_event_columns(event->kind);
    bool spans = false, text = false;
    for (int i = 1; columns[i]; i++) {
        if (columns[i] == TS_COLUMN_DURATION) spans = true;
        if (columns[i] == TS_COLUMN_TEXT) text = true;
        if (columns[i] == TS_COLUMN_DURATION || columns[i] == TS_COLUMN_TEXT)
            continue;
        assert_int_equal(value_of(event->kind, columns[i], row),
                         ts_event_value(event, (ts_column)columns[i]));
    }
    assert_int_equal((int64_t)row * 100 - 250, event->start_ns);
    assert_int_equal(spans ? 10 + row : 0, event->duration_ns);
    if (!text) return;
    assert_int_equal(row, ts_event_text(event).size);
    assert_memory_equal("some text", ts_event_text(event).text, row);
}

static void check_kind(ts_reader *reader, uint32_t kind, uint32_t track)
{
    const ts_filter filter = { .kinds = UINT64_C(1) << kind,
                               .tracks = &track,
                               .track_count = 1 };
    ts_cursor *cursor;
    ts_event event;
    uint32_t row = 0;
    assert_int_equal(TS_OK, ts_cursor_open(&cursor, reader, &filter));
    for (; ts_cursor_next(cursor, &event); row++)
        check_event(&event, row);
    ts_cursor_close(cursor);
    assert_int_equal(ROWS, row);
}

UNIT_TEST(every_kind_of_event_comes_back_with_every_column)
{
    ts_writer *const writer = begin();
    const uint32_t a = track_of(writer, TS_TRACK_THREAD, 1);
    const uint32_t b = track_of(writer, TS_TRACK_THREAD, 2);
    for (uint32_t kind = 1; kind < TS_EVENT_LIMIT; kind++) {
        if (!ts_event_columns(kind)) continue;
        put_kind(writer, kind, a);
        if (kind % 2) put_kind(writer, kind, b); // chunks of several tracks
    }
    ts_reader *const reader = finish(writer);
    for (uint32_t kind = 1; kind < TS_EVENT_LIMIT; kind++) {
        if (!ts_event_columns(kind)) continue;
        check_kind(reader, kind, a);
        if (kind % 2) check_kind(reader, kind, b);
    }
    ts_reader_close(reader);
}

/* Dictionaries. */

UNIT_TEST(dictionaries_metadata_and_losses_come_back)
{
    ts_writer *const writer = begin();
    const uint32_t name = ts_writer_name(writer, "gemm", 4);
    assert_int_equal(name, ts_writer_name(writer, "gemm!", 4));
    assert_int_not_equal(name, ts_writer_name(writer, "gemm!", 5));
    const ts_site_entry site = { .name = name, .line = 7 };
    const uint32_t site_id = ts_writer_site(writer, &site);
    assert_int_equal(site_id, ts_writer_site(writer, &site));
    const ts_launch_entry launch = { .name = name, .grid = { 1, 2, 3 } };
    const uint32_t launch_id = ts_writer_launch(writer, &launch);
    const ts_module_entry module = { .path = name, .address = 4096, .size = 9 };
    const uint32_t m = ts_writer_module(writer, &module, "\1\2\3", 3);
    const ts_frame_entry frames[2] = { { .module = m, .offset = 5 },
                                       { .offset = 77 } };
    const uint32_t stack = ts_writer_stack(writer, frames, 2);
    ts_track_entry entry = { .type = TS_TRACK_STREAM, .number = 9 };
    assert_int_equal(500, ts_writer_track(writer, 500, &entry));
    assert_int_equal(501, ts_writer_track(writer, 0, &entry));
    entry.name = name;
    ts_writer_track(writer, 500, &entry); // it gets its name late
    ts_writer_metadata(writer, 0, "import.format", TS_VALUE_TEXT, name);
    ts_writer_metadata(writer, 500, "answer", TS_VALUE_INT, (uint64_t)-42);
    ts_writer_loss(writer, 500, TS_LOSS_BACKEND, name, 3, -5, 1000);
    ts_writer_loss(writer, 500, TS_LOSS_BACKEND, name, 4, -5, 2000);
    ts_reader *const reader = finish(writer);
    ts_metadata metadata;
    ts_track track;
    ts_loss_row row;
    const ts_frame_entry *back;
    assert_string_equal("gemm", ts_reader_name(reader, name).text);
    assert_memory_equal(&site, ts_reader_site(reader, site_id), sizeof site);
    assert_memory_equal(&launch, ts_reader_launch(reader, launch_id),
                        sizeof launch);
    assert_int_equal(4096, ts_reader_module(reader, m)->address);
    assert_int_equal(3, ts_reader_build_id(reader, m).size);
    assert_int_equal(2, ts_reader_stack(reader, stack, &back));
    assert_memory_equal(frames, back, sizeof frames);
    assert_true(ts_reader_track(reader, 500, &track));
    assert_string_equal("gemm", track.name.text);
    assert_true(ts_reader_metadata(reader, 0, "import.format", &metadata));
    assert_string_equal("gemm", metadata.text.text);
    assert_true(ts_reader_metadata(reader, 500, "answer", &metadata));
    assert_int_equal(-42, metadata.number);
    assert_int_equal(1, ts_reader_loss_count(reader));
    assert_true(ts_reader_loss(reader, 0, &row));
    assert_int_equal(7, row.count);
    assert_int_equal(-5, row.first_ns);
    assert_int_equal(2000, row.last_ns);
    ts_reader_close(reader);
}

/* Zones in any shape and order. */

typedef struct zone {
    int64_t start, duration;
    uint64_t site;
    uint32_t track;
} zone;

static int by_all(const void *a, const void *b)
{
    const zone *const x = a, *const y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    if (x->track != y->track) return x->track < y->track ? -1 : 1;
    if (x->duration != y->duration) return x->duration > y->duration ? -1 : 1;
    return x->site < y->site ? -1 : x->site > y->site;
}

// Writes zones in the order given and compares them, as a set, to what the
// cursor says.
static void check_zones(zone *zones, size_t count)
{
    ts_writer *const writer = begin();
    for (size_t i = 0; i < count; i++) {
        const ts_writer_value site = { TS_COLUMN_SITE, zones[i].site };
        ts_writer_event(writer, TS_EVENT_ZONE, zones[i].track, zones[i].start,
                        zones[i].duration, &site, 1);
    }
    ts_reader *const reader = finish(writer);
    zone *const got = calloc(count, sizeof *got);
    ts_cursor *cursor;
    ts_event event;
    size_t n = 0;
    assert_int_equal(TS_OK, ts_cursor_open(&cursor, reader, NULL));
    for (; ts_cursor_next(cursor, &event); n++) {
        assert_true(n < count);
        got[n].start = event.start_ns;
        got[n].duration = event.duration_ns;
        got[n].track = event.track;
        got[n].site = ts_event_value(&event, TS_COLUMN_SITE);
    }
    assert_int_equal(count, n);
    ts_cursor_close(cursor);
    qsort(zones, count, sizeof *zones, by_all);
    qsort(got, count, sizeof *got, by_all);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(zones[i].start, got[i].start);
        assert_int_equal(zones[i].duration, got[i].duration);
        assert_int_equal(zones[i].track, got[i].track);
        assert_int_equal(zones[i].site, got[i].site);
    }
    free(got);
    ts_reader_close(reader);
}

UNIT_TEST(zones_of_any_shape_come_out_right)
{
    for (uint64_t seed = 0; seed < 60; seed++) {
        uint64_t random = seed;
        const size_t count = seed % 12 ? next(&random) % 400 + 1 : 20000;
        const uint64_t span = UINT64_C(1) << (seed % 50 + 1);
        const uint32_t tracks = seed % 3 ? 1 : (uint32_t)(seed + 1);
        zone *const zones = calloc(count, sizeof *zones);
        for (size_t i = 0; i < count; i++) {
            zones[i].start =
                (int64_t)(next(&random) % span) - (int64_t)(span / 2);
            zones[i].duration =
                (int64_t)(next(&random) % (seed % 2 ? span : 20));
            zones[i].site = next(&random) % 5;
            zones[i].track = 1 + (uint32_t)(next(&random) % tracks);
        }
        check_zones(zones, count);
        free(zones);
    }
}

// Every subset of a tree's ends at once: equal starts, equal ends, empty ones.
UNIT_TEST(zones_that_share_their_ends_come_out_right)
{
    zone zones[1296];
    size_t count = 0;
    for (int64_t start = 0; start < 36; start++)
        for (int64_t end = start; end < 36; end++) {
            const zone one = { start / 6, (end - start) / 6, count % 7, 1 };
            zones[count++] = one;
        }
    check_zones(zones, count);
}

UNIT_TEST(inner_zones_given_first_stay_inside)
{
    ts_writer *const writer = begin();
    for (uint64_t i = 1; i <= 3; i++) { // 1 inside 2 inside 3
        const ts_writer_value site = { TS_COLUMN_SITE, i };
        ts_writer_event(writer, TS_EVENT_ZONE, 1, 10, 10, &site, 1);
    }
    ts_reader *const reader = finish(writer);
    ts_cursor *cursor;
    ts_event event;
    ts_cursor_open(&cursor, reader, NULL);
    for (uint64_t i = 3; i; i--) {
        assert_true(ts_cursor_next(cursor, &event));
        assert_int_equal(i, ts_event_value(&event, TS_COLUMN_SITE));
    }
    ts_cursor_close(cursor);
    ts_reader_close(reader);
}

/* Sizes and memory. */

UNIT_TEST(a_thousand_streams_of_three_rows_are_a_small_file)
{
    ts_writer *const writer = begin();
    for (uint64_t i = 0; i < 1000; i++)
        track_of(writer, TS_TRACK_STREAM, i);
    for (uint64_t i = 0; i < 3000; i++)
        kernel(writer, 1 + (uint32_t)(i % 1000), i);
    ts_reader *const reader = finish(writer);
    assert_int_equal(3000, ts_reader_info(reader)->counts[TS_EVENT_KERNEL]);
    assert_true(size_of(path) < 100000);
    ts_reader_close(reader);
}

// 20,000 tracks with more rows than the memory budget: it is kept, and every
// row is there.
UNIT_TEST(many_tracks_stay_within_the_memory)
{
    struct rusage before, after;
    ts_writer *const writer = begin();
    getrusage(RUSAGE_SELF, &before);
    for (uint64_t i = 0; i < 2000000; i++)
        kernel(writer, 1 + (uint32_t)(next(&(uint64_t){ i }) % 20000), i);
    getrusage(RUSAGE_SELF, &after);
// Sanitizers do not give freed memory back.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    assert_true(after.ru_maxrss - before.ru_maxrss < 110 << 10); // KiB
#endif
    ts_reader *const reader = finish(writer);
    assert_int_equal(2000000, ts_reader_info(reader)->counts[TS_EVENT_KERNEL]);
    ts_reader_close(reader);
}

UNIT_TEST(long_texts_are_kept_up_to_their_bound)
{
    char *const text = malloc(100000);
    ts_writer *const writer = begin();
    memset(text, 'x', 100000);
    for (uint32_t i = 0; i < 40; i++)
        ts_writer_event_text(writer, TS_EVENT_MESSAGE, 1 + i % 2, i, 0, NULL, 0,
                             text, 100000 - i * 2000);
    ts_reader *const reader = finish(writer);
    ts_cursor *cursor;
    ts_event event;
    size_t n = 0;
    ts_cursor_open(&cursor, reader, NULL);
    for (; ts_cursor_next(cursor, &event); n++) {
        const size_t given = 100000 - n * 2000;
        assert_int_equal(given < 65535 ? given : 65535,
                         ts_event_text(&event).size);
    }
    assert_int_equal(40, n);
    ts_cursor_close(cursor);
    ts_reader_close(reader);
    free(text);
}

/* What goes wrong. */

UNIT_TEST(impossible_times_are_left_out_and_counted)
{
    const int64_t times[][2] = {
        { INT64_MAX, 1 }, { INT64_MIN, 1 }, { 5, -1 },
        { 5, INT64_MAX }, { 5, 1 },         { -5, 0 }
    };
    ts_writer *const writer = begin();
    for (size_t i = 0; i < 6; i++)
        ts_writer_event(writer, TS_EVENT_KERNEL, 3, times[i][0], times[i][1],
                        NULL, 0);
    ts_reader *const reader = finish(writer);
    ts_loss_row row;
    assert_int_equal(2, ts_reader_info(reader)->counts[TS_EVENT_KERNEL]);
    assert_true(ts_reader_loss(reader, 0, &row));
    assert_int_equal(TS_LOSS_BAD_RECORD, row.cause);
    assert_int_equal(3, row.track);
    assert_int_equal(4, row.count);
    ts_reader_close(reader);
}

UNIT_TEST(the_origin_may_be_given_at_the_end)
{
    ts_writer *const writer = begin();
    ts_writer_event(writer, TS_EVENT_KERNEL, 3, 70, 5, NULL, 0);
    ts_writer_event(writer, TS_EVENT_KERNEL, 3, -30, 5, NULL, 0);
    ts_writer_origin(writer, 1, 2);
    ts_writer_origin(writer, -30, 1700000000000000007);
    ts_reader *const reader = finish(writer);
    const ts_info *const info = ts_reader_info(reader);
    assert_int_equal(0, info->first_ns);
    assert_int_equal(105, info->last_ns);
    assert_int_equal(1700000000000000007, info->start_realtime_ns);
    ts_reader_close(reader);
}

UNIT_TEST(the_same_calls_give_the_same_bytes)
{
    static uint8_t bytes[2][1 << 20];
    size_t sizes[2];
    for (int i = 0; i < 2; i++) {
        ts_writer *const writer = begin();
        uint64_t random = 3;
        for (uint64_t k = 0; k < 20000; k++)
            kernel(writer, 1 + (uint32_t)(next(&random) % 50), k);
        ts_reader_close(finish(writer));
        FILE *const file = fopen(path, "rb");
        sizes[i] = fread(bytes[i], 1, sizeof bytes[i], file);
        fclose(file);
    }
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(bytes[0], bytes[1], sizes[0]);
}

UNIT_TEST(compressed_traces_come_back)
{
    ts_writer *writer = NULL;
    const ts_writer_desc desc = { .path = path, .compress = true };
    const ts_result result = ts_writer_open(&writer, &desc);
    if (result == TS_ERR_UNSUPPORTED) skip();
    assert_int_equal(TS_OK, result);
    for (uint64_t i = 0; i < 50000; i++)
        kernel(writer, 1, i);
    ts_reader *const reader = finish(writer);
    assert_int_equal(50000, ts_reader_info(reader)->counts[TS_EVENT_KERNEL]);
    ts_reader_close(reader);
}

int main(void)
{
    return unit_run(make_path, remove_path);
}
