/*
    test_writer_rows.c - columns, blobs and clocks given to a writer
*/
#define _GNU_SOURCE // mkstemp
#define TRACESMITH_WRITER
#include "tracesmith_replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/unit.h"

enum { MANY = 20000, THREAD = 1, OTHER = 2 };

static char path[] = "/tmp/ts_rows_XXXXXX";
static int64_t start_ns[MANY], duration_ns[MANY];
static uint64_t sites[MANY];
static uint32_t tracks[MANY], text_sizes[MANY];
static const char *texts[MANY];

static int make_path(void **state)
{
    const int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
    return unlink(path);
}

static ts_writer *begin(uint64_t raw_ns)
{
    const ts_writer_desc desc = { .path = path,
                                  .start_realtime_ns = 5000,
                                  .start_raw_ns = raw_ns,
                                  .start_boottime_ns = raw_ns ? 900 : 0 };
    const ts_track_entry track = { .type = TS_TRACK_THREAD };
    ts_writer *w;
    assert_int_equal(TS_OK, ts_writer_open(&w, &desc));
    ts_writer_track(w, THREAD, &track);
    ts_writer_track(w, OTHER, &track);
    for (int i = 0; i < 3; i++) {
        const ts_site_entry site = { .line = (uint32_t)i };
        assert_int_equal(i + 1, ts_writer_site(w, &site));
    }
    return w;
}

static ts_reader *finish(ts_writer *w)
{
    const ts_reader_desc desc = { .path = path };
    ts_reader *reader;
    assert_int_equal(TS_OK, ts_writer_close(w));
    assert_int_equal(TS_OK, ts_reader_open(&reader, &desc));
    assert_int_equal(TS_OK, ts_reader_verify(reader));
    return reader;
}

// Zones on two threads, nested and with equal ends.
static ts_rows zones(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        start_ns[i] = (int64_t)(i / 3) * 100 + 2 - (int64_t)(i % 3);
        duration_ns[i] = 10 + (int64_t)(i % 3);
        sites[i] = 1 + i % 3;
        tracks[i] = i / 3 % 2 ? OTHER : THREAD;
        texts[i] = "0123456789";
        text_sizes[i] = i % 11;
    }
    ts_rows rows = { .kind = TS_EVENT_ZONE,
                     .count = count,
                     .tracks = tracks,
                     .start_ns = start_ns,
                     .duration_ns = duration_ns };
    rows.values[TS_COLUMN_SITE] = sites;
    return rows;
}

static void one_by_one(ts_writer *w, const ts_rows *rows)
{
    for (uint32_t i = 0; i < rows->count; i++) {
        const ts_writer_value site = { TS_COLUMN_SITE, sites[i] };
        ts_writer_event(w, rows->kind, tracks[i], start_ns[i], duration_ns[i],
                        &site, 1);
    }
}

// A digest of what a cursor yields.
static uint64_t events_of(ts_reader *reader, uint64_t *count)
{
    ts_cursor *cursor;
    ts_event e;
    uint64_t hash = 0;
    *count = 0;
    assert_int_equal(TS_OK, ts_cursor_open(&cursor, reader, NULL));
    for (; ts_cursor_next(cursor, &e); ++*count) {
        const uint64_t v[] = { e.kind,
                               e.track,
                               (uint64_t)e.start_ns,
                               (uint64_t)e.duration_ns,
                               ts_event_value(&e, TS_COLUMN_SITE),
                               ts_event_text(&e).size };
        for (size_t i = 0; i < sizeof v / sizeof *v; i++)
            hash = (hash ^ v[i]) * UINT64_C(0x9E3779B97F4A7C15) + hash / 7;
    }
    ts_cursor_close(cursor);
    return hash;
}

