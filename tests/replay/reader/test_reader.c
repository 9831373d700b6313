// Reading forged traces: every kind of event, column and encoding.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include "tests/unit.h"

#include "tests/replay/reader/sbt_rows.h"
#include "tests/replay/reader/sbt_sample.h"

static ts_reader *open_bytes(const forge *f, bool no_index)
{
    ts_reader *reader;
    const ts_reader_desc desc = { .bytes = f->bytes,
                                  .size = f->size,
                                  .no_index = no_index };
    assert_int_equal(ts_reader_open(&reader, &desc), TS_OK);
    return reader;
}

// The index of the only chunk of a kind of event.
static size_t chunk_of(const ts_reader *reader, uint32_t event)
{
    ts_chunk_info info;
    for (size_t i = 0; ts_reader_chunk(reader, i, &info); i++)
        if (info.header.kind == TS_CHUNK_EVENTS && info.header.event == event)
            return i;
    fail_msg("no chunk of event %u", event);
    return 0;
}

static void check_row(const ts_columns *columns, uint32_t column, uint32_t row)
{
    const uint64_t wanted = sample_value(columns->kind, column, row);
    switch (column) {
    case 1:
        assert_int_equal(columns->start_ticks[row], wanted);
        assert_int_equal(columns->start_ns[row],
                         (int64_t)wanted - SAMPLE_START);
        break;
    case 2: assert_int_equal(columns->duration_ns[row], wanted); break;
    case 12:
        assert_int_equal(columns->text_sizes[row], strlen(sample_texts[row]));
        assert_memory_equal(columns->texts[row], sample_texts[row],
                            columns->text_sizes[row]);
        break;
    default:
        assert_non_null(columns->values[column]);
        assert_int_equal(columns->values[column][row], wanted);
    }
}

UNIT_TEST(every_kind_of_event_comes_back)
{
    forge f;
    sample_forge(&f);
    ts_reader *const reader = open_bytes(&f, false);
    ts_columns columns = { 0 };
    for (size_t i = 0; i < SAMPLE_KINDS; i++) {
        const sample_kind *const kind = &sample_kinds[i];
        const size_t chunk = chunk_of(reader, kind->event);
        assert_int_equal(ts_reader_decode(reader, chunk, &columns), TS_OK);
        assert_int_equal(columns.kind, kind->event);
        assert_int_equal(columns.count, SAMPLE_ROWS);
        assert_int_equal(columns.track, sample_track(kind->event));
        assert_int_equal(columns.chunk, chunk);
        for (uint32_t row = 0; row < SAMPLE_ROWS; row++) {
            check_row(&columns, 1, row);
            for (size_t c = 0; kind->columns[c]; c++)
                check_row(&columns, kind->columns[c], row);
        }
        assert_null(columns.values[TS_COLUMN_START]);
        assert_null(columns.values[TS_COLUMN_DURATION]);
    }
    assert_int_equal(ts_reader_verify(reader), TS_OK);
    ts_columns_close(reader, &columns);
    ts_reader_close(reader);
    forge_close(&f);
}

UNIT_TEST(columns_of_each_kind_are_those_of_the_specification)
{
    for (size_t i = 0; i < SAMPLE_KINDS; i++) {
        const uint8_t *const columns = ts_event_columns(sample_kinds[i].event);
        assert_non_null(columns);
        assert_int_equal(columns[0], TS_COLUMN_START);
        for (size_t c = 0;; c++) {
            assert_int_equal(columns[c + 1], sample_kinds[i].columns[c]);
            if (!columns[c + 1]) break;
        }
    }
}

UNIT_TEST(info_counts_what_is_there)
{
    forge f;
    sample_forge(&f);
    ts_reader *const reader = open_bytes(&f, false);
    const ts_info *const info = ts_reader_info(reader);
    assert_true(info->finished && info->indexed);
    assert_false(info->live || info->salvage_failed || info->clock_estimated);
    assert_int_equal(info->process, 4242);
    assert_int_equal(info->start_realtime_ns, UINT64_C(1700000000000000000));
    assert_int_equal(info->counts[TS_EVENT_ZONE], 7);
    for (size_t i = 0; i < SAMPLE_KINDS; i++)
        assert_int_equal(info->counts[sample_kinds[i].event], SAMPLE_ROWS);
    assert_int_equal(info->first_ns, 0);
    assert_int_equal(info->last_ns, 2800 + 90);
    assert_int_equal(info->lost, 14);
    assert_int_equal(info->chunk_count, f.sequence);
    assert_int_equal(info->track_count, 4);
    assert_int_equal(info->site_count, 2);
    assert_int_equal(info->name_count, 8);
    assert_int_equal(info->launch_count, 1);
    assert_int_equal(info->file_bytes, f.size);
    assert_memory_equal(info->session, f.session, 16);
    ts_reader_close(reader);
    forge_close(&f);
}

UNIT_TEST(a_walk_finds_what_the_index_tells)
{
    forge f;
    sample_forge(&f);
    rows with = rows_read(f.bytes, f.size, false);
    rows without = rows_read(f.bytes, f.size, true);
    assert_false(with.reported || without.reported);
    assert_int_equal(with.count, 7 + SAMPLE_KINDS * SAMPLE_ROWS);
    assert_true(rows_same(&with, &without));
    ts_reader *const reader = open_bytes(&f, true);
    assert_false(ts_reader_info(reader)->indexed);
    assert_true(ts_reader_info(reader)->finished);
    ts_reader_close(reader);
    rows_close(&with);
    rows_close(&without);
    forge_close(&f);
}

UNIT_TEST(pictures_come_from_the_index)
{
    forge f;
    sample_forge(&f);
    for (int no_index = 0; no_index < 2; no_index++) {
        ts_reader *const reader = open_bytes(&f, no_index);
        ts_lod_cell cells[TS_LOD_CELLS];
        assert_true(
            ts_reader_lod(reader, chunk_of(reader, TS_EVENT_KERNEL), cells));
        assert_int_equal(cells[5].id, 1005);
        assert_int_equal(cells[5].busy, 65535);
        assert_int_equal(cells[5].count, 5);
        assert_true(
            ts_reader_lod(reader, chunk_of(reader, TS_EVENT_COUNTER), cells));
        assert_int_equal(cells[5].id, 0);
        assert_true(cells[5].min > 0);
        assert_false(ts_reader_lod(reader, 0, cells));
        assert_false(ts_reader_lod(reader, 9999, cells));
        ts_reader_close(reader);
    }
    forge_close(&f);
}

UNIT_TEST(the_first_chunk_of_a_part_of_the_index_has_its_picture)
{
    const forge_zone zones[] = { { 1000, 1010, 1 } };
    forge f;
    forge_open(&f, 1000);
    forge_sample(&f, 0, 4, 1000, 1000, 0);
    forge_index(&f);
    forge_zones(&f, 2, FORGE_PACK, zones, 1);
    forge_finish(&f);
    for (int no_index = 0; no_index < 2; no_index++) {
        ts_reader *const reader = open_bytes(&f, no_index);
        ts_lod_cell cells[TS_LOD_CELLS];
        assert_true(
            ts_reader_lod(reader, chunk_of(reader, TS_EVENT_ZONE), cells));
        assert_int_equal(cells[5].id, 1005);
        ts_reader_close(reader);
    }
    forge_close(&f);
}

// Marks with one column of `count` values in one encoding.
static void check_encoding(uint8_t encoding, uint8_t transform, uint32_t bits,
                           uint32_t count)
{
    forge f;
    uint64_t starts[200], values[200];
    const uint64_t top = bits ? UINT64_MAX >> (64 - bits) : 0;
    for (uint32_t i = 0; i < count; i++) {
        starts[i] = 1000 + i;
        values[i] = (i * UINT64_C(0x9E3779B97F4A7C15) >> 7) & top;
    }
    values[count / 2] = top;
    values[count - 1] = 0;
    forge_open(&f, 1000);
    forge_sample(&f, 0, 4, 1000, 1000, 0);
    forge_events(&f, 9, 2, count, 1000, 1000 + count);
    forge_column(&f, 1, FORGE_PACK, FORGE_DELTA, starts);
    forge_column(&f, 13, encoding, transform, values);
    forge_events_end(&f);
    forge_end_chunk(&f);
    ts_reader *const reader = open_bytes(&f, false);
    ts_columns columns = { 0 };
    assert_int_equal(ts_reader_decode(reader, 1, &columns), TS_OK);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(columns.values[TS_COLUMN_ADDRESS]
                             ? columns.values[TS_COLUMN_ADDRESS][i]
                             : 0,
                         values[i]);
    ts_columns_close(reader, &columns);
    ts_reader_close(reader);
    forge_close(&f);
}