UNIT_TEST(columns_give_what_events_give)
{
    const uint32_t counts[] = { 1, 511, 512, 8192, 8193, MANY };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const ts_rows rows = zones(counts[i]);
        uint64_t count, again;
        ts_writer *w = begin(0);
        one_by_one(w, &rows);
        ts_reader *reader = finish(w);
        const uint64_t wanted = events_of(reader, &count);
        ts_reader_close(reader);
        w = begin(0);
        ts_writer_rows(w, &rows);
        reader = finish(w);
        assert_int_equal(wanted, events_of(reader, &again));
        assert_int_equal(counts[i], count);
        assert_int_equal(count, again);
        ts_reader_close(reader);
    }
}

// Few rows are held back for more; many follow.
UNIT_TEST(few_and_many_keep_their_order)
{
    ts_rows rows = zones(2000);
    uint64_t count, again;
    for (uint32_t i = 0; i < 2000; i++)
        start_ns[i] = duration_ns[i] = 0; // only the order tells them apart
    ts_writer *w = begin(0);
    one_by_one(w, &rows);
    ts_reader *reader = finish(w);
    const uint64_t wanted = events_of(reader, &count);
    ts_reader_close(reader);
    w = begin(0);
    const uint32_t parts[] = { 3, 700, 1, 2, 1294 };
    for (uint32_t i = 0, at = 0; i < 5; at += parts[i++]) {
        ts_rows part = rows;
        part.count = parts[i];
        part.tracks += at;
        part.start_ns += at;
        part.duration_ns += at;
        part.values[TS_COLUMN_SITE] = sites + at;
        ts_writer_rows(w, &part);
    }
    reader = finish(w);
    assert_int_equal(wanted, events_of(reader, &again));
    assert_int_equal(2000, again);
    ts_reader_close(reader);
}

UNIT_TEST(texts_come_with_their_rows)
{
    ts_rows rows = zones(MANY);
    rows.kind = TS_EVENT_MESSAGE;
    rows.text_sizes = text_sizes;
    rows.texts = texts;
    ts_writer *const w = begin(0);
    ts_writer_rows(w, &rows);
    ts_reader *const reader = finish(w);
    uint64_t size = 0, wanted = 0;
    ts_cursor *cursor;
    ts_event e;
    assert_int_equal(TS_OK, ts_cursor_open(&cursor, reader, NULL));
    while (ts_cursor_next(cursor, &e)) {
        const ts_text text = ts_event_text(&e);
        assert_memory_equal("0123456789", text.text, text.size);
        size += text.size;
    }
    for (uint32_t i = 0; i < MANY; i++)
        wanted += text_sizes[i];
    assert_int_equal(wanted, size);
    ts_cursor_close(cursor);
    ts_reader_close(reader);
}

UNIT_TEST(rows_with_impossible_times_are_counted)
{
    const ts_rows rows = zones(1000);
    ts_writer *const w = begin(0);
    duration_ns[7] = -1;
    start_ns[8] = INT64_MAX;
    ts_writer_rows(w, &rows);
    ts_reader *const reader = finish(w);
    assert_int_equal(998, ts_reader_info(reader)->counts[TS_EVENT_ZONE]);
    assert_int_equal(2, ts_reader_info(reader)->lost);
    ts_reader_close(reader);
}

UNIT_TEST(rows_without_a_track_or_a_kind_are_refused)
{
    ts_rows rows = zones(1000);
    ts_writer *w = begin(0);
    rows.kind = (ts_event_kind)TS_EVENT_LIMIT;
    ts_writer_rows(w, &rows);
    assert_int_equal(TS_ERR_USAGE, ts_writer_close(w));
    w = begin(0);
    rows.kind = TS_EVENT_ZONE;
    tracks[500] = 0;
    ts_writer_rows(w, &rows);
    assert_int_equal(TS_ERR_USAGE, ts_writer_close(w));
}