UNIT_TEST(every_width_of_every_encoding_comes_back)
{
    const uint32_t counts[] = { 1, 63, 64, 65, 200 };
    for (uint32_t bits = 0; bits <= 64; bits++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            for (uint8_t transform = 0; transform < 2; transform++) {
                check_encoding(FORGE_PACK, transform, bits, counts[i]);
                check_encoding(FORGE_PLANES, transform, bits, counts[i]);
            }
}

// Kernels whose starts are stored from the end before, and whose submissions
// from their queueing; with `queued` absent the latter counts as 0.
UNIT_TEST(starts_and_submissions_may_lean_on_other_columns)
{
    const uint64_t starts[] = { 1000, 1010, 1008, 1100, 1040 };
    const uint64_t durations[] = { 5, 7, 0, 20, 3 };
    const uint64_t queued[] = { 90, 0, 12, 500, 1 };
    const uint64_t submitted[] = { 80, 0, 13, UINT64_MAX, 1 };
    for (int with = 0; with < 2; with++)
        for (uint8_t encoding = FORGE_PACK; encoding <= FORGE_PLANES;
             encoding++) {
            uint64_t stored[5];
            for (int i = 0; i < 5; i++)
                stored[i] = forge_zigzag((with ? queued[i] : 0) - submitted[i]);
            forge f;
            forge_open(&f, 1000);
            forge_sample(&f, 0, 4, 1000, 0, 0);
            forge_events(&f, 16, 3, 5, 1000, 1120);
            forge_gaps(&f, encoding, starts, durations);
            forge_stored(&f, 23, encoding, 3, 99, stored);
            forge_column(&f, 2, encoding, FORGE_PLAIN, durations);
            if (with) forge_column(&f, 22, encoding, FORGE_DELTA, queued);
            forge_events_end(&f);
            forge_end_chunk(&f);
            ts_reader *const reader = open_bytes(&f, false);
            ts_columns columns = { 0 };
            assert_int_equal(ts_reader_decode(reader, 1, &columns), TS_OK);
            for (int i = 0; i < 5; i++) {
                assert_int_equal(columns.start_ticks[i], starts[i]);
                assert_int_equal(columns.duration_ns[i], durations[i]);
                assert_int_equal(columns.values[TS_COLUMN_SUBMITTED][i],
                                 submitted[i]);
            }
            ts_columns_close(reader, &columns);
            ts_reader_close(reader);
            forge_close(&f);
        }
}

UNIT_TEST(zones_get_the_times_they_had)
{
    const forge_zone zones[] = {
        { 1010, 1020, 1 }, { 1020, 1025, 2 }, { 1005, 1030, 1 },
        { 1030, 1031, 1 }, { 1000, 1040, 2 }, { 1041, 1041, 1 },
        { 1035, 1050, 2 },
    };
    forge f;
    sample_forge(&f);
    ts_reader *const reader = open_bytes(&f, false);
    ts_columns columns = { 0 };
    const size_t chunk = chunk_of(reader, TS_EVENT_ZONE);
    assert_int_equal(ts_reader_decode(reader, chunk, &columns), TS_OK);
    assert_int_equal(columns.count, 7);
    for (uint32_t i = 0; i < 7; i++) {
        const uint64_t duration = zones[i].end - zones[i].start;
        assert_int_equal(columns.start_ticks[i], zones[i].start);
        assert_int_equal(columns.duration_ns[i], duration);
        assert_int_equal(columns.values[TS_COLUMN_SITE][i], zones[i].site);
    }
    ts_columns_close(reader, &columns);
    ts_reader_close(reader);
    forge_close(&f);
}

UNIT_TEST(rows_of_several_tracks_share_a_chunk)
{
    const uint64_t starts[] = { 1000, 1001, 1002 };
    const uint64_t tracks[] = { 7, 2, 0xFFFFFFFE };
    forge f;
    forge_open(&f, 1000);
    forge_events(&f, 4, 0xFFFFFFFF, 3, 1000, 1002);
    forge_column(&f, 1, FORGE_PACK, FORGE_DELTA, starts);
    forge_column(&f, 7, FORGE_PLANES, FORGE_PLAIN, tracks);
    forge_events_end(&f);
    ts_reader *const reader = open_bytes(&f, false);
    ts_columns columns = { 0 };
    assert_int_equal(ts_reader_decode(reader, 0, &columns), TS_OK);
    assert_int_equal(columns.track, TS_TRACK_MIXED);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(columns.tracks[i], tracks[i]);
    assert_null(columns.values[TS_COLUMN_TRACK]);
    ts_columns_close(reader, &columns);
    ts_reader_close(reader);
    forge_close(&f);
}

UNIT_TEST(what_a_later_version_adds_is_skipped_and_counted)
{
    const uint64_t starts[] = { 1000, 1001 };
    const forge_bytes odd = { (uint8_t[]){ 1, 2, 3, 4, 5, 6, 7, 8 }, 8, 8 };
    forge f;
    forge_open(&f, 1000);
    forge_begin(&f, 99);   // an unknown kind of chunk
    f.next.flags = 0x8000; // an unused bit
    forge_entry(&f, 1, "??", 2);
    forge_end(&f);
    forge_events(&f, 60, 2, 2, 1000, 1001); // an unknown kind of event
    forge_column(&f, 1, FORGE_PACK, FORGE_DELTA, starts);
    forge_events_end(&f);
    forge_events(&f, 4, 2, 2, 1000, 1001); // a mark with an unknown column
    forge_column_raw(&f, 200, 77, 99, 55, 1, &odd);
    forge_column(&f, 1, FORGE_PACK, FORGE_DELTA, starts);
    forge_events_end(&f);
    const uint64_t site[] = { 1, 0, 0, 0, 5, 0, 77, 78 }; // two fields more
    forge_begin(&f, FORGE_SITES);
    forge_numbers(&f, 1, 8, 8, site);
    forge_end(&f);
    forge_finish(&f);
    rows all = rows_read(f.bytes, f.size, false);
    assert_false(all.reported);
    assert_int_equal(all.count, 2);
    ts_reader *const reader = open_bytes(&f, false);
    assert_int_equal(ts_reader_info(reader)->unknown_chunks, 1);
    assert_int_equal(ts_reader_info(reader)->unknown_events, 2);
    assert_int_equal(ts_reader_site(reader, 1)->line, 5);
    ts_columns columns = { 0 };
    assert_int_equal(ts_reader_decode(reader, 0, &columns), TS_ERR_USAGE);
    assert_int_equal(ts_reader_decode(reader, 1, &columns), TS_ERR_UNSUPPORTED);
    assert_int_equal(ts_reader_decode(reader, 99, &columns), TS_ERR_USAGE);
    assert_int_equal(ts_reader_damage_count(reader), 0);
    ts_reader_close(reader);
    rows_close(&all);
    forge_close(&f);
}

UNIT_TEST(bytes_may_lie_at_any_address)
{
    forge f;
    sample_forge(&f);
    uint8_t *const moved = malloc(f.size + 8);
    rows truth = rows_read(f.bytes, f.size, false);
    for (size_t shift = 1; shift < 8; shift++) {
        memcpy(moved + shift, f.bytes, f.size);
        rows all = rows_read(moved + shift, f.size, shift % 2);
        assert_true(rows_same(&all, &truth));
        rows_close(&all);
    }
    free(moved);
    rows_close(&truth);
    forge_close(&f);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