UNIT_TEST(a_blob_is_kept_once)
{
    uint64_t a[2], b[2], hash[2];
    const void *bytes;
    size_t size;
    ts_writer *const w = begin(0);
    ts_writer_blob(w, "some bytes", 10, a);
    ts_writer_blob(w, "some bytes", 10, b);
    ts_writer_blob(w, NULL, 0, NULL);
    ts_reader *const reader = finish(w);
    assert_memory_equal(a, b, 16);
    assert_int_equal(TS_OK, ts_reader_blob(reader, a, &bytes, &size));
    assert_int_equal(10, size);
    assert_memory_equal("some bytes", bytes, size);
    assert_true(ts_reader_blob_at(reader, 1, hash));
    assert_false(ts_reader_blob_at(reader, 2, hash));
    ts_reader_close(reader);
}

UNIT_TEST(other_clocks_are_known)
{
    ts_clock_point point;
    ts_writer *const w = begin(7000);
    ts_writer_clock(w, 100, 5101, 1000, 4);
    ts_reader *const reader = finish(w);
    assert_true(ts_reader_clock_at(reader, 0, &point));
    assert_int_equal(7000, point.entry.raw_ns);
    assert_int_equal(900, point.entry.boottime_ns);
    assert_int_equal(0, point.time_ns);
    assert_true(ts_reader_clock_at(reader, 1, &point));
    assert_int_equal(7100, point.entry.raw_ns);
    assert_int_equal(100, point.time_ns);
    assert_int_equal(4, point.entry.uncertainty_ns);
    assert_false(ts_reader_clock_at(reader, 2, &point));
    assert_int_equal(5101, ts_reader_realtime_ns(reader, 100));
    ts_reader_close(reader);
}

UNIT_TEST(a_stall_takes_time)
{
    ts_loss_row row;
    ts_writer *const w = begin(0);
    ts_writer_stall(w, THREAD, TS_LOSS_HELPED, 0, 3, 10, 20, 77);
    ts_reader *const reader = finish(w);
    assert_true(ts_reader_loss(reader, 0, &row));
    assert_int_equal(77, row.stall_ns);
    assert_int_equal(3, row.count);
    ts_reader_close(reader);
}

/* A chunk of several tracks is followed by one with a picture of each. */

enum { PAIRS = 600, PAIR_ROWS = 512 };

// Most parts of the index hold an even number of chunks: the name in the second
// part makes it odd, so that one place is left where two are needed.
static void write_pairs(ts_writer *w)
{
    ts_rows rows = { .kind = TS_EVENT_KERNEL,
                     .count = PAIR_ROWS,
                     .tracks = tracks,
                     .start_ns = start_ns,
                     .duration_ns = duration_ns };
    for (uint32_t i = 0; i < 2 * PAIRS; i++) {
        if (i == PAIRS) ts_writer_name(w, "odd", 3);
        for (uint32_t k = 0; k < PAIR_ROWS; k++) {
            start_ns[k] = (int64_t)(i * PAIR_ROWS + k) * 100;
            duration_ns[k] = 50;
            tracks[k] = k % 2 ? OTHER : THREAD;
        }
        ts_writer_rows(w, &rows);
    }
}

UNIT_TEST(the_last_pair_of_a_part_of_the_index_has_its_own_pictures)
{
    ts_writer *const w = begin(0);
    write_pairs(w);
    ts_reader *const reader = finish(w);
    ts_chunk_info info;
    size_t pictures = 0, events = 0;
    assert_true(ts_reader_info(reader)->indexed);
    for (size_t k = 0; ts_reader_chunk(reader, k, &info); k++) {
        ts_lod_cell cells[TS_LOD_CELLS];
        pictures += info.header.kind == TS_CHUNK_PICTURES;
        if (info.header.kind != TS_CHUNK_EVENTS) continue;
        uint32_t sum = 0;
        assert_true(ts_reader_lod(reader, k, cells));
        for (int i = 0; i < TS_LOD_CELLS; i++) {
            assert_int_equal(0, cells[i].id); // no launch
            sum += cells[i].count;
        }
        assert_int_equal(PAIR_ROWS, sum);
        events++;
    }
    assert_int_equal(2 * PAIRS, events);
    assert_int_equal(events, pictures);
    ts_reader_close(reader);
}

int main(void)
{
    return unit_run(make_path, remove_path);
}
